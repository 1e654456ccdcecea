//! Charts from traces of senders.

use quell_metrics::{Column, Columns, Results, distinct};

use super::curves::{ALGORITHM, Chart, Curve, Form, Horizontal, Panel};
use super::events::events;
use crate::style;

/// The subject of a chart of senders over time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SenderDiagram {
    /// The congestion window.
    Window,
    /// The smoothed round-trip time.
    RoundTrip,
    /// The pacing rate.
    Rate,
    /// Packets in flight.
    InFlight,
}

impl SenderDiagram {
    /// All of them.
    pub const ALL: &[SenderDiagram] =
        &[SenderDiagram::Window, SenderDiagram::RoundTrip, SenderDiagram::Rate, SenderDiagram::InFlight];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            SenderDiagram::Window => "window",
            SenderDiagram::RoundTrip => "rtt",
            SenderDiagram::Rate => "rate",
            SenderDiagram::InFlight => "in-flight",
        }
    }

    /// Its meaning, in a phrase.
    pub fn doc(self) -> &'static str {
        match self {
            SenderDiagram::Window => "The congestion window of senders over time",
            SenderDiagram::RoundTrip => "The smoothed round-trip time of senders over time",
            SenderDiagram::Rate => "The pacing rate of senders over time",
            SenderDiagram::InFlight => "The packets in flight of senders over time",
        }
    }

    /// The diagram called `name`.
    pub fn find(name: &str) -> Option<SenderDiagram> {
        SenderDiagram::ALL.iter().copied().find(|d| d.name() == name)
    }

    /// The column, the factor to the unit that is shown, what it is, and with its unit.
    fn shows(self) -> (&'static str, f64, &'static str, &'static str) {
        match self {
            SenderDiagram::Window => {
                ("cwnd_packets", 1.0, "congestion window", "congestion window (packets)")
            }
            SenderDiagram::RoundTrip => {
                ("srtt_s", 1e3, "smoothed round-trip time", "smoothed round-trip time (ms)")
            }
            SenderDiagram::Rate => ("pacing_rate_bps", 1e-6, "pacing rate", "pacing rate (Mbit/s)"),
            SenderDiagram::InFlight => ("in_flight_packets", 1.0, "packets in flight", "packets in flight"),
        }
    }
}

/// The choice of senders.
#[derive(Clone, Copy, Debug, Default)]
pub struct Senders<'a> {
    /// The point.
    pub point: usize,
    /// The seed; `None`: the first that was traced.
    pub seed: Option<u64>,
    /// The algorithms; `None`: all.
    pub algorithms: Option<&'a [String]>,
    /// The flows by number; empty: the first [`FLOWS`] that were traced.
    pub flows: &'a [u32],
    /// The samples of a curve; of more, as many are shown, equally far from each other. `None`: 4000.
    pub samples: Option<usize>,
}

/// Flows that are shown if none are chosen.
pub const FLOWS: usize = 3;

/// The samples of a curve, if a choice does not say.
const SAMPLES: usize = 4000;

