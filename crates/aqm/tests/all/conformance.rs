//! The laws that every algorithm of the catalog obeys, for any parameters and any traffic.
//!
//! A random sequence of arrivals passes through the line that every host uses. An observer between its
//! queue and the algorithm records the verdicts, checks the calendar of updates and looks at every
//! internal signal after every call.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use quell_aqm::catalog::{AnyAlgorithm, AnyAqm, AnyDiscipline, AqmConfig, CATALOG, Entry, find};
use quell_aqm::{
    Algorithm, Aqm, Cause, Ctx, Departures, Discipline, Ecn, FlowId, Lanes, LanesCtx, Link, Next, PacketMeta,
    Probe, QueueView, Rng, Seed, Verdict, Victim,
};
use quell_queue::{Dropped, Limit, Line, Packet, Qdisc, Queue, Sent};
use quell_units::{BitRate, Bytes, Duration, Packets, QueueSize, Time};

#[derive(Clone, Copy, Debug, PartialEq)]
struct TestPacket {
    bytes: u64,
    ecn: Ecn,
    flow: u32,
    syn: bool,
}

/// A packet of a flow that has begun long ago.
fn plain(bytes: u64) -> TestPacket {
    TestPacket { bytes, ecn: Ecn::NotEct, flow: 0, syn: false }
}

impl Packet for TestPacket {
    fn bytes(&self) -> Bytes {
        Bytes::new(self.bytes)
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
    fn flow(&self) -> FlowId {
        FlowId(self.flow)
    }
    fn is_syn(&self) -> bool {
        self.syn
    }
    /// Every size has one.
    fn dscp(&self) -> u8 {
        (self.bytes % 64) as u8
    }
}

/// What an algorithm did, and what it reported last.
#[derive(Clone, Debug, Default, PartialEq)]
struct Log {
    verdicts: Vec<Verdict>,
    updates: u64,
    signals: Vec<(&'static str, f64)>,
}

impl Probe for Log {
    fn value(&mut self, name: &'static str, unit: &'static str, x: f64) {
        assert!(!unit.is_empty(), "{name} has no unit");
        // VRC's virtual target is a difference; a rate below nothing asks for no arrivals at all. A queue that
        // is served ahead of its turn has less than no credit.
        let signed = ["virtual_rate", "credit"].contains(&name);
        assert!(x.is_finite() && (x >= 0.0 || signed), "{name} is {x}");
        assert!(!matches!(name, "p" | "max_p") || x <= 1.0, "{name} is {x}");
        self.signals.push((name, x));
    }
}

impl Log {
    fn push(&mut self, verdict: Verdict) {
        let overflow = matches!(verdict, Verdict::Signal(Cause::Overflow) | Verdict::Drop(Cause::Overflow));
        assert!(!overflow, "only the host knows that the buffer is full");
        self.verdicts.push(verdict);
    }
}

/// Watches an algorithm, or a discipline.
struct Observed<A> {
    inner: A,
    log: Log,
    last: Time,
}

impl<A> Observed<A> {
    fn new(inner: A) -> Self {
        Observed { inner, log: Log::default(), last: Time::ZERO }
    }

    /// A call comes in order and finds no update undone.
    fn called(&mut self, now: Time, next_update: Option<Time>) {
        assert!(now >= self.last, "calls come in time order");
        assert!(next_update.is_none_or(|due| due > now), "an update was missed");
        self.last = now;
    }

    fn updates(&mut self, now: Time, next_update: Option<Time>) {
        assert_eq!(next_update, Some(now), "an update runs when it is due");
        assert!(now >= self.last, "calls come in time order");
        self.last = now;
        self.log.updates += 1;
    }

    fn is_idle(&mut self, since: Time) {
        assert!(since >= self.last, "idleness is reported before anything later");
        self.last = since;
    }
}

impl Clone for Observed<AnyAqm> {
    fn clone(&self) -> Self {
        let inner = self.inner.try_clone().expect("every algorithm of the catalog can be copied");
        Observed { inner, log: self.log.clone(), last: self.last }
    }
}

impl Clone for Observed<AnyDiscipline> {
    fn clone(&self) -> Self {
        let inner = self.inner.try_clone().expect("every discipline of the catalog can be copied");
        Observed { inner, log: self.log.clone(), last: self.last }
    }
}

impl Observed<AnyAqm> {
    fn look(&mut self) {
        self.log.signals.clear();
        self.inner.observe(&mut self.log);
    }
}

impl Observed<AnyDiscipline> {
    fn look(&mut self) {
        self.log.signals.clear();
        self.inner.observe(&mut self.log);
    }
}

impl Aqm for Observed<AnyAqm> {
    fn on_start(&mut self, now: Time) {
        assert_eq!(self.last, Time::ZERO, "a life begins once, and before everything else");
        self.last = now;
        self.inner.on_start(now);
    }
    fn on_inherit(&mut self, pkt: &PacketMeta) {
        self.inner.on_inherit(pkt);
    }
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        self.called(cx.now, self.inner.next_update());
        let verdict = self.inner.on_enqueue(cx, pkt);
        self.log.push(verdict);
        self.look();
        verdict
    }
    fn on_dequeue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        self.called(cx.now, self.inner.next_update());
        let verdict = self.inner.on_dequeue(cx, pkt);
        let watches = self.inner.departures() == Departures::Watched;
        assert!(!watches || verdict == Verdict::Pass, "who watches departures lets them pass");
        self.log.push(verdict);
        self.look();
        verdict
    }
    fn departures(&self) -> Departures {
        self.inner.departures()
    }
    fn on_overflow(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) {
        self.called(cx.now, self.inner.next_update());
        self.inner.on_overflow(cx, pkt);
        self.look();
    }
    fn on_idle(&mut self, since: Time) {
        self.is_idle(since);
        self.inner.on_idle(since);
        self.look();
    }
    fn next_update(&self) -> Option<Time> {
        self.inner.next_update()
    }
    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        self.updates(cx.now, self.inner.next_update());
        self.inner.on_update(cx);
        assert!(self.inner.next_update().is_none_or(|due| due > cx.now), "the next update is later");
        self.look();
    }
    fn observe(&self, out: &mut dyn Probe) {
        self.inner.observe(out);
    }
}

