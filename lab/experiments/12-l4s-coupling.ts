import scenario from "./12-l4s-coupling.toml";
import { digits, type Experiment, earlier, type Figures, mbit, ms, percent } from "./kit.ts";

const classic = (now: Figures, label = "dualpi2") => now.of(label, "goodput_bps", { scope: "classic" });
const l4s = (now: Figures, label = "dualpi2") => now.of(label, "goodput_bps", { scope: "l4s" });
/** A scalable flow's rate over a Classic flow's. */
const ratio = (now: Figures, label = "dualpi2") => l4s(now, label) / classic(now, label);
/** A Classic flow's round trip over a scalable flow's, with the queue in both. */
const trips = (now: Figures) =>
  now.of("dualpi2", "round_trip_time_mean_s", { scope: "classic" }) /
  now.of("dualpi2", "round_trip_time_mean_s", { scope: "l4s" });
/** The ratio of the rates by RFC 9332, eq. 10, which is for k = 2. */
const predicted = (now: Figures) => trips(now) / 1.22;
const shortQueue = (now: Figures) => now.of("dualpi2", "queue_delay_p99_s", { scope: "lane:l" });

const shares = (now: Figures, label = "dualpi2") =>
  `Prague gets ${mbit(l4s(now, label))} and CUBIC ${mbit(classic(now, label))}: ${digits(ratio(now, label))} to 1.`;

