//! LRED: loss ratio based RED (Wang et al. 2007, after Wang et al. 2004).
//!
//! LRED measures the share of recent arrivals that was lost and uses it as the probability: that share
//! tells how many flows there are. The distance of the queue from its target only corrects it, by more
//! at a higher loss.
//!
//! Experimental: not checked against the paper. Not verified: the measurement over the last M periods, its
//! exponential average, and `p = l + beta sqrt(l) (q - q_ref)` for every arrival, with M = 4, weight
//! 0.1 and beta 0.001. Chosen here: the period's length and the target; marks count as losses where
//! packets are marked; periods without any arrival measure no loss. A link that has lost nothing
//! signals nothing: the first losses are those of a full buffer.

use alloc::vec;
use alloc::vec::Vec;

use quell_units::{Duration, QueueSize};

use crate::params::{AutoSize, ParamError, Remark, positive, positive_queue};
use crate::part::{Gauge, Ticker};
use crate::{Aqm, Ctx, Link, PacketMeta, Probe, Verdict, params};

params! {
    /// LRED's parameters.
    pub struct LredParams {
        /// Queue to hold; its unit determines whether the queue is measured in packets or bytes; auto: 50 packets, or
        /// half of the buffer if it holds fewer.
        q_ref: AutoSize = AutoSize::Auto, unit "packets or bytes", source "chosen: ns-2's for PI; half the buffer is chosen";
        /// Gain of the distance from q_ref.
        beta: f64 = 0.001, unit "1/packet", source "Wang et al. 2007, not verified";
        /// Time between two measurements of the loss ratio.
        interval: Duration = Duration::from_secs(1), unit "s", source "chosen";
        /// M: number of periods that a measurement covers.
        periods: u32 = 4, unit "1", source "Wang et al. 2007, not verified";
        /// Weight of the past in the average of the measurements.
        weight: f64 = 0.1, unit "1", source "Wang et al. 2007, not verified";
    }
}

impl LredParams {
    /// The queue to hold on a link.
    pub fn target(&self, link: &Link) -> QueueSize {
        self.q_ref.or_target(QueueSize::Packets(50.0), link)
    }

    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        Remark::on_queue("q_ref", self.target(link), link).into_iter().collect()
    }

    /// LRED for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: a target that the buffer cannot hold, a gain that is not
    /// positive, no periods or more than 1000, a weight outside [0, 1).
    pub fn build(&self, link: &Link) -> Result<Lred, ParamError> {
        link.check()?;
        positive("beta", self.beta, "Wang et al. 2007")?;
        require!((1..=1000).contains(&self.periods), self.periods, "must lie in [1, 1000]")?;
        require!((0.0..1.0).contains(&self.weight), self.weight, "must lie in [0, 1)")?;
        Ok(Lred {
            law: LredLaw { beta: self.beta, q_ref: positive_queue("q_ref", self.target(link), link)? },
            gauge: Gauge::of(self.target(link), link),
            ticker: Ticker::new("interval", self.interval)?,
            periods: vec![Period::default(); self.periods as usize],
            current: 0,
            weight: self.weight,
            loss: 0.0,
            p: 0.0,
            marked: false,
        })
    }
}

/// LRED's state.
#[derive(Clone, Debug)]
pub struct Lred {
    law: LredLaw,
    gauge: Gauge,
    ticker: Ticker,
    /// The last periods, including the current one.
    periods: Vec<Period>,
    current: usize,
    weight: f64,
    /// The average of the measured loss ratios.
    loss: f64,
    /// The probability of the last arrival.
    p: f64,
    /// The last arrival was signaled, and is not to be counted again if it does not fit.
    marked: bool,
}

/// Counts of one period.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Period {
    arrived: u64,
    lost: u64,
}

