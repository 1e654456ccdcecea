//! LEDBAT (RFC 6817): the window follows the delay that the queue adds one way, and gives way to flows that add more
//! than the target.

use quell_units::{Duration, Time};

use super::contract::{Acked, Cause, Congestion, Window};
use crate::entry::Entry;
use crate::params::Config;

/// BASE_HISTORY: minutes over which the smallest delay is remembered (RFC 6817 section 2.5).
const BASE_HISTORY: usize = 10;
const MINUTE: Duration = Duration::from_secs(60);
/// CURRENT_FILTER: the delay now is the smallest of so many, which the RFC leaves open.
const CURRENT_FILTER: usize = 4;
/// MIN_CWND and ALLOWED_INCREASE, in packets (RFC 6817 section 2.5).
const MIN_CWND: f64 = 2.0;
const ALLOWED_INCREASE: f64 = 1.0;

/// The entry in the catalog.
pub(crate) const ENTRY: Entry = Entry {
    key: "congestion",
    name: "ledbat",
    title: "LEDBAT",
    summary: "The delay that a flow adds is held at a target, so other traffic goes first if the buffer is longer.",
    source: "RFC 6817",
    reads: &["ledbat_target", "ledbat_gain", "initial_ssthresh", "growth"],
    choices: &[
        "It has no slow start; initial_ssthresh affects only pacing.",
        "The delay is the smallest of the last four, and the base delay is the smallest of ten minutes in which \
         packets came; clocks are exact.",
        "Of several flows, the latest takes the most, because it measures the others' queue as its base (section 4.4). \
         Of two flows on 10 Mbit/s, the second takes three quarters, and the queue is longer than the target.",
        "A mark acts like a loss.",
        "If the buffer is shorter than the target, only losses stop it, and it shares a link equally with Reno (5.2 \
         and 4.8 Mbit/s with a buffer of 40 ms).",
    ],
    ..Entry::PLAIN
};

/// LEDBAT and its memory.
#[derive(Clone, Debug)]
pub(crate) struct Ledbat {
    /// Seconds.
    target: f64,
    gain: f64,
    /// The smallest delay of each of the last minutes, the present one first.
    base: [Duration; BASE_HISTORY],
    /// The end of the present one.
    rollover: Time,
    current: [Duration; CURRENT_FILTER],
    next: usize,
}

impl Ledbat {
    pub fn new(cfg: &Config) -> Self {
        Ledbat::aiming_at(cfg.ledbat_target, cfg.ledbat_gain)
    }

    fn aiming_at(target: Duration, gain: f64) -> Self {
        Ledbat {
            target: target.as_secs_f64(),
            gain,
            base: [Duration::MAX; BASE_HISTORY],
            rollover: Time::ZERO,
            current: [Duration::MAX; CURRENT_FILTER],
            next: 0,
        }
    }

    /// The distance of the queueing delay below the target, as a share of it; negative beyond it.
    fn off_target(&self) -> f64 {
        let least = |list: &[Duration]| list.iter().copied().min().unwrap_or(Duration::MAX);
        let queueing = least(&self.current) - least(&self.base);
        1.0 - queueing.as_secs_f64() / self.target
    }

    /// RFC 6817 section 2.4.2: `acked` packets are acknowledged, with `flight` outstanding before.
    fn avoid(&mut self, window: &mut Window, acked: f64, flight: f64) {
        window.cwnd += self.gain * self.off_target() * acked / window.cwnd;
        self.on_unused(window, flight, Time::ZERO);
    }
}

impl Congestion for Ledbat {
    #[inline(always)]
    fn grow(&mut self, window: &mut Window, acked: &Acked<'_>) {
        window.rarely(|w| self.avoid(w, acked.packets, acked.flight));
    }

