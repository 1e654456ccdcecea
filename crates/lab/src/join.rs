//! Several results as one.

use quell_scenario::{JOINED, Setting, joined_title};

use crate::results::{PointInfo, Replication, Results, RunInfo};
use crate::run::digest;

impl Results {
    /// Several results as one, point after point; each point's settings begin with the name that its part is
    /// given here, under the field "scenario". The version, the beginning and the command are those of the
    /// first; none without any.
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

/// With a name among the settings of each point.
fn named(name: &str, results: Results) -> Results {
    let setting = || Setting { field: JOINED.to_string(), value: name.to_string() };
    let point = |p: PointInfo| PointInfo { settings: [vec![setting()], p.settings].concat(), ..p };
    let Results { run, replications } = results;
    Results { run: RunInfo { points: run.points.into_iter().map(point).collect(), ..run }, replications }
}
