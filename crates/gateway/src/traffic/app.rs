//! The two ends of a flow at work, each in a thread of its host.

use std::io;
use std::net::{SocketAddr, SocketAddrV4};
use std::ops::Deref;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use quell_units::{Duration, Time};
use rustix::event::PollFlags;
use socket2::{Domain, Protocol, Socket, Type};

use super::flow::{App, Draw, Flow, Kind, Tcp, Transfer, Transferred, Transfers, address};
use super::receive::{Arrivals, HEADERS, NUMBER, PORT};
use super::socket::{
    LOOK, Life, acknowledged, connect, delivered, ready, receive_and_forget, receive_exactly, reset, write,
    write_nothing,
};
use super::watch::{Sending, Watch};
use crate::port::{MonotonicClock, sleep};
use crate::wire::Side;

/// The port that senders listen at who are asked.
const ASKED: u16 = 5202;

/// The state that all flows share while they run.
#[derive(Clone)]
pub(super) struct Shared {
    pub clock: MonotonicClock,
    pub stop: Arc<AtomicBool>,
    pub transfers: Arc<Mutex<Vec<Transferred>>>,
    pub arrivals: Arc<Vec<Arrivals>>,
    pub watch: Arc<Watch>,
}

/// One end of a flow: what it does at one of the hosts.
pub(super) struct End {
    /// The flow's number.
    flow: usize,
    /// The host.
    pub at: Side,
    pub start: Duration,
    stop: Duration,
    dscp: u8,
    role: Role,
}

enum Role {
    /// Sends datagrams.
    Datagrams { datagrams: Draw, ecn: bool },
    /// Sends by itself.
    Sends { tcp: Tcp, app: App },
    /// Sends what it is asked for.
    Serves { tcp: Tcp, exchange: Arc<Exchange> },
    /// Asks, and receives.
    Asks { segment: u16, draw: Transfers, fresh: bool, exchange: Arc<Exchange> },
}

/// The knowledge that the two ends of a flow that is asked have of each other.
#[derive(Default)]
struct Exchange {
    /// The end that is asked listens.
    listens: AtomicBool,
}

impl End {
    /// The ends of a flow that do something: the one that sends, and a client that asks.
    pub fn of(index: usize, flow: Flow) -> Vec<End> {
        let Flow { from, start, stop, dscp, kind } = flow;
        let end = |at, role| End { flow: index, at, start, stop, dscp, role };
        match kind {
            Kind::Udp { datagrams, ecn } => vec![end(from, Role::Datagrams { datagrams, ecn })],
            Kind::Tcp { tcp, app: App::Transfers { draw, fresh, asked: true }, .. } => {
                let exchange = Arc::<Exchange>::default();
                let asks = Role::Asks { segment: tcp.segment, draw, fresh, exchange: exchange.clone() };
                vec![end(from, Role::Serves { tcp, exchange }), end(from.other(), asks)]
            }
            Kind::Tcp { tcp, app, .. } => vec![end(from, Role::Sends { tcp, app })],
        }
    }

    fn run(self, shared: Shared) -> io::Result<()> {
        let End { flow, at, stop, dscp, role, .. } = self;
        let life = Life { clock: shared.clock, stop: shared.stop.clone(), last: Time::ZERO + stop };
        let site = Site { flow, at, dscp, life, shared };
        match role {
            Role::Datagrams { datagrams, ecn } => site.datagrams(datagrams, ecn),
            Role::Sends { tcp, app } => app.run(&site, &tcp),
            Role::Serves { tcp, exchange } => site.serve(&tcp, &exchange),
            Role::Asks { segment, draw, fresh, exchange } => site.ask(segment, draw, fresh, &exchange),
        }
    }
}

impl App {
    fn run(self, site: &Site, tcp: &Tcp) -> io::Result<()> {
        match self {
            App::Bulk => site.bulk(tcp),
            App::Paced(draw) => site.paced(tcp, draw),
            App::Transfers { draw, fresh, .. } => site.send_transfers(tcp, draw, fresh),
        }
    }
}

/// The place where an end is at work, and the time that it has.
struct Site {
    flow: usize,
    at: Side,
    dscp: u8,
    life: Life,
    shared: Shared,
}

impl Site {
    /// The flow's address at this end.
    fn own(&self, port: u16) -> SocketAddr {
        SocketAddrV4::new(self.at.address(address(self.flow)), port).into()
    }

    /// The flow's address at the other end.
    fn other(&self, port: u16) -> SocketAddr {
        SocketAddrV4::new(self.at.other().address(address(self.flow)), port).into()
    }

