// The link that a person asks about, which the document remembers, and the answer of the last simulation.

import { computed, signal } from "@preact/signals";
import { ask, EngineFault } from "../engine/client.ts";
import { Canceled, type Job, pool } from "../engine/pool.ts";
import type { Fault, RecommendedAnswer } from "../protocol.ts";
import { changeView, doc, faultOf } from "../state/document.ts";
import { type Asked, drive, request } from "./drive.ts";

const VIEW = "recommend";

/** A cable link at home. */
const USUAL: Asked = {
  down: "95 Mbit/s",
  up: "18 Mbit/s",
  rtt: "10..80 ms",
  link: "docsis",
  can: "openwrt",
  goal: "",
  hosts: "1",
  load: "",
  cpu_limit: "",
};

/** What is asked now; a link may have brought anything, of which only texts count. */
export const asked = computed<Asked>(() => {
  const kept = doc.value.view[VIEW];
  const known = typeof kept === "object" && kept !== null && !Array.isArray(kept) ? kept : {};
  const texts = Object.keys(USUAL).filter((key) => typeof known[key] === "string");
  return { ...USUAL, ...Object.fromEntries(texts.map((key) => [key, known[key]])) };
});

/** Sets a field. */
export function set(field: keyof Asked, value: string): void {
  changeView(VIEW, { ...asked.peek(), [field]: value }, { merge: `${VIEW}.${field}` });
}

/** What is wrong with what is asked now. */
export const wrong = signal<Fault | null>(null);

/** Asks whether what is written is a link. */
export async function check(of: Asked): Promise<void> {
  let found: Fault | null = null;
  try {
    await ask(request(of));
  } catch (error) {
    found = asFault(error);
  }
  if (asked.peek() === of) wrong.value = found;
}

const asFault = (error: unknown): Fault =>
  error instanceof EngineFault ? error.fault : faultOf(error instanceof Error ? error.message : String(error));

/** The simulation for a link. */
export interface Simulation {
  readonly of: Asked;
  readonly round: number;
  readonly finished: number;
  readonly asked: number;
  /** Whether it goes on. */
  readonly runs: boolean;
  readonly answer: RecommendedAnswer | null;
}

/** The last one; `null` before the first. */
export const simulation = signal<Simulation | null>(null);

let jobs: Job[] = [];

/** Simulates for what is asked now. */
export async function simulate(): Promise<void> {
  stop();
  const of = asked.peek();
  const mine: Job[] = [];
  jobs = mine;
  const say = (patch: Partial<Simulation>) => {
    if (jobs !== mine) return;
    const old = simulation.peek() ?? { of, round: 0, finished: 0, asked: 0, runs: true, answer: null };
    simulation.value = { ...old, ...patch };
  };
  say({ of, round: 0, finished: 0, asked: 0, runs: true, answer: null });
  try {
    const answer = await drive(of, {
      ask,
      run: (run, { estimated_memory: memory }) => {
        const job = pool.run(run, { memory });
        mine.push(job);
        return job.answer;
      },
      progress: (round, finished, asked) => say({ round, finished, asked }),
    });
    say({ answer, runs: false });
  } catch (error) {
    for (const job of mine) job.cancel();
    say({ runs: false });
    if (jobs === mine && !(error instanceof Canceled)) wrong.value = asFault(error);
  }
}

/** Ends the simulation. */
export function stop(): void {
  for (const job of jobs) job.cancel();
}
