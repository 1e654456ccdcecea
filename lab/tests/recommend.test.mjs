// The answer for a link on the page is that of `quell recommend`, number for number: the same scenarios with the same seeds,
// judged by the same code.
//
// QUELL names the command (command.mjs), QUELL_WASM the simulator (../run.mjs).

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { before, describe, it } from "node:test";
import { EngineFault } from "../dist-node/engine.mjs";
import { drive } from "../dist-node/lab.mjs";
import { QUELL } from "./command.mjs";
import { answer, engine } from "./wasm.mjs";

/** A link so slow that it takes little time. */
const LINK = {
  down: "1 Mbit/s",
  up: "256 kbit/s",
  rtt: "10..80 ms",
  link: "adsl",
  can: "openwrt",
  goal: "",
  hosts: "1",
  load: "call",
  cpu_limit: "400 kbit/s",
};

describe("the answer for a link on the page beside the command", () => {
  let of;
  before(async () => {
    assert.ok(QUELL, "there is no command: `cargo build` makes it, or QUELL names it");
    of = await engine();
  });

  it("has the same figures, sentences and texts", async () => {
    const found = await drive(LINK, {
      ask: (request) => of.ask(request),
      run: (request) => of.ask({ do: "run", ...request }),
    });
    const { goal: _, ...rest } = LINK;
    const options = Object.entries(rest).flatMap(([name, value]) => [`--${name.replace("_", "-")}`, value]);
    const args = ["recommend", ...options, "--no-cache", "--quiet", "--format", "json"];
    const { stdout, stderr, status } = spawnSync(QUELL, args, { encoding: "utf8", maxBuffer: 1 << 28 });
    assert.equal(status, 0, stderr);
    const { verified: _v, saved: _s, ...printed } = JSON.parse(stdout);
    assert.deepEqual(found.report, printed);
    assert.ok(found.report.answer.rows.length >= 4, "three candidates and what one has today");
    assert.equal(found.rows.length, found.report.answer.rows.length);
  });

  it("keeps the other rows if a run fails", async () => {
    const ended = "the memory is not enough";
    let failing;
    const { report, rows, reach } = await drive(LINK, {
      ask: (request) => of.ask(request),
      run: (request) => {
        failing ??= request.source.text;
        if (request.source.text === failing && request.seed === 2) throw EngineFault.of(ended);
        return of.ask({ do: "run", ...request });
      },
    });
    const last = report.answer.rows.at(-1);
    assert.deepEqual([last.name, last.why], ["today", `its simulation failed: ${ended}`]);
    assert.deepEqual(
      rows.map((row) => row.goal === "failed"),
      rows.map((row) => row.name === "today"),
    );
    assert.ok(rows.length >= 4 && reach.length === 5);
  });

  it("says why if all runs fail", async () => {
    const run = () => {
      throw EngineFault.of("the simulator is gone");
    };
    const asked = drive(LINK, { ask: (request) => of.ask(request), run });
    await assert.rejects(asked, /no simulation succeeded: the simulator is gone/);
  });

  for (const [field, value, says] of [
    ["down", "fast", "down: "],
    ["down", "1 bit/s", "must lie between"],
    ["up", "60..5 Mbit/s", "reversed"],
    ["rtt", "1 h", "rtt = "],
    ["link", "cabel", "link: "],
    ["can", "openwtr", 'did you mean "openwrt"?'],
    ["goal", "cal P99 < 20 ms", 'did you mean "call P99"?'],
    ["hosts", "many", "from 1 to 250"],
    ["hosts", "0", "from 1 to 250"],
    ["load", "hoem", 'did you mean "home"?'],
    ["cpu_limit", "fast", "CPU limit: "],
  ]) {
    it(`names the field of ${field} = ${value}`, () => {
      const { goal, ...rest } = { ...LINK, [field]: value };
      const { fault } = answer(of, { do: "recommend", ...rest, ...(goal && { goal }) });
      assert.equal(fault?.field, field);
      assert.ok(fault.message.includes(says), fault.message);
    });
  }
});
