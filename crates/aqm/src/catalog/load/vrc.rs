//! VRC: virtual rate control (Park et al. 2004, sections 2-3).
//!
//! VRC holds the arrival rate at a target rate that falls with the queue's excess over `q_ref`. An
//! arrival is signaled in proportion to the rate's excess over a virtual target, which lies below the
//! real one by as much as is needed to leave no steady-state error. As a function of the queue it is a
//! PID controller whose derivative is measured as a rate, before the queue has moved.
//!
//! What the paper leaves open, and what this file does:
//! - The paper estimates r "using the algorithm in [16]" (Stoica et al. 1998, eq. 5) and
//!   says neither with what time constant (`rate_memory`) nor when (`rate_update`). At every arrival, as
//!   in that paper, the estimate lies b above the rate, b = 1/(2 K) for Poisson arrivals; D then brings the
//!   estimate to the target, and the queue settles at `q_ref - b/gamma`. Once per T_s, with what arrived
//!   in it, there is no bias, and the queue settles at q_ref, as Park et al. 2004, Table 2 has it.
//! - At every arrival: between two of them the estimator is constant in its paper; here it falls during
//!   silence.
//! - Eq. 5 does not bound the correction D, which winds up while p is 0 or 1: after a minute of silence or overload
//!   the queue is not regulated for minutes. Here D stays in [-gamma q_ref, 1/alpha]: the upper end is `p/alpha`
//!   in equilibrium at p = 1, and at the lower one p rises from 0 at twice the target. Tighter bounds bias the queue
//!   at small loads: p is noisy, and noise that is cut off on one side is integrated.
//! - r is "the aggregate input rate of the queue", which marks. Where signals are drops, what is dropped
//!   does not enter the queue, and eq. 7, 10 and 12 hold only for the admitted rate; with the offered
//!   one, unresponsive sources are shut out entirely (`input_rate`, as in [`avq`](crate::avq)).
//! - The capacity is the link's current rate, if the host knows it.

use alloc::vec::Vec;

use quell_units::{Duration, QueueSize, Time};

use crate::avq::InputRate;
use crate::params::{AutoSize, ParamError, Remark, positive_duration, positive_queue, positive_to};
use crate::part::{Gauge, IntervalRate, RateEstimator, RateUpdate, SignalMode, Sizer, Ticker};
use crate::{Aqm, Ctx, Link, PacketMeta, Probe, Verdict, params};

/// Park et al. 2004, Table 1 in the terms of section 2.
const TABLE_1: Gains = Gains { alpha: 0.0003, beta: 3.0, gamma: 5.0 };

params! {
    /// VRC's parameters: alpha, beta and gamma, or k_p, k_i and k_d, or none of them for the gains of Park et
    /// al. 2004, Table 1.
    pub struct VrcParams {
        /// Gain of the rate's excess over the virtual target; set it with beta and gamma. Without any gain: 0.0003.
        alpha: Option<f64> = None, unit "s/packet", source "Park et al. 2004, Table 1: K_D";
        /// Gain of the correction; with alpha and gamma. Without any gain: 3.
        beta: Option<f64> = None, unit "1/s", source "Park et al. 2004, Table 1, by K_P = alpha (beta + gamma) and K_I = alpha beta gamma";
        /// Fall of the target rate per packet of queue; with alpha and beta. Without any gain: 5.
        gamma: Option<f64> = None, unit "1/s", source "Park et al. 2004, Table 1, likewise";
        /// Proportional gain on the queue, instead of alpha, beta and gamma; with k_i and k_d.
        k_p: Option<f64> = None, unit "1/packet", source "Park et al. 2004, Table 1: 0.0024";
        /// Integral gain on the queue; with k_p and k_d.
        k_i: Option<f64> = None, unit "1/(packet s)", source "Park et al. 2004, Table 1: 0.0045";
        /// Derivative gain on the queue; with k_p and k_i.
        k_d: Option<f64> = None, unit "s/packet", source "Park et al. 2004, Table 1: 0.0003";
        /// Queue to hold; its unit determines whether the queue and arrivals are measured in packets or bytes; auto: 50
        /// packets, or half of the buffer if it holds fewer.
        q_ref: AutoSize = AutoSize::Auto, unit "packets or bytes", source "Park et al. 2004, section 5.1; half the buffer is chosen";
        /// T_s: time between two updates.
        update_interval: Duration = Duration::from_millis(10), unit "s", source "Park et al. 2004, section 5.1";
        /// K: time constant of the estimate of the arrival rate.
        rate_memory: Duration = Duration::from_millis(20), unit "s", source "not in Park et al. 2004; comes nearest to its Table 2";
        /// When the estimate is updated: at each update, with everything that arrived since the last one ("interval"),
        /// or at each arrival ("arrival"), which overestimates and holds the queue below q_ref.
        rate_update: RateUpdate = RateUpdate::Interval, unit "name", source "not in Park et al. 2004; without a steady error, as its Table 2";
        /// Keeps D in [-gamma q_ref, 1/alpha]. Without bounds, the mean queue stays at q_ref even if the queue swings
        /// between empty and full, and D winds up while p is 0 or 1.
        bounded: bool = true, unit "true or false", source "not in Park et al. 2004, whose eq. 5 bounds nothing";
        /// The input whose rate is measured: "admitted" excludes what VRC drops; "offered" counts every arrival.
        input_rate: InputRate = InputRate::Admitted, unit "name", source "Park et al. 2004, eq. 7: what enters the queue";
        /// Effect of a packet's size on its probability: none ("per-packet") or proportional ("by-size").
        signal: SignalMode = SignalMode::PerPacket, unit "name", source "RFC 7567 section 4.4";
    }
}

