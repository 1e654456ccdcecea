//! Numbers with units as tc reads and prints them (tc(8), UNITS).

use quell_units::{BitRate, Bytes, Duration};

/// A value of a word.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value {
    /// Microseconds.
    Time(u64),
    /// Bytes.
    Size(u64),
    /// Bits per second.
    Rate(BitRate),
    /// A whole number: of packets, of queues.
    Int(i64),
    /// A number.
    Number(f64),
    /// One of several words that exclude each other.
    Choice(&'static str),
}

/// The meaning of what stands behind a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A time. Without a unit it is in microseconds.
    Time,
    /// A time that tc has in seconds.
    Seconds,
    /// A time that tc has in milliseconds.
    Millis,
    /// Bytes, whose `k` is 1024.
    Size,
    /// Bytes, with the step of a table of tc's behind a slash, as in `32Kb/1`.
    Cells,
    /// What a packet is put in: `ethernet`, `atm` or `adsl`.
    LinkLayer,
    /// Bits per second, or bytes per second if the unit ends in `bps`.
    Rate,
    /// A rate, or the word `unlimited`, which is none.
    RateIfAny,
    /// A number of packets, which tc prints with a `p`.
    Packets,
    /// A whole number.
    Int,
    /// A whole number of a range.
    Within(i64, i64),
    /// A number.
    Number,
    /// A share in percent.
    Percent,
    /// A time, or a number of packets.
    TimeOrPackets,
    /// An ECN field and its mask, as in `1/3`.
    Selector,
    /// Nothing: the word is the value of this setting.
    Of(&'static str),
    /// Nothing: the word stands for these.
    Short(&'static str),
    /// Nothing: a framing, if it has one, bytes more of overhead, and the smallest packet, if it has one.
    Layer(&'static str, i64, i64),
}

/// The largest time that tc can hand over, in microseconds, and the largest size, in bytes.
const MOST: u64 = u32::MAX as u64;

/// A number and what stands behind it, in small letters. The number may have a sign and an exponent, as for strtod.
fn split(text: &str) -> Option<(f64, String)> {
    let end = text.char_indices().find(|&(i, c)| {
        let exponent = matches!(c, 'e' | 'E')
            && i > 0
            && text[i + 1..].starts_with(|n: char| n.is_ascii_digit() || n == '-' || n == '+');
        !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+') || exponent)
    });
    let (number, unit) = text.split_at(end.map_or(text.len(), |(i, _)| i));
    let number: f64 = number.parse().ok()?;
    number.is_finite().then(|| (number, unit.to_ascii_lowercase()))
}

/// A number of at least 0 and at most `most`, rounded down as C does, but for the error of a product.
fn whole(x: f64, most: u64) -> Option<u64> {
    let near = libm::round(x);
    let x = if libm::fabs(x - near) < 1e-6 * near.max(1.0) { near } else { libm::floor(x) };
    (x >= 0.0 && x <= most as f64).then_some(x as u64)
}

/// A time in microseconds; `bare` is how many of them a number without a unit counts.
pub(crate) fn time(text: &str, bare: f64) -> Option<u64> {
    let (x, unit) = split(text)?;
    let factor = match unit.as_str() {
        "" => bare,
        "s" | "sec" | "secs" => 1e6,
        "ms" | "msec" | "msecs" => 1e3,
        "us" | "usec" | "usecs" => 1.0,
        "ns" | "nsec" | "nsecs" => 1e-3,
        _ => return None,
    };
    whole(x * factor, MOST)
}

/// A size in bytes.
pub(crate) fn size(text: &str) -> Option<u64> {
    let (x, unit) = split(text)?;
    let factor = match unit.as_str() {
        "" | "b" => 1.0,
        "k" | "kb" => 1024.0,
        "m" | "mb" => 1048576.0,
        "g" | "gb" => 1073741824.0,
        "kbit" => 128.0,
        "mbit" => 131072.0,
        "gbit" => 134217728.0,
        _ => return None,
    };
    whole(x * factor, MOST)
}

/// Reads a rate as tc does (tc(8), UNITS): without a unit it is in bits per second, and `bps` are bytes. None of other
/// texts, and above 10^15 bits per second.
pub fn rate(text: &str) -> Option<BitRate> {
    let (x, unit) = split(text)?;
    let (prefix, bits) = match (unit.strip_suffix("bit"), unit.strip_suffix("bps")) {
        _ if unit.is_empty() => ("", 1.0),
        (Some(prefix), _) => (prefix, 1.0),
        (_, Some(prefix)) => (prefix, 8.0),
        _ => return None,
    };
    let factor = match prefix {
        "" => 1.0,
        "k" => 1e3,
        "m" => 1e6,
        "g" => 1e9,
        "t" => 1e12,
        "ki" => 1024.0,
        "mi" => 1048576.0,
        "gi" => 1073741824.0,
        "ti" => 1099511627776.0,
        _ => return None,
    };
    // A scenario's rates have at most this.
    whole(x * bits * factor, 1_000_000_000_000_000).map(BitRate::from_bps)
}

/// A whole number, which may be negative, with one of these units or none.
fn int(text: &str, units: &[&str]) -> Option<i64> {
    if let Some(hex) = text.strip_prefix("0x") {
        return u32::from_str_radix(hex, 16).ok().map(i64::from);
    }
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '-' && c != '+').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let n: i64 = number.parse().ok()?;
    (unit.is_empty() || units.contains(&unit)).then_some(n).filter(|n| n.unsigned_abs() <= MOST)
}

const PACKETS: &[&str] = &["p", "pkt", "pkts", "packet", "packets"];

impl Kind {
    /// What such a value is, with an example.
    pub(crate) fn expected(self) -> String {
        let what = match self {
            Kind::Within(least, most) => return format!("a whole number from {least} to {most}"),
            Kind::Time => "a time of at most 4294 s, such as 5ms",
            Kind::Seconds => "a number of seconds, such as 10",
            Kind::Millis => "a number of milliseconds, such as 600000",
            Kind::Size | Kind::Cells => "a size below 4 GiB, such as 1514 or 32kb",
            Kind::LinkLayer => "ethernet, atm or adsl",
            Kind::Rate => "a rate, such as 18mbit",
            Kind::RateIfAny => "a rate, such as 18mbit, or unlimited",
            Kind::Packets => "a number of packets, such as 1000",
            Kind::Int => "a whole number",
            Kind::Number => "a number",
            Kind::Percent => "a percentage, such as 10%",
            Kind::TimeOrPackets => "a time or a number of packets, such as 1ms or 5p",
            Kind::Selector => "an ECN field and its mask, such as 1/3",
            Kind::Of(_) | Kind::Short(_) | Kind::Layer(..) => "nothing",
        };
        what.to_string()
    }

    /// The value that a text is, if it is one.
    pub(crate) fn value(self, text: &str) -> Option<Value> {
        let packets = |text| int(text, PACKETS).filter(|n| *n >= 0).map(Value::Int);
        match self {
            Kind::Time => time(text, 1.0).map(Value::Time),
            Kind::Seconds => time(text, 1e6).map(Value::Time),
            Kind::Millis => time(text, 1e3).map(Value::Time),
            Kind::Size => size(text).map(Value::Size),
            Kind::Cells => match text.split_once('/') {
                Some((bytes, cell)) => {
                    size(bytes).filter(|_| cell.bytes().all(|c| c.is_ascii_digit())).map(Value::Size)
                }
                None => size(text).map(Value::Size),
            },
            Kind::LinkLayer => {
                ["ethernet", "atm", "adsl"].into_iter().find(|known| *known == text).map(Value::Choice)
            }
            Kind::RateIfAny if text == "unlimited" => Some(Value::Rate(BitRate::from_bps(0))),
            Kind::Rate | Kind::RateIfAny => rate(text).map(Value::Rate),
            Kind::Packets => packets(text),
            Kind::Int => int(text, &[]).map(Value::Int),
            Kind::Within(least, most) => {
                int(text, &[]).filter(|n| (least..=most).contains(n)).map(Value::Int)
            }
            Kind::Number => split(text.trim_end_matches("pps"))
                .filter(|(_, unit)| unit.is_empty())
                .map(|(x, _)| Value::Number(x)),
            Kind::Percent => {
                let (x, unit) = split(text.trim_end_matches('%'))?;
                (unit.is_empty() && (0.0..=100.0).contains(&x)).then_some(Value::Number(x))
            }
            Kind::TimeOrPackets => time(text, 1.0).map(Value::Time).or_else(|| packets(text)),
            Kind::Selector => {
                let (field, mask) = text.split_once('/')?;
                let number = |text: &str| match text.strip_prefix("0x") {
                    Some(hex) => u8::from_str_radix(hex, 16).ok(),
                    None => text.parse().ok(),
                };
                match (number(field)?, number(mask)?) {
                    (1, 3) => Some(Value::Choice("1/3")),
                    (0, 0) => Some(Value::Choice("0/0")),
                    _ => None,
                }
            }
            Kind::Of(_) | Kind::Short(_) | Kind::Layer(..) => None,
        }
    }

    /// The value as tc reads it, exactly.
    pub(crate) fn text(self, value: Value) -> String {
        match (self, value) {
            (Kind::Seconds, Value::Time(us)) => (us / 1_000_000).to_string(),
            (Kind::Millis, Value::Time(us)) => (us / 1_000).to_string(),
            (_, Value::Time(us)) if us % 1_000_000 == 0 && us > 0 => format!("{}s", us / 1_000_000),
            (_, Value::Time(us)) if us % 1_000 == 0 && us > 0 => format!("{}ms", us / 1_000),
            (_, Value::Time(us)) => format!("{us}us"),
            (_, Value::Size(bytes)) => bytes.to_string(),
            (Kind::RateIfAny, Value::Rate(rate)) if rate.bps() == 0 => "unlimited".into(),
            (_, Value::Rate(rate)) => match rate.bps() {
                bps if bps % 1_000_000_000 == 0 => format!("{}gbit", bps / 1_000_000_000),
                bps if bps % 1_000_000 == 0 => format!("{}mbit", bps / 1_000_000),
                bps if bps % 1_000 == 0 => format!("{}kbit", bps / 1_000),
                bps => format!("{bps}bit"),
            },
            (Kind::TimeOrPackets, Value::Int(n)) => format!("{n}p"),
            (_, Value::Int(n)) => n.to_string(),
            (Kind::Percent, Value::Number(x)) => format!("{x}%"),
            (_, Value::Number(x)) => x.to_string(),
            (_, Value::Choice(word)) => word.into(),
        }
    }
}

/// A time of microseconds.
pub(crate) fn duration(us: u64) -> Duration {
    Duration::from_nanos(us * 1_000)
}

/// A time in microseconds, rounded.
pub(crate) fn micros(time: Duration) -> u64 {
    (time.nanos() / 1_000 + u64::from(time.nanos() % 1_000 >= 500)).min(MOST)
}

/// A size that tc can hand over.
pub(crate) fn bytes(size: Bytes) -> u64 {
    size.get().min(MOST)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// tc(8): a bare rate is in bits, and bps are bytes; k of sizes is 1024; a bare time is in microseconds.
    #[test]
    fn units_are_those_of_the_manual() {
        for (text, bps) in [
            ("18mbit", 18_000_000),
            ("18Mbit", 18_000_000),
            ("2.5mbps", 20_000_000),
            ("200kbps", 1_600_000),
            ("1mibit", 1_048_576),
            ("1kibps", 8_192),
            ("9600", 9_600),
            ("1e6bit", 1_000_000),
            ("9.165Mbit", 9_165_000),
            ("2gibit", 2_147_483_648),
        ] {
            assert_eq!(rate(text).map(BitRate::bps), Some(bps), "{text}");
        }
        for (text, bytes) in
            [("32kb", 32_768), ("1514b", 1514), ("32Mb", 33_554_432), ("1540", 1540), ("8kbit", 1024)]
        {
            assert_eq!(size(text), Some(bytes), "{text}");
        }
        for (text, us) in
            [("5ms", 5_000), ("5000", 5_000), ("0.1s", 100_000), ("1e-3s", 1_000), ("14.9ms", 14_900)]
        {
            assert_eq!(time(text, 1.0), Some(us), "{text}");
        }
        for text in ["", "ms", "5 ms", "-5ms", "5mm", "1e400s", "5000s", "nan", "inf", "µs", "0x5ms"] {
            assert_eq!(time(text, 1.0), None, "{text}");
            assert_eq!(size(text), None, "{text}");
        }
        for text in ["-1mbit", "50%", "18mbits", "1e30gbit", "18mb"] {
            assert_eq!(rate(text), None, "{text}");
        }
        assert_eq!(Kind::TimeOrPackets.value("5packets"), Some(Value::Int(5)));
        assert_eq!(Kind::Selector.value("0x1/0x3"), Some(Value::Choice("1/3")));
    }
}
