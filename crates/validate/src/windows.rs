//! The window of one flow over time, beside what Linux's TCP_INFO says: `linux/windows.csv`.

use quell_scenario::{Plugins, Study};
use quell_sim::{Control, Engine};
use quell_units::Duration;

use crate::compare::{ComparedFigure, Mean};
use crate::linux::{Setting, TENTH};

const WINDOWS: &str = include_str!("../linux/windows.csv");

/// The time between two samples, in seconds.
const STEP: f64 = 0.02;

/// The figures of [`rows`].
#[cfg(test)]
pub const FIGURES: [&str; 12] = [
    "window",
    "smoothed round trip",
    "probes of the round trip",
    "end of slow start",
    "window at its end",
    "first reduction",
    "window before it",
    "threshold after it",
    "reductions",
    "window before a reduction",
    "threshold after a reduction",
    "time between reductions",
];

/// Falls of the window that are less apart are of one reduction; in seconds.
const APART: f64 = 0.5;

/// The state that a sender reports every 20 ms, from its beginning.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// The congestion window in packets.
    pub cwnd: Vec<f64>,
    /// The threshold of slow start in packets; not a number before there is one.
    pub ssthresh: Vec<f64>,
    /// The smoothed round-trip time in milliseconds.
    pub srtt: Vec<f64>,
}

/// A fall of the window.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Reduction {
    /// The time in seconds.
    at: f64,
    /// The window before it.
    from: f64,
    /// The threshold of slow start then.
    to: f64,
}

impl Trace {
    /// Linux's. None if the setting was not recorded.
    pub fn linux(setting: &Setting) -> Option<Trace> {
        let mut reader = csv::Reader::from_reader(WINDOWS.as_bytes());
        let name = format!("{}-{}-", setting.cc, setting.rate_mbit);
        let headers = reader.headers().expect("the data is part of the program").clone();
        let [cwnd, ssthresh, srtt] = ["cwnd", "ssthresh", "srtt_ms"]
            .map(|column| headers.iter().position(|h| h.strip_prefix(name.as_str()) == Some(column)));
        let mut trace = Trace::default();
        for record in reader.records() {
            let record = record.expect("the data is part of the program");
            let value = |column: usize| record[column].parse().unwrap_or(f64::NAN);
            trace.cwnd.push(value(cwnd?));
            trace.ssthresh.push(value(ssthresh?));
            trace.srtt.push(value(srtt?));
        }
        Some(trace)
    }

    /// Quell's.
    ///
    /// # Errors
    /// If the scenario cannot be run.
    pub fn quell(setting: &Setting) -> Result<Trace, String> {
        let scenario = setting.scenario(1, 0.0)?;
        let study = Study::parse(&scenario, &setting.name(), &Plugins::new())
            .map_err(|e| format!("{e}\n{scenario}"))?;
        let plan = study.points[0].plan(0, 1, &Plugins::new()).map_err(|e| e.to_string())?;
        let control = Control { windows: Some(Duration::from_secs_f64(STEP)), ..Control::default() };
        let outcome = quell_sim::run(plan.network, Engine::default(), &control).map_err(|e| e.to_string())?;
        let samples = &outcome.flows[0].windows;
        // A threshold that no window can reach is none.
        let threshold = |x: f64| if x < 1e6 { x } else { f64::NAN };
        Ok(Trace {
            cwnd: samples.iter().map(|s| s.cwnd).collect(),
            ssthresh: samples.iter().map(|s| threshold(s.ssthresh)).collect(),
            srtt: samples.iter().map(|s| s.srtt.as_secs_f64() * 1e3).collect(),
        })
    }

    pub fn times(&self) -> Vec<f64> {
        (0..self.cwnd.len()).map(|i| i as f64 * STEP).collect()
    }

    /// A reduction may take several round trips: falls that follow each other within [`APART`] are one.
    fn reductions(&self) -> Vec<Reduction> {
        let mut found: Vec<Reduction> = Vec::new();
        let mut last = f64::NEG_INFINITY;
        for (i, pair) in self.cwnd.windows(2).enumerate().filter(|(_, pair)| pair[1] < pair[0]) {
            let at = (i + 1) as f64 * STEP;
            if at - last > APART {
                found.push(Reduction { at, from: pair[0], to: self.ssthresh[i + 1] });
            }
            last = at;
        }
        found
    }