impl Discipline for Observed<AnyDiscipline> {
    fn draw(&mut self, rng: &mut Rng) {
        self.inner.draw(rng);
    }
    fn is_crowded(&self, lanes: &Lanes<'_>, pkt: &PacketMeta) -> bool {
        self.inner.is_crowded(lanes, pkt)
    }
    fn on_start(&mut self, now: Time) {
        assert_eq!(self.last, Time::ZERO, "a life begins once, and before everything else");
        self.last = now;
        self.inner.on_start(now);
    }
    fn on_inherit(&mut self, lane: usize, pkt: &PacketMeta) {
        self.inner.on_inherit(lane, pkt);
    }
    fn lanes(&self) -> usize {
        self.inner.lanes()
    }
    fn classify(&mut self, now: Time, pkt: &PacketMeta) -> usize {
        self.called(now, self.inner.next_update());
        let lane = self.inner.classify(now, pkt);
        assert!(lane < self.lanes(), "lane {lane} does not exist");
        lane
    }
    fn on_enqueue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        self.called(cx.now, self.inner.next_update());
        let verdict = self.inner.on_enqueue(cx, lane, pkt);
        self.log.push(verdict);
        self.look();
        verdict
    }
    fn victim(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Victim {
        self.called(cx.now, self.inner.next_update());
        self.inner.victim(cx, lane, pkt)
    }
    fn on_overflow(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) {
        self.called(cx.now, self.inner.next_update());
        self.inner.on_overflow(cx, lane, pkt);
        self.look();
    }
    fn next(&mut self, cx: &mut LanesCtx<'_>) -> Next {
        self.called(cx.now, self.inner.next_update());
        self.inner.next(cx)
    }
    fn on_dequeue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        self.called(cx.now, self.inner.next_update());
        let verdict = self.inner.on_dequeue(cx, lane, pkt);
        self.log.push(verdict);
        self.look();
        verdict
    }
    fn on_idle(&mut self, lane: usize, since: Time) {
        self.is_idle(since);
        self.inner.on_idle(lane, since);
        self.look();
    }
    fn next_update(&self) -> Option<Time> {
        self.inner.next_update()
    }
    fn on_update(&mut self, cx: &mut LanesCtx<'_>) {
        self.updates(cx.now, self.inner.next_update());
        self.inner.on_update(cx);
        assert!(self.inner.next_update().is_none_or(|due| due > cx.now), "the next update is later");
        self.look();
    }
    fn observe(&self, out: &mut dyn Probe) {
        self.inner.observe(out);
    }
}

/// When a host serves its line's calendar.
#[derive(Clone, Copy, PartialEq)]
enum Host {
    /// Wakes for every update and every departure.
    OnTime,
    /// Wakes only when a packet arrives, and then does what it should have done before.
    Late,
}

/// Where packets go.
struct Away;

impl quell_queue::Host<TestPacket> for Away {
    fn sent(&mut self, _: Sent<TestPacket>) {}
    fn dropped(&mut self, _: Time, _: Dropped<TestPacket>) {}
}

type Watched = Queue<TestPacket, Observed<AnyAqm>, Observed<AnyDiscipline>>;

/// A line and who wakes it.
#[derive(Clone)]
struct Bench {
    line: Line<Watched>,
    host: Host,
}

impl Bench {
    fn new(algorithm: AnyAlgorithm, link: Link, host: Host) -> Self {
        let limit = Limit::of(link.buffer);
        let rng = Seed(7).stream("conformance");
        let algorithm = match algorithm {
            Algorithm::Aqm(aqm) => Algorithm::Aqm(Observed::new(aqm)),
            Algorithm::Discipline(d) => Algorithm::Discipline(Observed::new(d)),
        };
        let queue = Queue::new(algorithm, rng, limit, true, Some(link.rate));
        Bench { line: Line::new(queue, link.rate), host }
    }

    /// Everything that happens up to `now` without a new arrival.
    fn run_until(&mut self, now: Time) {
        if self.host == Host::OnTime {
            loop {
                let next = [self.line.queue().next_update(), self.line.next_departure()];
                let Some(at) = next.into_iter().flatten().min().filter(|at| *at <= now) else { break };
                self.line.run(at, &mut Away);
            }
            self.line.run(now, &mut Away);
        }
    }

    fn arrive(&mut self, now: Time, packet: TestPacket) {
        self.run_until(now);
        let _ = self.line.arrive(now, packet, &mut Away);
        self.check_counters();
    }

    fn check_counters(&self) {
        let n = self.line.counters();
        assert_eq!(n.arrived.packets, n.enqueued.packets + n.refused.total().packets);
        let waiting = self.line.queue().view();
        let gone = n.departed.packets + n.dropped.total().packets;
        assert_eq!(n.enqueued.packets, gone + u64::from(waiting.packets.get()));
        assert_eq!(n.enqueued.bytes, n.departed.bytes + n.dropped.total().bytes + waiting.bytes.get());
    }

    fn run(&mut self, arrivals: &[Arrival], start: Time) -> Time {
        arrivals.iter().fold(start, |now, a| {
            let now = now + a.gap;
            self.arrive(now, a.packet);
            now
        })
    }

    fn log(&self) -> &Log {
        match self.line.queue() {
            Queue::Fifo(q) => &q.aqm().log,
            Queue::Parallel(q) => &q.discipline().log,
        }
    }

    fn signal(&self, name: &str) -> Option<f64> {
        self.log().signals.iter().find(|(n, _)| *n == name).map(|(_, x)| *x)
    }
}

#[derive(Clone, Copy, Debug)]
struct Arrival {
    gap: Duration,
    packet: TestPacket,
}

fn link() -> Link {
    Link {
        rate: BitRate::from_bps(10_000_000),
        buffer: QueueSize::Packets(500.0),
        mean_packet: Bytes::new(500),
    }
}

/// Bursts, a steady overload, and silences, of packets of any size and any ECN field.
fn arrivals() -> impl Strategy<Value = Vec<Arrival>> {
    let gap = prop_oneof![
        4 => Just(0u64),
        8 => 0..400_000u64,
        4 => 0..2_000_000u64,
        1 => 0..100_000_000u64,
    ];
    let bytes = prop_oneof![6 => Just(500u64), 2 => Just(40u64), 2 => 1..9000u64];
    let ecn = prop_oneof![Just(Ecn::NotEct), Just(Ecn::Ect0), Just(Ecn::Ect1), Just(Ecn::Ce)];
    let syn = prop::bool::weighted(0.1);
    let one = (gap, bytes, ecn, 0..20u32, syn).prop_map(|(gap, bytes, ecn, flow, syn)| Arrival {
        gap: Duration::from_nanos(gap),
        packet: TestPacket { bytes, ecn, flow, syn },
    });
    // The burst at the start brings the queue to where the algorithms act.
    (0..800usize, prop::collection::vec(one, 1..600)).prop_map(|(burst, mut rest)| {
        let mut all = vec![Arrival { gap: Duration::from_micros(50), packet: plain(500) }; burst];
        all.append(&mut rest);
        all
    })
}

