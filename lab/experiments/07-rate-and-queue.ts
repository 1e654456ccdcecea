import scenario from "./07-rate-and-queue.toml";
import { digits, type Experiment, type Figures, packets, swing } from "./kit.ts";

const queue = (now: Figures, label: string) => now.of(label, "queue_packets");
const swings = (now: Figures, label: string) => now.of(label, "queue_std_packets");
const seen = (now: Figures) =>
  `PI's queue averages ${packets(queue(now, "pi"))} with a standard deviation of ${digits(swings(now, "pi"))}. VRC's averages ${packets(queue(now, "vrc"))} with a standard deviation of ${digits(swings(now, "vrc"))}.`;

export const rateAndQueue: Experiment = {
  id: "rate-and-queue",
  title: "Rate against queue (VRC)",
  claim:
    "A controller that sees the rate of arrivals knows what the queue will do next. With the same gains it keeps its target at a round-trip time where a controller of the queue alone swings and loses it.",
  minutes: 4,
  scenario,
  steps: [
    {
      title: "A round trip of 100 ms",
      say: "PI and VRC have the same gains on the queue. Compare the two queues: both stay at 100 packets.",
      edits: [],
      algorithms: ["pi", "vrc"],
      curves: ["queue", "marks"],
      span: 30,
      apart: true,
      claim: "At 100 ms both hold the queue, and VRC holds it a little better",
      see: seen,
      holds: (now) =>
        Math.abs(queue(now, "pi") - 100) < 4 &&
        Math.abs(queue(now, "vrc") - 100) < 4 &&
        swing(now, "pi") < 0.25 &&
        swing(now, "vrc") < swing(now, "pi"),
      otherwise: "One of them does not hold its queue here.",
      fails: [{ path: "flows[0].rtt", value: '"170 ms"' }],
    },
    {
      title: "A round trip of 170 ms",
      say: "Make the round trip longer. PI's queue starts to swing down to zero, and VRC's does not. Find the round-trip time at which VRC swings too.",
      edits: [{ path: "flows[0].rtt", value: '"170 ms"' }],
      algorithms: ["pi", "vrc"],
      curves: ["queue", "marks"],
      span: 30,
      apart: true,
      claim: "At 170 ms VRC swings less than PI and keeps its target, and PI loses its target",
      see: seen,
      holds: (now) =>
        swings(now, "vrc") < 0.75 * swings(now, "pi") && Math.abs(queue(now, "vrc") - 100) < 4 && queue(now, "pi") < 94,
      otherwise: "At this round-trip time both hold the queue, or both swing.",
      fails: [{ path: "flows[0].rtt", value: '"120 ms"' }],
      sliders: [{ path: "flows[0].rtt", says: "Round-trip time", least: 50, most: 300, start: 170, unit: "ms" }],
    },
    {
      title: "An outdated rate",
      say: "Let VRC average the rate over half a second. The rate then tells VRC nothing that the queue does not already show. Shorten the averaging time again and watch the advantage return.",
      edits: [
        { path: "flows[0].rtt", value: '"170 ms"' },
        { path: "aqm[1].rate_memory", value: '"500 ms"' },
      ],
      algorithms: ["pi", "vrc"],
      curves: ["queue", "marks"],
      span: 30,
      apart: true,
      claim: "With an outdated rate VRC swings more than PI",
      see: seen,
      holds: (now) => swings(now, "vrc") > swings(now, "pi"),
      otherwise: "The rate still helps.",
      fails: [{ path: "aqm[1].rate_memory", value: '"20 ms"' }],
      sliders: [
        {
          path: "aqm[1].rate_memory",
          says: "Memory of the rate",
          least: 5,
          most: 500,
          start: 500,
          unit: "ms",
          log: true,
        },
      ],
    },
  ],
  control: {
    say: "Set VRC's derivative gain `k_d` to nearly zero. VRC then ignores the rate, and only its gains on the queue are left.",
    without: "the rate",
    step: 1,
    edits: [{ path: "aqm[1].k_d", value: "1e-7" }],
    see: (now) => `VRC does no better than PI. ${seen(now)}`,
    holds: (now) => swings(now, "vrc") > 0.9 * swings(now, "pi"),
  },
  why: [
    "The queue is the integral of arrivals minus departures. The rate of arrivals is therefore the slope of the queue, and it is known before the queue has moved.",
    "Written in terms of the queue, VRC is a PID controller (Park et al. 2004, eq. 12). The derivative advances the phase and makes up for part of the round trip's delay.",
    "In the linear model PI is stable here up to a round trip of about 160 ms and VRC up to about 190 ms, each plus 80 ms in the queue.",
    "The derivative of a noisy queue is noise. Counting arrivals over a few milliseconds gives the same signal without the subtraction.",
  ],
  sources: [
    { text: "Park et al. 2004, sections 2 and 3", key: "park2004" },
    { text: "Park et al. 2004, section 5.2.1 (the critical delay)", key: "park2004" },
  ],
  further: [
    { say: "Open the theory panel: compare the gain margins of the two at each round-trip time." },
    {
      say: "Set `flows[0].count` to 20: PI's integral is cut off at 0 and loses its target. VRC's is not.",
      edits: [{ path: "flows[0].count", value: "20" }],
    },
    {
      say: 'Set `flows[0].rtt` to "250 ms": both swing, and VRC still averages its target.',
      edits: [{ path: "flows[0].rtt", value: '"250 ms"' }],
    },
  ],
};
