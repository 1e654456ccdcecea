//! Traces for Perfetto's viewer (<https://ui.perfetto.dev>): its TrackEvent messages.
//!
//! A link is a process: its queue in packets and bytes are counters, each packet that waits is a slice with its facts, and
//! drops and marks are instants. A sender is a process too: its window, round-trip times, rates and packets in flight are
//! counters, its phases slices, losses and timeouts instants.
//!
//! The messages are those of `protos/perfetto/trace` by their numbers; what is not written is not declared.

use std::collections::HashMap;
use std::io::{self, Write};

use prost::Message;
use quell_sim::trace::{PacketWhat, SenderSample, SenderWhat, Trace, TracedFlow, TracedPacket};
use quell_units::{Duration, Time};

use crate::about::About;
use crate::{order, reasons};

/// Writes the traced links and senders.
///
/// # Errors
/// If `out` does.
pub fn write(out: impl Write, trace: &Trace, about: &About) -> io::Result<()> {
    let mut writer = Writer { out, sequence: 0, next_track: 1, names: HashMap::new(), begun: false };
    for flow in trace.flows.iter().filter(|flow| !flow.samples.is_empty() || !flow.events.is_empty()) {
        sender(&mut writer, flow, &about.flow(flow.flow))?;
    }
    links(&mut writer, trace, about)?;
    writer.out.flush()
}

/// The state of a link's tracks.
struct Queue {
    process: u64,
    packets: u64,
    bytes: u64,
    events: u64,
    /// Tracks for packets that wait at the same time, and those of them that are free.
    waiting: HashMap<u32, u64>,
    free: Vec<u64>,
}

fn links(writer: &mut Writer<impl Write>, trace: &Trace, about: &About) -> io::Result<()> {
    let mut queues = Vec::new();
    for (link, traced) in trace.links.iter().enumerate() {
        writer.begin_sequence();
        let process = writer.process(&format!("link {}: {}", traced.name, about.algorithm(link)))?;
        let queue = Queue {
            process,
            packets: writer.counter(process, "queue", "packets")?,
            bytes: writer.counter(process, "queue in bytes", "bytes")?,
            events: writer.track(process, "drops and marks")?,
            waiting: HashMap::new(),
            free: Vec::new(),
        };
        queues.push(queue);
    }
    // One sequence for all of them, in order of time.
    writer.begin_sequence();
    for (link, event) in order::merged(&trace.links) {
        let (queue, algorithm) = (&mut queues[link], about.algorithm(link));
        let Some(packet) = trace.packets.get(event.packet as usize) else { continue };
        let time = event.time;
        match event.what {
            PacketWhat::Enqueued => {
                let track = match queue.free.pop() {
                    Some(track) => track,
                    // Tracks of one name under one parent are shown as one.
                    None => writer.track(queue.process, "waiting packets")?,
                };
                queue.waiting.insert(event.packet, track);
                writer.begin(time, track, &about.flow(packet.flow), facts(packet))?;
            }
            PacketWhat::Dequeued { .. } => {
                if let Some(track) = queue.waiting.remove(&event.packet) {
                    writer.end(time, track)?;
                    queue.free.push(track);
                }
            }
            PacketWhat::Marked { .. } => {
                let facts = with(facts(packet), "waited_ms", Value::Double(milliseconds(event.waited)));
                writer.instant(time, queue.events, "mark", facts)?;
            }
            PacketWhat::Dropped { cause, place } => {
                let why = Value::Text(reasons::drop(algorithm, cause, place));
                let facts = with(facts(packet), "waited_ms", Value::Double(milliseconds(event.waited)));
                let name = format!("drop ({})", reasons::cause(cause));
                writer.instant(time, queue.events, &name, with(facts, "why", why))?;
                if let Some(track) = queue.waiting.remove(&event.packet) {
                    writer.end(time, track)?;
                    queue.free.push(track);
                }
            }
        }
        writer.count(time, queue.packets, Value::Int(event.queue_packets.into()))?;
        writer.count(time, queue.bytes, Value::Int(event.queue_bytes as i64))?;
    }
    Ok(())
}

