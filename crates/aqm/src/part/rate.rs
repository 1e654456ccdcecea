//! The arrival rate by exponential averaging.

use quell_units::{Duration, Time};

choice! {
    /// Time at which the estimate of a rate is updated.
    pub enum RateUpdate {
        /// Every periodic update, with all that arrived since the last one: unbiased.
        Interval = "interval",
        /// Every arrival, as printed: biased upwards where gaps are random.
        Arrival = "arrival",
    }
}

/// Estimates the rate of arrivals at each arrival, in mean packets per second (Stoica et al. 1998, eq. 5;
/// Park et al. 2004, reference 16).
///
/// It averages `l/T`, and the mean of a reciprocal lies above the reciprocal of the mean: with Poisson
/// arrivals of rate C its mean is `C (1 + C K) ln(1 + 1/(C K))`, about `C + 1/(2 K)`. Arrivals in
/// bursts raise it further.
///
/// Between arrivals the estimate is at most what it would be if a packet came now: without that, a
/// link that falls silent would keep its last rate for good.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RateEstimator {
    rate: f64,
    /// K, in seconds.
    memory: f64,
    last: Time,
}

impl RateEstimator {
    /// Starts at rate zero; `memory` (K) must be longer than nothing.
    pub fn new(memory: Duration) -> Self {
        RateEstimator { rate: 0.0, memory: memory.as_secs_f64(), last: Time::ZERO }
    }

    /// Begins at `now` instead of time zero.
    pub fn start(&mut self, now: Time) {
        self.last = now;
    }

    /// An arrival of `packets` mean packets; the estimate that includes it.
    #[inline]
    pub fn arrive(&mut self, now: Time, packets: f64) -> f64 {
        let dt = now.since(self.last).as_secs_f64();
        self.rate = averaged_rate(self.rate, packets, dt, self.memory);
        self.last = now;
        self.rate
    }

    /// The estimate at `now`.
    pub fn at(&self, now: Time) -> f64 {
        let dt = now.since(self.last).as_secs_f64();
        averaged_rate(self.rate, 1.0, dt, self.memory).min(self.rate)
    }

    /// The estimate after the last arrival.
    pub fn last(&self) -> f64 {
        self.rate
    }
}

/// Estimates the rate of arrivals once per interval, in mean packets per second: Stoica's equation with
/// the interval for T and all that arrived in it for l. Its mean is the mean rate, whatever the gaps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct IntervalRate {
    rate: f64,
    /// Arrivals since the interval began.
    arrived: f64,
    /// Interval in seconds.
    interval: f64,
    /// K, in seconds.
    memory: f64,
}

impl IntervalRate {
    /// Starts at rate zero; `memory` (K) and `interval` must be longer than nothing.
    pub fn new(memory: Duration, interval: Duration) -> Self {
        let (interval, memory) = (interval.as_secs_f64(), memory.as_secs_f64());
        IntervalRate { rate: 0.0, arrived: 0.0, interval, memory }
    }

    /// An arrival of `packets` mean packets.
    #[inline]
    pub fn arrive(&mut self, packets: f64) {
        self.arrived += packets;
    }

    /// Ends the interval; the estimate that includes it.
    pub fn end_interval(&mut self) -> f64 {
        self.rate = averaged_rate(self.rate, self.arrived, self.interval, self.memory);
        self.arrived = 0.0;
        self.rate
    }

    /// The estimate at the end of the last interval.
    pub fn last(&self) -> f64 {
        self.rate
    }
}

/// Lag of [`IntervalRate`] behind the rate at the end of an interval, in seconds: `T_s/2 coth(T_s/(2 K))`,
/// half an interval for the count and `T_s/(e^(T_s/K) - 1)` for the average. It tends to K for short
/// intervals and to T_s/2 for long ones.
pub fn interval_lag(memory: f64, interval: f64) -> f64 {
    0.5 * interval / libm::tanh(0.5 * interval / memory)
}

/// Stoica et al. 1998, eq. 5: `r = (1 - e^(-T/K)) l/T + e^(-T/K) r`; for packets that arrive together,
/// its limit at T = 0, `r + l/K`.
#[inline]
pub fn averaged_rate(rate: f64, packets: f64, dt: f64, memory: f64) -> f64 {
    if dt <= 0.0 {
        return rate + packets / memory;
    }
    let fresh = -libm::expm1(-dt / memory);
    fresh * packets / dt + (1.0 - fresh) * rate
}

