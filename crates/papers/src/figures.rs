//! The documents' figures, drawn from what was found.

use quell_lab::Metric;
use quell_view::chart::{Chart, Choice, Curve, Diagram, Form, csv};
use quell_view::picture::{self, Sheet};

use crate::experiment::{Experiment, Figure, Place};
use crate::plan::Found;

/// A figure that was drawn, or why it was not.
#[derive(Clone, Debug)]
pub struct Drawn<'a> {
    /// What it is.
    pub figure: &'a Figure,
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

/// Draws the figures of an experiment.
pub fn draw<'a>(e: &'a Experiment, found: &Found) -> Vec<Drawn<'a>> {
    let mut drawn: Vec<Drawn<'a>> = Vec::new();
    for figure in &e.figures {
        let base = format!("{}-{}", e.id, crate::cells::slug(&figure.number));
        let again =
            drawn.iter().filter(|d| d.name == base || d.name.starts_with(&format!("{base}-"))).count();
        let name = if again == 0 { base } else { format!("{base}-{}", again + 1) };
        drawn.push(Drawn { figure, name, picture: picture(e, figure, found) });
    }
    drawn
}

fn picture(e: &Experiment, figure: &Figure, found: &Found) -> Result<Picture, String> {
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
    let metric = match &figure.metric {
        Some(name) => Metric::find(name).ok_or_else(|| format!("metric \"{name}\": there is none"))?,
        None => Metric::Utilization,
    };
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
    let title = format!("Figure {}: {}", figure.number, figure.title);
    let svg = picture::chart(&Sheet::new(&title, &e.title), &chart);
    Ok(Picture { svg, csv: csv(&chart) })
}

/// Adds printed points beside the curve of the same label, in each panel that has it.
fn overlay(chart: &mut Chart, label: &str, points: &[[f64; 2]]) {
    let styles = chart.curves().map(|c| c.style).max().unwrap_or(0) + 1;
    for panel in &mut chart.panels {
        let style = panel.curves.iter().find(|c| c.label == label).map_or(styles, |c| c.style);
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
