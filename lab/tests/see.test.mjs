// The parts of the results that need no page: thinning, the clock of playback, the order of runs, files.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import fc from "fast-check";
import * as see from "../dist-node/see.mjs";
import { engine } from "./wasm.mjs";

const samples = (values, step = 0.1) => ({
  time: Float64Array.from(values, (_, i) => (i + 1) * step),
  values: Float64Array.from(values),
});

test("thinning keeps the extremes of each bucket, in their order", () => {
  const all = samples([0, 9, 1, 1, -5, 1, 2, 3, 4, 5, 6, 7], 0.1);
  const { x, ys, bucket_s } = see.thin([all], 0.6);
  assert.equal(bucket_s, 0.6);
  // Samples at 0.1 ... 0.5 are in the first bucket: 9 came before -5.
  assert.deepEqual(ys[0].slice(0, 2), [9, -5]);
  assert.deepEqual(
    x.slice(0, 2).map((t) => +t.toFixed(3)),
    [0.15, 0.45],
  );
});

test("thinning loses no peak and invents none, of any curves", () => {
  const value = fc.oneof(fc.double({ min: -1e6, max: 1e6, noNaN: true }), fc.constant(Number.NaN));
  fc.assert(
    fc.property(
      fc.array(value, { minLength: 1, maxLength: 500 }),
      fc.double({ min: 1e-3, max: 20, noNaN: true }),
      (values, bucket) => {
        const { ys, x } = see.thin([samples(values)], bucket);
        const [before, after] = [see.summary(values), see.summary(ys[0])];
        if (before.count === 0) assert.equal(after.count, 0);
        else {
          assert.equal(after.least, before.least);
          assert.equal(after.most, before.most);
        }
        assert.equal(x.length, ys[0].length);
        assert.ok(x.every((t, i) => i === 0 || t > x[i - 1]));
        for (const v of ys[0]) assert.ok(v === null || values.includes(v));
      },
    ),
  );
});

test("a window that moves shows the same points of what is in it", () => {
  const values = Array.from({ length: 5000 }, (_, i) => Math.sin(i / 7) * i);
  const thinned = see.thin([samples(values, 0.01)], 0.1);
  const inside = (from, to) => {
    const [x, y] = see.within(thinned, from, to);
    return new Map(x.map((t, i) => [t, y[i]]));
  };
  const [first, second] = [inside(10, 20), inside(10.037, 20.037)];
  let common = 0;
  for (const [t, v] of second) {
    if (!first.has(t)) continue;
    common += 1;
    assert.equal(first.get(t), v);
  }
  assert.ok(common > 190);
  // A point more on each side: lines reach the edges.
  assert.ok([...first.keys()][0] < 10 && [...first.keys()].at(-1) >= 20);
});

test("curves of unlike lengths have common places", () => {
  const { x, ys } = see.thin([samples([1, 2, 3, 4]), samples([5, 6])], 0.01);
  assert.equal(x.length, 4);
  assert.deepEqual(ys[1], [5, 6, null, null]);
  const other = see.thin([samples([1, 2, 3, 4], 0.1), samples([5, 6], 0.15)], 0);
  assert.equal(other.ys[0].length, other.x.length);
  assert.equal(other.ys[1].length, other.x.length);
  assert.equal(see.summary(other.ys[1]).most, 6);
});

test("a value is of the step in which a time lies", () => {
  const all = samples([10, 20, 30], 1);
  assert.equal(see.valueAt(all, 0.5), 10);
  assert.equal(see.valueAt(all, 1), 10);
  assert.equal(see.valueAt(all, 1.01), 20);
  // A run need not end with a step.
  assert.equal(see.valueAt(all, 3.5), 30);
  assert.ok(Number.isNaN(see.valueAt(all, 4.5)));
});

test("strips and curves say the same at every instant, and with as many digits", () => {
  const series = piece(1, 7, ["web"], []);
  // Steps of times that floating point does not have.
  series.time_s = series.time_s.map((_, i) => (i + 1) * 0.1);
  const run = see.drawn("red", [series], []);
  fc.assert(
    fc.property(fc.oneof(fc.double({ min: 0, max: 0.9, noNaN: true }), fc.constantFrom(...series.time_s)), (t) => {
      const m = see.moment(run.links[0], ["web"], t);
      const [delay] = see.panels("delay", [run], "l", false);
      const [queue] = see.panels("queue", [run], "l", false);
      assert.equal(see.valueAt(delay.curves[0].samples, t), m ? m.delay_s * 1e3 : Number.NaN);
      assert.equal(see.valueAt(queue.curves[0].samples, t), m ? m.packets : Number.NaN);
    }),
  );
});

