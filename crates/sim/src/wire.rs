//! The transmitter and the wire of a link: when a packet's transmission ends and when it arrives.

use quell_aqm::Seed;
use quell_queue::{self as queue, Carry, Impaired, ToCome, Transmitter};
use quell_units::{BitRate, Bytes, Duration, Time};

use crate::network::LinkSpec;

/// A link without its queue; by default one that nothing goes over.
pub(crate) struct Wire {
    transmitter: Transmitter,
    delay: Duration,
    /// The time at which the transmission under way ends.
    pub busy_until: Time,
    /// The time that the transmission of the last packet took, and the size of that packet: the next one is
    /// usually as large. Zero where a look at [`Wire::special`] comes first.
    time: Duration,
    rest: u32,
    carry: Carry,
    bytes: u16,
    /// The state that few wires have.
    special: Option<Box<Special>>,
}

struct Special {
    /// Changes still to come.
    rates: ToCome<BitRate>,
    delays: ToCome<Duration>,
    /// The time of the next change of the rate or the delay.
    next_change: Time,
    /// The rate is zero, for ever; and whether it ever is another one after the start.
    dead: bool,
    revives: bool,
    /// The rate as a queue at its own time sees it, if it ever changes, and changes still to come there.
    told: Option<(BitRate, ToCome<BitRate>)>,
    impaired: Impaired,
}

/// The fate of a transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Flight {
    /// The time at which its transmission begins.
    pub start: Time,
    /// The time at which the other end has it.
    pub arrives: Time,
    /// The wire loses it.
    pub lost: bool,
    /// It arrives twice.
    pub copied: bool,
}

impl Default for Wire {
    fn default() -> Self {
        Wire {
            transmitter: Transmitter::default(),
            delay: Duration::ZERO,
            busy_until: Time::ZERO,
            time: Duration::ZERO,
            rest: 0,
            carry: Carry::START,
            bytes: 0,
            special: None,
        }
    }
}

impl Wire {
    pub fn new(spec: &LinkSpec, seed: Seed, id: u32) -> Self {
        let rate = spec.transmitter();
        let constant = rate.is_constant() && spec.delay.is_constant();
        let impaired = Impaired::new(&spec.impairments, seed, id);
        let usual = constant && impaired.is_none();
        let special = || {
            let (rates, delays) = (rate.to_come(), spec.delay.to_come());
            Box::new(Special {
                next_change: rates.due().min(delays.due()),
                told: (!rate.is_constant()).then(|| (rate.initial, rates.clone())),
                rates,
                delays,
                dead: false,
                revives: rate.values().skip(1).any(|rate| rate.bps() > 0),
                impaired,
            })
        };
        Wire {
            transmitter: Transmitter::new(rate.initial),
            delay: spec.delay.initial.min(Transmitter::LONGEST),
            busy_until: Time::ZERO,
            time: Duration::ZERO,
            rest: 0,
            carry: Carry::START,
            bytes: 0,
            special: (!usual).then(special),
        }
    }

    /// Transmits a packet from `start`, when the transmitter is free, or from when the rate is not zero any
    /// more; starts never decrease. The packet keeps the rate and the delay that hold at its start.
    #[inline]
    pub fn transmit(&mut self, start: Time, bytes: u16) -> Flight {
        match self.transmit_usual(start, bytes) {
            Some(arrives) => Flight { start, arrives, lost: false, copied: false },
            None => self.transmit_any(start, bytes),
        }
    }

    /// [`Wire::transmit`] for a packet as large as the last one, on a wire that never changes nor
    /// loses; says when the other end has it.
    #[inline]
    pub fn transmit_usual(&mut self, start: Time, bytes: u16) -> Option<Time> {
        if bytes != self.bytes {
            return None;
        }
        Some(self.send(start))
    }

    /// [`Wire::transmit`] for all others.
    #[inline(never)]
    pub fn transmit_any(&mut self, start: Time, bytes: u16) -> Flight {
        let start = if self.special.is_some() { self.special(start) } else { start };
        self.size(bytes);
        let flight = Flight { start, arrives: self.send(start), lost: false, copied: false };
        if self.special.is_some() { self.impair(flight) } else { flight }
    }

