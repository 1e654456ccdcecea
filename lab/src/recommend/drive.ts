// From a link to its answer: asks, runs what is asked for, and asks again with what it found. No page and no signals, so
// that tests in Node drive it too.

import { type Ask, EngineFault } from "../engine/wasm.ts";
import type { Recommended, RecommendedAnswer, RecommendedFound, RecommendedRun, Replication } from "../protocol.ts";

/** What a person says of a link, in the words of `quell recommend`. */
export interface Asked {
  readonly down: string;
  readonly up: string;
  readonly rtt: string;
  readonly link: string;
  readonly can: string;
  /** Empty: what is usual for such a link. */
  readonly goal: string;
  readonly hosts: string;
  /** Empty: what is usual for such a link. */
  readonly load: string;
  /** Empty: the processor shapes any rate. */
  readonly cpu_limit: string;
}

/** Whoever answers and runs. */
export interface Engines {
  ask(request: Ask<"recommend">): Recommended | Promise<Recommended>;
  run(request: Omit<Ask<"run">, "do">, of: RecommendedRun): Replication | Promise<Replication>;
  /** Hears how far it is: the round, counted from 1, and its runs. */
  progress?(round: number, finished: number, asked: number): void;
}

/** What is asked, without what is left empty. */
export function said({ goal, load, cpu_limit, ...of }: Asked) {
  return {
    ...of,
    ...(goal.trim() && { goal }),
    ...(load.trim() && { load }),
    ...(cpu_limit.trim() && { cpu_limit }),
  };
}

/** The message about a link. */
export const request = (of: Asked): Ask<"recommend"> => ({ do: "recommend", ...said(of) });

/** The answer for a link. A scenario that fails is a row that says so, as with the command. */
export async function drive(of: Asked, engines: Engines): Promise<RecommendedAnswer> {
  const found: RecommendedFound[][] = [];
  for (;;) {
    const { runs, answer } = await engines.ask({ ...request(of), found });
    if (answer) return answer;
    const asked = runs.reduce((sum, run) => sum + run.seeds.length, 0);
    let finished = 0;
    const say = () => engines.progress?.(found.length + 1, finished, asked);
    say();
    const one = async (run: RecommendedRun, seed: RecommendedRun["seeds"][number]) => {
      const { text, algorithm, duration_s: step_s } = run;
      // Nothing is drawn of it: one sample of each series is enough.
      const options = { step_s, shown: false, packed: true };
      const { packed } = await engines.run({ source: { text }, algorithm, seed, ...options }, run);
      finished += 1;
      say();
      return packed ?? "";
    };
    const all = (run: RecommendedRun): Promise<RecommendedFound> =>
      Promise.all(run.seeds.map((seed) => one(run, seed))).catch((error) => {
        if (!(error instanceof EngineFault)) throw error;
        return { failed: error.fault.message };
      });
    found.push(await Promise.all(runs.map(all)));
  }
}
