// What is seen stays true and in its place: of a text that is wrong, of many algorithms, classes and flows, while it plays.

import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FIRST, toHash } from "../../dist-node/lab.mjs";
import { QUELL } from "../command.mjs";
import { check, expect, test } from "./harness.mjs";

const results = (page) => page.locator("#see");
const tab = (page, name) => results(page).getByRole("tab", { name, exact: true }).click();
const scenario = (name) => readFileSync(new URL(`../../../scenarios/${name}`, import.meta.url), "utf8");
const hash = async (more) => `#${await toHash({ ...FIRST, ...more })}`;

test("a value that is wrong leaves the last valid state on show", async ({ page, open }) => {
  await open();
  const state = () =>
    page.evaluate(() => ({
      title: document.querySelector("header h1").textContent,
      ticked: [...document.querySelectorAll(".algorithms input[type=checkbox]")].map((box) => box.checked),
      colors: [...document.querySelectorAll("#see figure .readout path")].map((line) => line.getAttribute("stroke")),
    }));
  // Each algorithm comes when its run is done.
  await expect.poll(async () => new Set((await state()).colors).size, { timeout: 30_000 }).toBe(4);
  await expect(results(page).locator(".progress progress")).toHaveCount(0, { timeout: 30_000 });
  const before = await state();
  expect(before.ticked).toEqual([true, true, true, true]);
  expect(new Set(before.colors).size).toBe(4);
  const rate = page.getByRole("textbox", { name: /^Rate/ }).first();
  await rate.fill("-5");
  await rate.press("Tab");
  await expect(results(page).locator(".notice.wrong")).toContainText(
    "The results below are from the last valid version.",
  );
  expect(await state()).toEqual(before);
  // Pale, but its words can be read.
  await check(page, "#see");
});

