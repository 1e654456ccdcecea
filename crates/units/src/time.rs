//! Points in time and lengths of time, both in whole nanoseconds.

use core::fmt;
use core::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// A point in time: nanoseconds since the start of the run (simulator) or of the host's clock.
///
/// Points subtract to a [`Duration`]; nothing multiplies or divides them, so
/// `(now + interval) / sqrt(count)` does not compile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Time(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than anything that happens.
    pub const MAX: Time = Time(u64::MAX);

    /// The point `nanos` nanoseconds after the start.
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Time(nanos)
    }

    /// Nanoseconds since the start.
    #[inline]
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Seconds since the start.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// The time since `earlier`, zero if `earlier` is not earlier.
    #[inline]
    pub fn since(self, earlier: Time) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Time {
    type Output = Time;
    #[inline]
    fn add(self, d: Duration) -> Time {
        Time(self.0.saturating_add(d.0))
    }
}

impl AddAssign<Duration> for Time {
    #[inline]
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub<Time> for Time {
    type Output = Duration;
    /// Panics in debug builds if `earlier` is later: time runs forward.
    #[inline]
    fn sub(self, earlier: Time) -> Duration {
        debug_assert!(self >= earlier, "time runs forward");
        Duration(self.0 - earlier.0)
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration(self.0).fmt(f)
    }
}

/// A length of time in nanoseconds; up to 584 years.
///
/// Eight bytes rather than `core::time::Duration`'s sixteen, and it parses and prints with a unit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Duration(u64);

impl Duration {
    /// No time at all.
    pub const ZERO: Duration = Duration(0);
    /// Longer than any run.
    pub const MAX: Duration = Duration(u64::MAX);

    /// Makes a duration of nanoseconds.
    #[inline]
    pub const fn from_nanos(nanos: u64) -> Self {
        Duration(nanos)
    }

    /// Makes a duration of microseconds.
    pub const fn from_micros(micros: u64) -> Self {
        Duration(micros * 1_000)
    }

    /// Makes a duration of milliseconds.
    pub const fn from_millis(millis: u64) -> Self {
        Duration(millis * 1_000_000)
    }

    /// Makes a duration of seconds.
    pub const fn from_secs(secs: u64) -> Self {
        Duration(secs * 1_000_000_000)
    }

    /// Makes a duration of seconds, to the nearest nanosecond; negative and NaN become zero, too large
    /// becomes [`Duration::MAX`].
    #[inline]
    pub fn from_secs_f64(secs: f64) -> Self {
        // A float-to-integer cast saturates, and sends NaN to 0.
        Duration((secs * 1e9 + 0.5) as u64)
    }

    /// Nanoseconds.
    #[inline]
    pub const fn nanos(self) -> u64 {
        self.0
    }

    /// Seconds.
    #[inline]
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / 1e9
    }

    /// True for no time at all.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// `self * x`, to the nearest nanosecond; see [`Duration::from_secs_f64`] for the edges.
    #[inline]
    pub fn mul_f64(self, x: f64) -> Self {
        Duration((self.0 as f64 * x + 0.5) as u64)
    }
}

impl From<Duration> for core::time::Duration {
    fn from(d: Duration) -> Self {
        core::time::Duration::from_nanos(d.0)
    }
}

impl Add for Duration {
    type Output = Duration;
    #[inline]
    fn add(self, d: Duration) -> Duration {
        Duration(self.0.saturating_add(d.0))
    }
}

impl AddAssign for Duration {
    #[inline]
    fn add_assign(&mut self, d: Duration) {
        *self = *self + d;
    }
}

impl Sub for Duration {
    type Output = Duration;
    /// Saturates at zero.
    #[inline]
    fn sub(self, d: Duration) -> Duration {
        Duration(self.0.saturating_sub(d.0))
    }
}

impl SubAssign for Duration {
    #[inline]
    fn sub_assign(&mut self, d: Duration) {
        *self = *self - d;
    }
}

impl Mul<u64> for Duration {
    type Output = Duration;
    #[inline]
    fn mul(self, n: u64) -> Duration {
        Duration(self.0.saturating_mul(n))
    }
}

impl Div<u64> for Duration {
    type Output = Duration;
    #[inline]
    fn div(self, n: u64) -> Duration {
        Duration(self.0 / n)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The largest unit that leaves no fraction, so that the text parses back exactly;
        // milliseconds and seconds may keep a short one ("1.5 s").
        let n = self.0;
        match n {
            0 => f.write_str("0 s"),
            _ if n.is_multiple_of(1_000_000) && n >= 1_000_000_000 => write!(f, "{} s", n as f64 / 1e9),
            _ if n.is_multiple_of(1_000) && n >= 1_000_000 => write!(f, "{} ms", n as f64 / 1e6),
            _ if n.is_multiple_of(1_000) => write!(f, "{} us", n / 1_000),
            _ => write!(f, "{n} ns"),
        }
    }
}

#[cfg(all(test, feature = "alloc"))]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn durations_print_what_they_parse() {
        for (text, nanos) in [
            ("100 ms", 100_000_000),
            ("0 s", 0),
            ("1.5 s", 1_500_000_000),
            ("5.882 ms", 5_882_000),
            ("17 ns", 17),
            ("250 us", 250_000),
            ("1800 s", 1_800_000_000_000),
        ] {
            let d: Duration = text.parse().unwrap();
            assert_eq!(d.nanos(), nanos, "{text}");
            assert_eq!(d.to_string(), text);
        }
        assert_eq!("2 min".parse::<Duration>().unwrap(), Duration::from_secs(120));
    }

    #[test]
    fn whole_nanoseconds_become_the_nearest_seconds() {
        assert_eq!(Time::from_nanos(30_000_000_000).as_secs_f64(), 30.0);
        assert_eq!(Duration::from_millis(180).as_secs_f64(), 0.18);
    }

    #[test]
    fn a_time_without_unit_or_below_zero_is_refused() {
        for text in ["100", "ms", "-1 s", "1 parsec", "", "nan s", "1e30 s"] {
            assert!(text.parse::<Duration>().is_err(), "{text:?}");
        }
    }
}
