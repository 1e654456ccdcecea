//! The windows that a run records.

use crate::common::*;
use quell_sim::outcome::{Outcome, WindowSample};
use quell_sim::{Control, Engine, run};
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
