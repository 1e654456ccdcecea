//! FQ-CoDel: flows have queues of their own, each with a CoDel (RFC 8290).
//!
//! A keyed hash gives a flow one of many queues. They are served in turn, a quantum of bytes each; a queue
//! that has just become active goes before those that have been served, so flows that send less than a quantum per
//! turn hardly wait. CoDel signals each queue at its head.
//!
//! What the RFC leaves open, and what this file does:
//! - A queue's turn is over when its credits are negative (4.2), or when it has sent at least a quantum (the
//!   parenthesis beside it): at zero the two differ. This file follows the parenthesis, as Linux does; by the
//!   other reading a new flow of packets of one quantum sends two in its first turn.
//! - Section 4.1 drops half of the packets of the fattest queue, 64 at most, when the buffer is full: of an odd
//!   number this file drops the smaller half, but at least one. The arrival counts as one of its queue, at its
//!   tail. Linux counts half of the bytes: `rules`.
//! - Section 4.2 moves a new queue that is found empty to the old ones; Linux only where old ones wait:
//!   `rules`. With no other queue the two are the same.
//! - Linux raises CoDel's count by the packets that it drops for want of room: `rules`. The RFC does not.
//! - CoDel compares what remains with an MTU: what remains for the link, in all queues (RFC 8289 section 4.4), as in
//!   Linux. In ns-3 it is what remains in the packet's own queue, the other reading of section 5.5's bytes():
//!   `rules`. The last packet of a queue is then never dropped, however long it has waited.
//! - CoDel learns that its queue is empty when the queue's turn comes, not when its last packet leaves.
//! - Section 5.2.7 marks packets that have waited longer than CE_THRESHOLD: those that can be marked, and
//!   that CoDel has let pass; `ce_threshold_for` can restrict it to ECT(1).
//! - Marks are on by default in section 5.2.6. Here they are where the scenario's link says so, as for
//!   every algorithm.
//! - The memory limit counts bytes of packets; Linux counts its buffers.

use alloc::vec;
use alloc::vec::Vec;

use quell_units::{Bytes, Duration, Time};

use crate::codel::{Arithmetic, CodelLaw, CodelParams, CodelState, Mtu, OnEmpty};
use crate::params::{ParamError, Remark, require};
use crate::part::{Emptied, FlowHash, Rounds, fattest, head_of};
use crate::{
    Cause, Discipline, Ecn, Lanes, LanesCtx, Link, Next, PacketMeta, Probe, Rng, Verdict, Victim, params,
};

choice! {
    /// Source whose rules hold where the RFC, Linux and ns-3 differ.
    pub enum FqCodelRules {
        /// RFC 8290.
        Rfc = "rfc",
        /// Linux 7.2's fq_codel.
        Linux = "linux",
        /// ns-3's FqCoDelQueueDisc.
        Ns3 = "ns-3",
    }
}

choice! {
    /// Packets that a threshold marks.
    pub enum Marked {
        /// All that can be marked.
        EcnCapable = "ecn-capable",
        /// Those that say ECT(1): of L4S (RFC 9331).
        Ect1 = "ect1",
    }
}

