// The editors of a form: one for each shape of value. Each writes at its own path, and nothing but that.

import { signal, useSignal } from "@preact/signals";
import { Component } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import type { Fault } from "../protocol.ts";
import { turns } from "../state/document.ts";
import { FaultWords } from "../ui/fault.tsx";
import { finds } from "../ui/find.ts";
import { Button, Hidden, Icon, names } from "../ui/index.tsx";
import { AlgorithmEditor } from "./algorithm.tsx";
import { at, handy, place, type Range, rangeOf, read, STEPS } from "./range.ts";
import {
  beginning,
  type Choice,
  COMMON,
  chosen,
  converted,
  equal,
  type Field,
  isTable,
  measured,
  type Shape,
  type Table,
  tidy,
  toml,
  UNITS,
  type Value,
  words,
  written,
} from "./schema.ts";
import { SettingsEditor } from "./settings.tsx";
import { faultAt, faultIn, inside, mendings, places, put, rewrite, tryPut, under } from "./values.ts";

/** What is searched for among the settings. */
export const query = signal("");

/** What every editor gets. */
export interface EditorProps {
  path: string;
  field: Field;
  shape: Shape;
  /** The value in the text. */
  value: Value | undefined;
  /** What holds without it. */
  fallback: Value | undefined;
  /** The element that says what is edited, and those that say more. */
  label: string;
  describedBy?: string;
  /** A parameter of an algorithm, whose slider follows its default. */
  parameter?: boolean;
}

/** Values with fields of their own, which need the whole width. */
const isDeep = (shape: Shape, value: Value | undefined): boolean => {
  if (shape.kind === "choice")
    return value !== undefined && isDeep(shape.choices[chosen(shape.choices, value)]?.shape ?? shape, value);
  return value !== undefined && ["table", "tables", "algorithm"].includes(shape.kind);
};

/** Shapes that are edited beside their name, in one line. */
const inLine = (shape: Shape): boolean => !["table", "tables", "settings"].includes(shape.kind);

interface RowProps {
  path: string;
  field: Field;
  value: Value | undefined;
  fallback: Value | undefined;
  filter: string;
  parameter?: boolean;
}

/** A row, which is drawn again only if something of it has changed: a slider that is dragged moves one of many. */
export class FieldRow extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    const { path, field, filter, parameter, value, fallback } = this.props;
    const same = next.path === path && next.field === field && next.filter === filter && next.parameter === parameter;
    return !same || !equal(next.value, value) || !equal(next.fallback, fallback);
  }

  override render(props: RowProps) {
    return <Row {...props} />;
  }
}

/** A key with its editor, what it means, and what is wrong with it. */
function Row(p: RowProps) {
  const { field, path, value } = p;
  const id = useId();
  const open = useSignal(false);
  const set = value !== undefined;
  const own = inLine(field.shape);
  if (field.shape.kind === "table") return <TableRow {...p} shape={field.shape} />;
  const wrong = faultAt(path, own);
  const name = `${id}-name`;
  const more = `${id}-more`;
  return (
    <div
      class={names("field", set && "set", wrong && "wrong", isDeep(field.shape, value) && "deep")}
      data-path={path}
      onFocusIn={() => {
        open.value = true;
      }}
      onFocusOut={(event) => {
        if (!event.currentTarget.contains(event.relatedTarget as Node | null)) open.value = false;
      }}
    >
      <div class="field-head">
        <span class="field-name" id={name} title={`${field.key}: ${field.doc}`}>
          {p.parameter ? <code>{field.key}</code> : words(field.key)}
          {field.unit && <span class="soft small"> {unitWords(field.unit)}</span>}
        </span>
        {set && !field.required && (
          <Button
            plain
            class="tight"
            label={`Reset ${words(field.key)} to its default`}
            onClick={() => put(path, null)}
          >
            <Icon name="reset" />
          </Button>
        )}
      </div>
      <Editor
        path={path}
        field={field}
        shape={field.shape}
        value={value}
        fallback={p.fallback}
        label={name}
        describedBy={more}
        parameter={p.parameter}
      />
      <p id={more} class={names("field-more", "small", !open.value && "hidden")}>
        <code>{field.key}</code>: {field.doc}
        {field.fallback && !/default/i.test(field.doc) && <> Default: {field.fallback}.</>}
        {field.source && <span class="soft"> Source of the default: {field.source}.</span>}
      </p>
      {wrong && <Wrong of={wrong} />}
    </div>
  );
}

