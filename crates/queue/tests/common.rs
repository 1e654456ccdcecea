//! Packets, a link that asks for the next when it is free, and steps drawn at random.

use quell_aqm::{Discipline, Ecn, FlowId, PacketMeta, Seed};
use quell_queue::{Dequeued, Packet, Parallel, Qdisc};
use quell_units::{BitRate, Bytes, Duration, Time};

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pkt {
    pub number: usize,
    pub bytes: u64,
    pub flow: u32,
    pub ecn: Ecn,
}

impl Pkt {
    /// As a discipline sees it.
    pub fn meta(&self, now: Time) -> PacketMeta {
        PacketMeta {
            bytes: Bytes::new(self.bytes),
            enqueued_at: now,
            flow: FlowId(self.flow),
            ecn: self.ecn,
            ..Default::default()
        }
    }
}

impl Packet for Pkt {
    fn bytes(&self) -> Bytes {
        Bytes::new(self.bytes)
    }
    fn ecn(&self) -> Ecn {
        self.ecn
    }
    fn set_ce(&mut self) {
        self.ecn = Ecn::Ce;
    }
    fn flow(&self) -> FlowId {
        FlowId(self.flow)
    }
}

/// A queue whose packets are numbered.
pub struct Run<D> {
    pub queue: Parallel<Pkt, D>,
}

impl<D: Discipline> Run<D> {
    pub fn new(queue: Parallel<Pkt, D>, _: BitRate) -> Self {
        Run { queue }
    }

    pub fn enqueue(&mut self, now: Time, pkt: Pkt, gone: &mut Vec<usize>) {
        let _ = self.queue.enqueue(now, pkt, &mut |d| gone.push(d.packet.number));
    }

    /// The transmission before has ended, and the link takes a packet.
    pub fn dequeue(&mut self, now: Time, gone: &mut Vec<usize>) -> Option<Pkt> {
        match self.queue.dequeue(now, &mut |d| gone.push(d.packet.number)) {
            Dequeued::Packet(pkt, _) => Some(pkt),
            Dequeued::Nothing => None,
            Dequeued::NotBefore(_) => panic!("it does not shape"),
        }
    }
}

/// So many steps: arrivals, and (None) a link that asks, which it does when a packet of its rate of 8 Mbit/s has
/// left, or at once where it was idle. `step` says whether it found nothing to send.
pub fn random_steps(seed: u64, steps: usize, mut step: impl FnMut(usize, Time, Option<Pkt>) -> bool) {
    let mut rng = Seed(seed).stream("steps");
    let mut roll = move |sides: u64| (rng.uniform() * sides as f64) as u64;
    let (mut now, mut free, mut asks) = (Time::ZERO, Time::ZERO, false);
    let (mut load, mut flows) = (1, 1);
    for number in 0..steps {
        if number % 400 == 0 {
            // Mean gaps of 0.3 to 3 ms, for packets that take about 0.8 ms.
            (load, flows) = (1 + roll(10), 1 + roll(40));
        }
        let gap = if roll(200) == 0 { roll(200_000) } else { roll(600 * load) };
        let at = now + Duration::from_micros(gap);
        while asks && free <= at {
            asks = !step(number, free, None);
            // The link takes 0.04 to 1.5 ms for a packet.
            free += Duration::from_micros(40 + roll(1460));
        }
        now = at;
        let ecn = [Ecn::NotEct, Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][roll(4) as usize];
        let bytes = if roll(3) == 0 { 40 + roll(9000) } else { 1000 };
        step(number, now, Some(Pkt { number, bytes, flow: roll(flows) as u32, ecn }));
        if !asks {
            asks = true;
            free = free.max(now);
        }
    }
}
