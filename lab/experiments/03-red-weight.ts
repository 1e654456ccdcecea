import scenario from "./03-red-weight.toml";
import { busy, type Experiment, earlier, type Figures, packets, percent, swing } from "./kit.ts";

const BEFORE = { segment: 0 };
const AFTER = { segment: 1 };
const queue = (now: Figures) => now.of("red", "queue_packets", AFTER);
const swings = (now: Figures) => now.of("red", "queue_std_packets", BEFORE);
const used = (now: Figures) => now.of("red", "utilization", BEFORE);
const overflow = (now: Figures) => now.of("red", "overflow_loss_rate", AFTER);

export const redWeight: Experiment = {
  id: "red-weight",
  title: "Why RED's weight matters",
  claim:
    "RED's weight sets the clock of its control loop. A clock close to the loop's own makes the queue swing; a very slow one misses a change of load.",
  minutes: 4,
  scenario,
  steps: [
    {
      title: "The usual weight, 0.002",
      say: "Look at the queue and RED's average from 20 to 40 s, while nothing changes. The average lags behind by about half a second.",
      edits: [],
      algorithms: ["red"],
      curves: ["queue", "internals"],
      claim: "With the usual weight the queue swings, and the link is not full",
      see: (now) =>
        `From 20 to 40 s the queue averages ${packets(now.of("red", "queue_packets", BEFORE))} with a standard deviation of ${packets(swings(now))}. ${busy(used(now))}`,
      holds: (now) => swing(now, "red", 0) > 0.5 && used(now) < 0.992,
      otherwise: "The queue is calm at this weight.",
      fails: [{ path: "aqm[0].weight", value: "0.00001" }],
    },
    {
      title: "Two hundred times slower",
      say: "Set the weight to 0.00001. The average now takes more than a minute to forget. Look at the same 20 seconds again.",
      edits: [{ path: "aqm[0].weight", value: "0.00001" }],
      algorithms: ["red"],
      curves: ["queue", "internals"],
      claim: "A much slower average calms the queue",
      see: (now, before) => {
        const usual = earlier(before, 0);
        return `From 20 to 40 s the queue's standard deviation is ${packets(swings(now))}; with 0.002 it was ${packets(swings(usual))}. The link is ${percent(used(now))} utilized; it was ${percent(used(usual))}.`;
      },
      holds: (now, before) => {
        const usual = earlier(before, 0);
        return swings(now) < 0.75 * swings(usual) && used(now) > used(usual);
      },
      otherwise: "The slow average does not calm this queue.",
      fails: [{ path: "aqm[0].weight", value: "0.002" }],
    },
    {
      title: "What the slow average misses",
      say: "Now look at 40 s, when the number of flows triples within a second. Move the weight between the two values. Can you find one that is calm before 40 s and quick after it?",
      edits: [{ path: "aqm[0].weight", value: "0.00001" }],
      algorithms: ["red"],
      curves: ["queue", "internals"],
      claim: "A slow average misses the change, and the buffer overflows",
      see: (now, before) => {
        const usual = earlier(before, 0);
        return `In the ten seconds after the change the queue averages ${packets(queue(now))}; with 0.002 it was ${packets(queue(usual))}. The buffer of 200 packets overflows for ${percent(overflow(now))} of the arrivals; with 0.002 it was ${percent(overflow(usual))}.`;
      },
      holds: (now, before) =>
        queue(now) > 2 * queue(earlier(before, 0)) &&
        overflow(now) > 0.005 &&
        overflow(now) > 5 * overflow(earlier(before, 0)),
      otherwise: "This average sees the change in time, and the buffer does not fill.",
      fails: [{ path: "aqm[0].weight", value: "0.002" }],
      sliders: [
        { path: "aqm[0].weight", says: "Weight", least: 0.00001, most: 0.05, start: 0.00001, log: true, decimals: 6 },
      ],
    },
  ],
  control: {
    say: "Let one flow start at 40 s instead of sixty. The load hardly changes, so the slow average has nothing to miss.",
    without: "a change of load",
    step: 2,
    edits: [{ path: "flows[1].count", value: "1" }],
    see: (now) =>
      `The slow average is good enough: after 40 s the queue averages ${packets(queue(now))}, and the buffer overflows for ${percent(overflow(now))} of the arrivals.`,
    holds: (now) => queue(now) < 80 && overflow(now) < 0.001 && now.of("red", "utilization", AFTER) > 0.99,
  },
  why: [
    "The average is a low-pass filter. Its time constant is 1 / (weight × packets per second): here 0.4 s for 0.002, and 80 s for 0.00001.",
    "A filter adds delay. If its time constant is close to the time in which the windows respond, its lag adds to the round trip and the loop swings.",
    "A much slower filter hardly takes part in the loop, so nothing swings. But it also knows nothing about the last minute.",
    "A much faster filter lags little, but it responds to every burst. No weight fits every link, because the time constant depends on the packet rate.",
  ],
  sources: [
    { text: "Floyd and Jacobson 1993, section 6", key: "floyd1993" },
    { text: "Hollot et al. 2001a", key: "hollot2001a" },
    { text: "Floyd et al. 2001", key: "floyd2001" },
  ],
  further: [
    {
      say: 'Set `dumbbell.rate` to 100 Mbit/s: the same weight is then ten times as fast. `weight = { time_constant = "1 s" }` does not change with the rate.',
      edits: [
        { path: "dumbbell.rate", value: '"100 Mbit/s"' },
        { path: "aqm[0].weight", value: '{ time_constant = "1 s" }' },
      ],
    },
    {
      say: "Lower `aqm[0].max_p`, but not below 0.02: a loop with less gain tolerates more lag (experiment 5).",
      step: 0,
      edits: [{ path: "aqm[0].max_p", value: "0.02" }],
      algorithms: ["red"],
      holds: (now, without) => swing(now, "red", 0) < 0.6 * swing(without, "red", 0),
    },
    {
      say: "Set `aqm[0].max_p` to 0.01: that is too little for thirty flows, and a longer queue swings again.",
      step: 0,
      edits: [{ path: "aqm[0].max_p", value: "0.01" }],
      algorithms: ["red"],
      holds: (now, without) =>
        swing(now, "red", 0) > 0.8 * swing(without, "red", 0) &&
        now.of("red", "queue_packets", BEFORE) > 1.2 * without.of("red", "queue_packets", BEFORE),
    },
    {
      say: 'Set `aqm[0].algorithm` to "ared" and remove `aqm[0].weight`: it adapts max_p and derives its weight from the rate of the link.',
      step: 0,
      edits: [
        { path: "aqm[0].algorithm", value: '"ared"' },
        { path: "aqm[0].weight", value: null },
      ],
      algorithms: ["ared"],
      holds: (now) => swing(now, "ared", 0) < 0.55,
    },
  ],
};
