//! The replications that experiments need, as one study, whose results are taken apart again.

use std::collections::{BTreeSet, HashMap};
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use quell_lab::{Options, PointInfo, Replication, Results, RunError, RunInfo};
use quell_scenario::{Plugins, Study};

use crate::error::PaperError;
use crate::experiment::{Document, Experiment, Papers, Reading, ScenarioRun};
use crate::results::{ExperimentResults, Part};

/// The replications that some experiments need.
#[derive(Debug)]
pub struct Plan {
    /// All of them.
    pub study: Study,
    parts: Vec<Part>,
}

/// The extent to which experiments are run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extent {
    /// The largest number of seeds; `None`: as many as the experiments say.
    pub seeds: Option<u32>,
    /// Only the readings that are judged.
    pub judged: bool,
}

impl Plan {
    /// The plan of some experiments.
    ///
    /// # Errors
    /// If a scenario cannot be used, or an experiment names what its scenarios have not: an algorithm, a field, a point,
    /// a link, a class of traffic or a segment.
    pub fn of<'a>(
        papers: &'a Papers,
        experiments: impl IntoIterator<Item = &'a Experiment>,
        extent: Extent,
    ) -> Result<Plan, PaperError> {
        let (mut parts, mut studies, mut points) = (Vec::<Part>::new(), Vec::new(), 0);
        for e in experiments {
            let (document, first) = (papers.document_of(e), parts.len());
            let start = points;
            for (reading, run) in pairs(e, extent) {
                let study = study(document, e, reading, run, extent)?;
                let name = format!("{}/{}/{}", e.id, reading.name, run.name);
                parts.push(Part {
                    experiment: e.id.clone(),
                    reading: reading.name.clone(),
                    run: run.name.clone(),
                    points: points..points + study.points.len(),
                });
                points += study.points.len();
                studies.push((name, study));
            }
            let infos =
                studies[first..].iter().flat_map(|(_, study)| &study.points).map(PointInfo::of).collect();
            let run = RunInfo { points: infos, ..RunInfo::default() };
            let own = &parts[first..];
            crate::judge::check(
                papers,
                e,
                &ExperimentResults::apart(own, start, Results { run, replications: Vec::new() }),
            )?;
        }
        Ok(Plan { study: Study::join(studies), parts })
    }

    /// Runs what is planned, and hands over what was found of each experiment as soon as all of it is there, while
    /// others go on. Experiments of which nothing is run are not among them, nor are those that a stop leaves unfinished.
    ///
    /// # Errors
    /// If a replication cannot be run.
    pub fn run(
        &self,
        options: &Options<'_>,
        take: &(dyn Fn(&str, ExperimentResults) + Sync),
    ) -> Result<Ran, RunError> {
        let experiments: Vec<&[Part]> = self.parts.chunk_by(|a, b| a.experiment == b.experiment).collect();
        let points = |own: &&[Part]| own[0].points.start..own[own.len() - 1].points.end;
        let ranges: Vec<Range<usize>> = experiments.iter().map(points).collect();
        let (done, all) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (study, shared) = self.once();
        let lending = Lending::new(&shared, &ranges);
        // What is judged and drawn are metrics, time series and distributions.
        let options = Options { without_flows: true, ..options.clone() };
        quell_lab::run_in_parts(&study, &options, &ranges, &|i, results| {
            done.fetch_add(results.replications.len(), Ordering::Relaxed);
            all.fetch_add(results.asked(), Ordering::Relaxed);
            if results.run.partial {
                return;
            }
            for (i, mut results) in lending.finish(i, results) {
                let (own, start) = (experiments[i], ranges[i].start);
                results.run.points = self.study.points[ranges[i].clone()].iter().map(PointInfo::of).collect();
                let points = &results.run.points;
                // Where an algorithm stands does not depend on who ran it.
                let place =
                    |r: &Replication| points[r.point].algorithms.iter().position(|a| *a == r.algorithm);
                results.replications.sort_by_key(|r| (r.point, place(r)));
                take(&own[0].experiment, ExperimentResults::apart(own, start, results));
            }
        })?;
        Ok(Ran { done: done.into_inner(), all: all.into_inner() })
    }

    /// The study without what it would run twice: readings that do not change an algorithm's replications share them,
    /// and so do experiments. Also says what is shared.
    fn once(&self) -> (Study, Vec<Shared>) {
        let mut study = self.study.clone();
        let mut all = Vec::new();
        let mut first: HashMap<String, Vec<(usize, String, Vec<u64>)>> = HashMap::new();
        for (point, spec) in self.study.points.iter().enumerate() {
            let seeds = spec.scenario.seeds.list();
            let mut left: Vec<bool> = Vec::new();
            for (at, aqm) in spec.scenario.aqm.iter().enumerate() {
                let (label, identity) = (aqm.label().to_string(), spec.identity(at));
                let known = identity.as_ref().and_then(|identity| first.get(&identity.text));
                let has_all =
                    |(.., theirs): &&(usize, String, Vec<u64>)| seeds.iter().all(|s| theirs.contains(s));
                let same = known.and_then(|known| known.iter().find(has_all));
                left.push(same.is_none());
                match same {
                    Some((from, known, _)) => {
                        let from = (*from, known.clone());
                        all.push(Shared { point, label, seeds: seeds.clone(), from });
                    }
                    None => {
                        if let Some(identity) = identity {
                            first.entry(identity.text).or_default().push((point, label, seeds.clone()));
                        }
                    }
                }
            }
            let mut left = left.into_iter();
            study.points[point].scenario.aqm.retain(|_| left.next().unwrap_or(true));
        }
        (study, all)
    }

    /// What it takes to run it all, but for what a cache has.
    pub fn cost(&self) -> Cost {
        let (study, shared) = self.once();
        let of = |point: &quell_scenario::Point| {
            let runs = point.scenario.aqm.len() * point.scenario.seeds.list().len();
            (runs, runs as f64 * point.estimated_packets())
        };
        let all = study.points.iter().map(of).fold((0, 0.0), |all, own| (all.0 + own.0, all.1 + own.1));
        Cost {
            replications: all.0,
            packets: all.1,
            shared: shared.iter().map(|shared| shared.seeds.len()).sum(),
        }
    }

    /// Results of an experiment that hold nothing: the places are there, where numbers are looked up.
    pub(crate) fn without_results(&self, e: &Experiment) -> ExperimentResults {
        let own: Vec<Part> = self.parts.iter().filter(|part| part.experiment == e.id).cloned().collect();
        let Some(start) = own.first().map(|part| part.points.start) else {
            return ExperimentResults::default();
        };
        let end = own.last().map_or(start, |part| part.points.end);
        let points = self.study.points[start..end].iter().map(PointInfo::of).collect();
        let run = RunInfo { points, ..RunInfo::default() };
        ExperimentResults::apart(&own, start, Results { run, replications: Vec::new() })
    }

    /// The points of a run under a reading; `None` if it is not planned.
    pub(crate) fn points_of(
        &self,
        e: &Experiment,
        reading: &str,
        run: &str,
    ) -> Option<&[quell_scenario::Point]> {
        let is = |part: &&Part| part.experiment == e.id && part.reading == reading && part.run == run;
        self.parts.iter().find(is).map(|part| &self.study.points[part.points.clone()])
    }

    /// The algorithm of the catalog that a label stands for in an experiment.
    pub fn algorithm(&self, e: &Experiment, label: &str) -> Option<&str> {
        let own = self.parts.iter().filter(|part| part.experiment == e.id);
        let points = own.flat_map(|part| &self.study.points[part.points.clone()]);
        let mut choices = points.flat_map(|point| &point.scenario.aqm);
        choices.find(|choice| choice.label() == label).map(|choice| choice.algorithm.as_str())
    }
}

