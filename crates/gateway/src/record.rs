//! The log: what came and what was decided, so that every decision can be replayed.
//!
//! A line of text, a line of JSON ([`LogHeader`]), then frames of records. Records have [`RECORD`] bytes, little-endian.
//! A frame is a length, a checksum, so many bytes of records, and a checksum; each checksum is the CRC-32 of all of the
//! log before it but checksums, so no byte can change, go or come unnoticed. The first frame is empty: it is the
//! header's. A log that ends anywhere is a log up to its last whole frame; one that was closed ends with
//! [`Event::Closed`].

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use crc32fast::Hasher;
use quell_aqm::{Cause, Ecn, FlowId, Hosts, Transport};
use quell_queue::{Admission, Carry, DropPoint, LinkState};
use quell_units::{BitRate, Duration, Time};
use serde::{Deserialize, Serialize};

use crate::header::Header;
use crate::{LineConfig, Packet};

/// The size of a record in bytes.
pub const RECORD: usize = 28;

/// The first line of a log that tells no more than that of the first programs whose logs can be read.
const MAGIC: &str = "quell gateway log 3";

/// The first line of all others: their lines have what these programs did not know.
const NEW_MAGIC: &str = "quell gateway log 4";

/// What the first line of a log of any version begins with.
const ANY_MAGIC: &str = "quell gateway log ";

/// The most bytes of a frame's records: what a kill or a full disk may cost beside what it cuts.
const FRAME: usize = 4096;

/// The header of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogHeader {
    /// The version of Quell that wrote it.
    pub version: String,
    /// The time at which it began, in seconds since 1970, or zero.
    pub started_unix_s: u64,
    /// The lines as they were at the start.
    pub lines: Vec<LineConfig>,
}

impl LogHeader {
    /// The header of a log that begins now.
    pub fn now(lines: Vec<LineConfig>) -> Self {
        LogHeader { version: env!("CARGO_PKG_VERSION").into(), started_unix_s: crate::unix_s(), lines }
    }
}

/// An event at a line.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A packet came, and this was decided.
    Arrived {
        /// The packet as it came; its handle is not kept.
        packet: Packet,
        /// The decision about it.
        admission: Admission,
    },
    /// A packet's transmission begins.
    Sent {
        /// Its number among the arrivals.
        number: u32,
        /// It was marked, on arrival or at the head.
        marked: bool,
    },
    /// A packet that had been stored is dropped.
    Dropped {
        /// Its number among the arrivals.
        number: u32,
        /// The cause.
        cause: Cause,
        /// The place.
        place: DropPoint,
    },
    /// The line has another configuration from here on; what waits stays.
    Reconfigured(Box<LineConfig>),
    /// The line has another rate from here on and is the same otherwise; a rate of zero sends nothing.
    Rate(BitRate),
    /// The wire behind the line loses a packet whose transmission begins: no decision of the line's.
    Lost {
        /// Its number among the arrivals.
        number: u32,
    },
    /// The wire behind the line carries a packet whose transmission begins, if that wire may delay or copy packets: no
    /// decision of the line's.
    Carried {
        /// Its number among the arrivals.
        number: u32,
        /// The nanoseconds by which it is late, or early if it is negative.
        late_ns: i64,
        /// It arrives twice.
        copied: bool,
    },
    /// The wire behind the line loses packets with this probability from here on.
    Loss(f64),
    /// The wire behind the line has this delay from here on.
    Delay(Duration),
    /// The line goes on from another log: what comes before anything else of it.
    Resumed(Box<Resumed>),
    /// The log was closed, and nothing is missing before.
    Closed,
}

/// The state in which a line goes on from another log: its algorithm restarts with what waits.
#[derive(Clone, Debug, PartialEq)]
pub struct Resumed {
    /// What its link is doing.
    pub link: LinkState,
    /// The packets that wait, numbered from zero, and when they came.
    pub waiting: Vec<(Time, Packet)>,
}

/// An event, when it happened and at which line.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// The line's index in [`LogHeader::lines`].
    pub line: u8,
    /// The time; of departures, the start of the transmission.
    pub time: Time,
    /// The kind.
    pub event: Event,
}

