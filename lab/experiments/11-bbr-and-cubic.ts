import scenario from "./11-bbr-and-cubic.toml";
import { type Experiment, earlier, type Figures, mbit, percent } from "./kit.ts";

const bbr = (now: Figures, label: string) => now.of(label, "goodput_bps", { scope: "bbr" });
const cubic = (now: Figures, label: string) => now.of(label, "goodput_bps", { scope: "cubic" });
/** BBR's part of what both have. */
const share = (now: Figures, label: string) => bbr(now, label) / (bbr(now, label) + cubic(now, label));

const shares = (now: Figures, label: string) =>
  `BBR has ${mbit(bbr(now, label))}, CUBIC ${mbit(cubic(now, label))}: ${percent(share(now, label))} is BBR's. ${percent(now.of(label, "loss_rate"))} of all packets are lost.`;

export const bbrAndCubic: Experiment = {
  id: "bbr-and-cubic",
  title: "BBR beside CUBIC",
  claim:
    "What BBR takes from CUBIC depends on the buffer: version 1 takes nearly all of a link with a short buffer and about half with a long one; version 3, which answers losses, leaves more, and a queue for each flow ends the dispute.",
  minutes: 4,
  scenario,
  steps: [
    {
      title: "A short buffer",
      say: "The buffer is half a bandwidth-delay product. Look at the throughput of the two kinds, and at the losses.",
      edits: [],
      algorithms: ["drop-tail"],
      curves: ["throughput", "drops"],
      apart: true,
      see: (now) => shares(now, "drop-tail"),
      holds: (now) => share(now, "drop-tail") > 0.85 && now.of("drop-tail", "loss_rate") > 0.03,
      otherwise: "BBR leaves CUBIC a good part here.",
      sliders: [
        {
          path: "dumbbell.buffer",
          says: "Buffer",
          least: 0.25,
          most: 16,
          start: 0.5,
          unit: "bdp",
          log: true,
          decimals: 2,
        },
      ],
    },
    {
      title: "A buffer of eight",
      say: "Give the link eight bandwidth-delay products. CUBIC fills the buffer; BBR keeps to two of what it takes for the empty path.",
      edits: [{ path: "dumbbell.buffer", value: '"8 bdp"' }],
      algorithms: ["drop-tail"],
      curves: ["throughput", "queue"],
      apart: true,
      see: (now, before) =>
        `${shares(now, "drop-tail")} With the short buffer ${percent(share(earlier(before, 0), "drop-tail"))} was.`,
      holds: (now, before) =>
        share(now, "drop-tail") < 0.65 &&
        now.of("drop-tail", "loss_rate") < 0.3 * earlier(before, 0).of("drop-tail", "loss_rate"),
      otherwise: "The buffer is still too short for CUBIC to hold its own.",
    },
    {
      title: "BBR version 3, a short buffer",
      say: "Go back to the short buffer and let BBR be version 3, which lowers what it keeps in flight when more than 2 % of a round trip's packets are lost.",
      edits: [{ path: "flows[0].tcp.congestion", value: '"bbr3"' }],
      algorithms: ["drop-tail"],
      curves: ["throughput", "drops"],
      apart: true,
      see: (now, before) =>
        `${shares(now, "drop-tail")} Version 1 had ${percent(share(earlier(before, 0), "drop-tail"))}, at losses of ${percent(earlier(before, 0).of("drop-tail", "loss_rate"))}.`,
      holds: (now, before) =>
        share(now, "drop-tail") < 0.8 &&
        now.of("drop-tail", "loss_rate") < 0.4 * earlier(before, 0).of("drop-tail", "loss_rate"),
      otherwise: "Version 3 takes as much here as version 1.",
    },
    {
      title: "A queue for each flow",
      say: "Take version 1 again, with a buffer of four, and let FQ-CoDel decide who is served.",
      edits: [{ path: "dumbbell.buffer", value: '"4 bdp"' }],
      algorithms: ["drop-tail", "fq-codel"],
      curves: ["throughput", "queue"],
      apart: true,
      see: (now) => shares(now, "fq-codel"),
      holds: (now) => Math.abs(share(now, "fq-codel") - 0.5) < 0.06,
      otherwise: "The flows do not share equally behind FQ-CoDel here.",
    },
  ],
  control: {
    say: "Let the first two flows be CUBIC, too. All four are alike, and share the link equally whatever the buffer.",
    step: 0,
    edits: [{ path: "flows[0].tcp", value: '{ congestion = "cubic" }' }],
  },
  why: [
    "BBR sends at the largest rate at which packets have lately arrived, and probes for more every eight round trips. Losses are no signal to version 1.",
    "In a short buffer the probes of BBR overflow it, and CUBIC answers each loss with 0.7 of its window, again and again.",
    "In a long buffer CUBIC's queue holds the round trip long. BBR's cap of two bandwidth-delay products of the empty path then is its share, however much room there is (Ware et al. 2019).",
    "Version 3 takes more than 2 % of losses in a round trip for too much, and leaves room below what it found.",
  ],
  sources: [
    { text: "draft-cardwell-iccrg-bbr-congestion-control-00 (version 1)", key: "bbrdraft00" },
    { text: "draft-ietf-ccwg-bbr (version 3)", key: "bbrdraft" },
    { text: "Ware et al. 2019 (not verified)", key: "ware2019" },
    { text: "Sarpkaya et al. 2025 (abstract)", key: "sarpkaya2025" },
  ],
  further: [
    "`flows[1].count` = 8 with the short buffer: four of five flows are CUBIC's, and have a seventh of the link.",
    "Add `codel`: version 1 does not answer its drops either.",
    '`flows[0].tcp.congestion = "bbr3"` with each buffer from half a bandwidth-delay product to eight.',
  ],
};
