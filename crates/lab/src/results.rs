//! What a run found: every replication's figures, and what tables and reports ask of them.

use std::collections::HashMap;

use quell_scenario::{ACKS, Hole, Point, Scenario, Setting, suggest, unknown};
use quell_units::text::cut;
use serde::{Deserialize, Serialize};

use crate::auto::{Reason, Sequential, Stop};
use crate::columns::row;
use crate::metrics::{Metric, Values};
use crate::quantity::{Quantity, Term};
use crate::stats::{ERROR, Estimate};

/// The share of acknowledgments that an algorithm may drop before [`Results::notes`] says so. They are
/// cumulative: a flow with a window of several packets does not notice the loss of one in a hundred.
const ACKS_DROPPED: f64 = 0.01;

/// Everything a run found.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// What was run: the contents of `run.json`.
    pub run: RunInfo,
    /// The finished replications, by point, algorithm and seed in the order of the scenario.
    pub replications: Vec<Replication>,
}

/// What was run, how and when: the contents of `run.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
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
    /// Real packets were sent, in real time; otherwise it was simulated.
    #[serde(default, skip_serializing_if = "is_false")]
    pub live: bool,
    /// The points of the study, resolved.
    pub points: Vec<PointInfo>,
    /// The combinations of a sweep's values that are not scenarios, and why.
    #[serde(default)]
    pub holes: Vec<Hole>,
    /// True if the run was stopped before all replications were finished.
    pub partial: bool,
    /// How many of the replications had been run before, and were taken from the cache.
    #[serde(default)]
    pub reused: usize,
    /// How many of those were run again to verify them; each was the same.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub verified: usize,
    /// Whether a cache has all the replications, so that none has to be run again; not written.
    #[serde(skip)]
    pub kept: bool,
    /// How the numbers of seeds were decided, where the run decided them itself; otherwise empty. Several
    /// if results were joined, each for its own points.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sequential: Vec<Sequential>,
    /// A hash over all replications' digests.
    pub digest: String,
    /// The files beside `run.json`; empty until written.
    #[serde(default)]
    pub files: Vec<FileInfo>,
    /// The SHA-256 of `run.json` itself, in hexadecimal, with zeros in place of these digits; empty until
    /// written, and in results of versions that had none.
    #[serde(default)]
    pub sha256: String,
}

/// For results that were simulated.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_false(flag: &bool) -> bool {
    !*flag
}

/// For results in which nothing was verified.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

impl RunInfo {
    /// A line for each hole, with its reason, but at most `most` lines.
    pub fn hole_lines(&self, most: usize) -> Vec<String> {
        Hole::lines(&self.holes, most)
    }
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
    /// What there is to know of a point before it is run.
    pub fn of(point: &Point) -> PointInfo {
        let (scenario, measure) = (&point.scenario, point.measure());
        PointInfo {
            settings: point.settings.clone(),
            scenario: point.to_toml(),
            algorithms: scenario.aqm.iter().map(|a| a.label().to_string()).collect(),
            seeds: scenario.seeds.list(),
            links: point.links(),
            classes: point.classes(),
            segments: measure.segments().iter().map(|(a, b)| (a.as_secs_f64(), b.as_secs_f64())).collect(),
        }
    }

    /// The settings in one line; empty if the study is one point.
    pub fn title(&self) -> String {
        let each: Vec<_> = self.settings.iter().map(|s| format!("{} = {}", s.field, s.value)).collect();
        each.join(", ")
    }

    /// True if the scenario changes capacities, delays or rates on the way.
    fn changes_within(&self) -> bool {
        let Ok(scenario) = toml::from_str::<toml::Table>(&self.scenario) else { return false };
        has_changes(&toml::Value::Table(scenario))
    }
}

/// True if there are changes anywhere in it: a list of them, or a table.
fn has_changes(value: &toml::Value) -> bool {
    match value {
        toml::Value::Table(table) => table.iter().any(|(key, v)| {
            let changes = v.is_table() || v.as_array().is_some_and(|a| !a.is_empty());
            (key.ends_with("changes") && changes) || has_changes(v)
        }),
        toml::Value::Array(list) => list.iter().any(has_changes),
        _ => false,
    }
}

/// The mean of (length, value) over time.
fn mean_over_time(parts: &[(f64, f64)]) -> Option<f64> {
    let length: f64 = parts.iter().map(|p| p.0).sum();
    (length > 0.0).then(|| parts.iter().map(|p| p.0 * p.1).sum::<f64>() / length)
}

