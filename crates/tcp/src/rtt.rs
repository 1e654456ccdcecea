//! Round-trip time and retransmission timeout (RFC 6298).

use quell_units::{Duration, Time};

use crate::choices::RtoFloor;
use crate::params::Config;
use crate::ring::Ring;

/// Doublings after which the round-trip time is measured from the beginning again.
const FORGETTING: u32 = 4;

/// The ticks of `granularity` in the shortest timeout, whatever is measured: the smoothed round-trip time is at least one
/// of them, and four times its variation at least two quarters.
pub(crate) const LEAST_TIMEOUT: u64 = 3;

/// The ticks of `granularity` in the least of what a variation adds to the smoothed round-trip time.
pub(crate) const LEAST_VARIATION: u64 = 2;

/// Estimates the round-trip time and derives the retransmission timeout from it, in whole ticks of a
/// clock and with scaled integers, as BSD and ns-2 do (Jacobson 1988, appendix A). What the
/// integers cut off makes the timeout one or two ticks longer than exact arithmetic would.
#[derive(Clone, Copy, Debug)]
pub struct RttEstimator {
    /// Eight times the smoothed round-trip time in ticks; 0 before the first measurement.
    srtt8: u64,
    /// Four times its variation in ticks.
    rttvar4: u64,
    /// The timeout before backing off, and now.
    base: Duration,
    rto: Duration,
    /// Doublings since the last measurement (RFC 6298 rule 5.5).
    backoff: u32,
    /// Where each acknowledgment measures: four times the mean deviation in ticks, the largest of this round trip, and
    /// one past the last packet that is of this round trip.
    deviation4: u32,
    largest4: u32,
    round_end: u32,
}

impl RttEstimator {
    /// Nothing measured yet.
    pub fn new(cfg: &Config) -> Self {
        let base = cfg.initial_rto;
        RttEstimator {
            srtt8: 0,
            rttvar4: 0,
            base,
            rto: base.min(cfg.max_rto),
            backoff: 0,
            deviation4: 0,
            largest4: 0,
            round_end: 0,
        }
    }

    /// Takes in the measurement of a packet that was sent once, at `sent` (RFC 6298 rules 2.2 and 2.3,
    /// Karn's rule); ends any backing off.
    #[inline]
    pub fn sample(&mut self, cfg: &Config, sent: Time, now: Time) {
        self.measure(cfg, sent, now);
        self.rto = self.base.min(cfg.max_rto);
        self.backoff = 0;
    }

    /// Does [`RttEstimator::sample`], but leaves the timeout doubled as often as it is.
    pub fn sample_backed_off(&mut self, cfg: &Config, sent: Time, now: Time) {
        self.measure(cfg, sent, now);
        self.rto = self.backed_off_rto(cfg);
    }

    /// Does [`RttEstimator::sample`] for one of the many acknowledgments of a round trip, after which `una` is the first
    /// packet that is outstanding and `next` the next one to be sent. A floor under the variation comes with what Linux
    /// does: the largest deviation of a round trip counts, and the variation falls once in each (`tcp_rtt_estimator()`
    /// in tcp_input.c).
    #[inline]
    pub fn sample_each(&mut self, cfg: &Config, sent: Time, now: Time, una: u32, next: u32) {
        if cfg.rto_floor == RtoFloor::Variation {
            self.measure_each(cfg, sent, now, una, next);
        } else {
            self.measure(cfg, sent, now);
        }
        self.rto = self.base.min(cfg.max_rto);
        self.backoff = 0;
    }

