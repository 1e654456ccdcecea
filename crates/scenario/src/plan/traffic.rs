//! What the flows of a group send.

use quell_aqm::Rng;
use quell_sim::network::{
    ACK_BYTES, App, Connection, Distribution, Gaps, Pace, Pages, Schedule, Traffic, UdpSpec, Video,
};
use quell_units::{Bytes, Duration, QueueSize};

use super::measure::at as moment;
use crate::error::{Problem, require};
use crate::format::{FlowGroup, Kind};
use crate::tree::Path;
use crate::values::{Count, Dist, OneOr, Quantity, Shape};

/// A distribution as the simulator wants it, in the unit that `convert` gives.
fn distribution<Q: Quantity>(
    d: &Dist<Q>,
    at: &Path,
    convert: impl Fn(Q) -> f64,
) -> Result<Distribution, Problem> {
    Ok(match d {
        OneOr::One(q) => Distribution::Constant(convert(*q)),
        OneOr::Spread(Shape::Exponential(mean)) => {
            require(convert(*mean) > 0.0, at.then("exponential"), "must be positive")?;
            Distribution::Exponential(convert(*mean))
        }
        OneOr::Spread(Shape::Uniform([low, high])) => {
            require(
                convert(*low) <= convert(*high),
                at.then("uniform"),
                "must increase from the first value to the second",
            )?;
            Distribution::Uniform(convert(*low), convert(*high))
        }
        OneOr::Spread(Shape::Pareto(p)) => {
            let at = at.then("pareto");
            // Below a tenth, most draws are beyond any number.
            require(p.shape >= 0.1 && p.shape.is_finite(), at.then("shape"), "must be at least 0.1")?;
            let scale = match (p.min, p.mean) {
                (Some(min), None) => convert(min),
                (None, Some(mean)) => {
                    require(
                        p.shape > 1.0,
                        at.then("shape"),
                        "must exceed 1: otherwise the mean is infinite",
                    )?;
                    convert(mean) * (p.shape - 1.0) / p.shape
                }
                _ => return Err(Problem::new(at, "requires either min or mean").with_value("")),
            };
            require(scale > 0.0, at, "its smallest value must be positive")?;
            Distribution::Pareto { shape: p.shape, scale }
        }
    })
}

/// The size of a packet of UDP where a group says nothing.
pub(super) const UDP_PACKET: Bytes = Bytes::new(1000);

/// The size of a request for an object or a chunk where a group says nothing.
pub(super) const REQUEST: Bytes = Bytes::new(500);

/// Connections of a client that loads pages (RFC 7928 section 7.2).
pub(super) const CONNECTIONS: u32 = 6;

/// A chunk of a video.
pub(super) const CHUNK: Duration = Duration::from_secs(4);

/// What a player keeps.
pub(super) const PLAYBACK_BUFFER: Duration = Duration::from_secs(30);

/// Over how many chunks a player averages (the default of dash.js).
pub(super) const AVERAGED_CHUNKS: u32 = 4;

/// How much of the throughput a rate may take (the default of dash.js).
pub(super) const THROUGHPUT_SHARE: f64 = 0.9;

