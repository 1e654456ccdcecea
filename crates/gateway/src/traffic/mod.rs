//! Real traffic across a wire: the kernel's TCP and UDP, driven as a scenario says.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration as Wait, Instant};

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
    /// Transfers for which the receiver asks: it opens the connection, sends a request, and thinks when it has
    /// all of the reply.
    Asked {
        /// What it asks for.
        draw: Ask,
        /// How many, or without end.
        count: Option<u32>,
        /// Each opens a connection of its own.
        fresh: bool,
    },
}

/// Draws the next reply's size in bytes, the request's, both without headers, and the time to think after the reply.
pub type Ask = Box<dyn FnMut() -> (u64, u64, Duration) + Send>;

/// The port that receivers listen at.
const PORT: u16 = 5201;
/// The port that senders listen at who are asked.
const ASKED: u16 = 5202;
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
    watch: Arc<Watch>,
}

/// What a flow's senders have done so far, as their kernel tells.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Done {
    /// Segments with data that were sent, those sent again included.
    pub sent: u64,
    /// Segments that were sent again, also those that open connections.
    pub sent_again: u64,
    /// Retransmission timeouts; none if the kernel does not say, or there was no connection yet.
    pub timeouts: Option<u64>,
    /// For how many seconds data arrived, of all connections together.
    pub busy_s: f64,
    /// How many round trips that were, by the smoothed round-trip times of the kernel.
    pub round_trips: f64,
}

/// The connections that send, which are looked at while they are open.
struct Watch(Mutex<Watched>);

struct Watched {
    open: Vec<Open>,
    done: Vec<Done>,
}

/// A connection, and what was seen of it last.
struct Open {
    flow: usize,
    socket: Arc<Socket>,
    info: crate::sys::TcpInfo,
    looked: Instant,
}

impl Open {
    /// Takes in what it has done since it was looked at.
    fn look(&mut self, done: &mut Done) {
        // A socket that says nothing adds nothing.
        let Ok(now) = crate::sys::tcp_info(self.socket.as_fd()) else { return };
        let more = |now: u32, last: u32| u64::from(now.wrapping_sub(last));
        let last = core::mem::replace(&mut self.info, now);
        let passed = core::mem::replace(&mut self.looked, Instant::now()).elapsed().as_secs_f64();
        done.sent += more(now.sent, last.sent);
        done.sent_again += more(now.sent_again, last.sent_again);
        if let Some(timeouts) = now.timeouts {
            *done.timeouts.get_or_insert(0) += u64::from(timeouts.wrapping_sub(last.timeouts.unwrap_or(0)));
        }
        if now.delivered != last.delivered && now.rtt_us > 0 {
            done.busy_s += passed;
            done.round_trips += passed * 1e6 / f64::from(now.rtt_us);
        }
    }
}

impl Watch {
    fn new(flows: usize) -> Self {
        Watch(Mutex::new(Watched { open: Vec::new(), done: vec![Done::default(); flows] }))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Watched> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches a connection of flow `flow` until it is dropped.
    fn over(self: &Arc<Self>, flow: usize, socket: Socket) -> Sending {
        let socket = Arc::new(socket);
        let (info, looked) = (crate::sys::TcpInfo::default(), Instant::now());
        self.lock().open.push(Open { flow, socket: socket.clone(), info, looked });
        Sending { socket, watch: self.clone() }
    }

    /// Looks at all that are open; gives what each flow has done.
    fn look(&self) -> Vec<Done> {
        let Watched { open, done } = &mut *self.lock();
        for open in open {
            open.look(&mut done[open.flow]);
        }
        done.clone()
    }
}

/// A connection that sends, and is looked at once more before it is closed.
struct Sending {
    socket: Arc<Socket>,
    watch: Arc<Watch>,
}

impl core::ops::Deref for Sending {
    type Target = Socket;

