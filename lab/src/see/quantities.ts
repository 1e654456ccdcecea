// What can be drawn over time: from the series of a run to curves with units.

import type { FlowWindow, LinkSeries } from "../protocol.ts";
import { type Place, places } from "./inks.ts";
import { lower, type Samples, step } from "./thin.ts";

/** A run as it is drawn: its numbers in typed arrays, which are made once. */
export interface Drawn {
  readonly label: string;
  readonly links: readonly LinkSamples[];
  readonly windows: readonly { flow: number; group: string; class: string; samples: Samples }[];
  /** How many flows have windows, if that is known: fewer are drawn. */
  readonly flows?: number;
}

/** The samples of a link. */
export interface LinkSamples {
  readonly link: string;
  readonly time: Float64Array;
  readonly queueBytes: Float64Array;
  readonly queueMean: Float64Array;
  readonly delay: Float64Array;
  readonly dropped: Float64Array;
  readonly marked: Float64Array;
  readonly jain: Float64Array;
  readonly throughput: readonly { class: string; bps: Float64Array }[];
  readonly internals: readonly { name: string; unit: string; values: Float64Array }[];
}

/** A curve of a figure. */
export interface Curve {
  readonly label: string;
  /** The algorithm that it is of. */
  readonly of: string;
  /** Its place among the classes or flows of the algorithm; none if it is of all. */
  readonly place?: Place;
  readonly samples: Samples;
}

/** A figure over time. */
export interface Panel {
  readonly id: string;
  /** What distinguishes it from the others of its quantity; empty if it is the only one. */
  readonly part: string;
  readonly title: string;
  readonly unit: string;
  readonly curves: readonly Curve[];
  /** What part of all is drawn, if it is a part. */
  readonly of?: string;
  /** The end of the vertical axis, if the quantity has one. */
  readonly most?: number;
}

/** What can be chosen. */
export interface Quantity {
  readonly id: string;
  readonly title: string;
  readonly doc: string;
}

export const QUANTITIES: readonly Quantity[] = [
  { id: "delay", title: "Queueing delay", doc: "Mean wait of the packets that left in each step" },
  { id: "queue", title: "Queue", doc: "Packets that wait, as a mean over each step" },
  { id: "bytes", title: "Queue in bytes", doc: "Bytes that wait at the end of each step" },
  {
    id: "throughput",
    title: "Throughput",
    doc: "Bits sent per second, headers included, by class of traffic. A packet counts in the step in which its transmission begins",
  },
  { id: "windows", title: "Windows", doc: "Congestion windows of up to twelve flows, at least one of each group" },
  { id: "drops", title: "Drops", doc: "Packets dropped per second" },
  { id: "marks", title: "Marks", doc: "Packets marked per second (ECN)" },
  { id: "jain", title: "Fairness", doc: "Jain’s index of the goodputs of bulk flows in each step" },
  { id: "internals", title: "Inside", doc: "The algorithm’s own variables" },
];

const numbers = (values: ArrayLike<number | null> | undefined): Float64Array => {
  if (values instanceof Float64Array) return values;
  const out = new Float64Array(values?.length ?? 0);
  for (let i = 0; i < out.length; i++) out[i] = values?.[i] ?? Number.NaN;
  return out;
};

/** The samples of a link, each made into numbers when it is first drawn. */
class Lazy implements LinkSamples {
  private readonly made = new Map<string, Float64Array>();

  constructor(private readonly of: LinkSeries) {}

  private get(key: Exclude<keyof LinkSeries, "link" | "throughput_bps" | "internals">): Float64Array {
    let values = this.made.get(key);
    if (!values) {
      values = numbers(this.of[key]);
      this.made.set(key, values);
    }
    return values;
  }

  get link() {
    return this.of.link;
  }
  get time() {
    return this.get("time_s");
  }
  get queueBytes() {
    return this.get("queue_bytes");
  }
  get queueMean() {
    return this.get("queue_mean_packets");
  }
  get delay() {
    return this.get("queue_delay_mean_s");
  }
  get dropped() {
    return this.get("dropped_packets");
  }
  get marked() {
    return this.get("marked_packets");
  }
  get jain() {
    return this.get("jain_index");
  }
  private rates: LinkSamples["throughput"] | undefined;
  get throughput() {
    this.rates ??= this.of.throughput_bps.map(([name, bps]) => ({ class: name, bps: numbers(bps) }));
    return this.rates;
  }
  private signals: LinkSamples["internals"] | undefined;
  get internals() {
    this.signals ??= this.of.internals.map((i) => ({ name: i.name, unit: i.unit, values: numbers(i.values) }));
    return this.signals;
  }
}

