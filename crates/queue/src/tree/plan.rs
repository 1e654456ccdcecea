//! A tree as data, and what makes it one.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Display;

use quell_units::{BitRate, Bytes, LinkLayer};

use crate::Refused;

/// A tree of classes, as data. Those without children are its leaves: a queue waits in each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The classes, in any order. Among equals, turns go around in this order.
    pub classes: Vec<Class>,
    /// What a packet takes of the rates. Its own rate means nothing here.
    pub layer: LinkLayer,
    /// The largest packet, which each burst and each turn must hold.
    pub largest: Bytes,
}

/// A class of a [`Plan`].
///
/// - *Strict priority*: leaves without limits and of different priorities.
/// - *DRR*: leaves without limits, of the same priority, whose quanta are their weights.
/// - *HTB*: classes with limits. A rate of zero guarantees nothing, so that all is borrowed. Leaves like that share
///   their parent's rate by priority and quantum alone.
///
/// Linux's queue for packets that no filter classifies (`direct`) is a leaf without limits that precedes all others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// The name of the class that lends to it; `None` if it borrows from nobody.
    pub parent: Option<String>,
    /// Its rates; `None` if only the link limits it.
    pub limits: Option<Limits>,
    /// A leaf's: lower ones go first among those that may send at the same level, and when they borrow. 0 by default.
    pub priority: Option<u8>,
    /// A leaf's: the bytes that it sends in a turn, which are its weight among equals. By default what the rate sends in
    /// 100 ms, at least 1000 bytes and a packet and at most 200,000, as htb has it; a packet without a rate.
    pub quantum: Option<Bytes>,
}

/// Rates of a class. Names are those of tc-htb(8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// What it gets whatever others do.
    pub rate: BitRate,
    /// What it may get if its ancestors have some to lend.
    pub ceil: BitRate,
    /// The most that leaves at once at `rate`, in bytes on the wire.
    pub burst: Bytes,
    /// The most that leaves at once at `ceil`, in bytes on the wire.
    pub cburst: Bytes,
}

impl Class {
    /// A class at the top that only the link limits.
    pub fn new(name: impl Into<String>) -> Self {
        Class { name: name.into(), parent: None, limits: None, priority: None, quantum: None }
    }

    /// The same below another class.
    #[must_use]
    pub fn below(self, parent: impl Into<String>) -> Self {
        Class { parent: Some(parent.into()), ..self }
    }

    /// The same with rates, and bursts of `burst`.
    #[must_use]
    pub fn limited(self, rate: BitRate, ceil: BitRate, burst: Bytes) -> Self {
        Class { limits: Some(Limits { rate, ceil, burst, cburst: burst }), ..self }
    }

    /// The same with a priority.
    #[must_use]
    pub fn first_by(self, priority: u8) -> Self {
        Class { priority: Some(priority), ..self }
    }

    /// The same with a quantum.
    #[must_use]
    pub fn in_turns_of(self, quantum: Bytes) -> Self {
        Class { quantum: Some(quantum), ..self }
    }
}

/// The most levels that a tree has, as in Linux.
pub(super) const LEVELS: usize = 8;
/// The most priorities.
const PRIORITIES: u8 = 64;
/// The bounds of a quantum that nobody sets, and the part of a second in which the rate sends it (htb's `r2q`).
const QUANTA: (u64, u64, u64) = (1000, 200_000, 10);

/// A plan that is a tree.
pub(super) struct Checked {
    pub parents: Vec<Option<usize>>,
    /// The level of each class: 0 of leaves, and of others the more the fewer ancestors they have.
    pub levels: Vec<usize>,
    /// The leaves' classes.
    pub leaves: Vec<usize>,
    /// Of each leaf.
    pub quanta: Vec<Bytes>,
}

impl Plan {
    /// A tree of IP packets of up to 1500 bytes.
    pub fn new(classes: Vec<Class>) -> Self {
        Plan { classes, layer: LinkLayer::plain(BitRate::from_bps(0)), largest: Bytes::new(1500) }
    }

    /// The names of the leaves, which are the lanes of the tree, in their order.
    ///
    /// # Errors
    /// Of a plan that is not a tree: the class, the field, its value, the rule, and the fix.
    pub fn leaves(&self) -> Result<Vec<&str>, Refused> {
        let checked = self.check()?;
        Ok(checked.leaves.iter().map(|class| self.classes[*class].name.as_str()).collect())
    }

    /// The rate that all classes together may have; `None` if only the link limits it.
    pub fn most(&self) -> Option<BitRate> {
        let tops = self.classes.iter().filter(|class| class.parent.is_none());
        let sum = tops.map(|class| Some(u128::from(class.limits?.ceil.bps()))).sum::<Option<u128>>()?;
        Some(BitRate::from_bps(u64::try_from(sum).unwrap_or(u64::MAX)))
    }

