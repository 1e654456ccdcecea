//! Runs: the same seed gives the same result whatever the threads, plug-ins run, results come back
//! from disk as they were, a stop keeps what is finished.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use quell_aqm::{Aqm, Cause, Ctx, PacketMeta, Verdict};
use quell_lab::{
    Metric, Options, Progress, Quantity, Results, Table, View, read_results, run, write_results,
};
use quell_scenario::{Plugins, Study};
use quell_sim::Engine;

const SCENARIO: &str = r#"
schema = 1
duration = "6 s"
warmup = "2 s"
segments = "2 s"
seeds = 3
[dumbbell]
rate = "2 Mbit/s"
delay = "5 ms"
buffer = "40 packets"
reverse = { aqm = "same" }
[[aqm]]
algorithm = "drop-tail"
[[aqm]]
algorithm = "red"
[[flows]]
name = "ftp"
count = 4
rtt = { uniform = ["30 ms", "80 ms"] }
[[flows]]
name = "web"
kind = "sessions"
sessions_per_second = 2
size = "5 packets"
transfers = 2
think = "100 ms"
rtt = "50 ms"
[[flows]]
name = "back"
count = 1
direction = "reverse"
rtt = "40 ms"
"#;

fn study(text: &str, plugins: &Plugins) -> Study {
    Study::parse(text, "x.toml", plugins).unwrap_or_else(|e| panic!("{e}"))
}

fn results(options: &Options<'_>) -> Results {
    run(&study(SCENARIO, &options.plugins), options).unwrap()
}

/// Everything but the times that a run took (NaN is not equal to itself, so as text).
fn content(results: &Results) -> String {
    let mut replications = results.replications.clone();
    replications.iter_mut().for_each(|r| r.elapsed_s = 0.0);
    format!("{replications:?}")
}

#[test]
fn threads_and_engines_make_no_difference() {
    let one = results(&Options { threads: Some(1), ..Options::default() });
    let four = results(&Options { threads: Some(4), ..Options::default() });
    let reference = results(&Options { engine: Engine::Reference, ..Options::default() });
    assert_eq!(one.replications.len(), 6);
    assert_eq!(one.run.digest, four.run.digest);
    assert_eq!(content(&one), content(&four));
    assert_eq!(one.run.digest, reference.run.digest);
    let digests: std::collections::BTreeSet<u64> = one.replications.iter().map(|r| r.digest).collect();
    assert_eq!(digests.len(), 6, "every seed and algorithm has a path of its own");
}

#[test]
fn algorithms_meet_the_same_traffic() {
    let r = results(&Options::default());
    let key = |i: usize| {
        let f = &r.replications[i].flows;
        f.iter().map(|f| (f.base_rtt_s.to_bits(), f.start_s.to_bits())).collect::<Vec<_>>()
    };
    assert_eq!((r.replications[0].seed, r.replications[3].seed), (1, 1));
    assert_ne!(r.replications[0].algorithm, r.replications[3].algorithm);
    assert_eq!(key(0), key(3));
    assert_ne!(key(0), key(1));
}

#[test]
fn figures_are_complete_and_sane() {
    let r = results(&Options::default());
    assert_eq!(r.run.points[0].links, ["bottleneck", "reverse"]);
    let view = View::default();
    for algorithm in r.algorithms(0) {
        let get = |m| r.estimate(&view, algorithm, m).unwrap_or_else(|| panic!("{algorithm}: no {m:?}"));
        for metric in Metric::TABLE {
            let e = get(*metric);
            assert!(e.mean.is_finite() && e.n == 3 && e.half_width.is_some(), "{algorithm} {metric:?} {e:?}");
        }
        let utilization = get(Metric::Utilization).mean;
        assert!((0.5..=1.0001).contains(&utilization), "{utilization}");
        assert!(get(Metric::Transfers).mean >= 1.0);
        // Two segments, and the classes seen at the bottleneck.
        assert!(
            r.estimate(&View { segment: Some(1), ..view.clone() }, algorithm, Metric::QueueMean).is_some()
        );
        assert!(
            r.estimate(&View { scope: "web".into(), ..view.clone() }, algorithm, Metric::Goodput).is_some()
        );
        assert!(
            r.estimate(&View { scope: "acks".into(), ..view.clone() }, algorithm, Metric::Throughput)
                .is_some()
        );
    }
    assert_eq!(r.scopes(0), ["all", "data", "ftp", "web", "acks", "size:0-10kB", "back"]);
    let differences = r.compare(&view, "drop-tail", &[Metric::QueueMean]);
    assert_eq!(differences.len(), 1);
    assert!(differences[0].difference.mean < 0.0, "RED keeps a shorter queue: {differences:?}");
}

