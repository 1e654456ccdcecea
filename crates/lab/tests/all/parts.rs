//! Results of parts of a study, handed over as they are finished.

use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

use quell_lab::{Options, Results, Reuse, run, run_in_parts};
use quell_scenario::{Plugins, Study};

fn study() -> Study {
    let text = r#"
schema = 1
duration = "4 s"
seeds = 2
dumbbell = { rate = "2 Mbit/s", delay = "10 ms", buffer = "30 packets" }
aqm = [{ algorithm = "red" }, { algorithm = "drop-tail" }]
flows = [{ name = "ftp", count = 2, rtt = "50 ms" }]
sweep = { "flows.ftp.count" = [1, 2, 3, 4, 5] }
"#;
    Study::parse(text, "parts.toml", &Plugins::new()).unwrap()
}

fn in_parts(study: &Study, options: &Options<'_>) -> Vec<(usize, Results)> {
    let taken = Mutex::new(Vec::new());
    run_in_parts(study, options, &[0..2, 2..3, 3..5], &|part, results| {
        taken.lock().unwrap().push((part, results));
    })
    .unwrap();
    let mut taken = taken.into_inner().unwrap();
    taken.sort_by_key(|(part, _)| *part);
    taken
}

/// The parts are the whole: each once, with points counted from its first.
#[test]
fn parts_make_up_the_whole() {
    let study = study();
    let whole = run(&study, &Options::default()).unwrap();
    let mut all = Vec::new();
    for ((part, results), first) in in_parts(&study, &Options::default()).into_iter().zip([0, 2, 3]) {
        assert!(!results.run.partial && results.run.points[0] == whole.run.points[first], "part {part}");
        assert_eq!(results.replications.len(), results.asked());
        all.extend(
            results.replications.into_iter().map(|r| (r.point + first, r.algorithm, r.seed, r.digest)),
        );
    }
    let want = whole.replications.into_iter().map(|r| (r.point, r.algorithm, r.seed, r.digest));
    assert_eq!(all, want.collect::<Vec<_>>());
}

/// Whoever stops a run is told of every part, and that none is finished.
#[test]
fn a_stop_leaves_parts_partial() {
    let stop = AtomicBool::new(true);
    let options = Options { stop: Some(&stop), ..Options::default() };
    let parts = in_parts(&study(), &options);
    assert_eq!(parts.iter().map(|(part, _)| *part).collect::<Vec<_>>(), [0, 1, 2]);
    assert!(parts.iter().all(|(_, results)| results.run.partial && results.replications.is_empty()));
}

/// A link of forty times the rate is forty times the work, and the time left is estimated so.
#[test]
fn progress_counts_packets() {
    let text = r#"
schema = 1
duration = "2 s"
seeds = 1
dumbbell = { rate = "1 Mbit/s", delay = "10 ms", buffer = "30 packets" }
aqm = [{ algorithm = "drop-tail" }]
flows = [{ name = "ftp", count = 2, rtt = "50 ms" }]
sweep = { "dumbbell.rate" = ["39 Mbit/s", "1 Mbit/s"] }
"#;
    let study = Study::parse(text, "rates.toml", &Plugins::new()).unwrap();
    let packets: Vec<f64> = study.points.iter().map(|p| p.estimated_packets()).collect();
    assert!((packets[0] / packets[1] - 39.0).abs() < 1e-9, "{packets:?}");
    let cache = tempfile::tempdir().unwrap();
    let cache = quell_lab::Cache::at(cache.path().to_path_buf());
    let first = study.with_points(study.points[..1].to_vec());
    run(&first, &Options { cache: Some(&cache), ..Options::default() }).unwrap();
    // What is finished of the whole is the first point alone.
    let seen = Mutex::new(0.0);
    let progress = |p: &quell_lab::Progress| *seen.lock().unwrap() = p.done;
    let options =
        Options { cache: Some(&cache), reuse: Reuse::Only, progress: Some(&progress), ..Options::default() };
    run(&study, &options).unwrap();
    assert!((seen.into_inner().unwrap() - 39.0 / 40.0).abs() < 1e-9);
}
