//! The permanent differential test: on every network, the fast engine and the plain reference
//! engine give the same outcome, bit for bit, and no packet is lost from sight.

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use quell_aqm::catalog::{AnyAqm, AnyDiscipline, AqmConfig, CATALOG};
use quell_aqm::red_tail::RedTailParams;
use quell_aqm::{
    Aqm, Cause, Ctx, Departures, Discipline, Ecn, FlowId, LanesCtx, Link, Next, PacketMeta, Seed, Transport,
    Verdict, Victim,
};
use quell_queue::{AccessPoint, Channel, Class, Limit, Peak, Plan, Policy, Shaper, Station};
use quell_sim::network::*;
use quell_sim::outcome::{Admission, Counts, Left, Outcome, Segment};
use quell_sim::trace::{Chosen, TraceRequest};
use quell_sim::{Control, Engine, run};
use quell_tcp::{
    AckTimer, CongestionControl, Feedback, Growth, LossWindow, MarkReduction, Recovery, Rules, SlowStart,
    TcpParams,
};
use quell_units::{BitRate, Bytes, Duration, QueueSize, Time};

fn ms(x: u64) -> Duration {
    Duration::from_millis(x)
}

fn at(x: u64) -> Time {
    Time::ZERO + ms(x)
}

/// Signals every thirtieth packet that leaves, to exercise decisions at the head.
struct HeadSignaller(u32);

impl Aqm for HeadSignaller {
    fn departures(&self) -> Departures {
        Departures::Decided
    }
    fn on_dequeue(&mut self, _: &mut Ctx<'_>, _: &PacketMeta) -> Verdict {
        self.0 += 1;
        if self.0.is_multiple_of(30) { Verdict::Signal(Cause::Early) } else { Verdict::Pass }
    }
}

/// The same for queues that are served by turns, by the number of the flow.
struct Turns {
    head: HeadSignaller,
    last: usize,
    pause: Time,
}

impl Discipline for Turns {
    fn lanes(&self) -> usize {
        3
    }
    fn classify(&mut self, _: Time, pkt: &PacketMeta) -> usize {
        pkt.flow.0 as usize % 3
    }
    /// The longest lane makes room, at its head or its tail by turns.
    fn victim(&mut self, cx: &mut LanesCtx<'_>, lane: usize, _: &PacketMeta) -> Victim {
        let longest = (0..3).max_by_key(|i| cx.lanes.each[*i].bytes.get()).expect("there are three");
        // A recorded packet can be larger than the buffer.
        let alone = cx.lanes.packets.get() == 0;
        match (alone || longest == lane, cx.lanes.packets.get() % 2) {
            (true, _) => Victim::Arrival,
            (false, 0) => Victim::Head(longest),
            (false, _) => Victim::Tail(longest),
        }
    }
    /// Once in a while it lets the link wait.
    fn next(&mut self, cx: &mut LanesCtx<'_>) -> Next {
        if cx.now >= self.pause {
            self.pause = cx.now + ms(50);
            return Next::NotBefore(cx.now + ms(1));
        }
        let order = (self.last + 1..self.last + 4).map(|lane| lane % 3);
        let waits = |i: &usize| cx.lanes.each[*i].packets.get() > 0;
        self.last = order.into_iter().find(waits).expect("something waits");
        Next::Serve(self.last)
    }
    fn on_dequeue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        self.head.on_dequeue(&mut cx.of(lane), pkt)
    }
}

#[derive(Clone, Debug)]
enum Algorithm {
    Catalog(usize),
    Head,
    Turns,
    /// Two queues, with flows that are young for so many packets.
    RedTail(u32),
    /// One of [`several`], with packets that are marked and every other sender of L4S's kind.
    Several(usize),
}

/// Several queues before one link, with options in which the ECN field or the host of a packet decides.
fn several(i: usize, rate: u64) -> AqmConfig {
    use quell_aqm::cake::{CakeParams, Diffserv, Framing};
    use quell_aqm::dualpi2::{DelayFrom, DualPi2Params, Overload, SignalAt, Signals, ThLenAt};
    use quell_aqm::fq_codel::{FqCodelParams, FqCodelRules, Marked};
    use quell_aqm::part::AckFilter;
    use quell_aqm::part::dual_queue::{Classifier, Scheduler};
    let dual = DualPi2Params {
        update_interval: Some(ms(4)),
        alpha: Some(2.0),
        beta: Some(20.0),
        k: 1.5,
        ..Default::default()
    };
    match i {
        0 => AqmConfig::DualPi2(DualPi2Params::default()),
        1 => AqmConfig::DualPi2(dual),
        2 => AqmConfig::DualPi2(DualPi2Params {
            scheduler: Scheduler::TsFifo,
            signal_at: SignalAt::Enqueue,
            th_len_at: ThLenAt::Enqueue,
            signals: Signals::Random,
            ..dual
        }),
        3 => AqmConfig::DualPi2(DualPi2Params {
            classifier: Classifier::AnyEct,
            overload: Overload::Overflow,
            delay_from: DelayFrom::Backlog,
            c_weight: 0.3,
            ..dual
        }),
        4 => AqmConfig::CurvyRed(quell_aqm::curvy_red::CurvyRedParams { scale: -5, ..Default::default() }),
        5 => AqmConfig::FqCodel(FqCodelParams {
            flows: 4,
            limit: 30,
            rules: FqCodelRules::Linux,
            ce_threshold: Some(ms(2)),
            ce_threshold_for: Marked::Ect1,
            ..Default::default()
        }),
        6 => AqmConfig::FqPie(quell_aqm::fq_pie::FqPieParams {
            flows: 4,
            target: ms(5),
            max_burst: ms(20),
            ..Default::default()
        }),
        _ => AqmConfig::Cake(CakeParams {
            bandwidth: Some(BitRate::from_bps(rate / 4 * 3)),
            diffserv: Diffserv::Diffserv4,
            overhead: Bytes::new(38),
            framing: Framing::Atm,
            flows: 16,
            // All that the others do not have, where packets have sizes of their own and acknowledgments wait.
            ingress: i > 7,
            autorate_ingress: i > 7,
            wash: i > 7,
            ack_filter: if i > 7 { AckFilter::Aggressive } else { AckFilter::Off },
            ..Default::default()
        }),
    }
}

const SEVERAL: usize = 9;
/// The one of them that filters acknowledgments.
const FILTERS: usize = 8;

#[derive(Clone, Debug)]
enum RateChange {
    /// At one second it halves or doubles, both ways.
    Step { up: bool },
    /// After so many milliseconds each it is so many quarters of what it was, or zero; the list may repeat.
    /// The way back is not concerned, or begins where the list ends.
    Steps { list: Vec<(u64, u64)>, repeats: bool, both: bool },
}