const ARRIVED: u8 = 1;
const SENT: u8 = 2;
const DROPPED: u8 = 3;
const RECONFIGURED: u8 = 4;
const CLOSED: u8 = 5;
const RATE: u8 = 6;
const LOST: u8 = 7;
const RESUMED: u8 = 8;
/// A part of [`RESUMED`].
const WAITING: u8 = 9;
const CARRIED: u8 = 10;
const LOSS: u8 = 11;
const DELAY: u8 = 12;

/// The longest configuration that a log may hold beside its header; a longer one is damage.
const LONGEST: usize = 1 << 16;

/// The longest header: that of two lines with as many classes as there may be, which lead as many flows.
const LONGEST_HEADER: usize = 1 << 22;

/// The longest time between two events; a longer one is damage, which a replay would take years of updates for.
const LONGEST_SILENCE: Duration = Duration::from_secs(7 * 24 * 3600);

fn cause_code(cause: Cause) -> u8 {
    match cause {
        Cause::Early => 2,
        Cause::Forced => 3,
        Cause::Overflow => 4,
    }
}

fn admission_code(admission: Admission) -> u8 {
    match admission {
        Admission::Queued => 0,
        Admission::Marked => 1,
        Admission::Dropped(cause) => cause_code(cause),
    }
}

fn cause(code: u8) -> Option<Cause> {
    Some(match code {
        2 => Cause::Early,
        3 => Cause::Forced,
        4 => Cause::Overflow,
        _ => return None,
    })
}

fn admission(code: u8) -> Option<Admission> {
    Some(match code {
        0 => Admission::Queued,
        1 => Admission::Marked,
        code => Admission::Dropped(cause(code)?),
    })
}

/// A packet as the words of a record.
#[inline]
fn packed(packet: &Packet) -> [u32; 4] {
    let h = &packet.header;
    let ecn = match h.ecn {
        Ecn::NotEct => 0u32,
        Ecn::Ect1 => 1,
        Ecn::Ect0 => 2,
        Ecn::Ce => 3,
    };
    let transport = match h.transport {
        Transport::Tcp => 0,
        Transport::Udp => 1,
        Transport::Other => 2,
    };
    let packed = ecn
        | transport << 2
        | u32::from(h.syn) << 4
        | u32::from(h.dscp & 63) << 8
        | u32::from(packet.tag) << 16;
    let hosts = u32::from(h.hosts.source) | u32::from(h.hosts.destination) << 16;
    [h.flow.0, packet.bytes, packed, hosts]
}

/// The packet `number` of these words.
fn unpacked(number: u32, [flow, bytes, packed, hosts]: [u32; 4]) -> Packet {
    let header = Header {
        flow: FlowId(flow),
        ecn: crate::header::ecn((packed & 3) as u8),
        transport: match packed >> 2 & 3 {
            0 => Transport::Tcp,
            1 => Transport::Udp,
            _ => Transport::Other,
        },
        syn: packed >> 4 & 1 == 1,
        dscp: (packed >> 8 & 63) as u8,
        hosts: Hosts { source: hosts as u16, destination: (hosts >> 16) as u16 },
    };
    let mut packet = Packet::new(number, bytes, header);
    (packet.number, packet.tag) = (number, (packed >> 16) as u16);
    packet
}

/// A number as two words, the lower half first.
fn halves(number: u64) -> [u32; 2] {
    [number as u32, (number >> 32) as u32]
}

