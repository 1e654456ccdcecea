//! Powers of ten, exactly, and the same on every platform: logarithms may err by a digit at one.

/// The power of ten of a number's first digit; 0 if it has none.
pub(crate) fn magnitude(x: f64) -> i32 {
    if x == 0.0 || !x.is_finite() {
        return 0;
    }
    // Of as many digits as tell it from its neighbors, so that nothing is rounded up.
    format!("{x:e}").split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0)
}

/// The number nearest to a power of ten.
pub(crate) fn ten(power: i32) -> f64 {
    format!("1e{power}").parse().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_of_ten_are_exact() {
        for power in -300..=300 {
            assert_eq!(magnitude(ten(power)), power);
            assert_eq!(magnitude(-ten(power).next_down()), power - 1, "{power}");
            assert_eq!(ten(power).to_string().trim_matches(['0', '.']), "1");
        }
        assert_eq!((ten(0), ten(3), ten(-3), magnitude(0.0), magnitude(f64::NAN)), (1.0, 1e3, 1e-3, 0, 0));
        assert_eq!((magnitude(9.99), magnitude(1000.0), magnitude(0.002)), (0, 3, -3));
    }
}
