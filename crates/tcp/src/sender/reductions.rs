//! What reduces the window, and how often, where one cause follows another.

use alloc::vec::Vec;

use super::*;
use crate::{Feedback, Growth, MarkReduction, TcpParams};

fn ms(x: u64) -> Time {
    Time::ZERO + Duration::from_millis(x)
}

fn params(congestion: CongestionControl, recovery: Recovery, initial_window: u32) -> TcpParams {
    let granularity = Duration::from_millis(1);
    let growth = Growth::Packets;
    TcpParams { congestion, recovery, initial_window, granularity, growth, syn: false, ..Default::default() }
}

/// A sender with its whole window in flight, which is also its threshold.
fn flying(params: &TcpParams) -> (Config, Sender) {
    let cfg = Config::new(params).unwrap();
    let mut s = Sender::new(&cfg);
    s.window.ssthresh = f64::from(params.initial_window);
    s.provide(u32::MAX);
    assert_eq!(sends(&cfg, &mut s, ms(0)).len(), params.initial_window as usize);
    (cfg, s)
}

fn sends(cfg: &Config, s: &mut Sender, now: Time) -> Vec<u32> {
    let all = core::iter::from_fn(|| s.poll(cfg, now));
    all.filter_map(|out| if let Outgoing::Data { seq, .. } = out { Some(seq) } else { None }).collect()
}

fn ack(cfg: &Config, s: &mut Sender, now: Time, ack: u32, ece: bool, blocks: &[Block]) -> Vec<u32> {
    s.on_ack(cfg, now, ack, ece, if cfg.recovery.is_selective() { blocks } else { &[] });
    sends(cfg, s, now)
}

/// Lets the retransmission timer run out.
fn time_out(cfg: &Config, s: &mut Sender) {
    for _ in 0..10 {
        let at = s.deadline();
        let did = s.on_timer(cfg, at);
        sends(cfg, s, at);
        if did.timeout {
            return;
        }
    }
    panic!("no timeout");
}

const TODAY: [Recovery; 2] = [Recovery::Prr, Recovery::Rack];

/// RFC 5681 section 3.1: the threshold is half of what was in flight, and stays where the timer sends a packet again;
/// what reduction in proportion has left of the window is not what was in flight.
#[test]
fn timeouts_of_what_a_recovery_repairs_leave_the_threshold() {
    for recovery in TODAY {
        for (congestion, left) in [(CongestionControl::Reno, 50.0), (CongestionControl::Cubic, 70.0)] {
            let (cfg, mut s) = flying(&params(congestion, recovery, 100));
            // Of 100 packets the last five arrive, and nothing that is sent again.
            for k in 0..5 {
                ack(&cfg, &mut s, ms(100 + k), 1, false, &[(95, 96 + k as u32)]);
            }
            assert_eq!((s.phase, s.window.ssthresh), (Phase::Recovery, left));
            assert!(s.window.cwnd < left / 2.0);
            for _ in 0..3 {
                time_out(&cfg, &mut s);
                assert_eq!((s.window.cwnd, s.window.ssthresh), (1.0, left), "{recovery:?} {congestion:?}");
            }
            // Another window is lost for itself.
            let end = s.max;
            ack(&cfg, &mut s, ms(900_000), end, false, &[]);
            s.window.cwnd = 40.0;
            sends(&cfg, &mut s, ms(900_000));
            time_out(&cfg, &mut s);
            assert_eq!(s.window.ssthresh, 40.0 * left / 100.0);
        }
    }
}

#[test]
fn a_lost_syn_says_nothing_of_the_path_to_hosts() {
    for (recovery, threshold) in [
        (Recovery::Prr, f64::INFINITY),
        (Recovery::Rack, f64::INFINITY),
        (Recovery::NewReno, 2.0),
        (Recovery::Sack, 2.0),
    ] {
        let cfg =
            Config::new(&TcpParams { syn: true, ..params(CongestionControl::Reno, recovery, 10) }).unwrap();
        let mut s = Sender::new(&cfg);
        s.provide(u32::MAX);
        assert_eq!(s.poll(&cfg, ms(0)), Some(Outgoing::Syn));
        let before = s.window.ssthresh;
        s.arm(ms(0));
        time_out(&cfg, &mut s);
        ack(&cfg, &mut s, ms(60_000), 1, false, &[]);
        assert_eq!((s.window.cwnd, s.window.ssthresh), (1.0, threshold.min(before)), "{recovery:?}");
    }
}

