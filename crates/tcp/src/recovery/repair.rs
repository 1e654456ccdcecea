//! The ways in which a sender finds and repairs losses, each with what it keeps for that.

use alloc::boxed::Box;

use quell_units::{Duration, Time};

use super::prr::Prr;
use super::rack::Rack;
use crate::choices::Recovery;
use crate::congestion::contract::Window;
use crate::scoreboard::Scoreboard;

/// The way in which losses are found and repaired.
#[derive(Clone, Debug)]
pub(crate) enum Repair {
    /// Losses are found by duplicates.
    Duplicates,
    /// Losses are found by selective acknowledgments (RFC 6675).
    Sack(Box<Scoreboard>),
    /// The same, and the window falls in proportion to what arrives (RFC 9937).
    Prr(Box<(Scoreboard, Proportional)>),
    /// Losses are found by time (RFC 8985), and the window falls so.
    Rack(Box<ByTime>),
}

/// A window that falls in proportion to what arrives.
#[derive(Clone, Debug, Default)]
pub(crate) struct Proportional {
    pub prr: Prr,
    /// It falls over a round trip because of a mark, until an acknowledgment beyond [`Sender`](crate::Sender)'s
    /// `recover`.
    pub falling: bool,
    /// The first packet outstanding when the retransmission timer ran out last.
    pub timed_out_at: u32,
}

/// Losses that are found by time.
#[derive(Clone, Debug)]
pub(crate) struct ByTime {
    pub fall: Proportional,
    pub rack: Rack,
    pub undo: Option<Undo>,
    pub timeout: Timeout,
    /// The number of packets that the last look for losses found.
    pub lost: u32,
    /// Losses were being repaired after the last acknowledgment.
    pub repaired: bool,
}

/// What may show that a timeout was not needed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeout {
    /// The time at which the first packet outstanding was sent first; zero if that is not known.
    pub head_sent: Time,
    /// Packets sent once that arrive undo it (RFC 5682).
    pub frto: bool,
    /// New packets go before lost ones until the next acknowledgment, and one has gone.
    pub new_first: bool,
    pub new_went: bool,
    /// The first packet that the acknowledgment under way delivers and that was sent once.
    pub once: u32,
    /// The round-trip time of the first packet that it delivers, since that was sent last.
    pub rtt: Duration,
}

impl Timeout {
    pub const NONE: Timeout = Timeout {
        head_sent: Time::ZERO,
        frto: false,
        new_first: false,
        new_went: false,
        once: u32::MAX,
        rtt: Duration::ZERO,
    };
}

/// The state that a recovery gives back that was not needed (RFC 9438 section 4.9).
#[derive(Clone, Debug)]
pub(crate) struct Undo {
    pub window: Window,
    /// The window comes back: no mark was echoed since.
    pub restores: bool,
    /// The first packet outstanding when it began, and one past the last one.
    pub from: u32,
    pub end: u32,
    /// Retransmissions of which the receiver has not said that they came twice.
    pub needed: u32,
}

impl Repair {
    pub fn new(recovery: Recovery) -> Self {
        match recovery {
            Recovery::Tahoe | Recovery::Reno | Recovery::NewReno => Repair::Duplicates,
            Recovery::Sack => Repair::Sack(Box::default()),
            Recovery::Prr => Repair::Prr(Box::default()),
            Recovery::Rack => Repair::Rack(Box::new(ByTime::new(Rack::new()))),
        }
    }

    /// Takes what a new connection keeps: the memory.
    pub fn take(&mut self) -> Self {
        let mut kept = core::mem::replace(self, Repair::Duplicates);
        match &mut kept {
            Repair::Duplicates => {}
            Repair::Sack(board) => board.clear(),
            Repair::Prr(by_sack) => {
                let (board, fall) = &mut **by_sack;
                board.clear();
                *fall = Proportional::default();
            }
            Repair::Rack(by_time) => {
                by_time.rack.clear();
                **by_time = ByTime::new(core::mem::replace(&mut by_time.rack, Rack::new()));
            }
        }
        kept
    }

    /// The scoreboard of packets beyond the cumulative acknowledgment, unless they are found by time.
    #[inline(always)]
    pub fn board(&self) -> Option<&Scoreboard> {
        match self {
            Repair::Duplicates | Repair::Rack(_) => None,
            Repair::Sack(board) => Some(board),
            Repair::Prr(by_sack) => Some(&by_sack.0),
        }
    }

    #[inline(always)]
    pub fn board_mut(&mut self) -> Option<&mut Scoreboard> {
        match self {
            Repair::Duplicates | Repair::Rack(_) => None,
            Repair::Sack(board) => Some(board),
            Repair::Prr(by_sack) => Some(&mut by_sack.0),
        }
    }

    /// The number of packets beyond the cumulative acknowledgment that are known to have arrived.
    #[inline(always)]
    pub fn sacked(&self) -> u32 {
        match self {
            Repair::Rack(by_time) => by_time.rack.sacked(),
            _ => self.board().map_or(0, Scoreboard::count),
        }
    }

    #[inline(always)]
    pub fn fall(&self) -> Option<&Proportional> {
        match self {
            Repair::Duplicates | Repair::Sack(_) => None,
            Repair::Prr(by_sack) => Some(&by_sack.1),
            Repair::Rack(by_time) => Some(&by_time.fall),
        }
    }

    #[inline(always)]
    pub fn fall_mut(&mut self) -> Option<&mut Proportional> {
        match self {
            Repair::Duplicates | Repair::Sack(_) => None,
            Repair::Prr(by_sack) => Some(&mut by_sack.1),
            Repair::Rack(by_time) => Some(&mut by_time.fall),
        }
    }

    /// Returns whether the window falls because of a mark.
    pub fn falls(&self) -> bool {
        self.fall().is_some_and(|fall| fall.falling)
    }

    #[inline(always)]
    pub fn by_time(&mut self) -> Option<&mut ByTime> {
        match self {
            Repair::Rack(by_time) => Some(by_time),
            _ => None,
        }
    }

    /// Forgets what would undo a reduction.
    pub fn forget_undo(&mut self) {
        if let Some(by_time) = self.by_time() {
            by_time.undo = None;
        }
    }

    /// The time at which the first of its timers runs out, other than the retransmission timer.
    #[inline(always)]
    pub fn due(&self) -> Time {
        match self {
            Repair::Rack(by_time) => by_time.rack.due.min(by_time.rack.tlp.due),
            _ => Time::MAX,
        }
    }

    /// Returns whether nothing of it has a say in what an acknowledgment of new packets does.
    pub fn is_idle(&self) -> bool {
        let rack = match self {
            Repair::Rack(by_time) => !by_time.repaired && by_time.rack.is_in_order(),
            _ => true,
        };
        rack && !self.falls() && self.sacked() == 0
    }

    /// The round-trip time is this after acknowledgments that only [`Rack::deliver_first`] has seen.
    pub fn set_window_in_order(&mut self, srtt: Option<Duration>) {
        if let Some(by_time) = self.by_time() {
            by_time.rack.set_window_in_order(srtt);
        }
    }
}

impl ByTime {
    fn new(rack: Rack) -> Self {
        ByTime {
            fall: Proportional::default(),
            rack,
            undo: None,
            timeout: Timeout::NONE,
            lost: 0,
            repaired: false,
        }
    }
}
