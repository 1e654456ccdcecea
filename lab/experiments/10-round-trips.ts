import scenario from "./10-round-trips.toml";
import { digits, type Experiment, type Figures, mbit, ms } from "./kit.ts";

const NEAR = { scope: "near" };
const FAR = { scope: "far" };
/** The near flows' goodput over the far ones'. */
const rates = (now: Figures, label: string) => now.of(label, "goodput_bps", NEAR) / now.of(label, "goodput_bps", FAR);
/** The far flows' round trip over the near ones', with the queue in both. */
const trips = (now: Figures, label: string) =>
  now.of(label, "round_trip_time_mean_s", FAR) / now.of(label, "round_trip_time_mean_s", NEAR);

const shares = (now: Figures, label: string) =>
  `The near flows get ${mbit(now.of(label, "goodput_bps", NEAR))} and the far ones ${mbit(now.of(label, "goodput_bps", FAR))}: ${digits(rates(now, label))} to 1.`;
const delays = (now: Figures, label: string) =>
  `Their round trips are ${ms(now.of(label, "round_trip_time_mean_s", NEAR))} and ${ms(now.of(label, "round_trip_time_mean_s", FAR))}: 1 to ${digits(trips(now, label))}.`;

export const roundTrips: Experiment = {
  id: "round-trips",
  title: "Round-trip unfairness",
  claim:
    "Under the same marks, the rates of Reno flows are inversely proportional to their round-trip times. A full buffer is more unfair than that, and a queue for each flow removes most of the difference.",
  minutes: 4,
  scenario,
  steps: [
    {
      title: "The same marks for all",
      say: "CoDel marks near and far flows alike. Look at the throughput of the two classes, and compare it with their round-trip times.",
      edits: [],
      algorithms: ["codel"],
      curves: ["throughput", "windows"],
      apart: true,
      claim: "The near flows are several times as fast as the far ones, by the ratio of the round-trip times",
      see: (now) => `${shares(now, "codel")} ${delays(now, "codel")}`,
      holds: (now) => Math.abs(rates(now, "codel") / trips(now, "codel") - 1) < 0.2 && rates(now, "codel") > 3,
      otherwise:
        "The rates do not have this ratio here. Either the flows are alike, or they do not see the same marks.",
      fails: [
        { path: "flows[0].tcp.ecn", value: "false" },
        { path: "flows[1].tcp.ecn", value: "false" },
        { path: "dumbbell.buffer", value: '"20 packets"' },
      ],
      sliders: [
        {
          path: "flows[1].rtt",
          says: "Round trip of the far flows",
          least: 20,
          most: 320,
          start: 160,
          unit: "ms",
          log: true,
        },
      ],
    },
    {
      title: "A full buffer",
      say: "Put drop-tail next to it. Its long queue makes the round trips more alike, so it should be fairer. It is not.",
      edits: [],
      algorithms: ["codel", "drop-tail"],
      curves: ["throughput", "queue"],
      apart: true,
      claim: "A full buffer is more unfair than the round-trip times explain",
      see: (now) =>
        `${shares(now, "drop-tail")} ${delays(now, "drop-tail")} With CoDel the rates are ${digits(rates(now, "codel"))} to 1.`,
      holds: (now) =>
        rates(now, "drop-tail") > 2 * trips(now, "drop-tail") && rates(now, "drop-tail") > rates(now, "codel"),
      otherwise: "Drop-tail is no more unfair than the round-trip times explain.",
      fails: [{ path: "flows[1].rtt", value: '"20 ms"' }],
    },
    {
      title: "A long queue, marked at random",
      say: "Is the cause that the queue is long, or that it is full? PIE with a target of 50 ms also keeps a long queue, but it marks at random before the buffer is full.",
      edits: [],
      algorithms: ["drop-tail", "pie"],
      curves: ["throughput", "queue"],
      apart: true,
      claim: "A long queue that marks at random is only as unfair as the round-trip times explain",
      see: (now) =>
        `PIE's queue averages ${ms(now.of("pie", "queue_delay_mean_s"))} and drop-tail's ${ms(now.of("drop-tail", "queue_delay_mean_s"))}. With PIE: ${shares(now, "pie")} ${delays(now, "pie")} With drop-tail the rates are ${digits(rates(now, "drop-tail"))} to 1.`,
      holds: (now) =>
        now.of("pie", "queue_delay_mean_s") > 0.6 * now.of("drop-tail", "queue_delay_mean_s") &&
        Math.abs(rates(now, "pie") / trips(now, "pie") - 1) < 0.25 &&
        rates(now, "pie") < 0.4 * rates(now, "drop-tail"),
      otherwise: "PIE's queue is short here, or its buffer is full as well.",
      fails: [{ path: "aqm[2].target", value: '"100 ms"' }],
    },
    {
      title: "A queue for each flow",
      say: "FQ-CoDel serves each flow in turn, whatever its round-trip time.",
      edits: [],
      algorithms: ["codel", "fq-codel"],
      curves: ["throughput", "windows"],
      apart: true,
      claim: "A queue for each flow removes most of the difference",
      see: (now) => `${shares(now, "fq-codel")} In CoDel's single queue it is ${digits(rates(now, "codel"))} to 1.`,
      holds: (now) => rates(now, "fq-codel") < 1.8 && rates(now, "fq-codel") < 0.4 * rates(now, "codel"),
      otherwise: "The flows do not have queues of their own here.",
      fails: [{ path: "aqm[3].flows", value: "1" }],
    },
  ],
  control: {
    say: "Give the far flows 20 ms as well. All flows are then alike.",
    without: "different round trips",
    step: 0,
    edits: [{ path: "flows[1].rtt", value: '"20 ms"' }],
    see: (now) => `The two classes share the link equally. ${shares(now, "codel")} ${delays(now, "codel")}`,
    holds: (now) => Math.abs(rates(now, "codel") - 1) < 0.1 && Math.abs(trips(now, "codel") - 1) < 0.05,
  },
  why: [
    "If a share p of the packets is marked, a Reno window averages about √(1.5 / p), whatever the round trip R. One window per round trip is a rate of √(1.5 / p) / R (Mathis et al. 1997).",
    "Equal marks therefore make equal windows, and the rates are inversely proportional to the round-trip times.",
    "A full buffer does not treat all flows alike. Near flows recover and fill it again long before the far ones have recovered. Lakshman and Madhow found drop-tail grossly unfair to connections with longer round trips.",
    "With a queue for each flow, each flow gets its own marks. A far flow's queue stands less often, so it is marked less. Some difference remains because Reno at 160 ms does not always fill its share.",
  ],
  sources: [
    { text: "Mathis et al. 1997", key: "mathis1997" },
    { text: "Lakshman and Madhow 1997 (abstract)", key: "lakshman1997" },
    { text: "RFC 8290 section 1", key: "rfc8290" },
  ],
  further: [
    {
      say: 'Set `flows[0].tcp.congestion` and `flows[1].tcp.congestion` to "cubic". What gets better, and where?',
      edits: [
        { path: "flows[0].tcp.congestion", value: '"cubic"' },
        { path: "flows[1].tcp.congestion", value: '"cubic"' },
      ],
    },
    {
      say: "Raise `dumbbell.buffer`: a longer drop-tail buffer makes the round trips more alike.",
      edits: [{ path: "dumbbell.buffer", value: '"1000 packets"' }],
    },
    {
      say: "Add `red`: its random marks follow the same law as CoDel's and PIE's.",
      edits: [{ path: "aqm[+]", value: '{ algorithm = "red" }' }],
    },
  ],
};
