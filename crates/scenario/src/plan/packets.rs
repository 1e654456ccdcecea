//! The sizes of a scenario's packets, and the rates that follow from them. All of it is taken from what is written,
//! sound or not.

use quell_sim::network::ACK_BYTES;
use quell_units::{BitRate, Bytes, Duration, QueueSize};

use crate::error::{Problem, require};
use crate::files::Loaded;
use crate::format::{FlowGroup, Kind};
use crate::limits;
use crate::tree::{Path, steps};
use crate::values::{Access, Dist, OneOr, Shape};

/// The size of a packet of UDP where a group says nothing.
pub(super) const UDP_PACKET: Bytes = Bytes::new(1000);

/// The packet size by which algorithms convert packets to bytes.
pub(super) fn mean_packet(s: Loaded<'_>) -> Bytes {
    s.mean_packet.unwrap_or_else(|| match s.flows.first() {
        Some(FlowGroup { kind: Kind::Udp, packet, .. }) => match packet {
            Some(OneOr::One(bytes)) => *bytes,
            Some(OneOr::Spread(Shape::Exponential(mean))) => *mean,
            _ => UDP_PACKET,
        },
        Some(g) if g.kind == Kind::Trace => s.contents.arrivals(g).map_or(UDP_PACKET, |file| file.mean),
        Some(g) => g.wire_bytes(),
        None => UDP_PACKET,
    })
}

/// The smallest packets of a group and of their acknowledgments, in bytes, and which they are. There is no
/// smallest one of exponential sizes: those below a hundredth of the mean carry half of a ten-thousandth of
/// the bytes.
fn smallest_packet(s: Loaded<'_>, g: &FlowGroup) -> (f64, &'static str) {
    if let Some(file) = s.contents.arrivals(g) {
        return (file.smallest.get() as f64, "of a trace");
    }
    if g.kind != Kind::Udp {
        let (ack, syn) = g.tcp.as_ref().map_or((ACK_BYTES, ACK_BYTES), |tcp| (tcp.ack_size, tcp.syn_size));
        return match g.wire_bytes() {
            data if data < ack.min(syn) => (data.get() as f64, "data"),
            _ if syn < ack => (syn.get() as f64, "a SYN"),
            _ => (ack.get() as f64, "an acknowledgment"),
        };
    }
    let bytes = |b: Bytes| b.get() as f64;
    let smallest = match &g.packet {
        None => bytes(UDP_PACKET),
        Some(OneOr::One(size)) => bytes(*size),
        Some(OneOr::Spread(Shape::Uniform([low, _]))) => bytes(*low),
        Some(OneOr::Spread(Shape::Exponential(mean))) => bytes(*mean) / 100.0,
        Some(OneOr::Spread(Shape::Pareto(p))) => match (p.min, p.mean) {
            (Some(min), _) => bytes(min),
            (None, mean) => mean.map_or(0.0, bytes) * (p.shape - 1.0) / p.shape,
        },
    };
    // What is drawn below is sent as one byte.
    (smallest.max(1.0), "UDP")
}

/// The largest packets of a scenario, which bursts must hold. Of exponential sizes, those beyond twenty times the mean,
/// one of which comes among 5e8, do not count.
pub(crate) fn largest_packet(s: Loaded<'_>) -> Bytes {
    let all = s.flows.iter().map(|g| largest_of(s, g));
    Bytes::new(all.fold(1.0, f64::max).clamp(1.0, 65_535.0).round() as u64)
}

fn largest_of(s: Loaded<'_>, g: &FlowGroup) -> f64 {
    if let Some(file) = s.contents.arrivals(g) {
        return file.trace.arrivals().iter().map(|arrival| f64::from(arrival.bytes)).fold(0.0, f64::max);
    }
    let most = |size: &Dist<Bytes>| match size {
        OneOr::One(bytes) => bytes.get() as f64,
        OneOr::Spread(Shape::Uniform([_, high])) => high.get() as f64,
        OneOr::Spread(Shape::Exponential(mean)) => 20.0 * mean.get() as f64,
        OneOr::Spread(Shape::Pareto(_)) => 65_535.0,
    };
    if g.kind == Kind::Udp {
        return g.packet.as_ref().map_or(UDP_PACKET.get() as f64, most);
    }
    let (ack, syn) = g.tcp.as_ref().map_or((ACK_BYTES, ACK_BYTES), |tcp| (tcp.ack_size, tcp.syn_size));
    let request = g.request.as_ref().map_or(0.0, most);
    (g.wire_bytes().max(ack).max(syn).get() as f64).max(request)
}

