//! `quell gateway run`, `check` and `clean`: the router mode.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use clap::{Args, ValueEnum};
use quell_units::text::{duration, three_digits};
use quell_units::{BitRate, Bytes, QueueSize, Time};
use rustix::thread::CapabilitySet;
use serde::{Deserialize, Serialize};

use super::status::RUN_DIR;
use super::{Failure, named_algorithm, print, table};
use crate::confine::confine;
use crate::header::FlowKey;
use crate::metrics::{EVERY, Endpoint, KernelDrops, Monitor, Publisher, Server, Thresholds};
use crate::port::nfqueue::{self, MARK, NfQueue};
use crate::port::{MonotonicClock, sleep};
use crate::relay::Path as RelayPath;
use crate::{Delays, LineConfig, LogHeader, Pace, Recorder, Relay, Rest};

pub(super) const RUN_HELP: &str = "\
Packets that this host forwards out of and in from DEVICE wait in the kernel (NFQUEUE) until the line of their direction
has sent them. If this program dies, they pass unshaped; with --on-exit closed they stop.

  quell gateway run --wan eth0 --up 18Mbit/s --down 95Mbit/s --aqm codel --ecn
  quell gateway check --wan eth0 --up 18Mbit/s --down 95Mbit/s";

/// A router's gateway.
#[derive(Clone, Debug, Args)]
pub struct RunArgs {
    /// The device that leads to the slow link.
    #[arg(long, value_name = "DEVICE")]
    wan: String,
    /// Rate to DEVICE, a little below the link's own, so that the queue is here.
    #[arg(long, value_name = "RATE")]
    up: BitRate,
    /// Rate from DEVICE, likewise.
    #[arg(long, value_name = "RATE")]
    down: BitRate,
    /// The algorithm of both directions.
    #[arg(long, value_name = "NAME", default_value = "codel")]
    aqm: String,
    /// Set a parameter of the algorithm, such as target=10ms.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
    /// Buffer of each direction; default: 200 ms at its rate, at least 20 packets.
    #[arg(long, value_name = "SIZE")]
    buffer: Option<QueueSize>,
    /// Mark ECN-capable packets instead of dropping them.
    #[arg(long)]
    ecn: bool,
    /// Seed of the algorithms' chance; default: drawn, and kept in the log.
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// Keep arrivals and decisions in FILE, for `replay`.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// What becomes of traffic if this program dies.
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    on_exit: OnExit,
    /// Let another algorithm judge beside the one that acts, for the metrics; may be given several times.
    #[arg(long, value_name = "NAME")]
    shadow: Vec<String>,
    /// Show metrics at a port of this host; default: at the socket /run/quell/ID.sock.
    #[arg(long, value_name = "127.0.0.1:PORT")]
    metrics: Option<std::net::SocketAddr>,
    /// Allow --metrics an address that other hosts reach.
    #[arg(long, requires = "metrics")]
    metrics_any: bool,
    /// The numbers N and N+1 of the kernel's queues.
    #[arg(long, value_name = "N", default_value_t = 5100)]
    queue: u16,
    /// Tells several gateways on one host apart.
    #[arg(long, value_name = "ID", default_value = "0", value_parser = id)]
    id: String,
    /// The user that packets are read as.
    #[arg(long, value_name = "UID", default_value_t = 65534)]
    uid: u32,
}

/// Which gateway.
#[derive(Clone, Debug, Args)]
pub struct CleanArgs {
    /// That of `run`.
    #[arg(long, value_name = "ID", default_value = "0", value_parser = id)]
    id: String,
}

