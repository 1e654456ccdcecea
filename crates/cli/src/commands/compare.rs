//! `quell compare`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use quell_lab::{Better, Estimate, Quantity, Results, View, differing_keys};
use quell_scenario::JOINED;
use quell_units::text::one_line;
use quell_view::grid::Grid;
use serde_json::json;

use crate::align::{align, round};
use crate::args::{EngineChoice, SimulationArgs, TableFormat, TableFormatArgs, ViewArgs};
use crate::failure::{Failure, unknown_name};
use crate::folder::{self, Place};
use crate::keep::{interrupted, keep};
use crate::table::{self, Column, Tint};
use crate::{json, notes, selection, simulate, terminal};

/// Arguments of `compare`.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell compare scenarios/main.toml --baseline drop-tail --seeds 10
  quell compare scenarios/main.toml --baseline red --aqm pi,rem --metric queue_delay_p99_s
  quell compare scenarios/main.toml --baseline red --seeds auto --metric goodput_bps
  quell compare results/main --baseline red
  quell compare results/dumbbell-live results/dumbbell
  quell compare scenarios/main.toml --baseline red --sweep dumbbell.rate=\"5 Mbit/s..40 Mbit/s:log:4\"

All algorithms face the same traffic with the same seed, so differences are taken seed by seed; a star marks those \
whose 95% interval excludes 0. With --seeds auto, seeds are added for each algorithm until its difference from the \
baseline is decided in every metric of --metric and --precision (or, without either, every metric shown): the interval \
excludes 0 or is within the width of --precision. Each decision is wrong with a probability of at most 5% for normal \
differences, no matter how often Quell looks (repeated confidence intervals, Jennison and Turnbull 1984; \
docs/seeds.md).")]
pub struct Args {
    /// A scenario file to run, or a results folder.
    #[arg(value_name = "SCENARIO|RESULTS")]
    source: PathBuf,
    /// A second results folder of the same scenario. Each algorithm in the first is compared with itself in the second,
    /// e.g., live with simulated.
    #[arg(value_name = "RESULTS", conflicts_with = "baseline")]
    other: Option<PathBuf>,
    /// The label of the algorithm to compare the others with.
    #[arg(
        long,
        short,
        value_name = "NAME",
        required_unless_present = "other",
        default_value = "",
        hide_default_value = true
    )]
    baseline: String,
    /// Also save the results of the run in this folder.
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Replace existing results.
    #[arg(long, requires = "out")]
    overwrite: bool,
    #[command(flatten)]
    simulation: SimulationArgs,
    #[command(flatten)]
    view: ViewArgs,
    #[command(flatten)]
    format: TableFormatArgs,
}

/// Compares algorithms with a baseline.
pub fn run(args: &Args, line: Vec<String>) -> Result<(), Failure> {
    let selection = selection::Selection::of(&args.view)?;
    let source = folder::of(&args.source);
    if let Some(other) = &args.other {
        refuse_changes(args)?;
        return two(args, &selection, &source, &folder::of(other));
    }
    if source.is_dir() {
        refuse_changes(args)?;
        let results = folder::read(&source)?;
        selection.check(&results)?;
        // One may be left out at some points.
        let all = (0..results.run.points.len()).flat_map(|p| results.algorithms(p)).cloned();
        refuse_a_scenario(&results, args)?;
        choose(&quell_lab::distinct(all), args, check_label)?;
        return print(&results, args, &selection, (Some(&source), results.notes()));
    }
    let mut study = simulate::read(&args.source, &args.simulation, Some(&args.baseline))?;
    simulate::select(&mut study, |labels| choose(labels, args, simulate::check_algorithm))?;
    simulate::check_view(&selection, &study)?;
    let auto = simulate::auto(&args.simulation, &selection, Some(&args.baseline), &study)?;
    let place = match &args.out {
        Some(out) => Some(Place::choose(Some(out), "", args.overwrite)?),
        None => None,
    };
    notes::say(&study, 1);
    simulate::check_space(&study, &args.simulation, place.as_ref().map(Place::dir))?;
    let results = simulate::run(&study, &args.simulation, (auto.as_ref(), None, false), line)?;
    let kept = keep(place, &results, true, false);
    selection.say_lacking(&results);
    // The others were said before it ran.
    print(&results, args, &selection, (kept.folder.as_deref(), results.remarks()))?;
    if let Some(failure) = kept.failure {
        return Err(failure);
    }
    interrupted(&results, kept.folder.as_deref(), true)
}

