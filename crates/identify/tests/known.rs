//! Queues that are known, identified from captures of other seeds, rates and values than are tried.

use std::sync::atomic::AtomicBool;

use quell_capture::{Transfer, Trip};
use quell_identify::{
    Answer, Discipline, Found, Interval, NAMES, Observed, Question, Run, Statistics, Unfit, identify,
    simulate, simulate_at_sender,
};
use quell_tcp::catalog::SENDERS;

/// Two transfers through a link of 4.6 Mbit/s with a round trip of 23 ms.
fn scenario(buffer: &str, aqm: &str, more: &str) -> String {
    let mut text = format!(
        "schema = 1\ndialect = \"linux\"\nduration = \"14 s\"\nwarmup = \"0 s\"\nseeds = [77]\n\n[dumbbell]\nrate = \"4.6 \
         Mbit/s\"\ndelay = \"23 ms\"\nbuffer = \"{buffer}\"\necn = true\naccess_rate = \"1 Gbit/s\"\n{more}\n[dumbbell.reverse]\n\
         rate = \"1 Gbit/s\"\ndelay = \"1 us\"\nloss = 0.0\n\n[[aqm]]\n{aqm}\n"
    );
    for start in [0, 3] {
        text += &format!(
            "\n[[flows]]\nname = \"f{start}\"\nrtt = \"23.001 ms\"\nstart = \"{start} s\"\ntcp = {{ congestion = \"cubic\", ecn = \
             false, packet = \"1448 B\" }}\n"
        );
    }
    text
}

fn answered(text: &str, disciplines: &[Discipline]) -> (Observed, Answer) {
    let observed = observed(text).unwrap();
    let answer = answer(&observed, disciplines);
    (observed, answer)
}

fn observed(text: &str) -> Result<Observed, Unfit> {
    Observed::of(&simulate_at_sender(text, 77).unwrap(), 60.0, None, None)
}

fn answer(observed: &Observed, disciplines: &[Discipline]) -> Answer {
    let question = Question { disciplines: disciplines.to_vec(), seeds: 4, tcp: "cubic".to_string() };
    identify(observed, &question, &|_| {}, &AtomicBool::new(false)).unwrap().unwrap()
}

#[test]
fn the_buffer_of_a_drop_tail_queue() {
    // 60 packets of 1514 bytes at 4.6 Mbit/s are 158 ms.
    let text = scenario("60 packets", "algorithm = \"drop-tail\"", "");
    let (observed, answer) = answered(&text, &[Discipline::DropTail, Discipline::Pie]);
    assert!((observed.rate_bps.0 / 4.6e6 - 1.0).abs() < 0.01, "{:?}", observed.rate_bps);
    let base = observed.flows[0].base_s;
    // The path, and a packet on the link.
    assert!((base - 0.0256).abs() < 0.0005, "{base}");
    let likely = answer.likely();
    assert_eq!(likely.iter().map(|found| found.discipline).collect::<Vec<_>>(), [Discipline::DropTail]);
    let [low, high] = likely[0].parameter.within;
    assert!(low < 0.158 && 0.158 < high && high / low < 1.5, "{low} to {high}");
}

#[test]
fn every_sender_is_simulated() {
    let text = scenario("60 packets", "algorithm = \"drop-tail\"", "").replace("14 s", "6 s");
    let found = simulate_at_sender(&text, 77).unwrap();
    let mut observed = Observed::of(&found, 60.0, None, None).unwrap();
    let names: Vec<&str> = SENDERS.iter().filter(|e| e.key == "congestion").map(|e| e.name).collect();
    assert!(names.contains(&"cubic") && names.contains(&"bbr3") && names.contains(&"prague"), "{names:?}");
    for tcp in names {
        for ecn in [false, true] {
            observed.flows.iter_mut().for_each(|flow| flow.ecn = ecn);
            let run = Run { discipline: Discipline::Codel, value: 0.005, seed: 1 };
            let statistics =
                run.statistics(&observed, tcp).unwrap_or_else(|e| panic!("{tcp}, ecn {ecn}: {e}"));
            let of = |name: &str| statistic(&statistics, name);
            assert!(of("share of the rate") > 0.5, "{tcp}, ecn {ecn}: {statistics:?}");
            // CoDel marks what may be marked, and a capture shows the echo; none of a thousand would be -7.6.
            if ["dctcp", "prague"].contains(&tcp) {
                assert!(of("acknowledgments with marks") > -6.0, "{tcp}: {statistics:?}");
            }
        }
    }
}

