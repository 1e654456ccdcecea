//! A path for tests: one sender, one link with a buffer, one receiver. What it is may change while a flow runs.

use alloc::collections::{BTreeMap, VecDeque};

use quell_units::{Duration, Time};

use super::{Outgoing, Sender};
use crate::congestion::Control;
use crate::feedback::Report;
use crate::params::Config;
use crate::receiver::{Arrival, Receiver};
use crate::recovery::repair::Repair;
use crate::{CongestionControl, Recovery, TcpParams};

/// The link: packets per second, its part of the round-trip time without a queue, and room for packets.
#[derive(Clone, Copy)]
pub(crate) struct Path {
    pub rate: f64,
    pub rtt: Duration,
    pub buffer: usize,
    /// A policer instead, which fills a bucket of so many packets at the rate.
    pub bucket: Option<f64>,
    /// One of so many packets is lost; 0 for none.
    pub loss: u32,
    /// One of so many packets comes later by this.
    pub late: Option<(u32, Duration)>,
    /// Acknowledgments arrive together, once in this time; zero for each by itself.
    pub together: Duration,
    /// What the application gives, in packets per second; infinity is data without end.
    pub app: f64,
    /// From when to when it has nothing.
    pub pause: Option<(Time, Time)>,
}

/// Of usual, high and low bandwidths.
pub(crate) const PATHS: [Path; 3] =
    [Path::new(1000.0, 100, 1000), Path::new(10_000.0, 20, 1000), Path::new(300.0, 200, 200)];

/// What a test sees after each acknowledgment.
pub(crate) struct Seen<'a> {
    pub now: Time,
    pub control: &'a Control,
    pub cwnd: f64,
    /// Packets in flight.
    pub flight: u32,
    /// Packets that the link dropped.
    pub dropped: u32,
}

enum Event {
    Data(u32),
    Ack(u32, Report),
}

/// The application.
struct Source {
    endless: bool,
    /// What it has to give at `at`: a part of a packet.
    credit: f64,
    at: Time,
}

impl Source {
    /// Gives what is due at `now`; returns when it gives more.
    fn give(&mut self, s: &mut Sender, path: &Path, now: Time) -> Time {
        let pause = path.pause.filter(|(from, to)| (*from..*to).contains(&now));
        let app = if pause.is_some() { 0.0 } else { path.app };
        if app.is_infinite() {
            if !self.endless {
                s.provide(u32::MAX);
            }
            self.endless = true;
            return Time::MAX;
        }
        if core::mem::take(&mut self.endless) {
            s.stop();
            (self.credit, self.at) = (0.0, now);
        }
        self.credit += app * (now - self.at).as_secs_f64();
        self.at = now;
        let packets = libm::floor(self.credit);
        s.provide(packets as u32);
        self.credit -= packets;
        if app == 0.0 {
            return pause.map_or(Time::MAX, |p| p.1);
        }
        now + Duration::from_secs_f64((1.0 - self.credit) / app) + Duration::from_nanos(1)
    }
}

/// The time at which packets leave the link.
#[derive(Default)]
struct Link {
    queue: VecDeque<Time>,
    /// Of a policer: the tokens at `at`.
    tokens: Option<(f64, Time)>,
}

impl Link {
    /// The time at which a packet leaves that comes now; `None` if it is dropped.
    fn takes(&mut self, path: &Path, now: Time) -> Option<Time> {
        if let Some(depth) = path.bucket {
            let (tokens, at) = self.tokens.unwrap_or((depth, now));
            let tokens = (tokens + path.rate * (now - at).as_secs_f64()).min(depth);
            let passes = tokens >= 1.0;
            self.tokens = Some((tokens - if passes { 1.0 } else { 0.0 }, now));
            return passes.then_some(now);
        }
        while self.queue.front().is_some_and(|t| *t <= now) {
            self.queue.pop_front();
        }
        if self.queue.len() > path.buffer {
            return None;
        }
        let start = self.queue.back().copied().unwrap_or(now).max(now);
        let leaves = start + Duration::from_secs_f64(1.0 / path.rate);
        self.queue.push_back(leaves);
        Some(leaves)
    }
}

