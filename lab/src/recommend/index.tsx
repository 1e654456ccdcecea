// Which queue to give a link: a form, a simulation of the candidates, their figures, and what to type.

import { useEffect } from "preact/hooks";
import { shell } from "../keep/command.ts";
import { Copied } from "../keep/index.tsx";
import type { RecommendedAnswer, RecommendedRow, RecommendReport } from "../protocol.ts";
import { about, learnAbout } from "../state/about.ts";
import { doc, FIRST, open } from "../state/document.ts";
import { show } from "../state/layout.ts";
import { FaultWords } from "../ui/fault.tsx";
import { Button, Icon, names } from "../ui/index.tsx";
import { type Asked, said } from "./drive.ts";
import { asked, check, set, simulate, simulation, stop, wrong } from "./state.ts";

/** What is typed is checked after a pause of this. */
const PAUSE_MS = 150;

export function RecommendPanel() {
  useEffect(() => {
    learnAbout();
  }, []);
  const now = asked.value;
  useEffect(() => {
    const timer = setTimeout(() => check(now), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [now]);
  const last = simulation.value;
  return (
    <div class="recommend">
      <h2>A queue for your link</h2>
      <p class="soft">
        Say what your link is. The page simulates what you have today and up to three queues that your router can have,
        and tells you what to type. Nothing is changed on your router.
      </p>
      <Form />
      <Progress />
      {last?.answer && <Answer of={last.answer} asked={last.of} />}
    </div>
  );
}

function Form() {
  const runs = simulation.value?.runs ?? false;
  const fault = wrong.value;
  const { technologies = [], routers = [], loads = [] } = about.value ?? {};
  return (
    <form
      class="recommend-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (!wrong.peek()) simulate();
      }}
    >
      <Field of="down" title="Rate down" hint="5..60 Mbit/s if it varies" />
      <Field of="up" title="Rate up" />
      <Field of="rtt" title="Round trips" hint="without queueing" />
      <div class="field set">
        <label class="field-head" for="recommend-link">
          <span class="field-name">Kind of link</span>
        </label>
        <select id="recommend-link" value={asked.value.link} onChange={(e) => set("link", e.currentTarget.value)}>
          {technologies.map(({ name, doc }) => (
            <option key={name} value={name}>
              {doc}
            </option>
          ))}
        </select>
        <FieldFault of="link" />
      </div>
      <Field of="can" title="Router" hint="or its algorithms, such as cake,fq_codel" list="recommend-routers" />
      <datalist id="recommend-routers">
        {routers.map(({ name, doc }) => (
          <option key={name} value={name}>
            {doc}
          </option>
        ))}
      </datalist>
      <Field of="goal" title="Goal" hint="usual for such a link if empty" placeholder="call P99 < 20 ms" />
      <Field of="hosts" title="Hosts" />
      <Field of="load" title="Load" hint="what each host does; usual for such a link if empty" list="recommend-loads" />
      <datalist id="recommend-loads">
        <option value="home">a household, half of whose downloads have BBR</option>
        {loads.map(({ name, title }) => (
          <option key={name} value={name}>
            {title}
          </option>
        ))}
      </datalist>
      <Field
        of="cpu_limit"
        title="CPU limit"
        hint="the most that the router shapes, both directions together; none if empty"
        placeholder="150 Mbit/s"
      />
      {fault && fault.field === null && (
        <div class="wrong-words small" role="alert">
          <FaultWords of={fault} />
        </div>
      )}
      <div class="row">
        <button type="submit" class="button primary" aria-disabled={runs || fault !== null || undefined}>
          <Icon name="play" /> Simulate
        </button>
        {runs && (
          <Button onClick={stop}>
            <Icon name="stop" /> Stop
          </Button>
        )}
      </div>
    </form>
  );
}

interface FieldProps {
  of: keyof Asked;
  title: string;
  hint?: string;
  placeholder?: string;
  list?: string;
}

function Field({ of, title, hint, placeholder, list }: FieldProps) {
  const id = `recommend-${of}`;
  const isWrong = wrong.value?.field === of;
  const about = [hint && `${id}-hint`, isWrong && `${id}-wrong`].filter(Boolean).join(" ");
  return (
    <div class="field set">
      <label class="field-head" for={id}>
        <span class="field-name">{title}</span>
      </label>
      <input
        id={id}
        value={asked.value[of]}
        placeholder={placeholder}
        list={list}
        autocomplete="off"
        spellcheck={false}
        aria-invalid={isWrong || undefined}
        aria-describedby={about || undefined}
        onInput={(event) => set(of, event.currentTarget.value)}
      />
      {hint && (
        <span class="small soft" id={`${id}-hint`}>
          {hint}
        </span>
      )}
      <FieldFault of={of} />
    </div>
  );
}

