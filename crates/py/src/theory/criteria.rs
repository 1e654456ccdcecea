//! The published conditions and design formulas.

use pyo3::prelude::*;
use quell_aqm::ap_red::{Conditions, Setting};
use quell_aqm::hred::Line;
use quell_aqm::pi;
use quell_theory::Controller;
use quell_theory::TheoryError;
use quell_theory::rules::criteria::{self, PidGains};

use super::linear::rational;
use super::words;
use crate::attend::interruptible;
use crate::errors::Answer;

/// A published condition of the form ``left < right``, evaluated.
///
/// Examples
/// --------
/// >>> from quell.theory import vrc_theorem
/// >>> rule = vrc_theorem(0.0024, 0.0045, 0.0003, flows=100, rtt=0.2, capacity=1250)
/// >>> rule.holds, rule.left < rule.right
/// (True, False)
#[pyclass(module = "quell.theory", frozen, get_all)]
#[derive(Clone, Debug)]
pub struct Criterion {
    /// str: What it says and where: "Chen 2010, eq. 4.9: L w <= 0.8 N^3/(RC)^5".
    statement: String,
    /// float: The left side.
    left: f64,
    /// float: The right side.
    right: f64,
    /// bool: Whether it holds.
    holds: bool,
    /// bool: Whether, by its paper, a loop that does not meet it is unstable; otherwise it only may be.
    necessary: bool,
    /// str: Why, in words with the numbers, and what would help.
    reason: String,
}

impl From<criteria::Criterion> for Criterion {
    fn from(x: criteria::Criterion) -> Self {
        Criterion {
            statement: x.statement,
            left: x.left,
            right: x.right,
            holds: x.holds,
            necessary: x.necessary,
            reason: x.reason,
        }
    }
}

#[pymethods]
impl Criterion {
    fn __bool__(&self) -> bool {
        self.holds
    }

    fn __repr__(&self) -> String {
        let c = self;
        format!(
            "Criterion({:?}, left={:.4e}, right={:.4e}, holds={})",
            c.statement,
            c.left,
            c.right,
            if c.holds { "True" } else { "False" }
        )
    }
}

/// N, R and C, checked.
fn conditions(flows: f64, rtt: f64, capacity: f64) -> Result<Conditions, TheoryError> {
    words::positive("flows N", flows, "flows")?;
    words::positive("round-trip time R", rtt, "s")?;
    words::positive("capacity C", capacity, "packets/s")?;
    Ok(Conditions { flows, rtt, capacity })
}

fn not_negative(name: &str, x: f64) -> Result<(), TheoryError> {
    if x >= 0.0 && x.is_finite() {
        return Ok(());
    }
    Err(TheoryError::quantity(name, x, "must be finite and not negative"))
}

