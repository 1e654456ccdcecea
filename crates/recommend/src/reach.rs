//! How far an answer carries: the winner where the link is not what was said.

use quell_metrics::Results;
use quell_units::BitRate;

use crate::candidate::Candidate;
use crate::judge::{Judged, carries, figures};
use crate::measure::Column;
use crate::plan::{Plan, Row};
use crate::request::{Request, Span};
use crate::scenario::Bed;

/// A scenario in which one thing is not as it was said.
#[derive(Clone, Debug)]
pub struct Reach {
    /// What is different: "rate -20%".
    pub words: String,
    /// The scenario.
    pub row: Row,
    columns: Vec<Column>,
}

/// What the link may be instead.
const OTHERWISE: [(&str, &str, f64, u64, Option<u32>); 5] = [
    ("rate -20%", "rate-minus-20", 0.8, 1, None),
    ("rate +20%", "rate-plus-20", 1.2, 1, None),
    ("3 times the round trip", "rtt-times-3", 1.0, 3, None),
    ("1 long flow each way", "flows-1", 1.0, 1, Some(1)),
    ("64 long flows each way", "flows-64", 1.0, 1, Some(64)),
];

/// The scenarios that tell how far a candidate carries. The router's shaper does not know of the change.
///
/// # Errors
/// A scenario cannot be made.
pub fn reach(request: &Request, plan: &Plan, candidate: &Candidate) -> Result<Vec<Reach>, String> {
    let make = |(words, name, factor, times, bulk): (&str, &str, f64, u64, Option<u32>)| {
        let rtt = Span { least: request.rtt.least, most: request.rtt.most * times };
        let rtt = if request.rtt.moves() { rtt } else { Span::of(rtt.most) };
        let bed = Bed {
            factor,
            rtt,
            bulk,
            but: format!(", with {words}"),
            ..Bed::of(request, plan, plan.size.reach_seeds)
        };
        let row = Row::of(name, Candidate { name: name.to_string(), ..candidate.clone() }, &bed)?;
        let of = |column: &Column| {
            let capacity = BitRate::from_bps((column.capacity.bps() as f64 * factor) as u64);
            Column { capacity, ..column.clone() }
        };
        Ok(Reach { words: words.to_string(), row, columns: plan.columns.iter().map(of).collect() })
    };
    OTHERWISE.into_iter().map(make).collect()
}

impl Reach {
    /// Judges what was found, point by point in the order of the scenarios; and says in one sentence how far it carries.
    pub fn judge(request: &Request, all: Vec<Reach>, results: &Results) -> (Vec<(Reach, Judged)>, String) {
        let of = |(point, reach): (usize, Reach)| {
            let cells = figures(results, point, None, &reach.columns);
            let judged = Judged::alone(reach.row.candidate.name.clone(), &request.goal, &reach.columns, cells);
            (reach, judged)
        };
        let judged: Vec<(Reach, Judged)> = all.into_iter().enumerate().map(of).collect();
        let words = carries(&request.goal, &judged);
        (judged, words)
    }
}
