//! FQ-BLUE: flows have queues of their own, each with a BLUE (Feng et al. 1999b; RFC 8290 section 4).
//!
//! The queues of [FQ-CoDel](crate::fq_codel), with [BLUE](crate::blue) in place of CoDel: a probability for each
//! queue, which rises when the queue is longer than `threshold` or loses a packet to a full buffer, and falls when
//! it runs empty. A flow that does not answer to signals is met with more and more of them, and no other is.
//!
//! Nobody has published this. CAKE's COBALT has a BLUE beside CoDel in each queue (Høiland-Jørgensen et al. 2018); here it
//! is alone. What this file decides:
//! - An idle period is the queue's own: none of its packets waits or is being sent.
//! - A full buffer costs the end of the longest queue a packet, whose BLUE takes a step; so does any arrival
//!   that finds more than `threshold` in its queue.
//! - Steps are those of COBALT: one flow gives fewer occasions for them than a link full of flows.

use quell_units::{Bytes, Duration, QueueSize};

use super::fq_codel::{check_quantum, check_queues};
use crate::blue::{Blue, BlueParams};
use crate::params::ParamError;
use crate::part::{Arrangement, Emptied, Full, Longest, OfFlow, PerFlow, Service};
use crate::{Link, params};

params! {
    /// FQ-BLUE's parameters.
    pub struct FqBlueParams {
        /// Queues into which flows are hashed.
        flows: u32 = 1024, unit "queues", source "RFC 8290 section 5.2.5";
        /// Bytes that a queue may send per turn: about the largest packet.
        quantum: Bytes = Bytes::new(1514), unit "bytes", source "RFC 8290 section 5.2.4";
        /// Step up.
        d1: f64 = 0.00390625, unit "1", source "COBALT's: Linux, net/sched/sch_cake.c";
        /// Step down when a queue runs empty.
        d2: f64 = 0.000244140625, unit "1", source "COBALT's: Linux, net/sched/sch_cake.c";
        /// Least time between two steps of a queue; of the order of a round-trip time.
        freeze_time: Duration = Duration::from_millis(100), unit "s", source "Feng et al. 1999b";
        /// Queue above which an arrival counts as a loss; left out: only a full buffer does.
        threshold: Option<QueueSize> = Some(QueueSize::Packets(10.0)), unit "packets or bytes", source "own";
        /// Key of the hash; left out: drawn from the run's seed.
        hash_key: Option<u64> = None, unit "1", source "RFC 8290 section 4.1";
    }
}

impl FqBlueParams {
    /// FQ-BLUE for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: no queues, a quantum below a packet, or what BLUE refuses.
    pub fn build(&self, link: &Link) -> Result<FqBlue, ParamError> {
        let blue = BlueParams {
            d1: self.d1,
            d2: self.d2,
            freeze_time: self.freeze_time,
            threshold: self.threshold,
            ..Default::default()
        };
        let blue = blue.build(link)?;
        check_queues("flows", self.flows)?;
        check_quantum(self.quantum, link)?;
        let given = Arrangement {
            flows: self.flows,
            quantum: self.quantum,
            limit: u32::MAX,
            memory_limit: Bytes::new(u64::MAX),
            depth: u32::MAX,
            active: u32::MAX,
            service: Service::NewFirst,
            emptied: Emptied::ToOld,
            full: Full::Longest(Longest::Bytes),
            hash_key: self.hash_key,
            perturb: None,
        };
        Ok(PerFlow::new(given, blue, None))
    }
}

/// FQ-BLUE's state.
pub type FqBlue = PerFlow<Blue>;

impl OfFlow for Blue {
    fn p_after(&self, _: u64) -> Option<f64> {
        Some(self.probability())
    }
}
