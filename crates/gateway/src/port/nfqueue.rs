//! NFQUEUE: the kernel holds packets that it forwards until their verdict is sent.
//!
//! Only headers are copied here. A packet that is to be marked gets a bit of the firewall's mark ([`MARKED`]), by which
//! a rule sets CE: the kernel mends the checksum. The rest of that mark is others' and stays. The protocol is that of
//! linux/netfilter/nfnetlink_queue.h.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use quell_units::Duration;
use rustix::io::Errno;
use serde::{Deserialize, Serialize};

use crate::header::{FlowKey, Header};
use crate::metrics::KernelDrops;
use crate::{Packet, Ports, sys};

/// Two bits of the firewall's mark, from a lowest one on, which are the gateway's; the others are others'.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MarkBits(u8);

impl MarkBits {
    /// The bits `lowest` and the next one; `None` if a mark of 32 bits does not have both.
    pub fn from(lowest: u8) -> Option<Self> {
        (lowest <= 30).then_some(MarkBits(lowest))
    }

    /// The bit that a rule gives packets before they are queued, and each verdict takes away: what leaves with it has
    /// passed around the gateway.
    pub fn waits(self) -> u32 {
        1 << self.0
    }

    /// The bit that packets have which were marked here, until a rule has set CE.
    pub fn marked(self) -> u32 {
        2 << self.0
    }

    /// Both.
    pub fn both(self) -> u32 {
        3 << self.0
    }
}

impl Default for MarkBits {
    /// Bits 29 and 30.
    fn default() -> Self {
        MarkBits(29)
    }
}

/// The bytes of a packet that are copied: the headers, with some of IPv6's extensions.
const COPIED: u32 = 160;
/// Room for a message: its own header and attributes, and what is copied.
const WIDTH: usize = 512;
/// Messages taken in at once.
const BATCH: usize = 64;

/// Counts of what happened outside the lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueCounters {
    /// Packets that no algorithm may judge, accepted at once.
    pub passed: u64,
    /// Messages that were not understood.
    pub strange: u64,
    /// Verdicts that the kernel did not take: it had dropped the packet before, such as when a device went down.
    pub refused: u64,
}

/// Two queues of the kernel's; path 0 is the first.
pub struct NfQueue {
    fd: OwnedFd,
    queues: [u16; 2],
    bits: MarkBits,
    buffer: Vec<u8>,
    lengths: [usize; BATCH],
    verdicts: Vec<u8>,
    key: FlowKey,
    /// Counts of what happened beside the lines.
    pub counters: QueueCounters,
    /// Packets leave without marks: there is no rule that would set CE and clear them.
    pub unmarked: bool,
    /// What is forwarded goes through the chain of its queue again too if it is to be marked: no rule behind sets CE.
    pub repeats: bool,
}

/// Numbers of nfnetlink_queue.h and netlink.h.
mod number {
    pub const SUBSYSTEM: u16 = 3;
    pub const PACKET: u16 = 0;
    pub const VERDICT: u16 = 1;
    pub const CONFIG: u16 = 2;
    pub const REQUEST: u16 = 1;
    pub const ACK: u16 = 4;
    pub const ERROR: u16 = 2;
    pub const BIND: u8 = 1;
    pub const COPY_PACKET: u8 = 2;
    pub const FAIL_OPEN: u32 = 1;
    pub const ACCEPT: u32 = 1;
    pub const DROP: u32 = 0;
    pub const REPEAT: u32 = 4;
    /// The hook of what is forwarded, of netfilter.h.
    pub const FORWARD: u8 = 2;
    /// Attributes of a configuration.
    pub const CFG_CMD: u16 = 1;
    pub const CFG_PARAMS: u16 = 2;
    pub const CFG_MAXLEN: u16 = 3;
    pub const CFG_MASK: u16 = 4;
    pub const CFG_FLAGS: u16 = 5;
    /// Attributes of a packet or a verdict.
    pub const HEADER: u16 = 1;
    pub const VERDICT_HEADER: u16 = 2;
    pub const MARK: u16 = 3;
    pub const PAYLOAD: u16 = 10;
    pub const CAPTURED: u16 = 13;
}

