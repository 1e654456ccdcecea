//! The answer in sentences: the verdict, and the reason for each row's place.

use quell_aqm::catalog::AqmConfig;
use quell_metrics::Estimate;
use quell_units::Duration;

use crate::autorate::MODEL;
use crate::candidate::Candidate;
use crate::course::Course;
use crate::goal::{Condition, Goal, Threshold};
use crate::load::FRAME;
use crate::measure::{Column, Kind};
use crate::plan::Plan;
use crate::request::Request;
use crate::verdict::{Cell, Judged};
use crate::way::{Direction, Shape, as_frames};
use crate::words::{list, of_rate, of_time, percent};

/// The verdict in one sentence, or two.
pub(crate) fn said(request: &Request, plan: &Plan, order: &[(Judged, &Candidate)]) -> String {
    let Some((best, candidate)) = order.first() else { return "nothing was simulated".to_string() };
    if let Some(failed) = &best.failed {
        return format!("no simulation succeeded: {failed}");
    }
    let unsure = match best.verdicts.iter().all(|verdict| verdict.sure) {
        true => "",
        false => ". Its interval reaches beyond the goal, so other seeds may say otherwise",
    };
    let model = match candidate.shape {
        Shape::Following => format!(". Following is {MODEL}{}", fixed(order)),
        _ => String::new(),
    };
    match (best.meets(), candidate.shape) {
        (true, Shape::None) => format!(
            "leave the link as it is: it meets {} without a shaper, and no candidate that does has noticeably more \
             goodput{unsure}",
            request.goal
        ),
        (true, _) => format!("{} meets {}{unsure}{model}", best.name, request.goal),
        (false, Shape::None) => format!(
            "no candidate meets {}, and none is better than the link as it is: {}{unsure}. Nothing is to be typed{}",
            request.goal,
            best.missed(),
            nearest(plan, order)
        ),
        (false, _) => format!(
            "no candidate meets {}. The best is {}: {}{unsure}{}{}{}{model}",
            request.goal,
            best.name,
            best.missed(),
            reached(request, plan, best),
            unshaped(request, plan, order),
            match not_together(request, plan, order) {
                Some(ends) => ends,
                None => cheaper(plan, order) + &nearest(plan, order),
            },
        ),
    }
}

/// The goal that is possible, where a row that misses what is asked meets it.
fn reached(request: &Request, plan: &Plan, row: &Judged) -> String {
    let possible = plan.possible(&request.goal);
    match possible != request.goal && row.excess <= 0.0 {
        true => format!(". It meets {possible}, which is what is possible at these rates"),
        false => String::new(),
    }
}

/// What today has better of the figures by which the best candidate misses the goal.
fn unshaped(request: &Request, plan: &Plan, order: &[(Judged, &Candidate)]) -> String {
    let (best, _) = &order[0];
    let Some((today, _)) = order.iter().find(|(row, its)| its.shape == Shape::None && row.failed.is_none())
    else {
        return String::new();
    };
    let cells = plan.columns.iter().zip(&best.cells).zip(&today.cells);
    let better = cells.filter_map(|((column, own), todays)| {
        let condition = request.goal.0.iter().find(|condition| column.answers(condition.kind))?;
        let todays = todays.as_ref().filter(|cell| cell.loses().is_none())?;
        let (own, todays) = (own.as_ref()?.estimate.mean, todays.estimate.mean);
        let limit = condition.limit(column);
        let is_better = match column.kind.is_less_better() {
            true => own >= limit && todays < own,
            false => own <= limit && todays > own,
        };
        is_better.then(|| format!("{} is {}", column.title, column.words(todays)))
    });
    match &better.collect::<Vec<_>>()[..] {
        [] => String::new(),
        better => format!(". Without a shaper, {}", list(better)),
    }
}

/// The best that has a fixed rate, in words.
fn fixed(order: &[(Judged, &Candidate)]) -> String {
    let other = order.iter().find(|(_, candidate)| matches!(candidate.shape, Shape::AtLeast | Shape::AtMean));
    other.map_or_else(String::new, |(row, _)| {
        let fate = if row.meets() { "meets the goal, too".to_string() } else { row.missed() };
        format!(". Of the fixed rates, {} is the best: {fate}", row.name)
    })
}

/// The factor by which a cheaper candidate may be further from the goal than the nearest.
const NEAR: f64 = 2.0;

