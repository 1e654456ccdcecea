//! Published conditions of stability, each with both of its sides and a verdict.
//!
//! What Quell's algorithms need for themselves stands with them (`quell_aqm::ap_red`, `pi`, `hred`) and
//! is used here; the rest is written here. A criterion says what its paper says; whether the loop itself
//! is stable, with the exact delay, says [`crate::Loop`].

use quell_aqm::ap_red::{self, Conditions, Setting};
use quell_aqm::hred::{self, Line};
use serde::Serialize;

use crate::congestion::Tcp;
use crate::controller::{Controller, Input};
use crate::error::{TheoryError, positive, require};
use crate::linear::{Loop, Plant};
use crate::network::OperatingPoint;
use crate::num::routh::Routh;
use crate::num::{Poly, Rational};
use crate::text::figure;

/// A condition of the form `left < right`, evaluated.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Criterion {
    /// Its statement and source: "Chen 2010, eq. 4.9: L w <= 0.8 N^3/(RC)^5".
    pub statement: String,
    /// The left side.
    pub left: f64,
    /// The right side.
    pub right: f64,
    /// Tells whether it holds.
    pub holds: bool,
    /// Tells whether a loop that does not meet it is unstable; else it only may be.
    pub necessary: bool,
    /// The reason, in words with the numbers, and what would help.
    pub reason: String,
}

impl std::fmt::Display for Criterion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let verdict = match (self.holds, self.necessary) {
            (true, _) => "met",
            (false, true) => "not met",
            (false, false) => "not met; that alone does not make the loop unstable",
        };
        write!(f, "{}: {verdict}; {}", self.statement, self.reason)
    }
}

/// N, R and C, checked.
fn conditions(c: &Conditions) -> Result<(f64, f64, f64), TheoryError> {
    positive("flows N", c.flows, "flows")?;
    positive("round-trip time R", c.rtt, "s")?;
    positive("capacity C", c.capacity, "packets/s")?;
    Ok((c.flows, c.rtt, c.capacity))
}

/// Chen 2010, proposition 4.9: RED with a small weight is stable if `L w <= 0.8 N^3/(RC)^5` for `N <= RC/2`,
/// else if `L w <= 0.4 N^2/(RC)^4`. Sufficient, not necessary.
///
/// # Errors
/// A quantity is not physical.
pub fn red_proposition(setting: &Setting, now: &Conditions) -> Result<Criterion, TheoryError> {
    let (n, r, c) = conditions(now)?;
    require(
        setting.max_th > setting.min_th,
        "max_th",
        format!("{} packets", setting.max_th),
        format!("must exceed min_th = {} packets", setting.min_th),
    )?;
    require(
        setting.w > 0.0 && setting.w < 0.1,
        "weight w",
        setting.w,
        "must be much smaller than 1 [Chen 2010, eq. 4.9]",
    )?;
    let (left, right) = (ap_red::loop_gain(setting), ap_red::stability_bound(now));
    let (side, formula) = if n <= r * c / 2.0 { ("<=", "0.8 N^3/(RC)^5") } else { (">", "0.4 N^2/(RC)^4") };
    let holds = left <= right;
    let reason = if holds {
        format!(
            "L w = {left:.3e} is {} of the bound {right:.3e} (N = {n} {side} RC/2 = {})",
            figure(left / right),
            figure(r * c / 2.0)
        )
    } else {
        format!(
            "L w = {left:.3e} exceeds the bound {right:.3e} {} times (N = {n} {side} RC/2 = {}): lower max_p or w, widen the thresholds, or assume at least {:.0} flows",
            figure(left / right),
            figure(r * c / 2.0),
            flows_for(left, r * c).ceil()
        )
    };
    Ok(Criterion {
        statement: format!("Chen 2010, eq. 4.9: L w <= {formula}"),
        left,
        right,
        holds,
        necessary: false,
        reason,
    })
}

/// The least N with which Chen 2010, eq. 4.9 holds.
fn flows_for(gain: f64, product: f64) -> f64 {
    let fourth = product * product * product * product;
    let few = libm::cbrt(gain * fourth * product / 0.8);
    if few <= product / 2.0 { few } else { (gain * fourth / 0.4).sqrt() }
}

