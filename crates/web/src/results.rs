//! Results for people: tables, figures and the report, from the code of the command.

use std::collections::BTreeMap;

use quell_metrics::{Better, Estimate, Metric, Quantity, Results, View};
use quell_units::text::cut;
use quell_view::chart::{Chart as Drawn, Choice, Diagram, csv, text};
use quell_view::figures::{Scale, round, round_within, scale_of};
use quell_view::grid::Grid;
use quell_view::picture::{Paper, Sheet, chart as picture, chart_on};
use quell_view::report::{best, html};
use quell_view::style::Style;

use crate::fault::Fault;
use crate::protocol::{
    Chart, ChartRequest, Report, Table, TableCell, TableColumn, TableDifference, TableRequest, TableRow,
};

/// The columns of a figure as text.
const TEXT_WIDTH: usize = 80;

pub(crate) fn table(results: &Results, ask: &TableRequest) -> Result<Table, Fault> {
    let point = ask.point.unwrap_or(0);
    let known = check(results, point, ask.link.as_deref())?;
    if let Some(baseline) = &ask.baseline
        && !known.algorithms.contains(baseline)
    {
        let there = known.algorithms.join(", ");
        return Err(Fault::request(format!("baseline \"{}\": here are: {there}", cut(baseline))));
    }
    let scope = ask.scope.clone().unwrap_or_else(|| "all".to_string());
    let metrics = match ask.metrics.is_empty() {
        true => Metric::table_of(&scope).iter().map(|metric| Quantity::from(*metric)).collect(),
        false => ask.metrics.iter().map(|name| quantity(name)).collect::<Result<Vec<_>, _>>()?,
    };
    let view = View { point, link: ask.link.clone(), segment: ask.segment, scope };
    let estimates: Vec<Vec<Option<Estimate>>> = metrics
        .iter()
        .map(|m| known.algorithms.iter().map(|a| results.estimate(&view, a, m)).collect())
        .collect();
    let shown: Vec<usize> =
        (0..metrics.len()).filter(|i| estimates[*i].iter().any(Option::is_some)).collect();
    let mut columns = Vec::new();
    let mut rows: Vec<TableRow> = known
        .algorithms
        .iter()
        .map(|algorithm| TableRow {
            algorithm: algorithm.clone(),
            seeds: results.finished(point, algorithm),
            cells: Vec::new(),
        })
        .collect();
    for i in shown {
        let (metric, values) = (&metrics[i], &estimates[i]);
        let means = || values.iter().flatten().map(|e| e.mean);
        let stored = results.unit(metric);
        let (scale, unit) = scale_of(metric, &stored, means().map(f64::abs).fold(0.0, f64::max));
        let best = best(results, &view, &known.algorithms, metric);
        for (place, (row, value)) in rows.iter_mut().zip(values).enumerate() {
            let difference = ask.baseline.as_ref().filter(|baseline| **baseline != row.algorithm);
            let difference =
                difference.and_then(|base| results.difference(&view, base, &row.algorithm, metric));
            row.cells.push(value.as_ref().map(|estimate| TableCell {
                best: best == Some(place),
                difference: difference.map(|d| of_difference(&d, scale)),
                ..cell(estimate, metric, scale)
            }));
        }
        columns.push(TableColumn {
            metric: metric.to_string(),
            title: metric.title(),
            unit,
            stored_unit: stored,
            better: match metric.better() {
                Better::Higher => "higher",
                Better::Lower => "lower",
                Better::Neither => "neither",
            },
        });
    }
    let views = [view];
    let grid = match &ask.baseline {
        Some(baseline) => Grid::compared(results, &views, &metrics, baseline, None),
        None => Grid::of(results, &views, &metrics),
    };
    let mut notes = results.notes();
    notes.extend(metrics.iter().filter_map(|metric| results.lacks(metric)));
    Ok(Table { columns, rows, notes, csv: grid.csv(), markdown: grid.markdown(), latex: grid.latex() })
}

