//! The room that traces take, before anything runs.

use quell_scenario::Study;
use quell_scenario::format::{FlowGroup, Kind};

use super::options::{Export, TraceOptions};

/// The room that the traces of a run take, roughly and rather more than less.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct TraceSize {
    /// Replications that are traced.
    pub replications: usize,
    /// Rows of all of them.
    pub rows: f64,
    /// Bytes on disk.
    pub disk: f64,
    /// Bytes of memory that the replication with the largest trace takes until it has ended.
    pub memory: f64,
}

/// Bytes that a row takes in a file: 37 on average over both tables of a run, and more than that to be careful.
const FLOW_ROW: f64 = 45.0;
const PACKET_ROW: f64 = 40.0;
/// Samples for each packet that links carry, and events of each at a link: an arrival and a departure, and what is said
/// of small packets, which are more than those of the mean size.
const SAMPLES: f64 = 1.5;
const EVENTS: f64 = 3.5;
/// Bytes that they take in memory.
const SAMPLE: f64 = 200.0;
const EVENT: f64 = 64.0;
const PACKET: f64 = 208.0;

/// The room that traces of a study take: for each packet that its links can carry an arrival and a departure, and a
/// change at its sender.
pub fn trace_size(study: &Study, options: &TraceOptions) -> TraceSize {
    let mut size = TraceSize::default();
    for point in &study.points {
        let seeds = point.scenario.seeds.list().len().min(options.seeds);
        let replications = seeds * point.scenario.aqm.len();
        let packets = point.estimated_packets();
        let groups = &point.scenario.flows;
        let count = |group: &FlowGroup| {
            // Each connection of a client is a flow.
            let connections = match group.kind {
                Kind::Pages => group.connections.unwrap_or(6),
                Kind::Responsiveness => group.connections.unwrap_or(16),
                _ => 1,
            };
            f64::from(group.count.unwrap_or(1)) * f64::from(connections)
        };
        let all: f64 = groups.iter().map(count).sum();
        let named = |name: &String| {
            let group = groups.iter().find(|g| g.name == *name);
            group.map_or(1.0, count)
        };
        let chosen: f64 = options.of_flows.iter().map(named).sum();
        let share = if options.of_flows.is_empty() { 1.0 } else { (chosen / all.max(1.0)).min(1.0) };
        let samples = match options.step {
            _ if !options.flows && !options.export.senders => 0.0,
            Some(step) => {
                let flows = if options.of_flows.is_empty() { all } else { chosen };
                flows * point.scenario.duration.as_secs_f64() / step.as_secs_f64()
            }
            None => SAMPLES * packets * share,
        };
        let links = point.links().len().max(1) as f64;
        let of_links = if options.links.is_empty() { links } else { options.links.len() as f64 };
        // Whoever has few flows chosen may have chosen the fastest ones.
        let wanted = options.packets || options.export.packets;
        let events = if wanted { EVENTS * packets * of_links / links.min(of_links) } else { 0.0 };
        let n = replications as f64;
        size.replications += replications;
        size.rows += n * (samples + events);
        let table = |asked: bool, bytes: f64| if asked { bytes } else { 0.0 };
        let Export { senders, bytes_per_sent, bytes_per_packet, .. } = options.export;
        let sent = if senders { packets * share } else { 0.0 };
        size.disk += n
            * (table(options.flows, samples * FLOW_ROW)
                + table(options.packets, events * PACKET_ROW)
                + sent * bytes_per_sent
                + events / 2.0 * bytes_per_packet);
        let memory = samples * SAMPLE + 2.0 * sent * EVENT + events * (EVENT + PACKET / 2.0);
        size.memory = size.memory.max(memory);
    }
    size
}
