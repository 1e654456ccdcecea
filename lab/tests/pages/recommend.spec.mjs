// A queue for a link: the form, the simulation, its answer and what follows from it.

import { check, expect, LOOKS, test } from "./harness.mjs";

const panel = (page) => page.locator(".recommend");
const field = (page, name) => panel(page).getByLabel(name, { exact: true });

/** Opens the panel and fills in a link so slow that it takes little time. */
async function begin(page) {
  await page.keyboard.press("5");
  await expect(panel(page).getByRole("heading", { name: "A queue for your link" })).toBeVisible();
  await field(page, "Rate down").fill("1 Mbit/s");
  await field(page, "Rate up").fill("256 kbit/s");
  await field(page, "Kind of link").selectOption("adsl-pppoe-llcsnap");
}

for (const { width, colorScheme } of LOOKS) {
  test(`a link gets an answer (${width} px, ${colorScheme})`, async ({ open, page }) => {
    test.slow();
    await page.setViewportSize({ width, height: 800 });
    await page.emulateMedia({ colorScheme });
    await open();
    await begin(page);

    await field(page, "Router").fill("openwtr");
    await expect(panel(page).getByRole("alert")).toContainText('did you mean "openwrt"?');
    await expect(field(page, "Router")).toHaveAttribute("aria-invalid", "true");
    await field(page, "Router").fill("openwrt");
    await expect(panel(page).getByRole("alert")).toHaveCount(0);

    await field(page, "Router").press("Enter");
    await expect(panel(page).getByRole("progressbar")).toBeVisible();
    const answer = panel(page).getByRole("region", { name: "Answer" });
    await expect(answer).toBeVisible({ timeout: 90_000 });
    const rows = answer.locator("table").first().locator("tbody tr");
    await expect(rows.filter({ hasText: "today" })).toHaveCount(1);
    expect(await rows.count()).toBeGreaterThanOrEqual(4);
    await expect(answer.locator(".recommend-why li")).toHaveCount(await rows.count());
    await expect(answer.getByRole("textbox").first()).toHaveValue(/uci set sqm/);
    await check(page);
    const wider = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    expect(wider).toBeLessThanOrEqual(0);

    await field(page, "Hosts").fill("2");
    await expect(answer).toContainText("before you changed them");
    await answer.getByRole("button", { name: "Open as a scenario", exact: true }).click();
    await expect(page.locator("#toml")).toContainText("as `quell recommend` wrote it");
    await page.keyboard.press("Escape");
  });
}
