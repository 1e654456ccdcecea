import scenario from "./04-instability.toml";
import { digits, type Experiment, earlier, packets, percent, swing } from "./kit.ts";

export const instability: Experiment = {
  id: "instability",
  title: "Instability at 400 ms",
  claim:
    "Gains that hold the queue still at a short round-trip time make it swing at 400 ms, because the loop then answers news that is too old.",
  minutes: 4,
  scenario,
  steps: [
    {
      title: "As designed: 80 ms",
      say: "The gains of PI are those for 40 flows with 120 ms, which is what they see with the queue's own 40 ms. Look at the queue: it stays at its target of 50 packets.",
      edits: [],
      algorithms: ["pi"],
      curves: ["queue", "internals"],
      see: (now) =>
        `The queue is ${packets(now.of("pi", "queue_packets"))} in the mean and swings by ${packets(now.of("pi", "queue_std_packets"))}. The link is used to ${percent(now.of("pi", "utilization"))}.`,
      holds: (now) => Math.abs(now.of("pi", "queue_packets") - 50) < 5 && swing(now, "pi") < 0.5,
      otherwise: "The queue is not held at its target with these settings.",
    },
    {
      title: "The same gains at 400 ms",
      say: "Only the round-trip time changes. Look at the queue and at PI's probability p: each goes on rising for as long as the news of it is on its way.",
      edits: [{ path: "flows[0].rtt", value: '"400 ms"' }],
      algorithms: ["pi"],
      curves: ["queue", "windows", "internals"],
      see: (now, before) =>
        `The queue's deviation is ${digits(swing(now, "pi"))} of its mean; it was ${digits(swing(earlier(before, 0), "pi"))}. It runs empty again and again, so the link is used to ${percent(now.of("pi", "utilization"))}.`,
      holds: (now) => swing(now, "pi") > 0.9 && now.of("pi", "utilization") < 0.95,
      otherwise: "The loop is stable with these settings, or nearly so.",
      sliders: [
        { path: "flows[0].rtt", says: "Round-trip time", least: 20, most: 600, start: 400, unit: "ms", log: true },
      ],
    },
    {
      title: "Gains for 450 ms",
      say: "Design PI for what it now sees, 400 ms and the queue. The gains become smaller, and the queue is still again.",
      edits: [
        { path: "flows[0].rtt", value: '"400 ms"' },
        { path: "aqm[0].design", value: '{ flows = 40, rtt = "450 ms" }' },
      ],
      algorithms: ["pi"],
      curves: ["queue", "internals"],
      see: (now, before) =>
        `The queue is ${packets(now.of("pi", "queue_packets"))} in the mean, its deviation ${digits(swing(now, "pi"))} of that, and the link is used to ${percent(now.of("pi", "utilization"))} where it was ${percent(earlier(before, 1).of("pi", "utilization"))}.`,
      holds: (now, before) =>
        now.of("pi", "utilization") > 0.99 &&
        Math.abs(now.of("pi", "queue_packets") - 50) < 10 &&
        swing(now, "pi") < 0.7 * swing(earlier(before, 1), "pi"),
      otherwise: "These gains do not hold the queue either.",
    },
    {
      title: "What the safe gains cost",
      say: "Take the gains for 450 ms back to 80 ms. They are stable, but slow: after 40 s the queue is still not at its target. Open the theory beside it: the margins are wide.",
      edits: [{ path: "aqm[0].design", value: '{ flows = 40, rtt = "450 ms" }' }],
      algorithms: ["pi"],
      curves: ["queue", "internals"],
      see: (now) =>
        `From 40 s on the queue is ${packets(now.of("pi", "queue_packets"))} in the mean, above its target of 50: the flows started at 0 s, and the integral is not there yet.`,
      holds: (now) => now.of("pi", "queue_packets") > 58,
      otherwise: "The queue has found its target within 40 s.",
    },
  ],
  control: {
    say: "Set the round-trip time back to 80 ms. Nothing else was changed, and nothing swings.",
    step: 1,
    edits: [{ path: "flows[0].rtt", value: '"80 ms"' }],
  },
  why: [
    "A mark changes the queue one round trip later. Until then the controller sees no effect of it and goes on.",
    "In the frequency domain the delay turns the phase, the more the faster the swing. Where the gain is still above 1 with the phase turned by half a turn, the swing feeds itself.",
    "A long round trip does two things: it delays, and it raises the gain of the loop, since fewer marks in a second then make the same change of the windows.",
    "Hollot's rule therefore takes the longest round-trip time that may come, and is slow with all shorter ones.",
  ],
  sources: [
    { text: "Hollot et al. 2001b", key: "hollot2001b" },
    { text: "Misra et al. 2000 (the model)", key: "misra2000" },
    { text: "Chen 2010, section 3.4.2 (the rule)", key: "chen2010" },
  ],
  further: [
    "Find where it begins to swing, and compare with the verdict of the theory panel for each round-trip time.",
    "`flows[0].count`: more flows make the loop calmer (experiment 5).",
    "Put `st-pi` or `pie` beside it: they change their gains.",
  ],
};
