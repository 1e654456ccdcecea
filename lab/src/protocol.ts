// Provisional, until `QUELL_UPDATE_DOCS=1 cargo test -p quell-web` writes it.

export type SourceFile = { name: string; text?: string; bytes?: string };
export type Source = { text: string; name?: string; files?: SourceFile[]; set?: [string, string][]; aqm?: string[] };
export type EditStep = { path: string; value: string | null; to?: number };
export type Look = { color: string; dark: string; dashes: number[]; mark: string };
export type AboutParameter = { name: string; doc: string; unit: string; default: string; source: string; range: string | null };
export type AboutAlgorithm = {
  name: string;
  title: string;
  family: string;
  source: string;
  label: "experimental" | "faithful" | "reproduced";
  params: AboutParameter[];
  style: Look;
  model: boolean;
};
export type AboutSender = { key: string; name: string; title: string; doc: string; source: string; reads: string[]; needs: string[]; refuses: string[] };
export type AboutPreset = { name: string; title: string; about: string; aliases: string[]; sources: [string, string][] };
export type AboutLoad = AboutPreset & { duration_s: number; warmup_s: number; aqm: string[]; metrics: string[] };
export type About = {
  version: string;
  commit: string;
  algorithms: AboutAlgorithm[];
  tcp: AboutParameter[];
  senders: AboutSender[];
  dialects: { name: string; release: string }[];
  metrics: { name: string; title: string; unit: string; better: string; doc: string; source: string }[];
  diagrams: { name: string; doc: string }[];
  loads: AboutLoad[];
  links: AboutPreset[];
};
export type CheckedAlgorithm = { label: string; algorithm: string; style: Look };
export type CheckedPoint = { settings: { field: string; value: string }[]; title: string; algorithms: string[]; seeds: (number | string)[]; duration_s: number; warmup_s: number; estimated_packets: number };
export type Checked = {
  title: string;
  description: string;
  points: CheckedPoint[];
  notes: string[];
  algorithms: CheckedAlgorithm[];
  runs: number;
  estimated_packets: number;
  files: string[];
  resolved: string;
  defaults: Record<string, unknown>;
};
export type TreePlace = { key: [number, number] | null; value: [number, number]; line: number; form: string };
export type Tree = { value: Record<string, unknown>; places: Record<string, TreePlace>; files: string[] };
export type FaultKind = "scenario" | "request" | "large" | "failed";
export type Fault = {
  kind: FaultKind;
  message: string;
  file: string | null;
  line: number | null;
  column: number | null;
  field: string | null;
  value: string | null;
  rule: string;
  nearest: string | null;
  known: string | null;
};
