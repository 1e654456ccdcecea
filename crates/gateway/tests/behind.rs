//! Wires that lose, delay and copy packets, with made-up packets and a made-up clock.

use std::io;

use crate::common::{Shared, line, named, packet, read, written};
use quell_aqm::{Rng, Seed};
use quell_gateway::{
    BehindConfig, Change, Course, Delays, DeviationConfig, Event, JitterConfig, LineConfig, LogHeader,
    LogReader, LossConfig, Pace, Packet, Ports, Recorder, Relay, Replay, replay,
};
use quell_units::{Duration, Time};

const DELAY: Duration = Duration::from_millis(20);
/// The delay of packets that is not the wire's own.
const BEYOND: Duration = Duration::from_millis(7);

/// Ports that give packets now and then, and note when which of them goes on.
struct Noting {
    rng: Rng,
    now: Time,
    forwarded: Vec<(u32, Time)>,
    copies: Vec<u32>,
    discarded: u32,
}

impl Ports for Noting {
    fn receive(&mut self, _: usize, arrivals: &mut Vec<(u8, Packet)>) -> io::Result<()> {
        for _ in 0..self.rng.next_u64() % 4 {
            arrivals.push(packet(&mut self.rng, 0, 1));
        }
        Ok(())
    }
    fn forward(&mut self, _: u8, packet: &Packet) {
        self.forwarded.push((packet.number, self.now));
    }
    fn copy(&mut self, _: u8, packet: &Packet) {
        self.copies.push(packet.number);
    }
    fn discard(&mut self, _: u8, _: &Packet) {
        self.discarded += 1;
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn wire(loss: LossConfig) -> BehindConfig {
    BehindConfig { link: 3, delay: DELAY, loss, jitter: None, duplicate: 0.0 }
}

fn jitter(distribution: DeviationConfig, reorder: bool) -> JitterConfig {
    JitterConfig { size: Duration::from_millis(4), distribution, correlation: 0.3, reorder }
}

fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

/// What a relay with this wire did in so many turns, each half a millisecond after the one before, and its log.
fn ran(behind: BehindConfig, course: Course, turns: u64) -> (Noting, quell_gateway::Meter, Vec<u8>) {
    let config = LineConfig { behind: Some(behind), ..line("up", named("codel")) };
    let file = Shared::default();
    let header = LogHeader { version: "test".into(), started_unix_s: 0, lines: vec![config.clone()] };
    let recorder = Recorder::new(file.clone(), &header).unwrap();
    let rng = Seed(4).stream("noting");
    let ports = Noting { rng, now: Time::ZERO, forwarded: Vec::new(), copies: Vec::new(), discarded: 0 };
    let paths = vec![(Some(config), Delays::all(DELAY + BEYOND))];
    let mut relay = Relay::new(ports, paths, Pace::default(), Some(recorder)).unwrap();
    relay.follow(0, course);
    for turn in 0..turns {
        let now = Time::from_nanos(turn * 500_000);
        relay.ports.now = now;
        relay.turn(|| now).unwrap();
    }
    // What is on its way is let go at once: nobody knows when.
    let (ports, paths, log) = relay.close(Time::from_nanos(turns * 500_000)).unwrap();
    log.unwrap();
    (ports, paths[0].meter.clone(), file.bytes())
}

fn again(log: &[u8]) -> Replay {
    replay(&mut LogReader::new(log).unwrap(), None).unwrap()
}

/// The runs of losses, in the order of transmission.
fn bursts(log: &[u8]) -> (usize, Vec<usize>) {
    let (_, entries, _) = read(log);
    let mut fates = Vec::new();
    for entry in entries {
        match entry.event {
            Event::Sent { .. } => fates.push(false),
            Event::Lost { .. } => *fates.last_mut().unwrap() = true,
            _ => {}
        }
    }
    let runs = fates.chunk_by(|a, b| a == b).filter(|run| run[0]).map(<[bool]>::len).collect();
    (fates.len(), runs)
}

/// A share of p / (p + r) is lost, 1 / r in a row, within four standard errors; and what was sent is lost or arrives.
#[test]
fn losses_come_in_bursts_and_replay() {
    let (p, r) = (0.02, 0.25);
    let chain = LossConfig::GilbertElliott { p, r, good_loss: 0.0, bad_loss: 1.0 };
    let (ports, meter, log) = ran(wire(chain), Course::default(), 40_000);
    let (sent, runs) = bursts(&log);
    assert!(sent > 20_000, "{sent}");
    let lost: usize = runs.iter().sum();
    let (bad, l) = (p / (p + r), 1.0 - p - r);
    let error = (bad * (1.0 - bad) * (1.0 + l) / (1.0 - l) / sent as f64).sqrt();
    assert!((lost as f64 / sent as f64 - bad).abs() < 4.0 * error, "{lost} of {sent}");
    let mean = lost as f64 / runs.len() as f64;
    let error = ((1.0 - r) / (r * r) / runs.len() as f64).sqrt();
    assert!((mean - 1.0 / r).abs() < 4.0 * error, "{mean}");
    assert_eq!((meter.sent.packets, meter.lost), (sent as u64, lost as u64));
    assert!(ports.forwarded.len() + lost >= sent);
    let found = again(&log);
    let one = &found.lines[0];
    assert_eq!((one.differ, one.lost, one.meter.lost, found.closed), (0, lost as u64, lost as u64, true));
    // All verdicts, departures and losses are compared.
    assert!(one.compared >= one.arrivals + (sent + lost) as u64, "{}", one.compared);
}

/// Probabilities change at their own times, from none and to none again.
#[test]
fn losses_change_and_replay() {
    let course = Course::new(vec![(ms(2000), Change::Loss(0.5)), (ms(4000), Change::Loss(0.0))]);
    let (_, meter, log) = ran(wire(LossConfig::Random(0.0)), course, 12_000);
    let (_, entries, _) = read(&log);
    let times: Vec<Time> =
        entries.iter().filter(|e| matches!(e.event, Event::Lost { .. })).map(|e| e.time).collect();
    assert!(times.iter().all(|time| (ms(2000)..ms(4000)).contains(time)));
    let within = |e: &&quell_gateway::Entry| {
        matches!(e.event, Event::Sent { .. }) && (ms(2000)..ms(4000)).contains(&e.time)
    };
    let sent = entries.iter().filter(within).count() as f64;
    assert!(sent > 1000.0 && (times.len() as f64 / sent - 0.5).abs() < 4.0 * (0.25 / sent).sqrt());
    let found = again(&log);
    assert_eq!((found.lines[0].differ, found.lines[0].lost), (0, meter.lost));
}

/// Each packet leaves within half a millisecond, a turn, after the time that the log gives; in order, unless packets may
/// overtake each other; never before it was sent.
#[test]
fn jitter_is_what_the_log_says_and_replays() {
    for (distribution, reorder) in [
        (DeviationConfig::Uniform, false),
        (DeviationConfig::Uniform, true),
        (DeviationConfig::Normal, true),
        (DeviationConfig::Pareto, false),
        (DeviationConfig::ParetoNormal, true),
    ] {
        let wire =
            BehindConfig { jitter: Some(jitter(distribution, reorder)), ..wire(LossConfig::Random(0.01)) };
        // The wire's delay falls below the jitter, which then cannot be early; what packets take in all is the same.
        let course = Course::new(vec![(ms(5000), Change::Wire(Duration::from_millis(1)))]);
        let (ports, meter, log) = ran(wire, course, 20_000);
        let (header, entries, _) = read(&log);
        let rate = header.lines[0].rate;
        let (mut due, mut sizes) = (vec![None; ports.forwarded.len() * 2], Vec::new());
        let mut late = Vec::new();
        for entry in &entries {
            match entry.event {
                Event::Arrived { packet, .. } => sizes.push(quell_queue::Packet::bytes(&packet)),
                Event::Carried { number, late_ns, copied } => {
                    assert!(!copied);
                    let took = rate.transmission_time(sizes[number as usize]);
                    let usual = entry.time + took + DELAY + BEYOND;
                    due[number as usize] = Some(usual.nanos() as i64 + late_ns);
                    late.push(late_ns as f64 / 1e6);
                    let least = if entry.time < ms(5000) { -20_000_000 } else { -1_000_000 };
                    assert!(late_ns >= least, "{late_ns}");
                }
                _ => {}
            }
        }
        for (number, at) in &ports.forwarded {
            // All that was under way at the end goes at once.
            if *at == ports.now {
                continue;
            }
            let due = due[*number as usize].unwrap();
            // Transmission times are cut to nanoseconds, and the rest is carried on.
            let off = at.nanos() as i64 - due;
            assert!((-2..500_002).contains(&off), "{number}: {off}");
        }
        let whole = ports.forwarded.iter().filter(|(_, at)| *at < ports.now);
        let order: Vec<u32> = whole.map(|(number, _)| *number).collect();
        assert_eq!(order.is_sorted(), !reorder, "{distribution:?}");
        let mean = late.iter().sum::<f64>() / late.len() as f64;
        let spread = (late.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / late.len() as f64).sqrt();
        assert!(spread > 1.0 && spread < 4.0, "{distribution:?}: {spread}");
        let found = again(&log);
        let one = &found.lines[0];
        assert_eq!((one.differ, &one.first, one.lost), (0, &None, meter.lost));
        // A log that tells of another delay is not what this program would have written.
        let (header, mut entries, _) = read(&log);
        let first = entries.iter_mut().find_map(|entry| match &mut entry.event {
            Event::Carried { late_ns, .. } => Some(late_ns),
            _ => None,
        });
        *first.unwrap() += 1;
        assert_eq!(again(&written(&header, &entries)).lines[0].differ, 1);
    }
}

#[test]
fn copies_follow_and_replay() {
    let wire = BehindConfig { duplicate: 0.1, ..wire(LossConfig::Random(0.2)) };
    let (ports, meter, log) = ran(wire, Course::default(), 20_000);
    let sent = meter.sent.packets as f64;
    // Of what is not lost.
    let share = meter.copied as f64 / sent;
    assert!((share - 0.08).abs() < 4.0 * (0.08 * 0.92 / sent).sqrt(), "{share}");
    assert!(meter.copied > 500 && ports.copies.len() as u64 == meter.copied);
    let found = again(&log);
    assert_eq!((found.lines[0].differ, found.lines[0].meter.copied), (0, meter.copied));
}

/// Logs of version 3 have losses and not the wire: these are counted, and the rest is compared.
#[test]
fn losses_of_an_older_log_are_counted() {
    let (_, meter, log) = ran(wire(LossConfig::Random(0.1)), Course::default(), 2000);
    let (mut header, entries, _) = read(&log);
    header.lines[0].behind = None;
    let old = written(&header, &entries);
    assert!(old.starts_with(b"quell gateway log 3\n"));
    let found = again(&old);
    assert_eq!((found.lines[0].differ, found.lines[0].lost, meter.lost > 50), (0, meter.lost, true));
    assert!(found.lines[0].compared > found.lines[0].arrivals);
}

/// A log that somebody has made up does no harm.
#[test]
fn wires_that_there_cannot_be_are_refused() {
    let chain = |r| LossConfig::GilbertElliott { p: 0.1, r, good_loss: 0.0, bad_loss: 1.0 };
    for (behind, expected) in [
        (
            BehindConfig { duplicate: 1.5, ..wire(chain(0.5)) },
            "up.behind.impairments: the probability of copies 1.5",
        ),
        (wire(chain(0.0)), "up.behind.impairments: r of its losses must be a probability above 0"),
        (wire(LossConfig::Random(-1.0)), "up.behind.impairments: loss -1 must lie in [0, 1)"),
        (
            BehindConfig { delay: Duration::from_secs(4000), ..wire(chain(0.5)) },
            "up.behind.delay: 4000 s must be at most 3600 s",
        ),
    ] {
        let config = LineConfig { behind: Some(behind), ..line("up", named("codel")) };
        let said = config.build().err().unwrap().to_string();
        assert!(said.starts_with(expected), "{said}");
    }
}

/// Programs before this one read what they can read, and say of the rest that it is of another version.
#[test]
fn only_logs_that_need_it_are_of_the_new_version() {
    let (_, _, log) = ran(wire(LossConfig::Random(0.1)), Course::default(), 10);
    assert!(log.starts_with(b"quell gateway log 4\n"));
    let file = Shared::default();
    let header =
        LogHeader { version: "test".into(), started_unix_s: 0, lines: vec![line("up", named("pi"))] };
    Recorder::new(file.clone(), &header).unwrap().close(Time::ZERO).unwrap();
    let text = String::from_utf8_lossy(&file.bytes()).into_owned();
    assert!(text.starts_with("quell gateway log 3\n") && !text.contains("behind"));
}
