//! What CAKE does besides its queues: it shapes arrivals, follows their rate, filters acknowledgments, takes away DSCPs
//! and counts.

use std::collections::BTreeMap;

use quell_aqm::cake::{Cake, CakeParams, Diffserv, Isolation};
use quell_aqm::part::AckFilter;
use quell_aqm::{Acknowledgment, Cause, Discipline, Ecn, FlowId, Link, Probe, Seed};
use quell_queue::{Admission, Dequeued, DropPoint, Dropped, Limit, Parallel, Qdisc};
use quell_units::{BitRate, Bytes, Duration, QueueSize, Time};

#[derive(Clone, Copy, Debug, PartialEq)]
struct Segment {
    number: u64,
    bytes: u64,
    flow: u32,
    ecn: Ecn,
    dscp: u8,
    ack: Option<Acknowledgment>,
}

const DATA: Segment = Segment { number: 0, bytes: 1500, flow: 0, ecn: Ecn::NotEct, dscp: 0, ack: None };

/// A pure acknowledgment.
fn ack(flow: u32, number: u32) -> Segment {
    let ack = Acknowledgment { number, pure: true, ..Default::default() };
    Segment { number: number.into(), bytes: 66, flow, ack: Some(ack), ..DATA }
}

impl quell_queue::Packet for Segment {
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
    fn dscp(&self) -> u8 {
        self.dscp
    }
    fn wash(&mut self) {
        self.dscp = 0;
    }
    fn acknowledgment(&self) -> Option<Acknowledgment> {
        self.ack
    }
}

fn params() -> CakeParams {
    CakeParams {
        bandwidth: Some(BitRate::from_bps(8_000_000)),
        diffserv: Diffserv::Besteffort,
        isolation: Isolation::Flows,
        hash_key: Some(1),
        ..Default::default()
    }
}

/// A shaped queue before a link of 100 Mbit/s.
struct Shaped {
    queue: Parallel<Segment, Cake>,
    /// The link is free from then on.
    free: Time,
    sent: Vec<Segment>,
    dropped: Vec<Dropped<Segment>>,
}

impl Shaped {
    fn new(params: &CakeParams, buffer: u64) -> Self {
        let link = Link {
            rate: BitRate::from_bps(100_000_000),
            buffer: QueueSize::Bytes(buffer as f64),
            mean_packet: Bytes::new(1500),
        };
        let cake = params.build(&link).unwrap();
        let limit = Limit::of(link.buffer);
        let queue = Parallel::new(cake, Seed(1).stream("cake"), limit, true, Some(link.rate));
        Shaped { queue, free: Time::ZERO, sent: Vec::new(), dropped: Vec::new() }
    }

    /// Sends what may be sent before `until`.
    fn run(&mut self, until: Time) {
        while self.free < until {
            match self.queue.dequeue(self.free, &mut |d| self.dropped.push(d)) {
                Dequeued::Packet(segment, _) => {
                    self.sent.push(segment);
                    self.free += Duration::from_nanos(80 * segment.bytes);
                }
                Dequeued::NotBefore(time) => self.free = time,
                Dequeued::Nothing => self.free = until,
            }
        }
    }

    fn arrive(&mut self, at: Time, segment: Segment) -> Admission {
        self.run(at);
        self.queue.enqueue(at, segment, &mut |d| self.dropped.push(d))
    }

    fn sent_bytes(&self) -> u64 {
        self.sent.iter().map(|s| s.bytes).sum()
    }

    fn signals(&self) -> BTreeMap<&'static str, f64> {
        #[derive(Default)]
        struct Signals(BTreeMap<&'static str, f64>);
        impl Probe for Signals {
            fn value(&mut self, name: &'static str, _: &'static str, x: f64) {
                assert_eq!(self.0.insert(name, x), None, "{name} comes once");
            }
        }
        let mut signals = Signals::default();
        self.queue.observe(&mut signals);
        signals.0
    }
}

