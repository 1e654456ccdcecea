//! Control theory on the same parameters as the packets.
#![deny(missing_docs)]

pub mod capture;
pub mod dde;
mod error;
pub mod ewma;
pub mod fluid;
pub mod models;
mod network;
mod poly;
mod real;
pub mod red_tail;

pub use error::TheoryError;
pub use network::{Class, Network, Point, Share, Signal, Tcp};
pub use poly::{Poly, Rational};
pub use real::{Lanes, Real};