/// Compares two results of one scenario, algorithm by algorithm.
fn two(args: &Args, selection: &selection::Selection, one: &Path, other: &Path) -> Result<(), Failure> {
    let [a, b] = [folder::read(one)?, folder::read(other)?];
    let last = |p: &Path| p.file_name().map(|n| n.to_string_lossy().into_owned());
    let [mut first, mut second] = [one, other].map(|p| last(p).unwrap_or_else(|| p.display().to_string()));
    if first == second {
        [first, second] = [one, other].map(|p| p.display().to_string());
    }
    if first == second {
        return Err(bad_input!("{first} is named twice: name two results folders"));
    }
    let results = Results::beside((&first, &a), (&second, &b))
        .map_err(|why| bad_input!("{} and {} {why}", quell_files::name(one), quell_files::name(other)))?;
    let keys = differing_keys(&a, &b);
    if !keys.is_empty() {
        terminal::note(&format!("{first} and {second} come from scenarios that differ: {}", keys.join(", ")));
    }
    selection.check(&results)?;
    let args = Args { baseline: second, ..args.clone() };
    print(&results, &args, selection, (None, results.notes()))
}

/// Results are as they are: what changes a scenario has no effect on them.
fn refuse_changes(args: &Args) -> Result<(), Failure> {
    let s = &args.simulation;
    let given = [
        ("--seeds", s.seeds.is_some()),
        ("--precision", !s.precision.is_empty()),
        ("--max-seeds", s.max_seeds.is_some()),
        ("--seed", s.seed.is_some()),
        ("--set", !s.changes.set.is_empty()),
        ("--sweep", !s.changes.sweep.is_empty()),
        ("--threads", s.threads.is_some()),
        ("--engine", s.engine != EngineChoice::Fast),
        ("--out", args.out.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(bad_input!(
            "{option} applies only to scenarios; {} holds results, which are compared as they are",
            quell_files::name(&args.source)
        )),
        None => Ok(()),
    }
}

/// The labels to compare, the baseline first. `check` refuses those that are neither there nor can be added.
fn choose(
    labels: &[String],
    args: &Args,
    check: impl Fn(&str, &[String]) -> Result<(), Failure>,
) -> Result<Vec<String>, Failure> {
    let aqm = &args.simulation.aqm;
    let wanted: Vec<&String> = if aqm.is_empty() { labels.iter().collect() } else { aqm.iter().collect() };
    let mut chosen: Vec<String> = Vec::new();
    for name in std::iter::once(&args.baseline).chain(wanted) {
        check(name, labels)?;
        if !chosen.contains(name) {
            chosen.push(name.clone());
        }
    }
    if chosen.len() < 2 {
        let why = format!(
            "there is nothing to compare with \"{}\": name other algorithms with --aqm",
            args.baseline
        );
        return Err(Failure::BadInput(why));
    }
    Ok(chosen)
}

/// Refuses, as the baseline, a scenario of results of several: algorithms of one scenario are compared.
fn refuse_a_scenario(results: &Results, args: &Args) -> Result<(), Failure> {
    let name = &args.baseline;
    let of_point = |point: usize| results.run.points[point].settings.first().filter(|s| s.field == JOINED);
    let is_label = |point: usize| results.algorithms(point).contains(name);
    let points = 0..results.run.points.len();
    let is_scenario = points.clone().filter_map(of_point).any(|setting| setting.value == *name);
    if !is_scenario || points.clone().any(is_label) {
        return Ok(());
    }
    Err(bad_input!(
        "--baseline: {name} is a scenario of these results, and algorithms of one scenario are compared; `quell show {}` \
         puts scenarios side by side",
        quell_files::name(&args.source)
    ))
}

/// Refuses an algorithm that results do not have.
fn check_label(name: &str, labels: &[String]) -> Result<(), Failure> {
    match labels.iter().any(|label| label == name) {
        true => Ok(()),
        false => Err(unknown_name("algorithm", name, labels.iter().map(String::as_str))),
    }
}

/// One row of a comparison: an algorithm's differences in each metric.
type Differences = Vec<Option<Estimate>>;

struct Rows {
    algorithms: Vec<String>,
    baseline: Vec<Option<Estimate>>,
    differences: Vec<Differences>,
}

fn rows(results: &Results, args: &Args, view: &View, metrics: &[Quantity]) -> Rows {
    let wanted = |a: &&String| {
        **a != args.baseline && (args.simulation.aqm.is_empty() || args.simulation.aqm.contains(a))
    };
    let algorithms: Vec<String> = results.algorithms(view.point).iter().filter(wanted).cloned().collect();
    let all = results.compare(view, &args.baseline, metrics);
    let find = |a: &String, m: &Quantity| {
        all.iter().find(|d| d.algorithm == *a && d.metric == *m).map(|d| d.difference)
    };
    let differences = algorithms.iter().map(|a| metrics.iter().map(|m| find(a, m)).collect()).collect();
    let baseline = metrics.iter().map(|m| results.estimate(view, &args.baseline, m)).collect();
    Rows { algorithms, baseline, differences }
}

fn print(
    results: &Results,
    args: &Args,
    selection: &selection::Selection,
    (folder, notes): (Option<&Path>, Vec<String>),
) -> Result<(), Failure> {
    if args.format.format == TableFormat::Json {
        let mut output = selection::json_run(results, folder, None);
        output["baseline"] = json!(args.baseline);
        output["points"] = json_points(results, args, selection).into();
        selection::add_notes(&mut output, selection.inapplicable(results));
        return json::print(&output);
    }
    notes.iter().for_each(|note| terminal::note(note));
    selection.say_inapplicable(results);
    if args.format.format != TableFormat::Table {
        let wanted = (!args.simulation.aqm.is_empty()).then_some(args.simulation.aqm.as_slice());
        let (views, metrics) = (selection.all_views(results), selection.grid_metrics());
        let grid = Grid::compared(results, &views, &metrics, &args.baseline, wanted);
        return terminal::print_data(&selection::formatted(&grid, args.format.format));
    }
    let mut text = selection::heading(results);
    let mut intervals = 0;
    let mut before = None;
    for (point, link) in selection.points(results) {
        if before != Some(point) {
            text.push_str(&selection::point_heading(results, point));
        }
        before = Some(point);
        if selection.is_of_all_links() {
            text.push_str(&format!("link {}\n", one_line(link)));
        }
        for view in selection.views(results, point, link) {
            let name = selection.name(results, &view);
            if !name.is_empty() {
                text.push_str(&(one_line(&name) + "\n"));
            }
            let metrics = selection.table_metrics(&view.scope);
            let rows = rows(results, args, &view, &metrics);
            intervals +=
                rows.differences.iter().flatten().flatten().filter(|d| d.half_width.is_some()).count();
            text.push_str(&one_table(results, &args.baseline, &rows, &metrics));
            text.push('\n');
        }
    }
    text.push_str(&selection::holes(results));
    text.push_str(&caption(results, args, intervals));
    terminal::print(&text)
}

fn one_table(results: &Results, baseline: &str, rows: &Rows, metrics: &[Quantity]) -> String {
    let first = format!("{baseline} (baseline)");
    let names = Column::names("algorithm", std::iter::once(&first).chain(&rows.algorithms));
    let shown =
        selection::applicable(metrics, &[std::slice::from_ref(&rows.baseline), &rows.differences].concat());
    let mut columns: Vec<Column> = shown
        .iter()
        .map(|i| column(results, &metrics[*i], rows.baseline[*i], rows.differences.iter().map(|d| d[*i])))
        .collect();
    columns
        .extend(selection::seeds_column(&[std::slice::from_ref(&rows.baseline), &rows.differences].concat()));
    table::figures(&names, &columns)
}

fn column(
    results: &Results,
    figure: &Quantity,
    baseline: Option<Estimate>,
    differences: impl Iterator<Item = Option<Estimate>>,
) -> Column {
    let differences: Vec<_> = differences.collect();
    let all = || std::iter::once(baseline).chain(differences.iter().copied()).flatten();
    let largest = all().map(|e| e.mean.abs()).fold(0.0, f64::max);
    let (scale, unit) = selection::scale_of(results, figure, largest);
    let mut figures = vec![baseline.map(|e| round(&e, scale, false))];
    figures.extend(differences.iter().map(|d| d.map(|e| round(&e, scale, true))));
    let flags = std::iter::once(None).chain(differences);
    let flagged = |(text, difference): (String, Option<Estimate>)| match difference {
        Some(d) if d.excludes_zero() => (format!("{text} *"), judge(figure, &d)),
        _ => (format!("{text}  "), Tint::Plain),
    };
    Column::new(figure.title(), unit, align(&figures).into_iter().zip(flags).map(flagged))
}

fn judge(figure: &Quantity, difference: &Estimate) -> Tint {
    match (figure.better(), difference.mean > 0.0) {
        (Better::Neither, _) => Tint::Plain,
        (Better::Higher, true) | (Better::Lower, false) => Tint::Good,
        (Better::Higher, false) | (Better::Lower, true) => Tint::Bad,
    }
}

fn caption(results: &Results, args: &Args, intervals: usize) -> String {
    let mut text = format!("differences from {}, paired by seed", args.baseline);
    if intervals == 0 {
        text.push_str(
            "; no intervals because there is only one common seed, or every seed gives the same run\n",
        );
        return text;
    }
    let points = 0..results.run.points.len();
    let seeds = points.flat_map(|p| results.algorithms(p).iter().map(move |a| results.finished(p, a)));
    let seeds: Vec<usize> = match results.run.sequential.is_empty() {
        true => (0..results.run.points.len()).map(|p| results.finished(p, &args.baseline)).collect(),
        false => seeds.collect(),
    };
    let most = seeds.iter().max().copied().unwrap_or(0);
    let least =
        seeds.iter().min().copied().filter(|least| *least < most && !results.run.sequential.is_empty());
    let seeds = least.map_or(String::new(), |least| format!("{least} to ")) + &most.to_string();
    text.push_str(&format!(": mean ± half-width of the 95% interval over {seeds} seeds\n"));
    text.push_str(&selection::rules(results));
    text.push_str(&format!(
        "* the interval excludes 0 (if nothing differed, each of these {intervals} would do so with a probability of \
        5%: {} on average)\n",
        quell_units::text::three_digits(intervals as f64 * 0.05)
    ));
    text
}

fn json_points(results: &Results, args: &Args, selection: &selection::Selection) -> Vec<serde_json::Value> {
    let metrics = &selection.json_metrics();
    let difference = |figure: &Quantity, estimate: Estimate| json::Difference {
        value: json::Value::of(results.unit(figure), &estimate),
        excludes_zero: estimate.excludes_zero(),
        better: figure.better(),
    };
    let of_view = |view: &View| {
        let row = |(algorithm, estimates): (String, Differences)| {
            let each = metrics.iter().zip(estimates);
            let differences: BTreeMap<_, _> =
                each.map(|(m, e)| (m.to_string(), e.map(|e| difference(m, e)))).collect();
            json!({
                "algorithm": algorithm,
                "scope": view.scope,
                "segment": view.segment,
                "differences": differences,
            })
        };
        let found = rows(results, args, view, metrics);
        found.algorithms.into_iter().zip(found.differences).map(row).collect::<Vec<_>>()
    };
    let of_point = |(point, link): (usize, &str)| {
        let views = selection.views(results, point, link);
        let baseline = |view| selection::json_row(results, view, &args.baseline, metrics);
        json!({
            "settings": json::settings(&results.run.points[point].settings),
            "link": link,
            "rows": views.iter().flat_map(of_view).collect::<Vec<_>>(),
            "baseline_rows": views.iter().map(baseline).collect::<Vec<_>>(),
        })
    };
    selection.points(results).map(of_point).collect()
}
