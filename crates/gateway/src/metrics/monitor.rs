//! Makes of snapshots what is recent and what is wrong.

use std::collections::VecDeque;
use std::sync::Arc;

use hdrhistogram::Histogram;
use quell_units::{Duration, Time};

use super::anomaly::{Anomaly, Kind, Latch, Level, Notice, Raised, Thresholds};
use super::status::{
    Count, Counts, LaneStatus, LineStatus, LogState, Quantiles, Queue, Recent, SCHEMA, ShadowStatus, Signal,
    Spread, Status,
};
use super::{KernelDrops, LaneSnapshot, PathSnapshot, Reader, Snapshot, copy};
use crate::meter::Meter;

/// The interval at which rates and anomalies are looked at.
pub const STEP: Duration = Duration::from_secs(1);

/// The steps over which recent quantiles are.
const STEPS: usize = 10;

/// The bounds of the exported histograms, in microseconds.
const BOUNDS_US: [u64; 16] = [
    100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000, 200_000, 500_000, 1_000_000,
    2_000_000, 5_000_000, 10_000_000,
];

/// A histogram that only grows, seen through a window. What each step adds is kept as the few values that it has.
struct Window {
    before: Histogram<u64>,
    added: Histogram<u64>,
    steps: VecDeque<Vec<(u64, u64)>>,
    all: Histogram<u64>,
}

impl Window {
    fn new() -> Self {
        let empty = || Meter::new().delay;
        Window { before: empty(), added: empty(), steps: VecDeque::with_capacity(STEPS), all: empty() }
    }

    fn step(&mut self, now: &Histogram<u64>) {
        copy(now, &mut self.added);
        // One that was reset counts from there.
        if self.added.subtract(&self.before).is_err() {
            copy(now, &mut self.added);
        }
        copy(now, &mut self.before);
        let mut step =
            if self.steps.len() == STEPS { self.steps.pop_front() } else { None }.unwrap_or_default();
        step.clear();
        step.extend(self.added.iter_recorded().map(|v| (v.value_iterated_to(), v.count_at_value())));
        self.steps.push_back(step);
        self.all.reset();
        for (value, count) in self.steps.iter().flatten() {
            self.all.saturating_record_n(*value, *count);
        }
    }

    /// The 99th percentile of the last step.
    fn last_p99(&self) -> Option<Duration> {
        (!self.added.is_empty()).then(|| Duration::from_nanos(self.added.value_at_quantile(0.99)))
    }

    fn quantiles(&self) -> Option<Quantiles> {
        let at = |q| self.all.value_at_quantile(q) as f64 / 1e9;
        (!self.all.is_empty()).then(|| Quantiles {
            p50: at(0.5),
            p90: at(0.9),
            p99: at(0.99),
            max: self.all.max() as f64 / 1e9,
        })
    }
}

/// The counts of a path whose differences are rates.
#[derive(Clone, Copy, Default)]
struct Totals {
    arrived: Count,
    sent: Count,
    lost: u64,
    overflow: u64,
    marked: u64,
}

impl Totals {
    fn of(path: &PathSnapshot) -> Self {
        let sent = path.meter.sent.into();
        let Some(line) = &path.line else { return Totals { sent, ..Totals::default() } };
        let c = &line.counters;
        Totals {
            arrived: c.arrived.into(),
            sent,
            lost: c.refused.total().packets + c.dropped.total().packets,
            overflow: c.refused.overflow.packets + c.dropped.overflow.packets,
            marked: c.marked.packets,
        }
    }
}

/// The monitor's memory of a path.
struct Watch {
    delay: Window,
    lateness: Window,
    /// Windows of lanes, by name.
    lanes: Vec<(Arc<str>, Window)>,
    before: Totals,
    recent: Recent,
    latches: [Latch; 3],
}

impl Watch {
    fn new() -> Self {
        Watch {
            delay: Window::new(),
            lateness: Window::new(),
            lanes: Vec::new(),
            before: Totals::default(),
            recent: Recent::default(),
            latches: Kind::OF_LINE.map(Latch::new),
        }
    }

