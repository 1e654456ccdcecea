//! The scenarios that find the answer for a link.

use quell_scenario::{Plugins, Study};
use quell_units::{BitRate, Bytes, Duration};

use crate::candidate::{Candidate, TODAY, candidates, reference};
use crate::columns::columns;
use crate::course::{Course, rate};
use crate::goal::{Condition, Goal, Threshold};
use crate::load::FRAME;
use crate::measure::{Column, Kind};
use crate::request::Request;
use crate::scenario::{Bed, write};
use crate::size::{Size, size};
use crate::way::{Direction, Way, as_frames};
use crate::words::{of_rate, of_time, percent};

/// The part of a link that is left to one of two flows.
const HALF: f64 = 0.5;
/// Runs below this are said to be short.
const SHORT: Duration = Duration::from_secs(10);

/// The scenarios of a request, in the order in which their results are expected.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Down.
    pub down: Way,
    /// Up.
    pub up: Way,
    /// Today's, then the candidates.
    pub rows: Vec<Row>,
    /// The figures of each.
    pub columns: Vec<Column>,
    /// Remarks on the request.
    pub notes: Vec<String>,
    pub(crate) size: Size,
}

/// A scenario with the candidate that it tries.
#[derive(Clone, Debug)]
pub struct Row {
    /// The candidate.
    pub candidate: Candidate,
    /// The scenario's text, which `quell run` takes.
    pub text: String,
    /// The scenario, checked.
    pub study: Study,
}

impl Plan {
    /// The goal, with what is possible on the slower direction in the place of what is not.
    pub(crate) fn possible(&self, goal: &Goal) -> Goal {
        let rate = as_frames(self.down.shaped).min(as_frames(self.up.shaped));
        let of = |condition: &Condition| condition.possible(rate).unwrap_or_else(|| condition.clone());
        Goal(goal.0.iter().map(of).collect())
    }

    /// The time and the number of the runs, in words.
    pub fn runs(&self) -> String {
        let Size { duration, warmup, seeds, reach_seeds } = self.size;
        format!(
            "{seeds} seeds of each candidate, {reach_seeds} of each change of the link; {duration} each, of which the first \
             {warmup} do not count"
        )
    }
}

impl Row {
    /// Writes and checks the scenario of a candidate.
    pub(crate) fn of(name: &str, candidate: Candidate, bed: &Bed<'_>) -> Result<Row, String> {
        let text = write(bed, &candidate)?;
        Row::of_text(name, candidate, text)
    }

    /// Checks the scenario of a candidate.
    pub(crate) fn of_text(name: &str, candidate: Candidate, text: String) -> Result<Row, String> {
        let study = Study::parse(&text, name, &Plugins::new()).map_err(|error| error.to_string())?;
        Ok(Row { candidate, text, study })
    }
}

