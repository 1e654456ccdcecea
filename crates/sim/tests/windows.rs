//! The windows that a run records.

use std::sync::{Arc, Mutex};

use crate::common::*;
use quell_sim::network::LinkId;
use quell_sim::outcome::{Outcome, Series, WindowSample};
use quell_sim::{Control, Engine, Error, Watcher, run};
use quell_units::Time;

fn recorded(d: &Dumbbell, engine: Engine) -> Outcome {
    run(d.network(), engine, &Control { windows: Some(secs(0.02)), ..Default::default() }).unwrap()
}

fn at_time(samples: &[WindowSample], t: f64) -> WindowSample {
    *samples.iter().find(|s| s.time == Time::from_nanos((t * 1e9).round() as u64)).unwrap()
}

/// A flow on a link that it does not fill: SYN and answer take 80 ms, and then the window doubles each round trip.
#[test]
fn slow_start_doubles_a_recorded_window() {
    let d =
        Dumbbell { flows: 1, rate: 1_000_000_000, spread: 0.0, end: 3.0, warmup: 1.0, ..Default::default() };
    let samples = &recorded(&d, Engine::Fast).flows[0].windows;
    assert_eq!(samples.len(), 151);
    assert!(samples.windows(2).all(|w| w[1].time - w[0].time == secs(0.02)));
    let first = samples.iter().position(|s| s.cwnd > 2.0).unwrap();
    assert!(samples[..first].iter().all(|s| s.cwnd == 2.0));
    let begun = samples[first].time.as_secs_f64();
    for (rounds, window) in [(1, 8.0), (2, 16.0), (3, 32.0)] {
        assert_eq!(at_time(samples, begun + 0.08 * rounds as f64).cwnd, window);
    }
    // Ticks of 10 ms.
    assert_eq!(samples[first].srtt, secs(0.08));
    assert_eq!(samples[0].srtt, secs(0.0));
}

/// Recording changes nothing else, and the engines record the same: also at timeouts.
#[test]
fn engines_record_the_same_windows() {
    let d = Dumbbell { flows: 20, buffer: 20.0, end: 20.0, ..Default::default() };
    let [fast, reference] = [Engine::Fast, Engine::Reference].map(|engine| recorded(&d, engine));
    assert_eq!(fast.flows, reference.flows);
    assert_eq!(fast.digest, go(d.network()).digest);
    let all = || fast.flows.iter().flat_map(|f| &f.windows);
    assert!(fast.flows.iter().any(|f| f.segments[0].timeouts > 0) && all().any(|s| s.cwnd == 1.0));
    assert!(all().all(|s| s.ssthresh >= 2.0));
}

/// Only the flows that are named have windows, and those are what all flows' recording has of them.
#[test]
fn windows_are_those_of_the_flows_that_are_named() {
    let d = Dumbbell { flows: 6, end: 5.0, warmup: 1.0, ..Default::default() };
    let some = |engine| {
        let control =
            Control { windows: Some(secs(0.02)), windows_of: Some(vec![1, 4]), ..Default::default() };
        run(d.network(), engine, &control).unwrap()
    };
    let [fast, reference] = [Engine::Fast, Engine::Reference].map(some);
    assert_eq!(fast.flows, reference.flows);
    let all = recorded(&d, Engine::Fast);
    assert_eq!(fast.digest, all.digest);
    for (i, (found, whole)) in fast.flows.iter().zip(&all.flows).enumerate() {
        let want = if i == 1 || i == 4 { &whole.windows[..] } else { &[] };
        assert_eq!(found.windows, want);
    }
}

/// A watcher that notes what it is told, and stops a run at a time.
#[derive(Debug)]
struct Notes {
    stop: Time,
    samples: Mutex<Vec<(f64, f64)>>,
    reached: Mutex<Vec<Time>>,
}

impl Watcher for Notes {
    fn reached(&self, now: Time) -> bool {
        self.reached.lock().unwrap().push(now);
        now < self.stop
    }

    fn sampled(&self, _: LinkId, series: &Series) {
        let last = |values: &[f64]| *values.last().unwrap();
        self.samples.lock().unwrap().push((last(&series.time_s), last(&series.queue_mean_packets)));
    }
}

/// A watcher hears each sample once, when it is due, and what it watches is the same run; it ends what it wants to end.
#[test]
fn a_watcher_hears_each_sample_and_can_stop_the_run() {
    let d = Dumbbell { flows: 20, end: 20.0, ..Default::default() };
    for engine in [Engine::Fast, Engine::Reference] {
        let watch = |stop: f64| {
            let stop = Time::ZERO + secs(stop);
            let notes = Arc::new(Notes { stop, samples: Mutex::default(), reached: Mutex::default() });
            let mut network = d.network();
            network.measure.step = Some(secs(0.1));
            let control = Control { watcher: Some(notes.clone()), ..Default::default() };
            (run(network, engine, &control), notes)
        };
        let (outcome, notes) = watch(100.0);
        let outcome = outcome.unwrap();
        assert_eq!(outcome.digest, go(d.network()).digest);
        let series = &outcome.links[0].series;
        let all: Vec<(f64, f64)> =
            series.time_s.iter().copied().zip(series.queue_mean_packets.iter().copied()).collect();
        assert_eq!(*notes.samples.lock().unwrap(), all);
        let reached = notes.reached.lock().unwrap();
        assert!(reached.len() > 2 && reached.is_sorted(), "{}", reached.len());
        let (stopped, notes) = watch(5.0);
        assert_eq!(stopped, Err(Error::Interrupted));
        assert!(notes.samples.lock().unwrap().len() < all.len());
    }
}