impl RateChange {
    fn schedule(&self, rate: u64, back: bool) -> Schedule<BitRate> {
        let initial = BitRate::from_bps(rate);
        match self {
            RateChange::Step { up } => {
                let to = BitRate::from_bps(if *up { rate * 2 } else { rate / 2 });
                Schedule::changing(initial, vec![(at(1000), to)])
            }
            RateChange::Steps { both: false, .. } if back => Schedule::constant(initial),
            RateChange::Steps { list, repeats, .. } => {
                let mut list = list.clone();
                if back {
                    list.reverse();
                }
                let mut now = Time::ZERO;
                let mut changes = Vec::new();
                for (gap, quarters) in list {
                    now += ms(gap);
                    changes.push((now, BitRate::from_bps(rate * quarters / 4)));
                }
                let period = now - Time::ZERO + ms(60);
                let once = Changes::once(changes.clone());
                Schedule::changing(initial, if *repeats { Changes::every(period, changes) } else { once })
            }
        }
    }
}

const PAGE_CONNECTIONS: u32 = 4;

#[derive(Clone, Debug)]
struct Case {
    seed: u64,
    /// Bottlenecks in a row; flows enter at the first and leave after one of them.
    bottlenecks: usize,
    flows: Vec<CaseFlow>,
    algorithm: Algorithm,
    mbps: u64,
    buffer: QueueSize,
    ecn: bool,
    service: Service,
    /// What the bottlenecks' wires do to packets, both ways, and those of some flows' own links.
    impairments: Impairments,
    /// How the bottlenecks' rate changes; after one second their delay changes, both ways or one.
    rate_change: Option<RateChange>,
    delay_change: Option<(u64, bool)>,
    same_rtt: bool,
}

/// The service of the bottlenecks: whatever stands between their queues and their transmitters.
#[derive(Clone, Debug)]
struct Service {
    shaper: Option<CaseShaper>,
    /// The kind of the tree, and the algorithms of leaves after the first.
    tree: Option<(usize, usize)>,
    /// A cell instead of both: its rule, its interval in microseconds, and the algorithms of users after the first.
    cell: Option<(Policy, u64, usize)>,
    /// The way back has it too.
    both: bool,
    /// The bottleneck is a channel for both ways instead, and its rate never changes.
    wifi: Option<CaseWifi>,
}

#[derive(Clone, Debug)]
struct CaseWifi {
    /// The queues of the access point; without aggregates or with short or long ones.
    access_point: AccessPoint,
    frames: usize,
    stations: usize,
    loss: f64,
    retries: Option<u32>,
    /// The algorithms of lanes after the first.
    other: usize,
}

impl CaseWifi {
    fn spec(&self, case: &Case, rate: u64, of_flow: &[AtStation]) -> WifiSpec {
        let stations = (0..self.stations).map(|i| Station {
            name: format!("s{i}"),
            rate: BitRate::from_bps(rate * [4, 1, 2][i % 3]),
            loss: if i % 2 == 0 { self.loss } else { 0.0 },
            packets: (i == 1 && self.frames > 0).then_some(4),
        });
        let make = [Channel::a, Channel::n, Channel::ac][self.frames];
        let mut channel = make(self.access_point, stations.collect());
        channel.contention.retries = self.retries;
        let algorithm = |lane: usize| match lane {
            0 => case.algorithm.clone(),
            lane => Algorithm::Catalog(self.other + lane),
        };
        let queue = |lane| queue(&Case { algorithm: algorithm(lane), ..case.clone() }, rate);
        let queues = (0..channel.lanes().len()).map(queue).collect();
        let at = |at: &AtStation| AtStation { station: at.station % self.stations as u8, ..*at };
        WifiSpec { channel, queues, of_flow: of_flow.iter().map(at).collect() }
    }
}

#[derive(Clone, Debug)]
struct CaseShaper {
    /// Of the link's rate.
    percent: u64,
    burst: u64,
    peak_percent: Option<u64>,
    limit: Option<Limit>,
}

impl CaseShaper {
    fn shaper(&self, rate: u64) -> Shaper {
        let of = |percent: u64| BitRate::from_bps(rate / 100 * percent);
        let peak =
            self.peak_percent.map(|more| Peak { rate: of(self.percent + more), mtu: Bytes::new(2000) });
        Shaper { peak, limit: self.limit, ..Shaper::plain(of(self.percent), Bytes::new(self.burst)) }
    }
}

const TREES: usize = 4;

/// Trees whose classes are strict, take turns, borrow, or are borrowed from by classes of two levels.
fn tree(case: &Case, rate: u64, kind: usize, algorithm: usize) -> TreeSpec {
    let of = |percent: u64| BitRate::from_bps(rate / 100 * percent);
    let burst = Bytes::new(2500);
    let class = |name: &str| Class::new(name);
    let limited = |name: &str, rate: u64, ceil: u64| class(name).limited(of(rate), of(ceil), burst);
    let classes = match kind {
        0 => vec![class("a").first_by(2), class("b"), class("c").first_by(1)],
        1 => vec![class("a").in_turns_of(burst), class("b"), class("c").in_turns_of(Bytes::new(9000))],
        2 => vec![
            limited("top", 80, 80),
            limited("a", 40, 80).below("top"),
            limited("b", 10, 80).below("top").first_by(1),
            limited("c", 20, 30).below("top"),
        ],
        _ => vec![
            limited("top", 130, 130),
            limited("left", 50, 120).below("top"),
            limited("a", 0, 110).below("left"),
            limited("b", 20, 90).below("left").first_by(3),
            limited("right", 40, 60).below("top"),
            limited("c", 40, 60).below("right").in_turns_of(Bytes::new(4000)),
            limited("d", 0, 50).below("right"),
        ],
    };
    let plan = Plan::new(classes);
    let leaves = plan.leaves().unwrap().len();
    let others = (1..leaves).map(|i| Algorithm::Catalog(algorithm + i));
    let algorithms = [case.algorithm.clone()].into_iter().chain(others);
    let leaves: Vec<QueueSpec> =
        algorithms.map(|algorithm| queue(&Case { algorithm, ..case.clone() }, rate)).collect();
    // By the flow, and by the DSCP of recorded packets.
    let n = leaves.len();
    let row = |r: usize| std::array::from_fn(|dscp| ((r + usize::from(r == 2) * dscp) % n) as u8);
    let rows: Vec<[u8; 64]> = (0..5).map(row).collect();
    let of_flow: Vec<u32> = (0..7).map(|flow| flow * 3 % 5).collect();
    TreeSpec { plan, leaves, classifier: Classifier { rows: rows.into(), of_flow: of_flow.into() } }
}

