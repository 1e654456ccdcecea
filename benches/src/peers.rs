//! The same cases in other simulators, in the same sitting.

pub mod ns3;

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Outcome;
use crate::case::QUEUES;
use crate::cost::least;
use crate::one::{self, Args, Cost};
use crate::progress::Progress;
use crate::table::{Section, count, figure, load};

#[derive(clap::Args)]
pub struct Which {
    /// The cases to compare, of a, b, c and e; all of them if none is given
    #[arg(value_name = "CASE")]
    names: Vec<String>,
}

/// The input of `peers/ns2.tcl`: the same as in `cases`, which the counts beside the ratios show.
const NS2: [(&str, &str); 4] = [
    ("a", "rate 10e6 buffer 500 duration 100 packet 500 minth 6.25 maxth 18.75 weight 0.00039992001"),
    ("b", "rate 45e6 buffer 500 duration 60 packet 500 minth 28.125 maxth 84.375 weight 0.000088884938"),
    ("c", "rate 1e9 buffer 3000 duration 5 packet 1000 minth 312.5 maxth 937.5 weight 0.000007999968"),
    (
        "e",
        "rate 45e6 buffer 100 duration 20 packet 1000 minth 20 maxth 80 weight 0.002 delay 0.0075 hops 5 ecn 1 minrto 1",
    ),
];

/// The flows of a case, as `peers/ns2.tcl` takes them.
fn groups(case: &str) -> &'static str {
    match case {
        "a" => "100 0 1 0.1 0.1",
        "b" => "300 0 1 0.04 0.2",
        "c" => "1000 0 1 0.05 0.05",
        _ => {
            "100 0 5 .095 .155  50 0 1 .035 .095  100 1 2 .035 .095  150 2 3 .035 .095  100 3 4 .035 .095  50 4 5 .035 .095"
        }
    }
}

/// The output of a simulator about a run.
#[derive(Clone, Copy, Default)]
struct Run {
    loop_ns: f64,
    process_ns: f64,
    arrived: f64,
    dropped: f64,
    utilization: f64,
    /// It has its logging compiled in, which costs time though nothing is logged.
    logging: bool,
}

/// One case with one queue, in both simulators.
struct Row {
    case: &'static str,
    queue: &'static str,
    /// The other simulator's run with counters.
    counted: Run,
    quell: Vec<Cost>,
    peer: Vec<Run>,
    /// ns-2 with room for few headers in its packets.
    lean: Vec<Run>,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("peers")
}

/// Runs a program that prints a line of results.
fn run(command: &mut Command, help: &str) -> Outcome<Run> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|e| format!("cannot run {name} ({e}); {help}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let Some(line) = text.lines().find_map(|l| l.strip_prefix("RESULT ")) else {
        let why = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{name} gave no result: {}", why.trim()));
    };
    let field = |key: &str| {
        let value = line.split(' ').filter_map(|f| f.split_once('=')).find(|(k, _)| *k == key);
        value.and_then(|(_, v)| v.parse().ok()).unwrap_or(0.0)
    };
    Ok(Run {
        loop_ns: field("loop_ns"),
        process_ns: field("process_ns"),
        arrived: field("arrived"),
        dropped: field("dropped"),
        utilization: field("utilization"),
        logging: field("logging") != 0.0,
    })
}

fn ns2(case: &str, queue: &str, more: &[&str]) -> Outcome<Run> {
    let Some((_, keys)) = NS2.iter().find(|(name, _)| *name == case) else {
        return Err(format!("case {case} is not written for ns-2; there are a, b, c and e"));
    };
    let aqm = if queue == "red" { "RED" } else { "DropTail" };
    let mut command = Command::new("ns");
    command.arg(folder().join("ns2.tcl")).args(keys.split(' '));
    command.args(["aqm", aqm, "groups", groups(case)]).args(more);
    run(&mut command, "it is ns-2 2.35, Debian's package ns2: apt-get install ns2")
}

