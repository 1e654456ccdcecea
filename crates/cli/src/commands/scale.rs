//! `quell scale`.

use std::path::PathBuf;

use quell_lab::{Estimate, Quantity, Results, View, files_in, t_quantile};
use quell_scenario::{Document, Plugins, Scaled, Study};
use quell_units::text::three_digits;
use serde_json::json;

use crate::args::{Format, FormatArgs, Seeds, SimulationArgs, ViewArgs};
use crate::failure::Failure;
use crate::selection::Selection;
use crate::{json, notes, simulate, table, terminal};

/// Arguments of `scale`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell scale scenarios/dumbbell.toml --by 10
  quell scale scenarios/main.toml --by 4 --aqm red,pi --metric loss_rate,queue_delay_p99_s --seeds 10
  quell scale scenarios/dumbbell.toml --by 1000 --print > million.toml

Rates, flows, buffers and thresholds become N times as large together. Gains and weights per packet become smaller; \
times, probabilities and per-flow settings stay. Totals over all flows are divided by N before they are compared. A \
metric agrees if the 90% interval of its difference lies within --within of its mean (two one-sided tests at 5%), and \
differs if the 95% interval lies outside. docs/scaling.md lists what this is not valid for.")]
pub struct Args {
    /// The scenario file; - for standard input.
    #[arg(value_name = "SCENARIO")]
    scenario: PathBuf,
    /// Factor to scale by; below 1, the scenario becomes smaller.
    #[arg(long, value_name = "N", value_parser = factor)]
    by: f64,
    /// Share of a metric's mean by which the two sizes may differ and still agree.
    #[arg(long, value_name = "SHARE", default_value = "5%", value_parser = share)]
    within: f64,
    /// Print the scaled scenario without running anything.
    #[arg(long)]
    print: bool,
    #[command(flatten)]
    simulation: SimulationArgs,
    #[command(flatten)]
    view: ViewArgs,
    #[command(flatten)]
    format: FormatArgs,
}

fn factor(text: &str) -> Result<f64, String> {
    let number = text.trim().parse().ok().filter(|x: &f64| x.is_finite() && *x > 0.0);
    number.ok_or_else(|| "must be a number above 0, such as 10 or 0.1".to_string())
}

fn share(text: &str) -> Result<f64, String> {
    let percent = text.trim().strip_suffix('%');
    let number = percent.unwrap_or(text.trim()).parse::<f64>().ok();
    let share = number.map(|x| if percent.is_some() { x / 100.0 } else { x });
    share.filter(|x| *x > 0.0 && *x < 1.0).ok_or_else(|| "must be a share such as 5% or 0.05".to_string())
}

/// Runs a scenario at two sizes, and says which metrics agree.
pub fn run(args: &Args, line: Vec<String>) -> Result<(), Failure> {
    let selection = Selection::of(&args.view)?;
    if args.simulation.seeds == Some(Seeds::Auto) {
        return Err(bad_input!(
            "scale needs a number of seeds, because both sizes run the same ones; use, e.g., --seeds 10"
        ));
    }
    let mut one = simulate::read(&args.scenario, &args.simulation, None)?;
    simulate::choose(&mut one, &args.simulation.aqm)?;
    let [point] = &one.points[..] else {
        return Err(bad_input!("scale takes a single point, but this is a sweep of {}", one.points.len()));
    };
    let scaled = point.scaled(args.by)?;
    // Of both sizes as files, so that all that differs is what was scaled.
    let many = Document::parse(&scaled.text, &format!("{} times {}", args.by, one.name()))?
        .among(files_in(std::path::Path::new("")))
        .study(&Plugins::new())?;
    if args.print {
        return terminal::print_data(&scaled.text);
    }
    simulate::check_view(&selection, &one)?;
    if let Some(asked) = selection.asked_metrics()
        && !asked.is_empty()
        && asked.iter().all(|metric| power(metric).is_none())
    {
        let names: Vec<String> = asked.iter().map(ToString::to_string).collect();
        return Err(bad_input!(
            "--metric {}: has no scaling rule, so there is nothing to compare; name another metric, such as {}",
            names.join(","),
            METRICS[1]
        ));
    }
    notes::say(&many, 1);
    let run = |study: &Study| simulate::run(study, &args.simulation, (None, None, false), line.clone());
    let (small, large) = (run(&one)?, run(&many)?);
    let rows = rows(args, &selection, (&small, &large));
    let partial = [&small, &large].into_iter().any(|results| results.replications.len() < results.asked());
    if rows.is_empty() && !partial {
        let why = selection.inapplicable(&small);
        let why = if why.is_empty() { "no metric applies at both sizes".to_string() } else { why.join("; ") };
        return Err(bad_input!("nothing is compared: {why}"));
    }
    match args.format.format {
        Format::Json => json::print(&output(args, &scaled, &rows))?,
        Format::Table => terminal::print(&text(args, &scaled, &rows))?,
    }
    match partial {
        true => Err(Failure::Interrupted(
            "not all replications finished; run the same command to continue".to_string(),
        )),
        false => Ok(()),
    }
}

