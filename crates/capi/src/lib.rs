//! The queues of Quell for programs in C.
//!
//! The caller owns the packets: Quell keeps a 64-bit handle of each, which may be the pointer to a buffer,
//! and says in which order they leave and which are marked and dropped. There is one level, the queue that
//! [`quell_queue::Queue`] manages, for algorithms and for disciplines. A decision alone, about a FIFO of the
//! caller's, is not offered: what an algorithm is promised (every update at its own time, idleness once, an
//! overflow told) is what hosts get wrong, and with handles the queue costs the caller nothing that he would
//! not have to keep.
//!
//! Times are nanoseconds of any clock that does not go back. Nothing allocates after [`quell_create`], apart
//! from [`quell_destroy`]; no panic leaves a function; a queue is used by one thread at a time, and different
//! queues do not know of each other. `include/quell.h` is made from this file.
// Pointers of another language are what this crate is about; each function says what it requires of them.
#![allow(unsafe_code)]
#![deny(missing_docs)]

mod config;
mod face;
mod types;

use std::cell::{Cell, UnsafeCell};
use std::ffi::{c_char, c_void};
use std::mem::MaybeUninit;
use std::panic::{AssertUnwindSafe, catch_unwind};

pub use config::{Config, ConfigError, Managed};
use face::{Back, Face};
use quell_aqm::Probe;
use quell_units::{BitRate, Duration, Time};
pub use types::*;

/// The longest time that updates may be behind: they run one by one, and a wrong clock must not take the processor for a
/// day.
const FURTHEST: Duration = Duration::from_secs(3600);

/// A queue.
pub struct QuellQueue {
    state: Cell<State>,
    inner: UnsafeCell<Inner>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// It may be called.
    Ready,
    /// A function of this queue is under way: one that is called now was called by a callback.
    Busy,
    /// A panic ended one.
    Broken,
}

struct Inner {
    queue: Box<dyn Face>,
    /// The latest time that was said.
    now: u64,
    smallest: u32,
    on_drop: Back,
}

impl Inner {
    /// The time may come now: it does not go back, and what is due can be made up for.
    #[inline]
    fn advance_to(&mut self, now: u64) -> Result<Time, i32> {
        if now < self.now {
            return Err(QUELL_ERROR_TIME);
        }
        // No update that is due by the latest time is left, so only a call that is far behind it is asked about.
        if now - self.now > FURTHEST.nanos() && self.is_behind(now) {
            return Err(QUELL_ERROR_TIME);
        }
        self.now = now;
        Ok(Time::from_nanos(now))
    }

    #[cold]
    fn is_behind(&self, now: u64) -> bool {
        self.queue.next_update().is_some_and(|due| now.saturating_sub(due.nanos()) > FURTHEST.nanos())
    }
}

/// Runs one function on a queue, which no panic leaves.
///
/// # Safety
/// `queue` is null or came from quell_create, and no other thread uses it.
#[inline(always)]
unsafe fn with<R>(queue: *const QuellQueue, error: fn(i32) -> R, act: impl FnOnce(&mut Inner) -> R) -> R {
    // SAFETY: the caller's promise.
    let Some(queue) = (unsafe { queue.as_ref() }) else { return error(QUELL_ERROR_NULL) };
    match queue.state.get() {
        State::Ready => queue.state.set(State::Busy),
        State::Busy => return error(QUELL_ERROR_BUSY),
        State::Broken => return error(QUELL_ERROR_DEFECT),
    }
    // SAFETY: it was not busy, so there is no other reference.
    let inner = unsafe { &mut *queue.inner.get() };
    let (state, done) = match catch_unwind(AssertUnwindSafe(|| act(inner))) {
        Ok(done) => (State::Ready, done),
        Err(_) => (State::Broken, error(QUELL_ERROR_DEFECT)),
    };
    queue.state.set(state);
    done
}

#[inline]
fn code(error: i32) -> i32 {
    error
}

