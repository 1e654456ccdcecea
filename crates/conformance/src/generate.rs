//! Vectors from the catalog: traffic through the line that every host uses, and a record of what its queue
//! was asked and answered.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use quell_aqm::catalog::{AnyAlgorithm, AqmConfig, CATALOG, Entry, find};
use quell_aqm::params::AutoSize;
use quell_aqm::pi_fixed::PiFixedParams;
use quell_aqm::pie::PieParams;
use quell_aqm::{
    Acknowledgment, Algorithm, Aqm, Ctx, Departures, Discipline, FlowId, Lanes, LanesCtx, Next, PacketMeta,
    Probe, QueueView, Rng, Seed, Transport, Victim,
};
use quell_queue::{Admission, Counters, Dequeued, DropPoint, Dropped, Host, Limit, Line, Qdisc, Queue, Sent};
use quell_units::{BitRate, Bytes, Duration, QueueSize, Time};
use serde_json::Value;

use crate::variants::{SEED, Variant, variants};
use crate::vector::{
    Ack, Answer, Cause, Ecn, Event, FORM, Header, Hosts, Link, Packet, Vector, Verdict, What, plain,
};

/// The course of a vector.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Course {
    name: &'static str,
    rate: BitRate,
    buffer: QueueSize,
    /// The ECN fields of packets, each as often as the others; none: the queue does not mark.
    ecn: &'static [Ecn],
    /// Every other phase has these instead, so that of two queues one is busy at a time.
    ecn_in_turn: &'static [Ecn],
    /// Packets have all sizes, and not only that of the mean.
    sizes: bool,
    /// Most packets acknowledge, and are small.
    acks: bool,
    /// Eight flows of the same load, between [`HOSTS`].
    hosts: bool,
    /// Arrivals are at whole milliseconds, many at once.
    ticks: bool,
    /// The load, and for how many arrivals it holds. A load of nothing is a pause.
    phases: &'static [(f64, u32)],
    /// The length of a pause: the queue drains, and the link is idle for a while.
    pause: Duration,
}

/// The hosts of each flow of a course with hosts. One source has as many flows as two others, and one
/// destination more than another, so that each kind of isolation decides something else; of the last flow nobody
/// knows.
const HOSTS: [(u16, u16); 8] = [(1, 9), (1, 8), (1, 7), (2, 9), (2, 8), (3, 9), (4, 9), (0, 0)];

const MEAN_PACKET: Bytes = Bytes::new(1000);

/// A course of packets of one size that are dropped; the others say how they differ from it.
const DROPS: Course = Course {
    name: "drops",
    rate: BitRate::from_bps(2_000_000),
    buffer: QueueSize::Packets(60.0),
    ecn: &[],
    ecn_in_turn: &[],
    sizes: false,
    acks: false,
    hosts: false,
    ticks: false,
    phases: PHASES,
    pause: Duration::from_millis(700),
};

const MARKS: Course = Course {
    name: "marks",
    rate: BitRate::from_bps(5_000_000),
    buffer: QueueSize::Packets(90.0),
    ecn: &[Ecn::Ect0, Ecn::Ect0, Ecn::NotEct, Ecn::Ect1, Ecn::Ce, Ecn::Ect0, Ecn::NotEct, Ecn::Ect0],
    ..DROPS
};

const BYTES: Course =
    Course { name: "bytes", buffer: QueueSize::Bytes(60_000.0), ecn: MARKS.ecn, sizes: true, ..DROPS };

/// The same sizes where nothing is marked, for implementations without ECN; shorter, as there is one for each algorithm.
const SIZES: Course = Course { name: "sizes", ecn: &[], phases: SHORT, ..BYTES };

const COURSES: &[Course] = &[DROPS, MARKS, BYTES, SIZES];

/// A course for variants alone: a full buffer takes half a second to drain.
const SLOW: Course = Course { name: "slow", rate: BitRate::from_bps(1_000_000), ..DROPS };

/// Another for variants alone: flows of several hosts.
const OF_HOSTS: Course = Course { name: "hosts", sizes: true, hosts: true, ..MARKS };