/// A value for a parameter: sensible, extreme or of the wrong kind.
fn any_value() -> impl Strategy<Value = toml::Value> {
    let number = prop_oneof![
        Just(-1.0),
        Just(0.0),
        Just(1e-300),
        Just(1e-9),
        Just(0.5),
        Just(1.0),
        Just(1.5),
        Just(1e9),
        Just(f64::MAX),
        Just(f64::INFINITY),
        Just(f64::NAN),
        (-12.0..6.0f64).prop_map(|e| 10f64.powf(e)),
    ];
    let text = prop::sample::select(vec![
        "0 packets",
        "0.001 packets",
        "1 packet",
        "30 packets",
        "60 packets",
        "499 packets",
        "1000000 packets",
        "0 B",
        "1 B",
        "20 kB",
        "80 kB",
        "1 GB",
        "auto",
        "0 s",
        "1 ns",
        "1 us",
        "100 us",
        "10 ms",
        "1 s",
        "300 h",
        "uniform",
        "wait",
        "geometric",
        "per-packet",
        "by-size",
        "rate",
        "queue",
        "link-rate",
        "admitted",
        "offered",
        "young",
        "counted",
        "linux",
        "1 Mbit/s",
        "1514 B",
        "link-rate-fast",
        "measured",
        "printed",
        "keshav",
        "nonsense",
        "full",
        "simple",
        "",
    ]);
    prop_oneof![
        4 => number.prop_map(toml::Value::Float),
        6 => text.prop_map(toml::Value::from),
        1 => prop::bool::ANY.prop_map(toml::Value::Boolean),
        1 => (0..5i64).prop_map(toml::Value::Integer),
        1 => (0..200i64, 0..500i64).prop_map(|(flows, ms)| {
            let design = [("flows", toml::Value::Float(flows as f64)), ("rtt", format!("{ms} ms").into())];
            toml::Value::Table(design.map(|(k, v)| (k.to_string(), v)).into_iter().collect())
        }),
        1 => (0..9i64, 0..60i64).prop_map(|(precedence, packets)| {
            let class = [("precedence", precedence.into()), ("min_th", format!("{packets} packets").into())];
            let class = class.map(|(k, v): (_, toml::Value)| (k.to_string(), v)).into_iter().collect();
            toml::Value::Array(vec![toml::Value::Table(class)])
        }),
        1 => (0..5000i64).prop_map(|ms| {
            toml::Value::Table([("time_constant".to_string(), format!("{ms} ms").into())].into_iter().collect())
        }),
    ]
}

/// A value for a parameter that is described by `doc`: any, or one that it names in quotes.
fn value_of(doc: &'static str) -> impl Strategy<Value = toml::Value> {
    let named: Vec<&str> = doc.split('"').skip(1).step_by(2).collect();
    if named.is_empty() {
        any_value().boxed()
    } else {
        prop_oneof![any_value(), prop::sample::select(named).prop_map(toml::Value::from)].boxed()
    }
}

/// A random table of parameters for a random algorithm: mostly defaults, so that many can be built.
fn any_table() -> impl Strategy<Value = (&'static str, toml::Table)> {
    (0..CATALOG.len()).prop_flat_map(|i| {
        let params = (CATALOG[i].params)();
        let changes = if params.is_empty() {
            Just(Vec::new()).boxed()
        } else {
            let change = prop::sample::select(params).prop_flat_map(|d| (Just(d.name), value_of(d.doc)));
            prop::collection::vec(change, 0..5).boxed()
        };
        changes.prop_map(move |changes| {
            (CATALOG[i].name, changes.into_iter().map(|(k, v)| (k.to_string(), v)).collect())
        })
    })
}

fn any_config() -> impl Strategy<Value = AqmConfig> {
    any_table().prop_filter_map("not a configuration", |(name, table)| {
        AqmConfig::deserialize_named(name, table).and_then(Result::ok)
    })
}

fn buffers() -> impl Strategy<Value = QueueSize> {
    prop_oneof![
        Just(QueueSize::Packets(500.0)),
        Just(QueueSize::Packets(61.0)),
        Just(QueueSize::Packets(1.0)),
        Just(QueueSize::Bytes(250_000.0)),
        Just(QueueSize::Bytes(400.0)),
    ]
}