/// Writes `text` to `to`, cut to `size` and ended by a null.
///
/// # Safety
/// `to` is null or has room for `size` bytes.
unsafe fn write_text(text: &str, to: *mut c_char, size: usize) {
    if to.is_null() || size == 0 {
        return;
    }
    let mut length = text.len().min(size - 1);
    while !text.is_char_boundary(length) {
        length -= 1;
    }
    // SAFETY: length + 1 <= size, and Rust's text and the caller's room do not overlap.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast::<c_char>(), to, length);
        *to.add(length) = 0;
    }
}

/// Creates a queue, whose life begins at `now`.
///
/// `config` is TOML, or JSON if it begins with a brace, of `length` bytes: rate = "10 Mbit/s", buffer = "100
/// packets", and the table aqm with the key algorithm and its parameters as in a scenario (`quell aqm
/// describe NAME`). It may say mean_packet (1000 B), smallest_packet (20 B), ecn (false) and seed (1).
///
/// `on_drop` takes back packets that were stored and are dropped; `user` is its first argument.
///
/// Gives QUELL_OK and the queue in `*queue`, or an error and a null in `*queue`; what is wrong is then
/// written to `error`, of `error_size` bytes, unless that is null.
///
/// # Safety
/// `config` points to `length` bytes, `queue` to a pointer, `error` to `error_size` bytes or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_create(
    config: *const c_char,
    length: usize,
    now: u64,
    on_drop: QuellOnDrop,
    user: *mut c_void,
    queue: *mut *mut QuellQueue,
    error: *mut c_char,
    error_size: usize,
) -> i32 {
    // SAFETY: the caller's promises.
    unsafe {
        let refuse = |code: i32, why: &str| {
            write_text(why, error, error_size);
            code
        };
        if queue.is_null() {
            return refuse(QUELL_ERROR_NULL, "queue: is null");
        }
        *queue = std::ptr::null_mut();
        let Some(function) = on_drop else { return refuse(QUELL_ERROR_NULL, "on_drop: is null") };
        if config.is_null() {
            return refuse(QUELL_ERROR_NULL, "config: is null");
        }
        if length > isize::MAX as usize {
            return refuse(QUELL_ERROR_VALUE, "length: is more than memory has");
        }
        let text = std::slice::from_raw_parts(config.cast::<u8>(), length);
        let built = catch_unwind(|| {
            let text = std::str::from_utf8(text).map_err(|e| format!("config is not UTF-8: {e}"))?;
            let config = Config::read(text).map_err(|e| e.to_string())?;
            let queue = config.compiled(Time::from_nanos(now)).map_err(|e| e.to_string())?;
            Ok::<_, String>((config.smallest_packet.get() as u32, queue))
        });
        match built {
            Err(_) => refuse(QUELL_ERROR_DEFECT, "a defect of Quell"),
            Ok(Err(why)) => refuse(QUELL_ERROR_CONFIG, &why),
            Ok(Ok((smallest, made))) => {
                let inner = Inner { queue: made, now, smallest, on_drop: Back { function, user } };
                *queue = Box::into_raw(Box::new(QuellQueue {
                    state: Cell::new(State::Ready),
                    inner: UnsafeCell::new(inner),
                }));
                QUELL_OK
            }
        }
    }
}

/// Destroys a queue. Packets that wait are given to on_drop with QUELL_CAUSE_DESTROYED. A null is ignored.
///
/// # Safety
/// `queue` is null or came from quell_create, and is not used afterwards, nor by on_drop.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_destroy(queue: *mut QuellQueue) {
    // SAFETY: the caller's promises.
    if queue.is_null() || unsafe { (*queue).state.replace(State::Busy) } == State::Busy {
        return;
    }
    // SAFETY: it came from a box, and is not used afterwards.
    let Inner { queue, on_drop, .. } = unsafe { Box::from_raw(queue) }.inner.into_inner();
    let _ = catch_unwind(AssertUnwindSafe(|| queue.give_up(on_drop)));
}

