// What the theory says on the page is what `quell analyze` says, number for number: both take the elementary functions
// from libm, and add and multiply in the same order.
//
// QUELL names the command (command.mjs), QUELL_WASM the simulator (../run.mjs).

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { simulator, source } from "../run.mjs";
import { QUELL, ROOT } from "./command.mjs";

/** Scenarios, what is set in them, and every how many points of their sweeps are compared. */
const CASES = [
  ["main", [], 1],
  ["dumbbell", [], 1],
  ["dumbbell", [["flows.ftp.tcp", '{ congestion = "cubic", recovery = "sack" }']], 1],
  ["experimental", [], 1],
  ["theory", [], 24],
  ["theory_coupled", [], 36],
  ["theory_senders", [], 54],
  ["l4s/classic_queue", [], 1],
];

describe("the theory on the page beside the command", () => {
  let engine;
  before(async () => {
    assert.ok(QUELL, "there is no command: `cargo build` makes it, or QUELL names it");
    engine = await simulator();
  });

  for (const [name, set, every] of CASES) {
    it(`${name} ${JSON.stringify(set)}`, () => {
      const file = join(ROOT, "scenarios", `${name}.toml`);
      const args = [
        "analyze",
        file,
        "--format",
        "json",
        ...set.flatMap(([field, value]) => ["--set", `${field}=${value}`]),
      ];
      const { stdout, stderr, status } = spawnSync(QUELL, args, { encoding: "utf8", maxBuffer: 1 << 28 });
      assert.equal(status, 0, stderr);
      const { points } = JSON.parse(stdout);
      const from = source(engine, file, set);
      let figures = 0;
      for (let point = 0; point < points.length; point += every) {
        const { algorithms, link, at_s, flows, capacity_pps, buffer_packets, rtt_s, left_out } = points[point];
        const { assessments, ...found } = engine.ask({ do: "theory", source: from, point });
        for (const one of assessments) {
          // The command asks it of single points only.
          if (points.length > 1) one.reach = [];
        }
        assert.deepEqual(assessments, algorithms, `point ${point}`);
        const shown = { link, at_s, flows, capacity_pps, buffer_packets, rtt_s, left_out };
        for (const [key, value] of Object.entries(shown)) assert.deepEqual(found[key], value, key);
        figures += numbers(assessments);
      }
      assert.ok(figures > 20, `${figures} figures compared`);
    });
  }
});

/** How many numbers there are in a value. */
function numbers(value) {
  if (typeof value === "number") return 1;
  if (value === null || typeof value !== "object") return 0;
  return Object.values(value).reduce((sum, inner) => sum + numbers(inner), 0);
}
