// How the search orders what it finds. Sphinx knows whether a page has a word, and a title, but not how much a page is about it, and
// leaves what is equal to the alphabet. WEIGHTS, which ranks.py writes below, says it of the words of each page.

var LATER = [
  [/^papers\/.*\//, 4],
  [/^characterization\//, 4],
  [/^validation\/.*-every-case$/, 4],
  [/^(contributing|architecture|development\/|crates\/)/, 3],
  [/^(performance|papers\/)/, 2],
  [/^(tutorials|how-to|explanation|reference|development)\/index$/, 3],
];

var Stemmed = {};

/** The share of common words among all that two lists have. */
function likeness(one, other) {
  const shared = one.filter((word) => other.includes(word)).length;
  return shared / Math.max(1, one.length + other.length - shared);
}

// A `var`, since Sphinx's own stands before it.
var Scorer = {
  score: ([page, title, , , score]) => {
    const stemmer = new Stemmer();
    const words = (text) => (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).map((word) => stemmer.stemWord(word));
    const asked = [...new Set(words(new URLSearchParams(location.search).get("q") ?? ""))];
    // A page is named by its title and by its file, as algorithms/red.html is, whose title spells it out.
    const names = [title, page.replace(/\/index$/, "").split("/").at(-1)];
    const alike = Math.max(...names.map((name) => likeness(asked, (Stemmed[name] ??= [...new Set(words(name))]))));
    const about = asked.reduce((sum, word) => sum + (WEIGHTS[page]?.[word] ?? 0) / 10, 0);
    const later = LATER.find(([pattern]) => pattern.test(page))?.[1] ?? 0;
    return score + 10 * alike + about - later;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  // Titles count above, by how much of them was asked for.
  title: 5,
  partialTitle: 2,
  term: 5,
  partialTerm: 2,
};