/// Another algorithm for a gateway that runs.
#[derive(Clone, Debug, Args)]
pub struct ReloadArgs {
    /// That of `run`.
    #[arg(long, value_name = "ID", default_value = "0", value_parser = id)]
    id: String,
    /// Rate to the device; default: as it is.
    #[arg(long, value_name = "RATE")]
    up: Option<BitRate>,
    /// Rate from the device; default: as it is.
    #[arg(long, value_name = "RATE")]
    down: Option<BitRate>,
    /// Buffer of each direction; default: as it is.
    #[arg(long, value_name = "SIZE")]
    buffer: Option<QueueSize>,
    /// The algorithm of both directions; default: the same, as it is configured.
    #[arg(long, value_name = "NAME")]
    aqm: Option<String>,
    /// Set a parameter of the algorithm.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment, requires = "aqm")]
    set: Vec<(String, String)>,
}

/// What becomes of traffic if this program dies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum OnExit {
    /// It passes unshaped.
    #[default]
    Open,
    /// It stops.
    Closed,
}

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().into(), value.trim().into())),
        _ => Err("must have the form KEY=VALUE".into()),
    }
}

fn id(text: &str) -> Result<String, String> {
    let fine = (1..=12).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric());
    if fine { Ok(text.into()) } else { Err("must be 1 to 12 letters and digits".into()) }
}

impl RunArgs {
    fn lines(&self) -> Result<[LineConfig; 2], Failure> {
        let aqm = named_algorithm("--aqm", &self.aqm, &self.set)?;
        let seed = match self.seed {
            Some(seed) => seed,
            None => crate::random_seed().map_err(|e| Failure::Failed(format!("cannot draw a seed: {e}")))?,
        };
        const MEAN: Bytes = Bytes::new(1000);
        let line = |name: &str, rate: BitRate| {
            let packets = (rate.bytes_per_sec() * 0.2 / MEAN.get() as f64).ceil().clamp(20.0, 100_000.0);
            LineConfig {
                name: name.into(),
                rate,
                buffer: self.buffer.unwrap_or(QueueSize::Packets(packets)),
                mean_packet: MEAN,
                ecn: self.ecn,
                seed,
                aqm: aqm.clone(),
            }
        };
        let lines = [line("up", self.up), line("down", self.down)];
        for line in &lines {
            line.build().map_err(|e| Failure::BadInput(e.to_string()))?;
        }
        if self.queue == u16::MAX {
            return Err(Failure::BadInput("--queue: 65535 must leave room for a second queue".into()));
        }
        Ok(lines)
    }

    /// The commands that set the firewall's rules up, each with the one that undoes it.
    fn rules(&self) -> Vec<[String; 2]> {
        let bypass = if self.on_exit == OnExit::Open { " --queue-bypass" } else { "" };
        let (wan, up, down) = (&self.wan, self.queue, self.queue + 1);
        let [forward, mark] = [format!("quell-{}-q", self.id), format!("quell-{}-m", self.id)];
        let mut rules = Vec::new();
        for program in ["iptables", "ip6tables"] {
            let both = |does: String, undoes: String| {
                [does, undoes].map(|words| format!("{program} -w 5 -t mangle {words}"))
            };
            // What a chain holds goes with it: the last undone is what was first done.
            for (chain, hook, held) in [
                (&mark, "POSTROUTING", vec![format!("-m mark --mark {MARK:#x} -j TOS --or-tos 0x03")]),
                (
                    &forward,
                    "FORWARD",
                    vec![
                        format!("-o {wan} -j NFQUEUE --queue-num {up}{bypass}"),
                        format!("-i {wan} -j NFQUEUE --queue-num {down}{bypass}"),
                    ],
                ),
            ] {
                rules.push(both(format!("-N {chain}"), format!("-X {chain}")));
                for rule in held {
                    rules.push(both(format!("-A {chain} {rule}"), format!("-F {chain}")));
                }
                rules.push(both(format!("-A {hook} -j {chain}"), format!("-D {hook} -j {chain}")));
            }
        }
        rules
    }
}

/// What is to be undone, on disk before it is done.
#[derive(Serialize, Deserialize)]
struct Journal {
    pid: i32,
    /// When that process began, in ticks since the machine did: a number can come again.
    started: u64,
    undo: Vec<String>,
    /// The configuration in force, or the one that is to be.
    lines: Vec<LineConfig>,
}

