//! One run on several cores: the sample path is that of one.
//!
//! The flows are divided into [`Part`]s, which share nothing. All packets that pass a link before anything else
//! can reach it, a *window*, pass its queue on the core that runs the simulation; meanwhile other cores take
//! those that have passed further, part by part. What that brings to other links comes after the window, so it
//! is kept in the part ([`Outbox`]) until the part is back. Packets with equal keys are of one flow, and so of
//! one part: they keep their order, and that of the parts does not matter.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, Result as Outcome, Scope, Thread};

use quell_units::{Duration, Time};

use super::drive::Ahead;
use super::inbox::{Inbox, Key};
use super::moving::{Gone, Moving};
use super::net::{Net, RELAY};
use super::part::{Beyond, Crowd, Finished, Part, Settings};
use crate::packet::Pkt;
use crate::{Error, IdleCores};

/// The number of parts into which flows are divided: enough that cores seldom wait for each other.
pub(super) const PARTS: usize = 16;

/// Packets that pass a link before the parts get theirs; fewer are not worth asking other cores, which takes some
/// microseconds.
pub(super) const CHUNK: usize = 2048;

/// Steps for which one waits for another core before it lets the system have its own.
const SPINS: u32 = 2000;

/// The results of a part for the others.
pub(super) struct Outbox {
    /// The links, while the part is taken further on their core: nothing is kept for them then.
    net: Option<Box<Net>>,
    /// Packets by the node at which they arrive.
    arrivals: Vec<Vec<(Key, Pkt)>>,
    round_trips: Vec<(u32, u32, Duration)>,
}

impl Outbox {
    #[inline(never)]
    fn keep(&mut self, node: u32, key: Key, pkt: Pkt) -> bool {
        let Some(arrivals) = self.arrivals.get_mut(node as usize) else { return false };
        arrivals.push((key, pkt));
        true
    }
}

impl Beyond for Outbox {
    const WHOLE: bool = false;

    #[inline(always)]
    fn arrives(&mut self, node: u32, now: Time, key: Key, pkt: Pkt) -> bool {
        match &mut self.net {
            Some(net) => net.arrives(node, now, key, pkt),
            None => self.keep(node, key, pkt),
        }
    }
    fn measured(&mut self, flow: u32, segment: usize, rtt: Duration) {
        match &mut self.net {
            Some(net) => net.measured(flow, segment, rtt),
            None => self.round_trips.push((flow, segment as u32, rtt)),
        }
    }
    /// Whoever gets the part back looks.
    fn timer(&mut self, _: u32, _: Time) {}
}

type Own = Box<Part<Outbox>>;

/// The next work of a part.
struct Share {
    /// The part, if it is not with another core.
    part: Option<Own>,
    moving: Vec<Moving>,
    gone: Gone,
}

/// The inbox of a node if it is lent, otherwise one to have in its place.
struct Lent {
    lent: bool,
    inbox: Inbox,
}

/// The place where cores meet.
struct Desk {
    /// The inboxes of the nodes, but of the one that runs, while other cores help.
    inboxes: Vec<Mutex<Lent>>,
    /// Parts with something to do.
    ready: Mutex<VecDeque<Own>>,
    /// Those that have done it, or what went wrong.
    done: Mutex<Vec<Outcome<Own>>>,
    over: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until `something` is there, for the notice of its coming if that takes long.
fn wait_for<T>(mut something: impl FnMut() -> Option<T>) -> T {
    let mut spins = 0;
    loop {
        if let Some(it) = something() {
            return it;
        }
        spins += 1;
        if spins < SPINS { std::hint::spin_loop() } else { thread::park() }
    }
}

impl Desk {
    /// Takes the packets of a part further, and what that brings to other nodes there.
    fn settle(&self, part: &mut Part<Outbox>) {
        part.settle();
        for (arrivals, inbox) in part.ways.beyond.arrivals.iter_mut().zip(&self.inboxes) {
            if !arrivals.is_empty()
                && let Lent { lent: true, inbox } = &mut *lock(inbox)
            {
                arrivals.drain(..).for_each(|(key, pkt)| inbox.push(key, pkt));
            }
        }
    }

    /// The work of another core.
    fn help(&self, runs: &Thread) {
        let next = || match lock(&self.ready).pop_front() {
            None => self.over.load(Ordering::Acquire).then_some(None),
            part => Some(part),
        };
        while let Some(mut part) = wait_for(next) {
            let done = catch_unwind(AssertUnwindSafe(|| {
                self.settle(&mut part);
                part
            }));
            lock(&self.done).push(done);
            runs.unpark();
        }
    }
}

/// The cores that help. They go when this does, whatever happens.
struct Helpers<'a> {
    desk: &'a Desk,
    threads: Vec<Thread>,
    idle: &'a IdleCores,
}