impl Papers {
    /// The live side of an experiment, as one study.
    ///
    /// # Errors
    /// If the experiment has none, or its scenario cannot be used.
    pub fn live_study(&self, e: &Experiment) -> Result<Study, PaperError> {
        let Some(live) = &e.live else {
            return Err(PaperError::of(&e.file, "has no [live]: nothing of it is run with real packets"));
        };
        let mut runs = e.runs.iter().filter(|run| live.run.as_ref().is_none_or(|name| *name == run.name));
        let mut readings = e
            .readings
            .iter()
            .filter(|reading| live.reading.as_ref().is_none_or(|name| *name == reading.name));
        let (Some(run), Some(reading)) = (runs.next(), readings.next()) else {
            return Err(e.wrong(&[&"live"], "live: there is no such run or reading"));
        };
        // The live side's own seeds: those of the run and the reading are for simulations.
        let run = ScenarioRun { seeds: Some(live.seeds), ..run.clone() };
        let reading = Reading { seeds: None, ..reading.clone() };
        study(self.document_of(e), e, &reading, &run, Extent::default())
    }
}

/// The progress of a plan: finished replications beside all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ran {
    /// The number of finished ones.
    pub done: usize,
    /// The number of all.
    pub all: usize,
}

/// What it takes to run a plan.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// The number of replications.
    pub replications: usize,
    /// The packets that they handle, roughly.
    pub packets: f64,
    /// The number of those that are another's as well, and are not run again.
    pub shared: usize,
}

