//! What the forms of a page share: its parts, and their words.

use crate::cells::slug;
use crate::digits::figure;
use crate::experiment::{Document, Papers, Reading, ScenarioRun};
use crate::figures::Drawn;
use crate::judge::{Holds, JudgedCell, JudgedClaim, JudgedExperiment, JudgedTable, Verdict, text};
use crate::plan::lexical;
use crate::score::{Score, scores};
use quell_lab::distinct;
use quell_view::picture::Outcome;
use std::path::Path;

/// The parts of a page.
#[derive(Clone, Debug)]
pub struct Page<'a> {
    /// All documents.
    pub papers: &'a Papers,
    /// The page's document.
    pub document: &'a Document,
    /// Its experiments that were judged, with their figures.
    pub experiments: Vec<(JudgedExperiment<'a>, Vec<Drawn<'a>>)>,
}

/// A table of a document as it is cited.
pub(super) fn table_name(document: &Document, table: &str) -> String {
    let reference = &document.about.reference;
    match (table, table.strip_prefix("sec. ")) {
        ("", _) => format!("{reference}, claims"),
        (_, Some(section)) => format!("{reference}, section {section}"),
        (table, None) => format!("{reference}, Table {table}"),
    }
}

pub(super) const RULES: &str = "\
- A printed number **agrees** if the mean of the runs lies in the band around it (`bands.toml`), or, if a range is \
printed, in the range or in the band around its middle.\n- It is **inside** if it lies in the 95% prediction interval \
of what was printed, which is one run or a mean of several. For a range, both ends and the middle must lie where the \
same number of runs would put them, and the range must not be too narrow.\n- It is **withheld** if it would agree or be \
inside under the judged reading, but that reading was chosen by it, or it lies outside under a rival reading that \
nothing contradicts.\n- It is **explained** if it lies outside both, but the 95% interval of at least five runs \
lies in the band under another reading of the document that nothing excludes. If that other reading was fitted to it, \
nothing is explained, and it is in its band **only by a fit**.\n- It is **refuted** if ns-2 itself, arithmetic, or a \
claim of the document shows that no run gives it; and **open** otherwise.\n- A claim **holds** or **fails** if the 95% \
interval, paired by seed if two are compared, lies on one side, and is **undecided** otherwise. It is **refuted** if \
ns-2's own results fail it as well.\n";

/// The introduction of the index of the pages.
pub const WRITTEN: &str = "<!-- Written by quell reproduce";

impl<'a> Page<'a> {
    /// The name of its file, without an ending. A page of a part of the document has another than that of the whole,
    /// in whose place it would come otherwise: what was asked for, which is `doc-table-2` of `doc/2`.
    pub fn file_stem(&self, what: &[String]) -> String {
        let key = &self.document.key;
        if self.is_whole() {
            return key.clone();
        }
        let of_this = |name: &&String| {
            let found = self.papers.select(name).unwrap_or_default();
            found.iter().any(|e| self.papers.document_of(e).key == *key)
        };
        let name = |name: &String| slug(&name.replacen('/', "-table-", 1));
        distinct(what.iter().filter(of_this).map(name)).join("+")
    }

    fn is_whole(&self) -> bool {
        self.experiments.len() == self.document.experiments.len()
    }

    /// The command that runs what the page has.
    pub(super) fn command(&self) -> String {
        match self.is_whole() {
            true => self.papers.command(&self.document.key),
            false => self.papers.command(&self.names().join(" ")),
        }
    }

    /// A sentence on what a page of a part has; empty of a whole.
    pub(super) fn part(&self) -> String {
        match self.is_whole() {
            true => String::new(),
            false => format!(
                "This page has {} of the document's {} experiments: {}.",
                self.experiments.len(),
                self.document.experiments.len(),
                self.names().join(", ")
            ),
        }
    }

    fn names(&self) -> Vec<&str> {
        self.experiments.iter().map(|(judged, _)| judged.experiment.id.as_str()).collect()
    }

    /// How often other readings give the numbers that lie outside, and their mirror images, in Markdown; empty if none was
    /// run for any.
    pub(super) fn elsewhere(&self) -> String {
        let tables = self.experiments.iter().flat_map(|(j, _)| &j.tables);
        let cells: Vec<_> = tables.flat_map(|t| &t.cells).filter(|c| c.elsewhere[0] > 0).collect();
        if cells.is_empty() {
            return String::new();
        }
        let count = |at: usize| cells.iter().filter(|c| c.elsewhere[at] > 0).count();
        let runs: Vec<usize> = cells.iter().map(|c| c.elsewhere[0]).collect();
        let (least, most) = (runs.iter().min().unwrap_or(&0), runs.iter().max().unwrap_or(&0));
        let each = if least == most { least.to_string() } else { format!("{least} to {most}") };
        format!(
            "For {} numbers that lie outside, other readings that were not fitted were run, {each} for each. Some \
             reading brings the mean of {} of them into the band. As a check, each band was mirrored at what was \
             found. Nobody printed those mirrored numbers, but some reading also brings {} means into their bands, so \
             that much is chance. Therefore, a mean in the band under another reading is not enough to explain a \
             number.\n",
            cells.len(),
            count(1),
            count(2),
        )
    }

