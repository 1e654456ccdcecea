// The command that runs on a machine what the page shows.

import type { Checked } from "../protocol.ts";
import type { Doc } from "../state/document.ts";

/** A word as a shell takes it. */
export const shell = (word: string): string =>
  /^[A-Za-z0-9_./=,:+@%-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** `quell run FILE` with the options that make it run what is shown. */
export function command(doc: Doc, checked: Checked | null, file = doc.name): string {
  const words = ["quell", "run", file];
  const all = checked?.algorithms.map(({ label }) => label) ?? [];
  const chosen = doc.algorithms.filter((label) => all.includes(label));
  // Labels with commas cannot be listed.
  if (chosen.length && chosen.length < all.length && !chosen.some((label) => label.includes(","))) {
    words.push("--aqm", chosen.join(","));
  }
  if (doc.seeds) words.push("--seeds", String(doc.seeds));
  return words.map(shell).join(" ");
}

/** The same with the text in it, for a shell to which it is pasted whole. */
export function commandWithText(doc: Doc, checked: Checked | null): string {
  let end = "END";
  while (doc.text.split("\n").includes(end)) end += "_";
  const text = doc.text.endsWith("\n") ? doc.text : `${doc.text}\n`;
  return `${command(doc, checked, "-")} <<'${end}'\n${text}${end}\n`;
}
