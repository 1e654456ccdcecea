//! Who sends next: rates, lending and turns of a tree, without its packets.
//!
//! A class is *able* while both of its buckets are solvent. It *borrows* while only its ceiling's is, and *waits* while
//! that is not. An able class offers what waits below it in the row of its level; a class that borrows offers it to its
//! parent. So what can leave is in the rows, sorted by priority: the lowest level first, where guarantees are, then the
//! lowest priority. The leaf whose turn it is sends until its deficit is negative.
//!
//! These are the rules of Devera's HTB, with names of its documentation. Each operation costs a number of steps that
//! grows with the levels and as the logarithm of the classes, and nothing is allocated.

use alloc::boxed::Box;
use alloc::vec::Vec;

use quell_units::{Bytes, LinkLayer, Time};

use super::alarms::Alarms;
use super::plan::{Checked, LEVELS, Plan};
use super::ring::Ring;
use crate::bucket::Bucket;

/// What a class may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Send, and lend to its children.
    Able,
    /// Send what its parent lends.
    Borrows,
    /// Nothing.
    Waits,
}

#[derive(Clone, Debug)]
struct Buckets {
    rate: Bucket,
    ceil: Bucket,
}

impl Buckets {
    /// The mode, and when it may become a better one.
    #[inline]
    fn mode(&self, now: Time) -> (Mode, Option<Time>) {
        let at = self.ceil.solvent_at(now);
        if at > now {
            return (Mode::Waits, Some(at));
        }
        if self.rate.rate().bps() == 0 {
            return (Mode::Borrows, None);
        }
        let at = self.rate.solvent_at(now);
        if at > now { (Mode::Borrows, Some(at)) } else { (Mode::Able, None) }
    }
}

#[derive(Clone, Debug)]
struct Node {
    parent: u32,
    level: u8,
    mode: Mode,
    /// Its number in its level, and among its siblings.
    rank: u32,
    place: u32,
    /// The first of its rings, one for each priority, and of its children; or its leaf's number.
    rings: u32,
    children: u32,
    leaf: u32,
    /// The priorities of what waits in it, as bits.
    active: u64,
    /// `None`: it is always able.
    buckets: Option<Buckets>,
}

/// A leaf's turns.
#[derive(Clone, Debug)]
struct Turns {
    node: u32,
    priority: u32,
    quantum: i64,
    /// What may still be sent in the turn at each level.
    deficits: [i64; LEVELS],
}

const NONE: u32 = u32::MAX;

#[derive(Clone, Debug)]
pub(super) struct Scheduler {
    nodes: Box<[Node]>,
    leaves: Box<[Turns]>,
    priorities: u32,
    /// Of each level and priority, the able classes in which something waits; then of each inner class and priority,
    /// the children that borrow.
    rings: Box<[Ring]>,
    /// The classes of each level, and the children of each inner class.
    members: [Box<[u32]>; LEVELS],
    children: Box<[u32]>,
    /// The priorities of each level's rows that are not empty, as bits.
    rows: [u64; LEVELS],
    /// Of each level, when classes that are not able may become so.
    alarms: [Alarms; LEVELS],
    /// The number of levels that have a class.
    used: usize,
    /// Those levels, in order.
    levels: [u8; LEVELS],
}

