//! The arrival rate by exponential averaging.

use quell_units::{Duration, Time};

/// Estimates the rate of arrivals, in mean packets per second (Stoica, Shenker and Zhang 1998, eq. 5;
/// vrc reference 16).
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
