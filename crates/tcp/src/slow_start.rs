//! The end of slow start without a loss.

use quell_units::{Duration, Time};

use crate::choices::SlowStart;
use crate::congestion::contract::{Cause, Window};
use crate::entry::Entry;

/// The entry in the catalog: standard slow start.
pub(crate) const STANDARD: Entry = Entry {
    key: "slow_start",
    name: "standard",
    title: "Standard slow start",
    summary: "It ends with a loss or a mark, or at initial_ssthresh.",
    source: "RFC 5681",
    reads: &["initial_ssthresh"],
    choices: &[
        "After a timeout, an acknowledgment adds at most one packet, no matter how much it acknowledges (RFC 3465 \
         section 2.3).",
    ],
    ..Entry::PLAIN
};

/// The entry in the catalog: HyStart++.
pub(crate) const HYSTART_PLUS_PLUS: Entry = Entry {
    key: "slow_start",
    name: "hystart++",
    title: "HyStart++",
    summary: "It also ends when the round-trip time rises by an eighth, but by at least 4 ms and at most 16 ms.",
    source: "RFC 9406",
    reads: &["initial_ssthresh"],
    choices: &[
        "An acknowledgment adds at most eight packets, or any number if packets are paced.",
        "The round-trip time of each acknowledgment is measured.",
        "An unused window does not grow.",
        "HyStart, from which it is derived and which Linux uses, is a separate value: \"hystart\".",
    ],
    ..Entry::PLAIN
};

/// The entry in the catalog: HyStart.
pub(crate) const HYSTART: Entry = Entry {
    key: "slow_start",
    name: "hystart",
    title: "HyStart",
    summary: "It also ends when the round-trip time rises by an eighth (by at least 4 ms and at most 16 ms), and when \
        acknowledgments have followed each other closely for half of the smallest round-trip time.",
    source: "Ha and Rhee 2011",
    reads: &["initial_ssthresh"],
    choices: &[
        "Acknowledgments follow each other closely if they are at most 2 ms apart. The train starts with the round and \
         ends with the first longer gap. Below a window of 16 packets, nothing is looked for.",
        "If packets are paced, the pacing rate sets the length of a train, so it must last for a whole round-trip time \
         (as in Linux).",
        "The rise is measured from the smallest round-trip time of all (as in Linux) to the round's smallest, out of \
         at least eight; in the paper, from that of the previous round.",
        "After a timeout it starts over. After a loss, slow start is over.",
        "An unused window does not grow.",
    ],
    ..Entry::PLAIN
};

/// RFC 9406 section 4.3.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
pub(crate) const N_RTT_SAMPLE: u32 = 8;
/// HyStart's: the window below which it does not look, and the gap that ends a train.
pub(crate) const LOW_WINDOW: f64 = 16.0;
const TRAIN_GAP: Duration = Duration::from_millis(2);
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;
/// Packets that an acknowledgment may add where they are not paced.
const L: f64 = 8.0;

/// The rise of a round-trip time that reveals a queue.
fn rise(rtt: Duration) -> Duration {
    (rtt / MIN_RTT_DIVISOR).max(MIN_RTT_THRESH).min(MAX_RTT_THRESH)
}

/// The search for the end of slow start.
#[derive(Clone, Debug)]
pub(crate) enum Search {
    PlusPlus(HyStartPlusPlus),
    HyStart(HyStart),
}

impl Search {
    /// `None` for standard slow start.
    pub fn new(slow_start: SlowStart, paced: bool) -> Option<Self> {
        match slow_start {
            SlowStart::Standard => None,
            SlowStart::HyStartPlusPlus => Some(Search::PlusPlus(HyStartPlusPlus::new(paced))),
            SlowStart::HyStart => Some(Search::HyStart(HyStart::new(paced))),
        }
    }

    /// Takes in an acknowledgment of `acked` packets at `now`, all below `ack`, that measured `rtt`; `next` is one
    /// past the highest packet sent. Returns how many are left for congestion avoidance.
    pub fn on_ack(
        &mut self,
        window: &mut Window,
        acked: f64,
        ends: (u32, u32),
        now: Time,
        rtt: Option<Duration>,
    ) -> f64 {
        match self {
            Search::PlusPlus(h) => h.on_ack(window, acked, ends, rtt),
            Search::HyStart(h) => {
                if let Some(rtt) = rtt {
                    h.look(window, ends, now, rtt);
                }
                window.slow_start(acked)
            }
        }
    }

    /// The window has been reduced.
    pub fn on_reduction(&mut self, cause: Cause) {
        match self {
            Search::PlusPlus(h) => h.over = true,
            Search::HyStart(h) if cause == Cause::Timeout => *h = HyStart::new(h.paced),
            Search::HyStart(h) => h.over = true,
        }
    }
}

