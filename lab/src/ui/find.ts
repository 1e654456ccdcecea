// Searches in lists, by the words that people type.

/** Words for what the field calls by other names. */
const ALSO: { readonly [word: string]: string } = {
  bandwidth: "rate",
  lag: "delay",
  latency: "delay",
  limit: "buffer",
  ping: "round-trip",
  speed: "rate",
};
/** Shorter beginnings of words stand for themselves only. */
const SHORTEST = 3;

/** Whether all words of a search, or other words for them, are in a text. */
export function finds(text: string, typed: string): boolean {
  const all = text.toLowerCase();
  const others = (word: string) =>
    word.length < SHORTEST
      ? []
      : Object.keys(ALSO).flatMap((also) => (also.startsWith(word) ? [ALSO[also] ?? ""] : []));
  const words = typed.trim().toLowerCase().split(/\s+/);
  return words.every((word) => all.includes(word) || others(word).some((other) => all.includes(other)));
}
