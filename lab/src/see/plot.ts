// One figure over time, drawn by uPlot. What moves with playback is moved without drawing: a line and a veil over what is
// still to come. Only a window that moves draws each frame, and then from curves that were thinned before.

import uPlot from "uplot";
import type { Look as Style } from "../protocol.ts";
import { MARKS } from "../ui/key.tsx";
import { place } from "./svg.ts";
import { peak, type Samples, type Thinned, thin, within } from "./thin.ts";

/** The look of a curve. */
export interface Look {
  readonly color: string;
  readonly dashes: readonly number[];
  readonly width: number;
  /** The mark along the curve, where another one that is shown has its color. */
  readonly mark?: Style["mark"];
}

/** A curve as it is drawn. */
export interface PlotCurve {
  readonly label: string;
  readonly look: Look;
  readonly samples: Samples;
}

/** What a figure shows. */
export interface PlotSpec {
  readonly curves: readonly PlotCurve[];
  readonly unit: string;
  /** The end of the horizontal axis, in seconds. */
  readonly end: number;
  /** The end of the vertical axis. */
  readonly most: number;
  /** The end of the warm-up. */
  readonly warmup: number;
  readonly events: readonly { at_s: number; label: string }[];
  /** Peaks of the warm-up that are above the end of the vertical axis. */
  readonly above: readonly Above[];
  /** Values that a document prints, across the whole figure. */
  readonly levels: readonly { value: number; color: string }[];
  readonly height: number;
  /** The dark scheme is on: colors are others, and all is drawn again. */
  readonly dark: boolean;
}

/** A peak that is cut off. */
export interface Above {
  readonly time: number;
  readonly value: number;
  readonly color: string;
}

/** The peaks of curves that an axis cuts off. */
export const cutOff = (curves: readonly PlotCurve[], most: number): Above[] =>
  curves.flatMap((c) => {
    const top = peak(c.samples);
    return top.value > most * (1 + 1e-9) ? [{ ...top, color: c.look.color }] : [];
  });

/** What is written beside the highest of them. */
export const aboveWords = (above: readonly Above[]): string =>
  `up to ${place(+Math.max(...above.map((a) => a.value)).toPrecision(3))}`;

/** The part of the run that is seen, and what of it has happened. */
export interface Seen {
  readonly from: number;
  readonly to: number;
  readonly time: number;
}

const FONT = "11px system-ui, sans-serif";

export const token = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Figures that wait to be drawn again. */
const waiting = new Set<Plot>();
/** What drawing may take of a frame; at least one figure is drawn in each. */
const BUDGET_MS = 5;
let asked = false;

/** Draws a figure again in one of the next frames: of many that change at once each frame draws some. */
function soon(plot: Plot): void {
  waiting.add(plot);
  if (asked) return;
  asked = true;
  requestAnimationFrame(drawSome);
}

function drawSome(): void {
  const began = performance.now();
  for (const plot of waiting) {
    waiting.delete(plot);
    plot.refresh();
    if (performance.now() - began > BUDGET_MS) break;
  }
  asked = waiting.size > 0;
  if (asked) requestAnimationFrame(drawSome);
}

/** A figure on the page. */
export class Plot {
  private plot: uPlot | null = null;
  private thinned: Thinned = { x: [], ys: [], bucket_s: 0 };
  /** What the figure on the page was made of, and what it is to be made of. */
  private of = "";
  private wanted: string;
  private seen: Seen;
  private drawn: [number, number] = [0, 0];
  private readonly veil = document.createElement("div");
  private readonly head = document.createElement("div");
  private readonly hoverLine = document.createElement("div");
  private readonly resized: ResizeObserver;
  private width = 0;

  constructor(
    private readonly host: HTMLElement,
    private spec: PlotSpec,
    private readonly on: { pointed: (time: number | null) => void; taken: (time: number) => void },
  ) {
    this.wanted = keyOf(spec);
    this.seen = { from: 0, to: spec.end, time: spec.end };
    this.veil.className = "plot-veil";
    this.head.className = "plot-head";
    this.hoverLine.className = "plot-hover";
    this.hoverLine.hidden = true;
    this.resized = new ResizeObserver(([entry]) => {
      const width = Math.floor(entry?.contentRect.width ?? 0);
      if (width === this.width || width < 60) return;
      this.width = width;
      if (this.plot) {
        this.plot.setSize({ width, height: this.spec.height });
        this.thin();
        this.redraw(true);
      } else soon(this);
    });
    this.resized.observe(host);
  }

  /** Other numbers, or another look. */
  update(spec: PlotSpec): void {
    this.spec = spec;
    this.wanted = keyOf(spec);
    if (this.plot) soon(this);
  }

  /** Draws what has changed, or all for the first time; called when there is time. */
  refresh(): void {
    if (this.wanted !== this.of) this.make();
    else {
      this.thin();
      this.redraw(true);
    }
  }

