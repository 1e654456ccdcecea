//! Queues that share a channel of IEEE 802.11: contention, aggregates, retries and airtime.

mod channel;
mod ring;

use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;

use quell_aqm::{Cause, Probe, QueueView, Rng};
use quell_units::{BitRate, Bytes, Duration, Packets, Time, index};

pub use channel::{AccessPoint, Aggregation, Channel, Contention, Frames, MOST_STATIONS, Station};

use self::ring::Ring;
use crate::counters::Tally;
use crate::tree::alarms::Alarms;
use crate::{Admission, Classify, Counters, Dequeued, DropPoint, Dropped, Drops, Packet, Qdisc, Refused};

/// The queues of an access point and of its stations, which share one channel in both directions.
///
/// Whoever has packets contends for the channel by the rules of the distributed coordination function: it waits for a
/// random number of slots, and sends a frame. Frames that begin in the same slot are lost. Time is that of Bianchi
/// (2000): an idle slot, a frame with its acknowledgment, or a collision, as long as its longest frame; every one is a
/// slot for the counters of those who do not send.
///
/// A frame has one packet or, as an aggregate, several packets of one station (Høiland-Jørgensen et al. 2017). Packets
/// that were not understood are in the station's next frame, until they have been sent too often. A receiver hands
/// packets on in order, at the end of the frame and its acknowledgment.
///
/// [`Classify`] leads packets to *ways*: of n stations, number i is the way to station i, and number n + i the way from
/// it. Its lanes are the queues, see [`Channel::lanes`].
///
/// [`Qdisc::dequeue`] gives up packets when the channel has carried them, so that the link behind it is to take no time
/// of its own. Until then they count as waiting. Packets that are given up are [`Cause::Forced`] drops at the head.
#[derive(Clone, Debug)]
pub struct Wifi<Q: Qdisc, C> {
    channel: Channel,
    classify: C,
    rng: Rng,
    lanes: Vec<Lane<Q>>,
    /// To stations, then from them.
    ways: Vec<Way<Q::Packet>>,
    /// The access point, then the stations.
    contenders: Vec<Contender>,
    /// The stations for which the access point has packets.
    ring: Ring,
    /// The packets that the access point's driver holds, where it has one.
    in_driver: u32,
    /// The driver has not been asked since a packet came.
    driver_asks: bool,
    /// Counters of slots hold from here on: after the last frame and its DIFS.
    slots_from: Time,
    /// The time at which the next frame begins, unless another contender comes.
    due: Time,
    /// The ways whose frames are on the air, or have been and are to be handed on.
    air: Vec<usize>,
    phase: Phase,
    /// The end of what is on the air.
    until: Time,
    waiting: Tally,
    updates: Alarms,
    /// When lanes that wait for a time of their own may be asked again.
    naps: Alarms,
    arrival_lane: usize,
    rate: Option<BitRate>,
    told_idle: bool,
    before: Counters,
    usage: Usage,
}

/// What a [`Wifi`] channel has been used for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Usage {
    /// Frames that were sent while nobody else sent.
    pub frames: u64,
    /// Packets in them.
    pub packets: u64,
    /// Times at which several began to send.
    pub collisions: u64,
    /// Packets that were given up.
    pub given_up: u64,
    /// The time that frames to and from each station took, with their acknowledgments; of collisions, the frame.
    pub airtime: Vec<Duration>,
}

/// A queue.
#[derive(Clone, Debug)]
struct Lane<Q> {
    queue: Q,
    name: Box<str>,
    /// The highest rate at which it is served.
    most: BitRate,
    /// Packets that have come and not left.
    waiting: Tally,
    /// The ones among them that are not in the queue anymore.
    held: Tally,
    /// Packets that were given up.
    lost: Drops,
    /// It waits for a time of its own.
    naps: bool,
    /// The time that its frames took, as in [`Usage::airtime`].
    airtime: Duration,
}

