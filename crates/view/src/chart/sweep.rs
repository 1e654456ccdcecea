//! The parameters that a study varies, as axes.

use std::collections::HashMap;

use quell_metrics::{PointInfo, distinct};
use quell_units::{BitRate, Duration, QueueSize};
use serde::Serialize;

/// A field that the points set.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Parameter<'a> {
    pub field: &'a str,
    /// The unit of the numbers; empty for pure ones.
    pub unit: &'static str,
    /// Its value at each point as written; empty where a point does not set it.
    pub labels: Vec<&'a str>,
    /// The same as numbers, not a number where a point does not set it; `None` if they are not all of one kind.
    pub numbers: Option<Vec<f64>>,
    /// True if the numbers follow each other in equal ratios rather than in equal steps.
    #[serde(rename = "log")]
    pub geometric: bool,
    /// The parameters, by number, that advance with this one: each of its values has one of theirs.
    pub linked: Vec<usize>,
}

/// Every field that points set, in the order of the study.
pub(crate) fn parameters(points: &[PointInfo]) -> Vec<Parameter<'_>> {
    let fields = distinct(points.iter().flat_map(|p| &p.settings).map(|setting| setting.field.as_str()));
    let parameter = |field| {
        let label = |p| settings(p, field).unwrap_or("");
        let labels: Vec<&str> = points.iter().map(label).collect();
        let (unit, numbers) = numbers(&labels).map_or(("", None), |(unit, n)| (unit, Some(n)));
        let geometric = numbers.as_deref().is_some_and(is_geometric);
        Parameter { field, unit, labels, numbers, geometric, linked: Vec::new() }
    };
    let mut all: Vec<Parameter<'_>> = fields.into_iter().map(parameter).collect();
    for i in 0..all.len() {
        let follows = |j: &usize| *j != i && is_function(&all[*j].labels, &all[i].labels);
        all[i].linked = (0..all.len()).filter(follows).collect();
    }
    all
}

/// True if those of `labels` are equal where two of `of` are.
fn is_function(labels: &[&str], of: &[&str]) -> bool {
    let mut known = HashMap::new();
    of.iter().zip(labels).all(|(x, y)| known.insert(x, y).is_none_or(|before| before == y))
}

fn settings<'a>(point: &'a PointInfo, field: &str) -> Option<&'a str> {
    point.settings.iter().find(|s| s.field == field).map(|s| s.value.as_str())
}

