import scenario from "./03-red-weight.toml";
import { type Experiment, earlier, packets, percent, swing } from "./kit.ts";

const BEFORE = { segment: 0 };
const AFTER = { segment: 1 };

export const redWeight: Experiment = {
  id: "red-weight",
  title: "Why RED's weight matters",
  claim:
    "RED's weight is the clock of its control loop: one that is near the loop's own makes the queue swing, a slow one sleeps through a change of load.",
  minutes: 4,
  scenario,
  steps: [
    {
      title: "The usual weight, 0.002",
      say: "Look at the queue and at RED's average from 20 to 40 s, while nothing changes. The average follows with a lag of about half a second.",
      edits: [],
      algorithms: ["red"],
      curves: ["queue", "internals"],
      see: (now) =>
        `From 20 to 40 s the queue swings by ${packets(now.of("red", "queue_std_packets", BEFORE))} around ${packets(now.of("red", "queue_packets", BEFORE))}, runs empty at times, and the link is used to ${percent(now.of("red", "utilization", BEFORE))}.`,
      holds: (now) => swing(now, "red", 0) > 0.5 && now.of("red", "utilization", BEFORE) < 0.992,
      otherwise: "The queue is calm at this weight.",
    },
    {
      title: "Two hundred times slower",
      say: "Set the weight to 0.00001: the average takes two minutes to forget. Look at the same time again.",
      edits: [{ path: "aqm[0].weight", value: "0.00001" }],
      algorithms: ["red"],
      curves: ["queue", "internals"],
      see: (now, before) => {
        const usual = earlier(before, 0);
        return `From 20 to 40 s the queue swings by ${packets(now.of("red", "queue_std_packets", BEFORE))} (with 0.002: ${packets(usual.of("red", "queue_std_packets", BEFORE))}), and the link is used to ${percent(now.of("red", "utilization", BEFORE))} (${percent(usual.of("red", "utilization", BEFORE))}).`;
      },
      holds: (now, before) => {
        const usual = earlier(before, 0);
        return (
          now.of("red", "queue_std_packets", BEFORE) < 0.75 * usual.of("red", "queue_std_packets", BEFORE) &&
          now.of("red", "utilization", BEFORE) > usual.of("red", "utilization", BEFORE)
        );
      },
      otherwise: "The slow average does not calm this queue.",
    },
    {
      title: "What the slow average misses",
      say: "Now look at 40 s, where three times as many flows are there within a second. Move the weight between the two, and find one that is calm before 40 s and awake after it.",
      edits: [{ path: "aqm[0].weight", value: "0.00001" }],
      algorithms: ["red"],
      curves: ["queue", "internals"],
      see: (now, before) => {
        const usual = earlier(before, 0);
        return `In the ten seconds after the change the queue is ${packets(now.of("red", "queue_packets", AFTER))} long, with weight 0.002 ${packets(usual.of("red", "queue_packets", AFTER))}; the buffer of 200 overflows for ${percent(now.of("red", "overflow_loss_rate", AFTER))} of the arrivals (${percent(usual.of("red", "overflow_loss_rate", AFTER))}).`;
      },
      holds: (now, before) =>
        now.of("red", "queue_packets", AFTER) > 2 * earlier(before, 0).of("red", "queue_packets", AFTER) &&
        now.of("red", "overflow_loss_rate", AFTER) > 0.005,
      otherwise: "This average is awake: the change does not fill the buffer.",
      sliders: [
        { path: "aqm[0].weight", says: "Weight", least: 0.00001, most: 0.05, start: 0.00001, log: true, decimals: 6 },
      ],
    },
  ],
  control: {
    say: "Let one flow come at 40 s instead of sixty. There is no change to sleep through, and the slow average is as good as any.",
    step: 2,
    edits: [{ path: "flows[1].count", value: "1" }],
  },
  why: [
    "The average is a low-pass filter with the time constant of 1 over weight times packets per second: 0.6 s for 0.002 here, 120 s for 0.00001.",
    "A filter delays. If its time is near that in which windows answer, its lag adds to the round trip, and the loop swings.",
    "A much slower one takes so little part in the loop that nothing swings; but then it knows nothing of the last minute either.",
    "A much faster one has little lag, too, but answers every burst. No weight is right for all links, since packets per second are in it.",
  ],
  sources: [
    { text: "Floyd and Jacobson 1993, section 6", key: "floyd1993" },
    { text: "Hollot et al. 2001a", key: "hollot2001a" },
    { text: "Floyd et al. 2001", key: "floyd2001" },
  ],
  further: [
    '`dumbbell.rate`: at 100 Mbit/s the same weight is ten times as fast; `weight = { time_constant = "1 s" }` is not.',
    "`aqm[0].max_p`: a loop of less gain bears more lag (experiment 5).",
    'Set `algorithm = "ared"`, which adapts max_p and derives its weight from the link\'s rate.',
  ],
};
