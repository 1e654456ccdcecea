// The guided experiments say what is so: each step's claim holds with every seed, and fails with the settings that the step
// names. The control's own sentence is true with every seed, and the claim that it judges is false.
//
// QUELL=path names the command, whose figures are then held against those of the page's simulator.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Engine } from "../dist-node/engine.mjs";
import { EXPERIMENTS, edited, editsOf, figuresOf } from "../dist-node/experiments.mjs";
import { references } from "../references.mjs";

const LAB = fileURLToPath(new URL("..", import.meta.url));
const SEEDS = process.env.EVERY === "1" ? [1, 2, 3, 4, 5] : [1, 2, 3];
/** The seeds with which the claims are seen to fail: enough to tell that they can. */
const FEW = [1, 2];

const engine = await Engine.load(readFileSync(process.env.QUELL_WASM ?? join(LAB, "dist-wasm/quell.wasm")));

async function run(experiment, edits, algorithms, seed) {
  const text = await edited(experiment.scenario, edits, (request) => engine.ask(request));
  const source = { text, name: `${experiment.id}.toml` };
  return algorithms.map((algorithm) => engine.ask({ do: "run", source, algorithm, seed, shown: false }));
}

/** What the page says, which must have a figure wherever it has a place for one. */
function readable(seen, where) {
  assert.doesNotMatch(seen, /\bnone\b|NaN|undefined|Infinity/, where);
  return seen;
}

for (const experiment of EXPERIMENTS) {
  test(`${experiment.id}: what it claims is so`, async () => {
    for (const seed of SEEDS) {
      const before = [];
      for (const [at, step] of experiment.steps.entries()) {
        const edits = editsOf(experiment, at);
        const now = figuresOf(await run(experiment, edits, step.algorithms, seed));
        const seen = readable(step.see(now, before), `seed ${seed}, ${step.title}`);
        assert.ok(step.holds(now, before), `seed ${seed}, "${step.claim}" does not hold: ${seen}`);
        if (FEW.includes(seed)) {
          const other = figuresOf(await run(experiment, [...edits, ...step.fails], step.algorithms, seed));
          const otherwise = readable(step.see(other, before), `seed ${seed}, ${step.title}, where it fails`);
          assert.ok(!step.holds(other, before), `seed ${seed}: "${step.claim}" holds whatever happens: ${otherwise}`);
        }
        before.push(now);
      }
      const { control } = experiment;
      const step = experiment.steps[control.step];
      const edits = editsOf(experiment, control.step, control);
      const now = figuresOf(await run(experiment, edits, step.algorithms, seed));
      const earlier = before.slice(0, control.step);
      const seen = readable(control.see(now, earlier), `seed ${seed}, the control`);
      assert.ok(!step.holds(now, earlier), `seed ${seed}: "${step.claim}" holds without ${control.without}: ${seen}`);
      assert.ok(control.holds(now, earlier), `seed ${seed}: the control shows something else: ${seen}`);
      const cause = before[control.step];
      assert.ok(!control.holds(cause, earlier), `seed ${seed}: the control's sentence is also true with its cause`);
    }
  });
}

