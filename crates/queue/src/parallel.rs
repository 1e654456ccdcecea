//! Several FIFOs that share a buffer and a link, under a discipline.

use alloc::vec::Vec;

use quell_aqm::{Cause, Discipline, Lanes, LanesCtx, Next, Probe, QueueView, Rng, Victim};
use quell_units::{BitRate, Bytes, Packets, Time};
use slab::Slab;

use crate::gate::{Admission, Limit, judge, shown};
use crate::qdisc::meta;
use crate::{Counters, Dequeued, Dropped, Packet, Place, Qdisc};

/// The lanes of a [`Discipline`]. Whatever their number, an operation costs the same: the packets of
/// all lanes are in one slab, those of a lane linked to each other.
#[derive(Clone, Debug)]
pub struct Parallel<P, D> {
    packets: Slab<Node<P>>,
    ends: Vec<Ends>,
    /// What waits in each lane, and its sum.
    views: Vec<QueueView>,
    bytes: u64,
    discipline: D,
    rng: Rng,
    limit: Limit,
    marks: bool,
    counters: Counters,
    /// Of the lanes that have a name.
    lane_counters: Vec<Counters>,
    /// The lane of the last arrival.
    arrival_lane: usize,
    rate: Option<BitRate>,
    leaving: Leaving,
    /// When the discipline's life began.
    began: Time,
}

#[derive(Clone, Debug)]
struct Node<P> {
    arrived: Time,
    packet: P,
    /// Its neighbors in its lane, or [`NONE`].
    before: u32,
    behind: u32,
}

/// A lane's first and last packet, and whether the discipline knows that it is idle.
#[derive(Clone, Copy, Debug)]
struct Ends {
    head: u32,
    tail: u32,
    idle: bool,
}

const NONE: u32 = u32::MAX;

/// Of which lane a packet has been in transmission since the link was last known to be idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaving {
    /// None has ever been, and no lane's idleness has been told.
    Never,
    Nothing,
    Lane(usize),
}

#[inline]
fn waiting<'a, P>(views: &'a [QueueView], packets: &Slab<Node<P>>, bytes: u64) -> Lanes<'a> {
    Lanes { each: views, packets: Packets::new(packets.len() as u32), bytes: Bytes::new(bytes) }
}

impl<P: Packet, D: Discipline> Parallel<P, D> {
    /// Empty lanes, which together hold at most `limit`; signals mark ECN-capable packets if `marks`;
    /// `rate` is the link's, where the host knows it.
    pub fn new(mut discipline: D, mut rng: Rng, limit: Limit, marks: bool, rate: Option<BitRate>) -> Self {
        discipline.draw(&mut rng);
        let lanes = discipline.lanes().max(1);
        let empty =
            QueueView { packets: Packets::new(0), bytes: Bytes::new(0), head_since: None, link_rate: rate };
        Parallel {
            packets: Slab::with_capacity(64),
            lane_counters: discipline.lane_names().iter().map(|_| Counters::default()).collect(),
            arrival_lane: 0,
            ends: (0..lanes).map(|_| Ends { head: NONE, tail: NONE, idle: false }).collect(),
            views: (0..lanes).map(|_| empty).collect(),
            bytes: 0,
            discipline,
            rng,
            limit,
            marks,
            counters: Counters::default(),
            rate,
            leaving: Leaving::Never,
            began: Time::ZERO,
        }
    }

    /// The discipline.
    pub fn discipline(&self) -> &D {
        &self.discipline
    }

    /// Allocates for `packets` packets, so that a queue of no more never allocates.
    pub fn reserve(&mut self, packets: usize) {
        self.packets.reserve(packets);
    }

    /// What waits in each lane.
    pub fn lanes(&self) -> &[QueueView] {
        &self.views
    }

    /// Counts what happens in a lane.
    #[inline(always)]
    fn count(&mut self, lane: usize, event: impl Fn(&mut Counters)) {
        event(&mut self.counters);
        if let Some(counters) = self.lane_counters.get_mut(lane) {
            event(counters);
        }
    }

