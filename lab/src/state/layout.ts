// Which panels are seen: of this window, not of the document.

import { computed, signal } from "@preact/signals";

/** The panels beside the results; `both` is the form and the text, where there is room. */
export type Left = "form" | "toml" | "both" | "learn" | "recommend";

const has = (query: string) => {
  const list = typeof matchMedia === "function" ? matchMedia(query) : null;
  const found = signal(list?.matches ?? true);
  list?.addEventListener("change", () => {
    found.value = list.matches;
  });
  return found;
};

/** Room for a panel beside the results. */
export const wide = has("(min-width: 60rem)");
/** Room for the form, the text and the results. */
export const veryWide = has("(min-width: 110rem)");
/** Dark ground, by which curves choose their colors. */
export const dark = has("(prefers-color-scheme: dark)");
/** No movement that nobody asked for. */
export const still = has("(prefers-reduced-motion: reduce)");

/** The panel at the left. */
export const left = signal<Left>("form");
/** Whether the panel is of the scenario, so that the form and the text are both seen where there is room. */
export const besideText = computed(() => left.value !== "learn" && left.value !== "recommend");
/** Where there is room for one panel: whether it is the results. */
export const results = signal(true);
/** Only the results, for a frame in another page. */
export const embedded = typeof location !== "undefined" && new URLSearchParams(location.search).get("embed") === "1";

/** Shows a panel, wherever it is. */
export function show(panel: Left | "see"): void {
  if (panel === "see") results.value = true;
  else {
    left.value = panel;
    results.value = false;
  }
}
