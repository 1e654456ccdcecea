//! REM: random exponential marking (Athuraliya et al. 2001; Chen 2010, section 3.5; Park et al. 2004, eq.
//! 26-29).
//!
//! A price rises with the excess of the arrival rate over the link's and with the excess of the
//! queue over `q_ref` (b* in other papers); an arrival is signaled with `1 - phi^-price`, so that
//! along a path the prices add up.
//!
//! What the papers leave open, and what this file does:
//! - The rate is a count: the packets that arrived in the update interval against those the link could
//!   have sent in it, at the link's current rate if the host knows it. Every arrival counts, including
//!   one that is then dropped. ns-2 smooths the count lightly (`inw_` 0.9); the price sums to the same.
//! - The papers signal arrivals. The authors' own code, in ns-2, drops on arrival but marks departures,
//!   so its marks reach the sender one queueing delay earlier: `mark_at`. Set to mark, it passes what it cannot
//!   mark: `unmarkable`.
//! - ns-2 fixes alpha at 0.1.

use alloc::vec::Vec;

use quell_units::{Duration, QueueSize};

use crate::params::{AutoSize, ParamError, Remark, positive_queue, positive_to};
use crate::part::{Gauge, SignalMode, Sizer, Ticker, Unmarkable};
use crate::{Aqm, Ctx, Departures, Link, PacketMeta, Probe, Verdict, params};

choice! {
    /// Form in which the price sees the arrival rate.
    pub enum PriceForm {
        /// Measured: arrivals against the link's capacity (Chen 2010, eq. 3.8).
        Rate = "rate",
        /// The change of the queue (Chen 2010, eq. 3.9).
        Queue = "queue",
    }
}

choice! {
    /// Time at which ECN-capable packets are marked. Other packets, unless they pass, are dropped on arrival.
    pub enum MarkAt {
        /// Marked on arrival (Chen 2010, section 3.5).
        Arrival = "arrival",
        /// Marked as they leave, with the probability of that time (the authors' code in ns-2).
        Departure = "departure",
    }
}

params! {
    /// REM's parameters.
    pub struct RemParams {
        /// Step of the price per packet of mismatch.
        gamma: f64 = 0.001, unit "1/packet", source "Athuraliya et al. 2001; Joo et al. 2006, Table 1";
        /// Weight of the queue's mismatch against the rate's.
        alpha: f64 = 0.1, unit "1", source "Athuraliya et al. 2001; Joo et al. 2006, Table 1";
        /// Base of the exponential.
        phi: f64 = 1.001, unit "1", source "Athuraliya et al. 2001; Joo et al. 2006, Table 1";
        /// Queue to hold; its unit determines whether the queue and arrivals are measured in packets or bytes; auto: 20
        /// packets, or half of the buffer if it holds fewer.
        q_ref: AutoSize = AutoSize::Auto, unit "packets or bytes", source "ns-2; half the buffer is chosen";
        /// Time between two updates of the price.
        update_interval: Duration = Duration::from_millis(10), unit "s", source "ns-2; Joo et al. 2006, Table 1 has 1 ms";
        /// Probability at the start; it sets the initial price.
        initial_p: f64 = 0.0, unit "1", source "ns-2";
        /// Source of the rate: a measurement ("rate") or the change in the queue ("queue").
        form: PriceForm = PriceForm::Rate, unit "name", source "Chen 2010, eq. 3.8; Athuraliya et al. 2001";
        /// Effect of a packet's size on its probability: none ("per-packet") or proportional ("by-size").
        signal: SignalMode = SignalMode::PerPacket, unit "name", source "RFC 7567 section 4.4";
        /// When ECN-capable packets are marked: on "arrival" or at "departure", which informs the sender one queueing
        /// delay earlier.
        mark_at: MarkAt = MarkAt::Arrival, unit "name", source "Chen 2010, section 3.5; ns-2 marks at departure";
        /// Effect of a signal on a packet that cannot be marked: "drop" or "pass". With "pass" only a full
        /// buffer drops packets, and a queue that does not mark sends no signals at all.
        unmarkable: Unmarkable = Unmarkable::Drop, unit "name", source "RFC 3168 section 5; ns-2 passes it where it marks";
    }
}

