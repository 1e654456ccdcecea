//! Runs that decide themselves how many seeds they need: who gets more, in what order, and what is recorded.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use quell_lab::{
    Aim, Auto, Estimate, Looks, Metric, Options, Progress, Quantity, Reason, Results, Stop, View, Width,
    read_results, run, run_auto, write_results,
};
use quell_scenario::{Plugins, Study};

const SCENARIO: &str = r#"
schema = 1
duration = "6 s"
warmup = "2 s"
seeds = [7, 9]
[dumbbell]
rate = "2 Mbit/s"
delay = "5 ms"
buffer = "40 packets"
[[aqm]]
algorithm = "drop-tail"
[[aqm]]
algorithm = "red"
[[aqm]]
algorithm = "pi"
q_ref = "15 packets"
[[flows]]
name = "ftp"
count = 4
rtt = { uniform = ["30 ms", "80 ms"] }
"#;

fn study(text: &str) -> Study {
    Study::parse(text, "x.toml", &Plugins::new()).unwrap_or_else(|e| panic!("{e}"))
}

fn auto<M: Into<Quantity> + Clone>(
    aims: &[(M, Option<Width>)],
    baseline: Option<&str>,
    max_seeds: usize,
) -> Auto {
    Auto {
        aims: aims
            .iter()
            .map(|(metric, width)| Aim { metric: metric.clone().into(), width: *width })
            .collect(),
        baseline: baseline.map(str::to_string),
        link: None,
        scope: "all".to_string(),
        max_seeds,
    }
}

fn stops(results: &Results) -> &[Stop] {
    &results.run.sequential[0].stops
}

/// The seeds of an algorithm's finished replications.
fn seeds(results: &Results, point: usize, algorithm: &str) -> Vec<u64> {
    let of = results.replications.iter().filter(|r| r.point == point && r.algorithm == algorithm);
    of.map(|r| r.seed).collect()
}

/// Whatever a run says of itself, one that decides about its seeds says too.
#[test]
fn what_is_left_out_of_a_sweep_is_said() {
    let text = format!("{SCENARIO}\n[sweep]\n\"flows.ftp.count\" = [0, 2]\n");
    let text = text.replace("[dumbbell]", "[dumbbell]\nloss = 0.01");
    let study = study(&text);
    let width = Some(Width::Relative(0.5));
    let options = Options::default();
    let found = run_auto(&study, &auto(&[(Metric::QueueMean, width)], None, 4), &options).unwrap().run;
    let plain = run(&study, &options).unwrap().run;
    assert_eq!(found.holes.len(), 1);
    assert_eq!((&found.holes, &found.notes, &found.engine), (&plain.holes, &plain.notes, &plain.engine));
    assert!(found.notes.iter().any(|note| note.starts_with("loss = 0.01")), "{:?}", found.notes);
    let algorithms: Vec<&String> = found.engine.keys().collect();
    assert_eq!(algorithms, ["drop-tail", "pi", "red"]);
    assert_eq!((&*found.commit, &*plain.commit), ("unknown", "unknown"), "a program says it");
}

#[test]
fn each_algorithm_gets_the_seeds_that_its_width_needs() {
    let results = run_auto(
        &study(SCENARIO),
        &auto(&[(Metric::QueueMean, Some(Width::Relative(0.04)))], None, 60),
        &Options::default(),
    )
    .unwrap();
    let given: Vec<usize> = stops(&results).iter().map(|s| s.seeds).collect();
    assert!(
        given.iter().any(|n| *n != given[0]),
        "the test needs a scenario in which they differ: {given:?}"
    );
    for stop in stops(&results) {
        let seeds = seeds(&results, 0, &stop.algorithm);
        assert_eq!(seeds, (1..=stop.seeds as u64).collect::<Vec<_>>(), "{stop:?}");
        let estimate = results.estimate(&View::default(), &stop.algorithm, Metric::QueueMean).unwrap();
        let is_narrow = estimate.half_width.unwrap() <= 0.04 * estimate.mean;
        assert_eq!(stop.reason == Reason::Reached, is_narrow, "{stop:?} {estimate:?}");
        assert_eq!(stop.open.is_empty(), is_narrow);
    }
    assert_eq!(results.asked(), results.replications.len());
    assert_eq!(results.run.points[0].seeds.len(), *given.iter().max().unwrap());
    assert!(!results.run.partial);
}

