//! The model of the path: its bandwidth, its round-trip time, what may be in flight, and what the latest round trips
//! have delivered and lost.

use quell_units::{Duration, Time};

use crate::congestion::contract::AckFacts;
use crate::congestion::model::{Aggregate, MIN_WINDOW, product};
use crate::float::{count, larger, lesser};
use crate::rate::{MaxFilter, Sample};

/// BBR.Beta and BBR.Headroom.
pub const BETA: f64 = 0.7;
pub const HEADROOM: f64 = 0.15;
/// BBR.MaxBwFilterLen in cycles, BBR.ExtraAckedFilterLen in round trips, BBR.MinRTTFilterLen.
const BANDWIDTH_CYCLES: u64 = 2;
const EXTRA_ROUNDS: u64 = 10;
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);
/// BBR.ProbeRTTInterval.
const PROBE_RTT_INTERVAL: Duration = Duration::from_secs(5);
/// Rounds of a plateau, and the growth that is none (draft section 5.3.1.2).
pub const PLATEAU_ROUNDS: u32 = 3;
const GROWTH: f64 = 1.25;

/// The bandwidth: the largest of the last cycles, and what short-term losses leave of it.
#[derive(Clone, Debug)]
pub struct Bandwidth {
    filter: MaxFilter,
    pub cycle: u64,
    /// BBR.bw_shortterm.
    pub lo: f64,
    /// BBR.bw.
    pub now: f64,
}

impl Bandwidth {
    pub fn new() -> Self {
        Bandwidth { filter: MaxFilter::new(), cycle: 0, lo: f64::INFINITY, now: 0.0 }
    }

    /// BBR.max_bw.
    #[inline(always)]
    pub fn max(&self) -> f64 {
        self.filter.max()
    }

    /// UpdateMaxBw().
    #[inline(always)]
    pub fn update(&mut self, rate: f64, app_limited: bool) {
        if rate > 0.0 && (rate >= self.max() || !app_limited) {
            self.filter.update(self.cycle, rate, BANDWIDTH_CYCLES);
        }
    }

    /// [`Bandwidth::update`] below [`Bandwidth::steady`].
    #[inline(always)]
    pub fn update_steadily(&mut self, rate: f64) {
        self.filter.update_steadily(rate);
    }

    /// The rate below which a sample leaves the bandwidth as it is.
    pub fn steady(&self) -> f64 {
        self.filter.steady(self.cycle, BANDWIDTH_CYCLES)
    }

    /// AdvanceMaxBwFilter().
    pub fn advance(&mut self) {
        self.cycle += 1;
        self.filter.expire(self.cycle, BANDWIDTH_CYCLES);
    }

    /// BoundBWForModel().
    #[inline(always)]
    pub fn bound(&mut self) {
        self.now = lesser(self.max(), self.lo);
    }
}

/// The smallest round-trip time, by two filters.
#[derive(Clone, Debug)]
pub struct MinRtt {
    /// BBR.min_rtt.
    pub min: Duration,
    stamp: Time,
    /// BBR.probe_rtt_min_delay.
    pub probe_min: Duration,
    pub probe_stamp: Time,
    /// BBR.probe_rtt_expired.
    pub expired: bool,
}

impl MinRtt {
    pub fn new() -> Self {
        let (min, stamp) = (Duration::MAX, Time::ZERO);
        MinRtt { min, stamp, probe_min: min, probe_stamp: stamp, expired: false }
    }

    /// The handshake measured it.
    pub fn set(&mut self, rtt: Duration, now: Time) {
        (self.min, self.stamp) = (rtt, now);
        (self.probe_min, self.probe_stamp) = (rtt, now);
    }

    /// UpdateMinRTT().
    #[inline(always)]
    pub fn on_ack(&mut self, ack: &AckFacts<'_>) {
        self.expired = ack.now > self.probe_stamp + PROBE_RTT_INTERVAL;
        if let Some(rtt) = ack.rtt
            && (rtt < self.probe_min || self.expired)
        {
            (self.probe_min, self.probe_stamp) = (rtt, ack.now);
        }
        let expired = ack.now > self.stamp + MIN_RTT_WINDOW;
        if self.probe_min < self.min || expired {
            (self.min, self.stamp) = (self.probe_min, self.probe_stamp);
        }
    }

    /// The time until which neither filter expires.
    pub fn until(&self) -> Time {
        (self.probe_stamp + PROBE_RTT_INTERVAL).min(self.stamp + MIN_RTT_WINDOW)
    }
}

