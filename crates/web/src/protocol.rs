//! The messages of a page and the answers, as types. The page's own are written from these (`lab/src/protocol.ts`).

use quell_aqm::catalog::Label;
use quell_scenario::{Form, Hole, Setting};
use quell_view::chart::Event;
use quell_view::style::Style;
use serde::{Deserialize, Serialize};

/// A message.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "do", rename_all = "lowercase")]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum Request {
    /// Lists what there is: algorithms, senders, dialects, metrics, figures, presets.
    About(AboutRequest),
    /// Reads a scenario and says what it describes.
    Check(CheckRequest),
    /// Reads a text as TOML, sound or not: its keys and values with their places.
    Tree(TreeRequest),
    /// Changes values in a text, whose comments stay.
    Edit(EditRequest),
    /// Runs one replication.
    Run(RunRequest),
    /// Writes the scenario of a load over a link.
    Preset(PresetRequest),
    /// Puts replications together as results, which are kept under a number.
    Gather(GatherRequest),
    /// Keeps the results of a folder, as the command hands them over.
    Open(Box<OpenRequest>),
    /// Forgets results.
    Forget(ForgetRequest),
    /// Figures of results as a table.
    Table(TableRequest),
    /// A figure of results as a picture and as numbers.
    Chart(ChartRequest),
    /// The report on results, as a page.
    Report(ReportRequest),
    /// What the theory says of a scenario.
    Theory(TheoryRequest),
    /// What it says over two quantities.
    Map(MapRequest),
    /// Which queue to give a link, and what to type: the runs that tell, then the answer.
    Recommend(RecommendRequest),
}

/// Asks what there is.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AboutRequest {}

/// A scenario as the command gets it from a file and its options.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
pub struct Source {
    /// The text of the file.
    pub text: String,
    /// The name of the file, for messages and commands; default: "scenario.toml".
    pub name: Option<String>,
    /// The files that it names.
    #[serde(default)]
    #[cfg_attr(test, ts(as = "Option<Vec<SourceFile>>", optional))]
    pub files: Vec<SourceFile>,
    /// Fields that are set, as by `--set FIELD=VALUE`.
    #[serde(default)]
    #[cfg_attr(test, ts(as = "Option<Vec<(String, String)>>", optional))]
    pub set: Vec<(String, String)>,
    /// The algorithms that run, as by `--aqm`: labels of the scenario, or names of the catalog; none: all of the scenario.
    #[serde(default)]
    #[cfg_attr(test, ts(as = "Option<Vec<String>>", optional))]
    pub aqm: Vec<String>,
}

/// A file that a scenario names.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
pub struct SourceFile {
    /// Its name as the scenario has it.
    pub name: String,
    /// Its content, if it is text.
    pub text: Option<String>,
    /// Its content in base64, otherwise.
    pub bytes: Option<String>,
}

/// Asks what a scenario describes.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
pub struct CheckRequest {
    /// The scenario.
    pub source: Source,
    /// The point whose resolved scenario is wanted, counted from 0; default: the first.
    pub point: Option<usize>,
}

/// Asks for the keys and values of a text.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
pub struct TreeRequest {
    /// The text.
    pub text: String,
    /// Its name, for messages; default: "scenario.toml".
    pub name: Option<String>,
}

/// Asks for changes in a text.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct EditRequest {
    /// The text.
    pub text: String,
    /// The changes, which are made one after the other, all or none.
    pub edits: Vec<EditStep>,
}

/// A change in a text.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct EditStep {
    /// The path, as `tree` has it, such as `flows[0].rtt`; `flows[+]` is a new item at the end of a list.
    pub path: String,
    /// The new value in TOML, such as `"10 ms"` with its quotation marks; null removes what is there.
    #[serde(default)]
    pub value: Option<String>,
    /// The place to which an item of a list moves, counted from 0; then there is no value.
    #[serde(default)]
    #[cfg_attr(test, ts(optional))]
    pub to: Option<usize>,
}

