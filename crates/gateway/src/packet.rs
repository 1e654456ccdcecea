//! A packet that a gateway holds.

use quell_aqm::{Ecn, FlowId, Hosts, Transport};
use quell_units::Bytes;

use crate::header::Header;

/// A queue's knowledge of a packet, and the place of its bytes.
///
/// The bytes themselves are with the [ports](crate::Ports) that received them, or with the kernel, or nowhere
/// in a replay: a mark is only noted here and written when the packet leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// The owner's handle: a slot of a pool, or the kernel's number for it.
    pub handle: u32,
    /// The owner's note: the firewall's mark that it came with, or nothing.
    pub kept: u32,
    /// Its number among the arrivals at its line, from zero; wraps.
    pub number: u32,
    /// Its size on the wire.
    pub bytes: u32,
    /// The contents of its header.
    pub header: Header,
    /// It was marked here: its ECN field becomes CE when it leaves.
    pub marked: bool,
    /// What chooses its delay among those of the path and its class: on a wire the low 16 bits of its source address, on a
    /// router those of the firewall's mark.
    pub tag: u16,
    /// The lane of its queue in which it waits; 0 where there is one.
    pub lane: u16,
}

impl Packet {
    /// A packet that has just arrived.
    pub fn new(handle: u32, bytes: u32, header: Header) -> Self {
        Packet { handle, kept: 0, number: 0, bytes, header, marked: false, tag: 0, lane: 0 }
    }
}

impl quell_queue::Packet for Packet {
    #[inline]
    fn bytes(&self) -> Bytes {
        Bytes::new(u64::from(self.bytes))
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        self.header.ecn
    }
    #[inline]
    fn set_ce(&mut self) {
        self.marked |= self.header.ecn != Ecn::Ce;
        self.header.ecn = Ecn::Ce;
    }
    #[inline]
    fn flow(&self) -> FlowId {
        self.header.flow
    }
    #[inline]
    fn is_syn(&self) -> bool {
        self.header.syn
    }
    #[inline]
    fn dscp(&self) -> u8 {
        self.header.dscp
    }
    #[inline]
    fn mark(&self) -> u32 {
        u32::from(self.tag)
    }
    #[inline]
    fn transport(&self) -> Transport {
        self.header.transport
    }
    #[inline]
    fn hosts(&self) -> Hosts {
        self.header.hosts
    }
    #[inline]
    fn set_lane(&mut self, lane: usize) {
        self.lane = u16::try_from(lane).unwrap_or(u16::MAX);
    }
}
