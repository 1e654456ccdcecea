// A figure that does not move: lines over a linear axis, upward a linear or a logarithmic one.

import { place, ticks } from "./svg.ts";

/** A line. */
export interface Line {
  readonly label: string;
  readonly color: string;
  readonly dashes: readonly number[];
  readonly x: readonly number[];
  readonly y: readonly number[];
  /** Single places on it. */
  readonly marks: readonly { x: number; y: number; label: string }[];
}

interface Props {
  lines: readonly Line[];
  x: string;
  y: string;
  most: number;
  /** From and to; of a logarithmic axis both are above 0. */
  range: readonly [number, number];
  log: boolean;
  /** What is seen, in a sentence. */
  summary: string;
}

const [WIDE, TALL, LEFT, RIGHT, TOP, BOTTOM] = [640, 320, 72, 16, 12, 44];

export function Lines(p: Props) {
  const [right, bottom] = [WIDE - RIGHT, TALL - BOTTOM];
  const [low, high] = p.range;
  const px = (x: number) => LEFT + (Math.min(Math.max(x, 0), p.most) / p.most) * (right - LEFT);
  const part = (y: number) =>
    p.log ? Math.log(Math.min(Math.max(y, low), high) / low) / Math.log(high / low) : (y - low) / (high - low);
  const py = (y: number) => bottom - part(y) * (bottom - TOP);
  const ups = p.log
    ? Array.from({ length: Math.round(Math.log10(high / low)) + 1 }, (_, k) => +(low * 10 ** k).toPrecision(3))
    : ticks(high, 5);
  const path = (line: Line) => {
    let d = "";
    line.x.forEach((x, i) => {
      const y = line.y[i] as number;
      if (!Number.isFinite(x) || !Number.isFinite(y)) return;
      d += `${d ? "L" : "M"}${px(x).toFixed(1)} ${py(y).toFixed(1)}`;
    });
    return d;
  };
  return (
    <svg class="lines" viewBox={`0 0 ${WIDE} ${TALL}`} role="img" aria-label={p.summary}>
      {ticks(p.most, 8).map((t) => (
        <g key={t}>
          <path class="grid" d={`M${px(t)} ${TOP}V${bottom}`} />
          <text x={px(t)} y={bottom + 17} text-anchor="middle">
            {place(t)}
          </text>
        </g>
      ))}
      {ups.map((v) => (
        <g key={v}>
          <path class="grid" d={`M${LEFT} ${py(v)}H${right}`} />
          <text x={LEFT - 7} y={py(v) + 4} text-anchor="end">
            {place(v)}
          </text>
        </g>
      ))}
      <text x={(LEFT + right) / 2} y={TALL - 7} text-anchor="middle">
        {p.x}
      </text>
      <text x={14} y={(TOP + bottom) / 2} text-anchor="middle" transform={`rotate(-90 14 ${(TOP + bottom) / 2})`}>
        {p.y}
      </text>
      {p.lines.map((line) => (
        <path
          key={line.label}
          class="line"
          d={path(line)}
          stroke={line.color}
          stroke-dasharray={line.dashes.length ? line.dashes.join(" ") : undefined}
        />
      ))}
      {p.lines.flatMap((line) =>
        line.marks.map((mark) => (
          <g key={`${line.label} ${mark.label}`}>
            <circle cx={px(mark.x)} cy={py(mark.y)} r={4.5} fill={line.color} class="spot">
              <title>{`${line.label}: ${mark.label}`}</title>
            </circle>
          </g>
        )),
      )}
    </svg>
  );
}

/** The lines' names, each with a piece of its line. */
export function Legend({
  lines,
}: {
  lines: readonly { label: string; color: string; dashes: readonly number[]; value?: string }[];
}) {
  return (
    <p class="readout">
      {lines.map((line) => (
        <span key={line.label}>
          <svg class="swatch" viewBox="0 0 22 8" aria-hidden="true">
            <path d="M0 4h22" stroke={line.color} stroke-width="2.4" stroke-dasharray={line.dashes.join(" ")} />
          </svg>{" "}
          {line.label} {line.value && <b>{line.value}</b>}
        </span>
      ))}
    </p>
  );
}
