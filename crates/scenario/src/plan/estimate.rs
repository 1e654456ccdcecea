//! Estimates of what a scenario amounts to, before it runs.

use quell_units::{BitRate, Bytes};

use super::links::rate_over_time;
use super::measure::{classes, measure};
use super::observed_links;
use super::packets::access_rate;
use crate::files::Loaded;
use crate::format::{AqmChoice, FlowGroup, GraphLink, Kind, LinkFields};
use crate::values::{Access, OneOr};

/// Packets that one run handles, roughly: those that links with a queue carry if they are always busy in one
/// direction, or those that UDP and traces offer if these are more; of traces alone, theirs.
pub(crate) fn estimated_packets(s: Loaded<'_>) -> f64 {
    let tcp = s.flows.iter().find(|g| g.kind.is_tcp()).map(FlowGroup::wire_bytes);
    // Scenarios without TCP: the default size of its packets.
    let size = s.mean_packet.or(tcp).unwrap_or(Bytes::new(1000)).get() as f64 * 8.0;
    let bits_per_second = carried(s);
    let seconds = s.duration.as_secs_f64();
    // What UDP sends it sends whatever the links can carry; those that go on and off count as on.
    let offered = |g: &FlowGroup| {
        let size = match &g.packet {
            Some(OneOr::One(bytes)) => bytes.get() as f64 * 8.0,
            _ => size,
        };
        g.rate.map_or(0.0, |r| r.bps() as f64) * f64::from(g.count.unwrap_or(1)) * seconds / size
    };
    let udp: f64 = s.flows.iter().filter(|g| g.kind == Kind::Udp).map(offered).sum();
    let arrivals = s.flows.iter().filter_map(|g| s.contents.arrivals(g));
    let recorded: f64 = arrivals.map(|file| file.trace.arrivals().len() as f64).sum();
    if s.flows.iter().all(|g| g.kind == Kind::Trace) {
        return recorded;
    }
    (udp + recorded).max(bits_per_second * seconds / size)
}

/// The bits that links with a queue carry in a second, if they are always busy in one direction. Of a graph, it is the
/// faster one, and a link is at most as busy as what leads on from a node at which no flow ends.
fn carried(s: Loaded<'_>) -> f64 {
    let most = |link: &LinkFields<'_>| rate_over_time(link, s.contents).mean(s.duration);
    // Only if all algorithms of a link have one.
    let limit = |all: &[&AqmChoice]| {
        let rates: Option<Vec<f64>> = all.iter().map(|aqm| bandwidth(aqm)).collect();
        rates
            .filter(|rates| !rates.is_empty())
            .map_or(f64::INFINITY, |rates| rates.into_iter().fold(0.0, f64::max))
    };
    let compared: Vec<&AqmChoice> = s.aqm.iter().collect();
    let Some(graph) = &s.graph else {
        let row = s.parking_lot.as_ref().map_or(1.0, |p| f64::from(p.bottlenecks));
        let links = s.links().filter(|(_, link)| link.buffer.is_some());
        return row * links.map(|(_, link)| most(&link).min(limit(&compared))).sum::<f64>();
    };
    let own = |link: &GraphLink| {
        let fields = link.link();
        let there = most(&fields).min(link.aqm.as_ref().map_or(limit(&compared), |own| limit(&[own])));
        let rate = link.reverse.rate.unwrap_or(link.rate);
        let shaped = link.reverse.shaper.map_or(rate, |shaper| shaper.rate.min(rate));
        // What changes back is not followed: the highest it is by itself.
        if link.reverse.changes.is_some() {
            there.max(rate.bps() as f64)
        } else {
            there.max(shaped.bps() as f64)
        }
    };
    let is_end =
        |node: &String| s.flows.iter().any(|g| g.from.as_ref() == Some(node) || g.to.as_ref() == Some(node));
    let beyond = |node: &String, i: usize| {
        let others = graph.links.iter().enumerate().filter(|(j, _)| *j != i);
        let at_node = others.filter(|(_, link)| link.from == *node || link.to == *node);
        if is_end(node) { f64::INFINITY } else { at_node.map(|(_, link)| own(link)).sum() }
    };
    let queued = graph.links.iter().enumerate().filter(|(_, link)| link.buffer.is_some());
    queued.map(|(i, link)| own(link).min(beyond(&link.from, i)).min(beyond(&link.to, i))).sum()
}

/// The rate to which the shaper of an algorithm keeps its link (tc-cake(8)), unless it follows the arrivals.
fn bandwidth(aqm: &AqmChoice) -> Option<f64> {
    let follows = aqm.parameters.get("autorate_ingress").and_then(toml::Value::as_bool) == Some(true);
    let given = aqm.parameters.get("bandwidth").filter(|_| !follows)?;
    Some(given.as_str()?.parse::<BitRate>().ok()?.bps() as f64)
}

