//! The relay with an algorithm against the bare relay: the same ports, the same loop, and no line.

use std::net::UdpSocket;
use std::process::Command;

use cpu_time::ThreadTime;
use quell_gateway::header::FlowKey;
use quell_gateway::port::MonotonicClock;
use quell_gateway::port::nfqueue::{MarkBits, NfQueue};
use quell_gateway::wire::{HOST, Host, Prepared, Side, WireConfig};
use quell_gateway::{Delays, LineConfig, Pace, Ports, Relay};
use quell_queue::Qdisc;
use quell_units::{BitRate, Duration};

use super::subject::{ALGORITHMS, PACKET, line, named};
use crate::Outcome;
use crate::progress::Progress;
use crate::table::{Section, figure, load};

/// Faster than any relay, so that the line never holds a packet back for longer than the loop takes.
const RATE: BitRate = BitRate::from_bps(10_000_000_000);
/// Packets that wait when a round begins: fewer than the kernel's queues hold.
const BURST: u64 = 4000;

/// The most that the line may hold, in packets: more than PIE's target at that rate.
const BUFFER: u32 = 20_000;

/// A relay, and who fills what it reads from.
struct Rig {
    relay: Turned,
    clock: MonotonicClock,
    /// The side from which packets come.
    from: Host,
    socket: UdpSocket,
    /// Things that must live on.
    _rest: Vec<Host>,
    _sink: Option<UdpSocket>,
}

enum Turned {
    Pair(Box<Relay<quell_gateway::port::pair::Pair>>),
    Queue(Box<Relay<NfQueue>>),
}

/// One turn, and what is known of path 0 after it: the packets that were sent and those that wait.
fn turn<P: Ports>(relay: &mut Relay<P>, clock: &MonotonicClock) -> Outcome<(u64, usize)> {
    relay.turn(|| clock.now()).map_err(|e| format!("the relay fails: {e}"))?;
    let path = &relay.paths()[0];
    let queued = path.line().map_or(0, |line| line.queue().view().packets.get() as usize);
    Ok((path.meter.sent.packets, queued + relay.on_the_way()))
}

impl Rig {
    fn turn(&mut self) -> Outcome<(u64, usize)> {
        match &mut self.relay {
            Turned::Pair(relay) => turn(relay, &self.clock),
            Turned::Queue(relay) => turn(relay, &self.clock),
        }
    }

    /// The share of arrivals that was marked, in percent; of a bare relay nothing.
    fn marked(&self) -> f64 {
        let line = match &self.relay {
            Turned::Pair(relay) => relay.paths()[0].line(),
            Turned::Queue(relay) => relay.paths()[0].line(),
        };
        line.map_or(0.0, |line| {
            let c = line.counters();
            100.0 * c.marked.packets as f64 / c.arrived.packets.max(1) as f64
        })
    }

