//! What a cache gives back is what was run, and what it loses is run again.

#[path = "../../../../fuzz/src/corpus.rs"]
mod corpus;
#[path = "../../../../fuzz/src/entry.rs"]
mod fuzz;

use std::collections::HashMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use quell_lab::{
    Cache, Hit, Key, Lookup, Made, Options, Progress, Results, Reuse, RunError, Series, Table, Task,
    fingerprint, make, make_tasks, run, space, tasks,
};
use quell_scenario::{Document, Plugins, Study};

const SCENARIO: &str = r#"schema = 1
title = "Small"
duration = "1 s"

[dumbbell]
rate = "2 Mbit/s"
delay = "10 ms"
buffer = "25 packets"

[[aqm]]
algorithm = "drop-tail"

[[aqm]]
algorithm = "red"

[[flows]]
name = "ftp"
count = 4
rtt = { uniform = ["50 ms", "100 ms"] }
"#;

fn document() -> Document {
    Document::parse(SCENARIO, "small.toml").unwrap()
}

fn study(set: &[(&str, toml::Value)]) -> Study {
    let mut document = document();
    document.set("seeds", &3.into()).unwrap();
    set.iter().for_each(|(field, value)| document.set(field, value).unwrap());
    document.study(&Plugins::new()).unwrap()
}

fn with(cache: &Cache) -> Options<'_> {
    Options { cache: Some(cache), threads: Some(2), ..Options::default() }
}

fn folder() -> (tempfile::TempDir, Cache) {
    let dir = tempfile::tempdir().unwrap();
    let cache = Cache::at(dir.path().join("cache"));
    (dir, cache)
}

/// All that was found; how long it took is another matter.
fn found(results: &Results) -> Vec<Vec<u8>> {
    let mut all = results.clone();
    all.replications.iter_mut().for_each(|r| r.elapsed_s = 0.0);
    // As bytes: what is absent equals itself.
    let bytes = |table: &Table| {
        all.columns(*table).iter().flat_map(|(_, column)| postcard::to_stdvec(column).unwrap()).collect()
    };
    Table::ALL.iter().map(bytes).collect()
}

#[test]
fn what_is_kept_is_what_was_run() {
    let (_dir, cache) = folder();
    let plain = run(&study(&[]), &Options::default()).unwrap();
    let first = run(&study(&[]), &with(&cache)).unwrap();
    let second = run(&study(&[]), &with(&cache)).unwrap();
    assert_eq!((first.run.reused, second.run.reused), (0, 6));
    assert_eq!(found(&first), found(&plain));
    assert_eq!(found(&second), found(&plain));
    assert_eq!(second.run.digest, plain.run.digest);
    // Who runs it again has the same, and keeps it.
    let fresh = run(&study(&[]), &Options { reuse: Reuse::No, ..with(&cache) }).unwrap();
    assert_eq!((fresh.run.reused, found(&fresh)), (0, found(&plain)));
    assert_eq!(cache.entries().unwrap().len(), 6);
}

#[test]
fn only_what_changes_is_run() {
    let (_dir, cache) = folder();
    run(&study(&[]), &with(&cache)).unwrap();
    let reused = |set: &[(&str, toml::Value)]| run(&study(set), &with(&cache)).unwrap().run.reused;
    // A seed more, another title, another name for an algorithm, another order.
    assert_eq!(reused(&[("seeds", 4.into())]), 6);
    assert_eq!(reused(&[("title", "Another".into())]), 6);
    assert_eq!(reused(&[("aqm[1].label", "RED".into())]), 6);
    // A default that is written out.
    assert_eq!(reused(&[("aqm[1].max_p", 0.1.into())]), 6);
    // One algorithm's parameter, and everybody's link.
    assert_eq!(reused(&[("aqm[1].max_p", 0.2.into())]), 3);
    assert_eq!(reused(&[("dumbbell.rate", "3 Mbit/s".into())]), 0);
    let named = run(&study(&[("aqm[1].label", "RED".into())]), &with(&cache)).unwrap();
    assert_eq!(named.algorithms(0), ["drop-tail", "RED"]);
    assert!(named.replications.iter().any(|r| r.algorithm == "RED"));
}

