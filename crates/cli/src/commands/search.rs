//! `quell search`.

use std::path::PathBuf;

use quell_lab::{Axis, Ending, Estimate, MAX_SEEDS, Probe, Quantity, Search, Searched, Side, Width};
use quell_units::text::one_line;
use quell_view::figures;
use serde::Serialize;
use serde_json::json;

use crate::align::scale_of;
use crate::args::{Changes, Format, FormatArgs, WatchArgs, metric, whole};
use crate::failure::Failure;
use crate::selection;
use crate::simulate::Chosen;
use crate::table::{self, Column, Tint};
use crate::{json, simulate, terminal};

/// Arguments of `search`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell search my.toml --over aqm.red.max_p=0.01..0.5:log --metric loss_rate --crosses 2%
  quell search my.toml --over \"dumbbell.rate=5 Mbit/s..50 Mbit/s\" --metric queue_delay_mean_s --crosses \"20 ms\" --aqm pi
  quell search my.toml --over aqm.red.max_p=0.01..0.5:log:20 --metric loss_rate --crosses 2%
  quell search my.toml --over flows.ftp.count=10..500 --metric utilization --crosses 95% --aqm red --tolerance 2

The search is a bisection. At each probe, an interval over the seeds 1, 2, 3, ... decides which side of the value the \
metric is on, with more seeds as long as it is undecided; if it stays undecided, the search continues on both sides. \
All probes together are wrong with a probability of at most 5%, for normal samples and a metric that crosses the value \
once (docs/seeds.md). If a field takes only whole numbers, only those are probed. With a range as in --sweep, only its \
values are probed, so the crossing is found between two of them at best.")]
pub struct Args {
    /// The scenario file: a single point, not a sweep.
    #[arg(value_name = "SCENARIO")]
    scenario: PathBuf,
    /// Field to vary and its ends: FIELD=FROM..TO, with :log at the end for a logarithmic axis. A range as in --sweep
    /// (FROM..TO:log:N, :lin:N or :step:S) probes only its values.
    #[arg(long, value_name = "AXIS")]
    over: Axis,
    /// Metric, by name (`quell show --help` lists them); NAME[CLASS], internal:SIGNAL and A/B work as in `quell run`.
    #[arg(long, value_name = "NAME", value_parser = metric)]
    metric: Quantity,
    /// Value that the metric crosses, with or without a unit: 0.02, 2%, "20 ms".
    #[arg(long, value_name = "VALUE", allow_hyphen_values = true)]
    crosses: String,
    /// Algorithm, by its label or, if the scenario lacks it, its name in the catalog; default: the one that the field
    /// names, or the scenario's only one.
    #[arg(long, value_name = "NAME")]
    aqm: Option<String>,
    /// The link; default: the first bottleneck.
    #[arg(long, value_name = "NAME")]
    link: Option<String>,
    /// Traffic: all, data (all but acknowledgments) or a class.
    #[arg(long, value_name = "CLASS", default_value = "all")]
    scope: String,
    /// Width of the interval for the crossing: a value in the axis's unit, or a share of the crossing (5%), which on a
    /// linear axis is at least a thousandth of the axis.
    #[arg(long, value_name = "WIDTH", default_value = "5%")]
    tolerance: String,
    /// Most seeds per probe; default: 50.
    #[arg(long, value_name = "N", value_parser = whole(2..=100_000_u32))]
    max_seeds: Option<u32>,
    #[command(flatten)]
    changes: Changes,
    #[command(flatten)]
    watch: WatchArgs,
    #[command(flatten)]
    format: FormatArgs,
}

/// A probe, for JSON.
#[derive(Serialize)]
struct ProbeOutput {
    at: f64,
    side: Option<Side>,
    #[serde(flatten)]
    value: json::Value,
}

/// Searches for the point of an axis at which a metric crosses a value.
pub fn run(args: &Args, line: Vec<String>) -> Result<(), Failure> {
    let mut document = simulate::document(&args.scenario)?;
    // Without --aqm, the one that the field names.
    let of_field = args.over.name.strip_prefix("aqm.").and_then(|rest| rest.split(['.', '[']).next());
    let named: Option<String> = args.aqm.clone().or(of_field.map(str::to_string));
    if let Some(name) = &named {
        document.add_algorithm(name);
    }
    let chosen = Chosen { aqm: named.as_slice(), baseline: None };
    let (study, document) = simulate::changed_of(document, &args.changes, None, chosen)?;
    let bad = |option: &str, why: String| bad_input!("{option}: {why}");
    let question = Search {
        over: args.over.clone(),
        metric: args.metric.clone(),
        crosses: args.metric.read(&args.crosses).map_err(|why| bad("--crosses", why))?,
        algorithm: args.aqm.clone(),
        link: args.link.clone(),
        scope: args.scope.clone(),
        tolerance: tolerance(&args.tolerance, &args.over.unit).map_err(|why| bad("--tolerance", why))?,
        max_seeds: args.max_seeds.map_or(MAX_SEEDS, |n| n as usize),
    };
    let watch = simulate::Watch::of(&args.watch).with_series(quell_lab::Series::None);
    let found = watch.attend((0, 1), line, |options| question.search(&document, options));
    watch.finish();
    let found = found?;
    match args.format.format {
        Format::Json => json::print(&output(&question, &found, study.title(), study.name()))?,
        Format::Table => {
            let title = study.title();
            let heading = if title.is_empty() { String::new() } else { one_line(title) + "\n\n" };
            terminal::print(&(heading + &probes(&question, &found)))?;
        }
    }
    conclude(&question, &found, args.format.format)
}