/// Three users, whose rates are the link's, a part of it, and one that changes and is now and then zero.
fn cell(case: &Case, rate: &Schedule<BitRate>, (policy, us, other): (Policy, u64, usize)) -> CellSpec {
    let initial = rate.initial;
    let of = |percent: u64| BitRate::from_bps(initial.bps() / 100 * percent);
    let steps = vec![(at(0), of(30)), (at(37), of(0)), (at(50), of(170)), (at(81), of(90))];
    let changing = Schedule::changing(of(100), Changes::every(ms(120), steps));
    let algorithm = |i| if i == 0 { case.algorithm.clone() } else { Algorithm::Catalog(other + i) };
    let user = |(i, rate): (usize, Schedule<BitRate>)| UserSpec {
        name: format!("user {i}"),
        rate,
        queue: queue(&Case { algorithm: algorithm(i), ..case.clone() }, initial.bps()),
        known: initial,
    };
    let rates = [rate.clone(), Schedule::constant(of(45)), changing];
    let users = rates.into_iter().enumerate().map(user).collect();
    let rows: Vec<[u8; 64]> = (0..3)
        .map(|row| std::array::from_fn(|dscp| ((row + usize::from(row == 2) * dscp) % 3) as u8))
        .collect();
    let classifier = Classifier { rows: rows.into(), of_flow: (0..7).map(|flow| flow * 2 % 3).collect() };
    CellSpec { policy, interval: Duration::from_micros(us), users, classifier }
}

#[derive(Clone, Debug)]
struct CaseFlow {
    kind: u8,
    recovery: Recovery,
    congestion: CongestionControl,
    feedback: Feedback,
    modern: [bool; 2],
    /// Packets that may leave at once, where they are paced.
    paced: Option<u32>,
    /// Paced flows may follow a model.
    model: Option<CongestionControl>,
    delayed_ack: bool,
    /// What hosts have beside the RFCs: bursts, delayed blocks, gradual answers to marks, the rules of ns-3.
    hosts: [bool; 4],
    access_ms: u64,
    reverse: bool,
    leaves_after: usize,
    enters_before: usize,
    access_delay_drops: bool,
    access_impaired: bool,
    direct: bool,
}

fn link(rate: u64, delay: Duration) -> LinkSpec {
    LinkSpec {
        name: String::new(),
        rate: Schedule::constant(BitRate::from_bps(rate)),
        delay: Schedule::constant(delay),
        queue: None,
        tree: None,
        shaper: None,
        cell: None,
        wifi: None,
        impairments: Impairments::default(),
        observe: false,
    }
}

/// Arrivals of half a second at a quarter of the rate: bursts at one instant, packets by chance, and silence.
fn trace(seed: u64, flow: usize, rate: u64) -> Trace {
    let mut rng = Seed(seed).indexed_stream("test.trace", flow as u64);
    let mut now = Time::ZERO;
    let mut pick = |n: usize| (rng.next_u64() % n as u64) as usize;
    let arrivals: Vec<_> = (0..rate / 8_000)
        .map(|_| {
            let bytes = [1, 40, 576, 1000, 1500, 65_535][pick(60).min(5)];
            now += Duration::from_nanos(match pick(20) {
                0..9 => 0,
                9..19 => pick(2 * 4 * 8_000_000_000_000 / rate as usize) as u64,
                _ => 20_000_000,
            });
            TraceArrival {
                time: now,
                bytes,
                flow: FlowId([0, 1, pick(10) as u32, u32::MAX][pick(4)]),
                ecn: [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][pick(4)],
                transport: [Transport::Tcp, Transport::Udp, Transport::Other][pick(3)],
                syn: pick(5) == 0,
                dscp: pick(64) as u8,
            }
        })
        .collect();
    Trace::new(arrivals).unwrap()
}

fn queue(case: &Case, rate: u64) -> QueueSpec {
    // The algorithm is built for a larger buffer than there is, so that overflows occur.
    let link = Link {
        rate: BitRate::from_bps(rate),
        buffer: QueueSize::Packets(200.0),
        mean_packet: Bytes::new(1000),
    };
    let algorithm = match case.algorithm {
        Algorithm::Catalog(i) => {
            let config: AqmConfig = (CATALOG[i % CATALOG.len()].default)();
            config.build(&link).unwrap()
        }
        Algorithm::RedTail(young_packets) => {
            let red_tail =
                RedTailParams { young_packets, forget_after: ms(200), flows: 8, ..Default::default() };
            AqmConfig::RedTail(red_tail).build(&link).unwrap()
        }
        Algorithm::Several(i) => several(i, rate).build(&link).unwrap(),
        Algorithm::Head => AnyAqm::Custom(Box::new(HeadSignaller(0))).into(),
        Algorithm::Turns => {
            let turns = Turns { head: HeadSignaller(0), last: 0, pause: at(50) };
            AnyDiscipline::Custom(Box::new(turns)).into()
        }
    };
    QueueSpec { buffer: case.buffer, algorithm, ecn: marks(case) }
}

/// Whether queues mark and senders understand it.
fn marks(case: &Case) -> bool {
    case.ecn || matches!(case.algorithm, Algorithm::Several(_))
}

