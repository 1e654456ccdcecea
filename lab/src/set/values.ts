// The text's values and the defaults behind them, and how the form writes.

import { computed } from "@preact/signals";
import type { Fault, TreePlace } from "../protocol.ts";
import { edit, fault, lastChecked, tree } from "../state/document.ts";
import { say } from "../ui/notices.tsx";
import { bare, quoted, told, type Value } from "./schema.ts";

/** What the text says. */
export const values = computed(() => (tree.value?.tree.value ?? {}) as { [key: string]: Value });
/** Where it says so. */
export const places = computed((): { readonly [path: string]: TreePlace } => tree.value?.tree.places ?? {});
/** The scenario with every default filled in; of the last text that was a scenario. */
export const defaults = computed(() => lastChecked.value?.defaults as Value | undefined);

/** The path of a key in a table. */
export const under = (path: string, key: string): string => (path ? `${path}.${bare(key)}` : bare(key));

/** The value of a key in what may be a table. */
export function inside(of: Value | undefined, key: string | number): Value | undefined {
  if (typeof of !== "object" || of === null) return undefined;
  return Array.isArray(of) ? of[key as number] : of[key];
}

/** Writes a value, in TOML; `null` takes the key away. Values that follow each other quickly are one step of undo. */
export async function put(path: string, toml: string | null): Promise<boolean> {
  const failed = await tryPut(path, toml);
  if (failed) say(failed.message, { wrong: true });
  return !failed;
}

/** The same for what is typed: what is no value yet is only returned. */
export const tryPut = (path: string, toml: string | null): Promise<Fault | null> =>
  edit([{ path, value: toml }], { merge: `put ${path}` });

/** Makes several changes at once, as one step of undo. */
export async function rewrite(edits: { path: string; value: string | null; to?: number }[]): Promise<boolean> {
  const failed = await edit(edits);
  if (failed) say(failed.message, { wrong: true });
  return !failed;
}

/** The fault of a field itself, or of something in it that has no editor of its own. */
export function faultAt(path: string, whole = true): Fault | null {
  const found = fault.value;
  if (!found?.field) return null;
  const field = found.field;
  if (field === path) return found;
  return whole && (field.startsWith(`${path}.`) || field.startsWith(`${path}[`)) ? found : null;
}

/** Whether a fault is somewhere in a table. */
export const faultIn = (path: string): boolean => faultAt(path) !== null;

/** What may have been meant, and the click that writes it. */
interface Mending {
  readonly says: string;
  readonly run: () => Promise<boolean>;
}

/** What may have been meant: the nearest name, or the values that the message says to write. */
export function mendings(of: Fault): readonly Mending[] {
  const { field, nearest, rule } = of;
  if (!field) return [];
  if (nearest) {
    const run = rename(field, nearest, rule);
    return run ? [{ says: nearest, run }] : [];
  }
  return told(rule).map((says) => ({ says, run: () => put(field, Number.isNaN(Number(says)) ? quoted(says) : says) }));
}

/** Writes the nearest name: of a key, or of a value. */
function rename(field: string, nearest: string, rule: string): (() => Promise<boolean>) | null {
  if (/unknown key|belongs/.test(rule)) {
    const cut = field.lastIndexOf(".");
    const table = cut < 0 ? "" : field.slice(0, cut);
    const place = places.peek()[field];
    const text = tree.peek()?.of;
    if (!place || text === undefined || /[^A-Za-z0-9_-]/.test(nearest)) return null;
    const value = text.slice(place.value[0], place.value[1]);
    return () =>
      rewrite([
        { path: field, value: null },
        { path: under(table, nearest), value },
      ]);
  }
  return () => put(field, quoted(nearest));
}
