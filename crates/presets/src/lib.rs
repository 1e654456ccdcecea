//! Named links and loads: [`links`] such as a home cable, [`loads`] such as RRUL, and [`scenario`], which makes a whole
//! scenario file of one of each.
//!
//! They are the files in `scenarios/links` and `scenarios/loads`, which are compiled in. A link is a `[dumbbell]` and a
//! load is `[[flows]]`, in the words of scenario files; what a load takes from its link, such as how many flows
//! there are, is an expression. So a scenario is the two texts, one after the other, with their comments. What names and
//! explains them is in the table `[preset]` before that.
//!
//! Nothing here touches files, threads or clocks: it computes the same in a browser.
//!
//! ```
//! let text = quell_presets::scenario("rrul", "home", &quell_presets::Options::default())?;
//! assert!(text.contains("rate = \"100 Mbit/s\"") && text.contains("name = \"ping\""));
//! # Ok::<(), quell_presets::PresetError>(())
//! ```
#![deny(missing_docs)]
// The same results on every platform: see clippy.toml.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod compose;
mod error;
mod page;
mod preset;

pub use compose::{Options, scenario};
pub use error::PresetError;
pub use page::page;
pub use preset::{Link, Load, Preset, find_link, find_load, links, loads};
