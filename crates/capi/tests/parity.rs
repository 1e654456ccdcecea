//! C and Rust decide alike, for every algorithm of the catalog, and nothing allocates after creation.

// The functions under test are those of C.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::{Cell, RefCell};
use std::ffi::{CStr, c_char, c_void};

use quell::*;
use quell_aqm::catalog::CATALOG;
use quell_aqm::{Probe, Rng, Seed};
use quell_queue::{Admission, Dequeued, DropPoint, Qdisc};
use quell_units::Time;

thread_local! { static ALLOCATIONS: Cell<u64> = const { Cell::new(0) }; }

struct Counting;

// SAFETY: it only counts, and hands everything to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! { static DROPPED: RefCell<Vec<(u64, i32)>> = RefCell::new(Vec::with_capacity(1 << 17)); }

unsafe extern "C" fn dropped(_: *mut c_void, handle: u64, cause: i32) {
    DROPPED.with_borrow_mut(|all| all.push((handle, cause)));
}

unsafe extern "C" fn signal(user: *mut c_void, name: *const c_char, unit: *const c_char, value: f64) {
    let all = unsafe { &mut *user.cast::<Vec<(String, String, f64)>>() };
    let text = |t| unsafe { CStr::from_ptr(t) }.to_str().unwrap().to_string();
    all.push((text(name), text(unit), value));
}

#[derive(Default)]
struct Signals(Vec<(String, String, f64)>);

impl Probe for Signals {
    fn value(&mut self, name: &'static str, unit: &'static str, x: f64) {
        self.0.push((name.into(), unit.into(), x));
    }
}

fn create(config: &str, now: u64) -> Result<*mut QuellQueue, (i32, String)> {
    let (mut queue, mut why) = (std::ptr::null_mut(), [0 as c_char; 400]);
    let code = unsafe {
        quell_create(
            config.as_ptr().cast(),
            config.len(),
            now,
            Some(dropped),
            std::ptr::null_mut(),
            &mut queue,
            why.as_mut_ptr(),
            why.len(),
        )
    };
    match code {
        QUELL_OK => Ok(queue),
        code => {
            assert!(queue.is_null());
            let why = unsafe { CStr::from_ptr(why.as_ptr()) };
            Err((code, why.to_str().unwrap().to_string()))
        }
    }
}

fn config(name: &str, buffer: &str, ecn: bool) -> String {
    format!(
        "rate = \"10 Mbit/s\"\nbuffer = \"{buffer}\"\nmean_packet = \"770 B\"\nsmallest_packet = \"40 B\"\n\
         ecn = {ecn}\nseed = 11\n[aqm]\nalgorithm = \"{name}\"\n"
    )
}

fn packet(rng: &mut Rng) -> QuellPacket {
    let x = rng.next_u64();
    QuellPacket {
        bytes: 40 + (x >> 40) as u32 % 1461,
        flow: x as u32 % 30,
        ecn: (x >> 8) as u8 & 3,
        protocol: [6, 17, 1][(x >> 16) as usize % 3],
        dscp: (x >> 32) as u8 & 63,
        syn: u8::from(x >> 20 & 31 == 0),
    }
}