/// Asks for one replication.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
pub struct RunRequest {
    /// The scenario.
    pub source: Source,
    /// The point, counted from 0; default: the first.
    pub point: Option<usize>,
    /// The label of the algorithm.
    pub algorithm: String,
    /// The seed.
    pub seed: Seed,
    /// The step of the time series in seconds, in place of the scenario's own. The sample path is the same; what is
    /// computed from the series is not that of the command then.
    pub step_s: Option<f64>,
    /// What is shown of it is wanted: the series, the windows, the distributions; default: true.
    pub shown: Option<bool>,
    /// All of it is wanted as bytes, which `gather` takes; default: false.
    pub packed: Option<bool>,
    /// The page is told how far it is, and of each sample; default: false.
    pub watched: Option<bool>,
    /// The most memory that it may need by estimate, in bytes; default: 400 MB.
    pub memory: Option<f64>,
}

/// Asks for the scenario of a load over a link.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
pub struct PresetRequest {
    /// The load, by its name or an alias.
    pub load: String,
    /// The link, by its name or an alias.
    pub link: String,
    /// The algorithms, by their names in the catalog; none: those of the load.
    #[serde(default)]
    #[cfg_attr(test, ts(as = "Option<Vec<String>>", optional))]
    pub aqm: Vec<String>,
    /// The simulated time, such as "60 s"; default: what the load says.
    pub duration: Option<String>,
}

/// Puts replications together.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
pub struct GatherRequest {
    /// The scenario that they are of.
    pub source: Source,
    /// Replications as `run` packs them.
    pub replications: Vec<String>,
    /// The time at which the first began, as an ISO date; default: none.
    pub started: Option<String>,
    /// The time that they took.
    pub elapsed_s: Option<f64>,
    /// The number of results in whose place these are; default: a new one.
    pub id: Option<u32>,
}

/// Keeps the results of a folder.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct OpenRequest {
    /// The record of the run: the contents of run.json.
    #[cfg_attr(test, ts(type = "unknown"))]
    pub run: quell_metrics::RunInfo,
    /// All replications, packed, in one piece or several.
    pub replications: Vec<String>,
}

/// Forgets results.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ForgetRequest {
    /// Their number.
    pub id: u32,
}

/// Asks for figures as a table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
pub struct TableRequest {
    /// The number of the results.
    pub id: u32,
    /// The point, counted from 0; default: the first.
    pub point: Option<usize>,
    /// The link; default: the first that is measured.
    pub link: Option<String>,
    /// The segment, counted from 0; default: the whole window.
    pub segment: Option<u32>,
    /// "all", "data", a class, a lane or the transfers of one size; default: "all".
    pub scope: Option<String>,
    /// The metrics, as for `quell run --metrics`: names, NAME[CLASS], internal:SIGNAL, A/B; none: the usual ones.
    #[serde(default)]
    #[cfg_attr(test, ts(as = "Option<Vec<String>>", optional))]
    pub metrics: Vec<String>,
    /// The algorithm that the others are compared with; default: none.
    pub baseline: Option<String>,
}

/// Asks for a figure of results.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
pub struct ChartRequest {
    /// The number of the results.
    pub id: u32,
    /// The figure, by a name of `about`.
    pub diagram: String,
    /// The point, counted from 0; default: the first.
    pub point: Option<usize>,
    /// The link; default: the first that is measured.
    pub link: Option<String>,
    /// The seed of the replication that is shown over time; default: the first.
    pub seed: Option<Seed>,
    /// The labels of the algorithms; default: all.
    pub algorithms: Option<Vec<String>>,
    /// The traffic; default: "all".
    pub scope: Option<String>,
    /// The metric of a figure of one; default: utilization.
    pub metric: Option<String>,
    /// The field along the axis of a metric.
    pub over: Option<String>,
    /// The field with a panel for each of its values.
    pub by: Option<String>,
    /// The queue is shown in bytes.
    pub in_bytes: Option<bool>,
    /// A panel for each algorithm instead of one with all.
    pub panels: Option<bool>,
    /// The width of the picture in pixels, which are 1/96 inch; default: 800.
    pub width: Option<f64>,
    /// Its height; default: what its content needs.
    pub height: Option<f64>,
    /// The size of its labels in points; default: 9.
    pub font_size: Option<f64>,
    /// It has a title; default: true.
    pub titled: Option<bool>,
}

/// Asks for the report.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct ReportRequest {
    /// The number of the results.
    pub id: u32,
}

