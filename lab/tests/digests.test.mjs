// The page's simulator and the command find the same: equal digests, equal figures to the last bit, equal errors.
//
// QUELL names the command (command.mjs), QUELL_WASM the simulator (../run.mjs).

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { Failure, run, seedsOf, simulator, source } from "../run.mjs";
import { CASES, written } from "./cases.mjs";
import { QUELL, ROOT } from "./command.mjs";

/** Numbers in [0, 1) that are the same in every run of the test. */
function chance(seed) {
  let state = BigInt(seed);
  return () => {
    // Knuth's multiplier (TAOCP, section 3.3.4).
    state = (state * 6364136223846793005n + 1442695040888963407n) & 0xffff_ffff_ffff_ffffn;
    return Number(state >> 11n) / 2 ** 53;
  };
}

/** A scenario by chance: a file, settings, algorithms and a seed. Some are refused, and then both must say the same. */
function drawn(number) {
  const next = chance(number);
  for (let i = 0; i < 10; i++) next();
  const of = (list) => list[Math.floor(next() * list.length)];
  const between = (low, high) => (low * (high / low) ** next()).toPrecision(3);
  const algorithms = [
    "drop-tail",
    "red",
    "codel",
    "pie",
    "pi2",
    "fq-codel",
    "cake",
    "st-red",
    "vrc",
    "avq",
    "rem",
    "sfb",
  ];
  const senders = [
    'recovery = "reno"',
    'recovery = "sack", ecn = true',
    'congestion = "cubic", recovery = "prr", packet = "9000 B"',
    'congestion = "bbr1", recovery = "rack", pacing = true',
    'congestion = "bbr3", recovery = "rack", pacing = true, slow_start = "hystart++"',
    'congestion = "dctcp", ecn = true, feedback = "exact", packet = "500 B"',
    'congestion = "prague", ecn = true, feedback = "accecn", pacing = true',
    'congestion = "ledbat"',
    'congestion = "cubik"',
  ];
  const set = {
    duration: "5 s",
    warmup: "1 s",
    "dumbbell.rate": `${between(1, 40)} Mbit/s`,
    "dumbbell.delay": `${between(0.1, 20)} ms`,
    "dumbbell.buffer": of([`${Math.ceil(between(5, 500))} packets`, `${between(20, 900)} kB`, "1.5 * bdp", "nothing"]),
    "dumbbell.ecn": "true",
    "flows.ftp.count": `${Math.ceil(between(1, 40))}`,
    "flows.ftp.rtt": of([
      `${between(50, 400)} ms`,
      `{ uniform = ["${between(50, 80)} ms", "${between(90, 300)} ms"] }`,
    ]),
    "flows.ftp.tcp": `{ ${of(senders)} }`,
  };
  return ["dumbbell", set, { seed: `${Math.floor(next() * 1e9)}`, aqm: `${of(algorithms)},${of(algorithms)}` }];
}

describe("the simulator of the page beside the command", () => {
  let folder, engine;
  before(async () => {
    assert.ok(QUELL, "there is no command: `cargo build` makes it, or QUELL names it");
    folder = mkdtempSync(join(tmpdir(), "quell-digests-"));
    engine = await simulator();
  });
  after(() => folder && rmSync(folder, { recursive: true }));

  /** What the command finds: its JSON, or its error. */
  function command(file, set, { seed, seeds, aqm }) {
    const args = ["run", file, "--no-cache", "--no-report", "--quiet", "--format", "json", "--link", "all"];
    args.push("--overwrite", "--out", join(folder, "out"), "--series", "none");
    if (seed) args.push("--seed", seed);
    if (seeds) args.push("--seeds", seeds);
    if (aqm) args.push("--aqm", aqm);
    for (const [field, value] of set) args.push("--set", `${field}=${value}`);
    const { stdout, stderr, status, error } = spawnSync(QUELL, args, { encoding: "utf8", maxBuffer: 1 << 28 });
    if (error) throw error;
    return status === 0 ? { json: JSON.parse(stdout) } : { refused: stderr, status };
  }

  function compare([name, settings, options = {}]) {
    const file = join(ROOT, "scenarios", `${name}.toml`);
    const set = Object.entries(settings).map(([field, value]) => [field, written(value)]);
    const { json, refused, status } = command(file, set, options);
    const replications = [];
    let found;
    try {
      const aqm = options.aqm?.split(",") ?? [];
      const from = source(engine, file, set, aqm);
      const seeds = options.seed ? [BigInt(options.seed)] : options.seeds && seedsOf(options.seeds);
      found = run(engine, from, { seeds }, (one) => replications.push(one));
    } catch (failure) {
      if (!(failure instanceof Failure) || !refused) throw failure;
      // The command also says which options were given with the file.
      const said = failure.message.replace(/^[^:]*(:\d+)*: /, "");
      assert.equal(failure.code, status);
      assert.ok(refused.trim().endsWith(said), `${refused}\n${failure.message}`);
      return "refused";
    }
    assert.ok(json, `the command refuses it: ${refused}`);
    assert.ok(replications.length > 0 && replications.every((one) => one.events > 0));
    assert.equal(found.digest, json.digest);
    sameFigures(json, replications);
    return "equal";
  }

  for (const one of CASES) {
    it(`${one[0]} ${JSON.stringify(one[1])}`, () => assert.equal(compare(one), "equal"));
  }

  it("scenarios by chance", () => {
    const ends = [];
    for (let number = 1; number <= 12; number++) ends.push(compare(drawn(number)));
    const equal = ends.filter((end) => end === "equal").length;
    assert.ok(equal >= 4 && equal < ends.length, `${equal} of ${ends.length} ran: both kinds are wanted`);
  });
});

/** Asserts that figures of replications are those of the command, where it has one seed and its mean is thus a value. */
function sameFigures(json, replications) {
  const rows = new Map();
  for (const { point, algorithm, metrics } of replications) {
    for (const row of metrics.filter((row) => row.segment === null)) {
      rows.set([point, algorithm, row.link, row.scope].join("|"), row.values);
    }
  }
  let compared = 0;
  // A view for each point and link, the points in order.
  const points = [...new Set(json.points.map((view) => JSON.stringify(view.settings)))];
  for (const view of json.points) {
    const point = points.indexOf(JSON.stringify(view.settings));
    for (const row of view.rows) {
      const values = rows.get([point, row.algorithm, view.link, row.scope].join("|"));
      if (!values) continue;
      for (const [name, figure] of Object.entries(row.metrics)) {
        if (figure?.n !== 1) continue;
        assert.equal(values[name], figure.mean, `${name} of ${row.algorithm} at ${view.link}, point ${point}`);
        compared++;
      }
    }
  }
  const one = new Set(replications.map((r) => r.seed)).size === 1;
  assert.ok(!one || compared >= 5 * replications.length, `${compared} figures compared`);
}