/// Random arrivals at 1.3 times the rate, or at half of it, by turns; departures as the link takes them.
#[test]
fn c_and_rust_decide_alike_and_nothing_allocates() {
    let mut decisions = 0u64;
    for entry in CATALOG {
        for (run, (buffer, ecn)) in
            [("60 packets", true), ("60 packets", false), ("46.2 kB", true)].into_iter().enumerate()
        {
            let begin = 1_000_000_000_000;
            let text = config(entry.name, buffer, ecn);
            let theirs = create(&text, begin).unwrap_or_else(|e| panic!("{}: {e:?}", entry.name));
            let mut own = Config::read(&text).unwrap().build(Time::from_nanos(begin)).unwrap();
            let mut rng = Seed(run as u64).stream(entry.name);
            let (mut now, mut free, mut signaled) = (begin, begin, 0);
            let (mut sent, mut lost) = (Vec::new(), Vec::with_capacity(1 << 12));
            DROPPED.with_borrow_mut(Vec::clear);
            for number in 0..20_000u64 {
                let load = if number / 4_000 % 2 == 0 { 1.3 } else { 0.5 };
                now += rng.exponential(616_000.0 / load) as u64;
                while free <= now {
                    let mut got = QuellSent::default();
                    let before = ALLOCATIONS.get();
                    let code = unsafe { quell_dequeue(theirs, free, &mut got) };
                    assert_eq!(ALLOCATIONS.get(), before, "{}: a departure allocates", entry.name);
                    let at = Time::from_nanos(free);
                    let mut gone = |d: quell_queue::Dropped<Handle>| lost.push(d.packet.handle);
                    match own.dequeue(at, &mut gone) {
                        Dequeued::Packet(packet, arrived) => {
                            assert_eq!(code, QUELL_SENT);
                            assert_eq!((got.handle, got.arrived), (packet.handle, arrived.nanos()));
                            let size = quell_queue::Packet::bytes(&packet).get();
                            free += size * 800;
                            sent.push((packet.handle, got.marked));
                        }
                        Dequeued::NotBefore(time) => {
                            assert_eq!((code, got.not_before), (QUELL_WAIT, time.nanos()));
                            free = time.nanos();
                        }
                        Dequeued::Nothing => {
                            assert_eq!(code, QUELL_EMPTY);
                            own.idle(at);
                            free = u64::MAX;
                        }
                    }
                    decisions += 1;
                }
                let packet = packet(&mut rng);
                let handle = Handle::new(number, &packet, 40).unwrap();
                let before = ALLOCATIONS.get();
                let code = unsafe { quell_enqueue(theirs, now, number, &packet) };
                assert_eq!(ALLOCATIONS.get(), before, "{}: an arrival allocates", entry.name);
                let admission = own.enqueue(Time::from_nanos(now), handle, &mut |d| {
                    if d.place != DropPoint::Arrival {
                        lost.push(d.packet.handle);
                    }
                });
                let want = match admission {
                    Admission::Queued => QUELL_QUEUED,
                    Admission::Marked => QUELL_MARKED,
                    Admission::Dropped(_) => QUELL_DROPPED,
                };
                assert_eq!(code, want, "{}: arrival {number}", entry.name);
                signaled += u64::from(code != QUELL_QUEUED);
                decisions += 1;
                if code != QUELL_DROPPED && free == u64::MAX {
                    free = now;
                }
                let due = own.next_update().map_or(QUELL_NEVER, |t| t.nanos());
                assert_eq!(unsafe { quell_next_update(theirs) }, due);
            }
            let gone: Vec<u64> = DROPPED.with_borrow(|all| all.iter().map(|(handle, _)| *handle).collect());
            assert_eq!(gone, lost, "{}", entry.name);
            assert!(signaled + gone.len() as u64 > 100, "{}: nothing was decided", entry.name);
            let (mut counters, mut waiting) = (QuellCounters::default(), QuellTally::default());
            let mut signals: Vec<(String, String, f64)> = Vec::new();
            unsafe {
                assert_eq!(quell_count(theirs, &mut counters), QUELL_OK);
                assert_eq!(quell_waiting(theirs, &mut waiting), QUELL_OK);
                assert_eq!(quell_observe(theirs, Some(signal), (&raw mut signals).cast()), QUELL_OK);
            }
            let mut expected = Signals::default();
            own.observe(&mut expected);
            assert_eq!(signals, expected.0);
            assert_eq!(counters.arrived.packets, 20_000);
            assert_eq!(counters.departed.packets, sent.len() as u64);
            let refused = counters.refused_early.packets
                + counters.refused_forced.packets
                + counters.refused_overflow.packets;
            assert_eq!(counters.arrived.packets, counters.enqueued.packets + refused);
            let dropped = counters.dropped_early.packets
                + counters.dropped_forced.packets
                + counters.dropped_overflow.packets;
            assert_eq!(dropped, gone.len() as u64);
            assert_eq!(counters.enqueued.packets, counters.departed.packets + dropped + waiting.packets);
            let marked = sent.iter().filter(|(_, marked)| *marked == 1).count() as u64;
            assert!(ecn || marked == 0);
            // What is marked on arrival may wait, or be dropped later.
            let not_sent = waiting.packets + dropped;
            assert!(marked <= counters.marked.packets && counters.marked.packets <= marked + not_sent);
            DROPPED.with_borrow_mut(Vec::clear);
            unsafe { quell_destroy(theirs) };
            let given_back = DROPPED.with_borrow(|all| {
                all.iter().filter(|(_, cause)| *cause == QUELL_CAUSE_DESTROYED).count() as u64
            });
            assert_eq!(given_back, waiting.packets, "what waits is given back");
        }
    }
    println!("{decisions} decisions of {} algorithms compared", CATALOG.len());
}

