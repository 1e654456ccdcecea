//! The loop: packets come from ports, go through their path's line and delay, and leave. No I/O and no clock of
//! its own, so that a test drives it with made-up packets and times.

use core::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::io;

use quell_queue::{Admission, CATCH_UP, Dropped, Host, Line, Qdisc, Sent};
use quell_units::{Duration, Time};

use crate::behind::{Behind, BehindConfig};
use crate::config::{ConfigError, LineConfig, Shaped};
use crate::course::{Change, Course};
use crate::meter::Meter;
use crate::packet::Packet;
use crate::record::{Entry, Event, LogHeader, Recorder, Resumed};

/// Sources and sinks of packets. Whoever implements it owns their bytes.
pub trait Ports {
    /// Adds at most `most` packets that wait to `arrivals`, each with the index of its path. What no algorithm
    /// may judge it forwards by itself.
    ///
    /// # Errors
    /// If the ports are gone; a failure that will pass is counted instead.
    fn receive(&mut self, most: usize, arrivals: &mut Vec<(u8, Packet)>) -> io::Result<()>;
    /// Sends a packet on its way, with its mark, and forgets it.
    fn forward(&mut self, path: u8, packet: &Packet);
    /// Sends a copy of a packet that goes on being there. Ports of real wires can; those whose packets the kernel keeps
    /// cannot, and nothing asks them to.
    fn copy(&mut self, path: u8, packet: &Packet) {
        let _ = (path, packet);
    }
    /// Forgets a packet.
    fn discard(&mut self, path: u8, packet: &Packet);
    /// Does what `forward` and `discard` put off.
    ///
    /// # Errors
    /// If the ports are gone.
    fn flush(&mut self) -> io::Result<()>;
}

/// The delays of a path's packets after they were sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Delays {
    /// The delay of each [`Packet::tag`].
    pub each: Vec<Duration>,
    /// The delay of all others.
    pub others: Duration,
}

impl Delays {
    /// The same delay for all.
    pub fn all(delay: Duration) -> Self {
        Delays { each: Vec::new(), others: delay }
    }

    #[inline]
    fn of(&self, packet: &Packet) -> Duration {
        self.each.get(usize::from(packet.tag)).copied().unwrap_or(self.others)
    }

    pub(crate) fn longest(&self) -> Duration {
        self.each.iter().copied().fold(self.others, Duration::max)
    }
}

/// One direction through a gateway: a line, if it has one, and a delay.
pub struct Path {
    line: Option<(LineConfig, Shaped)>,
    delays: Delays,
    course: Course,
    behind: Option<Behind>,
    /// Its line's index in the log.
    log: u8,
    number: u32,
    /// Its measurements.
    pub meter: Meter,
    /// The same of each lane with a name, since its configuration.
    lanes: Vec<Meter>,
    shadows: Vec<Shadow>,
}

/// An algorithm that judges beside the one that acts: the same arrivals, and a queue of its own.
pub struct Shadow {
    /// Its configuration.
    pub config: LineConfig,
    line: Shaped,
    /// Measurements of what it would have done.
    pub meter: Meter,
}

/// A packet that is on its way until `due`; `order` keeps packets that are due together in order.
struct Due {
    due: Time,
    /// No other packet has the same.
    order: u64,
    path: u8,
    packet: Packet,
    /// It arrives twice.
    copied: bool,
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.due, self.order).cmp(&(other.due, other.order))
    }
}
impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for Due {}

/// The loop's sleep until its next turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sleep {
    /// Nothing: packets may wait already.
    None,
    /// Sleep until packets come or this long.
    Input(Duration),
    /// Sleep this long and do not look at what comes: packets leave more often than it pays to wake for each.
    Tick(Duration),
}

/// The pace of the loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// The most packets that one turn takes in.
    pub batch: usize,
    /// The sleep of a busy line whose packets take less than [`Pace::slow`].
    pub tick: Duration,
    /// A line whose mean packet takes longer wakes for each of them.
    pub slow: Duration,
}

impl Default for Pace {
    fn default() -> Self {
        Pace { batch: 256, tick: Duration::from_micros(50), slow: Duration::from_micros(150) }
    }
}

