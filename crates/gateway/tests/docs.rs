//! The page of metrics and the dashboard are about the metrics that there are.
//!
//! `QUELL_UPDATE_DOCS=1 cargo test -p quell-gateway --test all docs::` writes the page's tables again.
#![cfg(target_os = "linux")]

use std::collections::BTreeSet;

use quell_gateway::metrics::export::{METRICS, Metric, Type};
use quell_gateway::metrics::{Kind, SCHEMA, Thresholds};
use quell_units::text::three_digits;

const BEGIN: &str =
    "<!-- metrics: written by QUELL_UPDATE_DOCS=1 cargo test -p quell-gateway --test all docs:: -->\n";
const END: &str = "<!-- metrics: end -->\n";

fn tables() -> String {
    let mut text = String::from("\n| metric | type | labels | is |\n| --- | --- | --- | --- |\n");
    for m in METRICS {
        let labels: Vec<String> = m.labels.iter().map(|l| format!("`{l}`")).collect();
        let help = m.help.replace('|', "\\|");
        text += &format!("| `{}` | {} | {} | {help} |\n", m.name, m.kind.name(), labels.join(" "));
    }
    let limits = Thresholds::default();
    text += &format!(
        "\nAn anomaly of a line is raised when its metric has been above the first threshold in every second for {}, \
         and cleared when it has been below the second threshold in every second for {}.\n\n\
         | anomaly | is raised above | is cleared below | means |\n| --- | --- | --- | --- |\n",
        limits.raise, limits.clear
    );
    let percent = |share: f64| format!("{}%", three_digits(share * 100.0));
    for kind in Kind::OF_LINE.into_iter().chain(Kind::OF_ALL) {
        let [raised, cleared] = match kind {
            Kind::Overflow => {
                limits.overflow.map(|x| format!("{} of arrivals dropped for want of room", percent(x)))
            }
            Kind::Delay => limits.delay.map(|x| format!("P99 of the delay: {x}")),
            Kind::Lateness => limits.lateness.map(|x| format!("P99 of the lateness: {x}")),
            Kind::KernelDrops => ["one packet".into(), format!("none for {}", limits.clear)],
            Kind::Bypass => ["one packet, or missing rules".into(), format!("none for {}", limits.clear)],
            Kind::DeviceGone => ["at once".into(), "at once".into()],
            Kind::LogEnded => ["at once".into(), "not".into()],
            Kind::Stalled => [format!("nothing published for {}", limits.stalled), "at once".into()],
        };
        text += &format!("| `{kind}` | {raised} | {cleared} | {} |\n", kind.says());
    }
    text + "\n"
}

#[test]
fn the_page_of_metrics_is_that_of_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gateway.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once(BEGIN).expect("the page has the marker of its tables");
    let (_, after) = rest.split_once(END).expect("the page has the end of its tables");
    let wanted = [before, BEGIN, &tables(), END, after].concat();
    if std::env::var_os("QUELL_UPDATE_DOCS").is_some() {
        std::fs::write(path, &wanted).unwrap();
        return;
    }
    assert!(
        page == wanted,
        "docs/gateway.md is stale; QUELL_UPDATE_DOCS=1 cargo test -p quell-gateway --test all docs:: writes it again"
    );
}

/// What the page says of the shapes and formats that have a version.
#[test]
fn the_page_names_the_versions_of_the_code() {
    let page = include_str!("../../../docs/gateway.md");
    let said: Vec<&str> =
        page.split("`\"schema\": ").skip(1).filter_map(|rest| rest.split('`').next()).collect();
    assert_eq!(said, [SCHEMA.to_string()]);
    let log = tempfile::NamedTempFile::new().unwrap();
    let header = quell_gateway::LogHeader::now(Vec::new());
    let to = log.reopen().unwrap();
    quell_gateway::Recorder::new(to, &header).unwrap().close(quell_units::Time::ZERO).unwrap();
    let text = std::fs::read(log.path()).unwrap();
    let first = String::from_utf8_lossy(&text[..text.iter().position(|b| *b == b'\n').unwrap()]).into_owned();
    assert!(page.contains(&format!("`{first}`")), "{first}");
    assert!(page.contains(&format!("{} bytes for each event", quell_gateway::RECORD)));
}