#[test]
fn a_configuration_that_breaks_a_rule_is_refused_in_words() {
    let refused = |text: &str| create(text, 0).expect_err(text).1;
    let json = r#"{"rate": "10 Mbit/s", "buffer": "100 packets", "aqm": {"algorithm": "codel"}}"#;
    unsafe { quell_destroy(create(json, 0).unwrap()) };
    for (from, to, says) in [
        ("10 Mbit/s", "10", "rate = \"10\": not a rate with its unit"),
        ("10 Mbit/s", "10mbit", "rate = \"10mbit\": not a rate with its unit"),
        ("\"10 Mbit/s\"", "10", "rate = 10: must be a rate with its unit, such as \"10 Mbit/s\""),
        ("10 Mbit/s", "1 bit/s", "rate = 1 bit/s: must be 1 kbit/s"),
        ("100 packets", "0 packets", "buffer = 0 packets: must hold"),
        ("100 packets", "99999999999 packets", "buffer"),
        ("100 packets", "-5 packets", "buffer = \"-5 packets\": out of range"),
        ("\"buffer\"", "\"ecn\": 1, \"buffer\"", "ecn = 1: must be true or false"),
        ("\"buffer\"", "\"seed\": -1, \"buffer\"", "seed = -1: must be a whole number of at least 0"),
        (
            "codel",
            "codle",
            "aqm.algorithm = \"codle\": unknown algorithm; did you mean \"codel\"? Known: drop-tail, ",
        ),
        (
            "codel",
            "fq_codel target 5ms",
            "aqm.algorithm = \"fq_codel target 5ms\": a line of tc's; write algorithm = \"fq-codel\", rules = \"linux\", arithmetic = \"linux\", and in the link's table buffer = \"10240 packets\", ecn = true; ",
        ),
        ("{\"algorithm\": \"codel\"}", "7", "aqm = 7: must be a table with the name of an algorithm"),
        ("\"algorithm\": \"codel\"", "", "aqm.algorithm: is missing: a name, such as \"codel\""),
        ("\"codel\"", "\"codel\", \"target\": \"0 s\"", "aqm.target = 0 s: must be longer"),
        ("\"codel\"", "\"codel\", \"target\": \"5\"", "aqm.target = \"5\": not a time with its unit"),
        ("\"codel\"", "\"codel\", \"target\": 5", "aqm.target = 5: must be text, a quantity with its unit"),
        (
            "\"codel\"",
            "\"codel\", \"targt\": \"1 ms\"",
            "aqm.targt: unknown key; did you mean \"target\"? Known keys: target, ",
        ),
        ("\"codel\"", "\"codel\", \"limit\": 9", "aqm.limit: a property of the link, not of the algorithm"),
        ("\"rate\"", "\"ratte\"", "ratte: unknown key; did you mean \"rate\"? Known keys: rate, buffer, "),
        ("}}", "}", "EOF"),
    ] {
        let why = refused(&json.replace(from, to));
        assert!(why.starts_with(says) || says == "EOF" && why.contains(says), "{to}: {why}");
    }
    // A name alone is an algorithm with its defaults, and TOML says the same.
    let toml = "rate = \"10 Mbit/s\"\nbuffer = \"100 packets\"\naqm = \"codel\"\n";
    assert_eq!(Config::read(toml), Config::read(json));
    assert!(
        refused(&toml.replace("rate", "ratte")).starts_with("ratte: unknown key; did you mean \"rate\"?")
    );
    assert!(refused("").starts_with("rate: is missing: a rate with its unit, such as \"10 Mbit/s\""));
    assert!(refused("rate = ").contains("line 1"));
}

