//! Control theory on the same parameters as the packets.
#![deny(missing_docs)]

pub mod capture;
mod error;
pub mod ewma;
pub mod red_tail;

pub use error::TheoryError;
