//! CAKE: common applications kept enhanced (Høiland-Jørgensen et al. 2018).
//!
//! A shaper, tins by DSCP, and in each tin a queue per flow under COBALT, served in turn. The shaper counts what
//! a packet is on the wire, overhead and framing included, and lets the link wait; so the queue builds here and
//! not in a modem. Turns are shorter for flows of hosts that have many, so hosts get the same as well.
//!
//! Its authors published CAKE in the kernel, so what the kernel does is the algorithm here. Facts about Linux are
//! those of tc-cake(8) and of net/sched/sch_cake.c of 7.2.
//! - The only packet of a queue is never dropped on its way out; see [COBALT](crate::cobalt).
//! - Clocks. The shaper's advances by the time of each packet sent and never lies before the arrival at an empty
//!   buffer: nothing is saved up while idle. A tin's, which runs at its threshold, likewise; above it, it is set
//!   to now and the packet's time. The tin with the highest number among those whose clock has come is served,
//!   or the one whose clock comes first.
//! - Without a bandwidth there is no shaper: tins get turns in proportion to their thresholds, a turn of a queue
//!   is an Ethernet frame, and the target is a twentieth of `rtt` however slow the link is.
//! - A queue's turn is a quantum over the number of queues in their turn of its host: of source or destination,
//!   whichever has more ("triple"). What that leaves over is rounded at random (Linux draws for every turn; here,
//!   where a host has one queue, nothing is drawn and no byte is lost).
//! - Only queues that have used up a turn, or wait for another, count for their host.
//! - A queue that is found empty leaves its list. If its COBALT has not come to rest, it goes to a third list. Each
//!   packet that CAKE is asked for first lets the queue at the head of that list age by a step, and sends that to
//!   its end until it is at rest. Nobody asks while nothing waits, so nothing ages then.
//! - A flow looks for its queue, and else for an unused one, among the eight of its set, beginning with its own;
//!   if all are used it shares its own. Hosts likewise.
//! - The fattest queue loses packets from its head when the buffer is full; its COBALT is told.
//! - Flows whose hosts nobody knows have hosts of their own. Two of them may share a place for hosts, as in Linux, and then
//!   have half of a share each: `isolation = "flows"` is without that.
//! - `ingress`: what is dropped moves the shaper's clocks and takes from its queue's turn as what is sent does. A second
//!   clock, which only what is sent moves, by half as much again as it takes, lets the shaper send if it has come: what
//!   alone drops more than the rate still sends two thirds of it. After a drop the tin goes on without a look at
//!   the clocks until one of its queues is found empty. A packet has waited too long only if it has waited longer than two
//!   packets of each queue that counts for its hosts take.
//! - `ack_filter`: an acknowledgment is dropped when one that covers it arrives, before the arrival needs room
//!   (`part/ack_filter.rs`).
//! - `autorate_ingress`: Linux means to change the rate every 250 ms at most, but changes it with each window, as
//!   here. Thresholds are parts of the rate in bit/s here, and in whole bytes per second there.
//! - `queues`: cake_mq of Linux 7.0, whose source we have not read (not verified). A queue counts as active if something
//!   waits in it, or if it has sent since the one that counts did so last. The link takes a packet of each in turn.
//! - Overhead is not negative. Hosts are those before translation of addresses (`nat`). Super-packets, which could be
//!   split, do not exist here.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use quell_units::{BitRate, Bytes, Duration, LinkLayer, Packets, Time};

use crate::cobalt::{CobaltLaw, CobaltParams, Lane, least_wait};
use crate::params::{ParamError, Remark, require};
use crate::part::ack_filter::superfluous;
use crate::part::{
    AckFilter, Aside, Emptied, FlowHash, Found, Rounds, SetTable, fattest, flow_hash, head_of,
};
use crate::{
    Acknowledgment, Discipline, Lanes, LanesCtx, Link, Next, PacketMeta, Probe, Rng, Verdict, Victim, params,
};

choice! {
    /// Framing that the link adds to packets beside the overhead.
    pub enum Framing {
        /// Nothing.
        None = "noatm",
        /// ATM: cells of 53 bytes that carry 48.
        Atm = "atm",
        /// PTM, as VDSL2 has it: 65 bytes for each 64.
        Ptm = "ptm",
    }
}

choice! {
    /// The layer at which the sizes of packets are given.
    pub enum Layer {
        /// IP packets.
        Ip = "ip",
        /// Ethernet frames, with their header of 14 bytes.
        Ethernet = "ethernet",
    }
}

choice! {
    /// Tins into which packets are sorted by their DSCP.
    pub enum Diffserv {
        /// All into one.
        Besteffort = "besteffort",
        /// Bulk, best effort, voice.
        Diffserv3 = "diffserv3",
        /// Bulk, best effort, video, voice.
        Diffserv4 = "diffserv4",
    }
}

choice! {
    /// Parties that get the same share.
    pub enum Isolation {
        /// Hosts, whichever of source and destination has more flows, and flows within them.
        Triple = "triple-isolate",
        /// Sources, and flows within them.
        DualSource = "dual-srchost",
        /// Destinations, and flows within them.
        DualDestination = "dual-dsthost",
        /// Flows.
        Flows = "flows",
        /// Pairs of hosts.
        Hosts = "hosts",
        /// Sources.
        Source = "srchost",
        /// Destinations.
        Destination = "dsthost",
        /// Nobody: one queue.
        Blind = "flowblind",
    }
}

