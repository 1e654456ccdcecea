//! After the warm-up an engine takes no memory: not for packets, timers, segments, series or the
//! algorithm's signals. An allocator counts; the first queue's algorithm, which knows the time, says
//! from when to when. The allocator is the whole process's, so these tests have a binary of their own.
//!
//! Three things grow to the largest size they have needed and keep it: the rings of packets on the
//! way (by doubling), the list of a receiver's blocks, and the list of finished transfers, which is
//! output. The windows here are so small that the first two are large enough from their first use,
//! and a wire that loses packets brings it early.
#![allow(unsafe_code)] // an allocator is unsafe by nature; this one hands on to the system's

mod common;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use common::*;
use quell_aqm::catalog::{AnyAqm, AnyDiscipline, AqmConfig};
use quell_aqm::{
    Algorithm, Aqm, Ctx, Departures, Discipline, LanesCtx, Next, PacketMeta, Probe, Verdict, Victim,
};
use quell_sim::network::*;
use quell_tcp::{Recovery, TcpParams};
use quell_units::{BitRate, QueueSize, Time};

thread_local! {
    /// Whether this thread's requests count.
    static COUNTING: Cell<bool> = const { Cell::new(false) };
    static REQUESTS: Cell<u64> = const { Cell::new(0) };
}

struct Counting;

impl Counting {
    fn note(&self, bytes: usize) {
        // A thread that ends may have lost its cell already.
        if COUNTING.try_with(Cell::get) != Ok(true) {
            return;
        }
        COUNTING.set(false);
        REQUESTS.set(REQUESTS.get() + 1);
        eprintln!("{bytes} bytes requested here:\n{}", std::backtrace::Backtrace::force_capture());
        COUNTING.set(true);
    }
}

// SAFETY: everything is the system allocator's.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        self.note(layout.size());
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        self.note(size);
        unsafe { System.realloc(at, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// An algorithm or a discipline that has the allocator count between two times.
struct Watch<A> {
    inner: A,
    from: Time,
    to: Time,
    at_dequeue: bool,
}

impl<A> Watch<A> {
    fn new(inner: A, at_dequeue: bool) -> Box<Self> {
        Box::new(Watch { inner, from: at(WARMUP), to: at(END - 0.5), at_dequeue })
    }

    fn look(&self, now: Time) {
        COUNTING.set(now >= self.from && now < self.to);
    }
}

impl Aqm for Watch<AnyAqm> {
    fn on_enqueue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        self.look(cx.now);
        self.inner.on_enqueue(cx, pkt)
    }
    fn on_dequeue(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) -> Verdict {
        self.inner.on_dequeue(cx, pkt)
    }
    fn departures(&self) -> Departures {
        if self.at_dequeue { Departures::Decided } else { self.inner.departures() }
    }
    fn on_overflow(&mut self, cx: &mut Ctx<'_>, pkt: &PacketMeta) {
        self.inner.on_overflow(cx, pkt);
    }
    fn on_idle(&mut self, since: Time) {
        self.inner.on_idle(since);
    }
    fn next_update(&self) -> Option<Time> {
        self.inner.next_update()
    }
    fn on_update(&mut self, cx: &mut Ctx<'_>) {
        self.inner.on_update(cx);
    }
    fn observe(&self, out: &mut dyn Probe) {
        self.inner.observe(out);
    }
}

impl Discipline for Watch<AnyDiscipline> {
    fn draw(&mut self, rng: &mut quell_aqm::Rng) {
        self.inner.draw(rng);
    }
    fn is_crowded(&self, lanes: &quell_aqm::Lanes<'_>, pkt: &PacketMeta) -> bool {
        self.inner.is_crowded(lanes, pkt)
    }
    fn lanes(&self) -> usize {
        self.inner.lanes()
    }
    fn classify(&mut self, now: Time, pkt: &PacketMeta) -> usize {
        self.look(now);
        self.inner.classify(now, pkt)
    }
    fn on_enqueue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        self.inner.on_enqueue(cx, lane, pkt)
    }
    fn victim(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Victim {
        self.inner.victim(cx, lane, pkt)
    }
    fn on_overflow(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) {
        self.inner.on_overflow(cx, lane, pkt);
    }
    fn next(&mut self, cx: &mut LanesCtx<'_>) -> Next {
        self.inner.next(cx)
    }
    fn on_dequeue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        self.inner.on_dequeue(cx, lane, pkt)
    }
    fn on_idle(&mut self, lane: usize, since: Time) {
        self.inner.on_idle(lane, since);
    }
    fn next_update(&self) -> Option<Time> {
        self.inner.next_update()
    }
    fn on_update(&mut self, cx: &mut LanesCtx<'_>) {
        self.inner.on_update(cx);
    }
    fn observe(&self, out: &mut dyn Probe) {
        self.inner.observe(out);
    }
}