/// A packet arrives at `now`, which the caller knows by `handle`.
///
/// Gives QUELL_QUEUED, QUELL_MARKED or QUELL_DROPPED, or an error, with which the packet is the caller's.
/// Packets that make room for it are given to on_drop.
///
/// # Safety
/// `queue` came from quell_create, `packet` points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_enqueue(
    queue: *mut QuellQueue,
    now: u64,
    handle: u64,
    packet: *const QuellPacket,
) -> i32 {
    // SAFETY: the caller's promises.
    unsafe {
        let Some(packet) = packet.as_ref() else { return QUELL_ERROR_NULL };
        with(queue, code, |inner| {
            let Some(packet) = Handle::new(handle, packet, inner.smallest) else { return QUELL_ERROR_VALUE };
            let now = match inner.advance_to(now) {
                Ok(now) => now,
                Err(error) => return error,
            };
            inner.queue.offer(now, packet, inner.on_drop)
        })
    }
}

/// The link is free at `now`: gives QUELL_SENT with the packet to send in `*sent`, QUELL_EMPTY or QUELL_WAIT,
/// or an error. Packets that the algorithm drops at the head are given to on_drop first. With QUELL_EMPTY the
/// link is idle from `now` on.
///
/// # Safety
/// `queue` came from quell_create, `sent` points to one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_dequeue(queue: *mut QuellQueue, now: u64, sent: *mut QuellSent) -> i32 {
    // SAFETY: the caller's promises.
    unsafe {
        if sent.is_null() {
            return QUELL_ERROR_NULL;
        }
        with(queue, code, |inner| {
            let now = match inner.advance_to(now) {
                Ok(now) => now,
                Err(error) => return error,
            };
            inner.queue.take(now, inner.on_drop, &mut *sent.cast::<MaybeUninit<QuellSent>>())
        })
    }
}

/// The last transmission ended at `since`, and nothing waits. quell_dequeue with QUELL_EMPTY says the same of
/// its own time; a caller that asks for packets before the last one has left says here when it has.
///
/// # Safety
/// `queue` came from quell_create.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_idle(queue: *mut QuellQueue, since: u64) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        with(queue, code, |inner| match inner.advance_to(since) {
            Ok(since) => {
                inner.queue.advance(since);
                inner.queue.idle(since);
                QUELL_OK
            }
            Err(error) => error,
        })
    }
}

/// Runs every update that is due at `now` or before. Arrivals and departures do so by themselves; a caller
/// with neither calls it once a second, so that no later call has much to make up for.
///
/// # Safety
/// `queue` came from quell_create.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_update(queue: *mut QuellQueue, now: u64) -> i32 {
    // SAFETY: the caller's promise.
    unsafe {
        with(queue, code, |inner| match inner.advance_to(now) {
            Ok(now) => {
                inner.queue.advance(now);
                QUELL_OK
            }
            Err(error) => error,
        })
    }
}

/// The time at which the algorithm's next update is due; QUELL_NEVER if it has none, and for a null.
///
/// # Safety
/// `queue` is null or came from quell_create.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_next_update(queue: *const QuellQueue) -> u64 {
    // SAFETY: the caller's promise.
    unsafe {
        with(queue, |_| QUELL_NEVER, |inner| inner.queue.next_update().map_or(QUELL_NEVER, |due| due.nanos()))
    }
}

/// The link's rate is `rate` bit/s from now on.
///
/// # Safety
/// `queue` came from quell_create.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_set_rate(queue: *mut QuellQueue, rate: u64) -> i32 {
    if rate == 0 {
        return QUELL_ERROR_VALUE;
    }
    // SAFETY: the caller's promise.
    unsafe {
        with(queue, code, |inner| {
            inner.queue.set_rate(BitRate::from_bps(rate));
            QUELL_OK
        })
    }
}

