//! Real traffic across a wire: the kernel's TCP and UDP, driven as a scenario says.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration as Wait;

use quell_units::{Duration, Time};
use rustix::event::epoll;
use rustix::net::RecvFlags;
use socket2::{Domain, Protocol, Socket, Type};

use crate::port::{MonotonicClock, sleep};
use crate::wire::{Side, Wire, WireError};

/// A flow and what drives it.
pub struct Flow {
    /// The host that sends data.
    pub from: Side,
    /// When it begins, from when traffic does.
    pub start: Duration,
    /// When it sends nothing new any more.
    pub stop: Duration,
    /// The DSCP, 0 to 63.
    pub dscp: u8,
    /// What it sends.
    pub kind: Kind,
}

/// Draws the next size in bytes and the time until the one after.
pub type Draw = Box<dyn FnMut() -> (u64, Duration) + Send>;

/// What a flow sends.
pub enum Kind {
    /// TCP.
    Tcp {
        /// The congestion control, as the kernel names it.
        congestion: String,
        /// The largest segment's data in bytes, without TCP's options.
        segment: u16,
        /// It asks for ECN, whether its host does or not.
        ecn: bool,
        /// What is sent through it.
        app: App,
    },
    /// UDP datagrams: their sizes with IP's header, and the gaps after them.
    Udp {
        /// Sizes and gaps.
        datagrams: Draw,
        /// They claim to be ECN-capable.
        ecn: bool,
    },
}

/// What is sent through TCP.
pub enum App {
    /// Data without end.
    Bulk,
    /// What a source hands over by its own clock: sizes, and the gaps after them.
    Paced(Draw),
    /// Transfers, each followed by a time to think.
    Transfers {
        /// Sizes and thinking times.
        draw: Draw,
        /// How many, or without end.
        count: Option<u32>,
        /// Each opens a connection of its own.
        fresh: bool,
    },
}

/// The port that receivers listen at.
const PORT: u16 = 5201;
/// The first flow's address; lower ones are the hosts' own.
const FIRST: u16 = 16;
/// The most flows: one for each address.
pub const MOST_FLOWS: usize = u16::MAX as usize - FIRST as usize;

/// Traffic that runs.
pub struct Traffic {
    stop: Arc<AtomicBool>,
    flows: Vec<JoinHandle<io::Result<u64>>>,
    /// Of the receivers, which end after the flows: otherwise these would find their connections closed.
    stop_receivers: Arc<AtomicBool>,
    receivers: Vec<JoinHandle<io::Result<u64>>>,
    counts: Arc<Vec<AtomicU64>>,
    transfers: Arc<Mutex<Vec<Transferred>>>,
}

/// A transfer of which all has arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transferred {
    /// The flow's index.
    pub flow: usize,
    /// When it was given to TCP, by the wire's clock; of a connection of its own, before that was opened.
    pub start: Time,
    /// When its sender knew that all had arrived.
    pub end: Time,
    /// Its size.
    pub bytes: u64,
}

/// The number by which a path's delays and addresses know flow `index`.
pub fn address(index: usize) -> u16 {
    FIRST + index as u16
}

/// The kernel's congestion controls.
pub fn congestion_controls() -> Vec<String> {
    names_of("tcp_available_congestion_control")
}

/// Those that a host of a namespace may have by default, and sockets without privileges may choose.
pub fn allowed_congestion_controls() -> Vec<String> {
    names_of("tcp_allowed_congestion_control")
}

/// That of this host's sockets that do not choose, if the kernel says.
pub fn default_congestion_control() -> Option<String> {
    names_of("tcp_congestion_control").pop()
}

fn names_of(file: &str) -> Vec<String> {
    let names = std::fs::read_to_string(format!("/proc/sys/net/ipv4/{file}")).unwrap_or_default();
    names.split_whitespace().map(str::to_string).collect()
}

