//! Polynomials in s and their quotients.

use num_complex::Complex64;
use std::ops::{Add, Mul};

use super::complex;

/// A polynomial with real coefficients, the constant one first.
#[derive(Clone, Debug, PartialEq)]
pub struct Poly(Vec<f64>);

impl Poly {
    /// Makes a polynomial of the coefficients of 1, s, s^2, ...; zeros at the end are dropped.
    pub fn new(coefficients: impl Into<Vec<f64>>) -> Self {
        let mut c = coefficients.into();
        while c.len() > 1 && c.last() == Some(&0.0) {
            c.pop();
        }
        if c.is_empty() {
            c.push(0.0);
        }
        Poly(c)
    }

    /// The coefficients of 1, s, s^2, ...
    pub fn coefficients(&self) -> &[f64] {
        &self.0
    }

    /// The highest power; 0 for a constant.
    pub fn degree(&self) -> usize {
        self.0.len() - 1
    }

    /// The value at `s`.
    pub fn at(&self, s: Complex64) -> Complex64 {
        self.0.iter().rev().fold(Complex64::ZERO, |sum, &c| sum * s + c)
    }

    /// Bound of the absolute value where `|s| <= r`: `|c_0| + |c_1| r + ...`.
    pub fn bound(&self, r: f64) -> f64 {
        self.0.iter().rev().fold(0.0, |sum, c| sum * r + c.abs())
    }

    /// The derivative.
    pub fn derivative(&self) -> Self {
        Poly::new(self.0.iter().enumerate().skip(1).map(|(i, c)| i as f64 * c).collect::<Vec<_>>())
    }

    /// The roots, by the method of Aberth 1973: all at once, each by Newton's step corrected for the
    /// others. A constant has no roots.
    pub fn roots(&self) -> Vec<Complex64> {
        let zeros = self.0.iter().take_while(|&&c| c == 0.0).count().min(self.degree());
        let rest = Poly(self.0[zeros..].to_vec());
        let mut roots = vec![Complex64::ZERO; zeros];
        roots.extend(rest.nonzero_roots());
        roots
    }

    /// The roots of a polynomial whose constant coefficient is not 0.
    fn nonzero_roots(&self) -> Vec<Complex64> {
        let n = self.degree();
        if n == 0 {
            return Vec::new();
        }
        let slope = self.derivative();
        // On a circle of the roots' geometric mean, at angles without symmetry.
        let radius = libm::pow((self.0[0] / self.0[n]).abs(), 1.0 / n as f64);
        let mut z: Vec<Complex64> = (0..n)
            .map(|i| complex::polar(radius, 0.4 + std::f64::consts::TAU * i as f64 / n as f64))
            .collect();
        for _ in 0..200 {
            let mut moved = 0.0_f64;
            for i in 0..n {
                let value = self.at(z[i]);
                if value == Complex64::ZERO {
                    continue;
                }
                let newton = value / slope.at(z[i]);
                let others: Complex64 = (0..n).filter(|&j| j != i).map(|j| 1.0 / (z[i] - z[j])).sum();
                let step = newton / (1.0 - newton * others);
                if step.is_finite() {
                    z[i] -= step;
                    moved = moved.max(complex::norm(step) / complex::norm(z[i]).max(f64::MIN_POSITIVE));
                }
            }
            if moved < 1e-15 {
                break;
            }
        }
        z
    }

    /// Every coefficient times `k`.
    pub fn scaled(&self, k: f64) -> Self {
        Poly::new(self.0.iter().map(|c| c * k).collect::<Vec<_>>())
    }
}

impl Add for &Poly {
    type Output = Poly;
    fn add(self, other: &Poly) -> Poly {
        let n = self.0.len().max(other.0.len());
        let get = |p: &Poly, i: usize| p.0.get(i).copied().unwrap_or(0.0);
        Poly::new((0..n).map(|i| get(self, i) + get(other, i)).collect::<Vec<_>>())
    }
}

impl Mul for &Poly {
    type Output = Poly;
    fn mul(self, other: &Poly) -> Poly {
        let mut c = vec![0.0; self.0.len() + other.0.len() - 1];
        for (i, a) in self.0.iter().enumerate() {
            for (j, b) in other.0.iter().enumerate() {
                c[i + j] += a * b;
            }
        }
        Poly::new(c)
    }
}

/// A transfer function without delay.
#[derive(Clone, Debug, PartialEq)]
pub struct Rational {
    /// The numerator.
    pub numerator: Poly,
    /// The denominator, not zero.
    pub denominator: Poly,
}

impl Rational {
    /// Makes a quotient of the coefficients of 1, s, s^2, ... of numerator and denominator.
    pub fn new(numerator: impl Into<Vec<f64>>, denominator: impl Into<Vec<f64>>) -> Self {
        Rational { numerator: Poly::new(numerator), denominator: Poly::new(denominator) }
    }

    /// The first-order lag `1/(1 + time s)`; 1 if `time` is 0.
    pub fn lag(time: f64) -> Self {
        Rational::new([1.0], [1.0, time])
    }

    /// The value at `s`.
    pub fn at(&self, s: Complex64) -> Complex64 {
        self.numerator.at(s) / self.denominator.at(s)
    }
}

impl Mul for &Rational {
    type Output = Rational;
    fn mul(self, other: &Rational) -> Rational {
        Rational {
            numerator: &self.numerator * &other.numerator,
            denominator: &self.denominator * &other.denominator,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn products_sums_and_values() {
        let p = Poly::new([1.0, 2.0]);
        assert_eq!(&p * &p, Poly::new([1.0, 4.0, 4.0]));
        assert_eq!(&p + &Poly::new([0.0, -2.0]), Poly::new([1.0]));
        assert_eq!(p.at(Complex64::I), Complex64::new(1.0, 2.0));
        assert_eq!(Rational::lag(0.0), Rational::new([1.0], [1.0]));
        assert_eq!(p.derivative(), Poly::new([2.0]));
        assert_eq!(Poly::new([1.0, -2.0, 3.0]).bound(2.0), 17.0);
    }

    /// `s (s + 1)(s - 2)(s^2 + 2 s + 10)`, whose roots are known.
    #[test]
    fn roots() {
        let factors = [[0.0, 1.0, 0.0], [1.0, 1.0, 0.0], [-2.0, 1.0, 0.0], [10.0, 2.0, 1.0]];
        let p = factors.iter().fold(Poly::new([1.0]), |p, f| &p * &Poly::new(*f));
        let roots = p.roots();
        assert_eq!(roots.len(), 5);
        for (re, im) in [(0.0, 0.0), (-1.0, 0.0), (2.0, 0.0), (-1.0, 3.0), (-1.0, -3.0)] {
            let wanted = Complex64::new(re, im);
            assert!(roots.iter().any(|r| (r - wanted).norm() < 1e-12), "{wanted}: {roots:?}");
        }
        assert!(Poly::new([3.0]).roots().is_empty());
    }
}
