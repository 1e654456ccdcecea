//! The files of a bundle, made of a folder of results.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use quell_files::Limit;
use quell_lab::{Metric, Quantity, REPORT, Results};
use quell_scenario::Files;
use quell_view::chart::{Chart, Choice, Diagram, csv};
use quell_view::picture::{self, Sheet};
use quell_view::report;

use crate::about::About;
use crate::entry::{Entry, hash, plain, scenario_name};
use crate::error::BundleError;
use crate::names::{README, RESULTS, SCENARIO};
use crate::{readme, tables};

const TABLE: Limit = Limit::of_tables("a table of results");

/// Collects the files of a bundle, but for its metadata, sorted by name. `inputs` reads the files that scenarios name, and
/// `further` is what stands beside all that.
pub(crate) fn collect(
    results: &Results,
    folder: &Path,
    about: &About,
    inputs: &Files,
    further: Option<Entry>,
) -> Result<Vec<Entry>, BundleError> {
    let mut all = stored(results, folder)?;
    all.extend(further);
    all.extend(scenario(results, inputs)?);
    all.extend(made(results));
    let page = readme::page(results, about, &all);
    all.push(Entry::new(README, "What this is, how to check it, and how to compute it again", page));
    all.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(all)
}

/// What this program makes of results: the report, the tables and the figures.
pub(crate) fn made(results: &Results) -> Vec<Entry> {
    let mut all = Vec::new();
    all.push(Entry::new(REPORT, "Report: tables and figures as one page", report::html(results)));
    all.push(Entry::new(
        "tables/metrics.csv",
        "Every metric with its unit, 95% interval and number of seeds",
        tables::metrics(results),
    ));
    all.push(Entry::new(
        "tables/replications.csv",
        "Every replication with the digest of its sample path",
        tables::replications(results),
    ));
    all.extend(figures(results));
    all
}

/// The results as their folder has them.
fn stored(results: &Results, folder: &Path) -> Result<Vec<Entry>, BundleError> {
    let read = |name: &str| {
        let path = folder.join(name);
        quell_files::read(&path, TABLE)
            .map_err(|e| BundleError::Failed(format!("cannot read {}: {e}", quell_files::name(&path))))
    };
    let mut all = vec![Entry::new(
        format!("{RESULTS}run.json"),
        "Record of the run: version, commit, engine, command, scenario, seeds, digest",
        read("run.json")?,
    )];
    for info in &results.run.files {
        let bytes = read(&info.name)?;
        // Between the first look and this one somebody may have written other results.
        if hash(&bytes) != info.sha256 {
            let path = quell_files::name(folder.join(&info.name));
            return Err(BundleError::Failed(format!("{path}: changed while it was read; pack it again")));
        }
        let table = info.name.trim_end_matches(".parquet");
        all.push(Entry::new(format!("{RESULTS}{}", info.name), format!("Table of results: {table}"), bytes));
    }
    Ok(all)
}

/// The scenario as it was written, or as its points are where it has no text, and the files that it names.
fn scenario(results: &Results, inputs: &Files) -> Result<Vec<Entry>, BundleError> {
    let mut all = written(results);
    let mut taken: BTreeSet<String> = all.iter().map(|entry| entry.name.clone()).collect();
    for (alias, sha256) in named_files(results) {
        let refuse = |why: &str| {
            BundleError::BadInput(format!(
                "{}, which the scenario names: {why}; pack it in the folder that it was run in, or name that folder \
                 with --inputs",
                quell_files::name(&alias)
            ))
        };
        let found = inputs.read(&alias).map_err(|why| refuse(&why))?;
        if let Some(sha256) = sha256.filter(|sha256| !sha256.eq_ignore_ascii_case(&hash(&found.bytes))) {
            return Err(refuse(&format!("is not the file that was run, which has the SHA-256 {sha256}")));
        }
        let name = place(&alias, results, &hash(&found.bytes), &taken);
        taken.insert(name.clone());
        let entry = Entry::new(name, "File that the scenario names", found.bytes);
        all.push(Entry { alias: Some(alias), ..entry });
    }
    Ok(all)
}

/// The scenario as it was written, or as its points are where it has no text.
pub(crate) fn written(results: &Results) -> Vec<Entry> {
    match (&results.run.scenario_text, scenario_name(results)) {
        (Some(text), Some(name)) => vec![Entry::new(name, "Scenario as it was written", text.as_str())],
        _ => {
            let of = |(i, point): (usize, &quell_lab::PointInfo)| {
                let title = format!("Scenario of point {}, with every default", i + 1);
                Entry::new(format!("{SCENARIO}point-{}.toml", i + 1), title, point.scenario.as_str())
            };
            results.run.points.iter().enumerate().map(of).collect()
        }
    }
}