/// Bytes of a flow of TCP, with its rows of figures; of a histogram of delays; of a sample of a time series.
const FLOW: f64 = 2_000.0;
const HISTOGRAM: f64 = 130_000.0;
const SAMPLE: f64 = 250.0;
/// Bytes of a packet that waits or is under way, and of a packet of a trace.
const PACKET: f64 = 64.0;
const ARRIVAL: f64 = 48.0;
/// Bytes of a finished transfer, and the packets of a usual one.
const TRANSFER: f64 = 400.0;
const OF_TRANSFER: f64 = 10.0;
/// The bytes that any run needs.
const ANY: f64 = 4e6;

/// Memory that one run needs at most, roughly, in bytes: rather more than less.
pub(crate) fn estimated_memory(s: Loaded<'_>) -> f64 {
    let measure = measure(&s);
    let links = observed_links(s).len() as f64;
    let scopes = classes(&s).len() as f64 + 2.0;
    let segments = measure.boundaries.len() as f64 + 1.0;
    let samples = measure.step.map_or(0.0, |step| measure.end.as_secs_f64() / step.as_secs_f64());
    let count = |g: &FlowGroup| f64::from(g.count.unwrap_or(1));
    let flows: f64 = s.flows.iter().map(count).sum();
    let packets = estimated_packets(s);
    // Packets that wait: no more than buffers have room for, and no more than there are.
    let room = s.links().filter_map(|(_, link)| link.buffer).map(|b| b.in_packets(Bytes::new(1000)));
    let waiting = room.sum::<f64>().min(packets) + flows * 100.0;
    let ends = |g: &FlowGroup| !matches!(g.kind, Kind::Bulk | Kind::Udp | Kind::Trace);
    let transfers = if s.flows.iter().any(ends) { packets / OF_TRANSFER } else { 0.0 };
    let recorded: f64 =
        s.flows.iter().filter_map(|g| s.contents.arrivals(g)).map(|f| f.trace.arrivals().len() as f64).sum();
    let leaves = super::observed_leaves(s) as f64;
    ANY + flows * FLOW
        + (links * scopes + leaves) * segments * HISTOGRAM
        + links * samples * (SAMPLE + 8.0 * scopes)
        + waiting * PACKET
        + transfers * TRANSFER
        + recorded * ARRIVAL
}

/// The link between routers that its changes make faster than all access links together, which are the bottleneck
/// then: the field that names it, its highest rate, and what they carry.
pub(crate) fn lifted_above_access(s: Loaded<'_>) -> Option<(String, BitRate, BitRate)> {
    let default = access_rate(s);
    let mut access = 0_u64;
    for group in &s.flows {
        let Access::Rate(rate) = group.access_rate.unwrap_or(default) else { return None };
        // Sessions are as many as come.
        let count = if group.kind == Kind::Sessions { return None } else { group.count.unwrap_or(1) };
        access = access.saturating_add(rate.bps().saturating_mul(u64::from(count)));
    }
    let access = BitRate::from_bps(access);
    s.links().find_map(|(at, link)| {
        let most = rate_over_time(&link, s.contents).values().max()?;
        let field = at.then("changes").to_string();
        (link.rate <= access && most > access).then_some((field, most, access))
    })
}

/// The groups of greedy flows whose access links are slower than their share of the slowest link between routers, each
/// with the rate of its access links: these are its bottleneck, and have no algorithm.
pub(crate) fn limited_by_access(s: Loaded<'_>) -> Vec<(String, BitRate)> {
    let default = access_rate(s);
    // Sessions are as many as come, and what a trace offers is not a rate.
    if s.flows.iter().any(|g| matches!(g.kind, Kind::Sessions | Kind::Trace)) {
        return Vec::new();
    }
    let Some(mut left) =
        s.links().map(|(_, link)| link.shaped(link.rate).bps() as f64).min_by(f64::total_cmp)
    else {
        return Vec::new();
    };
    // The shares are max-min fair: what the slow ones cannot use is the others'.
    let most = |g: &FlowGroup| match (g.rate, g.access_rate.unwrap_or(default)) {
        (Some(rate), Access::Rate(access)) => rate.min(access).bps() as f64,
        (Some(rate), _) => rate.bps() as f64,
        (None, Access::Rate(access)) => access.bps() as f64,
        (None, _) => f64::INFINITY,
    };
    let mut groups: Vec<&FlowGroup> = s.flows.iter().collect();
    groups.sort_by(|a, b| most(a).total_cmp(&most(b)));
    let mut flows: f64 = groups.iter().map(|g| f64::from(g.count.unwrap_or(1))).sum();
    let mut limited = Vec::new();
    for group in groups {
        let (count, rate) = (f64::from(group.count.unwrap_or(1)), most(group));
        if rate * flows >= left {
            break;
        }
        if let (Kind::Bulk, None, Access::Rate(access)) =
            (group.kind, group.rate, group.access_rate.unwrap_or(default))
        {
            limited.push((group.name.clone(), access));
        }
        (left, flows) = (left - rate * count, flows - count);
    }
    limited
}
