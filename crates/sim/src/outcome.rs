//! The outcome of a run.

use std::iter::Sum;
use std::ops::{AddAssign, Sub};

use hdrhistogram::Histogram;
use quell_aqm::{Cause, FlowId};
use quell_units::{Duration, Time};

pub use quell_queue::{Admission, DropPoint};

use crate::network::LinkId;
use crate::trace::Trace;

/// Declares counters that are added up, and compared with what they were.
macro_rules! counters {
    ($( #[$doc:meta] )* pub struct $name:ident { $( $( #[$field_doc:meta] )* pub $field:ident: u64, )+ }) => {
        $( #[$doc] )*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name { $( $( #[$field_doc] )* pub $field: u64, )+ }

        impl AddAssign for $name {
            fn add_assign(&mut self, other: Self) {
                $( self.$field += other.$field; )+
            }
        }

        impl Sub for $name {
            type Output = Self;

            fn sub(self, other: Self) -> Self {
                $name { $( $field: self.$field - other.$field, )+ }
            }
        }

        impl<'a> Sum<&'a $name> for $name {
            fn sum<I: Iterator<Item = &'a Self>>(all: I) -> Self {
                all.fold($name::default(), |sum, one| $name { $( $field: sum.$field + one.$field, )+ })
            }
        }
    };
}

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The observed links, in the order of the network's links.
    pub links: Vec<LinkOutcome>,
    /// Every flow, by index.
    pub flows: Vec<FlowOutcome>,
    /// The transfers that began within the measured window and that their receivers had all of by the end of the run, by
    /// time of completion.
    pub transfers: Vec<Transfer>,
    /// Packets that entered the network, left it and were lost, over the whole run.
    pub conservation: Conservation,
    /// A hash of every packet's fate at every observed link and of every flow's progress: equal
    /// digests mean equal sample paths.
    pub digest: u64,
    /// Events the engine handled; the two engines differ in this and in nothing else.
    pub events: u64,
    /// The traces, if [`Control::trace`](crate::Control::trace) asked for any.
    pub trace: Option<Box<Trace>>,
}

counters! {
    /// The whereabouts of a run's packets: `sent + duplicated = delivered + dropped + lost +
    /// in_flight`.
    pub struct Conservation {
        /// Packets (data, SYN and acknowledgments) handed to a first link.
        pub sent: u64,
        /// Packets that reached their endpoint.
        pub delivered: u64,
        /// Packets a queue dropped.
        pub dropped: u64,
        /// Packets a wire lost.
        pub lost: u64,
        /// Copies that wires made.
        pub duplicated: u64,
        /// Packets still queued or on a wire at the end, counted one by one.
        pub in_flight: u64,
    }
}

/// The measurements at one link.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkOutcome {
    /// The link.
    pub link: LinkId,
    /// Its name.
    pub name: String,
    /// The names of its discipline's lanes, those that have one, of the leaves of its tree, or of the users of
    /// its cell.
    pub lanes: Vec<String>,
    /// One per segment of the measured window.
    pub segments: Vec<Segment>,
    /// The time series, empty if no step was asked for.
    pub series: Series,
    /// The events of loss from time zero on, in their order.
    pub loss_events: Vec<LossEvent>,
    /// The fate of each packet that arrived, from time zero on and in their order, if
    /// [`Control::logged`](crate::Control::logged) asked for it.
    pub log: Vec<Fate>,
}

/// Packets of flows that always have data to send ([`App::Bulk`](crate::network::App::Bulk)) were dropped within a round
/// trip: the longest one of such flows over the link without queueing, and the time that what waited at the first drop
/// took to send.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LossEvent {
    /// The time at which the first one was dropped.
    pub time: Time,
    /// The number of these flows that lost packets, by class.
    pub losers: Vec<u32>,
}

/// The fate of a packet that arrived at a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fate {
    /// The time at which it arrived.
    pub arrived: Time,
    /// The number of its flow in the network.
    pub source: u32,
    /// Its flow as the algorithm saw it: the same number, unless the packet is that of a
    /// [`Trace`](crate::network::Trace).
    pub flow: FlowId,
    /// Its size on the wire in bytes.
    pub bytes: u16,
    /// The decision at its arrival.
    pub admission: Admission,
    /// Its way out of the queue; `None`: it was dropped on arrival, or waits at the end of the run.
    pub left: Option<Left>,
}

/// The way in which a packet that was stored left its queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// Its transmission began.
    Sent {
        /// The time.
        start: Time,
        /// The algorithm marked it at the head, and not on arrival.
        marked: bool,
    },
    /// It was dropped.
    Dropped {
        /// The time.
        time: Time,
        /// The cause.
        cause: Cause,
        /// The head, by the algorithm, or anywhere to make room.
        place: DropPoint,
    },
}

