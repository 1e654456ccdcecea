// Where a student is in an experiment, and what the runs of the page say of its claim.

import { computed, effect, signal } from "@preact/signals";
import { edited, editsOf, figuresOf, type Measured } from "../../experiments/figures.ts";
import type { Edit, Experiment, Figures, Step } from "../../experiments/kit.ts";
import { ask } from "../engine/client.ts";
import { pool } from "../engine/pool.ts";
import type { Replication } from "../protocol.ts";
import { behind } from "../state/behind.ts";
import { change, type Doc, doc, FIRST, type Json, open } from "../state/document.ts";
import { current, runs } from "../state/run.ts";

/** The experiments, once they are loaded. */
export const experiments = signal<readonly Experiment[]>([]);

/** Loads the experiments, which are no part of the page's first script. */
export async function loadExperiments(): Promise<void> {
  if (experiments.peek().length === 0) experiments.value = (await import("../../experiments/all.ts")).EXPERIMENTS;
}

/** What the panel remembers in the document. */
interface Progress {
  /** The step that is read, from 0; the one after the last is the control. */
  readonly step: number;
  /** The step whose settings were last applied; -1: none. */
  readonly applied: number;
  /** The experiments that were gone through, by id. */
  readonly done: readonly string[];
}

/** Progress out of anything: a link may hold whatever it likes. */
function progressOf(of: Json | undefined): Progress {
  const given = of !== null && typeof of === "object" && !Array.isArray(of) ? of : {};
  const count = (value: Json | undefined, least: number) =>
    typeof value === "number" && Number.isInteger(value) && value >= least && value < 10 ? value : least;
  const done = Array.isArray(given.done) ? given.done.filter((id): id is string => typeof id === "string") : [];
  return { step: count(given.step, 0), applied: count(given.applied, -1), done: done.slice(0, 50) };
}

export const progress = computed(() => progressOf(doc.value.view.learn));

/** The experiment that is open; none where the list is seen. */
export const experiment = computed(() => experiments.value.find(({ id }) => id === doc.value.experiment));

/** The number of steps, with the control. */
export const length = (of: Experiment): number => of.steps.length + 1;

/** The step that is read, within what there is. */
export const at = computed(() => {
  const of = experiment.value;
  return of ? Math.min(progress.value.step, of.steps.length) : 0;
});

/** The step whose claim is asked at a place: the control asks that of another step. */
export const stepOf = (of: Experiment, place: number): Step | undefined =>
  of.steps[place < of.steps.length ? place : of.control.step];

/** A place as texts name it. */
export const nameOf = (of: Experiment, place: number): string =>
  place < of.steps.length ? `step ${place + 1}` : "the control";

/** The settings of a place. */
function editsAt(of: Experiment, place: number): readonly Edit[] {
  return place < of.steps.length ? editsOf(of, place) : editsOf(of, of.control.step, of.control);
}

/** The texts of places, by experiment and place. */
const texts = new Map<string, Promise<string>>();
/** The same once they are known. */
const known = signal<ReadonlyMap<string, string>>(new Map());

function textAt(of: Experiment, place: number): Promise<string> {
  const key = `${of.id} ${place}`;
  const there = texts.get(key);
  if (there) return there;
  const text = edited(of.scenario, editsAt(of, place), ask);
  texts.set(key, text);
  text.then(
    (text) => {
      known.value = new Map(known.peek()).set(key, text);
    },
    () => texts.delete(key),
  );
  return text;
}

/** Whether the document is as the step that was last applied has it. */
export const asTold = computed(() => {
  const of = experiment.value;
  return of !== undefined && known.value.get(`${of.id} ${progress.value.applied}`) === doc.value.text;
});

/** Whether the step that is read was applied, maybe with other values since. */
export const isApplied = computed(() => progress.value.applied === at.value);

/** Opens a list or an experiment's first step. */
export function begin(of: Experiment): Promise<void> {
  return apply(of, 0);
}

/** Closes the experiment; the scenario stays as it is. */
export function close(): void {
  const { experiment: _, ...rest } = doc.peek();
  open(rest);
}

/** Reads another step. */
export function turn(by: 1 | -1): void {
  const of = experiment.peek();
  if (!of) return;
  const step = Math.min(Math.max(at.peek() + by, 0), of.steps.length);
  if (step === at.peek()) return;
  remember({ step });
}

function remember(patch: Partial<Progress>): void {
  change({ view: { ...doc.peek().view, learn: { ...progress.peek(), ...patch } as unknown as Json } });
}

/** Applies the settings of a place, as one step of undo. */
export async function apply(of: Experiment, place: number): Promise<void> {
  const step = stepOf(of, place);
  if (!step) return;
  const text = await textAt(of, place);
  const last = doc.peek();
  const view = {
    ...last.view,
    see: {
      ...(last.view.see as object),
      tab: "time",
      apart: step.apart === true,
      span: step.span ?? 0,
      scope: "all",
      link: "",
      curves: [...step.curves],
    },
    learn: { ...progress.peek(), step: place, applied: place } as unknown as Json,
  } as Doc["view"];
  open({ ...FIRST, name: `${of.id}.toml`, text, algorithms: [...step.algorithms], view, experiment: of.id });
}

/** Marks the experiment as gone through. */
export function finish(of: Experiment): void {
  if (progress.peek().done.includes(of.id)) return;
  remember({ done: [...progress.peek().done, of.id] });
}

// What the runs say.

/** The figures of steps that were run as they are told, by experiment, place and seed. */
const measured = new Map<string, Promise<Figures>>();

