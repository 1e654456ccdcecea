// What tests in Node take of this part: all that needs no page.

export * from "../state/clock.ts";
export * from "../state/runner.ts";
export { Growing } from "../state/samples.ts";
export { around, inScenario, meanPacket, parametersOf } from "./center.ts";
export { contrast, DASHES, GROUND, mixed, part, places } from "./inks.ts";
export * from "./measured.ts";
export { motionOf, SETTLED } from "./motion.ts";
export { byteUnit, drawn, moment, panels, valueAt } from "./quantities.ts";
export { blockOf, spread } from "./strip.ts";
export { csv, rows, svg, ticks } from "./svg.ts";
export { axisEnd, ceiling, digitsFor, fixed, lower, peak, summary, thin, within } from "./thin.ts";
export { USUAL, viewOf } from "./usual.ts";