params! {
    /// CAKE's parameters.
    pub struct CakeParams {
        /// Rate of the shaper, counting packets' sizes on the wire; left out: it does not shape.
        bandwidth: Option<BitRate> = None, unit "bit/s", source "tc-cake(8)";
        /// Bytes that the link adds to an IP packet; with none, packets count with their own size.
        overhead: Bytes = Bytes::new(0), unit "bytes", source "tc-cake(8)";
        /// Layer at which packet sizes are given: "ip", or "ethernet", whose header of 14 bytes is replaced by
        /// `overhead`.
        layer: Layer = Layer::Ip, unit "name", source "Linux, net/sched/sch_cake.c: Ethernet's, on Ethernet";
        /// Fewest bytes that a packet takes on the wire.
        mpu: Bytes = Bytes::new(0), unit "bytes", source "tc-cake(8)";
        /// Framing on the link: none ("noatm"), cells of "atm", or "ptm".
        framing: Framing = Framing::None, unit "name", source "tc-cake(8)";
        /// Tins into which packets are sorted by their DSCP: "besteffort" (one), "diffserv3" or "diffserv4".
        diffserv: Diffserv = Diffserv::Diffserv3, unit "name", source "tc-cake(8)";
        /// Who gets equal shares: "triple-isolate", "dual-srchost", "dual-dsthost", "flows", "hosts", "srchost",
        /// "dsthost" or "flowblind".
        isolation: Isolation = Isolation::Triple, unit "name", source "tc-cake(8)";
        /// The shaper counts the packets that it drops, so that arrivals obey the rate, and not departures: for a queue
        /// behind the bottleneck.
        ingress: bool = false, unit "true or false", source "tc-cake(8)";
        /// The shaper's rate follows that of the arrivals, from `bandwidth` on: 15/16 of a moving average of it.
        autorate_ingress: bool = false, unit "true or false", source "tc-cake(8)";
        /// Acknowledgments that are dropped because a later one of their flow says as much: none ("off"), those behind
        /// which another such one waits ("on"), or the last one that waits, too ("aggressive").
        ack_filter: AckFilter = AckFilter::Off, unit "name", source "tc-cake(8)";
        /// Packets leave with the DSCP 0.
        wash: bool = false, unit "true or false", source "tc-cake(8)";
        /// The longest usual round-trip time: COBALT's interval; its target is a twentieth.
        rtt: Duration = Duration::from_millis(100), unit "s", source "tc-cake(8)";
        /// Queues in each tin, in sets of eight.
        flows: u32 = 1024, unit "queues", source "Høiland-Jørgensen et al. 2018, section III.B";
        /// Most bytes that may wait in all, if the link's buffer allows that many; left out: what the shaper or the
        /// link sends in four round-trip times, but at least 4 MiB.
        memory_limit: Option<Bytes> = None, unit "bytes", source "Linux, net/sched/sch_cake.c";
        /// Queues of the network card, as in cake_mq of Linux 7.0: each has a CAKE of its own that shapes to the rate over the
        /// number of queues that are active. A flow's hash says its queue, and the link serves them in turn.
        queues: u32 = 1, unit "queues", source "tc-cake(8): one, without cake_mq";
        /// With several `queues`, time after which each counts the active ones again.
        sync_time: Duration = Duration::from_micros(200), unit "s", source "Linux 7.0, cake_mq (not verified)";
        /// Reports of each tin what `tc -s qdisc` shows, as internal signals.
        statistics: bool = false, unit "true or false", source "Quell: they cost time";
        /// Key of the hash; left out: drawn from the run's seed.
        hash_key: Option<u64> = None, unit "1", source "RFC 8290 section 4.1";
    }
}

/// Queues of a set.
const WAYS: u32 = 8;
/// Linux, net/sched/sch_cake.c: bytes of a turn of best effort without a shaper.
const TURN: i64 = 1024;
/// An Ethernet frame.
const MTU: Bytes = Bytes::new(1514);

impl Diffserv {
    /// Threshold of each tin as a share of the rate: the power of two by which the rate is divided. The first
    /// is best effort.
    fn shifts(self) -> &'static [u32] {
        match self {
            Diffserv::Besteffort => &[0],
            Diffserv::Diffserv3 => &[0, 4, 2],
            Diffserv::Diffserv4 => &[0, 4, 1, 2],
        }
    }

    /// The name of each tin, as its place among those of [`STATISTICS`].
    fn names(self) -> &'static [usize] {
        match self {
            Diffserv::Besteffort => &[0],
            Diffserv::Diffserv3 => &[0, 1, 3],
            Diffserv::Diffserv4 => &[0, 1, 2, 3],
        }
    }

    /// tc-cake(8): the tin of a DSCP. Of the old TOS bits, 4 is low delay and 1 low cost.
    #[inline]
    pub fn tin(self, dscp: u8) -> usize {
        const BULK: [u8; 2] = [1, 8];
        match (self, dscp) {
            (Diffserv::Besteffort, _) => 0,
            // LE is 1 (RFC 8622); low cost had it before.
            (_, dscp) if BULK.contains(&dscp) => 1,
            (Diffserv::Diffserv3, 4 | 44 | 46 | 48 | 56) => 2,
            (Diffserv::Diffserv4, 32 | 40 | 44 | 46 | 48 | 56) => 3,
            (Diffserv::Diffserv4, 4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38) => 2,
            _ => 0,
        }
    }
}

impl CakeParams {
    /// What may surprise on a link.
    pub fn remarks(&self, _: &Link) -> Vec<Remark> {
        let blind = self.isolation == Isolation::Blind && self.queues == 1;
        let fields: &[&str] = if blind { &["flows", "hash_key"] } else { &[] };
        let why = "all flows share a queue; choose another isolation";
        let mut all = Remark::on_all_void(self, fields, "isolation = flowblind", why);
        let (alone, unshaped) = (self.queues == 1, self.bandwidth.is_none());
        if alone || unshaped {
            let by = if alone { "queues = 1" } else { "queues and no bandwidth" };
            all.append(&mut Remark::on_all_void(self, &["sync_time"], by, "no bandwidth is divided"));
        }
        all
    }

