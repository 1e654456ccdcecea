//! The hosts' view of a replication, and the figures that only they know.

use quell_gateway::traffic::{Done, Transferred, address};
use quell_lab::{FlowRow, Metric, MetricRow, Replication, TransferRow, size_rows, transfer_figures};
use quell_scenario::FlowFact;
use quell_sim::network::{Classifier, Plan};
use quell_units::{Bytes, QueueSize, Time};

/// The link that is made real.
pub(crate) const FORWARD: &str = "bottleneck";

/// All flows of a replication.
pub(crate) struct Sources {
    pub flows: Vec<Source>,
    /// The names of the groups.
    pub names: Vec<String>,
    /// The names of the classes.
    pub classes: Vec<String>,
    pub mean_packet: Bytes,
    /// The leaves of the bottleneck's classes, if it has any.
    pub leaves: Option<Leaves>,
}

/// The leaves in which packets wait at the bottleneck.
pub(crate) struct Leaves {
    pub plan: Plan,
    pub buffers: Vec<QueueSize>,
    pub classifier: Classifier,
}

/// A flow, for its figures.
pub(crate) struct Source {
    pub fact: FlowFact,
    /// Its data goes through the bottleneck, and not its acknowledgments.
    pub forward: bool,
    /// The bytes that a packet carries.
    pub payload: u64,
    /// Its data is TCP's.
    pub tcp: bool,
}

impl Sources {
    /// The group whose packets in the bottleneck are a flow's, by the low half of its address.
    pub fn group(&self, number: u16) -> Option<usize> {
        let flow = self.flows.get(usize::from(number.wrapping_sub(address(0))))?;
        flow.forward.then_some(usize::from(flow.fact.group))
    }

    /// The leaf in which a packet waits at the bottleneck, by the low half of its address; 0 where there are no classes.
    pub fn leaf(&self, number: u16, dscp: u8) -> usize {
        let flow = u32::from(number.wrapping_sub(address(0)));
        self.leaves.as_ref().map_or(0, |leaves| leaves.classifier.of(flow, dscp))
    }

    /// The class of a flow.
    pub fn class(&self, flow: usize) -> &str {
        &self.classes[usize::from(self.flows[flow].fact.class)]
    }
}

/// A replication as the hosts saw it.
pub(crate) struct HostView {
    pub sources: Sources,
    /// Looks at the end of the warm-up, where segments meet, and at the end.
    pub looks: Vec<Look>,
    pub transfers: Vec<Transferred>,
    /// The 99th percentile of how late packets left the bottleneck, in seconds.
    pub late_p99_s: f64,
}

/// A look at the hosts.
pub(crate) struct Look {
    /// The time at which it was due, and that at which it was taken, in seconds.
    pub due: f64,
    pub at: f64,
    /// Bytes that each flow had received.
    pub received: Vec<u64>,
    /// The work of each flow's senders.
    pub done: Vec<Done>,
}

/// A flow's work within a window.
struct Within {
    /// Bytes that it received.
    delivered: u64,
    /// The seconds for which it was there.
    active: f64,
    done: Done,
}

impl HostView {
    /// The looks nearest to when a window begins and ends; there are two at least, by the time there are results.
    fn window(&self, from_s: f64, to_s: f64) -> [&Look; 2] {
        [from_s, to_s].map(|time| {
            let apart = |look: &&Look| (look.due - time).abs();
            self.looks.iter().min_by(|a, b| apart(a).total_cmp(&apart(b))).expect("a run has ends")
        })
    }

    /// Puts what the hosts saw in the place of what a trace knows of flows, which is nothing.
    pub fn put(&self, replication: &mut Replication, sent: &[u64]) {
        let window = [&self.looks[0], &self.looks[self.looks.len() - 1]];
        let flow = |i: usize| {
            let Within { delivered, active, done } = self.within(i, window);
            let source = &self.sources.flows[i];
            let fact = &source.fact;
            FlowRow {
                flow: i as u32,
                group: self.sources.names[usize::from(fact.group)].as_str().into(),
                class: self.sources.class(i).into(),
                base_rtt_s: fact.base_rtt.as_secs_f64(),
                start_s: fact.start.as_secs_f64(),
                stop_s: fact.stop.map(Time::as_secs_f64),
                goodput_bps: if active > 0.0 { delivered as f64 * 8.0 / active } else { 0.0 },
                delivered_bytes: delivered,
                // Of datagrams only the bottleneck knows.
                sent_packets: if source.tcp { done.sent } else { sent[i] },
                retransmitted_packets: done.sent_again,
                timeouts: done.timeouts.unwrap_or(0),
                // The kernel's senders do not say when these happen.
                fast_retransmits: 0,
                ecn_responses: 0,
                round_trip_time_mean_s: (done.round_trips > 0.0).then(|| done.busy_s / done.round_trips),
            }
        };
        replication.flows = (0..self.sources.flows.len()).map(flow).collect();
        let transfer = |t: &Transferred| TransferRow {
            flow: t.flow as u32,
            class: self.sources.class(t.flow).into(),
            start_s: t.start.as_secs_f64(),
            flow_completion_time_s: t.end.since(t.start).as_secs_f64(),
            size_packets: t.bytes.div_ceil(self.sources.flows[t.flow].payload) as u32,
            size_bytes: Some(t.bytes as f64),
            slowdown: None,
            flow_acknowledgment_time_s: t.acknowledged.map(|heard| heard.since(t.start).as_secs_f64()),
        };
        replication.transfers = self.transfers.iter().map(transfer).collect();
        let forward = |t: &&TransferRow| self.sources.flows[t.flow as usize].forward;
        let transfers: Vec<&TransferRow> = replication.transfers.iter().filter(forward).collect();
        let mut of_sizes = Vec::new();
        for row in replication.metrics.iter_mut().filter(|row| row.link == FORWARD) {
            self.put_metrics(row, &transfers);
            if row.scope == "all" {
                of_sizes.extend(size_rows(row, &transfers));
            }
        }
        replication.metrics.extend(of_sizes);
    }

