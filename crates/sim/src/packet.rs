//! A packet as the simulator carries it: sixteen bytes.

use std::collections::{BTreeMap, VecDeque};

use quell_aqm::{Acknowledgment, Ecn, FlowId, Transport};
use quell_queue::Packet;
use quell_tcp::Report;
use quell_units::{Bytes, Time};

use crate::network::TraceArrival;

/// The kind of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Data of a TCP flow.
    Data,
    /// Opens a TCP connection.
    Syn,
    /// Acknowledges data, or a SYN; with the number 0 it asks for data instead.
    Ack,
    /// UDP.
    Datagram,
}

/// A packet. Sequence numbers count packets of a connection, from 1; a SYN is number 0.
///
/// Two words, so that it travels in registers:
/// its sequence number (bits 0 to 31) and flow (32 to 63);
/// what it is (0 and 1), ECN field (2 and 3), a flag (4), precedence (5 to 7), hop (8 to 15), size (16 to 31),
/// entry in the [`SackTable`], a count of marks or a bit of data that was sent again (32 to 52), the lower half of its DSCP (53 to 55) and connection of the flow (56 to
/// 63). Of a datagram whose arrival was recorded, the sequence number is the flow that queues see, and the bits of the
/// connection say what else they see.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Pkt(u64, u64);

const KIND: u64 = 0b0000_0011;
/// The ECN field (RFC 3168 section 5): one of its bits for each ECN-capable codepoint, both for CE.
const ECT_0: u64 = 0b0000_0100;
const ECT_1: u64 = 0b0000_1000;
const CE: u64 = ECT_0 | ECT_1;
/// ECN-Echo on acknowledgments, congestion window reduced on data, a repetition on datagrams: no packet says two of them.
const ECE: u64 = 0b0001_0000;
const CWR: u64 = ECE;
const REPEATED: u64 = ECE;
/// Everything but size, hop, table entry and connection.
const FLAGS: u64 = 0xff | 7 << DSCP_LOW;
const PRECEDENCE: u32 = 5;
const HOP: u32 = 8;
const BYTES: u32 = 16;
const SACK: u32 = 32;
const DSCP_LOW: u32 = 53;
const EPOCH: u32 = 56;

/// Flags of a datagram in the bits of the connection: its arrival was recorded, it opens a connection, its protocol.
const RECORDED: u64 = 1 << 63;
const SYN: u64 = 1 << 62;
const TRANSPORT: u32 = EPOCH;

const NO_SACK: u32 = 0x001f_ffff;
/// Not an entry: a count of marks, or none if all its bits are set.
const NO_ENTRY: u32 = 0x0010_0000;

impl Pkt {
    #[inline]
    pub fn new(kind: Kind, flow: u32, epoch: u8, seq: u32, bytes: u16) -> Self {
        Pkt(
            (flow as u64) << 32 | seq as u64,
            kind as u64 | (bytes as u64) << BYTES | (NO_SACK as u64) << SACK | (epoch as u64) << EPOCH,
        )
    }

    /// A packet of the flow `flow` that was recorded.
    pub fn recorded(flow: u32, arrival: &TraceArrival) -> Self {
        let mut pkt = Pkt::new(Kind::Datagram, flow, 0, arrival.flow.0, arrival.bytes);
        pkt.set_ecn(arrival.ecn);
        pkt.set_dscp(arrival.dscp);
        let transport = match arrival.transport {
            Transport::Tcp => 0,
            Transport::Udp => 1,
            Transport::Other => 2,
        };
        pkt.1 |= RECORDED | if arrival.syn { SYN } else { 0 } | transport << TRANSPORT;
        pkt
    }

    #[inline]
    fn is_datagram(self) -> bool {
        self.1 & KIND == Kind::Datagram as u64
    }

    #[inline]
    fn is_recorded(self) -> bool {
        self.1 & (KIND | RECORDED) == Kind::Datagram as u64 | RECORDED
    }

