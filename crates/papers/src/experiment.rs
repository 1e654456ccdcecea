//! The format of the files under `papers/`: documents and their experiments.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use quell_lab::{Quantity, distinct};
use quell_scenario::TomlFile;
use quell_units::{BitRate, Bytes, Duration};
use serde::Deserialize;

use crate::arithmetic::Arithmetic;
use crate::band::{Band, Guess};
use crate::cells::{Cell, Ns2, matches, slug};
use crate::claims::Test;
use crate::computed::Computed;
use crate::value::Value;

/// All documents, with what they print.
#[derive(Clone, Debug)]
pub struct Papers {
    /// The folder.
    pub folder: PathBuf,
    /// The documents, by key.
    pub documents: Vec<Document>,
    /// Every printed number.
    pub cells: Vec<Cell>,
    /// The values that ns-2 gives for cells, by id, one for each reading that it ran.
    pub ns2: std::collections::HashMap<String, Vec<Ns2>>,
    /// The largest distance of a mean from a printed number, by metric.
    pub bands: BTreeMap<String, Band>,
    /// What can be said of the numbers without a simulation; the first that names a number counts.
    pub guesses: Vec<Guess>,
}

/// A document and its experiments.
#[derive(Clone, Debug)]
pub struct Document {
    /// Its key: the name of its folder.
    pub key: String,
    /// The contents of its `document.toml`.
    pub about: About,
    /// Its experiments, in the order of their sections.
    pub experiments: Vec<Experiment>,
}

/// `papers/<document>/document.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// The document's title.
    pub title: String,
    /// Its key in `docs/references.bib`.
    pub reference: String,
    /// The dialect of its scenarios, unless an experiment, a run or a reading names another; `None`: the scenarios' own.
    pub dialect: Option<String>,
    /// The evidence for that dialect.
    #[serde(default)]
    pub dialect_because: String,
    /// Notes that hold for all experiments, in Markdown.
    #[serde(default)]
    pub notes: String,
    /// The experiments in the order of the document, by file name without `.toml`; those that are not named follow.
    #[serde(default)]
    pub order: Vec<String>,
}

/// `papers/<document>/<row>.toml`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Its id: `<document>-<file name>`.
    #[serde(skip)]
    pub id: String,
    /// The file.
    #[serde(skip)]
    pub file: PathBuf,
    /// The tree of the file, in which values have lines.
    #[serde(skip)]
    pub(crate) toml: Option<TomlFile>,
    /// The document's section.
    pub section: String,
    /// The title.
    pub title: String,
    /// The document's description, in Markdown.
    pub describes: String,
    /// The number of seeds.
    #[serde(default = "ten")]
    pub seeds: u32,
    /// The dialect of its scenarios, if not that of the document.
    pub dialect: Option<String>,
    /// The runs; the first is the one that is meant unless another is named.
    #[serde(default, rename = "run")]
    pub runs: Vec<ScenarioRun>,
    /// The readings of what the document leaves open; the first is judged unless another is named.
    #[serde(default = "as_described", rename = "reading")]
    pub readings: Vec<Reading>,
    /// The printed numbers that it answers.
    #[serde(default)]
    pub cells: Vec<CellsOf>,
    /// Numbers that are refuted, and why.
    #[serde(default)]
    pub refuted: Vec<Refuted>,
    /// Numbers that are not explained, and what was tried.
    #[serde(default)]
    pub open: Vec<Open>,
    /// The document's claims.
    #[serde(default, rename = "claim")]
    pub claims: Vec<Claim>,
    /// The document's figures.
    #[serde(default, rename = "figure")]
    pub figures: Vec<Figure>,
    /// The numbers and figures that the document computes rather than simulates.
    #[serde(default)]
    pub computed: Vec<Computed>,
    /// The part that is run with real packets; `None`: there is none.
    pub live: Option<LiveSide>,
}

impl Experiment {
    /// The readings under which printed numbers are judged: the first, and those that tables of numbers name.
    pub fn judged_readings(&self) -> impl Iterator<Item = &Reading> {
        let named = |r: &Reading| self.cells.iter().any(|of| of.reading.as_ref() == Some(&r.name));
        self.readings.iter().enumerate().filter(move |(i, r)| *i == 0 || named(r)).map(|(_, r)| r)
    }
}

/// The part of an experiment that is run with real packets. Its figures are put on record, since they
/// cannot be had wherever experiments are run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiveSide {
    /// The file that records how the figures were made, by a path from the experiment's file.
    pub record: PathBuf,
    /// The run; `None`: the first.
    pub run: Option<String>,
    /// The reading; `None`: the first. Real time is dear: it may be one of a shorter run, whose simulation the figures
    /// then stand beside.
    pub reading: Option<String>,
    /// The number of seeds.
    #[serde(default = "one")]
    pub seeds: u32,
}

