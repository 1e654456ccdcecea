//! The map behind ARED with dynamic thresholds (Jou et al. 2003, section VI), and the delay of RED+Tail's
//! first queue.
//!
//! The thresholds keep the drop probability where it is, so every connection keeps its mean window
//! `W`, and the queue goes from one time slot to the next by
//! `f(q) = q + S (sum_k W C / (q + d_k C) - C)` (Jou et al. 2003, eq. 6) and noise, within the buffer (eq.
//! 15).
//!
//! Units are bits, seconds and bits per second.
//!
//! # Where this departs from the paper, and why
//!
//! - Proposition 6.1 is proved by `f` mapping `[0, B_0]` into itself, but `f` may fall below 0 where
//!   `q_e` is small. With the queue held at 0 or above (eq. 15), which moves no two queues apart, the
//!   proof holds; [`QueueMap::trajectory`] does so.
//! - Proposition 6.2 holds, but not by `|q_(n+1) - q_e| <= |q_n - q_e|`: from an empty queue the first
//!   step may lead further away than the queue was. With Fig. 17's numbers for 20 flows and a slot of
//!   a round-trip time it leads from 0.82 Mbit below `q_e` to 1.75 Mbit above. What holds is that `f`
//!   is convex and rises from `q_e` on: a queue above `q_e` falls to it, one below it rises to it or
//!   leaps above it, once.
//! - The sufficient condition below proposition 6.2, `S <= (C/W - N(N-1)/(q_e + D_m)^2)^-1`, adds
//!   1/s and 1/bit^2. It lost the factor `W C` of its second term
//!   ([`QueueMap::sufficient_interval`]). As printed its answer depends on the unit: too strict in
//!   bits, and in Mbit it admits slots at which the equilibrium is unstable.
//! - Fig. 20's slot of twice the round-trip time is the border `f'(q_e) = -1` itself: with equal
//!   delays `f'(q_e) = 1 - S / RTT`.
//! - None of Fig. 17 to 21 satisfies eq. 10: with a slot of a round-trip time it fails by a factor of
//!   5 (20 flows) and 20 (40 flows). They are stable by proposition 6.2.
//! - The noise `xi = S sum_k E_k` has the variance `S^2 N sigma^2`, which eq. 21 uses; `N S sigma^2`
//!   above it is a misprint.
//! - The chain of eq. 19 takes a queue for the lower end of its packet, and `z` in the text for the
//!   upper: the mean comes out too small by `L / (2 (1 - f'(q_e)))`. Here cells are taken at their
//!   middle, beside an empty and a full queue with probabilities of their own.

use crate::TheoryError;
use crate::error::{positive, require};

/// Relative distance to the limit at which the iteration of a mean ends.
const SOLVED: f64 = 1e-15;

/// The queue from one time slot to the next (Jou et al. 2003, eq. 6).
#[derive(Clone, Debug, PartialEq)]
pub struct QueueMap {
    capacity: f64,
    window: f64,
    delays: Vec<f64>,
    interval: f64,
}

/// Results of the propositions for a map; the methods of [`QueueMap`] explain each number.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stability {
    /// The queue at the map's fixed point, `q_e`, in bits.
    pub equilibrium: f64,
    /// `f'(q_e)`.
    pub slope: f64,
    /// The slot `S`, in seconds.
    pub interval: f64,
    /// The slot below which proposition 6.1 (and with it the convergence of 6.3) holds (eq. 10).
    pub contracting_interval: f64,
    /// Up to this slot proposition 6.2 holds: `f'(q_e) >= 0`.
    pub rising_interval: f64,
}

impl Stability {
    /// Proposition 6.1: the map contracts, `q_e` is stable from everywhere, and with noise the
    /// distribution of the queue converges (proposition 6.3).
    pub fn by_proposition_6_1(&self) -> bool {
        self.interval < self.contracting_interval
    }

    /// Proposition 6.2: `q_e` is stable from everywhere.
    pub fn by_proposition_6_2(&self) -> bool {
        self.slope >= 0.0
    }

    /// `|f'(q_e)| < 1`: `q_e` is stable against small disturbances.
    ///
    /// With equal delays it is then stable from everywhere: a cycle of two queues `x`, `y` needs
    /// `1/(x + dC) + 1/(y + dC) = 2/(NW)`, which has solutions from `S = 2 RTT` on only, and a map
    /// without such a cycle converges (Coppel 1955).
    pub fn locally(&self) -> bool {
        self.slope.abs() < 1.0
    }
}

/// The normal approximation of the queue (Jou et al. 2003, eq. 20 and 21).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gaussian {
    /// The mean, `q_e`, in bits.
    pub mean: f64,
    /// The standard deviation, in bits.
    pub deviation: f64,
    /// The standard deviation over the slot, in bits per second: the root of eq. 21.
    pub normalized_deviation: f64,
}

