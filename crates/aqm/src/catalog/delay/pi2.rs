//! PI2: a PI controller improved with a square (De Schepper et al. 2016; RFC 9332 Appendix A).
//!
//! A PI controller of the queueing delay moves p' in steps that do not depend on p'. Flows of Reno and CUBIC,
//! whose windows go with the inverse root of the probability, are signaled with its square; flows of scalable
//! congestion controls, whose windows go with its inverse, are marked with `coupling` times it. So both kinds
//! are as far from the edge of stability at every load, and get equal windows in one queue.
//!
//! What the papers leave open, and what this file does:
//! - The delay is how long the packet at the head has waited, as `time()` of RFC 9332 Appendix A; the authors'
//!   sch_pi2.c divides the queue by a measured rate.
//! - Arrivals are judged, as in sch_pi2.c; RFC 9332 judges departures.
//! - The square is taken once; sch_pi2.c draws two numbers, which signals the same share.
//! - Overload is RFC 9332 Appendix A's, with 1/k^2 as p_Cmax: from there on all signals to classic packets are
//!   drops, and scalable packets, all of which are marked, are dropped as often. In sch_pi2.c scalable packets
//!   are never dropped, and classic ones with 1/k^2 at most.
//! - sch_pi2.c signals nothing while less than two packets wait; neither text says so, and neither does this.
//! - An update comes at every multiple of the interval, also while the link is idle, when the delay is 0.

use alloc::vec::Vec;

use quell_units::Duration;

use crate::params::{Marks, ParamError, Remark, in_range, positive, positive_duration};
use crate::part::Ticker;
use crate::{Aqm, Cause, Ctx, Ecn, Link, PacketMeta, Probe, QueueView, Verdict, params};

choice! {
    /// Packets that belong to scalable congestion controls.
    pub enum Scalable {
        /// ECT(1), and those that are marked already (RFC 9331 section 5.1).
        Ect1 = "ect1",
        /// All that are ECN-capable, where DCTCP is known to be alone (De Schepper et al. 2016).
        Ect = "ect",
        /// None: every signal is squared.
        Nothing = "none",
    }
}

params! {
    /// PI2's parameters.
    pub struct Pi2Params {
        /// Delay to hold.
        target: Duration = Duration::from_millis(20), unit "s", source "De Schepper et al. 2016; 15 ms in RFC 9332 Appendix A";
        /// Time between two updates of p'.
        update_interval: Duration = Duration::from_millis(32), unit "s", source "De Schepper et al. 2016 (not verified); 30 ms in its sch_pi2.c";
        /// Gain of the delay's distance from the target, per update.
        alpha: f64 = 0.3125, unit "1/s", source "De Schepper et al. 2016: 10/16 in its sch_pi2.c, over k";
        /// Gain of the delay's change since the last update.
        beta: f64 = 3.125, unit "1/s", source "De Schepper et al. 2016: 100/16 in its sch_pi2.c, over k";
        /// k: ratio of the scalable packets' marking probability to p'.
        coupling: f64 = 2.0, unit "1", source "RFC 9332 section 2.1";
        /// Which packets count as scalable: those with ECT(1) or CE ("ect1"), all ECN-capable ones ("ect"), or "none".
        scalable: Scalable = Scalable::Ect1, unit "name", source "RFC 9331 section 5.1";
    }
}

impl Pi2Params {
    /// Scalable packets have a probability of their own.
    pub fn marks(&self) -> Marks {
        match self.scalable {
            Scalable::Ect1 => Marks::Apart,
            Scalable::Ect => Marks::Capable,
            Scalable::Nothing => Marks::Alike,
        }
    }

    /// The parameters that have no effect where no packet is marked.
    pub fn of_marks(&self) -> &'static [&'static str] {
        &["scalable", "coupling"]
    }

    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        Remark::on_delay("target", self.target, link).into_iter().collect()
    }

    /// PI2 for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: a target that a full buffer does not reach, a gain or a coupling
    /// outside its range.
    pub fn build(&self, link: &Link) -> Result<Pi2, ParamError> {
        const SOURCE: &str = "RFC 9332 Appendix A";
        link.check()?;
        positive_duration("target", self.target, SOURCE)?;
        positive("alpha", self.alpha, SOURCE)?;
        in_range("alpha", self.alpha, 0.0, 1e6, SOURCE)?;
        in_range("beta", self.beta, 0.0, 1e6, SOURCE)?;
        require!(
            (1.0..=100.0).contains(&self.coupling),
            self.coupling,
            "must lie in [1, 100]: the largest share of classic packets that is marked is 1 / coupling^2 \
             [RFC 9332 Appendix A]"
        )?;
        Ok(Pi2 {
            law: Pi2Law {
                alpha: self.alpha,
                beta: self.beta,
                target: self.target.as_secs_f64(),
                coupling: self.coupling,
            },
            scalable: self.scalable,
            ticker: Ticker::new("update_interval", self.update_interval)?,
            base: 0.0,
            classic: 0.0,
            coupled: 0.0,
            delay: 0.0,
        })
    }
}

/// PI2's state.
#[derive(Clone, Debug)]
pub struct Pi2 {
    law: Pi2Law,
    scalable: Scalable,
    ticker: Ticker,
    /// p'.
    base: f64,
    /// p_C, of classic packets.
    classic: f64,
    /// p_CL, of scalable packets.
    coupled: f64,
    /// Delay at the last update, in seconds.
    delay: f64,
}