impl Drop for Helpers<'_> {
    fn drop(&mut self) {
        self.desk.over.store(true, Ordering::Release);
        self.threads.iter().for_each(Thread::unpark);
        self.idle.add(self.threads.len());
    }
}

/// A run in parts.
pub(super) struct Split<'scope, 'env> {
    /// The links, unless a part has them, see [`Outbox`].
    net: Option<Box<Net>>,
    shares: Vec<Share>,
    /// A flow's part is `flow >> shift`.
    shift: u32,
    moving: Vec<Moving>,
    gone: Gone,
    scope: &'scope Scope<'scope, 'env>,
    helpers: Helpers<'env>,
    /// Room for the parts that are done.
    done: Vec<Outcome<Own>>,
    /// See [`CHUNK`].
    chunk: usize,
    /// The inboxes are lent.
    lent: bool,
}

/// Runs the flows of `crowds`, each with the number of its first hop and `1 << shift` flows but for the last, as
/// `drive` says.
pub(super) fn run(
    net: Net,
    crowds: Vec<(u32, Crowd)>,
    shift: u32,
    settings: &Settings,
    (chunk, idle): (usize, &IdleCores),
    drive: impl FnOnce(&mut Split<'_, '_>) -> Result<(), Error>,
) -> Result<(Net, Vec<Finished>), Error> {
    let mut net = Box::new(net);
    let mut shares = Vec::with_capacity(crowds.len());
    for (number, (first_hop, crowd)) in (0..).zip(crowds) {
        let arrivals = net.nodes.iter().map(|_| Vec::new()).collect();
        let outbox = Outbox { net: None, arrivals, round_trips: Vec::new() };
        let part = Part::new((number, number << shift, first_hop), crowd, settings, outbox)?;
        net.timer(number, part.due());
        shares.push(Share { part: Some(Box::new(part)), moving: Vec::new(), gone: Gone::with_capacity(0) });
    }
    let desk = Desk {
        inboxes: net
            .nodes
            .iter()
            .map(|_| Mutex::new(Lent { lent: false, inbox: Inbox::new(net.bits) }))
            .collect(),
        ready: Mutex::default(),
        done: Mutex::default(),
        over: AtomicBool::new(false),
    };
    thread::scope(|scope| {
        let helpers = Helpers { desk: &desk, threads: Vec::new(), idle };
        let (moving, gone) = (Vec::with_capacity(2 * chunk), Gone::with_capacity(chunk));
        let net = Some(net);
        let mut split =
            Split { net, shares, shift, moving, gone, scope, helpers, done: Vec::new(), chunk, lent: false };
        drive(&mut split)?;
        let net = split.net.expect(AT_HAND);
        let parts = split.shares.into_iter().filter_map(|share| share.part);
        Ok((*net, parts.map(|part| part.finish().1).collect()))
    })
}

/// The reason why [`Split::net`] is there: a part that runs on its core gives it back.
const AT_HAND: &str = "no part runs on this core";

/// Takes a part further on this core, with the links at hand.
fn run_here(net: &mut Option<Box<Net>>, part: &mut Part<Outbox>, run: impl FnOnce(&mut Part<Outbox>)) {
    part.ways.beyond.net = net.take();
    run(part);
    *net = part.ways.beyond.net.take();
    net.as_mut().expect(AT_HAND).timer(part.number, part.due());
}

impl Ahead for Split<'_, '_> {
    fn net(&mut self) -> &mut Net {
        self.net.as_mut().expect(AT_HAND)
    }

    fn wake(&mut self, part: u32) {
        if let Some(part) = &mut self.shares[part as usize].part {
            run_here(&mut self.net, part, Part::wake);
        }
    }

    fn visit(&mut self, node: u32) {
        let net = self.net();
        let now = net.begin(node);
        let round = Duration::from_nanos(net.nodes[node as usize].round);
        let limit = net.horizon.min(now + round);
        let mut more = true;
        while more {
            let Split { net, moving, gone, .. } = self;
            let net = net.as_mut().expect(AT_HAND);
            while more && moving.len() < self.chunk {
                more = net.pass(node, limit, moving, gone);
            }
            let packets = self.moving.len();
            self.divide();
            if node == RELAY {
                self.all_here(|part| part.ways.relay());
            } else if !self.lent && (packets < self.chunk / 4 || !self.has_helpers()) {
                self.all_here(|_| {});
            } else {
                self.hand_out();
            }
        }
        if self.lent {
            self.gather();
        }
        self.net().leave(node);
    }
}

