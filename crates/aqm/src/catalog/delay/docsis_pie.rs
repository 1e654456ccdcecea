//! DOCSIS-PIE: PIE as cable modems have it (White and Pan, RFC 8034).
//!
//! [PIE](crate::pie) on a link whose rate is known, so that the delay is the queue over the rate. The
//! probability is that of a packet of mean size, may exceed 1, and is scaled by each packet's size.
//!
//! What RFC 8034 leaves open, and what this file does:
//! - A modem's rate has a peak and a sustained part, and a bucket between them (A.2). Here the link has one rate, which
//!   the host knows.
//! - It is inactive until a third of the buffer is taken, then quiescent. The first drop makes it active, and begins
//!   the burst allowance. Back to quiescent leads a calm update, to inactive more than a second of them.
//! - An arrival that passes because the delay is small or little waits has its part in the sum of probabilities all
//!   the same (A.3); in RFC 8033 it has none.
//! - A random number equal to the probability drops (A.3), which matters to no probability that is not 0.
//! - A full buffer is asked for first (A.3). Here the host finds it after the arrival has been judged: it is lost
//!   either way, and the sum begins again, but in the quiescent state a drop that was due has made it active.
//! - Signals are drops: RFC 8034 has no marks (section 4.7).

use alloc::vec::Vec;

use quell_units::{Bytes, Duration};

use crate::params::{Marks, ParamError, Remark, in_range, positive, positive_duration};
use crate::part::Ticker;
use crate::pie::derandomized;
use crate::{Aqm, Cause, Ctx, Link, PacketMeta, Probe, QueueView, Verdict, params};

params! {
    /// DOCSIS-PIE's parameters.
    pub struct DocsisPieParams {
        /// Delay to hold (LATENCY_TARGET).
        target: Duration = Duration::from_millis(10), unit "s", source "RFC 8034 section 4.1";
        /// Time between two updates of the probability (INTERVAL).
        update_interval: Duration = Duration::from_millis(16), unit "s", source "RFC 8034 Appendix A.1.2";
        /// Gain of the delay's distance from the target, per update (A).
        alpha: f64 = 0.25, unit "1/s", source "RFC 8034 Appendix A.1.2";
        /// Gain of the delay's change since the last update (B).
        beta: f64 = 2.5, unit "1/s", source "RFC 8034 Appendix A.1.2";
        /// How long the onset of congestion passes without drops (MAX_BURST).
        max_burst: Duration = Duration::from_millis(142), unit "s", source "RFC 8034 Appendix A.1.2";
        /// Time of calm after which it is inactive (BURST_RESET_TIMEOUT).
        reset_after: Duration = Duration::from_secs(1), unit "s", source "RFC 8034 Appendix A.1.2";
        /// The packet size that the probability refers to (MEAN_PKTSIZE).
        mean_packet: Bytes = Bytes::new(1024), unit "bytes", source "RFC 8034 Appendix A.1.2";
    }
}

/// Both delays below this: the probability decays (LATENCY_LOW, in seconds).
const LATENCY_LOW: f64 = 0.005;
/// A delay above this: it rises (LATENCY_HIGH, in seconds).
const LATENCY_HIGH: f64 = 0.2;
/// The largest probability of a packet (PROB_LOW).
const PROB_LOW: f64 = 0.85;
/// Smallest packet size that counts, in bytes (MIN_PKTSIZE).
const MIN_PKTSIZE: f64 = 64.0;

impl DocsisPieParams {
    /// RFC 8034 has no ECN.
    pub fn marks(&self) -> Marks {
        Marks::Nothing
    }

    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        Remark::on_delay("target", self.target, link).into_iter().collect()
    }

    /// DOCSIS-PIE for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: a target that a full buffer does not reach, a gain outside its range, a
    /// mean packet of nothing.
    pub fn build(&self, link: &Link) -> Result<DocsisPie, ParamError> {
        const SOURCE: &str = "RFC 8034 Appendix A";
        link.check()?;
        positive_duration("target", self.target, SOURCE)?;
        positive("alpha", self.alpha, SOURCE)?;
        in_range("alpha", self.alpha, 0.0, 1e6, SOURCE)?;
        in_range("beta", self.beta, 0.0, 1e6, SOURCE)?;
        let hour = Duration::from_secs(3600);
        require!(self.max_burst <= hour, self.max_burst, "must be at most 1 h")?;
        require!(self.reset_after <= hour, self.reset_after, "must be at most 1 h")?;
        require!(self.mean_packet.get() > 0, self.mean_packet, "must be positive")?;
        let law = DocsisPieLaw { alpha: self.alpha, beta: self.beta, target: self.target.as_secs_f64() };
        Ok(DocsisPie {
            law,
            max_burst: self.max_burst,
            reset_after: self.reset_after,
            mean_packet: self.mean_packet.get() as f64,
            most: PROB_LOW * self.mean_packet.get() as f64 / MIN_PKTSIZE,
            third: link.buffer.in_bytes(link.mean_packet) / 3.0,
            link: *link,
            ticker: Ticker::new("update_interval", self.update_interval)?,
            state: State::Inactive,
            p: 0.0,
            accumulated: 0.0,
            burst_allowance: Duration::ZERO,
            calm: Duration::ZERO,
            delay_old: 0.0,
        })
    }
}

