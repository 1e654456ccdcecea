// Samples of a run that goes on, put behind those that came before.

import type { LinkSeries } from "../protocol.ts";

/** Samples behind samples, link by link. */
export function joined(all: LinkSeries[], more: LinkSeries[]): LinkSeries[] {
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
