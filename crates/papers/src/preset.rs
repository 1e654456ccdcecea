//! Experiments of documents for a browser: the scenario, what is set in it, the printed numbers and where each is looked
//! up, and the verdicts on record.
//!
//! `lab/src/learn/papers.json` is made of these; a test writes it.

use serde::Serialize;

use crate::error::PaperError;
use crate::experiment::{Claim, Experiment, Papers, Reading, ScenarioRun};
use crate::plan::{Extent, Plan, lexical};
use crate::record::{Record, Recorded};

/// The most packets of one replication that a page runs by itself.
pub const MOST_PACKETS: f64 = 5e6;

/// A run of an experiment under the reading that is judged.
#[derive(Clone, Debug, Serialize)]
pub struct Preset {
    /// The experiment and the run: "vrc-b2/b2".
    pub id: String,
    /// The document, as it is cited.
    pub reference: String,
    /// The title of the document.
    pub document: String,
    /// Its section.
    pub section: String,
    /// The title of the experiment.
    pub title: String,
    /// The set-up, in the document's words or ours.
    pub describes: String,
    /// The reading, in words.
    pub reading: String,
    /// The scenario file, by its path in `scenarios`.
    pub scenario: String,
    /// The fields that are set, with their values as TOML.
    pub set: Vec<(String, String)>,
    /// The fields that are swept, with their values as TOML.
    pub sweep: Vec<(String, String)>,
    /// The labels of the algorithms that are run; `None`: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub algorithms: Option<Vec<String>>,
    /// The printed numbers.
    pub numbers: Vec<PresetNumber>,
    /// The claims of the document.
    pub claims: Vec<PresetClaim>,
}

/// A printed number.
#[derive(Clone, Debug, Serialize)]
pub struct PresetNumber {
    /// The point of the sweep, counted from 0.
    pub point: usize,
    /// The label of the algorithm.
    pub label: String,
    /// The table's name of the metric: "mean queue".
    pub name: String,
    /// The value that it is compared with: "100 * loss_rate\[data\]".
    pub value: String,
    /// The segment; `None`: the whole window.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub segment: Option<u32>,
    /// The traffic; `None`: all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The link; `None`: the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// The lower end of what is printed, or the number.
    pub low: f64,
    /// The upper end; `None`: a number is printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// The printed text, with its digits.
    pub printed: String,
    /// Its unit: "percent".
    pub unit: String,
    /// The table.
    pub table: String,
    /// The case of the table: its row or column.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub case: String,
    /// The verdict on record.
    pub verdict: String,
    /// The note on the verdict; may be empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub note: String,
}

/// A claim.
#[derive(Clone, Debug, Serialize)]
pub struct PresetClaim {
    /// The claim.
    pub says: String,
    /// Its place: "Fig. 10".
    pub place: String,
    /// The verdict on record.
    pub verdict: String,
}

/// The experiments that a browser can run: each run with printed numbers, and of experiments without, the first run.
///
/// # Errors
/// If an experiment cannot be run.
pub fn presets(papers: &Papers, record: &Record) -> Result<Vec<Preset>, PaperError> {
    let mut all = Vec::new();
    for document in &papers.documents {
        for e in &document.experiments {
            all.extend(presets_of(papers, e, record)?);
        }
    }
    Ok(all)
}

