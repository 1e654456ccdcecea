// What every spec of the page begins with: `import { expect, test } from "./harness.mjs"`.
//
// `page` is guarded: an error or a warning in the console, an exception, an answer of 400 and more, a request that fails
// and any request to elsewhere fail the test, unless `allow(pattern)` said that it would come. `open(path)` opens the
// page and waits until it shows something. `check(page)` asks axe.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test as base, expect } from "@playwright/test";

const AXE = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** As wide as a phone and as a laptop, in one color scheme each; with `EVERY=1` in both. */
export const LOOKS = [
  { width: 400, colorScheme: "light" },
  { width: 1280, colorScheme: "dark" },
  ...(process.env.EVERY === "1"
    ? [
        { width: 400, colorScheme: "dark" },
        { width: 1280, colorScheme: "light" },
      ]
    : []),
];

/** What a browser says on behalf of the tests themselves. */
const OF_TESTS = [/Service Worker registration blocked by Playwright/];

const test = base.extend({
  /** What may go wrong in this test. */
  allowed: async ({ browserName: _ }, use) => use([...OF_TESTS]),

  /** Lets go wrong what a pattern matches. */
  allow: async ({ allowed }, use) => use((pattern) => allowed.push(pattern)),

  page: async ({ page, allowed, baseURL }, use) => {
    const problems = watch(page, baseURL);
    await use(page);
    const wrong = problems.filter((problem) => !allowed.some((pattern) => pattern.test(problem)));
    expect(wrong, "the page did what it must not").toEqual([]);
  },

  /** Opens the page; `path` is what follows its address, such as "?embed=1" or "#...". */
  open: async ({ page, baseURL }, use) => {
    await use(async (path = "") => {
      await page.goto(new URL(path, baseURL).href);
      await ready(page);
      return page;
    });
  },
});

/** Waits until the page shows the first run, or says why it cannot. */
async function ready(page) {
  await expect(page.locator("html")).toHaveAttribute("data-ready", "true", { timeout: 30_000 });
}

/** Collects what a page does and must not. */
function watch(page, baseURL) {
  const problems = [];
  const home = new URL(baseURL).origin;
  page.on("console", (message) => {
    if (["error", "warning"].includes(message.type()))
      problems.push(`console: ${message.text()} (${message.location().url})`);
  });
  page.on("pageerror", (error) => problems.push(`exception: ${error.stack ?? error}`));
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (!["data:", "blob:"].includes(url.protocol) && url.origin !== home)
      problems.push(`request to elsewhere: ${url}`);
  });
  page.on("requestfailed", (request) => {
    const why = request.failure()?.errorText;
    // The page stops what it does not need any more.
    if (!["net::ERR_ABORTED", "NS_BINDING_ABORTED"].includes(why))
      problems.push(`request failed: ${request.url()}: ${why}`);
  });
  page.on("response", (response) => {
    if (response.status() >= 400) problems.push(`answer ${response.status()}: ${response.url()}`);
  });
  return problems;
}

/** Fails on what axe finds wrong in a page, or in a part of it. */
async function check(page, part = "html") {
  // As an expression, which the page's policy does not forbid to a debugger.
  await page.evaluate(AXE);
  const found = await page.evaluate(async (part) => {
    const { violations } = await window.axe.run(part, { resultTypes: ["violations"] });
    const where = (node) => `${node.target.join(" ")}: ${node.failureSummary.split("\n").slice(1).join("; ").trim()}`;
    return violations.map((rule) => `${rule.id}: ${rule.help}\n  ${rule.nodes.map(where).join("\n  ")}`);
  }, part);
  expect(found.join("\n"), "axe").toBe("");
}

export { check, expect, ready, test };