    /// The flow's index.
    #[inline]
    pub fn flow(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Data: its number. Acknowledgment: the next number expected, at least 1; 0 for a request.
    #[inline]
    pub fn seq(self) -> u32 {
        self.0 as u32
    }

    /// Size on the wire.
    #[inline]
    pub fn bytes(self) -> u16 {
        (self.1 >> BYTES) as u16
    }

    /// Stops passed on the way to the other end.
    #[inline]
    pub fn hop(self) -> u8 {
        (self.1 >> HOP) as u8
    }

    #[inline]
    pub fn set_hop(&mut self, hop: u8) {
        self.1 = self.1 & !(0xff << HOP) | (hop as u64) << HOP;
    }

    /// The same packet of another flow, connection and number.
    #[inline]
    pub fn with(self, flow: u32, epoch: u8, seq: u32) -> Self {
        let rest = self.1 & !(0xff << EPOCH);
        Pkt((flow as u64) << 32 | seq as u64, rest | (epoch as u64) << EPOCH)
    }

    /// The same packet of another size.
    pub fn sized(self, bytes: u16) -> Self {
        Pkt(self.0, self.1 & !(0xffff << BYTES) | (bytes as u64) << BYTES)
    }

    #[inline]
    pub fn is_syn(self) -> bool {
        self.1 & KIND == Kind::Syn as u64
    }

    /// Says whether it goes from receiver to sender; also the index of its way.
    #[inline]
    pub fn is_ack(self) -> bool {
        self.1 & KIND == Kind::Ack as u64
    }

    /// It is an acknowledgment that says no more than its number and a count of marks.
    #[inline]
    pub fn is_plain_ack(self) -> bool {
        const PLAIN: u64 = (NO_ENTRY as u64) << SACK;
        self.1 & (KIND | ECE | PLAIN) == Kind::Ack as u64 | PLAIN
    }

    /// It is data, not marked, and says nothing else of congestion; not [`Pkt::set_again`].
    #[inline]
    pub fn is_plain_data(self) -> bool {
        const PLAIN: u64 = 1 << SACK;
        self.1 & (KIND | CWR | PLAIN) == Kind::Data as u64 | PLAIN && !self.is_ce()
    }

    /// Data says that it was sent before.
    pub fn set_again(&mut self) {
        self.set_sack(SackId(NO_ENTRY));
    }

    /// Says whether data [does](Pkt::set_again).
    #[inline]
    pub fn is_again(self) -> bool {
        (self.1 >> SACK) as u32 & NO_SACK == NO_ENTRY
    }

    /// The connection of its flow it belongs to.
    #[inline]
    pub fn epoch(self) -> u8 {
        (self.1 >> EPOCH) as u8
    }

    /// 0 to 63; its upper half is the precedence.
    #[inline]
    pub fn dscp(self) -> u8 {
        ((self.1 >> PRECEDENCE) as u8 & 7) << 3 | (self.1 >> DSCP_LOW) as u8 & 7
    }

    #[inline]
    pub fn set_dscp(&mut self, dscp: u8) {
        let (high, low) = (dscp as u64 >> 3 & 7, dscp as u64 & 7);
        self.1 = self.1 & !(7 << PRECEDENCE | 7 << DSCP_LOW) | high << PRECEDENCE | low << DSCP_LOW;
    }

    #[inline]
    pub fn sack(self) -> Option<SackId> {
        let id = (self.1 >> SACK) as u32 & NO_SACK;
        (id & NO_ENTRY == 0).then_some(SackId(id))
    }

    /// The number of packets that have come marked, if an acknowledgment says that and nothing else.
    #[inline]
    pub fn marks(self) -> Option<u32> {
        let field = (self.1 >> SACK) as u32 & NO_SACK;
        (field & NO_ENTRY != 0 && field != NO_SACK).then_some(field & !NO_ENTRY)
    }

    /// Says how many packets have come marked; false if the number has no room.
    #[inline]
    pub fn set_marks(&mut self, marks: u32) -> bool {
        let has_room = marks < NO_SACK & !NO_ENTRY;
        if has_room {
            self.set_sack(SackId(NO_ENTRY | marks));
        }
        has_room
    }

    /// The field that names an entry, or holds something else.
    fn field(self) -> u32 {
        (self.1 >> SACK) as u32 & NO_SACK
    }

    /// It carries nothing beside itself.
    pub fn clear_sack(&mut self) {
        self.set_sack(SackId(NO_SACK));
    }

    pub fn set_sack(&mut self, id: SackId) {
        self.1 = self.1 & !((NO_SACK as u64) << SACK) | (id.0 as u64) << SACK;
    }

    #[inline]
    fn set(&mut self, flag: u64, on: bool) {
        self.1 |= if on { flag } else { 0 };
    }

    pub fn set_ecn(&mut self, ecn: Ecn) {
        let bits = match ecn {
            Ecn::NotEct => 0,
            Ecn::Ect0 => ECT_0,
            Ecn::Ect1 => ECT_1,
            Ecn::Ce => CE,
        };
        self.1 = self.1 & !CE | bits;
    }

    #[inline]
    pub fn is_ce(self) -> bool {
        self.1 & CE == CE
    }

    /// ECN-Echo (RFC 3168 section 6.1), on acknowledgments.
    #[inline]
    pub fn is_ece(self) -> bool {
        self.1 & ECE != 0
    }

    #[inline]
    pub fn set_ece(&mut self, on: bool) {
        self.set(ECE, on);
    }

    /// Congestion window reduced (RFC 3168 section 6.1), on data.
    #[inline]
    pub fn is_cwr(self) -> bool {
        self.1 & CWR != 0
    }

    #[inline]
    pub fn set_cwr(&mut self, on: bool) {
        self.set(CWR, on);
    }

    /// Returns whether another copy of the datagram has reached the receiver before.
    pub fn is_repeated(self) -> bool {
        self.1 & REPEATED != 0
    }

    /// The packet in a digest: all but the table entry, which is the engine's affair.
    #[inline]
    pub fn fingerprint(self) -> u64 {
        let bytes = self.bytes() as u64;
        (self.0 & !0xffff_ffff) ^ (self.seq() as u64) << 8 ^ self.1 & FLAGS ^ bytes << 48
    }
}

impl Packet for Pkt {
    #[inline]
    fn bytes(&self) -> Bytes {
        Bytes::new(Pkt::bytes(*self) as u64)
    }
    #[inline]
    fn ecn(&self) -> Ecn {
        match self.1 & CE {
            0 => Ecn::NotEct,
            ECT_0 => Ecn::Ect0,
            ECT_1 => Ecn::Ect1,
            _ => Ecn::Ce,
        }
    }
    #[inline]
    fn set_ce(&mut self) {
        self.set(CE, true);
    }
    #[inline]
    fn flow(&self) -> FlowId {
        FlowId(if self.is_recorded() { self.seq() } else { Pkt::flow(*self) })
    }
    #[inline]
    fn is_syn(&self) -> bool {
        Pkt::is_syn(*self) || self.is_recorded() && self.1 & SYN != 0
    }
    #[inline]
    fn dscp(&self) -> u8 {
        Pkt::dscp(*self)
    }
    fn wash(&mut self) {
        self.set_dscp(0);
    }
    /// What an acknowledgment says beside its number is in the [`SackTable`], which no queue sees: one with blocks or times
    /// is not pure. Neither are those of a SYN, and requests.
    fn acknowledgment(&self) -> Option<Acknowledgment> {
        self.is_ack().then(|| Acknowledgment {
            connection: u32::from(self.epoch()),
            number: self.seq(),
            pure: self.sack().is_none() && self.seq() > 1,
            flags: self.marks().map_or(0, |marks| marks << 1) | u32::from(self.is_ece()),
            ..Default::default()
        })
    }
    fn transport(&self) -> Transport {
        if self.1 & KIND != Kind::Datagram as u64 {
            return Transport::Tcp;
        }
        match self.1 >> TRANSPORT & 3 {
            _ if !self.is_recorded() => Transport::Udp,
            0 => Transport::Tcp,
            1 => Transport::Udp,
            _ => Transport::Other,
        }
    }
}

/// An entry of the [`SackTable`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct SackId(u32);

/// The part of a packet that has no room in it.
#[derive(Clone, Copy)]
pub(crate) enum Entry {
    /// An acknowledgment's report.
    Report(Report),
    /// The time at which data was sent, and whether it was sent before.
    Sent(Time, bool),
    /// Nothing: the entry is the packet's name, and this was in its place.
    Name(u32),
}

/// The reports of the acknowledgments on their way. Few packets carry anything of the kind, so it is kept
/// beside the packets instead of making every packet larger.
#[derive(Default)]
pub(crate) struct SackTable {
    entries: Vec<Entry>,
    free: Vec<u32>,
    /// Free entries that are used again only when [`RESTING`] others are: names of packets.
    resting: VecDeque<u32>,
    /// The entries that several packets have: copies, which wires make.
    shared: BTreeMap<u32, Shared>,
}

/// The packets that have the same entry.
#[derive(Clone, Copy, Default)]
struct Shared {
    /// Those beside one.
    others: u32,
    /// One of them has reached its end.
    received: bool,
}

/// So many entries are free for longer than a name that is used again: within the time that a packet is on its way
/// there are fewer new ones, so that its name tells it from all others of its flow.
const RESTING: usize = 1 << 18;

impl SackTable {
    /// Keeps `entry` until it is taken.
    pub fn put(&mut self, entry: Entry) -> SackId {
        let id = self.free.pop().unwrap_or_else(|| {
            if self.resting.len() > RESTING
                && let Some(id) = self.resting.pop_front()
            {
                return id;
            }
            self.entries.push(entry);
            self.entries.len() as u32 - 1
        });
        assert!(id < NO_ENTRY, "more than a million packets in flight that carry reports or times");
        self.entries[id as usize] = entry;
        SackId(id)
    }

