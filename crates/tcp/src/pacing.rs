//! Pacing: packets leave one after the other at a rate, instead of all when an acknowledgment opens the window; or
//! those of a moment together.

use quell_units::{Duration, Time};

use crate::congestion::window::Window;
use crate::float::{duration, larger, seconds};
use crate::host_queue::{HostQueue, Sizes};
use crate::params::Config;

/// The pace of a sender without a rate of its own, in windows a smoothed round-trip time: less than half of the
/// way to `ssthresh`, and beyond (as Linux does).
const SLOW_START: f64 = 2.0;
const AVOIDANCE: f64 = 1.2;

/// Packets that are sent together have at most 64 KiB with room for headers, and two packets at least; of a model
/// below 1.2 Mbit/s one. The first ten packets of a connection are not paced, and a packet that was late may be
/// followed by the next one after half of its time (as in Linux).
const MOST_TOGETHER: f64 = 65_215.0;
const SLOW: f64 = 1.2e6 / 8.0;
const UNPACED: u32 = 10;

/// Packets that leave together: those of one moment.
#[derive(Clone, Debug)]
struct Together {
    /// Seconds at the rate.
    time: f64,
    /// The payload of a packet, in bytes.
    packet: f64,
    /// The rate in bytes per second below which each leaves alone.
    slow: f64,
    /// Packets wait for their time.
    waits: bool,
    /// The number of them, at the rate.
    count: u32,
    /// The number of those of this moment that are left.
    left: u32,
    at: Time,
    /// The delay of this moment, as far as it is not made good.
    late: Duration,
    sent: u32,
    /// The round-trip time of the first packet that each acknowledgment acknowledges, smoothed: with the time that
    /// acknowledgments were delayed. Zero for none.
    srtt: Duration,
    /// What the host has still to send, if it tells.
    host: Option<HostQueue>,
    /// Bytes of the time at the rate.
    quantum: f64,
}

/// The longest time until an acknowledgment for which packets wait, and since the last packet left.
pub(crate) const SOON: Duration = Duration::from_millis(1);

impl Together {
    fn sizes(&self) -> Sizes {
        Sizes { packet: self.packet as u64, together: self.count, quantum: self.quantum as u64 }
    }

    /// A packet leaves, which may at `next`; when the one behind it may.
    fn sent(&mut self, now: Time, next: Time, gap: Duration) -> Time {
        let mut next = next;
        if self.left == 0 || self.at != now {
            self.late = now.since(next);
            (self.at, self.left, next) = (now, self.count, next.max(now));
        }
        if let Some(host) = &mut self.host {
            host.sent();
        }
        self.left -= 1;
        self.sent = self.sent.saturating_add(1);
        if !self.waits || self.sent < UNPACED {
            return next;
        }
        let earlier = self.late.min(gap / 2);
        self.late -= earlier;
        next + (gap - earlier)
    }
}

/// The release of the packets that the window allows.
#[derive(Clone, Debug)]
pub(crate) enum Release {
    AtOnce,
    Paced(Pacer),
}

impl Release {
    pub fn new(cfg: &Config) -> Self {
        Pacer::of(cfg).map_or(Release::AtOnce, Release::Paced)
    }

    #[inline(always)]
    pub fn pacer(&self) -> Option<&Pacer> {
        match self {
            Release::AtOnce => None,
            Release::Paced(pacer) => Some(pacer),
        }
    }

    #[inline(always)]
    pub fn pacer_mut(&mut self) -> Option<&mut Pacer> {
        match self {
            Release::AtOnce => None,
            Release::Paced(pacer) => Some(pacer),
        }
    }

    /// The time at which a packet that waits may leave.
    #[inline(always)]
    pub fn due(&self) -> Time {
        self.pacer().map_or(Time::MAX, |p| p.wake)
    }
}

