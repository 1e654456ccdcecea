//! A link that is a channel of Wi-Fi: its stations, its queues, and the flows that end at each station.

use quell_queue::{self as queue, AccessPoint, Aggregation, Channel, Refused};
use quell_sim::network::{App, AtStation, FlowSpec, Traffic};
use quell_units::{BitRate, Duration, QueueSize};

use super::classes::{Comer, Rule, matching};
use super::packets::{check_buffer, check_rate};
use crate::error::{Problem, require};
use crate::format::{AqmChoice, BackAqm, Scenario, Wifi, WifiQueues, WifiStandard, WifiStation, WifiUplink};
use crate::tree::Path;

/// A channel, and where packets wait.
pub(super) struct WifiPlan {
    pub(super) channel: Channel,
    /// In the order of [`Channel::lanes`].
    pub(super) lanes: Vec<Lane>,
    /// In the order in which they are asked; their leaves are stations.
    rules: Vec<Rule>,
    /// The table that it is written in.
    pub(super) at: Path,
}

/// A queue of a channel.
pub(super) struct Lane {
    pub(super) name: String,
    /// It is not the first of several that are alike.
    pub(super) repeated: bool,
    pub(super) buffer: QueueSize,
    /// The algorithm of a station and where that is written; none for that of the link.
    pub(super) own: Option<(AqmChoice, Path)>,
    /// The highest rate of its stations.
    pub(super) rate: BitRate,
}

/// The channel that is written at `at`; `buffer` is the link's, and `own` its algorithm, if it has one.
pub(super) fn wifi(s: &Scenario, written: &Wifi, buffer: QueueSize, at: &Path) -> Result<WifiPlan, Problem> {
    let unused = |given: bool, field, value: &str, queues: &str| {
        let rule =
            format!("has no effect with queues = \"{value}\"; leave it out, or write queues = \"{queues}\"");
        require(!given, at.then(field), rule)
    };
    match written.queues.unwrap_or(WifiQueues::Airtime) {
        WifiQueues::One => unused(written.quantum.is_some(), "quantum", "one", "airtime")?,
        WifiQueues::Airtime => unused(written.driver.is_some(), "driver", "airtime", "one")?,
        WifiQueues::Turns => {
            unused(written.quantum.is_some(), "quantum", "turns", "airtime")?;
            unused(written.driver.is_some(), "driver", "turns", "one")?;
        }
    }
    if written.standard == Some(WifiStandard::A) {
        for (given, field) in [
            (written.aggregate_packets.is_some(), "aggregate_packets"),
            (written.aggregate_bytes.is_some(), "aggregate_bytes"),
            (written.aggregate_time.is_some(), "aggregate_time"),
        ] {
            let rule = "has no effect with standard = \"802.11a\", which has no aggregates; leave it out";
            require(!given, at.then(field), rule)?;
        }
    }
    let stations_at = at.then("stations");
    check_names(&written.stations, &stations_at)?;
    let all = completed(written, buffer);
    let channel = channel(&all);
    channel.check().map_err(|refused| of_station(&refused, written, at))?;
    for (i, station) in written.stations.iter().enumerate() {
        check_rate(station.rate, stations_at.then(i).then("rate"))?;
    }
    let mut rules = Vec::new();
    let mut rest: Option<(&str, Rule)> = None;
    let mut first = 0;
    for (i, station) in written.stations.iter().enumerate() {
        let here = stations_at.then(i);
        let count = station.repeat.unwrap_or(1);
        let own: Vec<u8> = (first..first + count).filter_map(|number| u8::try_from(number).ok()).collect();
        first += count;
        if let Some(found) = &station.traffic {
            let rule = "does not say at which station a flow ends; write group or host";
            require(found.dscp.is_none(), here.then("match").then("dscp"), rule)?;
            rules.push(matching(s, Some(found), own, &here)?);
        } else if let Some((other, _)) = &rest {
            let rule = format!(
                "lacks a match: `{other}` has none either, and one station takes the flows of no other; write match = {{ \
                 group = \"{}\" }}",
                s.flows.first().map_or("NAME", |group| group.name.as_str())
            );
            return Err(Problem::new(here, rule).with_value(""));
        } else {
            rest = Some((&station.name, Rule::of_all(own)));
        }
    }
    rules.extend(rest.map(|(_, rule)| rule));
    let uplink = all.uplink.unwrap_or_default();
    let up_buffer = uplink.buffer.unwrap_or(buffer);
    check_buffer(up_buffer, at.then("uplink").then("buffer"))?;
    let own = match uplink.aqm {
        Some(BackAqm::Own(choice)) => Some((choice, at.then("uplink").then("aqm"))),
        Some(BackAqm::Same) | None => None,
    };
    let down = channel.down_lanes();
    let fastest = channel.stations.iter().map(|station| station.rate).max().unwrap_or_default();
    let firsts: Vec<usize> = firsts(&written.stations);
    let lane = |(number, name): (usize, String)| {
        let station = number.checked_sub(down).unwrap_or(number);
        let is_shared = number < down && matches!(channel.access_point, AccessPoint::One { .. });
        Lane {
            name,
            repeated: !is_shared && !firsts.contains(&station),
            buffer: if number < down { buffer } else { up_buffer },
            own: if number < down { None } else { own.clone() },
            rate: if is_shared { fastest } else { channel.stations[station].rate },
        }
    };
    let lanes = channel.lanes().into_iter().enumerate().map(lane).collect();
    Ok(WifiPlan { channel, lanes, rules, at: at.clone() })
}