/// The files that the scenarios of the points name, each with its hash if that is known.
pub(crate) fn named_files(results: &Results) -> BTreeMap<String, Option<String>> {
    let mut all = BTreeMap::new();
    for point in &results.run.points {
        if let Ok(scenario) = toml::from_str(&point.scenario) {
            named(&toml::Value::Table(scenario), &mut all);
        }
    }
    all
}

fn named(value: &toml::Value, all: &mut BTreeMap<String, Option<String>>) {
    match value {
        toml::Value::Table(table) => {
            if let Some(file) = table.get("file").and_then(toml::Value::as_str) {
                let sha256 = table.get("sha256").and_then(toml::Value::as_str).map(str::to_string);
                all.insert(file.to_string(), sha256);
            }
            table.values().for_each(|value| named(value, all));
        }
        toml::Value::Array(list) => list.iter().for_each(|value| named(value, all)),
        _ => {}
    }
}

/// The place of a file that a scenario names: beside the scenario as it was beside it, so that what is unpacked runs; a
/// folder of its own where it was elsewhere.
fn place(alias: &str, results: &Results, sha256: &str, taken: &BTreeSet<String>) -> String {
    let folder = Path::new(&results.run.scenario_file).parent().unwrap_or(Path::new(""));
    let beside = results.run.scenario_text.as_ref().and_then(|_| Path::new(alias).strip_prefix(folder).ok());
    let beside = beside.and_then(|path| plain(path.to_str()?)).map(|path| format!("{SCENARIO}{path}"));
    match beside.filter(|name| !taken.contains(name)) {
        Some(name) => name,
        None => {
            let name = Path::new(alias).file_name().and_then(|name| plain(name.to_str()?));
            format!("{SCENARIO}files/{}-{}", &sha256[..12], name.as_deref().unwrap_or("file"))
        }
    }
}

/// The main figures, each as a picture and its numbers: of a sweep the metrics of the usual table over its fields, of one
/// point the queue, delays and throughput.
fn figures(results: &Results) -> Vec<Entry> {
    let metrics: Vec<Quantity> = Metric::table_of("all").iter().map(|m| (*m).into()).collect();
    let charts: Vec<(String, Chart)> = match results.run.points.len() {
        0 | 1 => {
            let diagrams = Diagram::ALL.iter().filter(|d| **d != Diagram::Metric);
            let chart =
                |d: &Diagram| Some((d.name().to_string(), Chart::of(results, *d, &Choice::default()).ok()?));
            diagrams.filter_map(chart).collect()
        }
        _ => {
            let chart = |metric: &Quantity| {
                let choice = Choice { metric: Some(metric), ..Choice::default() };
                let chart = Chart::of(results, Diagram::Metric, &choice).ok()?;
                let has_value = chart.curves().any(|curve| curve.y.iter().any(|y| y.is_finite()));
                has_value.then(|| (metric.to_string(), chart))
            };
            metrics.iter().filter_map(chart).collect()
        }
    };
    let mut all = Vec::new();
    for (name, chart) in charts {
        let drawn = picture::chart(&Sheet::new(&chart.title, &results.run.title), &chart);
        all.push(Entry::new(format!("figures/{name}.svg"), format!("Figure: {}", chart.title), drawn));
        all.push(Entry::new(
            format!("figures/{name}.csv"),
            format!("Numbers of the figure: {}", chart.title),
            csv(&chart),
        ));
    }
    all
}

#[cfg(test)]
mod tests {
    use quell_lab::RunInfo;

    use super::*;

    #[test]
    fn files_lie_where_the_scenario_finds_them_or_in_a_folder_of_their_own() {
        let run = RunInfo {
            scenario_file: "scenarios/replay.toml".to_string(),
            scenario_text: Some(String::new()),
            ..RunInfo::default()
        };
        let results = Results { run, replications: Vec::new() };
        let (sha256, none) = ("0123456789abcdef", BTreeSet::new());
        let of = |alias: &str| place(alias, &results, sha256, &none);
        assert_eq!(of("scenarios/traces/a.csv"), "scenario/traces/a.csv");
        for elsewhere in ["scenarios/../a.csv", "/tmp/a.csv", "other/a.csv", "scenarios/x/../../../a.csv"] {
            assert_eq!(of(elsewhere), "scenario/files/0123456789ab-a.csv", "{elsewhere}");
        }
        let taken = BTreeSet::from(["scenario/a.csv".to_string()]);
        assert_eq!(place("scenarios/a.csv", &results, sha256, &taken), "scenario/files/0123456789ab-a.csv");
    }
}
