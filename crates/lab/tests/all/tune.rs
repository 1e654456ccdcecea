//! Searches for the best values of fields, and for the traffic under which an algorithm loses: in scenarios whose
//! answer arithmetic gives, and against every point of a grid.

use quell_lab::{
    Adversary, Axis, Goal, Kind, Loss, Metric, Options, Quantity, SearchError, Series, Tune, Tuned, Verdict,
    View, run,
};
use quell_scenario::{Document, Plugins};

/// Twice as many bits as the link carries: the buffer is always full.
const FULL: &str = r#"
schema = 1
duration = "12 s"
warmup = "6 s"
seeds = 1
dumbbell = { rate = "2 Mbit/s", delay = "10 ms", buffer = "50 packets" }
flows = [{ name = "voice", kind = "udp", rate = "4 Mbit/s", packet = "500 B" }]
aqm = [{ algorithm = "drop-tail" }]
"#;

const RED: &str = r#"
schema = 1
duration = "8 s"
warmup = "2 s"
seeds = 1
dumbbell = { rate = "2 Mbit/s", delay = "10 ms", buffer = "40 packets" }
flows = [{ name = "ftp", count = 4, rtt = { uniform = ["40 ms", "80 ms"] }, start = { between = ["0 s", "1 s"] } }]
aqm = [{ algorithm = "red" }, { algorithm = "codel" }]
"#;

fn tune(vary: &[&str], goals: &[&str]) -> Tune {
    Tune {
        over: vary.iter().map(|axis| axis.parse::<Axis>().unwrap()).collect(),
        goals: goals.iter().map(|goal| goal.parse::<Goal>().unwrap()).collect(),
        algorithm: None,
        link: None,
        scope: "all".to_string(),
        trials: 20,
        seeds: 2,
        fresh: 4,
        seed: 1,
    }
}

fn search(of: &Tune, scenario: &str) -> Result<Tuned, SearchError> {
    of.search(&Document::parse(scenario, "test").unwrap(), &Options::default())
}

fn why(of: &Tune, scenario: &str) -> String {
    search(of, scenario).unwrap_err().to_string()
}

#[test]
fn the_delay_of_a_full_buffer_is_its_size_over_the_rate() {
    let found =
        search(&tune(&["dumbbell.buffer=10..100 packets:step:1"], &["queue_delay_mean_s"]), FULL).unwrap();
    let best = &found.trials[found.front[0]];
    assert_eq!(best.at, [10.0]);
    for trial in &found.trials {
        // What waits behind the packet in transmission: at each arrival that is let in, all but one packet.
        let expected = trial.at[0] * 500.0 * 8.0 / 2e6;
        let delay = trial.values.as_ref().unwrap()[0];
        assert!((delay - expected).abs() < 0.0025, "{} packets: {delay} s, not {expected} s", trial.at[0]);
    }
    // The scenario's own 50 packets, both ends, of which one is the best.
    let checks: Vec<(Kind, &str)> =
        found.checks.iter().map(|c| (c.kind, c.settings[0].value.as_str())).collect();
    assert_eq!(checks, [(Kind::Own, "50 packets"), (Kind::End, "100 packets"), (Kind::Best, "10 packets")]);
    let difference = found.checks[2].differences[0].unwrap();
    assert!((difference.mean + 40.0 * 500.0 * 8.0 / 2e6).abs() < 0.005, "{difference:?}");
    assert!(found.trials.iter().all(|trial| trial.at[0].fract() == 0.0), "half a packet was tried");
    assert_eq!((&found.fresh_seeds[..], &found.seeds[..]), (&[3, 4, 5, 6][..], &[1, 2][..]));
}