    fn step(&mut self, path: &PathSnapshot, step: Duration, limits: &Thresholds) -> [Level; 3] {
        self.delay.step(&path.meter.delay);
        self.lateness.step(&path.meter.lateness);
        if !self.lanes.iter().map(|(name, _)| name).eq(path.lanes.iter().map(|lane| &lane.name)) {
            self.lanes = path.lanes.iter().map(|lane| (lane.name.clone(), Window::new())).collect();
        }
        for ((_, window), lane) in self.lanes.iter_mut().zip(&path.lanes) {
            window.step(&lane.meter.delay);
        }
        let now = Totals::of(path);
        let was = std::mem::replace(&mut self.before, now);
        let seconds = step.as_secs_f64();
        let bps = |now: Count, was: Count| now.bytes.saturating_sub(was.bytes) as f64 * 8.0 / seconds;
        let arrived = now.arrived.packets.saturating_sub(was.arrived.packets);
        let share = |now: u64, was: u64| {
            (arrived > 0).then(|| (now.saturating_sub(was) as f64 / arrived as f64).min(1.0))
        };
        self.recent = Recent {
            in_bps: path.line.as_ref().map(|_| bps(now.arrived, was.arrived)),
            out_bps: bps(now.sent, was.sent),
            dropped: share(now.lost, was.lost),
            marked: share(now.marked, was.marked),
            delay: self.delay.quantiles(),
            lateness: self.lateness.quantiles(),
        };
        [
            Level::of(share(now.overflow, was.overflow), limits.overflow),
            Level::of(self.delay.last_p99(), limits.delay),
            Level::of(self.lateness.last_p99(), limits.lateness),
        ]
    }
}

/// Reads snapshots and says what is recent and what is wrong.
pub struct Monitor {
    reader: Reader,
    limits: Thresholds,
    watches: Vec<Watch>,
    /// In the order of [`Kind::OF_ALL`].
    latches: [Latch; 5],
    kernel: Option<KernelDrops>,
    /// The worker's time of the last step.
    stepped: Time,
    /// The time at which a snapshot was last new, and at which that was looked at, by the time of the calls.
    fresh: Option<Time>,
    looked: Option<Time>,
}

impl Monitor {
    /// A monitor of what `reader` gives.
    pub fn new(reader: Reader, limits: Thresholds) -> Self {
        let watches = reader.last.paths.iter().map(|_| Watch::new()).collect();
        Monitor {
            reader,
            limits,
            watches,
            latches: Kind::OF_ALL.map(Latch::new),
            kernel: None,
            stepped: Time::ZERO,
            fresh: None,
            looked: None,
        }
    }

    /// Looks at what is new, which is to be done at least every [`STEP`]. `now` is by any clock that does not jump,
    /// `unix_s` in seconds since 1970. Gives what was raised and cleared.
    pub fn turn(&mut self, now: Time, unix_s: u64) -> Vec<Notice> {
        let mut said = Vec::new();
        if let Some(snapshot) = self.reader.take() {
            self.fresh = Some(now);
            let step = Duration::from_nanos(snapshot.at.nanos().saturating_sub(self.stepped.nanos()));
            // A little early is on time: the two clocks tick apart.
            if step >= STEP.mul_f64(0.95) {
                self.stepped = snapshot.at;
                self.step(step, unix_s, &mut said);
            }
        }
        let since = *self.fresh.get_or_insert(now);
        let looked = self.looked.replace(now).unwrap_or(now);
        let level = match now.nanos().saturating_sub(since.nanos()) > self.limits.stalled.nanos() {
            true => Level::Above,
            false => Level::Below,
        };
        let passed = Duration::from_nanos(now.nanos().saturating_sub(looked.nanos()));
        let stalled = self.latches[4].step(level, passed, [Duration::ZERO; 2], unix_s);
        said.extend(stalled.map(|raised| Notice { kind: Kind::Stalled, direction: None, raised }));
        said
    }

    fn step(&mut self, step: Duration, unix_s: u64, said: &mut Vec<Notice>) {
        let hold = [self.limits.raise, self.limits.clear];
        let snapshot = &self.reader.last;
        for (i, (watch, path)) in self.watches.iter_mut().zip(&snapshot.paths).enumerate() {
            let levels = watch.step(path, step, &self.limits);
            for (latch, level) in watch.latches.iter_mut().zip(levels) {
                let Some(raised) = latch.step(level, step, hold, unix_s) else { continue };
                said.push(Notice { kind: latch.kind, direction: Some(direction(i, path)), raised });
            }
        }
        // What the kernel dropped before is not news.
        let was = self.kernel.replace(snapshot.kernel).unwrap_or(snapshot.kernel);
        let moved = snapshot.kernel.total() > was.total();
        let around = snapshot.kernel.around_since(&was);
        let levels = [moved, around, snapshot.kernel.device_gone, snapshot.log.1.is_some()]
            .map(|bad| if bad { Level::Above } else { Level::Below });
        let clear = [Duration::ZERO, self.limits.clear];
        let holds = [clear, clear, [Duration::ZERO; 2], [Duration::ZERO; 2]];
        for ((latch, level), hold) in self.latches.iter_mut().zip(levels).zip(holds) {
            let Some(raised) = latch.step(level, step, hold, unix_s) else { continue };
            said.push(Notice { kind: latch.kind, direction: None, raised });
        }
    }

