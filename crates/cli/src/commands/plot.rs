//! `quell plot`.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use quell_lab::{Quantity, Results, TraceTable};
use quell_view::chart::{Chart, Choice, Diagram, SenderDiagram, Senders, csv, flows_called, text};
use quell_view::picture::{self, Paper, Sheet};

use crate::args::{metric, whole};
use crate::failure::{Failure, unknown_name};
use crate::page::Fonts;
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
  quell plot results/main --metric flow_completion_time_p99_s --over size
  quell plot results/main --diagram completion-cdf --pdf fct.pdf --width 3.4in --font \"Liberation Sans\" --no-title

Diagrams over time show one replication, distributions cover all seeds, and metrics are means with 95% intervals. The \
axis is logarithmic if the swept values have equal ratios. Without a file, the figure is drawn in the terminal. \
docs/paper.md explains figures for papers, and `quell show --help` lists the metrics.")]
pub struct Args {
    /// A results folder.
    #[arg(value_name = "RESULTS")]
    results: PathBuf,
    /// Diagram to draw; default: metric for a sweep, else queue.
    #[arg(long, value_name = "DIAGRAM", value_parser = diagram())]
    diagram: Option<Diagram>,
    /// Draw senders over time, from a run with --trace flows.
    #[arg(long, value_name = "DIAGRAM", value_parser = sender_diagram(),
        conflicts_with_all = ["diagram", "metric", "over", "by", "link", "class", "panels"])]
    trace: Option<SenderDiagram>,
    /// Flows that --trace draws, by number or group name; default: the first three that were traced.
    #[arg(long, value_name = "NAME|NUMBER", value_delimiter = ',', requires = "trace")]
    flow: Vec<String>,
    /// Metric to draw, by name; NAME[CLASS], internal:SIGNAL and A/B work as in `quell run`; default: utilization.
    #[arg(long, value_name = "NAME", value_parser = metric)]
    metric: Option<Quantity>,
    /// Swept field on a metric's axis, or "link", "segment", "size" (of transfers) or "algorithm" to compare those
    /// within a point. Default: the first field that varies, numbers before names, or the algorithms if none does.
    #[arg(long, value_name = "FIELD")]
    over: Option<String>,
    /// Swept field that gets one panel per value; default: the next field that varies.
    #[arg(long, value_name = "FIELD")]
    by: Option<String>,
    /// The algorithms, by their labels; default: all.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    aqm: Vec<String>,
    /// The link; default: the first bottleneck.
    #[arg(long, value_name = "NAME")]
    link: Option<String>,
    /// Traffic class, or "data" (all but acknowledgments), for a metric, delays or throughput; default: all traffic.
    #[arg(long, value_name = "NAME")]
    class: Option<String>,
    /// Number of the sweep's point; default: 1. For a metric over one or two fields, the point that sets the other
    /// fields.
    #[arg(long, value_name = "N", value_parser = whole(1..=u32::MAX))]
    point: Option<u32>,
    /// Seed of the replication to show over time; default: the first.
    #[arg(long, value_name = "SEED", value_parser = whole(0..=u64::MAX))]
    seed: Option<u64>,
    /// Draw one panel per algorithm instead of a shared one.
    #[arg(long)]
    panels: bool,
    /// Write to this SVG file; - for standard output.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Write to this PDF file; text stays text, and its font is embedded.
    #[arg(long, value_name = "FILE")]
    pdf: Option<PathBuf>,
    /// Write to this PNG file.
    #[arg(long, value_name = "FILE")]
    png: Option<PathBuf>,
    /// Width of the picture, such as 3.4in (in, cm, mm, pt or px); default: 800px.
    #[arg(long, value_name = "LENGTH", value_parser = length)]
    width: Option<f64>,
    /// Height of the picture; default: what its content needs.
    #[arg(long, value_name = "LENGTH", value_parser = length)]
    height: Option<f64>,
    /// Font family of the picture; default: the first common sans-serif font that is installed.
    #[arg(long, value_name = "NAME")]
    font: Option<String>,
    /// Size of the labels, in points; default: 8 if the picture is narrower than 5 inches, else 9.
    #[arg(long, value_name = "POINTS", value_parser = font_size)]
    font_size: Option<f64>,
    /// Draw no title, because the paper's caption has it.
    #[arg(long)]
    no_title: bool,
    /// Resolution of the PNG file, in dots per inch; default: 300.
    #[arg(long, value_name = "N", value_parser = whole(24..=2400_u16), requires = "png")]
    dpi: Option<u16>,
    /// Write the plotted numbers to this CSV file; - for standard output.
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
    let flows = flows_called(&trace, point, &args.flow).map_err(|why| bad_input!("--flow: {why}"))?;
    let choice = Senders { point, seed: args.seed, algorithms, flows: &flows, samples: None };
    Chart::of_senders(results, &trace, diagram, &choice).map_err(Failure::BadInput)
}

