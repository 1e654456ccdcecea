// Settings, text, files, links: what a person changes, and that nothing of it is lost.

import { readFileSync } from "node:fs";
import { FIRST, toHash } from "../../dist-node/lab.mjs";
import { check, expect, LOOKS, ready, test } from "./harness.mjs";

const row = (page, path) => page.locator(`.field[data-path="${path}"]`);
const box = (page, path) => row(page, path).locator("input[type=text]").first();

/** The text as the page has it, read from a link, which holds the whole state. */
async function stateOf(page) {
  return page.evaluate(async () => {
    const keys = Object.keys(localStorage).filter((key) => key.startsWith("quell-lab:"));
    const own = sessionStorage.getItem("quell-lab:window");
    const key = keys.find((one) => one === `quell-lab:${own}`);
    return key ? JSON.parse(localStorage.getItem(key)).state : null;
  });
}
/** Waits until what was changed is kept, and the text has it. */
const expectText = (page, pattern) =>
  expect.poll(async () => (await stateOf(page))?.text ?? "", { message: `the text has ${pattern}` }).toMatch(pattern);

test.describe("the form", () => {
  test("a slider, a unit and a number change the text, and undo brings it back", async ({ page, open }) => {
    await open();
    await row(page, "dumbbell.rate").locator("input[type=range]").focus();
    await page.keyboard.press("End");
    await expectText(page, /^rate = "10 Gbit\/s"$/m);
    await page.keyboard.press("Control+z");
    await expect(box(page, "dumbbell.rate")).toHaveValue("20");
    await row(page, "dumbbell.rate").locator("select").selectOption("kbit/s");
    await expect(box(page, "dumbbell.rate")).toHaveValue("20000");
    await box(page, "dumbbell.buffer").fill("75 kB");
    await expect(box(page, "dumbbell.buffer")).toHaveValue("75 kB");
    await expectText(page, /^buffer = "75 kB" # 150 ms at this rate$/m);
    await page.getByRole("button", { name: /^Undo/ }).click();
    await page.getByRole("button", { name: /^Undo/ }).click();
    await expectText(page, /^rate = "20 Mbit\/s"\ndelay = "5 ms"\nbuffer = "250 packets"/m);
    await page.keyboard.press("Control+Shift+z");
    await expect(box(page, "dumbbell.rate")).toHaveValue("20000");
  });

  test("what is wrong stands at the field, as the command says it", async ({ page, open }) => {
    await open();
    await box(page, "dumbbell.rate").fill("20 Mbitt/s");
    const message =
      'home.toml:11: dumbbell.rate = "20 Mbitt/s": not a rate with its unit (bit/s, kbit/s, Mbit/s, Gbit/s), such as "10 Mbit/s"';
    await expect(row(page, "dumbbell.rate").getByText(message)).toBeVisible();
    await expect(box(page, "dumbbell.rate")).toHaveAttribute("aria-invalid", "true");
    await check(page, "aside");
    await page.getByRole("button", { name: "Show line 11 of the text" }).click();
    await expect(page.locator(".editor .cm-lintRange-error")).toHaveText('"20 Mbitt/s"');
  });

  test("what may have been meant is a button", async ({ page, open }) => {
    await open();
    await page.getByRole("tab", { name: "Text" }).click();
    const editor = page.getByRole("textbox", { name: "The scenario's text" });
    await editor.focus();
    await page.keyboard.press("Control+End");
    await page.keyboard.insertText("cuont = 3\n");
    await expect(page.getByText(/flows\[1\]\.cuont: unknown key; did you mean "count"\?/).first()).toBeVisible();
    await page.getByRole("button", { name: "Write “count”" }).first().click();
    await expectText(page, /^count = 3$/m);
    await expect(page.getByText(/unknown key/)).toHaveCount(0);
    // The page's undo takes back the editor's changes.
    await page.keyboard.press("Control+z");
    await page.keyboard.press("Control+z");
    await expectText(page, /measure_delay = true\n$/);
  });

  test("a wrong name is answered with the nearest, and all others are behind a line", async ({ page, open }) => {
    await open();
    const codel = FIRST.text.replace('"codel"', '"codle"');
    await page.goto("about:blank");
    await open(`#${await toHash({ ...FIRST, text: codel })}`);
    const banner = page.locator(".banner").first();
    await expect(banner).toContainText('unknown algorithm; did you mean "codel"?');
    await expect(banner.getByText("pi2")).toBeHidden();
    await banner.getByText("51 names in all").click();
    await expect(banner.getByText("pi2")).toBeVisible();
    await expect(page.getByText(/Known:/)).toHaveCount(0);
    await page.getByRole("button", { name: "Write “codel”" }).first().click();
    await expectText(page, /"codel"/);
    await expect(page.locator(".banner")).toHaveCount(0);
  });

  test("a quantity in other units is answered with a click that writes ours", async ({ page, open }) => {
    await open();
    for (const [path, typed, ours, text] of [
      ["dumbbell.rate", "20 Mbit", "20 Mbit/s", /^rate = "20 Mbit\/s"$/m],
      ["dumbbell.rate", "4 MB/s", "32 Mbit/s", /^rate = "32 Mbit\/s"$/m],
      ["dumbbell.buffer", "200 pkts", "200 packets", /^buffer = "200 packets"/m],
      ["dumbbell.buffer", "100 ms", "100 ms * dumbbell.rate", /^buffer = "100 ms \* dumbbell\.rate"/m],
    ]) {
      await box(page, path).fill(typed);
      await row(page, path)
        .getByRole("button", { name: `Write “${ours}”` })
        .click();
      await expectText(page, text);
      await expect(page.locator(".banner")).toHaveCount(0);
    }
  });

  test("a wrong text that is deleted is not complained of any more, and the unit stays", async ({ page, open }) => {
    await open();
    await row(page, "dumbbell.rate").locator("select").selectOption("kbit/s");
    // One that was right holds until another is typed.
    await box(page, "dumbbell.rate").fill("");
    await expectText(page, /^rate = "20000 kbit\/s"$/m);
    await box(page, "dumbbell.rate").fill("٣");
    await expect(page.locator(".banner").first()).toContainText("٣");
    await box(page, "dumbbell.rate").fill("");
    await expectText(page, /^rate = ""$/m);
    await expect(page.getByText("٣")).toHaveCount(0);
    await box(page, "dumbbell.rate").fill("3000");
    await expectText(page, /^rate = "3000 kbit\/s"$/m);
    await expect(page.locator(".banner")).toHaveCount(0);
  });

  test("every setting is found by a word of it", async ({ page, open }) => {
    await open();
    await page.getByRole("searchbox", { name: "Find a setting" }).fill("slow start");
    await expect(row(page, "flows[0].tcp.slow_start")).toBeVisible();
    await row(page, "flows[0].tcp.slow_start").locator("select").selectOption("hystart++");
    await expectText(page, /slow_start = "hystart\+\+"/);
    await page.getByRole("searchbox", { name: "Find a setting" }).fill("latency");
    await expect(row(page, "dumbbell.delay")).toBeVisible();
    await page.getByRole("searchbox", { name: "Find a setting" }).fill("no such thing");
    await expect(page.getByText("No setting has “no such thing”")).toBeVisible();
  });

  test("algorithms are added from the catalog, with parameters, and hidden", async ({ page, open }) => {
    await open();
    await page.getByRole("button", { name: "Add an algorithm" }).click();
    await page.getByRole("searchbox", { name: /Find among 51/ }).fill("pie");
    await page.getByRole("button", { name: /^Add pie:/ }).click();
    await expectText(page, /^\[\[aqm\]\]\nalgorithm = "pie"$/m);
    await page.getByRole("button", { name: "Done" }).click();
    await expect.poll(async () => (await stateOf(page)).algorithms).toEqual(["red", "codel", "fq-codel", "pie"]);
    await page.getByRole("button", { name: "Parameters of pie" }).click();
    await box(page, "aqm[4].target").fill("20 ms");
    await expectText(page, /algorithm = "pie"\ntarget = "20 ms"/);
    await page.getByRole("button", { name: "Remove pie" }).click();
    await expectText(page, /^(?![\s\S]*pie)/);
  });

  test("a distribution, a list of tables, a table that was not there", async ({ page, open }) => {
    await open();
    const rtt = row(page, "flows[0].rtt");
    await rtt.getByLabel("Form of Round-trip time").selectOption({ label: "linear" });
    await expectText(page, /rtt = \{ linear = \{ first = "100 ms", step = "100 ms" \} \}/);
    await rtt.locator('[data-path="flows[0].rtt.linear.step"] input[type=text]').fill("5 ms");
    await expectText(page, /rtt = \{ linear = \{ first = "100 ms", step = "5 ms" \} \}/);
    await page.getByRole("searchbox", { name: "Find a setting" }).fill("reverse.buffer way back");
    await page.getByRole("searchbox", { name: "Find a setting" }).fill("its buffer; default the forward");
    await box(page, "dumbbell.reverse.buffer").fill("30 packets");
    await expectText(page, /\[dumbbell\.reverse\]\nbuffer = "30 packets"|reverse = \{ buffer = "30 packets" \}/);
    await page.getByRole("searchbox", { name: "Find a setting" }).fill("");
    await page.getByRole("button", { name: "Add flows" }).click();
    await expectText(page, /^\[\[flows\]\]\nname = "more"\ncount = 2\nrtt = "50 ms"$/m);
    await page.getByRole("button", { name: "Settings of more" }).click();
    await page.getByRole("button", { name: "Move more up" }).click();
    await expectText(page, /name = "more"[\s\S]*name = "game"/);
  });

  test("another shape of network keeps rate, delay and buffer", async ({ page, open }) => {
    await open();
    await page.getByLabel("Shape", { exact: true }).selectOption("parking_lot");
    await expectText(page, /bottlenecks = 2/);
    await expect(box(page, "parking_lot.rate")).toHaveValue("20");
    await expect(page.locator(".banner")).toHaveCount(0);
    // Where its two links are chosen is said.
    await expect(page.getByText("2 links have queues.")).toBeVisible();
    await page.locator("#see").getByLabel(/^Link/).selectOption({ index: 1 });
    await expect(page.locator("#see").getByText("2 of 2")).toBeVisible();
  });
});

test.describe("what is kept", () => {
  test("a link holds the whole state", async ({ page, open, context }) => {
    await context.grantPermissions(["clipboard-read", "clipboard-write"]);
    await open();
    await box(page, "dumbbell.rate").fill("7 Mbit/s");
    await page.locator('.algorithm[data-path="aqm[0]"] input[type=checkbox]').uncheck();
    await expectText(page, /7 Mbit/);
    await expect.poll(async () => (await stateOf(page)).algorithms).toEqual(["red", "codel", "fq-codel"]);
    await page.getByRole("heading", { level: 1 }).click();
    await page.keyboard.press("s");
    await expect(page.getByText("The link is in the clipboard.")).toBeVisible();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    const other = await context.newPage();
    await other.goto(link);
    await ready(other);
    await expect(box(other, "dumbbell.rate")).toHaveValue("7");
    await expect(other.locator('.algorithm[data-path="aqm[0]"] input[type=checkbox]')).not.toBeChecked();
    await other.close();
  });

  test("a link that is cut, newer or hostile is said in words, and nothing is lost", async ({ page, open }) => {
    await open();
    await box(page, "dumbbell.rate").fill("7 Mbit/s");
    await expectText(page, /7 Mbit/);
    for (const [hash, words] of [
      ["s=AXicq1YqSa0oUbJSKs5ILE", /The link is incomplete: part of it is missing.*What you had is still here/],
      ["s=AnicAwAAAAAB", /newer version.*What you had is still here/],
      ["s=%3Cscript%3E", /characters that no link.*What you had is still here/],
      ["s=", /The link is incomplete: part of it is missing.*What you had is still here/],
    ]) {
      await page.evaluate((to) => {
        location.hash = to;
      }, hash);
      await expect(page.getByText(words).last()).toBeVisible();
    }
    await expect(box(page, "dumbbell.rate")).toHaveValue("7 Mbit/s");
  });

  test("what a hostile link holds is text and numbers, whatever it is", async ({ page, open }) => {
    const tag = "<img src=x onerror='window.injected=1'><script>window.injected=1</script>";
    const title = `title = "${tag}"`;
    const text = FIRST.text.replace(/^title = .*$/m, title).replace('name = "game"', `name = "${tag}"`);
    const view = { see: { tab: tag, curves: [tag, 7, null], metrics: tag, link: 7, span: "1e999", apart: tag } };
    const hostile = { ...FIRST, text, name: `${tag}.toml`, algorithms: [tag, "__proto__"], experiment: "__proto__" };
    for (const doc of [hostile, { ...hostile, view }, { ...hostile, point: 1e9, seeds: 1e6, experiment: tag }]) {
      await page.goto("about:blank");
      await open(`#${await toHash(doc)}`);
      await expect(page.getByRole("heading", { level: 1 })).toContainText("onerror");
      for (const key of "1234") await page.keyboard.press(key);
      expect(
        await page.evaluate(() => [window.injected, document.querySelectorAll("img, script:not([src])").length]),
      ).toEqual([undefined, 0]);
    }
  });

  test("a reload keeps what was changed, and so do two windows", async ({ page, open, context }) => {
    await open();
    await box(page, "dumbbell.rate").fill("7 Mbit/s");
    await expectText(page, /7 Mbit/);
    const other = await context.newPage();
    await other.goto(page.url());
    await ready(other);
    // A fresh window begins fresh, and offers the other's.
    await expect(box(other, "dumbbell.rate")).toHaveValue("20");
    await expect(other.getByText("Last time: Four queues on a home link")).toBeVisible();
    await box(other, "dumbbell.rate").fill("9 Mbit/s");
    await expectText(other, /9 Mbit/);
    await page.reload();
    await ready(page);
    await expect(box(page, "dumbbell.rate")).toHaveValue("7");
    await other.reload();
    await ready(other);
    await expect(box(other, "dumbbell.rate")).toHaveValue("9");
    await other.close();
  });

  test("a link that is opened where something was does not replace what was kept", async ({ page, open }) => {
    const linked = `#${await toHash({ ...FIRST, text: FIRST.text.replace("20 Mbit/s", "4 Mbit/s") })}`;
    await open();
    await box(page, "dumbbell.rate").fill("7 Mbit/s");
    await expectText(page, /7 Mbit/);
    await page.goto("about:blank");
    await open(linked);
    await expect(box(page, "dumbbell.rate")).toHaveValue("4");
    await box(page, "dumbbell.buffer").fill("9 packets");
    await expectText(page, /9 packets/);
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: /^Scenarios/ }).click();
    await page.getByRole("tab", { name: "Yours" }).click();
    await page.getByRole("button", { name: /^Four queues on a home link/ }).click();
    await expect(box(page, "dumbbell.rate")).toHaveValue("7");
  });

  test("the file of `quell lab FILE` is followed", async ({ page, open }) => {
    let given = { kind: "scenario", name: "disk.toml", text: FIRST.text, files: [], stamp: "1" };
    await page.route("**/opened.json", (route) => route.fulfill({ json: given }));
    await open("?opened");
    await expect(box(page, "dumbbell.rate")).toHaveValue("20");
    given = { ...given, text: FIRST.text.replace("20 Mbit/s", "6 Mbit/s"), stamp: "2" };
    await expect(box(page, "dumbbell.rate")).toHaveValue("6");
    await expect(page.getByText("disk.toml changed on disk. The page shows the new version.")).toBeVisible();
    await box(page, "dumbbell.buffer").fill("9 packets");
    given = { ...given, text: FIRST.text.replace("20 Mbit/s", "5 Mbit/s"), stamp: "3" };
    await page.getByRole("button", { name: "Take the file's" }).click();
    await expect(box(page, "dumbbell.rate")).toHaveValue("5");
    given = { kind: "error", message: "disk.toml:3: no", stamp: "4" };
    await expect(page.getByText("disk.toml:3: no")).toBeVisible();
  });

  test("the scenario is downloaded, and the command is said", async ({ page, open }) => {
    await open();
    const [file] = await Promise.all([page.waitForEvent("download"), page.keyboard.press("Control+s")]);
    expect(file.suggestedFilename()).toBe("home.toml");
    expect(readFileSync(await file.path(), "utf8")).toContain('title = "Four queues on a home link"');
    await page.getByRole("button", { name: "Share and keep" }).click();
    await page.getByRole("button", { name: /Run this on your machine/ }).click();
    await expect(page.getByLabel("Command", { exact: true })).toHaveValue("quell run home.toml");
    await check(page);
  });
});

