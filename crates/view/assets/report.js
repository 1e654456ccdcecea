"use strict";
// Draws the charts from the data in the page, and makes tables sortable. Everything that a control
// changes is drawn anew: that is a few milliseconds, and there is no state to keep in step.
(function () {
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);
  const COLORS = 8;
  const DASHES = [undefined, [8, 4], [2, 3], [8, 3, 2, 3]];

  // What is shown.
  const shown = { point: 0, link: 0, seed: null, hidden: new Set(), apart: false };
  let charts = [];

  const point = () => data.points[shown.point];
  const visible = (a) => !shown.hidden.has(a);
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const color = (a) => css("--c" + (a % COLORS));
  const dash = (a) => DASHES[Math.floor(a / COLORS) % DASHES.length];

  function make(tag, text, parent) {
    const node = document.createElement(tag);
    if (text) node.textContent = text;
    if (parent) parent.append(node);
    return node;
  }

  function format(x) {
    if (x == null) return "–";
    const size = Math.abs(x);
    if (size !== 0 && (size < 1e-3 || size >= 1e6)) return x.toExponential(2);
    return String(+x.toPrecision(4));
  }

  // The places on an axis: neighbours must not read the same.
  function place(x) {
    const size = Math.abs(x);
    return size !== 0 && (size < 1e-4 || size >= 1e7) ? x.toExponential() : String(+x.toPrecision(8));
  }

  // ---- Charts -------------------------------------------------------------------------------------

  // One chart. `series` are { label, values, color, dash, width }; `more` is merged into uPlot's options.
  function chart(box, { title, x, series, xLabel, yLabel, xShort, height, more = {} }) {
    const figure = make("figure", null, box);
    if (title) make("figcaption", title, figure);
    figure.setAttribute("aria-label", (title ? title + ": " : "") + yLabel + " over " + xLabel);
    const frame = make("div", null, figure);
    const axis = (label) => ({
      label, labelSize: 18, labelFont: "12px system-ui, sans-serif", font: "12px system-ui, sans-serif",
      stroke: css("--soft"), grid: { stroke: css("--grid"), width: 1 }, ticks: { stroke: css("--grid"), width: 1, size: 5 },
    });
    const numbers = { values: (u, ticks) => ticks.map((t) => (t == null ? "" : place(t))), size: widest };
    const tall = height || (frame.clientWidth < 480 ? 230 : 320);
    const options = {
      width: frame.clientWidth, height: tall,
      cursor: { y: false, points: { size: 6 }, ...more.cursor },
      legend: { live: true, markers: { fill: (u, i) => series[i - 1] && series[i - 1].color }, ...more.legend },
      scales: { x: { time: false }, ...more.scales },
      axes: more.axes ? more.axes(axis, numbers) : [{ ...axis(xLabel), size: 30, ...more.xAxis }, { ...axis(yLabel), ...numbers }],
      series: [
        { label: xShort || xLabel, value: (u, v) => format(v) },
        ...series.map((s) => ({
          label: s.label, stroke: s.color, width: s.width || 1.5, dash: s.dash, value: (u, v) => format(v),
          points: { show: false }, ...s.more,
        })),
      ],
      hooks: more.hooks || {},
    };
    const u = new uPlot(options, [x, ...series.map((s) => s.values)], frame);
    u.over.setAttribute("role", "img");
    charts.push({ u, frame, tall });
    return u;
  }

  // An axis is as wide as its longest label.
  function widest(u, labels) {
    const longest = (labels || []).reduce((n, l) => Math.max(n, l.length), 0);
    return Math.max(32, 7.5 * longest + 18);
  }

  const none = (box, why) => { make("p", why, box).className = "empty"; };

  // Shades the warm-up and draws the cuts between segments.
  function window_(u) {
    const cuts = point().cuts;
    if (!cuts.length) return;
    const { ctx, bbox } = u;
    const at = (t) => Math.min(Math.max(u.valToPos(t, "x", true), bbox.left), bbox.left + bbox.width);
    ctx.save();
    ctx.fillStyle = css("--shade");
    ctx.fillRect(bbox.left, bbox.top, at(cuts[0]) - bbox.left, bbox.height);
    ctx.strokeStyle = css("--soft");
    ctx.setLineDash([3, 4]);
    for (const t of cuts.slice(1, -1)) {
      ctx.beginPath();
      ctx.moveTo(at(t), bbox.top);
      ctx.lineTo(at(t), bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }

  const overTime = {
    cursor: { sync: { key: "time" } },
    hooks: { drawClear: [window_] },
  };

  // The chosen seed's runs, or the means.
  function runs() {
    const all = point().over_time[shown.link].runs;
    const of = (a) => {
      const mine = all.filter((r) => r.algorithm === a);
      // A single replication has no mean beside it.
      return mine.find((r) => r.seed === shown.seed) || (shown.seed === null && mine.length === 1 ? mine[0] : null);
    };
    return data.algorithms.map((_, a) => of(a)).filter((r) => r && visible(r.algorithm));
  }

  function drawOverTime() {
    const boxes = ["chart-queue", "chart-delay", "chart-internals"].map(byId);
    if (!point().over_time) return boxes.forEach((b) => none(b, "Not on this page for this point."));
    const time = point().over_time[shown.link].time_s;
    const all = runs();
    if (!time.length || !all.length) return boxes.forEach((b) => none(b, "Nothing to show."));
    const line = (r, values) => ({ label: data.algorithms[r.algorithm], values, color: color(r.algorithm), dash: dash(r.algorithm) });
    const panels = (box, field, yLabel) => {
      const common = { x: time, xLabel: "time [s]", yLabel, xShort: "time [s]" };
      box.classList.toggle("apart", shown.apart);
      if (!shown.apart) return chart(box, { ...common, series: all.map((r) => line(r, r[field])), more: overTime });
      const top = all.reduce((m, r) => r[field].reduce((n, v) => Math.max(n, v || 0), m), 0) || 1;
      for (const r of all) {
        const scales = { y: { range: [0, top * 1.05] } };
        chart(box, { ...common, title: data.algorithms[r.algorithm], height: 200, series: [line(r, r[field])], more: { ...overTime, scales } });
      }
    };
    panels(boxes[0], "queue_packets", "queue [packets]");
    panels(boxes[1], "delay_ms", "delay [ms]");

    let any = false;
    for (const r of all) {
      for (const signal of r.internals) {
        any = true;
        const [unit, factor] = signal.unit === "bit/s" ? ["Mbit/s", 1e-6] : [signal.unit, 1];
        const values = factor === 1 ? signal.values : signal.values.map((v) => (v === null ? null : v * factor));
        const name = data.algorithms[r.algorithm];
        const series = [{ ...line(r, values), label: signal.name }];
        if (unit === "packets") series.unshift({ label: "queue", values: r.queue_packets, color: css("--line"), width: 1 });
        chart(boxes[2], {
          title: name + ": " + signal.name, x: time, series, xLabel: "time [s]", height: 200,
          yLabel: unit === "1" ? signal.name : signal.name + " [" + unit + "]", more: overTime,
        });
      }
    }
    if (!any) none(boxes[2], "The algorithms shown report no internal signals.");
  }

  function drawDistribution() {
    const box = byId("chart-distribution");
    const { probability, curves } = point().delays[shown.link];
    const scope = byId("delay-scope").value;
    const log = byId("delay-scale").value === "ccdf";
    const mine = curves.filter((c) => c.scope === scope && visible(c.algorithm));
    if (!mine.length) return none(box, "Nothing to show.");
    // The share is uPlot's x, which all series have in common, but it stands upright as is usual.
    let shares = probability, pick = (v) => v;
    if (log) {
      const last = probability.findIndex((p) => p >= 1);
      const upTo = last < 0 ? probability.length : last;
      shares = probability.slice(0, upTo).map((p) => 1 - p).reverse();
      pick = (v) => v.slice(0, upTo).reverse();
    }
    const xLabel = "queueing delay [ms]";
    const yLabel = log ? "share that waited longer" : "share that waited no longer";
    const series = mine.map((c) => ({
      label: data.algorithms[c.algorithm], values: pick(c.delay_ms), color: color(c.algorithm), dash: dash(c.algorithm), width: 2,
    }));
    chart(box, {
      x: shares, series, xLabel: yLabel, yLabel: xLabel, xShort: "share",
      more: {
        cursor: { x: false, y: true },
        scales: {
          x: { time: false, ori: 1, distr: log ? 3 : 1, range: log ? [1e-4, 1] : [0, 1] },
          y: { ori: 0, range: (u, min, max) => [0, max * 1.02 || 1] },
        },
        axes: (axis, numbers) => [
          { ...axis(yLabel), scale: "x", side: 3, ...numbers },
          { ...axis(xLabel), size: 30, scale: "y", side: 2 },
        ],
      },
    });
  }

  function drawFlows() {
    const box = byId("chart-flows");
    const flows = point().flows.find((f) => f.class === byId("flow-class").value);
    const mine = flows ? flows.curves.filter((c) => visible(c.algorithm)) : [];
    if (!mine.length) return none(box, "Nothing to show.");
    const few = flows.share_percent.length <= 30;
    chart(box, {
      x: flows.share_percent, xLabel: "flows, sorted [%]", xShort: "flows [%]", yLabel: "goodput [kbit/s]",
      series: mine.map((c) => ({
        label: data.algorithms[c.algorithm] + (c.jain === null ? "" : " (Jain " + c.jain.toFixed(3) + ")"),
        values: c.goodput_kbps, color: color(c.algorithm), dash: dash(c.algorithm), width: 2,
        more: { points: { show: few, size: 6 } },
      })),
      more: { scales: { x: { time: false, range: [0, 100] }, y: { range: (u, min, max) => [0, max * 1.05 || 1] } } },
    });
  }

  function drawTradeOff() {
    const box = byId("chart-trade-off");
    const clouds = point().trade_off[shown.link].filter((c) => visible(c.algorithm));
    if (!clouds.length) return none(box, "Nothing to show.");
    // uPlot's series share x: one row per sample, with a value in its own series only.
    const samples = clouds.flatMap((c, i) => c.delay_ms.map((x, k) => ({ i, x, y: c.goodput_mbps[k] })));
    samples.sort((a, b) => a.x - b.x);
    const outline = (e) => Array.from({ length: 73 }, (_, k) => {
      const t = (k * Math.PI) / 36;
      return [e.center[0] + Math.cos(t) * e.u[0] + Math.sin(t) * e.v[0], e.center[1] + Math.cos(t) * e.u[1] + Math.sin(t) * e.v[1]];
    });
    const outlines = clouds.map((c) => (c.ellipse ? outline(c.ellipse) : []));
    const range = (values) => {
      const [low, high] = [Math.min(...values), Math.max(...values)];
      const margin = (high - low) * 0.06 || Math.abs(high) * 0.05 || 1;
      return [low - margin, high + margin];
    };
    const edges = outlines.flat();
    const [x0, x1] = range(samples.map((s) => s.x).concat(edges.map((p) => p[0])));
    const draw = (u) => {
      const { ctx } = u;
      const to = ([x, y]) => [u.valToPos(x, "x", true), u.valToPos(y, "y", true)];
      ctx.save();
      clouds.forEach((c, i) => {
        ctx.strokeStyle = ctx.fillStyle = color(c.algorithm);
        ctx.lineWidth = 1.5 * devicePixelRatio;
        ctx.setLineDash((dash(c.algorithm) || []).map((d) => d * devicePixelRatio));
        ctx.beginPath();
        outlines[i].forEach((p, k) => (k ? ctx.lineTo(...to(p)) : ctx.moveTo(...to(p))));
        ctx.stroke();
        ctx.globalAlpha = 0.1;
        ctx.fill();
        ctx.globalAlpha = 1;
        ctx.setLineDash([]);
        const [x, y] = to(c.median), arm = 6 * devicePixelRatio;
        ctx.beginPath();
        ctx.moveTo(x - arm, y); ctx.lineTo(x + arm, y);
        ctx.moveTo(x, y - arm); ctx.lineTo(x, y + arm);
        ctx.stroke();
      });
      ctx.restore();
    };
    chart(box, {
      x: samples.map((s) => s.x), xLabel: "mean queueing delay [ms]", yLabel: "goodput [Mbit/s]",
      height: box.clientWidth < 480 ? 280 : 420,
      series: clouds.map((c, i) => ({
        label: data.algorithms[c.algorithm], values: samples.map((s) => (s.i === i ? s.y : null)), color: color(c.algorithm),
        more: { paths: () => null, points: { show: true, size: 7, fill: color(c.algorithm) } },
      })),
      more: {
        legend: { live: false }, cursor: { show: false }, hooks: { draw: [draw] },
        scales: {
          x: { time: false, range: [Math.max(0, x0), x1] },
          y: { range: range(samples.map((s) => s.y).concat(edges.map((p) => p[1]))) },
        },
      },
    });
  }

  // ---- Figures over parameters --------------------------------------------------------------------

  // The points that differ from the chosen one in `axis` alone, in its order; all points for the case number.
  function along(axis) {
    const { axes } = data.sweep;
    const points = data.points.map((_, i) => i);
    if (axis < 0) return points;
    const same = (i) => axes.every((a, k) => k === axis || a.labels[i] === a.labels[shown.point]);
    const mine = points.filter((i) => same(i) && axes[axis].labels[i] !== "");
    const n = axes[axis].numbers;
    return n ? mine.sort((i, j) => n[i] - n[j]) : mine;
  }

  function drawSweep() {
    const box = byId("chart-sweep");
    if (!box) return;
    const metric = data.sweep.metrics[byId("sweep-metric").value];
    const at = Number(byId("sweep-axis").value);
    const axis = at < 0 ? { field: "case", labels: data.points.map((p) => p.title), numbers: null, unit: "" } : data.sweep.axes[at];
    const mine = along(at);
    const estimates = data.algorithms.map((_, a) => mine.map((i) => metric.values[i][a]));
    const drawn = data.algorithms.map((_, a) => a).filter((a) => visible(a) && estimates[a].some(Boolean));
    if (!drawn.length) return none(box, "Nothing to show.");
    const x = axis.numbers ? mine.map((i) => axis.numbers[i]) : mine.map((_, k) => k);
    const named = !axis.numbers;
    const ends = drawn.flatMap((a) => estimates[a]).filter(Boolean).flatMap(([m, h]) => [m - (h || 0), m + (h || 0)]);
    const [low, high] = [Math.min(...ends), Math.max(...ends)];
    const margin = (high - low) * 0.06 || Math.abs(high) * 0.05 || 1;
    const span = x[x.length - 1] - x[0] || 1;
    const bars = (u) => {
      const { ctx } = u;
      ctx.save();
      ctx.lineWidth = 1.5 * devicePixelRatio;
      for (const a of drawn) {
        ctx.strokeStyle = color(a);
        estimates[a].forEach((e, k) => {
          if (!e || !e[1]) return;
          const px = u.valToPos(x[k], "x", true), arm = 4 * devicePixelRatio;
          const [y0, y1] = [u.valToPos(e[0] - e[1], "y", true), u.valToPos(e[0] + e[1], "y", true)];
          ctx.beginPath();
          ctx.moveTo(px, y0); ctx.lineTo(px, y1);
          ctx.moveTo(px - arm, y0); ctx.lineTo(px + arm, y0);
          ctx.moveTo(px - arm, y1); ctx.lineTo(px + arm, y1);
          ctx.stroke();
        });
      }
      ctx.restore();
    };
    const unit = (u) => (u ? " [" + u + "]" : "");
    const names = { splits: () => x, values: (u, ticks) => ticks.map((t) => axis.labels[mine[t]] || "") };
    chart(box, {
      x, xLabel: axis.field + unit(axis.unit), yLabel: metric.title + unit(metric.unit),
      series: drawn.map((a) => ({
        label: data.algorithms[a], values: estimates[a].map((e) => (e ? e[0] : null)), color: color(a), dash: dash(a),
        more: { points: { show: true, size: 7, fill: color(a) } },
      })),
      more: {
        xAxis: named ? names : {}, hooks: { draw: [bars] },
        scales: {
          x: { time: false, range: [x[0] - span * 0.04, x[x.length - 1] + span * 0.04] },
          y: { range: [low >= 0 ? Math.max(0, low - margin) : low - margin, high + margin] },
        },
      },
    });
  }

  // ---- Controls -----------------------------------------------------------------------------------

  function fill(select, options, chosen) {
    const before = chosen === undefined ? select.value : String(chosen);
    select.replaceChildren(...options.map(([value, text]) => new Option(text, value)));
    if (options.some(([value]) => String(value) === before)) select.value = before;
  }

  // The choices that depend on the point.
  function offer() {
    const p = point();
    if (shown.link >= p.links.length) shown.link = 0;
    fill(document.querySelector("#choose-link select"), p.links.map((l, i) => [i, l]), shown.link);
    byId("choose-link").hidden = p.links.length < 2;
    const seeds = p.seeds.map((s) => [s, "seed " + s]);
    if (seeds.length > 1) seeds.push(["mean", "mean over seeds"]);
    if (shown.seed !== null && !p.seeds.includes(shown.seed)) shown.seed = p.seeds.length ? p.seeds[0] : null;
    fill(document.querySelector("#choose-seed select"), seeds, shown.seed === null ? "mean" : shown.seed);
    byId("choose-seed").hidden = seeds.length < 2;
    const scopes = [...new Set(p.delays[shown.link] ? p.delays[shown.link].curves.map((c) => c.scope) : [])];
    fill(byId("delay-scope"), scopes.map((s) => [s, s]));
    fill(byId("flow-class"), p.flows.map((f) => [f.class, f.class]));
    for (const node of document.querySelectorAll(".of")) {
      const link = node.dataset.link;
      node.hidden = Number(node.dataset.point) !== shown.point || (link !== undefined && Number(link) !== shown.link);
    }
  }

  function render() {
    charts.forEach((c) => c.u.destroy());
    charts = [];
    // Charts are as wide as their box, and the box must not keep the width of the old chart.
    for (const box of document.querySelectorAll(".charts .grid")) box.replaceChildren();
    if (data.points.length) {
      drawSweep();
      drawOverTime();
      drawDistribution();
      drawFlows();
      drawTradeOff();
    }
    root.dataset.charts = charts.length;
  }

  function controls() {
    data.algorithms.forEach((name, a) => {
      const chip = make("button", name, byId("algorithms"));
      chip.type = "button";
      chip.style.setProperty("--color", "var(--c" + (a % COLORS) + ")");
      chip.setAttribute("aria-pressed", "true");
      chip.addEventListener("click", () => {
        if (visible(a)) shown.hidden.add(a); else shown.hidden.delete(a);
        chip.setAttribute("aria-pressed", String(visible(a)));
        render();
      });
    });
    const on = (node, act) => node && node.addEventListener("change", () => { act(node); offer(); render(); });
    const points = document.querySelector("#choose-point select");
    fill(points, data.points.map((p, i) => [i, p.title || "all"]));
    byId("choose-point").hidden = data.points.length < 2;
    on(points, (s) => { shown.point = Number(s.value); });
    on(document.querySelector("#choose-link select"), (s) => { shown.link = Number(s.value); });
    on(document.querySelector("#choose-seed select"), (s) => { shown.seed = s.value === "mean" ? null : s.value; });
    on(byId("apart"), (s) => { shown.apart = s.checked; });
    for (const id of ["delay-scope", "delay-scale", "flow-class", "sweep-metric", "sweep-axis"]) on(byId(id), () => {});
    if (data.sweep) {
      fill(byId("sweep-metric"), data.sweep.metrics.map((m, i) => [i, m.title + (m.unit ? " [" + m.unit + "]" : "")]));
      // Only what varies by itself can be an axis; cases that set several fields at once are numbered.
      const axes = data.sweep.axes.map((a, i) => [i, a.field]).filter(([i]) => along(i).length > 1);
      fill(byId("sweep-axis"), [...axes, [-1, "case"]]);
    }
    byId("controls").hidden = false;
  }

  // ---- Tables and texts ---------------------------------------------------------------------------

  function sortable(table) {
    const headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      heading.querySelector("button").addEventListener("click", () => {
        const down = heading.getAttribute("aria-sort") === "ascending";
        headings.forEach((h) => h.setAttribute("aria-sort", "none"));
        heading.setAttribute("aria-sort", down ? "descending" : "ascending");
        const body = table.tBodies[0];
        const rows = [...body.rows].map((row) => [row.cells[column], row]);
        rows.sort(([a], [b]) => {
          const [x, y] = [a.dataset.value, b.dataset.value];
          // What has no value stays at the end.
          if (x === undefined && y === undefined) return (down ? -1 : 1) * a.textContent.localeCompare(b.textContent);
          if (x === undefined || y === undefined) return x === undefined ? 1 : -1;
          return (down ? -1 : 1) * (Number(x) - Number(y));
        });
        body.append(...rows.map(([, row]) => row));
      });
    });
  }

  function copyable(box) {
    const text = box.querySelector("pre");
    const button = make("button", "Copy", box);
    button.type = "button";
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text.textContent);
        button.textContent = "Copied";
      } catch {
        // Without leave to use the clipboard, the selected text is a keystroke away.
        getSelection().selectAllChildren(text);
        button.textContent = "Selected";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 1500);
    });
  }

  function start() {
    document.querySelectorAll("table.sortable").forEach(sortable);
    document.querySelectorAll(".copy").forEach(copyable);
    if (data.points.length) shown.seed = data.points[0].seeds.length ? data.points[0].seeds[0] : null;
    controls();
    if (data.points.length) offer();
    render();
    let width = innerWidth;
    addEventListener("resize", () => {
      if (innerWidth === width) return;
      width = innerWidth;
      charts.forEach(({ u, frame, tall }) => u.setSize({ width: frame.clientWidth, height: tall }));
    });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", render);
    // Paper is white.
    addEventListener("beforeprint", () => { root.dataset.print = ""; render(); });
    addEventListener("afterprint", () => { delete root.dataset.print; render(); });
  }

  try {
    start();
    root.dataset.ready = "true";
  } catch (error) {
    root.dataset.error = String(error);
    make("p", "The charts could not be drawn: " + error, byId("figures").parentNode).className = "notice";
    throw error;
  }
})();