    /// A socket for TCP, with the host's congestion control unless there is another.
    fn tcp(&self, congestion: Option<&str>, segment: u16, port: u16) -> io::Result<Socket> {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP))?;
        if let Some(congestion) = congestion {
            socket.set_tcp_congestion(congestion.as_bytes())?;
        }
        socket.set_tcp_mss(u32::from(segment))?;
        socket.set_tos_v4(u32::from(self.dscp) << 2)?;
        socket.bind(&self.own(port).into())?;
        Ok(socket)
    }

    /// Opens a connection to the other host's receiver; `None` if the flow is over first.
    fn open(&self, tcp: &Tcp) -> io::Result<Option<Sending>> {
        let socket = self.tcp(Some(&tcp.congestion), tcp.segment, 0)?;
        let socket = connect(socket, self.other(PORT), &self.life)?;
        Ok(socket.map(|socket| self.shared.watch.over(self.flow, socket)))
    }

    fn transferred(&self, start: Time, (end, acknowledged): (Time, Option<Time>), bytes: u64) {
        let transfer = Transferred { flow: self.flow, start, end, acknowledged, bytes };
        self.shared.transfers.lock().unwrap_or_else(PoisonError::into_inner).push(transfer);
    }

    fn datagrams(&self, draw: Draw, ecn: bool) -> io::Result<()> {
        let socket = Socket::new(Domain::IPV4, Type::DGRAM, Some(Protocol::UDP))?;
        socket.bind(&self.own(0).into())?;
        socket.set_tos_v4(u32::from(self.dscp) << 2 | if ecn { 2 } else { 0 })?;
        socket.connect(&self.other(PORT).into())?;
        let mut buffer = vec![0u8; 1 << 16];
        let mut number = 0u64;
        self.at_pace(draw, |size| {
            let size = size.clamp(HEADERS, 65_000) - HEADERS;
            // By which the receiver knows a copy.
            buffer[..NUMBER].copy_from_slice(&number.to_le_bytes());
            number = number.wrapping_add(1);
            // What the local queue has no room for is lost, as anywhere.
            let _ = socket.send(&buffer[..size as usize]);
            Ok(())
        })
    }

    fn bulk(&self, tcp: &Tcp) -> io::Result<()> {
        let Some(socket) = self.open(tcp)? else { return Ok(()) };
        write_nothing(&socket, u64::MAX, &self.life)?;
        reset(&socket);
        Ok(())
    }

    fn paced(&self, tcp: &Tcp, draw: Draw) -> io::Result<()> {
        let Some(socket) = self.open(tcp)? else { return Ok(()) };
        // A packet is sent when it is handed over, and does not wait for the next one.
        socket.set_tcp_nodelay(true)?;
        self.at_pace(draw, |size| write_nothing(&socket, size, &self.life).map(drop))?;
        reset(&socket);
        Ok(())
    }

    /// Sends each size at its time, from now until the flow is over.
    fn at_pace(&self, mut draw: Draw, mut send: impl FnMut(u64) -> io::Result<()>) -> io::Result<()> {
        let mut next = self.life.clock.now();
        while next < self.life.last && self.life.until(next) {
            let (size, gap) = draw();
            send(size)?;
            next += gap;
        }
        Ok(())
    }

    fn send_transfers(&self, tcp: &Tcp, draw: Transfers, fresh: bool) -> io::Result<()> {
        let open = || self.open(tcp);
        self.transfers(draw, fresh, open, |socket, transfer, began| {
            let arrivals = &self.shared.arrivals[self.flow];
            let whole = arrivals.bytes() + transfer.bytes;
            let written = write_nothing(socket, transfer.bytes, &self.life)?;
            let arrived = match fresh {
                true => delivered(socket, &self.life),
                false => acknowledged(socket, &self.life)?,
            };
            let heard = self.life.clock.now();
            if arrived && written && self.all_of(arrivals, whole) {
                self.transferred(began, (arrivals.last(), Some(heard)), transfer.bytes);
            }
            Ok(true)
        })
    }

    /// Waits until the receiver's program has so many bytes, which its kernel has acknowledged; false if the flow is over
    /// first.
    fn all_of(&self, arrivals: &Arrivals, bytes: u64) -> bool {
        while arrivals.bytes() < bytes {
            if self.life.is_over() {
                return false;
            }
            sleep(Duration::from_millis(1));
        }
        true
    }

    /// Makes transfers, each over a fresh connection or all over one, and thinks after each. `make` is told when a
    /// transfer began, and gives false if there can be no more.
    fn transfers<S: Deref<Target = Socket>>(
        &self,
        mut draw: Transfers,
        fresh: bool,
        open: impl Fn() -> io::Result<Option<S>>,
        make: impl Fn(&S, Transfer, Time) -> io::Result<bool>,
    ) -> io::Result<()> {
        let Life { clock, last, .. } = &self.life;
        let mut kept: Option<S> = None;
        while let Some(transfer) = draw() {
            let began = clock.now();
            let Some(socket) = kept.take().map_or_else(&open, |socket| Ok(Some(socket)))? else { break };
            if !make(&socket, transfer, began)? {
                reset(&socket);
                break;
            }
            kept = (!fresh).then_some(socket);
            if !self.life.until(clock.now() + transfer.think) || clock.now() >= *last {
                break;
            }
        }
        kept.iter().for_each(|socket| reset(socket));
        Ok(())
    }

    fn ask(&self, segment: u16, draw: Transfers, fresh: bool, exchange: &Exchange) -> io::Result<()> {
        while !exchange.listens.load(Ordering::Relaxed) {
            if self.life.is_over() {
                return Ok(());
            }
            sleep(Duration::from_millis(1));
        }
        let open = || Ok(connect(self.tcp(None, segment, 0)?, self.other(ASKED), &self.life)?.map(Box::new));
        self.transfers(draw, fresh, open, |socket, transfer, began| {
            let bytes = transfer.bytes;
            let received = self.exchange(socket, transfer)?;
            if received {
                self.transferred(began, (self.life.clock.now(), None), bytes);
            }
            Ok(received)
        })
    }

    /// Sends a request and receives its reply; false if the flow is over first.
    fn exchange(&self, socket: &Socket, Transfer { bytes, request, .. }: Transfer) -> io::Result<bool> {
        let [rest, bytes] = [request.saturating_sub(REQUEST), bytes].map(|n| n.min(u32::MAX.into()));
        let mut head = [rest, bytes].map(|n| (n as u32).to_le_bytes()).concat();
        // In one piece, which is one packet as a rule.
        head.resize((REQUEST + rest) as usize, 0);
        let count = |n| self.shared.arrivals[self.flow].add(n, self.life.clock.now());
        Ok(write(socket, &head, &self.life)? && receive_and_forget(socket, bytes, count, &self.life)?)
    }

    /// Sends what is asked for, connection after connection: the client has one at a time.
    fn serve(&self, tcp: &Tcp, exchange: &Exchange) -> io::Result<()> {
        let listener = self.tcp(Some(&tcp.congestion), tcp.segment, ASKED)?;
        listener.listen(16)?;
        exchange.listens.store(true, Ordering::Relaxed);
        listener.set_nonblocking(true)?;
        while !self.life.is_over() {
            if !ready(&listener, PollFlags::IN)? {
                continue;
            }
            // Who gave up before is not a failure.
            let Ok((socket, _)) = listener.accept() else { continue };
            socket.set_nonblocking(false)?;
            socket.set_write_timeout(Some(LOOK))?;
            socket.set_read_timeout(Some(LOOK))?;
            // The end of a reply does not wait, as with servers.
            socket.set_tcp_nodelay(true)?;
            let socket = self.shared.watch.over(self.flow, socket);
            while self.reply(&socket)? {}
            if self.life.is_over() {
                reset(&socket);
            }
        }
        Ok(())
    }

    /// Receives a request and sends its reply; false if the connection has ended, or the flow is over.
    fn reply(&self, socket: &Socket) -> io::Result<bool> {
        let mut head = [[0; 4]; 2];
        if !receive_exactly(socket, head.as_flattened_mut(), &self.life)? {
            return Ok(false);
        }
        let [rest, bytes] = head.map(|word| u64::from(u32::from_le_bytes(word)));
        if !receive_and_forget(socket, rest, |_| {}, &self.life)? {
            return Ok(false);
        }
        Ok(write_nothing(socket, bytes, &self.life)? && acknowledged(socket, &self.life)?)
    }
}

