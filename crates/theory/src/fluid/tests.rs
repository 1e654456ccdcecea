use num_complex::Complex64;
use quell_aqm::Link;
use quell_aqm::catalog::CATALOG;
use quell_units::{BitRate, Bytes, QueueSize};

use super::*;
use crate::congestion::{Congestion, Signal, Tcp};
use crate::error::TheoryError;
use crate::linear::{Loop, Plant};
use crate::models::{AnyModel, Pi, Red, StRed, Vrc};
use crate::network::{Class, FluidNetwork};
use crate::num::dde::{self, Past, System, Tolerance};

fn tight() -> Options {
    Options { tolerance: Tolerance::of(1e-9), sample: 0.1, ..Options::default() }
}

/// Hollot's network and PI: N = 60, C = 3750 packets/s, a = 1.822e-5, b = 1.816e-5 at 160 Hz.
fn hollot() -> (FluidNetwork, Pi) {
    let network =
        FluidNetwork { congestion: Tcp::HALVING.into(), ..FluidNetwork::new(60.0, 0.2, 3750.0, 800.0) };
    (network, Pi { k_p: 1.819e-5, k_i: 9.6e-6, q_ref: 175.0 })
}

/// Every algorithm with a model stays at its equilibrium, with one class of flows and with two, with marks
/// and with drops. What detects oscillations finds none and lets q_ref fall: not those.
#[test]
fn a_rest_stays() {
    let link = Link {
        rate: BitRate::from_bps(15_000_000),
        buffer: QueueSize::Packets(1000.0),
        mean_packet: Bytes::new(1000),
    };
    let one = FluidNetwork::new(60.0, 0.2, 1875.0, 1000.0);
    let drops = FluidNetwork { signal: Signal::Drop, ..one.clone() };
    let two = FluidNetwork {
        classes: vec![Class { flows: 40.0, propagation: 0.05 }, Class { flows: 30.0, propagation: 0.3 }],
        ..one.clone()
    };
    let two_drops = FluidNetwork { signal: Signal::Drop, ..two.clone() };
    let mut seen = 0;
    for entry in CATALOG {
        for network in [&one, &drops, &two, &two_drops] {
            let Ok(model) = AnyModel::of(&(entry.default)(), &link, network) else { continue };
            if matches!(model, AnyModel::StRed(_) | AnyModel::StPi(_)) {
                continue;
            }
            let fluid =
                Fluid::new(network.clone(), model).unwrap().starting(Start::Equilibrium(0.0)).unwrap();
            let run = fluid.run(2.0, &tight()).unwrap();
            let (first, last) = (run.queue[0], run.queue[run.queue.len() - 1]);
            assert!((last - first).abs() < 1e-3, "{}: {first} {last}", entry.name);
            seen += 1;
        }
    }
    assert!(seen >= 4 * 15, "{seen}");
}

/// RED with Hollot's network, as jitcdde at a tolerance of 1e-11 and RK4 with cubic Hermite history at
/// steps of 1 ms compute it: both round to 228.35814 packets, so no more digits are asked for.
#[test]
fn a_trajectory_that_others_computed() {
    /// The right-hand side with p smoothed, so that every method converges at its order.
    struct Smoothed;
    impl System<f64, 4> for Smoothed {
        fn delays(&self) -> usize {
            1
        }
        fn longest_delay(&self) -> f64 {
            1.0
        }
        fn before(&self, _: usize, _: f64) -> [f64; 4] {
            [15.0, 100.0, 160.0, 0.0]
        }
        fn rates(&self, _: usize, t: f64, y: &[f64; 4], past: &mut Past<'_, f64, 4>) -> [f64; 4] {
            let rtt = 0.2 + y[1] / 3750.0;
            let old = past.at(0, t - rtt);
            let p = (old[2] - 150.0) / 550.0 * 0.1;
            let p = 0.5 * (p + (p * p + 1e-8).sqrt());
            let window = 1.0 / rtt - y[0] * old[0] * p / (2.0 * (0.2 + old[1] / 3750.0));
            [window, 60.0 * y[0] / rtt - 3750.0, 0.4875 * (y[1] - y[2]), 0.0]
        }
        fn scale(&self, d: usize) -> f64 {
            if d < 3 { 1.0 } else { 0.0 }
        }
    }
    let mut last = 0.0;
    dde::solve(
        &Smoothed,
        (0.0, 200.0),
        &[],
        [15.0, 100.0, 160.0, 0.0],
        &Tolerance::of(1e-11),
        &mut |piece| last = piece.variable(1, piece.to),
    )
    .unwrap();
    assert!((last - 228.35814).abs() < 5e-6, "{last}");
}

