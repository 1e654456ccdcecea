//! The report: what the page says, and that a browser shows it.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;

use quell_lab::{Better, Metric, Options, Results, View, run};
use quell_scenario::{Plugins, Study};
use quell_view::report;

/// Two classes, two segments, three algorithms, a swept field, and names that try to break out.
const SCENARIO: &str = r#"
schema = 1
title = "</script><b id=\"hostile\">A & B"
description = "Shown as it is: <img src=x onerror=alert(1)>"
duration = "12 s"
warmup = "2 s"
segments = "5 s"
seeds = 3

[dumbbell]
rate = "2 Mbit/s"
delay = "20 ms"
buffer = "60 packets"
changes = [{ at = "6 s", rate = "1 Mbit/s" }]

[[aqm]]
algorithm = "drop-tail"

[[aqm]]
algorithm = "red"
label = "red </script><i>"

[[aqm]]
algorithm = "pi"

[[flows]]
name = "ftp"
count = 8

[[flows]]
name = "web"
kind = "transfers"
count = 4
size = "20 packets"
think = "1 s"

[sweep]
"flows.ftp.count" = [4, 8]
"#;

fn results() -> &'static Results {
    static RESULTS: OnceLock<Results> = OnceLock::new();
    RESULTS.get_or_init(|| {
        let study = Study::parse(SCENARIO, "it's <here>.toml", &Plugins::new()).expect("a sound scenario");
        let command = ["quell", "run", "it's <here>.toml"].map(str::to_string).to_vec();
        run(&study, &Options { command, ..Options::default() }).expect("it runs")
    })
}

fn page() -> &'static str {
    static PAGE: OnceLock<String> = OnceLock::new();
    PAGE.get_or_init(|| report::html(results()))
}

/// A mean that is best by chance is not called best.
#[test]
fn the_best_is_better_than_each_other_one_beyond_chance() {
    let (mut marked, mut left) = (0, 0);
    for point in 0..2 {
        let (view, algorithms) = (View::of_point(point), results().algorithms(point));
        for metric in Metric::TABLE {
            let means: Vec<f64> =
                algorithms.iter().filter_map(|a| Some(results().estimate(&view, a, *metric)?.mean)).collect();
            let Some(best) = report::best(results(), &view, algorithms, &(*metric).into()) else {
                left += usize::from(means.windows(2).any(|pair| pair[0] != pair[1]));
                continue;
            };
            marked += 1;
            let others: Vec<_> = results().compare(&view, &algorithms[best], &[*metric]);
            assert_eq!(others.len(), algorithms.len() - 1, "{}", metric.name());
            for other in others {
                let worse = match metric.better() {
                    Better::Higher => other.difference.mean < 0.0,
                    _ => other.difference.mean > 0.0,
                };
                assert!(worse && other.difference.excludes_zero(), "{} {other:?}", metric.name());
            }
        }
    }
    assert!(marked > 2 && left > 2, "{marked} metrics have a best, and {left} have none");
}

#[test]
fn every_figure_of_the_table_is_on_the_page() {
    for point in 0..2 {
        for algorithm in results().algorithms(point) {
            for metric in Metric::TABLE {
                let Some(e) = results().estimate(&View::of_point(point), algorithm, *metric) else {
                    continue;
                };
                // Cells carry the unrounded value in the unit in which the column is shown.
                let shown = [1.0, 1e-3, 1e-6, 1e3, 100.0].map(|f| format!("data-value=\"{}\"", e.mean * f));
                assert!(shown.iter().any(|s| page().contains(s)), "{algorithm}, {}: {e:?}", metric.name());
            }
        }
    }
    for text in
        ["utilization", "goodput", "mean queue", "P99 delay", "Jain index", "± ", "Mbit/s", "packets", "ms"]
    {
        assert!(page().contains(text), "{text}");
    }
}

