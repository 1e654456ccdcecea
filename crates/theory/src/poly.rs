//! Polynomials in s and their quotients.

use num_complex::Complex64;
use std::ops::{Add, Mul};

/// A polynomial with real coefficients, the constant one first.
#[derive(Clone, Debug, PartialEq)]
pub struct Poly(Vec<f64>);

impl Poly {
    /// From the coefficients of 1, s, s^2, ...; zeros at the end are dropped.
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
    /// From the coefficients of 1, s, s^2, ... of numerator and denominator.
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
    }
}
