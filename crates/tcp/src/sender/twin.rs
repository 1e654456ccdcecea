//! The fast paths beside the general ones: both, event by event.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;

use proptest::prelude::*;
use quell_units::{Duration, Time};

use super::{Modern, Outgoing, Phase, Sender};
use crate::choices::{AckTimer, Feedback, LossWindow, MarkReduction, RtoFloor, RttSamples, Rules, SlowStart};
use crate::feedback::Report;
use crate::params::Config;
use crate::receiver::{Acknowledgment, Arrival, Receiver};
use crate::{CongestionControl, Growth, Recovery, TcpParams};

/// What the fast path sends.
fn as_outgoing(new: Range<u32>) -> Vec<Outgoing> {
    new.map(|seq| Outgoing::Data { seq, retransmission: false, cwr: false }).collect()
}

enum Event {
    Data(Outgoing),
    Ack(Acknowledgment, Option<Report>),
    /// The application has more packets.
    Give(u32),
}

/// One end of a connection, and its twin without fast paths.
struct Ends {
    cfg: Config,
    senders: [Sender; 2],
    receivers: [Receiver; 2],
    events: BTreeMap<(Time, u32), Event>,
    count: u32,
    chance: u64,
    /// How many of a thousand packets are lost, and come marked.
    loss: u64,
    marks: u64,
    fast: u32,
    /// The times until which the hosts are busy with what was sent.
    busy: [Time; 2],
}

