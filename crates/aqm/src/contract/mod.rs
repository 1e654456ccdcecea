//! The contract between hosts and algorithms: [`Aqm`] decides for one queue, [`Discipline`] for several that
//! share a buffer and a link.

#[macro_use]
mod aqm;
#[macro_use]
mod discipline;
mod types;

pub use aqm::{Aqm, Departures};
pub use discipline::{Discipline, Lanes, LanesCtx, Next, Victim};
pub use types::{
    Acknowledgment, Cause, Ctx, Ecn, FlowId, Hosts, Link, PacketMeta, Probe, QueueView, Transport, Verdict,
};

/// An algorithm for one queue, or a discipline for several.
#[derive(Clone, Debug)]
pub enum Algorithm<A, D> {
    /// Decides for one queue.
    Aqm(A),
    /// Decides for several queues in one buffer.
    Discipline(D),
}

impl<A, D> Algorithm<A, D> {
    /// The algorithm for one queue, if it is one.
    pub fn aqm(self) -> Option<A> {
        match self {
            Algorithm::Aqm(aqm) => Some(aqm),
            Algorithm::Discipline(_) => None,
        }
    }
}