/// The smallest packets of a group and of their acknowledgments, in bytes, and which they are. There is no
/// smallest one of exponential sizes: those below a hundredth of the mean carry half of a ten-thousandth of
/// the bytes.
pub(super) fn smallest_packet(g: &FlowGroup) -> (f64, &'static str) {
    if let Some(arrivals) = &g.arrivals {
        return (arrivals.smallest.get() as f64, "of a trace");
    }
    if g.kind != Kind::Udp {
        return match g.tcp.wire_bytes() {
            data if data < ACK_BYTES => (data.get() as f64, "data"),
            _ => (ACK_BYTES.get() as f64, "an acknowledgment"),
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

/// How many packets all flows of a group of UDP send each second at most, by the mean of their sizes.
pub(super) fn datagrams_per_second(g: &FlowGroup) -> f64 {
    let rates = g.rate.iter().chain(g.rate_changes.iter().map(|c| &c.rate));
    let fastest = rates.max().copied().unwrap_or_default();
    let size =
        |d: &Dist<Bytes>| distribution(d, &Path::default(), |b: Bytes| b.get() as f64).map(|d| d.mean());
    let mean = g.packet.as_ref().and_then(|d| size(d).ok()).unwrap_or(UDP_PACKET.get() as f64);
    f64::from(g.count.unwrap_or(1)) * fastest.bytes_per_sec() / mean.max(1.0)
}

/// What a flow of a group sends; `rng` is asked only if chance decides how many transfers it makes.
pub(super) fn traffic(g: &FlowGroup, at: &Path, rng: impl FnOnce() -> Rng) -> Result<Traffic, Problem> {
    match g.kind {
        Kind::Bulk => {
            let app = if g.rate.is_some() { App::Paced(pace(g, at)?) } else { App::Bulk };
            Ok(Traffic::Tcp { tcp: g.tcp.params.clone(), app })
        }
        Kind::Transfers | Kind::Sessions => {
            let (size, think) = (size(g, at)?, think(g, at)?);
            let default = if g.kind == Kind::Sessions { Some(1) } else { None };
            let count = g.transfers.as_ref().map(|n| count(n, &at.then("transfers"), rng)).transpose()?;
            let connection = g.connection.map_or(Connection::Fresh, Connection::from);
            let app = App::Transfers {
                size,
                think,
                count: count.or(default),
                connection,
                request: request(g, at)?,
            };
            Ok(Traffic::Tcp { tcp: g.tcp.params.clone(), app })
        }
        Kind::Pages => {
            let here = at.then("objects");
            let Some(objects) = &g.objects else { return Err(Problem::new(here, "is missing")) };
            let objects = distribution(objects, &here, |n: Count| n.0)?;
            let within = objects.mean() > 0.0 && (objects.mean() <= 1e6 || objects.mean().is_infinite());
            require(within, here, "must be positive, and a million at most")?;
            let connections = connections(g);
            require((1..=64).contains(&connections), at.then("connections"), "must be 1 to 64")?;
            let app = App::Pages(Pages {
                connections,
                objects,
                size: size(g, at)?,
                think: think(g, at)?,
                count: g.transfers.as_ref().map(|n| count(n, &at.then("transfers"), rng)).transpose()?,
                connection: g.connection.map_or(Connection::Persistent, Connection::from),
                request: request(g, at)?.unwrap_or(Distribution::Constant(REQUEST.get() as f64)),
            });
            Ok(Traffic::Tcp { tcp: g.tcp.params.clone(), app })
        }
        Kind::Video => {
            let app = App::Video(video(g, at, rng)?);
            Ok(Traffic::Tcp { tcp: g.tcp.params.clone(), app })
        }
        Kind::Udp => {
            let here = at.then("packet");
            let packet = match &g.packet {
                Some(packet) => distribution(packet, &here, |b: Bytes| b.get() as f64)?,
                None => Distribution::Constant(UDP_PACKET.get() as f64),
            };
            let mean = packet.mean();
            require((1.0..=1e6).contains(&mean), here, "must have a mean between 1 B and 1 MB")?;
            Ok(Traffic::Udp(UdpSpec { packet, pace: pace(g, at)?, ecn: g.ecn.unwrap_or(false) }))
        }
        Kind::Trace => match &g.arrivals {
            Some(arrivals) => Ok(Traffic::Trace(arrivals.trace.clone())),
            None => Err(Problem::new(at.then("file"), "is missing")),
        },
    }
}

/// Over how many connections each client of a group loads its pages; 1 for other kinds.
pub(super) fn connections(g: &FlowGroup) -> u32 {
    if g.kind == Kind::Pages { g.connections.unwrap_or(CONNECTIONS) } else { 1 }
}

/// The size of a transfer in packets.
fn size(g: &FlowGroup, at: &Path) -> Result<Distribution, Problem> {
    let packet = g.tcp.packet;
    let here = at.then("size");
    let Some(size) = &g.size else { return Err(Problem::new(here, "is missing")) };
    let size = distribution(size, &here, |q: QueueSize| q.in_packets(packet))?;
    require(size.mean() > 0.0, here.clone(), "must be positive")?;
    let huge = size.mean().is_finite() && size.mean() > 1e9;
    require(!huge, here, "is more than 1e9 packets: use kind \"bulk\" for unlimited data")?;
    Ok(size)
}

/// The time to think between transfers.
fn think(g: &FlowGroup, at: &Path) -> Result<Distribution, Problem> {
    match &g.think {
        Some(think) => distribution(think, &at.then("think"), seconds),
        None => Ok(Distribution::Constant(0.0)),
    }
}

/// What the players of a group do.
fn video(g: &FlowGroup, at: &Path, rng: impl FnOnce() -> Rng) -> Result<Video, Problem> {
    let chunk = g.chunk.unwrap_or(CHUNK);
    let start_up = g.start_up.unwrap_or(chunk);
    let buffer = g.playback_buffer.unwrap_or(PLAYBACK_BUFFER);
    let Some(rates) = &g.rates else { return Err(Problem::new(at.then("rates"), "is missing")) };
    let here = at.then("rates");
    require(!rates.is_empty(), here.clone(), "must list at least one rate")?;
    require(rates[0].bps() > 0, here.clone(), "must be above 0 bit/s")?;
    require(rates.windows(2).all(|w| w[0] < w[1]), here.clone(), "must increase from one rate to the next")?;
    require(!chunk.is_zero(), at.then("chunk"), "must be longer than 0 s")?;
    let fastest = rates[rates.len() - 1].bps() as f64;
    let packets = fastest * chunk.as_secs_f64() / 8.0 / g.tcp.packet.get() as f64;
    require(packets <= 1e9, here, "makes chunks of more than 1e9 packets")?;
    require(
        buffer >= start_up + chunk,
        at.then("playback_buffer"),
        format!("must hold what playback begins with (start_up, {start_up}) and a chunk more ({chunk})"),
    )?;
    let averaged = g.averaged_chunks.unwrap_or(AVERAGED_CHUNKS);
    require((1..=1000).contains(&averaged), at.then("averaged_chunks"), "must be 1 to 1000")?;
    let safety = g.throughput_share.unwrap_or(THROUGHPUT_SHARE);
    require(safety > 0.0 && safety <= 10.0, at.then("throughput_share"), "must be above 0 and at most 10")?;
    Ok(Video {
        chunk,
        rates: rates.clone(),
        buffer,
        start_up,
        chunks: g.transfers.as_ref().map(|n| count(n, &at.then("transfers"), rng)).transpose()?,
        averaged,
        safety,
        request: request(g, at)?.unwrap_or(Distribution::Constant(REQUEST.get() as f64)),
    })
}

/// How many transfers a flow makes.
fn count(n: &Dist<Count>, at: &Path, rng: impl FnOnce() -> Rng) -> Result<u32, Problem> {
    let drawn = distribution(n, at, |n: Count| n.0)?;
    let most = f64::from(u32::MAX);
    match n {
        OneOr::One(Count(n)) => {
            require(*n >= 1.0 && n.fract() == 0.0, at.clone(), "must be a whole number of at least 1")?;
        }
        OneOr::Spread(_) => {
            require(drawn.mean() >= 1.0, at.clone(), "must have a mean of at least 1")?;
        }
    }
    // A Pareto may have no mean.
    let bounded = drawn.mean() <= most || drawn.mean().is_infinite();
    require(bounded, at.clone(), format!("must be at most {most}: leave it out for no end"))?;
    Ok(match drawn {
        Distribution::Constant(n) => n,
        drawn => drawn.draw(&mut rng()).ceil().clamp(1.0, most),
    } as u32)
}

/// The packets by which the receivers of a group ask for transfers.
fn request(g: &FlowGroup, at: &Path) -> Result<Option<Distribution>, Problem> {
    let Some(request) = &g.request else { return Ok(None) };
    let here = at.then("request");
    let bytes = distribution(request, &here, |b: Bytes| b.get() as f64)?;
    let (least, most) = (ACK_BYTES, Bytes::new(65_535));
    let what = if matches!(request, OneOr::One(_)) { "be" } else { "have a mean" };
    let within = (least.get() as f64..=most.get() as f64).contains(&bytes.mean());
    require(within, here, format!("must {what} between {least} (a TCP header) and {most}"))?;
    Ok(Some(bytes))
}

/// When the sources of a group send by their own clock.
fn pace(g: &FlowGroup, at: &Path) -> Result<Pace, Problem> {
    let Some(rate) = g.rate else { return Err(Problem::new(at.then("rate"), "is missing")) };
    let changes: Vec<_> = g.rate_changes.iter().map(|c| (moment(c.at), c.rate)).collect();
    let on_off = g.on_off.as_ref().map(|o| {
        let at = at.then("on_off");
        let period = |d: &Dist<Duration>, field: &str| {
            let here = at.then(field);
            let d = distribution(d, &here, seconds)?;
            require(d.mean() > 0.0, here, "must be longer than 0 s")?;
            Ok::<_, Problem>(d)
        };
        Ok::<_, Problem>((period(&o.on, "on")?, period(&o.off, "off")?))
    });
    Ok(Pace {
        rate: Schedule::changing(rate, changes),
        gaps: g.gaps.map_or(Gaps::Constant, Gaps::from),
        on_off: on_off.transpose()?,
    })
}

fn seconds(d: Duration) -> f64 {
    d.as_secs_f64()
}
