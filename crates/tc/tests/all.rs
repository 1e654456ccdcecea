//! Words to algorithms and back, and what tc prints.

use std::path::Path;

use proptest::prelude::*;
use quell_aqm::cake::{Diffserv, Framing};
use quell_aqm::catalog::AqmConfig;
use quell_tc::{
    Added, Branch, Bucket, Kernel, Link, Place, Shape, Shaper, links, read, write_bucket, write_tree,
};
use quell_units::{BitRate, Bytes, LinkLayer, QueueSize};

const KERNEL: Kernel = Kernel::NEWEST;

/// The meaning of one line.
fn meaning(line: &str) -> quell_tc::Meaning {
    let dump = read(line, KERNEL);
    let bad: Vec<String> = dump.problems.iter().filter(|p| p.fatal).map(ToString::to_string).collect();
    assert!(bad.is_empty(), "{line}: {bad:?}");
    dump.queues.into_iter().next().and_then(|queue| queue.meaning).unwrap_or_else(|| panic!("{line}"))
}

/// The line that is written for a meaning.
fn line(of: &quell_tc::Meaning) -> String {
    let link = Link { rate: None, buffer: of.buffer, ecn: of.ecn, mean_packet: Bytes::new(1000) };
    let place = Place::Root { device: "eth0".into() };
    let written = quell_tc::write(&of.aqm, &link, &place, KERNEL).unwrap_or_else(|e| panic!("{e}"));
    written.lines.join("\n")
}

/// What a line means, written, means the same, and is written alike.
fn returns(text: &str) {
    let first = meaning(text);
    let written = line(&first);
    let second = meaning(&written);
    assert_eq!(first.aqm, second.aqm, "{text}\n{written}");
    assert_eq!((first.buffer, first.ecn), (second.buffer, second.ecn), "{text}\n{written}");
    assert_eq!(written, line(&second));
}

fn choice(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    proptest::sample::select(words).prop_map(str::to_string)
}

/// A word with a value of a range, or nothing.
fn maybe(
    word: &'static str,
    range: std::ops::Range<u32>,
    unit: &'static str,
) -> impl Strategy<Value = String> {
    proptest::option::of(range).prop_map(move |n| n.map_or(String::new(), |n| format!("{word} {n}{unit}")))
}

fn limit() -> impl Strategy<Value = String> {
    maybe("limit", 2..20_000, "")
}

proptest! {
    #[test]
    fn codel_returns(a in limit(), b in maybe("target", 1..500_000, "us"), c in maybe("interval", 1..900_000, "us"),
        d in maybe("ce_threshold", 1..50_000, "us"), e in choice(&["", "ecn", "noecn"])) {
        returns(&format!("codel {a} {b} {c} {d} {e}"));
    }

    #[test]
    fn fq_codel_returns(a in limit(), b in maybe("target", 1..500_000, "us"), c in maybe("interval", 1..900_000, "us"),
        d in proptest::option::of(1..50_000_u32), e in choice(&["", "ecn", "noecn"]),
        f in maybe("flows", 1..65_537, ""), g in maybe("quantum", 256..9_000, ""),
        h in maybe("memory_limit", 1_000..40_000_000, "b"), i in maybe("drop_batch", 1..256, ""), j in choice(&["", "ce_threshold_selector 1/3"])) {
        let d = d.map_or(String::new(), |us| format!("ce_threshold {us}us {j}"));
        returns(&format!("fq_codel {a} {b} {c} {d} {e} {f} {g} {h} {i}"));
    }

    #[test]
    fn pie_returns(a in limit(), b in maybe("target", 1..500_000, "us"), c in maybe("tupdate", 1..900_000, "us"),
        d in maybe("alpha", 0..33, ""), e in maybe("beta", 0..33, ""), f in choice(&["", "ecn", "noecn"]),
        g in choice(&["", "dq_rate_estimator", "no_dq_rate_estimator"])) {
        returns(&format!("pie {a} {b} {c} {d} {e} {f} {g}"));
    }

    #[test]
    fn fq_pie_returns(a in limit(), b in maybe("target", 1..500_000, "us"), c in maybe("tupdate", 1..900_000, "us"),
        d in maybe("alpha", 0..33, ""), e in maybe("beta", 0..33, ""), f in choice(&["", "ecn", "noecn"]),
        g in choice(&["", "dq_rate_estimator"]), h in maybe("ecn_prob", 0..101, ""), i in maybe("flows", 1..65_537, ""),
        j in maybe("quantum", 256..9_000, ""), k in maybe("memory_limit", 1_000..40_000_000, "")) {
        returns(&format!("fq_pie {a} {b} {c} {d} {e} {f} {g} {h} {i} {j} {k}"));
    }

    #[test]
    fn dualpi2_returns(a in limit(), b in maybe("target", 1..500_000, "us"), c in maybe("tupdate", 1..900_000, "us"),
        d in proptest::option::of(1..5_000_u32), e in proptest::option::of(1..5_000_u32),
        f in choice(&["", "drop_on_overload", "overflow"]), g in choice(&["", "drop_enqueue", "drop_dequeue"]),
        h in choice(&["", "l4s_ect", "any_ect"]), i in maybe("classic_protection", 0..100, "%"),
        j in maybe("coupling_factor", 1..256, ""),
        k in prop_oneof![maybe("step_thresh", 1..50_000, "us"), maybe("step_thresh", 1..500, "p")],
        l in maybe("min_qlen_step", 0..100, "")) {
        // A step in packets leaves no place for the other number of packets.
        let l = if k.ends_with('p') { String::new() } else { l };
        let gain = |name: &str, n: Option<u32>| n.map_or(String::new(), |n| format!("{name} {}", f64::from(n) / 256.0));
        returns(&format!("dualpi2 {a} {b} {c} {} {} {f} {g} {h} {i} {j} {k} {l}", gain("alpha", d), gain("beta", e)));
    }

    #[test]
    fn dualpi2_of_round_trips_returns(max in 1_000..2_000_000_u32, typical in proptest::option::of(34..=100_u32)) {
        let typical = typical.map(|percent| format!("typical_rtt {}us", (max / 100 * percent).max(1)));
        let typical = typical.unwrap_or_default();
        returns(&format!("dualpi2 max_rtt {max}us {typical}"));
    }

    #[test]
    fn red_returns(min in 1_100..100_000_u32, more in 1..200_000_u32, limit in 0..400_000_u32, long in 0..500_u32,
        p in 1..1_000_u32, flags in choice(&["", "ecn", "ecn harddrop"])) {
        let (max, burst) = (min + more, min / 1_000 + 1 + long);
        let p = f64::from(p) / 1_000.0;
        let limit = max + limit;
        returns(&format!("red limit {limit} min {min} max {max} avpkt 1000 burst {burst} probability {p} {flags}"));
    }

    #[test]
    fn choke_returns(min in 2..500_u32, more in 1..500_u32, limit in 0..4_000_u32,
        long in 0..500_u32, p in 1..1_000_u32, ecn in choice(&["", "ecn"])) {
        let (max, burst, p) = (min + more, min + long, f64::from(p) / 1_000.0);
        let limit = max + limit;
        let average = format!("bandwidth 10mbit burst {burst} probability {p}");
        returns(&format!("choke limit {limit} min {min} max {max} {average} {ecn}"));
    }

    #[test]
    fn sfq_returns(limit in proptest::option::of(2..10_000_u32), divisor in 0..17_u32, active in 80..60_000_u32,
        depth in 126..128_u32, perturb in maybe("perturb", 0..1_000, ""), quantum in maybe("quantum", 256..9_000, "")) {
        let limit = limit.map_or(String::new(), |limit| format!("limit {}", limit.min(active * depth)));
        returns(&format!("sfq {limit} divisor {} flows {active} depth {depth} {perturb} {quantum}", 1_u32 << divisor));
    }

    #[test]
    fn sfb_returns(a in limit(), b in maybe("rehash", 1..4_000_000, ""), c in maybe("db", 1..4_000_000, ""),
        d in maybe("max", 1..1_000, ""), e in maybe("target", 1..1_000, ""), f in proptest::option::of(0..65_536_u32),
        g in proptest::option::of(0..65_536_u32), h in maybe("penalty_rate", 0..1_000, ""),
        i in maybe("penalty_burst", 0..1_000, "")) {
        let share = |n: u32| f64::from(n) / 65_535.0;
        let part = |name: &str, n: Option<u32>| n.map_or(String::new(), |n| format!("{name} {:.9}", share(n)));
        returns(&format!("sfb {a} {b} {c} {d} {e} {} {} {h} {i}", part("increment", f), part("decrement", g)));
    }

    #[test]
    fn cake_returns(a in maybe("bandwidth", 1..4_000_000, "kbit"),
        b in choice(&["", "besteffort", "diffserv3", "diffserv4"]),
        c in choice(&["", "flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost",
            "triple-isolate"]),
        d in choice(&["", "wash", "nowash"]), e in choice(&["", "ingress", "egress"]),
        f in choice(&["", "ack-filter", "ack-filter-aggressive", "no-ack-filter"]),
        g in maybe("rtt", 1..4_000_000, "us"),
        h in choice(&["", "docsis", "pppoe-ptm ether-vlan", "conservative", "ethernet", "raw",
            "atm overhead 44 mpu 20"]),
        i in maybe("memlimit", 1_000_000..40_000_000, ""), j in choice(&["", "autorate-ingress"]),
        k in choice(&["", "metro", "satellite"])) {
        returns(&format!("cake {a} {b} {c} {d} {e} {f} {g} {h} {i} {j} {k}"));
    }

    #[test]
    fn fifos_return(packets in 1..1_000_000_u32, kind in choice(&["pfifo", "bfifo", "pfifo_head_drop"])) {
        returns(&format!("{kind} limit {packets}"));
    }

    /// Whatever stands in a text, it is an answer, and each line that is left out is named.
    #[test]
    fn no_text_is_dropped_in_silence(
        text in "(qdisc|class|tc|sudo|fq_codel|cake|htb|1:10|dev|root|[a-z0-9:'=\\[{\"\r\n\t \u{0}]{1,8}| ){1,20}",
    ) {
        let dump = read(&text, KERNEL);
        let _ = links(&dump);
        prop_assert!(!dump.queues.is_empty() || !dump.classes.is_empty() || !dump.problems.is_empty(), "{text:?}");
    }

    #[test]
    fn words_of_a_grammar_in_any_order_are_read_or_named(
        words in proptest::collection::vec(proptest::sample::select(vec!["limit", "target", "5ms", "1/3", "ecn",
            "flows", "-4", "18mbit", "fwmark", "0xff", "overhead", "rtt", "stab", "parent", "dev",
            "99999999999999999999"]), 0..30),
        kind in choice(&["fq_codel", "cake", "pie", "dualpi2", "red", "choke", "sfq", "sfb", "tbf", "codel", "fq_pie",
            "pfifo"])) {
        let dump = read(&format!("qdisc {kind} 1: root {}", words.join(" ")), KERNEL);
        let _ = links(&dump);
        prop_assert!(!dump.queues.is_empty() || !dump.problems.is_empty());
    }
}