fn network(case: &Case) -> Network {
    let mut links = Vec::new();
    let rate = case.mbps * 1_000_000;
    // Links 2k and 2k+1: bottleneck k and its way back.
    for k in 0..case.bottlenecks {
        for back in [false, true] {
            let mut l = link(rate, ms(5));
            l.name = format!("bottleneck {k} {back}");
            let service = &case.service;
            match service.tree.filter(|_| !back || service.both) {
                Some((kind, other)) => l.tree = Some(Box::new(tree(case, rate, kind, other))),
                None => l.queue = Some(Box::new(queue(case, rate))),
            }
            if !back || service.both {
                l.shaper = service.shaper.as_ref().map(|shaper| Box::new(shaper.shaper(rate)));
            }
            l.observe = !back || k == 0;
            l.impairments = case.impairments.clone();
            if let Some(change) = case.rate_change.as_ref().filter(|_| service.wifi.is_none()) {
                l.rate = change.schedule(rate, back);
            }
            // A channel takes the place of a cell, too.
            if let Some(of) = service.cell.filter(|_| service.wifi.is_none() && (!back || service.both)) {
                let cell = cell(case, &l.rate, of);
                l.rate = highest(cell.users.iter().map(|user| &user.rate), at(20_000));
                (l.queue, l.tree, l.shaper, l.cell) = (None, None, None, Some(Box::new(cell)));
            }
            if let Some((to, both)) = case.delay_change
                && (both || !back)
            {
                l.delay = Schedule::changing(ms(5), vec![(at(1000), ms(to)), (at(1300), ms(5))]);
            }
            links.push(l);
        }
    }
    let mut flows = Vec::new();
    let mut at_stations = Vec::new();
    for (i, f) in case.flows.iter().enumerate() {
        let first = f.enters_before % case.bottlenecks;
        let last = first.max(f.leaves_after % case.bottlenecks);
        let mut forward: Vec<LinkId> = (first..=last).map(|k| LinkId(2 * k as u32)).collect();
        let mut reverse: Vec<LinkId> = (first..=last).rev().map(|k| LinkId(2 * k as u32 + 1)).collect();
        if f.reverse {
            std::mem::swap(&mut forward, &mut reverse);
        }
        if case.service.wifi.is_some() {
            forward.iter_mut().chain(&mut reverse).for_each(|link| link.0 &= !1);
        }
        if !f.direct {
            let delay = ms(if case.same_rtt { 10 } else { f.access_ms });
            // The host's own link is the bottleneck of some that keep little there.
            let own = if f.hosts[0] && f.modern[1] { rate / 2 } else { 100_000_000 };
            let mut out = link(own, delay);
            let mut back = link(100_000_000, delay);
            if f.access_delay_drops {
                out.delay = Schedule::changing(delay, vec![(at(700), ms(1))]);
                back.delay = Schedule::changing(delay, vec![(at(900), ms(2))]);
            }
            if f.access_impaired {
                out.impairments = case.impairments.clone();
                back.impairments = case.impairments.clone();
            }
            links.push(out);
            forward.insert(0, LinkId(links.len() as u32 - 1));
            links.push(back);
            reverse.push(LinkId(links.len() as u32 - 1));
        }
        // Requests are lost, and sent again, within the run.
        let initial_rto =
            if [5, 8, 9, 10].contains(&f.kind) { ms(300) } else { TcpParams::default().initial_rto };
        // Without ECN nobody tells of marks, and nobody lives on them.
        let model = f.model.filter(|_| f.paced.is_some());
        let ecn = marks(case) && model.is_none();
        let of_l4s = matches!(case.algorithm, Algorithm::Several(_)) && i % 2 == 0;
        let chosen = if of_l4s { CongestionControl::Prague } else { f.congestion };
        let scalable = chosen.is_scalable();
        let congestion = if scalable && !ecn { CongestionControl::Reno } else { chosen };
        let congestion = model.unwrap_or(congestion);
        let ns3_has = f.recovery == Recovery::Prr
            && matches!(congestion, CongestionControl::Reno | CongestionControl::Cubic);
        let tcp = TcpParams {
            recovery: if model.is_some() { Recovery::Rack } else { f.recovery },
            congestion,
            feedback: match f.feedback {
                _ if !ecn => Feedback::Classic,
                Feedback::Classic if scalable => Feedback::AccEcn,
                chosen => chosen,
            },
            pacing: f.paced.is_some() || congestion == CongestionControl::Prague,
            pacing_burst: f.paced.unwrap_or(10),
            slow_start: if f.modern[0] { SlowStart::HyStartPlusPlus } else { SlowStart::Standard },
            growth: if f.modern[1] { Growth::Packets } else { Growth::Acknowledgments },
            initial_rto,
            delayed_ack: f.delayed_ack.then_some(ms(40)),
            ack_every: 2 + f.modern[0] as u32,
            quick_acks: if f.delayed_ack && f.modern[1] { 16 } else { 0 },
            send_quantum: f.hosts[0].then_some(ms(1)),
            small_queues: f.hosts[0],
            sack_delay: f.hosts[1].then_some(ms(2)),
            gro: f.hosts[3].then_some(ms(1)),
            mark_reduction: if f.hosts[2] { MarkReduction::Proportional } else { MarkReduction::AtOnce },
            ack_timer: if f.hosts[2] { AckTimer::Adaptive } else { AckTimer::Fixed },
            eifel: f.hosts[0],
            frto: f.hosts[1],
            loss_window: if f.hosts[0] { LossWindow::Flight } else { LossWindow::One },
            rules: if f.hosts[3] && ns3_has { Rules::Ns3 } else { Rules::Rfc },
            ecn,
            ledbat_target: ms(20),
            ..Default::default()
        };
        if f.kind == 7 {
            reverse.clear();
        }
        let app_of_clients = |connection| match f.kind {
            8 => App::Video(Video {
                chunk: ms(200),
                rates: [1, 2, 4, 8].map(|n| BitRate::from_bps(rate / 16 * n)).to_vec(),
                buffer: ms(800),
                start_up: ms([0, 200, 300][i % 3]),
                chunks: (i % 4 == 1).then_some(6),
                averaged: 1 + i as u32 % 4,
                safety: 0.9,
                request: Distribution::Uniform(0.0, 800.0),
            }),
            _ => App::Pages(Pages {
                connections: PAGE_CONNECTIONS,
                objects: Distribution::Exponential(12.0),
                size: Distribution::Pareto { shape: 1.3, scale: 1.0 },
                think: Distribution::Exponential(if i % 3 == 1 { 0.0 } else { 0.1 }),
                count: (i % 5 == 4).then_some(3),
                connection,
                request: Distribution::Uniform(0.0, 1500.0),
            }),
        };
        let traffic = match f.kind {
            0 | 1 => Traffic::Tcp { tcp, app: App::Bulk },
            6 => {
                let period = || Distribution::Pareto { shape: 1.5, scale: 0.03 };
                let pace = Pace {
                    rate: Schedule::changing(
                        BitRate::from_bps(rate / 4),
                        vec![(at(1000), BitRate::from_bps(0)), (at(1400), BitRate::from_bps(rate))],
                    ),
                    gaps: if i % 2 == 0 { Gaps::Constant } else { Gaps::Exponential },
                    on_off: (i % 3 > 0).then(|| (period(), period())),
                };
                Traffic::Tcp { tcp, app: App::Paced(pace) }
            }
            2 | 5 => Traffic::Tcp {
                tcp,
                app: App::Transfers {
                    size: Distribution::Pareto { shape: 1.3, scale: 2.0 },
                    think: Distribution::Exponential(if i % 3 == 1 { 0.0 } else { 0.05 }),
                    count: (i % 5 == 4).then_some(3),
                    connection: if i % 2 == 0 { Connection::Fresh } else { Connection::Persistent },
                    request: (f.kind == 5).then_some(Distribution::Uniform(0.0, 1500.0)),
                },
            },
            10 => Traffic::Tcp {
                tcp,
                app: App::Responsiveness(Responsiveness {
                    upload: i % 2 == 1,
                    initial: (i % 4 != 3) as u32,
                    added: 1,
                    most: if i % 4 == 3 { 0 } else { 3 },
                    interval: ms(150),
                    averaged: 2,
                    tolerance: 0.2,
                    probes_per_second: 40.0,
                    share: 0.2,
                    unsent: i as u32 % 3,
                }),
            },
            7 => Traffic::Trace(trace(case.seed, i, rate)),
            8 | 9 => Traffic::Tcp {
                tcp,
                app: app_of_clients(if i % 2 == 0 { Connection::Fresh } else { Connection::Persistent }),
            },
            _ => Traffic::Udp(UdpSpec {
                packet: Distribution::Uniform(100.0, 1000.0),
                pace: Pace {
                    rate: Schedule::constant(BitRate::from_bps(rate / 10)),
                    gaps: if i % 2 == 0 { Gaps::Constant } else { Gaps::Exponential },
                    on_off: (f.kind == 4)
                        .then_some((Distribution::Exponential(0.1), Distribution::Exponential(0.1))),
                },
                ecn: false,
            }),
        };
        let stop = (i % 3 == 2).then(|| at(1800));
        let first = flows.len() as u32;
        let at_station = AtStation { station: i as u8, sends: f.reverse };
        flows.push(FlowSpec {
            class: [0, 0, 1, 2, 2, 1, 0, 2, 1, 1, 1][f.kind as usize],
            forward,
            reverse,
            ack_class: 3,
            traffic,
            dscp: i as u8 * 9 % 64,
            hosts: quell_aqm::Hosts { source: i as u16 % 4, destination: i as u16 % 3 },
            start: at(i as u64 * 7),
            stop,
            timed: i % 4 == 1,
        });
        if let Some(FlowSpec { traffic: Traffic::Tcp { tcp, app }, .. }) = flows.last() {
            let more = app.flows() as usize - 1;
            let (tcp, app) = (tcp.clone(), App::Connection { of: first });
            let other = FlowSpec { traffic: Traffic::Tcp { tcp, app }, ..flows[first as usize].clone() };
            flows.extend(vec![other; more]);
        }
        at_stations.resize(flows.len(), at_station);
    }
    if let Some(wifi) = &case.service.wifi {
        for link in links.iter_mut().step_by(2).take(case.bottlenecks) {
            (link.queue, link.tree, link.shaper) = (None, None, None);
            link.wifi = Some(Box::new(wifi.spec(case, rate, &at_stations)));
        }
    }
    Network {
        links,
        flows,
        classes: ["bulk", "web", "udp", "acks"].map(String::from).to_vec(),
        measure: Measure { warmup: at(500), end: at(2500), boundaries: vec![at(1200)], step: Some(ms(100)) },
        seed: Seed(case.seed),
    }
}

