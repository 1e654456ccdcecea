//! The data behind the report's charts.

use quell_metrics::{
    Estimate, InternalSeries, LinkSeries, Metric, PointInfo, Replication, Results, SIZE, SIZES, View,
    distinct, quantile,
};
use serde::Serialize;

use crate::chart::sweep::{Parameter, parameters};
use crate::chart::{self, Chart, Choice, Curve, Diagram, Event, queue};
use crate::figures;
use crate::style::{self, Style};

use super::thin::{Num, Steps, Thinning, mean, nums};

/// The numbers that the time series of a whole page may have: about two megabytes.
const BUDGET: usize = 350_000;
/// No chart is wide enough for more values than this.
const MOST_VALUES: usize = 1000;
/// A series of fewer values than this shows nothing; it is better to leave out seeds or points.
const LEAST_VALUES: usize = 120;
/// Rates are means over longer steps: packet by packet they tell nothing.
const MOST_RATES: usize = 200;
/// Points on the curve of sorted goodputs.
const MOST_RANKS: usize = 100;

/// All charts' data.
#[derive(Serialize)]
pub(super) struct Charts<'a> {
    /// Every label of an algorithm; others refer to it by index.
    algorithms: Vec<&'a str>,
    /// The look of each.
    styles: Vec<Style>,
    points: Vec<PointCharts<'a>>,
    sweep: Option<Sweep<'a>>,
}

/// The charts of a point.
#[derive(Serialize)]
struct PointCharts<'a> {
    title: String,
    links: &'a [String],
    classes: &'a [String],
    /// The measured window's cuts in seconds: beginning, ends of segments.
    cuts: Vec<f64>,
    /// The changes on the way.
    events: Vec<Event>,
    /// The seeds whose series are there; as text, since a script's numbers hold 53 bits.
    seeds: Vec<String>,
    /// One per link; `None` where the page has no room for this point's series.
    over_time: Option<Vec<OverTime<'a>>>,
    /// One per link.
    delays: Vec<Delays<'a>>,
    /// One per link.
    queues: Vec<Queues>,
    /// One per link: goodput over delay.
    trade_off: Vec<Vec<Cloud>>,
    flows: Vec<Flows<'a>>,
    /// Distributions of transfers over each link; empty where none was completed.
    transfers: Vec<Transfers<'a>>,
}

/// Distributions of transfers of a class, or of all, over a link.
#[derive(Serialize)]
struct Transfers<'a> {
    link: usize,
    scope: &'a str,
    /// Shares of transfers.
    share: Vec<Num>,
    /// The unit of completion times.
    unit: String,
    curves: Vec<TransferCurve>,
}

#[derive(Serialize)]
struct TransferCurve {
    algorithm: usize,
    completion: Vec<Num>,
    slowdown: Vec<Num>,
}

/// The series of a link over time.
#[derive(Serialize)]
struct OverTime<'a> {
    time_s: Vec<Num>,
    /// Ends of the longer steps of rates.
    rate_time_s: Vec<Num>,
    runs: Vec<Run<'a>>,
}

#[derive(Serialize)]
struct Run<'a> {
    algorithm: usize,
    /// The seed; `None`: the mean over seeds.
    seed: Option<String>,
    queue_packets: Vec<Num>,
    delay_ms: Vec<Num>,
    /// Packets per second, by `rate_time_s`; `None` where there is none at any time.
    drops_pps: Option<Vec<Num>>,
    marks_pps: Option<Vec<Num>>,
    /// `None` where it is not known at any time.
    jain_index: Option<Vec<Num>>,
    /// The throughput of each class that has traffic, and before them of all if they are several.
    throughput: Vec<Throughput<'a>>,
    internals: Vec<Signal<'a>>,
}

#[derive(Serialize)]
struct Throughput<'a> {
    class: &'a str,
    mbps: Vec<Num>,
}

#[derive(Serialize)]
struct Signal<'a> {
    name: &'a str,
    unit: &'a str,
    values: Vec<Num>,
}

