//! How slow start ends without a loss.

use quell_aqm::choice;
use quell_units::{Duration, Time};

use crate::catalog::Entry;
use crate::congestion::Window;

choice! {
    /// How slow start ends.
    pub enum SlowStart {
        /// With a loss or a mark, or at `initial_ssthresh` (RFC 5681).
        Standard = "standard",
        /// Also when the round-trip time rises (RFC 9406).
        HyStartPlusPlus = "hystart++",
    }
}

/// What a user may read about standard slow start.
pub(crate) const STANDARD: Entry = Entry {
    key: "slow_start",
    name: "standard",
    title: "Standard slow start",
    summary: "It ends with a loss or a mark, or at initial_ssthresh.",
    source: "RFC 5681",
    reads: &["initial_ssthresh"],
    needs: &[],
    refuses: &[],
    network: "",
    choices: &[
        "After a timeout an acknowledgment adds one packet at most, however much it acknowledges (RFC 3465 section 2.3).",
    ],
};

/// What a user may read about HyStart++.
pub(crate) const HYSTART_PLUS_PLUS: Entry = Entry {
    key: "slow_start",
    name: "hystart++",
    title: "HyStart++",
    summary: "It ends also when the round-trip time rises by an eighth, 4 ms at least and 16 ms at most.",
    source: "RFC 9406",
    reads: &["initial_ssthresh"],
    needs: &[],
    refuses: &[],
    network: "",
    choices: &[
        "An acknowledgment adds eight packets at most, or any number if packets are paced.",
        "The round-trip time of each acknowledgment is measured.",
        "A window that is not used does not grow.",
        "Linux's HyStart is another algorithm: trains of acknowledgments, and no conservative slow start.",
    ],
};

/// RFC 9406 section 4.3.
const MIN_RTT_THRESH: Duration = Duration::from_millis(4);
const MAX_RTT_THRESH: Duration = Duration::from_millis(16);
const MIN_RTT_DIVISOR: u64 = 8;
const N_RTT_SAMPLE: u32 = 8;
const CSS_GROWTH_DIVISOR: f64 = 4.0;
const CSS_ROUNDS: u32 = 5;
/// Packets that an acknowledgment may add where they are not paced.
const L: f64 = 8.0;

/// The state of HyStart++ (RFC 9406 section 4.2).
#[derive(Clone, Debug)]
pub(crate) struct HyStart {
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

impl HyStart {
    pub fn new(paced: bool) -> Self {
        HyStart {
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
    pub fn on_ack(
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
                let thresh = self.last_round_min / MIN_RTT_DIVISOR;
                let thresh = thresh.max(MIN_RTT_THRESH).min(MAX_RTT_THRESH);
                if self.current_round_min >= self.last_round_min + thresh {
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

    /// A loss or a mark ends it.
    pub fn end(&mut self) {
        self.over = true;
    }
}

/// When the packets in flight were sent.
#[derive(Clone, Debug, Default)]
pub(crate) struct SendTimes {
    /// The number of the first.
    first: u32,
    /// None for a packet that was sent again: what its acknowledgment is of is not known (Karn's rule).
    times: alloc::collections::VecDeque<Option<Time>>,
}

impl SendTimes {
    pub fn sent(&mut self, seq: u32, now: Time) {
        if self.times.is_empty() {
            self.first = seq;
        }
        match self.times.get_mut((seq - self.first) as usize) {
            Some(time) => *time = None,
            None => self.times.push_back(Some(now)),
        }
    }

    /// The round-trip time that an acknowledgment of all below `ack` measures: that of the last of them.
    pub fn acknowledged(&mut self, ack: u32, now: Time) -> Option<Duration> {
        let count = (ack.saturating_sub(self.first) as usize).min(self.times.len());
        let last = self.times.drain(..count).next_back().flatten();
        self.first += count as u32;
        last.map(|sent| now - sent)
    }

    pub fn clear(&mut self) {
        self.times.clear();
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
        let mut h = HyStart::new(false);
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

    #[test]
    fn what_was_sent_twice_measures_nothing() {
        let at = |x| Time::ZERO + ms(x);
        let mut s = SendTimes::default();
        (5..9).for_each(|seq| s.sent(seq, at(seq as u64)));
        s.sent(6, at(20));
        assert_eq!(s.acknowledged(6, at(105)), Some(ms(100)));
        assert_eq!(s.acknowledged(7, at(106)), None);
        assert_eq!(s.acknowledged(9, at(110)), Some(ms(102)));
        assert_eq!(s.acknowledged(9, at(111)), None);
        s.sent(9, at(200));
        assert_eq!(s.acknowledged(10, at(300)), Some(ms(100)));
    }
}
