// Results: what happens over time, distributions, tables, diagrams, and the theory beside the packets.

import { useEffect } from "preact/hooks";
import { learnAbout } from "../state/about.ts";
import { change, lastChecked } from "../state/document.ts";
import { followRuns, opened, openedPoint, resultPoint, runs, stop } from "../state/run.ts";
import { Tabs } from "../ui/index.tsx";
import { register } from "../ui/keys.ts";
import { DiagramsTab } from "./diagrams.tsx";
import { SpreadTab } from "./spread.tsx";
import { Status } from "./status.tsx";
import { TableTab } from "./table.tsx";
import { TheoryTab } from "./theory.tsx";
import { TimeTab } from "./time.tsx";
import { playbackKeys, Transport } from "./transport.tsx";
import { choose, type Tab, view } from "./view.ts";

export { RunControl } from "./status.tsx";

const TITLES: readonly (readonly [Tab, string])[] = [
  ["time", "Over time"],
  ["spread", "Delays"],
  ["table", "Table"],
  ["diagrams", "Diagrams"],
  ["theory", "Theory"],
];

const PARTS = { time: TimeTab, spread: SpreadTab, table: TableTab, diagrams: DiagramsTab, theory: TheoryTab };

export function SeePanel() {
  useEffect(() => {
    learnAbout();
    followRuns();
    const keys = [
      playbackKeys(),
      register({
        part: "Playback",
        keys: "Escape",
        says: "Stop the runs",
        run: () => runs.peek().phase === "running" && stop(),
      }),
    ];
    return () => {
      for (const take of keys) take();
    };
  }, []);
  const { tab } = view.value;
  const Part = PARTS[tab];
  return (
    <div class="results">
      <Status />
      <Tabs
        label="Results"
        tabs={TITLES}
        chosen={tab}
        onChoose={(next) => choose({ tab: next }, { quiet: true })}
        panel={(t) => `see-${t}`}
      />
      <PointChoice />
      {tab === "time" && <Transport />}
      <div class="results-part" id={`see-${tab}`} role="tabpanel" aria-labelledby={`see-${tab}-tab`}>
        <Part />
      </div>
    </div>
  );
}

/** Chooses the point of a sweep: of the results that were opened, or of the scenario. */
function PointChoice() {
  const given = opened.value;
  const points = given?.points ?? lastChecked.value?.points ?? [];
  if (points.length < 2) return null;
  const pick = (i: number) => {
    if (given) openedPoint.value = i;
    else change({ point: i });
  };
  return (
    <p class="choices">
      <label>
        Point of the sweep{" "}
        <select value={resultPoint.value} onChange={(e) => pick(Number(e.currentTarget.value))}>
          {points.map((p, i) => (
            <option key={p.title} value={i}>
              {i + 1}: {p.title}
            </option>
          ))}
        </select>
      </label>
    </p>
  );
}
