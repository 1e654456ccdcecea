//! Words for why a queue drops a packet.

use quell_aqm::Cause;
use quell_sim::outcome::DropPoint;

/// The reason for a drop: by whom, why, where.
pub(crate) fn drop(algorithm: &str, cause: Cause, place: DropPoint) -> String {
    let at = match place {
        DropPoint::Arrival => "on arrival",
        DropPoint::Head => "at the head of the queue",
        DropPoint::Waiting => "out of the queue, to make room",
    };
    match cause {
        Cause::Forced if place == DropPoint::Waiting => {
            format!("dropped by {algorithm}: a later acknowledgment says as much")
        }
        Cause::Early => format!("dropped by {algorithm} {at}: an early drop, by its control law"),
        Cause::Forced => format!("dropped by {algorithm} {at}: its own limit was exceeded"),
        Cause::Overflow => format!("dropped {at}: the buffer was full"),
    }
}

/// The reason for a drop in a word.
pub(crate) fn cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Early => "early",
        Cause::Forced => "forced",
        Cause::Overflow => "overflow",
    }
}