fn presets_of(papers: &Papers, e: &Experiment, record: &Record) -> Result<Vec<Preset>, PaperError> {
    let (Some(first_reading), Some(first_run)) = (e.readings.first(), e.runs.first()) else {
        return Ok(Vec::new());
    };
    let plan = Plan::of(papers, [e], Extent { seeds: Some(1), judged: true })?;
    let found = plan.without_results(e);
    let small = |reading: &Reading, run: &ScenarioRun| {
        plan.points_of(e, &reading.name, &run.name)
            .is_some_and(|points| points.iter().all(|point| point.estimated_packets() <= MOST_PACKETS))
    };
    let mut all: Vec<(&Reading, &ScenarioRun, Preset)> = Vec::new();
    for of in &e.cells {
        let reading = of.reading.as_ref().and_then(|name| e.readings.iter().find(|r| r.name == *name));
        let reading = reading.unwrap_or(first_reading);
        for cell in papers.cells_of(of) {
            let place = of.place_of(cell);
            let run = place.run.as_ref().and_then(|name| e.runs.iter().find(|r| r.name == *name));
            let run = run.unwrap_or(first_run);
            if !small(reading, run) {
                continue;
            }
            let spot =
                found.spot(e, Some(&reading.name), &place).map_err(|rule| PaperError::of(&e.file, rule))?;
            let is = |(r, u, _): &&mut (&Reading, &ScenarioRun, Preset)| {
                r.name == reading.name && u.name == run.name
            };
            let at = match all.iter_mut().find(is) {
                Some((.., preset)) => preset,
                None => {
                    all.push((reading, run, preset(papers, e, reading, run)));
                    &mut all.last_mut().unwrap_or_else(|| unreachable!("it was put there")).2
                }
            };
            let Recorded { verdict, note } = record.0.get(&cell.id).cloned().unwrap_or_default();
            let (low, high) = (cell.low.value, cell.high.value);
            at.numbers.push(PresetNumber {
                point: spot.view.point,
                label: of.algorithm[&cell.algorithm].clone(),
                name: cell.metric.replace('_', " "),
                value: of.metric[&cell.metric].to_string(),
                segment: place.segment,
                scope: place.scope.clone(),
                link: place.link.clone(),
                low,
                high: (high != low).then_some(high),
                printed: cell.printed(),
                unit: cell.unit.clone(),
                table: cell.table.clone(),
                case: cell.case.clone(),
                verdict,
                note,
            });
        }
    }
    if all.is_empty() && small(first_reading, first_run) {
        all.push((first_reading, first_run, preset(papers, e, first_reading, first_run)));
    }
    // Claims are of the experiment as a whole: they stand with its first run.
    if let Some((.., first)) = all.first_mut() {
        first.claims =
            e.claims.iter().filter(|claim| !claim.ours).map(|claim| claimed(e, claim, record)).collect();
    }
    let worth = |preset: &Preset| !preset.numbers.is_empty() || !preset.claims.is_empty();
    Ok(all.into_iter().map(|(.., preset)| preset).filter(worth).collect())
}

fn preset(papers: &Papers, e: &Experiment, reading: &Reading, run: &ScenarioRun) -> Preset {
    let document = papers.document_of(e);
    let file = reading.replace.get(&run.name).unwrap_or(&run.scenario);
    let path = lexical(&e.file.parent().unwrap_or(std::path::Path::new("")).join(file));
    let texts = |table: &toml::Table| -> Vec<(String, String)> {
        table.iter().map(|(field, value)| (field.clone(), value.to_string())).collect()
    };
    let dialect =
        [&reading.dialect, &run.dialect, &e.dialect, &document.about.dialect].into_iter().flatten().next();
    let dialect = dialect.map(|name| ("dialect".to_string(), toml::Value::from(name.as_str()).to_string()));
    let set = dialect.into_iter().chain(texts(&run.set)).chain(texts(&reading.set)).collect();
    let path = path.to_string_lossy().replace('\\', "/");
    Preset {
        id: format!("{}/{}", e.id, run.name),
        reference: document.about.reference.clone(),
        document: document.about.title.clone(),
        section: e.section.clone(),
        title: e.title.clone(),
        describes: e.describes.trim().to_string(),
        reading: reading.says.clone(),
        scenario: path.rsplit_once("/scenarios/").map_or(path.clone(), |(_, name)| name.to_string()),
        set,
        sweep: texts(&run.sweep),
        algorithms: reading.algorithms.clone().or_else(|| run.algorithms.clone()),
        numbers: Vec::new(),
        claims: Vec::new(),
    }
}

fn claimed(e: &Experiment, claim: &Claim, record: &Record) -> PresetClaim {
    let place = match (&claim.figure, &claim.table, &claim.section) {
        (Some(figure), ..) => format!("Fig. {figure}"),
        (_, Some(table), _) => format!("Table {table}"),
        (.., Some(section)) => format!("section {section}"),
        _ => String::new(),
    };
    let recorded = record.0.get(&format!("{}#{}", e.id, claim.name));
    PresetClaim {
        says: claim.says.clone(),
        place,
        verdict: recorded.map_or_else(String::new, |of| of.verdict.clone()),
    }
}
