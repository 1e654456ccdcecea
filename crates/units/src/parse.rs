//! Quantities from strings: a number and its unit.

use alloc::string::{String, ToString};
use core::fmt;

use crate::text::cut;
use crate::{BitRate, Bytes, Duration, QueueSize};

/// A string is not the quantity that was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    input: String,
    why: Why,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// It is not this.
    Not(&'static str),
    Negative,
    TooLarge,
}

impl ParseError {
    fn new(input: &str, why: Why) -> Self {
        ParseError { input: input.to_string(), why }
    }

    /// It is the quantity, but larger than what can be held.
    fn too_large(input: &str) -> Self {
        Self::new(input, Why::TooLarge)
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" is ", cut(&self.input))?;
        match self.why {
            Why::Not(expected) => {
                write!(f, "not {expected}")?;
                match expected {
                    RATE_EXPECTED => advise_rate(&self.input, f),
                    SIZE_EXPECTED => match of_packets(&self.input) {
                        Some(number) => write!(f, "; write \"{} packets\"", cut(number)),
                        None => Ok(()),
                    },
                    _ => Ok(()),
                }
            }
            Why::Negative => f.write_str("out of range: it must not be negative"),
            Why::TooLarge => f.write_str("out of range: it is too large"),
        }
    }
}

impl core::error::Error for ParseError {}

/// Splits "12.5 kB" into 12.5 and the factor of "kB" and returns their product, which is finite and
/// not negative.
fn quantity(s: &str, units: &[(&str, f64)], expected: &'static str) -> Result<f64, ParseError> {
    let (x, factor) = number_and_unit(s, units, expected)?;
    Ok(x * factor)
}

fn number_and_unit<U: Copy>(
    s: &str,
    units: &[(&str, U)],
    expected: &'static str,
) -> Result<(f64, U), ParseError> {
    let (x, factor) = split(s.trim(), units).ok_or_else(|| ParseError::new(s, Why::Not(expected)))?;
    match x {
        _ if x < 0.0 => Err(ParseError::new(s, Why::Negative)),
        _ if x.is_finite() => Ok((x, factor)),
        _ => Err(ParseError::too_large(s)),
    }
}

fn split<U: Copy>(s: &str, units: &[(&str, U)]) -> Option<(f64, U)> {
    // The unit starts at the first letter that does not belong to the number; an exponent does.
    let at = s
        .char_indices()
        .find(|&(i, c)| {
            (c.is_alphabetic())
                && !(matches!(c, 'e' | 'E')
                    && i > 0
                    && s[i + 1..].starts_with(|n: char| n.is_ascii_digit() || n == '-' || n == '+'))
        })
        .map(|(i, _)| i)?;
    let (number, unit) = s.split_at(at);
    let x: f64 = number.trim_end().parse().ok()?;
    let (_, factor) = units.iter().find(|(name, _)| *name == unit)?;
    Some((x, *factor))
}

