//! Known answers: every file in `tests/vectors` is run, and every algorithm has one.
//!
//! A file holds two kinds of vectors.
//! - `[[equation]]`: the name of a pure function, its inputs and its results; `src/equations.rs` runs them.
//! - `[[case]]`: an algorithm with its parameters, and a sequence of events with what the algorithm
//!   must answer and report after each. `arrive`, `overflow` and `depart` give a packet's size, `waited` how
//!   long the one that departs, or at other events the one at the head, has been in the queue, `queue` the
//!   packets that wait (of mean size unless `queue_bytes` says otherwise; in every lane of a discipline),
//!   `update` asserts that one is due then. For a discipline, `lane` is the one that it must choose, for an
//!   arrival or for what `sends` next while `waiting` packets wait in each lane, the one of a packet that it
//!   `inherits` from another algorithm, or the one that is `idle`.
//!
//! Numbers are compared to a relative 1e-9 unless the vector states its `tolerance`; every vector
//! says where its equation is found and how its answer was obtained.

use std::collections::BTreeMap;

use quell_aqm::catalog::{AnyAqm, AnyDiscipline, AqmConfig, CATALOG};
use quell_aqm::{
    Algorithm, Aqm, Cause, Ctx, Departures, Discipline, Ecn, FlowId, Lanes, LanesCtx, Link, Next, PacketMeta,
    Probe, QueueView, Rng, Seed, Transport, Verdict,
};
use quell_units::{BitRate, Bytes, Duration, Packets, QueueSize, Time};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    algorithm: String,
    /// For the test of `src/equations.rs`.
    #[serde(default, rename = "equation")]
    _equation: Vec<toml::Table>,
    #[serde(default)]
    case: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Case {
    name: String,
    source: String,
    computed: String,
    #[serde(default)]
    link: LinkText,
    #[serde(default)]
    params: toml::Table,
    events: Vec<Event>,
    #[serde(default = "tight")]
    tolerance: f64,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct LinkText {
    rate: BitRate,
    buffer: QueueSize,
    mean_packet: Bytes,
}

impl Default for LinkText {
    fn default() -> Self {
        LinkText {
            rate: BitRate::from_bps(10_000_000),
            buffer: QueueSize::Packets(500.0),
            mean_packet: Bytes::new(500),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Event {
    at: Duration,
    arrive: Option<Bytes>,
    overflow: Option<Bytes>,
    depart: Option<Bytes>,
    #[serde(default)]
    idle: bool,
    #[serde(default)]
    update: bool,
    #[serde(default)]
    queue: u32,
    queue_bytes: Option<Bytes>,
    /// How long the packet that departs has waited; at other events, the one at the head.
    #[serde(default)]
    waited: Duration,
    /// Whose packet it is, and of what precedence.
    #[serde(default)]
    flow: u32,
    #[serde(default)]
    precedence: u8,
    /// A packet of this size is sent, of the lane that the algorithm chooses.
    sends: Option<Bytes>,
    /// A packet of this size waits already when the discipline takes over.
    inherits: Option<Bytes>,
    #[serde(default)]
    waiting: Vec<u32>,
    lane: Option<usize>,
    #[serde(default)]
    udp: bool,
    /// The packet is not ECN-capable.
    #[serde(default)]
    not_ect: bool,
    #[serde(default)]
    syn: bool,
    /// The link's rate, for a host that knows it.
    rate: Option<BitRate>,
    verdict: Option<String>,
    #[serde(default)]
    expect: BTreeMap<String, f64>,
}

fn tight() -> f64 {
    1e-9
}

fn close(got: f64, want: f64, tolerance: f64) -> bool {
    (got - want).abs() <= 1e-15 + tolerance * want.abs()
}

#[derive(Default)]
struct Signals(BTreeMap<&'static str, f64>);

impl Probe for Signals {
    fn value(&mut self, name: &'static str, _unit: &'static str, x: f64) {
        self.0.insert(name, x);
    }
}

fn verdict_name(v: Verdict) -> &'static str {
    match v {
        Verdict::Pass => "pass",
        Verdict::Signal(Cause::Early) => "early signal",
        Verdict::Signal(_) => "forced signal",
        Verdict::Drop(Cause::Early) => "early drop",
        Verdict::Drop(_) => "forced drop",
    }
}

/// What an event asks of an algorithm, and where and when.
struct Scene<'a> {
    place: &'a str,
    now: Time,
    event: &'a Event,
    queue: QueueView,
    /// The packet of this size that arrives or leaves.
    packet: &'a dyn Fn(Bytes) -> PacketMeta,
    /// So many packets of mean size.
    view: &'a dyn Fn(u32) -> QueueView,
    rng: &'a mut Rng,
}

impl Scene<'_> {
    fn check(&self, verdict: Verdict) {
        if let Some(want) = &self.event.verdict {
            assert_eq!(verdict_name(verdict), want, "{}", self.place);
        }
    }

    fn cx(&mut self) -> Ctx<'_> {
        Ctx::new(self.now, self.queue, self.rng)
    }
}

/// Plays an event to an algorithm for one queue.
fn play(aqm: &mut AnyAqm, mut scene: Scene<'_>) {
    let (place, now, event, packet) = (scene.place, scene.now, scene.event, scene.packet);
    match (event.arrive, event.overflow, event.depart, event.idle, event.update) {
        (Some(bytes), None, None, false, false) => {
            let verdict = aqm.on_enqueue(&mut scene.cx(), &packet(bytes));
            scene.check(verdict);
        }
        (None, Some(bytes), None, false, false) => aqm.on_overflow(&mut scene.cx(), &packet(bytes)),
        (None, None, Some(bytes), false, false) => {
            assert_ne!(aqm.departures(), Departures::Ignored, "{place}: the host never asks it there");
            let verdict = aqm.on_dequeue(&mut scene.cx(), &packet(bytes));
            scene.check(verdict);
        }
        (None, None, None, true, false) => aqm.on_idle(now),
        (None, None, None, false, true) => {
            assert_eq!(aqm.next_update(), Some(now), "{place}");
            aqm.on_update(&mut scene.cx());
        }
        _ => panic!("{place}: exactly one of arrive, overflow, depart, idle and update"),
    }
}

/// Plays an event to a discipline.
fn play_lanes(d: &mut AnyDiscipline, scene: Scene<'_>) {
    let Scene { place, now, event, queue, packet, view, .. } = scene;
    let mut each: Vec<QueueView> = match event.waiting[..] {
        [] => vec![queue; d.lanes()],
        _ => event.waiting.iter().map(|n| view(*n)).collect(),
    };
    assert_eq!(each.len(), d.lanes(), "{place}: every lane has its number in waiting");
    fn cx<'a>(now: Time, each: &'a [QueueView], rng: &'a mut Rng) -> LanesCtx<'a> {
        let packets = Packets::new(each.iter().map(|v| v.packets.get()).sum());
        let bytes = Bytes::new(each.iter().map(|v| v.bytes.get()).sum());
        LanesCtx { now, lanes: Lanes { each, packets, bytes }, rng }
    }
    let lane_of =
        || event.lane.unwrap_or_else(|| panic!("{place}: a lane goes with sends, inherits and idle"));
    match (event.arrive, event.sends, event.inherits, event.idle, event.update) {
        (Some(bytes), None, None, false, false) => {
            let pkt = packet(bytes);
            let lane = d.classify(now, &pkt);
            assert_eq!(Some(lane), event.lane, "{place}: the lane");
            let verdict = d.on_enqueue(&mut cx(now, &each, scene.rng), lane, &pkt);
            if let Some(want) = &event.verdict {
                assert_eq!(verdict_name(verdict), want, "{place}");
            }
        }
        (None, Some(bytes), None, false, false) => {
            let next = d.next(&mut cx(now, &each, scene.rng));
            let lane = lane_of();
            assert_eq!(next, Next::Serve(lane), "{place}: the lane");
            each[lane].packets = Packets::new(each[lane].packets.get() - 1);
            each[lane].bytes = Bytes::new(each[lane].bytes.get() - bytes.get());
            let verdict = d.on_dequeue(&mut cx(now, &each, scene.rng), lane, &packet(bytes));
            assert_eq!(verdict, Verdict::Pass, "{place}");
        }
        (None, None, Some(bytes), false, false) => {
            let pkt = packet(bytes);
            assert_eq!(d.classify(now, &pkt), lane_of(), "{place}: the lane");
            d.on_inherit(lane_of(), &pkt);
        }
        (None, None, None, true, false) => d.on_idle(lane_of(), now),
        (None, None, None, false, true) => {
            assert_eq!(d.next_update(), Some(now), "{place}");
            d.on_update(&mut cx(now, &each, scene.rng));
        }
        _ => panic!("{place}: exactly one of arrive, sends, inherits, idle and update"),
    }
}

fn run_case(name: &str, case: &Case) {
    assert!(!case.source.is_empty() && !case.computed.is_empty());
    let link = Link { rate: case.link.rate, buffer: case.link.buffer, mean_packet: case.link.mean_packet };
    let config = AqmConfig::deserialize_named(name, case.params.clone()).unwrap().unwrap();
    let mut algorithm = config.build(&link).unwrap();
    let mut rng = Seed(1).stream("vectors");
    for (i, event) in case.events.iter().enumerate() {
        let place = format!("{name}: {}, event {i}", case.name);
        let now = Time::ZERO + event.at;
        assert!(event.waited <= event.at, "{place}: it has waited since before the beginning");
        let since = Time::ZERO + (event.at - event.waited);
        let bytes = event.queue_bytes.map_or(event.queue as u64 * link.mean_packet.get(), Bytes::get);
        let view = |packets: u32, bytes: u64| QueueView {
            packets: Packets::new(packets),
            bytes: Bytes::new(bytes),
            head_since: (packets > 0).then_some(since),
            link_rate: event.rate,
        };
        let leaves = event.depart.is_some() || event.sends.is_some();
        let packet = |bytes| PacketMeta {
            bytes,
            enqueued_at: if leaves { since } else { now },
            flow: FlowId(event.flow),
            ecn: if event.not_ect { Ecn::NotEct } else { Ecn::Ect0 },
            transport: if event.udp { Transport::Udp } else { Transport::Tcp },
            syn: event.syn,
            dscp: event.precedence << 3,
            hosts: Default::default(),
        };
        let due = match &algorithm {
            Algorithm::Aqm(aqm) => aqm.next_update(),
            Algorithm::Discipline(d) => d.next_update(),
        };
        assert!(event.update || due.is_none_or(|due| due > now), "{place}: an update is due");
        let scene = Scene {
            place: &place,
            now,
            event,
            queue: view(event.queue, bytes),
            packet: &packet,
            view: &|packets| view(packets, packets as u64 * link.mean_packet.get()),
            rng: &mut rng,
        };
        match &mut algorithm {
            Algorithm::Aqm(aqm) => play(aqm, scene),
            Algorithm::Discipline(d) => play_lanes(d, scene),
        }
        let mut signals = Signals::default();
        algorithm.observe(&mut signals);
        for (name, want) in &event.expect {
            let got = signals.0[name.as_str()];
            assert!(close(got, *want, case.tolerance), "{place}: {name} is {got}, not {want}");
        }
    }
}

fn files() -> Vec<File> {
    let dir = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/vectors");
    let mut paths: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    paths
        .iter()
        .map(|path| {
            let file: File = toml::from_str(&std::fs::read_to_string(path).unwrap())
                .unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            let stem = path.file_stem().unwrap().to_str().unwrap();
            assert_eq!(stem, file.algorithm.replace(['-', '+'], "_"), "the file's name is the algorithm's");
            file
        })
        .collect()
}

#[test]
fn event_sequences_give_their_known_answers() {
    for file in files() {
        for case in &file.case {
            run_case(&file.algorithm, case);
        }
    }
}

#[test]
fn every_algorithmhas_vectors() {
    let files = files();
    for entry in CATALOG {
        let file = files.iter().find(|f| f.algorithm == entry.name);
        let file = file.unwrap_or_else(|| panic!("{} has no file of vectors", entry.name));
        assert!(!file.case.is_empty(), "{} has no sequence of events", entry.name);
    }
    assert_eq!(files.len(), CATALOG.len(), "a file of vectors without an algorithm");
}
