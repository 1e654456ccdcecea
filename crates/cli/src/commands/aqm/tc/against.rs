//! Counters of tc beside the same figures of a run.

use std::path::Path;

use quell_lab::{Estimate, Metric, Quantity, Range, Results, View};
use quell_tc::{Counters, Kernel, Shaped};
use quell_units::text::{one_line, three_digits};
use quell_units::{Bytes, Duration};
use serde_json::{Value, json};

use super::choice::Format;
use super::read::of_device;
use crate::failure::{Failure, unknown_name};
use crate::{folder, json, selection, table, terminal};

/// What a dump is held against.
pub struct Against<'a> {
    /// The results.
    pub results: &'a Path,
    /// The link of them; none for the first.
    pub link: Option<&'a str>,
    /// The time that the counters took.
    pub over: Option<Duration>,
}

/// The share of a figure that is not printed, by which it may be outside: some figures do not vary at all.
const DIGITS: f64 = 0.005;

/// Names that tc has for packets that met a full queue.
const OF_A_FULL_QUEUE: [&str; 4] = ["drop_overlimit", "overlimit", "pdrop", "queuedrop"];

/// Counters that a figure is made of, whatever tc calls them.
const OF_MARKS: [&str; 5] = ["ecn_mark", "marked", "ecn_marks", "marks", "ce_mark"];

/// A figure of a dump, and the one of a run that is like it.
struct Figure {
    name: &'static str,
    unit: Unit,
    of_tc: f64,
    of_run: Quantity,
    /// What makes the run's figure one of this unit.
    factor: f64,
    /// It is of one moment, and the run's is a mean.
    is_moment: bool,
}

/// How a figure is written.
#[derive(Clone, Copy)]
enum Unit {
    Share,
    Number(&'static str),
}

/// Where the dump's figure is among those of runs.
#[derive(Clone, Copy, PartialEq)]
enum Verdict {
    Inside,
    Outside,
    /// One seed, or seeds that all give the same run.
    NoInterval,
    /// The dump's is of one moment.
    Moment,
    /// The run has no such figure at this link.
    Absent,
}

impl Verdict {
    fn says(self) -> &'static str {
        match self {
            Verdict::Inside => "inside",
            Verdict::Outside => "outside",
            Verdict::NoInterval => "no interval",
            Verdict::Moment => "one moment",
            Verdict::Absent => "no such figure",
        }
    }
}

/// A figure held against those of an algorithm's runs.
struct Held {
    mean: Option<f64>,
    interval: Option<(f64, f64)>,
    verdict: Verdict,
}

