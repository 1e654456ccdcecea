//! What the tests of made-up packets share; each uses a part of it.
#![allow(dead_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use quell_aqm::catalog::{AqmConfig, CATALOG};
use quell_aqm::{Ecn, FlowId, Hosts, Rng, Transport};
use quell_gateway::header::Header;
use quell_gateway::{Entry, Event, LineConfig, LogHeader, LogReader, Packet, Recorder};
use quell_units::{BitRate, Bytes};

thread_local! { static ALLOCATIONS: Cell<u64> = const { Cell::new(0) }; }

/// An allocator that counts what a thread allocates.
pub struct Counting;

// SAFETY: it only counts, and hands everything to the system's allocator.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        let _ = ALLOCATIONS.try_with(|n| n.set(n.get() + 1));
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
}

/// What this thread has allocated, where [`Counting`] is the allocator.
pub fn allocations() -> u64 {
    ALLOCATIONS.with(Cell::get)
}

/// A packet of any of 30 flows, and the path that it takes, of `paths`.
pub fn packet(rng: &mut Rng, handle: u32, paths: u8) -> (u8, Packet) {
    let x = rng.next_u64();
    let header = Header {
        flow: FlowId(x as u32 % 30),
        ecn: [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][(x >> 8) as usize % 4],
        transport: [Transport::Tcp, Transport::Udp, Transport::Other][(x >> 16) as usize % 3],
        syn: x >> 20 & 31 == 0,
        dscp: (x >> 32) as u8 & 63,
        // Nobody knows them: a trace of arrivals does not have them.
        hosts: Hosts::default(),
    };
    ((x >> 56) as u8 % paths, Packet::new(handle, 40 + (x >> 40) as u32 % 1460, header))
}

/// An algorithm with its defaults.
pub fn named(name: &str) -> AqmConfig {
    (CATALOG.iter().find(|e| e.name == name).unwrap().default)()
}

/// A line of 10 Mbit/s.
pub fn line(name: &str, aqm: AqmConfig) -> LineConfig {
    LineConfig {
        name: name.into(),
        rate: BitRate::from_bps(10_000_000),
        buffer: "60 packets".parse().unwrap(),
        mean_packet: Bytes::new(770),
        ecn: true,
        seed: 7,
        aqm,
        shaper: None,
        classes: None,
        behind: None,
    }
}

/// A file in memory that is shared with the test.
#[derive(Clone, Default)]
pub struct Shared(Arc<Mutex<Vec<u8>>>);

impl Shared {
    pub fn bytes(&self) -> Vec<u8> {
        self.0.lock().unwrap().clone()
    }
}

impl Write for Shared {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The header and the entries of a log, and how many bytes come before its first record.
pub fn read(bytes: &[u8]) -> (LogHeader, Vec<Entry>, usize) {
    let mut log = LogReader::new(bytes).unwrap();
    let header = log.header().clone();
    let entries = std::iter::from_fn(|| log.next_entry().unwrap()).collect();
    let text: usize = bytes.split_inclusive(|byte| *byte == b'\n').take(2).map(<[u8]>::len).sum();
    // And a frame of nothing: its length and two checksums.
    (header, entries, text + 12)
}

/// A log as somebody writes it who knows how: all of its checksums fit.
pub fn written(header: &LogHeader, entries: &[Entry]) -> Vec<u8> {
    let file = Shared::default();
    let mut recorder = Recorder::new(file.clone(), header).unwrap();
    let (last, rest) = entries.split_last().unwrap();
    assert_eq!(last.event, Event::Closed);
    rest.iter().for_each(|entry| recorder.add(entry));
    recorder.close(last.time).unwrap();
    file.bytes()
}
