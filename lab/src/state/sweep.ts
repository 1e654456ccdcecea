// All points of a sweep: run when somebody asks for them, for figures over a swept field.

import { computed, signal } from "@preact/signals";
import { desk } from "../engine/client.ts";
import { Canceled, type Job, pool, replications } from "../engine/pool.ts";
import { checked, doc, shown, source, verdict } from "./document.ts";
import { keyOf, runs } from "./run.ts";
import { count, duration, MOST_PACKETS, seedsOf } from "./runner.ts";

/** The runs of a sweep. */
export interface Sweep {
  /** What it is of. */
  readonly key: string;
  readonly state: "running" | "done" | "stopped" | "failed";
  readonly finished: number;
  readonly asked: number;
  /** The results, once there are any. */
  readonly id: number | null;
  readonly fault: string;
}

/** The sweep that was run last. */
export const sweep = signal<Sweep | null>(null);

/** What the runs of the present sweep are: equal keys are equal runs. */
export const sweepKey = computed(() => {
  const now = verdict.value;
  return now?.ok ? `${keyOf(now.of, 0)} ${shown.value.join("\n")} ${doc.value.seeds}` : "";
});

/** The sweep of the present document, if it was run. */
export const currentSweep = computed(() => (sweep.value?.key === sweepKey.value ? sweep.value : null));

/** What the sweep would take, in words; `too` if it is too large for a page. */
export const estimate = computed(() => {
  const points = checked.value?.points ?? [];
  let [packets, jobs] = [0, 0];
  for (const point of points) {
    const here = point.algorithms.filter((label) => shown.value.includes(label)).length;
    const seeds = doc.value.seeds || point.seed_count;
    packets += point.estimated_packets * here * seeds;
    jobs += here * seeds;
  }
  const seconds = packets / (runs.value.rate || 1e6) / pool.size;
  const words = `${jobs} replications of about ${count(packets)} packets in all, ${duration(seconds)}`;
  return { points: points.length, jobs, words, too: packets > 4 * MOST_PACKETS || jobs > 2000 };
});

let active: Job[] = [];

/** Ends the sweep that runs. */
export function stopSweep(): void {
  for (const job of active) job.cancel();
  active = [];
}

/** Runs all points. What is finished when it is stopped is shown too. */
export async function runSweep(): Promise<void> {
  stopSweep();
  const now = verdict.peek();
  if (!now?.ok) return;
  const key = sweepKey.peek();
  const base = { ...source(now.of), aqm: [...shown.peek()] };
  const wanted = doc.peek().seeds;
  const points = now.checked.points.map((point) => ({
    ...point,
    algorithms: point.algorithms.filter((label) => base.aqm.includes(label)),
  }));
  const requests = replications(base, points, (point) => seedsOf(point.seeds, wanted));
  const packed: string[] = [];
  const say = (patch: Partial<Sweep>) => {
    const before = sweep.peek();
    const old =
      before?.key === key ? before : { key, state: "running" as const, finished: 0, asked: 0, id: null, fault: "" };
    sweep.value = { ...old, ...patch };
  };
  say({ state: "running", finished: 0, asked: requests.length, id: null, fault: "" });
  const jobs = requests.map((request) => {
    const memory = points[request.point ?? 0]?.estimated_memory ?? 0;
    return pool.run({ ...request, shown: false, packed: true }, { memory });
  });
  active = jobs;
  let [stopped, fault] = [false, ""];
  await Promise.all(
    jobs.map((job) =>
      job.answer.then(
        (replication) => {
          packed.push(replication.packed ?? "");
          if (active === jobs) say({ finished: packed.length });
        },
        (error) => {
          if (error instanceof Canceled) stopped = true;
          else fault ||= error instanceof Error ? error.message : String(error);
        },
      ),
    ),
  );
  if (active !== jobs && !stopped) return;
  if (sweep.peek()?.key !== key) return;
  try {
    const seeds: readonly [string, string][] = wanted
      ? [["seeds", `[${seedsOf(points[0]?.seeds ?? [], wanted).join(", ")}]`]]
      : [];
    const found = packed.length
      ? await desk({ do: "gather", source: { ...base, set: [...(base.set ?? []), ...seeds] }, replications: packed })
      : null;
    const state = stopped ? "stopped" : fault && !packed.length ? "failed" : "done";
    if (sweep.peek()?.key === key) say({ state, id: found?.id ?? null, finished: packed.length, fault });
  } catch (error) {
    say({ state: "failed", fault: error instanceof Error ? error.message : String(error) });
  }
}
