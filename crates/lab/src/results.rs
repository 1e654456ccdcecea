//! What a run found: every replication's figures, and what tables and reports ask of them.

use serde::{Deserialize, Serialize};

use crate::metrics::{Metric, Values};
use crate::stats::Estimate;
use crate::study::Setting;

/// Everything a run found.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// What was run: the contents of `run.json`.
    pub run: RunInfo,
    /// The finished replications, by point, algorithm and seed in the order of the scenario.
    pub replications: Vec<Replication>,
}

/// What was run, how and when: the contents of `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunInfo {
    /// The version of this format: 1.
    pub schema: u32,
    /// The version of Quell.
    pub version: String,
    /// The scenario's title.
    pub title: String,
    /// When the run began, in RFC 3339.
    pub started: String,
    /// How long it took.
    pub elapsed_s: f64,
    /// The command that made it, word by word; may be empty.
    pub command: Vec<String>,
    /// The scenario's file name, or what it was called.
    pub scenario_file: String,
    /// The scenario as it was written, if it came from a text.
    pub scenario_text: Option<String>,
    /// The points of the study, resolved.
    pub points: Vec<PointInfo>,
    /// True if the run was stopped before all replications were finished.
    pub partial: bool,
    /// A hash over all replications' digests.
    pub digest: String,
    /// The files beside `run.json`; empty until written.
    #[serde(default)]
    pub files: Vec<FileInfo>,
}

/// One point of the study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PointInfo {
    /// What distinguishes it from the others.
    pub settings: Vec<Setting>,
    /// The scenario with every default and setting filled in, as TOML.
    pub scenario: String,
    /// The labels of the algorithms, in order.
    pub algorithms: Vec<String>,
    /// The seeds asked for.
    pub seeds: Vec<u64>,
    /// The observed links; the first is the one that tables show.
    pub links: Vec<String>,
    /// The traffic classes.
    pub classes: Vec<String>,
    /// The segments of the measured window in seconds.
    pub segments: Vec<(f64, f64)>,
}

impl PointInfo {
    /// The settings in one line; empty if the study is one point.
    pub fn title(&self) -> String {
        let each: Vec<_> = self.settings.iter().map(|s| format!("{} = {}", s.field, s.value)).collect();
        each.join(", ")
    }
}

/// A file of a results folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileInfo {
    /// Its name.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// Its SHA-256 in hexadecimal.
    pub sha256: String,
}

/// One run of the simulator.
#[derive(Clone, Debug, PartialEq)]
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
    /// How long it took.
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
}

/// The figures of one link, segment and scope.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricRow {
    /// The link.
    pub link: String,
    /// Which segment, or none for the whole measured window.
    pub segment: Option<u32>,
    /// "all", "data" (all but acknowledgments), or a class.
    pub scope: String,
    /// Its beginning in seconds.
    pub from_s: f64,
    /// Its end in seconds.
    pub to_s: f64,
    /// The figures.
    pub values: Values,
}

/// The time series of a link: equally spaced samples; NaN where there is none.
#[derive(Clone, Debug, Default, PartialEq)]
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
    /// Per class seen at the link: bits sent during the step over its length.
    pub throughput_bps: Vec<(String, Vec<f64>)>,
    /// The algorithm's internal signals.
    pub internals: Vec<InternalSeries>,
}

/// One internal signal of an algorithm over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InternalSeries {
    /// The paper's name.
    pub name: String,
    /// Its unit.
    pub unit: String,
    /// One value per sample; NaN before the algorithm reported one.
    pub values: Vec<f64>,
}

/// One flow over the measured window.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowRow {
    /// Its index.
    pub flow: u32,
    /// Its group.
    pub group: String,
    /// Its class.
    pub class: String,
    /// Its round-trip propagation time at its start, in seconds.
    pub base_rtt_s: f64,
    /// When it started.
    pub start_s: f64,
    /// When it stopped, if it did.
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
}