    fn measure_each(&mut self, cfg: &Config, sent: Time, now: Time, una: u32, next: u32) {
        let tick = cfg.rtt_tick().nanos();
        let rtt = (now.nanos() / tick - sent.nanos() / tick).max(1);
        let limited = |ticks: u64| u32::try_from(ticks).unwrap_or(u32::MAX / 2);
        let least4 = limited(cfg.min_rto.nanos() / tick);
        if self.srtt8 == 0 {
            self.srtt8 = rtt * 8;
            self.deviation4 = limited(rtt * 2);
            self.largest4 = self.deviation4.max(least4);
            self.rttvar4 = self.largest4.into();
            self.round_end = next;
        } else {
            let smoothed = self.srtt8 / 8;
            self.srtt8 = (self.srtt8 + rtt - smoothed).max(1);
            let (deviation, mean) = (limited(rtt.abs_diff(smoothed)), self.deviation4 / 4);
            self.deviation4 = match deviation > mean {
                // A round trip that becomes shorter says little of how long one may be.
                true if rtt < smoothed => self.deviation4 + (deviation - mean) / 8,
                _ => (self.deviation4 - mean).saturating_add(deviation),
            };
            if self.deviation4 > self.largest4 {
                self.largest4 = self.deviation4;
                self.rttvar4 = self.rttvar4.max(self.largest4.into());
            }
            if una > self.round_end {
                self.rttvar4 -= self.rttvar4.saturating_sub(self.largest4.into()) / 4;
                (self.round_end, self.largest4) = (next, least4);
            }
        }
        self.base = self.smoothed(cfg) + cfg.rtt_tick() * self.rttvar4;
    }

    #[inline]
    fn measure(&mut self, cfg: &Config, sent: Time, now: Time) {
        let tick = cfg.rtt_tick().nanos();
        // Ticks of the clock between the two events, at least one.
        let rtt = (now.nanos() / tick - sent.nanos() / tick).max(1);
        if self.srtt8 == 0 {
            self.srtt8 = rtt * 8;
            self.rttvar4 = rtt * 2;
        } else {
            let smoothed = self.srtt8 / 8;
            self.srtt8 = (self.srtt8 + rtt - smoothed).max(1);
            self.rttvar4 = (self.rttvar4 + rtt.abs_diff(smoothed) - self.rttvar4 / 4).max(1);
        }
        self.base = match cfg.rto_floor {
            RtoFloor::Timeout => {
                let ticks = (self.srtt8 + 8 * self.rttvar4) / 8;
                (cfg.rtt_tick() * ticks).max(cfg.min_rto)
            }
            RtoFloor::Variation => self.smoothed(cfg) + (cfg.rtt_tick() * self.rttvar4).max(cfg.min_rto),
        };
    }

    /// The smoothed round-trip time; zero before the first measurement.
    pub fn smoothed(&self, cfg: &Config) -> Duration {
        cfg.rtt_tick() * self.srtt8 / 8
    }

    /// The timeout now.
    #[inline]
    pub fn rto(&self) -> Duration {
        self.rto
    }

    /// Doubles the timeout (RFC 6298 rule 5.5). After several doublings what is known of the
    /// round-trip time is likely wrong: the next measurement counts as the first (RFC 6298 section 5,
    /// last paragraph; from the fourth on as in BSD and ns-2). Without that, 500 flows on 10 Mbit/s
    /// lose 1.5% under RED with ECN instead of 0.2% (ns-2: 0.1%).
    pub fn back_off(&mut self, cfg: &Config) {
        self.backoff += 1;
        if self.backoff >= FORGETTING {
            self.srtt8 = 0;
        }
        self.rto = self.backed_off_rto(cfg);
    }

    fn backed_off_rto(&self, cfg: &Config) -> Duration {
        (self.base * (1 << self.backoff.min(cfg.max_doublings))).min(cfg.max_rto)
    }

    /// Returns whether the timeout stands doubled.
    pub fn backed_off(&self) -> bool {
        self.backoff > 0
    }
}

/// The times at which the packets in flight were sent.
#[derive(Clone, Debug)]
pub(crate) struct SendTimes {
    /// [`Time::MAX`] for a packet that was sent again: what its acknowledgment is of is not known (Karn's rule).
    times: Ring<Time>,
}