/// Packets between the access point and a station, one way.
#[derive(Clone, Debug)]
struct Way<P> {
    station: usize,
    lane: usize,
    /// Packets that were taken from the queue and were in no frame yet.
    ahead: VecDeque<(P, Time)>,
    /// Packets that were in a frame, in order, from the first that is missing at the other end.
    window: VecDeque<Mpdu<P>>,
    /// Those of the window that are neither received nor given up: the next frame has all of them.
    missing: u32,
    /// Bytes of these, in a frame.
    bytes: u64,
    most_packets: u32,
    most_bytes: u64,
}

#[derive(Clone, Debug)]
struct Mpdu<P> {
    packet: P,
    arrived: Time,
    tries: u16,
    fate: Fate,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Missing,
    Received,
    GivenUp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Slots,
    OnAir,
    HandedOn,
}

#[derive(Clone, Debug)]
struct Contender {
    /// It has packets to send.
    active: bool,
    /// The slot in which it may send, counted from [`Wifi::slots_from`].
    slot: u64,
    window: u32,
    /// Failures since the last success.
    failures: u32,
}

impl<Q: Qdisc, C: Classify<Q::Packet>> Wifi<Q, C> {
    /// A channel with an empty queue in each lane, which `queue` makes: it is given the lane and the highest rate at
    /// which it is served.
    ///
    /// # Errors
    /// Of a channel that cannot be shared: the station, the field, its value, the rule, and the fix.
    pub fn new(
        channel: Channel,
        classify: C,
        rng: Rng,
        mut queue: impl FnMut(usize, BitRate) -> Q,
    ) -> Result<Self, Refused> {
        channel.check()?;
        let stations = channel.stations.len();
        let down = channel.down_lanes();
        let fastest = channel.stations.iter().map(|station| station.rate).max().unwrap_or_default();
        let rate_of = |lane: usize| match lane.checked_sub(down) {
            Some(station) => channel.stations[station].rate,
            None if down < stations || matches!(channel.access_point, AccessPoint::One { .. }) => fastest,
            None => channel.stations[lane].rate,
        };
        let lane = |(number, name): (usize, alloc::string::String)| Lane {
            queue: queue(number, rate_of(number)),
            name: name.into(),
            most: rate_of(number),
            waiting: Tally::default(),
            held: Tally::default(),
            lost: Drops::default(),
            naps: false,
            airtime: Duration::ZERO,
        };
        let lanes: Vec<_> = channel.lanes().into_iter().enumerate().map(lane).collect();
        let way = |number: usize| {
            let station = number % stations;
            let lane = if number < stations { station.min(down - 1) } else { down + station };
            let (packets, own) =
                (channel.aggregation.map_or(1, |a| a.packets), channel.stations[station].packets);
            let most_packets = own.map_or(packets, |own| own.min(packets));
            Way {
                station,
                lane,
                ahead: VecDeque::with_capacity(1),
                window: VecDeque::with_capacity(packets as usize),
                missing: 0,
                bytes: 0,
                most_packets,
                most_bytes: channel.most_bytes(station),
            }
        };
        let ways = (0..2 * stations).map(way).collect();
        let cw_min = channel.contention.cw_min;
        let contenders =
            (0..=stations).map(|_| Contender { active: false, slot: 0, window: cw_min, failures: 0 });
        let contenders = contenders.collect();
        let usage = Usage { airtime: alloc::vec![Duration::ZERO; stations], ..Usage::default() };
        let mut wifi = Wifi {
            ring: Ring::new(stations, channel.access_point),
            channel,
            classify,
            rng,
            updates: Alarms::new(lanes.len()),
            naps: Alarms::new(lanes.len()),
            lanes,
            ways,
            contenders,
            in_driver: 0,
            driver_asks: false,
            slots_from: Time::ZERO,
            due: Time::MAX,
            air: Vec::with_capacity(stations + 1),
            phase: Phase::Slots,
            until: Time::ZERO,
            waiting: Tally::default(),
            arrival_lane: 0,
            rate: None,
            told_idle: false,
            before: Counters::default(),
            usage,
        };
        (0..wifi.lanes.len()).for_each(|lane| wifi.set_alarm(lane));
        Ok(wifi)
    }

    /// What the channel has been used for.
    pub fn usage(&self) -> &Usage {
        &self.usage
    }

