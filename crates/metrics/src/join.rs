//! Several results as one.

use quell_scenario::{Hole, JOINED, Setting, joined_title};

use crate::digest::digest;
use crate::info::{PointInfo, RunInfo};
use crate::replication::Replication;
use crate::results::Results;
use crate::stats::distinct;

impl Results {
    /// Several results as one, point after point; each point's settings begin with the name that its part is
    /// given here, under the field "scenario", and so do those of what was left out. The version, the commit, the
    /// beginning and the command are those of the first; `None` without any.
    pub fn join(parts: Vec<(String, Results)>) -> Option<Results> {
        let mut parts = parts.into_iter();
        let (name, first) = parts.next()?;
        let mut all = named(&name, first);
        all.run.scenario_text = None;
        let mut titles = vec![all.run.title.clone()];
        for (name, part) in parts {
            let Results { mut run, replications } = named(&name, part);
            let before = all.run.points.len();
            let moved = replications.into_iter().map(|r| Replication { point: r.point + before, ..r });
            all.replications.extend(moved);
            run.sequential.iter_mut().flat_map(|s| &mut s.stops).for_each(|stop| stop.point += before);
            let whole = &mut all.run;
            whole.points.append(&mut run.points);
            whole.sequential.append(&mut run.sequential);
            whole.holes.append(&mut run.holes);
            whole.notes = distinct(whole.notes.drain(..).chain(run.notes));
            whole.engine.append(&mut run.engine);
            whole.elapsed_s += run.elapsed_s;
            whole.partial |= run.partial;
            whole.reused += run.reused;
            whole.verified += run.verified;
            whole.kept &= run.kept;
            whole.scenario_file = format!("{} + {}", whole.scenario_file, run.scenario_file);
            titles.push(run.title);
        }
        all.run.title = joined_title(titles.iter().map(String::as_str));
        all.run.digest = digest(&all.replications);
        all.run.files.clear();
        Some(all)
    }
}

impl Results {
    /// Two results of one scenario as algorithms to compare: each algorithm that both have becomes a point, in which
    /// the two are "algorithms" by the names that they are given here.
    ///
    /// # Errors
    /// If nothing is in both.
    pub fn beside(one: (&str, &Results), other: (&str, &Results)) -> Result<Results, String> {
        let mut all =
            Results::of(RunInfo { points: Vec::new(), files: Vec::new(), ..one.1.run.clone() }, Vec::new());
        for (at, point) in one.1.run.points.iter().enumerate() {
            let same = |p: &PointInfo| p.settings == point.settings;
            let Some(other_at) = other.1.run.points.iter().position(same) else { continue };
            let theirs = &other.1.run.points[other_at];
            for algorithm in point.algorithms.iter().filter(|a| theirs.algorithms.contains(a)) {
                let setting = Setting { field: "aqm".to_string(), value: algorithm.clone() };
                let links = point.links.iter().filter(|l| theirs.links.contains(l)).cloned().collect();
                all.run.points.push(PointInfo {
                    settings: [point.settings.clone(), vec![setting]].concat(),
                    algorithms: vec![one.0.to_string(), other.0.to_string()],
                    links,
                    ..point.clone()
                });
                for ((name, results), from) in [(one, at), (other, other_at)] {
                    let of = |r: &&Replication| r.point == from && r.algorithm == *algorithm;
                    let point = all.run.points.len() - 1;
                    all.replications.extend(results.replications.iter().filter(of).map(|r| Replication {
                        point,
                        algorithm: name.to_string(),
                        ..r.clone()
                    }));
                }
            }
        }
        if all.run.points.is_empty() {
            return Err("have no point with an algorithm of the same label".to_string());
        }
        all.run.notes = distinct(one.1.run.notes.iter().chain(&other.1.run.notes).cloned());
        all.run.digest = digest(&all.replications);
        Ok(all)
    }
}

/// The keys in which the scenarios of two results differ, such as `dumbbell.rate`, at the first point of the same
/// settings; the algorithms and the seeds aside, of which each may have others.
pub fn differing_keys(one: &Results, other: &Results) -> Vec<String> {
    let same = |p: &&PointInfo| other.run.points.iter().any(|q| q.settings == p.settings);
    let Some(point) = one.run.points.iter().find(same) else { return Vec::new() };
    let twin = other.run.points.iter().find(|q| q.settings == point.settings);
    let read = |p: &PointInfo| toml::from_str::<toml::Table>(&p.scenario).unwrap_or_default();
    let [mut a, mut b] = [Some(point), twin].map(|p| p.map(read).unwrap_or_default());
    for table in [&mut a, &mut b] {
        for key in ["title", "aqm", "seeds"] {
            table.remove(key);
        }
    }
    let mut keys = Vec::new();
    differ("", &toml::Value::Table(a), &toml::Value::Table(b), &mut keys);
    keys
}

