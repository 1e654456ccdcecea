import scenario from "./08-codel-square-root.toml";
import { digits, type Experiment, earlier, type Figures, ms, percent } from "./kit.ts";

/** The packets that are dropped in each second from 1 s on. */
const drops = (now: Figures, label = "codel") =>
  [0, 1, 2, 3, 4].map((segment) => now.of(label, "dropped_not_ecn_packets", { segment }));

/** By how many they become more from second to second; NaN without drops. */
function slope(now: Figures): number {
  const all = drops(now);
  return ((all[4] ?? Number.NaN) - (all[0] ?? Number.NaN)) / 4;
}

/** Whether the drops of the seconds lie on one line, within a few packets. */
function straight(now: Figures): boolean {
  const by = slope(now);
  return drops(now).every((count, second) => Math.abs(count - by * (second + 0.5)) < 0.1 * by + 3);
}

export const codelSquareRoot: Experiment = {
  id: "codel-square-root",
  title: "CoDel's square root",
  claim:
    "CoDel's drops come faster by one over the square root of their number, which is a rate that rises as a straight line, by 1/(2 interval^2) in each second.",
  minutes: 4,
  scenario,
  steps: [
    {
      title: "A flood that answers nothing",
      say: "UDP sends twice the link's rate. Look at the drops per second: they rise along a line, for as long as the queue stands.",
      edits: [],
      algorithms: ["codel"],
      curves: ["drops", "queue"],
      see: (now) =>
        `CoDel drops ${drops(now).map(digits).join(", ")} packets in the five seconds: ${digits(slope(now))} more in each. The law says 1/(2 * 0.1^2) = 50.`,
      holds: (now) => Math.abs(slope(now) - 50) < 2.5 && straight(now),
      otherwise: "The drops do not rise by 50 in each second: the interval is another, or nothing is flooded.",
    },
    {
      title: "Twice the interval",
      say: "Set the interval to 200 ms. The line is a quarter as steep.",
      edits: [{ path: "aqm[0].interval", value: '"200 ms"' }],
      algorithms: ["codel"],
      curves: ["drops", "queue"],
      see: (now, before) =>
        `CoDel drops ${drops(now).map(digits).join(", ")} packets: ${digits(slope(now))} more in each second, where it was ${digits(slope(earlier(before, 0)))}. 1/(2 * 0.2^2) = 12.5.`,
      holds: (now, before) => Math.abs(slope(now) / slope(earlier(before, 0)) - 0.25) < 0.03 && straight(now),
      otherwise: "The steepness does not go with the square of the interval here.",
      sliders: [{ path: "aqm[0].interval", says: "Interval", least: 20, most: 400, start: 200, unit: "ms", log: true }],
    },
    {
      title: "Senders that answer",
      say: "Let four TCP flows take the flood's place. A few drops in a second are enough: each makes a window smaller, and CoDel begins again.",
      edits: [
        { path: "flows[0].kind", value: '"bulk"' },
        { path: "flows[0].rate", value: null },
        { path: "flows[0].packet", value: null },
        { path: "flows[0].gaps", value: null },
        { path: "flows[0].count", value: "4" },
        { path: "flows[0].tcp", value: '{ recovery = "sack" }' },
      ],
      algorithms: ["codel"],
      curves: ["queue", "delay", "drops"],
      see: (now, before) =>
        `In the last second CoDel drops ${digits(drops(now)[4] ?? Number.NaN)} packets (of the flood ${digits(drops(earlier(before, 0))[4] ?? Number.NaN)}), the mean delay is ${ms(now.of("codel", "queue_delay_mean_s", { segment: 4 }))}, and the link is used to ${percent(now.of("codel", "utilization", { segment: 4 }))}.`,
      holds: (now) =>
        now.of("codel", "queue_delay_mean_s", { segment: 4 }) < 0.015 &&
        now.of("codel", "utilization", { segment: 4 }) > 0.9,
      otherwise: "These senders do not answer CoDel's drops within a few seconds.",
    },
    {
      title: "Where the law is too slow",
      say: "Bring the flood back, and put PIE beside CoDel. PIE's probability finds the half that must go within some seconds; CoDel's line would need 25 s to drop 1250 packets in a second.",
      edits: [],
      algorithms: ["codel", "pie"],
      curves: ["queue", "delay"],
      see: (now) =>
        `In the last second packets wait for ${ms(now.of("codel", "queue_delay_mean_s", { segment: 4 }))} behind CoDel and for ${ms(now.of("pie", "queue_delay_mean_s", { segment: 4 }))} behind PIE.`,
      holds: (now) =>
        now.of("codel", "queue_delay_mean_s", { segment: 4 }) >
        20 * now.of("pie", "queue_delay_mean_s", { segment: 4 }),
      otherwise: "CoDel has caught this flood, or there is none.",
      sliders: [{ path: "flows[0].rate", says: "Rate of the flood", least: 5, most: 40, start: 20, unit: "Mbit/s" }],
    },
  ],
  control: {
    say: "Send 9 Mbit/s over the 10 Mbit/s. No queue stands, so CoDel drops nothing.",
    step: 0,
    edits: [{ path: "flows[0].rate", value: '"9 Mbit/s"' }],
  },
  why: [
    "The throughput of TCP goes with one over the square root of the rate of losses (Mathis et al. 1997).",
    "Drops at distances of interval / sqrt(n) make the sum 2 interval sqrt(n): after a time t CoDel has dropped (t / (2 interval))^2 packets, and the rate of drops is t / (2 interval^2).",
    "So with each further drop the senders' throughput comes down by about the same step, until the queue no longer stands.",
    "A sender that ignores drops is no part of that law. RFC 8289 leaves such floods to others; a queue for each flow contains them (experiment 9).",
  ],
  sources: [
    { text: "RFC 8289 (the control law)", key: "rfc8289" },
    { text: "Nichols and Jacobson 2012", key: "nichols2012" },
    { text: "Mathis et al. 1997", key: "mathis1997" },
  ],
  further: [
    "`aqm[0].target`: it moves the start of the drops, not the steepness.",
    '`duration = "60 s"`: after some 26 s the line reaches what must go, and only then the queue begins to come down.',
    '`dumbbell.buffer = "500 packets"`, and add `cobalt`: BLUE beside CoDel answers such senders once a buffer overflows.',
  ],
};
