// Results: runs follow the document, playback, figures, tables, diagrams, theory.

import { readFileSync } from "node:fs";
import { FIRST, toHash } from "../../dist-node/lab.mjs";
import { check, expect, LOOKS, test } from "./harness.mjs";

const results = (page) => page.locator("#see");
const time = async (page) => Number.parseFloat(await page.locator(".transport .now").textContent());
const tab = (page, name) => results(page).getByRole("tab", { name, exact: true }).click();

test("the first comparison is drawn and plays by itself", async ({ page, open }) => {
  await page.emulateMedia({ reducedMotion: "no-preference" });
  await open();
  await expect(page.locator(".strip")).toHaveCount(4);
  await expect(page.locator(".plot canvas").first()).toBeVisible();
  const first = await time(page);
  await expect.poll(() => time(page)).toBeGreaterThan(first);
  // Curves have something on them: their canvas is not of one color.
  const drawn = await page
    .locator(".plot canvas")
    .first()
    .evaluate((canvas) => {
      const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
      const colors = new Set();
      for (let i = 0; i < data.length; i += 4)
        if (data[i + 3] > 200) colors.add(`${data[i] >> 5} ${data[i + 1] >> 5} ${data[i + 2] >> 5}`);
      return colors.size;
    });
  expect(drawn).toBeGreaterThan(4);
});

test("play, pause, keys and the slider move the time", async ({ page, open }) => {
  await page.emulateMedia({ reducedMotion: "no-preference" });
  await open();
  await page.locator(".plot canvas").first().waitFor();
  // It begins to play by itself, and would do so after a pause that came before.
  await expect.poll(() => time(page)).toBeGreaterThan(0);
  if (await page.getByRole("button", { name: "Pause", exact: true }).isVisible()) await page.keyboard.press("Space");
  await expect(page.getByRole("button", { name: "Play", exact: true })).toBeVisible();
  await page.keyboard.press("Home");
  await expect.poll(() => time(page)).toBe(0);
  // The end of the warm-up.
  await page.keyboard.press("n");
  await expect.poll(() => time(page)).toBe(5);
  await page.keyboard.press("ArrowRight");
  await expect.poll(() => time(page)).toBeGreaterThan(5);
  await page.keyboard.press("p");
  await expect.poll(() => time(page)).toBe(5);
  await page.getByRole("slider", { name: "Time", exact: true }).focus();
  await page.keyboard.press("End");
  await expect.poll(() => time(page)).toBe(20);
  await page.keyboard.press("ArrowLeft");
  await expect.poll(() => time(page)).toBeLessThan(20);
  // A click on a curve takes the time there.
  const plot = page.locator(".plot .u-over").first();
  const box = await plot.boundingBox();
  await plot.click({ position: { x: box.width / 2, y: box.height / 2 } });
  await expect.poll(async () => Math.abs((await time(page)) - 10)).toBeLessThan(0.2);
});

test("no movement that nobody asked for", async ({ page, open }) => {
  await page.emulateMedia({ reducedMotion: "reduce" });
  await open();
  await expect(page.getByRole("button", { name: "Play", exact: true })).toBeVisible();
  await expect.poll(() => time(page)).toBeGreaterThan(0);
  const at = await time(page);
  await page.waitForTimeout(400);
  expect(await time(page)).toBe(at);
});

test("figures: chosen, side by side, with their numbers, saved", async ({ page, open }) => {
  await open();
  await page.getByLabel("Windows").check();
  await page.getByRole("button", { name: "Side by side" }).click();
  await expect(results(page).locator(".multiples.of-4").first().locator(".plot canvas")).toHaveCount(4);
  const figure = results(page).locator("figure").first();
  await figure.getByRole("button", { name: /^Numbers of this figure/ }).click();
  await expect(figure.locator("tbody tr")).toHaveCount(32);
  expect(await figure.locator(".plot").getAttribute("aria-label")).toMatch(
    /Queueing delay \(ms\) over 20 s: .* mean .*, most /,
  );
  for (const [kind, begins] of [
    ["SVG", "<svg "],
    ["CSV", "curve,time (s),Queueing delay (ms)\r\n"],
  ]) {
    const saved = page.waitForEvent("download");
    await figure.getByRole("button", { name: new RegExp(`^Save as ${kind}`) }).click();
    const download = await saved;
    expect(readFileSync(await download.path(), "utf8").startsWith(begins)).toBe(true);
  }
});

test("a link keeps what is shown", async ({ page, open }) => {
  await open();
  await page.getByRole("button", { name: "Side by side" }).click();
  await page.locator(".transport select").last().selectOption("5");
  await tab(page, "Delays");
  await tab(page, "Over time");
  await page.keyboard.press("Control+z");
  await page.keyboard.press("Control+Shift+z");
  await expect(page.getByRole("button", { name: "Side by side" })).toHaveAttribute("aria-pressed", "true");
});