    /// CAKE for a link.
    ///
    /// # Errors
    /// Names the field that breaks a rule: a shaper that is faster than its link or stands still, an overhead
    /// beyond 256 bytes, queues that do not make sets of eight, a limit below a packet, or what COBALT refuses.
    pub fn build(&self, link: &Link) -> Result<Cake, ParamError> {
        link.check()?;
        if let Some(bandwidth) = self.bandwidth {
            require!(bandwidth.bps() > 0, bandwidth, "must be positive; leave it out for no shaper")?;
            require!(
                bandwidth <= link.rate,
                bandwidth,
                "must not exceed the link's rate ({}): a shaper faster than its link shapes nothing; give less \
                 than the link's, or leave it out [Høiland-Jørgensen et al. 2018, section III.A]",
                link.rate
            )?;
        }
        for (field, bytes) in [("overhead", self.overhead), ("mpu", self.mpu)] {
            require(bytes.get() <= 256, field, bytes, "must be at most 256 B [tc-cake(8)]")?;
        }
        require!(
            self.flows >= WAYS && self.flows.is_multiple_of(WAYS) && self.flows <= 1 << 16,
            self.flows,
            "must be a multiple of {WAYS}, at most 65536: queues are in sets of {WAYS} \
             [Høiland-Jørgensen et al. 2018, section III.B]"
        )?;
        require!(
            (Duration::from_micros(20)..=Duration::from_secs(3600)).contains(&self.rtt),
            self.rtt,
            "must lie in [20 us, 1 h]"
        )?;
        require!(
            (1..=64).contains(&self.queues),
            self.queues,
            "must lie in [1, 64]: queues of a network card, each with a CAKE"
        )?;
        for (field, given) in [("statistics", self.statistics), ("autorate_ingress", self.autorate_ingress)] {
            require(
                self.queues == 1 || !given,
                field,
                given,
                "is for one CAKE: leave it out, or give queues = 1",
            )?;
        }
        let several = match self.queues {
            1 => None,
            queues => Some(Box::new(Several::new(self, queues, link)?)),
        };
        let memory_limit = self.memory(self.bandwidth.unwrap_or(link.rate));
        require(
            memory_limit >= MTU.get(),
            "memory_limit",
            Bytes::new(memory_limit),
            format!("must hold a packet ({MTU})"),
        )?;
        let tins = self.diffserv.shifts().iter().map(|shift| self.tin(link, *shift));
        let tins = tins.collect::<Result<Vec<_>, _>>()?;
        let counts = if self.statistics { tins.len() } else { 0 };
        let lanes = self.diffserv.shifts().len() * self.flows as usize;
        Ok(Cake {
            several,
            given: self.clone(),
            line: line(self.layer, self.overhead.get(), self.mpu.get(), self.framing),
            rate: self.bandwidth,
            estimate: Estimate::new(self.bandwidth),
            memory_limit,
            hash: FlowHash::new(self.hash_key),
            clock: Time::ZERO,
            failsafe: Time::ZERO,
            tins,
            counts: vec![Counts::default(); counts],
            lanes: vec![Queue::default(); lanes],
            turn: 0,
            goes_on: None,
            drops: 0,
        })
    }

    /// Most bytes that may wait at a rate.
    fn memory(&self, rate: BitRate) -> u64 {
        let four_round_trips = (4.0 * rate.bytes_per_sec() * self.rtt.as_secs_f64()) as u64;
        self.memory_limit.map_or(four_round_trips.max(4 << 20), Bytes::get)
    }

    fn tin(&self, link: &Link, shift: u32) -> Result<Tin, ParamError> {
        let (threshold, mtu_time) = threshold(self.bandwidth, shift);
        let (target, interval) = times(self.rtt, mtu_time);
        let cobalt = CobaltParams { target, interval, ..Default::default() };
        let law = cobalt.law(link).map_err(|e| {
            ParamError::new("rtt", self.rtt, format!("{} = {}: {}", e.field, e.value, e.rule))
        })?;
        Ok(Tin {
            threshold,
            quantum: threshold.map_or(MTU.get() as i32, quantum),
            law,
            mtu_time,
            over: least_wait(target, mtu_time, 0),
            bulk: 0,
            rounds: Rounds::new(self.flows as usize),
            aging: Aside::new(self.flows as usize),
            table: SetTable::new(self.flows, WAYS),
            sources: HostTable::new(),
            destinations: HostTable::new(),
            packets: 0,
            clock: Time::ZERO,
            deficit: 0,
            weight: TURN >> shift,
            shift,
        })
    }
}

/// CAKE's state.
#[derive(Clone, Debug)]
pub struct Cake {
    /// Those of a card with several queues, which do all that this one would.
    several: Option<Box<Several>>,
    given: CakeParams,
    /// The shaper's; none without one.
    rate: Option<BitRate>,
    /// Of the arrivals' rate, with `autorate_ingress`.
    estimate: Estimate,
    /// What a packet takes on the wire.
    line: LinkLayer,
    memory_limit: u64,
    hash: FlowHash,
    /// The shaper sends nothing before.
    clock: Time,
    /// A second clock, of what is sent alone: with `ingress` the shaper sends if either has come.
    failsafe: Time,
    tins: Vec<Tin>,
    /// What is counted of each tin, if it is.
    counts: Vec<Counts>,
    lanes: Vec<Queue>,
    /// Tin whose turn it is without a shaper.
    turn: usize,
    /// The packet that was asked for last was dropped, of this tin, and the next is asked for in its place.
    goes_on: Option<usize>,
    drops: u64,
}

/// The CAKEs of a card with several queues, and the rate that they share.
#[derive(Clone, Debug)]
struct Several {
    each: Vec<Member>,
    bandwidth: Option<BitRate>,
    sync_time: Duration,
    hash: FlowHash,
    /// Lanes of each.
    lanes: usize,
    /// The one that is asked first.
    turn: usize,
}

/// One of several.
#[derive(Clone, Debug)]
struct Member {
    cake: Cake,
    /// The time at which it last counted the active ones.
    counted: Option<Time>,
    /// The time at which it last sent a packet.
    sent: Option<Time>,
}

impl Several {
    fn new(given: &CakeParams, queues: u32, link: &Link) -> Result<Self, ParamError> {
        let cake = CakeParams { queues: 1, ..given.clone() }.build(link)?;
        let lanes = cake.lanes.len();
        let each = vec![Member { cake, counted: None, sent: None }; queues as usize];
        let hash = FlowHash::new(given.hash_key).turned(1);
        Ok(Several { each, bandwidth: given.bandwidth, sync_time: given.sync_time, hash, lanes, turn: 0 })
    }

    /// A member's part of what waits.
    fn part<'a>(&self, cx: &'a mut LanesCtx<'_>, member: usize) -> LanesCtx<'a> {
        let first = member * self.lanes;
        let lanes = Lanes {
            each: &cx.lanes.each[first..first + self.lanes],
            packets: Packets::new(self.each[member].cake.waiting()),
            bytes: cx.lanes.bytes,
        };
        LanesCtx { now: cx.now, lanes, rng: cx.rng }
    }