/// A metric of an algorithm at both sizes.
struct Row {
    algorithm: String,
    metric: Quantity,
    unit: String,
    /// The exponent of the size by which the second mean was divided.
    power: i32,
    means: [Estimate; 2],
    verdict: Verdict,
}

/// The answer for a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Verdict {
    /// Whatever the difference is, it is small; its interval as shares of the mean.
    Agrees(f64, f64),
    /// Whatever the difference is, it is large.
    Differs(f64, f64),
    /// There are too few seeds to say.
    Undecided(f64, f64),
    /// A single seed, or one path for all seeds, has no interval.
    NoInterval,
    /// Both are 0.
    Zero,
}

impl Verdict {
    fn word(self) -> &'static str {
        match self {
            Verdict::Agrees(..) | Verdict::Zero => "agrees",
            Verdict::Differs(..) => "differs",
            Verdict::Undecided(..) => "undecided",
            Verdict::NoInterval => "no interval",
        }
    }

    fn interval(self) -> Option<(f64, f64)> {
        match self {
            Verdict::Agrees(low, high) | Verdict::Differs(low, high) | Verdict::Undecided(low, high) => {
                Some((low, high))
            }
            Verdict::NoInterval | Verdict::Zero => None,
        }
    }
}

/// The metrics that are compared unless others are named.
const METRICS: [&str; 14] = [
    "utilization",
    "goodput_bps",
    "loss_rate",
    "mark_rate",
    "queue_packets",
    "queue_std_packets",
    "queue_delay_mean_s",
    "queue_delay_p99_s",
    "jain_index",
    "timeouts",
    "loss_synchronization",
    "flow_completion_time_mean_s",
    "flow_completion_time_p99_s",
    "page_time_p95_s",
];

fn rows(args: &Args, selection: &Selection, (small, large): (&Results, &Results)) -> Vec<Row> {
    let usual = || METRICS.iter().filter_map(|name| name.parse().ok()).collect::<Vec<Quantity>>();
    let metrics = selection.asked_metrics().map_or_else(usual, <[Quantity]>::to_vec);
    let view = View { link: selection.link().map(str::to_string), ..View::default() };
    let mut rows = Vec::new();
    for metric in metrics {
        let Some(power) = power(&metric) else {
            terminal::note(&format!("{metric}: has no scaling rule, so it is not compared"));
            continue;
        };
        for algorithm in small.algorithms(0) {
            let samples = |results: &Results, by: f64| -> Vec<f64> {
                results.samples(&view, algorithm, &metric).iter().map(|(_, x)| x / by).collect()
            };
            let (x, y) = (samples(small, 1.0), samples(large, args.by.powi(power)));
            let (Some(a), Some(b)) = (Estimate::of(&x), Estimate::of(&y)) else { continue };
            let fixed = small.is_fixed(0, algorithm) && large.is_fixed(0, algorithm);
            rows.push(Row {
                algorithm: algorithm.clone(),
                unit: small.unit(&metric),
                metric: metric.clone(),
                power,
                means: [a, b],
                verdict: if fixed { Verdict::NoInterval } else { verdict(&x, &y, args.within) },
            });
        }
    }
    // Algorithm by algorithm, each with its metrics.
    rows.sort_by_key(|row| small.algorithms(0).iter().position(|a| *a == row.algorithm));
    rows
}

