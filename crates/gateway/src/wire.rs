//! A bottleneck between two hosts of its own making: network namespaces with nothing else in them.
//!
//! Each *host* is a thread in a network namespace; what it starts is there too. The relay is a third thread that
//! holds the two devices between them and nothing else. Namespaces have no names and die with the process,
//! whatever ends it, and so do the commands on the hosts, with all that they have started: they are in PID namespaces of
//! their own. Nothing is left behind and nothing needs to be undone.

use std::io;
use std::net::Ipv4Addr;
use std::os::fd::OwnedFd;
use std::process::{Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use quell_units::{Bytes, Duration};

use crate::behind::BehindConfig;
use crate::config::LineConfig;
use crate::confine::{Whose, close_calls, close_files, confine};
use crate::course::Course;
use crate::header::FlowKey;
use crate::port::pair::{Framing, Pair, PairCounters};
use crate::port::{MonotonicClock, sleep};
use crate::record::Recorder;
use crate::relay::{Delays, Pace, Path, Relay, Sleep};
use crate::sys;

/// The two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The end where commands run; path 0 leads away from it.
    Near = 0,
    /// The other end.
    Far = 1,
}

impl Side {
    /// Address number `n` of this host: each host has all of its /16.
    pub fn address(self, n: u16) -> Ipv4Addr {
        let [high, low] = n.to_be_bytes();
        Ipv4Addr::new(10, 64 + self as u8, high, low)
    }

    /// The other one.
    pub fn other(self) -> Side {
        match self {
            Side::Near => Side::Far,
            Side::Far => Side::Near,
        }
    }
}

/// The address that a host has unless it chooses another.
pub const HOST: u16 = 1;

/// The configuration of a wire: what lies between the hosts.
#[derive(Clone, Debug)]
pub struct WireConfig {
    /// The lines from near to far, and back, if any.
    pub lines: [Option<LineConfig>; 2],
    /// The delays of each direction, after packets were sent.
    pub delays: [Delays; 2],
    /// The course of each direction.
    pub courses: [Course; 2],
    /// The largest IP packet.
    pub mtu: u16,
    /// The hosts ask for ECN with every connection (`net.ipv4.tcp_ecn`); they grant it in any case.
    pub ecn: bool,
    /// Congestion control of sockets that do not choose (`net.ipv4.tcp_congestion_control`).
    pub congestion: Option<String>,
    /// Packet sockets even where TUN is allowed.
    pub packet_sockets: bool,
}

/// The reason why there is no wire: what failed, and what helps.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct WireError(pub String);

type Job = Box<dyn FnOnce() + Send>;

/// A host: a thread in a network namespace of its own.
pub struct Host {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
    tid: i32,
}

impl Host {
    /// A host with nothing but itself; `name` is its thread's.
    ///
    /// # Errors
    /// If a network namespace is not allowed.
    pub fn new(name: &str) -> Result<Self, WireError> {
        let (jobs, todo) = channel::<Job>();
        let (ready, entered) = channel();
        let thread = std::thread::Builder::new()
            .name(format!("quell-{name}"))
            .spawn(move || {
                let entered = sys::unshare_network();
                let failed = entered.is_err();
                let _ = ready.send(entered.map(|()| rustix::thread::gettid().as_raw_nonzero().get()));
                if !failed {
                    todo.into_iter().for_each(|job| job());
                }
            })
            .map_err(|e| WireError(format!("a thread cannot start: {e}")))?;
        let tid = entered
            .recv()
            .map_err(|_| WireError("a host's thread has ended".into()))?
            .map_err(|e| WireError(format!("a network namespace is not allowed here: {e}; {NAMESPACES}")))?;
        Ok(Host { jobs: Some(jobs), thread: Some(thread), tid })
    }

    /// Its thread, in whose network namespace it is.
    pub fn tid(&self) -> i32 {
        self.tid
    }

