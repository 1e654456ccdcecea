// The parts of TOML that have a color: one expression over the whole text, which is short.

/** Comments, strings of one and of several lines, heads of tables, keys, numbers and other plain values. */
const TOKENS = new RegExp(
  [
    /(?<comment>#[^\n]*)/,
    /(?<key>(?:[A-Za-z0-9_.-]+|"(?:\\.|[^"\\\n])*"|'[^'\n]*')(?:\.(?:[A-Za-z0-9_-]+|"[^"\n]*"))*(?=[ \t]*=))/,
    /(?<string>"""[\s\S]*?(?:"""|$(?![\s\S]))|'''[\s\S]*?(?:'''|$(?![\s\S]))|"(?:\\.|[^"\\\n])*"?|'[^'\n]*'?)/,
    /(?<head>^[ \t]*\[\[?[^\]\n]*\]\]?)/,
    /(?<value>\b(?:true|false|inf|nan)\b|[-+]?\b\d[\d_.eE+-]*)/,
  ]
    .map(({ source }) => source)
    .join("|"),
  "gm",
);

/** A part of a text, and what it is: the class "toml-" and this name. */
export interface Token {
  readonly from: number;
  readonly to: number;
  readonly kind: string;
}

/** The parts of a text that have a color, in order. */
export function* tokens(text: string): Generator<Token> {
  for (const match of text.matchAll(TOKENS)) {
    const kind = Object.entries(match.groups ?? {}).find(([, part]) => part !== undefined)?.[0];
    if (kind) yield { from: match.index, to: match.index + match[0].length, kind };
  }
}