    /// The channel.
    pub fn channel(&self) -> &Channel {
        &self.channel
    }

    /// The queue of a lane.
    pub fn lane(&self, lane: usize) -> &Q {
        &self.lanes[lane].queue
    }

    fn stations(&self) -> usize {
        self.channel.stations.len()
    }

    /// The contender that sends on a way.
    fn contender(&self, way: usize) -> usize {
        (way + 1).saturating_sub(self.stations())
    }

    /// Its packets come by a driver, which sorts those of one queue.
    fn is_driven(&self, way: usize) -> bool {
        way < self.stations() && matches!(self.channel.access_point, AccessPoint::One { .. })
    }

    /// A lane's next update may be another now.
    #[inline]
    fn set_alarm(&mut self, lane: usize) {
        self.updates.set(lane as u32, self.lanes[lane].queue.next_update());
    }

    /// Something may be sent on a way.
    fn has_packets(&self, way: usize) -> bool {
        let Way { missing, ahead, lane, .. } = &self.ways[way];
        let lane = &self.lanes[*lane];
        let queued = || !self.is_driven(way) && !lane.naps && lane.waiting.packets > lane.held.packets;
        *missing > 0 || !ahead.is_empty() || queued()
    }

    /// A way has packets from `now` on.
    fn offer(&mut self, now: Time, way: usize) {
        if way < self.stations() {
            self.ring.join(now, way);
        }
        let contender = self.contender(way);
        let slot = self.channel.contention.slot;
        let Contender { active, slot: own, window, .. } = &mut self.contenders[contender];
        if *active {
            return;
        }
        *active = true;
        if now < self.slots_from || self.phase == Phase::OnAir {
            // The channel is busy, and who finds it so waits for a random time afterward.
            if *own == 0 {
                *own = draw(&mut self.rng, *window);
            }
        } else {
            // Slots have passed since; if its own was among them, it sends in the next one.
            let passed = (now - self.slots_from).nanos().div_ceil(slot.nanos());
            *own = (*own).max(passed);
        }
        self.due = self.due.min(self.slots_from + slot * *own);
    }

    /// Lanes that have waited for a time of their own may be asked again.
    #[inline]
    fn wake(&mut self, now: Time) {
        while let Some(lane) = self.naps.pop(now) {
            let lane = lane as usize;
            self.lanes[lane].naps = false;
            self.ask(now, lane);
        }
    }

    /// A lane has packets.
    fn ask(&mut self, now: Time, lane: usize) {
        let down = self.channel.down_lanes();
        match lane.checked_sub(down) {
            Some(station) => self.offer(now, self.stations() + station),
            None if matches!(self.channel.access_point, AccessPoint::One { .. }) => self.driver_asks = true,
            None => self.offer(now, lane),
        }
    }

    /// The driver takes packets from the one queue of the access point while it has room.
    fn fill(&mut self, now: Time, dropped: &mut dyn FnMut(Dropped<Q::Packet>)) {
        let AccessPoint::One { driver } = self.channel.access_point else { return };
        while self.in_driver < driver
            && let Some((packet, arrived)) = self.pull(now, 0, dropped)
        {
            let way = self.classify.leaf(&packet);
            self.ways[way].ahead.push_back((packet, arrived));
            self.in_driver += 1;
            self.offer(now, way);
        }
    }

    /// Takes a packet out of a lane's queue.
    fn pull(
        &mut self,
        now: Time,
        lane: usize,
        dropped: &mut dyn FnMut(Dropped<Q::Packet>),
    ) -> Option<(Q::Packet, Time)> {
        let at = &mut self.lanes[lane];
        if at.naps || at.waiting.packets == at.held.packets {
            return None;
        }
        let (all, own) = (&mut self.waiting, &mut at.waiting);
        let taken = at.queue.dequeue(now, &mut |gone| dropped(left((all, own), lane, gone)));
        let packet = match taken {
            Dequeued::Packet(mut packet, arrived) => {
                packet.set_lane(lane);
                at.held.count(packet.bytes());
                Some((packet, arrived))
            }
            Dequeued::NotBefore(time) => {
                at.naps = true;
                self.naps.set(lane as u32, Some(time));
                None
            }
            // All that waited was dropped at the head.
            Dequeued::Nothing => {
                at.queue.idle(now);
                None
            }
        };
        self.set_alarm(lane);
        packet
    }

