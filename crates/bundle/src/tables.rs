//! Tables of results in CSV, for readers without Parquet.

use std::fmt::Write as _;

use quell_lab::{Metric, Results, View, distinct};

/// Every metric of every point, link, class and algorithm as a mean over the seeds, over the whole measured window: a row
/// for each, with its unit, half the width of its 95% interval (empty where there is none) and the number of seeds.
/// Numbers read back the same.
pub(crate) fn metrics(results: &Results) -> String {
    let points = &results.run.points;
    let fields = distinct(points.iter().flat_map(|p| &p.settings).map(|s| s.field.as_str()));
    let mut out = String::new();
    let heads = ["link", "scope", "algorithm", "metric", "unit", "mean", "half_width_95", "seeds"];
    row(&mut out, [&["point"], &fields[..], &heads].concat().into_iter());
    for (number, point) in points.iter().enumerate() {
        let value = |field: &&str| {
            let setting = point.settings.iter().find(|s| s.field == **field);
            setting.map_or(String::new(), |s| s.value.clone())
        };
        let place: Vec<String> =
            std::iter::once((number + 1).to_string()).chain(fields.iter().map(value)).collect();
        let scopes = results.scopes(number);
        for (link, scope) in point.links.iter().flat_map(|link| scopes.iter().map(move |scope| (link, scope)))
        {
            let view = View { link: Some(link.clone()), scope: scope.clone(), ..View::of_point(number) };
            for (algorithm, metric) in
                point.algorithms.iter().flat_map(|a| Metric::ALL.iter().map(move |m| (a, *m)))
            {
                let Some(estimate) = results.estimate(&view, algorithm, metric) else { continue };
                let half = estimate.half_width.map_or(String::new(), |h| h.to_string());
                let (mean, seeds) = (estimate.mean.to_string(), estimate.n.to_string());
                let cells = [link, scope, algorithm, metric.name(), metric.unit(), &mean, &half, &seeds];
                row(&mut out, place.iter().map(String::as_str).chain(cells));
            }
        }
    }
    out
}

/// Every replication with its digest, in hexadecimal: what others compute has the same, or is something else.
pub(crate) fn replications(results: &Results) -> String {
    let mut out = String::new();
    row(&mut out, ["point", "settings", "algorithm", "seed", "digest", "events"].into_iter());
    for r in &results.replications {
        let settings = results.run.points.get(r.point).map_or(String::new(), |p| p.title());
        let (point, seed) = ((r.point + 1).to_string(), r.seed.to_string());
        let (digest, events) = (format!("{:016x}", r.digest), r.events.to_string());
        row(&mut out, [&*point, &settings, &r.algorithm, &seed, &digest, &events].into_iter());
    }
    out
}

/// A row as RFC 4180 has it.
fn row<'a>(out: &mut String, cells: impl Iterator<Item = &'a str>) {
    for (i, cell) in cells.enumerate() {
        if i > 0 {
            out.push(',');
        }
        let _ = match cell.contains([',', '"', '\n', '\r']) {
            true => write!(out, "\"{}\"", cell.replace('"', "\"\"")),
            false => write!(out, "{cell}"),
        };
    }
    out.push_str("\r\n");
}
