// Experiments of documents become scenarios that the simulator takes, and their printed numbers are where it has them.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Engine } from "../dist-node/engine.mjs";
import { foundIn, NAMES, pathsOf, termsOf, textOf, VERDICTS } from "../dist-node/learn.mjs";

const LAB = fileURLToPath(new URL("..", import.meta.url));
const PRESETS = JSON.parse(readFileSync(join(LAB, "src/learn/papers.json"), "utf8"));

const engine = await Engine.load(readFileSync(process.env.QUELL_WASM ?? join(LAB, "dist-wasm/quell.wasm")));
const asks = {
  tree: (text) => engine.ask({ do: "tree", text }),
  edit: (text, edits) => engine.ask({ do: "edit", text, edits }),
};

async function sourceOf(preset) {
  const file = readFileSync(join(LAB, "../scenarios", preset.scenario), "utf8");
  return { text: await textOf(preset, file, asks), name: preset.scenario };
}

/** The scenario as the command has it: what is set goes by options, not into the text. */
function asSet(preset) {
  const text = readFileSync(join(LAB, "../scenarios", preset.scenario), "utf8");
  return { text, name: preset.scenario, set: preset.set.map(([field, value]) => [field, value]) };
}

test("presets are scenarios, with the labels, segments and classes of their numbers", async () => {
  for (const preset of PRESETS) {
    const { points } = engine.ask({ do: "check", source: await sourceOf(preset) });
    for (const number of preset.numbers) {
      const what = `${preset.id}: ${number.label} ${number.name}`;
      const point = points[number.point];
      assert.ok(point?.algorithms.includes(number.label), what);
      if (number.segment !== undefined) assert.ok(point.segments[number.segment], what);
      for (const { scope = number.scope ?? "all" } of termsOf(number.value).terms) {
        assert.ok(["all", "data", ...point.classes].includes(scope), `${what}: ${scope}`);
      }
      assert.ok(VERDICTS[number.verdict], `${what}: ${number.verdict}`);
    }
    for (const { verdict } of preset.claims) assert.ok(VERDICTS[verdict], `${preset.id}: ${verdict}`);
  }
});

test("each experiment has a name of its own", () => {
  assert.deepEqual(Object.keys(NAMES).sort(), PRESETS.map(({ id }) => id).sort());
  for (const reference of new Set(PRESETS.map((preset) => preset.reference))) {
    const own = PRESETS.filter((preset) => preset.reference === reference).map(({ id }) => NAMES[id]);
    assert.equal(new Set(own).size, own.length, `two experiments of ${reference} have one name`);
    for (const name of own) assert.ok(name.split(" ").length >= 2 && name.length <= 64, name);
  }
});

test("what is written into the text is what the command sets", async () => {
  for (const preset of PRESETS.filter(({ sweep }) => sweep.length === 0)) {
    const ours = engine.ask({ do: "check", source: await sourceOf(preset) });
    const theirs = engine.ask({ do: "check", source: asSet(preset) });
    assert.deepEqual(ours.defaults, theirs.defaults, preset.id);
  }
});

test("printed numbers are found in runs", async () => {
  const preset = PRESETS.find(({ id }) => id === "vrc-b2/b2") ?? PRESETS.find(({ numbers }) => numbers.length > 0);
  const source = await sourceOf(preset);
  const { point, label } = preset.numbers[0];
  const run = engine.ask({ do: "run", source, point, algorithm: label, seed: 1, shown: false });
  const own = preset.numbers.filter((number) => number.point === point && number.label === label);
  assert.ok(own.length > 1);
  for (const number of own) assert.ok(Number.isFinite(foundIn(number, run)), `${number.label} ${number.name}`);
});

test("fields are named as by --set", () => {
  const document = {
    flows: [{ name: "a" }, { name: "b" }],
    aqm: [{ algorithm: "red" }, { algorithm: "red", label: "R" }],
  };
  assert.deepEqual(pathsOf("flows.b.tcp.packet", document), ["flows[1].tcp.packet"]);
  assert.deepEqual(pathsOf("aqm.R.max_p", document), ["aqm[1].max_p"]);
  assert.deepEqual(pathsOf("dumbbell.rate", document), ["dumbbell.rate"]);
});

test("values are read as the documents write them", () => {
  assert.deepEqual(termsOf("100 * loss_rate[data]"), { factor: 100, terms: [{ metric: "loss_rate", scope: "data" }] });
  assert.deepEqual(termsOf("queue_bytes/buffer_bytes").terms, [{ metric: "queue_bytes" }, { metric: "buffer_bytes" }]);
});