impl QueueMap {
    /// The map of a link of `capacity` C (bit/s), shared by one flow for each of the `delays` d_k (s),
    /// whose windows have the mean `window` (bits), and time slots of `interval` S (s).
    ///
    /// # Errors
    /// Where a quantity is not positive and finite, or there are no flows.
    pub fn new(capacity: f64, window: f64, delays: Vec<f64>, interval: f64) -> Result<Self, TheoryError> {
        positive("capacity C", capacity, "bit/s")?;
        positive("mean window W", window, "bits")?;
        require(!delays.is_empty(), "number of flows N", 0, "must be at least 1")?;
        for (k, &d) in delays.iter().enumerate() {
            positive(&format!("round-trip propagation delay d_{}", k + 1), d, "s")?;
        }
        positive("rate update interval S", interval, "s")?;
        Ok(QueueMap { capacity, window, delays, interval })
    }

    /// The number of flows.
    fn flows(&self) -> f64 {
        self.delays.len() as f64
    }

    /// `sum_k 1 / (q + d_k C)`.
    fn sum(&self, q: f64) -> f64 {
        self.delays.iter().map(|d| 1.0 / (q + d * self.capacity)).sum()
    }

    /// `sum_k 1 / (q + d_k C)^2`: by it the sum falls with q.
    fn fall(&self, q: f64) -> f64 {
        let square = |x: f64| x * x;
        self.delays.iter().map(|d| 1.0 / square(q + d * self.capacity)).sum()
    }

    /// `f(q)`: the queue one slot later, without noise and limits (Jou et al. 2003, eq. 6).
    pub fn next(&self, q: f64) -> f64 {
        let arrivals = self.window * self.capacity * self.sum(q);
        q + self.interval * (arrivals - self.capacity)
    }

    /// `f'(q)` (Jou et al. 2003, eq. 13). It rises with `q`, toward 1.
    pub fn slope(&self, q: f64) -> f64 {
        1.0 - self.interval * self.window * self.capacity * self.fall(q)
    }

    /// The queue `q_e` at the map's fixed point (Jou et al. 2003, eq. 9), in bits.
    ///
    /// # Errors
    /// Where eq. 8 does not hold: the flows cannot fill the link, so that the queue is empty.
    pub fn equilibrium(&self) -> Result<f64, TheoryError> {
        let peak: f64 = self.delays.iter().map(|d| self.window / d).sum();
        // Rounding must not refuse flows that fill the link exactly.
        if peak < self.capacity * (1.0 - SOLVED) {
            return Err(TheoryError::NoEquilibrium {
                quantity: "queue q_e".into(),
                reason: format!(
                    "the flows reach at most {peak} bit/s of {} bit/s, so the queue stays empty (Jou et al. 2003, eq. \
                     8 needs sum W/d_k >= C); more flows, larger windows or a slower link would give an equilibrium",
                    self.capacity
                ),
            });
        }
        // Arrivals fall with the queue and are convex, so Newton's steps rise to q_e from below. With
        // the largest delay for all, the queue is not larger.
        let longest = self.delays.iter().copied().fold(0.0, f64::max);
        let mut q = homogeneous_equilibrium(self.flows(), self.window, longest, self.capacity).max(0.0);
        loop {
            let excess = self.window * self.sum(q) - 1.0;
            let next = q + excess / (self.window * self.fall(q));
            if next <= q * (1.0 + SOLVED) {
                return Ok(q);
            }
            q = next;
        }
    }

    /// The slot below which the map contracts (Jou et al. 2003, eq. 10): `2 C / (W sum d_k^-2)`, in seconds.
    pub fn contracting_interval(&self) -> f64 {
        2.0 / (self.window * self.capacity * self.fall(0.0))
    }

    /// Up to this slot `f'(q_e) >= 0`, so that proposition 6.2 holds:
    /// `1 / (W C sum (q_e + d_k C)^-2)`, in seconds. With equal delays it is the round-trip time
    /// `q_e / C + d`.
    ///
    /// # Errors
    /// As [`QueueMap::equilibrium`].
    pub fn rising_interval(&self) -> Result<f64, TheoryError> {
        let q = self.equilibrium()?;
        Ok(1.0 / (self.window * self.capacity * self.fall(q)))
    }