/// The number of these halves.
fn whole(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// The four words at the end of a record.
fn words(record: &[u8; RECORD]) -> [u32; 4] {
    core::array::from_fn(|i| {
        let at = 12 + 4 * i;
        u32::from_le_bytes([record[at], record[at + 1], record[at + 2], record[at + 3]])
    })
}

fn time(record: &[u8; RECORD]) -> Time {
    let mut nanos = [0; 8];
    nanos.copy_from_slice(&record[4..12]);
    Time::from_nanos(u64::from_le_bytes(nanos))
}

impl Entry {
    /// Appends it to `out`, which has room for [`RECORD`] bytes, or more for a configuration.
    #[inline]
    pub fn write(&self, out: &mut Vec<u8>) {
        // Kind, line, two codes; time; number or flow; bytes; packed header; hosts.
        let (kind, codes, words) = match &self.event {
            Event::Arrived { packet, admission } => {
                (ARRIVED, [admission_code(*admission), 0], packed(packet))
            }
            Event::Sent { number, marked } => (SENT, [u8::from(*marked), 0], [*number, 0, 0, 0]),
            Event::Dropped { number, cause, place } => {
                let place = match place {
                    DropPoint::Arrival => 0,
                    DropPoint::Head => 1,
                    DropPoint::Waiting => 2,
                };
                (DROPPED, [cause_code(*cause), place], [*number, 0, 0, 0])
            }
            Event::Reconfigured(config) => {
                let text = serde_json::to_vec(config).unwrap_or_default();
                self.put(out, RECONFIGURED, [0; 2], [text.len() as u32, 0, 0, 0]);
                out.extend_from_slice(&text);
                return out.resize(out.len().next_multiple_of(RECORD), b' ');
            }
            Event::Rate(rate) => {
                let [low, high] = halves(rate.bps());
                (RATE, [0; 2], [low, high, 0, 0])
            }
            Event::Lost { number } => (LOST, [0; 2], [*number, 0, 0, 0]),
            Event::Carried { number, late_ns, copied } => {
                let [low, high] = halves(*late_ns as u64);
                (CARRIED, [u8::from(*copied), 0], [*number, low, high, 0])
            }
            Event::Loss(p) => {
                let [low, high] = halves(p.to_bits());
                (LOSS, [0; 2], [low, high, 0, 0])
            }
            Event::Delay(delay) => {
                let [low, high] = halves(delay.nanos());
                (DELAY, [0; 2], [low, high, 0, 0])
            }
            Event::Resumed(resumed) => return self.write_resumed(out, resumed),
            Event::Closed => (CLOSED, [0; 2], [0; 4]),
        };
        self.put(out, kind, codes, words);
    }

    #[cold]
    fn write_resumed(&self, out: &mut Vec<u8>, Resumed { link, waiting }: &Resumed) {
        let [low, high] = halves(link.busy_until.nanos());
        let words = [low, high, link.carry.bits(), waiting.len() as u32];
        self.put(out, RESUMED, [u8::from(link.stopped), 0], words);
        for (arrived, packet) in waiting {
            let waits = Entry { time: *arrived, line: self.line, event: Event::Closed };
            waits.put(out, WAITING, [u8::from(packet.marked), 0], packed(packet));
        }
    }

    #[inline]
    fn put(&self, out: &mut Vec<u8>, kind: u8, codes: [u8; 2], words: [u32; 4]) {
        let mut record = [0; RECORD];
        record[..4].copy_from_slice(&[kind, self.line, codes[0], codes[1]]);
        record[4..12].copy_from_slice(&self.time.nanos().to_le_bytes());
        for (to, word) in record[12..].chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&record);
    }
}

/// The columns of arrivals as a table, which traffic of kind "trace" reads.
pub const ARRIVAL_COLUMNS: &str = "time_s,bytes,flow,ecn,transport,syn,dscp";

/// Writes an arrival as a line of such a table; its time is exact.
///
/// # Errors
/// If it cannot be written.
pub fn write_arrival(to: &mut impl Write, time: Time, packet: &Packet) -> io::Result<()> {
    let header = &packet.header;
    let ecn = match header.ecn {
        Ecn::NotEct => "not-ect",
        Ecn::Ect0 => "ect0",
        Ecn::Ect1 => "ect1",
        Ecn::Ce => "ce",
    };
    let transport = match header.transport {
        Transport::Tcp => "tcp",
        Transport::Udp => "udp",
        Transport::Other => "other",
    };
    let (s, ns) = (time.nanos() / 1_000_000_000, time.nanos() % 1_000_000_000);
    let (flow, syn) = (header.flow.0, u8::from(header.syn));
    writeln!(to, "{s}.{ns:09},{},{flow},{ecn},{transport},{syn},{}", packet.bytes, header.dscp)
}

/// Makes the file of a log, which only its owner may read. What is there already is kept; a device or a pipe may be
/// written to.
///
/// # Errors
/// `AlreadyExists`, with what to do, and what the system says.
pub fn create_log(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => match std::fs::metadata(path) {
            Ok(there) if !there.is_file() && !there.is_dir() => {
                let to = File::options().write(true).open(path)?;
                // What the name leads to may be another by now.
                if to.metadata()?.is_file() { Err(io::Error::new(e.kind(), THERE_ALREADY)) } else { Ok(to) }
            }
            _ => Err(io::Error::new(e.kind(), THERE_ALREADY)),
        },
        done => done,
    }
}