/// Distributions over time of the queue at a link.
#[derive(Serialize)]
struct Queues {
    /// The queues in packets at the shares of time with no more.
    cdf_packets: Vec<Num>,
    /// The queues at the shares of time per packet.
    pdf_packets: Vec<Num>,
    curves: Vec<QueueCurve>,
}

#[derive(Serialize)]
struct QueueCurve {
    algorithm: usize,
    cdf: Vec<Num>,
    pdf: Vec<Num>,
}

/// Distributions of the queueing delay at a link.
#[derive(Serialize)]
struct Delays<'a> {
    probability: Vec<f64>,
    curves: Vec<DelayCurve<'a>>,
}

#[derive(Serialize)]
struct DelayCurve<'a> {
    algorithm: usize,
    scope: &'a str,
    /// The mean over seeds of the delay that a share of packets does not exceed.
    delay_ms: Vec<Num>,
}

/// Delay and goodput of each seed, and the ellipse around them.
#[derive(Serialize)]
struct Cloud {
    algorithm: usize,
    delay_ms: Vec<Num>,
    goodput_mbps: Vec<Num>,
    median: (Num, Num),
    ellipse: Option<Ellipse>,
}

/// `center + cos(t) u + sin(t) v`.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Ellipse {
    center: (f64, f64),
    u: (f64, f64),
    v: (f64, f64),
}

impl Ellipse {
    /// The contour that holds 95% of the Gaussian with the samples' mean and maximum-likelihood covariance (RFC 7928
    /// section 2.7, its 1-epsilon contour with epsilon = 5%); `None` for fewer than three samples.
    fn around(samples: &[(f64, f64)]) -> Option<Ellipse> {
        const EPSILON: f64 = 0.05;
        if samples.len() < 3 {
            return None;
        }
        let n = samples.len() as f64;
        let average = |f: &dyn Fn(&(f64, f64)) -> f64| samples.iter().map(f).sum::<f64>() / n;
        let (x, y) = (average(&|s| s.0), average(&|s| s.1));
        let xx = average(&|s| (s.0 - x) * (s.0 - x));
        let xy = average(&|s| (s.0 - x) * (s.1 - y));
        let yy = average(&|s| (s.1 - y) * (s.1 - y));
        // The squared Mahalanobis distance of two dimensions is exponential with mean 2.
        let radius = (-2.0 * libm::log(EPSILON)).sqrt();
        // The covariance's Cholesky factor maps the circle to the ellipse.
        let l11 = xx.sqrt();
        let l21 = if l11 > 0.0 { xy / l11 } else { 0.0 };
        let l22 = (yy - l21 * l21).max(0.0).sqrt();
        Some(Ellipse { center: (x, y), u: (radius * l11, radius * l21), v: (0.0, radius * l22) })
    }
}

/// The distributions of completion times and slowdowns at each link, of all transfers and of each class of several.
fn transfers<'a>(results: &'a Results, point: usize, algorithms: &[&str]) -> Vec<Transfers<'a>> {
    let Some(info) = results.run.points.get(point) else { return Vec::new() };
    let any = results.replications.iter().any(|r| r.point == point && !r.transfers.is_empty());
    let scopes = std::iter::once("all").chain(info.classes.iter().map(String::as_str));
    let scopes: Vec<&str> = if any { scopes.collect() } else { Vec::new() };
    let mut found = Vec::new();
    for (link, name) in info.links.iter().enumerate() {
        for scope in &scopes {
            let choice = Choice { point, link: Some(name), scope, ..Choice::default() };
            let Ok(completion) = Chart::of(results, Diagram::CompletionCdf, &choice) else { continue };
            let slowdown = Chart::of(results, Diagram::SlowdownCdf, &choice).ok();
            let curve = |curve: &Curve| {
                let slow = slowdown.iter().flat_map(Chart::curves).find(|c| c.label == curve.label);
                // Every second share is enough for a page.
                let thin = |all: &[f64]| all.iter().step_by(2).map(|x| Num(*x)).collect::<Vec<_>>();
                Some(TransferCurve {
                    algorithm: algorithms.iter().position(|a| *a == curve.label)?,
                    completion: thin(&curve.x),
                    slowdown: slow.map_or(Vec::new(), |c| thin(&c.x)),
                })
            };
            let unit = completion.x.label.trim_end_matches(')').rsplit_once('(').map_or("", |(_, unit)| unit);
            let shares = completion.curves().next().map_or(&[][..], |c| &c.y);
            found.push(Transfers {
                link,
                scope,
                share: shares.iter().step_by(2).map(|x| Num(*x)).collect(),
                unit: unit.to_string(),
                curves: completion.curves().filter_map(curve).collect(),
            });
        }
    }
    // One class is all of them.
    for link in 0..info.links.len() {
        if found.iter().filter(|t| t.link == link).count() == 2 {
            let last = found.iter().rposition(|t| t.link == link).unwrap_or(0);
            found.remove(last);
        }
    }
    found
}

