//! RACK-TLP (RFC 8985): a packet is lost when one that was sent later has arrived and the reordering window
//! has passed, and a probe asks for acknowledgments when a flight ends without them.
//!
//! An acknowledgment costs the same in every window. The packets in flight are linked in the order of their
//! last transmission, so that those that may be lost come first; a mark stays at the last of them.

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;
use core::cmp::Reverse;

use quell_units::{Duration, Time};

use crate::entry::Entry;
use crate::ring::Ring;
use crate::scoreboard::Block;

/// The entry in the catalog.
pub(crate) const ENTRY: Entry = Entry {
    key: "recovery",
    name: "rack",
    title: "RACK-TLP",
    summary: "Losses are found by time, the tail of a flight is probed, and the window falls as with prr.",
    source: "RFC 8985 and RFC 9937",
    reads: &[
        "dup_threshold",
        "eifel",
        "frto",
        "loss_window",
        "mark_reduction",
        "rtt_samples",
        "sack_delay",
        "sack_sizes",
        "send_quantum",
        "small_queues",
    ],
    choices: &[
        "The receiver says which packet came twice (RFC 2883), in place of one of the three blocks. This enlarges the \
         reordering window (RFC 8985 section 6.2 step 4), and distinguishes a probe from a late acknowledgment.",
        "If everything that a recovery retransmitted came twice (RFC 3708 section 3) and nothing waits for \
         retransmission, the window, ssthresh and CUBIC's state are restored, unless the window is larger by then (RFC \
         9438 section 4.9.2). This also applies after timeouts, and BBR restores its model. It takes one round trip \
         longer than with timestamps (RFC 3522), and the window comes back at once.",
        "A packet that came twice counts only if it was retransmitted, once for each time (RFC 3708 section 3). Others \
         were copied by the network. Linux compares numbers instead: once more packets came twice than it has \
         retransmitted, it believes none.",
        "With eifel, an acknowledgment that advances says whether the first packet it newly acknowledges arrived from \
         its first transmission or a later one, as the echo of a timestamp would. After a timeout, the first such \
         acknowledgment undoes it (RFC 3522; RFC 4015 step DT.2 to SPR.2 without new timer values), and a second one \
         measures a round trip and ends the doubling of the timer, as in Linux. Recoveries that acknowledgments \
         started are not undone this way.",
        "With frto, packets that were outstanding at a timeout and sent only once undo it when they arrive, \
         selectively acknowledged or not (RFC 5682 section 3.1; Linux needs one of them). The first acknowledgment \
         that advances but leaves some packets outstanding sends new packets before lost ones.",
        "Undoing a timeout restores the window and the threshold, unless an echo of a mark has arrived since. What the \
         timer considered lost is in flight again.",
        "Reductions by a mark, or by a loss that a probe repaired, are not undone. If a retransmission or an \
         acknowledgment was lost, too, the window stays reduced.",
        "The smallest round-trip time is that of the connection; TLP.max_ack_delay is 200 ms.",
        "Until reordering is seen, dup_threshold packets acknowledged beyond a gap need no reordering window (RFC 8985 section 6.2).",
        "A timeout does not lower the threshold again if it was already lowered for the outstanding data: by a \
         recovery, as in Linux, because a proportional reduction leaves a window that is not what was in flight, or by \
         a timeout after which nothing was acknowledged (RFC 5681 section 3.1). A SYN that times out leaves a window \
         of one packet (RFC 5681 section 3.1; Linux keeps the initial window after one lost SYN) and the threshold \
         unchanged.",
        "Losses of the next window that are found during a recovery start another one when it ends, as in Linux (RFC \
         5681 section 4.3).",
        "A retransmission that is lost again during recovery is resent without a further reduction, as in Linux (RFC \
         5681 section 4.3 asks for one). After a timeout it starts a recovery, which reduces the window, in both.",
    ],
    ..Entry::PLAIN
};

/// TLP.max_ack_delay (RFC 8985 section 7.2): how long the acknowledgment of a single packet may be held back.
pub(crate) const MAX_ACK_DELAY: Duration = Duration::from_millis(200);
/// The probe timeout before the first measurement (RFC 8985 section 7.2).
const FIRST_PROBE: Duration = Duration::from_secs(1);

/// Recoveries without a duplicate after which the reordering window is small again (section 6.2 step 4).
const PERSIST: u32 = 16;