/// What enters the queue and what leaves it is what it grows by: the integral of `r - C` by
/// Simpson's rule over samples.
#[test]
fn packets_are_conserved() {
    let (network, pi) = hollot();
    let fluid = Fluid::new(network, AnyModel::Pi(pi)).unwrap().starting(Start::Equilibrium(40.0)).unwrap();
    let run = fluid.run(20.0, &Options { sample: 0.001, ..tight() }).unwrap();
    let n = run.time.len() - 1;
    let weight = |i: usize| if i == 0 || i == n { 1.0 } else { [2.0, 4.0][i % 2] };
    let grown: f64 = (0..=n).map(|i| weight(i) * (run.arrivals[i] - 3750.0)).sum::<f64>() * 0.001 / 3.0;
    assert!((run.queue[n] - run.queue[0] - grown).abs() < 1e-5, "{grown} {}", run.queue[n]);
}

/// The growth rate of Park et al.'s loop with one class of marked flows near its equilibrium, from the
/// characteristic equation with the exact delay: its rightmost root, by Newton's method.
///
/// With `W = W0 + w` and so on, `w' = -(1/(R W0)...)`: Chen 2010, eq. 4.2 before it is simplified,
/// `s w = -(p W/(a R)) (w + w_R e^-sR) - W^2/(a R) p_R e^-sR - (queueing terms)`.
fn rightmost(network: &FluidNetwork, k_p: f64, k_i: f64, q: f64, guess: Complex64) -> Complex64 {
    let class = network.classes[0];
    let Congestion::Reno(tcp) = network.congestion else { panic!("{network:?}") };
    let (n, c, a) = (class.flows, network.capacity, tcp.decrease);
    let r = class.propagation + q / c;
    let w = r * c / n;
    let p = a / (w * w);
    let f = |s: Complex64| {
        let z = (-s * r).exp();
        // d(W')/dW, /dW_R, /dp_R, /dq (through 1/R) and /dq_R (through 1/R_R).
        let own = -w * p / (a * r);
        let past = own * z;
        let signal = -w * w / (a * r) * z;
        let queue = -1.0 / (r * r * c) + w * w * p / (a * r * r * c) * z;
        // d(q')/dW = N/R, d(q')/dq = -N W/(R^2 C) = -1/R.
        let control = k_p + k_i / s;
        (s - own - past) * (s + 1.0 / r) - (queue + signal * control) * (n / r)
    };
    let mut s = guess;
    for _ in 0..200 {
        let h = Complex64::new(1e-7, 0.0);
        s -= f(s) * 2.0 * h / (f(s + h) - f(s - h));
    }
    assert!(f(s).norm() < 1e-6, "{s} {}", f(s));
    s
}

/// Park et al. 2004, section 3.2, the exact boundary for PI with K_P = 0.0024 and K_I = 0.0045: R = 0.242 s.
/// A small perturbation grows on one side and decays on the other, at the rate of the characteristic root.
#[test]
fn small_perturbations_follow_the_characteristic_root() {
    let (k_p, k_i, q_ref) = (0.0024, 0.0045, 50.0);
    for rtt in [0.22, 0.235, 0.25, 0.26] {
        let network = FluidNetwork::new(100.0, rtt - q_ref / 1250.0, 1250.0, 1000.0);
        let root = rightmost(&network, k_p, k_i, q_ref, Complex64::new(0.0, 2.0));
        let fluid = Fluid::new(network, AnyModel::Pi(Pi { k_p, k_i, q_ref })).unwrap();
        let fluid = fluid.starting(Start::Equilibrium(0.001)).unwrap();
        let options = Options { tolerance: Tolerance::of(1e-11), sample: 0.001, ..Options::default() };
        let run = fluid.run(20.0, &options).unwrap();
        // The amplitude per period of the root, late enough for the other roots to have died.
        let period = 2.0 * std::f64::consts::PI / root.im.abs();
        let amplitude = |from: f64| {
            let part = &run.queue[(from * 1000.0) as usize..((from + period) * 1000.0) as usize];
            part.iter().fold(0.0_f64, |m, q| m.max((q - q_ref).abs()))
        };
        let apart = (8.0 / period).round() * period;
        let measured = (amplitude(8.0 + apart) / amplitude(8.0)).ln() / apart;
        assert!((measured - root.re).abs() < 0.002, "R = {rtt}: {measured} beside {root}");
        assert_eq!(measured > 0.0, rtt > 0.242, "R = {rtt}: {measured}");
    }
}