fn flow() -> impl Strategy<Value = CaseFlow> {
    let recovery = prop_oneof![
        Just(Recovery::Tahoe),
        Just(Recovery::Reno),
        Just(Recovery::NewReno),
        Just(Recovery::Sack),
        Just(Recovery::Prr),
        Just(Recovery::Rack)
    ];
    let congestion = prop_oneof![
        2 => Just(CongestionControl::Reno),
        2 => Just(CongestionControl::Cubic),
        1 => Just(CongestionControl::Dctcp),
        1 => Just(CongestionControl::Prague),
        1 => Just(CongestionControl::Ledbat)
    ];
    let feedback = prop_oneof![Just(Feedback::Classic), Just(Feedback::Exact), Just(Feedback::AccEcn)];
    let modern = [any::<bool>(), any::<bool>()];
    let rarely = || prop::bool::weighted(0.1);
    let flags = (any::<bool>(), prop::bool::weighted(0.2), rarely(), rarely(), prop::bool::weighted(0.2));
    let models = prop_oneof![
        2 => Just(None),
        1 => Just(Some(CongestionControl::Bbr1)),
        1 => Just(Some(CongestionControl::Bbr3)),
    ];
    let paced = (prop::option::weighted(0.4, 1u32..12), models);
    let senders = (recovery, congestion, feedback, modern, paced, prop::array::uniform4(any::<bool>()));
    (0u8..11, senders, flags, 0u64..60, 0usize..3, 0usize..3).prop_map(
        |(
            kind,
            (recovery, congestion, feedback, modern, (paced, model), hosts),
            (delayed_ack, reverse, access_delay_drops, access_impaired, direct),
            access_ms,
            enters_before,
            leaves_after,
        )| {
            CaseFlow {
                kind,
                recovery,
                congestion,
                feedback,
                modern,
                paced,
                model,
                delayed_ack,
                hosts,
                access_ms,
                reverse,
                leaves_after,
                enters_before,
                access_delay_drops,
                access_impaired,
                direct,
            }
        },
    )
}

fn impairments() -> impl Strategy<Value = Impairments> {
    let chains = (0.001f64..0.1, 0.1f64..1.0, 0.0f64..0.01, 0.5f64..1.0);
    let chains = chains.prop_map(|(p, r, good_loss, bad_loss)| GilbertElliott { p, r, good_loss, bad_loss });
    let changes = Changes::every(ms(700), vec![(at(100), 0.1), (at(400), 0.01)]);
    let loss = prop_oneof![
        4 => Just(Loss::from(0.0)),
        4 => Just(Loss::from(0.02)),
        1 => Just(Loss::Random(Schedule::changing(0.0, changes))),
        2 => chains.prop_map(Loss::GilbertElliott),
    ];
    let distribution = prop_oneof![
        Just(Deviation::Uniform),
        Just(Deviation::Normal),
        Just(Deviation::Pareto),
        Just(Deviation::ParetoNormal)
    ];
    let correlation = prop_oneof![Just(0.0), 0.0f64..0.9];
    let jitter = (0u64..8000, distribution, correlation, any::<bool>()).prop_map(
        |(us, distribution, correlation, reorder)| Jitter {
            size: Duration::from_micros(us),
            distribution,
            correlation,
            reorder,
        },
    );
    let duplicate = prop_oneof![4 => Just(0.0), 1 => Just(0.03)];
    let outages = vec![(at(300), at(340)), (at(340), at(350)), (at(900), at(1100))];
    let outages = prop_oneof![3 => Just(Vec::new()), 1 => Just(outages)];
    (loss, prop::option::weighted(0.3, jitter), duplicate, outages).prop_map(
        |(loss, jitter, duplicate, outages)| Impairments { loss, jitter, duplicate, outages: outages.into() },
    )
}

fn wifi() -> impl Strategy<Value = Option<CaseWifi>> {
    let access_point = prop_oneof![
        (1u32..40).prop_map(|driver| AccessPoint::One { driver }),
        Just(AccessPoint::Turns),
        (100u64..3000).prop_map(|us| AccessPoint::Airtime { quantum: Duration::from_micros(us) }),
    ];
    let loss = prop_oneof![1 => Just(0.0), 2 => 0.0f64..0.4];
    let retries = prop_oneof![2 => Just(Some(7)), 1 => Just(Some(1)), 1 => Just(None)];
    let channel = (access_point, 0usize..3, 1usize..6, loss, retries, 0..CATALOG.len());
    let channel = channel.prop_map(|(access_point, frames, stations, loss, retries, other)| CaseWifi {
        access_point,
        frames,
        stations,
        loss,
        retries,
        other,
    });
    prop::option::weighted(0.25, channel)
}

