//! Algorithms for several queues in one buffer.

use quell_units::Time;

use crate::{PacketMeta, QueueView};

/// The part of an algorithm that divides a buffer and a link among several FIFOs, its lanes.
///
/// A host with lanes keeps the promises on [`Aqm`](crate::Aqm) with these additions:
/// - every arrival comes to [`Lanes::join`] right before `on_enqueue`;
/// - the buffer is full when all lanes together fill it;
/// - [`Lanes::next`] comes right before each `on_dequeue`;
/// - `cx.queue` is the packet's lane in `on_enqueue`, `on_overflow` and `on_dequeue`;
/// - lane 0 is the one that is managed: `cx.queue` is lane 0 in `on_update`, and `on_idle` comes when
///   lane 0 is empty and none of its packets is in transmission, whatever the other lanes do.
///
/// A host with a single FIFO does not call what is here, and has what the algorithm does in lane 0.
pub trait Lanes {
    /// How many lanes there are; at least one, and always the same.
    fn count(&self) -> usize;
    /// A packet arrives: the lane that it is to wait in, if it is kept.
    fn join(&mut self, now: Time, pkt: &PacketMeta, transport: Transport) -> usize;
    /// The link is free: the lane whose head it takes next. `waiting` shows every lane; the one that
    /// is named must not be empty, and not all are.
    fn next(&mut self, now: Time, waiting: &[QueueView]) -> usize;
}

/// The protocol a packet belongs to, which its IP header names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Transport {
    /// TCP, whose senders slow down when congestion is signalled.
    #[default]
    Tcp,
    /// UDP.
    Udp,
}