#[test]
fn seeds_that_change_nothing_give_no_interval() {
    let text = r#"
schema = 1
duration = "6 s"
seeds = 3
[dumbbell]
rate = "2 Mbit/s"
delay = "5 ms"
buffer = "40 packets"
[[aqm]]
algorithm = "drop-tail"
[[aqm]]
algorithm = "avq"
[[aqm]]
algorithm = "red"
[[flows]]
name = "ftp"
count = 4
rtt = "50 ms"
"#;
    let results = run(&study(text, &Plugins::new()), &Options::default()).unwrap();
    let view = View::default();
    let fixed: Vec<bool> = results.algorithms(0).iter().map(|a| results.is_fixed(0, a)).collect();
    assert_eq!(fixed, [true, true, false]);
    let estimate = |a| results.estimate(&view, a, Metric::QueueMean).unwrap();
    assert_eq!((estimate("drop-tail").n, estimate("drop-tail").half_width), (3, None));
    assert!(estimate("red").half_width.is_some());
    let differences = results.compare(&view, "drop-tail", &[Metric::QueueMean]);
    let [avq, red] = [&differences[0].difference, &differences[1].difference];
    assert!(avq.half_width.is_none() && !avq.excludes_zero() && avq.mean < 0.0, "{avq:?}");
    assert!(red.half_width.is_some());
    let notes = results.notes();
    assert!(
        notes.len() == 1 && notes[0].starts_with("drop-tail, avq: every seed gave the same"),
        "{notes:?}"
    );
}

#[test]
fn the_precedence_of_a_group_reaches_the_algorithm() {
    let group = |kind: &str, precedence: u8| {
        format!("[[flows]]\nname = \"{kind}-{precedence}\"\nprecedence = {precedence}\nkind = \"{kind}\"\n")
    };
    let text = format!(
        r#"
schema = 1
duration = "30 s"
warmup = "5 s"
[dumbbell]
rate = "2 Mbit/s"
delay = "5 ms"
buffer = "100 packets"
[[aqm]]
algorithm = "wred"
{}rate = "400 kbit/s"
gaps = "exponential"
{}rate = "400 kbit/s"
gaps = "exponential"
{}count = 4
rtt = "50 ms"
{}count = 4
rtt = "50 ms"
"#,
        group("udp", 1),
        group("udp", 6),
        group("bulk", 0),
        group("bulk", 7),
    );
    let results = run(&study(&text, &Plugins::new()), &Options::default()).unwrap();
    let loss = |class: &str| {
        let view = View { scope: class.to_string(), ..View::default() };
        results.estimate(&view, "wred", Metric::LossRate).unwrap().mean
    };
    assert!(loss("bulk-0") > 0.01, "{}", loss("bulk-0"));
    assert!(loss("bulk-0") > 1.5 * loss("bulk-7"), "{} {}", loss("bulk-0"), loss("bulk-7"));
    assert!(loss("udp-1") > 1.5 * loss("udp-6"), "{} {}", loss("udp-1"), loss("udp-6"));
    // A DSCP says the same in its upper three bits.
    let coded = text.replace("precedence = 0", "dscp = 0").replace("precedence = 7", "dscp = 63");
    let coded = run(&study(&coded, &Plugins::new()), &Options::default()).unwrap();
    let goodput = |results: &Results| {
        let view = View { scope: "bulk-7".to_string(), ..View::default() };
        results.estimate(&view, "wred", Metric::Goodput).unwrap().mean
    };
    assert_eq!(goodput(&coded), goodput(&results));
    let wrong = text.replace("precedence = 7", "precedence = 8");
    let error = Study::parse(&wrong, "x.toml", &Plugins::new()).unwrap_err().to_string();
    assert!(error.contains("precedence") && error.contains("at most 7"), "{error}");
}