    /// Hands a lane to its member: `act` is told it, its part of what waits, and the number that the lane has there.
    fn of<R>(
        &mut self,
        cx: &mut LanesCtx<'_>,
        lane: usize,
        act: impl FnOnce(&mut Cake, &mut LanesCtx<'_>, usize) -> R,
    ) -> R {
        let (member, lane) = (lane / self.lanes, lane % self.lanes);
        let mut part = self.part(cx, member);
        act(&mut self.each[member].cake, &mut part, lane)
    }

    fn classify(&mut self, now: Time, pkt: &PacketMeta) -> usize {
        let member = self.hash.lane(pkt.flow, self.each.len() as u32);
        member * self.lanes + self.each[member].cake.classify(now, pkt)
    }

    /// A member counts those that are active, itself included: in which something waits, or which have sent since it
    /// last did. Its share is the rate over their number.
    fn count(&mut self, member: usize, now: Time) {
        let Some(bandwidth) = self.bandwidth else { return };
        let last = self.each[member].counted;
        if last.is_some_and(|last| now.since(last) < self.sync_time) {
            return;
        }
        let is_active = |one: &Member| one.cake.waiting() > 0 || one.sent > last;
        let others = self.each.iter().enumerate().filter(|(i, one)| *i != member && is_active(one)).count();
        let one = &mut self.each[member];
        one.cake.set_rate(share_of_rate(bandwidth, 1 + others as u32));
        one.counted = Some(now);
    }

    /// The members in their turn, beginning with the one whose packet was just dropped.
    fn next(&mut self, cx: &mut LanesCtx<'_>) -> Next {
        let members = self.each.len();
        let goes_on = self.each.iter().position(|one| one.cake.goes_on.is_some());
        let first = goes_on.unwrap_or(self.turn);
        let mut soonest = Time::MAX;
        for member in (first..members).chain(0..first) {
            if self.each[member].cake.waiting() == 0 {
                continue;
            }
            self.count(member, cx.now);
            let mut part = self.part(cx, member);
            match self.each[member].cake.next(&mut part) {
                Next::Serve(lane) => {
                    self.turn = (member + 1) % members;
                    return Next::Serve(member * self.lanes + lane);
                }
                Next::NotBefore(time) => soonest = soonest.min(time),
            }
        }
        Next::NotBefore(soonest)
    }

    fn on_dequeue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        let verdict = self.of(cx, lane, |cake, cx, lane| cake.on_dequeue(cx, lane, pkt));
        if !verdict.drops(pkt) {
            self.each[lane / self.lanes].sent = Some(cx.now);
        }
        verdict
    }

    /// The lanes of all on whose lists something is.
    fn active(&self) -> impl Iterator<Item = usize> + '_ {
        let each = self.each.iter().enumerate();
        each.flat_map(move |(i, one)| one.cake.active().map(move |lane| i * self.lanes + lane))
    }
}

/// Packets of one priority.
#[derive(Clone, Debug)]
struct Tin {
    /// None without a shaper.
    threshold: Option<BitRate>,
    quantum: i32,
    law: CobaltLaw,
    mtu_time: Duration,
    over: Duration,
    /// Queues that count for their hosts.
    bulk: u32,
    rounds: Rounds,
    /// Empty queues whose COBALT has not come to rest.
    aging: Aside,
    table: SetTable,
    sources: HostTable,
    destinations: HostTable,
    packets: u32,
    /// It is within its threshold from then on.
    clock: Time,
    /// Bytes that it may send in its turn without a shaper; `weight` of them are given at a time.
    deficit: i64,
    weight: i64,
    /// Its threshold is a part of the rate: divided by this power of two.
    shift: u32,
}

/// What tc shows of a tin and nobody else counts.
#[derive(Clone, Debug, Default)]
struct Counts {
    arrived: u64,
    arrived_bytes: u64,
    waiting_bytes: u64,
    longest: u64,
    dropped: u64,
    marked: u64,
    filtered: u64,
    indirect: u64,
    missed: u64,
    collided: u64,
    /// Averages of the delay in nanoseconds: one that follows rises, one that moves slowly, and one that follows falls.
    delays: [u64; 3],
}

impl Counts {
    fn arrives(&mut self, bytes: u64) {
        self.arrived += 1;
        self.arrived_bytes += bytes;
        self.waiting_bytes += bytes;
        self.longest = self.longest.max(bytes);
    }

    fn is_sent(&mut self, delay: Duration) {
        let delay = delay.nanos();
        let [peak, average, base] = self.delays;
        self.delays = [
            moved(peak, delay, if delay > peak { FAST } else { SLOW }),
            moved(average, delay, SLOW),
            moved(base, delay, if delay < base { FAST } else { SLOW }),
        ];
    }
}

/// Shifts of moving averages: a quarter, and a 256th, of what is new.
const FAST: u32 = 2;
const SLOW: u32 = 8;

/// An estimate of the rate of arrivals (Linux, net/sched/sch_cake.c).
#[derive(Clone, Debug)]
struct Estimate {
    /// The last arrival.
    last: Option<Time>,
    /// Mean time between arrivals, in nanoseconds.
    gap: u64,
    /// Begin of the window whose bytes are counted, and these.
    began: Option<Time>,
    bytes: u64,
    /// Bytes per second.
    peak: u64,
}

impl Estimate {
    fn new(bandwidth: Option<BitRate>) -> Self {
        let peak = bandwidth.map_or(0, |rate| rate.bps() / 8);
        Estimate { last: None, gap: 0, began: None, bytes: 0, peak }
    }

    /// A packet arrives: the rate to go on with, if a window has ended. A window ends with a packet that comes after a
    /// longer pause than usual, so that packets that came at once are in one. Before the first packet there was a
    /// long pause, as on a machine that has run for a while.
    fn arrives(&mut self, now: Time, bytes: u64) -> Option<BitRate> {
        self.bytes += bytes;
        let pause = self.last.map_or(1_000_000_000, |last| now.since(last).nanos().min(1_000_000_000));
        self.gap = moved(self.gap, pause, if pause > self.gap { FAST } else { SLOW });
        self.last = Some(now);
        if pause <= self.gap {
            return None;
        }
        let rate = self.began.map_or(0, |began| per_second(self.bytes, now.since(began)));
        self.peak = moved(self.peak, rate, if rate > self.peak { FAST } else { SLOW });
        (self.bytes, self.began) = (0, Some(now));
        Some(BitRate::from_bps(8 * allowed(self.peak)))
    }
}

