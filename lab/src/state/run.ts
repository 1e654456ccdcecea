// The runs of the document: they follow it by themselves, over all cores; and the results that tables and charts are of.

import { computed, effect, signal, untracked } from "@preact/signals";
import { desk, type Progress } from "../engine/client.ts";
import { pool } from "../engine/pool.ts";
import { command } from "../keep/command.ts";
import type { Checked, Gathered, Replication } from "../protocol.ts";
import {
  type Doc,
  doc,
  family,
  familyOf,
  givenResults,
  lastChecked,
  point,
  shown,
  source,
  verdict,
} from "./document.ts";
import * as play from "./play.ts";
import { NOTHING, type Plan, Runner, type Runs, seedsOf } from "./runner.ts";
import { Growing } from "./samples.ts";

/** What runs and what was found. */
export const runs = signal<Runs>(NOTHING);

/** The replications as tables and charts take them: a handle in the engine, and what it is of. */
export interface Results {
  readonly id: number;
  /** The key of the runs. */
  readonly key: string;
  /** How many replications it has. */
  readonly count: number;
}
const own = signal<Results | null>(null);

/** The results of a folder that the command opened the page with (`quell lab FOLDER`), while they are shown. */
export const opened = signal<Gathered | null>(null);

/** What tables and diagrams are of: what was opened, else what was run here. */
export const results = computed<Results | null>(() => {
  const given = opened.value;
  return given ? { id: given.id, key: "", count: given.finished } : own.value;
});

/** The labels of the algorithms that the results are of. */
export const labels = computed<readonly string[]>(() =>
  opened.value ? opened.value.algorithms.map(([label]) => label) : runs.value.each.map((r) => r.label),
);
/** The point of opened results that is chosen. */
export const openedPoint = signal(0);
/** The point that tables and diagrams are of. */
export const resultPoint = computed(() => {
  const given = opened.value;
  return given ? Math.min(openedPoint.value, given.points.length - 1) : point.value;
});

/** The seeds of each algorithm in them. */
export const seedCount = computed(() => {
  const given = opened.value;
  if (given) return Math.max(0, ...given.points.map((p) => p.seeds.length));
  return Math.max(0, ...runs.value.each.map((r) => r.finished.length));
});
/** All is run, and not yet put together. */
export const resultsWait = computed(
  () => own.value !== null && !opened.value && runs.value.phase !== "running" && own.value.count < runs.value.finished,
);
/** Why there are no results although there are runs. */
export const resultsFault = signal("");

let identities = 0;
const identity = new WeakMap<object, number>();
function idOf(files: object): number {
  const known = identity.get(files);
  if (known !== undefined) return known;
  identities += 1;
  identity.set(files, identities);
  return identities;
}

/** Equal for documents whose runs are the same. */
export const keyOf = (of: Doc, at: number): string => `${at} ${idOf(of.files)} ${of.text}`;

/** Notes how long a run took, for `bench.mjs` and the browser's own tools. */
function measure(answer: Promise<Replication>): void {
  const start = performance.now();
  const note = ({ algorithm, packets }: Replication) =>
    performance.measure("run", { start, detail: { algorithm, packets } });
  answer.then(note, () => {});
}

const runner = new Runner({
  pool: {
    size: pool.size,
    run: (job, on) => {
      const samples = new Growing();
      const { source, point, label, seed, series, memory } = job;
      const options = {
        memory,
        urgent: series,
        // The others are told by their end.
        ...(series && {
          progress: ({ done, series }: Progress) => on({ done, series: samples.add(series) }),
        }),
      };
      const work = pool.run({ source, point, algorithm: label, seed, shown: series, packed: true }, options);
      measure(work.answer);
      return work;
    },
  },
  now: () => performance.now() / 1000,
  publish: (next) => {
    runs.value = next;
  },
});

export const start = (): void => runner.start();
export const stop = (): void => runner.stop();

function planOf(checked: Checked, of: Doc, at: number, labels: readonly string[], wanted: number): Plan | null {
  const here = checked.points[at];
  if (!here) return null;
  return {
    family: familyOf(of),
    key: keyOf(of, at),
    source: source(of),
    point: at,
    // Some algorithms cannot run at some points.
    labels: labels.filter((label) => here.algorithms.includes(label)),
    seeds: seedsOf(here.seeds, wanted),
    packets: here.estimated_packets,
    memory: here.estimated_memory,
    flows: here.flows,
    duration_s: here.duration_s,
    command: command(of, checked),
  };
}

/** The point of the checked scenario that is shown. */
export const here = computed(() => lastChecked.value?.points[point.value]);

/** The simulated time up to which all algorithms that are shown have come. */
export const front = computed(() => {
  const all = runs.value.each;
  if (!all.length) return 0;
  const until = (r: (typeof all)[number]): number => {
    const series = r.partial ?? r.shown?.series;
    const time = series?.[0]?.time_s;
    return time?.length ? Number(time[time.length - 1]) : 0;
  };
  return Math.min(...all.filter((r) => r.state !== "failed").map(until));
});

