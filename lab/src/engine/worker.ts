// A worker with one instance of the simulator: it answers messages one after the other.

import type { Fault, LinkSeries, Request } from "../protocol.ts";
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

/** Samples behind samples, link by link. */
function joined(all: LinkSeries[], more: LinkSeries[]): LinkSeries[] {
  for (const next of more) {
    const before = all.find((series) => series.link === next.link);
    if (before) append(before, next);
    else all.push(next);
  }
  return all;
}

/** Appends the samples of one link; a signal that is new has none before. */
export function append(to: LinkSeries, next: LinkSeries): void {
  const length = to.time_s.length;
  to.time_s.push(...next.time_s);
  to.queue_packets.push(...next.queue_packets);
  to.queue_bytes.push(...next.queue_bytes);
  to.queue_mean_packets.push(...next.queue_mean_packets);
  to.queue_delay_mean_s.push(...next.queue_delay_mean_s);
  to.dropped_packets.push(...next.dropped_packets);
  to.marked_packets.push(...next.marked_packets);
  for (const [name, values] of next.throughput_bps) {
    const found = to.throughput_bps.find(([own]) => own === name);
    if (found) found[1].push(...values);
    else to.throughput_bps.push([name, [...new Array<null>(length).fill(null), ...values]]);
  }
  for (const signal of next.internals) {
    const found = to.internals.find((own) => own.name === signal.name);
    if (found) found.values.push(...signal.values);
    else to.internals.push({ ...signal, values: [...new Array<null>(length).fill(null), ...signal.values] });
  }
  for (const signal of to.internals) {
    while (signal.values.length < to.time_s.length) signal.values.push(null);
  }
}
