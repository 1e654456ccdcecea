//! The fuzz target of the C interface: any configuration, and any sequence of calls, right and wrong ones.

// The functions under test are those of C.
#![allow(unsafe_code)]

mod line;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};

use arbitrary::Unstructured;
use quell::*;
use quell_queue::{Admission, Dequeued, DropPoint, Qdisc};
use quell_units::{BitRate, Time};

/// Bytes that begin as a configuration does are one; others spell one and the calls that follow. Each call gives what it
/// must: the decision of the same queue in Rust, or the error of what is wrong with it, and then nothing has changed.
pub fn capi(data: &[u8]) {
    match data {
        [b'{' | b'r' | b'#' | b'[', ..] => any_config(data),
        data => calls(&mut Unstructured::new(data)).unwrap_or_default(),
    }
}

/// What the callbacks see.
struct World {
    queue: Cell<*mut QuellQueue>,
    dropped: RefCell<Vec<(u64, i32)>>,
    /// Callbacks call the queue.
    reenters: Cell<bool>,
    signals: Cell<u32>,
}

impl World {
    fn new() -> World {
        World {
            queue: Cell::new(null_mut()),
            dropped: RefCell::new(Vec::new()),
            reenters: Cell::new(false),
            signals: Cell::new(0),
        }
    }