fn at(seconds: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(seconds)
}

/// A flood that answers nothing: the shaper of what is sent carries its whole rate. That of arrivals counts drops, which
/// alone are more than the rate, and its second clock leaves the flow two thirds.
#[test]
fn a_flood_keeps_two_thirds_of_what_shapes_arrivals() {
    for (ingress, share) in [(false, 1.0), (true, 2.0 / 3.0)] {
        let mut line = Shaped::new(&CakeParams { ingress, ..params() }, 100_000);
        for i in 0..40_000 {
            // Twice the rate, for 30 s.
            let _ = line.arrive(at(f64::from(i) * 0.000_75), DATA);
        }
        let got = line.sent_bytes() as f64 / 30.0 / 1e6;
        assert!((got - share).abs() < 0.01, "ingress = {ingress}: {got} of the rate, not {share}");
    }
}

/// Senders that slow down to 0.7 of their rate when they lose a packet, once in a round-trip time: what
/// arrives at the shaper is its rate at most where it counts drops, and more where it does not.
#[test]
fn arrivals_obey_the_shaper_that_counts_drops() {
    let arriving = |ingress| {
        let mut line = Shaped::new(&CakeParams { ingress, ..params() }, 100_000);
        // Eight of them: each grows by a packet per round-trip time of 100 ms.
        let (mut rates, mut due, mut heard) = ([2e5; 8], [0.0; 8], [-1.0; 8]);
        let (mut bytes, mut seen) = (0, 0);
        loop {
            let flow = (0..8).min_by(|a: &usize, b| f64::total_cmp(&due[*a], &due[*b])).unwrap();
            let now = due[flow];
            if now > 60.0 {
                break bytes as f64 / 60.0 / 1e6;
            }
            let _ = line.arrive(at(now), Segment { flow: flow as u32, ..DATA });
            bytes += DATA.bytes;
            for lost in line.dropped.drain(seen..) {
                let flow = lost.packet.flow as usize;
                if now - heard[flow] > 0.1 {
                    (rates[flow], heard[flow]) = (rates[flow] * 0.7, now);
                }
            }
            seen = line.dropped.len();
            let between = DATA.bytes as f64 / rates[flow];
            rates[flow] += 1.5e5 * between;
            due[flow] = now + between;
        }
    };
    let (ingress, egress) = (arriving(true), arriving(false));
    assert!(egress > 1.03, "drops come on top of the rate: {egress}");
    assert!((0.9..1.0).contains(&ingress), "{ingress}");
}

/// A packet that is dropped holds up the next one by the time that it would have taken.
#[test]
fn what_is_dropped_takes_its_time() {
    let held = |ingress| {
        let mut line = Shaped::new(&CakeParams { ingress, ..params() }, 3_000);
        let now = at(1.0);
        line.free = now;
        // The first begins to leave; of the others the buffer holds two, and one of them goes.
        for number in 0..4 {
            line.run(now + Duration::from_nanos(number));
            let _ = line.arrive(now + Duration::from_nanos(number), Segment { number, ..DATA });
        }
        assert_eq!((line.sent.len(), line.dropped.len()), (1, 1));
        match line.queue.dequeue(now + Duration::from_micros(200), &mut |_| {}) {
            Dequeued::NotBefore(time) => time - now,
            other => panic!("{other:?}"),
        }
    };
    // 1.5 ms each; the second clock is at 2.25 ms, which comes first if two have been counted.
    assert_eq!(held(false), Duration::from_micros(1500));
    assert_eq!(held(true), Duration::from_micros(2250));
}