#[test]
fn a_queue_on_its_way_is_named() {
    // No flow of the second half has started in the first.
    let text = SCENARIO
        .replace("duration = \"6 s\"", "duration = \"8 s\"")
        .replace("count = 4", "count = 20\nstart = { between = [\"4 s\", \"5 s\"] }");
    let results = run(&study(&text, &Plugins::new()), &Options::default()).unwrap();
    assert_eq!(results.drifting(0), ["drop-tail", "red"]);
    assert!(results.notes()[0].starts_with("drop-tail, red: not steady"), "{:?}", results.notes());
    let changing = text.replace("buffer =", "changes = [{ at = \"5 s\", rate = \"1 Mbit/s\" }]\nbuffer =");
    let results = run(&study(&changing, &Plugins::new()), &Options::default()).unwrap();
    assert!(results.drifting(0).is_empty(), "the scenario wants it so");
}

#[test]
fn an_algorithm_that_drops_acknowledgments_is_named() {
    // The way back is as full as the way there. Drop-tail drops acknowledgments for want of room only.
    let text =
        SCENARIO.replace("count = 1", "count = 4").replace("duration = \"6 s\"", "duration = \"20 s\"");
    let results = run(&study(&text, &Plugins::new()), &Options::default()).unwrap();
    let view = View { link: Some("reverse".into()), scope: "acks".into(), ..View::default() };
    let dropped = |a, m| results.estimate(&view, a, m).unwrap().mean;
    let share = dropped("red", Metric::EarlyLossRate) + dropped("red", Metric::ForcedLossRate);
    assert!(share > 0.01, "{share}");
    let notes = results.notes();
    let about: Vec<&String> = notes.iter().filter(|n| n.contains("drops acknowledgments")).collect();
    assert_eq!(about.len(), 1, "{notes:?}");
    assert!(about[0].starts_with("red: drops acknowledgments, up to "), "{about:?}");
    assert!(
        about[0].contains("signal = \"by-size\" spares small packets, and the reverse direction"),
        "{about:?}"
    );
    // Without marks there is nothing of which acknowledgments would not be capable.
    assert!(!about[0].contains("ECN"), "{about:?}");
    let marking = text
        .replace("buffer =", "ecn = true\nbuffer =")
        .replace("count = 4", "count = 4\ntcp = { ecn = true }");
    let results = run(&study(&marking, &Plugins::new()), &Options::default()).unwrap();
    let notes = results.notes();
    assert!(notes.iter().any(|n| n.contains("because they are not ECN-capable")), "{notes:?}");
    // What has no such parameter is not told to set it.
    let without = text.replace("\"red\"", "\"pie\"");
    let results = run(&study(&without, &Plugins::new()), &Options::default()).unwrap();
    let notes = results.notes();
    let without_signal = |n: &&String| n.contains("drops acknowledgments") && !n.contains("by-size");
    let about: Vec<&String> = notes.iter().filter(without_signal).collect();
    assert_eq!(about.len(), 1, "{notes:?}");
    assert!(about[0].starts_with("pie: "), "{about:?}");
    assert!(
        about[0].ends_with("; the reverse direction can have its own algorithm (the link's reverse.aqm)"),
        "{about:?}"
    );
    // A link's own algorithm is not one of those that are compared, and a filter drops them on purpose.
    let own = text.replace("{ aqm = \"same\" }", "{ aqm = { algorithm = \"pie\" } }");
    let filter = text.replace("\"red\"", "\"cake\"\nack_filter = \"aggressive\"");
    for text in [own, filter] {
        let results = run(&study(&text, &Plugins::new()), &Options::default()).unwrap();
        let algorithm = results.algorithms(0).last().unwrap().clone();
        let dropped = |m| results.estimate(&view, &algorithm, m).unwrap().mean;
        let share = dropped(Metric::EarlyLossRate) + dropped(Metric::ForcedLossRate);
        assert!(share > 0.01, "{algorithm}: {share}");
        assert!(
            !results.notes().iter().any(|n| n.contains("those that reach reverse")),
            "{:?}",
            results.notes()
        );
    }
    // Where an algorithm takes small packets for what they are, nothing is said.
    let spared =
        text.replace("\"red\"", "\"red\"\nsignal = \"by-size\"\nmin_th = \"10 kB\"\nmax_th = \"30 kB\"");
    let results = run(&study(&spared, &Plugins::new()), &Options::default()).unwrap();
    assert!(!results.notes().iter().any(|n| n.contains("acknowledgments")), "{:?}", results.notes());
}

