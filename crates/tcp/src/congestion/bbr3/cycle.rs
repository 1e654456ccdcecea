//! The state of the probes of the bandwidth.

use quell_units::{Duration, Time};

/// BBR.bw_probe_up_rounds grows to this.
const MAX_UP_ROUNDS: u32 = 30;

/// The probe to which the acknowledgments belong that come now (BBR.ack_phase).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPhase {
    Init,
    Refilling,
    Starting,
    Feedback,
    Stopping,
}

/// A cycle of ProbeBW.
#[derive(Clone, Debug)]
pub struct Cycle {
    pub phase: AckPhase,
    /// The time since which it waits for the next probe, the length of the wait, and the round trips since.
    pub stamp: Time,
    pub wait: Duration,
    pub rounds: u64,
    /// BBR.bw_probe_samples.
    pub samples: bool,
    /// BBR.prev_probe_too_high and BBR.prev_probe_precautionary.
    pub too_high: bool,
    pub precautionary: bool,
    pub slope: Slope,
}

impl Cycle {
    pub fn new() -> Self {
        Cycle {
            phase: AckPhase::Init,
            stamp: Time::ZERO,
            wait: Duration::ZERO,
            rounds: 0,
            samples: false,
            too_high: false,
            precautionary: false,
            slope: Slope { count: f64::INFINITY, acks: 0.0, rounds: 0 },
        }
    }
}

/// The slope at which a probe raises the bound of what may be in flight.
#[derive(Clone, Debug)]
pub struct Slope {
    /// BBR.probe_up_cnt: by a packet for so many that are acknowledged.
    pub count: f64,
    pub acks: f64,
    pub rounds: u32,
}

impl Slope {
    /// RaiseInflightLongtermSlope().
    pub fn raise(&mut self, cwnd: f64) {
        let growth = (1u64 << self.rounds) as f64;
        self.rounds = (self.rounds + 1).min(MAX_UP_ROUNDS);
        self.count = (cwnd / growth).max(1.0);
    }
}
