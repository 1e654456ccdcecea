//! Replications one by one, to spread over processes or machines: what a study needs, and making some of it. Nothing is
//! kept but the cache, so any of it may be lost and asked for again.

use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use quell_scenario::{Document, Plugins, Point, Setting, Study};
use quell_units::Time;

use crate::cache::{Cache, Key, Lookup};
use crate::jobs::{Finished, Job, execute, jobs};
use crate::options::{Options, RunError};
use crate::read::files_in;

/// One replication of a study, with all that another process needs to make it.
#[derive(Clone, Debug, PartialEq)]
pub struct Task {
    /// The key that identifies it, here and on every other machine.
    pub key: Key,
    /// The scenario with every default and this algorithm alone, as TOML.
    pub scenario: Arc<str>,
    /// The settings that distinguish its point from the others of the study.
    pub settings: Vec<Setting>,
    /// The algorithm's label.
    pub algorithm: String,
    /// The seed.
    pub seed: u64,
    /// True if the study wants its time series.
    pub series: bool,
    /// The work that it is, roughly: packets that its links can carry.
    pub cost: f64,
}

impl Task {
    /// True if `cache` has all of it.
    pub fn is_in(&self, cache: &Cache) -> bool {
        matches!(cache.get(&self.key), Lookup::Hit(hit) if hit.series || !self.series)
    }
}

/// The outcome of a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Made {
    /// It is in the cache now.
    Now,
    /// It was there.
    Before,
    /// It could not be made or kept; says why.
    Failed(String),
}

/// The tasks of a study, the longest first; taking them in this order ends soonest.
///
/// # Errors
/// If an algorithm is from outside the catalog, so that nothing identifies it, or has no fingerprint.
pub fn tasks(study: &Study, options: &Options<'_>) -> Result<Vec<Task>, String> {
    let mut known: HashMap<(usize, usize), (Arc<str>, f64)> = HashMap::new();
    let (mut tasks, mut seen) = (Vec::new(), HashSet::new());
    for job in jobs(study, options, true) {
        let key = key(&job)?;
        if !seen.insert(key) {
            continue; // Another point has the same.
        }
        let of = known.entry((job.point, job.aqm)).or_insert_with(|| {
            let mut point = job.spec.clone();
            point.scenario.aqm = vec![point.scenario.aqm.swap_remove(job.aqm)];
            (point.to_toml().into(), cost(job.spec))
        });
        tasks.push(Task {
            key,
            scenario: of.0.clone(),
            settings: job.spec.settings.clone(),
            algorithm: job.label().to_string(),
            seed: job.seed,
            series: job.series,
            cost: of.1,
        });
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
    made: &OnMade<'_>,
) -> Result<(), String> {
    let mut wanted = Vec::new();
    for job in jobs(study, options, true) {
        let key = key(&job)?;
        if keys.contains(&key) {
            wanted.push((key, job));
        }
    }
    make_jobs(wanted, options, made)
}

/// Makes replications, wherever their study is. Whether time series are kept is theirs to say.
///
/// # Errors
/// Those of [`make`]. A task whose key here is another, because this is another version, fails.
pub fn make_tasks(tasks: &[Task], options: &Options<'_>, made: &OnMade<'_>) -> Result<(), String> {
    let mut groups: Vec<Vec<&Task>> = Vec::new();
    let mut numbers: HashMap<(&str, bool), usize> = HashMap::new();
    // Points that differ in another algorithm's parameters share replications.
    let mut seen = HashSet::new();
    for task in tasks.iter().filter(|task| seen.insert(task.key)) {
        let number = *numbers.entry((&task.scenario, task.series)).or_insert(groups.len());
        match groups.get_mut(number) {
            Some(group) => group.push(task),
            None => groups.push(vec![task]),
        }
    }
    let mut studies = Vec::new();
    for group in &groups {
        let seeds = group.iter().map(|task| i64::try_from(task.seed).map(toml::Value::Integer));
        let seeds = seeds.collect::<Result<Vec<_>, _>>().map_err(|e| e.to_string())?;
        let document = Document::parse(&group[0].scenario, "task").map_err(|e| e.to_string())?;
        // A trace has the name that it had where the task was made, and the hash of its contents.
        let mut document = document.among(files_in(Path::new("")));
        document.set("seeds", &toml::Value::Array(seeds)).map_err(|e| e.to_string())?;
        let mut study = document.study(&options.plugins).map_err(|e| e.to_string())?;
        study.points.iter_mut().for_each(|point| point.settings = group[0].settings.clone());
        studies.push(study);
    }
    let mut wanted = Vec::new();
    for (group, study) in groups.iter().zip(&studies) {
        for (task, mut job) in group.iter().zip(jobs(study, options, true)) {
            job.series = task.series;
            match key(&job)? == task.key {
                true => wanted.push((task.key, job)),
                false => {
                    let why = "its key differs here: this is a different version of Quell";
                    made(&task.key, Made::Failed(why.to_string()));
                }
            }
        }
    }
    make_jobs(wanted, options, made)
}

/// A listener to the outcome of a task.
pub type OnMade<'a> = dyn Fn(&Key, Made) + Sync + 'a;

fn make_jobs(wanted: Vec<(Key, Job<'_>)>, options: &Options<'_>, made: &OnMade<'_>) -> Result<(), String> {
    if options.cache.is_none() {
        return Err("there is no cache to put them into".into());
    }
    let (keys, jobs): (Vec<Key>, Vec<Job<'_>>) = wanted.into_iter().unzip();
    let done = |at: usize, outcome: Result<Finished, RunError>| {
        let (what, next) = match outcome {
            Ok(finished) if finished.reused => (Made::Before, ControlFlow::Continue(())),
            Ok(finished) if finished.put.is_some() => (Made::Now, ControlFlow::Continue(())),
            // What can be kept nowhere is made for nothing.
            Ok(_) => (Made::Failed("it could not be written".to_string()), ControlFlow::Break(())),
            Err(error) => (Made::Failed(error.to_string()), ControlFlow::Continue(())),
        };
        made(&keys[at], what);
        next
    };
    execute(&jobs, options, &done).map_err(|e| e.to_string())
}

/// The key of a replication.
fn key(job: &Job<'_>) -> Result<Key, String> {
    let cached = job.cached().ok_or_else(|| {
        format!("{}: an algorithm from outside the catalog, which nothing identifies, is in it", job.label())
    })?;
    Key::new(&cached.identity, job.seed)
}

/// The packets of a thousand bytes that the links of a point can carry; those without a queue count nothing.
fn cost(point: &Point) -> f64 {
    let rate = |link: &String| {
        point.link_at(link, Time::ZERO, &Plugins::new()).map_or(0.0, |at| at.rate.bps() as f64)
    };
    point.links().iter().map(rate).sum::<f64>() * point.scenario.duration.as_secs_f64() / 8000.0
}