/// Two one-sided tests (Schuirmann 1987, not verified) of the difference of two means with unequal variances (Welch
/// 1947, not verified): a 90% interval within the margin means that each test passes at 5%.
fn verdict(x: &[f64], y: &[f64], within: f64) -> Verdict {
    let moments = |v: &[f64]| {
        let n = v.len() as f64;
        let mean = v.iter().sum::<f64>() / n;
        let square = v.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / (n - 1.0);
        (mean, square / n, n)
    };
    if x.iter().chain(y).all(|x| *x == 0.0) {
        return Verdict::Zero;
    }
    if x.len() < 2 || y.len() < 2 {
        return Verdict::NoInterval;
    }
    let ((a, u, n), (b, v, m)) = (moments(x), moments(y));
    let error = (u + v).sqrt();
    // Welch and Satterthwaite; without any deviation each number of degrees gives the same.
    let freedom = (u + v).powi(2) / (u * u / (n - 1.0) + v * v / (m - 1.0));
    let freedom = if freedom.is_finite() { freedom.floor().max(1.0) as usize } else { x.len() + y.len() - 2 };
    let margin = within * a.abs();
    let half = |mistakes| t_quantile(freedom, mistakes) * error;
    let (narrow, wide) = (half(0.10), half(0.05));
    let relative = |half: f64| {
        let share = |d: f64| if a == 0.0 { f64::INFINITY.copysign(d) } else { d / a.abs() };
        (share(b - a - half), share(b - a + half))
    };
    let (low, high) = relative(narrow);
    match (b - a).abs() {
        d if d + narrow <= margin => Verdict::Agrees(low, high),
        d if d - wide > margin => {
            let (low, high) = relative(wide);
            Verdict::Differs(low, high)
        }
        _ => Verdict::Undecided(low, high),
    }
}

/// The power of the size with which a metric grows; `None` if nobody has said it.
fn power(figure: &Quantity) -> Option<i32> {
    let text = figure.to_string();
    // The classes of scopes have no slash.
    let mut parts = text.split('/').map(|part| part.parse::<Quantity>().ok()?.metric());
    let (of, over) = (parts.next()??, parts.next());
    let of = power_of(of.name())?;
    match over {
        None => Some(of),
        Some(over) => Some(of - power_of(over?.name())?),
    }
}

/// The power of one metric.
fn power_of(name: &str) -> Option<i32> {
    let extensive = [
        "throughput_bps",
        "packet_rate_pps",
        "goodput_bps",
        "arrived_packets",
        "presented_packets",
        "forwarded_packets",
        "marked_packets",
        "dropped_ecn_packets",
        "dropped_not_ecn_packets",
        "queue_packets",
        "queue_seen_packets",
        "queue_std_packets",
        "queue_segment_std_packets",
        "queue_bytes",
        "queue_std_bytes",
        "queue_segment_std_bytes",
        "buffer_packets",
        "buffer_bytes",
        "timeouts",
        "fast_retransmits",
        "ecn_responses",
        "transfers",
        "pages",
        "power_bit_per_s2",
    ];
    // Of one packet, one flow, one transfer or one player.
    let intensive = [
        "utilization",
        "response_time_s",
        "round_trip_time_",
        "queue_delay_",
        "jain_index",
        "flow_completion_time_",
        "flow_acknowledgment_time_",
        "slowdown_",
        "page_time_",
        "video_",
        "one_way_delay_",
        "delay_variation_",
        "start_up_time_",
        "loss_synchronization",
        "arrival_share",
        "loss_share",
        "airtime_share",
    ];
    match name {
        "loss_interval_mean_s" => Some(-1),
        _ if extensive.contains(&name) => Some(1),
        _ if name.ends_with("_rate") && !name.contains("packet_rate") => Some(0),
        _ if intensive.iter().any(|part| name.starts_with(part)) => Some(0),
        _ => None,
    }
}

/// The reason for which an algorithm does not follow the size, whatever its parameters are.
fn by_its_law(algorithm: &str) -> Option<&'static str> {
    match algorithm {
        "codel" | "cobalt" => Some(
            "drops one packet at a time, at intervals that shrink with the square root of the number of drops, so it \
             takes longer to reach N times as many drops per second",
        ),
        "hred" | "hred-fixed" | "blue" | "blue-fixed" => Some(
            "moves in steps at events, and the number of events per round trip grows with the size until the minimum \
             time between steps limits it",
        ),
        _ => None,
    }
}

