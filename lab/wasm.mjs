// Compiles the simulator for the page: `node wasm.mjs [OUT]` writes `dist-wasm/quell.wasm`, or OUT.
//
// It takes rustup's target wasm32-unknown-unknown, or a compiler that builds the standard library itself, which
// tests/toolchains.sh gets. QUELL_WASM_PROFILE=release compiles in half the time, for trying something: the module is
// larger then.

import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const ROOT = resolve(HERE, "..");
const OUT = resolve(process.argv[2] ?? join(HERE, "dist-wasm", "quell.wasm"));
const TARGET = "wasm32-unknown-unknown";
const PROFILE = process.env.QUELL_WASM_PROFILE ?? "web";

function fail(message) {
  console.error(`wasm: ${message}`);
  process.exit(1);
}

function output(command, ...args) {
  const done = spawnSync(command, args, { cwd: ROOT, encoding: "utf8" });
  return done.status === 0 ? done.stdout.trim() : "";
}

/** The beginning of a cargo command that can compile for the target. */
function cargo() {
  const std = output("rustc", "--print", "target-libdir", "--target", TARGET);
  if (std && existsSync(std)) return ["cargo", []];
  const own = join(ROOT, "target/toolchains/cargo");
  if (existsSync(own)) return [own, ["-Zbuild-std=std,panic_abort"]];
  return fail(`there is no compiler for ${TARGET}: tests/toolchains.sh gets one, or rustup target add ${TARGET}`);
}

const [program, more] = cargo();
const args = ["build", "--locked", "-p", "quell-web", "--lib", "--profile", PROFILE, "--target", TARGET, ...more];
const env = { ...process.env };
// What it says of itself: the commit of the source, unless that was changed since.
env.QUELL_COMMIT ??= output("git", "rev-parse", "HEAD") || "unknown";
const begun = Date.now();
const done = spawnSync(program, args, { cwd: ROOT, env, stdio: "inherit" });
if (done.error) fail(`${program} cannot be run: ${done.error.message}`);
if (done.status !== 0) fail(`cargo ${args.join(" ")}: exit status ${done.status}`);

const folder = resolve(ROOT, env.CARGO_TARGET_DIR ?? "target", TARGET, PROFILE === "dev" ? "debug" : PROFILE);
const module = join(folder, "quell_web.wasm");
mkdirSync(dirname(OUT), { recursive: true });
// Whole or not at all.
copyFileSync(module, `${OUT}.new`);
renameSync(`${OUT}.new`, OUT);
const zipped = gzipSync(readFileSync(OUT), { level: 9 }).length;
const seconds = Math.round((Date.now() - begun) / 1000);
console.log(`${OUT}: ${statSync(OUT).size} B, ${zipped} B gzipped, ${seconds} s`);
