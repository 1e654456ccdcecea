//! Numbers and quantities in one type: what expressions and ranges compute with.

use std::fmt;

use quell_units::{BitRate, Duration, QueueSize};

use crate::tree::{Node, Value};

/// The unit of an amount: exponents of its base units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Unit {
    packets: i32,
    bits: i32,
    seconds: i32,
}

const PACKETS: Unit = Unit { packets: 1, bits: 0, seconds: 0 };
const BITS: Unit = Unit { packets: 0, bits: 1, seconds: 0 };
const SECONDS: Unit = Unit { packets: 0, bits: 0, seconds: 1 };
const RATE: Unit = Unit { packets: 0, bits: 1, seconds: -1 };

impl Unit {
    /// The unit of plain numbers.
    pub const ONE: Unit = Unit { packets: 0, bits: 0, seconds: 0 };
    /// The unit of queues that are counted in packets.
    pub const PACKETS: Unit = PACKETS;

    /// The unit of a product, or with `sign` -1 of a quotient.
    pub fn times(self, other: Unit, sign: i32) -> Unit {
        let add = |a: i32, b: i32| a.saturating_add(b.saturating_mul(sign));
        Unit {
            packets: add(self.packets, other.packets),
            bits: add(self.bits, other.bits),
            seconds: add(self.seconds, other.seconds),
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Unit::ONE => return f.write_str("a plain number"),
            PACKETS => return f.write_str("packets"),
            BITS => return f.write_str("bytes"),
            SECONDS => return f.write_str("a time"),
            RATE => return f.write_str("a rate"),
            _ => {}
        }
        let parts = [("packet", self.packets), ("bit", self.bits), ("s", self.seconds)];
        let write = |above: bool| {
            let part = |(name, n): &(&str, i32)| match n.unsigned_abs() {
                1 => name.to_string(),
                n => format!("{name}^{n}"),
            };
            let found: Vec<String> =
                parts.iter().filter(|(_, n)| *n != 0 && (*n > 0) == above).map(part).collect();
            found.join("*")
        };
        let (above, below) = (write(true), write(false));
        let above = if above.is_empty() { "1".to_string() } else { above };
        if below.is_empty() { f.write_str(&above) } else { write!(f, "{above}/{below}") }
    }
}

/// A number and its unit: bits, seconds and packets, whatever unit it was written in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Amount {
    pub value: f64,
    pub unit: Unit,
}

/// The largest number up to which whole numbers are exact.
const EXACT: f64 = 9_007_199_254_740_992.0;

impl Amount {
    /// A plain number.
    pub fn number(value: f64) -> Amount {
        Amount { value, unit: Unit::ONE }
    }

    /// A number, or a quantity as files have it.
    pub fn read(text: &str) -> Option<Amount> {
        let text = text.trim();
        let of = |value: f64, unit: Unit| Some(Amount { value, unit });
        if let Ok(x) = text.parse::<f64>() {
            // Rust also reads "nan" and "infinity".
            return text.contains(|c: char| c.is_ascii_digit()).then(|| Amount::number(x))?.finite();
        }
        if let Ok(time) = text.parse::<Duration>() {
            return of(time.as_secs_f64(), SECONDS);
        }
        if let Ok(rate) = text.parse::<BitRate>() {
            return of(rate.bps() as f64, RATE);
        }
        match text.parse::<QueueSize>().ok()? {
            QueueSize::Packets(x) => of(x, PACKETS),
            QueueSize::Bytes(x) => of(x * 8.0, BITS).and_then(Amount::finite),
        }
    }

    /// The amount that a node holds.
    pub fn of(node: &Node) -> Option<Amount> {
        match &node.value {
            Value::Integer(n) => Some(Amount::number(*n as f64)),
            Value::Float(x) => Amount::number(*x).finite(),
            Value::String(text) => Amount::read(text),
            _ => None,
        }
    }

    fn finite(self) -> Option<Amount> {
        self.value.is_finite().then_some(self)
    }

    /// The same without what only the arithmetic of floating point has left.
    pub fn rounded(self, digits: usize) -> Amount {
        let text = format!("{:.*e}", digits.saturating_sub(1), self.value);
        Amount { value: text.parse().unwrap_or(self.value), ..self }
    }

    /// Its form in a file. Whole numbers are integers.
    pub fn write(self) -> Result<Value, String> {
        let Amount { value, unit } = self;
        if unit == Unit::ONE {
            let whole = value.fract() == 0.0 && value.abs() <= EXACT;
            return Ok(if whole { Value::Integer(value as i64) } else { Value::Float(value) });
        }
        let text = match unit {
            PACKETS => QueueSize::Packets(value).to_string(),
            BITS => QueueSize::Bytes(value / 8.0).to_string(),
            SECONDS => Duration::from_secs_f64(value).to_string(),
            RATE => BitRate::from_bps((value + 0.5) as u64).to_string(),
            _ => {
                let rule = format!(
                    "is measured in {unit}, which no field takes; divide by such an amount for a plain number"
                );
                return Err(rule);
            }
        };
        if value < 0.0 {
            return Err(format!("is {self}: {unit} must not be negative here"));
        }
        Ok(Value::String(text))
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = Amount { value: self.value.abs(), ..*self };
        let sign = if self.value < 0.0 && self.unit != Unit::ONE { "-" } else { "" };
        match if sign.is_empty() { *self } else { size }.write() {
            Ok(Value::String(text)) => write!(f, "{sign}{text}"),
            Ok(Value::Integer(n)) => write!(f, "{n}"),
            _ if self.unit == Unit::ONE => write!(f, "{:?}", self.value),
            _ => write!(f, "{:?} {}", self.value, self.unit),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Up to 2^53 every whole number is one, and none stands for another.
    #[test]
    fn whole_numbers_are_integers_as_far_as_they_are_exact() {
        let write = |x: f64| Amount::number(x).write().unwrap();
        assert_eq!(write(EXACT), Value::Integer(1 << 53));
        assert_eq!(write(-EXACT), Value::Integer(-(1 << 53)));
        assert_eq!(write(EXACT.next_up()), Value::Float(EXACT.next_up()));
        assert_eq!(write(0.5), Value::Float(0.5));
    }
}
