//! PID on the queue: the law of which Park et al. 2004, section 4 says that RED, DRED, PI and VRC are cases
//! (Park et al. 2004, eq. 12).
//!
//! At fixed intervals `p = K_P e + K_I int e + K_D e'` with `e = q - q_ref`. Without K_D it is PI
//! (Park et al. 2004, eq. 24), with K_I alone and a filtered error it is DRED (Park et al. 2004, eq.
//! 23), and with K_P alone it is a proportional controller. VRC improves on it by measuring e' as a
//! rate; here e' is the queue's own change.
//!
//! What the paper leaves open, and what this file does:
//! - Sampled, the change of a queue is noise of whole packets: the derivative is averaged
//!   exponentially (`derivative_memory`), as VRC averages its rate.
//! - Windup: the proportional and integral part is kept in [0, 1], as PI and DRED keep p; the
//!   derivative is added after that. So a derivative that drives p to a bound does not affect the
//!   integral.

use alloc::vec::Vec;

use quell_units::{Duration, QueueSize};

use crate::params::{AutoSize, ParamError, Remark, in_range, positive_queue, positive_to};
use crate::part::{Ewma, Gauge, SignalMode, Sizer, Ticker, link_rate_weight};
use crate::{Aqm, Ctx, Link, PacketMeta, Probe, Verdict, params};

params! {
    /// PID's parameters.
    pub struct PidParams {
        /// Proportional gain.
        k_p: f64 = 0.0024, unit "1/packet", source "Park et al. 2004, Table 1";
        /// Integral gain; 0 leaves a steady-state error.
        k_i: f64 = 0.0045, unit "1/(packet s)", source "Park et al. 2004, Table 1";
        /// Derivative gain; 0 makes it PI.
        k_d: f64 = 0.0003, unit "s/packet", source "Park et al. 2004, Table 1";
        /// Weight of a new sample in the error; 1 does not filter.
        filter: f64 = 1.0, unit "1", source "Park et al. 2004, eq. 23 filters, eq. 12 does not";
        /// Time constant for averaging the derivative; 0 s does not average.
        derivative_memory: Duration = Duration::from_millis(20), unit "s", source "as VRC's rate_memory";
        /// Queue to hold; its unit determines whether the queue is measured in packets or bytes; auto: 50 packets, or
        /// half of the buffer if it holds fewer.
        q_ref: AutoSize = AutoSize::Auto, unit "packets or bytes", source "Park et al. 2004, section 5.1; half the buffer is chosen";
        /// T_s: time between two updates.
        update_interval: Duration = Duration::from_millis(10), unit "s", source "Park et al. 2004, section 5.1";
        /// Effect of a packet's size on its probability: none ("per-packet") or proportional ("by-size").
        signal: SignalMode = SignalMode::PerPacket, unit "name", source "RFC 7567 section 4.4";
    }
}

impl PidParams {
    /// The queue to hold on a link.
    pub fn target(&self, link: &Link) -> QueueSize {
        self.q_ref.or_target(QueueSize::Packets(50.0), link)
    }

    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        Remark::on_queue("q_ref", self.target(link), link).into_iter().collect()
    }

    /// PID for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: a negative gain, gains that are all 0, a target that the
    /// buffer cannot hold, an interval that is too short or too long.
    pub fn build(&self, link: &Link) -> Result<Pid, ParamError> {
        link.check()?;
        for (field, gain) in [("k_p", self.k_p), ("k_i", self.k_i), ("k_d", self.k_d)] {
            in_range(field, gain, 0.0, 1e6, "Park et al. 2004, eq. 18, 19")?;
        }
        require!(
            self.k_p > 0.0 || self.k_i > 0.0,
            self.k_p,
            "must be positive if k_i is 0: a derivative term alone cannot hold a queue"
        )?;
        positive_to("filter", self.filter, 1.0, "Park et al. 2004, eq. 23")?;
        let q_ref = positive_queue("q_ref", self.target(link), link)?;
        let ticker = Ticker::new("update_interval", self.update_interval)?;
        let t_s = ticker.interval().as_secs_f64();
        let smooth = if self.derivative_memory.is_zero() {
            1.0
        } else {
            link_rate_weight(1.0 / t_s, self.derivative_memory.as_secs_f64())
        };
        let mut error = Ewma::new(self.filter);
        // The queue was empty.
        error.avg = -q_ref;
        Ok(Pid {
            law: PidLaw { k_p: self.k_p, k_i_t: self.k_i * t_s, k_d: self.k_d },
            q_ref,
            error,
            settled: 0.0,
            slope: Ewma::new(smooth),
            p: 0.0,
            gauge: Gauge::of(self.target(link), link),
            sizer: Sizer::new(self.signal, link),
            ticker,
        })
    }
}

/// PID's state.
#[derive(Clone, Debug)]
pub struct Pid {
    law: PidLaw,
    q_ref: f64,
    /// The queue's excess over the target, filtered.
    error: Ewma,
    /// The proportional and integral part of p.
    settled: f64,
    /// The error's derivative, averaged.
    slope: Ewma,
    p: f64,
    gauge: Gauge,
    sizer: Sizer,
    ticker: Ticker,
}