/// Tells what waits: packets and bytes.
///
/// # Safety
/// `queue` came from quell_create, `waiting` points to a tally.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_waiting(queue: *const QuellQueue, waiting: *mut QuellTally) -> i32 {
    // SAFETY: the caller's promises.
    unsafe {
        if waiting.is_null() {
            return QUELL_ERROR_NULL;
        }
        with(queue, code, |inner| {
            let view = inner.queue.view();
            *waiting = QuellTally { packets: u64::from(view.packets.get()), bytes: view.bytes.get() };
            QUELL_OK
        })
    }
}

/// Counts what happened at the queue so far.
///
/// # Safety
/// `queue` came from quell_create, `counters` points to some.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_count(queue: *const QuellQueue, counters: *mut QuellCounters) -> i32 {
    // SAFETY: the caller's promises.
    unsafe {
        if counters.is_null() {
            return QUELL_ERROR_NULL;
        }
        with(queue, code, |inner| {
            let all = inner.queue.counters();
            let tally = |t: quell_queue::Tally| QuellTally { packets: t.packets, bytes: t.bytes };
            *counters = QuellCounters {
                arrived: tally(all.arrived),
                arrived_ce: tally(all.arrived_ce),
                enqueued: tally(all.enqueued),
                departed: tally(all.departed),
                marked: tally(all.marked),
                refused_early: tally(all.refused.early),
                refused_forced: tally(all.refused.forced),
                refused_overflow: tally(all.refused.overflow),
                dropped_early: tally(all.dropped.early),
                dropped_forced: tally(all.dropped.forced),
                dropped_overflow: tally(all.dropped.overflow),
            };
            QUELL_OK
        })
    }
}

/// Hands the internal signals of the algorithm to `on_signal`, one after the other, with `user` as its first
/// argument.
///
/// # Safety
/// `queue` came from quell_create; `on_signal` takes `user`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn quell_observe(
    queue: *const QuellQueue,
    on_signal: QuellOnSignal,
    user: *mut c_void,
) -> i32 {
    struct Out {
        function: unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char, f64),
        user: *mut c_void,
    }
    impl Probe for Out {
        fn value(&mut self, name: &'static str, unit: &'static str, x: f64) {
            let (mut names, mut units) = ([0 as c_char; 64], [0 as c_char; 64]);
            // SAFETY: the arrays have the sizes given; the function takes `user`, as the caller said.
            unsafe {
                write_text(name, names.as_mut_ptr(), names.len());
                write_text(unit, units.as_mut_ptr(), units.len());
                (self.function)(self.user, names.as_ptr(), units.as_ptr(), x);
            }
        }
    }
    let Some(function) = on_signal else { return QUELL_ERROR_NULL };
    // SAFETY: the caller's promises.
    unsafe {
        with(queue, code, |inner| {
            inner.queue.observe(&mut Out { function, user });
            QUELL_OK
        })
    }
}

/// The meaning of a code in words. The text lives as long as the program.
#[unsafe(no_mangle)]
pub extern "C" fn quell_error(code: i32) -> *const c_char {
    match code {
        QUELL_ERROR_NULL => c"a pointer is null",
        QUELL_ERROR_VALUE => c"a value is outside its range",
        QUELL_ERROR_TIME => c"the time went back, or is more than an hour after an update that is due",
        QUELL_ERROR_CONFIG => c"the configuration breaks a rule",
        QUELL_ERROR_BUSY => c"a callback called a function of its own queue",
        QUELL_ERROR_DEFECT => c"a defect of Quell: the queue can only be destroyed",
        code if code >= 0 => c"no error",
        _ => c"unknown error",
    }
    .as_ptr()
}

/// Quell's version, such as "0.1.0". The text lives as long as the program.
#[unsafe(no_mangle)]
pub extern "C" fn quell_version() -> *const c_char {
    concat!(env!("CARGO_PKG_VERSION"), "\0").as_ptr().cast()
}