/// Hollot et al. 2001a, proposition 2, which
/// Chen 2010, eq. 4.11-4.13 shortens: `L (R+ C)^3/(2 N-)^2 <= sqrt(w_g^2/K^2 + 1)` with
/// `w_g = 0.1 min(2 N-/(R+^2 C), 1/R+)`. `now` holds the fewest flows N- and the longest round-trip time
/// R+; `slope` is L per packet and `filter` K per second. Their windows have a = 2.
///
/// # Errors
/// A quantity is not physical.
pub fn red_by_hollot(slope: f64, filter: f64, now: &Conditions) -> Result<Criterion, TheoryError> {
    let (n, r, c) = conditions(now)?;
    positive("slope L of RED", slope, "per packet")?;
    positive("filter K", filter, "per second")?;
    let left = red_gain(slope, r * c, n);
    let right = libm::hypot(red_crossover(now) / filter, 1.0);
    let holds = left <= right;
    let reason = if holds {
        format!(
            "the gain {left:.3} at equilibrium has fallen below 1 at w_g = {:.4} rad/s, where the flows hardly lag",
            red_crossover(now)
        )
    } else {
        format!(
            "the gain {left:.3} at equilibrium exceeds {right:.3}, by which the average damps it at w_g = {:.4} rad/s: a smaller slope, or a filter K of at most {:.3e} per second",
            red_crossover(now),
            red_filter(slope, now)
        )
    };
    Ok(Criterion {
        statement: "Hollot et al. 2001a: L (RC)^3/(2N)^2 <= sqrt(w_g^2/K^2 + 1)".into(),
        left,
        right,
        holds,
        necessary: false,

        reason,
    })
}

/// `w_g = 0.1 min(2N/(R^2 C), 1/R)` (Chen 2010, eq. 4.11), in radians per second.
pub fn red_crossover(now: &Conditions) -> f64 {
    0.1 * (2.0 * now.flows / (now.rtt * now.rtt * now.capacity)).min(1.0 / now.rtt)
}

/// The largest K for a slope by Hollot's rule, per second; infinite where no average is needed.
pub fn red_filter(slope: f64, now: &Conditions) -> f64 {
    let gain = red_gain(slope, now.rtt * now.capacity, now.flows);
    if gain <= 1.0 { f64::INFINITY } else { red_crossover(now) / (gain * gain - 1.0).sqrt() }
}

/// `L (RC)^3/(2N)^2`: the gain of a slope L at equilibrium, for `product` packets of RC.
fn red_gain(slope: f64, product: f64, flows: f64) -> f64 {
    slope * product * product * product / (4.0 * flows * flows)
}

/// Chen 2010, eq. 6.3: K_P of PI for a crossover at `lambda/R`, `2 lambda sqrt(lambda^2 + 1) N/(R^2 C^2)`.
pub fn pi_proportional(lambda: f64, now: &Conditions) -> f64 {
    let product = now.rtt * now.capacity;
    2.0 * lambda * libm::hypot(lambda, 1.0) * now.flows / (product * product)
}

/// Chen 2010, eq. 6.5: the phase margin in radians that eq. 6.3 leaves, `pi/2 - lambda - atan lambda`; 0 at
/// `lambda = 0.8603`, which Chen 2010 rounds to 0.85.
pub fn pi_phase_margin(lambda: f64) -> f64 {
    std::f64::consts::FRAC_PI_2 - lambda - libm::atan(lambda)
}

/// Chen 2010, eq. 6.6: the target and K_P for another round-trip time and capacity, `k = R C/(R_0 C_0)`:
/// `k q_ref0` and `K_P0/k^2`.
pub fn pi_retuned(q_ref: f64, k_p: f64, k: f64) -> (f64, f64) {
    (k * q_ref, k_p / (k * k))
}

/// The gains of Park et al. 2004, eq. 12.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PidGains {
    /// K_P per packet.
    pub k_p: f64,
    /// K_I per packet and second.
    pub k_i: f64,
    /// K_D in seconds per packet; 0 makes it PI.
    pub k_d: f64,
}

impl PidGains {
    /// Park et al. 2004, Table 1.
    pub const TABLE_1: PidGains = PidGains { k_p: 0.0024, k_i: 0.0045, k_d: 0.0003 };

    /// The transfer function, without any filter.
    pub fn controller(&self) -> Controller {
        let transfer = Rational::new([self.k_i, self.k_p, self.k_d], [0.0, 1.0]);
        Controller { transfer, input: Input::Queue }
    }
}

/// `tau1 = N/(R^2 C)` and `tau2 = C^2/(a N)` of Park et al. 2004, eq. 14.
fn taus(now: &Conditions, tcp: Tcp) -> (f64, f64) {
    let Conditions { flows: n, rtt: r, capacity: c } = *now;
    (tcp.increase * n / (r * r * c), c * c / (tcp.decrease * n))
}

