//! What holds for a group of flows.

use quell_aqm::Seed;
use quell_units::Duration;

use super::limits;
use super::links::{Finest, access_rate, check_change, check_rate};
use super::traffic::traffic;
use crate::error::{Problem, in_tcp, require};
use crate::format::{FlowGroup, Kind, Scenario};
use crate::tree::Path;
use crate::values::{Access, OneOr, Rtt, RttSpread, When, WhenSpread};

/// A field that only some kinds of groups have: its name, whether a group has it, and those kinds.
type Owned = (&'static str, fn(&FlowGroup) -> bool, &'static [Kind]);

const OWNED: &[Owned] = {
    use Kind::{Bulk, Pages, Sessions, Trace, Transfers, Udp, Video};
    &[
        ("file", |g| g.file.is_some(), &[Trace]),
        ("sha256", |g| g.sha256.is_some(), &[Trace]),
        // A trace begins at its first link, nobody answers, and its packets say what they are.
        ("rtt", |g| g.rtt.is_some(), &[Bulk, Transfers, Sessions, Pages, Video, Udp]),
        ("rtt_changes", |g| !g.rtt_changes.is_empty(), &[Bulk, Transfers, Sessions, Pages, Video, Udp]),
        ("access_rate", |g| g.access_rate.is_some(), &[Bulk, Transfers, Sessions, Pages, Video, Udp]),
        ("receiver_rate", |g| g.receiver_rate.is_some(), &[Bulk, Transfers, Sessions, Pages, Video, Udp]),
        ("measure_delay", |g| g.measure_delay.is_some(), &[Bulk, Transfers, Sessions, Pages, Video, Udp]),
        ("precedence", |g| g.precedence.is_some(), &[Bulk, Transfers, Sessions, Pages, Video, Udp]),
        ("dscp", |g| g.dscp.is_some(), &[Bulk, Transfers, Sessions, Pages, Video, Udp]),
        ("hosts", |g| g.hosts.is_some(), &[Bulk, Transfers, Sessions, Pages, Video, Udp]),
        ("count", |g| g.count.is_some(), &[Bulk, Transfers, Pages, Video, Udp]),
        ("tcp", |g| !g.tcp.is_absent(), &[Bulk, Transfers, Sessions, Pages, Video]),
        ("size", |g| g.size.is_some(), &[Transfers, Sessions, Pages]),
        ("think", |g| g.think.is_some(), &[Transfers, Sessions, Pages]),
        ("transfers", |g| g.transfers.is_some(), &[Transfers, Sessions, Pages, Video]),
        ("request", |g| g.request.is_some(), &[Transfers, Sessions, Pages, Video]),
        ("connection", |g| g.connection.is_some(), &[Transfers, Sessions, Pages]),
        ("objects", |g| g.objects.is_some(), &[Pages]),
        ("connections", |g| g.connections.is_some(), &[Pages]),
        ("rates", |g| g.rates.is_some(), &[Video]),
        ("chunk", |g| g.chunk.is_some(), &[Video]),
        ("playback_buffer", |g| g.playback_buffer.is_some(), &[Video]),
        ("start_up", |g| g.start_up.is_some(), &[Video]),
        ("averaged_chunks", |g| g.averaged_chunks.is_some(), &[Video]),
        ("throughput_share", |g| g.throughput_share.is_some(), &[Video]),
        ("sessions_per_second", |g| g.sessions_per_second.is_some(), &[Sessions]),
        ("rate", |g| g.rate.is_some(), &[Bulk, Udp]),
        ("rate_changes", |g| !g.rate_changes.is_empty(), &[Bulk, Udp]),
        ("packet", |g| g.packet.is_some(), &[Udp]),
        ("gaps", |g| g.gaps.is_some(), &[Bulk, Udp]),
        ("on_off", |g| g.on_off.is_some(), &[Bulk, Udp]),
        ("ecn", |g| g.ecn.is_some(), &[Udp]),
    ]
};

/// A kind as scenarios write it.
fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Bulk => "bulk",
        Kind::Transfers => "transfers",
        Kind::Sessions => "sessions",
        Kind::Pages => "pages",
        Kind::Video => "video",
        Kind::Udp => "udp",
        Kind::Trace => "trace",
    }
}

/// Whether groups of a kind, as it is written, may have a key.
pub(crate) fn applies(key: &str, kind: &str) -> bool {
    OWNED.iter().all(|(field, _, kinds)| *field != key || kinds.iter().any(|k| word(*k) == kind))
}

