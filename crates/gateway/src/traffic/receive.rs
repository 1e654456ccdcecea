//! The receivers of a host: they take in whatever comes and count it by flow.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, UdpSocket};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use quell_units::{Duration, Time};
use rustix::event::epoll;
use rustix::net::RecvFlags;

use super::flow::FIRST;
use crate::port::{MonotonicClock, timespec};

/// The port that receivers listen at.
pub(super) const PORT: u16 = 5201;

/// The data of a flow that its receiver has had.
#[derive(Default)]
pub(super) struct Arrivals {
    bytes: AtomicU64,
    /// The time of the last, by the wire's clock.
    last_ns: AtomicU64,
}

impl Arrivals {
    /// So many bytes have come.
    pub fn add(&self, bytes: u64, now: Time) {
        self.last_ns.store(now.nanos(), Ordering::Relaxed);
        // Who sees the bytes sees their time.
        self.bytes.fetch_add(bytes, Ordering::Release);
    }

    /// The bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Acquire)
    }

    /// The time at which the last of them came.
    pub fn last(&self) -> Time {
        Time::from_nanos(self.last_ns.load(Ordering::Relaxed))
    }
}

/// Opens what a host receives with.
pub(super) fn listen() -> io::Result<(TcpListener, UdpSocket)> {
    let any = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, PORT);
    let (listener, datagrams) = (TcpListener::bind(any)?, UdpSocket::bind(any)?);
    listener.set_nonblocking(true)?;
    datagrams.set_nonblocking(true)?;
    Ok((listener, datagrams))
}

/// The bytes of a datagram's number, with which it begins.
pub(super) const NUMBER: usize = 8;

/// IP's and UDP's headers, which are a part of a datagram's size, in bytes.
pub(super) const HEADERS: u64 = 28;

/// The number of a datagram, or what there is of it in a short one.
fn number(datagram: &[u8]) -> u64 {
    let mut number = [0; NUMBER];
    let length = datagram.len().min(NUMBER);
    number[..length].copy_from_slice(&datagram[..length]);
    u64::from_le_bytes(number)
}

/// Takes in whatever comes, by flow.
pub(super) fn receive(
    listener: &TcpListener,
    datagrams: &UdpSocket,
    (stop, clock): (&AtomicBool, MonotonicClock),
    arrivals: &[Arrivals],
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
    let mut numbers = vec![None; arrivals.len()];
    while !stop.load(Ordering::Relaxed) {
        events.clear();
        let wait = timespec(Duration::from_millis(50));
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
                        let flow = flow_of(Some(from));
                        let number = Some(number(&buffer[..length]));
                        // A copy follows just behind what it copies.
                        if let Some(of_flow) = arrivals.get(flow).filter(|_| numbers[flow] != number) {
                            // All of it, as in simulations, whose datagrams have no headers of their own.
                            of_flow.add(length as u64 + HEADERS, clock.now());
                            numbers[flow] = number;
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
                                if let Some(of_flow) = arrivals.get(*flow) {
                                    of_flow.add(length as u64, clock.now());
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
