//! Round-trip time and retransmission timeout (RFC 6298).

use quell_units::Duration;

use super::Config;

/// Estimates the round-trip time and derives the retransmission timeout from it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RttEstimator {
    /// Smoothed round-trip time in seconds; negative before the first measurement.
    srtt: f64,
    /// Its variation in seconds.
    rttvar: f64,
    /// The timeout before backing off, and now.
    base: Duration,
    rto: Duration,
    /// Doublings since the last measurement (RFC 6298 rule 5.5).
    backoff: u32,
}

impl RttEstimator {
    pub fn new(cfg: &Config) -> Self {
        let base = cfg.initial_rto;
        RttEstimator { srtt: -1.0, rttvar: 0.0, base, rto: base.min(cfg.max_rto), backoff: 0 }
    }

    /// Takes a measurement in (RFC 6298 rules 2.2 and 2.3); ends any backing off, because the
    /// measured packet was sent once (Karn's rule).
    #[inline]
    pub fn sample(&mut self, cfg: &Config, rtt: Duration) {
        let g = cfg.granularity_s;
        // A clock of granularity G reads the nearest whole number of ticks, at least one.
        let r = libm::floor(rtt.as_secs_f64() / g + 0.5).max(1.0) * g;
        if self.srtt < 0.0 {
            self.srtt = r;
            self.rttvar = r / 2.0;
        } else {
            self.rttvar += ((self.srtt - r).abs() - self.rttvar) / 4.0;
            self.srtt += (r - self.srtt) / 8.0;
        }
        self.base = Duration::from_secs_f64(self.srtt + (4.0 * self.rttvar).max(g)).max(cfg.min_rto);
        self.rto = self.base.min(cfg.max_rto);
        self.backoff = 0;
    }

    /// The timeout now.
    #[inline]
    pub fn rto(&self) -> Duration {
        self.rto
    }

    /// Doubles the timeout (RFC 6298 rule 5.5).
    pub fn back_off(&mut self, cfg: &Config) {
        self.backoff += 1;
        self.rto = Duration::from_nanos(self.base.nanos() << self.backoff.min(16)).min(cfg.max_rto);
    }

    /// Whether the timeout stands doubled.
    pub fn backed_off(&self) -> bool {
        self.backoff > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tcp::TcpParams;

    #[test]
    fn timeouts_follow_rfc_6298() {
        let cfg = Config::new(&TcpParams::default()).unwrap();
        let mut e = RttEstimator::new(&cfg);
        assert_eq!(e.rto(), Duration::from_secs(3));
        e.sample(&cfg, Duration::from_millis(400));
        // SRTT 0.4, RTTVAR 0.2: 1.2 s.
        assert_eq!(e.rto(), Duration::from_millis(1200));
        e.sample(&cfg, Duration::from_millis(480));
        // RTTVAR 0.2 + (0.08 - 0.2)/4 = 0.17, SRTT 0.41: 1.09 s.
        assert_eq!(e.rto(), Duration::from_millis(1090));
        e.back_off(&cfg);
        e.back_off(&cfg);
        assert_eq!(e.rto(), Duration::from_millis(4360));
        (0..10).for_each(|_| e.back_off(&cfg));
        assert_eq!(e.rto(), Duration::from_secs(60));
        e.sample(&cfg, Duration::from_millis(410));
        assert!(!e.backed_off());
    }

    #[test]
    fn the_timeout_never_falls_below_its_minimum() {
        let cfg = Config::new(&TcpParams::default()).unwrap();
        let mut e = RttEstimator::new(&cfg);
        (0..100).for_each(|_| e.sample(&cfg, Duration::from_millis(1)));
        assert_eq!(e.rto(), Duration::from_millis(200));
    }
}
