import scenario from "./11-bbr-and-cubic.toml";
import { type Experiment, earlier, type Figures, mbit, percent } from "./kit.ts";

const bbr = (now: Figures, label = "drop-tail") => now.of(label, "goodput_bps", { scope: "bbr" });
const cubic = (now: Figures, label = "drop-tail") => now.of(label, "goodput_bps", { scope: "cubic" });
const lost = (now: Figures) => now.of("drop-tail", "loss_rate");
/** BBR's part of what both get. */
const share = (now: Figures, label = "drop-tail") => bbr(now, label) / (bbr(now, label) + cubic(now, label));

const shares = (now: Figures, label = "drop-tail") =>
  `The two BBR flows get ${mbit(bbr(now, label))} and the two CUBIC flows ${mbit(cubic(now, label))}: BBR has ${percent(share(now, label))}. ${percent(now.of(label, "loss_rate"))} of all packets are lost.`;

export const bbrAndCubic: Experiment = {
  id: "bbr-and-cubic",
  title: "BBR beside CUBIC",
  claim:
    "How much BBR takes from CUBIC depends on the buffer. Version 1 takes nearly all of a link with a short buffer and about half with one of four to eight bandwidth-delay products. Version 3 responds to losses and leaves CUBIC more. A queue for each flow settles the matter.",
  minutes: 4,
  scenario,
  steps: [
    {
      title: "A short buffer",
      say: "The buffer is half a bandwidth-delay product (BDP). Look at the throughput of the two kinds, and at the losses.",
      edits: [],
      algorithms: ["drop-tail"],
      curves: ["throughput", "drops"],
      apart: true,
      claim: "In a short buffer BBR version 1 takes nearly all of the link",
      see: (now) => shares(now),
      holds: (now) => share(now) > 0.9 && lost(now) > 0.03,
      otherwise: "BBR leaves CUBIC a good part of the link here.",
      fails: [{ path: "dumbbell.buffer", value: '"2 bdp"' }],
      sliders: [
        {
          path: "dumbbell.buffer",
          says: "Buffer",
          least: 0.25,
          most: 8,
          start: 0.5,
          unit: "bdp",
          log: true,
          decimals: 2,
        },
      ],
    },
    {
      title: "A buffer of 8 BDP",
      say: "Give the link eight BDPs of buffer. CUBIC fills it. BBR keeps no more than twice its own estimate of the BDP in flight.",
      edits: [{ path: "dumbbell.buffer", value: '"8 bdp"' }],
      algorithms: ["drop-tail"],
      curves: ["throughput", "queue"],
      apart: true,
      claim: "In a buffer of eight BDPs BBR version 1 takes about half of the link",
      see: (now, before) => `${shares(now)} With the short buffer BBR had ${percent(share(earlier(before, 0)))}.`,
      holds: (now, before) => Math.abs(share(now) - 0.5) < 0.1 && lost(now) < 0.3 * lost(earlier(before, 0)),
      otherwise: "With this buffer the two kinds do not share about equally.",
      fails: [{ path: "dumbbell.buffer", value: '"1 bdp"' }],
    },
    {
      title: "BBR version 3, a short buffer",
      say: "Go back to the short buffer and switch BBR to version 3. It keeps less in flight when more than 2% of a round trip's packets are lost.",
      edits: [{ path: "flows[0].tcp.congestion", value: '"bbr3"' }],
      algorithms: ["drop-tail"],
      curves: ["throughput", "drops"],
      apart: true,
      claim: "Version 3 leaves CUBIC more and causes fewer losses",
      see: (now, before) =>
        `${shares(now)} Version 1 had ${percent(share(earlier(before, 0)))}, and ${percent(lost(earlier(before, 0)))} of all packets were lost.`,
      holds: (now, before) =>
        share(now) < 0.8 && share(now) < share(earlier(before, 0)) && lost(now) < 0.4 * lost(earlier(before, 0)),
      otherwise: "Version 3 takes as much here as version 1.",
      fails: [{ path: "flows[0].tcp.congestion", value: '"bbr1"' }],
    },
    {
      title: "A queue for each flow",
      say: "Take version 1 again, with the short buffer, and let FQ-CoDel decide who is served.",
      edits: [],
      algorithms: ["drop-tail", "fq-codel"],
      curves: ["throughput", "queue"],
      apart: true,
      claim: "With a queue for each flow the two kinds share about equally",
      see: (now) => `With FQ-CoDel: ${shares(now, "fq-codel")} With drop-tail BBR has ${percent(share(now))}.`,
      holds: (now) => Math.abs(share(now, "fq-codel") - 0.5) < 0.06 && share(now) > 0.9,
      otherwise: "The flows do not share equally with FQ-CoDel here.",
      fails: [{ path: "aqm[1].flows", value: "1" }],
    },
  ],
  control: {
    say: "Let the first two flows be CUBIC as well. All four are then alike.",
    without: "BBR",
    step: 0,
    edits: [{ path: "flows[0].tcp", value: '{ congestion = "cubic" }' }],
    see: (now) =>
      `The flows share the link about equally. The first two get ${mbit(bbr(now))} and the other two ${mbit(cubic(now))}. ${percent(lost(now))} of all packets are lost.`,
    holds: (now) => Math.abs(share(now) - 0.5) < 0.1 && lost(now) < 0.02,
  },
  why: [
    "BBR sends at the highest rate at which its packets have recently arrived, and it probes for more every eight round trips. Version 1 does not treat losses as a signal.",
    "BBR's probes overflow a short buffer. CUBIC cuts its window to 0.7 after each loss, again and again.",
    "In a long buffer CUBIC's window grows with the buffer. BBR's does not: version 1 allows itself two BDPs, counted with the smallest round trip that it has recently seen.",
    "Version 3 reads more than 2% of losses in a round trip as a sign of too much in flight, and then leaves room below that.",
  ],
  sources: [
    { text: "draft-cardwell-iccrg-bbr-congestion-control-00 (version 1)", key: "bbrdraft00" },
    { text: "draft-ietf-ccwg-bbr (version 3)", key: "bbrdraft" },
    { text: "Sarpkaya et al. 2025 (abstract)", key: "sarpkaya2025" },
  ],
  further: [
    {
      say: "Set `flows[1].count` to 8 with the short buffer: four of five flows are CUBIC's. What do they get?",
      edits: [{ path: "flows[1].count", value: "8" }],
    },
    {
      say: "Add `codel`: version 1 does not respond to its drops either.",
      edits: [{ path: "aqm[+]", value: '{ algorithm = "codel" }' }],
    },
    {
      say: 'Set `flows[0].tcp.congestion` to "bbr3" and try buffers from half a BDP to eight.',
      edits: [
        { path: "flows[0].tcp.congestion", value: '"bbr3"' },
        { path: "dumbbell.buffer", value: '"8 bdp"' },
      ],
    },
  ],
};
