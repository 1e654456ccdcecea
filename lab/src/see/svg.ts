// Figures over time as SVG and CSV files, from their numbers.

import { ceiling, peak, type Samples, thin } from "./thin.ts";

const escaped = (text: string): string =>
  text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;").replace(/"/g, "&quot;");
const short = (v: number): string => String(Math.round(v * 10) / 10);

/** A curve of a figure. */
interface Drawn {
  readonly label: string;
  readonly look: { readonly color: string; readonly dashes: readonly number[]; readonly width: number };
  readonly samples: Samples;
}

/** A figure in numbers. */
export interface Figure {
  readonly title: string;
  readonly x: string;
  readonly y: string;
  readonly end: number;
  readonly most: number;
  readonly warmup: number;
  readonly events: readonly { at_s: number; label: string }[];
  readonly curves: readonly Drawn[];
}

/** A number on an axis. */
export function place(x: number): string {
  const size = Math.abs(x);
  return size !== 0 && (size < 1e-4 || size >= 1e7) ? x.toExponential() : String(+x.toPrecision(8));
}

/** Round places on an axis from 0, about `wanted`. */
export function ticks(most: number, wanted: number): number[] {
  const raw = most / wanted;
  const power = 10 ** Math.floor(Math.log10(raw));
  const width = ([1, 2, 5, 10].find((s) => s * power >= raw * 0.999) ?? 10) * power;
  const out: number[] = [];
  for (let k = 0; k * width <= most * (1 + 1e-9); k++) out.push(+(k * width).toPrecision(12));
  return out;
}

const [WIDE, TALL, LEFT, RIGHT, TOP, BOTTOM, ROW] = [760, 300, 64, 14, 34, 42, 18];

/** The figure as SVG, black on white as pictures for papers are. */
export function svg(figure: Figure): string {
  const { curves, end } = figure;
  const most = figure.most > 0 ? figure.most : ceiling(0);
  const [right, bottom] = [WIDE - RIGHT, TALL - BOTTOM];
  const px = (t: number): number => LEFT + (t / (end || 1)) * (right - LEFT);
  const py = (v: number): number => bottom - (Math.min(Math.max(v, 0), most) / most) * (bottom - TOP);
  const { x, ys } = thin(
    curves.map((c) => c.samples),
    end / (right - LEFT) || 0,
  );
  const out: string[] = [];
  const line = (x1: number, y1: number, x2: number, y2: number, stroke: string, more = ""): void => {
    out.push(`<path d="M${short(x1)} ${short(y1)}L${short(x2)} ${short(y2)}" stroke="${stroke}" fill="none"${more}/>`);
  };
  const text = (x: number, y: number, words: string, more = ""): void => {
    out.push(`<text x="${short(x)}" y="${short(y)}"${more}>${escaped(words)}</text>`);
  };
  text(LEFT, 18, figure.title, ' font-size="13" font-weight="600"');
  if (figure.warmup > 0)
    out.push(
      `<rect x="${LEFT}" y="${TOP}" width="${short(px(figure.warmup) - LEFT)}" height="${bottom - TOP}" fill="#e9ebed"/>`,
    );
  for (const t of ticks(end || 1, 8)) {
    line(px(t), TOP, px(t), bottom, "#e6e9ec");
    text(px(t), bottom + 16, place(t), ' text-anchor="middle"');
  }
  for (const v of ticks(most, 5)) {
    line(LEFT, py(v), right, py(v), "#e6e9ec");
    text(LEFT - 6, py(v) + 4, place(v), ' text-anchor="end"');
  }
  for (const e of figure.events) line(px(e.at_s), TOP, px(e.at_s), bottom, "#7a5c00", ' stroke-dasharray="3 3"');
  text((LEFT + right) / 2, TALL - 6, figure.x, ' text-anchor="middle"');
  const middle = (TOP + bottom) / 2;
  text(14, middle, figure.y, ` text-anchor="middle" transform="rotate(-90 14 ${middle})"`);
  curves.forEach((curve, i) => {
    let d = "";
    let drawing = false;
    x.forEach((t, k) => {
      const v = ys[i]?.[k];
      if (v == null) drawing = false;
      else {
        d += `${drawing ? "L" : "M"}${short(px(t))} ${short(py(v))}`;
        drawing = true;
      }
    });
    const dashes = curve.look.dashes.length ? ` stroke-dasharray="${curve.look.dashes.join(" ")}"` : "";
    const style = `stroke="${curve.look.color}" stroke-width="${curve.look.width}"${dashes} fill="none"`;
    out.push(`<path d="${d}" ${style} stroke-linejoin="round"/>`);
    const y = TALL + (i + 0.6) * ROW;
    out.push(`<path d="M${LEFT} ${short(y - 4)}h28" ${style}/>`);
    text(LEFT + 36, y, curve.label);
  });
  const above = curves
    .map((c) => ({ ...peak(c.samples), color: c.look.color }))
    .filter((p) => p.value > most * (1 + 1e-9));
  for (const { time, color } of above) {
    out.push(`<path d="M${short(px(time))} ${TOP}l5 8h-10z" fill="${color}"/>`);
  }
  if (above.length) {
    const words = `up to ${place(+Math.max(...above.map((p) => p.value)).toPrecision(3))}`;
    text(px(Math.max(...above.map((p) => p.time))) + 9, TOP + 9, words, ' font-size="11" fill="#56616b"');
  }
  line(LEFT, TOP, LEFT, bottom, "#1b1f24");
  line(LEFT, bottom, right, bottom, "#1b1f24");
  const tall = TALL + curves.length * ROW + 4;
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDE}" height="${tall}" viewBox="0 0 ${WIDE} ${tall}" ` +
    `font-family="system-ui, sans-serif" font-size="12" fill="#1b1f24"><title>${escaped(figure.title)}</title>` +
    `<rect width="${WIDE}" height="${tall}" fill="#fff"/>${out.join("\n")}</svg>\n`
  );
}

const field = (v: string | number): string => {
  const text = typeof v === "number" ? (Number.isFinite(v) ? String(v) : "") : v;
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
};

/** Rows as CSV (RFC 4180). */
export function rows(all: readonly (readonly (string | number)[])[]): string {
  return all.map((r) => `${r.map(field).join(",")}\r\n`).join("");
}

/** Every sample of each curve, as `quell plot --csv` writes them. */
export function csv(figure: Figure): string {
  const out: (string | number)[][] = [["curve", figure.x, figure.y]];
  for (const { label, samples } of figure.curves)
    for (let i = 0; i < samples.values.length; i++)
      out.push([label, samples.time[i] as number, samples.values[i] as number]);
  return rows(out);
}

/** A name for a file. */
export const slug = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "");
