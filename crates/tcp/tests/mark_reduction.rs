//! How a mark reduces the window: at once, or over a round trip as a loss does.

use quell_tcp::{
    Arrival, Config, CongestionControl, Feedback, MarkReduction, Outgoing, Receiver, Recovery, Report,
    Sender, TcpParams,
};
use quell_units::{Duration, Time};

fn ms(x: u64) -> Time {
    Time::ZERO + Duration::from_millis(x)
}

fn params(mark_reduction: MarkReduction) -> TcpParams {
    TcpParams {
        mark_reduction,
        recovery: Recovery::Rack,
        ecn: true,
        syn: false,
        initial_window: 10,
        initial_ssthresh: Some(10),
        ..Default::default()
    }
}

/// The packets that go now, and whether they carry CWR.
fn drain(cfg: &Config, s: &mut Sender, now: Time) -> Vec<(u32, bool)> {
    std::iter::from_fn(|| s.poll(cfg, now))
        .map(|out| match out {
            Outgoing::Data { seq, cwr, .. } => (seq, cwr),
            Outgoing::Syn => (0, false),
        })
        .collect()
}

/// Ten packets in flight.
fn flying(params: &TcpParams) -> (Config, Sender) {
    let cfg = Config::new(params).unwrap();
    let mut s = Sender::new(&cfg);
    s.provide(u32::MAX);
    assert_eq!(drain(&cfg, &mut s, ms(0)).len(), 10);
    (cfg, s)
}

/// The window after each of ten acknowledgments of a packet, of which the first echoes a mark; and what they send.
fn a_round_trip(how: MarkReduction) -> (Config, Sender, Vec<f64>, Vec<(u32, bool)>) {
    let (cfg, mut s) = flying(&params(how));
    let (mut windows, mut sent) = (Vec::new(), Vec::new());
    for ack in 2..=11 {
        let did = s.on_ack(&cfg, ms(100 + u64::from(ack)), ack, ack == 2, &[]);
        assert_eq!(did.ecn_response, ack == 2);
        windows.push(s.cwnd());
        sent.extend(drain(&cfg, &mut s, ms(100 + u64::from(ack))));
    }
    (cfg, s, windows, sent)
}

#[test]
fn at_once_the_window_is_halved_and_nothing_goes_until_so_much_has_arrived() {
    let (_, _, windows, sent) = a_round_trip(MarkReduction::AtOnce);
    assert!(windows.iter().all(|w| (5.0..6.7).contains(w)), "{windows:?}");
    assert_eq!(sent[0], (11, true));
    assert!(windows[9] > windows[0], "it grows in the same round trip");
}

/// RFC 9937: a packet goes for every second one that arrives, until no more than 5 are in flight.
#[test]
fn in_proportion_it_falls_over_the_round_trip_and_does_not_grow_in_it() {
    let (cfg, mut s, windows, sent) = a_round_trip(MarkReduction::Proportional);
    assert_eq!(windows, [10.0, 9.0, 9.0, 8.0, 8.0, 7.0, 7.0, 6.0, 5.0, 5.0]);
    assert_eq!(sent, [(11, true), (12, false), (13, false), (14, false), (15, false)]);
    assert_eq!((s.cwnd(), s.ssthresh()), (5.0, 5.0));
    // Marks of the round trip are not answered; the first one after it is.
    assert!(s.on_ack(&cfg, ms(210), 12, true, &[]).ecn_response);
    assert_eq!(s.ssthresh(), 2.0);
}

#[test]
fn without_a_further_mark_the_window_grows_from_where_it_fell_to() {
    let (cfg, mut s, _, _) = a_round_trip(MarkReduction::Proportional);
    for ack in 12..=16 {
        assert!(!s.on_ack(&cfg, ms(200 + u64::from(ack)), ack, false, &[]).ecn_response);
        drain(&cfg, &mut s, ms(200 + u64::from(ack)));
    }
    assert!((s.cwnd() - 6.0).abs() < 0.1, "{}", s.cwnd());
}

#[test]
fn dctcp_is_counted_from_each_reduction() {
    let dctcp = TcpParams {
        congestion: CongestionControl::Dctcp,
        feedback: Feedback::Exact,
        ..params(MarkReduction::Proportional)
    };
    let (cfg, mut s) = flying(&dctcp);
    let mut report = Report { marks: Some(0), ..Default::default() };
    let mut answered = Vec::new();
    let mut marks = 0;
    for ack in 2..=40 {
        let now = ms(100 + u64::from(ack));
        marks += 1;
        report.marks = Some(marks);
        if s.on_report(&cfg, now, ack, false, &report).ecn_response {
            answered.push(ack);
        }
        drain(&cfg, &mut s, now);
    }
    // Once in what was outstanding at the last: 10 packets, and then fewer.
    assert_eq!(answered[..2], [2, 12]);
    assert!(answered.windows(2).all(|w| (2..=10).contains(&(w[1] - w[0]))), "{answered:?}");
}

#[test]
fn a_packet_that_says_so_is_acknowledged_at_once() {
    for (how, at_once) in [(MarkReduction::AtOnce, false), (MarkReduction::Proportional, true)] {
        let delayed = TcpParams { delayed_ack: Some(Duration::from_millis(40)), ..params(how) };
        let cfg = Config::new(&delayed).unwrap();
        let mut r = Receiver::new();
        let packet = Arrival { seq: 1, cwr: true, ..Default::default() };
        assert_eq!(r.on_packet(&cfg, ms(0), packet).unwrap().acknowledge, at_once);
    }
}
