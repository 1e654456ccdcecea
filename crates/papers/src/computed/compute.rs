//! The computations that documents may name.

use serde::Deserialize;

use super::{fuzzy, hred, red_tail, thesis};

/// The computations, with the values that they are for.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Compute {
    /// A number: the largest K_I (Park et al. 2004, eq. 20).
    VrcLargestIntegral {
        /// K_D in seconds per packet.
        k_d: f64,
        /// R in seconds.
        rtt: f64,
        /// N.
        flows: f64,
        /// C in packets per second.
        capacity: f64,
    },
    /// A number: the largest K_P (Park et al. 2004, eq. 21).
    VrcLargestProportional {
        /// K_I per packet and second.
        k_i: f64,
        /// K_D in seconds per packet.
        k_d: f64,
        /// R in seconds.
        rtt: f64,
        /// N.
        flows: f64,
        /// C in packets per second.
        capacity: f64,
    },
    /// A number: the longest round-trip time at which PID gains are stable, in seconds (Park et al. 2004, eq. 17).
    VrcLongestRtt {
        /// K_P per packet.
        k_p: f64,
        /// K_I per packet and second.
        k_i: f64,
        /// K_D in seconds per packet.
        k_d: f64,
        /// N.
        flows: f64,
        /// C in packets per second.
        capacity: f64,
        /// This many packets of queueing are taken off: the longest propagation delay remains.
        #[serde(default)]
        q_ref: f64,
    },
    /// A number: the longest round-trip time at which AVQ is stable, in seconds (Kunniyur and Srikant 2001, Theorem
    /// 4.1).
    AvqLongestRtt {
        /// phi per second.
        phi: f64,
        /// tau: the utilization that is aimed for.
        tau: f64,
        /// N.
        flows: f64,
        /// C in packets per second.
        capacity: f64,
    },
    /// A figure: the longest stable round-trip time over C, for several N (Park et al. 2004, Fig. 3).
    VrcStabilitySurface {
        /// K_P per packet.
        k_p: f64,
        /// K_I per packet and second.
        k_i: f64,
        /// K_D in seconds per packet.
        k_d: f64,
        /// N, a curve each.
        flows: Vec<f64>,
        /// The ends of the axis of C, in packets per second.
        capacity: [f64; 2],
    },
    /// A figure: the largest K_P over K_I, for several K_D and R (Park et al. 2004, Fig. 4 and 8).
    VrcGainRegions {
        /// K_D in seconds per packet, a curve each.
        k_d: Vec<f64>,
        /// R in seconds, a panel each.
        rtt: Vec<f64>,
        /// N.
        flows: f64,
        /// C in packets per second.
        capacity: f64,
    },
    /// A figure: the longest stable propagation delay over K_P = K_I, for several K_D (Park et al. 2004, Fig. 7).
    VrcLongestDelay {
        /// K_D in seconds per packet, a curve each.
        k_d: Vec<f64>,
        /// The ends of the axis of K_P = K_I.
        gain: [f64; 2],
        /// N.
        flows: f64,
        /// C in packets per second.
        capacity: f64,
        /// The target in packets, whose delay is taken off.
        q_ref: f64,
    },
    /// A figure: the map of the queue from slot to slot (Jou et al. 2003, Fig. 18 and 19).
    RedTailMap(red_tail::Mapped),
    /// A figure: the queue slot by slot, with noise (Jou et al. 2003, Fig. 17 and 20).
    RedTailTrajectory(red_tail::Trajectory),
    /// A figure: the distribution of the queue (Jou et al. 2003, Fig. 21).
    RedTailDistribution(red_tail::Distribution),
    /// A figure: the probability that a slow start loses a packet (Jou et al. 2003, section II).
    RedTailFirstLosses(red_tail::FirstLosses),
    /// A figure: the deviation of the queue over the slot (Jou et al. 2003, eq. 21).
    RedTailVariation(red_tail::Variation),
    /// A figure: the slots up to which the queue is stable (Jou et al. 2003, Propositions 6.1 and 6.2).
    RedTailSlots(red_tail::Slots),
    /// A figure: the deviation of an exponentially weighted average (Trinh and Molnár, section 4.3.1).
    EwmaVariance(fuzzy::Average),
    /// A figure: the weights of the fuzzy rules (Trinh and Molnár, section 5.1).
    FuzzyWeights(fuzzy::Weights),
    /// A figure: K_P and the margins of PI over lambda (Chen 2010, eq. 6.3 to 6.5).
    PiDesigned(thesis::Designed),
    /// A figure: the phase margin of PI over R, once eq. 6.6 has tuned it by some k (Chen 2010, section 6.4.1).
    PiTuned(thesis::Tuned),
    /// A figure: gain and phase margin of PI whose k follows R and C (Chen 2010, eq. 6.6 to 6.10).
    PiFollowing(thesis::Following),
    /// A figure: the largest max_p of RED by eq. 4.9 over R, tuned by some k (Chen 2010, eq. 4.9, 5.1 and 5.2).
    RedProposition(thesis::Proposition),
    /// A figure: the gain of RED's loop and HRED's over the queue (Joo et al. 2006, eq. 7 and 9).
    HredGain(hred::Gain),
    /// A figure: the least buffer with which HRED is stable over kappa (Joo et al. 2006, section III.B).
    HredLeastBuffer(hred::LeastBuffer),
    /// A figure: the share of the flows that may come or go over the buffer (Joo et al. 2006, eq. 16).
    HredTolerance(hred::Tolerance),
    /// A figure: the adjustment that a change of traffic calls for (Joo et al. 2006, eq. 12 to 15).
    HredAdjustment(hred::Adjustment),
}
