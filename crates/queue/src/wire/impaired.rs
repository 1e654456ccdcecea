//! The impairments of a wire as its packets meet them, one after the other. Each has a stream of random numbers of its
//! own, so that none changes another.

use alloc::sync::Arc;

use quell_aqm::{Rng, Seed};
use quell_units::{Duration, Time};

use super::impairments::{GilbertElliott, Impairments, Jitter, Loss};
use super::schedule::{Schedule, ToCome};

/// All impairments of a wire as its packets meet them.
#[derive(Clone, Debug)]
pub struct Impaired {
    losses: Losses,
    jitter: Option<Wavering>,
    copies: Option<Copies>,
    outages: Option<Outages>,
}

/// What a wire does to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flight {
    /// The time at which the other end has it.
    pub arrives: Time,
    /// The wire loses it.
    pub lost: bool,
    /// It arrives twice.
    pub copied: bool,
}

impl Impaired {
    /// Those of link number `id`.
    pub fn new(spec: &Impairments, seed: Seed, id: u32) -> Self {
        let (jitter, copies) = (Wavering::new(spec, seed, id), Copies::new(spec, seed, id));
        Impaired { losses: Losses::new(spec, seed, id), jitter, copies, outages: Outages::new(spec) }
    }

    /// The same of a wire whose probability of losses is to be [set](Impaired::set_loss), whatever it is now.
    pub fn changing(spec: &Impairments, seed: Seed, id: u32) -> Self {
        let mut all = Impaired::new(spec, seed, id);
        if matches!(all.losses, Losses::None) {
            let to_come = Schedule::constant(0.0).to_come();
            all.losses = Losses::Random { p: 0.0, to_come, rng: loss_stream(seed, id) };
        }
        all
    }

    /// Sets the probability of independent losses, from the next packet on. Those of a chain do not change.
    pub fn set_loss(&mut self, to: f64) {
        if let Losses::Random { p, .. } = &mut self.losses {
            *p = to;
        }
    }

    /// Says whether it only delays.
    pub fn is_none(&self) -> bool {
        matches!(self.losses, Losses::None)
            && self.jitter.is_none()
            && self.copies.is_none()
            && self.outages.is_none()
    }

    /// The next packet's fate. Its transmission begins at `start` and ends at `sent`, and the wire's delay was `delay` at
    /// its start; neither time ever decreases.
    #[inline]
    pub fn carry(&mut self, start: Time, sent: Time, delay: Duration) -> Flight {
        let mut lost = self.losses.take(start);
        if let Some(outages) = &mut self.outages {
            lost |= outages.go_on_at(start);
        }
        let arrives = match &mut self.jitter {
            Some(jitter) => jitter.arrival(sent, delay),
            None => Time::from_nanos(sent.nanos() + delay.nanos()),
        };
        let copied = self.copies.as_mut().is_some_and(Copies::take) && !lost;
        Flight { arrives, lost, copied }
    }
}

/// The losses of a wire.
#[derive(Clone, Debug)]
pub(super) enum Losses {
    None,
    Random {
        p: f64,
        /// Changes still to come.
        to_come: ToCome<f64>,
        rng: Rng,
    },
    Chain {
        chain: GilbertElliott,
        is_bad: bool,
        rng: Rng,
    },
}

impl Losses {
    /// Those of link number `id`.
    pub fn new(spec: &Impairments, seed: Seed, id: u32) -> Self {
        let rng = || loss_stream(seed, id);
        match &spec.loss {
            loss if loss.is_none() => Losses::None,
            Loss::Random(p) => Losses::Random { p: p.initial, to_come: p.to_come(), rng: rng() },
            Loss::GilbertElliott(chain) => {
                let mut rng = rng();
                let is_bad = rng.chance(chain.share_bad());
                Losses::Chain { chain: *chain, is_bad, rng }
            }
        }
    }

    /// Draws whether the packet is lost whose transmission begins at `start`; starts never decrease.
    #[inline]
    pub fn take(&mut self, start: Time) -> bool {
        match self {
            Losses::None => false,
            Losses::Random { p, to_come, rng } => {
                *p = to_come.pop_until(start).unwrap_or(*p);
                rng.chance(*p)
            }
            Losses::Chain { chain, is_bad, rng } => {
                let (loss, step) =
                    if *is_bad { (chain.bad_loss, chain.r) } else { (chain.good_loss, chain.p) };
                let lost = rng.chance(loss);
                *is_bad ^= rng.chance(step);
                lost
            }
        }
    }
}

