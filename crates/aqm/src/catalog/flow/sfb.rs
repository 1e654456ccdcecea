//! SFB: stochastic fair BLUE (Feng et al. 2001).
//!
//! Flows are hashed into bins, once at each of several levels. A bin has a BLUE of its own: its probability
//! rises while many of its packets wait and falls when none does. A packet's probability is the least of its
//! bins'. Flows that do not answer drive all their bins to 1, and are limited to a rate; another flow shares
//! all its bins with them only by chance, and the hashes change from time to time.
//!
//! What the paper leaves open, and what this file does. The paper's text could not be opened; facts about Linux
//! are those of net/sched/sch_sfb.c.
//! - Steps, levels, bins, the limit to a rate and the times of the hashes are Linux's.
//! - A bin's probability rises with an arrival that finds `bin_size` of its packets waiting or more, and falls with
//!   one that finds none. There is no time between steps.
//! - An arrival all whose bins hold `max` packets or more is dropped, so that a flow may not fill the buffer
//!   before its probability has risen.
//! - Beyond a probability of 1/2, `2p - 1` of the arrivals are dropped even if they could be marked.
//! - Two sets of bins take turns. The next one is kept up to date for `warmup`, then decides. A packet that
//!   leaves is counted off in those sets that saw it arrive. The first key is drawn at the first arrival.
//! - Flows whose probability is 1 share one bucket of tokens.

use alloc::vec;
use alloc::vec::Vec;

use quell_units::{Duration, Time};

use crate::params::{ParamError, positive, require};
use crate::{Aqm, Cause, Ctx, Departures, FlowId, Link, PacketMeta, Probe, Rng, Verdict, params};

params! {
    /// SFB's parameters.
    pub struct SfbParams {
        /// L: number of bins per flow.
        levels: u32 = 8, unit "1", source "Linux, net/sched/sch_sfb.c; 2 in Feng et al. 2001 (not verified)";
        /// N: number of bins per level.
        bins: u32 = 16, unit "1", source "Linux, net/sched/sch_sfb.c; 23 in Feng et al. 2001 (not verified)";
        /// How many packets of a bin must wait before an arrival raises its probability.
        bin_size: u32 = 20, unit "packets", source "Linux, net/sched/sch_sfb.c";
        /// How many packets each bin of an arrival must hold for it to be dropped at once.
        max: u32 = 25, unit "packets", source "Linux, net/sched/sch_sfb.c";
        /// Step up.
        increment: f64 = 0.001, unit "1", source "Linux, net/sched/sch_sfb.c";
        /// Step down.
        decrement: f64 = 1.0 / 6000.0, unit "1", source "Linux, net/sched/sch_sfb.c";
        /// Time after which the hashes change.
        rehash_interval: Duration = Duration::from_secs(600), unit "s", source "Linux, net/sched/sch_sfb.c";
        /// How long the new hashes learn before that.
        warmup: Duration = Duration::from_secs(60), unit "s", source "Linux, net/sched/sch_sfb.c";
        /// Packets per second of all unresponsive flows together.
        penalty_rate: f64 = 10.0, unit "packets/s", source "Linux, net/sched/sch_sfb.c";
        /// How many packets they may send at once.
        penalty_burst: u32 = 20, unit "packets", source "Linux, net/sched/sch_sfb.c";
    }
}