/** The digests of the first seeds, by algorithm. */
async function digests(page) {
  await tab(page, "Table");
  const details = results(page).locator("details", { hasText: "Digests" });
  await details.evaluate((node) => {
    node.open = true;
  });
  const rows = await details
    .locator("tbody tr")
    .evaluateAll((all) => all.map((row) => [...row.cells].slice(0, 3).map((cell) => cell.textContent)));
  return rows.filter(([, seed]) => seed === "1").sort();
}

test("while a slider is dragged the runs follow it, and the last value is what is shown", async ({ page, open }) => {
  await open();
  const before = await digests(page);
  expect(before).toHaveLength(4);
  await tab(page, "Over time");
  const slider = page.getByRole("slider", { name: "Round-trip time", exact: true }).first();
  await slider.focus();
  for (let i = 0; i < 40; i++) {
    await page.keyboard.press("ArrowRight");
    await page.waitForTimeout(25);
  }
  const idle = () => expect(results(page).locator(".progress progress")).toHaveCount(0, { timeout: 30_000 });
  await page.waitForTimeout(300);
  await idle();
  const after = await digests(page);
  expect(after).toHaveLength(4);
  expect(after).not.toEqual(before);
  // Back, and on again: the same runs. On a slow machine the keys are several steps.
  const all = async (name, keys) => {
    const button = page.getByRole("button", { name: new RegExp(`^${name}`) });
    for (let i = 0; i < 60 && (await button.isEnabled()); i++) await page.keyboard.press(keys);
    await expect(button).toBeDisabled();
  };
  await all("Undo", "Control+z");
  await page.waitForTimeout(300);
  await idle();
  expect(await digests(page)).toEqual(before);
  await all("Redo", "Control+Shift+z");
  await page.waitForTimeout(300);
  await idle();
  expect(await digests(page)).toEqual(after);
});

test("algorithms come and go while a window of the curves moves", async ({ page, open }) => {
  await page.emulateMedia({ reducedMotion: "no-preference" });
  await open(`#${await toHash({ ...FIRST, view: { see: { span: 5, curves: ["delay", "throughput", "inside"] } } })}`);
  const labels = () => results(page).locator("figure").first().locator(".readout > span").allTextContents();
  for (const [name, left] of [
    ["codel", 3],
    ["red", 2],
    ["red", 3],
    ["codel", 4],
  ]) {
    await page
      .getByRole("checkbox", { name: new RegExp(`\\b${name}$`) })
      .first()
      .click();
    await page
      .locator(".transport select")
      .last()
      .selectOption(left % 2 ? "2" : "5");
    await expect.poll(labels).toHaveLength(left);
  }
});