    /// A slot that is short enough for proposition 6.2 and needs the longest delay only:
    /// `1 / (C/W - W C N(N-1) / (q_e + D_m)^2)` with `D_m = C max d_k`, in seconds. With equal delays
    /// it is [`QueueMap::rising_interval`].
    ///
    /// By eq. 9 the `r_k = 1 / (q_e + d_k C)` add up to `1/W`, so that
    /// `sum r_k^2 = 1/W^2 - sum_(i != j) r_i r_j`, and each of these `N(N-1)` products is at least
    /// `1 / (q_e + D_m)^2`.
    ///
    /// # Errors
    /// As [`QueueMap::equilibrium`].
    pub fn sufficient_interval(&self) -> Result<f64, TheoryError> {
        let n = self.flows();
        let longest = self.delays.iter().copied().fold(0.0, f64::max);
        let round_trip = self.equilibrium()? + self.capacity * longest;
        let pairs = n * (n - 1.0) / (round_trip * round_trip);
        Ok(1.0 / (self.capacity / self.window - self.window * self.capacity * pairs))
    }

    /// Applies the propositions to this map.
    ///
    /// # Errors
    /// As [`QueueMap::equilibrium`].
    pub fn stability(&self) -> Result<Stability, TheoryError> {
        let equilibrium = self.equilibrium()?;
        Ok(Stability {
            equilibrium,
            slope: self.slope(equilibrium),
            interval: self.interval,
            contracting_interval: self.contracting_interval(),
            rising_interval: self.rising_interval()?,
        })
    }

    /// The factor by which two queues within `[0, largest]` come closer in a slot, or drift apart if
    /// it exceeds 1: `max |f'|` there (Jou et al. 2003, eq. 14 and 16). For propositions 6.1 and 6.3 it must
    /// be below 1, as it is where eq. 10 holds.
    pub fn contraction(&self, largest: f64) -> f64 {
        // f' rises, so its extremes are at the ends.
        self.slope(0.0).abs().max(self.slope(largest).abs())
    }

    /// The queue slot by slot from `start` on, held within `[0, buffer]` (Jou et al. 2003, eq. 15), with one
    /// `noise` for each slot: `iter::repeat_n(0.0, n)` for none.
    pub fn trajectory(
        &self,
        start: f64,
        buffer: f64,
        noise: impl IntoIterator<Item = f64>,
    ) -> impl Iterator<Item = f64> {
        noise.into_iter().scan(start, move |q, xi| {
            *q = (self.next(*q) + xi).min(buffer).max(0.0);
            Some(*q)
        })
    }

    /// The standard deviation of `xi = S sum_k E_k` (Jou et al. 2003, eq. 7) where the rate of each flow has
    /// the standard deviation `sigma` (bit/s): `S sigma sqrt(N)`, in bits.
    ///
    /// # Errors
    /// Where `sigma` is not positive and finite.
    pub fn noise_deviation(&self, sigma: f64) -> Result<f64, TheoryError> {
        positive("deviation of a flow's rate sigma", sigma, "bit/s")?;
        Ok(self.interval * sigma * self.flows().sqrt())
    }

    /// The normal approximation of the queue, for small noise and a buffer far above `q_e` (Jou et al. 2003,
    /// eq. 20 and 21); `sigma` is the standard deviation of each flow's rate (bit/s).
    ///
    /// # Errors
    /// As [`QueueMap::equilibrium`]; where `sigma` is not positive and finite; where
    /// `|f'(q_e)| >= 1`, for then disturbances grow.
    pub fn gaussian(&self, sigma: f64) -> Result<Gaussian, TheoryError> {
        let noise = self.noise_deviation(sigma)?;
        let mean = self.equilibrium()?;
        let slope = self.slope(mean);
        require(
            slope.abs() < 1.0,
            "slope f'(q_e)",
            slope,
            format!(
                "must lie within (-1, 1), or disturbances of the queue grow (Jou et al. 2003, eq. 21): the rate update \
                 interval S = {} s must be below {} s",
                self.interval,
                2.0 * self.rising_interval()?
            ),
        )?;
        let deviation = noise / (1.0 - slope * slope).sqrt();
        Ok(Gaussian { mean, deviation, normalized_deviation: deviation / self.interval })
    }

