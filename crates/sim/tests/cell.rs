//! Cells as links of a network: what whole runs must obey.

use std::sync::Arc;

use crate::common::*;
use quell_aqm::Seed;
use quell_aqm::catalog::{AnyAlgorithm, AqmConfig};
use quell_queue::Policy;
use quell_sim::network::*;
use quell_sim::outcome::{Outcome, Segment};
use quell_sim::{Control, Engine, Error, run};
use quell_tcp::TcpParams;
use quell_units::{BitRate, Duration, QueueSize, Time};

const PF: Policy = Policy::ProportionalFair { window: Duration::from_millis(100) };
/// From 5 s to 25 s.
const MEASURED: f64 = 20.0;

fn mbps(x: f64) -> BitRate {
    BitRate::from_bps((x * 1e6) as u64)
}

fn link(buffer: f64, algorithm: AnyAlgorithm) -> LinkSpec {
    bottleneck(1, secs(0.01), QueueSize::Packets(buffer), algorithm, false)
}

/// Users with channels of these rates, as a link. Flow i is of user i.
fn cell(policy: Policy, rates: &[Schedule<BitRate>], algorithm: impl Fn() -> AnyAlgorithm) -> LinkSpec {
    let user = |(i, rate): (usize, &Schedule<BitRate>)| UserSpec {
        name: format!("u{i}"),
        rate: rate.clone(),
        queue: QueueSpec { buffer: QueueSize::Packets(300.0), algorithm: algorithm(), ecn: false },
        known: mbps(5.0),
    };
    let users: Vec<UserSpec> = rates.iter().enumerate().map(user).collect();
    let rows: Vec<[u8; 64]> = (0..users.len()).map(|user| [user as u8; 64]).collect();
    let classifier = Classifier { rows: rows.into(), of_flow: (0..users.len() as u32).collect() };
    let rate = highest(rates.iter(), at(25.0));
    let cell = CellSpec { policy, interval: Duration::from_millis(1), users, classifier };
    LinkSpec { queue: None, rate, cell: Some(Box::new(cell)), ..link(1.0, drop_tail()) }
}

fn udp(rate: f64, bytes: f64) -> Traffic {
    let pace = Pace { rate: Schedule::constant(mbps(rate)), gaps: Gaps::Exponential, on_off: None };
    Traffic::Udp(UdpSpec { packet: Distribution::Constant(bytes), pace, ecn: false })
}

fn bulk() -> Traffic {
    Traffic::Tcp { tcp: TcpParams::default(), app: App::Bulk }
}

/// Flows over the link, each with an access link of its own. Both engines give the same.
fn runs(link: impl Fn() -> LinkSpec, flows: &[Traffic]) -> Outcome {
    let network = || {
        let mut links = vec![link(), wire(1_000_000_000, secs(0.01))];
        let flows = flows.iter().map(|traffic| {
            links.push(wire(1_000_000_000, secs(0.001)));
            FlowSpec {
                class: 0,
                ack_class: 1,
                dscp: 0,
                hosts: Default::default(),
                forward: vec![LinkId(links.len() as u32 - 1), LinkId(0)],
                reverse: if matches!(traffic, Traffic::Udp(_)) { vec![] } else { vec![LinkId(1)] },
                traffic: traffic.clone(),
                start: at(0.0),
                stop: None,
                timed: false,
            }
        });
        let flows = flows.collect();
        Network {
            links,
            flows,
            classes: vec!["data".into(), "acks".into()],
            measure: Measure { warmup: at(5.0), end: at(25.0), boundaries: vec![], step: None },
            seed: Seed(3),
        }
    };
    let run = |engine| run(network(), engine, &Control::default()).unwrap();
    let [fast, reference] = [Engine::Fast, Engine::Reference].map(run);
    assert_eq!((fast.digest, fast.conservation), (reference.digest, reference.conservation));
    assert_eq!(fast.links, reference.links);
    let c = fast.conservation;
    assert_eq!(c.sent + c.duplicated, c.delivered + c.dropped + c.lost + c.in_flight, "{c:?}");
    fast
}

