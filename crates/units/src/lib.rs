//! Quantities as types: a point in time is not a length of time, a packet is not a byte, and a rate
//! is not a number.
//!
//! Files and Python speak strings (`"10 Mbit/s"`, `"50 ms"`, `"20 packets"`), the Rust APIs speak
//! these types, and only the inside of one equation speaks `f64`. Every type here parses what it
//! prints.
//!
//! Without the feature `alloc`, which is on by default, nothing parses. The feature `serde` reads and
//! writes the types as the strings they print.
#![no_std]
#![deny(missing_docs)]
// The same results on every platform: see clippy.toml.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

#[cfg(feature = "alloc")]
extern crate alloc;

/// Its examples are tests.
#[cfg(all(doctest, feature = "alloc"))]
#[doc = include_str!("../README.md")]
struct Readme;

mod layer;
#[cfg(feature = "alloc")]
mod parse;
mod rate;
mod size;
#[cfg(feature = "alloc")]
pub mod text;
mod time;

pub use layer::{Framing, Layer, LinkLayer};
#[cfg(feature = "alloc")]
pub use parse::ParseError;
pub use rate::BitRate;
pub use size::{Bytes, Packets, QueueSize};
pub use time::{Duration, Time};

/// The index that `n` is. Where `usize` has 32 bits, as in a browser, a larger `n` becomes the largest index, which no
/// list reaches: a cast would wrap to one that is there.
#[inline(always)]
pub fn index(n: u64) -> usize {
    usize::try_from(n).unwrap_or(usize::MAX)
}

/// A value in [0, 1].
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Prob(f64);

impl Prob {
    /// Never.
    pub const ZERO: Prob = Prob(0.0);
    /// Always.
    pub const ONE: Prob = Prob(1.0);

    /// `Some` if `x` lies in [0, 1] (so not for NaN).
    pub fn new(x: f64) -> Option<Self> {
        (0.0..=1.0).contains(&x).then_some(Prob(x))
    }

    /// `x` moved to the nearest value in [0, 1]; NaN becomes 0.
    #[inline]
    pub fn clamped(x: f64) -> Self {
        Prob(if x > 0.0 { if x < 1.0 { x } else { 1.0 } } else { 0.0 })
    }

    /// The value.
    #[inline]
    pub fn get(self) -> f64 {
        self.0
    }
}

impl core::fmt::Display for Prob {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}", self.0)
    }
}

#[cfg(feature = "serde")]
impl serde::Serialize for Prob {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_f64(self.0)
    }
}

#[cfg(feature = "serde")]
impl<'de> serde::Deserialize<'de> for Prob {
    fn deserialize<D: serde::Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        let x = <f64 as serde::Deserialize>::deserialize(d)?;
        Prob::new(x).ok_or_else(|| {
            serde::de::Error::custom(alloc::format!("{x} is not a probability: must lie in [0, 1]"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_beyond_all_lists_stays_beyond_them() {
        for n in [0, 1, 4_200_000_000, u64::from(u32::MAX), 1 << 40, u64::MAX] {
            assert_eq!(index(n) as u128, u128::from(n).min(usize::MAX as u128));
        }
    }

    #[test]
    fn a_probability_outside_the_unit_interval_is_refused_or_clamped() {
        assert_eq!(Prob::new(1.0), Some(Prob::ONE));
        assert_eq!(Prob::new(-0.0).map(Prob::get), Some(0.0));
        assert_eq!(Prob::new(1.0 + 1e-12), None);
        assert_eq!(Prob::new(f64::NAN), None);
        assert_eq!(Prob::clamped(f64::NAN), Prob::ZERO);
        assert_eq!(Prob::clamped(7.0), Prob::ONE);
    }
}