    /// The end of slow start, and the window then.
    fn end_of_slow_start(&self) -> Option<(f64, f64)> {
        let at = self.ssthresh.iter().position(|x| x.is_finite())?;
        Some((at as f64 * STEP, self.cwnd[at - 1]))
    }

    /// Counts the falls of the window to that with which BBR probes the round-trip time.
    fn probes(&self) -> usize {
        self.cwnd.windows(2).filter(|w| w[0] > 4.0 && w[1] <= 4.0).count()
    }
}

/// The figures of the two traces.
pub fn rows(setting: &Setting, linux: &Trace, quell: &Trace) -> Vec<ComparedFigure> {
    let name = setting.name();
    let mut rows = Vec::new();
    let mut row = |figure: &'static str, unit, decimals, both: [Option<f64>; 2], least: f64| {
        let [Some(reference), Some(own)] = both.map(|x| Mean::of(&[x?])) else { return };
        let band = TENTH.at(reference.value).max(least);
        rows.push(ComparedFigure::new(&name, (figure, unit, decimals), reference, own, band));
    };
    let from = (f64::from(setting.warmup) / STEP) as usize;
    let both = [linux, quell];
    let mean = |values: &[f64]| Some(values.iter().sum::<f64>() / values.len() as f64);
    row("window", "packets", 1, both.map(|t| mean(&t.cwnd[from..])), 0.0);
    row("smoothed round trip", "ms", 1, both.map(|t| mean(&t.srtt[from..])), 0.0);
    if setting.cc == "bbr" {
        row("probes of the round trip", "", 0, both.map(|t| Some(t.probes() as f64)), 1.0);
        return rows;
    }
    let all = both.map(Trace::reductions);
    let start = both.map(Trace::end_of_slow_start);
    // A sample more or less.
    row("end of slow start", "s", 2, start.map(|x| Some(x?.0)), STEP);
    row("window at its end", "packets", 1, start.map(|x| Some(x?.1)), 0.0);
    let first = |of: fn(&Reduction) -> f64| [0, 1].map(|i| all[i].first().map(of));
    row("first reduction", "s", 2, first(|r| r.at), STEP);
    row("window before it", "packets", 1, first(|r| r.from), 0.0);
    row("threshold after it", "packets", 1, first(|r| r.to), 0.0);
    row("reductions", "", 0, [0, 1].map(|i| Some(all[i].len() as f64)), 1.0);
    let late = [0, 1].map(|i| {
        let late = all[i].iter().filter(|r| r.at > f64::from(setting.warmup));
        late.copied().collect::<Vec<Reduction>>()
    });
    let means = |of: fn(&Reduction) -> f64| {
        [0, 1].map(|i| mean(&late[i].iter().map(of).collect::<Vec<_>>()).filter(|x| x.is_finite()))
    };
    row("window before a reduction", "packets", 1, means(|r| r.from), 0.0);
    row("threshold after a reduction", "packets", 1, means(|r| r.to), 0.0);
    let period = |r: &Vec<Reduction>| Some((r.last()?.at - r.first()?.at) / (r.len() - 1) as f64);
    row("time between reductions", "s", 2, [0, 1].map(|i| period(&late[i]).filter(|x| x.is_finite())), STEP);
    rows
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reduction_is_a_fall_of_the_window() {
        let after = |n, x| vec![x; n];
        let cwnd = [vec![10.0, 20.0, 18.0, 12.0], after(30, 13.0), vec![9.0]].concat();
        let ssthresh = [vec![f64::NAN; 2], after(32, 10.0), vec![6.0]].concat();
        let trace = Trace { srtt: after(35, 0.0), cwnd, ssthresh };
        assert_eq!(
            trace.reductions(),
            [
                Reduction { at: 2.0 * STEP, from: 20.0, to: 10.0 },
                Reduction { at: 34.0 * STEP, from: 13.0, to: 6.0 }
            ]
        );
        assert_eq!(trace.end_of_slow_start(), Some((2.0 * STEP, 20.0)));
    }

    #[test]
    fn what_was_recorded_is_found() {
        for case in crate::linux::cases().iter().filter(|c| c.setting.block == "W") {
            let trace = Trace::linux(&case.setting).unwrap();
            assert_eq!((trace.cwnd.len(), trace.cwnd[0]), (3001, 10.0));
        }
    }
}
