// The state of the laboratory: one document, what it was before, and what the simulator says of it.

import { batch, computed, effect, signal } from "@preact/signals";
import { ask, EngineFault } from "../engine/client.ts";
import type { Checked, EditStep, Fault, Source, Tree } from "../protocol.ts";
import first from "./first.toml";

/** Data without functions, as JSON has it. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** All that a person can change, and so all that a link holds. Never changed in place. */
export interface Doc {
  /** The scenario, as the file has it. */
  readonly text: string;
  /** The file's name, which messages and downloads have. */
  readonly name: string;
  /** The files that the scenario names, in base64. */
  readonly files: { readonly [name: string]: string };
  /** The labels of the algorithms that are shown side by side, at most four; none: the first four of the scenario. */
  readonly algorithms: readonly string[];
  /** The sweep's point that is shown. */
  readonly point: number;
  /** How many seeds are run for intervals; 0: those of the scenario. */
  readonly seeds: number;
  /** What the panels remember, each under its own name. */
  readonly view: { readonly [part: string]: Json };
  /** The guided experiment that is open. */
  readonly experiment?: string;
}

/** The most algorithms that are shown side by side. */
export const SIDE_BY_SIDE = 4;
/** How many steps can be undone. */
const STEPS = 300;
/** Changes with one key merge into a step while they follow each other within this time. */
const MERGE_MS = 1200;
/** What is typed is checked after a pause of this. */
const PAUSE_MS = 60;

/** The document that a new visitor sees. */
export const FIRST: Doc = {
  text: first,
  name: "home.toml",
  files: {},
  algorithms: [],
  point: 0,
  seeds: 0,
  view: {},
};

export const doc = signal<Doc>(FIRST);

const before = signal<readonly Doc[]>([]);
const after = signal<readonly Doc[]>([]);
let merging: { key: string; until: number } | null = null;

/** Which scenario a document is of: those that follow from each other by edits are of one. */
const families = new WeakMap<Doc, number>([[FIRST, 0]]);
let families_made = 0;

/** Which scenario a document is of; equal for the documents that edits made of one. */
export const familyOf = (of: Doc): number => {
  const known = families.get(of);
  if (known !== undefined) return known;
  families_made += 1;
  families.set(of, families_made);
  return families_made;
};
/** The scenario that the present document is of. */
export const family = computed(() => familyOf(doc.value));

/** Counts what replaces the document as a whole: undo, redo, and what is opened. Fields forget what is typed in them. */
export const turns = signal(0);
export const canUndo = computed(() => before.value.length > 0);
export const canRedo = computed(() => after.value.length > 0);

/** How a change enters the history. */
export interface How {
  /** Changes with the same key, in quick succession, are one step of undo. */
  merge?: string;
  /** No step of undo: for what only follows from something else. */
  quiet?: boolean;
}

/** Changes the document. */
export function change(patch: Partial<Doc>, how: How = {}): void {
  const old = doc.peek();
  const keys = Object.keys(patch) as (keyof Doc)[];
  if (keys.every((key) => patch[key] === old[key])) return;
  if (!how.quiet) {
    const now = performance.now();
    const merges = how.merge !== undefined && merging?.key === how.merge && now < merging.until;
    if (!merges) before.value = [...before.peek().slice(-(STEPS - 1)), old];
    merging = how.merge === undefined ? null : { key: how.merge, until: now + MERGE_MS };
    if (after.peek().length) after.value = [];
  }
  const next = { ...old, ...patch };
  families.set(next, familyOf(old));
  doc.value = next;
}

/** Changes what a panel remembers of its own in the document's view. */
export function changeView(part: string, value: Json, how: How = { merge: `view.${part}` }): void {
  change({ view: { ...doc.peek().view, [part]: value } }, how);
}

