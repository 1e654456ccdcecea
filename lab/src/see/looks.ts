// The looks of algorithms, and of what is drawn of one algorithm: the report's, which everybody tells apart.
//
// A color always means an algorithm. Classes of traffic and flows are drawn in figures of one algorithm: they have its color
// in three strengths, and dashes.

import { computed } from "@preact/signals";
import type { Look as Style } from "../protocol.ts";
import { lastChecked, shown } from "../state/document.ts";
import { dark } from "../state/layout.ts";
import { GROUND, mixed, PLAIN, part } from "./inks.ts";
import type { Look } from "./plot.ts";
import type { Curve } from "./quantities.ts";

/** The style of each label, as in every figure of the command. */
export const styles = computed(
  () => new Map((lastChecked.value?.algorithms ?? []).map(({ label, style }) => [label, style] as const)),
);

const colorIn = (style: Style | undefined, onDark: boolean): string =>
  style ? (onDark ? style.dark : style.color) : onDark ? PLAIN.dark : PLAIN.light;

/** The color of an algorithm, by its label. */
export const colorOf = (label: string): string => colorIn(styles.value.get(label), dark.value);

/** The labels that are shown of which another one has the same color. */
const alike = computed(() => {
  const color = (label: string) => styles.value.get(label)?.color;
  return new Set(shown.value.filter((a) => shown.value.some((b) => a !== b && color(a) === color(b))));
});

/** The look of a curve; on paper the colors on white. */
export function lookOf(curve: Curve, paper = false): Look {
  const style = styles.value.get(curve.of);
  const onDark = dark.value && !paper;
  const color = colorIn(style, onDark);
  if (curve.place === undefined) {
    const mark = style && !paper && alike.value.has(curve.of) ? { mark: style.mark } : {};
    return { color, dashes: style?.dashes ?? [], width: 1.6, ...mark };
  }
  const { shade, dashes } = part(curve.place);
  return { color: mixed(color, shade, onDark ? GROUND.dark : GROUND.light), dashes, width: 1.4 };
}