/// The message about a log that is not overwritten.
pub const THERE_ALREADY: &str =
    "it is there already, and a log is not overwritten: remove it, or choose another name";

/// The files of a log: that of this name, which is number zero, and those with `.1`, `.2` and so on after it.
fn numbered(path: &Path) -> Vec<(u64, PathBuf)> {
    let dir = path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().as_encoded_bytes();
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut found: Vec<(u64, PathBuf)> = entries
        .filter_map(|entry| {
            let is = entry.file_name();
            let number = match is.as_encoded_bytes().strip_prefix(name)? {
                [] => 0,
                [b'.', digits @ ..] if digits.first() != Some(&b'0') => {
                    str::from_utf8(digits).ok()?.parse().ok()?
                }
                _ => return None,
            };
            Some((number, entry.path()))
        })
        .collect();
    found.sort();
    found
}

/// Makes the next file of a log: that of its name if there is none yet, else with one more than the highest number
/// after it.
///
/// # Errors
/// As [`create_log`].
pub fn create_next_log(path: &Path) -> io::Result<(File, PathBuf)> {
    loop {
        let name = match numbered(path).last() {
            None => path.to_owned(),
            // What is not a file is written to, such as a pipe.
            Some((0, there)) if !there.is_file() => path.to_owned(),
            Some((number, _)) => {
                let mut name = path.as_os_str().to_owned();
                name.push(format!(".{}", number + 1));
                PathBuf::from(name)
            }
        };
        match create_log(&name) {
            // Somebody else has just made it.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && name != path => {}
            made => return made.map(|file| (file, name)),
        }
    }
}

/// Removes the oldest files of a log until all of them together have at most so many bytes; the newest one stays. What
/// is not a log is neither counted nor removed.
///
/// # Errors
/// If one cannot be removed.
pub fn prune_logs(path: &Path, most: u64) -> io::Result<Vec<PathBuf>> {
    let mut logs: Vec<(PathBuf, u64)> = numbered(path)
        .into_iter()
        .filter_map(|(_, path)| {
            let mut options = File::options();
            options.read(true);
            // Neither a link nor a pipe that somebody has put there.
            #[cfg(target_os = "linux")]
            std::os::unix::fs::OpenOptionsExt::custom_flags(
                &mut options,
                libc::O_NOFOLLOW | libc::O_NONBLOCK,
            );
            let mut file = options.open(&path).ok()?;
            let is = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
            let mut begin = [0; ANY_MAGIC.len()];
            file.read_exact(&mut begin).ok()?;
            (begin == ANY_MAGIC.as_bytes()).then_some((path, is.len()))
        })
        .collect();
    let mut sum = 0;
    // From the newest on, which stays: those before the first that is too much are too much as well.
    let kept = logs.iter().rev().enumerate().take_while(|(i, (_, size))| {
        sum += size;
        *i == 0 || sum <= most
    });
    let kept = kept.count();
    logs.truncate(logs.len() - kept);
    for (path, _) in &logs {
        std::fs::remove_file(path)?;
    }
    Ok(logs.into_iter().map(|(path, _)| path).collect())
}

/// Reads a log.
pub struct LogReader<R> {
    frames: Frames<R>,
    header: LogHeader,
    /// Arrivals so far at each line, which number them.
    numbers: Vec<u32>,
    /// The time of each line's last event, and of the last of all.
    times: Vec<Time>,
    last: Time,
    records: u64,
    /// Lines that go on from another log.
    resumed: usize,
    closed: bool,
}

/// The reason why a log cannot be read on.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The file cannot be read.
    #[error("cannot be read: {0}")]
    Io(io::Error),
    /// It is not a log, or damaged: where and how.
    #[error("{0}")]
    Damaged(String),
}

/// The bytes of a log, each of which has been checked when it is given.
struct Frames<R> {
    from: R,
    hash: Hasher,
    /// The bytes of the frame, and how many of them were given.
    frame: Vec<u8>,
    given: usize,
    /// The place in the file.
    place: u64,
}

