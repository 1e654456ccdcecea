//! The documents' figures, drawn from what was found.

use quell_lab::{Estimate, View};
use quell_units::Duration;
use quell_view::chart::{Chart, Choice, Curve, Diagram, Form, csv};
use quell_view::picture::{self, Ends, Sheet};

use crate::computed::{Answer, Border, Raised};
use crate::experiment::{CellPlace, Experiment, Figure, PrintedCurve};
use crate::live::{Recorded, choice, recorded};
use crate::results::{ExperimentResults, same, text_of};
use crate::units;

/// A figure that was drawn, or why it was not.
#[derive(Clone, Debug)]
pub struct Drawn<'a> {
    /// The document's number.
    pub number: &'a str,
    /// The figure.
    pub title: &'a str,
    /// Its file name without the ending: the experiment's id and the figure's number.
    pub name: String,
    /// The picture and its numbers as CSV, or why there is none.
    pub picture: Result<Picture, String>,
}

/// A picture and its numbers.
#[derive(Clone, Debug)]
pub struct Picture {
    /// SVG.
    pub svg: String,
    /// CSV.
    pub csv: String,
    /// A simulated point beside a live one.
    pub beside: Vec<Beside>,
}

/// A point of a curve, simulated and live.
#[derive(Clone, Debug, PartialEq)]
pub struct Beside {
    /// The algorithm's label.
    pub label: String,
    /// Its place along the axis.
    pub x: f64,
    /// The simulated value.
    pub simulated: f64,
    /// The value measured with real packets.
    pub live: f64,
}

/// The file names of an experiment's figures, without the ending: of those that are drawn from runs, and then of those that
/// it computes.
pub fn file_names(e: &Experiment) -> Vec<String> {
    let computed = e.computed.iter().filter_map(|of| of.figure.as_ref());
    let numbers: Vec<&String> = e.figures.iter().map(|figure| &figure.number).chain(computed).collect();
    let name = |(i, number): (usize, &&String)| {
        let base = format!("{}-{}", e.id, crate::cells::slug(number));
        match numbers[..i].iter().filter(|other| *other == number).count() {
            0 => base,
            again => format!("{base}-{}", again + 1),
        }
    };
    numbers.iter().enumerate().map(name).collect()
}

/// Draws the figures of an experiment, and those that it computes.
pub fn draw<'a>(e: &'a Experiment, found: &ExperimentResults) -> Vec<Drawn<'a>> {
    let mut names = file_names(e).into_iter();
    let mut drawn: Vec<Drawn<'a>> = Vec::new();
    let mut add = |number: &'a str, title: &'a str, picture| {
        let name = names.next().unwrap_or_default();
        drawn.push(Drawn { number, title, name, picture });
    };
    for figure in &e.figures {
        add(&figure.number, &figure.title, simulated(e, figure, found));
    }
    for of in &e.computed {
        let Some(number) = &of.figure else { continue };
        let density = |run: &str| density(e, run, found);
        let picture = match of.compute.answer(&density) {
            Ok(Answer::Chart(mut chart)) => {
                let drawn = of.borders.iter().try_for_each(|of| add_border(&mut chart, e, of, found));
                drawn.map(|()| picture(e, number, &of.title, &chart, Ends::default()))
            }
            Ok(Answer::Number(_)) => Err("is a number".to_string()),
            Err(why) => Err(why),
        };
        add(number, &of.title, picture);
    }
    drawn
}

/// The density of the queue in a run, of all its seeds.
fn density(e: &Experiment, run: &str, found: &ExperimentResults) -> Result<Vec<(f64, f64)>, String> {
    let results = found.results(e, None, Some(run)).ok_or_else(|| format!("run \"{run}\": was not run"))?;
    let chart = Chart::of(results, Diagram::QueuePdf, &Choice::default())?;
    let curve = chart.curves().next().ok_or("has no queue")?;
    Ok(curve.x.iter().copied().zip(curve.y.iter().copied()).collect())
}

/// Adds the border that runs show to the panels that it belongs to.
fn add_border(
    chart: &mut Chart,
    e: &Experiment,
    of: &Border,
    found: &ExperimentResults,
) -> Result<(), String> {
    let points = border(e, of, found)?;
    let style = chart.curves().map(|c| c.style).max().unwrap_or(0) + 1;
    for panel in chart.panels.iter_mut().filter(|p| of.panel.as_ref().is_none_or(|title| p.title == *title)) {
        let (x, y) = points.iter().copied().unzip();
        panel.curves.push(Curve::new(of.label.clone(), style, x, y));
    }
    Ok(())
}