/// Park et al. 2004, eq. 16: `s^4 + a1 s^3 + a2 s^2 + a3 s + a4`, the characteristic equation with the
/// first-order lag
/// `1/(1 + R s)` in place of the delay; [a1, a2, a3, a4].
pub fn vrc_coefficients(gains: &PidGains, now: &Conditions, tcp: Tcp) -> [f64; 4] {
    let (tau1, tau2) = taus(now, tcp);
    let r = now.rtt;
    [
        tau1 + 2.0 / r,
        (4.0 * tau1 + gains.k_d * tau2 + 1.0 / r) / r,
        (2.0 * tau1 + gains.k_p * tau2 * r) / (r * r),
        gains.k_i * tau2 / r,
    ]
}

/// Park et al. 2004, theorem, eq. 17: with the first-order lag, VRC and PID are stable if and only if
///
/// ```text
/// (2 tau1 + tau2 R K_P) [(2 + tau1 R)(4 tau1 + tau2 K_D + 1/R) - 2 tau1 - tau2 R K_P]
///     > (2 + tau1 R)^2 tau2 R K_I
/// ```
///
/// The bracket is `R^2 (a1 a2 - a3)` of appendix A.2. There `a3 R^2 = 2 tau1 + tau2 R K_P` is taken away
/// as a whole, so the printed `- 2 tau1 + tau2 R K_P` must end in `- tau2 R K_P`: (A.7), eq. 21 and the
/// paper's own numbers have it so. The printed sign would call any large K_P stable.
///
/// # Errors
/// A quantity is not physical.
pub fn vrc_theorem(gains: &PidGains, now: &Conditions, tcp: Tcp) -> Result<Criterion, TheoryError> {
    conditions(now)?;
    for (name, k) in [("K_P", gains.k_p), ("K_D", gains.k_d)] {
        require(k >= 0.0 && k.is_finite(), name, k, "must not be negative [Park et al. 2004, eq. 18, 19]")?;
    }
    positive("K_I", gains.k_i, "per packet and second")?;
    let (tau1, tau2) = taus(now, tcp);
    let r = now.rtt;
    let a3 = 2.0 * tau1 + tau2 * r * gains.k_p;
    let a1 = 2.0 + tau1 * r;
    let right = a1 * a1 * tau2 * r * gains.k_i;
    let left = a3 * (a1 * (4.0 * tau1 + tau2 * gains.k_d + 1.0 / r) - a3);
    let holds = left > right;
    let reason = if holds {
        format!(
            "the ratio of the two sides is {}; replacing the delay by a lag makes this optimistic",
            figure(left / right)
        )
    } else {
        "the inequality is reversed: lower K_I, bring K_P into the range of eq. 19, or raise K_D".to_string()
    };
    Ok(Criterion {
        statement: "Park et al. 2004, eq. 17, its sign corrected: a3 (a1 a2 - a3) > a1^2 a4".into(),
        left,
        right,
        holds,
        necessary: true,

        reason,
    })
}

/// Park et al. 2004, eq. 20: `K_I^max = (4 tau1 + tau2 K_D + 1/R)^2/(4 tau2 R)`.
///
/// As printed, and right: it is (A.8), the largest value of the left side of (A.7) over `a1^2 tau2 R^3`.
pub fn vrc_largest_integral(k_d: f64, now: &Conditions, tcp: Tcp) -> f64 {
    let (tau1, tau2) = taus(now, tcp);
    let sum = 4.0 * tau1 + tau2 * k_d + 1.0 / now.rtt;
    sum * sum / (4.0 * tau2 * now.rtt)
}

/// Park et al. 2004, eq. 19 and 21: the range of K_P for a K_I and a K_D, `max(0, K_P1) < K_P < K_P2`. `None`
/// if K_I exceeds eq. 20.
///
/// Eq. 21 is right as printed: with it both sides of (A.7) are equal.
pub fn vrc_proportional(k_i: f64, k_d: f64, now: &Conditions, tcp: Tcp) -> Option<(f64, f64)> {
    let (tau1, tau2) = taus(now, tcp);
    let r = now.rtt;
    let middle = 4.0 * tau1 * r + tau2 * r * k_d + 1.0;
    let under = middle * middle - 4.0 * tau2 * r * r * r * k_i;
    if under < 0.0 {
        return None;
    }
    let (center, half) = ((tau1 * r + 2.0) * middle - 4.0 * tau1 * r, (tau1 * r + 2.0) * under.sqrt());
    let scale = 2.0 * tau2 * r * r;
    Some((((center - half) / scale).max(0.0), (center + half) / scale))
}

/// Form in which the delay enters a critical round-trip time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// The exact delay (Park et al. 2004, eq. 15).
    Exact,
    /// The first-order lag `1/(1 + R s)` (Park et al. 2004, eq. 16, 17), which is optimistic.
    FirstOrderLag,
}