/// Per-flow goodputs of a class, sorted.
#[derive(Serialize)]
struct Flows<'a> {
    class: &'a str,
    /// The share of flows that have no more.
    share_percent: Vec<Num>,
    curves: Vec<FlowCurve>,
}

#[derive(Serialize)]
struct FlowCurve {
    algorithm: usize,
    /// Jain's index, mean over seeds.
    jain: Option<Num>,
    /// Mean over seeds at each rank.
    goodput_kbps: Vec<Num>,
}

/// Figures over the parameters that a study varies.
#[derive(Serialize)]
struct Sweep<'a> {
    axes: Vec<Parameter<'a>>,
    /// The sizes of transfers that were completed.
    sizes: Vec<String>,
    metrics: Vec<SweptMetric>,
}

#[derive(Serialize)]
struct SweptMetric {
    title: &'static str,
    unit: &'static str,
    /// The values by point and algorithm.
    values: Vec<Vec<Option<Interval>>>,
    /// The values by segment and algorithm, of the only point if its window is cut.
    segments: Vec<Vec<Option<Interval>>>,
    /// The values by size of transfers and algorithm, of the only point if there are some.
    sizes: Vec<Vec<Option<Interval>>>,
}

/// A mean, and the ends of its interval within what it can be.
type Interval = (Num, Option<Num>, Option<Num>);

/// The replications of a point and their place among the algorithms.
struct Group<'a> {
    point: &'a PointInfo,
    /// The values by algorithm of the page.
    replications: Vec<Vec<&'a Replication>>,
}

impl<'a> Charts<'a> {
    pub fn of(results: &'a Results) -> Charts<'a> {
        let labels = results.run.points.iter().flat_map(|p| &p.algorithms);
        let algorithms = distinct(labels.map(String::as_str));
        let groups = group(results, &algorithms);
        let room = Room::of(&groups);
        let points = groups
            .iter()
            .enumerate()
            .map(|(i, g)| point_charts((results, i, &algorithms), g, &room, i < room.points))
            .collect();
        let sweep = Some(sweep(results, &algorithms));
        let styles =
            style::of_results(results).into_iter().map(|(_, number)| Style::number(number)).collect();
        Charts { algorithms, styles, points, sweep }
    }

    /// The number of points that have their series on the page.
    pub fn points_over_time(&self) -> usize {
        self.points.iter().filter(|p| p.over_time.is_some()).count()
    }

    /// True if a point shows fewer seeds than it ran.
    pub fn leaves_out_seeds(&self, results: &Results) -> bool {
        let ran = |i: usize| {
            let mut seeds: Vec<u64> =
                results.replications.iter().filter(|r| r.point == i).map(|r| r.seed).collect();
            seeds.sort_unstable();
            seeds.dedup();
            seeds.len()
        };
        self.points.first().is_some_and(|p| p.over_time.is_some() && p.seeds.len() < ran(0))
    }
}

fn group<'a>(results: &'a Results, algorithms: &[&str]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'_>> = results
        .run
        .points
        .iter()
        .map(|point| Group { point, replications: vec![Vec::new(); algorithms.len()] })
        .collect();
    for r in &results.replications {
        let at = algorithms.iter().position(|a| *a == r.algorithm);
        if let (Some(group), Some(at)) = (groups.get_mut(r.point), at) {
            group.replications[at].push(r);
        }
    }
    groups
}

