//! SFQ-RED: stochastic fairness queueing with a RED in each queue (McKenney 1990; Floyd and Jacobson 1993).
//!
//! [SFQ](crate::sfq)'s queues, and in each a [RED](crate::red) with an average of its own: long queues are signaled
//! before they are the longest. Linux's sfq has it since 2012 (`redflowlimit`).
//!
//! What tc-sfq(8) leaves open, and what this file does:
//! - Thresholds are in packets or bytes of one flow's queue. tc-sfq(8) names no thresholds that suit a link; these
//!   are for a share of a usual link, not verified.
//! - RED judges arrivals, and an average ages while its queue is empty and none of its packets is being sent.
//! - Full queues and a full buffer are SFQ's.

use alloc::vec::Vec;

use quell_units::{Bytes, QueueSize};

use super::sfq::SfqParams;
use crate::params::{ParamError, Remark};
use crate::part::{OfFlow, PerFlow, Weight};
use crate::red::{Red, RedParams};
use crate::{Link, params};

params! {
    /// SFQ-RED's parameters.
    pub struct SfqRedParams {
        /// Queues into which flows are hashed.
        flows: u32 = 1024, unit "queues", source "tc-sfq(8): divisor";
        /// Bytes that a queue may send per turn: about the largest packet.
        quantum: Bytes = Bytes::new(1514), unit "bytes", source "tc-sfq(8): the interface's MTU";
        /// Most packets that may wait in one queue.
        depth: u32 = 127, unit "packets", source "tc-sfq(8)";
        /// Average of a flow's queue below which its packets are not signaled.
        min_th: QueueSize = QueueSize::Packets(2.0), unit "packets or bytes", source "own";
        /// Average of a flow's queue at which the probability reaches max_p.
        max_th: QueueSize = QueueSize::Packets(6.0), unit "packets or bytes", source "3 min_th: Floyd 1997";
        /// Probability at max_th.
        max_p: f64 = 0.02, unit "1", source "tc-sfq(8)";
        /// Weight of a new sample in the average; or the rule "link-rate" or "link-rate-fast", or { time_constant = "1 s" }.
        weight: Weight = Weight::Value(0.0625), unit "1", source "own: the shortest of Linux's bursts";
        /// Lets the probability rise from max_p at max_th to 1 at twice max_th; without it, the probability
        /// is 1 from max_th on.
        gentle: bool = true, unit "true or false", source "Floyd 2000";
        /// Key of the hash; left out: drawn from the run's seed.
        hash_key: Option<u64> = None, unit "1", source "RFC 8290 section 4.1";
    }
}

impl SfqRedParams {
    /// RED with its parameters.
    fn red(&self) -> RedParams {
        RedParams {
            min_th: self.min_th,
            max_th: self.max_th,
            max_p: self.max_p,
            weight: self.weight,
            gentle: self.gentle,
            // A flow's queue is short; the averages are what keeps RED from signaling it early.
            min_backlog: 0,
            ..Default::default()
        }
    }

    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        self.red().remarks(link)
    }

    /// SFQ-RED for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: what SFQ or RED refuses.
    pub fn build(&self, link: &Link) -> Result<SfqRed, ParamError> {
        let red = self.red().build(link)?;
        let sfq = SfqParams {
            flows: self.flows,
            quantum: self.quantum,
            depth: self.depth,
            hash_key: self.hash_key,
            ..Default::default()
        };
        Ok(PerFlow::new(sfq.arrangement(link)?, red, None))
    }
}

/// SFQ-RED's state.
pub type SfqRed = PerFlow<Red>;

impl OfFlow for Red {
    fn p_after(&self, _: u64) -> Option<f64> {
        Some(self.probability())
    }
}