/// What is cut anywhere is an answer: of text and of JSON.
#[test]
fn a_dump_that_is_cut_is_an_answer() {
    for text in [
        include_str!("data/kernel-6.12/cake.txt"),
        include_str!("data/kernel-6.12/htb-leaves.txt"),
        include_str!("data/kernel-7.x/dualpi2.txt"),
        include_str!("data/sqm.uci"),
        include_str!("data/wan.network"),
        include_str!("data/kernel-6.12/htb-leaves.json"),
    ] {
        for (end, _) in text.char_indices() {
            let dump = read(&text[..end], KERNEL);
            let _ = links(&dump);
            assert!(
                !dump.queues.is_empty() || !dump.classes.is_empty() || !dump.problems.is_empty(),
                "{end}"
            );
        }
    }
    let json = include_str!("data/kernel-6.12/htb-leaves.json");
    let dump = read(&json[..json.len() / 2], KERNEL);
    assert!(dump.problems[0].says.contains("was cut"), "{:?}", dump.problems);
    let dump = read("qdisc fq_codel 8001: dev eth0 root refcnt 2 limit 10240p flows", KERNEL);
    assert_eq!(dump.problems[0].word, "flows");
    assert!(dump.problems[0].fatal && dump.problems[0].says.contains("ends there"), "{:?}", dump.problems);
}

/// Ends of lines, repeated words, words after the 24th, words of newer kernels, and bytes that are not text.
#[test]
fn what_is_odd_is_named() {
    let text = include_str!("data/kernel-6.12/htb-leaves.txt");
    let unix = read(text, KERNEL);
    assert_eq!(read(&text.replace('\n', "\r\n"), KERNEL), unix);
    let mut mixed = 0;
    let mixed: String = text
        .chars()
        .map(|c| {
            mixed += 1;
            if c == '\n' && mixed % 2 == 0 { "\r\n".into() } else { c.to_string() }
        })
        .collect();
    assert_eq!(read(&mixed, KERNEL), unix);
    let says = |text: &str, part: &str| {
        let dump = read(text, KERNEL);
        let all: Vec<String> = dump.problems.iter().map(ToString::to_string).collect();
        assert!(all.iter().any(|p| p.contains(part)), "{text}: {all:?}");
    };
    says("fq_codel target 5ms target 6ms", "line 1: target: comes again");
    says(
        "fq_codel target 5ms\n\nfq_codel futureword 7 target 6ms",
        "line 3: futureword 7: no word of fq_codel's",
    );
    says(&format!("fq_codel {} lastword", "target 5ms ".repeat(40)), "lastword");
    says("fq_codel\u{0}\u{fffd} target 5ms", "line 1");
    says("qdisc newthing_v2 1: root refcnt 2 limit 5p", "newthing_v2: no qdisc that is known here");
    says("fq_codel target 5mm", "target: \"5mm\" is not a time");
    says("tc qdisc del dev eth0 root", "no queue is in it");
    says("tc qdisc show dev eth0", "show: only asks for queues");
    says("qdisc fq 0: root refcnt 2 limit 10000p", "paces senders");
    assert_eq!(meaning("fq_codel target 5ms target 6ms").aqm, meaning("fq_codel target 6ms").aqm);
    // Many problems are counted.
    let dump = read(&"nonsense\n".repeat(100_000), KERNEL);
    assert!(
        dump.problems.len() + dump.more_problems == 100_000 && dump.problems.len() < 100,
        "{}",
        dump.problems.len()
    );
}

/// A large text takes no more than its share of time.
#[test]
fn a_gigantic_text_is_read_at_once() {
    let begin = std::time::Instant::now();
    for text in [
        "fq_codel ".repeat(500_000),
        "qdisc fq_codel 1: dev eth0 root\n".repeat(100_000),
        (0..100_000)
            .map(|n| format!("class htb 1:{n:x} dev e{n} parent 1: rate 1mbit\n"))
            .collect::<String>(),
        "[".repeat(1_000_000),
        format!("fq_codel limit {}", "9".repeat(1_000_000)),
        " ; ".repeat(500_000),
    ] {
        let dump = read(&text, KERNEL);
        let _ = links(&dump);
        assert!(!dump.problems.is_empty() || !dump.queues.is_empty());
    }
    assert!(begin.elapsed().as_secs() < 60, "{:?}", begin.elapsed());
}

/// The defaults of each qdisc, read, are what a line without words means: the table is used both ways.
#[test]
fn a_line_without_words_has_the_defaults() {
    for kernel in Kernel::KNOWN {
        for (algorithm, qdisc) in quell_tc::QDISCS {
            let Some(usual) = quell_tc::usual(qdisc, kernel) else { continue };
            let dump = read(qdisc, kernel);
            assert_eq!(dump.queues[0].meaning.as_ref().map(|m| &m.aqm), Some(&usual.aqm), "{qdisc}");
            let words = quell_tc::defaults::of_qdisc(qdisc, kernel).unwrap().words;
            let dump = read(&format!("{qdisc} {words}"), kernel);
            assert_eq!(dump.problems, [], "{qdisc}");
            assert_eq!(dump.queues[0].meaning.as_ref().map(|m| &m.aqm), Some(&usual.aqm), "{qdisc}");
            assert!(usual.aqm.name() == *algorithm || *algorithm == "sfq-red");
            let link =
                Link { rate: None, buffer: usual.buffer, ecn: usual.ecn, mean_packet: Bytes::new(1500) };
            let place = Place::Root { device: "eth0".into() };
            let written = quell_tc::write(&usual.aqm, &link, &place, kernel).unwrap();
            let name = if *qdisc == "pfifo" { "pfifo limit 1000" } else { qdisc };
            // Linux cannot change sfq, so it has to go first.
            let lines = match name {
                "sfq" => &written.lines[1..],
                _ => &written.lines[..],
            };
            assert_eq!(lines, [format!("tc qdisc replace dev eth0 root {name}")]);
        }
    }
}

#[test]
fn every_line_of_the_corpus_is_an_answer() {
    for text in include_str!("data/lines.txt").lines().filter(|line| !line.trim().is_empty()) {
        let dump = read(text, KERNEL);
        assert!(!dump.queues.is_empty() || !dump.problems.is_empty(), "{text}");
    }
}

/// What a kernel showed of lines that it was given (conformance/linux/boot): `tc -s -d qdisc show` with the classes,
/// and `tc -s -d -j qdisc show`.
struct Shown {
    name: String,
    kernel: Kernel,
    lines: String,
    text: String,
    json: String,
}

