//! The parts of a model of the path: what both versions of BBR have.

use quell_units::{Duration, Time};

use super::contract::{AckFacts, InOrder, Repairing, Window};
use crate::float::{count, larger, lesser, seconds};
use crate::rate::{Rate, Sample, Snapshot};

/// Bounds within which an acknowledgment moves counts alone: bandwidth, round-trip time, state and rate stay, and the
/// window grows to what it may be. A model finds them after an acknowledgment that may have changed more.
#[derive(Clone)]
pub(super) struct Bounds {
    /// The newest packet acknowledged was sent before so many had been delivered: no round trip begins. Zero where
    /// nothing is known of the bounds.
    pub round: u64,
    /// No later.
    pub until: Time,
    /// It has the round-trip time, and the sample the interval, at least.
    pub rtt: Duration,
    pub interval: Duration,
    /// The sample is below this rate.
    pub rate: f64,
    /// The packets acknowledged beyond the bandwidth: at most so much in version 1, and less in version 3.
    pub extra: f64,
    /// More are in flight: of version 1 before the acknowledgment and until the next packet leaves, of version 3
    /// after it.
    pub flight: f64,
    /// The largest window.
    pub cwnd: f64,
}

impl core::fmt::Debug for Bounds {
    /// They follow from the model: one that has not asked for them is the same.
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Bounds")
    }
}

/// The sample of an acknowledgment within the bounds that do not depend on the version.
pub(super) struct Foreseen {
    /// The rate, and how many packets it is of.
    pub rate: f64,
    pub delivered: u64,
    /// The number in flight when the newest packet was sent, with it.
    pub sent_flight: u32,
    /// The number that had been delivered before.
    pub total: u64,
}

/// The samples that a model takes, and the bounds within which they change nothing.
#[derive(Clone, Debug)]
pub(super) struct Samples {
    pub rate: Rate,
    pub bounds: Bounds,
}

impl Samples {
    pub fn new() -> Self {
        let bounds = Bounds {
            round: 0,
            until: Time::ZERO,
            rtt: Duration::ZERO,
            interval: Duration::ZERO,
            rate: 0.0,
            extra: 0.0,
            flight: 0.0,
            cwnd: 0.0,
        };
        Samples { rate: Rate::new(), bounds }
    }

    /// Forgets the bounds: the model changes.
    #[inline(always)]
    pub fn unsettle(&mut self) {
        self.bounds.round = 0;
    }

    /// The sample of an acknowledgment, whose packets have been told one by one.
    #[inline(always)]
    pub fn take<'a>(&mut self, ack: &'a AckFacts<'a>, min_rtt: Duration, holds_back: bool) -> Sample<'a> {
        let newest = self.rate.take_newest(ack.una);
        self.sample(ack, newest, min_rtt, holds_back)
    }

    /// [`Samples::take`] for the `newly` next packets, which were sent in order.
    #[inline(always)]
    pub fn take_in_order<'a>(
        &mut self,
        ack: &'a AckFacts<'a>,
        newly: u32,
        min_rtt: Duration,
        holds_back: bool,
    ) -> Sample<'a> {
        let newest = self.rate.deliver_in_order(newly, ack.una, ack.now);
        self.sample(ack, (Some(newest), newly), min_rtt, holds_back)
    }

    #[inline(always)]
    fn sample<'a>(
        &mut self,
        ack: &'a AckFacts<'a>,
        newest: (Option<Snapshot>, u32),
        min_rtt: Duration,
        holds_back: bool,
    ) -> Sample<'a> {
        self.unsettle();
        if holds_back {
            self.rate.limit(ack.flight);
        }
        self.rate.sample(ack, newest, min_rtt)
    }

    /// The sample of the next packets, if it is within the bounds.
    #[inline(always)]
    pub fn foresee(&self, ack: &InOrder<'_>) -> Option<Foreseen> {
        let (rate, interval, delivered, newest) = self.rate.foresee(ack.newly, ack.ack, ack.now)?;
        let bounds = &self.bounds;
        let out = newest.delivered >= bounds.round
            || ack.now > bounds.until
            || ack.rtt < bounds.rtt
            || interval < bounds.interval
            || rate >= bounds.rate;
        (!out).then_some(Foreseen { rate, delivered, sent_flight: newest.flight, total: self.rate.delivered })
    }
}

/// The count of round trips.
#[derive(Clone, Debug, Default)]
pub(super) struct Round {
    pub count: u64,
    /// A packet ends it that was sent after so many had been delivered.
    pub end: u64,
    /// The last acknowledgment began it.
    pub starts: bool,
}

impl Round {
    /// An acknowledgment comes whose newest packet was sent so, after which `total` packets have been delivered.
    #[inline(always)]
    pub fn on_ack(&mut self, newest: Option<&Snapshot>, total: u64) {
        self.starts = newest.is_some_and(|p| p.delivered >= self.end);
        if self.starts {
            self.end = total;
            self.count += 1;
        }
    }
}

/// Packets that have been acknowledged together.
#[derive(Clone, Debug)]
pub(super) struct Aggregate {
    pub since: Time,
    pub acked: f64,
}

impl Aggregate {
    pub fn new() -> Self {
        Aggregate { since: Time::ZERO, acked: 0.0 }
    }

