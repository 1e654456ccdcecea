//! The results of experiments by reading and run, and the places in them where printed numbers are looked up.

use std::ops::Range;

use quell_lab::{PointInfo, Quantity, Replication, Results, View};
use quell_scenario::{JOINED, Setting};

use crate::experiment::{CellPlace, Experiment};

/// A run of an experiment under one of its readings.
#[derive(Clone, Debug)]
pub(crate) struct Part {
    pub(crate) experiment: String,
    pub(crate) reading: String,
    pub(crate) run: String,
    pub(crate) points: Range<usize>,
}

/// The reason for which there is nothing.
pub(crate) const NOT_RUN: &str = "was not run under this reading";

/// The results of an experiment, by reading and run; none by default.
#[derive(Debug, Default)]
pub struct ExperimentResults {
    parts: Vec<(Part, Results)>,
}

/// The replications of one algorithm at one place.
#[derive(Clone, Debug)]
pub struct Spot<'a> {
    /// The results of the run.
    pub results: &'a Results,
    /// The point, segment, link and traffic.
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

impl ExperimentResults {
    /// The results of an experiment by reading and run; their points are counted from `start`.
    pub(crate) fn apart(parts: &[Part], start: usize, results: Results) -> ExperimentResults {
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
        ExperimentResults { parts: found }
    }

    /// Says whether a reading was run.
    pub(crate) fn ran(&self, reading: &str) -> bool {
        self.parts.iter().any(|(part, _)| part.reading == reading)
    }

    /// The results of a run under a reading; `None`: the experiment's first.
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
    pub fn spot(&self, e: &Experiment, reading: Option<&str>, place: &CellPlace) -> Result<Spot<'_>, String> {
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

/// Says whether two settings mean the same, as far as their texts tell.
pub(crate) fn same(a: &str, b: &str) -> bool {
    match (a.trim().parse::<f64>(), b.trim().parse::<f64>()) {
        (Ok(a), Ok(b)) => a == b,
        _ => a.trim() == b.trim(),
    }
}
