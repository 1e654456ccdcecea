//! The state of a sender as others may look at it: for traces, not for decisions.

use quell_units::Duration;

use super::{Phase, Sender};
use crate::congestion::contract::Cause;
use crate::params::Config;
use crate::recovery::repair::Repair;

/// The phase of a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SenderPhase {
    /// The SYN has not been acknowledged.
    Handshake,
    /// The window is below its threshold.
    SlowStart,
    /// The window is not below its threshold.
    CongestionAvoidance,
    /// Losses that acknowledgments found are being repaired.
    Recovery,
    /// Losses that the retransmission timer found are being repaired.
    Loss,
    /// A state of the congestion control's own, such as those of BBR, while no loss is being repaired.
    Own(&'static str),
}

impl SenderPhase {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            SenderPhase::Handshake => "handshake",
            SenderPhase::SlowStart => "slow start",
            SenderPhase::CongestionAvoidance => "congestion avoidance",
            SenderPhase::Recovery => "recovery",
            SenderPhase::Loss => "loss",
            SenderPhase::Own(name) => name,
        }
    }
}

/// The state of a sender at one instant. What it does not have, or does not know yet, is `None`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderState {
    /// The congestion window in packets; what recovery adds to it is not in it.
    pub cwnd: f64,
    /// The threshold of slow start in packets; `None` while there is no limit.
    pub ssthresh: Option<f64>,
    /// The smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// The retransmission timeout.
    pub rto: Duration,
    /// The rate at which packets are released, in packets per second; `None` for a sender that does not pace.
    pub pacing: Option<f64>,
    /// The packets that it holds to be on their way.
    pub in_flight: u32,
    /// The bandwidth of a model of the path in packets per second; `None` without a model.
    pub delivery: Option<f64>,
    /// The phase.
    pub phase: SenderPhase,
    /// Packets of this connection that it knows to have arrived.
    pub delivered: u32,
}

impl Sender {
    /// Its state now.
    pub fn state(&self, cfg: &Config) -> SenderState {
        let modern = self.modern.as_deref();
        let known = |x: f64| (x.is_finite() && x > 0.0).then_some(x);
        let srtt = self.rtt.smoothed(cfg);
        let pacer = modern.and_then(|m| m.release.pacer()).filter(|_| cfg.pacing);
        SenderState {
            cwnd: self.window.cwnd,
            ssthresh: Some(self.window.ssthresh).filter(|limit| *limit < cfg.max_window),
            srtt: (!srtt.is_zero()).then_some(srtt),
            rto: self.rto(),
            pacing: pacer.and_then(|pacer| known(pacer.rate())),
            in_flight: self.in_flight(cfg),
            delivery: modern.and_then(|m| m.control.bandwidth()).and_then(known),
            phase: self.phase(modern.and_then(|m| m.control.state())),
            delivered: self.una - 1 + self.repair.sacked(),
        }
    }

    fn phase(&self, own: Option<&'static str>) -> SenderPhase {
        let repairs_timeout = self.reduced_by == Cause::Timeout && self.una < self.recover;
        match self.phase {
            Phase::Handshake => SenderPhase::Handshake,
            _ if repairs_timeout => SenderPhase::Loss,
            Phase::Recovery => SenderPhase::Recovery,
            Phase::Open => match own {
                Some(name) => SenderPhase::Own(name),
                None if self.window.cwnd < self.window.ssthresh => SenderPhase::SlowStart,
                None => SenderPhase::CongestionAvoidance,
            },
        }
    }

    /// The packets that it holds to be on their way.
    fn in_flight(&self, cfg: &Config) -> u32 {
        match (&self.repair, self.repair.board()) {
            (Repair::Rack(by_time), _) => by_time.rack.flying(),
            // The scoreboard hears of acknowledgments when there is something to repair.
            (_, Some(board)) if self.phase == Phase::Recovery => board.pipe(self.max, cfg.dup_threshold),
            // What a timeout takes for lost is sent from `next` on.
            _ => self.next.saturating_sub(self.una).saturating_sub(self.repair.sacked()),
        }
    }
}