/// No packet: their numbers begin with 1.
const NONE: u32 = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Flying,
    Lost,
    Delivered,
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    /// The time at which it was sent last.
    sent: Time,
    /// Those that were sent before and after it, of the flying ones. Before the first of them is any, and after the
    /// last the next number, which is most often the next to be sent. Of a run of packets beyond the cumulative
    /// acknowledgment that have been delivered, the last one has the first one as `before`, and the first one has the
    /// one behind the last as `after`.
    before: u32,
    after: u32,
    state: State,
    /// It was sent more than once.
    again: bool,
    /// It was lost.
    lost: bool,
}

impl Packet {
    /// A new one, sent at `now` with those from `from` on behind `tail`.
    #[inline(always)]
    fn new(seq: u32, from: u32, tail: u32, now: Time) -> Self {
        Packet {
            sent: now,
            before: if seq == from { tail } else { seq - 1 },
            after: seq + 1,
            state: State::Flying,
            again: false,
            lost: false,
        }
    }
}

/// A packet that an acknowledgment delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Delivery {
    /// The time since it was sent last.
    pub rtt: Duration,
    /// It was sent more than once: its round-trip time is not known (Karn's rule).
    pub again: bool,
}

/// The state of RACK-TLP.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    packets: Ring<Packet>,
    /// One past the highest packet that was sent more than once.
    again_below: u32,
    /// The flying packets that were sent first and last.
    head: u32,
    tail: u32,
    /// The last flying one that was sent before `latest`.
    mark: u32,
    flying: u32,
    /// The number of those beyond the cumulative acknowledgment that have been delivered.
    sacked: u32,
    /// The number of those that were lost, sent again or not, and have not been delivered.
    unrepaired: u32,
    /// Lost packets that are to be sent again, and some that are not any more.
    lost: BinaryHeap<Reverse<u32>>,
    /// A packet was lost that had been sent again, since [`Rack::detect`] began.
    lost_again: bool,
    /// RACK.xmit_ts and RACK.end_seq: of the delivered packets, the one that was sent last.
    latest: (Time, u32),
    /// That packet was sent more than once, so what has arrived may have been sent earlier.
    ambiguous: bool,
    /// The acknowledgment under way is of what was sent first: what was sent again has not come.
    pub late: bool,
    /// RACK.rtt: its round-trip time.
    rtt: Duration,
    /// RACK.min_RTT.
    min_rtt: Duration,
    /// RACK.fack: one past the highest packet delivered.
    fack: u32,
    /// RACK.reordering_seen.
    reordered: bool,
    /// RACK.reo_wnd.
    window: Duration,
    /// RACK.reo_wnd_mult, RACK.reo_wnd_persist and RACK.dsack_round.
    multiple: u32,
    persist: u32,
    round: Option<u32>,
    /// The packets that were retransmitted since the recovery before the last one began, once for each time, of which
    /// the receiver has not said that they came twice; and the first packet of the last recovery.
    resent: Vec<u32>,
    recovered_from: u32,
    /// The time at which packets may be lost without a further acknowledgment.
    pub due: Time,
    pub tlp: Tlp,
}

/// The tail loss probe.
#[derive(Clone, Debug)]
pub(crate) struct Tlp {
    /// The time at which it goes.
    pub due: Time,
    /// The time at which that was decided, if a timer runs.
    pub decided: Time,
    /// It goes now.
    pub pending: bool,
    /// TLP.end_seq while a probe is on its way, and TLP.is_retrans.
    pub sent: Option<(u32, bool)>,
    /// A round-trip time was measured since the last probe (section 7.3).
    pub measured: bool,
}

impl Tlp {
    fn new() -> Self {
        Tlp { due: Time::MAX, decided: Time::MAX, pending: false, sent: None, measured: true }
    }

    /// Starts the timer again for a flight of so many packets (RFC 8985 section 7.2); `rto` is when the
    /// retransmission timer runs out.
    #[inline(always)]
    pub fn schedule(&mut self, now: Time, flight: u32, srtt: Option<Duration>, rto: Time) {
        self.due = Time::MAX;
        self.decided = now;
        if flight > 0 && self.sent.is_none() {
            self.schedule_in_order(now, flight, srtt, rto);
        }
    }

    /// [`Tlp::schedule`] where no probe is on its way and something else is.
    #[inline(always)]
    pub fn schedule_in_order(&mut self, now: Time, flight: u32, srtt: Option<Duration>, rto: Time) {
        self.decided = now;
        if !self.measured {
            self.due = Time::MAX;
            return;
        }
        let Some(srtt) = srtt else {
            self.due = (now + FIRST_PROBE).min(rto);
            return;
        };
        let delay = if flight == 1 { MAX_ACK_DELAY } else { Duration::ZERO };
        self.due = (now + (srtt + srtt) + delay).min(rto);
    }