#[test]
fn keys_depend_on_seed_scenario_and_engine() {
    let point = |set: &[(&str, toml::Value)]| study(set).points[0].clone();
    let red = point(&[]).identity(1).unwrap();
    assert_eq!(red.algorithms, ["drop-tail", "red"], "the way back has one too");
    assert_eq!(fingerprint("red").unwrap().len(), 24);
    assert_ne!(fingerprint("red"), fingerprint("pi"));
    let key = |seed| Key::new(&red, seed).unwrap();
    assert_eq!(key(1), key(1));
    assert_ne!(key(1), key(2));
    assert_ne!(key(1), Key::new(&point(&[]).identity(0).unwrap(), 1).unwrap());
    assert_eq!(key(1), Key::new(&point(&[("description", "words".into())]).identity(1).unwrap(), 1).unwrap());
    let back =
        [("algorithm", "pi"), ("q_ref", "10 packets")].map(|(key, value)| (key.to_string(), value.into()));
    let back = toml::Table::from_iter(back);
    let both = point(&[("dumbbell.reverse.aqm", back.into())]).identity(1).unwrap();
    assert_eq!(both.algorithms, ["pi", "red"]);
}

#[test]
fn what_is_damaged_is_named_and_run_again() {
    let (_dir, cache) = folder();
    let plain = run(&study(&[]), &with(&cache)).unwrap();
    let entries = cache.entries().unwrap();
    let whole = std::fs::read(&entries[0].path).unwrap();
    let another = std::fs::read(&entries[1].path).unwrap();
    for wrong in [&whole[..whole.len() / 2], &another, b"", b"PAR1", &[0; 5000]] {
        std::fs::write(&entries[0].path, wrong).unwrap();
        assert!(Cache::check(&entries[0]).is_err());
        let said = Mutex::new(Vec::new());
        let warn = |why: &str| said.lock().unwrap().push(why.to_string());
        let again = run(&study(&[]), &Options { warn: Some(&warn), ..with(&cache) }).unwrap();
        assert_eq!((again.run.reused, found(&again)), (5, found(&plain)));
        let said = said.into_inner().unwrap();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("is damaged") && said[0].contains(&entries[0].path.display().to_string()));
        assert!(Cache::check(&entries[0]).is_ok(), "it was put in order");
    }
}

#[test]
fn a_bit_that_is_lost_is_noticed() {
    let (_dir, cache) = folder();
    run(&study(&[("seeds", 1.into())]), &with(&cache)).unwrap();
    let entry = &cache.entries().unwrap()[0];
    let whole = std::fs::read(&entry.path).unwrap();
    for at in (0..whole.len()).step_by(whole.len() / 300) {
        let mut flipped = whole.clone();
        flipped[at] ^= 4;
        std::fs::write(&entry.path, &flipped).unwrap();
        assert!(matches!(cache.get(&entry.key), Lookup::Damaged(_)), "byte {at}");
    }
}

#[test]
fn a_sample_is_verified_and_a_difference_is_an_error() {
    let (_dir, cache) = folder();
    let plain = run(&study(&[]), &with(&cache)).unwrap();
    let all = Options { reuse: Reuse::Verify(1.0), ..with(&cache) };
    assert_eq!(found(&run(&study(&[]), &all).unwrap()), found(&plain));
    // As if the engine had changed and nobody had noticed: an entry that is sound, and not what is computed.
    let identity = study(&[]).points[0].identity(0).unwrap();
    let about = Cache::about(&cache.entries().unwrap()[0]).unwrap();
    let mut replication = plain.replications[0].clone();
    replication.digest += 1;
    let wrong = Hit { replication, series: true, about };
    cache.put(&Key::new(&identity, 1).unwrap(), &wrong).unwrap();
    let error = run(&study(&[]), &all).unwrap_err();
    assert!(matches!(&error, RunError::Differs { seed: 1, .. }), "{error:?}");
    assert!(error.to_string().contains("--fresh"), "{error}");
}

