//! From a link to the scenarios that find its answer.

use quell_router::Technology;
use quell_scenario::{Plugins, Study};
use quell_units::{BitRate, Bytes, Duration, Layer, LinkLayer};

use crate::candidate::{Candidate, Shape, candidates, reference};
use crate::course::{Course, rate};
use crate::load::FRAME;
use crate::measure::{Column, columns};
use crate::request::{Request, Span};
use crate::scenario::{Bed, write};
use crate::size::{Size, size};

/// A direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Toward the hosts.
    Down,
    /// From the hosts.
    Up,
}

/// One direction of a link, as it is and as it is shaped.
#[derive(Clone, Debug, PartialEq)]
pub struct Way {
    /// The direction.
    pub direction: Direction,
    /// The rates between which it moves, at the link's layer.
    pub rate: Span<BitRate>,
    /// The mean rate.
    pub mean: BitRate,
    /// How it moves, if it does.
    pub course: Option<Course>,
    /// What a packet takes of the mean rate.
    pub link: LinkLayer,
    /// The rate of the shaper: with the margin below the rate, or the mean of those; what the processor can, if that is
    /// less.
    pub shaped: LinkLayer,
    /// The packets that the modem's own buffer holds.
    pub modem: u64,
    /// The margin and what is left for IP packets, in sentences.
    pub words: String,
}

/// The scenarios of a request, in the order in which their results are expected.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Down.
    pub down: Way,
    /// Up.
    pub up: Way,
    /// What one has today, then the candidates.
    pub rows: Vec<Row>,
    /// The figures of each.
    pub columns: Vec<Column>,
    /// What is to be said of the request.
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

/// The time that a modem's own buffer holds at its rate: chosen, of the order that `docs/presets.md` has; not verified.
fn modem_time(technology: &Technology) -> Duration {
    Duration::from_millis(match technology.name {
        "docsis" => 250,
        "gpon" | "ethernet" => 100,
        "port" => 1,
        "lte" | "5g" => 1000,
        "satellite" => 600,
        "starlink" => 200,
        name if name.starts_with("vdsl") => 200,
        _ => 300,
    })
}

/// Packets that the smallest buffer of a modem holds.
const LEAST_MODEM: u64 = 64;
/// Packets that the largest holds.
const MOST_MODEM: u64 = 10_000_000;

impl Way {
    fn of(request: &Request, direction: Direction, span: Span<BitRate>, trace: Option<&Course>) -> Way {
        let technology = request.technology;
        let course = match trace {
            Some(course) => Some(course.clone()),
            None if span.moves() => Some(Course::between(span)),
            None => None,
        };
        let span = course.as_ref().map_or(span, Course::span);
        let mean = course.as_ref().map_or(span.least, Course::mean);
        let time = modem_time(technology).as_secs_f64();
        let modem = (libm::ceil(mean.packets_per_sec(FRAME) * time) as u64).clamp(LEAST_MODEM, MOST_MODEM);
        let link = technology.link(mean);
        Way {
            direction,
            rate: span,
            mean,
            course,
            link,
            shaped: technology.shaped(mean),
            modem: if technology.name == "port" { modem.clamp(LEAST_MODEM, 1000) } else { modem },
            words: technology.sentence(mean),
        }
    }

    /// The shaper's rate over the link's.
    pub(crate) fn share(&self) -> f64 {
        self.shaped.rate.bps() as f64 / self.mean.bps() as f64
    }

    /// The shaper of a candidate.
    pub fn shaper(&self, candidate: &Candidate) -> LinkLayer {
        let layer = self.usual(candidate.shape);
        let part = candidate.part[usize::from(self.direction == Direction::Up)];
        // The usual rate is exact.
        if part < 1.0 { LinkLayer { rate: rate(layer.rate.bps() as f64 * part), ..layer } } else { layer }
    }

    /// The shaper of a shape with the usual margin.
    pub(crate) fn usual(&self, shape: Shape) -> LinkLayer {
        match shape {
            Shape::AtLeast => {
                LinkLayer { rate: rate(self.rate.least.bps() as f64 * self.share()), ..self.shaped }
            }
            Shape::None | Shape::AtLink => self.link,
            _ => self.shaped,
        }
    }
}

/// The rate that gives full frames, as scenarios count them, the time that they take on the wire.
pub(crate) fn as_frames(link: LinkLayer) -> BitRate {
    let wire = link.seen_from(Layer::Ethernet).on_wire(FRAME).get();
    let bps = u128::from(link.rate.bps()) * u128::from(FRAME.get()) / u128::from(wire.max(1));
    BitRate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX))
}

/// The scenarios for a link.
///
/// # Errors
/// The link cannot be simulated, the load does not suit it, or the goal asks for what the load does not have.
pub fn plan(request: &Request) -> Result<Plan, String> {
    request.check()?;
    let mut notes = Vec::new();
    let mut down = Way::of(request, Direction::Down, request.down, request.trace.as_ref());
    let mut up = Way::of(request, Direction::Up, request.up, None);
    limit(request, &mut down, &mut up, &mut notes);
    let columns = columns(&request.load, &request.goal, down.mean, up.mean)?;
    let candidates = candidates(request, |shape| (as_frames(down.usual(shape)), as_frames(up.usual(shape))));
    if candidates.len() < 3 {
        notes.push(format!(
            "the router has {} of the algorithms that are tried here; there is nothing to compare beyond that",
            candidates.len()
        ));
    }
    if let Some(instead) = request.technology.instead {
        notes.push(format!("{}: {instead}", request.technology.title));
    }
    let of_packet = up.mean.transmission_time(FRAME).max(down.mean.transmission_time(FRAME));
    if of_packet > Duration::from_millis(10) {
        notes.push(format!(
            "a full packet takes {of_packet} on the slower direction: a call waits for the one that is being sent, whatever \
             the queue; a smaller MTU shortens that"
        ));
    }
    let size = size(request, &down, &up, candidates.len() + 1);
    let mut plan = Plan { down, up, rows: Vec::new(), columns, notes, size };
    let bed = Bed::of(request, &plan, size.seeds);
    let all = std::iter::once(reference()).chain(candidates);
    plan.rows =
        all.map(|candidate| Row::of(&candidate.name.clone(), candidate, &bed)).collect::<Result<_, _>>()?;
    Ok(plan)
}

/// Lowers the shapers to what the processor can.
fn limit(request: &Request, down: &mut Way, up: &mut Way, notes: &mut Vec<String>) {
    let Some(most) = request.cpu_limit.filter(|_| request.technology.instead.is_none()) else { return };
    let (d, u) = (down.shaped.rate.bps(), up.shaped.rate.bps());
    if d.saturating_add(u) <= most.bps() {
        return;
    }
    // The slower direction is the one in which queues hurt more, and costs less.
    let (slow, fast) = (d.min(u).min(most.bps() / 2), 0);
    let fast = most.bps().saturating_sub(slow).max(fast);
    let (d, u) = if d <= u { (slow, fast) } else { (fast, slow) };
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
        crate::words::percent(lost(down)),
        crate::words::percent(lost(up))
    ));
}
