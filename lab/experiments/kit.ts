// What a guided experiment is made of: its text, what each of its steps does to the scenario, and what the figures of a
// run then say. The page and the tests in Node read the same.

/** A value of the scenario that is set, as TOML text, or removed (`null`). */
export interface Edit {
  readonly path: string;
  readonly value: string | null;
}

/** The part of a run that a figure is of. */
export interface Place {
  /** "all", "data", a class of traffic or a lane; default: all traffic. */
  readonly scope?: string;
  /** A segment of the measured window, from 0; default: all of it. */
  readonly segment?: number;
}

/** The figures of one run, which is one seed of each algorithm. */
export interface Figures {
  /** The labels of the algorithms that ran. */
  readonly labels: readonly string[];
  /** A metric by its name in docs/metrics.md, in its own unit; NaN where it has no value. */
  of(label: string, metric: string, place?: Place): number;
}

/** A value that the student moves, between two ends. */
export interface Slider {
  readonly path: string;
  readonly says: string;
  readonly least: number;
  readonly most: number;
  /** Where it stands at first. */
  readonly start: number;
  /** Its unit, as TOML has it after the number; none for a pure number. */
  readonly unit?: string;
  /** Equal distances are equal factors. */
  readonly log?: boolean;
  /** The number of decimals; default: none. */
  readonly decimals?: number;
}

/** The curves of the results panel, by their ids there. */
export type Curve = "queue" | "delay" | "windows" | "drops" | "marks" | "throughput" | "internals";

export interface Step {
  /** The button. */
  readonly title: string;
  /** What to do, and what to look at. */
  readonly say: string;
  /** What is different from the experiment's scenario. */
  readonly edits: readonly Edit[];
  /** The labels that are shown. */
  readonly algorithms: readonly string[];
  /** The curves to look at. */
  readonly curves: readonly Curve[];
  /** Whether each algorithm has figures of its own: where two have one color, and where classes of traffic matter. */
  readonly apart?: boolean;
  /** The width of the window that moves with the time, in seconds; default: all of the run is seen. */
  readonly span?: number;
  /** The step's part of the experiment's claim: a sentence without its period, which `holds` judges. */
  readonly claim: string;
  /** What the run shows, with its figures; `before` has those of the steps before this. */
  see(now: Figures, before: readonly Figures[]): string;
  /** Whether the claim holds. */
  holds(now: Figures, before: readonly Figures[]): boolean;
  /** What it means if it does not. */
  readonly otherwise: string;
  /** Further edits under which the claim is false. A test runs them, so that no claim holds whatever happens. */
  readonly fails: readonly Edit[];
  /** What may be moved here. */
  readonly sliders?: readonly Slider[];
}

/** The experiment without its cause: the claim of a step must then be false, or it would show nothing. */
export interface Control {
  /** What to do: it takes the cause away. */
  readonly say: string;
  /** The cause that is missing, as it follows "Without". */
  readonly without: string;
  /** The step, from 0, whose claim fails. */
  readonly step: number;
  /** What is different from that step. */
  readonly edits: readonly Edit[];
  /** What the run shows, with its figures; `before` has those of the steps before the one whose claim fails. */
  see(now: Figures, before: readonly Figures[]): string;
  /** Whether the run shows that. It says more than that the claim is false. */
  holds(now: Figures, before: readonly Figures[]): boolean;
}

/** A change to try, and what it shows. A test applies it, and judges what it says of the outcome. */
export interface Further {
  readonly say: string;
  /** The step, from 0, of which it is a change; default: the first. */
  readonly step?: number;
  /** The change, or one like it where the sentence leaves a choice; none: the scenario stays. */
  readonly edits?: readonly Edit[];
  /** The labels that are judged. */
  readonly algorithms?: readonly string[];
  /** Whether the figures, after the change and in the step without it, are as the sentence says. */
  holds?(now: Figures, without: Figures): boolean;
}

export interface Citation {
  /** As the texts cite it. */
  readonly text: string;
  /** Its key in docs/references.bib. */
  readonly key: string;
}

export interface Experiment {
  /** Its place in links, which stays. */
  readonly id: string;
  readonly title: string;
  /** One to four short sentences. */
  readonly claim: string;
  readonly minutes: number;
  /** The scenario, as text. */
  readonly scenario: string;
  readonly steps: readonly Step[];
  readonly control: Control;
  /** Three to five short sentences. */
  readonly why: readonly string[];
  readonly sources: readonly Citation[];
  /** What to vary next. */
  readonly further: readonly Further[];
}

/** The value in at most three digits, as people write it. */
export function digits(value: number): string {
  if (!Number.isFinite(value)) return "none";
  if (value !== 0 && Math.abs(value) < 0.001) return value.toExponential(1);
  const rounded = Number(value.toPrecision(3));
  return String(Math.abs(rounded) >= 1000 ? Math.round(value) : rounded);
}

/** Seconds as milliseconds. A number and its unit stay on one line. */
export const ms = (seconds: number): string => `${digits(seconds * 1000)}\u00a0ms`;
/** A share as percent. */
export const percent = (share: number): string => `${digits(share * 100)}%`;
/** bit/s as Mbit/s, or as kbit/s where that is much less than one. */
export const mbit = (rate: number): string =>
  rate < 1e5 ? `${digits(rate / 1e3)}\u00a0kbit/s` : `${digits(rate / 1e6)}\u00a0Mbit/s`;
/** A number of packets. */
export const packets = (count: number): string => `${digits(count)}\u00a0packets`;
/** A factor. */
export const times = (factor: number): string => `${digits(factor)}\u00a0times`;

/** The standard deviation of the queue over its mean: how widely it swings. */
export function swing(figures: Figures, label: string, segment?: number): number {
  const place = segment === undefined ? {} : { segment };
  return figures.of(label, "queue_std_packets", place) / figures.of(label, "queue_packets", place);
}

/** How much of the link is used, and why not all of it where a queue that runs empty loses some. */
export function busy(used: number): string {
  if (used < 0.995) return `At times the queue runs empty, so the link is only ${percent(used)} utilized.`;
  return `The link is ${percent(used)} utilized.`;
}

/** The figures of an earlier step. A test asserts that there are some wherever one is asked for. */
export function earlier(before: readonly Figures[], step: number): Figures {
  const found = before[step];
  if (!found) throw new Error(`the figures of step ${step + 1} are missing`);
  return found;
}
