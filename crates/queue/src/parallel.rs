//! Several FIFOs that share a buffer and a link, under a discipline.

use alloc::vec::Vec;

use quell_aqm::{Cause, Discipline, Lanes, LanesCtx, Next, Probe, QueueView, Rng, Victim};
use quell_units::{BitRate, Bytes, Packets, Time};

use crate::counters::{Events, Tally};
use crate::gate::{Admission, Limit, judge, shown};
use crate::qdisc::meta;
use crate::{Counters, Dequeued, DropPoint, Dropped, Packet, Qdisc};

/// The lanes of a [`Discipline`]. Whatever their number, an operation costs the same: the packets of
/// all lanes are in one store, those of a lane linked to each other.
#[derive(Clone, Debug)]
pub struct Parallel<P, D> {
    packets: Store<P>,
    ends: Vec<Ends>,
    /// The packets that wait in each lane, and their sum.
    views: Vec<QueueView>,
    bytes: u64,
    discipline: D,
    rng: Rng,
    limit: Limit,
    marks: bool,
    events: Events,
    /// One for each lane that has a name.
    lane_events: Vec<Events>,
    /// The lane of the last arrival.
    arrival_lane: usize,
    rate: Option<BitRate>,
    leaving: Leaving,
    /// The time at which the discipline's life began.
    began: Time,
}

/// Packets at places that stay theirs until they leave. Places that are free are linked by `behind`.
#[derive(Clone, Debug)]
struct Store<P> {
    nodes: Vec<Node<P>>,
    free: u32,
    packets: u32,
}

#[derive(Clone, Debug)]
struct Node<P> {
    packet: Option<P>,
    arrived: Time,
    /// Its neighbors in its lane, or [`NONE`]. What is before a head is not kept up.
    before: u32,
    behind: u32,
}

impl<P> Store<P> {
    fn with_capacity(packets: usize) -> Self {
        Store { nodes: Vec::with_capacity(packets), free: NONE, packets: 0 }
    }

    /// Takes a packet in, behind `before`.
    #[inline(always)]
    fn insert(&mut self, arrived: Time, packet: P, before: u32) -> u32 {
        let node = Node { packet: Some(packet), arrived, before, behind: NONE };
        self.packets += 1;
        let key = self.free;
        match self.nodes.get_mut(key as usize) {
            Some(place) => {
                self.free = place.behind;
                *place = node;
                key
            }
            None => self.grow(node),
        }
    }

    #[inline(never)]
    fn grow(&mut self, node: Node<P>) -> u32 {
        assert!(self.nodes.len() < NONE as usize, "a queue holds at most 2^32 - 1 packets");
        self.nodes.push(node);
        self.nodes.len() as u32 - 1
    }

    /// Takes a packet out: when it arrived, it, and its neighbors.
    #[inline(always)]
    fn remove(&mut self, key: u32) -> (Time, P, [u32; 2]) {
        let node = &mut self.nodes[key as usize];
        let packet = node.packet.take().expect("a lane links places with packets");
        let found = (node.arrived, packet, [node.before, node.behind]);
        node.behind = core::mem::replace(&mut self.free, key);
        self.packets -= 1;
        found
    }
}

/// A lane's first and last packet, and whether the discipline knows that it is idle.
#[derive(Clone, Copy, Debug)]
struct Ends {
    head: u32,
    tail: u32,
    idle: bool,
}

const NONE: u32 = u32::MAX;

/// The lane whose packet has been in transmission since the link was last known to be idle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaving {
    /// None has ever been, and no lane's idleness has been told.
    Never,
    Nothing,
    Lane(usize),
}