/// The longest that the loop sleeps: it looks for orders then.
pub const LONGEST_SLEEP: Duration = Duration::from_millis(100);

/// A longer time between two turns is a pause: the machine was suspended, or the process stopped. Departures and
/// updates of that time are made up for at their own times, which costs 0.2 s for a day of PI's updates.
pub const PAUSE: Duration = Duration::from_secs(1);

/// A gateway between its ports.
pub struct Relay<P> {
    /// The ports.
    pub ports: P,
    paths: Vec<Path>,
    due: BinaryHeap<Reverse<Due>>,
    order: u64,
    arrivals: Vec<(u8, Packet)>,
    pace: Pace,
    /// The time of the last turn; no event is earlier.
    now: Time,
    recorder: Option<Recorder>,
    passed: Time,
    /// The number of times that the loop was stopped for longer than [`PAUSE`].
    pub pauses: u64,
}

/// The listener to a line's decisions.
struct Listener<'a, P> {
    ports: &'a mut P,
    path: u8,
    log: u8,
    delays: &'a Delays,
    behind: &'a mut Option<Behind>,
    due: &'a mut BinaryHeap<Reverse<Due>>,
    order: &'a mut u64,
    recorder: &'a mut Option<Recorder>,
    meter: &'a mut Meter,
    lanes: &'a mut [Meter],
}

impl<P> Listener<'_, P> {
    #[inline]
    fn log(&mut self, time: Time, event: Event) {
        if let Some(recorder) = self.recorder {
            recorder.add(&Entry { line: self.log, time, event });
        }
    }
}

impl<P: Ports> Host<Packet> for Listener<'_, P> {
    #[inline]
    fn sent(&mut self, sent: Sent<Packet>) {
        let Sent { packet, arrived, start, end } = sent;
        self.meter.sent(start.since(arrived), u64::from(packet.bytes));
        if let Some(lane) = self.lanes.get_mut(usize::from(packet.lane)) {
            lane.sent(start.since(arrived), u64::from(packet.bytes));
        }
        if self.recorder.is_some() {
            self.log(start, Event::Sent { number: packet.number, marked: packet.marked });
        }
        let mut due = end + self.delays.of(&packet);
        let mut copied = false;
        if let Some(behind) = self.behind.as_mut() {
            let shifts = behind.shifts;
            let (flight, late_ns) = behind.carry(start, end);
            if flight.lost {
                self.meter.lost += 1;
                self.log(start, Event::Lost { number: packet.number });
                return self.ports.discard(self.path, &packet);
            }
            copied = flight.copied;
            self.meter.copied += u64::from(copied);
            // Whatever its delay is, it does not leave before it was sent.
            due = Time::from_nanos(due.nanos().saturating_add_signed(late_ns)).max(end);
            if shifts {
                self.log(start, Event::Carried { number: packet.number, late_ns, copied });
            }
        }
        *self.order += 1;
        self.due.push(Reverse(Due { due, order: *self.order, path: self.path, packet, copied }));
    }

    #[inline]
    fn dropped(&mut self, now: Time, dropped: Dropped<Packet>) {
        let Dropped { packet, cause, place } = dropped;
        if self.recorder.is_some() && place != quell_queue::DropPoint::Arrival {
            self.log(now, Event::Dropped { number: packet.number, cause, place });
        }
        self.ports.discard(self.path, &packet);
    }
}

/// Measures what a shadow would have sent.
struct Beside<'a>(&'a mut Meter);

impl Host<Packet> for Beside<'_> {
    #[inline]
    fn sent(&mut self, sent: Sent<Packet>) {
        self.0.sent(sent.start.since(sent.arrived), u64::from(sent.packet.bytes));
    }
    fn dropped(&mut self, _: Time, _: Dropped<Packet>) {}
}

