//! Anomalies, with hysteresis: each is raised at one threshold and cleared at a lower one, and both must
//! have been passed for some time, so that a figure at the edge is not a storm of events (RFC 9332 section 2.5.2).

use core::fmt;

use quell_units::Duration;
use serde::{Deserialize, Serialize};

/// The kinds of anomalies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// More is dropped for want of room than an algorithm that works leaves to the buffer.
    Overflow,
    /// Packets wait long.
    Delay,
    /// Packets leave later than their transmission ends: the machine is too busy.
    Lateness,
    /// The kernel drops packets that the algorithm never sees.
    KernelDrops,
    /// Packets pass around the gateway.
    Bypass,
    /// The device is not there.
    DeviceGone,
    /// The log ended before the gateway did.
    LogEnded,
    /// The worker publishes nothing: it hangs or is stopped.
    Stalled,
}

impl Kind {
    /// Those of a line.
    pub const OF_LINE: [Kind; 3] = [Kind::Overflow, Kind::Delay, Kind::Lateness];
    /// Those of the gateway as a whole.
    pub const OF_ALL: [Kind; 5] =
        [Kind::KernelDrops, Kind::Bypass, Kind::DeviceGone, Kind::LogEnded, Kind::Stalled];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Overflow => "overflow",
            Kind::Delay => "delay",
            Kind::Lateness => "lateness",
            Kind::KernelDrops => "kernel-drops",
            Kind::Bypass => "bypass",
            Kind::DeviceGone => "device-gone",
            Kind::LogEnded => "log-ended",
            Kind::Stalled => "stalled",
        }
    }

    /// Its meaning, and what helps.
    pub fn says(self) -> &'static str {
        match self {
            Kind::Overflow => "the buffer overflows: more packets arrive than the algorithm can control",
            Kind::Delay => "packets wait long",
            Kind::Lateness => "packets leave late: the machine is too busy for this rate",
            Kind::KernelDrops => "the kernel drops packets that the algorithm never sees",
            Kind::Bypass => {
                "packets bypass the gateway: the kernel's queue was full, nobody read it, or rules were missing"
            }
            Kind::DeviceGone => "the device is not there: Quell waits for it",
            Kind::LogEnded => "the log has ended: packets are forwarded, but not recorded",
            Kind::Stalled => "the worker does not answer",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The thresholds at which anomalies are raised and cleared. Of a pair the first raises and the second clears.
#[derive(Clone, Debug, PartialEq)]
pub struct Thresholds {
    /// The share of arrivals that is dropped for want of room.
    pub overflow: [f64; 2],
    /// The 99th percentile of the delay.
    pub delay: [Duration; 2],
    /// The 99th percentile of the lateness.
    pub lateness: [Duration; 2],
    /// The time for which the first must have been passed.
    pub raise: Duration,
    /// The time for which the figure must have been below the second.
    pub clear: Duration,
    /// The time for which the worker may publish nothing.
    pub stalled: Duration,
}

impl Default for Thresholds {
    fn default() -> Self {
        Thresholds {
            overflow: [0.05, 0.01],
            delay: [Duration::from_millis(200), Duration::from_millis(100)],
            lateness: [Duration::from_millis(1), Duration::from_micros(500)],
            raise: Duration::from_secs(3),
            clear: Duration::from_secs(10),
            stalled: Duration::from_secs(2),
        }
    }
}

/// The place of a figure relative to its thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// It is above what raises.
    Above,
    /// It is between the two: nothing changes.
    Between,
    /// It is below what clears.
    Below,
}

impl Level {
    /// The place of `x`; what could not be measured is below.
    pub fn of<T: PartialOrd>(x: Option<T>, [raise, clear]: [T; 2]) -> Level {
        match x {
            Some(x) if x > raise => Level::Above,
            Some(x) if x >= clear => Level::Between,
            _ => Level::Below,
        }
    }
}

/// An anomaly that holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Anomaly {
    /// The kind.
    pub kind: Kind,
    /// The line, if it is one line's.
    pub direction: Option<String>,
    /// Its beginning, in seconds since 1970.
    pub since_unix_s: u64,
    /// The anomaly in words.
    pub says: String,
}

