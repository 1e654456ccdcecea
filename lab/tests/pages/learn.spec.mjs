// The guided experiments and the documents' experiments, as a student goes through them.

import { EXPERIMENTS } from "../../dist-node/experiments.mjs";
import { toHash } from "../../dist-node/lab.mjs";
import { check, expect, LOOKS, test } from "./harness.mjs";

const panel = (page) => page.locator(".learn");
const verdict = (page) => page.locator(".said .learn-verdict");

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
    await expect(verdict(page)).toHaveText("The claim holds.");
    await panel(page).getByRole("button", { name: "All experiments" }).click();
  }
});

test("an experiment is gone through by the keyboard, to its end", async ({ open }) => {
  const page = await open();
  await learn(page, "Instability at 400 ms");
  await expect(verdict(page)).toHaveText("The claim holds.");
  for (const step of [2, 3, 4]) {
    await page.keyboard.press("n");
    await expect(panel(page).getByRole("heading", { level: 3 })).toContainText(`${step}/5`);
    await expect(panel(page).getByRole("heading", { level: 3 })).toBeFocused();
    await expect(verdict(page)).toHaveCount(0);
    await page.keyboard.press("d");
    await expect(verdict(page)).toHaveText("The claim holds.");
  }
  await page.keyboard.press("n");
  await page.keyboard.press("d");
  await expect(verdict(page)).toHaveText("Without its cause it no longer holds.");
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
  await expect(verdict(page)).toHaveText("The claim holds.");
  await page.keyboard.press("n");
  await page.keyboard.press("d");
  await expect(verdict(page)).toHaveText("The claim holds.");
  const slider = panel(page).getByRole("slider", { name: /Round-trip time/ });
  await expect(slider).toHaveAttribute("aria-valuetext", "400 ms");
  await slider.press("Home");
  await expect(slider).toHaveAttribute("aria-valuetext", "20 ms");
  await expect(verdict(page)).toContainText("does not hold with these settings");
  await panel(page)
    .getByRole("button", { name: /Back to the step/ })
    .click();
  await expect(slider).toHaveAttribute("aria-valuetext", "400 ms");
  await expect(verdict(page)).toHaveText("The claim holds.");
  await page.keyboard.press("Control+z");
  await expect(slider).toHaveAttribute("aria-valuetext", "20 ms");
});

test("a link opens the step", async ({ open, page }) => {
  const [, of] = EXPERIMENTS;
  const view = { learn: { step: 2, applied: 1, done: ["bufferbloat"] } };
  const doc = { text: of.scenario, name: "x.toml", files: {}, algorithms: [], point: 0, seeds: 0, view };
  await open(`#${await toHash({ ...doc, experiment: of.id })}`);
  await expect(panel(page).getByRole("heading", { level: 3 })).toContainText(`3/${of.steps.length + 1}`);
  await panel(page).getByRole("button", { name: "Do it" }).click();
  await expect(verdict(page)).toHaveText("The claim holds.");
  // The figures of the steps before, which this page has not seen, are made for it.
  await expect(panel(page).getByText("where it was")).toBeVisible();
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
    .getByRole("button", { name: /Section 5.3.2/ })
    .first()
    .click();
  const table = panel(page).getByRole("table");
  await expect(table).toBeVisible();
  const row = table.getByRole("row").filter({ hasText: "mean queue" }).first();
  await expect(row).toContainText("[packets]");
  await expect(row.locator("td").nth(0)).toHaveText("84.06");
  // The run's own, and by how much it is off.
  await expect(row.locator("td").nth(1)).toHaveText(/^[\d.]+ \([+−][\d.]+ %\)$/, { timeout: 30_000 });
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
    await expect(verdict(page)).toHaveText("The claim holds.");
    await page.keyboard.press("n");
    await page.keyboard.press("d");
    await expect(verdict(page)).toHaveText("The claim holds.");
    await check(page);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(overflow, "nothing is wider than the window").toBeLessThanOrEqual(0);
    if (width < 600) {
      await panel(page).getByRole("button", { name: "Look at the curves" }).click();
      await expect(page.locator("#see")).toBeVisible();
    }
  });
}