fn one() -> u32 {
    1
}

fn ten() -> u32 {
    10
}

fn as_described() -> Vec<Reading> {
    vec![Reading {
        name: "described".to_string(),
        says: "as the document describes it".to_string(),
        ..Reading::default()
    }]
}

/// A scenario that is run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScenarioRun {
    /// Its name in this file.
    pub name: String,
    /// The scenario file, relative to the experiment's.
    pub scenario: PathBuf,
    /// Fields that are set.
    #[serde(default)]
    pub set: toml::Table,
    /// Fields that are swept.
    #[serde(default)]
    pub sweep: toml::Table,
    /// The labels of the algorithms that are run; `None`: all.
    pub algorithms: Option<Vec<String>>,
    /// The number of seeds, if it is not the experiment's.
    pub seeds: Option<u32>,
    /// The dialect, if not that of the experiment.
    pub dialect: Option<String>,
}

/// What stands before the name of a claim among the numbers that chose a reading: `claim:vrc-b2#smallest`.
pub(crate) const CLAIM: &str = "claim:";

/// A choice where the document leaves one.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// Its name in this file.
    pub name: String,
    /// The choice, in words.
    pub says: String,
    /// The basis of the choice.
    pub basis: Basis,
    /// Patterns of the printed numbers by which it was chosen: they do not agree by it. Claims by which it was chosen are
    /// named as on record, after [`CLAIM`].
    #[serde(default)]
    pub fitted_on: Vec<String>,
    /// Whether the document may mean it as well as the judged one, and nothing decides: a claim that holds under one of
    /// the two only is undecided, and a number that comes out under the judged one only is withheld.
    #[serde(default)]
    pub rival: bool,
    /// Why the document, or another number of the same table, excludes it: it is run and shown, and explains nothing. Empty
    /// if nothing does.
    #[serde(default)]
    pub excluded: String,
    /// The evidence.
    #[serde(default)]
    pub because: String,
    /// Fields that are set.
    #[serde(default)]
    pub set: toml::Table,
    /// The dialect, if not that of the run.
    pub dialect: Option<String>,
    /// The runs that it applies to; `None`: all.
    pub runs: Option<Vec<String>>,
    /// The labels of the algorithms that are run; `None`: those of the run.
    pub algorithms: Option<Vec<String>>,
    /// The number of seeds, if it is not the run's.
    pub seeds: Option<u32>,
    /// Other scenario files, by run.
    #[serde(default)]
    pub replace: BTreeMap<String, PathBuf>,
}

/// The basis of a reading.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Basis {
    /// The document says so.
    #[default]
    Document,
    /// A default of the simulator of its year.
    Simulator,
    /// Evidence outside of the cells that it is to explain.
    Evidence,
    /// It was chosen because the numbers fit; nothing agrees by it.
    Fitted,
}

impl Basis {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Basis::Document => "document",
            Basis::Simulator => "simulator",
            Basis::Evidence => "evidence",
            Basis::Fitted => "fitted",
        }
    }
}

/// Some of the printed numbers, and how to compute them.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellsOf {
    /// Their ids begin with this; `*` stands for any part.
    pub of: String,
    /// The reading that is judged; `None`: the first.
    pub reading: Option<String>,
    /// The kind of a printed number: how many runs it is from.
    pub printed: PrintedOf,
    /// The label of each of the table's algorithms.
    pub algorithm: BTreeMap<String, String>,
    /// Whether the numbers are of the algorithm: not where its queue neither fills nor signals, as on a link that
    /// loses packets by itself.
    #[serde(default = "yes")]
    pub of_algorithm: bool,
    /// The value for each of the table's metrics.
    pub metric: BTreeMap<String, Value>,
    /// The place of the cells, for all cases.
    #[serde(default, rename = "where")]
    pub place: CellPlace,
    /// The place of the cells, by case.
    #[serde(default)]
    pub case: BTreeMap<String, CellPlace>,
}

fn yes() -> bool {
    true
}

impl CellsOf {
    /// The place at which a cell is looked up.
    pub(crate) fn place_of(&self, cell: &Cell) -> CellPlace {
        match self.case.get(cell.part(2)) {
            Some(place) => place.within(&self.place),
            None => self.place.clone(),
        }
    }
}

