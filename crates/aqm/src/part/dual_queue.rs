//! Common parts of RFC 9332's two examples: the choice of the queue in which a packet waits, and of the queue
//! that is served.

use alloc::format;
use alloc::vec::Vec;

use quell_units::{Bytes, Duration};

use crate::params::{Changed, Marks, ParamError, ParamValue, Remark, in_range, require};
use crate::{Ecn, LanesCtx, Link, PacketMeta, QueueView};

/// The lane of the Classic queue.
pub const CLASSIC: usize = 0;
/// The lane of the low-latency queue.
pub const L4S: usize = 1;
/// Names of the lanes, as in RFC 9332.
pub const LANE_NAMES: &[&str] = &["c", "l"];

choice! {
    /// Packets that belong to the low-latency queue.
    pub enum Classifier {
        /// ECT(1) and CE (RFC 9332 Fig. 3).
        Ect1 = "ect1",
        /// Every packet that is ECN-capable, as Linux's any_ect.
        AnyEct = "any-ect",
        /// None by its ECN field: those of the DSCP alone (RFC 9332 section 2.3).
        Dscp = "dscp",
        /// None: L4S is disabled, and ECT(1) counts as Not-ECT (RFC 9331 section 5.1).
        Off = "off",
    }
}

choice! {
    /// Choice of the queue to serve when packets wait in both.
    pub enum Scheduler {
        /// Weighted round robin by bytes (RFC 9332 section 4.2.2).
        Wrr = "wrr",
        /// The head that has waited longest, with a head start for the low-latency queue (RFC 9332 Fig. 10).
        TsFifo = "ts-fifo",
    }
}

impl Classifier {
    /// Packets that are marked.
    pub fn marks(self) -> Marks {
        match self {
            Classifier::Ect1 | Classifier::Dscp => Marks::Apart,
            Classifier::AnyEct => Marks::Capable,
            Classifier::Off => Marks::Ect0,
        }
    }
}

/// The remarks on what has no effect with a scheduler, and where nothing waits in the low-latency queue: `of_l` are the
/// parameters of that queue.
pub(crate) fn remarks<P: Changed>(
    params: &P,
    (by_ecn, dscp): (Classifier, Option<u32>),
    scheduler: Scheduler,
    of_l: &[&str],
) -> Vec<Remark> {
    if by_ecn == Classifier::Off {
        let why = "nothing waits in the low-latency queue; choose another classifier";
        return Remark::on_all_void(params, of_l, "classifier = off", why);
    }
    let (field, why) = match scheduler {
        Scheduler::Wrr => ("tshift", "the queues have weights; set scheduler = \"ts-fifo\""),
        Scheduler::TsFifo => {
            ("c_weight", "the packets that have waited longest go first; set scheduler = \"wrr\"")
        }
    };
    let mut all = Remark::on_all_void(params, &[field], &format!("scheduler = {}", scheduler.show()), why);
    if dscp.is_none() {
        let why = "no Not-ECT packet waits in the low-latency queue; give dscp";
        all.extend(Remark::on_all_void(params, &["not_ect_in_l"], "dscp left out", why));
    }
    all
}

/// The queue a packet waits in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sorter {
    /// Classifier by the ECN field.
    pub by_ecn: Classifier,
    /// And by this DSCP, whatever the ECN field says.
    pub dscp: Option<u32>,
}

impl Sorter {
    /// A sorter, or what is wrong with it.
    ///
    /// # Errors
    /// Names a DSCP that does not exist, or one that could have no effect.
    pub fn new(by_ecn: Classifier, dscp: Option<u32>) -> Result<Self, ParamError> {
        if let Some(dscp) = dscp {
            require!(dscp < 64, dscp, "must lie in [0, 63] [RFC 2474 section 3]")?;
            require!(
                by_ecn != Classifier::Off,
                dscp,
                "has no effect with classifier = \"off\": leave one of them out"
            )?;
        } else {
            require(
                by_ecn != Classifier::Dscp,
                "classifier",
                "dscp",
                "needs dscp, the code point of the low-latency queue",
            )?;
        }
        Ok(Sorter { by_ecn, dscp })
    }

    /// The lane of a packet.
    #[inline]
    pub fn lane(&self, pkt: &PacketMeta) -> usize {
        let by_ecn = match self.by_ecn {
            Classifier::Ect1 => matches!(pkt.ecn, Ecn::Ect1 | Ecn::Ce),
            Classifier::AnyEct => pkt.ecn.is_capable(),
            Classifier::Dscp | Classifier::Off => false,
        };
        if by_ecn || self.dscp == Some(u32::from(pkt.dscp)) { L4S } else { CLASSIC }
    }

