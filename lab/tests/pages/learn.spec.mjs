// The guided experiments and the documents' experiments, as a student goes through them.

import { fileURLToPath } from "node:url";
import { EXPERIMENTS } from "../../dist-node/experiments.mjs";
import { toHash } from "../../dist-node/lab.mjs";
import { references } from "../../references.mjs";
import { check, expect, LOOKS, test } from "./harness.mjs";

/** What is said of a claim once all seeds have run. */
const HOLDS = /^\s*The claim “.+” holds\.$/;
const panel = (page) => page.locator(".learn");
/** The verdict, once all seeds have run. */
const verdict = (page) => page.locator(".said .learn-verdict:not(.early)");

/** Opens the panel and, with a name, an experiment. */
async function learn(page, title) {
  await page.keyboard.press("4");
  await expect(page.getByRole("heading", { name: "Guided experiments" })).toBeVisible();
  if (title) await page.getByRole("button", { name: title }).click();
}

test("each experiment begins, and its first claim holds", async ({ open }) => {
  const page = await open();
  await learn(page);
  await expect(panel(page).locator(".experiment")).toHaveCount(EXPERIMENTS.length);
  for (const { title, claim } of EXPERIMENTS) {
    await panel(page).getByRole("button", { name: title }).click();
    await expect(panel(page).getByRole("heading", { level: 2, name: title })).toBeVisible();
    await expect(panel(page).getByText(claim)).toBeVisible();
    await expect(verdict(page)).toHaveText(HOLDS);
    await panel(page).getByRole("button", { name: "All experiments" }).click();
  }
});

test("an experiment is gone through by the keyboard, to its end", async ({ open }) => {
  const page = await open();
  await learn(page, "Instability at 400 ms");
  await expect(verdict(page)).toHaveText(HOLDS);
  for (const step of [2, 3, 4]) {
    await page.keyboard.press("n");
    await expect(panel(page).getByRole("heading", { level: 3 })).toContainText(`${step}/5`);
    await expect(panel(page).getByRole("heading", { level: 3 })).toBeFocused();
    await expect(verdict(page)).toHaveCount(0);
    await page.keyboard.press("d");
    await expect(verdict(page)).toHaveText(HOLDS);
  }
  await page.keyboard.press("n");
  await page.keyboard.press("d");
  await expect(verdict(page)).toHaveText(/^\s*Without the long round trip, the claim “.+” fails, as it must\.$/);
  await expect(panel(page).locator(".said")).toContainText("The same gains are calm again.");
  await page.keyboard.press("b");
  await expect(panel(page).getByRole("heading", { level: 3 })).toContainText("4/5");
  await page.keyboard.press("n");
  await panel(page).getByRole("button", { name: "Done" }).click();
  await expect(panel(page).getByRole("heading", { level: 2 })).toContainText("Why gains depend");
  await panel(page).getByRole("button", { name: "All experiments" }).click();
  await expect(panel(page).locator(".experiment", { hasText: "Instability" })).toContainText("done");
});

test("a student's own value is judged, and undone", async ({ open }) => {
  const page = await open();
  await learn(page, "Instability at 400 ms");
  await expect(verdict(page)).toHaveText(HOLDS);
  await page.keyboard.press("n");
  await page.keyboard.press("d");
  await expect(verdict(page)).toHaveText(HOLDS);
  const slider = panel(page).getByRole("slider", { name: /Round-trip time/ });
  await expect(slider).toHaveAttribute("aria-valuetext", "400 ms");
  await slider.press("Home");
  await expect(slider).toHaveAttribute("aria-valuetext", "20 ms");
  await expect(verdict(page)).toContainText("does not hold with these settings.");
  await panel(page)
    .getByRole("button", { name: /Back to the step/ })
    .click();
  await expect(slider).toHaveAttribute("aria-valuetext", "400 ms");
  await expect(verdict(page)).toHaveText(HOLDS);
  await page.keyboard.press("Control+z");
  await expect(slider).toHaveAttribute("aria-valuetext", "20 ms");
});

test("results of another step than the one that is read are pale, and say so", async ({ open, page }) => {
  await open();
  await learn(page, "Bufferbloat");
  await expect(verdict(page)).toHaveText(HOLDS);
  const curve = page.locator("#see .over-time .plot").first();
  const opacity = () => curve.evaluate((element) => Number(getComputedStyle(element).opacity));
  await expect.poll(opacity).toBe(1);
  const notice = page.locator("#see .notice", { hasText: "These results are from step 1. You are reading step 2." });
  await expect(notice).toHaveCount(0);
  await page.keyboard.press("n");
  await expect(notice).toBeVisible();
  await expect.poll(opacity).toBeLessThan(0.6);
  await check(page);
  await notice.getByRole("button", { name: "Do it" }).click();
  await expect(notice).toHaveCount(0);
  await expect(verdict(page)).toHaveText(/no faster” holds\.$/);
  await expect.poll(opacity).toBe(1);
  await page.keyboard.press("b");
  await expect(page.locator("#see .notice")).toContainText("These results are from step 2. You are reading step 1.");
});

