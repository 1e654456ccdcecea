//! The results that one instance keeps, by number.

use std::collections::BTreeMap;

use quell_metrics::{PointInfo, Replication, Results, RunInfo, unpack};
use quell_scenario::{Study, notes};
use quell_view::style::{Style, of_results};

use crate::about::commit;
use crate::fault::Fault;
use crate::protocol::{Done, GatherRequest, Gathered, GatheredPoint, OpenRequest, Seed, Source};
use crate::source::decode;

/// More seeds than these are not listed.
const MOST_SEEDS: usize = 1000;

/// Results by number.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    all: BTreeMap<u32, Results>,
    last: u32,
}

impl Kept {
    /// The results of a number.
    pub(crate) fn of(&self, id: u32) -> Result<&Results, Fault> {
        let gone = || Fault::request(format!("results {id}: are not here (any more); gather them again"));
        self.all.get(&id).ok_or_else(gone)
    }

    /// Puts replications of a scenario together.
    pub(crate) fn gather(&mut self, study: &Study, ask: &GatherRequest) -> Result<Gathered, Fault> {
        let points: Vec<PointInfo> = study.points.iter().map(PointInfo::of).collect();
        let mut replications = read(&ask.replications)?;
        for r in &replications {
            let known = points.get(r.point).is_some_and(|p| p.algorithms.contains(&r.algorithm));
            if !known {
                let (label, point) = (quell_units::text::cut(&r.algorithm), r.point);
                let why = format!("a replication of {label} at point {point}: the scenario has no such run");
                return Err(Fault::request(why));
            }
        }
        // In the order of the scenario, as the command has them.
        let place = |r: &Replication| {
            let point = &points[r.point];
            let aqm = point.algorithms.iter().position(|a| *a == r.algorithm);
            let seed = point.seeds.iter().position(|s| *s == r.seed).unwrap_or(usize::MAX);
            (r.point, aqm, seed, r.seed)
        };
        replications.sort_by_key(place);
        replications.dedup_by_key(|r| place(r));
        let run = RunInfo {
            schema: 1,
            version: env!("CARGO_PKG_VERSION").to_string(),
            commit: commit().to_string(),
            title: study.title().to_string(),
            started: ask.started.clone().unwrap_or_default(),
            elapsed_s: ask.elapsed_s.unwrap_or(0.0),
            command: command(&ask.source),
            scenario_file: study.name().to_string(),
            scenario_text: study.text().map(str::to_string),
            holes: study.holes.clone(),
            notes: notes(&study.points),
            points,
            ..RunInfo::default()
        };
        let mut results = Results::of(run, replications);
        results.run.partial = results.replications.len() < results.asked();
        self.keep(results, ask.id)
    }

    /// Keeps results that were made elsewhere.
    pub(crate) fn open(&mut self, ask: OpenRequest) -> Result<Gathered, Fault> {
        let replications = read(&ask.replications)?;
        let points = ask.run.points.len();
        if let Some(wrong) = replications.iter().find(|r| r.point >= points) {
            let point = wrong.point;
            return Err(Fault::request(format!(
                "a replication of point {point}: the run has {points} points"
            )));
        }
        self.keep(Results::of(ask.run, replications), None)
    }

    /// Forgets results.
    pub(crate) fn forget(&mut self, id: u32) -> Result<Done, Fault> {
        self.of(id)?;
        self.all.remove(&id);
        Ok(Done {})
    }

    fn keep(&mut self, results: Results, id: Option<u32>) -> Result<Gathered, Fault> {
        let id = match id {
            Some(id) => {
                self.of(id)?;
                id
            }
            None => {
                self.last += 1;
                self.last
            }
        };
        let gathered = describe(&results, id);
        self.all.insert(id, results);
        Ok(gathered)
    }
}

/// Packed replications.
pub(crate) fn read(packed: &[String]) -> Result<Vec<Replication>, Fault> {
    let mut all = Vec::new();
    for text in packed {
        let bytes = decode(text).map_err(|why| Fault::request(format!("a packed replication {why}")))?;
        let found = unpack(&bytes).map_err(|why| Fault::request(format!("a packed replication: {why}")))?;
        all.extend(found);
    }
    Ok(all)
}

/// The command that runs a source.
fn command(source: &Source) -> Vec<String> {
    let mut words = vec!["quell".to_string(), "run".to_string()];
    words.push(source.name.clone().unwrap_or_else(|| "scenario.toml".to_string()));
    if !source.aqm.is_empty() {
        words.extend(["--aqm".to_string(), source.aqm.join(",")]);
    }
    for (field, value) in &source.set {
        words.extend(["--set".to_string(), format!("{field}={value}")]);
    }
    words
}

fn describe(results: &Results, id: u32) -> Gathered {
    let run = &results.run;
    let point = |(i, p): (usize, &PointInfo)| GatheredPoint {
        title: p.title(),
        algorithms: p.algorithms.clone(),
        seeds: p.seeds.iter().take(MOST_SEEDS).map(|seed| Seed(*seed)).collect(),
        links: p.links.clone(),
        scopes: results.scopes(i),
        segments: p.segments.clone(),
    };
    let looks = of_results(results).into_iter().map(|(label, n)| (label, Style::number(n).into()));
    Gathered {
        id,
        title: run.title.clone(),
        name: run.scenario_file.clone(),
        text: run.scenario_text.clone(),
        points: run.points.iter().enumerate().map(point).collect(),
        algorithms: looks.collect(),
        finished: results.replications.len(),
        asked: results.asked(),
        digest: run.digest.clone(),
        made_by: run.made_by(),
        notes: results.notes(),
    }
}
