// The ranges of sliders, and their way from a place to a value.

import { type Field, measured, type Shape, tidy, UNITS, type Value } from "./schema.ts";

/** What a slider goes over, in the unit in which the value is written. */
export interface Range {
  readonly least: number;
  readonly most: number;
  readonly log: boolean;
  readonly whole: boolean;
}

/** The least and the most of keys that everybody drags, in base units. */
const KEYS: { readonly [key: string]: readonly [number, number] } = {
  rate: [1e5, 1e10],
  delay: [1e-4, 1],
  rtt: [1e-3, 2],
  duration: [1, 300],
  count: [1, 1000],
  bottlenecks: [1, 10],
  buffer: [1, 10000],
  seeds: [1, 50],
};
/** Byte sizes of buffers. */
const BUFFER_BYTES = [1500, 1e7] as const;
/** How much less and more than now a parameter's slider goes at least. */
const ROOM = 10;
/** The steps of a slider from one end to the other. */
export const STEPS = 200;

/** The range of a value's slider; `null` where a slider would not help. */
export function rangeOf(field: Field, shape: Shape, value: Value | undefined, parameter: boolean): Range | null {
  const now = read(shape, value);
  const fallback = read(shape, field.fallback === "" ? undefined : (numeric(field.fallback) ?? field.fallback));
  const known = KEYS[field.key];
  const whole = shape.kind === "number" && (shape.whole || /^(packets|queues|flows)$/.test(field.unit));
  const at = now ?? fallback;
  if (!at || field.range?.some) return null;
  let ends: readonly [number, number] | null = null;
  if (known && !parameter && shape.kind !== "flag") {
    const factor = unitFactor(shape, at.unit);
    const bytes = field.key === "buffer" && shape.kind === "quantity" && !Number.isNaN(factor) && shape.of === "queue";
    const [least, most] = bytes ? BUFFER_BYTES : known;
    ends = Number.isNaN(factor) ? [least, most] : [least / factor, most / factor];
  } else if (field.key === "loss") return { least: 0, most: Math.max(0.1, at.number), log: false, whole: false };
  else if (parameter && fallback && fallback.number > 0) {
    const ratio = at.unit === fallback.unit ? 1 : unitFactor(shape, fallback.unit) / unitFactor(shape, at.unit);
    const middle = Number.isFinite(ratio) ? fallback.number * ratio : at.number;
    // Pure numbers whose default is at most 1 are mostly shares, and all are below 1 in use.
    const cap = field.unit === "" && shape.kind !== "quantity" && middle <= 1 ? 1 : Number.POSITIVE_INFINITY;
    const most = Math.min(cap, middle * 100);
    ends = within([middle / 100, most], field, shape, at.unit);
    if (now) ends = roomy(ends, now.number, cap);
  }
  if (!ends || at.number < 0) return null;
  const floor = whole ? Math.max(1, Math.round(ends[0])) : ends[0];
  // A value beyond the ends moves them.
  const least = at.number > 0 ? Math.min(floor, at.number) : floor;
  return { least, most: Math.max(ends[1], at.number), log: true, whole };
}

/**
 * A slider's ends within what the algorithm takes beside the other parameters' defaults on a usual link. Beside others it
 * may take more or less; the field says so where it refuses a value.
 */
function within(ends: readonly [number, number], field: Field, shape: Shape, unit: string): readonly [number, number] {
  const { range } = field;
  if (!range) return ends;
  const factor = (range.unit ?? "") === unit ? 1 : unitFactor(shape, range.unit ?? "") / unitFactor(shape, unit);
  // Packets and bytes cannot be compared.
  if (Number.isNaN(factor)) return ends;
  const inside = (at: number, outside: boolean | undefined, by: number) => at * factor * (outside ? by : 1);
  const least = range.least === undefined ? ends[0] : inside(range.least, range.least_outside, 1.001);
  const most = range.most === undefined ? ends[1] : inside(range.most, range.most_outside, 0.999);
  return [Math.max(ends[0], least), Math.min(ends[1], most)];
}

/** Ends with a factor of ten on both sides of the present value, which may be one that another link would not allow. */
function roomy(ends: readonly [number, number], now: number, cap: number): readonly [number, number] {
  if (now <= 0) return ends;
  return [Math.min(ends[0], now / ROOM), Math.max(ends[1], Math.min(now * ROOM, cap))];
}

/** The number of a value and its unit; `null` of expressions and names. */
export function read(shape: Shape, value: Value | undefined): { number: number; unit: string } | null {
  if (shape.kind === "quantity" && typeof value === "string") return measured(value, shape.of);
  if (shape.kind === "number" || shape.kind === "any") {
    return typeof value === "number" && Number.isFinite(value) ? { number: value, unit: "" } : null;
  }
  return null;
}

const numeric = (text: string) => (/^[-+]?[0-9.]+(e[-+]?[0-9]+)?$/i.test(text) ? Number(text) : null);

function unitFactor(shape: Shape, unit: string): number {
  if (shape.kind !== "quantity") return 1;
  return UNITS[shape.of].find(([name]) => name === unit)?.[1] ?? 1;
}

/** The place of a number on a slider, from 0 to `STEPS`. */
export function place(range: Range, number: number): number {
  const { least, most, log } = range;
  if (most <= least) return 0;
  const share = log
    ? Math.log(Math.max(number, least) / least) / Math.log(most / least)
    : (number - least) / (most - least);
  return Math.round(Math.min(1, Math.max(0, share)) * STEPS);
}

/** The number at a place of a slider, with two digits. */
export function at(range: Range, place: number): number {
  const { least, most, log, whole } = range;
  if (place <= 0) return least;
  if (place >= STEPS) return most;
  const share = place / STEPS;
  const exact = log ? least * (most / least) ** share : least + (most - least) * share;
  const rounded = Number(exact.toPrecision(2));
  return whole ? Math.max(1, Math.round(rounded)) : Math.min(most, Math.max(least, Number(tidy(rounded))));
}

/** A quantity in the unit in which it has one to three digits before the point, if its unit now is unhandy. */
export function handy(number: number, unit: string, shape: Shape): string {
  if (shape.kind === "quantity" && unit === "packets" && number === 1) return "1 packet";
  if (shape.kind !== "quantity" || unit === "packets") return `${tidy(number)} ${unit}`;
  if (number === 0 || (number >= 0.1 && number < 10000)) return `${tidy(number)} ${unit}`;
  const units = UNITS[shape.of].filter(([name, factor]) => !Number.isNaN(factor) && !name.endsWith("iB"));
  const base = number * unitFactor(shape, unit);
  const best =
    units.filter(([name]) => !["min", "h"].includes(name)).findLast(([, factor]) => base >= factor) ?? units[0];
  return best ? `${tidy(base / best[1])} ${best[0]}` : `${tidy(number)} ${unit}`;
}