test("a verdict says how many seeds it is of, and nothing below it moves", async ({ open, page }) => {
  await open();
  // What is said, and where the buttons below it are, at each change from the first sentence on.
  await page.evaluate(() => {
    window.seen = [];
    new MutationObserver(() => {
      const said = document.querySelector(".said");
      const below = document.querySelector(".turn");
      if (said?.textContent && below) window.seen.push([said.textContent, below.getBoundingClientRect().top]);
    }).observe(document.body, { childList: true, subtree: true, characterData: true });
  });
  await learn(page, "Global synchronization");
  await expect(panel(page).locator(".said")).toContainText("All 5 seeds agree.");
  const seen = await page.evaluate(() => window.seen);
  const judged = seen.map(([text]) => text).filter((text) => text.includes("the claim") || text.includes("The claim"));
  for (const text of judged) expect(text).toMatch(/(So far, [1-4] of 5 seeds (has|have) run|All 5 seeds agree)/);
  expect(
    judged.some((text) => text.includes("So far, ")),
    "the first seed is judged before the others",
  ).toBe(true);
  expect(new Set(seen.map(([, top]) => Math.round(top))).size, JSON.stringify(seen.map(([, top]) => top))).toBe(1);
});

test("nothing moves while a slider is moved", async ({ open, page }) => {
  await open();
  await learn(page, "Instability at 400 ms");
  await expect(verdict(page)).toHaveText(HOLDS);
  await page.keyboard.press("n");
  await page.keyboard.press("d");
  await expect(verdict(page)).toHaveText(HOLDS);
  const said = panel(page).locator(".said");
  const heights = await said.evaluate((element) => {
    window.heights = [element.clientHeight];
    new ResizeObserver(() => window.heights.push(element.clientHeight)).observe(element);
    return window.heights;
  });
  const slider = panel(page).getByRole("slider", { name: /Round-trip time/ });
  for (const _ of [1, 2, 3]) await slider.press("ArrowLeft");
  await expect(said).toContainText("All 5 seeds agree.");
  await expect(verdict(page)).toContainText("with these settings");
  const after = await page.evaluate(() => window.heights);
  // A sentence may take a line more than before, but the box is never empty in between.
  expect(Math.min(...after), JSON.stringify(after)).toBeGreaterThanOrEqual(heights[0] - 30);
});

test("sources are links to what the bibliography names", async ({ open, page }) => {
  const cited = references(fileURLToPath(new URL("../../..", import.meta.url)));
  await open();
  await learn(page, "L4S's coupling");
  for (const { text, key } of EXPERIMENTS.find(({ id }) => id === "l4s-coupling").sources) {
    const link = panel(page).getByRole("link", { name: text });
    await expect(link).toHaveAttribute("href", cited[key].url);
    await expect(link).toHaveAttribute("target", "_blank");
    await expect(link).toHaveAttribute("rel", /noopener/);
  }
});

test("a link opens the step", async ({ open, page }) => {
  const [, of] = EXPERIMENTS;
  const view = { learn: { step: 2, applied: 1, done: ["bufferbloat"] } };
  const doc = { text: of.scenario, name: "x.toml", files: {}, algorithms: [], point: 0, seeds: 0, view };
  await open(`#${await toHash({ ...doc, experiment: of.id })}`);
  await expect(panel(page).getByRole("heading", { level: 3 })).toContainText(`3/${of.steps.length + 1}`);
  await panel(page).getByRole("button", { name: "Do it" }).click();
  await expect(verdict(page)).toHaveText(HOLDS);
  // The figures of the steps before, which this page has not seen, are made for it.
  await expect(panel(page).getByText("with equal round-trip times it was")).toBeVisible();
});

test("what a link says of experiments is not trusted", async ({ open, page }) => {
  const view = { learn: { step: "x", applied: 1e9, done: [{}, 1, "<b>"] }, see: [] };
  const doc = { text: EXPERIMENTS[0].scenario, name: "x.toml", files: {}, algorithms: [], point: 0, seeds: 0, view };
  await open(`#${await toHash({ ...doc, experiment: "nothing-of-that-name" })}`);
  await expect(panel(page).getByRole("heading", { name: "Guided experiments" })).toBeVisible();
});

test("a document's experiment shows its printed numbers", async ({ open }) => {
  const page = await open();
  await learn(page);
  await panel(page).getByText("Park et al. 2004").click();
  await panel(page)
    .getByRole("button", { name: /Connections come and go at random Section 5.3.2/ })
    .first()
    .click();
  const table = panel(page).getByRole("table");
  await expect(table).toBeVisible();
  const row = table.getByRole("row").filter({ hasText: "mean queue" }).first();
  await expect(row).toContainText("[packets]");
  await expect(row.locator("td").nth(0)).toHaveText("84.06");
  // The run's own, and by how much it is off.
  await expect(row.locator("td").nth(1)).toHaveText(/^[\d.]+ \([+−][\d.]+%\)$/, { timeout: 30_000 });
  await check(page);
  await panel(page).getByRole("button", { name: "All experiments" }).click();
  await expect(panel(page).getByRole("heading", { name: "Guided experiments" })).toBeVisible();
});

for (const { width, colorScheme } of LOOKS) {
  test(`accessible at ${width} px, ${colorScheme}`, async ({ open, page }) => {
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await open();
    await learn(page);
    await check(page);
    await panel(page).getByRole("button", { name: "Bufferbloat" }).click();
    await expect(verdict(page)).toHaveText(HOLDS);
    await page.keyboard.press("n");
    await page.keyboard.press("d");
    await expect(verdict(page)).toHaveText(HOLDS);
    await check(page);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(overflow, "nothing is wider than the window").toBeLessThanOrEqual(0);
    if (width < 600) {
      await panel(page).getByRole("button", { name: "Look at the curves" }).click();
      await expect(page.locator("#see")).toBeVisible();
    }
  });
}
