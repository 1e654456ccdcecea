// Every diagram of `quell plot`, as the command draws it.

import { useEffect, useState } from "preact/hooks";
import { command } from "../keep/command.ts";
import type { ChartNumbers } from "../protocol.ts";
import { about } from "../state/about.ts";
import { checked, doc } from "../state/document.ts";
import { wide } from "../state/layout.ts";
import { here, isDone, labels, resultPoint, results } from "../state/run.ts";
import { currentSweep, estimate, runSweep, stopSweep } from "../state/sweep.ts";
import { Button } from "../ui/index.tsx";
import { useAnswer } from "./ask.ts";
import { Figure, type Numbers } from "./figure.tsx";
import { isStale, LinkChoice, resultLink, resultLinks } from "./time.tsx";
import { choose, view } from "./view.ts";

/** What a diagram is called: "Queue distribution" for "queue-cdf". */
const wordsOf = (name: string): string => {
  const words = name
    .replace(/-cdf$/, " distribution")
    .replace(/-pdf$/, " density")
    .replace(/^jain$/, "fairness")
    .replaceAll("-", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
};

/** The width of a picture where there is no room for 800 pixels. */
const NARROW = 480;

export function DiagramsTab() {
  const { diagram, diagramMetric, panels, scope, over } = view.value;
  const all = about.value?.diagrams ?? [];
  const chosen = all.find((d) => d.name === diagram) ?? all[0];
  const id = results.value?.id;
  const classes = here.value?.classes ?? [];
  const wanted = ["all", "data", ...classes].includes(scope) ? scope : "all";
  const swept = currentSweep.value;
  // Of a sweep a metric is shown over its fields, once all points were run.
  const ofSweep = chosen?.name === "metric" && swept?.id != null;
  const fields = [...new Set((checked.value?.points ?? []).flatMap((p) => p.settings.map((s) => s.field)))];
  const along = fields.includes(over) ? over : "";
  // On a phone a picture of the usual width would have labels that nobody reads.
  const size = wide.value ? {} : { width: NARROW };
  const answer = useAnswer(
    ofSweep
      ? {
          do: "chart",
          id: swept.id as number,
          diagram: "metric",
          metric: diagramMetric,
          scope: wanted,
          panels,
          ...size,
          ...(resultLink.value && { link: resultLink.value }),
          ...(along && { over: along }),
        }
      : id === undefined || !chosen || !isDone.value
        ? null
        : {
            do: "chart",
            id,
            diagram: chosen.name,
            ...(resultLink.value && { link: resultLink.value }),
            point: resultPoint.value,
            scope: wanted,
            algorithms: [...labels.value],
            ...(chosen.name === "metric" ? { metric: diagramMetric } : {}),
            panels,
            ...size,
          },
  );
  const chart = answer.ok;
  return (
    <>
      <div class="choices">
        <label>
          Diagram{" "}
          <select value={chosen?.name} onChange={(e) => choose({ diagram: e.currentTarget.value })}>
            {all.map((d) => (
              <option key={d.name} value={d.name}>
                {wordsOf(d.name)}
              </option>
            ))}
          </select>
        </label>
        {chosen?.name === "metric" && (
          <label>
            Metric{" "}
            <select value={diagramMetric} onChange={(e) => choose({ diagramMetric: e.currentTarget.value })}>
              {about.value?.metrics.map((m) => (
                <option key={m.name} value={m.name}>
                  {m.title}
                </option>
              ))}
            </select>
          </label>
        )}
        {ofSweep && fields.length > 1 && (
          <label>
            Over{" "}
            <select value={along} onChange={(e) => choose({ over: e.currentTarget.value })}>
              <option value="">the first field</option>
              {fields.map((field) => (
                <option key={field}>{field}</option>
              ))}
            </select>
          </label>
        )}
        <label>
          Traffic{" "}
          <select value={wanted} onChange={(e) => choose({ scope: e.currentTarget.value })}>
            {["all", "data", ...classes].map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <LinkChoice of={resultLinks.value} chosen={resultLink.value} />
        <span class="group">
          <Button pressed={!panels} onClick={() => choose({ panels: false })}>
            Together
          </Button>
          <Button pressed={panels} onClick={() => choose({ panels: true })}>
            Panels
          </Button>
        </span>
      </div>
      {chosen && <p class="note">{chosen.doc}.</p>}
      {chosen?.name === "metric" && estimate.value.points > 1 && <SweepLine />}
      {answer.fault && <p class="notice">{answer.fault}</p>}
      {id === undefined && <p class="note">Not run yet. Diagrams are there when the first runs are done.</p>}
      {chart && (
        <Figure
          title={chart.chart.title}
          titled
          name={chosen?.name ?? "diagram"}
          dim={isStale.value || answer.waits}
          kept={[
            { kind: "svg", text: () => chart.svg },
            { kind: "csv", text: () => chart.csv },
          ]}
          numbers={() => numbersOf(chart.chart)}
        >
          <Picture svg={chart.svg} alt={chart.chart.title} />
        </Figure>
      )}
    </>
  );
}

/** Runs all points of the sweep. */
function SweepLine() {
  const { words, too, points } = estimate.value;
  const now = currentSweep.value;
  if (now?.state === "running") {
    return (
      <p class="progress">
        <progress max={now.asked} value={now.finished} aria-label="Progress of the sweep" />
        <span>
          {now.finished} of {now.asked} replications
        </span>
        <Button onClick={stopSweep}>Stop</Button>
      </p>
    );
  }
  if (now?.state === "done" && !now.fault) {
    return (
      <p class="note">
        All {points} points, {now.finished} replications.
      </p>
    );
  }
  const why = now?.fault
    ? `${now.fault} `
    : now?.state === "stopped"
      ? `Stopped after ${now.finished} of ${now.asked}. `
      : "";
  return (
    <p class="notice">
      <span>
        {why}
        {too
          ? `The sweep has ${points} points: ${words}. That is too much for this page; the command runs it on all cores: `
          : `One point of ${points} is shown. All of them: ${words}.`}
        {too && <code>{command(doc.value, checked.value)}</code>}
      </span>
      {!too && <Button onClick={runSweep}>Run the sweep</Button>}
    </p>
  );
}

const MOST_ROWS = 400;

function numbersOf(chart: ChartNumbers): Numbers {
  const rows = chart.panels.flatMap((panel) =>
    panel.curves.flatMap((curve) =>
      curve.x.map((x, i) => [
        panel.title ? `${panel.title}: ${curve.label}` : curve.label,
        x !== null && chart.x.names.length ? (chart.x.names[x] ?? x) : x,
        curve.y[i] ?? null,
      ]),
    ),
  );
  const every = Math.max(1, Math.ceil(rows.length / MOST_ROWS));
  return {
    heads: ["curve", chart.x.label, chart.y],
    rows: rows.filter((_, i) => i % every === 0),
    ...(every > 1 ? { note: `One of every ${every} values; the CSV file has all.` } : {}),
  };
}

/** A picture that the engine drew. As an image it can neither run anything nor change the page. */
export function Picture({ svg, alt }: { svg: string; alt: string }) {
  const [url, setUrl] = useState("");
  useEffect(() => {
    const made = URL.createObjectURL(new Blob([svg], { type: "image/svg+xml" }));
    setUrl(made);
    return () => URL.revokeObjectURL(made);
  }, [svg]);
  return url ? <img class="picture" src={url} alt={alt} /> : null;
}