fn attribute(out: &mut Vec<u8>, kind: u16, value: &[u8]) {
    out.extend_from_slice(&(value.len() as u16 + 4).to_ne_bytes());
    out.extend_from_slice(&kind.to_ne_bytes());
    out.extend_from_slice(value);
    out.resize(out.len().next_multiple_of(4), 0);
}

fn message(out: &mut Vec<u8>, kind: u16, flags: u16, queue: u16, body: impl FnOnce(&mut Vec<u8>)) {
    let begin = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&(number::SUBSYSTEM << 8 | kind).to_ne_bytes());
    out.extend_from_slice(&(number::REQUEST | flags).to_ne_bytes());
    // Sequence number, port; family and version of nfnetlink; the queue.
    out.extend_from_slice(&[0; 10]);
    out.extend_from_slice(&queue.to_be_bytes());
    body(out);
    let length = (out.len() - begin) as u32;
    out[begin..begin + 4].copy_from_slice(&length.to_ne_bytes());
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Drop,
    Accept,
    /// It is accepted, and a rule sets CE.
    Mark,
}

/// Sends a verdict; `note` is that of its packet ([`Queued::note`]).
///
/// A rule behind the queue sets CE of what is forwarded. What this host itself receives or sends goes through the chain
/// of its queue again instead, at whose beginning such a rule is; this also holds for everything if no rule is behind
/// ([`NfQueue::repeats`]).
fn give(out: &mut Vec<u8>, bits: MarkBits, queue: u16, id: u32, note: u32, verdict: Verdict) {
    let repeats = note & bits.both() != 0;
    let (what, mark) = match (verdict, repeats) {
        (Verdict::Drop, _) => (number::DROP, None),
        (Verdict::Accept, _) => (number::ACCEPT, Some(0)),
        (Verdict::Mark, false) => (number::ACCEPT, Some(bits.marked())),
        // Which tells it from a new one, that would wait.
        (Verdict::Mark, true) => (number::REPEAT, Some(bits.both())),
    };
    message(out, number::VERDICT, 0, queue, |out| {
        let mut value = [0; 8];
        value[..4].copy_from_slice(&what.to_be_bytes());
        value[4..].copy_from_slice(&id.to_be_bytes());
        attribute(out, number::VERDICT_HEADER, &value);
        if let Some(mark) = mark {
            attribute(out, number::MARK, &(note & !bits.both() | mark).to_be_bytes());
        }
    });
}

/// Accepts a packet that no algorithm may judge.
fn pass(out: &mut Vec<u8>, bits: MarkBits, queued: &Queued<'_>) {
    give(out, bits, queued.queue, queued.id, queued.note(bits), Verdict::Accept);
}

/// A packet as a message brings it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Queued<'a> {
    queue: u16,
    id: u32,
    bytes: u32,
    /// The firewall's mark.
    mark: u32,
    /// It is neither received nor sent by this host itself.
    forwarded: bool,
    payload: &'a [u8],
}

impl Queued<'_> {
    /// The mark as others' rules have left it. In the gateway's bits, which say nothing of others', is whether this host
    /// itself receives or sends the packet.
    fn note(&self, bits: MarkBits) -> u32 {
        // What was remembered of an earlier packet of its connection says nothing of this one.
        self.mark & !bits.both() | if self.forwarded { 0 } else { bits.marked() }
    }
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(*bytes.get(at..)?.first_chunk()?))
}

/// The kind of a message.
fn kind(message: &[u8]) -> Option<u16> {
    Some(u16::from_ne_bytes(*message.get(4..)?.first_chunk()?))
}

/// Reads a message; `None` if it is not a packet.
fn parse(message: &[u8]) -> Option<Queued<'_>> {
    if kind(message)? != number::SUBSYSTEM << 8 | number::PACKET {
        return None;
    }
    let queue = u16::from_be_bytes(*message.get(18..)?.first_chunk()?);
    let (mut id, mut payload, mut captured, mut mark, mut forwarded) = (None, None, None, 0, true);
    let mut at = 20;
    while let Some(head) = message.get(at..at + 4) {
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        let kind = u16::from_ne_bytes([head[2], head[3]]) & 0x3fff;
        let Some(value) = length.checked_sub(4).and_then(|n| message.get(at + 4..at + 4 + n)) else { break };
        match kind {
            // Its number, the protocol, the hook.
            number::HEADER => {
                id = word(value, 0);
                forwarded = value.get(6).is_none_or(|hook| *hook == number::FORWARD);
            }
            number::PAYLOAD => payload = Some(value),
            number::CAPTURED => captured = word(value, 0),
            // Which is not sent if it is zero.
            number::MARK => mark = word(value, 0).unwrap_or(0),
            _ => {}
        }
        at += length.next_multiple_of(4);
    }
    // None where the kernel copies nothing: it is a packet all the same, and waits for a verdict.
    let payload = payload.unwrap_or(&[]);
    Some(Queued { queue, id: id?, bytes: captured.unwrap_or(payload.len() as u32), mark, forwarded, payload })
}