/// The candidate that comes about as near to a goal that all miss, with the most goodput.
fn cheaper(plan: &Plan, order: &[(Judged, &Candidate)]) -> String {
    let (best, _) = &order[0];
    let near = best.excess + libm::log(NEAR);
    let others = order.iter().filter(|(row, candidate)| {
        candidate.shape != Shape::None && row.score > best.score && row.excess <= near
    });
    let Some((row, _)) = others.max_by(|(a, _), (b, _)| a.score.total_cmp(&b.score)) else {
        return String::new();
    };
    format!(". {} keeps more, with {} ({})", row.name, goodputs(plan, row), row.missed())
}

/// The candidate that comes nearest to a goal that all miss, where it is not worth what it takes.
fn nearest(plan: &Plan, order: &[(Judged, &Candidate)]) -> String {
    let (best, _) = &order[0];
    let shapes = order.iter().filter(|(row, its)| its.shape != Shape::None && row.failed.is_none());
    let Some((row, _)) = shapes.min_by(|(a, _), (b, _)| a.excess.total_cmp(&b.excess)) else {
        return String::new();
    };
    if row.excess >= best.excess {
        return String::new();
    }
    format!(". {} comes nearest ({}), but keeps {} only", row.name, row.missed(), goodputs(plan, row))
}

/// Where calls and the like can be had as asked, and rates as well, but not together: the best row at either end.
fn not_together(request: &Request, plan: &Plan, order: &[(Judged, &Candidate)]) -> Option<String> {
    let end = |less: bool| {
        let asked = |row: &Judged| -> Vec<bool> {
            let all = request.goal.0.iter().zip(&row.verdicts);
            all.filter(|(c, _)| c.kind.is_less_better() == less).map(|(_, verdict)| verdict.holds).collect()
        };
        let meets = |row: &Judged| !asked(row).is_empty() && asked(row).iter().all(|holds| *holds);
        let rows = order.iter().map(|(row, _)| row).filter(|row| row.failed.is_none() && meets(row));
        // Among rows that keep delays short, the one that gives up least; among the others, the nearest.
        match less {
            true => rows.max_by(|a, b| a.score.total_cmp(&b.score)),
            false => rows.min_by(|a, b| a.excess.total_cmp(&b.excess)),
        }
    };
    let (short, fast) = (end(true)?, end(false)?);
    let words = |row: &Judged, less: bool| {
        let all = request.goal.0.iter().filter(|condition| condition.kind.is_less_better() == less);
        let asked = list(&all.map(Condition::to_string).collect::<Vec<_>>());
        format!("{} meets {asked}, with {} ({})", row.name, goodputs(plan, row), row.missed())
    };
    Some(format!(". Both cannot be had together: {}; {}", words(short, true), words(fast, false)))
}

/// The goodputs of a row, in words.
fn goodputs(plan: &Plan, row: &Judged) -> String {
    let all = plan.columns.iter().zip(&row.cells).filter(|(column, _)| column.answers(Kind::Goodput));
    let each = all.filter_map(|(column, cell)| {
        Some(format!("{} {}", column.title, column.words(cell.as_ref()?.estimate.mean)))
    });
    list(&each.collect::<Vec<_>>())
}

/// What happens in a queue that is not the router's.
fn beyond(request: &Request) -> &'static str {
    match request.technology.name {
        "port" => "packets of all flows wait together until the port's buffer is full",
        "wifi" => "packets of all flows wait together until the access point's buffer is full",
        _ => "packets of all flows wait together until the modem's buffer is full",
    }
}