test("a large run asks first, shows how far it is, and stops at once", async ({ page, open }) => {
  await open(`#${await toHash({ ...FIRST, text: FIRST.text.replace('"20 s"', '"900 s"') })}`);
  await expect(results(page).locator(".notice")).toContainText(/million packets: about/);
  await results(page).getByRole("button", { name: "Run it" }).click();
  await expect(results(page).getByRole("progressbar")).toBeVisible();
  // Samples are drawn while it runs.
  await expect(results(page).locator(".plot canvas").first()).toBeVisible();
  const began = Date.now();
  await page.getByRole("button", { name: "Stop the runs" }).click();
  await expect(results(page).locator(".notice")).toContainText("Stopped.");
  expect(Date.now() - began).toBeLessThan(2000);
  await results(page).getByRole("button", { name: "Go on" }).click();
  await expect(results(page).getByRole("progressbar")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(results(page).locator(".notice")).toContainText("Stopped.");
});

test("what is too large is sent to the command line in words", async ({ page, open }) => {
  await open(`#${await toHash({ ...FIRST, text: FIRST.text.replace("count = 4", "count = 150000") })}`);
  await expect(results(page).locator(".notice")).toContainText(/150 000 flows: too large for this page/);
  await expect(results(page).locator(".notice code")).toContainText("quell run home.toml");
});

test("a fault is said in the words of the command, and what was shown stays", async ({ page, open }) => {
  await open(`#${await toHash({ ...FIRST, text: FIRST.text.replace("count = 4", "count = 1000000") })}`);
  await expect(page.locator(".banner")).toContainText("at most 200000 are allowed");
  await expect(page.locator(".banner strong")).toHaveText("Count");
  await expect(page.getByText("at most 200000 are allowed")).toHaveCount(2);
  // A fault that is made here: the figures of the text before stay, and are dim.
  await page.goto("about:blank");
  await open();
  await expect(results(page).locator(".plot canvas").first()).toBeVisible();
  await page.getByRole("tab", { name: "Text", exact: true }).click();
  const editor = page.getByRole("textbox", { name: "The scenario's text" });
  await editor.focus();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("\nnonsense = 1");
  await expect(results(page).locator(".notice.wrong")).toContainText(
    "The results below are from the last valid version.",
  );
  await expect(results(page).locator(".over-time.dim")).toBeVisible();
  await expect(results(page).locator(".plot canvas").first()).toBeVisible();
  await page.keyboard.press("Control+z");
  await expect(results(page).locator(".over-time:not(.dim)")).toBeVisible();
});

test("the points of a sweep are run when asked, and stand over what is swept", async ({ page, open }) => {
  const text = `${FIRST.text.replace('duration = "20 s"', 'duration = "4 s"').replace('warmup = "5 s"', 'warmup = "1 s"').replace("seeds = 3", "seeds = 1")}
[sweep]
"dumbbell.rate" = ["5 Mbit/s", "10 Mbit/s", "20 Mbit/s"]
`;
  await open(`#${await toHash({ ...FIRST, text })}`);
  await results(page).getByLabel("Point of the sweep").selectOption("2");
  await tab(page, "Diagrams");
  await results(page).getByRole("combobox", { name: "Diagram", exact: true }).selectOption("metric");
  await results(page).getByRole("button", { name: "Run the sweep" }).click();
  await expect(results(page).getByText("All 3 points, 12 replications.")).toBeVisible({ timeout: 30_000 });
  await expect(results(page).locator("img.picture")).toHaveAttribute("alt", /P99 delay over dumbbell\.rate/);
});

test("delays, the table with intervals and differences, diagrams", async ({ page, open }) => {
  await open();
  await tab(page, "Delays");
  await expect(results(page).locator(".lines .spot")).toHaveCount(8);
  await results(page).getByRole("button", { name: "Waited longer (log)" }).click();
  await expect(results(page).locator(".lines text", { hasText: /^0\.001$/ })).toBeVisible();

  await tab(page, "Table");
  const table = results(page).getByRole("region", { name: "Metrics" });
  await expect(table.locator("tbody tr")).toHaveCount(4);
  // The scenario has several seeds.
  await expect(table.locator(".half").first()).toContainText("±", { timeout: 20_000 });
  await results(page).getByLabel("Compare with").selectOption("drop-tail");
  await expect(table).toContainText(/[−-]\d/);
  await results(page).getByRole("button", { name: "Choose metrics" }).click();
  await page.getByRole("searchbox", { name: "Find a metric" }).fill("power");
  await page.getByRole("dialog").getByRole("checkbox").first().check();
  await page.keyboard.press("Escape");
  await expect(table.locator("thead th")).toHaveCount(8);

  await tab(page, "Diagrams");
  for (const name of ["queue-cdf", "throughput", "metric"]) {
    await results(page).getByRole("combobox", { name: "Diagram", exact: true }).selectOption(name);
    const picture = results(page).locator("img.picture");
    await expect(picture).toBeVisible();
    await expect.poll(() => picture.evaluate((img) => img.naturalWidth)).toBeGreaterThan(300);
  }
});

test("theory stands beside the packets", async ({ page, open }) => {
  await open();
  await tab(page, "Theory");
  const verdicts = results(page).locator(".verdict");
  await expect(verdicts).toHaveCount(4, { timeout: 20_000 });
  const red = verdicts.filter({ hasText: "red" }).first();
  await expect(red.locator("tr", { hasText: "queue (packets)" }).locator("td")).toHaveText([/^[\d.]+/, /^[\d.]+/]);
  await expect(verdicts.filter({ hasText: "drop-tail" }).locator(".word")).toHaveText("no model");
  await expect(results(page).getByRole("img", { name: /^Bode diagram/ })).toBeVisible();
});

test("the map comes coarse at first, and is of the axes that were chosen", async ({ page, open }) => {
  test.setTimeout(120_000);
  await open();
  await tab(page, "Theory");
  const picture = results(page).getByRole("img", { name: /^Map of red/ });
  await expect(picture).toHaveAttribute("alt", /growth rate over flows and rtt\. \d.* % of it is stable\./, {
    timeout: 60_000,
  });
  await results(page).getByRole("combobox", { name: "From bottom to top" }).selectOption("max_p");
  await expect(picture).toHaveAttribute("alt", /over flows and max_p/, { timeout: 60_000 });
  await results(page).getByRole("combobox", { name: "From bottom to top" }).selectOption("flows");
  await expect(results(page).getByText("The axes must be of two quantities.")).toBeVisible();
});

for (const look of LOOKS) {
  test(`all parts are accessible and fit: ${look.width} ${look.colorScheme}`, async ({ page, open }) => {
    await page.setViewportSize({ width: look.width, height: 900 });
    await page.emulateMedia({ colorScheme: look.colorScheme, reducedMotion: "reduce" });
    await open();
    for (const name of ["Over time", "Delays", "Table", "Diagrams", "Theory"]) {
      await tab(page, name);
      await page.waitForTimeout(300);
      await check(page);
      const over = await page.evaluate(() => {
        const panel = document.querySelector("#see");
        return Math.max(document.documentElement.scrollWidth - innerWidth, panel.scrollWidth - panel.clientWidth);
      });
      expect(over, `${name} fits`).toBeLessThanOrEqual(0);
    }
  });
}