/// Another for variants alone: acknowledgments of three flows, among data.
const ACKS: Course = Course { name: "acks", acks: true, ..MARKS };

/// Another for variants alone: packets take four milliseconds, and all times are whole ones, so that a delay is often
/// exactly a threshold and an update comes between packets that came together.
const TICKS: Course = Course { name: "ticks", ticks: true, phases: TICKING, ..DROPS };

/// The same with marks.
const MARKED_TICKS: Course = Course { name: "marked-ticks", ecn: MARKS.ecn, ..TICKS };

/// Packets of Classic senders alone, so that one of DualPI2's queues is busy and no scheduler has a say.
const CLASSIC: Course =
    Course { name: "classic", ecn: &[Ecn::Ect0, Ecn::NotEct, Ecn::Ect0, Ecn::Ect0], phases: SHORT, ..MARKS };

/// Those of scalable senders alone.
const SCALABLE: Course =
    Course { name: "scalable", ecn: &[Ecn::Ect1, Ecn::Ect1, Ecn::Ce, Ecn::Ect1], ..CLASSIC };

/// Each in their turn, when the others' have left.
const IN_TURN: Course = Course {
    name: "in-turn",
    ecn_in_turn: SCALABLE.ecn,
    phases: TAKING_TURNS,
    pause: Duration::from_millis(150),
    ..CLASSIC
};

/// A small buffer that overflows again and again, and between two overflows the link is idle.
const BURSTS: Course = Course {
    name: "bursts",
    buffer: QueueSize::Packets(12.0),
    phases: BURSTING,
    pause: Duration::from_millis(100),
    ..MARKED_TICKS
};

/// The courses of variants alone.
const OTHERS: &[Course] = &[SLOW, OF_HOSTS, ACKS, TICKS, MARKED_TICKS, CLASSIC, SCALABLE, IN_TURN, BURSTS];

const PHASES: &[(f64, u32)] =
    &[(0.6, 20), (3.0, 150), (1.1, 90), (0.0, 1), (0.4, 15), (1.6, 80), (0.0, 1), (1.2, 25)];

/// Those of a course of ticks.
const TICKING: &[(f64, u32)] = &[(0.5, 10), (2.0, 60), (0.0, 1), (1.6, 40), (0.0, 1), (0.8, 20)];

/// Those of a short course.
const SHORT: &[(f64, u32)] = &[(0.6, 8), (3.0, 120), (1.6, 70), (0.0, 1), (1.6, 30)];

/// Those of a course with one kind of packets at a time: between two others there is a pause.
const TAKING_TURNS: &[(f64, u32)] =
    &[(2.0, 60), (0.0, 1), (1.5, 40), (0.0, 1), (2.0, 50), (0.0, 1), (1.5, 40), (0.0, 1), (1.2, 20)];

/// Those of a course of overflows.
const BURSTING: &[(f64, u32)] = &[
    (0.5, 6),
    (3.0, 60),
    (0.0, 1),
    (0.4, 12),
    (3.0, 60),
    (0.0, 1),
    (0.5, 10),
    (3.0, 40),
    (0.8, 15),
    (3.0, 40),
];

/// The most events of a vector that is made from a configuration of a user's; those of the catalog have a tenth.
pub const MOST_EVENTS: usize = 20_000;

/// Every vector of the catalog, in its order.
pub fn all() -> impl Iterator<Item = Vector> {
    CATALOG.iter().flat_map(of)
}

/// The vectors of one algorithm: each course with its defaults, and the variants that decide more.
pub fn of(entry: &Entry) -> Vec<Vector> {
    let made = |name: &str, course, config: &AqmConfig, seed| {
        record(entry, name, course, config, seed).unwrap_or_else(|e| panic!("{}/{name}: {e}", entry.name))
    };
    let defaults = COURSES.iter().map(|course| made(course.name, course, &(entry.default)(), SEED));
    let others = variants().iter().filter(|v| v.algorithm == entry.name).map(|variant| {
        let course = course(&variant.course).expect("a course of that name");
        let mut vector = made(&variant.name, course, &configured(variant), variant.seed);
        vector.header.tolerance.clone_from(&variant.tolerance);
        vector
    });
    defaults.chain(others).collect()
}