/// The round-trip times between which a critical one is looked for, in seconds.
const RTT_RANGE: (f64, f64) = (1e-6, 100.0);

/// The smallest R at which an algorithm with fixed gains loses its stability, in seconds, with N flows
/// and a capacity in packets per second. `controller` is asked for at each point. `None` if it is stable
/// at every R up to 100 s, or at none within a factor of 100 of the shortest that has an equilibrium.
///
/// # Errors
/// A quantity is not physical, or `controller` refuses a point at which a loop could be.
pub fn critical_rtt(
    flows: f64,
    capacity: f64,
    tcp: Tcp,
    plant: Plant,
    delay: Delay,
    controller: impl Fn(&OperatingPoint) -> Result<Controller, TheoryError>,
) -> Result<Option<f64>, TheoryError> {
    positive("flows N", flows, "flows")?;
    positive("capacity C", capacity, "packets/s")?;
    let stable = |r: f64| -> Result<bool, TheoryError> {
        let point = OperatingPoint::at(flows, r, capacity, 0.0, tcp)?;
        let l = Loop::new(&point, &controller(&point)?, plant)?;
        Ok(match delay {
            Delay::Exact => l.stable(),
            Delay::FirstOrderLag => {
                let lag = l.first_order_lag().expect("one class, no further delay");
                Routh::of(&lag)?.stable()
            }
        })
    };
    // Below sqrt(a) N/C a flow has no window of the size that p <= 1 asks for.
    let shortest = (tcp.product().sqrt() * flows / capacity * (1.0 + 1e-9)).max(RTT_RANGE.0);
    let steps = 400;
    let ratio = libm::pow(RTT_RANGE.1 / shortest, 1.0 / f64::from(steps));
    let mut last: Option<f64> = None;
    for i in 0..=steps {
        let r = shortest * libm::pow(ratio, f64::from(i));
        match (stable(r)?, last) {
            (true, _) => last = Some(r),
            (false, Some(from)) => {
                let (mut low, mut high) = (from, r);
                while high - low > 1e-10 * high {
                    let middle = 0.5 * (low + high);
                    if stable(middle)? { low = middle } else { high = middle }
                }
                return Ok(Some(0.5 * (low + high)));
            }
            (false, None) if r > 100.0 * shortest => return Ok(None),
            (false, None) => {}
        }
    }
    Ok(None)
}

/// [`critical_rtt`] of PID gains: Park et al. 2004, section 5.2.1.
///
/// # Errors
/// A quantity is not physical.
pub fn critical_delay(
    gains: &PidGains,
    flows: f64,
    capacity: f64,
    tcp: Tcp,
    delay: Delay,
) -> Result<Option<f64>, TheoryError> {
    critical_rtt(flows, capacity, tcp, Plant::Exact, delay, |_| Ok(gains.controller()))
}

/// AVQ near its equilibrium as its paper has it: `p = 1 - Cv/r` and `Cv' = -phi (r - tau C)`, nothing
/// averaged, marks (Park et al. 2004, eq. 30, 32; Kunniyur and Srikant 2001, section 4). `None` if every
/// packet is marked.
pub fn avq_controller(phi: f64, point: &OperatingPoint) -> Option<Controller> {
    let r = point.arrivals;
    let slope = (1.0 - point.probability) / r;
    (slope > 0.0)
        .then(|| Controller { transfer: Rational::new([phi / r, slope], [0.0, 1.0]), input: Input::Rate })
}

/// The longest round-trip time at which AVQ is stable, in seconds (Kunniyur and Srikant 2001, Theorem
/// 4.1; Park et al. 2004, section 5.4.2). The queue is empty, so this is the propagation delay.
///
/// Park et al. 2004 print 0.216 s for N = 100, C = 1250, phi = 0.15 and tau = 1. That is the limit of the
/// exact linearization with a = 3/2 and `p = 1 - Cv/r`: 0.21580 s. With a = 2 it is 0.2778 s, with `W(t - R)`
/// taken for `W(t)` 0.2694 s, and with p neglected in `Cv = (1 - p) r` 0.1682 s.
///
/// # Errors
/// A quantity is not physical.
pub fn avq_longest_rtt(
    phi: f64,
    tau: f64,
    flows: f64,
    capacity: f64,
    tcp: Tcp,
) -> Result<Option<f64>, TheoryError> {
    positive("phi", phi, "per second")?;
    require(tau > 0.0 && tau <= 1.0, "tau", tau, "must lie in (0, 1] [Park et al. 2004, eq. 30]")?;
    critical_rtt(flows, tau * capacity, tcp, Plant::Exact, Delay::Exact, |point| {
        avq_controller(phi, point).ok_or_else(|| TheoryError::NoEquilibrium {
            quantity: "the virtual capacity".into(),
            reason: "every packet is marked".into(),
        })
    })
}

