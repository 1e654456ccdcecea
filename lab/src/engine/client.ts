// Promises for messages to workers. A worker that fails or is killed is replaced at the next message.

import type { Answers, Request } from "../protocol.ts";
import { type Ask, EngineFault, type Progress } from "./wasm.ts";
import type { FromWorker, ToWorker } from "./worker.ts";

export { type Ask, EngineFault, type Progress } from "./wasm.ts";

/** The memory beyond which an instance does not live on, in bytes: it never gives any back. */
const HEAVY = 32 * 1024 * 1024;

let compiled: Promise<WebAssembly.Module> | undefined;

/** The simulator, compiled once for all workers. */
function compile(): Promise<WebAssembly.Module> {
  compiled ??= (async () => {
    if (typeof WebAssembly !== "object" || typeof Worker !== "function") {
      const needed = "The simulator needs WebAssembly and web workers";
      throw EngineFault.of(`${needed}, which this browser does not have or does not allow here.`);
    }
    if (!__WASM__) throw EngineFault.of("This page was built without the simulator: node lab/wasm.mjs builds it.");
    const url = new URL(__WASM__, import.meta.url);
    const fetched = await fetch(url);
    if (!fetched.ok) throw EngineFault.of(`The simulator cannot be loaded: ${fetched.status} ${fetched.statusText}`);
    // Servers that do not know the type of the file are no reason to fail.
    if (fetched.headers.get("content-type")?.startsWith("application/wasm")) {
      return WebAssembly.compileStreaming(fetched);
    }
    return WebAssembly.compile(await fetched.arrayBuffer());
  })();
  compiled.catch(() => {
    // Once it is there again, the next message finds it.
    compiled = undefined;
  });
  return compiled;
}

interface Waiting {
  resolve(answer: unknown): void;
  reject(fault: EngineFault): void;
  progress: ((progress: Progress) => void) | undefined;
}

/** One worker, and the messages that it has not answered. */
export class Client {
  /** Called when it has answered all messages. */
  idle: (() => void) | undefined;
  private worker: Worker | undefined;
  private readonly waiting = new Map<number, Waiting>();
  private next = 0;

  /** The answer to a message, which may take some time. */
  async ask<Do extends keyof Answers>(request: Ask<Do>, progress?: (progress: Progress) => void): Promise<Answers[Do]> {
    const module = await compile().catch((error) => {
      throw error instanceof EngineFault ? error : EngineFault.of(`The simulator cannot be loaded: ${error}`);
    });
    return new Promise((resolve, reject) => {
      this.next += 1;
      this.waiting.set(this.next, { resolve: resolve as (answer: unknown) => void, reject, progress });
      this.post(module, { id: this.next, request: request as Request });
    });
  }

  /** Ends the worker at once; what waits is rejected with these words. */
  kill(why = "stopped"): void {
    this.worker?.terminate();
    this.worker = undefined;
    const all = [...this.waiting.values()];
    this.waiting.clear();
    for (const { reject } of all) reject(EngineFault.of(why));
  }

  private post(module: WebAssembly.Module, message: ToWorker): void {
    if (!this.worker) {
      const worker = new Worker(new URL(__WORKER__, import.meta.url), { type: "module" });
      worker.onmessage = ({ data }: MessageEvent<FromWorker>) => this.hear(data);
      worker.onerror = (event) => this.kill(`The simulator's worker failed: ${event.message ?? "no reason"}`);
      const first: ToWorker = { module };
      worker.postMessage(first);
      this.worker = worker;
    }
    this.worker.postMessage(message);
  }

  private hear(data: FromWorker): void {
    const waiting = this.waiting.get(data.id);
    if (!waiting) return;
    if ("progress" in data) {
      waiting.progress?.(data.progress);
      return;
    }
    this.waiting.delete(data.id);
    if ("ok" in data) waiting.resolve(data.ok);
    else waiting.reject(new EngineFault(data.fault));
    if ("fault" in data && data.dead) this.kill(data.fault.message);
    else if (this.waiting.size === 0 && data.memory > HEAVY && !this.keeps) this.kill();
    if (this.waiting.size === 0) this.idle?.();
  }

  /** `keeps`: the instance has results that later messages name, and lives on however large it is. */
  constructor(private readonly keeps = false) {}
}

const quiet = new Client();

/** The answer to a message about texts: from a worker of its own, which is never behind a run. */
export function ask<Do extends keyof Answers>(request: Ask<Do>): Promise<Answers[Do]> {
  return quiet.ask(request);
}

const results = new Client(true);

/** The answer to a message about results or theory: from the one instance that keeps what was gathered. */
export function desk<Do extends keyof Answers>(request: Ask<Do>): Promise<Answers[Do]> {
  return results.ask(request);
}