/// A flow's queue.
#[derive(Clone, Debug, Default)]
struct Queue {
    cobalt: Lane,
    /// It counts for its hosts.
    bulk: bool,
    source: u16,
    destination: u16,
}

/// Hosts and how many queues in their turn each has.
#[derive(Clone, Debug)]
struct HostTable {
    table: SetTable,
    counts: Vec<u16>,
}

impl HostTable {
    fn new() -> Self {
        HostTable { table: SetTable::new(1024, WAYS), counts: vec![0; 1024] }
    }

    #[inline]
    fn find(&mut self, hash: u32) -> u16 {
        let counts = &self.counts;
        self.table.find(hash, |i| counts[i] > 0) as u16
    }
}

impl Tin {
    /// Bytes that a queue may send in its turn.
    #[inline]
    fn share(&self, isolation: Isolation, queue: &Queue, rng: &mut Rng) -> i32 {
        let source = self.sources.counts[usize::from(queue.source)];
        let destination = self.destinations.counts[usize::from(queue.destination)];
        let load = match isolation {
            Isolation::Triple => source.max(destination),
            Isolation::DualSource => source,
            Isolation::DualDestination => destination,
            _ => 1,
        };
        match load {
            0 | 1 => self.quantum,
            _ => share(self.quantum, load, rng.uniform()),
        }
    }

    /// An empty queue that is on no list waits for its COBALT to come to rest.
    #[inline]
    fn put_by(&mut self, i: usize, queue: &Queue, now: Time) {
        match queue.cobalt.is_at_rest(now) {
            true => self.aging.take(i),
            false => self.aging.put(i),
        }
    }

    #[inline]
    fn count(&mut self, queue: &mut Queue, bulk: bool) {
        if queue.bulk != bulk {
            queue.bulk = bulk;
            self.bulk = if bulk { self.bulk + 1 } else { self.bulk - 1 };
            for count in [
                &mut self.sources.counts[usize::from(queue.source)],
                &mut self.destinations.counts[usize::from(queue.destination)],
            ] {
                *count = if bulk { count.saturating_add(1) } else { count.saturating_sub(1) };
            }
        }
    }
}

/// Queues on both lists, the largest probability of BLUE, and the overflows.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    new: u32,
    old: u32,
    p: f64,
    drops: u64,
}

impl Cake {
    #[inline]
    fn tin_of(&self, lane: usize) -> (usize, usize) {
        let flows = self.given.flows as usize;
        match self.tins.len() {
            1 => (0, lane),
            _ => (lane / flows, lane % flows),
        }
    }

    /// The hashes of where a packet comes from and goes to. A host that nobody knows is one for each flow.
    #[inline]
    fn hosts(&self, pkt: &PacketMeta) -> (u32, u32) {
        let host = |number: u16, side: u64| match number {
            0 => flow_hash::mix(self.hash.key() ^ (side << 33) ^ u64::from(pkt.flow.0)),
            _ => flow_hash::mix(self.hash.key() ^ (side << 32) ^ u64::from(number)),
        };
        (host(pkt.hosts.source, 1), host(pkt.hosts.destination, 3))
    }

    /// The hash of what has a queue.
    #[inline]
    fn flow(&self, pkt: &PacketMeta) -> u32 {
        match self.given.isolation {
            Isolation::Hosts => self.hosts(pkt).0 ^ self.hosts(pkt).1.rotate_left(16),
            Isolation::Source => self.hosts(pkt).0,
            Isolation::Destination => self.hosts(pkt).1,
            Isolation::Blind => 0,
            _ => self.hash.of(pkt.flow),
        }
    }

    #[inline]
    fn wire(&self, pkt: &PacketMeta) -> u64 {
        self.line.on_wire(pkt.bytes).get()
    }

    /// The time before which the shaper sends nothing, if that is to come.
    #[inline]
    fn held(&self, now: Time) -> Option<Time> {
        let until = if self.given.ingress { self.clock.min(self.failsafe) } else { self.clock };
        (self.rate.is_some() && until > now).then_some(until)
    }

    /// A packet counts for the shaper and its tin: one that is sent, or with `ingress` one that is dropped.
    #[inline(always)]
    fn advance(&mut self, t: usize, now: Time, wire: u64, sent: bool) {
        let tin = &mut self.tins[t];
        if let (Some(rate), Some(threshold)) = (self.rate, tin.threshold) {
            let (wire, time) = (Bytes::new(wire), rate.transmission_time(Bytes::new(wire)));
            tin.clock = after(tin.clock, now, threshold.transmission_time(wire));
            self.clock += time;
            if self.given.ingress && sent {
                self.failsafe += failsafe(time);
            }
        }
    }

    /// Packets that wait.
    fn waiting(&self) -> u32 {
        self.tins.iter().map(|tin| tin.packets).sum()
    }