    /// Does something on this host, and waits for what it gives.
    ///
    /// # Panics
    /// If `f` panics.
    pub fn run<T: Send + 'static>(&self, f: impl FnOnce() -> T + Send + 'static) -> T {
        let (give, result) = channel();
        let job: Job = Box::new(move || {
            let _ = give.send(f());
        });
        if let Some(jobs) = &self.jobs {
            let _ = jobs.send(job);
        }
        result.recv().expect("a job on a host does not panic")
    }

    /// A thread on this host.
    ///
    /// # Errors
    /// If no thread can start.
    pub fn thread<T: Send + 'static>(
        &self,
        name: &str,
        f: impl FnOnce() -> T + Send + 'static,
    ) -> io::Result<JoinHandle<T>> {
        let name = name.to_string();
        // It inherits the namespace of the thread that starts it.
        self.run(move || std::thread::Builder::new().name(name).spawn(f))
    }

    fn ip(&self, commands: Vec<String>) -> Result<(), WireError> {
        self.run(move || ip(&commands))
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        self.jobs = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The help for a user whose namespaces are not allowed.
pub const NAMESPACES: &str = "run as root, or allow user namespaces: sysctl -w kernel.unprivileged_userns_clone=1 \
(Debian), kernel.apparmor_restrict_unprivileged_userns=0 (Ubuntu), user.max_user_namespaces=10000";

/// Runs `ip` once for each of `commands`.
fn ip(commands: &[String]) -> Result<(), WireError> {
    for command in commands {
        let done = Command::new("ip").args(command.split_whitespace()).output().map_err(|e| {
            WireError(format!(
                "the command `ip` cannot run: {e}; install iproute2 (apt-get install iproute2)"
            ))
        })?;
        if !done.status.success() {
            let said = String::from_utf8_lossy(&done.stderr);
            return Err(WireError(format!("`ip {command}` fails: {}", said.trim())));
        }
    }
    Ok(())
}

/// Runs `ip` once for many commands, a line each.
fn batch(commands: &str) -> Result<(), WireError> {
    use std::io::Write;
    use std::process::Stdio;
    let failed = |e: &dyn core::fmt::Display| WireError(format!("`ip -batch` fails: {e}"));
    let mut ip = Command::new("ip");
    ip.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = ip.spawn().map_err(|e| failed(&e))?;
    if let Some(mut to) = child.stdin.take() {
        to.write_all(commands.as_bytes()).map_err(|e| failed(&e))?;
    }
    let done = child.wait_with_output().map_err(|e| failed(&e))?;
    let said = String::from_utf8_lossy(&done.stderr);
    if done.status.success() { Ok(()) } else { Err(failed(&said.trim())) }
}

/// A setting of the kernel for the calling thread's network namespace.
fn sysctl(name: &str, value: &str) -> Result<(), WireError> {
    std::fs::write(format!("/proc/sys/net/{name}"), value)
        .map_err(|e| WireError(format!("the kernel refuses net/{name} = {value}: {e}")))
}

/// The hosts and the relay between them.
pub struct Wire {
    near: Host,
    far: Host,
    stop: Arc<AtomicBool>,
    relay: Option<JoinHandle<io::Result<Report>>>,
    /// The relay's thread.
    pub relay_tid: i32,
    /// TUN or packet sockets.
    pub framing: Framing,
    /// The relay's clock.
    pub clock: MonotonicClock,
}

/// The report of a relay that has ended.
pub struct Report {
    /// The paths with their meters and their queues' counters.
    pub paths: Vec<Path>,
    /// Counts of what happened beside the lines.
    pub counters: PairCounters,
    /// The time that it ran.
    pub ran: Duration,
    /// Pauses of the loop longer than a second.
    pub pauses: u64,
    /// The reason why the log is not whole, if it is not.
    pub log: Option<String>,
}

/// The hosts and a relay between them that nobody turns yet.
pub struct Prepared {
    /// The hosts.
    pub near: Host,
    /// See `near`.
    pub far: Host,
    /// The relay.
    pub relay: Relay<Pair>,
    /// TUN or packet sockets.
    pub framing: Framing,
}

impl Prepared {
    /// Sets everything up but the relay's thread.
    ///
    /// # Errors
    /// Says what is not allowed here and what would allow it.
    pub fn new(config: WireConfig, recorder: Option<Recorder>) -> Result<Prepared, WireError> {
        let refuse = |e: &dyn core::fmt::Display| WireError(e.to_string());
        let near = Host::new("near")?;
        let far = Host::new("far")?;
        let (devices, framing) = devices(&near, &far, config.packet_sockets, config.mtu)?;
        for (side, host) in [(Side::Near, &near), (Side::Far, &far)] {
            configure(side, host, &config)?;
        }
        let packets = buffers(&config);
        let key = FlowKey::random().map_err(|e| refuse(&e))?;
        let pair = Pair::new(devices, framing, usize::from(config.mtu), packets, key).delay_by_address();
        let [up, down] = config.lines;
        let [there, back] = config.delays;
        let paths = vec![(up, there), (down, back)];
        let mut relay = Relay::new(pair, paths, Pace::default(), recorder).map_err(|e| refuse(&e))?;
        for (path, course) in config.courses.into_iter().enumerate() {
            relay.follow(path, course);
        }
        Ok(Prepared { near, far, relay, framing })
    }

    /// Gives the relay a thread of its own, without any rights.
    ///
    /// # Errors
    /// If there can be no such thread.
    pub fn start(self) -> Result<Wire, WireError> {
        let refuse = |e: &dyn core::fmt::Display| WireError(e.to_string());
        let Prepared { near, far, relay, framing } = self;
        let stop = Arc::new(AtomicBool::new(false));
        let clock = MonotonicClock::new();
        let (ready, began) = channel();
        let stopped = stop.clone();
        let thread = std::thread::Builder::new()
            .name("quell-relay".into())
            .spawn(move || {
                // It needs its devices and nothing else. Where a kernel has no landlock or no filter, it has no rights
                // all the same.
                let confined = confine(rustix::thread::CapabilitySet::empty(), None)
                    .and_then(|()| close_files())
                    .and_then(|_| close_calls(Whose::Thread));
                let _ = ready.send(confined.map(|_| rustix::thread::gettid().as_raw_nonzero().get()));
                turns(relay, &clock, &stopped)
            })
            .map_err(|e| refuse(&e))?;
        let relay_tid = began
            .recv()
            .map_err(|_| WireError("the relay has ended".into()))?
            .map_err(|e| WireError(format!("the relay cannot give up its rights: {e}")))?;
        Ok(Wire { near, far, stop, relay: Some(thread), relay_tid, framing, clock })
    }
}

impl Wire {
    /// Sets everything up; traffic may begin when this returns.
    ///
    /// # Errors
    /// Says what is not allowed here and what would allow it.
    pub fn new(config: WireConfig, recorder: Option<Recorder>) -> Result<Wire, WireError> {
        Prepared::new(config, recorder)?.start()
    }

    /// A host.
    pub fn host(&self, side: Side) -> &Host {
        match side {
            Side::Near => &self.near,
            Side::Far => &self.far,
        }
    }

    /// Lets connections of a host to these addresses of the other one ask for ECN, whatever the others do.
    ///
    /// # Errors
    /// If `ip` cannot say so.
    pub(crate) fn ask_for_ecn(&self, side: Side, to: impl Iterator<Item = u16>) -> Result<(), WireError> {
        let route = |n: u16| format!("route add {}/32 dev quell0 features ecn\n", side.other().address(n));
        let routes: String = to.map(route).collect();
        if routes.is_empty() { Ok(()) } else { self.host(side).run(move || batch(&routes)) }
    }

    /// Stops the relay.
    ///
    /// # Errors
    /// If it had failed.
    pub fn close(mut self) -> io::Result<Report> {
        self.stop.store(true, Ordering::Relaxed);
        match self.relay.take().map(JoinHandle::join) {
            Some(Ok(report)) => report,
            _ => Err(io::Error::other("the relay has panicked")),
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(relay) = self.relay.take() {
            let _ = relay.join();
        }
    }
}

fn turns(mut relay: Relay<Pair>, clock: &MonotonicClock, stop: &AtomicBool) -> io::Result<Report> {
    while !stop.load(Ordering::Relaxed) {
        match relay.turn(|| clock.now())? {
            Sleep::None => {}
            Sleep::Tick(time) => sleep(time),
            Sleep::Input(time) => relay.ports.wait(time)?,
        }
    }
    let now = clock.now();
    let pauses = relay.pauses;
    let (ports, paths, log) = relay.close(now)?;
    let log = log.err().map(|e| e.to_string());
    Ok(Report { paths, counters: ports.counters, ran: now.since(quell_units::Time::ZERO), pauses, log })
}

/// The most packets that may be in the relay's hands at once.
fn buffers(config: &WireConfig) -> usize {
    const SMALLEST: Bytes = Bytes::new(64);
    let mut packets = 4096;
    for ((line, delays), course) in config.lines.iter().zip(&config.delays).zip(&config.courses) {
        let Some(line) = line else {
            packets += 1 << 14;
            continue;
        };
        // Small packets fill a buffer of bytes with many; on the way the mean holds, with a margin.
        packets += line.most_packets(SMALLEST);
        let (rate, delay) = (course.fastest(line.rate), course.longest(delays.longest()));
        let delay = delay + line.behind.as_ref().map_or(Duration::ZERO, BehindConfig::latest);
        let way = rate.bytes_per_sec() * delay.as_secs_f64();
        packets += (way / line.mean_packet.get() as f64 * 4.0) as usize;
    }
    packets.min(1 << 18)
}

/// One device for each host.
fn devices(
    near: &Host,
    far: &Host,
    packet_sockets: bool,
    mtu: u16,
) -> Result<([OwnedFd; 2], Framing), WireError> {
    if !packet_sockets {
        let tun = |host: &Host| host.run(|| sys::tun("quell0"));
        match (tun(near), tun(far)) {
            (Ok(a), Ok(b)) => return Ok(([a, b], Framing::Ip)),
            (Err(e), _) | (_, Err(e))
                if e.kind() != io::ErrorKind::PermissionDenied && e.kind() != io::ErrorKind::NotFound =>
            {
                return Err(WireError(format!("/dev/net/tun: {e}")));
            }
            // Packet sockets need no device file.
            _ => {}
        }
    }
    let between = Host::new("between")?;
    let (near_tid, far_tid) = (near.tid, far.tid);
    between.ip(vec![
        format!("link add quell0 netns {near_tid} type veth peer name near"),
        format!("link add quell0 netns {far_tid} type veth peer name far"),
        // A veth device drops what is larger than its peer may send.
        format!("link set near mtu {mtu} up"),
        format!("link set far mtu {mtu} up"),
    ])?;
    for host in [near, far] {
        host.run(|| sys::without_offloads("quell0"))
            .map_err(|e| WireError(format!("offloads of a veth device cannot be turned off: {e}")))?;
    }
    let open = |name: &'static str| {
        between
            .run(move || sys::packet_socket(name))
            .map_err(|e| WireError(format!("a packet socket is not allowed here: {e}; {NAMESPACES}")))
    };
    Ok(([open("near")?, open("far")?], Framing::Ethernet))
}

/// Addresses, routes and settings of a host.
fn configure(side: Side, host: &Host, config: &WireConfig) -> Result<(), WireError> {
    let (own, other) = (64 + side as u8, 64 + side.other() as u8);
    let mtu = config.mtu;
    let mut commands = vec![
        "link set lo up".to_string(),
        format!("link set quell0 mtu {mtu} txqueuelen 10000"),
        "link set quell0 up".into(),
        format!("addr add 10.{own}.0.{HOST}/32 dev quell0"),
        // Every address of the network is this host's (AnyIP), so each flow may have its own.
        format!("route add local 10.{own}.0.0/16 dev lo"),
        format!("route add 10.{other}.0.0/16 dev quell0 src 10.{own}.0.{HOST}"),
    ];
    // IPv6 needs 1280 bytes (RFC 8200 section 5).
    if mtu >= 1280 && std::path::Path::new("/proc/sys/net/ipv6").exists() {
        commands.push(format!("-6 addr add fd00:{own}::{HOST}/64 dev quell0 nodad"));
        commands.push(format!("-6 route add fd00:{other}::/64 dev quell0"));
    }
    host.ip(commands)?;
    let (ecn, congestion) = (config.ecn, config.congestion.clone());
    host.run(move || {
        sysctl("ipv4/tcp_ecn", if ecn { "1" } else { "2" })?;
        // What one connection learned is not for the next one.
        sysctl("ipv4/tcp_no_metrics_save", "1")?;
        // No connection is limited by a socket's buffer before the queue is.
        sysctl("ipv4/tcp_wmem", "4096 65536 67108864")?;
        sysctl("ipv4/tcp_rmem", "4096 131072 67108864")?;
        if let Some(name) = congestion {
            sysctl("ipv4/tcp_congestion_control", &name)?;
        }
        Ok(())
    })
}

/// A command that will run in a user namespace in which it is root, for users who are not; the namespaces of networks
/// follow inside. It is killed when the thread that starts it ends.
///
/// # Errors
/// If such a namespace is not allowed.
pub fn in_user_namespace(command: &mut Command) -> &mut Command {
    // In this order: who becomes another user loses the tie (prctl(2)).
    sys::is_killed_with_its_parent(sys::in_user_namespace(command))
}

/// Asks a process that was started here to terminate.
///
/// # Errors
/// If it cannot be asked.
pub fn terminate(child: &std::process::Child) -> io::Result<()> {
    match rustix::process::Pid::from_raw(child.id() as i32) {
        Some(pid) => Ok(rustix::process::kill_process(pid, rustix::process::Signal::TERM)?),
        None => Ok(()),
    }
}

/// A command on a host, and all that it has started.
#[derive(Debug)]
pub struct Running(std::process::Child);

impl Running {
    /// Returns the command's exit status if it has ended; then nothing that it started is left.
    ///
    /// # Errors
    /// If that cannot be known.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.0.try_wait()
    }

    /// Kills what has not ended, and waits until nothing is left.
    ///
    /// # Errors
    /// If that cannot be known.
    pub fn end(&mut self) -> io::Result<ExitStatus> {
        // Not SIGKILL: what is killed waits for nothing.
        for signal in [sys::END, rustix::process::Signal::CONT] {
            if let (None, Some(pid)) =
                (self.0.try_wait()?, rustix::process::Pid::from_raw(self.0.id() as i32))
            {
                rustix::process::kill_process(pid, signal)?;
            }
        }
        self.0.wait()
    }
}

/// Starts a command on a host, in a PID namespace: it and all that it starts end when it does, or when this process
/// does, however that ends.
///
/// # Errors
/// If it cannot run.
pub fn spawn(host: &Host, mut command: Command) -> io::Result<Running> {
    host.run(move || sys::in_processes_of_its_own(&mut command).spawn()).map(Running)
}

/// Tells whether this process may make network namespaces without a user namespace.
pub fn may_make_namespaces() -> bool {
    let sets = rustix::thread::capabilities(None);
    let needed = rustix::thread::CapabilitySet::SYS_ADMIN | rustix::thread::CapabilitySet::NET_ADMIN;
    sets.is_ok_and(|sets| sets.effective.contains(needed))
}