/// Asks what the theory says.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
pub struct TheoryRequest {
    /// The scenario.
    pub source: Source,
    /// The point, counted from 0; default: the first.
    pub point: Option<usize>,
    /// The link; default: the first that is measured.
    pub link: Option<String>,
    /// The time in seconds at which flows, rates and delays are read; default: the end of the warm-up, or when the most
    /// long-lived flows first send.
    pub at_s: Option<f64>,
    /// Only the delay of the signal is kept, of the flows' whole delay; default: false.
    pub simplified: Option<bool>,
    /// The fluid model is followed from an empty queue, which takes longer; default: false.
    pub fluid: Option<bool>,
    /// The results whose packets are asked whether they confirm it; default: none.
    pub id: Option<u32>,
}

/// Asks what the theory says over two quantities.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
pub struct MapRequest {
    /// The scenario.
    pub source: Source,
    /// The point, counted from 0; default: the first.
    pub point: Option<usize>,
    /// The link; default: the first that is measured.
    pub link: Option<String>,
    /// The label of the algorithm.
    pub algorithm: String,
    /// The quantity that varies from left to right.
    pub x: MapAxis,
    /// The quantity that varies from bottom to top.
    pub y: MapAxis,
    /// The quantity that is shown; default: "growth".
    #[cfg_attr(test, ts(type = "MapShown"))]
    pub show: Option<quell_analysis::MapShown>,
    /// The points along each axis, from 2 to 200; default: 48.
    pub points: Option<usize>,
    /// Only the delay of the signal is kept; default: false.
    pub simplified: Option<bool>,
}

/// An axis of a map.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
pub struct MapAxis {
    /// "flows", "rate", "rtt" or a parameter of the algorithm.
    pub name: String,
    /// The unit of its values, such as "ms"; default: bit/s, s, or none.
    pub unit: Option<String>,
    /// The first value.
    pub from: f64,
    /// The last value.
    pub to: f64,
    /// Equal factors rather than equal steps; default: false.
    pub log: Option<bool>,
}

/// Asks for an answer for a link, in the words of `quell recommend`. It is asked again with what its runs have found until
/// there is an answer.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(test, derive(ts_rs::TS), ts(optional_fields))]
pub struct RecommendRequest {
    /// The rate down, such as "95 Mbit/s", or "5..60 Mbit/s" if it varies.
    pub down: String,
    /// The rate up.
    pub up: String,
    /// The round-trip times without queueing, such as "10..80 ms".
    pub rtt: String,
    /// What kind of link it is, by a name of `about`.
    pub link: String,
    /// What the router has: a name of `about`, or algorithms with commas between them.
    pub can: String,
    /// What is asked of the link, such as "call P99 < 20 ms"; default: what is usual for such a link.
    pub goal: Option<String>,
    /// How many hosts share it: a number from 1 to 250.
    pub hosts: String,
    /// What a host sends and receives: home, or a load of `about`; default: what is usual for such a link.
    pub load: Option<String>,
    /// The most that the router's processor shapes, both directions together, such as "150 Mbit/s".
    pub cpu_limit: Option<String>,
    /// The results of the runs so far, in the order of the answers that asked for them.
    #[serde(default)]
    #[cfg_attr(test, ts(as = "Option<Vec<Vec<RecommendedFound>>>", optional))]
    pub found: Vec<Vec<RecommendedFound>>,
}

/// The results of a run.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub enum RecommendedFound {
    /// The replications of its seeds, as `run` packs them.
    Packed(Vec<String>),
    /// One of them failed.
    Failed {
        /// The message of the fault.
        failed: String,
    },
}

/// A seed: a number, or its digits where a number of JavaScript has fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(ts_rs::TS), ts(type = "number | string"))]
pub struct Seed(pub u64);

/// The largest whole number up to which JavaScript has every one.
const EXACT: u64 = 1 << 53;

impl Serialize for Seed {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        if self.0 <= EXACT { to.serialize_u64(self.0) } else { to.collect_str(&self.0) }
    }
}

impl<'de> Deserialize<'de> for Seed {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Number(u64),
            Digits(String),
        }
        match Written::deserialize(from) {
            Ok(Written::Number(n)) => Ok(Seed(n)),
            Ok(Written::Digits(text)) if text.parse::<u64>().is_ok() => Ok(Seed(text.parse().unwrap_or(0))),
            _ => Err(serde::de::Error::custom("a seed must be a whole number of at least 0")),
        }
    }
}

