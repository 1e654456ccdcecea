//! What a recommendation is told of a link: by options, by a capture, or by a trace of its rate.

use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;

use quell_capture::{CaptureError, Layer, Options, Report};
use quell_recommend::{Course, Span};
use quell_router::Technology;
use quell_scenario::Plugins;
use quell_units::text::cut;
use quell_units::{BitRate, Duration, Time};

use crate::captured::{Watched, open};
use crate::failure::Failure;
use crate::interrupt;
use crate::terminal::{self, Meter};

/// A link.
pub struct Given {
    /// Its rate down.
    pub down: Span<BitRate>,
    /// Its rate up.
    pub up: Span<BitRate>,
    /// Its round-trip times.
    pub rtt: Span<Duration>,
    /// How its rate down moves.
    pub trace: Option<Course>,
}

/// The time of a trace that counts.
const MOST_OF_TRACE: Duration = Duration::from_secs(60);

/// How far what is given may be from what was captured, as a factor.
const NEAR: f64 = 1.2;

/// What is given, and what a capture or a trace says beside it.
pub fn link(
    down: Option<Span<BitRate>>,
    up: Option<Span<BitRate>>,
    rtt: Option<Span<Duration>>,
    technology: &Technology,
    (capture, trace): (Option<&Path>, Option<&Path>),
    quiet: bool,
) -> Result<Given, Failure> {
    let report = capture.map(|file| measured(file, technology, quiet)).transpose()?;
    let usual = Span { least: Duration::from_millis(10), most: Duration::from_millis(80) };
    let trace = trace.map(traced).transpose()?;
    let of = |name: &str, direction: usize, said: Option<Span<BitRate>>| {
        let Some(report) = &report else {
            return said.ok_or_else(|| bad_input!(
                    "--{name}: the rate is needed, such as --{name} 18Mbit/s; or give --capture, a packet capture of the link \
                     while it is full"
                ));
        };
        let seen = report.directions[direction].capacity.capacity_bps;
        match (said, seen) {
            (Some(said), Some(seen)) => {
                let (low, high) = (said.least.bps() as f64 / NEAR, said.most.bps() as f64 * NEAR);
                match low <= seen && seen <= high {
                    true => Ok(said),
                    false => Err(bad_input!(
                        "--{name} {said}: the capture shows {}; leave --{name} out, or measure again while the link is full",
                        rounded(seen)
                    )),
                }
            }
            (Some(said), None) => {
                terminal::note(&format!(
                    "the capture does not show the rate {name}; {said} is taken as it was given"
                ));
                Ok(said)
            }
            (None, Some(seen)) => Ok(Span::of(rounded(seen))),
            (None, None) => Err(bad_input!(
                "--{name}: the capture does not show this rate (quell measure says why); give it, such as --{name} 18Mbit/s"
            )),
        }
    };
    let up = of("up", 0, up)?;
    let down = match (&trace, down) {
        (Some(course), None) => course.span(),
        (Some(course), Some(said)) => {
            let mean = course.mean();
            if mean.bps() < said.least.bps() / 2 || mean.bps() / 2 > said.most.bps() {
                return Err(bad_input!("--down {said}: the trace has a mean of {mean}; leave --down out"));
            }
            course.span()
        }
        (None, down) => of("down", 1, down)?,
    };
    let seen = report.as_ref().and_then(|report| report.round_trips.as_ref()).map(|trips| {
        let [low, .., high] = trips.quantiles_s.map(Duration::from_secs_f64);
        Span { least: low, most: high }
    });
    let rtt = rtt.or(seen.filter(|rtt| !rtt.least.is_zero())).unwrap_or(usual);
    Ok(Given { down, up, rtt, trace })
}

fn rounded(bps: f64) -> BitRate {
    BitRate::from_bps((bps / 10_000.0).round() as u64 * 10_000)
}

/// What a capture says, with rates as the link counts them.
fn measured(file: &Path, technology: &Technology, quiet: bool) -> Result<Report, Failure> {
    let said = quell_files::name(file);
    let (input, size) = open(file)?;
    let (stop, meter) = (interrupt::listen(), Meter::new(quiet));
    let watched = Watched::new(input, size, &meter, stop);
    let layer = Layer::Link(technology.name, technology.link(BitRate::from_bps(0)));
    let report = quell_capture::measure(watched, &Options { layer, ..Options::default() }, |_| ());
    meter.finish();
    if stop.load(Ordering::Relaxed) {
        return Err(Failure::Interrupted("the capture was not read completely".into()));
    }
    report.map_err(|e| match e {
        CaptureError::Io(e) if e.kind() != io::ErrorKind::InvalidData => {
            Failure::Failed(format!("{said}: {e}"))
        }
        e => bad_input!("--capture {said}: {e}"),
    })
}

/// The course of a rate, as a link with these changes would have it.
fn traced(file: &Path) -> Result<Course, Failure> {
    let path = file.to_str().ok_or_else(|| bad_input!("--trace: the name is not text; rename the file"))?;
    let text = format!(
        "schema = 1\nduration = \"60 s\"\n[dumbbell]\nrate = \"1 Mbit/s\"\ndelay = \"1 ms\"\nbuffer = \"100 \
         packets\"\nchanges = {{ file = {} }}\n[[aqm]]\nalgorithm = \"drop-tail\"\n[[flows]]\nname = \"ftp\"\n",
        toml::Value::String(path.to_string())
    );
    let wrong = |why: &dyn std::fmt::Display| bad_input!("--trace {}: {why}", cut(path));
    let document = quell_lab::read_from(text.as_bytes(), "the trace").map_err(|e| wrong(&e.reason()))?;
    let study = document.study(&Plugins::new()).map_err(|e| wrong(&e.reason()))?;
    let plan = study.points[0].plan(0, 1, &Plugins::new()).map_err(|e| wrong(&e.reason()))?;
    let link = plan.network.links.iter().find(|link| !link.rate.is_constant());
    let rate = &link.ok_or_else(|| wrong(&"the rate does not change; give it with --down"))?.rate;
    let end = Time::ZERO + MOST_OF_TRACE;
    let mut steps = vec![(Duration::default(), rate.at(Time::ZERO))];
    let mut at = rate.next_change(Time::ZERO);
    let mut last = Time::ZERO;
    while at < end {
        steps.push((at.since(Time::ZERO), rate.at(at)));
        last = at;
        at = rate.next_change(at);
    }
    let period = if at >= Time::MAX { last.since(Time::ZERO) } else { MOST_OF_TRACE };
    let course = Course { steps, period };
    match course.period.is_zero() || course.mean().bps() == 0 {
        true => Err(wrong(&"it has no course of a rate within a minute")),
        false => Ok(course),
    }
}
