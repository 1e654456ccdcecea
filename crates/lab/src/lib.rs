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

mod adversary;
mod auto;
mod axis;
mod cache;
mod commit;
mod explore;
mod fingerprint;
mod jobs;
mod options;
mod parquet;
mod read;
mod replicate;
mod run;
mod search;
mod space;
mod store;
mod trace;
mod trials;
mod tune;
mod work;

pub use adversary::{Adversaries, Adversary, Case, Loss};
pub use auto::run_auto;
pub use axis::Axis;
pub use cache::{About, CACHE_VARIABLE, Cache, CacheEntry, Hit, Key, Lookup, read_entry};
pub use commit::{built_from, commit, last_commit};
pub use fingerprint::fingerprint;
pub use options::{DRAWN, Options, Progress, Reuse, RunError, Series, Surround};
pub use quell_metrics::{
    Aim, Auto, Better, Column, Columns, Difference, ERROR, Estimate, FlowRow, InternalSeries, LANE,
    LinkSeries, Looks, MAX_SEEDS, Metric, MetricRow, PointInfo, Quantity, Range, Reason, Replication,
    Results, RunInfo, SIZE, SIZES, Sequential, Stop, Table, TransferRow, Values, View, Width, check_class,
    differing_keys, distinct, jain_index, quantile, size_rows, t_quantile, transfer_figures,
};
pub use read::{files_in, parse, read, read_bytes, read_from, read_named};
pub use replicate::{Ended, differing_tables};
pub use run::{OnPart, run, run_in_parts};
pub use search::{Bisection, Crossing, Ending, Probe, Samples, Search, SearchError, Searched, Side};
pub use space::{Space, free_space, space};
pub use store::{
    CHARACTERIZATION, Piece, REPORT, StoreError, TRACES, foreign_files, read_results, temporary_file,
    without_temporary_name, write_results, write_results_with,
};
pub use trace::{
    Export, Exporter, TraceColumn, TraceError, TraceOptions, TraceSize, TraceTable, Traced, Tracing,
    read_trace, read_trace_file, trace_size,
};
pub use tune::{Check, Goal, Kind, Trial, Tune, Tuned, Verdict};
pub use work::{Made, OnMade, Task, make, make_tasks, tasks};
