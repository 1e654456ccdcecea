//! The numbers in a text are those of the configuration, read back by rules of their own.

use std::collections::BTreeMap;

use proptest::prelude::*;
use quell_aqm::cake::CakeParams;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::codel::CodelParams;
use quell_aqm::fq_codel::FqCodelParams;
use quell_aqm::fq_pie::FqPieParams;
use quell_aqm::pie::PieParams;
use quell_router::{Platform, Shaped, Written, write};
use quell_units::{BitRate, Bytes, Duration, QueueSize};

use crate::{default, shaped, side, with};

/// Names and values of a direction's queue.
type Words = BTreeMap<String, String>;

/// A time with a unit, in microseconds.
fn micros(text: &str) -> f64 {
    match text.strip_suffix("us") {
        Some(us) => us.parse().unwrap(),
        None => 1e3 * text.strip_suffix("ms").unwrap().parse::<f64>().unwrap(),
    }
}

/// `key value key value flag`, where the flags are known.
fn row(text: &str) -> Words {
    const ALONE: &[&str] = &["ecn", "noecn", "derand", "noderand"];
    let mut words = Words::new();
    let mut rest = text.split_whitespace();
    while let Some(word) = rest.next() {
        match ALONE.contains(&word) {
            true => words.insert(word.into(), String::new()),
            false => words.insert(word.into(), rest.next().unwrap_or_default().into()),
        };
    }
    words
}

/// The options of the file of UCI, which must say the same as the commands.
fn uci(written: &Written) -> Words {
    let quoted = |text: &str| text.strip_prefix('\'').and_then(|t| t.strip_suffix('\'')).unwrap().to_string();
    let file = &written.parts[1].text;
    let (first, options) = file.split_once('\n').unwrap();
    assert_eq!(first, "config queue 'quell'");
    let mut words = Words::new();
    for line in options.lines() {
        let (name, value) = line.strip_prefix("\toption ").unwrap().split_once(' ').unwrap();
        assert_eq!(words.insert(name.into(), quoted(value)), None, "{name}");
    }
    let sets = written.parts[0].text.lines().filter_map(|l| l.strip_prefix("uci set sqm.@queue[0]."));
    let commands: Words =
        sets.map(|l| l.split_once('=').unwrap()).map(|(name, value)| (name.into(), quoted(value))).collect();
    assert_eq!(words, commands);
    words
}

/// The sections of a .network file.
fn sections(text: &str) -> BTreeMap<String, Words> {
    let mut all: BTreeMap<String, Words> = BTreeMap::new();
    let mut name = String::new();
    for line in text.lines().filter(|l| !l.is_empty()) {
        match line.strip_prefix('[') {
            Some(section) => name = section.strip_suffix(']').unwrap().into(),
            None => {
                let (key, value) = line.split_once('=').unwrap();
                assert_eq!(
                    all.entry(name.clone()).or_default().insert(key.into(), value.into()),
                    None,
                    "{key}"
                );
            }
        }
    }
    all
}

/// A rate of networkd, RouterOS or ipfw.
fn rate(text: &str) -> u64 {
    let text = text.trim_end_matches("bit/s");
    match text.strip_suffix(['K', 'k']) {
        Some(thousands) => thousands.parse::<u64>().unwrap() * 1000,
        None => text.parse().unwrap(),
    }
}

/// The words of the queue of downloads.
fn words(platform: Platform, written: &Written) -> Words {
    let text = &written.parts[0].text;
    let line = |start: &str| {
        text.lines().find_map(|l| l.strip_prefix(start)).unwrap_or_else(|| panic!("{start}: {text}"))
    };
    match platform {
        Platform::OpenWrt => {
            let fields = uci(written);
            let mut words = row(&fields["iqdisc_opts"]);
            for (field, name) in [("itarget", "target"), ("ilimit", "limit"), ("ingress_ecn", "ecn")] {
                words.extend(fields.get(field).map(|value| (name.to_string(), value.clone())));
            }
            words
        }
        Platform::Networkd => {
            let all = sections(&written.parts[1].text);
            let (_, queue) = all.into_iter().find(|(name, _)| !name.starts_with("Hierarchy")).unwrap();
            queue
        }
        Platform::RouterOs => {
            let line = line("add name=quell-down kind=");
            line.split(' ')
                .skip(1)
                .map(|w| w.split_once('=').unwrap())
                .map(|(k, v)| (k.into(), v.into()))
                .collect()
        }
        Platform::FreeBsd => match text.contains("ipfw sched 7001") {
            true => row(line("ipfw sched 7001 config pipe 7001 type ").split_once(' ').unwrap().1),
            false => {
                let all = line("ipfw pipe 7001 config ");
                row(&all.replace(" codel ", " ").replace(" pie ", " "))
            }
        },
        Platform::OpnSense | Platform::PfSense => {
            text.lines().map(|l| l.split_once(": ").unwrap()).map(|(k, v)| (k.into(), v.into())).collect()
        }
        _ => unreachable!(),
    }
}

