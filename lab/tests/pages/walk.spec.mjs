// Ways through the whole page: by the keyboard alone, and back by undo.

import { expect, test } from "./harness.mjs";

/** The state that this window keeps, as a text; empty before the first change. */
const stateOf = (page) =>
  page.evaluate(() => {
    const kept = localStorage.getItem(`quell-lab:${sessionStorage.getItem("quell-lab:window")}`);
    return kept ? JSON.stringify(JSON.parse(kept).state) : "";
  });

/** Does something, and waits until the state has changed by it. */
async function changed(page, doing) {
  const before = await stateOf(page);
  await doing();
  await expect.poll(() => stateOf(page)).not.toBe(before);
  // Typed texts may follow each other; the state is kept after a pause.
  let last = "";
  await expect
    .poll(async () => {
      const [now, old] = [await stateOf(page), last];
      last = now;
      return now === old;
    })
    .toBe(true);
  return last;
}

test("undo takes back whatever was done, step by step, and redo does it again", async ({ page, open }) => {
  await open();
  const box = (path) => page.locator(`.field[data-path="${path}"] input[type=text]`).first();
  const steps = {
    "a value": () => box("dumbbell.rate").fill("7 Mbit/s"),
    "an algorithm hidden": () => page.locator('.algorithm[data-path="aqm[0]"] input[type=checkbox]').uncheck(),
    "a curve": () => page.getByRole("checkbox", { name: "Fairness" }).check(),
    "an algorithm removed": () => page.getByRole("button", { name: "Remove red" }).click(),
    "a group of flows": () => page.getByRole("button", { name: "Add flows" }).click(),
    "side by side": () => page.getByRole("button", { name: "Side by side" }).click(),
    "another shape": () => page.getByLabel("Shape", { exact: true }).selectOption("parking_lot"),
    "a scenario": async () => {
      await page.getByRole("button", { name: /^Scenarios/ }).click();
      await page.getByRole("radio", { name: /^DSL/ }).check();
      await page.getByRole("button", { name: /^Open .* over dsl/ }).click();
    },
    "an experiment": async () => {
      await page.keyboard.press("4");
      await page.getByRole("button", { name: "Bufferbloat" }).click();
    },
    "its step": async () => {
      await page.keyboard.press("n");
      await page.keyboard.press("d");
    },
  };
  const states = [];
  for (const [what, doing] of Object.entries(steps)) {
    states.push(await test.step(what, () => changed(page, doing)));
  }
  const [undo, redo] = ["Undo", "Redo"].map((name) => page.getByRole("banner").getByRole("button", { name }));
  const seen = new Set();
  while (await undo.isEnabled()) seen.add(await changed(page, () => undo.click()));
  // Every state that there was came back on the way, and the first example at its end.
  for (const [i, state] of states.slice(0, -1).entries()) expect(seen.has(state), Object.keys(steps)[i]).toBe(true);
  await expect(page.getByRole("heading", { level: 1 })).toHaveText("Four queues on a home link");
  while (await redo.isEnabled()) await changed(page, () => redo.click());
  expect(await stateOf(page)).toBe(states.at(-1));
});

test("the keyboard comes everywhere, is seen wherever it is, and is not caught", async ({ page, open }) => {
  await open();
  const names = [];
  for (let i = 0; i < 300; i += 1) {
    await page.keyboard.press("Tab");
    const at = await page.evaluate(() => {
      let now = document.activeElement;
      while (now?.shadowRoot?.activeElement) now = now.shadowRoot.activeElement;
      if (!now || now === document.body) return null;
      const { width, height, top, bottom, left, right } = now.getBoundingClientRect();
      const style = getComputedStyle(now);
      const inside = bottom > 0 && top < innerHeight && right > 0 && left < innerWidth;
      const name = now.getAttribute("aria-label") ?? now.labels?.[0]?.textContent ?? now.textContent;
      return { name: name?.trim() ?? "", seen: width > 0 && height > 0 && inside, ring: style.outlineStyle !== "none" };
    });
    if (!at) break;
    expect(at.seen, `${at.name} is in view`).toBe(true);
    expect(at.ring, `${at.name} shows that it has the focus`).toBe(true);
    names.push(at.name);
  }
  expect(names.length, "it goes through and comes out").toBeLessThan(300);
  expect(names[0]).toBe("Skip to the results");
  for (const name of [
    /^Scenarios/,
    /^Share/,
    /^Shortcuts/,
    "Try an experiment",
    "Settings",
    "Find a setting",
    "Parameters of codel",
    "Over time",
    "Play",
    "Time",
    "Queueing delay",
    "Side by side",
  ]) {
    const found = names.some((one) => (typeof name === "string" ? one.startsWith(name) : name.test(one)));
    expect(found, `${name} among ${names.join(" | ")}`).toBe(true);
  }
  // What opens over the page gives the focus back.
  const scenarios = page.getByRole("button", { name: /^Scenarios/ });
  await scenarios.focus();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(scenarios).toBeFocused();
});