params! {
    /// FQ-CoDel's parameters.
    pub struct FqCodelParams {
        /// Queues into which flows are hashed.
        flows: u32 = 1024, unit "queues", source "RFC 8290 section 5.2.5";
        /// Bytes that a queue may send per turn: about the largest packet; 300 B serves small packets first at low
        /// rates.
        quantum: Bytes = Bytes::new(1514), unit "bytes", source "RFC 8290 section 5.2.4";
        /// Delay that a standing queue may have: 5 to 10% of the interval.
        target: Duration = Duration::from_millis(5), unit "s", source "RFC 8290 section 5.2.2";
        /// Time for which a queue's delay must stay above the target, and the first spacing of drops: about the longest round-trip time.
        interval: Duration = Duration::from_millis(100), unit "s", source "RFC 8290 section 5.2.1";
        /// Most packets that may wait in all queues, if the link's buffer allows that many.
        limit: u32 = 10240, unit "packets", source "RFC 8290 section 5.2.3";
        /// Most bytes that may wait in all queues, if the link's buffer allows that many.
        memory_limit: Bytes = Bytes::new(32 << 20), unit "bytes", source "tc-fq_codel(8), Linux 7.2";
        /// Most packets dropped when the buffer is full, up to half of the fattest queue.
        drop_batch: u32 = 64, unit "packets", source "RFC 8290 section 4.1";
        /// Waiting time after which a packet is marked, whatever CoDel says; left out: none is.
        ce_threshold: Option<Duration> = None, unit "s", source "RFC 8290 section 5.2.7: optional";
        /// Which packets the threshold marks: all ECN-capable ones ("ecn-capable") or only those with ECT(1) ("ect1").
        ce_threshold_for: Marked = Marked::EcnCapable, unit "name", source "RFC 8290 section 5.2.7";
        /// Whose rules apply where sources differ: "rfc", "linux" or "ns-3".
        rules: FqCodelRules = FqCodelRules::Rfc, unit "name", source "RFC 8290";
        /// CoDel's arithmetic of times and roots: "exact", or with the clock steps and 16-bit roots of "linux".
        arithmetic: Arithmetic = Arithmetic::Exact, unit "name", source "RFC 8289 section 5.6; Linux, include/net/codel.h";
        /// What a queue that empties remembers about having stood: nothing ("forgets"), or that it stood ("keeps").
        on_empty: OnEmpty = OnEmpty::Forgets, unit "name", source "RFC 8289 section 5.6; Linux, include/net/codel_impl.h";
        /// A packet is not signaled if at most this many bytes would be left waiting for the link; left out: the
        /// largest packet seen so far.
        mtu: Option<Bytes> = None, unit "bytes", source "RFC 8289 section 4.1";
        /// Key of the hash; left out: drawn from the run's seed.
        hash_key: Option<u64> = None, unit "1", source "RFC 8290 section 4.1";
    }
}

/// The most queues: more than the kernel allows (65536), and 52 bytes each.
pub(crate) const MOST_QUEUES: u32 = 1 << 20;

/// Refuses a number of queues that cannot be, in the words of its field.
pub(crate) fn check_queues(field: &'static str, queues: u32) -> Result<(), ParamError> {
    require(
        (1..=MOST_QUEUES).contains(&queues),
        field,
        queues,
        alloc::format!(
            "must lie in [1, {MOST_QUEUES}]: a flow needs a queue to wait in [RFC 8290 section 5.2.5]"
        ),
    )
}

/// Refuses a quantum with which most turns send nothing: 300 bytes, or the mean packet if that is smaller.
pub(crate) fn check_quantum(quantum: Bytes, link: &Link) -> Result<(), ParamError> {
    let least = link.mean_packet.min(Bytes::new(300));
    require!(
        (least..=Bytes::new(1 << 24)).contains(&quantum),
        quantum,
        "must be at least {least} and at most {}: below a packet most turns send nothing; give the largest \
         packet, or 300 B on a slow link [RFC 8290 section 5.2.4]",
        Bytes::new(1 << 24)
    )
}