impl Journal {
    fn path(id: &str) -> PathBuf {
        Path::new(RUN_DIR).join(format!("{id}.json"))
    }

    fn write(&self, id: &str) -> std::io::Result<()> {
        fs::create_dir_all(RUN_DIR)?;
        let (path, new) = (Self::path(id), Path::new(RUN_DIR).join(format!("{id}.new")));
        let mut file = fs::File::create(&new)?;
        file.write_all(&serde_json::to_vec(self)?)?;
        file.sync_all()?;
        fs::rename(new, path)
    }

    fn read(id: &str) -> Option<Journal> {
        serde_json::from_slice(&fs::read(Self::path(id)).ok()?).ok()
    }

    fn alive(&self) -> bool {
        started(self.pid) == Some(self.started)
    }

    /// Undoes everything; what is not there is undone already.
    fn undo(&self, id: &str) {
        for command in &self.undo {
            let _ = shell(command);
        }
        let _ = fs::remove_file(Self::path(id));
    }
}

/// When a process began (proc(5), field 22 of stat).
fn started(pid: i32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name before may hold anything, so count from its end.
    stat.rsplit_once(')')?.1.split_whitespace().nth(19)?.parse().ok()
}

fn shell(command: &str) -> Result<(), String> {
    let mut words = command.split_whitespace();
    let program = words.next().unwrap_or_default();
    match Command::new(program).args(words).output() {
        Ok(done) if done.status.success() => Ok(()),
        Ok(done) => Err(String::from_utf8_lossy(&done.stderr).trim().to_string()),
        Err(e) => Err(e.to_string()),
    }
}

/// What stands in the way, each with what mends it; nothing is changed to find it.
fn problems(args: &RunArgs) -> Vec<String> {
    let mut found = Vec::new();
    let mut need = |fine: bool, problem: String| {
        if !fine {
            found.push(problem);
        }
    };
    let effective = rustix::thread::capabilities(None).map(|sets| sets.effective);
    let admin = effective.is_ok_and(|set| set.contains(CapabilitySet::NET_ADMIN));
    need(admin, "no right to give verdicts and set rules (CAP_NET_ADMIN): run it as root, with sudo".into());
    let exists = |name: &str| {
        fs::read_to_string("/proc/thread-self/net/dev").is_ok_and(|text| {
            text.lines().any(|l| l.trim_start().strip_prefix(name).is_some_and(|rest| rest.starts_with(':')))
        })
    };
    let wan = &args.wan;
    need(exists(wan), format!("no device \"{wan}\" here: `ip link` lists them"));
    for program in ["iptables", "ip6tables"] {
        let there = Command::new(program).arg("--version").output().is_ok_and(|o| o.status.success());
        need(there, format!("no {program}: apt-get install iptables"));
    }
    let queues = fs::read_to_string("/proc/thread-self/net/netfilter/nfnetlink_queue");
    need(queues.is_ok(), "the kernel has no nfnetlink_queue: modprobe nfnetlink_queue".into());
    let taken = |n: u16| {
        queues.as_ref().is_ok_and(|t| t.lines().any(|l| l.split_whitespace().next() == Some(&n.to_string())))
    };
    for n in [args.queue, args.queue + 1] {
        need(!taken(n), format!("queue {n} belongs to another program: choose others with --queue"));
    }
    let forwards = |file: &str| fs::read_to_string(file).is_ok_and(|t| t.trim() == "1");
    need(
        forwards("/proc/sys/net/ipv4/ip_forward") || forwards("/proc/sys/net/ipv6/conf/all/forwarding"),
        "this host forwards nothing: sysctl -w net.ipv4.ip_forward=1".into(),
    );
    if let Some(journal) = Journal::read(&args.id).filter(Journal::alive) {
        need(
            false,
            format!(
                "process {} is gateway \"{}\" already: stop it, or choose another --id",
                journal.pid, args.id
            ),
        );
    }
    found
}

