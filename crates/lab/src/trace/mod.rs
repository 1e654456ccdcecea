//! Traces of replications as tables: the state of senders over time, and each packet at chosen links.
//!
//! What a run is asked for is a [`TraceOptions`]; a [`Tracing`] takes the trace of each replication as it ends, and
//! writes its rows to files without names, so that a run that is killed leaves none. They get their places with the
//! results: [`write_results_with`](crate::write_results_with).

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use quell_metrics::{Column, Columns};
use quell_sim::trace::Trace;

use crate::parquet;
use crate::store::{Piece, StoreError, at};

mod estimate;
mod options;
mod rows;

pub use estimate::{TraceSize, trace_size};
pub use options::{Export, TraceError, TraceOptions, Traced};
pub use rows::{TraceColumn, TraceTable};

/// Writes the trace of a replication in other formats: one file after the other into the output, each of which begins
/// where the one before ended; their names, below the folder of the results, and the places at which they end.
pub type Exporter =
    dyn Fn(Traced<'_>, &Trace, &mut dyn io::Write) -> io::Result<Vec<(String, u64)>> + Send + Sync;

/// Takes the traces of replications as they end.
pub struct Tracing {
    options: TraceOptions,
    /// The folder in which the files will be.
    folder: PathBuf,
    tables: Mutex<Vec<(TraceTable, Writer)>>,
    exporter: Option<Box<Exporter>>,
    exported: Mutex<Exported>,
}

/// Files of an [`Exporter`] under way: one behind the other in a file, for there may be more of them than a process may
/// have open.
#[derive(Default)]
struct Exported {
    spool: Option<File>,
    length: u64,
    parts: Vec<(String, u64, u64)>,
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
        Ok(Tracing {
            options,
            folder: folder.to_path_buf(),
            tables: Mutex::new(tables),
            exporter: None,
            exported: Mutex::default(),
        })
    }

    /// Also writes each trace in other formats, as [`TraceOptions::export`] says.
    ///
    /// # Errors
    /// If nothing can be written there.
    pub fn exporting(mut self, exporter: Box<Exporter>) -> Result<Self, StoreError> {
        let exported = self.exported.get_mut().unwrap_or_else(PoisonError::into_inner);
        exported.spool = Some(crate::store::nameless(&self.folder)?);
        self.exporter = Some(exporter);
        Ok(self)
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
        drop(tables);
        self.export(of, trace).map_err(at(&self.folder.join("traces"), "write"))
    }

    fn export(&self, of: Traced<'_>, trace: &Trace) -> io::Result<()> {
        let Some(exporter) = &self.exporter else { return Ok(()) };
        let mut exported = self.exported.lock().unwrap_or_else(PoisonError::into_inner);
        let Exported { spool: Some(spool), length, parts } = &mut *exported else { return Ok(()) };
        let mut out = io::BufWriter::new(&*spool);
        let files = exporter(of, trace, &mut out)?;
        out.flush()?;
        let begin = *length;
        for (name, end) in files {
            parts.push((name, *length, begin + end - *length));
            *length = begin + end;
        }
        Ok(())
    }

    /// The files, whole: what each is to be called, and its contents. Their rows are in the order in which replications
    /// ended.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn finish(self) -> Result<BTreeMap<String, Piece>, StoreError> {
        let tables = self.tables.into_inner().unwrap_or_else(PoisonError::into_inner);
        let folder = self.folder;
        let tables = tables
            .into_iter()
            .map(|(table, writer)| {
                let path = folder.join(table.file());
                let mut file = writer.finish().map_err(at(&path, "encode"))?;
                file.flush().map_err(|e: io::Error| at(&path, "write")(e))?;
                let length = file.metadata().map_err(at(&path, "write"))?.len();
                Ok((table.file(), Piece { file: Arc::new(file), from: 0, length }))
            })
            .collect::<Result<BTreeMap<_, _>, _>>()?;
        let exported = self.exported.into_inner().unwrap_or_else(PoisonError::into_inner);
        let spool = exported.spool.map(Arc::new);
        let parts = exported
            .parts
            .into_iter()
            .filter_map(|(name, from, length)| Some((name, Piece { file: spool.clone()?, from, length })));
        Ok(tables.into_iter().chain(parts).collect())
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
