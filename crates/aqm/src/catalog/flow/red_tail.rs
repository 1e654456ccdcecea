//! RED+Tail: parallel virtual queues (Jou et al. 2003, section III).
//!
//! Two queues share one buffer. The first, drop-tail, is for young flows and UDP, whose losses cost
//! them much and inform no sender that could slow down for long; the second, Adaptive RED, is for flows
//! that are older than `young_packets` packets. The first queue's share of the link follows its length.
//!
//! What the paper leaves open, and what this file does:
//! - It gives rates for the two queues, not an order of service. Here the first queue's claim is kept
//!   as a number of bytes, and the queue is served while the claim is not negative ([`Claim`]). The
//!   link is never idle while something waits: a queue that has the link to itself is charged nothing.
//! - N, T, `C1_min` and `C1_max` are not printed; see the parameters.
//! - UDP goes to the first queue by its protocol. The paper classifies TCP connections by age, and
//!   says that web *and* UDP are served in the first queue (abstract, Fig. 4); its CBR source sends a
//!   packet every 50 ms, and would be old within seconds if its packets were counted.
//! - Section III and eq. 1 differ where `q1` has passed `min_th1` and `C q1/max_th1` is below `C1_min`;
//!   eq. 1 is used, by which the rate never falls as the queue grows.
//! - Packets of the first queue are never signaled, not even by marks. The inner algorithm is told of the
//!   whole link's rate, and by default only of its own queue. The paper's numbers speak for both queues
//!   together (`vq2_sees`): the delays and rates of Tables III and IV add up, by Little's law, to 57 and
//!   82 kB in both, which the text of section V calls the average queue of Adaptive RED, 60 and 80 kB.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;

use quell_units::{Bytes, Duration, Packets, QueueSize, Time};

use crate::ared::AredParams;
use crate::catalog::{AnyAqm, AqmConfig};
use crate::params::{AutoSize, ParamError, ParamValue, in_range, positive_duration, require};
use crate::part::{FlowAges, Gauge};
use crate::{
    Aqm, Ctx, Departures, Discipline, Lanes, LanesCtx, Link, Next, PacketMeta, Probe, QueueView, Transport,
    Verdict, params,
};

choice! {
    /// Queue in which packets of UDP wait.
    pub enum Udp {
        /// Always the first queue.
        Young = "young",
        /// The queue of their flow's age, as for TCP.
        Counted = "counted",
    }
}

choice! {
    /// Queue of which the second queue's algorithm is told.
    pub enum Sees {
        /// The second queue alone.
        Own = "own",
        /// Both together.
        Both = "both",
    }
}

/// The algorithm of a queue within a queue: a table with the key `algorithm`.
pub type Inner = Box<AqmConfig>;

impl ParamValue for Inner {
    fn show(&self) -> String {
        format!("{{ algorithm = \"{}\" }}", self.name())
    }
}

params! {
    /// RED+Tail's parameters.
    pub struct RedTailParams {
        /// The paper's N: how many packets of a flow wait in the first queue; later ones wait in the second.
        young_packets: u32 = 64, unit "packets", source "not printed; Jou et al.'s ssthresh";
        /// The paper's T: a flow that has been silent for longer is young again.
        forget_after: Duration = Duration::from_secs(3), unit "s", source "not printed; TCP's first timeout, so that a flow that waits for its timer is not young again";
        /// How many flows are remembered at a time; with more, those that have been silent longest are forgotten.
        flows: u32 = 4096, unit "flows", source "own";
        /// Queue in which UDP packets wait: the first ("young"), or the one for their flow's age, as for TCP
        /// ("counted").
        udp: Udp = Udp::Young, unit "name", source "Jou et al. 2003, abstract and Fig. 4";
        /// Length of the first queue up to which it is served at c1_min; auto: max_th1 / 15, as Table II prints.
        min_th1: AutoSize = AutoSize::Auto, unit "packets or bytes", source "Jou et al. 2003, Table II (2 kB)";
        /// Length of the first queue at which it is offered the whole link; its mean delay is about max_th1 / C. auto:
        /// what the link sends in 80 ms, but at most the buffer, in the buffer's unit.
        max_th1: AutoSize = AutoSize::Auto, unit "packets or bytes", source "Jou et al. 2003, Table II (30 kB at 3 Mbit/s)";
        /// Smallest share of the link for the first queue while packets wait in it; left out: min_th1 / max_th1, where the two pieces of the rule meet.
        c1_min: Option<f64> = None, unit "1", source "not printed";
        /// Largest share of the link for the first queue while packets wait in the second.
        c1_max: f64 = 0.9, unit "1", source "not printed";
        /// Queue length that the second queue's algorithm sees: that of its own queue ("own"), or that of both together
        /// ("both"), as if it measured the buffer that they share.
        vq2_sees: Sees = Sees::Own, unit "name", source "Jou et al. 2003, section III";
        /// The algorithm of the second queue with its parameters, a table as for a link: any algorithm
        /// for a single queue.
        vq2: Inner = Box::new(AqmConfig::Ared(AredParams::default())), unit "table", source "Jou et al. 2003, section III";
    }
}