    /// The lanes on the lists of all tins.
    fn active(&self) -> impl Iterator<Item = usize> + '_ {
        let flows = self.given.flows as usize;
        let tins = self.tins.iter().enumerate();
        tins.flat_map(move |(t, tin)| tin.rounds.active().map(move |i| t * flows + i))
    }

    /// The shaper goes on with another rate, and all else as before.
    fn set_rate(&mut self, rate: BitRate) {
        self.rate = Some(rate);
        for tin in &mut self.tins {
            tin.threshold = threshold(self.rate, tin.shift).0;
        }
    }

    /// The shaper, and what follows from its rate, goes on with another one; with none if that is 0.
    #[cold]
    fn shape(&mut self, rate: BitRate) {
        self.rate = Some(rate).filter(|rate| rate.bps() > 0);
        for tin in &mut self.tins {
            (tin.threshold, tin.mtu_time) = threshold(self.rate, tin.shift);
            (tin.law.target, tin.law.interval) = times(self.given.rtt, tin.mtu_time);
            tin.quantum = tin.threshold.map_or(MTU.get() as i32, quantum);
            tin.over = least_wait(tin.law.target, tin.mtu_time, 0);
        }
        self.memory_limit = self.given.memory(rate);
    }

    fn figures(&self) -> Figures {
        let mut all = Figures { drops: self.drops, ..Default::default() };
        for (t, tin) in self.tins.iter().enumerate() {
            let (new, old) = tin.rounds.counts();
            let base = t * self.given.flows as usize;
            let lanes = tin.rounds.active().chain(tin.aging.iter());
            let p = lanes.map(|i| self.lanes[base + i].cobalt.p()).fold(all.p, f64::max);
            all = Figures { new: all.new + new, old: all.old + old, p, ..all };
        }
        all
    }

    /// Says of each tin what tc does.
    fn report(&self, out: &mut dyn Probe) {
        for (t, (tin, counts)) in self.tins.iter().zip(&self.counts).enumerate() {
            let base = t * self.given.flows as usize;
            let (new, old) = tin.rounds.counts();
            let aging = tin.aging.iter().count() as u32;
            let lanes = tin.rounds.active().chain(tin.aging.iter());
            let unresponsive = lanes.filter(|i| self.lanes[base + i].cobalt.p() > 0.0).count();
            let [peak, average, least] = counts.delays.map(|ns| Duration::from_nanos(ns).as_secs_f64());
            let values = [
                tin.threshold.map_or(0.0, |rate| rate.bps() as f64),
                tin.law.target.as_secs_f64(),
                tin.law.interval.as_secs_f64(),
                peak,
                average,
                least,
                counts.waiting_bytes as f64,
                counts.arrived as f64,
                counts.arrived_bytes as f64,
                counts.indirect as f64,
                counts.missed as f64,
                counts.collided as f64,
                counts.dropped as f64,
                counts.marked as f64,
                counts.filtered as f64,
                f64::from(new + old + aging - tin.bulk),
                f64::from(tin.bulk),
                unresponsive as f64,
                counts.longest as f64,
                f64::from(tin.quantum),
            ];
            let names = STATISTICS[self.given.diffserv.names()[t]];
            for ((name, unit), value) in names.into_iter().zip(UNITS).zip(values) {
                out.value(name, unit, value);
            }
        }
    }

    /// The tin that is served next: one with queues on its lists.
    #[inline]
    fn pick(&mut self, now: Time) -> usize {
        if self.tins.len() == 1 {
            return 0;
        }
        if self.rate.is_some() {
            // Clocks that have come are as good as each other; of equals the highest number wins.
            let waiting = self.tins.iter().enumerate().filter(|(_, tin)| !tin.rounds.is_empty());
            let first = waiting.min_by_key(|(i, tin)| (tin.clock.max(now), Reverse(*i)));
            return first.expect("something waits").0;
        }
        loop {
            let tin = &mut self.tins[self.turn];
            if tin.deficit >= 0 && !tin.rounds.is_empty() {
                return self.turn;
            }
            if tin.deficit <= 0 {
                tin.deficit += tin.weight;
            }
            self.turn = (self.turn + 1) % self.tins.len();
        }
    }
}

impl Discipline for Cake {
    fn draw(&mut self, rng: &mut Rng) {
        if self.given.hash_key.is_none() {
            self.hash.draw(rng);
            if let Some(several) = &mut self.several {
                several.hash.draw(rng);
                several.each.iter_mut().for_each(|one| one.cake.hash.draw(rng));
            }
        }
    }

    fn lanes(&self) -> usize {
        let one = self.lanes.len();
        self.several.as_ref().map_or(one, |several| several.each.len() * several.lanes)
    }

    #[inline]
    fn washes(&self) -> bool {
        self.given.wash
    }

    fn on_start(&mut self, now: Time) {
        if let Some(several) = &mut self.several {
            return several.each.iter_mut().for_each(|one| one.cake.on_start(now));
        }
        (self.clock, self.failsafe) = (now, now);
        self.tins.iter_mut().for_each(|tin| tin.clock = now);
    }

    fn on_inherit(&mut self, lane: usize, pkt: &PacketMeta) {
        if let Some(several) = &mut self.several {
            let lanes = several.lanes;
            return several.each[lane / lanes].cake.on_inherit(lane % lanes, pkt);
        }
        let (t, i) = self.tin_of(lane);
        if let Some(counts) = self.counts.get_mut(t) {
            counts.arrives(pkt.bytes.get());
        }
        let tin = &mut self.tins[t];
        tin.packets += 1;
        tin.rounds.inherit(i, tin.quantum, true);
    }

    #[inline(always)]
    fn classify(&mut self, now: Time, pkt: &PacketMeta) -> usize {
        if let Some(several) = &mut self.several {
            return several.classify(now, pkt);
        }
        let t = self.given.diffserv.tin(pkt.dscp);
        let base = t * self.given.flows as usize;
        let flow = self.flow(pkt);
        let Tin { table, rounds, aging, .. } = &mut self.tins[t];
        let in_use = |i| !rounds.is_off(i) || aging.has(i);
        let i = match self.counts.get_mut(t) {
            None => table.find(flow, in_use),
            Some(counts) => {
                let (i, found) = table.find_out(flow, in_use);
                match found {
                    Found::Own => {}
                    Found::Other => counts.indirect += 1,
                    Found::Free => counts.missed += 1,
                    Found::Shared => counts.collided += 1,
                }
                i
            }
        };
        if rounds.is_off(i) {
            let (source, destination) = self.hosts(pkt);
            let queue = &mut self.lanes[base + i];
            queue.source = self.tins[t].sources.find(source);
            queue.destination = self.tins[t].destinations.find(destination);
        }
        base + i
    }