/// Adds the paths below `at` of what differs.
fn differ(at: &str, a: &toml::Value, b: &toml::Value, keys: &mut Vec<String>) {
    let below = |key: &str| if at.is_empty() { key.to_string() } else { format!("{at}.{key}") };
    match (a, b) {
        (toml::Value::Table(a), toml::Value::Table(b)) => {
            let all: std::collections::BTreeSet<&String> = a.keys().chain(b.keys()).collect();
            for key in all {
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => differ(&below(key), a, b, keys),
                    _ => keys.push(below(key)),
                }
            }
        }
        (toml::Value::Array(a), toml::Value::Array(b)) if a.len() == b.len() => {
            for (i, (a, b)) in a.iter().zip(b).enumerate() {
                differ(&format!("{at}[{i}]"), a, b, keys);
            }
        }
        (a, b) if a != b => keys.push(at.to_string()),
        _ => {}
    }
}

/// The same results with a name among the settings of each point.
fn named(name: &str, results: Results) -> Results {
    let setting = || Setting { field: JOINED.to_string(), value: name.to_string() };
    let point = |p: PointInfo| PointInfo { settings: [vec![setting()], p.settings].concat(), ..p };
    let hole = |h: Hole| Hole { settings: [vec![setting()], h.settings].concat(), ..h };
    let Results { run, replications } = results;
    let (points, holes) = (run.points.into_iter().map(point), run.holes.into_iter().map(hole));
    Results { run: RunInfo { points: points.collect(), holes: holes.collect(), ..run }, replications }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seeds::{Auto, Reason, Sequential, Stop};

    /// Results of so many points, which decided about the last one's seeds.
    fn part(points: usize) -> Results {
        let point = PointInfo {
            settings: Vec::new(),
            scenario: String::new(),
            algorithms: vec!["red".into()],
            seeds: vec![1],
            links: Vec::new(),
            classes: Vec::new(),
            segments: Vec::new(),
        };
        let asked = Auto { aims: Vec::new(), baseline: None, link: None, scope: "all".into(), max_seeds: 2 };
        let last = points - 1;
        let stop =
            Stop { point: last, algorithm: "red".into(), seeds: 1, reason: Reason::Fixed, open: Vec::new() };
        let sequential = vec![Sequential { asked, looks: None, stops: vec![stop] }];
        let hole = Hole { settings: Vec::new(), reason: format!("beside {points}") };
        let notes = vec!["of all".to_string(), format!("of {points}")];
        let run = RunInfo {
            points: vec![point; points],
            holes: vec![hole],
            notes,
            sequential,
            ..RunInfo::default()
        };
        let replications = (0..points).map(|point| Replication { point, ..Replication::default() });
        Results::of(run, replications.collect())
    }

    /// Whatever names a point by its place names the same one afterwards.
    #[test]
    fn points_of_later_parts_come_behind() {
        let parts = [("a", 2), ("b", 3), ("c", 1)];
        let all = Results::join(parts.map(|(name, points)| (name.to_string(), part(points))).to_vec());
        let all = all.unwrap();
        let names: Vec<&str> = all.run.points.iter().map(|p| p.settings[0].value.as_str()).collect();
        assert_eq!(names, ["a", "a", "b", "b", "b", "c"]);
        let points: Vec<usize> = all.replications.iter().map(|r| r.point).collect();
        assert_eq!(points, [0, 1, 2, 3, 4, 5]);
        let stops: Vec<usize> = all.run.sequential.iter().flat_map(|s| &s.stops).map(|s| s.point).collect();
        assert_eq!(stops, [1, 4, 5]);
        let of = |h: &Hole| (h.settings[0].value.clone(), h.reason.clone());
        let holes: Vec<_> = all.run.holes.iter().map(of).collect();
        let expected = parts.map(|(name, points)| (name.to_string(), format!("beside {points}")));
        assert_eq!(holes, expected);
        assert_eq!(all.run.notes, ["of all", "of 2", "of 3", "of 1"]);
    }
}