fn statistic(statistics: &Statistics, name: &str) -> f64 {
    statistics.0[NAMES.iter().position(|n| *n == name).unwrap()]
}

/// Applications begin with a few bytes (iperf3 sends 37), which are on a slow link for less time than a whole packet.
#[test]
fn small_packets_do_not_make_the_path_shorter() {
    let text = scenario("1000 packets", "algorithm = \"codel\"", "");
    let mut found = simulate_at_sender(&text, 77).unwrap();
    let before = Observed::of(&found, 60.0, None, None).unwrap();
    // 23.001 ms, and 37 bytes with headers at 4.6 Mbit/s.
    let trip = 23_001_000 + (37 + 66) * 8 * 1000 / 46 * 10;
    let first = found.transfers[0].span.0;
    found.transfers[0].trips.insert(0, Trip { sent: first, trip, bytes: 37 });
    let after = Observed::of(&found, 60.0, None, None).unwrap();
    for (a, b) in before.flows.iter().zip(&after.flows) {
        assert!((a.base_s - b.base_s).abs() < 2e-5, "{a:?} {b:?}");
    }
    for (name, (a, b)) in NAMES.iter().zip(before.statistics.0.iter().zip(after.statistics.0)) {
        assert!((a - b).abs() < 0.01, "{name}: {a} {b}");
    }
}

/// Where data always wait, the handshake of the first flow still found the queue empty.
#[test]
fn a_handshake_shows_the_path_without_a_queue() {
    let text = scenario("60 packets", "algorithm = \"drop-tail\"", "");
    let mut found = simulate_at_sender(&text, 77).unwrap();
    found.transfers.iter_mut().for_each(|flow| flow.trips.retain(|trip| trip.trip > 40_000_000));
    let base = Observed::of(&found, 60.0, None, None).unwrap().flows[0].base_s;
    // 23.001 ms, and 1514 bytes at 4.6 Mbit/s.
    assert!((base - 0.025_634).abs() < 5e-5, "{base}");
}

#[test]
fn an_earlier_packet_changes_nothing() {
    let text = scenario("60 packets", "algorithm = \"drop-tail\"", "");
    let found = simulate_at_sender(&text, 77).unwrap();
    let before = Observed::of(&found, 60.0, None, None).unwrap();
    let later = 120_000_000_000;
    let mut shifted = found;
    for flow in &mut shifted.transfers {
        flow.span = (flow.span.0 + later, flow.span.1 + later);
        flow.handshake = flow.handshake.map(|(at, all)| (at + later, all));
        flow.trips.iter_mut().for_each(|trip| trip.sent += later);
        for again in &mut flow.again {
            (again.first, again.at) = (again.first + later, again.at + later);
        }
        flow.delivered.iter_mut().for_each(|(at, _)| *at += later);
        flow.marks.iter_mut().for_each(|at| *at += later);
        flow.acknowledgments.iter_mut().for_each(|(at, _)| *at += later);
    }
    let stray = Transfer { packets: (1, 0, 100), payload: 100, ..Transfer::default() };
    shifted.transfers.insert(0, stray);
    let mut after = Observed::of(&shifted, 60.0, None, None).unwrap();
    assert_eq!(std::mem::take(&mut after.left_out), 1);
    assert_eq!(after, before);
    assert_eq!(after.flows[0].start_s, 0.0);
}

