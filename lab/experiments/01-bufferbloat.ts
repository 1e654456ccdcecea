import scenario from "./01-bufferbloat.toml";
import { type Experiment, earlier, ms, percent, times } from "./kit.ts";

const delay = "queue_delay_p50_s";

export const bufferbloat: Experiment = {
  id: "bufferbloat",
  title: "Bufferbloat",
  claim: "A long buffer turns an upload into most of a second of delay for everybody, and makes the upload no faster.",
  minutes: 3,
  scenario,
  steps: [
    {
      title: "A buffer of 20 packets",
      say: "Begin with a buffer that holds one round trip's worth of packets. Look at the queue and at the delay of the call.",
      edits: [{ path: "dumbbell.buffer", value: '"20 packets"' }],
      algorithms: ["drop-tail"],
      curves: ["queue", "delay"],
      see: (now) =>
        `The link is used to ${percent(now.of("drop-tail", "utilization"))}. Half of the packets wait for at least ${ms(now.of("drop-tail", delay))}.`,
      holds: (now) => now.of("drop-tail", "utilization") > 0.97 && now.of("drop-tail", delay) < 0.035,
      otherwise: "This small buffer should be enough for a full link with some 20 ms of delay.",
    },
    {
      title: "A buffer of 500 packets",
      say: "Now give the link 25 times the buffer. The delay follows the buffer; the throughput has nothing to gain.",
      edits: [],
      algorithms: ["drop-tail"],
      curves: ["queue", "delay"],
      see: (now, before) => {
        const small = earlier(before, 0);
        return `The median delay is ${ms(now.of("drop-tail", delay))}, ${times(now.of("drop-tail", delay) / small.of("drop-tail", delay))} what it was. Utilization goes from ${percent(small.of("drop-tail", "utilization"))} to ${percent(now.of("drop-tail", "utilization"))}. A voice packet of the call takes up to ${ms(now.of("drop-tail", "one_way_delay_p99_s", { scope: "call" }))} (P99).`;
      },
      holds: (now, before) => {
        const small = earlier(before, 0);
        return (
          now.of("drop-tail", delay) > 10 * small.of("drop-tail", delay) &&
          now.of("drop-tail", "utilization") - small.of("drop-tail", "utilization") < 0.03
        );
      },
      otherwise: "The senders do not fill this buffer, so it costs no delay.",
      sliders: [
        {
          path: "dumbbell.buffer",
          says: "Buffer",
          least: 5,
          most: 1000,
          start: 500,
          unit: "packets",
          log: true,
        },
      ],
    },
    {
      title: "CoDel before the same buffer",
      say: "Keep the 500 packets and let CoDel manage them. Compare the two queues.",
      edits: [],
      algorithms: ["drop-tail", "codel"],
      curves: ["queue", "delay"],
      see: (now) =>
        `P99 of the call's one-way delay: ${ms(now.of("drop-tail", "one_way_delay_p99_s", { scope: "call" }))} behind the plain buffer, ${ms(now.of("codel", "one_way_delay_p99_s", { scope: "call" }))} behind CoDel. CoDel's uploads have ${percent(now.of("codel", "goodput_bps", { scope: "upload" }) / now.of("drop-tail", "goodput_bps", { scope: "upload" }))} of the plain buffer's goodput, and lose ${percent(now.of("codel", "loss_rate", { scope: "upload" }))} of their packets for it.`,
      holds: (now) =>
        now.of("codel", "one_way_delay_p99_s", { scope: "call" }) <
          0.1 * now.of("drop-tail", "one_way_delay_p99_s", { scope: "call" }) &&
        now.of("codel", "goodput_bps", { scope: "upload" }) >
          0.95 * now.of("drop-tail", "goodput_bps", { scope: "upload" }),
      otherwise: "There is no standing queue here that CoDel could take away, or it costs throughput.",
    },
  ],
  control: {
    say: "Limit each upload to a window of 8 packets. Together they then have one round trip's worth on their way, nothing waits, and the length of the buffer is without effect.",
    step: 1,
    edits: [{ path: "flows[0].tcp.max_window", value: "8" }],
  },
  why: [
    "A sender that looks for losses raises its window until the buffer is full, however long that is.",
    "The link needs one packet waiting to stay busy. All others only wait.",
    "What waits is the buffer over the rate: 500 packets of 1500 bytes at 5 Mbit/s are 1.2 seconds, and everybody's packets have to pass them.",
    "CoDel leaves bursts alone and answers a queue that stands for longer than a round trip, so the window stops near what the path holds.",
  ],
  sources: [
    { text: "Nichols and Jacobson 2012", key: "nichols2012" },
    { text: "RFC 8289 section 1", key: "rfc8289" },
    { text: "RFC 7567 section 2", key: "rfc7567" },
  ],
  further: [
    "`dumbbell.rate`: the same buffer at 50 Mbit/s is a tenth of the delay.",
    "`flows[0].count`: more uploads keep a short buffer full as well.",
    "Add `fq-codel`: the call then does not wait behind the uploads at all.",
  ],
};
