import scenario from "./07-rate-and-queue.toml";
import { digits, type Experiment, packets, swing } from "./kit.ts";

export const rateAndQueue: Experiment = {
  id: "rate-and-queue",
  title: "Rate against queue (VRC)",
  claim:
    "A controller that sees the rate of arrivals knows what the queue will do next, and with the same gains holds it still at round-trip times where a controller of the queue alone swings.",
  minutes: 4,
  scenario,
  steps: [
    {
      title: "A round trip of 100 ms",
      say: "PI and VRC have the same gains on the queue. Compare the two queues: both hold 100 packets.",
      edits: [],
      algorithms: ["pi", "vrc"],
      curves: ["queue", "marks"],
      span: 30,
      apart: true,
      see: (now) =>
        `PI holds ${packets(now.of("pi", "queue_packets"))} with a deviation of ${digits(now.of("pi", "queue_std_packets"))}, VRC ${packets(now.of("vrc", "queue_packets"))} with ${digits(now.of("vrc", "queue_std_packets"))}.`,
      holds: (now) =>
        Math.abs(now.of("pi", "queue_packets") - 100) < 4 &&
        Math.abs(now.of("vrc", "queue_packets") - 100) < 4 &&
        swing(now, "pi") < 0.25 &&
        swing(now, "vrc") < swing(now, "pi"),
      otherwise: "One of them does not hold its queue here.",
    },
    {
      title: "170 ms",
      say: "Make the round trip longer. PI's queue begins to swing down to nothing; VRC's stays. Find the round-trip time at which VRC swings, too.",
      edits: [{ path: "flows[0].rtt", value: '"170 ms"' }],
      algorithms: ["pi", "vrc"],
      curves: ["queue", "marks"],
      span: 30,
      apart: true,
      see: (now) =>
        `PI's queue is ${packets(now.of("pi", "queue_packets"))} with a deviation of ${digits(now.of("pi", "queue_std_packets"))}, VRC's ${packets(now.of("vrc", "queue_packets"))} with ${digits(now.of("vrc", "queue_std_packets"))}.`,
      holds: (now) =>
        now.of("vrc", "queue_std_packets") < 0.75 * now.of("pi", "queue_std_packets") &&
        Math.abs(now.of("vrc", "queue_packets") - 100) < 4 &&
        now.of("pi", "queue_packets") < 94,
      otherwise: "At this round-trip time both hold the queue, or both swing.",
      sliders: [{ path: "flows[0].rtt", says: "Round-trip time", least: 50, most: 300, start: 170, unit: "ms" }],
    },
    {
      title: "Take the rate away",
      say: "Let VRC average the rate over half a second, so that it says no more than the queue does. The advantage is gone: VRC swings more than PI.",
      edits: [
        { path: "flows[0].rtt", value: '"170 ms"' },
        { path: "aqm[1].rate_memory", value: '"500 ms"' },
      ],
      algorithms: ["pi", "vrc"],
      curves: ["queue", "marks"],
      span: 30,
      apart: true,
      see: (now) =>
        `With a rate that is half a second old VRC's deviation is ${digits(now.of("vrc", "queue_std_packets"))} packets, PI's ${digits(now.of("pi", "queue_std_packets"))}.`,
      holds: (now) => now.of("vrc", "queue_std_packets") > now.of("pi", "queue_std_packets"),
      otherwise: "The rate still helps.",
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
    say: "Average the rate over half a second. VRC then sees no more than the queue, and loses what it had on PI.",
    step: 1,
    edits: [{ path: "aqm[1].rate_memory", value: '"500 ms"' }],
  },
  why: [
    "The queue is the integral of the arrivals above the link's rate. So the rate is the slope of the queue, known before the queue has moved.",
    "Written on the queue, VRC is a PID controller (Park et al. 2004, eq. 12). The derivative turns the phase forward and makes up for a part of the round trip's delay.",
    "By the linear model with the exact delay PI is stable up to a round trip of 242 ms here, VRC up to 280, with 80 ms of it in the queue.",
    "A derivative of a noisy queue is noise. Counting arrivals over some milliseconds is the same thing without the subtraction.",
  ],
  sources: [
    { text: "Park et al. 2004, sections 2 and 3", key: "park2004" },
    { text: "Park et al. 2004, section 5.2.1 (the critical delay)", key: "park2004" },
  ],
  further: [
    "Open the theory panel: compare the gain margins of the two at each round-trip time.",
    "`flows[0].count` = 20: PI's integral is cut off at 0 and loses its target; VRC's is not.",
    '`flows[0].rtt` = "250 ms": both swing, and VRC still has its mean at the target.',
  ],
};