/// A tolerance, perhaps with the unit of the axis.
fn tolerance(text: &str, unit: &str) -> Result<Width, String> {
    let width = text.trim().strip_suffix(unit).unwrap_or(text).parse();
    let example = if unit.is_empty() { "2".to_string() } else { format!("2 {unit}") };
    width.map_err(|_| {
        format!(
            "\"{}\" must be above 0: a share of the crossing (5%), or a length of the axis ({example})",
            quell_units::text::cut(text.trim())
        )
    })
}

/// The findings, for JSON.
fn output(question: &Search, found: &Searched, title: &str, scenario: &str) -> serde_json::Value {
    let probe = |p: &Probe| ProbeOutput {
        at: p.at,
        side: p.side,
        value: json::Value::of(found.unit.clone(), &p.estimate),
    };
    let crossing = &found.crossing;
    json!({
        "title": title,
        "scenario": scenario,
        "over": question.over.name,
        // Empty for pure numbers.
        "over_unit": question.over.unit,
        "metric": question.metric.to_string(),
        "crosses": question.crosses,
        "unit": found.unit,
        "algorithm": found.algorithm,
        "link": found.link,
        "scope": question.scope,
        "ending": crossing.ending,
        // True if the metric rises along the axis.
        "rises": crossing.rises,
        // The interval for the crossing.
        "low": crossing.interval.map(|i| i.0),
        "high": crossing.interval.map(|i| i.1),
        "probes": crossing.probes.iter().map(probe).collect::<Vec<_>>(),
    })
}

/// The probes as a table, in the order of the axis.
fn probes(question: &Search, found: &Searched) -> String {
    let mut probes = found.crossing.probes.clone();
    probes.sort_by(|a, b| a.at.total_cmp(&b.at));
    let plain = |text: String| (text, Tint::Plain);
    let names = Column::names(question.over.name.clone(), probes.iter().map(|p| question.text(p.at)));
    let estimates: Vec<Option<Estimate>> = probes.iter().map(|p| Some(p.estimate)).collect();
    let side = |p: &Probe| match p.side {
        Some(Side::Below) => "below",
        Some(Side::Above) => "above",
        None => "undecided",
    };
    let seeds = probes.iter().map(|p| plain(p.estimate.n.to_string()));
    let sides = probes.iter().map(|p| plain(side(p).to_string()));
    let columns = [
        selection::column(&question.metric, &estimates, |largest| {
            scale_of(&question.metric, &found.unit, largest)
        }),
        Column::new("seeds", "", seeds),
        Column::new(figure(&question.metric, &found.unit, question.crosses), "", sides),
    ];
    table::figures(&names, &columns) + "\n"
}

/// A value of a metric for people.
fn figure(metric: &Quantity, unit: &str, value: f64) -> String {
    let (scale, unit) = scale_of(metric, unit, value);
    let text = figures::round(&Estimate { mean: value, half_width: None, n: 1 }, scale, false).mean;
    // Without the zeros that an exact value does not need.
    let text = if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.') } else { &text };
    match unit.as_str() {
        "" => text.to_string(),
        "%" => format!("{text}%"),
        unit => format!("{text} {unit}"),
    }
}

/// Says what was found.
fn conclude(question: &Search, found: &Searched, format: Format) -> Result<(), Failure> {
    let crossing = &found.crossing;
    let value = figure(&question.metric, &found.unit, question.crosses);
    let what = format!("{} of {} at {}", question.metric.title(), found.algorithm, found.link);
    let (name, text) = (&question.over.name, |x: f64| question.text(x));
    let between = crossing.interval.map(|(low, high)| {
        let way = if crossing.rises == Some(true) { "rises" } else { "falls" };
        format!("{what} {way} through {value} for {name} between {} and {}", text(low), text(high))
    });
    let say = |sentence: String| match format {
        Format::Table => terminal::print(&terminal::prose(&(sentence + "\n"))),
        Format::Json => Ok(()),
    };
    match (crossing.ending, between) {
        (Ending::Found, Some(between)) => say(format!(
            "{between}\nwith a probability of at least 95%, if it crosses once and samples are normal"
        )),
        (Ending::Undecided, Some(between)) => {
            say(format!(
                "{between}\nwith a probability of at least 95%, if it crosses once and samples are normal"
            ))?;
            let seeds = question.max_seeds;
            let noise = format!("{seeds} seeds left probes within it undecided");
            let help = "to narrow it, raise --max-seeds or simulate a longer duration";
            terminal::note(&format!("this interval is wider than the tolerance: {noise}; {help}"));
            Ok(())
        }
        (Ending::SameSide, _) => {
            let side = match crossing.probes.first().and_then(|p| p.side) {
                Some(Side::Above) => "above",
                _ => "below",
            };
            Err(Failure::Failed(format!(
                "no crossing found: {what} is {side} {value} at both ends of {name}; choose ends on either side of the \
                 crossing"
            )))
        }
        (Ending::EndUndecided, _) => {
            let unclear = crossing.probes.iter().filter(|p| p.side.is_none()).map(|p| text(p.at));
            Err(Failure::Failed(format!(
                "no crossing found: with {} seeds, {what} cannot be distinguished from {value} at {name} = {}; choose \
                 ends further away, or raise --max-seeds",
                question.max_seeds,
                unclear.collect::<Vec<_>>().join(" and ")
            )))
        }
        (_, between) => Err(Failure::Interrupted(match between {
            Some(between) => format!("so far, {between}"),
            None => "no crossing is known yet".to_string(),
        })),
    }
}