fn service() -> impl Strategy<Value = Service> {
    let limit = prop_oneof![
        2 => Just(None),
        1 => (1u32..40).prop_map(|n| Some(Limit::Packets(n))),
        1 => (70_000u64..200_000).prop_map(|n| Some(Limit::Bytes(n))),
    ];
    let shaper = (30u64..130, 1500u64..20_000, prop::option::weighted(0.4, 1u64..100), limit)
        .prop_map(|(percent, burst, peak_percent, limit)| CaseShaper { percent, burst, peak_percent, limit });
    let tree = (0..TREES, 0..CATALOG.len());
    let window = prop_oneof![Just(ms(1)), Just(ms(100)), Just(ms(1000))];
    let policy = prop_oneof![
        2 => window.prop_map(|window| Policy::ProportionalFair { window }),
        1 => Just(Policy::RoundRobin),
        1 => Just(Policy::MaxRate),
    ];
    let interval = prop_oneof![2 => Just(1000u64), 1 => Just(500), 1 => 50u64..20_000];
    let cell = (policy, interval, 0..CATALOG.len());
    let of = prop::option::weighted(0.25, shaper);
    (of, prop::option::weighted(0.25, tree), prop::option::weighted(0.15, cell), any::<bool>(), wifi())
        .prop_map(|(shaper, tree, cell, both, wifi)| Service { shaper, tree, cell, both, wifi })
}

fn case() -> impl Strategy<Value = Case> {
    let algorithm = prop_oneof![
        6 => (0usize..CATALOG.len()).prop_map(Algorithm::Catalog),
        1 => Just(Algorithm::Head),
        1 => Just(Algorithm::Turns),
        1 => (1u32..100).prop_map(Algorithm::RedTail),
        2 => (0..SEVERAL).prop_map(Algorithm::Several)
    ];
    let buffer = prop_oneof![
        (1u32..60).prop_map(|n| QueueSize::Packets(n as f64)),
        (1_500u32..60_000).prop_map(|n| QueueSize::Bytes(n as f64))
    ];
    let network = (1usize..4, prop::collection::vec(flow(), 1..18), algorithm, 1u64..20, buffer, service());
    let steps = prop::collection::vec((1u64..200, 0u64..9), 1..12);
    let rate_change = prop_oneof![
        1 => any::<bool>().prop_map(|up| RateChange::Step { up }),
        2 => (steps, any::<bool>(), any::<bool>())
            .prop_map(|(list, repeats, both)| RateChange::Steps { list, repeats, both }),
    ];
    let faults = (
        impairments(),
        prop::option::weighted(0.4, rate_change),
        prop::option::weighted(0.3, (0u64..20, any::<bool>())),
    );
    (any::<u64>(), network, any::<bool>(), faults, prop::bool::weighted(0.3)).prop_map(
        |(
            seed,
            (bottlenecks, flows, algorithm, mbps, buffer, service),
            ecn,
            (impairments, rate_change, delay_change),
            same_rtt,
        )| Case {
            seed,
            bottlenecks,
            flows,
            algorithm,
            mbps,
            buffer,
            ecn,
            service,
            impairments,
            rate_change,
            delay_change,
            same_rtt,
        },
    )
}

fn outcome(case: &Case, engine: Engine) -> Outcome {
    run(network(case), engine, &Control::default()).unwrap()
}

/// With a log of every observed link.
fn logged(case: &Case, engine: Engine, parts: Option<usize>) -> Outcome {
    let network = network(case);
    let observed = (0..).map(LinkId).zip(&network.links).filter(|(_, l)| l.observe).map(|(id, _)| id);
    let control = Control { logged: observed.collect(), parts, ..Control::default() };
    run(network, engine, &control).unwrap()
}

/// Nothing the engines differ in but the number of events.
fn assert_same(fast: &Outcome, reference: &Outcome) {
    assert_eq!(fast.conservation, reference.conservation);
    assert_eq!(fast.flows, reference.flows);
    assert_eq!(fast.transfers, reference.transfers);
    for (f, r) in fast.links.iter().zip(&reference.links) {
        assert_eq!(f.segments, r.segments, "{}", f.name);
        assert_eq!(f.log, r.log, "{}", f.name);
        assert_eq!(f.loss_events, r.loss_events, "{}", f.name);
        // NaN stands for "no packet left": compare as text.
        assert_eq!(format!("{:?}", f.series), format!("{:?}", r.series), "{}", f.name);
    }
    assert_eq!(fast.digest, reference.digest);
}

fn assert_conserved(o: &Outcome) {
    let c = o.conservation;
    assert_eq!(c.sent + c.duplicated, c.delivered + c.dropped + c.lost + c.in_flight, "{c:?}");
}