impl Aqm for Lred {
    delegate!(ticker: next_update);

    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, _: &PacketMeta) -> Verdict {
        self.p = self.law.probability(self.loss, self.gauge.read(&cx.queue));
        self.marked = cx.rng.chance(self.p);
        let period = &mut self.periods[self.current];
        period.arrived += 1;
        period.lost += u64::from(self.marked);
        Verdict::early_if(self.marked)
    }

    fn on_overflow(&mut self, _: &mut Ctx<'_>, _: &PacketMeta) {
        self.periods[self.current].lost += u64::from(!self.marked);
    }

    fn on_update(&mut self, _: &mut Ctx<'_>) {
        let (arrived, lost) =
            self.periods.iter().fold((0, 0), |(arrived, lost), p| (arrived + p.arrived, lost + p.lost));
        self.loss = average(self.loss, loss_ratio(lost as f64, arrived as f64), self.weight);
        self.current = (self.current + 1) % self.periods.len();
        self.periods[self.current] = Period::default();
        self.ticker.advance();
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("loss", "1", self.loss);
        out.value("p", "1", self.p);
    }
}

/// The control law: the probability from the loss ratio and the queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LredLaw {
    /// Gain, per packet.
    pub beta: f64,
    /// The target in packets.
    pub q_ref: f64,
}

impl LredLaw {
    /// Wang et al. 2007: `p = l + beta sqrt(l) (q - q_ref)`, kept in [0, 1].
    #[inline]
    pub fn probability(&self, loss: f64, q: f64) -> f64 {
        (loss + self.beta * libm::sqrt(loss) * (q - self.q_ref)).clamp(0.0, 1.0)
    }
}

/// Wang et al. 2007: packets lost over packets that arrived in the last M periods; 0 if none arrived.
pub fn loss_ratio(lost: f64, arrived: f64) -> f64 {
    if arrived > 0.0 { lost / arrived } else { 0.0 }
}

/// Wang et al. 2007: `weight before + (1 - weight) measured`.
pub fn average(before: f64, measured: f64, weight: f64) -> f64 {
    weight * before + (1.0 - weight) * measured
}

equations! {
    loss_ratio(lost, arrived) -> l = loss_ratio(lost, arrived);
    average(before, measured, weight) -> l = average(before, measured, weight);
    LredLaw::probability(beta, q_ref, loss, q) -> p = LredLaw { beta, q_ref }.probability(loss, q);
}

#[cfg(test)]
mod tests {
    use quell_units::{BitRate, Bytes, Packets, Time};

    use super::*;
    use crate::{Ecn, FlowId, QueueView, Seed};

    /// Whatever it believes at first, at a queue on target it ends up at the loss that it sees; here
    /// every tenth packet overflows.
    #[test]
    fn a_wrong_loss_ratio_is_forgotten() {
        let link = Link {
            rate: BitRate::from_bps(10_000_000),
            buffer: QueueSize::Packets(100.0),
            mean_packet: Bytes::new(500),
        };
        let mut rng = Seed(1).stream("lred");
        for start in [0.0, 1.0] {
            let mut lred =
                LredParams { q_ref: AutoSize::Size(QueueSize::Packets(99.0)), ..LredParams::default() }
                    .build(&link)
                    .unwrap();
            lred.loss = start;
            let queue = |n| QueueView {
                packets: Packets::new(n),
                bytes: Bytes::new(500 * u64::from(n)),
                head_since: None,
                link_rate: None,
            };
            let mut losses = Vec::new();
            for i in 0..250_000u64 {
                let now = Time::from_nanos(i * 400_000);
                while lred.next_update().unwrap() <= now {
                    lred.on_update(&mut Ctx::new(now, queue(0), &mut rng));
                    losses.push(lred.loss);
                }
                let pkt = PacketMeta {
                    bytes: Bytes::new(500),
                    enqueued_at: now,
                    flow: FlowId(0),
                    ecn: Ecn::NotEct,
                    ..Default::default()
                };
                // An empty queue, where nothing is signaled at a small loss, and a full one.
                let n = if i % 10 == 0 { 100 } else { 0 };
                let mut cx = Ctx::new(now, queue(n), &mut rng);
                if lred.on_enqueue(&mut cx, &pkt) == Verdict::Pass && n == 100 {
                    lred.on_overflow(&mut cx, &pkt);
                }
            }
            let last = *losses.last().unwrap();
            // Of the nine others a share p = l - 0.099 sqrt(l) is lost; l = 0.1 + 0.9 p is solved by
            // sqrt(l) = (sqrt(0.891^2 + 4) - 0.891)/2.
            assert!((last - 0.4215).abs() < 0.01, "{start}: {last}");
        }
    }
}
