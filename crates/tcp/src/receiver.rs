//! The receiving end of a TCP connection.

use alloc::collections::VecDeque;

use quell_units::{Duration, Time};

use crate::choices::{Feedback, Recovery};
use crate::feedback::{ACE, Report};
use crate::params::{Config, Reports};
use crate::scoreboard::{Block, SackBlocks};

/// A SYN or data packet that arrives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Arrival {
    /// The connection of the flow to which it belongs.
    pub epoch: u8,
    /// It opens the connection.
    pub syn: bool,
    /// Its number.
    pub seq: u32,
    /// It was marked on its way (RFC 3168 section 5).
    pub ce: bool,
    /// The sender has reduced its window (RFC 3168 section 6.1.2).
    pub cwr: bool,
    /// It was sent before, if [`Config::tells_again`].
    pub again: bool,
}

/// An acknowledgment to send, without [`Receiver::report`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Acknowledgment {
    /// The connection of the flow to which it belongs.
    pub epoch: u8,
    /// The next packet expected.
    pub next: u32,
    /// It echoes a mark (RFC 3168 section 6.1.3).
    pub ece: bool,
}

/// The reaction of the receiver to a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Received {
    /// It was data not seen before.
    pub new: bool,
    /// An acknowledgment must be sent now.
    pub acknowledge: bool,
}

/// The receiver: what has arrived, and what is owed to the sender.
#[derive(Clone, Debug)]
pub struct Receiver {
    /// The next packet in order.
    next: u32,
    epoch: u8,
    /// Echo congestion until the sender says that it has reduced its window (RFC 3168 section 6.1.3). Where marks
    /// are counted: the last packet was marked.
    echo: bool,
    /// The first packet since the last acknowledgment was one that had been sent before: its timestamp is the one to be
    /// echoed (RFC 7323 section 4.3).
    again: bool,
    /// Packets in order that have not been acknowledged yet (delayed acknowledgment).
    owed: u32,
    /// The time at which an owed acknowledgment must go, or at which what was gathered is taken in.
    deadline: Time,
    /// Packets in order that are gathered, and when an acknowledgment must go that was owed before them.
    gathered: u32,
    owed_by: Time,
    /// Runs received out of order, rising, apart from each other, all above `next`: many where a slow
    /// start has overrun a long queue. They come at the back and go at the front.
    blocks: VecDeque<Block>,
    /// The blocks of the latest packets that came out of order, the latest first: they order those of a selective
    /// acknowledgment (RFC 2018 section 4). What lies below `next` is not a block any more.
    recent: [Block; 3],
    /// Counts of the packets that came marked, and of those of which the sender was told, where marks are counted.
    marks: u32,
    told: u32,
    /// The time for which the last packet was on its way, if that is asked for and was not told yet.
    delay: Option<Duration>,
    /// A packet that came again, if the sender is told of it and was not yet.
    duplicate: Option<u32>,
    /// The time at which the SYN came, until data does; with `sack_delay`.
    opened: Time,
    held: Held,
    habit: Habit,
    /// The packet under way says that the sender's window may be small.
    hurries: bool,
}

/// The state of acknowledgments that adapt (as in Linux, whose clock has milliseconds).
#[derive(Clone, Copy, Debug)]
struct Habit {
    /// The time for which they are held back, in milliseconds (icsk_ack.ato), and the least of it.
    wait: u64,
    least: u64,
    /// The number of those that go at once.
    quick: u32,
    /// The time at which data came in order last.
    last: u64,
    /// The round-trip time of the handshake and the timeout that it makes; zero if it is not known.
    rtt: u64,
    timeout: u64,
}

/// Acknowledgments that adapt are held back no longer (TCP_DELACK_MAX), and so many go at once after a mark.
const LONGEST_WAIT: u64 = 200;
const QUICK_AFTER_MARK: u32 = 2;

impl Habit {
    const NEW: Habit = Habit { wait: 0, least: 0, quick: 0, last: 0, rtt: 0, timeout: 1000 };

    /// The handshake took so long.
    fn begin(&mut self, rtt: Duration, cfg: &Config) {
        self.rtt = millis(rtt);
        self.timeout = self.rtt + (2 * self.rtt).max(millis(cfg.min_rto));
    }

    /// Data comes in order (tcp_event_data_recv() in tcp_input.c).
    fn on_data(&mut self, now: Time, least: u64, most_quick: u32) {
        self.least = least;
        let now = now.nanos() / 1_000_000;
        let gap = now - core::mem::replace(&mut self.last, now);
        if self.wait == 0 {
            // The first data: later on the wait is never zero.
            (self.quick, self.wait) = (self.quick.max(most_quick), least.max(1));
        } else if gap <= least / 2 {
            self.wait = (self.wait / 2 + least / 2).max(1);
        } else if gap < self.wait {
            self.wait = (self.wait / 2 + gap).min(self.timeout).min(LONGEST_WAIT);
        } else if gap > self.timeout {
            self.quick = self.quick.max(most_quick);
        }
    }

    /// The sender may have a small window (tcp_enter_quickack_mode()).
    fn hurry(&mut self, quick: u32, least: u64) {
        (self.quick, self.wait, self.least) = (self.quick.max(quick), least.max(1), least);
    }

