// Experiments of documents: what a preset of `papers.json` is, how it becomes a scenario, and how its printed numbers are
// found in the runs. Written for the page and for tests in Node alike.

import type { EditStep, Replication, Tree } from "../protocol.ts";

/** A printed number, and where it is looked up. See `PresetNumber` in crates/papers. */
export interface PrintedNumber {
  readonly point: number;
  readonly label: string;
  readonly name: string;
  readonly value: string;
  readonly segment?: number;
  readonly scope?: string;
  readonly link?: string;
  readonly low: number;
  readonly high?: number;
  readonly printed: string;
  readonly unit: string;
  readonly table: string;
  readonly case?: string;
  readonly verdict: string;
  readonly note?: string;
}

/** An experiment of a document. See `Preset` in crates/papers. */
export interface Preset {
  readonly id: string;
  readonly reference: string;
  readonly document: string;
  readonly section: string;
  readonly describes: string;
  readonly reading: string;
  readonly scenario: string;
  readonly set: readonly (readonly [string, string])[];
  readonly sweep: readonly (readonly [string, string])[];
  readonly algorithms?: readonly string[];
  readonly numbers: readonly PrintedNumber[];
  readonly claims: readonly { readonly says: string; readonly place: string; readonly verdict: string }[];
}

/** The simulator's messages that a preset needs. */
export interface Asks {
  tree(text: string): Promise<Tree> | Tree;
  edit(text: string, edits: EditStep[]): Promise<{ text: string }> | { text: string };
}

/** The scenario of a preset: the file's text with what the experiment sets. */
export async function textOf(preset: Preset, file: string, asks: Asks): Promise<string> {
  let text = file;
  // One after the other, for one may be a table that the next is in.
  for (const [field, value] of preset.set) {
    const { value: document } = await asks.tree(text);
    for (const path of pathsOf(field, document)) text = (await asks.edit(text, [{ path, value }])).text;
  }
  for (const [field, value] of preset.sweep) {
    const path = `sweep.${JSON.stringify(field)}`;
    text = (await asks.edit(text, [{ path, value }])).text;
  }
  return text;
}

/** The places of a field as `--set` names it: groups by their names, algorithms by their labels. */
export function pathsOf(field: string, document: Record<string, unknown>): string[] {
  for (const list of ["flows", "aqm", "links"]) {
    const items = document[list];
    if (!field.startsWith(`${list}.`) || !Array.isArray(items)) continue;
    const found = items.flatMap((item: Record<string, unknown>, at) => {
      const names = list === "aqm" ? [item.label ?? item.algorithm] : [item.name];
      return names.flatMap((name) => {
        const head = `${list}.${name}.`;
        return field.startsWith(head) ? [`${list}[${at}].${field.slice(head.length)}`] : [];
      });
    });
    if (found.length > 0) return found;
  }
  return [field];
}

/** A value as `papers` writes it, apart: `100 * loss_rate[data]`, `queue_std_bytes/queue_bytes`. */
export function termsOf(value: string): { factor: number; terms: { metric: string; scope?: string }[] } {
  const [first = "", second] = value.split("*").map((part) => part.trim());
  const quantity = second ?? first;
  const terms = quantity.split("/").map((term) => {
    const [, metric = term, scope] = /^([^[]+)(?:\[(.+)\])?$/.exec(term) ?? [];
    return { metric, ...(scope !== undefined && { scope }) };
  });
  return { factor: second === undefined ? 1 : Number(first), terms };
}

/** What a run gives for a printed number, in the unit of what is printed; NaN if it gives nothing. */
export function foundIn(number: PrintedNumber, run: Pick<Replication, "metrics" | "internal_means">): number {
  const { factor, terms } = termsOf(number.value);
  const link = number.link ?? run.metrics[0]?.link;
  const segment = number.segment ?? null;
  const [of = Number.NaN, over] = terms.map(({ metric, scope = number.scope ?? "all" }) => {
    if (metric.startsWith("internal:")) {
      const signal = metric.slice("internal:".length);
      return run.internal_means.find((i) => i.link === link && i.segment === segment && i.signal === signal)?.mean;
    }
    return run.metrics.find((m) => m.link === link && m.segment === segment && m.scope === scope)?.values[metric];
  });
  if (terms.length > 1) return over === undefined ? Number.NaN : (factor * of) / over;
  return factor * of;
}

/** What the verdicts on record say, in words. */
export const VERDICTS: { readonly [verdict: string]: string } = {
  agrees: "reproduced",
  inside: "as close as chance allows",
  explained: "reproduced under another reading",
  fitted: "reproduced only when fitted to it",
  refuted: "not reproduced, for a known reason",
  open: "not reproduced, and it is not known why",
  missing: "not run",
  holds: "holds",
  fails: "fails",
  undecided: "undecided",
};