#[test]
fn what_it_ran_is_what_a_run_with_those_seeds_gives() {
    let aims = [(Metric::QueueMean, Some(Width::Relative(0.04)))];
    let decided = run_auto(&study(SCENARIO), &auto(&aims, None, 20), &Options::default()).unwrap();
    let most = decided.run.points[0].seeds.len();
    // The resolved scenario repeats it.
    let whole = run(&study(&decided.run.points[0].scenario), &Options::default()).unwrap();
    assert_eq!(whole.run.points[0].seeds.len(), most);
    for r in &decided.replications {
        let same = whole.replications.iter().find(|w| w.algorithm == r.algorithm && w.seed == r.seed);
        assert_eq!(same.map(|w| w.digest), Some(r.digest), "{} {}", r.algorithm, r.seed);
    }
}

#[test]
fn differences_stop_where_they_are_decided_and_the_baseline_has_all_their_seeds() {
    // RED keeps another queue than drop-tail; the goodputs hardly differ.
    let asked = auto(&[(Metric::QueueMean, None)], Some("drop-tail"), 50);
    let results = run_auto(&study(SCENARIO), &asked, &Options::default()).unwrap();
    let looks = Looks::new(50, 0.05);
    for stop in stops(&results).iter().filter(|s| s.reason != Reason::Baseline) {
        let difference =
            results.difference(&View::default(), "drop-tail", &stop.algorithm, Metric::QueueMean).unwrap();
        assert_eq!(difference.n, stop.seeds);
        assert_eq!(stop.reason == Reason::Reached, difference.excludes_zero());
        assert!(looks.iter().any(|l| l.samples == stop.seeds));
        // It is wider than the usual one: several looks share the error.
        let usual: Vec<f64> = {
            let of = |a| results.samples(&View::default(), a, Metric::QueueMean);
            let base: std::collections::HashMap<u64, f64> = of("drop-tail").into_iter().collect();
            of(&stop.algorithm).iter().map(|(seed, x)| x - base[seed]).collect()
        };
        assert!(difference.half_width > Estimate::of(&usual).unwrap().half_width);
    }
    let most = stops(&results).iter().map(|s| s.seeds).max().unwrap();
    assert_eq!(seeds(&results, 0, "drop-tail").len(), most);
    assert_eq!(stops(&results)[0].reason, Reason::Baseline);
}

#[test]
fn a_difference_that_does_not_matter_stops_too() {
    let aims = |width| auto(&[(Metric::Utilization, width)], Some("drop-tail"), 28);
    let run = |width| run_auto(&study(SCENARIO), &aims(width), &Options::default()).unwrap();
    let all = run(Some(Width::Relative(0.5)));
    assert!(stops(&all).iter().all(|s| s.seeds == 7 && s.open.is_empty()), "{:?}", stops(&all));
}

#[test]
fn points_of_a_sweep_are_decided_by_themselves_and_written() {
    let text =
        SCENARIO.replace("seeds = [7, 9]\n", "seeds = [7, 9]\nsweep = { \"flows.ftp.count\" = [1, 8] }\n");
    let asked = auto(&[(Metric::QueueMean, Some(Width::Relative(0.05)))], None, 30);
    let results = run_auto(&study(&text), &asked, &Options::default()).unwrap();
    assert_eq!(stops(&results).len(), 6);
    for stop in stops(&results) {
        assert_eq!(seeds(&results, stop.point, &stop.algorithm).len(), stop.seeds);
    }
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("r");
    write_results(&results, &folder, false).unwrap();
    let read = read_results(&folder).unwrap();
    assert_eq!(read.run.sequential, results.run.sequential);
    assert_eq!(read.asked(), results.replications.len());
    let view = View::of_point(1);
    for algorithm in results.algorithms(1) {
        assert_eq!(
            read.estimate(&view, algorithm, Metric::QueueMean),
            results.estimate(&view, algorithm, Metric::QueueMean)
        );
    }
}

#[test]
fn what_leaves_nothing_to_chance_gets_no_more_seeds() {
    let text = SCENARIO
        .replace("{ uniform = [\"30 ms\", \"80 ms\"] }", "\"50 ms\"\nstart = \"0 s\"")
        .replace("[[aqm]]\nalgorithm = \"red\"\n[[aqm]]\nalgorithm = \"pi\"\nq_ref = \"15 packets\"\n", "");
    let asked = auto(&[(Metric::QueueMean, Some(Width::Relative(1e-9)))], None, 40);
    let results = run_auto(&study(&text), &asked, &Options::default()).unwrap();
    assert!(results.is_fixed(0, "drop-tail"), "the test needs a scenario without chance");
    assert_eq!((stops(&results)[0].seeds, stops(&results)[0].reason), (10, Reason::Fixed));
    assert!(stops(&results)[0].open.is_empty());
}