/// Sorted by their DSCP, and then without one: the next CAKE knows nothing of it.
#[test]
fn a_washed_packet_is_best_effort_for_the_next_queue() {
    for wash in [false, true] {
        let given = CakeParams { wash, diffserv: Diffserv::Diffserv4, statistics: true, ..params() };
        let (mut first, mut next) = (Shaped::new(&given, 100_000), Shaped::new(&given, 100_000));
        for (number, dscp) in [0, 8, 34, 46].into_iter().enumerate() {
            let segment = Segment { number: number as u64, flow: number as u32, dscp, ..DATA };
            let _ = first.arrive(Time::ZERO, segment);
        }
        let tins = |line: &Shaped| {
            ["bulk_pkts", "best_effort_pkts", "video_pkts", "voice_pkts"].map(|name| line.signals()[name])
        };
        assert_eq!(tins(&first), [1.0; 4], "the first sorts them by what they come with");
        first.run(at(1.0));
        assert_eq!(first.sent.len(), 4);
        for segment in &first.sent {
            let _ = next.arrive(Time::ZERO, *segment);
        }
        assert_eq!(tins(&next), if wash { [0.0, 4.0, 0.0, 0.0] } else { [1.0; 4] }, "wash = {wash}");
    }
}

/// The counts of the tins are those of the host together, whatever happens.
#[test]
fn tins_count_what_the_queue_counts() {
    for ingress in [false, true] {
        let given = CakeParams {
            ingress,
            diffserv: Diffserv::Diffserv4,
            isolation: Isolation::Triple,
            statistics: true,
            ack_filter: AckFilter::Aggressive,
            rtt: Duration::from_millis(20),
            ..params()
        };
        let mut line = Shaped::new(&given, 60_000);
        let mut rng = Seed(7).stream("tins");
        let (mut now, mut longest) = (Time::ZERO, 0);
        for number in 0..20_000u32 {
            // A load that goes up and down, and ends now and then.
            let load = [0.5, 2.5, 1.2, 0.1][number as usize / 500 % 4];
            now += Duration::from_secs_f64(rng.exponential(0.000_8 / load));
            let flow = (rng.uniform() * 12.0) as u32;
            let segment = match rng.uniform() {
                u if u < 0.3 => ack(flow, number),
                u => Segment { bytes: 100 + (u * 1400.0) as u64, flow, ..DATA },
            };
            let ecn = if segment.ack.is_none() && flow.is_multiple_of(2) { Ecn::Ect0 } else { Ecn::NotEct };
            let segment = Segment { ecn, dscp: [0, 8, 34, 46][flow as usize % 4], ..segment };
            longest = longest.max(segment.bytes);
            let _ = line.arrive(now, segment);
            if !number.is_multiple_of(97) {
                continue;
            }
            let signals = line.signals();
            let sum = |name: &str| -> f64 {
                ["bulk", "best_effort", "video", "voice"]
                    .map(|t| signals[format!("{t}_{name}").as_str()])
                    .iter()
                    .sum()
            };
            let counters = line.queue.counters();
            let filtered = line.dropped.iter().filter(|d| d.cause == Cause::Forced);
            assert_eq!(sum("pkts"), counters.arrived.packets as f64);
            assert_eq!(sum("bytes"), counters.arrived.bytes as f64);
            assert_eq!(sum("backlog"), line.queue.view().bytes.get() as f64);
            assert_eq!(sum("marks"), counters.marked.packets as f64);
            assert_eq!(sum("ack_drop"), filtered.clone().count() as f64);
            assert_eq!(sum("drops"), (line.dropped.len() - filtered.count()) as f64);
            // Those on no list are at rest, and those on the third one are not new or old.
            assert!(sum("sp_flows") + sum("bk_flows") >= signals["new_queues"] + signals["old_queues"]);
            assert!(sum("bk_flows") <= signals["old_queues"]);
            assert!(sum("un_flows") <= sum("sp_flows") + sum("bk_flows"));
            for tin in ["bulk", "best_effort", "video", "voice"] {
                let of = |name: &str| signals[format!("{tin}_{name}").as_str()];
                assert!(of("sp_delay") <= of("pk_delay") && of("av_delay") <= of("pk_delay") + 1e-3, "{tin}");
            }
        }
        let signals = line.signals();
        for name in ["video_marks", "video_drops", "bulk_ack_drop", "voice_pk_delay", "best_effort_way_miss"]
        {
            assert!(signals[name] > 0.0, "{name} is one of what happens");
        }
        assert_eq!(signals["best_effort_thresh"] / 16.0, signals["bulk_thresh"]);
        assert_eq!(
            signals["voice_max_len"]
                .max(signals["bulk_max_len"])
                .max(signals["video_max_len"])
                .max(signals["best_effort_max_len"]),
            longest as f64
        );
    }
}

