//! The reach of an answer: the winner where the link is not what was said.

use crate::candidate::{Candidate, TODAY};
use crate::course::rate;
use crate::goal::{Condition, Goal};
use crate::judge::Answer;
use crate::measure::{Column, DOWN, Kind, UP};
use crate::plan::{Plan, Row};
use crate::request::Request;
use crate::scenario::Bed;
use crate::span::Span;
use crate::verdict::{Found, Judged};
use crate::way::{Direction, Shape, Way, as_frames};
use crate::words::list;

/// A scenario in which one thing is not as it was said.
#[derive(Clone, Debug)]
pub struct Reach {
    /// The difference: "rate -20%".
    pub words: String,
    /// The scenario.
    pub row: Row,
    /// The factor by which the link's rate differs.
    factor: f64,
}

/// The links that may be there instead.
pub(crate) const OTHERWISE: [(&str, &str, f64, u64, Option<u32>); 5] = [
    ("rate -20%", "rate-minus-20", 0.8, 1, None),
    ("rate +20%", "rate-plus-20", 1.2, 1, None),
    ("3 times the round trip", "rtt-times-3", 1.0, 3, None),
    ("1 long flow each way", "flows-1", 1.0, 1, Some(1)),
    ("64 long flows each way", "flows-64", 1.0, 1, Some(64)),
];

/// The parts of the link's rates that are given up beyond the usual margin where that is too little.
const FURTHER: [f64; 3] = [0.1, 0.2, 0.3];
/// The least part of the usual rate that is tried.
const LEAST: f64 = 0.25;

/// The most rows that [`further`] has.
pub(crate) const MOST_FURTHER: usize = FURTHER.len() + 1;

impl Plan {
    /// The most replications of each of three rounds: the rows, those that the answer to them asks for ([`further()`]), and
    /// those that tell how far it carries ([`reach()`]).
    ///
    /// [`further()`]: crate::further()
    /// [`reach()`]: crate::reach()
    pub fn rounds(&self) -> [usize; 3] {
        let (seeds, reach_seeds) = (self.size.seeds as usize, self.size.reach_seeds as usize);
        [self.rows.len() * seeds, MOST_FURTHER * seeds, OTHERWISE.len() * reach_seeds]
    }
}

/// The rows that the answer to a plan asks for, of the algorithm that is nearest to the goal: in one direction alone, where what
/// one has today meets the goal in the other; and with lower rates, where nothing surely meets the goal and packets may still
/// wait in the modem.
///
/// # Errors
/// A scenario cannot be made.
pub fn further(request: &Request, plan: &Plan, answer: &Answer) -> Result<Vec<Row>, String> {
    let all = answer.rows.iter().filter(|judged| judged.name != TODAY && judged.failed.is_none());
    let mut all = all
        .filter_map(|judged| Some((judged, plan.rows.iter().find(|row| row.candidate.name == judged.name)?)));
    let Some(first) = all.next() else { return Ok(Vec::new()) };
    // A lower rate costs goodput, so that the algorithm counts that is nearest to the goal, whichever has more goodput.
    let others = all
        .filter(|(_, row)| row.candidate.shape == Shape::Shaped && first.1.candidate.shape == Shape::Shaped);
    let (best, row) =
        others.fold(first, |nearest, other| if other.0.excess < nearest.0.excess { other } else { nearest });
    let mut rows = Vec::new();
    if row.candidate.shape == Shape::Shaped && plan.rows.iter().all(|row| row.candidate.alone.is_none()) {
        let today = answer.rows.iter().find(|judged| judged.name == TODAY);
        if let Some(direction) = today.and_then(|today| needed(&request.goal, &plan.columns, today)) {
            let candidate = row.candidate.alone(direction);
            let bed = Bed::of(request, (&plan.down, &plan.up), plan.size, plan.size.seeds);
            rows.push(Row::of(&candidate.name.clone(), candidate, &bed)?);
        }
    }
    let is_met = answer.rows.iter().any(Judged::surely_meets);
    rows.extend(margins(request, plan, is_met, (best, row))?);
    Ok(rows)
}

/// The one direction that needs a queue, if calls fare in the other as the goal asks with what one has today.
fn needed(goal: &Goal, columns: &[Column], today: &Judged) -> Option<Direction> {
    let asked = goal.0.iter().find(|condition| condition.kind == Kind::Call)?;
    let fine = |link: &str| {
        let mut all = columns.iter().zip(&today.cells);
        let (column, cell) = all.find(|(column, _)| column.link == link && column.answers(Kind::Call))?;
        Some(!cell.as_ref()?.is_late(asked.limit(column), false))
    };
    match (fine(DOWN)?, fine(UP)?) {
        (true, false) => Some(Direction::Up),
        (false, true) => Some(Direction::Down),
        _ => None,
    }
}

