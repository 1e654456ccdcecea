//! Verdicts on a row: its figures, and the conditions that they meet.

use quell_metrics::{Estimate, Quantity, Results, View};
use serde::Serialize;

use crate::goal::{Condition, Goal};
use crate::measure::{Column, Kind};
use crate::words::{list, percent};

/// A figure of a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// The mean over seeds with its interval, as `quell run` prints it.
    pub estimate: Estimate,
    /// The difference from today, paired by seed; `None` for today itself, and where there is no pair.
    pub difference: Option<Estimate>,
    /// Of a call, the share of its packets that queues drop on the way.
    pub lost: Option<Estimate>,
}

/// The share of lost packets above which no 99th percentile is in time: a lost packet is late.
const LOST: f64 = 0.01;

/// The ends of an estimate's interval.
fn ends(estimate: &Estimate) -> (f64, f64) {
    estimate.interval().unwrap_or((estimate.mean, estimate.mean))
}

impl Cell {
    /// The share of lost packets, where that is too much for a call.
    pub fn loses(&self) -> Option<f64> {
        self.lost.map(|lost| lost.mean).filter(|lost| *lost > LOST)
    }

    /// Words for the losses of a call behind its figure in a table, where they are too many.
    pub fn with_losses(&self, figure: String) -> String {
        self.loses().map_or(figure.clone(), |lost| format!("{figure}, {} lost", percent(lost)))
    }

    /// Tells whether a figure of which less is better is beyond its limit, or may be.
    pub(crate) fn is_late(&self, limit: f64, perhaps: bool) -> bool {
        let at = |estimate: &Estimate| if perhaps { ends(estimate).1 } else { estimate.mean };
        at(&self.estimate) >= limit || self.lost.is_some_and(|lost| at(&lost) > LOST)
    }

    /// The factor by which it misses a limit, in the mean and at both ends of its interval, the better one first.
    fn ratios(&self, less: bool, limit: f64) -> [f64; 3] {
        let (low, high) = ends(&self.estimate);
        let (best, worst) = if less { (low, high) } else { (high, low) };
        let lost = self.lost.map_or([0.0; 3], |lost| {
            let (low, high) = ends(&lost);
            [lost.mean, low, high].map(|share| share / LOST)
        });
        let own = [self.estimate.mean, best, worst].map(|figure| ratio(less, figure, limit));
        std::array::from_fn(|i| own[i].max(lost[i]))
    }
}

/// The fate of a condition in a row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The condition, as it was asked.
    pub asked: String,
    /// The worst figure that it asks for, in words; `None`: nothing was measured.
    pub found: Option<String>,
    /// It holds.
    pub holds: bool,
    /// All of the intervals hold, or nothing of one.
    pub sure: bool,
    /// The factor by which it is missed: 1.5 is half as much again as was asked, and 1 or less that it holds.
    pub ratio: f64,
    /// It is missed because packets of a call are lost.
    #[serde(skip)]
    pub(crate) loses: bool,
}

/// A row with its figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// The name of the candidate, and of its scenario's file.
    pub name: String,
    /// The figures, in the order of the plan's columns.
    pub cells: Vec<Option<Cell>>,
    /// The conditions, in the order of the goal; then, where the goal asks for no goodput, what is to be left of today's.
    pub verdicts: Vec<Verdict>,
    /// One sentence: why it comes first, or why it does not.
    pub why: String,
    /// The error that ended its simulation, if one did.
    #[serde(skip)]
    pub(crate) failed: Option<String>,
    /// The product of the goodputs of both directions, as a logarithm.
    #[serde(skip)]
    pub(crate) score: f64,
    /// The distance from what is possible of the goal: the logarithm of the product of the factors by which its figures miss it,
    /// in both directions as goodput counts in both; 0 until it is measured.
    #[serde(skip)]
    pub(crate) excess: f64,
    /// The same at the better and the worse ends of the intervals.
    #[serde(skip)]
    pub(crate) between: [f64; 2],
}