/// Park et al. 2004, section 3.2, the same for VRC with K_D = 0.0003: R = 0.280 s. `alpha = K_D`, and `beta`
/// and `gamma` solve `K_P = alpha (beta + gamma)` and `K_I = alpha beta gamma` (Park et al. 2004, eq. 12): 3
/// and 5 per second. The paper's VRC knows the rate at once; 0.1 ms of memory is next to that.
#[test]
fn vrc_is_stable_up_to_its_critical_round_trip_time() {
    let q_ref = 50.0;
    let (lowest, highest) = (-5.0 * q_ref, 1.0 / 0.0003);
    let vrc = Vrc { alpha: 0.0003, beta: 3.0, gamma: 5.0, q_ref, rate_memory: 1e-4, lowest, highest };
    for rtt in [0.27, 0.278, 0.282, 0.29] {
        let network = FluidNetwork::new(100.0, rtt - q_ref / 1250.0, 1250.0, 1000.0);
        let fluid = Fluid::new(network, AnyModel::Vrc(vrc)).unwrap();
        let fluid = fluid.starting(Start::Equilibrium(0.001)).unwrap();
        let options = Options { tolerance: Tolerance::of(1e-9), sample: 0.01, ..Options::default() };
        let run = fluid.run(40.0, &options).unwrap();
        let amplitude =
            |from: usize| run.queue[from..from + 1000].iter().fold(0.0_f64, |m, q| m.max((q - q_ref).abs()));
        let growth = amplitude(3000) / amplitude(1000);
        println!("{rtt} {growth} {:?}", run.work);
        assert_eq!(growth > 1.0, rtt > 0.280, "R = {rtt}: {growth}");
    }
}

/// More flows after 20 s: the new equilibrium is reached, and the change itself is not a step of the solver.
#[test]
fn a_step_of_the_load() {
    let (network, pi) = hollot();
    let more = FluidNetwork { classes: vec![Class { flows: 90.0, propagation: 0.2 }], ..network.clone() };
    let fluid = Fluid::new(network, AnyModel::Pi(Pi { k_i: 4e-5, k_p: 4e-5, ..pi })).unwrap();
    let fluid = fluid.starting(Start::Equilibrium(0.0)).unwrap().changing(20.0, more.clone()).unwrap();
    let run = fluid.run(200.0, &tight()).unwrap();
    let at = |t: f64| (t / 0.1).round() as usize;
    assert!((run.queue[at(20.0)] - 175.0).abs() < 1e-6, "{}", run.queue[at(20.0)]);
    // Half more flows of the same windows bring half more packets.
    assert!((run.arrivals[at(20.0)] - 3750.0).abs() < 1e-4);
    assert!(run.queue[at(20.1)] > 270.0, "{}", run.queue[at(20.1)]);
    let last = run.time.len() - 1;
    let equilibrium = AnyModel::Pi(pi).equilibrium(&more).unwrap();
    assert!((run.queue[last] - 175.0).abs() < 0.1, "{}", run.queue[last]);
    assert!((run.windows[0][last] - equilibrium.point.classes[0].window).abs() < 0.01);
    assert!((run.probability[last] - equilibrium.point.probability).abs() < 1e-5);
}

