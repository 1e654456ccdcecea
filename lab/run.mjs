// Runs a scenario with the page's simulator, in Node: `node lab/run.mjs --help`.
//
// It prints the digest of every replication, and that of all, which is the one of `quell run` with the same options:
// equal digests mean equal sample paths. The simulator is `dist-wasm/quell.wasm`, which `node wasm.mjs` compiles, or the
// file that QUELL_WASM names; the code that calls it is the page's (`node build.mjs` writes it to `dist-node`).

import { createHash } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

const HERE = fileURLToPath(new URL(".", import.meta.url));

/** The largest seed that a scenario file can hold. */
const LARGEST = 2n ** 63n - 1n;

const HELP = `Run a scenario with the simulator of the page, and print digests

Usage: node lab/run.mjs [OPTIONS] <SCENARIO>

Arguments:
  <SCENARIO>  The scenario file; the files that it names are read beside it

Options:
  --seed <SEED>      One seed
  --seeds <N|LIST>   The seeds: how many ("10": seeds 1 to 10), a range ("11-20"), a list ("1,5,9");
                     default: those of the scenario
  --set <KEY=VALUE>  Set a field of the scenario, such as dumbbell.rate="20 Mbit/s"; several times
  --aqm <NAME>       The algorithms, one or several with commas; default: all of the scenario
  --point <N>        One point of the sweep, counted from 0; default: all
  --format <FORMAT>  "table" or "json", which has the metrics of each replication too; default: table
  --speed            Also print how many packets were simulated in a second
  -h, --help         Print help

Examples:
  node lab/run.mjs scenarios/main.toml --seed 1
  node lab/run.mjs scenarios/main.toml --set duration="20 s" --aqm codel,pie --point 0

Exit codes are those of the command: 2 if the input is wrong, 1 if something else is.
`;

/** What ends the program without success. */
export class Failure extends Error {
  constructor(message, code = 2) {
    super(message);
    this.code = code;
  }
}

/** Memory of an instance in bytes beyond which it is not used again: that of WebAssembly never shrinks. */
const ENOUGH = 2 ** 28;

/** The simulator: `ask` answers a message. */
export async function simulator() {
  const path = process.env.QUELL_WASM ?? join(HERE, "dist-wasm", "quell.wasm");
  const code = join(HERE, "dist-node", "engine.mjs");
  if (!existsSync(path)) throw new Failure(`there is no simulator ${path}: \`node lab/wasm.mjs\` compiles it`, 1);
  if (!existsSync(code)) throw new Failure(`there is no ${code}: \`node lab/build.mjs\` writes it`, 1);
  const { Engine } = await import(pathToFileURL(code).href);
  const module = await WebAssembly.compile(readFileSync(path));
  let engine = Engine.of(module);
  return {
    ask(request) {
      if (engine.dead || engine.memoryBytes > ENOUGH) engine = Engine.of(module);
      try {
        return engine.ask(request);
      } catch (error) {
        const { kind, message } = error.fault ?? {};
        if (kind) throw new Failure(message, kind === "failed" ? 1 : 2);
        throw error;
      }
    },
  };
}

/** The scenario of a file as a message has it, with the files that it and `set` name. */
export function source(engine, file, set = [], aqm = []) {
  let text;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    throw new Failure(`${file}: cannot be read: ${error.message}`);
  }
  const name = basename(file);
  const { files } = engine.ask({ do: "tree", text, name });
  const beside = (named) => resolve(dirname(file), named);
  const isFile = (path) => statSync(path, { throwIfNoEntry: false })?.isFile();
  // A setting may name another one, with or without quotation marks.
  const set_files = set.map(([, value]) => value.replace(/^"(.*)"$/, "$1"));
  const all = [...new Set([...files, ...set_files])].filter((named) => isFile(beside(named)));
  const read = (named) => ({ name: named, bytes: readFileSync(beside(named)).toString("base64") });
  return { text, name, files: all.map(read), set, aqm };
}

/** Seeds as `quell run --seeds` has them. */
export function seedsOf(text) {
  const wrong = () =>
    new Failure(`--seeds = "${text}": must be a number, a range such as 11-20, or a list such as 1,5,9`);
  const whole = (word) => {
    if (!/^\d{1,20}$/.test(word.trim())) throw wrong();
    return BigInt(word.trim());
  };
  const range = (from, to) => {
    if (to < from || to - from >= 100_000n) throw wrong();
    return Array.from({ length: Number(to - from) + 1 }, (_, i) => from + BigInt(i));
  };
  const [first, last, ...rest] = text.split("-");
  if (last !== undefined && rest.length === 0) return range(whole(first), whole(last));
  if (text.includes(",")) return text.split(",").map(whole);
  return range(1n, whole(text));
}