const WARMUP: f64 = 40.0;
const END: f64 = 80.0;
/// Rings begin with 16 packets, lists of blocks with four, which need eight packets.
const WINDOW: u32 = 8;

/// Requests for memory after the warm-up of a network whose first link has this algorithm.
fn requests(network: Network, config: &AqmConfig, at_dequeue: bool) -> u64 {
    counted(network, config, at_dequeue).0
}

/// The same, and how many transfers were finished after the warm-up.
fn counted(mut network: Network, config: &AqmConfig, at_dequeue: bool) -> (u64, usize) {
    let watched = match build(config, 10_000_000, QueueSize::Packets(100.0), 1000) {
        Algorithm::Aqm(aqm) => AnyAqm::Custom(Watch::new(aqm, at_dequeue)).into(),
        Algorithm::Discipline(d) => AnyDiscipline::Custom(Watch::new(d, at_dequeue)).into(),
    };
    network.links[0].queue.as_mut().unwrap().algorithm = watched;
    network.links[0].impairments = Impairments::losing(0.01);
    network.measure = Measure {
        warmup: at(WARMUP),
        end: at(END),
        boundaries: (5..8).map(|i| at(10.0 * i as f64)).collect(),
        step: Some(secs(0.1)),
    };
    REQUESTS.set(0);
    let outcome = go(network);
    COUNTING.set(false);
    assert!(outcome.conservation.delivered > 50_000, "{:?}", outcome.conservation);
    (REQUESTS.get(), outcome.transfers.len())
}

fn red() -> AqmConfig {
    let (min_th, max_th) = (QueueSize::Packets(20.0), QueueSize::Packets(60.0));
    AqmConfig::Red(quell_aqm::red::RedParams { min_th, max_th, ..Default::default() })
}

/// Greedy flows that recover with `recovery`.
fn bulk(recovery: Recovery) -> Network {
    Dumbbell { tcp: TcpParams { recovery, max_window: WINDOW, ..Default::default() }, ..Default::default() }
        .network()
}

/// Beside greedy flows there and back: web transfers, each on a connection of its own, and UDP.
fn mixed() -> Network {
    let mut network = bulk(Recovery::Reno);
    let flows = network.flows.len();
    let ways: Vec<_> = network.flows.iter().map(|f| (f.forward.clone(), f.reverse.clone())).collect();
    for (i, (forward, reverse)) in ways.into_iter().enumerate() {
        let tcp = TcpParams { max_window: WINDOW, ..Default::default() };
        let traffic = match i % 3 {
            0 => Traffic::Tcp {
                tcp,
                app: App::Transfers {
                    size: Distribution::Exponential(12.0),
                    think: Distribution::Exponential(0.5),
                    count: None,
                    connection: Connection::Fresh,
                    request: None,
                },
            },
            1 => Traffic::Udp(UdpSpec {
                packet: Distribution::Constant(500.0),
                pace: Pace {
                    rate: Schedule::constant(BitRate::from_bps(100_000)),
                    gaps: Gaps::Exponential,
                    on_off: Some((Distribution::Exponential(1.0), Distribution::Exponential(1.0))),
                },
                ecn: false,
            }),
            _ => Traffic::Tcp { tcp, app: App::Bulk },
        };
        let back = i % 3 == 2;
        let (forward, reverse) = if back { (reverse, forward) } else { (forward, reverse) };
        let reverse = if i % 3 == 1 { Vec::new() } else { reverse };
        network.flows.push(FlowSpec {
            class: 0,
            ack_class: 1,
            dscp: 0,
            hosts: Default::default(),
            forward,
            reverse,
            traffic,
            start: at(i as f64 / flows as f64),
            stop: None,
            timed: false,
        });
    }
    let queue = QueueSpec { buffer: QueueSize::Packets(50.0), algorithm: drop_tail(), ecn: false };
    network.links[1].queue = Some(Box::new(queue));
    network.links[1].observe = true;
    network
}

