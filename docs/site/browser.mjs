// The site in Chromium: `node docs/site/browser.mjs SITE VERSION`. Ten questions find their page by search alone, tables sort
// and filter, old anchors lead to where their headings went, nothing is asked of another server, and axe finds nothing.

import { createReadStream, existsSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const [folder, version] = process.argv.slice(2);
const lab = createRequire(fileURLToPath(new URL("../../lab/package.json", import.meta.url)));
const { chromium } = lab("@playwright/test");
const AXE = readFileSync(lab.resolve("axe-core/axe.min.js"), "utf8");

/** What a reader types, and the pages of which one must be among the first five results. */
const QUESTIONS = {
  "gentle RED": ["algorithms/red"],
  "ECN threshold": ["algorithms/step", "algorithms/red", "algorithms/dualpi2"],
  "how many seeds": ["seeds"],
  "own algorithm in Python": ["reference/python/algorithms-in-python", "reference/python"],
  Wireshark: ["traces-formats", "traces"],
  "buffer size for link": ["reference/scenario", "presets", "links"],
  "tc qdisc": ["conformance", "gateway", "dialects"],
  "ns-2": ["validation/ns-2", "validation", "dialects"],
  "P99 delay": ["metrics"],
  cite: ["references", "paper", "readme"],
};
const FIRST = 5;

/** Pages of each sort, which axe reads in all looks. */
const PAGES = [
  "index.html",
  "characterization.html",
  "validation/ns-2-every-case.html",
  "reference/python/running-scenarios.html",
  "search.html?q=codel",
];
const WIDTHS = [400, 1280];

const TYPES = { ".html": "text/html", ".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".json": "application/json" };
const server = createServer((request, response) => {
  let path = join(folder, normalize(decodeURIComponent(new URL(request.url, "http://site").pathname)));
  if (existsSync(path) && statSync(path).isDirectory()) path = join(path, "index.html");
  if (!existsSync(path)) return response.writeHead(404).end();
  response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "application/octet-stream" });
  createReadStream(path).pipe(response);
});
await new Promise((ready) => server.listen(0, "127.0.0.1", ready));
const home = `http://127.0.0.1:${server.address().port}/${version}/`;

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM, args: ["--disable-gpu"] });
const wrong = [];

async function open(path, look = { width: 1280, colorScheme: "light" }) {
  const context = await browser.newContext({
    viewport: { width: look.width, height: 800 },
    colorScheme: look.colorScheme,
    reducedMotion: "reduce",
  });
  // A machine that builds everything else at the same time is slow, and that is no fault of a page.
  context.setDefaultTimeout(120_000);
  const page = await context.newPage();
  const of = `${path} (${look.width}, ${look.colorScheme})`;
  page.on("pageerror", (error) => wrong.push(`${of}: ${error}`));
  page.on("console", (message) => message.type() === "error" && wrong.push(`${of}: ${message.text()} ${message.location().url}`));
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol !== "data:" && url.host !== new URL(home).host) wrong.push(`${of}: asks ${url}`);
  });
  await page.goto(home + path);
  return page;
}

const asking = await open("search.html");

async function search(words) {
  const page = asking;
  await page.goto(`${home}search.html?q=${encodeURIComponent(words)}`);
  await page.waitForFunction(() => document.querySelector(".search-summary")?.textContent.match(/\d|did not match/));
  const links = await page.locator("ul.search > li > a").evaluateAll((all) => all.map((link) => link.getAttribute("href")));
  return links.map((link) => new URL(link, home).pathname.replace(`/${version}/`, "").replace(".html", ""));
}

for (const [words, goals] of Object.entries(QUESTIONS)) {
  const found = [...new Set(await search(words))].slice(0, FIRST);
  if (!found.some((page) => goals.includes(page))) wrong.push(`search "${words}": none of ${goals} among ${found.join(", ")}`);
  if (process.env.QUELL_SITE_SEARCH) console.log(words, found);
}
if ((await search("zzyzx quux")).length) wrong.push("the search finds what is nowhere");

{
  const page = await open("validation/ns-2-every-case.html");
  const cells = (column) => page.locator(`table.site-sort tbody tr:not([hidden]) td:nth-child(${column})`).allTextContents();
  await page.locator("th", { hasText: "difference" }).click();
  const numbers = (await cells(5)).map((text) => Number(text.replace("−", "-")));
  if (numbers.length < 100 || numbers.some((value, at) => at > 0 && value < numbers[at - 1])) wrong.push("a column is not sorted by its numbers");
  await page.locator(".site-filter input").fill("excused avq");
  const left = await cells(1);
  if (left.length === 0 || left.length > 20 || left.some((text) => !text.includes("AVQ"))) wrong.push(`the filter leaves ${left.length} rows`);
  await page.context().close();
}
{
  const page = await open("characterization.html#822-mild-congestion");
  await page.waitForURL(/characterization\/822-mild-congestion\.html/).catch(() => wrong.push(`an old anchor stays at ${page.url()}`));
  await page.context().close();
}
{
  const page = await open("validation.html#r4-ared");
  await page.waitForURL(/validation\/ns-2-every-case\.html#r4-ared/).catch(() => wrong.push(`an old anchor stays at ${page.url()}`));
  await page.waitForLoadState("load");
  const top = await page.locator("#r4-ared").evaluate((anchor) => anchor.closest("tr").getBoundingClientRect().top);
  if (top < 0 || top > 800) wrong.push("the row of an old anchor is not in sight");
  await page.context().close();
}
if (existsSync(join(folder, "lab/index.html"))) {
  const page = await open("index.html");
  await page.locator(".site-run").click();
  const lab = page.frameLocator(".site-lab iframe");
  await lab.locator("html[data-ready=true]").waitFor({ state: "attached" }).catch(() => wrong.push("the laboratory does not start in a page"));
  await page.context().close();
}
for (const path of process.env.QUELL_SITE_SEARCH ? [] : PAGES) {
  for (const width of WIDTHS) {
    const page = await open(path, { width, colorScheme: "light" });
    await page.waitForLoadState("networkidle");
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    if (wide > 0) wrong.push(`${path} (${width}): ${wide} pixels too wide`);
    await page.evaluate(AXE);
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme });
      await page.waitForFunction((theme) => document.documentElement.dataset.theme === theme, colorScheme);
      const found = await page.evaluate(async () => {
        const { violations } = await window.axe.run("html", { resultTypes: ["violations"] });
        const where = (node) => `${node.target.join(" ")}: ${node.failureSummary.split("\n").slice(1).join("; ").trim()}`;
        return violations.map((rule) => `${rule.id}: ${rule.help}\n    ${rule.nodes.slice(0, 3).map(where).join("\n    ")}`);
      });
      wrong.push(...found.map((text) => `${path} (${width}, ${colorScheme}): ${text}`));
    }
    await page.context().close();
  }
}

await browser.close();
server.close();
if (wrong.length) {
  console.error(wrong.join("\n"));
  process.exit(1);
}