/// Without an algorithm's signals a full buffer's losses hold the flows' windows; what is lost is what
/// arrives beyond C, `1 - C/r`. Unnoticed losses hold nothing.
#[test]
fn a_full_buffer_signals_by_its_losses() {
    let network = FluidNetwork::new(50.0, 0.1, 1250.0, 100.0);
    let silent = Pi { k_p: 0.0, k_i: 0.0, q_ref: 50.0 };
    let fluid = Fluid::new(network.clone(), AnyModel::Pi(silent)).unwrap();
    let run = fluid.run(100.0, &tight()).unwrap();
    assert!(run.queue.iter().all(|q| (0.0..=100.0).contains(q)));
    let full = (0..run.time.len()).filter(|i| run.lost[*i] > 0.0);
    assert!(full.clone().count() > 10, "{:?}", run.lost);
    for i in full {
        assert!((run.lost[i] - (1.0 - 1250.0 / run.arrivals[i])).abs() < 1e-12, "{i}");
        assert!(run.queue[i] > 99.999, "{}", run.queue[i]);
    }
    let summary = run.summary(50.0).unwrap();
    assert!(summary.mean > 50.0, "{summary:?}");
    let most = run.windows[0].iter().fold(0.0_f64, |m, w| m.max(*w));
    let ignored = fluid.run(100.0, &Options { overflow: Overflow::Ignored, ..tight() }).unwrap();
    assert!(ignored.windows[0][1000] > 5.0 * most, "{most} {}", ignored.windows[0][1000]);
}

/// Side by side or alone, the same to the tolerance; on any number of threads, the same bits.
#[test]
fn a_batch_is_its_members() {
    let (network, pi) = hollot();
    let red = Red {
        min_th: 150.0,
        max_th: 700.0,
        max_p: 0.1,
        end: 1400.0,
        forgetting: 0.005 / 3750.0,
        spread: 1.0,
        crowding: 0.0,
    };
    let fluids: Vec<Fluid> = (0..37)
        .map(|i| {
            let classes = vec![Class { flows: 40.0 + i as f64, propagation: 0.1 + 0.004 * i as f64 }];
            let (model, start) = match i % 3 {
                0 => (AnyModel::Red(red), Start::Equilibrium(20.0)),
                _ => (AnyModel::Pi(pi), Start::Empty),
            };
            Fluid::new(FluidNetwork { classes, ..network.clone() }, model).unwrap().starting(start).unwrap()
        })
        .collect();
    let options = Options { tolerance: Tolerance::of(1e-8), sample: 0.5, ..Options::default() };
    let on = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| queues(&fluids, 30.0, 10.0, &options))
    };
    let one = on(1);
    assert_eq!(one, on(3));
    for (fluid, together) in fluids.iter().zip(one) {
        let alone = fluid.run(30.0, &options).unwrap();
        for (a, b) in alone.queue[20..].iter().zip(together.unwrap()) {
            assert!((a - b).abs() < 1e-6 * a.abs().max(1.0), "{a} {b}");
        }
    }
}

/// Detection scales RED's thresholds, and what it does comes at the same time for any tolerance.
#[test]
fn a_switch_does_not_depend_on_the_steps() {
    let link = Link {
        rate: BitRate::from_bps(15_000_000),
        buffer: QueueSize::Packets(1000.0),
        mean_packet: Bytes::new(1000),
    };
    let network = FluidNetwork::new(60.0, 0.2, 1875.0, 1000.0);
    let entry = CATALOG.iter().find(|e| e.name == "st-red").unwrap();
    let AnyModel::StRed(model) = AnyModel::of(&(entry.default)(), &link, &network).unwrap() else {
        unreachable!("st-red has a model of its kind");
    };
    // Watching twenty times as fast as by default.
    let model = StRed { phi1: 20.0 * model.phi1, phi2: 20.0 * model.phi2, ..model };
    let fluid = Fluid::new(network, AnyModel::StRed(model)).unwrap();
    let scale = |tolerance: f64| {
        let options = Options { tolerance: Tolerance::of(tolerance), sample: 0.1, ..Options::default() };
        fluid.run(60.0, &options).unwrap().state[4].clone()
    };
    let (rough, fine) = (scale(1e-8), scale(1e-10));
    assert!(rough.iter().any(|k| *k != 1.0), "nothing was detected");
    let apart = rough.iter().zip(&fine).filter(|(a, b)| (*a - *b).abs() > 1e-3).count();
    assert!(apart <= 2, "{apart}");
}