/// The highest rate at which the smallest packet takes a nanosecond to send. No transmission is shorter, so a
/// faster link would carry less than its rate.
pub(super) struct Finest {
    rate: BitRate,
    /// On a slower link the smallest packet takes longer than what is measured.
    least: BitRate,
    measured: Duration,
    /// The packet, for messages, and what helps.
    packet: String,
    help: &'static str,
}

impl Finest {
    pub(super) fn of(s: Loaded<'_>) -> Finest {
        let smallest = s.flows.iter().map(|g| smallest_packet(s, g)).min_by(|a, b| a.0.total_cmp(&b.0));
        let (bytes, what) = smallest.unwrap_or((UDP_PACKET.get() as f64, "UDP"));
        let packet = format!("{} B, {what}", (bytes * 100.0).round() / 100.0);
        let help = match what {
            "an acknowledgment" | "a SYN" => "lower the rate",
            _ => "lower the rate, or send larger packets",
        };
        let measured = s.duration - s.warmup;
        let least = if measured.is_zero() { 0.0 } else { bytes * 8.0 / measured.as_secs_f64() };
        let least = BitRate::from_bps(least.ceil() as u64);
        Finest { rate: BitRate::from_bps((bytes * 8e9) as u64), least, measured, packet, help }
    }

    pub(super) fn allows(&self, rate: BitRate) -> bool {
        (1..=limits::RATE_BPS).contains(&rate.bps()) && rate <= self.rate
    }

    /// Refuses the rate of a link that is too fast to be simulated, or too slow.
    pub(super) fn check(&self, rate: BitRate, path: Path) -> Result<(), Problem> {
        check_rate(rate, path.clone())?;
        let Finest { rate: most, packet, help, .. } = self;
        require(
            rate <= *most,
            path,
            format!(
                "must be at most {most}: on a faster link, the scenario's smallest packet ({packet}) would take less \
                 than 1 ns, the shortest simulated time; {help}"
            ),
        )
    }

    /// Refuses the rate that a link has all the time, also if no packet comes through it while something is measured.
    pub(super) fn check_lasting(&self, rate: BitRate, path: Path) -> Result<(), Problem> {
        self.check(rate, path.clone())?;
        let Finest { least, measured, packet, .. } = self;
        require(
            rate >= *least,
            path,
            format!(
                "must be at least {least}: on a slower link, the scenario's smallest packet ({packet}) would take \
                 longer than the measured {measured}"
            ),
        )
    }
}

pub(super) fn check_rate(rate: BitRate, path: Path) -> Result<(), Problem> {
    require(
        (1..=limits::RATE_BPS).contains(&rate.bps()),
        path,
        format!("must lie between 1 bit/s and {}", BitRate::from_bps(limits::RATE_BPS)),
    )
}

pub(super) fn check_buffer(buffer: QueueSize, path: Path) -> Result<(), Problem> {
    let most = match buffer {
        QueueSize::Packets(_) => QueueSize::Packets(limits::BUFFER_PACKETS),
        QueueSize::Bytes(_) => QueueSize::Bytes(limits::BUFFER_BYTES),
    };
    require(
        buffer.value() >= 1.0 && buffer.value() <= most.value(),
        path,
        format!("must lie between {} and {most}", buffer.with_value(1.0)),
    )
}

/// Refuses access links that are too fast.
pub(super) fn check_access(s: Loaded<'_>) -> Result<(), Problem> {
    let given = [
        ("dumbbell", s.dumbbell.as_ref().and_then(|d| d.access_rate)),
        ("parking_lot", s.parking_lot.as_ref().and_then(|p| p.access_rate)),
        ("graph", s.graph.as_ref().and_then(|g| g.access_rate)),
    ];
    for (topology, access) in given {
        if let Some(Access::Rate(rate)) = access {
            Finest::of(s).check_lasting(rate, steps![topology, "access_rate"])?;
        }
    }
    Ok(())
}

/// The rate of access links where a group says nothing of its own.
pub(super) fn access_rate(s: Loaded<'_>) -> Access {
    let dumbbell = s.dumbbell.as_ref().map(|d| (d.access_rate, d.link().fastest(d.rate)));
    let parking_lot = s.parking_lot.as_ref().map(|p| (p.access_rate, p.link().fastest(p.rate)));
    let graph = s.graph.as_ref().map(|g| {
        let fastest = g.links.iter().map(|l| l.link().fastest(l.rate)).max();
        (g.access_rate, fastest.unwrap_or_default())
    });
    let Some((given, fastest)) = dumbbell.or(parking_lot).or(graph) else { return Access::None };
    given.unwrap_or_else(|| {
        let tenfold = BitRate::from_bps(fastest.bps().saturating_mul(10));
        let most = Finest::of(s).rate.min(BitRate::from_bps(limits::RATE_BPS));
        Access::Rate(tenfold.max(BitRate::from_bps(100_000_000)).min(most))
    })
}