equations! {
    averaged_rate(rate, packets, dt, memory) -> rate = averaged_rate(rate, packets, dt, memory);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Seed;

    #[test]
    fn even_arrivals_are_estimated_without_bias_and_bursts_on_average() {
        let mut even = RateEstimator::new(Duration::from_millis(100));
        let mut bursts = even;
        let mut sum = 0.0;
        for i in 1..=10_000u64 {
            even.arrive(Time::from_nanos(i * 1_000_000), 1.0);
            // Ten packets together every ten milliseconds.
            bursts.arrive(Time::from_nanos(i.div_ceil(10) * 10_000_000), 1.0);
            sum += if i > 5000 { bursts.last() } else { 0.0 };
        }
        assert!((even.last() - 1000.0).abs() < 1e-6);
        assert!((sum / 5000.0 - 1000.0).abs() < 60.0, "{}", sum / 5000.0);
    }

    /// The mean estimate of Poisson arrivals at 1250 packets/s with a memory of 5 ms: per arrival, and
    /// per interval of 10 ms.
    #[test]
    fn random_arrivals_are_overestimated_per_arrival_and_not_per_interval() {
        let (c, memory, interval) = (1250.0, Duration::from_millis(5), Duration::from_millis(10));
        let (mut each, mut clocked) = (RateEstimator::new(memory), IntervalRate::new(memory, interval));
        let (mut rng, arrivals) = (Seed(1).stream("rate"), 400_000);
        let (mut now, mut tick) = (0.0, 1);
        let (mut sum, mut clocked_sum) = (0.0, 0.0);
        for _ in 0..arrivals {
            now += rng.exponential(1.0 / c);
            while now > f64::from(tick) * interval.as_secs_f64() {
                clocked_sum += clocked.end_interval();
                tick += 1;
            }
            clocked.arrive(1.0);
            sum += each.arrive(Time::ZERO + Duration::from_secs_f64(now), 1.0);
        }
        let (mean, clocked) = (sum / f64::from(arrivals), clocked_sum / f64::from(tick - 1));
        // A mean over 320 s of a Poisson rate has a standard error of sqrt(1250/320) = 2 packets/s.
        let expected = c * (1.0 + 6.25) * libm::log(1.0 + 1.0 / 6.25);
        assert!((expected - c - 95.0).abs() < 1.0, "nearly 1/(2 K) = 100 packets/s: {expected}");
        assert!((mean - expected).abs() < 10.0, "{mean} instead of {expected}");
        assert!((clocked - c).abs() < 8.0, "{clocked}");
    }

    /// Behind arrivals whose rate grows steadily an estimate stays by its slope times its lag.
    #[test]
    fn the_lag_of_the_interval_rate() {
        for (memory, interval, lag) in
            [(20, 10, 0.020_415), (5, 10, 0.006_565), (200, 10, 0.200_042), (1, 100, 0.05)]
        {
            let (k, t) = (Duration::from_millis(memory), Duration::from_millis(interval));
            let seconds = t.as_secs_f64();
            let mut r = IntervalRate::new(k, t);
            let mut end = 0.0;
            for i in 0..2000 {
                // The integral of a rate of 1000 t.
                let from = f64::from(i) * seconds;
                end = from + seconds;
                r.arrive(500.0 * (end * end - from * from));
                r.end_interval();
            }
            let (measured, said) = (end - r.last() / 1000.0, interval_lag(k.as_secs_f64(), seconds));
            assert!((measured - lag).abs() < 1e-6 && (said - lag).abs() < 1e-6, "{measured}, {said}, {lag}");
        }
    }

    #[test]
    fn silence_lowers_the_estimate() {
        let mut r = RateEstimator::new(Duration::from_millis(100));
        for i in 1..=1000u64 {
            r.arrive(Time::from_nanos(i * 1_000_000), 1.0);
        }
        let at = |seconds: f64| r.at(Time::ZERO + Duration::from_secs_f64(seconds));
        assert_eq!(at(1.0005), r.last());
        assert!(at(1.01) < r.last() && at(2.0) < 1.1 && at(100.0) < 0.011);
    }
}