    /// An acknowledgment of all below `ack` arrives (RFC 8985 section 7.4.2), a duplicate of the last one
    /// without blocks or not, or one that says that a packet came twice; true if the probe has repaired a loss.
    pub fn on_ack(&mut self, ack: u32, plain_duplicate: bool, twice: Option<u32>) -> bool {
        let Some((end, again)) = self.sent else { return false };
        if ack < end {
            return false;
        }
        let needless = twice.is_some_and(|seq| seq + 1 == end);
        let repaired = again && !needless && ack > end;
        if !again || needless || repaired || plain_duplicate {
            self.sent = None;
        }
        repaired
    }
}

impl Rack {
    pub fn new() -> Self {
        Rack {
            packets: Ring::new(),
            again_below: 0,
            head: NONE,
            tail: NONE,
            mark: NONE,
            flying: 0,
            sacked: 0,
            unrepaired: 0,
            lost: BinaryHeap::new(),
            lost_again: false,
            latest: (Time::ZERO, 0),
            ambiguous: false,
            late: false,
            rtt: Duration::ZERO,
            min_rtt: Duration::MAX,
            fack: 0,
            reordered: false,
            window: Duration::ZERO,
            multiple: 1,
            persist: 0,
            round: None,
            resent: Vec::new(),
            recovered_from: 0,
            due: Time::MAX,
            tlp: Tlp::new(),
        }
    }

    /// A new connection; keeps the memory.
    pub fn clear(&mut self) {
        let mut packets = core::mem::replace(&mut self.packets, Ring::new());
        let mut lost = core::mem::take(&mut self.lost);
        let mut resent = core::mem::take(&mut self.resent);
        packets.clear();
        lost.clear();
        resent.clear();
        *self = Rack { packets, lost, resent, ..Rack::new() };
    }

    fn packet(&mut self, seq: u32) -> &mut Packet {
        &mut self.packets[seq]
    }

    /// The time at which the first packet that is not acknowledged was sent.
    #[inline]
    pub fn first_sent(&self) -> Option<Time> {
        let first = self.packets.first();
        (!self.packets.is_empty()).then(|| self.packets[first].sent)
    }

    /// [`Rack::first_sent`], if that packet was sent once.
    pub fn first_sent_once(&self) -> Option<Time> {
        let first = self.packets.first();
        (!self.packets.is_empty() && !self.packets[first].again).then(|| self.packets[first].sent)
    }

    /// Returns whether a packet that was sent again cannot have come back in this time: what came is of an earlier
    /// transmission.
    pub fn is_too_soon(&self, rtt: Duration) -> bool {
        rtt < self.min_rtt
    }

    /// Returns whether a packet was lost that has not been delivered since.
    pub fn is_repairing(&self) -> bool {
        self.unrepaired > 0
    }

    /// The number of lost packets that have been sent again and may still come.
    pub fn flying_again(&self) -> u32 {
        let all = self.packets.first()..self.packets.end();
        all.filter(|seq| self.packets[*seq].lost && self.packets[*seq].state == State::Flying).count() as u32
    }

    /// Packets thought to be on their way.
    pub fn flying(&self) -> u32 {
        self.flying
    }

    /// The number of packets beyond the cumulative acknowledgment that are known to have arrived.
    #[inline(always)]
    pub fn sacked(&self) -> u32 {
        self.sacked
    }

    /// The flying packet that was sent before this one, if there is one.
    fn before(&self, seq: u32) -> u32 {
        if seq == self.head { NONE } else { self.packets[seq].before }
    }

    /// And the one that was sent after it.
    fn after(&self, seq: u32) -> u32 {
        if seq == self.tail { NONE } else { self.packets[seq].after }
    }

    fn unlink(&mut self, seq: u32) {
        self.unlink_from(seq, self.before(seq), self.after(seq));
    }

    /// Those before and after a flying packet fly behind each other.
    #[inline(always)]
    fn unlink_from(&mut self, seq: u32, before: u32, after: u32) {
        match before {
            NONE => self.head = after,
            _ => self.packet(before).after = if after == NONE { before + 1 } else { after },
        }
        match after {
            NONE => self.tail = before,
            _ => self.packet(after).before = before,
        }
        if self.mark == seq {
            self.mark = before;
        }
        self.flying -= 1;
    }

