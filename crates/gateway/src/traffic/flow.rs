//! A flow across a wire: what drives it, and what came of it.

use quell_units::{Duration, Time};

use crate::wire::Side;

/// A flow and what drives it.
pub struct Flow {
    /// The host that sends data.
    pub from: Side,
    /// Its beginning, counted from that of all traffic.
    pub start: Duration,
    /// The time from which it sends nothing new.
    pub stop: Duration,
    /// The DSCP, 0 to 63.
    pub dscp: u8,
    /// Its transport and application.
    pub kind: Kind,
}

/// A flow's transport and what is sent through it.
pub enum Kind {
    /// TCP.
    Tcp {
        /// The connections.
        tcp: Tcp,
        /// It asks for ECN, whether its host does or not.
        ecn: bool,
        /// The application.
        app: App,
    },
    /// UDP datagrams: their sizes with IP's header, and the gaps after them.
    Udp {
        /// Sizes and gaps.
        datagrams: Draw,
        /// They claim to be ECN-capable.
        ecn: bool,
    },
}

/// The options of a flow's TCP connections.
#[derive(Clone, Debug)]
pub struct Tcp {
    /// The congestion control, as the kernel names it.
    pub congestion: String,
    /// The largest segment's data in bytes, without TCP's options.
    pub segment: u16,
}

/// An application on TCP. Its laws are the caller's, who draws what comes next.
pub enum App {
    /// Data without end.
    Bulk,
    /// Data that a source hands over by its own clock: sizes, and the gaps after them.
    Paced(Draw),
    /// Transfers, one after the other.
    Transfers {
        /// Draws them.
        draw: Transfers,
        /// Each opens a connection of its own.
        fresh: bool,
        /// The receiver asks for each of them: it opens the connection, sends a request, and thinks when it has all of
        /// the reply.
        asked: bool,
    },
}

/// Draws the next size in bytes and the time until the one after.
pub type Draw = Box<dyn FnMut() -> (u64, Duration) + Send>;

/// Draws the next transfer; `None` after the last.
pub type Transfers = Box<dyn FnMut() -> Option<Transfer> + Send>;

/// A transfer that is to be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transfer {
    /// Its size in bytes, without headers.
    pub bytes: u64,
    /// The size of the request for it, without headers; 0 where nobody asks.
    pub request: u64,
    /// The time to think after it.
    pub think: Duration,
}

/// A transfer of which all has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transferred {
    /// The flow's index.
    pub flow: usize,
    /// The time at which it was given to TCP, by the wire's clock; of a connection of its own, before that was opened.
    pub start: Time,
    /// The time at which its receiver had all of it.
    pub end: Time,
    /// The time at which its sender knew that; `None` if it was asked for, where the client alone is watched.
    pub acknowledged: Option<Time>,
    /// Its size.
    pub bytes: u64,
}

/// The first flow's address; lower ones are the hosts' own.
pub(super) const FIRST: u16 = 16;
/// The most flows: one for each address.
pub const MOST_FLOWS: usize = u16::MAX as usize - FIRST as usize;

/// The number by which a path's delays and addresses know flow `index`.
pub fn address(index: usize) -> u16 {
    FIRST + index as u16
}