#[test]
fn a_run_goes_on_where_a_cache_cannot_be_written() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("file");
    std::fs::write(&file, "in the way").unwrap();
    let cache = Cache::at(&file);
    let said = Mutex::new(Vec::new());
    let warn = |why: &str| said.lock().unwrap().push(why.to_string());
    let results = run(&study(&[]), &Options { warn: Some(&warn), ..with(&cache) }).unwrap();
    assert_eq!(results.replications.len(), 6);
    // Once, and by the name that its user gave.
    let said = said.into_inner().unwrap();
    let why =
        format!("{}: must be a folder, or a name that none has yet; the run goes on, but", file.display());
    assert!(said.len() == 1 && said[0].starts_with(&why), "{said:?}");
}

#[test]
fn what_was_finished_before_a_stop_is_not_run_again() {
    let (_dir, cache) = folder();
    let long = study(&[("seeds", 40.into())]);
    let stop = AtomicBool::new(false);
    let progress = |p: &Progress| stop.store(p.finished > 0, Ordering::Relaxed);
    let options = Options { threads: Some(1), stop: Some(&stop), progress: Some(&progress), ..with(&cache) };
    let partial = run(&long, &options).unwrap();
    let kept = cache.entries().unwrap().len();
    assert_eq!(kept, partial.replications.len());
    let whole = run(&long, &with(&cache)).unwrap();
    assert_eq!(whole.run.reused, kept);
    assert_eq!(whole.run.digest, run(&long, &Options::default()).unwrap().run.digest);
}

#[test]
fn entries_can_be_copied() {
    let (dir, cache) = folder();
    run(&study(&[]), &with(&cache)).unwrap();
    let other = Cache::at(dir.path().join("other"));
    let entries = cache.entries().unwrap();
    assert!(entries.iter().all(|e| other.copy(e).unwrap()));
    assert!(entries.iter().all(|e| !other.copy(e).unwrap()), "they are there");
    assert_eq!(run(&study(&[]), &with(&other)).unwrap().run.reused, 6);
}

/// An entry with time series is not lost to one without, unless that says something else of the same run.
#[test]
fn what_has_more_stays_and_replaces_what_has_less() {
    let (dir, cache) = folder();
    let other = Cache::at(dir.path().join("other"));
    run(&study(&[("seeds", 1.into())]), &with(&cache)).unwrap();
    let entry = &cache.entries().unwrap()[0];
    let get = |cache: &Cache| match cache.get(&entry.key) {
        Lookup::Hit(hit) => hit,
        lookup => panic!("{lookup:?}"),
    };
    let whole = get(&cache);
    let mut less = Hit { series: false, ..(*whole).clone() };
    less.replication.series.clear();
    cache.put(&entry.key, &less).unwrap();
    assert!(get(&cache).series);
    other.put(&entry.key, &less).unwrap();
    assert!(!get(&other).series);
    assert!(!cache.copy(&other.entries().unwrap()[0]).unwrap(), "it has less");
    assert!(get(&cache).series);
    assert!(other.copy(entry).unwrap(), "it has more");
    assert!(get(&other).series);
    less.replication.digest += 1;
    cache.put(&entry.key, &less).unwrap();
    let now = get(&cache);
    assert_eq!((now.series, now.replication.digest), (false, whole.replication.digest + 1));
}

