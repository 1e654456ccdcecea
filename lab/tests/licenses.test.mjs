// Licenses of what the page is made of, and of what builds and tests it: those that deny.toml allows for Rust.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { it } from "node:test";

/** Those that deny.toml does not have because no crate needs them. */
const FURTHER = ["ISC", "0BSD"];
/** Tools, of which nothing is in the page. */
const EXCEPTIONS = { "axe-core": "MPL-2.0" };

const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");

it("packages have licenses that are allowed", () => {
  const [, list] = read("../../deny.toml").match(/^allow = \[(.*)\]$/m);
  const allowed = [...[...list.matchAll(/"([^"]+)"/g)].map(([, name]) => name), ...FURTHER];
  const { packages } = JSON.parse(read("../package-lock.json"));
  const others = Object.entries(packages).filter(([path]) => path !== "");
  assert.ok(others.length > 20);
  const isFine = (license) =>
    license
      .replaceAll(/[()]/g, "")
      .split(" AND ")
      .every((part) => part.split(" OR ").some((name) => allowed.includes(name)));
  const wrong = others
    .map(([path, { license }]) => [path.replace(/^.*node_modules\//, ""), license ?? "none"])
    .filter(([name, license]) => !isFine(license) && EXCEPTIONS[name] !== license);
  assert.deepEqual(wrong, []);
});
