// The simulator in a browser finds what it finds in Node, bit for bit; digests.test.mjs compares Node with the command.

import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { run, seedsOf, simulator, source } from "../../run.mjs";
import { CASES, written } from "../cases.mjs";
import { expect, test } from "./harness.mjs";

const LAB = fileURLToPath(new URL("../..", import.meta.url));
const SCENARIOS = join(LAB, "../scenarios");
/** The most replications of a case: Node has all of them, and a browser's compiler is the same. */
const MOST = 3;

/** The messages of a case, and the digests that Node finds. */
function inNode(engine, [name, settings, options = {}]) {
  const set = Object.entries(settings).map(([field, value]) => [field, written(value)]);
  const from = source(engine, join(SCENARIOS, `${name}.toml`), set, options.aqm?.split(",") ?? []);
  const seeds = options.seed ? [BigInt(options.seed)] : seedsOf(options.seeds ?? "1");
  const found = [];
  const ENOUGH = {};
  const recorded = {
    ask(request) {
      if (request.do !== "run") return engine.ask(request);
      if (found.length === MOST) throw ENOUGH;
      const { digest } = engine.ask(request);
      found.push({ name, request, digest });
      return { digest };
    },
  };
  try {
    run(recorded, from, { seeds });
  } catch (error) {
    if (error !== ENOUGH) throw error;
  }
  return found;
}

test("digests are those of Node", async ({ page, baseURL, allow }) => {
  test.setTimeout(120_000);
  const engine = await simulator();
  const asked = CASES.flatMap((one) => inNode(engine, one));
  expect(new Set(asked.map(({ name }) => name)).size).toBeGreaterThanOrEqual(20);
  expect(new Set(asked.map(({ digest }) => digest)).size).toBeGreaterThan(20);
  const file = (pattern) => readdirSync(join(LAB, "dist")).find((name) => pattern.test(name));
  const worker = new URL(file(/^worker-.*\.js$/), baseURL).href;
  const wasm = new URL(file(/^quell-.*\.wasm$/), baseURL).href;
  allow(/favicon\.ico/); // Which browsers ask for beside what is no page.
  // Where the page is, without the page, which would run its own at the same time.
  await page.goto(new URL(file(/^icon-.*\.svg$/), baseURL).href);
  const digests = await page.evaluate(
    async ({ requests, worker, wasm }) => {
      const module = await WebAssembly.compileStreaming(fetch(wasm));
      const found = [];
      let next = 0;
      // Two workers, as a page has at least.
      const work = async () => {
        const one = new Worker(worker, { type: "module" });
        one.postMessage({ module });
        while (next < requests.length) {
          const id = next++;
          const answer = new Promise((done, fail) => {
            one.onmessage = ({ data }) => "progress" in data || done(data);
            one.onerror = (event) => fail(new Error(event.message));
          });
          one.postMessage({ id, request: requests[id] });
          const { ok, fault } = await answer;
          found[id] = ok?.digest ?? fault?.message;
        }
        one.terminate();
      };
      await Promise.all([work(), work()]);
      return found;
    },
    { requests: asked.map(({ request }) => request), worker, wasm },
  );
  const named = ({ name, request }, digest) =>
    `${name} ${request.point} ${request.algorithm} ${request.seed}: ${digest}`;
  expect(asked.map((one, i) => named(one, digests[i]))).toEqual(asked.map((one) => named(one, one.digest)));
});