fn facts(packet: &TracedPacket) -> Vec<(&'static str, Value)> {
    let number = Value::Int(packet.number.into());
    let mut facts = vec![("kind", Value::Word(packet.kind.name())), ("number", number)];
    facts.push(("bytes", Value::Int(packet.bytes.into())));
    if packet.again {
        facts.push(("sent_again", Value::Int(1)));
    }
    facts
}

fn with(
    mut facts: Vec<(&'static str, Value)>,
    name: &'static str,
    value: Value,
) -> Vec<(&'static str, Value)> {
    facts.push((name, value));
    facts
}

fn milliseconds(duration: Duration) -> f64 {
    duration.nanos() as f64 / 1e6
}

fn sender(writer: &mut Writer<impl Write>, flow: &TracedFlow, name: &str) -> io::Result<()> {
    writer.begin_sequence();
    let process = writer.process(&format!("sender {}: {name}", flow.flow))?;
    type Quantity = (&'static str, &'static str, fn(&SenderSample, &TracedFlow) -> Option<f64>);
    const QUANTITIES: [Quantity; 8] = [
        ("cwnd", "packets", |sample, _| Some(sample.cwnd)),
        ("ssthresh", "packets", |sample, _| sample.ssthresh),
        ("in flight", "packets", |sample, _| Some(sample.in_flight.into())),
        ("smoothed round-trip time", "ms", |sample, _| sample.srtt.map(milliseconds)),
        ("latest round-trip time", "ms", |sample, _| sample.rtt.map(milliseconds)),
        ("retransmission timeout", "ms", |sample, _| Some(milliseconds(sample.rto))),
        ("pacing rate", "Mbit/s", |sample, flow| sample.pacing.map(|rate| megabits(rate, flow.wire))),
        ("delivery rate", "Mbit/s", |sample, flow| sample.delivery.map(|rate| megabits(rate, flow.wire))),
    ];
    let mut tracks = [None; QUANTITIES.len()];
    let phases = writer.track(process, "phase")?;
    let events = writer.track(process, "losses")?;
    let (mut phase, mut timeouts, mut responses) = (None, 0, 0);
    let mut happened = flow.events.iter().peekable();
    for sample in &flow.samples {
        while let Some(event) = happened.next_if(|event| event.time <= sample.time) {
            loss(writer, events, event.time, event.what)?;
        }
        for (kept, (name, unit, of)) in tracks.iter_mut().zip(QUANTITIES) {
            let value = of(sample, flow);
            if kept.is_some_and(|(_, before)| before == value) || kept.is_none() && value.is_none() {
                continue;
            }
            let track = match *kept {
                Some((track, _)) => track,
                None => writer.counter(process, name, unit)?,
            };
            *kept = Some((track, value));
            if let Some(value) = value {
                writer.count(sample.time, track, Value::Double(value))?;
            }
        }
        if phase != Some(sample.phase) {
            if phase.is_some() {
                writer.end(sample.time, phases)?;
            }
            writer.begin(sample.time, phases, sample.phase.name(), Vec::new())?;
            phase = Some(sample.phase);
        }
        if sample.timeouts > timeouts {
            writer.instant(sample.time, events, "retransmission timeout", Vec::new())?;
        }
        if sample.ecn_responses > responses {
            writer.instant(sample.time, events, "window reduced by a mark", Vec::new())?;
        }
        (timeouts, responses) = (sample.timeouts, sample.ecn_responses);
    }
    for event in happened {
        loss(writer, events, event.time, event.what)?;
    }
    Ok(())
}

fn loss(writer: &mut Writer<impl Write>, track: u64, time: Time, what: SenderWhat) -> io::Result<()> {
    match what {
        SenderWhat::Lost { seq, by } => {
            let facts = vec![("number", Value::Int(seq.into())), ("by", Value::Text(format!("{by:?}")))];
            writer.instant(time, track, "lost", facts)
        }
        _ => Ok(()),
    }
}

fn megabits(packets_per_second: f64, bytes: u32) -> f64 {
    packets_per_second * f64::from(bytes) * 8.0 / 1e6
}

/// A value of a counter or of an annotation.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Int(i64),
    Double(f64),
    /// One of few.
    Word(&'static str),
    Text(String),
}

/// Writes packets of a trace, one after the other: a trace is nothing but those.
struct Writer<W> {
    out: W,
    sequence: u32,
    next_track: u64,
    /// The numbers of names in this sequence, of events (0) and of annotations (1).
    names: HashMap<(u8, String), u64>,
    begun: bool,
}

impl<W: Write> Writer<W> {
    /// Begins a sequence, whose packets share numbers of names.
    fn begin_sequence(&mut self) {
        self.sequence += 1;
        self.names.clear();
        self.begun = false;
    }

    fn packet(&mut self, mut packet: proto::TracePacket) -> io::Result<()> {
        const CLEARED: u32 = 1;
        const NEEDED: u32 = 2;
        packet.trusted_packet_sequence_id = Some(self.sequence);
        packet.sequence_flags = Some(if self.begun { NEEDED } else { CLEARED | NEEDED });
        self.begun = true;
        let bytes = proto::Trace { packet: vec![packet] }.encode_to_vec();
        self.out.write_all(&bytes)
    }

    fn describe(&mut self, descriptor: proto::TrackDescriptor) -> io::Result<u64> {
        let uuid = self.next_track;
        self.next_track += 1;
        let descriptor = proto::TrackDescriptor { uuid: Some(uuid), ..descriptor };
        self.packet(proto::TracePacket { track_descriptor: Some(descriptor), ..Default::default() })?;
        Ok(uuid)
    }

    fn process(&mut self, name: &str) -> io::Result<u64> {
        // Processes are told apart by their numbers; none has 0.
        let pid = Some(self.next_track as i32);
        let process = Some(proto::ProcessDescriptor { pid, process_name: Some(name.to_string()) });
        self.describe(proto::TrackDescriptor { process, ..Default::default() })
    }

    fn track(&mut self, parent: u64, name: &str) -> io::Result<u64> {
        let (name, parent_uuid) = (Some(name.to_string()), Some(parent));
        self.describe(proto::TrackDescriptor { name, parent_uuid, ..Default::default() })
    }

    fn counter(&mut self, parent: u64, name: &str, unit: &str) -> io::Result<u64> {
        let counter = Some(proto::CounterDescriptor { unit_name: Some(unit.to_string()) });
        let (name, parent_uuid) = (Some(name.to_string()), Some(parent));
        self.describe(proto::TrackDescriptor { name, parent_uuid, counter, ..Default::default() })
    }

    fn begin(
        &mut self,
        time: Time,
        track: u64,
        name: &str,
        facts: Vec<(&'static str, Value)>,
    ) -> io::Result<()> {
        self.event(time, track, proto::SLICE_BEGIN, Some(name), facts)
    }

    fn end(&mut self, time: Time, track: u64) -> io::Result<()> {
        self.event(time, track, proto::SLICE_END, None, Vec::new())
    }

    fn instant(
        &mut self,
        time: Time,
        track: u64,
        name: &str,
        facts: Vec<(&'static str, Value)>,
    ) -> io::Result<()> {
        self.event(time, track, proto::INSTANT, Some(name), facts)
    }

    fn count(&mut self, time: Time, track: u64, value: Value) -> io::Result<()> {
        let mut event =
            proto::TrackEvent { kind: Some(proto::COUNTER), track_uuid: Some(track), ..Default::default() };
        match value {
            Value::Int(value) => event.counter_value = Some(value),
            Value::Double(value) => event.double_counter_value = Some(value),
            Value::Word(_) | Value::Text(_) => return Ok(()),
        }
        self.timed(time, event, None)
    }

    fn event(
        &mut self,
        time: Time,
        track: u64,
        kind: i32,
        name: Option<&str>,
        facts: Vec<(&'static str, Value)>,
    ) -> io::Result<()> {
        let mut new = proto::InternedData::default();
        let name_iid = name.map(|name| self.interned(0, name, &mut new.event_names));
        let mut annotations = Vec::with_capacity(facts.len());
        for (name, value) in facts {
            let name_iid = Some(self.interned(1, name, &mut new.debug_annotation_names));
            let mut annotation = proto::DebugAnnotation { name_iid, ..Default::default() };
            match value {
                Value::Int(value) => annotation.int_value = Some(value),
                Value::Double(value) => annotation.double_value = Some(value),
                Value::Word(word) => annotation.string_value = Some(word.to_string()),
                Value::Text(text) => annotation.string_value = Some(text),
            }
            annotations.push(annotation);
        }
        let event = proto::TrackEvent {
            kind: Some(kind),
            name_iid,
            track_uuid: Some(track),
            debug_annotations: annotations,
            ..Default::default()
        };
        let is_new = new != proto::InternedData::default();
        self.timed(time, event, is_new.then_some(new))
    }

    fn timed(
        &mut self,
        time: Time,
        event: proto::TrackEvent,
        interned_data: Option<proto::InternedData>,
    ) -> io::Result<()> {
        let timestamp = Some(time.nanos());
        let packet =
            proto::TracePacket { timestamp, track_event: Some(event), interned_data, ..Default::default() };
        self.packet(packet)
    }

    /// The number of a name, which is written with the first event that has it.
    fn interned(&mut self, kind: u8, name: &str, new: &mut Vec<proto::Name>) -> u64 {
        let next = self.names.len() as u64 + 1;
        let key = (kind, name.to_string());
        *self.names.entry(key).or_insert_with(|| {
            new.push(proto::Name { iid: Some(next), name: Some(name.to_string()) });
            next
        })
    }
}

/// The messages, with the numbers of Perfetto's own definitions.
mod proto {
    pub const SLICE_BEGIN: i32 = 1;
    pub const SLICE_END: i32 = 2;
    pub const INSTANT: i32 = 3;
    pub const COUNTER: i32 = 4;

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Trace {
        #[prost(message, repeated, tag = "1")]
        pub packet: Vec<TracePacket>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct TracePacket {
        #[prost(uint64, optional, tag = "8")]
        pub timestamp: Option<u64>,
        #[prost(uint32, optional, tag = "10")]
        pub trusted_packet_sequence_id: Option<u32>,
        #[prost(message, optional, tag = "11")]
        pub track_event: Option<TrackEvent>,
        #[prost(message, optional, tag = "12")]
        pub interned_data: Option<InternedData>,
        #[prost(uint32, optional, tag = "13")]
        pub sequence_flags: Option<u32>,
        #[prost(message, optional, tag = "60")]
        pub track_descriptor: Option<TrackDescriptor>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct TrackDescriptor {
        #[prost(uint64, optional, tag = "1")]
        pub uuid: Option<u64>,
        #[prost(string, optional, tag = "2")]
        pub name: Option<String>,
        #[prost(message, optional, tag = "3")]
        pub process: Option<ProcessDescriptor>,
        #[prost(uint64, optional, tag = "5")]
        pub parent_uuid: Option<u64>,
        #[prost(message, optional, tag = "8")]
        pub counter: Option<CounterDescriptor>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct ProcessDescriptor {
        #[prost(int32, optional, tag = "1")]
        pub pid: Option<i32>,
        #[prost(string, optional, tag = "6")]
        pub process_name: Option<String>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct CounterDescriptor {
        #[prost(string, optional, tag = "6")]
        pub unit_name: Option<String>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct TrackEvent {
        #[prost(message, repeated, tag = "4")]
        pub debug_annotations: Vec<DebugAnnotation>,
        #[prost(int32, optional, tag = "9")]
        pub kind: Option<i32>,
        #[prost(uint64, optional, tag = "10")]
        pub name_iid: Option<u64>,
        #[prost(uint64, optional, tag = "11")]
        pub track_uuid: Option<u64>,
        #[prost(int64, optional, tag = "30")]
        pub counter_value: Option<i64>,
        #[prost(double, optional, tag = "44")]
        pub double_counter_value: Option<f64>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct DebugAnnotation {
        #[prost(uint64, optional, tag = "1")]
        pub name_iid: Option<u64>,
        #[prost(int64, optional, tag = "4")]
        pub int_value: Option<i64>,
        #[prost(double, optional, tag = "5")]
        pub double_value: Option<f64>,
        #[prost(string, optional, tag = "6")]
        pub string_value: Option<String>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct InternedData {
        #[prost(message, repeated, tag = "2")]
        pub event_names: Vec<Name>,
        #[prost(message, repeated, tag = "3")]
        pub debug_annotation_names: Vec<Name>,
    }

    #[derive(Clone, PartialEq, prost::Message)]
    pub struct Name {
        #[prost(uint64, optional, tag = "1")]
        pub iid: Option<u64>,
        #[prost(string, optional, tag = "2")]
        pub name: Option<String>,
    }
}