proptest! {
    /// For any parameters, an algorithm is rejected or keeps its probabilities in [0, 1], its
    /// signals finite and its updates on time; and a host that wakes late decides the same.
    #[test]
    fn parameters_are_refused_or_obey_the_laws(
        config in any_config(), buffer in buffers(), arrivals in arrivals(),
    ) {
        let link = Link { buffer, ..link() };
        if let Ok(aqm) = config.build(&link) {
            let mut on_time = Bench::new(aqm.try_clone().unwrap(), link, Host::OnTime);
            let mut late = Bench::new(aqm, link, Host::Late);
            let end = on_time.run(&arrivals, Time::ZERO);
            late.run(&arrivals, Time::ZERO);
            late.line.run(end, &mut Away);
            prop_assert_eq!(on_time.log(), late.log());
            prop_assert_eq!(on_time.line.counters(), late.line.counters());
        }
    }

    /// A copy made in the middle of a run continues as the original does.
    #[test]
    fn a_copy_continues_identically(config in any_config(), arrivals in arrivals(), cut in 0.0..1.0f64) {
        if let Ok(aqm) = config.build(&link()) {
            let cut = (arrivals.len() as f64 * cut) as usize;
            let mut original = Bench::new(aqm, link(), Host::OnTime);
            let then = original.run(&arrivals[..cut], Time::ZERO);
            let mut copy = original.clone();
            original.run(&arrivals[cut..], then);
            copy.run(&arrivals[cut..], then);
            prop_assert_eq!(original.log(), copy.log());
        }
    }

    /// An algorithm whose life begins late decides as one whose life began at time zero.
    #[test]
    fn a_life_may_begin_at_any_time(i in 0..CATALOG.len(), arrivals in arrivals()) {
        let build = || (CATALOG[i].default)().build(&link()).unwrap();
        let mut early = Bench::new(build(), link(), Host::OnTime);
        // What was there before has no updates, which would fill the time.
        let before = find("drop-tail").unwrap();
        let mut late = Bench::new((before.default)().build(&link()).unwrap(), link(), Host::OnTime);
        let then = Time::ZERO + Duration::from_secs(90_000);
        let fresh = Bench::new(build(), link(), Host::OnTime).line;
        late.line.reconfigure(then, fresh.queue().clone(), &mut Away);
        early.run(&arrivals, Time::ZERO);
        late.run(&arrivals, then);
        prop_assert_eq!(&early.log().verdicts, &late.log().verdicts, "{}", CATALOG[i].name);
        prop_assert_eq!(early.log().updates, late.log().updates, "{}", CATALOG[i].name);
    }

    /// What is written is what is read, in both formats; so the algorithm built from it, which sees
    /// nothing else, is the same.
    #[test]
    fn parameters_survive_serialization(config in any_config()) {
        if config.build(&link()).is_ok() {
            let text = toml::to_string(&config).unwrap();
            prop_assert_eq!(&toml::from_str::<AqmConfig>(&text).unwrap(), &config, "{}", text);
            let text = serde_json::to_string(&config).unwrap();
            prop_assert_eq!(&serde_json::from_str::<AqmConfig>(&text).unwrap(), &config, "{}", text);
        }
    }

    /// With its defaults, no algorithm grows more severe while the link is idle, and none signals
    /// packets that come one by one to a link that has long been idle.
    #[test]
    fn an_idle_queue_calms_down(i in 0..CATALOG.len(), arrivals in arrivals()) {
        let aqm = (CATALOG[i].default)().build(&link()).unwrap();
        let mut bench = Bench::new(aqm, link(), Host::OnTime);
        let mut now = bench.run(&arrivals, Time::ZERO);
        // The buffer drains in 0.2 s, longer packets included in a few times that.
        now += Duration::from_secs(5);
        bench.run_until(now);
        prop_assert!(bench.line.busy_until() < now && bench.line.next_departure().is_none());
        let before = bench.log().clone();
        for _ in 0..50 {
            let p = bench.signal("p");
            now += Duration::from_millis(100);
            bench.run_until(now);
            // RED and its kin report the probability of the last arrival, which stays.
            prop_assert!(bench.signal("p") <= p);
        }
        prop_assert_eq!(&bench.log().verdicts, &before.verdicts);
        // PI forgets a burst slowly: its integral falls by 0.0005 in a second.
        now += Duration::from_secs(60);
        // BLUE remembers, alone and in COBALT: an idle period is one step down for it, however long; in SFB
        // only arrivals calm it. HRED and Curvy RED know no time but that of arrivals.
        if !["blue", "blue-fixed", "fq-blue", "cobalt", "sfb", "curvy-red", "hred", "hred-fixed"].contains(&CATALOG[i].name) {
            for _ in 0..50 {
                now += Duration::from_millis(100);
                bench.arrive(now, plain(500));
                prop_assert_eq!(*bench.log().verdicts.last().unwrap(), Verdict::Pass);
            }
        }
    }
}

/// The laws above say nothing if nothing is built, or nothing happens.
#[test]
fn random_parameters_are_often_built_and_often_act() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let strategy = (any_config(), arrivals());
    let (mut built, mut acted) = (0, 0);
    for _ in 0..500 {
        let (config, arrivals) = strategy.new_tree(&mut runner).unwrap().current();
        let Ok(aqm) = config.build(&link()) else { continue };
        built += 1;
        let mut bench = Bench::new(aqm, link(), Host::OnTime);
        bench.run(&arrivals, Time::ZERO);
        acted += bench.log().verdicts.iter().any(|v| *v != Verdict::Pass) as u32;
    }
    assert!((150..=480).contains(&built), "{built} of 500 were built");
    // Drop-tail never does, and BLUE and PI are slow to by default.
    assert!(acted > built / 6, "{acted} of {built} signaled");
}

#[test]
fn every_default_builds_and_acts_under_overload() {
    for entry in CATALOG {
        let aqm = (entry.default)().build(&link()).unwrap_or_else(|e| panic!("{}: {e}", entry.name));
        let mut bench = Bench::new(aqm, link(), Host::OnTime);
        // A quarter more than the link carries, for 20 s, from a hundred flows.
        let packet = |i: u32| TestPacket { flow: i % 100, ..plain(500) };
        let arrival = |i| Arrival { gap: Duration::from_micros(320), packet: packet(i) };
        let overload: Vec<Arrival> = (0..62_500).map(arrival).collect();
        bench.run(&overload, Time::ZERO);
        let n = bench.line.counters();
        let departed = n.departed.packets;
        assert!(departed > 45_000, "{}: the link stays busy ({departed} departures)", entry.name);
        // A step marks what can be marked, and no more.
        let silent = ["drop-tail", "sfq", "step"].contains(&entry.name);
        assert!(n.signaled() > 0 || silent, "{} never signals", entry.name);
    }
}

#[test]
fn unknown_parameters_and_algorithms_are_refused() {
    for entry in CATALOG {
        let table = toml::Table::from_iter([("no_such_parameter".to_string(), 1.into())]);
        assert!(AqmConfig::deserialize_named(entry.name, table.clone()).unwrap().is_err(), "{}", entry.name);
        let text = format!("algorithm = \"{}\"\nno_such_parameter = 1", entry.name);
        assert!(toml::from_str::<AqmConfig>(&text).is_err(), "{}", entry.name);
        let text = format!("algorithm = \"{}\"", entry.name);
        assert_eq!(toml::from_str::<AqmConfig>(&text).unwrap(), (entry.default)());
    }
    assert!(AqmConfig::deserialize_named("bred", toml::Table::new()).is_none());
}

#[test]
fn a_wrong_value_is_refused_with_what_was_expected() {
    for (text, want) in [
        ("algorithm = \"red\"\nweight = \"heavy\"", "link-rate"),
        ("algorithm = \"red\"\nweight = { time_constant = \"1\" }", "link-rate"),
        ("algorithm = \"red\"\nmin_th = 5", "string"),
        ("algorithm = \"red\"\nmin_th = \"5\"", "unit"),
        ("algorithm = \"red\"\nspacing = \"even\"", "uniform"),
        ("algorithm = \"red\"\nmin_backlog = -1", "u32"),
        ("algorithm = \"ared\"\nmin_th = \"some packets\"", "50 packets"),
        ("algorithm = \"pi\"\ndesign = { flows = 60 }", "rtt"),
        ("algorithm = \"rem\"\nprice = 1", "gamma"),
        ("algorithm = \"ap-red\"\nflows = \"many\"", "measured"),
        ("algorithm = \"fuzzy-red\"\nrule = \"keshaw\"", "keshav"),
        ("algorithm = \"red+tail\"\nudp = \"old\"", "counted"),
        ("algorithm = \"fq-codel\"\nrules = \"bsd\"", "linux"),
        ("algorithm = \"cake\"\nframing = \"docsis\"", "ptm"),
        ("algorithm = \"red+tail\"\nvq2 = { min_th = \"5 packets\" }", "algorithm"),
        ("algorithm = \"red+tail\"\nvq2 = { algorithm = \"bred\" }", "drop-tail"),
        ("algorithm = \"bred\"", "drop-tail"),
    ] {
        let got = toml::from_str::<AqmConfig>(text).expect_err(text).to_string();
        assert!(got.contains(want), "{text}: {got}");
    }
    // Whole numbers and both forms of the weight are right.
    for text in
        ["weight = 1", "weight = \"link-rate\"", "weight = { time_constant = \"2.4 s\" }", "max_p = 1"]
    {
        assert!(build(&format!("algorithm = \"red\"\n{text}")).is_ok(), "{text}");
    }
    assert!(build("algorithm = \"pi\"\ndesign = { flows = 100, rtt = \"200 ms\" }").is_ok());
    // Any algorithm for one queue may be within another.
    let for_one_queue = |e: &&Entry| (e.default)().build(&link()).unwrap().aqm().is_some();
    for entry in CATALOG.iter().filter(for_one_queue) {
        let text = format!("algorithm = \"red+tail\"\nvq2 = {{ algorithm = \"{}\" }}", entry.name);
        assert!(build(&text).is_ok(), "{text}");
    }
}