impl RedTailParams {
    /// The thresholds of the first queue on a link, given or automatic.
    pub fn thresholds(&self, link: &Link) -> (QueueSize, QueueSize) {
        let max_th = self.max_th1.or_else(|| {
            let packets = (0.08 * link.capacity()).min(link.buffer.in_packets(link.mean_packet));
            link.queue_of(packets)
        });
        (self.min_th1.or_else(|| max_th.with_value(max_th.value() / 15.0)), max_th)
    }

    /// RED+Tail for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: thresholds that do not rise or differ in unit, shares
    /// outside their range, nothing to remember, an inner algorithm that is refused or is not for one
    /// queue.
    pub fn build(&self, link: &Link) -> Result<RedTail, ParamError> {
        link.check()?;
        require!(self.young_packets > 0, self.young_packets, "must be at least 1")?;
        positive_duration("forget_after", self.forget_after, "Jou et al. 2003, section III")?;
        let most = 1 << 24;
        require!((1..=most).contains(&self.flows), self.flows, "must lie in [1, {most}], 16 bytes for each")?;
        let (min_th, max_th) = self.thresholds(link);
        require(
            min_th.same_unit(max_th),
            "max_th1",
            max_th,
            format!("must have the unit of min_th1 ({min_th}): give both in packets or both in bytes"),
        )?;
        let (low, high) = (min_th.in_packets(link.mean_packet), max_th.in_packets(link.mean_packet));
        require(low >= 0.0 && low.is_finite(), "min_th1", min_th, "must not be negative")?;
        require(
            high - low > 1e-9 && high.is_finite(),
            "max_th1",
            max_th,
            format!("must exceed min_th1 ({min_th}) [Jou et al. 2003, section III]"),
        )?;
        in_range("c1_max", self.c1_max, 0.0, 1.0, "a share of the link")?;
        let c1_min = self.c1_min.unwrap_or_else(|| (low / high).min(self.c1_max));
        in_range("c1_min", c1_min, 0.0, self.c1_max, "0 and c1_max")?;
        let refused = |e: ParamError| ParamError {
            field: "vq2",
            value: self.vq2.show(),
            rule: format!("{} = {}: {}", e.field, e.value, e.rule),
        };
        let inner = self.vq2.build(link).map_err(refused)?.aqm().ok_or_else(|| ParamError {
            field: "vq2",
            value: self.vq2.show(),
            rule: "must be an algorithm for a single queue".into(),
        })?;
        Ok(RedTail {
            inner: Box::new(inner),
            table: FlowAges::new(self.flows, self.forget_after),
            young_packets: self.young_packets,
            udp: self.udp,
            sees: self.vq2_sees,
            idle: [true; 2],
            was_idle: false,
            gauge: Gauge::of(min_th, link),
            split: Split { min_th: low, max_th: high, c1_min, c1_max: self.c1_max },
            claim: Claim::default(),
            share: 0.0,
            flows: 0,
            aged: 0,
        })
    }
}