/// Acknowledgments wait behind each other at a slow shaper, and each later one is dropped for or drops one before.
#[test]
fn a_queue_holds_few_acknowledgments_if_they_are_filtered() {
    let after = |ack_filter| {
        let given = CakeParams { ack_filter, ..params() };
        let mut line = Shaped::new(&given, 100_000);
        // One that leaves at once, and holds the others up.
        let _ = line.arrive(Time::ZERO, Segment { flow: 9, ..DATA });
        line.run(Time::from_nanos(1));
        for number in 10..30 {
            let now = Time::from_nanos(u64::from(number));
            line.run(now);
            for flow in [1, 2] {
                assert_eq!(line.arrive(now, ack(flow, number)), Admission::Queued);
            }
            // Data of the same flow, which has nothing to do with it.
            if number == 20 {
                let _ = line.arrive(now, Segment { number: 1000, flow: 1, ..DATA });
            }
        }
        let waits = line.queue.view();
        let counters = line.queue.counters();
        assert_eq!(
            counters.enqueued.packets,
            counters.departed.packets + counters.dropped.total().packets + u64::from(waits.packets.get())
        );
        assert_eq!(counters.dropped.forced, counters.dropped.total());
        assert!(line.dropped.iter().all(|d| d.place == DropPoint::Waiting && d.cause == Cause::Forced));
        line.run(at(1.0));
        let of =
            |flow| -> Vec<u64> { line.sent.iter().filter(|s| s.flow == flow).map(|s| s.number).collect() };
        (of(1), of(2))
    };
    let every: Vec<u64> = (10..30).collect();
    assert_eq!(after(AckFilter::Off).1, every);
    // Of each flow the newest two; and the newest alone.
    assert_eq!(after(AckFilter::On).1, [28, 29]);
    assert_eq!(after(AckFilter::Aggressive).1, [29]);
    // Behind data two are left again: the first of two is dropped, and so there are two once more.
    assert_eq!(after(AckFilter::On).0, [1000, 28, 29]);
    assert_eq!(after(AckFilter::Aggressive).0, [1000, 28, 29]);
}

/// Bursts of four packets every 8 ms, 6 Mbit/s, after a guess of 2: the shaper comes to 15/16 of it, and follows when the
/// bursts come half as often.
#[test]
fn the_shaper_follows_the_rate_of_arrivals() {
    let given = CakeParams {
        bandwidth: Some(BitRate::from_bps(2_000_000)),
        autorate_ingress: true,
        ingress: true,
        statistics: true,
        ..params()
    };
    let mut line = Shaped::new(&given, 1_000_000);
    let mut now = Time::ZERO;
    for (every, rate) in [(8, 6e6), (16, 3e6)] {
        for _ in 0..2000 {
            now += Duration::from_millis(every);
            for flow in 0..4 {
                let _ = line.arrive(now, Segment { flow, ..DATA });
            }
        }
        let got = line.signals()["best_effort_thresh"];
        assert!((got / rate * 16.0 / 15.0 - 1.0).abs() < 0.01, "{got}, not 15/16 of {rate}");
        // What follows from the rate follows, too.
        assert_eq!(line.signals()["best_effort_quantum"], (got / 8.0 / 4096.0).floor().clamp(300.0, 1514.0));
    }
    assert_eq!(line.queue.discipline().lanes(), 1024);
}

