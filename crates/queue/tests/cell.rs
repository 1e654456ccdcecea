//! The laws of cells, whatever comes.

use proptest::prelude::*;
use quell_aqm::Ecn;
use quell_aqm::FlowId;
use quell_aqm::drop_tail::DropTail;
use quell_queue::{
    Cell, Channels, Dequeued, DropPoint, Dropped, Fifo, Host, Limit, Line, Packet, Policy, Qdisc, Sent,
    Shaped, Shaper,
};
use quell_units::{BitRate, Bytes, Duration, LinkLayer, Time};

#[derive(Clone, Copy, Debug, PartialEq)]
struct Pkt {
    number: u32,
    user: usize,
    bytes: u64,
    lane: usize,
}

impl Packet for Pkt {
    fn bytes(&self) -> Bytes {
        Bytes::new(self.bytes)
    }
    fn ecn(&self) -> Ecn {
        Ecn::NotEct
    }
    fn set_ce(&mut self) {}
    fn flow(&self) -> FlowId {
        FlowId(self.user as u32)
    }
    fn set_lane(&mut self, lane: usize) {
        self.lane = lane;
    }
}

type ByUser = fn(&Pkt) -> usize;
type Plain<R> = Cell<Fifo<Pkt, DropTail>, ByUser, R>;

const MS: Duration = Duration::from_millis(1);
const PF: Policy = Policy::ProportionalFair { window: Duration::from_millis(100) };
/// A link that takes no time of its own.
const FAST: BitRate = BitRate::from_bps(u64::MAX);

fn fifo(limit: u32) -> Fifo<Pkt, DropTail> {
    Fifo::new(DropTail, quell_aqm::Seed(1).stream("x"), Limit::Packets(limit), false, None)
}

fn cell<R: Channels>(policy: Policy, interval: Duration, users: usize, channels: R) -> Plain<R> {
    let queues = (0..users).map(|user| (format!("u{user}").into(), fifo(200)));
    Cell::new(policy, interval, queues, (|packet: &Pkt| packet.user) as ByUser, channels)
}

fn mbit(x: f64) -> BitRate {
    BitRate::from_bps((x * 1e6) as u64)
}

fn ns(n: u64) -> Time {
    Time::from_nanos(n)
}

#[derive(Default)]
struct Away {
    sent: Vec<Sent<Pkt>>,
    dropped: Vec<Dropped<Pkt>>,
}

impl Host<Pkt> for Away {
    fn sent(&mut self, sent: Sent<Pkt>) {
        self.sent.push(sent);
    }
    fn dropped(&mut self, _: Time, dropped: Dropped<Pkt>) {
        self.dropped.push(dropped);
    }
}

/// The bytes that each user gets in `end` if something always waits for it.
fn backlogged<R: Channels>(mut cell: Plain<R>, users: usize, bytes: u64, end: Duration) -> Vec<f64> {
    let mut got = vec![0.0; users];
    let packet = |number, user| Pkt { number, user, bytes, lane: 9 };
    let none = &mut |_| panic!("nothing is dropped");
    for user in 0..users {
        for number in 0..20 {
            let _ = cell.enqueue(Time::ZERO, packet(number, user), none);
        }
    }
    let mut now = Time::ZERO;
    while now < Time::ZERO + end {
        match cell.dequeue(now, none) {
            Dequeued::Packet(sent, _) => {
                assert_eq!(sent.lane, sent.user);
                got[sent.user] += bytes as f64;
                let _ = cell.enqueue(now, packet(sent.number + 20, sent.user), none);
            }
            Dequeued::NotBefore(later) => {
                assert!(later > now);
                now = later;
            }
            Dequeued::Nothing => panic!("something waits"),
        }
    }
    got
}

/// In Mbit/s.
fn rates(bytes: Vec<f64>, end: Duration) -> Vec<f64> {
    bytes.into_iter().map(|bytes| bytes * 8e-6 / end.as_secs_f64()).collect()
}

/// Rates that are drawn again for each interval: exponential ones, or those of two states.
struct Fading {
    interval: u64,
    means: Vec<f64>,
    /// The rates of users, in the mean, by a number from 0 to 1.
    law: fn(f64) -> f64,
}