/** A run's series as typed arrays. */
export function drawn(
  label: string,
  series: readonly LinkSeries[],
  windows: readonly FlowWindow[],
  flows?: number,
): Drawn {
  return {
    label,
    ...(flows !== undefined && { flows }),
    links: series.map((s) => new Lazy(s)),
    windows: windows.map((w) => ({
      flow: w.flow,
      group: w.group,
      class: w.class,
      samples: { time: numbers(w.time_s), values: numbers(w.packets) },
    })),
  };
}

const scaled = (values: Float64Array, factor: number): Float64Array => {
  const out = new Float64Array(values.length);
  for (let i = 0; i < out.length; i++) out[i] = (values[i] as number) * factor;
  return out;
};

/** The sum of the classes' rates. */
export function total(rates: readonly { bps: Float64Array }[], length: number): Float64Array {
  const out = new Float64Array(length);
  for (const { bps } of rates) for (let i = 0; i < length; i++) out[i] = (out[i] as number) + (bps[i] ?? 0);
  return out;
}

/** The largest number. */
export function largest(values: Float64Array): number {
  let most = 0;
  for (const v of values) if (v > most) most = v;
  return most;
}

/** The unit of rates in which the largest has few digits, and the factor from bit/s. */
export function rateUnit(most_bps: number): [string, number] {
  if (most_bps >= 1e9) return ["Gbit/s", 1e-9];
  return most_bps >= 1e6 ? ["Mbit/s", 1e-6] : ["kbit/s", 1e-3];
}

const BYTES: readonly (readonly [string, number])[] = [
  ["GB", 1e-9],
  ["MB", 1e-6],
  ["kB", 1e-3],
  ["B", 1],
];

/** The unit of bytes in which the largest has few digits, and the factor from bytes. */
export const byteUnit = (most: number): readonly [string, number] =>
  BYTES.find(([, factor]) => most * factor >= 1) ?? ["B", 1];

/** The factor from a metric's unit to that of an axis: axes are of ms, and of bytes as large as they need be. */
export const toAxis = (unit: string): number =>
  unit === "ms" ? 1e3 : (BYTES.find(([name]) => name === unit)?.[1] ?? 1);

/** What a signal of an algorithm is drawn in, and the factor to it. */
function signalUnit(unit: string, most: number): readonly [string, number] {
  if (unit === "bit/s") return rateUnit(most);
  if (unit === "bytes") return byteUnit(most);
  if (unit === "s") return ["ms", 1e3];
  return [unit === "1" ? "" : unit, 1];
}

/**
 * The figures of a quantity. Side by side each algorithm has its own, with a curve for each class or flow; together
 * there is one with a curve for each algorithm, but for what has several curves itself.
 */