    /// The contenders whose slot has come send. Says whether any did.
    fn begin(&mut self, now: Time, dropped: &mut dyn FnMut(Dropped<Q::Packet>)) {
        let slot = (now - self.slots_from).nanos() / self.channel.contention.slot.nanos();
        for contender in 0..self.contenders.len() {
            let Contender { active, slot: own, .. } = self.contenders[contender];
            if !active || own != slot {
                continue;
            }
            match self.load(now, contender, dropped) {
                Some(way) => self.air.push(way),
                None => self.contenders[contender].active = false,
            }
        }
        // What is on the air is a slot of its own for those who do not send.
        let passed = slot + u64::from(!self.air.is_empty());
        for contender in &mut self.contenders {
            contender.slot = contender.slot.saturating_sub(passed);
        }
        if self.air.is_empty() {
            self.slots_from = now;
            return self.look_ahead();
        }
        let times = self.air.iter().map(|way| self.frame(*way));
        let longest = times.max().unwrap_or_default();
        let ack = match self.air[..] {
            [way] => self.channel.ack_time(self.ways[way].station),
            _ => Duration::ZERO,
        };
        self.phase = Phase::OnAir;
        self.until = now + longest + ack;
        self.slots_from = self.until + self.channel.contention.difs;
        self.due = Time::MAX;
    }

    /// The time that the frame of a way takes.
    fn frame(&self, way: usize) -> Duration {
        let Way { station, bytes, .. } = self.ways[way];
        self.channel.frame_time(station, Bytes::new(bytes))
    }

    /// A contender's frame is put together: the way that it takes, if there is anything to send.
    fn load(
        &mut self,
        now: Time,
        contender: usize,
        dropped: &mut dyn FnMut(Dropped<Q::Packet>),
    ) -> Option<usize> {
        if contender > 0 {
            let way = self.stations() + contender - 1;
            return self.load_way(now, way, dropped).then_some(way);
        }
        loop {
            let way = self.ring.next()?;
            if self.load_way(now, way, dropped) {
                return Some(way);
            }
            self.ring.leave(way);
        }
    }

    /// Fills the frame of a way: with what is missing, then with new packets. Says whether there are any.
    fn load_way(&mut self, now: Time, way: usize, dropped: &mut dyn FnMut(Dropped<Q::Packet>)) -> bool {
        let driven = self.is_driven(way);
        loop {
            let Way { missing, window, most_packets, .. } = &self.ways[way];
            if missing >= most_packets || window.len() >= self.window() {
                break;
            }
            let lane = self.ways[way].lane;
            let next = match self.ways[way].ahead.pop_front() {
                None if !driven => self.pull(now, lane, dropped),
                next => next,
            };
            let Some((packet, arrived)) = next else { break };
            let size = self.channel.in_frame(packet.bytes()).get();
            let at = &mut self.ways[way];
            if at.missing > 0 && at.bytes + size > at.most_bytes {
                at.ahead.push_front((packet, arrived));
                break;
            }
            at.missing += 1;
            at.bytes += size;
            at.window.push_back(Mpdu { packet, arrived, tries: 0, fate: Fate::Missing });
        }
        self.ways[way].missing > 0
    }

    /// The packets among which some may be missing.
    fn window(&self) -> usize {
        self.channel.aggregation.map_or(1, |aggregation| aggregation.packets as usize)
    }

