//! The queue of a link that has any: one queue or a tree of them, with a shaper or without, a cell, or the queues of a
//! channel.

use std::sync::Arc;

use quell_aqm::catalog::{AnyAqm, AnyDiscipline};
use quell_aqm::{Probe, QueueView, Rng, Seed};
use quell_queue::{
    Admission, Cell, Channels, Classify, Counters, Dequeued, Dropped, Packet as _, Qdisc, Queue, ToCome,
    Tree, Wifi,
};
use quell_units::{BitRate, Time};

use super::queue_parts;
use super::service::Queued;
use crate::network::{AtStation, CellSpec, Classifier, LinkSpec, QueueSpec, Schedule, TreeSpec, WifiSpec};

type One<T> = Queue<Queued<T>, AnyAqm, AnyDiscipline>;

type Usual<T> = quell_queue::Waiting<One<T>, Classifier>;

/// A queue whose kind is found by dispatch.
pub(super) enum Waiting<T: Copy> {
    Usual(Usual<T>),
    Cell(Box<Cell<One<T>, Classifier, Air>>),
    Wifi(Box<Wifi<One<T>, OnAir>>),
}

/// The ways of packets over a channel.
pub(super) struct OnAir {
    stations: usize,
    of_flow: Arc<[AtStation]>,
}

impl<T: Copy> Waiting<T> {
    /// The queue of link `i`, which it takes out of the link.
    pub fn of(link: &mut LinkSpec, seed: Seed, i: usize) -> Self {
        if let Some(spec) = link.cell.take() {
            return Waiting::Cell(Box::new(cell(*spec, seed, i)));
        }
        if let Some(wifi) = link.wifi.take() {
            let rate = link.capacity().initial;
            return Waiting::Wifi(Box::new(channel(*wifi, seed, i, rate)));
        }
        let rate = link.capacity().initial;
        let shaper = link.shaper.as_deref();
        Waiting::Usual(match link.tree.take() {
            Some(tree) => Usual::tree(classes(*tree, seed, i, rate), shaper),
            None => {
                let rng = seed.indexed_stream("link.aqm", i as u64);
                Usual::one(one(link.queue.take().map(|queue| *queue), rng, rate), shaper)
            }
        })
    }
}

fn one<T: Copy>(spec: Option<QueueSpec>, rng: Rng, rate: BitRate) -> One<T> {
    let (algorithm, limit, marks) = queue_parts(spec);
    Queue::new(algorithm, rng, limit, marks, Some(rate))
}

/// The tree of link `i`. Each leaf has a stream of its own.
fn classes<T: Copy>(
    TreeSpec { plan, leaves, classifier }: TreeSpec,
    seed: Seed,
    i: usize,
    rate: BitRate,
) -> Tree<One<T>, Classifier> {
    let mut leaves = (0..).zip(leaves);
    let tree = Tree::new(&plan, classifier, Some(rate), |_, known| {
        let (leaf, spec) = leaves.next().expect("there is a queue for each leaf, see `LinkSpec::unservable`");
        let rng = seed.indexed_stream("link.leaf.aqm", (i as u64) << 8 | leaf);
        one(Some(spec), rng, known.unwrap_or(rate))
    });
    tree.expect("the plan is a tree, see `LinkSpec::unservable`")
}

/// The cell of link `i`. Each user has a stream of its own.
fn cell<T: Copy>(spec: CellSpec, seed: Seed, i: usize) -> Cell<One<T>, Classifier, Air> {
    let CellSpec { policy, interval, users, classifier } = spec;
    let channels = Air(users.iter().map(|user| UserRate::new(&user.rate)).collect());
    let queues = (0..).zip(users).map(|(number, user)| {
        let rng = seed.indexed_stream("link.user.aqm", (i as u64) << 8 | number);
        (user.name.into(), one(Some(user.queue), rng, user.known))
    });
    Cell::new(policy, interval, queues, classifier, channels)
}

/// The channels of users.
pub(super) struct Air(Vec<UserRate>);

struct UserRate {
    rate: BitRate,
    /// Changes still to come.
    to_come: ToCome<BitRate>,
}

impl UserRate {
    fn new(rate: &Schedule<BitRate>) -> Self {
        UserRate { rate: rate.initial, to_come: rate.to_come() }
    }

    /// The integral of the rate.
    fn between(&mut self, from: Time, to: Time) -> u128 {
        self.rate = self.to_come.pop_until(from).unwrap_or(self.rate);
        let part = |rate: BitRate, from: Time, to: Time| {
            u128::from(rate.bps()) * u128::from(to.nanos() - from.nanos())
        };
        let (mut at, mut sum) = (from, 0);
        while self.to_come.due() < to {
            let change = self.to_come.due();
            sum += part(self.rate, at, change);
            at = change;
            self.rate = self.to_come.pop().unwrap_or(self.rate);
        }
        sum + part(self.rate, at, to)
    }
}