export function panels(id: string, runs: readonly Drawn[], link: string, apart: boolean, scope = "all"): Panel[] {
  const of = (d: Drawn): LinkSamples | undefined => d.links.find((l) => l.link === link) ?? d.links[0];
  const there = runs.flatMap((run) => {
    const samples = of(run);
    return samples && samples.time.length > 0 ? [{ run, samples }] : [];
  });
  const { title } = QUANTITIES.find((q) => q.id === id) ?? { title: id };
  const simple = (unit: string, values: (s: LinkSamples) => Float64Array, most?: number): Panel[] => {
    const curves = there
      .map(({ run, samples }) => ({
        label: run.label,
        of: run.label,
        samples: { time: samples.time, values: values(samples) },
      }))
      .filter((c) => c.samples.values.length > 0);
    const base = most === undefined ? {} : { most };
    if (!apart) return curves.length ? [{ id, part: "", title, unit, curves, ...base }] : [];
    return curves.map((c) => ({
      id: `${id}:${c.of}`,
      part: c.of,
      title: `${title}, ${c.of}`,
      unit,
      curves: [c],
      ...base,
    }));
  };
  const perSecond = (counts: (s: LinkSamples) => Float64Array) =>
    simple("packets/s", (s) => scaled(counts(s), 1 / step(s.time)));

  switch (id) {
    case "delay":
      return simple("ms", (s) => scaled(s.delay, 1e3));
    case "queue":
      return simple("packets", (s) => s.queueMean);
    case "bytes": {
      const [unit, factor] = byteUnit(Math.max(0, ...there.map(({ samples }) => largest(samples.queueBytes))));
      return simple(unit, (s) => scaled(s.queueBytes, factor));
    }
    case "drops":
      return perSecond((s) => s.dropped);
    case "marks":
      return perSecond((s) => s.marked);
    case "jain":
      return simple("", (s) => s.jain, 1)
        .map((p) => ({ ...p, curves: p.curves.filter((c) => c.samples.values.some(Number.isFinite)) }))
        .filter((p) => p.curves.length > 0);
    case "throughput": {
      const most = Math.max(1, ...there.map(({ samples }) => largest(total(samples.throughput, samples.time.length))));
      const [unit, factor] = rateUnit(most);
      if (!apart) {
        return simple(unit, (s) => {
          const some = scope === "all" ? s.throughput : s.throughput.filter((t) => t.class === scope);
          return scaled(total(some, s.time.length), factor);
        });
      }
      const classes = [...new Set(there.flatMap(({ samples }) => samples.throughput.map((t) => t.class)))];
      const inks = places(classes);
      return there.map(({ run, samples }) => ({
        id: `${id}:${run.label}`,
        part: run.label,
        title: `${title}, ${run.label}`,
        unit,
        curves: samples.throughput.map((t) => ({
          label: t.class,
          of: run.label,
          ...(classes.length > 1 ? { place: inks[classes.indexOf(t.class)] as Place } : {}),
          samples: { time: samples.time, values: scaled(t.bps, factor) },
        })),
      }));
    }
    case "windows":
      return runs
        .filter((run) => run.windows.length > 0)
        .map((run) => {
          const inks = places(run.windows.map((w) => w.group));
          const [few, all] = [run.windows.length, run.flows ?? 0];
          return {
            id: `${id}:${run.label}`,
            part: run.label,
            title: `${title}, ${run.label}`,
            unit: "packets",
            ...(few < all && { of: `${few} of ${all} flows` }),
            curves: run.windows.map((w, i) => ({
              label: `${w.group} ${w.flow + 1}`,
              of: run.label,
              ...(few > 1 ? { place: inks[i] as Place } : {}),
              samples: w.samples,
            })),
          };
        });
    case "internals": {
      const all = there.flatMap(({ run, samples }) =>
        samples.internals.map((signal) => {
          const [unit, factor] = signalUnit(signal.unit, largest(signal.values));
          const values = factor === 1 ? signal.values : scaled(signal.values, factor);
          return { run, name: signal.name, unit, samples: { time: samples.time, values } };
        }),
      );
      return all.map((s) => ({
        id: `${id}:${s.run.label}:${s.name}`,
        part: `${s.run.label}: ${s.name}`,
        title: `${s.name}, ${s.run.label}`,
        unit: s.unit,
        curves: [{ label: s.name, of: s.run.label, samples: s.samples }],
      }));
    }
    default:
      return [];
  }
}

/** The classes of traffic at a link. */
export function classes(runs: readonly Drawn[], link: string): string[] {
  const links = runs.flatMap((r) => r.links.filter((l) => l.link === link));
  return [...new Set(links.flatMap((l) => l.throughput.map((t) => t.class)))];
}

/** What a queue looks like at a time. */
export interface Moment {
  readonly packets: number;
  readonly delay_s: number;
  readonly dropped_pps: number;
  readonly marked_pps: number;
  readonly bps: number;
  /** The share of each class in what is sent. */
  readonly shares: readonly number[];
  /** The number of the step: it changes when another one begins. */
  readonly step: number;
}

/**
 * The step that a time lies in, as curves and strips have it: a sample stands at the end of its step. Below a step after
 * the last sample it is the last one: a run need not end with a step. -1 outside.
 */
export function stepAt(time: Float64Array, t: number): number {
  const n = time.length;
  const i = lower(time, t - 1e-12);
  if (i < n) return i;
  return n > 0 && t <= (time[n - 1] as number) + step(time) ? n - 1 : -1;
}

/** The value of the step that a time lies in; NaN outside. */
export function valueAt({ time, values }: Samples, t: number): number {
  const i = stepAt(time, t);
  return i >= 0 && i < values.length ? (values[i] as number) : Number.NaN;
}

/** The moment of a link at a time; null outside of its samples. */
export function moment(link: LinkSamples, names: readonly string[], time: number): Moment | null {
  const width = step(link.time);
  const i = stepAt(link.time, time);
  if (i < 0) return null;
  const bps = names.map((name) => link.throughput.find((t) => t.class === name)?.bps[i] ?? 0);
  const sum = bps.reduce((a, b) => a + b, 0);
  return {
    packets: link.queueMean[i] as number,
    delay_s: link.delay[i] as number,
    dropped_pps: (link.dropped[i] as number) / width,
    marked_pps: (link.marked[i] as number) / width,
    bps: sum,
    shares: bps.map((b) => (sum > 0 ? b / sum : 0)),
    step: i,
  };
}