impl Traffic {
    /// Starts receivers and flows; times count from the beginning of the wire's clock.
    ///
    /// # Errors
    /// If a socket or a thread is refused.
    pub fn start(wire: &Wire, flows: Vec<Flow>) -> Result<Traffic, WireError> {
        let failed = |what: &str, e: io::Error| WireError(format!("{what}: {e}"));
        if flows.len() > MOST_FLOWS {
            return Err(WireError(format!("{} flows are more than {MOST_FLOWS}", flows.len())));
        }
        let stop = Arc::new(AtomicBool::new(false));
        let counts: Arc<Vec<AtomicU64>> = Arc::new(flows.iter().map(|_| AtomicU64::new(0)).collect());
        let stop_receivers = Arc::new(AtomicBool::new(false));
        let (mut threads, mut receivers) = (Vec::new(), Vec::new());
        for side in [Side::Near, Side::Far] {
            let (stop, counts) = (stop_receivers.clone(), counts.clone());
            let sockets = wire
                .host(side)
                .run(|| {
                    let any = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, PORT);
                    let listener = TcpListener::bind(any)?;
                    listener.set_nonblocking(true)?;
                    let datagrams = UdpSocket::bind(any)?;
                    datagrams.set_nonblocking(true)?;
                    Ok((listener, datagrams))
                })
                .map_err(|e| failed("receivers cannot listen", e))?;
            let thread = wire
                .host(side)
                .thread("quell-receive", move || receive(&sockets.0, &sockets.1, &stop, &counts).map(|()| 0));
            receivers.push(thread.map_err(|e| failed("a thread cannot start", e))?);
        }
        for side in [Side::Near, Side::Far] {
            let asks = |flow: &Flow| flow.from == side && matches!(flow.kind, Kind::Tcp { ecn: true, .. });
            let own = flows.iter().enumerate().filter(|(_, flow)| asks(flow)).map(|(i, _)| address(i));
            wire.ask_for_ecn(side, own)?;
        }
        let transfers = Arc::new(Mutex::new(Vec::new()));
        let mut flows: Vec<(usize, Flow)> = flows.into_iter().enumerate().collect();
        flows.sort_by_key(|(_, flow)| flow.start);
        for side in [Side::Near, Side::Far] {
            let (own, others): (Vec<_>, Vec<_>) = flows.into_iter().partition(|(_, f)| f.from == side);
            flows = others;
            let (clock, stop, transfers) = (wire.clock, stop.clone(), transfers.clone());
            let thread = wire.host(side).thread("quell-start", move || start(own, clock, &stop, &transfers));
            threads.push(thread.map_err(|e| failed("a thread cannot start", e))?);
        }
        Ok(Traffic { stop, flows: threads, stop_receivers, receivers, counts, transfers })
    }

    /// The bytes that each flow's receiver has had so far, without headers.
    pub fn received(&self) -> Vec<u64> {
        self.counts.iter().map(|c| c.load(Ordering::Relaxed)).collect()
    }

    /// The transfers that have finished so far, in the order in which they did.
    pub fn transfers(&self) -> Vec<Transferred> {
        self.transfers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends all flows at once; gives the first failure, if there was one.
    ///
    /// # Errors
    /// What a flow or a receiver met.
    pub fn finish(self) -> io::Result<()> {
        self.stop.store(true, Ordering::Relaxed);
        let sent = joined(self.flows);
        self.stop_receivers.store(true, Ordering::Relaxed);
        let received = joined(self.receivers);
        sent.and(received).map(|_| ())
    }
}

/// Takes in whatever comes, by flow.
fn receive(
    listener: &TcpListener,
    datagrams: &UdpSocket,
    stop: &AtomicBool,
    counts: &[AtomicU64],
) -> io::Result<()> {
    const LISTENER: u64 = u64::MAX;
    const DATAGRAMS: u64 = u64::MAX - 1;
    let flow_of = |address: Option<SocketAddr>| match address {
        Some(SocketAddr::V4(a)) => {
            let [_, _, high, low] = a.ip().octets();
            usize::from(u16::from_be_bytes([high, low]).wrapping_sub(FIRST))
        }
        _ => usize::MAX,
    };
    let epoll = epoll::create(epoll::CreateFlags::CLOEXEC)?;
    let watch = |fd: rustix::fd::BorrowedFd<'_>, what: u64| {
        epoll::add(&epoll, fd, epoll::EventData::new_u64(what), epoll::EventFlags::IN)
    };
    watch(listener.as_fd(), LISTENER)?;
    watch(datagrams.as_fd(), DATAGRAMS)?;
    let mut connections = slab::Slab::new();
    let mut events = Vec::with_capacity(64);
    let mut buffer = vec![0u8; 1 << 16];
    while !stop.load(Ordering::Relaxed) {
        events.clear();
        let wait = crate::port::timespec(Duration::from_millis(50));
        match epoll::wait(&epoll, rustix::buffer::spare_capacity(&mut events), Some(&wait)) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(e) => return Err(e.into()),
        }
        for event in &events {
            match event.data.u64() {
                LISTENER => {
                    while let Ok((socket, _)) = listener.accept() {
                        socket.set_nonblocking(true)?;
                        let flow = flow_of(socket.local_addr().ok());
                        let entry = connections.vacant_entry();
                        watch(socket.as_fd(), entry.key() as u64)?;
                        entry.insert((socket, flow));
                    }
                }
                DATAGRAMS => {
                    while let Ok((length, from)) = datagrams.recv_from(&mut buffer) {
                        if let Some(count) = counts.get(flow_of(Some(from))) {
                            count.fetch_add(length as u64, Ordering::Relaxed);
                        }
                    }
                }
                key => {
                    let Some((socket, flow)) = connections.get(key as usize) else { continue };
                    // What came is dropped in the kernel (tcp(7), MSG_TRUNC).
                    let ended = loop {
                        match rustix::net::recv(socket, &mut buffer[..], RecvFlags::TRUNC) {
                            Ok((_, 0)) => break true,
                            Ok((_, length)) => {
                                if let Some(count) = counts.get(*flow) {
                                    count.fetch_add(length as u64, Ordering::Relaxed);
                                }
                            }
                            Err(rustix::io::Errno::AGAIN) => break false,
                            Err(_) => break true,
                        }
                    };
                    if ended {
                        // Closing it takes it from the set.
                        let _ = connections.remove(key as usize);
                    }
                }
            }
        }
    }
    Ok(())
}