/// What there is.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct About {
    /// The version of Quell.
    pub version: String,
    /// The commit of its source; "unknown" if it was not built from a repository.
    pub commit: String,
    /// The algorithms, in the order in which tables list them.
    pub algorithms: Vec<AboutAlgorithm>,
    /// The keys of a group's `tcp` table.
    pub tcp: Vec<AboutParameter>,
    /// The values of the keys by which senders are chosen, such as congestion controls.
    pub senders: Vec<AboutSender>,
    /// The dialects: sets of defaults.
    pub dialects: Vec<AboutDialect>,
    /// The metrics, in the order in which tables list them.
    pub metrics: Vec<AboutMetric>,
    /// The figures that `chart` draws.
    pub diagrams: Vec<Named>,
    /// Named loads.
    pub loads: Vec<AboutLoad>,
    /// Named links.
    pub links: Vec<AboutPreset>,
    /// Kinds of links that `recommend` knows.
    pub technologies: Vec<Named>,
    /// Routers that it knows.
    pub routers: Vec<Named>,
}

/// A name and what it means.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Named {
    /// The name.
    pub name: &'static str,
    /// Its meaning.
    pub doc: &'static str,
}

/// An algorithm of the catalog.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AboutAlgorithm {
    /// Its name in scenario files.
    pub name: &'static str,
    /// Its full name.
    pub title: &'static str,
    /// The quantity by which it decides.
    pub family: &'static str,
    /// Its publication.
    pub source: &'static str,
    /// The degree to which it can be trusted.
    #[cfg_attr(test, ts(type = "\"experimental\" | \"faithful\" | \"reproduced\""))]
    pub label: Label,
    /// Its parameters.
    pub params: Vec<AboutParameter>,
    /// Its look in every figure.
    pub style: Look,
}

/// A parameter of an algorithm, or a key of senders.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AboutParameter {
    /// The name in scenario files.
    pub name: &'static str,
    /// Its effect, in a sentence.
    pub doc: &'static str,
    /// Its unit: "packets or bytes", "1/packet", "s", "1" for a pure number, "name" for a choice.
    pub unit: &'static str,
    /// The kind of its values.
    #[cfg_attr(test, ts(type = "\"number\" | \"choice\" | \"boolean\""))]
    pub kind: &'static str,
    /// The default as it would be written in a scenario file.
    pub default: String,
    /// The source of the default.
    pub source: &'static str,
    /// The values that it may have, in words: "at least 1", "above 0 s, at most 100 ms"; null where the schema has them,
    /// or only the algorithm knows.
    pub range: Option<String>,
    /// The names of a choice; empty of what is none.
    #[cfg_attr(test, ts(type = "string[]"))]
    pub choices: &'static [&'static str],
}

/// A value of a key by which senders are chosen.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AboutSender {
    /// The key of the `tcp` table, such as "congestion".
    pub key: &'static str,
    /// The value.
    pub name: &'static str,
    /// Its full name.
    pub title: &'static str,
    /// Its action, in a sentence.
    pub doc: &'static str,
    /// Its specification.
    pub source: &'static str,
    /// The keys that matter with it, of those that do not matter to every sender.
    #[cfg_attr(test, ts(type = "string[]"))]
    pub reads: &'static [&'static str],
    /// Its needs, a line each: `feedback = "exact"`.
    pub needs: Vec<String>,
    /// Its refusals, a line each.
    pub refuses: Vec<String>,
}

/// A dialect.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AboutDialect {
    /// Its name in scenario files.
    pub name: &'static str,
    /// The release that it describes.
    pub release: &'static str,
}

/// A metric.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AboutMetric {
    /// Its name, with the unit.
    pub name: &'static str,
    /// A short heading.
    pub title: &'static str,
    /// The unit of its values; "1" for a pure number.
    pub unit: &'static str,
    /// The better direction, where that is beyond dispute.
    #[cfg_attr(test, ts(type = "\"higher\" | \"lower\" | \"neither\""))]
    pub better: &'static str,
    /// Its meaning, in a sentence.
    pub doc: &'static str,
    /// Its source; empty where none is needed.
    pub source: &'static str,
}

