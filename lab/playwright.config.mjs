// The page's specs in Debian's Chromium: `npx playwright test`. CHROMIUM names another binary, QUELL the command whose
// `quell lab` then serves the page; without it, or with QUELL_LAB_URL of a server that runs, files are served from dist/.

import { existsSync } from "node:fs";
import { defineConfig } from "@playwright/test";

const found = [process.env.CHROMIUM, "/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];
const executablePath = found.find((path) => path && existsSync(path));
if (!executablePath) throw new Error("there is no Chromium: apt-get install chromium, or name one with CHROMIUM=path");

export default defineConfig({
  testDir: "tests/pages",
  outputDir: "test-results",
  // A test that passes at the second try has found something.
  retries: 0,
  forbidOnly: Boolean(process.env.CI),
  fullyParallel: true,
  workers: 2,
  timeout: 60_000,
  expect: { timeout: 15_000 },
  globalSetup: "./tests/pages/setup.mjs",
  reporter: process.env.CI ? "dot" : "list",
  use: {
    baseURL: process.env.QUELL_LAB_URL,
    browserName: "chromium",
    viewport: { width: 1280, height: 800 },
    // Its own tests let it work.
    serviceWorkers: "block",
    reducedMotion: "reduce",
    screenshot: "only-on-failure",
    launchOptions: {
      executablePath,
      args: [
        "--disable-gpu",
        "--force-color-profile=srgb",
        // Each test compiles the module again, and so only what it calls of it.
        "--js-flags=--wasm-lazy-compilation,--wasm-lazy-validation",
        // Each test has a window of its own, and the list below an address bar is a page, which nobody sees here.
        "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup",
      ],
    },
  },
});
