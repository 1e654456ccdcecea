//! Which replications experiments need, as one study, and the results apart again.

use std::collections::BTreeSet;
use std::ops::Range;

use quell_lab::{Replication, Results, View};
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
    /// If a scenario cannot be used, or an experiment names an algorithm that its scenario has not.
    pub fn of<'a>(
        papers: &'a Papers,
        experiments: impl IntoIterator<Item = &'a Experiment>,
        extent: Extent,
    ) -> Result<Plan, PaperError> {
        let (mut parts, mut studies, mut points) = (Vec::new(), Vec::new(), 0);
        for e in experiments {
            let document = papers.document_of(e);
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
        }
        let plan = Plan { study: Study::join(studies), parts };
        for e in plan.parts.iter().map(|part| part.experiment.as_str()).collect::<BTreeSet<_>>() {
            if let Some(e) = papers.experiments().find(|own| own.id == e) {
                plan.check(e)?;
            }
        }
        Ok(plan)
    }

    /// Names of algorithms and fields that an experiment's runs do not have.
    fn check(&self, e: &Experiment) -> Result<(), PaperError> {
        let fail = |rule: String| Err(PaperError::of(&e.file, rule));
        let own = || self.parts.iter().filter(|part| part.experiment == e.id);
        let points = || own().flat_map(|part| &self.study.points[part.points.clone()]);
        let label = |label: &str| match self.algorithm(e, label) {
            Some(_) => Ok(()),
            None => {
                let choices = points().flat_map(|p| &p.scenario.aqm);
                let known: BTreeSet<&str> = choices.map(|choice| choice.label()).collect();
                let known = known.into_iter().collect::<Vec<_>>().join(", ");
                fail(format!("algorithm \"{label}\": no run has it; there are {known}"))
            }
        };
        let field = |field: &str| match points().any(|p| p.settings.iter().any(|s| s.field == field)) {
            true => Ok(()),
            false => fail(format!("{field}: no run varies it")),
        };
        for of in &e.cells {
            of.algorithm.values().try_for_each(|name| label(name))?;
            of.place
                .at
                .keys()
                .chain(of.case.values().flat_map(|place| place.at.keys()))
                .try_for_each(|f| field(f))?;
        }
        for claim in &e.claims {
            claim.test.labels().try_for_each(label)?;
            claim.test.fields().try_for_each(field)?;
        }
        for figure in &e.figures {
            figure.algorithms.iter().flatten().try_for_each(|name| label(name))?;
            figure.at.keys().chain(&figure.x).chain(&figure.by).try_for_each(|f| field(f))?;
        }
        Ok(())
    }

    /// The algorithm of the catalog that a label stands for in an experiment.
    pub fn algorithm(&self, e: &Experiment, label: &str) -> Option<&str> {
        let own = self.parts.iter().filter(|part| part.experiment == e.id);
        let points = own.flat_map(|part| &self.study.points[part.points.clone()]);
        let mut choices = points.flat_map(|point| &point.scenario.aqm);
        choices.find(|choice| choice.label() == label).map(|choice| choice.algorithm.as_str())
    }

    /// Takes the results of the study apart.
    pub fn apart(&self, results: Results) -> Found {
        let Results { run, mut replications } = results;
        replications.sort_by_key(|r| r.point);
        let mut rest = replications.into_iter().peekable();
        let mut parts = Vec::new();
        for part in &self.parts {
            let mut own = Vec::new();
            while let Some(r) = rest.next_if(|r| r.point < part.points.end) {
                own.push(Replication { point: r.point - part.points.start, ..r });
            }
            let mut info = run.clone();
            info.points = run.points[part.points.clone()].to_vec();
            info.points.iter_mut().for_each(|p| p.settings.retain(|s| s.field != JOINED));
            parts.push((part.clone(), Results { run: info, replications: own }));
        }
        Found { parts, partial: run.partial }
    }
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
    let dialect = [&reading.dialect, &e.dialect, &document.about.dialect].into_iter().flatten().next();
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

/// What was found, by experiment, reading and run; nothing by default.
#[derive(Debug, Default)]
pub struct Found {
    parts: Vec<(Part, Results)>,
    /// True if the run was stopped before all was done.
    pub partial: bool,
}

/// The replications of one algorithm at one place.
#[derive(Clone, Debug)]
pub struct Spot<'a> {
    /// The results of the run.
    pub results: &'a Results,
    /// Which point, segment, link and traffic.
    pub view: View,
}

impl Found {
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
        let results = self
            .results(e, reading, place.run.as_deref())
            .ok_or_else(|| "was not run under this reading".to_string())?;
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
                Err(format!("there is no point with {}", at.join(", ")))
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
