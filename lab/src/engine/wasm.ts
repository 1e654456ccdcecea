// One instance of the simulator, for a worker of the page and for Node alike. It runs on the thread that asks, which waits.

import type { Answers, Fault, LinkSeries, Request } from "../protocol.ts";

/** A message of one kind. */
export type Ask<Do extends Request["do"]> = Extract<Request, { do: Do }>;

/** How far a run is: a share of the simulated time, and the samples of the links since the last time. */
export interface Progress {
  done: number;
  series: LinkSeries[];
}

/** What an instance says where there is no answer: `fault` has all of it, and `message` what the command would print. */
export class EngineFault extends Error {
  readonly fault: Fault;

  constructor(fault: Fault) {
    super(fault.message);
    this.name = "EngineFault";
    this.fault = fault;
  }

  /** A fault that is not of the simulator's making. */
  static of(message: string): EngineFault {
    const nothing = { file: null, line: null, column: null, field: null, value: null, nearest: null, known: null };
    return new EngineFault({ kind: "failed", message, rule: message, ...nothing });
  }
}

interface Exports {
  memory: WebAssembly.Memory;
  alloc(length: number): number;
  call(at: number, length: number): number;
  answer_ptr(): number;
  answer_len(): number;
}

/** An instance. After a fault of the kind "failed" it may be dead, and another one has to be made. */
export class Engine {
  /** True once it has trapped: it answers nothing any more. */
  dead = false;
  private readonly exports: Exports;
  private readonly decoder = new TextDecoder();
  private readonly encoder = new TextEncoder();
  private listener: ((progress: Progress) => void) | undefined;

  private constructor(make: (imports: WebAssembly.Imports) => WebAssembly.Instance) {
    const progress = (done: number, at: number, length: number) => {
      if (this.listener) this.listener({ done, series: JSON.parse(this.text(at, length)) as LinkSeries[] });
    };
    this.exports = make({ env: { progress } }).exports as unknown as Exports;
  }

  /** Makes an instance of a module. */
  static of(module: WebAssembly.Module): Engine {
    return new Engine((imports) => new WebAssembly.Instance(module, imports));
  }

  /** Compiles a module and makes an instance of it. */
  static async load(bytes: BufferSource): Promise<Engine> {
    return Engine.of(await WebAssembly.compile(bytes));
  }

  /** The memory that it has. It never shrinks. */
  get memoryBytes(): number {
    return this.exports.memory.buffer.byteLength;
  }

  /**
   * Answers a message, or throws an `EngineFault`. `listener` hears of a run that asks to be `watched`.
   */
  ask<Do extends keyof Answers>(request: Ask<Do>, listener?: (progress: Progress) => void): Answers[Do] {
    if (this.dead) throw EngineFault.of("the simulator has stopped; reload the page");
    const bytes = this.encoder.encode(JSON.stringify(request));
    const answer = this.call(bytes, listener);
    if ("error" in answer) throw new EngineFault(answer.error);
    return answer.ok as Answers[Do];
  }

  private call(bytes: Uint8Array, listener?: (progress: Progress) => void): { ok: unknown } | { error: Fault } {
    this.listener = listener;
    try {
      const at = this.exports.alloc(bytes.length);
      if (at === 0) throw EngineFault.of("the message is too long for the simulator");
      new Uint8Array(this.exports.memory.buffer, at, bytes.length).set(bytes);
      if (this.exports.call(at, bytes.length) !== 0) throw EngineFault.of("the simulator did not get the message");
    } catch (error) {
      if (error instanceof EngineFault) throw error;
      this.dead = true;
      throw EngineFault.of(this.trapped(error));
    } finally {
      this.listener = undefined;
    }
    return JSON.parse(this.answer());
  }

  private text(at: number, length: number): string {
    return this.decoder.decode(new Uint8Array(this.exports.memory.buffer, at, length));
  }

  private answer(): string {
    return this.text(this.exports.answer_ptr(), this.exports.answer_len());
  }

  /** What is known of a trap: a panic leaves its message as the answer. */
  private trapped(error: unknown): string {
    let said = "";
    try {
      said = this.answer();
    } catch {
      // The memory is gone, too.
    }
    const why = said.startsWith("panicked") ? said : String(error instanceof Error ? error.message : error);
    if (/memory|stack/i.test(why)) return `the simulator has no room left: ${why}`;
    return `the simulator failed (a bug, please report it): ${why}`;
  }
}