/** Opens another document, which undo takes back. */
export function open(next: Doc): void {
  const old = doc.peek();
  batch(() => {
    change({ ...next, experiment: next.experiment });
    const now = doc.peek();
    // What is only another view of the same text keeps its results.
    if (now !== old && (now.text !== old.text || now.files !== old.files)) {
      const other = { ...now };
      familyOf(other);
      doc.value = other;
    }
    turns.value += 1;
  });
}

export function undo(): void {
  const old = before.peek().at(-1);
  if (!old) return;
  before.value = before.peek().slice(0, -1);
  after.value = [...after.peek(), doc.peek()];
  merging = null;
  turns.value += 1;
  doc.value = old;
}

export function redo(): void {
  const next = after.peek().at(-1);
  if (!next) return;
  after.value = after.peek().slice(0, -1);
  before.value = [...before.peek(), doc.peek()];
  merging = null;
  turns.value += 1;
  doc.value = next;
}

/** The scenario as the simulator takes it. */
export function source(of: Doc = doc.peek()): Source {
  const files = Object.entries(of.files).map(([name, bytes]) => ({ name, bytes }));
  return { text: of.text, name: of.name, files };
}

/** What the simulator says of a text: it is a scenario, or what is wrong with it. */
export type Verdict =
  | { readonly ok: true; readonly of: Doc; readonly checked: Checked }
  | { readonly ok: false; readonly of: Doc; readonly fault: Fault };

/** The last verdict; `null` before the first. It may be of an older text than the document's: see `of`. */
export const verdict = signal<Verdict | null>(null);
/** The checked scenario, while the text is one. */
export const checked = computed(() => (verdict.value?.ok ? verdict.value.checked : null));
const lastValid = signal<Checked | null>(null);
let lastValidOf = 0;
/** The last checked scenario: what is shown while the text is none. */
export const lastChecked = computed<Checked | null>(() => checked.value ?? lastValid.value);
/** What is wrong with the text. */
export const fault = computed(() => (verdict.value && !verdict.value.ok ? verdict.value.fault : null));

/** The text's keys and values; the last ones that were valid TOML while the text is not. */
export const tree = signal<{ readonly of: string; readonly tree: Tree } | null>(null);
/** Whether the text is no TOML at all, so that the form has nothing to edit. */
export const unreadable = signal<Fault | null>(null);
/** Results that the command gave the page instead of a scenario (`quell lab FOLDER`); what `open` takes. */
export const givenResults = signal<Json>(null);
/** Why there are no verdicts: the simulator cannot be reached. */
export const broken = signal<string | null>(null);

/** The labels that are shown: those chosen that exist, else the first of the scenario. */
export const shown = computed<readonly string[]>(() => {
  const known = lastChecked.value?.algorithms.map(({ label }) => label) ?? [];
  const chosen = doc.value.algorithms.filter((label) => known.includes(label));
  return (chosen.length ? chosen : known).slice(0, SIDE_BY_SIDE);
});

/** The point of the sweep that is shown, which exists. */
export const point = computed(() =>
  Math.min(doc.value.point, Math.max(0, (lastChecked.value?.points.length ?? 1) - 1)),
);

let stopFollowing: (() => void) | null = null;