/// Packets that a thread simulates in a second, roughly: half of the documents' experiments do between 1 and 4 million on
/// a core of 2020.
const PACKETS_PER_SECOND: f64 = 2.4e6;

impl Cost {
    /// The time that it takes on so many threads, in seconds; a few times more or less, as the processor is.
    pub fn seconds(&self, threads: usize) -> f64 {
        self.packets / PACKETS_PER_SECOND / threads.max(1) as f64
    }
}

/// The replications of an algorithm at a point that are those of another point.
#[derive(Clone, Debug)]
struct Shared {
    point: usize,
    label: String,
    seeds: Vec<u64>,
    from: (usize, String),
}

/// What experiments have of each other: one that is finished but for what others run waits for these.
struct Lending<'a> {
    shared: &'a [Shared],
    ranges: &'a [Range<usize>],
    state: Mutex<Vec<Loan>>,
}

/// An experiment among those that share replications.
#[derive(Default)]
struct Loan {
    /// The experiments, by number, that have yet to finish what this one shares.
    awaits: BTreeSet<usize>,
    /// Its replications that others ran, with points counted from its first.
    lent: Vec<Replication>,
    /// Its own, while it waits.
    own: Option<Results>,
}

impl<'a> Lending<'a> {
    fn new(shared: &'a [Shared], ranges: &'a [Range<usize>]) -> Self {
        let mut loans: Vec<Loan> = ranges.iter().map(|_| Loan::default()).collect();
        for of in shared {
            loans[part_of(ranges, of.point)].awaits.insert(part_of(ranges, of.from.0));
        }
        Lending { shared, ranges, state: Mutex::new(loans) }
    }

    /// Takes what an experiment ran, and gives what is complete by it: it, and those that waited for it.
    fn finish(&self, part: usize, results: Results) -> Vec<(usize, Results)> {
        let mut loans = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for of in self.shared.iter().filter(|of| self.ranges[part].contains(&of.from.0)) {
            let to = part_of(self.ranges, of.point);
            let (point, label) = (of.from.0 - self.ranges[part].start, &of.from.1);
            let is =
                |r: &&Replication| r.point == point && r.algorithm == *label && of.seeds.contains(&r.seed);
            let own = |r: &Replication| Replication {
                point: of.point - self.ranges[to].start,
                algorithm: of.label.clone(),
                ..r.clone()
            };
            loans[to].lent.extend(results.replications.iter().filter(is).map(own));
        }
        loans[part].own = Some(results);
        let mut complete = Vec::new();
        for (i, loan) in loans.iter_mut().enumerate() {
            loan.awaits.remove(&part);
            if let Some(mut own) = loan.own.take_if(|_| loan.awaits.is_empty()) {
                own.replications.append(&mut loan.lent);
                complete.push((i, own));
            }
        }
        complete
    }
}