impl<R: Read> Frames<R> {
    /// Reads all of `to` from the file; false if that ends before.
    fn raw(from: &mut R, place: &mut u64, mut to: &mut [u8]) -> Result<bool, LogError> {
        while !to.is_empty() {
            match from.read(to) {
                Ok(0) => return Ok(false),
                Ok(n) => {
                    *place += n as u64;
                    to = &mut to[n..];
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(LogError::Io(e)),
            }
        }
        Ok(true)
    }

    /// A line of text, without its end.
    fn line(&mut self) -> Result<Vec<u8>, LogError> {
        let mut text = Vec::new();
        let mut byte = [0];
        while text.len() < LONGEST_HEADER {
            if !Self::raw(&mut self.from, &mut self.place, &mut byte)? {
                return Err(LogError::Damaged("ends within its header".into()));
            }
            self.hash.update(&byte);
            if byte[0] == b'\n' {
                return Ok(text);
            }
            text.push(byte[0]);
        }
        Err(LogError::Damaged("is not a log of `quell gateway` or `quell wire`".into()))
    }

    /// Reads the next frame; false if the log ends before it does.
    fn next(&mut self) -> Result<bool, LogError> {
        let begin = self.place;
        self.frame.clear();
        self.given = 0;
        let mut word = [[0; 4]; 2];
        let [length, check] = &mut word;
        for part in [length, check] {
            if !Self::raw(&mut self.from, &mut self.place, part)? {
                return Ok(false);
            }
        }
        let [length, check] = word;
        self.hash.update(&length);
        self.check(begin, check)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > FRAME {
            return Err(LogError::Damaged(format!(
                "is damaged at byte {begin}: no frame has {length} bytes"
            )));
        }
        self.frame.resize(length, 0);
        let mut check = [0; 4];
        if !Self::raw(&mut self.from, &mut self.place, &mut self.frame)?
            || !Self::raw(&mut self.from, &mut self.place, &mut check)?
        {
            self.frame.clear();
            return Ok(false);
        }
        self.hash.update(&self.frame);
        self.check(begin, check)?;
        Ok(true)
    }

    fn check(&self, begin: u64, check: [u8; 4]) -> Result<(), LogError> {
        if self.hash.clone().finalize() == u32::from_le_bytes(check) {
            return Ok(());
        }
        let end = self.place;
        Err(LogError::Damaged(format!(
            "is damaged: bytes {begin} to {end} are not those that were written there (their checksum differs)"
        )))
    }

    /// Reads all of `to`; false if the log ends before.
    fn fill(&mut self, mut to: &mut [u8]) -> Result<bool, LogError> {
        while !to.is_empty() {
            if self.given == self.frame.len() && !self.next()? {
                return Ok(false);
            }
            let n = to.len().min(self.frame.len() - self.given);
            to[..n].copy_from_slice(&self.frame[self.given..self.given + n]);
            self.given += n;
            to = &mut to[n..];
        }
        Ok(true)
    }

    /// Tells whether anything follows, be it a part of a frame.
    fn more(&mut self) -> Result<bool, LogError> {
        Ok(self.given < self.frame.len() || Self::raw(&mut self.from, &mut self.place, &mut [0])?)
    }
}

impl<R: Read> LogReader<R> {
    /// Reads the header; `from` should be buffered.
    ///
    /// # Errors
    /// If it is not a log of this version, or its header is damaged.
    pub fn new(from: R) -> Result<Self, LogError> {
        let mut frames = Frames { from, hash: Hasher::new(), frame: Vec::new(), given: 0, place: 0 };
        let magic = frames.line()?;
        if ![MAGIC, NEW_MAGIC].iter().any(|known| magic == known.as_bytes()) {
            return Err(LogError::Damaged(match magic.strip_prefix(ANY_MAGIC.as_bytes()) {
                Some([digit @ b'1'..=b'2']) => format!(
                    "is a log of version {}, which has no checksums, and this reads versions 3 and 4: replay it with the \
                     version of Quell that its second line names",
                    char::from(*digit)
                ),
                Some([digit @ b'5'..=b'9']) => format!(
                    "is a log of version {}, and this reads versions 3 and 4: replay it with the version of Quell that its \
                     second line names",
                    char::from(*digit)
                ),
                _ => {
                    format!(
                        "is not a log of `quell gateway` or `quell wire`: it must begin with \"{MAGIC}\" or \"{NEW_MAGIC}\""
                    )
                }
            }));
        }
        let header = frames.line()?;
        // Before anything is made of it.
        if !frames.next()? {
            return Err(LogError::Damaged("ends within its header".into()));
        }
        let header: LogHeader = serde_json::from_slice(&header)
            .map_err(|e| LogError::Damaged(format!("its second line is no header: {e}")))?;
        let numbers = vec![0; header.lines.len()];
        let times = vec![Time::ZERO; header.lines.len()];
        Ok(LogReader {
            frames,
            header,
            numbers,
            times,
            last: Time::ZERO,
            records: 0,
            resumed: 0,
            closed: false,
        })
    }