    /// Asks the discipline.
    #[inline(always)]
    fn ask<R>(&mut self, now: Time, question: impl FnOnce(&mut D, &mut LanesCtx<'_>) -> R) -> R {
        let lanes = waiting(&self.views, &self.packets, self.bytes);
        question(&mut self.discipline, &mut LanesCtx { now, lanes, rng: &mut self.rng })
    }

    #[inline(always)]
    fn push(&mut self, lane: usize, arrived: Time, packet: P) {
        let bytes = packet.bytes().get();
        let tail = self.ends[lane].tail;
        let key = self.packets.insert(Node { arrived, packet, before: tail, behind: NONE }) as u32;
        let ends = &mut self.ends[lane];
        match self.packets.get_mut(tail as usize) {
            Some(last) => last.behind = key,
            None => ends.head = key,
        }
        ends.tail = key;
        ends.idle = false;
        let view = &mut self.views[lane];
        view.packets = Packets::new(view.packets.get() + 1);
        view.bytes = Bytes::new(view.bytes.get() + bytes);
        view.head_since = view.head_since.or(Some(arrived));
        self.bytes += bytes;
    }

    /// Takes the packet at the head of a lane, which is not empty.
    #[inline(always)]
    fn pop(&mut self, lane: usize) -> (Time, P) {
        let ends = &mut self.ends[lane];
        let Node { arrived, packet, behind, .. } = self.packets.remove(ends.head as usize);
        ends.head = behind;
        let head_since = match self.packets.get_mut(behind as usize) {
            Some(node) => {
                node.before = NONE;
                Some(node.arrived)
            }
            None => {
                ends.tail = NONE;
                None
            }
        };
        let bytes = packet.bytes().get();
        let view = &mut self.views[lane];
        view.packets = Packets::new(view.packets.get() - 1);
        view.bytes = Bytes::new(view.bytes.get() - bytes);
        view.head_since = head_since;
        self.bytes -= bytes;
        (arrived, packet)
    }

    /// Takes the packet `key`, the head or the tail of its lane.
    fn remove(&mut self, lane: usize, key: u32) -> (Time, P) {
        let Node { arrived, packet, before, behind } = self.packets.remove(key as usize);
        match self.packets.get_mut(before as usize) {
            Some(node) => node.behind = behind,
            None => self.ends[lane].head = behind,
        }
        match self.packets.get_mut(behind as usize) {
            Some(node) => node.before = before,
            None => self.ends[lane].tail = before,
        }
        let bytes = packet.bytes().get();
        let head_since = self.packets.get(self.ends[lane].head as usize).map(|node| node.arrived);
        let view = &mut self.views[lane];
        view.packets = Packets::new(view.packets.get() - 1);
        view.bytes = Bytes::new(view.bytes.get() - bytes);
        view.head_since = head_since;
        self.bytes -= bytes;
        (arrived, packet)
    }

    /// Tells the discipline that a lane is idle, if it is and was not told.
    #[inline]
    fn tell_idle(&mut self, lane: usize, since: Time) {
        let ends = &mut self.ends[lane];
        if ends.head == NONE && !ends.idle {
            ends.idle = true;
            self.discipline.on_idle(lane, since);
        }
    }

    #[cold]
    fn tell_all_idle(&mut self, since: Time) {
        (0..self.ends.len()).for_each(|lane| self.tell_idle(lane, since));
    }

    /// A drop may have emptied a lane of which nothing is in transmission.
    fn after_drop(&mut self, lane: usize, now: Time) {
        if self.leaving != Leaving::Lane(lane) {
            self.tell_idle(lane, now);
        }
    }

    /// Whether an arrival fits.
    #[inline]
    fn has_room(&self, pkt: &quell_aqm::PacketMeta) -> bool {
        self.limit.has_room(self.packets.len() as u32, self.bytes, pkt.bytes.get())
            && !self.discipline.is_crowded(&waiting(&self.views, &self.packets, self.bytes), pkt)
    }

    /// Drops packets until an arrival fits; says whether it does.
    #[inline(never)]
    fn make_room(
        &mut self,
        now: Time,
        lane: usize,
        pkt: &quell_aqm::PacketMeta,
        dropped: &mut dyn FnMut(Dropped<P>),
    ) -> bool {
        while !self.has_room(pkt) {
            let (victim, key) = match self.ask(now, |d, cx| d.victim(cx, lane, pkt)) {
                Victim::Arrival => {
                    self.ask(now, |d, cx| d.on_overflow(cx, lane, pkt));
                    return false;
                }
                Victim::Head(victim) => (victim, self.ends[victim].head),
                Victim::Tail(victim) => (victim, self.ends[victim].tail),
            };
            assert!(key != NONE, "lane {victim} is empty: no packet of it can make room");
            let (arrived, packet) = self.remove(victim, key);
            let meta = meta(&packet, arrived);
            self.count(victim, |counters| counters.evicted(&meta));
            let meta = shown(&meta, self.marks);
            self.ask(now, |d, cx| d.on_overflow(cx, victim, &meta));
            self.after_drop(victim, now);
            dropped(Dropped { packet, cause: Cause::Overflow, place: Place::Waiting });
        }
        true
    }
}

impl<P: Packet, D: Discipline> Qdisc for Parallel<P, D> {
    type Packet = P;