/// Draws a figure of a results folder.
pub fn run(args: &Args) -> Result<(), Failure> {
    let diagram = wanted(args)?;
    if is_stdout(&args.svg) && is_stdout(&args.csv) {
        let why = "--svg - and --csv -: both write to standard output; give one of them a file";
        return Err(Failure::BadInput(why.to_string()));
    }
    check_names(args)?;
    for file in files(args).filter_map(|(_, file)| file).filter(|file| file.as_os_str() != STDOUT) {
        folder::check_writable(file)?;
    }
    let page = Page::of(args)?;
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
    let sheet = Sheet::new(&chart.title, &results.run.title);
    let mut said = String::new();
    let drawn = || match page.paper() {
        Some(paper) => picture::chart_on(&paper, &sheet, &chart).map_err(|why| {
            bad_input!(
                "{} the picture {why}",
                if why.starts_with("is too low") { "--height:" } else { "--width:" }
            )
        }),
        None => Ok(picture::chart(&sheet, &chart)),
    };
    if let Some(file) = &args.svg {
        put(drawn()?.as_bytes(), file, "picture", &mut said)?;
    }
    if let Some(file) = &args.pdf {
        put(&page.fonts()?.pdf(&drawn()?)?, file, "picture", &mut said)?;
    }
    if let Some(file) = &args.png {
        put(&page.fonts()?.png(&drawn()?, args.dpi.unwrap_or(300))?, file, "picture", &mut said)?;
    }
    if let Some(file) = &args.csv {
        put(csv(&chart).as_bytes(), file, "numbers", &mut said)?;
    }
    if files(args).all(|(_, file)| file.is_none()) {
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

/// The files that are asked for, by their options.
fn files(args: &Args) -> impl Iterator<Item = (&'static str, Option<&PathBuf>)> {
    [("svg", &args.svg), ("pdf", &args.pdf), ("png", &args.png), ("csv", &args.csv)]
        .into_iter()
        .map(|(kind, file)| (kind, file.as_ref()))
}

/// Refuses a file whose name says that it is of another kind, and pictures that cannot go to standard output.
fn check_names(args: &Args) -> Result<(), Failure> {
    for (kind, file) in files(args).filter_map(|(kind, file)| Some((kind, file?))) {
        if file.as_os_str() == STDOUT && matches!(kind, "pdf" | "png") {
            return Err(bad_input!(
                "--{kind} -: cannot write to standard output; name a file, such as figure.{kind}"
            ));
        }
        let ending =
            file.extension().map(|ending| ending.to_string_lossy().to_lowercase()).unwrap_or_default();
        if ending != kind && files(args).any(|(other, _)| other == ending) {
            return Err(bad_input!(
                "--{kind} {}: ends in .{ending} but would be {}; use --{ending}, or a name that ends in .{kind}",
                quell_files::name(file),
                kind.to_uppercase()
            ));
        }
    }
    let drawn = args.svg.is_some() || args.pdf.is_some() || args.png.is_some();
    let options = [
        ("--width", args.width.is_some()),
        ("--height", args.height.is_some()),
        ("--font", args.font.is_some()),
        ("--font-size", args.font_size.is_some()),
        ("--no-title", args.no_title),
    ];
    match options.iter().find(|(_, given)| *given && !drawn) {
        Some((option, _)) => {
            Err(bad_input!("{option}: applies to a picture in a file; add --svg, --pdf or --png"))
        }
        None => Ok(()),
    }
}

/// The paper that pictures are drawn for, and their fonts.
struct Page {
    paper: Option<(f64, Option<f64>, f64, bool)>,
    font: Option<String>,
    fonts: Option<Fonts>,
}

/// Pictures narrower than five inches are for a column, whose text is small.
const COLUMN: f64 = 480.0;

impl Page {
    fn of(args: &Args) -> Result<Page, Failure> {
        let exact = args.pdf.is_some() || args.png.is_some();
        let changed = args.width.is_some()
            || args.height.is_some()
            || args.font.is_some()
            || args.font_size.is_some()
            || args.no_title;
        // What is in a file with its font must be there; SVG only names it.
        let fonts = if exact { Some(Fonts::find(args.font.as_deref())?) } else { None };
        let font = fonts.as_ref().map(|fonts| fonts.family().to_string()).or_else(|| args.font.clone());
        let width = args.width.unwrap_or(800.0);
        let points = args.font_size.unwrap_or(if width < COLUMN { 8.0 } else { 9.0 });
        let paper = (exact || changed).then_some((width, args.height, points / 0.75, !args.no_title));
        Ok(Page { paper, font, fonts })
    }

    /// The paper, unless everything is as usual.
    fn paper(&self) -> Option<Paper<'_>> {
        let (width, height, font_size, titled) = self.paper?;
        Some(Paper { width, height, font: self.font.as_deref(), font_size, titled })
    }

    fn fonts(&self) -> Result<&Fonts, Failure> {
        self.fonts.as_ref().ok_or_else(|| bad_input!("--font: no fonts were looked for"))
    }
}

/// The pixels of an inch, by the unit.
const UNITS: [(&str, f64); 5] =
    [("in", 96.0), ("cm", 96.0 / 2.54), ("mm", 9.6 / 2.54), ("pt", 96.0 / 72.0), ("px", 1.0)];

/// A length on paper, in pixels.
fn length(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let found = UNITS.iter().find_map(|(unit, pixels)| {
        text.strip_suffix(unit).and_then(|n| n.trim().parse::<f64>().ok()).map(|n| n * pixels)
    });
    let fits = found.filter(|px| (48.0..=9600.0).contains(px));
    fits.ok_or_else(|| {
        "must be a length from 0.5in to 100in with its unit, such as 3.4in, 86mm or 245pt".to_string()
    })
}

/// A size of letters, in points.
fn font_size(text: &str) -> Result<f64, String> {
    let points = text.trim().trim_end_matches("pt").trim().parse::<f64>().ok();
    points
        .filter(|points| (4.0..=48.0).contains(points))
        .ok_or_else(|| "must be a number of points from 4 to 48, such as 8".to_string())
}

/// Writes a file, which is then said, or to standard output.
fn put(bytes: &[u8], file: &Path, what: &str, said: &mut String) -> Result<(), Failure> {
    if file.as_os_str() == STDOUT {
        return terminal::print_data(&String::from_utf8_lossy(bytes));
    }
    folder::write_bytes(bytes, file)?;
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
            "{option}: works with --diagram metric, not with --diagram {}; leave out one of them",
            other.name()
        )),
        (diagram, _) => Ok(diagram),
    }
}

/// Refuses what a diagram would not heed.
fn check_fits(args: &Args, diagram: Diagram) -> Result<(), Failure> {
    let refuse = |option: &str, what: &str| {
        Err(bad_input!("{option}: {} shows {what}; leave out {option}", diagram.name()))
    };
    match diagram {
        Diagram::Metric
        | Diagram::Throughput
        | Diagram::DelayCdf
        | Diagram::CompletionCdf
        | Diagram::SlowdownCdf => {}
        _ if args.class.is_some() => return refuse("--class", "all traffic"),
        _ => {}
    }
    match diagram {
        Diagram::Metric
        | Diagram::QueueCdf
        | Diagram::QueuePdf
        | Diagram::DelayCdf
        | Diagram::CompletionCdf
        | Diagram::SlowdownCdf
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
        return Err(bad_input!(
            "--point {}: must be at most {points}, the number of points in the results",
            at + 1
        ));
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
            Err(bad_input!("--seed {seed}: was not run; the seeds are {}", all.join(", ")))
        }
        _ => Ok(at),
    }
}