fn shown() -> Vec<Shown> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let file =
        |path: &Path| std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let cases = file(&root.join("../../conformance/linux/lines.json"));
    let cases: Vec<serde_json::Value> = serde_json::from_str(&cases).unwrap();
    let mut all = Vec::new();
    for (folder, kernel) in
        [("kernel-6.1", Kernel::OLDEST), ("kernel-6.12", Kernel::new(6, 12)), ("kernel-7.x", Kernel::NEWEST)]
    {
        for case in &cases {
            let name = case["name"].as_str().unwrap().to_string();
            let path = root.join("tests/data").join(folder).join(&name);
            if path.with_extension("txt").exists() {
                let lines = case["lines"].as_array().unwrap();
                let lines: Vec<&str> = lines.iter().map(|line| line.as_str().unwrap()).collect();
                let lines = lines.join("\n");
                let (text, json) = (file(&path.with_extension("txt")), file(&path.with_extension("json")));
                all.push(Shown { name, kernel, lines, text, json });
            }
        }
    }
    all
}

/// What one kernel showed of a case.
fn case(name: &str, kernel: Kernel) -> Shown {
    shown().into_iter().find(|case| case.name == name && case.kernel == kernel).unwrap()
}

/// Parameters that differ, but for what the kernel rounds: PIE's interval to ticks of 4 ms, and in JSON CoDel's times
/// to its clock.
fn different(ours: &AqmConfig, theirs: &AqmConfig, is_json: bool) -> Vec<String> {
    let rounded: &[&str] = match ours.name() {
        "pie" | "fq-pie" => &["update_interval"],
        "codel" | "fq-codel" if is_json => &["target", "interval"],
        _ => &[],
    };
    let of = |config: &AqmConfig| serde_json::to_value(config).unwrap().as_object().unwrap().clone();
    let (ours, theirs) = (of(ours), of(theirs));
    let both = ours.iter().filter(|(name, value)| {
        !rounded.contains(&name.as_str()) && theirs.get(name.as_str()) != Some(*value)
    });
    both.map(|(name, value)| format!("{name}: {value}, {:?}", theirs.get(name))).collect()
}

/// Of each case, what three kernels show means what was given, in text and in JSON.
#[test]
fn what_kernels_show_means_what_they_were_given() {
    let mut queues = 0;
    for Shown { name, kernel, lines, text, json } in shown() {
        let given = links(&read(&lines, kernel));
        for (is_json, body) in [(false, &text), (true, &json)] {
            let dump = read(body, kernel);
            let passed = ["noqueue", "ingress", "netem", "mpu", "overhead"];
            let is_class = |word: &str| dump.queues.iter().any(|queue| queue.kind == word);
            for problem in &dump.problems {
                assert!(
                    passed.contains(&problem.word.as_str()) || is_class(&problem.word),
                    "{name}: {problem}"
                );
            }
            let shown = links(&dump);
            assert_eq!(given.len(), shown.len(), "{name}");
            for (ours, theirs) in given.iter().zip(&shown) {
                assert_eq!((&ours.device, &ours.kind), (&theirs.device, &theirs.kind), "{name}");
                // Of classes, JSON was not asked for.
                if !is_json || name.starts_with("tbf") {
                    match (&ours.shape, &theirs.shape) {
                        (Shape::Classes(_), Shape::Classes(_)) => {}
                        // tc has bursts as ticks of time, and the one of 6.1 is a few bytes off.
                        (Shape::Bucket(ours), Shape::Bucket(theirs)) => {
                            assert!(ours.burst.get().abs_diff(theirs.burst.get()) <= 3, "{name}");
                            assert_eq!(Bucket { burst: theirs.burst, ..*ours }, *theirs, "{name}");
                        }
                        (ours, theirs) => assert_eq!(ours, theirs, "{name}"),
                    }
                }
                if let (Some(ours), Some(theirs)) = (&ours.queue, &theirs.queue) {
                    assert_eq!(different(&ours.aqm, &theirs.aqm, is_json), [""; 0], "{name}");
                    assert_eq!((ours.buffer, ours.ecn), (theirs.buffer, theirs.ecn), "{name}");
                    queues += 1;
                }
            }
        }
    }
    assert!(queues > 100, "{queues}");
}

/// A dump without the word ecn is of a queue that marks nothing; a line that people type has the default.
#[test]
fn a_word_that_a_dump_lacks_is_off() {
    let fq_codel =
        "fq_codel 8001: dev eth0 root refcnt 2 limit 10240p target 5ms interval 100ms drop_batch 64";
    assert!(!meaning(&format!("qdisc {fq_codel}")).ecn);
    assert!(meaning("tc qdisc replace dev eth0 root handle 1: fq_codel limit 10240").ecn);
    // The selector of ce_threshold is two numbers of JSON, as Linux 6.12 prints them.
    let json = r#"[{"kind":"fq_codel","handle":"8001:","dev":"eth0","root":true,"refcnt":2,"options":{"limit":10240,
        "ce_threshold":999,"ce_threshold_selector":1,"ce_threshold_mask":3,"ecn":true}}]"#;
    let dump = read(json, KERNEL);
    assert_eq!(dump.problems, []);
    let AqmConfig::FqCodel(params) = &dump.queues[0].meaning.as_ref().unwrap().aqm else { panic!() };
    assert_eq!(params.ce_threshold_for, quell_aqm::fq_codel::Marked::Ect1);
    assert_eq!(params.ce_threshold.map(|time| time.nanos()), Some(1_000_000));
    // The kernel shows 4999 of 5 ms (steps of 1024 ns), and tc's text 5ms: both are the default.
    let item = r#"[{"kind":"codel","handle":"1:","parent":"7:1","options":{"limit":9,"target":4999,"interval":99999},
        "bytes":90,"packets":1,"maxpacket":90}]"#;
    let (json, text) =
        (read(item, KERNEL), read("qdisc codel 1: root limit 9p target 5ms interval 100ms", KERNEL));
    assert_eq!(json.queues[0].meaning.as_ref().unwrap().aqm, text.queues[0].meaning.as_ref().unwrap().aqm);
    let counters = links(&json)[0].counters.clone().unwrap();
    assert_eq!(counters.others, [("maxpacket".to_string(), "90".to_string())]);
}

/// What tc refuses is refused, with what was meant.
#[test]
fn a_typo_is_refused_and_so_is_a_cut() {
    for (line, part) in [
        ("fq_codel limt 1000", "limt 1000: no word of fq_codel's; did you mean limit?"),
        ("fq_codle limit 1000", "fq_codle: no qdisc that is known here; did you mean fq_codel?"),
        (
            "cake bandwidth 95 Mbit/s docsis",
            "Mbit/s: stands behind bandwidth 95, which is a word of its own: write 95mbit",
        ),
        ("fq_codel bogus 5", "bogus 5: no word of fq_codel's"),
        ("tc qdisc add dev eth0 root pie bogus", "bogus: no word of pie's"),
        (
            "tc class add dev eth0 parent 1: classid 1:1 htb rate 9mbit bogus 1",
            "bogus: no word of htb's classes",
        ),
        ("cake 100Mbit", "100Mbit: no word of cake's; did you mean bandwidth 100Mbit?"),
        ("qdisc fq_codel 1: root refcnt 2 limit 5p flo", "flo: the line ends in the middle of flows"),
    ] {
        let dump = read(line, KERNEL);
        let all: Vec<String> = dump.problems.iter().filter(|p| p.fatal).map(ToString::to_string).collect();
        assert!(all.iter().any(|says| says.contains(part)), "{line}: {:?}", dump.problems);
        assert!(dump.queues.is_empty(), "{line}");
    }
    let dump = read("[CAKE]\nBandwidth=18Mbit", KERNEL);
    assert_eq!(dump.problems[0].to_string(), "line 2: Bandwidth: \"18Mbit\" is no value of it: write 18M");
    // A device has one queue at its root.
    let two = read("[CAKE]\nBandwidth=18M\n[FairQueueingControlledDelay]\nParent=root\n", KERNEL);
    let says = two.problems.iter().find(|p| p.fatal).unwrap().to_string();
    assert!(
        says.contains("line 3: fq_codel: a device has one queue at its root, and line 1 has cake"),
        "{says}"
    );
    // What goes to no class is not shaped: htb_classify of net/sched/sch_htb.c.
    let htb =
        |n| format!("qdisc htb 1: dev eth0 root default 0x{n}\nclass htb 1:10 root rate 9Mbit ceil 9Mbit\n");
    let notes = |n| links(&read(&htb(n), KERNEL))[0].notes.join("");
    assert!(notes("12").contains("default 12 is no leaf of the text"), "{}", notes("12"));
    assert_eq!(notes("10"), "");
    // Newer versions may print more.
    assert_eq!(read("qdisc fq_codel 1: root refcnt 2 limits 5p ecn", KERNEL).queues.len(), 1);
    let dump = read("cake bandwidth 95mbps", KERNEL);
    assert!(dump.problems[0].says.contains("95mbps is 760 Mbit/s"), "{:?}", dump.problems);
    // What a host without any setting has.
    let dump = read("qdisc pfifo_fast 0: dev eth0 root refcnt 2 bands 3 priomap 1 2 2 2 1 2 0 0", KERNEL);
    assert_eq!(
        links(&dump)[0].queue.as_ref().map(|q| (q.aqm.name(), q.buffer)),
        Some(("drop-tail", QueueSize::Packets(1000.0)))
    );
    // Lines of uci set are those of the file.
    let set = "uci set sqm.@queue[0].interface='wan'\nuci set sqm.@queue[0].upload='5000'\nuci commit sqm\n\
               /etc/init.d/sqm restart\n";
    let file = "config queue\n\toption interface 'wan'\n\toption upload '5000'\n";
    let [set, file] = [set, file].map(|text| read(text, KERNEL));
    assert_eq!(set.queues[0].meaning, file.queues[0].meaning);
    assert!(set.problems.iter().all(|p| p.word == "download"), "{:?}", set.problems);
    // The smallest packet of sqm-scripts.
    let uci = "config queue\n\toption upload '5000'\n\toption linklayer 'atm'\n\
         \toption overhead '44'\n\toption tcMPU '84'\n";
    let dump = read(uci, KERNEL);
    let AqmConfig::Cake(cake) = &dump.queues[0].meaning.as_ref().unwrap().aqm else { panic!() };
    assert_eq!((cake.overhead.get(), cake.mpu.get()), (44, 84));
}

