//! Words to algorithms and back, and what tc prints.

use proptest::prelude::*;
use quell_aqm::catalog::AqmConfig;
use quell_tc::{Kernel, Link, Place, Shape, links, read};
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
    assert_eq!(written.lines.len(), 1);
    written.lines[0].clone()
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
        d in proptest::option::of(1..50_000_u32), e in choice(&["", "ecn", "noecn"]), f in maybe("flows", 1..65_537, ""),
        g in maybe("quantum", 256..9_000, ""), h in maybe("memory_limit", 1_000..40_000_000, "b"),
        i in maybe("drop_batch", 1..256, ""), j in choice(&["", "ce_threshold_selector 1/3"])) {
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
        let typical = typical.map_or(String::new(), |percent| format!("typical_rtt {}us", (max / 100 * percent).max(1)));
        returns(&format!("dualpi2 max_rtt {max}us {typical}"));
    }

    #[test]
    fn red_returns(min in 1_000..100_000_u32, more in 1..200_000_u32, limit in 0..400_000_u32, long in 0..500_u32,
        p in 1..1_000_u32, flags in choice(&["", "ecn", "ecn harddrop"])) {
        let (max, burst) = (min + more, min / 1_000 + 1 + long);
        let p = f64::from(p) / 1_000.0;
        returns(&format!("red limit {} min {min} max {max} avpkt 1000 burst {burst} probability {p} {flags}", max + limit));
    }

    #[test]
    fn choke_returns(min in 1..500_u32, more in 1..500_u32, limit in 0..4_000_u32, long in 0..500_u32, p in 1..1_000_u32,
        ecn in choice(&["", "ecn"])) {
        let (max, burst, p) = (min + more, min + long, f64::from(p) / 1_000.0);
        returns(&format!("choke limit {} min {min} max {max} bandwidth 10mbit burst {burst} probability {p} {ecn}", max + limit));
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
        g in proptest::option::of(0..65_536_u32), h in maybe("penalty_rate", 0..1_000, ""), i in maybe("penalty_burst", 0..1_000, "")) {
        let part = |name: &str, n: Option<u32>| n.map_or(String::new(), |n| format!("{name} {:.9}", f64::from(n) / 65_535.0));
        returns(&format!("sfb {a} {b} {c} {d} {e} {} {} {h} {i}", part("increment", f), part("decrement", g)));
    }

    #[test]
    fn cake_returns(a in maybe("bandwidth", 1..4_000_000, "kbit"), b in choice(&["", "besteffort", "diffserv3", "diffserv4"]),
        c in choice(&["", "flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"]),
        d in choice(&["", "wash", "nowash"]), e in choice(&["", "ingress", "egress"]),
        f in choice(&["", "ack-filter", "ack-filter-aggressive", "no-ack-filter"]), g in maybe("rtt", 1..4_000_000, "us"),
        h in choice(&["", "docsis", "pppoe-ptm ether-vlan", "conservative", "ethernet", "raw", "atm overhead 44 mpu 20"]),
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
    fn no_text_is_dropped_in_silence(text in "(qdisc|class|tc|sudo|fq_codel|cake|htb|1:10|dev|root|[a-z0-9:'=\\[{\"\r\n\t \u{0}]{1,8}| ){1,20}") {
        let dump = read(&text, KERNEL);
        let _ = links(&dump);
        prop_assert!(!dump.queues.is_empty() || !dump.classes.is_empty() || !dump.problems.is_empty(), "{text:?}");
    }

    #[test]
    fn words_of_a_grammar_in_any_order_are_read_or_named(
        words in proptest::collection::vec(proptest::sample::select(vec!["limit", "target", "5ms", "1/3", "ecn", "flows",
            "-4", "18mbit", "fwmark", "0xff", "overhead", "rtt", "stab", "parent", "dev", "99999999999999999999"]), 0..30),
        kind in choice(&["fq_codel", "cake", "pie", "dualpi2", "red", "choke", "sfq", "sfb", "tbf", "codel", "fq_pie", "pfifo"])) {
        let dump = read(&format!("qdisc {kind} 1: root {}", words.join(" ")), KERNEL);
        let _ = links(&dump);
        prop_assert!(!dump.queues.is_empty() || !dump.problems.is_empty());
    }
}

