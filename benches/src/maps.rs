//! The cost of a map of a million points on one core.

use std::hint::black_box;
use std::time::Instant;

use quell_theory::Tcp;
use quell_theory::map::{Axis, Closed, Input};
use quell_theory::rules::criteria::PidGains;

use crate::Outcome;
use crate::table::{Section, figure};

/// Points along each side.
const SIDE: usize = 1000;

/// The time of a million points of each closed form, the fastest of `times`.
pub fn million(times: u32) -> Outcome<Section> {
    let mut section = Section::new("maps", &["map", "precision", "ms per 1 000 000 points"]);
    let red = Closed::red(60.0, 0.246, 3750.0, 1.86e-4, 0.005);
    let pid = Closed::pid(100.0, 0.1, 1250.0, &PidGains::TABLE_1, Tcp::SAWTOOTH);
    let flows = Axis::logarithmic(10.0, 1000.0, SIDE).values().map_err(|e| e.to_string())?;
    let rtts = Axis::logarithmic(0.01, 1.0, SIDE).values().map_err(|e| e.to_string())?;
    let narrow = |v: &[f64]| v.iter().map(|&v| v as f32).collect::<Vec<_>>();
    let (n, r) = (narrow(&flows), narrow(&rtts));
    for (name, closed) in [("RED's loop gain, N by R", red), ("Park et al. 2004, eq. 17, N by R", pid)] {
        // The places are the caller's and used again, as where a knob is turned.
        let mut single = vec![0.0_f32; SIDE * SIDE];
        let mut double = vec![0.0_f64; SIDE * SIDE];
        let mut one = || closed.fill((Input::Flows, &n), (Input::Rtt, &r), black_box(&mut single));
        section.row(vec![name.into(), "single".into(), figure(fastest(times, &mut one)?)]);
        let mut one = || closed.fill_f64((Input::Flows, &flows), (Input::Rtt, &rtts), black_box(&mut double));
        section.row(vec![name.into(), "double".into(), figure(fastest(times, &mut one)?)]);
    }
    section.remark(format!("One core, the fastest of {times} times, into memory that is already allocated."));
    Ok(section)
}

/// The shortest time in milliseconds.
fn fastest<E: ToString>(times: u32, one: &mut impl FnMut() -> Result<(), E>) -> Outcome<f64> {
    let mut best = f64::INFINITY;
    for _ in 0..times.max(1) {
        let start = Instant::now();
        one().map_err(|e| e.to_string())?;
        best = best.min(start.elapsed().as_secs_f64() * 1e3);
    }
    Ok(best)
}
