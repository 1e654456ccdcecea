//! A path for tests: one sender, one link with a buffer, one receiver.

use alloc::collections::VecDeque;

use quell_units::{Duration, Time};

use super::{Outgoing, Sender};
use crate::congestion::model::Model;
use crate::params::Config;
use crate::receiver::{Arrival, Receiver};
use crate::scoreboard::SackBlocks;
use crate::{CongestionControl, Recovery, TcpParams};

/// The link: packets per second, its part of the round-trip time without a queue, and room for packets.
#[derive(Clone, Copy)]
pub(crate) struct Path {
    pub rate: f64,
    pub rtt: Duration,
    pub buffer: usize,
}

/// Of usual, high and low bandwidths.
pub(crate) const PATHS: [Path; 3] = [
    Path { rate: 1000.0, rtt: Duration::from_millis(100), buffer: 1000 },
    Path { rate: 10_000.0, rtt: Duration::from_millis(20), buffer: 1000 },
    Path { rate: 300.0, rtt: Duration::from_millis(200), buffer: 200 },
];

/// What a test sees after each acknowledgment.
pub(crate) struct Seen<'a> {
    pub now: Time,
    pub model: &'a Model,
    pub cwnd: f64,
    /// Packets in flight.
    pub flight: u32,
}

impl Path {
    /// In packets.
    pub fn product(&self) -> f64 {
        self.rate * self.rtt.as_secs_f64()
    }

    /// Runs a flow of such a congestion control; returns how many packets arrived in order.
    pub fn run(&self, congestion: CongestionControl, end: Time, mut see: impl FnMut(Seen<'_>)) -> u32 {
        let params = TcpParams {
            congestion,
            recovery: Recovery::Rack,
            pacing: true,
            initial_window: 10,
            granularity: Duration::from_millis(1),
            ..Default::default()
        };
        let cfg = Config::new(&params).unwrap();
        let (mut s, mut r) = (Sender::new(&cfg), Receiver::new());
        s.provide(u32::MAX);
        let mut now = Time::ZERO;
        // Departures from the link, and acknowledgments on their way.
        let mut queue: VecDeque<Time> = VecDeque::new();
        let mut acks: VecDeque<(Time, u32, SackBlocks)> = VecDeque::new();
        loop {
            while let Some(out) = s.poll(&cfg, now) {
                while queue.front().is_some_and(|t| *t <= now) {
                    queue.pop_front();
                }
                let Outgoing::Data { seq, .. } = out else {
                    acks.push_back((now + self.rtt, 1, SackBlocks::default()));
                    continue;
                };
                if queue.len() > self.buffer {
                    continue;
                }
                let start = queue.back().copied().unwrap_or(now).max(now);
                let leaves = start + Duration::from_secs_f64(1.0 / self.rate);
                queue.push_back(leaves);
                let arrival = Arrival { seq, ..Default::default() };
                let _ = r.on_packet(&cfg, leaves, arrival);
                // Slower by a millionth of the time, so that no measurement equals an old one.
                let slower = Duration::from_nanos(leaves.nanos() / 1_000_000);
                acks.push_back((
                    leaves + self.rtt + slower,
                    r.acknowledgment(false).next,
                    r.report(&cfg).blocks,
                ));
            }
            let ack = acks.front().map_or(Time::MAX, |a| a.0);
            now = ack.min(s.deadline());
            if now >= end {
                return r.next();
            }
            if ack > s.deadline() {
                s.on_timer(&cfg, now);
                continue;
            }
            let Some((_, next, blocks)) = acks.pop_front() else { return r.next() };
            s.on_ack(&cfg, now, next, false, blocks.as_slice());
            if let Some(kept) = &s.kept
                && let (Some(model), Some(rack)) = (&kept.model, &kept.rack)
            {
                see(Seen { now, model, cwnd: s.window.cwnd, flight: rack.flying() });
            }
        }
    }
}
