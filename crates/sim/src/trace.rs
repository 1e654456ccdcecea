//! Traces of a run: the state of chosen senders over time, and each packet at chosen links.
//!
//! A [`TraceRequest`] in [`Control::trace`](crate::Control::trace) asks for them, [`Outcome::trace`](crate::outcome::Outcome::trace)
//! has them. Whatever is traced, the sample path, and with it the digest, is that of a run without traces; both engines
//! and any number of threads give the same trace.
//!
//! Sequence numbers count packets of a connection: data is numbered from 1, a SYN is number 0. The first byte of data
//! number `n` is byte `(n - 1) * payload` of the connection ([`TracedFlow::payload`]).

pub(crate) mod log;

use quell_aqm::{Cause, Ecn, Transport};
use quell_queue::DropPoint;
use quell_units::{Duration, Time};

use crate::network::LinkId;

pub use quell_tcp::SenderPhase as Phase;

/// The flows or links that are traced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Chosen<T> {
    /// None of them.
    #[default]
    None,
    /// All of them.
    All,
    /// These.
    These(Vec<T>),
}

impl<T: PartialEq> Chosen<T> {
    /// Returns whether one is among them.
    pub fn has(&self, one: &T) -> bool {
        match self {
            Chosen::None => false,
            Chosen::All => true,
            Chosen::These(these) => these.contains(one),
        }
    }

    /// Returns whether nothing is chosen.
    pub fn is_none(&self) -> bool {
        match self {
            Chosen::None => true,
            Chosen::All => false,
            Chosen::These(these) => these.is_empty(),
        }
    }
}

/// The traces that a run is asked for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TraceRequest {
    /// The flows whose senders' state is recorded, by index: [`TracedFlow::samples`]. Those that are not TCP have none.
    pub senders: Chosen<u32>,
    /// The time between two samples of a sender; `None`: one after each change. Not zero.
    pub step: Option<Duration>,
    /// The sent, acknowledged and lost packets of those senders are recorded one by one, too: [`TracedFlow::events`].
    pub events: bool,
    /// The observed links whose packets are recorded: [`Trace::links`].
    pub links: Chosen<LinkId>,
    /// The flows whose packets are recorded there, by index.
    pub packets: Chosen<u32>,
}

/// The traces of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// The flows of which anything is traced, by number.
    pub flows: Vec<TracedFlow>,
    /// The packets that crossed a traced link, or were dropped there, by the time at which they were sent. A
    /// [`PacketEvent::packet`] is an index into this.
    pub packets: Vec<TracedPacket>,
    /// The traced links, in the order of the network's links.
    pub links: Vec<LinkTrace>,
}

/// The trace of a flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TracedFlow {
    /// Its number in the network.
    pub flow: u32,
    /// The class of its data.
    pub class: u16,
    /// It is TCP; otherwise it has neither samples nor events.
    pub tcp: bool,
    /// Bytes of data that a packet of it brings (not its headers); 0 unless it is TCP.
    pub payload: u32,
    /// The size on the wire of its packets of data; 0 unless it is TCP.
    pub wire: u32,
    /// It negotiates ECN.
    pub ecn: bool,
    /// Its receiver counts marks (accurate ECN, or an exact count), and does not echo them: see
    /// [`TracedPacket::marks`].
    pub counts_marks: bool,
    /// It repairs losses by selective acknowledgments.
    pub sack: bool,
    /// The state of its sender, by time.
    pub samples: Vec<SenderSample>,
    /// What happened at its sender, by time.
    pub events: Vec<SenderEvent>,
}

/// The state of a sender at one instant, after all that happened then if samples follow changes; before it if they are
/// equally spaced. What a sender does not have, or does not know yet, is `None`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderSample {
    /// The time.
    pub time: Time,
    /// The congestion window in packets.
    pub cwnd: f64,
    /// The threshold of slow start in packets; `None` while there is no limit.
    pub ssthresh: Option<f64>,
    /// The smoothed round-trip time.
    pub srtt: Option<Duration>,
    /// The last measurement of the round-trip time.
    pub rtt: Option<Duration>,
    /// The retransmission timeout.
    pub rto: Duration,
    /// The rate at which packets are released, in packets per second; `None` for a sender that does not pace.
    pub pacing: Option<f64>,
    /// The packets that the sender holds to be on their way.
    pub in_flight: u32,
    /// The sender's estimate of the rate at which packets are delivered, in packets per second: the bandwidth of a model
    /// of the path; `None` for a congestion control without one.
    pub delivery: Option<f64>,
    /// The phase.
    pub phase: Phase,
    /// Packets of data sent so far, by all connections of the flow, with those that were sent again.
    pub sent: u64,
    /// Those of them that were sent before.
    pub retransmitted: u64,
    /// Packets of which the sender knows that they arrived, cumulatively or by selective acknowledgments.
    pub delivered: u64,
    /// Retransmission timeouts so far.
    pub timeouts: u64,
    /// Window reductions by losses that acknowledgments found.
    pub fast_retransmits: u64,
    /// Window reductions by ECN.
    pub ecn_responses: u64,
}

/// The means by which a sender finds that a packet is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FoundBy {
    /// Duplicate acknowledgments (RFC 5681, RFC 6582).
    DuplicateAcks,
    /// Selective acknowledgments (RFC 6675).
    Sack,
    /// The times of what has arrived since (RFC 8985), with its probes.
    Rack,
    /// The retransmission timer.
    Timeout,
}