#[test]
fn wrong_arguments_give_codes_and_change_nothing() {
    let text = config("red", "60 packets", true);
    let good = QuellPacket { bytes: 1000, flow: 1, ecn: 0, protocol: 6, dscp: 0, syn: 0 };
    let mut sent = QuellSent::default();
    let null = std::ptr::null_mut();
    unsafe {
        let create = |config: *const c_char, length, drop, to| {
            quell_create(config, length, 0, drop, std::ptr::null_mut(), to, std::ptr::null_mut(), 0)
        };
        let mut queue = null;
        let at = text.as_ptr().cast::<c_char>();
        assert_eq!(create(std::ptr::null(), 5, Some(dropped), &mut queue), QUELL_ERROR_NULL);
        assert_eq!(create(at, text.len(), None, &mut queue), QUELL_ERROR_NULL);
        assert_eq!(create(at, text.len(), Some(dropped), std::ptr::null_mut()), QUELL_ERROR_NULL);
        assert_eq!(create(at, usize::MAX, Some(dropped), &mut queue), QUELL_ERROR_VALUE);
        assert_eq!(create(c"\xff".as_ptr(), 1, Some(dropped), &mut queue), QUELL_ERROR_CONFIG);
        assert_eq!(create(at, text.len(), Some(dropped), &mut queue), QUELL_OK);

        assert_eq!(quell_enqueue(null, 0, 0, &good), QUELL_ERROR_NULL);
        assert_eq!(quell_enqueue(queue, 0, 0, std::ptr::null()), QUELL_ERROR_NULL);
        assert_eq!(quell_dequeue(null, 0, &mut sent), QUELL_ERROR_NULL);
        assert_eq!(quell_dequeue(queue, 0, std::ptr::null_mut()), QUELL_ERROR_NULL);
        assert_eq!(quell_observe(queue, None, std::ptr::null_mut()), QUELL_ERROR_NULL);
        assert_eq!(quell_count(queue, std::ptr::null_mut()), QUELL_ERROR_NULL);
        assert_eq!(quell_waiting(null, std::ptr::null_mut()), QUELL_ERROR_NULL);
        assert_eq!(quell_update(null, 0), QUELL_ERROR_NULL);
        assert_eq!(quell_idle(null, 0), QUELL_ERROR_NULL);
        assert_eq!(quell_next_update(null), QUELL_NEVER);
        assert_eq!(quell_set_rate(queue, 0), QUELL_ERROR_VALUE);
        quell_destroy(null);
        for bad in [
            QuellPacket { bytes: 39, ..good },
            QuellPacket { bytes: 65_536, ..good },
            QuellPacket { ecn: 4, ..good },
            QuellPacket { dscp: 64, ..good },
            QuellPacket { syn: 2, ..good },
        ] {
            assert_eq!(quell_enqueue(queue, 0, 0, &bad), QUELL_ERROR_VALUE, "{bad:?}");
        }
        assert_eq!(quell_enqueue(queue, 1000, 7, &good), QUELL_QUEUED);
        assert_eq!(quell_enqueue(queue, 999, 8, &good), QUELL_ERROR_TIME);
        assert_eq!(quell_dequeue(queue, 999, &mut sent), QUELL_ERROR_TIME);
        assert_eq!(quell_dequeue(queue, 1000, &mut sent), QUELL_SENT);
        assert_eq!(sent.handle, 7);
        let mut counters = QuellCounters::default();
        assert_eq!(quell_count(queue, &mut counters), QUELL_OK);
        assert_eq!((counters.arrived.packets, counters.departed.packets), (1, 1));
        let largest = QuellPacket { bytes: 65_535, ecn: 3, dscp: 63, syn: 1, ..good };
        for packet in [QuellPacket { bytes: 40, ..good }, largest] {
            assert_eq!(quell_enqueue(queue, 1000, 8, &packet), QUELL_QUEUED, "{packet:?}");
        }
        quell_destroy(queue);
        for code in -7..3 {
            assert!(!CStr::from_ptr(quell_error(code)).to_bytes().is_empty());
        }
        assert_eq!(CStr::from_ptr(quell_version()).to_str().unwrap(), env!("CARGO_PKG_VERSION"));
    }
}

/// PI updates 160 times a second: a clock that jumps by centuries must not make up for all of that.
#[test]
fn a_clock_that_jumps_is_refused_and_may_be_walked_after() {
    let queue = create(&config("pi", "300 packets", true), 0).unwrap();
    let mut sent = QuellSent::default();
    const HOUR: u64 = 3_600_000_000_000;
    unsafe {
        assert_eq!(quell_dequeue(queue, u64::MAX, &mut sent), QUELL_ERROR_TIME);
        assert_eq!(quell_dequeue(queue, 3 * HOUR, &mut sent), QUELL_ERROR_TIME);
        // An hour after the update that is due is the limit, and is within.
        let due = quell_next_update(queue);
        assert_eq!(quell_update(queue, due + HOUR + 1), QUELL_ERROR_TIME);
        assert_eq!(quell_update(queue, due + HOUR), QUELL_OK);
        for hour in 2..=3 {
            assert_eq!(quell_update(queue, hour * HOUR), QUELL_OK);
        }
        assert_eq!(quell_dequeue(queue, 3 * HOUR, &mut sent), QUELL_EMPTY);
        quell_destroy(queue);
    }
}

#[test]
fn a_callback_that_calls_back_is_told_so() {
    thread_local! { static SEEN: Cell<i32> = const { Cell::new(0) }; }
    unsafe extern "C" fn again(user: *mut c_void, _: *const c_char, _: *const c_char, _: f64) {
        SEEN.set(unsafe { quell_update(user.cast(), 5) });
    }
    let queue = create(&config("red", "60 packets", true), 0).unwrap();
    unsafe {
        assert_eq!(quell_observe(queue, Some(again), queue.cast()), QUELL_OK);
        assert_eq!(SEEN.get(), QUELL_ERROR_BUSY);
        assert_eq!(quell_update(queue, 5), QUELL_OK);
        quell_destroy(queue);
    }
}
