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
//! - Overhead is not negative. There is no filter of acknowledgments, which needs their numbers, no ingress mode,
//!   no washing of DSCPs, and no splitting of super-packets, which do not exist here.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use quell_units::{BitRate, Bytes, Duration, LinkLayer, Time};

use crate::cobalt::{CobaltLaw, CobaltParams, Lane, least_wait};
use crate::params::{ParamError, Remark, require};
use crate::part::{Aside, Emptied, FlowHash, Rounds, SetTable, fattest, flow_hash, head_of};
use crate::{Discipline, Lanes, LanesCtx, Link, Next, PacketMeta, Probe, Rng, Verdict, Victim, params};

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
        /// The longest usual round-trip time: COBALT's interval; its target is a twentieth.
        rtt: Duration = Duration::from_millis(100), unit "s", source "tc-cake(8)";
        /// Queues in each tin, in sets of eight.
        flows: u32 = 1024, unit "queues", source "Høiland-Jørgensen et al. 2018, section III.B";
        /// Most bytes that may wait in all, if the link's buffer allows that many; left out: what the shaper or the
        /// link sends in four round-trip times, but at least 4 MiB.
        memory_limit: Option<Bytes> = None, unit "bytes", source "Linux, net/sched/sch_cake.c";
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
        let blind = self.isolation == Isolation::Blind;
        let fields: &[&str] = if blind { &["flows", "hash_key"] } else { &[] };
        let why = "all flows share a queue; choose another isolation";
        Remark::on_all_void(self, fields, "isolation = flowblind", why)
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
        let rate = self.bandwidth.unwrap_or(link.rate);
        let memory = (4.0 * rate.bytes_per_sec() * self.rtt.as_secs_f64()) as u64;
        let memory_limit = self.memory_limit.map_or(memory.max(4 << 20), Bytes::get);
        require(
            memory_limit >= MTU.get(),
            "memory_limit",
            Bytes::new(memory_limit),
            format!("must hold a packet ({MTU})"),
        )?;
        let tins = self.diffserv.shifts().iter().map(|shift| self.tin(link, *shift));
        let lanes = self.diffserv.shifts().len() * self.flows as usize;
        Ok(Cake {
            given: self.clone(),
            line: line(self.layer, self.overhead.get(), self.mpu.get(), self.framing),
            memory_limit,
            hash: FlowHash::new(self.hash_key),
            clock: Time::ZERO,
            tins: tins.collect::<Result<_, _>>()?,
            lanes: vec![Queue::default(); lanes],
            turn: 0,
            goes_on: false,
            drops: 0,
        })
    }

    fn tin(&self, link: &Link, shift: u32) -> Result<Tin, ParamError> {
        let threshold = self.bandwidth.map(|rate| BitRate::from_bps((rate.bps() >> shift).max(1)));
        let mtu_time = threshold.map_or(Duration::ZERO, |rate| rate.transmission_time(MTU));
        let (target, interval) = times(self.rtt, mtu_time);
        let cobalt = CobaltParams { target, interval, ..Default::default() };
        let law = cobalt.law(link).map_err(|e| {
            ParamError::new("rtt", self.rtt, format!("{} = {}: {}", e.field, e.value, e.rule))
        })?;
        Ok(Tin {
            threshold,
            quantum: threshold.map_or(MTU.get() as i32, quantum),
            law,
            over: least_wait(target, mtu_time, 0),
            rounds: Rounds::new(self.flows as usize),
            aging: Aside::new(self.flows as usize),
            table: SetTable::new(self.flows, WAYS),
            sources: HostTable::new(),
            destinations: HostTable::new(),
            packets: 0,
            clock: Time::ZERO,
            deficit: 0,
            weight: TURN >> shift,
        })
    }
}

/// CAKE's state.
#[derive(Clone, Debug)]
pub struct Cake {
    given: CakeParams,
    /// What a packet takes on the wire.
    line: LinkLayer,
    memory_limit: u64,
    hash: FlowHash,
    /// The shaper sends nothing before.
    clock: Time,
    tins: Vec<Tin>,
    lanes: Vec<Queue>,
    /// Tin whose turn it is without a shaper.
    turn: usize,
    /// The packet that was asked for last was dropped, and the next is asked for in its place.
    goes_on: bool,
    drops: u64,
}