/// What the logs say from the end of the warm-up on is what the recorders counted.
fn assert_counted(outcome: &Outcome) {
    for link in &outcome.links {
        let (from, to) = (link.segments[0].from, link.segments[link.segments.len() - 1].to);
        let within = |t: Time| (from..to).contains(&t);
        let (mut arrived, mut dropped, mut sent, mut marked) = (0, 0, 0, 0);
        for fate in &link.log {
            arrived += within(fate.arrived) as u64;
            dropped += (matches!(fate.admission, Admission::Dropped(_)) && within(fate.arrived)) as u64;
            match fate.left {
                Some(Left::Sent { start, marked: at_head }) if within(start) => {
                    sent += 1;
                    marked += (at_head || fate.admission == Admission::Marked) as u64;
                }
                Some(Left::Dropped { time, .. }) => dropped += within(time) as u64,
                _ => {}
            }
        }
        let count = |of: fn(&Counts) -> u64| {
            link.segments.iter().flat_map(|s| &s.classes).map(|c| of(&c.counts)).sum::<u64>()
        };
        assert_eq!((arrived, dropped), (count(|c| c.arrived), count(|c| c.dropped())), "{}", link.name);
        assert_eq!((sent, marked), (count(|c| c.departed), count(|c| c.marked)), "{}", link.name);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_engines_give_the_same_sample_path(case in case()) {
        let fast = outcome(&case, Engine::Fast);
        let reference = outcome(&case, Engine::Reference);
        assert_conserved(&fast);
        assert_conserved(&reference);
        assert_same(&fast, &reference);
    }
}

/// In parts, which other cores take further however little there is to do.
fn in_parts(case: &Case, parts: usize, helpers: usize) -> Outcome {
    let control = Control { parts: Some(parts), ..Control::default() };
    control.idle.add(helpers);
    run(network(case), Engine::Fast, &control).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn several_cores_give_the_same_sample_path(case in case(), parts in 2usize..9, helpers in 0usize..3) {
        let one = outcome(&case, Engine::Fast);
        let several = in_parts(&case, parts, helpers);
        assert_same(&several, &one);
        // How many events that takes depends on the parts, but not on who takes them.
        prop_assert_eq!(several.events, in_parts(&case, parts, 0).events);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_engines_keep_the_same_logs(case in case(), parts in prop::option::weighted(0.3, 2usize..9)) {
        let fast = logged(&case, Engine::Fast, parts);
        assert_same(&fast, &logged(&case, Engine::Reference, None));
        prop_assert_eq!(fast.digest, outcome(&case, Engine::Fast).digest);
        assert_counted(&fast);
    }
}

/// With a trace of all senders, at a step or at each change, and of each packet at every observed link.
fn with_traces(case: &Case, engine: Engine, step: Option<Duration>, parts: Option<usize>) -> Outcome {
    let traced =
        |packets| TraceRequest { senders: Chosen::All, step, events: true, links: Chosen::All, packets };
    let control = |packets| Control { trace: Some(traced(packets)), parts, ..Control::default() };
    // Packets have no names where their acknowledgments are filtered.
    let control = match case.algorithm {
        Algorithm::Several(FILTERS) => {
            let refused = run(network(case), engine, &control(Chosen::All)).unwrap_err().to_string();
            assert!(refused.contains("filters acknowledgments"), "{refused}");
            control(Chosen::None)
        }
        _ => control(Chosen::All),
    };
    control.idle.add(parts.map_or(0, |_| 1));
    run(network(case), engine, &control).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn both_engines_keep_the_same_traces(
        case in case(),
        parts in prop::option::weighted(0.4, 2usize..9),
        step in prop::option::weighted(0.3, (1u64..200).prop_map(Duration::from_millis)),
    ) {
        let fast = with_traces(&case, Engine::Fast, step, parts);
        let reference = with_traces(&case, Engine::Reference, step, None);
        assert_same(&fast, &reference);
        let (mut fast, mut reference) = (fast, reference);
        let [ours, theirs] = [&mut fast, &mut reference].map(|o| o.trace.take().unwrap());
        for (ours, theirs) in ours.flows.iter().zip(&theirs.flows) {
            for (a, b) in ours.samples.iter().zip(&theirs.samples) {
                prop_assert_eq!(a, b, "flow {}", ours.flow);
            }
            for (a, b) in ours.events.iter().zip(&theirs.events) {
                prop_assert_eq!(a, b, "flow {}", ours.flow);
            }
            prop_assert!(ours == theirs, "flow {}", ours.flow);
        }
        for (a, b) in ours.packets.iter().zip(&theirs.packets) {
            prop_assert_eq!(a, b);
        }
        prop_assert!(ours.packets == theirs.packets);
        prop_assert!(ours == theirs);
        assert_same(&fast, &outcome(&case, Engine::Fast));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn timing_packets_changes_nothing_else(case in case()) {
        let [all, none] = [true, false].map(|timed| {
            let mut network = network(&case);
            network.flows.iter_mut().for_each(|flow| flow.timed = timed);
            run(network, Engine::Fast, &Control::default()).unwrap()
        });
        prop_assert_eq!((all.digest, all.conservation), (none.digest, none.conservation));
        for (timed, plain) in all.flows.iter().zip(&none.flows) {
            prop_assert_eq!(&timed.segments, &plain.segments);
            prop_assert!(plain.timed.is_empty());
        }
    }
}

/// A flow of Tahoe without anything.
fn plain() -> CaseFlow {
    CaseFlow {
        kind: 0,
        recovery: Recovery::Tahoe,
        congestion: CongestionControl::Reno,
        feedback: Feedback::Classic,
        modern: [false; 2],
        paced: None,
        model: None,
        delayed_ack: false,
        hosts: [false; 4],
        access_ms: 0,
        reverse: false,
        leaves_after: 0,
        enters_before: 0,
        access_delay_drops: false,
        access_impaired: false,
        direct: false,
    }
}

/// The shrunk case of a disagreement: a wire that keeps the order of packets lets some arrive at one instant, and two of
/// one client's packets there were alike in all that they say. The wire copied the second, and the other connection's
/// packet between them has to stay before that copy.
#[test]
fn a_copy_stays_behind_its_own_original() {
    let plain = plain();
    let flows = vec![
        CaseFlow {
            modern: [true; 2],
            paced: Some(11),
            model: Some(CongestionControl::Bbr3),
            delayed_ack: true,
            hosts: [false, false, true, false],
            ..plain.clone()
        },
        CaseFlow {
            kind: 5,
            recovery: Recovery::Sack,
            congestion: CongestionControl::Cubic,
            modern: [true; 2],
            delayed_ack: true,
            hosts: [false, false, false, true],
            reverse: true,
            ..plain.clone()
        },
        CaseFlow {
            recovery: Recovery::Reno,
            congestion: CongestionControl::Dctcp,
            modern: [false, true],
            delayed_ack: true,
            hosts: [true, false, true, false],
            access_delay_drops: true,
            ..plain.clone()
        },
        CaseFlow { kind: 10, ..plain.clone() },
        CaseFlow { kind: 4, ..plain.clone() },
        CaseFlow {
            kind: 2,
            delayed_ack: true,
            hosts: [false, false, false, true],
            direct: true,
            ..plain.clone()
        },
        CaseFlow {
            kind: 8,
            congestion: CongestionControl::Dctcp,
            modern: [true, false],
            delayed_ack: true,
            hosts: [false, false, false, true],
            reverse: true,
            ..plain.clone()
        },
        CaseFlow { kind: 10, modern: [false, true], hosts: [true, false, false, false], ..plain.clone() },
        CaseFlow { kind: 4, direct: true, ..plain.clone() },
        CaseFlow {
            kind: 8,
            recovery: Recovery::Sack,
            congestion: CongestionControl::Dctcp,
            modern: [true, false],
            delayed_ack: true,
            reverse: true,
            access_delay_drops: true,
            ..plain
        },
    ];
    let docsis_pie = CATALOG.iter().position(|entry| entry.name == "docsis-pie").unwrap();
    let jitter = Jitter {
        size: Duration::from_micros(6642),
        distribution: Deviation::Normal,
        correlation: 0.0,
        reorder: false,
    };
    let case = Case {
        seed: 671242981635464501,
        bottlenecks: 1,
        flows,
        algorithm: Algorithm::Catalog(docsis_pie),
        mbps: 5,
        buffer: QueueSize::Bytes(50_560.0),
        ecn: false,
        service: Service { shaper: None, tree: None, cell: None, both: false, wifi: None },
        impairments: Impairments {
            loss: Loss::from(0.02),
            jitter: Some(jitter),
            duplicate: 0.03,
            ..Default::default()
        },
        rate_change: None,
        delay_change: None,
        same_rtt: true,
    };
    let fast = outcome(&case, Engine::Fast);
    assert_same(&fast, &outcome(&case, Engine::Reference));
    assert_same(&fast, &in_parts(&case, 6, 1));
}

#[test]
fn the_cases_are_busy_ones() {
    // What the property above compares must not be empty networks: many drops, marks, timeouts,
    // transfers and both kinds of queue occur over its cases.
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut drops, mut transfers, mut timeouts, mut marks, mut fewer) = (0, 0, 0, 0, 0);
    let (mut pages, mut chunks, mut stalls, mut foreign, mut loaded) = (0, 0, 0, 0, 0);
    let (mut lost, mut copies, mut wavering) = (0, 0, 0);
    let (mut shaped, mut classed, mut celled, mut cut, mut aired) = (0, 0, 0, 0, 0);
    for _ in 0..480 {
        let case = case().new_tree(&mut runner).unwrap().current();
        let fast = outcome(&case, Engine::Fast);
        let reference = outcome(&case, Engine::Reference);
        drops += (fast.conservation.dropped > 100) as u32;
        transfers += (fast.transfers.len() > 20) as u32;
        lost +=
            (matches!(case.impairments.loss, Loss::GilbertElliott(_)) && fast.conservation.lost > 20) as u32;
        copies += (fast.conservation.duplicated > 50) as u32;
        wavering += case.impairments.jitter.is_some() as u32;
        let uses_two = |s: &Segment| s.lanes.iter().filter(|lane| lane.counts.departed > 20).count() > 1;
        let full = |s: &Segment| s.sent_bits > 0.9 * s.capacity_bits;
        let slows = case.service.shaper.as_ref().is_some_and(|shaper| shaper.percent < 100);
        let has_cell = case.service.cell.is_some() && case.service.wifi.is_none();
        celled += (has_cell && fast.links[0].segments.iter().any(uses_two)) as u32;
        cut += (!case.impairments.outages.is_empty() && fast.conservation.lost > 5) as u32;
        shaped += (slows && !has_cell && fast.links[0].segments.iter().any(full)) as u32;
        let uses = |s: &Segment| s.lanes.iter().filter(|lane| lane.counts.departed > 20).count() > 2;
        aired += (case.service.wifi.is_some() && fast.links[0].segments.iter().any(uses)) as u32;
        let has_channel = has_cell || case.service.wifi.is_some();
        classed +=
            (case.service.tree.is_some() && !has_channel && fast.links[0].segments.iter().any(uses)) as u32;
        timeouts += fast.flows.iter().flat_map(|f| &f.segments).map(|s| s.timeouts).sum::<u64>();
        let classes = |o: &Outcome| {
            o.links
                .iter()
                .flat_map(|l| l.segments.clone())
                .flat_map(|s| s.classes)
                .map(|c| c.counts.marked)
                .sum::<u64>()
        };
        marks += classes(&fast);
        pages += fast.flows.iter().map(|f| f.pages.len()).sum::<usize>();
        let tests = || fast.flows.iter().filter_map(|f| f.responsiveness.as_deref());
        foreign += tests().map(|test| test.foreign.len()).sum::<usize>();
        loaded += tests().map(|test| test.loaded.len()).sum::<usize>();
        let video = || fast.flows.iter().flat_map(|f| &f.video);
        chunks += video().map(|s| s.chunks).sum::<u64>();
        stalls += video().filter(|s| s.stalled_ns > 0 && s.played_ns > 0).count();
        fewer += (fast.events * 3 < reference.events * 2) as u32;
    }
    assert!(
        drops > 40 && transfers > 40 && timeouts > 400 && fewer > 120,
        "{drops} {transfers} {timeouts} {fewer}"
    );
    assert!(marks > 100, "{marks}");
    assert!(lost > 10 && copies > 10 && wavering > 40, "{lost} {copies} {wavering}");
    assert!(shaped > 10 && classed > 15, "{shaped} {classed}");
    assert!(celled > 8 && cut > 10 && aired > 15, "{celled} {cut} {aired}");
    assert!(pages > 200 && chunks > 500 && stalls > 50, "{pages} {chunks} {stalls}");
    assert!(foreign > 1000 && loaded > 300, "{foreign} {loaded}");
}

/// An arrival at a channel may force out all that waits, so that nobody asks for what was due before the next one.
#[test]
fn nothing_leaves_a_channel_before_it_came() {
    let wifi = CaseWifi {
        access_point: AccessPoint::Turns,
        frames: 0,
        stations: 1,
        loss: 0.0,
        retries: Some(7),
        other: 0,
    };
    let case = Case {
        seed: 5_355_548_168_682_382,
        bottlenecks: 1,
        flows: vec![CaseFlow { kind: 7, direct: true, ..plain() }],
        algorithm: Algorithm::Turns,
        mbps: 1,
        buffer: QueueSize::Bytes(1500.0),
        ecn: false,
        service: Service { shaper: None, tree: None, cell: None, both: false, wifi: Some(wifi) },
        impairments: Impairments::default(),
        rate_change: None,
        delay_change: None,
        same_rtt: false,
    };
    assert_same(&outcome(&case, Engine::Fast), &outcome(&case, Engine::Reference));
}

/// From 5000 flows on, the engine prefetches the hop that comes after that of a packet some packets ahead. A flow that
/// nothing acknowledges has no way back, and behind the way of the last flow there is no hop of another one.
#[test]
fn many_flows_without_a_way_back_are_looked_after() {
    let network = || {
        let flow = |_| FlowSpec {
            class: 0,
            ack_class: 0,
            dscp: 0,
            hosts: Default::default(),
            forward: vec![LinkId(0)],
            reverse: Vec::new(),
            traffic: Traffic::Udp(UdpSpec {
                packet: Distribution::Constant(100.0),
                pace: Pace {
                    rate: Schedule::constant(BitRate::from_bps(1000)),
                    gaps: Gaps::Constant,
                    on_off: None,
                },
                ecn: false,
            }),
            start: Time::ZERO,
            stop: None,
            timed: false,
        };
        Network {
            links: vec![link(1_000_000_000, ms(1))],
            flows: (0..5000).map(flow).collect(),
            classes: vec!["calls".to_string()],
            measure: Measure { warmup: Time::ZERO, end: at(10), boundaries: Vec::new(), step: None },
            seed: Seed(1),
        }
    };
    let of = |engine| run(network(), engine, &Control::default()).unwrap();
    let fast = of(Engine::Fast);
    assert_same(&fast, &of(Engine::Reference));
    assert_conserved(&fast);
    // By hand: 5000 packets of 100 B take 4 ms of the link, and 1 ms on their way.
    assert_eq!((fast.conservation.sent, fast.conservation.delivered), (5000, 5000));
}