/// Results and the number of a point of theirs, or the error that there is instead.
pub type Found<'a> = Result<(&'a Results, usize), String>;

impl Judged {
    /// Judges a row by itself.
    pub(crate) fn of(
        name: &str,
        goal: &Goal,
        columns: &[Column],
        found: &Found<'_>,
        base: &Found<'_>,
    ) -> Judged {
        let cells = figures(found, base, columns);
        let verdicts = goal.0.iter().map(|condition| verdict(condition, columns, &cells)).collect();
        let score = score(columns, &cells);
        let failed = found.as_ref().err().cloned();
        Judged {
            name: name.to_string(),
            cells,
            verdicts,
            why: String::new(),
            failed,
            score,
            excess: 0.0,
            between: [0.0; 2],
        }
    }

    /// Tells whether all that is asked holds.
    pub fn meets(&self) -> bool {
        self.verdicts.iter().all(|verdict| verdict.holds)
    }

    /// The fate of the goal in a word: "yes", "no", "unsure" where an interval lies across it, or "failed".
    pub fn fate(&self) -> &'static str {
        match (self.surely_meets(), self.surely_misses()) {
            _ if self.failed.is_some() => "failed",
            (true, _) => "yes",
            (_, true) => "no",
            _ => "unsure",
        }
    }

    /// Tells whether all of each interval is within what is asked.
    pub(crate) fn surely_meets(&self) -> bool {
        self.verdicts.iter().all(|verdict| verdict.holds && verdict.sure)
    }

    /// Tells whether nothing of an interval is within what is asked.
    pub(crate) fn surely_misses(&self) -> bool {
        self.verdicts.iter().any(|verdict| !verdict.holds && verdict.sure)
    }

    /// Measures the distance from a goal, of which each condition asks for as much as is possible.
    pub(crate) fn measure(&mut self, columns: &[Column], possible: &Goal) {
        let figures = possible.0.iter().flat_map(|condition| {
            let asked = columns.iter().zip(&self.cells).filter(|(column, _)| column.answers(condition.kind));
            asked.map(move |(column, cell)| {
                let ratios =
                    |cell: &Cell| cell.ratios(condition.kind.is_less_better(), condition.limit(column));
                cell.as_ref().map_or([f64::INFINITY; 3], ratios)
            })
        });
        // Beside the goal, what is to be left of today's goodput.
        let kept = self.verdicts.iter().skip(possible.0.len()).map(|verdict| [verdict.ratio; 3]);
        let all: Vec<[f64; 3]> = figures.chain(kept).collect();
        let sum = |i: usize| all.iter().map(|ratios| libm::log(ratios[i].max(1.0))).sum();
        (self.excess, self.between) = (sum(0), [sum(1), sum(2)]);
    }

    /// How far it is behind among rows that miss the goal: by its distance, and by goodput unless the goal asks for some.
    pub(crate) fn behind(&self, asks: bool) -> f64 {
        if asks { self.excess } else { self.excess - WORTH * self.score }
    }

    /// How far within the goal it is: the same logarithm without a limit, below 0 where all holds.
    pub(crate) fn slack(&self) -> f64 {
        self.verdicts.iter().map(|verdict| libm::log(verdict.ratio.max(f64::MIN_POSITIVE))).sum()
    }

    /// The conditions that are missed, in words.
    pub(crate) fn missed(&self) -> String {
        let missed = self.verdicts.iter().filter(|verdict| !verdict.holds);
        let each = missed.map(|v| match &v.found {
            Some(found) => format!("{found} where {} is asked", v.asked),
            None => format!("nothing was measured of {}", v.asked),
        });
        list(&each.collect::<Vec<_>>())
    }

    /// Asks for a part of today's goodput in each direction, beside the goal; in none that the router's processor limits,
    /// because nobody else sets the rate there. `limited` is of down and up.
    pub(crate) fn keep(&mut self, columns: &[Column], limited: [bool; 2], today: &[Option<Cell>]) {
        let asked = |column: &Column| column.answers(Kind::Goodput) && !limited[usize::from(column.is_up())];
        if !columns.iter().any(asked) {
            return;
        }
        let all = columns.iter().zip(&self.cells).zip(today);
        let of = all.filter(|((column, _), _)| asked(column)).map(|((column, cell), today)| {
            (column, cell.as_ref(), today.as_ref().map_or(0.0, |today| KEPT * today.estimate.mean))
        });
        let kept = worst("at least half of today's goodput".to_string(), false, of);
        self.verdicts.push(kept);
    }
}