fn segment(o: &Outcome) -> &Segment {
    &o.links[0].segments[0]
}

/// Of each user, in Mbit/s.
fn throughputs(o: &Outcome) -> Vec<f64> {
    segment(o).lanes.iter().map(|lane| lane.counts.departed_bytes as f64 * 8e-6 / MEASURED).collect()
}

/// A rate that changes every 7 to 40 ms, around 10 Mbit/s and sometimes zero.
fn trace(seed: u64) -> Schedule<BitRate> {
    let mut rng = Seed(seed).stream("test.trace");
    let (mut t, mut list) = (0.0, Vec::new());
    while t < 3.0 {
        let rate = if rng.chance(0.1) { 0.0 } else { rng.uniform_in(0.5, 20.0) };
        list.push((at(t), mbps(rate)));
        t += rng.uniform_in(0.007, 0.04);
    }
    Schedule::changing(mbps(10.0), Changes::every(secs(3.1), list))
}

/// A user alone, for whom something always waits, gets its trace: the integral of the rate, and what a link with this
/// rate carries, but for the packets at changes of the rate, which keep theirs there.
#[test]
fn a_user_alone_gets_exactly_its_trace() {
    for policy in [PF, Policy::RoundRobin, Policy::MaxRate] {
        let rate = trace(1);
        let o = runs(|| cell(policy, std::slice::from_ref(&rate), drop_tail), &[udp(30.0, 500.0)]);
        let (sent, capacity) = (segment(&o).sent_bits, segment(&o).capacity_bits);
        let whole = (rate.mean(secs(25.0)) * 25.0) - rate.mean(secs(5.0)) * 5.0;
        assert!((capacity - whole).abs() < 20.0, "{capacity} {whole}");
        // A packet at either edge, and an interval's worth.
        assert!((sent - whole).abs() < 2.0 * 4000.0 + 20_000.0, "{sent} of {whole}");
        let plain = runs(|| LinkSpec { rate: rate.clone(), ..link(300.0, drop_tail()) }, &[udp(30.0, 500.0)]);
        let plain = segment(&plain).sent_bits;
        assert!((sent / plain - 1.0).abs() < 0.01, "{sent} in a cell, {plain} over a link");
    }
}

/// Users that take all they can get have equal shares of time: senders that react and those that do not. Utilization is relative to the highest rate.
#[test]
fn time_is_shared_equally_among_users_with_static_rates() {
    let rates = [4.0, 12.0, 40.0].map(|rate| Schedule::constant(mbps(rate)));
    for policy in [PF, Policy::RoundRobin] {
        let o = runs(|| cell(policy, &rates, drop_tail), &[udp(20.0, 700.0), udp(20.0, 1200.0), bulk()]);
        for (got, fair) in throughputs(&o).into_iter().zip([4.0, 12.0, 40.0].map(|rate| rate / 3.0)) {
            assert!((got / fair - 1.0).abs() < 0.03, "{policy:?}: {got} of {fair} Mbit/s");
        }
        let utilization = segment(&o).sent_bits / segment(&o).capacity_bits;
        assert!((utilization - 56.0 / 120.0).abs() < 0.02, "{utilization}");
    }
}

/// Users whose rates vary independently get more from proportional fairness than from turns, each of them.
#[test]
fn rates_that_vary_are_used_while_they_are_high() {
    let rates = [11, 12, 13, 14].map(trace);
    let flows = [0, 1, 2, 3].map(|_| udp(20.0, 1000.0));
    let [fair, turns] =
        [PF, Policy::RoundRobin].map(|policy| throughputs(&runs(|| cell(policy, &rates, drop_tail), &flows)));
    for (fair, turns) in fair.iter().zip(&turns) {
        assert!(*fair > 1.2 * turns, "{fair} {turns}");
    }
}

