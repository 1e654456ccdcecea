// The page after its first load, without a network, and when a newer one is there.

import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { writeServiceWorker } from "../../offline.mjs";
import { expect, ready, test } from "./harness.mjs";
import { serve } from "./server.mjs";

const DIST = fileURLToPath(new URL("../../dist", import.meta.url));

test.use({ serviceWorkers: "allow" });

/** Waits until the worker has kept the page and works. */
const kept = (page) => page.evaluate(() => navigator.serviceWorker.ready.then(({ active }) => active?.state));

test("the page is there again without a network", async ({ open, context, allow }) => {
  const page = await open();
  await expect.poll(() => kept(page)).toMatch(/activat/);
  await context.setOffline(true);
  // The worker asks for the newest page first, which cannot be had.
  allow(/ERR_INTERNET_DISCONNECTED/);
  await page.reload();
  await ready(page);
  await expect(page).toHaveTitle(/Quell/);
});

test("a newer page is taken at the next load, and kept", async ({ page, allow, baseURL: _ }) => {
  const folder = mkdtempSync(join(tmpdir(), "quell-lab-"));
  cpSync(DIST, folder, { recursive: true });
  const server = await serve(folder);
  try {
    allow(/request to elsewhere: http:\/\/127\.0\.0\.1/); // This test has a server of its own.
    await page.goto(server.url);
    await ready(page);
    await expect.poll(() => kept(page)).toMatch(/activat/);
    const html = readFileSync(join(folder, "index.html"), "utf8");
    writeFileSync(
      join(folder, "index.html"),
      html.replace(/name="description" content="[^"]*"/, 'name="description" content="A newer page"'),
    );
    writeServiceWorker(folder);
    await page.reload();
    await expect(page.locator("meta[name=description]")).toHaveAttribute("content", "A newer page");
    // The newer worker waits until no tab has the older page.
    await expect
      .poll(() =>
        page.evaluate(async () =>
          Boolean((await navigator.serviceWorker.ready) && (await navigator.serviceWorker.getRegistration())?.waiting),
        ),
      )
      .toBe(true);
    await page.goto("about:blank");
    await page.goto(server.url);
    await ready(page);
    await expect.poll(() => page.evaluate(() => caches.keys())).toHaveLength(1);
    server.close();
    allow(/ERR_CONNECTION_REFUSED/);
    await page.reload();
    await expect(page.locator("meta[name=description]")).toHaveAttribute("content", "A newer page");
  } finally {
    server.close();
    rmSync(folder, { recursive: true });
  }
});
