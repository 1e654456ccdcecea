// The schema of scenario files as a form needs it: what kinds of values each key takes, in which order keys are shown,
// and what is written when a person types.

/** A JSON Schema, as far as the scenario's goes. */
export interface Schema {
  readonly $ref?: string;
  readonly $defs?: { readonly [name: string]: Schema };
  readonly title?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly const?: unknown;
  readonly default?: unknown;
  readonly pattern?: string;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly format?: string;
  readonly items?: Schema | boolean;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly properties?: { readonly [key: string]: Schema };
  readonly additionalProperties?: Schema | boolean;
  readonly required?: readonly string[];
  /** What else is required of most tables of the kind. */
  readonly then?: Schema;
  readonly anyOf?: readonly Schema[];
  readonly oneOf?: readonly Schema[];
  readonly enum?: readonly string[];
  /** What an algorithm takes of a parameter, where the other parameters have their defaults. */
  readonly "x-range"?: Ends;
}

/** The ends of a range; an end that is `_outside` is not allowed itself. */
export interface Ends {
  /** Only some numbers are taken, such as powers of two: there are no ends. */
  readonly some?: boolean;
  readonly unit?: string;
  readonly whole?: boolean;
  readonly least?: number;
  readonly least_outside?: boolean;
  readonly most?: number;
  readonly most_outside?: boolean;
}

/** What a value is, and so what edits it. */
export type Shape =
  | { readonly kind: "text" }
  | { readonly kind: "flag" }
  | { readonly kind: "number"; readonly whole: boolean; readonly least?: number; readonly most?: number }
  | { readonly kind: "quantity"; readonly of: Quantity }
  | { readonly kind: "name"; readonly names: readonly Name[] }
  | { readonly kind: "any" }
  | { readonly kind: "list"; readonly item: Shape; readonly least: number; readonly most: number }
  | Table
  | { readonly kind: "tables"; readonly item: Shape }
  | { readonly kind: "choice"; readonly choices: readonly Choice[] }
  | { readonly kind: "algorithm" }
  | { readonly kind: "settings"; readonly linked: boolean };

export interface Table {
  readonly kind: "table";
  readonly fields: readonly Field[];
}

export interface Name {
  readonly value: string;
  readonly doc: string;
}

/** One of several forms of a value; with a key it is a table of that one key, such as `{ uniform = [...] }`. */
export interface Choice {
  readonly title: string;
  readonly doc: string;
  readonly key?: string;
  readonly shape: Shape;
}

export interface Field {
  readonly key: string;
  readonly doc: string;
  readonly shape: Shape;
  readonly required: boolean;
  /** What holds without the key, in words or as written; empty if the description does not say. */
  readonly fallback: string;
  /** The unit of a number that is written without one. */
  readonly unit: string;
  /** Where the default comes from. */
  readonly source: string;
  /** What an algorithm takes. */
  readonly range?: Ends | undefined;
}

/** What a quantity measures; its units are `UNITS`. */
export type Quantity = "time" | "bytes" | "rate" | "queue";

/** The units that a form offers, and how many base units each is; packets and bytes are not each other's. */
export const UNITS: { readonly [of in Quantity]: readonly (readonly [string, number])[] } = {
  time: [
    ["ns", 1e-9],
    ["us", 1e-6],
    ["ms", 1e-3],
    ["s", 1],
    ["min", 60],
    ["h", 3600],
  ],
  rate: [
    ["bit/s", 1],
    ["kbit/s", 1e3],
    ["Mbit/s", 1e6],
    ["Gbit/s", 1e9],
    ["Tbit/s", 1e12],
  ],
  bytes: [
    ["B", 1],
    ["kB", 1e3],
    ["MB", 1e6],
    ["GB", 1e9],
    ["KiB", 1024],
    ["MiB", 1024 * 1024],
  ],
  queue: [
    ["packets", Number.NaN],
    ["B", 1],
    ["kB", 1e3],
    ["MB", 1e6],
    ["GB", 1e9],
    ["KiB", 1024],
    ["MiB", 1024 * 1024],
  ],
};

/** Other spellings of the units. */
const SPELLED: { readonly [unit: string]: string } = {
  µs: "us",
  packet: "packets",
  pkt: "packets",
  byte: "B",
  bytes: "B",
  bps: "bit/s",
  kbps: "kbit/s",
  Mbps: "Mbit/s",
  Gbps: "Gbit/s",
  "b/s": "bit/s",
  "kb/s": "kbit/s",
  "Mb/s": "Mbit/s",
  "Gb/s": "Gbit/s",
};

