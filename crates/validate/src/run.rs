//! Runs Quell on every case.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use quell_lab::{Metric, Options, Replication};
use quell_scenario::{Plugins, Study};

use crate::compare::{ComparedFigure, Comparison, Samples};
use crate::little::Little;

/// A setting that another implementation ran.
pub trait Case {
    fn name(&self) -> String;
    /// The queue, and the senders, by the other's names for them.
    fn queue(&self) -> &str;
    fn senders(&self) -> &str;
    /// The approximate number of packets that a run sends.
    fn effort(&self) -> u64;
    /// The scenarios, as a user would write them, that run it with so many seeds in all.
    ///
    /// # Errors
    /// Names what Quell does not have.
    fn scenarios(&self, seeds: u32) -> Result<Vec<String>, String>;
    /// The mean packet in bytes.
    fn mean_packet(&self) -> f64;
    /// Drops packets that have waited: of their waits Quell keeps no mean, and Little's law cannot be
    /// tested.
    fn drops_at_head(&self) -> bool {
        false
    }
    /// The other's figures beside Quell's.
    fn rows(&self, samples: &Samples<'_>) -> Vec<ComparedFigure>;
    /// The same of single classes, by name.
    fn rows_of_classes(&self, samples: &dyn Fn(&str, Metric) -> Vec<f64>) -> Vec<ComparedFigure> {
        let _ = samples;
        Vec::new()
    }
}

/// Every case with `count` seeds, or with `most` where so few leave a figure uncertain.
///
/// # Errors
/// If a scenario cannot be run.
pub fn all(cases: &[impl Case], count: u32, most: u32) -> Result<Vec<Comparison>, String> {
    let meter = Meter::new(cases.iter().map(Case::effort).sum());
    let comparisons = cases.iter().map(|case| {
        meter.begin(&case.name());
        let comparison = match one(case, count) {
            Ok(first) if most > count && is_uncertain(&first) => one(case, most),
            first => first,
        };
        meter.done(case.effort());
        comparison
    });
    let comparisons = comparisons.collect();
    meter.finish();
    comparisons
}

/// Says whether chance alone may put a figure outside its band: whatever its value, the standard error of Quell's
/// mean is more than a fifth of the band.
fn is_uncertain(comparison: &Comparison) -> bool {
    comparison.rows.iter().any(|row| row.quell.error.is_some_and(|error| error > row.band / 5.0))
}

fn one(case: &impl Case, count: u32) -> Result<Comparison, String> {
    let mut replications: Vec<Replication> = Vec::new();
    let mut comparison = Comparison {
        case: case.name(),
        queue: case.queue().to_string(),
        senders: case.senders().to_string(),
        rows: Vec::new(),
        left_out: None,
        little: None,
    };
    let scenarios = match case.scenarios(count) {
        Ok(scenarios) => scenarios,
        Err(why) => return Ok(Comparison { left_out: Some(why), ..comparison }),
    };
    for scenario in scenarios {
        let study =
            Study::parse(&scenario, &case.name(), &Plugins::new()).map_err(|e| format!("{e}\n{scenario}"))?;
        let results = quell_lab::run(&study, &Options::default()).map_err(|e| e.to_string())?;
        replications.extend(results.replications);
    }
    let of_class = |scope: &str, metric| {
        let whole = |r: &Replication| {
            let row = r.metrics.iter().find(|m| m.scope == scope && m.segment.is_none())?;
            row.values.get(metric)
        };
        replications.iter().filter_map(whole).collect::<Vec<f64>>()
    };
    let samples = |metric| of_class("all", metric);
    comparison.rows = case.rows(&samples);
    comparison.rows.extend(case.rows_of_classes(&of_class));
    if case.drops_at_head() {
        return Ok(comparison);
    }
    let littles = replications.iter().filter_map(|r| Little::of(r, case.mean_packet()));
    comparison.little = littles.max_by(|a, b| a.excess().total_cmp(&b.excess()));
    Ok(comparison)
}

/// Progress on a terminal.
struct Meter(Option<ProgressBar>, Instant);

impl Meter {
    fn new(total: u64) -> Self {
        use std::io::IsTerminal;
        let bar = std::io::stderr().is_terminal().then(|| {
            let bar = ProgressBar::new(total);
            // The template is a constant that indicatif accepts; its default would do too.
            if let Ok(style) = ProgressStyle::with_template("{wide_bar} {percent:>3}%  {msg}") {
                bar.set_style(style);
            }
            bar
        });
        Meter(bar, Instant::now())
    }

    fn begin(&self, name: &str) {
        let Some(bar) = &self.0 else { return };
        let done = bar.position() as f64 / bar.length().unwrap_or(1).max(1) as f64;
        let left = match done > 0.02 {
            true => format!("{} s left", (self.1.elapsed().as_secs_f64() / done * (1.0 - done)).ceil()),
            false => "…".to_string(),
        };
        bar.set_message(format!("{left}  {name}"));
        bar.enable_steady_tick(Duration::from_millis(200));
    }

    fn done(&self, effort: u64) {
        if let Some(bar) = &self.0 {
            bar.inc(effort);
        }
    }

    fn finish(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}