/// The number of the range that has a point.
fn part_of(ranges: &[Range<usize>], point: usize) -> usize {
    ranges.partition_point(|range| range.end <= point)
}

/// The readings of an experiment and the runs that each applies to.
fn pairs(e: &Experiment, extent: Extent) -> Vec<(&Reading, &ScenarioRun)> {
    let judged = |reading: &&Reading| {
        let is = |name: &Option<String>| name.as_ref() == Some(&reading.name);
        !extent.judged
            || e.readings.first().is_some_and(|first| first.name == reading.name)
            || e.cells.iter().any(|of| is(&of.reading))
            || e.claims.iter().any(|claim| is(&claim.reading))
            || e.figures.iter().any(|figure| is(&figure.reading))
    };
    let applies = |reading: &Reading, run: &ScenarioRun| {
        reading.runs.as_ref().is_none_or(|names| names.contains(&run.name))
    };
    let readings = e.readings.iter().filter(judged);
    readings.flat_map(|r| e.runs.iter().filter(move |run| applies(r, run)).map(move |run| (r, run))).collect()
}

fn study(
    document: &Document,
    e: &Experiment,
    reading: &Reading,
    run: &ScenarioRun,
    extent: Extent,
) -> Result<Study, PaperError> {
    let file = reading.replace.get(&run.name).unwrap_or(&run.scenario);
    let path = lexical(&e.file.parent().unwrap_or(std::path::Path::new("")).join(file));
    let blame = |error: quell_scenario::ScenarioError| PaperError {
        file: format!("{} (reading {}, run {})", e.file.display(), reading.name, run.name),
        line: None,
        rule: error.to_string(),
    };
    let mut scenario = quell_lab::read_named(&path).map_err(blame)?;
    // The most specific wins; without any, it is what the scenario says.
    let said = [&reading.dialect, &run.dialect, &e.dialect, &document.about.dialect];
    let dialect = said.into_iter().flatten().next();
    if let Some(dialect) = dialect {
        scenario.set("dialect", &toml::Value::String(dialect.clone())).map_err(blame)?;
    }
    for (field, value) in run.set.iter().chain(&reading.set) {
        scenario.set(field, value).map_err(blame)?;
    }
    for (field, values) in &run.sweep {
        scenario.sweep(field, values).map_err(blame)?;
    }
    let seeds = reading.seeds.or(run.seeds).unwrap_or(e.seeds);
    let seeds = extent.seeds.map_or(seeds, |most| seeds.min(most));
    scenario.set("seeds", &toml::Value::Integer(i64::from(seeds))).map_err(blame)?;
    let mut study = scenario.study(&Plugins::new()).map_err(blame)?;
    if let Some(labels) = reading.algorithms.as_ref().or(run.algorithms.as_ref()) {
        for point in &mut study.points {
            let left_out = |label: &String| point.left_out.iter().any(|out| out.label == *label);
            let has =
                |label: &&String| point.scenario.aqm.iter().any(|a| a.label() == *label) || left_out(label);
            if let Some(lost) = labels.iter().find(|label| !has(label)) {
                let known: Vec<_> = point.scenario.aqm.iter().map(|a| a.label()).collect();
                return Err(PaperError::of(
                    &e.file,
                    format!(
                        "algorithm \"{lost}\": is not in {}, which has {}",
                        quell_files::name(&path),
                        known.join(", ")
                    ),
                ));
            }
            point.scenario.aqm.retain(|a| labels.iter().any(|label| label == a.label()));
        }
    }
    Ok(study)
}

/// A path without `..` where a folder can be left out, for people to read.
pub(crate) fn lexical(path: &std::path::Path) -> std::path::PathBuf {
    use std::path::Component;
    let mut clean = std::path::PathBuf::new();
    for part in path.components() {
        match (part, clean.components().next_back()) {
            (Component::ParentDir, Some(Component::Normal(_))) => {
                clean.pop();
            }
            (Component::CurDir, _) => {}
            _ => clean.push(part),
        }
    }
    clean
}
