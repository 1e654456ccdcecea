// Runs over all cores: one worker a core, at most eight. Jobs begin in the order in which they came.

import type { CheckedPoint, Replication, Request, Seed, Source } from "../protocol.ts";
import { type Ask, Client, EngineFault, type Progress } from "./client.ts";

/** More workers than this take more memory than they save time. */
const MOST = 8;

/** The memory of all that runs at once, in bytes, by estimate: with the page and its results it is below 500 MB. */
const ROOM = 200e6;

/** A job that waits or runs. */
export interface Job {
  /** Rejected with an `EngineFault`; if it was canceled, with a `Canceled`. */
  answer: Promise<Replication>;
  /** Ends it at once. */
  cancel(): void;
}

export interface Options {
  /** Hears how far it is; the run is watched then. */
  progress?: (progress: Progress) => void;
  /** The memory that it needs by estimate (`estimated_memory` of `check`), in bytes. */
  memory?: number;
  /** It begins before others that wait. */
  urgent?: boolean;
}

/** The end of a job that nobody wants any more. */
export class Canceled extends Error {
  constructor() {
    super("canceled");
    this.name = "Canceled";
  }
}

interface Waiting {
  request: Ask<"run">;
  options: Options;
  resolve(answer: Replication): void;
  reject(error: Error): void;
  client: Client | undefined;
}

export class Pool {
  /** The most that run at once. */
  readonly size: number;
  private readonly free: Client[] = [];
  private made = 0;
  private readonly queue: Waiting[] = [];
  private readonly running = new Set<Waiting>();

  constructor(size = Math.min(globalThis.navigator?.hardwareConcurrency || 2, MOST)) {
    this.size = Math.max(1, size);
  }

  /** Runs a replication as soon as a core is free. */
  run(request: Omit<Ask<"run">, "do">, options: Options = {}): Job {
    let job: Waiting | undefined;
    const answer = new Promise<Replication>((resolve, reject) => {
      const watched = options.progress ? { watched: true } : {};
      job = { request: { do: "run", ...request, ...watched }, options, resolve, reject, client: undefined };
      if (options.urgent) this.queue.unshift(job);
      else this.queue.push(job);
    });
    this.begin();
    return { answer, cancel: () => job && this.cancel(job) };
  }

  /** Ends all jobs at once. */
  stop(): void {
    for (const job of this.queue.splice(0)) job.reject(new Canceled());
    for (const job of [...this.running]) this.cancel(job);
  }

  private cancel(job: Waiting): void {
    const at = this.queue.indexOf(job);
    if (at >= 0) this.queue.splice(at, 1);
    if (at >= 0 || this.running.has(job)) job.reject(new Canceled());
    if (this.running.delete(job) && job.client) {
      job.client.kill();
      this.free.push(job.client);
    }
    this.begin();
  }

  private begin(): void {
    while (this.queue.length > 0) {
      const next = this.queue[0] as Waiting;
      let room = ROOM - (next.options.memory ?? 0);
      for (const job of this.running) room -= job.options.memory ?? 0;
      if (this.running.size > 0 && room < 0) return;
      let client = this.free.pop();
      if (!client && this.made < this.size) {
        client = new Client();
        this.made += 1;
      }
      if (!client) return;
      this.queue.shift();
      this.start(next, client);
    }
  }

  private start(job: Waiting, client: Client): void {
    job.client = client;
    this.running.add(job);
    const over = () => {
      // A job that was canceled has given its worker back already.
      if (this.running.delete(job)) this.free.push(client);
      this.begin();
    };
    client.ask(job.request as Extract<Request, { do: "run" }>, job.options.progress).then(
      (answer) => {
        job.resolve(answer);
        over();
      },
      (error) => {
        job.reject(error instanceof Error ? error : EngineFault.of(String(error)));
        over();
      },
    );
  }
}

/** The pool of the page. */
export const pool = new Pool();

/** The replications of a study in the order in which the command runs them: all algorithms meet one seed before any
 * meets the next, so that a run that is stopped has pairs to compare. */
export function replications(
  source: Source,
  points: CheckedPoint[],
  seedsOf: (point: CheckedPoint) => Seed[] = (point) => point.seeds,
): Omit<Ask<"run">, "do">[] {
  return points.flatMap((info, point) =>
    seedsOf(info).flatMap((seed) => info.algorithms.map((algorithm) => ({ source, point, algorithm, seed }))),
  );
}
