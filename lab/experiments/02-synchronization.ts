import scenario from "./02-synchronization.toml";
import { type Experiment, earlier, packets, percent } from "./kit.ts";

const share = "loss_synchronization";

export const synchronization: Experiment = {
  id: "synchronization",
  title: "Global synchronization",
  claim:
    "A full drop-tail queue makes nearly all flows lose packets at once, so their windows rise and fall together; RED spreads the losses.",
  minutes: 3,
  scenario,
  steps: [
    {
      title: "Fill a drop-tail buffer",
      say: "Play, and look at the windows and at the queue: a common sawtooth.",
      edits: [],
      algorithms: ["drop-tail"],
      curves: ["windows", "queue"],
      span: 20,
      see: (now) =>
        `In an event of loss ${percent(now.of("drop-tail", share))} of the flows lose packets. The queue swings by ${packets(now.of("drop-tail", "queue_std_packets"))} around ${packets(now.of("drop-tail", "queue_packets"))}.`,
      holds: (now) => now.of("drop-tail", share) > 0.7,
      otherwise: "The flows here lose packets one after the other.",
    },
    {
      title: "Let RED drop early",
      say: "RED drops some arrivals at random while the queue grows. Compare the windows, and the drops over time.",
      edits: [],
      algorithms: ["drop-tail", "red"],
      curves: ["windows", "queue", "drops"],
      span: 20,
      see: (now) =>
        `Share of the flows that lose in an event: ${percent(now.of("drop-tail", share))} with drop-tail, ${percent(now.of("red", share))} with RED. RED's queue is ${packets(now.of("red", "queue_packets"))} instead of ${packets(now.of("drop-tail", "queue_packets"))}, at a utilization of ${percent(now.of("red", "utilization"))} for ${percent(now.of("drop-tail", "utilization"))}.`,
      holds: (now) => now.of("red", share) < 0.6 * now.of("drop-tail", share),
      otherwise: "RED drops at random here no more than the full buffer does.",
    },
    {
      title: "Different round-trip times",
      say: "Give the flows round-trip times from 50 to 150 ms, and look at drop-tail again: their sawteeth drift apart.",
      edits: [{ path: "flows[0].rtt", value: '{ uniform = ["50 ms", "150 ms"] }' }],
      algorithms: ["drop-tail", "red"],
      curves: ["windows", "queue"],
      span: 20,
      see: (now, before) =>
        `With drop-tail ${percent(now.of("drop-tail", share))} of the flows lose in an event, where it was ${percent(earlier(before, 0).of("drop-tail", share))} with equal round-trip times; with RED ${percent(now.of("red", share))}.`,
      holds: (now, before) => now.of("drop-tail", share) < 0.8 * earlier(before, 0).of("drop-tail", share),
      otherwise: "The flows are still in step.",
    },
  ],
  control: {
    say: "Put RED's thresholds beyond the buffer (200 and 600 packets for 100), so that it never drops early: it is as synchronized as drop-tail.",
    step: 1,
    edits: [
      { path: "aqm[1].min_th", value: '"200 packets"' },
      { path: "aqm[1].max_th", value: '"600 packets"' },
    ],
  },
  why: [
    "A full buffer drops all that comes, for as long as it takes the senders to notice: a round trip.",
    "In that time each flow sends a window, and nearly each loses something of it, so all reduce at once.",
    "RED's drops are drawn one by one, each long before the buffer is full, so a round trip has a few of them.",
    "Equal round-trip times keep the flows in step. Different ones let them drift, so real traffic is less synchronized than equal flows are.",
  ],
  sources: [
    { text: "Floyd and Jacobson 1993", key: "floyd1993" },
    { text: "RFC 7567 section 2", key: "rfc7567" },
    { text: "RFC 7928 section 2.4 (the metric)", key: "rfc7928" },
  ],
  further: [
    "`flows[0].count`: the more flows share the link, the more of them chance lets out of a round.",
    "`aqm[1].weight`: an average that lags a round trip or two behind swings itself (experiment 3).",
    "Add `codel`: it drops one packet at a time, too.",
  ],
};
