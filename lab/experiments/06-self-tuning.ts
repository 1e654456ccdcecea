import scenario from "./06-self-tuning.toml";
import { digits, type Experiment, type Figures, packets, percent, swing } from "./kit.ts";

const AT_FIRST = { segment: 0 };
const AT_LAST = { segment: 3 };
const queue = (now: Figures, label: string, place = AT_LAST) => now.of(label, "queue_packets", place);
const used = (now: Figures, label: string, place = AT_LAST) => now.of(label, "utilization", place);

export const selfTuning: Experiment = {
  id: "self-tuning",
  title: "Self-tuning: AP-RED, ST-RED, ST-PI",
  claim:
    "An AQM that moves its own target, by the round-trip time or by the swings of its queue, makes better use of a link whose round trips jump than fixed thresholds do. It also shortens a queue that is longer than needed.",
  minutes: 5,
  scenario,
  steps: [
    {
      title: "Round trips that jump: a controller that is told",
      say: "At 60 s the round-trip times grow nearly fourfold. Adaptive RED changes only max_p. AP-RED is told the round-trip time, and scales its thresholds, max_p and weight. Compare the queues from 60 s on.",
      edits: [],
      algorithms: ["ared", "ap-red"],
      curves: ["queue", "internals"],
      apart: true,
      claim: "AP-RED keeps the link full after the jump, and fixed thresholds do not",
      see: (now) =>
        `Before the jump Adaptive RED uses ${percent(used(now, "ared", AT_FIRST))} of the link and AP-RED ${percent(used(now, "ap-red", AT_FIRST))}. From 220 s on Adaptive RED uses ${percent(used(now, "ared"))}, and its queue's standard deviation is ${digits(swing(now, "ared", 3))} times the mean. AP-RED uses ${percent(used(now, "ap-red"))}, with ${digits(swing(now, "ap-red", 3))} times the mean.`,
      holds: (now) =>
        used(now, "ared", AT_FIRST) > 0.99 &&
        used(now, "ap-red", AT_FIRST) > 0.99 &&
        used(now, "ap-red") > 0.98 &&
        used(now, "ared") < 0.92 &&
        swing(now, "ap-red", 3) < 0.5 * swing(now, "ared", 3),
      otherwise: "Adaptive RED copes with this jump, or AP-RED's settings do not.",
      fails: [{ path: "aqm[1].rtt", value: '"240 ms"' }],
    },
    {
      title: "Round trips that jump: a controller that finds out",
      say: "ST-RED is told nothing. It measures how far its queue swings around the target. As long as the swings are too large, it raises the target and the thresholds. Watch q_ref.",
      edits: [],
      algorithms: ["ared", "st-red"],
      curves: ["queue", "internals"],
      apart: true,
      claim: "ST-RED raises its target by itself, and gets more out of the link than fixed thresholds",
      see: (now) =>
        `ST-RED's queue averages ${packets(queue(now, "st-red", AT_FIRST))} before the jump and ${packets(queue(now, "st-red"))} from 220 s on. By then it uses ${percent(used(now, "st-red"))} of the link, and Adaptive RED uses ${percent(used(now, "ared"))}.`,
      holds: (now) =>
        used(now, "st-red") > used(now, "ared") + 0.02 && queue(now, "st-red") > 1.2 * queue(now, "st-red", AT_FIRST),
      otherwise: "ST-RED tolerates these swings, so it keeps its target.",
      fails: [{ path: "flows[0].rtt_changes", value: null }],
    },
    {
      title: "A queue that is too long",
      say: "Leave the round-trip times alone, and start PI and ST-PI at 150 packets. PI holds its queue steadily at that target. ST-PI sees that the queue swings little, and lowers its target.",
      edits: [{ path: "flows[0].rtt_changes", value: null }],
      algorithms: ["pi", "st-pi"],
      curves: ["queue", "internals"],
      apart: true,
      claim: "ST-PI shortens a queue that is longer than needed, and the link stays full",
      see: (now) =>
        `From 220 s on PI's queue averages ${packets(queue(now, "pi"))} and ST-PI's ${packets(queue(now, "st-pi"))}. They use ${percent(used(now, "pi"))} and ${percent(used(now, "st-pi"))} of the link.`,
      holds: (now) =>
        queue(now, "st-pi") < 0.7 * queue(now, "pi") &&
        Math.abs(queue(now, "pi") - 150) < 10 &&
        used(now, "st-pi") > 0.98,
      otherwise: "ST-PI keeps its target here, or its queue is too short for the link.",
      fails: [{ path: "aqm[4].h_s", value: "0.001" }],
    },
  ],
  control: {
    say: "Keep the round-trip times as they are at the start, and tell AP-RED so. Adaptive RED's settings then fit throughout.",
    without: "round trips that jump",
    step: 0,
    edits: [
      { path: "flows[0].rtt_changes", value: null },
      { path: "aqm[1].rtt", value: '"240 ms"' },
    ],
    see: (now) =>
      `AP-RED has nothing to gain. From 220 s on Adaptive RED uses ${percent(used(now, "ared"))} of the link and AP-RED ${percent(used(now, "ap-red"))}.`,
    holds: (now) => used(now, "ared") > 0.99 && used(now, "ap-red") > 0.99,
  },
  why: [
    "A threshold is a number of packets. The queue that is needed to keep a link full when windows are halved is proportional to the bandwidth-delay product.",
    "AP-RED scales settings that are known to work: thresholds with R C, max_p with (N / R C)², and the weight with N / (R C)².",
    "ST-RED and ST-PI measure the outcome instead. A queue that swings far around its target means too much gain, and a larger target lowers the gain. A calm queue can be shorter.",
    "Finding out takes longer than being told. ST-RED needs minutes here, and AP-RED needs seconds.",
  ],
  sources: [
    { text: "Chen 2010, chapter 4 (AP-RED)", key: "chen2010" },
    { text: "Chen 2010, chapter 5 (ST-RED)", key: "chen2010" },
    { text: "Chen 2010, chapter 6 (ST-PI)", key: "chen2010" },
  ],
  further: [
    {
      say: 'Set `aqm[1].rtt` and `aqm[1].flows` to "measured": AP-RED then estimates both from the packets that pass, over a minute.',
      edits: [
        { path: "aqm[1].rtt", value: '"measured"' },
        { path: "aqm[1].flows", value: '"measured"' },
      ],
    },
    {
      say: "Change `aqm[2].h_s`: it says how calm a queue has to be before its target falls.",
      edits: [{ path: "aqm[2].h_s", value: "0.1" }],
    },
    { say: "Open Chen's own experiments, sections 6.4.1 and 6.4.2, in the list of documents." },
  ],
};