/** Begins to check the document whenever it changes: soon after what is typed, the newest text alone. */
export function follow(): void {
  if (stopFollowing) return;
  const readTree = latest(async (text: string) => {
    try {
      const answer = await ask({ do: "tree", text, name: doc.peek().name });
      return () => {
        tree.value = { of: text, tree: answer };
        unreadable.value = null;
      };
    } catch (error) {
      if (isOfText(error)) {
        return () => {
          unreadable.value = error.fault;
        };
      }
      return () => {
        broken.value = message(error);
      };
    }
  });
  const check = latest(async (of: Doc) => {
    const found = await judge(of);
    return () => {
      if (typeof found === "string") broken.value = found;
      else {
        const of = familyOf(found.of);
        batch(() => {
          if (found.ok) lastValid.value = found.checked;
          // Of another scenario nothing is known.
          else if (of !== lastValidOf) lastValid.value = null;
          lastValidOf = of;
          verdict.value = found;
        });
      }
    };
  });
  let waits = false;
  const text = computed(() => doc.value.text);
  const asked = computed(() => ({
    text: text.value,
    name: doc.value.name,
    files: doc.value.files,
    point: point.value,
  }));
  let last: typeof asked.value | null = null;
  const stops = [
    effect(() => readTree(text.value)),
    effect(() => {
      const now = asked.value;
      const keys = ["text", "name", "files", "point"] as const;
      if (last && keys.every((key) => last?.[key] === now[key])) return;
      // Not put off by the next change, so that a slider that is dragged shows something all the time.
      if (!waits) {
        waits = true;
        const after = last ? PAUSE_MS : 0;
        setTimeout(() => {
          waits = false;
          check(doc.peek());
        }, after);
      }
      last = now;
    }),
  ];
  stopFollowing = () => {
    for (const stop of stops) stop();
  };
}

/** The verdict on a document, or why there is none. */
export async function judge(of: Doc): Promise<Verdict | string> {
  try {
    const known = verdict.peek();
    const exists = known?.ok && of.point < known.checked.points.length;
    return {
      ok: true,
      of,
      checked: await ask({ do: "check", source: source(of), ...(exists && { point: of.point }) }),
    };
  } catch (error) {
    return isOfText(error) ? { ok: false, of, fault: error.fault } : message(error);
  }
}

/**
 * Runs one question at a time; of those that come meanwhile only the newest is asked next. What an answer sets is set
 * even if there is a newer question: a slider that is dragged shows something all the time.
 */
function latest<T>(question: (of: T) => Promise<() => void>): (of: T) => void {
  let running = false;
  let waiting: { of: T } | null = null;
  const go = async (of: T) => {
    running = true;
    const set = await question(of);
    set();
    running = false;
    if (waiting) {
      const next = waiting.of;
      waiting = null;
      go(next);
    }
  };
  return (of) => {
    if (running) waiting = { of };
    else go(of);
  };
}

/** What an edit is called in the history, and its edits. */
interface Pending {
  edits: EditStep[];
  how: How;
  done: (fault: Fault | null) => void;
}
const pending: Pending[] = [];
let editing = false;

/**
 * Edits the text by paths, as a form does: comments and order stay. Edits that come while others are made wait for
 * them; a value that a newer one replaces is not written.
 *
 * @returns `null`, or why the text could not be edited.
 */
export function edit(edits: EditStep[], how: How = {}): Promise<Fault | null> {
  return new Promise((done) => {
    const last = pending.at(-1);
    if (last && how.merge && last.how.merge === how.merge) {
      last.done(null);
      last.edits = edits;
      last.done = done;
    } else pending.push({ edits, how, done });
    if (!editing) writeEdits();
  });
}

async function writeEdits(): Promise<void> {
  editing = true;
  for (let next = pending.shift(); next; next = pending.shift()) {
    const { edits, how, done } = next;
    try {
      let text = doc.peek().text;
      let edited = "";
      // What is typed meanwhile is edited as well.
      for (;;) {
        edited = (await ask({ do: "edit", text, edits })).text;
        if (doc.peek().text === text) break;
        text = doc.peek().text;
      }
      change({ text: edited }, how);
      done(null);
    } catch (error) {
      done(error instanceof EngineFault ? error.fault : faultOf(message(error)));
    }
  }
  editing = false;
}

/** A fault that is none of the text's. */
export function faultOf(text: string): Fault {
  const none = { file: null, line: null, column: null, field: null, value: null, nearest: null, known: null };
  return { kind: "failed", message: text, rule: text, ...none };
}

/** Whether an error is about what was asked, and not of the simulator itself. */
const isOfText = (error: unknown): error is EngineFault =>
  error instanceof EngineFault && error.fault.kind !== "failed";

const message = (error: unknown) => (error instanceof Error ? error.message : String(error));