const unitWords = (unit: string): string =>
  ["packets or bytes", "name", "true or false", "s", "time", "bytes", "bit/s", "table", "list of tables"].includes(unit)
    ? ""
    : unit;

/** What is wrong, as the command says it, and what may have been meant. */
export function Wrong({ of }: { of: Fault }) {
  return (
    <div class="wrong-words small" role="alert">
      <FaultWords of={of} />
      <Mend of={of} />
    </div>
  );
}

/** What may have been meant, each with a click that writes it. */
export function Mend({ of }: { of: Fault }) {
  return (
    <>
      {mendings(of).map(({ says, run }) => (
        <Button key={says} onClick={run}>
          <Icon name="check" /> Write “{says}”
        </Button>
      ))}
    </>
  );
}

/** A table in a table: folded until it says something. */
function TableRow(p: {
  path: string;
  field: Field;
  shape: Table;
  value: Value | undefined;
  fallback: Value | undefined;
  filter: string;
}) {
  const open = useSignal(p.value !== undefined && p.field.key !== "tcp");
  const searched = p.filter !== "";
  const shows = searched || open.value || faultIn(p.path);
  const own = faultAt(p.path, false);
  const count = isTable(p.value) ? Object.keys(p.value).length : 0;
  return (
    <details
      class="table"
      open={shows}
      data-path={p.path}
      onToggle={(event) => {
        if (!searched) open.value = event.currentTarget.open;
      }}
    >
      <summary title={p.field.doc}>
        {words(p.field.key)}
        {count > 0 && <span class="soft small"> {count} set</span>}
      </summary>
      {shows && (
        <div class="table-in">
          <p class="small soft">{p.field.doc}</p>
          {own && <Wrong of={own} />}
          <Fields
            path={p.path}
            fields={p.shape.fields}
            value={p.value}
            fallback={p.fallback}
            filter={p.filter}
            common={COMMON[p.field.key]}
          />
          {p.value !== undefined && !p.field.required && (
            <Button onClick={() => put(p.path, null)}>
              <Icon name="reset" /> Remove “{words(p.field.key)}” with all that it sets
            </Button>
          )}
        </div>
      )}
    </details>
  );
}

/** The fields of a table: those that are set or common, and the others when they are asked for. */
export function Fields(p: {
  path: string;
  fields: readonly Field[];
  value: Value | undefined;
  fallback: Value | undefined;
  filter: string;
  /** The keys that are always shown, in this order. */
  common?: readonly string[];
  /** Whether a key means something here; the others come last. */
  means?: (field: Field) => boolean;
  parameter?: boolean;
}) {
  const all = useSignal(false);
  const common = p.common ?? [];
  const rank = (field: Field) => {
    const at = common.indexOf(field.key);
    return at < 0 ? common.length : at;
  };
  const found = p.fields.filter((field) => p.filter === "" || hits(field, p.filter));
  const sorted = [...found].sort((a, b) => rank(a) - rank(b));
  const first = sorted.filter(
    (field) =>
      p.filter !== "" ||
      common.length === 0 ||
      common.includes(field.key) ||
      inside(p.value, field.key) !== undefined ||
      faultIn(under(p.path, field.key)),
  );
  const rest = sorted.filter((field) => !first.includes(field));
  const here = rest.filter((field) => !p.means || p.means(field));
  const elsewhere = rest.filter((field) => !here.includes(field));
  const row = (field: Field) => (
    <FieldRow
      key={field.key}
      path={under(p.path, field.key)}
      field={field}
      value={inside(p.value, field.key)}
      fallback={inside(p.fallback, field.key)}
      filter={p.filter === "" || matches(field, p.filter) ? "" : p.filter}
      parameter={p.parameter}
    />
  );
  return (
    <>
      {first.map(row)}
      <Strangers path={p.path} fields={p.fields} value={p.value} />
      {rest.length > 0 && (
        <Button plain class="more" onClick={() => (all.value = !all.value)} pressed={all.value}>
          <Icon name={all.value ? "up" : "down"} /> {all.value ? "Fewer settings" : `${rest.length} more settings`}
        </Button>
      )}
      {all.value && here.map(row)}
      {all.value && elsewhere.length > 0 && (
        <>
          <p class="small soft">For other kinds of flows:</p>
          {elsewhere.map(row)}
        </>
      )}
    </>
  );
}

