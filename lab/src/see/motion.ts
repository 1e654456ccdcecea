// The motion of a queue in words: what was measured, and by which rule it has its name.

import type { QueueMotion } from "../protocol.ts";
import { format, packetsOf } from "./thin.ts";

/** The swing up to which a queue is settled: `SETTLED` of crates/analysis/src/oscillation.rs. */
export const SETTLED = 0.5;

/** How a queue moves: what was measured, what that is called, and by which rule. */
export function motionOf(
  whose: string,
  of: Pick<QueueMotion, "motion" | "mean_packets" | "swing" | "period_s">,
): string {
  const percent = (share: number) => `${+(100 * share).toPrecision(2)}%`;
  const swings = `${whose} swings by about ${percent(of.swing)} around its mean of ${format(of.mean_packets)} ${packetsOf(format(of.mean_packets))}.`;
  const most = percent(SETTLED);
  const period = of.period_s > 0 ? ` with a period of ${format(of.period_s)} s` : "";
  if (of.motion === "settled") {
    return `${swings} Up to ${most} counts as settled, whatever its shape: a sawtooth may be settled, too.`;
  }
  if (of.motion === "oscillating") return `${swings} More than ${most}${period} counts as oscillating.`;
  return `${swings} More than ${most} without one period counts as irregular.`;
}
