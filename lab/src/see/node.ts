// What tests in Node take of this part: all that needs no page.

export * from "../state/clock.ts";
export * from "../state/runner.ts";
export { Growing } from "../state/samples.ts";
export { drawn, moment, panels } from "./quantities.ts";
export { blockOf, spread } from "./strip.ts";
export { csv, rows, svg, ticks } from "./svg.ts";
export { at, ceiling, lower, summary, thin, within } from "./thin.ts";
export { USUAL, viewOf } from "./usual.ts";
