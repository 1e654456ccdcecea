// Links hold the whole state, and nothing that they hold does harm.

import assert from "node:assert/strict";
import { before, test } from "node:test";
import { constants, deflateRawSync, deflateSync } from "node:zlib";
import fc from "fast-check";
import {
  base64url,
  command,
  commandWithText,
  FIRST,
  fromBase64url,
  fromHash,
  shell,
  stateOf,
  toDoc,
  toHash,
} from "../dist-node/lab.mjs";
import { answer, engine } from "./wasm.mjs";

let simulator;

before(async () => {
  simulator = await engine();
});

/** Texts that could be typed: whole code points, for links are UTF-8. */
const text = fc.string({ unit: "grapheme-composite" });
const json = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constant(null),
    fc.boolean(),
    fc.integer(),
    text,
    fc.array(tie("value")),
    fc.dictionary(text, tie("value")),
  ),
})).value;

/** A state of the page: scenarios as they are, cut and changed, and all else that it holds. */
const state = fc.record({
  text: fc.oneof(
    text,
    fc.nat(FIRST.text.length).map((at) => FIRST.text.slice(0, at)),
    fc
      .tuple(fc.nat(FIRST.text.length), text)
      .map(([at, more]) => FIRST.text.slice(0, at) + more + FIRST.text.slice(at)),
    fc.constant(FIRST.text),
  ),
  name: fc.string({ unit: "grapheme-composite", maxLength: 50 }),
  files: fc.dictionary(
    fc.string({ maxLength: 30 }),
    fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes).toString("base64")),
    { maxKeys: 4 },
  ),
  algorithms: fc.array(fc.string({ unit: "grapheme-composite", maxLength: 30 }), { maxLength: 4 }),
  point: fc.nat(1e6),
  seeds: fc.nat(1000),
  view: fc.dictionary(fc.string({ maxLength: 10 }), json, { maxKeys: 3 }),
});

test("any state is the same after its link", async () => {
  await fc.assert(
    fc.asyncProperty(state, fc.option(fc.string({ maxLength: 20 }), { nil: undefined }), async (doc, experiment) => {
      const whole = { ...doc, ...(experiment !== undefined && { experiment }) };
      const hash = await toHash(whole);
      assert.match(hash, /^s=[A-Za-z0-9_-]+$/);
      const found = await fromHash(`#${hash}`);
      assert.deepEqual(JSON.parse(JSON.stringify(found.doc)), JSON.parse(JSON.stringify(whole)));
    }),
    { numRuns: 300, seed: 39 },
  );
});

test("any state's text is a scenario, or the simulator says what is wrong", () => {
  let sound = 0;
  fc.assert(
    fc.property(state, (doc) => {
      const found = answer(simulator, { do: "check", source: { text: doc.text } });
      if (found.ok) sound += 1;
      else {
        assert.equal(found.fault.kind, "scenario", found.fault.message);
        assert.ok(found.fault.message.length > 10);
      }
      if (!found.ok) return;
      // What it means with every default is a scenario that means the same.
      const again = answer(simulator, { do: "check", source: { text: found.ok.resolved } });
      assert.ok(again.ok, again.fault?.message);
      assert.equal(again.ok.resolved, found.ok.resolved);
    }),
    { numRuns: 300, seed: 39 },
  );
  assert.ok(sound > 50, `${sound} were sound`);
});

/** A link of any bytes. */
const link = (version, bytes) => `#s=${base64url(Uint8Array.from([version, ...bytes]))}`;
const problem = async (hash) => {
  const found = await fromHash(hash);
  assert.ok(found && "problem" in found, `${hash.slice(0, 60)} was opened`);
  assert.match(found.problem, /^(This link cannot be opened: .*|The link is incomplete: .*)\.$/);
  return found.problem;
};
const packed = (value) => deflateSync(Buffer.from(typeof value === "string" ? value : JSON.stringify(value)));

test("a link of a newer version says so", async () => {
  assert.match(await problem(link(2, packed({}))), /newer version/);
  assert.match(await problem(link(0, packed({}))), /never was/);
});