/// An algorithm that drops many acknowledgments at a link.
struct AckDrops<'a> {
    algorithm: &'a str,
    link: &'a str,
    /// Of those that reach the link.
    share: f64,
    /// Whether a parameter of it would spare them.
    can_spare: bool,
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
    /// Averages of the internal signals.
    pub internal_means: Vec<InternalRow>,
}

row! {
    /// The figures of one link, segment and scope.
    pub struct MetricRow {
        /// The link.
        pub link: String,
        /// Which segment, or none for the whole measured window.
        pub segment: Option<u32>,
        /// "all", "data" (all but acknowledgments), a class, or a lane of a discipline ("lane:l").
        pub scope: String,
        /// Its beginning in seconds.
        pub from_s: f64,
        /// Its end in seconds.
        pub to_s: f64,
        /// The figures.
        pub values: Values,
    }
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

row! {
    /// One flow over the measured window.
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
        /// Mean of the round-trip times that its sender measured; none if it measured none.
        pub round_trip_time_mean_s: Option<f64>,
    }
}

row! {
    /// A finished transfer.
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
        pub size_packets: u32,
    }
}

row! {
    /// The average of an internal signal of an algorithm: the mean of its samples, which are equally spaced.
    pub struct InternalRow {
        /// The link.
        pub link: String,
        /// Which segment, or none for the whole measured window.
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
        pub link: String,
        /// "all", "data" or a class.
        pub scope: String,
        /// The share of packets that waited no longer.
        pub cumulative_probability: f64,
        /// The delay.
        pub queue_delay_s: f64,
    }
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
    /// What differs.
    pub metric: Quantity,
    /// Algorithm minus baseline, paired by seed.
    pub difference: Estimate,
}

/// How scopes of lanes begin; the lane's name follows.
pub const LANE: &str = "lane:";

/// The scope of a lane's figures.
pub(crate) fn lane_scope(name: &str) -> String {
    format!("{LANE}{name}")
}

impl Results {
    /// Results of replications that were made elsewhere; the digest is theirs.
    pub fn of(run: RunInfo, replications: Vec<Replication>) -> Results {
        let digest = crate::run::digest(&replications);
        Results { run: RunInfo { digest, ..run }, replications }
    }

    /// The labels of a point's algorithms, in the order of the scenario.
    pub fn algorithms(&self, point: usize) -> &[String] {
        self.run.points.get(point).map_or(&[], |p| &p.algorithms)
    }

    /// One value per finished replication of an algorithm, with its seed, in the order of the seeds.
    pub fn samples(&self, view: &View, algorithm: &str, of: impl Into<Quantity>) -> Vec<(u64, f64)> {
        let quantity = of.into();
        let Some(point) = self.run.points.get(view.point) else { return Vec::new() };
        let Some(link) = view.link.as_ref().or(point.links.first()) else { return Vec::new() };
        let sample = |r: &Replication| {
            let row = |scope: &str| {
                r.metrics.iter().find(|m| m.link == *link && m.segment == view.segment && m.scope == scope)
            };
            let value = |term: &Term| match term {
                Term::Metric(metric, scope) => {
                    row(scope.as_deref().unwrap_or(&view.scope))?.values.get(*metric)
                }
                Term::Internal(signal) => {
                    let is = |i: &&InternalRow| {
                        i.link == *link && i.segment == view.segment && i.signal == *signal
                    };
                    r.internal_means.iter().find(is).map(|i| i.mean)
                }
            };
            let (x, y) = (value(&quantity.of)?, quantity.over.as_ref().map_or(Some(1.0), value)?);
            Some((r.seed, x / y)).filter(|(_, ratio)| ratio.is_finite())
        };
        self.replications_of(view.point, algorithm).filter_map(sample).collect()
    }

    /// The unit of a quantity; "1" for a pure number.
    pub fn unit(&self, of: &Quantity) -> String {
        let unit = |term: &Term| match term {
            Term::Metric(metric, _) => metric.unit(),
            Term::Internal(signal) => {
                let mut all = self.replications.iter().flat_map(|r| &r.internal_means);
                all.find(|i| i.signal == *signal).map_or("1", |i| &i.unit)
            }
        };
        let units: Vec<&str> = of.terms().map(unit).collect();
        match units[..] {
            [unit] | [unit, "1"] => unit.to_string(),
            [a, b] if a == b => "1".to_string(),
            [a, b] if b.contains('/') => format!("{a}/({b})"),
            _ => units.join("/"),
        }
    }

