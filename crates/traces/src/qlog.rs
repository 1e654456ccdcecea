//! Logs of senders in qlog (draft-ietf-quic-qlog-main-schema), as a sequence of JSON texts (RFC 7464).
//!
//! The quantities that QUIC and TCP share are QUIC's events (draft-ietf-quic-qlog-quic-events):
//! `quic:recovery_metrics_updated`, with the fields that changed, and `quic:congestion_state_updated`. What is TCP's own is
//! in the namespace `tcp`, which `docs/qlog-tcp.cddl` defines. Times are milliseconds from time zero of the run.

use std::io::{self, Write};

use quell_sim::trace::{FoundBy, Phase, SenderEvent, SenderSample, SenderWhat, TracedFlow};
use quell_units::{Duration, Time};
use serde::Serialize;

use crate::about::About;

/// The events of QUIC, and those of TCP.
const SCHEMAS: [&str; 2] =
    ["urn:ietf:params:qlog:events:quic", "https://github.com/quell-aqm/quell/blob/main/docs/qlog-tcp.cddl"];

/// Writes the log of a flow's sender.
///
/// # Errors
/// If `out` does.
pub fn write(mut out: impl Write, flow: &TracedFlow, about: &About) -> io::Result<()> {
    let header = File {
        file_schema: "urn:ietf:params:qlog:file:sequential",
        serialization_format: "application/qlog+json-seq",
        title: &about.title,
        description: &about.program,
        trace: TraceSeq {
            title: &about.flow(flow.flow),
            common_fields: CommonFields {
                group_id: &flow.flow.to_string(),
                time_format: "relative_to_epoch",
                reference_time: ReferenceTime { clock_type: "monotonic", epoch: "unknown" },
            },
            vantage_point: VantagePoint { name: "sender", kind: "server" },
            event_schemas: SCHEMAS,
        },
    };
    record(&mut out, &header)?;
    let mut known = Known::default();
    let mut events = flow.events.iter().peekable();
    for sample in &flow.samples {
        // A sample is the state after what happened at its time.
        while let Some(event) = events.next_if(|event| event.time <= sample.time) {
            happened(&mut out, flow, event)?;
        }
        known.changed(&mut out, flow, sample)?;
    }
    for event in events {
        happened(&mut out, flow, event)?;
    }
    out.flush()
}

/// The state that the log has told.
#[derive(Default)]
struct Known {
    metrics: Metrics,
    more: TcpMetrics,
    phase: Option<Phase>,
    timeouts: u64,
    fast_retransmits: u64,
    ecn_responses: u64,
}

impl Known {
    /// Writes what a sample has that is new.
    fn changed(&mut self, out: &mut impl Write, flow: &TracedFlow, sample: &SenderSample) -> io::Result<()> {
        let time = sample.time;
        let bytes = |packets: f64| (packets * f64::from(flow.payload)).round() as u64;
        let rate = |packets_per_second: f64| (packets_per_second * f64::from(flow.wire) * 8.0).round() as u64;
        let reductions = [
            (sample.timeouts > self.timeouts, "retransmission_timeout"),
            (sample.fast_retransmits > self.fast_retransmits, "loss"),
            (sample.ecn_responses > self.ecn_responses, "ecn"),
        ];
        for (_, trigger) in reductions.into_iter().filter(|(did, _)| *did) {
            event(out, time, "tcp:window_reduced", WindowReduced { trigger })?;
        }
        (self.timeouts, self.fast_retransmits, self.ecn_responses) =
            (sample.timeouts, sample.fast_retransmits, sample.ecn_responses);
        if self.phase != Some(sample.phase) {
            let old = self.phase.map(|phase| word(phase.name()));
            event(out, time, "quic:congestion_state_updated", State { old, new: word(sample.phase.name()) })?;
            self.phase = Some(sample.phase);
        }
        let now = Metrics {
            smoothed_rtt: sample.srtt.map(milliseconds),
            latest_rtt: sample.rtt.map(milliseconds),
            congestion_window: Some(bytes(sample.cwnd)),
            bytes_in_flight: Some(bytes(sample.in_flight.into())),
            ssthresh: sample.ssthresh.map(bytes),
            packets_in_flight: Some(sample.in_flight.into()),
            pacing_rate: sample.pacing.map(rate),
        };
        let new = now.but(&self.metrics);
        if new != Metrics::default() {
            event(out, time, "quic:recovery_metrics_updated", new)?;
            self.metrics = now;
        }
        let now = TcpMetrics {
            retransmission_timeout: Some(milliseconds(sample.rto)),
            delivery_rate: sample.delivery.map(rate),
            segments_sent: Some(sample.sent),
            segments_retransmitted: Some(sample.retransmitted),
            segments_delivered: Some(sample.delivered),
        };
        let new = now.but(&self.more);
        if new != TcpMetrics::default() {
            event(out, time, "tcp:metrics_updated", new)?;
            self.more = now;
        }
        Ok(())
    }
}