/// The names of the courses.
pub fn courses() -> impl Iterator<Item = &'static str> {
    COURSES.iter().chain(OTHERS).map(|course| course.name)
}

fn course(name: &str) -> Option<&'static Course> {
    COURSES.iter().chain(OTHERS).find(|course| course.name == name)
}

/// A vector of a configuration that the catalog's have not: `name` is its own, after the algorithm's.
///
/// # Errors
/// There is no such course, the configuration breaks a rule, or the vector would have more than [`MOST_EVENTS`].
pub fn own(config: &AqmConfig, name: &str, course: &str, seed: u64) -> Result<Vector, String> {
    let entry = find(config.name()).ok_or("the algorithm is not in the catalog")?;
    let course = self::course(course).ok_or("there is no such course")?;
    record(entry, name, course, config, seed)
}

fn configured(variant: &Variant) -> AqmConfig {
    let mut table = variant.parameters.clone();
    table.insert("algorithm".into(), variant.algorithm.clone().into());
    table.try_into().unwrap_or_else(|e| panic!("{}/{}: {e}", variant.algorithm, variant.name))
}

/// Numbers that a generator gave, for inspection.
type Draws = Rc<RefCell<Vec<f64>>>;

/// An algorithm, or a discipline, whose draws are recorded.
struct Tapped<A> {
    inner: A,
    draws: Draws,
}

/// Notes what `act` draws.
fn tap<R>(draws: &Draws, rng: &mut Rng, act: impl FnOnce(&mut Rng) -> R) -> R {
    let mut before = rng.clone();
    let result = act(rng);
    let mut all = draws.borrow_mut();
    let most = all.len() + 100_000;
    while before != *rng {
        all.push(before.uniform());
        assert!(all.len() < most, "a generator was exchanged, or draws without end");
    }
    result
}

macro_rules! with_ctx {
    ($self:ident, $cx:ident, $inner:ident => $call:expr) => {{
        let Tapped { inner: $inner, draws } = $self;
        let (now, queue, link_backlog) = ($cx.now, $cx.queue, $cx.link_backlog);
        tap(draws, $cx.rng, |rng| {
            let $cx = &mut Ctx { now, queue, link_backlog, rng };
            $call
        })
    }};
}

impl Aqm for Tapped<Box<dyn Aqm>> {
    fn on_start(&mut self, now: Time) {
        self.inner.on_start(now);
    }
    fn on_inherit(&mut self, pkt: &PacketMeta) {
        self.inner.on_inherit(pkt);
    }
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> quell_aqm::Verdict {
        with_ctx!(self, cx, inner => inner.on_enqueue(cx, pkt))
    }
    fn on_dequeue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> quell_aqm::Verdict {
        with_ctx!(self, cx, inner => inner.on_dequeue(cx, pkt))
    }
    fn departures(&self) -> Departures {
        self.inner.departures()
    }
    fn on_overflow(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) {
        with_ctx!(self, cx, inner => inner.on_overflow(cx, pkt))
    }
    fn on_idle(&mut self, since: Time) {
        self.inner.on_idle(since);
    }
    fn next_update(&self) -> Option<Time> {
        self.inner.next_update()
    }
    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        with_ctx!(self, cx, inner => inner.on_update(cx))
    }
    fn observe(&self, out: &mut dyn Probe) {
        self.inner.observe(out);
    }
}

macro_rules! with_lanes {
    ($self:ident, $cx:ident, $inner:ident => $call:expr) => {{
        let Tapped { inner: $inner, draws } = $self;
        let (now, lanes) = ($cx.now, $cx.lanes);
        tap(draws, $cx.rng, |rng| {
            let $cx = &mut LanesCtx { now, lanes, rng };
            $call
        })
    }};
}

