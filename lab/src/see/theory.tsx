// The theory beside the packets: its verdict on each algorithm, the equilibrium against what was measured, Bode and
// Nyquist diagrams, a map of stability, and what the models leave out.

import { useState } from "preact/hooks";
import type { Assessment, Replication, Theory } from "../protocol.ts";
import { doc, fault, point, source } from "../state/document.ts";
import { current, here, isDone, opened, results, runs } from "../state/run.ts";
import { Key } from "../ui/key.tsx";
import { useAnswer } from "./ask.ts";
import { Picture } from "./diagrams.tsx";
import { Figure, format } from "./figure.tsx";
import { styles } from "./looks.ts";
import { TheMap } from "./map.tsx";
import { type Measured, measuredOf } from "./measured.ts";
import { motionOf } from "./motion.ts";
import { packetsOf } from "./thin.ts";
import { LinkChoice, link, links } from "./time.tsx";

type Figures = NonNullable<Assessment["equilibrium"]>;
type MarginFigures = NonNullable<Assessment["margins"]>;

const WORDS: Record<string, string> = {
  stable: "stable",
  unstable: "unstable",
  "no-equilibrium": "no equilibrium",
  "no-model": "no model",
};

export function TheoryTab() {
  const [at, setAt] = useState("");
  const time = at.trim() === "" ? null : Number(at);
  const [fluid, setFluid] = useState(false);
  const wrong = time !== null && !(Number.isFinite(time) && time >= 0 && time <= (here.value?.duration_s ?? 0));
  const labels = runs.value.each.map((r) => r.label);
  const answer = useAnswer(
    here.value && labels.length && !wrong && fault.value === null
      ? {
          do: "theory",
          source: { ...source(doc.value), aqm: labels },
          point: point.value,
          ...(link.value && { link: link.value }),
          ...(time !== null && { at_s: time }),
          ...(fluid && { fluid }),
          ...(results.value && !opened.value && isDone.value && current.value && { id: results.value.id }),
        }
      : null,
  );
  const theory = answer.ok;
  return (
    <>
      <div class="choices">
        <LinkChoice of={links.value} chosen={link.value} />
        <label>
          At the time (s){" "}
          <input
            type="text"
            inputmode="decimal"
            size={6}
            value={at}
            placeholder={theory ? format(theory.at_s) : ""}
            aria-invalid={wrong}
            onChange={(e) => setAt(e.currentTarget.value)}
          />
        </label>
        <label class="chip">
          <input type="checkbox" checked={fluid} onChange={(e) => setFluid(e.currentTarget.checked)} />
          Follow the nonlinear fluid
        </label>
        {wrong && <span class="note">A time within the run, or nothing for the busiest.</span>}
        {answer.waits && <span class="note">Computing…</span>}
      </div>
      {answer.fault && <p class="notice">{answer.fault}</p>}
      {theory && (
        <>
          <div class="verdicts">
            {sorted(theory).map(([a, reach]) => {
              const run = runs.value.each.find((r) => r.label === a.label);
              const measured = current.value && run && !run.stale ? run.finished : [];
              return (
                <section class="verdict" key={a.label}>
                  <h2>
                    <Key style={styles.value.get(a.label)} />
                    {a.label}
                    <span class={`word ${a.verdict}`}>{WORDS[a.verdict] ?? a.verdict}</span>
                  </h2>
                  {a.reasons.map((reason) => (
                    <p class="note" key={reason}>
                      {reason}
                    </p>
                  ))}
                  {a.equilibrium && <Beside theory={a.equilibrium} runs={measured} link={theory.link} />}
                  {a.packets && (
                    <p class="note">
                      {motionOf("The simulated queue", a.packets)}{" "}
                      {a.packets.agrees === null
                        ? ""
                        : a.packets.agrees
                          ? "The theory predicted this."
                          : "The theory did not predict this."}
                    </p>
                  )}
                  {a.fluid && (
                    <p class="note">{motionOf("The queue of the nonlinear fluid, from an empty start,", a.fluid)}</p>
                  )}
                  {a.margins && <Margins of={a.margins} />}
                  {reach.length > 0 && (
                    <details>
                      <summary>How far the network may move</summary>
                      {reach.map((words) => (
                        <p class="note" key={words}>
                          {words}
                        </p>
                      ))}
                    </details>
                  )}
                  {a.criteria.length > 0 && (
                    <details>
                      <summary>Published conditions</summary>
                      {a.criteria.map((c) => (
                        <p class="note" key={c.statement}>
                          {c.holds ? "✓" : "✗"} {c.statement}:{" "}
                          {c.holds
                            ? "met"
                            : c.necessary
                              ? "not met"
                              : "not met; that alone does not make the loop unstable"}
                          ; {c.reason}
                        </p>
                      ))}
                    </details>
                  )}
                </section>
              );
            })}
          </div>
          <p class="note">
            Of {theory.link}, {format(theory.at_s)} s: {format(theory.flows)} long-lived flows of {theory.congestion},{" "}
            {format(theory.capacity_pps)} packets/s, {format(theory.rtt_s * 1e3)} ms without queueing, a buffer of{" "}
            {format(theory.buffer_packets)} {packetsOf(format(theory.buffer_packets))}; signals are{" "}
            {theory.marks ? "marks" : "drops"}.
          </p>
          {theory.bode_svg && (
            <Figure title="Bode diagram of the loops" name="bode" kept={[{ kind: "svg", text: () => theory.bode_svg }]}>
              <Picture svg={theory.bode_svg} alt={`Bode diagram: ${marginsInWords(theory.assessments)}`} />
            </Figure>
          )}
          {theory.nyquist_svg && (
            <Figure
              title="Nyquist diagram of the loops"
              name="nyquist"
              kept={[{ kind: "svg", text: () => theory.nyquist_svg }]}
            >
              <Picture svg={theory.nyquist_svg} alt={`Nyquist diagram: ${marginsInWords(theory.assessments)}`} />
            </Figure>
          )}
          <TheMap labels={theory.assessments.filter((a) => a.equilibrium).map((a) => a.label)} theory={theory} />
          <section>
            <h2>What the models leave out</h2>
            {theory.left_out.length === 0 ? (
              <p class="note">Nothing of this scenario, but that packets are a fluid, and chance a mean.</p>
            ) : (
              <ul class="note">
                {theory.left_out.map((what) => (
                  <li key={what}>{what}</li>
                ))}
              </ul>
            )}
          </section>
        </>
      )}
    </>
  );
}