impl SendTimes {
    pub fn new() -> Self {
        SendTimes { times: Ring::new() }
    }

    #[inline]
    pub fn sent(&mut self, seq: u32, now: Time) {
        if seq < self.times.end() && !self.times.is_empty() {
            self.times[seq] = Time::MAX;
        } else {
            self.times.push(seq, now);
        }
    }

    /// Returns whether [`SendTimes::sent_next`] has room.
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.times.has_room()
    }

    /// [`SendTimes::sent`] for the next new packet, where there is room.
    #[inline(always)]
    pub fn sent_next(&mut self, now: Time) {
        self.times.push_within(now);
    }

    /// The time at which a packet was sent, [`Time::MAX`] for more than once.
    #[inline(always)]
    pub fn sent_at(&self, seq: u32) -> Time {
        self.times[seq]
    }

    /// All below `ack` are acknowledged, which have been sent.
    #[inline(always)]
    pub fn pass(&mut self, ack: u32) {
        self.times.forget_first(ack);
    }

    /// [`SendTimes::sent`] for new packets, from `from` to before `to`.
    #[inline(always)]
    pub fn sent_new(&mut self, from: u32, to: u32, now: Time) {
        self.times.extend(from, to, |_| now);
    }

    /// The round-trip time that an acknowledgment of all below `ack` measures: that of the last of them.
    #[inline]
    pub fn acknowledged(&mut self, ack: u32, now: Time) -> Option<Duration> {
        let end = ack.min(self.times.end());
        if end <= self.times.first() {
            return None;
        }
        let sent = self.times[end - 1];
        self.times.forget_below(end);
        (sent != Time::MAX).then(|| now - sent)
    }

    pub fn clear(&mut self) {
        self.times.clear();
    }
}

/// The round-trip times that acknowledgments measure, where each does.
#[derive(Clone, Debug)]
pub(crate) struct RoundTrips {
    /// The times of packets, unless RACK knows them or nobody asks.
    pub sent: Option<SendTimes>,
    /// The one that the acknowledgment under way measured.
    pub measured: Option<Duration>,
    /// All of them, smoothed by an eighth and not in ticks.
    pub srtt: Option<Duration>,
}

impl RoundTrips {
    pub fn new(sent: Option<SendTimes>) -> Self {
        RoundTrips { sent, measured: None, srtt: None }
    }

    /// An acknowledgment of all below `ack` comes.
    #[inline]
    pub fn acknowledged(&mut self, ack: u32, now: Time) {
        if let Some(sent) = &mut self.sent {
            let measured = sent.acknowledged(ack, now);
            self.measure(measured);
        }
    }

    /// Takes in what an acknowledgment measured, if it did.
    #[inline]
    pub fn measure(&mut self, rtt: Option<Duration>) {
        self.measured = rtt;
        if let Some(rtt) = rtt {
            self.srtt = Some(self.smoothed(rtt));
        }
    }

    /// The smoothed round-trip time with a further one.
    #[inline(always)]
    pub fn smoothed(&self, rtt: Duration) -> Duration {
        let smooth = |srtt: Duration| Duration::from_nanos((srtt.nanos() * 7 + rtt.nanos()) / 8);
        self.srtt.map_or(rtt, smooth)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Recovery, RttSamples, TcpParams};

    fn measure(e: &mut RttEstimator, cfg: &Config, ms: u64) {
        e.sample(cfg, Time::ZERO, Time::ZERO + Duration::from_millis(ms));
    }

