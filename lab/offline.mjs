// Makes the built page one that loads without a network, and quickly with one: its service worker, and each of its files
// compressed. `node offline.mjs [FOLDER]`, as the last step of build.mjs.

import { createHash } from "node:crypto";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

/** The copyright notices and licenses of others, which the page links to and does not load. */
export const NOTICES = "licenses.txt";
const WORKER = "sw.js";
const INDEX = "index.html";
/** Where the page has its version. */
const MARK = /(<meta name="quell-lab" content=")[^"]*(">)/;

/**
 * Writes `sw.js` into `folder`: the worker of src/offline/worker.js with the list of the folder's files. The page gets its
 * version, by which the worker knows it from what others answer in its place.
 */
export function writeServiceWorker(folder) {
  const index = join(folder, INDEX);
  const html = readFileSync(index, "utf8");
  if (!MARK.test(html)) throw new Error(`${INDEX}: it has no <meta name="quell-lab" content="">`);
  writeFileSync(index, html.replace(MARK, "$1$2"));
  const files = names(folder).filter((name) => name !== WORKER && name !== NOTICES);
  const hash = (name) =>
    createHash("sha256")
      .update(readFileSync(join(folder, name)))
      .digest("hex")
      .slice(0, 32);
  const version = createHash("sha256");
  for (const name of files) version.update(`${name}\0${hash(name)}`);
  const build = version.digest("hex").slice(0, 16);
  writeFileSync(index, html.replace(MARK, `$1${build}$2`));
  const hashes = JSON.stringify(Object.fromEntries(files.map((name) => [name, hash(name)])));
  const source = readFileSync(new URL("src/offline/worker.js", import.meta.url), "utf8");
  const head = `const VERSION = "${build}";\nconst FILES = ${hashes};\n`;
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