/** Keys of the text that the schema does not know, so that what is wrong with them stands somewhere. */
function Strangers(p: { path: string; fields: readonly Field[]; value: Value | undefined }) {
  if (!isTable(p.value)) return null;
  const known = new Set([...p.fields.map(({ key }) => key), "algorithm"]);
  const strange = Object.keys(p.value).filter((key) => !known.has(key));
  return (
    <>
      {strange.map((key) => {
        const path = under(p.path, key);
        const wrong = faultAt(path);
        return (
          <div key={key} class="field wrong" data-path={path}>
            <div class="field-head">
              <span class="field-name">
                <code>{key}</code>
              </span>
              <Button plain class="tight" label={`Remove ${key}`} onClick={() => put(path, null)}>
                <Icon name="trash" />
              </Button>
            </div>
            {wrong && <Wrong of={wrong} />}
          </div>
        );
      })}
    </>
  );
}

/** Whether all words of a search are in a key or its description. */
export function matches(field: Field, filter: string): boolean {
  return finds(`${field.key} ${words(field.key)} ${field.doc}`, filter);
}

/** Whether a search finds a key, or one below it. */
export function hits(field: Field, filter: string): boolean {
  return matches(field, filter) || below(field.shape).some((inner) => hits(inner, filter));
}

function below(shape: Shape): readonly Field[] {
  switch (shape.kind) {
    case "table":
      return shape.fields;
    case "tables":
    case "list":
      return below(shape.item);
    case "choice":
      return shape.choices.flatMap((one) => below(one.shape));
    default:
      return [];
  }
}

/** The editor of a value. */
export function Editor(p: EditorProps) {
  const { shape } = p;
  switch (shape.kind) {
    case "flag":
      return <FlagEditor {...p} />;
    case "name":
      return <NameEditor {...p} shape={shape} />;
    case "text":
    case "any":
    case "number":
    case "quantity":
      return <ScalarEditor {...p} />;
    case "list":
      return <ListEditor {...p} shape={shape} />;
    case "table":
      return (
        <Fields
          path={p.path}
          fields={shape.fields}
          value={p.value}
          fallback={p.fallback}
          filter=""
          common={COMMON[p.field.key]}
        />
      );
    case "tables":
      return <TablesEditor {...p} shape={shape} />;
    case "choice":
      return <ChoiceEditor {...p} choices={shape.choices} />;
    case "algorithm":
      return <AlgorithmEditor path={p.path} value={p.value} fallback={p.fallback} label={p.label} filter="" />;
    case "settings":
      return <SettingsEditor path={p.path} value={p.value} linked={shape.linked} />;
  }
}

const said = (value: Value | undefined): string => {
  if (value === undefined || value === null) return "";
  return typeof value === "object" ? toml(value) : typeof value === "number" ? tidy(value) : String(value);
};

/** The default in words, as a placeholder. */
function placeholder(p: EditorProps): string {
  const fallback = said(p.fallback);
  if (fallback !== "" && typeof p.fallback !== "object") return fallback;
  return p.field.fallback;
}

function FlagEditor(p: EditorProps) {
  const fallback = placeholder(p) || "false";
  return (
    <select
      aria-labelledby={p.label}
      aria-describedby={p.describedBy}
      aria-invalid={faultIn(p.path)}
      value={said(p.value)}
      onChange={(event) => put(p.path, event.currentTarget.value || null)}
    >
      <option value="">default: {yes(fallback)}</option>
      <option value="true">yes</option>
      <option value="false">no</option>
      {p.value !== undefined && typeof p.value !== "boolean" && <option value={said(p.value)}>{said(p.value)}</option>}
    </select>
  );
}

const yes = (text: string) => (text === "true" ? "yes" : text === "false" ? "no" : text);

