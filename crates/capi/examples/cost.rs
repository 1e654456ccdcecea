//! What the C interface adds to a decision: the same traffic through Rust's queue and through the functions for C.
//!
//! ```sh
//! cargo run --release -p quell-capi --example cost             # nanoseconds, interleaved, the least of 15
//! valgrind --tool=none target/release/examples/cost rust codel # with --tool=lackey or callgrind: instructions
//! ```

// The functions measured are those of C.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::hint::black_box;
use std::time::Instant;

use quell::*;
use quell_queue::{Dequeued, Place, Qdisc};
use quell_units::Time;

const ARRIVALS: u64 = 200_000;
/// An arrival and a departure each.
const DECISIONS: f64 = 2.0 * ARRIVALS as f64;

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

fn rust(name: &str) -> u64 {
    let mut queue = Config::read(&config(name)).unwrap().build(Time::ZERO).unwrap();
    let (mut gone, mut kept) = (0u64, 0u64);
    for number in 0..ARRIVALS {
        let (now, packet) = packet(number);
        let now = Time::from_nanos(now);
        let handle = Handle::new(number, black_box(&packet), 20).unwrap();
        let admission = queue.enqueue(now, handle, &mut |d| gone += u64::from(d.place != Place::Arrival));
        let _ = black_box(admission);
        if number >= 50 {
            match queue.dequeue(now, &mut |_| gone += 1) {
                Dequeued::Packet(packet, _) => kept += black_box(packet.handle) & 1,
                Dequeued::NotBefore(_) => {}
                Dequeued::Nothing => queue.idle(now),
            }
        }
    }
    gone + kept
}

fn c(name: &str) -> u64 {
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
        for number in 0..ARRIVALS {
            let (now, packet) = packet(number);
            black_box(quell_enqueue(queue, now, number, black_box(&packet)));
            if number >= 50 {
                let mut sent = QuellSent::default();
                if quell_dequeue(queue, now, &mut sent) == QUELL_SENT {
                    kept += black_box(sent.handle) & 1;
                }
            }
        }
        let gone = gone;
        quell_destroy(queue);
        gone + kept
    }
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [way, name] = args.as_slice() {
        black_box(if way == "c" { c(name) } else { rust(name) });
        return;
    }
    println!("algorithm    Rust, ns   C, ns   more, ns per decision");
    for name in ["drop-tail", "red", "codel", "pie", "pi", "red+tail"] {
        assert_eq!(rust(name), c(name), "{name}");
        let (mut least_rust, mut least_c) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..15 {
            for (least, way) in [(&mut least_rust, rust as fn(&str) -> u64), (&mut least_c, c)] {
                let begin = Instant::now();
                black_box(way(name));
                *least = least.min(begin.elapsed().as_secs_f64() * 1e9 / DECISIONS);
            }
        }
        println!("{name:<12} {least_rust:8.2} {least_c:7.2} {:7.2}", least_c - least_rust);
    }
}