    /// A steady round trip of 400 ms: RFC 6298 has a timeout of little more, Linux 200 ms more.
    #[test]
    fn the_floor_is_the_timeout_s_or_the_variation_s() {
        for (rto_floor, ms, want) in [
            (RtoFloor::Timeout, 400, 400..450),
            (RtoFloor::Timeout, 50, 200..201),
            (RtoFloor::Variation, 400, 600..601),
            (RtoFloor::Variation, 50, 250..251),
        ] {
            let cfg = Config::new(&TcpParams { rto_floor, ..Default::default() }).unwrap();
            let mut e = RttEstimator::new(&cfg);
            (0..40).for_each(|_| measure(&mut e, &cfg, ms));
            let rto = e.rto().nanos() / 1_000_000;
            assert!(want.contains(&rto), "{rto_floor:?} {ms}: {rto}");
        }
    }

    /// Linux's estimator by arithmetic, in round trips of twenty packets.
    #[test]
    fn a_variation_with_a_floor_rises_at_once_and_falls_once_in_a_round_trip() {
        let params = TcpParams {
            rto_floor: RtoFloor::Variation,
            rtt_samples: RttSamples::Acknowledgment,
            recovery: Recovery::Rack,
            ..Default::default()
        };
        let cfg = Config::new(&params).unwrap();
        let mut e = RttEstimator::new(&cfg);
        let mut rto = |ms, una, next| {
            e.sample_each(&cfg, Time::ZERO, Time::ZERO + Duration::from_millis(ms), una, next);
            e.rto().nanos() / 1000
        };
        assert_eq!(rto(100, 1, 20), 300_000, "the first deviation is half, and four of it are the floor");
        assert_eq!(rto(180, 2, 20), 110_000 + 230_000, "200 + 80 - 50");
        assert_eq!(rto(100, 21, 40), 108_750 + 230_000, "the largest of the round trip that ends");
        assert_eq!(rto(100, 41, 60), 107_656 + 222_500, "a quarter of what it is above the floor");
        assert_eq!(rto(20, 42, 60), 96_699 + 222_500, "a shorter one moves the deviation by little");
        assert_eq!(e.deviation4, 152_031);
    }

    /// The shortest timeouts that any course of round-trip times leaves are those that notes name.
    #[test]
    fn a_timeout_is_at_least_three_ticks() {
        for (rto_floor, least, added) in
            [(RtoFloor::Timeout, LEAST_TIMEOUT, 0), (RtoFloor::Variation, LEAST_VARIATION, 1)]
        {
            let min_rto = Duration::from_nanos(1);
            let cfg = Config::new(&TcpParams { rto_floor, min_rto, ..Default::default() }).unwrap();
            let ticks = |e: &RttEstimator| e.rto().nanos() / cfg.granularity.nanos();
            let mut shortest = u64::MAX;
            for seed in 0..50_u64 {
                let mut e = RttEstimator::new(&cfg);
                for n in 0..200 {
                    measure(&mut e, &cfg, if n > 60 { 1 } else { (seed * 31 + n * n * 7) % 90 });
                    assert!(ticks(&e) >= least + added, "{rto_floor:?} {}", ticks(&e));
                    shortest = shortest.min(ticks(&e));
                }
            }
            assert_eq!(shortest, least + added, "{rto_floor:?}");
        }
    }

    #[test]
    fn timeouts_follow_rfc_6298() {
        let cfg = Config::new(&TcpParams::default()).unwrap();
        let mut e = RttEstimator::new(&cfg);
        assert_eq!(e.rto(), Duration::from_secs(3));
        measure(&mut e, &cfg, 400);
        // SRTT 0.4, RTTVAR 0.2: 1.2 s.
        assert_eq!(e.rto(), Duration::from_millis(1200));
        measure(&mut e, &cfg, 480);
        // RTTVAR 0.2 + (0.08 - 0.2)/4 = 0.17, SRTT 0.41: 1.09 s.
        assert_eq!(e.rto(), Duration::from_millis(1090));
        e.back_off(&cfg);
        e.back_off(&cfg);
        assert_eq!(e.rto(), Duration::from_millis(4360));
        (0..10).for_each(|_| e.back_off(&cfg));
        assert_eq!(e.rto(), Duration::from_secs(60));
        measure(&mut e, &cfg, 410);
        assert!(!e.backed_off());
    }