/// What stands in a group and which kinds it belongs to.
fn check_kind(g: &FlowGroup, at: &Path) -> Result<(), Problem> {
    use Kind::{Bulk, Pages, Sessions, Trace, Transfers, Udp, Video};
    for (field, present, kinds) in OWNED {
        if present(g) && !kinds.contains(&g.kind) {
            let owners: Vec<_> = kinds.iter().map(|k| format!("\"{}\"", word(*k))).collect();
            let mut rule =
                format!("does not apply to kind \"{}\"; it belongs to {}", word(g.kind), owners.join(", "));
            if let ("ecn", Some(ecn), true) = (*field, g.ecn, g.kind.is_tcp()) {
                rule.push_str(&format!("; TCP's {}", in_tcp(field, &ecn.to_string())));
            }
            return Err(Problem::new(at.then(*field), rule));
        }
    }
    let needed = match g.kind {
        Bulk => &[][..],
        Transfers => &[("size", g.size.is_some())],
        Sessions => &[("size", g.size.is_some()), ("sessions_per_second", g.sessions_per_second.is_some())],
        Pages => &[("size", g.size.is_some()), ("objects", g.objects.is_some())],
        Video => &[("rates", g.rates.is_some())],
        Udp => &[("rate", g.rate.is_some())],
        Trace => &[("file", g.file.is_some())],
    };
    for (field, present, _) in OWNED {
        // Without a rate TCP sends what it can.
        let of_rate = ["rate_changes", "gaps", "on_off"].contains(field) && present(g);
        require(
            !of_rate || g.rate.is_some(),
            at.then(*field),
            "needs a rate: that of the source while it is on",
        )?;
    }
    for (field, present) in needed {
        require(*present, at.then(*field), format!("is missing: kind \"{}\" needs it", word(g.kind)))?;
    }
    Ok(())
}

pub(super) fn check_group(s: &Scenario, g: &FlowGroup, at: &Path) -> Result<(), Problem> {
    check_kind(g, at)?;
    require(g.count != Some(0), at.then("count"), "must be at least 1")?;
    let count = f64::from(g.count.unwrap_or(1));
    require(count <= limits::FLOWS, at.then("count"), too_many_flows(count))?;
    require(g.precedence.is_none_or(|p| p <= 7), at.then("precedence"), "must be at most 7")?;
    require(
        g.hosts.is_none_or(|n| (1..=1000).contains(&n)),
        at.then("hosts"),
        "must lie in [1, 1000]; leave it out for a host for each flow",
    )?;
    require(g.dscp.is_none_or(|d| d <= 63), at.then("dscp"), "must be at most 63 (RFC 2474 section 3)")?;
    require(
        g.dscp.is_none() || g.precedence.is_none(),
        at.then("dscp"),
        "cannot be combined with precedence, which is its upper three bits: give one of them",
    )?;
    if let Some(rate) = g.sessions_per_second {
        require(rate > 0.0 && rate.is_finite(), at.then("sessions_per_second"), "must be positive")?;
    }
    check_times(s, g, at)?;
    g.rtt.as_ref().map_or(Ok(()), |rtt| check_rtt(rtt, s, g, &at.then("rtt")))?;
    let mut before = None;
    for (i, change) in g.rtt_changes.iter().enumerate() {
        let here = at.then("rtt_changes").then(i);
        check_change(change.at, before, s.duration, here.then("at"))?;
        check_rtt(&change.rtt, s, g, &here.then("rtt"))?;
        before = Some(change.at);
    }
    require(g.rtt_changes.is_empty() || g.rtt.is_some(), at.then("rtt_changes"), "needs an rtt to change")?;
    for (field, access) in [("access_rate", g.access_rate), ("receiver_rate", g.receiver_rate)] {
        if let Some(Access::Rate(rate)) = access {
            Finest::of(s).check(rate, at.then(field))?;
        }
    }
    match g.kind {
        Kind::Udp | Kind::Trace => Ok(()),
        _ => check_tcp(g, &at.then("tcp")),
    }?;
    check_rates(s, g, at)?;
    // What chance decides is sound for every seed or for none.
    traffic(g, at, || Seed(1).stream("check")).map(|_| ())
}