    /// What was on the air has ended.
    fn finish(&mut self, dropped: &mut dyn FnMut(Dropped<Q::Packet>)) {
        let now = self.until;
        let collided = self.air.len() > 1;
        match collided {
            true => self.usage.collisions += 1,
            false => self.usage.frames += 1,
        }
        for nth in 0..self.air.len() {
            let way = self.air[nth];
            let station = self.ways[way].station;
            let mut airtime = self.frame(way);
            if !collided {
                airtime += self.channel.ack_time(station);
                self.usage.packets += u64::from(self.ways[way].missing);
            }
            let understood = self.judge(way, collided);
            let retries = self.channel.contention.retries;
            let number = self.contender(way);
            let Contender { window, failures, slot, .. } = &mut self.contenders[number];
            *failures += 1;
            let tired = retries.is_some_and(|retries| *failures > retries);
            if understood || tired {
                (*window, *failures) = (self.channel.contention.cw_min, 0);
            } else {
                *window = self.channel.contention.doubled(*window);
            }
            *slot = draw(&mut self.rng, *window);
            self.usage.airtime[station] += airtime;
            self.ring.charge(now, station, way >= self.stations(), airtime);
            let lane = &mut self.lanes[self.ways[way].lane];
            lane.airtime += airtime;
            lane.queue.idle(now);
            if way < self.stations() {
                let goes_on = self.has_packets(way);
                self.ring.end_turn(now, way, goes_on);
            } else {
                self.contenders[number].active = self.has_packets(way);
            }
        }
        // Not a newcomer, even if the driver has to be filled first.
        self.contenders[0].active = true;
        self.fill(now, dropped);
        self.contenders[0].active = !self.ring.is_empty();
        self.phase = Phase::HandedOn;
        self.look_ahead();
    }

    /// The fate of the packets of a frame; says whether any was understood.
    fn judge(&mut self, way: usize, collided: bool) -> bool {
        let retries = self.channel.contention.retries.unwrap_or(u32::MAX);
        let driven = self.is_driven(way);
        let at = &mut self.ways[way];
        let loss = self.channel.stations[at.station].loss;
        let mut understood = false;
        for mpdu in at.window.iter_mut().filter(|mpdu| mpdu.fate == Fate::Missing) {
            mpdu.tries = mpdu.tries.saturating_add(1);
            let arrives = !collided && !self.rng.chance(loss);
            understood |= arrives;
            if arrives {
                mpdu.fate = Fate::Received;
            } else if u32::from(mpdu.tries) > retries {
                mpdu.fate = Fate::GivenUp;
                self.usage.given_up += 1;
            } else {
                continue;
            }
            self.in_driver -= u32::from(driven);
            at.missing -= 1;
            at.bytes -= self.channel.in_frame(mpdu.packet.bytes()).get();
        }
        understood
    }

    /// The next packet that the other end hands on, if there is one. Those before it that were given up are dropped.
    fn hand_on(&mut self, dropped: &mut dyn FnMut(Dropped<Q::Packet>)) -> Option<(Q::Packet, Time)> {
        while let Some(way) = self.air.last().copied() {
            let at = &mut self.ways[way];
            let is_next = at.window.front().is_some_and(|mpdu| mpdu.fate != Fate::Missing);
            let Some(Mpdu { packet, arrived, fate, .. }) = is_next.then(|| at.window.pop_front()).flatten()
            else {
                self.air.pop();
                continue;
            };
            let (size, lane) = (packet.bytes(), &mut self.lanes[at.lane]);
            lane.held.uncount(size);
            lane.waiting.uncount(size);
            self.waiting.uncount(size);
            if fate == Fate::Received {
                return Some((packet, arrived));
            }
            lane.lost.count(Cause::Forced, size, packet.ecn());
            dropped(Dropped { packet, cause: Cause::Forced, place: DropPoint::Head });
        }
        None
    }

    /// Nothing waits: those who were to send have lost their packets to arrivals that were not kept.
    #[cold]
    fn rest(&mut self) {
        self.contenders.iter_mut().for_each(|contender| contender.active = false);
        self.ring.clear();
        self.due = Time::MAX;
    }

    /// Finds out when the next frame begins.
    fn look_ahead(&mut self) {
        let slots =
            self.contenders.iter().filter(|contender| contender.active).map(|contender| contender.slot);
        let slot = self.channel.contention.slot;
        self.due = slots.min().map_or(Time::MAX, |first| self.slots_from + slot * first);
    }
}

