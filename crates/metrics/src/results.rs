//! The results of a run: every replication's figures, and what tables and reports ask of them.

use std::collections::HashMap;

use quell_scenario::{suggest, unknown};
use quell_units::text::cut;
use serde::{Deserialize, Serialize};

use crate::digest::digest;
use crate::info::{PointInfo, RunInfo};
use crate::metric::{LANE, SIZE, is_size};
use crate::quantity::{Quantity, Term};
use crate::replication::{InternalRow, Replication};
use crate::stats::{ERROR, Estimate, distinct};

/// Everything a run found.
#[derive(Clone, Debug, PartialEq)]
pub struct Results {
    /// The record of the run: the contents of `run.json`.
    pub run: RunInfo,
    /// The finished replications, by point, algorithm and seed in the order of the scenario.
    pub replications: Vec<Replication>,
}
/// The place that a table is of: point, link, segment and traffic.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Index of the point.
    pub point: usize,
    /// The link; `None`: the point's first observed link.
    pub link: Option<String>,
    /// The segment; `None`: the whole measured window.
    pub segment: Option<u32>,
    /// "all", "data" (all but acknowledgments), or a class.
    pub scope: String,
}

impl Default for View {
    fn default() -> Self {
        View { point: 0, link: None, segment: None, scope: "all".to_string() }
    }
}

impl View {
    /// The whole window, all traffic, first link, of one point.
    pub fn of_point(point: usize) -> Self {
        View { point, ..View::default() }
    }
}

/// The difference of an algorithm from the baseline in one metric, over the seeds both have.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// The algorithm.
    pub algorithm: String,
    /// The quantity that differs.
    pub metric: Quantity,
    /// Algorithm minus baseline, paired by seed.
    pub difference: Estimate,
}

impl Results {
    /// Results of replications that were made elsewhere; the digest is theirs.
    pub fn of(run: RunInfo, replications: Vec<Replication>) -> Results {
        let digest = digest(&replications);
        Results { run: RunInfo { digest, ..run }, replications }
    }

    /// The labels of a point's algorithms, in the order of the scenario.
    pub fn algorithms(&self, point: usize) -> &[String] {
        self.run.points.get(point).map_or(&[], |p| &p.algorithms)
    }

    /// One value per finished replication of an algorithm, with its seed, in the order of the seeds.
    pub fn samples(&self, view: &View, algorithm: &str, of: impl Into<Quantity>) -> Vec<(u64, f64)> {
        let quantity = of.into();
        let Some(point) = self.run.points.get(view.point) else { return Vec::new() };
        let Some(link) = view.link.as_ref().or(point.links.first()) else { return Vec::new() };
        let sample = |r: &Replication| {
            let row = |scope: &str| {
                r.metrics.iter().find(|m| m.link == *link && m.segment == view.segment && m.scope == scope)
            };
            let value = |term: &Term| match term {
                Term::Metric(metric, scope) => {
                    row(scope.as_deref().unwrap_or(&view.scope))?.values.get(*metric)
                }
                Term::Internal(signal) => {
                    let is = |i: &&InternalRow| {
                        i.link == *link && i.segment == view.segment && i.signal == *signal
                    };
                    r.internal_means.iter().find(is).map(|i| i.mean)
                }
            };
            let (x, y) = (value(&quantity.of)?, quantity.over.as_ref().map_or(Some(1.0), value)?);
            Some((r.seed, x / y)).filter(|(_, ratio)| ratio.is_finite())
        };
        self.replications_of(view.point, algorithm).filter_map(sample).collect()
    }

