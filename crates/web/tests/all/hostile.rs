//! Messages that are wrong, too much, or meant to break something.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{SMALL, answer, fault, ok, small};

/// Every fault of a scenario has its place.
#[test]
fn faults_of_scenarios_have_their_place() {
    for (from, to, (line, column), field, said) in [
        (
            "\"2 Mbit/s\"",
            "\"2 furlongs\"",
            (Some(9), Some(1)),
            "dumbbell.rate",
            "small.toml:9: dumbbell.rate",
        ),
        ("duration =", "durations =", (Some(4), Some(1)), "durations", "did you mean \"duration\"?"),
        ("\"pi\"", "\"pie2\"", (Some(17), Some(1)), "aqm[1].algorithm", "did you mean"),
        ("count = 3", "count = 1000000", (Some(21), Some(1)), "flows[0].count", "200000"),
        ("[[flows]]", "[[flows]", (Some(19), Some(9)), "", "not valid TOML"),
    ] {
        let text = SMALL.replace(from, to);
        let fault = fault(&json!({ "do": "check", "source": { "text": text, "name": "small.toml" } }));
        assert_eq!(fault["kind"], "scenario");
        assert_eq!((fault["line"].as_u64(), fault["column"].as_u64()), (line, column), "{fault}");
        assert_eq!(fault["field"].as_str().unwrap_or_default(), field, "{fault}");
        assert!(fault["message"].as_str().unwrap().contains(said), "{fault}");
    }
}

#[test]
fn messages_that_ask_for_nothing_are_refused() {
    let run = |more: Value| {
        let mut run = json!({ "do": "run", "source": small(), "algorithm": "pi", "seed": 1 });
        run.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        run
    };
    let file = |more: Value| {
        let mut source = small();
        let mut file = json!({ "name": "a.csv" });
        file.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        source["files"] = json!([file]);
        json!({ "do": "check", "source": source })
    };
    for (request, said) in [
        (json!({}), "missing field `do`"),
        (json!([1]), "the message cannot be read"),
        (json!({ "do": "fly" }), "unknown variant `fly`"),
        (json!({ "do": "about", "more": 1 }), "unknown field `more`"),
        (json!({ "do": "check", "source": {} }), "missing field `text`"),
        (json!({ "do": "check", "source": small(), "point": 1 }), "point 1: the scenario has 1"),
        (json!({ "do": "check", "source": small(), "point": -1 }), "the message cannot be read"),
        (
            run(json!({ "algorithm": "fly" })),
            "algorithm \"fly\": is not at this point; here are: drop-tail, pi",
        ),
        (run(json!({ "seed": -1 })), "a seed must be a whole number"),
        (run(json!({ "seed": "x" })), "a seed must be a whole number"),
        (run(json!({ "seed": "99999999999999999999" })), "a seed must be a whole number"),
        (run(json!({ "point": 7 })), "point 7"),
        (file(json!({})), "the file a.csv: must have either text or bytes"),
        (file(json!({ "bytes": "%" })), "the file a.csv: is not base64"),
        (json!({ "do": "preset", "load": "rrull", "link": "home" }), "did you mean \"rrul\"?"),
        (json!({ "do": "preset", "load": "rrul", "link": "home", "duration": "x" }), "duration x"),
        (json!({ "do": "report", "id": 3 }), "results 3: are not here"),
        (json!({ "do": "gather", "source": small(), "replications": ["AAAA"] }), "a packed replication"),
        (json!({ "do": "gather", "source": small(), "replications": ["!"] }), "is not base64"),
        (json!({ "do": "theory", "source": small(), "at_s": 99.0 }), "at_s 99"),
        (json!({ "do": "theory", "source": small(), "link": "x" }), "no link is called x"),
    ] {
        let fault = fault(&request);
        let message = fault["message"].as_str().unwrap();
        assert!(message.contains(said), "{request}: {message}");
        assert!(["request", "scenario"].contains(&fault["kind"].as_str().unwrap()), "{fault}");
    }
    let mut source = small();
    source["aqm"] = json!(["rde"]);
    let said = fault(&json!({ "do": "check", "source": source }))["message"].as_str().unwrap().to_string();
    assert!(said.contains("did you mean \"red\"?"), "{said}");
    source = small();
    source["set"] = json!([["flows.x.count", "1"]]);
    let said = fault(&json!({ "do": "check", "source": source }))["message"].as_str().unwrap().to_string();
    assert!(said.starts_with("--set flows.x.count=1: "), "{said}");
}