    /// Returns whether the packets are in flight as they were first sent, none of them is suspect, and no probe is on
    /// its way.
    pub fn is_in_order(&self) -> bool {
        self.mark == NONE
            && self.packets.first() >= self.again_below
            && self.lost.is_empty()
            && self.flying == self.packets.len()
            && self.tlp.sent.is_none()
            && !self.tlp.pending
    }

    /// The time at which packet `seq` was sent last.
    #[inline(always)]
    pub fn sent_at(&self, seq: u32) -> Time {
        self.packets[seq].sent
    }

    /// [`Rack::deliver`] and [`Rack::forget_below`] for the first `n` packets, where [`Rack::is_in_order`]; the last
    /// of them was sent at `sent` and has this round-trip time, which is the smallest.
    #[inline(always)]
    pub fn deliver_first(&mut self, n: u32, sent: Time, rtt: Duration) {
        debug_assert!(
            self.is_in_order() && self.due == Time::MAX && n > 0 && self.head == self.packets.first()
        );
        let una = self.head + n;
        self.min_rtt = self.min_rtt.min(rtt);
        // What was sent again and has arrived may have been sent later.
        let (latest, seq) = self.latest;
        if sent > latest || (sent == latest && una - 1 > seq) {
            self.latest = (sent, una - 1);
            self.ambiguous = false;
            self.rtt = rtt;
        }
        self.packets.forget_first(una);
        debug_assert!(una > self.fack);
        self.fack = una;
        self.flying -= n;
        self.head = una;
        if self.flying == 0 {
            (self.head, self.tail) = (NONE, NONE);
        }
    }

    /// A packet is sent (section 6.1).
    #[inline]
    pub fn sent(&mut self, seq: u32, now: Time) {
        if seq < self.packets.end() && !self.packets.is_empty() {
            self.sent_again(seq, now);
        } else {
            self.packets.push(seq, Packet::new(seq, seq, self.tail, now));
            self.link(seq, seq + 1);
        }
    }

    /// [`Rack::sent`] for new packets, from `from` to before `to`.
    #[inline(always)]
    pub fn sent_new(&mut self, from: u32, to: u32, now: Time) {
        let tail = self.tail;
        self.packets.extend(from, to, |seq| Packet::new(seq, from, tail, now));
        self.link(from, to);
    }

    /// Returns whether [`Rack::sent_next`] has room.
    #[inline(always)]
    pub fn has_room(&self) -> bool {
        self.packets.has_room()
    }

    /// [`Rack::sent`] for the next new packet, which is `seq`, where there is room.
    #[inline(always)]
    pub fn sent_next(&mut self, seq: u32, now: Time) {
        self.packets.push_within(Packet::new(seq, seq, self.tail, now));
        self.link(seq, seq + 1);
    }

    /// New packets, from `from` to before `to`, fly behind all others.
    #[inline(always)]
    fn link(&mut self, from: u32, to: u32) {
        let tail = core::mem::replace(&mut self.tail, to - 1);
        if self.flying == 0 {
            self.head = from;
        } else if tail != from - 1 {
            self.packet(tail).after = from;
        }
        self.flying += to - from;
    }

    #[inline(never)]
    fn sent_again(&mut self, seq: u32, now: Time) {
        self.resent.push(seq);
        if self.packet(seq).state == State::Flying {
            self.unlink(seq);
        }
        let lost = self.packet(seq).lost;
        let tail = core::mem::replace(&mut self.tail, seq);
        *self.packet(seq) =
            Packet { sent: now, before: tail, after: seq + 1, state: State::Flying, again: true, lost };
        self.again_below = self.again_below.max(seq + 1);
        match tail {
            NONE => self.head = seq,
            _ => self.packet(tail).after = seq,
        }
        self.flying += 1;
    }

    /// All packets below `una` are acknowledged, and those of the `blocks` selectively. Calls `each` for those that
    /// were not before, in rising order. What was delivered before is passed by run and not by packet.
    #[inline(always)]
    pub fn acknowledge(
        &mut self,
        una: u32,
        blocks: &[Block],
        now: Time,
        mut each: impl FnMut(u32, Delivery),
    ) {
        let mut seq = self.packets.first();
        while seq < una {
            if let Some(delivery) = self.deliver(seq, now) {
                each(seq, delivery);
                seq += 1;
            } else {
                let end = self.packets[seq].after.min(una);
                self.sacked -= end - seq;
                seq = end;
            }
        }
        self.packets.forget_below(una);
        // Most often one of the blocks has grown by a packet, and the others are known.
        let (mut news, mut n) = ([(0, 0); 3], 0);
        for &(from, to) in blocks.iter().take(3) {
            let from = from.max(una);
            let known = from >= to || {
                let Packet { state, after, .. } = self.packets[from];
                state == State::Delivered && after >= to
            };
            if !known {
                news[n] = (from, to);
                n += 1;
            }
        }
        if n > 1 {
            news[..n].sort_unstable();
        }
        for &(mut seq, to) in &news[..n] {
            while seq < to {
                if let Some(delivery) = self.deliver(seq, now) {
                    self.join(seq);
                    each(seq, delivery);
                    seq += 1;
                } else {
                    seq = self.packets[seq].after;
                }
            }
        }
    }