/// Without -d, tc prints neither probability nor weight.
#[test]
fn what_tc_hides_without_details_is_a_note() {
    for (name, hidden) in
        [("red", " ewma 4 probability 0.1 Scell_log 14"), ("choke", " ewma 4 probability 0.1 Scell_log 14")]
    {
        let text = case(name, Kernel::new(6, 12)).text;
        let notes = |text: &str| {
            let dump = read(text, KERNEL);
            let queue = dump.queues.iter().find(|queue| queue.kind == name).unwrap();
            queue.meaning.as_ref().unwrap().notes.join("; ")
        };
        assert!(text.contains(hidden), "{text}");
        assert!(!notes(&text).contains("tc -d"), "{}", notes(&text));
        assert!(
            notes(&text.replace(hidden, "")).contains("max_p = 0.02"),
            "{}",
            notes(&text.replace(hidden, ""))
        );
    }
}

#[test]
fn a_text_of_several_devices_is_a_link_each() {
    let kernel = Kernel::new(7, 2);
    let mut text: String =
        ["cake", "red", "dualpi2", "tbf"].map(|name| case(name, kernel).text.replace("eth0", name)).concat();
    // mq, and sfb as older versions of tc print it.
    text.push_str(
        "qdisc mq 0: dev eth0 root \n\
         qdisc fq_codel 0: dev eth0 parent :2 limit 10240p flows 512 quantum 1514 target 5ms interval 100ms ecn \n\
         qdisc fq_codel 0: dev eth0 parent :1 limit 10240p flows 512 quantum 1514 target 5ms interval 100ms ecn \n\
         qdisc sfb 800b: dev eth10 root refcnt 2 limit 1000 max 25 target 20\n  \
         increment 0.00050 decrement 0.00005 penalty rate 10 burst 20 (600000ms 60000ms)\n",
    );
    let links = links(&read(&text, kernel));
    let devices: Vec<&str> = links.iter().filter_map(|link| link.device.as_deref()).collect();
    assert_eq!(devices, ["cake", "red", "dualpi2", "tbf", "eth0", "eth10"]);
    assert!(links[4].notes[0].starts_with("mq: the first of the 2 queues"));
    let AqmConfig::Sfb(sfb) = &links[5].queue.as_ref().unwrap().aqm else { panic!() };
    assert_eq!((sfb.penalty_rate, sfb.penalty_burst, sfb.warmup.nanos()), (10.0, 20, 60_000_000_000));
    // What waits 50 ms at 10 Mbit/s, and the burst.
    let Shape::Bucket(bucket) = &links[3].shape else { panic!("{:?}", links[3]) };
    assert_eq!(
        (bucket.rate.bps(), bucket.burst.get(), bucket.limit.map(Bytes::get)),
        (10_000_000, 32_768, Some(95_268))
    );
}

#[test]
fn counters_and_tins_are_read() {
    let kernel = Kernel::new(7, 2);
    let counters = |name: &str, is_json: bool| {
        let case = case(name, kernel);
        let dump = read(if is_json { &case.json } else { &case.text }, kernel);
        let queue = dump.queues.into_iter().find(|queue| queue.meaning.is_some()).unwrap();
        queue.counters.unwrap()
    };
    for is_json in [false, true] {
        let cake = counters("cake", is_json);
        assert_eq!((cake.bytes, cake.packets, cake.dropped, cake.marked), (57_680, 40, 0, Some(0)));
        assert_eq!(cake.tins.len(), 4);
        let dualpi2 = counters("dualpi2-default", is_json);
        assert_eq!((dualpi2.bytes, dualpi2.packets, dualpi2.marked), (57_680, 40, Some(0)));
        let has = |name: &str, value: &str| dualpi2.others.contains(&(name.into(), value.into()));
        assert!(has("credit", "-121120"), "{dualpi2:?}");
        let most = if is_json { "max-memory-used" } else { "max_memory_used" };
        assert!(has(most, "2304"), "{dualpi2:?}");
        let red = counters("sfq-red", is_json);
        assert!(red.others.contains(&("forced_mark_head".into(), "0".into())), "{red:?}");
    }
    let cake = counters("cake", false);
    assert_eq!(cake.tins[1].0, "Best Effort");
    assert!(cake.tins[1].1.contains(&("pkts".into(), "40".into())) && cake.tins[2].1.len() == 20);
    assert!(cake.others.contains(&("capacity estimate".into(), "20Mbit".into())));
}

/// tc class show prints no device: the htb with the classes' handle says it.
#[test]
fn classes_of_htb_have_their_device_and_their_queues() {
    let text = case("htb-leaves", Kernel::new(6, 12)).text;
    let of_one = links(&read(&text, KERNEL));
    assert_eq!(of_one.len(), 1);
    assert_eq!((of_one[0].device.as_deref(), &of_one[0].notes[..]), (Some("eth0"), &[][..]));
    let Shape::Classes(leaves) = &of_one[0].shape else { panic!("{:?}", of_one[0].shape) };
    let names: Vec<(&str, bool, bool)> =
        leaves.iter().map(|l| (l.class.id.as_str(), l.is_leaf, l.is_default)).collect();
    assert_eq!(names, [("1:10", true, false), ("1:1", false, false), ("1:20", true, true)]);
    assert_eq!(leaves[0].queue.as_ref().unwrap().aqm.name(), "fq-codel");
    assert_eq!(leaves[2].queue.as_ref().unwrap().aqm.name(), "pie");
    assert_eq!(leaves[2].class.counters.as_ref().unwrap().packets, 40);
    assert_eq!(
        (leaves[0].class.rate.bps(), leaves[0].class.ceil.map(BitRate::bps)),
        (6_000_000, Some(18_000_000))
    );
    // Two devices whose htb has the same handle: nobody knows whose the classes are.
    let two = format!("qdisc htb 1: dev eth1 root refcnt 2 r2q 10 default 0\n{text}");
    let of_two = links(&read(&two, KERNEL));
    let apart = of_two.iter().find(|link| link.device.is_none()).unwrap();
    assert!(apart.notes[0].starts_with("tc class show prints no device"), "{:?}", apart.notes);
}