/// Serializes a type as the string it prints, and reads the string it parses.
macro_rules! serde_as_string {
    ($t:ty) => {
        #[cfg(feature = "serde")]
        impl serde::Serialize for $t {
            fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
                s.collect_str(self)
            }
        }
        #[cfg(feature = "serde")]
        impl<'de> serde::Deserialize<'de> for $t {
            fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
                let s = <alloc::borrow::Cow<'de, str> as serde::Deserialize>::deserialize(d)?;
                s.parse().map_err(serde::de::Error::custom)
            }
        }
    };
}
const TIME_UNITS: &[(&str, f64)] =
    &[("ns", 1.0), ("us", 1e3), ("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9)];
const TIME_EXPECTED: &str = "a time with its unit (ns, us, ms, s, min, h), such as \"100 ms\"";

impl core::str::FromStr for Duration {
    type Err = ParseError;
    fn from_str(s: &str) -> Result<Self, ParseError> {
        let nanos = quantity(s, TIME_UNITS, TIME_EXPECTED)?;
        if nanos > u64::MAX as f64 {
            return Err(ParseError::too_large(s));
        }
        Ok(Duration::from_nanos((nanos + 0.5) as u64))
    }
}

serde_as_string!(Duration);

const RATE_UNITS: &[(&str, f64)] = &[
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("Mbit/s", 1e6),
    ("Gbit/s", 1e9),
    ("Tbit/s", 1e12),
    ("b/s", 1.0),
    ("kb/s", 1e3),
    ("Mb/s", 1e6),
    ("Gb/s", 1e9),
];
const RATE_EXPECTED: &str = "a rate with its unit (bit/s, kbit/s, Mbit/s, Gbit/s), such as \"10 Mbit/s\"";

/// What may be meant by a text that is not a rate.
fn advise_rate(input: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    if let Some((number, unit)) = of_tc(input) {
        return write!(f, "; write \"{} {unit}\"", cut(number));
    }
    if let Some((x, unit)) = of_bps(input) {
        let bytes = 8.0 * x;
        return write!(
            f,
            "; bits to most people, and bytes to Linux's tc: write \"{x} {unit}\" or \"{bytes} {unit}\""
        );
    }
    match of_bytes(input) {
        Some((x, unit)) => write!(f, "; a byte has 8 bits: write \"{} {unit}\"", 8.0 * x),
        None => Ok(()),
    }
}

/// The number of a text, and what its unit stands for among `units`, whatever their case.
fn told<U: Copy>(s: &str, units: &[(&str, U)], same: fn(&str, &str) -> bool) -> Option<(f64, U)> {
    let s = s.trim();
    let at = s.find(|c: char| c.is_ascii_alphabetic())?;
    let (_, ours) = units.iter().find(|(theirs, _)| same(theirs, &s[at..]))?;
    let x = s[..at].trim_end().parse::<f64>().ok()?;
    (0.0..1e15).contains(&x).then_some((x, *ours))
}

/// Bytes per second, `20 MB/s`: the number, and our unit of bits. A small b is a bit.
fn of_bytes(s: &str) -> Option<(f64, &'static str)> {
    let units =
        [("B/s", "bit/s"), ("kB/s", "kbit/s"), ("KB/s", "kbit/s"), ("MB/s", "Mbit/s"), ("GB/s", "Gbit/s")];
    told(s, &units, |theirs, unit| theirs == unit)
}

/// Packets under another name, `200 pkts`: the number as written.
fn of_packets(s: &str) -> Option<&str> {
    let units = [("packets", ()), ("packet", ()), ("pkts", ()), ("pkt", ()), ("pcks", ()), ("p", ())];
    told(s, &units, str::eq_ignore_ascii_case)?;
    Some(s.trim().trim_end_matches(|c: char| c.is_ascii_alphabetic()).trim_end())
}

/// A rate per second without its sign, `40 Mbps`: the number, and our unit if these are bits.
fn of_bps(s: &str) -> Option<(f64, &'static str)> {
    let units =
        [("bps", "bit/s"), ("kbps", "kbit/s"), ("mbps", "Mbit/s"), ("gbps", "Gbit/s"), ("tbps", "Tbit/s")];
    told(s, &units, str::eq_ignore_ascii_case)
}

/// A rate as Linux's `tc` has it, `40mbit`: the number, and our unit.
fn of_tc(s: &str) -> Option<(&str, &'static str)> {
    let s = s.trim();
    let at = s.find(|c: char| c.is_ascii_alphabetic())?;
    let (number, unit) = (s[..at].trim_end(), &s[at..]);
    let unit = unit.get(..unit.len().saturating_sub(2)).filter(|_| unit.ends_with("/s")).unwrap_or(unit);
    let units =
        [("bit", "bit/s"), ("kbit", "kbit/s"), ("mbit", "Mbit/s"), ("gbit", "Gbit/s"), ("tbit", "Tbit/s")];
    let (_, ours) = units.into_iter().find(|(theirs, _)| theirs.eq_ignore_ascii_case(unit))?;
    number.parse::<f64>().is_ok_and(|x| x >= 0.0).then_some((number, ours))
}

impl core::str::FromStr for BitRate {
    type Err = ParseError;
    fn from_str(s: &str) -> Result<Self, ParseError> {
        let bps = quantity(s, RATE_UNITS, RATE_EXPECTED)?;
        if bps > u64::MAX as f64 {
            return Err(ParseError::too_large(s));
        }
        Ok(BitRate::from_bps((bps + 0.5) as u64))
    }
}

serde_as_string!(BitRate);

const BYTE_UNITS: &[(&str, f64)] = &[
    ("B", 1.0),
    ("byte", 1.0),
    ("bytes", 1.0),
    ("kB", 1e3),
    ("MB", 1e6),
    ("GB", 1e9),
    ("KiB", 1024.0),
    ("MiB", 1048576.0),
];
const BYTES_EXPECTED: &str = "a size with its unit (B, kB, MB, GB, KiB, MiB), such as \"500 B\"";

#[derive(Clone, Copy)]
enum Kind {
    Packets,
    Bytes(f64),
}
const SIZE_UNITS: &[(&str, Kind)] = &[
    ("packets", Kind::Packets),
    ("packet", Kind::Packets),
    ("pkt", Kind::Packets),
    ("B", Kind::Bytes(1.0)),
    ("byte", Kind::Bytes(1.0)),
    ("bytes", Kind::Bytes(1.0)),
    ("kB", Kind::Bytes(1e3)),
    ("MB", Kind::Bytes(1e6)),
    ("GB", Kind::Bytes(1e9)),
    ("KiB", Kind::Bytes(1024.0)),
    ("MiB", Kind::Bytes(1048576.0)),
];
const SIZE_EXPECTED: &str =
    "a queue size with its unit (packets, B, kB, MB, GB, KiB, MiB), such as \"50 packets\" or \"75 kB\"";

impl core::str::FromStr for Bytes {
    type Err = ParseError;
    fn from_str(s: &str) -> Result<Self, ParseError> {
        let x = quantity(s, BYTE_UNITS, BYTES_EXPECTED)?;
        if x > 1e18 {
            return Err(ParseError::too_large(s));
        }
        Ok(Bytes::new((x + 0.5) as u64))
    }
}

impl core::str::FromStr for QueueSize {
    type Err = ParseError;
    fn from_str(s: &str) -> Result<Self, ParseError> {
        match number_and_unit(s, SIZE_UNITS, SIZE_EXPECTED)? {
            (x, Kind::Packets) => Ok(QueueSize::Packets(x)),
            (x, Kind::Bytes(f)) => Ok(QueueSize::Bytes(bytes(x, f))),
        }
    }
}

/// The bytes of `x` units of `unit` bytes. 32.48 times 1000 is a little less than 32480 to a double, and a buffer of
/// that size would hold a byte less than what is written: the whole number is meant.
fn bytes(x: f64, unit: f64) -> f64 {
    let product = x * unit;
    let whole = (product + 0.5) as u64 as f64;
    let away = (product - whole).max(whole - product);
    // Twice half a unit in the last place: of the number, and of the product.
    if unit > 1.0 && away <= product * f64::EPSILON { whole } else { product }
}

serde_as_string!(Bytes);
serde_as_string!(QueueSize);

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString;

    use crate::{BitRate, Duration, QueueSize};

    #[test]
    fn a_quantity_out_of_range_is_not_called_another_thing() {
        let time = |s: &str| s.parse::<Duration>().unwrap_err().to_string();
        assert_eq!(time("-5 ms"), "\"-5 ms\" is out of range: it must not be negative");
        assert_eq!(time("1e300 s"), "\"1e300 s\" is out of range: it is too large");
        assert_eq!(time("1e400 s"), "\"1e400 s\" is out of range: it is too large");
        assert!(time("5").starts_with("\"5\" is not a time with its unit"));
        let e = "1e30 Gbit/s".parse::<BitRate>().unwrap_err().to_string();
        assert!(e.ends_with("is out of range: it is too large"), "{e}");
        let e = "-1 packets".parse::<QueueSize>().unwrap_err().to_string();
        assert!(e.ends_with("is out of range: it must not be negative"), "{e}");
    }

    #[test]
    fn a_rate_as_tc_has_it_is_answered_with_ours() {
        let rate = |s: &str| s.parse::<BitRate>().unwrap_err().to_string();
        for (theirs, ours) in [
            ("40mbit", "40 Mbit/s"),
            ("1.5Gbit", "1.5 Gbit/s"),
            ("500 Kbit", "500 kbit/s"),
            ("40 mbit/s", "40 Mbit/s"),
        ] {
            assert!(
                rate(theirs).ends_with(&format!(", such as \"10 Mbit/s\"; write \"{ours}\"")),
                "{theirs}"
            );
        }
        // Megabytes to tc, and megabits to others.
        for (unclear, bits, bytes) in [
            ("200kbps", "200 kbit/s", "1600 kbit/s"),
            ("40 Mbps", "40 Mbit/s", "320 Mbit/s"),
            ("1.5gbps", "1.5 Gbit/s", "12 Gbit/s"),
            ("2 Tbps", "2 Tbit/s", "16 Tbit/s"),
            ("9600 bps", "9600 bit/s", "76800 bit/s"),
        ] {
            let want =
                format!("; bits to most people, and bytes to Linux's tc: write \"{bits}\" or \"{bytes}\"");
            assert!(rate(unclear).ends_with(&want), "{}", rate(unclear));
        }
        assert!(
            rate("20 MB/s").ends_with("; a byte has 8 bits: write \"160 Mbit/s\""),
            "{}",
            rate("20 MB/s")
        );
        assert!(rate("1.5kB/s").ends_with("write \"12 kbit/s\""), "{}", rate("1.5kB/s"));
        for unclear in ["40", "mbit", "40mbitt", "-4mbit", "µ", "MB/s", "-4 MB/s", "1e300 MB/s"] {
            assert!(!rate(unclear).contains("; write"), "{unclear}");
        }
        assert!(!"5mbit".parse::<Duration>().unwrap_err().to_string().contains("; write"));
    }

    #[test]
    fn packets_under_another_name_are_answered_with_ours() {
        let size = |s: &str| s.parse::<QueueSize>().unwrap_err().to_string();
        for (theirs, ours) in [("200 pkts", "200"), ("1.5 Packets", "1.5"), ("7P", "7")] {
            assert!(size(theirs).ends_with(&format!("; write \"{ours} packets\"")), "{}", size(theirs));
        }
        for unclear in ["200", "pkts", "100 ms", "-2 pkts", "µ pkts"] {
            assert!(!size(unclear).contains("; write"), "{unclear}");
        }
    }

    #[test]
    fn a_long_text_is_cut() {
        let e = "7".repeat(200_000).parse::<Duration>().unwrap_err().to_string();
        assert!(e.starts_with(&format!("\"{}\u{2026} (200000 characters)\" is not", "7".repeat(40))), "{e}");
        assert!(e.len() < 200, "{e}");
    }
}