/// DOCSIS-PIE's state.
#[derive(Clone, Debug)]
pub struct DocsisPie {
    law: DocsisPieLaw,
    max_burst: Duration,
    reset_after: Duration,
    /// Mean packet size in bytes.
    mean_packet: f64,
    /// The largest probability of a mean packet.
    most: f64,
    /// A third of the buffer, in bytes.
    third: f64,
    link: Link,
    ticker: Ticker,
    state: State,
    /// Probability for a packet of mean size.
    p: f64,
    accumulated: f64,
    burst_allowance: Duration,
    /// Time that it has been calm while quiescent.
    calm: Duration,
    /// The delay at the last update, in seconds.
    delay_old: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Inactive,
    Quiescent,
    Active,
}

impl DocsisPie {
    #[inline]
    fn delay(&self, queue: &QueueView) -> f64 {
        queue.bytes.get() as f64 / queue.link_rate.unwrap_or(self.link.rate).bytes_per_sec()
    }
}

impl Aqm for DocsisPie {
    delegate!(ticker: next_update);

    // RFC 8034 Appendix A.3.
    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        let queue = cx.queue.bytes.get() as f64;
        if !self.burst_allowance.is_zero() {
            return Verdict::Pass;
        }
        if self.p == 0.0 {
            self.accumulated = 0.0;
        }
        if self.state == State::Inactive {
            if queue < self.third {
                return Verdict::Pass;
            }
            self.state = State::Quiescent;
        }
        let p = by_size(self.p, pkt.bytes.get() as f64, self.mean_packet);
        self.accumulated += p;
        let low = self.delay_old < 0.5 * self.law.target && self.p < 0.2;
        if low || queue <= 2.0 * self.mean_packet || !cx.rng.chance(derandomized(p, self.accumulated)) {
            return Verdict::Pass;
        }
        self.accumulated = 0.0;
        if self.state == State::Quiescent {
            self.state = State::Active;
            self.burst_allowance = self.max_burst;
        }
        Verdict::Drop(Cause::Early)
    }

    fn on_overflow(&mut self, _: &mut Ctx<'_>, _: &PacketMeta) {
        self.accumulated = 0.0;
    }

    // RFC 8034 Appendix A.2.
    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        self.ticker.advance();
        let (interval, delay) = (self.ticker.interval(), self.delay(&cx.queue));
        if self.burst_allowance.is_zero() {
            self.p = self.law.next_p(self.p, delay, self.delay_old).clamp(0.0, self.most);
        } else {
            self.p = 0.0;
            self.burst_allowance -= interval;
        }
        let half = 0.5 * self.law.target;
        let calm = delay < half && self.delay_old < half && self.p == 0.0 && self.burst_allowance.is_zero();
        match self.state {
            State::Active if calm => (self.state, self.calm) = (State::Quiescent, Duration::ZERO),
            State::Quiescent if calm => {
                self.calm += interval;
                if self.calm > self.reset_after {
                    (self.state, self.calm) = (State::Inactive, Duration::ZERO);
                }
            }
            State::Quiescent => self.calm = Duration::ZERO,
            _ => {}
        }
        self.delay_old = delay;
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("p", "1", self.p.min(1.0));
        out.value("p_mean", "1", self.p);
        out.value("delay", "s", self.delay_old);
        out.value("burst_allowance", "s", self.burst_allowance.as_secs_f64());
    }
}

/// Parameters of the control law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DocsisPieLaw {
    /// Gain of the distance from the target, per second.
    pub alpha: f64,
    /// Gain of the change, per second.
    pub beta: f64,
    /// The target delay in seconds.
    pub target: f64,
}

impl DocsisPieLaw {
    /// RFC 8034 Appendix A.2: the next probability, before its bounds.
    pub fn next_p(&self, p: f64, delay: f64, delay_old: f64) -> f64 {
        let step = scale(p) * (self.alpha * (delay - self.target) + self.beta * (delay - delay_old));
        let next = p + if p >= 0.1 { step.min(0.02) } else { step };
        if delay < LATENCY_LOW && delay_old < LATENCY_LOW {
            0.98 * next
        } else if delay > LATENCY_HIGH {
            next + 0.02
        } else {
            next
        }
    }
}

/// RFC 8034 Appendix A.2: what the gains are multiplied by; beyond 1 they grow.
pub fn scale(p: f64) -> f64 {
    match p {
        p if p < 0.1 => crate::pie::scale(p),
        p if p < 1.0 => 2.0,
        p if p < 10.0 => 8.0,
        _ => 32.0,
    }
}

/// RFC 8034 section 4.6 and Appendix A.3: the probability of a packet of this size, at most PROB_LOW.
#[inline]
pub fn by_size(p: f64, size: f64, mean: f64) -> f64 {
    (p * size / mean).min(PROB_LOW)
}

equations! {
    DocsisPieLaw::next_p(alpha, beta, target, p, delay, delay_old) -> p =
        DocsisPieLaw { alpha, beta, target }.next_p(p, delay, delay_old);
    scale(p) -> scale = scale(p);
    by_size(p, size, mean) -> p = by_size(p, size, mean);
}
