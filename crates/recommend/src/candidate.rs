//! The means of a router for a link: algorithms with their parameters, and where their queue is.

use quell_aqm::catalog::{self, AqmConfig};
use quell_aqm::fq_codel::FqCodelParams;
use quell_aqm::fq_pie::{FqPieParams, FqPieRules};
use quell_aqm::part::Weight;
use quell_aqm::pie::PieParams;
use quell_aqm::red::RedParams;
use quell_aqm::wred::WredParams;
use quell_router::{Range, Technology};
use quell_theory::rules::design::setting;
use quell_units::{BitRate, Duration, LinkLayer, QueueSize};

use crate::course::rate;
use crate::load::FRAME;
use crate::request::Request;
use crate::way::{Direction, Shape, Way, as_frames};

/// A candidate for a link: one algorithm in both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// Its name, which is that of its scenario's file.
    pub name: String,
    /// The place of its queue.
    pub shape: Shape,
    /// The algorithm down.
    pub down: AqmConfig,
    /// The algorithm up.
    pub up: AqmConfig,
    /// The parts of the usual rates that its shapers have, down and up: 1 unless that proved to be too much.
    pub part: [f64; 2],
    /// The direction that it shapes, if that is one alone: the queue of the other one is the modem's.
    pub alone: Option<Direction>,
    /// The longest time that packets may wait in its queue, if it has one of its own; otherwise the algorithm decides.
    pub buffer: Option<Duration>,
    /// The reasons for its parameters, without repetition.
    pub reasons: Vec<String>,
}

/// The order in which algorithms are tried: those that keep flows apart first, because they protect calls from transfers.
const ORDER: [&str; 12] = [
    "cake",
    "fq-codel",
    "dualpi2",
    "fq-pie",
    "pie",
    "codel",
    "cobalt",
    "pi2",
    "sfq",
    "ared",
    "red",
    "drop-tail",
];
/// The same where the queue is a port's: no shaper is needed, and marks keep queues short.
const AT_LINK: [&str; 11] =
    ["fq-codel", "dualpi2", "codel", "fq-pie", "cake", "pie", "pi2", "ared", "red", "sfq", "drop-tail"];

/// The number that is tried.
const MOST: usize = 3;
/// The longest wait in a queue that drops at its tail and nowhere else.
const SHORT: Duration = Duration::from_millis(20);

/// The name of what one has without doing anything.
pub(crate) const TODAY: &str = "today";

/// The link as it is.
pub(crate) fn reference() -> Candidate {
    let none = AqmConfig::DropTail(Default::default());
    Candidate {
        name: TODAY.to_string(),
        shape: Shape::None,
        down: none.clone(),
        up: none,
        part: [1.0; 2],
        alone: None,
        buffer: None,
        reasons: Vec::new(),
    }
}

/// The candidates for a link; of each direction, the rate at which packets leave the queue.
/// `moves` tells whether a rate does, but for outages.
pub(crate) fn candidates(
    request: &Request,
    moves: bool,
    rate: impl Fn(Shape) -> (BitRate, BitRate),
) -> Vec<Candidate> {
    let at_link = request.technology.instead.is_some();
    let order: &[&str] = if at_link { &AT_LINK } else { &ORDER };
    let has = request.can.algorithms();
    let known = order.iter().copied().filter(|name| has.contains(name));
    let others = has.iter().copied().filter(|name| !order.contains(name));
    let names: Vec<&str> = known.chain(others).take(MOST).collect();
    let make = |name: &str, label: String, shape: Shape| {
        let (down, up) = rate(shape);
        let is_port = request.technology.name == "port";
        let of = |rate| {
            let (config, mut why) =
                designed(name, rate, request.rtt.most, is_port && request.load.is_early());
            let mut config = request.can.as_there(config);
            if let AqmConfig::FqPie(params) = &mut config
                && params.rules == FqPieRules::Linux
            {
                // sch_fq_pie.c counts what exceeds the limit of memory, and drops nothing.
                params.memory_limit = FqPieParams::default().memory_limit;
                why.retain(|why| !why.starts_with("memory_limit"));
            }
            (config, why)
        };
        let ((down, of_down), (up, of_up)) = (of(down), of(up));
        let both: Vec<String> = of_down.iter().filter(|why| of_up.contains(why)).cloned().collect();
        let own = |word: &str, all: Vec<String>| {
            let all = all.into_iter().filter(|why| !both.contains(why));
            all.map(|why| format!("{word}: {why}")).collect::<Vec<_>>()
        };
        let reasons = [both.clone(), own("down", of_down), own("up", of_up)].concat();
        let buffer = (name == "drop-tail").then_some(SHORT);
        Candidate { name: label, shape, down, up, part: [1.0; 2], alone: None, buffer, reasons }
    };
    if at_link {
        return names.iter().map(|name| make(name, (*name).to_string(), Shape::AtLink)).collect();
    }
    if request.varies() {
        // Which rate matters more than which algorithm.
        let shapes =
            [("at-least", Shape::AtLeast), ("at-mean", Shape::AtMean), ("following", Shape::Following)];
        return names.first().map_or_else(Vec::new, |first| {
            // Between two rates that are one, cake-autorate has nothing to move.
            let follows = moves && *first == "cake" && request.can.follows();
            let shapes = shapes.into_iter().filter(|(_, shape)| follows || *shape != Shape::Following);
            shapes.map(|(word, shape)| make(first, format!("{first}-{word}"), shape)).collect()
        });
    }
    names.iter().map(|name| make(name, (*name).to_string(), Shape::Shaped)).collect()
}

