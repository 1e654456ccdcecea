//! Control theory on the same parameters as the packets.
//!
//! A [`Network`] is flows and a link; a [model](models) is an algorithm in continuous form, made from the
//! parameter struct that the simulator takes. Where both rest there is a [`Point`], and near it a [`Loop`] with
//! its margins; the [`fluid`] follows them anywhere, by a solver of [delay equations](dde). On these stand the
//! published [criteria], [design] rules and [maps](map). Beside them: the theory of RED's [average](ewma), the map
//! behind [sliding thresholds](red_tail), and the estimators of R, N and C from a packet [capture].
//!
//! Inside, quantities are `f64` in packets and seconds; every field and argument says which.
//!
//! ```
//! use quell_theory::models::{AnyModel, Pi};
//! use quell_theory::{Loop, Network, Plant};
//!
//! // 100 flows, 120 ms without queueing, 1250 packets/s, a buffer of 200 packets; vrc Table 1.
//! let network = Network::new(100.0, 0.12, 1250.0, 200.0);
//! let pi = AnyModel::Pi(Pi { k_p: 0.0024, k_i: 0.0045, q_ref: 50.0 });
//! let rest = pi.rest(&network)?;
//! let control = Loop::new(&rest.point, &pi.controller(&rest)?, Plant::Exact)?;
//! assert!(control.stable());
//! # Ok::<(), quell_theory::TheoryError>(())
//! ```
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
