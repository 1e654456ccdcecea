import scenario from "./05-number-of-flows.toml";
import { digits, type Experiment, earlier, type Figures, packets, percent, swing } from "./kit.ts";

const queue = (now: Figures) => now.of("red", "queue_packets");
const used = (now: Figures) => now.of("red", "utilization");
const seen = (now: Figures) =>
  `The queue averages ${packets(queue(now))}, and its standard deviation is ${digits(swing(now, "red"))} times that. The link is ${percent(used(now))} utilized.`;

export const numberOfFlows: Experiment = {
  id: "number-of-flows",
  title: "Why gains depend on the number of flows",
  claim:
    "The gain of a loop through TCP falls with the square of the number of flows, so no single slope of RED suits both fifteen flows and sixty.",
  minutes: 4,
  scenario,
  steps: [
    {
      title: "Sixty flows, max_p = 0.1",
      say: "Start where RED's slope fits. The queue stays between its thresholds.",
      edits: [],
      algorithms: ["red"],
      curves: ["queue", "windows"],
      claim: "With sixty flows this slope keeps the queue between its thresholds and the link full",
      see: seen,
      holds: (now) => queue(now) > 30 && queue(now) < 120 && swing(now, "red") < 0.6 && used(now) > 0.995,
      otherwise: "RED's slope does not fit this many flows.",
      fails: [{ path: "flows[0].count", value: "15" }],
    },
    {
      title: "Fifteen flows, the same RED",
      say: "Remove three quarters of the flows. Each window is now four times as large, and each mark cuts it by four times as much.",
      edits: [{ path: "flows[0].count", value: "15" }],
      algorithms: ["red"],
      curves: ["queue", "windows"],
      claim: "With a quarter of the flows the same slope makes the queue swing until it runs empty",
      see: (now, before) =>
        `${seen(now)} With sixty flows the standard deviation was ${digits(swing(earlier(before, 0), "red"))} times the mean.`,
      holds: (now, before) => swing(now, "red") > 1.4 * swing(earlier(before, 0), "red") && used(now) < 0.985,
      otherwise: "The queue does not swing with these settings.",
      fails: [{ path: "flows[0].count", value: "50" }],
      sliders: [{ path: "flows[0].count", says: "Flows", least: 5, most: 120, start: 15, log: true }],
    },
    {
      title: "Divide max_p by sixteen",
      say: "A quarter of the flows needs one sixteenth of the slope. The queue goes back to where it was with sixty flows, and is as calm.",
      edits: [
        { path: "flows[0].count", value: "15" },
        { path: "aqm[0].max_p", value: "0.00625" },
      ],
      algorithms: ["red"],
      curves: ["queue", "windows"],
      claim: "One sixteenth of the slope makes up for a quarter of the flows",
      see: (now, before) =>
        `${seen(now)} With sixty flows and max_p = 0.1 it averaged ${packets(queue(earlier(before, 0)))}.`,
      holds: (now, before) => {
        const sixty = earlier(before, 0);
        return (
          swing(now, "red") < 0.75 * swing(earlier(before, 1), "red") &&
          swing(now, "red") < 1.3 * swing(sixty, "red") &&
          used(now) > 0.995 &&
          Math.abs(queue(now) / queue(sixty) - 1) < 0.3
        );
      },
      otherwise: "This slope does not fit this many flows.",
      fails: [{ path: "aqm[0].max_p", value: "0.025" }],
    },
    {
      title: "Back to sixty flows",
      say: "Keep the small slope and bring the flows back. RED is now too weak. Its average has to pass max_th before it marks enough, and the steep part above max_th makes the queue swing.",
      edits: [{ path: "aqm[0].max_p", value: "0.00625" }],
      algorithms: ["red"],
      curves: ["queue", "windows"],
      claim: "The small slope is too weak for sixty flows: the queue is longer and swings",
      see: seen,
      holds: (now, before) =>
        queue(now) > 1.5 * queue(earlier(before, 0)) && swing(now, "red") > 1.2 * swing(earlier(before, 0), "red"),
      otherwise: "The small slope is enough for these flows.",
      fails: [{ path: "aqm[0].max_p", value: "0.1" }],
    },
  ],
  control: {
    say: "Keep all sixty flows. Change nothing else.",
    without: "a change in the number of flows",
    step: 1,
    edits: [{ path: "flows[0].count", value: "60" }],
    see: (now) => `The slope still fits. ${seen(now)}`,
    holds: (now) => queue(now) > 30 && queue(now) < 120 && swing(now, "red") < 0.6 && used(now) > 0.995,
  },
  why: [
    "At a marking probability p a window is proportional to 1 / √p. N windows fill the link together, so p grows with the square of N.",
    "The gain of the loop is the change of all windows together when p changes. It is proportional to (RC)³ / (2N)² (Hollot et al. 2001a), so a quarter of the flows means sixteen times the gain.",
    "A steep slope overshoots with few flows. A flat one never reaches the probability that many flows need.",
    "Adaptive RED and AP-RED change max_p for this reason. AP-RED uses exactly this square.",
  ],
  sources: [
    { text: "Hollot et al. 2001a", key: "hollot2001a" },
    { text: "Chen 2010, eq. 4.3-4.6", key: "chen2010" },
  ],
  further: [
    {
      say: 'Set `aqm[0].algorithm` to "ared" and change the number of flows: max_p follows within a few seconds.',
      edits: [{ path: "aqm[0].algorithm", value: '"ared"' }],
    },
    {
      say: "Change `flows[0].rtt`: the gain grows with the cube of the round-trip time.",
      edits: [{ path: "flows[0].rtt", value: '"200 ms"' }],
    },
    { say: "Open the map in the theory panel over `flows` and `max_p`." },
  ],
};
