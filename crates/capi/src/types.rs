//! The codes and structures of `quell.h`, and a packet of the caller's.

use std::ffi::{c_char, c_void};

use quell_aqm::{Ecn, FlowId, Transport};
use quell_queue::Packet;
use quell_units::Bytes;

/// The arrival waits in the queue.
pub const QUELL_QUEUED: i32 = 0;
/// The arrival waits in the queue, and its ECN field must become CE; quell_sent says so again.
pub const QUELL_MARKED: i32 = 1;
/// The arrival is dropped: it is the caller's again, and on_drop is not called for it.
pub const QUELL_DROPPED: i32 = 2;
/// quell_dequeue gave a packet.
pub const QUELL_SENT: i32 = 0;
/// Nothing waits.
pub const QUELL_EMPTY: i32 = 1;
/// Something waits, but nothing may be sent before not_before unless another packet arrives.
pub const QUELL_WAIT: i32 = 2;
/// Done.
pub const QUELL_OK: i32 = 0;
/// A pointer is null that must not be.
pub const QUELL_ERROR_NULL: i32 = -1;
/// A value is outside its range.
pub const QUELL_ERROR_VALUE: i32 = -2;
/// The time is before that of an earlier call, or more than an hour after an update that is due: call
/// quell_update with times in between.
pub const QUELL_ERROR_TIME: i32 = -3;
/// The configuration breaks a rule, which the text names.
pub const QUELL_ERROR_CONFIG: i32 = -4;
/// A callback called a function of its own queue.
pub const QUELL_ERROR_BUSY: i32 = -5;
/// A defect of Quell: the queue decides nothing any more, and can only be destroyed.
pub const QUELL_ERROR_DEFECT: i32 = -6;

/// Dropped by chance, to slow the senders down before the queue is full.
pub const QUELL_CAUSE_EARLY: i32 = 0;
/// Dropped because a hard limit of the algorithm was passed.
pub const QUELL_CAUSE_FORCED: i32 = 1;
/// Dropped because the buffer was full.
pub const QUELL_CAUSE_OVERFLOW: i32 = 2;
/// Still in a queue that was destroyed.
pub const QUELL_CAUSE_DESTROYED: i32 = 3;

/// No time: nothing is due.
pub const QUELL_NEVER: u64 = u64::MAX;

/// A packet, as far as Quell may know it.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct QuellPacket {
    /// Its size on the wire in bytes: smallest_packet to 65535.
    pub bytes: u32,
    /// Its flow: any number that packets of one flow share, such as a hash of addresses and ports.
    pub flow: u32,
    /// The ECN field of its IP header: 0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE.
    pub ecn: u8,
    /// The protocol of its IP header: 6 TCP, 17 UDP.
    pub protocol: u8,
    /// The DSCP of its IP header, 0 to 63.
    pub dscp: u8,
    /// 1 if it is a TCP SYN; 0 otherwise, and where nobody looks.
    pub syn: u8,
}

/// The result of quell_dequeue.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuellSent {
    /// The packet's handle, with QUELL_SENT.
    pub handle: u64,
    /// The time at which it arrived, with QUELL_SENT.
    pub arrived: u64,
    /// The time at which to ask again, with QUELL_WAIT.
    pub not_before: u64,
    /// 1 if its ECN field must say CE and did not when it arrived, with QUELL_SENT.
    pub marked: i32,
}

/// A number of packets and their bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuellTally {
    /// Packets.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Counts of what happened at a queue (RFC 9332 section 2.5.2.2): arrived = enqueued + the refused ones, and
/// enqueued = departed + the dropped ones + what waits.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QuellCounters {
    /// Packets that came.
    pub arrived: QuellTally,
    /// Packets among them that were CE already.
    pub arrived_ce: QuellTally,
    /// Packets that were stored.
    pub enqueued: QuellTally,
    /// Packets that left for the link.
    pub departed: QuellTally,
    /// Packets that were marked here.
    pub marked: QuellTally,
    /// Packets dropped on arrival by the algorithm, by chance.
    pub refused_early: QuellTally,
    /// Packets dropped on arrival by a hard limit of the algorithm.
    pub refused_forced: QuellTally,
    /// Packets dropped on arrival because the buffer was full.
    pub refused_overflow: QuellTally,
    /// Packets dropped at the head by the algorithm.
    pub dropped_early: QuellTally,
    /// Packets dropped at the head by a hard limit.
    pub dropped_forced: QuellTally,
    /// Packets that waited and made room for an arrival.
    pub dropped_overflow: QuellTally,
}

/// Takes back a packet that had been stored: it was dropped, or its queue destroyed. It must not call
/// functions of the same queue (QUELL_ERROR_BUSY), and must return. The cause is one of QUELL_CAUSE_*.
pub type QuellOnDrop = Option<unsafe extern "C" fn(user: *mut c_void, handle: u64, cause: i32)>;

/// Takes one internal signal of the algorithm: its name in the paper, its unit, its value. The texts live
/// until it returns.
pub type QuellOnSignal =
    Option<unsafe extern "C" fn(user: *mut c_void, name: *const c_char, unit: *const c_char, value: f64)>;

/// A packet of the caller's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Handle {
    /// The caller's name for it.
    pub handle: u64,
    flow: u32,
    bytes: u32,
    ecn: Ecn,
    transport: Transport,
    dscp: u8,
    syn: bool,
    pub(crate) marked: bool,
}

impl Handle {
    /// Reads what the caller says of a packet; `None` if a value is outside its range.
    #[inline]
    pub fn new(handle: u64, packet: &QuellPacket, smallest: u32) -> Option<Self> {
        const ECN: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
        let &QuellPacket { bytes, flow, ecn, protocol, dscp, syn } = packet;
        if bytes < smallest || bytes > 65_535 || ecn > 3 || dscp > 63 || syn > 1 {
            return None;
        }
        let transport = match protocol {
            6 => Transport::Tcp,
            17 => Transport::Udp,
            _ => Transport::Other,
        };
        let (ecn, syn) = (ECN[ecn as usize], syn == 1);
        Some(Handle { handle, flow, bytes, ecn, transport, dscp, syn, marked: false })
    }
}

impl Packet for Handle {
    #[inline]
    fn bytes(&self) -> Bytes {
        Bytes::new(u64::from(self.bytes))
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    #[inline]
    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
        self.marked = true;
    }
    #[inline]
    fn flow(&self) -> FlowId {
        FlowId(self.flow)
    }
    #[inline]
    fn is_syn(&self) -> bool {
        self.syn
    }
    #[inline]
    fn dscp(&self) -> u8 {
        self.dscp
    }
    #[inline]
    fn transport(&self) -> Transport {
        self.transport
    }
}
