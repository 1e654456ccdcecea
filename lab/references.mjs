// docs/references.bib for the page: the documents that experiments cite, with their titles and links.

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The entries of a bibliography by key; one field a line, as the file says of itself. */
export function bibliography(text) {
  const entries = new Map();
  let entry = {};
  for (const line of text.split("\n")) {
    const head = /^@\w+\{([^,]+),$/.exec(line);
    const field = /^ {2}(\w+) = \{(.*)\},$/.exec(line);
    if (head) {
      entry = {};
      entries.set(head[1], entry);
    } else if (field) entry[field[1]] = field[2];
  }
  return entries;
}

/** Text without the marks of BibTeX. */
const plain = (value) => value.replaceAll("---", "—").replaceAll("--", "–").replaceAll(/[{}]/g, "");

/** The documents that the experiments cite: title and link by key. A key without an entry is an error. */
export function references(root) {
  const entries = bibliography(readFileSync(join(root, "docs/references.bib"), "utf8"));
  const folder = join(root, "lab/experiments");
  const cited = new Set();
  for (const name of readdirSync(folder).filter((name) => name.endsWith(".ts"))) {
    for (const [, key] of readFileSync(join(folder, name), "utf8").matchAll(/\bkey: "(\w+)"/g)) cited.add(key);
  }
  const found = {};
  for (const key of [...cited].sort()) {
    const entry = entries.get(key);
    if (!entry) throw new Error(`lab/experiments cites ${key}, which docs/references.bib does not have`);
    const url = entry.doi ? `https://doi.org/${entry.doi}` : entry.url;
    found[key] = { title: plain(entry.title), ...(url && { url }) };
  }
  return found;
}