    /// A packet beyond the cumulative acknowledgment has been delivered: it joins the runs on either side.
    #[inline(always)]
    fn join(&mut self, seq: u32) {
        let (mut first, mut end) = (seq, seq + 1);
        if seq > self.packets.first() && self.packets[seq - 1].state == State::Delivered {
            first = self.packets[seq - 1].before;
        }
        if end < self.packets.end() && self.packets[end].state == State::Delivered {
            end = self.packets[end].after;
        }
        self.sacked += 1;
        if end - first > 1 {
            self.packets[first].after = end;
            self.packets[end - 1].before = first;
        }
    }

    /// A packet is acknowledged, cumulatively or selectively (section 6.2 steps 1 to 3); `None` if it was before.
    /// Those of one acknowledgment come in rising order.
    #[inline(always)]
    fn deliver(&mut self, seq: u32, now: Time) -> Option<Delivery> {
        let (head, tail) = (self.head, self.tail);
        let packet = self.packet(seq);
        let Packet { sent, before, after, state, again, lost } = *packet;
        if state == State::Delivered {
            return None;
        }
        // A run of its own.
        (packet.before, packet.after, packet.state) = (seq, seq + 1, State::Delivered);
        if state == State::Flying {
            let before = if seq == head { NONE } else { before };
            self.unlink_from(seq, before, if seq == tail { NONE } else { after });
        }
        self.unrepaired -= u32::from(lost);
        let rtt = now - sent;
        if !again {
            self.min_rtt = self.min_rtt.min(rtt);
        }
        if seq >= self.fack {
            self.fack = seq + 1;
        } else if !again {
            self.reordered = true;
        }
        // A retransmission that is acknowledged sooner than any packet: it was not needed.
        if !(again && (rtt < self.min_rtt || self.late)) && (sent, seq) > self.latest {
            self.latest = (sent, seq);
            self.ambiguous = again;
            self.rtt = rtt;
        }
        Some(Delivery { rtt, again })
    }

    /// A recovery begins, with `una` as the first packet that is outstanding.
    pub fn begin_recovery(&mut self, una: u32) {
        let before = core::mem::replace(&mut self.recovered_from, una);
        self.resent.retain(|seq| *seq >= before);
    }

    /// An acknowledgment of all below `una` says that the packet `seq` came twice, while those below `next` had been
    /// sent: once in a round trip the reordering window grows (section 6.2 step 4).
    ///
    /// Returns whether that is news of a retransmission. Otherwise, the network has copied the packet (RFC 3708 section
    /// 3).
    pub fn on_duplicate(&mut self, seq: u32, una: u32, next: u32) -> bool {
        let Some(at) = self.resent.iter().position(|resent| *resent == seq) else { return false };
        self.resent.swap_remove(at);
        if self.round.is_none_or(|end| una >= end) {
            self.round = Some(next);
            self.multiple += 1;
            self.persist = PERSIST;
        }
        true
    }

