// The site in Chromium: `node docs/site/browser.mjs SITE VERSION`. A reader's questions find their page by search alone, tables sort
// and filter, old anchors lead to where their headings went, nothing is asked of another server, and axe finds nothing.

import { createReadStream, existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { extname, join, normalize } from "node:path";
import { fileURLToPath } from "node:url";

const [folder, version] = process.argv.slice(2);
const lab = createRequire(fileURLToPath(new URL("../../lab/package.json", import.meta.url)));
const { chromium } = lab("@playwright/test");
const AXE = readFileSync(lab.resolve("axe-core/axe.min.js"), "utf8");

/** What a reader types on the first day, and the pages of which one must be among the first three results. Some are misspelled. */
const QUESTIONS = {
  "how do I set a random loss rate": ["links"],
  "what does queue_delay_p99_s mean": ["metrics"],
  "confidance interval how many seeds": ["seeds"],
  "how to cite quell": ["how-to/cite"],
  "why do my results differ from ns-3": ["validation/ns-3"],
  "start from RFC 7928": ["characterization"],
  "unit of the ecn threshold": ["algorithms/step", "algorithms/red"],
  "add my own AQM in Python": ["tutorials/aqm-in-python", "reference/python/algorithms-in-python"],
  "does it model Wi-Fi?": ["explanation/limits"],
  "CAKE on my DSL line": ["how-to/recommend", "leaderboard/dsl", "tutorials/choose"],
  "run on a real interface": ["gateway", "tutorials/real-packets"],
  "bufferbloat on cable modem which aqm": ["tutorials/choose", "leaderboard/cable"],
  buferbloat: ["explanation/glossary", "tutorials/choose"],
  "fq_codel in C": ["tutorials/embed-in-c", "c"],
  "is my implementation conformant": ["conformance", "how-to/own-implementation"],
  "export csv or parquet": ["results", "reference/columns"],
  "memory per flow no_std": ["performance", "crates/aqm"],
  "replay a pcap capture": ["how-to/import-capture"],
  "gentle RED": ["algorithms/red"],
  "how many seeds": ["seeds"],
  Wireshark: ["traces-formats"],
  "buffer size for link": ["reference/scenario", "presets", "links"],
  "tc qdisc": ["conformance", "gateway", "dialects"],
  "ns-2": ["validation/ns-2", "validation", "dialects"],
  "P99 delay": ["metrics"],
  "best aqm": ["tutorials/choose", "leaderboard"],
  "which aqm for my home router": ["tutorials/choose", "leaderboard"],
  "quell: command not found": ["readme"],
  install: ["readme"],
  "install windows": ["how-to/release"],
  wifi: ["explanation/limits", "links"],
  "Wi-Fi": ["explanation/limits", "links"],
  wireless: ["explanation/limits", "links"],
  "limit cpu threads": ["reference/cli/quell-run", "scale"],
  "resume interrupted run": ["scale"],
  "buffer size in ms": ["sweeps"],
  "rtt unfairness": ["characterization/62-round-trip-times-that-differ"],
  "loss rate": ["metrics"],
  "packet rate": ["metrics"],
  "round trip time": ["metrics"],
  "buffer size": ["reference/scenario", "links", "presets"],
  starlink: ["presets"],
  "red vs": ["algorithms/red"],
};
const FIRST = 3;
/** Where a result leads within its page, for some of them: the answer is on the screen. */
const ANCHORS = {
  "how do I set a random loss rate": "links.html#random-loss",
  "what does queue_delay_p99_s mean": "metrics.html#queue_delay_p99_s",
  "does it model Wi-Fi?": "explanation/limits.html#links",
  wifi: "explanation/limits.html#links",
  install: "readme.html#install",
  "buffer size in ms": "sweeps.html#a-buffer-in-milliseconds",
};
/** What must be the first result of all: a name has one page. */
const NAMES = { fq_codel: "algorithms/fq_codel", "fq-codel": "algorithms/fq_codel", sch_cake: "algorithms/cake", drop_tail: "algorithms/drop_tail", codel: "algorithms/codel", PIE: "algorithms/pie" };
/** What must be among the first results, each of them. */
const AGAINST = {
  "codel vs fq_codel": ["algorithms/codel", "algorithms/fq_codel"],
  "cake vs fq_codel": ["algorithms/cake", "algorithms/fq_codel"],
  "PIE vs. CoDel": ["algorithms/pie", "algorithms/codel"],
};

/**
 * Pages of each sort, which axe reads in all looks. With EVERY=1 it reads every other page, too, in one of them and without
 * the colors, which are those of its sort: three minutes more.
 */
const PAGES = [
  "index.html",
  "algorithms/red.html",
  "senders/cubic.html",
  "characterization.html",
  "validation/ns-2-every-case.html",
  "reference/cli/quell-run.html",
  "reference/python/running-scenarios.html",
  "notebooks/index.html",
  "tutorials/first-comparison.html",
  "leaderboard/dsl.html",
  "search.html?q=codel",
];
/** Pages with the widest tables, and those with the longest names, whose cells are measured. */
const TABLES = ["metrics.html", "dialects.html", "conformance.html", "senders/rack.html", "senders.html", "leaderboard.html", "reference/columns.html", "gateway.html", "algorithms/index.html"];
/** No cell of text is wider than so many pixels: 60 rem. */
const WIDEST = 960;
const WIDTHS = [400, 1280];
const SCHEMES = ["light", "dark"];
/** Text has at least so many pixels. */
const SMALLEST = 14;
const AT_ONCE = 2;

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
  const of = () => `${page.url().replace(home, "")} (${look.width}, ${look.colorScheme})`;
  page.on("pageerror", (error) => wrong.push(`${of()}: ${error}`));
  page.on("console", (message) => message.type() === "error" && wrong.push(`${of()}: ${message.text()} ${message.location().url}`));
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol !== "data:" && url.host !== new URL(home).host) wrong.push(`${of()}: asks ${url}`);
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
  const anchor = ANCHORS[words];
  if (anchor && !links.slice(0, FIRST).some((link) => link.includes(anchor))) wrong.push(`search "${words}": none of ${links.slice(0, FIRST)} is ${anchor}`);
  return links.map((link) => new URL(link, home).pathname.replace(`/${version}/`, "").replace(".html", ""));
}