impl VrcParams {
    /// The queue to hold on a link.
    pub fn target(&self, link: &Link) -> QueueSize {
        self.q_ref.or_target(QueueSize::Packets(50.0), link)
    }

    /// The gains, in whichever terms they are given.
    ///
    /// # Errors
    /// Names a gain that is missing, that belongs to the other set, that is not positive, or that
    /// makes beta and gamma complex.
    pub fn gains(&self) -> Result<Gains, ParamError> {
        let own = [("alpha", self.alpha), ("beta", self.beta), ("gamma", self.gamma)];
        let pid = [("k_p", self.k_p), ("k_i", self.k_i), ("k_d", self.k_d)];
        let given = |set: &[(&str, Option<f64>)]| set.iter().any(|(_, x)| x.is_some());
        let gains = match (given(&own), given(&pid)) {
            (false, false) => return Ok(TABLE_1),
            (true, true) => {
                let (field, x) = pid.into_iter().find_map(|(f, x)| Some((f, x?))).expect("one is given");
                return Err(ParamError::new(
                    field,
                    x,
                    "give either alpha, beta and gamma or k_p, k_i and k_d, not both [Park et al. 2004, eq. 12]",
                ));
            }
            (true, false) => {
                let [alpha, beta, gamma] = complete(own, "alpha, beta and gamma")?;
                Gains { alpha, beta, gamma }
            }
            (false, true) => {
                let [k_p, k_i, k_d] = complete(pid, "k_p, k_i and k_d")?;
                let lowest = 2.0 * libm::sqrt(k_i * k_d);
                Gains::from_pid(k_p, k_i, k_d).ok_or_else(|| {
                    ParamError::new(
                        "k_p",
                        k_p,
                        alloc::format!(
                            "must be at least 2 sqrt(k_i k_d) = {lowest} for beta and gamma to be real [Park et al. 2004, eq. 12]; the algorithm pid takes any gains"
                        ),
                    )
                })?
            }
        };
        Ok(gains)
    }

    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        Remark::on_queue("q_ref", self.target(link), link).into_iter().collect()
    }

    /// VRC for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: gains given twice or in part, a target that the buffer
    /// cannot hold, an interval that is too short or too long.
    pub fn build(&self, link: &Link) -> Result<Vrc, ParamError> {
        link.check()?;
        let gains = self.gains()?;
        let q_ref = positive_queue("q_ref", self.target(link), link)?;
        positive_duration("rate_memory", self.rate_memory, "Stoica et al. 1998, eq. 5")?;
        Ok(Vrc {
            gains,
            q_ref,
            correction: 0.0,
            virtual_rate: link.capacity() + gains.gamma * q_ref,
            p: 0.0,
            rate: match self.rate_update {
                RateUpdate::Interval => {
                    Rate::Interval(IntervalRate::new(self.rate_memory, self.update_interval))
                }
                RateUpdate::Arrival => Rate::Arrival(RateEstimator::new(self.rate_memory)),
            },
            input_rate: self.input_rate,
            bounded: self.bounded,
            arrivals: Sizer::in_unit_of(self.target(link), link),
            gauge: Gauge::of(self.target(link), link),
            sizer: Sizer::new(self.signal, link),
            link: *link,
            ticker: Ticker::new("update_interval", self.update_interval)?,
        })
    }
}