impl Ends {
    /// A number below a thousand.
    fn draw(&mut self) -> u64 {
        self.chance =
            self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.chance >> 33) % 1000
    }

    /// Something arrives after 50 ms, one after the other but for those that are late, unless it is lost.
    fn put(&mut self, now: Time, event: Event) {
        self.count += 1;
        if self.draw() < self.loss {
            return;
        }
        let late = if self.draw() < 5 { self.draw() } else { 0 };
        let at = now + Duration::from_millis(50) + Duration::from_micros(100 * late);
        self.events.insert((at, self.count), event);
    }

    /// What may be sent now. The second twin asks what is next before it asks whether that may leave.
    fn drain(&mut self, now: Time, which: usize) -> Vec<Outgoing> {
        let mut sent = Vec::new();
        loop {
            let (cfg, sender) = (&self.cfg, &mut self.senders[which]);
            let at_length = which == 1 && cfg.recovery == Recovery::Rack && sender.phase != Phase::Handshake;
            let next = if at_length { sender.poll_released(cfg, now) } else { sender.poll(cfg, now) };
            let Some(out) = next else { return sent };
            self.hand_over(now, which, &[out]);
            sent.push(out);
        }
    }

    /// The host, which takes 2 ms for a packet, takes over what was sent.
    fn hand_over(&mut self, now: Time, which: usize, sent: &[Outgoing]) {
        let data = sent.iter().filter(|out| matches!(out, Outgoing::Data { .. }));
        for _ in data.filter(|_| self.cfg.asks_host()) {
            self.busy[which] = self.busy[which].max(now) + Duration::from_millis(2);
            self.senders[which].on_handed_over(now, self.busy[which]);
        }
    }

    /// Sends what may be sent now, `first` of it by the first twin already.
    fn pump(&mut self, now: Time, first: Option<Vec<Outgoing>>) -> Result<(), TestCaseError> {
        if let Some(first) = &first {
            self.hand_over(now, 0, first);
        }
        let sent = [first.unwrap_or_else(|| self.drain(now, 0)), self.drain(now, 1)];
        prop_assert_eq!(&sent[0], &sent[1]);
        // Asked of a copy: a sender that is asked notes that it has nothing to send, which no fast path may owe to this.
        let mut copy = self.senders[0].clone();
        prop_assert_eq!(copy.poll(&self.cfg, now), None, "nothing is left");
        let [a, b] = &self.senders;
        prop_assert_eq!((a.window, a.deadline(), a.rto()), (b.window, b.deadline(), b.rto()));
        sent[0].iter().for_each(|out| self.put(now, Event::Data(*out)));
        Ok(())
    }

    fn on_ack(
        &mut self,
        now: Time,
        Acknowledgment { next: ack, ece, .. }: Acknowledgment,
        report: Option<Report>,
    ) -> Result<(), TestCaseError> {
        let cfg = &self.cfg;
        let mut first = None;
        let sender = &self.senders[0];
        let says_nothing = match report {
            None => true,
            Some(report) => report.only_marks().is_some_and(|marks| {
                sender.takes_in_order(now, ack) && sender.hears_no_marks(cfg, ack, marks)
            }),
        };
        if says_nothing && !ece && sender.takes_in_order(now, ack) {
            let new = self.senders[0].on_ack_in_order(cfg, now, ack);
            first = Some(as_outgoing(new));
            self.fast += 1;
        }
        let mut taken = usize::from(first.is_some());
        if taken == 0 && !ece && report.is_none() && self.senders[0].takes_plain_duplicate(now, ack) {
            self.senders[0].on_plain_duplicate(cfg, now);
            taken = 1;
        }
        for sender in self.senders.iter_mut().skip(taken) {
            match &report {
                Some(report) => sender.on_report(cfg, now, ack, ece, report),
                None => sender.on_ack(cfg, now, ack, ece, &[]),
            };
        }
        let [a, b] = &mut self.senders;
        prop_assert_eq!(a.take_rtt(), b.take_rtt());
        self.pump(now, first)
    }

    fn on_data(&mut self, now: Time, out: Outgoing) -> Result<(), TestCaseError> {
        let arrival = match out {
            Outgoing::Syn => Arrival { syn: true, ..Default::default() },
            Outgoing::Data { seq, cwr, retransmission } => {
                let again = retransmission && self.cfg.tells_again();
                Arrival { seq, cwr, ce: self.draw() < self.marks, again, ..Default::default() }
            }
        };
        let cfg = &self.cfg;
        let [a, b] = &mut self.receivers;
        let any = |r: &mut Receiver| {
            let got = r.on_packet(cfg, now, arrival)?;
            Some((got.new, got.acknowledge.then(|| r.acknowledgment())))
        };
        let taken = [
            if !arrival.syn
                && !arrival.ce
                && !arrival.cwr
                && !arrival.again
                && cfg.acknowledges_by_number()
                && a.takes_in_order(cfg, now, 0, arrival.seq)
            {
                let (new, next) = a.on_packet_in_order(cfg, now, arrival.seq);
                Some((new, next.map(|next| Acknowledgment { epoch: 0, next, ece: false })))
            } else {
                any(a)
            },
            any(b),
        ];
        prop_assert_eq!(taken[0], taken[1]);
        prop_assert_eq!((a.deadline(), a.next(), a.reports(cfg)), (b.deadline(), b.next(), b.reports(cfg)));
        if let Some((_, Some(ack))) = taken[0] {
            self.acknowledge(now, ack)?;
        }
        Ok(())
    }

    fn acknowledge(&mut self, now: Time, ack: Acknowledgment) -> Result<(), TestCaseError> {
        let reports = self.receivers[0].reports(&self.cfg);
        let [a, b] = self.receivers.each_mut().map(|r| reports.then(|| r.report(&self.cfg)));
        prop_assert_eq!(a, b);
        self.put(now, Event::Ack(ack, a));
        Ok(())
    }

    /// What they have learned.
    fn compare(&self) -> Result<(), TestCaseError> {
        let [a, b] = self.senders.each_ref().map(|sender| {
            sender.modern.as_ref().map(|modern| {
                let Modern { control, gauges: g, release } = &**modern;
                // Models alone read whether the window kept packets back.
                let limited = self.cfg.congestion.is_model() && g.limited;
                format!("{:?}", (control, &g.search, g.rtts.srtt, &g.marks, release, limited))
            })
        });
        prop_assert_eq!(a, b);
        Ok(())
    }

    fn run(&mut self, end: Time) -> Result<(), TestCaseError> {
        self.pump(Time::ZERO, None)?;
        loop {
            let arrival = self.events.first_key_value().map_or(Time::MAX, |(at, _)| at.0);
            let (sender, receiver) = (self.senders[0].deadline(), self.receivers[0].deadline());
            let now = arrival.min(sender).min(receiver);
            if now >= end {
                return self.compare();
            }
            if now == sender {
                let mut first = None;
                if self.senders[0].takes_timer_in_order(now) {
                    first = Some(as_outgoing(self.senders[0].on_timer_in_order(&self.cfg, now)));
                }
                for sender in self.senders.iter_mut().skip(usize::from(first.is_some())) {
                    sender.on_timer(&self.cfg, now);
                }
                self.pump(now, first)?;
            } else if now == receiver {
                let [goes, twin] = self.receivers.each_mut().map(|r| r.on_timer(&self.cfg, now));
                prop_assert_eq!(goes, twin);
                if goes {
                    let [ack, twin] = self.receivers.each_mut().map(|r| r.acknowledgment());
                    prop_assert_eq!(ack, twin);
                    self.acknowledge(now, ack)?;
                }
            } else if let Some((_, event)) = self.events.pop_first() {
                match event {
                    Event::Data(out) => self.on_data(now, out)?,
                    Event::Ack(ack, report) => self.on_ack(now, ack, report)?,
                    Event::Give(packets) => {
                        self.senders.iter_mut().for_each(|sender| sender.provide(packets));
                        self.pump(now, None)?;
                    }
                }
            }
        }
    }
}