#[test]
fn stopped_from_outside_it_keeps_what_is_finished() {
    let asked = auto(&[(Metric::QueueMean, Some(Width::Relative(1e-6)))], None, 200);
    let stop = AtomicBool::new(false);
    let seen = Mutex::new(Vec::new());
    let progress = |p: &Progress| {
        seen.lock().unwrap().push(*p);
        if p.finished >= 36 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let options = Options { stop: Some(&stop), progress: Some(&progress), ..Options::default() };
    let results = run_auto(&study(SCENARIO), &asked, &options).unwrap();
    assert!(results.run.partial);
    assert!(results.replications.len() >= 36 && results.replications.len() < results.asked());
    assert!(stops(&results).iter().all(|s| s.reason == Reason::Interrupted), "{:?}", stops(&results));
    let seen = seen.into_inner().unwrap();
    assert!(seen.windows(2).all(|w| w[0].finished <= w[1].finished && w[0].total <= w[1].total));
    assert!(seen.iter().all(|p| (0.0..=1.0).contains(&p.done)));
}

#[test]
fn what_cannot_be_asked_is_refused() {
    let study = study(SCENARIO);
    let refuse = |auto: Auto| auto.check(&study).unwrap_err();
    let mean = (Metric::QueueMean, Some(Width::Relative(0.1)));
    assert!(refuse(auto(&[mean], None, 1)).contains("at least 2"));
    assert!(refuse(auto::<Metric>(&[], None, 9)).contains("name a metric"));
    let of_class = ["goodput_bps[web]/goodput_bps".parse::<Quantity>().unwrap()];
    let why = refuse(auto(&of_class.map(|q| (q, None)), Some("pi"), 9));
    assert_eq!(why, "goodput_bps[web]/goodput_bps: \"web\": unknown class; known: all, data, ftp, acks");
    assert!(refuse(auto(&[(Metric::QueueMean, None)], None, 9)).contains("queue_packets: needs a width"));
    assert!(refuse(auto(&[mean], Some("blue"), 9)).contains("\"blue\""));
    assert!(refuse(Auto { link: Some("x".into()), ..auto(&[mean], None, 9) }).contains("\"x\""));
    assert_eq!(auto(&[mean], Some("pi"), 9).check(&study), Ok(()));
}

/// What is said to be decided is decided by the interval that is printed, however the looks fall.
#[test]
fn what_is_reached_is_what_is_printed() {
    let metrics = [Metric::QueueStd, Metric::QueueMean, Metric::DelayP99, Metric::Goodput, Metric::LossRate];
    for metric in metrics {
        let auto = auto(&[(metric, None)], Some("drop-tail"), 50);
        let results = run_auto(&study(SCENARIO), &auto, &Options::default()).unwrap();
        for stop in stops(&results).iter().filter(|s| s.reason == Reason::Reached) {
            let difference =
                results.difference(&View::default(), "drop-tail", &stop.algorithm, metric).unwrap();
            let same = difference.half_width == Some(0.0);
            assert!(difference.excludes_zero() || same, "{metric:?} {stop:?} {difference:?}");
        }
    }
}

#[test]
fn ratios_classes_and_internal_signals_decide_too() {
    let figure = |name: &str| name.parse::<Quantity>().unwrap();
    let (ratio, signal) = (figure("loss_rate[ftp]/queue_packets"), figure("internal:p"));
    let ask = |aims: &[(Quantity, Option<Width>)]| {
        run_auto(&study(SCENARIO), &auto(aims, None, 40), &Options::default())
    };
    let results =
        ask(&[(ratio.clone(), Some(Width::Relative(0.005))), (signal.clone(), Some(Width::Relative(0.01)))]);
    let results = results.unwrap();
    for stop in stops(&results) {
        assert!(results.estimate(&View::default(), &stop.algorithm, &ratio).is_some());
        for (figure, share) in [(&ratio, 0.005), (&signal, 0.01)] {
            // Drop-tail has no p: there is nothing to know.
            let Some(estimate) = results.estimate(&View::default(), &stop.algorithm, figure) else {
                continue;
            };
            let is_narrow = estimate.half_width.unwrap() <= share * estimate.mean;
            assert_eq!(stop.open.contains(figure), !is_narrow, "{stop:?} {estimate:?}");
        }
    }
    assert!(
        stops(&results).iter().any(|stop| stop.seeds > 10),
        "the test needs one that is not easy: {:?}",
        stops(&results)
    );
    // Which signals there are is known only after something ran.
    let error = ask(&[(figure("internal:alpha"), Some(Width::Relative(0.1)))]).unwrap_err().to_string();
    assert!(error.starts_with("metric internal:alpha: \"alpha\": unknown internal signal"), "{error}");
}
