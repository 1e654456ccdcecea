//! The links of a dump: what is above and below each other, device by device.

use quell_units::BitRate;

use crate::qdisc::Meaning;
use crate::read::{Bucket, Class, Counters, Dump, Queue};

/// The shaper above a link's queues.
#[derive(Clone, Debug, PartialEq)]
pub enum Shape {
    /// Nothing.
    None,
    /// A rate: CAKE's own is in its parameters, and this is an htb's with one class.
    Rate(BitRate),
    /// A token bucket.
    Bucket(Bucket),
    /// Classes, each leaf with its queue.
    Classes(Vec<Leaf>),
}

/// A class with the queue in it, if it is a leaf.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf {
    /// The class.
    pub class: Class,
    /// It has no class below it.
    pub is_leaf: bool,
    /// It takes what no filter sends elsewhere.
    pub is_default: bool,
    /// The queue in it, if the text has one.
    pub queue: Option<Meaning>,
}

/// A link that a dump is of.
#[derive(Clone, Debug, PartialEq)]
pub struct Shaped {
    /// The device, if the text has one.
    pub device: Option<String>,
    /// The line of its root, counted from 1.
    pub line: usize,
    /// The shaper above its queues.
    pub shape: Shape,
    /// The algorithm of its queue, or of the first leaf; none if the text has none.
    pub queue: Option<Meaning>,
    /// The kind of that queue, as tc has it.
    pub kind: String,
    /// The counters of the root, with what only the queue below it counts.
    pub counters: Option<Counters>,
    /// Assumptions, and parts that were left out.
    pub notes: Vec<String>,
}

/// The part of a handle before its colon.
fn major(handle: &str) -> &str {
    handle.split(':').next().unwrap_or(handle)
}

impl Counters {
    /// Those of a root with those of the queues below it, whose packets and drops it has counted, but not their marks.
    fn with(mut self, inner: &[&Counters]) -> Counters {
        if self.marked.is_none() {
            self.marked = inner.iter().filter_map(|counters| counters.marked).reduce(u64::saturating_add);
        }
        if let [only] = inner {
            self.others.extend(only.others.iter().cloned());
            self.tins.extend(only.tins.iter().cloned());
        }
        self
    }
}

/// Puts a dump's queues and classes together: a link for each device with a queue, in the order of the text.
pub fn links(dump: &Dump) -> Vec<Shaped> {
    let mut devices: Vec<Option<&str>> = Vec::new();
    for queue in &dump.queues {
        if !devices.contains(&queue.device.as_deref()) {
            devices.push(queue.device.as_deref());
        }
    }
    let homes: Vec<Option<&str>> = dump.classes.iter().map(|class| home(class, dump)).collect();
    for device in &homes {
        if !devices.contains(device) {
            devices.push(*device);
        }
    }
    let links = devices.into_iter().flat_map(|device| {
        let queues: Vec<&Queue> = dump.queues.iter().filter(|q| q.device.as_deref() == device).collect();
        let classes = dump.classes.iter().zip(&homes).filter(|(_, home)| **home == device);
        let classes: Vec<&Class> = classes.map(|(class, _)| class).collect();
        // Without devices and handles, lines are links of their own.
        let apart = device.is_none() && classes.is_empty() && queues.iter().all(|q| q.parent.is_none());
        match apart {
            true => queues.iter().filter_map(|queue| one(None, &[queue], &[])).collect(),
            false => one(device, &queues, &classes).into_iter().collect::<Vec<_>>(),
        }
    });
    links.collect()
}

/// The device of a class. tc prints none, so it is that of the htb with the class's handle, if there is one such.
fn home<'a>(class: &'a Class, dump: &'a Dump) -> Option<&'a str> {
    let own = class.device.as_deref();
    let is_home =
        |queue: &&Queue| queue.kind == "htb" && queue.handle.as_deref().map(major) == Some(major(&class.id));
    let mut homes = dump.queues.iter().filter(is_home);
    match (own, homes.next(), homes.next()) {
        (None, Some(home), None) => home.device.as_deref(),
        _ => own,
    }
}