    /// The stationary distribution of the queue in a buffer of `buffer` bits with noise (Jou et al. 2003, eq.
    /// 15 to 19): that of a Markov chain whose states are an empty queue, a full one, and cells of
    /// `cell` bits between, such as a packet; `sigma` is the standard deviation of each flow's rate
    /// (bit/s). The cells are made slightly smaller where the buffer is not a multiple of them.
    ///
    /// It is found by elimination (Grassmann et al. 1985), which subtracts nothing and
    /// needs no convergence. The time grows with the cube of the number of cells.
    ///
    /// # Errors
    /// As [`QueueMap::equilibrium`]; where a quantity is not positive and finite; where there are
    /// more than [`Stationary::MOST_CELLS`] cells; where a cell is wider than the deviation of the
    /// noise, for then the variance would be more than a twelfth too large; where the noise is too
    /// small to lead from some queue back to `q_e`, so that the distribution depends on the start.
    pub fn stationary(&self, buffer: f64, sigma: f64, cell: f64) -> Result<Stationary, TheoryError> {
        positive("buffer B", buffer, "bits")?;
        positive("cell L", cell, "bits")?;
        let noise = self.noise_deviation(sigma)?;
        let equilibrium = self.equilibrium()?;
        let cells = (buffer / cell).ceil();
        require(
            cells <= Stationary::MOST_CELLS as f64,
            "number of cells B/L",
            cells,
            format!("must be at most {}: use larger cells", Stationary::MOST_CELLS),
        )?;
        let cells = cells as usize;
        let cell = buffer / cells as f64;
        require(
            cell <= noise,
            "cell L",
            format!("{cell} bits"),
            format!("must not exceed the deviation of the noise, {noise} bits: use smaller cells"),
        )?;
        // State 0 is the empty queue, the last one the full one.
        let queue = |state: usize| match state {
            0 => 0.0,
            s if s == cells + 1 => buffer,
            s => (s as f64 - 0.5) * cell,
        };
        // States by their distance from the equilibrium: elimination takes the farthest first, so that
        // states that are practically never reached divide nothing by zero.
        let mut order: Vec<usize> = (0..cells + 2).collect();
        order.sort_by(|&a, &b| {
            f64::total_cmp(&(queue(a) - equilibrium).abs(), &(queue(b) - equilibrium).abs())
        });
        let transition = |from: usize, to: usize| {
            let mean = self.next(queue(from));
            let standard = |edge: f64| (edge - mean) / noise;
            match to {
                0 => normal_between(f64::NEG_INFINITY, standard(0.0)),
                t if t == cells + 1 => normal_between(standard(buffer), f64::INFINITY),
                t => normal_between(standard((t - 1) as f64 * cell), standard(t as f64 * cell)),
            }
        };
        let rows = order.iter().map(|&from| order.iter().map(|&to| transition(from, to)).collect()).collect();
        let shares = eliminate(rows).ok_or_else(|| TheoryError::NoEquilibrium {
            quantity: "distribution of the queue".into(),
            reason: format!(
                "noise of {noise} bits does not lead from every queue back to q_e = {equilibrium} bits, so it \
                 depends on the initial queue; the map is not stable, or sigma is too small"
            ),
        })?;
        let mut probabilities = vec![0.0; cells + 2];
        for (&state, share) in order.iter().zip(shares) {
            probabilities[state] = share;
        }
        let full = probabilities.pop().unwrap_or(0.0);
        let empty = probabilities.remove(0);
        Ok(Stationary { empty, full, cell, probabilities })
    }
}

/// The distribution of the queue in the long run.
#[derive(Clone, Debug, PartialEq)]
pub struct Stationary {
    /// The probability of an empty queue.
    pub empty: f64,
    /// The probability of a full buffer.
    pub full: f64,
    /// The width of a cell, in bits.
    pub cell: f64,
    /// The probability of each cell, from the empty end to the full one.
    pub probabilities: Vec<f64>,
}

impl Stationary {
    /// The most cells: the chain's matrix then has 32 MB.
    pub const MOST_CELLS: usize = 2000;

    /// The queues, in bits, with their probabilities: 0, the middles of the cells, the buffer.
    pub fn points(&self) -> impl Iterator<Item = (f64, f64)> {
        let middle = |(i, &p): (usize, &f64)| ((i as f64 + 0.5) * self.cell, p);
        let buffer = self.cell * self.probabilities.len() as f64;
        let cells = self.probabilities.iter().enumerate().map(middle);
        std::iter::once((0.0, self.empty)).chain(cells).chain([(buffer, self.full)])
    }

    /// The mean queue, in bits.
    pub fn mean(&self) -> f64 {
        self.points().map(|(q, p)| q * p).sum()
    }

    /// The standard deviation of the queue, in bits.
    pub fn deviation(&self) -> f64 {
        let mean = self.mean();
        self.points().map(|(q, p)| (q - mean) * (q - mean) * p).sum::<f64>().sqrt()
    }
}

/// The queue at which `n` flows with the same delay `d` (s) are in equilibrium: `N W - d C`, in bits (Jou et
/// al. 2003, below proposition 6.2). Below 0 where eq. 8 does not hold.
pub fn homogeneous_equilibrium(n: f64, window: f64, delay: f64, capacity: f64) -> f64 {
    n * window - delay * capacity
}

/// The least mean delay of RED+Tail's first queue, in seconds: `maxth1 / C` (Jou et al. 2003, section VI.A),
/// with
/// `max_th` in bits.
///
/// The paper derives it from `C1 <= q1 C / maxth1`, which holds while the queue is not served at
/// the minimum rate `C1_min`: it bounds the delay where `C1_min` is small beside the queue's load.
///
/// # Errors
/// Where a quantity is not positive and finite.
pub fn mean_delay_bound(max_th: f64, capacity: f64) -> Result<f64, TheoryError> {
    positive("upper threshold maxth1", max_th, "bits")?;
    positive("capacity C", capacity, "bit/s")?;
    Ok(max_th / capacity)
}

