// The samples of a run that goes on: they come in pieces, and are kept whole.

import { append } from "../engine/samples.ts";
import type { LinkSeries } from "../protocol.ts";

/** Grows by pieces. What it returned before stays as it was: figures are of one moment. */
export class Growing {
  private links: LinkSeries[] = [];

  /** Adds a piece: for each link the samples since the last piece. */
  add(piece: readonly LinkSeries[]): LinkSeries[] {
    this.links = piece.map((next) => {
      const before = this.links.find((l) => l.link === next.link);
      if (!before) return next;
      const whole = structuredClone(before);
      append(whole, next);
      return whole;
    });
    return this.links;
  }
}
