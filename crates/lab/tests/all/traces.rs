//! Traces: what a run keeps of its senders and packets, as files of its results.

use std::collections::BTreeMap;

use quell_lab::{
    Cache, Column, Metric, Options, Results, TraceOptions, TraceTable, Tracing, View, foreign_files,
    read_results, read_trace, run, trace_size, write_results_with,
};
use quell_scenario::{Plugins, Study};
use quell_sim::Engine;

const SCENARIO: &str = r#"
schema = 1
duration = "8 s"
warmup = "0 s"
seeds = 2
[dumbbell]
rate = "2 Mbit/s"
delay = "5 ms"
buffer = "20 packets"
reverse = { aqm = "same" }
ecn = true
[[aqm]]
algorithm = "drop-tail"
[[aqm]]
algorithm = "red"
[[flows]]
name = "ftp"
count = 3
rtt = "50 ms"
tcp = { ecn = true, recovery = "sack" }
[[flows]]
name = "web"
kind = "pages"
count = 1
objects = 6
size = "4 packets"
think = "500 ms"
rtt = "40 ms"
[[flows]]
name = "call"
kind = "udp"
rate = "64 kbit/s"
packet = "200 B"
"#;

fn study() -> Study {
    Study::parse(SCENARIO, "x.toml", &Plugins::new()).unwrap_or_else(|e| panic!("{e}"))
}

fn both() -> TraceOptions {
    TraceOptions { flows: true, packets: true, seeds: 1, ..TraceOptions::default() }
}

type Table = BTreeMap<&'static str, Column>;

/// Runs the study with traces, and gives them as they come back from disk.
fn traced(asked: TraceOptions, options: &Options<'_>) -> (Results, [Option<Table>; 2], tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("results");
    let tracing = Tracing::new(asked, &dir).unwrap();
    let results = run(&study(), &Options { trace: Some(&tracing), ..options.clone() }).unwrap();
    write_results_with(&results, tracing.finish().unwrap(), &dir, false).unwrap();
    assert_eq!(foreign_files(&dir), [""; 0]);
    assert_eq!(read_results(&dir).unwrap().run.digest, results.run.digest);
    let tables = TraceTable::ALL.map(|table| Some(read_trace(&dir, table).ok()?.0.into_iter().collect()));
    (results, tables, folder)
}

fn texts(table: &Table, name: &str) -> Vec<String> {
    let Column::Text(texts) = &table[name] else { panic!("{name} is no text") };
    let distinct: Vec<String> = texts.distinct().map(str::to_string).collect();
    texts.numbers().iter().map(|n| distinct[*n as usize].clone()).collect()
}

fn numbers(table: &Table, name: &str) -> Vec<f64> {
    match &table[name] {
        Column::F64(v) => v.clone(),
        Column::U64(v) => v.iter().map(|x| *x as f64).collect(),
        Column::U32(v) => v.iter().map(|x| x.map_or(f64::NAN, f64::from)).collect(),
        Column::Text(_) => panic!("{name} is text"),
    }
}

fn mean(results: &Results, algorithm: &str, scope: &str, metric: Metric) -> f64 {
    let view = View { scope: scope.to_string(), ..View::default() };
    let rows = results.replications.iter().filter(|r| r.seed == 1 && r.algorithm == algorithm);
    let mut values = rows
        .flat_map(|r| &r.metrics)
        .filter(|m| m.link == "bottleneck" && m.segment.is_none() && m.scope == view.scope);
    values.next().unwrap().values.get(metric).unwrap()
}

