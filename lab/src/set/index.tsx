// The form: every key of a scenario, the common ones first.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useId } from "preact/hooks";
import { algorithm, learnAbout } from "../state/about.ts";
import { change, lastChecked, SIDE_BY_SIDE, shown, tree, unreadable } from "../state/document.ts";
import { Button, Icon, names, Search } from "../ui/index.tsx";
import { Key } from "../ui/key.tsx";
import { AlgorithmEditor } from "./algorithm.tsx";
import { Banner } from "./banner.tsx";
import { loadSchema, scenario } from "./catalog.ts";
import { FieldRow, Fields, hits, ItemTools, matches, query, Wrong } from "./fields.tsx";
import { FilesSection } from "./files.tsx";
import { Picker, picking } from "./picker.tsx";
import { COMMON, type Field, isTable, means, OF_KIND, type Table, toml, type Value } from "./schema.ts";
import { defaults, faultAt, faultIn, inside, put, rewrite, values } from "./values.ts";

export function FormPanel() {
  useEffect(() => {
    loadSchema();
    learnAbout().catch(() => {});
  }, []);
  const shape = scenario.value;
  if (!shape || !tree.value) return <p class="soft">Loading the settings …</p>;
  const filter = query.value.trim().toLowerCase();
  const has = (keys: readonly string[]) =>
    filter === "" || keys.some((key) => shape.fields.some((field) => field.key === key && hits(field, filter)));
  const nothing = filter !== "" && !shape.fields.some((field) => hits(field, filter)) && !filter.includes("algorithm");
  return (
    <div class="form">
      <Search
        label="Find a setting"
        value={query.value}
        onInput={(text) => {
          query.value = text;
        }}
      />
      <Banner />
      {nothing && <p class="soft">No setting has “{query.value}” in its name or description.</p>}
      <fieldset class="bare" disabled={unreadable.value !== null}>
        {has(["aqm"]) && <Algorithms filter={filter} />}
        {has(["dumbbell", "parking_lot", "graph"]) && <Network shape={shape} filter={filter} />}
        {has(["flows"]) && <Traffic shape={shape} filter={filter} />}
        <FilesSection />
        {SECTIONS.filter(({ keys }) => has(keys)).map(({ title, keys, open }) => (
          <Section key={title} title={title} open={open || filter !== "" || keys.some((key) => faultIn(key))}>
            <Plain shape={shape} keys={keys} filter={filter} />
          </Section>
        ))}
      </fieldset>
      <Picker />
    </div>
  );
}

const SECTIONS = [
  {
    title: "Time and seeds",
    keys: ["duration", "warmup", "seeds", "segments", "steady_state", "series_step"],
    open: true,
  },
  { title: "Sweep and cases", keys: ["sweep", "cases"], open: false },
  { title: "About this scenario", keys: ["title", "description", "dialect", "mean_packet", "schema"], open: false },
];

function Section(p: { title: string; open: boolean; children: ComponentChildren; tools?: ComponentChildren }) {
  const open = useSignal(p.open);
  return (
    <details
      class="section"
      open={open.value || p.open}
      onToggle={(event) => {
        open.value = event.currentTarget.open;
      }}
    >
      <summary>
        <h2>{p.title}</h2>
      </summary>
      <div class="section-in">{p.children}</div>
    </details>
  );
}

/** Keys of the scenario itself. */
function Plain(p: { shape: Table; keys: readonly string[]; filter: string }) {
  const fields = p.keys.flatMap((key) => p.shape.fields.filter((field) => field.key === key));
  return (
    <>
      {fields
        .filter((field) => p.filter === "" || hits(field, p.filter))
        .map((field) => (
          <FieldRow
            key={field.key}
            path={field.key}
            field={field}
            value={values.value[field.key]}
            fallback={inside(defaults.value, field.key)}
            filter={p.filter === "" || matches(field, p.filter) ? "" : p.filter}
          />
        ))}
    </>
  );
}

// Algorithms.

function Algorithms({ filter }: { filter: string }) {
  const written = values.value.aqm;
  const list = Array.isArray(written) ? written : [];
  const of = lastChecked.value?.algorithms ?? [];
  const full = shown.value.length >= SIDE_BY_SIDE;
  const wrong = faultAt("aqm", false);
  return (
    <Section title="Algorithms" open>
      <div data-path="aqm">
        {written === "all" && (
          <p>
            All algorithms of the catalog run with their defaults.{" "}
            <Button onClick={() => put("aqm", '[{ algorithm = "drop-tail" }, { algorithm = "codel" }]')}>
              Choose instead
            </Button>
          </p>
        )}
        {wrong && <Wrong of={wrong} />}
        <ul class="algorithms">
          {(written === "all" ? [] : list).map((value, i) => (
            <Algorithm key={i} at={i} list={list} value={value} filter={filter} full={full} />
          ))}
        </ul>
        {of.length > shown.value.length && (
          <p class="small soft">
            {shown.value.length} of {of.length} are shown side by side;{" "}
            {full ? "four is the most." : "choose up to four."}
          </p>
        )}
        <Button
          onClick={() => {
            picking.value = true;
          }}
        >
          <Icon name="plus" /> Add an algorithm
        </Button>
      </div>
    </Section>
  );
}