    pub(super) fn check(&self) -> Result<Checked, Refused> {
        let parents = self.parents()?;
        let depths = self.depths(&parents)?;
        let mut inner = alloc::vec![false; self.classes.len()];
        parents.iter().flatten().for_each(|parent| inner[*parent] = true);
        let level = |class: usize| if inner[class] { LEVELS - depths[class] } else { 0 };
        let levels = (0..self.classes.len()).map(level).collect();
        let mut guaranteed = alloc::vec![0u128; self.classes.len()];
        for (class, parent) in self.classes.iter().zip(&parents) {
            self.check_limits(class)?;
            if let Some(parent) = parent {
                let sum = &mut guaranteed[*parent];
                *sum += u128::from(class.limits.map_or(0, |limits| limits.rate.bps()));
                self.check_against(class, &self.classes[*parent], *sum)?;
            }
        }
        for (class, inner) in self.classes.iter().zip(&inner) {
            if *inner { turnless(class)? } else { self.check_turn(class)? }
        }
        let leaves: Vec<usize> = (0..self.classes.len()).filter(|class| !inner[*class]).collect();
        let quanta = leaves.iter().map(|class| self.quantum(&self.classes[*class])).collect();
        Ok(Checked { parents, levels, leaves, quanta })
    }

    /// The numbers of the parents: names are there, and each once.
    fn parents(&self) -> Result<Vec<Option<usize>>, Refused> {
        if self.classes.is_empty() {
            return Err(Refused::new("", "classes", "none", "a tree has at least one class", "add a leaf"));
        }
        let mut numbers = BTreeMap::new();
        for (number, class) in self.classes.iter().enumerate() {
            let name = class.name.as_str();
            if name.is_empty() {
                let at = format!("class {} of {}", number + 1, self.classes.len());
                return Err(Refused::new(&at, "name", "\"\"", "must not be empty", "name the class"));
            }
            if numbers.insert(name, number).is_some() {
                return refused(class, "name", name, "another class has this name", "rename one of them");
            }
        }
        let number = |class: &Class| match &class.parent {
            None => Ok(None),
            Some(parent) => match numbers.get(parent.as_str()) {
                Some(number) => Ok(Some(*number)),
                None => refused(class, "parent", parent, "must be a class", "add the class, or name another"),
            },
        };
        self.classes.iter().map(number).collect()
    }

    /// How many classes there are from each to the top, itself included: at most [`LEVELS`], and no cycle.
    fn depths(&self, parents: &[Option<usize>]) -> Result<Vec<usize>, Refused> {
        // From a class to the top, or around a cycle and no further.
        let way = |class: usize| {
            core::iter::successors(Some(class), move |at| parents[*at].filter(|parent| *parent != class))
                .take(parents.len() + 1)
        };
        let path = |class: usize| {
            let names: Vec<&str> = way(class).map(|at| self.classes[at].name.as_str()).collect();
            names.join(" < ")
        };
        let mut depths = Vec::with_capacity(parents.len());
        for (number, class) in self.classes.iter().enumerate() {
            if way(number).last().is_some_and(|last| parents[last] == Some(number)) {
                let (path, rule) = (path(number), "a class must not be its own ancestor");
                let fix = "give one of these classes another parent, or none";
                return refused(class, "parent", path, rule, fix);
            }
            depths.push(way(number).count());
        }
        match depths.iter().position(|depth| *depth > LEVELS) {
            Some(deep) => {
                let rule = format!("a tree has at most {LEVELS} levels");
                refused(&self.classes[deep], "parent", path(deep), rule, "leave out a level")
            }
            None => Ok(depths),
        }
    }

    /// Limits that a class can have by itself.
    fn check_limits(&self, class: &Class) -> Result<(), Refused> {
        let Some(Limits { rate, ceil, burst, cburst }) = class.limits else {
            return Ok(());
        };
        if ceil < rate || ceil.bps() == 0 {
            let rule = format!("must be positive and at least the rate of {rate}");
            return refused(class, "ceil", ceil, rule, "raise ceil, or lower rate");
        }
        if class.parent.is_none() && ceil != rate {
            let rule =
                format!("a class without a parent borrows from nobody, so ceil must be the rate of {rate}");
            return refused(class, "ceil", ceil, rule, "set both alike, or give it a parent");
        }
        let wire = self.layer.on_wire(self.largest);
        for (field, bytes) in [("burst", burst), ("cburst", cburst)] {
            if bytes < wire && (field == "cburst" || rate.bps() > 0) {
                let rule = format!("must hold the largest packet, which takes {wire} on the wire");
                return refused(class, field, bytes, rule, format!("set at least {wire}"));
            }
        }
        Ok(())
    }