impl Channels for Fading {
    fn capacity(&mut self, user: usize, from: Time, to: Time) -> u128 {
        // The same whoever else is asked, and however often.
        let draw =
            quell_aqm::Seed(7).indexed_stream("fading", from.nanos() / self.interval * 64 + user as u64);
        let rate = self.means[user] * (self.law)({ draw }.uniform());
        (rate * 1e6) as u128 * u128::from((to - from).nanos())
    }
}

fn exponential(u: f64) -> f64 {
    -(1.0 - u).ln()
}

/// Half of the time 1.6, half of the time 0.4.
fn two_states(u: f64) -> f64 {
    if u < 0.5 { 1.6 } else { 0.4 }
}

fn fading(policy: Policy, means: &[f64], law: fn(f64) -> f64, end: Duration) -> Vec<f64> {
    let channels = Fading { interval: MS.nanos(), means: means.to_vec(), law };
    rates(backlogged(cell(policy, MS, means.len(), channels), means.len(), 1500, end), end)
}

/// Under static rates, proportional fairness is equal time: each of n users gets r/n. So are turns.
#[test]
fn users_with_static_rates_get_equal_time() {
    let end = Duration::from_secs(20);
    for all in [vec![10.0, 40.0], vec![3.0, 12.0, 24.0, 96.0], vec![5.0; 7]] {
        for policy in [PF, Policy::RoundRobin] {
            let channels: Vec<BitRate> = all.iter().map(|rate| mbit(*rate)).collect();
            let got = rates(backlogged(cell(policy, MS, all.len(), channels), all.len(), 1500, end), end);
            for (got, rate) in got.iter().zip(&all) {
                let fair = rate / all.len() as f64;
                assert!((got / fair - 1.0).abs() < 0.01, "{policy:?}: {got} of {fair} Mbit/s, {all:?}");
            }
        }
    }
}

/// The best of n users of the same exponential law has H(n) = 1 + 1/2 + ... + 1/n times the mean rate, and each is the
/// best equally often, relative to its mean: the gain of multiuser diversity over turns.
#[test]
fn proportional_fairness_gains_what_diversity_has() {
    let end = Duration::from_secs(60);
    let slow = Policy::ProportionalFair { window: Duration::from_secs(1) };
    for means in [vec![20.0; 2], vec![20.0; 4], vec![8.0, 16.0, 32.0, 64.0], vec![20.0; 10]] {
        let n = means.len() as f64;
        let gain: f64 = (1..=means.len()).map(|k| 1.0 / k as f64).sum();
        let fair = fading(slow, &means, exponential, end);
        let turns = fading(Policy::RoundRobin, &means, exponential, end);
        for ((fair, turns), mean) in fair.iter().zip(&turns).zip(&means) {
            // A user has 60 000 / n intervals: the standard error of its mean rate is sqrt(n / 60 000).
            let error = 4.0 * (n / 60_000.0).sqrt();
            assert!((turns * n / mean - 1.0).abs() < error, "{turns} of {mean}, {means:?}");
            assert!((fair * n / mean / gain - 1.0).abs() < 0.04, "{fair} of {mean}, {means:?}: {gain}");
        }
    }
    // Two users of two states: the better one of the two is good in 3/4 of all intervals.
    let two = fading(slow, &[20.0, 20.0], two_states, end);
    let wanted = 20.0 * (0.75 * 1.6 + 0.25 * 0.4) / 2.0;
    assert!(two.iter().all(|got| (got / wanted - 1.0).abs() < 0.02), "{two:?} {wanted}");
}

/// Small packets take no more of an interval than their bytes: with twenty users of 200 kbit/s, one who always has
/// packets gets all that they leave, whatever the rule. Users who come with the start of an interval leave by its end.
#[test]
fn what_a_user_leaves_of_an_interval_is_for_the_others() {
    let rate = mbit(100.0);
    for policy in [PF, Policy::RoundRobin, Policy::MaxRate] {
        let mut line = Line::new(cell(policy, MS, 21, vec![rate; 21]), FAST);
        let (mut away, mut number, mut greedy) = (Away::default(), 0, 0);
        let mut got = [0.0; 21];
        let mut arrive = |line: &mut Line<Plain<_>>, away: &mut Away, now, user, bytes| {
            number += 1;
            let _ = line.arrive(now, Pkt { number, user, bytes, lane: 9 }, away);
        };
        for ms in 0..10_000 {
            let now = ns(ms * 1_000_000);
            line.run(now, &mut away);
            for Sent { packet, .. } in away.sent.drain(..) {
                got[packet.user] += packet.bytes as f64 * 8.0 / 10e6;
                greedy -= u32::from(packet.user == 20);
            }
            arrive(&mut line, &mut away, now, (ms % 20) as usize, 500);
            while greedy < 20 {
                arrive(&mut line, &mut away, now, 20, 1500);
                greedy += 1;
            }
        }
        let all: f64 = got.iter().sum();
        assert!((all / 100.0 - 1.0).abs() < 0.001, "{policy:?}: {all} Mbit/s");
        assert!(got[..20].iter().all(|light| (light / 0.2 - 1.0).abs() < 0.01), "{policy:?}: {got:?}");
    }
}

