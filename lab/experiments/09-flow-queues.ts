import scenario from "./09-flow-queues.toml";
import { type Experiment, type Figures, mbit, ms, percent } from "./kit.ts";

const CALL = { scope: "call" };
const FLOOD = { path: "flows[2].rate", value: '"30 Mbit/s"' };
const late = (now: Figures, label: string) => now.of(label, "one_way_delay_p99_s", CALL) - 0.02;
const downloads = (now: Figures, label: string) => now.of(label, "goodput_bps", { scope: "download" });

export const flowQueues: Experiment = {
  id: "flow-queues",
  title: "What flow queues do",
  claim:
    "With a queue for each flow a sparse flow does not wait behind the others, and a sender that floods the link takes no more than its share.",
  minutes: 3,
  scenario,
  steps: [
    {
      title: "A call beside four downloads",
      say: "Compare the call behind CoDel's one queue and behind FQ-CoDel's queues. Its way alone takes 20 ms.",
      edits: [],
      algorithms: ["codel", "fq-codel"],
      curves: ["delay", "throughput"],
      apart: true,
      see: (now) =>
        `P99 of what the call waits: ${ms(late(now, "codel"))} behind CoDel, ${ms(late(now, "fq-codel"))} behind FQ-CoDel. The downloads have ${mbit(downloads(now, "codel"))} and ${mbit(downloads(now, "fq-codel"))}.`,
      holds: (now) =>
        late(now, "fq-codel") < 0.3 * late(now, "codel") && downloads(now, "fq-codel") > 0.95 * downloads(now, "codel"),
      otherwise: "The call waits as long in its own queue as in the common one.",
    },
    {
      title: "A flood of 30 Mbit/s",
      say: "Turn the UDP sender up to one and a half times the link. Look at who gets what.",
      edits: [FLOOD],
      algorithms: ["codel", "fq-codel"],
      curves: ["throughput", "delay"],
      apart: true,
      see: (now) =>
        `Behind CoDel the downloads have ${mbit(downloads(now, "codel"))} and the call loses ${percent(now.of("codel", "loss_rate", CALL))}. Behind FQ-CoDel the downloads have ${mbit(downloads(now, "fq-codel"))}, the flood ${mbit(now.of("fq-codel", "goodput_bps", { scope: "flood" }))} of its 30, and the call loses ${percent(now.of("fq-codel", "loss_rate", CALL))}.`,
      holds: (now) =>
        downloads(now, "codel") < 2e6 &&
        downloads(now, "fq-codel") > 14e6 &&
        now.of("codel", "loss_rate", CALL) > 0.2 &&
        now.of("fq-codel", "loss_rate", CALL) < 0.01,
      otherwise: "There is no flood here, or the queues do not hold it.",
      sliders: [
        {
          path: "flows[2].rate",
          says: "Rate of the UDP sender",
          least: 1,
          most: 60,
          start: 30,
          unit: "Mbit/s",
          log: true,
        },
      ],
    },
    {
      title: "One queue for all",
      say: "Let FQ-CoDel have one queue only. All flows are hashed into it, and what it did is gone.",
      edits: [FLOOD, { path: "aqm[1].flows", value: "1" }],
      algorithms: ["codel", "fq-codel"],
      curves: ["throughput", "delay"],
      apart: true,
      see: (now) =>
        `With one queue the downloads have ${mbit(downloads(now, "fq-codel"))} and the call loses ${percent(now.of("fq-codel", "loss_rate", CALL))}.`,
      holds: (now) => downloads(now, "fq-codel") < 2e6 && now.of("fq-codel", "loss_rate", CALL) > 0.2,
      otherwise: "The flows are still apart.",
      sliders: [{ path: "aqm[1].flows", says: "Queues", least: 1, most: 1024, start: 1, log: true }],
    },
  ],
  control: {
    say: "Let FQ-CoDel have one queue. It is then CoDel with another way to drop from a full buffer.",
    step: 1,
    edits: [{ path: "aqm[1].flows", value: "1" }],
  },
  why: [
    "Each flow is hashed into a queue of its own, and the queues take turns by bytes (deficit round robin). Five flows that want more than a fifth get a fifth each.",
    "A flow that sends less than its turn allows is empty when its packet comes, so its queue is new and is served first.",
    "CoDel then works in each queue by itself: the flood fills its own queue and loses its own packets.",
    "The isolation is by flows, not by persons: who opens ten connections has ten queues, and two flows that hash alike share one.",
  ],
  sources: [
    { text: "RFC 8290 sections 1, 4 and 6", key: "rfc8290" },
    { text: "McKenney 1990", key: "mckenney1990" },
    { text: "Shreedhar and Varghese 1996", key: "shreedhar1996" },
  ],
  further: [
    "`flows[0].count`: the flood's share is one of all flows.",
    "Add `cake` and `sfq`: other ways to keep flows apart.",
    "Add `choke` or `sfb`: they tame a flood without a queue for each flow.",
  ],
};