/// An algorithm for a rate and round trips up to `rtt`, by its rule, and the reasons; `early` where senders take a mark for
/// little and need it early.
fn designed(name: &str, rate: BitRate, rtt: Duration, early: bool) -> (AqmConfig, Vec<String>) {
    if let Some(found) = setting(name, rate, FRAME, rtt) {
        let mut reasons = found.reasons;
        // PIE scales its probability by itself (RFC 8033 section 5.2); its gains and its burst are those that routers have.
        let of_pie = PieParams::default();
        let config = match found.config {
            AqmConfig::FqCodel(params) if early => {
                let step = params.target + params.target;
                reasons.push(format!(
                    "ce_threshold = {step}: DCTCP needs marks from a short queue on (RFC 8290 section 5.2.7); senders with \
                     plain ECN lose rate by it"
                ));
                AqmConfig::FqCodel(FqCodelParams { ce_threshold: Some(step), ..params })
            }
            AqmConfig::Pie(params) => AqmConfig::Pie(PieParams {
                alpha: of_pie.alpha,
                beta: of_pie.beta,
                max_burst: of_pie.max_burst,
                ..params
            }),
            AqmConfig::FqPie(params) => AqmConfig::FqPie(FqPieParams {
                alpha: of_pie.alpha,
                beta: of_pie.beta,
                max_burst: of_pie.max_burst,
                ..params
            }),
            other => other,
        };
        if matches!(config, AqmConfig::Pie(_) | AqmConfig::FqPie(_)) {
            reasons.retain(|why| !why.starts_with("alpha and beta"));
        }
        return (config, reasons);
    }
    if name == "red" || name == "wred" {
        let packets = rate.packets_per_sec(FRAME);
        // The automatic setting of Floyd et al. 2001 ("Adaptive RED"), which a router without it can be told.
        let low = libm::round(0.0025 * packets).max(5.0);
        let weight = Weight::Value(1.0 - libm::exp(-1.0 / packets.max(1.0)));
        let (min_th, max_th) = (QueueSize::Packets(low), QueueSize::Packets(3.0 * low));
        let reason = "thresholds of RED for a delay of 5 ms, at least 5 packets, and an average over 1 s: \
                      Floyd et al. 2001, section 3.5";
        let config = match name {
            "red" => AqmConfig::Red(RedParams { min_th, max_th, weight, ..Default::default() }),
            // Of precedence 0, which packets mostly have.
            _ => AqmConfig::Wred(WredParams { max_th, lowest: 1.0 / 3.0, weight, ..Default::default() }),
        };
        return (config, vec![reason.to_string()]);
    }
    let reason = match name {
        "drop-tail" => format!("a queue of {SHORT} at most, because packets are dropped only at its end"),
        _ => format!("{name} with its defaults: there is no rule for it"),
    };
    let default =
        catalog::find(name).map_or(AqmConfig::DropTail(Default::default()), |entry| (entry.default)());
    (default, vec![reason])
}

