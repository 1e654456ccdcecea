import scenario from "./05-number-of-flows.toml";
import { digits, type Experiment, earlier, packets, percent, swing } from "./kit.ts";

const seen = (now: Parameters<typeof swing>[0]) =>
  `The queue is ${packets(now.of("red", "queue_packets"))} in the mean and its deviation ${digits(swing(now, "red"))} of that; the link is used to ${percent(now.of("red", "utilization"))}.`;

export const numberOfFlows: Experiment = {
  id: "number-of-flows",
  title: "Why gains depend on the number of flows",
  claim:
    "A loop through TCP has a gain that falls with the square of the number of flows, so one slope of RED cannot be right for fifteen flows and for sixty.",
  minutes: 4,
  scenario,
  steps: [
    {
      title: "Sixty flows, max_p 0.1",
      say: "Begin where RED's slope fits. The queue stays between its thresholds.",
      edits: [],
      algorithms: ["red"],
      curves: ["queue", "windows"],
      see: seen,
      holds: (now) => swing(now, "red") < 0.6 && now.of("red", "utilization") > 0.995,
      otherwise: "RED's slope does not fit this many flows.",
    },
    {
      title: "Fifteen flows, the same RED",
      say: "Take three quarters of the flows away. Each window is now four times as large, and so is the step of each mark.",
      edits: [{ path: "flows[0].count", value: "15" }],
      algorithms: ["red"],
      curves: ["queue", "windows"],
      see: (now, before) =>
        `${seen(now)} With sixty flows the deviation was ${digits(swing(earlier(before, 0), "red"))} of the mean.`,
      holds: (now, before) =>
        swing(now, "red") > 1.4 * swing(earlier(before, 0), "red") && now.of("red", "utilization") < 0.985,
      otherwise: "The queue does not swing with these settings.",
      sliders: [{ path: "flows[0].count", says: "Flows", least: 5, most: 120, start: 15, log: true }],
    },
    {
      title: "Divide max_p by sixteen",
      say: "A quarter of the flows: one sixteenth of the slope. The queue stands where it stood with sixty flows, and is as calm.",
      edits: [
        { path: "flows[0].count", value: "15" },
        { path: "aqm[0].max_p", value: "0.00625" },
      ],
      algorithms: ["red"],
      curves: ["queue", "windows"],
      see: (now, before) =>
        `${seen(now)} With sixty flows and max_p = 0.1 it was ${packets(earlier(before, 0).of("red", "queue_packets"))}.`,
      holds: (now, before) => {
        const sixty = earlier(before, 0);
        return (
          swing(now, "red") < 0.75 * swing(earlier(before, 1), "red") &&
          now.of("red", "utilization") > 0.995 &&
          Math.abs(now.of("red", "queue_packets") / sixty.of("red", "queue_packets") - 1) < 0.3
        );
      },
      otherwise: "This slope is not the one that belongs to so many flows.",
    },
    {
      title: "And back to sixty",
      say: "Keep the small slope and bring the flows back. Now RED is too weak: its average has to pass max_th before it marks enough, and the steep part beyond makes the queue swing.",
      edits: [{ path: "aqm[0].max_p", value: "0.00625" }],
      algorithms: ["red"],
      curves: ["queue", "windows"],
      see: seen,
      holds: (now, before) =>
        now.of("red", "queue_packets") > 1.5 * earlier(before, 0).of("red", "queue_packets") &&
        swing(now, "red") > 1.2 * swing(earlier(before, 0), "red"),
      otherwise: "The small slope is enough for these flows.",
    },
  ],
  control: {
    say: "Keep sixty flows. The slope fits, and the queue does not swing.",
    step: 1,
    edits: [{ path: "flows[0].count", value: "60" }],
  },
  why: [
    "A window W answers a probability p as 1 over the square root of p, and N windows fill the link: W = RC/N, so p goes with N squared.",
    "The gain of the loop is the change of all windows for a change of p. It goes with (RC)^3 / (2N)^2 (Hollot et al. 2001a): a quarter of the flows is sixteen times the gain.",
    "A steep slope with few flows overshoots. A flat one with many never reaches the probability that they need.",
    "AP-RED and Adaptive RED move max_p for this reason; AP-RED by exactly this square.",
  ],
  sources: [
    { text: "Hollot et al. 2001a", key: "hollot2001a" },
    { text: "Chen 2010, eq. 4.3-4.6", key: "chen2010" },
  ],
  further: [
    'Set `algorithm = "ared"` and move the number of flows: max_p follows within some seconds.',
    "`flows[0].rtt`: the gain goes with the cube of the round-trip time.",
    "Open the map in the theory panel over `flows` and `max_p`.",
  ],
};
