//! Groups of flows: what is written, checked, and what is meant.

use quell_aqm::Rng;
use quell_sim::network::{App, Distribution, Pages, Traffic, UdpSpec};
use quell_tcp::TcpParams;
use quell_units::{Duration, index};

use super::classes::Comer;
use super::links::check_change;
use super::packets::{Finest, check_rate};
use super::resolve::fill;
use super::traffic::Keys;
use crate::error::{Problem, in_tcp, require};
use crate::files::Loaded;
use crate::format::{FlowGroup, Kind, RttChange};
use crate::limits;
use crate::tree::{Node, Path};
use crate::values::{Access, OneOr, Rtt, RttSpread, When, WhenSpread};

/// Keys that only some kinds of groups have, and those kinds.
const OWNED: &[(&[&str], &[Kind])] = {
    use Kind::{Bulk, Pages, Responsiveness, Sessions, Trace, Transfers, Udp, Video};
    &[
        (&["file", "sha256"], &[Trace]),
        // A trace begins at its first link, nobody answers, and its packets say what they are.
        (
            &[
                "rtt",
                "rtt_changes",
                "access_rate",
                "receiver_rate",
                "measure_delay",
                "precedence",
                "dscp",
                "hosts",
            ],
            &[Bulk, Transfers, Sessions, Pages, Video, Responsiveness, Udp],
        ),
        (&["count"], &[Bulk, Transfers, Pages, Video, Responsiveness, Udp]),
        (&["tcp"], &[Bulk, Transfers, Sessions, Pages, Video, Responsiveness]),
        (&["size", "think"], &[Transfers, Sessions, Pages]),
        (&["transfers", "request"], &[Transfers, Sessions, Pages, Video]),
        (&["connection"], &[Transfers, Sessions, Pages]),
        (&["objects"], &[Pages]),
        (&["connections"], &[Pages, Responsiveness]),
        (
            &[
                "load",
                "initial_connections",
                "added_connections",
                "interval",
                "averaged_intervals",
                "tolerance",
                "probes_per_second",
                "probe_share",
                "unsent",
            ],
            &[Responsiveness],
        ),
        (&["rates", "chunk", "playback_buffer", "start_up", "averaged_chunks", "throughput_share"], &[Video]),
        (&["sessions_per_second"], &[Sessions]),
        (&["rate", "rate_changes"], &[Bulk, Udp]),
        (&["packet"], &[Udp]),
        (&["gaps", "on_off"], &[Bulk, Udp]),
        (&["ecn"], &[Udp]),
    ]
};

impl FlowGroup {
    /// True if groups of a kind, as it is written, may have a key.
    pub(crate) fn applies(key: &str, kind: &str) -> bool {
        OWNED.iter().all(|(keys, kinds)| !keys.contains(&key) || kinds.iter().any(|k| k.name() == kind))
    }
}

/// Refuses keys that belong to groups of other kinds.
fn check_kind(g: &FlowGroup, at: &Path) -> Result<(), Problem> {
    let written = Node::of(g)?;
    let others = OWNED.iter().filter(|(_, kinds)| !kinds.contains(&g.kind));
    let wrong = others.flat_map(|(keys, kinds)| keys.iter().map(move |key| (*key, kinds)));
    if let Some((key, kinds)) = wrong.into_iter().find(|(key, _)| written.get(key).is_some()) {
        let owners: Vec<_> = kinds.iter().map(|k| format!("\"{}\"", k.name())).collect();
        let (kind, owners) = (g.kind.name(), owners.join(", "));
        let mut rule = format!("does not apply to kind \"{kind}\"; it belongs to {owners}");
        if let ("ecn", Some(ecn), true) = (key, g.ecn, g.kind.is_tcp()) {
            rule.push_str(&format!("; TCP's {}", in_tcp(key, &ecn.to_string())));
        }
        return Err(Problem::new(at.then(key), rule));
    }
    // Without a rate TCP sends what it can.
    let of_rate = ["rate_changes", "gaps", "on_off"].into_iter().find(|key| written.get(key).is_some());
    match of_rate.filter(|_| g.rate.is_none()) {
        Some(key) => Err(Problem::new(at.then(key), "needs a rate: that of the source while it is on")),
        None => Ok(()),
    }
}