    /// The header.
    pub fn header(&self) -> &LogHeader {
        &self.header
    }

    /// Tells whether the log was closed: false until its last record was read, and of one that was cut.
    pub fn closed(&self) -> bool {
        self.closed
    }

    /// Records so far.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// The next entry; `None` at the end, which may be within a record.
    ///
    /// # Errors
    /// If the file cannot be read, or a record is none.
    pub fn next_entry(&mut self) -> Result<Option<Entry>, LogError> {
        let mut record = [0; RECORD];
        if self.closed || !self.frames.fill(&mut record)? {
            return Ok(None);
        }
        let at = self.records;
        self.records += 1;
        let words = words(&record);
        let damaged = |what: &str| LogError::Damaged(format!("record {at} is damaged: {what}"));
        let time = time(&record);
        let line = record[1];
        let lines = self.numbers.len();
        let Some(number) = self.numbers.get_mut(usize::from(line)) else {
            return Err(damaged("no such line"));
        };
        // All lines go on or none, and at one time: before anything else, in their order.
        let goes_on = record[0] == RESUMED;
        if goes_on && (at != self.resumed as u64 || usize::from(line) != self.resumed)
            || !goes_on && self.resumed > 0 && self.resumed < lines
        {
            return Err(damaged("not all lines go on from another log"));
        }
        self.resumed += usize::from(goes_on);
        if !(goes_on && at == 0) && time > self.last + LONGEST_SILENCE {
            return Err(damaged("its time is more than a week after the one before"));
        }
        if time < self.times[usize::from(line)] {
            return Err(damaged("its time is before that of its line's record before"));
        }
        (self.times[usize::from(line)], self.last) = (time, self.last.max(time));
        let event = match record[0] {
            ARRIVED => {
                let packet = unpacked(*number, words);
                *number = number.wrapping_add(1);
                let admission = admission(record[2]).ok_or_else(|| damaged("no such verdict"))?;
                Event::Arrived { packet, admission }
            }
            SENT => Event::Sent { number: words[0], marked: record[2] == 1 },
            DROPPED => {
                let cause = cause(record[2]).ok_or_else(|| damaged("no such cause"))?;
                let place = match record[3] {
                    0 => DropPoint::Arrival,
                    1 => DropPoint::Head,
                    2 => DropPoint::Waiting,
                    _ => return Err(damaged("no such place")),
                };
                Event::Dropped { number: words[0], cause, place }
            }
            RECONFIGURED => {
                let length = words[0] as usize;
                if length > LONGEST {
                    return Err(damaged("its configuration is too long"));
                }
                let mut text = vec![0; length.next_multiple_of(RECORD)];
                if !self.frames.fill(&mut text)? {
                    return Ok(None);
                }
                let config = serde_json::from_slice(&text[..length]).map_err(|e| damaged(&e.to_string()))?;
                Event::Reconfigured(Box::new(config))
            }
            RATE => Event::Rate(BitRate::from_bps(whole(words[0], words[1]))),
            LOST => Event::Lost { number: words[0] },
            CARRIED => {
                let late_ns = whole(words[1], words[2]) as i64;
                Event::Carried { number: words[0], late_ns, copied: record[2] == 1 }
            }
            LOSS => {
                let p = f64::from_bits(whole(words[0], words[1]));
                if !(0.0..1.0).contains(&p) {
                    return Err(damaged("no such probability"));
                }
                Event::Loss(p)
            }
            DELAY => {
                let delay = Duration::from_nanos(whole(words[0], words[1]));
                if delay > LONGEST_SILENCE {
                    return Err(damaged("a delay of more than a week"));
                }
                Event::Delay(delay)
            }
            RESUMED => {
                let link = LinkState {
                    busy_until: Time::from_nanos(whole(words[0], words[1])),
                    carry: Carry::from_bits(words[2]),
                    stopped: record[2] == 1,
                };
                if link.busy_until > time + LONGEST_SILENCE {
                    return Err(damaged("its transmission takes more than a week"));
                }
                let mut waiting = Vec::new();
                for _ in 0..words[3] {
                    let mut waits = [0; RECORD];
                    if !self.frames.fill(&mut waits)? {
                        return Ok(None);
                    }
                    let arrived = self::time(&waits);
                    if waits[..2] != [WAITING, line] || arrived > time {
                        return Err(damaged("what waits is no packet of before"));
                    }
                    let mut packet = unpacked(*number, self::words(&waits));
                    packet.marked = waits[2] == 1;
                    waiting.push((arrived, packet));
                    *number = number.wrapping_add(1);
                }
                Event::Resumed(Box::new(Resumed { link, waiting }))
            }
            CLOSED => {
                self.closed = true;
                if self.frames.more()? {
                    return Err(LogError::Damaged(format!("record {at} closes the log, and more follows")));
                }
                Event::Closed
            }
            _ => return Err(damaged("no such kind")),
        };
        Ok(Some(Entry { line, time, event }))
    }
}

/// The bytes of so many bytes of records in frames.
fn framed(records: usize) -> u64 {
    // A length and two checksums each.
    (records + records.div_ceil(FRAME) * 12) as u64
}

/// Writes frames.
struct Framer {
    to: Box<dyn Write + Send>,
    hash: Hasher,
    out: Vec<u8>,
}

impl Framer {
    /// Begins a log: its header is written when this returns.
    fn begin(to: Box<dyn Write + Send>, header: &LogHeader) -> io::Result<Self> {
        let json = serde_json::to_string(header).map_err(io::Error::other)?;
        let magic = if header.lines.iter().all(LineConfig::is_plain) { MAGIC } else { NEW_MAGIC };
        let text = format!("{magic}\n{json}\n");
        let mut framer = Framer { to, hash: Hasher::new(), out: Vec::with_capacity(BLOCK + SLACK) };
        framer.hash.update(text.as_bytes());
        framer.out.extend_from_slice(text.as_bytes());
        framer.frame(&[]);
        framer.flush()?;
        Ok(framer)
    }