    /// Everything, as of the last snapshot; `now` is by the clock of [`Monitor::turn`].
    pub fn status(&self, now: Time) -> Status {
        let snapshot: &Snapshot = &self.reader.last;
        let age = self.fresh.map_or(0, |fresh| now.nanos().saturating_sub(fresh.nanos()));
        let log = match snapshot.log {
            (false, _) => LogState::None,
            (true, None) => LogState::Writing,
            (true, Some(why)) => LogState::Ended { why: why.to_string() },
        };
        let paths = || snapshot.paths.iter().enumerate();
        let names = || paths().map(|(i, path)| Some(direction(i, path)));
        let of_lines = self.watches.iter().zip(names());
        let latches: Vec<(&Latch, Option<String>)> = of_lines
            .flat_map(|(watch, name)| watch.latches.iter().map(move |latch| (latch, name.clone())))
            .chain(self.latches.iter().map(|latch| (latch, None)))
            .collect();
        let holds = |(latch, direction): &(&Latch, Option<String>)| {
            let since_unix_s = latch.since()?;
            let says = match (latch.kind, snapshot.log.1) {
                (Kind::LogEnded, Some(why)) => format!("{}: {why}", latch.kind.says()),
                (kind, _) => kind.says().to_string(),
            };
            Some(Anomaly { kind: latch.kind, direction: direction.clone(), since_unix_s, says })
        };
        Status {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION").to_string(),
            up_s: snapshot.at.as_secs_f64(),
            age_s: Duration::from_nanos(age).as_secs_f64(),
            pauses: snapshot.pauses,
            on_the_way: snapshot.on_the_way as u64,
            kernel: snapshot.kernel,
            log,
            lines: paths().zip(&self.watches).map(|((i, path), watch)| line(i, path, watch)).collect(),
            anomalies: latches.iter().filter_map(holds).collect(),
            raised: latches
                .iter()
                .map(|(latch, direction)| Raised {
                    kind: latch.kind,
                    direction: direction.clone(),
                    times: latch.raised,
                })
                .collect(),
        }
    }
}

fn direction(index: usize, path: &PathSnapshot) -> String {
    path.line.as_ref().map_or_else(|| format!("path-{index}"), |line| line.is.config.name.clone())
}

fn line(index: usize, path: &PathSnapshot, watch: &Watch) -> LineStatus {
    let signal = |(name, unit, value): &super::SignalValue| Signal {
        name: (*name).to_string(),
        unit: (*unit).to_string(),
        value: value.is_finite().then_some(*value),
    };
    let shadow = |(line, delay): &(super::LineSnapshot, Histogram<u64>)| ShadowStatus {
        queue: Queue::of(line),
        delay: spread(delay, None),
    };
    LineStatus {
        direction: direction(index, path),
        line: index,
        queue: path.line.as_ref().map(Queue::of),
        sent: path.meter.sent.into(),
        delay: spread(&path.meter.delay, Some(path.meter.delay_sum_ns as f64 / 1e9)),
        lateness: spread(&path.meter.lateness, None),
        recent: watch.recent,
        lanes: path.lanes.iter().map(|of| lane(of, watch)).collect(),
        signals: path.signals.iter().map(signal).collect(),
        shadows: path.shadows.iter().map(shadow).collect(),
    }
}

fn lane(of: &LaneSnapshot, watch: &Watch) -> LaneStatus {
    let window = watch.lanes.iter().find(|(name, _)| *name == of.name);
    LaneStatus {
        name: of.name.to_string(),
        counts: Counts::of(&of.counters, of.packets, of.bytes),
        delay: spread(&of.meter.delay, Some(of.meter.delay_sum_ns as f64 / 1e9)),
        recent: window.and_then(|(_, window)| window.quantiles()),
    }
}

/// A histogram at fixed bounds; without an exact sum, one that is known as well as the values are.
fn spread(of: &Histogram<u64>, sum_s: Option<f64>) -> Spread {
    let mut buckets: Vec<(f64, u64)> = BOUNDS_US.iter().map(|us| (*us as f64 / 1e6, 0)).collect();
    let mut sum = 0.0;
    for value in of.iter_recorded() {
        let (ns, count) = (of.median_equivalent(value.value_iterated_to()), value.count_at_value());
        sum += ns as f64 / 1e9 * count as f64;
        if let Some(at) = BOUNDS_US.iter().position(|us| ns <= us * 1000) {
            buckets[at].1 += count;
        }
    }
    let mut total = 0;
    for (_, count) in &mut buckets {
        total += *count;
        *count = total;
    }
    Spread { count: of.len(), sum_s: sum_s.unwrap_or(sum), buckets }
}