impl Aqm for Pid {
    delegate!(ticker: next_update);

    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        Verdict::early_if(cx.rng.chance(self.p * self.sizer.factor(pkt.bytes)))
    }

    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        let before = self.error.avg;
        self.error.sample(self.gauge.read(&cx.queue) - self.q_ref);
        let e = self.error.avg;
        self.settled = self.law.settled(self.settled, e, before);
        self.slope.sample((e - before) / self.ticker.interval().as_secs_f64());
        self.p = self.law.probability(self.settled, self.slope.avg);
        self.ticker.advance();
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("p", "1", self.p);
        out.value("p_settled", "1", self.settled);
    }
}

/// The law, sampled.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PidLaw {
    /// K_P.
    pub k_p: f64,
    /// K_I T_s.
    pub k_i_t: f64,
    /// K_D.
    pub k_d: f64,
}

impl PidLaw {
    /// Park et al. 2004, eq. 12 without its derivative, from the errors now and one sample ago: Park et al.
    /// 2004, eq. 24 with
    /// `a = K_P + K_I T_s` and `b = K_P`. Without an integral there is no state.
    #[inline]
    pub fn settled(&self, settled: f64, e: f64, before: f64) -> f64 {
        if self.k_i_t > 0.0 {
            (settled + (self.k_p + self.k_i_t) * e - self.k_p * before).clamp(0.0, 1.0)
        } else {
            (self.k_p * e).clamp(0.0, 1.0)
        }
    }

    /// Park et al. 2004, eq. 12: with the derivative.
    #[inline]
    pub fn probability(&self, settled: f64, slope: f64) -> f64 {
        (settled + self.k_d * slope).clamp(0.0, 1.0)
    }
}

equations! {
    PidLaw::settled(k_p, k_i_t, k_d, settled, e, before) -> p = PidLaw { k_p, k_i_t, k_d }.settled(settled, e, before);
    PidLaw::probability(k_p, k_i_t, k_d, settled, slope) -> p = PidLaw { k_p, k_i_t, k_d }.probability(settled, slope);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dred::DredParams;
    use crate::pi::PiParams;
    use crate::{QueueView, Seed};
    use alloc::vec::Vec;
    use quell_units::{BitRate, Bytes, Packets};

    /// What `aqm` reports as p after each update, on a queue that wanders between 0 and 200 packets.
    fn trajectory(aqm: &mut dyn Aqm) -> Vec<f64> {
        struct P(f64);
        impl Probe for P {
            fn value(&mut self, name: &'static str, _: &'static str, x: f64) {
                if name == "p" {
                    self.0 = x;
                }
            }
        }
        let (mut rng, mut chance, mut q) = (Seed(1).stream("walk"), Seed(1).stream("unused"), 50.0f64);
        (0..20_000)
            .map(|_| {
                q = libm::round(q + rng.uniform_in(-15.0, 15.0)).clamp(0.0, 200.0);
                let now = aqm.next_update().unwrap();
                let queue = QueueView {
                    packets: Packets::new(q as u32),
                    bytes: Bytes::new(q as u64 * 1000),
                    head_since: None,
                    link_rate: None,
                };
                aqm.on_update(&mut Ctx::new(now, queue, &mut chance));
                let mut p = P(-1.0);
                aqm.observe(&mut p);
                p.0
            })
            .collect()
    }

    fn link() -> Link {
        Link {
            rate: BitRate::from_bps(10_000_000),
            buffer: QueueSize::Packets(200.0),
            mean_packet: Bytes::new(1000),
        }
    }

    fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
        a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
    }

    #[test]
    fn pi_is_the_case_without_a_derivative() {
        let pid = PidParams { k_d: 0.0, ..Default::default() };
        let pi = PiParams {
            a: 0.0024 + 0.0045 * 0.01,
            b: 0.0024,
            q_ref: AutoSize::Size(QueueSize::Packets(50.0)),
            sampling_rate: 100.0,
            ..Default::default()
        };
        let got = trajectory(&mut pid.build(&link()).unwrap());
        let want = trajectory(&mut pi.build(&link()).unwrap());
        assert!(largest_difference(&got, &want) < 1e-12);
        assert!(want.contains(&0.0) && want.iter().any(|p| *p > 0.1), "it meets its bound and leaves it");
    }

    #[test]
    fn dred_is_the_case_of_a_filtered_integral() {
        let dred = DredParams { alpha: 0.01, ..Default::default() };
        let pid = PidParams {
            k_p: 0.0,
            k_i: 0.01 / (200.0 * 0.01),
            k_d: 0.0,
            filter: dred.filter,
            update_interval: dred.update_interval,
            ..Default::default()
        };
        assert_eq!(dred.update_interval, Duration::from_millis(10));
        let got = trajectory(&mut pid.build(&link()).unwrap());
        let want = trajectory(&mut dred.build(&link()).unwrap());
        assert!(largest_difference(&got, &want) < 1e-12);
        assert!(want.iter().any(|p| *p > 0.1));
    }

    #[test]
    fn a_proportional_controller_remembers_nothing() {
        let p = PidParams { k_i: 0.0, k_d: 0.0, ..Default::default() };
        let got = trajectory(&mut p.build(&link()).unwrap());
        assert!(got.iter().all(|p| (p / 0.0024 - libm::round(p / 0.0024)).abs() < 1e-9));
        assert!(got.contains(&0.0) && got.iter().any(|p| *p > 0.1));
    }
}