fn one(device: Option<&str>, queues: &[&Queue], classes: &[&Class]) -> Option<Shaped> {
    let is_silent = |kind: &str| matches!(kind, "ingress" | "clsact" | "noqueue");
    let mut notes = Vec::new();
    let root = queues.iter().find(|q| !is_silent(&q.kind) && q.parent.is_none());
    let root = root.or(queues.iter().find(|q| !is_silent(&q.kind)));
    let below =
        |handle: &str| queues.iter().find(|q| q.parent.as_deref().map(major) == Some(major(handle))).copied();
    let leaf_of = |id: &str| queues.iter().find(|q| q.parent.as_deref() == Some(id)).copied();
    let (shape, queue): (Shape, Option<&Queue>) = match root {
        None if classes.is_empty() => return None,
        Some(root) if root.bucket.is_some() => {
            let inner = root.handle.as_deref().and_then(below);
            (root.bucket.map_or(Shape::None, Shape::Bucket), inner)
        }
        root if root.is_none_or(|root| root.kind == "htb") => {
            let default = root.and_then(|root| root.default_class.as_deref());
            let leaf = |class: &Class| {
                let minor = class.id.rsplit(':').next().unwrap_or_default();
                let is_leaf = !classes.iter().any(|other| other.parent.as_deref() == Some(class.id.as_str()));
                let is_default = default
                    .is_some_and(|default| default.trim_start_matches('0') == minor.trim_start_matches('0'));
                Leaf {
                    class: class.clone(),
                    is_leaf,
                    is_default: is_leaf && is_default,
                    queue: leaf_of(&class.id).and_then(|queue| queue.meaning.clone()),
                }
            };
            let leaves: Vec<Leaf> = classes.iter().map(|class| leaf(class)).collect();
            let ends: Vec<&Leaf> = leaves.iter().filter(|leaf| leaf.is_leaf).collect();
            let first = ends.iter().find_map(|leaf| leaf_of(&leaf.class.id));
            match &ends[..] {
                [] => {
                    notes.push(
                        "htb: its classes are not in the text; add what tc class show prints".to_string(),
                    );
                    (Shape::None, root.and_then(|root| root.handle.as_deref()).and_then(below))
                }
                [only] => {
                    let ceil = only.class.ceil.unwrap_or(only.class.rate);
                    (Shape::Rate(ceil), first)
                }
                _ => (Shape::Classes(leaves.clone()), first),
            }
        }
        Some(root) if root.meaning.is_some() => (root.shaped.map_or(Shape::None, Shape::Rate), Some(root)),
        Some(root) => {
            let inner: Vec<&&Queue> = queues.iter().filter(|q| q.parent.is_some()).collect();
            let alike =
                inner.iter().filter(|q| q.kind == inner.first().map_or("", |first| &first.kind)).count();
            if let Some(first) = inner.first() {
                notes.push(format!(
                    "{}: the first of the {} queues below it stands for all: {} of them {} {}",
                    root.kind,
                    inner.len(),
                    alike,
                    if alike == 1 { "is" } else { "are" },
                    first.kind
                ));
            }
            (Shape::None, inner.first().map(|q| **q))
        }
        None => return None,
    };
    if root.is_none() && device.is_none() {
        notes.push(
            "tc class show prints no device, and no htb of the text, or several, have the classes' handle: give what \
             tc qdisc show dev and tc class show dev print of one device"
                .to_string(),
        );
    }
    let line = root.map_or(classes.first().map_or(1, |class| class.line), |root| root.line);
    let inner = queues.iter().filter(|q| q.meaning.is_some() && q.parent.is_some());
    let inner: Vec<&Counters> = inner.filter_map(|queue| queue.counters.as_ref()).collect();
    let counters = root.and_then(|root| root.counters.clone());
    let counters =
        counters.map(|counters| counters.with(&inner)).or(queue.and_then(|queue| queue.counters.clone()));
    let meaning = queue.and_then(|queue| queue.meaning.clone());
    if matches!(shape, Shape::None) && meaning.is_none() {
        return None;
    }
    Some(Shaped {
        device: device.map(str::to_string),
        line,
        shape,
        kind: queue.map_or(String::new(), |queue| queue.kind.clone()),
        queue: meaning,
        counters,
        notes,
    })
}
