// A map of the theory's verdict over two quantities: a coarse one at once, a fine one after it. It is computed by a worker
// of its own, which a newer question ends.

import { useEffect, useState } from "preact/hooks";
import { Client } from "../engine/client.ts";
import type { Map as Found, MapAxis, MapShown, Theory } from "../protocol.ts";
import { about } from "../state/about.ts";
import { checked, doc, lastChecked, point, source } from "../state/document.ts";
import { duration } from "../state/runner.ts";
import { Button } from "../ui/index.tsx";
import { around, inScenario, meanPacket, parametersOf } from "./center.ts";
import { Picture } from "./diagrams.tsx";
import { Figure, format } from "./figure.tsx";
import { rows } from "./svg.ts";

const SHOWN: readonly (readonly [MapShown, string])[] = [
  ["growth", "growth rate"],
  ["gain-margin", "gain margin"],
  ["phase-margin", "phase margin"],
  ["delay-margin", "delay margin"],
  ["settling", "settling time"],
  ["queue", "queue at equilibrium"],
  ["probability", "signal probability"],
];
/** Points along each axis: soon, and then more and more. */
const SIZES = [8, 16, 32, 64];
/** A finer map that takes longer than this waits until somebody wants it. */
const PATIENCE_S = 12;

/** The network around which a map is drawn, and how far. */
const NETWORK = { flows: "", rate: "Mbit/s", rtt: "ms" } as const;
type Quantity = keyof typeof NETWORK;

const mapper = new Client();