impl Discipline for Tapped<Box<dyn Discipline>> {
    fn draw(&mut self, rng: &mut Rng) {
        self.inner.draw(rng);
    }
    fn is_crowded(&self, lanes: &Lanes<'_>, pkt: &PacketMeta) -> bool {
        self.inner.is_crowded(lanes, pkt)
    }
    fn filters(&self) -> bool {
        self.inner.filters()
    }
    fn superfluous(
        &self,
        arrival: &Acknowledgment,
        waiting: &mut dyn Iterator<Item = Option<Acknowledgment>>,
    ) -> Option<usize> {
        self.inner.superfluous(arrival, waiting)
    }
    fn on_superfluous(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) {
        with_lanes!(self, cx, inner => inner.on_superfluous(cx, lane, pkt))
    }
    fn lanes(&self) -> usize {
        self.inner.lanes()
    }
    fn washes(&self) -> bool {
        self.inner.washes()
    }
    fn on_start(&mut self, now: Time) {
        self.inner.on_start(now);
    }
    fn on_inherit(&mut self, lane: usize, pkt: &PacketMeta) {
        self.inner.on_inherit(lane, pkt);
    }
    fn classify(&mut self, now: Time, pkt: &PacketMeta) -> usize {
        self.inner.classify(now, pkt)
    }
    fn on_enqueue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> quell_aqm::Verdict {
        with_lanes!(self, cx, inner => inner.on_enqueue(cx, lane, pkt))
    }
    fn victim(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Victim {
        with_lanes!(self, cx, inner => inner.victim(cx, lane, pkt))
    }
    fn on_overflow(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) {
        with_lanes!(self, cx, inner => inner.on_overflow(cx, lane, pkt))
    }
    fn next(&mut self, cx: &mut LanesCtx<'_>) -> Next {
        with_lanes!(self, cx, inner => inner.next(cx))
    }
    fn on_dequeue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> quell_aqm::Verdict {
        with_lanes!(self, cx, inner => inner.on_dequeue(cx, lane, pkt))
    }
    fn on_idle(&mut self, lane: usize, since: Time) {
        self.inner.on_idle(lane, since);
    }
    fn next_update(&self) -> Option<Time> {
        self.inner.next_update()
    }
    fn on_update(&mut self, cx: &mut LanesCtx<'_>) {
        with_lanes!(self, cx, inner => inner.on_update(cx))
    }
    fn observe(&self, out: &mut dyn Probe) {
        self.inner.observe(out);
    }
}

/// A packet of a vector as queues know it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Carried {
    pub(crate) packet: Packet,
    marked: bool,
}

impl Carried {
    pub(crate) fn new(packet: Packet) -> Self {
        Carried { packet, marked: false }
    }
}

impl quell_queue::Packet for Carried {
    fn bytes(&self) -> Bytes {
        Bytes::new(self.packet.bytes)
    }
    fn ecn(&self) -> quell_aqm::Ecn {
        match self.packet.ecn {
            Ecn::NotEct => quell_aqm::Ecn::NotEct,
            Ecn::Ect0 => quell_aqm::Ecn::Ect0,
            Ecn::Ect1 => quell_aqm::Ecn::Ect1,
            Ecn::Ce => quell_aqm::Ecn::Ce,
        }
    }
    fn set_ce(&mut self) {
        self.packet.ecn = Ecn::Ce;
        self.marked = true;
    }
    fn flow(&self) -> FlowId {
        FlowId(self.packet.flow)
    }
    fn is_syn(&self) -> bool {
        self.packet.syn
    }
    fn dscp(&self) -> u8 {
        self.packet.dscp
    }
    fn hosts(&self) -> quell_aqm::Hosts {
        let Hosts { source, destination } = self.packet.hosts;
        quell_aqm::Hosts { source, destination }
    }
    fn acknowledgment(&self) -> Option<Acknowledgment> {
        let Ack { number, data, flags, stamps, blocks: [a, b, c] } = self.packet.ack?;
        Some(Acknowledgment {
            connection: 0,
            number,
            pure: data == 0 && flags & !Ack::ECN == 0,
            flags: u32::from(flags & Ack::ECN),
            stamps,
            blocks: [a, b, c, [0; 2]],
        })
    }
    fn wash(&mut self) {
        self.packet.dscp = 0;
    }
    fn transport(&self) -> Transport {
        match self.packet.protocol {
            6 => Transport::Tcp,
            17 => Transport::Udp,
            _ => Transport::Other,
        }
    }
}