/// How often a flow that waits looks whether all is over.
const LOOK: Wait = Wait::from_millis(50);

/// Waits until `time`; false if all is over before.
fn until(time: Time, clock: &MonotonicClock, stop: &AtomicBool) -> bool {
    loop {
        let now = clock.now();
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        if now >= time {
            return true;
        }
        sleep(time.since(now).min(Duration::from_millis(50)));
    }
}

/// Starts each flow when its time comes, in a thread of its own; gives what all of them sent.
fn start(
    flows: Vec<(usize, Flow)>,
    clock: MonotonicClock,
    stop: &Arc<AtomicBool>,
    transfers: &Arc<Mutex<Vec<Transferred>>>,
) -> io::Result<u64> {
    /// A flow's thread needs little.
    const STACK: usize = 1 << 17;
    let mut running: Vec<JoinHandle<io::Result<u64>>> = Vec::new();
    let mut sent = 0;
    for (index, flow) in flows {
        if !until(Time::ZERO + flow.start, &clock, stop) {
            break;
        }
        let (stop, transfers) = (stop.clone(), transfers.clone());
        let thread = std::thread::Builder::new().name("quell-flow".into()).stack_size(STACK);
        running.push(thread.spawn(move || send(index, flow, &clock, &stop, &transfers))?);
        let (ended, still) = running.into_iter().partition(JoinHandle::is_finished);
        running = still;
        sent += joined(ended)?;
    }
    Ok(sent + joined(running)?)
}

fn joined(threads: Vec<JoinHandle<io::Result<u64>>>) -> io::Result<u64> {
    let one = |t: JoinHandle<io::Result<u64>>| {
        t.join().unwrap_or_else(|_| Err(io::Error::other("a flow's thread has panicked")))
    };
    threads.into_iter().map(one).sum()
}