impl RemParams {
    /// The parameters that have no effect where no packet is marked.
    pub fn of_marks(&self) -> &'static [&'static str] {
        &["mark_at"]
    }

    /// The queue to hold on a link.
    pub fn target(&self, link: &Link) -> QueueSize {
        self.q_ref.or_target(QueueSize::Packets(20.0), link)
    }

    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        Remark::on_queue("q_ref", self.target(link), link).into_iter().collect()
    }

    /// REM for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: a step that is not positive, an alpha outside (0, 1], a
    /// base that does not exceed 1, a target that the buffer cannot hold, a probability outside [0, 1).
    pub fn build(&self, link: &Link) -> Result<Rem, ParamError> {
        link.check()?;
        positive_to("gamma", self.gamma, 1e6, "Chen 2010, eq. 3.8")?;
        positive_to("alpha", self.alpha, 1.0, "Chen 2010, eq. 3.9")?;
        require!(self.phi > 1.0 && self.phi.is_finite(), self.phi, "must exceed 1 [Chen 2010, eq. 3.10]")?;
        let q_ref = positive_queue("q_ref", self.target(link), link)?;
        require!(
            (0.0..1.0).contains(&self.initial_p),
            self.initial_p,
            "must lie in [0, 1): no price makes it 1 [Chen 2010, eq. 3.10]"
        )?;
        let ln_phi = libm::log(self.phi);
        Ok(Rem {
            price: price_of(ln_phi, self.initial_p),
            p: self.initial_p,
            ln_phi,
            law: RemLaw { gamma: self.gamma, alpha: self.alpha, q_ref },
            form: self.form,
            q_old: 0.0,
            arrived: 0.0,
            arrivals: Sizer::in_unit_of(self.target(link), link),
            gauge: Gauge::of(self.target(link), link),
            sizer: Sizer::new(self.signal, link),
            mark_at: self.mark_at,
            unmarkable: self.unmarkable,
            link: *link,
            ticker: Ticker::new("update_interval", self.update_interval)?,
        })
    }
}

/// REM's state.
#[derive(Clone, Debug)]
pub struct Rem {
    price: f64,
    p: f64,
    ln_phi: f64,
    law: RemLaw,
    form: PriceForm,
    /// The queue at the last update.
    q_old: f64,
    /// Mean packets that arrived since the last update.
    arrived: f64,
    /// Counts an arrival in packets or by its size.
    arrivals: Sizer,
    gauge: Gauge,
    sizer: Sizer,
    mark_at: MarkAt,
    unmarkable: Unmarkable,
    link: Link,
    ticker: Ticker,
}

impl Rem {
    #[inline]
    fn judge(&self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        Verdict::early_if(cx.rng.chance(self.p * self.sizer.factor(pkt.bytes)))
    }
}

impl Aqm for Rem {
    delegate!(ticker: next_update);

    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        self.arrived += self.arrivals.factor(pkt.bytes);
        let later = self.mark_at == MarkAt::Departure && pkt.ecn.is_capable();
        if later || self.unmarkable.passes(pkt) {
            return Verdict::Pass;
        }
        self.judge(cx, pkt)
    }

    #[inline]
    fn on_dequeue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        if pkt.ecn.is_capable() { self.judge(cx, pkt) } else { Verdict::Pass }
    }

    #[inline]
    fn departures(&self) -> Departures {
        match self.mark_at {
            MarkAt::Departure => Departures::Decided,
            MarkAt::Arrival => Departures::Ignored,
        }
    }

    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        let q = self.gauge.read(&cx.queue);
        self.price = match self.form {
            PriceForm::Rate => {
                let rate = cx.queue.link_rate.unwrap_or(self.link.rate);
                let served =
                    rate.packets_per_sec(self.link.mean_packet) * self.ticker.interval().as_secs_f64();
                self.law.price_from_rate(self.price, q, self.arrived - served)
            }
            PriceForm::Queue => self.law.price_from_queue(self.price, q, self.q_old),
        };
        self.p = exponential_marking(self.ln_phi, self.price);
        self.q_old = q;
        self.arrived = 0.0;
        self.ticker.advance();
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("price", "1", self.price);
        out.value("p", "1", self.p);
    }
}

/// Parameters of the price's law.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RemLaw {
    /// Step per packet of mismatch.
    pub gamma: f64,
    /// Weight of the queue's mismatch.
    pub alpha: f64,
    /// The target in packets.
    pub q_ref: f64,
}

impl RemLaw {
    /// Chen 2010, eq. 3.8: the next price, from the packets by which arrivals exceeded the link's
    /// capacity in the interval.
    #[inline]
    pub fn price_from_rate(&self, price: f64, q: f64, excess: f64) -> f64 {
        (price + self.gamma * (self.alpha * (q - self.q_ref) + excess)).max(0.0)
    }