impl<P: Ports> Relay<P> {
    /// A relay of `paths`: for each a line or none, and its delays.
    ///
    /// # Errors
    /// If a line cannot be built.
    pub fn new(
        ports: P,
        paths: Vec<(Option<LineConfig>, Delays)>,
        pace: Pace,
        recorder: Option<Recorder>,
    ) -> Result<Self, ConfigError> {
        let mut log = 0;
        let mut room = pace.batch;
        let mut built = Vec::with_capacity(paths.len());
        for (config, delays) in paths {
            let number = log;
            let line = match config {
                Some(config) => {
                    log += 1;
                    room += most_on_the_way(&config, delays.longest());
                    let line = config.build()?;
                    Some((config, line))
                }
                None => {
                    room += 1 << 16;
                    None
                }
            };
            let (meter, shadows) = (Meter::new(), Vec::new());
            let course = Course::default();
            let behind = line.as_ref().and_then(|(config, _): &(LineConfig, Shaped)| config.wire());
            let lanes = line.as_ref().map(|(_, line)| meters(line)).unwrap_or_default();
            built.push(Path { line, delays, course, behind, log: number, number: 0, meter, lanes, shadows });
        }
        Ok(Relay {
            ports,
            paths: built,
            due: BinaryHeap::with_capacity(room.min(1 << 21)),
            order: 0,
            arrivals: Vec::with_capacity(pace.batch),
            pace,
            now: Time::ZERO,
            recorder,
            passed: Time::ZERO,
            pauses: 0,
        })
    }

    /// Sets the course of path `path`.
    pub fn follow(&mut self, path: usize, course: Course) {
        let Some(path) = self.paths.get_mut(path) else { return };
        if let Some((config, _)) = &path.line {
            // Room for what the constant path has not.
            let config = LineConfig { rate: course.fastest(config.rate), ..config.clone() };
            self.due.reserve(most_on_the_way(&config, course.longest(path.delays.longest())).min(1 << 21));
        }
        path.course = course;
    }

    /// Lets another configuration judge beside the one of path `path`.
    ///
    /// # Errors
    /// If it cannot be built.
    pub fn shadow(&mut self, path: usize, config: LineConfig) -> Result<(), ConfigError> {
        let line = config.build()?;
        if let Some(path) = self.paths.get_mut(path) {
            path.shadows.push(Shadow { config, line, meter: Meter::new() });
        }
        Ok(())
    }

    /// The paths.
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// The log, while it is written.
    pub fn recorder(&self) -> Option<&Recorder> {
        self.recorder.as_ref()
    }

    /// Ends the log before its time.
    pub fn end_log(&mut self, why: &'static str) {
        if let Some(recorder) = &mut self.recorder {
            recorder.end(why);
        }
    }

    /// Tells whether nothing waits and nothing is in transmission.
    pub fn idle(&self, now: Time) -> bool {
        let idle = |(_, line): &(LineConfig, Shaped)| line.queue().is_empty() && line.busy_until() <= now;
        self.paths.iter().filter_map(|path| path.line.as_ref()).all(idle)
    }

    /// Ends the log and begins another one in `to`, which replays without the one before it: what waits stays, and the
    /// algorithms restart, as after a reload. Nothing changes where no log is written.
    ///
    /// # Errors
    /// If a line cannot be built: then nothing has changed.
    pub fn next_log(&mut self, to: Box<dyn io::Write + Send>, now: Time) -> Result<(), ConfigError> {
        if self.recorder.as_ref().is_none_or(|recorder| recorder.ended().is_some()) {
            return Ok(());
        }
        let new = |path: &Path| path.line.as_ref().map(|(config, _)| config.queue()).transpose();
        let queues = self.paths.iter().map(new).collect::<Result<Vec<_>, _>>()?;
        let now = now.max(self.now);
        self.now = now;
        self.run(now);
        let (mut lines, mut entries) = (Vec::new(), Vec::new());
        for (path, queue) in self.paths.iter_mut().zip(queues) {
            let (Some((config, line)), Some(mut queue)) = (path.line.take(), queue) else { continue };
            let (before, link) = line.into_parts();
            let (mut waiting, counters) = before.into_parts();
            path.number = 0;
            for (_, packet) in &mut waiting {
                packet.number = path.number;
                path.number += 1;
            }
            let resumed = Resumed { link, waiting: waiting.clone() };
            entries.push(Entry { line: path.log, time: now, event: Event::Resumed(Box::new(resumed)) });
            lines.push(config.clone());
            queue.take_over(now, waiting, counters);
            let line = Line::resume(queue, config.rate, link, now);
            path.lanes = meters(&line);
            path.behind = config.wire();
            path.line = Some((config, line));
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.next(to, LogHeader::now(lines), &entries, now);
        }
        Ok(())
    }

