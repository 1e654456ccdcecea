//! The laws of sources and applications: when they send and how much, what they ask for, and how long they think. They
//! know no flow and no link, so that real hosts obey the same ones.

use quell_aqm::Rng;
use quell_units::{BitRate, Duration, Time};

use crate::network::{ACK_BYTES, Distribution, Pace};

/// The transfers of an application, drawn one by one, and the times to think between them.
#[derive(Clone, Debug)]
pub struct Transfers {
    size: Distribution,
    think: Distribution,
    request: Option<Distribution>,
    /// How many are still to begin; `None` for no end.
    left: Option<u32>,
    rng: Rng,
}

impl Transfers {
    /// The law of `count` transfers, or of transfers without end: their sizes, the times to think after them, and the
    /// sizes of the requests for them if somebody asks.
    pub fn new(
        (size, think): (Distribution, Distribution),
        request: Option<Distribution>,
        count: Option<u32>,
        rng: Rng,
    ) -> Self {
        Transfers { size, think, request, left: count, rng }
    }

    /// Draws the next transfer in packets, and the request for it in bytes (0 if nobody asks); `None` after the last.
    #[allow(clippy::should_implement_trait)]
    pub fn next(&mut self) -> Option<(u32, u16)> {
        self.left = match self.left {
            Some(left) => Some(left.checked_sub(1)?),
            None => None,
        };
        let packets = whole_packets(&self.size, &mut self.rng);
        Some((packets, self.request.map_or(0, |size| whole_bytes(&size, &mut self.rng))))
    }

    /// Draws the time to think before the next transfer; `None` after the last.
    pub fn think(&mut self) -> Option<Duration> {
        (self.left != Some(0)).then(|| time_to_think(&self.think, &mut self.rng))
    }
}

/// Draws the size of a transfer in packets. No run is long enough for the largest number.
pub(crate) fn whole_packets(size: &Distribution, rng: &mut Rng) -> u32 {
    libm::ceil(size.draw(rng)).clamp(1.0, f64::from(u32::MAX)) as u32
}

/// Draws the size of a request in bytes.
pub(crate) fn whole_bytes(size: &Distribution, rng: &mut Rng) -> u16 {
    (size.draw(rng) + 0.5).clamp(ACK_BYTES.get() as f64, u16::MAX as f64) as u16
}

/// Draws the time to think after a transfer. Time must pass, so that zero think times cannot stall the clock.
pub(crate) fn time_to_think(think: &Distribution, rng: &mut Rng) -> Duration {
    seconds(think.draw(rng)).max(Duration::from_nanos(1))
}

/// The clock of a source, and all its chance.
#[derive(Clone, Debug)]
pub struct Clock {
    pace: Pace,
    rng: Rng,
    /// The end of the on period under way.
    on_until: Option<Time>,
    /// By how many seconds the last packet was late, with jitter.
    late: f64,
}

impl Clock {
    /// A clock that has not begun.
    pub fn new(pace: &Pace, rng: Rng) -> Self {
        Clock { pace: pace.clone(), rng, on_until: None, late: 0.0 }
    }

    /// The source's rate if it sends at `at`; if not, when to ask again ([`Time::MAX`] for never).
    pub fn rate(&mut self, at: Time) -> Result<BitRate, Time> {
        if let Some((on, off)) = self.pace.on_off {
            let until = *self.on_until.get_or_insert_with(|| at + seconds(on.draw(&mut self.rng)));
            if at >= until {
                self.on_until = None;
                let off = seconds(off.draw(&mut self.rng));
                return Err(until + off.max(at - until + Duration::from_nanos(1)));
            }
        }
        let rate = self.pace.rate.at(at);
        // Silent until the rate changes.
        if rate.bps() == 0 { Err(self.pace.rate.next_change(at)) } else { Ok(rate) }
    }

    /// Draws the size of a packet in bytes.
    pub fn bytes(&mut self, size: &Distribution) -> u16 {
        (size.draw(&mut self.rng) + 0.5).clamp(1.0, u16::MAX as f64) as u16
    }

    /// The time of the next packet after one of so many bytes at `at`, where the mean is the second number.
    pub fn after(&mut self, at: Time, rate: BitRate, bytes: (f64, f64)) -> Time {
        let gap = self.pace.gaps.draw(bytes, rate, &mut self.late, &mut self.rng);
        at + seconds(gap).max(Duration::from_nanos(1))
    }
}

fn seconds(x: f64) -> Duration {
    Duration::from_secs_f64(x)
}
