//! The links of a dump: what is above and below each other, device by device.

use quell_units::{BitRate, Bytes};

use crate::qdisc::Meaning;
use crate::read::{Added, Bucket, Class, Counters, Dump, Queue};

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
    /// What a table of sizes adds to packets, in the bytes that tc counts, too: tc-stab(8).
    pub stab: Option<Added>,
    /// The shaper above its classes, if that counts what the link adds to packets.
    pub above: Option<Bucket>,
    /// The words of the netem above or below its queue: `netem delay 20ms`.
    pub netem: Option<String>,
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

/// The queues of a device without its netems, below which others are as if they were below the class of the netem; and
/// the words of the first.
fn without_netem(queues: &[&Queue], notes: &mut Vec<String>) -> (Vec<Queue>, Option<String>) {
    let (wires, mut rest): (Vec<Queue>, Vec<Queue>) =
        queues.iter().map(|queue| (*queue).clone()).partition(|queue| queue.netem.is_some());
    for wire in &wires {
        for queue in &mut rest {
            let is_below = queue.parent.as_deref().map(major) == wire.handle.as_deref().map(major);
            if is_below && queue.parent.is_some() {
                queue.parent.clone_from(&wire.parent);
                notes.push(format!(
                    "netem above {}: for Linux, packets wait in netem, up to its limit, and then in {}; here they wait \
                     before the wire",
                    queue.kind, queue.kind
                ));
            }
        }
    }
    if wires.len() > 1 {
        notes.push(format!("netem: the first of {} is read, as a link is one", wires.len()));
    }
    (rest, wires.into_iter().next().and_then(|wire| wire.netem))
}

/// A shaper at the ceiling of a class.
fn plain_bucket(class: &Class) -> Bucket {
    let of = |burst: Option<Bytes>| burst.filter(|burst| burst.get() >= MTU).unwrap_or(BURST);
    // A packet needs tokens of both buckets.
    let burst = of(class.burst).min(of(class.cburst));
    let rate = class.ceil.unwrap_or(class.rate);
    adding(class.added, Bucket { rate, burst, peak_rate: None, mtu: None, limit: None, added: class.added })
}

/// A shaper of htb's with what a link adds. htb sends as long as it has tokens, and the shaper of a scenario needs them
/// for a whole packet.
fn adding(added: Added, bucket: Bucket) -> Bucket {
    let packet = added.layer(bucket.rate).on_wire(PACKET);
    Bucket { added, burst: bucket.burst.max(packet), ..bucket }
}

/// The same, if the class says more than a rate: what the link adds, or a burst of its own.
fn bucket_of(class: &Class) -> Option<Bucket> {
    let bucket = plain_bucket(class);
    (bucket.added != Added::default() || bucket.burst.get() > LARGEST_UNNAMED).then_some(bucket)
}

/// The queues below one of a device's that are named.
const MOST_NAMED: usize = 8;

/// The largest packet of Ethernet, with its header.
const MTU: u64 = 1514;
/// The largest IP packet of Ethernet.
const PACKET: Bytes = Bytes::new(1500);
/// The burst of a class for which tc is told of none: what Linux shows of slow ones.
const BURST: Bytes = Bytes::new(1600);
/// The largest burst that Linux shows of a class for which tc is told of none: 1600 B and what the rate sends in a
/// nanosecond, 100 B of 800 Gbit/s.
const LARGEST_UNNAMED: u64 = 1700;

