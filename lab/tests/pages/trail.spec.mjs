// Back and Forward: tabs and experiments are places, and values are none.

import { FIRST, toHash } from "../../dist-node/lab.mjs";
import { expect, test } from "./harness.mjs";

const results = (page) => page.locator("#see");
const tab = (page, name) => results(page).getByRole("tab", { name, exact: true });
const isAt = (page, name) => expect(tab(page, name)).toHaveAttribute("aria-selected", "true");
const rate = (page) => page.locator('.field[data-path="dumbbell.rate"] input[type=text]').first();

test("Back and Forward go along the tabs that were seen, and change no value", async ({ page, open }) => {
  await open();
  await tab(page, "Table").click();
  await rate(page).fill("7");
  await tab(page, "Delays").click();
  await page.getByRole("tab", { name: "Text" }).click();
  await page.goBack();
  await expect(page.getByRole("tab", { name: "Settings" })).toHaveAttribute("aria-selected", "true");
  await isAt(page, "Delays");
  await page.goBack();
  await isAt(page, "Table");
  await expect(rate(page)).toHaveValue("7");
  await page.goBack();
  await isAt(page, "Over time");
  await expect(rate(page)).toHaveValue("7");
  await page.goForward();
  await isAt(page, "Table");
  // A reload is still on the way.
  await page.reload();
  await isAt(page, "Table");
  await page.goBack();
  await isAt(page, "Over time");
  await expect(rate(page)).toHaveValue("7");
});

test("a value that changes all the time makes no entry", async ({ page, open }) => {
  await open();
  const before = await page.evaluate(() => history.length);
  await page.locator('.field[data-path="dumbbell.rate"] input[type=range]').focus();
  for (let i = 0; i < 20; i += 1) await page.keyboard.press("ArrowLeft");
  await expect(rate(page)).not.toHaveValue("20");
  expect(await page.evaluate(() => history.length)).toBe(before);
});

test("experiments are places, and one that is come back to is as it was left", async ({ page, open }) => {
  await page.setViewportSize({ width: 400, height: 800 });
  await open();
  const navigation = page.getByRole("navigation", { name: "Parts of the page" });
  await navigation.getByRole("tab", { name: "Experiments" }).click();
  await page.locator(".experiment").first().click();
  const heading = page.locator(".course h2");
  const title = await heading.textContent();
  await page.getByRole("button", { name: "Next", exact: true }).click();
  await expect(page.locator(".course h3")).toContainText(/^2\//);
  await navigation.getByRole("tab", { name: "Results" }).click();
  await page.goBack();
  await expect(heading).toHaveText(title);
  await page.goBack();
  await expect(page.getByRole("heading", { name: "Guided experiments" })).toBeVisible();
  await page.goBack();
  await expect(navigation.getByRole("tab", { name: "Results" })).toHaveAttribute("aria-selected", "true");
  await page.goForward();
  await page.goForward();
  await expect(heading).toHaveText(title);
  await expect(page.locator(".course h3")).toContainText(/^2\//);
});

test("Back to where a link was opened does not open it again", async ({ page, open }) => {
  const linked = async (mbit) =>
    `#${await toHash({ ...FIRST, text: FIRST.text.replace("20 Mbit/s", `${mbit} Mbit/s`) })}`;
  await open(await linked(4));
  await page.getByRole("tab", { name: "Text" }).click();
  await page.getByRole("tab", { name: "Settings" }).click();
  await rate(page).fill("7");
  await page.goBack();
  await page.goBack();
  await expect(page.getByRole("tab", { name: "Settings" })).toHaveAttribute("aria-selected", "true");
  await expect(rate(page)).toHaveValue("7");
  await expect.poll(() => page.evaluate(() => location.hash)).toBe("");
  // Another link is opened, and Back leads to the place before it.
  const hash = await linked(3);
  await page.evaluate((to) => {
    location.hash = to;
  }, hash);
  await expect(rate(page)).toHaveValue("3");
  await tab(page, "Table").click();
  await page.goBack();
  await isAt(page, "Over time");
  await expect(rate(page)).toHaveValue("3");
});