/// A load or a link that has a name.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AboutPreset {
    /// Its name.
    pub name: &'static str,
    /// The name for titles.
    pub title: String,
    /// The sentence that says what it is.
    pub about: String,
    /// Other names by which it is found.
    pub aliases: Vec<String>,
    /// The sources of its numbers: of what, and the source.
    pub sources: Vec<(String, String)>,
}

/// A load that has a name.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct AboutLoad {
    /// Its names, words and sources.
    #[serde(flatten)]
    pub preset: AboutPreset,
    /// The simulated time.
    pub duration_s: f64,
    /// The time from which figures count.
    pub warmup_s: f64,
    /// The algorithms that are compared unless others are named.
    pub aqm: Vec<String>,
    /// The metrics that say most of it.
    pub metrics: Vec<String>,
}

/// The look of a curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Look {
    /// The color on white.
    pub color: &'static str,
    /// The color on dark ground.
    pub dark: &'static str,
    /// Lengths of dashes and gaps in pixels; none for a solid line.
    #[cfg_attr(test, ts(type = "number[]"))]
    pub dashes: &'static [u8],
    /// The mark of single values.
    #[cfg_attr(
        test,
        ts(
            type = "\"circle\" | \"square\" | \"triangle\" | \"diamond\" | \"down\" | \"pentagon\" | \"plus\" | \"cross\""
        )
    )]
    pub mark: quell_view::style::Mark,
}

impl From<Style> for Look {
    fn from(style: Style) -> Look {
        let Style { color, dark, dashes, mark } = style;
        Look { color, dark, dashes, mark }
    }
}

/// What a scenario describes.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Checked {
    /// Its title.
    pub title: String,
    /// Its description.
    pub description: String,
    /// The points of its sweep, or one.
    pub points: Vec<CheckedPoint>,
    /// The points of the sweep that are not valid, and why.
    #[cfg_attr(test, ts(type = "{ settings: { field: string, value: string }[], reason: string }[]"))]
    pub holes: Vec<Hole>,
    /// What may surprise in it, in sentences.
    pub notes: Vec<String>,
    /// The labels of the algorithms, of all points, with their looks.
    pub algorithms: Vec<CheckedAlgorithm>,
    /// All replications: points, algorithms, seeds.
    pub runs: usize,
    /// The packets that all of them handle, roughly.
    pub estimated_packets: f64,
    /// The names of the files that it names.
    pub files: Vec<String>,
    /// The point that was asked for, with every default filled in, as TOML.
    pub resolved: String,
    /// The same as a tree.
    #[cfg_attr(test, ts(type = "Record<string, unknown>"))]
    pub defaults: serde_json::Value,
}

/// An algorithm of a scenario.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CheckedAlgorithm {
    /// Its label.
    pub label: String,
    /// Its name in the catalog.
    pub algorithm: String,
    /// Its look in every figure.
    pub style: Look,
}

/// A point of a scenario.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct CheckedPoint {
    /// The settings that distinguish it from the others.
    #[cfg_attr(test, ts(type = "{ field: string, value: string }[]"))]
    pub settings: Vec<Setting>,
    /// The settings in one line; empty if there is one point.
    pub title: String,
    /// The labels of its algorithms.
    pub algorithms: Vec<String>,
    /// The algorithms that cannot run here, and why.
    pub left_out: Vec<(String, String)>,
    /// Its seeds, at most 1000 of them.
    pub seeds: Vec<Seed>,
    /// The number of its seeds.
    pub seed_count: usize,
    /// The links that are measured.
    pub links: Vec<String>,
    /// The classes that packets are counted in.
    pub classes: Vec<String>,
    /// The simulated time.
    pub duration_s: f64,
    /// The time from which figures count.
    pub warmup_s: f64,
    /// The step of the time series.
    pub step_s: f64,
    /// The segments of the measured window.
    pub segments: Vec<(f64, f64)>,
    /// The changes on the way; of more than 100 points, those of the point that was asked for.
    #[cfg_attr(test, ts(type = "{ at_s: number, label: string }[]"))]
    pub events: Vec<Event>,
    /// The flows, without those that come as they come.
    pub flows: f64,
    /// The packets that one replication handles, roughly.
    pub estimated_packets: f64,
    /// The memory that one replication needs, roughly, in bytes.
    pub estimated_memory: f64,
}

