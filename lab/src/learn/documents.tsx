// Experiments of documents: the list, and the one that is open with its printed numbers beside what the page found.

import { computed, signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { digits } from "../../experiments/kit.ts";
import { ask } from "../engine/client.ts";
import { printed } from "../see/printed.ts";
import { bundle, loadBundle } from "../set/open/index.tsx";
import { change, checked, doc, FIRST, open, point, SIDE_BY_SIDE, shown } from "../state/document.ts";
import { current, runs } from "../state/run.ts";
import { Button, Icon, names } from "../ui/index.tsx";
import { say } from "../ui/notices.tsx";
import { NAMES } from "./names.ts";
import { foundIn, type Preset, type PrintedNumber, termsOf, textOf, VERDICTS } from "./preset.ts";
import { useFromTop } from "./top.ts";

/** The experiments of documents, or why there are none; `null` before they are loaded. */
export const papers = signal<readonly Preset[] | string | null>(null);

export async function loadPapers(): Promise<void> {
  if (Array.isArray(papers.peek())) return;
  try {
    papers.value = (await import("./papers.json")).default as unknown as readonly Preset[];
  } catch (error) {
    papers.value = `The documents could not be loaded: ${error instanceof Error ? error.message : error}`;
  }
}

/** Names an experiment of a document in the state. */
const PREFIX = "document:";

/** Whether what is open is an experiment of a document. */
export const isOfDocument = computed(() => doc.value.experiment?.startsWith(PREFIX) === true);

/** The document's experiment that is open. */
export function openPreset(): Preset | undefined {
  const id = doc.value.experiment;
  const all = papers.value;
  if (!id?.startsWith(PREFIX) || !Array.isArray(all)) return undefined;
  return (all as readonly Preset[]).find((preset) => PREFIX + preset.id === id);
}

/** The printed numbers that figures and tables of the page show, as they are in the metric's own unit. */
export function followPrinted(): void {
  const preset = openPreset();
  const here = point.value;
  const known = preset?.numbers.filter((number) => number.point === here && number.segment === undefined) ?? [];
  printed.value = known.flatMap((number) => {
    const { factor, terms } = termsOf(number.value);
    const [term] = terms;
    if (terms.length !== 1 || !term || term.scope !== undefined || number.scope !== undefined) return [];
    return [
      {
        algorithm: number.label,
        metric: term.metric,
        value: middle(number) / factor,
        text: `${number.printed} ${number.unit}`,
        where: `table ${number.table}`,
      },
    ];
  });
}

const middle = ({ low, high = low }: PrintedNumber) => (low + high) / 2;

async function begin(preset: Preset): Promise<void> {
  await loadBundle();
  const all = bundle.peek();
  if (all === null || typeof all === "string") throw new Error(all ?? "The scenarios could not be loaded.");
  const file = all.scenarios[preset.scenario];
  if (file === undefined) throw new Error(`There is no scenario ${preset.scenario}.`);
  const text = await textOf(preset, file, {
    tree: (text) => ask({ do: "tree", text }),
    edit: (text, edits) => ask({ do: "edit", text, edits }),
  });
  const at = preset.numbers[0]?.point ?? 0;
  const { value } = await ask({ do: "tree", text });
  const labels = firstShown(preset, at, labelsIn(value));
  const last = doc.peek();
  const curves = ["queue", "delay"];
  open({
    ...FIRST,
    name: preset.scenario.replace(/^.*\//, ""),
    text,
    algorithms: labels,
    point: at,
    view: { ...last.view, see: { ...(last.view.see as object), tab: "time", curves, scope: "all", link: "" } },
    experiment: PREFIX + preset.id,
  });
}

/** The labels of a preset: those with printed numbers at a point; without any, those of the scenario that it runs. */
function labelsOf(preset: Preset, at: number, all: readonly string[]): readonly string[] {
  const printed = new Set(preset.numbers.filter((number) => number.point === at).map(({ label }) => label));
  return printed.size ? [...printed] : all.filter((label) => preset.algorithms?.includes(label) !== false);
}

/** The labels of the algorithms in a document. */
function labelsIn(document: Record<string, unknown>): string[] {
  const aqm = Array.isArray(document.aqm) ? (document.aqm as Record<string, unknown>[]) : [];
  return aqm.map(({ label, algorithm }) => String(label ?? algorithm));
}

/** Those that are shown first: documents compare with what was known, and have their own last. */
function firstShown(preset: Preset, at: number, all: readonly string[]): string[] {
  const labels = labelsOf(preset, at, all);
  return labels.length > SIDE_BY_SIDE ? [...labels.slice(0, SIDE_BY_SIDE - 1), ...labels.slice(-1)] : [...labels];
}

/** What an experiment is called. */
const nameOf = (preset: Preset): string => NAMES[preset.id] ?? preset.id;

const counted = (claims: number): string => `${claims} ${claims === 1 ? "claim" : "claims"}`;

const told = (error: unknown) => say(error instanceof Error ? error.message : String(error), { wrong: true });

export function Documents() {
  useEffect(() => {
    loadPapers();
    loadBundle();
  }, []);
  const all = papers.value;
  if (all === null) return <p class="soft">Loading the documents …</p>;
  if (typeof all === "string") return <p class="notice wrong">{all}</p>;
  const preset = openPreset();
  if (preset) return <OpenPreset of={preset} />;
  const references = [...new Set(all.map(({ reference }) => reference))];
  return (
    <>
      <h2>Published experiments</h2>
      <p class="soft">
        Experiments from five publications. Each shows the printed numbers next to those of your run, and whether Quell
        reproduced them.
      </p>
      {references.map((reference) => {
        const of = all.filter((one) => one.reference === reference);
        return (
          <details key={reference} class="learn-more">
            <summary>
              {reference} <span class="small soft">{of[0]?.document}</span>
            </summary>
            <ul class="presets">
              {of.map((one) => (
                <li key={one.id}>
                  <Button onClick={() => begin(one).catch(told)}>
                    <span>{nameOf(one)}</span>
                    <span class="small soft">
                      Section {one.section},{" "}
                      {one.numbers.length > 0 ? `${one.numbers.length} printed numbers` : counted(one.claims.length)}
                    </span>
                  </Button>
                </li>
              ))}
            </ul>
          </details>
        );
      })}
      <L4s />
    </>
  );
}

/** What the scenarios of L4S are about, by their files. */
const L4S: readonly (readonly [string, string, readonly string[]])[] = [
  ["l4s/grid.toml", "The grid of the PI2 paper: Prague and DCTCP next to CUBIC and Reno", []],
  ["l4s/round_trips.toml", "Different round-trip times", []],
  ["l4s/bursty.toml", "Links that send in bursts", []],
  ["l4s/classic_queue.toml", "A Classic queue in the way of Prague", []],
];

function L4s() {
  const all = bundle.value;
  if (all === null || typeof all === "string") return null;
  return (
    <details class="learn-more">
      <summary>
        L4S <span class="small soft">RFC 9330, 9331 and 9332, measured in docs/l4s.md</span>
      </summary>
      <ul class="presets">
        {L4S.filter(([name]) => all.scenarios[name] !== undefined).map(([name, title]) => (
          <li key={name}>
            <Button
              onClick={() => {
                const text = all.scenarios[name] ?? "";
                const see = { tab: "time", curves: ["delay", "throughput", "marks"] };
                open({ ...FIRST, name: name.replace(/^.*\//, ""), text, view: { ...doc.peek().view, see } });
              }}
            >
              <span>{title}</span>
              <span class="small soft">{name}</span>
            </Button>
          </li>
        ))}
      </ul>
    </details>
  );
}

function OpenPreset({ of }: { of: Preset }) {
  const top = useFromTop(of.id);
  const here = point.value;
  const points = [...new Set(of.numbers.map((number) => number.point))];
  const all = checked.value?.algorithms.map(({ label }) => label) ?? [];
  const labels = labelsOf(of, here, all);
  const now = shown.value;
  const toggle = (label: string) => {
    const next = now.includes(label) ? now.filter((one) => one !== label) : [...now, label].slice(-SIDE_BY_SIDE);
    if (next.length) change({ algorithms: next });
  };
  return (
    <article class="course" ref={top}>
      <Button
        plain
        class="back"
        onClick={() => {
          const { experiment: _, ...rest } = doc.peek();
          open(rest);
        }}
      >
        <Icon name="undo" /> All experiments
      </Button>
      <h2>{nameOf(of)}</h2>
      <p class="small soft">
        {of.reference}, section {of.section}. <cite>{of.document}</cite>
      </p>
      <p class="prose">{of.describes}</p>
      {of.reading && <p class="small">What the document does not say, and what is assumed here: {of.reading}.</p>}
      {points.length > 1 && (
        <label class="mover">
          <span>Case</span>
          <select
            value={String(here)}
            onChange={(event) => {
              const at = Number(event.currentTarget.value);
              change({ point: at, algorithms: firstShown(of, at, all) });
            }}
          >
            {points.map((at) => (
              <option key={at} value={String(at)}>
                {of.numbers.find((number) => number.point === at)?.case || `point ${at + 1}`}
              </option>
            ))}
          </select>
        </label>
      )}
      {labels.length > 1 && (
        <fieldset class="labels">
          <legend class="small soft">Algorithms to show (at most {SIDE_BY_SIDE})</legend>
          {labels.map((label) => (
            <Button key={label} class="tight" pressed={now.includes(label)} onClick={() => toggle(label)}>
              {label}
            </Button>
          ))}
        </fieldset>
      )}
      {of.numbers.length > 0 && <Numbers of={of} here={here} labels={now} />}
      {of.claims.length > 0 && (
        <section>
          <h3>What it claims</h3>
          <ul class="claims">
            {of.claims.map(({ says, place, verdict }) => (
              <li key={says}>
                {says} <span class="small soft">{place}</span>{" "}
                <span class={names("small", verdict === "holds" ? "good" : "other")}>
                  On record: {VERDICTS[verdict] ?? verdict}.
                </span>
              </li>
            ))}
          </ul>
        </section>
      )}
      <p class="small soft">
        The verdicts on record are from <code>quell reproduce</code> with up to ten seeds. This page runs fewer.
      </p>
      <Legend of={of} />
    </article>
  );
}

function Numbers({ of, here, labels }: { of: Preset; here: number; labels: readonly string[] }) {
  const rows = of.numbers.filter((number) => number.point === here && labels.includes(number.label));
  const groups = new Map<string, PrintedNumber[]>();
  for (const row of rows) {
    const name = [row.label, row.case].filter(Boolean).join(", ");
    groups.set(name, [...(groups.get(name) ?? []), row]);
  }
  const tables = [...new Set(rows.map(({ table }) => table))].join(", ");
  return (
    <div class="table-frame" role="region" aria-label="Printed numbers" tabIndex={0}>
      <table class="printed">
        <caption>Printed numbers next to your run (table {tables})</caption>
        <thead>
          <tr>
            <th scope="col">Number</th>
            <th scope="col" class="number">
              Printed
            </th>
            <th scope="col" class="number">
              Your run
            </th>
            <th scope="col">On record</th>
          </tr>
        </thead>
        {[...groups].map(([name, own]) => (
          <tbody key={name}>
            <tr>
              <th scope="rowgroup" colSpan={4} class="group">
                {name}
              </th>
            </tr>
            {own.map((number) => (
              <Row key={`${number.name} ${number.segment} ${number.scope} ${number.link}`} of={number} />
            ))}
          </tbody>
        ))}
      </table>
    </div>
  );
}

function Row({ of }: { of: PrintedNumber }) {
  const found = meanOf(of);
  const low = of.low;
  const high = of.high ?? of.low;
  const off = found < low ? found - low : found > high ? found - high : 0;
  const share = off / (Math.abs(middle(of)) || 1);
  return (
    <tr>
      <th scope="row">
        {of.name} {unit(of.unit) && <span class="soft">[{unit(of.unit)}]</span>}
      </th>
      <td class="number">{of.printed}</td>
      <td class="number">
        {Number.isFinite(found) ? digits(found) : "…"}
        {Number.isFinite(found) && <span class="small soft"> ({off === 0 && of.high ? "within" : signed(share)})</span>}
      </td>
      <td class="small">{verdictOf(of)}</td>
    </tr>
  );
}

/** What the words of verdicts mean, of those that are on the page. */
const MEANINGS: { readonly [verdict: string]: string } = {
  agrees: "The mean over Quell's seeds lies in the band around the printed number.",
  inside: "It lies in the 95% prediction interval of what was printed.",
  explained: "Another reading, which nothing excludes, reproduces it, or only one of two readings does.",
  fitted: "Only a reading that was fitted to it reproduces it, which explains nothing.",
  refuted: "It is not reproduced, and the reason is known.",
  open: "It is not reproduced, and the reason is not known.",
  withheld:
    "It is reproduced, but does not count: the reading was chosen to fit it, or a rival reading does not reproduce it.",
};

function Legend({ of }: { of: Preset }) {
  const used = new Set(of.numbers.map(({ verdict, note }) => (note === "withheld" ? note : verdict)));
  const rows = Object.entries(MEANINGS).filter(([verdict]) => used.has(verdict));
  if (rows.length === 0) return null;
  return (
    <details class="learn-more">
      <summary>What the verdicts mean</summary>
      <dl class="small">
        {rows.map(([verdict, meaning]) => (
          <>
            <dt>{verdict === "withheld" ? WITHHELD : VERDICTS[verdict]}</dt>
            <dd>{meaning}</dd>
          </>
        ))}
      </dl>
    </details>
  );
}

const WITHHELD = "reproduced, but not counted";

/** The verdict on record; a number that the reading was chosen by comes out, and proves nothing. */
const verdictOf = ({ verdict, note }: PrintedNumber) =>
  note === "withheld" ? WITHHELD : (VERDICTS[verdict] ?? verdict);

const UNITS: { readonly [unit: string]: string } = { percent: "%", "1": "", seconds: "s" };
const unit = (of: string) => UNITS[of] ?? of;

const signed = (share: number) => `${share > 0 ? "+" : share < 0 ? "−" : ""}${digits(Math.abs(100 * share))}%`;

/** The mean over the seeds that have run of the present document; NaN if none has. */
function meanOf(of: PrintedNumber): number {
  if (!current.value) return Number.NaN;
  const own = runs.value.each.find(({ label }) => label === of.label)?.finished ?? [];
  const values = own.map((run) => foundIn(of, run)).filter(Number.isFinite);
  return values.length ? values.reduce((sum, value) => sum + value, 0) / values.length : Number.NaN;
}
