//! The fuzz target of the gateway's logs: any bytes as a log, and the log of any traffic.

mod line;

use arbitrary::Unstructured;
use quell_aqm::{FlowId, Hosts, Transport};
use quell_gateway::{
    Entry, Event, LineConfig, LogError, LogHeader, LogReader, Packet, Replay, header, replay,
};
use quell_queue::{DropPoint, Dropped, Host, Qdisc, Sent};
use quell_units::{BitRate, Duration, Time};
use serde_json::Value;

/// Bytes that begin as a log does are read as one, as they are and with the checksums that they should have; others spell
/// the traffic of a line, whose log must replay without a difference, whole and cut.
pub fn gateway_log(data: &[u8]) {
    if !data.starts_with(b"quell") {
        return made_log(data);
    }
    read(data);
    // Two lines, and records without frames: what stands behind the checksums is reached.
    let mut lines = data.splitn(3, |byte| *byte == b'\n').skip(1);
    if let (Some(header), Some(records)) = (lines.next(), lines.next()) {
        any_log(&framed(header, records));
    }
}

/// The first line of logs.
const FIRST: &[u8] = b"quell gateway log 3\n";

/// The bytes of records in a frame, of which the last may have fewer.
const FRAME: usize = 4096;

/// A log of a header and records: each frame has a length and a checksum, records and a checksum.
fn framed(header: &[u8], records: &[u8]) -> Vec<u8> {
    let mut log = [FIRST, header, b"\n"].concat();
    let mut hash = crc32fast::Hasher::new();
    hash.update(&log);
    for frame in [&[][..]].into_iter().chain(records.chunks(FRAME)) {
        for part in [&(frame.len() as u32).to_le_bytes(), frame] {
            hash.update(part);
            log.extend_from_slice(part);
            log.extend_from_slice(&hash.clone().finalize().to_le_bytes());
        }
    }
    log
}

/// A replay runs all updates of the time that a log says: of a longer one it would take too long here.
const LONGEST: Time = Time::from_nanos(2_000_000_000);

fn any_log(data: &[u8]) {
    let Some(Read { header, entries, closed, damage }) = read(data) else { return };
    // What was read is read again when it is written.
    let again = write(&header, &entries);
    let read_again = read(&again).expect("its header is whole");
    assert_eq!((&read_again.header, &read_again.entries, read_again.closed), (&header, &entries, closed));
    if entries.iter().all(|entry| entry.time <= LONGEST) {
        let of = |log: &[u8]| LogReader::new(log).ok().and_then(|mut log| replay(&mut log, None).ok());
        let (one, two) = (of(data), of(&again));
        // A damaged log is not replayed at all, and what is written of it ends before the damage.
        assert_eq!(one.is_some(), two.is_some() && damage.is_none());
        for (one, two) in one.into_iter().zip(two) {
            check(&one, &entries);
            assert_eq!(format!("{one:?}"), format!("{two:?}"), "the same log");
        }
    }
}

/// What is read of a log.
struct Read {
    header: LogHeader,
    /// Those before the first that is damaged.
    entries: Vec<Entry>,
    closed: bool,
    damage: Option<String>,
}

/// Reads a log; none if it has no header.
fn read(log: &[u8]) -> Option<Read> {
    let said = |e: &LogError| assert!(!e.to_string().is_empty());
    let mut reader = LogReader::new(log).inspect_err(said).ok()?;
    let (mut entries, mut damage) = (Vec::new(), None);
    while damage.is_none() {
        match reader.next_entry().inspect_err(said) {
            Ok(Some(entry)) => {
                assert!(usize::from(entry.line) < reader.header().lines.len());
                entries.push(entry);
            }
            Ok(None) => break,
            Err(e) => damage = Some(e.to_string()),
        }
    }
    assert!(reader.records() >= entries.len() as u64);
    // One that goes on after its end is damaged.
    let closed = reader.closed() && damage.is_none();
    Some(Read { header: reader.header().clone(), entries, closed, damage })
}

fn write(header: &LogHeader, entries: &[Entry]) -> Vec<u8> {
    let mut records = Vec::new();
    entries.iter().for_each(|entry| entry.write(&mut records));
    framed(&serde_json::to_vec(header).expect("a header is JSON"), &records)
}

/// A replay compares what the log decided, once.
fn check(replay: &Replay, entries: &[Entry]) {
    for (i, line) in replay.lines.iter().enumerate() {
        let of = || entries.iter().filter(|entry| usize::from(entry.line) == i);
        let arrivals = of().filter(|entry| matches!(entry.event, Event::Arrived { .. })).count() as u64;
        assert_eq!((line.arrivals, line.counters.arrived.packets), (arrivals, arrivals));
        assert!(line.compared >= arrivals && line.differ <= line.compared);
        assert_eq!(line.first.is_some(), line.differ > 0);
        let n = &line.counters;
        assert_eq!(n.arrived.packets, n.enqueued.packets + n.refused.total().packets);
        // What waited before the log began may have left since.
        let went_on = of().any(|entry| matches!(entry.event, Event::Resumed(_)));
        assert!(went_on || n.enqueued.packets >= n.departed.packets + n.dropped.total().packets);
    }
}

