//! The simulator's own engines decide what a gateway decided about real packets: a gateway's log goes through
//! both of them, decision by decision.
#![cfg(target_os = "linux")]

#[path = "../../../gateway/tests/common/mod.rs"]
mod common;

use std::io;

use self::common::{Shared, line, packet};
use crate::common::{Bench, Ran};
use quell_aqm::catalog::CATALOG;
use quell_aqm::{Ecn, Rng, Seed};
use quell_gateway::{
    Change, Course, Delays, Event, LineConfig, LogHeader, LogReader, Pace, Packet, Ports, Recorder, Relay,
    Sleep, replay,
};
use quell_sim::network::*;
use quell_sim::outcome::{DropPoint, Left};
use quell_sim::{Control, Engine, run};
use quell_units::{BitRate, Duration, Time};

/// Ports that give bursts of packets.
struct Bursts(Rng);

impl Ports for Bursts {
    fn receive(&mut self, _: usize, arrivals: &mut Vec<(u8, Packet)>) -> io::Result<()> {
        for _ in 0..self.0.next_u64() % 5 {
            arrivals.push(packet(&mut self.0, 0, 1));
        }
        Ok(())
    }
    fn forward(&mut self, _: u8, _: &Packet) {}
    fn discard(&mut self, _: u8, _: &Packet) {}
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The changes of a line's rate and its wire.
#[derive(Clone)]
struct Way {
    rate: Schedule<BitRate>,
    loss: f64,
}

impl Way {
    /// It never changes and loses nothing.
    fn constant(config: &LineConfig) -> Way {
        Way { rate: Schedule::constant(config.rate), loss: 0.0 }
    }

    /// The course that the gateway follows, up to a time that no run reaches.
    fn course(&self, seed: u64) -> Course {
        let mut changes = Vec::new();
        let mut at = self.rate.next_change(Time::ZERO);
        while at < Time::from_nanos(100_000_000_000) {
            changes.push((at, Change::Rate(self.rate.at(at))));
            at = self.rate.next_change(at);
        }
        Course::new(changes).losing(self.loss, Seed(seed).indexed_stream("link.loss", 0))
    }
}

/// A log of so many turns of a gateway that wakes late now and then.
fn log(config: &LineConfig, way: &Way, turns: usize) -> Vec<u8> {
    let file = Shared::default();
    let header = LogHeader { version: "test".into(), started_unix_s: 0, lines: vec![config.clone()] };
    let recorder = Recorder::new(file.clone(), &header).unwrap();
    let paths = vec![(Some(config.clone()), Delays::all(Duration::ZERO))];
    let ports = Bursts(Seed(5).stream("bursts"));
    let mut relay = Relay::new(ports, paths, Pace::default(), Some(recorder)).unwrap();
    relay.follow(0, way.course(config.seed));
    let mut rng = Seed(6).stream("wakes");
    let mut now = Time::ZERO;
    for _ in 0..turns {
        let rest = relay.turn(|| now).unwrap();
        let asked = match rest {
            Sleep::None => 0,
            Sleep::Input(d) | Sleep::Tick(d) => rng.next_u64() % d.nanos().clamp(1, 2_500_000),
        };
        let late = if rng.chance(0.05) { rng.next_u64() % 10_000_000 } else { rng.next_u64() % 50_000 };
        now += Duration::from_nanos(asked + late);
    }
    relay.close(now).unwrap().2.unwrap();
    file.bytes()
}

/// The fate of a packet that was stored: when it left and whether it was marked, or why it was dropped.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fate {
    Sent(Time, bool),
    Dropped(Time, quell_aqm::Cause, DropPoint),
}

/// The packets of a turn are two on average.
const TURNS: usize = 8000;

#[test]
fn both_engines_decide_as_the_gateway_did() {
    for entry in CATALOG {
        let config = line("up", (entry.default)());
        decided_alike(&config, &Way::constant(&config), TURNS);
    }
}

#[test]
fn a_log_from_standard_input_is_replayed() {
    let config = line("up", (CATALOG[0].default)());
    let bench = Bench::new();
    std::fs::write(bench.path("log"), log(&config, &Way::constant(&config), 100)).unwrap();
    let whole = bench.ok(&["gateway", "replay", "log"]);
    let from = |bytes: &str| {
        let mut command = bench.command(&["gateway", "replay", "-"]);
        command.stdin(std::fs::File::open(bench.path(bytes)).unwrap());
        Ran::from(command.output().unwrap())
    };
    let ran = from("log");
    assert_eq!((ran.code, ran.out), (0, whole), "{}", ran.err);
    let ran = from("small.toml");
    assert!(ran.code == 2 && ran.err.contains("error: standard input: is not a log of "), "{}", ran.err);
}

/// A line that is slower, stands still and is fast again, over and over, before a wire that loses packets: each change
/// happens at its own time, and the same packets are lost.
#[test]
fn both_engines_decide_as_the_gateway_did_where_rates_change_and_packets_are_lost() {
    for entry in CATALOG {
        let config = line("up", (entry.default)());
        // Between two nanoseconds of a batch's arrivals too, and at none that the gateway wakes at.
        let at = |us: u64, mbps: u64| (Time::from_nanos(us * 1000 + 3), BitRate::from_bps(mbps * 1_000_000));
        let list = vec![at(70_000, 4), at(140_000, 0), at(155_000, 25), at(280_000, 10)];
        let every = Changes::every(Duration::from_millis(333), list);
        let way = Way { rate: Schedule::changing(config.rate, every), loss: 0.02 };
        decided_alike(&config, &way, TURNS);
    }
}

