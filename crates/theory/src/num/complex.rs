//! Elementary functions of complex numbers by `libm`, which computes the same on every platform.
//!
//! The methods of `num_complex` call the platform's own functions, whose last digits differ.

use num_complex::Complex64;

/// `r e^(j phase)`.
pub fn polar(r: f64, phase: f64) -> Complex64 {
    let (sin, cos) = libm::sincos(phase);
    Complex64::new(r * cos, r * sin)
}

/// `e^z`.
pub fn exp(z: Complex64) -> Complex64 {
    polar(libm::exp(z.re), z.im)
}

/// `|z|`.
pub fn norm(z: Complex64) -> f64 {
    libm::hypot(z.re, z.im)
}

/// The argument of `z`, in (-pi, pi].
pub fn arg(z: Complex64) -> f64 {
    libm::atan2(z.im, z.re)
}

/// The root of `z` whose real part is not negative.
pub fn sqrt(z: Complex64) -> Complex64 {
    // Of the two parts the one in which nothing cancels comes first; half of Im z over it is the other.
    let larger = (0.5 * (norm(z) + z.re.abs())).sqrt();
    if larger == 0.0 {
        return z;
    }
    let lesser = 0.5 * z.im / larger;
    if z.re >= 0.0 {
        Complex64::new(larger, lesser)
    } else {
        Complex64::new(lesser.abs(), larger.copysign(z.im))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn part() -> impl Strategy<Value = f64> {
        prop_oneof![Just(0.0), Just(-0.0), -1e3..1e3, -1e-6..1e-6]
    }

    proptest! {
        #[test]
        fn they_are_those_of_the_platform_but_for_the_last_digits(re in part(), im in part()) {
            let z = Complex64::new(re, im);
            let close = |got: Complex64, want: Complex64| (got - want).norm() <= 1e-14 * want.norm();
            let small = z / 10.0;
            prop_assert!(close(exp(small), small.exp()), "{} {}", exp(small), small.exp());
            prop_assert!(close(sqrt(z), z.sqrt()), "{} {}", sqrt(z), z.sqrt());
            prop_assert!((norm(z) - z.norm()).abs() <= 1e-15 * z.norm());
            prop_assert!((arg(z) - z.arg()).abs() <= 1e-15 * z.arg().abs());
            prop_assert!(close(polar(norm(z), arg(z)), z));
            prop_assert!(sqrt(z).re >= 0.0 && close(sqrt(z) * sqrt(z), z));
        }
    }
}