/** Those with a model first; each with how far the network may move. */
function sorted(theory: Theory): (readonly [Assessment, readonly string[]])[] {
  const all = theory.assessments.map((a, i) => [a, theory.reach[i] ?? []] as const);
  return [...all.filter(([a]) => a.equilibrium), ...all.filter(([a]) => !a.equilibrium)];
}

function marginsInWords(all: readonly { label: string; verdict: string; margins: MarginFigures | null }[]): string {
  return all
    .filter((a) => a.margins)
    .map(
      (a) =>
        `${a.label} ${WORDS[a.verdict]}${a.margins?.phase_deg != null ? `, phase margin ${format(a.margins.phase_deg)}°` : ""}`,
    )
    .join("; ");
}

function Margins({ of }: { of: MarginFigures }) {
  const unstable = of.unstable_roots > 0;
  const rows: [string, string][] = [
    unstable
      ? ["gain must fall to", of.gain === null ? "no factor" : `${format(of.gain)} ×`]
      : ["gain may rise by", of.gain === null ? "any factor" : `${format(of.gain)} ×`],
    ["phase margin", of.phase_deg === null ? "–" : `${format(of.phase_deg)}°`],
    ["further delay", unstable ? "–" : of.delay_s === null ? "any" : `${format(of.delay_s * 1e3)} ms`],
    ["slowest mode: period", of.period_s === null ? "does not swing" : `${format(of.period_s)} s`],
    ["damping ratio", format(of.damping)],
    ["falls to 2% in", of.settling_s === null ? "never" : `${format(of.settling_s)} s`],
  ];
  return (
    <table>
      <caption class="hidden">Margins</caption>
      <tbody>
        {rows.map(([name, value]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td>{value}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Beside({ theory, runs, link: at }: { theory: Figures; runs: readonly Replication[]; link: string }) {
  const found = runs.length ? measuredOf(runs, at) : null;
  const rows: [keyof Measured, string, number][] = [
    ["queue_packets", "queue (packets)", 1],
    ["queue_delay_s", "queueing delay (ms)", 1e3],
    ["probability", "probability of a signal", 1],
    ["window_packets", "window of a flow (packets)", 1],
    ["rtt_s", "round trip (ms)", 1e3],
  ];
  const cell = (v: number | null | undefined, factor: number) => (v == null ? "–" : format(v * factor));
  return (
    <table>
      <caption class="hidden">Equilibrium beside the packets</caption>
      <thead>
        <tr>
          <th scope="col">
            <span class="hidden">quantity</span>
          </th>
          <th scope="col">theory</th>
          <th scope="col">packets</th>
        </tr>
      </thead>
      <tbody>
        {rows.map(([key, name, factor]) => (
          <tr key={key}>
            <th scope="row">{name}</th>
            <td>{cell(theory[key], factor)}</td>
            <td>{cell(found?.[key], factor)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