    /// Response of a packet's sender.
    #[inline]
    pub fn response(&self, pkt: &PacketMeta) -> Response {
        match (pkt.ecn, self.by_ecn) {
            (Ecn::NotEct, _) | (Ecn::Ect1, Classifier::Off) => Response::Drops,
            (Ecn::Ect0, Classifier::AnyEct) | (Ecn::Ect1, _) => Response::Scalable,
            (Ecn::Ect0, _) => Response::Classic,
            // Who sent it cannot be known; where it waits decides.
            (Ecn::Ce, _) if self.lane(pkt) == L4S => Response::Scalable,
            (Ecn::Ce, _) => Response::Classic,
        }
    }
}

/// Signals to which a sender responds, as its packets' ECN field tells (RFC 9331 section 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Response {
    /// Responds to drops alone.
    Drops,
    /// Responds to marks as to drops: ECT(0).
    Classic,
    /// Responds to each mark a little: ECT(1).
    Scalable,
}

/// Serves the low-latency queue first, but not always.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Service {
    how: Scheduler,
    /// The Classic queue's part of the link while packets wait in both.
    c_weight: f64,
    tshift: Duration,
    mtu: f64,
    /// Bytes that the Classic queue is owed; it is served while this is positive.
    credit: f64,
}

impl Service {
    /// A scheduler for a link.
    ///
    /// # Errors
    /// Names a weight that would starve one of the queues.
    pub fn new(how: Scheduler, c_weight: f64, tshift: Duration, link: &Link) -> Result<Self, ParamError> {
        in_range("c_weight", c_weight, 0.001, 0.999, "RFC 9332 section 4.2.2: neither queue may starve")?;
        let limit = Duration::from_secs(3600);
        require!(tshift <= limit, tshift, "must be at most 1 h [RFC 9332 section 4.2.2]")?;
        let mtu = link.mean_packet.get() as f64;
        Ok(Service { how, c_weight, tshift, mtu, credit: fresh_credit(c_weight, mtu) })
    }

    /// Bytes that the Classic queue is owed.
    pub fn credit(&self) -> f64 {
        self.credit
    }

    /// The lane whose head is sent next.
    #[inline]
    pub fn next(&mut self, cx: &LanesCtx<'_>) -> usize {
        let (c, l) = (&cx.lanes.each[CLASSIC], &cx.lanes.each[L4S]);
        // Nothing waits but what has just come: the link was idle (RFC 9332 Appendix A.1).
        if [c, l].iter().all(|q| q.head_since.is_none_or(|since| since == cx.now)) {
            self.credit = fresh_credit(self.c_weight, self.mtu);
        }
        match (c.packets.get(), l.packets.get()) {
            (0, _) => L4S,
            (_, 0) => CLASSIC,
            _ if self.l_first(waited(cx, l), waited(cx, c)) => L4S,
            _ => CLASSIC,
        }
    }

    #[inline]
    fn l_first(&self, waited_l: Duration, waited_c: Duration) -> bool {
        match self.how {
            Scheduler::Wrr => self.credit <= 0.0,
            Scheduler::TsFifo => ts_fifo(waited_l, waited_c, self.tshift),
        }
    }

    /// A packet of `lane` was sent while packets of the other lane waited, or not.
    #[inline]
    pub fn sent(&mut self, lane: usize, bytes: Bytes, contended: bool) {
        if contended {
            self.credit = credit_after(self.credit, self.c_weight, lane == L4S, bytes.get() as f64);
        }
    }
}

/// Waiting time of the packet at the head of a lane; 0 if there is none.
#[inline]
pub fn waited(cx: &LanesCtx<'_>, queue: &QueueView) -> Duration {
    queue.head_since.map_or(Duration::ZERO, |since| cx.now.since(since))
}

/// RFC 9332 Fig. 10: whether the head of the low-latency queue goes before that of the Classic queue.
#[inline]
pub fn ts_fifo(waited_l: Duration, waited_c: Duration, tshift: Duration) -> bool {
    waited_l + tshift >= waited_c
}

/// The credit in favor of the low-latency queue, after an idle period: less than none, by the difference of
/// the two weights times a packet (RFC 9332 Appendix A.1; the amount is Linux's).
#[inline]
pub fn fresh_credit(c_weight: f64, mtu: f64) -> f64 {
    (2.0 * c_weight - 1.0) * mtu
}

/// Bytes that the Classic queue is owed after `bytes` of the low-latency queue, or of its own, while packets
/// wait in both (RFC 9332 section 4.2.2).
#[inline]
pub fn credit_after(credit: f64, c_weight: f64, of_l: bool, bytes: f64) -> f64 {
    credit + if of_l { c_weight * bytes } else { (c_weight - 1.0) * bytes }
}

equations! {
    ts_fifo(waited_l: Duration, waited_c: Duration, tshift: Duration) -> l_first = ts_fifo(waited_l, waited_c, tshift);
    fresh_credit(c_weight, mtu) -> credit = fresh_credit(c_weight, mtu);
    credit_after(credit, c_weight, of_l: bool, bytes) -> credit = credit_after(credit, c_weight, of_l, bytes);
}