/// A finished transfer.
#[derive(Clone, Debug, PartialEq)]
pub struct TransferRow {
    /// Its flow.
    pub flow: u32,
    /// Its class.
    pub class: String,
    /// When it began.
    pub start_s: f64,
    /// How long it took.
    pub flow_completion_time_s: f64,
    /// Its size.
    pub packets: u32,
}

/// A point of a queueing delay's distribution function.
#[derive(Clone, Debug, PartialEq)]
pub struct DelayRow {
    /// The link.
    pub link: String,
    /// "all", "data" or a class.
    pub scope: String,
    /// The share of packets that waited no longer.
    pub probability: f64,
    /// The delay.
    pub queue_delay_s: f64,
}

/// What a table looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Index of the point.
    pub point: usize,
    /// The link; none for the point's first observed link.
    pub link: Option<String>,
    /// The segment; none for the whole measured window.
    pub segment: Option<u32>,
    /// "all", "data" (all but acknowledgments), or a class.
    pub scope: String,
}

impl Default for View {
    fn default() -> Self {
        View { point: 0, link: None, segment: None, scope: "all".to_string() }
    }
}

impl View {
    /// The whole window, all traffic, first link, of one point.
    pub fn of_point(point: usize) -> Self {
        View { point, ..View::default() }
    }
}

/// The difference of an algorithm from the baseline in one metric, over the seeds both have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The algorithm.
    pub algorithm: String,
    /// The metric.
    pub metric: Metric,
    /// Algorithm minus baseline, paired by seed.
    pub difference: Estimate,
}

impl Results {
    /// The labels of a point's algorithms, in the order of the scenario.
    pub fn algorithms(&self, point: usize) -> &[String] {
        self.run.points.get(point).map_or(&[], |p| &p.algorithms)
    }

    /// One value per finished replication of an algorithm, with its seed, in the order of the seeds.
    pub fn samples(&self, view: &View, algorithm: &str, metric: Metric) -> Vec<(u64, f64)> {
        let Some(point) = self.run.points.get(view.point) else { return Vec::new() };
        let Some(link) = view.link.as_ref().or(point.links.first()) else { return Vec::new() };
        self.replications
            .iter()
            .filter(|r| r.point == view.point && r.algorithm == algorithm)
            .filter_map(|r| {
                let row = r
                    .metrics
                    .iter()
                    .find(|m| m.link == *link && m.segment == view.segment && m.scope == view.scope)?;
                Some((r.seed, row.values.get(metric)?))
            })
            .collect()
    }

    /// The mean over replications with its interval; none where the metric does not apply.
    pub fn estimate(&self, view: &View, algorithm: &str, metric: Metric) -> Option<Estimate> {
        let values: Vec<f64> = self.samples(view, algorithm, metric).iter().map(|s| s.1).collect();
        Estimate::of(&values)
    }

    /// Each algorithm's paired difference from `baseline`, over the seeds that both have.
    pub fn compare(&self, view: &View, baseline: &str, metrics: &[Metric]) -> Vec<Difference> {
        let others = self.algorithms(view.point).iter().filter(|a| *a != baseline);
        others
            .flat_map(|algorithm| metrics.iter().map(move |metric| (algorithm, *metric)))
            .filter_map(|(algorithm, metric)| {
                let base = self.samples(view, baseline, metric);
                let pairs: Vec<f64> = self
                    .samples(view, algorithm, metric)
                    .iter()
                    .filter_map(|(seed, x)| Some(x - base.iter().find(|b| b.0 == *seed)?.1))
                    .collect();
                let difference = Estimate::of(&pairs)?;
                Some(Difference { algorithm: algorithm.clone(), metric, difference })
            })
            .collect()
    }

    /// The scopes that a link's figures have: "all", "data", then the classes seen there.
    pub fn scopes(&self, point: usize) -> Vec<String> {
        let mut scopes: Vec<String> = Vec::new();
        let rows = self.replications.iter().filter(|r| r.point == point).flat_map(|r| &r.metrics);
        for row in rows {
            if !scopes.contains(&row.scope) {
                scopes.push(row.scope.clone());
            }
        }
        scopes
    }
}
