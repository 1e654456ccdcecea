// A queue as a picture: what waits before the link, what it sends, what it marks and drops. It shows the moment of the
// playback; how fast it moves says which link is busier, not how long a packet takes.

import { fillOf } from "./inks.ts";
import type { Moment } from "./quantities.ts";

/** The colors of a strip. Classes are told by how their blocks are filled. */
export interface Ink {
  readonly color: string;
  readonly line: string;
  readonly soft: string;
  readonly mark: string;
  readonly drop: string;
}

const TALL = 46;
const WIRE = 74;
const MOST_BLOCKS = 60;
/** Blocks that leave each second at full load. */
const SPEED = 7;
const FALL_S = 0.55;
const MOST_FALLING = 24;

interface Falling {
  x: number;
  age: number;
  kind: "drop" | "mark";
}

/** The packets of a block, so that the fullest queue has not too many blocks. */
export function blockOf(most: number): number {
  const least = Math.max(1, most / MOST_BLOCKS);
  const power = 10 ** Math.floor(Math.log10(least));
  return ([1, 2, 5, 10].find((s) => s * power >= least - 1e-9) ?? 10) * power;
}

/** The class of each block: in the order of the shares, spread evenly. */
export function spread(shares: readonly number[], count: number): number[] {
  const owed = shares.map(() => 0);
  const out: number[] = [];
  for (let i = 0; i < count; i++) {
    let best = 0;
    shares.forEach((share, c) => {
      owed[c] = (owed[c] as number) + share;
      if ((owed[c] as number) > (owed[best] as number)) best = c;
    });
    owed[best] = (owed[best] as number) - 1;
    out.push(best);
  }
  return out;
}

/** A block of a class. */
function fill(
  g: CanvasRenderingContext2D,
  color: string,
  of: number,
  x: number,
  y: number,
  wide: number,
  tall: number,
): void {
  const { alpha, edge, notch } = fillOf(of);
  g.fillStyle = color;
  g.globalAlpha = alpha;
  g.fillRect(x, y, wide, tall);
  g.globalAlpha = 1;
  if (notch) g.clearRect(x, y + tall / 2 - 2, wide, 4);
  if (!edge) return;
  // A block that is narrower than its two edges is one.
  if (wide <= 2.5) g.fillRect(x, y, Math.min(wide, 1), tall);
  else {
    g.strokeStyle = color;
    g.lineWidth = 1;
    g.strokeRect(x + 0.5, y + 0.5, wide - 1, tall - 1);
  }
}

/** The picture of one algorithm's queue. */
export class Strip {
  private phase = 0;
  private falling: Falling[] = [];
  private step = -1;
  private ratio = 1;

  /** The canvas' width in pixels of the page. */
  private wide = 0;

  /** What the crosses and rings are of. */
  private of = "";

  constructor(private readonly canvas: HTMLCanvasElement) {}

  /** Other samples, or another place in them: what falls is of those of before, and goes. */
  belongTo(of: string): void {
    if (of === this.of) return;
    this.of = of;
    this.falling = [];
    this.step = -1;
  }

  /** How many crosses and rings are drawn. */
  get marks(): number {
    return this.falling.length;
  }

  /** The canvas has another width. To ask for it at each frame would lay the page out. */
  resize(wide: number): void {
    this.wide = wide;
  }

