// The colors of TOML in the editor.

import { type Extension, RangeSetBuilder } from "@codemirror/state";
import { Decoration, type DecorationSet, type EditorView, ViewPlugin, type ViewUpdate } from "@codemirror/view";
import { tokens } from "./tokens.ts";

/** Longer texts stay in one color, so that typing stays quick. */
const LONGEST = 200_000;

function decorate(view: EditorView): DecorationSet {
  const builder = new RangeSetBuilder<Decoration>();
  if (view.state.doc.length <= LONGEST) {
    for (const { from, to, kind } of tokens(view.state.doc.toString())) {
      builder.add(from, to, Decoration.mark({ class: `toml-${kind}` }));
    }
  }
  return builder.finish();
}

class Colors {
  decorations: DecorationSet;

  constructor(view: EditorView) {
    this.decorations = decorate(view);
  }

  update(update: ViewUpdate) {
    if (update.docChanged) this.decorations = decorate(update.view);
  }
}

export const colors: Extension = ViewPlugin.fromClass(Colors, { decorations: (of) => of.decorations });