const QUANTITIES: { readonly [definition: string]: Quantity } = {
  Duration: "time",
  Bytes: "bytes",
  BitRate: "rate",
  QueueSize: "queue",
};

/** The scenario's table, from the schema. */
export function scenarioShape(schema: Schema): Table {
  return tableOf(schema, schema);
}

/** The parameters of each algorithm, from the schema. */
export function algorithmFields(schema: Schema): ReadonlyMap<string, readonly Field[]> {
  const found = new Map<string, readonly Field[]>();
  for (const one of schema.$defs?.Aqm?.oneOf ?? []) {
    const name = one.properties?.algorithm?.const;
    if (typeof name === "string") found.set(name, tableOf(one, schema).fields.slice(1));
  }
  return found;
}

function tableOf(schema: Schema, root: Schema): Table {
  const required = new Set([...(schema.required ?? []), ...(schema.then?.required ?? [])]);
  const fields = Object.entries(schema.properties ?? {}).map(([key, of]) => fieldOf(key, of, required.has(key), root));
  return { kind: "table", fields };
}

function fieldOf(key: string, schema: Schema, required: boolean, root: Schema): Field {
  const doc = (schema.description ?? resolve(schema, root).description ?? "").replaceAll(/\s*\n\s*/g, " ");
  const { enum: names, "x-range": range } = schema;
  const plain = Object.keys(schema).every((name) => ["description", "enum", "x-range"].includes(name));
  if (plain) {
    const parts = /^(.*?)\s*Unit: (.*?)\. Default: (.*)$/s.exec(doc);
    const [, says = doc, unit = "", rest = ""] = parts ?? [];
    const [fallback, source] = apart(rest);
    const own = names && { kind: "name" as const, names: names.map((value) => ({ value, doc: "" })) };
    const shape = own ?? ofUnit(unit, doc, range?.whole ?? false);
    return { key, doc: says, required, unit: unit === "1" ? "" : unit, fallback, source, shape, range };
  }
  const shape = key === "sweep" ? settings(true) : key === "cases" ? casesShape : shapeOf(schema, root);
  const fallback = schema.default === undefined ? "" : said(schema.default);
  return { key, doc, required, unit: "", fallback, source: "", shape };
}

/** "5 packets (Floyd 1997)." as the default and where it is from. */
function apart(rest: string): [string, string] {
  const trimmed = rest.replace(/\.$/, "");
  const at = trimmed.indexOf(" (");
  if (at < 0) return [trimmed.replaceAll('"', ""), ""];
  return [trimmed.slice(0, at).replaceAll('"', ""), trimmed.slice(at + 2).replace(/\)$/, "")];
}

