//! The speed of a link, by what it carries.

use std::collections::{BTreeMap, VecDeque};

use hdrhistogram::Histogram;

use super::report::{LoadedTrips, NEAR, Pairs, Waiting};

/// Whole numbers to 0.1%; larger ones count as `largest`.
pub(super) fn histogram(largest: u64) -> Histogram<u64> {
    Histogram::new_with_max(largest, 3).expect("three digits and constant bounds are supported")
}

/// The stretch over which a link counts as busy.
pub(super) const STRETCH: u64 = 100_000_000;

/// The highest rate over any [`STRETCH`] or a little more.
///
/// Bytes are counted after the first packet of the stretch and divided by the time since it, so that a
/// link that sends without pause is found to the byte, whatever the size of its packets.
#[derive(Debug, Default)]
pub(super) struct Busiest {
    /// The packets of the last stretch, and one before it.
    packets: VecDeque<(u64, u32)>,
    /// Bytes of all packets but the first.
    bytes: u64,
    /// The highest rate, in bit/s, and when its stretch ended.
    pub best: Option<(f64, u64)>,
}

impl Busiest {
    pub fn see(&mut self, time: u64, bytes: u32) {
        self.packets.push_back((time, bytes));
        if self.packets.len() == 1 {
            return;
        }
        self.bytes += u64::from(bytes);
        // The first packet is the last one that came a stretch ago or more.
        while self.packets.len() > 2 && time.saturating_sub(self.packets[1].0) >= STRETCH {
            self.packets.pop_front();
            self.bytes -= u64::from(self.packets[0].1);
        }
        let passed = time.saturating_sub(self.packets[0].0);
        if passed >= STRETCH {
            let rate = self.bytes as f64 * 8e9 / passed as f64;
            if self.best.is_none_or(|(best, _)| rate > best) {
                self.best = Some((rate, time));
            }
        }
    }
}

/// The pairs of a rate.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    pairs: u64,
    /// The bytes and the gaps of all, in nanoseconds.
    bytes: f64,
    gaps: f64,
}

/// The rates at which packets follow each other: a histogram with bins of 1%.
///
/// A packet is stamped when its last bit has come, or when its transmission begins, as on the sender's own card. Then the
/// gap behind it is the time of the packet itself, or of the one before it. Both are counted, and the one on which more
/// pairs agree is taken; where all packets are alike that is one.
#[derive(Debug)]
pub(super) struct Dispersion {
    /// By the size of the second packet of a pair, and of the first.
    pairs: [Vec<Bin>; 2],
    totals: [u64; 2],
    last: Option<(u64, u32)>,
    tick: u64,
}

/// Rates from 1 kbit/s to 10 Tbit/s.
const LEAST_RATE: f64 = 1e3;
const BINS: usize = 2315;
const STEP: f64 = 1.01;
/// Bins on either side of the mode that count as one: 2.5% each way.
const AROUND: usize = 2;
/// The share of the pairs that must agree on a rate ([`Pairs::told`]).
const CONVINCING: f64 = 0.5;
/// Fewer pairs than this may agree by chance.
const FEWEST: u64 = 10;
/// Gaps of fewer ticks than this are too coarse.
const TICKS: f64 = 10.0;

impl Dispersion {
    pub fn new() -> Self {
        Dispersion {
            pairs: [(); 2].map(|()| vec![Bin::default(); BINS]),
            totals: [0; 2],
            last: None,
            tick: 1,
        }
    }

    /// Takes in a packet; only those of at least `least` bytes count, for the gaps behind shorter ones
    /// are the most rounded.
    pub fn see(&mut self, time: u64, bytes: u32, least: u32, tick: u64) {
        self.tick = self.tick.max(tick);
        let Some((last, before)) = self.last.replace((time, bytes)) else { return };
        let gap = time.saturating_sub(last);
        for (i, bytes) in [bytes, before].into_iter().enumerate().filter(|(_, bytes)| *bytes >= least) {
            self.totals[i] += 1;
            if gap == 0 {
                continue;
            }
            let rate = f64::from(bytes) * 8e9 / gap as f64;
            // A cast saturates.
            let bin = ((rate / LEAST_RATE).ln() / STEP.ln()) as usize;
            let bin = &mut self.pairs[i][bin.min(BINS - 1)];
            bin.pairs += 1;
            bin.bytes += f64::from(bytes);
            bin.gaps += gap as f64;
        }
    }

    /// The mode, if pairs agree on one; `bytes` is the size of a typical packet that counts. Its rate is
    /// what these pairs carried over the time they took, exact for a link that sends without pause.
    pub fn mode(&self, bytes: f64) -> Option<Pairs> {
        let [second, first] = self.modes(bytes);
        // The first of equals is the usual one.
        match (second, first) {
            (Some(second), Some(first)) if first.share > second.share => Some(first),
            (second, first) => second.or(first),
        }
    }