/// The slots that a contender waits.
fn draw(rng: &mut Rng, window: u32) -> u64 {
    rng.next_u64() % (u64::from(window) + 1)
}

fn counted(packets: u64) -> Packets {
    Packets::new(u32::try_from(packets).unwrap_or(u32::MAX))
}

/// What a lane drops leaves with its number, and is not among what waits anymore.
#[inline]
fn left<P: Packet>((all, own): (&mut Tally, &mut Tally), lane: usize, mut gone: Dropped<P>) -> Dropped<P> {
    gone.packet.set_lane(lane);
    gone.out_of(all).out_of(own)
}

impl<Q: Qdisc, C: Classify<Q::Packet>> Qdisc for Wifi<Q, C> {
    type Packet = Q::Packet;

    fn enqueue(
        &mut self,
        now: Time,
        mut packet: Q::Packet,
        dropped: &mut dyn FnMut(Dropped<Q::Packet>),
    ) -> Admission {
        self.advance(now);
        if self.waiting.packets == 0 && self.due < Time::MAX {
            self.rest();
        }
        let way = self.classify.leaf(&packet);
        assert!(
            way < self.ways.len(),
            "there is no way {way}: a packet goes to a station, or comes from one"
        );
        let lane = self.ways[way].lane;
        self.arrival_lane = lane;
        packet.set_lane(lane);
        let size = packet.bytes();
        let at = &mut self.lanes[lane];
        let (all, own) = (&mut self.waiting, &mut at.waiting);
        let admission = at.queue.enqueue(now, packet, &mut |gone| dropped(left((all, own), lane, gone)));
        if !matches!(admission, Admission::Dropped(_)) {
            at.waiting.count(size);
            self.waiting.count(size);
            if core::mem::take(&mut at.naps) {
                self.naps.set(lane as u32, None);
            }
            self.ask(now, lane);
        }
        self.set_alarm(lane);
        admission
    }

    fn dequeue(&mut self, now: Time, dropped: &mut dyn FnMut(Dropped<Q::Packet>)) -> Dequeued<Q::Packet> {
        self.advance(now);
        self.wake(now);
        if core::mem::take(&mut self.driver_asks) {
            self.fill(now, dropped);
        }
        loop {
            match self.phase {
                Phase::OnAir if now < self.until => return Dequeued::NotBefore(self.until),
                Phase::OnAir => self.finish(dropped),
                Phase::HandedOn => {
                    if let Some((packet, arrived)) = self.hand_on(dropped) {
                        return Dequeued::Packet(packet, arrived);
                    }
                    self.phase = Phase::Slots;
                }
                Phase::Slots if self.waiting.packets == 0 => return Dequeued::Nothing,
                Phase::Slots if self.due <= now => self.begin(self.due, dropped),
                Phase::Slots => {
                    let nap = self.naps.first().map_or(Time::MAX, |(time, _)| time);
                    return Dequeued::NotBefore(self.due.min(nap));
                }
            }
        }
    }

    /// Lanes are told when their frames end; here of the time before the first.
    fn idle(&mut self, since: Time) {
        if !core::mem::replace(&mut self.told_idle, true) {
            self.lanes.iter_mut().for_each(|lane| lane.queue.idle(since));
        }
    }

    /// Each lane's updates are in order; those of different lanes do not see each other.
    #[inline]
    fn advance(&mut self, now: Time) {
        while let Some((_, lane)) = self.updates.first().filter(|(due, _)| *due <= now) {
            self.lanes[lane as usize].queue.advance(now);
            self.set_alarm(lane as usize);
        }
    }

    #[inline]
    fn next_update(&self) -> Option<Time> {
        self.updates.first().map(|(due, _)| due)
    }

    fn counters(&self) -> Counters {
        self.lanes.iter().fold(self.before, |mut all, lane| {
            all += lane.counters();
            all
        })
    }

    #[inline]
    fn arrival_lane(&self) -> usize {
        self.arrival_lane
    }

    fn lane_count(&self) -> usize {
        self.lanes.len()
    }

    fn lane_name(&self, lane: usize) -> Option<&str> {
        self.lanes.get(lane).map(|lane| &*lane.name)
    }