#[test]
fn what_is_after_the_part_that_counts_is_left_out() {
    // The flow that starts at 10 s is the only one with ECN.
    let text = scenario("1000 packets", "algorithm = \"codel\"", "");
    let late = text.split("[[flows]]").last().unwrap();
    let late = late.replace("\"3 s\"", "\"10 s\"").replace("f3", "late").replace("ecn = false", "ecn = true");
    let found = simulate_at_sender(&format!("{text}\n[[flows]]{late}"), 77).unwrap();
    let whole = Observed::of(&found, 60.0, None, None).unwrap();
    assert_eq!(whole.flows.iter().map(|flow| flow.ecn).collect::<Vec<_>>(), [false, false, true]);
    let marks = "acknowledgments with marks";
    assert!(statistic(&whole.statistics, marks) > -6.0, "{whole:?}");
    let part = Observed::of(&found, 8.0, None, None).unwrap();
    assert_eq!((part.flows.len(), part.left_out, part.seconds), (2, 1, 8.0));
    assert!(part.flows.iter().all(|flow| flow.start_s < 8.0 && flow.stop_s <= 8.0), "{part:?}");
    // None of a thousand acknowledgments.
    assert!(statistic(&part.statistics, marks) < -6.0, "{part:?}");
    // It is what a capture that ends there gives, but for what was under way.
    let ended = simulate_at_sender(&text.replace("14 s", "8 s"), 77).unwrap();
    let ended = Observed::of(&ended, 60.0, None, None).unwrap();
    for (name, (part, ended)) in NAMES.iter().zip(part.statistics.0.iter().zip(ended.statistics.0)) {
        assert!((part - ended).abs() < 0.05, "{name}: {part} {ended}");
    }
    for discipline in Discipline::ALL {
        Run { discipline, value: 0.02, seed: 1 }.statistics(&part, "cubic").unwrap();
    }
}

#[test]
fn the_target_of_pie() {
    let text = scenario("1000 packets", "algorithm = \"pie\"\ntarget = \"27 ms\"", "");
    let (_, answer) = answered(&text, &[Discipline::DropTail, Discipline::Pie]);
    let likely = answer.likely();
    assert_eq!(likely.iter().map(|found| found.discipline).collect::<Vec<_>>(), [Discipline::Pie]);
    let [low, high] = likely[0].parameter.within;
    assert!(low < 0.027 && 0.027 < high && high / low < 3.0, "{low} to {high}");
}

/// Ten packets of 1514 bytes at 4.6 Mbit/s are 26.3 ms: ARED is one queue for all smaller targets (Chen 2010, section
/// 3.2.3), which count once.
#[test]
fn small_targets_of_ared_are_one() {
    let text = scenario("1000 packets", "algorithm = \"ared\"\ntarget_delay = \"5 ms\"", "");
    let (_, answer) = answered(&text, &[Discipline::Ared, Discipline::DropTail]);
    let likely = answer.likely();
    assert_eq!(likely.iter().map(|found| found.discipline).collect::<Vec<_>>(), [Discipline::Ared]);
    let Interval { within: [low, high], is_open, .. } = likely[0].parameter;
    assert!(is_open && (low / 0.0263 - 1.0).abs() < 0.05 && high < 0.035, "{low} to {high}");
}

#[test]
fn a_lossy_link_is_none_of_these() {
    let text = scenario("1000 packets", "algorithm = \"drop-tail\"", "loss = 0.03\n");
    let (observed, answer) = answered(&text, &[Discipline::DropTail, Discipline::Pie]);
    assert!(answer.likely().is_empty(), "{observed:?} {answer:?}");
}

#[test]
fn a_link_whose_rate_changes_is_none_of_these() {
    // Every 300 ms the rate is another one, from 2 to 7 Mbit/s.
    let changes: Vec<String> = [7.0, 4.0, 2.0, 5.5, 3.0]
        .iter()
        .enumerate()
        .map(|(i, rate)| format!("{{ at = \"{} ms\", rate = \"{rate} Mbit/s\" }}", 300 * i))
        .collect();
    let more = format!("changes = {{ list = [{}], repeat = \"1500 ms\" }}\n", changes.join(", "));
    let of = |aqm| observed(&scenario("60 packets", aqm, &more));
    // AQMs let the queue run empty, so few stretches are full: no candidate is as uneven as these.
    for aqm in ["algorithm = \"pie\"", "algorithm = \"codel\""] {
        let observed = of(aqm).unwrap();
        let answer = answer(&observed, &Discipline::ALL);
        assert!(answer.likely().is_empty(), "{aqm} {observed:?} {answer:?}");
    }
    // A full buffer shows the rate all the time, whose five values are two levels to the measurement.
    let full = of("algorithm = \"drop-tail\"");
    assert!(matches!(full, Err(Unfit::Changing { .. })), "{full:?}");
}

