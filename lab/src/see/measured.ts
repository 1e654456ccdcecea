// What the packets did at a link, as the theory has it beside them.

import type { Assessment, Replication } from "../protocol.ts";
import { summary } from "./thin.ts";

/** What an equilibrium and packets have in common. */
export type Measured = Omit<NonNullable<Assessment["equilibrium"]>, "state">;

const mean = (all: readonly number[]): number | null =>
  all.length ? all.reduce((sum, x) => sum + x, 0) / all.length : null;

/** What was measured beside the equilibrium, as a mean over replications. */
export function measuredOf(runs: readonly Replication[], at: string): { [key in keyof Measured]: number | null } {
  const over = (figure: (run: Replication) => number | null) => mean(runs.map(figure).filter((x) => x !== null));
  return {
    queue_packets: over((run) => metric(run, at, "all", "queue_packets")),
    queue_delay_s: over((run) => metric(run, at, "all", "queue_delay_mean_s")),
    probability: over((run) => signaled(run, at)),
    // Only the first replication records windows.
    window_packets: mean(runs.flatMap((run) => windowsOf(run, at))),
    rtt_s: over((run) => metric(run, at, "all", "round_trip_time_mean_s")),
  };
}

const metric = (run: Replication, at: string, scope: string, name: string): number | null =>
  run.metrics.find((m) => m.link === at && m.segment === null && m.scope === scope)?.values[name] ?? null;

/** The share of data packets that are signaled: senders do not respond to what happens to their acknowledgments. */
function signaled(run: Replication, at: string): number | null {
  const loss = metric(run, at, "data", "loss_rate");
  // A packet is marked or dropped, and the model has one signal for both.
  return loss === null ? null : loss + (metric(run, at, "data", "mark_rate") ?? 0) * (1 - loss);
}

/** The mean windows of the long-lived flows whose data crosses the link, as the model has them. */
function windowsOf(run: Replication, at: string): number[] {
  const flows = run.windows.filter((w) => w.bulk && w.links.includes(at));
  const measured = (time: number | null | undefined) => (time ?? 0) > run.warmup_s;
  return flows
    .map((w) => summary(w.packets.filter((_, i) => measured(w.time_s[i]))).mean)
    .filter((x) => Number.isFinite(x));
}