/// A parameter of a text, in microseconds or as a number.
fn number(platform: Platform, name: &str, text: &str) -> f64 {
    match platform {
        Platform::OpnSense | Platform::PfSense if name.ends_with("target") || name.ends_with("interval") => {
            1e3 * text.parse::<f64>().unwrap()
        }
        _ if text.ends_with('s') => micros(text),
        _ => text.parse().unwrap(),
    }
}

/// Checks each number of a text.
fn check(platform: Platform, aqm: AqmConfig, expected: &[(&str, f64, f64)]) {
    let written = write(platform, &shaped("docsis", aqm)).unwrap();
    let words = words(platform, &written);
    for (name, value, within) in expected {
        let said = number(platform, name, &words[*name]);
        assert!((said - value).abs() <= *within, "{platform:?} {name}: {said} for {value}: {words:?}");
    }
}

/// The resolution of times of a platform, in microseconds.
fn tick(platform: Platform) -> f64 {
    if [Platform::OpnSense, Platform::PfSense].contains(&platform) { 500.0 } else { 0.5 }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn codel_is_read_back(target in 1_000u64..2_000_000, interval in 1_000u64..5_000_000) {
        let aqm = AqmConfig::Codel(CodelParams {
            target: Duration::from_micros(target),
            interval: Duration::from_micros(interval),
            ..CodelParams::default()
        });
        let (target, interval) = (target as f64, interval as f64);
        for (platform, t, i, limit) in [
            (Platform::OpenWrt, "target", "interval", "limit"),
            (Platform::Networkd, "TargetSec", "IntervalSec", "PacketLimit"),
            (Platform::RouterOs, "codel-target", "codel-interval", "codel-limit"),
            (Platform::FreeBsd, "target", "interval", "queue"),
            (Platform::OpnSense, "(FlowQueue-)CoDel target", "(FlowQueue-)CoDel interval", "Queue"),
            (Platform::PfSense, "target", "interval", "Queue length"),
        ] {
            let tick = tick(platform);
            check(platform, aqm.clone(), &[(t, target, tick), (i, interval, tick), (limit, 100.0, 0.0)]);
        }
    }

    #[test]
    fn fq_codel_is_read_back(
        target in 1_000u64..2_000_000, interval in 1_000u64..5_000_000, quantum in 1u64..9000, flows in 1u32..65_536,
    ) {
        let aqm = AqmConfig::FqCodel(FqCodelParams {
            target: Duration::from_micros(target),
            interval: Duration::from_micros(interval),
            quantum: Bytes::new(quantum),
            flows,
            ..FqCodelParams::default()
        });
        let (target, interval, quantum, flows) = (target as f64, interval as f64, quantum as f64, f64::from(flows));
        for (platform, [t, i, q, f, limit]) in [
            (Platform::OpenWrt, ["target", "interval", "quantum", "flows", "limit"]),
            (Platform::Networkd, ["TargetSec", "IntervalSec", "QuantumBytes", "Flows", "PacketLimit"]),
            (
                Platform::RouterOs,
                ["fq-codel-target", "fq-codel-interval", "fq-codel-quantum", "fq-codel-flows", "fq-codel-limit"],
            ),
            (Platform::FreeBsd, ["target", "interval", "quantum", "flows", "limit"]),
            (Platform::OpnSense, [
                "(FlowQueue-)CoDel target", "(FlowQueue-)CoDel interval", "FlowQueue-CoDel quantum",
                "FlowQueue-CoDel flows", "FlowQueue-CoDel limit",
            ]),
            (Platform::PfSense, ["target", "interval", "quantum", "flows", "limit"]),
        ] {
            let tick = tick(platform);
            check(platform, aqm.clone(), &[
                (t, target, tick), (i, interval, tick), (q, quantum, 0.0), (f, flows, 0.0), (limit, 100.0, 0.0),
            ]);
        }
    }

    #[test]
    fn pie_is_read_back(
        target in 1_000u64..4_000_000, update in 1_000u64..4_000_000, alpha in 0.01f64..2.0, beta in 0.01f64..2.0,
    ) {
        let (target_of, update_interval) = (Duration::from_micros(target), Duration::from_micros(update));
        let pie = AqmConfig::Pie(PieParams { target: target_of, update_interval, alpha, beta, ..PieParams::default() });
        let fq = FqPieParams { target: target_of, update_interval, alpha, beta, ..FqPieParams::default() };
        for aqm in [pie, AqmConfig::FqPie(fq)] {
            let times = [("target", target as f64, 0.5), ("tupdate", update as f64, 0.5)];
            // FreeBSD keeps parts of 2^-13, and Linux those of 2^-4 as their number.
            for (platform, parts, within) in [(Platform::FreeBsd, 1.0, 0.51 / 8192.0), (Platform::OpenWrt, 16.0, 0.5)] {
                let gains = [("alpha", alpha * parts, within), ("beta", beta * parts, within)];
                check(platform, aqm.clone(), &[times[0], times[1], gains[0], gains[1]]);
            }
        }
    }

    #[test]
    fn cake_and_rates_are_read_back(rtt in 100u64..2_000_000, down in 64u64..9_000_000, up in 64u64..9_000_000) {
        let aqm = AqmConfig::Cake(CakeParams { rtt: Duration::from_micros(rtt), ..CakeParams::default() });
        let mut link: Shaped = shaped("docsis", aqm);
        let kbit = |kbit: u64| BitRate::from_bps(kbit * 1000);
        (link.down.link.rate, link.up.link.rate) = (kbit(down), kbit(up));
        let fields = uci(&write(Platform::OpenWrt, &link).unwrap());
        prop_assert_eq!(&fields["download"], &down.to_string());
        prop_assert_eq!(&fields["upload"], &up.to_string());
        prop_assert_eq!((&*fields["overhead"], &*fields["tcMPU"]), ("18", "64"));
        let options = fields["eqdisc_opts"].split_once(" rtt ").unwrap().1;
        prop_assert_eq!(micros(options.split(' ').next().unwrap()), rtt as f64);
        let networkd = write(Platform::Networkd, &link).unwrap();
        for (number, kbit) in [(0, up), (1, down)] {
            let all = sections(&networkd.parts[number].text);
            prop_assert_eq!(rate(&all["CAKE"]["Bandwidth"]), kbit * 1000);
            prop_assert_eq!(micros(&all["CAKE"]["RTTSec"]), rtt as f64);
            prop_assert_eq!((&*all["CAKE"]["OverheadBytes"], &*all["CAKE"]["MPUBytes"]), ("18", "64"));
        }
        let routeros = words(Platform::RouterOs, &write(Platform::RouterOs, &link).unwrap());
        prop_assert_eq!(rate(&routeros["cake-bandwidth"]), down * 1000);
        prop_assert_eq!(micros(&routeros["cake-rtt"]), rtt as f64);
        prop_assert_eq!(&routeros["cake-overhead"], "18");
    }
}