/// A bucket of packets that fills at the rate.
#[derive(Clone, Debug)]
pub(crate) struct Pacer {
    /// Packets per second; zero while it is not known, and then nothing waits.
    rate: f64,
    /// The time between packets.
    gap: Duration,
    /// Sooner than `next` packets may leave by that, after the sender was slower.
    credit: Duration,
    burst: u64,
    /// The time at which the next packet leaves at the rate.
    next: Time,
    /// The time at which a packet that waits may leave.
    pub wake: Time,
    together: Option<Together>,
}

impl Pacer {
    /// `None` for a sender that neither waits nor sends packets together.
    fn of(cfg: &Config) -> Option<Self> {
        let together = cfg.send_quantum.map(|time| Together {
            time: seconds(time),
            packet: cfg.payload().get() as f64,
            slow: if cfg.congestion.is_model() { SLOW } else { 0.0 },
            waits: cfg.pacing,
            count: UNPACED,
            left: 0,
            at: Time::ZERO,
            late: Duration::ZERO,
            sent: 0,
            srtt: Duration::ZERO,
            host: cfg.host_tells.then(HostQueue::default),
            quantum: 0.0,
        });
        (cfg.pacing || together.is_some()).then(|| Pacer { together, ..Pacer::new(cfg.pacing_burst) })
    }

    /// A pacer that lets at most `burst` packets leave at once.
    pub fn new(burst: u32) -> Self {
        Pacer {
            rate: 0.0,
            gap: Duration::ZERO,
            credit: Duration::ZERO,
            burst: burst as u64,
            next: Time::ZERO,
            wake: Time::MAX,
            together: None,
        }
    }

    /// Sets the rate in packets per second.
    #[inline(always)]
    pub fn set_rate(&mut self, rate: f64) {
        if rate == self.rate {
            return;
        }
        self.rate = rate;
        self.gap = duration(1.0 / rate);
        if self.burst > 1 {
            self.credit = self.gap * (self.burst - 1);
        }
        if let Some(t) = &mut self.together {
            self.credit = Duration::ZERO;
            let bytes = rate * t.packet;
            let least = if bytes < t.slow { 1.0 } else { 2.0 };
            t.quantum = bytes * t.time;
            t.count = larger((bytes * t.time).min(MOST_TOGETHER) / t.packet, least) as u32;
        }
    }

    /// The rate in packets per second; zero while it is not known.
    pub fn rate(&self) -> f64 {
        self.rate
    }

    /// Follows the rate that a model has set, else as many windows a round-trip time as Linux does.
    #[inline(always)]
    pub fn follow(&mut self, rate: Option<f64>, window: &Window, srtt: Option<Duration>) {
        if let Some(rate) = rate {
            self.set_rate(rate);
        } else if let Some(srtt) = self.srtt().or(srtt) {
            let gain = if window.cwnd < window.ssthresh / 2.0 { SLOW_START } else { AVOIDANCE };
            self.set_rate(gain * larger(window.cwnd, 1.0) / seconds(srtt));
        }
    }

    /// Returns whether a packet may leave; if not, `wake` says when.
    #[inline]
    pub fn releases(&mut self, now: Time) -> bool {
        if let Some(t) = &self.together
            && (!t.waits || t.left > 0 && t.at == now)
        {
            self.wake = Time::MAX;
            return true;
        }
        let due = self.next_due();
        self.wake = if due <= now { Time::MAX } else { due };
        due <= now
    }

    /// Returns whether the host has so much of what was sent that the next packets wait, of which there are `most`;
    /// `wake` says until when. What `repairs` waits for less.
    #[inline]
    pub fn waits_for_host(&mut self, now: Time, most: u32, repairs: bool) -> bool {
        match &self.together {
            Some(t) if t.host.is_some() && (t.left == 0 || t.at != now) => {
                self.host_keeps_back(now, most, repairs)
            }
            _ => false,
        }
    }

