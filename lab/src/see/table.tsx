// The metrics as `quell run` prints them, with intervals once several seeds ran.

import { useState } from "preact/hooks";
import { about } from "../state/about.ts";
import { change, doc } from "../state/document.ts";
import { isDone, labels, opened, resultPoint, results, resultsWait, runs, seedCount } from "../state/run.ts";
import { finds } from "../ui/find.ts";
import { Button, Dialog, download, Search } from "../ui/index.tsx";
import { Key } from "../ui/key.tsx";
import { useAnswer } from "./ask.ts";
import { Save } from "./figure.tsx";
import { styles } from "./looks.ts";
import { printed } from "./printed.ts";
import { slug } from "./svg.ts";
import { isStale, LinkChoice, resultLink, resultLinks } from "./time.tsx";
import { choose, view } from "./view.ts";

/** The metrics of a table that nobody has chosen. */
export const USUAL_METRICS = [
  "utilization",
  "queue_delay_mean_s",
  "queue_delay_p99_s",
  "loss_rate",
  "mark_rate",
  "jain_index",
];

export function TableTab() {
  const [choosing, setChoosing] = useState(false);
  const id = results.value?.id;
  const { metrics, baseline, scope } = view.value;
  const all = labels.value;
  const wanted = metrics.length ? [...metrics] : USUAL_METRICS;
  const base = all.includes(baseline) ? baseline : null;
  const answer = useAnswer(
    id === undefined
      ? null
      : {
          do: "table",
          id,
          ...(resultLink.value && { link: resultLink.value }),
          point: resultPoint.value,
          scope,
          metrics: wanted,
          ...(base !== null && { baseline: base }),
        },
  );
  const table = answer.ok;
  const seeds = seedCount.value;
  return (
    <>
      <div class="choices">
        <Button onClick={() => setChoosing(true)}>Choose metrics</Button>
        <label>
          Compare with{" "}
          <select value={base ?? ""} onChange={(e) => choose({ baseline: e.currentTarget.value })}>
            <option value="">none</option>
            {all.map((l) => (
              <option key={l}>{l}</option>
            ))}
          </select>
        </label>
        <LinkChoice of={resultLinks.value} chosen={resultLink.value} />
        <span>
          {seeds === 1 ? "One seed, so no intervals." : seeds > 1 ? `${seeds} seeds.` : ""}{" "}
          <Button
            onClick={() => change({ seeds: seeds >= 5 ? 2 * seeds : 5 })}
            disabled={!isDone.value || seeds === 0 || opened.value !== null}
          >
            {seeds >= 5 ? `Run ${2 * seeds} seeds` : "Run 5 seeds"}
          </Button>
          {doc.value.seeds > 0 && (
            <Button plain onClick={() => change({ seeds: 0 })}>
              Those of the scenario
            </Button>
          )}
        </span>
        {table && (
          <span class="save">
            <Save
              name="table"
              title="table of metrics"
              of={[
                { kind: "csv", text: () => table.csv },
                { kind: "tex", text: () => table.latex },
                { kind: "md", text: () => table.markdown },
              ]}
            />
          </span>
        )}
      </div>
      {answer.fault && <p class="note">{answer.fault}</p>}
      {!table && !answer.fault && <p class="note">Not run yet. The table is there when the first runs are done.</p>}
      {table && (
        <div
          class={isStale.value || resultsWait.value || answer.waits ? "scroll dim" : "scroll"}
          tabIndex={0}
          role="region"
          aria-label="Metrics"
        >
          <table>
            <thead>
              <tr>
                <th scope="col">algorithm</th>
                {table.columns.map((c) => (
                  <th scope="col" key={c.metric} title={about.value?.metrics.find((m) => m.name === c.metric)?.doc}>
                    {c.title}
                    <span class="unit">{c.unit || "\u00a0"}</span>
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {table.rows.map((row) => (
                <tr key={row.algorithm}>
                  <th scope="row">
                    <Key style={styles.value.get(row.algorithm)} /> {row.algorithm}
                  </th>
                  {row.cells.map((cell, i) => (
                    <td key={table.columns[i]?.metric} class={cell?.best ? "best" : undefined}>
                      {cell ? (
                        <>
                          {cell.text}
                          {cell.interval && <span class="half"> {cell.interval}</span>}
                          {cell.difference && (
                            <span class={cell.difference.significant ? "difference sure" : "difference"}>
                              {cell.difference.text}
                              {cell.difference.significant && <span class="hidden"> (beyond chance)</span>}
                            </span>
                          )}
                          {cell.best && <span class="hidden"> (best)</span>}
                        </>
                      ) : (
                        <>
                          –<span class="hidden"> does not apply</span>
                        </>
                      )}
                      {printed.value
                        .filter((p) => p.algorithm === row.algorithm && p.metric === table.columns[i]?.metric)
                        .map((p) => (
                          <span class="unit" key={p.where} title={p.where}>
                            printed {p.text}
                          </span>
                        ))}
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {table?.rows.some((row) => row.cells.some((cell) => cell?.best)) && (
        <p class="note">
          A value is marked <span class="best">like this</span> if it is better than every other algorithm's by more
          than chance explains.
        </p>
      )}
      {table?.notes.map((note) => (
        <p class="note" key={note}>
          {note}
        </p>
      ))}
      <Digests />
      <ReportButton />
      <Choose open={choosing} onClose={() => setChoosing(false)} chosen={wanted} />
    </>
  );
}

/** What tells that the command finds the same: equal digests are equal sample paths. */
function Digests() {
  const all = runs.value.each.flatMap((r) => r.finished);
  if (all.length === 0) return null;
  return (
    <details>
      <summary>Digests</summary>
      <p class="note">
        Runs with equal digests are the same, packet by packet. <code>quell run</code> finds these on any machine.
      </p>
      <div class="scroll numbers" tabIndex={0} role="region" aria-label="Digests">
        <table>
          <thead>
            <tr>
              <th scope="col">algorithm</th>
              <th scope="col">seed</th>
              <th scope="col">digest</th>
              <th scope="col">packets</th>
            </tr>
          </thead>
          <tbody>
            {all.map((r) => (
              <tr key={`${r.algorithm} ${r.seed}`}>
                <th scope="row">{r.algorithm}</th>
                <td>{r.seed}</td>
                <td>
                  <code>{r.digest}</code>
                </td>
                <td>{r.packets}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </details>
  );
}

/** The same report that `quell run` writes. A page may not run the scripts of another one, so it is a file. */
function ReportButton() {
  const [wanted, setWanted] = useState<number | null>(null);
  const id = results.value?.id;
  const answer = useAnswer(wanted !== null && wanted === id ? { do: "report", id } : null);
  if (id === undefined) return null;
  const html = wanted === id ? answer.ok?.html : undefined;
  return (
    <p class="choices">
      {html ? (
        <Button
          primary
          onClick={() => download(`${slug(doc.value.name.replace(/\.toml$/, "") || "report")}.html`, html, "text/html")}
        >
          Save the report
        </Button>
      ) : (
        <Button onClick={() => setWanted(id)}>Make the whole report</Button>
      )}
      <span class="note">
        {html ? (
          "It is one file. Save it, and open it in any browser: this page must not run the scripts of another."
        ) : (
          <>
            All figures and tables of these runs as one HTML file, as <code>quell run</code> writes it.
          </>
        )}
      </span>
    </p>
  );
}

function Choose({ open, onClose, chosen }: { open: boolean; onClose: () => void; chosen: readonly string[] }) {
  const [words, setWords] = useState("");
  const all = about.value?.metrics ?? [];
  const found = all.filter((m) => finds(`${m.name} ${m.title} ${m.doc}`, words));
  const order = (names: readonly string[]) => all.map((m) => m.name).filter((name) => names.includes(name));
  return (
    <Dialog title="Metrics of the table" open={open} onClose={onClose} wide>
      <Search label="Find a metric" value={words} onInput={setWords} />
      <div class="metric-list">
        {found.map((m) => (
          <label key={m.name} title={m.doc}>
            <input
              type="checkbox"
              checked={chosen.includes(m.name)}
              onChange={(e) =>
                choose({
                  metrics: e.currentTarget.checked
                    ? order([...chosen, m.name])
                    : chosen.filter((name) => name !== m.name),
                })
              }
            />
            <span>
              {m.title} <code>{m.name}</code>
            </span>
          </label>
        ))}
      </div>
      {found.length === 0 && <p class="note">No metric has these words.</p>}
      <p>
        <Button onClick={() => choose({ metrics: [] })}>The usual ones</Button>
      </p>
    </Dialog>
  );
}
