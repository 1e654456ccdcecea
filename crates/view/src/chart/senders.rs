//! Charts from traces of senders.

use quell_metrics::{Column, Columns, Results};

use super::curves::{ALGORITHM, Chart, Curve, Form, Horizontal, Panel};
use super::events::events;

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
        let first = rows.first().map(|row| number(seeds, *row));
        let seed = choice.seed.map(|seed| seed as f64).or(first);
        let mut known: Vec<u32> = rows.iter().map(|row| number(flows, *row) as u32).collect();
        known.sort_unstable();
        known.dedup();
        if let Some(other) = choice.flows.iter().find(|flow| !known.contains(flow)) {
            let all: Vec<String> = known.iter().take(20).map(u32::to_string).collect();
            return Err(format!(
                "flow {other}: was not traced; those that were begin with {}",
                all.join(", ")
            ));
        }
        let chosen = if choice.flows.is_empty() { &known[..known.len().min(FLOWS)] } else { choice.flows };
        let wanted = |name: &&String| choice.algorithms.is_none_or(|some| some.contains(name));
        let mut curves = Vec::new();
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
                    // They differ in algorithm and flow: each has a style of its own.
                    curves.push(Curve::new(format!("{name}, flow {flow}"), curves.len(), x, y));
                }
            }
        }
        if curves.is_empty() {
            return Err(format!("{what}: the trace has none of it, of this point, seed and these flows"));
        }
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

/// A number of a column; NaN for an empty cell, and for text.
fn number(column: &Column, row: usize) -> f64 {
    match column {
        Column::U32(v) => v[row].map_or(f64::NAN, f64::from),
        Column::U64(v) => v[row] as f64,
        Column::F64(v) => v[row],
        Column::Text(_) => f64::NAN,
    }
}