    fn frame(&mut self, records: &[u8]) {
        for part in [&(records.len() as u32).to_le_bytes(), records] {
            self.hash.update(part);
            self.out.extend_from_slice(part);
            self.out.extend_from_slice(&self.hash.clone().finalize().to_le_bytes());
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.write_all(&self.out)?;
        self.out.clear();
        self.to.flush()
    }

    /// Writes a block of records.
    fn block(&mut self, block: &[u8]) -> io::Result<()> {
        block.chunks(FRAME).for_each(|records| self.frame(records));
        self.flush()
    }
}

/// Writes a log from a loop that must not wait: entries are collected in blocks, and a thread of its own
/// writes them. If that thread falls behind or its disk is full the log ends there, whole up to that point;
/// packets are forwarded all the same.
pub struct Recorder {
    block: Vec<u8>,
    full: Option<SyncSender<Work>>,
    empty: Receiver<Vec<u8>>,
    writer: Option<JoinHandle<io::Result<()>>>,
    ended: Option<&'static str>,
    /// The bytes of the file that were handed on.
    written: u64,
}

/// What the thread that writes is to do.
enum Work {
    /// Write a block of records.
    Block(Vec<u8>),
    /// Begin another log, with these records.
    Next(Box<dyn Write + Send>, Box<LogHeader>, Vec<u8>),
}

/// The size of a block, and how many there are: what a disk may fall behind by.
const BLOCK: usize = RECORD * 16_384;
const BLOCKS: usize = 32;
/// Room in a block for a configuration.
const SLACK: usize = 2 * LONGEST;

impl Recorder {
    /// Begins a log: the header is written before this returns.
    ///
    /// # Errors
    /// If the header or the thread fails.
    pub fn new(to: impl Write + Send + 'static, header: &LogHeader) -> io::Result<Self> {
        let mut to = Framer::begin(Box::new(to), header)?;
        let (full, to_do) = sync_channel::<Work>(BLOCKS);
        let (give_back, empty) = sync_channel::<Vec<u8>>(BLOCKS);
        for _ in 1..BLOCKS {
            // There is room: the channel is new.
            let _ = give_back.send(Vec::with_capacity(BLOCK + SLACK));
        }
        let (ready, began) = sync_channel(1);
        let writer = std::thread::Builder::new().name("quell-log".into()).spawn(move || {
            // It needs its file and nothing else.
            #[cfg(target_os = "linux")]
            let confined = crate::confine::confine(rustix::thread::CapabilitySet::empty(), None);
            #[cfg(not(target_os = "linux"))]
            let confined: io::Result<()> = Ok(());
            let failed = confined.is_err();
            let _ = ready.send(confined);
            if failed {
                return Ok(());
            }
            for work in to_do {
                match work {
                    Work::Block(mut block) => {
                        to.block(&block)?;
                        block.clear();
                        let _ = give_back.try_send(block);
                    }
                    Work::Next(file, header, records) => {
                        to = Framer::begin(file, &header)?;
                        to.block(&records)?;
                    }
                }
            }
            Ok(())
        })?;
        // What a thread calls while it begins may be closed to it later.
        began.recv().map_err(io::Error::other)??;
        let block = Vec::with_capacity(BLOCK + SLACK);
        Ok(Recorder { block, full: Some(full), empty, writer: Some(writer), ended: None, written: 0 })
    }

