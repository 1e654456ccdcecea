// The index of the search: `node docs/site/find-index.mjs PACKAGES STATIC < SECTIONS` writes STATIC/find-index.js. The page and
// this program prepare words alike: both use STATIC/find.js and the stemmer that Sphinx put beside it.

import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import vm from "node:vm";

const [packages, folder] = process.argv.slice(2);
const MiniSearch = createRequire(join(packages, "node_modules/"))("minisearch");
// Sphinx's file exports to the window of a page, which is the scope of its scripts.
const scope = vm.createContext({});
scope.window = scope;
for (const name of ["language_data.js", "find.js"]) vm.runInContext(readFileSync(join(folder, name), "utf8"), scope);

const index = new MiniSearch(vm.runInContext("findOptions()", scope));
index.addAll(JSON.parse(readFileSync(0, "utf8")).map((section, id) => ({ id, ...section })));
// A string, since browsers read JSON faster than JavaScript.
const text = `var FIND_INDEX = ${JSON.stringify(JSON.stringify(index))};\n`;
writeFileSync(join(folder, "find-index.js.part"), text);
renameSync(join(folder, "find-index.js.part"), join(folder, "find-index.js"));
