//! The fluid model against jitcdde, on the same equations at equal measured error.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Instant;

use cpu_time::ProcessTime;
use quell_theory::fluid::{self, Fluid, Options, Start};
use quell_theory::models::{AnyModel, Pi, Red};
use quell_theory::num::dde::Tolerance;
use quell_theory::{Class, FluidNetwork, Tcp};
use serde_json::{Value, json};

use crate::Outcome;
use crate::progress::Progress;
use crate::table::{Section, figure, load};

/// Simulated seconds, and what is between the samples that errors are measured at.
const DURATION: f64 = 200.0;
const SAMPLE: f64 = 10.0;
/// Points of a batch.
const POINTS: usize = 1024;
/// The questions to jitcdde.
const RTOLS: [f64; 3] = [1e-4, 1e-6, 1e-8];

/// A trajectory that stays where no bound and no kink of the algorithm acts, so that jitcdde needs none.
struct Case {
    name: &'static str,
    flows: f64,
    propagation: f64,
    capacity: f64,
    tcp: Tcp,
    model: AnyModel,
    start: [f64; 3],
}

fn cases() -> [Case; 3] {
    // Hollot's network; RED remembers for 2.5 s.
    let red = Red {
        min_th: 150.0,
        max_th: 700.0,
        max_p: 0.1,
        end: 1400.0,
        forgetting: 0.4 / 3750.0,
        spread: 1.0,
        crowding: 0.0,
    };
    let hollot = |name, model, last| Case {
        name,
        flows: 60.0,
        propagation: 0.2,
        capacity: 3750.0,
        tcp: Tcp::HALVING,
        model,
        start: [15.0, 210.0, last],
    };
    // Park et al. 2004, section 3.2 with R = 0.24 s, just inside its boundary of 0.242 s.
    let vrc = Case {
        name: "PI, at its boundary",
        flows: 100.0,
        propagation: 0.2,
        capacity: 1250.0,
        tcp: Tcp::SAWTOOTH,
        model: AnyModel::Pi(Pi { k_p: 0.0024, k_i: 0.0045, q_ref: 50.0 }),
        start: [3.0, 55.0, 0.1667],
    };
    [
        hollot("RED, oscillating", AnyModel::Red(red), 195.0),
        vrc,
        hollot("PI, settling", AnyModel::Pi(Pi { k_p: 1.819e-5, k_i: 9.6e-6, q_ref: 175.0 }), 0.0085),
    ]
}

impl Case {
    fn fluid(&self, flows: f64, propagation: f64) -> Outcome<Fluid> {
        let network = FluidNetwork {
            classes: vec![Class { flows, propagation }],
            congestion: self.tcp.into(),
            ..FluidNetwork::new(flows, propagation, self.capacity, 1000.0)
        };
        let [window, queue, last] = self.start;
        let start = Start::At { windows: vec![window], queue, state: vec![last] };
        Fluid::new(network, self.model).and_then(|f| f.starting(start)).map_err(|e| e.to_string())
    }

    /// Points around the case: N and T_p up to 2 % apart.
    fn points(&self) -> Outcome<Vec<Fluid>> {
        let near = |x: f64, i: usize| x * (0.98 + 0.02 * i as f64 / 31.0);
        (0..POINTS).map(|i| self.fluid(near(self.flows, i / 32), near(self.propagation, i % 32))).collect()
    }

    /// The input of `peers/jitcdde_fluid.py`.
    fn task(&self, rtol: f64) -> Value {
        let mut model = json!({
            "flows": self.flows, "propagation": self.propagation, "capacity": self.capacity,
            "decrease": self.tcp.decrease, "longest": 1.0,
        });
        match self.model {
            AnyModel::Red(m) => {
                model["model"] = "red".into();
                let numbers = [
                    ("min_th", m.min_th),
                    ("max_th", m.max_th),
                    ("max_p", m.max_p),
                    ("forgetting", m.forgetting),
                ];
                numbers.iter().for_each(|(name, x)| model[*name] = json!(x));
            }
            AnyModel::Pi(m) => {
                model["model"] = "pi".into();
                let numbers = [("k_p", m.k_p), ("k_i", m.k_i), ("q_ref", m.q_ref)];
                numbers.iter().for_each(|(name, x)| model[*name] = json!(x));
            }
            _ => unreachable!("the cases are RED and PI"),
        }
        let times: Vec<f64> = (1..=(DURATION / SAMPLE) as usize).map(|i| i as f64 * SAMPLE).collect();
        // Its own default for the absolute tolerance.
        json!({ "model": model, "start": self.start, "rtol": rtol, "atol": 1e-10, "times": times })
    }
}