/// Whoever prunes keeps what was used last, and reading is a use.
#[test]
fn an_entry_that_is_read_has_been_used() {
    let (_dir, cache) = folder();
    run(&study(&[("seeds", 1.into())]), &with(&cache)).unwrap();
    let used = || cache.entries().unwrap().iter().map(|e| (e.key, e.used)).collect::<HashMap<_, _>>();
    let long_ago = SystemTime::now() - Duration::from_secs(86_400);
    for entry in cache.entries().unwrap() {
        let file = std::fs::File::options().append(true).open(&entry.path).unwrap();
        file.set_modified(long_ago).unwrap();
    }
    let before = used();
    let read = cache.entries().unwrap()[0].key;
    assert!(matches!(cache.get(&read), Lookup::Hit(_)));
    for (key, at) in used() {
        assert_eq!(at > long_ago + Duration::from_secs(3600), key == read);
        assert_eq!(at == before[&key], key != read);
    }
}

/// The numbers of replications with time series, by algorithm.
fn drawn(results: &Results) -> Vec<usize> {
    let of = |algorithm: &String| {
        let its = results.replications.iter().filter(|r| r.algorithm == *algorithm);
        its.filter(|r| !r.series.is_empty()).count()
    };
    results.algorithms(0).iter().map(of).collect()
}

#[test]
fn only_what_is_drawn_has_time_series() {
    let (_dir, cache) = folder();
    let many = study(&[("seeds", 12.into())]);
    let first = run(&many, &with(&cache)).unwrap();
    assert_eq!(drawn(&first), [10, 10]);
    let series = |series| Options { series, ..with(&cache) };
    // What is there needs no more than it has.
    let none = run(&many, &series(Series::None)).unwrap();
    assert_eq!((drawn(&none), none.run.reused), (vec![0, 0], 24));
    // What it lacks is run again, and kept.
    let all = run(&many, &series(Series::All)).unwrap();
    assert_eq!((drawn(&all), all.run.reused), (vec![12, 12], 20));
    assert_eq!(run(&many, &series(Series::All)).unwrap().run.reused, 24);
    let again = run(&many, &with(&cache)).unwrap();
    assert_eq!((again.run.reused, found(&again)), (24, found(&first)));
}

/// The rows of flows and transfers stay out of the results if they are not asked for, and in the cache.
#[test]
fn rows_of_flows_are_left_out_of_results() {
    let (_dir, cache) = folder();
    let transfers = [
        ("flows.ftp.kind", "transfers".into()),
        ("flows.ftp.size", "5 packets".into()),
        ("flows.ftp.think", "10 ms".into()),
    ];
    let study = study(&transfers);
    let without = || run(&study, &Options { without_flows: true, ..with(&cache) }).unwrap();
    let rows = |results: &Results| -> (usize, usize) {
        let all = &results.replications;
        (all.iter().map(|r| r.flows.len()).sum(), all.iter().map(|r| r.transfers.len()).sum())
    };
    let (first, again) = (without(), without());
    assert_eq!((rows(&first), rows(&again), again.run.reused), ((0, 0), (0, 0), 6));
    let all = run(&study, &with(&cache)).unwrap();
    assert_eq!((rows(&all).0, all.run.reused), (4 * 6, 6));
    assert!(rows(&all).1 > 24);
    let metrics =
        |results: &Results| results.replications.iter().map(|r| r.metrics.len()).collect::<Vec<_>>();
    assert_eq!((metrics(&first), first.run.digest.clone()), (metrics(&all), all.run.digest.clone()));
}