/// The largest phi with which AVQ is stable at a round-trip time, per second: the other face of Theorem
/// 4.1, by bisection. `None` if no phi from 1e-6 on is small enough.
///
/// # Errors
/// A quantity is not physical, or every packet would have to be marked.
pub fn avq_largest_phi(tau: f64, now: &Conditions, tcp: Tcp) -> Result<Option<f64>, TheoryError> {
    conditions(now)?;
    let point = OperatingPoint::at(now.flows, now.rtt, tau * now.capacity, 0.0, tcp)?;
    let stable = |phi: f64| -> Result<bool, TheoryError> {
        let controller = avq_controller(phi, &point).ok_or_else(|| TheoryError::NoEquilibrium {
            quantity: "the virtual capacity".into(),
            reason: "every packet is marked".into(),
        })?;
        Ok(Loop::new(&point, &controller, Plant::Exact)?.stable())
    };
    let (mut low, mut high) = (1e-6, 1e6);
    if !stable(low)? {
        return Ok(None);
    }
    while high / low > 1.0 + 1e-10 {
        let middle = (low * high).sqrt();
        if stable(middle)? { low = middle } else { high = middle }
    }
    Ok(Some(low))
}

/// Joo et al. 2006, eq. 9 and 11: HRED is stable at a queue if its gain `|G| = (q + C RTT)/(2 p) L` is below
/// 1, with RTT the propagation delay. Sufficient, not necessary.
///
/// # Errors
/// A quantity is not physical.
pub fn hred_local(line: &Line, queue: f64, bandwidth_delay: f64) -> Result<Criterion, TheoryError> {
    positive("bandwidth-delay product C RTT", bandwidth_delay, "packets")?;
    require(queue >= 0.0, "queue q", format!("{queue} packets"), "must not be negative")?;
    require(
        line.max_th > line.min_th && line.slope > 0.0,
        "max_th",
        format!("{} packets", line.max_th),
        "must exceed min_th, and kappa be positive [Joo et al. 2006, eq. 10]",
    )?;
    let left = hred::loop_gain(line, queue, bandwidth_delay);
    let kappa = 1.0 / (line.slope * line.max_th);
    let least = hred::least_stable_queue(line.min_th, line.max_th, kappa, bandwidth_delay);
    let holds = (0.0..1.0).contains(&left);
    let reason = format!(
        "the gain is {left:.3} at a queue of {queue} packets; it is below 1 at queues above {:.1} packets [Joo et al. 2006, eq. 11]{}",
        least.max(0.0),
        if holds { "" } else { ": raise kappa or the thresholds" }
    );
    Ok(Criterion {
        statement: "Joo et al. 2006, eq. 9: |G| < 1".into(),
        left,
        right: 1.0,
        holds,
        necessary: false,
        reason,
    })
}

/// Auto-Tuning RED's set-up (Chen 2010, section 3.3.2): `max_th - min_th >= 0.21 R C` for an average over ten
/// round-trip times.
///
/// With `max_th = 3 min_th` that is `min_th >= 0.105 R C`; the printed 0.13 is a looser choice. The phase
/// margin of 45 degrees that Chen 2010 promises is not what its own plant (eq. 4.2) has with RED's
/// equilibrium halfway (eq. 3.2): that is 28 degrees for windows of 8 packets, and 45 only from 47 packets
/// on.
///
/// # Errors
/// A quantity is not physical.
pub fn auto_tuning_setup(min_th: f64, max_th: f64, now: &Conditions) -> Result<Criterion, TheoryError> {
    let (_, r, c) = conditions(now)?;
    let (left, right) = (0.21 * r * c, max_th - min_th);
    let holds = left <= right * (1.0 + 1e-12);
    let reason = if holds {
        format!("the thresholds are {right:.1} packets apart, and {left:.1} suffice")
    } else {
        format!(
            "the thresholds are {right:.1} packets apart and should be {left:.1}: min_th = {:.1} with max_th = 3 min_th",
            0.5 * left
        )
    };
    Ok(Criterion {
        statement: "Chen 2010, section 3.3.2: 0.21 R C <= max_th - min_th".into(),
        left,
        right,
        holds,
        necessary: false,

        reason,
    })
}

/// Chen 2010, section 3.3.3, eq. 3.1-3.2: the max_p with which RED's equilibrium is halfway,
/// `(16/3)(N/(RC))^2`.
///
/// The constant is that of `W = sqrt(8/(3p))`, flows that acknowledge every second packet as Mathis et
/// al. count them; `Tcp` would give `2 a (N/(RC))^2`.
pub fn auto_tuning_max_p(now: &Conditions) -> f64 {
    let share = now.flows / (now.rtt * now.capacity);
    16.0 / 3.0 * share * share
}

