// What every figure has: a title, its numbers as a table, and what saves it.

import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { download } from "../ui/index.tsx";
import { slug } from "./svg.ts";
import { format } from "./thin.ts";

export { format } from "./thin.ts";

/** A file that a figure can be saved as. */
export interface Kept {
  readonly kind: "svg" | "csv" | "tex" | "md" | "html";
  readonly text: () => string | null;
}

const TYPES = {
  svg: "image/svg+xml",
  csv: "text/csv",
  tex: "text/x-tex",
  md: "text/markdown",
  html: "text/html",
};
const WORDS = { svg: "SVG", csv: "CSV", tex: "LaTeX", md: "Markdown", html: "HTML" };

/** A row of numbers. */
export type Row = readonly (string | number | null)[];

/** The numbers of a figure, made when somebody wants to see them. */
export interface Numbers {
  readonly heads: readonly string[];
  readonly rows: readonly Row[];
  /** What is left out. */
  readonly note?: string;
}

interface Props {
  title: string;
  kept?: readonly Kept[];
  name?: string;
  numbers?: () => Numbers;
  children: ComponentChildren;
  class?: string;
  dim?: boolean;
  /** The picture has the title in it. */
  titled?: boolean;
}

export function Figure(p: Props) {
  const [open, setOpen] = useState(false);
  const id = useId();
  return (
    <figure class={`figure ${p.class ?? ""} ${p.dim ? "dim" : ""}`}>
      <figcaption>
        <span class="figure-title">{p.titled ? <span class="hidden">{p.title}</span> : p.title}</span>
        <span class="save">
          {p.numbers && (
            <button
              type="button"
              aria-expanded={open}
              aria-controls={id}
              aria-label={`Numbers of this figure: ${p.title}`}
              onClick={() => setOpen(!open)}
            >
              Numbers
            </button>
          )}
          {p.kept && <Save of={p.kept} name={p.name ?? p.title} title={p.title} />}
        </span>
      </figcaption>
      {p.children}
      <div id={id} hidden={!open}>
        {open && p.numbers && <Table of={p.numbers()} title={p.title} />}
      </div>
    </figure>
  );
}

/** Buttons that save something. */
export function Save({ of, name, title }: { of: readonly Kept[]; name: string; title: string }) {
  return (
    <>
      {of.map(({ kind, text }) => (
        <button
          key={kind}
          type="button"
          aria-label={`Save as ${WORDS[kind]}: ${title}`}
          title={`Save as ${WORDS[kind]}`}
          onClick={() => {
            const content = text();
            if (content !== null) download(`${slug(name)}.${kind}`, content, TYPES[kind]);
          }}
        >
          {WORDS[kind]}
        </button>
      ))}
    </>
  );
}

function Table({ of, title }: { of: Numbers; title: string }) {
  return (
    <div class="scroll numbers" tabIndex={0} role="region" aria-label={`Numbers of ${title}`}>
      <table>
        <thead>
          <tr>
            {of.heads.map((head) => (
              <th key={head} scope="col">
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {of.rows.map(([first, ...rest], i) => (
            <tr key={i}>
              <th scope="row">{format(first)}</th>
              {rest.map((cell, k) => (
                <td key={k}>{format(cell)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
      {of.note && <p class="note">{of.note}</p>}
    </div>
  );
}
