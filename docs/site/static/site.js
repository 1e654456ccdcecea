// What pages do beyond being read: old anchors, tables that sort and filter, versions, the laboratory in a page. Without it
// every page still has all its text, tables and pictures.

const root = document.documentElement.dataset.content_root ?? "./";

// Headings of long pages went into pages of their own; their old anchors lead there.
function followMoved() {
  const data = document.getElementById("moved");
  const target = data && JSON.parse(data.textContent)[decodeURIComponent(location.hash.slice(1))];
  if (target) location.replace(target);
}
followMoved();
addEventListener("hashchange", followMoved);

const UNITS = {
  ns: 1e-9, us: 1e-6, µs: 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600,
  "bit/s": 1, "kbit/s": 1e3, "Mbit/s": 1e6, "Gbit/s": 1e9, "Tbit/s": 1e12,
  B: 1, kB: 1e3, MB: 1e6, GB: 1e9,
};

/** What a cell counts for when its column is sorted; null for words. */
function number(text) {
  const plain = text.trim().replace(/−/g, "-");
  if (plain === "=") return 0;
  const verdicts = plain.match(/^(?:(\d+)▲)?\s*(?:(\d+)▼)?$/);
  if (verdicts && plain) return Number(verdicts[1] ?? 0) - Number(verdicts[2] ?? 0);
  const found = plain.match(/^([+-]?\d[\d,]*\.?\d*(?:e[+-]?\d+)?)(?:\s*([^\s\d]+))?/i);
  return found ? Number(found[1].replaceAll(",", "")) * (UNITS[found[2]] ?? 1) : null;
}

Tablesort.extend("number", () => false, (a, b) => Number(b) - Number(a) || 0);

function makeSortable(table) {
  const rows = [...table.tBodies[0].rows];
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    const cells = rows.map((row) => row.cells[column]).filter((cell) => cell?.textContent.trim());
    const values = cells.map((cell) => number(cell.textContent));
    if (cells.length === 0 || values.filter((value) => value !== null).length < 0.7 * cells.length) return;
    head.dataset.sortMethod = "number";
    // Rows without a number come last.
    for (const row of rows) row.cells[column]?.setAttribute("data-sort", number(row.cells[column].textContent) ?? 1e300);
  });
  for (const head of table.tHead.rows[0].cells) {
    if (!head.textContent.trim()) head.dataset.sortMethod ??= "none";
    else head.title = "Sort by this column";
  }
  new Tablesort(table);
}

/** The example in an empty filter has at most so many characters, which fit. */
const HINT = 16;

function makeFilter(table) {
  const rows = [...table.tBodies[0].rows];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const bar = document.createElement("div");
  bar.className = "site-filter";
  const label = document.createElement("label");
  label.textContent = "Filter rows ";
  const first = rows[0].cells[0].textContent.trim();
  const placeholder = first && first.length <= HINT ? `such as ${first}` : "";
  const input = Object.assign(document.createElement("input"), { type: "search", placeholder });
  const count = document.createElement("output");
  const show = () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    rows.forEach((row, at) => (row.hidden = !words.every((word) => texts[at].includes(word))));
    const shown = rows.filter((row) => !row.hidden).length;
    count.textContent = shown === rows.length ? `${rows.length} rows` : `${shown} of ${rows.length} rows`;
  };
  input.addEventListener("input", show);
  show();
  label.append(input);
  bar.append(label, count);
  (table.closest(".pst-scrollable-table-container") ?? table).before(bar);
}

/** Lets a long name, such as flow_completion_time_p99_s, go on in the next line after one of its parts. */
function breakName(code) {
  const walk = document.createTreeWalker(code, NodeFilter.SHOW_TEXT);
  const texts = [];
  while (walk.nextNode()) texts.push(walk.currentNode);
  for (const text of texts) {
    const parts = text.data.split(/(?<=[_./-])(?=\w)/);
    text.replaceWith(...parts.flatMap((part, at) => (at ? [document.createElement("wbr"), part] : [part])));
  }
}

for (const code of document.querySelectorAll("td.site-name code")) breakName(code);
for (const table of document.querySelectorAll("table.site-sort")) makeSortable(table);
for (const table of document.querySelectorAll("table.site-filtered")) makeFilter(table);
// An anchor in a table that the page scrolled to before its rows had their place.
if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();

// The versions that stand beside this one. Opened as a file, a page knows of none but its own.
// The theme has the choice twice: above the page, and in the side bar of narrow windows.
for (const versions of location.protocol === "file:" ? [] : document.querySelectorAll(".site-versions select")) {
  fetch(new URL(versions.dataset.list, location.href))
    .then((answer) => (answer.ok ? answer.json() : []))
    .then((list) => {
      const own = versions.value;
      versions.replaceChildren(...list.map((one) => new Option(one.name, one.version, false, one.version === own)));
      versions.addEventListener("change", async () => {
        const home = new URL(`../${versions.value}/`, new URL(root, location.href));
        const same = new URL(versions.dataset.page, home);
        const there = await fetch(same, { method: "HEAD" }).catch(() => null);
        location.href = there?.ok ? same.href : home.href;
      });
    })
    .catch(() => {});
}

// A picture of a run becomes the run itself when someone asks for it: the laboratory is some megabytes.
for (const figure of document.querySelectorAll(".site-lab")) {
  const button = document.createElement("button");
  button.className = "btn btn-primary site-run";
  button.textContent = "Run it here";
  const address = new URL(`../lab/?embed=1#${figure.dataset.state}`, new URL(root, location.href));
  button.addEventListener("click", () => {
    const frame = document.createElement("iframe");
    frame.title = `The laboratory with ${figure.dataset.name}`;
    frame.src = address.href;
    figure.replaceChildren(frame);
    frame.focus();
  });
  figure.append(button);
}