/// A text as TOML reads it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Tree {
    /// What it says. Dates are texts, and whole numbers beyond 2^53 lose digits.
    #[cfg_attr(test, ts(type = "Record<string, unknown>"))]
    pub value: serde_json::Value,
    /// The place of each value, by its path, such as `flows[1].rtt`: as `edit` takes it, and as faults name fields.
    #[cfg_attr(test, ts(type = "Record<string, TreePlace>"))]
    pub places: serde_json::Value,
    /// The names of the files that it names.
    pub files: Vec<String>,
}

/// The place of a value. Positions are those of JavaScript: UTF-16 code units from the beginning.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TreePlace {
    /// From and to of its key; null for items of a list.
    pub key: Option<(usize, usize)>,
    /// From and to of its value; of a table with a head of its own, of the head.
    pub value: (usize, usize),
    /// The line, counted from 1.
    pub line: usize,
    /// Its kind.
    #[cfg_attr(
        test,
        ts(type = "\"string\" | \"integer\" | \"float\" | \"boolean\" | \"array\" | \"table\"")
    )]
    pub form: Form,
}

/// A text.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Text {
    /// The text.
    pub text: String,
}

/// Numbers, null where there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS), ts(type = "(number | null)[]"))]
pub struct Numbers(pub Vec<f64>);

/// One replication.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Replication {
    /// The point.
    pub point: usize,
    /// The label of the algorithm.
    pub algorithm: String,
    /// The seed.
    pub seed: Seed,
    /// Equal digests mean equal sample paths: sixteen hexadecimal digits, as the command has them.
    pub digest: String,
    /// Events that the engine handled.
    pub events: f64,
    /// Packets handed to a first link.
    pub packets: f64,
    /// The simulated time.
    pub duration_s: f64,
    /// The end of the warm-up.
    pub warmup_s: f64,
    /// The figures by link, segment and scope.
    #[cfg_attr(test, ts(type = "MetricRow[]"))]
    pub metrics: Vec<quell_metrics::MetricRow>,
    /// The time series by link; empty if it is not shown.
    #[cfg_attr(test, ts(type = "LinkSeries[]"))]
    pub series: Vec<quell_metrics::LinkSeries>,
    /// The windows of up to 12 flows, one of each group first; empty if it is not shown.
    pub windows: Vec<FlowWindow>,
    /// Every flow, at most 1000; empty if it is not shown.
    #[cfg_attr(test, ts(type = "FlowRow[]"))]
    pub flows: Vec<quell_metrics::FlowRow>,
    /// Finished transfers; empty if it is not shown.
    pub transfers: Transfers,
    /// Distributions of the queueing delay by link and scope; empty if it is not shown.
    pub delays: Vec<Delays>,
    /// Averages of the internal signals.
    #[cfg_attr(test, ts(type = "InternalRow[]"))]
    pub internal_means: Vec<quell_metrics::InternalRow>,
    /// All of it as bytes in base64, if they were asked for.
    pub packed: Option<String>,
}

/// The congestion window of a flow over time.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct FlowWindow {
    /// The flow's number.
    pub flow: usize,
    /// Its group.
    pub group: String,
    /// Its class.
    pub class: String,
    /// The links that its data crosses.
    pub links: Vec<String>,
    /// True if it always has something to send.
    pub bulk: bool,
    /// Its round-trip propagation time at its start.
    pub base_rtt_s: f64,
    /// The time of each sample.
    pub time_s: Numbers,
    /// The window in packets.
    pub packets: Numbers,
    /// The threshold of slow start in packets; null: there is none.
    pub ssthresh_packets: Numbers,
    /// The smoothed round-trip time; null before the first measurement.
    pub srtt_s: Numbers,
}

/// Finished transfers as columns of one length.
#[derive(Clone, Debug, Default, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Transfers {
    /// The number of all, of which at most 20000 are here.
    pub count: usize,
    /// The class of each.
    pub class: Vec<String>,
    /// The time at which each began.
    pub start_s: Numbers,
    /// The time until the last new byte was at the receiver.
    pub flow_completion_time_s: Numbers,
    /// The size in packets.
    pub size_packets: Numbers,
    /// The completion time over the time that the same transfer takes alone.
    pub slowdown: Numbers,
}