/// All of a set of gains, each positive.
fn complete(set: [(&'static str, Option<f64>); 3], names: &str) -> Result<[f64; 3], ParamError> {
    let mut all = [0.0; 3];
    for (x, (field, given)) in all.iter_mut().zip(set) {
        *x = given.ok_or_else(|| {
            ParamError::new(field, "none", alloc::format!("{names} belong together: give all three or none"))
        })?;
        positive_to(field, *x, 1e6, "Park et al. 2004, eq. 1, 2, 5")?;
    }
    Ok(all)
}

/// r, as `rate_update` says.
#[derive(Clone, Copy, Debug)]
enum Rate {
    Interval(IntervalRate),
    Arrival(RateEstimator),
}

/// VRC's state.
#[derive(Clone, Debug)]
pub struct Vrc {
    gains: Gains,
    q_ref: f64,
    /// D: by how much the virtual target lies below the target, in packets per second.
    correction: f64,
    /// The virtual target rate of the last update.
    virtual_rate: f64,
    p: f64,
    rate: Rate,
    input_rate: InputRate,
    bounded: bool,
    /// Counts an arrival in packets or by its size.
    arrivals: Sizer,
    gauge: Gauge,
    sizer: Sizer,
    link: Link,
    ticker: Ticker,
}

impl Aqm for Vrc {
    fn on_start(&mut self, now: Time) {
        self.ticker.on_start(now);
        if let Rate::Arrival(rate) = &mut self.rate {
            rate.start(now);
        }
    }

    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        let verdict = Verdict::early_if(cx.rng.chance(self.p * self.sizer.factor(pkt.bytes)));
        if !verdict.drops(pkt) || self.input_rate == InputRate::Offered {
            let packets = self.arrivals.factor(pkt.bytes);
            match &mut self.rate {
                Rate::Interval(rate) => rate.arrive(packets),
                Rate::Arrival(rate) => {
                    rate.arrive(cx.now, packets);
                }
            }
        }
        verdict
    }

    #[inline]
    fn next_update(&self) -> Option<Time> {
        Some(self.ticker.due())
    }

    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        let capacity = cx.queue.link_rate.unwrap_or(self.link.rate).packets_per_sec(self.link.mean_packet);
        let excess = self.gauge.read(&cx.queue) - self.q_ref;
        let rate = match &mut self.rate {
            Rate::Interval(rate) => rate.end_interval(),
            Rate::Arrival(rate) => rate.at(cx.now),
        };
        let target = self.gains.target_rate(capacity, excess);
        self.virtual_rate = target - self.correction;
        self.p = self.gains.probability(rate, self.virtual_rate);
        let t_s = self.ticker.interval().as_secs_f64();
        let next = self.gains.next_correction(self.correction, rate, target, t_s);
        self.correction = if self.bounded { self.gains.bounded(next, self.q_ref) } else { next };
        self.ticker.advance();
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("p", "1", self.p);
        let rate = match &self.rate {
            Rate::Interval(rate) => rate.last(),
            Rate::Arrival(rate) => rate.last(),
        };
        out.value("rate", "packets/s", rate);
        out.value("virtual_rate", "packets/s", self.virtual_rate);
    }
}

/// The gains of Park et al. 2004, section 2.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gains {
    /// Gain of the rate's excess over the virtual target.
    pub alpha: f64,
    /// Gain of the correction.
    pub beta: f64,
    /// Gain of the queue in the target rate.
    pub gamma: f64,
}

impl Gains {
    /// Park et al. 2004, eq. 2: `r_t = C + gamma (q_ref - q)`, for an excess `q - q_ref`.
    pub fn target_rate(&self, capacity: f64, excess: f64) -> f64 {
        capacity - self.gamma * excess
    }

    /// Park et al. 2004, eq. 4: `p = [alpha (r - r_v)]+`.
    pub fn probability(&self, rate: f64, virtual_rate: f64) -> f64 {
        (self.alpha * (rate - virtual_rate)).clamp(0.0, 1.0)
    }

