// Over time: the queues as pictures, and curves that playback moves through.

import { computed, effect, signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Replication } from "../protocol.ts";
import { behind } from "../state/behind.ts";
import { broken, fault, shown } from "../state/document.ts";
import { dark, still } from "../state/layout.ts";
import { clock, goTo, moments, seeks } from "../state/play.ts";
import { current, here, opened, resultPoint, runs } from "../state/run.ts";
import type { RunOf } from "../state/runner.ts";
import { Button } from "../ui/index.tsx";
import { Key, MARKS } from "../ui/key.tsx";
import { Figure, format, type Numbers } from "./figure.tsx";
import { fillOf } from "./inks.ts";
import { colorOf, lookOf, styles } from "./looks.ts";
import { cutOff, Plot, type PlotSpec, type Seen } from "./plot.ts";
import { printed, printedOver } from "./printed.ts";
import {
  classes,
  type Drawn,
  drawn,
  type LinkSamples,
  type Moment,
  moment,
  type Panel,
  panels,
  QUANTITIES,
  rateUnit,
  total,
  valueAt,
} from "./quantities.ts";
import { Strip } from "./strip.ts";
import { csv, type Figure as FigureOf, svg } from "./svg.ts";
import { axisEnd, fixed, packetsOf, summary } from "./thin.ts";
import { choose, view } from "./view.ts";

/** The time that the pointer is at, in whichever figure. */
const pointed = signal<number | null>(null);

/** How many flows are of the groups whose windows are drawn. */
function flowsLike({ windows, flows }: Replication): number {
  const groups = new Set(windows.map((w) => w.group));
  return flows.filter((f) => groups.has(f.group)).length;
}

const cache = new WeakMap<object, Drawn>();
function drawnOf(run: RunOf): Drawn | null {
  const part = run.partial && (run.partial[0]?.time_s.length ?? 0) > 2 ? run.partial : null;
  const of = part ?? run.shown;
  if (!of) return null;
  const known = cache.get(of);
  if (known) return known;
  const shown = part ? null : run.shown;
  const made = drawn(
    run.label,
    part ?? shown?.series ?? [],
    shown?.windows ?? [],
    shown ? flowsLike(shown) : undefined,
  );
  cache.set(of, made);
  return made;
}

/** The runs that are drawn. */
export const drawnRuns = computed(() => runs.value.each.map(drawnOf).filter((d): d is Drawn => d !== null));
/** True while what is drawn is of an older text, or of another step than the one that is read. */
export const isStale = computed(
  () => behind.value !== null || !current.value || runs.value.each.some((r) => r.stale && !r.partial),
);

/** The links that are observed, and the one that is shown. */
export const links = computed(() => [...new Set(drawnRuns.value.flatMap((d) => d.links.map((l) => l.link)))]);
export const link = computed(() => {
  const all = links.value;
  return all.includes(view.value.link) ? view.value.link : (all[0] ?? "");
});

const seenPart = computed((): Seen => {
  const { time, end } = clock.value;
  const { span } = view.value;
  if (span <= 0 || span >= end) return { from: 0, to: end || 1, time };
  const from = Math.min(Math.max(0, time - span), Math.max(0, end - span));
  return { from, to: from + span, time };
});

export function TimeTab() {
  const { curves, apart, scope } = view.value;
  const all = drawnRuns.value;
  const names = classes(all, link.value);
  // What is there before the first samples would only move when they come.
  const { phase } = runs.value;
  if (all.length === 0) {
    const soon = !fault.value && !broken.value && (phase === "idle" || phase === "running");
    return <p class="note">{soon ? "The first packets are on their way." : "Not run yet."}</p>;
  }
  return (
    <div class={isStale.value ? "over-time dim" : "over-time"}>
      <Strips />
      <div class="choices">
        <fieldset class="chips">
          <legend class="hidden">Curves</legend>
          {QUANTITIES.map((q) => (
            <label key={q.id} title={q.doc} class="chip">
              <input
                type="checkbox"
                checked={curves.includes(q.id)}
                onChange={(e) =>
                  choose({
                    curves: e.currentTarget.checked
                      ? QUANTITIES.filter((o) => o.id === q.id || curves.includes(o.id)).map((o) => o.id)
                      : curves.filter((id) => id !== q.id),
                  })
                }
              />
              {q.title}
            </label>
          ))}
        </fieldset>
        <span class="group">
          <Button pressed={!apart} onClick={() => choose({ apart: false })}>
            Together
          </Button>
          <Button pressed={apart} onClick={() => choose({ apart: true })}>
            Side by side
          </Button>
        </span>
        <LinkChoice of={links.value} chosen={link.value} />
        {!apart && names.length > 1 && (
          <label>
            Throughput of{" "}
            <select value={scope} onChange={(e) => choose({ scope: e.currentTarget.value })}>
              {["all", ...names].map((name) => (
                <option key={name} value={name}>
                  {name}
                </option>
              ))}
            </select>
          </label>
        )}
      </div>
      {curves.length === 0 && <p class="note">No curve is chosen.</p>}
      {curves.map((id) => (
        <Group key={id} id={id} runs={all} apart={apart} scope={names.includes(scope) ? scope : "all"} />
      ))}
    </div>
  );
}