/// `algorithm` with the parameters in `text`, built for the usual link.
fn build(text: &str) -> Result<AnyAlgorithm, quell_aqm::ParamError> {
    toml::from_str::<AqmConfig>(text).unwrap().build(&link())
}

#[test]
fn an_error_names_the_field_its_value_and_the_rule() {
    let error = |text: &str| build(text).err().expect(text).to_string();
    let red = "algorithm = \"red\"\n";
    let tail = "algorithm = \"red+tail\"\n";
    let fq = "algorithm = \"fq-codel\"\n";
    let cake = "algorithm = \"cake\"\n";
    for (text, want) in [
        (
            format!("{red}min_th = \"20 packets\"\nmax_th = \"19 packets\""),
            "max_th = 19 packets: must not be below min_th (20 packets)",
        ),
        (
            format!("{red}min_th = \"0 packets\"\nmax_th = \"0 packets\""),
            "max_th = 0 packets: must be positive where min_th is not below it",
        ),
        (
            "algorithm = \"ared\"\nmin_th = \"20 packets\"\nmax_th = \"20 packets\"".into(),
            "max_th = 20 packets: must exceed min_th (20 packets)",
        ),
        (format!("{red}max_th = \"20 kB\""), "max_th = 20 kB: must have the unit of min_th"),
        (format!("{red}max_p = 0.0"), "max_p = 0: must lie in (0, 1]"),
        (format!("{red}max_p = nan"), "max_p = NaN"),
        (format!("{red}weight = 1.5"), "weight = 1.5: must lie in (0, 1]"),
        (format!("{red}mark_limit = 1.5"), "mark_limit = 1.5"),
        (
            format!("{red}weight = {{ time_constant = \"0 s\" }}"),
            "weight = { time_constant = \"0 s\" }: must be longer than 0 s",
        ),
        (format!("{red}max_p = 1e300"), "max_p = 1e300: must lie"),
        (
            "algorithm = \"ared\"\ntarget_delay = \"0 s\"".into(),
            "target_delay = 0 s: must be longer than 0 s",
        ),
        (
            "algorithm = \"rem\"\nupdate_interval = \"2 h\"".into(),
            "update_interval = 7200 s: must be at most 1 h",
        ),
        ("algorithm = \"ared\"\nmax_p = 0.6".into(), "max_p = 0.6: must lie in [0.01, 0.5]"),
        ("algorithm = \"ared\"\nmax_p_bottom = 0.6".into(), "max_p_bottom = 0.6"),
        ("algorithm = \"ared\"\ninterval = \"0 s\"".into(), "interval = 0 s: must be at least 1 us"),
        ("algorithm = \"ared\"\nbeta = 1.0".into(), "beta = 1: must lie in (0, 1)"),
        ("algorithm = \"pi\"\nb = 1.9e-5".into(), "b = 0.000019: must lie in (0, a)"),
        ("algorithm = \"pi\"\nq_ref = \"0 packets\"".into(), "q_ref = 0 packets: must be positive"),
        ("algorithm = \"pi\"\nsampling_rate = 0.0".into(), "sampling_rate = 0"),
        (
            "algorithm = \"pi\"\na = 1e-4\ndesign = { flows = 60.0, rtt = \"246 ms\" }".into(),
            "design = { flows = 60, rtt = \"246 ms\" }: computes a and b",
        ),
        (
            "algorithm = \"pi\"\ndesign = { flows = 60, rtt = \"10 ms\" }".into(),
            "must lie in (0, 0.85] for a phase margin",
        ),
        ("algorithm = \"rem\"\nphi = 1.0".into(), "phi = 1: must exceed 1"),
        ("algorithm = \"blue\"\nd1 = 0.0".into(), "d1 = 0: must lie in (0, 1]"),
        (format!("{tail}young_packets = 0"), "young_packets = 0: must be at least 1"),
        (format!("{tail}forget_after = \"0 s\""), "forget_after = 0 s: must be longer than 0 s"),
        (format!("{tail}flows = 0"), "flows = 0: must lie in [1, 16777216]"),
        (
            format!("{tail}min_th1 = \"30 packets\"\nmax_th1 = \"30 packets\""),
            "max_th1 = 30 packets: must exceed min_th1 (30 packets)",
        ),
        (format!("{tail}min_th1 = \"2 kB\""), "max_th1 = 200 packets: must have the unit of min_th1 (2 kB)"),
        (format!("{tail}c1_max = 1.1"), "c1_max = 1.1: must lie in [0, 1]"),
        (format!("{tail}c1_min = 0.95"), "c1_min = 0.95: must lie in [0, 0.9] [0 and c1_max]"),
        (
            format!("{tail}vq2 = {{ algorithm = \"red\", max_p = 2.0 }}"),
            "vq2 = { algorithm = \"red\" }: max_p = 2: must lie in (0, 1]",
        ),
        (format!("{tail}vq2 = {{ algorithm = \"red+tail\" }}"), "must be an algorithm for a single queue"),
        (format!("{fq}flows = 0"), "flows = 0: must lie in [1, 1048576]: a flow needs a queue"),
        (format!("{fq}quantum = \"100 B\""), "quantum = 100 B: must be at least 300 B"),
        (
            format!("{fq}target = \"100 ms\"\ninterval = \"50 ms\""),
            "interval = 50 ms: must exceed target (100 ms)",
        ),
        (format!("{fq}limit = 0"), "limit = 0: must be at least 1"),
        (format!("{fq}memory_limit = \"1 kB\""), "memory_limit = 1 kB: must hold a quantum (1514 B)"),
        (format!("{fq}drop_batch = 0"), "drop_batch = 0: must be at least 1"),
        ("algorithm = \"fq-pie\"\nflows = 0".into(), "flows = 0: must lie in [1, 1048576]"),
        ("algorithm = \"fq-pie\"\nquantum = \"64 B\"".into(), "quantum = 64 B: must be at least 300 B"),
        ("algorithm = \"fq-pie\"\ntarget = \"0 s\"".into(), "target = 0 s: must be longer than 0 s"),
        ("algorithm = \"fq-blue\"\nd1 = 0.0".into(), "d1 = 0: must lie in (0, 1]"),
        ("algorithm = \"sfq\"\ndepth = 0".into(), "depth = 0: must be at least 1"),
        ("algorithm = \"sfq\"\nperturb = \"0 s\"".into(), "perturb = 0 s: must be at least 1 ms"),
        (
            "algorithm = \"sfq-red\"\nmax_th = \"1 packet\"".into(),
            "max_th = 1 packet: must not be below min_th (2 packets)",
        ),
        (
            format!("{cake}bandwidth = \"20 Mbit/s\""),
            "bandwidth = 20 Mbit/s: must not exceed the link's rate (10 Mbit/s)",
        ),
        (format!("{cake}bandwidth = \"0 bit/s\""), "must be positive; leave it out for no shaper"),
        (format!("{cake}overhead = \"300 B\""), "overhead = 300 B: must be at most 256 B"),
        (format!("{cake}flows = 1001"), "flows = 1001: must be a multiple of 8"),
        (format!("{cake}flows = 0"), "flows = 0: must be a multiple of 8"),
        (format!("{cake}rtt = \"0 s\""), "rtt = 0 s: must lie in [20 us, 1 h]"),
        (format!("{cake}memory_limit = \"1 kB\""), "memory_limit = 1 kB: must hold a packet (1514 B)"),
        ("algorithm = \"avq\"\ntau = 1.1".into(), "tau = 1.1: must lie in (0, 1]"),
        (
            "algorithm = \"wred\"\nclasses = [{ precedence = 8 }]".into(),
            "classes = 8: a precedence must be at most 7",
        ),
        (
            "algorithm = \"wred\"\nclasses = [{ precedence = 1, min_th = \"41 packets\" }]".into(),
            "max_th = 40 packets: must not be below min_th (41 packets)",
        ),
        ("algorithm = \"sred\"\nzombies = 0".into(), "zombies = 0: must lie in [1, 1048576]"),
        ("algorithm = \"sred\"\noverwrite = 1.5".into(), "overwrite = 1.5: must lie in [0, 1]"),
        ("algorithm = \"fred\"\nmin_th = \"0 packets\"".into(), "min_th = 0: must be positive"),
        ("algorithm = \"dsred\"\nk_h = \"5 packets\"".into(), "k_h = 5 packets: must exceed k_l (5 packets)"),
        ("algorithm = \"pd-red\"\nq_ref = \"1 kB\"".into(), "q_ref = 1 kB: must have the unit of min_th"),
        ("algorithm = \"pd-red\"\nk_p = 0.0".into(), "k_p = 0: must be positive"),
        ("algorithm = \"lred\"\nperiods = 0".into(), "periods = 0: must lie in [1, 1000]"),
        ("algorithm = \"e-red\"\np_min = 1.0".into(), "p_min = 1: must lie in (0, 1)"),
        ("algorithm = \"avq\"\nbuffer = \"0 B\"".into(), "buffer = 0 B: must be positive"),
        ("algorithm = \"feng-ared\"\nalpha = 1".into(), "alpha = 1: must exceed 1 [Feng"),
        ("algorithm = \"feng-ared\"\nmax_p = 1e-5".into(), "max_p = 0.00001: must lie in [0.0001, 1]"),
        ("algorithm = \"auto-tuning-red\"\nrtt = \"0 s\"".into(), "rtt = 0 s: must be longer than 0 s"),
        ("algorithm = \"auto-tuning-red\"\nzeta = 0".into(), "zeta = 0: must be positive"),
        ("algorithm = \"ared-dt\"\np_l = 0.02".into(), "p_l = 0.02: must lie in [0, p_u)"),
        ("algorithm = \"ared-dt\"\np_weight = 2".into(), "p_weight = 2: must lie in (0, 1]"),
        (
            "algorithm = \"ared-dt\"\nmin_th_bottom = \"10 packets\"".into(),
            "min_th_bottom = 10 packets: must be positive and at most min_th (6.25 packets)",
        ),
        ("algorithm = \"st-red\"\nh_s = 0.5".into(), "h_s = 0.5: must lie in (0, gamma / sqrt 3)"),
        ("algorithm = \"st-red\"\nphi2 = 1".into(), "phi2 = 1: must lie in [0.000001, phi1)"),
        (
            "algorithm = \"st-red\"\nq_ref_top = \"30 packets\"".into(),
            "q_ref_top = 30 packets: must be at least (min_th + max_th)/2 = 40 packets",
        ),
        ("algorithm = \"ap-red\"\nflows = 0".into(), "flows = 0: must lie in [1, 1000000000]"),
        (
            "algorithm = \"ap-red\"\nrtt = [{ from = \"1 s\", value = \"1 s\" }]".into(),
            "rtt = [{ from = 1 s, value = 1 s }]: must begin at 0 s",
        ),
        ("algorithm = \"ap-red\"\nmax_flows = 0".into(), "max_flows = 0: must lie in [1, 16777216]"),
        (
            "algorithm = \"fuzzy-red\"\nerror_low = 0.3".into(),
            "error_high = 0.2: must exceed error_low (0.3)",
        ),
        (
            "algorithm = \"fuzzy-red\"\nweight_low = 0.1".into(),
            "weight_high = 0.05: must lie in [weight_low, 1]",
        ),
        ("algorithm = \"green\"\nc = 0".into(), "c = 0: must be positive"),
        ("algorithm = \"vrc\"\nalpha = 1e-3".into(), "beta = none: alpha, beta and gamma belong together"),
        ("algorithm = \"vrc\"\nalpha = 1e-3\nk_p = 0.1".into(), "k_p = 0.1: give either"),
        ("algorithm = \"pid\"\nk_p = 0\nk_i = 0".into(), "k_p = 0: must be positive if k_i is 0"),
        ("algorithm = \"dred\"\nfilter = 0.0".into(), "filter = 0: must lie in (0, 1]"),
        ("algorithm = \"spf\"\nrate_memory = \"0 s\"".into(), "rate_memory = 0 s: must be longer than 0 s"),
        ("algorithm = \"avq-rate\"\ntau = 1.1".into(), "tau = 1.1: must lie in (0, 1]"),
        ("algorithm = \"st-pi\"\nh_s = 0.5".into(), "h_s = 0.5: must lie in (0, gamma / sqrt 3"),
        (
            "algorithm = \"st-pi\"\nq_ref_max = \"40 packets\"".into(),
            "q_ref_max = 40 packets: must be at least q_ref (50 packets)",
        ),
        ("algorithm = \"hred\"\nmin_p = 0.9".into(), "min_p = 0.9: must lie in [0.00001, 0.8]"),
        ("algorithm = \"red-fixed\"\nmax_p = 0.0".into(), "max_p = 0: must lie in (0, 1]"),
        (
            "algorithm = \"codel\"\ninterval = \"5 ms\"".into(),
            "interval = 5 ms: must exceed target (5 ms) [RFC 8289 section 4.3]",
        ),
        (
            "algorithm = \"cobalt\"\ntarget = \"100 ms\"".into(),
            "interval = 100 ms: must exceed target (100 ms) [RFC 8289 section 4.3]",
        ),
        ("algorithm = \"cobalt\"\np_inc = 2.0".into(), "p_inc = 2: must lie in (0, 1]"),
        ("algorithm = \"pi2\"\ncoupling = 0.5".into(), "coupling = 0.5: must lie in [1, 100]"),
        ("algorithm = \"pi2\"\nalpha = 0.0".into(), "alpha = 0: must be positive"),
        (
            "algorithm = \"pie\"\nscheme = \"linux\"\ndecay = \"below-half\"".into(),
            "decay = below-half: is what scheme = \"linux\" fixes: leave it out, or give another scheme",
        ),
        ("algorithm = \"docsis-pie\"\nmean_packet = \"0 B\"".into(), "mean_packet = 0 B: must be positive"),
        (
            "algorithm = \"step\"\ndelay = \"1 ms\"\nqueue = \"5 packets\"".into(),
            "queue = 5 packets: give it or delay (1 ms), not both",
        ),
        ("algorithm = \"step\"\nqueue = \"0 packets\"".into(), "queue = 0 packets: must be positive"),
        ("algorithm = \"policer\"\nrate = \"0 bit/s\"".into(), "rate = 0 bit/s: must be positive"),
        (
            "algorithm = \"policer\"\nburst = \"499 B\"".into(),
            "burst = 499 B: must be at least the mean packet (500 B)",
        ),
        ("algorithm = \"sfb\"\nlevels = 0".into(), "levels = 0: must lie in [1, 16]"),
        ("algorithm = \"sfb\"\nmax = 19".into(), "max = 19: must be at least bin_size (20)"),
        (
            "algorithm = \"sfb\"\nwarmup = \"600 s\"".into(),
            "warmup = 600 s: must be shorter than rehash_interval (600 s)",
        ),
        ("algorithm = \"choke\"\ncandidates = 0".into(), "candidates = 0: must lie in [1, 64]"),
        (
            "algorithm = \"choke\"\nmax_th = \"4 packets\"".into(),
            "max_th = 4 packets: must not be below min_th (5 packets)",
        ),
        ("algorithm = \"pie\"\nalpha = 0.0".into(), "alpha = 0: must be positive"),
        ("algorithm = \"pie\"\ndq_threshold = \"65537 B\"".into(), "must lie in [1 B, 65536 B]"),
        ("algorithm = \"pie\"\nactivate_at = 1.0".into(), "activate_at = 1: must lie in [0, 1)"),
    ] {
        let got = error(text.as_str());
        assert!(got.contains(want), "{text}: {got}");
    }
}

