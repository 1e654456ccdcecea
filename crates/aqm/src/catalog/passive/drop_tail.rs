//! Drop-tail: no active management; an arrival that does not fit is dropped by the host, or, with `drop = "front"`, the
//! packets at the head make room for it (Lakshman et al. 1996).

use quell_units::{QueueSize, Time};

use crate::catalog::{AnyAlgorithm, AnyDiscipline};
use crate::params::{Marks, ParamError};
use crate::{Algorithm, Aqm, Discipline, LanesCtx, Link, Next, PacketMeta, Victim, params};

choice! {
    /// Packet that a full buffer costs.
    pub enum Drop {
        /// The one that arrives.
        Tail = "tail",
        /// The one that has waited longest, and the next ones until the arrival fits (Linux's pfifo_head_drop).
        Front = "front",
    }
}

params! {
    /// Drop-tail's parameters; the buffer belongs to the queue.
    pub struct DropTailParams {
        /// What a full buffer drops: the arrival ("tail"), or packets at the head until the arrival fits ("front").
        drop: Drop = Drop::Tail, unit "name", source "the FIFO of every router; \"front\": Lakshman et al. 1996, Linux's pfifo_head_drop";
    }
}

impl DropTailParams {
    /// It has no signals.
    pub fn marks(&self) -> Marks {
        Marks::Nothing
    }

    /// Always succeeds.
    pub fn build(&self, _link: &Link) -> Result<DropTail, ParamError> {
        Ok(DropTail)
    }

    /// The queue that drops at the front is a discipline: only those choose what goes.
    pub(crate) fn instead(&self, link: &Link) -> Option<AnyAlgorithm> {
        let buffer = match link.buffer {
            QueueSize::Packets(_) => f64::INFINITY,
            QueueSize::Bytes(bytes) => bytes,
        };
        (self.drop == Drop::Front)
            .then(|| Algorithm::Discipline(AnyDiscipline::DropFront(DropFront { buffer })))
    }
}

/// Passes every packet.
#[derive(Clone, Debug)]
pub struct DropTail;

impl Aqm for DropTail {}

/// Passes every packet, and makes room at the head.
#[derive(Clone, Debug)]
pub struct DropFront {
    /// The bytes that the buffer holds; infinite for one that counts packets.
    buffer: f64,
}

impl Discipline for DropFront {
    fn lanes(&self) -> usize {
        1
    }

    #[inline]
    fn classify(&mut self, _: Time, _: &PacketMeta) -> usize {
        0
    }

    #[inline]
    fn victim(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Victim {
        // For one that never fits nothing need go.
        let fits = pkt.bytes.get() as f64 <= self.buffer;
        if fits && cx.lanes.packets.get() > 0 { Victim::Head(lane) } else { Victim::Arrival }
    }

    #[inline]
    fn next(&mut self, _: &mut LanesCtx<'_>) -> Next {
        Next::Serve(0)
    }
}