/// What `promtool check metrics` holds against a name or a label.
fn complaints(metric: &Metric) -> Vec<String> {
    const UNITS: [(&str, &str); 12] = [
        ("minutes", "seconds"),
        ("hours", "seconds"),
        ("days", "seconds"),
        ("weeks", "seconds"),
        ("milliseconds", "seconds"),
        ("microseconds", "seconds"),
        ("nanoseconds", "seconds"),
        ("bits", "bytes"),
        ("kilobits", "bytes"),
        ("megabits", "bytes"),
        ("kilobytes", "bytes"),
        ("megabytes", "bytes"),
    ];
    const SHORT: [&str; 15] =
        ["s", "ms", "us", "ns", "sec", "b", "kb", "mb", "gb", "tb", "pb", "m", "h", "d", "bps"];
    let Metric { name, kind, labels, help } = metric;
    let words: Vec<&str> = name.split('_').collect();
    let mut found = Vec::new();
    let mut hold = |wrong: bool, why: String| found.extend(wrong.then(|| format!("{name}: {why}")));
    hold(help.is_empty(), "no help".into());
    hold(name.ends_with("_total") != (*kind == Type::Counter), "_total is for counters".into());
    for ending in ["_bucket", "_sum", "_count"] {
        hold(name.ends_with(ending), format!("{ending} is for parts of histograms"));
    }
    for label in ["quantile", "le"] {
        hold(labels.contains(&label), format!("the label {label} is for summaries and histograms"));
    }
    for (unit, base) in UNITS {
        hold(words.contains(&unit), format!("{unit} for {base}"));
    }
    for word in SHORT.into_iter().chain(["counter", "gauge", "summary", "histogram"]) {
        hold(words.contains(&word), format!("{word} in a name"));
    }
    for text in labels.iter().chain([name]) {
        let snake = |c: char| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit();
        hold(!text.chars().all(snake), format!("{text} in another case"));
    }
    found
}

/// Where there is `promtool`, the page itself is shown to it (`metrics.rs`).
#[test]
fn names_are_as_prometheus_has_them() {
    let found: Vec<String> = METRICS.iter().flat_map(complaints).collect();
    assert!(found.is_empty(), "{found:#?}");
    // A metric has its unit in its name, and what is counted.
    for metric in METRICS.iter().filter(|m| m.kind == Type::Histogram) {
        assert!(metric.name.ends_with("_seconds"), "{}", metric.name);
    }
    for metric in METRICS.iter().filter(|m| m.name.contains("since")) {
        assert!(metric.name.ends_with("_timestamp_seconds"), "{}", metric.name);
    }
}

/// The names of metrics in a query.
fn names(query: &str) -> impl Iterator<Item = &str> {
    query.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').filter(|word| word.starts_with("quell_"))
}

#[test]
fn the_dashboard_asks_for_what_is_exported() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/dist/grafana.json");
    let text = std::fs::read_to_string(path).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let series: BTreeSet<String> = METRICS
        .iter()
        .flat_map(|m| match m.kind {
            Type::Histogram => ["_bucket", "_sum", "_count"].map(|s| format!("{}{s}", m.name)).to_vec(),
            _ => vec![m.name.to_string()],
        })
        .collect();
    let panels = json["panels"].as_array().unwrap();
    let mut queries: Vec<&str> = Vec::new();
    for panel in panels {
        let title = panel["title"].as_str().unwrap();
        let targets = panel["targets"].as_array().unwrap();
        assert!(!targets.is_empty() && !panel["description"].as_str().unwrap().is_empty(), "{title}");
        queries.extend(targets.iter().map(|t| t["expr"].as_str().unwrap()));
    }
    queries.push(json["templating"]["list"][1]["query"]["query"].as_str().unwrap());
    queries.push(json["annotations"]["list"][0]["expr"].as_str().unwrap());
    let mut asked = BTreeSet::new();
    for query in queries {
        assert!(names(query).count() > 0, "{query}");
        for name in names(query) {
            assert!(series.contains(name), "{name} in \"{query}\" is not exported");
            asked.insert(name);
        }
        let open = |a, b| (query.matches(a).count(), query.matches(b).count());
        for (a, b) in [open('(', ')'), open('{', '}'), open('[', ']')] {
            assert_eq!(a, b, "{query}");
        }
    }
    for wanted in [
        "quell_sojourn_recent_seconds",
        "quell_queue_packets",
        "quell_dropped_packets_total",
        "quell_aqm_signal",
    ] {
        assert!(asked.contains(wanted), "{wanted}");
    }
    // No panel lies over another.
    let place = |p: &serde_json::Value| ["x", "y", "w", "h"].map(|k| p["gridPos"][k].as_u64().unwrap());
    for (i, a) in panels.iter().enumerate() {
        let [ax, ay, aw, ah] = place(a);
        assert!(ax + aw <= 24);
        for b in &panels[i + 1..] {
            let [bx, by, bw, bh] = place(b);
            assert!(ax + aw <= bx || bx + bw <= ax || ay + ah <= by || by + bh <= ay, "{a} {b}");
        }
    }
}
