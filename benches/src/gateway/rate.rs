//! The exactness with which a wire keeps its rate, how late its packets are, and what that takes of a core.

use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration as Wait, Instant};

use quell_gateway::wire::{HOST, Side, Wire, WireConfig};
use quell_gateway::{Delays, LineConfig};
use quell_units::text::duration;
use quell_units::{BitRate, Duration};

use super::subject::{PACKET, line, named};
use crate::Outcome;
use crate::progress::Progress;
use crate::table::{Section, figure, load};

/// Rates, algorithms and buffers in packets.
const CASES: [(u64, &str, u32); 6] = [
    (10_000_000, "drop-tail", 100),
    (100_000_000, "drop-tail", 200),
    (1_000_000_000, "drop-tail", 200),
    (1_000_000_000, "drop-tail", 4000),
    (1_000_000_000, "hred-fixed", 200),
    (1_000_000_000, "hred-fixed", 4000),
];
/// The percentage by which the sender is faster than the line.
const MORE: u64 = 10;
/// The interval at which it sends what is due.
const PULSE: Wait = Wait::from_micros(500);

/// CPU time of a thread of this process, in seconds.
fn cpu_s(tid: i32) -> Outcome<f64> {
    let file = format!("/proc/self/task/{tid}/schedstat");
    let text = std::fs::read_to_string(&file).map_err(|e| format!("{file}: {e}"))?;
    let first = text.split(' ').next().and_then(|n| n.parse::<f64>().ok());
    first.map(|ns| ns / 1e9).ok_or_else(|| format!("{file} is no time: {text}"))
}

/// The bytes that the far host's device has received, and when that was read.
fn received(wire: &Wire) -> Outcome<(Instant, u64)> {
    wire.host(Side::Far).run(|| {
        let text = std::fs::read_to_string("/proc/thread-self/net/dev").map_err(|e| e.to_string())?;
        let now = Instant::now();
        let counts = text.lines().find_map(|l| l.trim().strip_prefix("quell0:"));
        let bytes = counts.and_then(|c| c.split_whitespace().next()?.parse().ok());
        bytes.map(|b| (now, b)).ok_or_else(|| "the far host has no quell0".to_string())
    })
}

/// The record of a wire in its time.
struct Kept {
    mbit: f64,
    cpu: f64,
    late_s: f64,
    /// The sender's longest pause.
    pause: Wait,
}

fn measure(config: LineConfig, seconds: u32, sends: bool) -> Outcome<Kept> {
    let rate = config.rate;
    let none = Delays::all(Duration::ZERO);
    let config = WireConfig {
        lines: [Some(config), None],
        delays: [none.clone(), none],
        courses: Default::default(),
        mtu: PACKET as u16,
        ecn: false,
        congestion: None,
        packet_sockets: false,
    };
    let wire = Wire::new(config, None).map_err(|e| e.to_string())?;
    let at = format!("{}:9", Side::Far.address(HOST));
    let bound = at.clone();
    let _sink =
        wire.host(Side::Far).run(|| UdpSocket::bind(bound)).map_err(|e| format!("a receiver: {e}"))?;
    let stop = Arc::new(AtomicBool::new(false));
    let longest = Arc::new(AtomicU64::new(0));
    let sender = if sends {
        let (stop, longest) = (stop.clone(), longest.clone());
        let packets_s = (rate.bps() / 100 * (100 + MORE)) as f64 / 8.0 / PACKET as f64;
        let thread = wire.host(Side::Near).thread("sender", move || {
            send(&at, packets_s, &stop, &longest).map_err(|e| format!("the sender: {e}"))
        });
        Some(thread.map_err(|e| e.to_string())?)
    } else {
        None
    };
    std::thread::sleep(Wait::from_secs(1));
    longest.store(0, Ordering::Relaxed);
    let (begin, first) = received(&wire)?;
    let before = cpu_s(wire.relay_tid)?;
    std::thread::sleep(Wait::from_secs(u64::from(seconds)));
    let after = cpu_s(wire.relay_tid)?;
    let (end, last) = received(&wire)?;
    stop.store(true, Ordering::Relaxed);
    if let Some(sender) = sender {
        sender.join().map_err(|_| "the sender has panicked".to_string())??;
    }
    let report = wire.close().map_err(|e| e.to_string())?;
    let elapsed = end.duration_since(begin).as_secs_f64();
    Ok(Kept {
        mbit: (last - first) as f64 * 8.0 / elapsed / 1e6,
        cpu: (after - before) / elapsed,
        late_s: report.paths[0].meter.lateness_p99_s().unwrap_or(0.0),
        pause: Wait::from_nanos(longest.load(Ordering::Relaxed)),
    })
}

/// Sends what is due every now and then, and what it has missed at once.
fn send(to: &str, packets_s: f64, stop: &AtomicBool, longest: &AtomicU64) -> std::io::Result<()> {
    let socket = UdpSocket::bind("0.0.0.0:0")?;
    socket.connect(to)?;
    let data = [0u8; PACKET - 28];
    let begin = Instant::now();
    let mut sent = 0;
    let mut last = begin;
    while !stop.load(Ordering::Relaxed) {
        let now = Instant::now();
        longest.fetch_max(now.duration_since(last).as_nanos() as u64, Ordering::Relaxed);
        last = now;
        let due = (now.duration_since(begin).as_secs_f64() * packets_s) as u64;
        for _ in sent..due {
            // What the device has no room for is lost, as anywhere.
            let _ = socket.send(&data);
        }
        sent = due;
        std::thread::sleep(PULSE);
    }
    Ok(())
}

pub fn kept(seconds: u32) -> Outcome<Section> {
    let head = [
        "line",
        "algorithm",
        "buffer, packets",
        "Mbit/s",
        "of the rate, %",
        "late P99",
        "core, %",
        "sender's pause",
    ];
    let mut section = Section::new("gateway-rate", &head);
    let mut progress = Progress::new(CASES.len() + 1);
    let before = load();
    for (bps, name, buffer) in CASES {
        let rate = BitRate::from_bps(bps);
        progress.next(&format!("{rate} with {name}"));
        let kept = measure(line(named(name)?, rate, buffer), seconds, true)?;
        section.row(vec![
            rate.to_string(),
            name.to_string(),
            buffer.to_string(),
            format!("{:.3}", kept.mbit),
            format!("{:.3}", kept.mbit * 1e8 / bps as f64),
            duration(kept.late_s),
            figure(100.0 * kept.cpu),
            duration(kept.pause.as_secs_f64()),
        ]);
    }
    progress.next("idle");
    let idle = measure(line(named("pi")?, BitRate::from_bps(10_000_000), 100), seconds, false)?;
    section.row(vec![
        "10 Mbit/s, idle".to_string(),
        "pi".to_string(),
        "100".to_string(),
        "–".to_string(),
        "–".to_string(),
        "–".to_string(),
        figure(100.0 * idle.cpu),
        "–".to_string(),
    ]);
    drop(progress);
    section.remark(format!(
        "A wire on TUN devices, {seconds} s each after 1 s, with UDP packets of {PACKET} bytes, {MORE}% more than the \
         line carries. *Mbit/s*: what the far host's device received, by its own counter. *Late*: from when a packet \
         was due to when it was let go. *Core*: CPU time of the relay's thread. *Sender's pause*: the longest time in \
         which it did not run; a queue that holds less than that runs empty. Before: {before}; after: {}.",
        load()
    ));
    Ok(section)
}