    /// The unit of a quantity; "1" for a pure number.
    pub fn unit(&self, of: &Quantity) -> String {
        let unit = |term: &Term| match term {
            Term::Metric(metric, _) => metric.unit(),
            Term::Internal(signal) => {
                let mut all = self.replications.iter().flat_map(|r| &r.internal_means);
                all.find(|i| i.signal == *signal).map_or("1", |i| &i.unit)
            }
        };
        let units: Vec<&str> = of.terms().map(unit).collect();
        match units[..] {
            [unit] | [unit, "1"] => unit.to_string(),
            [a, b] if a == b => "1".to_string(),
            [a, b] if b.contains('/') => format!("{a}/({b})"),
            _ => units.join("/"),
        }
    }

    /// The internal signals that the algorithms of a point report at a link.
    pub fn signals(&self, point: usize, link: &str) -> Vec<&str> {
        let rows = self.replications_at(point).iter().flat_map(|r| &r.internal_means);
        distinct(rows.filter(|row| row.link == link).map(|row| row.signal.as_str()))
    }

    /// The reason for which a quantity has no value anywhere: it names a class or a signal that is not there.
    pub fn lacks(&self, of: &Quantity) -> Option<String> {
        let lack = |kind: &str, wrong: &str, mut names: Vec<&str>| {
            names.sort_unstable();
            names.dedup();
            let known = if names.is_empty() {
                "there are none".to_string()
            } else {
                format!("known: {}", names.join(", "))
            };
            let absent = !names.contains(&wrong);
            let (rule, nearest) = unknown(kind, wrong, &names);
            let (of, wrong) = (of.to_string(), cut(wrong));
            let of = cut(&of);
            absent.then(|| format!("{of}: \"{wrong}\": {}", suggest(&rule, nearest.as_deref(), Some(&known))))
        };
        of.terms().find_map(|term| match term {
            Term::Metric(_, None) => None,
            Term::Metric(_, Some(scope)) => {
                if is_size(scope) {
                    let found =
                        self.replications.iter().flat_map(|r| &r.metrics).any(|row| row.scope == *scope);
                    return (!found).then(|| format!("{of}: no transfer of \"{scope}\" was completed"));
                }
                let classes = self.run.points.iter().flat_map(|p| &p.classes).map(String::as_str);
                let rows = self.replications.iter().flat_map(|r| &r.metrics).map(|row| row.scope.as_str());
                let parts = rows.filter(|scope| scope.starts_with(LANE) || scope.starts_with(SIZE));
                lack("class", scope, ["all", "data"].into_iter().chain(classes).chain(parts).collect())
            }
            Term::Internal(signal) => {
                let all = self.replications.iter().flat_map(|r| &r.internal_means);
                lack("internal signal", signal, all.map(|i| i.signal.as_str()).collect())
            }
        })
    }

    /// The mean over replications with its interval; `None` where the metric does not apply.
    pub fn estimate(&self, view: &View, algorithm: &str, of: impl Into<Quantity>) -> Option<Estimate> {
        let values: Vec<f64> = self.samples(view, algorithm, of).iter().map(|s| s.1).collect();
        let error = self.error_at(view.point, self.finished(view.point, algorithm));
        let estimate = Estimate::with_error(&values, error)?;
        Some(if self.is_fixed(view.point, algorithm) { estimate.without_interval() } else { estimate })
    }

    /// The error of an interval over so many seeds at a point: 5%, unless the intervals decided the number of seeds
    /// (see [`Looks`](crate::sequential::Looks)).
    fn error_at(&self, point: usize, seeds: usize) -> f64 {
        let of_point = self.run.sequential.iter().find(|s| s.stops.iter().any(|stop| stop.point == point));
        of_point.and_then(|s| s.looks.as_ref()).map_or(ERROR, |looks| looks.error_at(seeds))
    }

    /// The links of a point at which a quantity has a value for this traffic, of some algorithm.
    pub fn links_with(&self, point: usize, of: &Quantity, scope: &str) -> Vec<String> {
        let Some(info) = self.run.points.get(point) else { return Vec::new() };
        let applies = |link: &&String| {
            let view =
                View { link: Some(link.to_string()), scope: scope.to_string(), ..View::of_point(point) };
            info.algorithms.iter().any(|a| !self.samples(&view, a, of).is_empty())
        };
        info.links.iter().filter(applies).cloned().collect()
    }