    #[inline(always)]
    fn on_enqueue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        if let Some(several) = &mut self.several {
            return several.of(cx, lane, |cake, cx, lane| cake.on_enqueue(cx, lane, pkt));
        }
        let (t, i) = self.tin_of(lane);
        if let Some(counts) = self.counts.get_mut(t) {
            counts.arrives(pkt.bytes.get());
        }
        if cx.lanes.packets.get() == 0 && self.clock < cx.now {
            (self.clock, self.failsafe) = (cx.now, cx.now);
        }
        let tin = &mut self.tins[t];
        if tin.packets == 0 {
            tin.clock = tin.clock.max(cx.now);
        }
        tin.packets += 1;
        if self.given.autorate_ingress
            && let Some(rate) = self.estimate.arrives(cx.now, pkt.bytes.get())
        {
            self.shape(rate);
        }
        let (tin, queue) = (&mut self.tins[t], &mut self.lanes[lane]);
        if tin.rounds.is_off(i) {
            tin.aging.take(i);
            let share = tin.share(self.given.isolation, queue, cx.rng);
            tin.rounds.inherit(i, share, true);
        } else if tin.rounds.is_old(i) && cx.lanes.each[lane].packets.get() == 0 {
            tin.count(queue, true);
        }
        Verdict::Pass
    }

    #[inline]
    fn filters(&self) -> bool {
        self.given.ack_filter != AckFilter::Off
    }

    fn superfluous(
        &self,
        arrival: &Acknowledgment,
        waiting: &mut dyn Iterator<Item = Option<Acknowledgment>>,
    ) -> Option<usize> {
        superfluous(self.given.ack_filter, arrival, waiting)
    }

    fn on_superfluous(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) {
        if let Some(several) = &mut self.several {
            return several.of(cx, lane, |cake, cx, lane| cake.on_superfluous(cx, lane, pkt));
        }
        let (t, _) = self.tin_of(lane);
        self.tins[t].packets -= 1;
        self.estimate.bytes = self.estimate.bytes.saturating_sub(pkt.bytes.get());
        if let Some(counts) = self.counts.get_mut(t) {
            counts.waiting_bytes -= pkt.bytes.get();
            counts.filtered += 1;
        }
        if self.given.ingress {
            self.advance(t, cx.now, self.wire(pkt), false);
        }
    }

    #[inline]
    fn is_crowded(&self, lanes: &Lanes<'_>, pkt: &PacketMeta) -> bool {
        lanes.bytes.get() + pkt.bytes.get() > self.memory_limit * u64::from(self.given.queues)
    }

    fn victim(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Victim {
        let arrival = pkt.bytes.get();
        let fat = match &self.several {
            Some(several) => fattest(several.active(), &cx.lanes, lane, arrival),
            None => fattest(self.active(), &cx.lanes, lane, arrival),
        };
        head_of(&cx.lanes, fat, lane)
    }

    fn on_overflow(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) {
        if let Some(several) = &mut self.several {
            return several.of(cx, lane, |cake, cx, lane| cake.on_overflow(cx, lane, pkt));
        }
        let (t, _) = self.tin_of(lane);
        if self.given.ingress {
            self.advance(t, cx.now, self.wire(pkt), false);
        }
        self.tins[t].packets = self.tins[t].packets.saturating_sub(1);
        self.drops += 1;
        if let Some(counts) = self.counts.get_mut(t) {
            counts.waiting_bytes -= pkt.bytes.get();
            counts.dropped += 1;
        }
        self.lanes[lane].cobalt.full(&self.tins[t].law, cx.now);
    }

    #[inline(always)]
    fn next(&mut self, cx: &mut LanesCtx<'_>) -> Next {
        if let Some(several) = &mut self.several {
            return several.next(cx);
        }
        let (now, isolation, flows) = (cx.now, self.given.isolation, self.given.flows as usize);
        let goes_on = self.goes_on.take();
        let mut ages = goes_on.is_none();
        // A drop that counted has moved the clocks; the tin goes on all the same, until a queue of it is empty.
        let mut stays = goes_on.filter(|_| self.given.ingress);
        if stays.is_none()
            && let Some(time) = self.held(now)
        {
            return Next::NotBefore(time);
        }
        loop {
            let t = stays.unwrap_or_else(|| self.pick(now));
            let base = t * flows;
            let (tin, lanes) = (&mut self.tins[t], &mut self.lanes[base..base + flows]);
            // Only the tin that is looked at first: later ones have no more time for it.
            let ages = core::mem::take(&mut ages);
            if let Some(i) = tin.aging.head().filter(|_| ages) {
                lanes[i].cobalt.empty(&tin.law, now);
                tin.put_by(i, &lanes[i], now);
                continue;
            }
            let i = tin.rounds.head();
            let waits = cx.lanes.each[base + i].packets.get() > 0;
            if tin.rounds.credits(i) <= 0 {
                if waits {
                    tin.count(&mut lanes[i], true);
                }
                let share = tin.share(isolation, &lanes[i], cx.rng);
                tin.rounds.another_turn(i, share);
            } else if waits {
                return Next::Serve(base + i);
            } else {
                tin.count(&mut lanes[i], false);
                lanes[i].cobalt.empty(&tin.law, now);
                tin.rounds.found_empty(i, Emptied::Leaves);
                tin.put_by(i, &lanes[i], now);
                if stays.take().is_some()
                    && let Some(time) = self.held(now)
                {
                    return Next::NotBefore(time);
                }
            }
        }
    }

    #[inline(always)]
    fn on_dequeue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        if let Some(several) = &mut self.several {
            return several.on_dequeue(cx, lane, pkt);
        }
        let ((t, i), wire) = (self.tin_of(lane), self.wire(pkt));
        let (tin, now) = (&mut self.tins[t], cx.now);
        tin.packets = tin.packets.saturating_sub(1);
        let last = cx.lanes.each[lane].packets.get() == 0;
        let over = match self.given.ingress {
            true => least_wait(tin.law.target, tin.mtu_time, tin.bulk),
            false => tin.over,
        };
        let verdict = self.lanes[lane].cobalt.decide(&tin.law, now, over, last, pkt, cx.rng);
        let dropped = verdict.drops(pkt);
        if let Some(counts) = self.counts.get_mut(t) {
            counts.waiting_bytes -= pkt.bytes.get();
            match dropped {
                true => counts.dropped += 1,
                false => counts.is_sent(now.since(pkt.enqueued_at)),
            }
            counts.marked += u64::from(!dropped && verdict != Verdict::Pass);
        }
        if dropped {
            self.goes_on = Some(t);
            if !self.given.ingress {
                return verdict;
            }
        }
        tin.rounds.charge(i, wire);
        tin.deficit -= wire as i64;
        self.advance(t, now, wire, !dropped);
        verdict
    }

    fn observe(&self, out: &mut dyn Probe) {
        let mut all = self.figures();
        for one in self.several.iter().flat_map(|several| &several.each) {
            let Figures { new, old, p, drops } = one.cake.figures();
            all =
                Figures { new: all.new + new, old: all.old + old, p: all.p.max(p), drops: all.drops + drops };
        }
        out.value("new_queues", "queues", f64::from(all.new));
        out.value("old_queues", "queues", f64::from(all.old));
        out.value("p", "1", all.p);
        out.value("overflows", "packets", all.drops as f64);
        self.report(out);
    }
}

