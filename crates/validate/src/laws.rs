//! Laws that hold without ns-2: TCP's throughput at a given loss rate, one flow's sawtooth, the
//! synchronization of drop-tail.

use quell_lab::{Metric, Options, Replication};
use quell_scenario::{Plugins, Study};
use serde::Serialize;

/// A figure beside what a law says it is.
#[derive(Clone, Debug, Serialize)]
pub struct Check {
    pub what: String,
    pub measured: f64,
    pub law: f64,
    /// The largest distance of the measured figure from the law, as a share of it; `None`: it is only shown.
    pub tolerance: Option<f64>,
}

impl Check {
    pub fn difference(&self) -> f64 {
        self.measured / self.law - 1.0
    }

    pub fn holds(&self) -> bool {
        self.tolerance.is_none_or(|t| self.difference().abs() <= t)
    }
}

/// The window of a loss recovery at a loss rate, in packets sent per round-trip time.
#[derive(Clone, Debug, Serialize)]
pub struct Window {
    pub recovery: &'static str,
    pub p: f64,
    pub window: f64,
    /// 1.31 / sqrt(p).
    pub square_root: f64,
    /// Padhye's formula.
    pub padhye: f64,
    /// The law, and the share of it within which it must be; `None`: it is only shown.
    pub bound: Option<(Law, f64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Law {
    SquareRoot,
    Padhye,
}

impl Window {
    pub fn against(&self, law: Law) -> f64 {
        match law {
            Law::SquareRoot => self.window / self.square_root - 1.0,
            Law::Padhye => self.window / self.padhye - 1.0,
        }
    }

    pub fn holds(&self) -> bool {
        self.bound.is_none_or(|(law, tolerance)| self.against(law).abs() <= tolerance)
    }
}

/// Everything that was checked.
#[derive(Clone, Debug, Serialize)]
pub struct Laws {
    pub windows: Vec<Window>,
    pub checks: Vec<Check>,
}

impl Laws {
    pub fn hold(&self) -> bool {
        self.windows.iter().all(Window::holds) && self.checks.iter().all(Check::holds)
    }
}

pub const RECOVERIES: [&str; 4] = ["tahoe", "reno", "newreno", "sack"];
/// The length of the runs.
const SECONDS: u32 = 300;
const LOSSES: [f64; 7] = [1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1];

/// Runs what the laws speak of.
///
/// # Errors
/// If a scenario cannot be run.
pub fn all(losses: &[f64], seconds: u32) -> Result<Laws, String> {
    let mut windows = Vec::new();
    for recovery in RECOVERIES {
        for p in losses {
            windows.push(window(recovery, *p, seconds)?);
        }
    }
    let mut checks = vec![sawtooth()?];
    checks.extend(synchronization()?);
    Ok(Laws { windows, checks })
}

/// The laws in full.
///
/// # Errors
/// If a scenario cannot be run.
pub fn full() -> Result<Laws, String> {
    all(&LOSSES, SECONDS)
}

/// A quick look at the laws.
///
/// # Errors
/// If a scenario cannot be run.
pub fn short() -> Result<Laws, String> {
    all(&[1e-3, 1e-2], 100)
}

fn run(scenario: &str) -> Result<Vec<Replication>, String> {
    let study = Study::parse(scenario, "law", &Plugins::new()).map_err(|e| format!("{e}\n{scenario}"))?;
    let results = quell_lab::run(&study, &Options::default()).map_err(|e| e.to_string())?;
    Ok(results.replications)
}

fn mean(replications: &[Replication], metric: Metric) -> f64 {
    let values = replications.iter().filter_map(|r| r.metrics.first()?.values.get(metric));
    values.sum::<f64>() / replications.len() as f64
}

const FLOWS: f64 = 40.0;
const RTT: f64 = 0.1;
/// The smallest timeout, at which it stands when the round-trip time never changes.
const T0: f64 = 0.2;

/// Flows that share nothing but a wire, which loses packets independently of each other. Their windows stay far below
/// the largest.
fn wire(recovery: &'static str, p: f64, seconds: u32) -> String {
    format!(
        r#"
        schema = 1
        duration = "{} s"
        warmup = "50 s"
        seeds = 2
        [dumbbell]
        rate = "100 Gbit/s"
        delay = "50 ms"
        buffer = "100000 packets"
        loss = {p}
        reverse.loss = 0.0
        [[aqm]]
        algorithm = "drop-tail"
        [[flows]]
        name = "tcp"
        count = {FLOWS}
        access_rate = "none"
        start = {{ between = ["0 s", "10 s"] }}
        tcp = {{ recovery = "{recovery}", max_window = 10000 }}
        "#,
        seconds + 50,
    )
}

/// The outcome of [`wire`].
fn window(recovery: &'static str, p: f64, seconds: u32) -> Result<Window, String> {
    let runs = run(&wire(recovery, p, seconds))?;
    let window = mean(&runs, Metric::PacketRate) * RTT / FLOWS;
    let square_root = 1.31 / p.sqrt();
    Ok(Window { recovery, p, window, square_root, padhye: padhye(p, RTT, T0), bound: bound(recovery, p) })
}

/// Padhye et al. 1998 eq. 30 with an acknowledgment per packet (b = 1), in packets per round trip.
fn padhye(p: f64, rtt: f64, t0: f64) -> f64 {
    let fast = rtt * (2.0 * p / 3.0).sqrt();
    let timeouts = t0 * (3.0 * (3.0 * p / 8.0).sqrt()).min(1.0) * p * (1.0 + 32.0 * p * p);
    rtt / (fast + timeouts)
}

/// The law that a loss recovery must obey, and how closely.
fn bound(recovery: &str, p: f64) -> Option<(Law, f64)> {
    match (recovery, p) {
        // Losses are so far apart that each is repaired alone, and none waits for a timer.
        ("sack" | "newreno", p) if p <= 1e-3 => Some((Law::SquareRoot, 0.07)),
        // Reno halves again for every loss of a window but the first.
        ("reno", p) if p <= 1e-3 => Some((Law::SquareRoot, 0.15)),
        // Timers count. The formula is Reno's and takes all that follows a loss in its round trip for
        // lost; here losses are independent, and NewReno and SACK repair several.
        ("reno" | "newreno" | "sack", _) => Some((Law::Padhye, 0.25)),
        // Tahoe starts over from one packet each time, which neither law has in it.
        _ => None,
    }
}

/// One flow over a link with a buffer of one bandwidth-delay product. The window grows by a packet per
/// round trip, which takes as long as the link needs for the window, until it is one more than fits; a
/// round trip later duplicates tell, the window is halved, and the repair takes another round trip.
fn sawtooth() -> Result<Check, String> {
    let runs = run(r#"
        schema = 1
        duration = "600 s"
        warmup = "100 s"
        series_step = "50 ms"
        [dumbbell]
        rate = "8 Mbit/s"
        delay = "50 ms"
        buffer = "100 packets"
        [[aqm]]
        algorithm = "drop-tail"
        [[flows]]
        name = "tcp"
        "#)?;
    let epochs = epochs(&runs[0], 100.0, 1.0);
    let period = (epochs[epochs.len() - 1] - epochs[0]) / (epochs.len() - 1) as f64;
    // 1000 packets per second; what fits is the buffer, the packet in transmission and the wire.
    let (rate, most) = (1000.0, 100.0 + 1.0 + 100.0 + 1.0);
    let half: f64 = (most + 1.0) / 2.0;
    let law = ((most * most - half * half) / 2.0 + 2.0 * most) / rate;
    Ok(Check {
        what: "period of one flow's sawtooth, s".into(),
        measured: period,
        law,
        tolerance: Some(0.01),
    })
}

/// The times after `from` at which drops begin that no drop precedes within `gap` seconds.
fn epochs(run: &Replication, from: f64, gap: f64) -> Vec<f64> {
    let series = &run.series[0];
    let drops = series.time_s.iter().zip(&series.dropped_packets).filter(|(t, n)| **t > from && **n > 0);
    let mut epochs: Vec<f64> = Vec::new();
    let mut last = f64::NEG_INFINITY;
    for (t, _) in drops {
        if t - last > gap {
            epochs.push(*t);
        }
        last = *t;
    }
    epochs
}

/// Greedy flows over a drop-tail buffer: how many of them each episode of drops hits. With one
/// round-trip time for all, each adds one packet per round trip until all have lost one.
fn synchronization() -> Result<Vec<Check>, String> {
    let share = |what: &str, aqm: &str, rtt: &str, law: f64, tolerance| -> Result<Check, String> {
        let runs = run(&format!(
            r#"
            schema = 1
            duration = "300 s"
            warmup = "50 s"
            series_step = "50 ms"
            seeds = 4
            [dumbbell]
            rate = "20 Mbit/s"
            delay = "10 ms"
            buffer = "250 packets"
            [[aqm]]
            {aqm}
            [[flows]]
            name = "tcp"
            count = 20
            rtt = {rtt}
            start = {{ between = ["0 s", "5 s"] }}
            tcp = {{ recovery = "sack" }}
            "#
        ))?;
        let share = |r: &Replication| {
            let cuts: u64 = r.flows.iter().map(|f| f.fast_retransmits + f.timeouts).sum();
            cuts as f64 / 20.0 / epochs(r, 50.0, 0.5).len() as f64
        };
        let measured = runs.iter().map(share).sum::<f64>() / runs.len() as f64;
        Ok(Check { what: what.into(), measured, law, tolerance })
    };
    let drop_tail = "algorithm = \"drop-tail\"";
    Ok(vec![
        share(
            "flows hit by an episode of drops, equal round trips",
            drop_tail,
            "\"100 ms\"",
            1.0,
            Some(0.1),
        )?,
        share(
            "flows hit by an episode of drops, round trips of 50 to 150 ms",
            drop_tail,
            "{ grid = [\"50 ms\", \"150 ms\"] }",
            1.0,
            None,
        )?,
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The longest run has as many packets as can be counted, and no more.
    #[test]
    fn scenarios_are_valid() {
        Study::parse(&wire("sack", LOSSES[0], SECONDS), "law", &Plugins::new()).unwrap();
    }
}
