//! Adaptive RED for a router written in C: a static library that links nothing.
//!
//! The driver calls [`quell_arrival`] for each packet, [`quell_overflow`] when the packet that passed
//! finds no room, and [`quell_idle`] when the last one has left.
#![no_std]

use core::mem::MaybeUninit;

use quell_aqm::integer::{AredConstants, AredFixed};
use quell_aqm::{Aqm, Ctx, Ecn, PacketMeta, QueueView, Rng, Seed, Verdict};
use quell_units::{Bytes, Packets, Time};

/// The build script computes them.
const ARED: AredConstants = include!(concat!(env!("OUT_DIR"), "/ared.rs"));

/// One queue of the router.
pub struct Queue {
    aqm: AredFixed,
    rng: Rng,
}

/// What becomes of a packet.
#[repr(C)]
pub enum Fate {
    /// It is queued.
    Queue,
    /// It is queued, with its ECN field set to CE.
    Mark,
    /// It is dropped.
    Drop,
}

/// What waits in the queue.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Waiting {
    packets: u32,
    bytes: u64,
}

impl Queue {
    /// The algorithm and what it may know, after all updates that are due.
    fn at(&mut self, now: Time, waiting: Waiting) -> (&mut AredFixed, Ctx<'_>) {
        let queue = QueueView {
            packets: Packets::new(waiting.packets),
            bytes: Bytes::new(waiting.bytes),
            head_since: None,
            link_rate: None,
        };
        while let Some(due) = self.aqm.next_update().filter(|due| *due <= now) {
            self.aqm.on_update(&mut Ctx::new(due, queue, &mut self.rng));
        }
        (&mut self.aqm, Ctx::new(now, queue, &mut self.rng))
    }
}

/// The memory that the driver gives a queue, in bytes.
#[unsafe(no_mangle)]
pub static QUELL_QUEUE_SIZE: usize = size_of::<Queue>();

/// Its alignment.
#[unsafe(no_mangle)]
pub static QUELL_QUEUE_ALIGNMENT: usize = align_of::<Queue>();

/// Makes an empty queue at `now`, in nanoseconds of the driver's clock.
#[unsafe(no_mangle)]
pub extern "C" fn quell_start(queue: &mut MaybeUninit<Queue>, now: u64, seed: u64) {
    let queue = queue.write(Queue { aqm: AredFixed::new(ARED), rng: Seed(seed).stream("queue") });
    queue.aqm.on_start(Time::from_nanos(now));
}

/// A packet arrives while others wait.
#[unsafe(no_mangle)]
pub extern "C" fn quell_arrival(
    queue: &mut Queue,
    now: u64,
    waiting: Waiting,
    bytes: u32,
    ecn_capable: bool,
) -> Fate {
    let pkt = packet(now, bytes, ecn_capable);
    let (aqm, mut cx) = queue.at(Time::from_nanos(now), waiting);
    match aqm.on_enqueue(&mut cx, &pkt) {
        verdict if verdict.drops(&pkt) => Fate::Drop,
        Verdict::Pass => Fate::Queue,
        _ => Fate::Mark,
    }
}

/// The packet that was to be queued found no room, and is dropped.
#[unsafe(no_mangle)]
pub extern "C" fn quell_overflow(queue: &mut Queue, now: u64, waiting: Waiting, bytes: u32) {
    let (aqm, mut cx) = queue.at(Time::from_nanos(now), waiting);
    aqm.on_overflow(&mut cx, &packet(now, bytes, false));
}

/// The link has sent the last packet, and none waits.
#[unsafe(no_mangle)]
pub extern "C" fn quell_idle(queue: &mut Queue, now: u64) {
    queue.aqm.on_idle(Time::from_nanos(now));
}

fn packet(now: u64, bytes: u32, ecn_capable: bool) -> PacketMeta {
    PacketMeta {
        bytes: Bytes::new(u64::from(bytes)),
        enqueued_at: Time::from_nanos(now),
        ecn: if ecn_capable { Ecn::Ect0 } else { Ecn::NotEct },
        ..Default::default()
    }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}
