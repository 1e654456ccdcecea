//! The simulator's applications as the hosts' kernels run them. Their laws are the simulator's.

use quell_aqm::Rng;
use quell_aqm::params::ParamValue;
use quell_gateway::traffic::{self, App, Draw, Kind, Transfer};
use quell_scenario::FlowFact;
use quell_sim::network::{self as sim, Connection, Distribution};
use quell_sim::source::{Clock, Transfers};
use quell_tcp::{CongestionControl, TcpParams};
use quell_units::{BitRate, Bytes, Duration, Time};

use crate::job::{Job, LiveError};

/// Headers of IPv4 and TCP.
const HEADERS: u64 = 40;
/// TCP's time stamps (RFC 7323).
const OPTIONS: u64 = 12;

/// Longer than any run.
const FOREVER: Duration = Duration::from_secs(1_000_000);

/// A flow's TCP as the kernel has it.
pub(crate) struct Tcp {
    congestion: &'static str,
    /// The size of a packet on the wire.
    pub packet: u64,
    /// The same in the simulator, without its header.
    simulated: u64,
    ecn: bool,
}

impl Tcp {
    /// The kernel's counterpart of `tcp`, or the reason why there is none.
    pub fn of(job: &Job<'_>, fact: &FlowFact, known: &[String], tcp: &TcpParams) -> Result<Self, LiveError> {
        let refuse = |congestion: &str, rule: String| {
            Err(job.refuse_flow(fact, "tcp.congestion", &format!("\"{congestion}\""), rule))
        };
        let congestion = match tcp.congestion {
            CongestionControl::Reno => "reno",
            CongestionControl::Cubic => "cubic",
            CongestionControl::Bbr1 => "bbr",
            CongestionControl::Dctcp => "dctcp",
            other => {
                let name = format!("{other:?}").to_lowercase();
                let rule = format!("Linux has no congestion control \"{name}\" (reno, cubic, bbr1, dctcp)");
                return refuse(&name, rule);
            }
        };
        if !known.iter().any(|k| k == congestion) {
            let rule = format!(
                "this kernel has no congestion control \"{congestion}\" ({}); modprobe tcp_{congestion} may add it",
                known.join(", ")
            );
            return refuse(congestion, rule);
        }
        if let Some(codepoint) = tcp.codepoint.filter(|c| tcp.ecn && *c != tcp.congestion.codepoint()) {
            let value = format!("\"{}\"", codepoint.show());
            let rule = format!("Linux sends {congestion} with its own codepoint; leave out codepoint");
            return Err(job.refuse_flow(fact, "tcp.codepoint", &value, &rule));
        }
        let packet = tcp.packet.get() + tcp.header.get();
        // The kernel's smallest segment is 88 bytes with options.
        if !(160..=9000).contains(&packet) {
            let value = format!("\"{}\"", tcp.packet);
            let rule = format!(
                "including the header, {} must be from 160 B to 9 kB, which hosts can send",
                Bytes::new(packet)
            );
            return Err(job.refuse_flow(fact, "tcp.packet", &value, rule));
        }
        Ok(Tcp { congestion, packet, simulated: tcp.packet.get(), ecn: tcp.ecn })
    }

    /// The bytes that a packet carries.
    pub fn payload(&self) -> u64 {
        self.packet - HEADERS - OPTIONS
    }
}

/// An application on TCP, and its beginning if that is to be at `start`.
pub(crate) fn tcp_app(
    job: &Job<'_>,
    fact: &FlowFact,
    tcp: &Tcp,
    app: sim::App,
    rng: Rng,
    mut start: Time,
) -> Result<(Kind, Time), LiveError> {
    let payload = tcp.payload();
    let app = match app {
        sim::App::Bulk => App::Bulk,
        sim::App::Paced(pace) => {
            // What is handed over is a packet without its header.
            let size = tcp.simulated as f64;
            let clock = Clock::new(&pace, rng);
            App::Paced(paced(clock, Distribution::Constant(size), &mut start, payload as f64 / size))
        }
        sim::App::Transfers { size, think, count, connection, request } => {
            let mut law = Transfers::new((size, think), request, count, rng);
            let draw = move || {
                let (packets, request) = law.next()?;
                Some(Transfer {
                    bytes: u64::from(packets) * payload,
                    // A request's size is that on the wire.
                    request: u64::from(request).saturating_sub(HEADERS + OPTIONS),
                    think: law.think().unwrap_or_default(),
                })
            };
            App::Transfers {
                draw: Box::new(draw),
                fresh: connection == Connection::Fresh,
                asked: request.is_some(),
            }
        }
        sim::App::Video(_)
        | sim::App::Pages(_)
        | sim::App::Responsiveness(_)
        | sim::App::Connection { .. } => {
            let kind = match app {
                sim::App::Video(_) => "\"video\"",
                sim::App::Responsiveness(_) => "\"responsiveness\"",
                _ => "\"pages\"",
            };
            let rule = "live hosts have no video player, browser or prober; use transfers with requests (kind = \
                        \"transfers\" or \"sessions\" with request)";
            return Err(job.refuse_flow(fact, "kind", kind, rule));
        }
    };
    let options = traffic::Tcp { congestion: tcp.congestion.into(), segment: (tcp.packet - HEADERS) as u16 };
    Ok((Kind::Tcp { tcp: options, ecn: tcp.ecn, app }, start))
}

/// A UDP source, and when it begins if it is to at `start`.
pub(crate) fn datagrams(udp: sim::UdpSpec, rng: Rng, mut start: Time) -> (Kind, Time) {
    let datagrams = paced(Clock::new(&udp.pace, rng), udp.packet, &mut start, 1.0);
    (Kind::Udp { datagrams, ecn: udp.ecn }, start)
}

/// Sizes, each times `share`, and gaps of a source that begins at `start`, or when it first sends after that.
fn paced(mut clock: Clock, size: Distribution, start: &mut Time, share: f64) -> Draw {
    let mut due = first(&mut clock, *start);
    *start = due.map_or(Time::MAX, |(at, _)| at);
    Box::new(move || {
        let Some((at, rate)) = due else { return (1, FOREVER) };
        let bytes = f64::from(clock.bytes(&size));
        let next = clock.after(at, rate, (bytes, size.mean()));
        due = first(&mut clock, next);
        let gap = due.map_or(FOREVER, |(next, _)| next.since(at));
        ((bytes * share).round().max(1.0) as u64, gap)
    })
}

/// The first time at or after `at` at which a source sends, and its rate then; `None` if it is silent for good.
fn first(clock: &mut Clock, mut at: Time) -> Option<(Time, BitRate)> {
    loop {
        match clock.rate(at) {
            Ok(rate) => return Some((at, rate)),
            Err(Time::MAX) => return None,
            Err(later) => at = later,
        }
    }
}