/// The scenarios for a link.
///
/// # Errors
/// The link cannot be simulated, the load does not suit it, or the goal asks for what the load does not have.
pub fn plan(request: &Request) -> Result<Plan, String> {
    request.check()?;
    request.fits()?;
    let mut notes = Vec::new();
    let mut down = Way::of(request, Direction::Down, request.down, request.trace.as_ref());
    let mut up = Way::of(request, Direction::Up, request.up, None);
    let sole = limit(request, &mut down, &mut up, &mut notes);
    let columns =
        columns(&request.load, &request.goal, request.carried(down.mean), request.carried(up.mean))?;
    let moves = down.rate.moves() || up.rate.moves();
    let mut candidates =
        candidates(request, moves, |shape| (as_frames(down.usual(shape)), as_frames(up.usual(shape))));
    if candidates.len() < 3 {
        notes.push(format!(
            "the router has {} of the algorithms that are tried here; there is nothing to compare beyond that; name linux as \
             the router to see what another would gain",
            candidates.len()
        ));
    }
    if let Some(instead) = request.technology.instead {
        notes.push(format!("{}: {instead}", request.technology.title));
    }
    let of_packet = up.mean.transmission_time(FRAME).max(down.mean.transmission_time(FRAME));
    let shaped = as_frames(down.shaped).min(as_frames(up.shaped));
    let beyond = request.goal.0.iter().find_map(|condition| {
        Some((condition, condition.out_of_reach(shaped)?, condition.possible(shaped)?))
    });
    if let Some((condition, packet, possible)) = beyond {
        notes.push(format!(
            "no queue reaches {condition}: one packet of {FRAME} takes {} on the slower direction, and a call waits for the one \
             that is being sent; ask for {possible}, or lower the MTU",
            of_time(packet.as_secs_f64())
        ));
    } else if of_packet > Duration::from_millis(10) {
        notes.push(format!(
            "a full packet takes {of_packet} on the slower direction: a call waits for the one that is being sent, whatever \
             the queue; a smaller MTU shortens that"
        ));
    }
    let is_share = |condition: &&Condition| matches!(condition.threshold, Threshold::Share(_));
    let of_goodput = |condition: &&Condition| condition.kind != Kind::Stalls && is_share(condition);
    if let Some(condition) = request.goal.0.iter().find(of_goodput).filter(|_| request.varies()) {
        notes.push(format!("{condition}: the share is of the mean rate of the link"));
    }
    if request.technology.varies && !request.varies() {
        let (least, most) = (rate(request.down.most.bps() as f64 / 10.0), request.down.most);
        notes.push(format!(
            "the rate of this link varies, and it is simulated as if it did not: give both ends of each direction, such as \
             --down {}",
            format!("{least}..{most}").replace(' ', "")
        ));
    }
    for way in [&down, &up] {
        if let Some((time, share)) = way.course.as_ref().and_then(Course::outage) {
            notes.push(format!(
                "{}: the link is out for up to {time} at a time, {} in all: no queue and no shaper shortens what waits then",
                way.direction.word(),
                percent(share)
            ));
        }
        let Some(calls) = request.load.calls(
            way.direction == Direction::Up,
            way.link,
            request.hosts,
            down.mean.min(up.mean),
        ) else {
            continue;
        };
        let share = calls / way.mean.bps() as f64;
        if share > HALF {
            let word = way.direction.word();
            let (calls, rate) = (of_rate(calls), of_rate(way.mean.bps() as f64));
            let why = match share < 1.0 {
                true => "so that it loses packets where each flow gets the same share",
                false => "so that it loses packets with every candidate",
            };
            notes.push(format!("the load does not fit: a call takes {calls} of {rate} {word}, {why}"));
        }
    }
    if let Some(video) = request.load.least_video() {
        let all = BitRate::from_bps(video.bps().saturating_mul(u64::from(request.hosts)));
        let carried = request.carried(down.mean);
        if all >= carried {
            notes.push(format!(
                "the load does not fit: its videos need {all} down at least, and the link carries {} of IP; videos stand \
                 still with every candidate",
                of_rate(carried.bps() as f64)
            ));
        }
    }
    let alone = sole.and_then(|direction| candidates.first().map(|first| first.alone(direction)));
    let size = size(request, &down, &up, candidates.len() + 1 + usize::from(alone.is_some()));
    if size.duration < SHORT {
        notes.push(format!(
            "a run simulates {}, because so much is sent in that time; what takes longer, such as the growth of a flow over \
             long round trips, is not seen",
            size.duration
        ));
    }
    let mut plan = Plan { down, up, rows: Vec::new(), columns, notes, size };
    let bed = Bed::of(request, (&plan.down, &plan.up), size, size.seeds);
    candidates.extend(alone);
    let mut rows = vec![Row::of(TODAY, reference(), &bed)?];
    for candidate in candidates {
        let name = candidate.name.clone();
        match Row::of(&name, candidate, &bed) {
            Ok(row) => rows.push(row),
            Err(why) => plan.notes.push(format!("{name} was not tried: {why}")),
        }
    }
    plan.rows = rows;
    Ok(plan)
}

/// Lowers the shapers to what the processor can. The direction that it can shape alone at the usual rate, and not with the
/// other one, is the answer.
fn limit(request: &Request, down: &mut Way, up: &mut Way, notes: &mut Vec<String>) -> Option<Direction> {
    let most = request.cpu_limit.filter(|_| request.technology.instead.is_none())?;
    let (d, u) = (down.shaped.rate.bps(), up.shaped.rate.bps());
    if d.saturating_add(u) <= most.bps() {
        return None;
    }
    // The slower direction is the one in which queues hurt more, and costs less.
    let slower = if d <= u { Direction::Down } else { Direction::Up };
    let slow = d.min(u).min(most.bps() / 2);
    let fast = most.bps() - slow;
    let (d, u) = if d <= u { (slow, fast) } else { (fast, slow) };
    (down.limited, up.limited) = (d < down.shaped.rate.bps(), u < up.shaped.rate.bps());
    down.shaped.rate = rate(d as f64);
    up.shaped.rate = rate(u as f64);
    let lost = |way: &Way| {
        1.0 - way.shaped.of_packets(Bytes::new(1500)).bps() as f64
            / way.link.of_packets(Bytes::new(1500)).bps() as f64
    };
    notes.push(format!(
        "the router shapes {most} in both directions together, so the shapers are at {} down and {} up, which gives up {} and \
         {} of the link; \"today\" shows the link without a shaper",
        down.shaped.rate,
        up.shaped.rate,
        percent(lost(down)),
        percent(lost(up))
    ));
    let limited = if slower == Direction::Down { down.limited } else { up.limited };
    (!limited && !request.varies()).then_some(slower)
}