test("experiments are complete", () => {
  const keys = new Set(
    [...readFileSync(join(LAB, "../docs/references.bib"), "utf8").matchAll(/^@\w+\{([^,]+),/gm)].map((m) => m[1]),
  );
  const unique = new Set(EXPERIMENTS.map(({ id }) => id));
  assert.equal(unique.size, EXPERIMENTS.length, "two experiments have one id");
  assert.equal(EXPERIMENTS.length, 12);
  for (const { id, minutes, steps, control, why, sources, further, scenario } of EXPERIMENTS) {
    assert.ok(minutes >= 2 && minutes <= 5, `${id} takes ${minutes} minutes`);
    assert.ok(steps.length >= 2 && steps.length <= 4, `${id} has ${steps.length} steps`);
    assert.ok(why.length >= 3 && why.length <= 5, `${id}: why has ${why.length} sentences`);
    assert.ok(further.length > 0 && sources.length > 0, id);
    assert.ok(steps[control.step], `${id}: the control's step is missing`);
    for (const { claim } of steps)
      assert.match(claim, /^[A-Z].*[^.]$/, `${id}: a claim is a sentence without its period`);
    for (const { fails } of steps) assert.ok(fails.length > 0, `${id}: nothing makes a claim false`);
    const claims = new Set(steps.map(({ claim }) => claim));
    assert.equal(claims.size, steps.length, `${id}: two steps make one claim`);
    assert.match(control.without, /^[^A-Z].*[^.]$|^BBR$/, `${id}: "Without ${control.without}, the claim ..."`);
    for (const { text, key } of sources) assert.ok(keys.has(key), `${id}: ${text}: no ${key} in docs/references.bib`);
    const checked = engine.ask({ do: "check", source: { text: scenario, name: `${id}.toml` } });
    for (const { estimated_packets } of checked.points) assert.ok(estimated_packets < 1e6, `${id} is large`);
    const labels = new Set(checked.algorithms.map(({ label }) => label));
    for (const { algorithms } of steps) for (const label of algorithms) assert.ok(labels.has(label), `${id}: ${label}`);
  }
});

/** The scenario of a suggestion to go further. */
const furtherText = ({ scenario, steps }, { step = 0, edits = [] }) =>
  edited(scenario, [...steps[step].edits, ...edits], (request) => engine.ask(request));

test("what goes further is a scenario that runs, and is what the sentence names", async () => {
  let changes = 0;
  for (const experiment of EXPERIMENTS) {
    for (const item of experiment.further) {
      const where = `${experiment.id}: ${item.say}`;
      if (/^(Set|Raise|Lower|Change|Add)\b/.test(item.say)) assert.ok(item.edits?.length > 0, `${where} no edits`);
      for (const [, path] of item.say.matchAll(/`((?:\w+\[\d+\]|dumbbell)\.[\w.]+|duration)`/g)) {
        const found = item.edits?.some((edit) => edit.path === path);
        assert.ok(found, `${where} no edit of ${path}`);
      }
      // A path and its value; "Set `path` to 15 ms" and the like.
      const set =
        /^Set `([^`]+)`(?: (?:and|in) `([^`]+)`)? to ("?)([\d.]+(?: [kMG]?bit\/s| [mu]?s)?|[a-z]+\d?)\3[\s:.,]/.exec(
          item.say,
        );
      for (const path of set ? [set[1], set[2]].filter(Boolean) : []) {
        const { value } = item.edits.find((edit) => edit.path === path);
        assert.equal(value.replaceAll('"', "").startsWith(set[4]), true, `${where} sets ${path} to ${value}`);
      }
      for (const [, name] of item.say.matchAll(/(?:Add|or|and|add) `([a-z][\w-]*)`/g)) {
        if (!/^(Add|.* add )/.test(item.say)) continue;
        assert.ok(
          item.edits.some(({ value }) => value?.includes(`"${name}"`)),
          `${where} no edit adds ${name}`,
        );
      }
      const text = await furtherText(experiment, item);
      const { points } = engine.ask({ do: "check", source: { text, name: `${experiment.id}.toml` } });
      for (const { left_out } of points) assert.deepEqual(left_out, [], where);
      changes += item.edits ? 1 : 0;
    }
  }
  assert.ok(changes > 30, `${changes} changes`);
});

test("what a suggestion says of the outcome is so", async () => {
  let judged = 0;
  for (const experiment of EXPERIMENTS) {
    for (const item of experiment.further.filter(({ holds }) => holds)) {
      const { step = 0, edits, algorithms } = item;
      const before = editsOf(experiment, step);
      for (const seed of SEEDS) {
        const now = figuresOf(await run(experiment, [...before, ...edits], algorithms, seed));
        const without = figuresOf(await run(experiment, before, experiment.steps[step].algorithms, seed));
        assert.ok(item.holds(now, without), `${experiment.id}, seed ${seed}: ${item.say}`);
        if (algorithms.every((label) => without.labels.includes(label))) {
          assert.ok(!item.holds(without, without), `${experiment.id}, seed ${seed}: it is so without the change`);
        }
        judged += 1;
      }
    }
  }
  assert.ok(judged >= 9 * SEEDS.length, `${judged} judged`);
});