/// Find the round-trip time at which an algorithm with a fixed transfer function loses stability.
///
/// Parameters
/// ----------
/// controller : (array_like, array_like)
///     As for :class:`Loop`: numerator and denominator, the highest power of s first.
/// flows : float
///     N.
/// capacity : float
///     C in packets/s.
/// input : {"queue", "rate"}, default "queue"
///     What the controller is applied to.
/// a : float, default 1.5
///     A signal takes W/a of the window.
/// increase : float, default 1.0
///     Packets that a window gains per round trip.
/// plant : {"exact", "simplified"}, default "exact"
///     As for :class:`Loop`.
/// delay : {"exact", "first-order-lag"}, default "exact"
///     "first-order-lag" replaces the delay by ``1/(1 + R s)`` (Park et al. 2004, eq. 16), which is
///     optimistic.
///
/// Returns
/// -------
/// float or None
///     R in seconds, queueing included; None if it is stable at every R up to 100 s, or at no shorter one.
///
/// Raises
/// ------
/// TheoryError
///     If a quantity is not physical.
///
/// Examples
/// --------
/// Park et al. 2004, section 5.4.2 prints 0.361 s for VRC's gains, by the lag; the exact delay allows less.
///
/// >>> from quell.theory import critical_rtt
/// >>> vrc = ([0.0003, 0.0024, 0.0045], [1, 0])
/// >>> round(critical_rtt(vrc, flows=100, capacity=1250, delay="first-order-lag"), 3)
/// 0.363
/// >>> round(critical_rtt(vrc, flows=100, capacity=1250), 3)
/// 0.28
#[pyfunction]
#[pyo3(signature = (controller, *, flows, capacity, input="queue", a=1.5, increase=1.0, plant="exact", delay="exact"))]
pub fn critical_rtt(
    py: Python<'_>,
    controller: (Bound<'_, PyAny>, Bound<'_, PyAny>),
    flows: f64,
    capacity: f64,
    input: &str,
    a: f64,
    increase: f64,
    plant: &str,
    delay: &str,
) -> Answer<Option<f64>> {
    let controller = Controller { transfer: rational(controller)?, input: words::input(input)? };
    let (plant, delay, tcp) = (words::plant(plant)?, words::delay(delay)?, words::tcp(a, increase)?);
    let found = interruptible(py, |_| {
        criteria::critical_rtt(flows, capacity, tcp, plant, delay, |_| Ok(controller.clone()))
    })?;
    Ok(found?)
}

/// Evaluate the theorem of Park et al. 2004: VRC, PID and PI are stable, with a lag for the delay, if and
/// only if eq. 17 holds.
///
/// The misprint of eq. 17 is corrected: its bracket ends in ``- tau2 R K_P``.
///
/// Parameters
/// ----------
/// k_p : float
///     K_P per packet.
/// k_i : float
///     K_I per packet and second.
/// k_d : float
///     K_D in seconds per packet; 0 makes it PI.
/// flows : float
///     N.
/// rtt : float
///     R in seconds.
/// capacity : float
///     C in packets/s.
/// a : float, default 1.5
///     A signal takes W/a of the window.
///
/// Returns
/// -------
/// Criterion
///     Both sides of eq. 17 and the verdict.
///
/// Raises
/// ------
/// TheoryError
///     If a quantity is not physical.
///
/// Examples
/// --------
/// >>> from quell.theory import vrc_theorem
/// >>> vrc_theorem(0.0024, 0.0045, 0.0003, flows=100, rtt=0.2, capacity=1250).holds
/// True
#[pyfunction]
#[pyo3(signature = (k_p, k_i, k_d, *, flows, rtt, capacity, a=1.5))]
pub fn vrc_theorem(
    k_p: f64,
    k_i: f64,
    k_d: f64,
    flows: f64,
    rtt: f64,
    capacity: f64,
    a: f64,
) -> Answer<Criterion> {
    let now = conditions(flows, rtt, capacity)?;
    Ok(criteria::vrc_theorem(&PidGains { k_p, k_i, k_d }, &now, words::tcp(a, 1.0)?)?.into())
}

/// Compute the bound of K_I, Park et al. 2004, eq. 20.
///
/// Parameters
/// ----------
/// k_d : float
///     K_D in seconds per packet.
/// flows : float
///     N.
/// rtt : float
///     R in seconds.
/// capacity : float
///     C in packets/s.
/// a : float, default 1.5
///     A signal takes W/a of the window.
///
/// Returns
/// -------
/// float
///     The bound, per packet and second; K_I must be smaller.
///
/// Raises
/// ------
/// TheoryError
///     If a quantity is not physical.
///
/// Examples
/// --------
/// The example of Park et al. 2004, section 3.2:
///
/// >>> from quell.theory import vrc_largest_k_i, vrc_k_p_range
/// >>> round(vrc_largest_k_i(0.001, flows=100, rtt=0.1, capacity=1250), 3)
/// 0.659
/// >>> low, high = vrc_k_p_range(0.01, 0.001, flows=100, rtt=0.1, capacity=1250)
/// >>> low, round(high, 3)
/// (0.0, 0.125)
#[pyfunction]
#[pyo3(signature = (k_d, *, flows, rtt, capacity, a=1.5))]
pub fn vrc_largest_k_i(k_d: f64, flows: f64, rtt: f64, capacity: f64, a: f64) -> Answer<f64> {
    let now = conditions(flows, rtt, capacity)?;
    not_negative("K_D", k_d)?;
    Ok(criteria::vrc_largest_integral(k_d, &now, words::tcp(a, 1.0)?))
}