fn text(args: &Args, scaled: &Scaled, rows: &[Row]) -> String {
    let mut out = format!("Scaling by {} changes these fields; everything else stays the same:\n\n", args.by);
    let changes =
        scaled.changes.iter().map(|c| [&c.field, &c.from, &c.to, c.why].map(str::to_string).to_vec());
    out.push_str(&table::text(&["field", "before", "after", "because"], &changes.collect::<Vec<_>>()));
    let word = |power: i32| match power {
        0 => String::new(),
        1 => " / N".to_string(),
        -1 => " * N".to_string(),
        power => format!(" / N^{power}"),
    };
    let percent = |x: f64| format!("{:+.1}", x * 100.0);
    let line = |row: &Row| {
        let unit = if row.unit == "1" { String::new() } else { format!(" ({})", row.unit) };
        let difference = match row.verdict.interval() {
            Some((low, high)) => format!("{} to {}%", percent(low), percent(high)),
            None => "-".to_string(),
        };
        vec![
            row.algorithm.clone(),
            format!("{}{}{unit}", row.metric, word(row.power)),
            three_digits(row.means[0].mean),
            three_digits(row.means[1].mean),
            difference,
            row.verdict.word().to_string(),
        ]
    };
    out.push('\n');
    let lines: Vec<Vec<String>> = rows.iter().map(line).collect();
    let large = format!("{} times", args.by);
    out.push_str(&table::text(&["algorithm", "metric", "original", &large, "difference", ""], &lines));
    let count = |word: &str| rows.iter().filter(|row| row.verdict.word() == word).count();
    out.push_str(&format!(
        "\n{} agree within {}%, {} differ by more, {} are undecided{}.\n",
        count("agrees"),
        args.within * 100.0,
        count("differs"),
        count("undecided") + count("no interval"),
        if count("undecided") + count("no interval") > 0 {
            " (try more seeds, such as --seeds 20)"
        } else {
            ""
        }
    ));
    let mut said: Vec<&str> = Vec::new();
    for row in rows {
        if let (Some(law), false) = (by_its_law(&row.algorithm), said.contains(&row.algorithm.as_str())) {
            out.push_str(&format!("{} {law}.\n", row.algorithm));
            said.push(&row.algorithm);
        }
    }
    out
}

fn output(args: &Args, scaled: &Scaled, rows: &[Row]) -> serde_json::Value {
    let change = |c: &quell_scenario::ScaledValue| json!({ "field": c.field, "from": c.from, "to": c.to, "because": c.why });
    let row = |row: &Row| {
        let interval = row.verdict.interval().filter(|(low, high)| low.is_finite() && high.is_finite());
        json!({
            "algorithm": row.algorithm,
            "metric": row.metric.to_string(),
            "unit": row.unit,
            "power": row.power,
            "mean": row.means[0].mean,
            "scaled_mean": row.means[1].mean,
            "seeds": [row.means[0].n, row.means[1].n],
            "relative_difference": interval.map(|(low, high)| [low, high]),
            "verdict": row.verdict.word(),
        })
    };
    json!({
        "by": args.by,
        "within": args.within,
        "scaled": scaled.changes.iter().map(change).collect::<Vec<_>>(),
        "metrics": rows.iter().map(row).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use quell_lab::Metric;

    use super::*;

    #[test]
    fn a_small_difference_agrees_a_large_one_differs_and_a_vague_one_is_undecided() {
        let near =
            |mean: f64, spread: f64| -> Vec<f64> { (-2..=2).map(|i| mean + f64::from(i) * spread).collect() };
        assert!(
            matches!(verdict(&near(10.0, 0.01), &near(10.1, 0.01), 0.05), Verdict::Agrees(low, high) if low > 0.0 && high < 0.02)
        );
        assert!(
            matches!(verdict(&near(10.0, 0.01), &near(12.0, 0.01), 0.05), Verdict::Differs(low, _) if low > 0.15)
        );
        assert!(matches!(verdict(&near(10.0, 1.0), &near(10.1, 1.0), 0.05), Verdict::Undecided(..)));
        assert_eq!(verdict(&[0.0, 0.0], &[0.0, 0.0], 0.05), Verdict::Zero);
        assert_eq!(verdict(&[1.0], &[1.0], 0.05), Verdict::NoInterval);
        // From nothing to something is no share of the mean.
        assert_eq!(verdict(&[0.0, 0.0], &[1.0, 1.01], 0.05).word(), "differs");
    }

    #[test]
    fn metrics_follow_the_size_in_words_that_are_true_of_their_units() {
        let of = |name: &str| power(&name.parse().unwrap());
        assert_eq!(of("goodput_bps[ftp]"), Some(1));
        assert_eq!(of("queue_packets/buffer_packets"), Some(0));
        assert_eq!(of("goodput_bps/queue_delay_mean_s"), Some(1));
        assert_eq!(of("loss_interval_mean_s"), Some(-1));
        assert_eq!(of("internal:p"), None);
        // Times and shares stay, but for the time from one loss to the next.
        for metric in Metric::ALL.iter().filter(|m| m.unit() == "s" && m.name() != "loss_interval_mean_s") {
            assert!(matches!(power_of(metric.name()), Some(0) | None), "{}", metric.name());
        }
        for metric in METRICS {
            assert!(of(metric).is_some(), "{metric}");
        }
    }
}