/// The same channel with every default that is a value; `buffer` is the link's.
pub(super) fn completed(written: &Wifi, buffer: QueueSize) -> Wifi {
    let standard = written.standard.unwrap_or(WifiStandard::N);
    let queues = written.queues.unwrap_or(WifiQueues::Airtime);
    let of = match standard {
        WifiStandard::A => Channel::a,
        WifiStandard::N => Channel::n,
        WifiStandard::Ac => Channel::ac,
    };
    let Channel { contention, frames, aggregation, .. } = of(AccessPoint::Turns, Vec::new());
    let uplink = written.uplink.clone().unwrap_or_default();
    let drop_tail = || BackAqm::Own(AqmChoice::named("drop-tail"));
    let mut stations = written.stations.clone();
    for station in &mut stations {
        station.repeat = station.repeat.or(Some(1));
        station.error = station.error.or(Some(0.0));
    }
    Wifi {
        standard: Some(standard),
        queues: Some(queues),
        stations,
        uplink: Some(WifiUplink {
            aqm: uplink.aqm.or_else(|| Some(drop_tail())),
            buffer: uplink.buffer.or(Some(buffer)),
        }),
        quantum: written.quantum.or((queues == WifiQueues::Airtime).then_some(QUANTUM)),
        driver: written.driver.or((queues == WifiQueues::One).then_some(DRIVER)),
        slot: written.slot.or(Some(contention.slot)),
        sifs: written.sifs.or(Some(contention.sifs)),
        difs: written.difs.or(Some(contention.difs)),
        cw_min: written.cw_min.or(Some(contention.cw_min)),
        cw_max: written.cw_max.or(Some(contention.cw_max)),
        retries: written.retries.or(contention.retries),
        preamble: written.preamble.or(Some(frames.preamble)),
        header: written.header.or(Some(frames.header)),
        ack_preamble: written.ack_preamble.or(Some(frames.ack_preamble)),
        ack: written.ack.or(Some(frames.ack)),
        ack_rate: written.ack_rate.or(frames.ack_rate),
        aggregate_packets: written.aggregate_packets.or(aggregation.map(|a| a.packets)),
        aggregate_bytes: written.aggregate_bytes.or(aggregation.map(|a| a.bytes)),
        aggregate_time: written.aggregate_time.or(aggregation.map(|a| a.duration)),
    }
}

