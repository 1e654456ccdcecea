//! The directions of a link.

use quell_router::Technology;
use quell_units::{BitRate, Duration, Layer, LinkLayer};

use crate::course::{Course, rate};
use crate::load::FRAME;
use crate::request::Request;
use crate::span::Span;

/// A direction of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Toward the hosts.
    Down,
    /// From the hosts.
    Up,
}

impl Direction {
    /// Its name.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Direction::Down => "down",
            Direction::Up => "up",
        }
    }

    /// The other one.
    pub(crate) fn other(self) -> Direction {
        match self {
            Direction::Down => Direction::Up,
            Direction::Up => Direction::Down,
        }
    }
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
    /// Its course, if it moves.
    pub course: Option<Course>,
    /// The size that a packet takes of the mean rate.
    pub link: LinkLayer,
    /// The rate of the shaper: with the margin below the rate, or the mean of those; what the processor can, if that is
    /// less.
    pub shaped: LinkLayer,
    /// The packets that the modem's own buffer holds.
    pub modem: u64,
    /// Whether the router's processor keeps the shaper below the usual rate.
    pub limited: bool,
}

/// The place of a candidate's queue, and its rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// Nothing is done: the queue is the modem's.
    None,
    /// The queue is the router's, behind which packets leave at a rate below the link's.
    Shaped,
    /// The rate is that below the least rate of a varying link.
    AtLeast,
    /// The rate is that below the mean of a varying link.
    AtMean,
    /// The rate follows the link's some time later, as cake-autorate means to do.
    Following,
    /// The link's own queue has the algorithm, and nothing is shaped.
    AtLink,
}

/// The time that a modem's own buffer holds at its rate. Of cables it is what modems without AQM had up under load (Flickinger
/// et al. 2021, abstract); the others are chosen. docs/how-to/recommend.md has what was published beside each.
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
    pub(crate) fn of(
        request: &Request,
        direction: Direction,
        span: Span<BitRate>,
        trace: Option<&Course>,
    ) -> Way {
        let technology = request.technology;
        let course = match trace {
            Some(course) => Some(course.clone()),
            None if span.moves() => Some(Course::between(span, technology)),
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
            limited: false,
        }
    }

    /// The shaper's rate over the link's.
    pub(crate) fn share(&self) -> f64 {
        self.shaped.rate.bps() as f64 / self.mean.bps() as f64
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