/// Counts of the trace's rows are the metrics of the same replication, of which the whole run is measured.
#[test]
fn rows_of_a_trace_are_what_the_metrics_say() {
    let (results, [flows, packets], _folder) = traced(both(), &Options::default());
    let packets = packets.unwrap();
    let (event, link, algorithm) =
        (texts(&packets, "event"), texts(&packets, "link"), texts(&packets, "algorithm"));
    let (bytes, waited) = (numbers(&packets, "bytes"), numbers(&packets, "waited_s"));
    assert!(numbers(&packets, "seed").iter().all(|seed| *seed == 1.0), "only the first seed is traced");
    for name in ["drop-tail", "red"] {
        let rows = |what: &str| -> Vec<usize> {
            let of = |i: &usize| link[*i] == "bottleneck" && algorithm[*i] == name && event[*i] == what;
            (0..event.len()).filter(of).collect()
        };
        let (came, dropped, left) = (rows("enqueue").len(), rows("drop").len(), rows("dequeue"));
        let loss = mean(&results, name, "all", Metric::LossRate);
        // All packets that were dropped here were so on arrival.
        let found = dropped as f64 / (came + dropped) as f64;
        assert!((found - loss).abs() < 1e-12 && dropped > 20, "{name}: {found} {loss}");
        let delay = left.iter().map(|i| waited[*i]).sum::<f64>() / left.len() as f64;
        let measured = mean(&results, name, "all", Metric::DelayMean);
        assert!((delay - measured).abs() < 1e-9, "{name}: {delay} {measured}");
        let sent = left.iter().map(|i| bytes[*i]).sum::<f64>() * 8.0 / 8.0;
        let throughput = mean(&results, name, "all", Metric::Throughput);
        assert!((sent - throughput).abs() < 1e-3 * throughput, "{name}: {sent} {throughput}");
    }
    assert!(!event.iter().zip(&algorithm).any(|(e, a)| e == "mark" && a == "drop-tail"));
    assert!(event.iter().filter(|e| *e == "mark").count() > 5);
    let flows = flows.unwrap();
    let groups: std::collections::BTreeSet<String> = texts(&flows, "group").into_iter().collect();
    assert_eq!(groups.into_iter().collect::<Vec<_>>(), ["ftp", "web"], "UDP has no window");
    // The last sample of a flow has what its row in the results counts.
    let (flow, of, again) =
        (numbers(&flows, "flow"), texts(&flows, "algorithm"), numbers(&flows, "retransmitted_packets"));
    for r in results.replications.iter().filter(|r| r.seed == 1) {
        for row in r.flows.iter().filter(|row| &*row.group == "ftp") {
            let last = (0..flow.len()).rfind(|i| flow[*i] == f64::from(row.flow) && of[*i] == r.algorithm);
            assert_eq!(again[last.unwrap()], row.retransmitted_packets as f64);
        }
    }
}

/// Traces change no figure, whatever the threads and the engine; replications that are traced are run whatever the
/// cache has, and are the same.
#[test]
fn traced_results_are_those_without() {
    let plain = run(&study(), &Options::default()).unwrap();
    let cache_folder = tempfile::tempdir().unwrap();
    let cache = Cache::at(cache_folder.path().to_path_buf());
    run(&study(), &Options { cache: Some(&cache), ..Options::default() }).unwrap();
    let rows = |[flows, packets]: &[Option<Table>; 2]| {
        let mut rows: Vec<String> = Vec::new();
        for table in [flows, packets].into_iter().flatten() {
            for algorithm in ["drop-tail", "red"] {
                let own: Vec<usize> = (0..table["seed"].len())
                    .zip(texts(table, "algorithm"))
                    .filter(|(_, a)| a == algorithm)
                    .map(|(i, _)| i)
                    .collect();
                for (name, column) in table {
                    let cells: Vec<String> = match column {
                        Column::Text(_) => texts(table, name),
                        _ => numbers(table, name).iter().map(f64::to_string).collect(),
                    };
                    rows.push(own.iter().map(|i| cells[*i].as_str()).collect::<Vec<_>>().join(","));
                }
            }
        }
        rows
    };
    let ways = [
        Options { threads: Some(1), ..Options::default() },
        Options { threads: Some(2), ..Options::default() },
        Options { engine: Engine::Reference, ..Options::default() },
        Options { cache: Some(&cache), ..Options::default() },
    ];
    let mut first = None;
    for options in &ways {
        let (results, tables, _folder) = traced(both(), options);
        assert_eq!(results.run.digest, plain.run.digest);
        let rows = rows(&tables);
        assert!(*first.get_or_insert_with(|| rows.clone()) == rows);
        if options.cache.is_some() {
            assert_eq!(results.run.reused, 2, "the second seeds of two algorithms");
        }
    }
}