    /// The packets that have been sent and are on their way.
    pub fn on_the_way(&self) -> usize {
        self.due.len()
    }

    /// One turn: takes in what waits, decides, and lets go what is due. `clock` is read once after the
    /// packets were taken in, and once before those that are due leave.
    ///
    /// # Errors
    /// If the ports are gone.
    pub fn turn(&mut self, mut clock: impl FnMut() -> Time) -> io::Result<Sleep> {
        self.ports.receive(self.pace.batch, &mut self.arrivals)?;
        let taken = self.arrivals.len();
        let now = clock().max(self.now);
        if now.since(self.now) > PAUSE && self.now > Time::ZERO {
            self.pauses += 1;
        }
        self.now = now;
        self.run(now);
        self.arrive(now);
        let now = clock().max(self.now);
        self.now = now;
        self.let_go(now);
        self.ports.flush()?;
        if now.since(self.passed) > CATCH_UP {
            self.passed = now;
            if let Some(recorder) = &mut self.recorder {
                recorder.pass();
            }
        }
        Ok(self.sleep(now, taken))
    }

    /// Departures and updates up to `now`.
    fn run(&mut self, now: Time) {
        for index in 0..self.paths.len() {
            self.change(index, now);
            self.with(index, |line, listener| line.run(now, listener));
            for shadow in &mut self.paths[index].shadows {
                shadow.line.run(now, &mut Beside(&mut shadow.meter));
            }
        }
    }

    /// Makes the changes of a path's course up to `now`, each at its own time.
    #[inline]
    fn change(&mut self, index: usize, now: Time) {
        while self.paths[index].course.next() <= now {
            self.change_next(index);
        }
    }

    #[cold]
    fn change_next(&mut self, index: usize) {
        let Some((time, change)) = self.paths[index].course.take() else { return };
        match change {
            Change::Rate(rate) => {
                self.with(index, |line, listener| {
                    line.set_rate(time, rate, listener);
                    listener.log(time, Event::Rate(rate));
                });
                let path = &mut self.paths[index];
                if let Some((config, _)) = path.line.as_mut().filter(|_| rate.bps() > 0) {
                    config.rate = rate;
                }
                for shadow in &mut path.shadows {
                    shadow.line.set_rate(time, rate, &mut Beside(&mut shadow.meter));
                }
            }
            Change::Delay(number, delay) => {
                // What is sent before that has the delay before that.
                self.with(index, |line, listener| line.run_before(time, listener));
                let delays = &mut self.paths[index].delays;
                let number = usize::from(number);
                if delays.each.len() <= number {
                    delays.each.resize(number + 1, delays.others);
                }
                delays.each[number] = delay;
            }
            Change::Loss(p) => self.with(index, |line, listener| {
                line.run_before(time, listener);
                listener.behind.iter_mut().for_each(|behind| behind.set_loss(p));
                listener.log(time, Event::Loss(p));
            }),
            Change::Wire(delay) => self.with(index, |line, listener| {
                line.run_before(time, listener);
                listener.behind.iter_mut().for_each(|behind| behind.set_delay(delay));
                listener.log(time, Event::Delay(delay));
            }),
        }
    }

