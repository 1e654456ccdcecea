//! The traffic of a group, from what is written to what the simulator takes.

use quell_sim::network::{
    ACK_BYTES, App, Distribution, Pace, Pages, Responsiveness, Schedule, Traffic, UdpSpec, Video,
};
use quell_units::{Bytes, Duration, QueueSize};

use super::measure::at as moment;
use crate::error::{Problem, require};
use crate::files::ArrivalsFile;
use crate::format::{FlowGroup, Kind, Load};
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

/// The keys of a group with their defaults, and where the group stands.
pub(super) struct Keys<'a> {
    pub(super) group: &'a FlowGroup,
    pub(super) at: &'a Path,
}

/// An application of TCP, and its number of transfers, if chance decides.
type Drawn = (App, Option<Distribution>);

impl Keys<'_> {
    /// The value of a key that must be there.
    pub(super) fn need<T: Clone>(&self, key: &str, value: &Option<T>) -> Result<T, Problem> {
        let rule = || format!("is missing: kind \"{}\" needs it", self.group.kind.name());
        value.clone().ok_or_else(|| Problem::new(self.at.then(key), rule()))
    }

    /// The traffic of a flow, and its number of transfers, if chance decides; `file` holds the arrivals of a trace.
    pub(super) fn traffic(
        &self,
        file: Option<&ArrivalsFile>,
    ) -> Result<(Traffic, Option<Distribution>), Problem> {
        let (app, drawn) = match self.group.kind {
            Kind::Bulk if self.group.rate.is_none() => (App::Bulk, None),
            Kind::Bulk => (App::Paced(self.pace()?), None),
            Kind::Transfers | Kind::Sessions => self.transfers()?,
            Kind::Pages => self.pages()?,
            Kind::Video => self.video()?,
            Kind::Responsiveness => (App::Responsiveness(self.responsiveness()?), None),
            Kind::Udp => return Ok((Traffic::Udp(self.udp()?), None)),
            Kind::Trace => {
                let trace = file.map(|file| file.trace.clone());
                return Ok((Traffic::Trace(self.need("file", &trace)?), None));
            }
        };
        Ok((Traffic::Tcp { tcp: self.need("tcp", &self.group.tcp)?, app }, drawn))
    }

    fn transfers(&self) -> Result<Drawn, Problem> {
        let (size, think) = (self.size()?, self.think()?);
        let (count, drawn) = self.count()?;
        let connection = self.need("connection", &self.group.connection)?.into();
        Ok((App::Transfers { size, think, count, connection, request: self.request()? }, drawn))
    }

    fn pages(&self) -> Result<Drawn, Problem> {
        let here = self.at.then("objects");
        let objects = distribution(&self.need("objects", &self.group.objects)?, &here, |n: Count| n.0)?;
        let within = objects.mean() > 0.0 && (objects.mean() <= 1e6 || objects.mean().is_infinite());
        require(within, here, "must be positive and at most a million")?;
        let connections = self.need("connections", &self.group.connections)?;
        require((1..=64).contains(&connections), self.at.then("connections"), "must be 1 to 64")?;
        let (size, think) = (self.size()?, self.think()?);
        let (count, drawn) = self.count()?;
        let connection = self.need("connection", &self.group.connection)?.into();
        let request = self.need("request", &self.request()?)?;
        Ok((App::Pages(Pages { connections, objects, size, think, count, connection, request }), drawn))
    }

    fn responsiveness(&self) -> Result<Responsiveness, Problem> {
        let (at, g) = (self.at, self.group);
        let most = self.need("connections", &g.connections)?;
        require(most <= 64, at.then("connections"), "must be 0 to 64")?;
        let initial = self.need("initial_connections", &g.initial_connections)?;
        let within = initial <= most && (initial > 0 || most == 0);
        let rule = format!("must be at least 1 and at most connections ({most})");
        require(within, at.then("initial_connections"), rule)?;
        let interval = self.need("interval", &g.interval)?;
        let least = Duration::from_millis(1);
        require(interval >= least, at.then("interval"), format!("must be at least {least}"))?;
        let averaged = self.need("averaged_intervals", &g.averaged_intervals)?;
        require((1..=1000).contains(&averaged), at.then("averaged_intervals"), "must be 1 to 1000")?;
        let positive = |key: &str, value: &Option<f64>, most: f64| {
            let x = self.need(key, value)?;
            let rule = format!("must be above 0 and at most {most}");
            require(x > 0.0 && x <= most, at.then(key), rule)?;
            Ok::<_, Problem>(x)
        };
        let packet = self.need("tcp", &g.tcp)?.packet;
        let unsent = self.need("unsent", &g.unsent)?.in_packets(packet).ceil();
        require(unsent <= 1e6, at.then("unsent"), "must be at most a million packets")?;
        Ok(Responsiveness {
            upload: self.need("load", &g.load)? == Load::Upload,
            initial,
            added: self.need("added_connections", &g.added_connections)?,
            most,
            interval,
            averaged,
            tolerance: positive("tolerance", &g.tolerance, 1.0)?,
            probes_per_second: positive("probes_per_second", &g.probes_per_second, 10_000.0)?,
            share: positive("probe_share", &g.probe_share, 1.0)?,
            unsent: unsent as u32,
        })
    }

    fn video(&self) -> Result<Drawn, Problem> {
        let (at, g) = (self.at, self.group);
        let (chunk, start_up) = (self.need("chunk", &g.chunk)?, self.need("start_up", &g.start_up)?);
        let buffer = self.need("playback_buffer", &g.playback_buffer)?;
        let rates = self.need("rates", &g.rates)?;
        let here = at.then("rates");
        require(!rates.is_empty(), here.clone(), "must list at least one rate")?;
        require(rates[0].bps() > 0, here.clone(), "must be above 0 bit/s")?;
        let rising = rates.windows(2).all(|w| w[0] < w[1]);
        require(rising, here.clone(), "must increase from one rate to the next")?;
        require(!chunk.is_zero(), at.then("chunk"), "must be longer than 0 s")?;
        let fastest = rates[rates.len() - 1].bps() as f64;
        let packet = self.need("tcp", &g.tcp)?.packet;
        let packets = fastest * chunk.as_secs_f64() / 8.0 / packet.get() as f64;
        require(packets <= 1e9, here, "makes chunks of more than 1e9 packets")?;
        require(
            buffer >= start_up + chunk,
            at.then("playback_buffer"),
            format!("must hold what playback starts with (start_up, {start_up}) plus one chunk ({chunk})"),
        )?;
        let averaged = self.need("averaged_chunks", &g.averaged_chunks)?;
        require((1..=1000).contains(&averaged), at.then("averaged_chunks"), "must be 1 to 1000")?;
        let safety = self.need("throughput_share", &g.throughput_share)?;
        let within = safety > 0.0 && safety <= 10.0;
        require(within, at.then("throughput_share"), "must be above 0 and at most 10")?;
        let (chunks, drawn) = self.count()?;
        let request = self.need("request", &self.request()?)?;
        Ok((App::Video(Video { chunk, rates, buffer, start_up, chunks, averaged, safety, request }), drawn))
    }

    fn udp(&self) -> Result<UdpSpec, Problem> {
        let here = self.at.then("packet");
        let packet = distribution(&self.need("packet", &self.group.packet)?, &here, bytes)?;
        require((1.0..=1e6).contains(&packet.mean()), here, "must have a mean between 1 B and 1 MB")?;
        Ok(UdpSpec { packet, pace: self.pace()?, ecn: self.need("ecn", &self.group.ecn)? })
    }

    /// The size of a transfer in packets.
    fn size(&self) -> Result<Distribution, Problem> {
        let packet = self.need("tcp", &self.group.tcp)?.packet;
        let here = self.at.then("size");
        let size = self.need("size", &self.group.size)?;
        let size = distribution(&size, &here, |q: QueueSize| q.in_packets(packet))?;
        require(size.mean() > 0.0, here.clone(), "must be positive")?;
        let huge = size.mean().is_finite() && size.mean() > 1e9;
        require(!huge, here, "is more than 1e9 packets: use kind \"bulk\" for unlimited data")?;
        Ok(size)
    }

    /// The time to think between transfers.
    fn think(&self) -> Result<Distribution, Problem> {
        distribution(&self.need("think", &self.group.think)?, &self.at.then("think"), seconds)
    }

    /// The number of a flow's transfers (`None`: without end), or its distribution, if chance decides.
    fn count(&self) -> Result<(Option<u32>, Option<Distribution>), Problem> {
        let Some(n) = &self.group.transfers else { return Ok((None, None)) };
        let here = self.at.then("transfers");
        let count = distribution(n, &here, |n: Count| n.0)?;
        match n {
            OneOr::One(Count(n)) => {
                require(*n >= 1.0 && n.fract() == 0.0, here.clone(), "must be a whole number of at least 1")?;
            }
            OneOr::Spread(_) => {
                require(count.mean() >= 1.0, here.clone(), "must have a mean of at least 1")?;
            }
        }
        // A Pareto may have no mean.
        let most = f64::from(u32::MAX);
        let bounded = count.mean() <= most || count.mean().is_infinite();
        require(bounded, here, format!("must be at most {most}; leave it out for no limit"))?;
        Ok(match count {
            Distribution::Constant(n) => (Some(n as u32), None),
            drawn => (None, Some(drawn)),
        })
    }

    /// The size of the packet by which the receiver asks for a transfer.
    fn request(&self) -> Result<Option<Distribution>, Problem> {
        let Some(request) = &self.group.request else { return Ok(None) };
        let here = self.at.then("request");
        let size = distribution(request, &here, bytes)?;
        let (least, most) = (ACK_BYTES, Bytes::new(65_535));
        let what = if matches!(request, OneOr::One(_)) { "be" } else { "have a mean" };
        let within = (bytes(least)..=bytes(most)).contains(&size.mean());
        require(within, here, format!("must {what} between {least} (a TCP header) and {most}"))?;
        Ok(Some(size))
    }

    /// The clock of a source that sends by its own.
    fn pace(&self) -> Result<Pace, Problem> {
        let changes: Vec<_> = self.group.rate_changes.iter().map(|c| (moment(c.at), c.rate)).collect();
        let rate = Schedule::changing(self.need("rate", &self.group.rate)?, changes);
        let on_off = self.group.on_off.as_ref().map(|o| {
            let at = self.at.then("on_off");
            let period = |d: &Dist<Duration>, field: &str| {
                let here = at.then(field);
                let d = distribution(d, &here, seconds)?;
                require(d.mean() > 0.0, here, "must be longer than 0 s")?;
                Ok::<_, Problem>(d)
            };
            Ok::<_, Problem>((period(&o.on, "on")?, period(&o.off, "off")?))
        });
        let gaps = self.need("gaps", &self.group.gaps)?.into();
        Ok(Pace { rate, gaps, on_off: on_off.transpose()? })
    }
}

fn seconds(d: Duration) -> f64 {
    d.as_secs_f64()
}

fn bytes(b: Bytes) -> f64 {
    b.get() as f64
}