/// The characteristic polynomial of eq. 16 itself, for those who want its scheme: [`Routh::of`].
pub fn vrc_polynomial(gains: &PidGains, now: &Conditions, tcp: Tcp) -> Poly {
    let [a1, a2, a3, a4] = vrc_coefficients(gains, now, tcp);
    Poly::new([a4, a3, a2, a1, 1.0])
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use quell_aqm::ap_red::Reference;
    use quell_aqm::pi;

    use super::*;

    const EXAMPLE: Conditions = Conditions { flows: 100.0, rtt: 0.1, capacity: 1250.0 };
    const HOLLOT: Conditions = Conditions { flows: 60.0, rtt: 0.246, capacity: 3750.0 };

    fn close(x: f64, wanted: f64, relative: f64) {
        assert!((x - wanted).abs() <= relative * wanted.abs(), "{x}, not {wanted}");
    }

    /// Park et al. 2004, section 3.2: with K_D = 0.001, 0 <= K_I < 0.659; with K_I = 0.01, 0 < K_P < 0.125.
    #[test]
    fn the_example_of_vrc() {
        close(vrc_largest_integral(0.001, &EXAMPLE, Tcp::SAWTOOTH), 0.659, 1e-3);
        let (low, high) = vrc_proportional(0.01, 0.001, &EXAMPLE, Tcp::SAWTOOTH).unwrap();
        assert_eq!(low, 0.0);
        close(high, 0.125, 4e-3);
        assert_eq!(vrc_proportional(0.66, 0.001, &EXAMPLE, Tcp::SAWTOOTH), None);
        // At both bounds the two sides of eq. 17 are equal.
        let (low, high) = vrc_proportional(0.6, 0.001, &EXAMPLE, Tcp::SAWTOOTH).unwrap();
        assert!(low > 0.0);
        for k_p in [low, high] {
            let at = vrc_theorem(&PidGains { k_p, k_i: 0.6, k_d: 0.001 }, &EXAMPLE, Tcp::SAWTOOTH).unwrap();
            close(at.left, at.right, 1e-9);
        }
    }

    /// Park et al. 2004, section 5.4.2 prints 0.361 and 0.286 from eq. 17, which gives 0.36307 and 0.28711;
    /// eq. 15 gives
    /// 0.27961 and 0.24221 (both with scipy's brentq and fsolve on the equations themselves).
    #[test]
    fn critical_delays() {
        let of = |k_d, delay| {
            let gains = PidGains { k_d, ..PidGains::TABLE_1 };
            critical_delay(&gains, 100.0, 1250.0, Tcp::SAWTOOTH, delay).unwrap().unwrap()
        };
        close(of(0.0003, Delay::FirstOrderLag), 0.3630728044, 1e-8);
        close(of(0.0, Delay::FirstOrderLag), 0.2871119872, 1e-8);
        close(of(0.0003, Delay::Exact), 0.27960781, 1e-7);
        close(of(0.0, Delay::Exact), 0.24221073, 1e-7);
        // The theorem's own sides change places there.
        let at =
            |rtt| vrc_theorem(&PidGains::TABLE_1, &Conditions { rtt, ..EXAMPLE }, Tcp::SAWTOOTH).unwrap();
        assert!(at(0.3630).holds && !at(0.3631).holds, "{:?}", at(0.363));
        assert!(at(0.2).reason.contains("optimistic"));
    }

    /// Park et al. 2004, section 5.4.2: 0.216 s; the other readings that the documentation names, found by
    /// scipy's fsolve on 1 + L = 0 as well.
    #[test]
    fn the_longest_delay_of_avq() {
        let r = avq_longest_rtt(0.15, 1.0, 100.0, 1250.0, Tcp::SAWTOOTH).unwrap().unwrap();
        close(r, 0.21579844, 1e-7);
        let r = avq_longest_rtt(0.15, 1.0, 100.0, 1250.0, Tcp::HALVING).unwrap().unwrap();
        close(r, 0.27784286, 1e-7);
        let simplified = critical_rtt(100.0, 1250.0, Tcp::SAWTOOTH, Plant::Simplified, Delay::Exact, |p| {
            Ok(avq_controller(0.15, p).unwrap())
        });
        close(simplified.unwrap().unwrap(), 0.26936022, 1e-7);
        let now = Conditions { rtt: 0.21579844, ..EXAMPLE };
        close(avq_largest_phi(1.0, &now, Tcp::SAWTOOTH).unwrap().unwrap(), 0.15, 1e-6);
    }

    /// Hollot et al. 2001a: L = 1.86e-4 with K = 0.005 for N = 60, C = 3750, R = 0.246. These numbers allow
    /// L up to 1.948e-4; the printed one comes out with w_g = 0.053 and R = 0.25 in the gain.
    #[test]
    fn red_as_hollot_has_it() {
        // w_g = 0.1 min(0.5288, 4.065) = 0.0529; gain 10.14 against 10.62.
        close(red_crossover(&HOLLOT), 0.05288, 1e-3);
        let c = red_by_hollot(1.86e-4, 0.005, &HOLLOT).unwrap();
        assert!(c.holds, "{c:?}");
        close(c.left, 10.14, 1e-3);
        close(c.right, 10.62, 1e-3);
        // The largest slope with that filter, and the filter for that slope.
        let largest = c.right * (2.0_f64 * 60.0).powi(2) / (0.246_f64 * 3750.0).powi(3);
        assert!(!red_by_hollot(1.01 * largest, 0.005, &HOLLOT).unwrap().holds);
        close(largest, 1.948e-4, 1e-3);
        let rounded = (0.053_f64 / 0.005).hypot(1.0) * 120.0_f64.powi(2) / (0.25_f64 * 3750.0).powi(3);
        close(rounded, 1.86e-4, 1e-3);
        close(red_filter(largest, &HOLLOT), 0.005, 1e-9);
        assert_eq!(red_filter(1e-6, &HOLLOT), f64::INFINITY);
    }

    /// Chen 2010, section 4.5: the first setting does not meet eq. 4.9 as printed, and so neither do those
    /// tuned from it, whose ratio of the sides eq. 4.3-4.6 keep.
    #[test]
    fn the_experiments_of_the_thesis() {
        let first = Setting { min_th: 50.0, max_th: 150.0, max_p: 0.05, w: 1e-4 };
        let of = |flows, rtt, capacity| Conditions { flows, rtt, capacity };
        let c = red_proposition(&first, &of(50.0, 0.12, 2500.0)).unwrap();
        assert!(!c.holds);
        close(c.left, 5e-8, 1e-12);
        close(c.right, 4.115e-8, 1e-3);
        assert!(c.reason.contains("at least 54 flows"), "{}", c.reason);
        // With the delay of the 100 packets in R, and with the 100 web flows in N.
        close(red_proposition(&first, &of(50.0, 0.16, 2500.0)).unwrap().right, 9.766e-9, 1e-3);
        assert!(red_proposition(&first, &of(150.0, 0.12, 2500.0)).unwrap().holds);
        let reference =
            Reference { conditions: of(50.0, 0.12, 2500.0), setting: first, bottom: 0.01, top: 0.5 };
        for (now, printed) in [
            (of(30.0, 0.1, 1250.0), [0.104, 20.8, 62.5, 3.46e-4]),
            (of(100.0, 0.25, 3000.0), [0.032, 125.0, 375.0, 3.2e-5]),
        ] {
            let s = reference.adapt(&now);
            for (x, wanted) in [s.max_p, s.min_th, s.max_th, s.w].into_iter().zip(printed) {
                close(x, wanted, 5e-3);
            }
            let tuned = red_proposition(&s, &now).unwrap();
            close(tuned.left / tuned.right, c.left / c.right, 1e-9);
            assert!(!tuned.holds);
        }
    }

    /// Hollot's PI: z = 0.529 and, at 160 Hz, a = 1.822e-5 and b = 1.816e-5; Chen 2010, eq. 6.3 is the same
    /// design; its phase margin is the loop's.
    #[test]
    fn pi_as_hollot_and_the_thesis_have_it() {
        let z = pi::design_zero(60.0, 3750.0, 0.246);
        close(z, 0.529, 1e-3);
        let (a, b) = pi::discretized(pi::design_gain(60.0, 3750.0, 0.246, z, z), z, 1.0 / 160.0);
        close(a, 1.822e-5, 0.02);
        close(b, 1.816e-5, 0.02);
        for lambda in [0.1, 0.5, 0.85] {
            let k_p = pi_proportional(lambda, &HOLLOT);
            close(k_p, pi::design_gain(60.0, 3750.0, 0.246, z, lambda / 0.246) / z, 1e-12);
            let gains = PidGains { k_p, k_i: k_p * z, k_d: 0.0 };
            let point = OperatingPoint::at(60.0, 0.246, 3750.0, 0.0, Tcp::HALVING).unwrap();
            let m = Loop::new(&point, &gains.controller(), Plant::Simplified).unwrap().margins().unwrap();
            close(m.phase.unwrap(), pi_phase_margin(lambda), 1e-9);
            close(m.crossovers[0], lambda / 0.246, 1e-9);
        }
        assert!(pi_phase_margin(0.86) > 0.0 && pi_phase_margin(0.861) < 0.0);
        // Chen 2010, section 6.4: the gains of ns-2 times 4 are eq. 6.6 with k = 1/2.
        assert_eq!(pi_retuned(300.0, 1.0, 0.5), (150.0, 4.0));
    }

    /// Joo et al. 2006, section III.B: with the thresholds at a quarter and a half and kappa = 2, a buffer of
    /// 4/7 of the product keeps every queue from min_th on stable.
    #[test]
    fn hred_guidelines() {
        let product = 700.0;
        let buffer = hred::least_stable_buffer(0.25, 0.5, 2.0, product).unwrap();
        close(buffer, 4.0 / 7.0 * product, 1e-12);
        let line = Line { min_th: buffer / 4.0, max_th: buffer / 2.0, slope: 1.0 / (2.0 * buffer / 2.0) };
        let at = |q| hred_local(&line, q, product).unwrap();
        close(at(buffer / 4.0).left, 1.0, 1e-12);
        assert!(at(buffer / 4.0 + 1.0).holds && !at(buffer / 4.0 - 1.0).holds);
    }

    #[test]
    fn auto_tuning() {
        let now = Conditions { flows: 60.0, rtt: 0.1, capacity: 1000.0 };
        assert!(auto_tuning_setup(10.5, 31.5, &now).unwrap().holds);
        assert!(!auto_tuning_setup(10.0, 30.0, &now).unwrap().holds);
        close(auto_tuning_max_p(&now), 1.92, 1e-12);
        // The phase margin that the set-up leaves: their sums of arc tangents in numpy.
        for (window, degrees) in [(8.0, 28.36203678), (20.0, 33.24495274), (50.0, 46.25435023)] {
            let point = OperatingPoint::at(10.0, 0.1, window * 100.0, 0.0, Tcp::HALVING).unwrap();
            let slope = 2.0 * point.probability / (0.21 * 0.1 * point.capacity);
            let transfer = &Rational::new([slope], [1.0]) * &Rational::lag(10.0 * 0.1);
            let l =
                Loop::new(&point, &Controller { transfer, input: Input::Queue }, Plant::Simplified).unwrap();
            close(l.margins().unwrap().phase.unwrap().to_degrees(), degrees, 1e-9);
        }
    }

    #[test]
    fn what_is_refused() {
        let setting = Setting { min_th: 50.0, max_th: 150.0, max_p: 0.05, w: 0.5 };
        assert!(red_proposition(&setting, &HOLLOT).unwrap_err().to_string().contains("weight w = 0.5"));
        let e = vrc_theorem(&PidGains::TABLE_1, &Conditions { rtt: -1.0, ..EXAMPLE }, Tcp::SAWTOOTH);
        assert_eq!(e.unwrap_err().to_string(), "round-trip time R = -1 s: must be positive and finite");
        assert!(avq_longest_rtt(0.15, 1.5, 100.0, 1250.0, Tcp::SAWTOOTH).is_err());
    }

    proptest! {
        /// The theorem, the scheme of Routh of eq. 16, and eq. 16 as it follows from the loop are one.
        #[test]
        fn the_theorem_is_routh_of_the_loop(
            k_p in 0.0..0.3_f64, k_i in 0.001..2.0_f64, k_d in 0.0..0.01_f64, rtt in 0.1..1.0_f64,
        ) {
            let gains = PidGains { k_p, k_i, k_d };
            let now = Conditions { rtt, ..EXAMPLE };
            let c = vrc_theorem(&gains, &now, Tcp::SAWTOOTH).unwrap();
            prop_assume!((c.left / c.right - 1.0).abs() > 1e-9);
            let own = vrc_polynomial(&gains, &now, Tcp::SAWTOOTH);
            prop_assert_eq!(c.holds, Routh::of(&own).unwrap().stable());
            let point = OperatingPoint::at(now.flows, rtt, now.capacity, 0.0, Tcp::SAWTOOTH).unwrap();
            let l = Loop::new(&point, &gains.controller(), Plant::Exact).unwrap().first_order_lag().unwrap();
            for (a, b) in own.coefficients().iter().zip(l.coefficients()) {
                prop_assert!((a - b).abs() <= 1e-9 * a.abs());
            }
            // And the corollary is the theorem solved for K_P.
            let range = vrc_proportional(k_i, k_d, &now, Tcp::SAWTOOTH);
            prop_assert_eq!(c.holds, range.is_some_and(|(low, high)| (low == 0.0 || k_p > low) && k_p < high));
        }
    }
}