/// Packets of one priority.
#[derive(Clone, Debug)]
struct Tin {
    /// None without a shaper.
    threshold: Option<BitRate>,
    quantum: i32,
    law: CobaltLaw,
    over: Duration,
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
            for count in [
                &mut self.sources.counts[usize::from(queue.source)],
                &mut self.destinations.counts[usize::from(queue.destination)],
            ] {
                *count = if bulk { count.saturating_add(1) } else { count.saturating_sub(1) };
            }
        }
    }
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

    /// The tin that is served next: one with queues on its lists.
    #[inline]
    fn pick(&mut self, now: Time) -> usize {
        if self.tins.len() == 1 {
            return 0;
        }
        if self.given.bandwidth.is_some() {
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
        }
    }

    fn lanes(&self) -> usize {
        self.lanes.len()
    }

    fn on_start(&mut self, now: Time) {
        self.clock = now;
        self.tins.iter_mut().for_each(|tin| tin.clock = now);
    }

    fn on_inherit(&mut self, lane: usize, _: &PacketMeta) {
        let (t, i) = self.tin_of(lane);
        let tin = &mut self.tins[t];
        tin.packets += 1;
        tin.rounds.inherit(i, tin.quantum, true);
    }

    #[inline(always)]
    fn classify(&mut self, _: Time, pkt: &PacketMeta) -> usize {
        let t = self.given.diffserv.tin(pkt.dscp);
        let base = t * self.given.flows as usize;
        let flow = self.flow(pkt);
        let Tin { table, rounds, aging, .. } = &mut self.tins[t];
        let i = table.find(flow, |i| !rounds.is_off(i) || aging.has(i));
        if rounds.is_off(i) {
            let (source, destination) = self.hosts(pkt);
            let queue = &mut self.lanes[base + i];
            queue.source = self.tins[t].sources.find(source);
            queue.destination = self.tins[t].destinations.find(destination);
        }
        base + i
    }

    #[inline(always)]
    fn on_enqueue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, _: &PacketMeta) -> Verdict {
        let (t, i) = self.tin_of(lane);
        if cx.lanes.packets.get() == 0 {
            self.clock = self.clock.max(cx.now);
        }
        let (tin, queue) = (&mut self.tins[t], &mut self.lanes[lane]);
        if tin.packets == 0 {
            tin.clock = tin.clock.max(cx.now);
        }
        tin.packets += 1;
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
    fn is_crowded(&self, lanes: &Lanes<'_>, pkt: &PacketMeta) -> bool {
        lanes.bytes.get() + pkt.bytes.get() > self.memory_limit
    }

    fn victim(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Victim {
        let flows = self.given.flows as usize;
        let tins = self.tins.iter().enumerate();
        let active = tins.flat_map(|(t, tin)| tin.rounds.active().map(move |i| t * flows + i));
        head_of(&cx.lanes, fattest(active, &cx.lanes, lane, pkt.bytes.get()), lane)
    }

    fn on_overflow(&mut self, cx: &mut LanesCtx<'_>, lane: usize, _: &PacketMeta) {
        let (t, _) = self.tin_of(lane);
        self.tins[t].packets = self.tins[t].packets.saturating_sub(1);
        self.drops += 1;
        self.lanes[lane].cobalt.full(&self.tins[t].law, cx.now);
    }

    #[inline(always)]
    fn next(&mut self, cx: &mut LanesCtx<'_>) -> Next {
        if self.given.bandwidth.is_some() && self.clock > cx.now {
            return Next::NotBefore(self.clock);
        }
        let (now, isolation, flows) = (cx.now, self.given.isolation, self.given.flows as usize);
        let mut ages = !core::mem::take(&mut self.goes_on);
        loop {
            let t = self.pick(now);
            let base = t * flows;
            let (tin, lanes) = (&mut self.tins[t], &mut self.lanes[base..base + flows]);
            let aging = tin.aging.head().filter(|_| core::mem::take(&mut ages));
            if let Some(i) = aging {
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
            }
        }
    }

    #[inline(always)]
    fn on_dequeue(&mut self, cx: &mut LanesCtx<'_>, lane: usize, pkt: &PacketMeta) -> Verdict {
        let ((t, i), wire) = (self.tin_of(lane), self.wire(pkt));
        let (tin, now) = (&mut self.tins[t], cx.now);
        tin.packets = tin.packets.saturating_sub(1);
        let last = cx.lanes.each[lane].packets.get() == 0;
        let verdict = self.lanes[lane].cobalt.decide(&tin.law, now, tin.over, last, pkt, cx.rng);
        if verdict.drops(pkt) {
            self.goes_on = true;
            return verdict;
        }
        tin.rounds.charge(i, wire);
        tin.deficit -= wire as i64;
        if let (Some(bandwidth), Some(threshold)) = (self.given.bandwidth, tin.threshold) {
            tin.clock = after(tin.clock, now, threshold.transmission_time(Bytes::new(wire)));
            self.clock += bandwidth.transmission_time(Bytes::new(wire));
        }
        verdict
    }

    fn observe(&self, out: &mut dyn Probe) {
        let (mut new, mut old, mut p) = (0, 0, 0.0f64);
        for (t, tin) in self.tins.iter().enumerate() {
            let (n, o) = tin.rounds.counts();
            (new, old) = (new + n, old + o);
            let base = t * self.given.flows as usize;
            p = tin
                .rounds
                .active()
                .chain(tin.aging.iter())
                .map(|i| self.lanes[base + i].cobalt.p())
                .fold(p, f64::max);
        }
        out.value("new_queues", "queues", f64::from(new));
        out.value("old_queues", "queues", f64::from(old));
        out.value("p", "1", p);
        out.value("overflows", "packets", self.drops as f64);
    }
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
}
