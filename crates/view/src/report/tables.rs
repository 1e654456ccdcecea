//! The report's tables.

use quell_metrics::{Better, Estimate, LANE, Metric, PointInfo, Quantity, Range, Results, SIZE, SIZES, View};
use quell_units::text::seconds;

use crate::figures::{self, Figure, Scale};

/// A table, ready to be written.
pub(super) struct Table {
    /// Its title.
    pub caption: String,
    /// The headings of the columns that say what a row is.
    pub keys: Vec<&'static str>,
    /// The other headings.
    pub columns: Vec<Column>,
    /// True if each row says what it means, in a last column.
    pub explained: bool,
    /// The rows.
    pub rows: Vec<Row>,
}

pub(super) struct Column {
    pub title: String,
    pub unit: String,
    /// Its meaning, shown when pointed at.
    pub doc: String,
}

pub(super) struct Row {
    pub keys: Vec<String>,
    pub cells: Vec<Option<Cell>>,
    /// The meaning of the row, in an explained table.
    pub doc: Option<&'static str>,
}

pub(super) struct Cell {
    /// The unrounded value, for sorting.
    pub value: f64,
    pub figure: Figure,
    /// The number of replications, where that is fewer than were asked for.
    pub fewer: Option<usize>,
    /// Its CSS class: `number`, and `best` or `significant` where that applies.
    pub class: &'static str,
}

/// The algorithms and the place whose figures it has.
struct Line<'a> {
    keys: Vec<String>,
    view: View,
    algorithm: &'a str,
}

/// Algorithms by metrics: the main table.
pub(super) fn main(results: &Results, view: &View, point: &PointInfo) -> Table {
    let lines: Vec<_> = point
        .algorithms
        .iter()
        .map(|a| Line { keys: vec![a.clone()], view: view.clone(), algorithm: a })
        .collect();
    let mut table = by_metric(results, point, &["algorithm"], &lines, Metric::TABLE);
    table.caption =
        "Means over the replications ± half the width of the 95% confidence interval, or [low, high] if the interval \
         is cut off at a limit of the metric".to_string();
    for (column, metric) in Metric::TABLE.iter().enumerate() {
        if let Some(best) = best(results, view, &point.algorithms, &Quantity::from(*metric))
            && let Some(cell) = table.rows.get_mut(best).and_then(|r| r.cells.get_mut(column)?.as_mut())
        {
            cell.class = "number best";
        }
    }
    table
}

/// The algorithm that is better in `of` than each other one by more than chance explains: its paired difference from every
/// other algorithm excludes zero. `None` if there is no such algorithm, no other one, or no better direction.
pub fn best(results: &Results, view: &View, algorithms: &[String], of: &Quantity) -> Option<usize> {
    let sign = match of.better() {
        Better::Higher => 1.0,
        Better::Lower => -1.0,
        Better::Neither => return None,
    };
    let score = |a: &String| Some(sign * results.estimate(view, a, of)?.mean);
    let scores: Vec<(usize, &String, f64)> =
        algorithms.iter().enumerate().filter_map(|(i, a)| Some((i, a, score(a)?))).collect();
    let (at, leader, _) = scores.iter().max_by(|x, y| x.2.total_cmp(&y.2))?;
    let beats = |(_, other, _): &(usize, &String, f64)| {
        results.difference(view, leader, other, of.clone()).is_some_and(|d| d.excludes_zero())
    };
    let mut rivals = scores.iter().filter(|(i, ..)| i != at).peekable();
    (rivals.peek().is_some() && rivals.all(beats)).then_some(*at)
}