/// The probability that a standard normal number lies between `a` and `b`, without cancellation in
/// either tail.
fn normal_between(a: f64, b: f64) -> f64 {
    let above = |x: f64| 0.5 * libm::erfc(x * std::f64::consts::FRAC_1_SQRT_2);
    if a > 0.0 { above(a) - above(b) } else { above(-b) - above(-a) }
}

/// States that are eliminated before what they lead through is passed on to the others. A block of their rows stays in
/// the processor's cache, where the whole matrix would have to be fetched again for each state.
const BLOCK: usize = 32;

/// The stationary distribution of a Markov chain (Grassmann et al. 1985); `None`: some state does not lead to any
/// before it.
fn eliminate(mut t: Vec<Vec<f64>>) -> Option<Vec<f64>> {
    // Of a chain with little noise most entries are zeros, through which nothing leads.
    let pass = |to: &mut [f64], through: f64, steps: &[f64]| {
        if through != 0.0 {
            to.iter_mut().zip(steps).for_each(|(to, step)| *to += through * step);
        }
    };
    let mut end = t.len();
    while end > 1 {
        let from = end.saturating_sub(BLOCK).max(1);
        for n in (from..end).rev() {
            let (before, rest) = t.split_at_mut(n);
            let last = &rest[0][..n];
            let out: f64 = last.iter().sum();
            // Less than this would overflow below.
            if out < f64::MIN_POSITIVE {
                return None;
            }
            for (i, row) in before.iter_mut().enumerate() {
                row[n] /= out;
                // Of the rows before the block only what the block itself still needs.
                let start = if i < from { from } else { 0 };
                let (to, through) = row.split_at_mut(n);
                pass(&mut to[start..], through[0], &last[start..]);
            }
        }
        let (before, block) = t.split_at_mut(from);
        for row in before {
            let (to, through) = row.split_at_mut(from);
            for n in (from..end).rev() {
                pass(to, through[n - from], &block[n - from][..from]);
            }
        }
        end = from;
    }
    let mut shares = vec![1.0];
    for n in 1..t.len() {
        let share = shares.iter().zip(&t).map(|(share, row)| share * row[n]).sum();
        shares.push(share);
    }
    let total: f64 = shares.iter().sum();
    shares.iter_mut().for_each(|share| *share /= total);
    total.is_finite().then_some(shares)
}

#[cfg(test)]
mod tests {
    use std::iter::repeat_n;

    use proptest::prelude::*;
    use rand_core::{Rng, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    // Fig. 17 to 21.
    const C: f64 = 6e6;
    const D: f64 = 0.064;
    const W: f64 = 6.02e4;
    const SIGMA: [(usize, f64); 2] = [(20, 77_021.0), (40, 128_490.0)];

    fn figure(n: usize, slots: f64) -> QueueMap {
        let round_trip = n as f64 * W / C;
        QueueMap::new(C, W, vec![D; n], slots * round_trip).unwrap()
    }

    /// Four flows with each of five delays.
    fn mixed(interval: f64) -> QueueMap {
        let delays = [0.02, 0.05, 0.064, 0.1, 0.2].repeat(4);
        QueueMap::new(C, W, delays, interval).unwrap()
    }

    #[track_caller]
    fn close(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance * b.abs().max(1e-300), "{a} is not {b}");
    }

    #[test]
    fn equilibrium_and_slope_of_the_figures() {
        // q_e = N W - d C; f(0) and f'(0) by hand from eq. 6 and 13.
        for (n, slots, q, f0, slope0, slope) in [
            (20, 0.5, 820_000.0, 1_285_520.833_333, -3.915_418_836_8, 0.5),
            (20, 1.0, 820_000.0, 2_571_041.666_667, -8.830_837_673_6, 0.0),
            (20, 2.0, 820_000.0, 5_142_083.333_333, -18.661_675_347_2, -1.0),
            (40, 1.0, 2_024_000.0, 12_692_166.666_667, -38.323_350_694_4, 0.0),
            (40, 2.0, 2_024_000.0, 25_384_333.333_333, -77.646_701_388_9, -1.0),
        ] {
            let map = figure(n, slots);
            let qe = map.equilibrium().unwrap();
            close(qe, q, 1e-12);
            close(homogeneous_equilibrium(n as f64, W, D, C), q, 1e-12);
            close(map.next(qe), qe, 1e-12);
            close(map.next(0.0), f0, 1e-9);
            close(map.slope(0.0), slope0, 1e-9);
            assert!((map.slope(qe) - slope).abs() < 1e-9);
            assert!((map.contraction(3e6) - slope0.abs()).abs() < 1e-9);
        }
    }