#[test]
fn what_the_wire_loses_is_counted() {
    let text = SCENARIO.replace("buffer =", "loss = 0.05\nbuffer =");
    let text = text.replace("seeds = 3", "seeds = 1");
    match Study::parse(&text, "x.toml", &Plugins::new()) {
        Ok(study) => {
            let results = run(&study, &Options::default()).unwrap();
            let lost = results.estimate(&View::default(), "red", Metric::WireLossRate).unwrap().mean;
            assert!((lost - 0.05).abs() < 0.02, "{lost}");
        }
        Err(e) => panic!("{e}"),
    }
}

#[test]
fn results_come_back_from_disk_and_damage_is_noticed() {
    let r = results(&Options { command: vec!["quell".into(), "run".into()], ..Options::default() });
    let dir = tempfile::tempdir().unwrap();
    let target = dir.path().join("deep/run");
    write_results(&r, &target, false).unwrap();
    let again = read_results(&target).unwrap();
    assert_eq!(content(&r), content(&again));
    assert_eq!(again.run.command, ["quell", "run"]);
    assert_eq!(again.run.files.len(), Table::ALL.len());
    let left: Vec<_> = std::fs::read_dir(target.parent().unwrap()).unwrap().collect();
    assert_eq!(left.len(), 1, "nothing temporary is left: {left:?}");

    let e = write_results(&r, &target, false).unwrap_err().to_string();
    assert!(e.contains("holds results already; overwrite (--overwrite"), "{e}");
    write_results(&r, &target, true).unwrap();
    read_results(&target).unwrap();

    // A folder with other things in it is never touched.
    let other = dir.path().join("home");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("thesis.txt"), "years of work").unwrap();
    assert!(write_results(&r, &other, true).unwrap_err().to_string().contains("something else"));
    assert!(other.join("thesis.txt").exists());
    assert!(
        write_results(&r, &other.join("thesis.txt"), true).unwrap_err().to_string().contains("is a file")
    );

    // Damage.
    let file = target.join("series.parquet");
    let whole = std::fs::read(&file).unwrap();
    std::fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    assert!(read_results(&target).unwrap_err().to_string().contains("damaged"));
    std::fs::remove_file(&file).unwrap();
    assert!(read_results(&target).unwrap_err().to_string().contains("cannot read series.parquet"));
    std::fs::remove_file(target.join("run.json")).unwrap();
    assert!(read_results(&target).unwrap_err().to_string().contains("run.json"));
}