#[test]
fn the_front_of_few_values_is_that_of_the_whole_grid() {
    let of = Tune {
        trials: 40,
        ..tune(&["dumbbell.buffer=4..20 packets:step:1"], &["queue_delay_p99_s", "utilization"])
    };
    let of = Tune { algorithm: Some("codel".to_string()), ..of };
    let found = search(&of, RED).unwrap();
    assert_eq!(found.trials.len(), 17, "each value once");
    // By brute force, with the same seeds.
    let mut document = Document::parse(RED, "test").unwrap();
    let values = (4..=20).map(|n| format!("{n} packets")).map(toml::Value::String).collect();
    document.sweep("dumbbell.buffer", &toml::Value::Array(values)).unwrap();
    document.set("seeds", &toml::Value::Integer(2)).unwrap();
    let study = document.study(&Plugins::new()).unwrap();
    let results = run(&study, &Options { series: Series::None, ..Options::default() }).unwrap();
    let mean = |point, metric| results.estimate(&View::of_point(point), "codel", metric).unwrap().mean;
    let all: Vec<(f64, f64)> =
        (0..17).map(|p| (mean(p, Metric::DelayP99), mean(p, Metric::Utilization))).collect();
    let is_beaten = |a: &(f64, f64)| all.iter().any(|b| b != a && b.0 <= a.0 && b.1 >= a.1);
    let mut front: Vec<(f64, f64)> = all.iter().filter(|a| !is_beaten(a)).copied().collect();
    front.sort_by(|a, b| a.0.total_cmp(&b.0));
    front.dedup();
    let values = |i: &usize| found.trials[*i].values.clone().unwrap();
    let searched: Vec<(f64, f64)> = found.front.iter().map(values).map(|v| (v[0], v[1])).collect();
    assert_eq!(searched, front);
    assert!(front.len() > 2, "{front:?}");
}

#[test]
fn few_trials_find_nearly_the_best_of_a_fine_grid() {
    // On a grid of 40, a search of 15 trials comes within 2% of the range of the metric.
    let of = Tune { trials: 15, ..tune(&["aqm.red.max_p=0.005..1:log"], &["queue_delay_mean_s"]) };
    let found = search(&of, RED).unwrap();
    let mut document = Document::parse(RED, "test").unwrap();
    document.sweep_text("aqm.red.max_p=0.005..1:log:40").unwrap();
    document.set("seeds", &toml::Value::Integer(2)).unwrap();
    let study = document.study(&Plugins::new()).unwrap();
    let results = run(&study, &Options { series: Series::None, ..Options::default() }).unwrap();
    let mean = |p| results.estimate(&View::of_point(p), "red", Metric::DelayMean).unwrap().mean;
    let grid: Vec<f64> = (0..40).map(mean).collect();
    let (least, most) =
        (grid.iter().copied().fold(f64::MAX, f64::min), grid.iter().copied().fold(0.0, f64::max));
    let best = found.trials[found.front[0]].values.as_ref().unwrap()[0];
    assert!(best - least < 0.02 * (most - least), "{best} of {least}..{most}");
    assert_eq!(found.trials.len(), 15);
}

#[test]
fn refused_settings_are_counted_and_never_win() {
    let of = Tune {
        trials: 30,
        ..tune(&["aqm.red.min_th=5..30 packets", "aqm.red.max_th=5..30 packets"], &["goodput_bps"])
    };
    let found = search(&of, RED).unwrap();
    let below = |at: &[f64]| at[1] < at[0];
    assert_eq!(found.refused(), found.trials.iter().filter(|t| below(&t.at)).count());
    assert!(found.refused() > 3);
    assert!(!below(&found.trials[found.front[0]].at));
    let refused = found.trials.iter().find_map(|t| t.refused.as_ref()).unwrap();
    assert!(refused.contains("must not be below min_th"), "{refused}");
}

#[test]
fn the_ends_and_the_own_value_are_tried_and_only_whole_packets_and_bytes() {
    let of = |axis: &str| Tune { trials: 12, ..tune(&[axis], &["queue_delay_mean_s"]) };
    for (axis, own, ends) in [
        ("dumbbell.buffer=10..100 packets", Some(50.0), [10.0, 100.0]),
        ("dumbbell.buffer=60..100 packets", None, [60.0, 100.0]),
    ] {
        let found = search(&of(axis), FULL).unwrap();
        let at: Vec<f64> = found.trials.iter().map(|trial| trial.at[0]).collect();
        let first: Vec<f64> = own.into_iter().chain(ends).collect();
        assert!(at.starts_with(&first), "{axis}: {at:?}");
        assert!(at.iter().all(|x| x.fract() == 0.0), "{axis}: {at:?}");
        assert_eq!(found.trials[found.front[0]].at, [ends[0]], "the shortest buffer has the shortest delay");
    }
    // The scenario says ms, the axis us; a range in kB has whole bytes.
    let delay = search(&of("dumbbell.delay=1000..90000 us"), FULL).unwrap();
    assert_eq!(delay.trials[0].at, [10_000.0]);
    let red =
        Tune { trials: 12, ..tune(&["aqm.red.min_th=2..9 kB", "aqm.red.max_th=9..20 kB"], &["utilization"]) };
    let bytes = search(&red, RED).unwrap();
    let is_whole = |x: &f64| (x * 1000.0 - (x * 1000.0).round()).abs() < 1e-9;
    assert!(bytes.trials.iter().all(|trial| trial.at.iter().all(is_whole)), "{:?}", bytes.trials);
    // Half packets are tried where someone names one.
    let halves =
        search(&Tune { trials: 12, ..tune(&["aqm.red.min_th=0.5..9 packets"], &["utilization"]) }, RED);
    assert!(halves.unwrap().trials.iter().any(|trial| trial.at[0].fract() != 0.0));
}

