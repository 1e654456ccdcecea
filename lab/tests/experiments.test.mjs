// The guided experiments say what is so: each step's claim holds with every seed, and fails where its cause is taken away.
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

const LAB = fileURLToPath(new URL("..", import.meta.url));
const SEEDS = [1, 2, 3, 4, 5];

const engine = await Engine.load(readFileSync(process.env.QUELL_WASM ?? join(LAB, "dist-wasm/quell.wasm")));

async function run(experiment, edits, algorithms, seed) {
  const text = await edited(experiment.scenario, edits, (request) => engine.ask(request));
  const source = { text, name: `${experiment.id}.toml` };
  return algorithms.map((algorithm) => engine.ask({ do: "run", source, algorithm, seed, shown: false }));
}

for (const experiment of EXPERIMENTS) {
  test(`${experiment.id}: what it claims is so`, async () => {
    for (const seed of SEEDS) {
      const before = [];
      for (const [at, step] of experiment.steps.entries()) {
        const now = figuresOf(await run(experiment, editsOf(experiment, at), step.algorithms, seed));
        const seen = step.see(now, before);
        assert.doesNotMatch(seen, /\bnone\b|NaN|undefined|Infinity/, `seed ${seed}, ${step.title}`);
        assert.ok(step.holds(now, before), `seed ${seed}, "${step.title}" does not hold: ${seen}`);
        before.push(now);
      }
      const { control } = experiment;
      const step = experiment.steps[control.step];
      const edits = editsOf(experiment, control.step, control);
      const now = figuresOf(await run(experiment, edits, step.algorithms, seed));
      const holds = step.holds(now, before.slice(0, control.step));
      assert.ok(!holds, `seed ${seed}: "${step.title}" holds without its cause: ${step.see(now, before)}`);
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
    for (const { text, key } of sources) assert.ok(keys.has(key), `${id}: ${text}: no ${key} in docs/references.bib`);
    const checked = engine.ask({ do: "check", source: { text: scenario, name: `${id}.toml` } });
    for (const { estimated_packets } of checked.points) assert.ok(estimated_packets < 1e6, `${id} is large`);
    const labels = new Set(checked.algorithms.map(({ label }) => label));
    for (const { algorithms } of steps) for (const label of algorithms) assert.ok(labels.has(label), `${id}: ${label}`);
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
