//! A part of the flows: their ends, their timers, and the links that only they use. Between two stops nothing
//! else can touch a flow, so parts share nothing, and each can be taken further by another core.

use quell_units::{Duration, Time};

use super::inbox::Key;
use super::moving::{Gone, Moving};
use super::prefetch::prefetch;
use super::tree::WinnerTree;
use crate::Error;
use crate::flow::{Direction, ELSEWHERE, Flow, Host};
use crate::outcome::{Conservation, Transfer};
use crate::packet::{Pkt, SackTable};
use crate::wire::{Flight, Wire};

/// The end of a hop that leads to no node: the flow's other end.
pub(super) const END: u32 = u32::MAX;
/// The end of a hop that leads to another private link.
pub(super) const ON: u32 = u32::MAX - 1;

/// One step of a way: over a private link, if there is one, to a stop. A cache line.
#[repr(align(64))]
pub(super) struct Hop {
    pub wire: Wire,
    /// The node that the packet goes to, or [`END`] or [`ON`].
    pub to: u32,
    /// There is a wire.
    pub wired: bool,
    /// The node is the flow's other end, so that a relay delivers.
    pub ends: bool,
}

/// The world beyond a part: the keeper of the packets that wait at nodes.
pub(super) trait Beyond {
    /// The part has all flows, so that they and their hops have the same numbers in it.
    const WHOLE: bool;
    /// A packet arrives at a node; false if there is none of that number.
    fn arrives(&mut self, node: u32, now: Time, key: Key, pkt: Pkt) -> bool;
    /// The sender of a flow measured a round-trip time in a segment; the warm-up is number 0.
    fn measured(&mut self, flow: u32, segment: usize, rtt: Duration);
    /// The first timer of part `number` is due earlier than before.
    fn timer(&mut self, number: u32, due: Time);
}

/// A flow and its timer.
#[repr(align(64))]
struct End {
    flow: Flow,
    /// The event there: one that comes too early does no harm and finds the right time, so only an
    /// earlier deadline moves it.
    watched: Time,
}

/// The ways of the flows of a part, and what is on them.
pub(super) struct Ways<B> {
    pub beyond: B,
    /// The numbers of the first flow and of the first hop.
    first_flow: u32,
    first_hop: u32,
    /// The hops of each way follow each other.
    hops: Vec<Hop>,
    /// Per flow: the first hop of data and of acknowledgments.
    ways: Vec<[u32; 2]>,
    /// Bits of a [`Key`] that hold the hop.
    bits: u32,
    bounds: Vec<Time>,
    end: Time,
    sacks: SackTable,
    transfers: Vec<Transfer>,
    count: Conservation,
    /// Packets on their way to their next stops, and those that have reached their other ends without one: taken
    /// further together, see [`Part::settle`].
    pub moving: Vec<Moving>,
    arrived: Vec<(Time, Pkt)>,
    /// Those that go no further.
    pub gone: Gone,
}

impl<B: Beyond> Host for Ways<B> {
    fn leaves(&self, pkt: Pkt) -> Time {
        let first = &self.hops[self.own_hop(self.ways[self.own_flow(pkt)][Direction::Forward as usize])];
        first.wire.busy_until
    }
    #[inline(always)]
    fn send(&mut self, now: Time, pkt: Pkt, direction: Direction) {
        self.count.sent += 1;
        let hop = self.ways[self.own_flow(pkt)][direction as usize];
        if let Some(arrives) = self.step::<false>(Moving { at: now, pkt, hop }) {
            self.arrived.push((arrives, pkt));
        }
    }
    fn sacks(&mut self) -> &mut SackTable {
        &mut self.sacks
    }
    fn finished(&mut self, transfer: Transfer) {
        self.transfers.push(transfer);
    }
    fn measured(&mut self, flow: u32, segment: usize, rtt: Duration) {
        self.beyond.measured(flow, segment, rtt);
    }
    fn bounds(&self) -> &[Time] {
        &self.bounds
    }
}

impl<B: Beyond> Ways<B> {
    /// The number of a packet's flow in the part.
    #[inline(always)]
    fn own_flow(&self, pkt: Pkt) -> usize {
        (if B::WHOLE { pkt.flow() } else { pkt.flow() - self.first_flow }) as usize
    }

    /// The number of a hop in the part.
    #[inline(always)]
    fn own_hop(&self, hop: u32) -> usize {
        (if B::WHOLE { hop } else { hop - self.first_hop }) as usize
    }

