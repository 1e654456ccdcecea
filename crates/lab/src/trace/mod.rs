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

use quell_metrics::Column;
use quell_scenario::{Facts, Plan, Plugins, Point, Study};
use quell_sim::network::LinkId;
use quell_sim::trace::{Chosen, Trace, TraceRequest};
use quell_units::Duration;

use crate::parquet;
use crate::store::{Piece, StoreError, at};

mod estimate;
mod rows;

pub use estimate::{TraceSize, trace_size};
pub use rows::{TraceColumn, TraceTable};

/// The traces that a run is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceOptions {
    /// The state of senders over time: `flow_trace.parquet`.
    pub flows: bool,
    /// Each packet at the chosen links: `packet_trace.parquet`.
    pub packets: bool,
    /// The time between two samples of a sender; `None`: one after each change.
    pub step: Option<Duration>,
    /// The flows that are traced, by the name of their group or by number; empty: all.
    pub of_flows: Vec<String>,
    /// The links whose packets are traced, by name; empty: all that are measured.
    pub links: Vec<String>,
    /// The first so many seeds of each algorithm at each point are traced.
    pub seeds: usize,
    /// What an [`Exporter`] needs beside the tables.
    pub export: Export,
}

/// The needs of an [`Exporter`], and the room that its files take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Export {
    /// Senders, with each packet that they send and lose.
    pub senders: bool,
    /// Packets at links.
    pub packets: bool,
    /// Bytes for each packet of data at a sender.
    pub bytes_per_sent: f64,
    /// Bytes for each packet at a link that it comes to and leaves.
    pub bytes_per_packet: f64,
}

/// Writes the trace of a replication in other formats: one file after the other into the output, each of which begins
/// where the one before ended; their names, below the folder of the results, and the places at which they end.
pub type Exporter =
    dyn Fn(Traced<'_>, &Trace, &mut dyn io::Write) -> io::Result<Vec<(String, u64)>> + Send + Sync;

/// A trace that was asked for cannot be made; says what is wrong, and what helps.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TraceError(String);

impl TraceOptions {
    /// Returns whether anything is asked for.
    pub fn any(&self) -> bool {
        self.flows || self.packets || self.export.senders || self.export.packets
    }

    /// The request for a replication whose plan is known.
    ///
    /// # Errors
    /// If a flow or a link is not there.
    pub fn request(&self, plan: &Plan) -> Result<TraceRequest, TraceError> {
        let flows = self.chosen_flows(&plan.facts)?;
        let (mut links, mut wrong) = (Chosen::None, None);
        let (senders, packets) = (self.flows || self.export.senders, self.packets || self.export.packets);
        if packets {
            let observed =
                |name: &str| plan.network.links.iter().position(|link| link.observe && link.name == name);
            links = match self.links.as_slice() {
                [] => Chosen::All,
                names => Chosen::These(
                    names
                        .iter()
                        .filter_map(|name| {
                            let found = observed(name).map(|i| LinkId(i as u32));
                            wrong = wrong.take().or(found.is_none().then_some(name));
                            found
                        })
                        .collect(),
                ),
            };
        }
        if let Some(name) = wrong {
            let there: Vec<&str> =
                plan.network.links.iter().filter(|l| l.observe).map(|l| l.name.as_str()).collect();
            return Err(TraceError(format!(
                "\"{name}\" is not a measured link; the links are {}",
                there.join(", ")
            )));
        }
        let none = Chosen::None;
        Ok(TraceRequest {
            senders: if senders { flows.clone() } else { none.clone() },
            step: self.step,
            events: self.export.senders,
            links,
            packets: if packets { flows } else { none },
        })
    }

    fn chosen_flows(&self, facts: &Facts) -> Result<Chosen<u32>, TraceError> {
        if self.of_flows.is_empty() {
            return Ok(Chosen::All);
        }
        let mut chosen = Vec::new();
        for name in &self.of_flows {
            let of_group = facts.groups.iter().position(|group| group == name);
            let before = chosen.len();
            match (of_group, name.parse::<u32>()) {
                (Some(group), _) => {
                    let flows = (0..).zip(&facts.flows).filter(|(_, f)| usize::from(f.group) == group);
                    chosen.extend(flows.map(|(i, _)| i));
                }
                (None, Ok(number)) if (number as usize) < facts.flows.len() => chosen.push(number),
                _ => {}
            }
            if chosen.len() == before {
                return Err(TraceError(format!(
                    "\"{name}\" is neither a group with flows nor the number of a flow; the groups are {}, and the \
                     flows have the numbers 0 to {}",
                    facts.groups.join(", "),
                    facts.flows.len().saturating_sub(1)
                )));
            }
        }
        chosen.sort_unstable();
        chosen.dedup();
        Ok(Chosen::These(chosen))
    }

    /// Finds what is wrong with it in a study, before anything runs.
    ///
    /// # Errors
    /// If a flow or a link is not there, or a step is zero.
    pub fn check(&self, study: &Study) -> Result<(), TraceError> {
        if self.step.is_some_and(|step| step.is_zero()) {
            return Err(TraceError(
                "the step of a trace must be longer than zero, such as 10 ms".to_string(),
            ));
        }
        for point in &study.points {
            let seed = point.scenario.seeds.list().first().copied().unwrap_or(1);
            self.of(point, 0, seed, &Plugins::new())?;
        }
        Ok(())
    }

    /// The request for a replication.
    pub(crate) fn of(
        &self,
        point: &Point,
        aqm: usize,
        seed: u64,
        plugins: &Plugins,
    ) -> Result<TraceRequest, TraceError> {
        let plan = point.plan(aqm, seed, plugins).map_err(|e| TraceError(e.to_string()))?;
        self.request(&plan)
    }
}

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

/// A replication as traces name it.
#[derive(Clone, Copy)]
pub struct Traced<'a> {
    /// The number of its point.
    pub point: usize,
    /// The label of its algorithm.
    pub algorithm: &'a str,
    /// Its seed.
    pub seed: u64,
    /// What its flows and classes are.
    pub facts: &'a Facts,
}

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

/// A trace of results on disk: its columns, in order.
///
/// # Errors
/// If the results have none of that name, or it is damaged.
pub fn read_trace(dir: &Path, table: TraceTable) -> Result<Vec<(String, Column)>, StoreError> {
    crate::store::read_table(dir, &table.file())
}