    /// Limits that fit the parent's, whose children up to this one are guaranteed `sum`.
    fn check_against(&self, class: &Class, parent: &Class, sum: u128) -> Result<(), Refused> {
        let Some(above) = parent.limits else {
            return Ok(());
        };
        let name = &parent.name;
        let Some(limits) = class.limits else {
            let rule = format!("`{name}` has rates, which a class without rates would pass by");
            return refused(class, "limits", "none", rule, "set a rate (0 guarantees nothing) and a ceil");
        };
        if limits.rate > above.rate {
            let rule = format!("must not exceed the rate of its parent `{name}` ({})", above.rate);
            return refused(class, "rate", limits.rate, rule, "lower it, or raise the parent's");
        }
        if limits.ceil > above.ceil {
            let rule = format!("must not exceed the ceil of its parent `{name}` ({})", above.ceil);
            return refused(class, "ceil", limits.ceil, rule, "lower it, or raise the parent's");
        }
        if sum > u128::from(above.rate.bps()) {
            let sum = BitRate::from_bps(u64::try_from(sum).unwrap_or(u64::MAX));
            let (rate, fix) = (above.rate, "lower the children's rates, or raise the parent's");
            let rule = format!("with those before it `{name}` guarantees {sum}, and has a rate of {rate}");
            return refused(class, "rate", limits.rate, rule, fix);
        }
        Ok(())
    }

    fn check_turn(&self, class: &Class) -> Result<(), Refused> {
        if let Some(priority) = class.priority.filter(|priority| *priority >= PRIORITIES) {
            let rule = format!("must be below {PRIORITIES}");
            return refused(class, "priority", priority, rule, "number the priorities from 0");
        }
        if let Some(quantum) = class.quantum.filter(|quantum| *quantum < self.largest) {
            let rule = format!("must be at least the largest packet ({})", self.largest);
            return refused(class, "quantum", quantum, rule, "raise all quanta by the same factor");
        }
        Ok(())
    }

    fn quantum(&self, class: &Class) -> Bytes {
        let rate = class.limits.map_or(BitRate::from_bps(0), |limits| limits.rate);
        class.quantum.unwrap_or_else(|| usual_quantum(rate, self.largest))
    }
}

/// The bytes of a turn that nobody sets: what `rate` sends in 0.1 s, between bounds (htb's `r2q`), or the `largest` packet
/// without a rate.
pub fn usual_quantum(rate: BitRate, largest: Bytes) -> Bytes {
    let (least, most, part) = QUANTA;
    let least = least.max(largest.get());
    match rate.bps() {
        0 => largest,
        bps => Bytes::new((bps / 8 / part).clamp(least, most.max(least))),
    }
}

/// Only leaves take turns.
fn turnless(class: &Class) -> Result<(), Refused> {
    let (rule, fix) = ("only a class without children takes turns", "set it on the leaves below");
    if let Some(priority) = class.priority {
        return refused(class, "priority", priority, rule, fix);
    }
    match class.quantum {
        Some(quantum) => refused(class, "quantum", quantum, rule, fix),
        None => Ok(()),
    }
}

fn refused<T>(
    class: &Class,
    field: &'static str,
    value: impl Display,
    rule: impl Into<String>,
    fix: impl Into<String>,
) -> Result<T, Refused> {
    Err(Refused::new(&class.name, field, value, rule.into(), fix.into()))
}

/// What of a packet leads it to a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Match {
    /// Its [mark](crate::Packet::mark).
    Mark(u32),
    /// The host that it comes from.
    Source(u16),
    /// The host that it goes to.
    Destination(u16),
    /// The [group](crate::Packet::group) of flows it belongs to.
    Group(u32),
    /// Its DSCP, 0 to 63.
    Dscp(u8),
}

/// The leaf of each packet.
pub trait Classify<P> {
    /// The number of the leaf, in the order of [`Plan::leaves`], in which a packet is to wait.
    fn leaf(&self, packet: &P) -> usize;
}

impl<P, F: Fn(&P) -> usize> Classify<P> for F {
    #[inline]
    fn leaf(&self, packet: &P) -> usize {
        self(packet)
    }
}

/// Rules that lead packets to leaves by one of their facts. If several apply, the first kind of [`Match`] decides:
/// mark, source, destination, group, DSCP. A lookup takes a number of steps that grows as the logarithm of the rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Sorted.
    marks: Box<[(u32, u32)]>,
    sources: Box<[(u32, u32)]>,
    destinations: Box<[(u32, u32)]>,
    groups: Box<[(u32, u32)]>,
    dscps: Box<[(u32, u32)]>,
    default: u32,
}