/// A rule of good design does not forbid an experiment: the algorithm is built, and says what follows.
#[test]
fn what_is_poor_design_is_built_with_a_remark() {
    let drains =
        "a full buffer (500 packets) takes 200 ms to drain at 10 Mbit/s: no packet waits longer than this";
    let fits = "no longer queue fits into the buffer (500 packets)";
    let backlog = "so many packets never wait in the buffer (500 packets), so nothing is signaled";
    for (text, want) in [
        ("red\nmin_backlog = 501", format!("min_backlog = 501: {backlog}")),
        ("ared\nmin_backlog = 501", format!("min_backlog = 501: {backlog}")),
        ("wred\nmin_backlog = 501", format!("min_backlog = 501: {backlog}")),
        ("green\nmin_backlog = 501", format!("min_backlog = 501: {backlog}")),
        ("ared\ntarget_delay = \"10 s\"", format!("target_delay = 10 s: {drains}")),
        ("ared-fixed\ntarget_delay = \"10 s\"", format!("target_delay = 10 s: {drains}")),
        ("pie\ntarget = \"200 ms\"", format!("target = 200 ms: {drains}")),
        ("fq-pie\ntarget = \"200 ms\"", format!("target = 200 ms: {drains}")),
        ("docsis-pie\ntarget = \"200 ms\"", format!("target = 200 ms: {drains}")),
        ("pi2\ntarget = \"200 ms\"", format!("target = 200 ms: {drains}")),
        ("dualpi2\ntarget = \"200 ms\"", format!("target = 200 ms: {drains}")),
        ("dualpi2\nlimit = \"15 ms\"", "limit = 15 ms: not longer than target (15 ms)".to_string()),
        ("codel\ntarget = \"200 ms\"\ninterval = \"1 s\"", format!("target = 200 ms: {drains}")),
        ("codel\nce_threshold = \"1 s\"", format!("ce_threshold = 1 s: {drains}")),
        ("fq-codel\nce_threshold = \"1 s\"", format!("ce_threshold = 1 s: {drains}")),
        ("cobalt\ntarget = \"200 ms\"\ninterval = \"1 s\"", format!("target = 200 ms: {drains}")),
        ("step\ndelay = \"1 s\"", format!("delay = 1 s: {drains}")),
        ("step\nqueue = \"500 packets\"", format!("queue = 500 packets: {fits}")),
        ("hred-fixed\nmax_th = \"500 packets\"", format!("max_th = 500 packets: {fits}")),
        ("blue\nthreshold = \"500 packets\"", format!("threshold = 500 packets: {fits}")),
        ("pd-red\nq_ref = \"500 packets\"", format!("q_ref = 500 packets: {fits}")),
        ("pi\nq_ref = \"500 packets\"", format!("q_ref = 500 packets: {fits}")),
        ("pid\nq_ref = \"500 packets\"", format!("q_ref = 500 packets: {fits}")),
        ("rem\nq_ref = \"500 packets\"", format!("q_ref = 500 packets: {fits}")),
        ("vrc\nq_ref = \"500 packets\"", format!("q_ref = 500 packets: {fits}")),
        ("dred\nq_ref = \"500 packets\"", format!("q_ref = 500 packets: {fits}")),
        ("lred\nq_ref = \"500 packets\"", format!("q_ref = 500 packets: {fits}")),
        ("red\nmin_th = \"500 packets\"\nmax_th = \"600 packets\"", format!("min_th = 500 packets: {fits}")),
        (
            "red\nmin_th = \"20 packets\"\nmax_th = \"20 packets\"\ngentle = false",
            "max_th = 20 packets: a step: min_th is the same, and the probability goes from 0 to 1 there"
                .into(),
        ),
        ("red-fixed\nmin_th = \"15 packets\"", "max_th = 15 packets: a step: ".into()),
        ("choke\nmin_th = \"15 packets\"", "max_th = 15 packets: a step: ".into()),
        ("sfq-red\nmin_th = \"6 packets\"", "max_th = 6 packets: a step: ".into()),
        (
            "wred\nclasses = [{ precedence = 1, min_th = \"40 packets\" }]",
            "max_th = 40 packets: a step: min_th is the same".into(),
        ),
        (
            "red\nforced = \"mark\"\nmark_limit = 0.1",
            "forced = mark has no effect with mark_limit = 0.1: a probability of 1 is beyond that limit; leave one of them out"
                .into(),
        ),
        ("red\nmark_limit = 1", "mark_limit = 1 has no effect with probabilities of at most 1: ".into()),
        ("red-fixed\ngentle = false\nmark_limit = 0.1", "mark_limit = 0.1 has no effect with gentle = false: ".into()),
        (
            "ared\ngentle = false\nmark_limit = 0.5",
            "mark_limit = 0.5 has no effect with gentle = false: the probability goes from max_p_top to 1".into(),
        ),
        ("pie\ndq_threshold = \"1 kB\"", "dq_threshold = 1 kB has no effect with delay_from = departures: ".into()),
        ("pie\nturn_off = \"empty\"", "turn_off = empty has no effect with activate_at = 0: ".into()),
        ("fq-codel\nce_threshold_for = \"ect1\"", "ce_threshold_for = ect1 has no effect with ce_threshold left out: ".into()),
        ("dualpi2\ntshift = \"1 ms\"", "tshift = 1 ms has no effect with scheduler = wrr: ".into()),
        ("curvy-red\nc_weight = 0.1", "c_weight = 0.1 has no effect with scheduler = ts-fifo: ".into()),
        ("dualpi2\nclassifier = \"off\"\nrange = \"1 ms\"", "range = 1 ms has no effect with classifier = off: ".into()),
        ("dualpi2\nnot_ect_in_l = \"pass\"", "not_ect_in_l = pass has no effect with dscp left out: ".into()),
        ("wred\nlowest = 1\nmax_p = 0.2", "max_p = 0.2 has no effect with min_th = max_th ".into()),
    ] {
        let (name, rest) = text.split_once('\n').unwrap();
        let config: AqmConfig = toml::from_str(&format!("algorithm = \"{name}\"\n{rest}")).unwrap();
        config.build(&link()).map(drop).unwrap_or_else(|e| panic!("{text}: {e}"));
        let remarks: Vec<String> = config.remarks(&link()).iter().map(ToString::to_string).collect();
        let found = remarks.iter().filter(|remark| remark.starts_with(&want)).count();
        let others = remarks.len() - found;
        // A step is one whatever it leaves without effect.
        assert!(found == 1 && others <= usize::from(text.contains("lowest = 1")), "{text}: {remarks:?}");
    }
    for entry in CATALOG {
        assert_eq!((entry.default)().remarks(&link()), [], "{}", entry.name);
    }
    // Adaptive RED moves max_p beyond what it begins with.
    let moved: AqmConfig = toml::from_str("algorithm = \"ared\"\ngentle = false\nmark_limit = 0.1").unwrap();
    assert_eq!(moved.remarks(&link()), []);
}