/// The lane of the second virtual queue, which is managed.
const OLD: usize = 0;
/// The lane of the first virtual queue.
const YOUNG: usize = 1;

/// Division of the link's capacity by the length of the first queue; lengths are in packets, rates are shares
/// of the link.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Split {
    /// `minth_1`.
    pub min_th: f64,
    /// `maxth_1`.
    pub max_th: f64,
    /// `C_1min / C`.
    pub c1_min: f64,
    /// `C_1max / C`.
    pub c1_max: f64,
}

impl Split {
    /// Jou et al. 2003, section III and eq. 1: `C_1 / C` for a first queue of `q1`; `C_2` is the rest.
    #[inline]
    pub fn first(&self, q1: f64) -> f64 {
        if q1 <= 0.0 {
            0.0
        } else if q1 < self.min_th {
            self.c1_min
        } else {
            (q1 / self.max_th).min(self.c1_max).max(self.c1_min)
        }
    }
}

/// Queues in which packets wait when one is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(test, derive(serde::Deserialize), serde(rename_all = "lowercase"))]
pub enum Backlog {
    /// The first alone.
    First,
    /// The second alone.
    Second,
    /// Both.
    Both,
}

impl Backlog {
    /// Returns where packets wait; `Second` if nowhere.
    #[inline]
    pub fn of(lanes: &Lanes<'_>) -> Self {
        match (lanes.each[YOUNG].packets.get(), lanes.each[OLD].packets.get()) {
            (0, _) => Backlog::Second,
            (_, 0) => Backlog::First,
            _ => Backlog::Both,
        }
    }
}

/// Bytes that the first queue may claim: what its rate amounted to, less what it sent, while packets
/// waited in both queues.
///
/// Alternating service for rates that change with every packet. The first queue is served when its
/// claim is not negative, so the claim stays within one packet on either side, and over any time in
/// which both wait each gets what its rate amounts to, to within that packet.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Claim(pub f64);

impl Claim {
    /// Decides whether the first queue is served next.
    #[inline]
    pub fn serves_first(self, backlog: Backlog) -> bool {
        match backlog {
            Backlog::First => true,
            Backlog::Second => false,
            Backlog::Both => self.0 >= 0.0,
        }
    }

    /// The claim after `bytes` of the queue that was to be served; `share` is the first queue's rate.
    #[inline]
    pub fn after(self, backlog: Backlog, bytes: f64, share: f64, c1_min: f64) -> Self {
        Claim(match backlog {
            Backlog::Both if self.serves_first(backlog) => self.0 - (1.0 - share) * bytes,
            Backlog::Both => self.0 + share * bytes,
            // It had the link to itself.
            Backlog::First => 0.0,
            // What was sent ahead of its time would, at the first queue's rate, be on its way still.
            Backlog::Second => (self.0 + c1_min * bytes).min(0.0),
        })
    }
}

/// RED+Tail's state.
pub struct RedTail {
    /// The second queue's algorithm, of the catalog.
    inner: Box<AnyAqm>,
    table: FlowAges,
    young_packets: u32,
    udp: Udp,
    sees: Sees,
    /// The lanes that are idle, and whether that of the last arrival was, which a full buffer does not end.
    idle: [bool; 2],
    was_idle: bool,
    gauge: Gauge,
    split: Split,
    claim: Claim,
    /// The first queue's share of the link when the last packet was taken.
    share: f64,
    /// Connections that were new, and of those the ones that grew old.
    flows: u64,
    aged: u64,
}

/// What the second queue's algorithm is told.
#[inline]
fn told<'a>(sees: Sees, cx: &'a mut LanesCtx<'_>) -> Ctx<'a> {
    let (packets, bytes) = (cx.lanes.packets, cx.lanes.bytes);
    let own = cx.of(OLD);
    match sees {
        Sees::Own => own,
        Sees::Both => Ctx { queue: QueueView { packets, bytes, ..own.queue }, ..own },
    }
}

impl Clone for RedTail {
    fn clone(&self) -> Self {
        let inner = self.inner.try_clone().expect("it is built from the catalog");
        RedTail { inner: Box::new(inner), table: self.table.clone(), ..*self }
    }
}