#[test]
fn it_says_how_to_repeat_the_run() {
    let run = &results().run;
    for text in [run.digest.as_str(), run.version.as_str(), "after a warm-up of 2 s", "1, 2, 3"] {
        assert!(page().contains(text), "{text}");
    }
    for r in &results().replications {
        assert!(page().contains(&format!("{:016x}", r.digest)));
    }
    // Both points' resolved scenarios, with quotes as entities.
    assert_eq!(page().matches("duration = &#34;12 s&#34;").count(), 3, "two resolved, one as written");
}

#[test]
fn names_cannot_break_out_of_their_place() {
    let page = page();
    assert!(!page.contains("<b id=") && !page.contains("<img") && !page.contains("<i>"));
    assert_eq!(page.matches("</script>").count(), 3, "three script elements end, no more");
    // As a shell would take it.
    assert!(page.contains("&#39;it&#39;\\&#39;&#39;s &#60;here&#62;.toml&#39;"));
    let data = page.split("id=\"data\">").nth(1).and_then(|rest| rest.split("</script>").next());
    let data: serde_json::Value = serde_json::from_str(data.expect("the data's element")).expect("JSON");
    assert_eq!(data["algorithms"][1], "red </script><i>");
}

#[test]
fn its_data_has_distributions_rates_and_changes() {
    let data = page().split("id=\"data\">").nth(1).and_then(|rest| rest.split("</script>").next());
    let data: serde_json::Value = serde_json::from_str(data.expect("the data's element")).expect("JSON");
    let point = &data["points"][0];
    assert_eq!(point["events"], serde_json::json!([{ "at_s": 6.0, "label": "rate 1 Mbit/s" }]));
    let run = &point["over_time"][0]["runs"][0];
    let classes: Vec<_> = run["throughput"].as_array().unwrap().iter().map(|t| &t["class"]).collect();
    assert_eq!(classes, ["all", "ftp", "web"]);
    let rates = point["over_time"][0]["rate_time_s"].as_array().unwrap().len();
    assert_eq!(run["throughput"][0]["mbps"].as_array().unwrap().len(), rates);
    for queue in point["queues"][0]["curves"].as_array().unwrap() {
        let cdf: Vec<f64> = queue["cdf"].as_array().unwrap().iter().filter_map(|v| v.as_f64()).collect();
        assert!(cdf.is_sorted() && (cdf[cdf.len() - 1] - 1.0).abs() < 1e-3);
    }
    assert_eq!(data["sweep"]["axes"][0]["log"], false, "two values are no row of ratios");
}

#[test]
fn a_notebook_gets_the_table() {
    let html = report::summary(results());
    let markup = format!("<x>{}</x>", html.replace("&nbsp;", " "));
    let document = roxmltree::Document::parse(&markup).expect("well-formed");
    let rows = document.descendants().filter(|n| n.has_tag_name("tr")).count();
    assert_eq!(rows, 2 * (1 + 3), "two points, a head and three algorithms each");
    let means = results().estimate(&View::default(), "pi", Metric::DelayMean).expect("a mean");
    let shown = quell_view::figures::round(&means, quell_view::figures::scale(Metric::DelayMean, 1.0), false);
    assert!(
        html.contains(&format!("<td>{} ± {}</td>", shown.mean, shown.half_width.expect("an interval"))),
        "{html}"
    );
    assert!(!html.contains("<b id=") && html.contains("18 replications"));
}

#[test]
fn nothing_is_fetched() {
    let markup = page().split("<style>").next().expect("a head");
    assert!(markup.contains("default-src 'none'"));
    // What is within the page is not fetched.
    let page = page().replace("&#60;img src=x", "").replace("url(#", "");
    for reference in ["src=", "href=", "url(", "@import", "fetch(", "XMLHttpRequest"] {
        assert!(!page.contains(reference), "{reference}");
    }
}

#[test]
fn partial_results_say_so() {
    assert!(!page().contains("Partial results"));
    let mut partial = results().clone();
    partial.run.partial = true;
    partial.replications.retain(|r| r.seed != 3 || r.algorithm == "drop-tail");
    let page = report::html(&partial);
    assert!(
        page.contains("Partial results.")
            && page.contains("The run was stopped after 14 of 18 replications.")
    );
    assert!(page.contains("(n&nbsp;=&nbsp;2)"));
}