/// The division of the budget.
struct Room {
    /// Values per series.
    values: usize,
    /// Seeds per algorithm.
    seeds: usize,
    /// Points.
    points: usize,
}

impl Room {
    fn of(groups: &[Group<'_>]) -> Room {
        // Per point: series of one seed of every algorithm.
        let series_of = |g: &Group<'_>| -> usize {
            // Queue, delay, drops, marks, Jain's index, and the throughput of all classes together.
            let of_link = |s: &LinkSeries| 6 + s.throughput_bps.len() + s.internals.len();
            let of_run = |r: &&Replication| r.series.iter().map(of_link).sum::<usize>();
            g.replications.iter().filter_map(|runs| runs.first()).map(of_run).sum()
        };
        let seeds = groups.iter().flat_map(|g| &g.replications).map(Vec::len).max().unwrap_or(0);
        let one_seed: usize = groups.iter().map(series_of).sum();
        // The mean over seeds is one more.
        let fits = |seeds: usize| BUDGET / (one_seed * (seeds + usize::from(seeds > 1))).max(1);
        let seeds = (1..=seeds).rev().find(|s| fits(*s) >= LEAST_VALUES).unwrap_or(1);
        let values = fits(seeds).clamp(LEAST_VALUES, MOST_VALUES);
        let mut left = BUDGET;
        let points = groups
            .iter()
            .take_while(|g| {
                let cost = series_of(g) * LEAST_VALUES;
                left = left.saturating_sub(cost);
                left > 0
            })
            .count();
        Room { values, seeds, points: points.max(1) }
    }
}

fn point_charts<'a>(
    (results, index, algorithms): (&'a Results, usize, &[&str]),
    group: &Group<'a>,
    room: &Room,
    has_room: bool,
) -> PointCharts<'a> {
    let point = group.point;
    let mut seeds: Vec<u64> = group.replications.iter().flatten().map(|r| r.seed).collect();
    seeds.sort_by_key(|seed| point.seeds.iter().position(|s| s == seed));
    seeds.dedup();
    seeds.truncate(room.seeds);
    let mut cuts: Vec<f64> = point.segments.iter().map(|s| s.0).take(1).collect();
    cuts.extend(point.segments.iter().map(|s| s.1));
    let over_time = || point.links.iter().map(|link| over_time(group, link, &seeds, room.values)).collect();
    PointCharts {
        title: point.title(),
        links: &point.links,
        classes: &point.classes,
        cuts,
        events: chart::events(point),
        over_time: has_room.then(over_time),
        delays: point.links.iter().map(|link| delays(group, link)).collect(),
        queues: point.links.iter().map(|link| queues(group, link)).collect(),
        trade_off: point.links.iter().map(|link| trade_off(group, link)).collect(),
        flows: point.classes.iter().filter_map(|class| flows(group, class)).collect(),
        transfers: if has_room { transfers(results, index, algorithms) } else { Vec::new() },
        seeds: seeds.iter().map(u64::to_string).collect(),
    }
}

fn over_time<'a>(group: &Group<'a>, link: &str, seeds: &[u64], values: usize) -> OverTime<'a> {
    let of = |r: &&'a Replication| Some((r.seed, r.series.iter().find(|s| s.link == link)?));
    let all: Vec<(usize, Vec<(u64, &LinkSeries)>)> = group
        .replications
        .iter()
        .enumerate()
        .map(|(a, runs)| (a, runs.iter().filter_map(of).collect()))
        .collect();
    let times = all.iter().flat_map(|(_, runs)| runs).map(|(_, s)| s.time_s.as_slice());
    let times = times.max_by_key(|t| t.len()).unwrap_or_default();
    let thin = Thinning::new(times.len(), values);
    let rates = Steps::new(times.len(), values.min(MOST_RATES));
    let mut out = Vec::new();
    for (algorithm, runs) in &all {
        for (seed, series) in runs.iter().filter(|(seed, _)| seeds.contains(seed)) {
            out.push(run(*algorithm, Some(*seed), &[series], (&thin, &rates)));
        }
        if runs.len() > 1 {
            let series: Vec<_> = runs.iter().map(|r| r.1).collect();
            out.push(run(*algorithm, None, &series, (&thin, &rates)));
        }
    }
    OverTime { time_s: nums(&thin.times(times), 1.0), rate_time_s: nums(&rates.times(times), 1.0), runs: out }
}