/// A queue that spaces its packets out, as a shaper does, has them sent in the interval in which they come.
#[test]
fn a_queue_that_waits_for_a_time_of_its_own_loses_no_interval() {
    let shaper =
        Shaper { rate: LinkLayer::plain(mbit(13.0)), burst: Bytes::new(1500), peak: None, limit: None };
    let shaped = Shaped::new(fifo(200), &shaper);
    let by_user: ByUser = |packet| packet.user;
    let cell = Cell::new(PF, MS, [("u".into(), shaped)], by_user, vec![mbit(40.0)]);
    let (mut line, mut away) = (Line::new(cell, FAST), Away::default());
    for number in 0..200 {
        let _ = line.arrive(Time::ZERO, Pkt { number, user: 0, bytes: 1500, lane: 9 }, &mut away);
    }
    line.run(ns(100_000_000), &mut away);
    let got = away.sent.len() as f64 * 1500.0 * 8.0 / 0.1 / 1e6;
    assert!((got / 13.0 - 1.0).abs() < 0.02, "{got} Mbit/s");
}

/// The highest rate wins, so that the others starve; proportional fairness starves nobody.
#[test]
fn the_highest_rate_starves_others_and_proportional_fairness_nobody() {
    let end = Duration::from_secs(10);
    let all = [1.0, 10.0, 100.0];
    let got = |policy| {
        let channels: Vec<BitRate> = all.iter().map(|rate| mbit(*rate)).collect();
        rates(backlogged(cell(policy, MS, 3, channels), 3, 1500, end), end)
    };
    let most = got(Policy::MaxRate);
    assert!(most[0] == 0.0 && most[1] == 0.0 && (most[2] / 100.0 - 1.0).abs() < 0.001, "{most:?}");
    let fair = got(PF);
    assert!(fair.iter().zip(all).all(|(got, rate)| got * 3.0 > 0.98 * rate), "{fair:?}");
    // Of changing rates, too, and the sum of the highest is at least that of any other rule.
    let sum = |policy| fading(policy, &[10.0, 20.0, 30.0], exponential, end).iter().sum::<f64>();
    let [most, fair, turns] = [Policy::MaxRate, PF, Policy::RoundRobin].map(sum);
    assert!(most > fair && fair > turns, "{most} {fair} {turns}");
}

