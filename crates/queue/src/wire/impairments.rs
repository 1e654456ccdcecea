//! What a wire does to packets, as laws.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::sync::Arc;

use quell_aqm::Rng;
use quell_units::{Duration, Time};

use super::schedule::Schedule;

/// The impairments of a wire: whatever it does to packets beside delaying all alike. By default there are none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Impairments {
    /// The law by which it loses packets.
    pub loss: Loss,
    /// The variation of its delay.
    pub jitter: Option<Jitter>,
    /// The probability that a packet that is not lost arrives twice, the copy just after it.
    pub duplicate: f64,
    /// The times during which it loses all packets, from and to, in order: those whose transmission begins then.
    pub outages: Arc<[(Time, Time)]>,
}

impl Impairments {
    /// Independent losses with the probability `p`, and nothing else.
    pub fn losing(p: f64) -> Self {
        Impairments { loss: p.into(), ..Default::default() }
    }

    /// Says whether there are none.
    pub fn is_none(&self) -> bool {
        let jitters = self.jitter.is_some_and(|jitter| !jitter.size.is_zero());
        self.loss.is_none() && !jitters && self.duplicate <= 0.0 && self.outages.is_empty()
    }

    /// The reason why no wire can be like this, if none can.
    pub fn fault(&self) -> Option<String> {
        let jitter = || self.jitter.as_ref().and_then(Jitter::fault);
        let duplicate = (!(0.0..1.0).contains(&self.duplicate))
            .then(|| format!("the probability of copies {} must lie in [0, 1)", self.duplicate));
        let apart = self.outages.windows(2).all(|pair| pair[0].1 <= pair[1].0);
        let ordered = apart && self.outages.iter().all(|(from, to)| from < to);
        let outages = (!ordered).then(|| "its outages must be in order, and each must end later".to_string());
        self.loss.fault().or_else(jitter).or(duplicate).or(outages)
    }
}

/// The law by which a wire loses packets. Losses are drawn for each packet when its transmission begins.
#[derive(Clone, Debug, PartialEq)]
pub enum Loss {
    /// Independent losses, with a probability that may change.
    Random(Schedule<f64>),
    /// Losses in bursts.
    GilbertElliott(GilbertElliott),
}

impl Default for Loss {
    fn default() -> Self {
        Loss::from(0.0)
    }
}

impl From<f64> for Loss {
    fn from(p: f64) -> Self {
        Loss::Random(Schedule::constant(p))
    }
}

impl Loss {
    /// Says whether no packet is ever lost.
    pub fn is_none(&self) -> bool {
        match self {
            Loss::Random(p) => p.values().all(|p| p <= 0.0),
            Loss::GilbertElliott(_) => false,
        }
    }

    /// The probability, if it is one and never changes.
    pub fn constant(&self) -> Option<f64> {
        match self {
            Loss::Random(p) if p.is_constant() => Some(p.initial),
            _ => None,
        }
    }

    /// The largest probability, or the share of packets that a chain loses.
    pub fn most(&self) -> f64 {
        match self {
            Loss::Random(p) => p.values().fold(0.0, f64::max),
            Loss::GilbertElliott(chain) => chain.mean(),
        }
    }

    /// The reason why it cannot be followed, if it cannot.
    pub fn fault(&self) -> Option<String> {
        match self {
            Loss::Random(p) => {
                let outside = p.values().find(|p| !(0.0..1.0).contains(p));
                let outside = outside.map(|p| format!("loss {p} must lie in [0, 1)"));
                outside.or_else(|| p.fault().map(str::to_string))
            }
            Loss::GilbertElliott(chain) => {
                chain.fault().map(|(field, rule)| format!("{field} of its losses {rule}"))
            }
        }
    }
}

/// A Markov chain with a good and a bad state, which loses packets with a probability for each (Gilbert 1960, Elliott
/// 1963; not verified). A packet meets the state that the one before left behind, is lost or not, and moves the chain.
/// The first packet finds the chain in equilibrium.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GilbertElliott {
    /// The probability of a step from good to bad.
    pub p: f64,
    /// The probability of a step from bad to good.
    pub r: f64,
    /// The probability of a loss in the good state: 1 - k.
    pub good_loss: f64,
    /// The probability of a loss in the bad state: 1 - h.
    pub bad_loss: f64,
}

/// The largest share of packets that a chain may lose: a link that loses more is none.
const MOST_LOST: f64 = 0.999_999;

impl GilbertElliott {
    /// The share of packets that meet the bad state: p / (p + r).
    pub fn share_bad(&self) -> f64 {
        self.p / (self.p + self.r)
    }