#[test]
fn what_is_not_asked_for_has_no_file_and_what_is_not_there_is_refused() {
    let only = TraceOptions { packets: false, of_flows: vec!["ftp".into(), "3".into()], ..both() };
    let step = Some(quell_units::Duration::from_millis(100));
    let (_, [flows, packets], folder) = traced(TraceOptions { step, ..only }, &Options::default());
    assert!(packets.is_none());
    let error = read_trace(&folder.path().join("results"), TraceTable::Packets).unwrap_err().to_string();
    assert!(error.contains("packet_trace.parquet") && error.contains("--trace"), "{error}");
    // 81 samples of four flows and two algorithms.
    assert_eq!(flows.unwrap()["time_s"].len(), 81 * 4 * 2);
    for (wrong, says) in [
        (TraceOptions { of_flows: vec!["ftpp".into()], ..both() }, "the groups are ftp, web, call"),
        (TraceOptions { of_flows: vec!["99".into()], ..both() }, "neither a group"),
        (TraceOptions { links: vec!["bottelneck".into()], ..both() }, "the links are"),
        (TraceOptions { step: Some(quell_units::Duration::ZERO), ..both() }, "longer than zero"),
    ] {
        let error = wrong.check(&study()).unwrap_err().to_string();
        assert!(error.contains(says), "{error}");
    }
    // A packet's name in a trace would hide from a filter what the packet acknowledges.
    let filters =
        SCENARIO.replacen("algorithm = \"drop-tail\"", "algorithm = \"cake\"\nack_filter = \"on\"", 1);
    let filters = Study::parse(&filters, "x.toml", &Plugins::new()).unwrap_or_else(|e| panic!("{e}"));
    let error = both().check(&filters).unwrap_err().to_string();
    assert!(error.contains("leave ack_filter out"), "{error}");
    assert!(TraceOptions { packets: false, ..both() }.check(&filters).is_ok());
}

/// The room that is foreseen is enough, and not many times too much.
#[test]
fn the_estimate_is_above_what_a_trace_takes() {
    let (_, tables, folder) = traced(both(), &Options::default());
    let rows: usize = tables.iter().flatten().map(|table| table["seed"].len()).sum();
    let size = trace_size(&study(), &both());
    assert_eq!(size.replications, 2);
    assert!(size.rows > rows as f64 && size.rows < 12.0 * rows as f64, "{} for {rows}", size.rows);
    let bytes: u64 = TraceTable::ALL
        .iter()
        .map(|t| std::fs::metadata(folder.path().join("results").join(t.file())).unwrap().len())
        .sum();
    println!("{rows} rows take {bytes} bytes");
    assert!(size.disk > bytes as f64 && size.disk < 20.0 * bytes as f64, "{} for {bytes}", size.disk);
}

/// `docs/traces.md` lists the columns as the code declares them.
#[test]
fn the_columns_are_documented() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/traces.md");
    let mut text = std::fs::read_to_string(path).unwrap();
    for table in TraceTable::ALL {
        let mut list = String::from("| column | unit | meaning |\n| --- | --- | --- |\n");
        for column in table.columns() {
            list += &format!("| `{}` | {} | {} |\n", column.name, column.unit, column.about);
        }
        let (begin, end) =
            (format!("<!-- columns of {} -->\n", table.name()), "<!-- end of columns -->".to_string());
        let from = text.find(&begin).unwrap_or_else(|| panic!("docs/traces.md lacks {begin}")) + begin.len();
        let to = from + text[from..].find(&end).unwrap();
        text.replace_range(from..to, &list);
    }
    if std::env::var_os("QUELL_UPDATE_DOCS").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    assert!(
        std::fs::read_to_string(path).unwrap() == text,
        "docs/traces.md is stale; QUELL_UPDATE_DOCS=1 cargo test -p quell-lab --test all traces:: writes it again"
    );
}