/// `tests/stored` was written by Quell when its tables were Arrow's; the figures are what polars reads
/// there.
#[test]
fn results_of_an_earlier_version_are_read() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/stored");
    let r = read_results(&folder).unwrap();
    let digests: Vec<u64> = r.replications.iter().map(|r| r.digest).collect();
    let stored = [0xc8b6_1c6d_04ed_5b21, 0xce26_ec93_9c68_4a41, 0x47e1_44bc_5ace_a909, 0x64ea_f3e8_1cb6_6ad5];
    assert_eq!(digests, stored);
    assert_eq!(r.replications.iter().map(|r| r.events).sum::<u64>(), 4140);
    let queues = |algorithm| r.samples(&View::default(), algorithm, Metric::QueueMean);
    assert_eq!(queues("drop-tail"), [(1, 14.5654449365), (2, 14.735543767500001)]);
    assert_eq!(queues("red"), [(1, 11.6299760165), (2, 11.8738893675)]);

    let rows: Vec<usize> = Table::ALL.iter().map(|t| r.columns(*t).rows()).collect();
    // The last one, averages of internal signals, was not written; it follows from the samples.
    assert_eq!(rows, [4, 48, 160, 320, 160, 44, 14, 1664, 12]);
    // Figures that were not known then are absent.
    let lossy = |metric| r.samples(&View::default(), "red", metric).len();
    assert_eq!((lossy(Metric::LossRate), lossy(Metric::RttMean), lossy(Metric::FctStd)), (2, 0, 0));
    assert!(r.replications.iter().flat_map(|r| &r.flows).all(|f| f.round_trip_time_mean_s.is_none()));
    let near = |sum: f64, stored: f64| assert!((sum / stored - 1.0).abs() < 1e-12, "{sum} {stored}");
    let all = || r.replications.iter();
    let series = || all().flat_map(|r| &r.series);
    near(series().flat_map(|s| &s.queue_bytes).sum(), 1_724_960.0);
    near(series().flat_map(|s| &s.queue_delay_mean_s).sum(), 13.740261416185483);
    assert_eq!(series().flat_map(|s| &s.dropped_packets).sum::<u64>(), 133);
    near(series().flat_map(|s| &s.internals).flat_map(|i| &i.values).sum(), 348.2459823915667);
    near(series().flat_map(|s| &s.throughput_bps).flat_map(|(_, x)| x).sum(), 144_217_600.0);
    near(all().flat_map(|r| &r.transfers).map(|t| t.flow_completion_time_s).sum(), 9.750886774000001);
    assert_eq!(all().flat_map(|r| &r.flows).map(|f| f.delivered_bytes).sum::<u64>(), 1_000_000);
    assert!(all().flat_map(|r| &r.flows).all(|f| f.stop_s.is_none()));
    near(all().flat_map(|r| &r.delays).map(|d| d.queue_delay_s).sum(), 178.445047);

    let dir = tempfile::tempdir().unwrap();
    write_results(&r, &dir.path().join("again"), false).unwrap();
    assert_eq!(content(&read_results(&dir.path().join("again")).unwrap()), content(&r));
}

#[cfg(unix)]
#[test]
fn a_target_that_cannot_be_written_is_a_clear_error() {
    let r = results(&Options::default());
    let e = write_results(&r, std::path::Path::new("/proc/quell/run"), false).unwrap_err().to_string();
    assert!(e.contains("/proc/quell"), "{e}");
}

#[test]
fn ratios_are_those_of_each_replication() {
    let r = results(&Options::default());
    let view = View { segment: Some(1), ..View::default() };
    let of = |name: &str| {
        let quantity = name.parse::<Quantity>().unwrap_or_else(|why| panic!("{name}: {why}"));
        r.samples(&view, "red", quantity).into_iter().map(|s| s.1).collect::<Vec<f64>>()
    };
    let classes = ["ftp", "web", "acks"].map(|c| of(&format!("throughput_bps[{c}]/throughput_bps[all]")));
    for seed in 0..3 {
        let sum: f64 = classes.iter().map(|c| c[seed]).sum();
        assert!((sum - 1.0).abs() < 1e-12, "{sum}");
        let (mean, deviation) = (of("queue_packets")[seed], of("queue_std_packets")[seed]);
        assert_eq!(of("Queue deviation / Mean queue")[seed], deviation / mean);
        assert_eq!(of("queue_packets/buffer_packets")[seed], mean / 40.0);
    }
    // The mean of ratios is not the ratio of means.
    let estimate = r.estimate(&view, "red", "goodput[web]/goodput".parse::<Quantity>().unwrap()).unwrap();
    let ratios = of("goodput[web]/goodput[all]");
    assert!((estimate.mean - ratios.iter().sum::<f64>() / 3.0).abs() < 1e-12);
    assert!(estimate.n == 3 && estimate.half_width.is_some());
    assert!(of("queue_packets[ftp]").is_empty(), "a class has no queue of its own");
    let unit = |name: &str| r.unit(&name.parse().unwrap());
    let units =
        ["goodput_bps[web]/goodput_bps", "queue_bytes/queue_packets", "loss_rate", "power/packet rate"];
    assert_eq!(units.map(unit), ["1", "bytes/packets", "1", "bit/s^2/(packet/s)"]);
    let differences =
        r.compare(&view, "drop-tail", &["queue_std_packets/queue_packets".parse::<Quantity>().unwrap()]);
    assert_eq!((differences.len(), differences[0].difference.n), (1, 3));
}