test.describe("scenarios", () => {
  test("a load over a link", async ({ page, open }) => {
    await open();
    await page.getByRole("button", { name: /^Scenarios/ }).click();
    await page.getByRole("radio", { name: /^DSL/ }).check();
    await page.getByRole("radio", { name: /^call/ }).check();
    await check(page);
    await page.getByRole("button", { name: "Open call over dsl" }).click();
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("call over DSL");
  });

  test("one of the repository with the file that it names, and all others are scenarios", async ({ page, open }) => {
    await open();
    await page.keyboard.press("o");
    await page.getByRole("tab", { name: "Quell's scenarios" }).click();
    await page.getByRole("searchbox", { name: /Find among/ }).fill("trace");
    await check(page);
    await page.getByRole("button", { name: /^trace\.toml/ }).click();
    await expect(page.getByText("traces/drive.csv")).toBeVisible();
    await expect(page.locator(".banner")).toHaveCount(0);
  });

  test("files of one's own, several at once, and what is wrong with them", async ({ page, open }) => {
    await open();
    const give = async (...files) => {
      await page.getByRole("button", { name: /^Scenarios/ }).click();
      await page.getByRole("tab", { name: "Yours" }).click();
      const chooser = page.waitForEvent("filechooser");
      await page.getByRole("button", { name: "Choose files" }).click();
      await (await chooser).setFiles(
        files.map(([name, text]) => ({ name, mimeType: "text/plain", buffer: Buffer.from(text) })),
      );
    };
    const trace = readFileSync(new URL("../../../scenarios/trace.toml", import.meta.url), "utf8");
    const drive = readFileSync(new URL("../../../scenarios/traces/drive.csv", import.meta.url));
    await give(["mine.toml", trace]);
    await expect(page.getByText(/It also needs “traces\/drive\.csv”/)).toBeVisible();
    await expect(page.locator(".files").getByText("missing", { exact: true })).toBeVisible();
    await give(["drive.csv", drive]);
    await expect(page.locator(".files").getByText("missing", { exact: true })).toHaveCount(0);
    await give(["mine.toml", trace], ["drive.csv", drive], ["other.txt", "x"]);
    await expect(page.getByText(/does not name “other\.txt”/)).toBeVisible();
    await expect(page.locator(".banner")).toHaveCount(0);
    await give(["latin.toml", Buffer.from([0x74, 0xe9, 0x3d])]);
    await expect(page.getByText("“latin.toml” is not a text file.")).toBeVisible();
    await give(["a.toml", trace], ["b.toml", trace]);
    await expect(page.getByText("There are 2 scenarios among these files")).toBeVisible();
    await give(["zeros.toml", Buffer.alloc(1000)]);
    await expect(page.getByText("“zeros.toml” is not a text file.")).toBeVisible();
    await give(["empty.toml", ""]);
    await expect(page.getByText("“empty.toml” is empty. What you had is still here.")).toBeVisible();
    await give(["photo.png", Buffer.from([0x89, 0x50])]);
    await expect(page.getByText(/does not name “photo\.png”\. To open a scenario, choose/)).toBeVisible();
    await give(["large.toml", Buffer.alloc(4_020_000, 32)]);
    await expect(page.getByText(/“large.toml” is too large: 4.02 MB. The limit for a scenario is 4 MB/)).toBeVisible();
    await page.evaluate(() => {
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([new Uint8Array(49e6)], "huge.toml"));
      dispatchEvent(new DragEvent("drop", { dataTransfer, bubbles: true, cancelable: true }));
    });
    await expect(page.getByText(/“huge.toml” is too large: 49 MB/)).toBeVisible();
    // None of these replaced the scenario that was open.
    await expect(page.getByText("traces/drive.csv")).toBeVisible();
  });

  const BAD = [
    ["no TOML", "schema = 1\nduration = ", /not valid TOML/],
    ["an unknown key", 'schema = 1\nduratoin = "9 s"\n', /did you mean "duration"/],
    ["no unit", 'schema = 1\nduration = "9"\n', /not a time with its unit/],
    ["no network", 'schema = 1\nduration = "9 s"\n', /needs at least one \[\[aqm\]\]/],
    ["another version", 'schema = 2\nduration = "9 s"\n', /schema/],
    ["an unknown algorithm", (text) => text.replace("fq-codel", "fq-codle"), /did you mean "fq-codel"/],
    ["a negative count", (text) => text.replace("count = 4", "count = -4"), /count/],
    ["an expression in a circle", (text) => text.replace('"20 Mbit/s"', '"2 * dumbbell.rate"'), /rate/],
    ["nothing", "# To be written\n", /schema|duration/],
    ["deep nesting", `a = ${"[".repeat(2000)}`, /TOML|nest|recursion/i],
  ];
  test("ten bad files are opened, and what is wrong with each is said", async ({ page, open }) => {
    await open();
    const home = readFileSync(new URL("../../src/state/first.toml", import.meta.url), "utf8");
    for (const [i, [what, text, words]] of BAD.entries()) {
      const bad = typeof text === "function" ? text(home) : text;
      await page.evaluate(
        ([content, name]) => {
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File([content], name));
          const how = { dataTransfer, bubbles: true, cancelable: true };
          window.dispatchEvent(new DragEvent("dragover", how));
          window.dispatchEvent(new DragEvent("drop", how));
        },
        [bad, `bad-${i}.toml`],
      );
      const banner = page.locator(".banner").first();
      await expect(banner, what).toContainText(`bad-${i}.toml`);
      await expect(banner, what).toContainText(words);
    }
    for (const _ of BAD) await page.keyboard.press("Control+z");
    await expect(page.getByRole("heading", { level: 1 })).toHaveText("Four queues on a home link");
    await expect(page.locator(".banner")).toHaveCount(0);
  });
});