for (const [words, goals] of Object.entries(QUESTIONS)) {
  const found = [...new Set(await search(words))].slice(0, FIRST);
  if (!found.some((page) => goals.includes(page))) wrong.push(`search "${words}": none of ${goals} among ${found.join(", ")}`);
  if (process.env.QUELL_SITE_SEARCH) console.log(words, found);
}
for (const [words, page] of Object.entries(NAMES)) {
  const [first] = await search(words);
  if (first !== page) wrong.push(`search "${words}": ${first} comes before ${page}`);
}
for (const [words, pages] of Object.entries(AGAINST)) {
  const found = [...new Set(await search(words))].slice(0, FIRST);
  if (!pages.every((page) => found.includes(page))) wrong.push(`search "${words}": not all of ${pages} among ${found.join(", ")}`);
}
if ((await search("zzyzx quux")).length) wrong.push("the search finds what is nowhere");
{
  // As they were typed, and not as the index has words.
  await search('red-tale "Zzyzx_quux"?');
  const said = await asking.locator(".site-instead").textContent();
  if (!said.startsWith("No page has “red-tale”, “Zzyzx_quux”")) wrong.push(`the search says of unknown words: ${said}`);
}

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

/** What is wrong with the tables of a page that is open: a text that does not wrap, a name that runs out of its column, broken numbers. */
async function measure(page, of) {
  const found = await page.evaluate((widest) => {
    const wrong = [];
    for (const cell of document.querySelectorAll("article :is(td, th)")) {
      const { width, right } = cell.getBoundingClientRect();
      const text = cell.textContent.trim().slice(0, 40);
      if (width > widest) wrong.push(`a cell has ${Math.round(width)} pixels: ${text}`);
      const over = [...cell.querySelectorAll("code")].some((code) => [...code.getClientRects()].some((box) => box.right > right + 1));
      if (over) wrong.push(`a name runs out of its column: ${text}`);
      if (/^\S+ ± \S+$/.test(cell.textContent.trim())) {
        const range = document.createRange();
        range.selectNodeContents(cell.querySelector("p") ?? cell);
        if (new Set([...range.getClientRects()].map((box) => Math.round(box.bottom))).size > 1) wrong.push(`a number is broken: ${text}`);
      }
    }
    return wrong;
  }, WIDEST);
  wrong.push(...found.slice(0, 3).map((text) => `${of}: ${text}`));
}

