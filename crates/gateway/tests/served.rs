//! Lines with shapers and classes, with made-up packets and a made-up clock.

use std::io;

use crate::common::{Shared, line, named, packet, read};
use quell_aqm::{Rng, Seed};
use quell_gateway::{
    Change, ClassConfig, ClassesConfig, Course, Delays, Event, Lead, LeadRule, LimitsConfig, LineConfig,
    LogHeader, LogReader, Pace, Packet, Ports, Recorder, Relay, ShaperConfig, replay,
};
use quell_queue::{Packet as _, Qdisc as _};
use quell_units::{BitRate, Bytes, Duration, Time};

/// Ports that give so many packets each turn on average, one in ten of them with a tag.
struct Flood(Rng, u64);

impl Ports for Flood {
    fn receive(&mut self, _: usize, arrivals: &mut Vec<(u8, Packet)>) -> io::Result<()> {
        for _ in 0..self.0.next_u64() % (2 * self.1 + 1) {
            let (path, mut packet) = packet(&mut self.0, 0, 1);
            packet.tag = if self.0.chance(0.1) { 8 } else { 0 };
            arrivals.push((path, packet));
        }
        Ok(())
    }
    fn forward(&mut self, _: u8, _: &Packet) {}
    fn discard(&mut self, _: u8, _: &Packet) {}
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn mbps(mbps: u64) -> BitRate {
    BitRate::from_bps(mbps * 1_000_000)
}

fn shaper(rate: u64, burst: u64) -> ShaperConfig {
    ShaperConfig { rate: mbps(rate), burst: Bytes::new(burst), peak_rate: None, mtu: None, limit: None }
}

fn class(name: &str) -> ClassConfig {
    ClassConfig {
        name: name.into(),
        parent: None,
        limits: None,
        priority: None,
        quantum: None,
        buffer: None,
        aqm: None,
    }
}

/// Three leaves below one class: by a mark, by half of the DSCPs, and the rest.
fn htb() -> ClassesConfig {
    let burst = Bytes::new(3000);
    let limits = |rate, ceil| Some(LimitsConfig { rate: mbps(rate), ceil: mbps(ceil), burst, cburst: burst });
    let below =
        |name: &str, rate| ClassConfig { parent: Some("all".into()), limits: limits(rate, 8), ..class(name) };
    let rule = |dscp| LeadRule { class: "half".into(), dscp: Some(dscp), mark: None };
    let marked = LeadRule { class: "marked".into(), dscp: None, mark: Some(8) };
    ClassesConfig {
        classes: vec![
            ClassConfig { limits: limits(8, 8), ..class("all") },
            ClassConfig { priority: Some(0), aqm: Some(named("drop-tail")), ..below("marked", 1) },
            ClassConfig { priority: Some(1), ..below("half", 4) },
            ClassConfig {
                priority: Some(1),
                buffer: Some("30 packets".parse().unwrap()),
                ..below("rest", 2)
            },
        ],
        largest: Bytes::new(1500),
        lead: Lead::Rules { rules: (0..32).map(rule).chain([marked]).collect(), default: "rest".into() },
    }
}

fn leaf(packet: &Packet) -> usize {
    match (packet.tag, packet.dscp()) {
        (8, _) => 0,
        (_, 0..32) => 1,
        _ => 2,
    }
}

/// Runs so many turns, half a millisecond and up to as much again apart, and calls `at` after each.
fn ran(
    config: &LineConfig,
    course: Course,
    turns: u64,
    mut at: impl FnMut(&mut Relay<Flood>, u64, Time),
) -> Vec<u8> {
    let file = Shared::default();
    let header = LogHeader { version: "test".into(), started_unix_s: 0, lines: vec![config.clone()] };
    let recorder = Recorder::new(file.clone(), &header).unwrap();
    let paths = vec![(Some(config.clone()), Delays::all(Duration::ZERO))];
    let mut relay =
        Relay::new(Flood(Seed(5).stream("flood"), 1), paths, Pace::default(), Some(recorder)).unwrap();
    relay.follow(0, course);
    let (mut rng, mut now) = (Seed(6).stream("wakes"), Time::ZERO);
    for turn in 0..turns {
        relay.turn(|| now).unwrap();
        at(&mut relay, turn, now);
        now += Duration::from_nanos(500_000 + rng.next_u64() % 500_000);
    }
    relay.close(now).unwrap().2.unwrap();
    file.bytes()
}

fn replays(log: &[u8]) {
    let found = replay(&mut LogReader::new(log).unwrap(), None).unwrap();
    let one = &found.lines[0];
    assert!(found.closed && one.compared > one.arrivals);
    assert_eq!((one.differ, &one.first), (0, &None));
}

/// What was sent: when, how much, by which leaf, and whether packets waited in each leaf then.
fn sent(log: &[u8]) -> Vec<(Time, u64, usize, [bool; 3])> {
    let (_, entries, _) = read(log);
    let (mut packets, mut waiting, mut all) = (Vec::new(), [0i32; 3], Vec::new());
    for entry in entries {
        match entry.event {
            Event::Arrived { packet, admission } => {
                packets.push((u64::from(packet.bytes), leaf(&packet)));
                let kept = !matches!(admission, quell_queue::Admission::Dropped(_));
                waiting[leaf(&packet)] += i32::from(kept);
            }
            Event::Sent { number, .. } => {
                let (bytes, leaf) = packets[number as usize];
                all.push((entry.time, bytes, leaf, waiting.map(|n| n > 1)));
                waiting[leaf] -= 1;
            }
            Event::Dropped { number, .. } => waiting[packets[number as usize].1] -= 1,
            _ => {}
        }
    }
    all
}

/// In any time t at most the burst and what the rate gives, and a source that is always there gets all of it.
#[test]
fn a_shaper_sends_bursts_and_its_rate_and_replays() {
    for aqm in ["drop-tail", "codel", "pie", "fq-codel", "cake"] {
        let config = LineConfig {
            rate: mbps(100),
            buffer: "200 packets".parse().unwrap(),
            shaper: Some(shaper(6, 20_000)),
            ..line("up", named(aqm))
        };
        assert_eq!(config.capacity(), mbps(6));
        let log = ran(&config, Course::default(), 6000, |_, _, _| {});
        let sent = sent(&log);
        for first in (0..sent.len()).step_by(3) {
            let mut bytes = 0;
            for (at, size, ..) in &sent[first..(first + 400).min(sent.len())] {
                bytes += size;
                let t = at.since(sent[first].0).nanos();
                assert!(
                    bytes * 8_000_000_000 <= 20_000 * 8_000_000_000 + 6_000_000 * t,
                    "{aqm}: {bytes} in {t} ns"
                );
            }
        }
        // The bucket is full at the start, and all of it leaves beside the rate.
        let (mut bytes, mut most) = (0, 0.0f64);
        for (at, size, ..) in &sent {
            bytes += size;
            most = most.max(bytes as f64 - at.since(sent[0].0).as_secs_f64() * 6e6 / 8.0);
        }
        assert!((18_500.0..20_000.01).contains(&most), "{aqm}: {most}");
        let (first, last) = (sent[0].0, sent.last().unwrap().0);
        let rate =
            sent.iter().map(|(_, bytes, ..)| bytes * 8).sum::<u64>() as f64 / last.since(first).as_secs_f64();
        assert!((5.8e6..6.1e6).contains(&rate), "{aqm}: {rate}");
        replays(&log);
    }
}

/// While both wait, the two of a priority get their rates and halves of what is left; the first one is never behind.
#[test]
fn classes_get_their_rates_and_replay() {
    for (aqm, shaped) in [("drop-tail", false), ("red", true), ("codel", true), ("fq-codel", false)] {
        let shaper = shaped.then(|| shaper(9, 5_000));
        let config = LineConfig { rate: mbps(50), classes: Some(htb()), shaper, ..line("up", named(aqm)) };
        let built = config.build().unwrap();
        assert_eq!((built.queue().lane_count(), built.queue().lane_name(2)), (3, Some("rest")));
        let log = ran(&config, Course::default(), 8000, |relay, turn, _| {
            if turn == 7999 {
                let lanes = relay.paths()[0].lanes();
                assert!(lanes.len() == 3 && lanes.iter().all(|lane| lane.sent.packets > 100));
            }
        });
        let sent = sent(&log);
        let both = sent.iter().filter(|(_, _, _, waits)| waits[1] && waits[2]);
        let mut bytes = [0u64; 3];
        both.for_each(|(_, size, leaf, _)| bytes[*leaf] += size);
        let share = bytes[1] as f64 / (bytes[1] + bytes[2]) as f64;
        // 4 and 2 of 8 Mbit/s are theirs; at least 1 is lent, to equal turns, and at most what is marked leaves of 2.
        assert!(bytes[1] > 200_000 && (0.58..0.68).contains(&share), "{aqm}: {share} {bytes:?}");
        replays(&log);
    }
}

/// A reload to classes, another rate of the link, and a log that goes on in another file.
#[test]
fn classes_come_and_go_while_it_runs_and_replay() {
    let plain = LineConfig { rate: mbps(8), ..line("up", named("pie")) };
    let classed = LineConfig { classes: Some(htb()), shaper: Some(shaper(7, 9_000)), ..plain.clone() };
    let slower = Change::Rate(mbps(3));
    let course = Course::new(vec![(Time::from_nanos(2_500_000_000), slower)]);
    let next = Shared::default();
    let log = ran(&plain, course, 8000, |relay, turn, now| match turn {
        1500 | 4500 => relay.reconfigure(0, classed.clone(), now).unwrap(),
        3000 => relay.reconfigure(0, plain.clone(), now).unwrap(),
        6000 => relay.next_log(Box::new(next.clone()), now).unwrap(),
        _ => {}
    });
    for log in [log, next.bytes()] {
        replays(&log);
    }
    assert!(next.bytes().starts_with(b"quell gateway log 4\n"));
}

/// Each names the field, the value and the rule.
#[test]
fn what_cannot_be_served_is_refused() {
    let with = |change: &dyn Fn(&mut LineConfig)| {
        let mut config = LineConfig {
            classes: Some(htb()),
            shaper: Some(shaper(6, 20_000)),
            ..line("up", named("codel"))
        };
        change(&mut config);
        config.build().err().map(|e| e.to_string()).unwrap_or_default()
    };
    assert_eq!(with(&|_| ()), "");
    fn classes(config: &mut LineConfig) -> &mut ClassesConfig {
        config.classes.as_mut().unwrap()
    }
    type Case<'a> = (&'a dyn Fn(&mut LineConfig), &'a str);
    let cases: [Case<'_>; 6] = [
        (
            &|c| c.shaper.as_mut().unwrap().burst = Bytes::new(100),
            "up.shaper.burst: 100 B: must hold the largest",
        ),
        (
            &|c| classes(c).classes[1].parent = Some("one".into()),
            "up.classes.marked.parent: one: must be a class",
        ),
        (
            &|c| classes(c).classes[2].quantum = Some(Bytes::new(9)),
            "up.classes.half.quantum: 9 B: must be at least",
        ),
        (
            &|c| classes(c).classes[3].buffer = Some("0 packets".parse().unwrap()),
            "up.classes.rest.buffer: 0 packets",
        ),
        (
            &|c| classes(c).lead = Lead::Rules { rules: vec![], default: "rest".into() },
            "up.classes.marked.match: none: a class without packets is empty",
        ),
        (
            &|c| classes(c).lead = Lead::Flows { first: 0, rows: vec![vec![(64, 3)]], of_flow: vec![] },
            "up.classes.lead: flows: its lists must lead each flow to a leaf",
        ),
    ];
    for (change, expected) in cases {
        let said = with(change);
        assert!(said.starts_with(expected), "{said}");
    }
}