function Algorithm(p: { at: number; list: readonly Value[]; value: Value; filter: string; full: boolean }) {
  const open = useSignal(false);
  const path = `aqm[${p.at}]`;
  const id = useId();
  const name = String(inside(p.value, "algorithm") ?? "");
  const label = String(inside(p.value, "label") ?? name);
  const known = lastChecked.value?.algorithms.find((one) => one.label === label);
  const entry = algorithm(name);
  const visible = shown.value.includes(label);
  const set = isTable(p.value)
    ? Object.keys(p.value).filter((key) => key !== "algorithm" && key !== "label").length
    : 0;
  const wrong = faultAt(path, false) ?? faultAt(`${path}.algorithm`);
  const shows = open.value || (p.filter !== "" && p.filter.length > 1) || (faultIn(path) && !wrong);
  const toggle = () => {
    const now = shown.peek();
    const next = visible ? now.filter((one) => one !== label) : [...now, label].slice(-SIDE_BY_SIDE);
    if (next.length) change({ algorithms: next });
  };
  return (
    <li class={names("card", "algorithm")} data-path={path}>
      <div class="card-head">
        <label class="tick" title={visible ? "Hide its curves" : "Show its curves"}>
          <input
            type="checkbox"
            checked={visible}
            disabled={visible ? shown.value.length === 1 : !known}
            onChange={toggle}
          />
          <Key style={known?.style ?? entry?.style} />
          <span class="label">{label || "?"}</span>
        </label>
        <Button
          plain
          class="tight"
          label={`Parameters of ${label}${set > 0 ? `, ${set} set` : ""}`}
          pressed={shows}
          onClick={() => (open.value = !open.value)}
        >
          {set > 0 && <span class="small soft">{set} set</span>}
          <Icon name={shows ? "up" : "down"} />
        </Button>
        {shows && <ItemTools path="aqm" at={p.at} of={p.list} what={label} copy={(value) => copied(value, p.list)} />}
        {!shows && (
          <Button plain class="tight" label={`Remove ${label}`} onClick={() => put(path, null)}>
            <Icon name="close" />
          </Button>
        )}
      </div>
      {wrong && <Wrong of={wrong} />}
      {shows && (
        <div class="card-in">
          {entry && (
            <p class="small soft">
              {entry.title}. {entry.source}
            </p>
          )}
          <span class="hidden" id={id}>
            Parameters of {label}
          </span>
          <AlgorithmEditor
            bare
            path={path}
            value={p.value}
            fallback={inside(inside(defaults.value, "aqm"), p.at)}
            label={id}
            filter={p.filter}
          />
        </div>
      )}
    </li>
  );
}

/** A copy needs a label of its own. */
function copied(value: Value, list: readonly Value[]): Value {
  if (!isTable(value)) return value;
  const taken = list.map((one) => String(inside(one, "label") ?? inside(one, "algorithm")));
  const stem = String(value.label ?? value.algorithm);
  let number = 2;
  while (taken.includes(`${stem} ${number}`)) number += 1;
  return { ...value, label: `${stem} ${number}` };
}

// The network.

const SHAPES = [
  ["dumbbell", "One bottleneck"],
  ["parking_lot", "Several bottlenecks in a row"],
  ["graph", "Any network"],
] as const;

function Network({ shape, filter }: { shape: Table; filter: string }) {
  const now = SHAPES.find(([key]) => values.value[key] !== undefined)?.[0];
  const field = shape.fields.find(({ key }) => key === now);
  const wrong = (now && faultAt(now, false)) || null;
  const measured = lastChecked.value?.points[0]?.links.length ?? 1;
  return (
    <Section title="Network" open>
      <div class="field set">
        <div class="field-head">
          <span class="field-name" id="network-shape">
            Shape
          </span>
        </div>
        <select
          aria-labelledby="network-shape"
          value={now ?? ""}
          onChange={(event) => reshape(event.currentTarget.value, now)}
        >
          {!now && <option value="">none</option>}
          {SHAPES.map(([key, title]) => (
            <option key={key} value={key}>
              {title}
            </option>
          ))}
        </select>
      </div>
      {wrong && <Wrong of={wrong} />}
      {measured > 1 && (
        <p class="small soft">
          {measured} links have queues. The results show one at a time: choose it there under “Link”.
        </p>
      )}
      {now && field?.shape.kind === "table" && (
        <div data-path={now}>
          <Fields
            path={now}
            fields={field.shape.fields}
            value={values.value[now]}
            fallback={inside(defaults.value, now)}
            filter={filter && matches(field, filter) ? "" : filter}
            common={now === "graph" ? ["links"] : COMMON[now]}
          />
        </div>
      )}
    </Section>
  );
}

