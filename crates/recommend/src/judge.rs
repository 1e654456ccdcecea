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

/// The part of a goodput, in each direction, from which on another is about as much: nobody would notice the rest.
const ALIKE: f64 = 0.98;

/// Ranks the rows of a plan by what was found of each, in their order: those whose intervals are wholly within the goal, those
/// whose means are, and the others by their distance from it. Those that meet it alike are ordered by goodput; where that is
/// about as much as the most, the link as it is comes first, then what is further within the goal. Of the others, those come
/// first that meet what is possible at these rates, and goodput decides where intervals overlap the nearest's. Where the goal
/// asks for no goodput, goodput counts beside distance. A row whose simulation failed comes last.
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
    sort(&mut order, |candidate| (candidate.shape == Shape::None, candidate.alone.is_some()), asks);
    let words: Vec<String> = (0..order.len()).map(|i| why(request, plan, &order, i)).collect();
    let met = order.first().is_some_and(|(best, _)| best.meets());
    let verdict = said(request, plan, &order);
    let rows = order.into_iter().zip(words).map(|((judged, _), why)| Judged { why, ..judged }).collect();
    Answer { rows, met, verdict }
}

/// Puts rows in their order; `asks` where the goal asks for goodput. `types` says whether a row is the link as it is, and whether
/// it shapes one direction alone. Of two that are equal, the one with less to type comes first.
fn sort<T>(order: &mut [(Judged, T)], types: impl Fn(&T) -> (bool, bool), asks: bool) {
    let class = |row: &Judged| (row.failed.is_some(), !row.surely_meets(), !row.meets(), row.excess > 0.0);
    let scores: Vec<_> = order.iter().map(|(row, _)| (class(row), row.score)).collect();
    let most =
        |of| scores.iter().filter(|(its, _)| *its == of).fold(f64::NEG_INFINITY, |m, (_, s)| m.max(*s));
    // Of those that miss it alike, with intervals that overlap the nearest's, noise would decide.
    let missed = order.iter().map(|(row, _)| row).filter(|row| !row.meets());
    let missed: Vec<_> = missed.map(|row| (class(row), row.behind(asks), row.between)).collect();
    let is_alike = |row: &Judged| {
        let own = missed.iter().filter(|(its, ..)| *its == class(row));
        let nearest = own.min_by(|(_, a, _), (_, b, _)| a.total_cmp(b));
        nearest.is_some_and(|(.., between)| row.between[0] <= between[1] && between[0] <= row.between[1])
    };
    let rank = |(row, it): &(Judged, T)| match row.meets() {
        true if row.score < most(class(row)) + 2.0 * libm::log(ALIKE) => (2, -row.score),
        true => (u8::from(!types(it).0), row.slack()),
        false if is_alike(row) => (0, -row.score),
        false => (1, row.behind(asks)),
    };
    order.sort_by(|a, b| {
        let ((of_a, by_a), (of_b, by_b)) = (rank(a), rank(b));
        let alone = types(&b.1).1.cmp(&types(&a.1).1);
        class(&a.0).cmp(&class(&b.0)).then(of_a.cmp(&of_b)).then(by_a.total_cmp(&by_b)).then(alone)
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Verdict;

    fn row(name: &str, ratio: f64, sure: bool, goodput: f64) -> (Judged, bool) {
        let verdict =
            Verdict { asked: String::new(), found: None, holds: ratio < 1.0, sure, ratio, loses: false };
        let judged = Judged {
            name: name.to_string(),
            cells: Vec::new(),
            verdicts: vec![verdict],
            why: String::new(),
            failed: None,
            score: goodput.ln(),
            excess: ratio.ln().max(0.0),
            between: [ratio.ln().max(0.0); 2],
        };
        (judged, name == "today")
    }

    fn order(mut rows: Vec<(Judged, bool)>) -> Vec<String> {
        sort(&mut rows, |today| (*today, false), false);
        rows.into_iter().map(|(row, _)| row.name).collect()
    }

    /// What has much more goodput wins; what has about as much and is further within the goal wins, too; what is only met on
    /// average comes after that, and what is missed last.
    #[test]
    fn goodput_counts_where_it_can_be_noticed() {
        let rows = vec![
            row("misses", 1.5, true, 200.0),
            row("unsure", 0.9, false, 120.0),
            row("less", 0.01, true, 90.0),
            row("near", 0.05, true, 98.0),
            row("most", 0.4, true, 100.0),
        ];
        assert_eq!(order(rows), ["near", "most", "less", "unsure", "misses"]);
    }

    /// By the figures of a link with an outage: 1409 ± 7, 1414 ± 13 and 1417 ± 10 ms do not differ, and 8.78 Mbit/s are more than
    /// 6.56. What is surely nearer still comes first.
    #[test]
    fn noise_does_not_rank() {
        let of = |name: &str, mean: f64, half: f64, goodput: f64| {
            let (row, today) = row(name, mean / 100.0, true, goodput);
            let between = [mean - half, mean + half].map(|end| (end / 100.0).ln());
            (Judged { between, ..row }, today)
        };
        let rows = || {
            vec![
                of("following", 1409.0, 7.0, 6.56),
                of("least", 1414.0, 13.0, 8.78),
                of("mean", 1417.0, 10.0, 7.2),
                of("far", 4000.0, 50.0, 9.0),
            ]
        };
        assert_eq!(order(rows()), ["least", "mean", "following", "far"]);
        let nearer = rows().into_iter().chain([of("nearer", 700.0, 50.0, 6.5)]).collect();
        assert_eq!(order(nearer)[0], "nearer");
    }

    /// A link that meets the goal with as much goodput is left alone.
    #[test]
    fn nothing_is_to_be_typed_without_need() {
        assert_eq!(
            order(vec![row("today", 0.9, true, 99.0), row("new", 0.1, true, 100.0)]),
            ["today", "new"]
        );
        assert_eq!(
            order(vec![row("today", 0.9, true, 80.0), row("new", 0.1, true, 100.0)]),
            ["new", "today"]
        );
        assert_eq!(order(vec![row("today", 1.1, true, 99.0), row("new", 0.1, true, 50.0)]), ["new", "today"]);
    }
}