    /// Park et al. 2004, eq. 5: the next D.
    pub fn next_correction(&self, correction: f64, rate: f64, target: f64, t_s: f64) -> f64 {
        correction + self.beta * t_s * (rate - target)
    }

    /// D in [-gamma q_ref, 1/alpha].
    pub fn bounded(&self, correction: f64, q_ref: f64) -> f64 {
        correction.clamp(-self.gamma * q_ref, 1.0 / self.alpha)
    }

    /// Park et al. 2004, eq. 12: (K_P, K_I, K_D).
    pub fn to_pid(&self) -> (f64, f64, f64) {
        (self.alpha * (self.beta + self.gamma), self.alpha * self.beta * self.gamma, self.alpha)
    }

    /// Park et al. 2004, eq. 12 backwards: beta and gamma are the roots of `x^2 - (K_P/K_D) x + K_I/K_D`.
    /// `None` if they are not real.
    ///
    /// The smaller is beta. Eq. 12 does not say which is which: on the queue the two controllers are
    /// the same. They differ in what an error b of the measured rate costs, b/gamma packets of queue,
    /// and in how far D may fall, gamma q_ref; the larger gamma makes both errors smaller.
    pub fn from_pid(k_p: f64, k_i: f64, k_d: f64) -> Option<Gains> {
        let (half_sum, product) = (k_p / k_d / 2.0, k_i / k_d);
        let discriminant = half_sum * half_sum - product;
        if discriminant.is_nan() || discriminant < 0.0 {
            return None;
        }
        let gamma = half_sum + libm::sqrt(discriminant);
        Some(Gains { alpha: k_d, beta: product / gamma, gamma })
    }
}

equations! {
    Gains::from_pid(k_p, k_i, k_d) -> alpha, beta, gamma = {
        let g = Gains::from_pid(k_p, k_i, k_d).unwrap();
        (g.alpha, g.beta, g.gamma)
    };
    Gains::to_pid(alpha, beta, gamma) -> k_p, k_i, k_d = Gains { alpha, beta, gamma }.to_pid();
    Gains::target_rate(alpha, beta, gamma, capacity, excess) -> rate =
        Gains { alpha, beta, gamma }.target_rate(capacity, excess);
    Gains::probability(alpha, beta, gamma, rate, virtual_rate) -> p =
        Gains { alpha, beta, gamma }.probability(rate, virtual_rate);
    Gains::next_correction(alpha, beta, gamma, correction, rate, target, t_s) -> correction =
        Gains { alpha, beta, gamma }.next_correction(correction, rate, target, t_s);
    Gains::bounded(alpha, beta, gamma, correction, q_ref) -> correction =
        Gains { alpha, beta, gamma }.bounded(correction, q_ref);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(params: VrcParams) -> alloc::string::String {
        alloc::string::ToString::to_string(&params.gains().unwrap_err())
    }

    #[test]
    fn both_sets_of_gains_are_the_same_controller() {
        let none = VrcParams::default().gains().unwrap();
        let own = VrcParams { alpha: Some(0.0003), beta: Some(3.0), gamma: Some(5.0), ..Default::default() };
        assert_eq!(own.gains().unwrap(), none);
        let pid = VrcParams { k_p: Some(0.0024), k_i: Some(0.0045), k_d: Some(0.0003), ..Default::default() };
        let got = pid.gains().unwrap();
        assert!((got.beta - 3.0).abs() < 1e-9 && (got.gamma - 5.0).abs() < 1e-9 && got.alpha == 0.0003);
    }

    #[test]
    fn gains_given_twice_in_part_or_without_a_solution_are_refused() {
        let alpha = VrcParams { alpha: Some(0.0003), ..Default::default() };
        assert!(error(alpha.clone()).starts_with("beta = none: alpha, beta and gamma belong together"));
        assert!(error(VrcParams { k_d: Some(0.1), ..alpha }).starts_with("k_d = 0.1: give either"));
        let k_i = VrcParams { k_i: Some(0.0045), ..Default::default() };
        assert!(error(k_i.clone()).starts_with("k_p = none: k_p, k_i and k_d belong together"));
        let complex = VrcParams { k_p: Some(0.001), k_d: Some(0.0003), ..k_i };
        assert!(error(complex).starts_with("k_p = 0.001: must be at least 2 sqrt(k_i k_d) = 0.00232"));
    }
}