    /// A log that has ended before it began: nothing is written.
    pub fn of_none(why: &'static str) -> Self {
        let (_, empty) = sync_channel(1);
        Recorder { block: Vec::new(), full: None, empty, writer: None, ended: Some(why), written: 0 }
    }

    /// The reason why the log ended before its time, if it did.
    pub fn ended(&self) -> Option<&'static str> {
        self.ended
    }

    /// Adds an entry.
    #[inline]
    pub fn add(&mut self, entry: &Entry) {
        if self.ended.is_some() {
            return;
        }
        entry.write(&mut self.block);
        if self.block.len() >= BLOCK {
            self.pass();
        }
    }

    /// Hands on what was collected, so that a crash loses no more than what comes after.
    pub fn pass(&mut self) {
        if self.block.is_empty() || self.ended.is_some() {
            return;
        }
        let Some(full) = &self.full else { return };
        match self.empty.try_recv() {
            Ok(next) => {
                let block = core::mem::replace(&mut self.block, next);
                self.written += framed(block.len());
                if full.try_send(Work::Block(block)).is_err() {
                    self.ended = Some("the log's writer has failed: is the disk full?");
                }
            }
            Err(std::sync::mpsc::TryRecvError::Empty) => {
                self.ended = Some("the disk is too slow for the log");
            }
            Err(std::sync::mpsc::TryRecvError::Disconnected) => {
                self.ended = Some("the log's writer has failed: is the disk full?");
            }
        }
    }

    /// The bytes that the file has, or is to have of what was added so far; its header is not counted.
    pub fn written(&self) -> u64 {
        self.written + framed(self.block.len())
    }

    /// Ends the log before its time.
    pub fn end(&mut self, why: &'static str) {
        self.ended.get_or_insert(why);
    }

    /// Closes the log and begins another one, with these entries.
    pub fn next(&mut self, to: Box<dyn Write + Send>, header: LogHeader, entries: &[Entry], now: Time) {
        self.add(&Entry { line: 0, time: now, event: Event::Closed });
        self.pass();
        let (Some(full), None) = (&self.full, self.ended) else { return };
        let mut records = Vec::new();
        entries.iter().for_each(|entry| entry.write(&mut records));
        self.written = framed(records.len());
        if full.try_send(Work::Next(to, Box::new(header), records)).is_err() {
            self.ended = Some("the log's writer has failed: is the disk full?");
        }
    }

    /// Closes the log.
    ///
    /// # Errors
    /// If it had to end before, or its last part cannot be written.
    pub fn close(mut self, now: Time) -> io::Result<()> {
        self.add(&Entry { line: 0, time: now, event: Event::Closed });
        let rest = core::mem::take(&mut self.block);
        if let (Some(full), None) = (&self.full, self.ended) {
            // The thread waits for this, so sending may wait for it.
            let _ = full.send(Work::Block(rest));
        }
        self.full = None;
        if let Some(writer) = self.writer.take() {
            writer.join().map_err(|_| io::Error::other("the log's writer has panicked"))??;
        }
        self.ended.map_or(Ok(()), |why| Err(io::Error::other(why)))
    }
}
