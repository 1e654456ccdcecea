//! The messages between supervisor and worker: whole ones, over a socket that both have from the start.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;

use quell_aqm::catalog::AqmConfig;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::LineConfig;
use crate::port::nfqueue::MarkBits;

/// The task of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Start {
    /// Its parent; one that has another by then ends.
    pub supervisor: u32,
    pub lines: [LineConfig; 2],
    pub shadows: Vec<AqmConfig>,
    pub queues: [u16; 2],
    pub bits: MarkBits,
    /// Every packet that is to be marked goes through the chain of its queue again.
    pub repeats: bool,
    pub log: Log,
    /// Ask for another file once the log's has so many bytes.
    pub log_size: u64,
    /// Another worker was there before: packets are waiting, and a log that cannot be written is not a reason to stop.
    pub again: bool,
    /// An address, else a socket.
    pub metrics: Result<std::net::SocketAddr, PathBuf>,
    pub user: (u32, u32),
}

/// A worker's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Log {
    /// None is asked for.
    None,
    /// Its file comes with the message.
    File,
    /// Its file cannot be made: only a worker in the place of another goes on without.
    Lost,
}

/// What only the supervisor knows.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub(super) struct Counts {
    /// Packets that left without a verdict.
    pub bypassed: u64,
    /// How often rules were gone.
    pub rules_gone: u64,
    /// How often a worker was started in the place of another.
    pub restarts: u64,
    /// The device is not there.
    pub device_gone: bool,
}

/// A message of the supervisor.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Order {
    Start(Box<Start>),
    /// These configurations hold from now on.
    Lines(Box<[LineConfig; 2]>),
    /// What only the supervisor knows, for the metrics.
    Counts(Counts),
    /// Go on in the file that comes with this; the log ends if none does.
    NextLog,
    /// The rules that set CE go: let packets leave without marks from now on.
    Unmark,
    /// Let everything go and end.
    Stop,
}

/// A message of the worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Report {
    /// Packets can come; whether the file system and the system calls are closed to it.
    Ready { files: bool, calls: bool },
    /// The log's file has as many bytes as it may have.
    LogFull,
    /// It goes round.
    Beat,
    /// It has done [`Order::Unmark`].
    Unmarked,
    /// The result of [`Order::Lines`].
    Reconfigured(Result<(), String>),
    /// It cannot begin or go on.
    Failed(String),
    /// It has let everything go; what is wrong with the log.
    Ended(Option<String>),
}

/// [`Report::Beat`] as it is sent: nothing is allocated for it.
const BEAT: &[u8] = b"\"Beat\"";

/// The longest message.
const LONGEST: usize = 1 << 17;

/// One end.
pub(super) struct Channel {
    socket: OwnedFd,
    buffer: Vec<u8>,
    /// The file that came with the last message that had one.
    file: Option<OwnedFd>,
}

impl Channel {
    /// Both ends: one to keep, one to give away.
    pub fn pair() -> io::Result<(Channel, OwnedFd)> {
        let kind = SocketType::SEQPACKET;
        let (mine, other) = rustix::net::socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)?;
        Ok((Channel::new(mine), other))
    }

    pub fn new(socket: OwnedFd) -> Channel {
        Channel { socket, buffer: vec![0; LONGEST], file: None }
    }

    /// Sends without waiting for a reader that does not read.
    pub fn send(&self, message: &impl Serialize) -> io::Result<()> {
        self.put(&serde_json::to_vec(message)?)
    }

    /// Sends a message and a file, which the other end then has as well.
    pub fn send_with(&self, message: &impl Serialize, file: BorrowedFd<'_>) -> io::Result<()> {
        let bytes = serde_json::to_vec(message)?;
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut with = SendAncillaryBuffer::new(&mut room);
        let files = [file];
        with.push(SendAncillaryMessage::ScmRights(&files));
        let flags = SendFlags::DONTWAIT | SendFlags::NOSIGNAL;
        rustix::net::sendmsg(&self.socket, &[IoSlice::new(&bytes)], &mut with, flags)?;
        Ok(())
    }

    /// The file that has come with a message, once.
    pub fn file(&mut self) -> Option<OwnedFd> {
        self.file.take()
    }

    /// Sends [`Report::Beat`].
    pub fn beat(&self) -> io::Result<()> {
        self.put(BEAT)
    }

    fn put(&self, bytes: &[u8]) -> io::Result<()> {
        rustix::net::send(&self.socket, bytes, SendFlags::DONTWAIT | SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// A message that has come.
    ///
    /// # Errors
    /// If the other end is gone (`UnexpectedEof`), or says what this one does not understand.
    pub fn take<T: DeserializeOwned>(&mut self) -> io::Result<Option<T>> {
        let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
        let mut with = RecvAncillaryBuffer::new(&mut room);
        let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
        let received =
            rustix::net::recvmsg(&self.socket, &mut [IoSliceMut::new(&mut self.buffer)], &mut with, flags);
        for message in with.drain() {
            if let RecvAncillaryMessage::ScmRights(files) = message {
                self.file = files.last();
            }
        }
        match received.map(|message| message.bytes) {
            Ok(0) | Err(Errno::CONNRESET) => Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(length) => Ok(Some(serde_json::from_slice(&self.buffer[..length.min(LONGEST)])?)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// The next message within `time`.
    ///
    /// # Errors
    /// As [`Channel::take`]; `TimedOut` if none comes.
    pub fn wait<T: DeserializeOwned>(&mut self, time: std::time::Duration) -> io::Result<T> {
        let end = std::time::Instant::now() + time;
        loop {
            if let Some(message) = self.take()? {
                return Ok(message);
            }
            let rest = end.saturating_duration_since(std::time::Instant::now());
            if rest.is_zero() {
                return Err(io::ErrorKind::TimedOut.into());
            }
            let mut fds = [PollFd::new(&self.socket, PollFlags::IN)];
            let rest = quell_units::Duration::from_nanos(rest.as_nanos() as u64);
            match poll(&mut fds, Some(&crate::port::timespec(rest))) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_arrive_whole_and_the_end_is_noticed() {
        let (mut a, b) = Channel::pair().unwrap();
        let b = Channel::new(b);
        assert!(a.take::<Report>().unwrap().is_none());
        b.beat().unwrap();
        b.send(&Report::Reconfigured(Err("why".into()))).unwrap();
        assert!(matches!(a.take().unwrap(), Some(Report::Beat)));
        assert!(matches!(a.take().unwrap(), Some(Report::Reconfigured(Err(why))) if why == "why"));
        let none = a.wait::<Report>(std::time::Duration::from_millis(5)).unwrap_err();
        assert_eq!(none.kind(), io::ErrorKind::TimedOut);
        // A file goes with its message.
        let mut file = tempfile::tempfile().unwrap();
        b.send_with(&Report::LogFull, file.as_fd()).unwrap();
        assert!(matches!(a.take().unwrap(), Some(Report::LogFull)));
        let mut same = std::fs::File::from(a.file().unwrap());
        io::Write::write_all(&mut same, b"here").unwrap();
        io::Seek::rewind(&mut file).unwrap();
        assert_eq!(io::read_to_string(file).unwrap(), "here");
        b.send(&Report::LogFull).unwrap();
        assert!(matches!(a.take().unwrap(), Some(Report::LogFull)) && a.file().is_none());
        drop(b);
        // A program that another test starts may hold a copy for a moment.
        let end = a.wait::<Report>(std::time::Duration::from_secs(10)).unwrap_err();
        assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
    }
}
