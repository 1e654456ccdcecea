//! Charts of results: a figure's numbers, apart from how they are shown. The same [`Chart`] is a [text](text()) for a
//! terminal, [CSV](csv()), and a [picture](crate::picture::chart()).
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use quell_view::chart::{Chart, Choice, Diagram, csv, text};
//! let results = quell_lab::read_results("results/main".as_ref())?;
//! let chart = Chart::of(&results, Diagram::QueueCdf, &Choice::default())?;
//! print!("{}{}", text(&chart, 80, false), csv(&chart));
//! # Ok(())
//! # }
//! ```

pub(crate) mod csv;
mod curves;
mod diagram;
mod events;
pub(crate) mod queue;
mod senders;
pub(crate) mod sweep;
mod text;

pub use csv::{csv, row};
pub use curves::{Chart, Curve, Form, Horizontal, Panel};
pub use diagram::{Choice, Diagram};
pub(crate) use diagram::{per_second, throughput, window};
pub use events::{Event, events};
pub use senders::{FLOWS, SenderDiagram, Senders, flows_called};
pub use text::text;