    /// The mode that is near the rate of the busiest stretch, if one is told, or else [`mode`](Self::mode): where short and
    /// long packets alternate, both may be told.
    pub fn mode_near(&self, bytes: f64, busiest_bps: f64) -> Option<Pairs> {
        let is_near = |pairs: &Pairs| pairs.told && (busiest_bps / pairs.rate_bps - 1.0).abs() <= NEAR;
        self.modes(bytes).into_iter().flatten().find(is_near).or_else(|| self.mode(bytes))
    }

    fn modes(&self, bytes: f64) -> [Option<Pairs>; 2] {
        [0, 1].map(|i| self.mode_of(&self.pairs[i], self.totals[i], bytes))
    }

    fn mode_of(&self, bins: &[Bin], total: u64, bytes: f64) -> Option<Pairs> {
        let width = 2 * AROUND + 1;
        let (at, count) = bins
            .windows(width)
            .map(|w| w.iter().map(|bin| bin.pairs).sum::<u64>())
            .enumerate()
            .max_by_key(|&(at, count)| (count, std::cmp::Reverse(at)))?;
        if count == 0 {
            return None;
        }
        let within = &bins[at..at + width];
        let sum = |of: fn(&Bin) -> f64| within.iter().map(of).sum::<f64>();
        let rate_bps = sum(|bin| bin.bytes) * 8e9 / sum(|bin| bin.gaps);
        let share = count as f64 / total as f64;
        let ticks = bytes * 8e9 / rate_bps / self.tick as f64;
        let told = share >= CONVINCING && total >= FEWEST && ticks >= TICKS;
        Some(Pairs { rate_bps, pairs: total, share, told })
    }

    /// Tells whether a tick of the clock is less in the gap between two packets of so many bytes than that gap is in
    /// a [`STRETCH`].
    pub fn is_finer(&self, pairs: &Pairs, bytes: f64) -> bool {
        let gap = bytes * 8e9 / pairs.rate_bps;
        gap * gap > self.tick as f64 * STRETCH as f64
    }
}

/// The least that is waited: hosts answer no more evenly than this.
pub(super) const LEAST_WAIT: f64 = 1e6;
/// The packets that wait at least.
pub(super) const WAITING: f64 = 3.0;
/// The highest rate, in bit/s.
pub(super) const HIGHEST_RATE: u64 = 10_000_000_000_000;
/// A direction is busy while it carries this share of what it carries in its busiest time.
const BUSY: f64 = 0.5;
/// The logarithm of the width of a class of rates: 5%.
const CLASS: f64 = 0.05;

/// The class of a rate: rates of a class differ by less than 5%.
pub(super) fn class(rate_bps: f64) -> i64 {
    // A cast saturates.
    (rate_bps.max(1.0).ln() / CLASS).floor() as i64
}

/// Tells whether a class of rates is of the busy time, if this is the highest one.
pub(super) fn is_busy(class: i64, highest: i64) -> bool {
    class as f64 >= highest as f64 + BUSY.ln() / CLASS
}

/// Round trips and rates of a direction, [`STRETCH`] by stretch.
#[derive(Debug)]
pub(super) struct Load {
    /// The beginning of this stretch and its latest packet.
    stretch: Option<(u64, u64)>,
    /// Bytes and packets after the first.
    bytes: u64,
    packets: u64,
    /// The round trips that ended in it, and the least that one was longer than the shortest of its flow.
    trips: Vec<u64>,
    waited: Option<u64>,
    /// Round trips by the class of the rate of their stretch.
    by_class: BTreeMap<i64, Histogram<u64>>,
    least: Option<u64>,
    /// The rates of the stretches in which packets waited throughout, in bit/s.
    full: Histogram<u64>,
    stretches: u64,
}

/// Round trips to 1%; those longer than a minute count as that.
fn trips() -> Histogram<u64> {
    Histogram::new_with_max(60_000_000_000, 2).expect("two digits and constant bounds are supported")
}

/// The share of round trips whose stretches may be busier than the busiest time: bursts.
const BURSTS: f64 = 0.05;

impl Load {
    pub fn new() -> Self {
        Load {
            stretch: None,
            bytes: 0,
            packets: 0,
            trips: Vec::new(),
            waited: None,
            by_class: BTreeMap::new(),
            least: None,
            full: histogram(HIGHEST_RATE),
            stretches: 0,
        }
    }

    /// Takes in a round trip of data of this direction; `excess` is how much longer it was than its flow's shortest one.
    pub fn trip(&mut self, trip: u64, excess: Option<u64>) {
        self.trips.push(trip);
        self.least = self.least.into_iter().chain([trip]).min();
        self.waited = self.waited.into_iter().chain(excess).min();
    }

    /// Takes in packets of this direction.
    pub fn see(&mut self, now: u64, bytes: u64, packets: u64) {
        let (begun, latest) = *self.stretch.get_or_insert((now, now));
        // A stretch with a pause in it is not full.
        let paused = now.saturating_sub(latest) > STRETCH;
        self.bytes += bytes;
        self.packets += packets;
        self.stretch = Some((begun, now));
        let passed = now.saturating_sub(begun);
        if passed < STRETCH {
            return;
        }
        let rate = self.bytes as f64 * 8e9 / passed as f64;
        self.stretches += 1;
        let wait = (WAITING * passed as f64 / self.packets.max(1) as f64).max(LEAST_WAIT);
        if !paused && self.waited.is_some_and(|waited| waited as f64 >= wait) {
            // A cast saturates.
            self.full.saturating_record(rate as u64);
        }
        self.end(rate);
        self.stretch = Some((now, now));
        (self.bytes, self.packets, self.waited) = (0, 0, None);
    }

