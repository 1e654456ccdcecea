import scenario from "./09-flow-queues.toml";
import { type Experiment, earlier, type Figures, mbit, ms, percent } from "./kit.ts";

const CALL = { scope: "call" };
const FLOOD = { path: "flows[2].rate", value: '"30 Mbit/s"' };
/** What the slowest percent of the call's packets wait, beyond the 20 ms of the path. */
const late = (now: Figures, label: string) => now.of(label, "one_way_delay_p99_s", CALL) - 0.02;
const lost = (now: Figures, label: string) => now.of(label, "loss_rate", CALL);
const downloads = (now: Figures, label: string) => now.of(label, "goodput_bps", { scope: "download" });
const flood = (now: Figures, label: string) => now.of(label, "goodput_bps", { scope: "flood" });

export const flowQueues: Experiment = {
  id: "flow-queues",
  title: "What flow queues do",
  claim:
    "With a queue for each flow, a sparse flow does not wait behind the others, and a sender that floods the link gets no more than its share.",
  minutes: 3,
  scenario,
  steps: [
    {
      title: "A call next to four downloads",
      say: "Compare the call in CoDel's single queue and in FQ-CoDel's queues. The path alone takes 20 ms.",
      edits: [],
      algorithms: ["codel", "fq-codel"],
      curves: ["delay", "throughput"],
      apart: true,
      claim: "In its own queue the call hardly waits, and the downloads do not suffer",
      see: (now) =>
        `P99 of the call's waiting time is ${ms(late(now, "codel"))} with CoDel and ${ms(late(now, "fq-codel"))} with FQ-CoDel. The downloads get ${mbit(downloads(now, "codel"))} and ${mbit(downloads(now, "fq-codel"))}.`,
      holds: (now) =>
        late(now, "fq-codel") < 0.3 * late(now, "codel") &&
        late(now, "fq-codel") < 0.003 &&
        downloads(now, "fq-codel") > 0.95 * downloads(now, "codel"),
      otherwise: "The call waits as long in its own queue as in the shared one.",
      fails: [{ path: "aqm[1].flows", value: "1" }],
    },
    {
      title: "A flood of 30 Mbit/s",
      say: "Turn the UDP sender up to one and a half times the rate of the link. Look at who gets what.",
      edits: [FLOOD],
      algorithms: ["codel", "fq-codel"],
      curves: ["throughput", "delay"],
      apart: true,
      claim: "FQ-CoDel limits the flood to its share and protects the call; CoDel does neither",
      see: (now) =>
        `With CoDel the downloads get ${mbit(downloads(now, "codel"))}, and the call loses ${percent(lost(now, "codel"))} of its packets. With FQ-CoDel the four downloads get ${mbit(downloads(now, "fq-codel"))}, the flood gets ${mbit(flood(now, "fq-codel"))}, and the call loses ${percent(lost(now, "fq-codel"))}.`,
      holds: (now) =>
        downloads(now, "codel") < 2e6 &&
        lost(now, "codel") > 0.2 &&
        flood(now, "fq-codel") < (1.1 * downloads(now, "fq-codel")) / 4 &&
        downloads(now, "fq-codel") > 14e6 &&
        lost(now, "fq-codel") < 0.01,
      otherwise: "Nothing floods the link here, or the queues do not hold the flood back.",
      fails: [{ path: "flows[2].rate", value: '"1 Mbit/s"' }],
      sliders: [
        {
          path: "flows[2].rate",
          says: "Rate of the UDP sender",
          least: 1,
          most: 60,
          start: 30,
          unit: "Mbit/s",
          log: true,
        },
      ],
    },
    {
      title: "Four flows instead of one",
      say: "Let the UDP sender split the same 30 Mbit/s over four flows. FQ-CoDel cannot tell that they belong together.",
      edits: [
        { path: "flows[2].rate", value: '"7.5 Mbit/s"' },
        { path: "flows[2].count", value: "4" },
      ],
      algorithms: ["codel", "fq-codel"],
      curves: ["throughput", "delay"],
      apart: true,
      claim: "A sender with four flows gets four shares",
      see: (now, before) =>
        `With FQ-CoDel the UDP sender gets ${mbit(flood(now, "fq-codel"))}; with one flow it got ${mbit(flood(earlier(before, 1), "fq-codel"))}. The four downloads get ${mbit(downloads(now, "fq-codel"))}; they got ${mbit(downloads(earlier(before, 1), "fq-codel"))}.`,
      holds: (now, before) =>
        flood(now, "fq-codel") > 2 * flood(earlier(before, 1), "fq-codel") &&
        Math.abs(flood(now, "fq-codel") / downloads(now, "fq-codel") - 1) < 0.4,
      otherwise: "The UDP sender does not get as much as the four downloads here.",
      fails: [
        { path: "flows[2].rate", value: '"30 Mbit/s"' },
        { path: "flows[2].count", value: "1" },
      ],
      sliders: [{ path: "flows[2].count", says: "UDP flows", least: 1, most: 16, start: 4 }],
    },
  ],
  control: {
    say: "Give FQ-CoDel only one queue. All flows are hashed into it.",
    without: "a queue for each flow",
    step: 1,
    edits: [{ path: "aqm[1].flows", value: "1" }],
    see: (now) =>
      `FQ-CoDel does no better than CoDel. The downloads get ${mbit(downloads(now, "fq-codel"))}, the flood gets ${mbit(flood(now, "fq-codel"))}, and the call loses ${percent(lost(now, "fq-codel"))} of its packets.`,
    holds: (now) => downloads(now, "fq-codel") < 2e6 && lost(now, "fq-codel") > 0.2,
  },
  why: [
    "Each flow is hashed into its own queue, and the queues take turns by bytes (deficit round robin). If five flows each want more than a fifth of the link, each gets a fifth.",
    "A flow that sends less than its turn allows finds its queue empty. The queue counts as new, and new queues are served first.",
    "CoDel then works inside each queue. The flood fills its own queue and loses its own packets.",
    "The isolation is between flows, not between people. A sender with four flows has four queues, and two flows with the same hash share one.",
  ],
  sources: [
    { text: "RFC 8290 sections 1, 4 and 6", key: "rfc8290" },
    { text: "McKenney 1990", key: "mckenney1990" },
    { text: "Shreedhar and Varghese 1996", key: "shreedhar1996" },
  ],
  further: [
    {
      say: "Raise `flows[0].count`: the flood still gets the share of one flow.",
      edits: [{ path: "flows[0].count", value: "9" }],
    },
    {
      say: "Set `aqm[1].flows` to 8: with so few queues, some flows share one with the flood.",
      edits: [{ path: "aqm[1].flows", value: "8" }],
    },
    {
      say: "Add `cake` or `sfq`: other ways to separate flows. The flood gets a fair share.",
      step: 1,
      edits: [
        { path: "aqm[+]", value: '{ algorithm = "cake" }' },
        { path: "aqm[+]", value: '{ algorithm = "sfq" }' },
      ],
      algorithms: ["cake", "sfq"],
      holds: (now) => Math.abs(flood(now, "cake") - 4e6) < 0.3e6 && Math.abs(flood(now, "sfq") - 4e6) < 0.3e6,
    },
    {
      say: "Add `sfb` and `choke`, which have no queue for each flow. SFB limits the flood to about half of the link, and CHOKe hardly limits it.",
      step: 1,
      edits: [
        { path: "aqm[+]", value: '{ algorithm = "sfb" }' },
        { path: "aqm[+]", value: '{ algorithm = "choke" }' },
      ],
      algorithms: ["sfb", "choke"],
      holds: (now) => Math.abs(flood(now, "sfb") / 20e6 - 0.5) < 0.1 && flood(now, "choke") > 0.85 * 20e6,
    },
  ],
};