test("a peak of the warm-up does not hide what is measured, and is marked", () => {
  const all = samples([2, 90, 3, 4, 5, 4], 1);
  assert.equal(see.axisEnd([all], 2), 5);
  assert.deepEqual(see.peak(all), { time: 2, value: 90 });
  // What is not much higher is shown, and all is if nothing is measured.
  assert.equal(see.axisEnd([samples([2, 7, 3, 5], 1)], 2), 8);
  assert.equal(see.axisEnd([all], 99), 100);
  assert.equal(see.axisEnd([all], 2, 30), 30);
  const look = { color: "#000000", dashes: [], width: 1 };
  const of = {
    title: "t",
    x: "x",
    y: "y",
    end: 6,
    warmup: 2,
    events: [],
    curves: [{ label: "a", look, samples: all }],
  };
  assert.match(see.svg({ ...of, most: 5 }), /up to 90/);
  assert.doesNotMatch(see.svg({ ...of, most: 100 }), /up to/);
});

test("numbers on an axis are as long as each other", () => {
  for (const most of [0.003, 0.8, 1, 20, 150, 9000]) {
    const texts = [0.11, 0.5, 0.999].map((share) => see.fixed(share * most, most));
    const points = texts.map((t) => t.split(".")[1]?.length ?? 0);
    assert.equal(new Set(points).size, 1, texts.join(" "));
    assert.ok(
      texts.every((t) => t.length <= 8),
      texts.join(" "),
    );
  }
  assert.equal(see.fixed(138.84, 150), "139");
  assert.equal(see.fixed(21, 30, "packets"), "21.0");
  assert.equal(see.fixed(Number.NaN, 1), "–");
});

test("bytes have a unit in which the largest has few digits", () => {
  assert.deepEqual(
    [0, 900, 64e3, 1.2e6, 3e9].map((most) => see.byteUnit(most)[0]),
    ["B", "B", "kB", "MB", "GB"],
  );
});

// ---- Looks ---------------------------------------------------------------------------------------

const rust = (path) => readFileSync(new URL(`../../crates/${path}`, import.meta.url), "utf8");