impl Parameter<'_> {
    /// The points that set this field and agree with point `at` in every one of `parameters` but this, `also`, and
    /// what is linked with them, in the order of the axis.
    pub fn along(&self, parameters: &[Parameter<'_>], at: usize, also: Option<&Parameter<'_>>) -> Vec<usize> {
        let free = |i: usize, p: &Parameter<'_>| p.field == parameters[i].field || p.linked.contains(&i);
        let is_fixed = |i: &usize| !free(*i, self) && !also.is_some_and(|also| free(*i, also));
        let fixed: Vec<&Parameter<'_>> =
            (0..parameters.len()).filter(is_fixed).map(|i| &parameters[i]).collect();
        let agrees = |i: &usize| {
            let same = fixed.iter().all(|p| p.labels[*i] == p.labels[at]);
            same && !self.labels[*i].is_empty()
        };
        let mut points: Vec<usize> = (0..self.labels.len()).filter(agrees).collect();
        if let Some(numbers) = &self.numbers {
            points.sort_by(|i, j| numbers[*i].total_cmp(&numbers[*j]));
        }
        points
    }

    /// True if another parameter of `parameters` advances with this one.
    pub fn leads(&self, parameters: &[Parameter<'_>], other: &Parameter<'_>) -> bool {
        self.linked.iter().any(|i| parameters[*i].field == other.field)
    }

    /// The field with the unit of its numbers.
    pub fn label(&self) -> String {
        match self.unit {
            "" => self.field.to_string(),
            unit => format!("{} ({unit})", self.field),
        }
    }
}

/// Values of a swept field as numbers of one unit, if they are that; what is empty is none.
pub(crate) fn numbers(labels: &[&str]) -> Option<(&'static str, Vec<f64>)> {
    fn all(labels: &[&str], read: impl Fn(&str) -> Option<f64>) -> Option<Vec<f64>> {
        labels.iter().map(|l| if l.is_empty() { Some(f64::NAN) } else { read(l) }).collect()
    }
    let packets = |l: &str| match l.parse().ok()? {
        QueueSize::Packets(x) => Some(x),
        QueueSize::Bytes(_) => None,
    };
    let kilobytes = |l: &str| match l.parse().ok()? {
        QueueSize::Bytes(x) => Some(x / 1e3),
        QueueSize::Packets(_) => None,
    };
    let megabits = |l: &str| Some(l.parse::<BitRate>().ok()?.bps() as f64 / 1e6);
    let nanos = |l: &str| Some(l.parse::<Duration>().ok()?.nanos());
    let milliseconds = |l: &str| Some(nanos(l)? as f64 / 1e6);
    // All of several seconds: nobody reads 15000 ms.
    let seconds = |l: &str| nanos(l).filter(|n| *n >= 2_000_000_000).map(|n| n as f64 / 1e9);
    let plain = |l: &str| l.parse::<f64>().ok().filter(|x| x.is_finite());
    None.or_else(|| Some(("", all(labels, plain)?)))
        .or_else(|| Some(("Mbit/s", all(labels, megabits)?)))
        .or_else(|| Some(("s", all(labels, seconds)?)))
        .or_else(|| Some(("ms", all(labels, milliseconds)?)))
        .or_else(|| Some(("packets", all(labels, packets)?)))
        .or_else(|| Some(("kB", all(labels, kilobytes)?)))
}

/// True if at least three different positive numbers are spaced more evenly by ratio than by difference, over a
/// range that makes that matter.
fn is_geometric(numbers: &[f64]) -> bool {
    let mut sorted: Vec<f64> = numbers.iter().copied().filter(|x| !x.is_nan()).collect();
    sorted.sort_by(f64::total_cmp);
    sorted.dedup();
    let (Some(first), Some(last)) = (sorted.first(), sorted.last()) else { return false };
    if sorted.len() < 3 || *first <= 0.0 || *last < 4.0 * first {
        return false;
    }
    // The widest gap over the narrowest.
    let unevenness = |of: fn(f64) -> f64| {
        let gaps = || sorted.windows(2).map(|w| of(w[1]) - of(w[0]));
        gaps().fold(0.0, f64::max) / gaps().fold(f64::INFINITY, f64::min)
    };
    unevenness(libm::log) < unevenness(|x| x)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn swept_values_become_numbers_of_one_unit() {
        assert_eq!(numbers(&["1", "2.5"]), Some(("", vec![1.0, 2.5])));
        assert_eq!(numbers(&["900 kbit/s", "1 Mbit/s"]), Some(("Mbit/s", vec![0.9, 1.0])));
        assert_eq!(numbers(&["50 ms", "1 s"]), Some(("ms", vec![50.0, 1000.0])));
        assert_eq!(numbers(&["5 s", "15 s"]), Some(("s", vec![5.0, 15.0])));
        assert_eq!(numbers(&["50 packets", "75 packets"]), Some(("packets", vec![50.0, 75.0])));
        assert_eq!(numbers(&["75 kB"]), Some(("kB", vec![75.0])));
        assert_eq!(numbers(&["reno", "sack"]), None);
        assert_eq!(numbers(&["10 ms", "10 packets"]), None);
        let (_, with_hole) = numbers(&["1", "", "3"]).unwrap();
        assert!(with_hole[1].is_nan() && with_hole[2] == 3.0);
    }

    #[test]
    fn what_advances_together_is_one_axis() {
        let point = |settings: &[(&str, &str)]| {
            let set =
                |(field, value): &(&str, &str)| format!("{{\"field\": \"{field}\", \"value\": \"{value}\"}}");
            let settings = settings.iter().map(set).collect::<Vec<_>>().join(", ");
            let rest = "\"algorithms\": [], \"seeds\": [], \"links\": [], \"classes\": [], \"segments\": []";
            let json = format!("{{\"settings\": [{settings}], \"scenario\": \"\", {rest}}}");
            serde_json::from_str::<PointInfo>(&json).unwrap()
        };
        let mut points = Vec::new();
        for p in ["0.1", "0.2"] {
            for (n, rate) in [("40", "20 Mbit/s"), ("10", "5 Mbit/s"), ("20", "10 Mbit/s")] {
                points.push(point(&[("count", n), ("rate", rate), ("max_p", p)]));
            }
        }
        let all = parameters(&points);
        assert_eq!(all.iter().map(|p| p.linked.clone()).collect::<Vec<_>>(), [vec![1], vec![0], vec![]]);
        assert_eq!(all[0].along(&all, 0, None), [1, 2, 0]);
        assert_eq!(all[1].along(&all, 4, None), [4, 5, 3]);
        assert_eq!(all[2].along(&all, 4, None), [1, 4]);
        assert_eq!(all[2].along(&all, 4, Some(&all[0])), [0, 1, 2, 3, 4, 5]);
    }

    #[test]
    fn equal_ratios_ask_for_a_logarithmic_axis() {
        assert!(is_geometric(&[1.0, 2.0, 5.0, 10.0, 20.0]));
        assert!(is_geometric(&[64.0, 4.0, 16.0, 4.0]));
        assert!(!is_geometric(&[10.0, 20.0, 30.0, 40.0]));
        assert!(!is_geometric(&[0.0, 1.0, 10.0, 100.0]) && !is_geometric(&[1.0, 100.0]));
        assert!(!is_geometric(&[1.0, 1.5, 2.25]));
    }
}