#[inline]
fn waiting<'a, P>(views: &'a [QueueView], packets: &Store<P>, bytes: u64) -> Lanes<'a> {
    Lanes { each: views, packets: Packets::new(packets.packets), bytes: Bytes::new(bytes) }
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
            packets: Store::with_capacity(64),
            lane_events: discipline.lane_names().iter().map(|_| Events::default()).collect(),
            arrival_lane: 0,
            ends: (0..lanes).map(|_| Ends { head: NONE, tail: NONE, idle: false }).collect(),
            views: (0..lanes).map(|_| empty).collect(),
            bytes: 0,
            discipline,
            rng,
            limit,
            marks,
            events: Events::default(),
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
        self.packets.nodes.reserve(packets.saturating_sub(self.packets.nodes.len()));
    }

    /// The packets that wait in each lane.
    pub fn lanes(&self) -> &[QueueView] {
        &self.views
    }

    fn waiting(&self) -> Tally {
        Tally { packets: u64::from(self.packets.packets), bytes: self.bytes }
    }

    /// Counts what happens in a lane.
    #[inline(always)]
    fn count(&mut self, lane: usize, event: impl Fn(&mut Events)) {
        event(&mut self.events);
        if let Some(events) = self.lane_events.get_mut(lane) {
            event(events);
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
        let ends = &mut self.ends[lane];
        let key = self.packets.insert(arrived, packet, ends.tail);
        let view = &mut self.views[lane];
        match self.packets.nodes.get_mut(ends.tail as usize) {
            Some(last) => last.behind = key,
            None => {
                ends.head = key;
                view.head_since = Some(arrived);
            }
        }
        ends.tail = key;
        ends.idle = false;
        view.packets = Packets::new(view.packets.get() + 1);
        view.bytes = Bytes::new(view.bytes.get() + bytes);
        self.bytes += bytes;
    }

    /// Takes the packet at the head of a lane, which is not empty.
    #[inline(always)]
    fn pop(&mut self, lane: usize) -> (Time, P) {
        let ends = &mut self.ends[lane];
        let (arrived, packet, [_, behind]) = self.packets.remove(ends.head);
        ends.head = behind;
        let view = &mut self.views[lane];
        view.head_since = match self.packets.nodes.get(behind as usize) {
            Some(node) => Some(node.arrived),
            None => {
                ends.tail = NONE;
                None
            }
        };
        let bytes = packet.bytes().get();
        view.packets = Packets::new(view.packets.get() - 1);
        view.bytes = Bytes::new(view.bytes.get() - bytes);
        self.bytes -= bytes;
        (arrived, packet)
    }

    /// Takes the packet at the tail of a lane, behind which nothing waits.
    fn pop_tail(&mut self, lane: usize) -> (Time, P) {
        let ends = &mut self.ends[lane];
        if ends.head == ends.tail {
            return self.pop(lane);
        }
        let (arrived, packet, [before, _]) = self.packets.remove(ends.tail);
        self.packets.nodes[before as usize].behind = NONE;
        ends.tail = before;
        let bytes = packet.bytes().get();
        let view = &mut self.views[lane];
        view.packets = Packets::new(view.packets.get() - 1);
        view.bytes = Bytes::new(view.bytes.get() - bytes);
        self.bytes -= bytes;
        (arrived, packet)
    }

    /// Takes the packet at a place of a lane, from the head.
    fn pop_at(&mut self, lane: usize, place: usize) -> (Time, P) {
        let mut key = self.ends[lane].head;
        for _ in 0..place {
            key = self.packets.nodes[key as usize].behind;
        }
        if place == 0 {
            return self.pop(lane);
        }
        if key == self.ends[lane].tail {
            return self.pop_tail(lane);
        }
        let (arrived, packet, [before, behind]) = self.packets.remove(key);
        self.packets.nodes[before as usize].behind = behind;
        self.packets.nodes[behind as usize].before = before;
        let bytes = packet.bytes().get();
        let view = &mut self.views[lane];
        view.packets = Packets::new(view.packets.get() - 1);
        view.bytes = Bytes::new(view.bytes.get() - bytes);
        self.bytes -= bytes;
        (arrived, packet)
    }

    /// Drops an acknowledgment that an arrival makes superfluous, if there is one.
    #[inline(never)]
    fn filter(&mut self, now: Time, lane: usize, arrival: &P, dropped: &mut dyn FnMut(Dropped<P>)) {
        let Some(acknowledges) = arrival.acknowledgment() else { return };
        let (nodes, mut key) = (&self.packets.nodes, self.ends[lane].head);
        let mut waiting = core::iter::from_fn(|| {
            let node = nodes.get(key as usize)?;
            key = node.behind;
            let packet = node.packet.as_ref()?;
            Some(packet.acknowledgment().filter(|_| packet.flow() == arrival.flow()))
        });
        let Some(place) = self.discipline.superfluous(&acknowledges, &mut waiting) else { return };
        let (arrived, packet) = self.pop_at(lane, place);
        let meta = meta(&packet, arrived);
        self.count(lane, |events| events.dropped(meta.bytes, meta.ecn, Cause::Forced));
        let meta = shown(&meta, self.marks);
        self.ask(now, |d, cx| d.on_superfluous(cx, lane, &meta));
        self.after_drop(lane, now);
        dropped(Dropped { packet, cause: Cause::Forced, place: DropPoint::Waiting });
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

    /// Says whether an arrival fits.
    #[inline]
    fn has_room(&self, pkt: &quell_aqm::PacketMeta) -> bool {
        self.limit.has_room(self.packets.packets, self.bytes, pkt.bytes.get())
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
            let (victim, at_head) = match self.ask(now, |d, cx| d.victim(cx, lane, pkt)) {
                Victim::Arrival => {
                    self.ask(now, |d, cx| d.on_overflow(cx, lane, pkt));
                    return false;
                }
                Victim::Head(victim) => (victim, true),
                Victim::Tail(victim) => (victim, false),
            };
            assert!(self.ends[victim].head != NONE, "lane {victim} is empty: no packet of it can make room");
            let (arrived, packet) = if at_head { self.pop(victim) } else { self.pop_tail(victim) };
            let meta = meta(&packet, arrived);
            self.count(victim, |events| events.dropped(meta.bytes, meta.ecn, Cause::Overflow));
            let meta = shown(&meta, self.marks);
            self.ask(now, |d, cx| d.on_overflow(cx, victim, &meta));
            self.after_drop(victim, now);
            dropped(Dropped { packet, cause: Cause::Overflow, place: DropPoint::Waiting });
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
        if self.discipline.filters() && !matches!(admission, Admission::Dropped(_)) {
            self.filter(now, lane, &packet, dropped);
        }
        if !matches!(admission, Admission::Dropped(_))
            && !self.has_room(pkt)
            // A copy, so that `pkt` itself need not be in memory.
            && !self.make_room(now, lane, &{ *pkt }, dropped)
        {
            admission = Admission::Dropped(Cause::Overflow);
        }
        self.count(lane, |events| events.arrives(meta.bytes, meta.ecn));
        match admission {
            Admission::Dropped(cause) => {
                self.count(lane, |events| events.refused(meta.bytes, meta.ecn, cause));
                dropped(Dropped { packet, cause, place: DropPoint::Arrival });
                return admission;
            }
            Admission::Marked => {
                self.count(lane, |events| events.marked(meta.bytes));
                packet.set_ce();
            }
            Admission::Queued => {}
        }
        if self.discipline.washes() {
            packet.wash();
        }
        self.push(lane, now, packet);
        admission
    }

    #[inline(always)]
    fn dequeue(&mut self, now: Time, dropped: &mut dyn FnMut(Dropped<P>)) -> Dequeued<P> {
        self.advance(now);
        // The transmission before has ended.
        self.idle(now);
        while self.packets.packets > 0 {
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
            match admission {
                Admission::Dropped(cause) => {
                    self.count(lane, |events| events.dropped(meta.bytes, meta.ecn, cause));
                    self.after_drop(lane, now);
                    dropped(Dropped { packet, cause, place: DropPoint::Head });
                    continue;
                }
                Admission::Marked => {
                    self.count(lane, |events| events.marked(meta.bytes));
                    packet.set_ce();
                }
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

    fn counters(&self) -> Counters {
        self.events.counters(self.waiting())
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

    fn lane_counters(&self, lane: usize) -> Option<Counters> {
        let view = self.views.get(lane)?;
        let waiting = Tally { packets: u64::from(view.packets.get()), bytes: view.bytes.get() };
        Some(self.lane_events.get(lane)?.counters(waiting))
    }

    /// All lanes together; the oldest head is looked for in each.
    fn view(&self) -> QueueView {
        QueueView {
            packets: Packets::new(self.packets.packets),
            bytes: Bytes::new(self.bytes),
            head_since: self.views.iter().filter_map(|v| v.head_since).min(),
            link_rate: self.rate,
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.packets.packets == 0
    }

    fn observe(&self, out: &mut dyn Probe) {
        self.discipline.observe(out);
    }

    fn set_rate(&mut self, rate: BitRate) {
        self.rate = Some(rate);
        self.views.iter_mut().for_each(|v| v.link_rate = Some(rate));
    }

    fn into_parts(self) -> (Vec<(Time, P)>, Counters) {
        let counters = self.counters();
        let mut packets = self.packets;
        let mut waiting = Vec::with_capacity(packets.packets as usize);
        for ends in self.ends {
            let mut key = ends.head;
            while key != NONE {
                let (arrived, packet, [_, behind]) = packets.remove(key);
                waiting.push((arrived, packet));
                key = behind;
            }
        }
        // Stable: each lane keeps its order.
        waiting.sort_by_key(|(arrived, _)| *arrived);
        (waiting, counters)
    }

    fn take_over(&mut self, now: Time, waiting: Vec<(Time, P)>, counters: Counters) {
        self.discipline.on_start(now);
        self.began = now;
        for (arrived, mut packet) in waiting {
            let pkt = shown(&meta(&packet, arrived), self.marks);
            let lane = self.discipline.classify(now, &pkt);
            self.discipline.on_inherit(lane, &pkt);
            packet.set_lane(lane);
            if self.discipline.washes() {
                packet.wash();
            }
            if let Some(events) = self.lane_events.get_mut(lane) {
                events.inherited(pkt.bytes);
            }
            self.push(lane, arrived, packet);
        }
        self.events = Events::after(&counters, self.waiting());
    }
}
