//! The rounding of designed parameters.

/// Digits of a designed parameter: as many as anyone would type, far more than the rules are good to.
const DIGITS: usize = 6;
/// One in the last of them, against a number that begins with 1.
const STEP: f64 = 1e-5;

/// Rounds to [`DIGITS`] digits.
pub(super) fn round(x: f64) -> f64 {
    format!("{x:.*e}", DIGITS - 1).parse().unwrap_or(x)
}

/// A positive number to [`DIGITS`] digits, never below it.
pub(super) fn round_up(x: f64) -> f64 {
    let near = round(x);
    if near >= x { near } else { round(near * (1.0 + STEP)) }
}

/// A positive number to [`DIGITS`] digits, never above it.
pub(super) fn round_down(x: f64) -> f64 {
    let near = round(x);
    if near <= x { near } else { round(near * (1.0 - STEP)) }
}