/// Compute the range of K_P for a K_I and a K_D, Park et al. 2004, eq. 19 and 21.
///
/// Parameters
/// ----------
/// k_i : float
///     K_I per packet and second.
/// k_d : float
///     K_D in seconds per packet.
/// flows : float
///     N.
/// rtt : float
///     R in seconds.
/// capacity : float
///     C in packets/s.
/// a : float, default 1.5
///     A signal takes W/a of the window.
///
/// Returns
/// -------
/// (float, float), or None
///     Both ends, per packet, exclusive; None if K_I exceeds eq. 20.
///
/// Raises
/// ------
/// TheoryError
///     If a quantity is not physical.
///
/// Examples
/// --------
/// >>> from quell.theory import vrc_k_p_range
/// >>> low, high = vrc_k_p_range(0.01, 0.001, flows=100, rtt=0.1, capacity=1250)
/// >>> round(high, 3)
/// 0.125
#[pyfunction]
#[pyo3(signature = (k_i, k_d, *, flows, rtt, capacity, a=1.5))]
pub fn vrc_k_p_range(
    k_i: f64,
    k_d: f64,
    flows: f64,
    rtt: f64,
    capacity: f64,
    a: f64,
) -> Answer<Option<(f64, f64)>> {
    let now = conditions(flows, rtt, capacity)?;
    not_negative("K_I", k_i)?;
    not_negative("K_D", k_d)?;
    Ok(criteria::vrc_proportional(k_i, k_d, &now, words::tcp(a, 1.0)?))
}

/// Evaluate Chen 2010, proposition 4.9: RED with a small weight is stable if ``L w <= 0.8 N^3/(RC)^5``.
///
/// That holds for ``N <= RC/2``; otherwise the bound is ``L w <= 0.4 N^2/(RC)^4``. Sufficient, not necessary.
///
/// Parameters
/// ----------
/// min_th : float
///     The lower threshold in packets.
/// max_th : float
///     The upper threshold in packets.
/// max_p : float
///     The probability there.
/// weight : float
///     The weight w of a new sample in the average.
/// flows : float
///     N.
/// rtt : float
///     R in seconds.
/// capacity : float
///     C in packets/s.
///
/// Returns
/// -------
/// Criterion
///     Both sides and the verdict.
///
/// Raises
/// ------
/// TheoryError
///     If a quantity is not physical.
///
/// Examples
/// --------
/// >>> from quell.theory import red_proposition
/// >>> red_proposition(min_th=50, max_th=150, max_p=0.05, weight=1e-4, flows=50, rtt=0.12, capacity=2500).holds
/// False
#[pyfunction]
#[pyo3(signature = (*, min_th, max_th, max_p, weight, flows, rtt, capacity))]
pub fn red_proposition(
    min_th: f64,
    max_th: f64,
    max_p: f64,
    weight: f64,
    flows: f64,
    rtt: f64,
    capacity: f64,
) -> Answer<Criterion> {
    let now = conditions(flows, rtt, capacity)?;
    words::positive("max_p", max_p, "")?;
    Ok(criteria::red_proposition(&Setting { min_th, max_th, max_p, w: weight }, &now)?.into())
}