function NameEditor(p: EditorProps & { shape: Shape & { kind: "name" } }) {
  const now = said(p.value);
  const known = p.shape.names.some(({ value }) => value === now);
  const fallback = placeholder(p);
  return (
    <select
      aria-labelledby={p.label}
      aria-describedby={p.describedBy}
      aria-invalid={faultIn(p.path)}
      value={now}
      onChange={(event) => {
        const to = event.currentTarget.value;
        put(p.path, to === "" ? null : toml(to));
      }}
    >
      {!p.field.required && <option value="">{fallback ? `default: ${fallback}` : "default"}</option>}
      {p.shape.names.map(({ value, doc }) => (
        <option key={value} value={value} title={doc}>
          {value}
        </option>
      ))}
      {now !== "" && !known && <option value={now}>{now}</option>}
    </select>
  );
}

/** A number without a unit. */
const NUMBER = /^[-+]?[0-9.]+(e[-+]?[0-9]+)?$/i;

/** Numbers, quantities, texts and expressions: a line to type in, its unit, and a slider where one helps. */
function ScalarEditor(p: EditorProps) {
  const { shape, value, path } = p;
  const typing = useSignal<string | null>(null);
  const refused = useSignal<string | null>(null);
  useEffect(() => {
    typing.value = null;
    refused.value = null;
  }, [turns.value]);
  // The unit of what is typed over, which stays beside it.
  const last = useRef<string | null>(null);
  const effective = value ?? p.fallback;
  const parts = shape.kind === "quantity" && typeof value === "string" ? measured(value, shape.of) : null;
  if (parts || typing.value === null) last.current = parts?.unit ?? null;
  const unit = parts?.unit ?? null;
  const shown = typing.value ?? (parts ? tidy(parts.number) : said(value));
  const units = shape.kind === "quantity" ? UNITS[shape.of] : [];
  const write = (typed: string) => {
    const before = typing.peek();
    typing.value = typed;
    if (typed.trim() === "") {
      refused.value = null;
      if (!p.field.required) put(path, null);
      // A value that was wrong is not kept, for nobody sees it; one that was right holds until another is typed.
      else if (faultIn(path) || (before !== null && !isRead(before, shape))) put(path, toml(""));
      return;
    }
    const number = NUMBER.test(typed.trim());
    const suits = number && shape.kind === "quantity" ? (unit ?? last.current ?? fallbackUnit(p)) : null;
    tryPut(path, written(suits ? `${typed.trim()} ${suits}` : typed, shape)).then((failed) => {
      // It may have been typed over meanwhile.
      if (typing.peek() === null || typing.peek() === typed) refused.value = failed?.message ?? null;
    });
  };
  const nudge = (event: KeyboardEvent) => {
    const by = event.key === "ArrowUp" ? 1 : event.key === "ArrowDown" ? -1 : 0;
    const now = read(shape, effective);
    if (!by || !now) return;
    event.preventDefault();
    const step =
      shape.kind === "number" && shape.whole ? 1 : 10 ** (Math.floor(Math.log10(Math.abs(now.number) || 1)) - 1);
    const next = Math.max(0, Number((now.number + by * step).toPrecision(6)));
    typing.value = null;
    put(path, written(now.unit ? `${tidy(next)} ${now.unit}` : tidy(next), shape));
  };
  const range = rangeOf(p.field, shape, effective, p.parameter ?? false);
  return (
    <>
      <div class="scalar">
        <input
          type="text"
          spellcheck={false}
          autocomplete="off"
          aria-labelledby={p.label}
          aria-describedby={p.describedBy}
          aria-invalid={faultIn(path) || refused.value !== null}
          class={names(shape.kind !== "text" && "number")}
          value={shown}
          placeholder={placeholder(p)}
          onInput={(event) => write(event.currentTarget.value)}
          onKeyDown={nudge}
          onBlur={() => {
            if (refused.value === null) typing.value = null;
          }}
        />
        {unit !== null && shape.kind === "quantity" && (
          <select
            class="unit"
            aria-label={`Unit of ${words(p.field.key)}`}
            value={unit}
            onChange={(event) => {
              typing.value = null;
              put(path, toml(converted(String(value), shape.of, event.currentTarget.value)));
            }}
          >
            {units.map(([name]) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        )}
      </div>
      {refused.value !== null && <p class="wrong-words small">{refused.value}</p>}
      {range && <Slider {...p} range={range} />}
    </>
  );
}

/** Whether a text that is typed is a number or a quantity of its kind, with its unit or without. */
const isRead = (typed: string, shape: Shape): boolean =>
  shape.kind === "quantity" ? NUMBER.test(typed.trim()) || measured(typed, shape.of) !== null : true;

/** The unit of a number that is typed without one where nothing is set. */
function fallbackUnit(p: EditorProps): string | null {
  if (p.shape.kind !== "quantity") return null;
  const from =
    typeof p.fallback === "string" ? measured(p.fallback, p.shape.of) : measured(p.field.fallback, p.shape.of);
  return from?.unit ?? { time: "ms", rate: "Mbit/s", bytes: "B", queue: "packets" }[p.shape.of];
}

function Slider(p: EditorProps & { range: Range }) {
  const drag = useSignal<number | null>(null);
  // While it is dragged the range stays what it was.
  const held = useRef<{ range: Range; unit: string } | null>(null);
  const now = read(p.shape, p.value ?? p.fallback);
  if (!now) return null;
  const range = held.current?.range ?? p.range;
  const slide = (to: number) => {
    held.current ??= { range: p.range, unit: now.unit };
    drag.value = to;
    const number = at(held.current.range, to);
    const text = held.current.unit ? handy(number, held.current.unit, p.shape) : tidy(number);
    put(p.path, written(text, p.shape));
  };
  const leave = () => {
    held.current = null;
    drag.value = null;
  };
  return (
    <input
      type="range"
      class="slider"
      min={0}
      max={STEPS}
      step={1}
      aria-labelledby={p.label}
      aria-valuetext={now.unit ? `${tidy(now.number)} ${now.unit}` : tidy(now.number)}
      value={drag.value ?? place(range, now.number)}
      onInput={(event) => slide(Number(event.currentTarget.value))}
      onChange={leave}
      onPointerUp={leave}
      onBlur={leave}
    />
  );
}

/** Values in a row; two of them are the ends of a range. */
function ListEditor(p: EditorProps & { shape: Shape & { kind: "list" } }) {
  const { item, least, most } = p.shape;
  const all = Array.isArray(p.value) ? p.value : null;
  if (!all) {
    return (
      <div class="scalar">
        <Button onClick={() => put(p.path, toml(beginning(p.shape)))}>
          <Icon name="plus" /> Set
        </Button>
        {p.value !== undefined && <code>{said(p.value)}</code>}
      </div>
    );
  }
  const ends = least === 2 && most === 2;
  return (
    <div class="list">
      {all.map((value, i) => (
        <div key={i} class="list-item">
          <span class="small soft" id={`${p.label}-${i}`}>
            <Hidden>{words(p.field.key)} </Hidden>
            {ends ? (i === 0 ? "from" : "to") : i + 1}
          </span>
          <Editor
            path={`${p.path}[${i}]`}
            field={{ ...p.field, required: true, fallback: "" }}
            shape={item}
            value={value}
            fallback={undefined}
            label={`${p.label}-${i}`}
          />
          {all.length > least && (
            <Button plain class="tight" label={`Remove value ${i + 1}`} onClick={() => put(`${p.path}[${i}]`, null)}>
              <Icon name="close" />
            </Button>
          )}
        </div>
      ))}
      {all.length < most && (
        <Button
          class="tight"
          label="Add a value"
          onClick={() => put(`${p.path}[+]`, toml(all.at(-1) ?? beginning(item)))}
        >
          <Icon name="plus" />
        </Button>
      )}
    </div>
  );
}

/** A list of tables, each of which can be copied, moved and removed. */
export function TablesEditor(p: EditorProps & { shape: Shape & { kind: "tables" } }) {
  const all = Array.isArray(p.value) ? p.value : [];
  const kind = p.shape.item;
  return (
    <div class="tables">
      {all.map((value, i) => {
        const path = `${p.path}[${i}]`;
        const wrong = faultAt(path, false);
        return (
          <div key={i} class="card" data-path={path}>
            <div class="card-head">
              <strong id={`${p.label}-${i}`}>{titleOf(p.field.key, i, value)}</strong>
              <ItemTools path={p.path} at={i} of={all} what={titleOf(p.field.key, i, value)} />
            </div>
            {wrong && <Wrong of={wrong} />}
            <Editor
              path={path}
              field={p.field}
              shape={kind}
              value={value}
              fallback={inside(p.fallback, i)}
              label={`${p.label}-${i}`}
            />
          </div>
        );
      })}
      <Button onClick={() => add(p.path, p.value, all.at(-1) ?? beginning(kind))}>
        <Icon name="plus" /> Add
      </Button>
    </div>
  );
}

/** What a table of a list is called: "Link 2: south to core", "Change 1". */
function titleOf(key: string, at: number, value: Value): string {
  const one = key === "links" ? "Link" : /changes|list/.test(key) ? "Change" : key === "cases" ? "Case" : words(key);
  const [from, to] = [inside(value, "from"), inside(value, "to")];
  return `${one} ${at + 1}${from !== undefined && to !== undefined ? `: ${said(from)} to ${said(to)}` : ""}`;
}

/** Appends to a list, which may not be there yet. */
export function add(path: string, list: Value | undefined, value: Value): Promise<boolean> {
  return Array.isArray(list) ? put(`${path}[+]`, toml(value)) : put(path, `[${toml(value)}]`);
}

/** Copy, move and remove. */
export function ItemTools(p: {
  path: string;
  at: number;
  of: readonly Value[];
  what: string;
  copy?: (value: Value) => Value;
}) {
  const path = `${p.path}[${p.at}]`;
  const move = (to: number) => rewrite([{ path, value: null, to }]);
  const value = p.of[p.at] ?? null;
  return (
    <span class="item-tools">
      <Button plain class="tight" label={`Move ${p.what} up`} disabled={p.at === 0} onClick={() => move(p.at - 1)}>
        <Icon name="up" />
      </Button>
      <Button
        plain
        class="tight"
        label={`Move ${p.what} down`}
        disabled={p.at === p.of.length - 1}
        onClick={() => move(p.at + 1)}
      >
        <Icon name="down" />
      </Button>
      <Button
        plain
        class="tight"
        label={`Copy ${p.what}`}
        onClick={() => put(`${p.path}[+]`, toml(p.copy ? p.copy(value) : value))}
      >
        <Icon name="copy" />
      </Button>
      <Button plain class="tight" label={`Remove ${p.what}`} onClick={() => put(path, null)}>
        <Icon name="trash" />
      </Button>
    </span>
  );
}

/** One of several forms, such as a value or a distribution. */
function ChoiceEditor(p: EditorProps & { choices: readonly Choice[] }) {
  const now = chosen(p.choices, p.value ?? p.fallback);
  const choice = p.choices[now];
  if (!choice) return null;
  const set = p.value !== undefined;
  const choose = (index: number) => {
    const next = p.choices[index];
    if (!next) return;
    const value = beginning(next.shape);
    put(p.path, toml(next.key ? { [next.key]: value } : value));
  };
  // A form that nothing has set is shown by a value that could be.
  const inner = choice.key ? inside(set ? p.value : p.fallback, choice.key) : p.value;
  const fallback = choice.key ? inside(p.fallback, choice.key) : p.fallback;
  const scalar = !choice.key && ["quantity", "number", "text", "any"].includes(choice.shape.kind);
  const isName = choice.shape.kind === "name" && choice.shape.names.length === 1;
  return (
    <div class={names("choice", scalar && "beside")}>
      <span class="form-of">
        {scalar && <Icon name="more" />}
        <select
          aria-label={`Form of ${words(p.field.key)}`}
          title={choice.doc}
          value={String(now)}
          onChange={(event) => choose(Number(event.currentTarget.value))}
        >
          {p.choices.map(({ title, doc }, i) => (
            <option key={title} value={String(i)} title={doc}>
              {title}
            </option>
          ))}
        </select>
      </span>
      {!isName && (set || !choice.key) && (
        <Editor
          {...p}
          path={choice.key ? under(p.path, choice.key) : p.path}
          shape={choice.shape}
          value={inner}
          fallback={fallback}
        />
      )}
      {!isName && !set && choice.key && <code class="soft">{said(p.fallback)}</code>}
    </div>
  );
}

/** Where a path stands in the text. */
export const lineOf = (path: string): number | undefined => places.value[path]?.line;
