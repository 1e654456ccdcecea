//! Traces of flows and packets: what the command line asks for, and whether there is room.

use std::path::Path;

use clap::ValueEnum;
use quell_lab::{Columns, Results, TraceOptions, TraceTable, Tracing, free_space, read_trace, trace_size};
use quell_scenario::Study;
use quell_units::{Bytes, Duration};
use quell_view::chart::{Chart, SenderDiagram, Senders};
use quell_view::picture::{self, Sheet};
use quell_view::report;

use crate::args::{Seeds, whole};
use crate::failure::Failure;
use crate::terminal;

/// A trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TraceKind {
    /// The state of each sender over time: flow_trace.parquet.
    Flows,
    /// Each packet at the links: packet_trace.parquet.
    Packets,
    /// Each packet at the links as a capture, for Wireshark: traces/*.pcapng.
    #[cfg(feature = "all")]
    Pcapng,
    /// The log of each sender, for tools that read qlog: traces/*.sqlog.
    #[cfg(feature = "all")]
    Qlog,
    /// Queues, waiting packets and senders for ui.perfetto.dev: traces/*.pftrace.
    #[cfg(feature = "all")]
    Perfetto,
}

/// The traces that a run keeps.
#[derive(Clone, Debug, clap::Args)]
pub struct TraceArgs {
    /// Record traces of the first seed of each algorithm at each point: senders and packets as tables (flows,packets),
    /// or in the formats of other tools (pcapng,qlog,perfetto). Needs --out.
    #[arg(long, value_enum, value_name = "WHAT", value_delimiter = ',')]
    pub trace: Vec<TraceKind>,
    /// Time between samples of a sender, such as 10ms; default: a sample after each change.
    #[arg(long, value_name = "TIME", requires = "trace")]
    pub trace_step: Option<Duration>,
    /// Flows to trace, by group name or number; default: all.
    #[arg(long, value_name = "NAME|NUMBER", value_delimiter = ',', requires = "trace")]
    pub trace_flows: Vec<String>,
    /// Links whose packets are traced; default: all measured links.
    #[arg(long, value_name = "LINK", value_delimiter = ',', requires = "trace")]
    pub trace_links: Vec<String>,
    /// Number of seeds to trace for each algorithm at each point.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "trace", value_parser = whole(1..=u32::MAX))]
    pub trace_seeds: u32,
    /// Disk space that traces may use, such as 500MB; Quell refuses larger ones before anything runs.
    #[arg(long, value_name = "SIZE", default_value = "2 GB", requires = "trace")]
    pub trace_limit: Bytes,
}

/// The report on results that are in a folder, with pictures of the senders that were traced.
pub fn report(results: &Results, folder: &Path) -> String {
    let kept = folder.join(TraceTable::Flows.file()).is_file();
    let trace = kept.then(|| read_trace(folder, TraceTable::Flows)).transpose();
    if let Err(why) = &trace {
        terminal::say(&format!("note: the report has no figures of senders: {why}"));
    }
    let pictures = trace.ok().flatten().map(|trace| pictures(results, &trace));
    report::html_with(results, &pictures.unwrap_or_default())
}

/// Points beyond this, and samples of a curve, are left to `quell plot`.
const MOST_POINTS: usize = 4;
const MOST_SAMPLES: usize = 400;

fn pictures(results: &Results, trace: &Columns) -> Vec<String> {
    let draw = |(point, diagram): (usize, &SenderDiagram)| {
        let choice = Senders { point, samples: Some(MOST_SAMPLES), ..Senders::default() };
        let chart = Chart::of_senders(results, trace, *diagram, &choice).ok()?;
        Some(picture::chart(&Sheet::new(&chart.title, &results.run.title), &chart))
    };
    let points = 0..results.run.points.len().min(MOST_POINTS);
    points.flat_map(|point| SenderDiagram::ALL.iter().map(move |d| (point, d))).filter_map(draw).collect()
}

