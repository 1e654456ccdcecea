//! The criterion of Routh and Hurwitz: how many roots of a polynomial lie to the right of the imaginary
//! axis, without finding them.

use crate::error::{TheoryError, require};
use crate::num::Poly;

/// Positions of the roots of a polynomial.
#[derive(Clone, Debug, PartialEq)]
pub struct Routh {
    /// The first column of the scheme, from the highest power on. It ends where a row vanishes.
    pub column: Vec<f64>,
    /// Roots with a positive real part.
    pub right: usize,
    /// Roots on the imaginary axis.
    pub on_axis: usize,
}

impl Routh {
    /// The scheme of a polynomial.
    ///
    /// # Errors
    /// A coefficient is not finite, or all are 0.
    pub fn of(p: &Poly) -> Result<Routh, TheoryError> {
        let finite = p.coefficients().iter().all(|c| c.is_finite());
        let some = p.coefficients().iter().any(|&c| c != 0.0);
        let rule = "must be finite, and not all 0";
        require(finite && some, "the coefficients", format!("{:?}", p.coefficients()), rule)?;
        Ok(scheme(p))
    }

    /// Tells whether every root has a negative real part.
    pub fn stable(&self) -> bool {
        self.right == 0 && self.on_axis == 0
    }
}

/// Remainder that rounding leaves of an element that cancels, as a share of what went into it.
const CANCELED: f64 = 1e-13;

fn scheme(p: &Poly) -> Routh {
    // Roots at the origin are on the axis, and would only hide the others.
    let at_origin = p.coefficients().iter().take_while(|&&c| c == 0.0).count();
    let c: Vec<f64> = p.coefficients()[at_origin..].iter().rev().copied().collect();
    let mut above: Vec<f64> = c.iter().step_by(2).copied().collect();
    let mut row: Vec<f64> = c.iter().skip(1).step_by(2).copied().collect();
    let mut column = vec![above[0]];
    for degree in (1..c.len()).rev() {
        if row.iter().all(|&x| x == 0.0) {
            // The row above is an even or odd polynomial, whose roots lie symmetrically: go on with its
            // derivative, whose changes of sign count those to the right.
            let mut even = vec![0.0; degree + 1];
            for (i, &x) in above.iter().enumerate().take(degree / 2 + 1) {
                even[degree - 2 * i] = x;
            }
            let even = Poly::new(even);
            let rest = scheme(&(&even + &even.derivative()));
            return Routh {
                right: changes(&column) + rest.right,
                on_axis: at_origin + degree - 2 * rest.right,
                column,
            };
        }
        if row[0] == 0.0 {
            // A zero that leads a row: one more root, to the left, moves it.
            let factor = Poly::new([libm::pow(c[c.len() - 1].abs(), 1.0 / (c.len() - 1) as f64), 1.0]);
            let moved = scheme(&(&Poly::new(c.iter().rev().copied().collect::<Vec<_>>()) * &factor));
            return Routh { on_axis: at_origin + moved.on_axis, ..moved };
        }
        column.push(row[0]);
        let next: Vec<f64> = (1..above.len())
            .map(|i| {
                let (x, y) = (above[i], above[0] / row[0] * row.get(i).copied().unwrap_or(0.0));
                if (x - y).abs() <= CANCELED * (x.abs() + y.abs()) { 0.0 } else { x - y }
            })
            .collect();
        above = std::mem::replace(&mut row, next);
    }
    Routh { right: changes(&column), on_axis: at_origin, column }
}

fn changes(column: &[f64]) -> usize {
    column.windows(2).filter(|w| w[0].is_sign_negative() != w[1].is_sign_negative()).count()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn routh(ascending: &[f64]) -> (usize, usize) {
        let r = Routh::of(&Poly::new(ascending)).unwrap();
        (r.right, r.on_axis)
    }

    #[test]
    fn schemes_of_the_textbook() {
        // s^3 + 2 s^2 + 3 s + 4: column 1, 2, 1, 4.
        let r = Routh::of(&Poly::new([4.0, 3.0, 2.0, 1.0])).unwrap();
        assert_eq!(r.column, [1.0, 2.0, 1.0, 4.0]);
        assert!(r.stable());
        // s^3 + s^2 + 2 s + 8 = (s + 2)(s^2 - s + 4).
        assert_eq!(routh(&[8.0, 2.0, 1.0, 1.0]), (2, 0));
        // A zero leads a row: s^4 + s^3 + 2 s^2 + 2 s + 3 has two roots on the right.
        assert_eq!(routh(&[3.0, 2.0, 2.0, 1.0, 1.0]), (2, 0));
        // A row vanishes: (s^2 + 4)(s + 1), and (s^2 + 1)(s^2 - 1)(s + 3).
        assert_eq!(routh(&[4.0, 4.0, 1.0, 1.0]), (0, 2));
        assert_eq!(routh(&[-3.0, -1.0, 0.0, 0.0, 3.0, 1.0]), (1, 2));
        // s^2 (s + 1), and s^2 + 9.
        assert_eq!(routh(&[0.0, 0.0, 1.0, 1.0]), (0, 2));
        assert_eq!(routh(&[9.0, 0.0, 1.0]), (0, 2));
        // Both: s^2 (s^2 + 4)(s + 1), and with a zero that leads a row, s (s^4 + s^3 + 2 s^2 + 2 s + 3).
        assert_eq!(routh(&[0.0, 0.0, 4.0, 4.0, 1.0, 1.0]), (0, 4));
        assert_eq!(routh(&[0.0, 3.0, 2.0, 2.0, 1.0, 1.0]), (2, 1));
        assert!(Routh::of(&Poly::new([f64::NAN, 1.0])).is_err());
        assert!(Routh::of(&Poly::new([0.0])).is_err());
    }

    proptest! {
        /// Aberth's roots are on the sides that Routh says.
        #[test]
        fn agrees_with_the_roots(c in prop::collection::vec(-10.0..10.0_f64, 2..8)) {
            let p = Poly::new(c);
            let roots = p.roots();
            prop_assume!(roots.iter().all(|r| r.re.abs() > 1e-4 * r.norm()));
            let r = Routh::of(&p).unwrap();
            prop_assert_eq!(r.right, roots.iter().filter(|r| r.re > 0.0).count());
            prop_assert_eq!(r.on_axis, 0);
        }
    }
}