/// The kind of a printed number: how many runs it is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PrintedOf {
    /// A single run.
    OneRun,
    /// The mean of so many runs.
    MeanOf(u32),
    /// The least and the greatest of so many runs.
    RangeOf(u32),
    /// A computation: there is no chance in it.
    Exact,
}

impl FromStr for PrintedOf {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let count = |n: &str| n.parse().ok().filter(|n| *n > 1);
        let of = match text.split_once(" of ") {
            _ if text == "one run" => Some(PrintedOf::OneRun),
            _ if text == "exact" => Some(PrintedOf::Exact),
            Some(("mean", n)) => count(n).map(PrintedOf::MeanOf),
            Some(("range", n)) => count(n).map(PrintedOf::RangeOf),
            _ => None,
        };
        of.ok_or_else(|| "must be \"one run\", \"mean of 5\", \"range of 7\" or \"exact\"".to_string())
    }
}

impl std::fmt::Display for PrintedOf {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            PrintedOf::OneRun => f.write_str("one run"),
            PrintedOf::MeanOf(n) => write!(f, "the mean of {n} runs"),
            PrintedOf::RangeOf(n) => write!(f, "the range of {n} runs"),
            PrintedOf::Exact => f.write_str("a computation"),
        }
    }
}

/// The place at which a cell is looked up.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CellPlace {
    /// The run; `None`: the first.
    pub run: Option<String>,
    /// The point: fields and their values.
    #[serde(default)]
    pub at: BTreeMap<String, toml::Value>,
    /// The segment, counted from 0; `None`: the whole window.
    pub segment: Option<u32>,
    /// The traffic; `None`: all.
    pub scope: Option<String>,
    /// The link; `None`: the first.
    pub link: Option<String>,
}

impl CellPlace {
    /// The place of a case within that of the table.
    pub(crate) fn within(&self, table: &CellPlace) -> CellPlace {
        let mut at = table.at.clone();
        at.extend(self.at.clone());
        CellPlace {
            run: self.run.clone().or_else(|| table.run.clone()),
            at,
            segment: self.segment.or(table.segment),
            scope: self.scope.clone().or_else(|| table.scope.clone()),
            link: self.link.clone().or_else(|| table.link.clone()),
        }
    }
}

/// Printed numbers, or claims, that are refuted.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refuted {
    /// Patterns of ids.
    #[serde(default)]
    pub cells: Vec<String>,
    /// Claims of this file, by name, instead of numbers.
    #[serde(default)]
    pub claims: Vec<String>,
    /// The mechanism by which the number differs.
    pub mechanism: String,
    /// The evidence: `ns-2`, `arithmetic`, a reading, or `claim:` and a claim.
    pub shown_by: String,
    /// The document's own numbers that contradict each other, where the evidence is arithmetic.
    pub arithmetic: Option<Arithmetic>,
    /// The file of ns-2's values for the quantities of the claims, by a path from this one.
    pub figures: Option<PathBuf>,
    /// The reading that ns-2 ran for the claims; `None`: that under which they are tested.
    pub reading: Option<String>,
}

/// Printed numbers that are not explained.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Open {
    /// Patterns of ids.
    pub cells: Vec<String>,
    /// The attempts, each with its outcome.
    pub tried: Vec<String>,
}

/// A claim of the document.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Its name in this file.
    pub name: String,
    /// The figure that shows it.
    pub figure: Option<String>,
    /// The table that shows it.
    pub table: Option<String>,
    /// The section that says it.
    pub section: Option<String>,
    /// The claim.
    pub says: String,
    /// The test of it.
    pub test: Test,
    /// It is not the document's, but shows what Quell says of the experiment: outside of the score.
    #[serde(default)]
    pub ours: bool,
    /// The reading under which it is tested; `None`: the first.
    pub reading: Option<String>,
    /// The reason for which it fails.
    pub because: Option<String>,
    /// A reading under which it holds.
    pub shown_by: Option<String>,
}

/// An axis as the document has it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FigureAxis {
    /// Its title, with the unit.
    pub title: String,
    /// Its ends, in the unit of the title; `None`: as long as the values need.
    pub range: Option<[f64; 2]>,
    /// Where the document says so.
    pub from: String,
    /// Of a horizontal axis: what the figure has for each of the field that is swept.
    pub factor: Option<f64>,
    /// Of a vertical axis: the unit, one of those of printed numbers.
    pub unit: Option<String>,
    /// Of a vertical axis: what the values are counted in, such as packets of "500 B", or a share of "45 Mbit/s".
    pub per: Option<Per>,
}

