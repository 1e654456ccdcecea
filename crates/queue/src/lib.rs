//! Queues that own packets: where an algorithm's verdict becomes a mark or a drop.
//!
//! Both hosts use this crate. [`Gate`] is what every queue shares: it runs an algorithm's updates at
//! their own times, asks it about each packet, and turns the verdict into a mark or a drop by the
//! packet's ECN field. [`Fifo`] adds the packets; [`Parallel`] holds those of several FIFOs in one buffer
//! for a discipline; [`Queue`] is the one of the two that an algorithm needs. [`Line`] is a queue and the
//! link that serves it. [`Shaped`] puts a token [`Bucket`] in front of any queue, and [`Tree`] schedules any queues as
//! the leaves of a tree of classes. [`Cell`] serves any queues in intervals, as a base station serves its users, and
//! [`Wifi`] lets queues share a channel of IEEE 802.11. The simulator's fast engine puts its own ring of departure times
//! behind the gate.
#![no_std]
#![deny(missing_docs)]
// The same results on every platform: see clippy.toml.
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

extern crate alloc;

mod bucket;
mod cell;
mod counters;
mod fifo;
mod gate;
mod line;
mod parallel;
mod qdisc;
mod queue;
mod refused;
mod shaped;
mod tree;
mod waiting;
mod wifi;
mod wire;

pub use bucket::Bucket;
pub use cell::{Cell, Channels, Policy};
pub use counters::{Counters, Drops, Tally};
pub use fifo::Fifo;
pub use gate::{Admission, Gate, Limit};
pub use line::{CATCH_UP, Carry, Host, Line, LinkState, Sent, Transmitter};
pub use parallel::Parallel;
pub use qdisc::{Dequeued, DropPoint, Dropped, Qdisc};
pub use queue::Queue;
pub use refused::Refused;
pub use shaped::{Peak, Shaped, Shaper};
pub use tree::{Class, Classifier, Classify, Limits, Match, Plan, Table, Tree, usual_quantum};
pub use waiting::Waiting;
pub use wifi::{AccessPoint, Aggregation, Channel, Contention, Frames, MOST_STATIONS, Station, Usage, Wifi};
pub use wire::{
    Changes, Deviation, Flight, GilbertElliott, Impaired, Impairments, Jitter, Loss, Schedule, ToCome,
};

use quell_aqm::{Acknowledgment, Ecn, FlowId, Hosts, Transport};
use quell_units::Bytes;

/// A packet as a queue sees it: what it needs to know, and the one thing that it may change.
pub trait Packet {
    /// Its size on the wire.
    fn bytes(&self) -> Bytes;
    /// Its ECN field.
    fn ecn(&self) -> Ecn;
    /// Marks it: congestion experienced (RFC 3168).
    fn set_ce(&mut self);
    /// The flow it belongs to.
    fn flow(&self) -> FlowId;
    /// Says whether it opens a TCP connection (a SYN); false of packets that are never asked.
    #[inline]
    fn is_syn(&self) -> bool {
        false
    }
    /// Its DSCP, 0 to 63; 0 where packets have none.
    fn dscp(&self) -> u8 {
        0
    }
    /// Sets its DSCP to 0, where its owner can.
    #[inline]
    fn wash(&mut self) {}
    /// The hosts between which it travels; nobody knows unless its owner does.
    #[inline]
    fn hosts(&self) -> Hosts {
        Hosts::default()
    }
    /// The number of the group of flows it belongs to; 0 where there are no groups.
    #[inline]
    fn group(&self) -> u32 {
        0
    }
    /// Its mark, as a firewall sets one (`fwmark`); 0 where it has none.
    #[inline]
    fn mark(&self) -> u32 {
        0
    }
    /// What it acknowledges; `None` of what does not, and where nobody looks.
    fn acknowledgment(&self) -> Option<Acknowledgment> {
        None
    }
    /// It waits, or would have waited, in this lane of a discipline.
    #[inline]
    fn set_lane(&mut self, lane: usize) {
        let _ = lane;
    }
    /// The protocol it belongs to; TCP unless its owner knows better.
    fn transport(&self) -> Transport {
        Transport::Tcp
    }
}