/** Another shape of network, which keeps rate, delay and buffer. */
function reshape(to: string, from: string | undefined): void {
  const old = from ? values.peek()[from] : undefined;
  const first = from === "graph" ? inside(inside(old, "links"), 0) : old;
  const kept = (key: string, or: string) => inside(first, key) ?? or;
  const link = {
    rate: kept("rate", "10 Mbit/s"),
    delay: kept("delay", "10 ms"),
    buffer: kept("buffer", "100 packets"),
  };
  const table: { [key: string]: Value } = {
    dumbbell: link,
    parking_lot: { bottlenecks: 2, ...link },
    graph: { links: [{ from: "a", to: "b", ...link }] },
  };
  const value = table[to];
  if (!value) return;
  rewrite([...(from ? [{ path: from, value: null }] : []), { path: to, value: toml(value) }]);
}

// Traffic.

function Traffic({ shape, filter }: { shape: Table; filter: string }) {
  const field = shape.fields.find(({ key }) => key === "flows");
  const list = Array.isArray(values.value.flows) ? values.value.flows : [];
  const wrong = faultAt("flows", false);
  if (field?.shape.kind !== "tables" || field.shape.item.kind !== "table") return null;
  const item = field.shape.item;
  return (
    <Section title="Traffic" open>
      <div data-path="flows">
        {wrong && <Wrong of={wrong} />}
        {list.map((value, i) => (
          <Group key={i} at={i} list={list} value={value} fields={item.fields} filter={filter} />
        ))}
        <Button onClick={() => addGroup(list)}>
          <Icon name="plus" /> Add flows
        </Button>
      </div>
    </Section>
  );
}

function addGroup(list: readonly Value[]): void {
  const taken = list.map((one) => inside(one, "name"));
  let name = "more";
  for (let number = 2; taken.includes(name); number += 1) name = `more-${number}`;
  const value = toml({ name, count: 2, rtt: "50 ms" });
  if (list.length) put("flows[+]", value);
  else put("flows", `[${value}]`);
}

function Group(p: { at: number; list: readonly Value[]; value: Value; fields: readonly Field[]; filter: string }) {
  const path = `flows[${p.at}]`;
  const open = useSignal(p.at < 2);
  const name = String(inside(p.value, "name") ?? `Group ${p.at + 1}`);
  const kind = String(inside(p.value, "kind") ?? "bulk");
  const wrong = faultAt(path, false);
  const shows = open.value || p.filter !== "" || faultIn(path);
  const count = inside(p.value, "count") ?? 1;
  return (
    <div class="card" data-path={path}>
      <div class="card-head">
        <strong class="label">{name}</strong>
        <span class="soft small grow">
          {kind}, {toml(count).replaceAll('"', "")} flow{count === 1 ? "" : "s"}
        </span>
        <Button
          plain
          class="tight"
          label={`Settings of ${name}`}
          pressed={shows}
          onClick={() => (open.value = !open.value)}
        >
          <Icon name={shows ? "up" : "down"} />
        </Button>
        {shows && <ItemTools path="flows" at={p.at} of={p.list} what={name} copy={(value) => renamed(value, p.list)} />}
      </div>
      {wrong && <Wrong of={wrong} />}
      {shows && (
        <div class="card-in">
          <Fields
            path={path}
            fields={p.fields}
            value={p.value}
            fallback={inside(inside(defaults.value, "flows"), p.at)}
            filter={p.filter}
            common={[...(COMMON.flows ?? []), ...(OF_KIND[kind] ?? [])]}
            means={(field) => means(field, kind)}
          />
        </div>
      )}
    </div>
  );
}

function renamed(value: Value, list: readonly Value[]): Value {
  if (!isTable(value)) return value;
  const taken = list.map((one) => inside(one, "name"));
  const stem = String(value.name ?? "flows");
  let number = 2;
  while (taken.includes(`${stem}-${number}`)) number += 1;
  return { ...value, name: `${stem}-${number}` };
}
