//! Checks that what an experiment asks of its runs can be found there, before anything is run.

use std::path::Path;

use quell_lab::View;
use quell_view::chart::Diagram;

use super::Judge;
use crate::error::PaperError;
use crate::evidence::Evidence;
use crate::experiment::{CellPlace, Experiment, Figure, Papers, Refuted};
use crate::results::{ExperimentResults, NOT_RUN, Spot, same};

/// Refuses cells, claims and figures of points, algorithms, links, classes and segments that are not there. `planned`
/// has every run that will be, and nothing that it found.
pub(crate) fn check(papers: &Papers, e: &Experiment, planned: &ExperimentResults) -> Result<(), PaperError> {
    let judge = Judge { papers, e, found: planned, evidence: None };
    for (i, of) in e.cells.iter().enumerate() {
        for cell in papers.cells_of(of) {
            let (label, value) = (&of.algorithm[&cell.algorithm], &of.metric[&cell.metric]);
            let spot = planned.spot(e, of.reading.as_deref(), &of.place_of(cell));
            spot.and_then(|spot| spot.check(label, &value.quantity)).map_err(|why| {
                let case = cell.part(2).to_string();
                let at: &[&dyn std::fmt::Display] = match of.case.contains_key(&case) {
                    true => &[&"cells", &i, &"case", &case],
                    false => &[&"cells", &i, &"where"],
                };
                e.wrong(at, format!("{}: {why}", cell.id))
            })?;
        }
    }
    for (i, claim) in e.claims.iter().enumerate() {
        judge
            .check_test(&claim.test, claim.reading.as_deref())
            .map_err(|why| e.wrong(&[&"claim", &i, &"test"], format!("claim \"{}\": {why}", claim.name)))?;
    }
    for (i, refuted) in e.refuted.iter().enumerate() {
        let Some(evidence) = evidence_of(e, refuted)? else { continue };
        let with_ns2 = Judge { evidence: Some(&evidence), ..judge };
        for claim in e.claims.iter().filter(|claim| refuted.claims.contains(&claim.name)) {
            let reading = refuted.reading.as_deref().or(claim.reading.as_deref());
            with_ns2.check_evidence(&claim.test, reading).map_err(|why| {
                e.wrong(&[&"refuted", &i, &"figures"], format!("claim \"{}\": {why}", claim.name))
            })?;
        }
        evidence.all_asked()?;
    }
    for (i, figure) in e.figures.iter().enumerate() {
        drawn(e, figure, planned)
            .map_err(|why| e.wrong(&[&"figure", &i], format!("figure {}: {why}", figure.number)))?;
    }
    for (i, of) in e.computed.iter().enumerate() {
        for (j, border) in of.borders.iter().enumerate() {
            let at = |why: String| {
                e.wrong(&[&"computed", &i, &"border", &j], format!("border \"{}\": {why}", border.label))
            };
            let results = planned.results(e, None, border.run.as_deref());
            let results = results.ok_or_else(|| at(NOT_RUN.to_string()))?;
            let fields = border.at.keys().chain([&border.x, &border.y]);
            vary(results, fields).map_err(at)?;
            let spot = Spot { results, view: View::default() };
            spot.check(&border.algorithm, &border.metric.quantity).map_err(at)?;
        }
    }
    Ok(())
}

/// The values of ns-2 that are to refute claims.
pub(super) fn evidence_of(e: &Experiment, refuted: &Refuted) -> Result<Option<Evidence>, PaperError> {
    let folder = e.file.parent().unwrap_or(Path::new(""));
    refuted.figures.as_ref().map(|file| Evidence::read(&folder.join(file))).transpose()
}

/// Refuses fields that no point sets.
fn vary<'a>(
    results: &quell_lab::Results,
    mut fields: impl Iterator<Item = &'a String>,
) -> Result<(), String> {
    let sets =
        |field: &String| results.run.points.iter().any(|p| p.settings.iter().any(|s| s.field == *field));
    match fields.find(|field| !sets(field)) {
        Some(field) => Err(format!("{field}: no run varies it")),
        None => Ok(()),
    }
}

/// Refuses a figure of what is not there.
fn drawn(e: &Experiment, figure: &Figure, planned: &ExperimentResults) -> Result<(), String> {
    let reading = figure.reading.as_deref();
    let results = planned.results(e, reading, figure.run.as_deref()).ok_or(NOT_RUN)?;
    // Links are an axis without a field.
    let fields = figure.at.keys().chain(figure.x.iter().filter(|x| *x != "link"));
    vary(results, fields.chain(&figure.by).chain(figure.names.keys()))?;
    for panel in figure.printed.iter().filter_map(|printed| printed.panel.as_ref()) {
        let by =
            figure.by.as_ref().ok_or_else(|| format!("panel = \"{panel}\": \"by\" must name the field"))?;
        let settings = results.run.points.iter().flat_map(|p| &p.settings).filter(|s| s.field == *by);
        let values = quell_lab::distinct(settings.map(|setting| setting.value.as_str()));
        if !values.iter().any(|value| same(panel, value)) {
            return Err(format!("panel = \"{panel}\": is no value of {by}; there are {}", values.join(", ")));
        }
    }
    let place = CellPlace { run: figure.run.clone(), at: figure.at.clone(), ..CellPlace::default() };
    let diagram = Diagram::find(&figure.kind);
    let over_links = figure.x.as_deref() == Some("link");
    if diagram == Some(Diagram::Metric) && !over_links && results.run.points.len() < 2 {
        return Err(
            "kind = \"metric\": is drawn over what a run varies, and this one varies nothing".to_string()
        );
    }
    // A curve over a field is of all points, but for those that other fields leave out.
    let point = match (diagram, figure.at.is_empty()) {
        (Some(Diagram::Metric), true) if !over_links => 0,
        _ => planned.spot(e, reading, &place)?.view.point,
    };
    let scope = figure.scope.clone().unwrap_or_else(|| View::default().scope);
    let view = View { point, link: figure.link.clone(), segment: None, scope };
    let spot = Spot { results, view };
    let metric = figure.metric.clone().unwrap_or_else(|| quell_lab::Metric::QueueMean.into());
    let labels = figure.algorithms.as_deref().unwrap_or(&results.algorithms(point)[..1]);
    labels.iter().try_for_each(|label| spot.check(label, &metric))
}