/// Traffic classes and algorithms by metrics; `None` if there is only one class.
pub(super) fn classes(results: &Results, view: &View, point: &PointInfo) -> Option<Table> {
    const METRICS: &[Metric] = &[
        Metric::Throughput,
        Metric::Goodput,
        Metric::LossRate,
        Metric::ArrivalShare,
        Metric::LossShare,
        Metric::AirtimeShare,
        Metric::MarkRate,
        Metric::RetransmissionRate,
        Metric::QueueSeen,
        Metric::DelayMean,
        Metric::DelayP99,
        Metric::Jain,
        Metric::Transfers,
        Metric::FctMean,
        Metric::FctP95,
        Metric::SlowdownMean,
        Metric::SlowdownP95,
    ];
    let scopes = results.scopes(view.point);
    let scopes: Vec<_> = scopes.iter().filter(|s| *s != "all" && !s.starts_with(SIZE)).collect();
    let lines: Vec<_> = scopes
        .iter()
        .flat_map(|scope| {
            point.algorithms.iter().map(move |a| Line {
                keys: vec![scope.to_string(), a.clone()],
                view: View { scope: scope.to_string(), ..view.clone() },
                algorithm: a,
            })
        })
        // An algorithm has the lanes of its own.
        .filter(|line| {
            !line.view.scope.starts_with(LANE)
                || results.estimate(&line.view, line.algorithm, Metric::ArrivedPackets).is_some()
        })
        .collect();
    let mut table = by_metric(results, point, &["traffic", "algorithm"], &lines, METRICS);
    let lanes = if lines.iter().any(|line| line.view.scope.starts_with(LANE)) {
        "; \u{201c}lane\u{201d}: one queue of several"
    } else {
        ""
    };
    table.caption = format!("By traffic class (\u{201c}data\u{201d}: everything but acknowledgments{lanes})");
    finish(table)
}

/// Transfers by size and algorithm; `None` if there are none.
pub(super) fn sizes(results: &Results, view: &View, point: &PointInfo) -> Option<Table> {
    let scopes = results.scopes(view.point);
    // By size: an algorithm may have finished one that the first had not.
    let each = SIZES.iter().map(|(name, _)| (format!("{SIZE}{name}"), *name));
    let lines: Vec<_> = each
        .filter(|(scope, _)| scopes.contains(scope))
        .flat_map(|(scope, name)| {
            point.algorithms.iter().map(move |a| Line {
                keys: vec![name.to_string(), a.clone()],
                view: View { scope: scope.clone(), ..view.clone() },
                algorithm: a,
            })
        })
        .collect();
    let mut table = by_metric(results, point, &["size", "algorithm"], &lines, Metric::OF_TRANSFERS);
    table.caption = "Transfers by size".to_string();
    finish(table)
}

/// Segments and algorithms by metrics; `None` unless the window is cut.
pub(super) fn segments(results: &Results, view: &View, point: &PointInfo) -> Option<Table> {
    if point.segments.len() < 2 {
        return None;
    }
    let lines: Vec<_> = point
        .segments
        .iter()
        .enumerate()
        .flat_map(|(i, (from, to))| {
            point.algorithms.iter().map(move |a| Line {
                keys: vec![format!("{}\u{2013}{} s", seconds(*from), seconds(*to)), a.clone()],
                view: View { segment: Some(i as u32), ..view.clone() },
                algorithm: a,
            })
        })
        .collect();
    let mut table = by_metric(results, point, &["segment", "algorithm"], &lines, Metric::TABLE);
    table.caption = "By segment of the measured window".to_string();
    finish(table)
}

/// Every metric that applies, one per row, and a column per algorithm.
pub(super) fn everything(results: &Results, view: &View, point: &PointInfo) -> Table {
    let row = |metric: &Metric| {
        let estimates: Vec<_> = point.algorithms.iter().map(|a| results.estimate(view, a, *metric)).collect();
        let scale = scale_of(*metric, &estimates)?;
        Some(Row {
            keys: vec![metric.title().to_string(), scale.unit.to_string()],
            cells: estimates.iter().map(|e| cell(e.as_ref()?, scale, point, metric.range())).collect(),
            doc: Some(metric.doc()),
        })
    };
    let column = |a: &String| Column { title: a.clone(), unit: String::new(), doc: String::new() };
    Table {
        caption: "All metrics that apply, over the whole measured window".to_string(),
        keys: vec!["figure", "unit"],
        explained: true,
        columns: point.algorithms.iter().map(column).collect(),
        rows: Metric::ALL.iter().filter_map(row).collect(),
    }
}

/// The averages of the internal signals, one per row, and a column per algorithm; `None` without any.
pub(super) fn internals(results: &Results, view: &View, point: &PointInfo) -> Option<Table> {
    let link = view.link.as_ref().or(point.links.first())?;
    let row = |signal: &&str| {
        let figure = Quantity::internal(signal);
        let unit = Some(results.unit(&figure)).filter(|unit| unit != "1").unwrap_or_default();
        let scale = Scale { factor: 1.0, unit: "" };
        let estimate = |a: &String| cell(&results.estimate(view, a, &figure)?, scale, point, figure.range());
        Row {
            keys: vec![signal.to_string(), unit],
            cells: point.algorithms.iter().map(estimate).collect(),
            doc: None,
        }
    };
    let column = |a: &String| Column { title: a.clone(), unit: String::new(), doc: String::new() };
    finish(Table {
        caption: "Internal signals: means of the samples over the whole measured window".to_string(),
        keys: vec!["signal", "unit"],
        explained: false,
        columns: point.algorithms.iter().map(column).collect(),
        rows: results.signals(view.point, link).iter().map(row).collect(),
    })
}