/** The links that tables and diagrams may be of, and the one that is chosen. */
export const resultLinks = computed(() =>
  opened.value ? (opened.value.points[resultPoint.value]?.links ?? []) : links.value,
);
export const resultLink = computed(() => {
  const all = resultLinks.value;
  return all.includes(view.value.link) ? view.value.link : (all[0] ?? "");
});

/** Chooses the link, where there are several. */
export function LinkChoice({ of, chosen }: { of: readonly string[]; chosen: string }) {
  if (of.length < 2) return null;
  return (
    <label>
      Link{" "}
      <select value={chosen} onChange={(e) => choose({ link: e.currentTarget.value })}>
        {of.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>{" "}
      <span class="soft">
        {of.indexOf(chosen) + 1} of {of.length}
      </span>
    </label>
  );
}

/** The figures of one quantity, with a common axis. */
function Group({ id, runs: all, apart, scope }: { id: string; runs: readonly Drawn[]; apart: boolean; scope: string }) {
  const made = useMemo(() => panels(id, all, link.value, apart, scope), [id, all, link.value, apart, scope]);
  const warmup = here.value?.warmup_s ?? 0;
  const most = useMemo(() => {
    const of = (list: readonly Panel[]) => {
      const levels = list.flatMap((p) => printedOver(id, p.unit, printed.value).map((l) => l.value));
      return axisEnd(
        list.flatMap((p) => p.curves.map((c) => c.samples)),
        warmup,
        Math.max(0, ...levels),
      );
    };
    // Internal signals have units of their own.
    return id === "internals" ? made.map((p) => of([p])) : made.map(() => of(made));
  }, [id, made, warmup, printed.value]);
  const title = QUANTITIES.find((q) => q.id === id)?.title ?? id;
  if (made.length === 0) return <p class="note">{why(id, title, all.length > 0)}</p>;
  const silent =
    (id === "drops" || id === "marks") && made.every((p) => p.curves.every((c) => summary(c.samples.values).most <= 0));
  if (silent) return <p class="note">{id === "drops" ? "No packet was dropped." : "No packet was marked."}</p>;
  return (
    <section class="quantity">
      {made.length > 1 && <h2>{id === "internals" ? title : headOf(title, made)}</h2>}
      <div class={`multiples of-${Math.min(made.length, 4)}`}>
        {made.map((panel, i) => (
          <TimeFigure
            key={panel.id}
            panel={panel}
            most={panel.most ?? (most[i] as number)}
            height={made.length > 1 ? 120 : 165}
            alone={made.length === 1}
          />
        ))}
      </div>
      {id === "throughput" && (
        <p class="note">
          A packet counts in the step in which its transmission begins. So one step may show up to a packet more than
          the link sends in it.
        </p>
      )}
    </section>
  );
}

function why(id: string, title: string, some: boolean): string {
  if (!some) return `${title}: nothing has run yet.`;
  if (id === "jain") return "Fairness: fewer than two bulk flows share the link.";
  if (id === "internals") return "Inside: the algorithms that are shown have no variables to report.";
  if (id === "windows") return "Windows: they are there when a run is whole, of TCP flows.";
  return `${title}: there is nothing of it.`;
}

const headOf = (title: string, made: readonly Panel[]): string => {
  const [first] = made;
  const head = first?.unit ? `${title} [${first.unit}]` : title;
  return first?.of ? `${head}: ${first.of}` : head;
};

const axisOf = (panel: Panel): string => {
  const [base] = panel.title.split(", ");
  return panel.unit ? `${base} (${panel.unit})` : (base as string);
};

function TimeFigure({ panel, most, height, alone }: { panel: Panel; most: number; height: number; alone: boolean }) {
  const host = useRef<HTMLDivElement>(null);
  const readout = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | null>(null);
  const end = clock.value.end || here.value?.duration_s || 1;
  const warmup = here.value?.warmup_s ?? 0;
  const events = moments.value;
  const [quantity = ""] = panel.id.split(":");
  const levels = printedOver(quantity, panel.unit, printed.value).filter((l) =>
    panel.curves.some((c) => c.of === l.label),
  );
  const spec: PlotSpec = useMemo(
    () => ({
      ...drawnCurves(panel, most),
      unit: panel.unit,
      end,
      most,
      warmup,
      events,
      levels: levels.map(({ label, value }) => ({ value, color: colorOf(label) })),
      height,
      dark: dark.value,
    }),
    [panel, most, end, warmup, events, printed.value, height, dark.value, styles.value, shown.value],
  );
  const latest = useRef(spec);
  latest.current = spec;

  useEffect(() => {
    const made = new Plot(host.current as HTMLDivElement, latest.current, {
      pointed: (time) => {
        pointed.value = time;
      },
      taken: goTo,
    });
    plot.current = made;
    const stops = [effect(() => made.show(seenPart.value)), effect(() => made.point(pointed.value))];
    return () => {
      for (const stop of stops) stop();
      made.destroy();
      plot.current = null;
    };
  }, []);
  useEffect(() => plot.current?.update(spec), [spec]);
  useReadout(readout, panel, most);

  const figure = (): FigureOf => ({
    title: panel.of ? `${panel.title}: ${panel.of}` : panel.title,
    x: "time (s)",
    y: axisOf(panel),
    end,
    most,
    warmup,
    events,
    curves: panel.curves.map((c) => ({ label: c.label, look: lookOf(c, true), samples: c.samples })),
  });
  return (
    <Figure
      title={titleOf(panel, alone)}
      name={panel.title}
      kept={[
        { kind: "svg", text: () => svg(figure()) },
        { kind: "csv", text: () => csv(figure()) },
      ]}
      numbers={() => numbersOf(panel, end)}
    >
      <div class="readout" ref={readout} aria-hidden="true">
        {panel.curves.map((c) => {
          const look = lookOf(c);
          return (
            <span key={c.label}>
              {look.mark && (
                <svg class="swatch mark" viewBox="0 0 12 12" aria-hidden="true">
                  <path d={MARKS[look.mark]} fill={look.color} stroke={look.color} stroke-width="1.6" />
                </svg>
              )}
              <svg class="swatch" viewBox="0 0 22 8" aria-hidden="true">
                <path d="M0 4h22" stroke={look.color} stroke-width="2.4" stroke-dasharray={look.dashes.join(" ")} />
              </svg>
              {c.label} <b />
            </span>
          );
        })}
      </div>
      <div class="plot" ref={host} role="img" aria-label={said(panel, end)} style={{ height: `${height}px` }} />
      {levels.length > 0 && <p class="note">Printed: {levels.map((l) => l.text).join("; ")}.</p>}
    </Figure>
  );
}

/** The curves as they look, and the peaks that the axis cuts off. */
function drawnCurves(panel: Panel, most: number): Pick<PlotSpec, "curves" | "above"> {
  const curves = panel.curves.map((c) => ({ label: c.label, look: lookOf(c), samples: c.samples }));
  return { curves, above: cutOff(curves, most) };
}

/** Of several figures the heading above has the quantity, and the unit if they share it. */
function titleOf({ id, part, title, unit, of }: Panel, alone: boolean): string {
  const shown = alone ? title : part;
  const own = alone || id.startsWith("internals");
  const head = own && unit ? `${shown} [${unit}]` : shown;
  return alone && of ? `${head}: ${of}` : head;
}

/** A figure in a sentence. */
function said(panel: Panel, end: number): string {
  const of = panel.curves.map((c) => {
    const { mean, most, count } = summary(c.samples.values);
    return count ? `${c.label} mean ${format(mean)}, most ${format(most)}` : `${c.label} without values`;
  });
  return `${axisOf(panel)} over ${format(end)} s: ${of.join("; ")}.`;
}

const ROWS = 30;

function numbersOf(panel: Panel, end: number): Numbers {
  const heads = ["time (s)", ...panel.curves.map((c) => c.label)];
  const rows = Array.from({ length: ROWS }, (_, i) => {
    const t = ((i + 1) * end) / ROWS;
    return [+t.toPrecision(5), ...panel.curves.map((c) => valueAt(c.samples, t))];
  });
  const of = (key: "mean" | "most") => [key, ...panel.curves.map((c) => summary(c.samples.values)[key])];
  return {
    heads,
    rows: [of("mean"), of("most"), ...rows],
    note: `Every ${format(end / ROWS)} s; the CSV file has every sample.`,
  };
}

const READ_MS = 90;

/** Writes the values at the pointer, or else at the time of the playback, a few times a second. */
function useReadout(ref: { current: HTMLDivElement | null }, panel: Panel, most: number): void {
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last = 0;
    const write = () => {
      timer = undefined;
      last = performance.now();
      const time = pointed.peek() ?? clock.peek().time;
      const bold = ref.current?.querySelectorAll("b");
      panel.curves.forEach((c, i) => {
        const node = bold?.[i];
        const value = fixed(valueAt(c.samples, time), most, panel.unit);
        if (node && node.textContent !== value) node.textContent = value;
      });
    };
    const stop = effect(() => {
      pointed.value;
      clock.value;
      const wait = READ_MS - (performance.now() - last);
      if (wait <= 0) write();
      else timer ??= setTimeout(write, wait);
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, [panel, most]);
}

/** Names the samples that are drawn of an algorithm: those of the present text, or older ones. */
function samplesOf(label: string): string {
  const { key, each } = runs.peek();
  const run = each.find((r) => r.label === label);
  return `${run?.stale && !run.partial ? "old" : "new"} ${key}`;
}

/** The queues as pictures. */
function Strips() {
  const box = useRef<HTMLDivElement>(null);
  /** Those of before move on when there are new samples. */
  const strips = useRef(new WeakMap<HTMLCanvasElement, Strip>());
  const all = drawnRuns.value;
  const name = link.value;
  const names = classes(all, name);
  const labels = runs.value.each.map((r) => r.label);
  const isDark = dark.value;
  const warmup = here.value?.warmup_s ?? 0;

  useEffect(() => {
    const rows = [...(box.current?.querySelectorAll<HTMLElement>(".strip") ?? [])];
    const made = rows.map((row) => {
      const canvas = row.querySelector("canvas") as HTMLCanvasElement;
      const strip = strips.current.get(canvas) ?? new Strip(canvas);
      strips.current.set(canvas, strip);
      return {
        canvas,
        strip,
        run: row.dataset.label ?? "",
        link: all.find((d) => d.label === row.dataset.label)?.links.find((l) => l.link === name),
        color: colorOf(row.dataset.label ?? ""),
        words: row.querySelector(".strip-words") as HTMLElement,
        events: row.querySelector(".strip-events") as HTMLElement,
      };
    });
    const most = Math.max(4, ...made.map(({ link: l }) => (l ? summary(l.queueMean).most : 0)));
    const scales = scalesOf(
      made.flatMap(({ link: l }) => (l ? [l] : [])),
      warmup,
    );
    const css = getComputedStyle(box.current ?? document.documentElement);
    const inks = {
      line: css.getPropertyValue("--line").trim(),
      soft: css.getPropertyValue("--edge").trim(),
      mark: css.getPropertyValue("--warn-line").trim(),
      drop: css.getPropertyValue("--wrong").trim(),
    };
    let last = performance.now();
    let told = 0;
    let again: ReturnType<typeof setTimeout> | undefined;
    const draw = () => {
      const now = performance.now();
      const elapsed = Math.min(0.1, (now - last) / 1000);
      last = now;
      // Where the pointer is in a figure, as the numbers above its curves.
      const time = pointed.peek() ?? clock.peek().time;
      const tell = now - told > READ_MS;
      if (tell) told = now;
      for (const { canvas, run, strip, link: l, color, words, events } of made) {
        const m = l ? moment(l, names, time) : null;
        const moves = clock.peek().playing && pointed.peek() === null;
        strip.belongTo(`${samplesOf(run)} ${name} ${seeks.peek()}`);
        strip.draw(m, most, scales.peak_bps, moves ? elapsed : 0, { ...inks, color }, still.value);
        const marks = String(strip.marks);
        if (canvas.dataset.marks !== marks) canvas.dataset.marks = marks;
        if (!tell) continue;
        const [state, happened] = m ? tellMoment(m, scales) : ["", ""];
        if (words.textContent !== state) words.textContent = state;
        if (events.textContent !== happened) events.textContent = happened;
      }
      clearTimeout(again);
      // What was not told is told when the clock stands.
      if (!tell) again = setTimeout(draw, READ_MS);
    };
    const stop = effect(() => {
      clock.value;
      pointed.value;
      draw();
    });
    const resized = new ResizeObserver((entries) => {
      for (const { target, contentRect } of entries) {
        made.find(({ canvas }) => canvas === target)?.strip.resize(contentRect.width);
      }
      draw();
    });
    for (const { canvas } of made) resized.observe(canvas);
    return () => {
      stop();
      resized.disconnect();
      clearTimeout(again);
    };
  }, [all, name, labels.join("\n"), names.join("\n"), isDark, warmup, styles.value]);

  return (
    <section class="strips" ref={box} aria-label="Queues at the time of the playback">
      {labels.map((label) => (
        <div class="strip" key={label} data-label={label}>
          <p class="strip-head">
            <Key style={styles.value.get(label)} />
            <strong>{label}</strong>
            <span class="strip-events" />
          </p>
          <p class="strip-words" />
          <div aria-hidden="true">
            <canvas />
          </div>
        </div>
      ))}
      {names.length > 0 && (
        <p class="strip-key">
          {names.map((n, i) => (
            <span key={n}>
              <Block of={i} />
              {n}
            </span>
          ))}
          <span>
            <b class="cross">✕</b> dropped
          </span>
          <span>
            <b class="ring">○</b> marked
          </span>
        </p>
      )}
    </section>
  );
}

/** A block of a class, as strips have it, in no algorithm's color. */
function Block({ of }: { of: number }) {
  const { alpha, edge, notch } = fillOf(of);
  return (
    <svg class="block" viewBox="0 0 9 12" aria-hidden="true">
      {(notch ? [0, 7] : [0]).map((y) => (
        <rect
          key={y}
          x="0.5"
          y={y + 0.5}
          width="8"
          height={notch ? 4 : 11}
          fill="currentcolor"
          fill-opacity={alpha}
          stroke={edge ? "currentcolor" : "none"}
        />
      ))}
    </svg>
  );
}

/** What the words of strips are written with: the same ends of axes as figures have, so that they say the same. */
interface Scales {
  readonly packets: number;
  readonly ms: number;
  readonly unit: string;
  readonly factor: number;
  readonly rate: number;
  readonly peak_bps: number;
}

function scalesOf(links: readonly LinkSamples[], warmup: number): Scales {
  const end = (of: (l: LinkSamples) => Float64Array) =>
    axisEnd(
      links.map((l) => ({ time: l.time, values: of(l) })),
      warmup,
    );
  const sums = links.map((l) => ({ time: l.time, values: total(l.throughput, l.time.length) }));
  const peak_bps = Math.max(1, ...sums.map((s) => summary(s.values).most));
  const [unit, factor] = rateUnit(peak_bps);
  return {
    packets: end((l) => l.queueMean),
    ms: 1e3 * end((l) => l.delay),
    unit,
    factor,
    rate: factor * axisEnd(sums, warmup),
    peak_bps,
  };
}

/** What a queue is like, and what happens to its packets. */
function tellMoment(m: Moment, s: Scales): [string, string] {
  const packets = fixed(m.packets, s.packets, "packets");
  const state = [
    `${packets} ${packetsOf(packets)}`,
    `${fixed(m.delay_s * 1e3, s.ms)} ms`,
    `${fixed(m.bps * s.factor, s.rate)} ${s.unit}`,
  ];
  const events: string[] = [];
  if (m.dropped_pps > 0) events.push(`${format(m.dropped_pps)} drops/s`);
  if (m.marked_pps > 0) events.push(`${format(m.marked_pps)} marks/s`);
  return [state.join(" · "), events.join(" · ")];
}
