// Samples of a curve reduced to what a screen can show: of each pixel's samples the least and the most, so that no
// peak is lost. Buckets lie on a grid that begins at zero, not at the window's edge: a window that moves shows the
// same points, and nothing flickers.

/** Values over time; NaN where there is none. */
export interface Samples {
  readonly time: Float64Array;
  readonly values: Float64Array;
}

/** Curves over common places, as uPlot takes them; null is a gap. */
export interface Thinned {
  readonly x: number[];
  readonly ys: (number | null)[][];
  /** The width of a bucket in seconds; 0 if every sample is there. */
  readonly bucket_s: number;
}

/**
 * Thins curves for a width of `bucket_s` seconds for each pixel. Curves may have different times and lengths. A bucket gives
 * two places, a quarter and three quarters into it, where each curve has its two extremes in the order in which they came.
 */
export function thin(curves: readonly Samples[], bucket_s: number): Thinned {
  const [first] = curves;
  if (!first) return { x: [], ys: [], bucket_s: 0 };
  const longest = curves.reduce((a, b) => (b.time.length > a.time.length ? b : a), first);
  if (bucket_s <= 0 || sparse(longest.time, bucket_s)) {
    const same = curves.every((c) => onGrid(c.time, longest.time));
    if (same)
      return { x: Array.from(longest.time), ys: curves.map((c) => padded(c.values, longest.time.length)), bucket_s: 0 };
  }
  const width = bucket_s > 0 ? bucket_s : step(longest.time);
  const end = curves.reduce((most, c) => Math.max(most, c.time.length ? (c.time[c.time.length - 1] as number) : 0), 0);
  // A time on a boundary belongs to the bucket that begins there.
  const count = Math.floor(end / width) + 1;
  const x: number[] = new Array(2 * count);
  for (let k = 0; k < count; k++) {
    x[2 * k] = (k + 0.25) * width;
    x[2 * k + 1] = (k + 0.75) * width;
  }
  return { x, ys: curves.map((c) => extremes(c, width, count)), bucket_s: width };
}

function extremes({ time, values }: Samples, width: number, count: number): (number | null)[] {
  const out: (number | null)[] = new Array(2 * count).fill(null);
  const length = Math.min(time.length, values.length);
  let at = 0;
  while (at < length) {
    const k = Math.floor((time[at] as number) / width);
    let low = Number.POSITIVE_INFINITY;
    let high = Number.NEGATIVE_INFINITY;
    let [lowAt, highAt] = [at, at];
    for (; at < length && Math.floor((time[at] as number) / width) === k; at++) {
      const v = values[at] as number;
      if (v < low) [low, lowAt] = [v, at];
      if (v > high) [high, highAt] = [v, at];
    }
    if (k < 0 || k >= count || low > high) continue;
    out[2 * k] = lowAt <= highAt ? low : high;
    out[2 * k + 1] = lowAt <= highAt ? high : low;
  }
  return out;
}

/** True if there are no more than two samples for each bucket. */
function sparse(time: Float64Array, bucket_s: number): boolean {
  return time.length < 3 || step(time) >= bucket_s / 2;
}

/** The mean distance of samples. */
export function step(time: Float64Array): number {
  const n = time.length;
  if (n === 0) return 1;
  return n === 1 ? (time[0] as number) || 1 : ((time[n - 1] as number) - (time[0] as number)) / (n - 1);
}

/** True if `time` is the beginning of `whole`. */
function onGrid(time: Float64Array, whole: Float64Array): boolean {
  if (time === whole) return true;
  const n = time.length;
  return n <= whole.length && (n === 0 || (time[0] === whole[0] && time[n - 1] === whole[n - 1]));
}

function padded(values: Float64Array, length: number): (number | null)[] {
  const out: (number | null)[] = new Array(length).fill(null);
  for (let i = 0; i < values.length && i < length; i++) {
    const v = values[i] as number;
    if (Number.isFinite(v)) out[i] = v;
  }
  return out;
}