/// A million packets of each algorithm, with marks and with drops, with `QUELL_LONG=1`.
#[test]
fn a_million_packets_of_every_algorithm_are_decided_alike() {
    if std::env::var_os("QUELL_LONG").is_none() {
        println!("skipped: QUELL_LONG=1 runs it");
        return;
    }
    let mut all = 0;
    for entry in CATALOG {
        for ecn in [true, false] {
            let config = LineConfig { ecn, ..line("up", (entry.default)()) };
            let arrivals = decided_alike(&config, &Way::constant(&config), 505_000);
            assert!(arrivals >= 1_000_000, "{}: {arrivals}", entry.name);
            all += arrivals;
            println!("{}, {}: {arrivals} packets", entry.name, if ecn { "marks" } else { "drops" });
        }
    }
    println!("{all} packets, 0 decided otherwise");
}

/// Asserts that a replay through the line and both engines decide as the gateway did; gives how many packets came.
fn decided_alike(config: &LineConfig, way: &Way, turns: usize) -> usize {
    let name = config.aqm.name();
    let bytes = log(config, way, turns);
    let replayed = replay(&mut LogReader::new(bytes.as_slice()).unwrap(), None).unwrap();
    let again = &replayed.lines[0];
    assert!(replayed.closed && again.compared > again.arrivals, "{name}");
    assert_eq!((again.differ, &again.first), (0, &None), "{name}");
    let mut reader = LogReader::new(bytes.as_slice()).unwrap();
    let (mut arrivals, mut admissions, mut fates) = (Vec::new(), Vec::new(), Vec::new());
    let (mut end, mut lost) = (Time::ZERO, Vec::new());
    while let Some(logged) = reader.next_entry().unwrap() {
        end = end.max(logged.time);
        match logged.event {
            Event::Arrived { packet, admission } => {
                let h = packet.header;
                arrivals.push(TraceArrival {
                    time: logged.time,
                    bytes: packet.bytes as u16,
                    flow: h.flow,
                    ecn: h.ecn,
                    transport: h.transport,
                    syn: h.syn,
                    dscp: h.dscp,
                });
                admissions.push(admission);
                fates.push(None);
            }
            Event::Sent { number, marked } => {
                fates[number as usize] = Some(Fate::Sent(logged.time, marked));
            }
            Event::Dropped { number, cause, place } => {
                fates[number as usize] = Some(Fate::Dropped(logged.time, cause, place));
            }
            Event::Lost { number } => lost.push(number),
            Event::Reconfigured(_) | Event::Rate(_) | Event::Resumed(_) | Event::Closed => {}
        }
    }
    assert_eq!(again.lost, lost.len() as u64, "{name}");
    assert_eq!(lost.is_empty(), way.loss == 0.0, "{name}");
    // A stream of the same name, drawn from when a transmission begins.
    let mut draws = Seed(config.seed).indexed_stream("link.loss", 0);
    let mut sent: Vec<(Time, u32)> = Vec::new();
    for (number, fate) in fates.iter().enumerate() {
        if let Some(Fate::Sent(start, _)) = fate {
            sent.push((*start, number as u32));
        }
    }
    sent.sort_unstable();
    let expected: Vec<u32> =
        sent.iter().filter(|_| way.loss > 0.0 && draws.chance(way.loss)).map(|(_, number)| *number).collect();
    assert_eq!(lost, expected, "{name}");
    assert!(reader.closed() && arrivals.len() > 10_000, "{name}: {}", arrivals.len());
    assert_eq!(again.arrivals, arrivals.len() as u64, "{name}");
    let trace = Trace::new(arrivals.clone()).unwrap();
    for engine in [Engine::Fast, Engine::Reference] {
        let link = LinkSpec {
            name: "bottleneck".into(),
            rate: way.rate.clone(),
            delay: Schedule::constant(Duration::from_millis(1)),
            queue: Some(Box::new(QueueSpec {
                buffer: config.buffer,
                algorithm: config.aqm.build(&config.link()).unwrap(),
                ecn: config.ecn,
            })),
            loss: way.loss,
            observe: true,
        };
        let flow = FlowSpec {
            class: 0,
            forward: vec![LinkId(0)],
            reverse: vec![],
            ack_class: 0,
            traffic: Traffic::Trace(trace.clone()),
            dscp: 0,
            hosts: Default::default(),
            start: Time::ZERO,
            stop: None,
            timed: false,
        };
        let network = Network {
            links: vec![link],
            flows: vec![flow],
            classes: vec!["trace".into()],
            measure: Measure {
                warmup: Time::ZERO,
                end: end + Duration::from_nanos(1),
                boundaries: vec![],
                step: None,
            },
            seed: Seed(config.seed),
        };
        let control = Control { logged: vec![LinkId(0)], ..Control::default() };
        let outcome = run(network, engine, &control).unwrap();
        let simulated = &outcome.links[0].log;
        assert_eq!(simulated.len(), arrivals.len(), "{name} {engine:?}");
        for (i, fate) in simulated.iter().enumerate() {
            let on_arrival = fate.admission == quell_sim::outcome::Admission::Marked;
            // What was marked before stays so, and is not marked here.
            let here = |at_head: bool| (on_arrival || at_head) && arrivals[i].ecn != Ecn::Ce;
            let left = fate.left.map(|left| match left {
                Left::Sent { start, marked } => Fate::Sent(start, here(marked)),
                Left::Dropped { time, cause, place } => Fate::Dropped(time, cause, place),
            });
            let what = format!("{name} {engine:?}, packet {i}");
            assert_eq!((fate.arrived, fate.admission), (arrivals[i].time, admissions[i]), "{what}");
            assert_eq!(left, fates[i], "{what}");
        }
    }
    arrivals.len()
}
