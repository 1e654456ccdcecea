//! Scenarios: from a text to the network that the simulator runs.
//!
//! A [`Document`] is a scenario file as written; [`Study`] is what it asks for, checked and with its sweeps expanded
//! into [`Point`]s; each of them gives a [`Plan`] for an algorithm and a seed. Nothing here reads a file, a clock or
//! chance of its own: text comes in, [`Files`] that it names are read by the caller, and seeds decide what is drawn.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use quell_scenario::{Plugins, Study};
//! let text = r#"
//! schema = 1
//! duration = "60 s"
//! dumbbell = { rate = "10 Mbit/s", delay = "10 ms", buffer = "100 packets" }
//! aqm = [{ algorithm = "red" }]
//! flows = [{ name = "ftp", count = 5, rtt = "80 ms" }]
//! "#;
//! let study = Study::parse(text, "example.toml", &Plugins::new())?;
//! assert_eq!(study.points[0].links(), ["bottleneck"]);
//! let plan = study.points[0].plan(0, 1, &Plugins::new())?;
//! assert_eq!(plan.network.flows.len(), 5);
//! # Ok(())
//! # }
//! ```
#![deny(missing_docs)]
// The same results on every platform: see clippy.toml.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]
// Errors of scenario files end a command; none is made on a hot path.
#![allow(clippy::result_large_err)]

mod choice;
#[cfg(test)]
mod described;
pub mod dialect;
#[cfg(feature = "edit")]
pub mod edit;
mod error;
mod expression;
mod fields;
mod files;
pub mod format;
mod limits;
mod notes;
mod number;
mod places;
mod plan;
mod plugins;
mod range;
mod scale;
mod schema;
mod study;
mod sweep;
mod to_tree;
mod toml_file;
mod tree;
pub mod values;
mod write;

pub use error::ScenarioError;
pub use files::{Files, FoundFile};
pub use format::Scenario;
pub use limits::ARRIVALS;
pub use notes::notes;
pub use places::{Form, Place, Places};
pub use plan::{ACKS, Decides, Facts, FlowFact, LinkAt, Plan, QueueAt, WireFact};
pub use plugins::{Factory, Plugins};
pub use quell_names::{nearest, suggest, unknown};
pub use range::range;
pub use scale::{Change as ScaledValue, Scaled};
pub use study::{Document, Hole, Identity, JOINED, LeftOut, Point, Study, joined_title};
pub use sweep::Setting;
pub use toml_file::TomlFile;
