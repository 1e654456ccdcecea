// The guided experiments, in the order in which they are offered.

import { bufferbloat } from "./01-bufferbloat.ts";
import { synchronization } from "./02-synchronization.ts";
import { redWeight } from "./03-red-weight.ts";
import { instability } from "./04-instability.ts";
import { numberOfFlows } from "./05-number-of-flows.ts";
import { selfTuning } from "./06-self-tuning.ts";
import { rateAndQueue } from "./07-rate-and-queue.ts";
import { codelSquareRoot } from "./08-codel-square-root.ts";
import { flowQueues } from "./09-flow-queues.ts";
import { roundTrips } from "./10-round-trips.ts";
import { bbrAndCubic } from "./11-bbr-and-cubic.ts";
import { l4sCoupling } from "./12-l4s-coupling.ts";
import type { Experiment } from "./kit.ts";

export const EXPERIMENTS: readonly Experiment[] = [
  bufferbloat,
  synchronization,
  redWeight,
  instability,
  numberOfFlows,
  selfTuning,
  rateAndQueue,
  codelSquareRoot,
  flowQueues,
  roundTrips,
  bbrAndCubic,
  l4sCoupling,
];

export * from "./figures.ts";
export * from "./kit.ts";