    /// Reduces it as Reno, but not below MIN_CWND; a window of one that a mark meets sends nothing until the timer
    /// runs out (RFC 3168 section 6.1.2).
    fn reduce(&mut self, window: &mut Window, cause: Cause) {
        window.ssthresh = (window.cwnd / 2.0).max(MIN_CWND);
        match cause {
            Cause::Echo if window.cwnd <= 1.0 => window.cwnd /= 2.0,
            Cause::Echo | Cause::Loss => window.cwnd = window.cwnd.min(window.ssthresh),
            Cause::Timeout => {}
        }
    }

    fn on_delay(&mut self, now: Time, delay: Duration) {
        if now >= self.rollover {
            self.rollover = now + MINUTE;
            self.base.rotate_right(1);
            self.base[0] = delay;
        }
        self.base[0] = self.base[0].min(delay);
        self.current[self.next] = delay;
        self.next = (self.next + 1) % CURRENT_FILTER;
    }

    /// A window that is not used does not grow beyond what is.
    fn on_unused(&mut self, window: &mut Window, flight: f64, _: Time) {
        window.cwnd = window.cwnd.min(flight + ALLOWED_INCREASE).max(MIN_CWND);
    }

    fn slow_starts(&self) -> bool {
        false
    }

    fn measures_delay(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(x: u64) -> Duration {
        Duration::from_millis(x)
    }

    fn at(s: u64) -> Time {
        Time::ZERO + Duration::from_secs(s)
    }

    #[test]
    fn the_window_grows_below_the_target_and_falls_beyond_it() {
        let mut l = Ledbat::aiming_at(ms(100), 1.0);
        l.on_delay(at(1), ms(20));
        // No queue: a packet each round trip.
        let mut w = Window { cwnd: 10.0, ssthresh: 2.0 };
        l.avoid(&mut w, 1.0, 10.0);
        assert!((w.cwnd - 10.1).abs() < 1e-12);
        for (delay, change) in [(120, 0.0), (70, 0.05), (170, -0.05), (320, -0.2)] {
            (0..CURRENT_FILTER).for_each(|_| l.on_delay(at(1), ms(delay)));
            let mut w = Window { cwnd: 10.0, ssthresh: 2.0 };
            l.avoid(&mut w, 1.0, 10.0);
            assert!((w.cwnd - 10.0 - change).abs() < 1e-12, "{delay}: {}", w.cwnd);
        }
    }

    #[test]
    fn a_single_late_packet_counts_for_nothing() {
        let mut l = Ledbat::aiming_at(ms(100), 1.0);
        [20, 20, 20, 500].iter().for_each(|d| l.on_delay(at(1), ms(*d)));
        assert_eq!(l.off_target(), 1.0);
        (0..3).for_each(|_| l.on_delay(at(1), ms(500)));
        assert!(l.off_target() < -3.0);
    }

    #[test]
    fn the_base_delay_is_that_of_the_last_ten_minutes() {
        let mut l = Ledbat::aiming_at(ms(100), 1.0);
        l.on_delay(at(0), ms(20));
        // The path becomes longer.
        for s in 1..660 {
            l.on_delay(at(s), ms(70));
            let off = if s < 600 { 0.5 } else { 1.0 };
            assert!(s < CURRENT_FILTER as u64 || (l.off_target() - off).abs() < 1e-12, "{s}");
        }
    }

    #[test]
    fn what_is_not_used_is_not_kept_and_two_packets_are_left_in_any_case() {
        let mut l = Ledbat::aiming_at(ms(100), 1.0);
        l.on_delay(at(1), ms(20));
        let mut w = Window { cwnd: 50.0, ssthresh: 2.0 };
        l.on_unused(&mut w, 7.0, at(1));
        assert_eq!(w.cwnd, 8.0);
        l.reduce(&mut w, Cause::Loss);
        assert_eq!((w.cwnd, w.ssthresh), (4.0, 4.0));
        l.reduce(&mut w, Cause::Loss);
        l.reduce(&mut w, Cause::Loss);
        assert_eq!(w.cwnd, 2.0);
    }
}
