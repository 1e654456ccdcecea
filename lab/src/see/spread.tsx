// How long packets waited: the distribution of the queueing delay, with its median and its 99th percentile.

import type { Replication } from "../protocol.ts";
import { here, isDone, labels, opened, resultPoint, results, runs } from "../state/run.ts";
import { Button } from "../ui/index.tsx";
import { useAnswer } from "./ask.ts";
import { Figure, format } from "./figure.tsx";
import { Legend, type Line, Lines } from "./lines.tsx";
import { colorOf, styles } from "./looks.ts";
import { ceiling } from "./thin.ts";
import { isStale, LinkChoice, resultLink, resultLinks } from "./time.tsx";
import { choose, view } from "./view.ts";

/** A distribution function: shares of packets that waited no longer than so many milliseconds. */
export interface Spread {
  readonly label: string;
  readonly ms: readonly number[];
  readonly share: readonly number[];
}

const known = (v: number | null): number => v ?? Number.NaN;

/** The delay that a share of packets did not exceed. */
export function quantile({ ms, share }: Spread, p: number): number {
  const i = share.findIndex((s) => s >= p);
  if (i < 0) return Number.NaN;
  if (i === 0) return ms[0] as number;
  const [s0, s1] = [share[i - 1] as number, share[i] as number];
  const [x0, x1] = [ms[i - 1] as number, ms[i] as number];
  return s1 > s0 ? x0 + ((p - s0) / (s1 - s0)) * (x1 - x0) : x1;
}

/** The least share that is drawn on a logarithmic axis. */
const LEAST = 1e-4;

export function SpreadTab() {
  const { tail, scope } = view.value;
  const classes = here.value?.classes ?? [];
  const wanted = ["all", "data", ...classes].includes(scope) ? scope : "all";
  const id = results.value?.id;
  const answer = useAnswer(
    id === undefined || !isDone.value
      ? null
      : {
          do: "chart",
          id,
          diagram: "delay-cdf",
          ...(resultLink.value && { link: resultLink.value }),
          point: resultPoint.value,
          scope: wanted,
          algorithms: [...labels.value],
        },
  );
  const first = (): Spread[] =>
    runs.value.each.flatMap((r) => {
      const found = r.shown?.delays.find(
        (d) => d.scope === wanted && (!resultLink.value || d.link === resultLink.value),
      );
      if (!found) return [];
      return [
        {
          label: r.label,
          ms: found.queue_delay_s.map((s) => known(s) * 1e3),
          share: found.cumulative_probability.map(known),
        },
      ];
    });
  // Of several seeds the engine makes one distribution, as `quell plot` does.
  const several = (opened.value || runs.value.finished > runs.value.each.length) && answer.ok;
  const spreads = several
    ? (answer.ok?.chart.panels[0]?.curves ?? []).map((c) => ({
        label: c.label,
        ms: c.x.map(known),
        share: c.y.map(known),
      }))
    : first();
  const most = ceiling(
    Math.max(0, ...spreads.map((s) => (tail ? (s.ms[s.ms.length - 1] ?? 0) : quantile(s, 0.999) || 0))),
  );
  const lines: Line[] = spreads.map((s) => {
    const y = s.share.map((p) => (tail ? 1 - p : p));
    const keep = y.map((v) => !tail || v >= LEAST / 2);
    return {
      label: s.label,
      color: colorOf(s.label),
      dashes: styles.value.get(s.label)?.dashes ?? [],
      x: s.ms.filter((_, i) => keep[i]),
      y: y.filter((_, i) => keep[i]),
      marks: [0.5, 0.99].map((p) => ({
        x: quantile(s, p),
        y: tail ? 1 - p : p,
        label: `P${p * 100} ${format(quantile(s, p))} ms`,
      })),
    };
  });
  const numbers = () => ({
    heads: ["share", ...spreads.map((s) => `${s.label} (ms)`)],
    rows: [0.01, 0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.999].map((p) => [
      p,
      ...spreads.map((s) => quantile(s, p)),
    ]),
  });
  const summary = `Queueing delay: ${spreads.map((s) => `${s.label} median ${format(quantile(s, 0.5))} ms, 99% at most ${format(quantile(s, 0.99))} ms`).join("; ")}.`;
  return (
    <>
      <div class="choices">
        <span class="group">
          <Button pressed={!tail} onClick={() => choose({ tail: false })}>
            Waited no longer
          </Button>
          <Button pressed={tail} onClick={() => choose({ tail: true })}>
            Waited longer (log)
          </Button>
        </span>
        <label>
          Traffic{" "}
          <select value={wanted} onChange={(e) => choose({ scope: e.currentTarget.value })}>
            {["all", "data", ...classes].map((name) => (
              <option key={name} value={name}>
                {name === "data" ? "data (no acknowledgments)" : name}
              </option>
            ))}
          </select>
        </label>
        <LinkChoice of={resultLinks.value} chosen={resultLink.value} />
      </div>
      {lines.length === 0 ? (
        <p class="note">
          {opened.value || runs.value.finished > 0
            ? "No packet of this traffic has left the link within the measured window yet."
            : "Not run yet."}
        </p>
      ) : (
        <Figure
          title={`Distribution of the queueing delay${wanted === "all" ? "" : ` of ${wanted}`}`}
          name="delay-cdf"
          dim={isStale.value}
          kept={[
            { kind: "svg", text: () => answer.ok?.svg ?? null },
            { kind: "csv", text: () => answer.ok?.csv ?? null },
          ]}
          numbers={numbers}
        >
          <Legend
            lines={lines.map((l, i) => ({
              ...l,
              value: `P50 ${format(quantile(spreads[i] as Spread, 0.5))} · P99 ${format(quantile(spreads[i] as Spread, 0.99))} ms`,
            }))}
          />
          <Lines
            lines={lines}
            x="queueing delay (ms)"
            y={tail ? "share that waited longer" : "share that waited no longer"}
            most={most}
            range={tail ? [LEAST, 1] : [0, 1]}
            log={tail}
            summary={summary}
          />
          <p class="note">
            Dots are the median and the 99th percentile
            {several ? "; delays are means over the seeds at each share" : " of the first seed"}. The warm-up does not
            count.
          </p>
        </Figure>
      )}
      <ByClass />
    </>
  );
}

