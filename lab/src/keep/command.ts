// The command that runs on a machine what the page shows.

import type { Checked } from "../protocol.ts";
import type { Doc } from "../state/document.ts";
import { seedsOf } from "../state/runner.ts";

/** A word as a shell takes it. */
export const shell = (word: string): string =>
  /^[A-Za-z0-9_./=,:+@%-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;

/** `quell run FILE` with the options that make it run what is shown. */
export function command(doc: Doc, checked: Checked | null, file = doc.name): string {
  // A name that begins with a dash would be an option.
  const words = ["quell", "run", file.startsWith("-") && file !== "-" ? `./${file}` : file];
  const all = checked?.algorithms.map(({ label }) => label) ?? [];
  const chosen = doc.algorithms.filter((label) => all.includes(label));
  // Labels with commas cannot be listed.
  if (chosen.length && chosen.length < all.length && !chosen.some((label) => label.includes(","))) {
    words.push("--aqm", chosen.join(","));
  }
  if (doc.seeds) {
    const seeds = seedsOf(checked?.points[0]?.seeds ?? [], doc.seeds);
    // `--seeds N` means 1 to N, which a scenario's own seeds need not be.
    if (seeds.every((seed, i) => Number(seed) === i + 1)) words.push("--seeds", String(doc.seeds));
    else words.push("--set", `seeds=[${seeds.join(", ")}]`);
  }
  return words.map(shell).join(" ");
}

/** The same with the text in it, for a shell to which it is pasted whole. */
export function commandWithText(doc: Doc, checked: Checked | null): string {
  let end = "END";
  while (doc.text.split("\n").includes(end)) end += "_";
  const text = doc.text.endsWith("\n") ? doc.text : `${doc.text}\n`;
  return `${command(doc, checked, "-")} <<'${end}'\n${text}${end}\n`;
}
