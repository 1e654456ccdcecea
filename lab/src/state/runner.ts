// Runs of the page's document: what runs, what has been found, what is of an older text. No page and no signals, so that
// tests drive it with a pool of their own.

import type { LinkSeries, Replication, Seed, Source } from "../protocol.ts";

/** One replication that is wanted. */
export interface Job {
  readonly label: string;
  readonly seed: Seed;
  readonly point: number;
  /** Series are kept of the first seed alone. */
  readonly series: boolean;
  /** What it needs by estimate, in bytes. */
  readonly memory: number;
  readonly source: Source;
}

/** What is known of a run on the way. */
export interface Progress {
  /** The share that is done. */
  readonly done: number;
  readonly series?: LinkSeries[];
}

/** A run that was begun. */
export interface Work {
  readonly answer: Promise<Replication>;
  cancel(): void;
}

/** Workers, each with one instance of the engine. */
export interface Pool {
  readonly size: number;
  run(job: Job, on: (progress: Progress) => void): Work;
}

/** What is to be run. */
export interface Plan {
  /** Which scenario it is of: results of another one are not shown, those of an older text of it are. */
  readonly family?: number;
  /** Equal keys are equal runs, whatever labels and however many seeds are shown. */
  readonly key: string;
  readonly source: Source;
  readonly point: number;
  /** The algorithms that are shown, by label. */
  readonly labels: readonly string[];
  readonly seeds: readonly Seed[];
  /** What a replication sends, as estimated. */
  readonly packets: number;
  /** What it needs, as estimated, in bytes. */
  readonly memory: number;
  readonly flows: number;
  readonly duration_s: number;
  /** The command that runs it on the machine itself. */
  readonly command: string;
}

export type State = "none" | "running" | "done" | "failed" | "stopped";

/** The runs of one algorithm. */
export interface RunOf {
  readonly label: string;
  readonly state: State;
  /** The share of the first seed that is done. */
  readonly done: number;
  /** The newest whole run with series; of an older document if `stale`. */
  readonly shown: Replication | null;
  readonly stale: boolean;
  /** The samples of a run on the way. */
  readonly partial: LinkSeries[] | null;
  /** The replications of the present document, by seed. */
  readonly finished: readonly Replication[];
  readonly fault: string;
}

/** All runs of the page. */
export interface Runs {
  /** Which scenario they are of; -1 if none. */
  readonly family: number;
  readonly key: string;
  /** `asks`: large, so that it begins when it is told to; `refused`: too large for a page. */
  readonly phase: "idle" | "running" | "done" | "stopped" | "asks" | "refused" | "failed";
  readonly each: readonly RunOf[];
  /** What a reader should know: the estimate, the refusal or the fault. */
  readonly words: string;
  /** The command, where the page refuses. */
  readonly command: string;
  readonly asked: number;
  readonly finished: number;
  /** The time that is left, from 2 s on; null before it is known. */
  readonly left_s: number | null;
  /** Packets per second that one worker computed. */
  readonly rate: number;
}

export const NOTHING: Runs = {
  family: -1,
  key: "",
  phase: "idle",
  each: [],
  words: "",
  command: "",
  asked: 0,
  finished: 0,
  left_s: null,
  rate: 0,
};

/** Up to so many packets for all algorithms' first seeds a run begins by itself. */
export const BY_ITSELF = 5e6;
/** Beyond so many packets of one replication, or so many flows, the command line is for it. */
export const MOST_PACKETS = 5e7;
export const MOST_FLOWS = 1e5;
/** The memory of one replication beyond which a page refuses. */
export const MOST_BYTES = 3e8;
/** Further seeds begin by themselves up to so many packets. */
export const SEEDS_BY_THEMSELVES = 1e7;
/** A run that will be over this soon is let finish although the document has changed: so that something is seen while a
 * slider is dragged, and no worker is made for nothing. */
const PATIENCE_S = 0.25;
/** Packets per second of a worker, before one has been measured. */
const USUAL_RATE = 1e6;
/** The least time between two reports of progress. */
const BETWEEN_MS = 100;

export interface Settings {
  readonly pool: Pool;
  /** Seconds. */
  readonly now: () => number;
  readonly publish: (runs: Runs) => void;
  /** Runs something once, later; returns what undoes it. */
  readonly later?: (act: () => void, ms: number) => () => void;
}