/// The stream of a wire's losses.
fn loss_stream(seed: Seed, id: u32) -> Rng {
    seed.indexed_stream("link.loss", id as u64)
}

/// The outages of a wire that are still to come.
#[derive(Clone, Debug)]
pub(super) struct Outages {
    all: Arc<[(Time, Time)]>,
    /// The first that has not ended yet.
    next: usize,
}

impl Outages {
    /// Those of a wire, if it has any.
    pub fn new(spec: &Impairments) -> Option<Self> {
        (!spec.outages.is_empty()).then(|| Outages { all: spec.outages.clone(), next: 0 })
    }

    /// Says whether one goes on at `start`; starts never decrease.
    pub fn go_on_at(&mut self, start: Time) -> bool {
        while self.all.get(self.next).is_some_and(|(_, to)| *to <= start) {
            self.next += 1;
        }
        self.all.get(self.next).is_some_and(|(from, _)| *from <= start)
    }
}

/// The jitter of a wire.
#[derive(Clone, Debug)]
pub(super) struct Wavering {
    jitter: Jitter,
    /// The last deviation, in units of the jitter's size.
    last: f64,
    /// The last arrival.
    before: Time,
    rng: Rng,
}

impl Wavering {
    /// That of link number `id`, if it has any.
    pub fn new(spec: &Impairments, seed: Seed, id: u32) -> Option<Self> {
        let jitter = spec.jitter.filter(|jitter| !jitter.size.is_zero())?;
        let mut rng = seed.indexed_stream("link.jitter", id as u64);
        let last = jitter.distribution.draw(&mut rng);
        Some(Wavering { jitter, last, before: Time::ZERO, rng })
    }

    /// The arrival of the next packet, whose transmission ends at `sent`, over a wire of this delay.
    #[inline]
    pub fn arrival(&mut self, sent: Time, delay: Duration) -> Time {
        let Jitter { size, distribution, correlation, reorder } = self.jitter;
        let new = distribution.draw(&mut self.rng);
        self.last = (1.0 - correlation) * new + correlation * self.last;
        let off = size.mul_f64(self.last.abs()).nanos();
        let delay = delay.nanos();
        // Nothing arrives before it is sent: a delay that falls below the jitter is that of netem, zero.
        let delay = if self.last < 0.0 { delay.saturating_sub(off) } else { delay + off };
        let at = Time::from_nanos(sent.nanos() + delay);
        self.before = if reorder { at } else { at.max(self.before) };
        self.before
    }
}

/// The copies that a wire makes.
#[derive(Clone, Debug)]
pub(super) struct Copies {
    p: f64,
    rng: Rng,
}

impl Copies {
    /// Those of link number `id`, if it makes any.
    pub fn new(spec: &Impairments, seed: Seed, id: u32) -> Option<Self> {
        let p = spec.duplicate;
        (p > 0.0).then(|| Copies { p, rng: seed.indexed_stream("link.duplicate", id as u64) })
    }

