//! The simulator's own engines decide what a gateway decided about real packets: a gateway's log goes through
//! both of them, decision by decision.
#![cfg(target_os = "linux")]

#[path = "../../../gateway/tests/common/mod.rs"]
mod common;

use std::io;

use self::common::{Shared, line, named, packet};
use crate::common::{Bench, Ran};
use quell_aqm::catalog::{AqmConfig, CATALOG};
use quell_aqm::{Ecn, Link, Rng, Seed};
use quell_gateway::{
    BehindConfig, Change, ClassesConfig, Course, Delays, Event, LineConfig, LogHeader, LogReader, Pace,
    Packet, Ports, Recorder, Relay, ShaperConfig, Sleep, replay,
};
use quell_queue::{Limit, Peak};
use quell_sim::network::*;
use quell_sim::outcome::{DropPoint, Left};
use quell_sim::{Control, Engine, run};
use quell_units::{BitRate, Bytes, Duration, QueueSize, Time};

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

/// A time that no run reaches.
const END: Time = Time::from_nanos(100_000_000_000);

/// The delay of the wire.
const DELAY: Duration = Duration::from_millis(1);

/// The changes of a line's rate and its wire.
#[derive(Clone)]
struct Way {
    rate: Schedule<BitRate>,
    impairments: Impairments,
    served: Served,
}

/// The shaper and the classes of a line.
#[derive(Clone, Default)]
struct Served {
    shaper: Option<Shaper>,
    /// The classes, and the leaf of packets by their DSCP.
    tree: Option<(Plan, [u8; 64])>,
}

impl Served {
    /// The algorithm of each leaf, which is that of the line for all but the first, and its buffer.
    fn leaf(config: &LineConfig, leaf: usize) -> (QueueSize, AqmConfig) {
        match leaf {
            0 => (config.buffer, named("drop-tail")),
            _ => ("40 packets".parse().unwrap(), config.aqm.clone()),
        }
    }

    /// The simulator's queues for a line.
    fn tree(&self, config: &LineConfig) -> Option<Box<TreeSpec>> {
        let (plan, row) = self.tree.as_ref()?;
        let of_leaf = |(leaf, name): (usize, &str)| {
            let class = plan.classes.iter().find(|class| class.name == name).unwrap();
            let rate = config.capacity();
            let rate = class.limits.map_or(rate, |limits| limits.ceil.min(rate));
            let (buffer, aqm) = Served::leaf(config, leaf);
            let algorithm = aqm.build(&Link { rate, buffer, mean_packet: config.mean_packet }).unwrap();
            QueueSpec { buffer, algorithm, ecn: config.ecn }
        };
        let leaves = plan.leaves().unwrap().into_iter().enumerate().map(of_leaf).collect();
        let classifier = Classifier { rows: [*row].into(), of_flow: [].into() };
        Some(Box::new(TreeSpec { plan: plan.clone(), leaves, classifier }))
    }
}

impl Way {
    /// It never changes and loses nothing.
    fn constant(config: &LineConfig) -> Way {
        let (impairments, served) = Default::default();
        Way { rate: Schedule::constant(config.rate), impairments, served }
    }

    /// The course that the gateway follows, up to a time that no run reaches.
    fn course(&self) -> Course {
        let mut changes = Vec::new();
        let mut at = self.rate.next_change(Time::ZERO);
        while at < END {
            changes.push((at, Change::Rate(self.rate.at(at))));
            at = self.rate.next_change(at);
        }
        if let Loss::Random(p) = &self.impairments.loss {
            let mut at = p.next_change(Time::ZERO);
            while at < END {
                changes.push((at, Change::Loss(p.at(at))));
                at = p.next_change(at);
            }
        }
        Course::new(changes)
    }

    /// The line with its wire, whose random streams are those of the simulator's first link.
    fn line(&self, config: &LineConfig) -> LineConfig {
        let wire = || BehindConfig::of(0, DELAY, &self.impairments);
        let Served { shaper, tree } = &self.served;
        let classes = tree.as_ref().map(|(plan, row)| {
            let classifier = Classifier { rows: [*row].into(), of_flow: [].into() };
            ClassesConfig::of(plan, &classifier, 0, |leaf| Served::leaf(config, leaf)).unwrap()
        });
        LineConfig {
            behind: (!self.impairments.is_none()).then(wire),
            shaper: shaper.as_ref().map(ShaperConfig::of),
            classes,
            ..config.clone()
        }
    }
}