test("curves of one algorithm are unlike, in its color and none of another", () => {
  for (const groups of [
    Array(12).fill("a"),
    ["a", "b", "c"],
    [...Array(6).fill("a"), ...Array(6).fill("b")],
    [...Array(7).fill("a"), "b", "c", "c", "c", "c"],
  ]) {
    const looks = see.places(groups).map((place) => JSON.stringify(see.part(place)));
    assert.equal(new Set(looks).size, groups.length, groups.join(" "));
  }
  const style = rust("view/src/style.rs");
  const list = (name) => [...new RegExp(`${name}: \\[&str; 7\\] = \\[([^\\]]*)`).exec(style)[1].matchAll(/#\w{6}/g)];
  for (const [name, ground] of [
    ["COLORS", see.GROUND.light],
    ["DARK", see.GROUND.dark],
  ]) {
    const colors = list(name).map(([color]) => color);
    assert.equal(colors.length, 7);
    for (const color of colors) {
      for (const shade of [1, 2]) {
        const ink = see.mixed(color, shade, ground);
        assert.ok(!colors.includes(ink), `${ink} is the color of another algorithm`);
        assert.ok(see.contrast(ink, ground) >= 3, `${ink} on ${ground}: ${see.contrast(ink, ground)}`);
      }
    }
  }
  const dashes = /DASHES: .*\n?\s*\[(.*)\];/.exec(style)[1];
  assert.deepEqual(JSON.parse(`[${dashes.replaceAll("&", "")}]`), see.DASHES);
});

test("the motion of a queue is said with what was measured, and with the rule", () => {
  const settled = /const SETTLED: f64 = ([\d.]+);/.exec(rust("analysis/src/oscillation.rs"))[1];
  assert.equal(see.SETTLED, Number(settled));
  const of = { mean_packets: 220.8, period_s: 2.5 };
  const words = (motion, swing) => see.motionOf("The queue", { ...of, motion, swing });
  assert.match(words("settled", 0.132), /by about 13% around its mean of 221 packets\. Up to 50% counts as settled/);
  assert.match(words("oscillating", 1.1), /110%.* More than 50% with a period of 2.5 s counts as oscillating/);
  assert.match(words("irregular", 0.58), /58%.* without one period/);
});

test("axes end at round numbers", () => {
  for (const [most, end] of [
    [0, 1],
    [0.97, 1],
    [1, 1],
    [1.01, 1.2],
    [73, 80],
    [640, 800],
    [0.0021, 0.0025],
  ]) {
    assert.equal(+see.ceiling(most).toPrecision(6), end);
  }
  assert.deepEqual(see.ticks(10, 5), [0, 2, 4, 6, 8, 10]);
  assert.deepEqual(see.ticks(0.3, 3), [0, 0.1, 0.2, 0.3]);
});

// ---- The clock -----------------------------------------------------------------------------------

const whole = { ...see.STOPPED, end: 10, front: 10 };

test("time passes by the speed, and playback ends at the end", () => {
  let clock = see.toggle({ ...whole, speed: 5 });
  clock = see.tick(clock, 0.05);
  assert.equal(+clock.time.toFixed(9), 0.25);
  clock = see.tick({ ...clock, time: 9.9 }, 0.05);
  assert.deepEqual([clock.time, clock.playing], [10, false]);
  // Again from the beginning.
  assert.equal(see.toggle(clock).time, 0);
});

test("what was not watched does not pass", () => {
  const clock = see.tick({ ...whole, playing: true, speed: 1 }, 30);
  assert.ok(clock.time <= 0.1);
});

test("playback waits for a run that goes on", () => {
  let clock = { ...whole, playing: true, speed: 100, front: 2 };
  for (let i = 0; i < 50; i++) clock = see.tick(clock, 0.016);
  assert.deepEqual([clock.time, clock.playing], [2, true]);
  clock = see.tick(see.fitted(clock, 10, 4), 0.016);
  assert.ok(clock.time > 2 && clock.time <= 4);
  // As it happens: at the front, until the run is over.
  clock = see.tick({ ...clock, speed: "live", front: 7 }, 0.016);
  assert.deepEqual([clock.time, clock.playing], [7, true]);
  clock = see.tick({ ...clock, front: 10 }, 0.016);
  assert.deepEqual([clock.time, clock.playing], [10, false]);
});

test("another run keeps the time, or the end", () => {
  assert.equal(see.fitted({ ...whole, time: 4 }, 20, 20).time, 4);
  assert.equal(see.fitted({ ...whole, time: 10 }, 20, 20).time, 20);
  assert.equal(see.fitted({ ...whole, time: 8 }, 5, 5).time, 5);
  assert.equal(see.seek(whole, 99).time, 10);
  assert.equal(see.seek(whole, Number.NaN).time, 0);
});

test("speeds and changes have neighbors", () => {
  assert.equal(see.shifted(1, 1), 2);
  assert.equal(see.shifted(100, 1), "live");
  assert.equal(see.shifted("live", 1), "live");
  assert.equal(see.shifted(0.1, -1), 0.1);
  assert.equal(see.shifted(3, 1), 10);
  assert.equal(see.neighbor([5, 1, 9], 5, 1), 9);
  assert.equal(see.neighbor([5, 1, 9], 5, -1), 1);
  assert.equal(see.neighbor([5], 5, 1), undefined);
  assert.equal(see.speedFor(60), 5);
  assert.equal(see.speedFor(12), 1);
});

// ---- Runs ----------------------------------------------------------------------------------------

/** A pool whose runs end when the test says so. */
function fake(size = 2) {
  const begun = [];
  const canceled = [];
  const run = (job, on) => {
    const one = { job, on };
    one.answer = new Promise((resolve, reject) => {
      one.end = async (more = {}) => {
        resolve({ algorithm: job.label, seed: job.seed, series: [{ time_s: [1] }], windows: [], packed: "x", ...more });
        await settled();
      };
      one.fail = async (why) => {
        reject(new Error(why));
        await settled();
      };
    });
    begun.push(one);
    return {
      answer: one.answer,
      cancel: () => {
        canceled.push(one);
        one.canceled = true;
      },
    };
  };
  return { size, run, begun, canceled, active: () => begun.filter((b) => !b.canceled && !b.over) };
}
const settled = () => new Promise((done) => setImmediate(done));

function made(pool = fake()) {
  let time = 0;
  const said = [];
  let waits = null;
  const later = (act) => {
    waits = act;
    return () => {
      waits = null;
    };
  };
  const runner = new see.Runner({ pool, now: () => time, publish: (r) => said.push(r), later });
  const last = () => {
    waits?.();
    return said.at(-1);
  };
  return { runner, pool, said, pass: (s) => (time += s), last };
}
const plan = (more = {}) => ({
  key: "a",
  source: {},
  point: 0,
  labels: ["red", "codel"],
  seeds: [1],
  packets: 1e5,
  memory: 1e6,
  flows: 4,
  duration_s: 10,
  command: "quell run a.toml",
  ...more,
});
const by = (runs, label) => runs.each.find((r) => r.label === label);

test("first seeds of all algorithms come first, with series; further ones after them, in pairs", async () => {
  const { runner, pool, last } = made();
  runner.follow(plan({ seeds: [1, 2] }));
  assert.deepEqual(
    pool.begun.map((b) => [b.job.label, b.job.seed, b.job.series]),
    [
      ["red", 1, true],
      ["codel", 1, true],
    ],
  );
  await pool.begun[0].end();
  assert.equal(by(last(), "red").state, "done");
  assert.deepEqual([pool.begun[2].job.label, pool.begun[2].job.seed, pool.begun[2].job.series], ["red", 2, false]);
  await pool.begun[1].end();
  await pool.begun[2].end();
  assert.equal(last().phase, "running");
  await pool.begun[3].end();
  assert.deepEqual([last().phase, last().finished, last().asked], ["done", 4, 4]);
});

test("samples of a run on the way are seen", () => {
  const { runner, pool, last } = made();
  runner.follow(plan());
  pool.begun[0].on({ done: 0.3, series: [{ link: "l", time_s: [1, 2] }] });
  assert.equal(by(last(), "red").done, 0.3);
  assert.equal(by(last(), "red").partial[0].time_s.length, 2);
});

test("a change cancels long runs at once, and what was shown stays as of an older text", async () => {
  const { runner, pool, last } = made();
  runner.follow(plan({ packets: 2e6 }));
  for (const b of [...pool.begun]) await b.end();
  runner.follow(plan({ key: "b", packets: 2e6 }));
  assert.ok(by(last(), "red").stale && by(last(), "red").shown);
  runner.follow(plan({ key: "c", packets: 2e6 }));
  assert.equal(pool.canceled.length, 2);
  assert.equal(pool.begun.length, 6);
  // The canceled one ends after all: nobody wants it.
  await pool.begun[2].end({ digest: "old" });
  assert.notEqual(by(last(), "red").shown.digest, "old");
  await pool.begun[4].end({ digest: "new" });
  assert.deepEqual([by(last(), "red").shown.digest, by(last(), "red").stale], ["new", false]);
});

test("while a slider is dragged short runs end, and of the texts between only the newest is run", async () => {
  const { runner, pool, last } = made();
  runner.follow(plan({ key: "1" }));
  runner.follow(plan({ key: "2" }));
  runner.follow(plan({ key: "3" }));
  assert.equal(pool.begun.length, 2);
  assert.equal(pool.canceled.length, 0);
  await pool.begun[0].end({ digest: "first" });
  await pool.begun[1].end({ digest: "first" });
  assert.deepEqual(
    pool.begun.slice(2).map((b) => b.job.label),
    ["red", "codel"],
  );
  assert.equal(last().key, "3");
  // What came of the first text is seen meanwhile, as old.
  assert.deepEqual([by(last(), "red").shown.digest, by(last(), "red").stale], ["first", true]);
  await pool.begun[2].end({ digest: "third" });
  await pool.begun[3].end({ digest: "third" });
  assert.deepEqual(
    [last().phase, by(last(), "codel").shown.digest, by(last(), "codel").stale],
    ["done", "third", false],
  );
});

test("another choice of algorithms runs only what is not there", async () => {
  const { runner, pool, last } = made();
  runner.follow(plan());
  for (const b of [...pool.begun]) await b.end();
  runner.follow(plan({ labels: ["red", "pie"] }));
  assert.deepEqual(
    pool.begun.slice(2).map((b) => b.job.label),
    ["pie"],
  );
  await pool.begun[2].end();
  assert.deepEqual(
    last().each.map((r) => [r.label, r.state]),
    [
      ["red", "done"],
      ["pie", "done"],
    ],
  );
});

test("more seeds run only the further ones, fewer run none", async () => {
  const { runner, pool, last } = made();
  runner.follow(plan());
  for (const b of [...pool.begun]) await b.end();
  runner.follow(plan({ seeds: [1, 2] }));
  assert.deepEqual(
    pool.begun.slice(2).map((b) => b.job.seed),
    [2, 2],
  );
  for (const b of pool.begun.slice(2)) await b.end();
  runner.follow(plan({ seeds: [1] }));
  assert.equal(pool.begun.length, 4);
  assert.equal(last().phase, "done");
});

test("large runs wait for a word, too large ones are refused with the command", () => {
  const { runner, pool, last } = made();
  runner.follow(plan({ packets: 4e6 }));
  assert.equal(last().phase, "asks");
  assert.match(last().words, /8 million packets: about \d+ s/);
  assert.equal(pool.begun.length, 0);
  runner.start();
  assert.equal(pool.begun.length, 2);
  for (const [key, more, words] of [
    ["b", { packets: 6e7 }, /60 million packets/],
    ["c", { flows: 1e6 }, /1 million flows/],
    ["d", { memory: 9e8 }, /900 MB/],
  ]) {
    runner.follow(plan({ key, ...more }));
    assert.equal(last().phase, "refused");
    assert.match(last().words, words);
    assert.equal(last().command, "quell run a.toml");
    runner.start();
    assert.equal(last().phase, "refused");
  }
  assert.equal(pool.begun.length, 2);
});

test("further seeds of a large study wait until they are asked for", async () => {
  const { runner, pool, last } = made();
  runner.follow(plan({ packets: 2e6, seeds: [1, 2, 3] }));
  for (const b of [...pool.begun]) await b.end();
  assert.deepEqual([last().phase, last().finished, last().asked], ["done", 2, 6]);
  assert.equal(pool.begun.length, 2);
  runner.start();
  assert.equal(last().phase, "running");
  assert.equal(pool.begun.length, 4);
  // The means of a table are those of the command to the last digit only if seeds are in the same order.
  await pool.begun[3].end();
  await pool.begun[4].end();
  assert.deepEqual([pool.begun[4].job.label, pool.begun[4].job.seed], ["red", 3]);
  assert.deepEqual(
    by(last(), "red").finished.map((r) => r.seed),
    [1, 3],
  );
  await pool.begun[2].end();
  assert.deepEqual(
    by(last(), "red").finished.map((r) => r.seed),
    [1, 2, 3],
  );
});

test("stop ends all at once and keeps what is finished; it goes on from there", async () => {
  const { runner, pool, last } = made();
  runner.follow(plan({ packets: 2e6 }));
  await pool.begun[0].end();
  runner.stop();
  assert.equal(pool.canceled.length, 1);
  assert.deepEqual([last().phase, by(last(), "red").state, by(last(), "codel").state], ["stopped", "done", "stopped"]);
  runner.start();
  assert.deepEqual(
    pool.begun.slice(2).map((b) => b.job.label),
    ["codel"],
  );
  await pool.begun[2].end();
  assert.equal(last().phase, "done");
});

test("a fault of one algorithm is its own", async () => {
  const { runner, pool, last } = made();
  runner.follow(plan());
  await pool.begun[0].fail("red: no room");
  await pool.begun[1].end();
  assert.equal(last().phase, "done");
  assert.equal(by(last(), "red").fault, "red: no room");
  assert.equal(by(last(), "codel").state, "done");
  runner.follow(plan({ key: "b" }));
  assert.equal(by(last(), "red").fault, "");
  for (const b of pool.begun.slice(2)) await b.fail("all");
  assert.equal(last().phase, "failed");
});

test("a text with a fault stops what runs; results stay as of an older text", async () => {
  const { runner, pool, last } = made();
  runner.follow(plan());
  for (const b of [...pool.begun]) await b.end();
  runner.invalid();
  assert.ok(last().each.every((r) => r.stale && r.shown));
  // The text of before again: it is run again, since nothing of it was kept.
  runner.follow(plan());
  assert.equal(pool.begun.length, 4);
});

test("the time left is told from 2 s on", () => {
  const { runner, pool, last, pass } = made();
  runner.follow(plan({ packets: 2e6 }));
  assert.equal(last().left_s, 2);
  pass(3);
  pool.begun[0].on({ done: 0.1 });
  pool.begun[1].on({ done: 0.1 });
  assert.ok(last().left_s > 20 && last().left_s < 30);
  pool.begun[0].on({ done: 0.99 });
  pool.begun[1].on({ done: 0.99 });
  assert.equal(last().left_s, null);
});

test("in any order of changes and ends nothing is lost, and the newest is what is shown", async () => {
  const step = fc.oneof(
    fc.record({
      do: fc.constant("follow"),
      key: fc.constantFrom("a", "b", "c"),
      packets: fc.constantFrom(1e4, 1e6),
      seeds: fc.constantFrom([1], [1, 2]),
    }),
    fc.record({ do: fc.constant("end"), at: fc.nat(5) }),
    fc.record({ do: fc.constant("fail"), at: fc.nat(5) }),
    fc.record({ do: fc.constantFrom("stop", "start", "invalid") }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      const { runner, pool, last, pass } = made();
      const open = () => pool.begun.filter((b) => !b.canceled && !b.over);
      const end = async (one, fails) => {
        one.over = true;
        if (fails) await one.fail("no");
        else await one.end({ digest: one.job.source.key });
      };
      let newest = "";
      for (const s of [...steps, { do: "follow", key: "last", packets: 1e5, seeds: [1, 2] }]) {
        pass(0.05);
        if (s.do === "follow") {
          newest = s.key;
          runner.follow(plan({ ...s, source: { key: s.key } }));
        } else if (s.do === "end" || s.do === "fail") {
          const all = open();
          if (all.length) await end(all[s.at % all.length], s.do === "fail");
        } else runner[s.do]();
        assert.ok(open().length <= pool.size);
      }
      for (let one = open()[0]; one; one = open()[0]) await end(one, false);
      assert.equal(newest, "last");
      assert.equal(last().key, "last");
      assert.equal(last().phase, "done");
      assert.equal(last().finished, 4);
      for (const r of last().each) {
        assert.equal(r.stale, false);
        assert.equal(r.shown.digest, "last");
        assert.deepEqual(r.finished.map((f) => f.seed).sort(), [1, 2]);
      }
    }),
    { numRuns: 300 },
  );
});

test("seeds follow the scenario's, and go on after the largest", () => {
  assert.deepEqual(see.seedsOf([1, 2, 3], 0), [1, 2, 3]);
  assert.deepEqual(see.seedsOf([1, 2, 3], 2), [1, 2]);
  assert.deepEqual(see.seedsOf([7, 3], 4), [7, 3, 8, 9]);
});

// ---- Samples, pictures, files ----------------------------------------------------------------------

const piece = (from, n, classes, signals) => {
  // Each has an array of its own, as messages have.
  const all = () => Array.from({ length: n }, (_, i) => from + i);
  return {
    link: "l",
    time_s: all(),
    queue_packets: all(),
    queue_bytes: all(),
    queue_mean_packets: all(),
    queue_delay_mean_s: all(),
    dropped_packets: all(),
    marked_packets: all(),
    jain_index: [],
    throughput_bps: classes.map((c) => [c, all()]),
    internals: signals.map((name) => ({ name, unit: "1", values: all() })),
  };
};

test("samples grow by pieces, and a signal that comes late had no values before", () => {
  const growing = new see.Growing();
  const first = growing.add([piece(0, 2, ["web"], [])]);
  const both = growing.add([piece(2, 3, ["web", "game"], ["p"])]);
  assert.deepEqual(both[0].time_s, [0, 1, 2, 3, 4]);
  assert.deepEqual(both[0].throughput_bps, [
    ["web", [0, 1, 2, 3, 4]],
    ["game", [null, null, 2, 3, 4]],
  ]);
  assert.deepEqual(both[0].internals[0].values, [null, null, 2, 3, 4]);
  // What was handed out before is of its moment.
  assert.equal(first[0].time_s.length, 2);
});

test("figures have their units, and a curve for each algorithm or class", () => {
  const run = (label) => see.drawn(label, [piece(1, 10, ["web", "game"], ["p"])], []);
  const all = [run("red"), run("codel")];
  assert.deepEqual(
    see.panels("delay", all, "l", false).map((p) => [p.unit, p.curves.map((c) => c.label)]),
    [["ms", ["red", "codel"]]],
  );
  assert.equal(see.panels("delay", all, "l", false)[0].curves[0].samples.values[0], 1000);
  assert.deepEqual(
    see.panels("throughput", all, "l", true).map((p) => p.curves.map((c) => c.label)),
    [
      ["web", "game"],
      ["web", "game"],
    ],
  );
  assert.equal(see.panels("throughput", all, "l", false)[0].curves[0].samples.values[0], 2e-3);
  assert.deepEqual(
    see.panels("internals", all, "l", false).map((p) => p.id),
    ["internals:red:p", "internals:codel:p"],
  );
  // Drops are per second: steps are a second long.
  assert.equal(see.panels("drops", all, "l", false)[0].curves[1].samples.values[3], 4);
  assert.deepEqual(see.panels("jain", all, "l", false), []);
});

test("the picture of a queue shares its blocks as its traffic is shared", () => {
  assert.deepEqual(see.spread([0.5, 0.5], 4), [0, 1, 0, 1]);
  const many = see.spread([0.75, 0.25], 400);
  assert.equal(many.filter((c) => c === 0).length, 300);
  assert.equal(see.blockOf(40), 1);
  assert.equal(see.blockOf(250), 5);
  assert.equal(see.blockOf(6000), 100);
  const link = see.drawn("red", [piece(1, 4, ["web", "game"], [])], []).links[0];
  const m = see.moment(link, ["game", "web"], 2.5);
  assert.deepEqual([m.packets, m.shares, m.bps], [3, [0.5, 0.5], 6]);
  assert.equal(see.moment(link, [], 99), null);
});

test("files of figures are sound: nothing of a name becomes markup or another field", () => {
  const name = '<b>&"x",y';
  const look = { color: "#000", dashes: [], width: 1 };
  const figure = {
    title: name,
    x: "time (s)",
    y: "queue",
    end: 1,
    most: 3,
    warmup: 0.2,
    events: [{ at_s: 0.5, label: name }],
    curves: [{ label: name, look, samples: samples([1, Number.NaN, 3]) }],
  };
  const text = see.svg(figure);
  assert.ok(!text.includes("<b>") && text.includes("&lt;b&gt;&amp;&quot;x&quot;,y"));
  assert.equal((text.match(/<svg /g) ?? []).length, 1);
  assert.deepEqual(see.csv(figure).split("\r\n"), [
    "curve,time (s),queue",
    '"<b>&""x"",y",0.1,1',
    '"<b>&""x"",y",0.2,',
    '"<b>&""x"",y",0.30000000000000004,3',
    "",
  ]);
});

test("a view out of a link is one whatever the link says", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), fc.constantFrom(...Object.keys(see.USUAL)), (whole, value, key) => {
      for (const given of [whole, { [key]: value }]) {
        const view = see.viewOf(given);
        assert.deepEqual(Object.keys(view), Object.keys(see.USUAL));
        for (const [k, v] of Object.entries(view)) {
          assert.equal(typeof v, typeof see.USUAL[k]);
          assert.equal(Array.isArray(v), Array.isArray(see.USUAL[k]));
        }
        assert.ok(view.span >= 0 && Number.isFinite(view.span));
      }
    }),
  );
  assert.deepEqual(see.viewOf({ curves: ["queue", "nonsense", 3] }).curves, ["queue"]);
});