fn check_rtt(rtt: &Rtt, s: &Scenario, g: &FlowGroup, at: &Path) -> Result<(), Problem> {
    let most = Duration::from_secs(2 * limits::DELAY_SECONDS);
    let (low, high) = match rtt {
        OneOr::One(d) => (*d, *d),
        OneOr::Spread(RttSpread::Uniform([low, high]) | RttSpread::Grid([low, high])) => (*low, *high),
        OneOr::Spread(RttSpread::Linear(l)) => (l.first, l.first + l.step * (most_flows(s, g) - 1)),
        OneOr::Spread(RttSpread::List(list)) => {
            require(!list.is_empty(), at.clone(), "must list at least one time")?;
            (Duration::ZERO, list.iter().copied().max().unwrap_or_default())
        }
    };
    require(low <= high, at.clone(), "must increase from the first value to the second")?;
    let which = if low < high { format!(", but reaches {high}") } else { String::new() };
    require(high <= most, at.clone(), format!("must be at most {most}{which}"))?;
    let rule = format!("must be shorter than duration ({}){which}: no reply would ever arrive", s.duration);
    require(high < s.duration, at.clone(), rule)
}

/// The shortest round-trip time that a group says to have; zero where the links alone decide.
pub(super) fn shortest_rtt(g: &FlowGroup) -> Duration {
    let least = |rtt: &Rtt| match rtt {
        OneOr::One(d) => *d,
        OneOr::Spread(RttSpread::Uniform([low, _]) | RttSpread::Grid([low, _])) => *low,
        OneOr::Spread(RttSpread::Linear(l)) => l.first,
        OneOr::Spread(RttSpread::List(list)) => list.iter().copied().min().unwrap_or_default(),
    };
    let all = g.rtt.iter().chain(g.rtt_changes.iter().map(|c| &c.rtt));
    all.map(least).min().unwrap_or_default()
}

/// How many flows a group has on a route; of sessions, how many are to be expected.
fn most_flows(s: &Scenario, g: &FlowGroup) -> u64 {
    let n = match (g.kind, g.sessions_per_second) {
        (Kind::Sessions, Some(rate)) => {
            let (from, to) = window(s, g);
            (rate * (to - from).as_secs_f64()).ceil() as u64
        }
        _ => u64::from(g.count.unwrap_or(1)),
    };
    n.max(1)
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

fn check_times(s: &Scenario, g: &FlowGroup, at: &Path) -> Result<(), Problem> {
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
    let n = u64::from(g.count.unwrap_or(1));
    let start = g.start.as_ref().map_or((Duration::ZERO, Duration::ZERO), |w| range(w, n));
    require(start.0 < s.duration, at.then("start"), format!("is not before the end ({})", s.duration))?;
    let Some(stop) = &g.stop else { return Ok(()) };
    let flow = |when: &When, i: u64| match when {
        OneOr::Spread(WhenSpread::Linear(l)) => l.first + l.step * i,
        OneOr::Spread(WhenSpread::List(list)) => list[i as usize % list.len()],
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

fn check_tcp(g: &FlowGroup, at: &Path) -> Result<(), Problem> {
    g.tcp.check().map_err(|e| Problem::new(at.then(e.field), e.rule).with_value(e.value))
}

fn check_rates(s: &Scenario, g: &FlowGroup, at: &Path) -> Result<(), Problem> {
    let rates = g.rate.map(|r| (r, at.then("rate"))).into_iter().chain(
        g.rate_changes
            .iter()
            .enumerate()
            .map(|(i, c)| (c.rate, at.then("rate_changes").then(i).then("rate"))),
    );
    let access = g.access_rate.unwrap_or(access_rate(s));
    for (rate, here) in rates {
        check_rate(rate, here.clone())?;
        // What TCP cannot send it does not take to the link.
        if let (Access::Rate(limit), Kind::Udp) = (access, g.kind) {
            let rule =
                format!("exceeds the access link's rate ({limit}), so its queue would grow without bound");
            require(rate <= limit, here, rule)?;
        }
    }
    let mut before = None;
    for (i, change) in g.rate_changes.iter().enumerate() {
        check_change(change.at, before, s.duration, at.then("rate_changes").then(i).then("at"))?;
        before = Some(change.at);
    }
    Ok(())
}

pub(super) fn too_many_flows(total: f64) -> String {
    format!("makes about {total} flows in all; at most {} are allowed", limits::FLOWS)
}

/// When sessions arrive.
pub(super) fn window(s: &Scenario, g: &FlowGroup) -> (Duration, Duration) {
    let one = |when: &Option<When>, default| match when {
        Some(OneOr::One(t)) => *t,
        _ => default,
    };
    (one(&g.start, Duration::ZERO), one(&g.stop, s.duration).min(s.duration))
}