impl FqCodelParams {
    /// The parameters that have no effect where no packet is marked.
    pub fn of_marks(&self) -> &'static [&'static str] {
        &["ce_threshold", "ce_threshold_for"]
    }

    /// What may surprise on a link.
    pub fn remarks(&self, link: &Link) -> Vec<Remark> {
        let Self { target, interval, mtu, ce_threshold, arithmetic, on_empty, .. } = *self;
        let mut all = CodelParams { target, interval, mtu, ce_threshold, arithmetic, on_empty }.remarks(link);
        if ce_threshold.is_none() {
            let why = "there is no threshold; give ce_threshold";
            all.extend(Remark::on_all_void(self, &["ce_threshold_for"], "ce_threshold left out", why));
        }
        all
    }

    /// FQ-CoDel for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: no queues, a quantum below a packet, a limit of nothing, or what
    /// CoDel refuses.
    pub fn build(&self, link: &Link) -> Result<FqCodel, ParamError> {
        let Self { target, interval, mtu, ce_threshold, arithmetic, on_empty, .. } = *self;
        CodelParams { target, interval, mtu, ce_threshold, arithmetic, on_empty }.build(link)?;
        check_queues("flows", self.flows)?;
        check_quantum(self.quantum, link)?;
        require!(self.limit > 0, self.limit, "must be at least 1 [RFC 8290 section 5.2.3]")?;
        require!(
            self.memory_limit >= self.quantum,
            self.memory_limit,
            "must hold a quantum ({})",
            self.quantum
        )?;
        require!(self.drop_batch > 0, self.drop_batch, "must be at least 1 [RFC 8290 section 4.1]")?;
        Ok(FqCodel {
            law: CodelLaw::new(target, interval, arithmetic, on_empty),
            mtu: Mtu::new(self.mtu),
            hash: FlowHash::new(self.hash_key),
            draws: self.hash_key.is_none(),
            flows: self.flows,
            quantum: self.quantum.get() as i32,
            limit: self.limit,
            memory_limit: self.memory_limit.get(),
            drop_batch: self.drop_batch,
            ce_threshold: ce_threshold.map(|t| arithmetic.steps(t)),
            ce_threshold_for: self.ce_threshold_for,
            rules: self.rules,
            rounds: Rounds::new(self.flows as usize),
            states: vec![CodelState::default(); self.flows as usize],
            batch: Batch::default(),
            batches: 0,
        })
    }
}

/// FQ-CoDel's state.
#[derive(Clone, Debug)]
pub struct FqCodel {
    law: CodelLaw,
    mtu: Mtu,
    hash: FlowHash,
    /// The key is to be drawn.
    draws: bool,
    flows: u32,
    quantum: i32,
    limit: u32,
    memory_limit: u64,
    drop_batch: u32,
    ce_threshold: Option<Duration>,
    ce_threshold_for: Marked,
    rules: FqCodelRules,
    rounds: Rounds,
    states: Vec<CodelState>,
    batch: Batch,
    /// Times that the buffer was full.
    batches: u64,
}

/// Drops that one queue still owes to a full buffer.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Batch {
    lane: u32,
    /// Packets at most.
    pub packets: u32,
    /// Bytes that still have to go; RFC 8290 counts packets only.
    pub bytes: u64,
}

impl Batch {
    /// RFC 8290 section 4.1: half of the packets of a queue, and at most `most`; by Linux's and ns-3's rules until
    /// half of its bytes have gone.
    pub fn of(rules: FqCodelRules, packets: u32, bytes: u64, most: u32) -> Self {
        match rules {
            FqCodelRules::Rfc => Batch { lane: 0, packets: (packets / 2).clamp(1, most), bytes: u64::MAX },
            FqCodelRules::Linux | FqCodelRules::Ns3 => {
                Batch { lane: 0, packets: most, bytes: (bytes / 2).max(1) }
            }
        }
    }

    /// A packet of `bytes` has gone.
    #[must_use]
    pub fn less(self, bytes: u64) -> Self {
        let left = self.bytes.saturating_sub(bytes);
        Batch { packets: if left == 0 { 0 } else { self.packets.saturating_sub(1) }, bytes: left, ..self }
    }
}

impl FqCodel {
    fn emptied(&self) -> Emptied {
        match self.rules {
            FqCodelRules::Rfc | FqCodelRules::Ns3 => Emptied::ToOld,
            FqCodelRules::Linux => Emptied::ToOldBehindOthers,
        }
    }