/// A distribution of the queueing delay.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Delays {
    /// The link.
    pub link: String,
    /// "all", "data" or a class.
    pub scope: String,
    /// The delays.
    pub queue_delay_s: Numbers,
    /// The shares of packets that waited no longer.
    pub cumulative_probability: Numbers,
}

/// Results that are kept.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Gathered {
    /// Their number, by which later messages name them.
    pub id: u32,
    /// The title of the scenario.
    pub title: String,
    /// The name of its file.
    pub name: String,
    /// Its text, if it came from one.
    pub text: Option<String>,
    /// The points.
    pub points: Vec<GatheredPoint>,
    /// The labels of the algorithms with their looks.
    pub algorithms: Vec<(String, Look)>,
    /// The replications that are finished.
    pub finished: usize,
    /// Those that were asked for.
    pub asked: usize,
    /// The digest of all of them: equal to that of the command if it ran the same.
    pub digest: String,
    /// What made them: the version, the commit, the engine.
    pub made_by: String,
    /// What a reader of the figures should know.
    pub notes: Vec<String>,
}

/// A point of results.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct GatheredPoint {
    /// The settings in one line; empty if there is one point.
    pub title: String,
    /// The labels of its algorithms.
    pub algorithms: Vec<String>,
    /// Its seeds, at most 1000 of them.
    pub seeds: Vec<Seed>,
    /// The links that are measured.
    pub links: Vec<String>,
    /// The scopes of its figures: "all", "data", classes, lanes, sizes of transfers.
    pub scopes: Vec<String>,
    /// The segments of the measured window.
    pub segments: Vec<(f64, f64)>,
}

/// Nothing more to say.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Done {}

/// Figures as a table.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Table {
    /// The columns that have a figure in some row.
    pub columns: Vec<TableColumn>,
    /// A row for each algorithm.
    pub rows: Vec<TableRow>,
    /// What a reader of the figures should know.
    pub notes: Vec<String>,
    /// All of it for programs.
    pub csv: String,
    /// For documents.
    pub markdown: String,
    /// For papers.
    pub latex: String,
}

/// A column of a table.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TableColumn {
    /// The metric, as it was asked for.
    pub metric: String,
    /// A short heading.
    pub title: String,
    /// The unit of the texts; empty for a pure number.
    pub unit: String,
    /// The unit of the numbers; "1" for a pure number.
    pub stored_unit: String,
    /// The better direction, where that is beyond dispute.
    #[cfg_attr(test, ts(type = "\"higher\" | \"lower\" | \"neither\""))]
    pub better: &'static str,
}

/// A row of a table.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TableRow {
    /// The label of the algorithm.
    pub algorithm: String,
    /// Its finished replications.
    pub seeds: usize,
    /// A cell for each column; null where the metric does not apply.
    pub cells: Vec<Option<TableCell>>,
}

/// A figure with its interval.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TableCell {
    /// The mean over the replications.
    pub mean: f64,
    /// The lower end of its 95% interval; null from a single replication.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// The replications behind it.
    pub n: usize,
    /// The mean as people read it, in the column's unit and with the digits that the interval supports.
    pub text: String,
    /// The interval likewise: "± 0.3", or its ends; empty without one.
    pub interval: String,
    /// True if it is better than each other algorithm's by more than chance explains, as in the report: each paired
    /// difference excludes zero.
    pub best: bool,
    /// The difference from the baseline, paired by seed, if one was named.
    pub difference: Option<TableDifference>,
}

/// A difference from the baseline.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TableDifference {
    /// The mean difference.
    pub mean: f64,
    /// The lower end of its 95% interval.
    pub low: Option<f64>,
    /// The upper end.
    pub high: Option<f64>,
    /// True if the interval does not reach zero.
    pub significant: bool,
    /// The difference with its sign and interval, as people read it.
    pub text: String,
}

/// A figure of results.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Chart {
    /// The picture.
    pub svg: String,
    /// Its numbers for programs.
    pub csv: String,
    /// The same as text, for readers of screens and terminals.
    pub text: String,
    /// Its numbers.
    #[cfg_attr(test, ts(type = "ChartNumbers"))]
    pub chart: quell_view::chart::Chart,
    /// The looks of its curves, by the numbers of their styles.
    #[cfg_attr(test, ts(type = "Record<number, Look>"))]
    pub styles: std::collections::BTreeMap<usize, Look>,
}