#[test]
fn the_index_has_every_entry_once() {
    let (dir, cache) = folder();
    let parts = || {
        let files = std::fs::read_dir(cache.dir().join("index")).unwrap().flatten().map(|f| f.path());
        files.filter(|f| f.extension().is_some_and(|e| e == "parquet")).collect::<Vec<_>>()
    };
    assert_eq!(cache.index().unwrap(), cache.dir().join("index").join("*.parquet"));
    assert_eq!(parts().len(), 0);
    for seeds in 1..=3i64 {
        run(&study(&[("seeds", seeds.into())]), &with(&cache)).unwrap();
        assert_eq!(parts().len() as i64, seeds, "a run adds what is new");
    }
    cache.index().unwrap();
    assert_eq!(parts().len(), 3, "nothing is missing");
    // A part that was never written, as after a kill, or is damaged, is made again.
    std::fs::remove_file(&parts()[0]).unwrap();
    std::fs::write(&parts()[0], "PAR1").unwrap();
    cache.index().unwrap();
    assert_eq!(parts().len(), 2);
    // Entries that are no more are forgotten, the others stay.
    let gone: std::collections::HashSet<Key> = cache.entries().unwrap()[..2].iter().map(|e| e.key).collect();
    cache.entries().unwrap()[..2].iter().for_each(|e| std::fs::remove_file(&e.path).unwrap());
    cache.forget(&gone).unwrap();
    cache.index().unwrap();
    let other = Cache::at(dir.path().join("other"));
    cache.entries().unwrap().iter().for_each(|e| assert!(other.copy(e).unwrap()));
    other.index().unwrap();
    assert_eq!(cache.indexed_keys().unwrap(), other.indexed_keys().unwrap());
    assert_eq!(cache.indexed_keys().unwrap().len(), 4);
    // Many parts become few.
    for seed in 100..140i64 {
        let one = toml::Value::Array(vec![seed.into()]);
        run(&study(&[("seeds", one), ("aqm[1].max_p", 0.3.into())]), &with(&cache)).unwrap();
    }
    let before = cache.indexed_keys().unwrap();
    cache.index().unwrap();
    assert_eq!(parts().len(), 1);
    assert_eq!(cache.indexed_keys().unwrap(), before);
    assert_eq!(before.len(), cache.entries().unwrap().len());
}

#[test]
fn entries_of_another_version_are_not_read() {
    let (_dir, cache) = folder();
    run(&study(&[]), &with(&cache)).unwrap();
    for (i, entry) in cache.entries().unwrap().iter().enumerate() {
        if i % 2 == 0 {
            std::fs::rename(&entry.path, entry.path.with_extension("parquet")).unwrap();
        } else {
            let mut bytes = std::fs::read(&entry.path).unwrap();
            bytes[14] = b'9';
            std::fs::write(&entry.path, bytes).unwrap();
        }
    }
    let entries = cache.entries().unwrap();
    assert_eq!(entries.iter().filter(|e| e.current).count(), 3);
    assert!(entries.iter().filter(|e| e.current).all(|e| Cache::check(e).is_err()));
    assert_eq!(run(&study(&[]), &with(&cache)).unwrap().run.reused, 0);
    assert_eq!(run(&study(&[]), &with(&cache)).unwrap().run.reused, 6);
}

