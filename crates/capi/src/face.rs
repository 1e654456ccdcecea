//! A queue as the functions for C call it: compiled for its algorithm, behind one call, and without a word that C
//! does not ask for.

use std::ffi::c_void;
use std::mem::MaybeUninit;

use quell_aqm::Cause;
use quell_queue::{Admission, Dequeued, DropPoint, Dropped, Qdisc};
use quell_units::Time;

use crate::types::*;

/// The function to which dropped packets go back.
#[derive(Clone, Copy)]
pub(crate) struct Back {
    pub(crate) function: unsafe extern "C" fn(*mut c_void, u64, i32),
    pub(crate) user: *mut c_void,
}

impl Back {
    #[inline]
    pub(crate) fn call(self, handle: u64, cause: i32) {
        // SAFETY: whoever created the queue said that this function takes this argument.
        unsafe { (self.function)(self.user, handle, cause) }
    }
}

/// The questions of C to a queue, answered in its codes.
pub(crate) trait Face: Qdisc<Packet = Handle> {
    fn offer(&mut self, now: Time, packet: Handle, back: Back) -> i32;
    /// Writes `sent`, whatever it gives.
    fn take(&mut self, now: Time, back: Back, sent: &mut MaybeUninit<QuellSent>) -> i32;
    /// Gives back what waits.
    fn give_up(self: Box<Self>, back: Back);
}

impl<Q: Qdisc<Packet = Handle>> Face for Q {
    #[inline]
    fn offer(&mut self, now: Time, packet: Handle, back: Back) -> i32 {
        let admission = self.enqueue(now, packet, &mut |dropped: Dropped<Handle>| {
            if dropped.place != DropPoint::Arrival {
                back.call(dropped.packet.handle, cause(dropped.cause));
            }
        });
        match admission {
            Admission::Queued => QUELL_QUEUED,
            Admission::Marked => QUELL_MARKED,
            Admission::Dropped(_) => QUELL_DROPPED,
        }
    }

    #[inline]
    fn take(&mut self, now: Time, back: Back, sent: &mut MaybeUninit<QuellSent>) -> i32 {
        let given = self.dequeue(now, &mut |dropped: Dropped<Handle>| {
            back.call(dropped.packet.handle, cause(dropped.cause));
        });
        match given {
            Dequeued::Packet(packet, arrived) => {
                sent.write(QuellSent {
                    handle: packet.handle,
                    arrived: arrived.nanos(),
                    not_before: 0,
                    marked: i32::from(packet.marked),
                });
                QUELL_SENT
            }
            Dequeued::NotBefore(time) => {
                sent.write(QuellSent { not_before: time.nanos(), ..QuellSent::default() });
                QUELL_WAIT
            }
            Dequeued::Nothing => {
                sent.write(QuellSent::default());
                self.idle(now);
                QUELL_EMPTY
            }
        }
    }

    fn give_up(self: Box<Self>, back: Back) {
        for (_, packet) in self.into_parts().0 {
            back.call(packet.handle, QUELL_CAUSE_DESTROYED);
        }
    }
}

fn cause(cause: Cause) -> i32 {
    match cause {
        Cause::Early => QUELL_CAUSE_EARLY,
        Cause::Forced => QUELL_CAUSE_FORCED,
        Cause::Overflow => QUELL_CAUSE_OVERFLOW,
    }
}