/// The measurements at one link over one segment.
#[derive(Clone, Debug, PartialEq)]
pub struct Segment {
    /// Its beginning.
    pub from: Time,
    /// Its end.
    pub to: Time,
    /// Bits the link could have sent, or its shaper or classes if their rate is lower: a packet keeps the rate at which its transmission began, so a change
    /// of the rate holds from the end of the transmission that it falls into.
    pub capacity_bits: f64,
    /// Bits it sent: of a packet in transmission at an edge, the part within.
    pub sent_bits: f64,
    /// Integral of the queue over time, in packet-seconds; the queue is what waits, without the
    /// packet in transmission.
    pub queue_packet_seconds: f64,
    /// Integral of the squared queue, in packets^2 seconds.
    pub queue_packet2_seconds: f64,
    /// The same in byte-seconds.
    pub queue_byte_seconds: f64,
    /// The same in bytes^2 seconds.
    pub queue_byte2_seconds: f64,
    /// One per traffic class.
    pub classes: Vec<ClassStats>,
    /// One per lane that has a name; without round-trip times.
    pub lanes: Vec<ClassStats>,
}

counters! {
    /// The counts of the packets of one class at one link. Packets count in the segment in which the event happened:
    /// arrivals and drops at their arrival, departures at the start of transmission.
    pub struct Counts {
        /// Packets that arrived.
        pub arrived: u64,
        /// Bytes that arrived.
        pub arrived_bytes: u64,
        /// Sum, over the packets that arrived, of the packets that each found waiting (without itself and
        /// without the one in transmission).
        pub queue_seen_packets: u64,
        /// Packets dropped early (by chance, before the buffer was full).
        pub dropped_early: u64,
        /// Packets dropped because a limit of the algorithm was passed.
        pub dropped_forced: u64,
        /// Packets dropped because the buffer was full.
        pub dropped_overflow: u64,
        /// Bytes dropped, for any cause.
        pub dropped_bytes: u64,
        /// The ECN-capable packets among all dropped ones.
        pub dropped_ecn: u64,
        /// Departed packets that this queue marked.
        pub marked: u64,
        /// Departed packets that the wire lost.
        pub lost: u64,
        /// Packets whose transmission began.
        pub departed: u64,
        /// Bytes whose transmission began.
        pub departed_bytes: u64,
        /// Sum of the queueing delays of the departed packets, in nanoseconds (exact).
        pub delay_sum_ns: u64,
    }
}

impl Counts {
    /// Packets dropped for any cause.
    pub fn dropped(&self) -> u64 {
        self.dropped_early + self.dropped_forced + self.dropped_overflow
    }
}

/// The fate of the packets of one class at one link.
#[derive(Clone, Debug, PartialEq)]
pub struct ClassStats {
    /// Their counts.
    pub counts: Counts,
    /// The times of the first and the last drop in the segment, if there was any.
    pub drops: Option<(Time, Time)>,
    /// Distribution of the queueing delay (arrival to start of transmission) in nanoseconds, to three
    /// digits.
    pub delay_ns: Histogram<u32>,
    /// Distribution of the round-trip times that senders measured, in nanoseconds, to two digits: of the flows
    /// of the class whose data crosses the link.
    pub rtt_ns: Histogram<u32>,
    /// The time that the frames of a lane took of a channel of Wi-Fi, each in the segment in which it ended; with their
    /// acknowledgments, or those that were lost in collisions. Zero elsewhere.
    pub airtime: Duration,
}

/// Equally spaced samples of one link.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Time of each sample in seconds: the end of its step.
    pub time_s: Vec<f64>,
    /// Queue at that time.
    pub queue_packets: Vec<f64>,
    /// Queue at that time in bytes.
    pub queue_bytes: Vec<f64>,
    /// Time average of the queue over the step.
    pub queue_mean_packets: Vec<f64>,
    /// Mean queueing delay of the packets that left during the step; NaN if none did.
    pub delay_mean_s: Vec<f64>,
    /// Per class: bits sent during the step over its length.
    pub throughput_bps: Vec<Vec<f64>>,
    /// Packets dropped during the step.
    pub dropped: Vec<u64>,
    /// Packets marked during the step.
    pub marked: Vec<u64>,
    /// The algorithm's internal signals: name, unit, one value per sample (NaN before it reported).
    pub internals: Vec<Internal>,
}

/// One internal signal of an algorithm over time.
#[derive(Clone, Debug, PartialEq)]
pub struct Internal {
    /// The paper's name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// One value per sample.
    pub values: Vec<f64>,
}

/// The measurements at the ends of one flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FlowOutcome {
    /// Its class.
    pub class: u16,
    /// One per segment.
    pub segments: Vec<FlowSegment>,
    /// Bytes of new data that its receiver got in each step of the time series from time zero on. Of flows that always
    /// have data to send ([`App::Bulk`](crate::network::App::Bulk)), where there are several and not so many that these
    /// would be more than five million numbers; else empty.
    pub step_bytes: Vec<u64>,
    /// Its window from time zero on, if [`Control::windows`](crate::Control::windows) asked for it.
    pub windows: Vec<WindowSample>,
    /// The doings of its player, one per segment; empty if it plays no video.
    pub video: Vec<VideoSegment>,
    /// The pages that were complete by the end of the run. Of several connections the first one has them.
    pub pages: Vec<Page>,
    /// The probes of its test, if it makes one. Of several connections the first one has them.
    pub responsiveness: Option<Box<Probes>>,
    /// The times that its packets were on their way, one per segment; empty unless
    /// [`FlowSpec::timed`](crate::network::FlowSpec::timed) asked for it. Of several connections the first one has it
    /// for all.
    pub timed: Vec<TimedSegment>,
}