/// Says what `run` would need and do.
pub(super) fn check(args: &RunArgs) -> Result<(), Failure> {
    let lines = args.lines()?;
    let mut text = String::new();
    for line in &lines {
        text.push_str(&format!(
            "{}: {} at {}, {} of buffer\n",
            line.name,
            line.aqm.name(),
            line.rate,
            line.buffer
        ));
    }
    text.push_str("rules that would be added:\n");
    for [does, _] in args.rules() {
        text.push_str(&format!("  {does}\n"));
    }
    print(&text)?;
    let problems = problems(args);
    if problems.is_empty() {
        print("nothing is in the way\n")
    } else {
        Err(Failure::Failed(problems.join("\n  ")))
    }
}

/// Undoes what a killed gateway has left.
pub(super) fn clean(args: &CleanArgs) -> Result<(), Failure> {
    match Journal::read(&args.id) {
        None => print(&format!("gateway \"{}\" has left nothing\n", args.id)),
        Some(journal) if journal.alive() => Err(Failure::Failed(format!(
            "gateway \"{}\" runs, as process {}: kill {} ends it and its rules",
            args.id, journal.pid, journal.pid
        ))),
        Some(journal) => {
            journal.undo(&args.id);
            print(&format!("the rules of gateway \"{}\" are gone\n", args.id))
        }
    }
}

/// Gives a running gateway another configuration; what waits stays.
pub(super) fn reload(args: &ReloadArgs) -> Result<(), Failure> {
    let Some(mut journal) = Journal::read(&args.id).filter(Journal::alive) else {
        return Err(Failure::Failed(format!(
            "no gateway \"{}\" runs: `quell gateway run` starts one",
            args.id
        )));
    };
    let aqm = args.aqm.as_ref().map(|name| named_algorithm("--aqm", name, &args.set)).transpose()?;
    for (line, rate) in journal.lines.iter_mut().zip([args.up, args.down]) {
        line.rate = rate.unwrap_or(line.rate);
        line.buffer = args.buffer.unwrap_or(line.buffer);
        line.aqm = aqm.clone().unwrap_or_else(|| line.aqm.clone());
        // Built before anything changes: what is wrong is said here.
        line.build().map_err(|e| Failure::BadInput(format!("{e}; the gateway goes on as it was")))?;
    }
    journal.write(&args.id).map_err(|e| Failure::Failed(format!("cannot write {RUN_DIR}: {e}")))?;
    shell(&format!("kill -HUP {}", journal.pid)).map_err(|e| Failure::Failed(format!("kill: {e}")))?;
    print(&format!("gateway \"{}\" goes on with {}\n", args.id, journal.lines[0].aqm.name()))
}

/// Undoes the rules when it is dropped, in whatever way that comes.
struct Rules<'a> {
    id: &'a str,
    journal: Journal,
}

impl Drop for Rules<'_> {
    fn drop(&mut self) {
        self.journal.undo(self.id);
    }
}