/// The power of goodput that a factor of distance is worth where nothing meets the goal. Chosen: half the distance is worth
/// 29% of the goodput of one direction. With 1, links with long round trips gave up 40% of it, and still missed the goal.
const WORTH: f64 = 2.0;

/// The part of today's goodput that a candidate is to keep where the goal asks for none: without it, the emptiest queue
/// would win.
const KEPT: f64 = 0.5;

/// The figures of the first algorithm at a point of results.
pub(crate) fn figures(found: &Found<'_>, base: &Found<'_>, columns: &[Column]) -> Vec<Option<Cell>> {
    let samples = |found: &Found<'_>, column: &Column| {
        let (results, point) = *found.as_ref().ok()?;
        let quantity: Quantity = column.metric.parse().ok()?;
        let view = View { link: Some(column.link.to_string()), ..View::of_point(point) };
        let algorithm = results.algorithms(point).first()?;
        Some((
            results.estimate(&view, algorithm, quantity.clone()),
            results.samples(&view, algorithm, quantity),
        ))
    };
    let cell = |column: &Column| {
        let (estimate, own) = samples(found, column)?;
        let difference = samples(base, column).and_then(|(_, base)| {
            let of = |seed: u64| base.iter().find(|(other, _)| *other == seed).map(|(_, x)| *x);
            let pairs: Vec<f64> = own.iter().filter_map(|(seed, x)| Some(x - of(*seed)?)).collect();
            Estimate::of(&pairs)
        });
        Some(Cell { estimate: estimate?, difference, lost: lost(found, column, &own) })
    };
    columns.iter().map(cell).collect()
}

/// The share of a call's packets that are dropped on the way, over the seeds of its figure.
fn lost(found: &Found<'_>, column: &Column, own: &[(u64, f64)]) -> Option<Estimate> {
    let (metric, links) = column.losses()?;
    let (results, point) = *found.as_ref().ok()?;
    let quantity: Quantity = metric.parse().ok()?;
    let algorithm = results.algorithms(point).first()?;
    let at = links.map(|link| {
        let view = View { link: Some(link.to_string()), ..View::of_point(point) };
        results.samples(&view, algorithm, quantity.clone())
    });
    // Of a link at which nothing arrived there is no share.
    let of =
        |all: &[(u64, f64)], seed: u64| all.iter().find(|(other, _)| *other == seed).map_or(0.0, |(_, x)| *x);
    let shares: Vec<f64> = own
        .iter()
        .map(|(seed, _)| 1.0 - at.iter().map(|all| 1.0 - of(all, *seed)).product::<f64>())
        .collect();
    Estimate::of(&shares)
}

fn verdict(condition: &Condition, columns: &[Column], cells: &[Option<Cell>]) -> Verdict {
    let asked = columns.iter().zip(cells).filter(|(column, _)| column.answers(condition.kind));
    let asked = asked.map(|(column, cell)| (column, cell.as_ref(), condition.limit(column)));
    worst(condition.to_string(), condition.kind.is_less_better(), asked)
}

/// The factor by which a figure misses its limit: 1 or less that it does not.
fn ratio(less: bool, mean: f64, limit: f64) -> f64 {
    if less { mean / limit } else { limit / mean.max(f64::MIN_POSITIVE) }
}