/// Thresholds that differ by less than rounding are equal, and none of the results is infinite.
#[test]
fn a_step_is_a_step_but_for_rounding() {
    for (min_th, max_th) in [("20 packets", "20.0000000001 packets"), ("20.0000000001 packets", "20 packets")]
    {
        let text = format!("algorithm = \"red\"\nmin_th = \"{min_th}\"\nmax_th = \"{max_th}\"\nweight = 1.0");
        let config: AqmConfig = toml::from_str(&text).unwrap();
        assert_eq!(config.remarks(&link()).len(), 1, "{text}");
        let AnyAlgorithm::Aqm(mut aqm) = config.build(&link()).unwrap() else { panic!() };
        let mut rng = Seed(1).stream("aqm");
        for packets in [19, 20, 21, 40, 41] {
            let queue = QueueView {
                packets: Packets::new(packets),
                bytes: Bytes::new(500 * u64::from(packets)),
                head_since: None,
                link_rate: None,
            };
            let pkt = PacketMeta { bytes: Bytes::new(500), ..Default::default() };
            let _ = aqm.on_enqueue(&mut Ctx::new(Time::ZERO, queue, &mut rng), &pkt);
            let mut seen = Log::default();
            aqm.observe(&mut seen);
            assert!(
                seen.signals.iter().all(|(_, x)| x.is_finite() && *x >= 0.0),
                "{text}: {:?}",
                seen.signals
            );
        }
    }
}

/// What would leave an algorithm nothing to do.
#[test]
fn a_policer_above_its_link_is_refused() {
    let refused = |name: &str, key: &str, value: &str| {
        let value = serde_json::json!({ key: value });
        let config = AqmConfig::deserialize_named(name, value).unwrap().unwrap();
        config.build(&link()).err().map(|e| (e.field, e.rule.to_string()))
    };
    let rate = link().rate;
    let faster = BitRate::from_bps(rate.bps() + 1).to_string();
    let (field, rule) = refused("policer", "rate", &faster).unwrap();
    assert!(field == "rate" && rule.starts_with("must be at most the link's"), "{rule}");
    assert_eq!(refused("policer", "rate", &rate.to_string()), None);
}

#[test]
fn a_link_without_rate_or_packet_size_is_refused() {
    for entry in CATALOG.iter().filter(|e| e.name != "drop-tail") {
        let no_rate = Link { rate: BitRate::from_bps(0), ..link() };
        assert_eq!((entry.default)().build(&no_rate).err().unwrap().field, "rate");
        let no_size = Link { mean_packet: Bytes::new(0), ..link() };
        assert_eq!((entry.default)().build(&no_size).err().unwrap().field, "mean_packet");
    }
}
