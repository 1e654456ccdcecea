//! Speed at which an average forgets.

use alloc::format;

use quell_units::Duration;
use serde::{Deserialize, Serialize};

use super::link_rate_weight;
use crate::Link;
use crate::params::{ParamError, ParamValue, positive_to, require};

/// The weight of the average: a number, or computed from the link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "expected a number, \"link-rate\", \"link-rate-fast\" or { time_constant = \"1 s\" }"
)]
pub enum Weight {
    /// This value.
    Value(f64),
    /// A rule.
    Rule(WeightRule),
    /// The average's time constant.
    Memory(Memory),
}

choice! {
    /// Rules for the weight of the average.
    pub enum WeightRule {
        /// A time constant of one second: `1 - exp(-1/C)` (Floyd et al. 2001; Chen 2010, section 3.2.3).
        LinkRate = "link-rate",
        /// A time constant of a tenth of a second: `1 - exp(-10/C)` (ns-2's `q_weight_ -2`).
        LinkRateFast = "link-rate-fast",
    }
}

/// Time constant of the average: `w = 1 - exp(-1/(time_constant C))`; Chen 2010, section 2.3.4 recommends ten
/// round-trip times.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// The time after which a step of the queue shows in the average to 63%.
    pub time_constant: Duration,
}

impl ParamValue for Weight {
    fn show(&self) -> alloc::string::String {
        match self {
            Weight::Value(w) => w.show(),
            Weight::Rule(r) => r.show(),
            Weight::Memory(m) => format!("{{ time_constant = \"{}\" }}", m.time_constant),
        }
    }
}

impl Weight {
    /// The number, for a link.
    ///
    /// # Errors
    /// Names `weight` if it does not come out in (0, 1].
    pub fn resolve(self, link: &Link) -> Result<f64, ParamError> {
        let seconds = match self {
            Weight::Value(w) => {
                positive_to("weight", w, 1.0, "Floyd and Jacobson 1993, section 6")?;
                return Ok(w);
            }
            Weight::Rule(WeightRule::LinkRate) => 1.0,
            Weight::Rule(WeightRule::LinkRateFast) => 0.1,
            Weight::Memory(m) => {
                require(!m.time_constant.is_zero(), "weight", self.show(), "must be longer than 0 s")?;
                m.time_constant.as_secs_f64()
            }
        };
        let w = link_rate_weight(link.capacity(), seconds);
        require(w > 0.0 && w <= 1.0, "weight", self.show(), "must give a weight in (0, 1] on this link")?;
        Ok(w)
    }
}

equations! {
    Weight::resolve(weight: Weight, rate: quell_units::BitRate, mean_packet: quell_units::Bytes) -> w =
        weight.resolve(&Link { rate, buffer: quell_units::QueueSize::Packets(500.0), mean_packet }).unwrap();
}
