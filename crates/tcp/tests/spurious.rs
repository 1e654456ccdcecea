//! Timeouts that were not needed, and how acknowledgments show it: by what they echo (RFC 3522), or by packets that were
//! sent once (RFC 5682).

use quell_tcp::{
    Config, LossWindow, MarkReduction, Outgoing, Recovery, Report, SackBlocks, Sender, TcpParams,
};
use quell_units::{Duration, Time};

fn ms(x: u64) -> Time {
    Time::ZERO + Duration::from_millis(x)
}

fn params() -> TcpParams {
    TcpParams {
        recovery: Recovery::Rack,
        syn: false,
        initial_window: 10,
        initial_ssthresh: Some(10),
        ..Default::default()
    }
}

/// What goes now.
fn drain(cfg: &Config, s: &mut Sender, now: Time) -> Vec<u32> {
    let all = std::iter::from_fn(|| s.poll(cfg, now));
    all.filter_map(|out| if let Outgoing::Data { seq, .. } = out { Some(seq) } else { None }).collect()
}

/// Ten packets in flight, and the timer has run out: 11 has gone as a probe, and 1 again.
fn timed_out(params: &TcpParams) -> (Config, Sender, Time) {
    let cfg = Config::new(params).unwrap();
    let mut s = Sender::new(&cfg);
    s.provide(1000);
    assert_eq!(drain(&cfg, &mut s, ms(0)).len(), 10);
    loop {
        let at = s.deadline();
        let timeout = s.on_timer(&cfg, at).timeout;
        let sent = drain(&cfg, &mut s, at);
        if timeout {
            assert_eq!((sent, s.ssthresh()), ([1].to_vec(), 5.0));
            return (cfg, s, at);
        }
    }
}

/// An acknowledgment of all below `n` some time later, whose first packet came by a later transmission or not.
fn ack(cfg: &Config, s: &mut Sender, at: Time, n: u32, ece: bool, again: bool) -> Vec<u32> {
    s.on_report(cfg, at, n, ece, &Report { again, ..Default::default() });
    drain(cfg, s, at)
}

#[test]
fn the_echo_of_a_first_transmission_undoes_the_timeout() {
    for (eifel, again, window, ssthresh) in
        [(false, false, 2.0, 5.0), (true, true, 2.0, 5.0), (true, false, 10.1, 10.0)]
    {
        let (cfg, mut s, at) = timed_out(&TcpParams { eifel, ..params() });
        let sent = ack(&cfg, &mut s, at + Duration::from_millis(50), 2, false, again);
        assert_eq!((s.cwnd(), s.ssthresh()), (window, ssthresh), "{eifel} {again}");
        // What was taken for lost goes again, or flies on: 2 to 11 are ten packets.
        assert_eq!(sent, if window > 10.0 { vec![] } else { vec![2, 3] });
    }
}

/// RFC 3168 section 6.1.2: a mark is a reason of its own. Linux does so (tcp_fastretrans_alert() in tcp_input.c).
#[test]
fn an_echo_of_a_mark_keeps_the_window_that_the_timeout_left() {
    for mark_reduction in [MarkReduction::AtOnce, MarkReduction::Proportional] {
        let (cfg, mut s, at) = timed_out(&TcpParams { eifel: true, ecn: true, mark_reduction, ..params() });
        let sent = ack(&cfg, &mut s, at + Duration::from_millis(50), 2, true, false);
        assert_eq!(s.ssthresh(), 2.0, "{mark_reduction:?}");
        assert!(sent.iter().all(|seq| *seq > 11), "nothing is lost: {sent:?}");
    }
}

/// Karn's rule leaves the timer doubled; the echo says for which transmission the acknowledgment is (RFC 7323 section
/// 4.1).
#[test]
fn the_echo_of_a_retransmission_measures_a_round_trip() {
    for eifel in [false, true] {
        let (cfg, mut s, at) = timed_out(&TcpParams { eifel, ..params() });
        let doubled = s.rto();
        ack(&cfg, &mut s, at + Duration::from_millis(50), 2, false, true);
        assert_eq!(s.rto() < doubled, eifel);
        assert_eq!(s.smoothed_rtt(&cfg) == Duration::from_millis(50), eifel);
    }
}

#[test]
fn a_packet_that_was_sent_once_undoes_the_timeout() {
    for frto in [false, true] {
        let (cfg, mut s, at) = timed_out(&TcpParams { frto, ..params() });
        let at = at + Duration::from_millis(50);
        // New data first (RFC 5682 section 3.1 step 2b).
        assert_eq!(ack(&cfg, &mut s, at, 2, false, false), if frto { vec![12, 13] } else { vec![2, 3] });
        ack(&cfg, &mut s, at, if frto { 3 } else { 2 }, false, false);
        assert_eq!(s.ssthresh(), if frto { 10.0 } else { 5.0 });
        assert_eq!(s.cwnd() >= 10.0, frto);
    }
}

#[test]
fn what_new_data_shows_to_be_lost_is_sent_again() {
    let (cfg, mut s, at) = timed_out(&TcpParams { frto: true, ..params() });
    let at = at + Duration::from_millis(50);
    assert_eq!(ack(&cfg, &mut s, at, 2, false, true), [12, 13]);
    // 2 to 11 are lost, and the new ones arrive (step 3a).
    let mut blocks = SackBlocks::default();
    blocks.push((12, 13));
    let later = at + Duration::from_millis(100);
    s.on_report(&cfg, later, 2, false, &Report { blocks, ..Default::default() });
    assert_eq!(drain(&cfg, &mut s, later)[0], 2);
    assert_eq!(s.ssthresh(), 5.0);
}

/// Where there is nothing new, what is lost goes at once.
#[test]
fn without_new_data_the_first_acknowledgment_sends_what_is_lost() {
    let cfg = Config::new(&TcpParams { frto: true, ..params() }).unwrap();
    let mut s = Sender::new(&cfg);
    s.provide(10);
    drain(&cfg, &mut s, ms(0));
    let at = loop {
        let at = s.deadline();
        let timeout = s.on_timer(&cfg, at).timeout;
        drain(&cfg, &mut s, at);
        if timeout {
            break at;
        }
    };
    assert_eq!(ack(&cfg, &mut s, at + Duration::from_millis(50), 2, false, true), [2, 3]);
}

/// Of twenty packets that leave in two halves, the timer of the first takes the second for on its way.
#[test]
fn the_window_after_a_timeout_holds_what_is_still_on_its_way() {
    for (loss_window, more) in [(LossWindow::One, 0), (LossWindow::Flight, 10)] {
        let cfg = Config::new(&TcpParams {
            loss_window,
            initial_window: 20,
            initial_ssthresh: Some(20),
            ..params()
        })
        .unwrap();
        let mut s = Sender::new(&cfg);
        s.provide(10);
        drain(&cfg, &mut s, ms(0));
        // A round trip of a second for the first one, then silence; ten more leave 50 ms before the timer runs out.
        ack(&cfg, &mut s, ms(1000), 2, false, false);
        let at = s.deadline();
        assert!(!s.on_timer(&cfg, at).timeout, "a probe comes first");
        drain(&cfg, &mut s, at);
        let end = s.deadline();
        s.provide(10);
        assert_eq!(drain(&cfg, &mut s, Time::from_nanos(end.nanos() - 50_000_000)).len(), 10);
        assert!(s.on_timer(&cfg, end).timeout);
        assert_eq!(s.cwnd(), f64::from(1 + more), "{loss_window:?}");
    }
}
