//! What the C interface adds to a decision: the same traffic through the functions for C and through Rust's queue,
//! compiled for its algorithm as well, or as a program has it that leaves the algorithm to a configuration.
//!
//! ```sh
//! cargo run --release -p quell-capi --example cost                # nanoseconds: medians of 400 rounds
//! valgrind --tool=callgrind target/release/examples/cost c codel # instructions, 10 000 000 decisions; also typed, rust
//! ```

// The functions measured are those of C.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::hint::black_box;
use std::time::{Duration, Instant};

use quell::*;
use quell_aqm::catalog::Visitor;
use quell_aqm::{Aqm, Discipline, Link, Seed};
use quell_queue::{Dequeued, DropPoint, Fifo, Limit, Parallel, Qdisc};
use quell_units::{BitRate, Bytes, QueueSize, Time};

/// Rounds of passes, one way after the other.
const ROUNDS: usize = 400;
/// Arrivals of a pass, which takes less time than a processor is given for: most passes are not interrupted.
const SHORT: u64 = 10_000;
/// For those who count instructions: creation does not count.
const LONG: u64 = 5_000_000;

unsafe extern "C" fn dropped(user: *mut c_void, _: u64, _: i32) {
    unsafe { *user.cast::<u64>() += 1 };
}

fn config(name: &str) -> String {
    format!("rate = \"100 Mbit/s\"\nbuffer = \"1000 packets\"\necn = true\n[aqm]\nalgorithm = \"{name}\"\n")
}

/// Arrivals 1 us apart, a departure after each: a queue of 50 packets.
fn packet(number: u64) -> (u64, QuellPacket) {
    let flow = (number * 7 % 64) as u32;
    (1_000_000 + number * 1_000, QuellPacket { bytes: 1000, flow, ecn: 2, protocol: 6, dscp: 0, syn: 0 })
}

/// How long all decisions took, and what was decided.
type Pass = (Duration, u64);

type Way = fn(&str, u64) -> Pass;

fn rust(name: &str, arrivals: u64) -> Pass {
    drive(Config::read(&config(name)).unwrap().build(Time::ZERO).unwrap(), arrivals)
}

fn typed(name: &str, arrivals: u64) -> Pass {
    let (rate, buffer) = (BitRate::from_bps(100_000_000), QueueSize::Packets(1000.0));
    let link = Link { rate, buffer, mean_packet: Bytes::new(1000) };
    Config::read(&config(name)).unwrap().aqm.build(&link).unwrap().visit(Typed { link, arrivals })
}

/// Drives the queue that an algorithm needs, whose type the compiler knows.
struct Typed {
    link: Link,
    arrivals: u64,
}

impl Visitor for Typed {
    type Output = Pass;

    fn visit<A: Aqm + 'static>(self, aqm: A) -> Pass {
        let Link { rate, buffer, .. } = self.link;
        let rng = Seed(1).indexed_stream("link.aqm", 0);
        let mut queue = Fifo::new(aqm, rng, Limit::of(buffer), true, Some(rate));
        queue.reserve(1000);
        drive(queue, self.arrivals)
    }

    fn visit_discipline<D: Discipline + 'static>(self, discipline: D) -> Pass {
        let Link { rate, buffer, .. } = self.link;
        let rng = Seed(1).indexed_stream("link.aqm", 0);
        let mut queue = Parallel::new(discipline, rng, Limit::of(buffer), true, Some(rate));
        queue.reserve(1000);
        drive(queue, self.arrivals)
    }
}

fn drive<Q: Qdisc<Packet = Handle>>(mut queue: Q, arrivals: u64) -> Pass {
    queue.idle(Time::ZERO);
    let (mut gone, mut kept) = (0u64, 0u64);
    let begin = Instant::now();
    for number in 0..arrivals {
        let (now, packet) = packet(number);
        let now = Time::from_nanos(now);
        let handle = Handle::new(number, black_box(&packet), 20).unwrap();
        let admission = queue.enqueue(now, handle, &mut |d| gone += u64::from(d.place != DropPoint::Arrival));
        let _ = black_box(admission);
        if number >= 50 {
            match queue.dequeue(now, &mut |_| gone += 1) {
                Dequeued::Packet(packet, _) => kept += black_box(packet.handle) & 1,
                Dequeued::NotBefore(_) => {}
                Dequeued::Nothing => queue.idle(now),
            }
        }
    }
    (begin.elapsed(), gone + kept)
}

fn c(name: &str, arrivals: u64) -> Pass {
    let (text, mut gone, mut kept) = (config(name), 0u64, 0u64);
    let mut queue = std::ptr::null_mut();
    unsafe {
        let user = (&raw mut gone).cast();
        let made = quell_create(
            text.as_ptr().cast(),
            text.len(),
            0,
            Some(dropped),
            user,
            &mut queue,
            std::ptr::null_mut(),
            0,
        );
        assert_eq!(made, QUELL_OK);
        let begin = Instant::now();
        for number in 0..arrivals {
            let (now, packet) = packet(number);
            black_box(quell_enqueue(queue, now, number, black_box(&packet)));
            if number >= 50 {
                let mut sent = QuellSent::default();
                if quell_dequeue(queue, now, &mut sent) == QUELL_SENT {
                    kept += black_box(sent.handle) & 1;
                }
            }
        }
        let (time, gone) = (begin.elapsed(), gone);
        quell_destroy(queue);
        (time, gone + kept)
    }
}

/// The quartiles.
fn quartiles(mut all: Vec<f64>) -> [f64; 3] {
    all.sort_by(f64::total_cmp);
    [1, 2, 3].map(|quarter| all[quarter * (all.len() - 1) / 4])
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let ways: [(&str, Way); 3] = [("c", c), ("typed", typed), ("rust", rust)];
    if let [way, name] = args.as_slice() {
        let (_, way) = ways.iter().find(|(other, _)| other == way).expect("a way: c, typed or rust");
        black_box(way(name, LONG));
        return;
    }
    println!(
        "nanoseconds a decision: C; Rust, compiled for the algorithm; Rust, configured; C less each (quartiles)"
    );
    for name in ["drop-tail", "red", "codel", "pie", "pi", "red+tail", "fq-codel", "dualpi2", "cake"] {
        for (_, way) in &ways[1..] {
            assert_eq!(way(name, SHORT).1, c(name, SHORT).1, "{name}");
        }
        let mut passes = [[0.0; 3]; ROUNDS];
        for (number, pass) in passes.iter_mut().enumerate() {
            // Each way is the first of every third round.
            for i in 0..3 {
                let i = (i + number) % 3;
                // An arrival and a departure each.
                pass[i] = ways[i].1(name, SHORT).0.as_secs_f64() * 1e9 / (2 * SHORT) as f64;
            }
        }
        let middle = |of: fn(&[f64; 3]) -> f64| quartiles(passes.iter().map(of).collect());
        let [c, typed, rust] = [middle(|p| p[0])[1], middle(|p| p[1])[1], middle(|p| p[2])[1]];
        let less = |[low, more, high]: [f64; 3]| format!("{more:6.2} ({low:.2} to {high:.2})");
        let (over, beside) = (less(middle(|p| p[0] - p[1])), less(middle(|p| p[0] - p[2])));
        println!("{name:<10} {c:6.2} {typed:6.2} {rust:6.2}  {over}  {beside}");
    }
}
