//! Which replications experiments need, as one study, and the results apart again.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use quell_lab::{Options, PointInfo, Quantity, Replication, Results, RunError, RunInfo, View};
use quell_scenario::{JOINED, Plugins, Setting, Study};

use crate::error::PaperError;
use crate::experiment::{Document, Experiment, Papers, Place, Reading, Run};

/// The replications that some experiments need.
#[derive(Debug)]
pub struct Plan {
    /// All of them.
    pub study: Study,
    parts: Vec<Part>,
}

/// A run of an experiment under one of its readings.
#[derive(Clone, Debug)]
struct Part {
    experiment: String,
    reading: String,
    run: String,
    points: Range<usize>,
}

/// How an experiment is to be run.
#[derive(Clone, Copy, Debug, Default)]
pub struct Extent {
    /// At most so many seeds; none for as many as the experiments say.
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
            crate::judge::check(papers, e, &apart(own, start, Results { run, replications: Vec::new() }))?;
        }
        Ok(Plan { study: Study::join(studies), parts })
    }

    /// Runs what is planned, and hands over what was found of each experiment as soon as all of it is there, while
    /// others go on. Experiments of which nothing is run are not among them, nor are those that a stop leaves unfinished.
    ///
    /// # Errors
    /// If a replication cannot be run.
    pub fn run(&self, options: &Options<'_>, take: &(dyn Fn(&str, Found) + Sync)) -> Result<Ran, RunError> {
        let experiments: Vec<&[Part]> = self.parts.chunk_by(|a, b| a.experiment == b.experiment).collect();
        let points = |own: &&[Part]| own[0].points.start..own[own.len() - 1].points.end;
        let ranges: Vec<Range<usize>> = experiments.iter().map(points).collect();
        let (done, all) = (AtomicUsize::new(0), AtomicUsize::new(0));
        quell_lab::run_in_parts(&self.study, options, &ranges, &|i, results| {
            done.fetch_add(results.replications.len(), Ordering::Relaxed);
            all.fetch_add(results.asked(), Ordering::Relaxed);
            if !results.run.partial {
                let own = experiments[i];
                take(&own[0].experiment, apart(own, ranges[i].start, results));
            }
        })?;
        Ok(Ran { done: done.into_inner(), all: all.into_inner() })
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
        let run = Run { seeds: Some(live.seeds), ..run.clone() };
        let reading = Reading { seeds: None, ..reading.clone() };
        study(self.document_of(e), e, &reading, &run, Extent::default())
    }
}

/// How many of the replications that were planned are finished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ran {
    /// How many are finished.
    pub done: usize,
    /// How many there are.
    pub all: usize,
}

/// The results of an experiment by reading and run; their points are counted from `start`.
fn apart(parts: &[Part], start: usize, results: Results) -> Found {
    let Results { run, replications } = results;
    let mut rest = replications.into_iter().peekable();
    let mut found = Vec::new();
    for part in parts {
        let points = part.points.start - start..part.points.end - start;
        let mut own = Vec::new();
        while let Some(r) = rest.next_if(|r| r.point < points.end) {
            own.push(Replication { point: r.point - points.start, ..r });
        }
        let mut info = run.clone();
        info.points = run.points[points].to_vec();
        info.points.iter_mut().for_each(|p| p.settings.retain(|s| s.field != JOINED));
        found.push((part.clone(), Results { run: info, replications: own }));
    }
    Found { parts: found }
}

/// The readings of an experiment and the runs that each applies to.
fn pairs(e: &Experiment, extent: Extent) -> Vec<(&Reading, &Run)> {
    let judged = |reading: &&Reading| {
        let is = |name: &Option<String>| name.as_ref() == Some(&reading.name);
        !extent.judged
            || e.readings.first().is_some_and(|first| first.name == reading.name)
            || e.cells.iter().any(|of| is(&of.reading))
            || e.claims.iter().any(|claim| is(&claim.reading))
            || e.figures.iter().any(|figure| is(&figure.reading))
    };
    let applies =
        |reading: &Reading, run: &Run| reading.runs.as_ref().is_none_or(|names| names.contains(&run.name));
    let readings = e.readings.iter().filter(judged);
    readings.flat_map(|r| e.runs.iter().filter(move |run| applies(r, run)).map(move |run| (r, run))).collect()
}