impl TraceArgs {
    fn options(&self) -> TraceOptions {
        TraceOptions {
            flows: self.trace.contains(&TraceKind::Flows),
            packets: self.trace.contains(&TraceKind::Packets),
            step: self.trace_step,
            of_flows: self.trace_flows.clone(),
            links: self.trace_links.clone(),
            seeds: self.trace_seeds as usize,
            #[cfg(feature = "all")]
            export: crate::exports::needs(&self.formats()),
            #[cfg(not(feature = "all"))]
            export: quell_lab::Export::default(),
        }
    }

    /// The formats of others that are asked for.
    #[cfg(feature = "all")]
    fn formats(&self) -> Vec<quell_traces::Format> {
        let format = |kind: &TraceKind| match kind {
            TraceKind::Flows | TraceKind::Packets => None,
            TraceKind::Pcapng => Some(quell_traces::Format::Pcapng),
            TraceKind::Qlog => Some(quell_traces::Format::Qlog),
            TraceKind::Perfetto => Some(quell_traces::Format::Perfetto),
        };
        self.trace.iter().filter_map(format).collect()
    }

    /// Refuses traces that would have no place.
    pub fn check_place(&self, out: Option<&Path>) -> Result<(), Failure> {
        match out {
            None if !self.trace.is_empty() => {
                Err(bad_input!("--trace: writes files to a results folder; name it with --out DIR"))
            }
            _ => Ok(()),
        }
    }

    /// Ready to trace a study whose results will be in `folder`; `None` if nothing is to be traced.
    ///
    /// # Errors
    /// If what is to be traced is not there, or is more than there is room for.
    pub fn prepare(
        &self,
        study: &Study,
        seeds: Option<&Seeds>,
        folder: &Path,
    ) -> Result<Option<Tracing>, Failure> {
        let options = self.options();
        if !options.any() {
            return Ok(None);
        }
        if seeds == Some(&Seeds::Auto) {
            return Err(bad_input!(
                "--trace must know the seeds in advance: give --seeds a number instead of auto"
            ));
        }
        options.check(study).map_err(|why| bad_input!("--trace: {why}"))?;
        let size = trace_size(study, &options);
        let (disk, memory) = (size.disk as u64, size.memory as u64);
        let less = "trace fewer flows (--trace-flows), links (--trace-links) or points, sample less often \
                    (--trace-step 100ms), or shorten the run (--set duration=\"10 s\")";
        let about = format!(
            "--trace: about {} rows of {}, with {} on disk and up to {} of memory",
            quell_units::text::three_digits(size.rows),
            match size.replications {
                1 => "1 replication".to_string(),
                n => format!("{n} replications"),
            },
            terminal::size(disk),
            terminal::size(memory)
        );
        if disk > self.trace_limit.get() {
            return Err(bad_input!(
                "{about}; exceeds --trace-limit {}; raise it, or {less}",
                terminal::size(self.trace_limit.get())
            ));
        }
        if let Some(free) = free_space(folder).filter(|free| *free < disk) {
            return Err(bad_input!("{about}; only {} is free: {less}", terminal::size(free)));
        }
        if let Some(free) = free_memory().filter(|free| *free < memory) {
            return Err(bad_input!("{about}; only {} of memory is free: {less}", terminal::size(free)));
        }
        let of = match self.trace_seeds {
            1 => "the first seed".to_string(),
            n => format!("the first {n} seeds"),
        };
        terminal::note(&format!("{about}, for {of} of each algorithm at each point (--trace-seeds)"));
        let tracing = Tracing::new(options, folder);
        #[cfg(feature = "all")]
        let tracing = match self.formats() {
            formats if formats.is_empty() => tracing,
            formats => {
                tracing.and_then(|tracing| tracing.exporting(crate::exports::exporter(study, formats)))
            }
        };
        tracing.map(Some).map_err(|e| Failure::cannot("write traces to", e))
    }
}

/// The memory that is free, where the system tells.
fn free_memory() -> Option<u64> {
    let told =
        quell_files::read_text(Path::new("/proc/meminfo"), quell_files::Limit::of_data("/proc/meminfo"));
    let text = told.ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
}