/// RFC 3168 section 6.1.2, RFC 9438 section 4.6: whose window is one waits for the timer, longer each time.
#[test]
fn a_window_of_one_that_meets_marks_waits_for_the_timer() {
    for congestion in [CongestionControl::Reno, CongestionControl::Cubic, CongestionControl::Ledbat] {
        for growth in [Growth::Packets, Growth::WholePackets] {
            let params = TcpParams { ecn: true, growth, ..params(congestion, Recovery::Rack, 1) };
            let (cfg, mut s) = flying(&params);
            let (mut now, mut waits) = (ms(0), Vec::new());
            for next in 2..8 {
                now += Duration::from_millis(50);
                assert_eq!(ack(&cfg, &mut s, now, next, true, &[]), [], "{congestion:?}");
                let at = s.deadline();
                waits.push((at - now).nanos() / 1_000_000);
                s.on_timer(&cfg, at);
                assert_eq!(sends(&cfg, &mut s, at), [next]);
                now = at;
            }
            assert!(waits.windows(2).all(|w| w[1] >= 2 * w[0] - 100), "{congestion:?} {waits:?}");
        }
    }
}

/// As in Linux, whose threshold is two packets and whose window is that at once: with a queue that marks every packet, 50
/// flows on 10 Mbit/s keep 92 packets in it, two each; where they waited for their timers there were 75.
#[test]
fn a_window_of_one_that_meets_marks_is_two_where_reductions_are_in_proportion() {
    for congestion in [CongestionControl::Reno, CongestionControl::Cubic] {
        let mark_reduction = MarkReduction::Proportional;
        let params = TcpParams { ecn: true, mark_reduction, ..params(congestion, Recovery::Rack, 10) };
        let (cfg, mut s) = flying(&params);
        time_out(&cfg, &mut s);
        assert_eq!(s.window.cwnd, 1.0);
        let (end, now) = (s.max, s.deadline());
        // What is lost is repaired first, and the window grows.
        ack(&cfg, &mut s, now, 2, true, &[]);
        assert_eq!((s.window.cwnd, s.repair.falls()), (2.0, false), "{congestion:?}");
        // The last packet of it has come: one more need not be acknowledged.
        s.window.cwnd = 1.0;
        assert_eq!(ack(&cfg, &mut s, now, end, true, &[]), [end, end + 1]);
        for next in end + 1..end + 20 {
            assert_eq!(ack(&cfg, &mut s, now, next, true, &[]).len(), 1, "{congestion:?}");
            assert_eq!((s.window.cwnd, s.window.ssthresh), (2.0, 2.0));
        }
    }
}

/// RFC 6582 section 3.2 step 3: a full acknowledgment ends recovery; a mark among what was sent in it is another event.
#[test]
fn an_echo_with_the_acknowledgment_that_ends_a_recovery_does_not_keep_it() {
    for recovery in [Recovery::Reno, Recovery::NewReno, Recovery::Sack, Recovery::Prr, Recovery::Rack] {
        let (cfg, mut s) = flying(&TcpParams { ecn: true, ..params(CongestionControl::Reno, recovery, 20) });
        for k in 0..19 {
            ack(&cfg, &mut s, ms(100 + k), 1, false, &[(2, 3 + k as u32)]);
        }
        assert_eq!((s.phase, s.window.ssthresh), (Phase::Recovery, 10.0));
        let (next, beyond) = (s.max, s.recover + 1);
        let sent = ack(&cfg, &mut s, ms(210), beyond, true, &[]);
        assert_eq!((s.phase, s.window.cwnd, s.window.ssthresh), (Phase::Open, 5.0, 5.0), "{recovery:?}");
        assert!(sent.iter().all(|seq| *seq >= next), "{recovery:?} sends {sent:?} again");
    }
}

/// RFC 5681 eq. 4 halves the flight, which the largest window bounds; so does ns-2.
#[test]
fn a_window_beyond_the_largest_is_not_what_is_halved() {
    for recovery in [Recovery::Tahoe, Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let params = TcpParams { ecn: true, max_window: 20, ..params(CongestionControl::Reno, recovery, 20) };
        let (cfg, mut s) = flying(&params);
        // It grows although no more may be sent.
        (2..=2000).for_each(|next| drop(ack(&cfg, &mut s, ms(u64::from(next)), next, false, &[])));
        assert!(s.window.cwnd > 60.0, "{}", s.window.cwnd);
        ack(&cfg, &mut s, ms(2001), 2001, true, &[]);
        assert_eq!((s.window.cwnd, s.window.ssthresh), (10.0, 10.0), "{recovery:?}");
    }
}