    /// Lets what was taken in arrive, each packet a nanosecond after the one before: one reading of the clock
    /// holds for all of them, and their order is part of the log.
    #[inline]
    fn arrive(&mut self, now: Time) {
        let mut arrivals = core::mem::take(&mut self.arrivals);
        let mut at = now;
        for (index, mut packet) in arrivals.drain(..) {
            let path = &mut self.paths[usize::from(index)];
            packet.number = path.number;
            path.number = path.number.wrapping_add(1);
            if path.line.is_none() {
                self.order += 1;
                let due = now + path.delays.of(&packet);
                path.meter.sent(Duration::ZERO, u64::from(packet.bytes));
                self.due.push(Reverse(Due { due, order: self.order, path: index, packet, copied: false }));
                continue;
            }
            self.change(usize::from(index), at);
            let path = &mut self.paths[usize::from(index)];
            for shadow in &mut path.shadows {
                let _: Admission = shadow.line.arrive(at, packet, &mut Beside(&mut shadow.meter));
            }
            self.with(usize::from(index), |line, listener| {
                let mut admitted = Admitted { packet: &packet, listener };
                let _: Admission = line.arrive(at, packet, &mut admitted);
            });
            at += Duration::from_nanos(1);
        }
        self.arrivals = arrivals;
        self.now = self.now.max(at);
    }