/** The part of thinned curves from `from` to `to`, with one place more on each side so that lines reach the edges. */
export function within(all: Thinned, from: number, to: number): [number[], ...(number | null)[][]] {
  const begin = Math.max(0, lower(all.x, from) - 1);
  const end = Math.min(all.x.length, lower(all.x, to) + 1);
  return [all.x.slice(begin, end), ...all.ys.map((y) => y.slice(begin, end))];
}

/** The first index whose value is not less than `x`; the length if there is none. */
export function lower(sorted: ArrayLike<number>, x: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as number) < x) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** What some values are like. */
export interface Summary {
  readonly least: number;
  readonly mean: number;
  readonly most: number;
  readonly count: number;
}

const summaries = new WeakMap<object, Summary>();

/** The least, the mean and the most of what is a number. Of typed arrays it is computed once: they do not change here. */
export function summary(values: ArrayLike<number | null>): Summary {
  const known = values instanceof Float64Array ? summaries.get(values) : undefined;
  if (known) return known;
  let [least, most, sum, count] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0, 0];
  for (let i = 0; i < values.length; i++) {
    const v = values[i];
    if (v == null || !Number.isFinite(v)) continue;
    if (v < least) least = v;
    if (v > most) most = v;
    sum += v;
    count++;
  }
  const found = { least, mean: sum / count, most, count };
  if (values instanceof Float64Array) summaries.set(values, found);
  return found;
}

/** The largest value after a time, which summaries do not know; 0 if there is none. */
export function mostAfter({ time, values }: Samples, after: number): number {
  let most = 0;
  for (let i = lower(time, after + 1e-12); i < values.length; i++) {
    const v = values[i] as number;
    if (v > most) most = v;
  }
  return most;
}

/** A peak of the warm-up this many times as high as all that follows is cut off: else nothing of that could be seen. */
const CUT = 1.5;

/** The end of the axis for curves whose warm-up ends at a time: that of what is measured, if the warm-up is far beyond. */
export function axisEnd(curves: readonly Samples[], warmup: number, least = 0): number {
  const whole = Math.max(least, ...curves.map((c) => summary(c.values).most));
  const measured = Math.max(least, ...curves.map((c) => mostAfter(c, warmup)));
  return ceiling(measured > 0 && whole > CUT * measured ? measured : whole);
}

/** Where a curve is highest. */
export function peak({ time, values }: Samples): { time: number; value: number } {
  const most = summary(values).most;
  const i = values.indexOf(most);
  return { time: i < 0 ? Number.NaN : (time[i] as number), value: most };
}

/** Digits after the point for values on an axis with this end: three digits in all for the largest. */
export const digitsFor = (most: number): number =>
  most > 0 ? Math.min(9, Math.max(0, 2 - Math.floor(Math.log10(most)))) : 2;

/** A value on an axis with this end: all of them have as many digits, so that a number that changes stays in its place. */
export function fixed(x: number, most: number, unit = ""): string {
  // Nobody reads hundredths of packets.
  const digits = unit === "packets" ? Math.min(digitsFor(most), most >= 10 ? 1 : 2) : digitsFor(most);
  return Number.isFinite(x) ? x.toFixed(digits).replace("-", "\u2212") : "–";
}

/** A number for people: three digits, and all those before the point. */
export function format(x: string | number | null | undefined): string {
  if (x === null || x === undefined) return "–";
  if (typeof x === "string") return x;
  if (!Number.isFinite(x)) return "–";
  const size = Math.abs(x);
  const text =
    size !== 0 && (size < 1e-3 || size >= 1e6)
      ? x.toExponential(2)
      : String(size >= 1000 ? Math.round(x) : +x.toPrecision(3));
  return text.replace(/-/g, "\u2212");
}

/** "packet" or "packets" after a number as it is shown. */
export const packetsOf = (shown: string): string => (Number(shown) === 1 ? "packet" : "packets");

/** A round number not below the largest value, so that an axis does not move with every change of a slider. */
export function ceiling(most: number): number {
  if (!(most > 0) || !Number.isFinite(most)) return 1;
  const power = 10 ** Math.floor(Math.log10(most));
  const steps = [1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10];
  return (steps.find((s) => s * power >= most * (1 - 1e-9)) ?? 10) * power;
}