/// The bounds of what may be in flight.
#[derive(Clone, Copy, Debug)]
pub struct InflightBounds {
    /// BBR.inflight_longterm: by losses of bandwidth probes.
    pub hi: f64,
    /// BBR.inflight_shortterm: since the last of those.
    pub lo: f64,
}

impl InflightBounds {
    /// Nothing bounds it.
    pub const NONE: InflightBounds = InflightBounds { hi: f64::INFINITY, lo: f64::INFINITY };

    /// InflightWithHeadroom().
    pub fn with_headroom(&self) -> f64 {
        let headroom = larger(HEADROOM * self.hi, 1.0);
        if self.hi.is_infinite() { f64::INFINITY } else { larger(self.hi - headroom, MIN_WINDOW) }
    }
}

/// The latest round trip in which losses are looked for.
#[derive(Clone, Debug, Default)]
pub struct LossRound {
    /// BBR.bw_latest and BBR.inflight_latest: the most that it delivered.
    pub bw: f64,
    pub inflight: f64,
    /// A packet ends it that was sent after so many had been delivered.
    pub end: u64,
    /// The last acknowledgment began it.
    pub starts: bool,
    /// BBR.loss_in_round.
    pub lossy: bool,
    /// Runs of losses in it, and the packet that was lost last.
    pub events: u32,
    last: u32,
}

impl LossRound {
    /// UpdateLatestDeliverySignals().
    #[inline(always)]
    pub fn on_ack(&mut self, s: &Sample<'_>, rate: f64) {
        self.deliver(rate, s.delivered);
        self.starts = s.newest.is_some_and(|p| p.delivered >= self.end);
        if self.starts {
            self.end = s.total;
        }
    }

    /// A sample of so many packets had this rate.
    #[inline(always)]
    pub fn deliver(&mut self, rate: f64, delivered: u64) {
        self.bw = larger(self.bw, rate);
        self.inflight = larger(self.inflight, count(delivered));
    }

    pub fn lose(&mut self, seq: u32) {
        self.events += u32::from(seq != self.last + 1);
        self.last = seq;
    }

    /// AdvanceLatestDeliverySignals().
    #[inline(always)]
    pub fn advance(&mut self, rate: f64, delivered: u64) {
        if self.starts {
            (self.bw, self.inflight) = (rate, count(delivered));
        }
    }

    /// ResetCongestionSignals().
    pub fn reset(&mut self) {
        (self.lossy, self.bw, self.inflight) = (false, 0.0, 0.0);
    }
}

/// The search for a plateau of the rate: BBR.full_bw and what goes with it.
#[derive(Clone, Debug, Default)]
pub struct FullPipe {
    pub bw: f64,
    pub count: u32,
    pub now: bool,
    pub reached: bool,
}

impl FullPipe {
    /// ResetFullBW().
    pub fn reset(&mut self) {
        (self.bw, self.count, self.now) = (0.0, 0, false);
    }

    /// CheckFullBWReached() at the beginning of a round trip.
    #[inline(always)]
    pub fn on_round(&mut self, rate: f64) {
        if self.now {
            return;
        }
        if rate >= self.bw * GROWTH {
            self.reset();
            self.bw = rate;
        } else {
            self.count += 1;
            self.now = self.count >= PLATEAU_ROUNDS;
            self.reached |= self.now;
        }
    }
}

/// The packets acknowledged beyond what the bandwidth explains.
#[derive(Clone, Debug)]
pub struct Extra {
    pub aggregate: Aggregate,
    /// BBR.extra_acked.
    pub most: MaxFilter,
}

impl Extra {
    pub fn new() -> Self {
        Extra { aggregate: Aggregate::new(), most: MaxFilter::new() }
    }

    #[inline(always)]
    pub fn after(&self, now: Time, acked: f64, bw: f64, cwnd: f64) -> (Aggregate, f64) {
        self.aggregate.after(now, acked, product(bw, now - self.aggregate.since), cwnd)
    }

    /// UpdateACKAggregation().
    #[inline(always)]
    pub fn on_ack(&mut self, s: &Sample<'_>, bw: f64, cwnd: f64, (round, full): (u64, bool)) {
        let extra;
        (self.aggregate, extra) = self.after(s.ack.now, f64::from(s.acked), bw, cwnd);
        self.most.update(round, extra, if full { EXTRA_ROUNDS } else { 1 });
    }

    /// The packets that a further acknowledgment of this round trip may add while the most stays as it is.
    pub fn steady(&self, round: u64) -> f64 {
        self.most.steady(round, EXTRA_ROUNDS)
    }
}