interface Active {
  readonly job: Job;
  readonly work: Work;
  readonly began: number;
  done: number;
}

/** Follows plans: the newest wins. */
export class Runner {
  private plan: Plan | null = null;
  private next: Plan | null = null;
  private each = new Map<string, Mutable<RunOf>>();
  private queue: Job[] = [];
  private active = new Set<Active>();
  private phase: Runs["phase"] = "idle";
  private words = "";
  private rate = USUAL_RATE;
  private began = 0;
  private unsaid: (() => void) | null = null;
  private readonly later: NonNullable<Settings["later"]>;

  constructor(private readonly settings: Settings) {
    this.later =
      settings.later ??
      ((act, ms) => {
        const timer = setTimeout(act, ms);
        return () => clearTimeout(timer);
      });
  }

  /** The runs as they are now. */
  get runs(): Runs {
    const labels = this.plan?.labels ?? [];
    const each = labels.map((label) => ({ ...this.of(label) }));
    const finished = each.reduce((n, r) => n + r.finished.length, 0);
    return {
      family: this.plan ? (this.plan.family ?? 0) : -1,
      key: this.plan?.key ?? "",
      phase: this.phase,
      each,
      words: this.words,
      command: this.phase === "refused" ? (this.plan?.command ?? "") : "",
      asked: labels.length * (this.plan?.seeds.length ?? 0),
      finished,
      left_s: this.left(),
      rate: this.rate,
    };
  }

  /** The document has changed, or what is shown of it. */
  follow(plan: Plan): void {
    const same = this.plan?.key === plan.key;
    const other = this.plan !== null && this.plan.family !== plan.family;
    if (other) this.leave();
    if (!same && this.active.size > 0 && this.phase === "running" && this.remaining() < PATIENCE_S) {
      this.next = plan;
      return;
    }
    this.next = null;
    if (!same) this.drop();
    this.adopt(plan, same);
  }

  /** Begins what is large enough to be asked for. */
  start(): void {
    if (this.plan && this.phase !== "refused") this.begin();
  }

  /** Stops at once; what is finished stays. */
  stop(): void {
    this.next = null;
    this.drop();
    for (const run of this.each.values()) if (run.state === "running") run.state = "stopped";
    this.phase = "stopped";
    this.words = "Stopped.";
    this.say(true);
  }

  /** The document cannot be run as it is: results stay, and are of an older text. */
  invalid(): void {
    this.next = null;
    this.drop();
    for (const run of this.each.values())
      Object.assign(run, { stale: run.shown !== null, state: "none", partial: null, finished: [] });
    if (this.plan) this.plan = { ...this.plan, key: "" };
    this.phase = "idle";
    this.words = "";
    this.say(true);
  }

  /** Another scenario is opened: nothing of the former one stays. */
  leave(): void {
    if (!this.plan) return;
    this.next = null;
    this.drop();
    this.plan = null;
    this.each = new Map();
    this.phase = "idle";
    this.words = "";
    this.say(true);
  }

  private adopt(plan: Plan, same: boolean): void {
    const before = this.each;
    this.plan = plan;
    this.each = new Map(
      plan.labels.map((label) => {
        const old = before.get(label);
        if (old && same) return [label, old];
        return [label, { ...fresh(label), shown: old?.shown ?? null, stale: old?.shown != null }];
      }),
    );
    if (same) {
      this.queue = this.queue.filter((j) => plan.labels.includes(j.label) && plan.seeds.includes(j.seed));
      for (const a of [...this.active])
        if (!plan.labels.includes(a.job.label) || !plan.seeds.includes(a.job.seed)) this.cancel(a);
    }
    const obstacle = this.obstacle(plan, same);
    if (!obstacle) {
      this.begin();
      return;
    }
    [this.phase, this.words] = obstacle;
    this.say(true);
  }

  /** Why a plan does not begin by itself, if it does not. */
  private obstacle(plan: Plan, same: boolean): [Runs["phase"], string] | null {
    if (plan.labels.length === 0) return ["idle", ""];
    const what = tooLarge(plan);
    if (what) {
      const why = "too large for this page. The command runs it on all cores, with as much memory as the machine has:";
      return ["refused", `${what}: ${why}`];
    }
    const first = plan.packets * plan.labels.filter((label) => this.of(label).finished.length === 0).length;
    const runs = same && this.phase === "running";
    return first > BY_ITSELF && !runs ? ["asks", `About ${count(first)} packets: ${this.estimate(first)}.`] : null;
  }