/// The verdict on the worst of figures, each with its limit.
fn worst<'a>(
    asked: String,
    less: bool,
    all: impl Iterator<Item = (&'a Column, Option<&'a Cell>, f64)>,
) -> Verdict {
    let mut worst = Verdict { asked, found: None, holds: false, sure: false, ratio: 0.0, loses: false };
    // All of each interval holds; nothing of one does.
    let (mut surely, mut never) = (true, false);
    for (column, cell, limit) in all {
        let Some(cell) = cell else {
            return Verdict { found: None, holds: false, sure: false, ratio: f64::INFINITY, ..worst };
        };
        let mean = cell.estimate.mean;
        let [ratio, ..] = cell.ratios(less, limit);
        let holds_at = |x: f64| if less { x < limit } else { x > limit };
        let ((low, high), (least, most)) =
            (ends(&cell.estimate), cell.lost.as_ref().map_or((0.0, 0.0), ends));
        surely &= holds_at(low) && holds_at(high) && most <= LOST;
        never |= (!holds_at(low) && !holds_at(high)) || least > LOST;
        if worst.found.is_none() || ratio > worst.ratio {
            let figure = || format!("{} {}", column.title, column.words(mean));
            let loses = |share| {
                format!("the {} loses {} of its packets", column.title.replace(" P99", ""), percent(share))
            };
            worst.loses = cell.loses().is_some();
            worst.found = Some(cell.loses().map_or_else(figure, loses));
            (worst.holds, worst.ratio) = (holds_at(mean) && !worst.loses, ratio);
        }
    }
    worst.sure = if worst.holds { surely } else { never };
    worst
}

/// The product of the goodputs of both directions, as a logarithm.
fn score(columns: &[Column], cells: &[Option<Cell>]) -> f64 {
    let goodputs = columns.iter().zip(cells).filter(|(column, _)| column.answers(Kind::Goodput));
    let of = |cell: &Cell| libm::log(cell.estimate.mean.max(f64::MIN_POSITIVE));
    goodputs.filter_map(|(_, cell)| cell.as_ref().map(of)).sum()
}

#[cfg(test)]
mod tests {
    use quell_units::BitRate;

    use super::*;

    fn column(kind: Kind) -> Column {
        let capacity = BitRate::from_bps(10_000_000);
        Column { kind, title: kind.name().into(), metric: kind.metric().into(), link: "net-router", capacity }
    }

    fn cell(mean: f64, half: f64) -> Option<Cell> {
        Some(Cell { estimate: Estimate { mean, half_width: Some(half), n: 5 }, difference: None, lost: None })
    }

    fn judged(goal: &str, columns: &[Column], cells: Vec<Option<Cell>>) -> Judged {
        let goal: Goal = goal.parse().unwrap();
        let verdicts = goal.0.iter().map(|condition| verdict(condition, columns, &cells)).collect();
        let score = score(columns, &cells);
        Judged {
            name: "x".into(),
            cells,
            verdicts,
            why: String::new(),
            failed: None,
            score,
            excess: 0.0,
            between: [0.0; 2],
        }
    }

    #[test]
    fn an_interval_across_the_goal_is_neither_met_nor_missed() {
        let columns = [column(Kind::Call)];
        for (mean, half, fate) in
            [(0.015, 0.004, "yes"), (0.019, 0.002, "unsure"), (0.021, 0.002, "unsure"), (0.03, 0.009, "no")]
        {
            let row = judged("call P99 < 20 ms", &columns, vec![cell(mean, half)]);
            assert_eq!(row.fate(), fate, "{mean} {half}");
            assert_eq!(row.meets(), mean < 0.02);
        }
        let row = judged("call P99 < 20 ms", &columns, vec![None]);
        assert_eq!((row.fate(), row.meets()), ("unsure", false));
        assert!(row.missed().contains("nothing was measured"));
    }

