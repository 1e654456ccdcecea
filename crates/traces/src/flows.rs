//! The flows of a trace as headers depend on them.

use std::collections::BTreeMap;

use quell_sim::trace::{PacketKind, Trace};

use crate::about::Version;

/// The way in which a flow's receiver reports marks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Feedback {
    /// It does not: the flow is not capable of ECN.
    #[default]
    None,
    /// By the one bit of RFC 3168.
    Classic,
    /// By a count in every acknowledgment, whose last three bits go into the ACE field (RFC 9768 section 3.2.2).
    Counted,
}

/// A flow of a trace.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flow {
    pub tcp: bool,
    /// Bytes of data in each packet of data.
    pub payload: u16,
    /// The maximum segment size that its ends announce, which counts options as data.
    pub mss: u16,
    /// Its packets have room for time stamps.
    pub stamps: bool,
    /// Its connections begin with a handshake.
    pub handshake: bool,
    /// Each of its requests begins a connection.
    pub fresh: bool,
    /// Its receiver asks.
    pub asks: bool,
    pub feedback: Feedback,
    pub sack: bool,
}

/// Headers of TCP and IPv4, of TCP's time stamps with their padding, of Ethernet.
pub(crate) const PLAIN: u16 = 40;
pub(crate) const STAMPS: u16 = 12;
pub(crate) const ETHERNET: u16 = 14;
/// The address of IPv6 is larger than that of IPv4 by this much in a header.
pub(crate) const MORE_OF_V6: u16 = 20;

/// The flows of a trace by number.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    pub of: BTreeMap<u32, Flow>,
    /// The sizes of TCP's packets have room for Ethernet's header beside the others. Those of UDP are of the same layer,
    /// and say nothing of it themselves; where all flows are UDP's, sizes are those of IP packets.
    pub ethernet: bool,
}

impl Flows {
    pub fn of(trace: &Trace, version: Version) -> Flows {
        let more = if version == Version::V6 { MORE_OF_V6 } else { 0 };
        let mut flows = Flows { of: BTreeMap::new(), ethernet: trace.flows.iter().any(|flow| flow.tcp) };
        for flow in &trace.flows {
            let (wire, data) =
                (flow.wire.min(u16::MAX.into()) as u16, flow.payload.min(u16::MAX.into()) as u16);
            // What has no header beside its data counts it as data.
            let header = wire.saturating_sub(data);
            let payload = if header >= PLAIN { data } else { wire.saturating_sub(PLAIN) };
            let feedback = match (flow.ecn, flow.counts_marks) {
                (false, _) => Feedback::None,
                (true, false) => Feedback::Classic,
                (true, true) => Feedback::Counted,
            };
            flows.ethernet &= !flow.tcp || header >= PLAIN + STAMPS + ETHERNET;
            let stamps = header >= PLAIN + STAMPS;
            let payload = payload.saturating_sub(more).max(1);
            // RFC 9293 section 3.7.1: what a peer's options take is not for this number to leave out.
            let mss = payload.saturating_add(if stamps { STAMPS } else { 0 });
            let about =
                Flow { tcp: flow.tcp, payload, mss, stamps, feedback, sack: flow.sack, ..Flow::default() };
            flows.of.insert(flow.flow, about);
        }
        for packet in &trace.packets {
            let Some(flow) = flows.of.get_mut(&packet.flow) else { continue };
            match packet.kind {
                PacketKind::Syn | PacketKind::SynAck => flow.handshake = true,
                PacketKind::Request => flow.asks = true,
                _ => {}
            }
            flow.fresh |= packet.kind != PacketKind::Request && packet.connection != 0;
        }
        flows
    }
}