/// The mean of `series`, thinned.
fn run<'a>(
    algorithm: usize,
    seed: Option<u64>,
    series: &[&'a LinkSeries],
    (thin, rates): (&Thinning, &Steps),
) -> Run<'a> {
    let mean_of = |f: &dyn Fn(&'a LinkSeries) -> &'a [f64], factor: f64| {
        let each: Vec<&[f64]> = series.iter().map(|s| f(s)).collect();
        nums(&thin.values(&mean(&each)), factor)
    };
    let internals = series.first().map_or(&[][..], |s| &s.internals);
    let rate = |of: fn(&LinkSeries) -> &Vec<u64>| {
        let each: Vec<Vec<f64>> = series.iter().map(|s| chart::per_second(&s.time_s, of(s))).collect();
        let any = each.iter().any(|s| s.iter().any(|x| *x > 0.0));
        any.then(|| nums(&rates.means(&mean(&each)), 1.0))
    };
    let classes = distinct(series.iter().flat_map(|s| &s.throughput_bps).map(|(class, _)| class.as_str()));
    let throughput = |class: Option<&'a str>| {
        let each: Vec<Vec<f64>> = series.iter().filter_map(|s| chart::throughput(s, class)).collect();
        Throughput { class: class.unwrap_or("all"), mbps: nums(&rates.means(&mean(&each)), 1e-6) }
    };
    let all = if classes.len() > 1 { Some(None) } else { None };
    let signal = |(i, signal): (usize, &'a InternalSeries)| Signal {
        name: &signal.name,
        unit: &signal.unit,
        values: mean_of(&|s| s.internals.get(i).map_or(&[], |x| &x.values), 1.0),
    };
    Run {
        algorithm,
        seed: seed.map(|s| s.to_string()),
        queue_packets: mean_of(&|s| &s.queue_mean_packets, 1.0),
        delay_ms: mean_of(&|s| &s.queue_delay_mean_s, 1e3),
        drops_pps: rate(|s| &s.dropped_packets),
        marks_pps: rate(|s| &s.marked_packets),
        jain_index: series
            .iter()
            .all(|s| s.jain_index.iter().any(|x| x.is_finite()))
            .then(|| mean_of(&|s| &s.jain_index, 1.0)),
        throughput: all.into_iter().chain(classes.iter().map(|c| Some(*c))).map(throughput).collect(),
        internals: internals.iter().enumerate().map(signal).collect(),
    }
}

fn delays<'a>(group: &Group<'a>, link: &str) -> Delays<'a> {
    let rows = |r: &'a Replication, scope: &'a str| {
        r.delays.iter().filter(move |d| *d.scope == *scope && *d.link == *link)
    };
    let first = || group.replications.iter().flatten();
    let here = first().flat_map(|r| &r.delays).filter(|d| *d.link == *link);
    let scopes = distinct(here.map(|row| &*row.scope));
    let probability = scopes
        .first()
        .and_then(|scope| {
            first().map(|r| rows(r, scope).map(|d| d.cumulative_probability).collect::<Vec<_>>()).next()
        })
        .unwrap_or_default();
    let mut curves = Vec::new();
    for scope in scopes {
        for (algorithm, runs) in group.replications.iter().enumerate() {
            let each: Vec<Vec<f64>> =
                runs.iter().map(|r| rows(r, scope).map(|d| d.queue_delay_s).collect()).collect();
            if each.iter().any(|e| !e.is_empty()) {
                curves.push(DelayCurve { algorithm, scope, delay_ms: nums(&mean(&each), 1e3) });
            }
        }
    }
    Delays { probability, curves }
}