    #[test]
    fn the_figures_are_stable_by_the_second_proposition_only() {
        for (n, bound, round_trip) in
            [(20, 0.040_823_920_3, 0.200_666_667), (40, 0.020_411_960_1, 0.401_333_333)]
        {
            let s = figure(n, 0.999).stability().unwrap();
            close(s.contracting_interval, bound, 1e-8);
            close(s.rising_interval, round_trip, 1e-8);
            assert!(!s.by_proposition_6_1() && s.by_proposition_6_2() && s.locally());
        }
        let s = figure(20, 1.9).stability().unwrap();
        assert!(!s.by_proposition_6_2() && s.locally());
        assert!(!figure(20, 2.1).stability().unwrap().locally());
        let s = figure(20, 0.2).stability().unwrap();
        assert!(s.by_proposition_6_1() && s.by_proposition_6_2());
        assert!(figure(20, 0.2).contraction(3e6) < 1.0 && figure(20, 0.21).contraction(3e6) > 1.0);
    }

    #[test]
    fn different_delays() {
        // Roots by scipy's brentq.
        let map = mixed(0.1);
        close(map.equilibrium().unwrap(), 772_574.151_103_536_8, 1e-13);
        close(map.rising_interval().unwrap(), 0.189_118_071_912_602_1, 1e-12);
        close(map.contracting_interval(), 0.015_243_726_948_328_927, 1e-12);
        close(map.sufficient_interval().unwrap(), 0.015_529_646_574_881_779, 1e-11);
        // With equal delays the condition loses nothing.
        let equal = figure(20, 1.0);
        close(equal.sufficient_interval().unwrap(), equal.rising_interval().unwrap(), 1e-9);
        // The condition as printed, with bits as its unit and with Mbit.
        let printed = |unit: f64| {
            let q = map.equilibrium().unwrap() + 0.2 * C;
            1.0 / (C / W - 20.0 * 19.0 / (q / unit).powi(2))
        };
        close(printed(1.0), W / C, 1e-9);
        close(printed(1e6), 0.498_075_223_848_716_3, 1e-9);
        assert!(mixed(printed(1e6)).slope(map.equilibrium().unwrap()) < -1.6, "unstable");
    }

    #[test]
    fn flows_that_cannot_fill_the_link_have_no_equilibrium() {
        let map = QueueMap::new(C, W, vec![D; 6], 0.1).unwrap();
        let error = map.equilibrium().unwrap_err().to_string();
        assert!(error.contains("eq. 8") && error.contains("5643750"), "{error}");
        assert!(
            map.stability().is_err() && map.gaussian(1e4).is_err() && map.stationary(1e6, 1e4, 1e3).is_err()
        );
        // Those that fill it exactly settle at an empty queue.
        let map = QueueMap::new(1e6, 1e4, vec![0.1; 10], 0.1).unwrap();
        assert!(map.equilibrium().unwrap() < 1e-6);
    }

    #[test]
    fn nonsense_is_refused() {
        for (c, w, d, s) in [
            (0.0, W, D, 0.1),
            (C, -1.0, D, 0.1),
            (C, W, 0.0, 0.1),
            (C, W, f64::NAN, 0.1),
            (C, W, D, f64::INFINITY),
        ] {
            assert!(QueueMap::new(c, w, vec![D, d], s).is_err());
        }
        assert!(QueueMap::new(C, W, vec![], 0.1).is_err());
        let map = figure(20, 1.0);
        for (buffer, sigma, cell) in
            [(0.0, 1e5, 1e3), (1e6, 0.0, 1e3), (1e6, 1e5, 0.0), (1e9, 1e5, 1e3), (3e6, 1e3, 8e3)]
        {
            assert!(map.stationary(buffer, sigma, cell).is_err(), "{buffer} {sigma} {cell}");
        }
        let error = figure(20, 2.5).gaussian(77_021.0).unwrap_err().to_string();
        assert!(error.contains("slope f'(q_e) = -1.5") && error.contains("0.4013"), "{error}");
        assert!(mean_delay_bound(240e3, 0.0).is_err());
    }

    #[test]
    fn the_first_step_may_lead_away_although_the_equilibrium_is_stable() {
        // Against the inequality in the proof of proposition 6.2.
        let map = figure(20, 1.0);
        let path: Vec<f64> = map.trajectory(0.0, f64::INFINITY, repeat_n(0.0, 60)).collect();
        assert!(path[0] - 820e3 > 1.75e6);
        assert!(path[..5].windows(2).all(|w| w[1] < w[0]), "and then it falls");
        assert!(path.iter().all(|&q| q > 820e3 - 1e-3));
        close(path[59], 820e3, 1e-9);
    }

