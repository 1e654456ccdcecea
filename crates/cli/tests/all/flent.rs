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
    assert!(notes.contains("measured by Flent") && notes.contains("1 series left out: VoIP\""), "{notes}");
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
    let damaged: [(&str, Vec<u8>, &str); 24] = [
        ("empty", Vec::new(), "is not a Flent data file"),
        ("cut in the compression", packed[..packed.len() / 2].to_vec(), "gzip"),
        ("cut in JSON", whole[..whole.len() / 2].to_vec(), "is not a Flent data file"),
        ("another JSON", b"[1, 2]".to_vec(), "is not a Flent data file"),
        ("not a number", of("{\"x_values\": [0, NaN]}"), "x_values[1]: invalid type: null"),
        ("no version", changed(&|f| f["version"] = json!("four")), "version: \"four\" is not a version"),
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
            "an impossible report",
            changed(&|f| f["raw_values"]["TCP download::1"] = json!([{ "t": 1e9, "dur": 1.0, "val": -1.0 }])),
            "raw_values.\"TCP download::1\" has -1.0",
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

/// Reports of netperf: each is the mean rate over an interval that ends at its time.
fn reports(of: &[(f64, f64, f64)]) -> Value {
    let one = |(from, to, mbit): &(f64, f64, f64)| json!({ "t": 1e9 + to, "dur": to - from, "val": mbit });
    of.iter().map(one).collect()
}

/// What import says about a file that differs from [`measured`]: on stdout and on stderr.
fn imported(bench: &Bench, change: &dyn Fn(&mut Value)) -> (String, String) {
    let mut file = measured();
    change(&mut file);
    pack(bench, "a.flent.gz", &serde_json::to_vec(&file).unwrap());
    let words = ["import", "flent", "a.flent.gz", "--rate", "5Mbit/s", "--out", "measured", "--overwrite"];
    let ran = bench.run(&words);
    assert_eq!(ran.code, 0, "{}", ran.err);
    (ran.out, ran.err)
}

#[test]
fn goodput_is_what_arrived_in_the_window_over_its_length() {
    let bench = Bench::new();
    // The window is from 10 to 25 s.
    let (said, notes) = imported(&bench, &|f| {
        let steady: Vec<_> = (0..20).map(|i| (5.0 + f64::from(i), 6.0 + f64::from(i), 3.0)).collect();
        // A slow connection reports rarely: 0.3 Mbit/s in the mean, and 0.6 as the mean of the reports.
        let bursty = |i: i32| {
            let begin = 5.0 + 2.5 * f64::from(i);
            [(begin, begin + 2.0, 0.1), (begin + 2.0, begin + 2.5, 1.1)]
        };
        let bursty: Vec<_> = (0..8).flat_map(bursty).collect();
        f["results"]["TCP download::3"] = f["results"]["TCP download::2"].clone();
        f["raw_values"]["TCP download::1"] = reports(&steady);
        f["raw_values"]["TCP download::2"] = reports(&bursty);
        // One that starts in the middle.
        f["raw_values"]["TCP download::3"] = reports(&[(17.5, 25.0, 2.0), (25.0, 32.5, 2.0)]);
    });
    assert!(said.contains("down 4.30 Mbit/s (3 flows)"), "{said}");
    assert!(
        notes.contains("1 of 3 downloads reported for a part of the time after the warm-up only (83%"),
        "{notes}"
    );
    // Without reports: by the samples.
    let (said, notes) = imported(&bench, &|f| {
        for i in (0..88).chain(127..150) {
            f["results"]["TCP download::2"][i] = json!(null);
        }
        f["results"]["TCP download::2"][100] = json!(null);
    });
    // From 17.6 s to the end of the window, 38 of its 76 samples.
    assert!(said.contains("down 3.50 Mbit/s (2 flows)"), "{said}");
    assert!(notes.contains("1 of 2 downloads reported for a part"), "{notes}");
    let (said, notes) =
        imported(&bench, &|f| f["results"]["TCP download::2"] = json!(vec![Value::Null; 150]));
    assert!(said.contains("down 3.00 Mbit/s (2 flows)"), "{said}");
    assert!(notes.contains("1 of 2 downloads report nothing after the warm-up, and count as 0"), "{notes}");
    // Flent leaves out a report that is long in comparison, as after a stall: the connection may have sent meanwhile.
    let (said, notes) = imported(&bench, &|f| {
        let report = |i: i32| (5.0 + 0.25 * f64::from(i), 5.25 + 0.25 * f64::from(i), 2.0);
        let stalled: Vec<_> = (0..80).filter(|i| !(40..55).contains(i)).map(report).collect();
        f["raw_values"]["TCP download::2"] = reports(&stalled);
    });
    // 3.75 s of the 15 are missing.
    assert!(said.contains("down 4.50 Mbit/s (2 flows)"), "{said}");
    assert!(
        notes.contains("1 of 2 downloads reported for a part of the time after the warm-up only (88%")
            && notes.contains("or got so little that Flent left out the report"),
        "{notes}"
    );
    // A sum under a name of its own is not a connection.
    let (said, _) = imported(&bench, &|f| {
        f["results"]["TCP download all"] = f["results"]["TCP download sum"].clone();
        f["metadata"]["SERIES_META"]["TCP download all"] = json!({ "RUNNER": "SumRunner" });
    });
    assert!(said.contains("down 4.00 Mbit/s (2 flows)"), "{said}");
}

#[test]
fn one_damaged_time_does_not_move_the_pings() {
    let bench = Bench::new();
    let has_ping = |bench: &Bench| {
        std::fs::read_to_string(bench.path("measured.toml")).unwrap().contains("name = \"ping\"")
    };
    let (said, _) = imported(&bench, &|f| {
        f["raw_values"]["VoIP::delay"] = json!([{ "t": 0.0, "val": 1.0 }]);
    });
    assert!(said.contains("ping 40.0 ms") && has_ping(&bench), "{said}");
    // 1e9 s, in the time of a place two hours away.
    let (said, _) = imported(&bench, &|f| f["metadata"]["T0"] = json!("2001-09-09T03:46:40.000000"));
    assert!(said.contains("ping 40.0 ms") && has_ping(&bench), "{said}");
    // As the time of Greenwich it is wrong: that is said, and there is no ping anywhere.
    let (said, notes) = imported(&bench, &|f| f["metadata"]["T0"] = json!("2001-09-09T03:46:40.000000Z"));
    assert!(!said.contains("ping") && !has_ping(&bench), "{said}");
    assert!(notes.contains("none of its 150 pings is from 10 to 25 s"), "{notes}");
}

#[test]
fn what_the_file_says_against_the_scenario_is_noted() {
    let bench = Bench::new();
    let (_, notes) = imported(&bench, &|f| {
        f["metadata"]["TITLE"] = json!("qdisc:fq_codel rep:01 rate:10Mbit/1Mbit rtt:50ms cc:bbr ecn:ecn");
        f["metadata"]["FAILED_RUNNERS"] = json!(2);
        f["results"]["TCP download CS5"] = f["results"]["TCP download::2"].clone();
        f["results"]["cpu_stats_secret-host::load"] = f["results"]["VoIP::delay"].clone();
        f["metadata"]["STEP_SIZE"] = json!(0.05);
    });
    for part in [
        "its title says 10 Mbit/s and 1 Mbit/s, and the options 5 Mbit/s and 5 Mbit/s",
        "its title says a round-trip time of 50.0 ms, and the scenario has 20.0 ms",
        "its congestion control is bbr, and in the scenario it is CUBIC",
        "its title says ECN",
        "2 programs of the test failed",
        "2 series left out: VoIP, cpu_stats",
    ] {
        assert!(notes.contains(part), "{part}: {notes}");
    }
    let run = std::fs::read_to_string(bench.path("measured/run.json")).unwrap();
    assert!(!run.contains("secret-host"), "results name no host");
    let scenario = std::fs::read_to_string(bench.path("measured.toml")).unwrap();
    assert!(scenario.contains("think = \"50 ms\""), "{scenario}");
    assert!(scenario.contains("name = \"down-dscp-40\"") && scenario.contains("dscp = 40"), "{scenario}");
    assert!(scenario.contains("class = \"down\"") && scenario.contains("count = 2"), "{scenario}");
    let (_, notes) = imported(&bench, &|f| {
        f["metadata"]["TITLE"] = json!("qdisc:fq_codel rate:5Mbit/5Mbit rtt:20ms cc:cubic ecn:noecn");
    });
    assert!(!notes.contains("its title") && !notes.contains("its congestion"), "{notes}");
}

/// The groups of connections in the scenario of [`imported`]: name, DSCP and number.
fn groups(bench: &Bench) -> Vec<(String, i64, i64)> {
    let text = std::fs::read_to_string(bench.path("measured.toml")).unwrap();
    let scenario: toml::Table = text.parse().unwrap();
    let flows = scenario["flows"].as_array().unwrap().iter();
    let number = |flow: &toml::Value, key: &str| flow.get(key).map_or(0, |n| n.as_integer().unwrap());
    let of = flows.filter(|flow| flow.get("direction").is_some());
    of.map(|f| (f["name"].as_str().unwrap().to_string(), number(f, "dscp"), number(f, "count"))).collect()
}

/// The marks come from what Flent says of the sockets, and from the name only where it says nothing.
#[test]
fn the_marks_are_those_of_the_sockets() {
    let bench = Bench::new();
    let of = |about: &Value, name: &str| {
        imported(&bench, &|f| {
            let results = f["results"].as_object_mut().unwrap();
            let values = results.remove("TCP download::2").unwrap();
            results.insert(name.into(), values);
            f["metadata"]["SERIES_META"][name] = about.clone();
        });
        groups(&bench)
    };
    let marked = |dscp: i64| vec![("down".into(), 0, 1), (format!("down-dscp-{dscp}"), dscp, 1)];
    let unmarked: Vec<(String, i64, i64)> = vec![("down".into(), 0, 2)];
    // Of tcp_ndown with markings=: the name has no mark. The last two bits are ECN's.
    assert_eq!(of(&json!({ "UPSTREAM_TOS": 0, "DOWNSTREAM_TOS": 0x22 }), "TCP download::2"), marked(8));
    // Acknowledgments have another mark than data.
    assert_eq!(of(&json!({ "UPSTREAM_TOS": 0xb8, "DOWNSTREAM_TOS": 0 }), "TCP download::2"), unmarked);
    // A server that did not set the mark.
    assert_eq!(of(&json!({ "DOWNSTREAM_TOS": 0 }), "TCP download BK"), unmarked);
    // With --swap-up-down the data goes the other way.
    let swapped = json!({ "UPSTREAM_TOS": 0x28, "DOWNSTREAM_TOS": 0, "DATA_TOS": 0x28 });
    assert_eq!(of(&swapped, "TCP download::2"), marked(10));
    // Of early versions.
    assert_eq!(of(&json!({ "DOWNSTREAM_TOS": "0xa0" }), "TCP download::2"), marked(40));
    // Says nothing, so the name does: of rrul_cs8.
    for unsaid in [json!(-1), json!(4_294_967_295_u32), json!("0xffffffff"), json!(null), json!({})] {
        assert_eq!(of(&json!({ "DOWNSTREAM_TOS": unsaid }), "TCP download CS1_BK"), marked(8), "{unsaid}");
    }
    // Of uploads.
    imported(&bench, &|f| {
        f["results"]["TCP upload::1"] = f["results"]["TCP download::2"].clone();
        f["metadata"]["SERIES_META"]["TCP upload::1"] = json!({ "UPSTREAM_TOS": 0xb8, "DOWNSTREAM_TOS": 0 });
    });
    assert_eq!(groups(&bench), [("down".into(), 0, 2), ("up-dscp-46".into(), 46, 1)]);
}

#[test]
fn what_cannot_be_true_of_one_link_is_refused() {
    let bench = Bench::new();
    let file = |name: &str, change: &dyn Fn(&mut Value)| {
        let mut file = measured();
        change(&mut file);
        pack(&bench, name, &serde_json::to_vec(&file).unwrap());
    };
    file("a.gz", &|_| {});
    file("fair.gz", &|f| {
        let far: Vec<f64> = (0..150).map(|_| 200.0).collect();
        f["results"]["Ping (ms) ICMP2 far"] = json!(far);
    });
    let refused = |words: &[&str], part: &str| {
        let ran = bench.run(&[&["import", "flent"], words, &["--out", "out"]].concat());
        assert!(ran.code == 2 && ran.err.contains(part), "{words:?}: {}", ran.err);
        assert!(!bench.path("out").exists() && !bench.path("out.toml").exists());
    };
    refused(&["a.gz", "--rate", "3Mbit/s"], "its downloads got 4.00 Mbit/s together, and --rate is 3 Mbit/s");
    refused(&["a.gz", "a.gz", "--rate", "5Mbit/s"], "are the same measurement");
    refused(&["fair.gz", "--rate", "5Mbit/s"], "its pings go to hosts 20.0 ms to 200 ms away");
}

#[test]
fn files_that_flent_reads_are_read() {
    let bench = Bench::new();
    let text = serde_json::to_string(&measured()).unwrap();
    let python = text
        .replace("\"version\":4", "\"version\":\"4\"")
        .replace("\"VoIP::delay\":[20.0,60.0", "\"VoIP::delay\":[NaN,-Infinity");
    assert!(python.contains("NaN") && python.contains("\"4\""));
    pack(&bench, "python.gz", python.as_bytes());
    let said = bench.ok(&["import", "flent", "python.gz", "--rate", "5Mbit/s", "--out", "p"]);
    assert!(said.contains("down 4.00 Mbit/s (2 flows) ping 40.0 ms (P95 60.0 ms)"), "{said}");
    // The first version has its measurements among the facts: here pings of 30 ms, of which the samples know nothing.
    let mut file = measured();
    let keys = file.as_object_mut().unwrap();
    keys.remove("version");
    keys.remove("raw_values");
    let raw: Vec<Value> = (0..100).map(|i| json!({ "t": 1e9 + 0.25 * f64::from(i), "val": 30.0 })).collect();
    file["metadata"]["SERIES_META"]["Ping (ms) ICMP"] = json!({ "UNITS": "ms", "RAW_VALUES": raw });
    pack(&bench, "first.gz", &serde_json::to_vec(&file).unwrap());
    let said = bench.ok(&["import", "flent", "first.gz", "--rate", "5Mbit/s", "--out", "first"]);
    assert!(said.contains("ping 30.0 ms (P95 30.0 ms)"), "{said}");
}

fn values(file: &Value, series: &str) -> Vec<Option<f64>> {
    let all = file["results"][series].as_array().unwrap_or_else(|| panic!("no {series}"));
    all.iter().map(Value::as_f64).collect()
}

#[test]
fn an_exported_series_says_nothing_before_its_flows_start() {
    let bench = Bench::new();
    let late = BOTH_WAYS
        .replace("seeds = 2", "seeds = 2\nseries_step = \"100 ms\"")
        .replace("direction = \"reverse\"", "direction = \"reverse\"\nstart = \"5 s\"\nstop = \"9 s\"");
    bench.file("late.toml", &late);
    bench.ok(&["run", "late.toml", "--out", "r", "--quiet", "--no-report", "--trace", "flows"]);
    bench.ok(&["export", "flent", "r", "--out", "f", "--aqm", "codel"]);
    // Of flows, which are traced for the first seed, and of a class.
    for seed in [1, 2] {
        let file = unpack(&bench, &format!("f/codel-seed{seed}.flent.gz"));
        let up = values(&file, "TCP upload BE::1");
        let at = |s: f64| up[(s * 10.0).round() as usize - 1];
        assert_eq!([at(0.1), at(2.0), at(5.0), at(11.9)], [None; 4], "seed {seed}: {up:?}");
        assert!(at(7.0).is_some() && at(5.1).is_some(), "seed {seed}: {up:?}");
        assert!(values(&file, "TCP upload sum")[20].is_none(), "seed {seed}");
        let about = &file["metadata"]["SERIES_META"]["TCP upload BE::1"];
        let mean = up.iter().flatten().sum::<f64>() / up.iter().flatten().count() as f64;
        assert!((about["MEAN_VALUE"].as_f64().unwrap() - mean).abs() < 1e-9, "{about}");
        assert_eq!(about["CONG_CONTROL"], "cubic");
        assert_eq!(values(&file, "Ping (ms) UDP BE"), values(&file, "Ping (ms) ICMP"));
        assert!(file["metadata"]["NOTE"].as_str().unwrap().starts_with("simulated by "), "without a title");
        let raw = &file["raw_values"]["TCP download BE::1"][5];
        assert!((raw["dur"].as_f64().unwrap() - 0.1).abs() < 1e-9, "{raw}");
    }
}

#[test]
fn an_exported_ping_has_a_value_where_nothing_is_sent() {
    let bench = Bench::new();
    bench.file(
        "idle.toml",
        "schema = 1\nduration = \"10 s\"\nwarmup = \"1 s\"\nseeds = 1\naqm = [{ algorithm = \"codel\" }]\n[dumbbell]\nrate = \"4 \
         Mbit/s\"\ndelay = \"10 ms\"\nbuffer = \"60 packets\"\n[[flows]]\nname = \"web\"\nkind = \"transfers\"\nsize = \"20 \
         kB\"\nthink = \"2 s\"\n",
    );
    bench.ok(&["run", "idle.toml", "--out", "r", "--quiet", "--no-report"]);
    bench.ok(&["export", "flent", "r", "--out", "f"]);
    let file = unpack(&bench, "f/codel-seed1.flent.gz");
    let ping = values(&file, "Ping (ms) ICMP");
    assert!(ping.iter().all(Option::is_some), "{ping:?}");
    let base = ping.iter().flatten().copied().fold(f64::INFINITY, f64::min);
    let idle = ping.iter().flatten().filter(|ms| **ms < base + 1e-6).count();
    assert!(idle > ping.len() / 2 && idle < ping.len(), "{idle} of {} at {base} ms", ping.len());
    // Flent's bar_fairness needs it.
    let fairness = values(&file, "TCP download fairness");
    assert!(
        fairness.iter().flatten().all(|x| (x - 1.0).abs() < 1e-9) && fairness.iter().any(Option::is_some)
    );
}

#[test]
fn labels_survive_the_way_through_flents_files() {
    let bench = Bench::new();
    let labels = SMALL.replace(
        "algorithm = \"drop-tail\"",
        "algorithm = \"codel\"\nlabel = \"codel 5 ms\"\n\n[[aqm]]\nalgorithm = \"codel\"\nlabel = \"\u{e4}\u{f6}\"\ntarget = \"10 ms\"",
    );
    bench.file("labels.toml", &labels);
    bench.ok(&["run", "labels.toml", "--seeds", "1", "--out", "r", "--quiet", "--no-report"]);
    let said = bench.ok(&["export", "flent", "r", "--out", "fa out"]);
    assert!(said.contains("flent -i 'fa out/codel_5_ms-seed1.flent.gz' -p"), "{said}");
    let names = ["codel_5_ms-seed1.flent.gz", "red-seed1.flent.gz", "\u{e4}\u{f6}-seed1.flent.gz"];
    assert_eq!(list(&bench.path("fa out")), names);
    let file = unpack(&bench, "fa out/codel_5_ms-seed1.flent.gz");
    assert_eq!(file["metadata"]["TITLE"], "qdisc:codel label:codel_5_ms rep:1");
    let paths: Vec<String> = names.iter().map(|name| format!("fa out/{name}")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let words = [&["import", "flent"], &paths[..], &["--rate", "2Mbit/s", "--out", "my back"]].concat();
    let ran = bench.run(&words);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert!(
        ran.out.contains("codel 5 ms seed 1: down") && ran.out.contains("quell run 'my back.toml'"),
        "{}",
        ran.out
    );
    assert!(ran.err.contains("\"codel 5 ms\" has the default parameters of codel"), "{}", ran.err);
    let scenario = std::fs::read_to_string(bench.path("my back.toml")).unwrap();
    assert!(
        scenario.contains("label = \"codel 5 ms\"") && scenario.contains("algorithm = \"red\""),
        "{scenario}"
    );
}

#[test]
fn an_export_writes_all_files_or_none_and_names_what_is_left_over() {
    let bench = Bench::new();
    bench.ok(&["run", "small.toml", "--out", "r", "--quiet", "--no-report"]);
    std::fs::create_dir_all(bench.path("f/red-seed2.flent.gz")).unwrap();
    let ran = bench.run(&["export", "flent", "r", "--out", "f", "--overwrite"]);
    assert!(ran.code != 0 && ran.err.contains("red-seed2.flent.gz"), "{}", ran.err);
    assert_eq!(list(&bench.path("f")), ["red-seed2.flent.gz"]);
    std::fs::remove_dir(bench.path("f/red-seed2.flent.gz")).unwrap();
    bench.ok(&["export", "flent", "r", "--out", "f"]);
    let ran = bench.run(&["export", "flent", "r", "--out", "f", "--aqm", "red", "--overwrite"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let note = "f also has 2 data files that this export did not write, such as drop-tail-seed1.flent.gz";
    assert!(ran.err.contains(note), "{}", ran.err);
}

#[test]
fn a_class_in_both_directions_becomes_a_series_of_each() {
    let bench = Bench::new();
    let both = BOTH_WAYS.replace("count = 2", "class = \"down\"\ncount = 2")
        + "\n[[flows]]\nname = \"u\"\nclass = \"down\"\nkind = \"udp\"\nrate = \"100 kbit/s\"\n";
    bench.file("both.toml", &both);
    bench.ok(&["run", "both.toml", "--seeds", "1", "--out", "r", "--quiet", "--no-report"]);
    let ran = bench.run(&["export", "flent", "r", "--out", "f", "--aqm", "codel"]);
    assert!(ran.err.contains("the class \"down\" includes its traffic of kind udp"), "{}", ran.err);
    let file = unpack(&bench, "f/codel-seed1.flent.gz");
    assert_eq!(file["metadata"]["NAME"], "rrul_be_nflows");
    let [down, up] = ["download", "upload"].map(|way| mean(&file["results"][format!("TCP {way} BE::1")]));
    assert!((5.0..8.1).contains(&down) && (2.0..4.1).contains(&up), "{down} {up}");
    // Links of one's own are told by their mirrored names.
    let row = both
        .replace("[dumbbell]", "[parking_lot]\nbottlenecks = 2")
        .replace("[dumbbell.reverse]", "[parking_lot.reverse]");
    bench.file("row.toml", &row);
    bench.ok(&["run", "row.toml", "--seeds", "1", "--out", "q", "--quiet", "--no-report"]);
    let ran = bench.run(&["export", "flent", "q", "--out", "g", "--aqm", "codel"]);
    for note in ["\"down\" crosses 2 observed links: its series is its rate at r0-r1", "its rate at r1-r0"] {
        assert!(ran.err.contains(note), "{note}: {}", ran.err);
    }
    let file = unpack(&bench, "g/codel-seed1.flent.gz");
    let [down, up] = ["download", "upload"].map(|way| mean(&file["results"][format!("TCP {way} BE::1")]));
    assert!((5.0..8.1).contains(&down) && (2.0..4.1).contains(&up), "{down} {up}");
}