#[test]
fn files_of_sqm_and_networkd_are_read() {
    let dump = read(include_str!("data/sqm.uci"), KERNEL);
    let links = links(&dump);
    let cakes: Vec<(&str, &quell_aqm::cake::CakeParams)> = links
        .iter()
        .filter_map(|l| match &l.queue.as_ref()?.aqm {
            AqmConfig::Cake(cake) => Some((l.device.as_deref()?, cake)),
            _ => None,
        })
        .collect();
    assert_eq!(cakes.len(), 2);
    let (up, down) = (cakes[0], cakes[1]);
    assert_eq!((up.0, down.0), ("pppoe-wan", "ifb4pppoe-wan"));
    assert_eq!(up.1.bandwidth, Some(BitRate::from_bps(10_000_000)));
    assert_eq!(down.1.bandwidth, Some(BitRate::from_bps(85_000_000)));
    // No script of sqm-scripts says ingress.
    assert!(!down.1.ingress && !up.1.ingress);
    // sqm-scripts squash the DSCPs of what comes in by default.
    assert!(down.1.wash && !up.1.wash);
    assert_ne!(down.1.diffserv, up.1.diffserv);
    assert_eq!((up.1.overhead.get(), up.1.framing), (44, Framing::Atm));
    // simple.qos: a tier of at most a third, and two of at least a sixth.
    let Shape::Classes(leaves) = &links[2].shape else { panic!("{:?}", links[2].shape) };
    let rates: Vec<(u64, u64)> =
        leaves.iter().map(|l| (l.class.rate.bps() / 1000, l.class.ceil.unwrap().bps() / 1000)).collect();
    assert_eq!(rates, [(5000, 5000), (128, 1666), (833, 4984), (833, 4984)]);
    assert_eq!(leaves[3].class.dscps, [8]);
    // A millisecond, but at least a packet of 1500 B with 48 B, in 33 cells of ATM: get_burst prints 1749.
    assert_eq!(leaves[0].class.burst, Some(Bytes::new(1749)));
    assert!(leaves[2].is_default && leaves.iter().skip(1).all(|leaf| leaf.queue.is_some()));
    let said: Vec<String> = dump.problems.iter().map(ToString::to_string).collect();
    assert!(matches!(&said[..], [one] if one.contains("line 18: download")), "{said:?}");

    let dump = read(include_str!("data/wan.network"), KERNEL);
    assert_eq!(dump.problems, []);
    let queue = &dump.queues[0];
    let AqmConfig::Cake(cake) = &queue.meaning.as_ref().unwrap().aqm else { panic!() };
    assert_eq!(queue.device.as_deref(), Some("wan0"));
    assert_eq!((cake.bandwidth, cake.overhead.get()), (Some(BitRate::from_bps(18_000_000)), 30));
    assert_eq!((cake.framing, cake.rtt.nanos()), (Framing::Ptm, 50_000_000));
}

/// What Linux accepts builds: conformance/linux/accepted.json has PIE's estimator, and sch_codel.c compares no times.
#[test]
fn what_the_kernel_accepts_builds() {
    let link = quell_aqm::Link {
        rate: BitRate::from_bps(10_000_000),
        buffer: QueueSize::Packets(1000.0),
        mean_packet: Bytes::new(1500),
    };
    for line in [
        "pie dq_rate_estimator",
        "fq_pie dq_rate_estimator",
        "qdisc fq_pie 8001: dev eth0 root refcnt 2 limit 10240p flows 1024 target 15ms tupdate 16ms alpha 2 beta 20 \
         quantum 1514b memory_limit 32Mb ecn_prob 10 dq_rate_estimator",
        "codel target 20ms interval 10ms",
        "fq_codel target 20ms interval 20ms",
    ] {
        let line = if line.starts_with("qdisc") {
            line.into()
        } else {
            format!("tc qdisc add dev eth0 root {line}")
        };
        let aqm = meaning(&line).aqm;
        assert_eq!(aqm.build(&link).err(), None, "{line}");
    }
}

/// HTB's user guide and LARTC, section 9.5.5: children of 5, 3 Mbit/s and 1 kbit/s below 6 Mbit/s, which Linux takes.
#[test]
fn classes_that_exceed_their_parent_are_noted() {
    let text = |second: &str| {
        format!(
            "tc qdisc add dev eth0 root handle 1: htb default 30\n\
             tc class add dev eth0 parent 1: classid 1:1 htb rate 6mbit burst 15k\n\
             tc class add dev eth0 parent 1:1 classid 1:10 htb rate 5mbit burst 15k\n\
             tc class add dev eth0 parent 1:1 classid 1:20 htb rate {second} ceil 6mbit burst 15k\n\
             tc class add dev eth0 parent 1:1 classid 1:30 htb rate 1kbit ceil 6mbit burst 15k\n\
             tc qdisc add dev eth0 parent 1:10 handle 10: sfq perturb 10\n"
        )
    };
    let notes = |second: &str| links(&read(&text(second), KERNEL)).remove(0).notes.join("\n");
    let said = notes("3mbit");
    assert!(said.contains("below 1:1 are 8.001 Mbit/s together, and 1:1 has 6 Mbit/s"), "{said}");
    assert!(!notes("999kbit").contains("together"));
}

/// What functions.sh of sqm-scripts 1.6.0 prints with the options of a section, as its shell has printed it: get_limit,
/// get_target, get_ecn, get_flows, get_quantum and get_burst.
#[test]
fn what_sqm_sets_by_itself_is_read() {
    let section = |script: &str, qdisc: &str, more: &str| {
        format!(
            "config queue\n option interface 'eth1'\n option upload '800'\n option download '20000'\n option script \
             '{script}'\n option qdisc '{qdisc}'\n{more}"
        )
    };
    for (qdisc, more, up, down) in [
        (
            "fq_codel",
            "",
            "limit 1001 target 17490us interval 112490us flows 1024 ecn",
            "limit 1001 target 5000us interval 100000us flows 1024 ecn",
        ),
        (
            "fq_codel",
            " option egress_ecn 'NOECN'\n option etarget '40ms'\n option elimit '600'\n option itarget 'default'\n",
            "limit 600 target 40ms flows 1024 noecn",
            "limit 1001 flows 1024 ecn",
        ),
        (
            "codel",
            "",
            "limit 1001 target 17490us interval 112490us ecn",
            "limit 1001 target 5000us interval 100000us ecn",
        ),
        ("pie", "", "limit 1001 target 17490us ecn", "limit 1001 target 5000us ecn"),
        ("sfq", "", "limit 1001 flows 1024", "limit 1001 flows 1024"),
        ("pfifo", "", "limit 1001", "limit 1001"),
        ("bfifo", "", "limit 1501500", "limit 1501500"),
    ] {
        let dump = read(&section("simplest.qos", qdisc, more), KERNEL);
        let lines = [up, down].map(|words| format!("tc qdisc add dev eth0 root {qdisc} {words}"));
        let queues: Vec<_> = dump.queues.iter().filter(|queue| queue.kind != "htb").collect();
        assert_eq!(queues.len(), 2, "{qdisc}: {:?}", dump.problems);
        for (queue, line) in queues.iter().zip(&lines) {
            let written = read(line, KERNEL);
            assert_eq!(written.problems, [], "{line}");
            assert_eq!(queue.meaning, written.queues[0].meaning, "{line}");
        }
    }
    // A script decides on CAKE, and says ATM alone of a link's framing.
    let meant = |script: &str, qdisc: &str, more: &str| {
        let dump = read(&section(script, qdisc, more), KERNEL);
        dump.queues
            .into_iter()
            .filter(|q| q.kind != "htb")
            .map(|q| q.meaning.unwrap().aqm)
            .collect::<Vec<_>>()
    };
    assert!(meant("layer_cake.qos", "fq_codel", "").iter().all(|aqm| aqm.name() == "cake"));
    assert!(meant("simplest_tbf.qos", "cake", "").iter().all(|aqm| aqm.name() == "fq-codel"));
    for (script, linklayer, tins, wash, framing) in [
        ("piece_of_cake.qos", "ethernet", [Diffserv::Besteffort; 2], true, Framing::None),
        ("layer_cake.qos", "atm", [Diffserv::Diffserv3, Diffserv::Besteffort], true, Framing::Atm),
        ("simple.qos", "ptm", [Diffserv::Diffserv3, Diffserv::Besteffort], false, Framing::None),
        ("simplest.qos", "adsl", [Diffserv::Besteffort; 2], false, Framing::None),
    ] {
        let aqms =
            meant(script, "cake", &format!(" option linklayer '{linklayer}'\n option overhead '40'\n"));
        for (number, aqm) in aqms.iter().enumerate() {
            let AqmConfig::Cake(cake) = aqm else { panic!("{aqm:?}") };
            assert_eq!(cake.diffserv, tins[number], "{script}");
            assert_eq!((cake.wash, cake.framing), (wash && number == 1, framing), "{script}");
            assert_eq!((cake.ingress, cake.overhead.get()), (false, 40), "{script}");
        }
    }
}

/// What sqm-scripts tell htb of the link is not lost: 1500 B are on ATM 33 cells of 53 B, with 14 B of Ethernet.
#[test]
fn an_htb_of_sqm_counts_what_the_link_adds() {
    let text = "config queue\n option interface 'eth1'\n option upload '10000'\n option qdisc 'fq_codel'\n option script \
                'simplest.qos'\n option linklayer 'atm'\n option overhead '40'\n";
    let shape = links(&read(text, KERNEL)).remove(0).shape;
    let Shape::Bucket(bucket) = shape else { panic!("{shape:?}") };
    assert_eq!(bucket.added.layer(bucket.rate).on_wire(Bytes::new(1500)).get(), 33 * 53);
    let tiers = text.replace("simplest", "simple");
    let link = links(&read(&tiers, KERNEL)).remove(0);
    assert_eq!(link.above.unwrap().added, bucket.added);
    assert!(matches!(&link.shape, Shape::Classes(leaves) if leaves.len() == 4));
    // A device without Ethernet's header.
    let ppp = links(&read(&text.replace("eth1", "pppoe-wan"), KERNEL)).remove(0).shape;
    assert!(matches!(ppp, Shape::Bucket(b) if b.added.overhead.get() == 40), "{ppp:?}");
}

