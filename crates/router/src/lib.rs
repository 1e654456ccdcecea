//! What to type on a router so that it shapes a link and manages its queue.
//!
//! A [`Technology`] says what a packet takes on a link and how far below the link's rate to shape. A [`Platform`] says
//! which algorithms a router has and which of their parameters it can say. [`write()`] makes the text, where it goes,
//! and notes on what it does not say.
//!
//! Nothing here touches files, threads or clocks: it computes the same in a browser.
//!
//! ```
//! use quell_aqm::catalog::find;
//! use quell_router::{Platform, Shaped, Side, Which, technology, write};
//! use quell_units::{Duration, QueueSize};
//!
//! let cable = technology::find("docsis").unwrap();
//! let side = |rate: &str| Side {
//!     link: cable.shaped(rate.parse().unwrap()),
//!     aqm: (find("cake").unwrap().default)(),
//!     ecn: true,
//!     buffer: QueueSize::Packets(1000.0),
//!     range: None,
//! };
//! let shaped = Shaped { wan: "wan".into(), lan: None, down: side("100 Mbit/s"), up: side("20 Mbit/s"), which: Which::Both };
//! let written = write(Platform::OpenWrt, &shaped)?;
//! assert!(written.parts[0].text.contains("set sqm.@queue[0].upload='19000'"));
//! # Ok::<(), quell_router::Unwritable>(())
//! ```
#![deny(missing_docs)]
// The same results on every platform: see clippy.toml.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod can;
mod counted;
mod offer;
mod offers;
mod platform;
mod shaped;
pub mod technology;
mod write;

pub use can::Can;
pub use counted::{Counts, Told};
pub use offer::{Fit, Knob, Offer, Unit, Words};
pub use platform::Platform;
pub use quell_tc::burst;
pub use shaped::{Range, Shaped, Side, Which};
pub use technology::Technology;
pub use write::{Part, Unwritable, Written, device, write, write_port};
