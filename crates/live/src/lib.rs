//! Scenarios with real packets: their algorithms and their traffic across a wire, one replication after the other in
//! real time.
//!
//! What was measured comes from the log: its arrivals go through the simulator once more, with the same algorithm and
//! seed, which decides the same about each of them. So the figures of a live run are made by the code that makes
//! those of a simulated one, and both can be compared.
#![cfg(target_os = "linux")]
#![deny(missing_docs)]

mod apps;
mod hosts;
mod job;
mod log;
mod measure;
mod wiring;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use quell_gateway::traffic::congestion_controls;
use quell_lab::{PointInfo, Replication, Results, RunInfo};
use quell_scenario::Study;

use job::Job;
pub use job::{How, LiveError, Progress};
use wiring::Wiring;

/// A study that can be run live.
pub struct Live {
    study: Study,
}

/// The outcome of a study.
pub struct Measured {
    /// The results, of as many replications as were finished.
    pub results: Results,
    /// The 99th percentile of how late packets left the bottleneck, in seconds, in the worst replication.
    pub late_p99_s: f64,
    /// The kernel's load over a minute, averaged over the replications.
    pub load: f64,
    /// The logs that are kept.
    pub logs: Vec<PathBuf>,
}

impl Live {
    /// A study that was read, unless it cannot be a wire.
    ///
    /// # Errors
    /// Names what a wire cannot be.
    pub fn of(study: Study) -> Result<Live, LiveError> {
        let live = Live { study };
        let known = congestion_controls();
        for job in live.jobs() {
            Wiring::of(&job, &known)?;
        }
        Ok(live)
    }

    /// The study.
    pub fn study(&self) -> &Study {
        &self.study
    }

    fn jobs(&self) -> Vec<Job<'_>> {
        let mut jobs = Vec::new();
        for (index, point) in self.study.points.iter().enumerate() {
            // Seed by seed, so that what the machine does meanwhile meets all algorithms.
            for seed in point.scenario.seeds.list() {
                for (aqm, choice) in point.scenario.aqm.iter().enumerate() {
                    jobs.push(Job { index, point, aqm, label: choice.label().to_string(), seed });
                }
            }
        }
        jobs
    }

    /// The logs that are kept beside `log`: one for each replication.
    pub fn logs(&self, log: &Path) -> Vec<PathBuf> {
        let jobs = self.jobs();
        let name = |job: &Job<'_>| match jobs.len() {
            1 => log.to_path_buf(),
            _ => log.with_extension(format!("{}-{}-{}.log", job.index, job.label, job.seed)),
        };
        jobs.iter().map(name).collect()
    }

    /// Runs everything, one replication after the other; `None` if it was stopped before the first was finished.
    /// `command` is kept with the results.
    ///
    /// # Errors
    /// If there can be no wire, or a replication fails.
    pub fn measure(&self, how: &How<'_>, command: Vec<String>) -> Result<Option<Measured>, LiveError> {
        let known = congestion_controls();
        let jobs = self.jobs();
        let (began, started) = (Instant::now(), SystemTime::now());
        let total: f64 = jobs.iter().map(seconds).sum();
        let scratch = tempfile::tempdir()
            .map_err(|e| LiveError::Failed(format!("cannot make a temporary folder: {e}")))?;
        let logs = how.log.map(|log| self.logs(log)).unwrap_or_default();
        let mut measured = 0.0;
        let mut replications: Vec<Replication> = Vec::new();
        let (mut info, mut late_p99_s, mut loads) = (None, 0.0f64, load());
        for (i, job) in jobs.iter().enumerate() {
            let show = |elapsed: quell_units::Duration| {
                let done = measured + elapsed.as_secs_f64();
                // What is between replications takes as long as it did so far.
                let more = (began.elapsed().as_secs_f64() - done) / done.max(1.0);
                let left = (total - done) * (1.0 + more.clamp(0.0, 1.0));
                (how.progress)(&Progress {
                    run: i + 1,
                    of: jobs.len(),
                    label: &job.label,
                    seed: job.seed,
                    share: done / total,
                    left: Duration::from_secs_f64(left.max(0.0)),
                });
            };
            let log = logs.get(i).cloned().unwrap_or_else(|| scratch.path().join(format!("{i}.log")));
            let Some(view) = job.measure(&known, &log, how, &show)? else { break };
            late_p99_s = late_p99_s.max(view.late_p99_s);
            loads += load();
            let results = job.results(&log, &view)?;
            if how.log.is_none() {
                let _ = std::fs::remove_file(&log);
            }
            replications
                .extend(results.replications.into_iter().map(|r| Replication { point: job.index, ..r }));
            info.get_or_insert(results.run);
            measured += seconds(job);
            if how.stop.load(Ordering::Relaxed) {
                break;
            }
        }
        let Some(info) = info else { return Ok(None) };
        let load = loads / (replications.len() + 1) as f64;
        let run = RunInfo {
            title: self.study.title().to_string(),
            started: humantime::format_rfc3339_seconds(started).to_string(),
            elapsed_s: began.elapsed().as_secs_f64(),
            command,
            scenario_file: self.study.name().to_string(),
            scenario_text: self.study.text().map(str::to_string),
            live: true,
            points: self.study.points.iter().map(PointInfo::of).collect(),
            holes: self.study.holes.clone(),
            notes: self.study.notes(),
            // What sent and received was this machine.
            engine: BTreeMap::new(),
            partial: replications.len() < jobs.len(),
            ..info
        };
        let logs = logs.into_iter().take(replications.len()).collect();
        Ok(Some(Measured { results: Results::of(run, replications), late_p99_s, load, logs }))
    }
}

fn seconds(job: &Job<'_>) -> f64 {
    job.point.scenario.duration.as_secs_f64()
}

/// The number of processes that run or wait for a processor: the kernel's mean over a minute.
fn load() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_whitespace().next().and_then(|x| x.parse().ok()).unwrap_or(0.0)
}