    fn deref(&self) -> &Socket {
        &self.socket
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        let Watched { open, done } = &mut *self.watch.lock();
        if let Some(at) = open.iter().position(|open| Arc::ptr_eq(&open.socket, &self.socket)) {
            let mut open = open.swap_remove(at);
            open.look(&mut done[open.flow]);
        }
    }
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
            // Who opens the connection asks.
            let asks = |flow: &Flow| match &flow.kind {
                Kind::Tcp { ecn: true, app: App::Asked { .. }, .. } => flow.from != side,
                Kind::Tcp { ecn: true, .. } => flow.from == side,
                _ => false,
            };
            let own = flows.iter().enumerate().filter(|(_, flow)| asks(flow)).map(|(i, _)| address(i));
            wire.ask_for_ecn(side, own)?;
        }
        let transfers = Arc::new(Mutex::new(Vec::new()));
        let watch = Arc::new(Watch::new(flows.len()));
        let mut ends: Vec<End> =
            flows.into_iter().enumerate().flat_map(|(i, flow)| End::of(i, flow)).collect();
        ends.sort_by_key(|end| end.start);
        for side in [Side::Near, Side::Far] {
            let (own, others): (Vec<_>, Vec<_>) = ends.into_iter().partition(|end| end.at == side);
            ends = others;
            let run = Run {
                clock: wire.clock,
                stop: stop.clone(),
                transfers: transfers.clone(),
                counts: counts.clone(),
                watch: watch.clone(),
            };
            let thread = wire.host(side).thread("quell-start", move || start(own, &run));
            threads.push(thread.map_err(|e| failed("a thread cannot start", e))?);
        }
        Ok(Traffic { stop, flows: threads, stop_receivers, receivers, counts, transfers, watch })
    }

    /// What each flow's senders have done so far. Round-trip times are those of the moments at which this is asked, and
    /// at which a connection ends: the more often, the nearer their mean.
    pub fn done(&self) -> Vec<Done> {
        self.watch.look()
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

/// What a flow does at one of the hosts.
struct End {
    /// The flow's number.
    flow: usize,
    /// The host.
    at: Side,
    start: Duration,
    stop: Duration,
    dscp: u8,
    does: Does,
}

enum Does {
    /// Sends by itself.
    Sends(Kind),
    /// Sends what it is asked for.
    Serves { congestion: String, segment: u16, shared: Arc<Exchange> },
    /// Asks, and receives.
    Asks { segment: u16, draw: Ask, count: Option<u32>, fresh: bool, shared: Arc<Exchange> },
}

/// What the two ends of a flow that is asked know of each other.
#[derive(Default)]
struct Exchange {
    /// Who is asked listens.
    listens: AtomicBool,
    /// When the transfer at hand began, by the wire's clock.
    began_ns: AtomicU64,
}

impl End {
    fn of(index: usize, flow: Flow) -> Vec<End> {
        let Flow { from, start, stop, dscp, kind } = flow;
        let end = |at, does| End { flow: index, at, start, stop, dscp, does };
        match kind {
            Kind::Tcp { congestion, segment, app: App::Asked { draw, count, fresh }, .. } => {
                let shared = Arc::<Exchange>::default();
                let asks = Does::Asks { segment, draw, count, fresh, shared: shared.clone() };
                vec![end(from, Does::Serves { congestion, segment, shared }), end(from.other(), asks)]
            }
            kind => vec![end(from, Does::Sends(kind))],
        }
    }
}

/// What all flows share while they run.
#[derive(Clone)]
struct Run {
    clock: MonotonicClock,
    stop: Arc<AtomicBool>,
    transfers: Arc<Mutex<Vec<Transferred>>>,
    counts: Arc<Vec<AtomicU64>>,
    watch: Arc<Watch>,
}

impl Run {
    fn transferred(&self, transfer: Transferred) {
        self.transfers.lock().unwrap_or_else(PoisonError::into_inner).push(transfer);
    }
}

/// Starts each flow's end when its time comes, in a thread of its own; gives what all of them sent.
fn start(ends: Vec<End>, run: &Run) -> io::Result<u64> {
    /// A flow's thread needs little.
    const STACK: usize = 1 << 17;
    let mut running: Vec<JoinHandle<io::Result<u64>>> = Vec::new();
    let mut sent = 0;
    for end in ends {
        if !until(Time::ZERO + end.start, &run.clock, &run.stop) {
            break;
        }
        let own = run.clone();
        let thread = std::thread::Builder::new().name("quell-flow".into()).stack_size(STACK);
        running.push(thread.spawn(move || send(end, &own))?);
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

fn send(end: End, run: &Run) -> io::Result<u64> {
    let End { flow: index, at, stop: last, dscp, does, .. } = end;
    let Run { clock, stop, watch, .. } = run;
    let last = Time::ZERO + last;
    let number = address(index);
    let own = |port: u16| SocketAddr::V4(SocketAddrV4::new(at.address(number), port));
    let other = |port: u16| SocketAddr::V4(SocketAddrV4::new(at.other().address(number), port));
    let (from, to) = (own(0), other(PORT));
    let over = || stop.load(Ordering::Relaxed) || clock.now() >= last;
    let tcp = |congestion: Option<&str>, segment: u16| -> io::Result<Socket> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        if let Some(congestion) = congestion {
            socket.set_tcp_congestion(congestion.as_bytes())?;
        }
        socket.set_tcp_mss(u32::from(segment))?;
        socket.set_tos_v4(u32::from(dscp) << 2)?;
        Ok(socket)
    };
    let kind = match does {
        Does::Sends(kind) => kind,
        Does::Serves { congestion, segment, shared } => {
            let listener = tcp(Some(&congestion), segment)?;
            listener.bind(&own(ASKED).into())?;
            listener.listen(16)?;
            shared.listens.store(true, Ordering::Relaxed);
            return serve(&listener, index, &shared, run, &over);
        }
        Does::Asks { segment, mut draw, count, fresh, shared } => {
            while !shared.listens.load(Ordering::Relaxed) {
                if over() {
                    return Ok(0);
                }
                sleep(Duration::from_millis(1));
            }
            let open = || -> io::Result<Socket> {
                let socket = tcp(None, segment)?;
                socket.bind(&from.into())?;
                Ok(socket)
            };
            let mut kept = None;
            for _ in 0..count.unwrap_or(u32::MAX) {
                let (size, request, think) = draw();
                shared.began_ns.store(clock.now().nanos(), Ordering::Relaxed);
                let socket = match kept.take() {
                    Some(socket) => socket,
                    None => match connect(&open, &other(ASKED), &over)? {
                        Some(socket) => socket,
                        None => break,
                    },
                };
                if !ask(&socket, size, request, &run.counts[index], &over)? {
                    reset(&socket);
                    break;
                }
                kept = (!fresh).then_some(socket);
                if !until(clock.now() + think, clock, stop) || clock.now() >= last {
                    break;
                }
            }
            if let Some(socket) = kept {
                reset(&socket);
            }
            return Ok(0);
        }
    };
    match kind {
        Kind::Udp { mut datagrams, ecn } => {
            let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
            socket.bind(&from.into())?;
            socket.set_tos_v4(u32::from(dscp) << 2 | if ecn { 2 } else { 0 })?;
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
                let socket = tcp(Some(&congestion), segment)?;
                socket.bind(&from.into())?;
                socket.set_write_timeout(Some(LOOK))?;
                Ok(socket)
            };
            let open =
                || Ok::<_, io::Error>(connect(&open, &to, &over)?.map(|socket| watch.over(index, socket)));
            match app {
                App::Bulk => match open()? {
                    Some(socket) => {
                        let sent = write(&socket, u64::MAX, &over)?;
                        reset(&socket);
                        Ok(sent)
                    }
                    None => Ok(0),
                },
                App::Paced(mut draw) => match open()? {
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
                    let mut kept: Option<Sending> = None;
                    for _ in 0..count.unwrap_or(u32::MAX) {
                        let (size, think) = draw();
                        let start = clock.now();
                        let socket = match kept.take() {
                            Some(socket) => socket,
                            None => match open()? {
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
                            run.transferred(Transferred {
                                flow: index,
                                start,
                                end: clock.now(),
                                bytes: size,
                            });
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
                // It has two ends of its own (`End::of`).
                App::Asked { .. } => Ok(0),
            }
        }
    }
}

/// What a request begins with: its own size and the reply's, in bytes.
const REQUEST: usize = 8;

/// Sends what is asked for, connection after connection: the client has one at a time.
fn serve(
    listener: &Socket,
    index: usize,
    shared: &Exchange,
    run: &Run,
    over: &impl Fn() -> bool,
) -> io::Result<u64> {
    listener.set_nonblocking(true)?;
    let mut sent = 0;
    while !over() {
        use rustix::event::{PollFd, PollFlags, poll};
        let mut fds = [PollFd::new(listener, PollFlags::IN)];
        match poll(&mut fds, Some(&crate::port::timespec(Duration::from_millis(50)))) {
            Ok(0) | Err(rustix::io::Errno::INTR) => continue,
            Ok(_) => {}
            Err(e) => return Err(e.into()),
        }
        // Who gave up before is no failure.
        let Ok((socket, _)) = listener.accept() else { continue };
        socket.set_nonblocking(false)?;
        socket.set_write_timeout(Some(LOOK))?;
        // The end of a reply does not wait, as with servers.
        socket.set_tcp_nodelay(true)?;
        let socket = run.watch.over(index, socket);
        let mut head = [0; REQUEST];
        while receive_exactly(&socket, &mut head, over)? {
            let word = |at: usize| u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]);
            if !receive_and_forget(&socket, u64::from(word(0)), |_| {}, over)? {
                break;
            }
            let reply = u64::from(word(4));
            let start = Time::from_nanos(shared.began_ns.load(Ordering::Relaxed));
            let written = write(&socket, reply, over)?;
            sent += written;
            if written < reply || !acknowledged(&socket, over)? {
                break;
            }
            run.transferred(Transferred { flow: index, start, end: run.clock.now(), bytes: reply });
        }
        if over() {
            reset(&socket);
        }
    }
    Ok(sent)
}

/// Sends a request and receives its reply, which `count` counts; false if all is over first.
fn ask(
    socket: &Socket,
    size: u64,
    request: u64,
    count: &AtomicU64,
    over: &impl Fn() -> bool,
) -> io::Result<bool> {
    let size = size.min(u64::from(u32::MAX));
    let rest = request.saturating_sub(REQUEST as u64).min(u64::from(u32::MAX));
    let mut head = [0; REQUEST];
    head[..4].copy_from_slice(&(rest as u32).to_le_bytes());
    head[4..].copy_from_slice(&(size as u32).to_le_bytes());
    // In one piece, which is one packet as a rule.
    let mut bytes = head.to_vec();
    bytes.resize(REQUEST + rest as usize, 0);
    socket.set_write_timeout(Some(LOOK))?;
    let mut left = &bytes[..];
    while !left.is_empty() {
        if over() {
            return Ok(false);
        }
        match socket.send(left) {
            Ok(n) => left = &left[n..],
            Err(e) if waits(&e) => {}
            Err(e) => return Err(e),
        }
    }
    receive_and_forget(socket, size, |n| _ = count.fetch_add(n, Ordering::Relaxed), over)
}

/// Whether it may succeed when it is tried once more.
fn waits(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

/// Fills `to`; false if the connection ends before, or all is over.
fn receive_exactly(socket: &Socket, mut to: &mut [u8], over: &impl Fn() -> bool) -> io::Result<bool> {
    socket.set_read_timeout(Some(LOOK))?;
    while !to.is_empty() {
        if over() {
            return Ok(false);
        }
        match rustix::net::recv(socket, &mut *to, RecvFlags::empty()).map_err(io::Error::from) {
            Ok((_, 0)) => return Ok(false),
            Ok((_, n)) => to = &mut to[n..],
            Err(e) if waits(&e) => {}
            // The other end is gone.
            Err(_) => return Ok(false),
        }
    }
    Ok(true)
}

/// Receives so many bytes, tells how many came, and drops them in the kernel (tcp(7), MSG_TRUNC); false if the connection
/// ends before, or all is over.
fn receive_and_forget(
    socket: &Socket,
    mut bytes: u64,
    mut came: impl FnMut(u64),
    over: &impl Fn() -> bool,
) -> io::Result<bool> {
    socket.set_read_timeout(Some(LOOK))?;
    let mut room = [0u8; 1 << 14];
    while bytes > 0 {
        if over() {
            return Ok(false);
        }
        let most = bytes.min(room.len() as u64) as usize;
        match rustix::net::recv(socket, &mut room[..most], RecvFlags::TRUNC).map_err(io::Error::from) {
            Ok((_, 0)) => return Ok(false),
            Ok((_, n)) => {
                came(n as u64);
                bytes = bytes.saturating_sub(n as u64);
            }
            Err(e) if waits(&e) => {}
            Err(_) => return Ok(false),
        }
    }
    Ok(true)
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