/** The median and the 99th percentile of every class and every link: means over the seeds, as the curve has them. */
function ByClass() {
  const each = runs.value.each.flatMap(({ label, shown, finished }) =>
    shown && !opened.value ? [{ label, shown, runs: finished.length > 0 && isDone.value ? finished : [shown] }] : [],
  );
  const keys = [
    ...new Map(
      each.flatMap(({ shown }) =>
        shown.delays.filter((d) => d.scope !== "all" && d.scope !== "data").map((d) => [`${d.link}\n${d.scope}`, d]),
      ),
    ).values(),
  ].map(({ link, scope }) => ({ link, scope }));
  const one = (run: Replication, link: string, scope: string): Spread | undefined => {
    const found = run.delays.find((d) => d.link === link && d.scope === scope);
    return (
      found && {
        label: "",
        ms: found.queue_delay_s.map((s) => known(s) * 1e3),
        share: found.cumulative_probability.map(known),
      }
    );
  };
  const most = Math.max(1, ...each.map(({ runs }) => runs.length));
  // Delays are kept at the same shares of all seeds, so that the mean of quantiles is the quantile of means.
  const mean = (runs: readonly Replication[], link: string, scope: string, p: number): number => {
    const all = runs.flatMap((run) => one(run, link, scope) ?? []).map((found) => quantile(found, p));
    return all.reduce((sum, x) => sum + x, 0) / all.length;
  };
  if (keys.length === 0) return null;
  const several = new Set(keys.map(({ link }) => link)).size > 1;
  return (
    <section>
      <h2>Every class of traffic</h2>
      <p class="note">
        Median and 99th percentile of the queueing delay in ms,{" "}
        {most > 1 ? "means over the seeds" : "of the first seed"}.
      </p>
      <div
        class={isStale.value ? "scroll dim" : "scroll"}
        tabIndex={0}
        role="region"
        aria-label="Delays of every class of traffic"
      >
        <table>
          <thead>
            <tr>
              <th scope="col">class</th>
              {several && <th scope="col">link</th>}
              {each.map(({ label }) => (
                <th scope="col" key={label}>
                  {label}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {keys.map(({ link, scope }) => (
              <tr key={`${link} ${scope}`}>
                <th scope="row">{scope.replace(/^lane:/, "queue ")}</th>
                {several && <td>{link}</td>}
                {each.map(({ label, runs }) => {
                  const [p50, p99] = [0.5, 0.99].map((p) => mean(runs, link, scope, p)) as [number, number];
                  return <td key={label}>{Number.isFinite(p50) ? `${format(p50)} · ${format(p99)}` : "–"}</td>;
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}