    #[inline(always)]
    fn enqueue(&mut self, now: Time, mut packet: P, dropped: &mut dyn FnMut(Dropped<P>)) -> Admission {
        self.advance(now);
        let meta = meta(&packet, now);
        let pkt = &shown(&meta, self.marks);
        let lane = self.discipline.classify(now, pkt);
        self.arrival_lane = lane;
        packet.set_lane(lane);
        let mut admission = judge(self.ask(now, |d, cx| d.on_enqueue(cx, lane, pkt)), pkt);
        if !matches!(admission, Admission::Dropped(_))
            && !self.has_room(pkt)
            // A copy, so that `pkt` itself need not be in memory.
            && !self.make_room(now, lane, &{ *pkt }, dropped)
        {
            admission = Admission::Dropped(Cause::Overflow);
        }
        self.count(lane, |counters| _ = counters.arrival(&meta, admission));
        match admission {
            Admission::Dropped(cause) => {
                dropped(Dropped { packet, cause, place: Place::Arrival });
                return admission;
            }
            Admission::Marked => packet.set_ce(),
            Admission::Queued => {}
        }
        self.push(lane, now, packet);
        admission
    }

    #[inline(always)]
    fn dequeue(&mut self, now: Time, dropped: &mut dyn FnMut(Dropped<P>)) -> Dequeued<P> {
        self.advance(now);
        // The transmission before has ended.
        self.idle(now);
        while !self.packets.is_empty() {
            let lane = match self.ask(now, |d, cx| d.next(cx)) {
                Next::Serve(lane) => lane,
                Next::NotBefore(time) => {
                    assert!(
                        time > now,
                        "a link that is free waits for a later time, not for {time} at {now}"
                    );
                    return Dequeued::NotBefore(time);
                }
            };
            assert!(self.ends[lane].head != NONE, "lane {lane} is empty: it cannot be served");
            let (arrived, mut packet) = self.pop(lane);
            let meta = meta(&packet, arrived);
            let pkt = &shown(&meta, self.marks);
            let admission = judge(self.ask(now, |d, cx| d.on_dequeue(cx, lane, pkt)), pkt);
            self.count(lane, |counters| counters.head(&meta, admission));
            match admission {
                Admission::Dropped(cause) => {
                    self.after_drop(lane, now);
                    dropped(Dropped { packet, cause, place: Place::Head });
                    continue;
                }
                Admission::Marked => packet.set_ce(),
                Admission::Queued => {}
            }
            self.leaving = Leaving::Lane(lane);
            return Dequeued::Packet(packet, arrived);
        }
        Dequeued::Nothing
    }

    #[inline]
    fn idle(&mut self, since: Time) {
        match core::mem::replace(&mut self.leaving, Leaving::Nothing) {
            Leaving::Never => self.tell_all_idle(since.max(self.began)),
            Leaving::Nothing => {}
            Leaving::Lane(lane) => self.tell_idle(lane, since),
        }
    }

    #[inline]
    fn advance(&mut self, now: Time) {
        while let Some(due) = self.discipline.next_update().filter(|due| *due <= now) {
            self.ask(due, |d, cx| d.on_update(cx));
        }
    }

    #[inline]
    fn next_update(&self) -> Option<Time> {
        self.discipline.next_update()
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    #[inline]
    fn arrival_lane(&self) -> usize {
        self.arrival_lane
    }

    fn lane_names(&self) -> &'static [&'static str] {
        self.discipline.lane_names()
    }

    fn lane_view(&self, lane: usize) -> Option<QueueView> {
        self.views.get(lane).copied()
    }

    fn lane_counters(&self) -> &[Counters] {
        &self.lane_counters
    }

    /// All lanes together; the oldest head is looked for in each.
    fn view(&self) -> QueueView {
        QueueView {
            packets: Packets::new(self.packets.len() as u32),
            bytes: Bytes::new(self.bytes),
            head_since: self.views.iter().filter_map(|v| v.head_since).min(),
            link_rate: self.rate,
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    fn observe(&self, out: &mut dyn Probe) {
        self.discipline.observe(out);
    }

    fn set_rate(&mut self, rate: BitRate) {
        self.rate = Some(rate);
        self.views.iter_mut().for_each(|v| v.link_rate = Some(rate));
    }

    fn into_parts(self) -> (Vec<(Time, P)>, Counters) {
        let mut waiting = Vec::with_capacity(self.packets.len());
        let mut packets = self.packets;
        for ends in self.ends {
            let mut key = ends.head;
            while key != NONE {
                let node = packets.remove(key as usize);
                waiting.push((node.arrived, node.packet));
                key = node.behind;
            }
        }
        // Stable: each lane keeps its order.
        waiting.sort_by_key(|(arrived, _)| *arrived);
        (waiting, self.counters)
    }

    fn take_over(&mut self, now: Time, waiting: Vec<(Time, P)>, counters: Counters) {
        self.discipline.on_start(now);
        self.began = now;
        self.counters = counters;
        for (arrived, mut packet) in waiting {
            let pkt = shown(&meta(&packet, arrived), self.marks);
            let lane = self.discipline.classify(now, &pkt);
            self.discipline.on_inherit(lane, &pkt);
            packet.set_lane(lane);
            self.push(lane, arrived, packet);
        }
    }
}