/// A table of sizes at the root as what the link adds, where a shaper counts it.
fn of_stab(
    stab: Added,
    shape: Shape,
    above: Option<Bucket>,
    queue: Option<&Queue>,
    notes: &mut Vec<String>,
) -> (Shape, Option<Bucket>) {
    let mut counted = |bucket: Bucket| {
        if bucket.added == Added::default() {
            return adding(stab, bucket);
        }
        notes.push(
            "stab: the shaper has an overhead of its own, which is read; for Linux they add up".to_string(),
        );
        bucket
    };
    match shape {
        Shape::Rate(rate) => {
            let bucket = Bucket {
                rate,
                burst: BURST,
                peak_rate: None,
                mtu: None,
                limit: None,
                added: Added::default(),
            };
            (Shape::Bucket(counted(bucket)), above)
        }
        Shape::Bucket(bucket) => (Shape::Bucket(counted(bucket)), above),
        Shape::Classes(leaves) => {
            let above = above.or_else(|| only_root(&leaves).map(|leaf| plain_bucket(&leaf.class)));
            let above = above.map(&mut counted);
            if above.is_none() {
                notes.push(NO_LAYER.to_string());
            }
            (Shape::Classes(leaves), above)
        }
        Shape::None => {
            let is_cake = queue.is_some_and(|queue| queue.kind.starts_with("cake"));
            notes.push(match is_cake {
                true => "stab: is left out; cake has overhead, mpu and framing of its own: write those"
                    .to_string(),
                false => "stab: is left out, as no shaper of the text counts it".to_string(),
            });
            (Shape::None, above)
        }
    }
}

/// What to say where classes count what the link adds, and no shaper above them can.
const NO_LAYER: &str =
    "overhead: classes have none; write shaper = { rate, burst, overhead } for all of them";

/// The class above all others, if there is one.
fn only_root(leaves: &[Leaf]) -> Option<&Leaf> {
    let is_below =
        |leaf: &&Leaf| leaves.iter().any(|other| Some(&other.class.id) == leaf.class.parent.as_ref());
    let mut roots = leaves.iter().filter(|leaf| !is_below(leaf));
    roots.next().filter(|_| roots.next().is_none())
}

/// Notes on classes whose children are guaranteed more than they have, which htb takes.
fn beyond_the_parent(classes: &[Leaf]) -> Vec<String> {
    let note = |above: &Leaf| {
        let id = above.class.id.as_str();
        let children = classes.iter().filter(|leaf| leaf.class.parent.as_deref() == Some(id));
        let sum = children.fold(0_u64, |sum, leaf| sum.saturating_add(leaf.class.rate.bps()));
        (sum > above.class.rate.bps()).then(|| {
            format!(
                "htb: the rates of the classes below {id} are {} together, and {id} has {}. Linux takes that, and they \
                 then exceed {id} together; a scenario does not. Lower these rates in the text until they fit: with ceil, \
                 each class still borrows what others leave",
                BitRate::from_bps(sum),
                above.class.rate
            )
        })
    };
    classes.iter().filter_map(note).collect()
}