/// Greedy flows for 10 s: the bytes of each, and the most that is sent beyond the rate since the beginning.
fn of_several(queues: u32, flows: u32, begin: impl Fn(u32) -> f64) -> (Vec<u64>, f64, Vec<usize>) {
    let mut line = Shaped::new(&CakeParams { queues, ..params() }, 1_000_000);
    let (mut lanes, mut beyond, mut bytes) = (vec![0; flows as usize], 0.0f64, 0);
    for ms in 0..10_000 {
        let now = at(f64::from(ms) / 1e3);
        line.run(now);
        beyond = beyond.max(line.sent_bytes() as f64 - bytes as f64);
        bytes += 1000;
        for flow in (0..flows).filter(|flow| begin(*flow) <= f64::from(ms) / 1e3) {
            // So many of each wait that none runs dry.
            let waits = line.queue.lane_view(lanes[flow as usize]).map_or(0, |lane| lane.packets.get());
            if waits < 12 {
                let _ = line.arrive(now, Segment { flow, ecn: Ecn::Ect0, ..DATA });
                let _ = line.arrive(now, Segment { flow, ecn: Ecn::Ect0, ..DATA });
                lanes[flow as usize] = line.queue.arrival_lane();
            }
        }
    }
    let of = |flow| line.sent.iter().filter(|s| s.flow == flow).map(|s| s.bytes).sum();
    ((0..flows).map(of).collect(), beyond, lanes.iter().map(|lane| lane / 1024).collect())
}

/// The queues of a card share the rate among those that are active: one alone has all of it, and of several each has the same,
/// whatever flows it has.
#[test]
fn queues_of_a_card_share_the_rate() {
    for flows in [1, 2, 3, 6, 10] {
        let (bytes, beyond, members) = of_several(4, flows, |_| 0.0);
        let total: u64 = bytes.iter().sum();
        assert!((total as f64 / 1e7 - 1.0).abs() < 0.01, "{flows} flows: {total} bytes in 10 s at 1 MB/s");
        // Until they have counted each other, each sends at the rate of fewer; for 200 us, and a packet each.
        assert!(beyond < 4.0 * 1500.0 + 4.0 * 200.0, "{flows} flows: {beyond} bytes beyond the rate");
        let mut of_members = BTreeMap::new();
        for (member, bytes) in members.iter().zip(&bytes) {
            *of_members.entry(*member).or_insert(0) += bytes;
        }
        assert!(of_members.len() > 1 || flows < 3, "{members:?}");
        for (member, bytes) in &of_members {
            let share = *bytes as f64 * of_members.len() as f64 / total as f64;
            assert!((share - 1.0).abs() < 0.02, "{flows} flows: queue {member} has {share} of its share");
        }
    }
    // With one queue flows are equal; with several they are if their queues have as many.
    let (bytes, ..) = of_several(1, 6, |_| 0.0);
    let (least, most) = (bytes.iter().min().unwrap(), bytes.iter().max().unwrap());
    assert!(most - least <= 3000, "{bytes:?}");
}

/// A queue that falls idle leaves its share to the others, and one that comes back gets it again.
#[test]
fn a_queue_that_comes_later_halves_the_rate_of_another() {
    let (_, _, members) = of_several(4, 8, |_| 0.0);
    let other =
        (1..8).find(|flow| members[*flow] != members[0]).expect("of eight flows not all share a queue");
    let flows = other as u32 + 1;
    // The two alone, and the second only for the latter half.
    let begin = |flow: u32| {
        if flow == 0 {
            0.0
        } else if flow + 1 == flows {
            5.0
        } else {
            100.0
        }
    };
    let (bytes, beyond, _) = of_several(4, flows, begin);
    assert!((bytes[0] as f64 / 7.5e6 - 1.0).abs() < 0.02, "{bytes:?}");
    assert!((bytes[other] as f64 / 2.5e6 - 1.0).abs() < 0.02, "{bytes:?}");
    assert!(beyond < 6000.0, "{beyond}");
}