/** The figures of an earlier step with a seed: those of the page's own run, or of one that is made for it. */
function figuresAt(of: Experiment, place: number, seed: Replication["seed"]): Promise<Figures> {
  const key = `${of.id} ${place} ${seed}`;
  const there = measured.get(key);
  if (there) return there;
  const labels = stepOf(of, place)?.algorithms ?? [];
  const made = (async () => {
    const source = { text: await textAt(of, place), name: `${of.id}.toml` };
    const jobs = labels.map((algorithm) => pool.run({ source, algorithm, seed, shown: false }).answer);
    return figuresOf(await Promise.all(jobs));
  })();
  measured.set(key, made);
  made.catch(() => measured.delete(key));
  return made;
}

/** What the page's run says of the step that is read. */
export type Said =
  | { readonly state: "none" }
  | {
      readonly state: "running";
      /** What was said of the same step with other values; `null`: nothing. It keeps its place meanwhile. */
      readonly before: Judged | null;
    }
  | { readonly state: "failed"; readonly why: string }
  | {
      readonly state: "said";
      /** What the first seed shows. */
      readonly text: string;
      /** The seed that it is. */
      readonly seed: Replication["seed"];
      /** Whether the claim holds with it. */
      readonly holds: boolean;
      /** Whether it shows what the control says; true for a step. */
      readonly shows: boolean;
      /** How many seeds have run with all algorithms, and how many of them say what the first one does. */
      readonly ran: number;
      readonly agree: number;
      /** How many were asked for. */
      readonly asked: number;
    };

/** A run that was judged. */
export type Judged = Extract<Said, { state: "said" }>;

export const said = signal<Said>({ state: "none" });

let asked = 0;
/** What was said last, which stays in its place until there is something new: nothing below it moves. */
let last: { readonly of: string; readonly judged: Judged } | null = null;
const lastOf = (of: string): Judged | null => (last?.of === of ? last.judged : null);

/** Tells the results which step they are of, where another one is read. */
effect(() => {
  const of = experiment.value;
  const { applied } = progress.value;
  const place = at.value;
  behind.value =
    of && applied >= 0 && !isApplied.value
      ? {
          says: `These results are from ${nameOf(of, applied)}. You are reading ${nameOf(of, place)}.`,
          run: () => void apply(of, place),
        }
      : null;
});

/** Follows the page's runs. Called once. */
export function followCourse(): () => void {
  return effect(() => {
    asked += 1;
    const mine = asked;
    const of = experiment.value;
    const place = at.value;
    const step = of && stepOf(of, place);
    const now = runs.value;
    const told = asTold.value;
    if (!of || !step || !isApplied.value) {
      said.value = { state: "none" };
      return;
    }
    const broken = now.each.find(({ fault }) => fault);
    if (broken) {
      said.value = { state: "failed", why: broken.fault };
      return;
    }
    const groups = current.value ? bySeed(now.each, step.algorithms) : [];
    if (groups.length === 0) {
      const runs = now.phase === "running" || !current.value;
      said.value = runs ? { state: "running", before: lastOf(`${of.id} ${place}`) } : { state: "none" };
      return;
    }
    if (told) {
      for (const [seed, all] of groups) {
        const key = `${of.id} ${place} ${seed}`;
        if (!measured.has(key)) measured.set(key, Promise.resolve(figuresOf(all)));
      }
    }
    const wanted = Math.max(groups.length, Math.round(now.asked / Math.max(1, now.each.length)));
    judge(of, place, step, groups).then(
      (found) => {
        if (mine !== asked) return;
        const judged = { ...found, asked: wanted };
        said.value = judged;
        last = { of: `${of.id} ${place}`, judged };
      },
      (error) => {
        if (mine === asked)
          said.value = { state: "failed", why: error instanceof Error ? error.message : String(error) };
      },
    );
  });
}

/** The replications by seed, of the seeds that all labels have. */
function bySeed(
  each: readonly { readonly finished: readonly Replication[] }[],
  labels: readonly string[],
): [Replication["seed"], Measured[]][] {
  const all = each.flatMap(({ finished }) => finished);
  const seeds = [...new Set(all.map(({ seed }) => seed))].sort((a, b) => Number(a) - Number(b));
  return seeds.flatMap((seed): [Replication["seed"], Measured[]][] => {
    const own = all.filter((one) => one.seed === seed);
    return labels.every((label) => own.some(({ algorithm }) => algorithm === label)) ? [[seed, own]] : [];
  });
}

/** Whether a run shows what a place says: the claim, and for the control its own sentence as well. */
function outcome(of: Experiment, place: number, step: Step, now: Figures, before: readonly Figures[]) {
  const holds = step.holds(now, before);
  return { holds, shows: place < of.steps.length || of.control.holds(now, before) };
}

async function judge(
  of: Experiment,
  place: number,
  step: Step,
  groups: readonly [Replication["seed"], Measured[]][],
): Promise<Omit<Judged, "asked">> {
  const earlier = place < of.steps.length ? place : of.control.step;
  const [[firstSeed, firstRuns] = ["", []], ...others] = groups;
  const beforeOf = async (seed: Replication["seed"]) => {
    const before: Figures[] = [];
    for (let k = 0; k < earlier; k++) before.push(await figuresAt(of, k, seed));
    return before;
  };
  const before = await beforeOf(firstSeed);
  const now = figuresOf(firstRuns);
  const first = outcome(of, place, step, now, before);
  const text = place < of.steps.length ? step.see(now, before) : of.control.see(now, before);
  let agree = 1;
  for (const [seed, all] of others) {
    const other = outcome(of, place, step, figuresOf(all), await beforeOf(seed));
    if (other.holds === first.holds && other.shows === first.shows) agree += 1;
  }
  return { state: "said", text, seed: firstSeed, ...first, agree, ran: groups.length };
}