test("a map is drawn around the link's rate and the scenario's own parameters", async () => {
  const simulator = await engine();
  const { algorithms } = simulator.ask({ do: "about" });
  const packets = ["1 kB", "1500 B"].map((mean_packet) => {
    const text = `schema = 1
duration = "4 s"
warmup = "1 s"
mean_packet = "${mean_packet}"
aqm = [
  { algorithm = "red", min_th = "7 packets", max_th = "90 packets", max_p = 0.03 },
  { algorithm = "pi", label = "mine", q_ref = "33 packets" },
  { algorithm = "codel" },
]
dumbbell = { rate = "8 Mbit/s", delay = "10 ms", buffer = "100 packets" }
flows = [{ name = "ftp", count = 3, rtt = "60 ms" }]
`;
    const source = { text, name: "x.toml" };
    const { defaults } = simulator.ask({ do: "check", source });
    const packet = see.meanPacket(defaults);
    const { capacity_pps } = simulator.ask({ do: "theory", source });
    assert.ok(Math.abs(capacity_pps * packet * 8 - 8e6) < 1e-3, `${capacity_pps} packets of ${packet} bytes`);
    const of = (label, algorithm) =>
      see.parametersOf(algorithms.find(({ name }) => name === algorithm).params, see.inScenario(defaults, label));
    const one = (label, algorithm, name) => of(label, algorithm).find((center) => center.name === name);
    assert.deepEqual(one("red", "red", "max_th"), { name: "max_th", unit: "packets", value: 90 });
    assert.equal(one("red", "red", "min_backlog"), undefined);
    assert.deepEqual(one("red", "red", "max_p"), { name: "max_p", unit: "", value: 0.03 });
    assert.deepEqual(one("mine", "pi", "q_ref"), { name: "q_ref", unit: "packets", value: 33 });
    assert.deepEqual(one("codel", "codel", "target"), { name: "target", unit: "ms", value: 5 });
    // Every axis is one that the simulator draws.
    for (const { name, unit, value } of of("red", "red")) {
      const [x, y] = [see.around(name, unit, value), see.around("rate", "Mbit/s", 8)];
      const ask = { do: "map", source: { ...source, aqm: ["red"] }, algorithm: "red", show: "queue", points: 2, x, y };
      const { missing } = simulator.ask(ask);
      if (name === "max_p") assert.deepEqual(missing, []);
    }
    return packet;
  });
  assert.deepEqual(packets, [1000, 1500]);
});

