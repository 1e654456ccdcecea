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

/** What a network that wants its guests to sign in answers to every request. */
const PORTAL = "<!doctype html><title>Sign in to the airport's network</title>";

test("a network that hangs or answers in the server's place does not take the page away", async ({
  page,
  allow,
  baseURL: _,
}) => {
  allow(/request to elsewhere: http:\/\/127\.0\.0\.1/); // This test has a server of its own.
  let answers = () => false;
  const server = await serve(DIST, (name, response) => answers(name, response));
  try {
    await page.goto(server.url);
    await ready(page);
    await expect.poll(() => kept(page)).toMatch(/activat/);
    // The first tab is served by the worker without another load.
    await expect.poll(() => page.evaluate(() => Boolean(navigator.serviceWorker.controller))).toBe(true);
    const names = [];
    const portal = (how) => (name, response) => {
      names.push(name);
      return how(response);
    };
    for (const [what, how] of Object.entries({
      hangs: () => true,
      "hangs after the head": (response) => response.writeHead(200, { "Content-Type": "text/html" }).write("<!doc"),
      "answers with its own page": (response) => response.writeHead(200, { "Content-Type": "text/html" }).end(PORTAL),
      "sends to its own page": (response) => response.writeHead(302, { Location: "/sign-in" }).end(),
      fails: (response) => response.writeHead(503, { "Content-Type": "text/html" }).end("<h1>Bad gateway</h1>"),
    })) {
      names.length = 0;
      answers = portal((response) => Boolean(how(response)));
      const start = performance.now();
      await page.reload({ waitUntil: "commit" });
      expect(performance.now() - start, what).toBeLessThan(8_000);
      await ready(page);
      await expect(page, what).toHaveTitle(/Quell/);
      expect(names, "the server was asked first").toContain("index.html");
    }
    // Nothing of what came meanwhile was kept.
    const strange = await page.evaluate(async () => {
      const found = [];
      for (const name of await caches.keys()) {
        const cache = await caches.open(name);
        for (const request of await cache.keys()) {
          if ((await (await cache.match(request)).text()).includes("Sign in")) found.push(request.url);
        }
      }
      return found;
    });
    expect(strange).toEqual([]);
  } finally {
    server.close();
  }
});

test("what is not a file of the page is not kept, and the next load keeps the page", async ({
  page,
  allow,
  baseURL: _,
}) => {
  allow(/request to elsewhere: http:\/\/127\.0\.0\.1/);
  allow(/is not the file of this page/);
  let asked = 0;
  // Only the worker asks for the scenarios before anybody opens their list.
  const server = await serve(DIST, (name, response) => {
    if (!/^scenarios-.*\.json$/.test(name) || asked > 0) return false;
    asked += 1;
    response.writeHead(200, { "Content-Type": "text/html" }).end(PORTAL);
    return true;
  });
  try {
    await page.goto(server.url);
    await ready(page);
    await expect.poll(() => asked).toBe(1);
    await expect
      .poll(() => page.evaluate(async () => Boolean(await navigator.serviceWorker.getRegistration())))
      .toBe(false);
    await page.reload();
    await ready(page);
    await expect.poll(() => kept(page)).toMatch(/activat/);
  } finally {
    server.close();
  }
});

test("a newer page is taken at the next load, and kept", async ({ page, context, allow, baseURL: _ }) => {
  const folder = mkdtempSync(join(tmpdir(), "quell-lab-"));
  cpSync(DIST, folder, { recursive: true });
  const server = await serve(folder);
  const description = page.locator("meta[name=description]");
  const deploy = (text) => {
    const html = readFileSync(join(folder, "index.html"), "utf8");
    const newer = html.replace(/name="description" content="[^"]*"/, `name="description" content="${text}"`);
    writeFileSync(join(folder, "index.html"), newer);
    writeServiceWorker(folder);
  };
  const versions = () => page.evaluate(() => caches.keys());
  const waits = () => page.evaluate(async () => Boolean((await navigator.serviceWorker.getRegistration())?.waiting));
  try {
    allow(/request to elsewhere: http:\/\/127\.0\.0\.1/); // This test has a server of its own.
    await page.goto(server.url);
    await ready(page);
    await expect.poll(() => kept(page)).toMatch(/activat/);
    // The only tab: the newer worker takes over at once.
    deploy("A newer page");
    const [old] = await versions();
    await page.reload();
    await expect(description).toHaveAttribute("content", "A newer page");
    await expect.poll(async () => (await versions()).filter((name) => name !== old).length).toBe(1);
    await expect.poll(versions).toHaveLength(1);
    // Another tab has the older page: its files stay until it is gone.
    const other = await context.newPage();
    await other.goto(server.url);
    await ready(other);
    deploy("The newest page");
    await page.reload();
    await ready(page);
    await expect(description).toHaveAttribute("content", "The newest page");
    await expect.poll(waits).toBe(true);
    expect(await versions()).toHaveLength(2);
    await other.close();
    await page.reload();
    await expect.poll(versions).toHaveLength(1);
    server.close();
    allow(/ERR_CONNECTION_REFUSED/);
    await page.reload();
    await ready(page);
    await expect(description).toHaveAttribute("content", "The newest page");
  } finally {
    server.close();
    rmSync(folder, { recursive: true });
  }
});