#[test]
fn a_summary_knows_a_wave() {
    let wave: Vec<f64> =
        (0..4000).map(|i| 100.0 + 20.0 * (2.0 * std::f64::consts::PI * f64::from(i) / 250.0).sin()).collect();
    let s = Summary::of(&wave, 0.01).unwrap();
    assert!((s.mean - 100.0).abs() < 1e-9 && (s.amplitude - 20.0).abs() < 0.01, "{s:?}");
    assert!((s.deviation - 200.0_f64.sqrt()).abs() < 1e-9, "{s:?}");
    assert!((s.period.unwrap() - 2.5).abs() < 1e-3 && !s.settles(), "{s:?}");
    let dying: Vec<f64> =
        wave.iter().enumerate().map(|(i, q)| 100.0 + (q - 100.0) * (-1e-3 * i as f64).exp()).collect();
    assert!(Summary::of(&dying, 0.01).unwrap().settles());
    assert!(Summary::of(&wave[..5], 0.01).is_err());
}

#[test]
fn what_is_refused_is_named() {
    let (network, pi) = hollot();
    let model = AnyModel::Pi(pi);
    let said = |e: TheoryError| e.to_string();
    let none = FluidNetwork { capacity: f64::NAN, ..network.clone() };
    assert!(said(Fluid::new(none, model).unwrap_err()).contains("capacity C = NaN"));
    let wrong = AnyModel::Pi(Pi { k_i: f64::NAN, ..pi });
    let text = said(Fluid::new(network.clone(), wrong).unwrap_err());
    assert!(text.contains("parameter k_i of the model = NaN"), "{text}");
    let fluid = Fluid::new(network.clone(), model).unwrap();
    let text = said(fluid.clone().starting(Start::Equilibrium(1000.0)).unwrap_err());
    assert!(text.contains("queue q at the start = 1175 packets"), "{text}");
    assert!(said(fluid.run(-1.0, &tight()).unwrap_err()).contains("duration = -1 s"));
    let options = Options { tolerance: Tolerance { steps: 100, ..Tolerance::of(1e-9) }, ..tight() };
    let text = said(fluid.run(100.0, &options).unwrap_err());
    assert!(text.contains("100 steps did not suffice"), "{text}");
    let other = FluidNetwork { buffer: 1.0, ..network };
    assert!(said(fluid.changing(1.0, other).unwrap_err()).contains("must not change"));
}

/// Near its equilibrium the nonlinear fluid of every congestion control moves as the rightmost root of its loop says:
/// it decays just below the gain margin, and grows just above.
#[test]
fn every_law_decays_or_grows_as_its_loop_says() {
    for (name, n, propagation, c, q_ref, k_p, z) in [
        ("cubic", 20.0, 0.1, 2500.0, 100.0, 1e-5, 0.5),
        ("cubic", 5.0, 0.1, 2500.0, 100.0, 1e-6, 0.1),
        ("dctcp", 20.0, 0.1, 2500.0, 100.0, 1e-4, 0.5),
        ("prague", 20.0, 0.1, 2500.0, 100.0, 1e-4, 0.5),
        ("prague", 10.0, 0.01, 10000.0, 50.0, 1e-4, 0.5),
    ] {
        let network = FluidNetwork {
            congestion: Congestion::named(name).unwrap(),
            ..FluidNetwork::new(n, propagation, c, 1000.0)
        };
        let control = |k: f64| {
            let model = AnyModel::Pi(Pi { k_p: k * k_p, k_i: k * k_p * z, q_ref });
            let rest = model.equilibrium(&network).unwrap();
            (Loop::new(&rest.point, &model.controller(&rest).unwrap(), Plant::Exact).unwrap(), model)
        };
        let margin = control(1.0).0.margins().unwrap().gain.unwrap();
        // What oscillates at the margin.
        let period = control(1.001 * margin).0.mode().unwrap().period.unwrap();
        for share in [0.95, 1.05] {
            let (control, model) = control(share * margin);
            let fluid =
                Fluid::new(network.clone(), model).unwrap().starting(Start::Equilibrium(0.001)).unwrap();
            let sample = period / 500.0;
            let options = Options { tolerance: Tolerance::of(1e-11), sample, ..Options::default() };
            let run = fluid.run(32.0 * period, &options).unwrap();
            // Over half a period, which leaves little of modes that are slow.
            let amplitude = |at: usize| {
                let swing = |i: usize| (run.queue[i + 250] - run.queue[i]).abs();
                (500 * at..500 * (at + 1)).map(swing).fold(0.0, f64::max)
            };
            let measured = (amplitude(30) / amplitude(15)).ln() / (15.0 * period);
            assert_eq!(measured > 0.0, share > 1.0, "{name} {share}: {measured}");
            assert_eq!(control.stable(), share < 1.0, "{name} {share}");
            // Below the margin a slow mode may be the rightmost.
            if share > 1.0 {
                let root = control.mode().unwrap().root;
                let off = (measured - root.re).abs() / root.im;
                assert!(off < 0.002, "{name} at {share} of its margin: {measured} beside {root}");
            }
        }
    }
}

