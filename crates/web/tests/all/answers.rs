//! Every message, and what it is answered with.

use quell_lab::{Options, Series};
use quell_scenario::{Document, Plugins};
use serde_json::{Value, json};

use crate::{fault, ok, small};

/// The replications of the small scenario, packed.
fn packed(lab: &mut quell_web::Lab) -> Vec<Value> {
    let mut all = Vec::new();
    for seed in [2, 1] {
        for algorithm in ["pi", "drop-tail"] {
            let run = json!({
                "do": "run", "source": small(), "algorithm": algorithm, "seed": seed, "shown": false, "packed": true,
            });
            all.push(ok(lab, &run)["packed"].clone());
        }
    }
    all
}

fn gathered(lab: &mut quell_web::Lab) -> Value {
    let replications = packed(lab);
    ok(lab, &json!({ "do": "gather", "source": small(), "replications": replications }))
}

/// What the command finds in the same scenario.
fn command() -> quell_lab::Results {
    let study = Document::parse(crate::SMALL, "small.toml").unwrap().study(&Plugins::new()).unwrap();
    quell_lab::run(&study, &Options { series: Series::All, ..Options::default() }).unwrap()
}

#[test]
fn about_lists_the_catalogs() {
    let about = ok(&mut quell_web::Lab::default(), &json!({ "do": "about" }));
    let names = |key: &str| {
        let all = about[key].as_array().unwrap().iter();
        all.map(|item| item["name"].as_str().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert!(names("algorithms").iter().any(|name| name == "fq-codel"));
    assert!(names("senders").iter().any(|name| name == "cubic"));
    assert!(names("dialects").iter().any(|name| name == "quell"));
    assert!(names("metrics").iter().any(|name| name == "queue_delay_p99_s"));
    assert!(names("diagrams").iter().any(|name| name == "queue"));
    assert!(names("loads").iter().any(|name| name == "rrul"));
    assert!(names("links").iter().any(|name| name == "cable"));
    let red = about["algorithms"].as_array().unwrap().iter().find(|a| a["name"] == "red").unwrap();
    let max_p = red["params"].as_array().unwrap().iter().find(|p| p["name"] == "max_p").unwrap();
    assert_eq!((&max_p["kind"], &max_p["unit"]), (&json!("number"), &json!("1")));
    assert!(red["style"]["color"].as_str().unwrap().starts_with('#'));
}

#[test]
fn check_says_what_a_scenario_describes() {
    let mut lab = quell_web::Lab::default();
    let mut source = small();
    source["set"] = json!([["aqm.pie.target", "5 ms"], ["dumbbell.rate", "4 Mbit/s"]]);
    source["aqm"] = json!(["pie", "drop-tail"]);
    let checked = ok(&mut lab, &json!({ "do": "check", "source": source }));
    let point = &checked["points"][0];
    assert_eq!(point["algorithms"], json!(["pie", "drop-tail"]));
    assert_eq!((&point["seeds"], &point["flows"]), (&json!([1, 2]), &json!(3.0)));
    assert_eq!((&point["links"], &point["classes"]), (&json!(["bottleneck"]), &json!(["ftp", "acks"])));
    assert_eq!(checked["defaults"]["dumbbell"]["rate"], "4 Mbit/s");
    assert_eq!(checked["defaults"]["aqm"][0]["target"], "5 ms");
    assert_eq!(checked["runs"], 4);
    let swept = format!("{}\n[sweep]\n\"flows.ftp.count\" = [1, 2, 4]\n", crate::SMALL);
    let ask = json!({ "do": "check", "source": { "text": swept }, "point": 2 });
    let checked = ok(&mut lab, &ask);
    assert_eq!(checked["points"][1]["settings"], json!([{ "field": "flows.ftp.count", "value": "2" }]));
    assert_eq!(checked["defaults"]["flows"][0]["count"], 4);
}

/// A run has the digest and the metrics of the command, and is the same whether or not it is watched.
#[test]
fn a_run_is_that_of_the_command() {
    let mut lab = quell_web::Lab::default();
    let results = command();
    for found in &results.replications {
        let run = |watched: bool| {
            json!({
                "do": "run", "source": small(), "algorithm": found.algorithm, "seed": found.seed.to_string(),
                "watched": watched, "packed": true,
            })
        };
        let mut answer = ok(&mut lab, &run(true));
        assert_eq!(answer["digest"], format!("{:016x}", found.digest));
        let rows = answer["metrics"].as_array().unwrap();
        assert_eq!(rows.len(), found.metrics.len());
        for (row, want) in rows.iter().zip(&found.metrics) {
            assert_eq!(
                (row["scope"].as_str(), row["link"].as_str()),
                (Some(&*want.scope), Some(&*want.link))
            );
            for (metric, value) in want.values.iter().filter(|(_, value)| value.is_finite()) {
                assert_eq!(row["values"][metric.name()].as_f64(), Some(value), "{}", metric.name());
            }
        }
        let series = &answer["series"][0];
        assert_eq!(series["time_s"].as_array().unwrap().len(), found.series[0].time_s.len());
        assert_eq!(series["throughput_bps"][0][0], "ftp");
        assert_eq!(answer["windows"].as_array().unwrap().len(), 3);
        let window = &answer["windows"][1];
        assert_eq!((&window["flow"], &window["group"]), (&json!(1), &json!("ftp")));
        assert!(window["packets"].as_array().unwrap().iter().any(|w| w.as_f64().unwrap() > 2.0));
        assert_eq!(answer["flows"].as_array().unwrap().len(), 3);
        let cdf = answer["delays"][0]["cumulative_probability"].as_array().unwrap();
        assert_eq!(cdf.last().unwrap().as_f64(), Some(1.0));
        // All of it is the same without a watcher, the windows included.
        let other = ok(&mut lab, &run(false));
        assert_eq!(answer.take(), other);
    }
}

#[test]
fn another_step_leaves_the_sample_path() {
    let mut lab = quell_web::Lab::default();
    let run =
        |step: Value| json!({ "do": "run", "source": small(), "algorithm": "pi", "seed": 1, "step_s": step });
    let (usual, fine) = (ok(&mut lab, &run(Value::Null)), ok(&mut lab, &run(json!(0.001))));
    assert_eq!(usual["digest"], fine["digest"]);
    assert_eq!(fine["series"][0]["time_s"].as_array().unwrap().len(), 4000);
    for wrong in [json!(0.0), json!(-1.0), json!(1e-9)] {
        let message = fault(&run(wrong))["message"].as_str().unwrap().to_string();
        assert!(message.contains("at least a millionth of the duration"), "{message}");
    }
}

/// Whoever listens gets each sample once, in order, and the last of them when it is due.
#[test]
fn a_listener_gets_the_samples() {
    #[derive(Debug, Default)]
    struct Heard(std::sync::Mutex<Vec<(f64, Value)>>);
    impl quell_web::Listener for Heard {
        fn progress(&self, done: f64, samples: &str) {
            self.0.lock().unwrap().push((done, serde_json::from_str(samples).unwrap()));
        }
    }
    let heard = std::sync::Arc::<Heard>::default();
    let mut lab = quell_web::Lab::new(heard.clone());
    let text = crate::SMALL.replace("\"4 s\"", "\"60 s\"").replace("2 Mbit/s", "20 Mbit/s");
    let run =
        json!({ "do": "run", "source": { "text": text }, "algorithm": "pi", "seed": 1, "watched": true });
    let answer = ok(&mut lab, &run);
    let heard = heard.0.lock().unwrap();
    assert!(heard.len() > 5 && heard.windows(2).all(|two| two[0].0 <= two[1].0), "{}", heard.len());
    assert!(heard.iter().all(|(done, _)| (0.0..=1.0).contains(done)));
    let last = &answer["series"][0];
    for key in ["time_s", "queue_mean_packets", "queue_delay_mean_s", "marked_packets"] {
        let all = heard.iter().flat_map(|(_, samples)| samples.as_array().unwrap());
        let values: Vec<Value> = all.flat_map(|s| s[key].as_array().unwrap().clone()).collect();
        assert!(values.len() > 200, "{key}: {}", values.len());
        assert_eq!(values, last[key].as_array().unwrap()[..values.len()], "{key}");
    }
    let first = heard.iter().find_map(|(_, samples)| samples.get(0)).unwrap();
    assert_eq!(first["internals"][0]["name"], last["internals"][0]["name"]);
    assert_eq!(first["throughput_bps"][0][0], "ftp");
}

/// Replications of any order give the results of the command.
#[test]
fn gathered_results_are_those_of_the_command() {
    let mut lab = quell_web::Lab::default();
    let found = gathered(&mut lab);
    let results = command();
    assert_eq!(found["digest"], results.run.digest);
    assert_eq!((&found["finished"], &found["asked"]), (&json!(4), &json!(4)));
    assert_eq!(found["points"][0]["scopes"], json!(results.scopes(0)));
    let id = found["id"].clone();

    const METRICS: [&str; 3] = ["utilization", "packet_rate_pps", "queue_delay_p99_s"];
    let table = ok(&mut lab, &json!({ "do": "table", "id": id, "metrics": METRICS }));
    let rows = table["rows"].as_array().unwrap();
    let view = quell_metrics::View::of_point(0);
    for (row, algorithm) in rows.iter().zip(["drop-tail", "pi"]) {
        let want = results.estimate(&view, algorithm, quell_metrics::Metric::Utilization).unwrap();
        assert_eq!((&row["algorithm"], &row["seeds"]), (&json!(algorithm), &json!(2)));
        assert_eq!(row["cells"][0]["mean"].as_f64(), Some(want.mean));
    }
    assert_eq!(table["columns"][0]["unit"], "%");
    // The table marks the best as the report does, and not whatever mean is best.
    let view = quell_metrics::View::of_point(0);
    for (column, name) in METRICS.iter().enumerate() {
        let best = quell_view::report::best(&results, &view, results.algorithms(0), &name.parse().unwrap());
        let marked = rows.iter().position(|row| row["cells"][column]["best"] == true);
        assert_eq!(marked, best, "{name}");
    }
    let compared = json!({ "do": "table", "id": id, "metrics": ["queue_packets"], "baseline": "drop-tail" });
    let compared = ok(&mut lab, &compared);
    assert_eq!(compared["rows"][0]["cells"][0]["difference"], Value::Null);
    assert!(compared["rows"][1]["cells"][0]["difference"]["text"].as_str().unwrap().starts_with('-'));
    assert!(compared["csv"].as_str().unwrap().contains("drop-tail"));
    assert!(compared["latex"].as_str().unwrap().contains("tabular"));

    let about = ok(&mut lab, &json!({ "do": "about" }));
    let mut drawn = 0;
    for diagram in about["diagrams"].as_array().unwrap() {
        let ask = json!({ "do": "chart", "id": id, "diagram": diagram["name"] });
        let answer = crate::answer(&mut lab, &ask);
        if let Some(chart) = answer.get("ok") {
            assert!(chart["svg"].as_str().unwrap().starts_with("<svg"));
            assert!(!chart["chart"]["panels"].as_array().unwrap().is_empty());
            drawn += 1;
        } else {
            assert_eq!(answer["error"]["kind"], "request", "{answer}");
        }
    }
    assert!(drawn > 5, "{drawn}");
    let small = json!({ "do": "chart", "id": id, "diagram": "queue", "width": 326.0, "titled": false });
    assert!(ok(&mut lab, &small)["svg"].as_str().unwrap().contains("326"));
    let report = ok(&mut lab, &json!({ "do": "report", "id": id }));
    assert!(report["html"].as_str().unwrap().contains("quell run small.toml"));

    let replications = packed(&mut lab);
    let again =
        json!({ "do": "gather", "source": small_source(), "replications": replications[..1], "id": id });
    assert_eq!(ok(&mut lab, &again)["finished"], 1);
    ok(&mut lab, &json!({ "do": "forget", "id": id }));
    let gone = crate::answer(&mut lab, &json!({ "do": "report", "id": id }));
    assert!(gone["error"]["message"].as_str().unwrap().contains("gather them again"));
}

fn small_source() -> Value {
    small()
}

/// Results of a folder come as their record and their replications.
#[test]
fn results_are_opened() {
    let mut lab = quell_web::Lab::default();
    let results = command();
    let bytes = quell_metrics::pack(&results.replications).unwrap();
    use base64::Engine as _;
    let text = base64::engine::general_purpose::STANDARD.encode(bytes);
    let found = ok(&mut lab, &json!({ "do": "open", "run": results.run, "replications": [text] }));
    assert_eq!((&found["digest"], &found["title"]), (&json!(results.run.digest), &json!("Small")));
    let table = ok(&mut lab, &json!({ "do": "table", "id": found["id"] }));
    assert_eq!(table["rows"].as_array().unwrap().len(), 2);
}

#[test]
fn theory_says_what_analyze_does() {
    let mut lab = quell_web::Lab::default();
    let id = gathered(&mut lab)["id"].clone();
    let ask = json!({ "do": "theory", "source": small(), "fluid": true, "id": id });
    let theory = ok(&mut lab, &ask);
    let of = |label: &str| {
        let all = theory["assessments"].as_array().unwrap();
        all.iter().find(|a| a["label"] == label).unwrap().clone()
    };
    assert_eq!(of("drop-tail")["verdict"], "no-model");
    let pi = of("pi");
    assert!(["stable", "unstable"].contains(&pi["verdict"].as_str().unwrap()), "{pi}");
    assert!(pi["margins"]["gain"].is_number() && pi["fluid"]["motion"].is_string());
    assert!(pi["packets"]["motion"].is_string(), "{pi}");
    assert_eq!(theory["reach"][1].as_array().unwrap().len(), 3);
    assert_eq!(theory["loops"][0]["frequency"].as_array().unwrap().len(), 600);
    assert!(theory["bode_svg"].as_str().unwrap().starts_with("<svg"));
    assert!(theory["nyquist_svg"].as_str().unwrap().starts_with("<svg"));

    let axis = |name: &str, from: f64, to: f64| json!({ "name": name, "from": from, "to": to, "log": true });
    let map = json!({
        "do": "map", "source": small(), "algorithm": "pi", "x": axis("flows", 1.0, 50.0),
        "y": axis("rtt", 0.02, 0.4), "points": 8,
    });
    let found = ok(&mut lab, &map);
    assert_eq!(found["values"].as_array().unwrap().len(), 64);
    assert!((0.0..=1.0).contains(&found["stable"].as_f64().unwrap()));
    let mut wrong = map.clone();
    wrong["x"]["name"] = json!("color");
    assert!(fault(&wrong)["message"].as_str().unwrap().contains("must be flows, rate, rtt"));
    wrong = map.clone();
    wrong["algorithm"] = json!("drop-tail");
    assert!(fault(&wrong)["message"].as_str().unwrap().contains("no model of drop-tail"));
    // Reasons and checks are those of the command.
    wrong = map.clone();
    wrong["x"] = axis("rate", -1.0, 5.0);
    assert!(fault(&wrong)["message"].as_str().unwrap().contains("must be positive over its whole range"));
    let mut blank = map.clone();
    blank["y"] = axis("rtt", 0.02, 20.0);
    blank["algorithm"] = json!("pi");
    blank["show"] = json!("phase-margin");
    let missing = ok(&mut lab, &blank)["missing"].clone();
    assert!(missing.to_string().contains("unstable, or without a limit: no phase margin"), "{missing}");
    wrong = map;
    wrong["points"] = json!(100_000);
    assert!(fault(&wrong)["message"].as_str().unwrap().contains("from 2 to 200"));
}

/// What the advice for a fast link asks for is as many packets as that for a slow one, so a page has room for it.
#[test]
fn a_page_has_room_for_the_runs_of_a_fast_link() {
    for rtt in ["1..10 ms", "10..300 ms"] {
        let ask = json!({ "do": "recommend", "down": "10 Gbit/s", "up": "10 Gbit/s", "rtt": rtt, "link": "port",
            "can": "openwrt", "hosts": "1", "found": [] });
        let runs = ok(&mut quell_web::Lab::default(), &ask)["runs"].as_array().unwrap().clone();
        assert!(runs.len() >= 2, "{runs:?}");
        for run in runs {
            let memory = run["estimated_memory"].as_f64().unwrap();
            assert!(memory < 400e6, "{rtt}: {memory}: {}", run["text"]);
        }
    }
}