#[test]
fn a_netem_is_the_wire_of_a_queue_above_or_below_it() {
    let above = "qdisc netem 1: dev eth0 root refcnt 2 limit 1000 delay 20ms loss 1%\nqdisc fq_codel 10: dev eth0 parent \
                 1:1 limit 10240p flows 1024 quantum 1514 target 5ms interval 100ms memory_limit 32Mb ecn drop_batch 64";
    let link = links(&read(above, KERNEL)).remove(0);
    assert_eq!(link.netem.as_deref(), Some("qdisc netem limit 1000 delay 20ms loss 1%"));
    assert_eq!(link.queue.as_ref().map(|queue| queue.aqm.name()), Some("fq-codel"));
    let below = "tc qdisc add dev eth0 root handle 1: tbf rate 1mbit burst 2kb limit 9kb\ntc qdisc add dev eth0 parent 1:1 \
                 handle 10: netem delay 5ms";
    let link = links(&read(below, KERNEL)).remove(0);
    assert!(matches!(link.shape, Shape::Bucket(_)), "{:?}", link.shape);
    assert_eq!(link.netem.as_deref(), Some("netem delay 5ms"));
    assert_eq!(links(&read("tc qdisc add dev eth0 root netem loss 1%", KERNEL)).len(), 1);
    // JSON says the same as the text beside it, which kernels have shown.
    let link = links(&read(include_str!("data/kernel-6.12/netem.json"), KERNEL)).remove(0);
    let words = link.netem.unwrap();
    for part in ["delay 0.02s 0.002s 25%", "loss 1% 0%", "duplicate 0.5%", "rate 10000000bit", "limit 2000"] {
        assert!(words.contains(part), "{part}: {words}");
    }
}

#[test]
fn arrays_of_json_one_behind_another_are_joined() {
    let queues = include_str!("data/kernel-6.12/fq-codel.json");
    let dump = read(&format!("{queues}\n[]\n{}", queues.replace("eth0", "eth1")), KERNEL);
    assert_eq!(links(&dump).len(), 2);
    let cut = read(&format!("{queues}\n{}", &queues[..queues.len() / 2]), KERNEL);
    assert_eq!(links(&cut).len(), 1);
    assert!(cut.problems.iter().any(|problem| problem.fatal && problem.says.contains("was cut")));
}

/// systemd.network(5): of a key that comes again, the last one counts; and a problem has the line of its key.
#[test]
fn keys_of_networkd_are_taken_as_systemd_does() {
    let file = |keys: &str| read(&format!("[Match]\nName=wan\n[CAKE]\n{keys}"), KERNEL);
    let twice = file("Bandwidth=1M\nParent=root\nBandwidth=2M");
    assert_eq!(twice.problems, []);
    let Some(AqmConfig::Cake(cake)) = twice.queues[0].meaning.as_ref().map(|meaning| &meaning.aqm) else {
        panic!()
    };
    assert_eq!(cake.bandwidth, Some(BitRate::from_bps(2_000_000)));
    for (keys, line, says) in [
        ("Parent=root\nParent=ingres", 5, "did you mean ingress?"),
        ("Bandwidth=1M\nFlowIsolationMode=dual-src-hosts", 5, "is no value of it"),
        ("Parent=root\nRTTSec=5q", 5, "\"5q\" is not a time"),
    ] {
        let problems = file(keys).problems;
        assert!(
            problems.iter().any(|p| p.line == line && p.fatal && p.says.contains(says)),
            "{keys}: {problems:?}"
        );
    }
}

#[test]
fn a_place_has_all_of_its_lines() {
    let usual = quell_tc::usual("fq_codel", KERNEL).unwrap();
    let rate = BitRate::from_bps(18_000_000);
    let link = Link { rate: Some(rate), buffer: usual.buffer, ecn: true, mean_packet: Bytes::new(1500) };
    let shaped = Shaper::of_router(LinkLayer::named("docsis", rate).unwrap());
    let place = |device: &str, shaped| Place::Htb { device: device.into(), shaped };
    let htb = quell_tc::write(&usual.aqm, &link, &place("eth0", shaped), KERNEL).unwrap();
    // A millisecond of 18 Mbit/s is 2250 B, and two frames of 1514 B with 4 B more are 3036 B.
    assert_eq!(
        htb.lines,
        [
            "tc qdisc del dev eth0 root 2>/dev/null || true",
            "tc qdisc replace dev eth0 root handle 1: htb default 10",
            "tc class replace dev eth0 parent 1: classid 1:10 htb rate 18mbit ceil 18mbit burst 3036 cburst 3036 \
             quantum 1514 overhead 4 mpu 64",
            "tc qdisc replace dev eth0 parent 1:10 handle 10: fq_codel",
        ]
    );
    // The lines, read, are the link, also if they come twice.
    let text = htb.lines.join("\n");
    for text in [text.clone(), format!("{text}\n{text}")] {
        let dump = read(&text, KERNEL);
        assert_eq!(dump.problems, []);
        let links = links(&dump);
        assert_eq!(links.len(), 1);
        let Shape::Bucket(bucket) = links[0].shape else { panic!("{:?}", links[0].shape) };
        assert_eq!(bucket.added.layer(bucket.rate), shaped.link);
        assert_eq!(Some(bucket.burst), shaped.burst);
        assert_eq!(links[0].queue.as_ref().map(|q| &q.aqm), Some(&usual.aqm));
    }
    // On a device of PPP no packet has Ethernet's header, and at a faster rate a millisecond is more than two frames.
    let faster = Shaper::of_router(LinkLayer::named("pppoe-llcsnap", BitRate::from_bps(80_000_000)).unwrap());
    let ppp = quell_tc::write(&usual.aqm, &link, &place("ppp0", faster), KERNEL).unwrap();
    assert!(
        ppp.lines[2].ends_with("burst 10000 cburst 10000 quantum 1514 overhead 40 linklayer atm"),
        "{:?}",
        ppp.lines
    );
    // Of PTM, 64 of 65 bytes are told, and the burst takes the time that it took.
    let ptm = Shaper::of_router(LinkLayer::named("pppoe-ptm", BitRate::from_bps(65_000_000)).unwrap());
    let ptm = quell_tc::write(&usual.aqm, &link, &place("eth0", ptm), KERNEL).unwrap();
    assert!(ptm.lines[2].contains("rate 64mbit ceil 64mbit burst 8000 cburst 8000 "), "{:?}", ptm.lines);
    // Without a burst, the kernel's is about a frame, and the rate is all there is to read.
    let plain = Shaper { link: LinkLayer::plain(rate), burst: None };
    let plain = quell_tc::write(&usual.aqm, &link, &place("eth0", plain), KERNEL).unwrap();
    assert_eq!(links(&read(&plain.lines.join("\n"), KERNEL))[0].shape, Shape::Rate(rate));

    let place = Place::Ifb { device: "eth0".into(), ifb: "ifb0".into(), shaped: Some(shaped) };
    let ifb = quell_tc::write(&usual.aqm, &link, &place, KERNEL).unwrap();
    assert_eq!(ifb.lines.len(), 10);
    assert!(ifb.lines[6].ends_with("mirred egress redirect dev ifb0"));
    assert!(ifb.lines[8].ends_with("quantum 1514 overhead 4 mpu 64"), "{:?}", ifb.lines);
    // CAKE shapes, and counts what the link adds.
    let cake = quell_tc::usual("cake", KERNEL).unwrap();
    let ifb = quell_tc::write(&cake.aqm, &link, &place, KERNEL).unwrap();
    assert_eq!(ifb.lines[7], "tc qdisc replace dev ifb0 root cake bandwidth 18mbit overhead 18 mpu 64");
}

/// htb: a packet needs tokens of both buckets, and one that no line names holds about a frame.
#[test]
fn a_burst_is_the_smaller_of_both_buckets() {
    let shape = |words: &str| {
        let text = format!(
            "tc qdisc add dev eth0 root handle 1: htb default 10\ntc class add dev eth0 parent 1: classid \
                            1:10 htb rate 9mbit {words}"
        );
        links(&read(&text, KERNEL)).remove(0).shape
    };
    let burst = |words: &str| match shape(words) {
        Shape::Bucket(bucket) => Some(bucket.burst.get()),
        _ => None,
    };
    assert_eq!(burst("burst 15k cburst 12k"), Some(12 * 1024));
    for words in ["", "burst 15k", "burst 1600b cburst 1600b", "burst 1375b cburst 1375b"] {
        assert_eq!(burst(words), None, "{words}");
    }
}