    /// A lost packet is late: with 2% lost, no 99th percentile is in time, however short the delay of the others is.
    #[test]
    fn a_call_that_loses_packets_misses_every_goal() {
        let columns = [column(Kind::Call)];
        let with = |lost: f64, half: f64| {
            let lost = Some(Estimate { mean: lost, half_width: Some(half), n: 5 });
            let cell = Cell { lost, ..cell(0.001, 0.0).unwrap() };
            judged("call P99 < 20 ms", &columns, vec![Some(cell)])
        };
        for (lost, half, fate) in
            [(0.0, 0.0, "yes"), (0.005, 0.006, "unsure"), (0.012, 0.004, "unsure"), (0.178, 0.01, "no")]
        {
            assert_eq!(with(lost, half).fate(), fate, "{lost} {half}");
        }
        let row = with(0.178, 0.01);
        assert!(
            row.missed().contains("loses 17.8% of its packets where call P99 < 20 ms is asked"),
            "{}",
            row.missed()
        );
        assert_eq!(row.cells[0].unwrap().with_losses("1 ms".into()), "1 ms, 17.8% lost");
    }

    /// To come nearer by a tenth is not worth a third of the goodput, and to come three times nearer is; where the goal
    /// asks for goodput, it says itself what that is worth. By hand: a packet of 25 ms makes 55 ms the least.
    #[test]
    fn goodput_counts_where_the_goal_is_missed() {
        let columns = [column(Kind::Call), column(Kind::GoodputDown)];
        let asked: Goal = "call P99 < 20 ms".parse().unwrap();
        let row = |call: f64, goodput: f64, possible: &Goal| {
            let mut row = judged("call P99 < 20 ms", &columns, vec![cell(call, 0.0), cell(goodput, 0.0)]);
            row.measure(&columns, possible);
            row
        };
        let usual = row(0.15, 9e6, &asked);
        let (little, much) = (row(0.135, 6e6, &asked), row(0.05, 6e6, &asked));
        assert!(usual.behind(false) < little.behind(false) && much.behind(false) < usual.behind(false));
        assert!(little.behind(true) < usual.behind(true));
        let possible: Goal = "call P99 < 55 ms".parse().unwrap();
        assert_eq!(row(0.05, 6e6, &possible).excess, 0.0);
        let far = row(0.11, 9e6, &possible).excess;
        assert!((far - libm::log(2.0)).abs() < 1e-9, "{far}");
    }

    /// Both directions count: one that surely misses is enough, and one that is open leaves the other open.
    #[test]
    fn the_worse_direction_decides() {
        let columns = [column(Kind::GoodputDown), column(Kind::GoodputUp)];
        let fate = |down, up| judged("goodput > 50%", &columns, vec![down, up]).fate();
        assert_eq!(fate(cell(9e6, 1e6), cell(8e6, 1e6)), "yes");
        assert_eq!(fate(cell(9e6, 1e6), cell(4e6, 5e5)), "no");
        assert_eq!(fate(cell(9e6, 5e6), cell(8e6, 1e6)), "unsure");
    }

    /// A queue that is empty because nothing is sent meets no goal: half of today's goodput is to be left.
    #[test]
    fn an_idle_link_does_not_win() {
        let columns = [column(Kind::Call), column(Kind::GoodputDown), column(Kind::GoodputUp)];
        let today = [cell(0.2, 0.01), cell(9e6, 0.0), cell(2e6, 0.0)];
        let of = |up: f64, limited| {
            let mut row =
                judged("call P99 < 20 ms", &columns, vec![cell(0.001, 0.0), cell(8e6, 0.0), cell(up, 0.0)]);
            assert_eq!(row.fate(), "yes");
            row.keep(&columns, limited, &today);
            row
        };
        // What the processor limits is not asked for.
        assert_eq!(of(0.9e6, [true; 2]).fate(), "yes");
        let of = |up| of(up, [false; 2]);
        assert_eq!(of(1.1e6).fate(), "yes");
        assert_eq!(of(0.9e6).fate(), "no");
        assert!(of(0.9e6).missed().contains("at least half of today's goodput"));
    }
}