/// A log of so many turns of a gateway that wakes late now and then.
fn log(config: &LineConfig, way: &Way, turns: usize) -> Vec<u8> {
    let file = Shared::default();
    let config = way.line(config);
    let header = LogHeader { version: "test".into(), started_unix_s: 0, lines: vec![config.clone()] };
    let recorder = Recorder::new(file.clone(), &header).unwrap();
    let paths = vec![(Some(config), Delays::all(Duration::ZERO))];
    let ports = Bursts(Seed(5).stream("bursts"));
    let mut relay = Relay::new(ports, paths, Pace::default(), Some(recorder)).unwrap();
    relay.follow(0, way.course());
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
        let rate = Schedule::changing(config.rate, every);
        let (impairments, served) = (Impairments::losing(0.02), Served::default());
        decided_alike(&config, &Way { rate, impairments, served }, TURNS);
    }
}

/// Wires of every kind: the simulator's links lose the packets that the gateway's lost.
#[test]
fn both_engines_lose_the_packets_that_the_gateway_lost() {
    let chain = GilbertElliott { p: 0.02, r: 0.3, good_loss: 0.001, bad_loss: 0.8 };
    let at = |ms: u64, p: f64| (Time::from_nanos(ms * 1_000_000 + 7), p);
    let fading = Changes::every(Duration::from_millis(300), vec![at(100, 0.2), at(200, 0.0)]);
    let jitter = |reorder| Jitter {
        size: Duration::from_micros(900),
        distribution: Deviation::Normal,
        correlation: 0.25,
        reorder,
    };
    let all = [
        Impairments { loss: Loss::GilbertElliott(chain), ..Impairments::default() },
        Impairments { loss: Loss::Random(Schedule::changing(0.0, fading)), ..Impairments::default() },
        Impairments {
            loss: Loss::GilbertElliott(chain),
            jitter: Some(jitter(false)),
            duplicate: 0.0,
            ..Default::default()
        },
        Impairments { loss: 0.03.into(), jitter: Some(jitter(true)), duplicate: 0.05, ..Default::default() },
    ];
    for (impairments, aqm) in all.into_iter().zip(["codel", "pie", "red", "fq-codel"]) {
        let config = line("up", (CATALOG.iter().find(|e| e.name == aqm).unwrap().default)());
        let way = Way { rate: Schedule::constant(config.rate), impairments, served: Served::default() };
        decided_alike(&config, &way, TURNS);
    }
}