impl Table {
    /// Rules that lead to the named leaves of a plan, and all other packets to `default`.
    ///
    /// # Errors
    /// Names the class that is not a leaf, that no rule leads to, or to which a rule leads that another contradicts.
    pub fn new(plan: &Plan, rules: &[(Match, &str)], default: &str) -> Result<Self, Refused> {
        let leaves = plan.leaves()?;
        let mut reached = alloc::vec![false; leaves.len()];
        let mut leaf = |name: &str| match leaves.iter().position(|leaf| *leaf == name) {
            Some(leaf) => {
                reached[leaf] = true;
                Ok(leaf as u32)
            }
            None => {
                let fix = format!("name one of {}", leaves.join(", "));
                Err(Refused::new(name, "class", name, "packets wait in classes without children", fix))
            }
        };
        let default = leaf(default)?;
        let mut all = BTreeMap::new();
        for (rule, class) in rules {
            if let Match::Dscp(dscp @ 64..) = rule {
                let fix = "shift the byte of the IP header right by two bits";
                return Err(Refused::new(class, "dscp", dscp, "must be at most 63", fix));
            }
            if all.insert(*rule, leaf(class)?).is_some() {
                let rule = format!("{rule:?}");
                return Err(Refused::new(class, "match", rule, "another rule is the same", "leave out one"));
            }
        }
        if let Some(lonely) = reached.iter().position(|reached| !reached) {
            let rule = "a class without packets is empty: some rule must lead to it";
            return Err(Refused::new(
                leaves[lonely],
                "match",
                "none",
                rule,
                "add a rule, or leave the class out",
            ));
        }
        let of = |key: fn(Match) -> Option<u32>| -> Box<[(u32, u32)]> {
            all.iter().filter_map(|(rule, leaf)| Some((key(*rule)?, *leaf))).collect()
        };
        Ok(Table {
            marks: of(|rule| if let Match::Mark(n) = rule { Some(n) } else { None }),
            sources: of(|rule| if let Match::Source(n) = rule { Some(n.into()) } else { None }),
            destinations: of(|rule| if let Match::Destination(n) = rule { Some(n.into()) } else { None }),
            groups: of(|rule| if let Match::Group(n) = rule { Some(n) } else { None }),
            dscps: of(|rule| if let Match::Dscp(n) = rule { Some(n.into()) } else { None }),
            default,
        })
    }
}

impl<P: crate::Packet> Classify<P> for Table {
    fn leaf(&self, packet: &P) -> usize {
        let any = |rules: &[(u32, u32)], key: &dyn Fn() -> u32| {
            if rules.is_empty() {
                return None;
            }
            let key = key();
            let place = rules.binary_search_by_key(&key, |(key, _)| *key).ok()?;
            Some(rules[place].1)
        };
        any(&self.marks, &|| packet.mark())
            .or_else(|| any(&self.sources, &|| packet.hosts().source.into()))
            .or_else(|| any(&self.destinations, &|| packet.hosts().destination.into()))
            .or_else(|| any(&self.groups, &|| packet.group()))
            .or_else(|| any(&self.dscps, &|| packet.dscp().into()))
            .unwrap_or(self.default) as usize
    }
}

/// The leaves in which packets wait, by the numbers of their flows and by their DSCPs. Flows that are classified alike
/// share a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classifier {
    /// Leaves by DSCP.
    pub rows: Arc<[[u8; 64]]>,
    /// The row of each flow, in both directions. Those beyond the end have the first row.
    pub of_flow: Arc<[u32]>,
}

impl Classifier {
    /// The reason why packets cannot be led so to one of so many leaves, if they cannot.
    pub fn fault(&self, leaves: usize) -> Option<String> {
        let Classifier { rows, of_flow } = self;
        let leaf = rows.iter().flatten().find(|leaf| usize::from(**leaf) >= leaves);
        let row = of_flow.iter().find(|row| **row as usize >= rows.len());
        let no_leaf = leaf.map(|leaf| format!("packets are to wait in leaf {leaf} of {leaves}"));
        no_leaf.or_else(|| row.map(|row| format!("its classifier has no row {row}")))
    }

    /// The leaf of a packet.
    #[inline]
    pub fn of(&self, flow: u32, dscp: u8) -> usize {
        let row = self.of_flow.get(flow as usize).copied().unwrap_or(0);
        usize::from(self.rows[row as usize][usize::from(dscp % 64)])
    }
}
