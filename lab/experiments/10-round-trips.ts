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
  `The near flows have ${mbit(now.of(label, "goodput_bps", NEAR))}, the far ones ${mbit(now.of(label, "goodput_bps", FAR))}: ${digits(rates(now, label))} to 1. `;

export const roundTrips: Experiment = {
  id: "round-trips",
  title: "Round-trip unfairness",
  claim:
    "Under the same marks a Reno flow gets a rate of one over its round-trip time; a full buffer makes it worse, and a queue for each flow takes it away.",
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
      see: (now) =>
        `${shares(now, "codel")}Their round trips are ${ms(now.of("codel", "round_trip_time_mean_s", NEAR))} and ${ms(now.of("codel", "round_trip_time_mean_s", FAR))}: 1 to ${digits(trips(now, "codel"))}.`,
      holds: (now) => Math.abs(rates(now, "codel") / trips(now, "codel") - 1) < 0.2 && rates(now, "codel") > 3,
      otherwise:
        "The rates are not those of the round-trip times here: the flows are alike, or do not meet the same marks.",
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
      say: "Put drop-tail beside it. Its queue makes the round trips more alike, so it should be fairer. It is not.",
      edits: [],
      algorithms: ["codel", "drop-tail"],
      curves: ["throughput", "queue"],
      apart: true,
      see: (now) =>
        `${shares(now, "drop-tail")}Their round trips, with the long queue in both, are 1 to ${digits(trips(now, "drop-tail"))} only; behind CoDel the rates are ${digits(rates(now, "codel"))} to 1.`,
      holds: (now) =>
        rates(now, "drop-tail") > 2 * trips(now, "drop-tail") && rates(now, "drop-tail") > rates(now, "codel"),
      otherwise: "Drop-tail is no worse than the round-trip times say.",
    },
    {
      title: "A queue for each flow",
      say: "FQ-CoDel serves each flow in turn, whatever its round-trip time.",
      edits: [],
      algorithms: ["codel", "fq-codel"],
      curves: ["throughput", "windows"],
      apart: true,
      see: (now) => `${shares(now, "fq-codel")}Behind CoDel's one queue it is ${digits(rates(now, "codel"))} to 1.`,
      holds: (now) => rates(now, "fq-codel") < 1.8 && rates(now, "fq-codel") < 0.4 * rates(now, "codel"),
      otherwise: "The flows are not apart here.",
    },
  ],
  control: {
    say: "Give the far flows 20 ms as well. All are alike then, and share the link equally.",
    step: 0,
    edits: [{ path: "flows[1].rtt", value: '"20 ms"' }],
  },
  why: [
    "At a share p of marks a Reno window is about sqrt(1.5 / p), whatever the round trip. A window in each round trip is a rate of sqrt(1.5 / p) / R (Mathis et al. 1997).",
    "So equal marks make equal windows, and rates in the ratio of the round-trip times.",
    "Behind a full buffer the marks are not equal. The near flows have grown back before the far ones have, fill the buffer, and the far ones' slow rounds meet a full one again.",
    "With a queue for each flow the marks are each flow's own: a far flow is marked less, because its own queue stands less. What is left of the ratio is that Reno with 160 ms does not fill its share at all times.",
  ],
  sources: [
    { text: "Mathis et al. 1997", key: "mathis1997" },
    { text: "Padhye et al. 1998", key: "padhye1998" },
    { text: "RFC 8290 section 1", key: "rfc8290" },
  ],
  further: [
    '`flows[0].tcp.congestion` and `flows[1].tcp.congestion` = "cubic": what is better, and where?',
    "`dumbbell.buffer`: a longer drop-tail buffer makes the round trips more alike.",
    "Add `pie` or `red`: marks at random obey the same law as CoDel's.",
  ],
};