/** Runs what is asked for: each replication as it ends goes to `each`, and the digest of all is returned. */
export function run(engine, source, { seeds, point: only } = {}, each = () => {}) {
  const checked = engine.ask({ do: "check", source });
  if (only !== undefined && !(only in checked.points)) {
    throw new Failure(`--point = ${only}: there are ${checked.points.length}, counted from 0`);
  }
  const hash = createHash("sha256");
  for (const [point, about] of checked.points.entries()) {
    if (only !== undefined && only !== point) continue;
    for (const algorithm of about.algorithms) {
      for (const seed of seeds ?? about.seeds) {
        const ask = { do: "run", source, point, algorithm, seed: `${seed}`, shown: false, memory: 3e9 };
        const begun = performance.now();
        const found = engine.ask(ask);
        const seconds = (performance.now() - begun) / 1e3;
        hash.update(`${point} ${algorithm} ${seed} ${found.digest}\n`);
        each({ ...found, point, title: about.title, algorithm, seed: `${seed}`, seconds });
      }
    }
  }
  return { digest: hash.digest("hex"), checked };
}

/** The options and the file on the command line. */
function read(args) {
  const options = {
    seed: { type: "string" },
    seeds: { type: "string" },
    set: { type: "string", multiple: true },
    aqm: { type: "string", multiple: true },
    point: { type: "string" },
    format: { type: "string" },
    speed: { type: "boolean" },
    help: { type: "boolean", short: "h" },
  };
  let parsed;
  try {
    parsed = parseArgs({ args, options, allowPositionals: true });
  } catch (error) {
    throw new Failure(error.message);
  }
  const { values, positionals } = parsed;
  if (values.help) return { help: true };
  if (positionals.length !== 1) throw new Failure("one scenario file is wanted; --help shows how");
  if (values.seed !== undefined && values.seeds !== undefined) {
    throw new Failure("--seed and --seeds: only one of them can be used");
  }
  if (values.seed !== undefined && !/^\d{1,20}$/.test(values.seed)) {
    throw new Failure(`--seed = "${values.seed}": must be a whole number of at least 0`);
  }
  if (values.seed !== undefined && BigInt(values.seed) > LARGEST) {
    throw new Failure(`seed ${values.seed} is too large: scenario files hold seeds up to ${LARGEST}`);
  }
  if (values.point !== undefined && !/^\d{1,6}$/.test(values.point)) {
    throw new Failure(`--point = "${values.point}": must be a whole number of at least 0`);
  }
  if (values.format !== undefined && !["table", "json"].includes(values.format)) {
    throw new Failure(`--format = "${values.format}": must be table or json`);
  }
  const set = (values.set ?? []).map((setting) => {
    const at = setting.indexOf("=");
    if (at < 1) throw new Failure(`--set = "${setting}": must have the form KEY=VALUE`);
    return [setting.slice(0, at).trim(), setting.slice(at + 1).trim()];
  });
  const names = (values.aqm ?? []).flatMap((list) => list.split(",")).map((name) => name.trim());
  const seeds = values.seed !== undefined ? [BigInt(values.seed)] : values.seeds && seedsOf(values.seeds);
  const point = values.point === undefined ? undefined : Number(values.point);
  return { ...values, file: positionals[0], set, aqm: names, seeds, point };
}

async function main(args) {
  const options = read(args);
  if (options.help) return process.stdout.write(HELP);
  const engine = await simulator();
  const from = source(engine, options.file, options.set, options.aqm);
  const all = [];
  const { digest } = run(engine, from, options, (found) => {
    const { point, title, algorithm, seed, digest, events, packets, seconds, metrics } = found;
    all.push({ point, title, algorithm, seed, digest, events, packets, metrics });
    if (options.format === "json") return;
    const speed = options.speed ? `  ${(packets / seconds / 1e6).toFixed(2)} million packets/s` : "";
    const where = title ? `point ${point} (${title})` : `point ${point}`;
    process.stdout.write(`${digest}  ${where}  ${algorithm}  seed ${seed}${speed}\n`);
  });
  if (options.format === "json") {
    process.stdout.write(`${JSON.stringify({ digest, replications: all }, null, 2)}\n`);
  } else {
    process.stdout.write(`digest ${digest}\n`);
  }
}

if (process.argv[1] && resolve(process.argv[1]) === fileURLToPath(import.meta.url)) {
  try {
    await main(process.argv.slice(2));
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    process.stderr.write(`error: ${error.message}\n`);
    process.exitCode = error.code;
  }
}
