//! The answer from results: who comes first, and why.

use quell_aqm::catalog::AqmConfig;
use quell_metrics::{Estimate, Quantity, Results, View};
use serde::Serialize;

use crate::candidate::Candidate;
use crate::goal::{Condition, Goal};
use crate::measure::{Column, Kind};
use crate::plan::{Plan, Row};
use crate::request::Request;
use crate::way::Direction;
use crate::way::Shape;
use crate::words::{list, of_rate};

/// A figure of a row.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// The mean over seeds with its interval, as `quell run` prints it.
    pub estimate: Estimate,
    /// The difference from today, paired by seed; `None` for today itself, and where there is no pair.
    pub difference: Option<Estimate>,
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
    /// All of the interval holds, or nothing of it.
    pub sure: bool,
    /// The factor by which it is missed: 1.5 is half as much again as was asked, and 1 or less that it holds.
    pub ratio: f64,
}

/// A row with its figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Judged {
    /// The name of the candidate, and of its scenario's file.
    pub name: String,
    /// The figures, in the order of the plan's columns.
    pub cells: Vec<Option<Cell>>,
    /// The conditions, in the order of the goal.
    pub verdicts: Vec<Verdict>,
    /// One sentence: why it comes first, or why it does not.
    pub why: String,
    #[serde(skip)]
    score: f64,
}

impl Judged {
    /// Tells whether all that is asked holds.
    pub fn meets(&self) -> bool {
        self.verdicts.iter().all(|verdict| verdict.holds)
    }

    /// Tells whether other seeds could hardly say otherwise.
    pub(crate) fn is_sure(&self) -> bool {
        self.verdicts.iter().all(|verdict| verdict.sure)
    }

    /// The factor by which the worst condition is missed.
    fn excess(&self) -> f64 {
        self.verdicts.iter().map(|verdict| verdict.ratio).fold(0.0, f64::max)
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
}

/// The answer for a link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Answer {
    /// The rows from the best to the worst.
    pub rows: Vec<Judged>,
    /// The best meets the goal.
    pub met: bool,
    /// The verdict in one sentence.
    pub verdict: String,
}

/// Results, and the number of a point of theirs.
pub type Found<'a> = (&'a Results, usize);

/// The figures of the first algorithm at a point of results.
pub(crate) fn figures(found: Found<'_>, base: Option<Found<'_>>, columns: &[Column]) -> Vec<Option<Cell>> {
    let samples = |(results, point): Found<'_>, column: &Column| {
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
        let difference = base.and_then(|base| samples(base, column)).and_then(|(_, base)| {
            let of = |seed: u64| base.iter().find(|(other, _)| *other == seed).map(|(_, x)| *x);
            let pairs: Vec<f64> = own.iter().filter_map(|(seed, x)| Some(x - of(*seed)?)).collect();
            Estimate::of(&pairs)
        });
        Some(Cell { estimate: estimate?, difference })
    };
    columns.iter().map(cell).collect()
}

/// The fate of the conditions of a goal.
pub(crate) fn verdicts(goal: &Goal, columns: &[Column], cells: &[Option<Cell>]) -> Vec<Verdict> {
    goal.0.iter().map(|condition| verdict(condition, columns, cells)).collect()
}

fn verdict(condition: &Condition, columns: &[Column], cells: &[Option<Cell>]) -> Verdict {
    let less = condition.kind.is_less_better();
    let mut worst: Option<Verdict> = None;
    for (column, cell) in columns.iter().zip(cells).filter(|(column, _)| column.answers(condition.kind)) {
        let Some(cell) = cell else {
            worst = None;
            break;
        };
        let (mean, limit) = (cell.estimate.mean, condition.limit(column));
        let ratio = if less { mean / limit } else { limit / mean.max(f64::MIN_POSITIVE) };
        let holds_at = |x: f64| if less { x < limit } else { x > limit };
        let holds = holds_at(mean);
        let sure = cell.estimate.interval().is_none_or(|(a, b)| holds_at(a) == holds && holds_at(b) == holds);
        if worst.as_ref().is_none_or(|other| ratio > other.ratio) {
            let found = Some(format!("{} {}", column.title, column.words(mean)));
            worst = Some(Verdict { asked: condition.to_string(), found, holds, sure, ratio });
        }
    }
    worst.unwrap_or(Verdict {
        asked: condition.to_string(),
        found: None,
        holds: false,
        sure: false,
        ratio: f64::INFINITY,
    })
}

