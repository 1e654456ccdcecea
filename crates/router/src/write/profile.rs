//! A curve of drop probabilities over the queue, as routers with RED in hardware have it.

use quell_aqm::catalog::AqmConfig;
use quell_aqm::red::RedParams;
use quell_units::{Duration, QueueSize};

use crate::shaped::{FULL, Side};

/// A drop probability that rises between two thresholds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Profile {
    /// Bytes that wait when it begins.
    pub min: f64,
    /// Bytes that wait when it reaches `top`.
    pub max: f64,
    /// The probability there.
    pub top: f64,
    /// Rises on to 1 at twice `max`; else it is 1 from `max` on.
    pub gentle: bool,
}

/// Targets at which a profile that stands for a delay drops [`TOP`].
const TARGETS: f64 = 3.0;
/// RED's usual probability (Floyd 1997).
const TOP: f64 = 0.1;

impl Profile {
    /// The profile of a side: RED's own, or one around an algorithm's target. None for a drop-tail.
    pub fn of(side: &Side) -> Option<Profile> {
        let red = |p: &RedParams| {
            let bytes = |size: QueueSize| size.in_bytes(FULL);
            Profile { min: bytes(p.min_th), max: bytes(p.max_th), top: p.max_p, gentle: p.gentle }
        };
        let around = |target: Duration| {
            let min = side.bytes_of(target.as_secs_f64());
            Profile { min, max: TARGETS * min, top: TOP, gentle: true }
        };
        match &side.aqm {
            AqmConfig::Red(p) => Some(red(p)),
            AqmConfig::Ared(p) => Some(red(&p.red(&side.as_link()))),
            AqmConfig::Codel(p) => Some(around(p.target)),
            AqmConfig::FqCodel(p) => Some(around(p.target)),
            AqmConfig::Pie(p) => Some(around(p.target)),
            AqmConfig::FqPie(p) => Some(around(p.target)),
            AqmConfig::Cake(p) => Some(around(p.rtt.mul_f64(0.05))),
            _ => None,
        }
    }
}