    /// Takes out the entry of a packet that has arrived or was lost.
    #[inline]
    pub fn take(&mut self, pkt: Pkt) -> Option<&Entry> {
        match pkt.sack() {
            None => None,
            Some(id) => Some(self.take_entry(id)),
        }
    }

    /// Notes that there is one more of a packet, which has the same entry. A datagram gets one if it has none, by which
    /// its receiver knows its copies.
    pub fn share(&mut self, pkt: &mut Pkt) {
        let id = match pkt.sack() {
            Some(id) => Some(id),
            None if pkt.is_datagram() => Some(self.name(pkt)),
            None => None,
        };
        if let Some(SackId(id)) = id {
            self.shared.entry(id).or_default().others += 1;
        }
    }

    /// Takes the entry of a packet that has reached its end. A datagram of which a copy came before says so from then on.
    pub fn receive(&mut self, pkt: &mut Pkt) {
        let Some(SackId(id)) = pkt.sack() else { return };
        if let Some(shared) = self.shared.get_mut(&id) {
            let repeated = std::mem::replace(&mut shared.received, true);
            pkt.set(REPEATED, repeated && pkt.is_datagram());
        }
        self.take_entry(SackId(id));
    }

    /// Gives a packet a name: the entry that it has, or one of its own. [`SackTable::rest`] was called before whatever
    /// put that.
    pub fn name(&mut self, pkt: &mut Pkt) -> SackId {
        pkt.sack().unwrap_or_else(|| {
            let id = self.put(Entry::Name(pkt.field()));
            pkt.set_sack(id);
            id
        })
    }