    /// RFC 8290 section 5.2.7: whether a packet that CoDel lets pass is marked.
    #[inline]
    fn passes_threshold(&self, sojourn: Duration, ecn: Ecn) -> bool {
        let concerned = match self.ce_threshold_for {
            Marked::EcnCapable => ecn.is_capable(),
            Marked::Ect1 => ecn == Ecn::Ect1,
        };
        concerned && self.ce_threshold.is_some_and(|threshold| sojourn > threshold)
    }
}

impl Discipline for FqCodel {
    fn draw(&mut self, rng: &mut Rng) {
        if self.draws {
            self.hash.draw(rng);
        }
    }

    fn lanes(&self) -> usize {
        self.flows as usize
    }

    fn on_inherit(&mut self, lane: usize, pkt: &PacketMeta) {
        self.mtu.see(pkt);
        self.rounds.inherit(lane, self.quantum, true);
    }

    #[inline(always)]
    fn classify(&mut self, _: Time, pkt: &PacketMeta) -> usize {
        self.hash.lane(pkt.flow, self.flows)
    }

    #[inline(always)]
    fn on_enqueue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        self.mtu.see(pkt);
        let (states, law) = (&mut self.states, &self.law);
        self.rounds.arrive(lane, &cx.lanes, self.quantum, true, |empty| states[empty].empty(law));
        Verdict::Pass
    }

    #[inline]
    fn is_crowded(&self, lanes: &Lanes<'_>, pkt: &PacketMeta) -> bool {
        self.batch.packets > 0
            || lanes.packets.get() >= self.limit
            || lanes.bytes.get() + pkt.bytes.get() > self.memory_limit
    }

    // RFC 8290 section 4.1.
    fn victim(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Victim {
        if self.batch.packets == 0 {
            let fat = fattest(self.rounds.active(), &cx.lanes, lane, pkt.bytes.get());
            let (own, arrival) = if fat == lane { (1, pkt.bytes.get()) } else { (0, 0) };
            let view = &cx.lanes.each[fat];
            let (packets, bytes) = (view.packets.get() + own, view.bytes.get() + arrival);
            self.batch = Batch { lane: fat as u32, ..Batch::of(self.rules, packets, bytes, self.drop_batch) };
            self.batches += 1;
        }
        let victim = head_of(&cx.lanes, self.batch.lane as usize, lane);
        if victim == Victim::Arrival {
            self.batch = Batch::default();
        }
        victim
    }

    fn on_overflow(&mut self, _: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) {
        self.batch = self.batch.less(pkt.bytes.get());
        if self.rules == FqCodelRules::Linux {
            self.states[lane].hurry();
        }
    }

    #[inline(always)]
    fn next(&mut self, cx: &mut LanesCtx<'_>) -> Next {
        let (rule, states, law) = (self.emptied(), &mut self.states, &self.law);
        Next::Serve(self.rounds.next(&cx.lanes, rule, |_| self.quantum, |empty| states[empty].empty(law)))
    }

    // RFC 8290 section 4.2.
    #[inline(always)]
    fn on_dequeue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        let sojourn = self.law.arithmetic.sojourn(cx.now, pkt.enqueued_at);
        let left =
            if self.rules == FqCodelRules::Ns3 { cx.lanes.each[lane].bytes } else { cx.lanes.bytes }.get();
        let drops = !pkt.ecn.is_capable();
        let signals = self.states[lane].signals(&self.law, cx.now, sojourn, left, self.mtu, drops);
        if !(signals && drops) {
            self.rounds.charge(lane, pkt.bytes.get());
        }
        match signals {
            true => Verdict::Signal(Cause::Early),
            false if self.passes_threshold(sojourn, pkt.ecn) => Verdict::Signal(Cause::Forced),
            false => Verdict::Pass,
        }
    }

    #[inline]
    fn on_idle(&mut self, lane: usize, _: Time) {
        self.rounds.idle(lane);
    }

    fn observe(&self, out: &mut dyn Probe) {
        let (new, old) = self.rounds.counts();
        out.value("new_queues", "queues", f64::from(new));
        out.value("old_queues", "queues", f64::from(old));
        let dropping = self.rounds.active().filter(|lane| self.states[*lane].is_dropping()).count();
        out.value("dropping", "queues", dropping as f64);
        out.value("batches", "1", self.batches as f64);
    }
}