impl Discipline for RedTail {
    fn on_start(&mut self, now: Time) {
        self.inner.on_start(now);
    }

    fn on_inherit(&mut self, lane: usize, pkt: &PacketMeta) {
        self.idle[lane] = false;
        if lane == OLD || self.sees == Sees::Both {
            self.inner.on_inherit(pkt);
        }
    }

    fn lanes(&self) -> usize {
        2
    }

    fn lane_names(&self) -> &'static [&'static str] {
        &["vq2", "vq1"]
    }

    // Jou et al. 2003, section III, the list of five.
    fn classify(&mut self, now: Time, pkt: &PacketMeta) -> usize {
        if pkt.transport == Transport::Udp && self.udp == Udp::Young {
            return YOUNG;
        }
        let number = self.table.count(now, pkt.flow);
        self.flows += (number == 1) as u64;
        self.aged += (number == self.young_packets.saturating_add(1)) as u64;
        if number > self.young_packets { OLD } else { YOUNG }
    }

    fn on_enqueue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        let verdict = match lane {
            YOUNG => Verdict::Pass,
            _ => self.inner.on_enqueue(&mut told(self.sees, cx), pkt),
        };
        if !verdict.drops(pkt) {
            self.was_idle = core::mem::take(&mut self.idle[lane]);
        }
        verdict
    }

    fn on_overflow(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) {
        self.idle[lane] = self.was_idle;
        if lane == OLD {
            self.inner.on_overflow(&mut told(self.sees, cx), pkt);
        }
    }

    fn next(&mut self, cx: &mut LanesCtx<'_>) -> Next {
        let backlog = Backlog::of(&cx.lanes);
        self.share = self.split.first(self.gauge.read(&cx.lanes.each[YOUNG]));
        Next::Serve(if self.claim.serves_first(backlog) { YOUNG } else { OLD })
    }

    fn on_dequeue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        let verdict = match self.inner.departures() {
            Departures::Watched | Departures::Decided if lane == OLD => {
                self.inner.on_dequeue(&mut told(self.sees, cx), pkt)
            }
            _ => Verdict::Pass,
        };
        if !verdict.drops(pkt) {
            // The rates are those of the moment at which the packet was taken, itself included.
            let mut each = [cx.lanes.each[OLD], cx.lanes.each[YOUNG]];
            each[lane].packets = Packets::new(each[lane].packets.get() + 1);
            each[lane].bytes = Bytes::new(each[lane].bytes.get() + pkt.bytes.get());
            let share = self.split.first(self.gauge.read(&each[YOUNG]));
            let backlog = Backlog::of(&Lanes { each: &each, ..cx.lanes });
            self.claim = self.claim.after(backlog, pkt.bytes.get() as f64, share, self.split.c1_min);
        }
        verdict
    }

    fn on_idle(&mut self, lane: usize, since: Time) {
        self.idle[lane] = true;
        let idle = match self.sees {
            Sees::Own => lane == OLD,
            Sees::Both => self.idle == [true; 2],
        };
        if idle {
            self.inner.on_idle(since);
        }
    }

    fn next_update(&self) -> Option<Time> {
        self.inner.next_update()
    }

    fn on_update(&mut self, cx: &mut LanesCtx<'_>) {
        self.inner.on_update(&mut told(self.sees, cx));
    }

    fn observe(&self, out: &mut dyn Probe) {
        self.inner.observe(out);
        out.value("c1", "1", self.share);
        out.value("new_flows", "flows", self.flows as f64);
        out.value("aged_flows", "flows", self.aged as f64);
        out.value("displaced_flows", "flows", self.table.displaced() as f64);
    }
}

equations! {
    Split::first(min_th, max_th, c1_min, c1_max, q1) -> share =
        Split { min_th, max_th, c1_min, c1_max }.first(q1);
    Claim::after(claim, backlog: Backlog, bytes, share, c1_min) -> serves_first, claim = {
        let claim = Claim(claim);
        (claim.serves_first(backlog), claim.after(backlog, bytes, share, c1_min).0)
    };
}