    /// Takes from a packet a name that is nothing else.
    pub fn unname(&mut self, pkt: &mut Pkt) {
        if let Some(Entry::Name(field)) = self.look(*pkt).copied() {
            self.receive(pkt);
            pkt.set_sack(SackId(field));
        }
    }

    /// Lets all free entries rest: the next one to be put gets a name that no packet had for long.
    pub fn rest(&mut self) {
        self.resting.extend(self.free.drain(..));
    }

    /// The entry of a packet.
    pub fn look(&self, pkt: Pkt) -> Option<&Entry> {
        pkt.sack().map(|SackId(id)| &self.entries[id as usize])
    }

    fn take_entry(&mut self, SackId(id): SackId) -> &Entry {
        if self.shared.is_empty() || !self.is_left(id) {
            self.free.push(id);
        }
        &self.entries[id as usize]
    }

    /// Says whether another packet still has the entry of one that is taken.
    #[cold]
    fn is_left(&mut self, id: u32) -> bool {
        let Some(shared) = self.shared.get_mut(&id) else { return false };
        if shared.others == 0 {
            self.shared.remove(&id);
            return false;
        }
        shared.others -= 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_sixteen_bytes_and_keeps_its_fields_apart() {
        assert_eq!(size_of::<Pkt>(), 16);
        let mut table = SackTable::default();
        let mut p = Pkt::new(Kind::Ack, 7, 200, 9, 40);
        assert_eq!((p.sack(), p.epoch(), p.is_ack(), p.is_syn()), (None, 200, true, false));
        let report = Report { marks: Some(3), ..Default::default() };
        p.set_sack(table.put(Entry::Report(report)));
        p.set_ece(true);
        assert_eq!((p.epoch(), p.is_ack(), p.is_ece(), p.is_ce()), (200, true, true, false));
        p.set_dscp(63);
        p.set_hop(9);
        assert_eq!((p.dscp(), p.hop(), p.is_ece(), p.bytes()), (63, 9, true, 40));
        assert_eq!((p.epoch(), p.sack()), (200, Some(SackId(0))));
        assert_eq!((p.sized(1500).bytes(), p.sized(1500).sized(40)), (1500, p));
        p.set_dscp(21);
        p.set_hop(0);
        assert_eq!(p.with(1, 2, 3), {
            let mut q = Pkt::new(Kind::Ack, 1, 2, 3, 40);
            q.set_ece(true);
            q.set_dscp(21);
            q.set_sack(p.sack().unwrap());
            q
        });
        assert!(matches!(table.take(p), Some(Entry::Report(r)) if *r == report));
        // An entry that two packets have is free when both have been taken.
        p.set_sack(table.put(Entry::Report(report)));
        table.share(&mut p);
        for free in [0, 1] {
            assert!(matches!(table.take(p), Some(Entry::Report(r)) if *r == report));
            assert_eq!((table.free.len(), table.shared.len()), (free, 1 - free));
        }
        assert_eq!(p.marks(), None);
        for marks in [0, 7, NO_ENTRY - 2] {
            assert!(p.set_marks(marks));
            assert_eq!((p.marks(), p.sack(), p.epoch(), p.dscp()), (Some(marks), None, 200, 21));
        }
        assert!(!p.set_marks(NO_ENTRY - 1));
        for ecn in [Ecn::Ect0, Ecn::Ect1, Ecn::Ce, Ecn::NotEct] {
            p.set_ecn(ecn);
            assert_eq!((p.ecn(), p.is_ce(), p.dscp()), (ecn, ecn == Ecn::Ce, 21));
            if ecn.is_capable() {
                let mut marked = p;
                Packet::set_ce(&mut marked);
                assert_eq!(marked.ecn(), Ecn::Ce);
            }
        }
        assert_eq!(p.ecn(), Ecn::NotEct);
    }

    #[test]
    fn a_receiver_knows_the_copies_of_a_datagram_whichever_comes_first() {
        let mut table = SackTable::default();
        let first = Pkt::new(Kind::Datagram, 3, 0, 9, 100);
        let mut p = first;
        // Copied twice, and the first of the three is dropped on its way.
        table.share(&mut p);
        table.share(&mut p);
        table.take(p);
        for repeated in [false, true] {
            let mut q = p;
            table.receive(&mut q);
            assert_eq!(q.is_repeated(), repeated);
        }
        assert_eq!((table.free.len(), table.shared.len()), (1, 0));
        // The entry is another packet's now, of which there is one.
        let mut other = first;
        table.name(&mut other);
        table.receive(&mut other);
        assert!(!other.is_repeated());
        // Data counts each number once by itself, and keeps its flags.
        let mut data = Pkt::new(Kind::Data, 3, 0, 9, 100);
        data.set_sack(table.put(Entry::Sent(Time::ZERO, false)));
        table.share(&mut data);
        for _ in 0..2 {
            let mut q = data;
            table.receive(&mut q);
            assert!(!q.is_cwr());
        }
    }

    #[test]
    fn queues_see_a_recorded_packet_as_it_was() {
        for (i, flow) in [0, 7, u32::MAX].map(FlowId).into_iter().enumerate() {
            for transport in [Transport::Tcp, Transport::Udp, Transport::Other] {
                for syn in [false, true] {
                    let (ecn, dscp) = ([Ecn::NotEct, Ecn::Ect1, Ecn::Ce][i], [0, 21, 63][i]);
                    let bytes = [1, 1500, u16::MAX][i];
                    let arrival = TraceArrival { time: Time::ZERO, bytes, flow, ecn, transport, syn, dscp };
                    let mut p = Pkt::recorded(3, &arrival);
                    p.set_hop(200);
                    assert_eq!((Pkt::flow(p), Packet::flow(&p), Packet::is_syn(&p)), (3, flow, syn));
                    assert_eq!((p.transport(), p.ecn(), Packet::dscp(&p)), (transport, ecn, dscp));
                    assert_eq!((Pkt::bytes(p), p.sack(), p.is_ack()), (bytes, None, false));
                }
            }
        }
        let udp = Pkt::new(Kind::Datagram, 3, 0, 9, 100);
        assert_eq!(
            (Packet::flow(&udp), udp.transport(), Packet::is_syn(&udp)),
            (FlowId(3), Transport::Udp, false)
        );
        let tcp = Pkt::new(Kind::Data, 3, 255, 9, 100);
        assert_eq!(
            (Packet::flow(&tcp), tcp.transport(), Packet::is_syn(&tcp)),
            (FlowId(3), Transport::Tcp, false)
        );
    }
}
