//! The metrics of a running gateway.
//!
//! The worker's [`Publisher`] copies what it has counted, and a thread of its own does the rest: a [`Monitor`]
//! finds what is recent and what is wrong ([`anomaly`]), [`export`] writes it down, and a [`Server`] hands it out.
//! The two share one pointer, which the worker exchanges only if nobody holds it: it never waits for a reader, and
//! it allocates nothing but after a reload.

pub mod anomaly;
pub mod export;
mod monitor;
mod server;
mod status;

use core::hash::Hasher;
use core::mem;
use std::sync::{Arc, Mutex, TryLockError};

use hdrhistogram::Histogram;
use quell_queue::{Counters, Qdisc};
use quell_units::{Duration, Time};
use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;

use crate::config::{LineConfig, Shaped};
use crate::meter::Meter;
use crate::relay::{Path, Relay};

pub use anomaly::{Anomaly, Kind, Level, Notice, Raised, Thresholds};
pub use monitor::{Monitor, STEP};
pub use server::{Endpoint, Listening, Server};
pub use status::{
    Causes, Count, Counts, LaneStatus, LineStatus, LogState, Quantiles, Queue, Recent, SCHEMA, ShadowStatus,
    Signal, Spread, Status,
};

/// The interval at which the worker publishes.
pub const EVERY: Duration = Duration::from_millis(100);

/// The most internal signals of an algorithm that are shown.
const SIGNALS: usize = 64;

/// Packets that the kernel has dropped or passed around the gateway since it began: the algorithm never saw them. And
/// how often someone had to mend something.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KernelDrops {
    /// Dropped by NFQUEUE because its queue was full (`/proc/net/netfilter/nfnetlink_queue`).
    pub queue_dropped: u64,
    /// Dropped by NFQUEUE because they could not be handed to the gateway.
    pub user_dropped: u64,
    /// Verdicts that the kernel did not take: it had dropped the packet before, such as when a device went down.
    pub refused: u64,
    /// Packets that left without a verdict: nobody read the queue, or it was full.
    pub bypassed: u64,
    /// Packets that no algorithm may judge, such as neighbor discovery.
    pub unjudged: u64,
    /// Messages of the kernel that were not understood.
    pub strange: u64,
    /// The number of times that rules of the firewall were gone and added again.
    pub rules_gone: u64,
    /// The number of times that the worker was started again: all other figures count from the last one.
    pub restarts: u64,
    /// The device is not there.
    pub device_gone: bool,
}

impl KernelDrops {
    /// All that were dropped.
    pub fn total(&self) -> u64 {
        self.queue_dropped + self.user_dropped + self.refused
    }

    /// Tells whether packets have passed around the gateway since `before`.
    fn around_since(&self, before: &KernelDrops) -> bool {
        self.bypassed > before.bypassed || self.rules_gone > before.rules_gone
    }
}

/// A configuration and what identifies it.
#[derive(Debug)]
struct Described {
    config: LineConfig,
    digest: String,
}

impl Described {
    fn of(config: &LineConfig) -> Arc<Self> {
        Arc::new(Described { config: config.clone(), digest: digest(config) })
    }
}

/// 16 hexadecimal digits that differ where configurations do.
pub fn digest(config: &LineConfig) -> String {
    let mut hasher = SipHasher13::new();
    // A configuration that cannot be written as JSON could not have been read.
    hasher.write(&serde_json::to_vec(config).unwrap_or_default());
    format!("{:016x}", hasher.finish())
}

/// An internal signal: name, unit, value.
type SignalValue = (&'static str, &'static str, f64);

/// The worker's counts at one time.
#[derive(Debug)]
struct Snapshot {
    at: Time,
    kernel: KernelDrops,
    pauses: u64,
    on_the_way: usize,
    /// A log exists; and the reason why it ended.
    log: (bool, Option<&'static str>),
    paths: Vec<PathSnapshot>,
}

#[derive(Debug)]
struct PathSnapshot {
    line: Option<LineSnapshot>,
    meter: Meter,
    lanes: Vec<LaneSnapshot>,
    signals: Vec<SignalValue>,
    shadows: Vec<(LineSnapshot, Histogram<u64>)>,
}

/// A lane that has a name.
#[derive(Debug)]
struct LaneSnapshot {
    name: Arc<str>,
    counters: Counters,
    packets: u64,
    bytes: u64,
    meter: Meter,
}

impl LaneSnapshot {
    /// Those that a line's queue has.
    fn of(line: &Shaped) -> Vec<Self> {
        names(line).map(LaneSnapshot::new).collect()
    }

    fn new(name: &str) -> Self {
        LaneSnapshot {
            name: name.into(),
            counters: Counters::default(),
            packets: 0,
            bytes: 0,
            meter: Meter::new(),
        }
    }

    /// Those of a line whose configuration may have been exchanged, which allocates.
    fn fill(lanes: &mut Vec<Self>, line: &Shaped, meters: &[Meter]) {
        let queue = line.queue();
        if !lanes.iter().map(|lane| &*lane.name).eq(names(line)) {
            *lanes = LaneSnapshot::of(line);
        }
        for (i, (to, meter)) in lanes.iter_mut().zip(meters).enumerate() {
            to.counters = queue.lane_counters(i).unwrap_or_default();
            let view = queue.lane_view(i);
            to.packets = view.map_or(0, |view| u64::from(view.packets.get()));
            to.bytes = view.map_or(0, |view| view.bytes.get());
            copy(&meter.delay, &mut to.meter.delay);
            (to.meter.delay_sum_ns, to.meter.sent) = (meter.delay_sum_ns, meter.sent);
        }
    }
}

/// The names of a line's lanes.
fn names(line: &Shaped) -> impl Iterator<Item = &str> {
    let queue = line.queue();
    (0..queue.lane_count()).map(|lane| queue.lane_name(lane).unwrap_or_default())
}

#[derive(Debug)]
struct LineSnapshot {
    is: Arc<Described>,
    counters: Counters,
    packets: u64,
    bytes: u64,
}

impl LineSnapshot {
    fn new(config: &LineConfig) -> Self {
        LineSnapshot { is: Described::of(config), counters: Counters::default(), packets: 0, bytes: 0 }
    }

