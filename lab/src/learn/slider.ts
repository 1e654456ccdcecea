// The distance along a slider, in thousandths, and the value there.

import type { Slider } from "../../experiments/kit.ts";

/** The steps of a slider. */
const STEPS = 1000;

/** The value at a distance, with the slider's decimals. */
export function fromSlider(of: Slider, distance: number): number {
  const share = Math.min(Math.max(distance / STEPS, 0), 1);
  const value = of.log ? of.least * (of.most / of.least) ** share : of.least + share * (of.most - of.least);
  return Number(Math.min(Math.max(value, of.least), of.most).toFixed(of.decimals ?? 0));
}

/** The distance of a value; at the ends for what lies beyond them. */
export function toSlider(of: Slider, value: number): number {
  const share = of.log
    ? Math.log(value / of.least) / Math.log(of.most / of.least)
    : (value - of.least) / (of.most - of.least);
  return Math.round(Math.min(Math.max(share, 0), 1) * STEPS);
}

/** The value that the document has, or the slider's own start where it has none in the slider's unit. */
export function written(of: Slider, tree: unknown): number {
  let at: unknown = tree;
  for (const key of of.path.replaceAll(/\[(\d+)\]/g, ".$1").split(".")) {
    if (typeof at !== "object" || at === null) return of.start;
    at = (at as Record<string, unknown>)[key];
  }
  if (typeof at === "number") return of.unit ? of.start : at;
  if (typeof at !== "string") return of.start;
  const [number, unit] = at.trim().split(/\s+/);
  const value = Number(number);
  return Number.isFinite(value) && (unit ?? "") === (of.unit ?? "") ? value : of.start;
}
