//! Blocking sockets that give up when a flow is over.

use std::io;
use std::net::{Shutdown, SocketAddr};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration as Wait;

use quell_units::{Duration, Time};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::RecvFlags;
use socket2::Socket;

use crate::port::{MonotonicClock, sleep, timespec};

/// The interval at which a flow that waits looks whether all is over.
pub(super) const LOOK: Wait = Wait::from_millis(50);
const LOOK_TIME: Duration = Duration::from_millis(50);

/// The time that a flow has.
#[derive(Clone)]
pub(super) struct Life {
    pub clock: MonotonicClock,
    /// Set when all flows end.
    pub stop: Arc<AtomicBool>,
    /// The time from which the flow sends nothing new.
    pub last: Time,
}

impl Life {
    pub fn is_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.clock.now() >= self.last
    }

    /// Waits until `time`; false if all flows end before.
    pub fn until(&self, time: Time) -> bool {
        loop {
            let now = self.clock.now();
            if self.stop.load(Ordering::Relaxed) {
                return false;
            }
            if now >= time {
                return true;
            }
            sleep(time.since(now).min(LOOK_TIME));
        }
    }
}

/// Waits a little for one of `events`; whether it has come.
pub(super) fn ready(socket: &Socket, events: PollFlags) -> io::Result<bool> {
    match poll(&mut [PollFd::new(socket, events)], Some(&timespec(LOOK_TIME))) {
        Ok(0) | Err(rustix::io::Errno::INTR) => Ok(false),
        Ok(_) => Ok(true),
        Err(e) => Err(e.into()),
    }
}

/// Connects a socket; `None` if the flow is over first. What the path loses TCP sends again.
pub(super) fn connect(socket: Socket, to: SocketAddr, life: &Life) -> io::Result<Option<Socket>> {
    socket.set_nonblocking(true)?;
    match socket.connect(&to.into()) {
        Ok(()) => {}
        Err(e) if e.raw_os_error() == Some(rustix::io::Errno::INPROGRESS.raw_os_error()) => {}
        Err(e) => return Err(e),
    }
    loop {
        if life.is_over() {
            return Ok(None);
        }
        if ready(&socket, PollFlags::OUT)? {
            break;
        }
    }
    if let Some(e) = socket.take_error()? {
        return Err(e);
    }
    socket.set_nonblocking(false)?;
    socket.set_write_timeout(Some(LOOK))?;
    socket.set_read_timeout(Some(LOOK))?;
    Ok(Some(socket))
}

/// Tells whether it may succeed when it is tried once more.
fn waits(e: &io::Error) -> bool {
    matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

/// Writes all of `bytes`; false if the flow is over first.
pub(super) fn write(socket: &Socket, mut bytes: &[u8], life: &Life) -> io::Result<bool> {
    while !bytes.is_empty() {
        if life.is_over() {
            return Ok(false);
        }
        match socket.send(bytes) {
            Ok(n) => bytes = &bytes[n..],
            Err(e) if waits(&e) => {}
            Err(e) => return Err(e),
        }
    }
    Ok(true)
}

/// Writes so many bytes of nothing; false if the flow is over first.
pub(super) fn write_nothing(socket: &Socket, mut bytes: u64, life: &Life) -> io::Result<bool> {
    static NOTHING: [u8; 1 << 16] = [0; 1 << 16];
    while bytes > 0 {
        let some = bytes.min(NOTHING.len() as u64);
        if !write(socket, &NOTHING[..some as usize], life)? {
            return Ok(false);
        }
        bytes -= some;
    }
    Ok(true)
}

/// Fills `to`; false if the connection ends before, or the flow is over.
pub(super) fn receive_exactly(socket: &Socket, mut to: &mut [u8], life: &Life) -> io::Result<bool> {
    while !to.is_empty() {
        match receive(socket, to, RecvFlags::empty(), life)? {
            0 => return Ok(false),
            n => to = &mut to[n..],
        }
    }
    Ok(true)
}

/// Receives so many bytes, tells how many came, and drops them in the kernel (tcp(7), MSG_TRUNC); false if the connection
/// ends before, or the flow is over.
pub(super) fn receive_and_forget(
    socket: &Socket,
    mut bytes: u64,
    mut came: impl FnMut(u64),
    life: &Life,
) -> io::Result<bool> {
    let mut room = [0u8; 1 << 14];
    while bytes > 0 {
        let most = bytes.min(room.len() as u64) as usize;
        match receive(socket, &mut room[..most], RecvFlags::TRUNC, life)? {
            0 => return Ok(false),
            n => {
                came(n as u64);
                bytes = bytes.saturating_sub(n as u64);
            }
        }
    }
    Ok(true)
}

/// Receives some bytes; 0 if the connection has ended, or the flow is over.
fn receive(socket: &Socket, to: &mut [u8], flags: RecvFlags, life: &Life) -> io::Result<usize> {
    while !life.is_over() {
        match rustix::net::recv(socket, &mut *to, flags).map_err(io::Error::from) {
            Ok((_, n)) => return Ok(n),
            Err(e) if waits(&e) => {}
            // The other end is gone.
            Err(_) => return Ok(0),
        }
    }
    Ok(0)
}

/// Ends the connection and waits until the other end has closed too; whether it has, and so all has arrived.
pub(super) fn delivered(socket: &Socket, life: &Life) -> bool {
    let _ = socket.shutdown(Shutdown::Write);
    let mut byte = [core::mem::MaybeUninit::uninit()];
    while !life.is_over() {
        match socket.recv(&mut byte) {
            Err(e) if waits(&e) => {}
            end => return matches!(end, Ok(0)),
        }
    }
    reset(socket);
    false
}

/// Waits until everything sent is acknowledged: nothing is left in the send queue (tcp(7), SIOCOUTQ); whether it is.
pub(super) fn acknowledged(socket: &Socket, life: &Life) -> io::Result<bool> {
    while crate::sys::unacknowledged(socket.as_fd())? > 0 {
        if life.is_over() {
            return Ok(false);
        }
        sleep(Duration::from_millis(1));
    }
    Ok(true)
}

/// The connection ends at once, and what waits in the host is gone.
pub(super) fn reset(socket: &Socket) {
    let _ = socket.set_linger(Some(Wait::ZERO));
}
