//! `quell plot`.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use quell_lab::{Quantity, Results, TraceTable};
use quell_view::chart::{Chart, Choice, Diagram, SenderDiagram, Senders, csv, text};
use quell_view::picture::{self, Sheet};

use crate::args::{metric, whole};
use crate::failure::{Failure, unknown_name};
use crate::{folder, terminal};

/// Arguments of `plot`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell plot results/main
  quell plot results/main --diagram queue-cdf --aqm red,pi --svg queue.svg
  quell plot results/main --diagram throughput --class web --panels --csv web.csv
  quell plot results/seen --trace window --flow 0,1    # of a run with --trace flows
  quell plot results/sweep --metric queue_delay_p99_s
  quell plot results/sweep --metric loss_rate --over dumbbell.rate --by flows.ftp.count
  quell plot results/sweep --metric \"goodput_bps[short]/goodput_bps[all]\"

Over time, one replication is shown; distributions are of all seeds, and metrics are means with 95 % intervals. \
The axis is logarithmic where the swept values follow each other in equal ratios. Without --svg and --csv the \
figure is drawn in the terminal. `quell show --help` lists the metrics.")]
pub struct Args {
    /// A results folder.
    #[arg(value_name = "RESULTS")]
    results: PathBuf,
    /// The diagram to draw; default: metric for a sweep, else queue.
    #[arg(long, value_name = "DIAGRAM", value_parser = diagram())]
    diagram: Option<Diagram>,
    /// Draw senders over time, of a run with --trace flows.
    #[arg(long, value_name = "DIAGRAM", value_parser = sender_diagram(),
        conflicts_with_all = ["diagram", "metric", "over", "by", "link", "class", "panels"])]
    trace: Option<SenderDiagram>,
    /// The flows that --trace draws, by number; default: the first three that were traced.
    #[arg(long, value_name = "N", value_delimiter = ',', requires = "trace")]
    flow: Vec<u32>,
    /// The metric, by its name; NAME[CLASS], internal:SIGNAL and A/B as for `quell run`; default: utilization.
    #[arg(long, value_name = "NAME", value_parser = metric)]
    metric: Option<Quantity>,
    /// The swept field along the axis of a metric, or "link" for every link of a point; default: the first field that
    /// varies, numbers before names.
    #[arg(long, value_name = "FIELD")]
    over: Option<String>,
    /// The swept field with a panel for each of its values; default: the next that varies.
    #[arg(long, value_name = "FIELD")]
    by: Option<String>,
    /// The algorithms, by their labels; default: all.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    aqm: Vec<String>,
    /// The link; default: the first bottleneck.
    #[arg(long, value_name = "NAME")]
    link: Option<String>,
    /// The traffic class, or "data" (all but acknowledgments), of a metric, of delays or of throughput; default: all
    /// traffic.
    #[arg(long, value_name = "NAME")]
    class: Option<String>,
    /// The number of the sweep's point; default: 1. Of a metric over one or two fields, the point whose other
    /// fields are kept.
    #[arg(long, value_name = "N", value_parser = whole(1..=u32::MAX))]
    point: Option<u32>,
    /// The replication that is shown over time, by its seed; default: the first.
    #[arg(long, value_name = "SEED", value_parser = whole(0..=u64::MAX))]
    seed: Option<u64>,
    /// A panel for each algorithm instead of one with all.
    #[arg(long)]
    panels: bool,
    /// Draw into this SVG file; - for standard output.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write the figure's numbers into this CSV file; - for standard output.
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// A figure of results, by its name.
fn diagram() -> impl TypedValueParser<Value = Diagram> {
    let named = |d: &Diagram| PossibleValue::new(d.name()).help(d.doc());
    PossibleValuesParser::new(Diagram::ALL.iter().map(named))
        .map(|name| Diagram::find(&name).expect("only names of diagrams are possible"))
}

/// A figure of senders, by its name.
fn sender_diagram() -> impl TypedValueParser<Value = SenderDiagram> {
    let named = |d: &SenderDiagram| PossibleValue::new(d.name()).help(d.doc());
    PossibleValuesParser::new(SenderDiagram::ALL.iter().map(named))
        .map(|name| SenderDiagram::find(&name).expect("only names of diagrams are possible"))
}

/// The figure of senders that --trace asks for.
fn of_senders(
    args: &Args,
    diagram: SenderDiagram,
    results: &Results,
    point: usize,
) -> Result<Chart, Failure> {
    let trace = quell_lab::read_trace(&args.results, TraceTable::Flows);
    let trace = trace.map_err(|e| Failure::cannot("draw a trace", e))?;
    let algorithms = (!args.aqm.is_empty()).then_some(args.aqm.as_slice());
    let choice = Senders { point, seed: args.seed, algorithms, flows: &args.flow };
    Chart::of_senders(results, &trace, diagram, &choice).map_err(Failure::BadInput)
}