impl NfQueue {
    /// A socket for two queues of the kernel's, which are still to be bound.
    ///
    /// # Errors
    /// If the kernel has no such sockets.
    pub fn open(queues: [u16; 2], bits: MarkBits, key: FlowKey) -> io::Result<Self> {
        Ok(NfQueue {
            fd: sys::netfilter_socket()?,
            queues,
            bits,
            buffer: vec![0; WIDTH * BATCH],
            lengths: [0; BATCH],
            // A verdict takes at most 40 bytes; what comes and goes in a turn is bounded by a batch and a line.
            verdicts: Vec::with_capacity(1 << 16),
            key,
            counters: QueueCounters::default(),
            unmarked: false,
            repeats: false,
        })
    }

    /// Binds the queues, which hold at most `most` packets each. Packets that come before this returns are accepted.
    ///
    /// # Errors
    /// If the kernel refuses: without CAP_NET_ADMIN, or if another program has one of them.
    pub fn bind(&mut self, most: u32) -> io::Result<()> {
        for queue in self.queues {
            let mut out = Vec::new();
            // In one message: a queue that is bound and has no parameters yet copies nothing.
            message(&mut out, number::CONFIG, number::ACK, queue, |out| {
                attribute(out, number::CFG_CMD, &[number::BIND, 0, 0, 0]);
                let mut params = [0; 5];
                params[..4].copy_from_slice(&COPIED.to_be_bytes());
                params[4] = number::COPY_PACKET;
                attribute(out, number::CFG_PARAMS, &params);
                attribute(out, number::CFG_MAXLEN, &most.to_be_bytes());
                attribute(out, number::CFG_MASK, &number::FAIL_OPEN.to_be_bytes());
                attribute(out, number::CFG_FLAGS, &number::FAIL_OPEN.to_be_bytes());
            });
            self.ask(&out).map_err(|e| match e.raw_os_error().map(Errno::from_raw_os_error) {
                Some(Errno::BUSY | Errno::PERM) => {
                    io::Error::new(e.kind(), format!("queue {queue}: {e}; another program may have it"))
                }
                _ => io::Error::new(e.kind(), format!("queue {queue}: {e}")),
            })?;
        }
        Ok(())
    }

    /// Lets the queues hold at most `most` packets each. What the kernel says to it is not waited for.
    pub fn resize(&mut self, most: u32) {
        for queue in self.queues {
            let mut out = Vec::new();
            message(&mut out, number::CONFIG, 0, queue, |out| {
                attribute(out, number::CFG_MAXLEN, &most.to_be_bytes());
            });
            if rustix::net::send(&self.fd, &out, rustix::net::SendFlags::empty()).is_err() {
                self.counters.refused += 1;
            }
        }
    }