  /** Draws a moment. `most` is the fullest queue of all algorithms, `capacity_bps` the largest rate; `elapsed_s` is real. */
  draw(m: Moment | null, most: number, capacity_bps: number, elapsed_s: number, ink: Ink, still: boolean): void {
    const { canvas, wide } = this;
    if (wide < 80) return;
    this.ratio = Math.min(devicePixelRatio || 1, 2);
    const [w, h] = [Math.round(wide * this.ratio), Math.round(TALL * this.ratio)];
    if (canvas.width !== w || canvas.height !== h) {
      canvas.width = w;
      canvas.height = h;
    }
    const g = canvas.getContext("2d");
    if (!g) return;
    g.setTransform(this.ratio, 0, 0, this.ratio, 0, 0);
    g.clearRect(0, 0, wide, TALL);
    const server = wide - WIRE;
    const middle = TALL / 2;
    const [top, high] = [9, TALL - 18];

    // The room before the link, and the wire behind it.
    g.strokeStyle = ink.line;
    g.lineWidth = 1;
    g.beginPath();
    g.moveTo(2, top - 3.5);
    g.lineTo(server, top - 3.5);
    g.moveTo(2, top + high + 3.5);
    g.lineTo(server, top + high + 3.5);
    g.moveTo(server + 14, middle);
    g.lineTo(wide - 2, middle);
    g.stroke();

    const block = blockOf(most);
    const slot = (server - 8) / Math.max(8, Math.ceil(most / block) + 1);
    const busy = m ? Math.min(1, m.bps / Math.max(capacity_bps, 1)) : 0;
    if (!still) this.phase = (this.phase + elapsed_s * SPEED * busy) % 1;
    const count = m && m.packets > 0 ? m.packets / block : 0;
    const whole = Math.ceil(count - 1e-6);
    const owners = m ? spread(m.shares, whole + 6) : [];
    const tail = server - Math.min(count, (server - 8) / slot) * slot;
    for (let i = 0; i < whole; i++) {
      const share = Math.min(1, count - i);
      // The last one may be a part of a block.
      const x = server - (i + share) * slot;
      if (x < 2) break;
      fill(g, ink.color, owners[i] as number, x + 0.5, top, Math.max(1, slot * share - 1.5), high);
    }

    // The link.
    g.fillStyle = ink.soft;
    g.fillRect(server + 2, top - 6, 10, high + 12);
    if (m && busy > 0.005) {
      const between = 18 / Math.max(busy, 0.15);
      const from = server + 18 + (still ? 0 : this.phase * between);
      const marked = m.marked_pps > 0;
      for (let x = from, i = 0; x < wide - 4; x += between, i++) {
        fill(g, ink.color, owners[i % owners.length] ?? 0, x - 3, middle - 5, 7, 10);
        if (marked && i % 2 === 0) {
          g.strokeStyle = ink.mark;
          g.lineWidth = 2;
          g.strokeRect(x - 5, middle - 7, 11, 14);
        }
      }
    }
    this.fall(g, m, tail, server, top, high, elapsed_s, ink, still);
  }

  private fall(
    g: CanvasRenderingContext2D,
    m: Moment | null,
    tail: number,
    server: number,
    top: number,
    high: number,
    elapsed_s: number,
    ink: Ink,
    still: boolean,
  ): void {
    // A picture that stands shows what happens in its own step alone.
    const stands = still || elapsed_s <= 0;
    if (!m) {
      this.falling = [];
      this.step = -1;
    } else if (m.step !== this.step || stands) {
      if (stands || m.step < this.step) this.falling = [];
      this.step = m.step;
      const add = (kind: Falling["kind"], rate: number, x: number) => {
        const n = rate > 0 ? Math.min(3, 1 + Math.floor(Math.log10(1 + rate))) : 0;
        for (let i = 0; i < n && this.falling.length < MOST_FALLING; i++) {
          this.falling.push({ x: Math.max(8, x - 9 * i), age: 0, kind });
        }
      };
      add("drop", m.dropped_pps, Math.max(tail - 8, 8));
      add("mark", m.marked_pps, server - 8);
    }
    for (const f of this.falling) {
      f.age += still ? 0 : elapsed_s;
      const part = f.age / FALL_S;
      g.globalAlpha = Math.max(0, 1 - part);
      g.lineWidth = 2.4;
      if (f.kind === "drop") {
        const y = top + high / 2 + part * (high / 2 + 6);
        g.strokeStyle = ink.drop;
        g.beginPath();
        g.moveTo(f.x - 5, y - 5);
        g.lineTo(f.x + 5, y + 5);
        g.moveTo(f.x + 5, y - 5);
        g.lineTo(f.x - 5, y + 5);
        g.stroke();
      } else {
        g.strokeStyle = ink.mark;
        g.beginPath();
        g.arc(f.x, top + high / 2, 4 + part * 7, 0, 2 * Math.PI);
        g.stroke();
      }
      g.globalAlpha = 1;
    }
    this.falling = this.falling.filter((f) => f.age < FALL_S);
  }
}