    /// An acknowledgment goes (tcp_dec_quickack_mode()).
    #[inline]
    fn sent(&mut self) {
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.wait = self.least.max(1);
            }
        }
    }

    /// The timer of an acknowledgment ran out (tcp_delack_timer_handler()).
    fn missed(&mut self) {
        self.wait = (2 * self.wait).min(self.timeout).min(LONGEST_WAIT);
    }

    /// The time until which an acknowledgment is held back (tcp_send_delayed_ack()).
    fn until(&self, now: Time, least: u64, cfg: &Config) -> Time {
        let bound = if self.rtt > 0 && self.wait > least { self.rtt.max(least) } else { u64::MAX };
        let most = LONGEST_WAIT.min(millis(cfg.min_rto).saturating_sub(1).max(1));
        let wait = self.wait.min(bound).min(most);
        Time::ZERO + Duration::from_millis(now.nanos() / 1_000_000 + wait)
    }
}

fn millis(time: Duration) -> u64 {
    time.nanos() / 1_000_000
}

/// The state of selective acknowledgments that are held back (as in Linux).
#[derive(Clone, Copy, Debug)]
struct Held {
    /// A third of the round-trip time of the handshake, if that is known.
    most: Duration,
    /// The number that the last acknowledgment had.
    told: u32,
    /// The packet before which there is a gap, and the number of acknowledgments of what came beyond it that went at
    /// once.
    gap: u32,
    at_once: u32,
    /// The number of those held back since the last one.
    count: u32,
}

/// Acknowledgments of what comes beyond a gap that go at once, as many as signal a loss; and one for every so many
/// that were held back.
const HELD_AFTER: u32 = 3;
const HELD_AT_MOST: u32 = 44;

impl Default for Receiver {
    fn default() -> Self {
        Receiver::new()
    }
}

impl Receiver {
    /// Nothing has arrived yet.
    pub fn new() -> Self {
        Receiver {
            next: 1,
            epoch: 0,
            echo: false,
            again: false,
            owed: 0,
            deadline: Time::MAX,
            gathered: 0,
            owed_by: Time::MAX,
            blocks: VecDeque::new(),
            recent: [(0, 0); 3],
            marks: 0,
            told: 0,
            delay: None,
            duplicate: None,
            opened: Time::MAX,
            held: Held { most: Duration::MAX, told: 1, gap: 0, at_once: 0, count: 0 },
            habit: Habit::NEW,
            hurries: false,
        }
    }

    /// The time at which [`Receiver::on_timer`] must be called; [`Time::MAX`] for never.
    #[inline]
    pub fn deadline(&self) -> Time {
        self.deadline
    }

    /// The next packet in order.
    pub fn next(&self) -> u32 {
        self.next
    }

    fn restart(&mut self, epoch: u8) {
        self.blocks.clear();
        *self = Receiver { epoch, blocks: core::mem::take(&mut self.blocks), ..Receiver::new() };
    }

    /// Returns whether [`Receiver::on_packet_in_order`] takes in at `now` data that is not marked, with a
    /// configuration that [acknowledges by number](Config::acknowledges_by_number).
    #[inline]
    pub fn takes_in_order(&self, cfg: &Config, now: Time, epoch: u8, seq: u32) -> bool {
        epoch == self.epoch
            && !(self.echo | self.again)
            && self.deadline > now
            && (cfg.reports == Reports::Never
                || seq == self.next && self.blocks.is_empty() && self.opened == Time::MAX)
    }

    /// Does [`Receiver::on_packet`] and [`Receiver::acknowledgment`] in the usual case: whether the packet is new, and
    /// the one that the acknowledgment says is next, if it goes now.
    #[inline(always)]
    pub fn on_packet_in_order(&mut self, cfg: &Config, now: Time, seq: u32) -> (bool, Option<u32>) {
        if seq == self.next && self.blocks.is_empty() && cfg.acknowledges_each {
            self.next += 1;
            return (true, Some(self.next));
        }
        self.on_late_packet(cfg, now, seq)
    }

    /// The count of marks of an acknowledgment that goes now, where they are counted.
    #[inline]
    pub fn marks(&self, cfg: &Config) -> Option<u32> {
        match cfg.feedback {
            Feedback::Classic => None,
            Feedback::Exact => Some(self.marks),
            Feedback::AccEcn => Some(self.marks % ACE),
        }
    }

    #[inline(never)]
    fn on_late_packet(&mut self, cfg: &Config, now: Time, seq: u32) -> (bool, Option<u32>) {
        self.end_opening(cfg, now);
        let new = if seq == self.next && self.blocks.is_empty() {
            self.next += 1;
            if !self.owes(cfg, now) {
                return (true, None);
            }
            true
        } else {
            self.take_and_adapt(cfg, now, seq)
        };
        (self.owed, self.gathered, self.deadline) = (0, 0, Time::MAX);
        self.habit.sent();
        (new, Some(self.next))
    }

