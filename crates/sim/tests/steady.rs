//! Do self-tuning algorithms settle? A load that does not change, and the course of what each
//! algorithm tunes. What came out stands in each algorithm's page, under "Does it settle?".

mod common;

use common::*;
use quell_aqm::catalog;
use quell_sim::network::*;
use quell_sim::outcome::Outcome;
use quell_sim::tcp::TcpParams;
use quell_units::Bytes;

/// From here on an algorithm should have settled; twice the time over which AP-RED measures.
const SETTLED: f64 = 120.0;
const END: f64 = 300.0;
const SEEDS: u64 = 3;
/// A turn counts if what was tuned has moved by this share since its last turn, and back.
const SHARE: f64 = 0.2;

/// 50 long flows of 40 to 200 ms and 20 web clients, a tenth of the traffic, on 10 Mbit/s.
fn steady(algorithm: &str, seed: u64) -> Outcome {
    let tcp = TcpParams { packet: Bytes::new(1000), ..Default::default() };
    let mut network = Dumbbell {
        aqm: (catalog::find(algorithm).unwrap().default)(),
        flows: 50,
        rtt: 0.04,
        spread: 0.16,
        buffer: 250.0,
        warmup: SETTLED,
        end: END,
        step: Some(0.5),
        tcp: tcp.clone(),
        seed,
        ..Default::default()
    }
    .network();
    for i in 0..20 {
        let access = || wire(100_000_000, secs(0.01 + 0.004 * f64::from(i)));
        network.links.extend([access(), access()]);
        let n = network.links.len() as u32;
        let app = App::Transfers {
            size: Distribution::Pareto { shape: 1.3, scale: 2.3 },
            think: Distribution::Exponential(1.0),
            count: None,
            connection: Connection::Fresh,
        };
        network.flows.push(FlowSpec {
            class: 0,
            ack_class: 1,
            precedence: 0,
            forward: vec![LinkId(n - 2), LinkId(0)],
            reverse: vec![LinkId(1), LinkId(n - 1)],
            traffic: Traffic::Tcp { tcp: tcp.clone(), app },
            start: at(0.1 * f64::from(i)),
            stop: None,
        });
    }
    go(network)
}

/// How often a course turns by more than `share` of its value.
fn turns(course: &[f64], share: f64) -> usize {
    let grow = 1.0 + share;
    let (mut turns, mut rising) = (0, None);
    let (mut low, mut high) = (course[0], course[0]);
    for &x in course {
        (low, high) = (low.min(x), high.max(x));
        let turned_up = rising != Some(true) && x > low * grow;
        let turned_down = rising != Some(false) && x * grow < high;
        if turned_up || turned_down {
            // The first move is not a turn.
            turns += usize::from(rising.is_some());
            rising = Some(turned_up);
            (low, high) = (x, x);
        }
    }
    turns
}

/// What an algorithm tunes after the settling time.
fn course<'o>(outcome: &'o Outcome, name: &str) -> &'o [f64] {
    let series = &outcome.links[0].series;
    let signal = series.internals.iter().find(|i| i.name == name).unwrap();
    &signal.values[series.time_s.partition_point(|t| *t < SETTLED)..]
}

/// What was found about one thing that an algorithm tunes, in the three minutes after the settling
/// time.
struct Finding {
    algorithm: &'static str,
    tunes: &'static str,
    /// The turns, from and to.
    turns: (usize, usize),
    /// The largest value over the smallest, from and to.
    factor: (f64, f64),
}

const fn found(
    algorithm: &'static str,
    tunes: &'static str,
    turns: (usize, usize),
    factor: (f64, f64),
) -> Finding {
    Finding { algorithm, tunes, turns, factor }
}

const FINDINGS: &[Finding] = &[
    found("ared", "max_p", (8, 22), (1.3, 1.8)),
    found("ared-dt", "max_p", (120, 180), (2.5, 7.0)),
    found("ared-dt", "min_th", (1, 8), (1.1, 1.5)),
    found("feng-ared", "max_p", (0, 14), (1.0, 9.5)),
    found("auto-tuning-red", "max_p", (1, 14), (1.2, 1.6)),
    found("ap-red", "max_p", (0, 0), (1.0, 1.0)),
    found("ap-red", "min_th", (0, 0), (1.0, 1.12)),
    found("ap-red", "w", (0, 0), (1.0, 1.12)),
    found("st-red", "max_p", (0, 0), (1.0, 1.25)),
    found("st-red", "q_ref", (0, 0), (1.0, 1.0)),
    found("st-pi", "q_ref", (0, 0), (1.0, 1.0)),
    found("st-pi", "a", (0, 0), (1.0, 1.0)),
    found("fuzzy-red", "w", (90, 180), (24.0, 26.0)),
    found("hred", "min_p", (2, 20), (1.2, 2.2)),
    found("pd-red", "max_p", (0, 0), (1.0, 1.12)),
    found("avq", "virtual_capacity", (0, 0), (1.0, 1.02)),
    found("red+tail", "max_p", (6, 22), (1.3, 1.9)),
];

#[test]
fn what_is_tuned_under_a_steady_load() {
    let mut misses = Vec::new();
    for seed in 1..=SEEDS {
        for of_one in FINDINGS.chunk_by(|a, b| a.algorithm == b.algorithm) {
            let outcome = steady(of_one[0].algorithm, seed);
            for f in of_one {
                let course = course(&outcome, f.tunes);
                let (low, high) =
                    course.iter().fold((f64::INFINITY, 0.0f64), |(l, h), x| (l.min(*x), h.max(*x)));
                let (turns, factor) = (turns(course, SHARE), high / low);
                let line = format!(
                    "{} {}: seed {seed}, {turns} turns, {low:.4e} to {high:.4e}, factor {factor:.2}",
                    f.algorithm, f.tunes
                );
                println!("{line}");
                let within =
                    (f.turns.0..=f.turns.1).contains(&turns) && (f.factor.0..=f.factor.1).contains(&factor);
                if !within {
                    misses.push(line);
                }
            }
        }
    }
    assert!(misses.is_empty(), "not as found:\n{}", misses.join("\n"));
}

#[test]
fn turns_of_known_courses() {
    assert_eq!(turns(&[1.0, 1.1, 0.95, 1.1, 1.0], 0.2), 0);
    assert_eq!(turns(&[1.0, 1.1, 1.3, 2.0, 5.0], 0.2), 0);
    // Up, down and up again: two turns; the last step down is too small for a third.
    assert_eq!(turns(&[1.0, 1.5, 2.0, 1.5, 1.0, 1.5, 1.4], 0.2), 2);
    // Two periods of a sine have four turns, five moves.
    let sine: Vec<f64> =
        (0..200).map(|i| 2.0 + (f64::from(i) / 200.0 * 4.0 * std::f64::consts::PI).sin()).collect();
    assert_eq!(turns(&sine, 0.2), 4);
    // What has fallen to nothing turns as it rises.
    assert_eq!(turns(&[1.0, 0.0, 0.0, 0.1], 0.2), 1);
}
