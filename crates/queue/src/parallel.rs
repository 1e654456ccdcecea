//! Several FIFOs that share a buffer and a link, under one algorithm.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use quell_aqm::{Aqm, Cause, Lanes, QueueView, Rng};
use quell_units::{BitRate, Bytes, Packets, Time};

use crate::fifo::meta;
use crate::gate::{Admission, Gate, Limit};
use crate::{Counters, Packet, Qdisc};

/// The lanes of an algorithm (see [`Lanes`]) behind its [`Gate`].
#[derive(Clone, Debug)]
pub struct Parallel<P, A> {
    lanes: Vec<VecDeque<(Time, P)>>,
    /// What waits in each lane.
    views: Vec<QueueView>,
    packets: u32,
    bytes: u64,
    gate: Gate<A>,
    counters: Counters,
    rate: Option<BitRate>,
    /// The algorithm has been told that lane 0 is empty since its last packet was sent.
    idle_told: bool,
}

/// What waits in a lane when nothing does.
fn empty(link_rate: Option<BitRate>) -> QueueView {
    QueueView { packets: Packets::new(0), bytes: Bytes::new(0), head_since: None, link_rate }
}

impl<P: Packet, A: Aqm> Parallel<P, A> {
    /// Empty queues; as many as the algorithm has lanes, or one.
    pub fn new(mut aqm: A, rng: Rng, limit: Limit, marks: bool, rate: Option<BitRate>) -> Self {
        let count = aqm.lanes().map_or(1, |lanes| lanes.count().max(1));
        Parallel {
            lanes: (0..count).map(|_| VecDeque::with_capacity(64)).collect(),
            views: (0..count).map(|_| empty(rate)).collect(),
            packets: 0,
            bytes: 0,
            gate: Gate::new(aqm, rng, limit, marks),
            counters: Counters::default(),
            rate,
            idle_told: false,
        }
    }

    /// The algorithm.
    pub fn aqm(&self) -> &A {
        self.gate.aqm()
    }

    /// Tells the algorithm's view of the link's rate from now on.
    pub fn set_rate(&mut self, rate: BitRate) {
        self.rate = Some(rate);
        self.views.iter_mut().for_each(|v| v.link_rate = Some(rate));
    }

    /// What waits in each lane.
    pub fn lanes(&self) -> &[QueueView] {
        &self.views
    }

    /// What the algorithm's lanes say, or lane 0 if it has none.
    fn ask(&mut self, question: impl FnOnce(&mut dyn Lanes) -> usize) -> usize {
        self.gate.lanes().map_or(0, question)
    }

    fn push(&mut self, lane: usize, now: Time, packet: P) {
        let bytes = packet.bytes().get();
        let view = &mut self.views[lane];
        view.packets = Packets::new(view.packets.get() + 1);
        view.bytes = Bytes::new(view.bytes.get() + bytes);
        view.head_since = view.head_since.or(Some(now));
        self.packets += 1;
        self.bytes += bytes;
        self.lanes[lane].push_back((now, packet));
    }

    fn pop(&mut self, lane: usize) -> (Time, P) {
        let first = self.lanes[lane].pop_front().expect("the lane that is served next is not empty");
        let bytes = first.1.bytes().get();
        let view = &mut self.views[lane];
        view.packets = Packets::new(view.packets.get() - 1);
        view.bytes = Bytes::new(view.bytes.get() - bytes);
        view.head_since = self.lanes[lane].front().map(|(t, _)| *t);
        self.packets -= 1;
        self.bytes -= bytes;
        first
    }
}

impl<P: Packet, A: Aqm> Qdisc<P> for Parallel<P, A> {
    fn enqueue(&mut self, now: Time, mut packet: P) -> Admission {
        self.advance(now);
        let (meta, transport) = (meta(&packet, now), packet.transport());
        let lane = self.ask(|lanes| lanes.join(now, &meta, transport));
        let admission = self.gate.arrive_beside(now, self.views[lane], &self.view(), &meta);
        if !self.counters.arrival(admission) {
            return admission;
        }
        if admission == Admission::Marked {
            packet.set_ce();
        }
        self.idle_told &= lane != 0;
        self.push(lane, now, packet);
        admission
    }

    fn dequeue(&mut self, now: Time, dropped: &mut dyn FnMut(P, Cause)) -> Option<(P, Time)> {
        self.advance(now);
        while self.packets > 0 {
            // The transmission before, which may have been of lane 0, has ended.
            if self.lanes[0].is_empty() {
                self.idle(now);
            }
            let lane = match self.gate.lanes() {
                Some(lanes) => lanes.next(now, &self.views),
                None => 0,
            };
            let (enqueued_at, mut packet) = self.pop(lane);
            let admission = self.gate.depart(now, self.views[lane], &meta(&packet, enqueued_at));
            self.counters.head(admission);
            match admission {
                Admission::Dropped(cause) => {
                    dropped(packet, cause);
                    continue;
                }
                Admission::Marked => packet.set_ce(),
                Admission::Queued => {}
            }
            return Some((packet, enqueued_at));
        }
        None
    }

    fn idle(&mut self, since: Time) {
        if !self.idle_told {
            self.idle_told = true;
            self.gate.idle(since);
        }
    }

    fn advance(&mut self, now: Time) {
        while let Some(due) = self.gate.next_update().filter(|due| *due <= now) {
            self.gate.update(due, self.views[0]);
        }
    }

    fn next_update(&self) -> Option<Time> {
        self.gate.next_update()
    }

    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn view(&self) -> QueueView {
        QueueView {
            packets: Packets::new(self.packets),
            bytes: Bytes::new(self.bytes),
            head_since: self.views.iter().filter_map(|v| v.head_since).min(),
            link_rate: self.rate,
        }
    }
}
