// The page as a whole: in every look, without anything that axe finds, and strict about where things come from.

import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { check, expect, LOOKS, ready, test } from "./harness.mjs";
import { firstLine } from "./setup.mjs";

const DIST = fileURLToPath(new URL("../../dist", import.meta.url));
/** The keys that show the panels. */
const PANELS = { results: "1", settings: "2", text: "3", experiments: "4" };

for (const { width, colorScheme } of LOOKS) {
  test.describe(`${width} px, ${colorScheme}`, () => {
    test.use({ viewport: { width, height: 800 }, colorScheme, hasTouch: width < 500 });

    test("nothing that axe finds in any panel, nothing wider than the window", async ({ open }) => {
      const page = await open();
      for (const [name, key] of Object.entries(PANELS)) {
        await test.step(name, async () => {
          await page.keyboard.press(key);
          await settled(page);
          await check(page);
          const wider = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
          expect(wider, "the page scrolls sideways").toBeLessThanOrEqual(0);
        });
      }
    });

    test("embedded: nothing that axe finds", async ({ open }) => {
      const page = await open("?embed=1");
      await settled(page);
      await check(page);
    });
  });
}

for (const width of [400, 1280]) {
  test(`what is painted first is the largest, and hardly anything moves later, at ${width} pixels`, async ({
    page,
    baseURL,
  }) => {
    await page.setViewportSize({ width, height: 800 });
    await page.addInitScript(() => {
      window.seen = { moved: 0, largest: "" };
      new PerformanceObserver((list) => {
        for (const { value } of list.getEntries()) window.seen.moved += value;
      }).observe({ type: "layout-shift", buffered: true });
      new PerformanceObserver((list) => {
        // The element itself may be gone when the browser tells of it.
        for (const { id } of list.getEntries()) window.seen.largest = id;
      }).observe({ type: "largest-contentful-paint", buffered: true });
    });
    await page.goto(baseURL);
    await ready(page);
    await settled(page);
    const { moved, largest } = await page.evaluate(() => window.seen);
    // It is in the page itself, and so needs neither scripts nor the simulator.
    expect(largest).toBe("about");
    expect(moved).toBeLessThan(0.05);
  });
}

/** Waits until the page draws and loads nothing for a while. */
async function settled(page) {
  await page.waitForLoadState("networkidle");
  await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

test("the policy forbids what is not the page's own", async ({ open, allow }) => {
  const page = await open();
  allow(/Content Security Policy|violates the following|Refused to|Fetch API cannot load|connect to '/);
  const refused = await page.evaluate(async () => {
    // A debugger's own expressions may evaluate texts, but nothing that runs after them.
    await new Promise((done) => setTimeout(done));
    const tries = {
      script: () => new Function("return 1")(),
      elsewhere: () => fetch("https://example.org/"),
    };
    const found = {};
    for (const [name, attempt] of Object.entries(tries)) {
      try {
        await attempt();
        found[name] = "done";
      } catch (error) {
        found[name] = error.name;
      }
    }
    const inline = document.createElement("script");
    inline.textContent = "window.injected = true";
    document.head.append(inline);
    found.inline = window.injected ?? "refused";
    return found;
  });
  expect(refused).toEqual({ script: "EvalError", elsewhere: "TypeError", inline: "refused" });
});

test("nothing is kept where other sites could read it", async ({ open, context }) => {
  await open();
  expect(await context.cookies()).toEqual([]);
});

test.describe("quell lab FOLDER", () => {
  test.skip(!process.env.QUELL, "QUELL does not name the command");

  test("shows a study that was run: its table, its diagrams, its digest", async ({ page, allow }) => {
    allow(/request to elsewhere: http:\/\/127\.0\.0\.1/); // This test has a server of its own.
    const folder = mkdtempSync(join(tmpdir(), "quell-lab-"));
    const scenario = `schema = 1
title = "A study of mine"
duration = "5 s"
seeds = [1, 2]
dumbbell = { rate = "2 Mbit/s", delay = "10 ms", buffer = "25 packets" }
aqm = [{ algorithm = "drop-tail" }, { algorithm = "codel" }]
flows = [{ name = "ftp", count = 2, rtt = "50 ms" }]
`;
    writeFileSync(join(folder, "mine.toml"), scenario);
    execFileSync(process.env.QUELL, ["run", "mine.toml", "--set", 'duration="4 s"', "--out", "study", "--quiet"], {
      cwd: folder,
      stdio: "ignore",
    });
    const { digest } = JSON.parse(readFileSync(join(folder, "study/run.json"), "utf8"));
    const command = spawn(process.env.QUELL, ["lab", "--no-open", "--dir", DIST, join(folder, "study")], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      await page.goto(await firstLine(command));
      await ready(page);
      await expect(page.getByText(/results that were opened: A study of mine, 4 replications/)).toContainText(digest);
      await page.getByRole("tab", { name: "Table" }).click();
      const table = page.locator("#see table").first();
      await expect(table.getByRole("rowheader", { name: "drop-tail" })).toBeVisible();
      await expect(table.getByRole("rowheader", { name: "codel" })).toBeVisible();
      await page.getByRole("tab", { name: "Diagrams" }).click();
      await expect(page.locator("#see .figure img").first()).toBeVisible();
      await check(page);
      // The scenario that was run is open too, as the command had changed it.
      await expect(page.getByRole("heading", { level: 1 })).toHaveText("A study of mine");
      await page.keyboard.press(PANELS.text);
      await expect(page.locator(".cm-content")).toContainText('duration = "4 s"');
    } finally {
      command.kill("SIGINT");
      rmSync(folder, { recursive: true });
    }
  });
});

test.describe("quell lab FILE", () => {
  test.skip(!process.env.QUELL, "QUELL does not name the command");

  test("opens a scenario, and again what it has become", async ({ page, allow }) => {
    allow(/request to elsewhere: http:\/\/127\.0\.0\.1/); // This test has a server of its own.
    const folder = mkdtempSync(join(tmpdir(), "quell-lab-"));
    const file = join(folder, "mine.toml");
    const scenario = (title) => `schema = 1
title = "${title}"
duration = "5 s"
dumbbell = { rate = "2 Mbit/s", delay = "10 ms", buffer = "25 packets" }
aqm = [{ algorithm = "drop-tail" }]
flows = [{ name = "ftp", count = 2, rtt = "50 ms" }] # A comment of mine
`;
    writeFileSync(file, scenario("My first"));
    const command = spawn(process.env.QUELL, ["lab", "--no-open", "--dir", DIST, file], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    try {
      await page.goto(await firstLine(command));
      await ready(page);
      await page.keyboard.press(PANELS.text);
      await expect(page.locator(".cm-content")).toContainText("My first");
      await expect(page.locator(".cm-content")).toContainText("A comment of mine");
      writeFileSync(file, scenario("My second"));
      await page.reload();
      await ready(page);
      await page.keyboard.press(PANELS.text);
      await expect(page.locator(".cm-content")).toContainText("My second");
    } finally {
      command.kill("SIGINT");
      rmSync(folder, { recursive: true });
    }
  });
});