impl SfbParams {
    /// SFB for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: no levels or bins, or too many; a step outside (0, 1]; a warm-up as
    /// long as the time between hashes.
    pub fn build(&self, link: &Link) -> Result<Sfb, ParamError> {
        link.check()?;
        require!((1..=16).contains(&self.levels), self.levels, "must lie in [1, 16]")?;
        require!((2..=65_536).contains(&self.bins), self.bins, "must lie in [2, 65536]")?;
        require!(self.bin_size > 0, self.bin_size, "must be at least 1")?;
        require!(self.max >= self.bin_size, self.max, "must be at least bin_size ({})", self.bin_size)?;
        for (field, step) in [("increment", self.increment), ("decrement", self.decrement)] {
            require(step > 0.0 && step <= 1.0, field, step, "must lie in (0, 1]")?;
        }
        require!(
            self.warmup < self.rehash_interval,
            self.warmup,
            "must be shorter than rehash_interval ({})",
            self.rehash_interval
        )?;
        positive("penalty_rate", self.penalty_rate, "Feng et al. 2001")?;
        require!(self.penalty_rate <= 1e9, self.penalty_rate, "must be at most 1e9")?;
        require!(self.penalty_burst > 0, self.penalty_burst, "must be at least 1")?;
        let cells = (self.levels * self.bins) as usize;
        Ok(Sfb {
            given: self.clone(),
            sets: [Set::new(cells), Set::new(cells)],
            now: 0,
            tokens: f64::from(self.penalty_burst),
            tokens_at: Time::ZERO,
            p: 0.0,
        })
    }
}

/// SFB's state.
#[derive(Clone, Debug)]
pub struct Sfb {
    given: SfbParams,
    sets: [Set; 2],
    /// The set that decides.
    now: usize,
    /// Packets that flows which do not answer may send.
    tokens: f64,
    tokens_at: Time,
    /// The probability of the last arrival.
    p: f64,
}

/// Bins under one key.
#[derive(Clone, Debug)]
struct Set {
    key: Option<u64>,
    /// It has seen every packet since.
    since: Time,
    cells: Vec<Bin>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    p: f64,
    waiting: u32,
}

/// Verdict of a flow's bins.
struct Least {
    p: f64,
    waiting: u32,
}

impl Set {
    fn new(cells: usize) -> Self {
        Set { key: None, since: Time::ZERO, cells: vec![Bin::default(); cells] }
    }

    /// Begins with another key and empty bins.
    fn begin(&mut self, now: Time, rng: &mut Rng) {
        self.key = Some(rng.next_u64());
        self.since = now;
        self.cells.fill(Bin::default());
    }

    /// The bins of a flow, if there is a key.
    #[inline]
    fn each(&mut self, flow: FlowId, bins: u32, mut f: impl FnMut(&mut Bin)) {
        let Some(key) = self.key else { return };
        let mut hash = key ^ u64::from(flow.0);
        for level in self.cells.chunks_exact_mut(bins as usize) {
            hash = mixed(hash);
            f(&mut level[bin(hash, bins)]);
        }
    }

    /// An arrival moves the probabilities of its bins.
    fn learn(&mut self, flow: FlowId, given: &SfbParams) -> Least {
        let mut least = Least { p: 1.0, waiting: u32::MAX };
        self.each(flow, given.bins, |bin| {
            bin.p = next_p(bin.p, bin.waiting, given.bin_size, given.increment, given.decrement);
            least = Least { p: least.p.min(bin.p), waiting: least.waiting.min(bin.waiting) };
        });
        least
    }
}

impl Sfb {
    /// Begins a set, or changes to the one that has learned, when it is time.
    fn turn(&mut self, now: Time, rng: &mut Rng) {
        let (decides, next) = (self.now, 1 - self.now);
        if self.sets[decides].key.is_none() {
            self.sets[decides].begin(now, rng);
        }
        let lasted = now.since(self.sets[decides].since);
        if lasted >= self.given.rehash_interval && self.sets[next].key.is_some() {
            self.sets[decides].key = None;
            self.now = next;
        } else if lasted + self.given.warmup >= self.given.rehash_interval && self.sets[next].key.is_none() {
            self.sets[next].begin(now, rng);
        }
    }

