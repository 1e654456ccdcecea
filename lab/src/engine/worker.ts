// A worker with one instance of the simulator: it answers messages one after the other.

import type { Fault, LinkSeries, Request } from "../protocol.ts";
import { joined } from "./samples.ts";
import { type Ask, Engine, EngineFault, type Progress } from "./wasm.ts";

/** What a worker is told: first the module, then messages. */
export type ToWorker = { module: WebAssembly.Module } | { id: number; request: Request };

/** What a worker says of a message. */
export type FromWorker =
  | { id: number; progress: Progress }
  | { id: number; ok: unknown; memory: number }
  | { id: number; fault: Fault; dead: boolean; memory: number };

/** The least time between two reports of a run, in milliseconds: two frames. */
const PACE = 33;

let engine: Engine | undefined;
let module: WebAssembly.Module | undefined;

const say = (message: FromWorker) => self.postMessage(message);

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if ("module" in data) {
    module = data.module;
    return;
  }
  const { id, request } = data;
  try {
    if (!engine) {
      if (!module) throw EngineFault.of("the worker has no simulator");
      engine = Engine.of(module);
    }
    const ok = engine.ask(request as Ask<"run">, paced(id));
    say({ id, ok, memory: engine.memoryBytes });
  } catch (error) {
    const fault = error instanceof EngineFault ? error.fault : EngineFault.of(String(error)).fault;
    say({ id, fault, dead: engine?.dead ?? true, memory: engine?.memoryBytes ?? 0 });
  }
};

/** Hands progress on, not more often than it is drawn: samples wait until then. */
function paced(id: number): (progress: Progress) => void {
  let last = performance.now();
  let waiting: LinkSeries[] = [];
  return ({ done, series }) => {
    waiting = joined(waiting, series);
    const now = performance.now();
    if (now - last < PACE) return;
    last = now;
    say({ id, progress: { done, series: waiting } });
    waiting = [];
  };
}
