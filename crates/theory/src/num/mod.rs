//! The numerical tools: polynomials, Routh's table, and a solver of delay equations, over numbers that may
//! stand side by side.

pub mod complex;
pub mod dde;
mod poly;
mod real;
pub mod routh;

pub use poly::{Poly, Rational};
pub use real::{Real, Wide};
