//! A log once more through the same code: every decision must come out as it was.

use std::collections::VecDeque;
use std::fmt;
use std::io::Read;

use quell_queue::{Admission, Counters, DropPoint, Dropped, Host, Line, Qdisc as _, Sent};
use quell_units::Time;

use crate::behind::Behind;
use crate::config::{LineConfig, Shaped};
use crate::meter::Meter;
use crate::packet::Packet;
use crate::record::{Entry, Event, LogError, LogReader};

/// The findings of a replay.
#[derive(Debug)]
pub struct Replay {
    /// One for each line of the log.
    pub lines: Vec<Replayed>,
    /// The log was closed; otherwise it was cut and the decisions up to there were compared.
    pub closed: bool,
}

/// The findings of a replay at one line.
#[derive(Debug)]
pub struct Replayed {
    /// Its configuration at the end.
    pub config: LineConfig,
    /// Arrivals.
    pub arrivals: u64,
    /// Decisions that were compared: verdicts, departures and drops of what had been stored.
    pub compared: u64,
    /// The number of those that differ.
    pub differ: u64,
    /// The first that does.
    pub first: Option<Difference>,
    /// The number of packets that the wire behind the line lost, as the log tells.
    pub lost: u64,
    /// The times of the first arrival and the last event.
    pub span: (Time, Time),
    /// The line's measurements in the replay.
    pub meter: Meter,
    /// Its counts.
    pub counters: Counters,
}

/// A decision that came out differently.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// The arrival's number.
    pub number: u32,
    /// The decision in the log.
    pub logged: String,
    /// The decision in the replay.
    pub replayed: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "packet {}: {} in the log, {} in the replay", self.number, self.logged, self.replayed)
    }
}

/// The reason why a replay is not possible.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub enum ReplayError {
    /// The log cannot be read.
    Log(#[from] LogError),
    /// A line cannot be built.
    Config(#[from] crate::ConfigError),
}

/// The fate of a packet that was stored, and of one that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Sent(u32, Time, bool),
    Lost(u32, Time),
    Carried(u32, Time, i64, bool),
    Dropped(u32, Time, quell_aqm::Cause, DropPoint),
}

impl Fate {
    fn number(&self) -> u32 {
        match *self {
            Fate::Sent(number, ..)
            | Fate::Lost(number, ..)
            | Fate::Carried(number, ..)
            | Fate::Dropped(number, ..) => number,
        }
    }
}

struct One {
    out: Replayed,
    line: Shaped,
    /// The wire behind it, where the log has one.
    behind: Option<Behind>,
    /// Fates that the log or the replay tells first.
    logged: VecDeque<Fate>,
    own: VecDeque<Fate>,
}

struct Listener<'a> {
    own: &'a mut VecDeque<Fate>,
    behind: &'a mut Option<Behind>,
    meter: &'a mut Meter,
    keep: bool,
}

impl Host<Packet> for Listener<'_> {
    #[inline]
    fn sent(&mut self, sent: Sent<Packet>) {
        self.meter.sent(sent.start.since(sent.arrived), u64::from(sent.packet.bytes));
        if self.keep {
            self.own.push_back(Fate::Sent(sent.packet.number, sent.start, sent.packet.marked));
        }
        let Some(behind) = self.behind.as_mut() else { return };
        let (flight, late_ns) = behind.carry(sent.start, sent.end);
        self.meter.lost += u64::from(flight.lost);
        self.meter.copied += u64::from(flight.copied);
        let fate = match flight.lost {
            true => Fate::Lost(sent.packet.number, sent.start),
            false if behind.shifts => Fate::Carried(sent.packet.number, sent.start, late_ns, flight.copied),
            false => return,
        };
        if self.keep {
            self.own.push_back(fate);
        }
    }
    #[inline]
    fn dropped(&mut self, now: Time, dropped: Dropped<Packet>) {
        if self.keep && dropped.place != DropPoint::Arrival {
            self.own.push_back(Fate::Dropped(dropped.packet.number, now, dropped.cause, dropped.place));
        }
    }
}

impl One {
    fn new(config: LineConfig) -> Result<Self, crate::ConfigError> {
        let (line, behind) = (config.build()?, config.wire());
        let out = Replayed {
            config,
            arrivals: 0,
            compared: 0,
            differ: 0,
            first: None,
            lost: 0,
            span: (Time::ZERO, Time::ZERO),
            meter: Meter::new(),
            counters: Counters::default(),
        };
        Ok(One { out, line, behind, logged: VecDeque::new(), own: VecDeque::new() })
    }

    fn compare<T: PartialEq + fmt::Debug>(&mut self, number: u32, logged: &T, own: &T) {
        self.out.compared += 1;
        if logged != own {
            self.out.differ += 1;
            let difference =
                || Difference { number, logged: format!("{logged:?}"), replayed: format!("{own:?}") };
            self.out.first.get_or_insert_with(difference);
        }
    }

    fn compare_fates(&mut self) {
        while let (Some(logged), Some(own)) = (self.logged.front().copied(), self.own.front().copied()) {
            self.logged.pop_front();
            self.own.pop_front();
            self.compare(logged.number(), &logged, &own);
        }
    }
}