    #[inline(never)]
    fn host_keeps_back(&mut self, now: Time, most: u32, repairs: bool) -> bool {
        let Some(t) = &mut self.together else { return false };
        let (sizes, packets) = (t.sizes(), t.count.min(most));
        let kept = t.host.as_mut().and_then(|host| host.keeps_back(now, packets, repairs, sizes));
        if let Some(until) = kept {
            self.wake = until;
        }
        kept.is_some()
    }

    /// The host will have sent a packet at `leaves`, see [`HostQueue::told`]. Returns whether `wake` has changed.
    pub fn on_handed_over(&mut self, now: Time, leaves: Time) -> bool {
        let Some(t) = &mut self.together else { return false };
        let sizes = t.sizes();
        let until = t.host.as_mut().and_then(|host| host.told(now, leaves, sizes));
        if let Some(until) = until {
            self.wake = until;
        }
        until.is_some()
    }

    /// Goes on with what the host of another one has still to send.
    pub fn inherit(&mut self, other: &mut Pacer) {
        if let (Some(t), Some(other)) = (&mut self.together, &mut other.together) {
            t.host = other.host.take();
        }
    }

    /// The time at which the next packet may leave.
    #[inline(always)]
    fn next_due(&self) -> Time {
        Time::ZERO + (self.next - Time::ZERO - self.credit)
    }

    /// Returns whether the next packet waits for its time, where each has one: `wake` says when. If not, nothing
    /// changes, and [`Pacer::releases`] knows.
    #[inline(always)]
    pub fn keeps_back(&mut self, now: Time) -> bool {
        let due = self.next_due();
        let kept = self.together.is_none() && due > now;
        if kept {
            self.wake = due;
        }
        kept
    }

    /// Lets at most so many packets leave, and as many as may; returns how many.
    #[inline(always)]
    pub fn release(&mut self, now: Time, most: u32) -> u32 {
        let (mut n, mut next) = (0, self.next);
        if n < most {
            let latest = now + self.credit;
            self.wake = Time::MAX;
            loop {
                if next > latest {
                    self.wake = Time::ZERO + (next - Time::ZERO - self.credit);
                    break;
                }
                next = next.max(now) + self.gap;
                n += 1;
                if n == most {
                    break;
                }
            }
            self.next = next;
        }
        n
    }

    /// [`Pacer::release`] where that is one packet or none; else nothing is released, and `None`.
    #[inline(always)]
    pub fn release_one(&mut self, now: Time, most: u32) -> Option<u32> {
        if most == 0 {
            return Some(0);
        }
        let latest = now + self.credit;
        let (mut n, mut next) = (0, self.next);
        if next <= latest {
            (n, next) = (1, next.max(now) + self.gap);
        }
        if n < most {
            if next <= latest {
                return None;
            }
            self.wake = Time::ZERO + (next - Time::ZERO - self.credit);
        } else {
            self.wake = Time::MAX;
        }
        self.next = next;
        Some(n)
    }

    /// A packet leaves.
    #[inline]
    pub fn sent(&mut self, now: Time) {
        match &mut self.together {
            None => self.next = self.next.max(now) + self.gap,
            Some(t) => self.next = t.sent(now, self.next, self.gap),
        }
    }

    /// The time for which the next packet is kept back.
    pub fn ahead(&self, now: Time) -> Duration {
        self.next.since(now + self.credit)
    }

    /// Returns whether packets of a moment leave together.
    #[inline]
    pub fn sends_together(&self) -> bool {
        self.together.is_some()
    }

    /// An acknowledgment came so long after the first of its packets was sent.
    #[inline]
    pub fn acknowledged(&mut self, rtt: Duration) {
        if let Some(t) = &mut self.together {
            t.srtt = if t.srtt.is_zero() { rtt } else { (t.srtt * 7 + rtt) / 8 };
        }
    }

