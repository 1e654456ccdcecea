import scenario from "./04-instability.toml";
import { busy, digits, type Experiment, earlier, type Figures, packets, percent, swing } from "./kit.ts";

const queue = (now: Figures) => now.of("pi", "queue_packets");
const used = (now: Figures) => now.of("pi", "utilization");

export const instability: Experiment = {
  id: "instability",
  title: "Instability at 400 ms",
  claim:
    "Gains that hold the queue steady at a short round-trip time make it swing at 400 ms, because the controller then acts on old news.",
  minutes: 4,
  scenario,
  steps: [
    {
      title: "As designed: 80 ms",
      say: "PI's gains are designed for 40 flows with a round trip of 120 ms: 80 ms of path and 40 ms of queue. Look at the queue: it stays near its target of 50 packets.",
      edits: [],
      algorithms: ["pi"],
      curves: ["queue", "internals"],
      claim: "At the designed round-trip time PI holds the queue at its target",
      see: (now) =>
        `The queue averages ${packets(queue(now))} with a standard deviation of ${packets(now.of("pi", "queue_std_packets"))}. The link is ${percent(used(now))} utilized.`,
      holds: (now) => Math.abs(queue(now) - 50) < 5 && swing(now, "pi") < 0.5 && used(now) > 0.99,
      otherwise: "With these settings PI does not hold the queue at its target.",
      fails: [{ path: "flows[0].rtt", value: '"400 ms"' }],
    },
    {
      title: "The same gains at 400 ms",
      say: "Change only the round-trip time. Look at the queue and PI's probability p. Each keeps rising until its effect comes back a round trip later.",
      edits: [{ path: "flows[0].rtt", value: '"400 ms"' }],
      algorithms: ["pi"],
      curves: ["queue", "windows", "internals"],
      claim: "At 400 ms the same gains make the queue swing until it runs empty",
      see: (now, before) =>
        `The queue's standard deviation is ${digits(swing(now, "pi"))} times its mean; it was ${digits(swing(earlier(before, 0), "pi"))} times. ${busy(used(now))}`,
      holds: (now) => swing(now, "pi") > 0.9 && used(now) < 0.95,
      otherwise: "With these settings the loop is stable, or nearly so.",
      fails: [{ path: "flows[0].rtt", value: '"150 ms"' }],
      sliders: [
        { path: "flows[0].rtt", says: "Round-trip time", least: 20, most: 600, start: 400, unit: "ms", log: true },
      ],
    },
    {
      title: "Gains for 450 ms",
      say: "Design PI for what it now sees: 400 ms of path, and the queue. The gains are smaller, and the queue calms down.",
      edits: [
        { path: "flows[0].rtt", value: '"400 ms"' },
        { path: "aqm[0].design", value: '{ flows = 40, rtt = "450 ms" }' },
      ],
      algorithms: ["pi"],
      curves: ["queue", "internals"],
      claim: "Smaller gains, designed for 450 ms, keep the link full",
      see: (now, before) =>
        `The queue averages ${packets(queue(now))}, and its standard deviation is ${digits(swing(now, "pi"))} times that. The link is ${percent(used(now))} utilized; it was ${percent(used(earlier(before, 1)))}.`,
      holds: (now, before) =>
        used(now) > 0.99 && Math.abs(queue(now) - 50) < 10 && swing(now, "pi") < 0.7 * swing(earlier(before, 1), "pi"),
      otherwise: "These gains do not hold the queue either.",
      fails: [{ path: "aqm[0].design", value: '{ flows = 40, rtt = "200 ms" }' }],
    },
    {
      title: "What the safe gains cost",
      say: "Use the gains for 450 ms at a round trip of 80 ms. They are stable but slow: after 40 s the queue has still not reached its target, because the integral is still catching up with the start of the flows. Open the theory panel next to it: the margins are wide.",
      edits: [{ path: "aqm[0].design", value: '{ flows = 40, rtt = "450 ms" }' }],
      algorithms: ["pi"],
      curves: ["queue", "internals"],
      claim: "At 80 ms the safe gains are so slow that the queue is still above its target after 40 s",
      see: (now) => `From 40 s on the queue averages ${packets(queue(now))}; its target is 50.`,
      holds: (now) => queue(now) > 58 && used(now) > 0.99,
      otherwise: "The queue has reached its target within 40 s.",
      fails: [{ path: "aqm[0].design", value: '{ flows = 40, rtt = "120 ms" }' }],
    },
  ],
  control: {
    say: "Set the round-trip time back to 80 ms. Change nothing else.",
    without: "the long round trip",
    step: 1,
    edits: [{ path: "flows[0].rtt", value: '"80 ms"' }],
    see: (now) =>
      `The same gains are calm again. The queue averages ${packets(queue(now))}, and its standard deviation is ${digits(swing(now, "pi"))} times that. The link is ${percent(used(now))} utilized.`,
    holds: (now) => Math.abs(queue(now) - 50) < 5 && swing(now, "pi") < 0.5 && used(now) > 0.99,
  },
  why: [
    "A mark changes the queue one round trip later. Until then the controller sees no effect and keeps going.",
    "In the frequency domain a delay shifts the phase, and it shifts fast swings the most. If the gain is still above 1 where the phase has shifted by 180 degrees, the swing feeds itself.",
    "A long round trip hurts twice. It delays the response, and it raises the gain of the loop (Hollot et al. 2001b).",
    "Hollot's rule therefore designs for the longest round-trip time that is expected. The controller is then slow at all shorter ones.",
  ],
  sources: [
    { text: "Hollot et al. 2001b", key: "hollot2001b" },
    { text: "Misra et al. 2000 (the model)", key: "misra2000" },
    { text: "Chen 2010, section 3.4.2 (the rule)", key: "chen2010" },
  ],
  further: [
    {
      say: "Find the round-trip time at which the swings begin. Compare it with the verdict of the theory panel.",
      step: 1,
      edits: [{ path: "flows[0].rtt", value: '"150 ms"' }],
    },
    {
      say: "Raise `flows[0].count` at 80 ms: more flows make the loop calmer (experiment 5). At 400 ms they do not.",
      step: 0,
      edits: [{ path: "flows[0].count", value: "100" }],
      algorithms: ["pi"],
      holds: (now, without) => swing(now, "pi") < 0.8 * swing(without, "pi"),
    },
    {
      say: "Add `st-pi`: it adapts its target to the swings of its queue, and its gains to the target (experiment 6). `pie` raises its gains with its probability.",
      step: 1,
      edits: [
        { path: "aqm[+]", value: '{ algorithm = "st-pi" }' },
        { path: "aqm[+]", value: '{ algorithm = "pie" }' },
      ],
    },
  ],
};