/// Internal signals and their units.
#[derive(Default)]
pub(crate) struct Signals {
    pub(crate) values: BTreeMap<String, f64>,
    units: BTreeMap<String, String>,
}

impl Probe for Signals {
    fn value(&mut self, name: &'static str, unit: &'static str, x: f64) {
        self.values.insert(name.into(), x);
        self.units.insert(name.into(), unit.into());
    }
}

pub(crate) fn signals<Q: Qdisc>(queue: &Q) -> Signals {
    let mut signals = Signals::default();
    queue.observe(&mut signals);
    signals
}

/// Asks a queue for what an event is about, and gives its answer.
pub(crate) fn arrive<Q: Qdisc<Packet = Carried>>(
    queue: &mut Q,
    now: Time,
    packet: Carried,
) -> (Admission, Answer) {
    let mut answer = Answer::default();
    let admission = queue.enqueue(now, packet, &mut |d: Dropped<Carried>| {
        if d.place != DropPoint::Arrival {
            answer.dropped.push(d.packet.packet.id);
        }
    });
    answer.verdict = Some(match admission {
        Admission::Queued => Verdict::Queued,
        Admission::Marked => Verdict::Marked,
        Admission::Dropped(_) => Verdict::Dropped,
    });
    answer.cause = match admission {
        Admission::Dropped(quell_aqm::Cause::Early) => Some(Cause::Early),
        Admission::Dropped(quell_aqm::Cause::Forced) => Some(Cause::Forced),
        Admission::Dropped(quell_aqm::Cause::Overflow) => Some(Cause::Overflow),
        _ => None,
    };
    answer.signals = signals(queue).values;
    (admission, answer)
}

/// Asks a queue for a packet, and gives its answer. A packet marked at its arrival is not marked again.
pub(crate) fn depart<Q: Qdisc<Packet = Carried>>(queue: &mut Q, now: Time) -> (Dequeued<Carried>, Answer) {
    let mut answer = Answer::default();
    let marked = queue.counters().marked.packets;
    let given = queue.dequeue(now, &mut |d: Dropped<Carried>| answer.dropped.push(d.packet.packet.id));
    answer.marked = queue.counters().marked.packets > marked;
    match given {
        Dequeued::Packet(packet, _) => answer.sent = Some(packet.packet.id),
        Dequeued::NotBefore(time) => answer.not_before = Some(time.nanos()),
        Dequeued::Nothing => {}
    }
    answer.signals = signals(queue).values;
    (given, answer)
}

/// A queue that records what it is asked.
struct Recorder<Q> {
    queue: Q,
    draws: Draws,
    events: Vec<Event>,
    last: Time,
    /// One queue, which knows by itself that it is not idle while packets wait.
    fifo: bool,
    /// Idleness that was told and is not in the record yet.
    idle: Option<Time>,
    /// It was told since a packet was last in the queue.
    told: bool,
    /// Internal signals and their units: some come with the first measurement.
    units: BTreeMap<String, String>,
    /// It has more than [`MOST_EVENTS`]: what comes is no longer of interest.
    full: bool,
}

impl<Q: Qdisc<Packet = Carried>> Recorder<Q> {
    fn push(&mut self, t: Time, what: What, packet: Option<Packet>, answer: Answer) {
        let draws = std::mem::take(&mut *self.draws.borrow_mut());
        if answer.signals.keys().any(|name| !self.units.contains_key(name)) {
            self.units.extend(signals(&self.queue).units);
        }
        let event = self.events.len() as u32 + 1;
        self.full = self.events.len() >= MOST_EVENTS;
        self.last = self.last.max(t);
        let queue = match (what, self.fifo) {
            (What::Enqueue, false) => Some(self.queue.arrival_lane() as u32),
            _ => None,
        };
        let t = self.last.nanos();
        self.events.push(Event { event, t, what, packet, queue, draws, expect: Some(answer) });
    }

