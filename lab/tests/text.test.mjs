// The colors of the text.

import assert from "node:assert/strict";
import { test } from "node:test";
import { FIRST, tokens } from "../dist-node/lab.mjs";

/** The parts of a text as "kind:text". */
const parts = (text) => [...tokens(text)].map(({ from, to, kind }) => `${kind}:${text.slice(from, to)}`);

test("keys, values, heads and comments are told apart", () => {
  assert.deepEqual(parts('rate = "20 Mbit/s" # fast\n'), ["key:rate", 'string:"20 Mbit/s"', "comment:# fast"]);
  assert.deepEqual(parts("[[flows]]\ncount = 4\n"), ["head:[[flows]]", "key:count", "value:4"]);
  assert.deepEqual(parts('"dumbbell.rate" = [1e-3, true]'), ['key:"dumbbell.rate"', "value:1e-3", "value:true"]);
  assert.deepEqual(parts('a = "# no comment"'), ["key:a", 'string:"# no comment"']);
  assert.deepEqual(parts('a = """\n# no\n[comment]\n"""\nb = 1'), [
    "key:a",
    'string:"""\n# no\n[comment]\n"""',
    "key:b",
    "value:1",
  ]);
  assert.deepEqual(parts('tcp = { packet = "5 B" }'), ["key:tcp", "key:packet", 'string:"5 B"']);
});

test("a text that is not whole yet has colors that end", () => {
  for (let length = 0; length <= FIRST.text.length; length += 1) {
    let last = 0;
    for (const { from, to } of tokens(FIRST.text.slice(0, length))) {
      assert.ok(from >= last && to > from && to <= length);
      last = to;
    }
  }
  // Quickly, too.
  assert.equal([...tokens('"'.repeat(100_001))].length > 0, true);
});
