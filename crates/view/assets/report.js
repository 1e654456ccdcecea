"use strict";
// Draws the charts from the data in the page, and makes tables sortable. Everything that a control
// changes is redrawn: that is a few milliseconds, and there is no state to keep in step.
(function () {
  const root = document.documentElement;
  const byId = (id) => document.getElementById(id);
  const data = JSON.parse(byId("data").textContent);

  // What is shown.
  const shown = { point: 0, link: 0, seed: null, hidden: new Set(), apart: false };
  let charts = [];

  const point = () => data.points[shown.point];
  const visible = (a) => !shown.hidden.has(a);
  const css = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  // An algorithm has the same color and dashes everywhere; on dark ground a lighter shade.
  const dark = () => root.dataset.print === undefined && matchMedia("(prefers-color-scheme: dark)").matches;
  const color = (a) => (dark() ? data.styles[a].dark : data.styles[a].color);
  const dash = (a) => (data.styles[a].dashes.length ? data.styles[a].dashes : undefined);

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

  // The places on an axis: neighbors must not read the same.
  function place(x) {
    const size = Math.abs(x);
    return size !== 0 && (size < 1e-4 || size >= 1e7) ? x.toExponential() : String(+x.toPrecision(8));
  }

  // ---- Charts -------------------------------------------------------------------------------------

  // One chart. `series` are { label, values, color, dash, width }; `more` is merged into uPlot's options, and
  // `csv` says how its numbers differ from what is drawn.
  function chart(box, { title, x, series, xLabel, yLabel, xShort, height, more = {}, csv = {} }) {
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
    savable(figure, u, { title, series, xLabel, yLabel, name: csv.name || box.id.replace("chart-", ""), ...csv });
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

  // The times of changes.
  function changes(u) {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.strokeStyle = css("--event");
    ctx.lineWidth = devicePixelRatio;
    for (const { at_s } of inside(u, point().events)) {
      const x = u.valToPos(at_s, "x", true);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.restore();
  }

  const inside = (u, events) => events.filter((e) => e.at_s > u.scales.x.min && e.at_s < u.scales.x.max);

  // The words of the changes, over the curves. Where there is no room for them, they are in the note above.
  function words(u) {
    const { ctx, bbox } = u, ratio = devicePixelRatio, room = bbox.height - 8 * ratio;
    let free = -Infinity;
    ctx.save();
    ctx.font = 11 * ratio + "px system-ui, sans-serif";
    ctx.textAlign = "right";
    ctx.textBaseline = "middle";
    for (const { at_s, label } of inside(u, point().events)) {
      const x = u.valToPos(at_s, "x", true), wide = Math.min(ctx.measureText(label).width, room);
      if (x < free || x - 14 * ratio < bbox.left) continue;
      free = x + 14 * ratio;
      ctx.save();
      ctx.translate(x - 7 * ratio, bbox.top + 4 * ratio);
      ctx.rotate(-Math.PI / 2);
      ctx.globalAlpha = 0.8;
      ctx.fillStyle = css("--ground");
      ctx.fillRect(-wide - 2 * ratio, -6.5 * ratio, wide + 4 * ratio, 13 * ratio);
      ctx.globalAlpha = 1;
      ctx.fillStyle = css("--event");
      ctx.fillText(label, 0, 0, room);
      ctx.restore();
    }
    ctx.restore();
  }

  const overTime = {
    cursor: { sync: { key: "time" } },
    hooks: { drawClear: [window_], drawAxes: [changes], draw: [words] },
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

  const line = (r, values) => ({ label: data.algorithms[r.algorithm], values, color: color(r.algorithm), dash: dash(r.algorithm) });
  const lettered = (i, title) => (i < 26 ? "(" + String.fromCharCode(97 + i) + ") " : "") + title;

  // One chart, or one for each group of series, with common axes: `groups` are { title, series, ... }.
  function panels(box, groups, options, range) {
    box.classList.toggle("apart", groups.length > 1);
    if (groups.length === 1) return chart(box, { ...options, ...groups[0], title: undefined, more: { ...options.more, ...groups[0].more } });
    const own = (options.more || {}).scales || {};
    const scales = { ...own, y: { ...own.y, range } };
    groups.forEach((g, i) => {
      chart(box, { height: 200, ...options, ...g, title: lettered(i, g.title), more: { ...options.more, ...g.more, scales } });
    });
  }

  // The series together, or each by itself.
  const apart = (series) => (shown.apart && series.length > 1 ? series.map((s) => ({ title: s.label, series: [s] })) : [{ series }]);
  const largest = (series) => series.reduce((m, s) => s.values.reduce((n, v) => Math.max(n, v || 0), m), 0) || 1;

  function drawOverTime() {
    const boxes = ["queue", "delay", "throughput", "drops", "marks", "internals", "jain"].map((n) => byId("chart-" + n));
    const told = point().events.map((e) => place(e.at_s) + " s: " + e.label).join("; ");
    byId("events").textContent = told ? "Changes: " + told + "." : "";
    if (!point().over_time) return boxes.forEach((b) => none(b, "This page does not have it for this point."));
    const { time_s: time, rate_time_s: steps } = point().over_time[shown.link];
    const all = runs();
    if (!time.length || !all.length) return boxes.forEach((b) => none(b, "Nothing to show."));
    const draw = (box, of, yLabel, x = time) => {
      const series = all.map((r) => line(r, of(r))).filter((s) => s.values);
      if (!series.length) return none(box, "Nothing to show.");
      panels(box, apart(series), { x, xLabel: "time [s]", yLabel, xShort: "time [s]", more: overTime }, [0, largest(series) * 1.05]);
    };
    draw(boxes[0], (r) => r.queue_packets, "queue [packets]");
    draw(boxes[1], (r) => r.delay_ms, "delay [ms]");
    // What sent nothing has no curve in the data.
    const zero = steps.map(() => 0);
    const classed = (r) => r.throughput.find((t) => t.class === byId("throughput-class").value);
    draw(boxes[2], (r) => (classed(r) || { mbps: zero }).mbps, "throughput [Mbit/s]", steps);
    for (const [box, field, what] of [[boxes[3], "drops_pps", "dropped"], [boxes[4], "marks_pps", "marked"]]) {
      if (all.some((r) => r[field])) draw(box, (r) => r[field] || zero, what + " [packets/s]", steps);
      else none(box, "No packets were " + what + ".");
    }
    if (all.some((r) => r.jain_index)) draw(boxes[6], (r) => r.jain_index, "Jain index");
    else none(boxes[6], "Fewer than two bulk flows share the link, or their goodput over time was not kept.");

    let any = false;
    for (const r of all) {
      for (const signal of r.internals) {
        any = true;
        const [unit, factor] = signal.unit === "bit/s" ? ["Mbit/s", 1e-6] : [signal.unit, 1];
        const values = factor === 1 ? signal.values : signal.values.map((v) => (v === null ? null : v * factor));
        const name = data.algorithms[r.algorithm];
        const series = [{ ...line(r, values), label: signal.name }];
        if (unit === "packets") series.unshift({ label: "queue", values: r.queue_packets, color: css("--line"), width: 1 });
        chart(boxes[5], {
          title: name + ": " + signal.name, x: time, series, xLabel: "time [s]", height: 200,
          yLabel: unit === "1" ? signal.name : signal.name + " [" + unit + "]", more: overTime,
        });
      }
    }
    if (!any) none(boxes[5], "The algorithms shown report no internal signals.");
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
    const most = largest(series) * 1.02;
    panels(box, apart(series), {
      x: shares, xLabel: yLabel, yLabel: xLabel, xShort: "share", csv: { upright: true, xLabel, yLabel, name: "delay-cdf" },
      more: {
        cursor: { x: false, y: true },
        scales: {
          x: { time: false, ori: 1, distr: log ? 3 : 1, range: log ? [1e-4, 1] : [0, 1] },
          y: { ori: 0, range: [0, most] },
        },
        axes: (axis, numbers) => [
          { ...axis(yLabel), scale: "x", side: 3, ...numbers },
          { ...axis(xLabel), size: 30, scale: "y", side: 2 },
        ],
      },
    }, [0, most]);
  }

  function drawQueues() {
    const box = byId("chart-queues");
    const { cdf_packets, pdf_packets, curves } = point().queues[shown.link];
    const density = byId("queue-kind").value === "pdf";
    const mine = curves.filter((c) => visible(c.algorithm));
    if (!mine.length) return none(box, "Nothing to show.");
    const series = mine.map((c) => ({ ...line(c, density ? c.pdf : c.cdf), width: 2 }));
    const range = [0, density ? largest(series) * 1.05 : 1];
    panels(box, apart(series), {
      x: density ? pdf_packets : cdf_packets, xLabel: "queue [packets]", xShort: "queue",
      yLabel: density ? "share of time per packet" : "share of time with no more",
      csv: { name: density ? "queue-pdf" : "queue-cdf" }, more: { scales: { x: { time: false }, y: { range } } },
    }, range);
  }

  function drawTransfers() {
    const box = byId("chart-transfers");
    const found = (point().transfers || []).find((t) => t.link === shown.link && t.scope === byId("transfer-class").value);
    const kind = byId("transfer-kind").value;
    const mine = found ? found.curves.filter((c) => visible(c.algorithm) && c[kind].length) : [];
    if (!mine.length) return none(box, "No transfer was completed, or their sizes are not known.");
    const series = mine.map((c) => ({ ...line(c, c[kind]), width: 2 }));
    const all = series.flatMap((s) => s.values).filter((v) => v !== null);
    const [low, high] = [Math.min(...all), Math.max(...all)];
    const log = low > 0 && high > 50 * low;
    const range = log ? [low * 0.9, high * 1.1] : [0, high * 1.02];
    // Round numbers, as many as there is room for.
    const steps = [];
    for (let p = Math.floor(Math.log10(range[0] || 1)); log && p <= Math.log10(range[1]); p++) {
      for (const d of range[1] > 300 * range[0] ? [1] : [1, 3]) if (d * 10 ** p >= range[0] && d * 10 ** p <= range[1]) steps.push(+(d * 10 ** p).toPrecision(3));
    }
    const ticks = log && steps.length > 1 ? { splits: () => steps, values: (u, t) => t.map(place), filter: (u, t) => t } : {};
    const xLabel = kind === "slowdown" ? "slowdown" : "completion time [" + found.unit + "]", yLabel = "share of transfers with no more";
    panels(box, apart(series), {
      x: found.share, xLabel: yLabel, yLabel: xLabel, xShort: "share", csv: { upright: true, xLabel, yLabel, name: kind + "-cdf" },
      more: {
        cursor: { x: false, y: true },
        scales: { x: { time: false, ori: 1, range: [0, 1] }, y: { ori: 0, distr: log ? 3 : 1, range } },
        axes: (axis, numbers) => [
          { ...axis(yLabel), scale: "x", side: 3, ...numbers },
          { ...axis(xLabel), size: 30, scale: "y", side: 2, ...ticks },
        ],
      },
    }, range);
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
      height: box.clientWidth < 480 ? 280 : 420, csv: { sparse: true },
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

  // The points that differ from the chosen one in `axis`, in `by`, and in what is linked with them alone, in its
  // order; all points for the case number.
  function along(axis, by) {
    const { axes } = data.sweep;
    const points = data.points.map((_, i) => i);
    if (axis < 0) return points;
    const free = (k, of) => k === of || (of >= 0 && axes[of].linked.includes(k));
    const same = (i) => axes.every((a, k) => free(k, axis) || free(k, by) || a.labels[i] === a.labels[shown.point]);
    const mine = points.filter((i) => same(i) && axes[axis].labels[i] !== "");
    const n = axes[axis].numbers;
    return n ? mine.sort((i, j) => n[i] - n[j]) : mine;
  }

  // The case number, and what stands for the algorithms, segments and sizes of the only point.
  const CASE = -1, BARS = -2, SEGMENTS = -3, SIZES = -4;

  // The ends of the vertical axis: beyond the intervals, but not beyond nothing.
  function rangeOf(series, least) {
    const ends = series.flatMap((s) => s.estimates).filter(Boolean).flat().filter((v) => v !== null).concat(least === undefined ? [] : [least]);
    const [low, high] = [Math.min(...ends), Math.max(...ends)];
    const margin = (high - low) * 0.06 || Math.abs(high) * 0.05 || 1;
    return [low >= 0 ? Math.max(0, low - margin) : low - margin, high + margin];
  }

  // Draws the intervals of estimates, which are mean, low and high.
  const intervals = (series, x, ink) => (u) => {
    const { ctx } = u;
    ctx.save();
    ctx.lineWidth = 1.5 * devicePixelRatio;
    // On bars, with a rim that is seen on every color.
    for (const s of ink ? [...series.map((s) => ({ ...s, rim: true })), ...series] : series) {
      ctx.strokeStyle = s.rim ? css("--ground") : ink || s.color;
      ctx.lineWidth = (s.rim ? 4 : 1.5) * devicePixelRatio;
      s.estimates.forEach((e, k) => {
        if (!e || e[1] === null || e[1] === e[2]) return;
        const px = u.valToPos(x[k], "x", true), arm = 4 * devicePixelRatio;
        const [y0, y1] = [u.valToPos(e[1], "y", true), u.valToPos(e[2], "y", true)];
        ctx.beginPath();
        ctx.moveTo(px, y0); ctx.lineTo(px, y1);
        ctx.moveTo(px - arm, y0); ctx.lineTo(px + arm, y0);
        ctx.moveTo(px - arm, y1); ctx.lineTo(px + arm, y1);
        ctx.stroke();
      });
    }
    ctx.restore();
  };

  // A metric of the only point: bars of the algorithms, or curves over segments or sizes.
  function drawOfPoint(box, metric, at) {
    const bars = at === BARS;
    const shownOnes = data.algorithms.map((label, a) => ({ label, a })).filter(({ a }) => visible(a) && (bars ? metric.values[0][a] : true));
    const rows = at === SEGMENTS ? metric.segments : metric.sizes;
    const places = bars ? shownOnes.map((s) => s.label) : at === SEGMENTS ? point().cuts.slice(1).map((to, i) => (point().cuts[i] + to) / 2) : data.sweep.sizes;
    const x = at === SEGMENTS ? places : places.map((_, k) => k);
    const series = shownOnes.map(({ label, a }, i) => {
      const estimates = bars ? x.map((k) => (k === i ? metric.values[0][a] : null)) : rows.map((row) => row[a]);
      return {
        label, a, estimates, values: estimates.map((e) => (e ? e[0] : null)), color: color(a), dash: bars ? undefined : dash(a),
        more: bars ? { paths: () => null, points: { show: false } } : { points: { show: true, size: 7, fill: color(a) } },
      };
    }).filter((s) => s.estimates.some(Boolean));
    if (!series.length) return none(box, "Nothing to show.");
    const unit = metric.unit ? " [" + metric.unit + "]" : "";
    const named = at !== SEGMENTS;
    const fill = (u) => {
      const { ctx } = u, zero = u.valToPos(0, "y", true), half = (u.valToPos(0.36, "x", true) - u.valToPos(0, "x", true));
      ctx.save();
      for (const s of series) {
        ctx.fillStyle = s.color;
        s.values.forEach((v, k) => { if (v !== null) ctx.fillRect(u.valToPos(k, "x", true) - half, Math.min(zero, u.valToPos(v, "y", true)), 2 * half, Math.abs(zero - u.valToPos(v, "y", true))); });
      }
      ctx.restore();
    };
    const range = rangeOf(series, bars ? 0 : undefined);
    const end = named ? [-0.6, x.length - 0.4] : [0, point().cuts[point().cuts.length - 1]];
    // Names that would touch each other are in the legend.
    const room = box.clientWidth / Math.max(1, x.length), widestName = named ? Math.max(...places.map((p) => p.length)) * 7 : 0;
    chart(box, {
      x, series, xLabel: bars ? "algorithm" : named ? "size of the transfer" : "middle of the segment [s]", yLabel: metric.title + unit,
      csv: { name: metric.title, places: named ? places : null, sparse: bars },
      more: {
        hooks: { draw: [...(bars ? [fill] : []), intervals(series, x, bars ? css("--ink") : null)] },
        legend: { live: !bars }, cursor: { show: !bars },
        xAxis: named ? { splits: () => x, values: (u, t) => t.map((k) => (widestName < room ? places[k] : "")) } : {},
        scales: { x: { time: false, range: end }, y: { range } },
      },
    });
  }

  function drawSweep() {
    const box = byId("chart-sweep");
    if (!box) return;
    const metric = data.sweep.metrics[byId("sweep-metric").value];
    const at = Number(byId("sweep-axis").value);
    if (at < CASE) return drawOfPoint(box, metric, at);
    const asked = Number(byId("sweep-by").value);
    const by = at < 0 || asked === at || data.sweep.axes[at].linked.includes(asked) ? -1 : asked;
    const axis = at < 0 ? { field: "case", labels: data.points.map((p) => p.title), numbers: null, unit: "" } : data.sweep.axes[at];
    const mine = along(at, by);
    const named = !axis.numbers;
    const value = (i) => (named ? axis.labels[i] : axis.numbers[i]);
    const places = [...new Set(mine.map(value))];
    const x = named ? places.map((_, k) => k) : places;
    const values = by < 0 ? [null] : [...new Set(along(by, at).map((i) => data.sweep.axes[by].labels[i]))];
    // Of each panel and algorithm: what is at the places; where there is no point, nothing.
    const groups = values.map((v) => {
      const here = mine.filter((i) => v === null || data.sweep.axes[by].labels[i] === v);
      const found = places.map((p) => here.find((i) => value(i) === p));
      const series = data.algorithms.map((label, a) => {
        const estimates = found.map((i) => (i === undefined ? null : metric.values[i][a]));
        return {
          label, a, estimates, values: estimates.map((e) => (e ? e[0] : null)), color: color(a), dash: dash(a),
          more: { points: { show: true, size: 7, fill: color(a) } },
        };
      });
      return { title: v === null ? "" : data.sweep.axes[by].field + " = " + v, series: series.filter((s) => visible(s.a) && s.estimates.some(Boolean)) };
    }).filter((g) => g.series.length);
    if (!groups.length) return none(box, "Nothing to show.");
    const range = rangeOf(groups.flatMap((g) => g.series));
    const unit = (u) => (u ? " [" + u + "]" : "");
    const [first, last] = [x[0], x[x.length - 1]];
    const span = last - first || 1, factor = Math.pow(last / first || 1, 0.04);
    const ticks = axis.log
      // The values themselves: neighbors among them are far enough apart.
      ? { splits: () => x, values: (u, splits) => splits.map(place), filter: (u, splits) => splits }
      : named ? { splits: () => x, values: (u, t) => t.map((k) => places[k] || "") } : {};
    const across = axis.log ? { time: false, distr: 3, range: [first / factor, last * factor] } : { time: false, range: [!named && first >= 0 ? Math.max(0, first - span * 0.04) : first - span * 0.04, last + span * 0.04] };
    // Without panels for values there may be panels for algorithms.
    const all = by < 0 ? apart(groups[0].series) : groups;
    panels(box, all.map((g) => ({ ...g, more: { hooks: { draw: [intervals(g.series, x)] } } })), {
      x, xLabel: axis.field + unit(axis.unit), yLabel: metric.title + unit(metric.unit),
      csv: { name: metric.title, places: named ? places : null },
      more: { xAxis: ticks, scales: { x: across, y: { range } } },
    }, range);
  }

  // ---- Saving ---------------------------------------------------------------------------------------

  const slug = (text) => text.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");

  // Beside a figure what saves it: as a picture, and its numbers.
  function savable(figure, u, of) {
    const bar = make("p", null, figure);
    bar.className = "save";
    const name = slug(of.name + (of.title ? " " + of.title : ""));
    const button = (kind, type, text) => {
      const node = make("button", kind.toUpperCase(), bar);
      node.type = "button";
      node.setAttribute("aria-label", "Save as " + kind.toUpperCase() + ": " + (of.title || of.yLabel));
      node.addEventListener("click", async () => {
        const link = document.createElement("a");
        link.href = URL.createObjectURL(new Blob([await text()], { type }));
        link.download = name + "." + kind;
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 1000);
      });
    };
    button("svg", "image/svg+xml", () => picture(u, of));
    button("csv", "text/csv", () => numbers(u, of));
  }

  // A row for each value of each curve (RFC 4180), as `quell plot --csv` writes them.
  function numbers(u, { series, xLabel, yLabel, upright, sparse, places }) {
    const field = (v) => (v == null ? "" : /[",\r\n]/.test(v) ? '"' + String(v).replace(/"/g, '""') + '"' : String(v));
    const half = series.some((s) => s.estimates);
    const rows = [["curve", xLabel, yLabel, ...(half ? ["low", "high"] : [])]];
    series.forEach((s, i) => u.data[0].forEach((x, k) => {
      const y = u.data[i + 1][k];
      if (sparse && y === null) return;
      const at = places ? places[k] : x;
      rows.push([s.label, ...(upright ? [y, at] : [at, y]), ...(half ? [1, 2].map((e) => s.estimates && s.estimates[k] && s.estimates[k][e]) : [])]);
    }));
    return rows.map((r) => r.map(field).join(",") + "\r\n").join("");
  }

  const short = (v) => String(Math.round(v * 10) / 10);
  // How a canvas's path is written in SVG.
  const PATH = {
    moveTo: (x, y) => "M" + short(x) + " " + short(y),
    lineTo: (x, y) => "L" + short(x) + " " + short(y),
    bezierCurveTo: (...p) => "C" + p.map(short).join(" "),
    rect: (x, y, w, h) => "M" + short(x) + " " + short(y) + "h" + short(w) + "v" + short(h) + "h" + short(-w) + "z",
    closePath: () => "z",
    arc: (x, y, r, from, to) => {
      const p = (t) => short(x + r * Math.cos(t)) + " " + short(y + r * Math.sin(t));
      const half = (t) => "A" + short(r) + " " + short(r) + " 0 0 1 " + p(t);
      // A circle, which is all that charts have, takes two arcs.
      return "L" + p(from) + half((from + to) / 2) + half(to);
    },
  };

  // A path that remembers how it was drawn.
  const Path = window.Path2D;
  class Remembered extends Path {
    constructor(other) { super(other); this.d = other instanceof Remembered ? other.d : ""; }
  }
  for (const step of Object.keys(PATH)) {
    Remembered.prototype[step] = function (...p) { this.d += PATH[step](...p); Path.prototype[step].apply(this, p); };
  }

  const escaped = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");

  // The chart as SVG: it is drawn once more, and what the canvas is told to draw is written down.
  async function picture(u, { title, series, xLabel, yLabel }) {
    const { ctx } = u, native = Object.getPrototypeOf(ctx), ratio = devicePixelRatio;
    const out = [], clips = [""];
    let own = "", known = 0;
    const paint = (kind) => {
      const { a, b, c, d, e, f } = ctx.getTransform();
      const turn = a === 1 && b === 0 && c === 0 && d === 1 && !e && !f ? "" : ' transform="matrix(' + [a, b, c, d, e, f].map((v) => +v.toFixed(4)).join(" ") + ')"';
      const clip = clips[clips.length - 1], alpha = ctx.globalAlpha < 1 ? ' opacity="' + ctx.globalAlpha + '"' : "";
      if (kind === "fill") return ' fill="' + ctx.fillStyle + '"' + turn + clip + alpha;
      const dashes = ctx.getLineDash();
      return ' fill="none" stroke="' + ctx.strokeStyle + '" stroke-width="' + short(ctx.lineWidth) + '"' + (dashes.length ? ' stroke-dasharray="' + dashes.join(" ") + '"' : "") + turn + clip + alpha;
    };
    const add = (path, kind) => {
      const d = path instanceof Remembered ? path.d : own;
      if (d) out.push('<path d="' + d.replace(/^L/, "M").replace(/zL/g, "zM") + '"' + paint(kind) + "/>");
    };
    const told = {
      stroke: (path) => add(path, "stroke"),
      fill: (path) => add(path, "fill"),
      fillRect: (x, y, w, h) => out.push('<path d="' + PATH.rect(x, y, w, h) + '"' + paint("fill") + "/>"),
      fillText: (text, x, y) => {
        const anchor = { right: "end", end: "end", center: "middle" }[ctx.textAlign] || "start";
        const down = { top: ".8em", hanging: ".8em", middle: ".35em", bottom: "-.2em" }[ctx.textBaseline] || "0";
        out.push('<text x="' + short(x) + '" y="' + short(y) + '" dy="' + down + '" text-anchor="' + anchor + '" style="font:' + escaped(ctx.font) + '"' + paint("fill") + ">" + escaped(text) + "</text>");
      },
      save: () => clips.push(clips[clips.length - 1]),
      restore: () => { if (clips.length > 1) clips.pop(); },
      clip: (path) => {
        const d = path instanceof Remembered ? path.d : own;
        out.push('<clipPath id="c' + ++known + '"><path d="' + d + '"/></clipPath>');
        clips[clips.length - 1] = ' clip-path="url(#c' + known + ')"';
      },
      beginPath: () => { own = ""; },
    };
    for (const step of Object.keys(PATH)) told[step] = (...p) => { own += PATH[step](...p); };
    for (const step of Object.keys(told)) ctx[step] = (...p) => { told[step](...p); native[step].apply(ctx, p); };
    window.Path2D = Remembered;
    u.redraw(true, true);
    // It draws when this is over.
    await new Promise((done) => setTimeout(done));
    window.Path2D = Path;
    for (const step of Object.keys(told)) delete ctx[step];
    const { width, height } = ctx.canvas, row = 18 * ratio, shownSeries = series.length > 1 || !title ? series : [];
    const font = ' style="font:' + 12 * ratio + 'px system-ui, sans-serif" fill="' + css("--ink") + '"';
    const below = shownSeries.map((s, i) => {
      const y = height + (i + 0.7) * row;
      const dashes = s.dash ? ' stroke-dasharray="' + s.dash.map((v) => v * ratio).join(" ") + '"' : "";
      return '<path d="M' + 20 * ratio + " " + (y - 4 * ratio) + "h" + 24 * ratio + '" stroke="' + s.color + '" stroke-width="' + 2 * ratio + '"' + dashes + "/>" +
        '<text x="' + 52 * ratio + '" y="' + y + '"' + font + ">" + escaped(s.label) + "</text>";
    });
    const above = title ? row : 0, tall = height + above + below.length * row + 6 * ratio;
    const head = title ? '<text x="' + 8 * ratio + '" y="' + -5 * ratio + '"' + font + ">" + escaped(title) + "</text>" : "";
    return '<svg xmlns="http://www.w3.org/2000/svg" width="' + width / ratio + '" height="' + tall / ratio + '" viewBox="0 ' + -above + " " + width + " " + tall + '">' +
      "<title>" + escaped((title ? title + ": " : "") + yLabel + " over " + xLabel) + "</title>" +
      '<rect y="' + -above + '" width="' + width + '" height="' + tall + '" fill="' + css("--ground") + '"/>' + head + out.join("\n") + below.join("\n") + "</svg>\n";
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
    const throughputs = p.over_time ? p.over_time[shown.link].runs.flatMap((r) => r.throughput.map((t) => t.class)) : [];
    fill(byId("throughput-class"), [...new Set(throughputs)].map((c) => [c, c]));
    fill(byId("transfer-class"), (p.transfers || []).filter((t) => t.link === shown.link).map((t) => [t.scope, t.scope]));
    fill(byId("flow-class"), p.flows.map((f) => [f.class, f.class]));
    for (const node of document.querySelectorAll(".of")) {
      const link = node.dataset.link;
      node.hidden = Number(node.dataset.point) !== shown.point || (link !== undefined && Number(link) !== shown.link);
    }
  }

  function render() {
    [...byId("algorithms").querySelectorAll("button")].forEach((chip, a) => chip.style.setProperty("--color", color(a)));
    charts.forEach((c) => c.u.destroy());
    charts = [];
    // Charts are as wide as their box, and the box must not keep the width of the old chart.
    for (const box of document.querySelectorAll(".charts .grid")) box.replaceChildren();
    if (data.points.length) {
      drawSweep();
      drawOverTime();
      drawQueues();
      drawDistribution();
      drawTransfers();
      drawFlows();
      drawTradeOff();
    }
    root.dataset.charts = charts.length;
  }

  function controls() {
    data.algorithms.forEach((name, a) => {
      const chip = make("button", name, byId("algorithms"));
      chip.type = "button";
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
    for (const id of ["delay-scope", "delay-scale", "queue-kind", "throughput-class", "flow-class", "transfer-class", "transfer-kind", "sweep-metric", "sweep-axis", "sweep-by"]) on(byId(id), () => {});
    if (data.sweep && data.points.length === 1) {
      // Of the only point: what its metrics can stand over. Not every metric has sizes.
      const metrics = data.sweep.metrics;
      const offerMetrics = () => {
        const at = Number(byId("sweep-axis").value);
        const has = (m) => (at === SEGMENTS ? m.segments.length : at === SIZES ? m.sizes.length : true);
        fill(byId("sweep-metric"), metrics.map((m, i) => [i, m.title + (m.unit ? " [" + m.unit + "]" : "")]).filter(([i]) => has(metrics[i])));
      };
      const axes = [[BARS, "algorithms"]];
      if (metrics.some((m) => m.segments.length)) axes.push([SEGMENTS, "segments"]);
      if (metrics.some((m) => m.sizes.length)) axes.push([SIZES, "sizes of transfers"]);
      fill(byId("sweep-axis"), axes, BARS);
      byId("sweep-by").hidden = true;
      byId("sweep-axis").addEventListener("change", () => { offerMetrics(); render(); });
      offerMetrics();
    } else if (data.sweep) {
      fill(byId("sweep-metric"), data.sweep.metrics.map((m, i) => [i, m.title + (m.unit ? " [" + m.unit + "]" : "")]));
      // Only what varies by itself can be an axis; cases that set several fields at once are numbered.
      const axes = data.sweep.axes.map((a, i) => [i, a.field]).filter(([i]) => along(i).length > 1);
      // Numbers along an axis say more than names.
      const [first] = axes.filter(([i]) => data.sweep.axes[i].numbers).concat(axes);
      const other = first && axes.find(([i]) => i !== first[0] && !data.sweep.axes[first[0]].linked.includes(i));
      fill(byId("sweep-axis"), [...axes, [-1, "case"]], first ? first[0] : -1);
      fill(byId("sweep-by"), [[-1, "one panel"], ...axes.map(([i, field]) => [i, "a panel for each " + field])], other ? other[0] : -1);
      byId("sweep-by").hidden = axes.length < 2;
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
    document.querySelectorAll(".scroll").forEach((box) => {
      box.addEventListener("scroll", () => box.classList.toggle("moved", box.scrollLeft > 0), { passive: true });
    });
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