  private of(label: string): Mutable<RunOf> {
    const run = this.each.get(label) ?? fresh(label);
    this.each.set(label, run);
    return run;
  }

  private begin(): void {
    const plan = this.plan;
    if (!plan) return;
    const wanted = this.missing();
    const taken = (job: Job) => [...this.active].some((a) => a.job.label === job.label && a.job.seed === job.seed);
    this.queue = wanted.filter((job) => !taken(job));
    for (const run of this.each.values())
      if (run.finished.length === 0) Object.assign(run, { state: "running", done: 0, fault: "", partial: null });
    this.phase = this.queue.length || this.active.size ? "running" : "done";
    this.words = "";
    this.began = this.settings.now();
    this.feed();
    this.say(true);
  }

  /** The replications that are wanted and not there: the first seed of each algorithm, then the second of each, and so on. */
  private missing(): Job[] {
    const plan = this.plan;
    if (!plan) return [];
    const cost = plan.packets * plan.labels.length * plan.seeds.length;
    const first = plan.seeds[0];
    const jobs: Job[] = [];
    for (const seed of plan.seeds) {
      for (const label of plan.labels) {
        const run = this.each.get(label);
        if (!run || run.state === "failed" || run.finished.some((r) => r.seed === seed)) continue;
        jobs.push({ label, seed, point: plan.point, series: seed === first, memory: plan.memory, source: plan.source });
      }
    }
    // The others of a large study wait until they are asked for.
    const all = cost <= SEEDS_BY_THEMSELVES || jobs.every((j) => !j.series);
    return all ? jobs : jobs.filter((j) => j.series);
  }

  private feed(): void {
    while (this.active.size < this.settings.pool.size) {
      const job = this.queue.shift();
      if (!job) return;
      this.run(job);
    }
  }

  private run(job: Job): void {
    const plan = this.plan as Plan;
    const mine: Active = {
      job,
      began: this.settings.now(),
      done: 0,
      work: this.settings.pool.run(job, (progress) => {
        if (!this.active.has(mine)) return;
        mine.done = progress.done;
        const run = this.each.get(job.label);
        if (run && job.series) {
          run.done = progress.done;
          if (progress.series) run.partial = progress.series;
        }
        this.say(false);
      }),
    };
    this.active.add(mine);
    mine.work.answer.then(
      (replication) =>
        this.active.delete(mine) && this.finished(plan, job, replication, this.settings.now() - mine.began),
      (fault: unknown) => this.active.delete(mine) && this.failed(job, fault),
    );
  }

  private finished(plan: Plan, job: Job, replication: Replication, took_s: number): void {
    if (took_s > 0.02 && plan.packets > 0) this.rate += 0.4 * (plan.packets / took_s - this.rate);
    const run = this.each.get(job.label);
    if (run) {
      if (job.series) Object.assign(run, { shown: replication, stale: this.next !== null, partial: null, done: 1 });
      run.state = "done";
      // In the order of the seeds, whichever came first: sums of floating-point numbers depend on it.
      const place = (r: Replication) => plan.seeds.indexOf(r.seed);
      run.finished = [...run.finished, replication].sort((a, b) => place(a) - place(b));
    }
    this.settle();
  }

  private failed(job: Job, fault: unknown): void {
    const run = this.each.get(job.label);
    const words = fault instanceof Error ? fault.message : String(fault);
    if (run && run.finished.length === 0) Object.assign(run, { state: "failed", fault: words, partial: null });
    this.queue = this.queue.filter((j) => j.label !== job.label);
    this.words = words;
    this.settle();
  }

  private settle(): void {
    if (this.next && (this.active.size === 0 || this.remaining() >= PATIENCE_S || this.allFirst())) {
      const plan = this.next;
      this.next = null;
      this.drop();
      this.adopt(plan, false);
      return;
    }
    this.feed();
    if (this.active.size === 0 && this.queue.length === 0) {
      const all = [...this.each.values()];
      this.phase = all.length > 0 && all.every((r) => r.state === "failed") ? "failed" : "done";
      if (all.every((r) => r.state !== "failed")) this.words = "";
    }
    this.say(true);
  }

