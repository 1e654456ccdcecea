//! PI by Hollot et al. 2001b, and by the same shape for other windows than Reno's.

use std::f64::consts::PI;

use num_complex::Complex64;
use quell_aqm::ap_red::Conditions;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::params::AutoSize;
use quell_aqm::pi::{PiDesign, PiParams, design_zero};
use quell_units::QueueSize;

use super::digits::round;
use super::rule::{Notes, Rule};
use super::target::Target;
use crate::congestion::Congestion;
use crate::controller::{Controller, Input};
use crate::error::TheoryError;
use crate::linear::{Loop, Plant};
use crate::num::{Rational, complex};
use crate::text::figure;

/// A crossover at `SHAPED/R` leaves 61 degrees to an integrator with the delay, and a gain margin of pi.
pub(super) const SHAPED: f64 = 0.5;

/// Phase that the shape leaves at the crossover: as much as Hollot's.
const LEAST_PHASE: f64 = PI / 3.0;

/// The zero and the crossover of Hollot et al.
pub(super) struct Pi;

impl Rule for Pi {
    const NAME: &'static str = "pi";
    const ANY_WINDOW: bool = true;

    fn parameters(target: &Target, notes: &mut Notes) -> Result<(AqmConfig, f64), TheoryError> {
        let Congestion::Reno(_) = target.congestion else { return shaped(target, notes) };
        let q = target.held();
        let now = target.conditions();
        let (z, lambda) = hollot(&now);
        let crossover = lambda / now.rtt;
        notes.assume(format!(
            "Hollot et al. 2001b (Chen 2010, section 3.4.2, eq. 6.3-6.5): the zero at z = 2N/(R^2 C) = {} rad/s cancels the windows' corner, and the crossover lies at lambda/R with lambda = min(z R, 0.5) = {}, where Chen 2010 allows 0.85; the rule is made with a = 2 and the simplified plant",
            figure(z),
            figure(lambda)
        ));
        Ok((
            AqmConfig::Pi(PiParams {
                design: Some(PiDesign { flows: now.flows, rtt: target.rtt, lambda: Some(lambda) }),
                q_ref: AutoSize::Size(QueueSize::Packets(q)),
                sampling_rate: sampling_rate(crossover),
                ..Default::default()
            }),
            q,
        ))
    }
}

/// Updates per second for a crossover in radians per second: 20 to each of its periods.
fn sampling_rate(crossover: f64) -> f64 {
    (20.0 * crossover / std::f64::consts::TAU).max(170.0)
}

/// Hollot's shape on the loop of any window: the zero on the windows' corner, the gain read from the exact loop at
/// the crossover.
fn shaped(target: &Target, notes: &mut Notes) -> Result<(AqmConfig, f64), TheoryError> {
    let q = target.held();
    let now = target.conditions();
    let point = target.network(q)?.point(q, now.capacity)?;
    let flow = point.classes[0];
    let near = target.congestion.near(flow.window, flow.rtt, point.probability);
    // Windows whose rate does not yield to the queue make a second integrator, and the zero must lie well below.
    let integrates = near.rtt.0 + near.rtt.1 > 0.0;
    let corner = near.tau * (near.own.0 + near.own.1);
    let unit = |lambda: f64| -> Result<(f64, Complex64), TheoryError> {
        let crossover = lambda / now.rtt;
        let z = if integrates { 0.1 * crossover } else { corner };
        let transfer = Rational::new([z, 1.0], [0.0, 1.0]);
        let control = Loop::new(&point, &Controller { transfer, input: Input::Queue }, Plant::Exact)?;
        Ok((z, control.response(crossover)))
    };
    let mut lambda = if integrates { SHAPED } else { SHAPED.min(corner * now.rtt) };
    let (mut z, mut response) = unit(lambda)?;
    // The estimate of the share of marks lags, too.
    while PI + complex::arg(response) < LEAST_PHASE && lambda > 1e-3 {
        lambda *= 0.9;
        (z, response) = unit(lambda)?;
    }
    let (crossover, k_p) = (lambda / now.rtt, 1.0 / complex::norm(response));
    notes.assume(format!(
        "the shape of Hollot et al. 2001b on the window of {}: the zero at z = {} rad/s {}, and the crossover at lambda/R with lambda = {}, where the exact loop has a gain of 1",
        target.congestion.name(),
        figure(z),
        if integrates { "lies well below the crossover, because both flows and queue integrate" } else { "cancels the windows' corner" },
        figure(lambda)
    ));
    let sampling_rate = sampling_rate(crossover);
    let (a, apart) = (round(k_p + 0.5 * k_p * z / sampling_rate), round(k_p * z / sampling_rate));
    Ok((
        AqmConfig::Pi(PiParams {
            a,
            b: a - apart,
            q_ref: AutoSize::Size(QueueSize::Packets(q)),
            sampling_rate,
            ..Default::default()
        }),
        q,
    ))
}

/// Hollot's zero and crossover: (z, lambda).
pub(super) fn hollot(now: &Conditions) -> (f64, f64) {
    let z = design_zero(now.flows, now.capacity, now.rtt);
    (z, round((z * now.rtt).min(SHAPED)))
}