test("a cut link says so, wherever it is cut", async () => {
  const hash = `#${await toHash(FIRST)}`;
  for (let length = 3; length < hash.length; length += 1) {
    const found = await problem(hash.slice(0, length));
    assert.match(found, /incomplete/, `${length}: ${found}`);
  }
});

test("a link that has lost characters anywhere says so", async () => {
  const hash = `#${await toHash(FIRST)}`;
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: hash.length - 1 }),
      fc.oneof(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 1, max: hash.length - 50 })),
      async (at, count) => {
        const left = hash.slice(0, at) + hash.slice(at + count);
        // Of a few characters nobody can say what they were.
        if (left.length < 50 && !left.startsWith("#s=")) return;
        assert.match(await problem(left), /incomplete|beginning|characters that|newer|never was/);
      },
    ),
    { numRuns: 500, seed: 39 },
  );
});

test("lines that a mail program breaks a link into do not pass for it", async () => {
  const hash = await toHash(FIRST);
  for (const between of ["\n", "%0A", " ", "=\n"]) {
    await problem(`#${hash.slice(0, 76)}${between}${hash.slice(76)}`);
  }
});

test("a changed character does not pass for the state", async () => {
  const hash = `#${await toHash(FIRST)}`;
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 3, max: hash.length - 2 }), fc.constantFrom(..."AQgw9_-!%"), async (at, by) => {
      if (hash[at] === by) return;
      const found = await fromHash(hash.slice(0, at) + by + hash.slice(at + 1));
      // The checksum finds it; a version that does not exist is also said.
      assert.ok("problem" in found);
    }),
    { numRuns: 200, seed: 39 },
  );
});

test("hostile links are refused in words", async () => {
  const doc = { text: FIRST.text, name: "a.toml" };
  assert.match(await problem(`#s=${"A".repeat(2_000_001)}`), /characters/);
  // A bomb: 64 MB in 64 kB, which is not inflated to its end.
  assert.match(await problem(link(1, deflateSync(Buffer.alloc(64_000_000, 32)))), /more than 16 MB/);
  const deep = "[".repeat(100_000) + "]".repeat(100_000);
  assert.match(await problem(link(1, packed(`{"text":"","name":"","view":{"a":${deep}}}`))), /nested|state/);
  // What it is nested in is not what matters, and brackets in texts do not count.
  assert.match(await problem(link(1, packed(`{"text":"","name":"","other":${deep}}`))), /nested/);
  assert.match(await problem(link(1, packed(`{"text":"\\\\","name":"","view":{"a":${deep}}}`))), /nested/);
  const brackets = { text: `\\"${"[".repeat(100_000)}`, name: '"{\\' };
  assert.equal((await fromHash(link(1, packed(brackets)))).doc.text, brackets.text);
  // As deep as it may be, and one deeper.
  const nested = (depth) => ({ ...doc, view: { a: JSON.parse("[".repeat(depth) + "]".repeat(depth)) } });
  assert.ok("doc" in (await fromHash(link(1, packed(nested(12))))));
  assert.match(await problem(link(1, packed(nested(13)))), /nested/);
  assert.match(await problem(link(1, packed({ ...doc, view: { a: Array(50_000).fill(0) } }))), /too much/);
  for (const wrong of [
    null,
    [],
    7,
    {},
    { text: 1, name: "" },
    { ...doc, name: 7 },
    { ...doc, files: [] },
    { ...doc, files: { a: "<script>" } },
    { ...doc, files: Object.fromEntries(Array.from({ length: 101 }, (_, i) => [i, ""])) },
    { ...doc, algorithms: ["1", "2", "3", "4", "5"] },
    { ...doc, algorithms: [{}] },
    { ...doc, point: -1 },
    { ...doc, point: 0.5 },
    { ...doc, point: 1e300 },
    { ...doc, seeds: "1" },
    { ...doc, seeds: 1e12 },
    { ...doc, seeds: -1 },
    { ...doc, name: "a".repeat(301) },
    { ...doc, text: "a".repeat(4_000_001) },
    { ...doc, view: [] },
    { ...doc, experiment: {} },
  ]) {
    await problem(link(1, packed(wrong)));
  }
  await problem(link(1, packed(Buffer.from([0xff, 0xfe]).toString("latin1")).subarray(0, 4)));
  // Prototypes stay what they are.
  const found = await fromHash(
    link(1, packed('{"text":"","name":"a","view":{"__proto__":{"polluted":1}},"__proto__":{"point":5}}')),
  );
  assert.equal(found.doc.point, 0);
  assert.equal({}.polluted, undefined);
});