/// The cause by which calls and transfers fare as they do with a candidate.
fn mechanism(request: &Request, candidate: &Candidate) -> &'static str {
    match (&candidate.up, candidate.shape) {
        (_, Shape::None) => beyond(request),
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

/// Tells whether the time of a packet is the cause of a figure, which is `ratio` times what a condition asks: where all flows
/// wait in one queue, more than twice that time is the queue's.
fn explains(packet: Duration, condition: &Condition, ratio: f64) -> bool {
    match condition.threshold {
        Threshold::Time(limit) => ratio * limit.as_secs_f64() <= 2.0 * packet.as_secs_f64(),
        _ => false,
    }
}

/// The cause by which a candidate misses the goal.
fn hindrance(request: &Request, plan: &Plan, row: &Judged, candidate: &Candidate) -> String {
    let worst = row.verdicts.iter().zip(&request.goal.0).filter(|(verdict, _)| !verdict.holds);
    let worst = worst.max_by(|(a, _), (b, _)| a.ratio.total_cmp(&b.ratio));
    // Without one, goodput is lost of which the goal says nothing.
    let kind = worst.map_or(Kind::Goodput, |(_, condition)| condition.kind);
    let is_up = worst.is_some_and(|(v, _)| v.found.as_ref().is_some_and(|found| found.contains(" up ")));
    let way = if is_up { &plan.up } else { &plan.down };
    let shaper = candidate.shaper(way);
    let is_rate = matches!(kind, Kind::Goodput | Kind::GoodputDown | Kind::GoodputUp | Kind::VideoRate);
    if !candidate.queues(way.direction) {
        return format!("{} nothing is shaped, and {}", way.direction.word(), beyond(request));
    }
    if is_rate && candidate.shape == Shape::AtLeast {
        return "its shaper is at the least rate of the link at all times".to_string();
    }
    if is_rate && candidate.part != [1.0; 2] {
        return "its shaper gives up too much of the link".to_string();
    }
    if let Some((verdict, condition)) = worst
        && let (Kind::Call, Threshold::Time(limit)) = (condition.kind, condition.threshold)
        && let Some((outage, share)) = way.course.as_ref().and_then(Course::outage)
        && (outage > limit && (share > 0.01 || verdict.loses))
    {
        return format!("the link is out for up to {outage} at a time, and no queue shortens that");
    }
    if worst.is_some_and(|(verdict, _)| verdict.loses) {
        let calls = request.load.calls(
            way.direction == Direction::Up,
            way.link,
            request.hosts,
            plan.down.mean.min(plan.up.mean),
        );
        let is_large = calls.is_some_and(|calls| 2.0 * calls > shaper.rate.bps() as f64);
        match keeps_apart(candidate) {
            true if is_large => {
                return "a call takes more of the link than the share of a flow, and what is beyond that is dropped".into();
            }
            true if !matches!(candidate.shape, Shape::None | Shape::AtLink) => {
                return "packets still wait in the modem's queue, which drops those of all flows".to_string();
            }
            true => {}
            false => return "packets of calls are dropped as those of all flows are".to_string(),
        }
    }
    if let Some((verdict, condition)) = worst
        && let Some(packet) = condition.out_of_reach(as_frames(shaper))
        && (keeps_apart(candidate) || explains(packet, condition, verdict.ratio))
    {
        return format!(
            "one packet of {FRAME} takes {} at {}, and a call waits for the one that is being sent",
            of_time(packet.as_secs_f64()),
            of_rate(shaper.rate.bps() as f64)
        );
    }
    match candidate.shape {
        Shape::Following => {
            "cake-autorate lowers its shaper only after pings were late, and the queue is the modem's until then".to_string()
        }
        Shape::Shaped | Shape::AtLeast if kind == Kind::Call && keeps_apart(candidate) => {
            match shaper.rate.bps() as f64 >= NEAR_LINK * way.mean.bps() as f64 {
                true => "its shaper is too near to the link's rate: bursts still reach the modem's queue, until senders slow \
                         down a round trip after their first packet was dropped",
                false => "bursts of slow start arrive faster than a shaper can hold back over such a round trip: senders slow \
                          down a round trip after their first packet was dropped",
            }
            .to_string()
        }
        Shape::AtLink | Shape::Shaped if kind != Kind::Call && keeps_apart(candidate) => {
            "the rate and the round trips decide it, and no longer a queue".to_string()
        }
        _ => mechanism(request, candidate).to_string(),
    }
}

/// The share of the link's rate from which on a shaper is near to it: 80%, which is below every usual margin.
const NEAR_LINK: f64 = 0.8;

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
        if let (Some(of_x), Some(of_y)) = (x.lost, y.lost)
            && (x.loses().is_some() || y.loses().is_some())
        {
            let ends = |lost: Estimate| lost.interval().unwrap_or((lost.mean, lost.mean));
            let ((low, high), (from, to)) = (ends(of_x), ends(of_y));
            if high >= from && low <= to {
                continue;
            }
            let word = column.title.replace(" P99", "");
            let shares = format!("{} instead of {}", percent(of_x.mean), percent(of_y.mean));
            match of_x.mean < of_y.mean {
                true => better.push(format!("fewer packets lost of the {word} ({shares})")),
                false => worse.push(format!("more packets lost of the {word} ({shares})")),
            }
            continue;
        }
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
        let less = x.estimate.mean < y.estimate.mean;
        let figures = column.beside(x.estimate.mean, y.estimate.mean);
        let words = format!("{} {} ({figures})", column.kind.than(less), column.title);
        if less == column.kind.is_less_better() { better.push(words) } else { worse.push(words) }
    }
    (better, worse)
}