    /// The aggregate after an acknowledgment of `acked` packets, where `expected` were to be acknowledged, and how many
    /// more these are.
    #[inline(always)]
    pub fn after(&self, now: Time, acked: f64, expected: f64, cwnd: f64) -> (Self, f64) {
        if self.acked <= expected {
            return (Aggregate { since: now, acked }, lesser(acked, cwnd));
        }
        let acked = self.acked + acked;
        (Aggregate { since: self.since, acked }, lesser(acked - expected, cwnd))
    }
}

/// The window before a recovery or a probe of the round-trip time.
#[derive(Clone, Debug)]
pub(super) struct PriorWindow {
    pub cwnd: f64,
    pub repairing: Repairing,
}

impl PriorWindow {
    pub fn new() -> Self {
        PriorWindow { cwnd: 0.0, repairing: Repairing::Nothing }
    }

    /// SaveCwnd(): `reduced` if a probe of the round-trip time has reduced the window already.
    pub fn save(&mut self, window: &Window, reduced: bool) {
        let kept = self.repairing == Repairing::Nothing && !reduced;
        self.cwnd = if kept { window.cwnd } else { self.cwnd.max(window.cwnd) };
    }

    /// RestoreCwnd().
    pub fn restore(&self, window: &mut Window) {
        window.cwnd = window.cwnd.max(self.cwnd);
    }
}

/// The rate at which packets leave.
#[derive(Clone, Debug)]
pub(super) struct Pace {
    /// Packets per second.
    pub rate: f64,
    /// The packets that leave in a round-trip time in the start.
    start: f64,
}

impl Pace {
    /// A window a millisecond, times `gain`, until a round-trip time is known.
    pub fn new(gain: f64, window: f64) -> Self {
        Pace { rate: gain * window / 0.001, start: gain * window }
    }

    pub fn initial(&self, rtt: Duration) -> f64 {
        self.start / rtt.as_secs_f64().max(1e-6)
    }

    /// Follows the bandwidth, which is that of the path if the pipe is `full`. `first` is the round-trip time in the
    /// first round trip: where no handshake measured one, the first packets do.
    #[inline(always)]
    pub fn follow(&mut self, rate: f64, full: bool, first: Option<Duration>) {
        if rate > 0.0 && (full || rate > self.rate) {
            self.rate = rate;
        } else if let Some(rtt) = first
            && !full
        {
            self.rate = rate.max(self.initial(rtt));
        }
    }
}

/// The time for which packets are held back to measure the round-trip time.
#[derive(Clone, Debug, Default)]
pub(super) struct Hold {
    /// Its end, once the flight is as small as it is to be.
    pub until: Option<Time>,
    /// A round trip of it is over.
    round_over: bool,
}

impl Hold {
    /// A packet is acknowledged in it, where `enough` may be in flight. True after a whole round trip.
    pub fn on_ack(&mut self, s: &Sample<'_>, round: &mut Round, enough: f64, time: Duration) -> bool {
        if self.until.is_some() {
            self.round_over |= round.starts;
            return self.round_over;
        }
        if f64::from(s.ack.flight) <= enough {
            (self.until, self.round_over) = (Some(s.ack.now + time), false);
            round.end = s.total;
        }
        false
    }

    pub fn is_over(&self, now: Time) -> bool {
        self.until.is_some_and(|until| now > until)
    }
}

impl Window {
    /// Grows by `acked` packets, to `target` where the pipe is `full`; in the start by what the first window delivers
    /// in any case.
    #[inline(always)]
    pub(super) fn grow_to(&mut self, target: f64, full: bool, s: &Sample<'_>, initial_window: f64) {
        let acked = f64::from(s.acked);
        if full {
            self.cwnd = lesser(self.cwnd + acked, target);
        } else if self.cwnd < target || count(s.total) < initial_window {
            self.cwnd += acked;
        }
        self.cwnd = larger(self.cwnd, MIN_WINDOW);
    }
}

/// The events of which all models make the same.
macro_rules! model_events {
    () => {
        /// The model sets the window.
        fn grow(&mut self, _: &mut Window, _: &Acked<'_>) {}

        fn on_nothing_to_send(&mut self, flight: u32) {
            self.samples.rate.limit(flight);
        }

        #[inline(always)]
        fn on_delivered(&mut self, now: Time, seq: u32) {
            self.samples.rate.deliver(seq, now);
        }

        #[inline(always)]
        fn on_usual_ack(&mut self, window: &mut Window, ack: &InOrder<'_>) -> bool {
            let Some(seen) = self.samples.foresee(ack) else { return false };
            let usual = self.goes_on(window, ack, &seen);
            if usual {
                self.samples.rate.pass(ack.newly, ack.ack, ack.now, ack.sent);
            }
            usual
        }

        #[inline(always)]
        fn has_room(&self) -> bool {
            self.samples.rate.has_room()
        }

        #[inline(always)]
        fn on_next_sent(&mut self, now: Time, flight: u32) {
            self.samples.rate.sent_next(now, flight);
        }

        fn on_timeout_again(&mut self, window: &Window) {
            self.on_timeout(window);
        }

        fn on_idle(&mut self, _: &mut Window, _: f64) {}

        fn on_duplicate(&mut self) {
            self.samples.rate.delivered += 1;
        }

        #[inline(always)]
        fn pacing_rate(&self) -> Option<f64> {
            Some(self.pace.rate)
        }
    };
}
pub(super) use model_events;

/// BBR.MinPipeCwnd.
pub(super) const MIN_WINDOW: f64 = 4.0;

/// Packets that leave at a rate in a time.
#[inline(always)]
pub(super) fn product(rate: f64, time: Duration) -> f64 {
    rate * seconds(time)
}