/// The order of those that meet the goal: page time over the goodputs of both directions; less is better.
fn score(columns: &[Column], cells: &[Option<Cell>]) -> f64 {
    let term = |(column, cell): (&Column, &Option<Cell>)| {
        let x = libm::log(cell.as_ref()?.estimate.mean.max(f64::MIN_POSITIVE));
        match column.kind {
            Kind::GoodputDown | Kind::GoodputUp => Some(-x),
            Kind::PageMean | Kind::PageP50 | Kind::PageP95 | Kind::PageP99 => Some(x),
            _ => None,
        }
    };
    columns.iter().zip(cells).filter_map(term).sum()
}

/// Ranks the rows of a plan by what was found of each, in their order.
pub fn judge(request: &Request, plan: &Plan, found: &[Found<'_>]) -> Answer {
    let of = |(row, own): (&Row, &Found<'_>)| {
        let base = found.first().filter(|_| row.candidate.shape != Shape::None).copied();
        let cells = figures(*own, base, &plan.columns);
        let verdicts = verdicts(&request.goal, &plan.columns, &cells);
        let score = score(&plan.columns, &cells);
        Judged { name: row.candidate.name.clone(), cells, verdicts, why: String::new(), score }
    };
    let mut order: Vec<(Judged, &Candidate)> =
        plan.rows.iter().zip(found).map(|(row, own)| (of((row, own)), &row.candidate)).collect();
    order.sort_by(|(a, _), (b, _)| {
        // Whose whole interval meets the goal comes before whose mean does.
        let place = |row: &Judged| (!row.meets(), row.meets() && !row.is_sure());
        let missed = place(a).cmp(&place(b));
        let by = if a.meets() && b.meets() {
            a.score.total_cmp(&b.score)
        } else {
            a.excess().total_cmp(&b.excess())
        };
        missed.then(by)
    });
    let words: Vec<String> = (0..order.len()).map(|i| why(request, plan, &order, i)).collect();
    let met = order.first().is_some_and(|(best, _)| best.meets());
    let verdict =
        order.first().map_or_else(String::new, |(best, candidate)| said(request, best, candidate, met));
    let rows = order.into_iter().zip(words).map(|((judged, _), why)| Judged { why, ..judged }).collect();
    Answer { rows, met, verdict }
}

/// The answer in one sentence.
fn said(request: &Request, best: &Judged, candidate: &Candidate, met: bool) -> String {
    let unsure = match best.is_sure() {
        true => "",
        false => "; the interval reaches beyond the goal, so other seeds may say otherwise",
    };
    match (met, candidate.shape) {
        (true, Shape::None) => format!(
            "leave the link as it is: it meets {} without a shaper, and no candidate is better at the rest{unsure}",
            request.goal
        ),
        (true, _) => format!("{} meets {}{unsure}", best.name, request.goal),
        (false, _) => {
            format!(
                "no candidate meets {}; {} comes nearest: {}{unsure}",
                request.goal,
                best.name,
                best.missed()
            )
        }
    }
}

/// The cause by which calls and transfers fare as they do with a candidate.
fn mechanism(candidate: &Candidate) -> &'static str {
    match (&candidate.up, candidate.shape) {
        (_, Shape::None) => "packets of all flows wait together until a buffer on the way is full",
        (_, Shape::AtMean) => {
            "at times the link is slower than the shaper, and the queue is then the modem's"
        }
        _ if keeps_apart(candidate) => {
            "each flow has a queue of its own, so that a call waits for no transfer"
        }
        (AqmConfig::DropTail(_), _) => "all flows wait together until a short queue is full",
        (AqmConfig::DualPi2(_), _) => "all flows but L4S wait in one queue, which is held at its target",
        _ => "all flows wait in one queue, which is held at a delay above what a call alone would have",
    }
}

/// The cause by which a candidate misses a goal that another one reaches.
fn hindrance(row: &Judged, candidate: &Candidate) -> &'static str {
    let mut missed = row.verdicts.iter().filter(|verdict| !verdict.holds);
    let is_rate = missed.all(|verdict| verdict.asked.contains('>'));
    match (candidate.shape, is_rate) {
        (Shape::AtLeast, true) => "its shaper is at the least rate of the link at all times",
        (_, true) if candidate.part != [1.0; 2] => "its shaper gives up too much of the link",
        (Shape::Shaped | Shape::Following, false) if keeps_apart(candidate) => {
            "bursts come faster than its shaper lets them through for some time, and wait in the modem until senders slow down"
        }
        _ => mechanism(candidate),
    }
}