    fn fill(&mut self, config: &LineConfig, line: &Shaped) {
        // Only a reload allocates.
        if self.is.config != *config {
            self.is = Described::of(config);
        }
        let view = line.queue().view();
        self.counters = line.counters();
        (self.packets, self.bytes) = (u64::from(view.packets.get()), view.bytes.get());
    }
}

/// Keeps signals within the room that there is.
struct Signals<'a>(&'a mut Vec<SignalValue>);

impl quell_aqm::Probe for Signals<'_> {
    fn value(&mut self, name: &'static str, unit: &'static str, x: f64) {
        if self.0.len() < SIGNALS {
            self.0.push((name, unit, x));
        }
    }
}

/// Both have the bounds that [`Meter::new`] gives, so nothing is lost or allocated.
fn copy(from: &Histogram<u64>, to: &mut Histogram<u64>) {
    let _ = to.set_to(from);
}

impl PathSnapshot {
    fn new(path: &Path) -> Self {
        let shadow = |s: &crate::Shadow| (LineSnapshot::new(&s.config), Meter::new().delay);
        PathSnapshot {
            line: path.config().map(LineSnapshot::new),
            meter: Meter::new(),
            lanes: path.line().map_or_else(Vec::new, LaneSnapshot::of),
            signals: Vec::with_capacity(SIGNALS),
            shadows: path.shadows().iter().map(shadow).collect(),
        }
    }

    fn fill(&mut self, path: &Path) {
        self.signals.clear();
        if let (Some(to), Some(config), Some(line)) = (&mut self.line, path.config(), path.line()) {
            to.fill(config, line);
            line.queue().observe(&mut Signals(&mut self.signals));
            LaneSnapshot::fill(&mut self.lanes, line, path.lanes());
        }
        let meter = &path.meter;
        copy(&meter.delay, &mut self.meter.delay);
        copy(&meter.lateness, &mut self.meter.lateness);
        (self.meter.delay_sum_ns, self.meter.sent) = (meter.delay_sum_ns, meter.sent);
        for ((to, delay), shadow) in self.shadows.iter_mut().zip(path.shadows()) {
            to.fill(&shadow.config, shadow.line());
            copy(&shadow.meter.delay, delay);
        }
    }
}

impl Snapshot {
    fn new<P>(relay: &Relay<P>) -> Box<Self>
    where
        P: crate::Ports,
    {
        Box::new(Snapshot {
            at: Time::ZERO,
            kernel: KernelDrops::default(),
            pauses: 0,
            on_the_way: 0,
            log: (false, None),
            paths: relay.paths().iter().map(PathSnapshot::new).collect(),
        })
    }
}

/// The place where the newest snapshot lies.
#[derive(Debug)]
struct Slot {
    snapshot: Box<Snapshot>,
    fresh: bool,
}

/// The worker's end: hands out snapshots of a relay and never waits.
#[derive(Debug)]
pub struct Publisher {
    slot: Arc<Mutex<Slot>>,
    next: Box<Snapshot>,
}

/// The other end: takes the newest snapshot.
#[derive(Debug)]
pub struct Reader {
    slot: Arc<Mutex<Slot>>,
    last: Box<Snapshot>,
}

impl Publisher {
    /// The two ends for a relay whose shadows have been added. All memory is taken here.
    pub fn new<P: crate::Ports>(relay: &Relay<P>) -> (Publisher, Reader) {
        let [next, between, last] = [(); 3].map(|()| Snapshot::new(relay));
        let slot = Arc::new(Mutex::new(Slot { snapshot: between, fresh: false }));
        (Publisher { slot: slot.clone(), next }, Reader { slot, last })
    }

    /// Publishes what `relay` knows `now`, which is to be done every [`EVERY`]. False if the reader was just taking
    /// the one before: nothing is lost, since all of it counts from the start.
    pub fn publish<P: crate::Ports>(&mut self, relay: &Relay<P>, kernel: KernelDrops, now: Time) -> bool {
        let next = &mut *self.next;
        next.at = now;
        next.kernel = kernel;
        next.pauses = relay.pauses;
        next.on_the_way = relay.on_the_way();
        next.log = (relay.recorder().is_some(), relay.recorder().and_then(crate::Recorder::ended));
        for (to, path) in next.paths.iter_mut().zip(relay.paths()) {
            to.fill(path);
        }
        let mut slot = match self.slot.try_lock() {
            Ok(slot) => slot,
            Err(TryLockError::Poisoned(slot)) => slot.into_inner(),
            Err(TryLockError::WouldBlock) => return false,
        };
        mem::swap(&mut slot.snapshot, &mut self.next);
        slot.fresh = true;
        true
    }
}

impl Reader {
    /// The newest snapshot; `None` if it was taken before.
    fn take(&mut self) -> Option<&Snapshot> {
        let mut slot = self.slot.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !mem::take(&mut slot.fresh) {
            return None;
        }
        mem::swap(&mut slot.snapshot, &mut self.last);
        drop(slot);
        Some(&self.last)
    }
}