  /** The part that is seen. */
  show(seen: Seen): void {
    this.seen = seen;
    if (!this.plot) return;
    this.redraw(false);
    this.move();
  }

  /** The time that the pointer is at, in this figure or in another. */
  point(time: number | null): void {
    const plot = this.plot;
    const [from, to] = this.drawn;
    this.hoverLine.hidden = !plot || time === null || time < from || time > to;
    if (!plot || time === null) return;
    const x = this.x(time);
    this.hoverLine.style.transform = `translateX(${x}px)`;
    // On the side that has room.
    this.hoverLine.dataset.side = x > this.inside(plot) / 2 ? "left" : "right";
    this.hoverLine.dataset.time = `${time.toFixed(to - from < 1 ? 3 : 2)} s`;
  }

  destroy(): void {
    this.resized.disconnect();
    waiting.delete(this);
    this.plot?.destroy();
    this.plot = null;
  }

  private x(time: number): number {
    const plot = this.plot as uPlot;
    const [from, to] = this.drawn;
    return ((time - from) / (to - from || 1)) * this.inside(plot);
  }

  /** The width between the axes, without asking the page, which would lay it out. */
  private inside(plot: uPlot): number {
    return plot.bbox.width / devicePixelRatio;
  }

  private move(): void {
    const plot = this.plot as uPlot;
    const [from, to] = this.drawn;
    const wide = this.inside(plot);
    const at = Math.min(Math.max(this.x(this.seen.time), 0), wide);
    const inside = this.seen.time >= from && this.seen.time < to;
    this.veil.style.transform = `translateX(${at}px)`;
    this.veil.hidden = !inside;
    this.head.style.transform = `translateX(${at}px)`;
    this.head.hidden = !inside;
  }

  private thin(): void {
    const wide = Math.max(60, this.width - 60);
    const span = Math.max(this.seen.to - this.seen.from, 1e-9);
    this.thinned = thin(
      this.spec.curves.map((c) => c.samples),
      span / wide,
    );
  }

  private redraw(always: boolean): void {
    const plot = this.plot;
    // With other curves it waits for its turn to be made again: these numbers are not for the old ones.
    if (!plot || this.wanted !== this.of) return;
    const { from, to } = this.seen;
    const [oldFrom, oldTo] = this.drawn;
    if (!always && from === oldFrom && to === oldTo) return;
    const wide = to - from;
    if (Math.abs(wide - (oldTo - oldFrom)) > 1e-9 * wide) this.thin();
    this.drawn = [from, to];
    plot.batch(() => {
      plot.setData(within(this.thinned, from, to) as uPlot.AlignedData, false);
      plot.setScale("x", { min: from, max: to });
      plot.setScale("y", { min: 0, max: this.spec.most });
    });
    this.move();
  }

  private make(): void {
    this.plot?.destroy();
    const { spec } = this;
    this.of = this.wanted;
    this.thin();
    const { from, to } = this.seen;
    this.drawn = [from, to];
    const grid = { stroke: token("--grid") || "#e6e9ec", width: 1 };
    const axis: uPlot.Axis = { stroke: token("--soft") || "#5b6570", font: FONT, grid, ticks: { ...grid, size: 4 } };
    const values = (_: uPlot, ticks: number[]) => ticks.map((t) => (t === null ? "" : place(t)));
    const plot = new uPlot(
      {
        width: this.width,
        height: spec.height,
        cursor: { show: false },
        legend: { show: false },
        scales: {
          x: { time: false, auto: false, range: ends(from, to) },
          y: { auto: false, range: ends(0, spec.most) },
        },
        axes: [
          { ...axis, size: 22, gap: 2, values },
          { ...axis, size: 46, gap: 3, values, space: 28 },
        ],
        padding: [8, 10, 0, 0],
        series: [
          {},
          ...spec.curves.map((c) => ({
            label: c.label,
            stroke: c.look.color,
            width: c.look.width,
            ...(c.look.dashes.length ? { dash: [...c.look.dashes] } : {}),
            points: { show: false },
            spanGaps: false,
          })),
        ],
        hooks: {
          drawClear: [(u) => this.shade(u)],
          drawAxes: [(u) => this.changes(u)],
          draw: [(u) => this.marks(u), (u) => this.cut(u)],
        },
      },
      within(this.thinned, from, to) as uPlot.AlignedData,
      (u, ready) => {
        this.host.replaceChildren(u.root);
        ready();
      },
    );
    this.plot = plot;
    plot.over.append(this.veil, this.head, this.hoverLine);
    this.listen(plot.over);
    this.move();
  }