impl Scheduler {
    /// Full buckets, and nothing waits.
    pub fn new(plan: &Plan, checked: &Checked) -> Self {
        let Checked { parents, levels, leaves, quanta } = checked;
        let priority = |class: usize| plan.classes[class].priority.unwrap_or(0);
        let mut distinct: Vec<u8> = leaves.iter().map(|class| priority(*class)).collect();
        distinct.sort_unstable();
        distinct.dedup();
        let mut members: [Vec<u32>; LEVELS] = Default::default();
        let mut below: Vec<Vec<u32>> = alloc::vec![Vec::new(); parents.len()];
        let mut nodes = Vec::with_capacity(parents.len());
        for (class, (parent, level)) in parents.iter().zip(levels).enumerate() {
            let siblings = parent.map(|parent| &mut below[parent]);
            nodes.push(Node {
                parent: parent.map_or(NONE, |parent| parent as u32),
                level: *level as u8,
                mode: Mode::Able,
                rank: members[*level].len() as u32,
                place: siblings.as_ref().map_or(0, |siblings| siblings.len() as u32),
                rings: NONE,
                children: NONE,
                leaf: leaves.binary_search(&class).map_or(NONE, |leaf| leaf as u32),
                active: 0,
                buckets: plan.classes[class].limits.map(|limits| Buckets {
                    rate: Bucket::new(LinkLayer { rate: limits.rate, ..plan.layer }, limits.burst),
                    ceil: Bucket::new(LinkLayer { rate: limits.ceil, ..plan.layer }, limits.cburst),
                }),
            });
            members[*level].push(class as u32);
            if let Some(siblings) = siblings {
                siblings.push(class as u32);
            }
        }
        let row = |members: &Vec<u32>| Ring::new(members.len());
        let mut rings: Vec<Ring> =
            members.iter().flat_map(|members| distinct.iter().map(move |_| row(members))).collect();
        let mut children = Vec::new();
        for (node, below) in nodes.iter_mut().zip(&below).filter(|(_, below)| !below.is_empty()) {
            (node.rings, node.children) = (rings.len() as u32, children.len() as u32);
            rings.extend(distinct.iter().map(|_| Ring::new(below.len())));
            children.extend_from_slice(below);
        }
        for node in &mut nodes {
            node.mode = node.buckets.as_ref().map_or(Mode::Able, |buckets| buckets.mode(Time::ZERO).0);
        }
        let turns = |(class, quantum): (&usize, &Bytes)| Turns {
            node: *class as u32,
            priority: distinct.binary_search(&priority(*class)).unwrap_or(0) as u32,
            quantum: i64::try_from(quantum.get()).unwrap_or(i64::MAX),
            deficits: [0; LEVELS],
        };
        let mut in_use = [0; LEVELS];
        let mut used = 0;
        for (level, _) in members.iter().enumerate().filter(|(_, members)| !members.is_empty()) {
            in_use[used] = level as u8;
            used += 1;
        }
        Scheduler {
            nodes: nodes.into(),
            leaves: leaves.iter().zip(quanta).map(turns).collect(),
            priorities: distinct.len() as u32,
            rings: rings.into(),
            rows: [0; LEVELS],
            alarms: core::array::from_fn(|level| Alarms::new(members[level].len())),
            members: members.map(Into::into),
            children: children.into(),
            used,
            levels: in_use,
        }
    }

    /// The levels, the first to serve first.
    #[inline]
    pub fn levels(&self) -> usize {
        self.used
    }

    /// Something waits in a leaf and can be taken out.
    #[inline]
    pub fn activate(&mut self, leaf: usize) {
        let Turns { node, priority, .. } = self.leaves[leaf];
        if self.nodes[node as usize].active == 0 {
            self.nodes[node as usize].active = 1 << priority;
            self.offer(node);
        }
    }

    /// Nothing waits in a leaf, or nothing that can be taken out.
    #[inline]
    pub fn deactivate(&mut self, leaf: usize) {
        let node = self.leaves[leaf].node;
        if self.nodes[node as usize].active != 0 {
            self.withdraw(node);
            self.nodes[node as usize].active = 0;
        }
    }

    /// Says whether something waits in a leaf and can be taken out.
    #[inline]
    pub fn is_active(&self, leaf: usize) -> bool {
        self.nodes[self.leaves[leaf].node as usize].active != 0
    }

    /// The classes of the nth level whose buckets have filled by `now` become what they may be. Then the time at which
    /// the next one does.
    #[inline]
    pub fn follow(&mut self, nth: usize, now: Time) -> Time {
        let level = self.levels[nth] as usize;
        while let Some(rank) = self.alarms[level].pop(now) {
            let node = self.members[level][rank as usize];
            let wakes = self.change(node, now);
            self.alarms[level].set(rank, wakes);
        }
        self.alarms[level].first().map_or(Time::MAX, |(time, _)| time)
    }

    /// The leaf whose turn it is in the nth level, and the priority in which it is found.
    #[inline]
    pub fn turn(&mut self, nth: usize) -> Option<(usize, u32)> {
        let level = self.levels[nth] as usize;
        let row = self.rows[level];
        if row == 0 {
            return None;
        }
        let priority = row.trailing_zeros();
        let mut path = [0; LEVELS];
        let mut depth = 0;
        let (mut ring, mut members) = (level as u32 * self.priorities + priority, &self.members[level][..]);
        loop {
            match self.rings[ring as usize].turn() {
                Some(number) => {
                    let node = &self.nodes[members[number as usize] as usize];
                    if node.leaf != NONE {
                        return Some((node.leaf as usize, priority));
                    }
                    path[depth] = ring;
                    depth += 1;
                    ring = node.rings + priority;
                    members = &self.children[node.children as usize..];
                }
                // The round of these children has ended: the turn is that of the next parent. Its round may have ended
                // with that, so the way down begins again.
                None => {
                    self.rings[ring as usize].rewind();
                    if depth > 0 {
                        let above = path[depth - 1];
                        self.rings[above as usize].step();
                        depth = 0;
                        (ring, members) =
                            (level as u32 * self.priorities + priority, &self.members[level][..]);
                    }
                }
            }
        }
    }