    /// Chen 2010, eq. 3.9: the next price, from two samples of the queue.
    #[inline]
    pub fn price_from_queue(&self, price: f64, q: f64, q_old: f64) -> f64 {
        (price + self.gamma * (q - (1.0 - self.alpha) * q_old - self.alpha * self.q_ref)).max(0.0)
    }
}

/// Chen 2010, eq. 3.10: `1 - phi^-price`.
#[inline]
pub fn exponential_marking(ln_phi: f64, price: f64) -> f64 {
    -libm::expm1(-price * ln_phi)
}

/// Chen 2010, eq. 3.10 solved for the price: `-log_phi(1 - p)`.
pub fn price_of(ln_phi: f64, p: f64) -> f64 {
    -libm::log1p(-p) / ln_phi
}

/// Park et al. 2004, eq. 29: K_P and K_I of the PI controller that REM is at small prices; the printed K_I
/// leaves out `1/T_s`.
pub fn continuous_gains(law: &RemLaw, phi: f64, t_s: f64) -> (f64, f64) {
    let per_packet = law.gamma * libm::log(phi);
    ((1.0 - law.alpha) * per_packet, law.alpha * per_packet / t_s)
}

equations! {
    RemLaw::price_from_rate(gamma, alpha, q_ref, price, q, excess) -> price =
        RemLaw { gamma, alpha, q_ref }.price_from_rate(price, q, excess);
    RemLaw::price_from_queue(gamma, alpha, q_ref, price, q, q_old) -> price =
        RemLaw { gamma, alpha, q_ref }.price_from_queue(price, q, q_old);
    exponential_marking(phi, price) -> p = exponential_marking(libm::log(phi), price);
    price_of(phi, p) -> price = price_of(libm::log(phi), p);
    continuous_gains(gamma, alpha, phi, t_s) -> k_p, k_i =
        continuous_gains(&RemLaw { gamma, alpha, q_ref: 0.0 }, phi, t_s);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cause;
    use crate::{Ecn, FlowId, QueueView, Seed};
    use quell_units::{BitRate, Bytes, Packets, Time};

    /// What becomes of a packet at p = 1: on arrival, and when it leaves if REM is asked then.
    fn verdicts(params: RemParams, ecn: Ecn) -> (Verdict, Option<Verdict>) {
        let link = Link {
            rate: BitRate::from_bps(8_000_000),
            buffer: QueueSize::Packets(100.0),
            mean_packet: Bytes::new(1000),
        };
        let mut rng = Seed(1).stream("rem");
        let mut rem = params.build(&link).unwrap();
        rem.p = 1.0;
        let queue = QueueView {
            packets: Packets::new(1),
            bytes: Bytes::new(1000),
            head_since: None,
            link_rate: None,
        };
        let mut cx = Ctx::new(Time::ZERO, queue, &mut rng);
        let pkt = PacketMeta {
            bytes: Bytes::new(1000),
            enqueued_at: Time::ZERO,
            flow: FlowId(0),
            ecn,
            ..Default::default()
        };
        let arrival = rem.on_enqueue(&mut cx, &pkt);
        let departure = (rem.departures() == Departures::Decided).then(|| rem.on_dequeue(&mut cx, &pkt));
        (arrival, departure)
    }

    const SIGNAL: Verdict = Verdict::Signal(Cause::Early);

    #[test]
    fn what_cannot_be_marked_passes_if_it_shall() {
        for mark_at in [MarkAt::Arrival, MarkAt::Departure] {
            let verdicts =
                |unmarkable, ecn| verdicts(RemParams { mark_at, unmarkable, ..Default::default() }, ecn);
            assert_eq!(verdicts(Unmarkable::Drop, Ecn::NotEct).0, SIGNAL);
            let (arrival, departure) = verdicts(Unmarkable::Pass, Ecn::NotEct);
            assert_eq!((arrival, departure.unwrap_or(Verdict::Pass)), (Verdict::Pass, Verdict::Pass));
            assert_eq!(verdicts(Unmarkable::Pass, Ecn::Ect0), verdicts(Unmarkable::Drop, Ecn::Ect0));
        }
    }

    #[test]
    fn marks_at_departure_leave_arrivals_that_are_ecn_capable_alone() {
        let verdicts = |mark_at, ecn| verdicts(RemParams { mark_at, ..Default::default() }, ecn);
        assert_eq!(verdicts(MarkAt::Arrival, Ecn::Ect0), (SIGNAL, None));
        assert_eq!(verdicts(MarkAt::Departure, Ecn::Ect0), (Verdict::Pass, Some(SIGNAL)));
        assert_eq!(verdicts(MarkAt::Departure, Ecn::NotEct), (SIGNAL, Some(Verdict::Pass)));
    }
}