    /// Takes a SYN or data packet in; `None` if it belongs to a connection that is over.
    #[inline(always)]
    pub fn on_packet(&mut self, cfg: &Config, now: Time, pkt: Arrival) -> Option<Received> {
        if pkt.epoch != self.epoch {
            // A later connection of the flow begins with whatever of it comes first; what is left
            // of an earlier one is old (the number wraps, so "later" is within half its range).
            if pkt.epoch.wrapping_sub(self.epoch) >= 128 {
                return None;
            }
            self.restart(pkt.epoch);
        }
        if pkt.syn {
            if cfg.sack_delay.is_some() || cfg.adaptive_quick_acks.is_some() {
                self.opened = now;
            }
            return Some(Received { new: false, acknowledge: true });
        }
        if pkt.again | self.again && pkt.seq <= self.next.saturating_sub(self.owed + self.gathered) {
            self.again = pkt.again;
        }
        if cfg.adaptive_quick_acks.is_some() {
            // The first mark of a window, and a packet that is not ECN-capable after others that were.
            let first = pkt.ce && (!self.echo || pkt.cwr);
            let again = pkt.again && !cfg.ecn_retransmissions;
            self.hurries = cfg.announces() && (first || again);
        }
        if pkt.ce | pkt.cwr | self.echo {
            self.on_ecn(cfg, pkt);
        }
        self.end_opening(cfg, now);
        if pkt.seq == self.next && self.blocks.is_empty() {
            self.next += 1;
            return Some(Received { new: true, acknowledge: self.owes(cfg, now) });
        }
        if self.blocks.is_empty() {
            self.held.told = self.next.saturating_sub(self.owed + self.gathered);
        }
        let new = self.take_and_adapt(cfg, now, pkt.seq);
        if cfg.recovery == Recovery::Rack && !new {
            self.duplicate = Some(pkt.seq);
        }
        // Out of order, or filling a gap: acknowledge at once (RFC 5681 section 4.2).
        let held = match cfg.sack_delay {
            Some(delay)
                if new && !self.blocks.is_empty() && self.owed < cfg.ack_every && self.gathered == 0 =>
            {
                self.holds_back(now, delay)
            }
            _ => false,
        };
        Some(Received { new, acknowledge: !held })
    }

    /// Returns whether the acknowledgment of a packet that leaves a gap waits for others; if so, a timer runs.
    fn holds_back(&mut self, now: Time, delay: Duration) -> bool {
        if self.habit.quick > 0
            || self.next - self.held.told > 1
            || self.held.count >= HELD_AT_MOST
            || self.is_apart()
        {
            return false;
        }
        if self.held.gap != self.next {
            (self.held.gap, self.held.at_once) = (self.next, 0);
        }
        if self.held.at_once < HELD_AFTER {
            self.held.at_once += 1;
            return false;
        }
        if self.held.count == 0 {
            self.deadline = self.deadline.min(now + delay.min(self.held.most));
        }
        self.held.count += 1;
        true
    }

    /// Returns whether the packet that has come is in a third block, of which an acknowledgment might not tell later.
    fn is_apart(&self) -> bool {
        let [block, last, before] = self.recent;
        self.blocks.len() > 2 && block.1 > self.next && block != last && block != before
    }

    /// The first data has come: the handshake took so long.
    #[inline(always)]
    fn end_opening(&mut self, cfg: &Config, now: Time) {
        if self.opened != Time::MAX {
            self.held.most = (now - self.opened) / 3;
            self.habit.begin(now - self.opened, cfg);
            self.opened = Time::MAX;
        }
    }

    /// Takes in data that has come beyond a gap or again, or fills a gap; whether it is new.
    fn take_and_adapt(&mut self, cfg: &Config, now: Time, seq: u32) -> bool {
        let in_order = seq == self.next;
        let new = self.take_out_of_order(seq);
        let Some(most_quick) = cfg.adaptive_quick_acks else { return new };
        let least = millis(cfg.delayed_ack.unwrap_or_default());
        if in_order {
            self.habit.on_data(now, least, most_quick);
        } else if !new && seq < self.next {
            self.habit.hurry(most_quick, least);
        }
        if core::mem::take(&mut self.hurries) {
            self.habit.hurry(QUICK_AFTER_MARK, least);
        }
        new
    }

    /// Returns whether the acknowledgment of data in order waits, where acknowledgments adapt; if so, a timer runs.
    #[inline(never)]
    fn waits(&mut self, cfg: &Config, now: Time, packets: u32, most_quick: u32) -> bool {
        let least = millis(cfg.delayed_ack.unwrap_or_default());
        self.habit.on_data(now, least, most_quick);
        if core::mem::take(&mut self.hurries) {
            self.habit.hurry(QUICK_AFTER_MARK, least);
        }
        if self.owed + packets >= cfg.ack_every || self.habit.quick > 0 {
            return false;
        }
        if self.owed == 0 {
            self.deadline = self.habit.until(now, least, cfg);
        }
        self.owed += packets;
        true
    }

    #[inline(never)]
    fn on_ecn(&mut self, cfg: &Config, pkt: Arrival) {
        // The window may be one packet now (as in Linux).
        if pkt.cwr && cfg.gradual() {
            self.owed = cfg.ack_every;
        }
        if cfg.feedback == Feedback::Classic {
            self.echo = pkt.ce || self.echo && !pkt.cwr;
            return;
        }
        self.marks = self.marks.wrapping_add(pkt.ce as u32);
        // The sender is told at once where marks begin or end (RFC 8257 section 3.2), and of every second one (RFC
        // 9768 section 3.2.2.5.1).
        if pkt.ce != self.echo || self.marks.wrapping_sub(self.told) >= 2 {
            self.owed = cfg.ack_every;
        }
        self.echo = pkt.ce;
    }

