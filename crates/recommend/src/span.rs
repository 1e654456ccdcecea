//! Quantities that may move.

use std::fmt;
use std::str::FromStr;

use quell_units::text::cut;

/// A quantity that moves between two values, which may be the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span<T> {
    /// The least.
    pub least: T,
    /// The most.
    pub most: T,
}

impl<T: Copy + PartialOrd> Span<T> {
    /// One value.
    pub fn of(value: T) -> Self {
        Span { least: value, most: value }
    }

    /// Tells whether it is more than one value.
    pub fn moves(&self) -> bool {
        self.least < self.most
    }
}

impl<T: FromStr<Err: fmt::Display> + PartialOrd + Copy + fmt::Display> FromStr for Span<T> {
    type Err = String;

    /// Reads `5Mbit/s..60Mbit/s`, `5..60Mbit/s` or `5Mbit/s`.
    fn from_str(text: &str) -> Result<Self, String> {
        let one = |text: &str| text.trim().parse::<T>().map_err(|why| why.to_string());
        let Some((low, high)) = text.split_once("..") else { return one(text).map(Span::of) };
        let most = one(high)?;
        let number = low.trim().parse::<f64>().is_ok();
        let unit = high.trim().trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        let least = if number { one(&format!("{}{unit}", low.trim()))? } else { one(low)? };
        if least > most {
            return Err(format!("\"{}\" is reversed: write {most}..{least}", cut(text)));
        }
        Ok(Span { least, most })
    }
}

impl<T: fmt::Display + PartialEq> fmt::Display for Span<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.least == self.most {
            true => self.least.fmt(f),
            false => write!(f, "{} to {}", self.least, self.most),
        }
    }
}