    /// A packet has left a leaf that [`Scheduler::turn`] found; `empty` if nothing is left in it.
    #[inline]
    pub fn sent(&mut self, nth: usize, (leaf, priority): (usize, u32), now: Time, size: Bytes, empty: bool) {
        let level = self.levels[nth] as usize;
        let turns = &mut self.leaves[leaf];
        let deficit = &mut turns.deficits[level];
        *deficit -= i64::try_from(size.get()).unwrap_or(i64::MAX);
        let node = turns.node;
        if *deficit < 0 {
            *deficit += turns.quantum;
            let ring = match level {
                0 => priority,
                _ => self.nodes[self.nodes[node as usize].parent as usize].rings + priority,
            };
            self.rings[ring as usize].step();
        }
        if empty {
            self.deactivate(leaf);
        }
        self.charge(node, level, now, size);
    }

    /// A packet takes from the rates of the class that lends it and of all above, and from the ceilings of all from the
    /// leaf on.
    #[inline]
    fn charge(&mut self, leaf: u32, lender: usize, now: Time, size: Bytes) {
        let mut at = leaf;
        while at != NONE {
            let node = &mut self.nodes[at as usize];
            let (level, rank, parent, before) = (node.level as usize, node.rank, node.parent, node.mode);
            if let Some(buckets) = &mut node.buckets {
                if level >= lender {
                    buckets.rate.take(now, size);
                }
                buckets.ceil.take(now, size);
                let wakes = self.change(at, now);
                if self.nodes[at as usize].mode != before {
                    self.alarms[level].set(rank, wakes);
                }
            }
            at = parent;
        }
    }

    /// A class becomes what its buckets say; then when that changes by itself.
    #[inline]
    fn change(&mut self, at: u32, now: Time) -> Option<Time> {
        let node = &self.nodes[at as usize];
        let (mode, wakes) = node.buckets.as_ref().map_or((Mode::Able, None), |buckets| buckets.mode(now));
        if mode != node.mode {
            let offers = node.active != 0;
            if offers && node.mode != Mode::Waits {
                self.withdraw(at);
            }
            self.nodes[at as usize].mode = mode;
            if offers && mode != Mode::Waits {
                self.offer(at);
            }
        }
        wakes
    }

    /// What waits in a class is offered: to its row if it is able, to its parent if it borrows; and so on upward, where
    /// that is news to the parent.
    fn offer(&mut self, at: u32) {
        let (mut at, mut news) = (at, self.nodes[at as usize].active);
        while news != 0 {
            let Node { mode, level, rank, place, parent, .. } = self.nodes[at as usize];
            match mode {
                Mode::Able => {
                    let level = level as usize;
                    for priority in bits(news) {
                        self.rings[(level as u32 * self.priorities + priority) as usize].insert(rank);
                    }
                    self.rows[level] |= news;
                    return;
                }
                Mode::Borrows if parent != NONE => {
                    let above = &mut self.nodes[parent as usize];
                    for priority in bits(news) {
                        self.rings[(above.rings + priority) as usize].insert(place);
                    }
                    news &= !above.active;
                    above.active |= news;
                    at = parent;
                }
                Mode::Borrows | Mode::Waits => return,
            }
        }
    }

    /// Takes back what [`Scheduler::offer`] offered.
    fn withdraw(&mut self, at: u32) {
        let (mut at, mut old) = (at, self.nodes[at as usize].active);
        while old != 0 {
            let Node { mode, level, rank, place, parent, rings: _, .. } = self.nodes[at as usize];
            match mode {
                Mode::Able => {
                    let level = level as usize;
                    for priority in bits(old) {
                        let ring = &mut self.rings[(level as u32 * self.priorities + priority) as usize];
                        ring.remove_and_step(rank);
                        if ring.is_empty() {
                            self.rows[level] &= !(1 << priority);
                        }
                    }
                    return;
                }
                Mode::Borrows if parent != NONE => {
                    let above = &mut self.nodes[parent as usize];
                    let mut gone = 0;
                    for priority in bits(old) {
                        let ring = &mut self.rings[(above.rings + priority) as usize];
                        ring.remove(place);
                        if ring.is_empty() {
                            gone |= 1 << priority;
                        }
                    }
                    above.active &= !gone;
                    (at, old) = (parent, gone);
                }
                Mode::Borrows | Mode::Waits => return,
            }
        }
    }
}

/// The numbers of the bits that are set.
#[inline]
fn bits(mut mask: u64) -> impl Iterator<Item = u32> {
    core::iter::from_fn(move || {
        let bit = mask.trailing_zeros();
        (mask != 0).then(|| {
            mask &= mask - 1;
            bit
        })
    })
}