/// The border at which a quantity leaves its range as a field is raised: between the last point within and the first one outside,
/// in proportion. Where it never leaves it, or is outside from the first point on, the border is not within the runs.
fn border(e: &Experiment, of: &Border, found: &ExperimentResults) -> Result<Vec<(f64, f64)>, String> {
    let results = found.results(e, None, of.run.as_deref()).ok_or("was not run")?;
    let (raised, fixed) = if of.raised == Raised::X { (&of.x, &of.y) } else { (&of.y, &of.x) };
    // By the fixed field: the raised one, and the mean.
    let mut series: Vec<(f64, Vec<(f64, f64)>)> = Vec::new();
    for (point, info) in results.run.points.iter().enumerate() {
        let text =
            |field: &String| info.settings.iter().find(|s| s.field == *field).map(|s| s.value.as_str());
        if !of.at.iter().all(|(field, value)| text(field).is_some_and(|v| same(v, &text_of(value)))) {
            continue;
        }
        let number = |field: &String| {
            let text = text(field).ok_or_else(|| format!("{field}: the run does not vary it"))?;
            let seconds = || text.parse::<Duration>().ok().map(|time| time.as_secs_f64());
            text.parse::<f64>().ok().or_else(seconds).ok_or_else(|| format!("{field} = {text}: is no number"))
        };
        let view = View { point, ..View::default() };
        let samples = results.samples(&view, &of.algorithm, &of.metric.quantity);
        let Some(mean) = Estimate::of(&samples.iter().map(|s| of.metric.factor * s.1).collect::<Vec<_>>())
        else {
            return Err(format!("{} has no {}", of.algorithm, of.metric.quantity));
        };
        let (at, fixed) = (number(raised)?, number(fixed)?);
        match series.iter_mut().find(|(own, _)| *own == fixed) {
            Some((_, points)) => points.push((at, mean.mean)),
            None => series.push((fixed, vec![(at, mean.mean)])),
        }
    }
    series.sort_by(|a, b| a.0.total_cmp(&b.0));
    let [low, high] = of.leaves;
    let crossing = |points: &mut Vec<(f64, f64)>| {
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let first = points.iter().position(|(_, mean)| *mean < low || *mean > high)?;
        let ((x0, y0), (x1, y1)) = (points[first.checked_sub(1)?], points[first]);
        let end = if y1 < low { low } else { high };
        Some(x0 + (x1 - x0) * (end - y0) / (y1 - y0))
    };
    let place = |at: f64, fixed: f64| if of.raised == Raised::X { (at, fixed) } else { (fixed, at) };
    Ok(series.iter_mut().filter_map(|(fixed, points)| Some(place(crossing(points)?, *fixed))).collect())
}

/// The name of a figure: one that has no number of the document has only its own.
pub(crate) fn named(number: &str) -> String {
    let mut letters = number.chars();
    match letters.next() {
        Some(first) if !first.is_ascii_digit() => first.to_uppercase().chain(letters).collect(),
        _ => format!("Figure {number}"),
    }
}

/// A chart as a picture and as numbers.
fn picture(e: &Experiment, number: &str, title: &str, chart: &Chart, ends: Ends) -> Picture {
    let title = format!("{}: {title}", named(number));
    let svg = picture::chart_within(&Sheet::new(&title, &e.title), chart, ends);
    Picture { svg, csv: csv(chart), beside: Vec::new() }
}

fn simulated(e: &Experiment, figure: &Figure, found: &ExperimentResults) -> Result<Picture, String> {
    let diagram = Diagram::find(&figure.kind).ok_or("there is no such diagram")?;
    let results = found
        .results(e, figure.reading.as_deref(), figure.run.as_deref())
        .ok_or("was not run under this reading")?;
    let place = CellPlace { run: figure.run.clone(), at: figure.at.clone(), ..CellPlace::default() };
    // A curve over a field is of all points, but for those that other fields leave out.
    let point = match (diagram, figure.at.is_empty()) {
        (Diagram::Metric, true) if figure.x.as_deref() != Some("link") => 0,
        _ => found.spot(e, figure.reading.as_deref(), &place)?.view.point,
    };
    let mut chart = match &figure.scopes {
        Some(scopes) => by_scope(results, figure, point, scopes)?,
        None => Chart::of(results, diagram, &choice(figure, point))?,
    };
    if let Some(log) = figure.log_x {
        chart.x.log = log;
    }
    if figure.accumulated {
        accumulate(&mut chart);
    }
    for printed in &figure.printed {
        overlay(&mut chart, printed);
    }
    for (field, name) in &figure.names {
        // The unit stays.
        match chart.x.label.strip_prefix(field.as_str()) {
            Some(unit) if unit.is_empty() || unit.starts_with(" (") => {
                chart.x.label = format!("{name}{unit}")
            }
            _ => {}
        }
        if chart.panel_key == *field {
            chart.panel_key.clone_from(name);
        }
    }
    let mut chart = if figure.panels && figure.scopes.is_none() { chart.apart() } else { chart };
    let beside = match &figure.live {
        Some(file) => recorded(e, file)?.map_or_else(Vec::new, |live| beside(&mut chart, &live)),
        None => Vec::new(),
    };
    // At the end: what is laid over is in the chart's own units, and becomes the document's with it.
    figure.give_axes(&mut chart)?;
    Ok(Picture { beside, ..picture(e, &figure.number, &figure.title, &chart, figure.ends()) })
}