/** The shape of a parameter of an algorithm or of TCP, whose schema says it in words. */
function ofUnit(unit: string, doc: string, whole: boolean): Shape {
  const rule = /or the rule|left out|none|auto|or \{/.test(doc);
  switch (unit) {
    case "true or false":
      return { kind: "flag" };
    case "name": {
      // Names of other keys' values are after these words: `with "rack"`, `of "prague"`, `recovery = "prr"`.
      const own = doc.replaceAll(/(with|need|of|=) "(rack|prr|prague)"( and "(rack|prr)")?/g, "");
      const names = [...own.matchAll(/"([a-z][a-z0-9+-]*)"/g)].map(([, value = ""]) => value);
      const fallback = apart(/Default: (.*)$/s.exec(doc)?.[1] ?? "")[0];
      const all = [...new Set([...names, fallback])].filter(
        (value) => value && value !== "none" && !value.includes(" "),
      );
      return { kind: "name", names: all.map((value) => ({ value, doc: "" })) };
    }
    case "s":
    case "time":
      return { kind: "quantity", of: "time" };
    case "bytes":
      return { kind: "quantity", of: "bytes" };
    case "bit/s":
      return { kind: "quantity", of: "rate" };
    case "packets or bytes":
      return { kind: "quantity", of: "queue" };
    case "table":
    case "list of tables":
      return { kind: "any" };
    default:
      return rule && unit === "1" && doc.includes("{") ? { kind: "any" } : { kind: "number", whole };
  }
}

const settings = (linked: boolean): Shape => ({ kind: "settings", linked });
const casesShape: Shape = { kind: "tables", item: settings(false) };

function resolve(schema: Schema, root: Schema): Schema {
  if (!schema.$ref) return schema;
  const name = schema.$ref.replace("#/$defs/", "");
  return root.$defs?.[name] ?? {};
}

function shapeOf(schema: Schema, root: Schema): Shape {
  if (schema.$ref) {
    const name = schema.$ref.replace("#/$defs/", "");
    const of = QUANTITIES[name];
    if (of) return { kind: "quantity", of };
    if (name === "Aqm") return { kind: "algorithm" };
    return shapeOf(resolve(schema, root), root);
  }
  if (schema.anyOf) return ofSeveral(schema.anyOf, root);
  if (schema.oneOf) return ofSeveral(schema.oneOf, root);
  if (schema.const !== undefined) return { kind: "name", names: [nameOf(schema)] };
  const type = Array.isArray(schema.type) ? schema.type.find((one) => one !== "null") : schema.type;
  switch (type) {
    case "boolean":
      return { kind: "flag" };
    case "integer":
    case "number":
      return { kind: "number", whole: type === "integer", least: schema.minimum, most: schema.maximum };
    case "array": {
      const item = typeof schema.items === "object" ? shapeOf(schema.items, root) : ({ kind: "any" } as const);
      if (item.kind === "table" || item.kind === "algorithm") return { kind: "tables", item };
      // A change is written as a table, or as a row of two or three values.
      if (item.kind === "choice" && item.choices.some(({ shape }) => shape.kind === "table"))
        return { kind: "tables", item };
      return { kind: "list", item, least: schema.minItems ?? 0, most: schema.maxItems ?? Number.POSITIVE_INFINITY };
    }
    case "object":
      return schema.properties ? tableOf(schema, root) : { kind: "any" };
    case "string":
      return { kind: "text" };
    default:
      return { kind: "any" };
  }
}

/** What remains of alternatives when none at all and an expression, which any value may be, are left out. */
function ofSeveral(all: readonly Schema[], root: Schema): Shape {
  const flat = all.flatMap((one): readonly Schema[] => {
    if (one.type === "null" || one.$ref === "#/$defs/Expression") return [];
    return one.anyOf && !one.description ? one.anyOf.filter((inner) => inner.type !== "null") : [one];
  });
  const rest = flat.filter((one) => one.$ref !== "#/$defs/Expression");
  if (rest.every((one) => one.const !== undefined)) return { kind: "name", names: rest.map(nameOf) };
  if (rest.length === 1 && rest[0] && !isTagged(rest[0])) return shapeOf(rest[0], root);
  const choices = rest.flatMap((one) => choicesOf(one, root));
  return choices.length === 1 && choices[0] && !choices[0].key ? choices[0].shape : { kind: "choice", choices };
}

const nameOf = (schema: Schema): Name => ({ value: String(schema.const), doc: schema.description ?? "" });

const isTagged = (schema: Schema) =>
  schema.type === "object" && schema.required?.length === 1 && Object.keys(schema.properties ?? {}).length === 1;

function choicesOf(schema: Schema, root: Schema): Choice[] {
  const whole = resolve(schema, root);
  const alternatives = whole.oneOf ?? whole.anyOf;
  if (alternatives?.every((one) => isTagged(one))) return alternatives.flatMap((one) => choicesOf(one, root));
  if (isTagged(whole)) {
    const [[key, of] = ["", {}]] = Object.entries(whole.properties ?? {});
    return [{ title: key, doc: whole.description ?? "", key, shape: shapeOf(of, root) }];
  }
  const shape = shapeOf(schema, root);
  const doc = schema.description ?? whole.description ?? "";
  return [{ title: titleOf(shape, whole), doc, shape }];
}

function titleOf(shape: Shape, schema: Schema): string {
  switch (shape.kind) {
    case "quantity":
    case "number":
      return "one value";
    case "name":
      return shape.names[0]?.value ?? "name";
    case "tables":
      return "list";
    case "list":
      return schema.minItems === 2 ? "row" : "list";
    case "table":
      return shape.fields.some(({ key }) => key === "file") ? "list or file, repeated" : "table";
    case "text":
      return "file";
    case "algorithm":
      return "an algorithm";
    default:
      return shape.kind;
  }
}

const said = (value: unknown): string => (Array.isArray(value) || typeof value === "object" ? "" : String(value));

// What is written.

/** A tree of values, as the text has them. */
export type Value = string | number | boolean | null | Value[] | { [key: string]: Value };

/** A value as TOML writes it in one line. */
export function toml(value: Value): string {
  if (value === null) return '""';
  if (typeof value === "string") return quoted(value);
  if (typeof value === "number") return number(value);
  if (typeof value === "boolean") return String(value);
  if (Array.isArray(value)) return `[${value.map(toml).join(", ")}]`;
  const inner = Object.entries(value).map(([key, of]) => `${bare(key)} = ${toml(of)}`);
  return inner.length ? `{ ${inner.join(", ")} }` : "{}";
}

/** A key as TOML writes it. */
export const bare = (key: string): string => (/^[A-Za-z0-9_-]+$/.test(key) ? key : quoted(key));

/** A string as TOML writes it. */
export function quoted(text: string): string {
  // JSON's escapes are TOML's as well, but for the delete character, which TOML wants to be escaped.
  return JSON.stringify(text).replaceAll("\u007f", "\\u007f");
}

function number(value: number): string {
  if (Number.isNaN(value)) return "nan";
  if (!Number.isFinite(value)) return value > 0 ? "inf" : "-inf";
  return String(value).replace("e+", "e");
}

const NUMBER = /^[-+]?(\d+(\.\d+)?|\.\d+)([eE][-+]?\d+)?$/;

/** What is typed into a field as TOML: a number where it is one, else a string, which an expression is too. */
export function written(typed: string, shape: Shape): string {
  const text = typed.trim();
  switch (shape.kind) {
    case "number":
      return plain(text) ?? quoted(text);
    case "flag":
      return text === "true" || text === "false" ? text : quoted(text);
    case "any":
      if (/^[[{"']/.test(text) || text === "true" || text === "false") return text;
      return plain(text) ?? quoted(text);
    case "text":
      return quoted(typed);
    default:
      return quoted(text);
  }
}

/** A number as TOML allows it: with digits before the point. */
function plain(text: string): string | null {
  if (!NUMBER.test(text)) return null;
  return text.replace(/^([-+]?)\./, "$10.").replace(/^([-+]?)0+(?=\d)/, "$1");
}

/** The values at the end of a message: `write "160 Mbit/s" or "20 Mbit/s"`, `write 0.05`. */
export function told(rule: string): readonly string[] {
  const [, texts, number] = /\bwrite (?:("[^"]+"(?: or "[^"]+")*)|(-?\d[\d.]*(?:e-?\d+)?))$/.exec(rule) ?? [];
  return number ? [number] : [...(texts ?? "").matchAll(/"([^"]+)"/g)].map(([, text]) => text ?? "");
}

/** A number and its unit, if a text is no more than that. */
export function measured(text: string, of: Quantity): { number: number; unit: string } | null {
  const parts = /^\s*([-+]?[0-9.]+(?:[eE][-+]?[0-9]+)?)\s*([A-Za-zµ/]+)\s*$/.exec(text);
  const unit = parts?.[2] && (SPELLED[parts[2]] ?? parts[2]);
  const number = Number(parts?.[1]);
  if (!unit || !Number.isFinite(number) || !UNITS[of].some(([name]) => name === unit)) return null;
  return { number, unit };
}

/** A quantity in base units; `null` of packets and of what is no quantity. */
export function base(text: string, of: Quantity): number | null {
  const parts = measured(text, of);
  const factor = UNITS[of].find(([name]) => name === parts?.unit)?.[1];
  return parts && factor !== undefined && !Number.isNaN(factor) ? parts.number * factor : null;
}

/** A number as people write it, without the noise of binary fractions. */
export function tidy(value: number): string {
  const text = String(Number(value.toPrecision(12)));
  return text.replace("e+", "e");
}

/** The same quantity in another unit; packets and bytes only change their name. */
export function converted(text: string, of: Quantity, unit: string): string {
  const parts = measured(text, of);
  if (!parts) return text;
  const factor = (name: string) => UNITS[of].find(([one]) => one === name)?.[1] ?? Number.NaN;
  const ratio = factor(parts.unit) / factor(unit);
  return `${tidy(Number.isNaN(ratio) ? parts.number : parts.number * ratio)} ${unit}`;
}

/** Which of the forms a value has; the first for a value that has none. */
export function chosen(choices: readonly Choice[], value: Value | undefined): number {
  const found = choices.findIndex(({ key, shape }) => (key ? isTable(value) && key in value : fits(shape, value)));
  return Math.max(0, found);
}

/** Whether two values say the same. */
export function equal(a: Value | undefined, b: Value | undefined): boolean {
  if (a === b || typeof a !== "object" || typeof b !== "object" || a === null || b === null) return Object.is(a, b);
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [of, and] = [Object.entries(a), b as { [key: string]: Value }];
  return of.length === Object.keys(and).length && of.every(([key, value]) => key in and && equal(value, and[key]));
}

export const isTable = (value: Value | undefined): value is { [key: string]: Value } =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function fits(shape: Shape, value: Value | undefined): boolean {
  switch (shape.kind) {
    case "table":
    case "algorithm":
    case "settings":
      return isTable(value);
    case "tables":
    case "list":
      return Array.isArray(value);
    case "number":
      return typeof value === "number";
    case "name":
      return typeof value === "string" && shape.names.some((name) => name.value === value);
    case "choice":
      return shape.choices.some((one) => (one.key ? isTable(value) && one.key in value : fits(one.shape, value)));
    case "flag":
      return typeof value === "boolean";
    default:
      return typeof value === "string";
  }
}

/** A value to begin with, which a person then changes. */
export function beginning(shape: Shape): Value {
  switch (shape.kind) {
    case "text":
      return "name";
    case "flag":
      return true;
    case "number":
      return Math.max(1, shape.least ?? 1);
    case "quantity":
      return { time: "100 ms", bytes: "1000 B", rate: "10 Mbit/s", queue: "100 packets" }[shape.of];
    case "name":
      return shape.names[0]?.value ?? "";
    case "any":
      return 1;
    case "list": {
      const count = Math.max(1, shape.least);
      return Array.from({ length: count }, (_, i) => scaled(beginning(shape.item), i + 1));
    }
    case "table": {
      const needed = shape.fields.filter((field) => field.required);
      const kept = needed.length
        ? needed
        : shape.fields.filter(({ key }) => key === "name" || key === "list").slice(0, 1);
      return Object.fromEntries(kept.map((field) => [field.key, beginning(field.shape)]));
    }
    case "tables":
      return [beginning(shape.item)];
    case "choice": {
      const [first] = shape.choices;
      if (!first) return "";
      return first.key ? { [first.key]: beginning(first.shape) } : beginning(first.shape);
    }
    case "algorithm":
      return { algorithm: "drop-tail" };
    case "settings":
      return {};
  }
}

/** The bounds of a range are to differ. */
function scaled(value: Value, by: number): Value {
  if (typeof value === "number") return value * by;
  if (typeof value !== "string") return value;
  return value.replace(/^\d+/, (digits) => String(Number(digits) * by));
}

// The order in which a form shows keys.

/** The keys that most people change, first; the others follow when they are asked for, or set. */
export const COMMON: { readonly [table: string]: readonly string[] } = {
  scenario: ["title", "duration", "warmup", "seeds"],
  dumbbell: ["rate", "delay", "buffer", "ecn"],
  parking_lot: ["bottlenecks", "rate", "delay", "buffer", "ecn"],
  links: ["from", "to", "rate", "delay", "buffer"],
  tcp: ["congestion", "recovery", "ecn", "pacing", "packet"],
  reverse: ["rate", "buffer", "aqm"],
  flows: ["name", "kind", "count", "rtt", "start", "direction"],
};

/** The keys of a group that are common for its kind. */
export const OF_KIND: { readonly [kind: string]: readonly string[] } = {
  bulk: [],
  transfers: ["size", "think"],
  sessions: ["sessions_per_second", "size", "transfers"],
  pages: ["objects", "size", "think"],
  video: ["rates"],
  responsiveness: ["load"],
  udp: ["rate", "packet", "gaps"],
  trace: ["file"],
};

const KINDS = Object.keys(OF_KIND);

/** Whether a key of a group of flows means something for a kind, as far as its description says for which it does. */
export function means(field: Field, kind: string): boolean {
  if (field.key === "tcp") return kind !== "udp" && kind !== "trace";
  const named = KINDS.filter((one) =>
    [`("${one}"`, `, "${one}"`, `"${one}", "`, `"${one}":`].some((text) => field.doc.includes(text)),
  );
  return named.length === 0 || named.includes(kind);
}

/** The words of a key, for people: "access_rate" as "Access rate". */
export function words(key: string): string {
  const known: { readonly [key: string]: string } = {
    rtt: "Round-trip time",
    rtt_changes: "Changes of the round-trip time",
    ecn: "ECN",
    tcp: "TCP",
    aqm: "Algorithm",
    dscp: "DSCP",
    sha256: "SHA-256",
    on_off: "On and off",
    warmup: "Warm-up",
  };
  const text = known[key] ?? key.replaceAll("_", " ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
