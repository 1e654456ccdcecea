import scenario from "./01-bufferbloat.toml";
import { type Experiment, earlier, type Figures, mbit, ms, percent, times } from "./kit.ts";

const CALL = { scope: "call" };
const delay = (now: Figures) => now.of("drop-tail", "queue_delay_p50_s");
const call = (now: Figures, label = "drop-tail") => now.of(label, "one_way_delay_p99_s", CALL);
const upload = (now: Figures, label = "drop-tail") => now.of(label, "goodput_bps", { scope: "upload" });

export const bufferbloat: Experiment = {
  id: "bufferbloat",
  title: "Bufferbloat",
  claim:
    "A long buffer adds more than half a second of delay for everyone who shares the link, and the upload gets no faster.",
  minutes: 3,
  scenario,
  steps: [
    {
      title: "A buffer of 20 packets",
      say: "Start with a buffer that holds about one round trip's worth of packets. Look at the queue and its delay.",
      edits: [{ path: "dumbbell.buffer", value: '"20 packets"' }],
      algorithms: ["drop-tail"],
      curves: ["queue", "delay"],
      claim: "A short buffer is enough to keep the link full",
      see: (now) =>
        `The link is ${percent(now.of("drop-tail", "utilization"))} utilized, and the uploads get ${mbit(upload(now))}. Half of the packets wait ${ms(delay(now))} or more.`,
      holds: (now) => now.of("drop-tail", "utilization") > 0.97 && delay(now) < 0.035,
      otherwise: "This buffer is too short to keep the link full, or too long to keep the delay low.",
      fails: [{ path: "dumbbell.buffer", value: '"2 packets"' }],
    },
    {
      title: "A buffer of 500 packets",
      say: "Now give the link 25 times the buffer. Watch the delay grow while the throughput stays where it was.",
      edits: [],
      algorithms: ["drop-tail"],
      curves: ["queue", "delay"],
      claim: "A long buffer delays everyone by more than half a second and makes the upload no faster",
      see: (now, before) => {
        const small = earlier(before, 0);
        return `The median delay is ${ms(delay(now))}, ${times(delay(now) / delay(small))} what it was. The uploads get ${mbit(upload(now))}; they got ${mbit(upload(small))}. The slowest 1% of the call's packets take ${ms(call(now))} or more to arrive; it was ${ms(call(small))}.`;
      },
      holds: (now, before) => {
        const small = earlier(before, 0);
        return (
          delay(now) > 0.5 &&
          call(now) > 0.5 &&
          delay(now) > 10 * delay(small) &&
          Math.abs(upload(now) / upload(small) - 1) < 0.02
        );
      },
      otherwise: "The senders do not fill this buffer, so it adds little delay.",
      fails: [{ path: "dumbbell.buffer", value: '"60 packets"' }],
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
      title: "CoDel in front of the same buffer",
      say: "Keep the 500 packets and let CoDel manage them. Compare the two queues.",
      edits: [],
      algorithms: ["drop-tail", "codel"],
      curves: ["queue", "delay"],
      claim: "CoDel removes the delay and keeps the throughput",
      see: (now) =>
        `P99 of the call's one-way delay is ${ms(call(now))} with the plain buffer and ${ms(call(now, "codel"))} with CoDel. The uploads get ${percent(upload(now, "codel") / upload(now))} of the goodput that they get with the plain buffer. CoDel drops ${percent(now.of("codel", "loss_rate", { scope: "upload" }))} of their packets; the plain buffer drops ${percent(now.of("drop-tail", "loss_rate", { scope: "upload" }))}.`,
      holds: (now) => call(now, "codel") < 0.1 * call(now) && upload(now, "codel") > 0.95 * upload(now),
      otherwise: "There is no standing queue here for CoDel to remove, or removing it costs throughput.",
      fails: [{ path: "flows[0].tcp.max_window", value: "8" }],
    },
  ],
  control: {
    say: "Limit each upload to a window of 8 packets. The two then have less than one round trip's worth in flight. Nothing waits, so the length of the buffer does not matter.",
    without: "senders that fill the buffer",
    step: 1,
    edits: [{ path: "flows[0].tcp.max_window", value: "8" }],
    see: (now, before) =>
      `The buffer still holds 500 packets, but the median delay is ${ms(delay(now))}. The full buffer of 20 packets had ${ms(delay(earlier(before, 0)))}. The link is only ${percent(now.of("drop-tail", "utilization"))} utilized, because the windows are too small to fill it.`,
    holds: (now, before) =>
      delay(now) < 0.2 * delay(earlier(before, 0)) &&
      call(now) < 0.03 &&
      now.of("drop-tail", "utilization") < 0.9 &&
      now.of("drop-tail", "loss_rate") === 0,
  },
  why: [
    "A sender that waits for losses raises its window until the buffer is full, however long that takes.",
    "The link needs only one waiting packet to stay busy. All the others just wait.",
    "The delay is the queue divided by the rate. A full buffer of 500 packets of 1000 bytes takes 0.8 seconds at 5 Mbit/s, and everyone's packets have to wait behind it.",
    "CoDel leaves short bursts alone. It drops packets when the queue has stood for longer than a round trip, so the windows stay near what the path can hold.",
  ],
  sources: [
    { text: "Nichols and Jacobson 2012", key: "nichols2012" },
    { text: "RFC 8289 section 1", key: "rfc8289" },
    { text: "RFC 7567 section 2", key: "rfc7567" },
  ],
  further: [
    {
      say: "Set `dumbbell.rate` to 50 Mbit/s: the same buffer then adds a tenth of the median delay.",
      step: 1,
      edits: [{ path: "dumbbell.rate", value: '"50 Mbit/s"' }],
      algorithms: ["drop-tail"],
      holds: (now, without) => Math.abs(delay(now) / delay(without) - 0.1) < 0.01,
    },
    {
      say: "Raise `flows[0].count`: more uploads keep a short buffer full too.",
      step: 0,
      edits: [{ path: "flows[0].count", value: "8" }],
    },
    {
      say: "Add `fq-codel`: the call then does not wait behind the uploads at all.",
      edits: [{ path: "aqm[+]", value: '{ algorithm = "fq-codel" }' }],
    },
  ],
};
