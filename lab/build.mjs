// Builds the page: `node build.mjs [--watch]` writes `dist/`, a folder for any file server, and `dist-node/`, the same
// sources for Node, where tests and `run.mjs` take them from.
//
// The simulator is `quell.wasm` in `dist-wasm/`, which `wasm.mjs` compiles, or the file that QUELL_WASM names. Without
// either, the page is built and says that it has no simulator.

import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { basename, join, relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";
import { compress, NOTICES, writeServiceWorker } from "./offline.mjs";
import { references } from "./references.mjs";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const ROOT = resolve(HERE, "..");
const SRC = join(HERE, "src");
const DIST = join(HERE, "dist");
const DIST_NODE = join(HERE, "dist-node");

/** What Node imports: the file in `dist-node`, and its source. */
const NODE = {
  engine: "src/engine/wasm.ts",
  lab: "src/node.ts",
  see: "src/see/node.ts",
  experiments: "experiments/all.ts",
  learn: "src/learn/node.ts",
};

/** Syntax that every browser has which runs the rest: modules, WebAssembly with 64-bit integers, DecompressionStream. */
const TARGET = ["chrome103", "firefox113", "safari16.4"];

const hash = (bytes) => createHash("sha256").update(bytes).digest("hex").slice(0, 10);

/** Writes `bytes` into `dist` under a name that changes with them, and returns the name. */
function keep(name, bytes) {
  const dot = name.lastIndexOf(".");
  const hashed = `${name.slice(0, dot)}-${hash(bytes)}${name.slice(dot)}`;
  writeFileSync(join(DIST, hashed), bytes);
  return hashed;
}

/** The scenarios of the repository, with the files that they name, for the page's list. */
function scenarios() {
  const folder = join(ROOT, "scenarios");
  const found = { scenarios: {}, files: {} };
  const walk = (at) => {
    for (const entry of readdirSync(at, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const path = join(at, entry.name);
      const name = relative(folder, path).replaceAll("\\", "/");
      if (entry.isDirectory()) walk(path);
      else if (name.endsWith(".toml")) found.scenarios[name] = readFileSync(path, "utf8");
      else if (name.startsWith("traces/")) found.files[name] = readFileSync(path).toString("base64");
    }
  };
  walk(folder);
  // Links and loads are parts of scenarios, which the presets make whole.
  for (const name of Object.keys(found.scenarios)) {
    if (name.startsWith("links/") || name.startsWith("loads/")) delete found.scenarios[name];
  }
  return JSON.stringify(found);
}

function findWasm() {
  const path = process.env.QUELL_WASM ?? join(HERE, "dist-wasm", "quell.wasm");
  if (existsSync(path)) return readFileSync(path);
  if (process.env.QUELL_WASM) throw new Error(`QUELL_WASM: there is no file ${path}`);
  console.error(
    "build: there is no dist-wasm/quell.wasm: `node wasm.mjs` compiles it. The page will have no simulator.",
  );
  return null;
}

const common = {
  bundle: true,
  format: "esm",
  target: TARGET,
  jsx: "automatic",
  jsxImportSource: "preact",
  loader: { ".toml": "text" },
  logLevel: "warning",
  // They are in licenses.txt.
  legalComments: "none",
};

/** The documents' experiments without their titles: the page has names of its own (src/learn/names.ts). */
const withoutTitles = {
  name: "without-titles",
  setup(build) {
    build.onLoad({ filter: /papers\.json$/ }, ({ path }) => {
      const presets = JSON.parse(readFileSync(path, "utf8"));
      return { loader: "json", contents: JSON.stringify(presets.map(({ title: _, ...rest }) => rest)) };
    });
  },
};

/** The notices of the packages that are bundled: their names, licenses and texts. */
function notices(metafiles) {
  const folders = metafiles
    .flatMap(({ inputs }) => Object.keys(inputs))
    .map((path) => path.match(/^node_modules\/(@[^/]+\/)?[^/]+/)?.[0])
    .filter((folder) => folder !== undefined);
  const texts = [...new Set(folders)].sort().map((folder) => {
    const { name, version, license } = JSON.parse(readFileSync(join(HERE, folder, "package.json"), "utf8"));
    const file = readdirSync(join(HERE, folder)).find((entry) => /^licen[cs]e/i.test(entry));
    if (!file) throw new Error(`${name}: it has no file with its license (${license})`);
    return `${name} ${version} (${license})\n\n${readFileSync(join(HERE, folder, file), "utf8").trim()}\n`;
  });
  return texts.join(`\n${"-".repeat(80)}\n\n`);
}

async function page(mode) {
  rmSync(DIST, { recursive: true, force: true });
  mkdirSync(DIST, { recursive: true });
  // The folder is in the repository, so that what embeds it notices when the page is built.
  writeFileSync(join(DIST, ".gitignore"), "*\n!.gitignore\n");
  const wasm = findWasm();
  const define = {
    __WASM__: JSON.stringify(wasm ? keep("quell.wasm", wasm) : ""),
    __SCENARIOS__: JSON.stringify(keep("scenarios.json", scenarios())),
    __REFERENCES__: JSON.stringify(references(ROOT)),
  };
  const options = { ...common, minify: mode !== "watch", sourcemap: mode === "watch" ? "inline" : false };
  const out = { outdir: DIST, metafile: true, entryNames: "[name]-[hash]", chunkNames: "[name]-[hash]" };
  const worker = existsSync(join(SRC, "engine/worker.ts"))
    ? await esbuild.build({ ...options, ...out, define, entryPoints: [join(SRC, "engine/worker.ts")] })
    : null;
  define.__WORKER__ = JSON.stringify(worker ? basename(Object.keys(worker.metafile.outputs)[0]) : "");
  const main = await esbuild.build({
    ...options,
    ...out,
    define,
    splitting: true,
    plugins: [withoutTitles],
    entryPoints: [join(SRC, "main.tsx"), join(SRC, "style.css")],
  });
  const boot = await esbuild.transform(readFileSync(join(SRC, "boot.js")), { target: "es5", minify: true });
  const written = {
    BOOT: keep("boot.js", boot.code),
    WASM: JSON.parse(define.__WASM__),
    WORKER: JSON.parse(define.__WORKER__),
    ICON: keep("icon.svg", readFileSync(join(SRC, "icon.svg"))),
  };
  const preload = [];
  for (const [path, output] of Object.entries(main.metafile.outputs)) {
    if (output.entryPoint?.endsWith("main.tsx")) {
      written.SCRIPT = basename(path);
      for (const { path: chunk, kind } of output.imports) {
        if (kind === "import-statement") preload.push(`<link rel="modulepreload" href="${basename(chunk)}">`);
      }
    }
    if (output.entryPoint?.endsWith("style.css")) written.STYLE = basename(path);
  }
  if (written.WASM)
    preload.push(`<link rel="preload" href="${written.WASM}" as="fetch" type="application/wasm" crossorigin>`);
  written.PRELOAD = preload.join("\n    ");
  const html = readFileSync(join(SRC, "index.html"), "utf8").replaceAll(
    /%([A-Z]+)%/g,
    (_, name) => written[name] ?? "",
  );
  writeFileSync(join(DIST, "index.html"), html);
  const scripts = notices([main.metafile, ...(worker ? [worker.metafile] : [])]);
  // Those of the simulator, which tests/lab.py asks Cargo for.
  const crates = join(HERE, "dist-wasm", NOTICES);
  writeFileSync(join(DIST, NOTICES), existsSync(crates) ? `${scripts}\n${readFileSync(crates, "utf8")}` : scripts);
  writeServiceWorker(DIST);
  compress(DIST);
  return scripts;
}

async function node() {
  const entries = Object.entries(NODE).filter(([, source]) => existsSync(join(HERE, source)));
  rmSync(DIST_NODE, { recursive: true, force: true });
  await esbuild.build({
    ...common,
    target: "node20",
    platform: "node",
    splitting: true,
    define: { __WASM__: '""', __WORKER__: '""', __SCENARIOS__: '""', __REFERENCES__: "{}" },
    entryPoints: Object.fromEntries(entries.map(([name, source]) => [name, join(HERE, source)])),
    outdir: DIST_NODE,
    outExtension: { ".js": ".mjs" },
  });
}

function sizes() {
  let total = 0;
  const loaded = (name) => !name.startsWith(".") && !name.endsWith(".gz") && name !== NOTICES;
  for (const name of readdirSync(DIST).filter(loaded)) {
    const size = gzipSync(readFileSync(join(DIST, name)), { level: 9 }).length;
    total += size;
    console.log(`${String(size).padStart(9)} B gzipped  ${name}`);
  }
  console.log(`${String(total).padStart(9)} B gzipped in all`);
}

async function build(mode) {
  const scripts = await page(mode);
  await node();
  // For packages that have the page in them.
  writeFileSync(join(DIST_NODE, NOTICES), scripts);
}

const watch = process.argv.includes("--watch");
await build(watch ? "watch" : "release");
if (!watch) sizes();
else {
  const newest = (at) => {
    const entries = readdirSync(at, { withFileTypes: true });
    return Math.max(
      ...entries.map((e) => (e.isDirectory() ? newest(join(at, e.name)) : statSync(join(at, e.name)).mtimeMs)),
    );
  };
  let seen = newest(SRC);
  console.log("watching src/");
  setInterval(async () => {
    const now = newest(SRC);
    if (now === seen) return;
    seen = now;
    await build("watch").then(
      () => console.log("built"),
      (error) => console.error(error.message),
    );
  }, 500);
}