    /// Puts idleness into the record, unless the departure at `departs` says the same.
    fn settle(&mut self, departs: Option<Time>) {
        if let Some(since) = self.idle.take().filter(|since| departs != Some(*since)) {
            let signals = signals(&self.queue).values;
            self.push(since, What::Idle, None, Answer { signals, ..Answer::default() });
        }
    }
}

impl<Q: Qdisc<Packet = Carried>> Qdisc for Recorder<Q> {
    type Packet = Carried;

    fn enqueue(&mut self, now: Time, packet: Carried, _: &mut dyn FnMut(Dropped<Carried>)) -> Admission {
        self.advance(now);
        if self.full {
            return Admission::Dropped(quell_aqm::Cause::Overflow);
        }
        self.settle(None);
        let (admission, answer) = arrive(&mut self.queue, now, packet);
        self.told &= matches!(admission, Admission::Dropped(_));
        self.push(now, What::Enqueue, Some(packet.packet), answer);
        admission
    }
    fn dequeue(&mut self, now: Time, _: &mut dyn FnMut(Dropped<Carried>)) -> Dequeued<Carried> {
        self.advance(now);
        if self.full {
            return Dequeued::Nothing;
        }
        self.settle(Some(now));
        let (given, answer) = depart(&mut self.queue, now);
        self.told = false;
        self.push(now, What::Dequeue, None, answer);
        given
    }
    fn idle(&mut self, since: Time) {
        if self.full {
            return;
        }
        if !self.told && (self.queue.is_empty() || !self.fifo) {
            self.told = true;
            self.idle = Some(since);
        }
        self.queue.idle(since);
        if self.queue.is_empty() {
            self.settle(None);
        }
    }
    fn advance(&mut self, now: Time) {
        while let Some(due) = self.next_update().filter(|due| *due <= now) {
            self.settle(None);
            self.queue.advance(due);
            let signals = signals(&self.queue).values;
            self.push(due, What::Update, None, Answer { signals, ..Answer::default() });
        }
    }
    fn next_update(&self) -> Option<Time> {
        if self.full { None } else { self.queue.next_update() }
    }
    fn counters(&self) -> Counters {
        self.queue.counters()
    }
    fn is_empty(&self) -> bool {
        self.full || self.queue.is_empty()
    }
    fn view(&self) -> QueueView {
        self.queue.view()
    }
    fn observe(&self, out: &mut dyn Probe) {
        self.queue.observe(out);
    }
    fn set_rate(&mut self, rate: BitRate) {
        self.queue.set_rate(rate);
    }
    fn into_parts(self) -> (Vec<(Time, Carried)>, Counters) {
        self.queue.into_parts()
    }
    fn take_over(&mut self, now: Time, waiting: Vec<(Time, Carried)>, counters: Counters) {
        self.queue.take_over(now, waiting, counters);
    }
}

struct Nobody;

impl Host<Carried> for Nobody {
    fn sent(&mut self, _: Sent<Carried>) {}
    fn dropped(&mut self, _: Time, _: Dropped<Carried>) {}
}

/// An algorithm behind a pointer: the queue's code is compiled once, and not for all of them.
pub(crate) fn dynamic(algorithm: AnyAlgorithm) -> Algorithm<Box<dyn Aqm>, Box<dyn Discipline>> {
    match algorithm {
        Algorithm::Aqm(aqm) => Algorithm::Aqm(Box::new(aqm)),
        Algorithm::Discipline(discipline) => Algorithm::Discipline(Box::new(discipline)),
    }
}

/// The queue of a header: the generator is that of the first link of the simulator.
pub(crate) fn generator(seed: u64) -> Rng {
    Seed(seed).indexed_stream("link.aqm", 0)
}