    fn lane_view(&self, lane: usize) -> Option<QueueView> {
        let lane = self.lanes.get(lane)?;
        let Tally { packets, bytes } = lane.waiting;
        let view = lane.queue.view();
        Some(QueueView { packets: counted(packets), bytes: Bytes::new(bytes), ..view })
    }

    fn lane_counters(&self, lane: usize) -> Option<Counters> {
        self.lanes.get(lane).map(Lane::counters)
    }

    /// All lanes together; the oldest packet is looked for in each.
    fn view(&self) -> QueueView {
        let queued = self.lanes.iter().filter_map(|lane| lane.queue.view().head_since);
        let first = |way: &Way<Q::Packet>| {
            let ahead = way.ahead.front().map(|(_, arrived)| *arrived);
            way.window.front().map(|mpdu| mpdu.arrived).or(ahead)
        };
        QueueView {
            packets: counted(self.waiting.packets),
            bytes: Bytes::new(self.waiting.bytes),
            head_since: queued.chain(self.ways.iter().filter_map(first)).min(),
            link_rate: self.rate,
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.waiting.packets == 0
    }

    /// The mean number of packets in a frame, and the share of collisions, since the start.
    fn observe(&self, out: &mut dyn Probe) {
        let Usage { frames, packets, collisions, .. } = self.usage;
        out.value("frame_packets", "packets", packets as f64 / frames.max(1) as f64);
        out.value("collisions", "1", collisions as f64 / (frames + collisions).max(1) as f64);
        for (number, lane) in self.lanes.iter().enumerate() {
            out.airtime(number, lane.airtime);
        }
    }

    /// A lane sees no rate above that of its stations.
    fn set_rate(&mut self, rate: BitRate) {
        self.rate = Some(rate);
        for lane in &mut self.lanes {
            lane.queue.set_rate(lane.most.min(rate));
        }
    }

    /// Packets that were in frames come with the others, in the order in which they arrived.
    fn into_parts(self) -> (Vec<(Time, Q::Packet)>, Counters) {
        let counters = self.counters();
        let mut waiting = Vec::with_capacity(index(self.waiting.packets));
        for way in self.ways {
            waiting.extend(way.window.into_iter().map(|mpdu| (mpdu.arrived, mpdu.packet)));
            waiting.extend(way.ahead.into_iter().map(|(packet, arrived)| (arrived, packet)));
        }
        for lane in self.lanes {
            waiting.extend(lane.queue.into_parts().0);
        }
        waiting.sort_by_key(|(arrived, _)| *arrived);
        (waiting, counters)
    }

    /// The channel is idle at `now`, and the counts of the lanes begin again.
    fn take_over(&mut self, now: Time, waiting: Vec<(Time, Q::Packet)>, counters: Counters) {
        self.before = counters;
        self.slots_from = now + self.channel.contention.difs;
        let mut shares: Vec<Vec<(Time, Q::Packet)>> = self.lanes.iter().map(|_| Vec::new()).collect();
        let mut used = alloc::vec![false; self.ways.len()];
        for (arrived, mut packet) in waiting {
            let way = self.classify.leaf(&packet);
            let lane = self.ways[way].lane;
            packet.set_lane(lane);
            self.waiting.count(packet.bytes());
            self.lanes[lane].waiting.count(packet.bytes());
            shares[lane].push((arrived, packet));
            used[way] = true;
        }
        for (lane, share) in shares.into_iter().enumerate() {
            self.lanes[lane].queue.take_over(now, share, Counters::default());
            self.set_alarm(lane);
        }
        self.driver_asks = true;
        for way in (0..used.len()).filter(|way| used[*way]) {
            if !self.is_driven(way) {
                self.offer(now, way);
            }
        }
        self.phase = Phase::HandedOn;
    }
}

impl<Q: Qdisc> Lane<Q> {
    /// The counts of its queue, in which packets have left once the channel has carried them.
    fn counters(&self) -> Counters {
        let mut all = self.queue.counters();
        all.departed = all.departed - self.held - self.lost.total();
        all.dropped += self.lost;
        all
    }
}
