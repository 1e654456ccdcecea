// Files of a person's own: a scenario and the files that it names.

import { ask, EngineFault } from "../../engine/client.ts";
import { base64 } from "../../state/bytes.ts";
import { type Doc, doc, FIRST } from "../../state/document.ts";

/** The largest scenario, and the largest file that one names, in bytes. */
const LARGEST_TEXT = 4_000_000;
const LARGEST_FILE = 64_000_000;

/** What became of files: a document, and what is to be said about it; or what is wrong. */
export interface Opened {
  readonly doc?: Doc;
  readonly says: string;
  readonly wrong?: boolean;
}

const leaf = (name: string) => name.replace(/^.*[\\/]/, "");
const megabytes = (bytes: number) =>
  `${(bytes / 1e6).toLocaleString("en-US", { maximumFractionDigits: bytes < 1e7 ? 2 : 0 })} MB`;
const quote = (name: string) => `“${name}”`;

/** Opens files that were chosen or dropped: one scenario, and files that it or the present one names. */
export async function openFiles(files: readonly File[]): Promise<Opened> {
  const scenarios = files.filter(({ name }) => /\.toml$/i.test(name));
  const others = files.filter((file) => !scenarios.includes(file));
  const [file] = scenarios;
  if (scenarios.length > 1) {
    return { says: `There are ${scenarios.length} scenarios among these files; open one at a time.`, wrong: true };
  }
  const large = [
    ...scenarios.filter(({ size }) => size > LARGEST_TEXT),
    ...others.filter(({ size }) => size > LARGEST_FILE),
  ][0];
  if (large) {
    const [what, most] = large === file ? ["a scenario", LARGEST_TEXT] : ["a file", LARGEST_FILE];
    return {
      says: `${quote(large.name)} is too large: ${megabytes(large.size)}. The limit for ${what} is ${megabytes(most)} on this page.`,
      wrong: true,
    };
  }
  if (!file && others.length === 0) return { says: "There is no file.", wrong: true };
  let text = doc.peek().text;
  if (file) {
    if (file.size === 0) return { says: `${quote(file.name)} is empty. What you had is still here.`, wrong: true };
    try {
      text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(await file.arrayBuffer());
    } catch {
      text = "\0";
    }
    if (text.includes("\0")) {
      return {
        says: `${quote(file.name)} is not a text file. A scenario is TOML in UTF-8. What you had is still here.`,
        wrong: true,
      };
    }
  }
  const wanted = await filesOf(text);
  const old = file ? {} : doc.peek().files;
  const given: { [name: string]: string } = {};
  const unused: string[] = [];
  for (const other of others) {
    const exact = wanted.filter((name) => name === other.name || name === other.webkitRelativePath);
    const named = exact.length ? exact : wanted.filter((name) => leaf(name) === other.name);
    if (named.length === 0) unused.push(other.name);
    if (named.length === 0) continue;
    const bytes = base64(new Uint8Array(await other.arrayBuffer()));
    for (const name of named) given[name] = bytes;
  }
  const missing = wanted.filter((name) => !(name in given) && !(name in old));
  const says = [
    file ? `Opened ${quote(file.name)}. Undo brings back what was here.` : "",
    unused.length
      ? `The scenario does not name ${unused.map(quote).join(", ")}.${file ? "" : " To open a scenario, choose a file that ends with .toml."}`
      : "",
    missing.length
      ? `It also needs ${missing.map(quote).join(", ")}: drop ${missing.length > 1 ? "them" : "it"} onto this page.`
      : "",
  ];
  const words = says.filter(Boolean).join(" ") || `Took ${Object.keys(given).map(quote).join(", ")}.`;
  const wrong = unused.length > 0 && Object.keys(given).length === 0 && !file;
  if (wrong) return { says: words, wrong };
  const next: Doc = file
    ? { ...FIRST, name: file.name, text, files: given }
    : { ...doc.peek(), files: { ...old, ...given } };
  return { doc: next, says: words };
}

/** The files that a text names, as far as it can be read. */
async function filesOf(text: string): Promise<string[]> {
  try {
    return (await ask({ do: "tree", text })).files;
  } catch (error) {
    if (error instanceof EngineFault) return [];
    throw error;
  }
}