/// As in ns-2 until January 2006: a window of one is halved to none, and the next packet that arrives unmarked makes it one.
#[test]
fn a_window_that_is_halved_in_whole_packets_may_be_empty() {
    for recovery in [Recovery::Tahoe, Recovery::Reno, Recovery::NewReno, Recovery::Sack] {
        let params =
            TcpParams { ecn: true, whole_reductions: true, ..params(CongestionControl::Reno, recovery, 3) };
        let (cfg, mut s) = flying(&params);
        assert_eq!(ack(&cfg, &mut s, ms(100), 2, true, &[]), []);
        assert_eq!((s.window.cwnd, s.window.ssthresh), (1.0, 2.0), "{recovery:?}");
        // Of the same window.
        assert_eq!(ack(&cfg, &mut s, ms(101), 3, true, &[]), []);
        assert_eq!(ack(&cfg, &mut s, ms(102), 4, false, &[]), [4, 5]);
        assert_eq!(s.window.cwnd, 2.0);
        s.window.cwnd = 1.5;
        assert_eq!(ack(&cfg, &mut s, ms(200), 5, true, &[]), []);
        assert_eq!((s.window.cwnd, s.window.ssthresh), (0.0, 2.0), "{recovery:?}");
        assert_eq!(ack(&cfg, &mut s, ms(201), 6, false, &[]), [6]);
        assert_eq!(s.window.cwnd, 1.0);
    }
}

/// RFC 3708 section 3: only what an event has sent again may undo it.
#[test]
fn a_loss_that_a_probe_repaired_is_not_undone_by_a_later_probe() {
    for congestion in [CongestionControl::Reno, CongestionControl::Cubic] {
        let (cfg, mut s) = flying(&params(congestion, Recovery::Rack, 10));
        s.stop();
        (2..=10).for_each(|next| drop(ack(&cfg, &mut s, ms(100), next, false, &[])));
        let at = s.deadline();
        s.on_timer(&cfg, at);
        assert_eq!(sends(&cfg, &mut s, at), [10]);
        s.provide(5);
        ack(&cfg, &mut s, ms(500), 11, false, &[]);
        ack(&cfg, &mut s, ms(610), 12, false, &[]);
        let reduced = s.window.ssthresh;
        assert!(reduced < 8.0, "{congestion:?} {:?}", s.window);
        (13..=15).for_each(|next| drop(ack(&cfg, &mut s, ms(612), next, false, &[])));
        let at = s.deadline();
        s.on_timer(&cfg, at);
        assert_eq!(sends(&cfg, &mut s, at), [15]);
        let late = at + Duration::from_millis(50);
        ack(&cfg, &mut s, late, 16, false, &[]);
        let twice = Report { duplicate: Some(15), ..Default::default() };
        s.on_report(&cfg, late + Duration::from_millis(50), 16, false, &twice);
        assert_eq!(s.window.ssthresh, reduced, "{congestion:?}");
    }
}

/// RFC 5681 section 3.2 step 6; ns-2 takes the acknowledgment for one more.
#[test]
fn a_recovery_leaves_the_threshold() {
    for recovery in [Recovery::Reno, Recovery::NewReno] {
        for (growth, more) in
            [(Growth::Acknowledgments, 0.1), (Growth::Packets, 0.0), (Growth::WholePackets, 0.0)]
        {
            let (cfg, mut s) = flying(&TcpParams { growth, ..params(CongestionControl::Reno, recovery, 20) });
            (0..19).for_each(|k| drop(ack(&cfg, &mut s, ms(100 + k), 1, false, &[])));
            let end = s.recover;
            ack(&cfg, &mut s, ms(210), end, false, &[]);
            assert_eq!((s.phase, s.window.cwnd), (Phase::Open, 10.0 + more), "{recovery:?} {growth:?}");
        }
    }
}

/// RFC 9768 section 3.2.2.5.
#[test]
fn an_acknowledgment_that_another_has_overtaken_brings_no_marks() {
    let params = TcpParams {
        ecn: true,
        feedback: Feedback::AccEcn,
        ..params(CongestionControl::Dctcp, Recovery::Sack, 50)
    };
    let (cfg, mut s) = flying(&params);
    for (now, end, marks) in [(100, 9, 2), (101, 8, 1), (102, 10, 2)] {
        let mut report = Report { marks: Some(marks), ..Default::default() };
        report.blocks.push((6, end));
        s.on_report(&cfg, ms(now), 5, false, &report);
        // Two are known all the time.
        let marks = &s.modern.as_ref().unwrap().gauges.marks;
        assert_eq!(marks.news(Feedback::AccEcn, 2, 1), 0, "{now} ms");
    }
}

fn duplicate(cfg: &Config, s: &mut Sender, now: Time, seq: u32) {
    let una = s.una;
    s.on_report(cfg, now, una, false, &Report { duplicate: Some(seq), ..Default::default() });
    sends(cfg, s, now);
}