/// The size of what a request begins with: the size of the rest of it and the reply's, in bytes.
const REQUEST: u64 = 8;

/// Starts each flow's end when its time comes, in a thread of its own, and waits for all of them.
pub(super) fn start(ends: Vec<End>, shared: &Shared) -> io::Result<()> {
    /// A flow's thread needs little.
    const STACK: usize = 1 << 17;
    let life = Life { clock: shared.clock, stop: shared.stop.clone(), last: Time::MAX };
    let mut running = Vec::new();
    for end in ends {
        if !life.until(Time::ZERO + end.start) {
            break;
        }
        let own = shared.clone();
        let thread = std::thread::Builder::new().name("quell-flow".into()).stack_size(STACK);
        running.push(thread.spawn(move || end.run(own))?);
        let (ended, still) = running.into_iter().partition(JoinHandle::is_finished);
        running = still;
        joined(ended)?;
    }
    joined(running)
}

/// Waits for threads; gives the first failure, if there was one.
pub(super) fn joined(threads: Vec<JoinHandle<io::Result<()>>>) -> io::Result<()> {
    let one = |t: JoinHandle<io::Result<()>>| {
        t.join().unwrap_or_else(|_| Err(io::Error::other("a flow's thread has panicked")))
    };
    threads.into_iter().try_for_each(one)
}