#[test]
fn internal_signals_are_averaged_over_the_window() {
    let r = results(&Options::default());
    let p = Quantity::internal("p");
    let signals = r.signals(0, "bottleneck");
    assert!(signals.contains(&"p") && signals.contains(&"avg"), "{signals:?}");
    let rows = |segment: Option<u32>| {
        let view = View { segment, ..View::default() };
        r.samples(&view, "red", &p)
    };
    for (seed, mean) in rows(None) {
        let run = r.replications.iter().find(|r| r.algorithm == "red" && r.seed == seed).unwrap();
        let series = run.series.iter().find(|s| s.link == "bottleneck").unwrap();
        let signal = series.internals.iter().find(|i| i.name == "p").unwrap();
        let within = series.time_s.iter().zip(&signal.values).filter(|(t, _)| **t > 2.0);
        let values: Vec<f64> = within.map(|(_, x)| *x).collect();
        assert!((mean - values.iter().sum::<f64>() / values.len() as f64).abs() < 1e-15);
        // Two segments of the same length, with as many samples each.
        let parts: f64 = [0, 1].map(|i| rows(Some(i)).iter().find(|s| s.0 == seed).unwrap().1).iter().sum();
        assert!((mean - parts / 2.0).abs() < 1e-12, "{mean} {parts}");
    }
    assert!(rows(None).iter().all(|(_, p)| *p > 0.0 && *p < 1.0), "{:?}", rows(None));
    assert!(r.samples(&View::default(), "drop-tail", &p).is_empty());
    assert_eq!(r.lacks(&p), None);
    assert_eq!(r.lacks(&"loss_rate[web]/loss_rate[data]".parse().unwrap()), None);
    let why = r.lacks(&Quantity::internal("avgg")).unwrap();
    assert!(
        why.starts_with("internal:avgg: \"avgg\": unknown internal signal")
            && why.contains("did you mean \"avg\"? Known: avg, "),
        "{why}"
    );
    let why = r.lacks(&"loss_rate[wbe]".parse().unwrap()).unwrap();
    assert!(why.contains("unknown class") && why.contains("did you mean \"web\"?"), "{why}");
    // As a table: three windows of every signal and replication of RED.
    let columns = r.columns(Table::InternalMeans);
    let links = ["bottleneck", "reverse"].map(|link| r.signals(0, link).len());
    assert_eq!(columns.rows(), 3 * 3 * links.iter().sum::<usize>());
    assert!(columns.get("mean").is_some() && columns.get("segment").is_some());
}

#[test]
fn round_trip_times_are_at_least_the_propagation_delay() {
    let r = results(&Options::default());
    for run in &r.replications {
        let of = |scope: &str| {
            &run.metrics
                .iter()
                .find(|m| m.link == "bottleneck" && m.segment.is_none() && m.scope == scope)
                .unwrap()
                .values
        };
        for flow in run.flows.iter().filter(|f| f.round_trip_time_mean_s.is_some()) {
            assert!(flow.round_trip_time_mean_s.unwrap() > flow.base_rtt_s, "{flow:?}");
        }
        let get = |scope, metric| of(scope).get(metric).unwrap_or_else(|| panic!("{scope}: no {metric:?}"));
        assert!(get("ftp", Metric::RttMean) > 0.03 + get("ftp", Metric::DelayMean));
        assert!(get("all", Metric::RttP50) <= get("all", Metric::RttP99));
        assert_eq!(of("acks").get(Metric::RttMean), None);
    }
}

#[test]
fn response_times_are_taken_against_the_steady_state_of_the_scenario() {
    let text = |extra: &str| {
        format!(
            "{extra}\n{}",
            SCENARIO.replace("duration = \"6 s\"", "duration = \"10 s\"\nseries_step = \"20 ms\"")
        )
    };
    let times = |extra: &str| {
        let r = run(&study(&text(extra), &Plugins::new()), &Options::default()).unwrap();
        (
            r.run.digest.clone(),
            r.samples(&View { segment: Some(2), ..View::default() }, "drop-tail", Metric::ResponseTime),
        )
    };
    let (own, others) = (times(""), times("steady_state = [\"4 s\", \"10 s\"]"));
    assert_eq!(own.0, others.0, "the sample paths are the same");
    assert_ne!(own.1, others.1);
}

#[test]
fn columns_carry_their_units() {
    let r = results(&Options::default());
    assert!(r.columns(Table::Metrics).get("queue_delay_p99_s").is_some());
    assert!(r.columns(Table::Series).get("queue_packets").is_some());
    assert_eq!(r.columns(Table::Replications).rows(), 6);
    assert!(r.columns(Table::Internals).rows() > 0, "RED shows its average");
}