/// A line that deletes a queue leaves what other places and other devices have.
#[test]
fn a_deleted_queue_is_not_read() {
    let kinds = |text: &str| -> Vec<String> {
        let dump = read(text, KERNEL);
        assert!(dump.problems.iter().all(|problem| !problem.fatal), "{:?}", dump.problems);
        dump.queues.into_iter().map(|queue| queue.kind).collect()
    };
    let both = "tc qdisc add dev a root fq_codel\ntc qdisc add dev a handle ffff: ingress\ntc qdisc add dev b root pie\n";
    assert_eq!(kinds(&format!("{both}tc qdisc del dev a root")), ["ingress", "pie"]);
    assert_eq!(
        kinds(&format!("{both}tc qdisc del dev a ingress >/dev/null 2>&1 || true")),
        ["fq_codel", "pie"]
    );
    assert_eq!(kinds(&format!("modprobe ifb\nip link del dev c type ifb\n{both}")).len(), 3);
    assert!(read("tc qdisc del dev a root", KERNEL).problems[0].fatal);
}

#[test]
fn what_linux_has_not_is_refused_with_the_nearest() {
    let link =
        Link { rate: None, buffer: QueueSize::Packets(100.0), ecn: false, mean_packet: Bytes::new(1500) };
    let place = Place::Root { device: "eth0".into() };
    let mut without = 0;
    for entry in quell_aqm::catalog::CATALOG {
        for kernel in Kernel::KNOWN {
            if let Err(e) = quell_tc::write(&(entry.default)(), &link, &place, kernel) {
                let has = |name: &str| quell_tc::QDISCS.iter().any(|(ours, _)| *ours == name);
                assert!(has(e.nearest) && e.nearest != entry.name, "{e}");
                without += usize::from(!has(entry.name));
            }
        }
    }
    assert!(without > 100, "{without}");
    let dualpi2 = quell_tc::usual("dualpi2", KERNEL).unwrap();
    let e = quell_tc::write(&dualpi2.aqm, &link, &place, Kernel::default()).unwrap_err();
    assert_eq!(
        e.to_string(),
        "dualpi2: Linux has it from 6.17 on, and not in 6.12; the nearest that Linux has is fq-codel"
    );
}

/// Figures that tc 7.3 prints, or that are in the messages that it sends.
#[test]
fn what_tc_computes_of_several_words_is_computed_alike() {
    // Auto-config: target=5ms tupdate=5ms alpha=0.555556 beta=10.
    let AqmConfig::DualPi2(params) = meaning("dualpi2 max_rtt 30ms alpha 0.1").aqm else { panic!() };
    assert_eq!(
        (params.target.nanos(), params.update_interval.map(|t| t.nanos())),
        (5_000_000, Some(5_000_000))
    );
    assert_eq!((params.alpha, params.beta), (Some(142.0 / 256.0), Some(10.0)));
    // typical_rtt 20ms is max_rtt 120ms, and alpha 0.139.
    let AqmConfig::DualPi2(params) = meaning("dualpi2 typical_rtt 20ms").aqm else { panic!() };
    assert_eq!(
        (params.target.nanos(), params.alpha, params.beta),
        (20_000_000, Some(35.0 / 256.0), Some(2.5))
    );
    // min 30kb burst 55 avpkt 1000: Wlog 5.
    let AqmConfig::Red(params) = meaning("red limit 400kb min 30kb max 90kb avpkt 1000 burst 55").aqm else {
        panic!()
    };
    assert_eq!(
        (serde_json::to_value(params.weight).unwrap(), params.max_p, params.gentle),
        (0.03125.into(), 0.02, false)
    );
    // choke counts packets.
    let AqmConfig::Choke(params) = meaning("choke limit 1000 min 30 max 90 avpkt 1000").aqm else { panic!() };
    assert_eq!((params.min_th, params.max_th), (QueueSize::Packets(30.0), QueueSize::Packets(90.0)));
    // fq_codel, cake and dualpi2 mark unless they are told not to.
    assert!(
        meaning("fq_codel").ecn && meaning("cake").ecn && meaning("dualpi2").ecn && !meaning("codel").ecn
    );
    assert!(!meaning("fq_codel noecn").ecn);
    // A limit below 1 packet and one that no number of tc's holds.
    assert!(
        read("red limit 400000 avpkt 1500 burst 2", KERNEL).problems[0].says.contains("give at least 23")
    );
}

#[test]
fn a_line_in_the_place_of_a_name_is_said_in_our_words() {
    let said = |line: &str| quell_tc::translation(line).unwrap_or_default();
    for (line, part) in [
        (
            "qdisc fq_codel 8001: root refcnt 2 limit 10240p target 6ms",
            "write algorithm = \"fq-codel\", target = \"6 ms\", rules",
        ),
        (
            "tc qdisc replace dev eth0 parent 1:1 handle 10: cake bandwidth 2.5mbps",
            "bandwidth = \"20 Mbit/s\"",
        ),
        ("fq-codel target 6ms", "algorithm = \"fq-codel\""),
        ("tbf rate 18mbit burst 32k latency 50ms", "shaper = { rate = \"18 Mbit/s\", burst = \"32768 B\" }"),
        ("htb default 10", "htb is a tree of classes"),
        ("fq_codel target 5mm", "target: \"5mm\" is not a time"),
        ("pie target 20ms w1 w2", "w1 w2: no word of pie's"),
        ("red limit 400000", "min is not in the line: 33333 B is what tc computes"),
    ] {
        assert!(
            said(line).starts_with("a line of tc's; ") && said(line).contains(part),
            "{line}: {}",
            said(line)
        );
    }
    for line in ["fq_codel", "some thing", "", "\u{0} \u{0}", "FQ CoDel"] {
        assert_eq!(quell_tc::translation(line), None, "{line:?}");
        assert!(!quell_tc::is_line(line), "{line:?}");
    }
    assert!(quell_tc::is_line("fq_codel limit 1000") && quell_tc::is_line("tc qdisc add dev eth0 root pie"));
    assert!(said(&format!("pie {}", "x".repeat(1_000_000))).len() < 2_000);
}

/// What is said to be written is accepted by the algorithms' own reader.
#[test]
fn keys_are_read_back() {
    for (_, qdisc) in quell_tc::QDISCS {
        let Some(usual) = quell_tc::usual(qdisc, KERNEL) else { continue };
        let text: String =
            quell_tc::keys(&usual.aqm).iter().map(|(key, value)| format!("{key} = {value}\n")).collect();
        assert_eq!(toml::from_str::<AqmConfig>(&text).unwrap(), usual.aqm, "{text}");
    }
}

#[test]
fn a_bucket_and_a_tree_are_read_back() {
    let usual = quell_tc::usual("codel", KERNEL).unwrap();
    let mbit = |x: u64| BitRate::from_bps(x * 1_000_000);
    let link = Link { rate: Some(mbit(20)), buffer: usual.buffer, ecn: true, mean_packet: Bytes::new(1500) };
    let bucket = Bucket {
        rate: mbit(20),
        burst: Bytes::new(15_000),
        peak_rate: Some(mbit(100)),
        mtu: Some(Bytes::new(1_600)),
        limit: Some(Bytes::new(100_000)),
        added: Added { overhead: Bytes::new(40), mpu: Bytes::new(64), framing: quell_units::Framing::Atm },
    };
    let written = write_bucket((&usual.aqm, &link), &bucket, "eth0", KERNEL).unwrap();
    let dump = read(&written.lines.join("\n"), KERNEL);
    assert_eq!(dump.problems, []);
    let read_back = links(&dump);
    assert_eq!(read_back[0].shape, Shape::Bucket(bucket));
    assert_eq!(read_back[0].queue.as_ref().map(|q| (&q.aqm, q.ecn)), Some((&usual.aqm, true)));

    let queue = Some((usual.aqm.clone(), link));
    let branch = |name: &str| Branch { name: name.into(), ..Branch::default() };
    let branches = [
        Branch { rate: Some(mbit(18)), ..branch("all") },
        Branch {
            parent: Some(0),
            rate: Some(mbit(12)),
            ceil: Some(mbit(18)),
            dscps: vec![10],
            queue: queue.clone(),
            ..branch("work")
        },
        Branch {
            parent: Some(0),
            rate: Some(mbit(6)),
            ceil: Some(mbit(12)),
            priority: 1,
            queue,
            ..branch("guests")
        },
    ];
    let written = write_tree(&branches, mbit(20), "eth0", KERNEL).unwrap();
    let dump = read(&written.lines.join("\n"), KERNEL);
    assert!(dump.problems.iter().all(|p| p.word == "filter"), "{:?}", dump.problems);
    let read_back = links(&dump);
    let Shape::Classes(leaves) = &read_back[0].shape else { panic!("{:?}", read_back[0].shape) };
    for (leaf, branch) in leaves.iter().zip(&branches) {
        assert_eq!(
            (Some(leaf.class.rate), leaf.class.priority),
            (branch.rate, branch.priority),
            "{}",
            branch.name
        );
        assert_eq!(leaf.class.ceil, branch.ceil.or(branch.rate));
        assert_eq!(leaf.queue.as_ref().map(|q| &q.aqm), branch.queue.as_ref().map(|(aqm, _)| aqm));
    }
    assert!(leaves[2].is_default && leaves[1].class.parent.as_deref() == Some(leaves[0].class.id.as_str()));
    // DSCP 10 in its field, which has two bits more.
    assert!(
        written.lines.iter().any(|line| line.contains("match ip dsfield 0x28 0xfc flowid 1:11")),
        "{written:?}"
    );
}