test("synchronization: the losses of its explanation are those of its runs", () => {
  const { scenario, why } = EXPERIMENTS.find(({ id }) => id === "synchronization");
  assert.ok(why.some((sentence) => sentence.includes("about twenty packets, a tenth of the arrivals")));
  const source = { text: scenario, name: "x.toml" };
  for (const seed of SEEDS) {
    const { series } = engine.ask({ do: "run", source, algorithm: "drop-tail", seed, shown: true });
    const { time_s, dropped_packets } = series[0];
    // Drops less than two bins apart are of one event.
    const events = [];
    let last = Number.NEGATIVE_INFINITY;
    dropped_packets.forEach((drops, at) => {
      if (time_s[at] < 20 || drops === 0) return;
      if (at - last > 2) events.push(0);
      events[events.length - 1] += drops;
      last = at;
    });
    const mean = events.reduce((sum, drops) => sum + drops, 0) / events.length;
    assert.ok(Math.abs(mean - 20) < 3, `seed ${seed}: ${mean} packets in an event`);
    // What the link sends in a full round trip, 100 ms and 80 ms of queue, comes on top of them.
    const arrivals = mean + 1250 * 0.18;
    assert.ok(Math.abs(mean / arrivals - 0.1) < 0.03, `seed ${seed}: ${mean / arrivals} of the arrivals`);
  }
});

test("sources have links where the bibliography has them", () => {
  const cited = references(join(LAB, ".."));
  for (const { id, sources } of EXPERIMENTS) {
    for (const { text, key } of sources) {
      const rfc = /^RFC (\d+)/.exec(text);
      if (rfc) assert.equal(cited[key].url, `https://www.rfc-editor.org/rfc/rfc${rfc[1]}`, id);
      else if (cited[key].url) assert.match(cited[key].url, /^https:\/\/[\w.-]+\/[\w./-]+$/, id);
    }
  }
  const links = Object.values(cited).filter(({ url }) => url).length;
  assert.ok(links > 15, `${links} links`);
});

test("rate-and-queue: the theory says how long a round trip each controller bears", async () => {
  const experiment = EXPERIMENTS.find(({ id }) => id === "rate-and-queue");
  const why = experiment.why.find((sentence) => sentence.includes("linear model"));
  const [pi, vrc] = [/about (\d+) ms and VRC/, /VRC up to about (\d+) ms/].map((at) => Number(at.exec(why)[1]));
  const verdicts = async (rtt) => {
    const text = await edited(experiment.scenario, [{ path: "flows[0].rtt", value: `"${rtt} ms"` }], (r) =>
      engine.ask(r),
    );
    const { assessments } = engine.ask({ do: "theory", source: { text, name: "x.toml" } });
    return Object.fromEntries(assessments.map(({ label, verdict }) => [label, verdict]));
  };
  assert.equal((await verdicts(pi)).pi, "stable");
  assert.equal((await verdicts(pi + 5)).pi, "unstable");
  assert.equal((await verdicts(vrc)).vrc, "stable");
  assert.equal((await verdicts(vrc + 5)).vrc, "unstable");
});

test("instability: the theory's verdict of each step", async () => {
  const experiment = EXPERIMENTS.find(({ id }) => id === "instability");
  const found = [];
  for (const at of experiment.steps.keys()) {
    const text = await edited(experiment.scenario, editsOf(experiment, at), (request) => engine.ask(request));
    const [{ verdict, margins }] = engine.ask({ do: "theory", source: { text, name: "x.toml" } }).assessments;
    found.push({ verdict, gain: margins?.gain });
  }
  assert.deepEqual(
    found.map(({ verdict }) => verdict),
    ["stable", "unstable", "stable", "stable"],
  );
  assert.ok(found[3].gain > 4, `with the safe gains at 80 ms the margins are wide: ${found[3].gain}`);
});