/// The reason for a row's place, in one sentence.
pub(crate) fn why(request: &Request, plan: &Plan, order: &[(Judged, &Candidate)], at: usize) -> String {
    let (row, candidate) = &order[at];
    if let Some(failed) = &row.failed {
        return format!("its simulation failed: {failed}");
    }
    if at == 0 {
        return first(request, plan, order);
    }
    if !row.meets() {
        // What is said of one that came before is not said again.
        let hindrance = hindrance(request, plan, row, candidate);
        let before = order[..at]
            .iter()
            .find(|(other, its)| !other.meets() && self::hindrance(request, plan, other, its) == hindrance);
        return match before {
            Some((other, _)) => format!("{}, as with {}", row.missed(), other.name),
            None => format!("{}, because {hindrance}{}", row.missed(), both(request, plan, row, candidate)),
        };
    }
    let (best, _) = &order[0];
    let (better, worse) = apart(&request.goal, &plan.columns, row, best);
    let than = match (worse.is_empty(), better.is_empty()) {
        (true, true) => None,
        (true, false) => Some(format!("it has {}", list(&better))),
        (false, true) => Some(format!("it has {}", list(&worse))),
        (false, false) => Some(format!("it has {}, for {}", list(&worse), list(&better))),
    };
    if best.surely_meets() && !row.surely_meets() {
        let than = than.map_or_else(String::new, |than| format!("; {than}"));
        return format!("meets the goal on average, but the interval reaches beyond it{than}");
    }
    match (than, worse.is_empty()) {
        (None, _) => {
            format!("no figure differs from {}'s by more than the intervals: either will do", best.name)
        }
        (Some(than), true) if row.score < best.score => {
            format!("{than}, but on average less goodput than {}", best.name)
        }
        (Some(than), true) => format!("{than}, but is not as far within the goal as {}", best.name),
        (Some(than), false) => than,
    }
}

/// Why no candidate shapes one direction alone, where that is so: both miss the goal without a shaper.
fn both(request: &Request, plan: &Plan, row: &Judged, candidate: &Candidate) -> &'static str {
    let asked = request.goal.0.iter().find(|condition| condition.kind == Kind::Call);
    let Some(asked) =
        asked.filter(|_| candidate.shape == Shape::None && request.technology.instead.is_none())
    else {
        return "";
    };
    let cells = plan.columns.iter().zip(&row.cells).filter(|(column, _)| column.answers(Kind::Call));
    let late = |(column, cell): (&Column, &Option<Cell>)| {
        cell.as_ref().is_some_and(|cell| cell.is_late(asked.limit(column), false))
    };
    match cells.map(late).collect::<Vec<_>>()[..] {
        [true, true] => "; it is so in both directions, so that a shaper in one alone is not enough",
        _ => "",
    }
}

/// The reason for which the first row is the first.
fn first(request: &Request, plan: &Plan, order: &[(Judged, &Candidate)]) -> String {
    let (row, candidate) = &order[0];
    let mut because = mechanism(request, candidate).to_string();
    for (way, part) in [&plan.down, &plan.up].into_iter().zip(candidate.part) {
        if part < 1.0 {
            let word = way.direction.word();
            let shaper = of_rate(candidate.shaper(way).rate.bps() as f64);
            because
                .push_str(&format!(", and with the shaper {word} at {shaper} it seldom waits in the modem"));
        }
    }
    if let Some(alone) = candidate.alone {
        because.push_str(&format!(", and {} the modem's queue stays as it is", alone.other().word()));
    }
    let Some((today, _)) = order.iter().find(|(_, other)| other.shape == Shape::None) else {
        return because;
    };
    let (better, worse) = apart(&request.goal, &plan.columns, row, today);
    if !row.meets() {
        let hindrance = hindrance(request, plan, row, candidate);
        let than = match (candidate.shape, better.is_empty()) {
            (Shape::None, _) => "; no candidate is better".to_string(),
            (_, true) => "; no figure is clearly better than today's".to_string(),
            (_, false) => format!("; against today, it has {}", list(&better)),
        };
        let cost = if worse.is_empty() { String::new() } else { format!(", but {}", list(&worse)) };
        return format!("{}, because {hindrance}{than}{cost}", row.missed());
    }
    match (candidate.shape, better.is_empty()) {
        (Shape::None, _) => "nothing is gained by a shaper: its queue is short enough as it is".to_string(),
        (_, true) => format!("{because}; no figure is clearly better than today's"),
        _ => {
            let cost = if worse.is_empty() { String::new() } else { format!("; but {}", list(&worse)) };
            format!("{because}: {}{cost}", list(&better))
        }
    }
}