/// Evaluate RED's rule of Hollot et al. 2001a (Chen 2010, eq. 4.11-4.13).
///
/// Parameters
/// ----------
/// slope : float
///     L, of the probability over the average queue, per packet.
/// filter : float
///     K of the average, per second.
/// flows : float
///     The fewest flows N.
/// rtt : float
///     The longest R in seconds.
/// capacity : float
///     C in packets/s.
///
/// Returns
/// -------
/// Criterion
///     ``L (RC)^3/(2N)^2`` and ``sqrt(w_g^2/K^2 + 1)``, and the verdict.
///
/// Raises
/// ------
/// TheoryError
///     If a quantity is not physical.
///
/// Examples
/// --------
/// >>> from quell.theory import red_by_hollot
/// >>> red_by_hollot(slope=0.001, filter=0.5, flows=60, rtt=0.246, capacity=3750).holds
/// False
#[pyfunction]
#[pyo3(signature = (*, slope, filter, flows, rtt, capacity))]
pub fn red_by_hollot(slope: f64, filter: f64, flows: f64, rtt: f64, capacity: f64) -> Answer<Criterion> {
    let now = conditions(flows, rtt, capacity)?;
    Ok(criteria::red_by_hollot(slope, filter, &now)?.into())
}

/// Compute the largest K of RED's average for a slope, by the rule of :func:`red_by_hollot`.
///
/// Parameters
/// ----------
/// slope : float
///     L per packet.
/// flows : float
///     The fewest flows N.
/// rtt : float
///     The longest R in seconds.
/// capacity : float
///     C in packets/s.
///
/// Returns
/// -------
/// float
///     Per second; infinite where no average is needed.
///
/// Raises
/// ------
/// TheoryError
///     If a quantity is not physical.
///
/// Examples
/// --------
/// >>> from quell.theory import red_filter
/// >>> round(red_filter(slope=1.86e-4, flows=60, rtt=0.246, capacity=3750), 4)
/// 0.0052
#[pyfunction]
#[pyo3(signature = (*, slope, flows, rtt, capacity))]
pub fn red_filter(slope: f64, flows: f64, rtt: f64, capacity: f64) -> Answer<f64> {
    let now = conditions(flows, rtt, capacity)?;
    words::positive("slope L of RED", slope, "per packet")?;
    Ok(criteria::red_filter(slope, &now))
}

/// PI from its design rule, in each form in which papers give its gains.
///
/// Examples
/// --------
/// >>> from quell.theory import pi_design
/// >>> pi = pi_design(flows=60, rtt=0.246, capacity=3750, sampling_hz=160)
/// >>> pi.a > pi.b
/// True
#[pyclass(module = "quell.theory", frozen, get_all)]
#[derive(Clone, Debug)]
pub struct PiDesign {
    /// float: The zero z at the corner of TCP's windows, in rad/s.
    pub zero_rad_per_s: f64,
    /// float: The frequency at which the gain is made 1, in rad/s.
    pub crossover_rad_per_s: f64,
    /// float: K_P per packet.
    pub k_p: f64,
    /// float: K_I per packet and second; K of ``K (s/z + 1)/s``.
    pub k_i: f64,
    /// float: The phase margin with the delay R, in degrees (Chen 2010, eq. 6.5).
    pub phase_margin_deg: f64,
    /// float or None: Gain a of the discrete form per packet, if a sampling rate was given.
    pub a: Option<f64>,
    /// float or None: Gain b of the discrete form per packet, if a sampling rate was given.
    pub b: Option<f64>,
}

#[pymethods]
impl PiDesign {
    fn __repr__(&self) -> String {
        format!(
            "PiDesign(k_p={:.4e}, k_i={:.4e}, phase_margin_deg={:.1})",
            self.k_p, self.k_i, self.phase_margin_deg
        )
    }
}