for (const width of [400, 1280]) {
  test(`nothing in a dialog is wider than it: ${width}`, async ({ page, open }) => {
    await page.setViewportSize({ width, height: 900 });
    // More algorithms than are shown, for the dialog that chooses among them.
    const text = FIRST.text.replace('"red"', '"red"\n\n[[aqm]]\nalgorithm = "pie"');
    await open(await hash({ text }));
    const dialog = page.locator("dialog[open]");
    const fits = async (name) => {
      await expect(dialog).toBeVisible();
      const found = await dialog.evaluate((of) => {
        const { left, right } = of.getBoundingClientRect();
        const beyond = [...of.querySelectorAll("*")].filter((one) => {
          const box = one.getBoundingClientRect();
          return box.width > 0 && !one.closest(".hidden") && (box.left < left || box.right > right + 0.5);
        });
        return { wide: of.scrollWidth - of.clientWidth, beyond: beyond.map((one) => one.outerHTML.slice(0, 80)) };
      });
      expect(found, name).toEqual({ wide: 0, beyond: [] });
    };
    const close = async () => {
      await page.keyboard.press("Escape");
      await expect(dialog).toHaveCount(0);
    };
    for (const name of [/^Run this on your machine/, /^Put this into another page/]) {
      await page.getByRole("button", { name: "Share and keep" }).click();
      await page.getByRole("button", { name }).click();
      await dialog.locator("textarea").first().waitFor();
      await fits(String(name));
      await close();
    }
    await page.getByRole("button", { name: /^Scenarios/ }).click();
    for (const name of ["A link and a load", "Quell's scenarios", "Yours"]) {
      await dialog.getByRole("tab", { name }).click();
      await fits(name);
    }
    await close();
    await page.getByRole("button", { name: "Shortcuts and what this is" }).click();
    await fits("Shortcuts");
    await close();
    await page.getByRole("button", { name: "Choose the algorithms that are shown" }).click();
    await fits("Algorithms that are shown");
    await close();
    await tab(page, "Table");
    await results(page).getByRole("button", { name: "Choose metrics" }).click();
    await fits("Metrics");
    await close();
    await page.keyboard.press("2");
    await page.getByRole("button", { name: "Add an algorithm" }).click();
    await fits("Algorithms");
  });

  test(`long points of a sweep and the cards of theory fit: ${width}`, async ({ page, open }) => {
    await page.setViewportSize({ width, height: 900 });
    await open(await hash({ text: scenario("theory_coupled.toml"), name: "theory_coupled.toml" }));
    await tab(page, "Theory");
    await results(page).locator(".verdict table").first().waitFor();
    const over = await page.evaluate(() => {
      const panel = document.querySelector("#see");
      const beyond = (of) => {
        const edge = of.getBoundingClientRect().right;
        const words = document.createTreeWalker(of, NodeFilter.SHOW_TEXT);
        const range = document.createRange();
        let most = Number.NEGATIVE_INFINITY;
        while (words.nextNode()) {
          range.selectNodeContents(words.currentNode);
          for (const box of range.getClientRects()) most = Math.max(most, box.right - edge);
        }
        return most;
      };
      return [panel.scrollWidth - panel.clientWidth, ...[...document.querySelectorAll(".verdict")].map(beyond)];
    });
    expect(over.length).toBeGreaterThan(1);
    for (const beyond of over) expect(beyond).toBeLessThanOrEqual(0);
    // What is judged is said, and by which rule.
    await expect(results(page).locator(".verdict").first()).toContainText(/swings by about [\d.]+% around its mean/);
  });

  test(`nothing moves from its place while it plays: ${width}`, async ({ page, open }) => {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ reducedMotion: "no-preference" });
    const see = { curves: ["delay", "queue", "throughput", "windows", "drops", "internals"], apart: true };
    await open(await hash({ view: { see } }));
    await expect(results(page).locator("figure .plot canvas").last()).toBeAttached();
    await expect(results(page).locator(".progress progress")).toHaveCount(0, { timeout: 30_000 });
    await page.keyboard.press("Home");
    await page.locator(".transport select").first().selectOption("10");
    if (await page.getByRole("button", { name: "Play", exact: true }).isVisible()) await page.keyboard.press("Space");
    const [places, words] = await page.evaluate(async () => {
      const [seen, said] = [new Set(), new Set()];
      for (let i = 0; i < 90; i++) {
        await new Promise(requestAnimationFrame);
        const all = [
          ...document.querySelectorAll("#see .plot, #see .strip canvas, #see .readout > span, #see figcaption"),
        ];
        seen.add(JSON.stringify(all.map((node) => [node.offsetLeft, node.offsetTop, node.offsetWidth])));
        said.add(document.querySelector(".strip-words").textContent);
      }
      return [[...seen], said.size];
    });
    expect(words).toBeGreaterThan(5);
    expect(places).toHaveLength(1);
  });
}

