//! The cost of keeping replications, and what a thousand cores would do with it, on paper.

use std::path::Path;
use std::time::Instant;

use quell_lab::{Cache, Options, Task, run, tasks, write_results};
use quell_scenario::{Document, Plugins, Study};

use crate::Outcome;
use crate::progress::Progress;
use crate::table::{Section, figure, load};

/// Three thousand replications of one second: as little work for each as a study can have.
const SHORT: &str = r#"schema = 1
title = "Short"
duration = "1 s"
seeds = 1000
aqm = [{ algorithm = "drop-tail" }, { algorithm = "red" }, { algorithm = "pi" }]

[dumbbell]
rate = "2 Mbit/s"
delay = "10 ms"
buffer = "60 packets"

[[flows]]
name = "ftp"
count = 4
rtt = { uniform = ["50 ms", "100 ms"] }
"#;

fn study() -> Outcome<Study> {
    let document = Document::parse(SHORT, "short.toml").map_err(|e| e.to_string())?;
    document.study(&Plugins::new()).map_err(|e| e.to_string())
}

/// Seconds of CPU time and of the clock, and the bytes of a folder.
struct Cost {
    cpu_s: f64,
    wall_s: f64,
}

fn timed(study: &Study, cache: Option<&Cache>, out: &Path) -> Outcome<Cost> {
    let (cpu, wall) = (cpu_time::ProcessTime::now(), Instant::now());
    let results = run(study, &Options { cache, ..Options::default() }).map_err(|e| e.to_string())?;
    write_results(&results, out, true).map_err(|e| e.to_string())?;
    Ok(Cost { cpu_s: cpu.elapsed().as_secs_f64(), wall_s: wall.elapsed().as_secs_f64() })
}

fn bytes(folder: &Path) -> u64 {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(meta) if meta.is_dir() => bytes(&entry.path()),
            Ok(meta) => meta.len(),
            Err(_) => 0,
        })
        .sum()
}

pub fn overhead(times: u32) -> Outcome<Section> {
    let study = study()?;
    let before = load();
    let mut progress = Progress::new(3 * times as usize);
    let mut rows: [Vec<Cost>; 3] = Default::default();
    let (mut cache_bytes, mut result_bytes) = (0, 0);
    for _ in 0..times {
        let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
        let (cache, out) = (Cache::at(dir.path().join("cache")), dir.path().join("results"));
        progress.next("without a cache");
        rows[0].push(timed(&study, None, &out)?);
        progress.next("into a cache");
        rows[1].push(timed(&study, Some(&cache), &out)?);
        progress.next("from a cache");
        rows[2].push(timed(&study, Some(&cache), &out)?);
        (cache_bytes, result_bytes) = (bytes(cache.dir()), bytes(&out));
    }
    drop(progress);
    let n = study.points[0].scenario.aqm.len() as f64 * 1000.0;
    let least = |row: &[Cost], of: fn(&Cost) -> f64| row.iter().map(of).fold(f64::INFINITY, f64::min);
    let mut section =
        Section::new("store", &["3000 replications of 1 s", "CPU seconds", "wall seconds", "CPU µs each"]);
    for (name, row) in ["computed", "computed and kept", "found"].into_iter().zip(&rows) {
        let (cpu, wall) = (least(row, |c| c.cpu_s), least(row, |c| c.wall_s));
        section.row(vec![name.into(), figure(cpu), figure(wall), figure(cpu / n * 1e6)]);
    }
    section.remark(format!(
        "The folder of results is written each time; values are the least of {times}. The cache takes {} MB, the \
         results {} MB. Before: {before}; after: {}.",
        figure(cache_bytes as f64 / 1e6),
        figure(result_bytes as f64 / 1e6),
        load()
    ));
    Ok(section)
}

/// A study as large as a paper with all its readings: every algorithm of the catalog, three loads, three rates,
/// thirty seeds.
const LARGE: &str = r#"schema = 1
title = "Large"
duration = "100 s"
seeds = 30
aqm = "all"

