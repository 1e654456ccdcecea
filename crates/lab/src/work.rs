//! Replications one by one, for whoever spreads them over processes or machines: what a study needs, and
//! making some of it. Nothing is kept but the cache, so any of it may be lost and asked for again.

use std::collections::{HashMap, HashSet};

use quell_scenario::{Plugins, Point, Study};
use quell_units::Time;

use crate::cache::Key;
use crate::run::{Finished, Job, Options, RunError, execute, jobs};

/// One replication of a study.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// What identifies it, here and on every other machine.
    pub key: Key,
    /// The point's title; may be empty.
    pub point: String,
    /// The algorithm's label.
    pub algorithm: String,
    /// The seed.
    pub seed: u64,
    /// About how much work it is, in packets that its links can carry.
    pub cost: f64,
}

/// What became of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    /// It is in the cache now.
    Now,
    /// It was there.
    Before,
    /// It could not be made or kept; says why.
    Failed(String),
}

/// What a study needs, the longest first: whoever takes them in this order ends soonest.
///
/// # Errors
/// If an algorithm is from outside the catalog, so that nothing identifies it, or has no fingerprint.
pub fn tasks(study: &Study, options: &Options<'_>) -> Result<Vec<Task>, String> {
    let mut costs = HashMap::new();
    let mut tasks = Vec::new();
    for job in jobs(study, options, true) {
        let cost = *costs.entry(job.point).or_insert_with(|| cost(job.spec));
        let (key, point) = (key(&job)?, job.spec.title());
        tasks.push(Task { key, point, algorithm: job.label().to_string(), seed: job.seed, cost });
    }
    tasks.sort_by(|a, b| b.cost.total_cmp(&a.cost));
    Ok(tasks)
}

/// Makes those replications of a study that `keys` names, in the order of the study, and tells `made` of each
/// as it is in the cache of the options.
///
/// # Errors
/// If there is no cache, or the threads cannot be started. One that fails is told, and the next begins, unless
/// it could not be written.
pub fn make(
    study: &Study,
    keys: &HashSet<Key>,
    options: &Options<'_>,
    made: &(dyn Fn(&Key, Made) + Sync),
) -> Result<(), String> {
    if options.cache.is_none() {
        return Err("there is no cache to put them into".into());
    }
    let mut wanted = Vec::new();
    for job in jobs(study, options, true) {
        let key = key(&job)?;
        if keys.contains(&key) {
            wanted.push((key, job));
        }
    }
    let (keys, jobs): (Vec<Key>, Vec<Job<'_>>) = wanted.into_iter().unzip();
    let done = |at: usize, outcome: Result<Finished, RunError>| {
        let (what, goes_on) = match outcome {
            Ok(finished) if finished.reused => (Made::Before, true),
            Ok(finished) if finished.put.is_some() => (Made::Now, true),
            // What can be kept nowhere is made for nothing.
            Ok(_) => (Made::Failed("it could not be written".to_string()), false),
            Err(error) => (Made::Failed(error.to_string()), true),
        };
        made(&keys[at], what);
        goes_on
    };
    execute(&jobs, options, &done).map_err(|e| e.to_string())
}

/// The key of a replication.
fn key(job: &Job<'_>) -> Result<Key, String> {
    let kept = job.kept.as_ref().ok_or_else(|| {
        format!("{}: an algorithm from outside the catalog, which nothing identifies, is in it", job.label())
    })?;
    Key::new(&kept.identity, job.seed)
}

/// The packets of a thousand bytes that the links of a point can carry; those without a queue count nothing.
fn cost(point: &Point) -> f64 {
    let rate = |link: &String| {
        point.link_at(link, Time::ZERO, &Plugins::new()).map_or(0.0, |at| at.rate.bps() as f64)
    };
    point.links().iter().map(rate).sum::<f64>() * point.scenario.duration.as_secs_f64() / 8000.0
}