/** All that was asked for has been run. */
export const isDone = computed(
  () => opened.value !== null || (runs.value.phase !== "running" && runs.value.finished > 0),
);

/** The document that the runs are of is the present one. */
export const current = computed(() => {
  const now = verdict.value;
  return now?.ok === true && now.of.text === doc.value.text && runs.value.key === keyOf(now.of, point.value);
});

let following = false;

/** Begins to run whatever the document is. Called once. */
export function followRuns(): void {
  if (following) return;
  following = true;
  play.watchVisibility();
  let opened = family.peek();
  effect(() => {
    const now = family.value;
    if (now === opened) return;
    opened = now;
    untracked(() => {
      runner.leave();
      own.value = null;
      gathered = "";
      resultsFault.value = "";
      play.restart();
    });
  });
  effect(() => {
    const now = verdict.value;
    // A verdict on the former scenario says nothing of this one.
    if (!now || familyOf(now.of) !== family.value) return;
    if (!now.ok) return runner.invalid();
    const plan = planOf(now.checked, now.of, point.value, shown.value, doc.value.seeds);
    if (plan) runner.follow(plan);
  });
  effect(() => {
    if (here.value) play.moments.value = here.value.events ?? [];
    const end = here.value?.duration_s ?? 0;
    if (end > 0) play.fit(end, front.value);
  });
  let began = -1;
  effect(() => {
    const { family: of } = runs.value;
    if (began === of || of !== family.value || front.value <= 0 || play.end.value <= 0) return;
    began = of;
    queueMicrotask(play.begin);
  });
  effect(() => {
    const settled = runs.value.phase !== "running" || runs.value.finished > 0;
    if (
      settled &&
      (verdict.value?.ok === false ||
        runs.value.each.some((r) => r.shown || r.fault) ||
        runs.value.phase === "asks" ||
        runs.value.phase === "refused")
    ) {
      document.documentElement.dataset.ready = "true";
    }
  });
  effect(gatherWhenDone);
  effect(openGiven);
}

/** Shows the results of a folder. */
function openGiven(): void {
  const given = givenResults.value;
  if (given === null || typeof given !== "object" || Array.isArray(given)) return;
  const replications = Array.isArray(given.replications) ? given.replications.filter((r) => typeof r === "string") : [];
  desk({ do: "open", run: given.run, replications }).then(
    (answer) => {
      opened.value = answer;
      document.documentElement.dataset.ready = "true";
    },
    (error) => {
      resultsFault.value = error instanceof Error ? error.message : String(error);
    },
  );
}

let gathered = "";
let gathering = false;

/** Hands what has been found to the engine that makes tables, once nothing more comes soon. */
function gatherWhenDone(): void {
  const now = runs.value;
  const done = now.each.flatMap((r) => r.finished);
  const state = `${now.key} ${done.map((r) => `${r.algorithm}/${r.seed}`).join(" ")}`;
  if (!done.length || state === gathered || gathering) return;
  // Of many seeds the first is shown, and then all: to put them together takes time.
  if (now.phase === "running" && own.peek()?.key === now.key) return;
  // While first seeds are still to come a table would change under the reader's eyes.
  if (now.each.some((r) => r.state === "running" && r.finished.length === 0)) return;
  const checked = verdict.peek();
  if (!checked?.ok || keyOf(checked.of, point.peek()) !== now.key) return;
  gathering = true;
  const of = now.family;
  gather(now, checked.of, done)
    .then(
      (id) => {
        if (of !== family.peek()) return desk({ do: "forget", id }).then(() => {});
        const old = own.peek()?.id;
        own.value = { id, key: now.key, count: done.length };
        resultsFault.value = "";
        // What was asked of the old ones before is answered before.
        if (old !== undefined) setTimeout(() => desk({ do: "forget", id: old }).catch(() => {}), 1000);
      },
      (error) => {
        resultsFault.value = error instanceof Error ? error.message : String(error);
      },
    )
    .finally(() => {
      if (of === family.peek()) gathered = state;
      gathering = false;
      gatherWhenDone();
    });
}

async function gather(now: Runs, of: Doc, done: readonly Replication[]): Promise<number> {
  const base = source(of);
  const seeds = [...new Set(done.map((r) => r.seed))];
  const answer = await desk({
    do: "gather",
    // What was run is what was asked for: the results are whole, whatever else the scenario asks for.
    source: {
      ...base,
      set: [...(base.set ?? []), ["seeds", `[${seeds.join(", ")}]`]],
      aqm: now.each.map((r) => r.label),
    },
    replications: done.map((r) => r.packed ?? ""),
  });
  return answer.id;
}
