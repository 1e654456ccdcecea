import scenario from "./02-synchronization.toml";
import { type Experiment, earlier, type Figures, packets, percent } from "./kit.ts";

/** The share of the flows that lose packets when any does. */
const share = (now: Figures, label: string) => now.of(label, "loss_synchronization");
const swings = (now: Figures, label: string) => now.of(label, "queue_std_packets");

export const synchronization: Experiment = {
  id: "synchronization",
  title: "Global synchronization",
  claim:
    "A full drop-tail queue makes most flows lose packets at the same time, so the queue rises and falls with all of them. RED spreads the losses out.",
  minutes: 3,
  scenario,
  steps: [
    {
      title: "Fill a drop-tail buffer",
      say: "Press play. Look at the windows and at the queue: they share one sawtooth.",
      edits: [],
      algorithms: ["drop-tail"],
      curves: ["windows", "queue"],
      span: 20,
      claim: "A full buffer makes most flows lose packets at the same time, and the queue swings widely",
      see: (now) =>
        `In a typical loss event ${percent(share(now, "drop-tail"))} of the flows lose packets. The queue averages ${packets(now.of("drop-tail", "queue_packets"))} and has a standard deviation of ${packets(swings(now, "drop-tail"))}.`,
      holds: (now) => share(now, "drop-tail") > 0.7 && swings(now, "drop-tail") > 25,
      otherwise: "The flows here lose packets one after another.",
      fails: [{ path: "flows[0].rtt", value: '{ uniform = ["50 ms", "150 ms"] }' }],
    },
    {
      title: "Let RED drop early",
      say: "RED drops some arrivals at random while the queue grows. Compare the windows, and compare the drops over time.",
      edits: [],
      algorithms: ["drop-tail", "red"],
      curves: ["windows", "queue", "drops"],
      span: 20,
      claim: "RED spreads the losses out, and its queue swings less",
      see: (now) =>
        `In a typical loss event ${percent(share(now, "drop-tail"))} of the flows lose packets with drop-tail, and ${percent(share(now, "red"))} with RED. RED's queue averages ${packets(now.of("red", "queue_packets"))}; drop-tail's averages ${packets(now.of("drop-tail", "queue_packets"))}. Utilization is ${percent(now.of("red", "utilization"))} with RED and ${percent(now.of("drop-tail", "utilization"))} with drop-tail.`,
      holds: (now) =>
        share(now, "red") < 0.6 * share(now, "drop-tail") && swings(now, "red") < 0.8 * swings(now, "drop-tail"),
      otherwise: "RED's losses are no more spread out here than the full buffer's.",
      fails: [{ path: "aqm[1].min_th", value: '"59 packets"' }],
    },
    {
      title: "Different round-trip times",
      say: "Give the flows round-trip times from 50 to 150 ms. Look at drop-tail again: the sawteeth drift apart.",
      edits: [{ path: "flows[0].rtt", value: '{ uniform = ["50 ms", "150 ms"] }' }],
      algorithms: ["drop-tail", "red"],
      curves: ["windows", "queue"],
      span: 20,
      claim: "Different round-trip times break up the synchronization of drop-tail",
      see: (now, before) =>
        `With drop-tail ${percent(share(now, "drop-tail"))} of the flows now lose packets in a typical event; with equal round-trip times it was ${percent(share(earlier(before, 0), "drop-tail"))}. With RED it is ${percent(share(now, "red"))}.`,
      holds: (now, before) => share(now, "drop-tail") < 0.8 * share(earlier(before, 0), "drop-tail"),
      otherwise: "The flows are still in step.",
      fails: [{ path: "flows[0].rtt", value: '"100 ms"' }],
    },
  ],
  control: {
    say: "Set RED's thresholds to 200 and 600 packets. The buffer holds only 100, so RED never drops early.",
    without: "early drops",
    step: 1,
    edits: [
      { path: "aqm[1].min_th", value: '"200 packets"' },
      { path: "aqm[1].max_th", value: '"600 packets"' },
    ],
    see: (now) =>
      `RED is now as synchronized as drop-tail: ${percent(share(now, "red"))} of the flows lose packets in a typical event, with drop-tail ${percent(share(now, "drop-tail"))}. Both queues average ${packets(now.of("red", "queue_packets"))}.`,
    holds: (now) =>
      now.of("red", "early_loss_rate") === 0 &&
      Math.abs(share(now, "red") / share(now, "drop-tail") - 1) < 0.05 &&
      Math.abs(now.of("red", "queue_packets") / now.of("drop-tail", "queue_packets") - 1) < 0.05,
  },
  why: [
    "In every round trip each flow sends one packet more than before. Once the buffer is full, the excess is dropped until the senders notice, which takes a round trip. That is about twenty packets, a tenth of the arrivals.",
    "These packets are spread over the flows, so nearly every flow loses one in the same round trip, and they all slow down together.",
    "RED drops packets one at a time, at random, long before the buffer is full. A round trip contains only a few such drops.",
    "Equal round-trip times keep the flows in step, and different ones let them drift apart. Real traffic is therefore less synchronized than this first example.",
  ],
  sources: [
    { text: "Floyd and Jacobson 1993", key: "floyd1993" },
    { text: "RFC 7567 section 2", key: "rfc7567" },
    { text: "RFC 7928 section 2.4 (the metric)", key: "rfc7928" },
  ],
  further: [
    {
      say: "Raise `flows[0].count`: with more flows, chance spares more of them in each loss event.",
      step: 0,
      edits: [{ path: "flows[0].count", value: "60" }],
      algorithms: ["drop-tail"],
      holds: (now, without) => share(now, "drop-tail") < share(without, "drop-tail"),
    },
    {
      say: "Change `aqm[1].weight`: RED's own average decides how much RED's queue swings (experiment 3).",
      step: 1,
      edits: [{ path: "aqm[1].weight", value: "0.0002" }],
    },
    {
      say: "Add `codel`: it also drops one packet at a time.",
      edits: [{ path: "aqm[+]", value: '{ algorithm = "codel" }' }],
    },
  ],
};