impl Pi2 {
    #[inline]
    fn is_scalable(&self, ecn: Ecn) -> bool {
        match self.scalable {
            Scalable::Ect1 => matches!(ecn, Ecn::Ect1 | Ecn::Ce),
            Scalable::Ect => ecn.is_capable(),
            Scalable::Nothing => false,
        }
    }
}

/// Waiting time of the packet at the head, in seconds.
#[inline]
fn head_wait(cx: &Ctx<'_>) -> f64 {
    let QueueView { head_since, .. } = cx.queue;
    head_since.map_or(0.0, |since| cx.now.since(since).as_secs_f64())
}

impl Aqm for Pi2 {
    delegate!(ticker: next_update);

    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        let overloaded = self.coupled >= 1.0;
        if !self.is_scalable(pkt.ecn) {
            return match cx.rng.chance(self.classic) {
                true if overloaded => Verdict::Drop(Cause::Early),
                signal => Verdict::early_if(signal),
            };
        }
        match overloaded && cx.rng.chance(self.classic) {
            true => Verdict::Drop(Cause::Early),
            false => Verdict::early_if(overloaded || cx.rng.chance(self.coupled)),
        }
    }

    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        self.ticker.advance();
        let delay = head_wait(cx);
        self.base = self.law.next_base(self.base, delay, self.delay);
        self.classic = squared(self.base);
        self.coupled = self.law.coupled(self.base);
        self.delay = delay;
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("base", "1", self.base);
        out.value("p", "1", self.classic);
        out.value("p_scalable", "1", self.coupled);
        out.value("delay", "s", self.delay);
    }
}

/// Parameters of the control law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pi2Law {
    /// Gain of the distance from the target, per second.
    pub alpha: f64,
    /// Gain of the change, per second.
    pub beta: f64,
    /// The target delay in seconds.
    pub target: f64,
    /// k.
    pub coupling: f64,
}

impl Pi2Law {
    /// RFC 9332 Appendix A, eq. 1: `p' = p' + alpha (d - target) + beta (d - d_old)`, within [0, 1].
    #[inline]
    pub fn next_base(&self, base: f64, delay: f64, delay_old: f64) -> f64 {
        let step = self.alpha * (delay - self.target) + self.beta * (delay - delay_old);
        (base + step).clamp(0.0, 1.0)
    }

    /// RFC 9332 section 2.1: `p_CL = k p'`, at most 1.
    #[inline]
    pub fn coupled(&self, base: f64) -> f64 {
        (self.coupling * base).min(1.0)
    }
}

/// RFC 9332 section 2.1: `p_C = p'^2`.
#[inline]
pub fn squared(base: f64) -> f64 {
    base * base
}

equations! {
    Pi2Law::next_base(alpha, beta, target, base, delay, delay_old) -> base =
        Pi2Law { alpha, beta, target, coupling: 2.0 }.next_base(base, delay, delay_old);
    Pi2Law::coupled(coupling, base) -> p =
        Pi2Law { alpha: 1.0, beta: 1.0, target: 1.0, coupling }.coupled(base);
    squared(base) -> p = squared(base);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use quell_units::{BitRate, Bytes, Packets, QueueSize, Time};

    /// Shares of 100 000 arrivals that are marked and dropped with this p'.
    fn shares(base: f64, ecn: Ecn) -> (f64, f64) {
        let link = Link {
            rate: BitRate::from_bps(10_000_000),
            buffer: QueueSize::Packets(500.0),
            mean_packet: Bytes::new(1500),
        };
        let mut pi2 = Pi2Params::default().build(&link).unwrap();
        (pi2.base, pi2.classic, pi2.coupled) = (base, squared(base), pi2.law.coupled(base));
        let mut rng = Seed(1).stream("pi2");
        let queue = QueueView {
            packets: Packets::new(9),
            bytes: Bytes::new(9000),
            head_since: None,
            link_rate: None,
        };
        let pkt = PacketMeta { bytes: Bytes::new(1500), ecn, ..Default::default() };
        let (mut marked, mut dropped) = (0, 0);
        for _ in 0..100_000 {
            match pi2.on_enqueue(&mut Ctx::new(Time::ZERO, queue, &mut rng), &pkt) {
                Verdict::Pass => {}
                verdict if verdict.drops(&pkt) => dropped += 1,
                _ => marked += 1,
            }
        }
        (f64::from(marked) / 1e5, f64::from(dropped) / 1e5)
    }

    #[test]
    fn classic_packets_are_signaled_with_the_square_and_scalable_ones_with_twice_the_base() {
        let close = |(marked, dropped): (f64, f64), want: (f64, f64)| {
            assert!(
                (marked - want.0).abs() < 0.005 && (dropped - want.1).abs() < 0.005,
                "{marked}, {dropped}"
            );
        };
        close(shares(0.3, Ecn::NotEct), (0.0, 0.09));
        close(shares(0.3, Ecn::Ect0), (0.09, 0.0));
        close(shares(0.3, Ecn::Ect1), (0.6, 0.0));
        // Beyond 1/k nothing is marked instead of dropped, and all are dropped alike.
        close(shares(0.7, Ecn::NotEct), (0.0, 0.49));
        close(shares(0.7, Ecn::Ect0), (0.0, 0.49));
        close(shares(0.7, Ecn::Ect1), (0.51, 0.49));
    }
}