/// Something that happened at a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SenderEvent {
    /// The time.
    pub time: Time,
    /// The number of the connection of the flow, modulo 256.
    pub connection: u8,
    /// What happened.
    pub what: SenderWhat,
}

/// What happens at a sender.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum SenderWhat {
    /// A packet was sent; number 0 is a SYN.
    Sent {
        /// Its number.
        seq: u32,
        /// Its size on the wire in bytes.
        bytes: u16,
        /// It was sent before.
        again: bool,
    },
    /// A packet is taken for lost: it is about to be sent again.
    Lost {
        /// Its number.
        seq: u32,
        /// The means by which that was found.
        by: FoundBy,
    },
    /// An acknowledgment came.
    Acked {
        /// The next number that the receiver expects.
        ack: u32,
        /// Packets of which it says for the first time that they arrived, cumulatively or selectively.
        newly: u32,
        /// It echoes a mark (RFC 3168).
        ece: bool,
    },
}

/// The kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PacketKind {
    /// Opens a TCP connection.
    Syn,
    /// Acknowledges a SYN.
    SynAck,
    /// Data of TCP.
    Data,
    /// An acknowledgment.
    Ack,
    /// A request of the receiver's end for data; it has no number among bytes.
    Request,
    /// A packet of UDP, of a recorded trace, or of a probe on a connection of its own (a test of responsiveness).
    Datagram,
}

impl PacketKind {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            PacketKind::Syn => "syn",
            PacketKind::SynAck => "syn-ack",
            PacketKind::Data => "data",
            PacketKind::Ack => "ack",
            PacketKind::Request => "request",
            PacketKind::Datagram => "datagram",
        }
    }
}

/// The most blocks of a selective acknowledgment that a packet reports.
pub const BLOCKS: usize = 4;

/// A packet as its end of the flow sent it. A packet that is sent again is another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TracedPacket {
    /// The time at which its end of the flow sent it.
    pub sent: Time,
    /// Its flow in the network.
    pub flow: u32,
    /// Its flow as queues see it: the same number, unless the packet is that of a recorded trace.
    pub queue_flow: u32,
    /// The class by which it counts.
    pub class: u16,
    /// The number of the connection of the flow, modulo 256; of a request, its own number.
    pub connection: u8,
    /// Its kind.
    pub kind: PacketKind,
    /// It goes from the sender of data to the receiver.
    pub forward: bool,
    /// The protocol that queues see.
    pub transport: Transport,
    /// It opens a connection: a SYN, also one of a recorded trace.
    pub syn: bool,
    /// Data: its number. An acknowledgment: the next number expected.
    pub number: u32,
    /// Its size on the wire in bytes.
    pub bytes: u16,
    /// The ECN field with which it was sent.
    pub ecn: Ecn,
    /// Its DSCP, 0 to 63.
    pub dscp: u8,
    /// Data that was sent before, or a SYN.
    pub again: bool,
    /// It carries congestion window reduced (RFC 3168), on data.
    pub cwr: bool,
    /// It carries ECN-Echo (RFC 3168), on acknowledgments.
    pub ece: bool,
    /// The number of packets that have come marked, if its receiver counts them: modulo eight it is the ACE field
    /// (RFC 9768, without the offset of its handshake).
    pub marks: Option<u32>,
    /// The blocks of a selective acknowledgment, each from a number to before another, the latest first; a duplicate
    /// (D-SACK, RFC 2883) before all of them. The first [`TracedPacket::block_count`] of them count.
    pub blocks: [(u32, u32); BLOCKS],
    /// The number of blocks.
    pub block_count: u8,
    /// The time at which the packet was sent whose timestamp this one echoes (RFC 7323 section 4.3); `None` if none has
    /// come.
    pub echo: Option<Time>,
}

impl TracedPacket {
    /// Its blocks of a selective acknowledgment.
    pub fn blocks(&self) -> &[(u32, u32)] {
        &self.blocks[..usize::from(self.block_count)]
    }
}

/// The packets at a link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkTrace {
    /// The link.
    pub link: LinkId,
    /// Its name.
    pub name: String,
    /// In the order in which they happened.
    pub events: Vec<PacketEvent>,
}

/// Something that happened to a packet at a link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PacketEvent {
    /// The time.
    pub time: Time,
    /// The packet: an index into [`Trace::packets`].
    pub packet: u32,
    /// What happened.
    pub what: PacketWhat,
    /// The ECN field before and after.
    pub ecn: (Ecn, Ecn),
    /// The time since the packet came to the queue; zero at its arrival.
    pub waited: Duration,
    /// The packets that wait, without this one and without the one in transmission. Those of all flows.
    pub queue_packets: u32,
    /// Their bytes.
    pub queue_bytes: u64,
}

/// What happens to a packet at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketWhat {
    /// It came and is kept.
    Enqueued,
    /// The algorithm marked it (ECN), at its arrival or at the head of the queue.
    Marked {
        /// At the head, when its transmission was to begin.
        at_head: bool,
    },
    /// It was dropped.
    Dropped {
        /// The cause.
        cause: Cause,
        /// On arrival, at the head, or anywhere to make room.
        place: DropPoint,
    },
    /// Its transmission began.
    Dequeued {
        /// The wire loses it.
        lost: bool,
    },
}

impl PacketWhat {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            PacketWhat::Enqueued => "enqueue",
            PacketWhat::Marked { .. } => "mark",
            PacketWhat::Dropped { .. } => "drop",
            PacketWhat::Dequeued { .. } => "dequeue",
        }
    }
}