/// A count of one anomaly.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Raised {
    /// The kind.
    pub kind: Kind,
    /// The line, if it is one line's.
    pub direction: Option<String>,
    /// The number of times since the gateway began.
    pub times: u64,
}

/// An anomaly was raised or cleared.
#[derive(Clone, Debug, PartialEq)]
pub struct Notice {
    /// The kind.
    pub kind: Kind,
    /// The line, if it is one line's.
    pub direction: Option<String>,
    /// Raised; otherwise cleared.
    pub raised: bool,
}

impl fmt::Display for Notice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let line = self.direction.as_deref().map(|d| format!("{d}: ")).unwrap_or_default();
        match self.raised {
            true => write!(f, "{line}{} ({})", self.kind.says(), self.kind),
            false => write!(f, "{line}{}: over", self.kind),
        }
    }
}

/// One anomaly's memory.
#[derive(Clone, Debug)]
pub(super) struct Latch {
    pub kind: Kind,
    /// The time for which the figure has been where it is, and its beginning in seconds since 1970.
    above: Option<(Duration, u64)>,
    below: Duration,
    since: Option<u64>,
    pub raised: u64,
}

impl Latch {
    pub fn new(kind: Kind) -> Self {
        Latch { kind, above: None, below: Duration::ZERO, since: None, raised: 0 }
    }

    /// The time since which it holds, in seconds since 1970.
    pub fn since(&self) -> Option<u64> {
        self.since
    }

    /// The figure was at `level` for the last `step`; `unix_s` is now. Gives whether it was raised or cleared.
    pub fn step(&mut self, level: Level, step: Duration, hold: [Duration; 2], unix_s: u64) -> Option<bool> {
        match level {
            Level::Above => {
                self.below = Duration::ZERO;
                let (time, since) = self.above.unwrap_or((Duration::ZERO, unix_s));
                let time = time + step;
                self.above = Some((time, since));
                if self.since.is_none() && time >= hold[0] {
                    self.since = Some(since);
                    self.raised += 1;
                    return Some(true);
                }
            }
            Level::Between => (self.above, self.below) = (None, Duration::ZERO),
            Level::Below => {
                self.above = None;
                self.below += step;
                if self.since.is_some() && self.below >= hold[1] {
                    self.since = None;
                    return Some(false);
                }
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(levels: &[Level]) -> (Vec<Option<bool>>, Latch) {
        let mut latch = Latch::new(Kind::Delay);
        let hold = [Duration::from_secs(2), Duration::from_secs(3)];
        let steps = levels.iter().enumerate();
        let said = steps.map(|(i, l)| latch.step(*l, Duration::from_secs(1), hold, 100 + i as u64)).collect();
        (said, latch)
    }

    #[test]
    fn an_anomaly_is_raised_after_a_time_and_cleared_after_a_longer_one() {
        use Level::{Above, Below, Between};
        let (said, latch) = run(&[Above, Above, Below, Below, Below]);
        assert_eq!(said, [None, Some(true), None, None, Some(false)]);
        assert_eq!((latch.raised, latch.since()), (1, None));
        // One second above is nothing, and at the edge nothing changes.
        let (said, _) = run(&[Above, Between, Above, Below, Above]);
        assert_eq!(said, [None; 5]);
        // Neither a second above nor one between the thresholds ends well.
        let (said, latch) = run(&[Above, Above, Below, Below, Between, Below, Below, Above, Above]);
        assert_eq!(said.iter().flatten().count(), 1);
        assert_eq!((latch.raised, latch.since()), (1, Some(100)));
    }

    #[test]
    fn a_level_has_two_thresholds() {
        let at = |x| Level::of(Some(x), [0.05, 0.01]);
        assert_eq!(
            [0.06, 0.05, 0.01, 0.009].map(at),
            [Level::Above, Level::Between, Level::Between, Level::Below]
        );
        assert_eq!(Level::of(None, [1.0, 0.5]), Level::Below);
    }
}