/// Runs until it is told to stop.
pub(super) fn run(args: &RunArgs) -> Result<(), Failure> {
    let lines = args.lines()?;
    let failed = |what: &str, e: &dyn core::fmt::Display| Failure::Failed(format!("{what}: {e}"));
    let problems = problems(args);
    if !problems.is_empty() {
        return Err(Failure::Failed(problems.join("\n  ")));
    }
    // What an earlier one left, if it was killed.
    if let Some(journal) = Journal::read(&args.id) {
        journal.undo(&args.id);
    }
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM] {
        signal_hook::flag::register(signal, stop.clone()).map_err(|e| failed("signals", &e))?;
    }
    let recorder = match &args.log {
        Some(file) => {
            let cannot = |e: std::io::Error| failed(&format!("cannot write {}", file.display()), &e);
            let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
            let header = LogHeader {
                version: env!("CARGO_PKG_VERSION").into(),
                started_unix_s: now.map_or(0, |d| d.as_secs()),
                lines: lines.to_vec(),
            };
            Some(Recorder::new(fs::File::create(file).map_err(cannot)?, &header).map_err(cannot)?)
        }
        None => None,
    };
    let key = FlowKey::random().map_err(|e| failed("flow hashes", &e))?;
    // Both buffers, what is taken in at once, and the packet in transmission: a hang passes traffic once it is full.
    let room = lines.iter().map(|l| l.most_packets(Bytes::new(64))).max().unwrap_or(0) + 512;
    let ports = NfQueue::new([args.queue, args.queue + 1], room.min(1 << 20) as u32, key)
        .map_err(|e| failed("the kernel's queues cannot be bound", &e))?;
    let paths = lines.iter().map(|l| (Some(l.clone()), Delays::all(quell_units::Duration::ZERO))).collect();
    let mut relay =
        Relay::new(ports, paths, Pace::default(), recorder).map_err(|e| Failure::BadInput(e.to_string()))?;
    for name in &args.shadow {
        let aqm = named_algorithm("--shadow", name, &[])?;
        for (path, line) in lines.iter().enumerate() {
            let config = LineConfig { aqm: aqm.clone(), ..line.clone() };
            relay.shadow(path, config).map_err(|e| Failure::BadInput(format!("--shadow: {e}")))?;
        }
    }
    let endpoint = match args.metrics {
        Some(address) => Endpoint::tcp(address, args.metrics_any)
            .map_err(|e| Failure::BadInput(format!("--metrics: {e}")))?,
        None => {
            fs::create_dir_all(RUN_DIR).map_err(|e| failed(&format!("cannot make {RUN_DIR}"), &e))?;
            Endpoint::unix(Path::new(RUN_DIR).join(format!("{}.sock", args.id)))
        }
    };
    let (publisher, reader) = Publisher::new(&relay);
    let monitor = Monitor::new(reader, Thresholds::default());
    let server =
        Server::start(&endpoint, monitor, Some((args.uid, args.uid)), |notice| eprintln!("{notice}"));
    let _server = server.map_err(|e| failed("metrics cannot be shown", &e))?;
    let orders = Arc::new(Orders::default());
    signal_hook::flag::register(signal_hook::consts::SIGHUP, orders.asked.clone())
        .map_err(|e| failed("signals", &e))?;
    let (ready, began) = std::sync::mpsc::channel();
    let (halt, uid, taken) = (stop.clone(), args.uid, orders.clone());
    // The thread that reads packets gives up what it does not need; this one keeps the right to remove rules.
    let worker = std::thread::Builder::new()
        .name("quell-relay".into())
        .spawn(move || {
            let confined = confine(CapabilitySet::NET_ADMIN, Some((uid, uid)));
            let fine = confined.is_ok();
            let _ = ready.send(confined);
            if fine {
                turns(relay, &halt, &taken, publisher)
            } else {
                Err(std::io::Error::other("not begun"))
            }
        })
        .map_err(|e| failed("a thread cannot start", &e))?;
    match began.recv() {
        Ok(Ok(())) => {}
        Ok(Err(e)) => return Err(failed("the relay cannot give up its rights", &e)),
        Err(_) => return Err(Failure::Failed("the relay has ended".into())),
    }
    let rules = args.rules();
    let undo = rules.iter().rev().map(|[_, undo]| undo.clone()).collect();
    let pid = std::process::id() as i32;
    let journal = Journal { pid, started: started(pid).unwrap_or(0), undo, lines: lines.to_vec() };
    journal
        .write(&args.id)
        .map_err(|e| failed(&format!("cannot write {}", Journal::path(&args.id).display()), &e))?;
    let guard = Rules { id: &args.id, journal };
    for [does, _] in &rules {
        shell(does).map_err(|e| failed(&format!("`{does}`"), &e))?;
    }
    eprintln!("ready: {} up {} down {}", args.aqm, args.up, args.down);
    let mut current = lines.to_vec();
    while !stop.load(Ordering::Relaxed) && !worker.is_finished() {
        std::thread::sleep(std::time::Duration::from_millis(50));
        let drops = nfqueue::kernel_drops([args.queue, args.queue + 1]);
        orders.queue_dropped.store(drops.queue_dropped, Ordering::Relaxed);
        orders.user_dropped.store(drops.user_dropped, Ordering::Relaxed);
        if orders.asked.swap(false, Ordering::Relaxed) {
            // `reload` has built them; a file that someone else wrote is refused by the relay.
            let lines = Journal::read(&args.id).map(|journal| journal.lines);
            current = lines.clone().unwrap_or(current);
            *orders.lines.lock().unwrap_or_else(PoisonError::into_inner) = lines;
        }
    }
    // Rules first: then nothing comes any more, and what waits is let go.
    drop(guard);
    stop.store(true, Ordering::Relaxed);
    let (paths, ran, log) = worker
        .join()
        .map_err(|_| Failure::Failed("the relay has panicked".into()))?
        .map_err(|e| failed("the relay has failed", &e))?;
    print(&summary(&current, &paths, ran))?;
    log.map_or(Ok(()), |why| Err(Failure::Failed(format!("the log is not whole: {why}"))))
}

