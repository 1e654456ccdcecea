//! A study as one archive: its scenario with the files that it names, its replications, tables and figures, and what is
//! known of how they were made, in the form of RO-Crate 1.1 (the profile Process Run Crate 0.5).
//!
//! [`pack`] makes it of a folder of results; [`open`] checks every byte of one against its metadata; [`Bundle::rerun`]
//! computes its replications again and says which are the same.
#![deny(missing_docs)]

mod about;
mod archive;
mod contents;
mod crate_metadata;
mod entry;
mod error;
mod names;
mod pack;
mod readme;
mod rerun;
mod tables;

pub use about::{About, Author, License};
pub use archive::{Bundle, OnBytes, measure, open};
pub use error::BundleError;
pub use pack::{OnFile, Packed, pack};
pub use rerun::{Differing, Engines, Rerun, Share};