fn record(
    entry: &Entry,
    name: &str,
    course: &Course,
    config: &AqmConfig,
    seed: u64,
) -> Result<Vector, String> {
    let vector = format!("{}/{name}", entry.name);
    let link = quell_aqm::Link { rate: course.rate, buffer: course.buffer, mean_packet: MEAN_PACKET };
    let marks = !course.ecn.is_empty();
    let config = &spelled_out(config.clone(), &link);
    let draws = Draws::default();
    let tapped = match dynamic(config.build(&link).map_err(|e| e.to_string())?) {
        Algorithm::Aqm(inner) => Algorithm::Aqm(Tapped { inner, draws: draws.clone() }),
        Algorithm::Discipline(inner) => Algorithm::Discipline(Tapped { inner, draws: draws.clone() }),
    };
    let fifo = matches!(tapped, Algorithm::Aqm(_));
    let queue = Queue::new(tapped, generator(seed), Limit::of(course.buffer), marks, Some(course.rate));
    let units = signals(&queue).units;
    let recorder = Recorder {
        queue,
        draws,
        events: Vec::new(),
        last: Time::ZERO,
        fifo,
        idle: None,
        told: false,
        units,
        full: false,
    };
    let mut line = Line::new(recorder, course.rate);
    // One course is the same for every algorithm.
    let mut rng = Seed(SEED).stream(course.name);
    let (mut now, mut id, mut turn) = (Time::ZERO, 0, false);
    for (load, arrivals) in course.phases {
        turn ^= *load == 0.0;
        let ecn = if turn && !course.ecn_in_turn.is_empty() { course.ecn_in_turn } else { course.ecn };
        for _ in 0..*arrivals {
            now += gap(*load, course, &mut rng);
            let _ = line.arrive(now, Carried::new(packet(course, ecn, id, &mut rng)), &mut Nobody);
            id += 1;
        }
    }
    while line.next_departure().is_some() {
        line.run(now, &mut Nobody);
        now += Duration::from_millis(1);
    }
    let Recorder { events, units, full, .. } = line.into_queue();
    if full {
        return Err(format!(
            "would have more than {MOST_EVENTS} events, but few arrivals: use longer intervals between updates"
        ));
    }
    let header = Header {
        conformance: FORM,
        vector,
        algorithm: entry.name.into(),
        source: entry.source.into(),
        parameters: parameters(entry, config),
        config: serde_json::to_value(config).expect("a configuration is JSON"),
        link: Link {
            rate_bps: course.rate.bps(),
            buffer: course.buffer.into(),
            mean_packet_bytes: MEAN_PACKET.get(),
        },
        ecn: marks,
        seed,
        events: events.len() as u32,
        signals: units,
        tolerance: None,
    };
    Ok(Vector { header, events })
}

fn gap(load: f64, course: &Course, rng: &mut Rng) -> Duration {
    if load == 0.0 {
        return course.pause;
    }
    let mean = MEAN_PACKET.get() as f64 * 8.0 / course.rate.bps() as f64 / load;
    // Now and then three come at once; at ticks whole batches do.
    let together = if course.ticks { 0.6 } else { 0.1 };
    let gap = if rng.chance(together) { 0.0 } else { rng.exponential(mean / (1.0 - together)) };
    match course.ticks {
        true => Duration::from_millis((gap * 1e3).round() as u64),
        false => Duration::from_secs_f64(gap),
    }
}

fn packet(course: &Course, ecn: &[Ecn], id: u32, rng: &mut Rng) -> Packet {
    if course.acks {
        return acknowledging(ecn, id, rng);
    }
    let mut pick = |n: u32| (rng.uniform() * f64::from(n)) as u32;
    let bytes = match (course.sizes, pick(4)) {
        (false, _) => MEAN_PACKET.get(),
        (true, 0) => 40 + u64::from(pick(60)),
        (true, 1) => 200 + u64::from(pick(1000)),
        (true, _) => 1500,
    };
    let flow = if course.hosts { pick(8) } else { pick(6) * pick(2) };
    let (source, destination) = if course.hosts { HOSTS[flow as usize] } else { (0, 0) };
    Packet {
        id,
        bytes,
        flow,
        ecn: if ecn.is_empty() { Ecn::NotEct } else { ecn[pick(ecn.len() as u32) as usize] },
        protocol: if pick(8) == 0 { 17 } else { 6 },
        dscp: if course.sizes { [0, 0, 10, 46, 1, 45, 8, 34][pick(8) as usize] } else { 0 },
        syn: pick(12) == 0,
        hosts: Hosts { source, destination },
        ack: None,
    }
}

