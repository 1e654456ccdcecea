//! The metrics of simulations. [`reduce`] turns the outcome of a replication into [`Metric`]s and tables; [`Results`]
//! holds those of a whole run and answers with [`Estimate`]s and paired [`Difference`]s.
//!
//! Nothing here touches files, threads or clocks, so it computes the same in a browser.
//!
//! ```
//! use quell_metrics::{Estimate, Metric, Quantity};
//! let delay: Quantity = "P99 delay".parse()?;
//! assert_eq!(delay, Metric::DelayP99);
//! let mean = Estimate::of(&[0.010, 0.012, 0.011]).ok_or("no samples")?;
//! assert!((mean.mean - 0.011).abs() < 1e-12);
//! # Ok::<(), String>(())
//! ```
#![deny(missing_docs)]
// The same results on every platform: see clippy.toml.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

mod columns;
mod digest;
mod info;
mod join;
mod metric;
mod notes;
mod pack;
mod quantity;
mod reduce;
mod replication;
mod results;
mod seeds;
mod sequential;
mod stats;
mod table;

pub use columns::{Column, Columns, Texts};
pub use digest::{digest, hex};
pub use info::{FileInfo, PointInfo, RunInfo, UNKNOWN};
pub use join::differing_keys;
pub use metric::{Better, LANE, Metric, Range, SIZE, SIZES, Values};
pub use pack::{pack, unpack};
pub use quantity::Quantity;
pub use reduce::{reduce, size_rows, transfer_figures};
pub use replication::{
    DelayRow, FlowRow, InternalRow, InternalSeries, LinkSeries, MetricRow, Replication, TransferRow,
};
pub use results::{Difference, Results, View};
pub use seeds::{Aim, Auto, MAX_SEEDS, Reason, Sequential, Stop, check_class};
pub use sequential::{Look, Looks, Width, widths};
pub use stats::{ERROR, Estimate, distinct, jain_index, quantile, t_quantile};
pub use table::{NamedColumns, Table, replications, results};
