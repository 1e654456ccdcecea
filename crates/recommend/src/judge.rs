//! The answer from results: who comes first.

use serde::Serialize;

use crate::candidate::Candidate;
use crate::measure::Kind;
use crate::plan::{Plan, Row};
use crate::request::Request;
use crate::verdict::{Found, Judged};
use crate::way::Shape;
use crate::why::{said, why};

/// The answer for a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The rows from the best to the worst.
    pub rows: Vec<Judged>,
    /// The best meets the goal.
    pub met: bool,
    /// The verdict in one sentence, or two.
    pub verdict: String,
}

/// Ranks the rows of a plan by what was found of each, in their order: those whose intervals are wholly within the goal, those
/// whose means are, and the others by their distance from it. Those that meet it alike are ordered by goodput. Of the
/// others, those come first that meet what is possible at these rates. Where the goal asks for no goodput, goodput counts
/// beside distance. A row whose simulation failed comes last.
pub fn judge(request: &Request, plan: &Plan, found: &[Found<'_>]) -> Answer {
    let asks = request
        .goal
        .0
        .iter()
        .any(|condition| matches!(condition.kind, Kind::Goodput | Kind::GoodputDown | Kind::GoodputUp));
    let none: Found<'_> = Err(String::new());
    let today = found.first().unwrap_or(&none);
    let of = |(row, own): (&Row, &Found<'_>)| {
        let base = if row.candidate.shape == Shape::None { &none } else { today };
        Judged::of(&row.candidate.name, &request.goal, &plan.columns, own, base)
    };
    let mut order: Vec<(Judged, &Candidate)> =
        plan.rows.iter().zip(found).map(|(row, own)| (of((row, own)), &row.candidate)).collect();
    if let Some(today) = order
        .first()
        .filter(|(today, _)| !asks && today.failed.is_none())
        .map(|(today, _)| today.cells.clone())
    {
        let limited = [plan.down.limited, plan.up.limited];
        order.iter_mut().for_each(|(row, _)| row.keep(&plan.columns, limited, &today));
    }
    let possible = plan.possible(&request.goal);
    order.iter_mut().for_each(|(row, _)| row.measure(&plan.columns, &possible));
    let class = |row: &Judged| (row.failed.is_some(), !row.surely_meets(), !row.meets(), row.excess > 0.0);
    order.sort_by(|(a, its), (b, other)| {
        let by = match a.meets() && b.meets() {
            true => b.score.total_cmp(&a.score),
            false => a.behind(asks).total_cmp(&b.behind(asks)),
        };
        // Of two that are equal, the one with less to type.
        class(a).cmp(&class(b)).then(by).then(other.alone.is_some().cmp(&its.alone.is_some()))
    });
    let words: Vec<String> = (0..order.len()).map(|i| why(request, plan, &order, i)).collect();
    let met = order.first().is_some_and(|(best, _)| best.meets());
    let verdict = said(request, plan, &order);
    let rows = order.into_iter().zip(words).map(|((judged, _), why)| Judged { why, ..judged }).collect();
    Answer { rows, met, verdict }
}
