//! What the types share: a number and its unit from a string.

use alloc::string::{String, ToString};
use core::fmt;

/// A string is not the quantity that was expected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    input: String,
    expected: &'static str,
}

impl ParseError {
    pub(crate) fn new(input: &str, expected: &'static str) -> Self {
        ParseError { input: input.to_string(), expected }
    }
}

impl fmt::Display for ParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "\"{}\" is not {}", self.input, self.expected)
    }
}

impl core::error::Error for ParseError {}

/// Splits "12.5 kB" into 12.5 and the factor of "kB" and returns their product, which is finite and
/// not negative.
pub(crate) fn quantity(s: &str, units: &[(&str, f64)], expected: &'static str) -> Result<f64, ParseError> {
    let (x, factor) = number_and_unit(s, units).ok_or_else(|| ParseError::new(s, expected))?;
    Ok(x * factor)
}

pub(crate) fn number_and_unit<U: Copy>(s: &str, units: &[(&str, U)]) -> Option<(f64, U)> {
    let s = s.trim();
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
    (x.is_finite() && x >= 0.0).then_some((x, *factor))
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
pub(crate) use serde_as_string;