/// Another configuration for each line.
pub type Change<'a> = &'a dyn Fn(&LineConfig) -> LineConfig;

/// Replays a log. `with` gives each line another configuration: then nothing is compared, and what the lines
/// measure is what they would have done with the same arrivals. The senders would have sent others: the loop
/// is open.
///
/// # Errors
/// If the log cannot be read or a line cannot be built.
pub fn replay(log: &mut LogReader<impl Read>, with: Option<Change<'_>>) -> Result<Replay, ReplayError> {
    let mut replaying = Replaying::new(&log.header().lines, with)?;
    while let Some(entry) = log.next_entry()? {
        replaying.entry(&entry)?;
    }
    Ok(replaying.end(log.closed()))
}

/// A replay that is handed the entries of a log one by one, so that several need to read it only once.
pub struct Replaying<'a> {
    with: Option<Change<'a>>,
    lines: Vec<One>,
    end: Time,
}

impl<'a> Replaying<'a> {
    /// A replay of a log of these lines; for `with`, see [`replay`].
    ///
    /// # Errors
    /// If a line cannot be built.
    pub fn new(lines: &[LineConfig], with: Option<Change<'a>>) -> Result<Self, crate::ConfigError> {
        let lines = lines.iter().map(|config| One::new(changed(with, config))).collect::<Result<_, _>>()?;
        Ok(Replaying { with, lines, end: Time::ZERO })
    }

    /// Takes the next entry.
    ///
    /// # Errors
    /// If a line cannot be configured as it says.
    pub fn entry(&mut self, entry: &Entry) -> Result<(), crate::ConfigError> {
        let compares = self.with.is_none();
        let one = &mut self.lines[usize::from(entry.line)];
        self.end = self.end.max(entry.time);
        let One { line, own, out, behind, .. } = &mut *one;
        let told = behind.is_some();
        let mut listener = Listener { own, behind, meter: &mut out.meter, keep: compares };
        match &entry.event {
            Event::Arrived { packet, admission } => {
                if out.arrivals == 0 {
                    out.span.0 = entry.time;
                }
                out.arrivals += 1;
                let decided: Admission = line.arrive(entry.time, *packet, &mut listener);
                if compares {
                    one.compare(packet.number, admission, &decided);
                }
            }
            Event::Sent { number, marked } if compares => {
                one.logged.push_back(Fate::Sent(*number, entry.time, *marked));
            }
            Event::Dropped { number, cause, place } if compares => {
                one.logged.push_back(Fate::Dropped(*number, entry.time, *cause, *place));
            }
            Event::Reconfigured(config) => {
                let config = changed(self.with, config);
                let queue = config.queue()?;
                line.set_rate(entry.time, config.rate, &mut listener);
                line.reconfigure(entry.time, queue, &mut listener);
                out.config = config;
            }
            Event::Rate(rate) => {
                line.set_rate(entry.time, *rate, &mut listener);
                if rate.bps() > 0 {
                    out.config.rate = *rate;
                }
            }
            Event::Lost { number } => {
                out.lost += 1;
                if compares && told {
                    one.logged.push_back(Fate::Lost(*number, entry.time));
                }
            }
            Event::Carried { number, late_ns, copied } if compares && told => {
                one.logged.push_back(Fate::Carried(*number, entry.time, *late_ns, *copied));
            }
            Event::Loss(p) => {
                line.run_before(entry.time, &mut listener);
                listener.behind.iter_mut().for_each(|behind| behind.set_loss(*p));
            }
            Event::Delay(delay) => {
                line.run_before(entry.time, &mut listener);
                listener.behind.iter_mut().for_each(|behind| behind.set_delay(*delay));
            }
            Event::Resumed(resumed) => {
                let mut queue = out.config.queue()?;
                queue.take_over(entry.time, resumed.waiting.clone(), Counters::default());
                *line = Line::resume(queue, out.config.rate, resumed.link, entry.time);
                one.behind = out.config.wire();
            }
            Event::Closed => {
                line.run(entry.time, &mut listener);
            }
            Event::Sent { .. } | Event::Dropped { .. } | Event::Carried { .. } => {}
        }
        one.compare_fates();
        one.out.span.1 = self.end;
        Ok(())
    }

    /// The findings, after the last entry of a log that was closed or cut.
    pub fn end(mut self, closed: bool) -> Replay {
        let compares = self.with.is_none();
        for one in &mut self.lines {
            let One { line, own, out, behind, .. } = &mut *one;
            line.run(self.end, &mut Listener { own, behind, meter: &mut out.meter, keep: compares });
            one.compare_fates();
            if closed && compares {
                // What only one of the two tells.
                let left: Vec<(u32, &str)> = one
                    .logged
                    .iter()
                    .map(|f| (f.number(), "only in the log"))
                    .chain(one.own.iter().map(|f| (f.number(), "only in the replay")))
                    .collect();
                for (number, only) in left {
                    one.compare(number, &only, &"in both");
                }
            }
            one.out.counters = one.line.counters();
            one.out.span.1 = self.end;
        }
        Replay { lines: self.lines.into_iter().map(|one| one.out).collect(), closed }
    }
}

fn changed(with: Option<Change<'_>>, config: &LineConfig) -> LineConfig {
    with.map_or_else(|| config.clone(), |with| with(config))
}
