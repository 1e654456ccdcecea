//! Replications on all cores, and one run on several.

use std::time::Instant;

use quell_lab::Options;
use quell_scenario::{Plugins, Study};

use crate::Outcome;
use crate::case::{QUEUES, find};
use crate::one::{Args, spawn};
use crate::progress::Progress;
use crate::table::{Section, figure, load};

/// Replications per core and queue.
const EACH: usize = 12;

pub fn cores(times: u32) -> Outcome<Section> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let before = load();
    let study = find("b")?
        .study(&[("seeds".into(), (cores * EACH).to_string()), ("duration".into(), "30 s".into())])?;
    let mut progress = Progress::new(2 * times as usize);
    let (mut one, mut all) = (Vec::new(), Vec::new());
    for _ in 0..times {
        progress.next("1 thread");
        one.push(seconds(&study, 1)?);
        progress.next(&format!("{cores} threads"));
        all.push(seconds(&study, cores)?);
    }
    drop(progress);
    let least = |x: &[f64]| x.iter().copied().fold(f64::INFINITY, f64::min);
    let pairs: Vec<f64> = one.iter().zip(&all).map(|(one, all)| one / all).collect();
    let worst = least(&pairs);
    let best = pairs.iter().copied().fold(0.0, f64::max);
    let mut section = Section::new("scaling", &["threads", "seconds", "times as fast", "spread"]);
    section.row(vec!["1".into(), figure(least(&one)), "1".into(), "–".into()]);
    let spread = format!("{}–{}", figure(worst), figure(best));
    section.row(vec![cores.to_string(), figure(least(&all)), figure(least(&one) / least(&all)), spread]);
    section.remark(format!(
        "Wall-clock time of {} replications of case b ({EACH} per core and queue) by the runner that `quell run` uses. \
         Values are the least of {times}, *spread* over the pairs. They mean something only on an idle machine. \
         Before: {before}; after: {}.",
        study.points.iter().map(|p| p.scenario.aqm.len()).sum::<usize>() * cores * EACH,
        load()
    ));
    Ok(section)
}

/// Case d in one part, in the parts that its flows make, and the same on two cores.
pub fn one_run(times: u32) -> Outcome<Section> {
    let before = load();
    let ways = [("1, undivided", 1, Some(1)), ("1", 1, None), ("2", 2, None)];
    let mut section =
        Section::new("one-run", &["queue", "cores", "wall, ns/packet", "times as fast", "spread"]);
    let mut progress = Progress::new(QUEUES.len() * ways.len() * times as usize);
    for queue in QUEUES {
        let mut walls = [const { Vec::new() }; 3];
        let mut digests = Vec::new();
        for _ in 0..times {
            for ((title, cores, parts), walls) in ways.into_iter().zip(&mut walls) {
                progress.next(&format!("{queue}, cores: {title}"));
                let cost = spawn(&Args { cores, parts, ..Args::new("d", queue) })?;
                walls.push((cost.wall_ns - cost.prepare_ns) as f64 / cost.packets as f64);
                digests.push(cost.digest);
            }
        }
        if digests.iter().any(|digest| *digest != digests[0]) {
            return Err(format!("case d with {queue} is not the same on any number of cores"));
        }
        let least = |x: &[f64]| x.iter().copied().fold(f64::INFINITY, f64::min);
        let most = |x: &[f64]| x.iter().copied().fold(0.0, f64::max);
        for ((title, ..), own) in ways.into_iter().zip(&walls) {
            let pairs: Vec<f64> = walls[0].iter().zip(own).map(|(one, own)| one / own).collect();
            section.row(vec![
                queue.to_string(),
                title.to_string(),
                figure(least(own)),
                figure(least(&walls[0]) / least(own)),
                format!("{}–{}", figure(least(&pairs)), figure(most(&pairs))),
            ]);
        }
    }
    section.remark(format!(
        "Wall-clock time of case d, one run, without what comes before its first event, per data packet that arrives \
         at the bottleneck. Values are the least of {times} in turn, *spread* over the adjacent pairs. They mean \
         something only on an idle machine. Before: {before}; after: {}.",
        load()
    ));
    Ok(section)
}

fn seconds(study: &Study, threads: usize) -> Outcome<f64> {
    let options = Options { threads: Some(threads), plugins: Plugins::new(), ..Options::default() };
    let clock = Instant::now();
    quell_lab::run(study, &options).map_err(|e| e.to_string())?;
    Ok(clock.elapsed().as_secs_f64())
}