/// A group of flows as it is meant: checked, and with every default in its place.
#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub name: String,
    pub class: String,
    pub population: Population,
    pub start: When,
    pub stop: Option<When>,
    pub rtt: Option<Rtt>,
    pub rtt_changes: Vec<RttChange>,
    /// The access links of its sources and its receivers.
    pub access: Access,
    pub receiver: Access,
    traffic: Traffic,
    /// The number of a flow's transfers, if chance decides.
    transfers: Option<Distribution>,
    pub dscp: u8,
    pub hosts: Option<u16>,
    pub timed: bool,
}

/// The flows of a group on a route.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Population {
    /// So many.
    Fixed(u32),
    /// Those that arrive as a Poisson process.
    Sessions { per_second: f64, from: Duration, to: Duration },
}

impl Group {
    /// The traffic of a flow; `rng` is asked only if chance decides how many transfers it makes.
    pub fn traffic(&self, rng: impl FnOnce() -> Rng) -> Traffic {
        let mut traffic = self.traffic.clone();
        if let (Traffic::Tcp { app, .. }, Some(transfers)) = (&mut traffic, &self.transfers) {
            let n = transfers.draw(&mut rng()).ceil().clamp(1.0, f64::from(u32::MAX)) as u32;
            match app {
                App::Transfers { count, .. } | App::Pages(Pages { count, .. }) => *count = Some(n),
                App::Video(video) => video.chunks = Some(n),
                App::Bulk | App::Paced(_) | App::Responsiveness(_) | App::Connection { .. } => {}
            }
        }
        traffic
    }

    /// The parameters of TCP; `None` if it does not speak it.
    pub fn tcp(&self) -> Option<&TcpParams> {
        match &self.traffic {
            Traffic::Tcp { tcp, .. } => Some(tcp),
            Traffic::Udp(_) | Traffic::Trace(_) => None,
        }
    }

    /// The flows that each client is: the connections over which it loads its pages or makes its test; 1 for other
    /// kinds.
    pub fn connections(&self) -> u32 {
        match &self.traffic {
            Traffic::Tcp { app, .. } => app.flows(),
            Traffic::Udp(_) | Traffic::Trace(_) => 1,
        }
    }

    /// True if its flows always have something to send.
    pub fn is_bulk(&self) -> bool {
        matches!(self.traffic, Traffic::Tcp { app: App::Bulk, .. })
    }

    /// As one that comes to links over so many routes.
    pub(super) fn comer(&self, group: u16, routes: usize) -> Comer {
        let flows = match self.population {
            Population::Fixed(n) => n.saturating_mul(routes as u32),
            // As many as come.
            Population::Sessions { .. } => u32::MAX,
        };
        let hosts = self.hosts.map_or(flows, |hosts| flows.min(u32::from(hosts)));
        let dscp = if matches!(self.traffic, Traffic::Trace(_)) { None } else { Some(self.dscp) };
        Comer { group, hosts, dscp }
    }

    /// The number of its flows on a route, each connection being one; of sessions, the number to be expected.
    pub fn flows(&self) -> f64 {
        match self.population {
            Population::Fixed(n) => f64::from(n) * f64::from(self.connections()),
            Population::Sessions { per_second, from, to } => per_second * (to - from).as_secs_f64(),
        }
    }

    /// The number of packets that its flows on a route send in a time, whatever links carry; zero for TCP.
    pub fn offered(&self, seconds: f64) -> f64 {
        match &self.traffic {
            Traffic::Tcp { .. } => 0.0,
            Traffic::Udp(UdpSpec { packet, pace, .. }) => {
                let fastest = pace.rate.values().max().unwrap_or_default();
                self.flows() * fastest.bytes_per_sec() / packet.mean().max(1.0) * seconds
            }
            Traffic::Trace(trace) => trace.arrivals().len() as f64,
        }
    }

    /// The shortest round-trip time that it says to have; zero where the links alone decide.
    pub fn shortest_rtt(&self) -> Duration {
        let least = |rtt: &Rtt| match rtt {
            OneOr::One(d) => *d,
            OneOr::Spread(RttSpread::Uniform([low, _]) | RttSpread::Grid([low, _])) => *low,
            OneOr::Spread(RttSpread::Linear(l)) => l.first,
            OneOr::Spread(RttSpread::List(list)) => list.iter().copied().min().unwrap_or_default(),
        };
        let all = self.rtt.iter().chain(self.rtt_changes.iter().map(|c| &c.rtt));
        all.map(least).min().unwrap_or_default()
    }
}

