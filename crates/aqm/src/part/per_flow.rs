//! An algorithm for one queue, in each of the queues into which flows are hashed.

use alloc::vec;
use alloc::vec::Vec;

use quell_units::{Bytes, Duration, Time};

use super::{Emptied, FlowHash, Rounds, Ticker, fattest};
use crate::{
    Aqm, Cause, Departures, Discipline, Lanes, LanesCtx, Next, PacketMeta, Probe, QueueView, Rng, Verdict,
    Victim,
};

/// Requirements of flow queues on the algorithm that manages each.
pub trait OfFlow: Aqm + Clone {
    /// One of the updates that all queues have at the same times.
    fn update(&mut self, queue: &QueueView) {
        let _ = queue;
    }

    /// So many updates, between which nothing happened to its queue. While nothing waits, what they change depends
    /// on the algorithm alone.
    fn make_up(&mut self, updates: u64) {
        let _ = updates;
    }

    /// Tells whether that is so while packets wait, too.
    fn is_alone(&self) -> bool {
        true
    }

    /// Its probability after so many of them, if it has one.
    fn p_after(&self, updates: u64) -> Option<f64> {
        let _ = updates;
        None
    }
}

/// Order in which queues are served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// Those first that have just become active (RFC 8290 section 4.2).
    NewFirst,
    /// Queues take turns; one that runs empty loses its place (McKenney 1990).
    Turns,
}

/// Whom a full buffer costs a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Full {
    /// The arrival.
    Arrival,
    /// The end of the longest queue (McKenney 1990).
    Longest(Longest),
}

choice! {
    /// Measure of the longest queue.
    pub enum Longest {
        /// The most bytes.
        Bytes = "bytes",
        /// The most packets, and of equals the one that changed last, as in Linux's sfq.
        Packets = "packets",
    }
}

/// Arrangement of flow queues.
#[derive(Clone, Copy, Debug)]
pub struct Arrangement {
    /// Queues.
    pub flows: u32,
    /// Bytes of a turn.
    pub quantum: Bytes,
    /// Packets in all.
    pub limit: u32,
    /// Bytes in all.
    pub memory_limit: Bytes,
    /// Packets in one queue.
    pub depth: u32,
    /// Queues with packets at a time.
    pub active: u32,
    /// Order of service.
    pub service: Service,
    /// Treatment of a new queue that is found empty.
    pub emptied: Emptied,
    /// Choice of the queue that loses packets to a full buffer.
    pub full: Full,
    /// The key of the hash, or the run's.
    pub hash_key: Option<u64>,
    /// Time after which flows are hashed by another key.
    pub perturb: Option<Duration>,
}

/// Queues into which flows are hashed, each under an algorithm of its own.
#[derive(Clone, Debug)]
pub struct PerFlow<A> {
    given: Arrangement,
    hash: FlowHash,
    rounds: Rounds,
    each: Vec<A>,
    /// Calendar of the updates of all queues.
    ticker: Option<Ticker>,
    /// Updates so far.
    updates: u64,
    /// Leaves waiting packets out of updates.
    alone: bool,
    /// Those that are updated on time, since what waits in them counts.
    awake: Vec<u32>,
    /// The updates that each of the others has had, or [`AWAKE`].
    had: Vec<u64>,
    /// When each queue changed last, if that decides which is the longest.
    changed: Vec<u64>,
    changes: u64,
}

/// Mark of a queue that is updated on time.
const AWAKE: u64 = u64::MAX;

impl<A: OfFlow> PerFlow<A> {
    /// Each queue has a copy of `aqm`; `ticker` says when those that have updates have them.
    pub fn new(given: Arrangement, aqm: A, ticker: Option<Ticker>) -> Self {
        let flows = given.flows as usize;
        let alone = aqm.is_alone();
        PerFlow {
            given,
            hash: FlowHash::new(given.hash_key),
            rounds: Rounds::new(flows),
            each: vec![aqm; flows],
            ticker,
            updates: 0,
            alone,
            awake: Vec::with_capacity(if alone { 0 } else { flows }),
            had: vec![0; flows],
            changed: vec![0; if given.full == Full::Longest(Longest::Packets) { flows } else { 0 }],
            changes: 0,
        }
    }

    /// A packet of `lane` came or went.
    #[inline(always)]
    fn change(&mut self, lane: usize) {
        if let Some(changed) = self.changed.get_mut(lane) {
            self.changes += 1;
            *changed = self.changes;
        }
    }

    /// Tells whether as many queues have packets as may.
    #[inline]
    fn is_taken(&self, lanes: &Lanes<'_>) -> bool {
        let any = |lane: &usize| lanes.each[*lane].packets.get() > 0;
        self.given.active < self.given.flows
            && self.rounds.active().filter(any).count() >= self.given.active as usize
    }

    /// The queue with the most packets, the arrival counted; of equals the one that changed last, as the arrival's has
    /// just done.
    fn longest(&self, lanes: &Lanes<'_>, arrival: usize) -> usize {
        let packets = |lane: usize| lanes.each[lane].packets.get() + u32::from(lane == arrival);
        let key = |lane: &usize| (packets(*lane), self.changed[*lane]);
        self.rounds.active().chain([arrival]).max_by_key(key).unwrap_or(arrival)
    }

    /// Something happens to `lane`: it has the updates that were put off.
    #[inline(always)]
    fn touch(&mut self, lane: usize) {
        if self.had[lane] != self.updates {
            self.make_up(lane);
        }
    }

    #[inline(never)]
    fn make_up(&mut self, lane: usize) {
        if self.had[lane] != AWAKE {
            self.each[lane].make_up(self.updates - self.had[lane]);
            self.had[lane] = self.updates;
        }
    }