    /// Sends a configuration and waits for what the kernel says.
    fn ask(&mut self, request: &[u8]) -> io::Result<()> {
        rustix::net::send(&self.fd, request, rustix::net::SendFlags::empty())?;
        let mut answer = [0u8; 4096];
        let mut waited = 0;
        while waited < 100 {
            match rustix::net::recv(&self.fd, &mut answer[..], rustix::net::RecvFlags::empty()) {
                Ok((_, length)) => {
                    let answer = &answer[..length.min(answer.len())];
                    // The rules may have been there before: one that comes in between is not to wait for ever.
                    if let Some(queued) = parse(answer) {
                        self.counters.passed += 1;
                        pass(&mut self.verdicts, self.bits, &queued);
                        self.send();
                        continue;
                    }
                    if kind(answer) == Some(number::ERROR)
                        && let Some(code) = answer.get(16..20)
                    {
                        let code = i32::from_ne_bytes([code[0], code[1], code[2], code[3]]);
                        return if code == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(-code)) };
                    }
                }
                Err(Errno::AGAIN | Errno::INTR) => {
                    waited += 1;
                    super::sleep(Duration::from_millis(10));
                }
                Err(e) => return Err(e.into()),
            }
        }
        Err(io::Error::other("the kernel does not answer"))
    }

    /// Waits until a packet comes or the time is over.
    ///
    /// # Errors
    /// If the socket is gone.
    pub fn wait(&self, timeout: Duration) -> io::Result<()> {
        super::wait([self.fd.as_fd()], timeout)
    }

    fn send(&mut self) {
        if self.verdicts.is_empty() {
            return;
        }
        if rustix::net::send(&self.fd, &self.verdicts, rustix::net::SendFlags::empty()).is_err() {
            self.counters.refused += 1;
        }
        self.verdicts.clear();
    }
}

/// The kernel's losses of two queues, as `/proc/net/netfilter/nfnetlink_queue` counts them. The file stays open,
/// because a process that has given up its rights may not open it.
#[derive(Debug)]
pub struct Losses {
    file: Option<std::fs::File>,
    queues: [u16; 2],
    text: Vec<u8>,
}

impl Losses {
    /// Those of `queues`; zeros if the kernel does not show them.
    pub fn of(queues: [u16; 2]) -> Self {
        let file = std::fs::File::open("/proc/thread-self/net/netfilter/nfnetlink_queue").ok();
        Losses { file, queues, text: vec![0; 1 << 14] }
    }

    /// The counts now.
    pub fn read(&mut self) -> KernelDrops {
        use std::os::unix::fs::FileExt;
        let Some(file) = &self.file else { return KernelDrops::default() };
        let length = file.read_at(&mut self.text, 0).unwrap_or(0);
        drops(std::str::from_utf8(&self.text[..length]).unwrap_or_default(), self.queues)
    }
}

/// Columns: queue, port, waiting, copy mode, copy range, dropped for want of room, dropped at the socket, sequence, 1.
fn drops(text: &str, queues: [u16; 2]) -> KernelDrops {
    let mut all = KernelDrops::default();
    for line in text.lines() {
        let mut columns = line.split_whitespace().map(|w| w.parse::<u64>().ok());
        let Some(Some(queue)) = columns.next() else { continue };
        if !queues.iter().any(|q| u64::from(*q) == queue) {
            continue;
        }
        if let (Some(Some(full)), Some(Some(lost))) = (columns.nth(4), columns.next()) {
            all.queue_dropped += full;
            all.user_dropped += lost;
        }
    }
    all
}

impl Ports for NfQueue {
    fn receive(&mut self, most: usize, arrivals: &mut Vec<(u8, Packet)>) -> io::Result<()> {
        let mut taken = 0;
        while taken < most {
            let batch = BATCH.min(most - taken);
            let count =
                sys::receive_batch(self.fd.as_fd(), &mut self.buffer, WIDTH, &mut self.lengths[..batch])?;
            for i in 0..count {
                let message = &self.buffer[i * WIDTH..i * WIDTH + self.lengths[i].min(WIDTH)];
                let Some(mut queued) = parse(message) else {
                    match kind(message) {
                        Some(number::ERROR) => self.counters.refused += 1,
                        _ => self.counters.strange += 1,
                    }
                    continue;
                };
                queued.forwarded &= !self.repeats;
                let path = if queued.queue == self.queues[0] { 0 } else { 1 };
                match Header::parse(queued.payload, &self.key) {
                    Some(header) => {
                        let mut packet = Packet::new(queued.id, queued.bytes, header);
                        packet.kept = queued.note(self.bits);
                        packet.tag = (queued.mark & !self.bits.both()) as u16;
                        arrivals.push((path, packet));
                    }
                    None => {
                        self.counters.passed += 1;
                        pass(&mut self.verdicts, self.bits, &queued);
                    }
                }
            }
            taken += count;
            if count < batch {
                break;
            }
        }
        Ok(())
    }