/// The statistics of a tin in the order in which tc shows them, by tc's names, after the tin's.
macro_rules! statistics {
    ($tin:literal) => {
        statistics!($tin: "thresh" "target" "interval" "pk_delay" "av_delay" "sp_delay" "backlog" "pkts" "bytes" "way_inds"
            "way_miss" "way_cols" "drops" "marks" "ack_drop" "sp_flows" "bk_flows" "un_flows" "max_len" "quantum")
    };
    ($tin:literal: $($name:literal)*) => {
        [$( concat!($tin, "_", $name) ),*]
    };
}

const STATISTICS: [[&str; 20]; 4] =
    [statistics!("best_effort"), statistics!("bulk"), statistics!("video"), statistics!("voice")];

#[rustfmt::skip]
const UNITS: [&str; 20] = [
    "bit/s", "s", "s", "s", "s", "s", "bytes", "packets", "bytes", "packets",
    "packets", "packets", "packets", "packets", "packets", "queues", "queues", "queues", "bytes", "bytes",
];

/// The threshold of a tin, and the time that a frame takes at it.
fn threshold(rate: Option<BitRate>, shift: u32) -> (Option<BitRate>, Duration) {
    let threshold = rate.map(|rate| BitRate::from_bps((rate.bps() >> shift).max(1)));
    (threshold, threshold.map_or(Duration::ZERO, |rate| rate.transmission_time(MTU)))
}

/// tc-cake(8): what a packet takes on the wire.
#[inline]
pub fn on_wire(bytes: u64, overhead: u64, mpu: u64, framing: Framing) -> u64 {
    line(Layer::Ip, overhead, mpu, framing).on_wire(Bytes::new(bytes)).get()
}

/// The link as packets see it. Linux, net/sched/sch_cake.c: a packet's size is counted from the IP packet only if there
/// is an overhead.
fn line(layer: Layer, overhead: u64, mpu: u64, framing: Framing) -> LinkLayer {
    LinkLayer {
        layer: match layer {
            Layer::Ethernet if overhead > 0 => quell_units::Layer::Ethernet,
            _ => quell_units::Layer::Ip,
        },
        overhead: Bytes::new(overhead),
        smallest: Bytes::new(mpu),
        framing: match framing {
            Framing::None => quell_units::Framing::None,
            Framing::Atm => quell_units::Framing::Atm,
            Framing::Ptm => quell_units::Framing::Ptm,
        },
        ..LinkLayer::plain(BitRate::from_bps(0))
    }
}

/// Linux, net/sched/sch_cake.c: bytes of a turn at a tin's threshold: what it sends in a 4096th of a second, 300 at
/// least and an Ethernet frame at most.
pub fn quantum(threshold: BitRate) -> i32 {
    (threshold.bps() / 8 / 4096).clamp(300, MTU.get()) as i32
}

/// Linux, net/sched/sch_cake.c: COBALT's target and interval where a packet takes `mtu_time`.
pub fn times(rtt: Duration, mtu_time: Duration) -> (Duration, Duration) {
    let usual = rtt / 20;
    let target = usual.max(mtu_time * 3 / 2);
    (target, (rtt + (target - usual)).max(target * 2))
}

/// Høiland-Jørgensen et al. 2018, section III.B: a host with so many queues in their turn has each send so much
/// less. What is left over is rounded by a number `u` in [0, 1) (Linux, net/sched/sch_cake.c: against roundoff errors).
#[inline]
pub fn share(quantum: i32, load: u16, u: f64) -> i32 {
    (f64::from(quantum) / f64::from(load.max(1)) + u) as i32
}

/// Linux, net/sched/sch_cake.c: a tin's clock after a packet that takes `time` at its threshold. One that lags
/// catches up; one that is above its threshold is that far ahead and no further.
#[inline]
pub fn after(clock: Time, now: Time, time: Duration) -> Time {
    if clock < now { clock + time } else { clock.max(now + time) }
}

/// Linux, net/sched/sch_cake.c: the time by which the second clock advances for a packet that is sent, which takes `time`:
/// half as much again. So a shaper that drops most of what arrives still sends at two thirds of its rate.
#[inline]
pub fn failsafe(time: Duration) -> Duration {
    time + time / 2
}

/// Linux, net/sched/sch_cake.c: a moving average of which a part of 2^shift is new, in whole numbers.
#[inline]
pub fn moved(average: u64, sample: u64, shift: u32) -> u64 {
    average - (average >> shift) + (sample >> shift)
}

/// Linux 7.0, cake_mq (not verified): the rate of each of so many active queues.
pub fn share_of_rate(bandwidth: BitRate, active: u32) -> BitRate {
    BitRate::from_bps((bandwidth.bps() / u64::from(active.max(1))).max(1))
}

/// Bytes per second.
fn per_second(bytes: u64, time: Duration) -> u64 {
    (u128::from(bytes) * 1_000_000_000 / u128::from(time.nanos().max(1))) as u64
}

/// Linux, net/sched/sch_cake.c: the rate to shape to, where arrivals have had so much at their `peak`: 15/16 of it.
pub fn allowed(peak: u64) -> u64 {
    (peak * 15) >> 4
}

equations! {
    Diffserv::tin(diffserv: Diffserv, dscp: u8) -> tin = diffserv.tin(dscp) as u32;
    on_wire(bytes: u64, overhead: u64, mpu: u64, framing: Framing) -> wire =
        on_wire(bytes, overhead, mpu, framing) as f64;
    quantum(threshold: BitRate) -> quantum = quantum(threshold);
    times(rtt: Duration, mtu_time: Duration) -> target, interval = {
        let (target, interval) = times(rtt, mtu_time);
        (target.as_secs_f64(), interval.as_secs_f64())
    };
    share(quantum: i32, load: u16, u) -> share = share(quantum, load, u);
    after(clock: Duration, now: Duration, time: Duration) -> clock =
        after(Time::ZERO + clock, Time::ZERO + now, time).as_secs_f64();
    failsafe(time: Duration) -> time = failsafe(time).as_secs_f64();
    moved(average: u64, sample: u64, shift: u32) -> average = moved(average, sample, shift) as f64;
    allowed(peak: u64) -> rate = allowed(peak) as f64;
    share_of_rate(bandwidth: BitRate, active: u32) -> rate = share_of_rate(bandwidth, active).bps() as f64;
}