fn made_log(data: &[u8]) {
    let Ok(Some((header, entries))) = traffic(&mut Unstructured::new(data)) else { return };
    let log = write(&header, &entries);
    let again = read(&log).expect("its header is whole");
    assert_eq!(again.damage, None, "{entries:?}");
    assert!(again.closed);
    assert_eq!(again.header, header);
    assert_eq!(again.entries, entries);
    let of = |log: &[u8]| {
        let mut log = LogReader::new(log).expect("its header is whole");
        let replay = replay(&mut log, None).expect("what was written can be replayed");
        for line in &replay.lines {
            assert_eq!((line.differ, &line.first), (0, &None), "{:?}", line.config);
        }
        replay
    };
    let replay = of(&log);
    assert!(replay.closed);
    check(&replay, &entries);
    // Cut anywhere behind its header, it is a log up to there.
    let head = write(&header, &[]).len();
    let cut = head + (log.len() - head) * usize::from(data.last().copied().unwrap_or(0)) / 256;
    assert!(!of(&log[..cut]).closed);
    // No byte changes unnoticed, be it one of the header.
    let mut changed = log;
    let at = changed.len() * usize::from(data.first().copied().unwrap_or(0)) / 256;
    changed[at] ^= 1 << (data.len() % 8);
    assert!(read(&changed).is_none_or(|read| read.damage.is_some()), "byte {at} has changed");
}

/// Writes down what a line does, as the gateway does.
struct Listener<'a> {
    line: u8,
    entries: &'a mut Vec<Entry>,
}

impl Host<Packet> for Listener<'_> {
    fn sent(&mut self, sent: Sent<Packet>) {
        let (number, marked) = (sent.packet.number, sent.packet.marked);
        self.entries.push(Entry { line: self.line, time: sent.start, event: Event::Sent { number, marked } });
    }

    fn dropped(&mut self, now: Time, dropped: Dropped<Packet>) {
        let Dropped { packet: Packet { number, .. }, cause, place } = dropped;
        if place != DropPoint::Arrival {
            self.entries.push(Entry {
                line: self.line,
                time: now,
                event: Event::Dropped { number, cause, place },
            });
        }
    }
}

/// The log of two lines and the traffic that bytes spell; none if a line cannot be built.
fn traffic(u: &mut Unstructured) -> arbitrary::Result<Option<(LogHeader, Vec<Entry>)>> {
    let mut config = |name: &str| -> arbitrary::Result<Option<LineConfig>> {
        let mut line = line::line(u)?;
        line.insert("name".to_string(), name.into());
        let config: Option<LineConfig> = serde_json::from_value(Value::Object(line)).ok();
        Ok(config.filter(|config| config.build().is_ok()))
    };
    let (Some(up), Some(down)) = (config("up")?, config("down")?) else { return Ok(None) };
    let third = config("up")?;
    let configs = vec![up, down];
    let built: Result<Vec<_>, _> = configs.iter().map(LineConfig::build).collect();
    let mut lines = built.expect("they were built before");
    let header = LogHeader { version: "0".to_string(), started_unix_s: 0, lines: configs.clone() };
    let (mut entries, mut numbers, mut now) = (Vec::new(), [0, 0], Time::ZERO);
    while !u.is_empty() && entries.len() < 4_000 {
        let [kind, more] = u.arbitrary::<[u8; 2]>()?;
        let i = usize::from(kind & 1);
        let update = lines.iter().filter_map(|line| line.queue().next_update()).min();
        let update = update.map(|due| due.nanos().saturating_sub(now.nanos()));
        let packet = configs[i].rate.transmission_time(configs[i].mean_packet).nanos();
        // As in a gateway, no two events of a line are at one time: what is due then would be done before either.
        now += Duration::from_nanos(line::gap(u, packet, update)?.max(1));
        let mut listener = Listener { line: kind & 1, entries: &mut entries };
        match kind >> 1 {
            0 => {
                let rate = BitRate::from_bps(u64::from(more) * 100_000);
                lines[i].set_rate(now, rate, &mut listener);
                entries.push(Entry { line: kind & 1, time: now, event: Event::Rate(rate) });
            }
            1 => {
                let Some(new) = third.clone().filter(|_| i == 0) else { continue };
                lines[i].set_rate(now, new.rate, &mut listener);
                lines[i].reconfigure(now, new.queue().expect("it was built before"), &mut listener);
                let event = Event::Reconfigured(Box::new(new));
                entries.push(Entry { line: kind & 1, time: now, event });
            }
            2..4 => lines[i].run(now, &mut listener),
            _ => {
                let h = line::header(u)?;
                let header = header::Header {
                    flow: FlowId(h.flow),
                    ecn: header::ecn(h.ecn),
                    transport: match h.protocol {
                        6 => Transport::Tcp,
                        17 => Transport::Udp,
                        _ => Transport::Other,
                    },
                    syn: h.syn,
                    dscp: h.dscp,
                    hosts: Hosts { source: h.hosts.0, destination: h.hosts.1 },
                };
                let mut packet = Packet::new(numbers[i], h.bytes.into(), header);
                (packet.number, packet.tag) = (numbers[i], more.into());
                numbers[i] += 1;
                // What happens before it comes first; its own transmission may begin at the same time.
                lines[i].run(now, &mut listener);
                let before = entries.len();
                let admission =
                    lines[i].arrive(now, packet, &mut Listener { line: kind & 1, entries: &mut entries });
                entries.insert(
                    before,
                    Entry { line: kind & 1, time: now, event: Event::Arrived { packet, admission } },
                );
            }
        }
    }
    for (line, i) in lines.iter_mut().zip(0..) {
        line.run(now, &mut Listener { line: i, entries: &mut entries });
    }
    entries.push(Entry { line: 0, time: now, event: Event::Closed });
    Ok(Some((header, entries)))
}