impl Split<'_, '_> {
    /// Every part gets its packets.
    fn divide(&mut self) {
        let Split { shares, shift, moving, gone, .. } = self;
        let shift = *shift;
        let of = |pkt: &Pkt| (pkt.flow() >> shift) as usize;
        let mut from = 0;
        for (start, place) in gone.copied.drain(..) {
            moving[from..place].iter().for_each(|packet| shares[of(&packet.pkt)].moving.push(*packet));
            from = place;
            let share = &mut shares[of(&moving[place].pkt)];
            share.gone.copied.push((start, share.moving.len()));
        }
        moving[from..].iter().for_each(|packet| shares[of(&packet.pkt)].moving.push(*packet));
        moving.clear();
        gone.dropped.drain(..).for_each(|pkt| shares[of(&pkt)].gone.dropped.push(pkt));
        gone.lost.drain(..).for_each(|(start, pkt)| shares[of(&pkt)].gone.lost.push((start, pkt)));
    }

    /// Parts with something to do that are here do it, after `first`.
    fn all_here(&mut self, first: impl Fn(&mut Part<Outbox>)) {
        for share in &mut self.shares {
            if let Some(mut part) = share.begin() {
                run_here(&mut self.net, &mut part, |part| {
                    first(part);
                    part.settle();
                });
                share.part = Some(part);
            }
        }
    }

    /// Says whether other cores help, of which idle ones may have come.
    fn has_helpers(&mut self) -> bool {
        let Helpers { desk, threads, idle } = &mut self.helpers;
        if threads.len() < self.shares.len() && idle.take() {
            let (desk, runs) = (*desk, thread::current());
            // One that cannot start is not missed.
            match thread::Builder::new().spawn_scoped(self.scope, move || desk.help(&runs)) {
                Ok(helper) => threads.push(helper.thread().clone()),
                Err(_) => idle.add(1),
            }
        }
        !threads.is_empty()
    }

    /// Parts with something to do that are here are ready for any core, and the inboxes of other nodes.
    fn hand_out(&mut self) {
        self.collect();
        if !self.lent {
            self.lent = true;
            self.swap_inboxes();
        }
        let mut ready = lock(&self.helpers.desk.ready);
        ready.extend(self.shares.iter_mut().filter_map(Share::begin));
        drop(ready);
        self.helpers.threads.iter().for_each(Thread::unpark);
    }

    /// Lends the inboxes of the nodes that do not run to all cores, or takes them back.
    fn swap_inboxes(&mut self) {
        let net = self.net.as_mut().expect(AT_HAND);
        for (number, (node, lent)) in net.nodes.iter_mut().zip(&self.helpers.desk.inboxes).enumerate() {
            if number == net.running as usize {
                continue;
            }
            let Lent { lent, inbox } = &mut *lock(lent);
            std::mem::swap(inbox, &mut node.inbox);
            *lent = self.lent;
            if self.lent {
                continue;
            }
            let first = node.inbox.first().map_or(Time::MAX, |key| key.time(net.bits));
            if first < node.due {
                node.due = first;
                net.waiting.set(number as u32, first);
            }
        }
    }

    /// Gets back the parts that are done.
    fn collect(&mut self) {
        std::mem::swap(&mut self.done, &mut lock(&self.helpers.desk.done));
        while let Some(part) = self.done.pop() {
            self.take_back(part.unwrap_or_else(|panic| resume_unwind(panic)));
        }
    }

    /// Gets a part back, and takes what it has for the others.
    fn take_back(&mut self, mut part: Own) {
        let net = self.net();
        let Outbox { arrivals, round_trips, .. } = &mut part.ways.beyond;
        for (node, arrivals) in (0..).zip(arrivals) {
            for (key, pkt) in arrivals.drain(..) {
                net.arrives(node, key.time(net.bits), key, pkt);
            }
        }
        for (flow, segment, rtt) in round_trips.drain(..) {
            net.measured(flow, segment as usize, rtt);
        }
        net.timer(part.number, part.due());
        let number = part.number as usize;
        self.shares[number].part = Some(part);
    }

    /// Helps until nothing is left to do.
    fn gather(&mut self) {
        let desk = self.helpers.desk;
        loop {
            self.hand_out();
            let next = lock(&desk.ready).pop_front();
            if let Some(mut part) = next {
                desk.settle(&mut part);
                self.take_back(part);
            } else if self.shares.iter().all(|share| share.part.is_some()) {
                // Nothing is ready, and who is here has been asked.
                self.lent = false;
                return self.swap_inboxes();
            } else {
                wait_for(|| (!lock(&desk.done).is_empty()).then_some(()));
            }
        }
    }
}

impl Share {
    fn has_work(&self) -> bool {
        !self.moving.is_empty() || !self.gone.is_empty()
    }

    /// The part with what it has to do, if it is here and there is any.
    fn begin(&mut self) -> Option<Own> {
        if !self.has_work() {
            return None;
        }
        let mut part = self.part.take()?;
        std::mem::swap(&mut part.ways.moving, &mut self.moving);
        std::mem::swap(&mut part.ways.gone, &mut self.gone);
        Some(part)
    }
}