#[test]
fn a_rate_that_changes_in_the_middle_is_said() {
    let more = "changes = { list = [{ at = \"0 s\", rate = \"20 Mbit/s\" }, { at = \"8 s\", rate = \"14 Mbit/s\" }] }\n";
    for aqm in ["algorithm = \"pie\"", "algorithm = \"drop-tail\""] {
        let found = simulate_at_sender(&scenario("60 packets", aqm, more), 77).unwrap();
        let of = Observed::of(&found, 60.0, None, None);
        let Err(Unfit::Changing { from, to }) = of else { panic!("{aqm}: {of:?}") };
        let (from, to): (f64, f64) = (from.parse().unwrap(), to.parse().unwrap());
        assert!((from / 20.0 - 1.0).abs() < 0.03 && (to / 14.0 - 1.0).abs() < 0.03, "{aqm}: {from} to {to}");
        // The part with one rate is fit.
        Observed::of(&found, 7.5, None, None).unwrap();
    }
    // Where packets do not wait throughout, no queue explains how little of the highest rate is used.
    let (_, answer) = answered(
        &scenario("1000 packets", "algorithm = \"fq-codel\"", more),
        &[Discipline::FqCodel, Discipline::Pie],
    );
    assert!(answer.likely().is_empty(), "{answer:?}");
}

#[test]
fn one_statistic_far_off_is_a_contradiction() {
    let row = |off| Found {
        discipline: Discipline::Pie,
        probability: 1.0,
        log_evidence: 0.0,
        parameter: Interval { value: 0.015, within: [0.01, 0.02], is_open: false },
        fit: 0.6,
        farthest: vec![("unevenness of the rate", off)],
    };
    for (off, likely) in [(3.9, 1), (4.1, 0), (-4.1, 0)] {
        assert_eq!(Answer { found: vec![row(off)], runs: 1 }.likely().len(), likely, "{off}");
    }
}

#[test]
fn queues_of_one_flow_are_not_told_apart() {
    let text = scenario("1000 packets", "algorithm = \"codel\"", "");
    let (one, _) = text.split_once("\n[[flows]]\nname = \"f3\"").unwrap();
    let (_, answer) = answered(one, &[Discipline::Codel, Discipline::FqCodel]);
    assert_eq!(answer.likely().len(), 2, "{answer:?}");
}

#[test]
fn what_a_capture_lacks_is_said() {
    let text = scenario("60 packets", "algorithm = \"drop-tail\"", "");
    let of = |text: &str| Observed::of(&simulate_at_sender(text, 77).unwrap(), 60.0, None, None);
    let short = text.replace("14 s", "4 s");
    assert!(matches!(of(&short), Err(Unfit::Short { .. })));
    let found = simulate_at_sender(&text, 77).unwrap();
    assert!(matches!(Observed::of(&found, 0.0, None, None), Err(Unfit::Short { .. })));
    // The data alone.
    let file = simulate(&text, 77).unwrap();
    let one_way = quell_capture::transfers(file.as_slice(), &["bottleneck enqueue".to_string()]).unwrap();
    assert_eq!(Observed::of(&one_way, 60.0, None, None), Err(Unfit::OneWay));
    let none = quell_capture::Transfers::default();
    assert_eq!(Observed::of(&none, 60.0, None, None), Err(Unfit::NoTcp { packets: 0, tcp: 0 }));
    // The same flow a hundred times, and flows of a few packets.
    let one = simulate_at_sender(&text, 77).unwrap();
    let many = quell_capture::Transfers { transfers: vec![one.transfers[0].clone(); 100], ..one.clone() };
    assert_eq!(Observed::of(&many, 60.0, None, None), Err(Unfit::Small { transfers: 100, bulk: 0 }),);
    let mut small = one;
    small.transfers.iter_mut().for_each(|flow| flow.packets.0 = 10);
    assert_eq!(Observed::of(&small, 60.0, None, None), Err(Unfit::Small { transfers: 2, bulk: 0 }));
    // A receiver next to its sender answers each packet after 30 us.
    let mut near = simulate_at_sender(&text, 77).unwrap();
    for flow in &mut near.transfers {
        flow.handshake = flow.handshake.map(|(at, _)| (at, 30_000));
        flow.trips.iter_mut().for_each(|trip| trip.trip = 30_000);
    }
    assert_eq!(Observed::of(&near, 60.0, None, None), Err(Unfit::AtReceiver));
    // A window that never fills the link.
    let idle = text.replace("ecn = false", "ecn = false, max_window = 2");
    assert!(matches!(of(&idle), Err(Unfit::Idle { .. })), "{:?}", of(&idle));
}