/** What is wrong with a page that is open: too wide, too small, or what axe finds. */
async function read(page, path, width, schemes, whole) {
  await page.waitForLoadState("load");
  const of = `${path} (${width}`;
  const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
  if (wide > 0) wrong.push(`${of}): ${wide} pixels too wide`);
  const small = await page.evaluate((least) => {
    const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
      const at = walk.currentNode.parentElement;
      if (!walk.currentNode.data.trim() || at.closest("script, style, sup, sub, math, .headerlink") || !at.checkVisibility()) continue;
      if (Number.parseFloat(getComputedStyle(at).fontSize) < least - 0.01) return `${getComputedStyle(at).fontSize} in ${at.tagName}.${at.className}: ${walk.currentNode.data.trim().slice(0, 40)}`;
    }
    return "";
  }, SMALLEST);
  if (small) wrong.push(`${of}): text of ${small}`);
  await measure(page, `${of})`);
  await page.evaluate(AXE);
  for (const colorScheme of schemes) {
    await page.emulateMedia({ colorScheme });
    await page.waitForFunction((theme) => document.documentElement.dataset.theme === theme, colorScheme);
    const found = await page.evaluate(async (whole) => {
      const rules = whole ? {} : { "color-contrast": { enabled: false } };
      const { violations } = await window.axe.run("html", { resultTypes: ["violations"], rules });
      const where = (node) => `${node.target.join(" ")}: ${node.failureSummary.split("\n").slice(1).join("; ").trim()}`;
      return violations.map((rule) => `${rule.id}: ${rule.help}\n    ${rule.nodes.slice(0, 3).map(where).join("\n    ")}`);
    }, whole);
    wrong.push(...found.map((text) => `${of}, ${colorScheme}): ${text}`));
  }
}

if (!process.env.QUELL_SITE_SEARCH) {
  const looks = PAGES.flatMap((path) => WIDTHS.map((width) => ({ path, width, schemes: SCHEMES, whole: true })));
  if (process.env.EVERY) {
    const all = readdirSync(join(folder, version), { recursive: true }).filter((path) => path.endsWith(".html") && !path.startsWith("_"));
    const others = all.filter((path) => !PAGES.some((page) => page.split("?")[0] === path)).sort();
    looks.push(...others.map((path) => ({ path, width: WIDTHS[0], schemes: [SCHEMES[0]], whole: false })));
  }
  const measuring = await open("index.html");
  for (const width of WIDTHS) {
    await measuring.setViewportSize({ width, height: 800 });
    for (const path of TABLES) {
      await measuring.goto(home + path, { waitUntil: "load" });
      if (await measuring.locator("article td").count() === 0) wrong.push(`${path} has no table`);
      await measure(measuring, `${path} (${width})`);
    }
  }
  await measuring.context().close();
  // Each reads page after page in one window, whose browser keeps the styles and scripts that they share.
  const reader = async () => {
    const page = await open("index.html");
    while (looks.length) {
      const { path, width, schemes, whole } = looks.shift();
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme: schemes[0] });
      await page.goto(home + path);
      await read(page, path, width, schemes, whole);
    }
    await page.context().close();
  };
  await Promise.all(Array.from({ length: AT_ONCE }, reader));
}

await browser.close();
server.close();
if (wrong.length) {
  console.error(wrong.join("\n"));
  process.exit(1);
}
