// Back and Forward: each tab and each experiment that is opened is an entry of the browser's history. Values are not: Undo
// takes those back, and Back changes none of them, except that an experiment which it comes to is as it was left.

import { effect } from "@preact/signals";
import { begin, close, experiments, loadExperiments } from "../learn/course.ts";
import { choose, view } from "../see/view.ts";
import { type Doc, doc, open } from "../state/document.ts";
import { embedded, left, results, wide } from "../state/layout.ts";
import { say } from "../ui/notices.tsx";
import { areAlike, areSame, isPlace, type Place } from "./place.ts";
import { forgetLink } from "./session.ts";

/** The experiments as they were left. */
const docs = new Map<string, Doc>();

const here = (): Place => ({
  left: left.value,
  results: results.value,
  tab: view.value.tab,
  experiment: doc.value.experiment ?? null,
});

/** Begins to write the history. A frame has none of its own: its entries would be those of the page around it. */
export function followTrail(): void {
  if (embedded) return;
  let last = here();
  let waits = false;
  let goes = false;
  history.replaceState(last, "");
  const write = () => {
    waits = false;
    const now = here();
    // Most changes are of values; browsers refuse entries that are written too often.
    if (goes || areSame(now, last)) return;
    // A link that was opened meanwhile has an entry that says nothing yet.
    if (!isPlace(history.state)) history.replaceState(last, "");
    if (areAlike(now, last, wide.peek())) history.replaceState(now, "");
    else history.pushState(now, "");
    last = now;
  };
  effect(() => {
    const { experiment } = here();
    if (experiment !== null) docs.set(experiment, doc.value);
    // What changes together is one entry.
    if (!waits) queueMicrotask(write);
    waits = true;
  });
  let latest: Place | null = null;
  let turn = Promise.resolve();
  addEventListener("popstate", ({ state }) => {
    if (!isPlace(state)) return;
    goes = true;
    latest = state;
    // One after the other, since an experiment takes a while to open after a reload; only the last of them counts.
    turn = turn.then(async () => {
      if (state !== latest) return;
      try {
        await go(state);
      } catch (error) {
        say(error instanceof Error ? error.message : String(error), { wrong: true });
      }
      if (state !== latest) return;
      goes = false;
      forgetLink();
      last = here();
      history.replaceState(last, "");
    });
  });
}

async function go(to: Place): Promise<void> {
  const was = doc.peek().experiment ?? null;
  if (to.experiment === null && was !== null) close();
  if (to.experiment !== null && to.experiment !== was) await enter(to.experiment);
  left.value = to.left;
  results.value = to.results;
  choose({ tab: to.tab }, { quiet: true });
}

/** Opens an experiment as it was left; after a reload, from its beginning. */
async function enter(id: string): Promise<void> {
  const kept = docs.get(id);
  if (kept) {
    open(kept);
    return;
  }
  await loadExperiments();
  const of = experiments.peek().find((one) => one.id === id);
  if (of) await begin(of);
}
