//! `quell run`.

use std::path::PathBuf;

use crate::args::{SimulationArgs, TableFormat, TableFormatArgs, ViewArgs};
use crate::failure::Failure;
use crate::folder::{self, Place};
use crate::keep::{interrupted, keep};
use crate::traces::TraceArgs;
use crate::{notes, selection, simulate, terminal};

/// Arguments of `run`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell run scenarios/main.toml
  quell run my.toml --seeds 20 --out results/long --set duration=\"300 s\"
  quell run my.toml --seed 17 --threads 1
  quell run my.toml --aqm codel,pie
  quell run my.toml --sweep flows.ftp.count=10,20,50 --sweep aqm.red.max_p=0.02..0.2:log:5
  quell run my.toml --sweep \"dumbbell.delay=5..50 ms:lin:4; flows.ftp.count=40,30,20,10\"
  quell run my.toml --set \"aqm.red.max_th=3 * aqm.red.min_th\"    # docs/sweeps.md
  quell run my.toml --seeds 10 --format latex > table.tex    # docs/paper.md
  quell run my.toml --format json | jq '.points[0].rows[] | [.algorithm, .metrics.utilization.mean]'

  quell run my.toml --seeds 100    # computes only what the cache does not have
  quell run my.toml --finished     # shows what is finished so far
  quell run my.toml --seeds auto --precision utilization=1%,queue_packets=5%
  quell run before.toml after.toml --metric goodput_bps,queue_packets
  quell run my.toml --out results/seen --trace flows,packets --trace-flows ftp    # docs/traces.md

With --seeds auto, each algorithm runs the seeds 1, 2, 3, ... at each point until its intervals are narrow enough \
(Chow and Robbins 1965, at least 10 seeds); docs/seeds.md has the measured coverage. Several scenarios become one \
result, with the file name before the settings of each point. Without --out, results go to results/NAME (NAME+1 with a \
second scenario), or to results/NAME-2, NAME-3, ... if that exists. Finished replications go straight into a cache \
(see `quell cache --help`), so a killed run resumes where it stopped. Ctrl-C stops the run, keeps the finished \
replications and prints their results. Run the same command to continue, or add --finished to write the results so \
far. A second Ctrl-C quits at once.")]
pub struct Args {
    /// Scenario files; - for standard input.
    #[arg(value_name = "SCENARIO", required = true)]
    scenarios: Vec<PathBuf>,
    /// Folder for the results; default: results/NAME.
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace existing results.
    #[arg(long)]
    overwrite: bool,
    /// Do not write the HTML report.
    #[arg(long)]
    no_report: bool,
    /// Run nothing: use what the cache has, and mark the results partial unless it has everything.
    #[arg(long, conflicts_with_all = ["no_cache", "fresh", "verify", "trace"])]
    finished: bool,
    #[command(flatten)]
    simulation: SimulationArgs,
    #[command(flatten)]
    traces: TraceArgs,
    #[command(flatten)]
    view: ViewArgs,
    #[command(flatten)]
    format: TableFormatArgs,
}

/// Runs a scenario, keeps its results and prints the table.
pub fn run(args: &Args, line: Vec<String>) -> Result<(), Failure> {
    args.traces.check_place(args.out.as_deref())?;
    let selection = selection::Selection::of(&args.view)?;
    let mut study = simulate::read_all(&args.scenarios, &args.simulation)?;
    simulate::choose(&mut study, &args.simulation.aqm)?;
    simulate::check_view(&selection, &study)?;
    let auto = simulate::auto(&args.simulation, &selection, None, &study)?;
    notes::say(&study, 1);
    let mut place = Place::choose(args.out.as_deref(), &folder::name(&args.scenarios), args.overwrite)?;
    if !args.finished {
        simulate::check_space(&study, &args.simulation, Some(place.dir()))?;
    }
    let tracing = args.traces.prepare(&study, args.simulation.seeds.as_ref(), place.dir())?;
    let how = (auto.as_ref(), tracing.as_ref(), args.finished);
    let results = simulate::run(&study, &args.simulation, how, line)?;
    if let Some(tracing) = tracing {
        place.add(tracing.finish().map_err(|e| Failure::cannot("write traces to", e))?);
    }
    // The findings are printed even if the files cannot be written.
    let kept = keep(Some(place), &results, !args.no_report, args.finished);
    let (folder, report) = (kept.folder.as_deref(), kept.report.as_deref());
    match args.format.format {
        TableFormat::Json => selection::print_json(&results, &selection, folder, report)?,
        TableFormat::Table => terminal::print(&(selection::text(&results, &selection) + &kept.places()))?,
        form => {
            terminal::print_data(&selection::formatted(&selection.grid(&results), form))?;
            kept.places().lines().for_each(terminal::say);
        }
    }
    selection::say_remarks(&results);
    selection.say_lacking(&results);
    selection.say_inapplicable(&results);
    if let Some(failure) = kept.failure {
        return Err(failure);
    }
    if args.finished { Ok(()) } else { interrupted(&results, kept.folder.as_deref(), true) }
}
