//! The trade-off of delay and goodput as ellipses (RFC 7928 section 2.7): for each algorithm the median of its flows
//! and the ellipse of the normal distribution that fits them best.

use quell_metrics::Results;
use quell_view::picture::{Axis, SeriesLine, Sheet, series};
use serde::Serialize;

use crate::findings::SectionFound;

/// The distribution of an algorithm's flows in the plane of delay and goodput.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ellipse {
    /// The algorithm's label.
    pub algorithm: String,
    /// The number of flows, over all seeds.
    pub flows: usize,
    /// The median of what queues add to a flow's mean round-trip time, in seconds.
    pub delay_median_s: f64,
    /// The median of the flows' goodputs, in bit/s.
    pub goodput_median_bps: f64,
    /// The mean of both: delay in seconds, goodput in bit/s.
    pub mean: (f64, f64),
    /// The variances of both, and their covariance: its sign says whether a flow that waits longer gets more.
    pub covariance: (f64, f64, f64),
}

impl Ellipse {
    /// Fits the points (delay, goodput) of flows by maximum likelihood. `None`: fewer than two points.
    pub fn fit(algorithm: &str, points: &[(f64, f64)]) -> Option<Ellipse> {
        let n = points.len() as f64;
        if points.len() < 2 {
            return None;
        }
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
        let (x, y) = (mean(|p| p.0), mean(|p| p.1));
        let about = |of: &dyn Fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
        Some(Ellipse {
            algorithm: algorithm.to_string(),
            flows: points.len(),
            delay_median_s: median(points.iter().map(|p| p.0)),
            goodput_median_bps: median(points.iter().map(|p| p.1)),
            mean: (x, y),
            covariance: (
                about(&|p| (p.0 - x) * (p.0 - x)),
                about(&|p| (p.1 - y) * (p.1 - y)),
                about(&|p| (p.0 - x) * (p.1 - y)),
            ),
        })
    }

    /// Points on the line of one standard deviation, all around: the image of the unit circle under the Cholesky
    /// factor of the covariance.
    pub fn outline(&self) -> Vec<(f64, f64)> {
        let (xx, yy, xy) = self.covariance;
        let a = xx.max(0.0).sqrt();
        let b = if a > 0.0 { xy / a } else { 0.0 };
        let c = (yy - b * b).max(0.0).sqrt();
        let around = (0..=72).map(|i| f64::from(i) * std::f64::consts::TAU / 72.0);
        around.map(|t| (self.mean.0 + a * t.cos(), self.mean.1 + b * t.cos() + c * t.sin())).collect()
    }
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    quell_metrics::quantile(&sorted, 0.5).unwrap_or(f64::NAN)
}

/// The ellipses of a section's long flows at its first point, in the order of the algorithms.
pub fn tradeoff(section: &SectionFound, results: &Results, algorithms: &[String]) -> Vec<Ellipse> {
    let points = |algorithm: &String| {
        let own =
            results.replications.iter().filter(|r| r.point == section.first && r.algorithm == *algorithm);
        let flows = own.flat_map(|r| &r.flows).filter(|flow| flow.goodput_bps > 0.0);
        let point = |flow: &quell_metrics::FlowRow| {
            let rtt = flow.round_trip_time_mean_s?;
            Some((rtt - flow.base_rtt_s, flow.goodput_bps))
        };
        flows.filter_map(point).collect::<Vec<_>>()
    };
    algorithms.iter().filter_map(|algorithm| Ellipse::fit(algorithm, &points(algorithm))).collect()
}

/// The picture of ellipses; none without any.
pub(crate) fn picture(title: &str, ellipses: &[Ellipse]) -> Option<String> {
    if ellipses.is_empty() {
        return None;
    }
    let span = |outline: &[(f64, f64)], of: fn(&(f64, f64)) -> f64| {
        let ends = outline.iter().map(of).fold((f64::MAX, f64::MIN), |(l, h), v| (l.min(v), h.max(v)));
        ends.1 - ends.0
    };
    let all: Vec<(f64, f64)> = ellipses.iter().flat_map(Ellipse::outline).collect();
    // Milliseconds and Mbit/s, and a cross at the median after the outline, which is seen even if that is a point.
    let line = |e: &Ellipse| {
        let arm = |of: fn(&(f64, f64)) -> f64| (span(&e.outline(), of) / 12.0).max(span(&all, of) / 60.0);
        let (dx, dy) = (arm(|p| p.0), arm(|p| p.1));
        let (x, y) = (e.delay_median_s, e.goodput_median_bps);
        let cross = [(x - dx, y), (x + dx, y), (f64::NAN, f64::NAN), (x, (y - dy).max(0.0)), (x, y + dy)];
        let all = e.outline().into_iter().chain([(f64::NAN, f64::NAN)]).chain(cross);
        all.map(|(x, y)| (1e3 * x, 1e-6 * y)).unzip::<f64, f64, Vec<_>, Vec<_>>()
    };
    let drawn: Vec<_> = ellipses.iter().map(line).collect();
    let lines: Vec<SeriesLine<'_>> =
        ellipses.iter().zip(&drawn).map(|(e, (x, y))| SeriesLine { label: &e.algorithm, x, y }).collect();
    let description = "For each algorithm, a cross at the median of its flows' delays and goodputs, and the ellipse of \
                       one standard deviation about their mean.";
    let sheet = Sheet::new(title, description);
    let (x, y) = (
        Axis::linear("queueing delay in the round-trip time (ms)"),
        Axis::linear("goodput of a flow (Mbit/s)"),
    );
    Some(series(&sheet, x, y, &lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ellipse_has_the_covariance_of_the_flows() {
        // (x, y) = (u, u + v) of independent u and v with variances 1 and 4.
        let points: Vec<(f64, f64)> = [(1.0, 2.0), (1.0, -2.0), (-1.0, 2.0), (-1.0, -2.0)]
            .iter()
            .map(|(u, v)| (10.0 + u, 20.0 + u + v))
            .collect();
        let ellipse = Ellipse::fit("red", &points).unwrap();
        assert_eq!((ellipse.mean, ellipse.covariance), ((10.0, 20.0), (1.0, 5.0, 1.0)));
        // Of four the second is the median.
        assert_eq!((ellipse.delay_median_s, ellipse.flows), (9.0, 4));
        // Every point of the outline is one standard deviation from the mean (Mahalanobis).
        let (xx, yy, xy) = ellipse.covariance;
        for (x, y) in ellipse.outline() {
            let (dx, dy) = (x - 10.0, y - 20.0);
            let distance = (yy * dx * dx - 2.0 * xy * dx * dy + xx * dy * dy) / (xx * yy - xy * xy);
            assert!((distance - 1.0).abs() < 1e-9, "{distance}");
        }
        assert_eq!(Ellipse::fit("red", &points[..1]), None);
    }

    #[test]
    fn flows_that_do_not_differ_are_a_point() {
        let ellipse = Ellipse::fit("red", &[(1.0, 2.0), (1.0, 2.0)]).unwrap();
        assert!(ellipse.outline().iter().all(|p| *p == (1.0, 2.0)));
        assert!(picture("x", &[ellipse]).unwrap().starts_with("<svg"));
    }
}
