//! Dialects: what they give, what they leave alone, and the page that lists them.

use std::collections::BTreeSet;
use std::path::Path;

use quell_aqm::catalog::CATALOG;
use quell_scenario::dialect::{Dialect, KeyDefaults, TABLE};
use quell_scenario::{Document, Plugins, Point, Study};
use quell_tcp::{CongestionControl, Feedback, Growth, Recovery, Rules, TcpParams};
use quell_units::Duration;

const FRAME: &str = r#"
schema = 1
duration = "10 s"
[dumbbell]
rate = "30 Mbit/s"
delay = "10 ms"
buffer = "500 packets"
[[aqm]]
algorithm = "red"
max_p = 0.05
[[aqm]]
algorithm = "drop-tail"
[[flows]]
name = "ftp"
tcp = { min_rto = "300 ms" }
[[flows]]
name = "udp"
kind = "udp"
rate = "1 Mbit/s"
"#;

fn study(text: &str) -> Study {
    Study::parse(text, "x.toml", &Plugins::new()).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

/// The frame in a dialect, with further settings.
fn speaking(dialect: &str, settings: &[(&str, &str)]) -> Point {
    let mut doc = Document::parse(FRAME, "x.toml").unwrap();
    for (field, value) in [("dialect", dialect)].iter().chain(settings) {
        doc.set_text(field, value).unwrap();
    }
    doc.study(&Plugins::new()).unwrap_or_else(|e| panic!("{e}")).points.remove(0)
}

fn red(point: &Point, key: &str) -> Option<String> {
    point.scenario.aqm[0].parameters.get(key).map(|v| v.to_string().trim_matches('"').to_string())
}

fn tcp(point: &Point) -> &TcpParams {
    point.scenario.flows[0].tcp.as_ref().unwrap()
}

#[test]
fn a_dialect_gives_what_the_file_leaves_out() {
    let ms = Duration::from_millis;
    let s = Duration::from_secs;
    for (dialect, initial, tick, header, limited, signal, limit, weight) in [
        ("ns-2.1b", s(6), ms(100), 0, false, "per-packet", "0.05", "0.002"),
        ("ns-2.27", s(6), ms(10), 40, true, "per-packet", "0.1", "link-rate"),
        ("ns-2.35", s(3), ms(10), 40, true, "by-size", "0.1", "link-rate"),
    ] {
        let point = speaking(dialect, &[]);
        let tcp = tcp(&point);
        assert_eq!((tcp.initial_rto, tcp.granularity), (initial, tick), "{dialect}");
        assert_eq!((tcp.header.get(), tcp.limited_transmit), (header, limited), "{dialect}");
        assert!(tcp.ecn_retransmissions && tcp.delayed_ack.is_none());
        assert_eq!(tcp.whole_reductions, dialect != "ns-2.35", "{dialect}");
        // What is written stays.
        assert_eq!(tcp.min_rto, ms(300));
        assert_eq!(red(&point, "max_p").as_deref(), Some("0.05"));
        assert_eq!(red(&point, "spacing").as_deref(), Some("wait"));
        assert_eq!(red(&point, "signal").as_deref(), Some(signal));
        assert_eq!(red(&point, "mark_limit").as_deref(), Some(limit));
        assert_eq!(red(&point, "weight").as_deref(), Some(weight));
        assert!(point.scenario.aqm[1].parameters.is_empty(), "drop-tail has none of them");
        assert!(point.scenario.flows[1].tcp.is_none(), "UDP speaks no TCP");
    }
    let plain = speaking("quell", &[]);
    assert_eq!(tcp(&plain).initial_rto, s(3));
    assert_eq!(red(&plain, "spacing"), None);
}

#[test]
fn the_unit_of_the_thresholds_decides_how_many_packets_must_wait() {
    let packets = speaking("ns-2.35", &[]);
    let bytes = speaking("ns-2.35", &[("aqm.red.min_th", "10 kB"), ("aqm.red.max_th", "30 kB")]);
    let computed = speaking(
        "ns-2.35",
        &[
            ("dumbbell.buffer", "100 kB"),
            ("aqm.red.min_th", "0.1 * dumbbell.buffer"),
            ("aqm.red.max_th", "0.3 * dumbbell.buffer"),
        ],
    );
    let of = |p: &Point| red(p, "min_backlog");
    assert_eq!(of(&packets).as_deref(), Some("2"));
    assert_eq!(of(&bytes).as_deref(), Some("1"));
    assert_eq!(of(&computed).as_deref(), Some("1"));
}

#[test]
fn quic_counts_marks_where_packets_may_be_marked() {
    let of = |settings: &[(&str, &str)]| tcp(&speaking("quic", settings)).clone();
    let plain = of(&[]);
    assert_eq!((plain.recovery, plain.congestion), (Recovery::Rack, CongestionControl::Reno));
    assert_eq!((plain.wire_bytes().get(), plain.initial_window, plain.pacing), (1242, 10, true));
    assert_eq!((plain.ecn, plain.feedback), (false, Feedback::Classic));
    assert_eq!(of(&[("flows.ftp.tcp.ecn", "true")]).feedback, Feedback::Exact);
    let own = of(&[("flows.ftp.tcp.ecn", "true"), ("flows.ftp.tcp.feedback", "accecn")]);
    assert_eq!(own.feedback, Feedback::AccEcn);
    // It forbids no congestion control.
    assert_eq!(of(&[("flows.ftp.tcp.congestion", "bbr3")]).congestion, CongestionControl::Bbr3);
}

#[test]
fn ns3_has_its_rules_where_they_are_known() {
    let of = |settings: &[(&str, &str)]| tcp(&speaking("ns-3.44", settings)).clone();
    let plain = of(&[]);
    assert_eq!((plain.recovery, plain.congestion), (Recovery::Prr, CongestionControl::Cubic));
    assert_eq!((plain.rules, plain.growth), (Rules::Ns3, Growth::WholePackets));
    assert_eq!((plain.limited_transmit, plain.packet.get(), plain.wire_bytes().get()), (false, 536, 590));
    // Its NewReno counts acknowledgments.
    let reno = of(&[("flows.ftp.tcp.congestion", "reno")]);
    assert_eq!((reno.rules, reno.growth), (Rules::Ns3, Growth::Acknowledgments));
    // Of others nothing is known.
    assert_eq!(of(&[("flows.ftp.tcp.recovery", "sack")]).rules, Rules::Rfc);
    assert_eq!(of(&[("flows.ftp.tcp.congestion", "ledbat")]).rules, Rules::Rfc);
    // What it gives is marked so, and may be written out.
    let written = speaking("ns-3.44", &[]).to_toml();
    assert!(written.contains("growth = \"whole-packets\" # as in ns-3.44"), "{written}");
}

#[test]
fn a_link_changes_in_one_direction_only() {
    let changes = ("dumbbell.changes", "[{ at = \"5 s\", delay = \"50 ms\", rate = \"5 Mbit/s\" }]");
    let back = |p: &Point| {
        let plan = p.plan(0, 1, &Plugins::new()).unwrap();
        let links = plan.network.links;
        // Both directions of the link between the routers.
        [0, 1].map(|i| links[i].delay.at(quell_units::Time::from_nanos(6_000_000_000)))
    };
    let ms = Duration::from_millis;
    assert_eq!(back(&speaking("quell", &[changes])), [ms(50), ms(50)]);
    assert_eq!(back(&speaking("ns-2.27", &[changes])), [ms(50), ms(10)]);
    let own = ("dumbbell.reverse.changes", "[{ at = \"3 s\", delay = \"20 ms\" }]");
    assert_eq!(back(&speaking("ns-2.27", &[changes, own])), [ms(50), ms(20)]);
}

/// The hosts of Linux have its RED beside them, and nothing of what it does is said of RED's descendants.
#[test]
fn linux_has_its_own_red() {
    let point = speaking("linux", &[]);
    let of = |key: &str| red(&point, key);
    assert_eq!(of("forced").as_deref(), Some("mark"));
    assert_eq!(of("gentle").as_deref(), Some("false"));
    assert_eq!(of("min_backlog").as_deref(), Some("0"));
    assert_eq!(of("spacing").as_deref(), Some("one-draw"));
    assert_eq!(of("idle"), None);
    let gentle = speaking("linux", &[("aqm.red.gentle", "true")]);
    assert_eq!(red(&gentle, "gentle").as_deref(), Some("true"));
    let ns2 = speaking("ns-2.35", &[]);
    assert_eq!((red(&ns2, "gentle").as_deref(), red(&ns2, "forced")), (Some("true"), None));
    let ared = study(&format!("dialect = \"linux\"{}", FRAME.replace("\"red\"", "\"ared\"")));
    assert_eq!(ared.points[0].scenario.aqm[0].parameters.get("gentle"), None);
}

/// Linux's form of each of its queues, and nothing of CAKE and COBALT, which have no other.
#[test]
fn linux_has_its_own_queues() {
    let frame = FRAME.replace("max_p = 0.05\n", "");
    let of = |algorithm: &str, more: &str| {
        let queue = format!("algorithm = \"{algorithm}\"\n{more}");
        let text = format!("dialect = \"linux\"{}", frame.replace("algorithm = \"red\"\n", &queue));
        let given = study(&text).points[0].scenario.aqm[0].parameters.clone();
        given.iter().map(|(key, value)| format!("{key} = {value}")).collect::<BTreeSet<_>>()
    };
    let all = |keys: &[&str]| keys.iter().map(ToString::to_string).collect::<BTreeSet<_>>();
    assert_eq!(of("codel", ""), all(&["arithmetic = \"linux\"", "mtu = \"1514 B\""]));
    let fq_codel = all(&["arithmetic = \"linux\"", "mtu = \"1514 B\"", "rules = \"linux\""]);
    assert_eq!(of("fq-codel", ""), fq_codel);
    assert_eq!(of("pie", ""), all(&["scheme = \"linux\""]));
    assert_eq!(of("fq-pie", ""), all(&["rules = \"linux\""]));
    assert_eq!(of("sfq", ""), all(&["active = 128", "longest = \"packets\""]));
    assert_eq!(of("sfb", ""), all(&["increment = 0.0005035400390625", "decrement = 0.0000457763671875"]));
    let choke = all(&["forced = \"mark\"", "min_backlog = 0", "spacing = \"one-draw\""]);
    assert_eq!(of("choke", ""), choke);
    let dualpi2 = of("dualpi2", "");
    assert!(dualpi2.len() == 11 && dualpi2.contains("signals = \"random\""), "{dualpi2:?}");
    // Of CAKE how its packets are counted, which is the host's.
    assert_eq!([of("cake", ""), of("cobalt", "")], [all(&["layer = \"ethernet\""]), all(&[])]);
    // What is written stays, and what does not fit says so.
    assert_eq!(of("pie", "scheme = \"standard\"\n"), all(&["scheme = \"standard\""]));
    let pie = format!(
        "dialect = \"linux\"{}",
        frame.replace("algorithm = \"red\"\n", "algorithm = \"pie\"\ndelay_from = \"link-rate\"\n")
    );
    let error = Study::parse(&pie, "x.toml", &Plugins::new()).unwrap_err().to_string();
    assert!(error.contains("delay_from") && error.contains("give another scheme"), "{error}");
}

#[test]
fn what_a_run_depends_on_are_values_and_not_the_dialect() {
    let of = |text: &str| study(text).points[0].identity(0).unwrap().text;
    let none = of(FRAME);
    assert_eq!(of(&format!("dialect = \"quell\"{FRAME}")), none);
    let ns2 = of(&format!("dialect = \"ns-2.27\"{FRAME}"));
    assert_ne!(ns2, none);
    // Written out, the same values are the same run.
    let written = speaking("ns-2.27", &[]).to_toml().replace("dialect = \"ns-2.27\"", "");
    assert!(!written.contains("dialect = "), "{written}");
    assert_eq!(of(&written), ns2);
    // It has nothing to say of drop-tail and UDP.
    let mute = FRAME.replace("algorithm = \"red\"\nmax_p = 0.05", "algorithm = \"fred\"").replace(
        "name = \"ftp\"\ntcp = { min_rto = \"300 ms\" }",
        "name = \"voice\"\nkind = \"udp\"\nrate = \"1 Mbit/s\"",
    );
    assert_eq!(of(&format!("dialect = \"ns-2.35\"{mute}")), of(&mute));
}

#[test]
fn what_is_shown_says_what_the_dialect_gave() {
    for dialect in Dialect::ALL {
        let text = format!("dialect = \"{}\"\naqm = \"all\"\n{FRAME}", dialect.name())
            .replace("[[aqm]]\nalgorithm = \"red\"\nmax_p = 0.05\n[[aqm]]\nalgorithm = \"drop-tail\"\n", "")
            .replace("tcp = { min_rto = \"300 ms\" }", "tcp = { ecn = true }")
            .replace("[dumbbell]", "[dumbbell]\necn = true\nchanges = [[1, 1e6]]");
        let shown = study(&text).points[0].to_toml();
        let remark = format!(" # as in {}", dialect.name());
        let keys: BTreeSet<&str> =
            shown.lines().filter(|l| l.ends_with(&remark)).filter_map(|l| l.split(" = ").next()).collect();
        let gives = |row: &&KeyDefaults| row.value(dialect).is_some_and(|value| value != "Quell's");
        let all: BTreeSet<&str> = TABLE.iter().filter(gives).map(|row| row.key).collect();
        assert_eq!(keys, all, "{shown}");
        // Nothing is lost when it is read again.
        assert_eq!(study(&shown).points[0].to_toml(), shown);
        let algorithms = study(&text).points[0].scenario.aqm.len();
        assert_eq!(algorithms, CATALOG.len());
    }
}

#[test]
fn own_algorithms_of_links_speak_it_too() {
    let reverse = "buffer = \"500 packets\"\nreverse = { aqm = { algorithm = \"ared\" } }";
    let text = FRAME.replace("buffer = \"500 packets\"", reverse);
    let text = format!("dialect = \"ns-2.27\"{text}");
    let own = study(&text).points[0].scenario.algorithm_at("reverse", "red").unwrap();
    assert_eq!(own.parameters["spacing"].as_str(), Some("wait"));
}

/// A queue that does not mark would have no signals at all.
#[test]
fn what_cannot_be_marked_passes_where_the_link_marks() {
    let text = format!("dialect = \"ns-2.27\"{FRAME}").replace("drop-tail", "rem");
    let text =
        text.replace("[[flows]]\nname = \"ftp\"", "[[aqm]]\nalgorithm = \"avq\"\n[[flows]]\nname = \"ftp\"");
    let with = |link: &str| {
        let text = text.replace("buffer = \"500 packets\"", &format!("buffer = \"500 packets\"\n{link}"));
        let scenario = study(&text).points.remove(0).scenario;
        let of = |a: &quell_scenario::format::AqmChoice| {
            a.parameters.get("unmarkable").and_then(|v| v.as_str()).map(str::to_string)
        };
        let back = scenario.algorithm_at("reverse", "rem");
        (of(&scenario.aqm[1]), of(&scenario.aqm[2]), back.as_ref().and_then(of))
    };
    let pass = Some("pass".to_string());
    assert_eq!(with(""), (None, None, None));
    assert_eq!(with("ecn = true"), (pass.clone(), pass.clone(), None));
    let back = "reverse = { aqm = { algorithm = \"rem\" } }";
    assert_eq!(with(&format!("ecn = true\n{back}")), (pass.clone(), pass.clone(), pass.clone()));
    let back = "reverse = { ecn = true, aqm = { algorithm = \"rem\" } }";
    assert_eq!(with(back), (None, None, pass));
}

#[test]
fn expressions_are_about_the_defaults_of_the_dialect() {
    let rtt = ("flows.ftp.rtt", "0.1 * flows.ftp.tcp.initial_rto");
    let of = |dialect| match &speaking(dialect, &[rtt]).scenario.flows[0].rtt {
        Some(quell_scenario::values::OneOr::One(rtt)) => *rtt,
        other => panic!("{other:?}"),
    };
    assert_eq!(of("quell"), Duration::from_millis(300));
    assert_eq!(of("ns-2.27"), Duration::from_millis(600));
}

#[test]
fn a_dialect_may_be_swept() {
    let mut doc = Document::parse(FRAME, "x.toml").unwrap();
    doc.sweep_text("dialect=quell,ns-2.1b,ns-2.35").unwrap();
    let study = doc.study(&Plugins::new()).unwrap();
    let rto = |p: &Point| tcp(p).initial_rto;
    let s = Duration::from_secs;
    assert_eq!(study.points.iter().map(rto).collect::<Vec<_>>(), [s(3), s(6), s(3)]);
    assert_eq!(study.points[1].title(), "dialect = ns-2.1b");
}

#[test]
fn what_is_no_dialect_is_refused() {
    let refuse = |name: &str| {
        let text = format!("dialect = {name}{FRAME}");
        Study::parse(&text, "x.toml", &Plugins::new()).unwrap_err().to_string()
    };
    for (wrong, meant) in [("\"ns2.27\"", "ns-2.27"), ("\"NS-2.35\"", "ns-2.35"), ("\"ns-2.1b7\"", "ns-2.1b")]
    {
        let e = refuse(wrong);
        assert!(e.contains("dialect") && e.contains(&format!("did you mean \"{meant}\"?")), "{e}");
        assert!(e.starts_with("x.toml:1:"), "{e}");
    }
    assert!(
        refuse("\"omnet\"").contains("one of: quell, ns-2.1b, ns-2.27, ns-2.35"),
        "{}",
        refuse("\"omnet\"")
    );
    assert!(refuse("2").contains("dialect"));
    // A value that the dialect gave and that breaks a rule has the place of its table.
    let text =
        format!("dialect = \"ns-2.1b\"{}", FRAME.replace("min_rto = \"300 ms\"", "max_rto = \"500 ms\""));
    let e = Study::parse(&text, "x.toml", &Plugins::new()).unwrap_err().to_string();
    assert!(e.contains("max_rto"), "{e}");
}

#[test]
fn the_page_has_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/dialects.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- dialects:begin -->\n", "<!-- dialects:end -->");
    let (before, rest) = page.split_once(begin).unwrap();
    let (_, after) = rest.split_once(end).unwrap();
    let mut table = String::from("| table | key | Quell");
    Dialect::ALL.iter().for_each(|d| table.push_str(&format!(" | {}", d.name())));
    table.push_str(" | source |\n|");
    (0..Dialect::ALL.len() + 4).for_each(|_| table.push_str(" --- |"));
    table.push('\n');
    for row in TABLE {
        table.push_str(&format!("| {} | `{}` | {}", row.table(), row.key, row.quell()));
        Dialect::ALL.iter().for_each(|d| table.push_str(&format!(" | {}", row.value(*d).unwrap())));
        table.push_str(&format!(" | {} |\n", row.source));
    }
    let wanted = format!("{before}{begin}{table}{end}{after}");
    if std::env::var_os("QUELL_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &wanted).unwrap();
    }
    assert!(
        std::fs::read_to_string(&path).unwrap() == wanted,
        "docs/dialects.md is stale: run the tests with QUELL_UPDATE_DOCS=1"
    );
}