    #[test]
    fn iterations_converge_until_twice_the_round_trip_time() {
        for n in [20, 40] {
            let q = figure(n, 1.0).equilibrium().unwrap();
            for slots in [0.1, 0.5, 1.0, 1.5, 1.95] {
                let last = figure(n, slots).trajectory(0.0, f64::INFINITY, repeat_n(0.0, 2000)).last();
                close(last.unwrap(), q, 1e-9);
            }
            let map = figure(n, 2.1);
            let path: Vec<f64> = map.trajectory(0.99 * q, f64::INFINITY, repeat_n(0.0, 2000)).collect();
            assert!((path[1999] - q).abs() > 0.1 * q, "a cycle");
            close(path[1999], path[1997], 1e-6);
        }
    }

    proptest! {
        #[test]
        fn propositions_hold_on_random_maps(
            delays in proptest::collection::vec(1e-3..1.0_f64, 1..20),
            window in 1e3..1e6_f64,
            fill in 0.05..1.0_f64,
            share in 0.01..0.99_f64,
            start in 0.0..10.0_f64,
        ) {
            let peak: f64 = delays.iter().map(|d| window / d).sum();
            let with = |interval| QueueMap::new(fill * peak, window, delays.clone(), interval).unwrap();
            let any = with(1.0);
            let q = any.equilibrium().unwrap();
            prop_assert!((window * any.sum(q) - 1.0).abs() < 1e-9);
            let longest = delays.iter().copied().fold(0.0, f64::max);
            prop_assert!(any.sufficient_interval().unwrap() <= any.rising_interval().unwrap() * (1.0 + 1e-9));
            let scale = q + longest * fill * peak;

            // 6.1: a contraction of [0, B_0] into itself, with the queue held at 0 or above.
            let map = with(share * any.contracting_interval());
            prop_assert!(map.stability().unwrap().by_proposition_6_1());
            let start = start * scale;
            let largest = start.max(map.next(0.0)).max(q);
            let rho = map.contraction(largest);
            prop_assert!(rho < 1.0);
            let mut far = (start - q).abs();
            for x in map.trajectory(start, f64::INFINITY, repeat_n(0.0, 50)) {
                prop_assert!((x - q).abs() <= rho * far + 1e-9 * scale);
                far = (x - q).abs();
            }

            // 6.2: at most one leap over the equilibrium, and then down to it.
            let map = with(share * any.rising_interval().unwrap());
            let path: Vec<f64> = map.trajectory(start, f64::INFINITY, repeat_n(0.0, 50)).collect();
            prop_assert!(path.windows(2).all(|w| w[0] < q || (w[1] <= w[0] + 1e-9 * scale && w[1] >= q - 1e-9 * scale)));
            prop_assert!(path.windows(2).all(|w| w[0] >= q || w[1] >= w[0] - 1e-9 * scale));
        }
    }

    fn normal(generator: &mut Pcg64Mcg) -> f64 {
        let mut uniform = || (generator.next_u64() >> 11) as f64 / (1_u64 << 53) as f64;
        let (u, v) = (1.0 - uniform(), uniform());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }

