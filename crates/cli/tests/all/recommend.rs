//! `quell recommend`, as a user sees it.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::common::Bench;

/// A slow link, which is quick to simulate.
const LINK: [&str; 9] =
    ["recommend", "--down", "4Mbit/s", "--up", "1Mbit/s", "--rtt", "20ms", "--link", "docsis"];

fn with<'a>(more: &[&'a str]) -> Vec<&'a str> {
    [&LINK[..], more].concat()
}

/// Each figure that is printed is the one that `quell run` prints of the scenario that was saved.
#[test]
fn figures_are_those_of_the_saved_scenarios() {
    let bench = Bench::new();
    let said = bench.json(&with(&["--save", "kept", "--format", "json", "-q"]));
    let columns = said["columns"].as_array().unwrap();
    let mut rows: Vec<&Value> = said["answer"]["rows"].as_array().unwrap().iter().collect();
    assert!(rows.len() >= 4, "{said}");
    rows.extend(said["reach"].as_array().unwrap().iter().map(|reach| &reach["found"]));
    let text = |column: &Value, key: &str| column[key].as_str().unwrap().to_string();
    let links: BTreeSet<String> = columns.iter().map(|column| text(column, "link")).collect();
    for row in rows {
        let name = row["name"].as_str().unwrap();
        for link in &links {
            let of_link = columns.iter().zip(row["cells"].as_array().unwrap());
            let of_link: Vec<_> = of_link.filter(|(column, _)| text(column, "link") == *link).collect();
            let metrics: Vec<String> = of_link.iter().map(|(column, _)| text(column, "metric")).collect();
            let (file, out, metrics) =
                (format!("kept/{name}.toml"), format!("again-{name}"), metrics.join(","));
            let run =
                ["run", &file, "--metric", &metrics, "--link", link, "--format", "json", "-q", "--out", &out];
            let run = bench.json(&[&run[..], &["--overwrite", "--no-report"]].concat());
            for (column, cell) in of_link {
                let found = &run["points"][0]["rows"][0]["metrics"][text(column, "metric")];
                assert_eq!(found["mean"], cell["estimate"]["mean"], "{name} {column}");
                assert_eq!(found["half_width"], cell["estimate"]["half_width"], "{name} {column}");
            }
        }
    }
    // Whoever asks again gets the same from the cache, and nothing is lost without being asked.
    let again = bench.json(&with(&["--format", "json", "-q"]));
    assert_eq!(again["answer"], said["answer"]);
    let ran = bench.run(&with(&["--save", "kept", "-q"]));
    assert_eq!(ran.code, 2, "{}", ran.err);
    assert!(ran.err.contains("--save kept: ") && ran.err.contains("--overwrite"), "{}", ran.err);
    assert!(bench.path("kept/answer.json").is_file() && bench.path("kept/results/run.json").is_file());
}

#[test]
fn bad_input_is_answered_with_what_to_do() {
    let bench = Bench::new();
    bench.file("load.toml", "[[flows]]\nname = \"ftp\"\n");
    bench.file("none.toml", "x = 1\n");
    for (more, why) in [
        (vec!["--goal", "cal P99 < 20 ms"], "did you mean \"call P99\"?"),
        (vec!["--goal", "page P95 < 2 s", "--load", "bulk"], "has no pages"),
        (vec!["--can", "openwtr"], "did you mean \"openwrt\"?"),
        (vec!["--load", "load.toml"], "has no call"),
        (vec!["--load", "none.toml"], "has no [[flows]]"),
        (vec!["--load", "homee"], "did you mean"),
        (vec!["--load", "nofile.toml"], "--load nofile.toml: there is no such file"),
        (vec!["--goal", "goodput > 100%"], "below 100%"),
        (vec!["--goal", "goodput up > 1 Mbit/s"], "carry 988 kbit/s of IP at most"),
        (vec!["--cpu-limit", "100kbit/s"], "cpu-limit = 100 kbit/s"),
        (vec!["--trace", "none.toml"], "--trace none.toml: "),
        (vec!["--capture", "none.toml"], "none.toml"),
        (vec!["--hosts", "0"], "must be a whole number from 1 to 250"),
    ] {
        let ran = bench.run(&with(&more));
        assert_eq!(ran.code, 2, "{more:?}: {}", ran.err);
        assert!(ran.err.contains(why), "{more:?}: {}", ran.err);
    }
    for (words, why) in [
        (vec!["--down", "60Mbit/s..5Mbit/s", "--up", "1Mbit/s", "--link", "lte"], "reversed"),
        (
            vec!["--down", "6Mbit/s", "--up", "1Mbit/s", "--rtt", "80ms..10ms", "--link", "lte"],
            "write 10 ms..80 ms",
        ),
        (vec!["--down", "6Mbit/s", "--up", "1Mbit/s", "--link", "docsiss"], "did you mean \"docsis\"?"),
        (vec!["--up", "1Mbit/s", "--link", "docsis"], "--down: the rate is needed"),
        (vec!["--down", "6Mbit/s", "--link", "docsis"], "or give --capture"),
    ] {
        let ran = bench.run(&[&["recommend"], &words[..]].concat());
        assert_eq!(ran.code, 2, "{words:?}: {}", ran.err);
        assert!(ran.err.contains(why), "{words:?}: {}", ran.err);
    }
}