/// Design PI by Hollot et al. 2001b (Chen 2010, section 3.4.2 and eq. 6.2-6.5).
///
/// The zero cancels the corner of TCP's windows, ``z = 2N/(R^2 C)``, and the gain makes the crossover
/// ``lambda/R``. The windows are those with a = 2.
///
/// Parameters
/// ----------
/// flows : float
///     The fewest flows N.
/// rtt : float
///     The longest R in seconds.
/// capacity : float
///     C in packets/s.
/// lambda_ : float, optional
///     The crossover times R; by default the zero is the crossover, as Hollot et al. chose.
/// sampling_hz : float, optional
///     Also give a and b of the discrete form at this rate.
///
/// Returns
/// -------
/// PiDesign
///     The gains and the phase margin that they leave.
///
/// Raises
/// ------
/// TheoryError
///     If a quantity is not physical, or the crossover leaves no phase margin.
///
/// Examples
/// --------
/// >>> from quell.theory import pi_design
/// >>> pi = pi_design(flows=60, rtt=0.246, capacity=3750, sampling_hz=160)
/// >>> round(pi.zero_rad_per_s, 3), round(pi.phase_margin_deg, 1)
/// (0.529, 75.1)
#[pyfunction]
#[pyo3(signature = (*, flows, rtt, capacity, lambda_=None, sampling_hz=None))]
pub fn pi_design(
    flows: f64,
    rtt: f64,
    capacity: f64,
    lambda_: Option<f64>,
    sampling_hz: Option<f64>,
) -> Answer<PiDesign> {
    let now = conditions(flows, rtt, capacity)?;
    let zero = pi::design_zero(flows, capacity, rtt);
    let lambda = lambda_.unwrap_or(zero * rtt);
    let margin = criteria::pi_phase_margin(lambda);
    if !(lambda > 0.0 && margin > 0.0) {
        let rule = "must be positive and leave a phase margin: below 0.8603 (Chen 2010, eq. 6.5)";
        return Err(TheoryError::quantity("lambda", lambda, rule).into());
    }
    let k_p = criteria::pi_proportional(lambda, &now);
    let (mut a, mut b) = (None, None);
    if let Some(rate) = sampling_hz {
        words::positive("sampling rate", rate, "Hz")?;
        let gains = pi::discretized(k_p * zero, zero, 1.0 / rate);
        (a, b) = (Some(gains.0), Some(gains.1));
    }
    Ok(PiDesign {
        zero_rad_per_s: zero,
        crossover_rad_per_s: lambda / rtt,
        k_p,
        k_i: k_p * zero,
        phase_margin_deg: margin.to_degrees(),
        a,
        b,
    })
}

/// Find the longest round-trip time at which AVQ is stable (Kunniyur and Srikant 2001, Theorem 4.1).
///
/// Parameters
/// ----------
/// phi : float
///     AVQ's smoothing, per second.
/// flows : float
///     N.
/// capacity : float
///     C in packets/s.
/// tau : float, default 1.0
///     The utilization that is wanted.
/// a : float, default 1.5
///     A signal takes W/a of the window.
///
/// Returns
/// -------
/// float or None
///     In seconds, without queueing, because AVQ has none; None if no time up to 100 s is too long.
///
/// Raises
/// ------
/// TheoryError
///     If a quantity is not physical.
///
/// Examples
/// --------
/// >>> from quell.theory import avq_longest_rtt
/// >>> round(avq_longest_rtt(0.15, flows=100, capacity=1250), 3)
/// 0.216
#[pyfunction]
#[pyo3(signature = (phi, *, flows, capacity, tau=1.0, a=1.5))]
pub fn avq_longest_rtt(
    py: Python<'_>,
    phi: f64,
    flows: f64,
    capacity: f64,
    tau: f64,
    a: f64,
) -> Answer<Option<f64>> {
    let tcp = words::tcp(a, 1.0)?;
    Ok(interruptible(py, |_| criteria::avq_longest_rtt(phi, tau, flows, capacity, tcp))??)
}

