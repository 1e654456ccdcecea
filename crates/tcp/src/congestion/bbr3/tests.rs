//! BBR, version 3, on paths that change: the cases of the draft's appendix.

use super::path::{HEADROOM, PLATEAU_ROUNDS};
use super::*;
use crate::CongestionControl;
use crate::congestion::Control;
use crate::sender::path::{PATHS, Path, Seen};
use alloc::vec::Vec;
use std::println;

/// It has seen nothing yet.
fn ignorant() -> Bbr3 {
    let params = crate::TcpParams { initial_window: 10, ..Default::default() };
    Bbr3::new(&Config::new(&params).unwrap())
}

fn secs(x: f64) -> Time {
    Time::ZERO + Duration::from_secs_f64(x)
}

/// A flow whose path changes with what `see` sees.
fn drive(path: Path, seconds: u64, mut see: impl FnMut(&Bbr3, &mut Path, &Seen<'_>)) -> u32 {
    path.run(CongestionControl::Bbr3, secs(seconds as f64), |path, seen| {
        if let Control::Bbr3(bbr) = seen.control {
            see(bbr, path, &seen);
        }
    })
}

fn run(path: Path, seconds: u64, mut see: impl FnMut(&Bbr3, &Seen<'_>)) -> u32 {
    drive(path, seconds, |bbr, _, seen| see(bbr, seen))
}

/// The states, and when each began.
fn states(path: Path, seconds: u64) -> Vec<(State, Time)> {
    let mut out: Vec<(State, Time)> = Vec::new();
    run(path, seconds, |bbr, seen| {
        if out.last().is_none_or(|(state, _)| *state != bbr.state) {
            out.push((bbr.state, seen.now));
        }
    });
    out
}

#[test]
fn startup_ends_on_a_plateau_with_the_bandwidth_within_a_fiftieth() {
    for path in PATHS {
        let mut left = None;
        run(path, 5, |bbr, _| {
            if bbr.state == State::Drain {
                left.get_or_insert((bbr.bandwidth.max(), bbr.pipe.count, bbr.bounds.hi));
            }
        });
        let (bandwidth, rounds, bound) = left.unwrap();
        assert!((bandwidth / path.rate - 1.0).abs() < 0.02, "{bandwidth}");
        assert_eq!((rounds, bound), (PLATEAU_ROUNDS, f64::INFINITY));
    }
}

#[test]
fn the_states_follow_each_other() {
    use State::*;
    let s: Vec<State> = states(PATHS[0], 8).into_iter().map(|s| s.0).collect();
    // It has drained already when it leaves Drain.
    assert_eq!(s[..6], [Startup, Drain, Cruise, Refill, Up, Down]);
    // After a probe of the round-trip time it cruises at once.
    let probe = s.iter().position(|s| *s == ProbeRtt).unwrap();
    assert_eq!(s[probe + 1], Cruise);
}

#[test]
fn gains_are_the_draft_s() {
    let mut seen_gains: Vec<(State, f64, f64)> = Vec::new();
    run(PATHS[0], 12, |bbr, _| {
        let gains = (bbr.state, bbr.pacing_gain, bbr.cwnd_gain);
        if !seen_gains.contains(&gains) {
            seen_gains.push(gains);
        }
    });
    use State::*;
    for want in [
        (Startup, 2.772588722239781, 2.0),
        (Drain, 0.5, 2.0),
        (Down, 0.9, 2.0),
        (Cruise, 1.0, 2.0),
        (Refill, 1.0, 2.0),
        (Up, 1.25, 2.25),
        (ProbeRtt, 1.0, 0.5),
    ] {
        assert!(seen_gains.contains(&want), "{want:?}: {seen_gains:?}");
    }
    assert_eq!(seen_gains.len(), 7);
}

#[test]
fn bandwidth_is_probed_every_two_to_three_seconds() {
    // 1250 packets: rounds of Reno's are longer. Nothing is lost, so that no probe is a precaution.
    let s = states(Path { rate: 12_500.0, buffer: 3000, ..PATHS[0] }, 40);
    let mut began = None;
    let mut downs = Vec::new();
    for w in s.windows(2) {
        let (state, at) = w[1];
        match state {
            State::Down => began = Some(at),
            // It waits from here where there is nothing to drain.
            State::Cruise if w[0].0 != State::Down => began = Some(at),
            State::Refill => downs.extend(began.take().map(|t| (at - t).as_secs_f64())),
            _ => {}
        }
    }
    assert!(downs.len() >= 6 && downs.iter().all(|d| (2.0..3.1).contains(d)), "{downs:?}");
}

#[test]
fn the_round_trip_time_is_probed_every_five_seconds_for_200_ms_with_half_of_the_product() {
    let path = PATHS[0];
    let s = states(path, 40);
    let probes: Vec<usize> = (0..s.len() - 1).filter(|i| s[*i].0 == State::ProbeRtt).collect();
    assert!(probes.len() >= 6, "{s:?}");
    for w in probes.windows(2) {
        let (left, next) = (s[w[0] + 1].1, s[w[1]].1);
        let gap = (next - left).as_secs_f64();
        assert!((4.9..6.0).contains(&gap), "{gap}");
    }
    for &i in &probes {
        let long = (s[i + 1].1 - s[i].1).as_secs_f64();
        assert!((0.2..0.6).contains(&long), "{long}");
    }
    let mut smallest = f64::INFINITY;
    run(path, 40, |bbr, seen| {
        if bbr.state == State::ProbeRtt {
            smallest = smallest.min(seen.flight as f64);
        }
    });
    assert!((0.4..0.55).contains(&(smallest / path.product())), "{smallest}");
}

#[test]
fn losses_bound_what_is_in_flight_and_cruising_leaves_headroom() {
    let path = Path { buffer: 10, ..PATHS[0] };
    let (mut bounded, mut cruises) = (0, 0);
    let arrived = run(path, 30, |bbr, seen| {
        if bbr.bounds.hi.is_finite() && bbr.pipe.reached {
            bounded += 1;
            // More than what fits leaves a loss.
            assert!(bbr.bounds.hi < 2.0 * path.product(), "{}", bbr.bounds.hi);
            if bbr.state == State::Cruise {
                cruises += 1;
                let headroom = bbr.bounds.hi * (1.0 - HEADROOM);
                assert!(seen.cwnd <= headroom.max(MIN_WINDOW) + 1.0, "{} {}", seen.cwnd, bbr.bounds.hi);
            }
        }
    });
    assert!(bounded > 1000 && cruises > 100, "{bounded} {cruises}");
    assert!(arrived as f64 > 0.75 * path.rate * 30.0, "{arrived}");
}

#[test]
fn the_flight_at_the_loss_that_was_too_much() {
    let mut bbr = ignorant();
    let window = Window { cwnd: 1000.0, ssthresh: f64::INFINITY };
    bbr.samples.rate.sent(1, Time::ZERO, 999);
    bbr.samples.rate.lost = 19;
    bbr.cycle.samples = true;
    // 20 of 1000 are a fiftieth; the 21st is too much.
    bbr.on_lost(&window, Time::ZERO, 1);
    assert_eq!(bbr.bounds.hi, f64::INFINITY);
    bbr.on_lost(&window, Time::ZERO, 1);
    // 0.02 x 999 - 20 < 0: all before it were safe, and not it.
    assert_eq!(bbr.bounds.hi, 999.0);
    assert!(!bbr.cycle.samples);
}

#[test]
fn the_path_is_used_and_its_queue_is_short_between_probes() {
    for path in PATHS {
        let (mut queued, mut n) = (0, 0);
        let arrived = run(path, 24, |bbr, seen| {
            if bbr.state == State::Cruise {
                queued += (seen.flight as f64 > 1.1 * path.product() + 5.0) as u32;
                n += 1;
            }
        });
        let used = (arrived - run(path, 4, |_, _| {})) as f64 / 20.0 / path.rate;
        assert!(used > 0.95, "{used}");
        assert!(queued * 10 < n, "{queued} of {n}");
    }
}

// Appendix A of the draft, case by case, where nothing above has it.

/// Calls `see` with each state that another has ended, and that one; after the acknowledgment that did it.
fn follow(path: Path, seconds: u64, mut see: impl FnMut(State, &Bbr3, &mut Path, &Seen<'_>)) -> u32 {
    let mut before = State::Startup;
    drive(path, seconds, |bbr, path, seen| {
        see(before, bbr, path, seen);
        before = bbr.state;
    })
}

#[test]
fn a2_losses_end_startup_where_the_application_is_slow() {
    // 500 packets a round trip, of 5000 that the path holds.
    let path = Path { app: 5000.0, ..Path::new(50_000.0, 100, 10_000) };
    let mut left = None;
    drive(path, 6, |bbr, path, seen| {
        path.loss = if seen.now > secs(2.0) { 25 } else { 0 };
        if bbr.state != State::Startup {
            let safe = bbr.product(bbr.bandwidth.now, 1.0).max(bbr.losses.inflight);
            left.get_or_insert((seen.now, bbr.pipe.reached, bbr.pipe.count, bbr.bounds.hi, safe));
        }
    });
    let (at, reached, rounds, bound, safe) = left.unwrap();
    assert!(at > secs(2.1) && at < secs(2.6), "{at}");
    assert!(reached && rounds < PLATEAU_ROUNDS && bound == safe, "{rounds} {bound} {safe}");
}

#[test]
fn a3_drain_ends_with_the_queue() {
    for path in PATHS {
        let mut left = None;
        follow(path, 5, |before, bbr, _, seen| {
            if before == State::Drain && bbr.state != State::Drain {
                left.get_or_insert((seen.flight as f64, bbr.inflight(bbr.bandwidth.now, 1.0)));
            }
        });
        let (flight, target) = left.unwrap();
        assert!(flight <= target && flight > target - 10.0, "{flight} {target}");
    }
}

#[test]
fn a4_drain_ends_after_three_rounds_in_any_case() {
    // A tenth less bandwidth is drained at half of the old one; a third of it is not.
    for (left, rounds) in [(0.9, 0..3), (0.3, 4..5)] {
        let mut stayed = None;
        follow(PATHS[0], 6, |before, bbr, path, _| match (before, bbr.state) {
            (State::Startup, State::Drain) => path.rate *= left,
            (State::Drain, state) if state != State::Drain => {
                stayed.get_or_insert(bbr.round.count - bbr.drain_start);
            }
            _ => {}
        });
        assert!(rounds.contains(&stayed.unwrap()), "{left}: {stayed:?}");
    }
}

#[test]
fn a5_a_plateau_ends_a_probe() {
    let mut ends = 0;
    follow(PATHS[0], 30, |before, bbr, _, seen| {
        if (before, bbr.state) == (State::Up, State::Down) {
            assert!(bbr.pipe.now && bbr.pipe.count == PLATEAU_ROUNDS && seen.dropped == 0);
            ends += 1;
        }
    });
    assert!(ends >= 5, "{ends}");
}

#[test]
fn a6_losses_end_a_probe_where_the_application_is_slow() {
    // The bound is not lowered: what was in flight is the application's (HandleInflightTooHigh()).
    let mut left = None;
    follow(PATHS[0], 10, |before, bbr, path, _| {
        if bbr.state == State::Up {
            (path.app, path.loss) = (500.0, 20);
        } else if before == State::Up {
            // What is in flight is so little that it cruises at once.
            let down = matches!(bbr.state, State::Down | State::Cruise);
            left.get_or_insert((down, bbr.cycle.too_high, bbr.bounds.hi, bbr.pipe.now));
        }
    });
    assert_eq!(left, Some((true, true, f64::INFINITY, false)));
}

#[test]
fn a7_a20_nothing_but_the_round_trip_time_ends_a_probe_or_startup_while_the_application_is_slow() {
    let mut seen_states = Vec::new();
    drive(PATHS[0], 5, |bbr, path, _| {
        if bbr.state == State::Up {
            path.app = 500.0;
        }
        if path.app < 1000.0 && seen_states.last() != Some(&bbr.state) {
            seen_states.push(bbr.state);
        }
    });
    assert_eq!(seen_states, [State::Up]);
    // 300 of 1000 packets a second from the start: it is back in Startup after each probe (A.20).
    let s = states(Path { app: 300.0, ..PATHS[0] }, 18);
    let s: Vec<State> = s.into_iter().map(|s| s.0).collect();
    use State::*;
    assert_eq!(s, [Startup, ProbeRtt, Startup, ProbeRtt, Startup, ProbeRtt, Startup]);
}

#[test]
fn a8_cruising_begins_without_a_queue_and_with_headroom() {
    for path in [PATHS[0], Path { buffer: 10, ..PATHS[0] }] {
        let mut n = 0;
        follow(path, 30, |before, bbr, _, seen| {
            if (before, bbr.state) == (State::Down, State::Cruise) {
                let flight = seen.flight as f64;
                assert!(flight <= bbr.inflight(bbr.bandwidth.max(), 1.0));
                assert!(flight <= bbr.bounds.with_headroom());
                assert_eq!((bbr.pacing_gain, bbr.cwnd_gain), (1.0, CWND_GAIN));
                n += 1;
            }
        });
        assert!(n >= 4, "{n}");
    }
}

#[test]
fn a9_the_next_probe_does_not_wait_for_cruising() {
    let mut directly = 0;
    follow(PATHS[1], 20, |before, bbr, path, _| match (before, bbr.state) {
        // A fifth less: at 0.9 of the old bandwidth the queue grows.
        (State::Up, State::Down) => path.rate = 8000.0,
        (State::Down, State::Refill) if !bbr.cycle.precautionary => directly += 1,
        _ => {}
    });
    assert!(directly >= 1, "{directly}");
}

#[test]
fn a11_after_an_idle_time_the_round_trip_time_is_not_probed() {
    let idle = (secs(3.0), secs(9.5));
    let path = Path { pause: Some(idle), ..PATHS[0] };
    let s = states(path, 14);
    let probes: Vec<Time> = s.iter().filter(|s| s.0 == State::ProbeRtt).map(|s| s.1).collect();
    assert!(probes.iter().all(|t| *t > idle.1 + Duration::from_secs(4)), "{probes:?}");
    // Without the idle time there are two.
    assert!(states(PATHS[0], 14).iter().filter(|s| s.0 == State::ProbeRtt).count() >= 2);
}

#[test]
fn a12_a13_acknowledgments_that_come_together_are_allowed_for() {
    let path = Path { together: Duration::from_millis(80), ..PATHS[0] };
    let (mut first, mut extra) = (None, 0.0f64);
    let arrived = drive(path, 20, |bbr, _, seen| {
        if bbr.pipe.reached {
            first.get_or_insert((bbr.bandwidth.max(), seen.cwnd));
        }
        if bbr.state == State::Cruise {
            extra = extra.max(bbr.extra.most.max());
        }
    });
    let (bandwidth, cwnd) = first.unwrap();
    println!("bandwidth {bandwidth:.0}, window {cwnd:.0}, extra {extra:.0}, arrived {arrived}");
    assert!(bandwidth > 0.95 * path.rate && cwnd > 2.0 * path.product(), "{bandwidth} {cwnd}");
    assert!(extra > 40.0 && arrived as f64 > 0.9 * path.rate * 20.0, "{extra} {arrived}");
}

#[test]
fn a14_less_than_a_packet_in_flight_needs_four() {
    let path = Path::new(50.0, 10, 100);
    let mut least = f64::INFINITY;
    let arrived = run(path, 40, |bbr, seen| {
        if bbr.probes_bandwidth() {
            least = least.min(seen.cwnd);
        }
    });
    assert!(least >= MIN_WINDOW, "{least}");
    assert!(arrived as f64 > 0.95 * 50.0 * 40.0, "{arrived}");
}

#[test]
fn a15_ten_times_the_bandwidth_is_found() {
    // With what losses have taught, and without.
    for buffer in [20, 1000] {
        let (mut bounded, mut found) = (false, None);
        drive(Path { buffer, ..PATHS[0] }, 60, |bbr, path, seen| {
            if seen.now > secs(20.0) && path.rate < 2000.0 && bbr.state == State::Cruise {
                path.rate = 10_000.0;
                bounded = bbr.bounds.hi.is_finite();
                found = Some((seen.now, None, bbr.bandwidth.cycle));
            } else if let Some((_, at @ None, _)) = &mut found
                && bbr.bandwidth.max() > 9500.0
            {
                *at = Some((seen.now, bbr.bandwidth.cycle));
            }
        });
        let (from, to, cycles) = found.unwrap();
        let (to, last) = to.unwrap();
        println!("buffer {buffer}: bounded {bounded}, {} after, in {} cycles", to - from, last - cycles);
        assert_eq!(bounded, buffer == 20);
        assert!(to - from < Duration::from_secs(if bounded { 20 } else { 6 }));
    }
}

#[test]
fn a15_the_bound_grows_by_1_2_4_8_packets_a_round() {
    let mut bbr = ignorant();
    let window = Window { cwnd: 96.0, ssthresh: f64::INFINITY };
    let acks: Vec<f64> = (0..10)
        .map(|_| {
            bbr.cycle.slope.raise(window.cwnd);
            bbr.cycle.slope.count
        })
        .collect();
    assert_eq!(acks, [96.0, 48.0, 24.0, 12.0, 6.0, 3.0, 1.5, 1.0, 1.0, 1.0]);
}

#[test]
fn a16_a_tenth_of_the_bandwidth_is_found() {
    let (mut slowed, mut low, mut fell) = (None, None, None);
    drive(Path { buffer: 200, ..PATHS[1] }, 40, |bbr, path, seen| {
        if seen.now > secs(10.0) && slowed.is_none() && bbr.state == State::Cruise {
            path.rate = 1000.0;
            slowed = Some((seen.now, bbr.bandwidth.cycle));
        }
        if slowed.is_some() {
            if bbr.bandwidth.lo < 5000.0 {
                low.get_or_insert(seen.now);
            }
            if bbr.bandwidth.max() < 1100.0 {
                fell.get_or_insert((seen.now, bbr.bandwidth.cycle));
            }
        }
    });
    let ((from, cycle), low, (fell, last)) = (slowed.unwrap(), low.unwrap(), fell.unwrap());
    println!("half after {}, a tenth after {} and {} cycles", low - from, fell - from, last - cycle);
    assert!(low - from < Duration::from_secs(3));
    assert!(last - cycle <= 2 && fell - from < Duration::from_secs(12));
}

/// A probe of the bandwidth takes five round trips and the wait before it. Where that is longer than the time
/// between two probes of the round-trip time no cycle ends, and the filter keeps the old bandwidth.
#[test]
fn a16_with_a_queue_of_a_second_no_cycle_ends_and_the_old_bandwidth_stays() {
    let path = Path { buffer: 400, ..Path::new(2477.0, 40, 0) };
    let (mut cycle, mut probes, mut flights) = (None, 0, (f64::INFINITY, f64::INFINITY));
    drive(path, 80, |bbr, path, seen| {
        if seen.now < secs(20.0) {
            return;
        }
        path.rate = 247.7;
        let from = *cycle.get_or_insert(bbr.bandwidth.cycle);
        assert!(bbr.bandwidth.cycle <= from + 1 && bbr.bandwidth.max() > 2400.0, "{:?}", seen.now);
        // The first probe drains the queue, the later ones do not.
        if bbr.state == State::ProbeRtt {
            let least = if seen.now < secs(25.0) { &mut flights.0 } else { &mut flights.1 };
            *least = least.min(seen.flight as f64);
            probes += (seen.now > secs(25.0)) as u32;
        }
    });
    println!("in flight: {flights:?}");
    assert!(probes > 0 && flights.0 < 60.0 && flights.1 > 200.0, "{probes} {flights:?}");
}

#[test]
fn a17_a_policer_is_met_without_a_storm_of_losses() {
    let path = Path { bucket: Some(100.0), ..PATHS[0] };
    let (mut half, mut all, mut bounded) = (0, 0, false);
    let arrived = run(path, 60, |bbr, seen| {
        if seen.now < secs(30.0) {
            half = seen.dropped;
        }
        all = seen.dropped;
        bounded |= bbr.bandwidth.lo.is_finite() && bbr.bounds.lo.is_finite();
    });
    let lost = (all - half) as f64 / (path.rate * 30.0);
    println!("arrived {:.3} of the rate, lost {lost:.4}", arrived as f64 / path.rate / 60.0);
    assert!(bounded && arrived as f64 > 0.85 * path.rate * 60.0 && lost < 0.05, "{arrived} {lost}");
}

#[test]
fn a18_what_a_needless_recovery_took_comes_back() {
    for (state, back) in [(State::Startup, State::Startup), (State::Up, State::Refill)] {
        let mut bbr = ignorant();
        (bbr.state, bbr.rtt.min) = (state, Duration::from_millis(100));
        (bbr.pipe.reached, bbr.cycle.samples) = (state == State::Up, state == State::Up);
        let mut window = Window { cwnd: 200.0, ssthresh: f64::INFINITY };
        let before = window;
        bbr.bounds.hi = 300.0;
        bbr.samples.rate.sent(1, Time::ZERO, 199);
        bbr.samples.rate.lost = 9;
        bbr.on_lost(&window, Time::ZERO, 1);
        if state == State::Up {
            assert_eq!((bbr.state, bbr.bounds.hi), (State::Down, 199.0));
        } else {
            // As CheckStartupHighLoss() does.
            (bbr.undo.state, bbr.pipe.reached, bbr.state) = (Some(state), true, State::Drain);
            bbr.bounds.hi = 150.0;
        }
        (bbr.bandwidth.lo, bbr.bounds.lo, window.cwnd) = (100.0, 140.0, 140.0);
        bbr.on_spurious(&mut window, &before);
        assert_eq!((bbr.state, bbr.bounds.hi, window.cwnd), (back, 300.0, 200.0));
        assert_eq!((bbr.bandwidth.lo, bbr.bounds.lo), (f64::INFINITY, f64::INFINITY));
        assert_eq!(bbr.pipe.reached, state == State::Up);
        assert!(!bbr.losses.lossy && bbr.undo.state.is_none());
        // Once.
        (window.cwnd, bbr.state, bbr.prior.cwnd) = (10.0, State::Cruise, 0.0);
        bbr.on_spurious(&mut window, &before);
        assert_eq!((bbr.state, window.cwnd), (State::Cruise, 10.0));
    }
}

#[test]
fn a18_late_packets_cost_little() {
    // One of 200 comes later than the reordering window allows: without duplicates reported half would be lost.
    let late = |ms| Path { late: Some((200, Duration::from_millis(ms))), ..PATHS[0] };
    let mut lower = 0;
    let arrived = run(late(60), 30, |bbr, seen| {
        assert_eq!(seen.dropped, 0);
        lower += (seen.now > secs(5.0) && bbr.bandwidth.now < 0.9 * 1000.0) as u32;
    });
    println!("arrived {arrived}, below the bandwidth {lower}");
    assert!(arrived as f64 > 0.93 * 30_000.0 && lower < 3000, "{arrived} {lower}");
}

#[test]
fn a19_a_needless_timeout_costs_little() {
    // The path takes 1.5 s longer for half a second.
    let mut at_most = 0.0f64;
    let arrived = drive(PATHS[0], 12, |bbr, path, seen| {
        let slow = seen.now > secs(7.0) && seen.now < secs(7.5);
        path.rtt = Duration::from_millis(if slow { 1600 } else { 100 });
        if seen.now > secs(10.0) {
            at_most = at_most.max(bbr.bandwidth.now);
        }
    });
    println!("arrived {arrived}, bandwidth {at_most:.0}");
    assert!(at_most > 950.0, "{at_most}");
}

#[test]
fn a21_losses_beyond_the_bound_end_the_probe() {
    let path = Path { buffer: 10, ..PATHS[0] };
    let (mut bound, mut ends) = (0.0, 0);
    follow(path, 60, |before, bbr, _, seen| {
        if (before, bbr.state) == (State::Up, State::Down) && bbr.cycle.too_high {
            assert!(bbr.bounds.hi >= BETA * bbr.target_inflight(seen.cwnd) - 1e-9);
            assert!(bbr.bounds.hi < bound, "{} {bound}", bbr.bounds.hi);
            ends += 1;
        }
        bound = bbr.bounds.hi;
    });
    assert!(ends >= 3, "{ends}");
}

#[test]
fn a22_a_pause_while_the_pipe_refills_leaves_the_bandwidth() {
    let (mut max, mut ups) = (0.0, 0);
    follow(PATHS[0], 12, |before, bbr, path, seen| {
        if (before, bbr.state) == (State::Cruise, State::Refill) {
            path.pause = Some((seen.now, seen.now + Duration::from_millis(100)));
            max = bbr.bandwidth.max();
        }
        if (before, bbr.state) == (State::Refill, State::Up) {
            assert!(bbr.bandwidth.max() >= max);
            ups += 1;
        }
    });
    assert!(ups >= 2, "{ups}");
}

/// Draft section 5.3.3.6.
#[test]
fn a_probe_after_one_that_lost_goes_no_further_than_the_bound_at_first() {
    let path = Path { buffer: 30, ..PATHS[0] };
    let (mut careful, mut on, mut off) = (false, 0, 0);
    follow(path, 60, |before, bbr, _, seen| {
        match (before, bbr.state) {
            (State::Refill, State::Up) => careful = bbr.cycle.too_high,
            (State::Up, State::Down) if careful && !bbr.cycle.too_high => {
                assert!(bbr.cycle.precautionary && seen.flight as f64 <= bbr.bounds.hi + 1.0);
            }
            // At once, where the bound was safe.
            (State::Down, State::Refill) => on += 1,
            (State::Down, State::Cruise) => off += 1,
            _ => {}
        }
    });
    println!("at once {on}, later {off}");
    assert!(on >= 3 && off >= 3, "{on} {off}");
}