    /// Draws whether the next packet arrives twice.
    #[inline]
    pub fn take(&mut self) -> bool {
        self.rng.chance(self.p)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    use crate::{Changes, Deviation, Schedule};

    const PACKETS: usize = 400_000;
    /// So many standard errors a mean may be off.
    const ERRORS: f64 = 4.0;

    fn at(s: f64) -> Time {
        Time::ZERO + Duration::from_secs_f64(s)
    }

    fn lost(loss: Loss) -> Vec<bool> {
        let mut losses = Losses::new(&Impairments { loss, ..Default::default() }, Seed(1), 0);
        (0..PACKETS).map(|_| losses.take(Time::ZERO)).collect()
    }

    fn share(of: &[bool]) -> f64 {
        of.iter().filter(|x| **x).count() as f64 / of.len() as f64
    }

    /// The variance of a mean of the chain's indicator is that of independent draws times (1 + l)/(1 - l), where
    /// l = 1 - p - r is the chain's second eigenvalue.
    #[test]
    fn a_chain_loses_its_share_in_bursts_of_its_length() {
        for (p, r) in [(0.01, 0.2), (0.001, 0.5), (0.3, 0.9), (0.9, 0.95)] {
            let chain = GilbertElliott { p, r, good_loss: 0.0, bad_loss: 1.0 };
            let all = lost(Loss::GilbertElliott(chain));
            let (bad, l) = (p / (p + r), 1.0 - p - r);
            let error = (bad * (1.0 - bad) * (1.0 + l) / (1.0 - l) / PACKETS as f64).sqrt();
            assert!((share(&all) - bad).abs() < ERRORS * error, "{p} {r}: {} {bad}", share(&all));
            // A burst is geometric with mean 1/r.
            let bursts: Vec<f64> =
                all.chunk_by(|a, b| a == b).filter(|run| run[0]).map(|run| run.len() as f64).collect();
            let mean = bursts.iter().sum::<f64>() / bursts.len() as f64;
            let error = ((1.0 - r) / (r * r) / bursts.len() as f64).sqrt();
            assert!((mean - 1.0 / r).abs() < ERRORS * error, "{p} {r}: {mean}");
        }
    }

    #[test]
    fn both_states_lose_with_their_probabilities() {
        let chain = GilbertElliott { p: 0.02, r: 0.1, good_loss: 0.01, bad_loss: 0.6 };
        let all = lost(Loss::GilbertElliott(chain));
        // 1/6 of the packets meet the bad state: 0.6/6 + 0.01 * 5/6.
        let mean = 0.6 / 6.0 + 0.01 * 5.0 / 6.0;
        assert!((chain.mean() - mean).abs() < 1e-12);
        assert!((share(&all) - mean).abs() < 0.004, "{}", share(&all));
        // Two in a row: the state and the loss of the first, the step, the loss of the second.
        let both = 0.6 / 6.0 * (0.9 * 0.6 + 0.1 * 0.01) + 0.01 * 5.0 / 6.0 * (0.02 * 0.6 + 0.98 * 0.01);
        let pairs: Vec<bool> = all.windows(2).map(|w| w[0] && w[1]).collect();
        assert!((share(&pairs) - both).abs() < 0.003, "{} {both}", share(&pairs));
    }

    #[test]
    fn a_chain_of_equal_states_is_independent() {
        let chain = GilbertElliott { p: 0.1, r: 0.1, good_loss: 0.05, bad_loss: 0.05 };
        let all = lost(Loss::GilbertElliott(chain));
        let after: Vec<bool> = all.windows(2).filter(|w| w[0]).map(|w| w[1]).collect();
        assert!((share(&all) - 0.05).abs() < 0.0015 && (share(&after) - 0.05).abs() < 0.007);
    }

    #[test]
    fn the_probability_of_a_loss_follows_its_changes() {
        let changes = Changes::every(Duration::from_secs(10), vec![(at(2.0), 0.5), (at(6.0), 0.0)]);
        let loss = Loss::Random(Schedule::changing(0.1, changes));
        let mut losses = Losses::new(&Impairments { loss, ..Default::default() }, Seed(1), 0);
        let mut rate = |from: f64| {
            let lost = (0..10_000).filter(|i| losses.take(at(from + *i as f64 * 1e-4))).count();
            lost as f64 / 10_000.0
        };
        let found = [0.5, 3.0, 7.0, 11.0, 13.0, 18.0].map(&mut rate);
        for (found, wanted) in found.into_iter().zip([0.1, 0.5, 0.0, 0.0, 0.5, 0.0]) {
            assert!((found - wanted).abs() < 0.02, "{found} {wanted}");
        }
    }

    /// The deviations from the delay, in units of the jitter's size, of packets that are too far apart to hold each
    /// other back.
    fn deviations(distribution: Deviation, correlation: f64) -> Vec<f64> {
        let size = Duration::from_millis(10);
        let jitter = Jitter { size, distribution, correlation, reorder: false };
        let spec = Impairments { jitter: Some(jitter), ..Default::default() };
        let mut wavering = Wavering::new(&spec, Seed(2), 0).unwrap();
        let mut sent = Time::ZERO;
        let next = |_| {
            sent += Duration::from_millis(200);
            let arrives = wavering.arrival(sent, Duration::from_millis(100));
            (arrives - sent).as_secs_f64() / 0.01 - 10.0
        };
        (0..PACKETS).map(next).collect()
    }

    fn mean(x: impl ExactSizeIterator<Item = f64>) -> f64 {
        let n = x.len() as f64;
        x.sum::<f64>() / n
    }

    /// Mean and variance of each law, and of the filter: the variance is (1 - c)/(1 + c) times that without it, and the
    /// correlation at a distance of k packets is c^k. The mean and deviation of the last two are also those of the
    /// tables of iproute2 6.1 (-0.033 and 0.820, -0.025 and 0.834), as measured over their 4096 entries.
    #[test]
    fn jitter_has_the_moments_of_its_law() {
        let laws = [
            (Deviation::Uniform, 0.0, 1.0 / 3.0),
            // Cut off at 4: 1 - 8 phi(4)/(2 Phi(4) - 1).
            (Deviation::Normal, 0.0, 0.998_93),
            // 4/3 of E min(X, 9/2) - 3/2 = -2/81, and 16/9 of E min(X, 9/2)^2 - (E min(X, 9/2))^2.
            (Deviation::Pareto, -8.0 / 243.0, 0.673_81),
            // The variance by numerical integration.
            (Deviation::ParetoNormal, -6.0 / 243.0, 0.696_59),
        ];
        for (distribution, wanted_mean, wanted_variance) in laws {
            for c in [0.0, 0.25, 0.8] {
                let all = deviations(distribution, c);
                let found = mean(all.iter().copied());
                let centered: Vec<f64> = all.iter().map(|x| x - found).collect();
                let variance = mean(centered.iter().map(|x| x * x));
                let error = (wanted_variance / PACKETS as f64).sqrt();
                assert!((found - wanted_mean).abs() < ERRORS * error, "{distribution:?} {c}: {found}");
                let ratio = variance / (wanted_variance * (1.0 - c) / (1.0 + c));
                assert!((ratio - 1.0).abs() < 0.03, "{distribution:?} {c}: {variance}, {ratio}");
                for k in 1..4 {
                    let r = mean(centered.windows(k + 1).map(|w| w[0] * w[k])) / variance;
                    assert!((r - c.powi(k as i32)).abs() < 0.015, "{distribution:?} {c}: {r} at {k}");
                }
                let least = all.iter().copied().fold(0.0, f64::min);
                let early =
                    Jitter { size: Duration::from_secs(1), distribution, correlation: c, reorder: false };
                assert!(-least <= early.most_early().as_secs_f64() + 1e-6, "{distribution:?}: {least}");
            }
        }
    }

    #[test]
    fn a_wire_loses_what_is_sent_into_an_outage() {
        let outages = [(2.0, 3.0), (3.0, 3.5), (7.0, 7.1)].map(|(from, to)| (at(from), at(to)));
        let spec = Impairments { outages: outages.into(), ..Default::default() };
        assert!(spec.fault().is_none() && Outages::new(&Impairments::default()).is_none());
        let mut all = Outages::new(&spec).unwrap();
        let found = [0.0, 1.9, 2.0, 2.5, 3.0, 3.4, 3.5, 7.05, 7.1, 8.0].map(|t| all.go_on_at(at(t)));
        assert_eq!(found, [false, false, true, true, true, true, false, true, false, false]);
        for wrong in [[(2.0, 2.0), (3.0, 4.0)], [(3.0, 4.0), (1.0, 2.0)], [(1.0, 3.0), (2.0, 4.0)]] {
            let outages = wrong.map(|(from, to)| (at(from), at(to))).into();
            assert!(Impairments { outages, ..Default::default() }.fault().is_some(), "{wrong:?}");
        }
    }

    #[test]
    fn packets_keep_their_order_unless_they_may_not() {
        let arrivals = |reorder: bool, delay: u64| -> Vec<Time> {
            let jitter = Jitter {
                size: Duration::from_millis(10),
                distribution: Deviation::Normal,
                correlation: 0.0,
                reorder,
            };
            let spec = Impairments { jitter: Some(jitter), ..Default::default() };
            let mut wavering = Wavering::new(&spec, Seed(3), 0).unwrap();
            let sent = |i: u64| Time::ZERO + Duration::from_millis(i);
            (0..10_000).map(|i| wavering.arrival(sent(i), Duration::from_millis(delay))).collect()
        };
        let (kept, free) = (arrivals(false, 40), arrivals(true, 40));
        assert!(kept.is_sorted() && !free.is_sorted());
        // Nobody is earlier for it, and each is as late as the latest of those before it.
        let mut latest = Time::ZERO;
        for (kept, free) in kept.iter().zip(&free) {
            latest = latest.max(*free);
            assert_eq!(*kept, latest);
        }
        // A delay below the jitter is zero for some packets, never less.
        let short = arrivals(true, 5);
        let sent = |i: usize| Time::ZERO + Duration::from_millis(i as u64);
        assert!(short.iter().enumerate().all(|(i, t)| *t >= sent(i)));
        assert!(short.iter().enumerate().any(|(i, t)| *t == sent(i)));
    }
}
