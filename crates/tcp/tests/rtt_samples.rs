//! What measures the round-trip time of which the retransmission timeout is made.

use quell_tcp::{Config, Recovery, RtoFloor, RttSamples, Sender, TcpParams};
use quell_units::{Duration, Time};

fn ms(x: u64) -> Time {
    Time::ZERO + Duration::from_millis(x)
}

fn drain(cfg: &Config, s: &mut Sender, now: Time) -> usize {
    std::iter::from_fn(|| s.poll(cfg, now)).count()
}

/// Twenty packets in flight, sent at 0 ms.
fn flying(rtt_samples: RttSamples, rto_floor: RtoFloor) -> (Config, Sender) {
    let params = TcpParams {
        rtt_samples,
        rto_floor,
        recovery: Recovery::Rack,
        syn: false,
        granularity: Duration::from_millis(1),
        initial_window: 20,
        initial_ssthresh: Some(20),
        ..Default::default()
    };
    let cfg = Config::new(&params).unwrap();
    let mut s = Sender::new(&cfg);
    s.provide(u32::MAX);
    assert_eq!(drain(&cfg, &mut s, ms(0)), 20);
    (cfg, s)
}

/// A queue builds up within a round trip: one packet of it says nothing of that.
#[test]
fn each_acknowledgment_follows_a_queue_that_one_in_a_round_trip_misses() {
    for floor in [RtoFloor::Timeout, RtoFloor::Variation] {
        let of = |samples| {
            let (cfg, mut s) = flying(samples, floor);
            for i in 0..20 {
                s.on_ack(&cfg, ms(100 + 20 * i), i as u32 + 2, false, &[]);
            }
            (s.smoothed_rtt(&cfg).nanos() / 1_000_000, s.rto().nanos() / 1_000_000)
        };
        let (srtt, rto) = of(RttSamples::RoundTrip);
        assert_eq!(srtt, 100, "{floor:?}");
        assert!(rto < 400, "{floor:?}: {rto}");
        // The last one took 480 ms. Smoothed over 8 of them, a ramp of 20 ms is followed 140 ms later, or a little less.
        let (srtt, rto) = of(RttSamples::Acknowledgment);
        assert!((340..375).contains(&srtt), "{floor:?}: {srtt}");
        assert!(rto > 540, "{floor:?}: {rto}");
    }
}

/// RFC 6298 rule 5.3 for what is acknowledged selectively: the timer starts again as long as packets come that were sent
/// before the first one was sent again. Linux: `tcp_clean_rtx_queue()` in tcp_input.c.
#[test]
fn the_timer_starts_again_with_packets_that_went_before_the_retransmission() {
    let sacked = |end: u32| [(2, end)];
    for (samples, again) in [(RttSamples::RoundTrip, false), (RttSamples::Acknowledgment, true)] {
        let (cfg, mut s) = flying(samples, RtoFloor::Variation);
        for end in 3..=5 {
            s.on_ack(&cfg, ms(100), 1, false, &sacked(end));
        }
        assert!(drain(&cfg, &mut s, ms(100)) > 0, "the first packet goes again");
        let armed = s.deadline();
        s.on_ack(&cfg, ms(150), 1, false, &sacked(6));
        let then = s.deadline();
        assert_eq!(then > armed, again, "{samples:?}");
        drain(&cfg, &mut s, ms(150));
        (7..=21).for_each(|end| {
            s.on_ack(&cfg, ms(160), 1, false, &sacked(end));
        });
        assert!(drain(&cfg, &mut s, ms(160)) > 0);
        let before = s.deadline();
        // What went after the retransmission says nothing of it: it may be lost.
        s.on_ack(&cfg, ms(260), 1, false, &sacked(22));
        assert_eq!(s.deadline(), before, "{samples:?}");
    }
}

/// The handshake's round trip is the first one: the variation has its floor from then on.
#[test]
fn the_handshake_measures_too() {
    let params = TcpParams {
        rtt_samples: RttSamples::Acknowledgment,
        rto_floor: RtoFloor::Variation,
        recovery: Recovery::Rack,
        ..Default::default()
    };
    let cfg = Config::new(&params).unwrap();
    let mut s = Sender::new(&cfg);
    s.provide(u32::MAX);
    drain(&cfg, &mut s, ms(0));
    s.on_ack(&cfg, ms(10), 1, false, &[]);
    assert_eq!(s.rto(), Duration::from_millis(210));
    assert!(drain(&cfg, &mut s, ms(10)) > 0);
    s.on_ack(&cfg, ms(20), 2, false, &[]);
    assert_eq!(s.rto(), Duration::from_millis(210));
}
