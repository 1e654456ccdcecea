// What the results panel remembers in the document: it comes out of links too, so that nothing in it is taken on trust.

import type { Json } from "../state/document.ts";
import { QUANTITIES } from "./quantities.ts";

/** The parts of the results. */
export const TABS = ["time", "spread", "table", "diagrams", "theory"] as const;
export type Tab = (typeof TABS)[number];

/** The choices of a reader. */
export interface View {
  readonly tab: Tab;
  /** A figure for each algorithm, rather than one with all. */
  readonly apart: boolean;
  /** The quantities that are drawn over time. */
  readonly curves: readonly string[];
  /** The link; empty: the first. */
  readonly link: string;
  /** The traffic: "all" or a class. */
  readonly scope: string;
  /** The width of the window that moves, in seconds; 0: the whole run. */
  readonly span: number;
  /** The share that waited longer on a logarithmic axis, rather than the one that waited no longer. */
  readonly tail: boolean;
  /** The metrics of the table; none: the usual ones. */
  readonly metrics: readonly string[];
  /** The algorithm that others are compared with; empty: none. */
  readonly baseline: string;
  /** The diagram of `quell plot`. */
  readonly diagram: string;
  readonly diagramMetric: string;
  /** The swept field along the axis of a metric; empty: the first. */
  readonly over: string;
  readonly panels: boolean;
}

export const USUAL: View = {
  tab: "time",
  apart: false,
  curves: ["delay", "throughput", "drops", "marks"],
  link: "",
  scope: "all",
  span: 0,
  tail: false,
  metrics: [],
  baseline: "",
  diagram: "queue-cdf",
  diagramMetric: "queue_delay_p99_s",
  over: "",
  panels: false,
};

const LONGEST_NAME = 200;
const MOST_NAMES = 80;

/** A view out of anything: what is not of its kind is as usual. */
export function viewOf(of: Json | undefined): View {
  const given = of !== null && typeof of === "object" && !Array.isArray(of) ? of : {};
  const bool = (key: keyof View): boolean => {
    const v = given[key];
    return typeof v === "boolean" ? v : (USUAL[key] as boolean);
  };
  const text = (key: keyof View): string => {
    const v = given[key];
    return typeof v === "string" && v.length <= LONGEST_NAME ? v : (USUAL[key] as string);
  };
  const list = (key: keyof View): readonly string[] => {
    const v = given[key];
    if (!Array.isArray(v)) return USUAL[key] as readonly string[];
    return v.filter((x): x is string => typeof x === "string" && x.length <= LONGEST_NAME).slice(0, MOST_NAMES);
  };
  const tab = TABS.find((t) => t === given.tab) ?? USUAL.tab;
  const known = new Set(QUANTITIES.map((q) => q.id));
  const span = typeof given.span === "number" && given.span > 0 && Number.isFinite(given.span) ? given.span : 0;
  return {
    tab,
    apart: bool("apart"),
    curves: list("curves").filter((id) => known.has(id)),
    link: text("link"),
    scope: text("scope"),
    span,
    tail: bool("tail"),
    metrics: list("metrics"),
    baseline: text("baseline"),
    diagram: text("diagram"),
    diagramMetric: text("diagramMetric"),
    over: text("over"),
    panels: bool("panels"),
  };
}