/// Rows with lower rates of the best candidate's shapers.
fn margins(
    request: &Request,
    plan: &Plan,
    is_met: bool,
    (best, row): (&Judged, &Row),
) -> Result<Vec<Row>, String> {
    let shapes = matches!(row.candidate.shape, Shape::Shaped | Shape::AtMean | Shape::Following);
    if is_met || !shapes {
        return Ok(Vec::new());
    }
    let missed = |link: &str| {
        let way = if link == DOWN { &plan.down } else { &plan.up };
        if !row.candidate.queues(way.direction) {
            return false;
        }
        // Where one packet already takes too long, what is possible counts: a lower rate makes that longer.
        let sends = as_frames(row.candidate.shaper(way));
        let mut all = plan.columns.iter().zip(&best.cells).filter(|(column, _)| column.link == link);
        all.any(|(column, cell)| {
            let asked = request.goal.0.iter().find(|condition| column.answers(condition.kind));
            let late = |limit: f64| cell.is_none_or(|cell| cell.is_late(limit, true));
            let possible =
                |condition: &Condition| condition.possible(sends).unwrap_or_else(|| condition.clone());
            column.kind.is_less_better() && asked.is_some_and(|asked| late(possible(asked).limit(column)))
        })
    };
    let ways = [missed(DOWN), missed(UP)];
    if ways == [false, false] {
        return Ok(Vec::new());
    }
    let bed = Bed::of(request, (&plan.down, &plan.up), plan.size, plan.size.seeds);
    // The name has the share of the link's rate that is left.
    let (word, named) = match ways {
        [true, false] => ("down", &plan.down),
        [false, true] => ("up", &plan.up),
        _ => ("both", &plan.down),
    };
    let lowered = |further: f64| {
        let part = |way: &Way| 1.0 - further / way.share();
        [(&plan.down, ways[0]), (&plan.up, ways[1])].map(|(way, lower)| if lower { part(way) } else { 1.0 })
    };
    let make = |part: [f64; 2]| {
        let candidate = Candidate { part, ..row.candidate.clone() };
        let left = candidate.shaper(named).rate.bps() as f64 / named.mean.bps() as f64;
        let name = format!("{}-{word}-{}", candidate.name, libm::round(100.0 * left));
        Row::of(&name, Candidate { name: name.clone(), ..candidate }, &bed)
    };
    let parts = FURTHER.into_iter().map(lowered);
    parts.filter(|part| part.iter().all(|part| *part >= LEAST)).map(make).collect()
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
        Ok(Reach { words: words.to_string(), row, factor })
    };
    OTHERWISE.into_iter().map(make).collect()
}

impl Reach {
    /// Judges what was found of each, in their order; and says in one sentence how far the answer carries. Shares of goodput
    /// are of the rates that were said, or of what a slower link can carry.
    pub fn judge(
        request: &Request,
        plan: &Plan,
        all: Vec<Reach>,
        found: &[Found<'_>],
    ) -> (Vec<(Reach, Judged)>, String) {
        let of = |(reach, found): (Reach, &Found<'_>)| {
            let name = &reach.row.candidate.name;
            let slower = |column: &Column| {
                let capacity = rate(column.capacity.bps() as f64 * reach.factor.min(1.0));
                Column { capacity, ..column.clone() }
            };
            let columns: Vec<Column> = plan.columns.iter().map(slower).collect();
            let judged = Judged::of(name, &request.goal, &columns, found, &Err(String::new()));
            (reach, judged)
        };
        let judged: Vec<(Reach, Judged)> = all.into_iter().zip(found).map(of).collect();
        let words = carries(&request.goal, &judged);
        (judged, words)
    }
}

/// The reach of the answer, in one sentence: where the goal holds, where it breaks, and where the seeds do not tell.
fn carries(goal: &Goal, all: &[(Reach, Judged)]) -> String {
    let seeds = all.iter().flat_map(|(_, judged)| judged.cells.iter().flatten()).map(|cell| cell.estimate.n);
    let seeds = seeds.max().map_or_else(String::new, |n| format!(" ({n} seeds each)"));
    if !all.is_empty() && all.iter().all(|(_, judged)| judged.surely_misses()) {
        return format!("{goal} is missed with each of these changes{seeds}");
    }
    let of = |those: &dyn Fn(&Judged) -> bool, word: &dyn Fn(&Reach, &Judged) -> String| {
        let found = all.iter().filter(|(_, judged)| those(judged));
        list(&found.map(|(reach, judged)| word(reach, judged)).collect::<Vec<_>>())
    };
    let name = |reach: &Reach, _: &Judged| reach.words.clone();
    let missed = |reach: &Reach, judged: &Judged| format!("{} ({})", reach.words, judged.missed());
    let failed = |reach: &Reach, judged: &Judged| {
        format!("{} ({})", reach.words, judged.failed.as_deref().unwrap_or_default())
    };
    let is_open = |j: &Judged| j.failed.is_none() && !j.surely_meets() && !j.surely_misses();
    let parts = [
        ("holds with", of(&Judged::surely_meets, &name)),
        ("is missed with", of(&Judged::surely_misses, &missed)),
        ("is unsure with", of(&is_open, &name)),
        ("was not simulated with", of(&|j| j.failed.is_some(), &failed)),
    ];
    let said = parts.iter().filter(|(_, those)| !those.is_empty());
    let said: Vec<String> = said.map(|(verb, those)| format!("{verb} {those}")).collect();
    format!("{goal} {}{seeds}", said.join("; "))
}
