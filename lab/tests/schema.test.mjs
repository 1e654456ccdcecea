// Every key of the schema has an editor, and what editors write is TOML that the simulator accepts, or names.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { before, test } from "node:test";
import {
  algorithmFields,
  beginning,
  chosen,
  converted,
  equal,
  FIRST,
  finds,
  measured,
  rangeOf,
  read,
  STEPS,
  scenarioShape,
  told,
  toml,
  UNITS,
  at as valueAt,
  written,
} from "../dist-node/lab.mjs";
import { answer, engine } from "./wasm.mjs";

const schema = JSON.parse(readFileSync(new URL("../../scenarios/schema.json", import.meta.url), "utf8"));
const scenario = scenarioShape(schema);
const parameters = algorithmFields(schema);
let simulator;

before(async () => {
  simulator = await engine();
});

/** What a person could type into an editor of each kind, and what the text then has. */
function typed(shape) {
  switch (shape.kind) {
    case "text":
      return ["a-name"];
    case "flag":
      return ["true", "false"];
    case "number":
      return shape.whole ? ["3", "2 * 2"] : ["0.5", ".25", "1e-3", "0.5 * 2"];
    case "quantity":
      return { time: ["12 ms", "2 * 5 ms"], bytes: ["700 B"], rate: ["3 Mbit/s"], queue: ["40 packets", "60 kB"] }[
        shape.of
      ];
    case "name":
      return shape.names.map(({ value }) => value);
    case "any":
      return ["0.01", "{ flows = 60 }", "[]", "auto"];
    default:
      throw new Error(shape.kind);
  }
}

/** All edits that the form makes below a field: those that make a beginning, then those that change each value. */
function* edits(path, shape, made = []) {
  switch (shape.kind) {
    case "table":
      for (const field of shape.fields) yield* edits(path ? `${path}.${field.key}` : field.key, field.shape, made);
      return;
    case "tables":
      yield* edits(`${path}[0]`, shape.item, [...made, [path, toml([beginning(shape.item)])]]);
      return;
    case "list":
      yield* edits(`${path}[0]`, shape.item, [...made, [path, toml(beginning(shape))]]);
      return;
    case "choice":
      for (const { key, shape: inner } of shape.choices) {
        const first = beginning(inner);
        const begun = [...made, [path, toml(key ? { [key]: first } : first)]];
        yield* edits(key ? `${path}.${key}` : path, inner, begun);
      }
      return;
    case "algorithm":
      for (const algorithm of parameters.keys()) yield { path, steps: [...made, [path, toml({ algorithm })]] };
      return;
    case "settings":
      yield { path, steps: [...made, [`${path}."dumbbell.rate"`, '["5 Mbit/s", "10 Mbit/s"]']] };
      return;
    default:
      for (const text of typed(shape)) {
        yield { path, text, steps: [...made, [path, shape.kind === "name" ? toml(text) : written(text, shape)]] };
      }
  }
}

/** Scenarios in which each table of the schema has a place. */
const BASES = {
  dumbbell: FIRST.text,
  parking_lot: FIRST.text.replace("[dumbbell]", "[parking_lot]\nbottlenecks = 2"),
  graph: FIRST.text.replace("[dumbbell]", '[[graph.links]]\nfrom = "a"\nto = "b"'),
};

/** Makes edits as the form does, and asks for a verdict. */
function judge(base, steps) {
  const changed = answer(simulator, {
    do: "edit",
    text: base,
    edits: steps.map(([path, value]) => ({ path, value })),
  });
  assert.ok(changed.ok, `${JSON.stringify(steps)}: ${changed.fault?.message}`);
  const { text } = changed.ok;
  const read = answer(simulator, { do: "tree", text });
  assert.ok(read.ok, `${JSON.stringify(steps)} is no TOML: ${read.fault?.message}`);
  return { text, tree: read.ok, verdict: answer(simulator, { do: "check", source: { text } }) };
}

