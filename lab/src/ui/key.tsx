// What an algorithm looks like: its mark and a piece of its line. Relatives share a color, and differ in these.

import type { Look } from "../protocol.ts";
import { colorOf } from "../state/about.ts";

/** The marks of `crates/view/src/style.rs` around (6, 6). */
export const MARKS: Record<Look["mark"], string> = {
  circle: "M6 1.5a4.5 4.5 0 1 0 0 9a4.5 4.5 0 1 0 0-9z",
  square: "M2 2h8v8h-8z",
  triangle: "M6 1L11 10H1z",
  diamond: "M6 .5L11.5 6L6 11.5L.5 6z",
  down: "M6 11L1 2H11z",
  pentagon: "M6 .8L11.2 4.6L9.2 10.7H2.8L.8 4.6z",
  plus: "M6 1V11M1 6H11",
  cross: "M2 2L10 10M10 2L2 10",
};

/** The key of an algorithm: mark, color and dashes, which no other has all. */
export function Key({ style }: { style: Look | undefined }) {
  const color = colorOf(style);
  return (
    <svg class="key" viewBox="0 0 40 12" aria-hidden="true">
      <path d={MARKS[style?.mark ?? "circle"]} fill={color} stroke={color} stroke-width="1.6" />
      <path d="M15 6H40" stroke={color} stroke-width="2.4" stroke-dasharray={style?.dashes.join(" ")} fill="none" />
    </svg>
  );
}