#[test]
fn a_study_is_made_task_by_task() {
    let (_dir, cache) = folder();
    let mut document = document();
    document.set("sweep", &toml::toml! { duration = ["1 s", "3 s"] }.into()).unwrap();
    let study = document.study(&Plugins::new()).unwrap();
    let all = tasks(&study, &Options::default()).unwrap();
    assert_eq!(all.len(), 2 * 2 * study.points[0].scenario.seeds.list().len());
    assert!(all.windows(2).all(|pair| pair[0].cost >= pair[1].cost));
    assert_eq!(all[0].cost, 3.0 * 2e6 / 8000.0);
    assert_eq!(all[0].settings[0].value, "3 s");
    // Three parts, one of them twice.
    let told = Mutex::new(Vec::new());
    for part in [0, 1, 1, 2] {
        let keys = all.iter().map(|task| task.key).skip(part).step_by(3).collect();
        let made = |key: &Key, made: Made| told.lock().unwrap().push((*key, made));
        make(&study, &keys, &with(&cache), &made).unwrap();
    }
    let told = told.into_inner().unwrap();
    assert_eq!(told.iter().filter(|(_, made)| *made == Made::Now).count(), all.len());
    assert_eq!(told.iter().filter(|(_, made)| *made == Made::Before).count(), told.len() - all.len());
    let results = run(&study, &with(&cache)).unwrap();
    assert_eq!(results.run.reused, all.len());
    assert_eq!(found(&results), found(&run(&study, &Options::default()).unwrap()));
    // The same without the study, on another machine.
    let other = Cache::at(_dir.path().join("other"));
    let made = |_: &Key, made: Made| assert_eq!(made, Made::Now);
    all.chunks(5).for_each(|some| make_tasks(some, &with(&other), &made).unwrap());
    assert_eq!(found(&run(&study, &with(&other)).unwrap()), found(&results));
    let about = |cache: &Cache| {
        let mut all: Vec<_> =
            cache.entries().unwrap().iter().map(|e| (e.key, Cache::about(e).unwrap())).collect();
        all.sort_by_key(|(key, _)| *key);
        all
    };
    assert_eq!(about(&other), about(&cache));
    let twice = [all[0].clone(), all[0].clone()];
    make_tasks(&twice, &with(&other), &|_, made| assert_eq!(made, Made::Before)).unwrap();
    let strange = Task { seed: 77, ..all[0].clone() };
    let made = |_: &Key, made: Made| assert!(matches!(made, Made::Failed(why) if why.contains("version")));
    make_tasks(&[strange], &with(&other), &made).unwrap();
    // What cannot be kept is said.
    let file = _dir.path().join("file");
    std::fs::write(&file, "in the way").unwrap();
    let told = Mutex::new(Vec::new());
    let made = |_: &Key, made: Made| told.lock().unwrap().push(made);
    let keys = all.iter().map(|task| task.key).collect();
    make(&study, &keys, &with(&Cache::at(&file)), &made).unwrap();
    assert!(told.into_inner().unwrap().iter().all(|made| matches!(made, Made::Failed(_))));
}

/// What the fuzz target does, on what a plain test run can afford: entries with bytes changed, cut and inserted.
#[test]
fn no_bytes_of_an_entry_do_harm() {
    use proptest::prelude::*;
    let (_dir, cache) = folder();
    run(&study(&[("seeds", 1.into())]), &with(&cache)).unwrap();
    let entry = &cache.entries().unwrap()[0];
    let key = entry.key.to_string();
    let mut whole: Vec<u8> =
        (0..32).map(|i| u8::from_str_radix(&key[2 * i..2 * i + 2], 16).unwrap()).collect();
    whole.extend(std::fs::read(&entry.path).unwrap());
    let change = (0.0..1.0f64, any::<u8>(), 0..4u8);
    let run = proptest::test_runner::TestRunner::new(ProptestConfig::with_cases(400)).run(
        &proptest::collection::vec(change, 1..6),
        |changes| {
            let mut bytes = whole.clone();
            for (at, byte, what) in changes {
                let at = 32 + 48 + (at * at * (bytes.len().max(81) - 80) as f64) as usize;
                match what {
                    _ if at >= bytes.len() => {}
                    0 => bytes.truncate(at),
                    1 => bytes.insert(at, byte),
                    _ => bytes[at] = byte,
                }
            }
            fuzz::entry(&bytes);
            Ok(())
        },
    );
    run.unwrap();
}

#[test]
fn the_corpus_of_entries() {
    corpus::replay("entry", fuzz::entry);
}

#[test]
fn what_points_share_is_one_task() {
    let (_dir, cache) = folder();
    let mut document = document();
    document.set("seeds", &2.into()).unwrap();
    document.sweep_text("aqm.red.max_p=0.1,0.2").unwrap();
    let study = document.study(&Plugins::new()).unwrap();
    let all = tasks(&study, &Options::default()).unwrap();
    assert_eq!(all.len(), 2 + 2 * 2, "drop-tail has no max_p");
    // Nor does it take room twice.
    let room = |free| space(&study, &with(&cache), free).cache;
    assert_eq!(room(1), room(u64::MAX) / 8 * 6);
    make_tasks(&all, &with(&cache), &|_, made| assert_eq!(made, Made::Now)).unwrap();
    assert_eq!(run(&study, &with(&cache)).unwrap().run.reused, 8);
}