/** The value of a path in a tree. */
const at = (value, path) =>
  [...path.matchAll(/"([^"]+)"|\[(\d+)\]|([^.[\]"]+)/g)].reduce(
    (of, [, quoted, index, key]) => of?.[quoted ?? index ?? key],
    value,
  );

function accepts(path, base, steps) {
  const { text, tree, verdict } = judge(base, steps);
  const [last, value] = steps.at(-1);
  assert.notEqual(at(tree.value, last), undefined, `${path} = ${value} is not in the text:\n${text}`);
  if (verdict.ok) return true;
  const { kind, field, message } = verdict.fault;
  assert.equal(kind, "scenario", `${path} = ${value}: ${message}`);
  assert.ok(field || /\.toml/.test(message), `${path} = ${value}: the fault names no field: ${message}`);
  return false;
}

test("each key of the schema is a field of the form", () => {
  const known = new Set();
  const walk = (shape) => {
    if (shape.kind === "table") {
      for (const field of shape.fields) {
        known.add(field.key);
        walk(field.shape);
      }
    }
    if (shape.kind === "tables" || shape.kind === "list") walk(shape.item);
    if (shape.kind === "choice") {
      for (const { key, shape: inner } of shape.choices) {
        if (key) known.add(key);
        walk(inner);
      }
    }
  };
  walk(scenario);
  for (const fields of parameters.values()) walk({ kind: "table", fields });
  const missing = new Set();
  const search = (of) => {
    if (Array.isArray(of)) of.forEach(search);
    else if (typeof of === "object" && of !== null) {
      for (const key of Object.keys(of.properties ?? {})) if (!known.has(key)) missing.add(key);
      Object.values(of).forEach(search);
    }
  };
  search(schema);
  // Its menu is an editor of its own; and so are the rows of fields that advance together.
  missing.delete("algorithm");
  missing.delete("linked");
  assert.deepEqual([...missing], []);
  assert.equal(parameters.size, schema.$defs.Aqm.oneOf.length);
});

test("what each editor writes is accepted, or its field is named", () => {
  let count = 0;
  let accepted = 0;
  for (const field of scenario.fields) {
    const base = BASES[field.key] ?? BASES.dumbbell;
    const path = field.key;
    const shape = field.key === "flows" || field.key === "aqm" ? null : field.shape;
    const all = shape ? [...edits(path, shape)] : [];
    if (field.key === "flows") all.push(...edits("flows[0]", field.shape.item));
    if (field.key === "graph")
      all.push(...edits("graph.links[0]", field.shape.fields.find((f) => f.key === "links").shape.item));
    for (const { path: leaf, steps } of all) {
      // The list of links is there already.
      if (leaf.startsWith("graph.links[0]") && steps[0][0] === "graph.links") continue;
      count += 1;
      if (accepts(leaf, base, steps)) accepted += 1;
    }
  }
  assert.ok(count > 700, `${count} edits`);
  // Most keys of flows are of other kinds than the example's, which the simulator says.
  assert.ok(accepted > count / 3, `${accepted} of ${count} were accepted`);
});

