//! A figure of ns-2 beside the same figure of Quell, and whether they agree.

use serde::Serialize;

use quell_lab::Metric;

use crate::excuse::Excuse;
use crate::ns2::{Case, Name, Parameters};

/// What is compared. `ns2` is the column of `runs.csv`, `metric` the metric of Quell's results.
#[derive(Clone, Copy, Debug)]
pub struct Figure {
    /// The name, as tables and excuses write it.
    pub name: &'static str,
    pub unit: &'static str,
    pub ns2: &'static str,
    pub metric: Metric,
    /// Whether Quell's bytes are turned into mean packets.
    in_mean_packets: bool,
    pub decimals: usize,
    band: Band,
    /// Which cases have it.
    applies: fn(&Parameters) -> bool,
}

/// How far the two means may be apart: the larger of the two, in the unit of the table.
#[derive(Clone, Copy, Debug)]
struct Band {
    relative: f64,
    absolute: f64,
    /// The absolute part holds only where ns-2's value is below this.
    below: f64,
}

impl Band {
    fn at(self, ns2: f64) -> f64 {
        let absolute = if ns2 < self.below { self.absolute } else { 0.0 };
        absolute.max(self.relative * ns2)
    }
}

/// 1 point.
const SHARE: Band = Band { relative: 0.0, absolute: 1.0, below: f64::INFINITY };
/// 10 %; where less than 0.5 % is lost or marked, 0.05 points.
const RATE: Band = Band { relative: 0.10, absolute: 0.05, below: 0.5 };
/// 10 % or 1.5 packets.
const MEAN: Band = Band { relative: 0.10, absolute: 1.5, below: f64::INFINITY };
/// 20 % or 1.5 packets.
const SPREAD: Band = Band { relative: 0.20, absolute: 1.5, below: f64::INFINITY };

const fn figure(
    name: &'static str,
    unit: &'static str,
    (ns2, metric): (&'static str, Metric),
    decimals: usize,
    band: Band,
    applies: fn(&Parameters) -> bool,
) -> Figure {
    Figure {
        name,
        unit,
        ns2,
        metric,
        in_mean_packets: matches!(metric, Metric::QueueBytes | Metric::QueueBytesStd),
        decimals,
        band,
        applies,
    }
}

fn always(_: &Parameters) -> bool {
    true
}

fn with_ecn(p: &Parameters) -> bool {
    p.is_set("ecn")
}

fn in_bytes(p: &Parameters) -> bool {
    p.is_set("bytes")
}

fn in_segments(p: &Parameters) -> bool {
    p.is_set("seg")
}

/// Every figure, in the order of the tables.
pub const FIGURES: &[Figure] = &[
    figure("utilisation", "%", ("util", Metric::Utilization), 2, SHARE, always),
    figure("loss", "%", ("loss", Metric::LossRate), 3, RATE, always),
    figure("marks", "%", ("mark", Metric::MarkRate), 3, RATE, with_ecn),
    figure("queue", "packets", ("qavg", Metric::QueueMean), 1, MEAN, always),
    figure("deviation", "packets", ("qstd", Metric::QueueStd), 1, SPREAD, always),
    figure(
        "deviation/segment",
        "packets",
        ("seg_qstd_mean", Metric::QueueSegmentStd),
        1,
        SPREAD,
        in_segments,
    ),
    figure("byte loss", "%", ("lossb", Metric::ByteLossRate), 3, RATE, in_bytes),
    figure("queue/bytes", "packets", ("qbavg", Metric::QueueBytes), 1, MEAN, in_bytes),
    figure("deviation/bytes", "packets", ("qbstd", Metric::QueueBytesStd), 1, SPREAD, in_bytes),
];

impl Figure {
    /// From what is stored to what tables show: shares become percent.
    fn scale(&self) -> f64 {
        if self.unit == "%" { 100.0 } else { 1.0 }
    }
}

/// A mean over seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Mean {
    pub value: f64,
    /// Its standard error; none from one seed.
    pub error: Option<f64>,
    pub seeds: usize,
}

impl Mean {
    /// None without samples.
    pub fn of(samples: &[f64]) -> Option<Mean> {
        let n = samples.len() as f64;
        let value = samples.iter().sum::<f64>() / n;
        let squares: f64 = samples.iter().map(|x| (x - value).powi(2)).sum();
        let error = (samples.len() > 1).then(|| (squares / (n - 1.0) / n).sqrt());
        (!samples.is_empty()).then_some(Mean { value, error, seeds: samples.len() })
    }
}

/// What came of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    Inside,
    Outside,
    /// Outside, and ns-2 is known to be wrong there.
    Excused,
}

/// One figure of one case.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub figure: &'static str,
    pub unit: &'static str,
    #[serde(skip)]
    pub decimals: usize,
    pub ns2: Mean,
    pub quell: Mean,
    pub band: f64,
    pub verdict: Standing,
    /// Why it is excused, or would be if it had to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excuse: Option<&'static Excuse>,
}

impl Row {
    pub fn difference(&self) -> f64 {
        self.quell.value - self.ns2.value
    }
}

/// One case.
#[derive(Clone, Debug, Serialize)]
pub struct Comparison {
    pub case: Name,
    pub rows: Vec<Row>,
    /// Why it is not compared, if it is not.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left_out: Option<String>,
    /// Little's law: the mean queue over what it should be, of the run that is farthest off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub little: Option<crate::little::Little>,
}

/// One replication of Quell: its figures, by metric.
pub type Samples<'a> = dyn Fn(Metric) -> Vec<f64> + 'a;

/// Compares a case with the samples of each metric.
pub fn rows(case: &Case, samples: &Samples<'_>) -> Vec<Row> {
    let p = &case.parameters;
    let row = |figure: &Figure| {
        let ns2: Vec<f64> =
            case.runs.iter().filter_map(|r| r.value(figure.ns2)).map(|x| x * figure.scale()).collect();
        let unit = if figure.in_mean_packets { p.number("meanpkt") } else { 1.0 };
        let quell: Vec<f64> = samples(figure.metric).iter().map(|x| x * figure.scale() / unit).collect();
        let (ns2, quell) = (Mean::of(&ns2)?, Mean::of(&quell)?);
        let band = figure.band.at(ns2.value);
        let excuse = crate::excuse::find(&case.name, figure.name);
        let verdict = match ((quell.value - ns2.value).abs() <= band, excuse) {
            (true, _) => Standing::Inside,
            (false, Some(_)) => Standing::Excused,
            (false, None) => Standing::Outside,
        };
        Some(Row {
            figure: figure.name,
            unit: figure.unit,
            decimals: figure.decimals,
            ns2,
            quell,
            band,
            verdict,
            excuse,
        })
    };
    FIGURES.iter().filter(|f| (f.applies)(p)).filter_map(row).collect()
}

impl Comparison {
    /// Whether nothing speaks against it.
    pub fn agrees(&self) -> bool {
        self.rows.iter().all(|r| r.verdict != Standing::Outside) && self.little.is_none_or(|l| l.holds())
    }
}

/// How many rows have a verdict.
pub fn count(comparisons: &[Comparison], verdict: Standing) -> usize {
    comparisons.iter().flat_map(|c| &c.rows).filter(|r| r.verdict == verdict).count()
}

/// Whether any figure that it covers lies outside its band.
pub fn needed(excuse: &Excuse, comparisons: &[Comparison]) -> bool {
    let rows = comparisons.iter().flat_map(|c| &c.rows);
    rows.filter(|r| r.verdict == Standing::Excused).any(|r| r.excuse == Some(excuse))
}