/// The times that the packets of data of a flow that arrived in one segment were on their way, from the sender's hands
/// to the receiver's: each packet as often as it arrived, and no SYN.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimedSegment {
    /// Packets.
    pub packets: u64,
    /// The sum of their one-way delays in nanoseconds, exact.
    pub sum_ns: u64,
    /// The shortest of them, exact; 0 if there are none.
    pub least_ns: u64,
    /// Their distribution: delays in nanoseconds, rising, each at most 0.2% from those that it stands for, and how many
    /// packets had it.
    pub delays: Vec<(u64, u32)>,
    /// Transfers whose first packet of data arrived.
    pub begun: u64,
    /// The sum of the times from the beginning of those transfers to that packet.
    pub start_up_ns: u64,
}

counters! {
    /// The doings of a player of a video in one segment.
    pub struct VideoSegment {
        /// Chunks that were received.
        pub chunks: u64,
        /// The sum of their rates.
        pub rate_sum_bps: u64,
        /// Those whose rate differs from that of the chunk before.
        pub switches: u64,
        /// The time that it played, in nanoseconds.
        pub played_ns: u64,
        /// The time that playback stood still once it had begun, because what came next was not there.
        pub stalled_ns: u64,
        /// The number of times that this began.
        pub stalls: u64,
        /// 1 if playback began.
        pub started: u64,
        /// The time from the first request to its beginning.
        pub start_up_ns: u64,
    }
}

/// The state of a TCP sender at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WindowSample {
    /// The time.
    pub time: Time,
    /// The congestion window in packets; before the flow begins it is the initial one.
    pub cwnd: f64,
    /// The threshold of slow start in packets.
    pub ssthresh: f64,
    /// The smoothed round-trip time; zero before the first measurement.
    pub srtt: Duration,
}

counters! {
    /// A flow over one segment.
    pub struct FlowSegment {
        /// Bytes of data the receiver got for the first time, without headers that are counted apart
        /// ([`TcpParams::header`](quell_tcp::TcpParams::header)).
        pub delivered_bytes: u64,
        /// Data packets sent, retransmissions included.
        pub sent_packets: u64,
        /// Retransmissions.
        pub retransmitted_packets: u64,
        /// Retransmission timeouts.
        pub timeouts: u64,
        /// Window reductions by fast retransmit.
        pub fast_retransmits: u64,
        /// Window reductions by ECN.
        pub ecn_responses: u64,
        /// Round-trip times that the sender measured: one packet at a time, none that was sent twice (RFC 6298
        /// section 3).
        pub rtt_samples: u64,
        /// Their sum in nanoseconds, exact: before the sender rounds them to the ticks of its clock.
        pub rtt_sum_ns: u64,
    }
}

/// A finished transfer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Transfer {
    /// Its flow.
    pub flow: u32,
    /// The time at which the application gave it to TCP, or the receiver asked for it.
    pub start: Time,
    /// The time at which the receiver had all of it: its last new packet arrived.
    pub end: Time,
    /// The time at which the sender knew that, if it did by the end of the run: all of it was acknowledged.
    pub acknowledged: Option<Time>,
    /// Its size.
    pub packets: u32,
    /// Its size in bytes of data.
    pub bytes: u64,
    /// The size in bytes of the request for it; 0 if nobody asked.
    pub request: u16,
    /// The time that it takes alone: the same connection makes the same transfers with the same pauses, over the same
    /// links with nothing else on them, where nothing is dropped, marked or lost. `None` if it does not end.
    pub alone: Option<Duration>,
}

/// A page of which all objects were received.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Page {
    /// The time at which its first object was asked for.
    pub start: Time,
    /// The time at which the last packet of its last object was received.
    pub end: Time,
    /// The size of all objects.
    pub packets: u32,
}

/// The probes of a test of responsiveness ([`Responsiveness`](crate::network::Responsiveness)).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Probes {
    /// Those on connections of their own that are complete, by the time of completion.
    pub foreign: Vec<ForeignProbe>,
    /// Those on the connections of the load that are complete, by the time of completion.
    pub loaded: Vec<LoadedProbe>,
    /// The time at which goodput was stable, if it was.
    pub goodput_stable: Option<Time>,
    /// The time at which responsiveness was stable after that, if it was, and the round trips per minute then: the test's
    /// result.
    pub result: Option<(Time, f64)>,
}

/// A probe on a connection of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ForeignProbe {
    /// The time at which its SYN was sent.
    pub start: Time,
    /// The time at which its reply was complete.
    pub end: Time,
    /// The time from its SYN to the answer.
    pub tcp: Duration,
    /// The time of the round trip of TLS.
    pub tls: Duration,
    /// The time from the request for one byte to the reply.
    pub http: Duration,
}

/// A probe on a connection of the load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoadedProbe {
    /// The time at which it was asked for.
    pub start: Time,
    /// The time at which the reply was complete.
    pub end: Time,
}