test("millions of brackets are not parsed", async () => {
  const many = deflateSync(Buffer.from(`{"text":"","name":"","view":{"a":${"[".repeat(5e6)}${"]".repeat(5e6)}}}`));
  assert.ok(many.length < 20_000, `${many.length} bytes`);
  const parse = JSON.parse;
  JSON.parse = () => assert.fail("the brackets are parsed");
  try {
    assert.match(await problem(link(1, many)), /nested/);
  } finally {
    JSON.parse = parse;
  }
});

test("a link that a mail program escapes is opened", async () => {
  const hash = await toHash(FIRST);
  for (const escaped of [hash.replace("=", "%3D"), hash.replace("=", "%3d"), encodeURIComponent(hash)]) {
    assert.deepEqual((await fromHash(`#${escaped}`)).doc, FIRST);
  }
  // Once: what is escaped twice was not made here.
  await problem(`#${encodeURIComponent(encodeURIComponent(hash))}`);
  await problem(`#${hash.replace("=", "%3D")}%`);
  await problem(`#${hash.replace("=", "%3D").slice(0, 80)}%0A${hash.slice(78)}`);
});

test("a gigabyte in a megabyte is not inflated, though a browser inflates all that it is given at once", async (t) => {
  const zeros = deflateRawSync(Buffer.alloc(10_000_000), { finishFlush: constants.Z_FULL_FLUSH });
  const gigabyte = Buffer.concat([Buffer.from([0x78, 0x9c]), ...Array(100).fill(zeros)]);
  assert.match(await problem(link(1, gigabyte)), /more than 16 MB/);
  let inflated = 0;
  class AsInChromium extends TransformStream {
    constructor() {
      super({
        transform(piece, to) {
          const out = new Uint8Array(1032 * piece.length);
          inflated += out.length;
          for (let at = 0; at < out.length; at += 65536) to.enqueue(out.subarray(at, at + 65536));
        },
      });
    }
  }
  const { DecompressionStream } = globalThis;
  t.after(() => Object.assign(globalThis, { DecompressionStream }));
  globalThis.DecompressionStream = AsInChromium;
  assert.match(await problem(link(1, gigabyte)), /more than 16 MB/);
  assert.ok(inflated < 32e6, `${inflated} bytes were inflated`);
});

test("what is no link of ours is left alone", async () => {
  assert.equal(await fromHash(""), null);
  assert.equal(await fromHash("#see"), null);
  assert.equal(await fromHash("#:~:text=a%20passage"), null);
  assert.equal(fromBase64url("a b"), null);
});

test("a state is read as it was written", () => {
  assert.deepEqual(toDoc(stateOf(FIRST)), FIRST);
});

test("the command does what the page shows", () => {
  const { ok: checked } = answer(simulator, { do: "check", source: { text: FIRST.text } });
  assert.equal(command(FIRST, checked), "quell run home.toml");
  const some = { ...FIRST, name: "my file.toml", algorithms: ["red", "codel"], seeds: 10 };
  assert.equal(command(some, checked), "quell run 'my file.toml' --aqm red,codel --seeds 10");
  assert.equal(shell("it's"), "'it'\\''s'");
  const text = commandWithText({ ...FIRST, text: "END\n# it's $HOME" }, null);
  assert.equal(text, "quell run - <<'END_'\nEND\n# it's $HOME\nEND_\n");
});