test.describe("every look", () => {
  for (const { width, colorScheme } of LOOKS) {
    test(`scenarios and shortcuts at ${width} pixels, ${colorScheme}`, async ({ page, open }) => {
      await page.setViewportSize({ width, height: 800 });
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await open();
      await page.getByRole("button", { name: /^Scenarios/ }).click();
      await check(page);
      await page.keyboard.press("Escape");
      await page.keyboard.press("?");
      await expect(page.getByRole("heading", { name: "Shortcuts" })).toBeVisible();
      await check(page);
    });
  }
});

test.describe("the first visit", () => {
  for (const width of [400, 1280]) {
    test(`a stranger is told what the page is, and has two ways to begin, at ${width} pixels`, async ({
      page,
      open,
    }) => {
      await page.setViewportSize({ width, height: 800 });
      await open();
      const welcome = page.getByRole("region", { name: "What this page is" });
      await expect(welcome).toContainText("Network queues, simulated packet by packet in your browser.");
      await check(page);
      await welcome.getByRole("button", { name: "Set up your own link" }).click();
      await expect(page.getByRole("radio", { name: /^DSL/ })).toBeVisible();
      // Who only looks at them has not begun.
      await page.keyboard.press("Escape");
      await expect(welcome).toBeVisible();
      await welcome.getByRole("button", { name: "Set up your own link" }).click();
      await page.getByRole("button", { name: /^Open bulk over/ }).click();
      await expect(welcome).toHaveCount(0);
      await page.evaluate(() => localStorage.clear());
      await page.reload();
      await ready(page);
      await welcome.getByRole("button", { name: "Try an experiment" }).click();
      await expect(page.getByText("Bufferbloat").first()).toBeVisible();
      // Who has been here is not told again.
      await page.reload();
      await ready(page);
      await expect(welcome).toHaveCount(0);
    });
  }

  test("what the buttons at the top do is written on them, on a phone too", async ({ page, open }) => {
    await page.setViewportSize({ width: 400, height: 800 });
    await open();
    const top = page.getByRole("banner");
    for (const word of ["Scenarios", "Run", "Share"]) await expect(top.getByText(word, { exact: true })).toBeVisible();
    expect((await top.boundingBox()).height).toBeLessThan(90);
  });
});

test("in a frame there are the results alone, with a way to the lab", async ({ page, open }) => {
  await page.setViewportSize({ width: 600, height: 400 });
  await open("?embed=1");
  // The smallest frame that docs/lab.md names shows a whole figure.
  const fits = async () => {
    const box = await page.locator(".figure canvas").first().boundingBox();
    return box !== null && box.height > 100 && box.y + box.height < 400;
  };
  await expect.poll(fits).toBe(true);
  await expect(page.getByRole("region", { name: "What this page is" })).toHaveCount(0);
  await expect(page.getByRole("link", { name: "Open in the lab" })).toHaveAttribute("href", /#s=/);
  await expect(page.getByRole("tab", { name: "Settings" })).toHaveCount(0);
  await check(page);
});

test("a browser without WebAssembly is told in words", async ({ page, baseURL }) => {
  await page.addInitScript(() => {
    delete window.WebAssembly;
  });
  await page.goto(baseURL);
  await expect(page.getByText("This browser has no WebAssembly")).toBeVisible();
});