    /// The packet that has just come was so long on its way.
    pub fn on_delay(&mut self, delay: Duration) {
        self.delay = Some(delay);
    }

    /// Returns whether data in order is acknowledged now; if not, a timer runs.
    #[inline]
    fn owes(&mut self, cfg: &Config, now: Time) -> bool {
        match cfg.gro {
            None => self.owes_for(cfg, now, 1),
            Some(time) => self.gather(cfg, now, time),
        }
    }

    /// [`Receiver::owes`] for packets that are taken in as one.
    #[inline]
    fn owes_for(&mut self, cfg: &Config, now: Time, packets: u32) -> bool {
        match cfg.delayed_ack {
            Some(delay)
                if self.owed + packets < cfg.ack_every && self.next > cfg.quick_acks.saturating_add(1) =>
            {
                if self.owed == 0 {
                    self.deadline = now + delay;
                }
                self.owed += packets;
                false
            }
            _ => !cfg.adaptive_quick_acks.is_some_and(|most_quick| self.waits(cfg, now, packets, most_quick)),
        }
    }

    /// Data in order waits for more of it, for so long after the first packet. What must be told at once ends that, as
    /// GRO does not merge packets that differ in their ECN fields.
    #[inline(never)]
    fn gather(&mut self, cfg: &Config, now: Time, time: Duration) -> bool {
        if self.gathered == 0 {
            (self.owed_by, self.deadline) = (self.deadline, now + time);
        }
        self.gathered += 1;
        let ends = self.gathered >= cfg.gro_packets || self.owed >= cfg.ack_every;
        ends && self.take_gathered(cfg, now)
    }

    /// What was gathered is taken in; returns whether it is acknowledged now.
    fn take_gathered(&mut self, cfg: &Config, now: Time) -> bool {
        self.deadline = self.owed_by;
        let packets = core::mem::take(&mut self.gathered);
        self.owes_for(cfg, now, packets) || self.deadline <= now
    }

    /// A timer ran out; returns whether an acknowledgment goes now.
    pub fn on_timer(&mut self, cfg: &Config, now: Time) -> bool {
        if self.gathered > 0 {
            return self.take_gathered(cfg, now);
        }
        self.deadline = Time::MAX;
        if self.owed > 0 {
            self.habit.missed();
        }
        true
    }

    #[inline(never)]
    fn take_out_of_order(&mut self, seq: u32) -> bool {
        if seq < self.next {
            return false;
        }
        let (new, block) = if seq == self.next {
            // It fills a gap, and perhaps reaches the first block.
            self.next += 1;
            if let Some(&(from, to)) = self.blocks.front()
                && from == self.next
            {
                self.next = to;
                self.blocks.pop_front();
            }
            (true, (seq, seq))
        } else if let Some(last) = self.blocks.back_mut()
            && last.1 == seq
        {
            last.1 += 1;
            (true, *last)
        } else {
            self.take_apart(seq)
        };
        let now = |held: Block| if block.0 <= held.0 && held.1 <= block.1 { block } else { held };
        self.recent = [block, now(self.recent[0]), now(self.recent[1])];
        new
    }

    /// Takes in a packet beyond the next one that does not go on where the last block ends: whether it is new, and its
    /// block.
    fn take_apart(&mut self, seq: u32) -> (bool, Block) {
        // The first block that ends at or after seq.
        let at = self.blocks.partition_point(|&(_, to)| to < seq);
        match self.blocks.get_mut(at) {
            Some(block) if block.0 <= seq && seq < block.1 => return (false, *block),
            Some(block) if block.1 == seq => {
                block.1 += 1;
                if at + 1 < self.blocks.len() && self.blocks[at + 1].0 == seq + 1 {
                    self.blocks[at].1 = self.blocks[at + 1].1;
                    self.blocks.remove(at + 1);
                }
            }
            Some(block) if block.0 == seq + 1 => block.0 = seq,
            _ => self.blocks.insert(at, (seq, seq + 1)),
        }
        (true, self.blocks[at])
    }

    /// The acknowledgment to send, of all that has come. So a SYN that comes late, or twice, is answered as RFC 9293
    /// section 3.10.7.4 has it.
    #[inline(always)]
    pub fn acknowledgment(&mut self) -> Acknowledgment {
        (self.owed, self.gathered) = (0, 0);
        self.deadline = Time::MAX;
        self.habit.sent();
        (self.held.told, self.held.count) = (self.next, 0);
        Acknowledgment { epoch: self.epoch, next: self.next, ece: self.echo }
    }

    /// Returns whether an acknowledgment has more to say than its number and its bit.
    #[inline]
    pub fn reports(&self, cfg: &Config) -> bool {
        match cfg.reports {
            Reports::Never => false,
            Reports::OfGaps => !self.blocks.is_empty() || self.duplicate.is_some() || self.again,
            Reports::Always => true,
        }
    }

    /// The report that the acknowledgment that goes now carries.
    pub fn report(&mut self, cfg: &Config) -> Report {
        let duplicate = self.duplicate.take();
        // It takes the room of a block (RFC 2883 section 4).
        let room = 3 - u8::from(duplicate.is_some());
        let blocks = if cfg.recovery.is_selective() { self.sack_blocks(room) } else { SackBlocks::default() };
        self.told = self.marks;
        Report { blocks, duplicate, again: self.again, marks: self.marks(cfg), delay: self.delay.take() }
    }