/// An amount of which the values of a figure are so many.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Per {
    /// Of a queue.
    Bytes(Bytes),
    /// Of a throughput.
    Rate(BitRate),
    /// Of a delay.
    Time(Duration),
}

/// A figure of the document.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure {
    /// The document's number.
    pub number: String,
    /// Its title.
    pub title: String,
    /// The diagram, as `quell plot` names it.
    pub kind: String,
    /// The run; `None`: the first.
    pub run: Option<String>,
    /// The reading; `None`: the first.
    pub reading: Option<String>,
    /// The labels of the algorithms; `None`: all.
    pub algorithms: Option<Vec<String>>,
    /// The traffic; `None`: all.
    pub scope: Option<String>,
    /// Of a throughput: classes of traffic, a curve each, with a panel for each algorithm.
    pub scopes: Option<Vec<String>>,
    /// The link; `None`: the first.
    pub link: Option<String>,
    /// The point: fields and their values.
    #[serde(default)]
    pub at: BTreeMap<String, toml::Value>,
    /// The quantity, of a figure over a field.
    #[serde(default, deserialize_with = "quantity")]
    pub metric: Option<Quantity>,
    /// The field along the axis.
    pub x: Option<String>,
    /// The field that distinguishes panels.
    pub by: Option<String>,
    /// Makes equal steps of the axis equal ratios.
    pub log_x: Option<bool>,
    /// Gives each algorithm a panel of its own.
    #[serde(default)]
    pub panels: bool,
    /// Adds the values up from the beginning: of a throughput, what was sent until then.
    #[serde(default)]
    pub accumulated: bool,
    /// The names of fields in the figure; other fields are called as in the scenario.
    #[serde(default)]
    pub names: BTreeMap<String, String>,
    /// The horizontal axis, as the document has it.
    pub x_axis: Option<FigureAxis>,
    /// The vertical axis, as the document has it.
    pub y_axis: Option<FigureAxis>,
    /// Numbers of the document to draw beside.
    #[serde(default)]
    pub printed: Vec<PrintedCurve>,
    /// The record of the same from the live side, to draw beside: numbers as `quell plot --csv` writes them, by a path
    /// from the experiment's file. The figure is then of the run and the reading of the live side.
    pub live: Option<PathBuf>,
}

/// Numbers that the document gives for a figure.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PrintedCurve {
    /// The algorithm's label.
    pub label: String,
    /// The panel, by the value of the field that distinguishes panels; `None`: all.
    pub panel: Option<String>,
    /// Points, as pairs of x and y in the units of the axes.
    pub points: Vec<[f64; 2]>,
}

fn quantity<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<Quantity>, D::Error> {
    String::deserialize(deserializer)?.parse().map(Some).map_err(serde::de::Error::custom)
}

/// Fields that are written as text and parse.
macro_rules! from_text {
    ($($type:ty),*) => { $(
        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
            }
        }
    )* };
}

from_text!(PrintedOf, Value, Test, Arithmetic);

impl Papers {
    /// The largest distance of a mean from a printed number of a metric.
    pub fn band(&self, metric: &str) -> Band {
        self.bands.get(metric).copied().unwrap_or_default()
    }

    /// What can be said of a number without a simulation: full use of the link, and a queue at its target.
    pub fn guess(&self, cell: &Cell) -> Option<f64> {
        let names = |guess: &&Guess| guess.cells.iter().any(|pattern| matches(pattern, &cell.id));
        self.guesses.iter().find(names).map(|guess| guess.is)
    }

    /// Says whether a number is computed by the document's own formula, and not simulated.
    pub fn is_computed(&self, cell: &Cell) -> bool {
        self.experiments().flat_map(|e| &e.computed).any(|of| of.cell.as_ref() == Some(&cell.id))
    }

    /// Says whether a number is free: it comes out without a simulation. What is computed is not a guess.
    pub fn is_free(&self, cell: &Cell) -> bool {
        !self.is_computed(cell)
            && self.guess(cell).is_some_and(|guess| cell.is_near(guess, self.band(&cell.metric)))
    }

    /// The cells that an experiment answers by one of its tables, in the order of `cells.csv`.
    pub fn cells_of<'a>(&'a self, of: &'a CellsOf) -> impl Iterator<Item = &'a Cell> {
        let algorithm = |cell: &Cell| of.algorithm.contains_key(&cell.algorithm);
        let metric = |cell: &Cell| of.metric.contains_key(&cell.metric);
        let case = |cell: &Cell| of.case.is_empty() || of.case.contains_key(cell.part(2));
        self.cells.iter().filter(move |c| matches(&of.of, &c.id) && algorithm(c) && metric(c) && case(c))
    }