/// Each algorithm's paired difference from the first one; `None` without another or without pairs.
pub(super) fn differences(results: &Results, view: &View, point: &PointInfo) -> Option<Table> {
    let (baseline, others) = point.algorithms.split_first()?;
    let all = results.compare(view, baseline, Metric::TABLE);
    let find =
        |a: &String, m: Metric| all.iter().find(|d| d.algorithm == *a && d.metric == m).map(|d| d.difference);
    let mut table = Table {
        caption: format!("Difference from {baseline}, paired by seed; bold if the interval excludes zero"),
        keys: vec!["algorithm"],
        explained: false,
        columns: Vec::new(),
        rows: others.iter().map(|a| Row { keys: vec![a.clone()], cells: Vec::new(), doc: None }).collect(),
    };
    for metric in Metric::TABLE {
        let estimates: Vec<_> = others.iter().map(|a| find(a, *metric)).collect();
        let Some(scale) = scale_of(*metric, &estimates) else { continue };
        table.columns.push(column(*metric, scale));
        for (row, estimate) in table.rows.iter_mut().zip(&estimates) {
            row.cells.push(estimate.as_ref().and_then(|e| {
                let mut cell = cell(e, scale, point, None)?;
                cell.class = if e.excludes_zero() { "number significant" } else { "number" };
                Some(cell)
            }));
        }
    }
    finish(table)
}

fn finish(table: Table) -> Option<Table> {
    (!table.rows.is_empty() && !table.columns.is_empty()).then_some(table)
}

/// One row per line, one column per metric that applies to any of them (all of them if they are the
/// standard ones: a reader looks for those).
fn by_metric(
    results: &Results,
    point: &PointInfo,
    keys: &[&'static str],
    lines: &[Line<'_>],
    metrics: &[Metric],
) -> Table {
    let mut columns = Vec::new();
    let mut rows: Vec<Row> =
        lines.iter().map(|l| Row { keys: l.keys.clone(), cells: Vec::new(), doc: None }).collect();
    for metric in metrics {
        let estimates: Vec<_> =
            lines.iter().map(|l| results.estimate(&l.view, l.algorithm, *metric)).collect();
        let scale = match scale_of(*metric, &estimates) {
            Some(scale) => scale,
            None if metrics == Metric::TABLE => figures::scale(*metric, 0.0),
            None => continue,
        };
        columns.push(column(*metric, scale));
        for (row, estimate) in rows.iter_mut().zip(&estimates) {
            row.cells.push(estimate.as_ref().and_then(|e| cell(e, scale, point, metric.range())));
        }
    }
    rows.retain(|r| r.cells.iter().any(Option::is_some) || metrics == Metric::TABLE);
    Table { caption: String::new(), keys: keys.to_vec(), columns, explained: false, rows }
}

fn column(metric: Metric, scale: Scale) -> Column {
    Column { title: metric.title().to_string(), unit: scale.unit.to_string(), doc: metric.doc().to_string() }
}

/// The scale that fits the largest of the estimates; `None` without any.
fn scale_of(metric: Metric, estimates: &[Option<Estimate>]) -> Option<Scale> {
    let largest = estimates.iter().flatten().map(|e| e.mean.abs()).reduce(f64::max)?;
    Some(figures::scale(metric, largest))
}

/// A cell of a figure that can only be within a range; of a difference, with its sign, without one.
fn cell(
    estimate: &Estimate,
    scale: Scale,
    point: &PointInfo,
    range: impl Into<Option<Range>>,
) -> Option<Cell> {
    let figure = match range.into() {
        Some(range) => figures::round_within(estimate, scale, range),
        None => figures::round(estimate, scale, true),
    };
    estimate.mean.is_finite().then(|| Cell {
        value: estimate.mean * scale.factor,
        figure: typeset(figure),
        fewer: (estimate.n < point.seeds.len()).then_some(estimate.n),
        class: "number",
    })
}

/// A number with a minus that is as wide as a plus.
fn typeset(figure: Figure) -> Figure {
    Figure { mean: figure.mean.replace('-', "\u{2212}"), ..figure }
}