    /// `lane` is updated on time from now on.
    #[inline(never)]
    fn wake(&mut self, lane: usize) {
        if self.had[lane] != AWAKE {
            self.had[lane] = AWAKE;
            self.awake.push(lane as u32);
        }
    }

    /// Something arrives for `lane`.
    #[inline(always)]
    fn arrive(&mut self, lane: usize) {
        self.touch(lane);
        if !self.alone {
            self.wake(lane);
        }
    }
}

impl<A: OfFlow> Discipline for PerFlow<A> {
    fn draw(&mut self, rng: &mut Rng) {
        if self.given.hash_key.is_none() {
            self.hash.draw(rng);
        }
    }

    fn lanes(&self) -> usize {
        self.each.len()
    }

    fn on_start(&mut self, now: Time) {
        self.each.iter_mut().for_each(|aqm| aqm.on_start(now));
        if let Some(ticker) = &mut self.ticker {
            ticker.on_start(now);
        }
    }

    fn on_inherit(&mut self, lane: usize, pkt: &PacketMeta) {
        self.arrive(lane);
        self.each[lane].on_inherit(pkt);
        self.rounds.inherit(lane, self.given.quantum.get() as i32, self.given.service == Service::NewFirst);
    }

    #[inline(always)]
    fn classify(&mut self, now: Time, pkt: &PacketMeta) -> usize {
        let hash = match self.given.perturb {
            None => self.hash,
            Some(perturb) => self.hash.turned(now.nanos() / perturb.nanos()),
        };
        hash.lane(pkt.flow, self.given.flows)
    }

    #[inline(always)]
    fn on_enqueue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        let waiting = cx.lanes.each[lane].packets.get();
        if waiting >= self.given.depth || (waiting == 0 && self.is_taken(&cx.lanes)) {
            return Verdict::Drop(Cause::Forced);
        }
        self.arrive(lane);
        let verdict = self.each[lane].on_enqueue(&mut cx.of(lane), pkt);
        if !verdict.drops(pkt) {
            self.change(lane);
            let (quantum, new_first) =
                (self.given.quantum.get() as i32, self.given.service == Service::NewFirst);
            self.rounds.arrive(lane, &cx.lanes, quantum, new_first, |_| {});
        }
        verdict
    }

    #[inline]
    fn is_crowded(&self, lanes: &Lanes<'_>, pkt: &PacketMeta) -> bool {
        lanes.packets.get() >= self.given.limit
            || lanes.bytes.get() + pkt.bytes.get() > self.given.memory_limit.get()
    }

    fn victim(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Victim {
        match self.given.full {
            Full::Longest(by) => {
                let longest = match by {
                    Longest::Bytes => fattest(self.rounds.active(), &cx.lanes, lane, pkt.bytes.get()),
                    Longest::Packets => self.longest(&cx.lanes, lane),
                };
                // The arrival is the end of its queue.
                if longest == lane { Victim::Arrival } else { Victim::Tail(longest) }
            }
            Full::Arrival => Victim::Arrival,
        }
    }

    fn on_overflow(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) {
        self.touch(lane);
        self.change(lane);
        self.each[lane].on_overflow(&mut cx.of(lane), pkt);
    }

    #[inline(always)]
    fn next(&mut self, cx: &mut LanesCtx<'_>) -> Next {
        let quantum = self.given.quantum.get() as i32;
        Next::Serve(self.rounds.next(&cx.lanes, self.given.emptied, |_| quantum, |_| {}))
    }

    #[inline(always)]
    fn on_dequeue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        self.touch(lane);
        self.change(lane);
        let verdict = match self.each[lane].departures() {
            Departures::Ignored => Verdict::Pass,
            Departures::Watched | Departures::Decided => self.each[lane].on_dequeue(&mut cx.of(lane), pkt),
        };
        if !verdict.drops(pkt) {
            self.rounds.charge(lane, pkt.bytes.get());
        }
        if self.given.service == Service::Turns && cx.lanes.each[lane].packets.get() == 0 {
            self.rounds.leave(lane);
        }
        verdict
    }

    #[inline]
    fn on_idle(&mut self, lane: usize, since: Time) {
        self.rounds.idle(lane);
        self.touch(lane);
        self.each[lane].on_idle(since);
    }

    #[inline]
    fn next_update(&self) -> Option<Time> {
        self.ticker.map(|ticker| ticker.due())
    }

    fn on_update(&mut self, cx: &mut LanesCtx<'_>) {
        if let Some(ticker) = &mut self.ticker {
            ticker.advance();
        }
        let mut i = 0;
        while let Some(lane) = self.awake.get(i).map(|lane| *lane as usize) {
            let queue = &cx.lanes.each[lane];
            if queue.packets.get() == 0 {
                self.had[lane] = self.updates;
                self.awake.swap_remove(i);
            } else {
                self.each[lane].update(queue);
                i += 1;
            }
        }
        self.updates += 1;
    }

    fn observe(&self, out: &mut dyn Probe) {
        let (new, old) = self.rounds.counts();
        out.value("new_queues", "queues", f64::from(new));
        out.value("old_queues", "queues", f64::from(old));
        // The most severe of those that are served.
        let p_of = |lane: usize| self.each[lane].p_after(self.updates.saturating_sub(self.had[lane]));
        let p = self.rounds.active().filter_map(p_of).reduce(f64::max);
        if self.each[0].p_after(0).is_some() {
            out.value("p", "1", p.unwrap_or(0.0));
        }
    }
}