#[test]
fn what_is_too_large_is_said_with_the_command() {
    let text = SMALL.replace("count = 3", "count = 200000");
    let run = json!({
        "do": "run", "source": { "text": text, "name": "big.toml" }, "algorithm": "pi", "seed": 7, "memory": 1e8,
    });
    let fault = fault(&run);
    assert_eq!(fault["kind"], "large");
    let message = fault["message"].as_str().unwrap();
    assert!(message.contains("quell run big.toml --aqm pi --seed 7"), "{message}");
    assert!(message.contains("a page has 100 MB"), "{message}");
}

/// More flows, links, samples, segments and classes take more memory.
#[test]
fn estimates_of_memory_grow_with_what_takes_it() {
    let mut lab = quell_web::Lab::default();
    let mut memory = |from: &str, to: &str| {
        let text = SMALL.replace(from, to);
        let checked = ok(&mut lab, &json!({ "do": "check", "source": { "text": text } }));
        checked["points"][0]["estimated_memory"].as_f64().unwrap()
    };
    let usual = memory("", "");
    for (from, to, least) in [
        ("count = 3", "count = 100000", 1e8),
        ("seeds = 2", "series_step = \"10 us\"", 5e7),
        ("seeds = 2", "segments = \"10 ms\"", 5e7),
        ("\"40 packets\"", "\"1000000 packets\"", 0.0),
    ] {
        let more = memory(from, to);
        assert!(more >= usual + least, "{to}: {more}, {usual}");
    }
}

#[test]
fn nothing_is_nested_too_deep() {
    let deep = format!("x = {}1{}", "[".repeat(100_000), "]".repeat(100_000));
    let keys = format!("{}x = 1", "a.".repeat(100_000));
    for text in [&deep, &keys] {
        for request in [
            json!({ "do": "tree", "text": text }),
            json!({ "do": "check", "source": { "text": text } }),
            json!({ "do": "edit", "text": text, "edits": [] }),
        ] {
            let message = fault(&request)["message"].as_str().unwrap().to_string();
            assert!(message.contains("nested more than 32 deep"), "{message}");
        }
    }
    let value = "[".repeat(100_000);
    let edit = json!({ "do": "edit", "text": SMALL, "edits": [{ "path": "x", "value": value }] });
    assert!(fault(&edit)["message"].as_str().unwrap().contains("nested more than 32 deep"));
    let path = "a.".repeat(100_000) + "a";
    let edit = json!({ "do": "edit", "text": SMALL, "edits": [{ "path": path, "value": "1" }] });
    assert!(fault(&edit)["message"].as_str().unwrap().contains("has more than 32 parts"));
    let mut lab = quell_web::Lab::default();
    let hostile = format!("{}{}", "{\"do\":".repeat(50_000), "1");
    assert!(lab.answer(&hostile).contains("the message cannot be read"));
    assert!(lab.answer_bytes(&[0xff; 9]).contains("the message is not UTF-8"));
    assert!(lab.answer("").contains("the message cannot be read"));
}

#[test]
fn huge_numbers_are_refused() {
    for (from, to) in [
        ("\"2 Mbit/s\"", "\"1e300 Gbit/s\""),
        ("\"4 s\"", "\"1e18 h\""),
        ("count = 3", "count = 99999999999999999999"),
        ("seeds = 2", "seeds = 1000000000"),
        ("\"40 packets\"", "\"1e30 packets\""),
    ] {
        let text = SMALL.replace(from, to);
        let fault = fault(&json!({ "do": "check", "source": { "text": text } }));
        assert_eq!(fault["kind"], "scenario", "{to}");
        assert!(fault["line"].is_u64() && fault["rule"].is_string(), "{fault}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Whatever comes, something is said.
    #[test]
    fn any_message_is_answered(text in "\\PC{0,60}", bytes in proptest::collection::vec(any::<u8>(), 0..60)) {
        let mut lab = quell_web::Lab::default();
        for said in [lab.answer(&text), lab.answer_bytes(&bytes)] {
            prop_assert!(said.starts_with("{\"error\":"), "{}", said);
        }
        let found = answer(&mut lab, &json!({ "do": "tree", "text": text }));
        prop_assert!(found["ok"]["places"].is_object() || found["error"]["message"].is_string());
        let packed = text.as_bytes();
        prop_assert!(quell_metrics::unpack(packed).is_err() && quell_metrics::unpack(&bytes).is_err());
    }
}