/// Each law stays at its equilibrium, estimates of the share of marks with it; with two classes, too.
#[test]
fn every_law_stays_at_rest() {
    for name in Congestion::NAMES {
        let two = FluidNetwork {
            classes: vec![Class { flows: 10.0, propagation: 0.01 }, Class { flows: 15.0, propagation: 0.1 }],
            congestion: Congestion::named(name).unwrap(),
            ..FluidNetwork::new(1.0, 1.0, 6000.0, 600.0)
        };
        let model = AnyModel::Pi(Pi { k_p: 1e-5, k_i: 1e-5, q_ref: 60.0 });
        let rest = model.equilibrium(&two).unwrap().point;
        let fluid = Fluid::new(two, model).unwrap().starting(Start::Equilibrium(0.0)).unwrap();
        let run = fluid.run(3.0, &tight()).unwrap();
        assert!((run.queue[run.queue.len() - 1] - 60.0).abs() < 1e-4, "{name}");
        assert_eq!(run.shares.len(), if matches!(name, "dctcp" | "prague") { 2 } else { 0 });
        for share in &run.shares {
            assert!((share[share.len() - 1] - rest.probability).abs() < 1e-7, "{name}");
        }
    }
}

/// From an empty queue DCTCP and Prague find the same equilibrium, alpha coming down from 1.
#[test]
fn an_estimate_begins_with_one_and_finds_the_probability() {
    let network = FluidNetwork {
        congestion: Congestion::named("dctcp").unwrap(),
        ..FluidNetwork::new(20.0, 0.1, 2500.0, 600.0)
    };
    let model = AnyModel::Pi(Pi { k_p: 1e-4, k_i: 5e-5, q_ref: 100.0 });
    let p = model.equilibrium(&network).unwrap().point.probability;
    let run = Fluid::new(network, model).unwrap().run(200.0, &tight()).unwrap();
    let share = &run.shares[0];
    assert!(share[0] == 1.0 && (share[share.len() - 1] - p).abs() < 1e-4, "{p}");
    assert!((run.queue[run.queue.len() - 1] - 100.0).abs() < 0.1);
}

/// Alizadeh et al. 2011: marks from a threshold of K packets on make a limit cycle, which leaves the link full
/// with K of 0.17 of the bandwidth-delay product, and loses less than 6% of it even with K near 0.
#[test]
fn a_step_of_marks_fills_the_link_from_a_sixth_of_its_product_on() {
    for flows in [2.0, 10.0, 40.0] {
        let (product, capacity) = (833.0, 833_000.0);
        let throughput = |k: f64| {
            let step = Red {
                min_th: k,
                max_th: k + 1.0,
                max_p: 1.0,
                end: k + 1.0,
                forgetting: 1.0,
                spread: 1.0,
                crowding: 0.0,
            };
            let network = FluidNetwork {
                congestion: Congestion::named("dctcp").unwrap(),
                ..FluidNetwork::new(flows, 0.001, capacity, 20.0 * product)
            };
            let options = Options { sample: 1e-5, ..Options::default() };
            let run = Fluid::new(network, AnyModel::Red(step)).unwrap().run(1.5, &options).unwrap();
            let from = run.time.len() / 2;
            let (mut sum, mut least) = (0.0, f64::MAX);
            for i in from..run.time.len() {
                sum += if run.queue[i] > 1e-6 { capacity } else { run.arrivals[i].min(capacity) };
                least = least.min(run.queue[i]);
            }
            (sum / (run.time.len() - from) as f64 / capacity, least)
        };
        let (full, near_zero) = (throughput(0.2 * product), throughput(1.0));
        println!("{flows} flows: {full:?} with 0.2 C d, {near_zero:?} with 1 packet");
        assert!(full.0 > 0.9999, "{flows}: {full:?}");
        assert!(near_zero.0 > 0.94, "{flows}: {near_zero:?}");
    }
}
