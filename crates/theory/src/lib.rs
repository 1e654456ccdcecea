//! Control theory on the same parameters as the packets.
#![deny(missing_docs)]

pub mod capture;
pub mod criteria;
pub mod dde;
pub mod design;
mod error;
pub mod ewma;
pub mod fluid;
pub mod linear;
pub mod map;
pub mod models;
mod network;
mod poly;
mod real;
pub mod red_tail;
pub mod routh;

pub use error::TheoryError;
pub use linear::{Loop, Margins, Mode, Plant, Stability};
pub use network::{Class, Network, Point, Share, Signal, Tcp};
pub use poly::{Poly, Rational};
pub use real::{Lanes, Real};