/// Shapers and trees before links that are faster than they, and sometimes slower.
#[test]
fn both_engines_serve_classes_as_the_gateway_did() {
    let mbps = |mbps: u64| BitRate::from_bps(mbps * 1_000_000);
    let burst = Bytes::new(4000);
    let class = |name: &str| Class::new(name);
    let htb = Plan::new(vec![
        class("all").limited(mbps(8), mbps(8), burst),
        class("a").below("all").limited(mbps(1), mbps(8), burst).first_by(0),
        class("b").below("all").limited(mbps(5), mbps(8), burst).first_by(1),
        class("c").below("all").limited(mbps(2), mbps(3), burst).first_by(1),
    ]);
    let priority = Plan::new(vec![class("a").first_by(0), class("b").first_by(1), class("c").first_by(2)]);
    let drr = Plan::new(vec![class("a"), class("b").in_turns_of(Bytes::new(6000)), class("c")]);
    let row = std::array::from_fn(|dscp| (dscp % 8).saturating_sub(5) as u8);
    let tree = |plan: &Plan| Some((plan.clone(), row));
    let bucket = |rate: u64, burst: u64| Some(Shaper::plain(mbps(rate), Bytes::new(burst)));
    let peak = Shaper {
        peak: Some(Peak { rate: mbps(12), mtu: Bytes::new(3000) }),
        limit: Some(Limit::Packets(50)),
        ..Shaper::plain(mbps(7), Bytes::new(30_000))
    };
    let all = [
        Served { shaper: bucket(6, 20_000), tree: None },
        Served { shaper: Some(peak), tree: None },
        Served { shaper: None, tree: tree(&htb) },
        Served { shaper: bucket(7, 9_000), tree: tree(&priority) },
        Served { shaper: None, tree: tree(&drr) },
    ];
    let at = |us: u64, mbps: u64| (Time::from_nanos(us * 1000 + 3), BitRate::from_bps(mbps * 1_000_000));
    for (number, served) in all.into_iter().enumerate() {
        for aqm in ["codel", "red", "pie", "fq-codel"] {
            let config = LineConfig { rate: mbps(20), ..line("up", named(aqm)) };
            let list = vec![at(70_000, 4), at(140_000, 0), at(155_000, 30), at(280_000, 20)];
            let every = Changes::every(Duration::from_millis(333), list);
            // Every other one before a link that changes and loses packets.
            let (rate, loss) = match number % 2 {
                0 => (Schedule::constant(config.rate), 0.0),
                _ => (Schedule::changing(config.rate, every), 0.05),
            };
            let served = served.clone();
            decided_alike(&config, &Way { rate, impairments: Impairments::losing(loss), served }, TURNS);
        }
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
    let config = &way.line(config);
    let bytes = log(config, way, turns);
    let replayed = replay(&mut LogReader::new(bytes.as_slice()).unwrap(), None).unwrap();
    let again = &replayed.lines[0];
    assert!(replayed.closed && again.compared > again.arrivals, "{name}");
    assert_eq!((again.differ, &again.first), (0, &None), "{name}");
    let mut reader = LogReader::new(bytes.as_slice()).unwrap();
    let (mut arrivals, mut admissions, mut fates) = (Vec::new(), Vec::new(), Vec::new());
    let (mut end, mut lost, mut copied) = (Time::ZERO, Vec::new(), 0);
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
            Event::Carried { copied: twice, .. } => copied += u64::from(twice),
            Event::Reconfigured(_)
            | Event::Rate(_)
            | Event::Loss(_)
            | Event::Delay(_)
            | Event::Resumed(_)
            | Event::Closed => {}
        }
    }
    assert_eq!(again.lost, lost.len() as u64, "{name}");
    assert_eq!(lost.is_empty(), way.impairments.loss.is_none(), "{name}");
    if let Some(p) = way.impairments.loss.constant() {
        // A stream of the same name, drawn from when a transmission begins.
        let mut draws = Seed(config.seed).indexed_stream("link.loss", 0);
        let mut sent: Vec<(Time, u32)> = Vec::new();
        for (number, fate) in fates.iter().enumerate() {
            if let Some(Fate::Sent(start, _)) = fate {
                sent.push((*start, number as u32));
            }
        }
        sent.sort_unstable();
        let expected: Vec<u32> = sent.iter().filter(|_| draws.chance(p)).map(|(_, number)| *number).collect();
        assert_eq!(lost, expected, "{name}");
    }
    assert!(reader.closed() && arrivals.len() > 10_000, "{name}: {}", arrivals.len());
    assert_eq!(again.arrivals, arrivals.len() as u64, "{name}");
    let trace = Trace::new(arrivals.clone()).unwrap();
    for engine in [Engine::Fast, Engine::Reference] {
        let link = LinkSpec {
            name: "bottleneck".into(),
            rate: way.rate.clone(),
            delay: Schedule::constant(DELAY),
            queue: way.served.tree.is_none().then(|| {
                Box::new(QueueSpec {
                    buffer: config.buffer,
                    algorithm: config.aqm.build(&config.link()).unwrap(),
                    ecn: config.ecn,
                })
            }),
            tree: way.served.tree(config),
            shaper: way.served.shaper.map(Box::new),
            cell: None,
            wifi: None,
            impairments: way.impairments.clone(),
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
        let wire = &outcome.conservation;
        assert_eq!((wire.lost, wire.duplicated), (lost.len() as u64, copied), "{name} {engine:?}");
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
