// Provisional, until `QUELL_UPDATE_DOCS=1 cargo test -p quell-web` writes it.

export type SourceFile = { name: string; bytes: string };
export type Source = { text: string; name: string; files: SourceFile[]; set: [string, string][]; aqm?: string[] };
export type Fault = {
  message: string;
  file: string;
  line: number | null;
  column: number | null;
  field: string;
  value: string | null;
  rule: string;
  nearest: string | null;
  known: string | null;
};
export type Edit = { path: string; value: string | null };
export type Algorithm = { label: string; algorithm: string };
export type Checked = {
  title: string;
  points: { title: string; settings: [string, string][] }[];
  algorithms: Algorithm[];
};
export type Tree = unknown;
