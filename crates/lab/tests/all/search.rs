//! Searches for a crossing: against functions of known crossing with noise, and in a scenario whose metric is
//! known.

use std::convert::Infallible;

use quell_lab::{
    Axis, Bisection, Crossing, Ended, Ending, Metric, Options, Search, SearchError, Side, Width,
};
use quell_scenario::Document;
use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use statrs::distribution::{Binomial, DiscreteCDF};

fn bisection(axis: &str, crosses: f64, tolerance: &str) -> Bisection {
    Bisection {
        axis: axis.parse().unwrap(),
        whole: false,
        crosses,
        tolerance: tolerance.parse().unwrap(),
        max_seeds: 50,
    }
}

/// Searches where `metric` is the mean of normal samples with this deviation.
fn search(of: &Bisection, deviation: f64, seed: u64, metric: impl Fn(f64) -> f64) -> Crossing {
    let mut rng = Pcg64Mcg::seed_from_u64(seed);
    let mut uniform = move || ((rng.next_u64() >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    let mut normal = move || (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
    let sample = |at: f64, from: usize, to: usize| {
        let samples = (from..to).map(|_| metric(at) + deviation * normal()).collect();
        Ok::<_, Ended<Infallible>>((samples, deviation == 0.0))
    };
    of.search(sample).unwrap()
}

#[test]
fn without_noise_the_crossing_is_found_within_the_tolerance() {
    for (axis, tolerance) in
        [("x=0..1", "0.01"), ("x=0..10", "5%"), ("x=1e-3..10:log", "5%"), ("x=-5..5", "0.1")]
    {
        for crossing in [0.02, 0.5, 0.97] {
            let found = search(&bisection(axis, 0.0, tolerance), 0.0, 1, |x| x - crossing);
            let (low, high) = found.interval.unwrap();
            assert_eq!((found.ending, found.rises), (Ending::Found, Some(true)), "{axis} {crossing}");
            assert!(low <= crossing && crossing <= high, "{axis}: {low}..{high}");
            let width = match tolerance.parse().unwrap() {
                Width::Absolute(width) => width,
                // Or a thousandth of the axis.
                Width::Relative(share) => (share * high).max(0.01),
            };
            assert!(high - low <= width, "{axis} {crossing}: {low}..{high}");
        }
    }
}

#[test]
fn a_falling_metric_crosses_too_and_whole_numbers_stay_whole() {
    let of = Bisection { whole: true, ..bisection("n=10..500", 3.0, "1") };
    let found = search(&of, 0.0, 1, |n| 600.0 / n);
    assert_eq!(found.rises, Some(false));
    // 600 / 200 is exactly 3: undecided there, and decided at both sides.
    assert_eq!((found.ending, found.interval), (Ending::Undecided, Some((199.0, 201.0))), "{found:?}");
    assert!(found.probes.iter().all(|p| p.at.fract() == 0.0));
    let found = search(&of, 0.0, 1, |n| 601.5 / n);
    assert_eq!((found.ending, found.interval), (Ending::Found, Some((200.0, 201.0))));
}

#[test]
fn under_noise_the_interval_holds_the_crossing_as_often_as_stated() {
    let trials = 1000;
    // From noise that hardly matters to noise in which most probes stay undecided.
    for deviation in [0.02, 0.2, 2.0] {
        let (mut missed, mut found, mut undecided) = (0_u64, 0, 0);
        for seed in 0..trials {
            // The crossing is anywhere: a lucky grid proves nothing.
            let crossing = 0.2 + 0.6 * (seed as f64 / trials as f64);
            let result = search(&bisection("x=0..1", 0.0, "5%"), deviation, seed, |x| 4.0 * (x - crossing));
            match (result.ending, result.interval) {
                (ending, Some((low, high))) => {
                    missed += u64::from(crossing < low || crossing > high);
                    found += u64::from(ending == Ending::Found);
                    undecided += u64::from(ending == Ending::Undecided);
                }
                (ending, None) => assert!(
                    matches!(ending, Ending::EndUndecided) && deviation > 1.0,
                    "{ending:?} at {crossing}"
                ),
            }
        }
        let tail = if missed == 0 { 1.0 } else { Binomial::new(0.05, trials).unwrap().sf(missed - 1) };
        assert!(tail > 1e-4, "noise {deviation}: {missed} of {trials} missed");
        assert!(
            if deviation < 0.1 { found > 950 } else { undecided > 0 },
            "{deviation}: {found} {undecided}"
        );
    }
}

#[test]
fn an_undecided_probe_is_closed_in_from_both_sides() {
    // The first probe is the crossing itself: no number of seeds decides it.
    let found = search(&bisection("x=0..1", 0.0, "0.2"), 0.05, 3, |x| x - 0.5);
    let (low, high) = found.interval.unwrap();
    assert_eq!(found.probes[2].at, 0.5);
    assert_eq!(found.probes[2].side, None);
    assert!(low >= 0.4 && high <= 0.6 && low < 0.5 && high > 0.5, "{found:?}");
    assert_eq!(found.ending, Ending::Found);
}

#[test]
fn ends_on_one_side_or_undecided_are_said_to_be() {
    let same = search(&bisection("x=0..1", 7.0, "5%"), 0.1, 1, |x| x);
    assert_eq!((same.ending, same.interval, same.probes.len()), (Ending::SameSide, None, 2));
    assert!(same.probes.iter().all(|p| p.side == Some(Side::Below)));
    let unclear = search(&bisection("x=0..1", 0.0, "5%"), 0.1, 1, |x| x);
    assert_eq!((unclear.ending, unclear.interval), (Ending::EndUndecided, None));
    assert_eq!(unclear.probes[0].estimate.n, 50);
}

#[test]
fn stopped_it_keeps_the_interval_so_far() {
    let mut calls = 0;
    let sample = |at: f64, from: usize, to: usize| {
        calls += 1;
        if calls <= 4 { Ok((vec![at - 0.3; to - from], true)) } else { Err(Ended::<Infallible>::Stopped) }
    };
    let found = bisection("x=0..1", 0.0, "1%").search(sample).unwrap();
    assert_eq!((found.ending, found.probes.len()), (Ending::Interrupted, 4));
    assert!(found.interval.is_some_and(|(low, high)| low < 0.3 && high > 0.3 && high - low < 0.4));
}

/// Unresponsive flows at a link: its utilization is their rate over the link's.
const SCENARIO: &str = r#"
schema = 1
duration = "40 s"
warmup = "5 s"
[dumbbell]
rate = "2 Mbit/s"
delay = "5 ms"
buffer = "40 packets"
[[aqm]]
algorithm = "drop-tail"
[[aqm]]
algorithm = "red"
[[flows]]
name = "voice"
kind = "udp"
rate = "1 Mbit/s"
packet = "500 B"
"#;

fn question(over: &str, algorithm: Option<&str>) -> Search {
    Search {
        over: over.parse::<Axis>().unwrap(),
        metric: Metric::Utilization.into(),
        crosses: 0.5,
        algorithm: algorithm.map(str::to_string),
        link: None,
        scope: "all".to_string(),
        tolerance: Width::Relative(0.05),
        max_seeds: 30,
    }
}

#[test]
fn the_rate_that_half_fills_a_link_is_half_its_rate() {
    let document = Document::parse(SCENARIO, "x.toml").unwrap();
    let of = question("flows.voice.rate=0.2 Mbit/s..1.8 Mbit/s", Some("drop-tail"));
    let found = of.search(&document, &Options::default()).unwrap();
    let (low, high) = found.crossing.interval.unwrap();
    assert_eq!(
        (found.algorithm.as_str(), found.link.as_str(), found.whole),
        ("drop-tail", "bottleneck", false)
    );
    // Headers are part of the packets' size, so that nothing else is sent.
    assert!(low <= 1.0 && 1.0 <= high && high - low <= 0.06, "{low}..{high}: {:?}", found.crossing);
    assert_eq!(found.crossing.rises, Some(true));
}

#[test]
fn a_ratio_of_classes_is_searched_like_a_metric() {
    let text = format!(
        "{SCENARIO}[[flows]]\nname = \"video\"\nkind = \"udp\"\nrate = \"0.5 Mbit/s\"\npacket = \"500 B\"\n"
    );
    let document = Document::parse(&text, "x.toml").unwrap();
    let ratio = "throughput_bps[voice]/throughput_bps[video]".parse().unwrap();
    let rate = "flows.voice.rate=0.1 Mbit/s..1.4 Mbit/s";
    let of = Search { metric: ratio, crosses: 2.0, ..question(rate, Some("drop-tail")) };
    let found = of.search(&document, &Options::default()).unwrap();
    let (low, high) = found.crossing.interval.unwrap();
    assert!(low <= 1.0 && 1.0 <= high && high - low <= 0.06, "{low}..{high}: {:?}", found.crossing);
    assert_eq!(found.unit, "1");
}

#[test]
fn a_count_is_searched_in_whole_numbers() {
    let document = Document::parse(SCENARIO, "x.toml").unwrap();
    let of = Search { crosses: 0.9, ..question("flows.voice.count=1..4", Some("drop-tail")) };
    let found = of.search(&document, &Options::default()).unwrap();
    assert!(found.whole);
    assert_eq!(found.crossing.interval, Some((1.0, 2.0)), "{:?}", found.crossing);
}

#[test]
fn questions_that_do_not_fit_are_refused() {
    let document = Document::parse(SCENARIO, "x.toml").unwrap();
    let refuse = |of: Search| match of.search(&document, &Options::default()).unwrap_err() {
        SearchError::Question(why) => why,
        SearchError::Scenario(error) => error.to_string(),
        SearchError::Run(error) => panic!("{error}"),
    };
    let rate = "flows.voice.rate=0.2 Mbit/s..1.8 Mbit/s";
    assert!(refuse(question(rate, None)).contains("drop-tail, red"));
    assert!(refuse(question(rate, Some("pi"))).contains("\"pi\""));
    assert!(refuse(question("flows.web.count=1..2", None)).contains("\"web\""));
    assert!(refuse(question("aqm.red.max_p=0.1..1.5", None)).contains("max_p = 1.5"));
    let link = Some("x".to_string());
    assert!(refuse(Search { link, ..question(rate, Some("red")) }).contains("bottleneck"));
    let web = Search { scope: "web".to_string(), ..question(rate, Some("red")) };
    assert!(refuse(web).contains("voice"));
    let goodput = Search { metric: Metric::FctMean.into(), ..question(rate, Some("red")) };
    assert!(refuse(goodput).contains("flow_completion_time_mean_s"));
    let figure = |name: &str| Search { metric: name.parse().unwrap(), ..question(rate, Some("red")) };
    assert!(
        refuse(figure("loss[web]"))
            .contains("loss_rate[web]: \"web\": unknown class; known: all, data, voice")
    );
    assert!(refuse(figure("internal:alpha")).contains("unknown internal signal"));
}

/// What never happened in a few samples may happen in the next: equal samples decide nothing.
#[test]
fn samples_that_are_equal_by_chance_decide_nothing() {
    let mut all = |at: f64, from: usize, to: usize| {
        // Seldom above 0, and then far: no sample of the first fifty at any place but the upper end.
        let value = if at < 1.0 { 0.0 } else { 1.0 };
        Ok::<_, Ended<Infallible>>(((from..to).map(|i| value + (i % 2) as f64 * value).collect(), false))
    };
    let found = bisection("x=0..1", 0.5, "1%").search(&mut all).unwrap();
    assert_eq!(found.ending, Ending::EndUndecided);
    assert!(found.probes.iter().any(|p| p.side.is_none() && p.estimate.half_width == Some(0.0)));
}