test("packets beside the theory are of the flows that cross the link, and of data", async () => {
  const one = await engine();
  const { text } = one.ask({ do: "preset", link: "dsl", load: "bulk" });
  const edits = [
    { path: "duration", value: '"20 s"' },
    { path: "aqm", value: '[{ algorithm = "pie" }]' },
  ];
  const source = { text: one.ask({ do: "edit", text, edits }).text, name: "bulk-dsl.toml" };
  const { link, capacity_pps, assessments } = one.ask({ do: "theory", source });
  const run = one.ask({ do: "run", source, algorithm: "pie", seed: "1" });
  const groups = (flows) => [...new Set(flows.map((w) => w.group))];
  const crossing = run.windows.filter((w) => w.links.includes(link));
  assert.ok(groups(crossing).length > 0 && groups(crossing).length < groups(run.windows).length);

  const found = see.measuredOf([run], link);
  assert.deepEqual(
    Object.keys(found).sort(),
    Object.keys(assessments[0].equilibrium)
      .filter((key) => key in found)
      .sort(),
  );
  // No flow sends more than a window in a round trip, and all of them together no more than the link.
  const most = (capacity_pps * found.rtt_s) / crossing.length;
  assert.ok(found.window_packets > 0.5 * most && found.window_packets < 1.3 * most, `${found.window_packets}, ${most}`);
  const all = see.measuredOf([{ ...run, windows: run.windows.map((w) => ({ ...w, links: [link] })) }], link);
  assert.ok(Math.abs(all.window_packets / found.window_packets - 1) > 0.05);

  const at = (scope) => run.metrics.find((m) => m.link === link && m.segment === null && m.scope === scope).values;
  assert.equal(found.probability, at("data").loss_rate + (at("data").mark_rate ?? 0) * (1 - at("data").loss_rate));
  assert.notEqual(at("data").loss_rate, at("all").loss_rate);
  // Several replications have their mean.
  const other = {
    ...run,
    windows: [],
    metrics: run.metrics.map((m) => ({ ...m, values: { ...m.values, queue_packets: 0 } })),
  };
  assert.equal(see.measuredOf([run, other], link).queue_packets, found.queue_packets / 2);
  assert.equal(see.measuredOf([run, other], link).window_packets, found.window_packets);
});