/// The state of HyStart (Ha and Rhee 2011).
#[derive(Clone, Debug)]
pub(crate) struct HyStart {
    paced: bool,
    /// The round ends when this packet is acknowledged.
    window_end: u32,
    began: Time,
    /// The last acknowledgment of the train that began with the round.
    train: Time,
    min: Duration,
    current_round_min: Duration,
    samples: u32,
    over: bool,
}

impl HyStart {
    fn new(paced: bool) -> Self {
        HyStart {
            paced,
            window_end: 0,
            began: Time::ZERO,
            train: Time::ZERO,
            min: Duration::MAX,
            current_round_min: Duration::MAX,
            samples: 0,
            over: false,
        }
    }

    /// Ends slow start if the acknowledgment of all below `ack` reveals a full pipe.
    fn look(&mut self, window: &mut Window, (ack, next): (u32, u32), now: Time, rtt: Duration) {
        if self.over || window.cwnd >= window.ssthresh {
            return;
        }
        self.min = self.min.min(rtt);
        if ack > self.window_end {
            self.window_end = next;
            (self.began, self.train) = (now, now);
            (self.current_round_min, self.samples) = (Duration::MAX, 0);
        }
        if window.cwnd < LOW_WINDOW {
            return;
        }
        self.current_round_min = self.current_round_min.min(rtt);
        self.samples += 1;
        if now - self.train <= TRAIN_GAP {
            self.train = now;
            let length = if self.paced { self.min } else { self.min / 2 };
            self.over = now - self.began > length;
        }
        let risen = self.current_round_min > self.min + rise(self.min);
        self.over |= self.samples > N_RTT_SAMPLE && risen;
        if self.over {
            window.ssthresh = window.cwnd;
        }
    }
}

/// The state of HyStart++ (RFC 9406 section 4.2).
#[derive(Clone, Debug)]
pub(crate) struct HyStartPlusPlus {
    /// The round ends when this packet is acknowledged.
    window_end: u32,
    last_round_min: Duration,
    current_round_min: Duration,
    samples: u32,
    /// Conservative slow start: the smallest round-trip time when it began, and how many of its rounds are over.
    conservative: Option<(Duration, u32)>,
    /// A loss or a mark has ended the first slow start, and with it this.
    over: bool,
    /// Packets that an acknowledgment may add.
    limit: f64,
}

impl HyStartPlusPlus {
    fn new(paced: bool) -> Self {
        HyStartPlusPlus {
            limit: if paced { f64::INFINITY } else { L },
            window_end: 0,
            last_round_min: Duration::MAX,
            current_round_min: Duration::MAX,
            samples: 0,
            conservative: None,
            over: false,
        }
    }

    /// Takes in an acknowledgment of `acked` packets, all below `ack`, that measured `rtt`; `next` is one past
    /// the highest packet sent. Returns how many are left for congestion avoidance.
    fn on_ack(
        &mut self,
        window: &mut Window,
        acked: f64,
        (ack, next): (u32, u32),
        rtt: Option<Duration>,
    ) -> f64 {
        if self.over || window.cwnd >= window.ssthresh {
            self.over = true;
            return window.slow_start(acked);
        }
        if ack > self.window_end {
            self.end_round(window, next);
        }
        if let Some(rtt) = rtt {
            self.current_round_min = self.current_round_min.min(rtt);
            self.samples += 1;
        }
        let left = match self.conservative {
            None => window.slow_start(acked.min(self.limit)),
            Some(_) => window.slow_start(acked.min(self.limit) / CSS_GROWTH_DIVISOR),
        };
        if self.samples < N_RTT_SAMPLE || self.last_round_min == Duration::MAX {
            return left;
        }
        match self.conservative {
            None => {
                if self.current_round_min >= self.last_round_min + rise(self.last_round_min) {
                    self.conservative = Some((self.current_round_min, 0));
                }
            }
            // It was no lasting queue.
            Some((baseline, _)) if self.current_round_min < baseline => self.conservative = None,
            Some(_) => {}
        }
        left
    }

