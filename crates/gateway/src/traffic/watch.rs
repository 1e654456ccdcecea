//! The kernel's account of the connections that send.

use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use socket2::Socket;

use crate::sys::{TcpInfo, tcp_info};

/// The work of a flow's senders so far, as their kernel tells it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Done {
    /// Segments with data that were sent, those sent again included.
    pub sent: u64,
    /// Segments that were sent again, also those that open connections.
    pub sent_again: u64,
    /// Retransmission timeouts; none if the kernel does not say, or there was no connection yet.
    pub timeouts: Option<u64>,
    /// The seconds in which data arrived, of all connections together.
    pub busy_s: f64,
    /// The number of round trips in that time, by the smoothed round-trip times of the kernel.
    pub round_trips: f64,
}

/// The connections that send, which are looked at while they are open.
pub(super) struct Watch(Mutex<Watched>);

struct Watched {
    open: Vec<Open>,
    done: Vec<Done>,
}

/// A connection, and what was seen of it last.
struct Open {
    flow: usize,
    socket: Arc<Socket>,
    info: TcpInfo,
    looked: Instant,
}

impl Open {
    /// Takes in what it has done since it was looked at.
    fn look(&mut self, done: &mut Done) {
        // A socket that says nothing adds nothing.
        let Ok(now) = tcp_info(self.socket.as_fd()) else { return };
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
    /// A watch over the connections of so many flows.
    pub fn new(flows: usize) -> Self {
        Watch(Mutex::new(Watched { open: Vec::new(), done: vec![Done::default(); flows] }))
    }

    fn lock(&self) -> MutexGuard<'_, Watched> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Watches a connection of flow `flow` until it is dropped.
    pub fn over(self: &Arc<Self>, flow: usize, socket: Socket) -> Sending {
        let socket = Arc::new(socket);
        let (info, looked) = (TcpInfo::default(), Instant::now());
        self.lock().open.push(Open { flow, socket: socket.clone(), info, looked });
        Sending { socket, watch: self.clone() }
    }

    /// Looks at all that are open; gives what each flow has done.
    pub fn look(&self) -> Vec<Done> {
        let Watched { open, done } = &mut *self.lock();
        for open in open {
            open.look(&mut done[open.flow]);
        }
        done.clone()
    }
}

/// A connection that sends, and is looked at once more before it is closed.
pub(super) struct Sending {
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