    /// Tells whether a flow that does not answer exceeds the rate.
    fn exceeds(&mut self, now: Time) -> bool {
        let passed = now.since(self.tokens_at).as_secs_f64();
        self.tokens_at = now;
        let burst = f64::from(self.given.penalty_burst);
        self.tokens = (self.tokens + self.given.penalty_rate * passed).min(burst);
        if self.tokens < 1.0 {
            return true;
        }
        self.tokens -= 1.0;
        false
    }

    /// A packet that arrived then is counted in the bins that have seen it.
    fn count(&mut self, flow: FlowId, arrived: Time, mut f: impl FnMut(&mut Bin)) {
        for set in &mut self.sets {
            if set.since <= arrived {
                set.each(flow, self.given.bins, &mut f);
            }
        }
    }

    fn judge(&mut self, cx: &mut Ctx<'_>, least: &Least) -> Verdict {
        if least.waiting >= self.given.max {
            return Verdict::Drop(Cause::Forced);
        }
        if least.p >= 1.0 {
            return if self.exceeds(cx.now) { Verdict::Drop(Cause::Forced) } else { Verdict::Pass };
        }
        let drawn = if least.p > 0.0 { cx.rng.uniform() } else { 1.0 };
        if drawn < dropped(least.p) {
            Verdict::Drop(Cause::Early)
        } else {
            Verdict::early_if(drawn < least.p)
        }
    }
}

impl Aqm for Sfb {
    fn on_start(&mut self, now: Time) {
        self.tokens_at = now;
    }

    #[inline]
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        self.turn(cx.now, cx.rng);
        let least = self.sets[self.now].learn(pkt.flow, &self.given);
        let _ = self.sets[1 - self.now].learn(pkt.flow, &self.given);
        self.p = least.p;
        let verdict = self.judge(cx, &least);
        if !verdict.drops(pkt) {
            self.count(pkt.flow, cx.now, |bin| bin.waiting += 1);
        }
        verdict
    }

    #[inline]
    fn on_dequeue(&mut self, _: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        self.count(pkt.flow, pkt.enqueued_at, |bin| bin.waiting = bin.waiting.saturating_sub(1));
        Verdict::Pass
    }

    #[inline]
    fn departures(&self) -> Departures {
        Departures::Watched
    }

    fn on_overflow(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) {
        self.count(pkt.flow, cx.now, |bin| bin.waiting = bin.waiting.saturating_sub(1));
    }

    fn observe(&self, out: &mut dyn Probe) {
        out.value("p", "1", self.p);
        out.value("penalty_tokens", "packets", self.tokens);
    }
}