    /// A flow's work between two looks.
    fn within(&self, flow: usize, [from, to]: [&Look; 2]) -> Within {
        let fact = &self.sources.flows[flow].fact;
        let (start, stop) = (fact.start.as_secs_f64(), fact.stop.map_or(to.at, Time::as_secs_f64));
        let (before, after) = (&from.done[flow], &to.done[flow]);
        Within {
            delivered: to.received[flow] - from.received[flow],
            active: (stop.min(to.at) - start.max(from.at)).max(0.0),
            done: Done {
                sent: after.sent - before.sent,
                sent_again: after.sent_again - before.sent_again,
                timeouts: after.timeouts.map(|n| n - before.timeouts.unwrap_or(0)),
                busy_s: after.busy_s - before.busy_s,
                round_trips: after.round_trips - before.round_trips,
            },
        }
    }

    /// Tells whether a flow's figures are part of a row of metrics.
    fn counts(&self, row: &MetricRow, flow: usize) -> bool {
        let in_scope = matches!(&*row.scope, "all" | "data") || self.sources.class(flow) == row.scope;
        self.sources.flows[flow].forward && in_scope
    }

    /// Puts the figures of flows into a row of metrics.
    fn put_metrics(&self, row: &mut MetricRow, transfers: &[&TransferRow]) {
        for metric in [
            Metric::Goodput,
            Metric::Jain,
            Metric::RttMean,
            Metric::Timeouts,
            Metric::FastRetransmits,
            Metric::EcnResponses,
            Metric::RetransmissionRate,
        ] {
            row.values.set(metric, f64::NAN);
        }
        let own: Vec<usize> = (0..self.sources.flows.len()).filter(|i| self.counts(row, *i)).collect();
        if own.is_empty() {
            return;
        }
        let window = self.window(row.from_s, row.to_s);
        let length = window[1].at - window[0].at;
        let all: Vec<Within> = own.iter().map(|i| self.within(*i, window)).collect();
        let sum = |of: fn(&Within) -> f64| all.iter().map(of).sum::<f64>();
        row.values.set(Metric::Goodput, sum(|f| f.delivered as f64) * 8.0 / length);
        // Without connections these are 0 over 0, and there are none.
        row.values
            .set(Metric::RetransmissionRate, sum(|f| f.done.sent_again as f64) / sum(|f| f.done.sent as f64));
        row.values.set(Metric::RttMean, sum(|f| f.done.busy_s) / sum(|f| f.done.round_trips));
        if all.iter().any(|f| f.done.timeouts.is_some()) {
            row.values.set(Metric::Timeouts, sum(|f| f.done.timeouts.unwrap_or(0) as f64));
        }
        let is_bulk = |i: usize| self.sources.flows[i].fact.bulk;
        let bulk = own.iter().zip(&all).filter(|(i, f)| is_bulk(**i) && 2.0 * f.active >= length);
        let shares: Vec<f64> = bulk.map(|(_, f)| f.delivered as f64 / f.active).collect();
        row.values.set(Metric::Jain, quell_lab::jain_index(&shares).unwrap_or(f64::NAN));
        if own.iter().any(|i| !is_bulk(*i)) {
            row.values.set(Metric::Transfers, 0.0);
        }
        let (span, all) = (row.from_s..row.to_s, transfers.iter().copied());
        let within: Vec<_> =
            all.filter(|t| own.contains(&(t.flow as usize)) && span.contains(&t.start_s)).collect();
        transfer_figures(&mut row.values, within.into_iter());
    }
}