fn send(
    index: usize,
    flow: Flow,
    clock: &MonotonicClock,
    stop: &AtomicBool,
    transfers: &Mutex<Vec<Transferred>>,
) -> io::Result<u64> {
    let last = Time::ZERO + flow.stop;
    let number = address(index);
    let from = SocketAddr::V4(SocketAddrV4::new(flow.from.address(number), 0));
    let to = SocketAddr::V4(SocketAddrV4::new(flow.from.other().address(number), PORT));
    match flow.kind {
        Kind::Udp { mut datagrams, ecn } => {
            let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
            socket.bind(&from.into())?;
            socket.set_tos_v4(u32::from(flow.dscp) << 2 | if ecn { 2 } else { 0 })?;
            socket.connect(&to.into())?;
            // IP's and UDP's headers are part of the size.
            const HEADERS: u64 = 28;
            let buffer = vec![0u8; 1 << 16];
            let mut next = clock.now();
            let mut sent = 0;
            while next < last && until(next, clock, stop) {
                let (size, gap) = datagrams();
                let size = size.clamp(HEADERS, 65_000) - HEADERS;
                // What the local queue has no room for is lost, as anywhere.
                let _ = socket.send(&buffer[..size as usize]);
                sent += size;
                next += gap;
            }
            Ok(sent)
        }
        Kind::Tcp { congestion, segment, app, .. } => {
            let open = || -> io::Result<Socket> {
                let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
                socket.set_tcp_congestion(congestion.as_bytes())?;
                socket.set_tcp_mss(u32::from(segment))?;
                socket.set_tos_v4(u32::from(flow.dscp) << 2)?;
                socket.bind(&from.into())?;
                socket.set_write_timeout(Some(LOOK))?;
                Ok(socket)
            };
            let over = || stop.load(Ordering::Relaxed) || clock.now() >= last;
            match app {
                App::Bulk => match connect(&open, &to, &over)? {
                    Some(socket) => {
                        let sent = write(&socket, u64::MAX, &over)?;
                        reset(&socket);
                        Ok(sent)
                    }
                    None => Ok(0),
                },
                App::Paced(mut draw) => match connect(&open, &to, &over)? {
                    Some(socket) => {
                        // A packet is sent when it is handed over, and does not wait for the next one.
                        socket.set_tcp_nodelay(true)?;
                        let mut next = clock.now();
                        let mut sent = 0;
                        while next < last && until(next, clock, stop) {
                            let (size, gap) = draw();
                            sent += write(&socket, size, &over)?;
                            next += gap;
                        }
                        reset(&socket);
                        Ok(sent)
                    }
                    None => Ok(0),
                },
                App::Transfers { mut draw, count, fresh } => {
                    let mut sent = 0;
                    let mut kept: Option<Socket> = None;
                    for _ in 0..count.unwrap_or(u32::MAX) {
                        let (size, think) = draw();
                        let start = clock.now();
                        let socket = match kept.take() {
                            Some(socket) => socket,
                            None => match connect(&open, &to, &over)? {
                                Some(socket) => socket,
                                None => break,
                            },
                        };
                        let written = write(&socket, size, &over)?;
                        sent += written;
                        let arrived = if fresh {
                            delivered(&socket, &over)
                        } else {
                            let arrived = acknowledged(&socket, &over)?;
                            kept = Some(socket);
                            arrived
                        };
                        if arrived && written == size {
                            let done = Transferred { flow: index, start, end: clock.now(), bytes: size };
                            transfers.lock().unwrap_or_else(PoisonError::into_inner).push(done);
                        }
                        if !until(clock.now() + think, clock, stop) || clock.now() >= last {
                            break;
                        }
                    }
                    if let Some(socket) = kept {
                        reset(&socket);
                    }
                    Ok(sent)
                }
            }
        }
    }
}

/// Opens a connection; `None` if all is over first. What the path loses TCP sends again.
fn connect(
    open: &impl Fn() -> io::Result<Socket>,
    to: &SocketAddr,
    over: &impl Fn() -> bool,
) -> io::Result<Option<Socket>> {
    let socket = open()?;
    socket.set_nonblocking(true)?;
    match socket.connect(&(*to).into()) {
        Ok(()) => {}
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::INPROGRESS.raw_os_error()) => {}
        Err(e) => return Err(e),
    }
    loop {
        use rustix::event::{PollFd, PollFlags, poll};
        if over() {
            return Ok(None);
        }
        let mut fds = [PollFd::new(&socket, PollFlags::OUT)];
        match poll(&mut fds, Some(&crate::port::timespec(Duration::from_millis(50)))) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => break,
            Err(e) => return Err(e.into()),
        }
    }
    if let Some(e) = socket.take_error()? {
        return Err(e);
    }
    socket.set_nonblocking(false)?;
    Ok(Some(socket))
}

/// Writes `bytes` of nothing; fewer if all is over first.
fn write(socket: &Socket, bytes: u64, over: &impl Fn() -> bool) -> io::Result<u64> {
    static NOTHING: [u8; 1 << 16] = [0; 1 << 16];
    let mut left = bytes;
    while left > 0 && !over() {
        let most = left.min(NOTHING.len() as u64) as usize;
        match socket.send(&NOTHING[..most]) {
            Ok(n) => left -= n as u64,
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(bytes - left)
}

/// Ends the connection and waits until the other end has closed too; whether it has, and so all has arrived.
fn delivered(socket: &Socket, over: &impl Fn() -> bool) -> bool {
    let _ = socket.shutdown(std::net::Shutdown::Write);
    let _ = socket.set_read_timeout(Some(LOOK));
    let mut byte = [core::mem::MaybeUninit::uninit()];
    while !over() {
        match socket.recv(&mut byte) {
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {}
            end => return matches!(end, Ok(0)),
        }
    }
    reset(socket);
    false
}

/// Waits until everything sent is acknowledged: nothing is left in the send queue (tcp(7), SIOCOUTQ); whether it is.
fn acknowledged(socket: &Socket, over: &impl Fn() -> bool) -> io::Result<bool> {
    while crate::sys::unacknowledged(socket.as_fd())? > 0 {
        if over() {
            return Ok(false);
        }
        sleep(Duration::from_millis(1));
    }
    Ok(true)
}

/// The connection ends at once, and what waits in the host is gone.
fn reset(socket: &Socket) {
    let _ = socket.set_linger(Some(Wait::ZERO));
}
