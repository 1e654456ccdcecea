//! AVQ read as a rate controller (Park et al. 2004, eq. 30-32).
//!
//! AVQ's virtual capacity adapts as in [`avq`](crate::avq), but there is no virtual queue: an arrival is
//! signaled with the probability that [`spf`](crate::spf) would use on a link of that capacity,
//! `p = 1 - Cv/r`. AVQ's own paper uses this form in its analysis. Signals come at random, so they do
//! not depend on how bursty a flow is.
//!
//! What the paper leaves open, and what this file does:
//! - Park et al. 2004 state the law without a way to measure r; it is Stoica's estimator, as for VRC.
//! - The names are Chen's: phi for Park et al.'s alpha, tau for its gamma, `initial_capacity` for its beta.
//! - Where signals are drops the virtual capacity follows the admitted rate, as in [`avq`](crate::avq).
//! - Park et al. 2004, eq. 31 leaves out that Cv stays between 0 and the link's capacity (Chen 2010,
//!   Fig. 3.4).

use quell_units::{Duration, Time};

use crate::avq::{InputRate, next_capacity};
use crate::params::{ParamError, in_range, positive_duration, positive_to};
use crate::part::{RateEstimator, SignalMode, Sizer};
use crate::spf::forwarding;
use crate::{Aqm, Ctx, Link, PacketMeta, Probe, Verdict, params};

params! {
    /// The parameters of AVQ as a rate controller.
    pub struct AvqRateParams {
        /// Speed at which the virtual capacity adapts.
        phi: f64 = 0.15, unit "1/s", source "Park et al. 2004, Table 1: alpha";
        /// Share of the link's capacity to use.
        tau: f64 = 0.98, unit "1", source "Kunniyur and Srikant 2001; Park et al. 2004, Table 1 has gamma = 1";
        /// The input that adapts the virtual capacity: "admitted" excludes what is dropped; "offered" counts every
        /// arrival.
        input_rate: InputRate = InputRate::Admitted, unit "name", source "Chen 2010, section 3.7.1 (its Fig. 3.4 has offered); ns-2";
        /// Virtual capacity at the start, as a share of the link's.
        initial_capacity: f64 = 0.8, unit "1", source "Park et al. 2004, Table 1: beta";
        /// K: time constant of the estimate of the arrival rate.
        rate_memory: Duration = Duration::from_millis(100), unit "s", source "not in Park et al. 2004; Stoica et al. 1998 take 100 ms";
        /// Effect of a packet's size on the rate and on its probability: none ("per-packet") or proportional
        /// ("by-size").
        signal: SignalMode = SignalMode::PerPacket, unit "name", source "RFC 7567 section 4.4";
    }
}

impl AvqRateParams {
    /// AVQ as a rate controller for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: a gain that is not positive, a share outside (0, 1], an
    /// estimator without memory.
    pub fn build(&self, link: &Link) -> Result<AvqRate, ParamError> {
        link.check()?;
        positive_to("phi", self.phi, 1e6, "Park et al. 2004, eq. 30")?;
        positive_to("tau", self.tau, 1.0, "Park et al. 2004, eq. 30")?;
        in_range("initial_capacity", self.initial_capacity, 0.0, 1.0, "Park et al. 2004, section 4")?;
        positive_duration("rate_memory", self.rate_memory, "Stoica et al. 1998, eq. 5")?;
        Ok(AvqRate {
            p: 0.0,
            capacity: self.initial_capacity * link.capacity(),
            phi: self.phi,
            tau: self.tau,
            input_rate: self.input_rate,
            rate: RateEstimator::new(self.rate_memory),
            sizer: Sizer::new(self.signal, link),
            link: *link,
            last_input: None,
        })
    }
}

/// The state of AVQ as a rate controller.
#[derive(Clone, Debug)]
pub struct AvqRate {
    /// The probability of the last arrival.
    p: f64,
    /// The virtual capacity in packets per second.
    capacity: f64,
    phi: f64,
    tau: f64,
    input_rate: InputRate,
    rate: RateEstimator,
    sizer: Sizer,
    link: Link,
    /// Arrival of the previous packet that counts as input.
    last_input: Option<Time>,
}

impl Aqm for AvqRate {
    fn on_start(&mut self, now: Time) {
        self.rate.start(now);
    }

    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        let size = self.sizer.factor(pkt.bytes);
        let rate = self.rate.arrive(cx.now, size);
        self.p = forwarding(self.capacity, rate);
        let verdict = Verdict::early_if(cx.rng.chance(self.p * size));
        if !verdict.drops(pkt) || self.input_rate == InputRate::Offered {
            let c = cx.queue.link_rate.unwrap_or(self.link.rate).packets_per_sec(self.link.mean_packet);
            let dt = self.last_input.map_or(0.0, |t| cx.now.since(t).as_secs_f64());
            self.capacity = next_capacity(self.capacity, c, size, dt, self.phi, self.tau);
            self.last_input = Some(cx.now);
        }
        verdict
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("p", "1", self.p);
        out.value("rate", "packets/s", self.rate.last());
        out.value("virtual_capacity", "bit/s", self.capacity * 8.0 * self.link.mean_packet.get() as f64);
    }
}