/// What the shapers that count less than the link are told is never more than the link carries, whatever the packets.
#[test]
fn a_told_rate_is_never_too_much_where_the_overhead_is_set() {
    for link in ["docsis", "vdsl-pppoe-vlan", "adsl-pppoe-llcsnap", "adsl-ipoa-vcmux", "ethernet"] {
        let link = shaped(link, default("fq-codel")).down.link;
        let told = Platform::Networkd.counts().told(&link);
        let overhead = told.overhead.unwrap() + 14;
        for packet in (64..=1500).chain([9000]) {
            let wire = link.on_wire(Bytes::new(packet)).get() as f64;
            let counted = packet as f64 + overhead as f64;
            let most = link.rate.bps() as f64 / wire;
            let let_through = told.rate.bps() as f64 / counted;
            assert!(let_through <= most * (1.0 + 1e-6), "{link:?} {packet}: {let_through} of {most}");
        }
    }
}

/// The buffer in bytes goes where bytes are counted, and else becomes full packets.
#[test]
fn a_buffer_of_bytes_is_said_in_bytes_or_packets() {
    let mut link = shaped("docsis", default("fq-codel"));
    link.down.buffer = QueueSize::Bytes(150_000.0);
    let said = |platform| words(platform, &write(platform, &link).unwrap());
    let networkd = said(Platform::Networkd);
    assert_eq!((&*networkd["MemoryLimitBytes"], &*networkd["PacketLimit"]), ("150000", "10240"));
    assert_eq!(said(Platform::FreeBsd)["limit"], "100");
}