impl Channels for Air {
    fn capacity(&mut self, user: usize, from: Time, to: Time) -> u128 {
        self.0[user].between(from, to)
    }
}

/// The channel that link `i` is. Contention and each lane have streams of their own.
fn channel<T: Copy>(
    WifiSpec { channel, queues, of_flow }: WifiSpec,
    seed: Seed,
    i: usize,
    rate: BitRate,
) -> Wifi<One<T>, OnAir> {
    let on_air = OnAir { stations: channel.stations.len(), of_flow };
    let mut queues: Vec<Option<QueueSpec>> = queues.into_iter().map(Some).collect();
    let contention = seed.indexed_stream("link.wifi", i as u64);
    let wifi = Wifi::new(channel, on_air, contention, |lane, most| {
        let rng = seed.indexed_stream("link.leaf.aqm", (i as u64) << 8 | lane as u64);
        one(queues[lane].take(), rng, most.min(rate))
    });
    wifi.expect("the channel can be shared, see `LinkSpec::unservable`")
}

impl<T: Copy> Classify<Queued<T>> for OnAir {
    #[inline]
    fn leaf(&self, packet: &Queued<T>) -> usize {
        let AtStation { station, sends } =
            self.of_flow.get(packet.number_of_flow() as usize).copied().unwrap_or_default();
        usize::from(station) + if sends != packet.is_ack() { self.stations } else { 0 }
    }
}

impl<T: Copy> Classify<Queued<T>> for Classifier {
    #[inline]
    fn leaf(&self, packet: &Queued<T>) -> usize {
        self.of(packet.number_of_flow(), packet.dscp())
    }
}

macro_rules! each {
    ($self:expr, $q:ident => $body:expr) => {
        match $self {
            Waiting::Usual($q) => $body,
            Waiting::Cell($q) => $body,
            Waiting::Wifi($q) => $body,
        }
    };
}

impl<T: Copy> Qdisc for Waiting<T> {
    type Packet = Queued<T>;

    fn enqueue(
        &mut self,
        now: Time,
        packet: Queued<T>,
        dropped: &mut dyn FnMut(Dropped<Queued<T>>),
    ) -> Admission {
        each!(self, q => q.enqueue(now, packet, dropped))
    }
    fn dequeue(&mut self, now: Time, dropped: &mut dyn FnMut(Dropped<Queued<T>>)) -> Dequeued<Queued<T>> {
        each!(self, q => q.dequeue(now, dropped))
    }
    fn idle(&mut self, since: Time) {
        each!(self, q => q.idle(since))
    }
    fn advance(&mut self, now: Time) {
        each!(self, q => q.advance(now))
    }
    fn next_update(&self) -> Option<Time> {
        each!(self, q => q.next_update())
    }
    fn counters(&self) -> Counters {
        each!(self, q => q.counters())
    }
    fn arrival_lane(&self) -> usize {
        each!(self, q => q.arrival_lane())
    }
    fn lane_names(&self) -> &'static [&'static str] {
        each!(self, q => q.lane_names())
    }
    fn lane_count(&self) -> usize {
        each!(self, q => q.lane_count())
    }
    fn lane_name(&self, lane: usize) -> Option<&str> {
        each!(self, q => q.lane_name(lane))
    }
    fn lane_view(&self, lane: usize) -> Option<QueueView> {
        each!(self, q => q.lane_view(lane))
    }
    fn lane_counters(&self, lane: usize) -> Option<Counters> {
        each!(self, q => q.lane_counters(lane))
    }
    fn view(&self) -> QueueView {
        each!(self, q => q.view())
    }
    fn is_empty(&self) -> bool {
        each!(self, q => q.is_empty())
    }
    fn observe(&self, out: &mut dyn Probe) {
        each!(self, q => q.observe(out))
    }
    fn set_rate(&mut self, rate: BitRate) {
        each!(self, q => q.set_rate(rate))
    }
    fn into_parts(self) -> (Vec<(Time, Queued<T>)>, Counters) {
        match self {
            Waiting::Usual(q) => q.into_parts(),
            Waiting::Cell(q) => q.into_parts(),
            Waiting::Wifi(q) => q.into_parts(),
        }
    }
    fn take_over(&mut self, now: Time, waiting: Vec<(Time, Queued<T>)>, counters: Counters) {
        each!(self, q => q.take_over(now, waiting, counters))
    }
}