    /// Calls `f` with a path's line and what hears of it.
    #[inline]
    fn with(&mut self, index: usize, f: impl FnOnce(&mut Shaped, &mut Listener<'_, P>)) {
        let Path { line, delays, behind, log, meter, lanes, .. } = &mut self.paths[index];
        let Some((_, line)) = line else { return };
        let mut listener = Listener {
            ports: &mut self.ports,
            path: index as u8,
            log: *log,
            delays,
            behind,
            due: &mut self.due,
            order: &mut self.order,
            recorder: &mut self.recorder,
            meter,
            lanes,
        };
        f(line, &mut listener);
    }

    /// Lets go what has come to the end of its way.
    #[inline]
    fn let_go(&mut self, now: Time) {
        while let Some(Reverse(first)) = self.due.peek()
            && first.due <= now
        {
            let Some(Reverse(Due { due, path, packet, copied, .. })) = self.due.pop() else { break };
            self.paths[usize::from(path)].meter.late(now.since(due));
            if copied {
                self.ports.copy(path, &packet);
            }
            self.ports.forward(path, &packet);
        }
    }

    /// Returns how long the loop may sleep.
    fn sleep(&self, now: Time, taken: usize) -> Sleep {
        if taken >= self.pace.batch {
            return Sleep::None;
        }
        let mut next = self.due.peek().map(|Reverse(first)| first.due);
        let mut fast = false;
        for path in &self.paths {
            let Some((config, line)) = &path.line else { continue };
            let departure = line.next_departure();
            // A line that has stopped goes on with a change.
            let change = Some(path.course.next()).filter(|time| *time < Time::MAX);
            next = [next, departure, line.next(), change].into_iter().flatten().min();
            // Where there are tokens to wait for, the link is idle meanwhile.
            let served = config.shaper.is_some() || config.classes.is_some();
            let (busy, rate) = match served {
                true => (departure.is_some(), config.capacity()),
                false => (line.busy_until() > now, config.rate),
            };
            fast |= busy && rate.transmission_time(config.mean_packet) < self.pace.slow;
        }
        let until = next.map_or(LONGEST_SLEEP, |next| {
            if next <= now { Duration::ZERO } else { next.since(now).min(LONGEST_SLEEP) }
        });
        match (fast, until) {
            (true, until) => Sleep::Tick(until.max(self.pace.tick)),
            (false, Duration::ZERO) => Sleep::None,
            (false, until) => Sleep::Input(until),
        }
    }

    /// Gives path `path` another configuration; what waits stays.
    ///
    /// It holds from the first nanosecond after the last turn on. All that was due until then has been done, and a log
    /// that says that a packet left and the configuration changed at one time would not say in which order: within an
    /// instant a change comes first, as [`Line::set_rate`] has it.
    ///
    /// # Errors
    /// If it cannot be built: then nothing has changed.
    pub fn reconfigure(&mut self, path: usize, config: LineConfig, now: Time) -> Result<(), ConfigError> {
        let queue = config.queue()?;
        let shadows = self.paths.get(path).map_or(&[][..], |path| &path.shadows);
        // Their algorithms stay; what is the link's is the same for all.
        let beside = |shadow: &Shadow| LineConfig { aqm: shadow.config.aqm.clone(), ..config.clone() };
        let beside: Vec<_> =
            shadows.iter().map(beside).map(|c| c.queue().map(|q| (c, q))).collect::<Result<_, _>>()?;
        let now = now.max(self.now + Duration::from_nanos(1));
        self.now = now;
        let (rate, new) = (config.rate, config.clone());
        self.with(path, |line, listener| {
            line.set_rate(now, rate, listener);
            line.reconfigure(now, queue, listener);
            listener.log(now, Event::Reconfigured(Box::new(new)));
        });
        let Some(path) = self.paths.get_mut(path) else { return Ok(()) };
        for (shadow, (config, queue)) in path.shadows.iter_mut().zip(beside) {
            shadow.line.set_rate(now, rate, &mut Beside(&mut shadow.meter));
            shadow.line.reconfigure(now, queue, &mut Beside(&mut shadow.meter));
            shadow.config = config;
        }
        if let Path { line: Some((old, line)), lanes, .. } = path {
            *old = config;
            *lanes = meters(line);
        }
        Ok(())
    }

    /// Lets everything go that waits or is on its way, at once, and closes the log; what became of the log is the
    /// last of what it gives.
    ///
    /// # Errors
    /// If the ports are gone.
    pub fn close(mut self, now: Time) -> io::Result<(P, Vec<Path>, io::Result<()>)> {
        let now = now.max(self.now);
        self.run(now);
        while let Some(Reverse(Due { path, packet, copied, .. })) = self.due.pop() {
            if copied {
                self.ports.copy(path, &packet);
            }
            self.ports.forward(path, &packet);
        }
        for (index, path) in self.paths.iter_mut().enumerate() {
            let Some((_, line)) = path.line.take() else { continue };
            path.meter.counters = line.counters();
            for (_, packet) in line.into_queue().into_parts().0 {
                self.ports.forward(index as u8, &packet);
            }
        }
        self.ports.flush()?;
        // Which may wait for a disk.
        let log = self.recorder.take().map_or(Ok(()), |recorder| recorder.close(now));
        Ok((self.ports, self.paths, log))
    }
}

/// Writes the arrival down before what follows from it.
struct Admitted<'a, 'b, P> {
    packet: &'a Packet,
    listener: &'a mut Listener<'b, P>,
}

impl<P: Ports> Host<Packet> for Admitted<'_, '_, P> {
    #[inline]
    fn arrived(&mut self, now: Time, _: usize, admission: Admission) {
        if self.listener.recorder.is_some() {
            self.listener.log(now, Event::Arrived { packet: *self.packet, admission });
        }
    }
    #[inline]
    fn sent(&mut self, sent: Sent<Packet>) {
        self.listener.sent(sent);
    }
    #[inline]
    fn dropped(&mut self, now: Time, dropped: Dropped<Packet>) {
        self.listener.dropped(now, dropped);
    }
}

impl Path {
    /// Its configuration, if it has a line.
    pub fn config(&self) -> Option<&LineConfig> {
        self.line.as_ref().map(|(config, _)| config)
    }

    /// Its line.
    pub fn line(&self) -> Option<&Shaped> {
        self.line.as_ref().map(|(_, line)| line)
    }

    /// The measurements of each lane that has a name, since its configuration.
    pub fn lanes(&self) -> &[Meter] {
        &self.lanes
    }

    /// The algorithms that judge beside it.
    pub fn shadows(&self) -> &[Shadow] {
        &self.shadows
    }
}

impl Shadow {
    /// Its line.
    pub fn line(&self) -> &Shaped {
        &self.line
    }
}

/// One for each lane that has a name.
fn meters(line: &Shaped) -> Vec<Meter> {
    (0..line.queue().lane_count()).map(|_| Meter::new()).collect()
}

/// The most packets that a line and the delay after it can hold together, if none is smaller than 64 bytes on
/// average over the delay.
fn most_on_the_way(config: &LineConfig, delay: Duration) -> usize {
    let delay = delay + config.behind.as_ref().map_or(Duration::ZERO, BehindConfig::latest);
    let packets = config.rate.bytes_per_sec() * delay.as_secs_f64() / 64.0;
    (packets as usize).saturating_add(2)
}