    /// A recovery ends in which nothing came twice (section 6.2 step 4).
    pub fn on_recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.multiple = 1;
        }
    }

    /// RACK_update_reo_wnd() (section 6.2 step 4). `certain`: a recovery is under way, or as many packets
    /// are selectively acknowledged as duplicates would signal a loss.
    pub fn set_window(&mut self, certain: bool, srtt: Option<Duration>) {
        self.window = if !self.reordered && certain {
            Duration::ZERO
        } else {
            (self.min_rtt / 4 * u64::from(self.multiple)).min(srtt.unwrap_or(Duration::MAX))
        };
    }

    /// [`Rack::set_window`] after acknowledgments that [`Rack::deliver_first`] took: it is asked for when a timer runs
    /// out.
    pub fn set_window_in_order(&mut self, srtt: Option<Duration>) {
        if self.min_rtt != Duration::MAX {
            self.set_window(false, srtt);
        }
    }

    /// Returns whether [`Rack::detect`] found that a packet was lost that had been sent again, since a packet that was
    /// sent later and only once has arrived.
    pub fn has_lost_again(&self) -> bool {
        self.lost_again && !self.ambiguous
    }

    /// RACK_detect_loss_and_arm_timer() (section 6.2 step 5). Calls `each` for each lost packet and returns
    /// how many there are.
    #[inline(always)]
    pub fn detect(&mut self, now: Time, each: impl FnMut(u32)) -> u32 {
        self.lost_again = false;
        loop {
            let next = if self.mark == NONE { self.head } else { self.after(self.mark) };
            if next == NONE || (self.packet(next).sent, next) >= self.latest {
                break;
            }
            self.mark = next;
        }
        if self.mark == NONE {
            // Most often nothing flies that was sent earlier.
            self.due = Time::MAX;
            return 0;
        }
        self.judge(now, each)
    }

    /// Those up to the mark are lost if they are overdue.
    #[inline(never)]
    fn judge(&mut self, now: Time, mut each: impl FnMut(u32)) -> u32 {
        let limit = self.rtt + self.window;
        let mut found = 0;
        while self.mark != NONE && self.packet(self.head).sent + limit <= now {
            let seq = self.head;
            self.lose(seq);
            each(seq);
            found += 1;
        }
        self.due = if self.mark == NONE { Time::MAX } else { self.packet(self.mark).sent + limit };
        found
    }

    /// RACK_mark_losses_on_RTO() (section 6.3): the first packet, and all that would have been acknowledged by
    /// now, for which `reordering` waits longer (Linux does not: tcp_timeout_mark_lost() in tcp_input.c).
    pub fn on_timeout(&mut self, una: u32, now: Time, reordering: bool, mut each: impl FnMut(u32)) {
        let limit = if reordering { self.rtt + self.window } else { self.rtt };
        while self.head != NONE && self.packet(self.head).sent + limit <= now {
            let seq = self.head;
            self.lose(seq);
            each(seq);
        }
        if self.packet(una).state == State::Flying {
            self.lose(una);
            each(una);
        }
        self.due = Time::MAX;
        self.tlp.due = Time::MAX;
    }

    fn lose(&mut self, seq: u32) {
        self.unlink(seq);
        let packet = self.packet(seq);
        packet.state = State::Lost;
        let before = core::mem::replace(&mut packet.lost, true);
        self.unrepaired += u32::from(!before);
        self.lost_again |= before;
        self.lost.push(Reverse(seq));
    }

    /// Nothing was lost: what was taken for that and was not sent again since flies again, as it was sent.
    pub fn unlose(&mut self) {
        let mut flying: Vec<(Time, u32)> = Vec::new();
        for seq in self.packets.first()..self.packets.end() {
            let packet = self.packet(seq);
            packet.lost = false;
            if packet.state == State::Lost {
                packet.state = State::Flying;
            }
            if packet.state == State::Flying {
                flying.push((packet.sent, seq));
            }
        }
        flying.sort_unstable();
        (self.head, self.tail, self.mark) = (NONE, NONE, NONE);
        for &(_, seq) in &flying {
            let tail = core::mem::replace(&mut self.tail, seq);
            let packet = self.packet(seq);
            (packet.before, packet.after) = (tail, seq + 1);
            match tail {
                NONE => self.head = seq,
                _ => self.packet(tail).after = seq,
            }
        }
        self.flying = flying.len() as u32;
        self.unrepaired = 0;
        self.lost.clear();
    }

    /// The first packet that is to be sent again.
    pub fn next_lost(&mut self) -> Option<u32> {
        while let Some(&Reverse(seq)) = self.lost.peek() {
            if seq >= self.packets.first() && self.packet(seq).state == State::Lost {
                return Some(seq);
            }
            self.lost.pop();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ms(x: u64) -> Time {
        Time::ZERO + Duration::from_millis(x)
    }

    /// Packets 1 to n, one each millisecond from 1 ms on.
    fn flight(n: u32) -> Rack {
        let mut r = Rack::new();
        (1..=n).for_each(|seq| r.sent(seq, ms(seq as u64)));
        r
    }

    fn lost(r: &mut Rack, now: Time) -> Vec<u32> {
        let mut out = Vec::new();
        r.detect(now, |seq| out.push(seq));
        out
    }

    #[test]
    fn packets_sent_before_one_that_arrives_are_lost_after_the_window() {
        let mut r = flight(10);
        r.deliver(5, ms(105));
        r.set_window(false, None);
        // A quarter of 100 ms: packets 1 to 4 are due from 126 to 129 ms, and the timer runs until the last is.
        assert_eq!(lost(&mut r, ms(105)), []);
        assert_eq!(r.due, ms(4 + 125));
        assert_eq!(lost(&mut r, ms(127)), [1, 2]);
        assert_eq!(lost(&mut r, ms(129)), [3, 4]);
        assert_eq!((r.due, r.flying()), (Time::MAX, 5));
        assert_eq!(r.next_lost(), Some(1));
    }

    #[test]
    fn no_window_is_left_once_a_loss_is_certain_unless_packets_were_reordered() {
        let mut r = flight(10);
        r.deliver(5, ms(105));
        r.set_window(true, None);
        assert_eq!(lost(&mut r, ms(105)), [1, 2, 3, 4]);
        let mut r = flight(10);
        r.deliver(5, ms(105));
        r.deliver(4, ms(106));
        r.set_window(true, None);
        assert_eq!(lost(&mut r, ms(106)), []);
        assert_eq!(r.due, ms(3 + 100 + 25));
        // Never more than a smoothed round trip (section 6.2 step 4).
        r.set_window(true, Some(Duration::from_millis(20)));
        assert_eq!(lost(&mut r, ms(106)), []);
        assert_eq!(r.due, ms(3 + 100 + 20));
    }

    #[test]
    fn the_window_grows_with_duplicates_and_is_small_again_after_sixteen_recoveries() {
        let mut r = flight(10);
        r.deliver(5, ms(105));
        r.deliver(4, ms(106));
        let due = |r: &mut Rack| {
            r.set_window(true, None);
            lost(r, ms(106));
            r.due
        };
        assert_eq!(due(&mut r), ms(103 + 25));
        // A copy of the network's making says nothing.
        assert!(!r.on_duplicate(1, 2, 11));
        assert_eq!(due(&mut r), ms(103 + 25));
        r.resent.extend([1, 2, 3]);
        // Once in a round trip.
        assert!(r.on_duplicate(1, 2, 11));
        assert!(r.on_duplicate(2, 10, 12));
        assert_eq!(due(&mut r), ms(103 + 50));
        assert!(r.on_duplicate(3, 11, 12));
        // Each retransmission comes twice once.
        assert!(!r.on_duplicate(3, 12, 13));
        assert_eq!(due(&mut r), ms(103 + 75));
        (0..15).for_each(|_| r.on_recovered());
        assert_eq!(due(&mut r), ms(103 + 75));
        r.on_recovered();
        assert_eq!(due(&mut r), ms(103 + 25));
    }

    #[test]
    fn a_retransmission_is_lost_when_something_sent_later_arrives() {
        let mut r = flight(4);
        r.deliver(3, ms(103));
        r.set_window(true, None);
        assert_eq!(lost(&mut r, ms(103)), [1, 2]);
        r.sent(1, ms(103));
        r.sent(5, ms(104));
        r.deliver(4, ms(104));
        assert_eq!(lost(&mut r, ms(104)), [], "it was sent before the retransmission");
        r.deliver(5, ms(204));
        assert_eq!(lost(&mut r, ms(204)), [1]);
    }

    #[test]
    fn an_acknowledgment_of_the_original_is_not_of_the_retransmission() {
        let mut r = flight(4);
        r.deliver(4, ms(104));
        r.set_window(true, None);
        lost(&mut r, ms(104));
        r.sent(1, ms(110));
        r.sent(2, ms(111));
        // 1 was late, not lost.
        assert_eq!(r.deliver(1, ms(115)), Some(Delivery { rtt: Duration::from_millis(5), again: true }));
        assert_eq!(r.latest, (ms(4), 4));
        // Its own acknowledgment takes a round trip.
        r.deliver(2, ms(211));
        assert_eq!(r.latest, (ms(111), 2));
    }

    #[test]
    fn a_timeout_loses_the_first_packet_and_those_that_are_overdue() {
        let mut r = flight(10);
        r.acknowledge(2, &[], ms(101), |_, _| ());
        r.set_window(false, None);
        let mut out = Vec::new();
        r.on_timeout(2, ms(131), true, |seq| out.push(seq));
        assert_eq!(out, [2, 3, 4, 5, 6]);
        let mut r = flight(10);
        r.acknowledge(2, &[], ms(101), |_, _| ());
        out.clear();
        r.on_timeout(2, ms(101), true, |seq| out.push(seq));
        assert_eq!(out, [2]);
    }

    #[test]
    fn a_probe_goes_after_two_round_trips_and_waits_for_a_held_acknowledgment() {
        let srtt = Some(Duration::from_millis(100));
        let mut t = Tlp::new();
        t.schedule(ms(10), 5, srtt, Time::MAX);
        assert_eq!(t.due, ms(210));
        t.schedule(ms(10), 1, srtt, Time::MAX);
        assert_eq!(t.due, ms(410));
        t.schedule(ms(10), 5, None, Time::MAX);
        assert_eq!(t.due, ms(1010));
        t.schedule(ms(10), 5, srtt, ms(150));
        assert_eq!(t.due, ms(150), "not later than the retransmission timer");
        t.schedule(ms(10), 0, srtt, Time::MAX);
        assert_eq!(t.due, Time::MAX);
        t.sent = Some((7, true));
        t.schedule(ms(10), 5, srtt, Time::MAX);
        assert_eq!(t.due, Time::MAX, "one at a time");
    }

    #[test]
    fn a_probe_s_loss_is_told_from_a_late_acknowledgment() {
        let probe = |again| Tlp { sent: Some((7, again)), ..Tlp::new() };
        let mut t = probe(true);
        assert!(!t.on_ack(6, false, None) && !t.on_ack(7, false, None));
        assert_eq!(t.sent, Some((7, true)));
        assert!(t.on_ack(8, false, None), "nobody reports the probe as a duplicate");
        let mut t = probe(true);
        assert!(!t.on_ack(8, false, Some(6)), "the probe came twice");
        assert_eq!(t.sent, None);
        let mut t = probe(true);
        assert!(!t.on_ack(7, true, None), "both have arrived");
        assert_eq!(t.sent, None);
        let mut t = probe(false);
        assert!(!t.on_ack(8, false, None), "it was new data");
        assert_eq!(t.sent, None);
    }

    fn all(r: &Rack) -> impl Iterator<Item = (Packet, u32)> {
        (r.packets.first()..r.packets.end()).map(|seq| (r.packets[seq], seq))
    }

    /// What is lost by the definition: walks over all packets.
    fn by_definition(r: &Rack, now: Time) -> Vec<u32> {
        let flying = all(r).filter(|(p, _)| p.state == State::Flying);
        let before = flying.filter(|(p, seq)| (p.sent, *seq) < r.latest);
        before.filter(|(p, _)| p.sent + r.rtt + r.window <= now).map(|(_, seq)| seq).collect()
    }

    proptest! {
        #[test]
        fn the_list_finds_what_the_definition_does(
            steps in proptest::collection::vec((0u8..6, 0u32..20, 1u64..30), 1..200),
        ) {
            let (mut r, mut now, mut max) = (Rack::new(), ms(0), 1);
            for (what, which, gap) in steps {
                now += Duration::from_millis(gap);
                match what {
                    0 | 1 => {
                        let seq = r.next_lost().unwrap_or(max);
                        r.sent(seq, now);
                        max = max.max(seq + 1);
                    }
                    2 | 3 if max > r.packets.first() => {
                        let first = r.packets.first();
                        let seq = first + which % (max - first);
                        r.acknowledge(first, &[(seq, (seq + which % 5 + 1).min(max))], now, |_, _| ());
                    }
                    4 => {
                        let mut una = r.packets.first();
                        while una < max && r.packet(una).state == State::Delivered {
                            una += 1;
                        }
                        r.acknowledge(una, &[], now, |seq, _| panic!("{seq} has been delivered"));
                    }
                    // What was lost is not, among it what was sent again.
                    5 if which < 4 => {
                        r.unlose();
                        prop_assert!(r.next_lost().is_none() && !r.is_repairing());
                    }
                    _ => {}
                }
                r.set_window(which % 2 == 0, None);
                if r.min_rtt == Duration::MAX {
                    continue;
                }
                let want = by_definition(&r, now);
                let mut got = lost(&mut r, now);
                got.sort();
                prop_assert_eq!(got, want);
                let flying = all(&r).filter(|(p, _)| p.state == State::Flying).count();
                prop_assert_eq!(r.flying() as usize, flying);
                let sacked = all(&r).filter(|(p, _)| p.state == State::Delivered).count();
                prop_assert_eq!(r.sacked() as usize, sacked);
                let last = all(&r)
                    .filter(|(p, seq)| p.state == State::Flying && (p.sent, *seq) < r.latest)
                    .map(|(p, _)| p.sent + r.rtt + r.window).max();
                prop_assert_eq!(r.due, last.unwrap_or(Time::MAX));
            }
        }
    }
}