    /// The document of an experiment.
    pub fn document_of(&self, e: &Experiment) -> &Document {
        let key = e.file.parent().and_then(Path::file_name).and_then(|name| name.to_str());
        let is = |d: &&Document| Some(d.key.as_str()) == key;
        // An experiment is made from the folder of a document only.
        self.documents.iter().find(is).unwrap_or_else(|| unreachable!("{} is of no document", e.id))
    }

    /// Every experiment, document by document.
    pub fn experiments(&self) -> impl Iterator<Item = &Experiment> {
        self.documents.iter().flat_map(|d| &d.experiments)
    }

    /// The experiments that a name stands for: a document (`vrc`), an experiment (`vrc-b2`), or a table
    /// (`vrc/2`).
    ///
    /// # Errors
    /// A sentence with the nearest name, if there are none.
    pub fn select(&self, name: &str) -> Result<Vec<&Experiment>, String> {
        let lower = name.trim().to_lowercase();
        if let Some(document) = self.documents.iter().find(|d| d.key == lower) {
            return Ok(document.experiments.iter().collect());
        }
        if let Some(experiment) = self.experiments().find(|e| e.id == lower) {
            return Ok(vec![experiment]);
        }
        let table = lower.split('/').map(slug).collect::<Vec<_>>().join("/");
        let answers = |e: &&Experiment| {
            let computed = e.computed.iter().filter_map(|of| of.cell.as_deref());
            let cells =
                e.cells.iter().flat_map(|of| self.cells_of(of)).map(|c| c.id.as_str()).chain(computed);
            lower.contains('/') && cells.into_iter().any(|id| matches(&table, id))
        };
        let found: Vec<&Experiment> = self.experiments().filter(answers).collect();
        if !found.is_empty() {
            return Ok(found);
        }
        Err(format!("\"{name}\": {}", self.unknown(&lower)))
    }

    /// Says why a name stands for nothing, and what may be meant.
    fn unknown(&self, lower: &str) -> String {
        const REST: &str = "a table is written DOCUMENT/TABLE, and --list names the rest";
        let kind = "document, experiment or table";
        if let Some(document) =
            lower.split_once('/').and_then(|(key, _)| self.documents.iter().find(|d| d.key == key))
        {
            let cells = self.cells.iter().filter(|c| c.document == document.key);
            let tables = distinct(cells.map(|cell| format!("{}/{}", document.key, cell.part(1))));
            return match &tables[..] {
                [] => format!("{} has no tables; --list names its experiments", document.key),
                [one] => format!("there is no such table; the only one is {one}"),
                tables => {
                    let names: Vec<&str> = tables.iter().map(String::as_str).collect();
                    let nearest = quell_scenario::unknown("table", lower, &names).1;
                    let rule = format!("there is no such table; there are {}", tables.join(", "));
                    quell_scenario::suggest(&rule, nearest.as_deref(), None)
                }
            };
        }
        // The name of the document was left out.
        let end = format!("-{lower}");
        let whole: Vec<String> =
            self.experiments().filter(|e| e.id.ends_with(&end)).map(|e| format!("\"{}\"", e.id)).collect();
        if !whole.is_empty() {
            return format!("unknown {kind}; did you mean {}?", whole.join(" or "));
        }
        let mut names: Vec<&str> = self.documents.iter().map(|d| d.key.as_str()).collect();
        names.extend(self.experiments().map(|e| e.id.as_str()));
        // The end of a name is mistaken more often than its beginning.
        let shared = |other: &&str| lower.chars().zip(other.chars()).take_while(|(a, b)| a == b).count();
        let most = names.iter().map(shared).max().unwrap_or(0);
        let kin: Vec<&str> = names.iter().copied().filter(|other| shared(other) == most).collect();
        let unknown = |names: &[&str]| quell_scenario::unknown(kind, lower, names);
        let (rule, nearest) = match unknown(&kin) {
            (_, None) => unknown(&names),
            found => found,
        };
        format!("{}; {REST}", quell_scenario::suggest(&rule, nearest.as_deref(), None))
    }

    /// Says whether these are the documents of Quell's source tree, whose documentation stands beside them.
    pub fn are_own(&self) -> bool {
        self.folder.join("../docs/papers/format.md").is_file()
    }

    /// The command that runs something of them; empty for all.
    pub fn command(&self, what: &str) -> String {
        let what = if what.is_empty() { String::new() } else { format!(" {what}") };
        match self.are_own() {
            true => format!("quell reproduce{what}"),
            false => format!("quell reproduce{what} --papers {}", self.folder.display()),
        }
    }
}