export const l4sCoupling: Experiment = {
  id: "l4s-coupling",
  title: "L4S's coupling",
  claim:
    "Two queues with one coupled controller let scalable and Classic flows share a link about equally, while 99% of the scalable packets wait less than a millisecond. With a loose coupling the scalable flows push the Classic ones back to about a tenth of the link.",
  minutes: 4,
  scenario,
  steps: [
    {
      title: "Coupled, k = 2",
      say: "Look at the throughput of the two kinds, and at the probabilities below. The Delays tab shows how long each kind waits.",
      edits: [],
      algorithms: ["dualpi2"],
      curves: ["throughput", "internals"],
      apart: true,
      claim: "The two kinds share the link about equally, and 99% of the scalable packets wait less than a millisecond",
      see: (now) =>
        `${shares(now)} The round trips are ${digits(trips(now))} to 1, from which RFC 9332 (eq. 10, for k = 2) predicts rates of ${digits(predicted(now))} to 1. P99 of the delay is ${ms(shortQueue(now))} in the low-latency queue. The mean in the Classic queue is ${ms(now.of("dualpi2", "queue_delay_mean_s", { scope: "lane:c" }))}.`,
      holds: (now) =>
        ratio(now) > 0.6 &&
        ratio(now) < 1.7 &&
        Math.abs(ratio(now) / predicted(now) - 1) < 0.15 &&
        shortQueue(now) < 0.001 &&
        now.of("dualpi2", "utilization") > 0.97,
      otherwise:
        "With these settings the two kinds do not share about equally, or the low-latency queue is not that short.",
      fails: [{ path: "aqm[0].k", value: "4" }],
    },
    {
      title: "Loosen the coupling",
      say: "Set k to a quarter. For the same probability in the Classic queue, the scalable flows now get an eighth of the coupled marks. Move k and watch the shares.",
      edits: [{ path: "aqm[0].k", value: "0.25" }],
      algorithms: ["dualpi2"],
      curves: ["throughput", "internals"],
      apart: true,
      claim: "With a loose coupling the scalable flows push the Classic ones back to about a tenth of the link",
      see: (now, before) =>
        `${shares(now)} With k = 2 it was ${digits(ratio(earlier(before, 0)))} to 1. CUBIC has ${percent(classic(now) / (classic(now) + l4s(now)))} of the goodput. P99 of the delay in the low-latency queue is ${ms(shortQueue(now))}: that queue has a ramp of its own.`,
      holds: (now, before) =>
        ratio(now) > 5 * ratio(earlier(before, 0)) &&
        Math.abs(classic(now) / (classic(now) + l4s(now)) - 0.1) < 0.04 &&
        shortQueue(now) < 0.001,
      otherwise: "At this k the coupling still balances the two kinds.",
      fails: [{ path: "aqm[0].k", value: "1" }],
      sliders: [
        { path: "aqm[0].k", says: "Coupling factor k", least: 0.1, most: 8, start: 0.25, log: true, decimals: 2 },
      ],
    },
    {
      title: "One queue for both",
      say: "Now try PIE: one queue, and the same probability for both kinds. A mark tells CUBIC to slow down a lot, but Prague only a little.",
      edits: [],
      algorithms: ["dualpi2", "pie"],
      curves: ["throughput", "internals"],
      apart: true,
      claim: "In one queue with the same marks Prague takes most of the link, and everyone waits",
      see: (now) =>
        `With PIE: ${shares(now, "pie")} Everyone waits ${ms(now.of("pie", "queue_delay_mean_s"))} on average. With DualPI2 the ratio is ${digits(ratio(now))} to 1.`,
      holds: (now) => ratio(now, "pie") > 3 * ratio(now) && now.of("pie", "queue_delay_mean_s") > 0.005,
      otherwise: "PIE shares the link as equally here as DualPI2 does.",
      fails: [{ path: "flows[1].tcp", value: '{ congestion = "cubic", recovery = "sack", ecn = true }' }],
    },
  ],
  control: {
    say: "Set k to 0.1. The two queues stay as they are, and the coupling nearly disappears.",
    without: "the coupling",
    step: 0,
    edits: [{ path: "aqm[0].k", value: "0.1" }],
    see: (now) =>
      `The equal shares are gone. ${shares(now)} The low-latency queue is still short: P99 of its delay is ${ms(shortQueue(now))}. So the coupling balances the rates, and the queue's own ramp keeps the delay low.`,
    holds: (now) => ratio(now) > 5 && shortQueue(now) < 0.002,
  },
  why: [
    "A Classic window is proportional to 1 / √p. A scalable one is 2 / p in steady state, where p is the share of packets that are marked.",
    "For equal rates, the marking probability for scalable senders must be the square root of that for Classic senders, times a constant k. So the controller adjusts one base probability p'. Classic packets get p'², and scalable ones get k p' (RFC 9332, section 2.1).",
    "Equal rates would need k = 1.64 × R_C / R_L, the ratio of the two round trips (RFC 9332, eq. 7). Classic packets also wait in their queue, so here the ratio is about 1.47, and k would be 2.4. RFC 9332 recommends 2: for Reno on a path of 25 ms with a target of 15 ms it computes 1.97 (eq. 8). Prague therefore gets about 1.2 times CUBIC's rate here.",
    "The coupling does not make the queue short. The low-latency queue has its own marking ramp, at about a millisecond. Scalable senders tolerate it because each mark costs them little.",
  ],
  sources: [
    { text: "RFC 9332 section 2.1 and appendix C.2", key: "rfc9332" },
    { text: "Schepper et al. 2016", key: "schepper2016" },
    { text: "RFC 9331 (Prague's requirements)", key: "rfc9331" },
  ],
  further: [
    {
      say: "Set `flows[0].rtt` and `flows[1].rtt` to 15 ms: Prague behaves as if its round trip were 25 ms, and gets less than CUBIC.",
      step: 0,
      edits: [
        { path: "flows[0].rtt", value: '"15 ms"' },
        { path: "flows[1].rtt", value: '"15 ms"' },
      ],
      algorithms: ["dualpi2"],
      holds: (now) => ratio(now) < 0.95 && ratio(now) < 0.7 * predicted(now),
    },
    { say: 'Set `flows[0].tcp.congestion` to "reno".', edits: [{ path: "flows[0].tcp.congestion", value: '"reno"' }] },
    {
      say: "Open the L4S presets in the list of documents: the grid of the PI2 paper, bursty links, and a Classic queue in the way.",
    },
  ],
};