    #[inline]
    fn forward(&mut self, path: u8, packet: &Packet) {
        let queue = self.queues[usize::from(path)];
        let what = if packet.marked && !self.unmarked { Verdict::Mark } else { Verdict::Accept };
        give(&mut self.verdicts, self.bits, queue, packet.handle, packet.kept, what);
        if self.verdicts.len() > (1 << 16) - 64 {
            self.send();
        }
    }

    #[inline]
    fn discard(&mut self, path: u8, packet: &Packet) {
        let queue = self.queues[usize::from(path)];
        give(&mut self.verdicts, self.bits, queue, packet.handle, packet.kept, Verdict::Drop);
        if self.verdicts.len() > (1 << 16) - 64 {
            self.send();
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.send();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn packet(queue: u16, id: u32, captured: Option<u32>, payload: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        message(&mut out, number::PACKET, 0, queue, |out| {
            let mut header = id.to_be_bytes().to_vec();
            header.extend([8, 0, 2]);
            attribute(out, number::HEADER, &header);
            attribute(out, number::PAYLOAD, payload);
            if let Some(length) = captured {
                attribute(out, number::CAPTURED, &length.to_be_bytes());
            }
        });
        out
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]

        #[test]
        fn packets_are_read_and_damage_does_no_harm(
            queue: u16, id: u32, captured: Option<u32>,
            payload in prop::collection::vec(any::<u8>(), 0..200),
            damage in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            cut: prop::sample::Index,
        ) {
            let mut bytes = packet(queue, id, captured, &payload);
            let expected = Queued { queue, id, bytes: captured.unwrap_or(payload.len() as u32), mark: 0, forwarded: true, payload: &payload };
            prop_assert_eq!(parse(&bytes), Some(expected));
            for (at, value) in damage {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            let _ = parse(&bytes[..cut.index(bytes.len() + 1)]);
        }
    }

    #[test]
    fn verdicts_are_whole_messages() {
        let bits = MarkBits::default();
        let mut out = Vec::new();
        give(&mut out, bits, 7, 0x0102_0304, 7, Verdict::Mark);
        assert_eq!(out.len(), 40);
        assert_eq!(u32::from_ne_bytes(*out.first_chunk().unwrap()), 40);
        assert_eq!(&out[18..20], [0, 7]);
        assert_eq!(&out[24..32], [0, 0, 0, 1, 1, 2, 3, 4]);
        assert_eq!(&out[36..40], (bits.marked() | 7).to_be_bytes());
        // What this host itself sends is repeated if it is to be marked.
        for (own, marked, what, mark) in [
            (false, false, 1, 9),
            (true, false, 1, 9),
            (true, true, 4, bits.both() | 9),
            (false, true, 1, bits.marked() | 9),
        ] {
            out.clear();
            let verdict = if marked { Verdict::Mark } else { Verdict::Accept };
            give(&mut out, bits, 7, 1, 9 | if own { bits.marked() } else { 0 }, verdict);
            assert_eq!((&out[24..28], &out[36..40]), (&[0, 0, 0, what][..], &u32::to_be_bytes(mark)[..]));
        }
        out.clear();
        give(&mut out, bits, 7, 1, bits.marked() | 9, Verdict::Drop);
        assert_eq!((&out[24..28], out.len()), (&[0; 4][..], 32));
    }

    /// Only the bits of the gateway's are not as others' rules left them, and one that is remembered of another packet
    /// goes.
    #[test]
    fn a_note_has_the_mark_of_others() {
        let bits = MarkBits::from(3).unwrap();
        for mark in [1, bits.marked() | 1, bits.waits() | 1, bits.both() | 1] {
            let queued = Queued { queue: 7, id: 1, bytes: 40, mark, forwarded: true, payload: &[] };
            assert_eq!(queued.note(bits), 1);
            assert_eq!(Queued { forwarded: false, ..queued }.note(bits), bits.marked() | 1);
        }
        assert_eq!((MarkBits::from(30).unwrap().both(), MarkBits::from(31)), (3 << 30, None));
    }

    #[test]
    fn the_kernels_drops_are_those_of_the_queues() {
        let text = "    7  12345     0 2   160     3     4       99  1\n    8      1     0 2   160     5     6  1  1\n\
                    9 1 0 2 160 100 100 1 1\n";
        assert_eq!(
            drops(text, [7, 8]),
            KernelDrops { queue_dropped: 8, user_dropped: 10, ..Default::default() }
        );
    }
}