    #[test]
    fn a_timeout_doubles_as_often_as_it_may() {
        let cfg = Config::new(&TcpParams {
            max_doublings: 6,
            max_rto: Duration::from_secs(1000),
            ..Default::default()
        });
        let cfg = cfg.unwrap();
        let mut e = RttEstimator::new(&cfg);
        (0..10).for_each(|_| e.back_off(&cfg));
        assert_eq!(e.rto(), Duration::from_secs(3 * 64));
    }

    /// 2^16 times 10 days are more nanoseconds than there are numbers.
    #[test]
    fn doublings_of_a_long_timeout_end_at_the_largest() {
        let ten_days = Duration::from_secs(864_000);
        let params = TcpParams { initial_rto: ten_days, max_rto: ten_days * 10, ..Default::default() };
        let cfg = Config::new(&params).unwrap();
        let mut e = RttEstimator::new(&cfg);
        for doublings in 1..=20_u32 {
            e.back_off(&cfg);
            assert_eq!(e.rto(), ten_days * (1 << doublings.min(16)).min(10), "{doublings}");
        }
    }

    #[test]
    fn after_four_doublings_the_next_measurement_is_the_first() {
        let cfg = Config::new(&TcpParams::default()).unwrap();
        for (doublings, rto) in [(3, 530), (4, 1500)] {
            let mut e = RttEstimator::new(&cfg);
            (0..100).for_each(|_| measure(&mut e, &cfg, 500));
            (0..doublings).for_each(|_| e.back_off(&cfg));
            assert_eq!(e.rto(), Duration::from_millis(530 << doublings));
            measure(&mut e, &cfg, 500);
            assert_eq!(e.rto(), Duration::from_millis(rto));
        }
    }

    #[test]
    fn a_measurement_may_leave_the_timeout_doubled() {
        let cfg = Config::new(&TcpParams::default()).unwrap();
        let mut e = RttEstimator::new(&cfg);
        measure(&mut e, &cfg, 400);
        e.back_off(&cfg);
        e.sample_backed_off(&cfg, Time::ZERO, Time::ZERO + Duration::from_millis(480));
        assert_eq!(e.rto(), Duration::from_millis(2 * 1090));
        measure(&mut e, &cfg, 410);
        assert!(!e.backed_off());
    }

    #[test]
    fn a_steady_round_trip_time_keeps_a_remainder_of_variation() {
        let cfg = Config::new(&TcpParams::default()).unwrap();
        let mut e = RttEstimator::new(&cfg);
        (0..100).for_each(|_| measure(&mut e, &cfg, 500));
        // Three quarters of a tick that the integers no longer halve.
        assert_eq!(e.rto(), Duration::from_millis(530));
    }

    #[test]
    fn the_timeout_never_falls_below_its_minimum() {
        let cfg = Config::new(&TcpParams::default()).unwrap();
        let mut e = RttEstimator::new(&cfg);
        (0..100).for_each(|_| measure(&mut e, &cfg, 1));
        assert_eq!(e.rto(), Duration::from_millis(200));
    }

    #[test]
    fn what_was_sent_twice_measures_nothing() {
        let at = |x| Time::ZERO + Duration::from_millis(x);
        let mut s = SendTimes::new();
        (5..9).for_each(|seq| s.sent(seq, at(seq as u64)));
        s.sent(6, at(20));
        assert_eq!(s.acknowledged(6, at(105)), Some(Duration::from_millis(100)));
        assert_eq!(s.acknowledged(7, at(106)), None);
        assert_eq!(s.acknowledged(9, at(110)), Some(Duration::from_millis(102)));
        assert_eq!(s.acknowledged(9, at(111)), None);
        s.sent(9, at(200));
        assert_eq!(s.acknowledged(10, at(300)), Some(Duration::from_millis(100)));
    }
}