impl Chart {
    /// The chart of senders over time, of a table of traces: a curve for each algorithm and flow.
    ///
    /// # Errors
    /// A sentence, if the trace has nothing to show in it.
    pub fn of_senders(
        results: &Results,
        trace: &Columns,
        diagram: SenderDiagram,
        choice: &Senders<'_>,
    ) -> Result<Chart, String> {
        let (column, factor, what, label) = diagram.shows();
        let Some(point) = results.run.points.get(choice.point) else {
            return Err(format!("point {}: the results have {}", choice.point + 1, results.run.points.len()));
        };
        let find = |name: &str| {
            let found = trace.iter().find(|(n, _)| *n == name);
            found.map(|(_, column)| column).ok_or_else(|| format!("the trace lacks the column {name}"))
        };
        let (points, seeds, flows, algorithms) =
            (find("point")?, find("seed")?, find("flow")?, find("algorithm")?);
        let (time, value) = (find("time_s")?, find(column)?);
        let Column::Text(labels) = algorithms else { return Err("the trace has no algorithms".to_string()) };
        let names: Vec<&str> = labels.distinct().collect();
        let here = |row: &usize| number(points, *row) == choice.point as f64;
        let rows: Vec<usize> = (0..points.len()).filter(here).collect();
        if rows.is_empty() {
            return Err(format!("point {}: was not traced", choice.point + 1));
        }
        let first = rows.first().map(|row| number(seeds, *row));
        let seed = choice.seed.map(|seed| seed as f64).or(first);
        let mut known: Vec<u32> = rows.iter().map(|row| number(flows, *row) as u32).collect();
        known.sort_unstable();
        known.dedup();
        if let Some(other) = choice.flows.iter().find(|flow| !known.contains(flow)) {
            let known = known.iter().copied().map(u64::from);
            return Err(format!("flow {other}: was not traced; those that were: {}", ranges(known)));
        }
        let mut traced: Vec<u64> = rows.iter().map(|row| number(seeds, *row) as u64).collect();
        traced.sort_unstable();
        traced.dedup();
        if let Some(other) = choice.seed.filter(|seed| !traced.contains(seed)) {
            let traced = ranges(traced.into_iter());
            return Err(format!("seed {other}: was not traced; those that were: {traced} (--trace-seeds)"));
        }
        let chosen = if choice.flows.is_empty() { &known[..known.len().min(FLOWS)] } else { choice.flows };
        let wanted = |name: &&String| choice.algorithms.is_none_or(|some| some.contains(name));
        let styles = style::of_results(results);
        let mut curves: Vec<Curve> = Vec::new();
        for name in results.algorithms(choice.point).iter().filter(wanted) {
            for flow in chosen {
                let own = rows.iter().copied().filter(|row| {
                    names[labels.numbers()[*row] as usize] == name
                        && number(flows, *row) == f64::from(*flow)
                        && Some(number(seeds, *row)) == seed
                        && number(value, *row).is_finite()
                });
                let own: Vec<usize> = own.collect();
                let each = own.len().div_ceil(choice.samples.unwrap_or(SAMPLES)).max(1);
                let (x, y): (Vec<f64>, Vec<f64>) = own
                    .iter()
                    .step_by(each)
                    .map(|row| (number(time, *row), factor * number(value, *row)))
                    .unzip();
                if !x.is_empty() {
                    let own = styles.iter().find(|(label, _)| label == name).map_or(0, |(_, own)| *own);
                    curves.push(Curve::new(format!("{name}, flow {flow}"), own, x, y));
                }
            }
        }
        if curves.is_empty() {
            let seeds = ranges(traced.into_iter());
            return Err(match diagram {
                SenderDiagram::Rate => format!(
                    "{what}: these senders do not pace; {} shows how much they may send",
                    SenderDiagram::Window.name()
                ),
                _ => format!(
                    "{what}: the trace has no data at this point for these flows and algorithms; the traced seeds are \
                     {seeds}"
                ),
            });
        }
        apart(&mut curves);
        let title =
            [what.to_string(), point.title(), seed.map_or(String::new(), |seed| format!("seed {seed}"))];
        Ok(Chart {
            title: title.iter().filter(|t| !t.is_empty()).cloned().collect::<Vec<_>>().join(", "),
            x: Horizontal { label: "time (s)".to_string(), log: false, names: Vec::new() },
            y: label.to_string(),
            y_factor: 1.0,
            panel_key: String::new(),
            curve_key: ALGORITHM.to_string(),
            panels: vec![Panel { title: String::new(), curves }],
            form: Form::OverTime,
            warmup: point.segments.first().map(|s| s.0).filter(|t| *t > 0.0),
            events: events(point),
        })
    }
}

