//! The inputs and answers of algorithms.

use quell_units::{BitRate, Bytes, Duration, Packets, QueueSize, Time};

use crate::Rng;
#[cfg(feature = "catalog")]
use crate::error::ParamError;

/// All that an algorithm may know when it decides.
pub struct Ctx<'a> {
    /// The time of the event.
    pub now: Time,
    /// The queue at that time.
    pub queue: QueueView,
    /// Bytes waiting for the link: the queue's, and those of all others that the link serves
    /// (RFC 8289 section 4.4).
    pub link_backlog: Bytes,
    /// The generator of this queue's algorithm, and of nothing else.
    pub rng: &'a mut Rng,
}

impl<'a> Ctx<'a> {
    /// Makes the context of a queue that has its link to itself.
    #[inline]
    pub fn new(now: Time, queue: QueueView, rng: &'a mut Rng) -> Self {
        Ctx { now, queue, link_backlog: queue.bytes, rng }
    }
}

/// A queue as an algorithm sees it: what waits, without the packet in transmission and without the
/// packet in question.
#[derive(Clone, Copy, Debug)]
pub struct QueueView {
    /// Packets waiting.
    pub packets: Packets,
    /// Bytes waiting.
    pub bytes: Bytes,
    /// Arrival of the packet at the head.
    pub head_since: Option<Time>,
    /// The link's rate now, where the host knows it.
    pub link_rate: Option<BitRate>,
}

/// A packet as an algorithm sees it; by default one of nothing, of TCP, that cannot be marked.
#[derive(Clone, Copy, Debug, Default)]
pub struct PacketMeta {
    /// Its size on the wire.
    pub bytes: Bytes,
    /// Time of its arrival at this queue.
    pub enqueued_at: Time,
    /// The flow it belongs to.
    pub flow: FlowId,
    /// Its ECN field, or [`Ecn::NotEct`] in a queue that does not mark: a signal marks the packet if
    /// this is ECN-capable, and drops it otherwise.
    pub ecn: Ecn,
    /// The protocol it belongs to.
    pub transport: Transport,
    /// It opens a TCP connection: a SYN. False where the host does not look.
    pub syn: bool,
    /// The DSCP of its DS field, 0 to 63 (RFC 2474 section 3).
    pub dscp: u8,
    /// Hosts between which it travels.
    pub hosts: Hosts,
}

/// Hosts between which a packet travels, as numbers that tell them apart; 0 is a host that nobody knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hosts {
    /// The host that it comes from.
    pub source: u16,
    /// The host that it goes to.
    pub destination: u16,
}

/// A segment of TCP that acknowledges, as a filter of acknowledgments sees it. Numbers wrap at 2^32; by default one that
/// must not be dropped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Acknowledgment {
    /// The connection of its flow, where a flow has several one after another.
    pub connection: u32,
    /// The number below which everything has come.
    pub number: u32,
    /// It does nothing else: it has no data, no flag but ACK, ECE and CWR, and no option but those below.
    pub pure: bool,
    /// Its flags of ECN, ECE and CWR, or what is in their place.
    pub flags: u32,
    /// Its timestamp and the one that it echoes (RFC 7323 section 3), if it has them.
    pub stamps: Option<[u32; 2]>,
    /// The first number and the end of each block of its SACK option (RFC 2018 section 3); an empty block is none.
    pub blocks: [[u32; 2]; 4],
}

impl PacketMeta {
    /// Its precedence, 0 to 7: the class selector of its DS field (RFC 2474 section 4.2.2).
    #[inline]
    pub fn precedence(&self) -> u8 {
        self.dscp >> 3 & 7
    }
}

/// Identifies a flow (a 5-tuple, or the simulator's index).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(pub u32);

/// The protocol a packet belongs to, which its IP header names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Transport {
    /// TCP, whose senders slow down when congestion is signaled.
    #[default]
    Tcp,
    /// UDP.
    Udp,
    /// Any other.
    Other,
}

/// The ECN field of the IP header (RFC 3168 section 5).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ecn {
    /// The sender does not understand ECN.
    #[default]
    NotEct,
    /// ECN-capable, codepoint 10.
    Ect0,
    /// ECN-capable, codepoint 01 (L4S, RFC 9331).
    Ect1,
    /// Congestion experienced.
    Ce,
}

impl Ecn {
    /// True if a signal may be a mark.
    #[inline]
    pub fn is_capable(self) -> bool {
        self != Ecn::NotEct
    }
}

/// Reason for which a packet was signaled or dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cause {
    /// A random choice, to slow the senders down before the queue is full.
    Early,
    /// A hard limit of the algorithm was passed, or a later acknowledgment says as much.
    Forced,
    /// The buffer was full.
    Overflow,
}

/// An algorithm's answer.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Keep it.
    Pass,
    /// Signal congestion: the host marks the packet if it is ECN-capable (RFC 3168) and its queue
    /// is set to mark, and drops it otherwise.
    Signal(Cause),
    /// Drop it, regardless of its ECN field.
    Drop(Cause),
}

impl Verdict {
    /// An early signal, or none.
    #[inline]
    pub fn early_if(signal: bool) -> Self {
        if signal { Verdict::Signal(Cause::Early) } else { Verdict::Pass }
    }

    /// Tells whether it drops `pkt`: a signal marks a packet that is ECN-capable and drops any other (RFC
    /// 3168 section 5).
    #[inline]
    pub fn drops(self, pkt: &PacketMeta) -> bool {
        match self {
            Verdict::Pass => false,
            Verdict::Signal(_) => !pkt.ecn.is_capable(),
            Verdict::Drop(_) => true,
        }
    }
}

/// Receiver of an algorithm's internal signals.
pub trait Probe {
    /// One signal: its name in the paper, its unit ("packets", "1", "bit/s"), its value now.
    fn value(&mut self, name: &'static str, unit: &'static str, x: f64);

    /// The time for which the frames of a lane have had a channel so far, where lanes share one.
    fn airtime(&mut self, lane: usize, time: Duration) {
        let _ = (lane, time);
    }
}

/// The link as the host knows it when an algorithm is built: the "initial conditions" from which automatic
/// parameters are computed (RFC 7567 section 4.3).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Its rate at the start.
    pub rate: BitRate,
    /// Its buffer.
    pub buffer: QueueSize,
    /// The mean packet size: converts packets to bytes and back, and gives C in packets/s.
    pub mean_packet: Bytes,
}

impl Link {
    /// Refuses a link from which nothing can be computed.
    ///
    /// # Errors
    /// Names the field that is zero.
    #[cfg(feature = "catalog")]
    pub fn check(&self) -> Result<(), ParamError> {
        require!(self.rate.bps() > 0, self.rate, "must be positive")?;
        require!(self.mean_packet.get() > 0, self.mean_packet, "must be positive")
    }

    /// A queue of so many packets, in the unit of the buffer.
    #[cfg(feature = "catalog")]
    pub(crate) fn queue_of(&self, packets: f64) -> QueueSize {
        match self.buffer {
            QueueSize::Packets(_) => QueueSize::Packets(packets),
            QueueSize::Bytes(_) => QueueSize::Bytes(packets * self.mean_packet.get() as f64),
        }
    }

    /// C of the papers: packets of mean size per second.
    pub fn capacity(&self) -> f64 {
        self.rate.packets_per_sec(self.mean_packet)
    }
}
