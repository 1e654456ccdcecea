//! The documents' figures, drawn from what was found.

use quell_view::chart::{Chart, Choice, Curve, Diagram, Form, csv};
use quell_view::picture::{self, Sheet};

use crate::computed::Answer;
use crate::experiment::{Experiment, Figure, Place};
use crate::plan::Found;

/// A figure that was drawn, or why it was not.
#[derive(Clone, Debug)]
pub struct Drawn<'a> {
    /// The document's number.
    pub number: &'a str,
    /// What it shows.
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
}

/// Draws the figures of an experiment, and those that it computes.
pub fn draw<'a>(e: &'a Experiment, found: &Found) -> Vec<Drawn<'a>> {
    let mut drawn: Vec<Drawn<'a>> = Vec::new();
    let mut add = |number: &'a str, title: &'a str, picture| {
        let base = format!("{}-{}", e.id, crate::cells::slug(number));
        let again = drawn.iter().filter(|d| d.number == number).count();
        let name = if again == 0 { base } else { format!("{base}-{}", again + 1) };
        drawn.push(Drawn { number, title, name, picture });
    };
    for figure in &e.figures {
        add(&figure.number, &figure.title, simulated(e, figure, found));
    }
    for of in &e.computed {
        let Some(number) = &of.figure else { continue };
        let density = |run: &str| density(e, run, found);
        let picture = match of.compute.answer(&density) {
            Ok(Answer::Chart(chart)) => Ok(picture(e, number, &of.title, &chart)),
            Ok(Answer::Number(_)) => Err("is a number".to_string()),
            Err(why) => Err(why),
        };
        add(number, &of.title, picture);
    }
    drawn
}

/// The density of the queue in a run, of all its seeds.
fn density(e: &Experiment, run: &str, found: &Found) -> Result<Vec<(f64, f64)>, String> {
    let results = found.results(e, None, Some(run)).ok_or_else(|| format!("run \"{run}\": was not run"))?;
    let chart = Chart::of(results, Diagram::QueuePdf, &Choice::default())?;
    let curve = chart.curves().next().ok_or("has no queue")?;
    Ok(curve.x.iter().copied().zip(curve.y.iter().copied()).collect())
}

/// A chart as a picture and as numbers.
fn picture(e: &Experiment, number: &str, title: &str, chart: &Chart) -> Picture {
    let title = format!("Figure {number}: {title}");
    Picture { svg: picture::chart(&Sheet::new(&title, &e.title), chart), csv: csv(chart) }
}

fn simulated(e: &Experiment, figure: &Figure, found: &Found) -> Result<Picture, String> {
    let diagram = Diagram::find(&figure.kind).ok_or("there is no such diagram")?;
    let results = found
        .results(e, figure.reading.as_deref(), figure.run.as_deref())
        .ok_or("was not run under this reading")?;
    let place = Place { run: figure.run.clone(), at: figure.at.clone(), ..Place::default() };
    // A curve over a field is of all points, but for those that other fields leave out.
    let point = match (diagram, figure.at.is_empty()) {
        (Diagram::Metric, true) => 0,
        _ => found.spot(e, figure.reading.as_deref(), &place)?.view.point,
    };
    let metric = figure.metric.as_ref();
    let choice = Choice {
        point,
        link: figure.link.as_deref(),
        seed: None,
        algorithms: figure.algorithms.as_deref(),
        scope: figure.scope.as_deref().unwrap_or("all"),
        metric,
        over: figure.x.as_deref(),
        by: figure.by.as_deref(),
    };
    let mut chart = Chart::of(results, diagram, &choice)?;
    if let Some(log) = figure.log_x {
        chart.x.log = log;
    }
    for printed in &figure.printed {
        overlay(&mut chart, &printed.label, &printed.points);
    }
    let chart = if figure.panels { chart.apart() } else { chart };
    Ok(picture(e, &figure.number, &figure.title, &chart))
}

/// Adds printed points beside the curve of the same label, in each panel that has it.
fn overlay(chart: &mut Chart, label: &str, points: &[[f64; 2]]) {
    // A color of its own, beside that of the curve.
    let style = chart.curves().map(|c| c.style).max().unwrap_or(0) + 1;
    for panel in &mut chart.panels {
        panel.curves.push(Curve {
            label: format!("{label}, printed"),
            style,
            x: points.iter().map(|p| p[0]).collect(),
            y: points.iter().map(|p| p[1]).collect(),
            half_width: Vec::new(),
        });
    }
    if chart.form == Form::Line {
        chart.form = Form::Points;
    }
}