    /// Sends a packet of the last size; says when the other end has it.
    #[inline]
    fn send(&mut self, start: Time) -> Time {
        self.busy_until = self.carry.end(start, (self.time, self.rest));
        Time::from_nanos(self.busy_until.nanos() + self.delay.nanos())
    }

    /// The time at which a packet that comes at `now` to a FIFO before this wire would start, but for outages.
    #[inline]
    pub fn start(&self, now: Time) -> Time {
        self.busy_until.max(now)
    }

    /// The rate at `t` as algorithms see it, if it changes at all: not zero but the last one that was not.
    /// Times never decrease.
    #[inline]
    pub fn told_rate(&mut self, t: Time) -> Option<BitRate> {
        let (rate, to_come) = self.special.as_mut()?.told.as_mut()?;
        while to_come.due() <= t {
            *rate = to_come.pop().filter(|r| r.bps() > 0).unwrap_or(*rate);
        }
        Some(*rate)
    }

    /// Packets are of another size.
    fn size(&mut self, bytes: u16) {
        // Never zero: events at one instant never cause another at the same merge point.
        (self.time, self.rest) = self.transmitter.time(Bytes::new(bytes as u64));
        self.bytes = if self.special.is_none() { bytes } else { 0 };
    }

    /// Takes changes in; says when the transmission that was to begin at `start` begins.
    #[cold]
    #[inline(never)]
    fn special(&mut self, mut start: Time) -> Time {
        let Some(s) = &mut self.special else { return start };
        while start >= s.next_change {
            let rate = s.rates.pop_until(start);
            if let Some(delay) = s.delays.pop_until(start) {
                self.delay = delay.min(Transmitter::LONGEST);
            }
            s.next_change = s.rates.due().min(s.delays.due());
            match rate {
                Some(rate) if rate.bps() > 0 => self.transmitter.set_rate(rate),
                // An outage: once more when the rate changes.
                Some(_) if s.revives && s.rates.due() < Time::MAX => start = s.rates.due(),
                Some(_) => (s.dead, s.next_change) = (true, Time::MAX),
                None => {}
            }
        }
        if s.dead {
            start = start.max(Time::ZERO + Transmitter::LONGEST);
        }
        start
    }

