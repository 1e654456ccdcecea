//! `quell scale`.

use crate::common::Bench;

#[test]
fn once_the_size_agrees_in_everything_and_changes_nothing() {
    let bench = Bench::new();
    let out = bench.ok(&["scale", "small.toml", "--by", "1", "--format", "json", "-q"]);
    let json: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(json["scaled"], serde_json::json!([]), "{out}");
    let metrics = json["metrics"].as_array().unwrap();
    assert!(metrics.len() > 10, "{out}");
    assert!(metrics.iter().all(|m| m["mean"] == m["scaled_mean"]), "{out}");
}

#[test]
fn twice_the_size_is_printed_as_a_scenario_and_says_what_was_scaled() {
    let bench = Bench::new();
    let text = bench.ok(&["scale", "small.toml", "--by", "2", "--print"]);
    std::fs::write(bench.path("twice.toml"), text).unwrap();
    assert!(bench.ok(&["scenario", "check", "twice.toml"]).contains("twice.toml: ok"));
    let out = bench.ok(&["scale", "small.toml", "--by", "2", "-q", "--metric", "goodput_bps,internal:p"]);
    assert!(out.contains("dumbbell.rate") && out.contains("each flow has its share as before"), "{out}");
    assert!(out.contains("goodput_bps / N") && !out.contains("internal:p"), "{out}");
    let ran = bench.run(&["scale", "small.toml", "--by", "0"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("must be a number above 0"), "{}", ran.err);
    let ran = bench.run(&["scale", "small.toml", "--by", "1.3"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("is not a whole number of them"), "{}", ran.err);
    let ran = bench.run(&["scale", "small.toml", "--by", "2", "-q", "--metric", "rpm"]);
    assert!(ran.code == 2 && ran.err.contains("so there is nothing to compare"), "{}{}", ran.code, ran.err);
    let asked = "flow_completion_time_mean_s";
    let ran = bench.run(&["scale", "small.toml", "--by", "2", "-q", "--metric", asked]);
    assert!(ran.code == 2 && ran.err.contains("nothing is compared: metric"), "{}{}", ran.code, ran.err);
}