  /** True if the first seeds of all algorithms are there: further seeds of an older text are of no use. */
  private allFirst(): boolean {
    return [...this.active].every((a) => !a.job.series) && this.queue.every((j) => !j.series);
  }

  private drop(): void {
    this.queue = [];
    for (const a of [...this.active]) this.cancel(a);
  }

  private cancel(a: Active): void {
    this.active.delete(a);
    a.work.cancel();
  }

  /** Seconds until the runs with series are over, as far as can be told. */
  private remaining(): number {
    const plan = this.plan;
    if (!plan) return 0;
    const first = [...this.active].filter((a) => a.job.series).map((a) => 1 - a.done);
    const waiting = this.queue.filter((j) => j.series).length;
    const shares = first.reduce((sum, s) => sum + s, 0) + waiting;
    return (shares * plan.packets) / this.rate / Math.min(this.settings.pool.size, Math.max(1, first.length + waiting));
  }

  private left(): number | null {
    const plan = this.plan;
    if (!plan || this.phase !== "running") return null;
    const shares = [...this.active].reduce((sum, a) => sum + 1 - a.done, 0) + this.queue.length;
    const elapsed = this.settings.now() - this.began;
    const jobs = plan.labels.length * plan.seeds.length;
    const done = jobs - shares;
    const predicted =
      (shares * plan.packets) / this.rate / Math.max(1, Math.min(this.settings.pool.size, this.active.size));
    // What has been seen of this very run tells more than the rate of others.
    const seen = elapsed > 1 && done > 0.1 ? (elapsed / done) * shares : predicted;
    return seen >= 2 ? seen : null;
  }

  private estimate(packets: number): string {
    return `about ${duration(packets / this.rate / this.settings.pool.size)} on this machine`;
  }

  private say(now: boolean): void {
    if (now) {
      this.unsaid?.();
      this.unsaid = null;
      this.settings.publish(this.runs);
      return;
    }
    this.unsaid ??= this.later(() => {
      this.unsaid = null;
      this.settings.publish(this.runs);
    }, BETWEEN_MS);
  }
}

/** What is too large for a page, if anything is. */
function tooLarge({ packets, flows, memory }: Plan): string {
  if (flows > MOST_FLOWS) return `${count(flows)} flows`;
  if (packets > MOST_PACKETS) return `About ${count(packets)} packets for each algorithm`;
  return memory > MOST_BYTES ? `About ${count(memory / 1e6)} MB for each algorithm` : "";
}

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

function fresh(label: string): Mutable<RunOf> {
  return { label, state: "none", done: 0, shown: null, stale: false, partial: null, finished: [], fault: "" };
}

/** A large number in words that are read at a glance. */
export function count(n: number): string {
  if (n >= 1e9) return `${round(n / 1e9)} billion`;
  if (n >= 1e6) return `${round(n / 1e6)} million`;
  if (n >= 1e4) return `${Math.round(n / 1e3)} 000`;
  return String(Math.round(n));
}

const round = (x: number): string => (x < 10 ? String(Math.round(x * 10) / 10) : String(Math.round(x)));

/** A time in words. */
export function duration(s: number): string {
  if (s < 1.5) return "a second";
  if (s < 90) return `${s < 10 ? Math.round(s) : Math.round(s / 5) * 5} s`;
  if (s < 5400) return `${Math.round(s / 60)} min`;
  return `${Math.round(s / 360) / 10} h`;
}

/** The first of some seeds; after the last one come those that follow the largest. */
export function seedsOf(all: readonly Seed[], wanted: number): Seed[] {
  if (wanted <= 0) return [...all];
  const out = all.slice(0, wanted);
  const largest = all.reduce<bigint>((most, seed) => (BigInt(seed) > most ? BigInt(seed) : most), 0n);
  // Beyond 2^53 numbers do not hold them, and they are texts.
  for (let next = largest + 1n; out.length < wanted; next++) {
    out.push(next <= BigInt(Number.MAX_SAFE_INTEGER) ? Number(next) : String(next));
  }
  return out;
}