[dumbbell]
rate = "10 Mbit/s"
delay = "10 ms"
buffer = "200 packets"

[[flows]]
name = "ftp"
count = 20
rtt = { uniform = ["50 ms", "100 ms"] }

[sweep]
"dumbbell.rate" = ["10 Mbit/s", "40 Mbit/s", "160 Mbit/s"]
"flows.ftp.count" = [20, 50, 100]
"#;

/// The time at which `cores` workers have made tasks of these lengths, if each puts what it made into a store that
/// serves one at a time in `serve_s`.
fn makespan(lengths: impl Iterator<Item = f64>, cores: usize, serve_s: f64) -> f64 {
    use std::cmp::Reverse;
    use std::collections::BinaryHeap;
    // In nanoseconds, which have an order: what ends first asks the store first, then takes the next task.
    let ns = |s: f64| (s * 1e9) as u64;
    let mut lengths = lengths.map(ns);
    let mut ends: BinaryHeap<Reverse<u64>> = lengths.by_ref().take(cores).map(Reverse).collect();
    let (mut store, mut last) = (0, 0);
    while let Some(Reverse(end)) = ends.pop() {
        store = end.max(store) + ns(serve_s);
        last = last.max(store);
        ends.extend(lengths.next().map(|length| Reverse(store + length)));
    }
    last as f64 * 1e-9
}

pub fn thousand_cores() -> Outcome<Section> {
    // What a packet of a real run costs here, and what an entry does.
    let sample = Document::parse(LARGE, "large.toml").map_err(|e| e.to_string())?;
    let study = sample.study(&Plugins::new()).map_err(|e| e.to_string())?;
    let all: Vec<Task> = tasks(&study, &Options::default())?;
    let mut small = sample.clone();
    small.set("sweep", &toml::Value::Table(toml::Table::new())).map_err(|e| e.to_string())?;
    small.set("seeds", &1.into()).map_err(|e| e.to_string())?;
    let small = small.study(&Plugins::new()).map_err(|e| e.to_string())?;
    let cost: f64 = tasks(&small, &Options::default())?.iter().map(|task| task.cost).sum();
    let dir = tempfile::tempdir().map_err(|e| e.to_string())?;
    let cache = Cache::at(dir.path());
    let seconds = |cache: Option<&Cache>| -> Outcome<f64> {
        let clock = Instant::now();
        let options = Options { threads: Some(1), cache, ..Options::default() };
        run(&small, &options).map_err(|e| e.to_string())?;
        Ok(clock.elapsed().as_secs_f64())
    };
    seconds(Some(&cache))?;
    let simulated = seconds(None)?;
    let per_packet = simulated / cost;
    let per_entry = seconds(Some(&cache))? / small.points[0].scenario.aqm.len() as f64;
    let longest: Vec<f64> = all.iter().map(|task| task.cost * per_packet).collect();
    let work: f64 = longest.iter().sum();
    let mut section = Section::new(
        "cores",
        &["cores", "store serves one in", "longest first, s", "of ideal, %", "shortest first, s"],
    );
    for cores in [10, 100, 1000] {
        let ideal = (work / cores as f64).max(longest[0]);
        for (serve_s, name) in [(0.0, "no time"), (per_entry, "as measured"), (5e-3, "5 ms")] {
            let first = makespan(longest.iter().copied(), cores, serve_s);
            let last = makespan(longest.iter().rev().copied(), cores, serve_s);
            let share = 100.0 * ideal / first;
            let name =
                if name == "as measured" { format!("{} ms", figure(serve_s * 1e3)) } else { name.into() };
            section.row(vec![cores.to_string(), name, figure(first), figure(share), figure(last)]);
        }
    }
    section.remark(format!(
        "This is calculated for {} replications of a sweep over every algorithm, three rates, and three loads: {} core \
         seconds by {} ns a packet as measured here. Each core takes the next task, and a store serves one entry at a \
         time. The least possible time is {} s, the longest task.",
        all.len(),
        figure(work),
        figure(per_packet * 1e9),
        figure(longest[0])
    ));
    Ok(section)
}