/** What is wrong with a field, in the library's words. */
function FieldFault({ of }: { of: keyof Asked }) {
  const fault = wrong.value;
  if (fault?.field !== of) return null;
  return (
    <div class="wrong-words small" id={`recommend-${of}-wrong`} role="alert">
      <FaultWords of={fault} />
    </div>
  );
}

/** How far the simulation is. The element is always there, for what appears in it is read aloud. */
function Progress() {
  const now = simulation.value;
  const words = now?.runs ? `Simulating, round ${Math.max(1, now.round)} of up to 3 …` : now?.answer ? "" : null;
  return (
    <div class="recommend-progress">
      <p class="small soft" role="status">
        {words ?? (now ? "Stopped." : "")}
      </p>
      {now?.runs && (
        <label class="small soft">
          <progress max={Math.max(1, now.asked)} value={now.finished} /> {now.finished} of {now.asked} runs
        </label>
      )}
    </div>
  );
}

function Answer({ of, asked: was }: { of: RecommendedAnswer; asked: Asked }) {
  const { report, rows, reach, reasons } = of;
  const best = rows[0];
  const notes = [...report.notes, ...report.router.notes];
  return (
    <section class="recommend-answer" aria-label="Answer">
      {was !== asked.value && JSON.stringify(was) !== JSON.stringify(asked.value) && (
        <p class="notice">This answer is for the values before you changed them. Simulate again.</p>
      )}
      <h3>{sentence(report.answer.verdict)}</h3>
      <p class="small soft">
        Goal: {report.goal}, under the load {report.load}
        {report.hosts > 1 && ` of each of ${report.hosts} hosts`}. {sentence(report.runs)} Means with 95% intervals.
      </p>
      <Rows label="The candidates beside what you have today" columns={report.columns} rows={rows} />
      <ul class="recommend-why">
        {report.answer.rows.map(({ name, why }, i) => {
          const row = rows[i];
          return (
            <li key={name}>
              <strong>{name}</strong>: {sentence(why)}{" "}
              {row && row !== best && (
                <Button plain class="small" label={`Open ${name} as a scenario`} onClick={() => openRow(row)}>
                  Open
                </Button>
              )}
            </li>
          );
        })}
      </ul>
      {best && (
        <div class="row">
          <Button onClick={() => openRow(best)}>
            <Icon name="open" /> Open as a scenario
          </Button>
        </div>
      )}
      <h3>What to type</h3>
      {report.router.parts.map(({ place, text }) => (
        <div key={place}>
          <p class="small">{place}:</p>
          <Copied text={text} label={place} />
        </div>
      ))}
      <Notes of={notes} />
      <details>
        <summary>Rates and parameters</summary>
        <p>Down: {report.link.down.words}</p>
        <p>Up: {report.link.up.words}</p>
        <Notes of={reasons} />
      </details>
      <details>
        <summary>How far it carries</summary>
        <p>{sentence(report.carries)}</p>
        <Rows label={`How far ${best?.name ?? "it"} carries`} columns={report.columns} rows={reach} />
      </details>
      <details>
        <summary>The same by the command</summary>
        <Copied text={command(was)} label="Command" />
      </details>
    </section>
  );
}

function Notes({ of }: { of: readonly string[] }) {
  if (of.length === 0) return null;
  return (
    <ul class="small">
      {of.map((note) => (
        <li key={note}>{sentence(note)}</li>
      ))}
    </ul>
  );
}

interface RowsProps {
  label: string;
  columns: RecommendReport["columns"];
  rows: readonly RecommendedRow[];
}

function Rows({ label, columns, rows }: RowsProps) {
  return (
    <section class="scroll recommend-rows" tabIndex={0} aria-label={label}>
      <table>
        <thead>
          <tr>
            <td />
            <th scope="col">goal</th>
            {columns.map(({ title }) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(({ name, goal, cells }) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td class={names(goal === "yes" ? "good" : goal !== "unsure" && "bad")}>{goal}</td>
              {cells.map((cell, i) => (
                <td key={columns[i]?.title}>{cell ?? "–"}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

/** Puts a row's scenario into the editor. */
function openRow({ name, text }: RecommendedRow): void {
  open({ ...FIRST, name: `${name}.toml`, text, view: doc.peek().view });
  show("toml");
}

/** A sentence of the library, which begins and ends like one of a table. */
const sentence = (text: string): string =>
  `${text.slice(0, 1).toUpperCase()}${text.slice(1)}${/[.!?]$/.test(text) ? "" : "."}`;

/** The command that gives the same answer. */
function command(of: Asked): string {
  const options = Object.entries(said(of)).map(([name, value]) => [`--${name.replace("_", "-")}`, value]);
  return ["quell", "recommend", ...options.flat()].map(shell).join(" ");
}
