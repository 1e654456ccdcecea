//! The measurements made with ns-2: `ns2/cases.csv`, `ns2/runs.csv`, `ns2/dumbbell.tcl`.

use std::collections::BTreeMap;

use quell_lab::Metric;

use crate::compare::{Band, ComparedFigure, Figure, Samples};
use crate::parameters::Parameters;
use crate::run;
use crate::table::{CsvLine, lines};
use crate::translate;

const CASES: &str = include_str!("../ns2/cases.csv");
const RUNS: &str = include_str!("../ns2/runs.csv");

/// The name of a case.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name {
    /// The scenario, such as "R4".
    pub scenario: String,
    /// The departure from the scenario's base; may be empty.
    pub variant: String,
    /// The algorithm, by ns-2's name for it or the papers'.
    pub algorithm: String,
    /// 1 with ECN, 0 without.
    pub ecn: u8,
}

impl Name {
    fn of(row: &CsvLine) -> Name {
        let text = |column: &str| row[column].clone();
        let ecn = u8::from(row["ecn"] == "1");
        Name { scenario: text("scenario"), variant: text("variant"), algorithm: text("algorithm"), ecn }
    }
}

impl std::fmt::Display for Name {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.scenario, self.algorithm)?;
        if self.ecn == 1 {
            write!(f, " ECN")?;
        }
        if !self.variant.is_empty() {
            write!(f, " ({})", self.variant)?;
        }
        Ok(())
    }
}

/// A setting of the script and the runs that were made with it.
#[derive(Clone, Debug)]
pub struct Case {
    pub name: Name,
    /// Every parameter of the script, defaults included.
    pub parameters: Parameters,
    pub runs: Vec<Run>,
}

/// One run of ns-2.
#[derive(Clone, Debug)]
pub struct Run {
    /// The measurements, by column.
    columns: CsvLine,
}

impl Run {
    /// The measurement in a column, if there is one.
    pub fn value(&self, column: &str) -> Option<f64> {
        self.columns.get(column)?.parse().ok()
    }

    /// The script's `events`: starts and stops that this run's seed drew.
    pub fn events(&self) -> &str {
        &self.columns["events"]
    }
}

/// Every case with its runs.
pub fn cases() -> Vec<Case> {
    let defaults = Parameters::defaults();
    let mut runs: BTreeMap<Name, Vec<Run>> = BTreeMap::new();
    for columns in lines(RUNS) {
        runs.entry(Name::of(&columns)).or_default().push(Run { columns });
    }
    let case = |row: CsvLine| {
        let name = Name::of(&row);
        let runs = runs.remove(&name).unwrap_or_default();
        Case { parameters: defaults.with(&row["parameters"]), runs, name }
    };
    lines(CASES).into_iter().map(case).collect()
}

/// 1 point.
const SHARE: Band = Band { relative: 0.0, absolute: 1.0, below: f64::INFINITY };
/// 10%; where less than 0.5% is lost or marked, 0.05 points.
const RATE: Band = Band { relative: 0.10, absolute: 0.05, below: 0.5 };
/// 10% or 1.5 packets.
const MEAN: Band = Band { relative: 0.10, absolute: 1.5, below: f64::INFINITY };
/// 20% or 1.5 packets.
const SPREAD: Band = Band { relative: 0.20, absolute: 1.5, below: f64::INFINITY };

/// The condition for a case to have a figure.
type Applies = fn(&Parameters) -> bool;

const ALWAYS: Applies = |_| true;
const WITH_ECN: Applies = |p| p.is_set("ecn");
const IN_BYTES: Applies = |p| p.is_set("bytes");
const IN_SEGMENTS: Applies = |p| p.is_set("seg");

/// Every figure, in the order of the tables, and which cases have it.
pub const FIGURES: &[(Figure, Applies)] = &[
    (Figure::new("utilization", "%", ("util", Metric::Utilization), 2, SHARE), ALWAYS),
    (Figure::new("loss", "%", ("loss", Metric::LossRate), 3, RATE), ALWAYS),
    (Figure::new("marks", "%", ("mark", Metric::MarkRate), 3, RATE), WITH_ECN),
    (Figure::new("queue", "packets", ("qavg", Metric::QueueMean), 1, MEAN), ALWAYS),
    (Figure::new("deviation", "packets", ("qstd", Metric::QueueStd), 1, SPREAD), ALWAYS),
    (
        Figure::new("deviation/segment", "packets", ("seg_qstd_mean", Metric::QueueSegmentStd), 1, SPREAD),
        IN_SEGMENTS,
    ),
    (Figure::new("byte loss", "%", ("lossb", Metric::ByteLossRate), 3, RATE), IN_BYTES),
    (Figure::new("queue/bytes", "packets", ("qbavg", Metric::QueueBytes), 1, MEAN), IN_BYTES),
    (Figure::new("deviation/bytes", "packets", ("qbstd", Metric::QueueBytesStd), 1, SPREAD), IN_BYTES),
];

impl Case {
    /// The seeds of Quell's runs, by the starts and stops that ns-2's seeds drew.
    fn seeds(&self, count: u32) -> BTreeMap<&str, Vec<u64>> {
        let mut events: Vec<&str> = self.runs.iter().map(|r| r.events()).collect();
        events.dedup();
        let mut groups: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
        for (seed, events) in (1..=u64::from(count)).zip(events.iter().cycle()) {
            groups.entry(events).or_default().push(seed);
        }
        groups
    }
}

impl run::Case for Case {
    fn name(&self) -> String {
        self.name.to_string()
    }

    fn queue(&self) -> &str {
        &self.name.algorithm
    }

    fn senders(&self) -> &str {
        self.parameters.text("tcp")
    }

    fn effort(&self) -> u64 {
        let p = &self.parameters;
        (p.number("cap") / p.number("pkt") * p.number("dur")) as u64
    }

    fn scenarios(&self, seeds: u32) -> Result<Vec<String>, String> {
        let seeds = self.seeds(seeds);
        seeds
            .into_iter()
            .map(|(events, seeds)| {
                translate::scenario(&self.name.to_string(), &self.parameters, events, &seeds)
            })
            .collect()
    }

    fn mean_packet(&self) -> f64 {
        self.parameters.number("meanpkt")
    }

    fn rows(&self, samples: &Samples<'_>) -> Vec<ComparedFigure> {
        let row = |figure: &Figure| {
            let reference: Vec<f64> = self.runs.iter().filter_map(|r| r.value(figure.column)).collect();
            let in_bytes = matches!(figure.metric, Metric::QueueBytes | Metric::QueueBytesStd);
            let unit = if in_bytes { self.mean_packet() } else { 1.0 };
            figure.row(&self.name.to_string(), &reference, &samples(figure.metric), unit)
        };
        let own = FIGURES.iter().filter(|(_, applies)| applies(&self.parameters));
        own.filter_map(|(figure, _)| row(figure)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_run_belongs_to_a_case() {
        let cases = cases();
        assert_eq!(cases.iter().map(|c| c.runs.len()).sum::<usize>(), lines(RUNS).len());
        assert!(cases.iter().all(|c| !c.runs.is_empty()));
    }
}