test("of ten algorithms four are shown, which is said, and others can be chosen", async ({ page, open }) => {
  const more = ["pie", "cake", "sfq", "blue", "ared", "pi2"].map((name) => `[[aqm]]\nalgorithm = "${name}"\n\n`);
  await open(await hash({ text: FIRST.text.replace("[[flows]]", `${more.join("")}[[flows]]`) }));
  await expect(results(page)).toContainText("4 of 10 algorithms are shown.");
  await results(page).getByRole("button", { name: "Choose the algorithms that are shown" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("checkbox", { name: "pi2" })).toBeDisabled();
  await dialog.getByRole("checkbox", { name: "red", exact: true }).uncheck();
  await dialog.getByRole("checkbox", { name: "pi2" }).check();
  await page.keyboard.press("Escape");
  await expect(results(page).locator(".strip-head strong")).toHaveText(["drop-tail", "codel", "fq-codel", "pi2"]);
  // Relatives share a color; their keys differ.
  const keys = await page
    .locator(".algorithms .key")
    .evaluateAll((all) => all.map((key) => [...key.querySelectorAll("path")].map((path) => path.outerHTML).join()));
  expect(keys).toHaveLength(10);
  expect(new Set(keys).size).toBe(10);
});

test("windows say of how many flows they are, and are as high as what is measured", async ({ page, open }) => {
  const text = FIRST.text.replace("count = 4", "count = 20");
  await open(await hash({ text, algorithms: ["codel"], view: { see: { curves: ["windows"], apart: true } } }));
  const figure = results(page).locator("figure").first();
  await expect(figure.locator(".figure-title")).toHaveText("Windows, codel [packets]: 12 of 20 flows");
  const saved = page.waitForEvent("download");
  await figure.getByRole("button", { name: /^Save as SVG/ }).click();
  const svg = readFileSync(await (await saved).path(), "utf8");
  expect(svg).toContain("12 of 20 flows");
  expect(svg).toMatch(/up to \d+/);
});

test("every class whose packets are measured has its delays", async ({ page, open }) => {
  await open();
  await tab(page, "Delays");
  const table = results(page).getByRole("region", { name: "Delays of every class of traffic" });
  await expect(table.locator("tbody th")).toHaveText(["downloads", "game"]);
  await expect(table.locator("tbody td").first()).toHaveText(/^[\d.]+ · [\d.]+$/);
});

test("where the pointer is strips and curves say the same", async ({ page, open }) => {
  await open(await hash({ view: { see: { curves: ["queue", "delay", "throughput"] } } }));
  const plot = results(page).locator(".plot .u-over").first();
  await plot.waitFor();
  await expect(results(page).locator(".progress progress")).toHaveCount(0, { timeout: 30_000 });
  const box = await plot.boundingBox();
  for (const share of [0.1, 0.42, 0.77, 0.999]) {
    await plot.hover({ position: { x: box.width * share, y: box.height / 2 } });
    await page.waitForTimeout(350);
    const said = await page.evaluate(() => {
      const of = (figure) => [...figure.querySelectorAll(".readout b")].map((b) => b.textContent);
      const curves = [...document.querySelectorAll("#see figure")].map(of);
      const strips = [...document.querySelectorAll(".strip-words")].map((p) => p.textContent.match(/[\d.–]+/g));
      return { curves, strips };
    });
    // Three quantities of four algorithms, and four strips with three numbers.
    expect(said.curves.map((c) => c.length)).toEqual([4, 4, 4]);
    // The order of the figures is that of the list: delay, queue, throughput.
    const order = await results(page).locator(".figure-title").allTextContents();
    const at = ["Queue [", "Queueing delay", "Throughput"].map((name) => order.findIndex((t) => t.startsWith(name)));
    said.strips.forEach((strip, i) => {
      expect(strip).toEqual(at.map((k) => said.curves[k][i]));
    });
  }
});

test("in the background runs go on and playback waits", async ({ page, open }) => {
  await page.emulateMedia({ reducedMotion: "no-preference" });
  await open();
  const time = async () => Number.parseFloat(await page.locator(".transport .now").textContent());
  await expect.poll(time).toBeGreaterThan(0);
  const turn = (hidden) =>
    page.evaluate((hidden) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
      Object.defineProperty(document, "visibilityState", {
        configurable: true,
        get: () => (hidden ? "hidden" : "visible"),
      });
      document.dispatchEvent(new Event("visibilitychange"));
    }, hidden);
  await page.keyboard.press("Home");
  if (await page.getByRole("button", { name: "Play", exact: true }).isVisible()) await page.keyboard.press("Space");
  await turn(true);
  const at = await time();
  // A run that begins while nobody looks comes to its end.
  await page.evaluate(() => document.querySelector('#see [role="tab"][id="see-table-tab"]').click());
  const five = results(page).getByRole("button", { name: /^Run 5 seeds/ });
  await expect(five).toBeEnabled({ timeout: 30_000 });
  await five.evaluate((button) => button.click());
  await expect(results(page)).toContainText("5 seeds.", { timeout: 30_000 });
  await tab(page, "Over time");
  expect(Math.abs((await time()) - at)).toBeLessThan(0.3);
  await turn(false);
  await expect.poll(time).toBeGreaterThan(at + 0.5);
});

test("two tabs keep their own states", async ({ page, open, context, baseURL }) => {
  await open(await hash({ text: FIRST.text.replace("count = 4", "count = 7"), name: "one.toml" }));
  const other = await context.newPage();
  await other.goto(
    new URL(await hash({ text: FIRST.text.replace("count = 4", "count = 9"), name: "two.toml" }), baseURL).href,
  );
  await expect(other.locator("html")).toHaveAttribute("data-ready", "true", { timeout: 30_000 });
  const count = (tab) => tab.getByRole("textbox", { name: /^Count/ }).first();
  for (const [tab, to] of [
    [page, "8"],
    [other, "10"],
  ]) {
    await count(tab).fill(to);
    await count(tab).press("Tab");
    await tab.waitForTimeout(900);
  }
  for (const [tab, to] of [
    [page, "8"],
    [other, "10"],
  ]) {
    await tab.reload();
    await expect(tab.locator("html")).toHaveAttribute("data-ready", "true", { timeout: 30_000 });
    await expect(count(tab)).toHaveValue(to);
  }
  await other.close();
});