impl FlowGroup {
    /// The group that is meant, which is written at `at`; `access` is the default of its access links.
    pub(super) fn typed(&self, s: Loaded<'_>, access: Access, at: &Path) -> Result<Group, Problem> {
        check_kind(self, at)?;
        let mut filled = self.clone();
        fill(&mut filled, access);
        let keys = Keys { group: &filled, at };
        let g = &filled;
        require(g.count != Some(0), at.then("count"), "must be at least 1")?;
        let count = g.count.unwrap_or(1);
        require(f64::from(count) <= limits::FLOWS, at.then("count"), too_many_flows(f64::from(count)))?;
        require(g.precedence.is_none_or(|p| p <= 7), at.then("precedence"), "must be at most 7")?;
        require(
            g.hosts.is_none_or(|n| (1..=1000).contains(&n)),
            at.then("hosts"),
            "must be from 1 to 1000; leave it out for one host per flow",
        )?;
        require(g.dscp.is_none_or(|d| d <= 63), at.then("dscp"), "must be at most 63 (RFC 2474 section 3)")?;
        require(
            g.dscp.is_none() || g.precedence.is_none(),
            at.then("dscp"),
            "cannot be combined with precedence, which is its upper three bits: give one of them",
        )?;
        let population = match g.kind {
            Kind::Sessions => {
                let per_second = keys.need("sessions_per_second", &g.sessions_per_second)?;
                let sound = per_second > 0.0 && per_second.is_finite();
                require(sound, at.then("sessions_per_second"), "must be positive")?;
                let one = |when: &Option<When>, default| match when {
                    Some(OneOr::One(t)) => *t,
                    _ => default,
                };
                let to = one(&g.stop, s.duration).min(s.duration);
                Population::Sessions { per_second, from: one(&g.start, Duration::ZERO), to }
            }
            _ => Population::Fixed(count),
        };
        check_times(s.duration, g, count, at)?;
        // The last flow of sessions is the last that is to be expected.
        let n = match population {
            Population::Fixed(n) => u64::from(n),
            Population::Sessions { per_second, from, to } => {
                (per_second * (to - from).as_secs_f64()).ceil() as u64
            }
        };
        let check_rtt = |rtt: &Rtt, at: Path| check_rtt(rtt, s.duration, n.max(1), &at);
        g.rtt.as_ref().map_or(Ok(()), |rtt| check_rtt(rtt, at.then("rtt")))?;
        let mut before = None;
        for (i, change) in g.rtt_changes.iter().enumerate() {
            let here = at.then("rtt_changes").then(i);
            check_change(change.at, before, s.duration, here.then("at"))?;
            check_rtt(&change.rtt, here.then("rtt"))?;
            before = Some(change.at);
        }
        let steady = g.rtt_changes.is_empty() || g.rtt.is_some();
        require(steady, at.then("rtt_changes"), "needs an rtt to change")?;
        for (field, access) in [("access_rate", self.access_rate), ("receiver_rate", self.receiver_rate)] {
            if let Some(Access::Rate(rate)) = access {
                Finest::of(s).check_lasting(rate, at.then(field))?;
            }
        }
        if let Some(tcp) = &g.tcp {
            let here = at.then("tcp");
            tcp.check().map_err(|e| Problem::new(here.then(e.field), e.rule).with_value(e.value))?;
        }
        check_rates(s.duration, g, at)?;
        let (traffic, transfers) = keys.traffic(s.contents.arrivals(g).map(|file| &**file))?;
        Ok(Group {
            name: g.name.clone(),
            class: g.class().to_string(),
            population,
            start: keys.need("start", &g.start)?,
            stop: g.stop.clone(),
            rtt: g.rtt.clone(),
            rtt_changes: g.rtt_changes.clone(),
            access: g.access_rate.unwrap_or(Access::None),
            receiver: g.receiver_rate.unwrap_or(Access::None),
            traffic,
            transfers,
            dscp: g.dscp.unwrap_or(g.precedence.unwrap_or(0) << 3),
            hosts: g.hosts,
            timed: g.measure_delay == Some(true),
        })
    }
}

