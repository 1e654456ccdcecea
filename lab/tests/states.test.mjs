// Any state that the form can make of a scenario is one that the command accepts, or refuses in the same words.
//
// QUELL names the command (default: that of target/release or target/debug).

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import {
  algorithmFields,
  beginning,
  FIRST,
  fromHash,
  scenarioShape,
  toHash,
  toml,
  written,
} from "../dist-node/lab.mjs";
import { answer, engine } from "./wasm.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const QUELL =
  process.env.QUELL ?? ["target/release/quell", "target/debug/quell"].map((path) => join(ROOT, path)).find(existsSync);
const schema = JSON.parse(readFileSync(join(ROOT, "scenarios/schema.json"), "utf8"));
const fields = Object.fromEntries(scenarioShape(schema).fields.map((field) => [field.key, field.shape]));
const parameters = algorithmFields(schema);

/** What may be typed where a number or a quantity is wanted. */
const TYPED = [
  "0",
  "1",
  "3",
  "0.5",
  "1e9",
  "10 ms",
  "2 s",
  "5 Mbit/s",
  "30 packets",
  "64 kB",
  "2 * dumbbell.delay",
  "auto",
  "none",
  "-1",
  "x",
  "mild",
];

/** An edit of a value somewhere below a shape. */
function editOf(path, shape) {
  const inner = (of) => fc.oneof(...of);
  switch (shape.kind) {
    case "table":
      return inner(shape.fields.map((field) => editOf(path ? `${path}.${field.key}` : field.key, field.shape)));
    case "choice":
      return inner(
        shape.choices.map(({ key, shape: of }) =>
          fc.constant({ path, value: toml(key ? { [key]: beginning(of) } : beginning(of)) }),
        ),
      );
    case "tables":
    case "list":
    case "algorithm":
      return fc.constant({ path, value: toml(beginning(shape)) });
    case "settings":
      return fc.constant({ path: `${path}."dumbbell.rate"`, value: '["5 Mbit/s", "10 Mbit/s"]' });
    case "name":
      return fc.constantFrom(...shape.names).map(({ value }) => ({ path, value: toml(value) }));
    case "flag":
      return fc.constantFrom({ path, value: "true" }, { path, value: "false" });
    default:
      return fc.constantFrom(...TYPED).map((text) => ({ path, value: written(text, shape) }));
  }
}

const edit = fc.oneof(
  editOf("dumbbell", fields.dumbbell),
  editOf("flows[0]", fields.flows.item),
  editOf("flows[1]", fields.flows.item),
  ...["duration", "warmup", "segments", "seeds", "series_step", "dialect", "sweep", "steady_state"].map((key) =>
    editOf(key, fields[key]),
  ),
  fc.constantFrom(...parameters.keys()).map((algorithm) => ({ path: "aqm[+]", value: toml({ algorithm }) })),
  fc
    .constantFrom("red", "codel")
    .chain((name) => editOf(`aqm[${name === "red" ? 1 : 2}]`, { kind: "table", fields: parameters.get(name) })),
  fc.constantFrom(
    { path: "aqm[3]", value: null },
    { path: "flows[1]", value: null },
    { path: "dumbbell.buffer", value: null },
  ),
);

let simulator;
let folder;

before(async () => {
  simulator = await engine();
  folder = mkdtempSync(join(tmpdir(), "quell-states-"));
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** The verdict of `quell scenario check`: null, or what is wrong. */
function command(text) {
  writeFileSync(join(folder, "home.toml"), text);
  const { status, stderr, error } = spawnSync(QUELL, ["scenario", "check", "home.toml"], {
    cwd: folder,
    encoding: "utf8",
  });
  if (error) throw error;
  return status === 0 ? null : stderr.replace(/^error: /, "").trim();
}

test("states that edits make are the command's scenarios, or it says the same of them", {
  skip: QUELL ? false : "there is no command",
}, async () => {
  let sound = 0;
  let all = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(edit, { minLength: 1, maxLength: 3 }), async (edits) => {
      let { text } = FIRST;
      for (const one of edits) {
        const changed = answer(simulator, { do: "edit", text, edits: [one] });
        // A place may be gone by what was edited before.
        if (changed.ok) text = changed.ok.text;
        else assert.equal(changed.fault.kind, "request", JSON.stringify(one) + changed.fault.message);
      }
      const doc = { ...FIRST, text };
      const back = await fromHash(`#${await toHash(doc)}`);
      assert.deepEqual(back.doc, doc);
      const found = answer(simulator, { do: "check", source: { text: back.doc.text, name: "home.toml" } });
      assert.equal(found.ok ? null : found.fault.message, command(text), text);
      all += 1;
      if (found.ok) sound += 1;
    }),
    { numRuns: 80, seed: 39 },
  );
  assert.ok(sound > all / 10 && sound < all, `${sound} of ${all} were sound`);
});
