// What survives a reload and a closed window: each window keeps its state under a name of its own, so that two windows do
// not overwrite each other; a window that opens can take up what a closed one had.

import { effect, signal } from "@preact/signals";
import { type Doc, doc, FIRST, givenResults, type Json, open, verdict } from "../state/document.ts";
import { embedded } from "../state/layout.ts";
import { fromHash, stateOf, toDoc } from "../state/link.ts";
import { say } from "../ui/notices.tsx";
import { isPlace } from "./place.ts";

/** Where a window had something before. */
const HERE_STILL = " What you had is still here.";
const PREFIX = "quell-lab:";
/** How many states are kept, of this window and of closed ones. */
const KEPT = 8;
/** A state is written after a pause of this. */
const PAUSE_MS = 400;

/** A state that a window had. */
export interface Kept {
  readonly id: string;
  readonly at: number;
  readonly title: string;
  readonly state: Json;
}

/** What other windows had, the newest first. */
export const sessions = signal<readonly Kept[]>([]);

let own = "";
let mine: string | null = null;

/** Takes up the document of a link, or what this window had before it was reloaded; then keeps what changes. */
export async function restore(): Promise<void> {
  const given = new URLSearchParams(location.search).has("opened");
  const linked = await fromHash(location.hash);
  if (embedded) {
    if (linked && "doc" in linked) doc.value = linked.doc;
    return;
  }
  // What is opened in its place stays with what closed windows had.
  const before = takeUp(!given && !(linked && "doc" in linked));
  if (linked && "problem" in linked) say(linked.problem + (before === null ? "" : HERE_STILL), { wrong: true });
  if (linked && "doc" in linked) doc.value = linked.doc;
  else if (given) await openGiven();
  else if (before) doc.value = before;
  sessions.value = others();
  offer();
  const opened = doc.peek();
  let first = true;
  let timer: ReturnType<typeof setTimeout> | undefined;
  effect(() => {
    const now = doc.value;
    if (first) {
      first = false;
      return;
    }
    changed = true;
    forgetLink();
    clearTimeout(timer);
    timer = setTimeout(() => keep(now), PAUSE_MS);
  });
  const write = () => {
    if (mine !== null || doc.peek() !== opened) keep(doc.peek());
  };
  addEventListener("pagehide", write);
  document.addEventListener("visibilitychange", () => document.visibilityState === "hidden" && write());
  // A window that was duplicated takes what this one had; then it is written again.
  addEventListener("storage", (event) => {
    if (event.key === PREFIX + own && event.newValue === null && mine !== null) write();
    sessions.value = others();
  });
  addEventListener("hashchange", async () => {
    // Back and Forward lead to places, not to what the link once held.
    if (isPlace(history.state)) return;
    const found = await fromHash(location.hash);
    if (!found) return;
    if ("problem" in found) say(found.problem + HERE_STILL, { wrong: true });
    else {
      open(found.doc);
      say("Opened the link. Undo brings back what was here.");
    }
  });
}

/** Whether the document is no longer what was opened. */
let changed = false;

/** Takes a link out of the address, which says what was opened, once the document is something else. */
export function forgetLink(): void {
  if (!changed || !/^#s(=|%3d)/i.test(location.hash)) return;
  history.replaceState(history.state, "", location.pathname + location.search);
}

/** What this window had under its old name, which it leaves; none if it is not to go on with that. */
function takeUp(goesOn: boolean): Doc | null {
  own = Math.random().toString(36).slice(2, 12);
  try {
    const old = sessionStorage.getItem(`${PREFIX}window`);
    sessionStorage.setItem(`${PREFIX}window`, own);
    const text = old === null ? null : localStorage.getItem(PREFIX + old);
    if (!goesOn || old === null || text === null) return null;
    const kept = parse(old, text);
    const before = kept && toDoc(kept.state);
    if (!before || typeof before === "string") return null;
    localStorage.removeItem(PREFIX + old);
    keep(before);
    return before;
  } catch {
    // Storage may be switched off: then a reload begins anew.
    return null;
  }
}

let warned = false;

/** Writes the state; without its files if the browser has no room for them. */
function keep(now: Doc): void {
  const title = titleOf(now);
  const write = (state: Json) => {
    const text = JSON.stringify({ at: Date.now(), title, state });
    localStorage.setItem(PREFIX + own, text);
    mine = text;
  };
  try {
    forget();
    try {
      write(stateOf(now));
    } catch {
      write(stateOf({ ...now, files: {} }));
      if (!warned) say("The browser has no room for this scenario's files. After a reload you must choose them again.");
      warned = true;
    }
  } catch {
    if (!warned)
      say(
        "This browser does not store anything for this page, so a reload loses your changes. Share a link or download the scenario to keep them.",
      );
    warned = true;
  }
}

const titleOf = (of: Doc): string => {
  const found = verdict.peek();
  const title = found?.ok && found.of.text === of.text ? found.checked.title : "";
  return title || /^\s*title\s*=\s*"([^"\n]*)"/m.exec(of.text)?.[1] || of.name;
};

