// The choices of a reader, as the document has them.

import { computed } from "@preact/signals";
import { changeView, doc, type How, type Json } from "../state/document.ts";
import { USUAL, type View, viewOf } from "./usual.ts";

export type { Tab, View } from "./usual.ts";

export const view = computed(() => viewOf(doc.value.view.see));

/** Changes some choices; of the document only what differs from the usual is kept, so that links stay short. */
export function choose(patch: Partial<View>, how?: How): void {
  const next = { ...view.peek(), ...patch };
  const kept: { [key: string]: Json } = {};
  for (const key of Object.keys(USUAL) as (keyof View)[]) {
    if (JSON.stringify(next[key]) !== JSON.stringify(USUAL[key])) kept[key] = next[key] as Json;
  }
  changeView("see", kept, how);
}
