// From replications, as the simulator hands them over, to the figures that experiments speak of; in the page and in Node.

import type { EditStep, Replication } from "../src/protocol.ts";
import type { Control, Edit, Experiment, Figures } from "./kit.ts";

/** What of a replication the figures are taken from. */
export type Measured = Pick<Replication, "algorithm" | "metrics" | "internal_means">;

/** The figures of the first link that is measured, by label. */
export function figuresOf(replications: readonly Measured[]): Figures {
  return {
    labels: replications.map(({ algorithm }) => algorithm),
    of(label, metric, place = {}) {
      const run = replications.find(({ algorithm }) => algorithm === label);
      const link = run?.metrics[0]?.link;
      const segment = place.segment ?? null;
      if (metric.startsWith("internal:")) {
        const signal = metric.slice("internal:".length);
        const mean = run?.internal_means.find(
          (row) => row.link === link && row.segment === segment && row.signal === signal,
        );
        return mean?.mean ?? Number.NaN;
      }
      const scope = place.scope ?? "all";
      const row = run?.metrics.find((row) => row.link === link && row.segment === segment && row.scope === scope);
      return row?.values[metric] ?? Number.NaN;
    },
  };
}

/** The edits of a step, and of the control on top of its own. */
export function editsOf(experiment: Experiment, step: number, control?: Control): readonly Edit[] {
  return [...(experiment.steps[step]?.edits ?? []), ...(control?.edits ?? [])];
}

/** The text of a scenario with edits; `edit` is the simulator's message. */
export async function edited(
  text: string,
  edits: readonly Edit[],
  edit: (request: { do: "edit"; text: string; edits: EditStep[] }) => Promise<{ text: string }> | { text: string },
): Promise<string> {
  if (edits.length === 0) return text;
  return (await edit({ do: "edit", text, edits: edits.map(({ path, value }) => ({ path, value })) })).text;
}