    fn user(&self) -> *mut c_void {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// Within a callback, each function of the queue is refused.
    fn reenter(&self) {
        let queue = self.queue.get();
        if queue.is_null() || !self.reenters.get() {
            return;
        }
        let packet = packet();
        let (mut sent, mut tally, mut counters) = Default::default();
        // SAFETY: the queue lives, and what the pointers point to as well.
        let codes = unsafe {
            [
                quell_enqueue(queue, 0, 0, &packet),
                quell_dequeue(queue, 0, &mut sent),
                quell_idle(queue, 0),
                quell_update(queue, u64::MAX),
                quell_set_rate(queue, 1),
                quell_waiting(queue, &mut tally),
                quell_count(queue, &mut counters),
                quell_observe(queue, Some(signal), self.user()),
            ]
        };
        assert_eq!(codes, [QUELL_ERROR_BUSY; 8]);
        // SAFETY: as above; it does not destroy the queue.
        unsafe {
            assert_eq!(quell_next_update(queue), QUELL_NEVER);
            quell_destroy(queue);
        }
    }
}

fn packet() -> QuellPacket {
    QuellPacket { bytes: 100, flow: 0, ecn: 0, protocol: 6, dscp: 0, syn: 0 }
}

unsafe extern "C" fn dropped(user: *mut c_void, handle: u64, cause: i32) {
    // SAFETY: it is the world that quell_create was given, which outlives the queue.
    let world = unsafe { &*user.cast::<World>() };
    world.dropped.borrow_mut().push((handle, cause));
    world.reenter();
}

unsafe extern "C" fn signal(user: *mut c_void, name: *const c_char, unit: *const c_char, _: f64) {
    // SAFETY: it is the world that quell_observe was given; the texts live until this returns.
    let (world, name, unit) = unsafe { (&*user.cast::<World>(), CStr::from_ptr(name), CStr::from_ptr(unit)) };
    assert!(!name.is_empty() && name.to_str().is_ok() && unit.to_str().is_ok());
    world.signals.set(world.signals.get() + 1);
    world.reenter();
}

/// Creates a queue; otherwise gives the text, which fills no more than `room` bytes.
fn create(config: &[u8], now: u64, world: &World, room: usize) -> Result<*mut QuellQueue, String> {
    let (mut queue, mut why) = (null_mut(), vec![0x7f as c_char; room + 1]);
    let (text, length) = (config.as_ptr().cast(), config.len());
    // SAFETY: all of it lives until the call ends, and the world until the queue does.
    let code = unsafe {
        quell_create(text, length, now, Some(dropped), world.user(), &mut queue, why.as_mut_ptr(), room)
    };
    assert_eq!(why[room], 0x7f, "it wrote beyond the end");
    if code == QUELL_OK {
        world.queue.set(queue);
        return Ok(queue);
    }
    assert_eq!((code, queue), (QUELL_ERROR_CONFIG, null_mut()), "{}", String::from_utf8_lossy(config));
    let end = why.iter().position(|c| *c == 0).unwrap_or(0);
    let why: Vec<u8> = why[..end].iter().map(|c| *c as u8).collect();
    Err(String::from_utf8(why).expect("it is cut between characters"))
}

fn any_config(config: &[u8]) {
    let world = World::new();
    let whole = match create(config, 7, &world, 4096) {
        Ok(queue) => {
            let text = std::str::from_utf8(config).expect("it was read");
            assert!(Config::read(text).is_ok_and(|config| config.build(Time::from_nanos(7)).is_ok()));
            let (packet, mut sent) = (packet(), QuellSent::default());
            // SAFETY: the queue was created.
            unsafe {
                let admission = quell_enqueue(queue, 8, 1, &packet);
                assert!(
                    (QUELL_QUEUED..=QUELL_DROPPED).contains(&admission) || admission == QUELL_ERROR_VALUE
                );
                assert!((QUELL_SENT..=QUELL_WAIT).contains(&quell_dequeue(queue, 9, &mut sent)));
                quell_destroy(queue);
            }
            return;
        }
        Err(whole) => whole,
    };
    assert!(!whole.is_empty());
    for room in [0, 1, whole.len() / 2, whole.len(), whole.len() + 1] {
        let cut = create(config, 7, &world, room).expect_err("it was refused before");
        assert!(whole.starts_with(&cut) && cut.len() + 4 >= whole.len().min(room), "{cut:?} of {whole:?}");
    }
}

/// The configuration in TOML: its scalars are those of JSON.
fn toml(line: &serde_json::Map<String, serde_json::Value>) -> String {
    let (mut text, mut tables) = (String::new(), String::new());
    for (key, value) in line {
        match value.as_object() {
            Some(table) => tables += &format!("[{key}]\n{}", toml(table)),
            None => text += &format!("{key} = {value}\n"),
        }
    }
    text + &tables
}

/// An hour, beyond which updates are not made up for.
const FURTHEST: u64 = 3_600_000_000_000;

fn calls(u: &mut Unstructured) -> arbitrary::Result<()> {
    let mut config = line::line(u)?;
    let [form, smallest, begin] = u.arbitrary::<[u8; 3]>()?;
    if form & 2 != 0 {
        config.insert("smallest_packet".to_string(), format!("{} B", smallest.max(1)).into());
    }
    let text = match form & 1 {
        0 => serde_json::to_string(&config).expect("it is JSON"),
        _ => toml(&config),
    };
    let begin = u64::from(begin) * 10_000_000_000_000_000;
    let world = World::new();
    let read = Config::read(&text).and_then(|config| Ok((config.build(Time::from_nanos(begin))?, config)));
    let queue = match (create(text.as_bytes(), begin, &world, 2000), read) {
        (Ok(queue), Ok((own, config))) => {
            Both { queue, own, config, world: &world, now: begin, waiting: BTreeSet::new() }
        }
        (Err(one), Err(two)) => {
            assert_eq!(one, two.to_string());
            return Ok(());
        }
        (one, two) => panic!("{text}: {one:?}, and {:?} in Rust", two.err()),
    };
    queue.calls(u)
}

/// A queue in C and the same in Rust.
struct Both<'a> {
    queue: *mut QuellQueue,
    own: Managed,
    config: Config,
    world: &'a World,
    /// The latest time that was accepted.
    now: u64,
    waiting: BTreeSet<u64>,
}

