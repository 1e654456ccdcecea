//! The ports of Linux.

pub mod nfqueue;
pub mod pair;

use std::io;
use std::os::fd::BorrowedFd;

use quell_units::Duration;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::time::{ClockId, Timespec};

/// A length of time as the kernel has it.
pub(crate) fn timespec(duration: Duration) -> Timespec {
    Timespec {
        tv_sec: (duration.nanos() / 1_000_000_000) as i64,
        tv_nsec: (duration.nanos() % 1_000_000_000) as _,
    }
}

/// Waits until one of some descriptors can be read or the time is over.
fn wait<const N: usize>(fds: [BorrowedFd<'_>; N], timeout: Duration) -> io::Result<()> {
    let mut fds = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN));
    match poll(&mut fds, Some(&timespec(timeout))) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(e) => Err(e.into()),
    }
}

/// Sleeps without looking at anything else.
pub(crate) fn sleep(duration: Duration) {
    // Interrupted by a signal is slept enough: the loop looks for itself.
    let _ = rustix::thread::clock_nanosleep_relative(ClockId::Monotonic, &timespec(duration));
}

/// Time since `start` by a clock that does not jump and goes on while the machine is suspended (CLOCK_BOOTTIME), so
/// that a suspension is seen as what it is to traffic: a pause.
#[derive(Clone, Copy, Debug)]
pub struct MonotonicClock {
    start: u64,
}

impl MonotonicClock {
    /// A clock that is at zero now.
    pub fn new() -> Self {
        MonotonicClock { start: Self::read() }
    }

    fn read() -> u64 {
        let now = rustix::time::clock_gettime(ClockId::Boottime);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    }

    /// The time now.
    #[inline]
    pub fn now(&self) -> quell_units::Time {
        quell_units::Time::from_nanos(Self::read() - self.start)
    }
}

impl Default for MonotonicClock {
    fn default() -> Self {
        MonotonicClock::new()
    }
}