/// Find the largest phi with which AVQ is stable at a round-trip time.
///
/// Parameters
/// ----------
/// flows : float
///     N.
/// rtt : float
///     R in seconds.
/// capacity : float
///     C in packets/s.
/// tau : float, default 1.0
///     The utilization that is wanted.
/// a : float, default 1.5
///     A signal takes W/a of the window.
///
/// Returns
/// -------
/// float or None
///     Per second; None if no value from 1e-6 up is small enough.
///
/// Raises
/// ------
/// TheoryError
///     If a quantity is not physical, or every packet would have to be marked.
///
/// Examples
/// --------
/// >>> from quell.theory import avq_largest_phi
/// >>> round(avq_largest_phi(flows=100, rtt=0.21, capacity=1250), 2)
/// 0.62
#[pyfunction]
#[pyo3(signature = (*, flows, rtt, capacity, tau=1.0, a=1.5))]
pub fn avq_largest_phi(
    py: Python<'_>,
    flows: f64,
    rtt: f64,
    capacity: f64,
    tau: f64,
    a: f64,
) -> Answer<Option<f64>> {
    let now = conditions(flows, rtt, capacity)?;
    let tcp = words::tcp(a, 1.0)?;
    if !(tau > 0.0 && tau <= 1.0) {
        let rule = "must lie in (0, 1] [Park et al. 2004, eq. 30]";
        return Err(TheoryError::quantity("tau", tau, rule).into());
    }
    Ok(py.detach(|| criteria::avq_largest_phi(tau, &now, tcp))?)
}

/// Evaluate Joo et al. 2006, eq. 9: HRED is stable at a queue if its gain ``|G|`` is below 1.
///
/// Sufficient, not necessary.
///
/// Parameters
/// ----------
/// min_th : float
///     The lower threshold in packets.
/// max_th : float
///     The upper threshold in packets.
/// kappa : float
///     The slope's parameter of Joo et al. 2006, eq. 10.
/// queue : float
///     The queue in packets.
/// bandwidth_delay : float
///     C times the propagation delay, in packets.
///
/// Returns
/// -------
/// Criterion
///     ``|G|`` and 1, and the verdict.
///
/// Raises
/// ------
/// TheoryError
///     If a quantity is not physical.
///
/// Examples
/// --------
/// >>> from quell.theory import hred_local
/// >>> hred_local(min_th=150, max_th=300, kappa=2, queue=225, bandwidth_delay=1350).holds
/// False
#[pyfunction]
#[pyo3(signature = (*, min_th, max_th, kappa, queue, bandwidth_delay))]
pub fn hred_local(
    min_th: f64,
    max_th: f64,
    kappa: f64,
    queue: f64,
    bandwidth_delay: f64,
) -> Answer<Criterion> {
    words::positive("kappa", kappa, "")?;
    words::positive("max_th", max_th, "packets")?;
    not_negative("min_th", min_th)?;
    let line = Line { min_th, max_th, slope: 1.0 / (kappa * max_th) };
    Ok(criteria::hred_local(&line, queue, bandwidth_delay)?.into())
}

/// Evaluate Auto-Tuning RED's set-up: ``max_th - min_th >= 0.21 R C`` (Chen 2010, section 3.3.2).
///
/// Parameters
/// ----------
/// min_th : float
///     The lower threshold in packets.
/// max_th : float
///     The upper threshold in packets.
/// flows : float
///     N.
/// rtt : float
///     R in seconds.
/// capacity : float
///     C in packets/s.
///
/// Returns
/// -------
/// Criterion
///     Both sides and the verdict.
///
/// Raises
/// ------
/// TheoryError
///     If a quantity is not physical.
///
/// Examples
/// --------
/// >>> from quell.theory import auto_tuning_setup
/// >>> auto_tuning_setup(min_th=20, max_th=60, flows=100, rtt=0.1, capacity=1250).holds
/// True
#[pyfunction]
#[pyo3(signature = (*, min_th, max_th, flows, rtt, capacity))]
pub fn auto_tuning_setup(min_th: f64, max_th: f64, flows: f64, rtt: f64, capacity: f64) -> Answer<Criterion> {
    let now = conditions(flows, rtt, capacity)?;
    not_negative("min_th", min_th)?;
    words::positive("max_th", max_th, "packets")?;
    Ok(criteria::auto_tuning_setup(min_th, max_th, &now)?.into())
}