    fn end_round(&mut self, window: &mut Window, next: u32) {
        self.window_end = next;
        self.last_round_min = self.current_round_min;
        self.current_round_min = Duration::MAX;
        self.samples = 0;
        if let Some((_, rounds)) = &mut self.conservative {
            *rounds += 1;
            if *rounds >= CSS_ROUNDS {
                window.ssthresh = window.cwnd;
                self.over = true;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(x: u64) -> Duration {
        Duration::from_millis(x)
    }

    /// A slow start whose n-th round trip takes `rtt(n)`; windows after each round until it ends.
    fn windows(rtt: impl Fn(u32) -> Duration) -> alloc::vec::Vec<u32> {
        let mut h = HyStartPlusPlus::new(false);
        let mut w = Window { cwnd: 10.0, ssthresh: 1e9 };
        let (mut ack, mut next) = (1, 11);
        let mut out = alloc::vec::Vec::new();
        for round in 0..15 {
            let end = next;
            while ack < end {
                ack += 1;
                h.on_ack(&mut w, 1.0, (ack, next), Some(rtt(round)));
                next = ack + w.cwnd as u32;
            }
            out.push(w.cwnd as u32);
            if h.over {
                break;
            }
        }
        out
    }

    #[test]
    fn a_steady_round_trip_time_changes_nothing() {
        assert_eq!(windows(|_| ms(100))[..5], [20, 40, 80, 160, 320]);
    }

    #[test]
    fn a_rise_of_an_eighth_makes_slow_start_conservative_for_five_rounds() {
        // 100 ms: the threshold is 12.5 ms.
        let w = windows(|round| if round < 3 { ms(100) } else { ms(113) });
        // Doubling until the eighth sample of the fourth round, a quarter of that afterwards.
        assert_eq!(w[..3], [20, 40, 80]);
        assert!(w[3] > 80 && w[3] < 120, "{w:?}");
        assert_eq!(w.len(), 9, "{w:?}");
        let below = windows(|round| if round < 3 { ms(100) } else { ms(112) });
        assert_eq!(below.len(), 15);
    }

    #[test]
    fn slow_start_goes_on_if_the_round_trip_time_falls_back() {
        let w = windows(|round| if round == 3 { ms(113) } else { ms(100) });
        assert_eq!(w.len(), 15, "{w:?}");
    }

    #[test]
    fn thresholds_are_between_4_and_16_ms() {
        assert_eq!(windows(|r| if r < 3 { ms(10) } else { ms(13) }).len(), 15);
        assert!(windows(|r| if r < 3 { ms(10) } else { ms(14) }).len() < 15);
        assert_eq!(windows(|r| if r < 3 { ms(300) } else { ms(315) }).len(), 15);
        assert!(windows(|r| if r < 3 { ms(300) } else { ms(316) }).len() < 15);
    }

    /// HyStart's window when slow start ends or after seven rounds, on a path of 40 ms whose bottleneck spaces
    /// acknowledgments by `gap`, and whose round-trip time is `more` longer from the third round on.
    fn hystart(paced: bool, gap: Duration, more: Duration) -> u32 {
        let mut h = HyStart::new(paced);
        let mut w = Window { cwnd: 10.0, ssthresh: 1e9 };
        let (mut ack, mut next) = (1, 11);
        for round in 0..7 {
            let (end, start) = (next, Time::ZERO + ms(40) * round);
            let rtt = if round < 2 { ms(40) } else { ms(40) + more };
            for n in 0..end - ack {
                ack += 1;
                h.look(&mut w, (ack, next), start + gap * u64::from(n), rtt);
                if h.over {
                    assert_eq!(w.ssthresh, w.cwnd);
                    return w.cwnd as u32;
                }
                w.slow_start(1.0);
                next = ack + w.cwnd as u32;
            }
        }
        w.cwnd as u32
    }

    #[test]
    fn a_train_of_half_a_round_trip_ends_hystart() {
        let gap = Duration::from_micros(250);
        // 20 ms are 80 gaps, which the fourth round, of 160 packets, has first: 160 and 81.
        assert_eq!(hystart(false, gap, Duration::ZERO), 241);
        // With pacing 40 ms: no more than the 160 of that round.
        assert_eq!(hystart(true, gap, Duration::ZERO), 481);
        // Gaps of more than 2 ms are no train.
        assert_eq!(hystart(false, Duration::from_micros(2001), Duration::ZERO), 1280);
    }

    #[test]
    fn a_rise_after_eight_samples_ends_hystart() {
        let gap = Duration::from_micros(2001);
        // An eighth of 40 ms is 5 ms; the third round has 40 packets.
        assert_eq!(hystart(false, gap, ms(5)), 1280);
        assert_eq!(hystart(false, gap, ms(6)), 48);
    }

    #[test]
    fn a_timeout_begins_the_search_anew() {
        let mut s = Search::new(SlowStart::HyStart, false).unwrap();
        let over = |s: &Search| matches!(s, Search::HyStart(h) if h.over);
        s.on_reduction(Cause::Loss);
        assert!(over(&s));
        s.on_reduction(Cause::Timeout);
        assert!(!over(&s));
    }
}
