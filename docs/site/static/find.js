// How the search finds: sections rather than pages, in the order of MiniSearch's BM25+, and words that are nearly right. Sphinx's
// own search shows them; it would find only pages that have every word, "how" and "what" too, exactly as typed.

/** Words of questions, which say nothing about the answer; Sphinx's list has most of the others. */
var FIND_WITHOUT = new Set(
  "how what which who whom why when where do does did done i you we my our your me can could should would will want need is are was it its the a an of to in on at for from by with and or if be this that there quell please use using used get make".split(" "),
);

/** Parts of compounds that one reader types in one word, and another in two. */
var FIND_SAME = { wlan: "wifi", speedtest: "speed test", realtime: "real time", rtt: "rtt round trip", ip: "address" };

/** Pages of single cases and for developers, which come after those about the same for everyone. */
var FIND_LATER = [
  [/^papers\/.*\//, 0.45],
  [/^characterization\//, 0.5],
  [/^validation\/.*-every-case$/, 0.5],
  [/^leaderboard\//, 0.7],
  [/^(contributing|architecture|changelog|security|stability|development\/|crates\/)/, 0.6],
  [/^(performance|references|papers\/|notebooks\/)/, 0.7],
  [/^(tutorials|how-to|explanation|reference)\/index$/, 0.5],
];

/** How many times as much a section counts whose heading and `[words]` have every word, and a page whose name was typed: not one
 * of those that come later, of which other pages have the name, too. */
var COVERED = 4;
var NAMED = 20;

/** How many further sections of a page count, and what share of the next one's score; of each further one, half of that before. */
var OTHERS = 3;
var SHARE = 0.3;

/** What the index keeps, and how words are prepared for it. */
function findOptions() {
  const stemmer = new Stemmer();
  const stems = new Map();
  const stem = (word) => {
    if (!stems.has(word)) stems.set(word, stemmer.stemWord(word));
    return stems.get(word);
  };
  return {
    fields: ["title", "heading", "also", "text"],
    storeFields: ["page", "anchor", "title", "heading"],
    // A name such as queue_delay_p99_s is found whole, and by its parts.
    tokenize: (text) =>
      text
        .toLowerCase()
        .replace(/\bwi[- ]fi\b/g, "wifi")
        .match(/[\p{L}\p{N}_]+/gu)
        ?.flatMap((word) => (word.includes("_") ? [word, ...word.split("_").filter(Boolean)] : [word])) ?? [],
    processTerm: (term) => (FIND_WITHOUT.has(term) ? null : stem(term)),
  };
}

/** The results for a query, the best first: at most one section of each page, with the words in place of those that no page has. */
function find(index, query) {
  const sides = query.split(/\s+(?:vs|versus)\b\.?\s*/i).filter((side) => side.trim());
  if (sides.length < 2) return findAll(index, sides[0] ?? query);
  // One against the other: by turns what is about each of them, and what compares them.
  const found = [...sides, `${sides.join(" ")} comparison`].map((side) => findAll(index, side));
  const turns = found[0].results.flatMap((_, at) => found.map(({ results }) => results[at]).filter(Boolean));
  const results = turns.filter(({ page }, at) => turns.findIndex((other) => other.page === page) === at);
  const merged = (of) => [...new Set(found.slice(0, sides.length).flatMap(of))];
  return { results, words: merged(({ words }) => words), unknown: merged(({ unknown }) => unknown), instead: merged(({ instead }) => instead) };
}

function findAll(index, query) {
  const { tokenize, processTerm } = findOptions();
  // "What does X mean" is not about means.
  const typed = query
    .replace(/^(what .*) means?\W*$/i, "$1")
    .replace(/\bwi fi\b/gi, "Wi-Fi")
    .split(/\s+/)
    .map((word) => ({ word, tokens: tokenize(word).flatMap((token) => (FIND_SAME[token] ? tokenize(FIND_SAME[token]) : [token])) }));
  const asked = typed.flatMap(({ tokens }) => tokens);
  const known = new Set(asked.filter((word) => processTerm(word) && index.search(word, { tokenize: (text) => [text] }).length));
  // The parts of a name matter only where the whole name is nowhere.
  const parts = new Set(asked.filter((word) => word.includes("_") && known.has(word)).flatMap((word) => word.split("_")));
  const words = [...new Set(asked)].filter((word) => processTerm(word) && !parts.has(word));
  const strange = words.filter((word) => !known.has(word));
  const name = query.toLowerCase().trim().split(/[_\s-]+/).join(" ");
  const terms = new Set(words.filter((word) => known.has(word)).map(processTerm));
  const later = (page) => FIND_LATER.find(([pattern]) => pattern.test(page))?.[1] ?? 1;
  const found = index.search([...words].join(" "), {
    tokenize: (text) => text.split(" "),
    boost: { title: 3, heading: 4, also: 5 },
    boostDocument: (_id, _term, { page }) => later(page),
    // What one types first is often the beginning of a longer word.
    prefix: (term) => term.length > 3 && !known.has(term),
    fuzzy: (term) => (term.length > 3 && strange.some((word) => processTerm(word) === term) ? 0.3 : false),
  });
  // A page that says much about it in several sections counts for more than its best section.
  const pages = new Map();
  for (const result of found) {
    const fields = [...terms].map((term) => result.match[term] ?? []);
    const about = fields.some((of) => of.includes("also")) && fields.every((of) => of.some((field) => field !== "text"));
    const named = later(result.page) === 1 && !result.anchor && result.page.split("/").at(-1).split(/[_-]/).join(" ") === name;
    const score = result.score * (named ? NAMED : about ? COVERED : 1);
    const best = pages.get(result.page);
    if (!best) pages.set(result.page, { ...result, score, others: 0 });
    else if (score > best.score) pages.set(result.page, { ...result, score: score + best.score * SHARE, others: best.others });
    else if (best.others < OTHERS) best.score += (score * SHARE) / 2 ** best.others++;
  }
  const results = [...pages.values()].sort((one, other) => other.score - one.score);
  const instead = new Set(results.slice(0, 3).flatMap(({ queryTerms, terms }) => terms.filter((term) => !queryTerms.includes(term))));
  // As it was typed, without the marks around it.
  const unknown = typed
    .filter(({ tokens }) => tokens.some((token) => strange.includes(token)))
    .map(({ word }) => word.replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, ""));
  return { results, words, unknown: [...new Set(unknown)], instead: [...instead] };
}

if (typeof Search !== "undefined" && typeof document !== "undefined") {
  // So many are shown; each needs its page for the lines below its name.
  const SHOWN = 25;
  const index = MiniSearch.loadJSON(FIND_INDEX, findOptions());
  Search._index = {};
  Search.query = (query) => {
    document.getElementById("search-progress")?.replaceChildren();
    const { results, words, unknown, instead } = find(index, query);
    localStorage.setItem("sphinx_highlight_terms", words.join(" "));
    if (unknown.length) {
      const note = document.createElement("p");
      note.className = "site-instead";
      note.textContent = `No page has “${unknown.join("”, “")}”${results.length && instead.length ? "; these are the results for words like it." : "."}`;
      Search.output.before(note);
    }
    const shown = results.slice(0, SHOWN).map(({ page, anchor, title, heading, score }) => [
      page,
      anchor && heading !== title ? `${title} > ${heading}` : title,
      anchor ? `#${anchor}` : "",
      null,
      score,
      page,
      "text",
    ]);
    // Sphinx takes them from the end.
    const terms = new Set([...words, ...instead]);
    _displayNextItem(shown.reverse(), shown.length, terms, terms);
  };
}