/// The throughput of each class, a curve each, and a panel for each algorithm.
fn by_scope(
    results: &quell_lab::Results,
    figure: &Figure,
    point: usize,
    scopes: &[String],
) -> Result<Chart, String> {
    let mut all: Option<Chart> = None;
    for (style, scope) in scopes.iter().enumerate() {
        let of_scope = Choice { scope, ..choice(figure, point) };
        let mut chart = Chart::of(results, Diagram::Throughput, &of_scope)?.apart();
        // In bit/s, whatever fits each class.
        let (_, shown) = chart
            .y
            .rsplit_once(" (")
            .and_then(|(_, u)| units::shown(u.trim_end_matches(')')))
            .ok_or("has no unit")?;
        for curve in chart.panels.iter_mut().flat_map(|p| &mut p.curves) {
            curve.y.iter_mut().for_each(|y| *y /= shown);
            (curve.label, curve.style) = (scope.clone(), style);
        }
        chart.y = "throughput (bit/s)".to_string();
        match &mut all {
            None => all = Some(chart),
            Some(all) => {
                for panel in chart.panels {
                    if let Some(own) = all.panels.iter_mut().find(|p| p.title == panel.title) {
                        own.curves.extend(panel.curves);
                    }
                }
            }
        }
    }
    all.ok_or_else(|| "scopes = []: must name at least one class".to_string())
}

/// The values as rates, added up over the steps from the beginning; the unit loses its "/s".
fn accumulate(chart: &mut Chart) {
    for curve in chart.panels.iter_mut().flat_map(|panel| &mut panel.curves) {
        let (mut sum, mut before) = (0.0, 0.0);
        for (x, y) in curve.x.iter().zip(&mut curve.y) {
            sum += *y * (x - before);
            (before, *y) = (*x, sum);
        }
    }
    let unit = |per_second: &str| per_second.replace("bit/s", "bit").replace("packets/s", "packets");
    chart.y = unit(&chart.y).replace("throughput", "sent since the beginning");
}

/// Adds live points to the panels of their algorithms, and says which simulated ones they stand beside.
fn beside(chart: &mut Chart, live: &Recorded) -> Vec<Beside> {
    let mut all = Vec::new();
    if live.y != chart.y {
        return all;
    }
    let apart = chart.panel_key == "algorithm";
    let styles = chart.curves().map(|c| c.style).max().unwrap_or(0) + 1;
    for (i, (label, points)) in live.curves.iter().enumerate() {
        for panel in chart.panels.iter_mut().filter(|p| !apart || p.title == *label) {
            let Some(curve) = panel.curves.iter().find(|c| c.label == *label) else { continue };
            for [x, y] in points {
                // What is on record has twelve digits.
                let at = curve.x.iter().position(|own| (own - x).abs() <= 1e-9 * own.abs());
                all.extend(at.map(|at| Beside {
                    label: label.clone(),
                    x: *x,
                    simulated: curve.y[at],
                    live: *y,
                }));
            }
            panel.curves.push(Curve {
                label: if apart { "live".to_string() } else { format!("{label}, live") },
                style: if apart { styles } else { styles + i },
                x: points.iter().map(|p| p[0]).collect(),
                y: points.iter().map(|p| p[1]).collect(),
                ..Curve::default()
            });
        }
    }
    all
}

/// Adds printed points to the panel that they belong to, or to all.
fn overlay(chart: &mut Chart, printed: &PrintedCurve) {
    let label = format!("{}, printed", printed.label);
    // A color of its own, beside that of the curve, and the same in each panel.
    let known = chart.curves().find(|c| c.label == label).map(|c| c.style);
    let style = known.unwrap_or_else(|| chart.curves().map(|c| c.style).max().unwrap_or(0) + 1);
    let factor = chart.y_factor;
    for panel in
        chart.panels.iter_mut().filter(|p| printed.panel.as_ref().is_none_or(|of| same(of, &p.title)))
    {
        panel.curves.push(Curve {
            label: label.clone(),
            style,
            x: printed.points.iter().map(|p| p[0]).collect(),
            y: printed.points.iter().map(|p| p[1] * factor).collect(),
            ..Curve::default()
        });
    }
    if chart.form == Form::Line {
        chart.form = Form::Points;
    }
}
