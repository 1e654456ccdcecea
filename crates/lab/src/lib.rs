//! The laboratory: scenarios in, comparisons one can believe out.
//!
//! [`run`] replicates a [study](quell_scenario::Study) over algorithms and seeds; [`Results`] hold the figures,
//! are written to and read from a folder, and answer with [`Estimate`]s and paired [`Difference`]s.
//!
//! ```no_run
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use quell_lab::{Metric, Options, View, read, run};
//! use quell_scenario::Plugins;
//! let study = read("scenarios/main.toml")?.study(&Plugins::new())?;
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

mod auto;
mod axis;
mod cache;
mod columns;
mod fingerprint;
mod join;
mod metrics;
mod parquet;
mod quantity;
mod read;
mod reduce;
mod results;
mod run;
mod search;
mod sequential;
mod space;
mod stats;
mod store;
mod table;
mod work;

pub use auto::{Aim, Auto, MAX_SEEDS, Reason, Sequential, Stop, check_class, run_auto};
pub use axis::Axis;
pub use cache::{About, CACHE_VARIABLE, Cache, Entry, Hit, Key, Lookup, read_entry};
pub use columns::{Column, Columns, Texts};
pub use fingerprint::fingerprint;
pub use join::differing_keys;
pub use metrics::{Better, Metric, Values};
pub use quantity::Quantity;
pub use read::{files_in, read, read_from};
pub use results::{
    DelayRow, Difference, FileInfo, FlowRow, InternalRow, InternalSeries, LANE, LinkSeries, MetricRow,
    PointInfo, Replication, Results, RunInfo, TransferRow, View,
};
pub use run::{DRAWN, Options, Progress, RunError, Series, Surround, Take, run, run_in_parts};
pub use search::{Bisection, Crossing, Ending, Probe, Samples, Search, SearchError, Searched, Side};
pub use sequential::{Look, Looks, Width, widths};
pub use space::{Space, free_space, space};
pub use stats::{ERROR, Estimate, jain_index, quantile, t_quantile};
pub use store::{
    CHARACTERIZATION, REPORT, StoreError, foreign_files, temporary_file, without_temporary_name,
};
pub use table::Table;
pub use work::{Made, Task, Told, make, make_tasks, tasks};