    /// Takes a packet that moves over a hop, to its next stop; when it arrives if that is its other end, which is
    /// asked first where it is `LIKELY`.
    #[inline(always)]
    fn step<const LIKELY: bool>(&mut self, Moving { at, pkt, hop }: Moving) -> Option<Time> {
        let own = self.own_hop(hop);
        let step = &mut self.hops[own];
        let start = step.wire.start(at);
        let now = match step.wire.transmit_usual(start, pkt.bytes()) {
            Some(arrives) => arrives,
            None if !step.wired => at,
            None => {
                let Flight { start, arrives, lost, copied } = step.wire.transmit_any(start, pkt.bytes());
                if lost {
                    self.gone.lost.push((start, pkt));
                    return None;
                }
                if copied {
                    let to = step.to;
                    self.arrive_twice(start, Moving { at: arrives, pkt, hop }, to);
                    return None;
                }
                arrives
            }
        };
        if now >= self.end {
            self.gone.late.push(pkt);
        } else if LIKELY && step.to == END {
            return Some(now);
        } else if self.beyond.arrives(step.to, now, Key::new(now, hop as usize, self.bits), pkt) {
        } else if step.to == END {
            return Some(now);
        } else {
            self.moving.push(Moving { at: now, pkt, hop: hop + 1 });
        }
        None
    }

    /// A packet that a private link copies, from `start` on, arrives twice at the stop behind that link.
    #[cold]
    #[inline(never)]
    fn arrive_twice(&mut self, start: Time, Moving { at, mut pkt, hop }: Moving, node: u32) {
        let key = Key::new(at, hop as usize, self.bits);
        for _ in 0..1 + self.copies(start, &mut pkt) {
            if at >= self.end {
                self.gone.late.push(pkt);
            } else {
                let stops = self.beyond.arrives(node, at, key, pkt);
                debug_assert!(stops, "packets stop behind a link that copies them");
            }
        }
    }

    /// The number of copies that a wire makes of a packet from `start` on: one, unless that cannot be seen any more.
    fn copies(&mut self, start: Time, pkt: &mut Pkt) -> u64 {
        let copies = u64::from(start < self.end);
        if copies > 0 {
            self.sacks.share(pkt);
        }
        self.count.duplicated += copies;
        copies
    }

    /// Puts the copies that a merging link makes behind the packets that move.
    #[cold]
    #[inline(never)]
    fn make_copies(&mut self) {
        let mut copied = std::mem::take(&mut self.gone.copied);
        let mut before = 0;
        for (start, place) in copied.drain(..) {
            let place = place + before;
            let mut moving = self.moving[place];
            if self.copies(start, &mut moving.pkt) > 0 {
                // It may have got an entry, which the copy has too.
                self.moving[place] = moving;
                self.moving.insert(place, moving);
                before += 1;
            }
        }
        self.gone.copied = copied;
    }

    /// Packets have passed the relay: each goes on with its next hop, or has reached its other end.
    pub fn relay(&mut self) {
        let Ways { moving, arrived, hops, first_hop, .. } = self;
        moving.retain_mut(|Moving { at, pkt, hop }| {
            let ends = hops[(*hop - *first_hop) as usize].ends;
            if ends {
                arrived.push((*at, *pkt));
            }
            *hop += 1;
            !ends
        });
    }

    /// Counts what does not go on.
    #[inline]
    fn clear_gone(&mut self) {
        if !self.gone.is_empty() {
            self.count_gone();
        }
    }

    #[inline(never)]
    fn count_gone(&mut self) {
        self.count.dropped += self.gone.dropped.len() as u64;
        // What a wire would lose, or deliver, from the end on cannot be seen.
        let lost = self.gone.lost.iter().filter(|(start, _)| *start < self.end).count();
        self.count.lost += lost as u64;
        self.count.in_flight += (self.gone.lost.len() - lost + self.gone.late.len()) as u64;
        let lost = self.gone.lost.drain(..).map(|(_, pkt)| pkt);
        for pkt in self.gone.dropped.drain(..).chain(self.gone.late.drain(..)).chain(lost) {
            self.sacks.take(pkt);
        }
    }
}

/// A part of the flows.
pub(super) struct Part<B> {
    pub number: u32,
    pub ways: Ways<B>,
    ends: Vec<End>,
    /// The flows by when their timers are due; their numbers are counted from the part's first.
    timers: WinnerTree,
    /// There is more state of flows than the nearest caches hold.
    prefetches: bool,
}

/// The packets ahead for which it is prefetched.
const AHEAD: usize = 8;

/// Room for the packets that move together: those that a node takes at once and what they cause.
const ROOM: usize = 1024;

/// Flows, their hops and where the hops of each begin.
pub(super) struct Crowd {
    pub flows: Vec<Flow>,
    pub hops: Vec<Hop>,
    pub ways: Vec<[u32; 2]>,
}

/// The settings that all parts of a run have in common.
pub(super) struct Settings {
    /// Bits of a [`Key`] that hold the hop.
    pub bits: u32,
    /// See [`Host::bounds`].
    pub bounds: Vec<Time>,
    pub end: Time,
    /// There is more state of flows than the nearest caches hold.
    pub prefetches: bool,
}

/// A part at the end of the run.
pub(super) struct Finished {
    pub count: Conservation,
    pub flows: Vec<Flow>,
    pub transfers: Vec<Transfer>,
}

