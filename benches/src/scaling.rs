//! Replications on all cores.

use std::time::Instant;

use quell_lab::Options;
use quell_scenario::{Plugins, Study};

use crate::Outcome;
use crate::case::find;
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
        "Wall-clock time of {} replications of case b ({EACH} per core and queue) by the runner that `quell run` \
         uses; the least of {times}, *spread* over the pairs. It is meaningful only on an idle machine: {before} \
         before, {} after.",
        study.points.iter().map(|p| p.scenario.aqm.len()).sum::<usize>() * cores * EACH,
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
