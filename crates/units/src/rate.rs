//! Rates of links and sources.

use core::fmt;

use crate::{Bytes, Duration};

/// A rate in bits per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BitRate(u64);

impl BitRate {
    /// Makes a rate of bits per second.
    pub const fn from_bps(bps: u64) -> Self {
        BitRate(bps)
    }

    /// Bits per second.
    #[inline]
    pub const fn bps(self) -> u64 {
        self.0
    }

    /// Bytes per second.
    #[inline]
    pub fn bytes_per_sec(self) -> f64 {
        self.0 as f64 / 8.0
    }

    /// Packets of `size` per second: the C of the fluid models.
    #[inline]
    pub fn packets_per_sec(self, size: Bytes) -> f64 {
        self.bytes_per_sec() / size.get() as f64
    }

    /// Time that `size` takes to serialize, to the nearest nanosecond; [`Duration::MAX`] at rate 0.
    pub fn transmission_time(self, size: Bytes) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        let bits = size.get() as u128 * 8_000_000_000;
        let nanos = (bits + self.0 as u128 / 2) / self.0 as u128;
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let x = self.0 as f64;
        match self.0 {
            b if b >= 1_000_000_000 && b % 1_000 == 0 => write!(f, "{} Gbit/s", x / 1e9),
            b if b >= 1_000_000 && b % 10 == 0 => write!(f, "{} Mbit/s", x / 1e6),
            b if b >= 1_000 => write!(f, "{} kbit/s", x / 1e3),
            b => write!(f, "{b} bit/s"),
        }
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn rates_print_what_they_parse() {
        for (text, bps) in
            [("10 Mbit/s", 10_000_000), ("1.5 kbit/s", 1_500), ("40 Gbit/s", 40_000_000_000), ("7 bit/s", 7)]
        {
            let r: BitRate = text.parse().unwrap();
            assert_eq!(r.bps(), bps);
            assert_eq!(r.to_string(), text);
        }
        assert_eq!("45Mb/s".parse::<BitRate>().unwrap().bps(), 45_000_000);
        assert!("10 MB/s".parse::<BitRate>().is_err());
    }

    #[test]
    fn transmission_time_rounds_to_the_nearest_nanosecond() {
        let r = BitRate::from_bps(10_000_000);
        assert_eq!(r.transmission_time(Bytes::new(500)).nanos(), 400_000);
        assert_eq!(BitRate::from_bps(3).transmission_time(Bytes::new(1)).nanos(), 2_666_666_667);
        assert_eq!(BitRate::from_bps(0).transmission_time(Bytes::new(1)), Duration::MAX);
        assert_eq!(r.packets_per_sec(Bytes::new(500)), 2500.0);
    }
}