/// A packet of a course of acknowledgments: they are those of three flows, and some carry data, duplicates, blocks of
/// their own, or flags.
fn acknowledging(ecn: &[Ecn], id: u32, rng: &mut Rng) -> Packet {
    const SEGMENT: u32 = 1448;
    let mut pick = |n: u32| (rng.uniform() * f64::from(n)) as u32;
    let flow = pick(3);
    // The numbers pass the largest one, and now and then one is that of a packet before.
    let number = SEGMENT.wrapping_mul((id + 3 - pick(4)).wrapping_sub(80));
    let block = |from: u32, segments: u32| {
        let start = number.wrapping_add(from.wrapping_mul(SEGMENT));
        [start, start.wrapping_add(segments * SEGMENT)]
    };
    let blocks = match pick(12) {
        0 => [block(2, 1), block(5, 2 + pick(2)), [0; 2]],
        1 | 2 => [block(2, 2 + pick(3)), [0; 2], [0; 2]],
        // A duplicate.
        3 => [block(0u32.wrapping_sub(2), 1), [0; 2], [0; 2]],
        _ => [[0; 2]; 3],
    };
    let count = blocks.iter().filter(|block| block[0] != block[1]).count() as u64;
    // One flow has no timestamps.
    let stamps = (flow > 0).then(|| [id / 4, (id + pick(3)) / 4]);
    let data = if pick(5) == 0 { SEGMENT - 100 } else { 0 };
    let flags = [0, 0, 0, 0, 0, 0, 64, 64, 128, 192, 8, 1][pick(12) as usize];
    let options = if stamps.is_some() { 12 } else { 0 } + if count > 0 { 4 + 8 * count } else { 0 };
    Packet {
        id,
        bytes: 40 + options + u64::from(data),
        flow,
        ecn: if data > 0 { ecn[pick(ecn.len() as u32) as usize] } else { Ecn::NotEct },
        protocol: 6,
        dscp: 0,
        syn: false,
        hosts: Hosts::default(),
        ack: Some(Ack { number, data, flags, stamps, blocks }),
    }
}

/// Writes out what a configuration leaves to a name that stands for several parameters, or to the link's buffer:
/// who reads a vector need not know the rules.
fn spelled_out(config: AqmConfig, link: &quell_aqm::Link) -> AqmConfig {
    macro_rules! at_target {
        ($params:ident) => {
            $params.q_ref = AutoSize::Size($params.target(link))
        };
    }
    let mut config = config;
    match &mut config {
        AqmConfig::Pi(params) | AqmConfig::PiFixed(PiFixedParams(params)) => at_target!(params),
        AqmConfig::StPi(params) => at_target!(params),
        AqmConfig::Rem(params) => at_target!(params),
        AqmConfig::Pid(params) => at_target!(params),
        AqmConfig::Dred(params) => at_target!(params),
        AqmConfig::Lred(params) => at_target!(params),
        AqmConfig::Vrc(params) => at_target!(params),
        _ => {}
    }
    match config {
        AqmConfig::Pie(params) => {
            let options = params.options();
            AqmConfig::Pie(PieParams {
                mark_ecnth: Some(options.mark_ecnth),
                delay_from: Some(options.delay_from),
                derandomize: Some(options.derandomize),
                cap: Some(options.cap),
                decay: Some(options.decay),
                activate_at: Some(options.activate_at),
                ..params
            })
        }
        other => other,
    }
}

/// The parameters without units: seconds, bit/s, {"packets": x}, {"bytes": x}.
fn parameters(entry: &Entry, config: &AqmConfig) -> BTreeMap<String, Value> {
    let Ok(Value::Object(table)) = serde_json::to_value(config) else { return BTreeMap::new() };
    // Those that are left out are null.
    let names = (entry.params)().into_iter().map(|doc| doc.name);
    names.map(|name| (name.to_string(), table.get(name).map_or(Value::Null, plain))).collect()
}
