//! The figures of one replication, as rows of tables.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use crate::columns::row;
use crate::metric::Values;

/// One run of the simulator.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Replication {
    /// Index of the point.
    pub point: usize,
    /// Label of the algorithm.
    pub algorithm: String,
    /// The seed.
    pub seed: u64,
    /// Equal digests mean equal sample paths.
    pub digest: u64,
    /// Events that the engine handled.
    pub events: u64,
    /// The time that it took.
    pub elapsed_s: f64,
    /// The figures.
    pub metrics: Vec<MetricRow>,
    /// The time series, one per observed link.
    pub series: Vec<LinkSeries>,
    /// Every flow over the whole measured window.
    pub flows: Vec<FlowRow>,
    /// The finished transfers.
    pub transfers: Vec<TransferRow>,
    /// Queueing delay distributions over the whole measured window.
    pub delays: Vec<DelayRow>,
    /// Averages of the internal signals.
    pub internal_means: Vec<InternalRow>,
}

row! {
    /// The figures of one link, segment and scope.
    #[derive(Serialize)]
    pub struct MetricRow {
        /// The link.
        pub link: String,
        /// The segment; `None`: the whole measured window.
        pub segment: Option<u32>,
        /// "all", "data" (all but acknowledgments), a class, a lane of a discipline ("lane:l"), or the transfers of one
        /// size ("size:0-10kB").
        pub scope: String,
        /// Its beginning in seconds.
        pub from_s: f64,
        /// Its end in seconds.
        pub to_s: f64,
        /// The figures.
        pub values: Values,
    }
}

/// Writes a text that several rows have.
fn shared<S: Serializer>(text: &Arc<str>, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(text)
}

/// The time series of a link: equally spaced samples; NaN where there is none.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LinkSeries {
    /// The link.
    pub link: String,
    /// Time of each sample: the end of its step.
    pub time_s: Vec<f64>,
    /// Queue at that time.
    pub queue_packets: Vec<f64>,
    /// Queue at that time in bytes.
    pub queue_bytes: Vec<f64>,
    /// Time average of the queue over the step.
    pub queue_mean_packets: Vec<f64>,
    /// Mean queueing delay of the packets that left during the step; NaN if none did.
    pub queue_delay_mean_s: Vec<f64>,
    /// Packets dropped during the step.
    pub dropped_packets: Vec<u64>,
    /// Packets marked during the step.
    pub marked_packets: Vec<u64>,
    /// Jain's fairness index of the goodputs during the step of the bulk flows that cross the link and are active for all of
    /// it; NaN if there are fewer than two, if they got nothing, or if it is not known. Like what else earlier versions do
    /// not have, it may be empty.
    pub jain_index: Vec<f64>,
    /// The bits sent during the step over its length, per class seen at the link.
    pub throughput_bps: Vec<(String, Vec<f64>)>,
    /// The algorithm's internal signals.
    pub internals: Vec<InternalSeries>,
}

/// One internal signal of an algorithm over time.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct InternalSeries {
    /// The paper's name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// One value per sample; NaN before the algorithm reported one.
    pub values: Vec<f64>,
}

row! {
    /// One flow over the measured window.
    #[derive(Serialize)]
    pub struct FlowRow {
        /// Its index.
        pub flow: u32,
        /// Its group.
        #[serde(serialize_with = "shared")]
        pub group: Arc<str>,
        /// Its class.
        #[serde(serialize_with = "shared")]
        pub class: Arc<str>,
        /// Its round-trip propagation time at its start, in seconds.
        pub base_rtt_s: f64,
        /// The time at which it started.
        pub start_s: f64,
        /// The time at which it stopped, if it did.
        pub stop_s: Option<f64>,
        /// New data that its receiver got, in bits per second over the part of the window in which it
        /// was active.
        pub goodput_bps: f64,
        /// New data that its receiver got.
        pub delivered_bytes: u64,
        /// Data packets sent, retransmissions included.
        pub sent_packets: u64,
        /// Retransmissions.
        pub retransmitted_packets: u64,
        /// Retransmission timeouts.
        pub timeouts: u64,
        /// Window reductions by fast retransmit.
        pub fast_retransmits: u64,
        /// Window reductions by ECN.
        pub ecn_responses: u64,
        /// Mean of the round-trip times that its sender measured; `None` if it measured none.
        pub round_trip_time_mean_s: Option<f64>,
    }
}

row! {
    /// A finished transfer.
    pub struct TransferRow {
        /// Its flow.
        pub flow: u32,
        /// Its class.
        pub class: Arc<str>,
        /// The time at which it began.
        pub start_s: f64,
        /// The time until the last new byte was at the receiver.
        pub flow_completion_time_s: f64,
        /// Its size.
        pub size_packets: u32,
        /// Its size in bytes of data. Like what follows, results of earlier versions do not have it.
        pub size_bytes: Option<f64>,
        /// The completion time over the time that the same transfer takes alone.
        pub slowdown: Option<f64>,
        /// The time until its sender knew that all had arrived, if it did by the end of the run.
        pub flow_acknowledgment_time_s: Option<f64>,
    }
}

row! {
    /// The average of an internal signal of an algorithm: the mean of its samples, which are equally spaced.
    #[derive(Serialize)]
    pub struct InternalRow {
        /// The link.
        pub link: String,
        /// The segment; `None`: the whole measured window.
        pub segment: Option<u32>,
        /// The paper's name.
        pub signal: String,
        /// Its unit.
        pub unit: String,
        /// The average.
        pub mean: f64,
    }
}

row! {
    /// A point of a queueing delay's distribution function.
    pub struct DelayRow {
        /// The link.
        pub link: Arc<str>,
        /// "all", "data" or a class.
        pub scope: Arc<str>,
        /// The share of packets that waited no longer.
        pub cumulative_probability: f64,
        /// The delay.
        pub queue_delay_s: f64,
    }
}