#[test]
fn what_cannot_matter_is_not_called_better() {
    // The buffer of the way back is never used.
    let of = Tune { fresh: 6, ..tune(&["dumbbell.reverse.buffer=20..90 packets"], &["goodput_bps"]) };
    let found = search(&Tune { algorithm: Some("red".to_string()), trials: 6, ..of }, RED).unwrap();
    assert_eq!(found.verdict, Some(Verdict::Undecided));
    let of = tune(&["dumbbell.buffer=50..90 packets"], &["queue_delay_mean_s"]);
    let found = search(&Tune { trials: 4, ..of.clone() }, FULL).unwrap();
    assert_eq!((found.trials[found.front[0]].at[0], found.verdict), (50.0, Some(Verdict::Same)));
    let found = search(&Tune { trials: 1, seeds: 1, fresh: 1, ..of }, FULL).unwrap();
    assert_eq!(found.trials.len(), 1);
}

#[test]
fn the_figures_are_those_of_the_scenarios_that_are_kept() {
    let of = Tune { trials: 6, ..tune(&["aqm.red.max_p=0.01..1:log"], &["queue_delay_p99_s"]) };
    let found = search(&of, RED).unwrap();
    for check in &found.checks {
        let study = Document::parse(&check.scenario, "kept").unwrap().study(&Plugins::new()).unwrap();
        let results = run(&study, &Options::default()).unwrap();
        assert_eq!(results.algorithms(0), ["red"]);
        let estimate = results.estimate(&View::default(), "red", Metric::DelayP99);
        assert_eq!(estimate, check.values[0], "{:?}", check.settings);
    }
    assert_eq!(search(&of, RED).unwrap().trials, found.trials, "the seed decides");
    assert_ne!(search(&Tune { seed: 2, ..of }, RED).unwrap().trials, found.trials);
}

#[test]
fn what_cannot_be_asked_is_refused_with_the_reason() {
    let p = &["aqm.red.max_p=0.01..0.5:log"][..];
    for (of, expected) in [
        (tune(&[], &["goodput_bps"]), "no field varies"),
        (tune(p, &["goodput", "goodput_bps"]), "goodput_bps is named twice"),
        (tune(p, &[]), "0 metrics"),
        (Tune { trials: 0, ..tune(p, &["goodput"]) }, "trials = 0: must be at least 1"),
        (Tune { link: Some("wan".into()), ..tune(p, &["goodput"]) }, "link \"wan\": there are bottleneck"),
        (tune(&[p[0], "aqm.red.max_p=0.1..0.2"], &["goodput"]), "varies twice"),
        (tune(&["aqm.rad.max_p=0.1..0.2"], &["goodput"]), "did you mean \"red\"?"),
        (tune(&["aqm.red.max_pp=0.1..0.2"], &["goodput"]), "did you mean \"max_p\"?"),
        (tune(&["flows.ftp.count=1..9"], &["goodput"]), "which algorithm is meant?"),
        (tune(&["aqm.red.max_p=2..3"], &["goodput"]), "refuses all 20 trials, such as aqm[0].max_p = "),
        (tune(p, &["page_time_mean_s"]), "page_time_mean_s has no value for each seed in any of 20 trials"),
        (tune(p, &["goodput_bps[web]"]), "unknown class"),
        (
            Tune { scope: "web".into(), ..tune(p, &["goodput"]) },
            "for \"web\": the traffic there is all, data, ftp",
        ),
        (tune(p, &["internal:pp:min"]), "unknown internal signal; known: avg, p"),
    ] {
        let why = why(&of, RED);
        assert!(why.contains(expected), "{why}");
    }
    let goal = |text: &str| text.parse::<Goal>();
    assert!(goal("mark_rate").unwrap_err().contains("write mark_rate:min or mark_rate:max"));
    assert_eq!(goal("internal:p:max").unwrap().metric, Quantity::internal("p"));
    assert_eq!(goal("P99 delay").unwrap().to_string(), "queue_delay_p99_s:min");
    assert!(!goal("utilization").unwrap().less && goal("utilization:min").unwrap().less);
}