    /// The share of packets that are lost.
    pub fn mean(&self) -> f64 {
        let bad = self.share_bad();
        bad * self.bad_loss + (1.0 - bad) * self.good_loss
    }

    /// The field that makes it no chain of losses, and the rule that it breaks, if one does.
    pub fn fault(&self) -> Option<(&'static str, &'static str)> {
        let probability = |x: f64| (0.0..=1.0).contains(&x);
        if !probability(self.p) {
            return Some(("p", "must be a probability from 0 to 1"));
        }
        if !(probability(self.r) && self.r > 0.0) {
            return Some(("r", "must be a probability above 0: the chain would never leave the bad state"));
        }
        if !(0.0..1.0).contains(&self.good_loss) {
            return Some(("good_loss", "must be a probability from 0 to below 1"));
        }
        if !probability(self.bad_loss) {
            return Some(("bad_loss", "must be a probability from 0 to 1"));
        }
        let rule = "is so low that (almost) all packets are lost, more than 99.9999%; write a higher one, or a lower p or \
            bad_loss";
        (self.mean() > MOST_LOST).then_some(("r", rule))
    }
}

/// The variation of a wire's delay from packet to packet: each arrives earlier or later than after the delay by a
/// random multiple of `size`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Jitter {
    /// The unit of the distribution.
    pub size: Duration,
    /// The distribution.
    pub distribution: Deviation,
    /// The weight of the last deviation in the next one, in [0, 1), as netem's manual has it.
    pub correlation: f64,
    /// Packets may overtake each other; otherwise none arrives before the one that was sent before it.
    pub reorder: bool,
}

impl Jitter {
    /// The most by which a packet is earlier than after the delay.
    pub fn most_early(&self) -> Duration {
        self.size.mul_f64(self.distribution.most_early())
    }

    /// The reason why it cannot be followed, if it cannot.
    pub fn fault(&self) -> Option<String> {
        if !(0.0..1.0).contains(&self.correlation) {
            return Some(format!("the correlation {} of its jitter must lie in [0, 1)", self.correlation));
        }
        let most = Duration::from_secs(3600);
        (self.size > most).then(|| format!("jitter {} must be at most {most}", self.size))
    }
}

/// Distributions of jitter, in units of its size. They are those of netem and have its names; instead of netem's tables
/// of 4096 entries there are the laws that these tables approximate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deviation {
    /// Uniform from -1 to 1.
    Uniform,
    /// Standard normal, without what is beyond 4.
    Normal,
    /// 4/3 (X - 3/2), at most 4, where X is Pareto of shape 3 from 1 on.
    Pareto,
    /// A quarter of the normal and three quarters of the Pareto quantile of one random number.
    ParetoNormal,
}

impl Deviation {
    /// The limit of the normal and the Pareto one.
    const MOST: f64 = 4.0;

    /// One value.
    pub fn draw(self, rng: &mut Rng) -> f64 {
        match self {
            Deviation::Uniform => rng.uniform_in(-1.0, 1.0),
            Deviation::Normal => normal(rng),
            Deviation::Pareto => pareto(1.0 - rng.uniform()),
            Deviation::ParetoNormal => {
                let x = normal(rng);
                let above = 0.5 * libm::erfc(x * core::f64::consts::FRAC_1_SQRT_2);
                0.25 * x + 0.75 * pareto(above)
            }
        }
    }

    /// The largest of its values below zero, without their sign.
    fn most_early(self) -> f64 {
        match self {
            Deviation::Uniform => 1.0,
            Deviation::Normal => Self::MOST,
            Deviation::Pareto => 2.0 / 3.0,
            Deviation::ParetoNormal => 0.25 * Self::MOST + 0.75 * 2.0 / 3.0,
        }
    }
}

/// A standard normal number of at most [`Deviation::MOST`] either way: Marsaglia's polar method.
fn normal(rng: &mut Rng) -> f64 {
    loop {
        let (u, v) = (rng.uniform_in(-1.0, 1.0), rng.uniform_in(-1.0, 1.0));
        let square = u * u + v * v;
        if square > 0.0 && square < 1.0 {
            let x = u * libm::sqrt(-2.0 * libm::log(square) / square);
            if x.abs() <= Deviation::MOST {
                return x;
            }
        }
    }
}

/// The deviation of [`Deviation::Pareto`] that is exceeded with the probability `above`.
fn pareto(above: f64) -> f64 {
    let x = 1.0 / libm::cbrt(above);
    (4.0 / 3.0 * (x - 1.5)).min(Deviation::MOST)
}