export function TheMap({ labels, theory }: { labels: readonly string[]; theory: Theory }) {
  const [wanted, setLabel] = useState("");
  const [axes, setAxes] = useState<readonly [string, string]>(["flows", "rtt"]);
  const [ranges, setRanges] = useState<{ [name: string]: readonly [number, number] }>({});
  const [show, setShow] = useState<MapShown>("growth");
  const [state, set] = useState<State>({ found: null, fault: "", waits: false, key: "", next_s: 0 });
  const [patient, setPatient] = useState("");
  const label = labels.includes(wanted) ? wanted : (labels[0] ?? "");
  const algorithm = checked.value?.algorithms.find((a) => a.label === label)?.algorithm;
  const defaults = lastChecked.value?.defaults;
  const parameters = parametersOf(
    about.value?.algorithms.find((a) => a.name === algorithm)?.params ?? [],
    inScenario(defaults, label),
  );
  const packet = meanPacket(defaults);
  const network: Record<Quantity, number> = {
    flows: theory.flows,
    rate: (theory.capacity_pps * packet * 8) / 1e6,
    rtt: theory.rtt_s * 1e3,
  };
  const axis = (name: string): MapAxis => {
    const parameter = parameters.find((p) => p.name === name);
    const base = parameter
      ? around(name, parameter.unit, parameter.value)
      : around(name, NETWORK[name as Quantity] ?? "", network[name as Quantity] ?? 1);
    const range = ranges[name];
    return range ? { ...base, from: range[0], to: range[1] } : base;
  };
  const names = [...Object.keys(NETWORK), ...parameters.map((p) => p.name)];
  const [xName, yName] = axes.map((name) => (names.includes(name) ? name : "flows"));
  const request = {
    do: "map" as const,
    source: { ...source(doc.value), aqm: [label] },
    point: point.value,
    link: theory.link,
    algorithm: label,
    x: axis(xName as string),
    y: axis(yName as string),
    show,
  };
  const key = JSON.stringify(request);
  const same = xName === yName;

  useEffect(() => {
    if (!label || same) return;
    let here = true;
    mapper.kill();
    const had = state.key === key ? (state.found?.x.length ?? 0) : 0;
    set((old) => ({ ...old, fault: "", waits: true }));
    const ask = async () => {
      const sizes = SIZES.filter((size) => size > had);
      for (const [i, points] of sizes.entries()) {
        const began = performance.now();
        const found = await mapper.ask({ ...request, points });
        if (!here) return;
        const next = sizes[i + 1];
        const next_s = next ? ((performance.now() - began) / 1000) * (next / points) ** 2 : 0;
        const stops = !next || (next_s > PATIENCE_S && patient !== key);
        set({ found, fault: "", waits: !stops, key, next_s });
        if (stops) return;
      }
    };
    ask().catch((error) => here && set({ found: null, fault: error.message, waits: false, key, next_s: 0 }));
    return () => {
      here = false;
    };
  }, [key, patient === key]);
  useEffect(() => () => mapper.kill(), []);

  if (labels.length === 0) return null;
  const { found } = state;
  const title = `Map of ${label}: ${SHOWN.find(([id]) => id === show)?.[1]}`;
  const csv = () =>
    found
      ? rows([
          [xName as string, yName as string, found.shown],
          ...found.values.map((v, i) => [
            found.x[i % found.x.length] ?? Number.NaN,
            found.y[Math.floor(i / found.x.length)] ?? Number.NaN,
            v ?? Number.NaN,
          ]),
        ])
      : null;
  return (
    <section class="the-map">
      <div class="choices">
        <Choice name="Map of" value={label} all={labels} onChoose={setLabel} />
        <label>
          Show{" "}
          <select value={show} onChange={(e) => setShow(e.currentTarget.value as MapShown)}>
            {SHOWN.map(([id, words]) => (
              <option key={id} value={id}>
                {words}
              </option>
            ))}
          </select>
        </label>
      </div>
      <div class="choices">
        <Choice name="From left to right" value={xName as string} all={names} onChoose={(x) => setAxes([x, axes[1]])} />
        <Range axis={axis(xName as string)} onChange={(r) => setRanges({ ...ranges, [xName as string]: r })} />
      </div>
      <div class="choices">
        <Choice name="From bottom to top" value={yName as string} all={names} onChoose={(y) => setAxes([axes[0], y])} />
        <Range axis={axis(yName as string)} onChange={(r) => setRanges({ ...ranges, [yName as string]: r })} />
        {Object.keys(ranges).length > 0 && (
          <Button plain onClick={() => setRanges({})}>
            Ranges around this network
          </Button>
        )}
      </div>
      {same && <p class="note">The axes must be of two quantities.</p>}
      {state.fault && <p class="notice">{state.fault}</p>}
      {!found && state.waits && <p class="note">Computing the map…</p>}
      {found && (
        <Figure
          title={title}
          name="map"
          dim={state.key !== key}
          kept={[
            { kind: "svg", text: () => found.svg },
            { kind: "csv", text: csv },
          ]}
        >
          <Picture
            svg={found.svg}
            alt={`${title} over ${xName} and ${yName}.${found.stable === null ? "" : ` ${format(found.stable * 100)} % of it is stable.`}`}
          />
          <p class="note">
            {state.waits && `It becomes finer${state.next_s >= 2 ? `, in ${duration(state.next_s)}` : ""}. `}
            Here: {format(network.flows)} flows, {format(network.rate)} Mbit/s (in packets of {format(packet)} bytes),{" "}
            {format(network.rtt)} ms.
            {found.missing.length > 0 &&
              ` Without a value: ${found.missing.map(([reason, n]) => `${reason} (${n} ${n === 1 ? "point" : "points"})`).join("; ")}.`}
          </p>
          {!state.waits && state.next_s > 0 && state.key === key && (
            <Button onClick={() => setPatient(key)}>Make it finer (about {duration(state.next_s)})</Button>
          )}
        </Figure>
      )}
    </section>
  );
}

/** What there is of the map. */
interface State {
  readonly found: Found | null;
  readonly fault: string;
  readonly waits: boolean;
  /** The question that it answers. */
  readonly key: string;
  /** The time that a finer one takes; 0: there is none. */
  readonly next_s: number;
}

function Choice(p: { name: string; value: string; all: readonly string[]; onChoose: (name: string) => void }) {
  return (
    <label>
      {p.name}{" "}
      <select value={p.value} onChange={(e) => p.onChoose(e.currentTarget.value)}>
        {p.all.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}

function Range({ axis, onChange }: { axis: MapAxis; onChange: (range: readonly [number, number]) => void }) {
  const field = (which: "from" | "to") => (
    <label>
      {which}{" "}
      <input
        type="text"
        inputmode="decimal"
        size={7}
        value={axis[which]}
        onChange={(e) => {
          const value = Number(e.currentTarget.value);
          const next = { from: axis.from, to: axis.to, [which]: value };
          if (value > 0 && next.from < next.to) onChange([next.from, next.to]);
          else e.currentTarget.value = String(axis[which]);
        }}
      />
    </label>
  );
  return (
    <>
      {field("from")} {field("to")} {axis.unit ?? ""}
    </>
  );
}