/// The airtime of a round, as Linux's access points give it.
const QUANTUM: Duration = Duration::from_micros(300);

/// The packets of a driver: about two aggregates of the largest size.
const DRIVER: u32 = 128;

/// The channel of a table with every default in its place.
fn channel(all: &Wifi) -> Channel {
    let of = match all.standard {
        Some(WifiStandard::A) => Channel::a,
        Some(WifiStandard::Ac) => Channel::ac,
        _ => Channel::n,
    };
    let access_point = match all.queues {
        Some(WifiQueues::One) => AccessPoint::One { driver: all.driver.unwrap_or(DRIVER) },
        Some(WifiQueues::Turns) => AccessPoint::Turns,
        _ => AccessPoint::Airtime { quantum: all.quantum.unwrap_or(QUANTUM) },
    };
    let mut stations = Vec::new();
    for station in &all.stations {
        let count = station.repeat.unwrap_or(1);
        // More are refused.
        for copy in 0..count.min(1000) {
            stations.push(queue::Station {
                name: if count == 1 {
                    station.name.clone()
                } else {
                    format!("{}-{}", station.name, copy + 1)
                },
                rate: station.rate,
                loss: station.error.unwrap_or(0.0),
                packets: station.aggregate_packets,
            });
        }
    }
    let mut channel = of(access_point, stations);
    let (contention, frames) = (&mut channel.contention, &mut channel.frames);
    contention.slot = all.slot.unwrap_or(contention.slot);
    contention.sifs = all.sifs.unwrap_or(contention.sifs);
    contention.difs = all.difs.unwrap_or(contention.difs);
    contention.cw_min = all.cw_min.unwrap_or(contention.cw_min);
    contention.cw_max = all.cw_max.unwrap_or(contention.cw_max);
    contention.retries = all.retries;
    frames.preamble = all.preamble.unwrap_or(frames.preamble);
    frames.header = all.header.unwrap_or(frames.header);
    frames.ack_preamble = all.ack_preamble.unwrap_or(frames.ack_preamble);
    frames.ack = all.ack.unwrap_or(frames.ack);
    frames.ack_rate = all.ack_rate;
    if let Some(Aggregation { packets, bytes, duration, .. }) = &mut channel.aggregation {
        *packets = all.aggregate_packets.unwrap_or(*packets);
        *bytes = all.aggregate_bytes.unwrap_or(*bytes);
        *duration = all.aggregate_time.unwrap_or(*duration);
    }
    channel
}

/// The numbers of the stations that are the first of those that are written together.
fn firsts(written: &[WifiStation]) -> Vec<usize> {
    let counts = written.iter().map(|station| station.repeat.unwrap_or(1) as usize);
    counts.scan(0, |next, count| Some(std::mem::replace(next, *next + count))).collect()
}

fn check_names(written: &[WifiStation], at: &Path) -> Result<(), Problem> {
    require(!written.is_empty(), at.clone(), "must have a station at least")?;
    let most = queue::MOST_STATIONS;
    let mut all = 0;
    for (i, station) in written.iter().enumerate() {
        let ok = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let is_sound = !station.name.is_empty() && station.name.chars().all(ok);
        let here = at.then(i);
        require(is_sound, here.then("name"), "must consist of letters, digits, \"-\" and \"_\"")?;
        let repeat = station.repeat.unwrap_or(1);
        let rule = format!("must be a whole number from 1 to {most}");
        require((1..=most as u32).contains(&repeat), here.then("repeat"), rule)?;
        all += repeat as usize;
    }
    let rule = format!("are {all}, and at most {most} share a channel: lower repeat");
    require(all <= most, at.clone(), rule)
}