/// Prints the counters of a dump, or the difference of two, beside the figures of a run.
pub fn run(
    given: &[String],
    device: Option<&str>,
    against: &Against<'_>,
    kernel: Kernel,
    format: Format,
) -> Result<(), Failure> {
    let dumps = given.iter().map(|given| of_device(given, device, kernel)).collect::<Result<Vec<_>, _>>()?;
    let (counters, link) = match &dumps[..] {
        [(_, only)] => (one(only)?.1, one(only)?.0),
        [(_, before), (_, after)] => {
            let ((link, before), (_, after)) = (one(before)?, one(after)?);
            (&difference(before, after)?, link)
        }
        _ => {
            return Err(bad_input!(
                "--read: give one dump, or one before and one after, and not {}",
                given.len()
            ));
        }
    };
    if counters.lacking.contains(&"packets") {
        return Err(bad_input!(
            "--read: the counters lack packets, of which every figure is a share: take the output of tc -s again, whole"
        ));
    }
    if counters.packets == 0 {
        return Err(bad_input!("--read: the counters are 0: no packet has left the queue"));
    }
    let path = folder::of(against.results);
    let results = folder::read(&path)?;
    if let Some(wanted) = against.link {
        let links = quell_lab::distinct(results.run.points.iter().flat_map(|point| &point.links));
        if !links.iter().any(|link| *link == wanted) {
            return Err(unknown_name("link", wanted, links.into_iter().map(String::as_str)));
        }
    }
    let header = quell_tc::header(link.device.as_deref());
    let figures = figures(counters, against.over, header, link.stab.is_some())?;
    let own = link.queue.as_ref().map(|queue| queue.aqm.name());
    let rest = rest(counters);
    match format {
        Format::Json => {
            let points = views(&results, against.link, own).map(|(view, algorithm)| {
                let rows: Vec<Value> = figures.iter().map(|f| row_json(f, &held(&results, &view, algorithm, f))).collect();
                json!({ "point": view.point, "algorithm": algorithm, "seeds": results.finished(view.point, algorithm),
                    "figures": rows })
            });
            json::print(&json!({ "against": points.collect::<Vec<_>>(), "no_such_figure": rest }))?;
        }
        Format::Text => {
            let mut text = String::new();
            for (view, algorithm) in views(&results, against.link, own) {
                let seeds = results.finished(view.point, algorithm);
                let many = if seeds == 1 { "seed" } else { "seeds" };
                if results.run.points.len() > 1 {
                    text.push_str(&selection::point_heading(&results, view.point));
                }
                text.push_str(&format!("{} ({seeds} {many})\n", one_line(algorithm)));
                let rows: Vec<Vec<String>> =
                    figures.iter().map(|f| row(f, &held(&results, &view, algorithm, f))).collect();
                text.push_str(&table::text(&["figure", "tc", "run", "95% of runs", "verdict"], &rows));
                text.push('\n');
            }
            terminal::print(&text)?;
            if !rest.is_empty() {
                terminal::note(&format!("no run counts these: {}", one_line(&rest.join(", "))));
            }
        }
    }
    if let [(_, before), (_, after)] = &dumps[..] {
        let names = lacking(one(before)?.1, one(after)?.1);
        if !names.is_empty() {
            let names = one_line(&names.join(", "));
            terminal::note(&format!("only one of the two dumps counts these, which are left out: {names}"));
        }
    }
    let labels =
        quell_lab::distinct((0..results.run.points.len()).flat_map(|point| results.algorithms(point)));
    if let Some(own) = own.filter(|own| !labels.iter().any(|label| label == own)) {
        let labels: Vec<&str> = labels.iter().map(|label| label.as_str()).collect();
        let labels = one_line(&labels.join(", "));
        terminal::note(&format!(
            "the dump is of {own}, the results of {labels}: run {own} to compare a queue with its own simulation"
        ));
    }
    if given.len() == 1 {
        terminal::note(
            "the counters are totals since the queue was made; give the dumps before and after a test, each by --read",
        );
    }
    if against.over.is_none() {
        terminal::note(
            "no rates: a dump has no time; give --over with the time that the counters took, such as 60s",
        );
    }
    if !counters.lacking.is_empty() {
        terminal::note(&format!(
            "the dump has no counter of these, and figures that need one are left out: {}",
            counters.lacking.join(", ")
        ));
    }
    if link.stab.is_some() {
        terminal::note("stab: bytes are those of its table of sizes, so figures of bytes are left out");
    } else if header.get() > 0 && !counters.lacking.contains(&"bytes") {
        terminal::note("tc counts packets with 14 B of Ethernet, which are taken off here");
    }
    Ok(())
}

/// The only link of a dump that has counters, with them.
fn one(links: &[Shaped]) -> Result<(&Shaped, &Counters), Failure> {
    let counted: Vec<(&Shaped, &Counters)> =
        links.iter().filter_map(|link| Some((link, link.counters.as_ref()?))).collect();
    match counted[..] {
        [one] => Ok(one),
        [] => {
            Err(bad_input!("--read: no counters are in it: give what tc -s qdisc show prints, or tc -s -j"))
        }
        _ => {
            let names: Vec<&str> = counted.iter().filter_map(|(link, _)| link.device.as_deref()).collect();
            Err(bad_input!(
                "--read: several queues have counters: choose one by --dev: {}",
                one_line(&names.join(", "))
            ))
        }
    }
}