fn check_rtt(rtt: &Rtt, end: Duration, flows: u64, at: &Path) -> Result<(), Problem> {
    let most = Duration::from_secs(2 * limits::DELAY_SECONDS);
    let (low, high) = match rtt {
        OneOr::One(d) => (*d, *d),
        OneOr::Spread(RttSpread::Uniform([low, high]) | RttSpread::Grid([low, high])) => (*low, *high),
        OneOr::Spread(RttSpread::Linear(l)) => (l.first, l.first + l.step * (flows - 1)),
        OneOr::Spread(RttSpread::List(list)) => {
            require(!list.is_empty(), at.clone(), "must list at least one time")?;
            (Duration::ZERO, list.iter().copied().max().unwrap_or_default())
        }
    };
    require(low <= high, at.clone(), "must increase from the first value to the second")?;
    let which = if low < high { format!(", but reaches {high}") } else { String::new() };
    require(high <= most, at.clone(), format!("must be at most {most}{which}"))?;
    let rule = format!("must be shorter than duration ({end}){which}: otherwise no reply would ever arrive");
    require(high < end, at.clone(), rule)
}

/// The earliest and the latest time that a start or stop may take, of `n` flows.
fn range(when: &When, n: u64) -> (Duration, Duration) {
    match when {
        OneOr::One(t) => (*t, *t),
        OneOr::Spread(WhenSpread::Between([a, b])) => (*a, *b),
        OneOr::Spread(WhenSpread::Linear(l)) => (l.first, l.first + l.step * n.saturating_sub(1)),
        OneOr::Spread(WhenSpread::List(list)) => {
            let pick = |d: Option<&Duration>| d.copied().unwrap_or_default();
            (pick(list.iter().min()), pick(list.iter().max()))
        }
    }
}

fn check_times(end: Duration, g: &FlowGroup, count: u32, at: &Path) -> Result<(), Problem> {
    for (field, when) in [("start", &g.start), ("stop", &g.stop)] {
        match when {
            Some(OneOr::Spread(_)) if g.kind == Kind::Sessions => {
                return Err(Problem::new(
                    at.then(field),
                    "must be a single time: sessions already arrive at random",
                ));
            }
            Some(OneOr::Spread(WhenSpread::Between([a, b]))) => {
                require(a <= b, at.then(field), "must increase from the first time to the second")?;
            }
            Some(OneOr::Spread(WhenSpread::List(list))) => {
                require(!list.is_empty(), at.then(field), "must list at least one time")?;
            }
            _ => {}
        }
    }
    let n = u64::from(count);
    let start = g.start.as_ref().map_or((Duration::ZERO, Duration::ZERO), |w| range(w, n));
    require(start.0 < end, at.then("start"), format!("must be before the end ({end})"))?;
    let Some(stop) = &g.stop else { return Ok(()) };
    let flow = |when: &When, i: u64| match when {
        OneOr::Spread(WhenSpread::Linear(l)) => l.first + l.step * i,
        OneOr::Spread(WhenSpread::List(list)) => list[index(i) % list.len()],
        _ => Duration::ZERO,
    };
    let orderly = match (&g.start, stop) {
        // Both differ from flow to flow in a known way: compare flow by flow.
        (
            Some(a @ OneOr::Spread(WhenSpread::Linear(_) | WhenSpread::List(_))),
            b @ OneOr::Spread(WhenSpread::Linear(_) | WhenSpread::List(_)),
        ) => (0..n).all(|i| flow(a, i) < flow(b, i)),
        // Windows may touch: chance does not draw the same instant for both.
        (Some(OneOr::Spread(WhenSpread::Between(_))), OneOr::Spread(WhenSpread::Between(_))) => {
            start.1 <= range(stop, n).0
        }
        _ => start.1 < range(stop, n).0,
    };
    require(orderly, at.then("stop"), "must be later than start, for every flow and draw")
}

fn check_rates(end: Duration, g: &FlowGroup, at: &Path) -> Result<(), Problem> {
    let rates = g.rate.map(|r| (r, at.then("rate"))).into_iter().chain(
        g.rate_changes
            .iter()
            .enumerate()
            .map(|(i, c)| (c.rate, at.then("rate_changes").then(i).then("rate"))),
    );
    for (rate, here) in rates {
        check_rate(rate, here.clone())?;
        // What TCP cannot send it does not take to the link.
        if let (Some(Access::Rate(limit)), Kind::Udp) = (g.access_rate, g.kind) {
            let rule =
                format!("exceeds the access link's rate ({limit}), so its queue would grow without bound");
            require(rate <= limit, here, rule)?;
        }
    }
    let mut before = None;
    for (i, change) in g.rate_changes.iter().enumerate() {
        check_change(change.at, before, end, at.then("rate_changes").then(i).then("at"))?;
        before = Some(change.at);
    }
    Ok(())
}

pub(super) fn too_many_flows(total: f64) -> String {
    format!("makes about {total} flows in all; at most {} are allowed", limits::FLOWS)
}
