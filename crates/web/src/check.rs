//! What a scenario describes, without running it.

use quell_metrics::PointInfo;
use quell_scenario::format::Kind;
use quell_scenario::{Places, Point, Study};
use quell_view::chart::events;
use quell_view::style::{Style, of_labels};

use crate::fault::Fault;
use crate::protocol::{CheckRequest, Checked, CheckedAlgorithm, CheckedPoint, Seed};

/// More seeds than these are only counted.
const MOST_SEEDS: usize = 1000;

pub(crate) fn check(study: &Study, ask: &CheckRequest) -> Result<Checked, Fault> {
    let asked = ask.point.unwrap_or(0);
    let shown = point(&study.points, asked)?;
    let resolved = shown.to_toml();
    let defaults = toml::from_str::<toml::Table>(&resolved)
        .map_err(|e| e.to_string())
        .and_then(|table| serde_json::to_value(table).map_err(|e| e.to_string()));
    let defaults =
        defaults.map_err(|e| Fault::failed(format!("the resolved scenario cannot be read: {e}")))?;
    let mut named: Vec<(&str, &str)> = Vec::new();
    for aqm in study.points.iter().flat_map(|p| &p.scenario.aqm) {
        if named.iter().all(|(label, _)| *label != aqm.label()) {
            named.push((aqm.label(), &aqm.algorithm));
        }
    }
    let looks = of_labels(&named);
    let algorithms = named.iter().zip(looks).map(|((label, algorithm), (_, number))| CheckedAlgorithm {
        label: label.to_string(),
        algorithm: algorithm.to_string(),
        style: Style::number(number).into(),
    });
    let runs = |p: &Point| p.scenario.aqm.len() * p.scenario.seeds.list().len();
    Ok(Checked {
        title: study.title().to_string(),
        description: shown.scenario.description.clone(),
        points: (0..)
            .zip(&study.points)
            .map(|(i, p)| of_point(p, study.points.len() <= 100 || i == asked))
            .collect(),
        holes: study.holes.clone(),
        notes: study.notes(),
        algorithms: algorithms.collect(),
        runs: study.points.iter().map(runs).sum(),
        estimated_packets: study.points.iter().map(|p| runs(p) as f64 * p.estimated_packets()).sum(),
        files: Places::of(&ask.source.text, "").map_or(Vec::new(), |places| places.files),
        resolved,
        defaults,
    })
}

/// The point of a number.
pub(crate) fn point(points: &[Point], number: usize) -> Result<&Point, Fault> {
    points.get(number).ok_or_else(|| {
        let there = points.len();
        Fault::request(format!("point {number}: the scenario has {there}, counted from 0"))
    })
}

/// Bytes of a sample of a link's time series in an answer, as text and packed.
const SAMPLE: f64 = 1500.0;

/// Memory that a replication of a point needs in a page, with all of its answer, roughly, in bytes.
pub(crate) fn memory(point: &Point) -> f64 {
    let measure = point.measure();
    let samples = measure.step.map_or(0.0, |step| measure.end.as_secs_f64() / step.as_secs_f64());
    point.estimated_memory() + samples * point.links().len() as f64 * SAMPLE
}

/// A point; its changes take a while to find.
fn of_point(point: &Point, with_events: bool) -> CheckedPoint {
    let (scenario, measure) = (&point.scenario, point.measure());
    let seeds = scenario.seeds.list();
    let counted = scenario.flows.iter().filter(|group| group.kind != Kind::Sessions);
    CheckedPoint {
        settings: point.settings.clone(),
        title: point.title(),
        algorithms: scenario.aqm.iter().map(|aqm| aqm.label().to_string()).collect(),
        left_out: point.left_out.iter().map(|out| (out.label.clone(), out.reason.clone())).collect(),
        seeds: seeds.iter().take(MOST_SEEDS).map(|seed| Seed(*seed)).collect(),
        seed_count: seeds.len(),
        links: point.links(),
        classes: point.classes(),
        duration_s: scenario.duration.as_secs_f64(),
        warmup_s: scenario.warmup.as_secs_f64(),
        step_s: measure.step.map_or(0.0, |step| step.as_secs_f64()),
        segments: measure.segments().iter().map(|(a, b)| (a.as_secs_f64(), b.as_secs_f64())).collect(),
        events: if with_events { events(&PointInfo::of(point)) } else { Vec::new() },
        flows: counted.map(|group| f64::from(group.count.unwrap_or(1))).sum(),
        estimated_packets: point.estimated_packets(),
        estimated_memory: memory(point),
    }
}
