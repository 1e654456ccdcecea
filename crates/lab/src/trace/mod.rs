//! Traces of replications as tables: the state of senders over time, and each packet at chosen links.
//!
//! What a run is asked for is a [`TraceOptions`]; a [`Tracing`] takes the trace of each replication as it ends, and
//! writes its rows to files without names, so that a run that is killed leaves none. They get their places with the
//! results: [`write_results_with`](crate::write_results_with).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use quell_metrics::{Column, Columns};
use quell_sim::trace::Trace;

use crate::parquet;
use crate::store::{StoreError, at};

mod estimate;
mod options;
mod rows;

pub use estimate::{TraceSize, trace_size};
pub use options::{TraceError, TraceOptions, Traced};
pub use rows::{TraceColumn, TraceTable};

/// Takes the traces of replications as they end.
pub struct Tracing {
    options: TraceOptions,
    /// The folder in which the files will be.
    folder: PathBuf,
    tables: Mutex<Vec<(TraceTable, Writer)>>,
}

/// A file under way, on the disk of the results.
type Writer = parquet::Stream<File>;

impl Tracing {
    /// Ready to trace for results that will be in `folder`.
    ///
    /// # Errors
    /// If nothing can be written beside it.
    pub fn new(options: TraceOptions, folder: &Path) -> Result<Self, StoreError> {
        let wanted = [(TraceTable::Flows, options.flows), (TraceTable::Packets, options.packets)];
        let mut tables = Vec::new();
        for (table, _) in wanted.into_iter().filter(|(_, wanted)| *wanted) {
            let file = crate::store::nameless(folder)?;
            let columns = table.empty();
            let units = table.columns().iter().map(|c| (c.name, c.unit));
            let writer = parquet::Stream::new(file, columns.iter(), units);
            tables.push((table, writer.map_err(at(&folder.join(table.file()), "encode"))?));
        }
        Ok(Tracing { options, folder: folder.to_path_buf(), tables: Mutex::new(tables) })
    }

    /// The traces that are asked for.
    pub fn options(&self) -> &TraceOptions {
        &self.options
    }

    /// Takes the trace of a replication. Rows of one replication stand together.
    ///
    /// # Errors
    /// If its rows cannot be written.
    pub fn take(&self, of: Traced<'_>, trace: &Trace) -> Result<(), StoreError> {
        let mut tables = self.tables.lock().unwrap_or_else(PoisonError::into_inner);
        for (table, writer) in tables.iter_mut() {
            let mut failed = None;
            table.rows(of, trace, &mut |columns| {
                if failed.is_none() {
                    failed = writer.add(columns.iter()).err();
                }
            });
            if let Some(error) = failed {
                return Err(at(&self.folder.join(table.file()), "write")(error));
            }
        }
        Ok(())
    }

    /// The files, whole: what each is to be called, and its contents. Their rows are in the order in which replications
    /// ended.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn finish(self) -> Result<BTreeMap<String, File>, StoreError> {
        let tables = self.tables.into_inner().unwrap_or_else(PoisonError::into_inner);
        let folder = self.folder;
        tables
            .into_iter()
            .map(|(table, writer)| {
                let path = folder.join(table.file());
                let mut file = writer.finish().map_err(at(&path, "encode"))?;
                file.flush().map_err(|e: io::Error| at(&path, "write")(e))?;
                Ok((table.file(), file))
            })
            .collect()
    }
}

/// A trace of results on disk.
///
/// # Errors
/// If the results have none of that name, or it is damaged.
pub fn read_trace(dir: &Path, table: TraceTable) -> Result<Columns, StoreError> {
    let found = crate::store::read_table(dir, &table.file())?;
    declared(table, found).map_err(|why| StoreError { path: dir.join(table.file()), why })
}

/// A trace in a file that [`Tracing::finish`] gave.
///
/// # Errors
/// If it cannot be read.
pub fn read_trace_file(file: &File, table: TraceTable) -> Result<Columns, StoreError> {
    let path = PathBuf::from(table.file());
    let found = file.try_clone().map_err(at(&path, "read"))?;
    let found = parquet::read(found).map_err(at(&path, "read"))?;
    declared(table, found).map_err(|why| StoreError { path, why })
}

/// The columns that a table has, of those in a file.
fn declared(table: TraceTable, found: Vec<(String, Column)>) -> Result<Columns, String> {
    let mut found: BTreeMap<String, Column> = found.into_iter().collect();
    let column = |column: &TraceColumn| {
        let cells = found.remove(column.name).ok_or_else(|| format!("lacks the column {}", column.name))?;
        Ok((column.name, cells))
    };
    Ok(Columns(table.columns().iter().map(column).collect::<Result<_, String>>()?))
}