type Ended = (Vec<RelayPath>, f64, Option<String>);

/// What the main thread tells the relay.
#[derive(Default)]
struct Orders {
    /// SIGHUP came.
    asked: Arc<AtomicBool>,
    /// Configurations that are to hold from now on.
    lines: Mutex<Option<Vec<LineConfig>>>,
    queue_dropped: AtomicU64,
    user_dropped: AtomicU64,
}

impl Orders {
    /// Without waiting: an order that is just being written is taken the next time.
    fn taken(&self) -> Option<Vec<LineConfig>> {
        self.lines.try_lock().ok()?.take()
    }
}

fn turns(
    mut relay: Relay<NfQueue>,
    stop: &AtomicBool,
    orders: &Orders,
    mut publisher: Publisher,
) -> std::io::Result<Ended> {
    let clock = MonotonicClock::new();
    let mut published = Time::ZERO;
    while !stop.load(Ordering::Relaxed) {
        let now = clock.now();
        if now.since(published) >= EVERY {
            published = now;
            let kernel = KernelDrops {
                queue_dropped: orders.queue_dropped.load(Ordering::Relaxed),
                user_dropped: orders.user_dropped.load(Ordering::Relaxed),
                tun_dropped: 0,
            };
            publisher.publish(&relay, kernel, now);
            for (path, line) in orders.taken().into_iter().flatten().enumerate().take(2) {
                if let Err(e) = relay.reconfigure(path, line, now) {
                    eprintln!("not reloaded: {e}");
                }
            }
        }
        match relay.turn(|| clock.now())? {
            Rest::None => {}
            Rest::Tick(time) => sleep(time),
            Rest::Input(time) => relay.ports.wait(time)?,
        }
    }
    let ran = clock.now().since(Time::ZERO).as_secs_f64();
    let (ports, paths, log) = relay.close(clock.now())?;
    drop(ports);
    Ok((paths, ran, log.err().map(|e| e.to_string())))
}

fn summary(lines: &[LineConfig], paths: &[RelayPath], ran: f64) -> String {
    let head = ["", "algorithm", "rate", "arrived", "sent", "delay", "dropped", "marked", "late P99"];
    let mut rows = vec![head.map(String::from).to_vec()];
    for (line, path) in lines.iter().zip(paths) {
        let (m, c) = (&path.meter, &path.meter.counters);
        let dropped = c.refused.total().packets + c.dropped.total().packets;
        rows.push(vec![
            line.name.clone(),
            line.aqm.name().into(),
            line.rate.to_string(),
            c.arrived.packets.to_string(),
            format!("{} Mbit/s", three_digits(m.sent.bytes as f64 * 8.0 / ran.max(1e-9) / 1e6)),
            m.mean_delay_s().map_or("-".into(), duration),
            dropped.to_string(),
            c.marked.packets.to_string(),
            duration(m.lateness_p99_s().unwrap_or(0.0)),
        ]);
    }
    table(&rows)
}
