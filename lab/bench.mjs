// Measures the page in Chromium: `node bench.mjs [--seconds 30] [--curves delay,queue,...]`. A measurement, never a test: what it
// says depends on the machine and on what else runs there.
//
// It opens `dist/` with four algorithms on a fast link, which run while a window of the curves moves along, and prints
// the packets per second that the simulator handled, the times between frames meanwhile, and the memory.

import { existsSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { cpus } from "node:os";
import { extname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { chromium } from "@playwright/test";
import { FIRST, toHash } from "./dist-node/lab.mjs";

const { values: options } = parseArgs({
  options: {
    seconds: { type: "string", default: "40" },
    rate: { type: "string", default: "100 Mbit/s" },
    curves: { type: "string", default: "delay,queue,throughput,drops,marks" },
    browser: { type: "string", default: process.env.CHROMIUM ?? "/usr/bin/chromium" },
  },
});

const DIST = fileURLToPath(new URL("dist/", import.meta.url));
if (!existsSync(join(DIST, "index.html"))) throw new Error("there is no dist/index.html: node build.mjs");
const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".wasm": "application/wasm",
  ".json": "application/json",
  ".svg": "image/svg+xml",
};
const server = createServer((request, response) => {
  const name = new URL(request.url, "http://localhost").pathname.slice(1) || "index.html";
  const path = join(DIST, name);
  if (!path.startsWith(DIST) || !existsSync(path)) return response.writeHead(404).end();
  response.writeHead(200, { "content-type": TYPES[extname(path)] ?? "application/octet-stream" });
  response.end(readFileSync(path));
});
await new Promise((done) => server.listen(0, "127.0.0.1", done));

const text = `schema = 1
title = "Four queues on a fast link, for the benchmark"
dialect = "linux"
duration = "${options.seconds} s"
warmup = "5 s"
seeds = 1

[dumbbell]
rate = "${options.rate}"
delay = "5 ms"
buffer = "800 packets"

[[aqm]]
algorithm = "drop-tail"

[[aqm]]
algorithm = "red"

[[aqm]]
algorithm = "codel"

[[aqm]]
algorithm = "fq-codel"

[[flows]]
name = "downloads"
count = 20
rtt = { uniform = ["20 ms", "100 ms"] }
start = { between = ["0 s", "1 s"] }
`;
const see = { curves: options.curves.split(","), span: 5, apart: true };
const hash = await toHash({ ...FIRST, text, name: "bench.toml", view: { see } });

const browser = await chromium.launch({
  executablePath: options.browser,
  args: ["--no-sandbox", "--enable-precise-memory-info"],
});
const page = await browser.newPage({ viewport: { width: 1400, height: 1000 } });
page.on("pageerror", (error) => console.error(error.message));
// From the first frame on, every frame has its time.
await page.addInitScript(() => {
  window.frames_ms = [];
  let last = performance.now();
  const frame = (now) => {
    window.frames_ms.push([now, now - last]);
    last = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
});
const began = performance.now();
await page.goto(`http://127.0.0.1:${server.address().port}/#${hash}`);
const cores = Math.min(cpus().length, 8);
await page.waitForFunction(
  () => performance.getEntriesByName("run").length > 0 || document.querySelector(".status .button"),
  null,
  { timeout: 120_000 },
);
const ask = page.locator(".status .button", { hasText: "Run it" });
if (await ask.isVisible()) await ask.click();
await page.locator(".transport select").first().selectOption("10");
await page.waitForFunction(() => performance.getEntriesByName("run").length >= 4, null, { timeout: 300_000 });
const found = await page.evaluate(() => {
  const runs = performance
    .getEntriesByName("run")
    .map(({ startTime, duration, detail }) => ({ startTime, duration, ...detail }));
  const from = Math.min(...runs.map((r) => r.startTime));
  const to = Math.max(...runs.map((r) => r.startTime + r.duration));
  const paint = performance.getEntriesByName("first-contentful-paint")[0]?.startTime;
  const during = window.frames_ms.filter(([at]) => at > from && at < to).map(([, ms]) => ms);
  return { runs, from, to, paint, during, heap: performance.memory?.usedJSHeapSize };
});
await page.waitForTimeout(3000);
const after = await page.evaluate(() => window.frames_ms.slice(-120).map(([, ms]) => ms));
await browser.close();
server.close();

const at = (list, share) => [...list].sort((a, b) => a - b)[Math.min(list.length - 1, Math.floor(share * list.length))];
const frames = (list) =>
  list.length
    ? `${list.length} frames, median ${at(list, 0.5).toFixed(1)} ms, P99 ${at(list, 0.99).toFixed(1)} ms, longest ${at(list, 1).toFixed(1)} ms`
    : "no frame";
const packets = found.runs.reduce((sum, r) => sum + r.packets, 0);
const busy = found.runs.reduce((sum, r) => sum + r.duration, 0) / 1000;
const wall = (found.to - found.from) / 1000;
console.log(`cores               ${cores} (${cpus()[0]?.model ?? "unknown"})`);
console.log(
  `first paint         ${found.paint?.toFixed(0) ?? "–"} ms after the request; all there after ${((performance.now() - began) / 1000).toFixed(1)} s`,
);
console.log(
  `packets             ${packets} in ${wall.toFixed(2)} s: ${(packets / wall / 1e6).toFixed(2)} million a second, ${(packets / busy / 1e6).toFixed(2)} million a worker's second`,
);
console.log(`frames while it ran ${frames(found.during)}`);
console.log(`frames of playback  ${frames(after)}`);
console.log(`memory of scripts   ${((found.heap ?? 0) / 1e6).toFixed(0)} MB`);