impl Path {
    pub const fn new(rate: f64, rtt_ms: u64, buffer: usize) -> Self {
        Path {
            rate,
            rtt: Duration::from_millis(rtt_ms),
            buffer,
            bucket: None,
            loss: 0,
            late: None,
            together: Duration::ZERO,
            app: f64::INFINITY,
            pause: None,
        }
    }

    /// In packets.
    pub fn product(&self) -> f64 {
        self.rate * self.rtt.as_secs_f64()
    }

    /// Runs a flow of such a congestion control; returns how many packets arrived in order. `see` may change the
    /// path.
    pub fn run(
        &self,
        congestion: CongestionControl,
        end: Time,
        mut see: impl FnMut(&mut Path, Seen<'_>),
    ) -> u32 {
        let params = TcpParams {
            congestion,
            recovery: Recovery::Rack,
            pacing: true,
            initial_window: 10,
            granularity: Duration::from_millis(1),
            ..Default::default()
        };
        let cfg = Config::new(&params).unwrap();
        let (mut path, mut now) = (*self, Time::ZERO);
        let (mut s, mut r, mut link) = (Sender::new(&cfg), Receiver::new(), Link::default());
        let mut source = Source { endless: false, credit: 1.0, at: now };
        // By when they come, and in which order they were sent.
        let mut events: BTreeMap<(Time, u64), Event> = BTreeMap::new();
        let (mut order, mut sent, mut dropped) = (0, 0u32, 0);
        let mut expect = |events: &mut BTreeMap<_, _>, at: Time, event| {
            order += 1;
            events.insert((at, order), event);
        };
        loop {
            let gives = source.give(&mut s, &path, now);
            while let Some(out) = s.poll(&cfg, now) {
                let Outgoing::Data { seq, .. } = out else {
                    expect(&mut events, now + path.rtt, Event::Ack(1, Report::default()));
                    continue;
                };
                sent += 1;
                match link.takes(&path, now) {
                    Some(_) if path.loss > 0 && sent.is_multiple_of(path.loss) => dropped += 1,
                    Some(leaves) => {
                        let late = path.late.filter(|(n, _)| sent.is_multiple_of(*n));
                        expect(&mut events, leaves + late.map_or(Duration::ZERO, |l| l.1), Event::Data(seq));
                    }
                    None => dropped += 1,
                }
            }
            let next = events.first_key_value().map_or(Time::MAX, |e| e.0.0);
            now = next.min(s.deadline()).min(gives);
            if now >= end {
                return r.next();
            }
            if next > now {
                if s.deadline() <= now {
                    s.on_timer(&cfg, now);
                }
                continue;
            }
            match events.pop_first() {
                Some((_, Event::Data(seq))) => {
                    let _ = r.on_packet(&cfg, now, Arrival { seq, ..Default::default() });
                    // Slower by a millionth of the time, so that no measurement equals an old one.
                    let mut at = now + path.rtt + Duration::from_nanos(now.nanos() / 1_000_000);
                    if !path.together.is_zero() {
                        at = Time::from_nanos(at.nanos().next_multiple_of(path.together.nanos()));
                    }
                    let next = r.acknowledgment().next;
                    expect(&mut events, at, Event::Ack(next, r.report(&cfg)));
                }
                Some((_, Event::Ack(next, report))) => {
                    s.on_report(&cfg, now, next, false, &report);
                    if let (Some(modern), Repair::Rack(by_time)) = (&s.modern, &s.repair) {
                        let (control, cwnd, flight) = (&modern.control, s.window.cwnd, by_time.rack.flying());
                        see(&mut path, Seen { now, control, cwnd, flight, dropped });
                    }
                }
                None => return r.next(),
            }
        }
    }
}