    pub(super) fn score(&self) -> Vec<(String, Score)> {
        let judged: Vec<JudgedExperiment<'_>> = self.experiments.iter().map(|(j, _)| j.clone()).collect();
        let rows = scores(self.papers, &[self.document.key.as_str()], &judged);
        let judged = |table: &str| {
            let tables = self.experiments.iter().flat_map(|(j, _)| &j.tables);
            tables.flat_map(|t| &t.cells).any(|c| c.cell.table == table)
        };
        rows.into_iter()
            .filter(|(_, table, score)| {
                (table.is_empty() || judged(table)) && score.of_cells() + score.of_claims() > 0
            })
            .map(|(_, table, score)| (table_name(self.document, &table), score))
            .collect()
    }
}

/// Why a claim does not hold, and under which reading it does.
pub(super) fn because(claim: &JudgedClaim<'_>) -> String {
    let refuted = Some(claim.why.as_str()).filter(|why| !why.is_empty());
    let because = refuted.or(claim.claim.because.as_deref()).filter(|_| claim.holds != Holds::Holds);
    let because = because.map_or(String::new(), |why| format!("*Why:* {}", why.trim()));
    let shown = match (&claim.claim.shown_by, claim.shown) {
        (Some(reading), Some(holds)) if claim.holds != Holds::Holds => {
            format!(" (under \"{reading}\": {})", holds.name())
        }
        _ => String::new(),
    };
    format!("{because}{shown}")
}

pub(super) fn scenarios(judged: &JudgedExperiment<'_>) -> String {
    let e = judged.experiment;
    let path = |run: &ScenarioRun| lexical(&e.file.parent().unwrap_or(Path::new("")).join(&run.scenario));
    let mut names: Vec<String> = e.runs.iter().map(|run| format!("`{}`", path(run).display())).collect();
    names.dedup();
    if names.is_empty() {
        return "computed".to_string();
    }
    // As many as were run; without numbers, as many as are asked for.
    let cells = judged.tables.iter().flat_map(|t| &t.cells).filter_map(|c| c.found.map(|found| found.n));
    let seeds = cells.max().unwrap_or(e.seeds as usize);
    format!("{}, {seeds} {}", names.join(", "), if seeds == 1 { "seed" } else { "seeds" })
}

/// The number of values in their band under a reading.
pub(super) fn under(judged: &JudgedExperiment<'_>, reading: &Reading) -> String {
    let under = judged.tables.iter().flat_map(|t| &t.under).filter(|(name, _)| *name == reading.name);
    match under.fold([0, 0], |[a, b], (_, [within, outside])| [a + within, b + outside]) {
        [0, 0] => String::new(),
        [within, outside] => format!("{within} of {} in the band", within + outside),
    }
}

pub(super) fn caption(table: &JudgedTable<'_>) -> String {
    let number = table.cells.first().map_or("", |c| c.cell.table.as_str());
    let page = table.cells.first().map_or("", |c| c.cell.page.as_str());
    let page = if page.is_empty() { String::new() } else { format!(" ({page})") };
    let name = match number.starts_with("sec.") {
        true => format!("Numbers of {number}"),
        false => format!("Table {number}"),
    };
    let reading = match table.reading {
        "" => String::new(),
        reading => format!("; reading \"{reading}\""),
    };
    format!("{name}{page}; a printed number is {}{reading}:", table.printed)
}

pub(super) fn found(cell: &JudgedCell<'_>) -> String {
    cell.found.as_ref().map_or(String::new(), text)
}

/// The value that ns-2 gives, and how often it was run.
pub(super) fn ns2(cell: &JudgedCell<'_>) -> String {
    cell.ns2.map_or(String::new(), |n| format!("{} ({})", figure(n.mean), n.runs))
}

pub(super) fn place(claim: &JudgedClaim<'_>) -> String {
    let c = claim.claim;
    match (&c.figure, &c.table, &c.section) {
        _ if c.ours => "ours".to_string(),
        (Some(figure), ..) => format!("Figure {figure}"),
        (_, Some(table), _) => format!("Table {table}"),
        (.., Some(section)) => format!("section {section}"),
        _ => String::new(),
    }
}

/// The words for what became of a number: the verdict, and what to know of it.
pub(super) fn word(cell: &JudgedCell<'_>) -> String {
    let what = match outcome(cell) {
        Outcome::Withheld => "withheld: nothing else supports the reading",
        Outcome::Fitted => "only by a fit",
        _ => cell.verdict.name(),
    };
    let edge = (cell.knife_edge && cell.verdict == Verdict::Agrees).then_some("on the edge");
    let free = (cell.free && cell.verdict != Verdict::Missing).then_some("free");
    let middle = cell.off_middle.then_some("by its middle");
    let more: Vec<&str> = edge.into_iter().chain(middle).chain(free).collect();
    if more.is_empty() { what.to_string() } else { format!("{what} ({})", more.join(", ")) }
}

/// The place of what was found in the band, from -1 to 1.
pub(super) fn place_in_band(cell: &JudgedCell<'_>) -> String {
    // What rounds to zero has no sign.
    cell.place.map_or(String::new(), |place| format!("{:.1}", place).replace("-0.0", "0.0"))
}

/// What became of a number.
pub(super) fn outcome(cell: &JudgedCell<'_>) -> Outcome {
    match cell.verdict {
        Verdict::Agrees => Outcome::Agrees,
        Verdict::Inside => Outcome::Inside,
        Verdict::Explained if cell.withheld => Outcome::Withheld,
        Verdict::Explained => Outcome::Explained,
        Verdict::Fitted => Outcome::Fitted,
        Verdict::Refuted => Outcome::Refuted,
        Verdict::Open => Outcome::Open,
        Verdict::Missing => Outcome::Missing,
    }
}