/// What was counted from one dump to the next.
fn difference(before: &Counters, after: &Counters) -> Result<Counters, Failure> {
    let less = |what: &str| {
        bad_input!(
            "--read: the second dump counts fewer {what} than the first: give the earlier one first; a queue that was \
             replaced counts from 0 again"
        )
    };
    let minus = |a: u64, b: u64, what| a.checked_sub(b).ok_or_else(|| less(what));
    let others = after.others.iter().filter_map(|(name, value)| {
        let before = before.others.iter().find(|(other, _)| other == name)?;
        let value = value.parse::<u64>().ok()?.checked_sub(before.1.parse::<u64>().ok()?)?;
        Some((name.clone(), value.to_string()))
    });
    Ok(Counters {
        bytes: minus(after.bytes, before.bytes, "bytes")?,
        packets: minus(after.packets, before.packets, "packets")?,
        dropped: minus(after.dropped, before.dropped, "drops")?,
        overlimits: minus(after.overlimits, before.overlimits, "overlimits")?,
        requeues: minus(after.requeues, before.requeues, "requeues")?,
        marked: match (after.marked, before.marked) {
            (Some(after), Some(before)) => Some(minus(after, before, "marks")?),
            _ => None,
        },
        lacking: quell_lab::distinct(before.lacking.iter().chain(&after.lacking).copied()),
        others: others.collect(),
        tins: Vec::new(),
        ..after.clone()
    })
}

/// The counters that only one of two dumps has, by tc's names: what was counted in between is not known.
fn lacking<'a>(before: &'a Counters, after: &'a Counters) -> Vec<&'a str> {
    let only = |a: &'a Counters, b: &'a Counters| {
        let is_there = move |name: &String| b.others.iter().any(|(other, _)| other == name);
        a.others.iter().map(|(name, _)| name).filter(move |name| !is_there(name)).map(String::as_str)
    };
    let mut names: Vec<&str> = only(before, after).chain(only(after, before)).collect();
    if before.marked.is_some() != after.marked.is_some() && !names.iter().any(|name| OF_MARKS.contains(name))
    {
        names.push("marks");
    }
    names
}

/// The figures that counters make, but for those that need one which the dump lacks. `is_table` says that a table of
/// sizes (tc-stab(8)) makes the bytes.
fn figures(
    c: &Counters,
    over: Option<Duration>,
    header: Bytes,
    is_table: bool,
) -> Result<Vec<Figure>, Failure> {
    let has = |names: &[&str]| names.iter().all(|name| !c.lacking.contains(name));
    let counts_arrivals = has(&["drops", "qlen"]);
    let counts_bytes = has(&["bytes"]) && !is_table;
    let (sent, dropped) = (c.packets as f64, c.dropped as f64);
    let arrived = sent + dropped + c.backlog_packets as f64;
    let bytes = (c.bytes as f64 - header.get() as f64 * sent).max(0.0);
    let figure = |name, unit, of_tc, of_run: Quantity| Figure {
        name,
        unit,
        of_tc,
        of_run,
        factor: 1.0,
        is_moment: false,
    };
    let mut figures = Vec::new();
    if counts_arrivals {
        let name = "drops per packet that arrived";
        figures.push(figure(name, Unit::Share, dropped / arrived, Metric::LossRate.into()));
    }
    let full = c.others.iter().find(|(name, _)| OF_A_FULL_QUEUE.contains(&name.as_str()));
    let full = full.filter(|_| counts_arrivals);
    if let Some(full) = full.and_then(|(_, value)| value.parse::<f64>().ok()) {
        let name = "of these, at a full queue";
        figures.push(figure(name, Unit::Share, full / arrived, Metric::OverflowLossRate.into()));
    }
    if let Some(marked) = c.marked {
        let name = "marks per packet that left";
        figures.push(figure(name, Unit::Share, marked as f64 / sent, Metric::MarkRate.into()));
    }
    let size = format!("{}/{}", Metric::Throughput.name(), Metric::PacketRate.name());
    if let (Ok(of_run), true) = (size.parse::<Quantity>(), counts_bytes) {
        let size = figure("mean size of packets", Unit::Number("B"), bytes / sent, of_run);
        figures.push(Figure { factor: 1.0 / 8.0, ..size });
    }
    if let Some(over) = over {
        let seconds = over.as_secs_f64();
        if seconds <= 0.0 {
            return Err(bad_input!("--over: must be above 0 s"));
        }
        if counts_bytes {
            let mbit = bytes * 8.0 / seconds * 1e-6;
            let rate = figure("rate", Unit::Number("Mbit/s"), mbit, Metric::Throughput.into());
            figures.push(Figure { factor: 1e-6, ..rate });
        }
        let name = "packets per second";
        figures.push(figure(name, Unit::Number("/s"), sent / seconds, Metric::PacketRate.into()));
    }
    if has(&["qlen"]) {
        let waits = c.backlog_packets as f64;
        let queue = figure("packets that wait", Unit::Number(""), waits, Metric::QueueMean.into());
        figures.push(Figure { is_moment: true, ..queue });
    }
    Ok(figures)
}