/// The report.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Report {
    /// One page that needs nothing else.
    pub html: String,
}

/// What the theory says.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Theory {
    /// The link.
    pub link: String,
    /// The time that it is of.
    pub at_s: f64,
    /// The long-lived flows.
    pub flows: f64,
    /// The capacity in packets per second.
    pub capacity_pps: f64,
    /// The buffer in packets.
    pub buffer_packets: f64,
    /// The mean round-trip time without queueing.
    pub rtt_s: f64,
    /// The congestion control of the flows.
    pub congestion: &'static str,
    /// Signals are marks; otherwise they are drops.
    pub marks: bool,
    /// What the models leave out, in sentences.
    pub left_out: Vec<String>,
    /// The verdict on each algorithm.
    #[cfg_attr(test, ts(type = "Assessment[]"))]
    pub assessments: Vec<quell_analysis::Assessment>,
    /// How far N, C and R may each move, in a sentence, by algorithm.
    pub reach: Vec<Vec<String>>,
    /// The open loop of each algorithm that has one.
    pub loops: Vec<TheoryLoop>,
    /// Bode's diagram of all loops; null if there is none.
    pub bode_svg: Option<String>,
    /// Nyquist's.
    pub nyquist_svg: Option<String>,
}

/// An open loop over frequency.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct TheoryLoop {
    /// The label of the algorithm.
    pub label: String,
    /// The frequencies in rad/s.
    pub frequency: Numbers,
    /// The gain in decibels.
    pub gain_db: Numbers,
    /// The phase in degrees.
    pub phase_deg: Numbers,
    /// The real part of the response.
    pub real: Numbers,
    /// The imaginary part.
    pub imaginary: Numbers,
    /// The crossing of a gain of 1: its frequency, and the phase margin in degrees.
    pub crossover: Option<(f64, f64)>,
    /// The crossing of -180 degrees: its frequency, and the gain margin in decibels.
    pub phase_crossover: Option<(f64, f64)>,
}

/// A map of what the theory says.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Map {
    /// The picture.
    pub svg: String,
    /// The places of the columns.
    pub x: Numbers,
    /// The places of the rows.
    pub y: Numbers,
    /// The values, row by row from the first `y`.
    pub values: Numbers,
    /// The name and the unit of what is shown.
    pub shown: String,
    /// The share of the points that are stable, where what is shown says so.
    pub stable: Option<f64>,
    /// Why points have no value, with their number, most frequent first.
    pub missing: Vec<(String, usize)>,
}

/// Runs that tell which queue suits a link, or the answer.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Recommended<'a> {
    /// What is run next; none once there is an answer.
    pub runs: Vec<RecommendedRun>,
    /// The answer.
    pub answer: Option<RecommendedAnswer<'a>>,
}

/// A scenario, each of whose seeds is to be run.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RecommendedRun {
    /// The text of the scenario.
    pub text: String,
    /// The label of its algorithm.
    pub algorithm: String,
    /// Its seeds.
    pub seeds: Vec<Seed>,
    /// Its simulated time.
    pub duration_s: f64,
    /// About how many packets a replication sends.
    pub estimated_packets: f64,
    /// About how much memory a replication needs, in bytes.
    pub estimated_memory: f64,
}

/// An answer for a link.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RecommendedAnswer<'a> {
    /// What the command prints as JSON.
    #[cfg_attr(test, ts(type = "RecommendReport"))]
    pub report: quell_recommend::Report<'a>,
    /// The candidates and what one has today, the best first.
    pub rows: Vec<RecommendedRow>,
    /// The best where the link is not what was said.
    pub reach: Vec<RecommendedRow>,
    /// Why the parameters of the best are what they are.
    pub reasons: Vec<String>,
}

/// A row of a table, as the command prints it.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct RecommendedRow {
    /// Its name.
    pub name: String,
    /// Whether the goal is met: "yes", "no", "unsure" where an interval lies across it, or "failed".
    pub goal: &'static str,
    /// The figures with their intervals, in the order of the report's columns; null where nothing was measured.
    pub cells: Vec<Option<String>>,
    /// The scenario's text.
    pub text: String,
}