/// The lines of Linux say the same to the reader of tc's lines.
#[test]
fn lines_of_linux_are_read_back() {
    let linux = Platform::find("linux").unwrap();
    let kernel = quell_tc::Kernel::new(6, 12);
    let read = |aqm: AqmConfig| {
        let written = write(linux, &shaped("vdsl-pppoe", aqm)).unwrap();
        let lines = written.parts[0]
            .text
            .lines()
            .filter(|l| l.starts_with("tc ") && l.contains(" replace ") && !l.ends_with(" ingress"));
        let dump = quell_tc::read(&lines.map(|l| format!("{l}\n")).collect::<String>(), kernel);
        assert!(dump.problems.iter().all(|problem| !problem.fatal), "{:?}", dump.problems);
        dump
    };
    let cake = with("cake", "rtt = \"80 ms\"\nisolation = \"dual-srchost\"\nack_filter = \"on\"");
    let dump = read(cake);
    for (device, mbit) in [("eth0", 19), ("ifb4eth0", 95)] {
        let queue =
            dump.queues.iter().find(|q| q.device.as_deref() == Some(device) && q.kind == "cake").unwrap();
        let AqmConfig::Cake(cake) = &queue.meaning.as_ref().unwrap().aqm else { panic!("{queue:?}") };
        assert_eq!(cake.bandwidth, Some(BitRate::from_bps(mbit * 1_000_000)));
        assert_eq!((cake.overhead, cake.rtt), (Bytes::new(30), Duration::from_millis(80)));
        assert_eq!(cake.framing, quell_aqm::cake::Framing::Ptm);
    }
    let dump = read(with("fq-codel", "target = \"7 ms\"\ninterval = \"90 ms\"\nquantum = \"300 B\""));
    // 64/65 of the rates.
    let rates: Vec<u64> = dump.classes.iter().map(|class| class.rate.bps() / 1_000_000).collect();
    assert_eq!(rates, [18, 93]);
    for queue in dump.queues.iter().filter(|q| q.kind == "fq_codel") {
        let AqmConfig::FqCodel(fq) = &queue.meaning.as_ref().unwrap().aqm else { panic!("{queue:?}") };
        assert_eq!((fq.target, fq.interval), (Duration::from_millis(7), Duration::from_millis(90)));
        assert_eq!(
            (fq.quantum, queue.meaning.as_ref().unwrap().buffer),
            (Bytes::new(300), QueueSize::Packets(100.0))
        );
    }
}

/// The files of sqm and of networkd say the same to the reader of such files.
#[test]
fn files_are_read_back() {
    let aqm = || with("fq-codel", "target = \"7 ms\"\ninterval = \"90 ms\"\nquantum = \"300 B\"");
    for (platform, numbers) in [(Platform::OpenWrt, vec![1]), (Platform::Networkd, vec![0, 1])] {
        let written = write(platform, &shaped("docsis", aqm())).unwrap();
        for number in numbers {
            let dump = quell_tc::read(&written.parts[number].text, quell_tc::Kernel::new(6, 12));
            let fatal: Vec<_> = dump.problems.iter().filter(|problem| problem.fatal).collect();
            assert!(fatal.is_empty(), "{platform:?} {fatal:?}");
            let mut seen = 0;
            for queue in dump.queues.iter().filter(|q| q.meaning.is_some()) {
                let meaning = queue.meaning.as_ref().unwrap();
                let AqmConfig::FqCodel(fq) = &meaning.aqm else { panic!("{queue:?}") };
                assert_eq!((fq.target, fq.interval), (Duration::from_millis(7), Duration::from_millis(90)));
                assert_eq!((fq.quantum, meaning.ecn), (Bytes::new(300), true));
                seen += 1;
            }
            assert!(seen > 0, "{platform:?} {dump:?}");
        }
    }
}

/// manual.mikrotik.com, HTB, Token Bucket algorithm: the bucket holds bucket-size times max-limit, for 0 to 10, and a tenth
/// where nothing is said. The simulated burst is a millisecond and at least two frames: 10 Mbit/s carry 1250 B in 1 ms, which
/// two frames of 1518 B exceed, so 3036 B are 2.43 ms.
#[test]
fn buckets_of_routeros_are_those_that_were_simulated() {
    for (rate, least, most) in
        [("100 Mbit/s", 0.001, 0.001_011), ("10 Mbit/s", 0.0024, 0.0027), ("2 kbit/s", 10.0, 10.0)]
    {
        let mut link = shaped("ethernet", default("fq-codel"));
        link.up = side("ethernet", rate, default("fq-codel"));
        let text = write(Platform::RouterOs, &link).unwrap().parts.remove(0).text;
        let line = text.lines().find(|line| line.contains("parent=eth0")).unwrap();
        let size: f64 =
            line.split("bucket-size=").nth(1).unwrap().split(' ').next().unwrap().parse().unwrap();
        assert!((least..=most).contains(&size), "{rate}: {line}");
    }
}