/// What is cut anywhere is an answer: of text and of JSON.
#[test]
fn a_dump_that_is_cut_is_an_answer() {
    for text in [
        include_str!("data/qdisc_show.txt"),
        include_str!("data/class_show.txt"),
        include_str!("data/stats.txt"),
        include_str!("data/sqm.uci"),
        include_str!("data/wan.network"),
        include_str!("data/qdisc_show.json"),
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
    let json = include_str!("data/qdisc_show.json");
    let dump = read(&json[..json.len() / 2], KERNEL);
    assert!(dump.problems[0].says.contains("was cut"), "{:?}", dump.problems);
    let dump = read("qdisc fq_codel 8001: dev eth0 root refcnt 2 limit 10240p flows", KERNEL);
    assert_eq!(dump.problems[0].word, "flows");
    assert!(dump.problems[0].fatal && dump.problems[0].says.contains("ends there"), "{:?}", dump.problems);
}

/// Ends of lines, repeated words, words after the 24th, words of newer kernels, and what is no text.
#[test]
fn what_is_odd_is_named() {
    let text = include_str!("data/qdisc_show.txt");
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
    says("tc qdisc del dev eth0 root", "del: ");
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
            assert_eq!(written.lines, [format!("tc qdisc replace dev eth0 root handle 1: {name}")]);
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

fn fq_codel(aqm: &AqmConfig) -> &quell_aqm::fq_codel::FqCodelParams {
    match aqm {
        AqmConfig::FqCodel(params) => params,
        other => panic!("{other:?}"),
    }
}

#[test]
fn what_tc_shows_of_several_devices_is_a_link_each() {
    let dump = read(include_str!("data/qdisc_show.txt"), KERNEL);
    let fatal: Vec<_> = dump.problems.iter().filter(|p| p.fatal).collect();
    assert!(fatal.is_empty(), "{fatal:?}");
    let links = links(&dump);
    let of = |device: &str| {
        links.iter().find(|l| l.device.as_deref() == Some(device)).unwrap_or_else(|| panic!("{device}"))
    };
    assert!(links.iter().all(|l| l.device.as_deref() != Some("lo")));
    assert_eq!(links.len(), 15);
    assert_eq!(fq_codel(&of("eth0").queue.as_ref().unwrap().aqm).flows, 1024);
    assert!(of("eth0").notes[0].starts_with("mq: the first of the 2 queues"));
    assert_eq!(of("eth1").kind, "codel");
    let Shape::Bucket(bucket) = &of("eth2").shape else { panic!("{:?}", of("eth2")) };
    // What waits 50 ms at 1 Mbit/s, and the burst.
    assert_eq!(
        (bucket.rate.bps(), bucket.burst.get(), bucket.limit.map(Bytes::get)),
        (1_000_000, 32_768, Some(39_018))
    );
    let AqmConfig::Cake(cake) = &of("ifb4wan").queue.as_ref().unwrap().aqm else { panic!() };
    assert!(cake.ingress && cake.wash && cake.bandwidth == Some(BitRate::from_bps(95_000_000)));
    let AqmConfig::Red(red) = &of("eth7").queue.as_ref().unwrap().aqm else { panic!() };
    assert_eq!(
        (red.min_th, red.max_th, red.max_p),
        (QueueSize::Bytes(30_720.0), QueueSize::Bytes(92_160.0), 0.02)
    );
    // ewma 5 is 1/32, as tc prints it for a burst of 55.
    assert_eq!(serde_json::to_value(red.weight).unwrap(), 0.03125);
    let AqmConfig::Choke(choke) = &of("eth8").queue.as_ref().unwrap().aqm else { panic!() };
    assert_eq!((choke.min_th, choke.max_th), (QueueSize::Packets(30.0), QueueSize::Packets(90.0)));
    let AqmConfig::Sfb(sfb) = &of("eth10").queue.as_ref().unwrap().aqm else { panic!() };
    assert_eq!((sfb.penalty_rate, sfb.penalty_burst, sfb.warmup.nanos()), (10.0, 20, 60_000_000_000));
}

#[test]
fn json_says_what_text_says() {
    let (json, text) = (
        read(include_str!("data/qdisc_show.json"), KERNEL),
        read(include_str!("data/qdisc_show.txt"), KERNEL),
    );
    assert!(json.problems.iter().all(|p| p.word == "noqueue"), "{:?}", json.problems);
    let of = |dump: &quell_tc::Dump, device: &str| {
        dump.queues.iter().find(|q| q.device.as_deref() == Some(device)).cloned().unwrap()
    };
    assert_eq!(of(&json, "wan").meaning.map(|m| m.aqm), of(&text, "wan").meaning.map(|m| m.aqm));
    assert_eq!(of(&json, "eth2").bucket, of(&text, "eth2").bucket);
    assert_eq!(of(&json, "eth4").meaning.map(|m| m.aqm), of(&text, "eth4").meaning.map(|m| m.aqm));
    // JSON has the microseconds that the kernel has.
    let params = of(&json, "eth0").meaning.unwrap().aqm;
    assert_eq!(fq_codel(&params).target.nanos(), 4_999_000);
    let counters = of(&json, "eth0").counters.unwrap();
    assert_eq!((counters.bytes, counters.packets, counters.dropped, counters.marked), (1000, 10, 4, Some(3)));
    let counters = of(&json, "wan").counters.unwrap();
    assert_eq!((counters.backlog_bytes, counters.marked, counters.tins.len()), (3028, Some(7), 1));
}

#[test]
fn counters_and_tins_are_read() {
    let dump = read(include_str!("data/stats.txt"), KERNEL);
    assert_eq!(dump.problems, []);
    let cake = dump.queues[0].counters.as_ref().unwrap();
    assert_eq!(
        (cake.bytes, cake.packets, cake.dropped, cake.overlimits, cake.requeues),
        (5_000_000, 4_000, 12, 900, 3)
    );
    assert_eq!((cake.backlog_bytes, cake.backlog_packets, cake.marked), (3_028, 2, Some(8)));
    assert_eq!(cake.tins.len(), 3);
    assert_eq!(cake.tins[1].0, "Best Effort");
    assert!(cake.tins[1].1.contains(&("pk_delay".into(), "1.23ms".into())) && cake.tins[2].1.len() == 20);
    assert!(cake.others.contains(&("capacity estimate".into(), "18Mbit".into())));
    let fq = dump.queues[1].counters.as_ref().unwrap();
    assert_eq!((fq.bytes, fq.dropped, fq.marked), (1000, 4, Some(3)));
    assert!(fq.others.contains(&("new_flow_count".into(), "5".into())));
}

#[test]
fn classes_of_htb_have_their_queues() {
    let dump = read(include_str!("data/class_show.txt"), KERNEL);
    assert_eq!(dump.problems, []);
    let links = links(&dump);
    assert_eq!(links.len(), 1);
    let Shape::Classes(leaves) = &links[0].shape else { panic!("{:?}", links[0].shape) };
    let names: Vec<(&str, bool, bool)> =
        leaves.iter().map(|l| (l.class.id.as_str(), l.is_leaf, l.is_default)).collect();
    assert_eq!(names, [("1:1", false, false), ("1:10", true, false), ("1:20", true, true)]);
    assert_eq!(leaves[1].queue.as_ref().unwrap().aqm.name(), "fq-codel");
    assert_eq!(leaves[2].queue.as_ref().unwrap().aqm.name(), "pie");
    assert_eq!(leaves[1].class.counters.as_ref().unwrap().packets, 789);
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
    assert!(down.1.ingress && !up.1.ingress);
    assert_eq!((up.1.overhead.get(), up.1.framing), (44, quell_aqm::cake::Framing::Atm));
    assert_eq!(links[2].shape, Shape::Rate(BitRate::from_bps(5_000_000)));
    let said: Vec<String> = dump.problems.iter().map(ToString::to_string).collect();
    assert!(
        said.iter().any(|p| p.contains("squash_dscp"))
            && said.iter().any(|p| p.contains("line 18: download")),
        "{said:?}"
    );

    let dump = read(include_str!("data/wan.network"), KERNEL);
    assert_eq!(dump.problems, []);
    let queue = &dump.queues[0];
    let AqmConfig::Cake(cake) = &queue.meaning.as_ref().unwrap().aqm else { panic!() };
    assert_eq!(queue.device.as_deref(), Some("wan0"));
    assert_eq!((cake.bandwidth, cake.overhead.get()), (Some(BitRate::from_bps(18_000_000)), 30));
    assert_eq!((cake.framing, cake.rtt.nanos()), (quell_aqm::cake::Framing::Ptm, 50_000_000));
}

#[test]
fn a_place_has_all_of_its_lines() {
    let usual = quell_tc::usual("fq_codel", KERNEL).unwrap();
    let rate = BitRate::from_bps(18_000_000);
    let link = Link { rate: Some(rate), buffer: usual.buffer, ecn: true, mean_packet: Bytes::new(1500) };
    let shaped = LinkLayer::named("docsis", rate).unwrap();
    let htb =
        quell_tc::write(&usual.aqm, &link, &Place::Htb { device: "eth0".into(), shaped }, KERNEL).unwrap();
    assert_eq!(
        htb.lines,
        [
            "tc qdisc replace dev eth0 root handle 1: htb default 10",
            "tc class replace dev eth0 parent 1: classid 1:10 htb rate 18mbit ceil 18mbit quantum 1514 overhead 4 mpu 64",
            "tc qdisc replace dev eth0 parent 1:10 handle 10: fq_codel",
        ]
    );
    // The lines, read, are the link.
    let dump = read(&htb.lines.join("\n"), KERNEL);
    let links = links(&dump);
    assert_eq!(links[0].shape, Shape::Rate(rate));
    assert_eq!(links[0].queue.as_ref().map(|q| &q.aqm), Some(&usual.aqm));
    let place = Place::Ifb { device: "eth0".into(), ifb: "ifb0".into() };
    let ifb = quell_tc::write(&usual.aqm, &link, &place, KERNEL).unwrap();
    assert_eq!(ifb.lines.len(), 8);
    assert!(ifb.lines[4].ends_with("mirred egress redirect dev ifb0"));
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
