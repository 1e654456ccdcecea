import scenario from "./12-l4s-coupling.toml";
import { digits, type Experiment, earlier, type Figures, mbit, ms } from "./kit.ts";

const classic = (now: Figures, label: string) => now.of(label, "goodput_bps", { scope: "classic" });
const l4s = (now: Figures, label: string) => now.of(label, "goodput_bps", { scope: "l4s" });
/** A scalable flow's rate over a Classic flow's. */
const ratio = (now: Figures, label: string) => l4s(now, label) / classic(now, label);

const shares = (now: Figures, label: string) =>
  `Prague has ${mbit(l4s(now, label))}, CUBIC ${mbit(classic(now, label))}: ${digits(ratio(now, label))} to 1.`;

export const l4sCoupling: Experiment = {
  id: "l4s-coupling",
  title: "L4S's coupling",
  claim:
    "Two queues with one coupled controller let scalable and Classic flows share a link about equally, while the scalable ones wait for less than a millisecond; without the coupling they starve the Classic ones.",
  minutes: 4,
  scenario,
  steps: [
    {
      title: "Coupled, k = 2",
      say: "Look at the throughput of the two kinds, and at the probabilities below. The part Delays has what each kind waits for.",
      edits: [],
      algorithms: ["dualpi2"],
      curves: ["throughput", "internals"],
      apart: true,
      see: (now) =>
        `${shares(now, "dualpi2")} P99 of the delay is ${ms(now.of("dualpi2", "queue_delay_p99_s", { scope: "lane:l" }))} in the low-latency queue; the mean in the Classic one is ${ms(now.of("dualpi2", "queue_delay_mean_s", { scope: "lane:c" }))}.`,
      holds: (now) =>
        ratio(now, "dualpi2") > 0.6 &&
        ratio(now, "dualpi2") < 1.7 &&
        now.of("dualpi2", "queue_delay_p99_s", { scope: "lane:l" }) < 0.0015 &&
        now.of("dualpi2", "utilization") > 0.97,
      otherwise: "The two kinds do not share equally with these settings, or the low-latency queue is not short.",
    },
    {
      title: "Loosen the coupling",
      say: "Set k to a quarter. The scalable flows now get an eighth of the marks from the Classic queue's controller. Move k, and watch the shares.",
      edits: [{ path: "aqm[0].k", value: "0.25" }],
      algorithms: ["dualpi2"],
      curves: ["throughput", "internals"],
      apart: true,
      see: (now, before) =>
        `${shares(now, "dualpi2")} With k = 2 it was ${digits(ratio(earlier(before, 0), "dualpi2"))} to 1. P99 in the low-latency queue stays ${ms(now.of("dualpi2", "queue_delay_p99_s", { scope: "lane:l" }))}, which its own ramp sees to.`,
      holds: (now, before) => ratio(now, "dualpi2") > 2 * ratio(earlier(before, 0), "dualpi2"),
      otherwise: "At this k the coupling still balances the two.",
      sliders: [
        { path: "aqm[0].k", says: "Coupling factor k", least: 0.1, most: 8, start: 0.25, log: true, decimals: 2 },
      ],
    },
    {
      title: "One queue that knows neither",
      say: "Put PIE there: one queue, and the same probability for both kinds. Prague takes a mark for a small thing, CUBIC for a large one.",
      edits: [],
      algorithms: ["dualpi2", "pie"],
      curves: ["throughput", "internals"],
      apart: true,
      see: (now) =>
        `Behind PIE: ${shares(now, "pie")} All wait for ${ms(now.of("pie", "queue_delay_mean_s"))}. Behind DualPI2 the ratio is ${digits(ratio(now, "dualpi2"))}.`,
      holds: (now) => ratio(now, "pie") > 3 * ratio(now, "dualpi2") && now.of("pie", "queue_delay_mean_s") > 0.005,
      otherwise: "PIE shares as equally here as DualPI2 does.",
    },
  ],
  control: {
    say: "Set k to a quarter. The queues are the same two; only the coupling is looser, and the equal shares are gone.",
    step: 0,
    edits: [{ path: "aqm[0].k", value: "0.25" }],
  },
  why: [
    "A Classic window goes with one over the square root of the marks, a scalable one with one over the marks: 2 / p_L in a steady state.",
    "For equal rates the scalable senders must see the square root of what the Classic ones see, times a constant. So the controller moves a base probability b; Classic packets are signaled with b^2 and scalable ones with k b (RFC 9332, eq. 1).",
    "The constant is 2 for round trips that are alike with their queues. The Classic packets wait for the target on top, which the ratio shows.",
    "The short queue is not made by the coupling but by the low-latency queue's own ramp, at a millisecond, which the scalable senders can bear because each mark costs them little.",
  ],
  sources: [
    { text: "RFC 9332 section 2.1", key: "rfc9332" },
    { text: "De Schepper et al. 2016", key: "schepper2016" },
    { text: "RFC 9331 (Prague's requirements)", key: "rfc9331" },
  ],
  further: [
    "`flows[0].rtt` and `flows[1].rtt`: at 5 ms Prague behaves as if its round trip were 25 ms.",
    '`flows[0].tcp.congestion` = "reno".',
    "The presets of L4S below: the grid of the PI2 paper, bursty links, and a Classic queue in the way.",
  ],
};
