// Makes the built page one that loads without a network, and quickly with one: its service worker, and each of its files
// compressed. `node offline.mjs [FOLDER]`, as the last step of build.mjs.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const WORKER = "sw.js";

/** Writes `sw.js` into `folder`: the worker of src/offline/worker.js with the list of the folder's files. */
export function writeServiceWorker(folder) {
  const version = createHash("sha256");
  const files = names(folder).filter((name) => name !== WORKER);
  for (const name of files) version.update(`${name}\0`).update(readFileSync(join(folder, name)));
  const source = readFileSync(new URL("src/offline/worker.js", import.meta.url), "utf8");
  const head = `const VERSION = "${version.digest("hex").slice(0, 16)}";\nconst FILES = ${JSON.stringify(files)};\n`;
  writeFileSync(join(folder, WORKER), head + source.slice(source.indexOf("// ---")));
}

/**
 * Writes each file compressed beside it, for the command, which has the page in it, and for servers that send such files
 * (`gzip_static` of nginx). The same bytes for the same page.
 */
export function compress(folder) {
  for (const name of names(folder))
    writeFileSync(join(folder, `${name}.gz`), gzipSync(readFileSync(join(folder, name)), { level: 9 }));
}

/** The files of the page, sorted, without those that are for servers. */
function names(folder) {
  return readdirSync(folder)
    .filter((name) => !name.startsWith(".") && !name.endsWith(".gz"))
    .sort();
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const folder = process.argv[2] ?? fileURLToPath(new URL("dist", import.meta.url));
  writeServiceWorker(folder);
  compress(folder);
}