fn study(
    document: &Document,
    e: &Experiment,
    reading: &Reading,
    run: &Run,
    extent: Extent,
) -> Result<Study, PaperError> {
    let file = reading.replace.get(&run.name).unwrap_or(&run.scenario);
    let path = lexical(&e.file.parent().unwrap_or(std::path::Path::new("")).join(file));
    let blame = |error: quell_scenario::ScenarioError| PaperError {
        file: format!("{} (reading {}, run {})", e.file.display(), reading.name, run.name),
        line: None,
        rule: error.to_string(),
    };
    let mut scenario = quell_lab::read(&path).map_err(blame)?;
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
            let has = |label: &&String| point.scenario.aqm.iter().any(|a| a.label() == *label);
            if let Some(lost) = labels.iter().find(|label| !has(label)) {
                let known: Vec<_> = point.scenario.aqm.iter().map(|a| a.label()).collect();
                return Err(PaperError::of(
                    &e.file,
                    format!(
                        "algorithm \"{lost}\": is not in {}, which has {}",
                        path.display(),
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

/// Why nothing is there.
pub(crate) const NOT_RUN: &str = "was not run under this reading";

/// What was found of an experiment, by reading and run; nothing by default.
#[derive(Debug, Default)]
pub struct Found {
    parts: Vec<(Part, Results)>,
}

/// The replications of one algorithm at one place.
#[derive(Clone, Debug)]
pub struct Spot<'a> {
    /// The results of the run.
    pub results: &'a Results,
    /// Which point, segment, link and traffic.
    pub view: View,
}

impl Spot<'_> {
    /// Refuses what is not there, whatever is found: the algorithm, the link, the segment, and classes of traffic.
    ///
    /// # Errors
    /// A sentence that says what there is.
    pub(crate) fn check(&self, label: &str, quantity: &Quantity) -> Result<(), String> {
        let Some(point) = self.results.run.points.get(self.view.point) else {
            return Err("has no such point".to_string());
        };
        let one_of = |kind: &str, name: &str, names: &[&str]| {
            if names.contains(&name) {
                return Ok(());
            }
            let (rule, nearest) = quell_scenario::unknown(kind, name, names);
            let known = format!("there are {}", names.join(", "));
            let rule = quell_scenario::suggest(&rule, nearest.as_deref(), Some(&known));
            Err(format!("{kind} \"{name}\": {rule}"))
        };
        fn texts(names: &[String]) -> Vec<&str> {
            names.iter().map(String::as_str).collect()
        }
        one_of("algorithm", label, &texts(&point.algorithms))?;
        if let Some(link) = &self.view.link {
            one_of("link", link, &texts(&point.links))?;
        }
        let classes = ["all", "data"].into_iter().chain(point.classes.iter().map(String::as_str));
        let classes: Vec<&str> = classes.collect();
        one_of("class", &self.view.scope, &classes)?;
        if let Some(class) = quantity.unknown_class(&point.classes) {
            one_of("class", class, &classes)?;
        }
        match self.view.segment {
            Some(segment) if segment as usize >= point.segments.len() => Err(format!(
                "segment {segment}: the measured window has {}, counted from 0",
                match point.segments.len() {
                    1 => "one segment".to_string(),
                    n => format!("{n} segments"),
                }
            )),
            _ => Ok(()),
        }
    }
}

impl Found {
    /// Whether a reading was run.
    pub(crate) fn ran(&self, reading: &str) -> bool {
        self.parts.iter().any(|(part, _)| part.reading == reading)
    }

    /// The results of a run under a reading; none for the experiment's first.
    pub fn results(&self, e: &Experiment, reading: Option<&str>, run: Option<&str>) -> Option<&Results> {
        let reading = reading.or(e.readings.first().map(|r| r.name.as_str()))?;
        let run = run.or(e.runs.first().map(|r| r.name.as_str()))?;
        let is = |part: &Part| part.experiment == e.id && part.reading == reading && part.run == run;
        self.parts.iter().find(|(part, _)| is(part)).map(|(_, results)| results)
    }

    /// The place that is meant.
    ///
    /// # Errors
    /// A sentence, if there is none or more than one.
    pub fn spot(&self, e: &Experiment, reading: Option<&str>, place: &Place) -> Result<Spot<'_>, String> {
        let results = self.results(e, reading, place.run.as_deref()).ok_or_else(|| NOT_RUN.to_string())?;
        let is = |settings: &[Setting]| {
            place.at.iter().all(|(field, value)| {
                settings.iter().any(|s| s.field == *field && same(&s.value, &text_of(value)))
            })
        };
        let mut points = results.run.points.iter().enumerate().filter(|(_, p)| is(&p.settings));
        match (points.next(), points.next()) {
            (Some((point, _)), None) => Ok(Spot {
                results,
                view: View {
                    point,
                    link: place.link.clone(),
                    segment: place.segment,
                    scope: place.scope.clone().unwrap_or_else(|| "all".to_string()),
                },
            }),
            (Some((_, a)), Some((_, b))) => Err(format!(
                "may be one of several points, such as {} and {}; say which with \"at\"",
                a.title(),
                b.title()
            )),
            (None, _) => {
                let at: Vec<_> = place.at.iter().map(|(f, v)| format!("{f} = {}", text_of(v))).collect();
                let given = |settings: &[Setting], field: &str| settings.iter().any(|s| s.field == field);
                let varied = |field: &&String| results.run.points.iter().any(|p| given(&p.settings, field));
                if let Some(field) = place.at.keys().find(|field| !varied(field)) {
                    return Err(format!("{field}: no run varies it"));
                }
                let (first, last) = (results.run.points.first(), results.run.points.last());
                let ends: Vec<String> = first.into_iter().chain(last).map(PointInfo::title).collect();
                Err(format!("there is no point with {}; there are {}", at.join(", "), ends.join(" to ")))
            }
        }
    }
}

/// A value as a setting has it.
pub(crate) fn text_of(value: &toml::Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_string)
}

/// Whether two settings mean the same, as far as their texts say.
pub(crate) fn same(a: &str, b: &str) -> bool {
    match (a.trim().parse::<f64>(), b.trim().parse::<f64>()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a.trim() == b.trim(),
    }
}
