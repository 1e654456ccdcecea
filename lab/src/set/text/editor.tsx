// The editor of the text: CodeMirror in a shadow tree, where it can have its style sheets under the page's policy. Its
// history is the page's.

import { type Diagnostic, lintGutter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { Annotation, EditorState, type SelectionRange } from "@codemirror/state";
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  keymap,
  lineNumbers,
} from "@codemirror/view";
import { effect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Fault } from "../../protocol.ts";
import { change, doc, fault, tree, unreadable, verdict } from "../../state/document.ts";
import { brief } from "../../ui/fault.tsx";
import { mendings } from "../values.ts";
import { colors } from "./colors.ts";

/** Changes that come from the document and are not to go back to it. */
const fromDocument = Annotation.define<boolean>();

const THEME = EditorView.theme({
  "&": { height: "100%", backgroundColor: "var(--ground)", color: "var(--ink)", fontSize: "0.875rem" },
  "&.cm-focused": { outline: "2px solid var(--accent)", outlineOffset: "-2px" },
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.5" },
  ".cm-content": { caretColor: "var(--ink)", padding: "0.4rem 0" },
  ".cm-cursor": { borderLeftColor: "var(--ink)", borderLeftWidth: "2px" },
  ".cm-gutters": { backgroundColor: "var(--raised)", color: "var(--soft)", borderRight: "1px solid var(--line)" },
  ".cm-activeLine": { backgroundColor: "color-mix(in srgb, var(--tint) 45%, transparent)" },
  ".cm-activeLineGutter": { backgroundColor: "var(--tint)", color: "var(--ink)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": {
    backgroundColor: "color-mix(in srgb, var(--accent) 30%, transparent)",
  },
  ".toml-comment": { color: "var(--soft)", fontStyle: "italic" },
  ".toml-string": { color: "var(--good)" },
  ".toml-head": { fontWeight: "700" },
  ".toml-key": { color: "var(--accent)" },
  ".toml-value": { color: "var(--warn)" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--ink)", borderColor: "var(--line)" },
  ".cm-tooltip": {
    backgroundColor: "var(--ground)",
    color: "var(--ink)",
    border: "1px solid var(--line)",
    maxWidth: "min(34rem, 90vw)",
  },
  ".cm-diagnostic-error": { borderLeftColor: "var(--wrong)" },
  ".cm-diagnosticAction": { backgroundColor: "var(--accent)", color: "var(--on-accent)", font: "inherit" },
  ".cm-lintRange-error": {
    backgroundImage: "none",
    textDecoration: "underline wavy var(--wrong) 1.5px",
    textUnderlineOffset: "3px",
  },
  ".cm-lintPoint-error::after": { borderBottomColor: "var(--wrong)" },
});

export function TextEditor() {
  const host = useRef<HTMLDivElement>(null);
  useEffect(() => {
    if (!host.current) return;
    const root = host.current.shadowRoot ?? host.current.attachShadow({ mode: "open" });
    root.replaceChildren();
    const parent = document.createElement("div");
    parent.style.height = "100%";
    root.append(parent);
    const view = new EditorView({
      root,
      parent,
      state: EditorState.create({
        doc: doc.peek().text,
        extensions: [
          lineNumbers(),
          lintGutter(),
          drawSelection(),
          highlightActiveLine(),
          highlightActiveLineGutter(),
          colors,
          keymap.of([
            { key: "Enter", run: breakLine },
            { key: "Backspace", run: (view) => erase(view, false) },
            { key: "Delete", run: (view) => erase(view, true) },
            { key: "Mod-a", run: selectAll },
            { key: "Mod-Home", mac: "Cmd-ArrowUp", ...move(() => 0) },
            { key: "Mod-End", mac: "Cmd-ArrowDown", ...move((view) => view.state.doc.length) },
            { key: "PageUp", ...move((view, from) => page(view, from, false)) },
            { key: "PageDown", ...move((view, from) => page(view, from, true)) },
            ...lintKeymap,
          ]),
          EditorView.domEventHandlers({ beforeinput: overSelection }),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({
            "aria-label": "The scenario's text, in TOML",
            autocapitalize: "off",
            tabindex: "0",
          }),
          THEME,
          EditorView.updateListener.of((update) => {
            const own = update.transactions.some((one) => one.docChanged && !one.annotation(fromDocument));
            if (own) change({ text: update.state.doc.toString() }, { merge: "typing" });
          }),
        ],
      }),
    });
    const stops = [
      effect(() => follow(view, doc.value.text)),
      effect(() => {
        const found = unreadable.value ?? fault.value;
        const of = unreadable.value ? doc.value.text : verdict.value?.of.text;
        const all = found && of === view.state.doc.toString() ? diagnostics(view, found) : [];
        view.dispatch(setDiagnostics(view.state, all));
      }),
    ];
    return () => {
      for (const stop of stops) stop();
      view.destroy();
    };
  }, []);
  return <div class="editor" ref={host} />;
}

// What a browser does over several lines leaves styles in them, which the page's policy forbids: so the editor does that
// itself, and what goes beyond the lines that are drawn. All other keys do what the browser does.

/** Begins a line. */
function breakLine(view: EditorView): boolean {
  view.dispatch(view.state.replaceSelection(view.state.lineBreak), { scrollIntoView: true, userEvent: "input" });
  return true;
}

function selectAll(view: EditorView): boolean {
  view.dispatch({ selection: { anchor: 0, head: view.state.doc.length } });
  return true;
}

/** A key that moves the cursor; with Shift it selects. */
function move(to: (view: EditorView, from: SelectionRange) => number) {
  const go = (view: EditorView, selects: boolean) => {
    const { main } = view.state.selection;
    const head = to(view, main);
    view.dispatch({ selection: { anchor: selects ? main.anchor : head, head }, scrollIntoView: true });
    return true;
  };
  return { run: (view: EditorView) => go(view, false), shift: (view: EditorView) => go(view, true) };
}

const page = (view: EditorView, from: SelectionRange, forward: boolean): number =>
  view.moveVertically(from, forward, view.scrollDOM.clientHeight).head;

/** Takes away what is selected, or a character. */
function erase(view: EditorView, forward: boolean): boolean {
  const { main } = view.state.selection;
  const other = main.empty ? view.moveByChar(main, forward).head : main.anchor;
  const [from, to] = [Math.min(main.head, other), Math.max(main.head, other)];
  if (from < to) view.dispatch({ changes: { from, to }, scrollIntoView: true, userEvent: "delete" });
  return true;
}

/** Puts what is typed in the place of what is selected. */
function overSelection(event: InputEvent, view: EditorView): boolean {
  if (view.composing || event.inputType !== "insertText" || !event.data || view.state.selection.main.empty)
    return false;
  event.preventDefault();
  view.dispatch(view.state.replaceSelection(event.data), { scrollIntoView: true, userEvent: "input.type" });
  return true;
}

/** Changes only what differs, so that the cursor and the place stay. */
function follow(view: EditorView, text: string): void {
  const old = view.state.doc.toString();
  if (old === text) return;
  const most = Math.min(old.length, text.length);
  let from = 0;
  while (from < most && old[from] === text[from]) from += 1;
  let same = 0;
  while (same < most - from && old[old.length - 1 - same] === text[text.length - 1 - same]) same += 1;
  const to = old.length - same;
  view.dispatch({
    changes: { from, to, insert: text.slice(from, text.length - same) },
    annotations: fromDocument.of(true),
  });
}

/** A fault under what it is about: the value, or the key if that is unknown, or the line. */
function diagnostics(view: EditorView, found: Fault): Diagnostic[] {
  const text = view.state.doc;
  const place = found.field && tree.value?.of === text.toString() ? tree.value.tree.places[found.field] : undefined;
  const number = found.line ?? place?.line ?? 1;
  const line = text.line(Math.min(Math.max(1, number), text.lines));
  const unknown = /unknown key|belongs/.test(found.rule);
  const span = place && (unknown ? (place.key ?? place.value) : place.value);
  const start = line.from + (line.text.length - line.text.trimStart().length);
  const [from, to] =
    span && span[0] >= line.from && span[0] <= line.to && span[1] <= text.length ? span : [start, line.to];
  return [
    {
      from,
      to: Math.max(from, to),
      severity: "error",
      message: brief(found).says,
      actions: mendings(found).map(({ says, run }) => ({ name: `Write “${says}”`, apply: () => void run() })),
    },
  ];
}