#[test]
fn greedy_flows_take_no_memory_after_the_warm_up() {
    for recovery in [Recovery::Tahoe, Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Prr] {
        assert_eq!(requests(bulk(recovery), &red(), false), 0, "{recovery:?}");
    }
}

#[test]
fn a_queue_served_packet_by_packet_takes_no_memory_after_the_warm_up() {
    assert_eq!(requests(bulk(Recovery::Reno), &red(), true), 0);
}

/// Data and acknowledgments of all flows share a channel, in every way of keeping queues at its access point. Tens of
/// thousands of frames take nothing.
#[test]
fn a_channel_takes_little_memory_after_the_warm_up() {
    use quell_queue::{AccessPoint, Channel, Station};
    let airtime = AccessPoint::Airtime { quantum: quell_units::Duration::from_micros(300) };
    for access_point in [AccessPoint::One { driver: 32 }, AccessPoint::Turns, airtime] {
        let station = |i: u64| Station {
            name: format!("s{i}"),
            rate: BitRate::from_bps(20_000_000 << (i % 3)),
            loss: 0.1,
            packets: None,
        };
        let channel = Channel::n(access_point, (0..5).map(station).collect());
        let mut network = bulk(Recovery::NewReno);
        let at = |i: usize| AtStation { station: (i % 5) as u8, sends: i.is_multiple_of(7) };
        let of_flow = (0..network.flows.len()).map(at).collect();
        let (lanes, buffer) = (channel.lanes().len(), QueueSize::Packets(100.0));
        let spec = |algorithm| QueueSpec { buffer, algorithm, ecn: false };
        let mut queues: Vec<QueueSpec> = (0..lanes).map(|_| spec(drop_tail())).collect();
        let Algorithm::Aqm(aqm) = build(&red(), 10_000_000, buffer, 1000) else { unreachable!("RED") };
        queues[0].algorithm = AnyAqm::Custom(Watch::new(aqm, false)).into();
        network.links[0].queue = None;
        network.links[0].wifi = Some(Box::new(WifiSpec { channel, queues, of_flow }));
        for flow in &mut network.flows {
            let ways = flow.forward.iter_mut().chain(&mut flow.reverse);
            ways.filter(|link| link.0 == 1).for_each(|link| link.0 = 0);
        }
        network.measure = Measure {
            warmup: common::at(WARMUP),
            end: common::at(END),
            boundaries: (5..8).map(|i| common::at(10.0 * i as f64)).collect(),
            step: Some(secs(0.1)),
        };
        REQUESTS.set(0);
        let outcome = go(network);
        COUNTING.set(false);
        assert!(outcome.conservation.delivered > 50_000, "{:?}", outcome.conservation);
        // The queues of lanes, and the lists of receivers, may reach their largest size late.
        assert!(REQUESTS.get() <= 8, "{access_point:?}: {}", REQUESTS.get());
    }
}

#[test]
fn every_algorithm_takes_no_memory_after_the_warm_up() {
    for entry in quell_aqm::catalog::CATALOG {
        assert_eq!(requests(bulk(Recovery::Reno), &(entry.default)(), false), 0, "{}", entry.name);
    }
}

#[test]
fn mixed_traffic_takes_little_memory_after_the_warm_up() {
    let (requests, transfers) = counted(mixed(), &red(), false);
    assert!(transfers > 100, "{transfers}");
    // Their list doubles: as many fit into the second half of the run as into the first. And the
    // calendars follow the load, which web traffic changes.
    assert!(requests <= 8, "{requests}");
}

#[test]
fn the_counter_counts() {
    COUNTING.set(true);
    let taken = std::hint::black_box(Box::new(7));
    COUNTING.set(false);
    assert_eq!((*taken, REQUESTS.get()), (7, 1));
}