pub fn ns2_ratios(which: &Which, times: u32) -> Outcome<[Section; 2]> {
    let names: Vec<&str> = match which.names.is_empty() {
        true => NS2.iter().map(|(name, _)| *name).collect(),
        false => which.names.iter().map(String::as_str).collect(),
    };
    let mut rows = Vec::new();
    for name in names {
        let case = crate::case::find(name)?.name;
        for queue in QUEUES {
            let (counted, quell, peer, lean) = (Run::default(), Vec::new(), Vec::new(), Vec::new());
            rows.push(Row { case, queue, counted, quell, peer, lean });
        }
    }
    let before = load();
    let mut progress = Progress::new(rows.len() * (2 * times as usize + 1));
    for row in &mut rows {
        progress.next(&format!("{} {}: counting in ns-2", row.case, row.queue));
        row.counted = ns2(row.case, row.queue, &["monitor", "1"])?;
    }
    for _ in 0..times {
        for row in &mut rows {
            let args = Args::new(row.case, row.queue);
            // Around each of ns-2's runs, so that neither meets a quieter machine.
            let first = one::spawn(&args)?;
            progress.next(&format!("{} {}: ns-2", row.case, row.queue));
            row.peer.push(ns2(row.case, row.queue, &[])?);
            let second = one::spawn(&args)?;
            row.quell.push(if first.run_ns <= second.run_ns { first } else { second });
            progress.next(&format!("{} {}: ns-2, few headers", row.case, row.queue));
            row.lean.push(ns2(row.case, row.queue, &["headers", "IP TCP Flags"])?);
        }
    }
    drop(progress);

    let head = [
        "case",
        "queue",
        "Quell, ns/packet",
        "ns-2, ns/packet",
        "ratio",
        "spread",
        "few headers",
        "whole process",
    ];
    let mut ratios = Section::new("ns2", &head);
    let head = ["case", "queue", "packets", "in ns-2", "loss, %", "in ns-2", "utilization, %", "in ns-2"];
    let mut checks = Section::new("ns2-check", &head);
    for row in &rows {
        let [line, check] = lines(row);
        ratios.row(line);
        checks.row(check);
    }
    ratios.remark(format!(
        "CPU time of the event loops per data packet that arrives at a bottleneck (e: at each of the five). Values are \
         the least of {times} runs in turn; *spread*: the least and the largest ratio of adjacent runs. Debian's ns-2 \
         2.35 has no counters; Quell has its recorders. *Few headers*: the ratio to an ns-2 whose packets have room \
         for three headers instead of all. *Whole process*: with set-up. The routes of ns-2 are entered by hand, which \
         its users seldom do (computing them would take it most of a minute for c). Before: {before}; after: {}.",
        load()
    ));
    checks.remark(
        "The work is the same. These are the counts of both simulators at the bottlenecks, each with its own \
         random numbers.",
    );
    Ok([ratios, checks])
}

fn lines(row: &Row) -> [Vec<String>; 2] {
    let quell = &row.quell;
    let packets = quell[0].packets as f64;
    let of_quell = |f: fn(&Cost) -> u64| least(quell, |c| f(c) as f64) / packets;
    let of_peer = |runs: &[Run], f: fn(&Run) -> f64| {
        runs.iter().map(f).fold(f64::INFINITY, f64::min) / row.counted.arrived
    };
    let (own, theirs) = (of_quell(|c| c.run_ns), of_peer(&row.peer, |r| r.loop_ns));
    let pairs: Vec<f64> = (quell.iter().zip(&row.peer))
        .map(|(q, p)| (p.loop_ns / row.counted.arrived) / (q.run_ns as f64 / packets))
        .collect();
    let (low, high) =
        pairs.iter().fold((f64::INFINITY, 0.0f64), |(low, high), x| (low.min(*x), high.max(*x)));
    let mut line = vec![row.case.to_string(), row.queue.to_string(), figure(own), figure(theirs)];
    line.extend([figure(theirs / own), format!("{}–{}", figure(low), figure(high))]);
    if !row.lean.is_empty() {
        line.push(figure(of_peer(&row.lean, |r| r.loop_ns) / own));
    }
    line.push(figure(of_peer(&row.peer, |r| r.process_ns) / of_quell(|c| c.process_ns)));
    let check = vec![
        row.case.to_string(),
        row.queue.to_string(),
        count(quell[0].packets),
        count(row.counted.arrived as u64),
        figure(100.0 * quell[0].dropped as f64 / packets),
        figure(100.0 * row.counted.dropped / row.counted.arrived),
        figure(100.0 * quell[0].utilization),
        figure(100.0 * row.counted.utilization),
    ];
    [line, check]
}