    /// Fills what the relay reads from, and lets it work that off: the CPU time of a packet in nanoseconds, and
    /// how many of them came out.
    fn round(&mut self) -> Outcome<(f64, u64)> {
        let socket = self.socket.try_clone().map_err(|e| e.to_string())?;
        self.from.run(move || {
            let data = [0u8; PACKET - 28];
            for sent in 0..BURST {
                let _ = socket.send(&data);
                // Between two namespaces the kernel holds a thousand packets (net.core.netdev_max_backlog).
                if sent % 250 == 249 {
                    std::thread::sleep(std::time::Duration::from_micros(500));
                }
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        });
        let mut before = self.sent();
        let first = before;
        let clock = ThreadTime::now();
        loop {
            let (sent, waiting) = self.turn()?;
            if waiting == 0 && sent == before {
                break;
            }
            before = sent;
        }
        let time = clock.elapsed().as_nanos() as f64;
        let packets = before - first;
        Ok((time / packets.max(1) as f64, packets))
    }

    /// A round in which nearly all packets came before the relay began; on a busy machine the kernel may bring some
    /// later.
    fn whole_round(&mut self) -> Outcome<f64> {
        const TRIES: usize = 50;
        for _ in 0..TRIES {
            let (time, packets) = self.round()?;
            if packets >= BURST * 9 / 10 {
                return Ok(time);
            }
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        Err(format!("in {TRIES} rounds, never {BURST} packets came"))
    }

    fn sent(&self) -> u64 {
        match &self.relay {
            Turned::Pair(relay) => relay.paths()[0].meter.sent.packets,
            Turned::Queue(relay) => relay.paths()[0].meter.sent.packets,
        }
    }
}

/// A socket that sends to `to` and claims to be ECN-capable.
fn sender(host: &Host, to: String) -> Outcome<UdpSocket> {
    host.run(move || -> std::io::Result<UdpSocket> {
        let socket = UdpSocket::bind("0.0.0.0:0")?;
        socket2::SockRef::from(&socket).set_tos_v4(2)?;
        socket.connect(to)?;
        Ok(socket)
    })
    .map_err(|e| format!("a sender: {e}"))
}

fn wire(config: Option<LineConfig>, packet_sockets: bool) -> Outcome<Rig> {
    let none = Delays::all(Duration::ZERO);
    let config = WireConfig {
        lines: [config, None],
        delays: [none.clone(), none],
        courses: Default::default(),
        mtu: PACKET as u16,
        ecn: true,
        congestion: None,
        packet_sockets,
    };
    let prepared = Prepared::new(config, None).map_err(|e| e.to_string())?;
    let at = format!("{}:9", Side::Far.address(HOST));
    let bound = at.clone();
    // What nobody reads is dropped at its socket, so that no answers come back.
    let sink = prepared.far.run(|| UdpSocket::bind(bound)).map_err(|e| format!("a receiver: {e}"))?;
    let socket = sender(&prepared.near, at)?;
    let Prepared { near, far, relay, .. } = prepared;
    let relay = Turned::Pair(Box::new(relay));
    Ok(Rig { relay, clock: MonotonicClock::new(), from: near, socket, _rest: vec![far], _sink: Some(sink) })
}

/// Runs a script on a host.
fn script(host: &Host, text: impl Into<String>) -> Outcome<()> {
    let text = text.into();
    let done =
        host.run(move || Command::new("sh").args(["-ec", &text]).output()).map_err(|e| e.to_string())?;
    let said = String::from_utf8_lossy(&done.stderr);
    if done.status.success() { Ok(()) } else { Err(said.trim().to_string()) }
}

/// A router that forwards from one veth device to another, with its packets in NFQUEUE.
fn router(config: Option<LineConfig>) -> Outcome<Rig> {
    let host = |name| Host::new(name).map_err(|e| e.to_string());
    let (from, router, to) = (host("sender")?, host("router")?, host("receiver")?);
    for (host, name, peer) in [(&from, "s0", "g0"), (&to, "r0", "d0")] {
        script(host, format!("ip link add {name} type veth peer name {peer} netns {}", router.tid()))?;
    }
    // What nobody is there to take is dropped, without an answer.
    script(&to, "ip link set r0 up")?;
    script(&from, "ip addr add 10.1.0.1/24 dev s0; ip link set s0 up; ip route add default via 10.1.0.2")?;
    script(
        &router,
        "ip addr add 10.1.0.2/24 dev g0; ip link set g0 up
         ip addr add 10.2.0.2/24 dev d0; ip link set d0 up
         ip neigh add 10.2.0.1 lladdr 02:00:00:00:00:01 dev d0
         echo 1 > /proc/sys/net/ipv4/ip_forward
         iptables -t mangle -A FORWARD -o d0 -j NFQUEUE --queue-num 0",
    )?;
    let queue = router
        .run(|| {
            let mut queue = NfQueue::open([0, 1], MarkBits::default(), FlowKey::random()?)?;
            queue.bind(2 * BURST as u32)?;
            Ok::<_, std::io::Error>(queue)
        })
        .map_err(|e| format!("NFQUEUE: {e}"))?;
    let none = Delays::all(Duration::ZERO);
    let paths = vec![(config, none.clone()), (None, none)];
    let relay = Relay::new(queue, paths, Pace::default(), None).map_err(|e| e.to_string())?;
    let socket = sender(&from, "10.2.0.1:9".into())?;
    Ok(Rig {
        relay: Turned::Queue(Box::new(relay)),
        clock: MonotonicClock::new(),
        from,
        socket,
        _rest: vec![router, to],
        _sink: None,
    })
}

/// The middle one of some figures, and those a quarter from either end.
fn quartiles(of: &mut [f64]) -> [f64; 3] {
    of.sort_by(f64::total_cmp);
    [1, 2, 3].map(|k| of[(of.len() - 1) * k / 4])
}

type Make = fn(Option<LineConfig>) -> Outcome<Rig>;

pub fn ratios(rounds: u32) -> Outcome<Section> {
    let kinds: [(&str, Make); 3] =
        [("TUN", |l| wire(l, false)), ("packet sockets", |l| wire(l, true)), ("NFQUEUE", router)];
    let mut section = Section::new(
        "gateway-relay",
        &["ports", "algorithm", "bare, ns/packet", "with, ns/packet", "ratio", "quartiles", "marked, %"],
    );
    let mut progress = Progress::new(kinds.len() * rounds as usize);
    let before = load();
    for (kind, make) in kinds {
        let mut bare = match make(None) {
            Ok(bare) => bare,
            Err(why) => {
                eprintln!("skipped: {kind}: {why}");
                continue;
            }
        };
        let mut rigs = Vec::new();
        for name in ALGORITHMS {
            rigs.push((name, make(Some(line(algorithm(name)?, RATE, BUFFER)))?, Vec::new()));
        }
        for round in 0..rounds {
            progress.next(kind);
            for (_, rig, pairs) in &mut rigs {
                // Whoever is first, so that a machine that speeds up or slows down favors none.
                let (first, second) =
                    if round % 2 == 0 { (&mut bare, &mut *rig) } else { (&mut *rig, &mut bare) };
                let (a, b) = (first.whole_round()?, second.whole_round()?);
                pairs.push(if round % 2 == 0 { (a, b) } else { (b, a) });
            }
        }
        for (name, rig, pairs) in &rigs {
            let of = |f: fn(&(f64, f64)) -> f64| quartiles(&mut pairs.iter().map(f).collect::<Vec<_>>());
            let [low, middle, high] = of(|(without, with)| without / with);
            section.row(vec![
                kind.to_string(),
                (*name).to_string(),
                figure(of(|p| p.0)[1]),
                figure(of(|p| p.1)[1]),
                figure(middle),
                format!("{low:.2}–{high:.2}"),
                figure(rig.marked()),
            ]);
        }
    }
    drop(progress);
    section.remark(format!(
        "CPU time of the relay's thread for a packet of {PACKET} bytes, including the kernel's work on its behalf. \
         Values are medians of {rounds} pairs of rounds, with and without a line, in turn. *Ratio*: packets per second \
         and core, with over without, the median of the pairs. In a round {BURST} packets wait in the kernel, and the \
         relay handles them without sleeping. The line is faster than the relay ({RATE}) and signals are marks, so all \
         packets go all the way. NFQUEUE: forwarded from one veth device to another. Before: {before}; after: {}.",
        load()
    ));
    Ok(section)
}

/// Sets thresholds at which the short queue of this measurement is signaled, where the defaults' are higher.
fn algorithm(name: &str) -> Outcome<quell_aqm::catalog::AqmConfig> {
    let mut config = named(name)?;
    if let quell_aqm::catalog::AqmConfig::Red(red) = &mut config {
        red.min_th = quell_units::QueueSize::Packets(20.0);
        red.max_th = quell_units::QueueSize::Packets(400.0);
    }
    Ok(config)
}