fn params() -> impl Strategy<Value = TcpParams> {
    use CongestionControl::{Bbr1, Bbr3, Cubic, Dctcp, Ledbat, Prague, Reno};
    use Recovery::{NewReno, Prr, Rack, Sack, Tahoe};
    let recovery = prop::sample::select(&[Tahoe, Recovery::Reno, NewReno, Sack, Prr, Rack][..]);
    let congestion = prop::sample::select(&[Reno, Reno, Cubic, Cubic, Dctcp, Prague, Ledbat, Bbr1, Bbr3][..]);
    let feedback = prop::sample::select(&[Feedback::Classic, Feedback::Exact, Feedback::AccEcn][..]);
    let start =
        prop::sample::select(&[SlowStart::Standard, SlowStart::HyStartPlusPlus, SlowStart::HyStart][..]);
    let growth = prop::sample::select(&[Growth::Acknowledgments, Growth::Packets, Growth::WholePackets][..]);
    let flags = prop::array::uniform11(any::<bool>());
    (recovery, congestion, feedback, (start, growth), flags, 1u32..12, 2u32..60).prop_map(
        |(
            recovery,
            congestion,
            feedback,
            (slow_start, growth),
            [delayed, coarse, paced, linux, classic, gradual, ns3, eifel, frto, each, gro],
            burst,
            max_window,
        )| {
            let model = matches!(congestion, Bbr1 | Bbr3);
            let feedback = match (model, congestion.is_scalable(), feedback) {
                (true, ..) => Feedback::Classic,
                (_, true, Feedback::Classic) => Feedback::AccEcn,
                _ => feedback,
            };
            let ns3_has = recovery == Prr && matches!(congestion, Reno | Cubic);
            TcpParams {
                recovery: if model { Rack } else { recovery },
                congestion,
                feedback,
                ecn: feedback != Feedback::Classic || classic && !model,
                pacing: paced || model || congestion == Prague,
                pacing_burst: burst,
                slow_start,
                growth,
                ack_timer: if coarse { AckTimer::Adaptive } else { AckTimer::Fixed },
                quick_acks: if linux { 16 } else { 0 },
                delayed_ack: delayed.then(|| Duration::from_millis(40)),
                gro: gro.then(|| Duration::from_millis(5)),
                send_quantum: linux.then(|| Duration::from_millis(20)),
                small_queues: linux && gradual,
                sack_delay: linux.then(|| Duration::from_millis(3)),
                granularity: Duration::from_millis(if coarse { 10 } else { 1 }),
                mark_reduction: if gradual { MarkReduction::Proportional } else { MarkReduction::AtOnce },
                rtt_samples: if each { RttSamples::Acknowledgment } else { RttSamples::RoundTrip },
                rto_floor: if linux { RtoFloor::Variation } else { RtoFloor::Timeout },
                eifel,
                frto,
                loss_window: if frto { LossWindow::Flight } else { LossWindow::One },
                rules: if ns3 && ns3_has { Rules::Ns3 } else { Rules::Rfc },
                max_window,
                ..Default::default()
            }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2400, failure_persistence: None, ..Default::default() })]

    /// Whether packets are lost or marked often, seldom or late, and data comes at once or in pieces, the fast path
    /// does what the general one does.
    #[test]
    fn a_fast_end_does_what_any_does(
        params in params(),
        chance in any::<u64>(),
        (loss, marks) in (0u64..60, 0u64..60),
        packets in 1u32..2000,
        gap_us in prop_oneof![Just(0), 5u64..300],
    ) {
        let cfg = Config::new(&params).unwrap().with_host();
        let sender = Sender::new(&cfg);
        let mut ends = Ends {
            senders: [sender.clone(), sender],
            receivers: [Receiver::new(), Receiver::new()],
            events: BTreeMap::new(),
            count: 0,
            chance,
            loss,
            marks: if params.ecn { marks } else { 0 },
            fast: 0,
            busy: [Time::ZERO; 2],
            cfg,
        };
        let at_once = if gap_us == 0 { packets } else { 1 };
        ends.senders.iter_mut().for_each(|s| s.provide(at_once));
        let (mut given, mut at) = (at_once, Time::ZERO);
        while given < packets {
            let piece = (1 + ends.draw() as u32 % 6).min(packets - given);
            given += piece;
            at += Duration::from_micros(gap_us * (1 + ends.draw() % 400));
            // Behind what arrives at the same time.
            ends.events.insert((at, u32::MAX - given), Event::Give(piece));
        }
        ends.run(Time::ZERO + Duration::from_secs(60))?;
        let seldom = gap_us > 0 || params.gro.is_some()
            || params.ecn && params.feedback == Feedback::Classic
            || loss > 5 || ends.marks > 5 || packets < 50 || params.congestion == CongestionControl::Ledbat;
        prop_assert!(seldom || ends.fast * 2 > packets / 4, "it is usual: {}", ends.fast);
    }
}
