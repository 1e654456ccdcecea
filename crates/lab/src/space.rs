//! The room that a run takes, before it is run.

use std::collections::HashSet;
use std::path::Path;

use quell_scenario::{Point, Study};

use crate::jobs::{Job, jobs};
use crate::options::Options;

/// Room on disk, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// The room for what the cache does not have yet.
    pub cache: u64,
    /// The room for the folder of results.
    pub results: u64,
}

/// Bytes that a replication takes in the cache whatever it simulates: its scenario, the figures of one link,
/// and the block that a file system rounds up to.
const ENTRY: f64 = 4096.0;
/// Bytes of a flow, of a scope's figures and distribution at a link, and of a sample of a time series: what
/// compression leaves of them, rather less than more.
const FLOW: f64 = 30.0;
const SCOPE: f64 = 250.0;
const SAMPLE: f64 = 20.0;

/// The room that a run of `study` takes at least: finished transfers, of which nobody knows the number, are not
/// counted. What the cache has already, and what several points share, is looked for only if `free` bytes are too few without it, because that
/// takes the fingerprints of the algorithms.
pub fn space(study: &Study, options: &Options<'_>, free: u64) -> Space {
    let (mut cache, mut known, mut results) = (0.0, 0.0, 0.0);
    let sizes: Vec<Size> = study.points.iter().map(Size::of).collect();
    let jobs = jobs(study, options, options.cache.is_some());
    let size =
        |job: &Job<'_>| sizes[job.point].figures + if job.series { sizes[job.point].series } else { 0.0 };
    for job in &jobs {
        results += size(job);
        cache += if options.cache.is_some() { ENTRY.max(size(job)) } else { 0.0 };
    }
    if let Some(folder) = options.cache.filter(|_| cache > free as f64) {
        // Points that differ in another algorithm's parameters share replications.
        let mut seen = HashSet::new();
        let has = |job: &&Job<'_>| job.key().is_some_and(|key| folder.has(&key) || !seen.insert(key));
        known = jobs.iter().filter(has).map(|job| ENTRY.max(size(job))).sum();
    }
    Space { cache: (cache - known) as u64, results: results as u64 }
}

/// The room of one replication at a point.
struct Size {
    figures: f64,
    series: f64,
}

impl Size {
    fn of(point: &Point) -> Size {
        let (links, measure) = (point.links().len() as f64, point.measure());
        // "all", "data", and each class.
        let scopes = 2.0 + point.classes().len() as f64;
        let flows: f64 = point.scenario.flows.iter().map(|group| f64::from(group.count.unwrap_or(1))).sum();
        let segments = measure.segments().len() as f64;
        let duration = point.scenario.duration.as_secs_f64();
        let samples = measure.step.map_or(0.0, |step| duration / step.as_secs_f64());
        Size {
            figures: links * scopes * SCOPE * (1.0 + 0.3 * (segments - 1.0)) + flows * FLOW,
            series: links * samples * SAMPLE,
        }
    }
}

/// The room that is free for this user where `path` is, or will be; `None` where that cannot be said.
pub fn free_space(path: &Path) -> Option<u64> {
    let path = std::path::absolute(path).ok()?;
    let existing = path.ancestors().find(|p| p.exists())?;
    free(existing)
}

#[cfg(unix)]
fn free(existing: &Path) -> Option<u64> {
    let found = rustix::fs::statvfs(existing).ok()?;
    found.f_bavail.checked_mul(found.f_frsize)
}

#[cfg(not(unix))]
fn free(_: &Path) -> Option<u64> {
    None
}