/// The counters that no run has, by tc's names.
fn rest(c: &Counters) -> Vec<String> {
    let own = [("overlimits", c.overlimits), ("requeues", c.requeues)];
    let own = own.iter().filter(|(_, n)| *n > 0).map(|(name, n)| format!("{name} {n}"));
    let known = |name: &str| {
        let name = name.replace('-', "_");
        OF_A_FULL_QUEUE.contains(&name.as_str()) || OF_MARKS.contains(&name.as_str())
    };
    let others = c.others.iter().filter(|(name, value)| !known(name) && value != "0");
    own.chain(others.map(|(name, value)| format!("{name} {value}"))).collect()
}

/// Points with the link, and their algorithms: those that are called as the dump's, or all if none is.
fn views<'a>(
    results: &'a Results,
    link: Option<&'a str>,
    own: Option<&'a str>,
) -> impl Iterator<Item = (View, &'a str)> {
    (0..results.run.points.len()).flat_map(move |point| {
        let all = results.algorithms(point);
        let is_there = all.iter().any(|label| Some(label.as_str()) == own);
        let has = link.is_none_or(|link| results.run.points[point].links.iter().any(|other| other == link));
        let chosen = all.iter().filter(move |label| has && (!is_there || Some(label.as_str()) == own));
        chosen.map(move |label| {
            (View { link: link.map(str::to_string), ..View::of_point(point) }, label.as_str())
        })
    })
}

/// Holds a figure against those of an algorithm's runs. The interval is where one more run would be with a probability
/// of 95%: that of the mean, times the root of the number of runs and one more (of normal samples).
fn held(results: &Results, view: &View, algorithm: &str, figure: &Figure) -> Held {
    let Some(estimate) = results.estimate(view, algorithm, &figure.of_run) else {
        return Held { mean: None, interval: None, verdict: Verdict::Absent };
    };
    let estimate = Estimate {
        mean: estimate.mean * figure.factor,
        half_width: estimate.half_width.map(|half| half * figure.factor * (estimate.n as f64 + 1.0).sqrt()),
        ..estimate
    };
    let range = match figure.unit {
        Unit::Share => Range::SHARE,
        Unit::Number(_) => Range::POSITIVE,
    };
    let interval = estimate.interval_within(range);
    let verdict = match interval {
        _ if figure.is_moment => Verdict::Moment,
        None => Verdict::NoInterval,
        Some((low, high))
            if low * (1.0 - DIGITS) <= figure.of_tc && figure.of_tc <= high * (1.0 + DIGITS) =>
        {
            Verdict::Inside
        }
        Some(_) => Verdict::Outside,
    };
    Held { mean: Some(estimate.mean), interval: interval.filter(|_| !figure.is_moment), verdict }
}

fn text(unit: Unit, x: f64) -> String {
    match unit {
        Unit::Share => format!("{}%", three_digits(x * 100.0)),
        Unit::Number("") => three_digits(x),
        Unit::Number("/s") => format!("{}/s", three_digits(x)),
        Unit::Number(unit) => format!("{} {unit}", three_digits(x)),
    }
}

fn row(figure: &Figure, held: &Held) -> Vec<String> {
    let of = |x: Option<f64>| x.map_or("–".to_string(), |x| text(figure.unit, x));
    let interval = held.interval.map_or("–".to_string(), |(low, high)| {
        format!("{} to {}", text(figure.unit, low), text(figure.unit, high))
    });
    vec![
        figure.name.to_string(),
        text(figure.unit, figure.of_tc),
        of(held.mean),
        interval,
        held.verdict.says().to_string(),
    ]
}

fn row_json(figure: &Figure, held: &Held) -> Value {
    let unit = match figure.unit {
        Unit::Share => "1",
        Unit::Number("") => "packets",
        Unit::Number(unit) => unit,
    };
    json!({
        "figure": figure.name,
        "unit": unit,
        "tc": figure.of_tc,
        "run": held.mean,
        "low": held.interval.map(|(low, _)| low),
        "high": held.interval.map(|(_, high)| high),
        "verdict": held.verdict.says(),
    })
}