/// A policer that passes half of the link's rate, beside a queue that passes all.
const POLICED: &str = r#"
schema = 1
duration = "12 s"
warmup = "4 s"
seeds = 1
dumbbell = { rate = "2 Mbit/s", delay = "10 ms", buffer = "50 packets" }
flows = [{ name = "voice", kind = "udp", rate = "1 Mbit/s", packet = "500 B" }]
aqm = [{ algorithm = "policer", rate = "1 Mbit/s", burst = "5 kB" }, { algorithm = "drop-tail" }]
"#;

fn adversary(a: &str, b: &str, vary: &str) -> Adversary {
    Adversary {
        a: a.to_string(),
        b: b.to_string(),
        goal: "goodput_bps".parse().unwrap(),
        over: vec![vary.parse().unwrap()],
        link: None,
        scope: "all".to_string(),
        trials: 12,
        seeds: 2,
        fresh: 4,
        seed: 1,
    }
}

#[test]
fn the_worst_case_of_a_policer_is_the_highest_rate_and_its_loss_is_that_of_arithmetic() {
    let of = adversary("policer", "drop-tail", "flows.voice.rate=0.2..1.8 Mbit/s");
    let scenario = Document::parse(POLICED, "test").unwrap();
    let found = of.search(&scenario, &Options::default()).unwrap();
    let [worst, swapped] = found.cases.as_slice() else { panic!("{found:?}") };
    // It passes 1 of 1.8 Mbit/s.
    assert_eq!((worst.settings[0].value.as_str(), worst.verdict), ("1.8 Mbit/s", Some(Loss::Loses)));
    let loss = worst.loss.unwrap().mean;
    assert!((loss - 0.8 / 1.8).abs() < 0.01, "{loss}");
    // Nothing makes the queue lose, and that is said.
    assert_eq!((swapped.loser.as_str(), swapped.verdict), ("drop-tail", Some(Loss::DoesNot)));
    assert!(swapped.searched_loss <= 0.0 && swapped.loss.unwrap().mean.abs() < 0.01, "{swapped:?}");
    assert_eq!(found.fresh_seeds, [3, 4, 5, 6]);

    // The other way around they are the same cases.
    let other = adversary("drop-tail", "policer", "flows.voice.rate=0.2..1.8 Mbit/s");
    let other = other.search(&scenario, &Options::default()).unwrap();
    assert_eq!((&other.cases[1].settings, other.cases[1].loss), (&worst.settings, worst.loss));

    // What is kept gives the figures.
    let study = Document::parse(&worst.scenario, "kept").unwrap().study(&Plugins::new()).unwrap();
    let results = run(&study, &Options::default()).unwrap();
    for (label, value) in [("policer", worst.loser_value), ("drop-tail", worst.winner_value)] {
        assert_eq!(results.estimate(&View::default(), label, Metric::Goodput), value);
    }
}

#[test]
fn an_adversary_needs_two_algorithms_and_bounds_in_which_something_runs() {
    let scenario = Document::parse(POLICED, "test").unwrap();
    let why = |of: Adversary| of.search(&scenario, &Options::default()).unwrap_err().to_string();
    let rate = "flows.voice.rate=0.2..1.8 Mbit/s";
    assert!(why(adversary("red", "drop-tail", rate)).contains("the scenario has policer, drop-tail"));
    assert!(why(adversary("policer", "policer", rate)).contains("name two algorithms"));
    assert!(
        why(adversary("policer", "drop-tail", "flows.vioce.rate=1..2 Mbit/s")).contains("mean \"voice\"")
    );
    let slow = adversary("policer", "drop-tail", "dumbbell.rate=0.2..0.8 Mbit/s");
    assert!(why(slow).contains("refuses all"));
}
