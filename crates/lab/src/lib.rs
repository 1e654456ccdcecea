//! The laboratory: scenario files in, comparisons one can believe out.
//!
//! A [`Document`] is a scenario file as written; [`Study`] is what it asks for, checked and with its
//! sweeps expanded; [`run`] replicates it over algorithms and seeds; [`Results`] hold the figures, are
//! written to and read from a folder, and answer with [`Estimate`]s and paired [`Difference`]s.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use quell_lab::{Metric, Options, Plugins, Study, View, run};
//! let study = Study::read("scenarios/main.toml", &Plugins::new())?;
//! let results = run(&study, &Options::default())?;
//! for algorithm in results.algorithms(0) {
//!     println!("{algorithm}: {:?}", results.estimate(&View::default(), algorithm, Metric::Utilization));
//! }
//! # Ok(())
//! # }
//! ```
#![deny(missing_docs)]
// Errors of scenario files end a command; none is made on a hot path.
#![allow(clippy::result_large_err)]

mod assessment;
mod bottleneck;
mod columns;
pub mod dumbbell;
mod error;
pub mod figures;
mod measure;
mod metrics;
mod node;
mod oscillation;
mod parquet;
pub mod picture;
mod plan;
pub mod report;
mod results;
mod run;
pub mod scenario;
mod stats;
mod store;
mod study;
mod table;
pub mod values;
mod variation;

pub use assessment::{Assessment, Figures, MarginFigures, Packets, Swing, Verdict};
pub use bottleneck::Bottleneck;
pub use columns::{Column, Columns, Texts};
pub use dumbbell::Dumbbell;
pub use error::ScenarioError;
pub use metrics::{Better, Metric, Values};
pub use oscillation::{Motion, Oscillation};
pub use results::{
    DelayRow, Difference, FileInfo, FlowRow, InternalSeries, LinkSeries, MetricRow, PointInfo, Replication,
    Results, RunInfo, TransferRow, View,
};
pub use run::{Options, Progress, RunError, run};
pub use scenario::Scenario;
pub use stats::{Estimate, jain_index, quantile};
pub use store::StoreError;
pub use study::{Document, Factory, Plugins, Point, Setting, Study};
pub use table::Table;
pub use variation::{Shown, Variation};
