//! SFQ: stochastic fairness queueing (McKenney 1990).
//!
//! A hash gives each flow one of many queues, which are served in turn. A full buffer costs the longest queue
//! its last packet, so whoever sends more than a share loses what is beyond it.
//!
//! What the paper leaves open, and what this file does:
//! - The paper serves a packet per turn. `quantum` bytes per turn are fair to flows of small packets as well, as
//!   in Linux and in deficit round robin (Shreedhar and Varghese 1996).
//! - A queue that runs empty loses its place, and comes back at the end with a whole quantum.
//! - The longest queue is the one with the most bytes, the arrival counted.
//! - The paper perturbs the hash from time to time, and so do `perturb` and the run's seed. Packets that wait
//!   then may be overtaken by those that follow.
//! - `depth` is Linux's: a queue of so many packets takes no more.

use quell_units::{Bytes, Duration};

use super::fq_codel::{check_quantum, check_queues};
use crate::drop_tail::DropTail;
use crate::params::{Marks, ParamError};
use crate::part::{Arrangement, Full, OfFlow, PerFlow, Service};
use crate::{Link, params};

params! {
    /// SFQ's parameters.
    pub struct SfqParams {
        /// Queues into which flows are hashed.
        flows: u32 = 1024, unit "queues", source "tc-sfq(8): divisor";
        /// Bytes that a queue may send in its turn: about the largest packet.
        quantum: Bytes = Bytes::new(1514), unit "bytes", source "tc-sfq(8): the interface's MTU";
        /// Packets that may wait in one queue.
        depth: u32 = 127, unit "packets", source "tc-sfq(8)";
        /// Time after which flows are hashed again, by another key; left out: never.
        perturb: Option<Duration> = None, unit "s", source "McKenney 1990; tc-sfq(8)";
        /// Key of the hash; left out: drawn from the run's seed.
        hash_key: Option<u64> = None, unit "1", source "RFC 8290 section 4.1";
    }
}

impl SfqParams {
    /// It has no signals.
    pub fn marks(&self) -> Marks {
        Marks::Nothing
    }

    /// SFQ for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: no queues, no room in them, a quantum below a packet, a perturbation
    /// without end.
    pub fn build(&self, link: &Link) -> Result<Sfq, ParamError> {
        link.check()?;
        Ok(PerFlow::new(self.arrangement(link)?, crate::drop_tail::DropTailParams {}.build(link)?, None))
    }

    /// Its queues, for those that have an algorithm in each.
    pub(super) fn arrangement(&self, link: &Link) -> Result<Arrangement, ParamError> {
        check_queues("flows", self.flows)?;
        check_quantum(self.quantum, link)?;
        require!(self.depth > 0, self.depth, "must be at least 1 [tc-sfq(8)]")?;
        if let Some(perturb) = self.perturb {
            require!(
                perturb >= Duration::from_millis(1),
                perturb,
                "must be at least 1 ms; leave it out for never [McKenney 1990]"
            )?;
        }
        Ok(Arrangement {
            flows: self.flows,
            quantum: self.quantum,
            limit: u32::MAX,
            memory_limit: Bytes::new(u64::MAX),
            depth: self.depth,
            service: Service::Turns,
            full: Full::Longest,
            hash_key: self.hash_key,
            perturb: self.perturb,
        })
    }
}

/// SFQ's state.
pub type Sfq = PerFlow<DropTail>;

impl OfFlow for DropTail {}