/// Tells whether each flow has a queue of its own.
fn keeps_apart(candidate: &Candidate) -> bool {
    matches!(
        candidate.up,
        AqmConfig::Cake(_) | AqmConfig::FqCodel(_) | AqmConfig::FqPie(_) | AqmConfig::Sfq(_)
    )
}

/// The figures in which a row is clearly better, or worse, than another, in words.
fn apart(goal: &Goal, columns: &[Column], a: &Judged, b: &Judged) -> (Vec<String>, Vec<String>) {
    let (mut better, mut worse) = (Vec::new(), Vec::new());
    for ((column, x), y) in columns.iter().zip(&a.cells).zip(&b.cells) {
        let (Some(x), Some(y)) = (x, y) else { continue };
        let (low, high) = x.estimate.interval().unwrap_or((x.estimate.mean, x.estimate.mean));
        let (from, to) = y.estimate.interval().unwrap_or((y.estimate.mean, y.estimate.mean));
        let near = (x.estimate.mean - y.estimate.mean).abs() < 0.03 * x.estimate.mean.max(y.estimate.mean);
        // What is far on the right side of the goal is good enough either way.
        let ample = |mean: f64| {
            let asked = goal.0.iter().find(|condition| column.answers(condition.kind));
            asked.is_some_and(|c| column.kind.is_less_better() && mean < 0.2 * c.limit(column))
        };
        if (high >= from && low <= to) || near || (ample(x.estimate.mean) && ample(y.estimate.mean)) {
            continue;
        }
        let words = format!(
            "{} {} instead of {}",
            column.title,
            column.words(x.estimate.mean),
            column.words(y.estimate.mean)
        );
        let less = x.estimate.mean < y.estimate.mean;
        if less == column.kind.is_less_better() { better.push(words) } else { worse.push(words) }
    }
    (better, worse)
}

/// The reason for a row's place, in one sentence.
fn why(request: &Request, plan: &Plan, order: &[(Judged, &Candidate)], at: usize) -> String {
    let (row, candidate) = &order[at];
    let mut because = mechanism(candidate).to_string();
    let (best, _) = &order[0];
    for (way, part) in [&plan.down, &plan.up].into_iter().zip(candidate.part) {
        if part < 1.0 && row.meets() {
            let word = if way.direction == Direction::Down { "down" } else { "up" };
            let shaper = of_rate(candidate.shaper(way).rate.bps() as f64);
            because
                .push_str(&format!(", and with the shaper {word} at {shaper} it seldom waits in the modem"));
        }
    }
    if at == 0 {
        let Some((today, _)) = order.iter().find(|(_, other)| other.shape == Shape::None).filter(|_| at == 0)
        else {
            return because;
        };
        let (better, worse) = apart(&request.goal, &plan.columns, row, today);
        return match (candidate.shape, better.is_empty()) {
            (Shape::None, _) => format!("no candidate fares better than the link as it is, where {because}"),
            (_, true) => format!("{because}; no figure is clearly better than today's"),
            _ => {
                let cost =
                    if worse.is_empty() { String::new() } else { format!("; it costs {}", list(&worse)) };
                format!("{because}: {}{cost}", list(&better))
            }
        };
    }
    if !row.meets() && best.meets() {
        return format!("{}, because {}", row.missed(), hindrance(row, candidate));
    }
    let (better, worse) = apart(&request.goal, &plan.columns, row, best);
    match (worse.is_empty(), better.is_empty()) {
        (worse, _) if row.meets() && !row.is_sure() && best.is_sure() => {
            let but = match (worse, better.is_empty()) {
                (true, false) => format!(", though it has {}", list(&better)),
                _ => String::new(),
            };
            format!("it meets the goal by its mean, and its interval reaches beyond{but}")
        }
        (true, true) => {
            format!("no figure differs from {}'s by more than the intervals: either will do", best.name)
        }
        (true, false) if row.meets() == best.meets() && row.meets() => {
            format!(
                "comes after {} in page time over goodput, within the intervals, though it has {}",
                best.name,
                list(&better)
            )
        }
        (true, false) => format!("{}, though it has {}", row.missed(), list(&better)),
        (false, _) => {
            let but = if better.is_empty() { String::new() } else { format!(", though {}", list(&better)) };
            format!("{}{but}", list(&worse))
        }
    }
}

impl Judged {
    /// A row that is judged by itself.
    pub(crate) fn alone(name: String, goal: &Goal, columns: &[Column], cells: Vec<Option<Cell>>) -> Judged {
        let verdicts = verdicts(goal, columns, &cells);
        Judged { name, cells, verdicts, why: String::new(), score: 0.0 }
    }
}