/** Two cases: of several classes with marks, and one that is short, with the intervals of two seeds. */
const STUDIES = [
  { seeds: 5, text: FIRST.text.replace('"20 s"', '"8 s"').replace('"5 s"', '"2 s"') },
  {
    seeds: 2,
    text: `schema = 1
title = "Two queues with marks"
duration = "10 s"
warmup = "2 s"

[dumbbell]
rate = "10 Mbit/s"
delay = "10 ms"
buffer = "100 packets"
ecn = true

[[aqm]]
algorithm = "pie"

[[aqm]]
algorithm = "red"

[[flows]]
name = "bulk"
count = 5
rtt = "60 ms"
`,
  },
];

for (const { seeds, text } of STUDIES) {
  test(`the table of ${seeds} seeds is that of the command, intervals and all`, async ({ page, open }) => {
    test.skip(!QUELL, "there is no command to compare with");
    await open(await hash({ text, name: "case.toml", seeds }));
    await tab(page, "Table");
    await expect(results(page)).toContainText(`${seeds} seeds.`, { timeout: 30_000 });
    await expect(results(page).locator(".progress progress")).toHaveCount(0, { timeout: 30_000 });
    const metricsShown = results(page).getByRole("region", { name: "Metrics" });
    await expect(metricsShown.locator(".half").first()).toHaveText(/±|\[.*,/);
    await expect(metricsShown).not.toHaveClass(/dim/);
    const saved = page.waitForEvent("download");
    await results(page)
      .getByRole("button", { name: /^Save as CSV: table/ })
      .click();
    const ours = readFileSync(await (await saved).path(), "utf8");
    const folder = mkdtempSync(join(tmpdir(), "quell-lab-"));
    const file = join(folder, "case.toml");
    writeFileSync(file, text);
    const metrics = "utilization,queue_delay_mean_s,queue_delay_p99_s,loss_rate,mark_rate,jain_index";
    const theirs = execFileSync(
      QUELL,
      ["run", file, "--seeds", String(seeds), "--metric", metrics, "--format", "csv"],
      {
        cwd: folder,
        encoding: "utf8",
        env: { ...process.env, QUELL_CACHE: join(folder, "cache") },
        stdio: ["ignore", "pipe", "pipe"],
      },
    );
    rmSync(folder, { recursive: true });
    expect(ours.split(/\r?\n/).length).toBeGreaterThan(3);
    expect(ours).toMatch(/ low,/);
    expect(ours.replaceAll("\r\n", "\n")).toBe(theirs.replaceAll("\r\n", "\n"));
  });
}

test("the report is one file that shows its figures by itself", async ({ page, open, context }) => {
  // It simulates more than any other test, which takes its time where others work on the same machine.
  test.slow();
  await open();
  await tab(page, "Table");
  await results(page).getByRole("button", { name: "Make the whole report" }).click();
  const save = results(page).getByRole("button", { name: "Save the report" });
  await expect(save).toBeVisible({ timeout: 120_000 });
  const saved = page.waitForEvent("download");
  await save.click();
  const folder = mkdtempSync(join(tmpdir(), "quell-lab-"));
  const file = join(folder, "report.html");
  await (await saved).saveAs(file);
  const report = await context.newPage();
  const wrong = [];
  report.on("console", (message) => message.type() === "error" && wrong.push(message.text()));
  report.on("pageerror", (error) => wrong.push(String(error)));
  await report.goto(`file://${file}`);
  await expect(report.locator("svg, canvas").first()).toBeVisible();
  await expect(report.locator("body")).toContainText("Four queues on a home link");
  expect(wrong).toEqual([]);
  await report.close();
  rmSync(folder, { recursive: true });
});

/** What falls in the strips, as each picture says of itself. */
const falling = (page) =>
  page
    .locator(".strip canvas")
    .evaluateAll((all) => all.map((canvas) => Number(canvas.dataset.marks)).reduce((a, b) => a + b, 0));

test("crosses are of the time that is shown, while playback stands, after a jump and of another run", async ({
  page,
  open,
}) => {
  await page.emulateMedia({ reducedMotion: "no-preference" });
  await open(await hash({ algorithms: ["drop-tail"], text: FIRST.text.replace("count = 4", "count = 40") }));
  await expect(results(page).locator(".progress progress")).toHaveCount(0, { timeout: 30_000 });
  await expect.poll(() => falling(page)).toBeGreaterThan(0);
  // At the beginning nothing has been dropped, whether it stands or not.
  await page.getByRole("button", { name: "Pause", exact: true }).click();
  await page.keyboard.press("Home");
  await expect.poll(() => falling(page)).toBe(0);
  await expect(results(page).locator(".strip-events")).toHaveText("");
  // Where it stands, the picture says what the words say.
  for (let i = 1; i <= 12; i++) {
    await page.keyboard.press("Shift+ArrowRight");
    await page.waitForTimeout(200);
    const said = (await results(page).locator(".strip-events").textContent()) ?? "";
    expect((await falling(page)) > 0, said).toBe(/drops|marks/.test(said));
  }
});

test("another scenario shows nothing of the former one, and plays from its beginning", async ({ page, open }) => {
  await page.emulateMedia({ reducedMotion: "no-preference" });
  await open();
  await expect(results(page).locator(".progress progress")).toHaveCount(0, { timeout: 30_000 });
  await page.keyboard.press("End");
  const go = async (more) => {
    const to = await hash(more);
    await page.evaluate((to) => {
      location.hash = to;
    }, to);
  };
  const time = async () => Number.parseFloat(await page.locator(".transport .now").textContent());
  await expect.poll(time).toBe(20);
  // One that waits to be asked for.
  await go({ text: FIRST.text.replace('"20 s"', '"900 s"'), name: "long.toml" });
  await expect(results(page).locator(".notice")).toContainText(/million packets: about/);
  await expect(results(page).getByText("Not run yet.")).toBeVisible();
  await expect(results(page).locator(".strip, figure, .readout")).toHaveCount(0);
  expect(await time()).toBe(0);
  for (const name of ["Delays", "Table", "Diagrams"]) {
    await tab(page, name);
    await expect(results(page).getByText(/^Not run yet\./)).toBeVisible();
    await expect(results(page).locator("figure, table, img.picture")).toHaveCount(0);
  }
  await tab(page, "Over time");
  // One that runs by itself plays from 0.
  await go({ text: FIRST.text.replace("count = 4", "count = 6"), name: "other.toml" });
  await expect(page.getByRole("button", { name: "Pause", exact: true })).toBeVisible();
  expect(await time()).toBeLessThan(15);
  // An edit keeps what was there, pale, and the time.
  await page.keyboard.press("End");
  await expect.poll(time).toBe(20);
  await page.getByRole("textbox", { name: /^Rate/ }).first().fill("-5");
  await expect(results(page).locator(".over-time.dim .strip")).toHaveCount(4);
  expect(await time()).toBe(20);
});

test("relatives of one color have marks along their curves", async ({ page, open }) => {
  const text = FIRST.text.replace("[[flows]]", '[[aqm]]\nalgorithm = "feng-ared"\n\n[[flows]]');
  await open(await hash({ text, algorithms: ["red", "feng-ared", "codel"] }));
  const readout = results(page).locator("figure").first().locator(".readout > span");
  await expect(readout).toHaveCount(3);
  const marks = await readout.evaluateAll((all) =>
    all.map((one) => one.querySelector(".mark path")?.getAttribute("d")),
  );
  const labels = await readout.allTextContents();
  const of = (name) => marks[labels.findIndex((label) => label.trim().startsWith(name))];
  expect(of("codel")).toBeUndefined();
  expect(of("red")).toBeTruthy();
  expect(of("feng-ared")).toBeTruthy();
  expect(of("red")).not.toBe(of("feng-ared"));
});