/// Signals every n-th packet.
struct EveryNth {
    n: u32,
    count: u32,
}

impl Aqm for EveryNth {
    fn on_enqueue(&mut self, _: &mut Ctx<'_>, _: &PacketMeta) -> Verdict {
        self.count += 1;
        if self.count.is_multiple_of(self.n) { Verdict::Signal(Cause::Early) } else { Verdict::Pass }
    }
}

fn every_nth() -> Plugins {
    let mut plugins = Plugins::new();
    plugins
        .insert(
            "every-nth",
            Arc::new(|_, parameters| {
                let n = parameters.get("n").and_then(toml::Value::as_integer).unwrap_or(20);
                let n = u32::try_from(n).ok().filter(|n| *n > 0).ok_or("n must be positive")?;
                Ok(Box::new(EveryNth { n, count: 0 }))
            }),
        )
        .unwrap();
    plugins
}

#[test]
fn a_plug_in_runs_with_its_parameters() {
    let plugins = every_nth();
    let text = SCENARIO.replace("\"red\"", "\"every-nth\"\nn = 10");
    let options = Options { plugins: plugins.clone(), ..Options::default() };
    let r = run(&study(&text, &plugins), &options).unwrap();
    let early = r.estimate(&View::default(), "every-nth", Metric::EarlyLossRate).unwrap().mean;
    assert!((early - 0.1).abs() < 0.002, "{early}");
    let e = Study::parse(&text.replace("n = 10", "n = 0"), "x.toml", &plugins).unwrap_err().to_string();
    assert!(e.contains("aqm[1].algorithm") && e.contains("n must be positive"), "{e}");
    assert!(Study::parse(&text, "x.toml", &Plugins::new()).is_err());
    let mut plugins = plugins;
    assert!(plugins.insert("red", Arc::new(|_, _| Err("no".into()))).is_err());
}

#[test]
fn a_panicking_plug_in_is_an_error_that_names_the_replication() {
    struct Bad;
    impl Aqm for Bad {
        fn on_enqueue(&mut self, _: &mut Ctx<'_>, _: &PacketMeta) -> Verdict {
            panic!("out of ideas")
        }
    }
    let mut plugins = Plugins::new();
    plugins.insert("bad", Arc::new(|_, _| Ok(Box::new(Bad)))).unwrap();
    let text = SCENARIO.replace("\"red\"", "\"bad\"");
    let options = Options { plugins: plugins.clone(), ..Options::default() };
    let e = run(&study(&text, &plugins), &options).unwrap_err().to_string();
    assert!(e.starts_with("bad with seed") && e.contains("out of ideas"), "{e}");
}

#[test]
fn a_stop_keeps_what_is_finished() {
    // Stops after the second replication at the latest that progress shows, or before any.
    let stop = AtomicBool::new(true);
    let r = results(&Options { stop: Some(&stop), ..Options::default() });
    assert!(r.run.partial && r.replications.is_empty());
    let dir = tempfile::tempdir().unwrap();
    write_results(&r, &dir.path().join("run"), false).unwrap();
    assert!(read_results(&dir.path().join("run")).unwrap().run.partial);

    let stop = AtomicBool::new(false);
    let text = SCENARIO.replace("\"6 s\"", "\"600 s\"").replace("segments = \"2 s\"\n", "");
    let progress = |p: &Progress| {
        if p.finished >= 1 {
            stop.store(true, Ordering::Relaxed);
        }
    };
    let options =
        Options { threads: Some(1), stop: Some(&stop), progress: Some(&progress), ..Options::default() };
    let r = run(&study(&text, &Plugins::new()), &options).unwrap();
    if r.run.partial {
        assert!(!r.replications.is_empty() && r.replications.len() < 6);
        let whole = run(&study(&text, &Plugins::new()), &Options::default()).unwrap();
        assert_eq!(r.replications[0].digest, whole.replications[0].digest);
    }
}