test("l4s-coupling: the figures of its explanation are those of its runs", async () => {
  const experiment = EXPERIMENTS.find(({ id }) => id === "l4s-coupling");
  const why = experiment.why.find((sentence) => sentence.includes("eq. 7"));
  const [trips, k, rates] = [/ratio is about ([\d.]+),/, /k would be ([\d.]+)\./, /about ([\d.]+) times/].map((at) =>
    Number(at.exec(why)[1]),
  );
  for (const seed of SEEDS) {
    const now = figuresOf(await run(experiment, [], ["dualpi2"], seed));
    const of = (metric, scope) => now.of("dualpi2", metric, { scope });
    const ratio = of("round_trip_time_mean_s", "classic") / of("round_trip_time_mean_s", "l4s");
    assert.ok(Math.abs(ratio - trips) < 0.02, `seed ${seed}: round trips ${ratio}`);
    assert.ok(Math.abs(1.64 * ratio - k) < 0.05, `seed ${seed}: k ${1.64 * ratio}`);
    const measured = of("goodput_bps", "l4s") / of("goodput_bps", "classic");
    assert.ok(Math.abs(measured - rates) < 0.08, `seed ${seed}: rates ${measured}`);
  }
});

test("both ends of every slider are scenarios", async () => {
  for (const experiment of EXPERIMENTS) {
    for (const [at, step] of experiment.steps.entries()) {
      for (const slider of step.sliders ?? []) {
        for (const end of [slider.least, slider.start, slider.most]) {
          const value = slider.unit ? `"${end} ${slider.unit}"` : `${end}`;
          const edits = [...editsOf(experiment, at), { path: slider.path, value }];
          const text = await edited(experiment.scenario, edits, (request) => engine.ask(request));
          engine.ask({ do: "check", source: { text, name: `${experiment.id}.toml` } });
        }
      }
    }
  }
});

test("docs/lab.md lists the experiments", () => {
  const file = join(LAB, "../docs/lab.md");
  const [begin, end] = ["<!-- experiments:begin -->\n", "<!-- experiments:end -->"];
  const page = readFileSync(file, "utf8");
  const [head, rest] = page.split(begin);
  assert.ok(rest?.includes(end), `${file} has no place for the experiments`);
  const row = ({ title, minutes, claim }, at) => `| ${at + 1} | ${title} | ${minutes} | ${claim} |`;
  const table = ["| | experiment | minutes | claim |", "| --- | --- | --- | --- |", ...EXPERIMENTS.map(row)];
  const written = `${head}${begin}${table.join("\n")}\n${rest.slice(rest.indexOf(end))}`;
  if (process.env.QUELL_UPDATE_DOCS) writeFileSync(file, written);
  else assert.equal(page, written, "QUELL_UPDATE_DOCS=1 node --test lab/tests/experiments.test.mjs writes it again");
});

const command = process.env.QUELL;
test("the command gives the same figures", { skip: !(command && existsSync(command)) }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "quell-experiments-"));
  try {
    for (const experiment of EXPERIMENTS) {
      const at = experiment.steps.length - 1;
      const step = experiment.steps[at];
      const edits = editsOf(experiment, at);
      const file = join(folder, `${experiment.id}.toml`);
      writeFileSync(file, await edited(experiment.scenario, edits, (request) => engine.ask(request)));
      const options = ["--no-cache", "--no-report", "--quiet", "--series", "none", "--classes", "--segments"];
      const which = ["--seed", "3", "--aqm", step.algorithms.join(","), "--out", join(folder, experiment.id)];
      const told = JSON.parse(
        execFileSync(command, ["run", file, ...options, ...which, "--format", "json"], { encoding: "utf8" }),
      );
      const here = figuresOf(await run(experiment, edits, step.algorithms, 3));
      let compared = 0;
      for (const { algorithm, scope, segment, metrics } of told.points[0].rows) {
        for (const [metric, value] of Object.entries(metrics)) {
          const place = { scope, ...(segment === null ? {} : { segment }) };
          const ours = here.of(algorithm, metric, place);
          if (value === null) assert.ok(Number.isNaN(ours), `${experiment.id}: ${algorithm} ${metric} is ${ours}`);
          else assert.equal(ours, value.mean, `${experiment.id}: ${algorithm} ${metric} ${scope} ${segment}`);
          compared += value === null ? 0 : 1;
        }
      }
      assert.ok(compared > 30, `${experiment.id}: ${compared} figures only`);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
