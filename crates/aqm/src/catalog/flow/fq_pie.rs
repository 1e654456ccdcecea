//! FQ-PIE: flows have queues of their own, each with a PIE (draft-ietf-tsvwg-fq-pie).
//!
//! The queues of [FQ-CoDel](crate::fq_codel), with [PIE](crate::pie) in place of CoDel: each queue's probability
//! follows its own delay, and arrivals are signaled.
//!
//! What the draft leaves open, and what this file does:
//! - An arrival that finds the buffer full is dropped "without further processing". The host detects a full
//!   buffer: such an arrival is judged first, and its queue has its turn.
//! - PIE's safeguards, two packets that wait and the share of the buffer at which it becomes active, are
//!   measured on the queue of the flow.
//! - Updates of all queues come at the same times. With time stamps those of a queue follow from what happened to it
//!   before, as they do otherwise while it is empty: they are made up for together when something happens to it,
//!   and end where nothing changes any more. So the cost of updates follows what is sent, not the number of queues.
//! - Linux's PIE in each queue, its order of queues that are found empty, and no limit of bytes: `rules`.

use alloc::vec::Vec;

use quell_units::{Bytes, Duration};

use super::fq_codel::{check_quantum, check_queues};
use crate::params::{Marks, ParamError, ParamValue, Remark, require};
use crate::part::{Arrangement, Emptied, Full, OfFlow, PerFlow, Service, Ticker};
use crate::pie::{DelayFrom, Pie, PieParams, Scheme};
use crate::{Link, QueueView, params};

choice! {
    /// Source whose rules hold where the draft and Linux differ.
    pub enum FqPieRules {
        /// draft-ietf-tsvwg-fq-pie, with RFC 8033's PIE.
        Draft = "draft",
        /// Linux 7.2's fq_pie.
        Linux = "linux",
    }
}

params! {
    /// FQ-PIE's parameters.
    pub struct FqPieParams {
        /// Queues into which flows are hashed.
        flows: u32 = 1024, unit "queues", source "tc-fq_pie(8), Linux 7.2";
        /// Bytes that a queue may send per turn: about the largest packet; 300 B serves small packets first at low
        /// rates.
        quantum: Bytes = Bytes::new(1514), unit "bytes", source "tc-fq_pie(8), Linux 7.2: the interface's MTU";
        /// Most packets that may wait in all queues, if the link's buffer allows that many.
        limit: u32 = 10240, unit "packets", source "tc-fq_pie(8), Linux 7.2";
        /// Most bytes that may wait in all queues, if the link's buffer allows that many.
        memory_limit: Bytes = Bytes::new(32 << 20), unit "bytes", source "tc-fq_pie(8), Linux 7.2";
        /// Delay to hold in each queue (QDELAY_REF).
        target: Duration = Duration::from_millis(15), unit "s", source "RFC 8033 section 4.2";
        /// Time between two updates of the probabilities (T_UPDATE).
        update_interval: Duration = Duration::from_millis(15), unit "s", source "RFC 8033 section 4.2";
        /// Gain of the delay's distance from the target, per update.
        alpha: f64 = 0.125, unit "1/s", source "RFC 8033 Appendix A";
        /// Gain of the delay's change since the last update.
        beta: f64 = 1.25, unit "1/s", source "RFC 8033 Appendix A";
        /// How long the onset of congestion passes without signals (MAX_BURST).
        max_burst: Duration = Duration::from_millis(150), unit "s", source "RFC 8033 section 4.4";
        /// Probability at or above which ECN-capable packets are dropped, too.
        mark_ecnth: f64 = 0.1, unit "1", source "RFC 8033 section 5.1";
        /// Source of the delay: time stamps of "departures", the measured "dequeue-rate", or the "link-rate".
        delay_from: DelayFrom = DelayFrom::Departures, unit "name", source "draft-ietf-tsvwg-fq-pie section 4.1";
        /// Keeps drops from coming too close together or too far apart.
        derandomize: bool = true, unit "true or false", source "RFC 8033 section 5.4";
        /// Whose rules apply where sources differ: "draft" or "linux".
        rules: FqPieRules = FqPieRules::Draft, unit "name", source "draft-ietf-tsvwg-fq-pie";
        /// Key of the hash; left out: drawn from the run's seed.
        hash_key: Option<u64> = None, unit "1", source "RFC 8290 section 4.1";
    }
}

impl FqPieParams {
    /// Marks nothing if `mark_ecnth` is 0: every probability exceeds it.
    pub fn marks(&self) -> Marks {
        if self.mark_ecnth > 0.0 { Marks::Alike } else { Marks::Nothing }
    }