impl Candidate {
    /// The most that its queue holds in a direction.
    pub fn queue(&self, way: &Way) -> QueueSize {
        let rate = as_frames(self.shaper(way));
        QueueSize::Packets(self.packets(rate, Duration::from_millis(100)) as f64)
    }

    /// Tells whether its queue is in a direction.
    pub(crate) fn queues(&self, direction: Direction) -> bool {
        self.alone.is_none_or(|alone| alone == direction)
    }

    /// The same in one direction alone.
    pub(crate) fn alone(&self, direction: Direction) -> Candidate {
        let other = format!("{}: ", direction.other().word());
        let reasons = self.reasons.iter().filter(|why| !why.starts_with(&other)).cloned().collect();
        let name = format!("{}-{}-alone", self.name, direction.word());
        Candidate { name, alone: Some(direction), reasons, ..self.clone() }
    }

    /// Its shaper in a direction; the link itself where nothing is shaped.
    pub fn shaper(&self, way: &Way) -> LinkLayer {
        if !self.queues(way.direction) {
            return way.link;
        }
        let layer = way.usual(self.shape);
        let part = self.part[usize::from(way.direction == Direction::Up)];
        // The usual rate is exact.
        if part < 1.0 { LinkLayer { rate: rate(layer.rate.bps() as f64 * part), ..layer } } else { layer }
    }

    /// The rate of its shaper in a direction, its margin and what is left for IP packets, in sentences.
    pub fn words(&self, technology: &Technology, way: &Way) -> String {
        let part = self.part[usize::from(way.direction == Direction::Up)];
        let shaped = self.shaper(way).rate;
        let unshaped = || format!("{}, without a shaper. {}", way.mean, technology.carries(way.mean));
        let margin = match self.shape {
            Shape::None | Shape::AtLink if technology.share == 1000 => {
                return technology.sentence(way.mean);
            }
            Shape::None | Shape::AtLink => return unshaped(),
            _ if !self.queues(way.direction) => return unshaped(),
            Shape::AtLeast => technology.margin(shaped, way.rate.least, "the least rate of the link counts"),
            _ if way.limited => technology.margin(shaped, way.mean, "the router's processor shapes no more"),
            // Of a rate that moves, what was found is not a matter of bursts.
            Shape::AtMean | Shape::Following if way.rate.moves() => {
                let rates = format!("the link moves between {} and {}", way.rate.least, way.rate.most);
                let why = match self.shape {
                    Shape::Following => {
                        format!("{rates}, and cake-autorate moves the shaper; this is its base")
                    }
                    _ => format!("{rates}: where it is slower than the shaper, the queue is the modem's"),
                };
                technology.margin(shaped, way.mean, &why)
            }
            Shape::AtMean if way.course.is_some() => {
                technology.margin(shaped, way.mean, "of the mean rate, which outages lower")
            }
            _ if part < 1.0 => {
                let usual = technology.share as f64 / 10.0;
                let why = format!("at {usual}%, bursts still reached the modem's queue");
                technology.margin(shaped, way.mean, &why)
            }
            _ => return technology.sentence(way.mean),
        };
        format!("{margin}. {}", technology.carries(shaped))
    }

    /// The rates between which cake-autorate keeps its shaper, if it is to.
    pub(crate) fn range(&self, way: &Way) -> Option<Range> {
        let share = self.shaper(way).rate.bps() as f64 / way.mean.bps().max(1) as f64;
        let of = |rate: BitRate| BitRate::from_bps((rate.bps() as f64 * share) as u64);
        let moves = way.rate.moves() && self.shape == Shape::Following;
        moves.then(|| Range { least: of(way.rate.least), most: of(way.rate.most) })
    }

    /// The packets that its queue may hold at a rate.
    pub(crate) fn packets(&self, rate: BitRate, interval: Duration) -> u64 {
        let time = self.buffer.unwrap_or(interval + interval);
        let packets = libm::ceil(rate.packets_per_sec(FRAME) * time.as_secs_f64());
        // Limits of Linux: 1000 packets of a queue, 10240 of queues for each flow.
        let least = match &self.up {
            _ if self.buffer.is_some() => 4,
            AqmConfig::Cake(_) | AqmConfig::FqCodel(_) | AqmConfig::FqPie(_) => 10_240,
            _ => 1000,
        };
        (packets as u64).clamp(least, 10_000_000)
    }
}