fn one(device: Option<&str>, queues: &[&Queue], classes: &[&Class]) -> Option<Shaped> {
    let is_silent = |kind: &str| matches!(kind, "ingress" | "clsact" | "noqueue");
    let mut notes = Vec::new();
    let first = queues.iter().find(|queue| queue.netem.is_some());
    let counted = first.filter(|queue| queue.parent.is_none()).and_then(|queue| queue.counters.clone());
    let first = first.map(|queue| queue.line);
    let (owned, netem) = without_netem(queues, &mut notes);
    let queues: Vec<&Queue> = owned.iter().collect();
    let mut above = None;
    let root = queues.iter().find(|q| !is_silent(&q.kind) && q.parent.is_none());
    let root = root.or(queues.iter().find(|q| !is_silent(&q.kind)));
    let below =
        |handle: &str| queues.iter().find(|q| q.parent.as_deref().map(major) == Some(major(handle))).copied();
    let leaf_of = |id: &str| queues.iter().find(|q| q.parent.as_deref() == Some(id)).copied();
    let (shape, queue): (Shape, Option<&Queue>) = match root {
        None if classes.is_empty() && netem.is_some() => (Shape::None, None),
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
                    .map(|default| default.trim_start_matches('0'))
                    .is_some_and(|default| default.eq_ignore_ascii_case(minor.trim_start_matches('0')));
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
            if let Some(default) = default.filter(|default| !default.trim_start_matches('0').is_empty())
                && !ends.is_empty()
                && !ends.iter().any(|leaf| leaf.is_default)
            {
                notes.push(format!(
                    "htb: default {default} is no leaf of the text: packets that no filter puts into a class go past \
                     the shaper, at the device's rate"
                ));
            }
            match &ends[..] {
                [] => {
                    notes.push(
                        "htb: its classes are not in the text; add what tc class show prints".to_string(),
                    );
                    (Shape::None, root.and_then(|root| root.handle.as_deref()).and_then(below))
                }
                [only] => {
                    let ceil = only.class.ceil.unwrap_or(only.class.rate);
                    (bucket_of(&only.class).map_or(Shape::Rate(ceil), Shape::Bucket), first)
                }
                _ => {
                    above = only_root(&leaves)
                        .filter(|leaf| leaf.class.added != Added::default())
                        .map(|leaf| plain_bucket(&leaf.class));
                    let lost = leaves.iter().any(|leaf| leaf.class.added != Added::default());
                    if lost && above.is_none() {
                        notes.push(NO_LAYER.to_string());
                    }
                    notes.extend(beyond_the_parent(&leaves));
                    (Shape::Classes(leaves.clone()), first)
                }
            }
        }
        Some(root) if root.meaning.is_some() => (Shape::None, Some(root)),
        Some(root) => {
            let inner: Vec<&&Queue> = queues.iter().filter(|q| q.parent.is_some()).collect();
            if let Some((first, others)) = inner.split_first() {
                let is_alike = |queue: &Queue| (&queue.kind, &queue.meaning) == (&first.kind, &first.meaning);
                let differ: Vec<String> = others
                    .iter()
                    .filter(|queue| !is_alike(queue))
                    .map(|queue| {
                        let parent = queue.parent.as_deref().unwrap_or_default();
                        let how = if queue.kind == first.kind { " with other words" } else { "" };
                        format!("{} {parent}{how}", queue.kind)
                    })
                    .collect();
                let (shown, more) = differ.split_at(differ.len().min(MOST_NAMED));
                let more = if more.is_empty() { String::new() } else { format!(" and {} more", more.len()) };
                let differ = match shown {
                    [] => "all are alike".to_string(),
                    shown => format!("these differ: {}{more}", shown.join(", ")),
                };
                notes.push(format!(
                    "{}: the first of the {} queues below it, {} {}, stands for all; {differ}",
                    root.kind,
                    inner.len(),
                    first.kind,
                    first.parent.as_deref().unwrap_or_default()
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
    let stab = root.and_then(|root| root.stab);
    let (shape, above) = match stab {
        Some(stab) => of_stab(stab, shape, above, queue, &mut notes),
        None => (shape, above),
    };
    if queues.iter().any(|queue| queue.stab.is_some() && queue.stab != stab) {
        notes.push("stab: only that of the root is read, and others are left out".to_string());
    }
    let line = root.map(|root| root.line).or(classes.first().map(|class| class.line)).or(first).unwrap_or(1);
    // A root whose own parent is not in the text is not below itself.
    let is_root = |queue: &Queue| root.is_some_and(|root| std::ptr::eq(*root, queue));
    let inner = queues.iter().filter(|q| q.meaning.is_some() && q.parent.is_some() && !is_root(q));
    let inner: Vec<&Counters> = inner.filter_map(|queue| queue.counters.as_ref()).collect();
    let counters = counted.or(root.and_then(|root| root.counters.clone()));
    let counters =
        counters.map(|counters| counters.with(&inner)).or(queue.and_then(|queue| queue.counters.clone()));
    let meaning = queue.and_then(|queue| queue.meaning.clone());
    if matches!(shape, Shape::None) && meaning.is_none() && netem.is_none() {
        return None;
    }
    Some(Shaped {
        device: device.map(str::to_string),
        line,
        shape,
        stab,
        above,
        netem,
        kind: queue.map_or(String::new(), |queue| queue.kind.clone()),
        queue: meaning,
        counters,
        notes,
    })
}