function parse(id: string, text: string): Kept | null {
  try {
    const { at, title, state } = JSON.parse(text);
    return typeof at === "number" && typeof title === "string" ? { id, at, title, state } : null;
  } catch {
    return null;
  }
}

/** What other windows had, or have. */
function others(): Kept[] {
  try {
    const ids = Object.keys(localStorage)
      .filter((key) => key.startsWith(PREFIX))
      .map((key) => key.slice(PREFIX.length));
    const all = ids.map((id) => parse(id, localStorage.getItem(PREFIX + id) ?? "")).filter((one) => one !== null);
    return all.filter(({ id }) => id !== own).sort((a, b) => b.at - a.at);
  } catch {
    return [];
  }
}

/** Leaves room: the oldest states go. */
function forget(): void {
  for (const { id } of others().slice(KEPT - 1)) localStorage.removeItem(PREFIX + id);
}

/** The document of a kept state; `null` if it is none. */
export function docOf(kept: Kept): Doc | null {
  const found = toDoc(kept.state);
  return typeof found === "string" ? null : found;
}

/** In a fresh window: the newest state can be had again. */
function offer(): void {
  const [newest] = sessions.peek();
  if (!newest || doc.peek() !== FIRST) return;
  const before = docOf(newest);
  if (!before || before.text === FIRST.text) return;
  say(`Last time: ${newest.title}`, { action: { says: "Continue", run: () => open(before) } });
}

// The file that `quell lab FILE` was given.

interface Given {
  kind: "scenario" | "results" | "error";
  name?: string;
  text?: string;
  files?: { name: string; bytes: string }[];
  message?: string;
  stamp?: string;
  /** What `run.json` says of a study. */
  run?: {
    command?: string[];
    scenario_file?: string;
    scenario_text?: string;
    points?: { scenario?: string }[];
  };
}

/** How often the file is looked at again. */
const LOOK_MS = 2000;

async function fetchGiven(): Promise<Given> {
  const answer = await fetch("opened.json", { cache: "no-cache" });
  if (!answer.ok) throw new Error(`${answer.status} ${answer.statusText}`);
  return answer.json();
}

async function openGiven(): Promise<void> {
  try {
    const given = await fetchGiven();
    if (given.kind === "error") {
      say(given.message ?? "The file cannot be read.", { wrong: true });
      return;
    }
    if (given.kind === "results") givenResults.value = given as unknown as Json;
    const opened = docOfGiven(given);
    if (opened) doc.value = opened;
    if (opened && given.kind === "scenario") watch(given.stamp, opened);
  } catch (error) {
    say(`The page could not get the file from the command: ${error instanceof Error ? error.message : error}`, {
      wrong: true,
    });
  }
}

function docOfGiven(given: Given): Doc | null {
  if (given.kind === "results") return docOfStudy(given.run);
  if (typeof given.text !== "string") return null;
  const files = Object.fromEntries((given.files ?? []).map(({ name, bytes }) => [name, bytes]));
  return { ...FIRST, name: given.name ?? "scenario.toml", text: given.text, files };
}

/** The scenario of a study: as its file was, or, if the command changed it, as it was run. */
function docOfStudy(run: Given["run"]): Doc | null {
  const [first, ...more] = run?.points ?? [];
  const changed = run?.command?.some((word) => /^--set(=|$)/.test(word)) && more.length === 0;
  const text = (changed && first?.scenario) || run?.scenario_text;
  if (typeof text !== "string") return null;
  const name = run?.scenario_file?.replace(/^.*[\\/]/, "") || "scenario.toml";
  return { ...FIRST, name, text };
}

/** Follows the file on the disk: a change is shown at once, or offered if the text was changed here. */
function watch(stamp: string | undefined, opened: Doc): void {
  let seen = stamp;
  let from = opened;
  const look = async () => {
    if (document.visibilityState === "hidden") return;
    let given: Given;
    try {
      given = await fetchGiven();
    } catch {
      clearInterval(timer);
      say(
        "The command that serves this page has ended, so the page no longer follows its file. The page itself keeps working.",
      );
      return;
    }
    if (given.stamp === seen) return;
    seen = given.stamp;
    if (given.kind === "error") say(given.message ?? "The file cannot be read.", { wrong: true });
    const next = docOfGiven(given);
    if (!next) return;
    const take = () => {
      open({ ...doc.peek(), text: next.text, files: next.files });
      from = next;
    };
    if (doc.peek().text === from.text) {
      take();
      say(`${next.name} changed on disk. The page shows the new version.`);
    } else
      say(`${next.name} changed on disk, and you changed it here.`, { action: { says: "Take the file's", run: take } });
  };
  const timer = setInterval(look, LOOK_MS);
}