    /// The number of finished replications of an algorithm at a point.
    pub fn finished(&self, point: usize, algorithm: &str) -> usize {
        self.replications_of(point, algorithm).count()
    }

    /// The number of replications that were asked for.
    pub fn asked(&self) -> usize {
        let stops = || self.run.sequential.iter().flat_map(|s| &s.stops);
        let of_point = |(i, point): (usize, &PointInfo)| {
            let decided: Vec<usize> = stops().filter(|s| s.point == i).map(|s| s.seeds).collect();
            match decided.is_empty() {
                true => point.algorithms.len() * point.seeds.len(),
                false => decided.iter().sum(),
            }
        };
        self.run.points.iter().enumerate().map(of_point).sum()
    }

    /// The finished replications of a point.
    pub(crate) fn replications_at(&self, point: usize) -> &[Replication] {
        // They stand in the order of the points.
        let from = self.replications.partition_point(|r| r.point < point);
        let length = self.replications[from..].partition_point(|r| r.point == point);
        &self.replications[from..from + length]
    }

    /// The finished replications of an algorithm, in the order of the seeds.
    pub(crate) fn replications_of<'a>(
        &'a self,
        point: usize,
        algorithm: &'a str,
    ) -> impl Iterator<Item = &'a Replication> {
        self.replications_at(point).iter().filter(move |r| r.algorithm == algorithm)
    }

    /// True if several seeds gave one sample path: the scenario leaves nothing to chance, and repeating
    /// it says nothing about how far its figures may be off.
    pub fn is_fixed(&self, point: usize, algorithm: &str) -> bool {
        let mut digests = self.replications_of(point, algorithm).map(|r| r.digest);
        let Some(first) = digests.next() else { return false };
        let mut others = digests.peekable();
        others.peek().is_some() && others.all(|d| d == first)
    }

    /// Each algorithm's paired difference from `baseline`, over the seeds that both have.
    pub fn compare<Q: Into<Quantity> + Clone>(
        &self,
        view: &View,
        baseline: &str,
        metrics: &[Q],
    ) -> Vec<Difference> {
        let others = self.algorithms(view.point).iter().filter(|a| *a != baseline);
        others
            .flat_map(|algorithm| metrics.iter().map(move |metric| (algorithm, metric.clone().into())))
            .filter_map(|(algorithm, metric)| {
                let difference = self.difference(view, baseline, algorithm, &metric)?;
                Some(Difference { algorithm: algorithm.clone(), metric, difference })
            })
            .collect()
    }

    /// An algorithm's paired difference from `baseline` in one metric, over the seeds that both have; `None`
    /// without any.
    pub fn difference(
        &self,
        view: &View,
        baseline: &str,
        algorithm: &str,
        of: impl Into<Quantity>,
    ) -> Option<Estimate> {
        let quantity = of.into();
        let base: HashMap<u64, f64> = self.samples(view, baseline, &quantity).into_iter().collect();
        let samples = self.samples(view, algorithm, &quantity);
        let pairs: Vec<f64> = samples.iter().filter_map(|(seed, x)| Some(x - base.get(seed)?)).collect();
        let both = [baseline, algorithm];
        let seeds = both.map(|a| self.finished(view.point, a)).into_iter().min()?;
        let difference = Estimate::with_error(&pairs, self.error_at(view.point, seeds))?;
        let is_fixed = both.iter().all(|a| self.is_fixed(view.point, a));
        Some(if is_fixed { difference.without_interval() } else { difference })
    }

    /// The scopes that a link's figures have: "all", "data", then the classes seen there.
    pub fn scopes(&self, point: usize) -> Vec<String> {
        let rows = self.replications_at(point).iter().flat_map(|r| &r.metrics);
        distinct(rows.map(|row| &row.scope)).into_iter().cloned().collect()
    }
}
