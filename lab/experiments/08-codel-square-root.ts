import scenario from "./08-codel-square-root.toml";
import { digits, type Experiment, earlier, type Figures, ms, percent } from "./kit.ts";

const LAST = { segment: 4 };
/** The packets that are dropped in each second from 1 s on. */
const drops = (now: Figures, label = "codel") =>
  [0, 1, 2, 3, 4].map((segment) => now.of(label, "dropped_not_ecn_packets", { segment }));
const delay = (now: Figures, label = "codel") => now.of(label, "queue_delay_mean_s", LAST);

/** By how many they grow from second to second; NaN without drops. */
function slope(now: Figures): number {
  const all = drops(now);
  return ((all[4] ?? Number.NaN) - (all[0] ?? Number.NaN)) / 4;
}

/** Whether the drops of the seconds lie on one line, within a few packets. */
function straight(now: Figures): boolean {
  const by = slope(now);
  return drops(now).every((count, second) => Math.abs(count - by * (second + 0.5)) < 0.1 * by + 3);
}

const total = (now: Figures) => drops(now).reduce((sum, count) => sum + count, 0);
const listed = (now: Figures) => drops(now).map(digits).join(", ");

export const codelSquareRoot: Experiment = {
  id: "codel-square-root",
  title: "CoDel's square root",
  claim:
    "CoDel shortens the time between drops by the square root of their number. Its drop rate therefore rises along a straight line, by 1 / (2 × interval²) in each second.",
  minutes: 4,
  scenario,
  steps: [
    {
      title: "A flood that does not respond",
      say: "A UDP sender sends twice the rate of the link. Look at the drops per second: they rise along a line for as long as the queue stands.",
      edits: [],
      algorithms: ["codel"],
      curves: ["drops", "queue"],
      claim: "CoDel's drops rise along a straight line, by 50 per second",
      see: (now) =>
        `In the five seconds CoDel drops ${listed(now)} packets: ${digits(slope(now))} more in each second. For an interval of 100 ms the law says 1 / (2 × 0.1²) = 50.`,
      holds: (now) => Math.abs(slope(now) - 50) < 2.5 && straight(now),
      otherwise:
        "The drops do not rise by 50 in each second. The interval is a different one, or nothing floods the link.",
      fails: [{ path: "aqm[0].interval", value: '"80 ms"' }],
    },
    {
      title: "Twice the interval",
      say: "Set the interval to 200 ms. The line is now a quarter as steep.",
      edits: [{ path: "aqm[0].interval", value: '"200 ms"' }],
      algorithms: ["codel"],
      curves: ["drops", "queue"],
      claim: "Twice the interval makes the line a quarter as steep",
      see: (now, before) =>
        `CoDel drops ${listed(now)} packets: ${digits(slope(now))} more in each second; with an interval of 100 ms it was ${digits(slope(earlier(before, 0)))}. For 200 ms the law says 1 / (2 × 0.2²) = 12.5.`,
      holds: (now, before) => Math.abs(slope(now) / slope(earlier(before, 0)) - 0.25) < 0.03 && straight(now),
      otherwise: "The line is not a quarter as steep here.",
      fails: [{ path: "aqm[0].interval", value: '"100 ms"' }],
      sliders: [{ path: "aqm[0].interval", says: "Interval", least: 20, most: 400, start: 200, unit: "ms", log: true }],
    },
    {
      title: "Senders that respond",
      say: "Replace the flood with four TCP flows. Now a few drops per second are enough: each one shrinks a window, and CoDel starts over.",
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
      claim: "For senders that respond, a few drops per second keep the queue short and the link busy",
      see: (now, before) =>
        `In the last second CoDel drops ${digits(drops(now)[4] ?? Number.NaN)} packets; with the flood it dropped ${digits(drops(earlier(before, 0))[4] ?? Number.NaN)}. The mean delay is ${ms(delay(now))}, and the link is ${percent(now.of("codel", "utilization", LAST))} utilized.`,
      holds: (now, before) =>
        delay(now) < 0.015 &&
        now.of("codel", "utilization", LAST) > 0.9 &&
        (drops(now)[4] ?? Number.NaN) < 0.1 * (drops(earlier(before, 0))[4] ?? Number.NaN),
      otherwise: "These senders do not respond to CoDel's drops within a few seconds.",
      fails: [
        { path: "aqm[0].interval", value: '"200 ms"' },
        { path: "aqm[0].target", value: '"100 ms"' },
      ],
    },
    {
      title: "Where the control law is too slow",
      say: "Bring the flood back and put PIE next to CoDel. Half of the packets must be dropped: 1250 per second. PIE finds that probability within seconds. CoDel's line would need 25 s to get there.",
      edits: [],
      algorithms: ["codel", "pie"],
      curves: ["queue", "delay"],
      claim: "CoDel is too slow for a flood that PIE controls",
      see: (now) =>
        `In the last second packets wait ${ms(delay(now))} with CoDel and ${ms(delay(now, "pie"))} with PIE.`,
      holds: (now) => delay(now) > 20 * delay(now, "pie"),
      otherwise: "CoDel has caught this flood, or nothing floods the link.",
      fails: [{ path: "flows[0].rate", value: '"10 Mbit/s"' }],
      sliders: [{ path: "flows[0].rate", says: "Rate of the flood", least: 5, most: 40, start: 20, unit: "Mbit/s" }],
    },
  ],
  control: {
    say: "Send 9 Mbit/s over the link of 10 Mbit/s.",
    without: "a queue that stands",
    step: 0,
    edits: [{ path: "flows[0].rate", value: '"9 Mbit/s"' }],
    see: (now) =>
      `No queue stands: in the last second packets wait ${ms(delay(now))} on average. In the five seconds CoDel drops ${digits(total(now))} packets.`,
    holds: (now) => total(now) === 0 && delay(now) < 0.005,
  },
  why: [
    "TCP's throughput is proportional to 1 / √p, where p is the share of packets that are lost (Mathis et al. 1997).",
    "The n-th drop follows the one before after interval / √n. These times add up to 2 × interval × √n. So after a time t CoDel has dropped (t / (2 × interval))² packets, and drops t / (2 × interval²) per second.",
    "Each further drop therefore lowers the senders' throughput by about the same step, until the queue no longer stands.",
    "The control law is not designed for a sender that ignores drops. A queue for each flow contains such floods (experiment 9).",
  ],
  sources: [
    { text: "RFC 8289 (the control law)", key: "rfc8289" },
    { text: "Nichols and Jacobson 2012", key: "nichols2012" },
    { text: "Mathis et al. 1997", key: "mathis1997" },
  ],
  further: [
    {
      say: "Change `aqm[0].target`: it moves the start of the drops, but not the slope.",
      edits: [{ path: "aqm[0].target", value: '"20 ms"' }],
    },
    {
      say: 'Set `duration` to "60 s": after about 26 s the line reaches the necessary drop rate, and only then does the queue start to shrink.',
      edits: [{ path: "duration", value: '"60 s"' }],
    },
    {
      say: 'Set `dumbbell.buffer` to "500 packets" and add `cobalt`: it runs BLUE next to CoDel, which responds to such senders once a buffer overflows.',
      edits: [
        { path: "dumbbell.buffer", value: '"500 packets"' },
        { path: "aqm[+]", value: '{ algorithm = "cobalt" }' },
      ],
    },
  ],
};
