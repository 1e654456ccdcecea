//! Arithmetic that each acknowledgment does, without what the library's asks first: none of these numbers is NaN, and
//! none is beyond 2^63.

use quell_units::Duration;

/// The smaller of two.
#[inline(always)]
pub(crate) fn lesser(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The larger of two.
#[inline(always)]
pub(crate) fn larger(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}

/// Adding it to less than half of it leaves no fraction.
const WHOLE: f64 = (1u64 << 52) as f64;

/// `libm::ceil` of what is not negative and below 2^51.
#[inline(always)]
pub(crate) fn ceil(x: f64) -> f64 {
    let near = (x + WHOLE) - WHOLE;
    near + f64::from(u8::from(near < x))
}

/// `libm::floor` of what is not negative and below 2^51.
#[inline(always)]
pub(crate) fn floor(x: f64) -> f64 {
    let near = (x + WHOLE) - WHOLE;
    near - f64::from(u8::from(near > x))
}

/// A count as a number: the conversion of signed integers is an instruction.
#[inline(always)]
pub(crate) fn count(n: u64) -> f64 {
    n as i64 as f64
}

/// [`Duration::as_secs_f64`] of less than 292 years.
#[inline(always)]
pub(crate) fn seconds(d: Duration) -> f64 {
    count(d.nanos()) / 1e9
}

/// [`Duration::from_secs_f64`] of a time that is not negative, and less than 292 years.
#[inline(always)]
pub(crate) fn duration(seconds: f64) -> Duration {
    Duration::from_nanos((seconds * 1e9 + 0.5) as i64 as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn they_are_the_library_s(x in 0.0..2e15, y in 0.0..1e3, nanos in 0u64..1 << 62) {
            prop_assert_eq!((lesser(x, y), larger(x, y)), (x.min(y), x.max(y)));
            for x in [x, y, libm::floor(x), libm::floor(x) + 0.5] {
                prop_assert_eq!((floor(x), ceil(x)), (libm::floor(x), libm::ceil(x)));
            }
            prop_assert_eq!(seconds(Duration::from_nanos(nanos)), Duration::from_nanos(nanos).as_secs_f64());
            for x in [y, y * 1e-3, y * 1e-6, y * 1e-9] {
                prop_assert_eq!(duration(x), Duration::from_secs_f64(x));
            }
        }
    }
}