  private listen(over: HTMLElement): void {
    const timeOf = (e: PointerEvent) => {
      const box = over.getBoundingClientRect();
      const [from, to] = this.drawn;
      return from + ((e.clientX - box.left) / box.width) * (to - from);
    };
    over.addEventListener("pointermove", (e) => {
      if (e.buttons & 1) this.on.taken(timeOf(e));
      this.on.pointed(timeOf(e));
    });
    over.addEventListener("pointerleave", () => this.on.pointed(null));
    over.addEventListener("pointerdown", (e) => {
      if (e.button !== 0) return;
      if (e.pointerType === "mouse") over.setPointerCapture(e.pointerId);
      this.on.taken(timeOf(e));
    });
  }

  /** The warm-up, which is not measured. */
  private shade(u: uPlot): void {
    const { warmup } = this.spec;
    if (warmup <= this.drawn[0]) return;
    const { ctx, bbox } = u;
    const right = Math.min(u.valToPos(warmup, "x", true), bbox.left + bbox.width);
    ctx.save();
    ctx.fillStyle = token("--shade") || "rgba(90,100,110,.13)";
    ctx.fillRect(bbox.left, bbox.top, right - bbox.left, bbox.height);
    ctx.restore();
  }

  /** Marks where a peak is cut off, and says how high the highest is. */
  private cut(u: uPlot): void {
    const [from, to] = this.drawn;
    const above = this.spec.above.filter((a) => a.time >= from && a.time <= to);
    if (above.length === 0) return;
    const { ctx, bbox } = u;
    const unit = devicePixelRatio;
    ctx.save();
    for (const { time, color } of above) {
      const x = u.valToPos(time, "x", true);
      ctx.fillStyle = color;
      ctx.beginPath();
      ctx.moveTo(x - 5 * unit, bbox.top + 8 * unit);
      ctx.lineTo(x + 5 * unit, bbox.top + 8 * unit);
      ctx.lineTo(x, bbox.top);
      ctx.fill();
    }
    const right = Math.max(...above.map((a) => u.valToPos(a.time, "x", true))) + 8 * unit;
    ctx.font = `${11 * unit}px system-ui, sans-serif`;
    ctx.fillStyle = token("--soft") || "#5b6570";
    ctx.textBaseline = "top";
    ctx.textAlign = "left";
    const words = aboveWords(above);
    const wide = ctx.measureText(words).width;
    const left = Math.min(...above.map((a) => u.valToPos(a.time, "x", true))) - 8 * unit - wide;
    ctx.fillText(words, right + wide < bbox.left + bbox.width ? right : Math.max(bbox.left, left), bbox.top);
    ctx.restore();
  }

  /** Marks along curves that share a color, a step apart and not at one place. */
  private marks(u: uPlot): void {
    const { ctx } = u;
    const unit = devicePixelRatio;
    const [times = []] = u.data;
    const step = 90 * unit;
    this.spec.curves.forEach(({ look }, k) => {
      const values = u.data[k + 1];
      if (!look.mark || !values) return;
      const shape = new Path2D(MARKS[look.mark]);
      let next = u.bbox.left + step * ((k % 4) / 4 + 0.125);
      ctx.save();
      ctx.fillStyle = look.color;
      ctx.strokeStyle = look.color;
      ctx.lineWidth = 1.6;
      for (let i = 0; i < times.length; i++) {
        const value = values[i];
        if (value == null) continue;
        const x = u.valToPos(times[i] as number, "x", true);
        if (x < next || value > this.spec.most) continue;
        next += step * Math.ceil((x - next + 1) / step);
        ctx.setTransform(unit * 0.8, 0, 0, unit * 0.8, x - 4.8 * unit, u.valToPos(value, "y", true) - 4.8 * unit);
        ctx.fill(shape);
        ctx.stroke(shape);
      }
      ctx.restore();
    });
  }

  private changes(u: uPlot): void {
    const { ctx, bbox } = u;
    ctx.save();
    ctx.strokeStyle = token("--event") || "#7a5c00";
    ctx.lineWidth = devicePixelRatio;
    ctx.setLineDash([3 * devicePixelRatio, 3 * devicePixelRatio]);
    for (const { at_s } of this.spec.events) {
      if (at_s <= this.drawn[0] || at_s >= this.drawn[1]) continue;
      const x = u.valToPos(at_s, "x", true);
      ctx.beginPath();
      ctx.moveTo(x, bbox.top);
      ctx.lineTo(x, bbox.top + bbox.height);
      ctx.stroke();
    }
    ctx.setLineDash([9 * devicePixelRatio, 4 * devicePixelRatio]);
    ctx.lineWidth = 2 * devicePixelRatio;
    for (const { value, color } of this.spec.levels) {
      const y = u.valToPos(value, "y", true);
      ctx.strokeStyle = color;
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
    }
    ctx.restore();
  }
}

/** The ends of an axis: those that it is set to, and before that these. */
const ends =
  (from: number, to: number): uPlot.Range.Function =>
  (_, min, max) => [min ?? from, max ?? to];

/** What cannot be changed without making the figure again. */
function keyOf(spec: PlotSpec): string {
  return JSON.stringify([spec.curves.map((c) => [c.label, c.look]), spec.dark, spec.height]);
}