/// Draws a figure of a results folder.
pub fn run(args: &Args) -> Result<(), Failure> {
    let diagram = wanted(args)?;
    if is_stdout(&args.svg) && is_stdout(&args.csv) {
        let why = "--svg - and --csv -: both go to standard output; give one of them a file";
        return Err(Failure::BadInput(why.to_string()));
    }
    for file in args.svg.iter().chain(&args.csv).filter(|file| file.as_os_str() != STDOUT) {
        folder::check_writable(file)?;
    }
    let results = folder::read(&args.results)?;
    let diagram =
        diagram.unwrap_or(if results.run.points.len() > 1 { Diagram::Metric } else { Diagram::Queue });
    check_fits(args, diagram)?;
    let point = check(args, &results)?;
    let choice = Choice {
        point,
        link: args.link.as_deref(),
        seed: args.seed,
        algorithms: (!args.aqm.is_empty()).then_some(&args.aqm),
        scope: args.class.as_deref().unwrap_or("all"),
        metric: args.metric.as_ref(),
        over: args.over.as_deref(),
        by: args.by.as_deref(),
        ..Choice::default()
    };
    let chart = match args.trace {
        Some(diagram) => of_senders(args, diagram, &results, point)?,
        None => Chart::of(&results, diagram, &choice).map_err(Failure::BadInput)?,
    };
    let chart = if args.panels { chart.apart() } else { chart };
    let picture = || picture::chart(&Sheet::new(&chart.title, &results.run.title), &chart);
    let mut said = String::new();
    if let Some(file) = &args.svg {
        put(&picture(), file, "picture", &mut said)?;
    }
    if let Some(file) = &args.csv {
        put(&csv(&chart), file, "numbers", &mut said)?;
    }
    if args.svg.is_none() && args.csv.is_none() {
        said = text(&chart, terminal::text_width(), terminal::colors());
    }
    // What goes to standard output goes there alone.
    match is_stdout(&args.svg) || is_stdout(&args.csv) {
        true => said.lines().for_each(terminal::say),
        false => terminal::print(&said)?,
    }
    Ok(())
}

/// The name of standard output, as for files that are read.
const STDOUT: &str = "-";

fn is_stdout(file: &Option<PathBuf>) -> bool {
    file.as_ref().is_some_and(|file| file.as_os_str() == STDOUT)
}

/// Writes a text to a file, which is then said, or to standard output.
fn put(text: &str, file: &Path, what: &str, said: &mut String) -> Result<(), Failure> {
    if file.as_os_str() == STDOUT {
        return terminal::print_data(text);
    }
    folder::write_whole(text, file)?;
    said.push_str(&format!("{what}  {}\n", quell_files::name(file)));
    Ok(())
}

/// The diagram that was asked for; options of metrics ask for one.
fn wanted(args: &Args) -> Result<Option<Diagram>, Failure> {
    let of_metric =
        [("--metric", args.metric.is_some()), ("--over", args.over.is_some()), ("--by", args.by.is_some())];
    match (args.diagram, of_metric.iter().find(|(_, given)| *given)) {
        (None, Some(_)) => Ok(Some(Diagram::Metric)),
        (Some(other), Some((option, _))) if other != Diagram::Metric => Err(bad_input!(
            "{option}: belongs to --diagram metric, not to --diagram {}; leave one of them out",
            other.name()
        )),
        (diagram, _) => Ok(diagram),
    }
}

/// Refuses what a diagram would not heed.
fn check_fits(args: &Args, diagram: Diagram) -> Result<(), Failure> {
    let refuse =
        |option: &str, what: &str| Err(bad_input!("{option}: {} is of {what}; leave it out", diagram.name()));
    match diagram {
        Diagram::Metric | Diagram::Throughput | Diagram::DelayCdf => {}
        _ if args.class.is_some() => return refuse("--class", "all traffic"),
        _ => {}
    }
    match diagram {
        Diagram::Metric | Diagram::QueueCdf | Diagram::QueuePdf | Diagram::DelayCdf
            if args.seed.is_some() =>
        {
            refuse("--seed", "all seeds")
        }
        _ => Ok(()),
    }
}

/// Refuses what the results do not have; gives the point's index.
fn check(args: &Args, results: &Results) -> Result<usize, Failure> {
    let at = args.point.map_or(0, |n| n as usize - 1);
    let Some(point) = results.run.points.get(at) else {
        let points = results.run.points.len();
        return Err(bad_input!("--point {}: the results have {points}", at + 1));
    };
    let known = |what, wanted: &String, names: &[String]| match names.contains(wanted) {
        true => Ok(()),
        false => Err(unknown_name(what, wanted, names.iter().map(String::as_str))),
    };
    for label in &args.aqm {
        let labels = results.run.points.iter().flat_map(|p| &p.algorithms).cloned();
        known("algorithm", label, &quell_lab::distinct(labels))?;
    }
    if let Some(link) = &args.link {
        known("link", link, &point.links)?;
    }
    if let Some(class) = &args.class {
        let mut scopes = results.scopes(at);
        scopes.retain(|s| s != "all");
        known("class", class, &scopes)?;
    }
    let mut seeds = results.replications.iter().filter(|r| r.point == at).map(|r| r.seed);
    match args.seed {
        Some(seed) if !seeds.any(|s| s == seed) => {
            let all: Vec<String> = point.seeds.iter().map(u64::to_string).collect();
            Err(bad_input!("--seed {seed}: was not run; seeds are {}", all.join(", ")))
        }
        _ => Ok(at),
    }
}
