// Numbers that a document prints, to be shown over what the page computes: a line in the table's cells, and marks over
// the curves of what they are means of.

import { signal } from "@preact/signals";
import { toAxis } from "./quantities.ts";

/** A printed number. */
export interface Printed {
  /** The label of the algorithm. */
  readonly algorithm: string;
  /** The metric, by its name. */
  readonly metric: string;
  /** The value in the metric's own unit (seconds, bit/s, shares). */
  readonly value: number;
  /** The value as it is printed, with its unit. */
  readonly text: string;
  /** Where it is printed: "table 3". */
  readonly where: string;
}

/** The printed numbers of the document's experiment that is open; none otherwise. */
export const printed = signal<readonly Printed[]>([]);

/** The quantity over time whose mean a metric is. */
const OVER_TIME: Record<string, string> = {
  queue_packets: "queue",
  queue_bytes: "bytes",
  queue_delay_mean_s: "delay",
};

/** The printed means of a quantity, in the unit of its axis. */
export function printedOver(
  id: string,
  unit: string,
  all: readonly Printed[],
): { label: string; value: number; text: string }[] {
  return all
    .filter((p) => OVER_TIME[p.metric] === id)
    .map((p) => ({
      label: p.algorithm,
      value: p.value * toAxis(unit),
      text: `${p.algorithm}, ${p.where}: ${p.text}`,
    }));
}
