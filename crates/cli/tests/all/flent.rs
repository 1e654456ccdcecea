//! `quell import flent` and `quell export flent`, as a user sees them.

use std::io::{Read as _, Write as _};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use serde_json::{Value, json};

use crate::common::{Bench, SMALL, list};

const BOTH_WAYS: &str = r#"schema = 1
dialect = "linux"
duration = "12 s"
warmup = "2 s"
seeds = 2

[dumbbell]
rate = "8 Mbit/s"
delay = "10 ms"
buffer = "100 packets"

[dumbbell.reverse]
rate = "4 Mbit/s"
buffer = "100 packets"
aqm = "same"

[[aqm]]
algorithm = "codel"

[[aqm]]
algorithm = "drop-tail"

[[flows]]
name = "down"
count = 3

[[flows]]
name = "up"
count = 2
direction = "reverse"
"#;

fn pack(bench: &Bench, name: &str, json: &[u8]) {
    let file = std::fs::File::create(bench.path(name)).unwrap();
    let mut out = GzEncoder::new(file, Compression::fast());
    out.write_all(json).unwrap();
    out.finish().unwrap();
}

fn unpack(bench: &Bench, name: &str) -> Value {
    let mut text = String::new();
    GzDecoder::new(std::fs::File::open(bench.path(name)).unwrap()).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// A test of 20 s with two downloads of 3 and 1 Mbit/s from the fifth second on, and pings of 20 and 60 ms by turns.
fn measured() -> Value {
    let times: Vec<f64> = (0..150).map(|i| f64::from(i) * 0.2).collect();
    let tcp = |mbit: f64| -> Vec<Option<f64>> {
        times.iter().map(|t| (5.0..=25.0).contains(t).then_some(mbit)).collect()
    };
    let ping: Vec<f64> = (0..times.len()).map(|i| if i % 2 == 0 { 20.0 } else { 60.0 }).collect();
    let raw: Vec<Value> =
        times.iter().zip(&ping).map(|(t, ms)| json!({ "t": 1e9 + t, "val": ms, "seq": 1 })).collect();
    json!({
        "version": 4,
        "x_values": times,
        "results": {
            "TCP download::1": tcp(3.0),
            "TCP download::2": tcp(1.0),
            "TCP download::1::tcp_cwnd": tcp(10.0),
            "TCP download sum": tcp(4.0),
            "Ping (ms) ICMP": ping,
            "VoIP::delay": ping,
        },
        "raw_values": { "Ping (ms) ICMP": raw },
        "metadata": {
            "NAME": "tcp_ndown",
            "TITLE": "qdisc:fq_codel rep:01",
            "LENGTH": 20,
            "SERIES_META": { "TCP download::1": { "UNITS": "Mbits/s" } },
        },
    })
}

fn mean(values: &Value) -> f64 {
    let found: Vec<f64> = values.as_array().unwrap().iter().filter_map(Value::as_f64).collect();
    found.iter().sum::<f64>() / found.len() as f64
}

/// The mean of a metric in what `quell show` prints.
fn shown(bench: &Bench, results: &str, link: &str, algorithm: &str, metric: &str) -> f64 {
    let all = bench.json(&["show", results, "--link", link, "--metric", metric, "--format", "json"]);
    let rows = all["points"][0]["rows"].as_array().unwrap();
    let row = rows.iter().find(|row| row["algorithm"] == algorithm).unwrap();
    row["metrics"][metric]["mean"].as_f64().unwrap_or_else(|| panic!("{results} {metric}: {row}"))
}

#[test]
fn what_was_measured_stands_beside_what_is_simulated() {
    let bench = Bench::new();
    pack(&bench, "a.flent.gz", &serde_json::to_vec(&measured()).unwrap());
    let words = ["import", "flent", "a.flent.gz", "--rate", "5Mbit/s", "--out", "measured"];
    let said = bench.ok(&words);
    assert!(
        said.contains("fq-codel seed 1: down 4.00 Mbit/s (2 flows) ping 40.0 ms (P95 60.0 ms)"),
        "{said}"
    );
    assert!((shown(&bench, "measured", "bottleneck", "fq-codel", "goodput_bps[down]") - 4e6).abs() < 1.0);
    // (3 + 1)^2 / (2 (9 + 1))
    assert!((shown(&bench, "measured", "bottleneck", "fq-codel", "jain_index") - 0.8).abs() < 1e-9);
    let of_ping = |metric: &str| shown(&bench, "measured", "bottleneck", "fq-codel", metric);
    assert!((of_ping("flow_completion_time_p50_s[ping]") - 0.02).abs() < 1e-9);
    assert!((of_ping("flow_completion_time_p95_s[ping]") - 0.06).abs() < 1e-9);
    let notes = bench.json(&["show", "measured", "--format", "json"])["notes"].to_string();
    assert!(
        notes.contains("measured by Flent") && notes.contains("1 series left out: VoIP::delay"),
        "{notes}"
    );
    let scenario = std::fs::read_to_string(bench.path("measured.toml")).unwrap();
    for part in ["delay = \"10 ms\"", "rate = \"5 Mbit/s\"", "count = 2", "algorithm = \"fq-codel\""] {
        assert!(scenario.contains(part), "{part}: {scenario}");
    }
    bench.ok(&["run", "measured.toml", "--out", "simulated", "--quiet", "--no-report"]);
    let simulated = shown(&bench, "simulated", "bottleneck", "fq-codel", "goodput_bps[down]");
    assert!((4e6..5e6).contains(&simulated), "{simulated}");
    let ping = shown(&bench, "simulated", "bottleneck", "fq-codel", "flow_completion_time_p95_s[ping]");
    assert!((0.02..0.06).contains(&ping), "a ping has its own queue: {ping}");
    let metrics = ["--metric", "goodput_bps[down]", "--metric", "flow_completion_time_p95_s[ping]"];
    let ran = bench.run(&[&["compare", "measured", "simulated", "--format", "json"], &metrics[..]].concat());
    assert!(ran.code == 0 && !ran.err.contains("scenarios that differ"), "{}", ran.err);
    let all: Value = serde_json::from_str(&ran.out).unwrap();
    let difference = &all["points"][0]["rows"][0]["differences"]["goodput_bps[down]"]["mean"];
    assert!((difference.as_f64().unwrap() - (4e6 - simulated)).abs() < 1.0, "{difference}");
    bench.ok(&["plot", "measured", "--diagram", "throughput", "--csv", "t.csv"]);
    let drawn = std::fs::read_to_string(bench.path("t.csv")).unwrap();
    assert!(drawn.lines().skip(1).all(|line| line.ends_with(",4")) && drawn.lines().count() > 50, "{drawn}");
    let again = bench.run(&words);
    assert!(again.code == 2 && again.err.contains("use --overwrite"), "{}", again.err);
    bench.ok(&[&words[..], &["--overwrite"]].concat());
}

#[test]
fn results_come_back_from_flents_files_as_they_were() {
    let bench = Bench::new();
    bench.file("both.toml", BOTH_WAYS);
    bench.ok(&["run", "both.toml", "--out", "r", "--quiet", "--no-report", "--trace", "flows"]);
    let said = bench.ok(&["export", "flent", "r", "--out", "f"]);
    assert!(
        said.contains("f: 4 files") && said.contains("flent -i f/codel-seed1.flent.gz -p totals"),
        "{said}"
    );
    assert_eq!(list(&bench.path("f")).len(), 4);

    // Traced: each flow. Only the first seed is.
    let file = unpack(&bench, "f/codel-seed1.flent.gz");
    assert_eq!((&file["version"], &file["metadata"]["NAME"]), (&json!(4), &json!("rrul_be_nflows")));
    let names: Vec<&String> = file["results"].as_object().unwrap().keys().collect();
    for name in ["TCP download BE::3", "TCP upload BE::2", "TCP download sum", "TCP totals", "Ping (ms) ICMP"]
    {
        assert!(names.iter().any(|n| *n == name), "{name}: {names:?}");
    }
    let times = file["x_values"].as_array().unwrap().len();
    assert!(file["results"].as_object().unwrap().values().all(|v| v.as_array().unwrap().len() == times));
    let sum = mean(&file["results"]["TCP download sum"]) * 1e6;
    let goodput = shown(&bench, "r", "bottleneck", "codel", "goodput_bps[down]");
    assert!((sum / goodput - 1.0).abs() < 0.05, "over the whole run {sum}, after the warm-up {goodput}");
    assert!(mean(&file["results"]["Ping (ms) ICMP"]) > 20.0);
    // Not traced: the class.
    let file = unpack(&bench, "f/codel-seed2.flent.gz");
    assert!(file["results"]["TCP download BE::2"].is_null());
    assert_eq!(file["metadata"]["SERIES_META"]["TCP download BE::1"]["QUELL_NAME"], "down");

    let traced = ["f/codel-seed1.flent.gz", "f/drop-tail-seed1.flent.gz"];
    let options = ["--rate", "8Mbit/s", "--up", "4Mbit/s", "--warmup", "2 s", "--out", "back"];
    bench.ok(&[&["import", "flent"], &traced[..], &options[..]].concat());
    for algorithm in ["codel", "drop-tail"] {
        for (link, metric) in [("bottleneck", "goodput_bps[down]"), ("reverse", "goodput_bps[up]")] {
            let back = shown(&bench, "back", link, algorithm, metric);
            // Of the same seed alone.
            let all = bench.json(&["show", "back", "--format", "json"]);
            assert_eq!(all["replications_finished"], 2);
            let was = shown(&bench, "r", link, algorithm, metric);
            assert!((back / was - 1.0).abs() < 0.06, "{algorithm} {metric}: {back} of {was}");
        }
    }
    let again = bench.run(&["export", "flent", "r", "--out", "f"]);
    assert!(
        again.code == 2 && again.err.contains("f/codel-seed1.flent.gz already exists; use --overwrite"),
        "{}",
        again.err
    );
    bench.ok(&["export", "flent", "r", "--out", "g"]);
    let bytes = |dir: &str| std::fs::read(bench.path(&format!("{dir}/codel-seed1.flent.gz"))).unwrap();
    assert!(bytes("f") == bytes("g"), "equal results give equal files");
}

#[test]
fn early_versions_are_read_by_what_they_mean() {
    let bench = Bench::new();
    let mut file = measured();
    // Of version 3, whose raw values of UDP are transactions per second.
    file["version"] = json!(3);
    let raw = file["raw_values"]["Ping (ms) ICMP"].take();
    let ping = file["results"]["Ping (ms) ICMP"].take();
    file["raw_values"] = json!({ "Ping (ms) UDP BE1": raw });
    file["results"].as_object_mut().unwrap().remove("Ping (ms) ICMP");
    file["results"]["Ping (ms) UDP BE1"] = ping;
    for sample in file["raw_values"]["Ping (ms) UDP BE1"].as_array_mut().unwrap() {
        sample["val"] = json!(1000.0 / sample["val"].as_f64().unwrap());
    }
    pack(&bench, "old.flent.gz", &serde_json::to_vec(&file).unwrap());
    let said = bench.ok(&["import", "flent", "old.flent.gz", "--rate", "5Mbit/s", "--out", "old"]);
    assert!(said.contains("ping 40.0 ms (P95 60.0 ms)"), "{said}");
    // Of version 1, which says neither that nor raw values, and is not compressed.
    let mut file = measured();
    let keys = file.as_object_mut().unwrap();
    keys.remove("version");
    keys.remove("raw_values");
    std::fs::write(bench.path("first.json"), serde_json::to_vec(&file).unwrap()).unwrap();
    let said = bench.ok(&["import", "flent", "first.json", "--rate", "5Mbit/s", "--out", "first"]);
    assert!(said.contains("ping 40.0 ms (P95 60.0 ms)"), "{said}");
}

#[test]
fn damaged_files_are_refused_and_leave_nothing() {
    let bench = Bench::new();
    let whole = serde_json::to_vec(&measured()).unwrap();
    pack(&bench, "whole.gz", &whole);
    let packed = std::fs::read(bench.path("whole.gz")).unwrap();
    let changed = |change: &dyn Fn(&mut Value)| {
        let mut file = measured();
        change(&mut file);
        serde_json::to_vec(&file).unwrap()
    };
    let of = |json: &str| json.as_bytes().to_vec();
    let deep = format!("{{\"metadata\": {{\"a\": {}1{}}}}}", "[".repeat(10_000), "]".repeat(10_000));
    let mut latin = whole.clone();
    let at = latin.windows(8).position(|w| w == b"fq_codel").unwrap();
    latin[at] = 0xe9;
    let damaged: [(&str, Vec<u8>, &str); 23] = [
        ("empty", Vec::new(), "is not a Flent data file"),
        ("cut in the compression", packed[..packed.len() / 2].to_vec(), "gzip"),
        ("cut in JSON", whole[..whole.len() / 2].to_vec(), "is not a Flent data file"),
        ("another JSON", b"[1, 2]".to_vec(), "is not a Flent data file"),
        (
            "not a number",
            of("{\"x_values\": [0, NaN]}"),
            "x_values[1]: expected value at line 1 column 18; NaN is not a number",
        ),
        ("an infinite one", of("{\"results\": {\"a b\": [-Infinity]}}"), "results.a b[0]: "),
        ("too large a number", of("{\"x_values\": [0, 1e999]}"), "x_values[1]: number out of range"),
        ("too deep", deep.into_bytes(), "recursion limit exceeded"),
        ("not UTF-8", latin, "metadata.TITLE"),
        ("no times at all", of("{\"results\": {}, \"metadata\": {}}"), "missing field `x_values`"),
        ("null for a time", changed(&|f| f["x_values"][3] = json!(null)), "x_values[3]: invalid type: null"),
        ("two objects", [&whole[..], b"{}"].concat(), "has something after its JSON"),
        ("a later version", changed(&|f| f["version"] = json!(5)), "version = 5: must be at most 4"),
        ("no times", changed(&|f| f["x_values"] = json!([])), "x_values has 0 times"),
        ("times back", changed(&|f| f["x_values"][7] = json!(0.1)), "x_values[7] = 0.1: must be later"),
        (
            "a short series",
            changed(&|f| f["results"]["TCP download::2"] = json!([1.0])),
            "results.\"TCP download::2\" has 1 values",
        ),
        (
            "a negative rate",
            changed(&|f| f["results"]["TCP download::2"][60] = json!(-1.0)),
            "results.\"TCP download::2\" has -1.0: must be from 0 to 1000000",
        ),
        (
            "an impossible rate",
            changed(&|f| f["results"]["TCP download::2"][60] = json!(1e300)),
            "results.\"TCP download::2\" has 1e+300: must be from 0 to 1000000",
        ),
        (
            "an impossible ping",
            changed(&|f| f["raw_values"]["Ping (ms) ICMP"][6]["val"] = json!(1e300)),
            "raw_values.\"Ping (ms) ICMP\" has 1e+300",
        ),
        ("no name", changed(&|f| f["metadata"]["NAME"] = json!(null)), "metadata has no NAME"),
        ("no length", changed(&|f| f["metadata"]["LENGTH"] = json!("20 s")), "metadata.LENGTH is \"20 s\""),
        (
            "another unit",
            changed(&|f| f["metadata"]["SERIES_META"]["TCP download::1"]["UNITS"] = json!("Kbits/s")),
            "UNITS = \"Kbits/s\": must be Mbits/s",
        ),
        ("nothing to take", changed(&|f| f["results"] = json!({})), "has no series of a TCP download"),
    ];
    for (what, bytes, rule) in damaged {
        std::fs::write(bench.path("bad.flent"), bytes).unwrap();
        let before = bench.listing();
        let ran = bench.run(&["import", "flent", "bad.flent", "--rate", "5Mbit/s", "--out", "out"]);
        assert!(
            ran.code == 2 && ran.err.contains("bad.flent: ") && ran.err.contains(rule),
            "{what}: {}",
            ran.err
        );
        assert_eq!(bench.listing(), before, "{what}");
    }
    // A small file that unpacks to a large one.
    let file = std::fs::File::create(bench.path("bomb.flent.gz")).unwrap();
    let mut out = GzEncoder::new(file, Compression::fast());
    let zeros = vec![0; 1 << 20];
    (0..600).for_each(|_| out.write_all(&zeros).unwrap());
    out.finish().unwrap();
    let before = bench.listing();
    let ran = bench.run(&["import", "flent", "bomb.flent.gz", "--rate", "5Mbit/s", "--out", "out"]);
    assert!(
        ran.code == 2 && ran.err.contains("bomb.flent.gz: ") && ran.err.contains("is too large"),
        "{}",
        ran.err
    );
    assert_eq!(bench.listing(), before);
}

#[test]
fn what_cannot_be_laid_side_by_side_is_refused() {
    let bench = Bench::new();
    let file = |name: &str, change: &dyn Fn(&mut Value)| {
        let mut file = measured();
        change(&mut file);
        pack(&bench, name, &serde_json::to_vec(&file).unwrap());
    };
    file("a.gz", &|_| {});
    file("other.gz", &|f| f["metadata"]["NAME"] = json!("rrul"));
    file("untitled.gz", &|f| f["metadata"]["TITLE"] = json!(null));
    file("strange.gz", &|f| f["metadata"]["TITLE"] = json!("qdisc:codle"));
    let refused = |words: &[&str], part: &str| {
        let ran = bench.run(&[&["import", "flent"], words, &["--rate", "5Mbit/s", "--out", "out"]].concat());
        assert!(ran.code == 2 && ran.err.contains(part), "{words:?}: {}", ran.err);
        assert!(!bench.path("out").exists() && !bench.path("out.toml").exists());
    };
    refused(&["a.gz", "other.gz"], "must be repetitions of one test");
    refused(&["untitled.gz"], "metadata.TITLE has no \"qdisc:NAME\": name the algorithm with --aqm");
    refused(&["strange.gz"], "did you mean \"codel\"?");
    refused(
        &["strange.gz"],
        "(the word after \"qdisc:\" in its title); name the one that was measured with --aqm",
    );
    refused(&["a.gz", "--warmup", "20 s"], "must be shorter than the test");
    bench.ok(&["import", "flent", "untitled.gz", "--aqm", "pie", "--rate", "5Mbit/s", "--out", "out"]);
    // Without TCP there is nothing to write.
    let udp = "schema = 1\nduration = \"4 s\"\naqm = [{ algorithm = \"codel\" }]\n[dumbbell]\nrate = \"1 Mbit/s\"\ndelay = \
               \"10 ms\"\nbuffer = \"30 packets\"\n[[flows]]\nname = \"u\"\nkind = \"udp\"\nrate = \"100 kbit/s\"\n";
    bench.file("udp.toml", udp);
    bench.ok(&["run", "udp.toml", "--out", "u", "--quiet", "--no-report"]);
    let ran = bench.run(&["export", "flent", "u"]);
    assert!(ran.code == 2 && ran.err.contains("has no TCP traffic over time"), "{}", ran.err);
    assert!(!bench.path("flent").exists());
}

/// Labels that give one name of a file are refused, and none of their replications is lost.
#[test]
fn labels_of_one_file_are_refused() {
    let bench = Bench::new();
    let two = SMALL.replace(
        "algorithm = \"drop-tail\"",
        "algorithm = \"drop-tail\"\nlabel = \"a b\"\n\n[[aqm]]\nalgorithm = \"drop-tail\"\nlabel = \"A/b\"",
    );
    bench.file("two.toml", &two);
    bench.ok(&["run", "two.toml", "--seeds", "1", "--out", "r", "--quiet", "--no-report"]);
    let refused = bench.run(&["export", "flent", "r", "--out", "f"]);
    assert!(
        refused.code == 2
            && refused.err.contains("\"a b\" and \"A/b\" would both be written to")
            && refused.err.contains("--aqm"),
        "{}",
        refused.err
    );
    assert!(!bench.path("f").exists());
    bench.ok(&["export", "flent", "r", "--out", "f", "--aqm", "a b"]);
}