/// A queue of one user holds up nobody else: that is what a queue for each user is for.
#[test]
fn a_user_waits_for_its_own_queue_alone() {
    let rates = [10.0, 10.0].map(|rate| Schedule::constant(mbps(rate)));
    let o = runs(|| cell(PF, &rates, drop_tail), &[bulk(), udp(0.5, 500.0)]);
    let delay = |user: usize| segment(&o).lanes[user].delay_ns.value_at_quantile(0.99) as f64 * 1e-6;
    // Two users' intervals, at most, where the other's queue of hundreds of packets takes more than 100 ms.
    assert!(delay(1) < 5.0 && delay(0) > 50.0, "{} {}", delay(0), delay(1));
    // CoDel in each queue keeps the delay of both low.
    let codel = || build(&AqmConfig::Codel(Default::default()), 5_000_000, QueueSize::Packets(300.0), 1000);
    let o = runs(|| cell(PF, &rates, codel), &[bulk(), udp(0.5, 500.0)]);
    let mean = segment(&o).lanes[0].delay_ns.mean() * 1e-6;
    assert!(mean < 20.0, "{mean}");
}

/// Alone, a transfer takes as long as over a link with the user's rate, and waiting for intervals comes on top.
#[test]
fn transfers_are_compared_with_the_rate_of_their_user() {
    let rates = [2.0, 50.0].map(|rate| Schedule::constant(mbps(rate)));
    let app = App::Transfers {
        size: Distribution::Constant(50.0),
        think: Distribution::Constant(0.5),
        count: None,
        connection: Connection::Fresh,
        request: None,
    };
    let flow = Traffic::Tcp { tcp: TcpParams::default(), app };
    let o = runs(|| cell(PF, &rates, drop_tail), &[flow.clone(), flow]);
    for user in 0..2 {
        let all: Vec<f64> = o
            .transfers
            .iter()
            .filter(|t| t.flow == user && t.start >= at(5.0))
            .filter_map(|t| Some((t.end - t.start).as_secs_f64() / t.alone?.as_secs_f64()))
            .collect();
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        assert!(all.len() > 10 && (0.99..1.35).contains(&mean), "{user}: {mean}");
    }
}

#[test]
fn the_highest_rate_is_that_at_each_time() {
    let rates = [trace(1), Schedule::constant(mbps(6.0)), trace(2)];
    let most = highest(rates.iter(), at(10.0));
    for n in 0..20_000 {
        let t = at(n as f64 * 5e-4);
        assert_eq!(most.at(t), rates.iter().map(|rate| rate.at(t)).max().unwrap());
    }
    assert_eq!(highest(rates[..1].iter(), at(1.0)), rates[0]);
}

#[test]
fn what_no_cell_can_be_is_refused() {
    let refuses = |link: LinkSpec, wanted: &str| {
        let network = Network {
            links: vec![link],
            flows: vec![],
            classes: vec!["data".into()],
            measure: Measure { warmup: at(0.0), end: at(1.0), boundaries: vec![], step: None },
            seed: Seed(1),
        };
        let Err(Error::Invalid(said)) = run(network, Engine::Fast, &Control::default()) else {
            panic!("{wanted}")
        };
        assert!(said.contains(wanted), "{said}");
    };
    let one = || cell(PF, &[Schedule::constant(mbps(5.0))], drop_tail);
    let with = |change: &dyn Fn(&mut CellSpec)| {
        let mut link = one();
        change(link.cell.as_mut().unwrap());
        link
    };
    refuses(with(&|cell| cell.interval = Duration::ZERO), "the interval of its cell must be longer");
    refuses(with(&|cell| cell.users.clear()), "its cell has 0 users");
    refuses(with(&|cell| cell.classifier.rows = Arc::new([[1; 64]])), "leaf 1 of 1");
    refuses(LinkSpec { queue: link(9.0, drop_tail()).queue, ..one() }, "a cell beside a queue");
    let late = Schedule::changing(mbps(1.0), vec![(at(2.0), mbps(2.0)), (Time::ZERO, mbps(3.0))]);
    refuses(with(&|cell| cell.users[0].rate = late.clone()), "the times of changes must increase");
}