    /// Blocks for so much room: those that hold the latest packets, then the highest others (RFC 2018 section 4).
    fn sack_blocks(&self, room: u8) -> SackBlocks {
        // As numbers, none of which is zero. Which of them are the same is as good as drawn where packets are lost:
        // nothing jumps before the loop.
        let key = |(from, to): Block| u64::from(to) << 32 | u64::from(from);
        let [mut a, mut b, mut c] = self.recent.map(|block| if block.1 > self.next { key(block) } else { 0 });
        b = if b == a { 0 } else { b };
        c = if (c == a) | (c == b) { 0 } else { c };
        for _ in 0..2 {
            (a, b, c) = if a == 0 { (b, c, 0) } else { (a, b, c) };
        }
        (b, c) = if b == 0 { (c, 0) } else { (b, c) };
        c = if room < 3 { 0 } else { c };
        let mut len = u8::from(a != 0) + u8::from(b != 0) + u8::from(c != 0);
        let mut at = self.blocks.len();
        while len < room && at > 0 {
            at -= 1;
            let block = key(self.blocks[at]);
            let new = (block != a) & (block != b);
            a = if new & (len == 0) { block } else { a };
            c = if new & (len == 2) { block } else { c };
            b = if new & (len == 1) { block } else { b };
            len += u8::from(new);
        }
        SackBlocks::of([a, b, c].map(|block| (block as u32, (block >> 32) as u32)), len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{AckTimer, TcpParams};
    use alloc::vec::Vec;
    use quell_units::Duration;

    fn config(params: TcpParams) -> Config {
        Config::new(&params).unwrap()
    }

    fn data(seq: u32) -> Arrival {
        Arrival { seq, ..Default::default() }
    }

    /// Feeds packets and returns the number that is acknowledged then.
    fn acked(cfg: &Config, r: &mut Receiver, seqs: &[u32]) -> u32 {
        for &s in seqs {
            let _ = r.on_packet(cfg, Time::ZERO, data(s));
        }
        r.acknowledgment().next
    }

    #[test]
    fn gaps_are_filled_in_any_order() {
        let cfg = config(TcpParams::default());
        let mut r = Receiver::new();
        assert_eq!(acked(&cfg, &mut r, &[1, 2, 5, 4, 7]), 3);
        assert_eq!(r.blocks, [(4, 6), (7, 8)]);
        assert_eq!(acked(&cfg, &mut r, &[3]), 6);
        assert_eq!(acked(&cfg, &mut r, &[6]), 8);
        assert!(r.blocks.is_empty());
        assert!(!r.on_packet(&cfg, Time::ZERO, data(5)).unwrap().new);
    }

    /// Packets in any order, some twice: what is new, and what comes next, is as for a set of numbers, and
    /// blocks are its runs.
    #[test]
    fn blocks_are_the_runs_of_what_has_come() {
        let cfg = config(TcpParams::default());
        let mut rng = quell_aqm::Seed(1).stream("receiver");
        for _ in 0..200 {
            let (mut r, mut come) = (Receiver::new(), std::collections::BTreeSet::new());
            for _ in 0..100 {
                // Mostly the next one or the one behind the last.
                let seq = match rng.uniform_in(0.0, 4.0) as u32 {
                    0 => r.next,
                    1 => come.last().map_or(1, |s| s + 1),
                    _ => 1 + rng.uniform_in(0.0, 40.0) as u32,
                };
                assert_eq!(r.on_packet(&cfg, Time::ZERO, data(seq)).unwrap().new, come.insert(seq));
                let next = (1..).find(|s| !come.contains(s)).unwrap();
                assert_eq!(r.next, next);
                let mut runs: Vec<Block> = Vec::new();
                for &s in come.range(next..) {
                    match runs.last_mut() {
                        Some((_, to)) if *to == s => *to += 1,
                        _ => runs.push((s, s + 1)),
                    }
                }
                assert_eq!(r.blocks, runs);
            }
        }
    }

    #[test]
    fn selective_acknowledgments_report_the_latest_block_first() {
        let cfg = config(TcpParams { recovery: Recovery::Sack, ..Default::default() });
        let mut r = Receiver::new();
        acked(&cfg, &mut r, &[1, 3, 5, 7, 9]);
        acked(&cfg, &mut r, &[4]);
        let (ack, sack) = (r.acknowledgment(), r.report(&cfg).blocks);
        assert_eq!(ack.next, 2);
        assert_eq!(sack.as_slice(), &[(3, 6), (9, 10), (7, 8)]);
    }

    /// The acknowledgments, with their times in microseconds, of packets that come at such times; then of timers.
    fn gathered(params: TcpParams, came: &[(u64, Arrival)]) -> Vec<(u64, u32)> {
        let cfg = config(TcpParams { gro: Some(Duration::from_micros(50)), ..params });
        let us = |x: u64| Time::ZERO + Duration::from_micros(x);
        let (mut r, mut out) = (Receiver::new(), Vec::new());
        let last = Time::ZERO + Duration::from_secs(1);
        let packets = came.iter().map(|(at, pkt)| (us(*at), Some(*pkt))).chain([(last, None)]);
        for (now, pkt) in packets {
            while r.deadline() <= now {
                let due = r.deadline();
                if r.on_timer(&cfg, due) {
                    out.push((due.nanos() / 1000, r.acknowledgment().next));
                }
            }
            let Some(pkt) = pkt else { break };
            // As a simulator does: by number if nothing else is to be said.
            if cfg.reports == Reports::Never && r.takes_in_order(&cfg, now, 0, pkt.seq) && !pkt.ce && !pkt.cwr
            {
                out.extend(r.on_packet_in_order(&cfg, now, pkt.seq).1.map(|next| (now.nanos() / 1000, next)));
            } else if r.on_packet(&cfg, now, pkt).unwrap().acknowledge {
                out.push((now.nanos() / 1000, r.acknowledgment().next));
            }
        }
        out
    }

    fn each(gap: u64, n: u32) -> Vec<(u64, Arrival)> {
        (0..n).map(|i| (gap * u64::from(i), data(i + 1))).collect()
    }

    #[test]
    fn what_is_gathered_has_one_acknowledgment() {
        let delayed = Some(Duration::from_millis(40));
        for recovery in [Recovery::Reno, Recovery::Sack, Recovery::Rack] {
            for delayed_ack in [None, delayed] {
                let params = TcpParams { recovery, delayed_ack, ..Default::default() };
                // Five packets in 50 us; the next one begins another time.
                let acks = gathered(params.clone(), &each(10, 11));
                assert_eq!(acks[..2], [(50, 6), (100, 11)], "{recovery:?}");
                // The last one is alone.
                let alone = if delayed_ack.is_some() { 150 + 40_000 } else { 150 };
                assert_eq!(acks[2..], [(alone, 12)], "{recovery:?}");
                // Packets that are far apart are acknowledged as without it, each 50 us later.
                let acks = gathered(params, &each(100, 4));
                let wanted: &[_] = match delayed_ack {
                    Some(_) => &[(150, 3), (350, 5)],
                    None => &[(50, 2), (150, 3), (250, 4), (350, 5)],
                };
                assert_eq!(acks, wanted, "{recovery:?}");
            }
        }
        // An acknowledgment that was owed before goes at its time, or with what is gathered then.
        let fourth = |delay| TcpParams {
            delayed_ack: Some(Duration::from_micros(delay)),
            ack_every: 4,
            ..Default::default()
        };
        assert_eq!(gathered(fourth(300), &each(100, 2)), [(350, 3)]);
        assert_eq!(gathered(fourth(70), &each(100, 2)), [(150, 3)]);
    }

    #[test]
    fn no_more_is_gathered_than_a_packet_of_ip_holds() {
        let params = TcpParams { packet: quell_units::Bytes::new(1448), ..Default::default() };
        assert_eq!(gathered(params, &each(0, 100)), [(0, 46), (0, 91), (50, 101)]);
    }

    /// A gap, a packet that comes again, and a mark are told of at once, and with them what was gathered.
    #[test]
    fn what_is_told_at_once_ends_the_gathering() {
        let sack = TcpParams { recovery: Recovery::Sack, ..Default::default() };
        let came = [(0, data(1)), (10, data(2)), (20, data(4)), (30, data(3)), (40, data(5)), (45, data(6))];
        assert_eq!(gathered(sack.clone(), &came), [(20, 3), (30, 5), (90, 7)]);
        let came = [(0, data(1)), (10, data(2)), (20, data(1)), (30, data(3))];
        assert_eq!(gathered(sack.clone(), &came), [(20, 3), (80, 4)]);
        let dctcp = TcpParams { ecn: true, feedback: Feedback::Exact, ..sack };
        let marked = |seq| Arrival { ce: true, ..data(seq) };
        let came =
            [(0, data(1)), (10, data(2)), (20, marked(3)), (25, data(4)), (30, data(5)), (40, data(6))];
        assert_eq!(gathered(dctcp, &came), [(20, 4), (25, 5), (80, 7)]);
    }

    /// The time at which acknowledgments leave, if a packet comes each 100 us after a SYN, and data 20 ms after it.
    #[test]
    fn selective_acknowledgments_are_held_back_after_the_first_three() {
        let delay = Some(Duration::from_millis(1));
        let cfg = config(TcpParams { recovery: Recovery::Sack, sack_delay: delay, ..Default::default() });
        let us = |x: u64| Time::ZERO + Duration::from_micros(x);
        let run = |rtt: u64, seqs: &[u32]| {
            let (mut r, mut out) = (Receiver::new(), Vec::new());
            r.on_packet(&cfg, us(0), Arrival { syn: true, ..Default::default() });
            r.acknowledgment();
            for (i, &seq) in seqs.iter().enumerate() {
                let now = rtt + 100 * i as u64;
                if r.deadline() <= us(now) {
                    out.push((r.deadline().nanos() / 1000 - rtt, r.next));
                    assert!(r.on_timer(&cfg, us(now)));
                    r.acknowledgment();
                }
                assert!(!r.takes_in_order(&cfg, us(now), 0, seq) || i > 0 && r.blocks.is_empty());
                if r.on_packet(&cfg, us(now), data(seq)).unwrap().acknowledge {
                    out.push((now - rtt, r.acknowledgment().next));
                }
            }
            out
        };
        // 2 is missing: three at once, the next ones after 1 ms.
        let gap: Vec<u32> = [1].into_iter().chain(3..20).collect();
        assert_eq!(
            run(20_000, &gap),
            [(0, 2), (100, 2), (200, 2), (300, 2), (1400, 2)],
            "seven are told of at 1400 us"
        );
        // A third of a short round trip.
        assert_eq!(run(900, &gap)[4..6], [(700, 2), (1000, 2)]);
        // What fills the gap is acknowledged at once, and what comes again.
        assert_eq!(run(20_000, &[1, 3, 4, 5, 6, 7, 2])[4..], [(600, 8)]);
        assert_eq!(run(20_000, &[1, 3, 4, 5, 6, 6])[4..], [(500, 2)]);
        // So is a third block.
        assert_eq!(run(20_000, &[1, 3, 4, 5, 7, 9, 10])[4..], [(500, 2)]);
        // Of a gap behind another one three again.
        let two: Vec<u32> = [1, 3, 4, 5, 6, 8, 2, 9, 10, 11, 12].to_vec();
        assert_eq!(run(20_000, &two)[4..], [(600, 7), (700, 7), (800, 7), (900, 7)]);
    }

    #[test]
    fn a_packet_that_comes_again_is_reported_once_and_takes_the_room_of_a_block() {
        for recovery in [Recovery::Rack, Recovery::Sack] {
            let cfg = config(TcpParams { recovery, ..Default::default() });
            let rack = recovery == Recovery::Rack;
            let mut r = Receiver::new();
            acked(&cfg, &mut r, &[1]);
            assert_eq!(
                r.on_packet(&cfg, Time::ZERO, data(1)),
                Some(Received { new: false, acknowledge: true })
            );
            // Only where losses are found by time.
            assert_eq!(r.reports(&cfg), rack);
            assert_eq!(r.report(&cfg).duplicate, rack.then_some(1));
            assert!(!r.reports(&cfg) && r.report(&cfg).duplicate.is_none());
            acked(&cfg, &mut r, &[3, 5, 7, 9, 5]);
            let report = r.report(&cfg);
            // The block of the duplicate is the next one (RFC 2883 section 4.2).
            let blocks: &[Block] = if rack { &[(5, 6), (9, 10)] } else { &[(5, 6), (9, 10), (7, 8)] };
            assert_eq!((report.duplicate, report.blocks.as_slice()), (rack.then_some(5), blocks));
        }
    }

    #[test]
    fn a_delayed_acknowledgment_goes_with_the_second_packet_or_the_timer() {
        let cfg = config(TcpParams { delayed_ack: Some(Duration::from_millis(100)), ..Default::default() });
        let mut r = Receiver::new();
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        assert!(!r.on_packet(&cfg, at(0), data(1)).unwrap().acknowledge);
        assert_eq!(r.deadline(), at(100));
        assert!(r.on_packet(&cfg, at(10), data(2)).unwrap().acknowledge);
        assert_eq!(r.acknowledgment().next, 3);
        assert_eq!(r.deadline(), Time::MAX);
        assert!(!r.on_packet(&cfg, at(20), data(3)).unwrap().acknowledge);
        // A gap is acknowledged at once.
        assert!(r.on_packet(&cfg, at(30), data(5)).unwrap().acknowledge);
    }

    #[test]
    fn several_packets_may_share_an_acknowledgment_but_the_first_do_not() {
        let params = TcpParams {
            delayed_ack: Some(Duration::from_millis(100)),
            ack_every: 3,
            quick_acks: 2,
            ..Default::default()
        };
        let cfg = config(params);
        let mut r = Receiver::new();
        let mut at_once = Vec::new();
        for seq in 1..=9 {
            let now = Time::ZERO + Duration::from_millis(seq as u64);
            let acknowledge = r.on_packet(&cfg, now, data(seq)).unwrap().acknowledge;
            if acknowledge {
                r.acknowledgment();
            }
            at_once.push(acknowledge);
        }
        assert_eq!(at_once, [true, true, false, false, true, false, false, true, false]);
        // The timer is that of the first packet that waits.
        assert_eq!(r.deadline(), Time::ZERO + Duration::from_millis(109));
    }

    /// The times in milliseconds at which acknowledgments go, and how many packets they acknowledge, for packets that
    /// come at these times after a handshake of 10 ms; some of them are marked.
    fn adapting(ecn: bool, quick_acks: u32, rtt: u64, came: &[(u64, bool)]) -> Vec<(u64, u32)> {
        adapting_from(Duration::from_millis(40), ecn, quick_acks, rtt, came)
    }

    fn adapting_from(
        delayed_ack: Duration,
        ecn: bool,
        quick_acks: u32,
        rtt: u64,
        came: &[(u64, bool)],
    ) -> Vec<(u64, u32)> {
        let params = TcpParams {
            delayed_ack: Some(delayed_ack),
            ack_timer: AckTimer::Adaptive,
            quick_acks,
            ecn,
            ..Default::default()
        };
        let cfg = config(params);
        let at = |ms| Time::ZERO + Duration::from_millis(ms);
        let (mut r, mut out, mut told) = (Receiver::new(), Vec::new(), 1);
        r.on_packet(&cfg, at(0), Arrival { syn: true, ..data(0) });
        r.acknowledgment();
        let mut acknowledge = |r: &mut Receiver, now: u64| {
            let next = r.acknowledgment().next;
            out.push((now, next - core::mem::replace(&mut told, next)));
        };
        for (seq, (now, ce)) in (1..).zip(came) {
            let now = rtt + now;
            while r.deadline() <= at(now) {
                let due = r.deadline().nanos() / 1_000_000;
                assert!(r.on_timer(&cfg, r.deadline()));
                acknowledge(&mut r, due - rtt);
            }
            // Each mark is the first one of a window.
            let pkt = Arrival { ce: *ce, cwr: *ce, ..data(seq) };
            if r.on_packet(&cfg, at(now), pkt).unwrap().acknowledge {
                acknowledge(&mut r, now - rtt);
            }
        }
        out
    }

    fn every(gap: u64, n: u64) -> Vec<(u64, bool)> {
        (0..n).map(|i| (i * gap, false)).collect()
    }

    /// The acknowledgments that go at once come to an end, however short the timer is.
    #[test]
    fn a_short_timer_leaves_every_second_packet_unanswered() {
        for micros in [300, 1000, 1999, 2000] {
            let out = adapting_from(Duration::from_micros(micros), false, 2, 10, &every(0, 8));
            assert_eq!(out, [(0, 1), (0, 1), (0, 2), (0, 2), (0, 2)], "{micros}");
        }
    }

    #[test]
    fn an_acknowledgment_waits_as_the_gaps_between_packets_do() {
        // Gaps of up to 20 ms: 40 ms, and every second packet is acknowledged.
        assert_eq!(adapting(false, 0, 200, &every(20, 6)), [(20, 2), (60, 2), (100, 2)]);
        // Gaps of 39 ms: 20 + 39 ms, then 29 + 39.
        assert_eq!(adapting(false, 0, 200, &every(39, 6)), [(39, 2), (117, 2), (195, 2)]);
        // Longer ones: the timer runs out, and waits twice as long the next time; no longer than a round trip.
        assert_eq!(adapting(false, 0, 200, &every(100, 6)), [(40, 1), (180, 1), (300, 2), (500, 2)]);
        assert_eq!(adapting(false, 0, 60, &every(100, 4)), [(40, 1), (160, 1), (260, 1)]);
    }

    #[test]
    fn acknowledgments_go_at_once_at_first_and_after_a_pause() {
        let mut came = every(10, 6);
        assert_eq!(adapting(false, 3, 10, &came), [(0, 1), (10, 1), (20, 1), (40, 2)]);
        // The timeout of a handshake of 10 ms is 210 ms.
        came.extend([(300, false), (310, false), (320, false), (330, false)]);
        assert_eq!(
            adapting(false, 3, 10, &came)[4..],
            [(90, 1), (300, 1), (310, 1), (320, 1)],
            "the last of the first six waits for its timer"
        );
    }

    #[test]
    fn two_acknowledgments_go_at_once_after_a_mark() {
        let came: Vec<_> = (0..6).map(|i| (10 * i, i == 0)).collect();
        assert_eq!(adapting(true, 0, 10, &came), [(0, 1), (10, 1), (30, 2), (50, 2)]);
        assert_eq!(adapting(false, 0, 10, &every(10, 6)), [(10, 2), (30, 2), (50, 2)]);
    }

    /// RFC 7323 section 4.3: the echo is that of the first packet since the last acknowledgment.
    #[test]
    fn the_first_packet_since_the_last_acknowledgment_says_whether_it_was_sent_again() {
        let delayed_ack = Some(Duration::from_millis(40));
        let cfg =
            config(TcpParams { recovery: Recovery::Rack, eifel: true, delayed_ack, ..Default::default() });
        let mut r = Receiver::new();
        let again = |seq| Arrival { again: true, ..data(seq) };
        for (packets, says) in
            [([data(1), again(2)], false), ([again(3), data(4)], true), ([data(5), data(6)], false)]
        {
            let acknowledge = packets.map(|p| r.on_packet(&cfg, Time::ZERO, p).unwrap().acknowledge);
            assert_eq!(acknowledge, [false, true]);
            r.acknowledgment();
            assert_eq!((r.reports(&cfg), r.report(&cfg).again), (says, says));
        }
    }

    #[test]
    fn congestion_is_echoed_until_the_window_is_reduced() {
        let cfg = config(TcpParams { ecn: true, ..Default::default() });
        let mut r = Receiver::new();
        let ce = Arrival { ce: true, ..data(1) };
        let _ = r.on_packet(&cfg, Time::ZERO, ce);
        assert!(r.acknowledgment().ece);
        let _ = r.on_packet(&cfg, Time::ZERO, data(2));
        assert!(r.acknowledgment().ece);
        let cwr = Arrival { cwr: true, ..data(3) };
        let _ = r.on_packet(&cfg, Time::ZERO, cwr);
        assert!(!r.acknowledgment().ece);
    }

    #[test]
    fn what_is_left_of_an_old_connection_is_ignored() {
        let cfg = config(TcpParams::default());
        let mut r = Receiver::new();
        let new = Arrival { epoch: 1, syn: true, ..data(0) };
        assert!(r.on_packet(&cfg, Time::ZERO, data(1)).unwrap().new);
        assert!(r.on_packet(&cfg, Time::ZERO, new).unwrap().acknowledge);
        assert_eq!(r.on_packet(&cfg, Time::ZERO, data(2)), None);
        assert_eq!(r.next, 1);
    }
}
