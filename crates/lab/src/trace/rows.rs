//! The tables of traces, and how their rows come about.

use std::ops::Range;

use quell_aqm::{Cause, Ecn};
use quell_metrics::{Column, Columns, Texts};
use quell_sim::outcome::DropPoint;
use quell_sim::trace::{PacketEvent, PacketKind, PacketWhat, SenderSample, Trace, TracedFlow};

use super::options::Traced;

/// A table of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceTable {
    /// The state of senders over time.
    Flows,
    /// Each packet at the chosen links.
    Packets,
}

/// A column of a table of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TraceColumn {
    /// Its name; a unit ends it where there is one.
    pub name: &'static str,
    /// Its unit, "1" for numbers and names without.
    pub unit: &'static str,
    /// Its meaning, in a sentence.
    pub about: &'static str,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    U32,
    U64,
    F64,
    Text,
}

impl TraceTable {
    /// Both tables.
    pub const ALL: [TraceTable; 2] = [TraceTable::Flows, TraceTable::Packets];

    /// Its name, as `--trace` has it.
    pub fn name(self) -> &'static str {
        match self {
            TraceTable::Flows => "flows",
            TraceTable::Packets => "packets",
        }
    }

    /// The table called `name`.
    pub fn find(name: &str) -> Option<TraceTable> {
        TraceTable::ALL.into_iter().find(|table| table.name() == name)
    }

    /// The name of its file.
    pub fn file(self) -> String {
        match self {
            TraceTable::Flows => "flow_trace.parquet".to_string(),
            TraceTable::Packets => "packet_trace.parquet".to_string(),
        }
    }

    /// Its columns, in order.
    pub fn columns(self) -> &'static [TraceColumn] {
        match self {
            TraceTable::Flows => FLOWS,
            TraceTable::Packets => PACKETS,
        }
    }

    /// Its columns, empty.
    pub(super) fn empty(self) -> Columns {
        let column = |column: &TraceColumn| {
            let empty = match column.kind {
                Kind::U32 => Column::U32(Vec::new()),
                Kind::U64 => Column::U64(Vec::new()),
                Kind::F64 => Column::F64(Vec::new()),
                Kind::Text => Column::Text(Texts::default()),
            };
            (column.name, empty)
        };
        Columns(self.columns().iter().map(column).collect())
    }

    /// Gives the rows of a replication to `each`, so many at a time that they take little memory.
    pub(super) fn rows(self, of: Traced<'_>, trace: &Trace, each: &mut dyn FnMut(&Columns)) {
        match self {
            TraceTable::Flows => {
                for flow in &trace.flows {
                    for rows in pieces(flow.samples.len()) {
                        let mut columns = self.empty();
                        flow.samples[rows].iter().for_each(|s| push(&mut columns, of, &sample(of, flow, s)));
                        each(&columns);
                    }
                }
            }
            TraceTable::Packets => {
                for link in &trace.links {
                    for rows in pieces(link.events.len()) {
                        let mut columns = self.empty();
                        for event in &link.events[rows] {
                            push(&mut columns, of, &packet(of, &link.name, trace, event));
                        }
                        each(&columns);
                    }
                }
            }
        }
    }
}

/// Rows that are encoded together.
const PIECE: usize = 1 << 16;

fn pieces(rows: usize) -> impl Iterator<Item = Range<usize>> {
    (0..rows).step_by(PIECE).map(move |from| from..rows.min(from + PIECE))
}

/// A cell; an empty one of a number is `None`.
enum Cell<'a> {
    Int(u64),
    Some32(Option<u32>),
    Float(Option<f64>),
    Text(&'a str),
    Owned(String),
}

/// Adds a row: the replication, then the cells of it.
fn push(columns: &mut Columns, of: Traced<'_>, cells: &[Cell<'_>]) {
    let key = [Cell::Some32(Some(of.point as u32)), Cell::Text(of.algorithm), Cell::Int(of.seed)];
    assert_eq!(key.len() + cells.len(), columns.0.len(), "a cell for each column");
    for ((_, column), cell) in columns.0.iter_mut().zip(key.iter().chain(cells)) {
        match (column, cell) {
            (Column::U32(v), Cell::Some32(x)) => v.push(*x),
            (Column::U64(v), Cell::Int(x)) => v.push(*x),
            (Column::F64(v), Cell::Float(x)) => v.push(x.unwrap_or(f64::NAN)),
            (Column::Text(v), Cell::Text(x)) => v.push(x),
            (Column::Text(v), Cell::Owned(x)) => v.push(x),
            _ => unreachable!("cells are of the kinds of their columns"),
        }
    }
}