    /// The parameters that have no effect where no packet is marked.
    pub fn of_marks(&self) -> &'static [&'static str] {
        &["mark_ecnth"]
    }

    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        let given = self.memory_limit != Self::default().memory_limit;
        let void = (given && self.rules == FqPieRules::Linux).then(|| {
            let why = "it counts what exceeds the limit and drops nothing; give limit or another rules";
            Remark::on_void("memory_limit", self.memory_limit, "rules = \"linux\"", why)
        });
        Remark::on_delay("target", self.target, link).into_iter().chain(void).collect()
    }

    /// FQ-PIE for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: no queues, a quantum below a packet, a limit of nothing, or what
    /// PIE refuses.
    pub fn build(&self, link: &Link) -> Result<FqPie, ParamError> {
        let linux = self.rules == FqPieRules::Linux;
        require(
            !linux || self.delay_from == DelayFrom::Departures,
            "delay_from",
            self.delay_from.show(),
            "is what rules = \"linux\" fixes: leave it out, or give rules = \"draft\"",
        )?;
        let pie = PieParams {
            scheme: if linux { Scheme::Linux } else { Scheme::Standard },
            target: self.target,
            update_interval: self.update_interval,
            alpha: self.alpha,
            beta: self.beta,
            max_burst: self.max_burst,
            mark_ecnth: Some(self.mark_ecnth),
            delay_from: Some(self.delay_from),
            derandomize: Some(self.derandomize),
            ..Default::default()
        };
        let pie = pie.build(link)?;
        check_queues("flows", self.flows)?;
        check_quantum(self.quantum, link)?;
        require!(self.limit > 0, self.limit, "must be at least 1 [RFC 8290 section 5.2.3]")?;
        require!(
            self.memory_limit >= self.quantum,
            self.memory_limit,
            "must hold a quantum ({})",
            self.quantum
        )?;
        let given = Arrangement {
            flows: self.flows,
            quantum: self.quantum,
            limit: self.limit,
            memory_limit: if linux { Bytes::new(u64::MAX) } else { self.memory_limit },
            depth: u32::MAX,
            active: u32::MAX,
            service: Service::NewFirst,
            emptied: if linux { Emptied::ToOldBehindOthers } else { Emptied::ToOld },
            full: Full::Arrival,
            hash_key: self.hash_key,
            perturb: None,
        };
        Ok(PerFlow::new(given, pie, Some(Ticker::new("update_interval", self.update_interval)?)))
    }
}

/// FQ-PIE's state.
pub type FqPie = PerFlow<Pie>;

impl OfFlow for Pie {
    #[inline(always)]
    fn update(&mut self, queue: &QueueView) {
        Pie::update(self, queue);
    }

    #[inline]
    fn make_up(&mut self, updates: u64) {
        Pie::make_up(self, updates);
    }

    fn is_alone(&self) -> bool {
        self.follows_departures()
    }

    #[inline]
    fn p_after(&self, updates: u64) -> Option<f64> {
        Some(Pie::p_after(self, updates))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Discipline, Lanes, PacketMeta};
    use quell_units::{BitRate, Packets, QueueSize};

    /// Linux counts what exceeds the limit of bytes, and drops nothing.
    #[test]
    fn the_limit_of_bytes_is_void_in_linux() {
        let link = Link {
            rate: BitRate::from_bps(10_000_000),
            buffer: QueueSize::Packets(1000.0),
            mean_packet: Bytes::new(1000),
        };
        let each = [QueueView {
            packets: Packets::new(5),
            bytes: Bytes::new(5000),
            head_since: None,
            link_rate: None,
        }];
        let lanes = Lanes { each: &each, packets: Packets::new(5), bytes: Bytes::new(5000) };
        for (rules, crowded, remarks) in [(FqPieRules::Draft, true, 0), (FqPieRules::Linux, false, 1)] {
            let params =
                FqPieParams { flows: 1, memory_limit: Bytes::new(5500), rules, ..Default::default() };
            let pkt = PacketMeta { bytes: Bytes::new(1000), ..Default::default() };
            assert_eq!(params.build(&link).unwrap().is_crowded(&lanes, &pkt), crowded);
            assert_eq!(params.remarks(&link).len(), remarks);
        }
        let link_rate =
            FqPieParams { rules: FqPieRules::Linux, delay_from: DelayFrom::LinkRate, ..Default::default() };
        assert_eq!(link_rate.build(&link).unwrap_err().field, "delay_from");
    }
}