test("each parameter of each algorithm can be edited", () => {
  let accepted = 0;
  let count = 0;
  for (const [algorithm, fields] of parameters) {
    const alone = FIRST.text.replace(/\[\[aqm\]\][\s\S]*?(?=\[\[flows\]\])/, "");
    const base = alone.replace("[[flows]]", `[[aqm]]\nalgorithm = "${algorithm}"\n\n[[flows]]`);
    for (const field of fields) {
      for (const edit of edits(`aqm[0].${field.key}`, field.shape)) {
        count += 1;
        if (accepts(edit.path, base, edit.steps)) accepted += 1;
      }
      // What the catalog says is the default can be written.
      if (!field.fallback || /none|auto|,|\{/.test(field.fallback)) continue;
      const value = field.shape.kind === "name" ? toml(field.fallback) : written(field.fallback, field.shape);
      const found = judge(base, [[`aqm[0].${field.key}`, value]]);
      assert.ok(found.verdict.ok, `${algorithm}: ${field.key} = ${value}: ${found.verdict.fault?.message}`);
    }
  }
  assert.ok(count > 1000 && accepted > count / 2, `${accepted} of ${count} were accepted`);
});

test("a list of tables is appended to, moved and removed", () => {
  const name = (text) => answer(simulator, { do: "tree", text }).ok.value.flows.map((one) => one.name);
  const edit = (...edits) => answer(simulator, { do: "edit", text: FIRST.text, edits }).ok.text;
  assert.deepEqual(name(edit({ path: "flows[+]", value: '{ name = "more", count = 2 }' })), [
    "downloads",
    "game",
    "more",
  ]);
  assert.deepEqual(name(edit({ path: "flows[1]", value: null, to: 0 })), ["game", "downloads"]);
  assert.deepEqual(name(edit({ path: "flows[0]", value: null })), ["game"]);
  const without = edit({ path: "flows", value: null });
  const again = answer(simulator, {
    do: "edit",
    text: without,
    edits: [{ path: "flows", value: '[{ name = "a", rtt = "9 ms" }]' }],
  });
  assert.deepEqual(name(again.ok.text), ["a"]);
});

test("numbers and units", () => {
  for (const [of, units] of Object.entries(UNITS)) {
    for (const [unit] of units) {
      assert.deepEqual(measured(`1.5 ${unit}`, of), { number: 1.5, unit });
    }
  }
  assert.equal(converted("10 Mbit/s", "rate", "kbit/s"), "10000 kbit/s");
  assert.equal(converted("150 ms", "time", "s"), "0.15 s");
  assert.equal(converted("20 packets", "queue", "kB"), "20 kB");
  assert.equal(converted("2 * dumbbell.delay", "time", "s"), "2 * dumbbell.delay");
  assert.equal(measured("1 * 2 ms", "time"), null);
  assert.equal(written(".5", { kind: "number", whole: false }), "0.5");
  assert.equal(written("007", { kind: "number", whole: true }), "7");
  assert.equal(written("-", { kind: "number", whole: true }), '"-"');
  assert.equal(toml({ "a b": ['"', 1e21, -0.5], c: {} }), '{ "a b" = ["\\"", 1e21, -0.5], c = {} }');
});

test("the form that a value has is found", () => {
  const rtt = scenario.fields
    .find(({ key }) => key === "flows")
    .shape.item.fields.find(({ key }) => key === "rtt").shape;
  const form = (value) => rtt.choices[chosen(rtt.choices, value)].title;
  assert.equal(form("10 ms"), "one value");
  assert.equal(form({ uniform: ["1 ms", "2 ms"] }), "uniform");
  assert.equal(form({ linear: { first: "1 ms", step: "2 ms" } }), "linear");
  assert.equal(form(undefined), "one value");
});

test("values are equal if they say the same", () => {
  const value = { a: [1, { b: "2" }], c: true };
  assert.ok(equal(value, structuredClone(value)));
  for (const other of [
    { a: [1, { b: "3" }], c: true },
    { a: [1], c: true },
    { ...value, d: 1 },
    [value],
    null,
    undefined,
    "a",
  ]) {
    assert.ok(!equal(value, other), JSON.stringify(other));
  }
  assert.ok(equal(undefined, undefined) && equal(1, 1) && !equal(1, "1") && !equal([], {}));
});

/** A scenario with one algorithm, on the link on which ranges were asked. */
const withAqm = (aqm) => `schema = 1
duration = "4 s"
warmup = "1 s"
aqm = [${aqm}]
dumbbell = { rate = "10 Mbit/s", delay = "10 ms", buffer = "1000 packets" }
flows = [{ name = "ftp", count = 3, rtt = "60 ms" }]
`;

test("no slider of an algorithm leads to a value that it refuses, and every choice is one", () => {
  let ends = 0;
  let choices = 0;
  for (const [algorithm, fields] of parameters) {
    for (const field of fields) {
      const { shape } = field;
      const values = [];
      if (shape.kind === "name") values.push(...shape.names.map(({ value }) => JSON.stringify(value)));
      const range = rangeOf(field, shape, undefined, true);
      if (range) {
        const unit = read(shape, Number.isNaN(Number(field.fallback)) ? field.fallback : Number(field.fallback)).unit;
        for (const number of [range.least, valueAt(range, STEPS / 2), range.most])
          values.push(unit ? `"${number} ${unit}"` : `${number}`);
      }
      for (const value of values) {
        const text = withAqm(`{ algorithm = "${algorithm}", ${field.key} = ${value} }`);
        const found = answer(simulator, { do: "check", source: { text } });
        const isRefused = found.fault?.field?.endsWith(`.${field.key}`) ?? false;
        // A choice may need another parameter.
        if (range) assert.ok(!isRefused, `${algorithm}.${field.key} = ${value}: ${found.fault?.message}`);
        else
          assert.doesNotMatch(found.fault?.message ?? "", /unknown variant|must be one of/, `${field.key} = ${value}`);
      }
      if (range) ends += 1;
      else choices += values.length;
    }
  }
  assert.ok(ends > 150 && choices > 100, `${ends} sliders, ${choices} choices`);
});

test("a slider has room on both sides of the present value, whatever the schema's ends are", () => {
  const field = (algorithm, key) => parameters.get(algorithm).find((of) => of.key === key);
  const range = (algorithm, key, value) => {
    const of = field(algorithm, key);
    return rangeOf(of, of.shape, value, true);
  };
  // The ends are those beside max_th = 15 packets.
  assert.equal(field("red", "min_th").range.most, 15);
  const { least, most } = range("red", "min_th", "40 packets");
  assert.ok(least <= 4 && most >= 400, `${least} to ${most}`);
  // Shares end at 1, and what is already more is not cut.
  assert.equal(range("red", "max_p", 0.5).most, 1);
  assert.equal(range("red", "weight", 0.5).most, 1);
  assert.equal(range("red", "weight", 3).most, 3);
  let seen = 0;
  for (const [algorithm, fields] of parameters) {
    for (const of of fields) {
      const usual = rangeOf(of, of.shape, undefined, true);
      if (!usual || usual.whole) continue;
      const { number, unit } = read(of.shape, Number.isNaN(Number(of.fallback)) ? of.fallback : Number(of.fallback));
      for (const factor of [1e-4, 1, 1e4]) {
        const now = number * factor;
        const { least, most } = rangeOf(of, of.shape, unit ? `${now} ${unit}` : now, true);
        const where = `${algorithm}.${of.key} = ${now} ${unit}: ${least} to ${most}`;
        assert.ok(least <= now / 9.99 && most >= Math.min(now * 9.99, unit || now > 1 ? now : 1), where);
        assert.ok(least <= usual.least && most >= usual.most, where);
        seen += 1;
      }
    }
  }
  assert.ok(seen > 200, `${seen} values`);
});

test("what a message says to write is taken out of it", () => {
  const rate = 'not a rate with its unit (bit/s, kbit/s), such as "10 Mbit/s"';
  for (const [rule, values] of [
    [`${rate}; write "20 Mbit/s"`, ["20 Mbit/s"]],
    [
      `${rate}; bits to most people, and bytes to Linux's tc: write "20 Mbit/s" or "160 Mbit/s"`,
      ["20 Mbit/s", "160 Mbit/s"],
    ],
    [`${rate}; for what the link sends in that time, write "100 ms * dumbbell.rate"`, ["100 ms * dumbbell.rate"]],
    ["must be below 1; write 0.05", ["0.05"]],
    // What belongs elsewhere is no value of this field.
    ['a word of tc\'s: write update_interval = "16 ms"', []],
    ['names no class in []; write "all", "data" or a class', []],
    [rate, []],
  ])
    assert.deepEqual(told(rule), values, rule);
});

test("a search finds the field's words by other names", () => {
  assert.ok(finds("delay Delay One-way propagation", "latency"));
  assert.ok(finds("delay Delay One-way propagation", "late"));
  assert.ok(finds("rate Rate Of the link", "link bandwidth"));
  assert.ok(!finds("rate Rate Of the link", "latency"));
  assert.ok(!finds("round-trip", "pi"));
});