fn cell(estimate: &Estimate, metric: &Quantity, scale: Scale) -> TableCell {
    let figure = round_within(estimate, scale, metric.range());
    let interval = estimate.interval_within(metric.range());
    TableCell {
        mean: estimate.mean,
        low: interval.map(|(low, _)| low),
        high: interval.map(|(_, high)| high),
        n: estimate.n,
        interval: figure.interval(),
        text: figure.mean,
        best: false,
        difference: None,
    }
}

fn of_difference(difference: &Estimate, scale: Scale) -> TableDifference {
    let figure = round(difference, scale, true);
    let interval = difference.interval();
    TableDifference {
        mean: difference.mean,
        low: interval.map(|(low, _)| low),
        high: interval.map(|(_, high)| high),
        significant: difference.excludes_zero(),
        text: format!("{} {}", figure.mean, figure.interval()).trim_end().to_string(),
    }
}

pub(crate) fn chart(results: &Results, ask: &ChartRequest) -> Result<Chart, Fault> {
    let Some(diagram) = Diagram::find(&ask.diagram) else {
        let known: Vec<&str> = Diagram::ALL.iter().map(|d| d.name()).collect();
        let (name, known) = (cut(&ask.diagram), known.join(", "));
        return Err(Fault::request(format!("diagram \"{name}\": is not known; known: {known}")));
    };
    let point = ask.point.unwrap_or(0);
    check(results, point, ask.link.as_deref())?;
    let metric = ask.metric.as_ref().map(|name| quantity(name)).transpose()?;
    let choice = Choice {
        point,
        link: ask.link.as_deref(),
        seed: ask.seed.map(|seed| seed.0),
        algorithms: ask.algorithms.as_deref(),
        scope: ask.scope.as_deref().unwrap_or("all"),
        metric: metric.as_ref(),
        over: ask.over.as_deref(),
        by: ask.by.as_deref(),
        in_bytes: ask.in_bytes.unwrap_or(false),
    };
    let drawn = Drawn::of(results, diagram, &choice).map_err(Fault::request)?;
    let drawn = if ask.panels.unwrap_or(false) { drawn.apart() } else { drawn };
    let sheet = Sheet::new(&drawn.title, &results.run.title);
    let usual =
        ask.width.is_none() && ask.height.is_none() && ask.font_size.is_none() && ask.titled.is_none();
    let svg = match usual {
        true => picture(&sheet, &drawn),
        false => {
            let paper = Paper {
                width: ask.width.unwrap_or(800.0).clamp(48.0, 9600.0),
                height: ask.height,
                font: None,
                font_size: ask.font_size.unwrap_or(9.0).clamp(4.0, 48.0) / 0.75,
                titled: ask.titled.unwrap_or(true),
            };
            chart_on(&paper, &sheet, &drawn).map_err(|why| Fault::request(format!("the picture {why}")))?
        }
    };
    let styles: BTreeMap<usize, _> =
        drawn.curves().map(|curve| (curve.style, Style::number(curve.style).into())).collect();
    Ok(Chart { svg, csv: csv(&drawn), text: text(&drawn, TEXT_WIDTH, false), styles, chart: drawn })
}

pub(crate) fn report(results: &Results) -> Report {
    Report { html: html(results) }
}

fn quantity(name: &str) -> Result<Quantity, Fault> {
    name.parse().map_err(|why| Fault::request(format!("metric {}: {why}", cut(name))))
}

/// The point of a number, if it is there and has the link.
fn check<'a>(
    results: &'a Results,
    point: usize,
    link: Option<&str>,
) -> Result<&'a quell_metrics::PointInfo, Fault> {
    let points = &results.run.points;
    let there = points.len();
    let found = points
        .get(point)
        .ok_or_else(|| Fault::request(format!("point {point}: the results have {there}, counted from 0")))?;
    match link.filter(|link| !found.links.iter().any(|l| l == link)) {
        Some(link) => {
            let there = found.links.join(", ");
            Err(Fault::request(format!("link \"{}\": here are: {there}", cut(link))))
        }
        None => Ok(found),
    }
}