/// tc-cake(8): keywords of layers add to the overhead, and ranges are tc's.
#[test]
fn words_of_layers_add_up() {
    let cake = |line: &str| match meaning(line).aqm {
        AqmConfig::Cake(params) => params,
        other => panic!("{other:?}"),
    };
    assert_eq!(cake("cake pppoe-ptm ether-vlan ether-vlan").overhead.get(), 38);
    assert_eq!(cake("cake overhead 10 docsis").overhead.get(), 28);
    assert_eq!(cake("cake docsis overhead 10").overhead.get(), 10);
    assert_eq!(cake("cake atm ethernet").framing, Framing::Atm);
    for line in [
        "cake overhead 257",
        "cake mpu -1",
        "pie alpha 33",
        "dualpi2 coupling_factor 256",
        "fq_pie ecn_prob 101",
    ] {
        assert!(read(line, KERNEL).problems[0].fatal, "{line}");
    }
}

/// Lines that Linux 7.2 and tc 7.3 ran (the reference of Linux's qdiscs): every word is known, and all return.
#[test]
fn lines_that_a_kernel_ran_are_read_wholly() {
    let text = include_str!("data/reference.txt");
    let mut queues = 0;
    for line in text.lines() {
        let dump = read(line, KERNEL);
        assert_eq!(dump.problems, [], "{line}");
        assert!(dump.queues.len() + dump.classes.len() == 1, "{line}");
        if dump.queues.first().is_some_and(|queue| queue.meaning.is_some()) {
            returns(line);
            queues += 1;
        }
    }
    assert_eq!(queues, 11);
}

/// tc-stab(8). The dumps are those of iproute2 6.1 on Linux, where 14 B of Ethernet's header count beside the overhead.
#[test]
fn a_table_of_sizes_is_what_the_link_adds() {
    let class =
        "class htb 1:10 root leaf 10: prio 0 quantum 1514 rate 9Mbit ceil 9Mbit burst 1600b cburst 1600b\n";
    let text = "qdisc htb 1: dev eth0 root refcnt 2 r2q 10 default 0x10 direct_packets_stat 0 ver 3.17 direct_qlen 32\n \
                linklayer atm overhead 40 mpu 53 mtu 2047 tsize 128 \n Sent 90 bytes 3 pkt (dropped 0, overlimits 0 requeues \
                0) \n backlog 0b 0p requeues 0\nqdisc fq_codel 10: dev eth0 parent 1:10\n";
    let typed = "tc qdisc add dev eth0 root handle 1: stab overhead 40 mpu 53 linklayer atm mtu 2047 tsize 128 htb default \
                 10\ntc class add dev eth0 parent 1: classid 1:10 htb rate 9mbit\ntc qdisc add dev eth0 parent 1:10 fq_codel";
    let queues = "[{\"kind\":\"htb\",\"handle\":\"1:\",\"dev\":\"eth0\",\"root\":true,\"refcnt\":2,\"options\":{\"r2q\":10,\
                  \"default\":\"0x10\",\"direct_packets_stat\":0,\"ver\":\"3.17\",\"direct_qlen\":32},\"stab\":{\"linklayer\":\
                  \"atm\",\"overhead\":40,\"mpu\":53,\"mtu\":2047,\"tsize\":128},\"bytes\":90,\"packets\":3,\"drops\":0,\
                  \"overlimits\":0,\"requeues\":0,\"backlog\":0,\"qlen\":0},{\"kind\":\"fq_codel\",\"handle\":\"10:\",\"dev\":\
                  \"eth0\",\"parent\":\"1:10\",\"options\":{\"ecn\":true}}]";
    let classes = "[{\"class\":\"htb\",\"handle\":\"1:10\",\"root\":true,\"prio\":0,\"rate\":1125000,\"ceil\":1125000,\
                   \"burst\":1600,\"cburst\":1600}]";
    for text in [format!("{text}{class}"), typed.to_string(), format!("{queues}\n{classes}")] {
        let dump = read(&text, KERNEL);
        assert!(dump.problems.is_empty(), "{text}: {:?}", dump.problems);
        let link = links(&dump).remove(0);
        let Shape::Bucket(bucket) = link.shape else { panic!("{text}: {:?}", link.shape) };
        // By hand: an IP packet of 1500 B with 54 B is in 33 cells, and one of 20 B in two.
        let layer = bucket.added.layer(bucket.rate);
        let on_wire = |bytes| layer.on_wire(Bytes::new(bytes)).get();
        assert_eq!((on_wire(1500), on_wire(20)), (33 * 53, 2 * 53), "{text}");
        assert_eq!(bucket.rate.bps(), 9_000_000);
        assert_eq!(link.stab, Some(bucket.added));
        // The kernel's 1600 B are less than such a packet, for which a shaper needs tokens.
        assert_eq!(bucket.burst.get(), 33 * 53);
    }
    // A table before a tbf, whose own overhead it would come beside; and steps of a table.
    let link = |text: &str| links(&read(text, KERNEL)).remove(0);
    let tbf = link(
        "tc qdisc add dev ppp0 root stab overhead 30 linklayer ethernet tbf rate 1mbit burst 10k limit 20k",
    );
    assert!(matches!(tbf.shape, Shape::Bucket(b) if b.added.overhead.get() == 30), "{:?}", tbf.shape);
    let own =
        link("tc qdisc add dev ppp0 root stab overhead 30 tbf rate 1mbit burst 10k limit 20k overhead 5");
    assert!(matches!(own.shape, Shape::Bucket(b) if b.added.overhead.get() == 5), "{:?}", own.shape);
    assert!(own.notes.iter().any(|note| note.contains("add up")), "{:?}", own.notes);
    let says = |text: &str, part: &str| {
        let dump = read(text, KERNEL);
        let notes = links(&dump).into_iter().flat_map(|link| link.notes);
        let all: Vec<String> = dump.problems.iter().map(ToString::to_string).chain(notes).collect();
        assert!(all.iter().any(|note| note.contains(part)), "{text}: {all:?}");
    };
    says("tc qdisc add dev eth0 root stab overhead 4 fq_codel", "no shaper of the text counts it");
    says("tc qdisc add dev eth0 root stab overhead 4 cake bandwidth 9mbit", "cake has overhead");
    says("tc qdisc add dev eth0 root stab overhead four fq_codel", "overhead: \"four\" is no value");
    says("tc qdisc add dev eth0 root stab linklayer vdsl fq_codel", "linklayer: \"vdsl\" is no value");
    // tc_calc_size_table: the smallest power of two of which fewer than 64 are in 2047 B.
    says("tc qdisc add dev eth0 root stab mpu 64 tsize 64 tbf rate 1mbit burst 9k limit 9k", "steps of 32 B");
}

/// A device with several queues, as tc prints them.
#[test]
fn queues_below_mq_that_differ_are_named() {
    let note = |third: &str| {
        let text = format!(
            "qdisc mq 0: dev eth0 root\nqdisc fq_codel 0: dev eth0 parent :1 limit 10240p ecn\nqdisc fq_codel 0: dev eth0 \
             parent :2 limit 10240p ecn\nqdisc {third}\n"
        );
        links(&read(&text, KERNEL)).remove(0).notes.join("; ")
    };
    let alike = note("fq_codel 0: dev eth0 parent :3 limit 10240p ecn");
    assert!(
        alike.contains("the first of the 3 queues below it, fq_codel :1, stands for all; all are alike"),
        "{alike}"
    );
    let other = note("fq_codel 0: dev eth0 parent :3 limit 999p ecn");
    assert!(other.contains("these differ: fq_codel :3 with other words"), "{other}");
    let other = note("pfifo_fast 0: dev eth0 parent :3 bands 3");
    assert!(other.contains("these differ: pfifo_fast :3"), "{other}");
}

/// A counter that JSON lacks is not 0.
#[test]
fn counters_that_a_dump_lacks_are_known() {
    let of = |counts: &str| {
        let json = format!(
            r#"[{{"kind":"fq_codel","handle":"1:","dev":"e","root":true,"options":{{"ecn":true}}{counts}}}]"#
        );
        links(&read(&json, KERNEL)).remove(0).counters
    };
    assert_eq!(of(""), None);
    let some = of(r#","bytes":9,"packets":1,"overlimits":0,"requeues":0,"backlog":0"#).unwrap();
    assert_eq!(some.lacking, ["drops", "qlen"]);
    let all =
        of(r#","bytes":9,"packets":1,"drops":0,"overlimits":0,"requeues":0,"backlog":0,"qlen":0"#).unwrap();
    assert_eq!(all.lacking, [""; 0]);
}