impl<B: Beyond> Part<B> {
    /// A part of a number, with those of its first flow and hop.
    pub fn new(
        (number, first_flow, first_hop): (u32, u32, u32),
        Crowd { flows, hops, ways }: Crowd,
        settings: &Settings,
        beyond: B,
    ) -> Result<Self, Error> {
        let mut timers = WinnerTree::new(flows.len(), settings.end)?;
        let mut ends = Vec::with_capacity(flows.len());
        for (i, flow) in flows.into_iter().enumerate() {
            let watched = flow.due();
            timers.set(i as u32, watched);
            ends.push(End { flow, watched });
        }
        let ways = Ways {
            beyond,
            first_flow,
            first_hop,
            hops,
            ways,
            bits: settings.bits,
            bounds: settings.bounds.clone(),
            end: settings.end,
            sacks: SackTable::default(),
            transfers: Vec::new(),
            count: Conservation::default(),
            moving: Vec::with_capacity(ROOM),
            arrived: Vec::with_capacity(ROOM),
            gone: Gone::with_capacity(ROOM),
        };
        Ok(Part { number, ways, ends, timers, prefetches: settings.prefetches })
    }

    /// The part at the end of the run, and what lies beyond it.
    pub fn finish(self) -> (B, Finished) {
        let Ways { beyond, count, transfers, .. } = self.ways;
        (beyond, Finished { count, flows: self.ends.into_iter().map(|end| end.flow).collect(), transfers })
    }

    /// The time at which its first timer is due.
    #[inline]
    pub fn due(&self) -> Time {
        self.timers.first().0
    }

    /// Takes all packets that move to their next stops; those that reach their other ends without
    /// one are delivered, and what that sends moves as well.
    pub fn settle(&mut self) {
        if !self.ways.gone.copied.is_empty() {
            self.ways.make_copies();
        }
        while !self.ways.moving.is_empty() || !self.ways.arrived.is_empty() {
            self.forward();
            self.deliver();
        }
        self.ways.clear_gone();
    }

    /// Takes packets over their hops.
    #[inline(never)]
    fn forward(&mut self) {
        let mut i = 0;
        while let Some(&moving) = self.ways.moving.get(i) {
            if self.prefetches {
                self.look_after(i);
            }
            i += 1;
            if let Some(arrives) = self.ways.step::<true>(moving) {
                self.deliver_one(arrives, moving.pkt);
            }
        }
        self.ways.moving.clear();
    }

    /// Delivers the packets that reached their other ends without a stop on their way.
    fn deliver(&mut self) {
        let mut i = 0;
        while let Some(&(at, pkt)) = self.ways.arrived.get(i) {
            i += 1;
            self.deliver_one(at, pkt);
        }
        self.ways.arrived.clear();
    }

    /// Delivers a packet at its other end.
    #[inline(always)]
    fn deliver_one(&mut self, at: Time, pkt: Pkt) {
        self.ways.count.delivered += 1;
        let flow = self.ways.own_flow(pkt);
        let end = &mut self.ends[flow];
        let due = end.flow.on_packet(at, pkt, &mut self.ways);
        if due < end.watched {
            self.watch(flow as u32, due, (at, pkt));
        }
    }

    /// A flow has something to do earlier than before, after a packet, or another one takes that.
    #[inline(never)]
    fn watch(&mut self, mut flow: u32, mut due: Time, (at, pkt): (Time, Pkt)) {
        if due == ELSEWHERE {
            flow -= self.ends[flow as usize].flow.first_connection();
            let end = &mut self.ends[flow as usize];
            due = end.flow.on_packet(at, pkt, &mut self.ways);
            if due >= end.watched {
                return;
            }
        }
        self.ends[flow as usize].watched = due;
        self.timers.set(flow, due);
        self.ways.beyond.timer(self.number, self.due());
    }

    /// Prepares for packets that come soon after number `i`, and for what they cause.
    #[inline]
    fn look_after(&self, i: usize) {
        let Ways { moving, hops, ways, first_flow, first_hop, .. } = &self.ways;
        if let Some(far) = moving.get(i + AHEAD) {
            let flow = (far.pkt.flow() - first_flow) as usize;
            prefetch(&hops[(far.hop - first_hop) as usize]);
            // The connections of a client have its end, and no ends of their own.
            if let Some(end) = self.ends.get(flow) {
                prefetch(end);
            }
            prefetch(&ways[flow]);
        }
        if let Some(near) = moving.get(i + AHEAD / 2) {
            let [forward, back] = ways[(near.pkt.flow() - first_flow) as usize];
            let next = if near.pkt.is_ack() { forward } else { back };
            // A flow that nothing acknowledges has no way back: behind the last flow's there is no hop.
            if let Some(hop) = hops.get((next - first_hop) as usize) {
                prefetch(hop);
            }
        }
    }

    /// The event of the flow whose timer is due first; [`Part::due`] is another one then.
    pub fn wake(&mut self) {
        let (now, flow) = self.timers.first();
        let end = &mut self.ends[flow as usize];
        end.flow.advance(now, &mut self.ways);
        end.watched = end.flow.due();
        self.timers.set(flow, end.watched);
        self.settle();
    }
}