equations! {
    Batch::of(rules: FqCodelRules, packets: u32, bytes: u64, most: u32) -> packets, bytes = {
        let batch = Batch::of(rules, packets, bytes, most);
        (batch.packets, batch.bytes as f64)
    };
    Batch::less(packets: u32, bytes: u64, gone: u64) -> packets, bytes = {
        let batch = Batch { lane: 0, packets, bytes }.less(gone);
        (batch.packets, batch.bytes as f64)
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{QueueView, Seed};
    use quell_units::{BitRate, Packets, QueueSize};

    const THRESHOLD: Duration = Duration::from_millis(2);

    fn fq_codel() -> FqCodel {
        let link = Link {
            rate: BitRate::from_bps(10_000_000),
            buffer: QueueSize::Packets(500.0),
            mean_packet: Bytes::new(1000),
        };
        let memory_limit = Bytes::new(20_000);
        let params =
            FqCodelParams { flows: 1, memory_limit, ce_threshold: Some(THRESHOLD), ..Default::default() };
        params.build(&link).unwrap()
    }

    fn waiting(packets: u32, bytes: u64) -> QueueView {
        QueueView {
            packets: Packets::new(packets),
            bytes: Bytes::new(bytes),
            head_since: None,
            link_rate: None,
        }
    }

    fn lanes(each: &[QueueView; 1]) -> Lanes<'_> {
        Lanes { each, packets: each[0].packets, bytes: each[0].bytes }
    }

    /// RFC 8290 section 5.2.7: packets whose sojourn time exceeds the threshold are marked.
    #[test]
    fn a_packet_that_has_waited_for_just_the_threshold_is_not_marked() {
        let mut rng = Seed(1).stream("fq-codel");
        let each = [waiting(5, 5000)];
        for (beyond, ecn, want) in [
            (0, Ecn::Ect0, Verdict::Pass),
            (1, Ecn::Ect0, Verdict::Signal(Cause::Forced)),
            (1, Ecn::NotEct, Verdict::Pass),
        ] {
            let now = Time::ZERO + THRESHOLD + Duration::from_nanos(beyond);
            let pkt = PacketMeta { bytes: Bytes::new(1000), ecn, ..Default::default() };
            let mut cx = LanesCtx { now, lanes: lanes(&each), rng: &mut rng };
            assert_eq!(fq_codel().on_dequeue(&mut cx, 0, &pkt), want, "{beyond} ns beyond, {ecn:?}");
        }
    }

    /// The limit is what may wait, so an arrival may fill it to the last byte.
    #[test]
    fn the_memory_may_be_exactly_full() {
        let fq_codel = fq_codel();
        let pkt = PacketMeta { bytes: Bytes::new(1000), ..Default::default() };
        assert!(!fq_codel.is_crowded(&lanes(&[waiting(19, 19_000)]), &pkt));
        assert!(fq_codel.is_crowded(&lanes(&[waiting(19, 19_001)]), &pkt));
    }

    /// RFC 8290 section 4.1: half of the packets, at most 64; of an odd number the smaller half, but at least one.
    #[test]
    fn a_batch_is_the_smaller_half() {
        let of = |packets| Batch::of(FqCodelRules::Rfc, packets, 0, 64).packets;
        assert_eq!([1, 2, 3, 4, 5, 127, 128, 130].map(of), [1, 1, 1, 2, 2, 63, 64, 64]);
    }
}