/// SplitMix64: the next of a series of hashes.
#[inline]
fn mixed(hash: u64) -> u64 {
    let z = hash.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The bin of a hash: its upper half, times the number of bins.
#[inline]
fn bin(hash: u64, bins: u32) -> usize {
    (((hash >> 32) * u64::from(bins)) >> 32) as usize
}

/// Feng et al. 2001: a bin's probability after an arrival that finds so many of its packets waiting.
#[inline]
pub fn next_p(p: f64, waiting: u32, bin_size: u32, increment: f64, decrement: f64) -> f64 {
    if waiting == 0 {
        (p - decrement).max(0.0)
    } else if waiting >= bin_size {
        (p + increment).min(1.0)
    } else {
        p
    }
}

/// Linux, net/sched/sch_sfb.c: the share of arrivals that are dropped even if they could be marked.
#[inline]
pub fn dropped(p: f64) -> f64 {
    (2.0 * p - 1.0).max(0.0)
}

/// Feng et al. 2001: the probability that a flow shares a bin with one of so many others at each level.
pub fn covered(others: u32, bins: u32, levels: u32) -> f64 {
    let shares = 1.0 - libm::pow(1.0 - 1.0 / f64::from(bins), f64::from(others));
    libm::pow(shares, f64::from(levels))
}

equations! {
    next_p(p, waiting: u32, bin_size: u32, increment, decrement) -> p =
        next_p(p, waiting, bin_size, increment, decrement);
    dropped(p) -> p = dropped(p);
    covered(others: u32, bins: u32, levels: u32) -> p = covered(others, bins, levels);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;
    use quell_units::{BitRate, Bytes, Packets, QueueSize};

    use crate::QueueView;

    fn sfb(params: &SfbParams) -> Sfb {
        let link = Link {
            rate: BitRate::from_bps(10_000_000),
            buffer: QueueSize::Packets(500.0),
            mean_packet: Bytes::new(1000),
        };
        params.build(&link).unwrap()
    }

    fn packet(flow: u32, at: Time) -> PacketMeta {
        PacketMeta { bytes: Bytes::new(1000), flow: FlowId(flow), enqueued_at: at, ..Default::default() }
    }

    fn arrive(sfb: &mut Sfb, now: Time, flow: u32, rng: &mut Rng) -> Verdict {
        let queue =
            QueueView { packets: Packets::new(0), bytes: Bytes::new(0), head_since: None, link_rate: None };
        sfb.on_enqueue(&mut Ctx::new(now, queue, rng), &packet(flow, now))
    }

    /// With 4 flows that never answer, the share of 100 000 others that the bins take for one of them.
    #[test]
    fn a_flow_is_taken_for_another_as_often_as_its_bins_are() {
        let mut sfb = sfb(&SfbParams { levels: 2, ..Default::default() });
        let mut rng = Seed(1).stream("sfb");
        sfb.turn(Time::ZERO, &mut rng);
        for flow in 0..4 {
            sfb.sets[0].each(FlowId(flow), 16, |bin| bin.p = 1.0);
        }
        let mut taken = 0;
        for flow in 1000..101_000 {
            let mut least: f64 = 1.0;
            sfb.sets[0].each(FlowId(flow), 16, |bin| least = least.min(bin.p));
            taken += u32::from(least == 1.0);
        }
        // The four themselves may share bins, so that fewer are taken.
        let (got, want) = (f64::from(taken) / 1e5, covered(4, 16, 2));
        let cells = sfb.sets[0].cells.chunks(16).map(|level| level.iter().filter(|b| b.p == 1.0).count());
        let exact = cells.map(|n| n as f64 / 16.0).product::<f64>();
        assert!((got - exact).abs() < 0.003 && got < want + 0.01, "{got}, {exact}, {want}");
    }

    #[test]
    fn what_leaves_is_counted_off_where_it_was_counted_across_a_change_of_hashes() {
        let params = SfbParams {
            rehash_interval: Duration::from_secs(10),
            warmup: Duration::from_secs(4),
            ..Default::default()
        };
        let mut sfb = sfb(&params);
        let mut rng = Seed(2).stream("sfb");
        let mut waiting = alloc::collections::VecDeque::new();
        let mut turns = 0;
        for i in 0..60_000u64 {
            let now = Time::from_nanos(i * 1_000_000);
            let flow = (rng.uniform() * 50.0) as u32;
            let decided = sfb.now;
            if !arrive(&mut sfb, now, flow, &mut rng).drops(&packet(flow, now)) {
                waiting.push_back((flow, now));
            }
            turns += u32::from(sfb.now != decided);
            while waiting.len() > 30 {
                let (flow, then) = waiting.pop_front().unwrap();
                let queue = QueueView {
                    packets: Packets::new(30),
                    bytes: Bytes::new(30_000),
                    head_since: None,
                    link_rate: None,
                };
                let _ = sfb.on_dequeue(&mut Ctx::new(now, queue, &mut rng), &packet(flow, then));
            }
            let set = &sfb.sets[sfb.now];
            let counted: u32 = set.cells.iter().map(|bin| bin.waiting).sum();
            let seen = waiting.iter().filter(|(_, then)| *then >= set.since).count() as u32;
            assert_eq!(counted, 8 * seen, "at {now}");
        }
        assert!((5..=10).contains(&turns), "{turns}");
    }
}