fn queues(group: &Group<'_>, link: &str) -> Queues {
    let window = chart::window(group.point);
    let shares = group.replications.iter().map(|runs| queue::shares(runs, link, window)).enumerate();
    let (algorithms, shares): (Vec<usize>, Vec<Vec<f64>>) = shares.filter(|(_, s)| !s.is_empty()).unzip();
    let (cdf, pdf) = (queue::cdf(&shares), queue::pdf(&shares));
    let curve = |(i, algorithm): (usize, &usize)| QueueCurve {
        algorithm: *algorithm,
        cdf: nums(&cdf.1[i], 1.0),
        pdf: nums(&pdf.1[i], 1.0),
    };
    Queues {
        cdf_packets: nums(&cdf.0, 1.0),
        pdf_packets: nums(&pdf.0, 1.0),
        curves: algorithms.iter().enumerate().map(curve).collect(),
    }
}

fn trade_off(group: &Group<'_>, link: &str) -> Vec<Cloud> {
    let sample = |r: &&Replication| {
        let row = r.metrics.iter().find(|m| m.link == link && m.segment.is_none() && m.scope == "all")?;
        let (delay, goodput) = (row.values.get(Metric::DelayMean)?, row.values.get(Metric::Goodput)?);
        Some((delay * 1e3, goodput * 1e-6))
    };
    let cloud = |(algorithm, runs): (usize, &Vec<&Replication>)| {
        let samples: Vec<(f64, f64)> = runs.iter().filter_map(sample).collect();
        let (delay, goodput): (Vec<f64>, Vec<f64>) = samples.iter().copied().unzip();
        (!samples.is_empty()).then(|| Cloud {
            algorithm,
            median: (Num(median(&delay)), Num(median(&goodput))),
            delay_ms: nums(&delay, 1.0),
            goodput_mbps: nums(&goodput, 1.0),
            ellipse: Ellipse::around(&samples),
        })
    };
    group.replications.iter().enumerate().filter_map(cloud).collect()
}

fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    match sorted.len() {
        0 => f64::NAN,
        n if n % 2 == 1 => sorted[n / 2],
        n => (sorted[n / 2 - 1] + sorted[n / 2]) / 2.0,
    }
}

/// The goodputs of a class; `None` of a class that no flow belongs to.
fn flows<'a>(group: &Group<'a>, class: &'a str) -> Option<Flows<'a>> {
    let sorted = |r: &&Replication| {
        let mut all: Vec<f64> =
            r.flows.iter().filter(|f| *f.class == *class).map(|f| f.goodput_bps).collect();
        all.sort_by(f64::total_cmp);
        all
    };
    let each: Vec<Vec<Vec<f64>>> =
        group.replications.iter().map(|runs| runs.iter().map(sorted).collect()).collect();
    let ranks = each.iter().flatten().map(Vec::len).max().unwrap_or(0).min(MOST_RANKS);
    let shares: Vec<f64> = (0..ranks).map(|i| (i as f64 + 0.5) / ranks as f64).collect();
    let curve = |(algorithm, runs): (usize, &Vec<Vec<f64>>)| {
        let at = |all: &Vec<f64>| -> Vec<f64> {
            shares.iter().map(|q| quantile(all, *q).unwrap_or(f64::NAN)).collect()
        };
        let curves: Vec<Vec<f64>> = runs.iter().map(at).collect();
        let jain = Estimate::of(&jain_of_class(&group.replications[algorithm], class));
        FlowCurve { algorithm, jain: jain.map(|e| Num(e.mean)), goodput_kbps: nums(&mean(&curves), 1e-3) }
    };
    let curves = each.iter().enumerate().filter(|(_, runs)| !runs.is_empty()).map(curve).collect();
    (ranks > 0).then(|| Flows { class, share_percent: nums(&shares, 100.0), curves })
}

/// Jain's index of a class in each replication, at the first link that its data crosses.
fn jain_of_class(runs: &[&Replication], class: &str) -> Vec<f64> {
    let of = |r: &&Replication| {
        let mut rows = r.metrics.iter().filter(|m| m.segment.is_none() && m.scope == class);
        rows.find_map(|m| m.values.get(Metric::Jain))
    };
    runs.iter().filter_map(of).collect()
}

