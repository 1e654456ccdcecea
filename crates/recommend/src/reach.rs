//! The reach of an answer: the winner where the link is not what was said.

use quell_metrics::Results;
use quell_units::BitRate;

use crate::candidate::{Candidate, TODAY};
use crate::goal::Goal;
use crate::judge::{Answer, Judged, figures};
use crate::measure::{Column, DOWN, UP};
use crate::plan::{Plan, Row};
use crate::request::Request;
use crate::scenario::Bed;
use crate::span::Span;
use crate::way::Shape;
use crate::words::list;

/// A scenario in which one thing is not as it was said.
#[derive(Clone, Debug)]
pub struct Reach {
    /// The difference: "rate -20%".
    pub words: String,
    /// The scenario.
    pub row: Row,
    columns: Vec<Column>,
}

/// The links that may be there instead.
const OTHERWISE: [(&str, &str, f64, u64, Option<u32>); 5] = [
    ("rate -20%", "rate-minus-20", 0.8, 1, None),
    ("rate +20%", "rate-plus-20", 1.2, 1, None),
    ("3 times the round trip", "rtt-times-3", 1.0, 3, None),
    ("1 long flow each way", "flows-1", 1.0, 1, Some(1)),
    ("64 long flows each way", "flows-64", 1.0, 1, Some(64)),
];

/// The parts of the usual rates that are tried where these are too much.
const PARTS: [u32; 3] = [90, 80, 70];

/// Rows with lower rates of the best candidate's shapers, where the goal is missed because packets still wait in the modem;
/// none where that is not so.
///
/// # Errors
/// A scenario cannot be made.
pub fn margins(request: &Request, plan: &Plan, answer: &Answer) -> Result<Vec<Row>, String> {
    let best = answer.rows.iter().find(|judged| judged.name != TODAY);
    let row = best.and_then(|best| plan.rows.iter().find(|row| row.candidate.name == best.name));
    let (Some(best), Some(row)) = (best, row) else { return Ok(Vec::new()) };
    let shapes = matches!(row.candidate.shape, Shape::Shaped | Shape::AtMean | Shape::Following);
    if answer.met || !shapes {
        return Ok(Vec::new());
    }
    let missed = |link: &str| {
        let mut all = plan.columns.iter().zip(&best.cells).filter(|(column, _)| column.link == link);
        all.any(|(column, cell)| {
            let asked = request.goal.0.iter().find(|condition| column.answers(condition.kind));
            let late = |limit: f64| cell.is_none_or(|cell| cell.estimate.mean >= limit);
            column.kind.is_less_better() && asked.is_some_and(|condition| late(condition.limit(column)))
        })
    };
    let ways = [missed(DOWN), missed(UP)];
    if ways == [false, false] {
        return Ok(Vec::new());
    }
    let bed = Bed::of(request, (&plan.down, &plan.up), plan.size, plan.size.seeds);
    let make = |percent: u32| {
        let part = f64::from(percent) / 100.0;
        let part = ways.map(|lower| if lower { part } else { 1.0 });
        let word = match ways {
            [true, false] => "down",
            [false, true] => "up",
            _ => "both",
        };
        let name = format!("{}-{word}-{percent}", row.candidate.name);
        Row::of(&name, Candidate { name: name.clone(), part, ..row.candidate.clone() }, &bed)
    };
    PARTS.into_iter().map(make).collect()
}

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
            ..Bed::of(request, (&plan.down, &plan.up), plan.size, plan.size.reach_seeds)
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
            let cells = figures((results, point), None, &reach.columns);
            let judged =
                Judged::alone(reach.row.candidate.name.clone(), &request.goal, &reach.columns, cells);
            (reach, judged)
        };
        let judged: Vec<(Reach, Judged)> = all.into_iter().enumerate().map(of).collect();
        let words = carries(&request.goal, &judged);
        (judged, words)
    }
}

/// The reach of the answer, in one sentence: where the goal holds, where it breaks, and where the seeds do not tell.
fn carries(goal: &Goal, all: &[(Reach, Judged)]) -> String {
    let of = |those: &dyn Fn(&Judged) -> bool, word: &dyn Fn(&Reach, &Judged) -> String| {
        let found = all.iter().filter(|(_, judged)| those(judged));
        list(&found.map(|(reach, judged)| word(reach, judged)).collect::<Vec<_>>())
    };
    let name = |reach: &Reach, _: &Judged| reach.words.clone();
    let parts = [
        ("holds with", of(&|j| j.meets() && j.is_sure(), &name)),
        (
            "breaks with",
            of(&|j| !j.meets() && j.is_sure(), &|reach, j| format!("{} ({})", reach.words, j.missed())),
        ),
        ("may hold or break, by these few seeds, with", of(&|j| !j.is_sure(), &name)),
    ];
    let said = parts.iter().filter(|(_, those)| !those.is_empty());
    let said: Vec<String> = said.map(|(verb, those)| format!("{verb} {those}")).collect();
    format!("{goal} {}", list(&said))
}
