// How the search orders what it finds. Sphinx counts a word in a title more than one in the text, and leaves what is equal to the
// alphabet: so here a title counts by how much of it was asked for, and pages of many numbers come after those that explain.

var LATER = [
  [/^papers\/.*\//, 4],
  [/^characterization\//, 4],
  [/^validation\/.*-every-case$/, 4],
  [/^(contributing|architecture|development\/|crates\/)/, 3],
  [/^(performance|papers\/)/, 2],
  [/\/index$/, 1],
];
var SOONER = [
  [/^(reference\/|metrics|references|algorithms\/|senders\/)/, 1],
  [/^(tutorials|how-to)\//, 2],
  [/^(links|traffic|senders|sweeps|presets|seeds|paper|traces|scale|gateway|c|lab)$/, 2],
];

// A `var`, since Sphinx's own stands before it.
var Scorer = {
  score: ([page, title, , , score]) => {
    const words = (text) => text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
    const asked = words(new URLSearchParams(location.search).get("q") ?? "");
    const named = words(title);
    const shared = asked.filter((word) => named.includes(word)).length;
    const change = (list) => list.find(([pattern]) => pattern.test(page))?.[1] ?? 0;
    return score + (named.length ? (10 * shared) / (named.length + asked.length - shared) : 0) - change(LATER) + change(SOONER);
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 12,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
