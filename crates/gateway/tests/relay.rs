//! The loop with made-up packets and a made-up clock.

use std::io::{self, Write};

use crate::common::{Shared, allocations, line, named, packet, read, written};
use quell_aqm::catalog::{AqmConfig, CATALOG};
use quell_aqm::{Hosts, Rng, Seed};
use quell_gateway::header::Header;
use quell_gateway::{
    Change, Course, Delays, Entry, Event, LineConfig, LogHeader, LogReader, PAUSE, Pace, Packet, Ports,
    RECORD, Recorder, Relay, Resumed, Sleep, replay,
};
use quell_queue::{Carry, LinkState, Qdisc as _};
use quell_units::{BitRate, Duration, Time};

/// Ports that give bursts of packets and keep count of what comes back.
struct Fake {
    rng: Rng,
    next: u32,
    paths: u8,
    most: u64,
    forwarded: u64,
    discarded: u64,
    last_forwarded: Option<u32>,
    overtaken: u64,
}

impl Fake {
    fn new(seed: u64, most: u64) -> Self {
        let rng = Seed(seed).stream("fake");
        Fake { rng, next: 0, paths: 1, most, forwarded: 0, discarded: 0, last_forwarded: None, overtaken: 0 }
    }
}

impl Ports for Fake {
    fn receive(&mut self, most: usize, arrivals: &mut Vec<(u8, Packet)>) -> io::Result<()> {
        let burst = if self.most == 0 { 0 } else { self.rng.next_u64() % (self.most + 1) };
        for _ in 0..burst.min(most as u64) {
            let (path, mut packet) = packet(&mut self.rng, self.next, self.paths);
            let flow = packet.header.flow.0 as u16;
            packet.header.hosts = Hosts { source: flow % 4 + 1, destination: flow % 3 + 1 };
            arrivals.push((path, packet));
            self.next += 1;
        }
        Ok(())
    }
    fn forward(&mut self, _: u8, packet: &Packet) {
        self.forwarded += 1;
        self.overtaken += u64::from(self.last_forwarded.replace(packet.handle) > Some(packet.handle));
    }
    fn discard(&mut self, _: u8, _: &Packet) {
        self.discarded += 1;
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn config(aqm: AqmConfig, seed: u64) -> LineConfig {
    LineConfig { seed, ..line("up", aqm) }
}

fn recorder(config: &LineConfig) -> (Shared, Recorder) {
    let file = Shared::default();
    let header = LogHeader { version: "test".into(), started_unix_s: 0, lines: vec![config.clone()] };
    let recorder = Recorder::new(file.clone(), &header).unwrap();
    (file, recorder)
}

/// Runs turns at random times: most as the loop asks, some late, one after a long stop.
fn drive(relay: &mut Relay<Fake>, turns: usize, rng: &mut Rng, now: &mut Time) {
    for turn in 0..turns {
        let rest = relay.turn(|| *now).unwrap();
        let late = match rng.next_u64() % 20 {
            0 => rng.next_u64() % 20_000_000,
            _ => rng.next_u64() % 60_000,
        };
        let asked = match rest {
            Sleep::None => Duration::ZERO,
            Sleep::Input(d) => Duration::from_nanos(rng.next_u64() % d.nanos().clamp(1, 3_000_000)),
            Sleep::Tick(d) => d,
        };
        let stop = if turn == turns / 2 { Duration::from_secs(40) } else { Duration::ZERO };
        *now = *now + asked + Duration::from_nanos(late) + stop;
    }
}

#[test]
fn every_algorithm_replays_without_a_difference() {
    for entry in CATALOG {
        let config = config((entry.default)(), 7);
        let (file, recorder) = recorder(&config);
        let paths = vec![(Some(config.clone()), Delays::all(Duration::from_millis(3)))];
        let mut relay = Relay::new(Fake::new(3, 6), paths, Pace::default(), Some(recorder)).unwrap();
        let mut rng = Seed(11).stream(entry.name);
        let mut now = Time::ZERO;
        drive(&mut relay, 4000, &mut rng, &mut now);
        // A reload under load: another algorithm, another rate, then back.
        let other = LineConfig { rate: BitRate::from_bps(7_000_000), ..self::config(named("red"), 9) };
        relay.reconfigure(0, other, now).unwrap();
        drive(&mut relay, 2000, &mut rng, &mut now);
        relay.reconfigure(0, config.clone(), now).unwrap();
        drive(&mut relay, 2000, &mut rng, &mut now);
        assert_eq!(relay.pauses, 3, "{}", entry.name);
        let counters = relay.paths()[0].line().unwrap().counters();
        let (ports, _, log) = relay.close(now).unwrap();
        log.unwrap();
        // Only a discipline lets packets overtake each other.
        let one_queue = matches!(config.aqm.build(&config.link()).unwrap(), quell_aqm::Algorithm::Aqm(_));
        assert!(ports.overtaken == 0 || !one_queue, "{}", entry.name);
        assert_eq!(u64::from(ports.next), ports.forwarded + ports.discarded, "{}", entry.name);
        assert!(ports.discarded > 0 && ports.forwarded > 1000 && counters.arrived.packets > 10_000);
        let bytes = file.bytes();
        let mut log = LogReader::new(bytes.as_slice()).unwrap();
        let replayed = replay(&mut log, None).unwrap();
        let line = &replayed.lines[0];
        assert!(replayed.closed);
        assert_eq!(line.arrivals, u64::from(ports.next));
        assert!(line.compared > line.arrivals);
        assert_eq!((line.differ, &line.first), (0, &None), "{}", entry.name);
    }
}

/// A log of 80 turns with a reload, which has all kinds of records.
/// A reload in the very nanosecond in which a packet leaves comes after it, and so it is in the log.
#[test]
fn a_reload_while_a_packet_leaves_replays() {
    for (name, other) in [("drop-tail", "drop-tail"), ("pi", "pi"), ("codel", "red"), ("fq-codel", "pie")] {
        let config = config(named(name), 7);
        let (file, recorder) = recorder(&config);
        let paths = vec![(Some(config), Delays::all(Duration::ZERO))];
        let mut relay = Relay::new(Fake::new(3, 6), paths, Pace::default(), Some(recorder)).unwrap();
        let (mut now, mut reloads) = (Time::ZERO, 0);
        for turn in 0..2000 {
            relay.turn(|| now).unwrap();
            if turn % 20 == 10
                && let Some(leaves) = relay.paths()[0].line().unwrap().next_departure().filter(|at| *at > now)
            {
                relay.ports.most = 0;
                relay.turn(|| leaves).unwrap();
                relay.ports.most = 6;
                let rate = BitRate::from_bps([7_000_000, 12_000_000][reloads % 2]);
                let aqm = named([other, name][reloads % 2]);
                relay.reconfigure(0, LineConfig { rate, ..self::config(aqm, 9) }, leaves).unwrap();
                now = leaves;
                reloads += 1;
            }
            now += Duration::from_micros(1500);
        }
        assert!(reloads > 50, "{reloads}");
        relay.close(now).unwrap().2.unwrap();
        let bytes = file.bytes();
        // Nothing is at the same time as a reload before it.
        let mut log = LogReader::new(bytes.as_slice()).unwrap();
        let mut before = Time::ZERO;
        while let Some(entry) = log.next_entry().unwrap() {
            assert!(!matches!(entry.event, Event::Reconfigured(_)) || entry.time > before, "{name}");
            before = entry.time;
        }
        let replayed = replay(&mut LogReader::new(bytes.as_slice()).unwrap(), None).unwrap();
        assert_eq!((replayed.lines[0].differ, &replayed.lines[0].first), (0, &None), "{name}");
    }
}

fn short_log() -> Vec<u8> {
    let config = config(named("pi"), 7);
    let (file, recorder) = recorder(&config);
    let paths = vec![(Some(config.clone()), Delays::all(Duration::ZERO))];
    let mut relay = Relay::new(Fake::new(3, 6), paths, Pace::default(), Some(recorder)).unwrap();
    let (mut rng, mut now) = (Seed(1).stream("drive"), Time::ZERO);
    drive(&mut relay, 40, &mut rng, &mut now);
    relay.reconfigure(0, self::config(named("blue"), 3), now).unwrap();
    drive(&mut relay, 40, &mut rng, &mut now);
    let _ = relay.close(now).unwrap();
    file.bytes()
}

/// All of a log, or why it cannot be read.
fn whole(bytes: &[u8]) -> Result<usize, String> {
    let mut log = LogReader::new(bytes).map_err(|e| e.to_string())?;
    let mut entries = 0;
    while log.next_entry().map_err(|e| e.to_string())?.is_some() {
        entries += 1;
    }
    if log.closed() { Ok(entries) } else { Err("was cut".into()) }
}

#[test]
fn each_file_of_a_log_replays_by_itself() {
    for entry in CATALOG {
        let config = config((entry.default)(), 7);
        let files: [Shared; 4] = Default::default();
        let paths = vec![(Some(config.clone()), Delays::all(Duration::from_millis(3))); 2];
        let header = LogHeader { version: "test".into(), started_unix_s: 0, lines: vec![config.clone(); 2] };
        let recorder = Recorder::new(files[0].clone(), &header).unwrap();
        let mut fake = Fake::new(3, 6);
        fake.paths = 2;
        let mut relay = Relay::new(fake, paths, Pace::default(), Some(recorder)).unwrap();
        let (mut rng, mut now) = (Seed(11).stream(entry.name), Time::ZERO);
        let mut waited = 0;
        for file in &files[1..] {
            drive(&mut relay, 800, &mut rng, &mut now);
            // The third file begins more than a week after the gateway; without updates nothing is to be made up for.
            let quiet = if entry.name == "drop-tail" { 6 * 24 * 3600 } else { 0 };
            now += Duration::from_secs(quiet);
            relay.turn(|| now).unwrap();
            let before = relay.paths()[0].line().unwrap().counters();
            waited += relay.paths()[0].line().unwrap().queue().view().packets.get();
            relay.next_log(Box::new(file.clone()), now).unwrap();
            // Packets and counts go on.
            let after = relay.paths()[0].line().unwrap().counters();
            assert!(after.arrived == before.arrived && after.departed.packets >= before.departed.packets);
        }
        drive(&mut relay, 800, &mut rng, &mut now);
        let (ports, _, log) = relay.close(now).unwrap();
        log.unwrap();
        assert!(waited > 0 && u64::from(ports.next) == ports.forwarded + ports.discarded, "{}", entry.name);
        let mut arrivals = 0;
        for (n, file) in files.iter().enumerate() {
            let bytes = file.bytes();
            let mut log = LogReader::new(bytes.as_slice()).unwrap();
            let replayed = replay(&mut log, None).unwrap();
            assert!(replayed.closed);
            for line in &replayed.lines {
                assert_eq!((line.differ, &line.first), (0, &None), "{}, file {n}", entry.name);
                assert!(line.arrivals > 100 && line.compared > line.arrivals);
                arrivals += line.arrivals;
            }
            // With another algorithm as well.
            let with = |c: &LineConfig| LineConfig { aqm: named("drop-tail"), ..c.clone() };
            replay(&mut LogReader::new(bytes.as_slice()).unwrap(), Some(&with)).unwrap();
        }
        assert_eq!(arrivals, u64::from(ports.next), "{}", entry.name);
    }
}

#[test]
fn a_line_that_goes_on_begins_so_or_not_at_all() {
    let config = config(named("pi"), 7);
    let header = LogHeader { version: "test".into(), started_unix_s: 0, lines: vec![config; 2] };
    let link = LinkState { busy_until: Time::ZERO, carry: Carry::START, stopped: false };
    let resumed = |line, ns| Entry {
        line,
        time: Time::from_nanos(ns),
        event: Event::Resumed(Box::new(Resumed { link, waiting: Vec::new() })),
    };
    let other = |line, ns| Entry { line, time: Time::from_nanos(ns), event: Event::Lost { number: 0 } };
    let closed = Entry { line: 0, time: Time::from_nanos(u64::MAX >> 8), event: Event::Closed };
    let far = closed.time.nanos();
    let said =
        |entries: &[Entry]| whole(&written(&header, &[entries, std::slice::from_ref(&closed)].concat()));
    assert_eq!(said(&[resumed(0, far), resumed(1, far)]), Ok(3));
    for entries in [
        vec![resumed(0, far)],
        vec![resumed(1, far), resumed(0, far)],
        vec![resumed(0, far), other(1, far)],
        vec![resumed(0, far), resumed(0, far)],
        vec![other(0, 0), resumed(0, far), resumed(1, far)],
    ] {
        let why = said(&entries).unwrap_err();
        assert!(why.contains("not all lines go on from another log"), "{why}");
    }
    let why = said(&[resumed(0, 0), resumed(1, far)]).unwrap_err();
    assert!(why.contains("more than a week"), "{why}");
}

#[test]
fn no_byte_of_a_log_changes_unnoticed() {
    let bytes = short_log();
    let entries = whole(&bytes).unwrap();
    assert!(entries > 300 && bytes.len() > 2 * 4096, "{entries} {}", bytes.len());
    let mut rng = Seed(3).stream("damage");
    for at in 0..bytes.len() {
        // A bit, and any other byte.
        for change in [1 << (rng.next_u64() % 8), 1 + (rng.next_u64() % 255) as u8] {
            let mut damaged = bytes.clone();
            damaged[at] ^= change;
            let said = whole(&damaged).expect_err(&format!("byte {at} changed by {change} is not noticed"));
            let named =
                ["damaged", "is not a log", "is a log of version"].iter().any(|why| said.contains(why));
            assert!(named, "byte {at}: {said}");
        }
        // One less, one more, and one that stands where its neighbor was.
        let (before, after) = bytes.split_at(at);
        for other in [[before, &after[1..]].concat(), [before, b"x", after].concat()] {
            whole(&other).expect_err(&format!("byte {at} removed or added is not noticed"));
        }
        let mut swapped = bytes.clone();
        if at > 0 && swapped[at - 1] != swapped[at] {
            swapped.swap(at - 1, at);
            whole(&swapped).expect_err(&format!("byte {at} swapped is not noticed"));
        }
    }
    // Nor does a whole frame, here the first one of records.
    let (_, _, begin) = read(&bytes);
    let length = u32::from_le_bytes(bytes[begin..begin + 4].try_into().unwrap()) as usize;
    let without = [&bytes[..begin], &bytes[begin + length + 12..]].concat();
    let said = whole(&without).unwrap_err();
    assert!(said.starts_with(&format!("is damaged: bytes {begin} to {} are not those", begin + 8)), "{said}");
}

#[test]
fn a_log_without_checksums_is_refused_with_what_helps() {
    for version in [1, 2] {
        let old = format!("quell gateway log {version}\n{{\"version\":\"0.1.0\"}}\n");
        let said = whole(old.as_bytes()).unwrap_err();
        assert!(
            said.starts_with(&format!("is a log of version {version}, which has no checksums")),
            "{said}"
        );
    }
    let said = whole(b"quell gateway log 5\n{}\n").unwrap_err();
    assert!(said.starts_with("is a log of version 5, and this reads versions 3 and 4: replay it"), "{said}");
    let said = whole(b"quell gateway log x\n{}\n").unwrap_err();
    assert!(said.contains("it must begin with \"quell gateway log 3\""), "{said}");
}

#[test]
fn a_replay_finds_what_is_not_so() {
    let config = config(named("red"), 7);
    let (file, recorder) = recorder(&config);
    let paths = vec![(Some(config.clone()), Delays::all(Duration::ZERO))];
    let mut relay = Relay::new(Fake::new(3, 6), paths, Pace::default(), Some(recorder)).unwrap();
    let (mut rng, mut now) = (Seed(1).stream("drive"), Time::ZERO);
    drive(&mut relay, 500, &mut rng, &mut now);
    let _ = relay.close(now).unwrap();
    let bytes = file.bytes();
    // Another seed decides otherwise.
    let (mut header, entries, _) = read(&bytes);
    header.lines[0].seed = 8;
    let other = written(&header, &entries);
    let found = replay(&mut LogReader::new(other.as_slice()).unwrap(), None).unwrap();
    assert!(found.lines[0].differ > 0 && found.lines[0].first.is_some());
    // Another algorithm is asked, and nothing compared.
    let with = |c: &LineConfig| LineConfig { aqm: named("drop-tail"), ..c.clone() };
    let found = replay(&mut LogReader::new(bytes.as_slice()).unwrap(), Some(&with)).unwrap();
    assert_eq!((found.lines[0].compared, found.lines[0].differ), (0, 0));
    assert!(found.lines[0].counters.arrived.packets > 0);
}

/// A departure that only one of the two tells is a difference, once the log is closed.
#[test]
fn a_replay_finds_what_only_one_of_the_two_tells() {
    let config = config(named("red"), 7);
    let (file, logged) = recorder(&config);
    let paths = vec![(Some(config.clone()), Delays::all(Duration::ZERO))];
    let mut relay = Relay::new(Fake::new(3, 6), paths, Pace::default(), Some(logged)).unwrap();
    let (mut rng, mut now) = (Seed(1).stream("drive"), Time::ZERO);
    drive(&mut relay, 500, &mut rng, &mut now);
    let _ = relay.close(now).unwrap();
    let bytes = file.bytes();
    let mut log = LogReader::new(bytes.as_slice()).unwrap();
    let entries: Vec<_> = std::iter::from_fn(|| log.next_entry().unwrap()).collect();
    let (at, number) = entries
        .iter()
        .enumerate()
        .rev()
        .find_map(|(at, entry)| match entry.event {
            Event::Sent { number, .. } => Some((at, number)),
            _ => None,
        })
        .unwrap();
    let closed = entries.iter().position(|entry| entry.event == Event::Closed).unwrap();
    // Without the last departure, and with it twice.
    for (times, only) in [(0, "only in the replay"), (2, "only in the log")] {
        let again = vec![&entries[at]; times];
        let (file, mut log) = recorder(&config);
        entries[..at].iter().chain(again).chain(&entries[at + 1..closed]).for_each(|e| log.add(e));
        log.close(entries[closed].time).unwrap();
        let found = replay(&mut LogReader::new(file.bytes().as_slice()).unwrap(), None).unwrap();
        let line = &found.lines[0];
        let first = line.first.as_ref().unwrap();
        assert!(found.closed);
        assert_eq!((line.differ, first.number), (1, number), "{first}");
        assert!(first.logged.contains(only), "{first}");
    }
}

#[test]
fn a_log_that_is_cut_anywhere_is_read_up_to_there() {
    let bytes = short_log();
    let (_, all, begin) = read(&bytes);
    let mut entries = 0;
    for cut in 0..=bytes.len() {
        let read = LogReader::new(&bytes[..cut]);
        assert_eq!(read.is_ok(), cut >= begin, "{cut}");
        let Ok(mut log) = read else { continue };
        let mut n = 0;
        while log.next_entry().unwrap().is_some() {
            n += 1;
        }
        // No more is lost than what is in the last frame.
        assert!(
            n >= entries && n * RECORD <= cut - begin && (n + 1) * RECORD + 4096 + 2048 >= cut - begin,
            "{n} {cut}"
        );
        entries = n;
        assert_eq!(log.closed(), cut == bytes.len());
        let found = replay(&mut LogReader::new(&bytes[..cut]).unwrap(), None).unwrap();
        assert_eq!(found.lines[0].differ, 0, "{cut}: {:?}", found.lines[0].first);
    }
    assert_eq!(entries, all.len());
}

#[test]
fn a_log_on_a_full_disk_ends_and_packets_go_on() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            if self.0 < bytes.len() {
                return Err(io::Error::from(io::ErrorKind::StorageFull));
            }
            self.0 -= bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let config = config(named("red"), 7);
    let header = LogHeader { version: "test".into(), started_unix_s: 0, lines: vec![config.clone()] };
    let recorder = Recorder::new(Full(10_000), &header).unwrap();
    let paths = vec![(Some(config), Delays::all(Duration::ZERO))];
    let mut relay = Relay::new(Fake::new(3, 6), paths, Pace::default(), Some(recorder)).unwrap();
    let (mut rng, mut now) = (Seed(1).stream("drive"), Time::ZERO);
    for _ in 0..200 {
        drive(&mut relay, 100, &mut rng, &mut now);
        if relay.recorder().unwrap().ended().is_some() {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
    assert!(relay.recorder().unwrap().ended().is_some());
    let before = relay.ports.forwarded;
    drive(&mut relay, 1000, &mut rng, &mut now);
    assert!(relay.ports.forwarded > before);
    assert!(relay.close(now).unwrap().2.is_err());
}

#[test]
fn nothing_allocates_once_it_runs() {
    for name in ["drop-tail", "red", "hred-fixed", "pi", "codel", "sred", "red+tail"] {
        let Some(entry) = CATALOG.iter().find(|e| e.name == name) else { panic!("{name}") };
        let config = config((entry.default)(), 7);
        let (_, recorder) = recorder(&config);
        let paths = vec![(Some(config), Delays::all(Duration::from_millis(3)))];
        let mut relay = Relay::new(Fake::new(3, 6), paths, Pace::default(), Some(recorder)).unwrap();
        let (mut rng, mut now) = (Seed(1).stream("drive"), Time::ZERO);
        let before = allocations();
        drive(&mut relay, 4000, &mut rng, &mut now);
        assert_eq!(allocations() - before, 0, "{name}");
    }
}

#[test]
fn a_bad_configuration_changes_nothing() {
    let good = config(named("red"), 7);
    let paths = vec![(Some(good.clone()), Delays::all(Duration::ZERO))];
    let mut relay = Relay::new(Fake::new(3, 0), paths, Pace::default(), None).unwrap();
    let bad = LineConfig { buffer: "0 packets".parse().unwrap(), ..good.clone() };
    let error = relay.reconfigure(0, bad, Time::from_nanos(5)).unwrap_err();
    assert_eq!(error.field, "up.buffer");
    assert_eq!(relay.paths()[0].config(), Some(&good));
}

/// A shadow with the algorithm that acts does as that one does. What a reload changes of the link is the same for both.
#[test]
fn a_shadow_of_the_same_algorithm_does_the_same() {
    let config = config(named("red"), 7);
    let paths = vec![(Some(config.clone()), Delays::all(Duration::ZERO))];
    let mut relay = Relay::new(Fake::new(3, 6), paths, Pace::default(), None).unwrap();
    relay.shadow(0, config.clone()).unwrap();
    let (mut rng, mut now) = (Seed(1).stream("drive"), Time::ZERO);
    for mbps in [10, 7, 13] {
        let config = LineConfig { rate: BitRate::from_bps(mbps * 1_000_000), ..config.clone() };
        relay.reconfigure(0, config.clone(), now).unwrap();
        drive(&mut relay, 500, &mut rng, &mut now);
        let path = &relay.paths()[0];
        let shadow = &path.shadows()[0];
        assert_eq!((path.config(), &shadow.config), (Some(&config), &config));
        assert_eq!(shadow.line().counters(), path.line().unwrap().counters(), "{mbps} Mbit/s");
        assert_eq!(shadow.meter.delay_sum_ns, path.meter.delay_sum_ns, "{mbps} Mbit/s");
    }
    assert!(relay.ports.discarded > 100, "{}", relay.ports.discarded);
}

/// Only more than [`PAUSE`] between two turns is a pause.
#[test]
fn a_turn_in_time_is_not_after_a_pause() {
    let paths = vec![(Some(config(named("drop-tail"), 1)), Delays::all(Duration::ZERO))];
    let mut relay = Relay::new(Burst(0, Vec::new()), paths, Pace::default(), None).unwrap();
    let mut now = Time::from_nanos(1);
    relay.turn(|| now).unwrap();
    for (more, pauses) in [(0, 0), (1, 1), (0, 1)] {
        now = now + PAUSE + Duration::from_nanos(more);
        relay.turn(|| now).unwrap();
        assert_eq!(relay.pauses, pauses, "{more} ns more");
    }
}

/// Where a turn has taken in as much as it may, more can be waiting.
#[test]
fn a_full_turn_is_followed_at_once() {
    let pace = Pace { batch: 8, ..Pace::default() };
    for (burst, at_once) in [(7, false), (8, true)] {
        let paths = vec![(Some(config(named("drop-tail"), 1)), Delays::all(Duration::ZERO))];
        let mut relay = Relay::new(Burst(burst, Vec::new()), paths, pace, None).unwrap();
        assert_eq!(relay.turn(|| Time::ZERO).unwrap() == Sleep::None, at_once, "{burst}");
    }
}

/// Ports that give so many packets of 1250 bytes at once, and keep the order in which they leave.
struct Burst(u32, Vec<u32>);

impl Ports for Burst {
    fn receive(&mut self, _: usize, arrivals: &mut Vec<(u8, Packet)>) -> io::Result<()> {
        for n in 0..core::mem::take(&mut self.0) {
            arrivals.push((0, Packet::new(n, 1250, Header::default())));
        }
        Ok(())
    }
    fn forward(&mut self, _: u8, packet: &Packet) {
        self.1.push(packet.handle);
    }
    fn discard(&mut self, _: u8, _: &Packet) {}
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A packet leaves at the end of its transmission plus its delay, and not before.
#[test]
fn departures_have_the_rate_and_the_delay() {
    let paths = vec![(Some(config(named("drop-tail"), 1)), Delays::all(Duration::from_millis(5)))];
    let mut relay = Relay::new(Burst(10, Vec::new()), paths, Pace::default(), None).unwrap();
    // 1250 B at 10 Mbit/s take 1 ms: the first leaves after 6 ms, the tenth after 15.
    for us in (0..20_000).step_by(10) {
        relay.turn(|| Time::from_nanos(us * 1000)).unwrap();
        let expected = (us / 1000).saturating_sub(5).min(10) as usize;
        assert_eq!(relay.ports.1.len(), expected, "{us} us");
    }
}

/// Changes happen at their own times, and losses leave room on the link.
#[test]
fn a_course_is_followed_however_seldom_the_relay_wakes() {
    let ms = |ms: f64| Time::from_nanos((ms * 1e6) as u64);
    let mbps = |n: u64| Change::Rate(BitRate::from_bps(n * 1_000_000));
    let course = || {
        let delay = Change::Delay(0, Duration::from_millis(9));
        Course::new(vec![(ms(3.5), mbps(5)), (ms(7.0), delay), (ms(13.0), mbps(0)), (ms(30.0), mbps(10))])
    };
    let paths = || vec![(Some(config(named("drop-tail"), 1)), Delays::all(Duration::from_millis(5)))];
    // Transmissions begin at 0, 1, 2 and 3 ms and take 1 ms, then at 4, 6, 8, 10 and 12 ms and take two, and the last
    // begins when the link is there again, at 30 ms. From 7 ms on packets are 9 ms on their way.
    let leave = [6.0, 7.0, 8.0, 9.0, 11.0, 13.0, 19.0, 21.0, 23.0, 40.0];
    for step_us in [10, 700, 1900, 4300] {
        let (log, recorder) = recorder(&config(named("drop-tail"), 1));
        let mut relay = Relay::new(Burst(10, Vec::new()), paths(), Pace::default(), Some(recorder)).unwrap();
        relay.follow(0, course());
        for us in (0..60_000).step_by(step_us) {
            relay.turn(|| Time::from_nanos(us * 1000)).unwrap();
            let expected = leave.iter().filter(|at| ms(**at) <= Time::from_nanos(us * 1000)).count();
            assert_eq!(relay.ports.1.len(), expected, "{us} us, every {step_us} us");
        }
        relay.close(Time::from_nanos(60_000_000)).unwrap().2.unwrap();
        let bytes = log.bytes();
        let found = replay(&mut LogReader::new(bytes.as_slice()).unwrap(), None).unwrap();
        assert_eq!((found.lines[0].differ, found.lines[0].lost, found.closed), (0, 0, true));
        assert_eq!(found.lines[0].config.rate, BitRate::from_bps(10_000_000));
    }
    // A link that stands still is woken by its next change; an arrival has taken a nanosecond.
    let mut relay = Relay::new(Burst(1, Vec::new()), paths(), Pace::default(), None).unwrap();
    relay.follow(0, Course::new(vec![(Time::ZERO, mbps(0)), (ms(4.0), mbps(10))]));
    assert_eq!(relay.turn(|| Time::ZERO).unwrap(), Sleep::Input(Duration::from_nanos(3_999_999)));
}

/// What a log costs the thread of packets, and the one that writes it; not a test of anything.
#[test]
#[ignore = "measures"]
fn what_recording_costs() {
    use rustix::time::{ClockId, clock_gettime};
    let at = |clock| {
        let time = clock_gettime(clock);
        time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
    };
    for round in 0..6 {
        let config = config(named("codel"), 7);
        let header = LogHeader { version: "test".into(), started_unix_s: 0, lines: vec![config.clone()] };
        let logged = round % 2 == 1;
        let recorder = logged.then(|| Recorder::new(io::sink(), &header).unwrap());
        let paths = vec![(Some(config), Delays::all(Duration::ZERO))];
        let mut relay = Relay::new(Fake::new(3, 6), paths, Pace::default(), recorder).unwrap();
        let mut now = Time::ZERO;
        let before = [at(ClockId::ThreadCPUTime), at(ClockId::ProcessCPUTime)];
        for turn in 0..200_000 {
            relay.turn(|| now).unwrap();
            now += Duration::from_millis(3);
            if turn % 4000 == 0 {
                // The other thread is not to fall behind.
                std::thread::sleep(core::time::Duration::from_millis(20));
            }
        }
        let after = [at(ClockId::ThreadCPUTime), at(ClockId::ProcessCPUTime)];
        assert!(relay.recorder().is_none_or(|recorder| recorder.ended().is_none()));
        let n = f64::from(relay.ports.next);
        let [packets, all] = [0, 1].map(|i| (after[i] - before[i]) / n);
        println!("log {logged}: {packets:.1} ns a packet, and {:.1} ns in other threads", all - packets);
    }
}
