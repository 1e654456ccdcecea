// A place to which Back and Forward lead: what is seen of the page, without the scenario.

import type { Tab } from "../see/usual.ts";
import type { Left } from "../state/layout.ts";

export interface Place {
  /** The panel beside the results. */
  readonly left: Left;
  /** Where there is room for one panel: whether it is the results. */
  readonly results: boolean;
  /** The part of the results. */
  readonly tab: Tab;
  /** The experiment that is open; `null`: none. */
  readonly experiment: string | null;
}

/** Whether an entry of the browser's history is a place, and not a link that somebody has just opened. */
export const isPlace = (state: unknown): state is Place =>
  typeof state === "object" && state !== null && "left" in state && "tab" in state;

const PARTS = ["left", "results", "tab", "experiment"] as const;

/** Whether two places are one, seen or not. */
export const areSame = (a: Place, b: Place): boolean => PARTS.every((part) => a[part] === b[part]);

/** Whether two places look alike on this screen. */
export function areAlike(a: Place, b: Place, wide: boolean): boolean {
  if (a.experiment !== b.experiment) return false;
  if (wide) return a.left === b.left && a.tab === b.tab;
  return a.results === b.results && (a.results ? a.tab === b.tab : a.left === b.left);
}
