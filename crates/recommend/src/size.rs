//! How long to simulate, and how often.

use quell_units::Duration;

use crate::load::FRAME;
use crate::request::Request;
use crate::way::Way;

/// The time and the seeds of each scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    pub(crate) duration: Duration,
    pub(crate) warmup: Duration,
    /// Seeds of the candidates.
    pub(crate) seeds: u32,
    /// Seeds of what tells how far the answer carries.
    pub(crate) reach_seeds: u32,
}

/// Full packets of one replication, both directions together.
const PACKETS: f64 = 500_000.0;
/// Full packets of all: what two cores do in fifteen to twenty seconds.
const ALL: f64 = 45_000_000.0;
/// Seeds of each candidate, if there is time; with fewer, an interval says little.
const SEEDS: u32 = 8;
/// Seeds of each link that may be there instead, of which there are five.
const REACH_SEEDS: u32 = 5;
/// The longest time; slow links need it for a few dozen pages.
const LONGEST: f64 = 240.0;
/// The part of a course's period that is simulated at least: a warm-up, and all of it once.
const OF_COURSE: f64 = 1.2;
/// The least time of a varying link: the course of LTE twice, and a warm-up.
const OF_VARYING: f64 = 48.0;

/// The size of the scenarios of a request, of which there are `rows`.
pub(crate) fn size(request: &Request, down: &Way, up: &Way, rows: usize) -> Size {
    let rate = down.mean.packets_per_sec(FRAME) + up.mean.packets_per_sec(FRAME);
    let rtt = request.rtt.most.as_secs_f64();
    let courses = [down, up].map(|way| way.course.as_ref().map_or(0.0, |course| course.period.as_secs_f64()));
    let course = (OF_COURSE * courses[0].max(courses[1])).clamp(OF_VARYING, LONGEST);
    let least = if request.varies() { course } else { (60.0 * rtt).max(0.05) };
    let duration = (PACKETS / rate).min(LONGEST).max(least);
    let each = rate * duration;
    let left = ALL / each - f64::from(5 * REACH_SEEDS);
    let seeds = libm::floor(left / rows as f64).clamp(3.0, f64::from(SEEDS));
    let (seeds, reach_seeds) = (seeds as u32, REACH_SEEDS);
    let duration = rounded(duration);
    let warmup = rounded((duration.as_secs_f64() / 6.0).max((10.0 * rtt).min(duration.as_secs_f64() / 3.0)));
    Size { duration, warmup, seeds, reach_seeds }
}

/// Whole seconds from ten on, else whole milliseconds.
fn rounded(seconds: f64) -> Duration {
    let grid = if seconds >= 10.0 { 1.0 } else { 0.001 };
    let steps = libm::ceil(seconds / grid);
    Duration::from_millis((steps * grid * 1000.0 + 0.5) as u64)
}