/// What the first recovery has sent again is of the second one's event, too.
#[test]
fn a_recovery_that_begins_with_packets_sent_again_is_not_undone_by_one_of_them() {
    let (cfg, mut s) = flying(&params(CongestionControl::Reno, Recovery::Rack, 20));
    (0..19).for_each(|k| drop(ack(&cfg, &mut s, ms(100 + k), 1, false, &[(2, 3 + k as u32)])));
    // Of those that the recovery sends, r is lost and the next one late; both are sent again.
    let (max, r) = (s.max, s.recover);
    ack(&cfg, &mut s, ms(201), 1, false, &[(r + 2, max), (2, r)]);
    ack(&cfg, &mut s, ms(202), r, false, &[(r + 2, max)]);
    assert_eq!((s.phase, s.window.ssthresh), (Phase::Recovery, 5.0));
    ack(&cfg, &mut s, ms(203), r, false, &[(r + 1, max)]);
    ack(&cfg, &mut s, ms(302), max, false, &[]);
    duplicate(&cfg, &mut s, ms(303), r + 1);
    assert_eq!(s.window.ssthresh, 5.0);
}

/// RFC 3708 section 3: all that was sent again came twice, what the recovery had sent among it.
#[test]
fn a_spurious_timeout_in_a_spurious_recovery_is_undone() {
    let (cfg, mut s) = flying(&params(CongestionControl::Reno, Recovery::Rack, 20));
    // 1 and 2 are late, and then everything is.
    (0..18).for_each(|k| drop(ack(&cfg, &mut s, ms(100 + k), 1, false, &[(3, 4 + k as u32)])));
    let max = s.max;
    time_out(&cfg, &mut s);
    let mut now = Time::from_nanos(s.deadline().nanos() - 100_000_000);
    let mut again = ack(&cfg, &mut s, now, 21, false, &[]);
    for next in 22..=max {
        now += Duration::from_millis(1);
        again.extend(ack(&cfg, &mut s, now, next, false, &[]));
    }
    again.retain(|seq| *seq < max);
    for seq in again.into_iter().chain([1, 2, 1]) {
        now += Duration::from_millis(1);
        duplicate(&cfg, &mut s, now, seq);
    }
    assert_eq!((s.window.cwnd, s.window.ssthresh), (20.0, 20.0));
}

/// RFC 5681 section 4.3: packets of one window that are lost after each other has gone on are indications of their own.
#[test]
fn a_timeout_after_progress_lowers_the_threshold() {
    for recovery in TODAY {
        let (cfg, mut s) = flying(&params(CongestionControl::Reno, recovery, 200));
        time_out(&cfg, &mut s);
        assert_eq!(s.window.ssthresh, 100.0);
        let now = Time::from_nanos(s.deadline().nanos() - 100_000_000);
        (0..3).for_each(|_| {
            let next = s.una + 1;
            ack(&cfg, &mut s, now, next, false, &[]);
        });
        assert!(s.una < s.recover && s.window.cwnd == 4.0);
        time_out(&cfg, &mut s);
        assert_eq!(s.window.ssthresh, 2.0, "{recovery:?}");
    }
}

/// HyStart guards the slow start after any timeout.
#[test]
fn a_timeout_in_a_recovery_begins_another_search() {
    let params = TcpParams {
        slow_start: crate::SlowStart::HyStart,
        ..params(CongestionControl::Cubic, Recovery::Rack, 100)
    };
    let state = |recovers: bool| {
        let (cfg, mut s) = flying(&params);
        let losses = if recovers { 5 } else { 0 };
        (0..losses).for_each(|k| drop(ack(&cfg, &mut s, ms(100 + k), 1, false, &[(95, 96 + k as u32)])));
        time_out(&cfg, &mut s);
        std::format!("{:?}", s.modern.as_ref().unwrap().gauges.search)
    };
    assert_eq!(state(true).contains("over: true"), state(false).contains("over: true"));
}

/// A loss in a window that an echo has reduced, without a further reduction.
#[test]
fn tahoe_with_cubic_starts_slowly_after_a_mark_and_a_loss() {
    let growth = Growth::Acknowledgments;
    let params = TcpParams { ecn: true, growth, ..params(CongestionControl::Cubic, Recovery::Tahoe, 40) };
    let (cfg, mut s) = flying(&params);
    (2..42).for_each(|next| {
        drop(ack(&cfg, &mut s, ms(98) + Duration::from_millis(u64::from(next)), next, false, &[]))
    });
    ack(&cfg, &mut s, ms(200), 42, true, &[]);
    (43..53).for_each(|next| {
        drop(ack(&cfg, &mut s, ms(158) + Duration::from_millis(u64::from(next)), next, false, &[]))
    });
    (0..4).for_each(|k| drop(ack(&cfg, &mut s, ms(220 + k), 52, false, &[])));
    let end = s.max;
    ack(&cfg, &mut s, ms(330), end, false, &[]);
    for k in 0..6 {
        let (next, before) = (s.una + 1, s.window.cwnd);
        let now = ms(430 + k);
        if s.takes_in_order(now, next) {
            s.on_ack_in_order(&cfg, now, next);
        } else {
            ack(&cfg, &mut s, now, next, false, &[]);
        }
        assert_eq!(s.window.cwnd, before + 1.0);
    }
}