/// The problem that the channel finds, where it is written.
fn of_station(refused: &Refused, written: &Wifi, at: &Path) -> Problem {
    let Refused { class, field, value, rule, fix } = refused;
    let rule = format!("{rule}; {fix}");
    if class.is_empty() {
        let field = match *field {
            "packets" => "aggregate_packets",
            "duration" => "aggregate_time",
            "bytes" => "aggregate_bytes",
            field => field,
        };
        return Problem::new(at.then(field), rule).with_value(value);
    }
    let is_it = |station: &WifiStation| {
        let of_copy = class.strip_prefix(&*station.name).and_then(|rest| rest.strip_prefix('-'));
        *class == station.name
            || (station.repeat.is_some() && of_copy.is_some_and(|n| n.parse::<u32>().is_ok()))
    };
    // Of two with one name, the second.
    let number = written.stations.iter().rposition(is_it).unwrap_or_default();
    let field = match *field {
        "loss" => "error",
        "packets" => "aggregate_packets",
        field => field,
    };
    Problem::new(at.then("stations").then(number).then(field), rule).with_value(value)
}

impl WifiPlan {
    /// The station of each flow of a network. Each flow is given with its group's number, and whether it sends data to the
    /// access point.
    pub(super) fn of_flow<'a>(
        &self,
        s: &Scenario,
        flows: impl Iterator<Item = (&'a FlowSpec, u16, bool)>,
    ) -> Vec<AtStation> {
        let mut next = vec![0_u32; s.flows.len()];
        let mut all: Vec<AtStation> = Vec::new();
        for (flow, group, sends) in flows {
            if let (Traffic::Tcp { app: App::Connection { .. }, .. }, Some(at)) = (&flow.traffic, all.last())
            {
                all.push(*at);
                continue;
            }
            let number = &mut next[usize::from(group)];
            let host = s.flows[usize::from(group)].hosts.map_or(*number, |hosts| *number % u32::from(hosts));
            *number += 1;
            let station = self.rules.iter().find_map(|rule| rule.leaf(group, host, 0)).unwrap_or_default();
            all.push(AtStation { station, sends });
        }
        all
    }

    /// Refuses a group of flows some of which may be at no station; it is written at `at`.
    pub(super) fn check_group(&self, group: u16, at: &Path) -> Result<(), Problem> {
        let rule = format!(
            "crosses the channel of {}, and some of its flows are at none of the stations: leave out one's match, or add the \
             group to it",
            self.at
        );
        let is_there = self.rules.iter().any(|rule| rule.takes_all_of(group));
        if is_there { Ok(()) } else { Err(Problem::new(at.clone(), rule).with_value("")) }
    }

    /// A note on stations at which no flow of `comers` ends.
    pub(super) fn unmet(&self, comers: &[Comer]) -> Option<String> {
        let mut met = vec![false; self.channel.stations.len()];
        // As many hosts as there are stations, or as matches name.
        let named = self.rules.iter().map(Rule::last_host).max();
        let most = named.unwrap_or(0).max(queue::MOST_STATIONS as u32);
        for Comer { group, hosts, .. } in comers {
            for host in 0..(*hosts).min(most) {
                let station = self.rules.iter().find_map(|rule| rule.leaf(*group, host, 0));
                if let Some(met) = station.and_then(|station| met.get_mut(usize::from(station))) {
                    *met = true;
                }
            }
        }
        let all: Vec<&str> = self.channel.stations.iter().map(|station| station.name.as_str()).collect();
        let without: Vec<&str> =
            all.iter().zip(&met).filter(|(_, met)| !**met).map(|(name, _)| *name).collect();
        let (first, count) = (without.first()?, without.len());
        Some(match count {
            1 => format!("{}: no flow ends at station {first}, so it stays silent", self.at),
            _ => format!(
                "{}: no flow ends at {count} of the {} stations, such as {first}, so they stay silent; give groups more \
                 flows or hosts, or lower repeat",
                self.at,
                all.len()
            ),
        })
    }
}