impl Both<'_> {
    fn calls(mut self, u: &mut Unstructured) -> arbitrary::Result<()> {
        let packet_time = self.config.rate.transmission_time(self.config.mean_packet).nanos();
        for number in 0..4_000 {
            if u.is_empty() {
                break;
            }
            let due = self.own.next_update().map(|due| due.nanos());
            let kind = u.arbitrary::<u8>()?;
            let now = match kind {
                0 => self.now.saturating_sub(1 + u64::from(u.arbitrary::<u16>()?)),
                // Too far, if updates are due.
                1 => self.now.saturating_add(2 * FURTHEST + u.arbitrary::<u64>()? / 8),
                2 => u64::MAX - 1,
                _ => self.now + line::gap(u, packet_time, due.map(|due| due.saturating_sub(self.now)))?,
            };
            // A time so late would leave none for what follows.
            let now = if due.is_none() { now.min(self.now.saturating_add(1 << 50)) } else { now };
            let behind = due.is_some_and(|due| now.saturating_sub(due) > FURTHEST);
            let late = now < self.now || now.saturating_sub(self.now) > FURTHEST && behind;
            self.world.reenters.set(kind & 1 == 1);
            match kind >> 2 {
                0 => self.wrong_calls(),
                1 => self.set_rate(u64::from(u.arbitrary::<u8>()?) * 100_000),
                2 => self.observe(),
                3 => self.advance(now, late, false),
                4 => self.advance(now, late, true),
                5..24 => self.dequeue(now, late),
                _ => self.enqueue(now, late, number, u)?,
            }
            self.check();
        }
        let rest: Vec<u64> = self.waiting.iter().copied().collect();
        self.world.queue.set(null_mut());
        // SAFETY: the queue is not used afterwards.
        unsafe { quell_destroy(self.queue) };
        let mut given_up: Vec<u64> = self
            .take_dropped()
            .into_iter()
            .map(|(handle, cause)| {
                assert_eq!(cause, QUELL_CAUSE_DESTROYED);
                handle
            })
            .collect();
        given_up.sort_unstable();
        assert_eq!(given_up, rest, "what waits is given back");
        Ok(())
    }

    fn take_dropped(&self) -> Vec<(u64, i32)> {
        self.world.dropped.take()
    }

    /// Packets that were stored are dropped, and those of Rust's queue as well.
    fn compare_dropped(&mut self, own: &[u64]) {
        let dropped = self.take_dropped();
        for (handle, cause) in &dropped {
            assert!((QUELL_CAUSE_EARLY..=QUELL_CAUSE_OVERFLOW).contains(cause));
            assert!(self.waiting.remove(handle), "{handle} did not wait");
        }
        assert!(dropped.iter().map(|(handle, _)| handle).eq(own), "{dropped:?}, {own:?} in Rust");
    }

    fn enqueue(&mut self, now: u64, late: bool, handle: u64, u: &mut Unstructured) -> arbitrary::Result<()> {
        let h = line::header(u)?;
        let mut packet = QuellPacket {
            bytes: h.bytes.into(),
            flow: h.flow,
            ecn: h.ecn,
            protocol: h.protocol,
            dscp: h.dscp,
            syn: h.syn.into(),
        };
        // One in 32 has a value that there is not.
        if h.bytes % 32 == 21 {
            match h.flow % 5 {
                0 => packet.ecn = 4 + h.dscp,
                1 => packet.dscp = 64 + h.dscp,
                2 => packet.syn = 2 + h.dscp,
                3 => packet.bytes = 65_536 << (h.dscp % 16),
                _ => packet.bytes = 0,
            }
        }
        let smallest = self.config.smallest_packet.get() as u32;
        let whole = (smallest..=65_535).contains(&packet.bytes)
            && packet.ecn < 4
            && packet.dscp < 64
            && packet.syn < 2;
        // SAFETY: the queue lives, and the packet.
        let code = unsafe { quell_enqueue(self.queue, now, handle, &packet) };
        if !whole || late {
            assert_eq!(code, if whole { QUELL_ERROR_TIME } else { QUELL_ERROR_VALUE }, "{packet:?} at {now}");
            return Ok(());
        }
        self.now = now;
        let own = Handle::new(handle, &packet, smallest).expect("it is whole");
        let mut gone = Vec::new();
        let admission = self.own.enqueue(Time::from_nanos(now), own, &mut |dropped| {
            if dropped.place != DropPoint::Arrival {
                gone.push(dropped.packet.handle);
            }
        });
        let expected = match admission {
            Admission::Queued => QUELL_QUEUED,
            Admission::Marked => QUELL_MARKED,
            Admission::Dropped(_) => QUELL_DROPPED,
        };
        assert_eq!(code, expected);
        if code != QUELL_DROPPED {
            self.waiting.insert(handle);
        }
        assert!(code != QUELL_MARKED || self.config.ecn && packet.ecn != 0);
        self.compare_dropped(&gone);
        Ok(())
    }

    fn dequeue(&mut self, now: u64, late: bool) {
        let mut sent = QuellSent::default();
        // SAFETY: the queue lives, and what is written to.
        let code = unsafe { quell_dequeue(self.queue, now, &mut sent) };
        if late {
            assert_eq!(code, QUELL_ERROR_TIME);
            return;
        }
        self.now = now;
        let mut gone = Vec::new();
        let at = Time::from_nanos(now);
        let given = self.own.dequeue(at, &mut |dropped| gone.push(dropped.packet.handle));
        self.compare_dropped(&gone);
        match given {
            Dequeued::Packet(packet, arrived) => {
                let own = (QUELL_SENT, packet.handle, arrived.nanos());
                assert_eq!((code, sent.handle, sent.arrived), own);
                assert!(self.waiting.remove(&sent.handle) && arrived <= at);
                assert!((0..=1).contains(&sent.marked) && (sent.marked == 0 || self.config.ecn));
            }
            Dequeued::NotBefore(time) => {
                assert_eq!((code, sent.not_before), (QUELL_WAIT, time.nanos()));
                assert!(time > at && !self.waiting.is_empty());
            }
            Dequeued::Nothing => {
                assert_eq!(code, QUELL_EMPTY);
                assert!(self.waiting.is_empty());
                self.own.idle(at);
            }
        }
    }

    fn advance(&mut self, now: u64, late: bool, idle: bool) {
        // SAFETY: the queue lives.
        let code = unsafe { if idle { quell_idle(self.queue, now) } else { quell_update(self.queue, now) } };
        assert_eq!(code, if late { QUELL_ERROR_TIME } else { QUELL_OK });
        if !late {
            self.now = now;
            self.own.advance(Time::from_nanos(now));
            if idle {
                self.own.idle(Time::from_nanos(now));
            }
            // SAFETY: the queue lives.
            let next = unsafe { quell_next_update(self.queue) };
            assert!(next > now);
        }
    }

    fn set_rate(&mut self, rate: u64) {
        // SAFETY: the queue lives.
        let code = unsafe { quell_set_rate(self.queue, rate) };
        assert_eq!(code, if rate == 0 { QUELL_ERROR_VALUE } else { QUELL_OK });
        if rate > 0 {
            self.own.set_rate(BitRate::from_bps(rate));
        }
    }

    fn observe(&self) {
        self.world.signals.set(0);
        // SAFETY: the queue lives, and the world.
        assert_eq!(unsafe { quell_observe(self.queue, Some(signal), self.world.user()) }, QUELL_OK);
    }

    /// Nulls are refused, and change nothing.
    fn wrong_calls(&self) {
        let (queue, packet, no) = (self.queue, packet(), null_mut());
        let mut sent = QuellSent::default();
        // SAFETY: nulls are allowed, and the rest lives.
        let codes = unsafe {
            [
                quell_enqueue(queue, self.now, 0, null()),
                quell_enqueue(no, self.now, 0, &packet),
                quell_dequeue(queue, self.now, null_mut()),
                quell_dequeue(no, self.now, &mut sent),
                quell_idle(no, self.now),
                quell_update(no, self.now),
                quell_set_rate(no, 1),
                quell_waiting(queue, null_mut()),
                quell_count(queue, null_mut()),
                quell_observe(queue, None, null_mut()),
            ]
        };
        assert_eq!(codes, [QUELL_ERROR_NULL; 10]);
        // SAFETY: as above.
        unsafe {
            assert_eq!(quell_next_update(no), QUELL_NEVER);
            quell_destroy(no);
        }
    }

    /// What is counted agrees with what happened, and with Rust's queue.
    fn check(&self) {
        let (mut waiting, mut n) = (QuellTally::default(), QuellCounters::default());
        // SAFETY: the queue lives, and what is written to.
        let (codes, next) = unsafe {
            let codes = [quell_waiting(self.queue, &mut waiting), quell_count(self.queue, &mut n)];
            (codes, quell_next_update(self.queue))
        };
        assert_eq!(codes, [QUELL_OK; 2]);
        assert_eq!(waiting.packets, self.waiting.len() as u64);
        let view = self.own.view();
        assert_eq!((waiting.packets, waiting.bytes), (view.packets.get().into(), view.bytes.get()));
        assert_eq!(next, self.own.next_update().map_or(QUELL_NEVER, |due| due.nanos()));
        for of in [|t: QuellTally| t.packets, |t: QuellTally| t.bytes] {
            let refused = of(n.refused_early) + of(n.refused_forced) + of(n.refused_overflow);
            let dropped = of(n.dropped_early) + of(n.dropped_forced) + of(n.dropped_overflow);
            assert_eq!(of(n.arrived), of(n.enqueued) + refused);
            assert_eq!(of(n.enqueued), of(n.departed) + dropped + of(waiting));
            assert!(of(n.marked) <= of(n.enqueued) && of(n.arrived_ce) <= of(n.arrived));
        }
    }
}
