//! Control theory on the same parameters as the packets.
//!
//! A [`FluidNetwork`] is flows and a link; a [model](models) is an algorithm in continuous form, made from the
//! parameter struct that the simulator takes. Where both rest there is an [`OperatingPoint`], and near it a
//! [`Loop`] with its margins; the [`fluid`] follows them anywhere, by a solver of [delay equations](num::dde). On
//! these are built the published [criteria](rules::criteria), [design rules](rules::design) and [maps](map).
//! Beside them: the theory of RED's [average](ewma), and the map behind [sliding thresholds](ared_dt).
//!
//! Inside, quantities are `f64` in packets and seconds; every field and argument says which.
//!
//! ```
//! use quell_theory::models::{AnyModel, Pi};
//! use quell_theory::{FluidNetwork, Loop, Plant};
//!
//! // 100 flows, 120 ms without queueing, 1250 packets/s, a buffer of 200 packets; Park et al. 2004, Table 1.
//! let network = FluidNetwork::new(100.0, 0.12, 1250.0, 200.0);
//! let pi = AnyModel::Pi(Pi { k_p: 0.0024, k_i: 0.0045, q_ref: 50.0 });
//! let equilibrium = pi.equilibrium(&network)?;
//! let control = Loop::new(&equilibrium.point, &pi.controller(&equilibrium)?, Plant::Exact)?;
//! assert!(control.stable());
//! # Ok::<(), quell_theory::TheoryError>(())
//! ```
#![deny(missing_docs)]
// The same results on every platform: see clippy.toml.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

pub mod ared_dt;
mod congestion;
mod controller;
mod error;
pub mod ewma;
pub mod fluid;
pub mod linear;
pub mod map;
pub mod models;
mod network;
pub mod num;
pub mod rules;
mod text;

pub use congestion::{Congestion, Cubic, Scalable, Signal, Tcp};
pub use controller::{Controller, Input};
pub use error::TheoryError;
pub use linear::{Loop, Margins, Mode, Plant, Stability};
pub use network::{Class, Coupling, FluidNetwork, OperatingPoint, Scalables, Share};
pub use num::{Poly, Rational, Real, Wide};