/// The numbers of the flows that are named, by their numbers or by the names of their groups, at a point of a table of
/// traces.
///
/// # Errors
/// A sentence, if a name is neither a number nor a group of the trace.
pub fn flows_called(trace: &Columns, point: usize, names: &[String]) -> Result<Vec<u32>, String> {
    let find = |name: &str| trace.iter().find(|(n, _)| *n == name).map(|(_, column)| column);
    let mut found = Vec::new();
    for name in names {
        if let Ok(flow) = name.trim().parse() {
            found.push(flow);
            continue;
        }
        let (Some(points), Some(flows), Some(Column::Text(groups))) =
            (find("point"), find("flow"), find("group"))
        else {
            return Err(format!("flow \"{name}\": must be a number, because the trace has no groups"));
        };
        let labels: Vec<&str> = groups.distinct().collect();
        let of_group = |row: &usize| labels[groups.numbers()[*row] as usize] == name;
        let here = (0..points.len()).filter(|row| number(points, *row) == point as f64);
        let mut own: Vec<u32> = here.filter(of_group).map(|row| number(flows, row) as u32).collect();
        own.sort_unstable();
        own.dedup();
        if own.is_empty() {
            return Err(format!(
                "flow \"{name}\": must be a flow's number or a traced group; the groups are {}",
                labels.join(", ")
            ));
        }
        found.extend(own);
    }
    Ok(distinct(found))
}

/// Gives the flows of an algorithm its color, and dashes that tell them apart, as far as there are dashes that no other
/// algorithm of that color has.
fn apart(curves: &mut [Curve]) {
    let own: Vec<usize> = curves.iter().map(|curve| curve.style).collect();
    let mut taken: Vec<usize> = Vec::new();
    for (curve, base) in curves.iter_mut().zip(&own) {
        let free = |n: &usize| !taken.contains(n) && (n == base || !own.contains(n));
        curve.style = style::of_one_color(*base).find(free).unwrap_or(*base);
        taken.push(curve.style);
    }
}

/// Numbers in rising order, as ranges: "0 to 7, 9".
fn ranges(numbers: impl Iterator<Item = u64>) -> String {
    let mut all: Vec<(u64, u64)> = Vec::new();
    for n in numbers {
        match all.last_mut() {
            Some((_, to)) if *to + 1 == n => *to = n,
            _ => all.push((n, n)),
        }
    }
    const MOST: usize = 12;
    let text = |(from, to): &(u64, u64)| match to - from {
        0 => from.to_string(),
        _ => format!("{from} to {to}"),
    };
    let mut texts: Vec<String> = all.iter().take(MOST).map(text).collect();
    if all.len() > MOST {
        texts.push("...".to_string());
    }
    texts.join(", ")
}

/// A number of a column; NaN for an empty cell, and for text.
fn number(column: &Column, row: usize) -> f64 {
    match column {
        Column::U32(v) => v[row].map_or(f64::NAN, f64::from),
        Column::U64(v) => v[row] as f64,
        Column::F64(v) => v[row],
        Column::Text(_) => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::Style;

    #[test]
    fn flows_of_an_algorithm_have_its_color_and_dashes_of_their_own() {
        let number = |name: &str| style::of_algorithm(name).unwrap();
        // RED and a relative have one color.
        let names = ["red", "red", "red", "feng-ared", "feng-ared", "codel", "codel"];
        let mut curves: Vec<Curve> =
            names.iter().map(|name| Curve::new(*name, number(name), Vec::new(), Vec::new())).collect();
        apart(&mut curves);
        for (i, (curve, name)) in curves.iter().zip(names).enumerate() {
            assert_eq!(Style::number(curve.style).color, Style::number(number(name)).color);
            assert!(curves[..i].iter().all(|other| other.style != curve.style), "{i}");
        }
        assert_eq!([0, 3, 5].map(|i| curves[i].style), ["red", "feng-ared", "codel"].map(number));
    }

    #[test]
    fn numbers_are_said_as_ranges() {
        assert_eq!(ranges([0, 1, 2, 3, 9, 11, 12].into_iter()), "0 to 3, 9, 11 to 12");
        assert_eq!(ranges([7].into_iter()), "7");
    }
}