/// RED+Tail's second queue has an algorithm of its own, which speaks the dialect as well.
#[test]
fn an_algorithm_within_another_speaks_too() {
    let within = r#"[{ algorithm = "red+tail", vq2 = { algorithm = "ared", mark_limit = 0.2 } }]"#;
    let point = speaking("ns-2.1b", &[("aqm", within)]);
    let own = point.scenario.aqm[0].parameters["vq2"].as_table().unwrap();
    assert_eq!(own["spacing"].as_str(), Some("wait"));
    assert_eq!(own["mark_limit"].as_float(), Some(0.2));
}

/// A dialect that is taken for a congestion control is named as what it is.
#[test]
fn every_dialect_is_known_where_a_part_of_a_sender_is_chosen() {
    for dialect in [Dialect::Quell].into_iter().chain(Dialect::ALL) {
        let text = FRAME.replace("min_rto = \"300 ms\"", &format!("congestion = \"{}\"", dialect.name()));
        let e = Study::parse(&text, "x.toml", &Plugins::new()).unwrap_err().to_string();
        let want = format!(
            "is a dialect, which gives every key of a sender its default: write dialect = \"{}\"",
            dialect.name()
        );
        assert!(e.contains(&want), "{e}");
    }
}

/// What a dialect switches on, a file can switch off, and a file written out stays so.
#[test]
fn an_optional_key_is_none_in_every_dialect() {
    let keys = ["delayed_ack", "send_quantum", "sack_delay", "initial_ssthresh"];
    let off: Vec<(String, &str)> = keys.iter().map(|key| (format!("flows.ftp.tcp.{key}"), "none")).collect();
    let off: Vec<(&str, &str)> = off.iter().map(|(field, value)| (field.as_str(), *value)).collect();
    for dialect in [Dialect::Quell].into_iter().chain(Dialect::ALL) {
        let point = speaking(dialect.name(), &off);
        let params = tcp(&point);
        assert_eq!((params.delayed_ack, params.send_quantum, params.sack_delay), (None, None, None));
        assert_eq!(params.initial_ssthresh, None);
        let written = point.to_toml();
        let again = study(&written).points.remove(0);
        assert_eq!(tcp(&again), params, "{written}");
        assert_eq!(again.to_toml(), written);
        let says = written.contains("\ndelayed_ack = \"none\"\n");
        assert_eq!(says, matches!(dialect, Dialect::Ns344 | Dialect::Linux | Dialect::Quic), "{written}");
        assert!(!written.contains("\ninitial_ssthresh = "), "{written}");
    }
    // Of an algorithm, too: ns-2 limits the marks of RED, and "none" changes nothing else.
    let point = speaking("ns-2.27", &[("aqm.red.mark_limit", "none")]);
    assert_eq!(red(&point, "mark_limit"), None);
    assert_eq!(red(&point, "min_backlog"), red(&speaking("ns-2.27", &[]), "min_backlog"));
    let written = point.to_toml();
    assert!(written.contains("\nmark_limit = \"none\"\n"), "{written}");
    assert_eq!(study(&written).points[0].to_toml(), written);
    // In a sweep.
    let mut doc = Document::parse(FRAME, "x.toml").unwrap();
    doc.set_text("dialect", "linux").unwrap();
    doc.sweep_text("flows.ftp.tcp.delayed_ack=none,200 ms").unwrap();
    let points = doc.study(&Plugins::new()).unwrap_or_else(|e| panic!("{e}")).points;
    let delays: Vec<_> = points.iter().map(|p| tcp(p).delayed_ack).collect();
    assert_eq!(delays, [None, Some(Duration::from_millis(200))]);
}

/// An algorithm that is added to a point is what it would be if the file named it.
#[test]
fn an_algorithm_that_is_added_speaks_the_dialect() {
    for dialect in ["quell", "linux", "ns-2.27"] {
        for ecn in ["true", "false"] {
            let point = speaking(dialect, &[("dumbbell.ecn", ecn)]);
            for entry in CATALOG {
                let mut named = Document::parse(FRAME, "x.toml").unwrap();
                for (field, value) in [("dialect", dialect), ("dumbbell.ecn", ecn)] {
                    named.set_text(field, value).unwrap();
                }
                let list = toml::Table::from_iter([("algorithm".to_string(), entry.name.into())]);
                named.set("aqm", &toml::Value::Array(vec![list.into()])).unwrap();
                let named = named.study(&Plugins::new()).unwrap();
                assert_eq!(point.algorithm(entry.name), named.points[0].scenario.aqm[0], "{dialect} {ecn}");
            }
        }
    }
    let linux = speaking("linux", &[]).algorithm("red");
    assert_eq!(linux.parameters.get("gentle").and_then(toml::Value::as_bool), Some(false));
}