    /// Does to a packet what else the wire does.
    #[inline(never)]
    fn impair(&mut self, mut flight: Flight) -> Flight {
        let Some(s) = &mut self.special else { return flight };
        let queue::Flight { arrives, lost, copied } =
            s.impaired.carry(flight.start, self.busy_until, self.delay);
        (flight.arrives, flight.lost, flight.copied) = (arrives, lost, copied);
        flight
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::{Changes, Impairments, Schedule};
    use quell_units::Bytes;

    fn spec(rate: Schedule<BitRate>, delay: Schedule<Duration>, loss: f64) -> LinkSpec {
        let impairments = Impairments::losing(loss);
        LinkSpec {
            name: String::new(),
            rate,
            delay,
            queue: None,
            tree: None,
            shaper: None,
            cell: None,
            wifi: None,
            impairments,
            observe: false,
        }
    }

    fn at(ms: u64) -> Time {
        Time::ZERO + Duration::from_millis(ms)
    }

    #[test]
    fn transmission_is_size_over_rate() {
        for (mbps, bytes) in [(10, 500), (45, 500), (100, 40), (1000, 1500), (3, 1000)] {
            let rate = BitRate::from_bps(mbps * 1_000_000);
            let s = spec(Schedule::constant(rate), Schedule::constant(Duration::ZERO), 0.0);
            let mut w = Wire::new(&s, Seed(1), 0);
            let flight = w.transmit(Time::ZERO, bytes);
            let exact = rate.transmission_time(Bytes::new(bytes as u64));
            assert_eq!(flight.arrives - Time::ZERO, exact, "{mbps} {bytes}");
        }
    }

    #[test]
    fn a_packet_keeps_the_rate_and_delay_it_started_with() {
        let rate = Schedule::changing(BitRate::from_bps(8_000), vec![(at(500), BitRate::from_bps(80_000))]);
        let delay = Schedule::changing(Duration::from_millis(10), vec![(at(500), Duration::from_millis(1))]);
        let mut w = Wire::new(&spec(rate, delay, 0.0), Seed(1), 0);
        assert_eq!(w.transmit(at(0), 1000).arrives, at(1010));
        assert_eq!(w.start(at(600)), at(1000));
        assert_eq!(w.transmit(at(1000), 1000).arrives, at(1101));
        assert_eq!(w.told_rate(at(499)), Some(BitRate::from_bps(8_000)));
        assert_eq!(w.told_rate(at(500)), Some(BitRate::from_bps(80_000)));
    }

    /// At 80 kbit/s a packet of 1000 bytes takes 100 ms.
    #[test]
    fn nothing_is_sent_while_the_rate_is_zero() {
        let (none, some) = (BitRate::from_bps(0), BitRate::from_bps(80_000));
        let changes = vec![(at(50), none), (at(60), none), (at(500), some), (at(550), none)];
        let delay = Schedule::changing(Duration::from_millis(10), vec![(at(450), Duration::from_millis(1))]);
        let mut w = Wire::new(&spec(Schedule::changing(some, changes), delay, 0.0), Seed(1), 0);
        // One is on its way when the outage begins, the next waits for the end of it, and takes the delay
        // of then.
        let flight = |start, arrives| Flight { start, arrives, lost: false, copied: false };
        assert_eq!(w.transmit(at(0), 1000), flight(at(0), at(110)));
        assert_eq!(w.transmit(at(100), 1000), flight(at(500), at(601)));
        assert_eq!(w.told_rate(at(100)), Some(some));
        assert_eq!(w.told_rate(at(1000)), Some(some));
        // The last outage has no end.
        assert!(w.transmit(at(600), 1000).start >= Time::ZERO + Transmitter::LONGEST);
        assert!(w.transmit(w.start(at(700)), 1000).start >= Time::ZERO + Transmitter::LONGEST);
        // Nor has one that only repeats.
        let zero = Changes::every(Duration::from_millis(9), vec![(at(5), none), (at(7), none)]);
        let constant = Schedule::constant(Duration::ZERO);
        let mut w = Wire::new(&spec(Schedule::changing(some, zero), constant, 0.0), Seed(1), 0);
        assert_eq!(w.transmit(at(0), 1000), flight(at(0), at(100)));
        assert!(w.transmit(at(100), 1000).start >= Time::ZERO + Transmitter::LONGEST);
        assert!(w.transmit(w.start(at(200)), 1000).start >= Time::ZERO + Transmitter::LONGEST);
    }

    /// A busy link sends what its rate says, to the nanosecond, however odd the rate.
    #[test]
    fn transmissions_add_up_to_the_rate() {
        for (bps, bytes) in [(90_000_000, 500), (155_520_000, 1500), (7_777_777, 40), (1, 1000)] {
            let rate = BitRate::from_bps(bps);
            let s = spec(Schedule::constant(rate), Schedule::constant(Duration::ZERO), 0.0);
            let mut w = Wire::new(&s, Seed(1), 0);
            for sent in 1..=1000u64 {
                w.transmit(w.busy_until, bytes);
                let exact = rate.transmission_time(Bytes::new(sent * u64::from(bytes)));
                let error = w.busy_until.nanos().abs_diff(exact.nanos());
                assert!(error <= 1, "{sent} packets at {rate}: {error} ns");
            }
        }
    }

    #[test]
    fn losses_come_at_their_rate() {
        let s = spec(
            Schedule::constant(BitRate::from_bps(1_000_000_000)),
            Schedule::constant(Duration::ZERO),
            0.05,
        );
        let mut w = Wire::new(&s, Seed(3), 0);
        let lost = (0..100_000).filter(|_| w.transmit(w.busy_until, 100).lost).count();
        assert!((4_700..5_300).contains(&lost), "{lost}");
    }
}