    fn end(&mut self, rate: f64) {
        if self.trips.is_empty() {
            return;
        }
        let of_class = self.by_class.entry(class(rate)).or_insert_with(trips);
        self.trips.drain(..).for_each(|trip| of_class.saturating_record(trip));
    }

    /// The round trips of the busy time.
    pub fn loaded(&self) -> Option<LoadedTrips> {
        let samples: u64 = self.by_class.values().map(Histogram::len).sum();
        let mut above = 0;
        let highest = *self.by_class.iter().rev().find_map(|(class, some)| {
            above += some.len();
            (above as f64 > BURSTS * samples as f64).then_some(class)
        })?;
        let mut all = trips();
        for (_, some) in self.by_class.iter().filter(|(class, _)| is_busy(**class, highest)) {
            // Both have the same bounds.
            let _ = all.add(some);
        }
        let at = |quantile: f64| all.value_at_quantile(quantile) as f64 / 1e9;
        Some(LoadedTrips {
            samples: all.len(),
            least_s: self.least? as f64 / 1e9,
            quantiles_s: [0.5, 0.95, 0.99].map(at),
        })
    }

    /// The rates while packets waited.
    pub fn told(&self) -> Option<Waiting> {
        let at = |quantile: f64| self.full.value_at_quantile(quantile) as f64;
        let waiting = self.full.len();
        (waiting > 0).then(|| Waiting {
            rate_bps: at(0.5),
            quartiles_bps: [at(0.25), at(0.75)],
            highest_bps: at(0.95),
            waiting,
            stretches: self.stretches,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_busiest_stretch_is_exact_for_a_busy_link() {
        // 10 Mbit/s in packets of 1500 and 40 bytes, in turn, for 50 ms of each 200, then for 300 ms.
        let mut busiest = Busiest::default();
        let mut time = 0;
        for round in 0..4 {
            let until = time + if round == 3 { 300_000_000 } else { 50_000_000 };
            for i in 0.. {
                let bytes = if i % 2 == 0 { 1500 } else { 40 };
                time += u64::from(bytes) * 800;
                busiest.see(time, bytes);
                if time > until {
                    break;
                }
            }
            if round < 3 {
                assert!(busiest.best.is_none_or(|(rate, _)| rate < 0.6e7));
                time += 150_000_000;
            }
        }
        assert_eq!(busiest.best.unwrap().0, 1e7);
        assert!(busiest.packets.len() < 200, "only a stretch is kept");
    }

    #[test]
    fn pairs_agree_on_the_link_behind_which_they_were_captured() {
        // Some pairs in twenty leave back to back at 10 Mbit/s, with 0.5 % of jitter. Their rate is found,
        // but what fewer than half of them say is not taken for the link's.
        for (back_to_back, told) in [(3, false), (9, false), (11, true), (19, true)] {
            let mut pairs = Dispersion::new();
            let mut time = 0;
            for i in 0..10_000_u64 {
                let gap = match i % 20 {
                    n if n < back_to_back => 1_200_000 + (i % 13) * 1000 - 6000,
                    _ => 2_000_000 + (i * 7919) % 90_000_000,
                };
                time += gap;
                pairs.see(time, 1500, 500, 1000);
            }
            let mode = pairs.mode(1500.0).unwrap();
            assert!((mode.rate_bps / 1e7 - 1.0).abs() < 1e-4, "{mode:?}");
            assert!((mode.share - back_to_back as f64 / 20.0).abs() < 0.02, "{mode:?}");
            assert_eq!(mode.told, told, "{mode:?}");
        }
    }

    #[test]
    fn random_gaps_agree_on_nothing() {
        let mut pairs = Dispersion::new();
        let (mut time, mut state) = (0_u64, 1_u64);
        for _ in 0..100_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let uniform = ((state >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
            time += (-1e6 * uniform.ln()) as u64;
            pairs.see(time, 1000, 500, 1);
        }
        let mode = pairs.mode(1000.0).unwrap();
        assert!(!mode.told && mode.share < 0.025, "{mode:?}");
        // Gaps of one tick are the clock's, not the link's.
        let mut coarse = Dispersion::new();
        (0..1000).for_each(|i| coarse.see(i * 1000, 1500, 500, 1000));
        let mode = coarse.mode(1500.0).unwrap();
        assert!(!mode.told && mode.share > 0.99, "{mode:?}");
        assert!(Dispersion::new().mode(1000.0).is_none());
        // Nor are a few pairs enough.
        for packets in [2, 10, 11] {
            let mut few = Dispersion::new();
            (0..packets).for_each(|i| few.see(i * 1_000_000, 1500, 500, 1000));
            let mode = few.mode(1500.0).unwrap();
            assert!(mode.share == 1.0 && mode.told == (packets > 10), "{mode:?}");
        }
    }
}