    /// The round-trip time by which acknowledgments are expected, if that is not the usual one.
    #[inline]
    pub fn srtt(&self) -> Option<Duration> {
        self.together.as_ref().map(|t| t.srtt).filter(|srtt| !srtt.is_zero())
    }

    /// The number of packets from `next` on that leave together, if it would be the first of them and others have
    /// left just before. What ends a piece of the send buffer, which are as large as what leaves together at most,
    /// does not wait for what is in the next one (as in Linux).
    pub fn begins(&self, now: Time, next: u32) -> Option<u32> {
        let t = self.together.as_ref()?;
        let begins = t.left == 0 || t.at != now;
        let piece = larger(MOST_TOGETHER / t.packet, 1.0) as u32;
        (begins && now <= self.next + SOON).then(|| t.count.min(piece - (next - 1) % piece))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// The time at which packets leave of which there are always some, from `from` ms on.
    fn leave(p: &mut Pacer, from: u64, count: usize) -> Vec<u64> {
        let mut now = Time::ZERO + Duration::from_millis(from);
        let mut out = Vec::new();
        while out.len() < count {
            if p.releases(now) {
                p.sent(now);
                out.push(now.nanos() / 1_000_000);
            } else {
                now = p.wake;
            }
        }
        out
    }

    #[test]
    fn packets_leave_at_the_rate_after_a_burst() {
        let mut p = Pacer::new(3);
        p.set_rate(100.0);
        assert_eq!(leave(&mut p, 50, 6), [50, 50, 50, 60, 70, 80]);
        // 15 ms without a packet are worth one more.
        assert_eq!(leave(&mut p, 105, 4), [105, 105, 110, 120]);
        assert_eq!(leave(&mut p, 1000, 4), [1000, 1000, 1000, 1010]);
    }

    #[test]
    fn a_burst_of_one_is_no_burst() {
        let mut p = Pacer::new(1);
        p.set_rate(1000.0);
        assert_eq!(leave(&mut p, 5, 4), [5, 6, 7, 8]);
        p.set_rate(100.0);
        assert_eq!(leave(&mut p, 8, 3), [9, 19, 29]);
    }

    fn together(waits: bool) -> Pacer {
        let params = crate::TcpParams {
            recovery: crate::Recovery::Rack,
            pacing: waits,
            send_quantum: Some(Duration::from_millis(4)),
            ..Default::default()
        };
        Pacer::of(&Config::new(&params).unwrap()).unwrap()
    }

    #[test]
    fn packets_of_a_moment_leave_together_after_the_first_ten() {
        let mut p = together(true);
        p.set_rate(1000.0);
        assert_eq!(leave(&mut p, 1, 18), [[1; 10].as_slice(), &[1, 1, 4, 4, 4, 4, 8, 8]].concat());
        // Late by more than two packets' time: half of theirs is made good.
        assert_eq!(leave(&mut p, 50, 8), [50, 50, 50, 50, 52, 52, 52, 52]);
        // Two at least, and 64 kB at most.
        p.set_rate(10.0);
        assert_eq!(p.together.as_ref().unwrap().count, 2);
        p.set_rate(1e6);
        assert_eq!(p.together.as_ref().unwrap().count, 65);
    }

    #[test]
    fn packets_that_do_not_wait_are_counted() {
        let mut p = together(false);
        p.set_rate(1000.0);
        assert_eq!(leave(&mut p, 1, 40), [1; 40]);
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        assert_eq!([1, 2, 3].map(|ms| p.begins(at(ms), 41)), [Some(4), Some(4), None]);
        // A piece of the send buffer has 65.
        assert_eq!([61, 62, 63, 65, 66].map(|next| p.begins(at(1), next)), [4, 4, 3, 1, 4].map(Some));
        assert_eq!(p.ahead(at(1)), Duration::ZERO);
    }

    #[test]
    fn nothing_waits_while_no_rate_is_known() {
        assert_eq!(leave(&mut Pacer::new(1), 0, 5), [0; 5]);
    }
}