    #[test]
    fn the_chain_the_noisy_map_and_the_normal_distribution_agree() {
        // Mean, deviation and probability of a full buffer for a buffer of 3 Mbit and cells of 1000
        // bytes, by numpy (least squares on pi T = pi); the same chain, solved otherwise.
        const BUFFER: f64 = 3e6;
        const SLOTS: usize = 1_000_000;
        for (i, &(n, sigma)) in SIGMA.iter().enumerate() {
            let numpy = [
                [
                    (0.5, 821_329.631_027_136_7, 40_007.687_513_029, 0.0),
                    (1.0, 824_012.943_056_326_4, 69_396.282_386_046_6, 0.0),
                    (2.0, 880_727.022_763_192_5, 295_450.769_593_775, 1.211_925_986_948e-4),
                ],
                [
                    (0.5, 2_038_794.641_814_011, 188_649.293_339_588, 7.598_436_618_6e-7),
                    (1.0, 2_070_374.932_348_184_8, 332_473.771_297_161_5, 3.269_082_258_290e-3),
                    (2.0, 2_110_354.745_898_417, 757_830.714_722_621, 0.246_773_453_935_049),
                ],
            ];
            for (slots, mean, deviation, full) in numpy[i] {
                let map = figure(n, slots);
                let chain = map.stationary(BUFFER, sigma, 8000.0).unwrap();
                close(chain.points().map(|p| p.1).sum(), 1.0, 1e-12);
                close(chain.mean(), mean, 1e-9);
                close(chain.deviation(), deviation, 1e-7);
                assert!((chain.full - full).abs() < 1e-9, "{} {full}", chain.full);
                // A cell widens the distribution as much as rounding to it does.
                let fine = map.stationary(BUFFER, sigma, 4000.0).unwrap();
                close(fine.deviation(), chain.deviation(), 2.5e-3);

                // Five standard errors, from the means of a hundred stretches.
                let mut generator = Pcg64Mcg::seed_from_u64(n as u64);
                let xi = map.noise_deviation(sigma).unwrap();
                let noise = (0..SLOTS + 1000).map(|_| xi * normal(&mut generator));
                let path: Vec<f64> = map.trajectory(0.0, BUFFER, noise).skip(1000).collect();
                let within = |expected: f64, f: &dyn Fn(f64) -> f64| {
                    let stretch = |s: &[f64]| s.iter().map(|&q| f(q)).sum::<f64>() / s.len() as f64;
                    let means: Vec<f64> = path.chunks(SLOTS / 100).map(stretch).collect();
                    let mean = means.iter().sum::<f64>() / 100.0;
                    let error = (means.iter().map(|m| (m - mean).powi(2)).sum::<f64>() / 99.0 / 100.0).sqrt();
                    assert!(
                        (mean - expected).abs() < 5.0 * error + 1e-6,
                        "{n} {slots}: {mean}, {expected}, {error}"
                    );
                };
                within(fine.mean(), &|q| q);
                let mean = fine.mean();
                within(fine.deviation().powi(2), &|q| (q - mean).powi(2));
                within(fine.full, &|q| f64::from(q == BUFFER));
                within(fine.empty, &|q| f64::from(q == 0.0));

                if slots < 2.0 {
                    let gaussian = map.gaussian(sigma).unwrap();
                    close(gaussian.normalized_deviation, gaussian.deviation / map.interval, 1e-12);
                    let slope = 1.0 - slots;
                    let expected = n as f64 * sigma * sigma / (1.0 - slope * slope);
                    close(gaussian.normalized_deviation.powi(2), expected, 1e-9);
                    // The curvature of f pushes the queue up; linearized, it does not.
                    close(gaussian.deviation, fine.deviation(), 0.02);
                    close(gaussian.mean, fine.mean(), 0.023);
                } else {
                    assert!(map.gaussian(sigma).is_err());
                }
            }
        }
    }

    #[test]
    fn gaussian_deviations_of_figure_21() {
        // S = RTT: S sigma sqrt(N).
        close(figure(20, 1.0).gaussian(77_021.0).unwrap().deviation, 69_119.308_933_597_87, 1e-12);
        close(figure(40, 1.0).gaussian(128_490.0).unwrap().deviation, 326_140.368_061_508_17, 1e-12);
    }

    #[test]
    fn small_noise_stays_where_the_map_rests() {
        // States far from the equilibrium are reached with a probability of zero in floating point.
        let chain = figure(20, 1.0).stationary(3e6, 2000.0, 1600.0).unwrap();
        assert_eq!((chain.empty, chain.full), (0.0, 0.0));
        close(chain.mean(), 820e3, 1e-4);
        close(chain.deviation(), figure(20, 1.0).gaussian(2000.0).unwrap().deviation, 0.04);
    }

    #[test]
    fn known_chains() {
        // Two states; and a walk with reflection, whose stationary shares are geometric.
        let two = eliminate(vec![vec![0.9, 0.1], vec![0.3, 0.7]]).unwrap();
        close(two[0], 0.75, 1e-15);
        close(two[1], 0.25, 1e-15);
        let walk = |n: usize| -> Vec<Vec<f64>> {
            let step = |i: usize, j: usize| match (i, j) {
                (i, j) if j == i + 1 => 0.2,
                (i, j) if i == j + 1 => 0.5,
                (0, 0) => 0.8,
                (i, j) if i == j && i == n - 1 => 0.5,
                (i, j) if i == j => 0.3,
                _ => 0.0,
            };
            (0..n).map(|i| (0..n).map(|j| step(i, j)).collect()).collect()
        };
        let shares = eliminate(walk(30)).unwrap();
        for w in shares.windows(2) {
            close(w[1] / w[0], 0.4, 1e-12);
        }
        assert_eq!(eliminate(vec![vec![1.0, 0.0], vec![0.0, 1.0]]), None, "two classes");
    }

    #[test]
    fn normal_probabilities() {
        close(normal_between(-1.0, 1.0), 0.682_689_492_137_085_9, 1e-14);
        close(normal_between(f64::NEG_INFINITY, -10.0), 7.619_853_024_160_527e-24, 1e-12);
        close(normal_between(10.0, f64::INFINITY), 7.619_853_024_160_527e-24, 1e-12);
        assert_eq!(normal_between(f64::NEG_INFINITY, f64::INFINITY), 1.0);
    }

    #[test]
    fn the_delay_of_the_first_queue() {
        // Table II: 30 kB, on the link of 6 Mbit/s.
        close(mean_delay_bound(30e3 * 8.0, C).unwrap(), 0.04, 1e-12);
    }
}
