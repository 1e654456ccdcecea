// What of this folder the tests in Node take.

export * from "./names.ts";
export * from "./preset.ts";
export * from "./slider.ts";