    /// The internal signals that the algorithms of a point report at a link.
    pub fn signals(&self, point: usize, link: &str) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for row in self.replications_at(point).iter().flat_map(|r| &r.internal_means) {
            if row.link == link && !names.contains(&row.signal.as_str()) {
                names.push(&row.signal);
            }
        }
        names
    }

    /// Why a quantity has no value anywhere: it names a class or a signal that is not there.
    pub fn lacks(&self, of: &Quantity) -> Option<String> {
        let lack = |kind: &str, wrong: &str, mut names: Vec<&str>| {
            names.sort_unstable();
            names.dedup();
            let known = if names.is_empty() {
                "there are none".to_string()
            } else {
                format!("known: {}", names.join(", "))
            };
            let absent = !names.contains(&wrong);
            let (rule, nearest) = unknown(kind, wrong, &names);
            let (of, wrong) = (of.to_string(), cut(wrong));
            let of = cut(&of);
            absent.then(|| format!("{of}: \"{wrong}\": {}", suggest(&rule, nearest.as_deref(), Some(&known))))
        };
        of.terms().find_map(|term| match term {
            Term::Metric(_, None) => None,
            Term::Metric(_, Some(scope)) => {
                let classes = self.run.points.iter().flat_map(|p| &p.classes).map(String::as_str);
                let rows = self.replications.iter().flat_map(|r| &r.metrics).map(|row| row.scope.as_str());
                let lanes = rows.filter(|scope| scope.starts_with(LANE));
                lack("class", scope, ["all", "data"].into_iter().chain(classes).chain(lanes).collect())
            }
            Term::Internal(signal) => {
                let all = self.replications.iter().flat_map(|r| &r.internal_means);
                lack("internal signal", signal, all.map(|i| i.signal.as_str()).collect())
            }
        })
    }

    /// The mean over replications with its interval; none where the metric does not apply.
    pub fn estimate(&self, view: &View, algorithm: &str, of: impl Into<Quantity>) -> Option<Estimate> {
        let values: Vec<f64> = self.samples(view, algorithm, of).iter().map(|s| s.1).collect();
        let error = self.error_at(view.point, self.finished(view.point, algorithm));
        let estimate = Estimate::with_error(&values, error)?;
        Some(if self.is_fixed(view.point, algorithm) { estimate.without_interval() } else { estimate })
    }

    /// The error of an interval over so many seeds at a point: 5 %, unless the number of seeds was decided
    /// by what the intervals said (see [`Looks`](crate::Looks)).
    fn error_at(&self, point: usize, seeds: usize) -> f64 {
        let of_point = self.run.sequential.iter().find(|s| s.stops.iter().any(|stop| stop.point == point));
        of_point.and_then(|s| s.looks.as_ref()).map_or(ERROR, |looks| looks.error_at(seeds))
    }

    /// How many replications of an algorithm are finished at a point.
    pub fn finished(&self, point: usize, algorithm: &str) -> usize {
        self.replications_of(point, algorithm).count()
    }

    /// How many replications were asked for.
    pub fn asked(&self) -> usize {
        let stops = || self.run.sequential.iter().flat_map(|s| &s.stops);
        let of_point = |(i, point): (usize, &PointInfo)| {
            let decided: Vec<usize> = stops().filter(|s| s.point == i).map(|s| s.seeds).collect();
            match decided.is_empty() {
                true => point.algorithms.len() * point.seeds.len(),
                false => decided.iter().sum(),
            }
        };
        self.run.points.iter().enumerate().map(of_point).sum()
    }

    /// The finished replications of a point.
    fn replications_at(&self, point: usize) -> &[Replication] {
        // They stand in the order of the points.
        let from = self.replications.partition_point(|r| r.point < point);
        let length = self.replications[from..].partition_point(|r| r.point == point);
        &self.replications[from..from + length]
    }

    /// The finished replications of an algorithm, in the order of the seeds.
    fn replications_of<'a>(
        &'a self,
        point: usize,
        algorithm: &'a str,
    ) -> impl Iterator<Item = &'a Replication> {
        self.replications_at(point).iter().filter(move |r| r.algorithm == algorithm)
    }

    /// True if several seeds gave one sample path: the scenario leaves nothing to chance, and repeating
    /// it says nothing about how far its figures may be off.
    pub fn is_fixed(&self, point: usize, algorithm: &str) -> bool {
        let mut digests = self.replications_of(point, algorithm).map(|r| r.digest);
        let Some(first) = digests.next() else { return false };
        let mut others = digests.peekable();
        others.peek().is_some() && others.all(|d| d == first)
    }

    /// The algorithms whose mean queue in the last third of the segments differs from that in the first
    /// third, over all seeds, by more than chance and by more than a fifth: the window is not a steady
    /// state for them. None are named where the scenario itself changes within the window.
    pub fn drifting(&self, point: usize) -> Vec<&str> {
        let Some(info) = self.run.points.get(point) else { return Vec::new() };
        let third = info.segments.len() / 3;
        if third == 0 {
            return Vec::new();
        }
        let Some(link) = info.links.first() else { return Vec::new() };
        let drifts = |algorithm: &&str| {
            let change = |r: &Replication| {
                let rows = r.metrics.iter().filter(|m| m.link == *link && m.scope == "all");
                let queues: Vec<(f64, f64)> = rows
                    .filter(|m| m.segment.is_some())
                    .filter_map(|m| Some((m.to_s - m.from_s, m.values.get(Metric::QueueMean)?)))
                    .collect();
                let first = mean_over_time(queues.get(..third)?)?;
                let last = mean_over_time(&queues[queues.len().checked_sub(third)?..])?;
                Some((last - first, mean_over_time(&queues)?))
            };
            let changes: Vec<(f64, f64)> =
                self.replications_of(point, algorithm).filter_map(change).collect();
            let of =
                |value: fn(&(f64, f64)) -> f64| Estimate::of(&changes.iter().map(value).collect::<Vec<_>>());
            let (Some(change), Some(queue)) = (of(|c| c.0), of(|c| c.1)) else { return false };
            change.excludes_zero() && change.mean.abs() > 0.2 * queue.mean
        };
        let found: Vec<&str> = info.algorithms.iter().map(String::as_str).filter(drifts).collect();
        // To read the scenario takes longer than all this.
        if found.is_empty() || info.changes_within() { Vec::new() } else { found }
    }

    /// The algorithms that drop more than [`ACKS_DROPPED`] of the acknowledgments at a link (a drop for
    /// want of room is not the algorithm's), the link, and that share as the mean over the seeds.
    fn ack_drops(&self, point: usize) -> Vec<AckDrops<'_>> {
        let Some(info) = self.run.points.get(point) else { return Vec::new() };
        let scenario = std::cell::OnceCell::new();
        // With its defaults filled in, an algorithm that knows the key has it.
        let can_spare = |algorithm: &str, link: &str| {
            let scenario = scenario.get_or_init(|| toml::from_str::<Scenario>(&info.scenario).ok());
            let choice = scenario.as_ref()?.algorithm_at(link, algorithm)?;
            Some(choice.parameters.get("signal")?.as_str() != Some("by-size"))
        };
        let share = |algorithm: &str, link: &String| {
            let view = View { link: Some(link.clone()), scope: ACKS.into(), ..View::of_point(point) };
            let of = |metric| self.estimate(&view, algorithm, metric).map(|e| e.mean);
            Some(of(Metric::EarlyLossRate)? + of(Metric::ForcedLossRate)?)
        };
        let pairs = info.algorithms.iter().flat_map(|a| info.links.iter().map(move |l| (a, l)));
        pairs
            .filter_map(|(algorithm, link)| {
                let share = share(algorithm, link).filter(|x| *x > ACKS_DROPPED)?;
                Some(AckDrops { algorithm, link, share, can_spare: can_spare(algorithm, link) == Some(true) })
            })
            .collect()
    }

    /// What a reader of the figures should know, in sentences: see [`Results::is_fixed`] and
    /// [`Results::drifting`]; and where an algorithm drops acknowledgments.
    pub fn notes(&self) -> Vec<String> {
        let points = 0..self.run.points.len();
        let fixed = points.clone().map(|p| {
            let algorithms = self.algorithms(p).iter().map(String::as_str);
            algorithms.filter(|a| self.is_fixed(p, a)).collect::<Vec<_>>()
        });
        let drifting = points.map(|p| self.drifting(p));
        let note = |named: Vec<Vec<&str>>, what: &str| {
            let count = named.iter().filter(|n| !n.is_empty()).count();
            let mut names: Vec<&str> = Vec::new();
            named.iter().flatten().for_each(|n| {
                if !names.contains(n) {
                    names.push(n)
                }
            });
            let at = match named.len() {
                0 | 1 => String::new(),
                all => format!(" (at {count} of {all} points)"),
            };
            (count > 0).then(|| format!("{}{at}: {what}", names.join(", ")))
        };
        let fixed = note(
            fixed.collect(),
            "every seed gave the same sample path because nothing is random; so there are no intervals",
        );
        let drifting = note(
            drifting.collect(),
            "not steady: the mean queue of the last third of the window differs from that of the first; \
             a longer warmup may help",
        );
        let ack_drops: Vec<_> = (0..self.run.points.len()).map(|p| self.ack_drops(p)).collect();
        let starving = [true, false].map(|can_spare| {
            let all = || ack_drops.iter().flatten().filter(|d| d.can_spare == can_spare);
            let most = all().max_by(|a, b| a.share.total_cmp(&b.share))?;
            let way_back = "the way back can have another algorithm (the link's reverse.aqm)";
            let help = match can_spare {
                true => format!("signal = \"by-size\" spares small packets, and {way_back}"),
                false => way_back.to_string(),
            };
            let what = format!(
                "drops acknowledgments, up to {:.1} % of those that reach {}: they are not ECN-capable, and a \
                 flow with a small window starves without them; {help}",
                100.0 * most.share,
                most.link
            );
            let named = ack_drops.iter().map(|at| {
                let these = at.iter().filter(|d| d.can_spare == can_spare);
                these.map(|d| d.algorithm).collect()
            });
            note(named.collect(), &what)
        });
        let capped = (0..self.run.points.len()).map(|p| self.stopped(p, Reason::Cap)).collect::<Vec<_>>();
        let open = self.run.sequential.iter().flat_map(|s| {
            let metrics = s.asked.aims.iter().map(|aim| &aim.metric);
            metrics.filter(|m| capped.iter().flatten().any(|stop| stop.open.contains(m)))
        });
        let mut open: Vec<String> = open.map(Quantity::to_string).collect();
        open.dedup();
        let most = capped.iter().flatten().map(|stop| stop.seeds).max().unwrap_or(0);
        let capped = note(
            capped.iter().map(|at| at.iter().map(|stop| stop.algorithm.as_str()).collect()).collect(),
            &format!(
                "less is known of {} than was asked, with {most} seeds, which is the cap",
                open.join(", ")
            ),
        );
        [fixed, drifting].into_iter().chain(starving).chain([capped]).flatten().collect()
    }

    /// Where algorithms stopped at a point for this reason.
    fn stopped(&self, point: usize, reason: Reason) -> Vec<&Stop> {
        let stops = self.run.sequential.iter().flat_map(|s| &s.stops);
        stops.filter(|stop| stop.point == point && stop.reason == reason).collect()
    }

    /// Each algorithm's paired difference from `baseline`, over the seeds that both have.
    pub fn compare<Q: Into<Quantity> + Clone>(
        &self,
        view: &View,
        baseline: &str,
        metrics: &[Q],
    ) -> Vec<Difference> {
        let others = self.algorithms(view.point).iter().filter(|a| *a != baseline);
        others
            .flat_map(|algorithm| metrics.iter().map(move |metric| (algorithm, metric.clone().into())))
            .filter_map(|(algorithm, metric)| {
                let difference = self.difference(view, baseline, algorithm, &metric)?;
                Some(Difference { algorithm: algorithm.clone(), metric, difference })
            })
            .collect()
    }

    /// An algorithm's paired difference from `baseline` in one metric, over the seeds that both have; none
    /// without any.
    pub fn difference(
        &self,
        view: &View,
        baseline: &str,
        algorithm: &str,
        of: impl Into<Quantity>,
    ) -> Option<Estimate> {
        let quantity = of.into();
        let base: HashMap<u64, f64> = self.samples(view, baseline, &quantity).into_iter().collect();
        let samples = self.samples(view, algorithm, &quantity);
        let pairs: Vec<f64> = samples.iter().filter_map(|(seed, x)| Some(x - base.get(seed)?)).collect();
        let both = [baseline, algorithm];
        let seeds = both.map(|a| self.finished(view.point, a)).into_iter().min()?;
        let difference = Estimate::with_error(&pairs, self.error_at(view.point, seeds))?;
        let is_fixed = both.iter().all(|a| self.is_fixed(view.point, a));
        Some(if is_fixed { difference.without_interval() } else { difference })
    }

    /// The scopes that a link's figures have: "all", "data", then the classes seen there.
    pub fn scopes(&self, point: usize) -> Vec<String> {
        let mut scopes: Vec<String> = Vec::new();
        let rows = self.replications_at(point).iter().flat_map(|r| &r.metrics);
        for row in rows {
            if !scopes.contains(&row.scope) {
                scopes.push(row.scope.clone());
            }
        }
        scopes
    }
}