fn sweep<'a>(results: &'a Results, algorithms: &[&str]) -> Sweep<'a> {
    Sweep {
        axes: parameters(&results.run.points),
        sizes: sizes(results),
        metrics: Metric::ALL.iter().filter_map(|m| swept(results, algorithms, *m)).collect(),
    }
}

/// The classes of sizes of the transfers that were completed at the only point.
fn sizes(results: &Results) -> Vec<String> {
    let scopes = results.scopes(0);
    let names = SIZES.iter().map(|(name, _)| (*name).to_string());
    names.filter(|name| scopes.contains(&format!("{SIZE}{name}"))).collect()
}

/// A metric at the first link of every point; `None` if it applies nowhere.
fn swept(results: &Results, algorithms: &[&str], metric: Metric) -> Option<SweptMetric> {
    let at = |point| -> Vec<Option<Estimate>> {
        algorithms.iter().map(|a| results.estimate(&View::of_point(point), a, metric)).collect()
    };
    let estimates: Vec<_> = (0..results.run.points.len()).map(at).collect();
    let largest = estimates.iter().flatten().flatten().map(|e| e.mean.abs()).reduce(f64::max)?;
    let scale = figures::scale(metric, largest);
    let shown = |e: &Option<Estimate>| {
        e.as_ref().map(|e| {
            let ends = e.interval_within(metric.range());
            let end = |x: f64| Num(x * scale.factor);
            (end(e.mean), ends.map(|ends| end(ends.0)), ends.map(|ends| end(ends.1)))
        })
    };
    let of = |rows: Vec<Vec<Option<Estimate>>>| -> Vec<Vec<Option<Interval>>> {
        rows.iter().map(|row| row.iter().map(shown).collect()).collect()
    };
    let views = |views: Vec<View>| -> Vec<Vec<Option<Estimate>>> {
        let row = |view: &View| algorithms.iter().map(|a| results.estimate(view, a, metric)).collect();
        views.iter().map(row).collect()
    };
    let (mut segments, mut sizes) = (Vec::new(), Vec::new());
    if let [point] = results.run.points.as_slice() {
        if point.segments.len() > 1 {
            let of = |i| View { segment: Some(i as u32), ..View::default() };
            segments = views((0..point.segments.len()).map(of).collect());
        }
        let of = |size: &String| View { scope: format!("{SIZE}{size}"), ..View::default() };
        sizes = views(self::sizes(results).iter().map(of).collect());
        // Most metrics are of no transfers.
        if sizes.iter().flatten().all(Option::is_none) {
            sizes.clear();
        }
    }
    let (segments, sizes) = (of(segments), of(sizes));
    Some(SweptMetric { title: metric.title(), unit: scale.unit, values: of(estimates), segments, sizes })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ellipse_of_known_samples() {
        let e = Ellipse::around(&[(1.0, 0.0), (-1.0, 0.0), (0.0, 2.0), (0.0, -2.0)]).unwrap();
        // xx = 1/2, yy = 2, xy = 0; radius sqrt(-2 ln 0.05) = 2.4477.
        assert_eq!(e.center, (0.0, 0.0));
        assert!((e.u.0 - 2.4477 * 0.5f64.sqrt()).abs() < 1e-3 && e.u.1 == 0.0);
        assert!((e.v.1 - 2.4477 * 2f64.sqrt()).abs() < 1e-3 && e.v.0 == 0.0);
    }

    #[test]
    fn samples_on_a_line_give_a_flat_ellipse() {
        let e = Ellipse::around(&[(0.0, 0.0), (1.0, 2.0), (2.0, 4.0)]).unwrap();
        assert!((e.u.1 / e.u.0 - 2.0).abs() < 1e-12 && e.v.1.abs() < 1e-6);
        let upright = Ellipse::around(&[(1.0, 0.0), (1.0, 1.0), (1.0, 2.0)]).unwrap();
        assert!(upright.u == (0.0, 0.0) && upright.v.1 > 0.0);
        assert!(Ellipse::around(&[(0.0, 0.0), (1.0, 1.0)]).is_none());
    }

    #[test]
    fn medians() {
        assert_eq!(median(&[3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), 2.5);
    }
}