#[test]
fn progress_rises_to_the_end() {
    let last = AtomicUsize::new(0);
    let progress = |p: &Progress| {
        let now = (p.done * 1e6) as usize;
        assert!(now >= last.swap(now, Ordering::Relaxed));
        assert_eq!(p.total, 6);
    };
    results(&Options { progress: Some(&progress), ..Options::default() });
    assert_eq!(last.load(Ordering::Relaxed), 1_000_000);
}

/// Access links are not to be the bottleneck, whatever the link between the routers.
#[test]
fn access_links_are_faster_than_the_link_they_lead_to() {
    let text = |rate: &str, own: &str| {
        format!(
            "schema = 1\nduration = \"20 s\"\nwarmup = \"10 s\"\nseeds = 1\n[dumbbell]\nrate = \"{rate}\"\n\
             delay = \"1 ms\"\nbuffer = \"2000 packets\"\n{own}\n[[aqm]]\nalgorithm = \"drop-tail\"\n\
             [[flows]]\nname = \"ftp\"\ncount = 2\nrtt = \"4 ms\"\n"
        )
    };
    let utilization = |text: String| {
        let study = Study::parse(&text, "access.toml", &Plugins::new()).unwrap();
        let results = run(&study, &Options::default()).unwrap();
        let view = View::of_point(0);
        results.estimate(&view, "drop-tail", Metric::Utilization).unwrap().mean
    };
    assert!(utilization(text("500 Mbit/s", "")) > 0.95);
    let slow = utilization(text("500 Mbit/s", "access_rate = \"100 Mbit/s\""));
    assert!((0.3..0.45).contains(&slow), "two flows at 100 Mbit/s each: {slow}");
}

/// A scenario that comes with Quell, shortened.
fn shortened(text: &str, changes: &[(&str, &str)]) -> Results {
    let text = changes.iter().fold(text.to_string(), |text, (long, short)| {
        assert!(text.contains(long), "{long}");
        text.replace(long, short)
    });
    run(&study(&text, &Plugins::new()), &Options::default()).unwrap()
}

/// The mean of a lane by algorithm.
fn in_lane(results: &Results, metric: Metric, lane: &str) -> Vec<f64> {
    let view = View { scope: format!("lane:{lane}"), ..View::default() };
    let mean = |algorithm: &String| results.estimate(&view, algorithm, metric).unwrap().mean;
    results.algorithms(0).iter().map(mean).collect()
}

#[test]
fn a_call_goes_before_the_downloads_of_its_home() {
    let changes = [
        ("duration = \"60 s\"", "duration = \"6 s\""),
        ("warmup = \"20 s\"", "warmup = \"3 s\""),
        ("seeds = 3", "seeds = 1"),
    ];
    let results = shortened(include_str!("../../../../scenarios/classes.toml"), &changes);
    let get = |metric, lane: &str| in_lane(&results, metric, lane);
    let calls = get(Metric::Throughput, "voice-1");
    assert_eq!(calls.len(), 2);
    assert!(calls.iter().all(|rate| (rate / 100e3 - 1.0).abs() < 0.05), "{calls:?}");
    let (call, download) = (get(Metric::DelayP99, "voice-1"), get(Metric::DelayP99, "rest-1"));
    assert!(
        call.iter().zip(&download).all(|(call, download)| call * 2.0 < *download),
        "{call:?} {download:?}"
    );
    // Six homes borrow of 35 Mbit/s, which the calls leave the rest of.
    let downloads: f64 = (1..=6).map(|home| get(Metric::Throughput, &format!("rest-{home}"))[0]).sum();
    assert!((0.9..1.01).contains(&(downloads / (35e6 - 0.6e6))), "{downloads}");
}

/// Users who are always busy and whose channels stay as they are have equal time, so a third of their rates each.
#[test]
fn phones_of_a_cell_have_a_third_of_their_rates() {
    let changes = [
        ("duration = \"30 s\"", "duration = \"12 s\""),
        ("warmup = \"10 s\"", "warmup = \"6 s\""),
        ("seeds = 3", "seeds = 1"),
    ];
    let results = shortened(include_str!("../../../../scenarios/cell.toml"), &changes);
    for (lane, rate) in [("far", 4e6), ("middle", 12e6), ("near", 40e6)] {
        let found = in_lane(&results, Metric::Throughput, lane)[0];
        assert!((found / (rate / 3.0) - 1.0).abs() < 0.1, "{lane}: {found}");
    }
}