#[test]
fn a_run_stopped_before_anything_finished_makes_a_page() {
    let mut nothing = results().clone();
    nothing.run.partial = true;
    nothing.replications.clear();
    assert!(report::html(&nothing).contains("The run was stopped after 0 of 18 replications."));
}

#[test]
fn long_runs_stay_small() {
    let mut long = results().clone();
    let stretch = |v: &mut Vec<f64>| *v = v.iter().cycle().take(20_000).copied().collect();
    for series in long.replications.iter_mut().flat_map(|r| &mut r.series) {
        series.time_s = (0..20_000).map(f64::from).collect();
        stretch(&mut series.queue_mean_packets);
        stretch(&mut series.queue_delay_mean_s);
        series.internals.iter_mut().for_each(|i| stretch(&mut i.values));
    }
    assert!(report::html(&long).len() < 4 << 20);
}

/// A browser, if one is installed.
fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
    std::env::split_paths(&path).flat_map(|dir| names.map(|n| dir.join(n))).find(|file| file.is_file())
}

/// Writes down what only a browser knows, and clicks through the controls.
const PROBE: &str = r##"<script>
(function () {
  const root = document.documentElement;
  root.dataset.width = innerWidth;
  root.dataset.overflow = root.scrollWidth - innerWidth;
  root.dataset.canvases = [...document.querySelectorAll("canvas")].filter((c) => c.width > 100).length;
  const change = (select, value) => { select.value = value; select.dispatchEvent(new Event("change")); };
  for (const select of document.querySelectorAll("select"))
    for (const option of [...select.options]) change(select, option.value);
  document.querySelector("#apart").click();
  document.querySelector("#algorithms button").click();
  document.querySelector(".of:not([hidden]) thead th:nth-child(2) button").click();
  const sorted = [...document.querySelector(".of:not([hidden]) tbody").rows].map((r) => Number(r.cells[1].dataset.value));
  root.dataset.sorted = sorted.every((v, i) => i === 0 || sorted[i - 1] <= v);
  root.dataset.overflowAfter = root.scrollWidth - innerWidth;
  root.dataset.hostile = document.getElementById("hostile") !== null;
  // What would be saved: a blob's bytes come too late for a clock that runs ahead.
  const saved = [];
  window.Blob = class { constructor(parts, { type }) { saved.push({ type, text: parts[0] }); } };
  URL.createObjectURL = () => "blob:";
  HTMLAnchorElement.prototype.click = function () { saved[saved.length - 1].name = this.download; };
  const buttons = [...document.querySelectorAll(".save button")];
  const next = (k) => {
    if (k < buttons.length) {
      buttons[k].click();
      return setTimeout(() => next(k + 1), 20);
    }
    const pictures = saved.filter((s) => s.type === "image/svg+xml").map((s) => new DOMParser().parseFromString(s.text, s.type));
    root.dataset.figures = document.querySelectorAll(".charts figure").length;
    root.dataset.pictures = pictures.filter((p) => p.documentElement.tagName === "svg" && p.querySelectorAll("path").length > 3).length;
    root.dataset.tables = saved.filter((s) => s.name.endsWith(".csv") && s.text.split("\r\n").length > 2).length;
    const queue = saved.find((s) => s.name.startsWith("queue-b") && s.type === "text/csv");
    root.dataset.csv = queue ? queue.text.split("\r\n").slice(0, 2).join(";") : "";
    parent.postMessage({ ...root.dataset }, "*");
  };
  next(0);
})();
</script>"##;
const FRAME: &str = r#"<!doctype html><html><body>
<script>addEventListener("message", (e) => { Object.assign(document.documentElement.dataset, e.data); });</script>
<iframe src="report.html" style="width: WIDTHpx; height: 900px; border: 0"></iframe></body></html>"#;
const WATCH: &str = r#"<script>addEventListener("error", (e) => { document.documentElement.dataset.error = e.message; });
addEventListener("securitypolicyviolation", (e) => { document.documentElement.dataset.error = "fetched " + e.blockedURI; });</script>"#;

