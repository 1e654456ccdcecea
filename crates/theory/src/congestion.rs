//! How windows move: the law of each congestion control.

use crate::error::{TheoryError, positive};

/// How a TCP sender's window moves: `W' = increase/R - W W_R p_R/(decrease R_R)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tcp {
    /// Packets that the window gains per round trip: 1, or 1/2 where every second packet is
    /// acknowledged.
    pub increase: f64,
    /// The constant a: a signal takes `W/a`.
    pub decrease: f64,
}

impl Tcp {
    /// a = 3/2, with which `W = sqrt(3/(2p))`, as a sawtooth has it (Park et al. 2004, eq. 6, 13).
    pub const SAWTOOTH: Tcp = Tcp { increase: 1.0, decrease: 1.5 };
    /// a = 2, with which `W = sqrt(2/p)` (Misra et al. 2000; Chen 2010, eq. 4.1).
    pub const HALVING: Tcp = Tcp { increase: 1.0, decrease: 2.0 };

    /// `W^2 p` at equilibrium.
    pub fn product(&self) -> f64 {
        self.increase * self.decrease
    }
}

/// The law of the senders' windows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Congestion {
    /// A packet more each round trip, and a share of the window less for each signal.
    Reno(Tcp),
}

impl Congestion {
    /// Refuses a law with a constant that is not physical.
    pub(crate) fn check(&self) -> Result<(), TheoryError> {
        let Congestion::Reno(tcp) = self;
        positive("increase of the window", tcp.increase, "packets per round trip")?;
        positive("decrease constant a", tcp.decrease, "")
    }
}

impl From<Tcp> for Congestion {
    fn from(tcp: Tcp) -> Self {
        Congestion::Reno(tcp)
    }
}
