// What there is: algorithms, links, loads, metrics. It does not change while the page is open.

import { signal } from "@preact/signals";
import { ask } from "../engine/client.ts";
import type { About, AboutAlgorithm, Look } from "../protocol.ts";
import { dark } from "./layout.ts";

/** What there is; `null` until the simulator has said it. */
export const about = signal<About | null>(null);

let asked: Promise<About> | null = null;

/** Asks once. */
export function learnAbout(): Promise<About> {
  asked ??= ask({ do: "about" }).then((answer: About) => {
    about.value = answer;
    return answer;
  });
  return asked;
}

/** An algorithm of the catalog by its name. */
export function algorithm(name: string): AboutAlgorithm | undefined {
  return about.value?.algorithms.find((one) => one.name === name);
}

/** The color of a look on the ground that there is now. */
export const colorOf = (style: Look | undefined): string =>
  style ? (dark.value ? style.dark : style.color) : "currentcolor";
