//! The wire behind a line: what it does to the packets that the line has sent.

use quell_aqm::Seed;
use quell_queue::{Deviation, Flight, GilbertElliott, Impaired, Impairments, Jitter, Loss, Schedule};
use quell_units::{Duration, Time};
use serde::{Deserialize, Serialize};

/// A wire that loses, delays and copies packets, as a log keeps it. The laws and their random streams are the
/// simulator's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BehindConfig {
    /// The number of the link whose random streams it draws from.
    pub link: u32,
    /// The delay of the wire itself at the start. Jitter makes packets earlier by no more than this.
    pub delay: Duration,
    /// The losses at the start.
    pub loss: LossConfig,
    /// The jitter, if there is any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub jitter: Option<JitterConfig>,
    /// The probability that a packet arrives twice.
    #[serde(default)]
    pub duplicate: f64,
}

/// The law of a wire's losses. See [`Loss`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub enum LossConfig {
    /// Independent losses with this probability, until it changes.
    Random(f64),
    /// Those of a chain. See [`GilbertElliott`].
    GilbertElliott {
        /// The probability of a step from good to bad.
        p: f64,
        /// The probability of a step from bad to good.
        r: f64,
        /// The probability of a loss in the good state.
        good_loss: f64,
        /// The probability of a loss in the bad state.
        bad_loss: f64,
    },
}

/// The law of a wire's jitter. See [`Jitter`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct JitterConfig {
    /// The unit of the distribution.
    pub size: Duration,
    /// The distribution.
    pub distribution: DeviationConfig,
    /// The weight of the last deviation in the next one.
    pub correlation: f64,
    /// Packets may overtake each other.
    pub reorder: bool,
}

/// Mirrors [`Deviation`] for logs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum DeviationConfig {
    Uniform,
    Normal,
    Pareto,
    ParetoNormal,
}

impl BehindConfig {
    /// The wire of link number `link` with this delay at the start.
    pub fn of(link: u32, delay: Duration, impairments: &Impairments) -> Self {
        // Nobody gives a wire outages: see `quell wire`.
        let Impairments { loss, jitter, duplicate, outages: _ } = impairments;
        let loss = match loss {
            Loss::Random(p) => LossConfig::Random(p.initial),
            Loss::GilbertElliott(GilbertElliott { p, r, good_loss, bad_loss }) => {
                let (p, r, good_loss, bad_loss) = (*p, *r, *good_loss, *bad_loss);
                LossConfig::GilbertElliott { p, r, good_loss, bad_loss }
            }
        };
        let jitter = jitter.map(|Jitter { size, distribution, correlation, reorder }| {
            let distribution = match distribution {
                Deviation::Uniform => DeviationConfig::Uniform,
                Deviation::Normal => DeviationConfig::Normal,
                Deviation::Pareto => DeviationConfig::Pareto,
                Deviation::ParetoNormal => DeviationConfig::ParetoNormal,
            };
            JitterConfig { size, distribution, correlation, reorder }
        });
        BehindConfig { link, delay, loss, jitter, duplicate: *duplicate }
    }

    /// Its laws.
    pub fn impairments(&self) -> Impairments {
        let loss = match self.loss {
            LossConfig::Random(p) => Loss::Random(Schedule::constant(p)),
            LossConfig::GilbertElliott { p, r, good_loss, bad_loss } => {
                Loss::GilbertElliott(GilbertElliott { p, r, good_loss, bad_loss })
            }
        };
        let jitter = self.jitter.map(|JitterConfig { size, distribution, correlation, reorder }| {
            let distribution = match distribution {
                DeviationConfig::Uniform => Deviation::Uniform,
                DeviationConfig::Normal => Deviation::Normal,
                DeviationConfig::Pareto => Deviation::Pareto,
                DeviationConfig::ParetoNormal => Deviation::ParetoNormal,
            };
            Jitter { size, distribution, correlation, reorder }
        });
        Impairments { loss, jitter, duplicate: self.duplicate, ..Default::default() }
    }

    /// Refuses what no wire can be: the field and the rule.
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        let most = Duration::from_secs(3600);
        if self.delay > most {
            return Err(("delay", format!("{} must be at most {most}", self.delay)));
        }
        self.impairments().fault().map_or(Ok(()), |fault| Err(("impairments", fault)))
    }

    /// The most by which jitter delays a packet.
    pub(crate) fn latest(&self) -> Duration {
        // No distribution reaches further.
        self.jitter.map_or(Duration::ZERO, |jitter| jitter.size.mul_f64(4.0))
    }
}

/// A wire as its packets meet it.
#[derive(Clone, Debug)]
pub(crate) struct Behind {
    impaired: Impaired,
    delay: Duration,
    /// It does more than to lose packets, which a log has to tell.
    pub shifts: bool,
}

impl Behind {
    /// The wire of a line with this seed.
    pub fn new(config: &BehindConfig, seed: u64) -> Self {
        let impairments = config.impairments();
        let shifts = impairments.jitter.is_some() || impairments.duplicate > 0.0;
        Behind {
            impaired: Impaired::changing(&impairments, Seed(seed), config.link),
            delay: config.delay,
            shifts,
        }
    }

    /// The next packet's fate, and by how many nanoseconds it is late, or early if it is negative. Its transmission lasts
    /// from `start` to `end`.
    #[inline]
    pub fn carry(&mut self, start: Time, end: Time) -> (Flight, i64) {
        let flight = self.impaired.carry(start, end, self.delay);
        let usual = end.nanos() as i64 + self.delay.nanos() as i64;
        (flight, flight.arrives.nanos() as i64 - usual)
    }

    pub fn set_loss(&mut self, p: f64) {
        self.impaired.set_loss(p);
    }

    pub fn set_delay(&mut self, delay: Duration) {
        self.delay = delay;
    }
}
