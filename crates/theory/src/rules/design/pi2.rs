//! PI2 and DualPI2 by RFC 9332 Appendix A.

use quell_aqm::Link;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::dualpi2::{DualPi2Params, gains};
use quell_aqm::part::dual_queue::Classifier;
use quell_aqm::pi2::{Pi2Params, Scalable};
use quell_units::Duration;

use super::digits::round;
use super::rule::{Notes, Rule};
use super::target::Target;
use crate::congestion::Congestion;
use crate::error::TheoryError;

/// PI2 with the gains of DualPI2.
pub(super) struct Pi2;

/// DualPI2 for the longest round-trip time.
pub(super) struct DualPi2;

/// The delay that the target's queue is, in time and packets; without one the algorithm's own, where half of the buffer
/// is more, and else a quarter of the buffer.
fn delay(target: &Target, own: Duration) -> (Duration, f64) {
    let link: Link = target.link();
    let fits = 2.0 * own.as_secs_f64() * link.capacity() <= target.buffer();
    let queue = target.queue.or_else(|| (!fits).then(|| target.queue()));
    let delay = queue.map_or(own, |q| Duration::from_secs_f64(round(q / link.capacity())));
    (delay, delay.as_secs_f64() * link.capacity())
}

/// Tells whether some senders are scalable and have no code point of their own: DCTCP's packets are ECT(0).
fn by_any_ect(target: &Target) -> bool {
    let scalable = |c: &Congestion| matches!(c, Congestion::Scalable(_)) && !c.is_l4s();
    scalable(&target.congestion) || target.scalables.is_some_and(|(_, c)| scalable(&c))
}

fn assume(target: &Target, notes: &mut Notes) {
    notes.assume(format!(
        "RFC 9332 Appendix A, Fig. 2: the base probability is updated every Tupdate = min(target, R/3), by alpha = 0.1 \
         Tupdate/R^2 and beta = 0.3/R, with R = {} s the longest round-trip time; the rate and the flows do not \
         matter, because the square compensates for them",
        target.rtt.as_secs_f64()
    ));
    if by_any_ect(target) {
        notes.warn(
            "DCTCP's packets are ECT(0), so they can be distinguished from Classic ones only if those do not use ECN",
        );
    }
}

impl Rule for DualPi2 {
    const NAME: &'static str = "dualpi2";
    const ANY_WINDOW: bool = true;

    fn parameters(target: &Target, notes: &mut Notes) -> Result<(AqmConfig, f64), TheoryError> {
        let own = DualPi2Params::default();
        let (delay, q) = delay(target, own.target);
        assume(target, notes);
        let classifier = if by_any_ect(target) { Classifier::AnyEct } else { own.classifier };
        Ok((AqmConfig::DualPi2(DualPi2Params { target: delay, rtt_max: target.rtt, classifier, ..own }), q))
    }
}

impl Rule for Pi2 {
    const NAME: &'static str = "pi2";
    const ANY_WINDOW: bool = true;

    fn parameters(target: &Target, notes: &mut Notes) -> Result<(AqmConfig, f64), TheoryError> {
        let own = Pi2Params::default();
        let (delay, q) = delay(target, own.target);
        let update_interval = delay.min(target.rtt / 3);
        let (alpha, beta) = gains(update_interval, target.rtt);
        assume(target, notes);
        let scalable = if by_any_ect(target) { Scalable::Ect } else { own.scalable };
        let (alpha, beta) = (round(alpha), round(beta));
        Ok((AqmConfig::Pi2(Pi2Params { target: delay, update_interval, alpha, beta, scalable, ..own }), q))
    }
}