/// jitcdde in a process that answers questions.
struct Peer {
    process: Child,
    answers: BufReader<ChildStdout>,
    /// It writes what it compiles; and a `pyproject.toml` where it runs would confuse it.
    _folder: tempfile::TempDir,
}

impl Peer {
    fn start() -> Outcome<Option<Peer>> {
        let python = std::env::var("QUELL_JITCDDE_PYTHON").unwrap_or_else(|_| "python3".into());
        let found = Command::new(&python)
            .args(["-c", "import jitcdde, sympy, setuptools"])
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success());
        if !found {
            return Ok(None);
        }
        let folder = tempfile::tempdir().map_err(|e| format!("no folder for jitcdde: {e}"))?;
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("peers").join("jitcdde_fluid.py");
        let mut process = Command::new(&python)
            .arg(script)
            .current_dir(&folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| format!("cannot run {python}: {e}"))?;
        let out = process.stdout.take().ok_or("jitcdde's output is closed")?;
        Ok(Some(Peer { process, answers: BufReader::new(out), _folder: folder }))
    }

    /// The queue at the samples, and the CPU time in seconds.
    fn ask(&mut self, task: &Value) -> Outcome<(Vec<f64>, f64)> {
        let input = self.process.stdin.as_mut().ok_or("jitcdde's input is closed")?;
        writeln!(input, "{task}").map_err(|e| format!("jitcdde is gone: {e}"))?;
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(|e| format!("jitcdde is gone: {e}"))?;
        let answer: Value = serde_json::from_str(&line)
            .map_err(|_| format!("jitcdde answered {line:?}: try `{task}` by hand"))?;
        let queue: Vec<f64> = serde_json::from_value(answer["queue"].clone()).unwrap_or_default();
        Ok((queue, answer["cpu"].as_f64().unwrap_or(f64::NAN)))
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

fn options(tolerance: f64) -> Options {
    let tolerance = Tolerance { absolute: 1e-3 * tolerance, ..Tolerance::of(tolerance) };
    Options { tolerance, sample: SAMPLE, ..Options::default() }
}

fn queue(fluid: &Fluid, tolerance: f64) -> Outcome<Vec<f64>> {
    let run = fluid.run(DURATION, &options(tolerance)).map_err(|e| e.to_string())?;
    Ok(run.queue[1..].to_vec())
}

fn queues(fluids: &[Fluid], tolerance: f64) -> Outcome<Vec<Vec<f64>>> {
    fluid::queues(fluids, DURATION, SAMPLE, &options(tolerance))
        .into_iter()
        .map(|q| q.map_err(|e| e.to_string()))
        .collect()
}

/// The largest relative error of any sample.
fn error(queue: &[f64], exact: &[f64]) -> f64 {
    queue.iter().zip(exact).map(|(a, b)| (a - b).abs() / b.abs()).fold(0.0, f64::max)
}

/// The largest tolerance, by quarters of a decade, at which the error is at most `bound`.
fn tolerance_for(bound: f64, error_at: impl Fn(f64) -> Outcome<f64>) -> Outcome<(f64, f64)> {
    for quarter in 8..=52 {
        let tolerance = 10f64.powf(-0.25 * f64::from(quarter));
        let error = error_at(tolerance)?;
        if error <= bound {
            return Ok((tolerance, error));
        }
    }
    Err(format!("no tolerance leads to an error of {bound:e}"))
}

/// One line of the table.
struct Row {
    case: usize,
    rtol: f64,
    peer_error: f64,
    one: (f64, f64),
    many: (f64, f64),
    /// Microseconds of CPU time per simulated second, and of wall-clock time for the last.
    peer_cost: Vec<f64>,
    one_cost: Vec<f64>,
    many_cost: Vec<f64>,
    all_cost: Vec<f64>,
}

pub fn against_jitcdde(times: u32) -> Outcome<Option<Section>> {
    let Some(mut peer) = Peer::start()? else {
        eprintln!(
            "no python with jitcdde, sympy and setuptools here: left out (QUELL_JITCDDE_PYTHON names one)"
        );
        return Ok(None);
    };
    let cases = cases();
    let before = load();
    let mut progress = Progress::new(cases.len() * RTOLS.len() * (1 + times as usize));
    let single = rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(|e| e.to_string())?;
    let mut rows = Vec::new();
    let mut agreement: f64 = 0.0;
    for (number, case) in cases.iter().enumerate() {
        let one = case.fluid(case.flows, case.propagation)?;
        let points = case.points()?;
        let exact = queue(&one, 1e-12)?;
        let all_exact = queues(&points, 1e-12)?;
        agreement = agreement.max(error(&peer.ask(&case.task(1e-11))?.0, &exact));
        for rtol in RTOLS {
            progress.next(&format!("{}, rtol {rtol:e}: equal errors", case.name));
            let peer_error = error(&peer.ask(&case.task(rtol))?.0, &exact);
            let alone = tolerance_for(peer_error, |t| Ok(error(&queue(&one, t)?, &exact)))?;
            let many = tolerance_for(peer_error, |t| {
                let worst =
                    queues(&points, t)?.iter().zip(&all_exact).map(|(q, e)| error(q, e)).fold(0.0, f64::max);
                Ok(worst)
            })?;
            let (peer_cost, one_cost, many_cost, all_cost) = Default::default();
            rows.push(Row {
                case: number,
                rtol,
                peer_error,
                one: alone,
                many,
                peer_cost,
                one_cost,
                many_cost,
                all_cost,
            });
        }
    }
    for _ in 0..times {
        for row in &mut rows {
            let case = &cases[row.case];
            progress.next(&format!("{}, rtol {:e}", case.name, row.rtol));
            let one = case.fluid(case.flows, case.propagation)?;
            let points = case.points()?;
            let cost = |seconds: f64, runs: usize| seconds / (runs as f64 * DURATION) * 1e6;
            row.peer_cost.push(cost(peer.ask(&case.task(row.rtol))?.1, 1));
            const RUNS: usize = 50;
            let clock = ProcessTime::now();
            for _ in 0..RUNS {
                std::hint::black_box(queue(&one, row.one.0)?);
            }
            row.one_cost.push(cost(clock.elapsed().as_secs_f64(), RUNS));
            let clock = ProcessTime::now();
            std::hint::black_box(single.install(|| queues(&points, row.many.0))?);
            row.many_cost.push(cost(clock.elapsed().as_secs_f64(), POINTS));
            let clock = Instant::now();
            std::hint::black_box(queues(&points, row.many.0)?);
            row.all_cost.push(cost(clock.elapsed().as_secs_f64(), POINTS));
        }
    }
    drop(progress);
    let head = [
        "trajectory",
        "rtol of jitcdde",
        "its error",
        "µs/s",
        "Quell's error",
        "µs/s",
        "times as fast",
        "spread",
        "in batches: error",
        "µs/s per point",
        "times as fast",
        "spread",
        "on all cores",
    ];
    let mut section = Section::new("fluid", &head);
    let least = |x: &[f64]| x.iter().copied().fold(f64::INFINITY, f64::min);
    for row in &rows {
        let ratio = |own: &[f64]| figure(least(&row.peer_cost) / least(own));
        let spread = |own: &[f64]| {
            let pairs: Vec<f64> = row.peer_cost.iter().zip(own).map(|(p, o)| p / o).collect();
            format!("{}–{}", figure(least(&pairs)), figure(pairs.iter().copied().fold(0.0, f64::max)))
        };
        section.row(vec![
            cases[row.case].name.into(),
            format!("{:e}", row.rtol),
            format!("{:.1e}", row.peer_error),
            figure(least(&row.peer_cost)),
            format!("{:.1e}", row.one.1),
            figure(least(&row.one_cost)),
            ratio(&row.one_cost),
            spread(&row.one_cost),
            format!("{:.1e}", row.many.1),
            figure(least(&row.many_cost)),
            ratio(&row.many_cost),
            spread(&row.many_cost),
            ratio(&row.all_cost),
        ]);
    }
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    section.remark(format!(
        "CPU time per simulated second of {DURATION} s with one class of flows, from the same start with the same \
         equations; wall-clock time for *all cores* ({cores}). The error is the largest relative one of the queue, \
         each {SAMPLE} s, against Quell's result at a tolerance of 1e-12. At 1e-11, jitcdde's result is within \
         {agreement:.0e} of that. Quell's tolerance is the largest, by quarters of a decade, at which its error is not \
         larger than jitcdde's. In batches, the error is that of the worst of {POINTS} points. The time of jitcdde's \
         compilation does not count. Values are the least of {times}, in turn; *spread* over the turns. Before: \
         {before}; after: {}.",
        load()
    ));
    Ok(Some(section))
}
