// The colors of algorithms, classes and flows: those of the report, which everybody tells apart.

import { computed } from "@preact/signals";
import { lastChecked } from "../state/document.ts";
import { dark } from "../state/layout.ts";
import type { Look } from "./plot.ts";
import type { Curve } from "./quantities.ts";

const LIGHT = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"];
const DARK = ["#3D9FE0", "#EE7A24", "#1FBD90", "#DD8FBA", "#E6A91E", "#8FD0F7", "#F2F4F6"];
const DASHES: readonly (readonly number[])[] = [[], [7, 4], [2, 3], [8, 3, 2, 3], [14, 4]];

/** The color of a class or a flow by its place. */
export const hue = (i: number): string => (dark.value ? DARK : LIGHT)[i % LIGHT.length] as string;

/** The style of each label, as in every figure of the command. */
export const styles = computed(
  () => new Map((lastChecked.value?.algorithms ?? []).map(({ label, style }) => [label, style] as const)),
);

/** The color of an algorithm, by its label. */
export function colorOf(label: string): string {
  const style = styles.value.get(label);
  if (!style) return hue(0);
  return dark.value ? style.dark : style.color;
}

/** The look of a curve; on paper the colors on white. */
export function lookOf(curve: Curve, paper = false): Look {
  if (curve.hue !== undefined) {
    const color = paper ? (LIGHT[curve.hue % 7] as string) : hue(curve.hue);
    return { color, dashes: DASHES[Math.floor(curve.hue / 7) % DASHES.length] ?? [], width: 1.4 };
  }
  const style = styles.value.get(curve.of);
  const color = paper ? (style?.color ?? (LIGHT[0] as string)) : colorOf(curve.of);
  return { color, dashes: style?.dashes ?? [], width: 1.6 };
}