#[test]
fn a_browser_shows_it_at_any_width() {
    let Some(browser) = browser() else {
        println!("skipped: no chromium, chromium-browser or google-chrome in PATH");
        return;
    };
    let folder = tempfile::tempdir().expect("a folder");
    let report = page().replacen("<style>", &format!("{WATCH}<style>"), 1);
    let at = report.rfind("</body>").expect("a body");
    let file = folder.path().join("report.html");
    std::fs::write(&file, format!("{}{PROBE}{}", &report[..at], &report[at..])).expect("written");
    for width in [380, 1600] {
        // No window is as narrow as a telephone, but a frame may be; it sends up what the probe found.
        let frame = folder.path().join("frame.html");
        std::fs::write(&frame, FRAME.replace("WIDTH", &width.to_string())).expect("written");
        let profile = tempfile::tempdir().expect("a folder");
        let output = Command::new(&browser)
            .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .args(["--window-size=1700,1000", "--virtual-time-budget=20000", "--dump-dom"])
            .arg(format!("file://{}", frame.display()))
            .output()
            .expect("the browser starts");
        let dom = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        let root = dom.split_once("<html").and_then(|(_, rest)| rest.split_once('>')).map(|(tag, _)| tag);
        let root = root.unwrap_or_else(|| panic!("no page came back: {errors}"));
        let value = |name: &str| {
            let start = format!("data-{name}=\"");
            root.split_once(start.as_str()).and_then(|(_, rest)| rest.split('"').next()).map(str::to_string)
        };
        assert_eq!(value("error"), None, "at {width}: {root}");
        assert_eq!(value("ready").as_deref(), Some("true"), "at {width}: {root}");
        let canvases: u32 = value("canvases").and_then(|c| c.parse().ok()).unwrap_or(0);
        assert!(canvases >= 8, "at {width}: {root}");
        assert_eq!(value("width"), Some(width.to_string()), "{root}");
        for name in ["overflow", "overflow-after"] {
            let overflow: i32 = value(name).and_then(|c| c.parse().ok()).unwrap_or(1);
            assert!(overflow <= 0, "at {width}: the page is wider than the window: {root}");
        }
        assert_eq!(value("sorted").as_deref(), Some("true"), "at {width}: {root}");
        assert_eq!(value("hostile").as_deref(), Some("false"), "at {width}: {root}");
        let figures: u32 = value("figures").and_then(|c| c.parse().ok()).unwrap_or(0);
        assert!(figures >= 12, "at {width}: {root}");
        for name in ["pictures", "tables"] {
            assert_eq!(value(name), Some(figures.to_string()), "{name} saved at {width}: {root}");
        }
        // The second panel, since the first algorithm is hidden.
        let csv = value("csv").unwrap_or_default();
        assert!(csv.starts_with("curve,time [s],queue [packets];pi,0.0"), "at {width}: {csv}");
    }
}

#[test]
fn points_that_were_left_out_are_one_box_that_opens() {
    let with_holes = |n: usize| {
        let mut results = results().clone();
        results.run.holes = (0..n)
            .map(|i| quell_scenario::Hole {
                settings: vec![quell_scenario::Setting { field: "f".into(), value: i.to_string() }],
                reason: "<b>is not valid".into(),
            })
            .collect();
        report::html(&results)
    };
    let few = with_holes(2);
    assert!(
        few.contains("<details class=\"notice\" open><summary>Left out and not run: 2 of 4 points</summary>")
    );
    let many = with_holes(250);
    assert!(
        many.contains("<details class=\"notice\"><summary>Left out and not run: 250 of 252 points</summary>")
    );
    // Two hundred lines, of which the last says how many more there are.
    assert_eq!(many.matches("<li>f = ").count(), 199);
    assert!(many.contains("and 51 others"));
    assert!(many.contains("&#60;b&#62;is not valid") && !with_holes(0).contains("Left out"));
}