/// Declares a table's columns: kind, name, unit, meaning.
macro_rules! trace_columns {
    ($table:ident: $( $kind:ident $name:literal, $unit:literal, $about:literal; )+) => {
        const $table: &[TraceColumn] =
            &[$( TraceColumn { name: $name, unit: $unit, about: $about, kind: Kind::$kind }, )+];
    };
}

trace_columns! { FLOWS:
    U32 "point", "1", "The number of the point, from 0.";
    Text "algorithm", "1", "The label of the algorithm.";
    U64 "seed", "1", "The seed.";
    U32 "flow", "1", "The number of the flow in the network.";
    Text "group", "1", "The flow's group.";
    F64 "time_s", "s", "The time of the sample.";
    F64 "cwnd_packets", "packets", "The congestion window.";
    F64 "cwnd_bytes", "bytes", "The same in bytes of data.";
    F64 "ssthresh_packets", "packets", "The threshold of slow start; null while there is none.";
    F64 "srtt_s", "s", "The smoothed round-trip time, in whole ticks of the sender's clock; null before the first measurement.";
    F64 "rtt_s", "s", "The most recently measured round-trip time; null before the first measurement.";
    F64 "rto_s", "s", "The retransmission timeout.";
    F64 "pacing_rate_bps", "bit/s", "The rate at which packets are released, headers included; null for a sender that does not pace.";
    U32 "in_flight_packets", "packets", "Packets that the sender considers in flight.";
    F64 "delivery_rate_bps", "bit/s", "The bandwidth estimate of a congestion control's model of the path, headers included; null without such a model.";
    Text "phase", "1", "handshake, slow start, congestion avoidance, recovery (from losses that acknowledgments revealed), loss (from losses that the timer revealed), or a state of BBR.";
    U64 "sent_packets", "packets", "Packets of data sent so far, including retransmissions.";
    U64 "retransmitted_packets", "packets", "The retransmissions among them.";
    U64 "delivered_packets", "packets", "Packets that the sender knows to have arrived.";
    U64 "timeouts", "1", "Retransmission timeouts so far.";
    U64 "fast_retransmits", "1", "Reductions of the window by losses that acknowledgments revealed.";
    U64 "ecn_responses", "1", "Reductions of the window by ECN.";
}

fn sample<'a>(of: Traced<'a>, flow: &TracedFlow, s: &SenderSample) -> [Cell<'a>; 19] {
    let seconds = |d: quell_units::Duration| d.as_secs_f64();
    let bits = |rate: f64| rate * f64::from(flow.wire) * 8.0;
    [
        Cell::Some32(Some(flow.flow)),
        Cell::Text(group(of, flow.flow)),
        Cell::Float(Some(s.time.as_secs_f64())),
        Cell::Float(Some(s.cwnd)),
        Cell::Float(Some(s.cwnd * f64::from(flow.payload))),
        Cell::Float(s.ssthresh),
        Cell::Float(s.srtt.map(seconds)),
        Cell::Float(s.rtt.map(seconds)),
        Cell::Float(Some(seconds(s.rto))),
        Cell::Float(s.pacing.map(bits)),
        Cell::Some32(Some(s.in_flight)),
        Cell::Float(s.delivery.map(bits)),
        Cell::Text(s.phase.name()),
        Cell::Int(s.sent),
        Cell::Int(s.retransmitted),
        Cell::Int(s.delivered),
        Cell::Int(s.timeouts),
        Cell::Int(s.fast_retransmits),
        Cell::Int(s.ecn_responses),
    ]
}

fn group<'a>(of: Traced<'a>, flow: u32) -> &'a str {
    let fact = of.facts.flows.get(flow as usize);
    fact.and_then(|fact| of.facts.groups.get(usize::from(fact.group))).map_or("", String::as_str)
}