fn happened(
    out: &mut impl Write,
    flow: &TracedFlow,
    SenderEvent { time, connection, what }: &SenderEvent,
) -> io::Result<()> {
    // Bytes of a connection are counted from 0.
    let offset = |number: u32| u64::from(number.saturating_sub(1)) * u64::from(flow.payload);
    let connection = *connection;
    match *what {
        SenderWhat::Sent { seq: 0, bytes, .. } => {
            event(out, *time, "tcp:syn_sent", SynSent { connection, wire_length: bytes })
        }
        SenderWhat::Sent { seq, bytes, again } => {
            let sent = SegmentSent {
                connection,
                segment: seq,
                offset: offset(seq),
                length: flow.payload,
                wire_length: bytes,
                retransmission: again,
            };
            event(out, *time, "tcp:segment_sent", sent)
        }
        SenderWhat::Lost { seq, by } => {
            let trigger = match by {
                FoundBy::DuplicateAcks => "duplicate_acknowledgments",
                FoundBy::Sack => "selective_acknowledgments",
                FoundBy::Rack => "rack",
                FoundBy::Timeout => "retransmission_timeout",
            };
            event(
                out,
                *time,
                "tcp:segment_lost",
                SegmentLost { connection, segment: seq, offset: offset(seq), trigger },
            )
        }
        SenderWhat::Acked { ack, newly, ece } => {
            let received = Acknowledged { connection, next: ack, offset: offset(ack), newly, ece };
            event(out, *time, "tcp:acknowledgment_received", received)
        }
    }
}

#[derive(Serialize)]
struct File<'a> {
    file_schema: &'a str,
    serialization_format: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    title: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    description: &'a str,
    trace: TraceSeq<'a>,
}

#[derive(Serialize)]
struct TraceSeq<'a> {
    title: &'a str,
    common_fields: CommonFields<'a>,
    vantage_point: VantagePoint<'a>,
    event_schemas: [&'a str; 2],
}

#[derive(Serialize)]
struct CommonFields<'a> {
    group_id: &'a str,
    time_format: &'a str,
    reference_time: ReferenceTime<'a>,
}

#[derive(Serialize)]
struct ReferenceTime<'a> {
    clock_type: &'a str,
    epoch: &'a str,
}

#[derive(Serialize)]
struct VantagePoint<'a> {
    name: &'a str,
    #[serde(rename = "type")]
    kind: &'a str,
}

#[derive(Serialize)]
struct Event<T> {
    time: f64,
    name: &'static str,
    data: T,
}

/// Declares quantities of which a log tells those that changed.
macro_rules! quantities {
    ($name:ident { $($field:ident: $type:ty,)+ }) => {
        #[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
        struct $name { $( #[serde(skip_serializing_if = "Option::is_none")] $field: Option<$type>, )+ }

        impl $name {
            /// Those that differ from the ones told before.
            fn but(&self, told: &$name) -> $name {
                $name { $( $field: self.$field.filter(|now| told.$field.as_ref() != Some(now)), )+ }
            }
        }
    };
}

quantities! {
    Metrics {
        smoothed_rtt: f64,
        latest_rtt: f64,
        congestion_window: u64,
        bytes_in_flight: u64,
        ssthresh: u64,
        packets_in_flight: u64,
        pacing_rate: u64,
    }
}

quantities! {
    TcpMetrics {
        retransmission_timeout: f64,
        delivery_rate: u64,
        segments_sent: u64,
        segments_retransmitted: u64,
        segments_delivered: u64,
    }
}

#[derive(Serialize)]
struct State {
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<String>,
    new: String,
}

#[derive(Serialize)]
struct WindowReduced {
    trigger: &'static str,
}

#[derive(Serialize)]
struct SynSent {
    connection: u8,
    wire_length: u16,
}

#[derive(Serialize)]
struct SegmentSent {
    connection: u8,
    segment: u32,
    offset: u64,
    length: u32,
    wire_length: u16,
    retransmission: bool,
}

#[derive(Serialize)]
struct SegmentLost {
    connection: u8,
    segment: u32,
    offset: u64,
    trigger: &'static str,
}

#[derive(Serialize)]
struct Acknowledged {
    connection: u8,
    next: u32,
    offset: u64,
    newly: u32,
    ece: bool,
}

fn event(out: &mut impl Write, time: Time, name: &'static str, data: impl Serialize) -> io::Result<()> {
    record(out, &Event { time: time.nanos() as f64 / 1e6, name, data })
}

/// Writes a text between a record separator and the end of a line (RFC 7464 section 2.2).
fn record(out: &mut impl Write, text: &impl Serialize) -> io::Result<()> {
    out.write_all(&[0x1e])?;
    serde_json::to_writer(&mut *out, text)?;
    out.write_all(b"\n")
}

fn milliseconds(duration: Duration) -> f64 {
    duration.nanos() as f64 / 1e6
}

/// A name as the drafts write names.
fn word(name: &str) -> String {
    name.to_lowercase().replace([' ', '-'], "_")
}
