import scenario from "./06-self-tuning.toml";
import { digits, type Experiment, packets, percent, swing } from "./kit.ts";

const AT_FIRST = { segment: 0 };
const AT_LAST = { segment: 3 };

export const selfTuning: Experiment = {
  id: "self-tuning",
  title: "Self-tuning: AP-RED, ST-RED, ST-PI",
  claim:
    "A queue that sets its own targets, from the round-trip time or from its own swings, keeps a link full that a fixed setting loses, and shortens a queue that is longer than it needs to be.",
  minutes: 5,
  scenario,
  steps: [
    {
      title: "Round trips that jump: told",
      say: "At 60 s the round-trip times go up nearly fourfold. Adaptive RED changes max_p alone; AP-RED is told the round-trip time and scales its thresholds, max_p and weight with it. Compare the queues from 60 s on.",
      edits: [],
      algorithms: ["ared", "ap-red"],
      curves: ["queue", "internals"],
      apart: true,
      see: (now) =>
        `Before the jump both use ${percent(now.of("ared", "utilization", AT_FIRST))} of the link. From 220 s on Adaptive RED uses ${percent(now.of("ared", "utilization", AT_LAST))}, with a deviation of ${digits(swing(now, "ared", 3))} of its mean queue; AP-RED uses ${percent(now.of("ap-red", "utilization", AT_LAST))}, with ${digits(swing(now, "ap-red", 3))}.`,
      holds: (now) =>
        now.of("ared", "utilization", AT_FIRST) > 0.99 &&
        now.of("ap-red", "utilization", AT_LAST) > 0.98 &&
        now.of("ared", "utilization", AT_LAST) < 0.92 &&
        swing(now, "ap-red", 3) < 0.5 * swing(now, "ared", 3),
      otherwise: "Adaptive RED bears this jump, or AP-RED's setting does not.",
    },
    {
      title: "Round trips that jump: found out",
      say: "ST-RED is told nothing. It measures how far the queue swings about its target, and raises target and thresholds while that is too far. Watch q_ref.",
      edits: [],
      algorithms: ["ared", "st-red"],
      curves: ["queue", "internals"],
      apart: true,
      see: (now) =>
        `ST-RED's queue goes from ${packets(now.of("st-red", "queue_packets", AT_FIRST))} to ${packets(now.of("st-red", "queue_packets", AT_LAST))}. From 220 s on it uses ${percent(now.of("st-red", "utilization", AT_LAST))} of the link where Adaptive RED uses ${percent(now.of("ared", "utilization", AT_LAST))}.`,
      holds: (now) =>
        now.of("st-red", "utilization", AT_LAST) > now.of("ared", "utilization", AT_LAST) + 0.015 &&
        now.of("st-red", "queue_packets", AT_LAST) > 1.2 * now.of("st-red", "queue_packets", AT_FIRST),
      otherwise: "The swings here are within what ST-RED allows, so it keeps its target.",
    },
    {
      title: "A queue that is too long",
      say: "Leave the round-trip times alone, and let PI and ST-PI begin at 150 packets. PI holds its queue calmly where it was told to; ST-PI sees that it swings little, and comes down.",
      edits: [{ path: "flows[0].rtt_changes", value: null }],
      algorithms: ["pi", "st-pi"],
      curves: ["queue", "internals"],
      apart: true,
      see: (now) =>
        `From 220 s on PI's queue is ${packets(now.of("pi", "queue_packets", AT_LAST))} and ST-PI's ${packets(now.of("st-pi", "queue_packets", AT_LAST))}; they use ${percent(now.of("pi", "utilization", AT_LAST))} and ${percent(now.of("st-pi", "utilization", AT_LAST))} of the link.`,
      holds: (now) =>
        now.of("st-pi", "queue_packets", AT_LAST) < 0.7 * now.of("pi", "queue_packets", AT_LAST) &&
        now.of("st-pi", "utilization", AT_LAST) > 0.98,
      otherwise: "ST-PI keeps its target here, or its queue is too short for the link.",
    },
  ],
  control: {
    say: "Leave the round-trip times as they are at first. Then Adaptive RED's setting fits all the time, and AP-RED has nothing to gain.",
    step: 0,
    edits: [{ path: "flows[0].rtt_changes", value: null }],
  },
  why: [
    "Thresholds are distances in packets. What a queue needs to keep the link full while windows are halved goes with the bandwidth-delay product.",
    "AP-RED keeps a setting that is known to be good in proportion: thresholds with R C, max_p with (N / R C)^2, the weight with N / (R C)^2.",
    "ST-RED and ST-PI measure the outcome instead. A deviation that is large for the target says that the loop has too much gain; a larger target lowers it, and a small deviation allows a shorter queue.",
    "Finding out takes longer than being told: ST-RED needs minutes where AP-RED needs some seconds.",
  ],
  sources: [
    { text: "Chen 2010, chapter 4 (AP-RED)", key: "chen2010" },
    { text: "Chen 2010, chapter 5 (ST-RED)", key: "chen2010" },
    { text: "Chen 2010, chapter 6 (ST-PI)", key: "chen2010" },
  ],
  further: [
    '`aqm[1].rtt = "measured"` and `flows = "measured"`: AP-RED counts connections and handshakes itself, over a minute.',
    "`aqm[2].h_s`: how calm a queue has to be before its target falls.",
    "The documents' own experiments: Chen 2010, section 6.4.1 and 6.4.2, in the list below.",
  ],
};