trace_columns! { PACKETS:
    U32 "point", "1", "The number of the point, from 0.";
    Text "algorithm", "1", "The label of the algorithm.";
    U64 "seed", "1", "The seed.";
    Text "link", "1", "The link.";
    F64 "time_s", "s", "The time of the event.";
    Text "event", "1", "enqueue, mark, drop, or dequeue: the beginning of the transmission.";
    Text "cause", "1", "Of a drop: early (the algorithm, by chance or control), forced (a limit of the algorithm), overflow (the buffer was full); of a dequeue: lost, if the wire loses it.";
    Text "place", "1", "Of a drop or mark: arrival, head, or waiting (dropped from within, to make room).";
    U32 "packet", "1", "The number of the packet in its replication, which joins its events, including those at other links; a retransmission has a new number.";
    F64 "waited_s", "s", "The time since the packet arrived at the queue.";
    U32 "queue_packets", "packets", "The packets that wait at that moment, without this one and the one in transmission.";
    U64 "queue_bytes", "bytes", "The same in bytes.";
    U32 "flow", "1", "The number of the flow in the network.";
    Text "class", "1", "The class of traffic.";
    Text "kind", "1", "syn, syn-ack, data, ack, request, or datagram.";
    U32 "connection", "1", "The number of the connection of its flow, modulo 256.";
    U32 "seq_packets", "packets", "The number of the data packet, from 1; null for a datagram.";
    U32 "ack_packets", "packets", "The next number that an acknowledgment expects; null on data.";
    U32 "bytes", "bytes", "The size on the wire.";
    Text "retransmission", "1", "yes for data or a SYN that was sent before; otherwise no.";
    Text "flags", "1", "CWR on data, ECE on acknowledgments; empty without either.";
    U32 "marks", "packets", "The packets that the receiver has counted as marked, on acknowledgments of receivers that count.";
    Text "ecn_before", "1", "The ECN field with which the packet arrived: not-ECT, ECT(0), ECT(1), or CE.";
    Text "ecn_after", "1", "The same after the event.";
    Text "sack", "1", "The blocks of a selective acknowledgment as FROM-TO, without TO itself, the latest first; a duplicate precedes them all.";
    F64 "sent_s", "s", "The time at which its endpoint sent it: the value of its timestamp.";
    F64 "echo_s", "s", "The sending time of the packet whose timestamp it echoes; null before one arrived, or if that packet was not traced.";
}

fn packet<'a>(of: Traced<'a>, link: &'a str, trace: &Trace, event: &PacketEvent) -> Vec<Cell<'a>> {
    let p = &trace.packets[event.packet as usize];
    let (cause, place) = match event.what {
        PacketWhat::Enqueued | PacketWhat::Dequeued { lost: false } => ("", ""),
        PacketWhat::Dequeued { lost: true } => ("lost", ""),
        PacketWhat::Marked { at_head } => ("", if at_head { "head" } else { "arrival" }),
        PacketWhat::Dropped { cause, place } => {
            let cause = match cause {
                Cause::Early => "early",
                Cause::Forced => "forced",
                Cause::Overflow => "overflow",
            };
            let place = match place {
                DropPoint::Arrival => "arrival",
                DropPoint::Head => "head",
                DropPoint::Waiting => "waiting",
            };
            (cause, place)
        }
    };
    let is_data = matches!(p.kind, PacketKind::Data | PacketKind::Syn);
    let is_ack = matches!(p.kind, PacketKind::Ack | PacketKind::SynAck);
    vec![
        Cell::Text(link),
        Cell::Float(Some(event.time.as_secs_f64())),
        Cell::Text(event.what.name()),
        Cell::Text(cause),
        Cell::Text(place),
        Cell::Some32(Some(event.packet)),
        Cell::Float(Some(event.waited.as_secs_f64())),
        Cell::Some32(Some(event.queue_packets)),
        Cell::Int(event.queue_bytes),
        Cell::Some32(Some(p.flow)),
        Cell::Text(of.facts.classes.get(usize::from(p.class)).map_or("", String::as_str)),
        Cell::Text(p.kind.name()),
        Cell::Some32(Some(u32::from(p.connection))),
        Cell::Some32(is_data.then_some(p.number)),
        Cell::Some32(is_ack.then_some(p.number)),
        Cell::Some32(Some(u32::from(p.bytes))),
        Cell::Text(if p.again { "yes" } else { "no" }),
        Cell::Text(if p.cwr {
            "CWR"
        } else if p.ece {
            "ECE"
        } else {
            ""
        }),
        Cell::Some32(p.marks),
        Cell::Text(codepoint(event.ecn.0)),
        Cell::Text(codepoint(event.ecn.1)),
        Cell::Owned(p.blocks().iter().map(|(a, b)| format!("{a}-{b}")).collect::<Vec<_>>().join(" ")),
        Cell::Float(Some(p.sent.as_secs_f64())),
        Cell::Float(p.echo.map(|t| t.as_secs_f64())),
    ]
}

fn codepoint(ecn: Ecn) -> &'static str {
    match ecn {
        Ecn::NotEct => "not-ECT",
        Ecn::Ect0 => "ECT(0)",
        Ecn::Ect1 => "ECT(1)",
        Ecn::Ce => "CE",
    }
}
