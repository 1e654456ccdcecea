//! PID gains by loop-shaping.

use quell_aqm::catalog::AqmConfig;
use quell_aqm::params::AutoSize;
use quell_aqm::pi::design_zero;
use quell_aqm::pid::PidParams;
use quell_units::{Duration, QueueSize};

use super::digits::round;
use super::pi::SHAPED;
use super::rule::{Notes, Rule};
use super::target::Target;
use crate::error::TheoryError;
use crate::rules::criteria::{self, PidGains};
use crate::text::figure;

/// Zeros at the corners of the plant.
pub(super) struct Pid;

impl Rule for Pid {
    const NAME: &'static str = "pid";

    fn parameters(target: &Target, notes: &mut Notes) -> Result<(AqmConfig, f64), TheoryError> {
        let q = target.held();
        let Shaped { gains, interval, memory, .. } = shaped(target, notes)?;
        let config = AqmConfig::Pid(PidParams {
            k_p: gains.k_p,
            k_i: gains.k_i,
            k_d: gains.k_d,
            q_ref: AutoSize::Size(QueueSize::Packets(q)),
            update_interval: interval,
            derivative_memory: memory,
            ..Default::default()
        });
        Ok((config, q))
    }
}

/// The gains, and the corners of the plant that their zeros lie at.
pub(super) struct Shaped {
    pub(super) gains: PidGains,
    pub(super) beta: f64,
    pub(super) gamma: f64,
    /// Interval of the updates.
    pub(super) interval: Duration,
    /// Memory of the derivative.
    pub(super) memory: Duration,
}

/// Loop-shaping of PID gains.
pub(super) fn shaped(target: &Target, notes: &mut Notes) -> Result<Shaped, TheoryError> {
    let now = target.conditions();
    let tcp = target.reno()?;
    let beta = round(design_zero(now.flows, now.capacity, now.rtt));
    let gamma = round(1.0 / now.rtt);
    // L = alpha C^2/(a N) e^(-sR)/s.
    let alpha = round(SHAPED / now.rtt * tcp.decrease * now.flows / (now.capacity * now.capacity));
    let gains = PidGains { k_p: round(alpha * (beta + gamma)), k_i: round(alpha * beta * gamma), k_d: alpha };
    notes.assume(format!(
        "zeros at the corners of the plant, beta = 2N/(R^2 C) = {} and gamma = 1/R = {} per second, and alpha for a crossover at 0.5/R: the loop-shaping of Hollot for PID gains; Park et al. 2004 print no rule within its region of stability",
        figure(beta),
        figure(gamma)
    ));
    let largest = criteria::vrc_largest_integral(gains.k_d, &now, tcp);
    let range = criteria::vrc_proportional(gains.k_i, gains.k_d, &now, tcp);
    let inside = range.is_some_and(|(low, high)| gains.k_p > low && gains.k_p < high);
    let (_, high) = range.unwrap_or((0.0, 0.0));
    notes.assume(format!(
        "{} Park et al. 2004, eq. 18-21: K_I = {:.3e} of at most {largest:.3e}, K_P = {:.3e} of at most {high:.3e}",
        if inside { "within" } else { "outside" },
        gains.k_i,
        gains.k_p
    ));
    let interval = Duration::from_secs_f64((0.1 * now.rtt).min(0.01));
    let memory = Duration::from_secs_f64((0.2 * now.rtt).min(0.02));
    Ok(Shaped { gains, beta, gamma, interval, memory })
}