/// 1500 bytes take 12 ms at 1 Mbit/s: twelve intervals of one user, which may be any.
#[test]
fn a_packet_goes_on_where_the_interval_before_ended() {
    let channels = vec![mbit(1.0), mbit(3.0)];
    let (mut line, mut away) = (Line::new(cell(Policy::RoundRobin, MS, 2, channels), FAST), Away::default());
    for user in [0, 1, 1] {
        let _ = line.arrive(ns(300_000), Pkt { number: 0, user, bytes: 1500, lane: 9 }, &mut away);
    }
    assert_eq!(line.next(), Some(ns(1_000_000)), "nothing is sent before the next interval");
    while let Some(next) = line.next_departure() {
        line.run(next, &mut away);
    }
    // User 1 has the intervals from 2, 4, 6 and 8 ms on, and then those from 10 to 16 ms; user 0 the others, and
    // all from 17 ms on: its twelfth ends at 21 ms.
    let times: Vec<(usize, u64)> = away.sent.iter().map(|s| (s.packet.user, s.start.nanos())).collect();
    assert_eq!(times, [(1, 9_000_000), (1, 17_000_000), (0, 21_000_000)]);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    /// Any order of calls conserves packets, keeps the order of each user, and gives nobody more than its channel takes.
    #[test]
    fn packets_are_conserved_and_no_channel_carries_more_than_it_can(
        load in prop::collection::vec((0u64..3_000_000, 0usize..4, 40u64..3000), 1..400),
        all in prop::collection::vec(100u64..200_000, 4),
        policy in prop_oneof![Just(PF), Just(Policy::RoundRobin), Just(Policy::MaxRate)],
        interval in prop_oneof![Just(MS), Just(Duration::from_micros(333)), Just(Duration::from_nanos(1))],
    ) {
        let interval = if interval.nanos() == 1 { Duration::from_millis(10) } else { interval };
        let channels: Vec<BitRate> = all.iter().map(|kbit| BitRate::from_bps(kbit * 1000)).collect();
        let (mut line, mut away) = (Line::new(cell(policy, interval, 4, channels), FAST), Away::default());
        let mut now = 0;
        let check = |line: &Line<Plain<_>>, away: &Away, came: usize| {
            let (view, counters) = (line.queue().view(), line.queue().counters());
            assert_eq!(view.packets.get() as usize, came - away.sent.len() - away.dropped.len());
            assert_eq!(counters.departed.packets as usize, away.sent.len());
            assert_eq!(counters.departed.bytes, away.sent.iter().map(|s| s.packet.bytes).sum::<u64>());
            assert_eq!(view.head_since.is_some(), !line.queue().is_empty());
        };
        for (number, &(gap, user, bytes)) in load.iter().enumerate() {
            now += gap;
            let _ = line.arrive(ns(now), Pkt { number: number as u32, user, bytes, lane: 9 }, &mut away);
            check(&line, &away, number + 1);
        }
        while let Some(next) = line.next_departure() {
            line.run(next, &mut away);
        }
        check(&line, &away, load.len());
        prop_assert!(away.dropped.iter().all(|gone| gone.place == DropPoint::Arrival));
        for (user, kbit) in all.iter().enumerate() {
            let sent: Vec<_> = away.sent.iter().filter(|s| s.packet.user == user).collect();
            prop_assert!(sent.windows(2).all(|w| w[0].packet.number < w[1].packet.number));
            // Over any time, a channel carries its rate, and what had been sent of the first packet before.
            for (i, from) in sent.iter().enumerate() {
                let mut bits = 0;
                for s in &sent[i + 1..] {
                    bits += s.packet.bytes * 8;
                    let time = (s.start - from.start).as_secs_f64() + 5e-9;
                    prop_assert!(bits as f64 <= (kbit * 1000) as f64 * time + 1.0, "{} {}", bits, time);
                }
            }
        }
    }

    /// Alone and with a constant rate, a user has the departures of a link with this rate, up to an interval later, if
    /// it is busy; a change of the host's pace of calls changes nothing.
    #[test]
    fn a_user_alone_has_a_link_of_its_rate(
        load in prop::collection::vec((0u64..400_000, 40u64..1500), 2..200),
        kbit in 20_000u64..200_000,
    ) {
        let rate = BitRate::from_bps(kbit * 1000);
        let (mut line, mut away) = (Line::new(cell(PF, MS, 1, vec![rate]), FAST), Away::default());
        let (mut link, mut plain) = (Line::new(fifo(200), rate), Away::default());
        let mut now = 0;
        for (number, &(gap, bytes)) in load.iter().enumerate() {
            now += gap;
            let packet = Pkt { number: number as u32, user: 0, bytes, lane: 9 };
            let _ = line.arrive(ns(now), packet, &mut away);
            let _ = link.arrive(ns(now), packet, &mut plain);
        }
        for _ in 0..2 * load.len() {
            if let Some(next) = line.next_departure() {
                line.run(next, &mut away);
            }
            if let Some(next) = link.next_departure() {
                link.run(next, &mut plain);
            }
        }
        let all = ns(now + 10_000_000_000);
        line.run(all, &mut away);
        link.run(all, &mut plain);
        prop_assert!(away.dropped.is_empty() && plain.dropped.is_empty() && away.sent.len() == load.len());
        for (cell, link) in away.sent.iter().zip(&plain.sent) {
            let late = cell.start.nanos() as i64 - link.end.nanos() as i64;
            // After each idle time it waits for an interval at most, and then it is as fast, but never faster.
            prop_assert!((-1..=1_000_000 + 10).contains(&late), "{}", late);
        }
    }
}
