//! The metrics: their names, units and meaning. `reduce` computes them.

use quell_units::text::cut;
use quell_units::{BitRate, Duration};
use serde::{Deserialize, Serialize, Serializer};

macro_rules! metrics {
    ($(
        $variant:ident, $column:literal, $title:literal, $unit:literal, $better:ident, $doc:literal
        $( , $source:literal )?;
    )+) => {
        /// A figure of one replication at one observed link. Its name is the column name in results,
        /// unit included.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Metric { $( #[doc = $doc] $variant, )+ }

        impl Metric {
            /// Every metric, in the order in which tables list them.
            pub const ALL: &[Metric] = &[$( Metric::$variant, )+];

            /// The name: a column of `metrics.parquet`.
            pub fn name(self) -> &'static str {
                match self { $( Metric::$variant => $column, )+ }
            }

            /// A short heading.
            pub fn title(self) -> &'static str {
                match self { $( Metric::$variant => $title, )+ }
            }

            /// The unit of the stored value; "1" for a pure number.
            pub fn unit(self) -> &'static str {
                match self { $( Metric::$variant => $unit, )+ }
            }

            /// The better direction, where that is beyond dispute.
            pub fn better(self) -> Better {
                match self { $( Metric::$variant => Better::$better, )+ }
            }

            /// Its meaning, in a sentence.
            pub fn doc(self) -> &'static str {
                match self { $( Metric::$variant => $doc, )+ }
            }

            /// Its source; empty where none is needed.
            pub fn source(self) -> &'static str {
                match self { $( Metric::$variant => concat!($( $source )?), )+ }
            }
        }
    };
}

/// The values that a metric can have at all.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Range {
    /// The least; negative infinity if there is none.
    pub least: f64,
    /// The most; infinity if there is none.
    pub most: f64,
}

impl Range {
    /// Every number, as of a difference.
    pub const ANY: Range = Range { least: f64::NEG_INFINITY, most: f64::INFINITY };
    /// No less than nothing.
    pub const POSITIVE: Range = Range { least: 0.0, most: f64::INFINITY };
    /// A share of a whole.
    pub const SHARE: Range = Range { least: 0.0, most: 1.0 };

    /// The part of an interval that lies within, and never less than up to `mean`, its middle. It has no upper end where
    /// the mean is above [`Range::most`] by more than rounding, as that of the utilization may be.
    pub fn clip(self, mean: f64, (low, high): (f64, f64)) -> (f64, f64) {
        if mean > self.most * (1.0 + 1e-9) {
            return (low.max(self.least), high);
        }
        (low.max(self.least).min(mean), high.min(self.most).max(mean))
    }
}

impl Metric {
    /// The values that it can have: shares lie between 0 and 1, and nothing that is counted or timed is negative.
    pub fn range(self) -> Range {
        let name = self.name();
        let is_share = self.unit() == "1" && (name.ends_with("_rate") || name.ends_with("_share"));
        match self {
            Metric::Utilization | Metric::Jain | Metric::LossSynchronization => Range::SHARE,
            _ if is_share => Range::SHARE,
            _ => Range::POSITIVE,
        }
    }
}

/// The direction in which a metric is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
    /// It depends.
    Neither,
}

metrics! {
    Utilization, "utilization", "utilization", "1", Higher, "Bits sent over the bits that the link could have sent. Behind a shaper or classes, those are what their rate allows in the long run: a burst from saved tokens exceeds 1.";
    Throughput, "throughput_bps", "throughput", "bit/s", Higher, "Bits sent per second, headers and retransmissions included.";
    PacketRate, "packet_rate_pps", "packet rate", "packet/s", Neither, "Packets sent per second.";
    Goodput, "goodput_bps", "goodput", "bit/s", Higher, "New data that receivers got, in bits per second, over the \
        flows whose data crosses the link.";
    LossRate, "loss_rate", "loss", "1", Lower, "Packets dropped at the link over packets that arrived there.";
    ArrivalShare, "arrival_share", "share of arrivals", "1", Neither, "Packets of this traffic that arrived at the \
        link, over all packets that arrived there.";
    LossShare, "loss_share", "share of losses", "1", Neither, "Packets of this traffic dropped at the link, over all \
        packets dropped there. It equals the share of arrivals if loss is proportional.";
    AirtimeShare, "airtime_share", "share of airtime", "1", Neither, "Time that frames of this queue took of a channel \
        of Wi-Fi, with their acknowledgments, over the time of the window. Of frames that collide, each counts.";
    ByteLossRate, "byte_loss_rate", "byte loss", "1", Lower, "Bytes dropped at the link over bytes that arrived there.";
    EarlyLossRate, "early_loss_rate", "early loss", "1", Neither, "Packets dropped by chance before the buffer was full, over arrivals.";
    ForcedLossRate, "forced_loss_rate", "forced loss", "1", Neither, "Packets dropped because a limit of the algorithm \
        was exceeded, over arrivals.";
    OverflowLossRate, "overflow_loss_rate", "overflow loss", "1", Lower, "Packets dropped because the buffer was full, over arrivals.";
    ArrivedPackets, "arrived_packets", "packets arrived", "packets", Neither, "Packets that arrived at the queue.", "RFC 9332 section 2.5.2.2";
    PresentedPackets, "presented_packets", "packets presented", "packets", Neither, "Arrived packets that the \
        algorithm could decide about, i.e., all but those that a full buffer dropped.", "RFC 9332 section 2.5.2.2";
    ForwardedPackets, "forwarded_packets", "packets forwarded", "packets", Neither, "Packets whose transmission began.", "RFC 9332 section 2.5.2.2";
    MarkedPackets, "marked_packets", "packets marked", "packets", Neither, "Packets that left with a mark from this \
        link.", "RFC 9332 section 2.5.2.2";
    DroppedEcnPackets, "dropped_ecn_packets", "ECN packets dropped", "packets", Neither, "ECN-capable packets dropped \
        at the link.", "RFC 9332 section 2.5.2.2";
    DroppedNotEcnPackets, "dropped_not_ecn_packets", "other packets dropped", "packets", Neither, "Packets dropped at \
        the link that were not ECN-capable.", "RFC 9332 section 2.5.2.2";
    WireLossRate, "wire_loss_rate", "wire loss", "1", Lower, "Packets that left and were then lost on the wire (the \
        link's loss), over packets that left.";
    MarkRate, "mark_rate", "marks", "1", Neither, "Packets that left with a mark from this link, over packets that \
        left.";
    QueueMean, "queue_packets", "mean queue", "packets", Lower, "Time average of the number of packets waiting (exact; \
        without the one in transmission).";
    QueueSeen, "queue_seen_packets", "queue seen", "packets", Lower, "Mean number of packets that an arriving packet \
        found waiting (exact). Poisson arrivals see the time average; others may not.", "Wolff 1982";
    QueueStd, "queue_std_packets", "queue deviation", "packets", Lower, "Standard deviation over time of the number of \
        packets waiting (exact).";
    QueueSegmentStd, "queue_segment_std_packets", "deviation per segment", "packets", Lower, "Mean over the segments \
        of the standard deviation within each segment (average queue deviation).", "Chen 2010";
    ResponseTime, "response_time_s", "response time", "s", Lower, "Time from a segment's start until the queue's \
        deviation from its steady mean stays within 1.5 times its steady deviation. If the scenario has a \
        steady_state, the mean and deviation are taken there, and the metric has no value if the queue does not settle \
        by the segment's end. Otherwise they come from the segment's second half, so the time is at most half of the \
        segment; it has no value if the queue still drifts there, i.e., if the means of that half's own halves differ \
        by more than its deviation. Over the window, it is the mean over the segments after the first, and has no \
        value if one of them has none.", "Joo et al. 2006, section IV.B";
    QueueBytes, "queue_bytes", "mean queue in bytes", "bytes", Lower, "Time average of the bytes waiting (exact).";
    QueueBytesStd, "queue_std_bytes", "queue deviation in bytes", "bytes", Lower, "Standard deviation over time of the bytes waiting (exact).";
    QueueBytesSegmentStd, "queue_segment_std_bytes", "deviation per segment in bytes", "bytes", Lower, "Mean over the \
        segments of the standard deviation of the bytes waiting within each segment.", "Chen 2010";
    BufferPackets, "buffer_packets", "buffer", "packets", Neither, "Buffer size, if the scenario gives it in packets. \
        queue_packets/buffer_packets is the share in use.";
    BufferBytes, "buffer_bytes", "buffer in bytes", "bytes", Neither, "Buffer size, if the scenario gives it in bytes.";
    DelayMean, "queue_delay_mean_s", "mean delay", "s", Lower, "Mean queueing delay of the packets that left (exact).";
    DelayP50, "queue_delay_p50_s", "P50 delay", "s", Lower, "Median queueing delay.";
    DelayP95, "queue_delay_p95_s", "P95 delay", "s", Lower, "95th percentile of the queueing delay.";
    DelayP99, "queue_delay_p99_s", "P99 delay", "s", Lower, "99th percentile of the queueing delay.";
    RttMean, "round_trip_time_mean_s", "mean round trip", "s", Lower, "Mean of the round-trip times that senders \
        measure, over the flows whose data crosses the link. A sender times one packet per round trip, from its \
        transmission to its acknowledgment, but no packet that a timeout or fast retransmit sent twice (Karn's \
        algorithm; SACK may resend the timed packet, as in ns-2). Times are exact; the sender rounds them to its \
        clock's ticks.", "RFC 6298 section 3";
    RttP50, "round_trip_time_p50_s", "P50 round trip", "s", Lower, "Median of those measurements.";
    RttP95, "round_trip_time_p95_s", "P95 round trip", "s", Lower, "95th percentile of those measurements.";
    RttP99, "round_trip_time_p99_s", "P99 round trip", "s", Lower, "99th percentile of those measurements.";
    Jain, "jain_index", "Jain index", "1", Higher, "Jain's fairness index of the goodputs of the bulk flows that were active for at least half of the window.", "Jain et al. 1984";
    Convergence, "convergence_time_s", "convergence time", "s", Lower, "Time from the last change within the window \
        (its start, or the start or stop of a bulk flow) until the goodput of every bulk flow that is active from then \
        on stays within 10% of their mean for good. At every step, goodput is taken over a span of ten times the \
        longest round trip of these flows without queueing, in whole series_steps. The time ends at the start of the \
        first span from which all flows stay within. There is no value if that is later than halfway from the change \
        to the window's end, if there are fewer than two such flows or no whole span, or if goodput by steps is not \
        kept (more than five million numbers: flows times steps).", "RFC 5166 (delta-fair convergence time, of two flows there; its section is not verified); RFC 7928 has goodput over ten round trips";
    FctMean, "flow_completion_time_mean_s", "mean completion", "s", Lower, "Mean completion time of the transfers that \
        began within the window and were complete by the end of the run, from the start of the transfer (the request, \
        if there is one; a handshake is included) until the last new byte is at the receiver.";
    FctStd, "flow_completion_time_std_s", "completion deviation", "s", Lower, "Standard deviation of the completion \
        times of those transfers (population deviation: the sum of squares over their number).";
    FctP50, "flow_completion_time_p50_s", "P50 completion", "s", Lower, "Median completion time of those transfers.";
    FctP95, "flow_completion_time_p95_s", "P95 completion", "s", Lower, "95th percentile of their completion times.";
    FctP99, "flow_completion_time_p99_s", "P99 completion", "s", Lower, "99th percentile of their completion times.";
    Transfers, "transfers", "transfers", "1", Higher, "Number of those transfers.";
    SlowdownMean, "slowdown_mean", "mean slowdown", "1", Lower, "Mean slowdown of those transfers: the completion time \
        over the time that the same transfer takes alone. Alone means that the same connection makes the same \
        transfers with the same pauses over the same, otherwise empty links, where nothing is dropped, marked or lost.";
    SlowdownP50, "slowdown_p50", "P50 slowdown", "1", Lower, "Median of their slowdowns.";
    SlowdownP95, "slowdown_p95", "P95 slowdown", "1", Lower, "95th percentile of their slowdowns.";
    SlowdownP99, "slowdown_p99", "P99 slowdown", "1", Lower, "99th percentile of their slowdowns.";
    FatMean, "flow_acknowledgment_time_mean_s", "mean acknowledgment", "s", Lower, "Mean time of those transfers as \
        their senders see it, from the same start until everything is acknowledged, if that happened by the end of the \
        run.";
    FatStd, "flow_acknowledgment_time_std_s", "acknowledgment deviation", "s", Lower, "Standard deviation of those \
        times (population deviation: the sum of squares over their number).";
    FatP50, "flow_acknowledgment_time_p50_s", "P50 acknowledgment", "s", Lower, "Median of those times.";
    FatP95, "flow_acknowledgment_time_p95_s", "P95 acknowledgment", "s", Lower, "95th percentile of those times.";
    FatP99, "flow_acknowledgment_time_p99_s", "P99 acknowledgment", "s", Lower, "99th percentile of those times.";
    Power, "power_bit_per_s2", "power", "bit/s^2", Higher, "Throughput over mean queueing delay.";
    Timeouts, "timeouts", "timeouts", "1", Lower, "Retransmission timeouts of the flows whose data crosses the link.";
    FastRetransmits, "fast_retransmits", "fast retransmits", "1", Neither, "Window reductions of those flows by fast \
        retransmit.";
    EcnResponses, "ecn_responses", "ECN responses", "1", Neither, "Window reductions of those flows by ECN.";
    RetransmissionRate, "retransmission_rate", "retransmissions", "1", Lower, "Retransmitted packets over all data \
        packets that those flows sent.";
    PageTimeMean, "page_time_mean_s", "mean page time", "s", Lower, "Mean completion time of the pages that began within the window and finished: from the first request of a page to the last packet of its last object.", "RFC 7928 section 7.2";
    PageTimeP50, "page_time_p50_s", "P50 page time", "s", Lower, "Median completion time of those pages.";
    PageTimeP95, "page_time_p95_s", "P95 page time", "s", Lower, "95th percentile of their completion times.";
    PageTimeP99, "page_time_p99_s", "P99 page time", "s", Lower, "99th percentile of their completion times.";
    Pages, "pages", "pages", "1", Higher, "Number of those pages.";
    VideoRate, "video_rate_bps", "video rate", "bit/s", Higher, "Mean rate of the received chunks of adaptive videos.";
    VideoStallShare, "video_stall_share", "video stalls", "1", Lower, "Time that playback was stalled after it had \
        begun, over that time plus the time of playback.";
    VideoSwitchShare, "video_switch_share", "video switches", "1", Lower, "Chunks whose rate differs from the previous \
        chunk's, over chunks received.";
    VideoStartUp, "video_start_up_s", "video start-up", "s", Lower, "Mean time from the first request of a video to \
        the start of playback, over the videos whose playback began within the window.";
    Rpm, "rpm", "RPM", "1/min", Higher, "Responsiveness under working conditions, in round trips per minute: the mean \
        of rpm_foreign and rpm_loaded, over the probes of all tests whose load crosses the link (kind \
        \"responsiveness\").", "draft-ietf-ippm-responsiveness-08 section \"Aggregating the Measurements\"";
    RpmForeign, "rpm_foreign", "foreign RPM", "1/min", Higher, "Responsiveness on separate connections (foreign \
        probes): 60 s over the mean of three times, which are the TCP handshake, the TLS round trip, and a request for \
        one byte. Each is the mean of its shortest 95%, over the probes that were complete within the window.", "draft-ietf-ippm-responsiveness-08 section \"Aggregating the Measurements\"";
    RpmLoaded, "rpm_loaded", "loaded RPM", "1/min", Higher, "Responsiveness on the connections that make the load \
        (self probes): 60 s over the mean of the shortest 95% of the times from a request for one byte to its reply, \
        over the probes that were complete within the window.", "draft-ietf-ippm-responsiveness-08 section \"Aggregating the Measurements\"";
    RpmResult, "rpm_result", "test result RPM", "1/min", Higher, "The number that the draft's client reports, as a \
        mean over the tests: the responsiveness of its last intervals once goodput and then responsiveness are stable. \
        The client adds connections until then. It covers the whole run, and has no value if stability is never \
        reached.", "draft-ietf-ippm-responsiveness-08 section \"Final Algorithm\"";
    RpmResultTime, "rpm_result_time_s", "test time", "s", Lower, "Time from the start of a test until then, as a mean \
        over the tests.", "draft-ietf-ippm-responsiveness-08 section \"Final Algorithm\"";
    ProbeTcpP50, "probe_tcp_p50_s", "P50 TCP probe", "s", Lower, "Median TCP handshake time, from SYN to SYN-ACK, of \
        the foreign probes that were complete within the window (the draft's tcp_f). Without connections that make \
        load, it is the idle latency.", "draft-ietf-ippm-responsiveness-08 section \"Measuring Responsiveness\"";
    ProbeTcpP95, "probe_tcp_p95_s", "P95 TCP probe", "s", Lower, "95th percentile of those times.";
    ProbeTlsP50, "probe_tls_p50_s", "P50 TLS probe", "s", Lower, "Median TLS 1.3 round trip of those probes, from \
        ClientHello to the last packet of the server's answer (tls_f).", "draft-ietf-ippm-responsiveness-08 section \"Measuring Responsiveness\"";
    ProbeTlsP95, "probe_tls_p95_s", "P95 TLS probe", "s", Lower, "95th percentile of those times.";
    ProbeHttpP50, "probe_http_p50_s", "P50 HTTP probe", "s", Lower, "Median time of those probes from the request for \
        one byte to the reply (http_f).", "draft-ietf-ippm-responsiveness-08 section \"Measuring Responsiveness\"";
    ProbeHttpP95, "probe_http_p95_s", "P95 HTTP probe", "s", Lower, "95th percentile of those times.";
    ProbeLoadedP50, "probe_loaded_p50_s", "P50 loaded probe", "s", Lower, "Median time from a request for one byte on \
        a connection that makes load to the reply, over the probes that were complete within the window (http_l).", "draft-ietf-ippm-responsiveness-08 section \"Measuring Responsiveness\"";
    ProbeLoadedP95, "probe_loaded_p95_s", "P95 loaded probe", "s", Lower, "95th percentile of those times.";
    Probes, "probes", "probes", "1", Higher, "Number of probes of both kinds that were complete within the window.";
    LossInterval, "loss_interval_mean_s", "mean loss interval", "s", Higher, "Mean time between consecutive drops at \
        the link: the time from the first to the last drop in the window, over their number minus one.", "RFC 7928 section 2.3";
    LossSynchronization, "loss_synchronization", "loss synchronization", "1", Lower, "Share of the bulk flows crossing \
        the link that lose packets in a loss event, as a mean over the events in which at least one does. An event \
        lasts for one round trip after its first drop: the longest of these flows' round trips without queueing, plus \
        the time to send what is waiting at that moment. For a class, only its own flows count.", "RFC 7928 section 2.4";
    OneWayDelayMean, "one_way_delay_mean_s", "mean one-way delay", "s", Lower, "Mean one-way delay from sender to \
        receiver of the data packets that arrived (exact), for flows that cross the link and whose group sets \
        measure_delay.", "RFC 7928 section 2.6";
    OneWayDelayP50, "one_way_delay_p50_s", "P50 one-way delay", "s", Lower, "Median of those delays (to 0.2%).";
    OneWayDelayP95, "one_way_delay_p95_s", "P95 one-way delay", "s", Lower, "95th percentile of those delays.";
    OneWayDelayP99, "one_way_delay_p99_s", "P99 one-way delay", "s", Lower, "99th percentile of those delays.";
    DelayVariation, "delay_variation_p99_s", "delay variation", "s", Lower, "99th percentile of the packet delay \
        variation: how far those delays exceed the smallest one of their own flow within the window.", "RFC 5481 section 4.2";
    StartUp, "start_up_time_mean_s", "mean start-up", "s", Lower, "Mean time from the start of a transfer (its \
        request, if there is one) to its first data packet at the receiver, including a handshake, for flows whose \
        group sets measure_delay.", "RFC 7928 section 2.2";
}

impl Metric {
    /// The metric of this name or title, in capitals or not.
    pub fn find(name: &str) -> Option<Metric> {
        let is = |m: &Metric| m.name().eq_ignore_ascii_case(name) || m.title().eq_ignore_ascii_case(name);
        Metric::ALL.iter().copied().find(is)
    }

    /// A value as a user writes it, in this metric's unit: `0.02` or `2%` of a pure number, `0.02` or `20 ms`,
    /// `1e6` or `1 Mbit/s`, `50` or `50 packets`.
    ///
    /// # Errors
    /// Says what a value looks like.
    pub fn read(self, text: &str) -> Result<f64, String> {
        let text = text.trim();
        let (with_unit, example) = match self.unit() {
            "1" => {
                (text.strip_suffix('%').and_then(|x| x.trim().parse::<f64>().ok()).map(|x| x / 100.0), "2%")
            }
            "s" => (text.parse::<Duration>().ok().map(|x| x.as_secs_f64()), "20 ms"),
            "bit/s" => (text.parse::<BitRate>().ok().map(|x| x.bps() as f64), "1 Mbit/s"),
            "packets" => (text.strip_suffix("packets").and_then(|x| x.trim().parse().ok()), "50 packets"),
            unit => (text.strip_suffix(unit).and_then(|x| x.trim().parse().ok()), "1000"),
        };
        let value = text.parse::<f64>().ok().or(with_unit).filter(|x| x.is_finite());
        value.ok_or_else(|| format!("\"{}\" is not a value of {}, such as {example}", cut(text), self.name()))
    }

    /// The metrics of the standard table.
    pub const TABLE: &[Metric] = &[
        Metric::Utilization,
        Metric::Goodput,
        Metric::LossRate,
        Metric::MarkRate,
        Metric::QueueMean,
        Metric::QueueStd,
        Metric::DelayMean,
        Metric::DelayP99,
        Metric::Jain,
    ];

    /// Those of the table of transfers.
    pub const OF_TRANSFERS: &[Metric] = &[
        Metric::Transfers,
        Metric::FctMean,
        Metric::FctP50,
        Metric::FctP95,
        Metric::FctP99,
        Metric::SlowdownMean,
        Metric::SlowdownP50,
        Metric::SlowdownP95,
        Metric::SlowdownP99,
    ];

    /// The metrics of the table of a scope, unless others are asked for: those that it has.
    pub fn table_of(scope: &str) -> &'static [Metric] {
        if scope.starts_with(SIZE) { Metric::OF_TRANSFERS } else { Metric::TABLE }
    }
}

impl Serialize for Metric {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Metric {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        Metric::find(&name).ok_or_else(|| serde::de::Error::custom(format!("no metric is called \"{name}\"")))
    }
}

/// The prefix of a lane's scope; the lane's name follows.
pub const LANE: &str = "lane:";

/// The prefix of the scope of transfers of one size; the name of the size follows.
pub const SIZE: &str = "size:";

/// The classes of transfers by size: the name, and the bytes of data from which on it begins.
pub const SIZES: [(&str, u64); 4] =
    [("0-10kB", 0), ("10-100kB", 10_000), ("100kB-1MB", 100_000), ("1MB-", 1_000_000)];

/// True if a scope is one of transfers by size.
pub fn is_size(scope: &str) -> bool {
    scope.strip_prefix(SIZE).is_some_and(|name| SIZES.iter().any(|size| size.0 == name))
}

/// The figures of one replication, link, segment and scope: one value per metric, none where the
/// metric does not apply.
#[derive(Clone, Debug, PartialEq)]
pub struct Values(Vec<Option<f64>>);

impl Default for Values {
    fn default() -> Self {
        Values(vec![None; Metric::ALL.len()])
    }
}

/// By the names of the metrics; those that do not apply are not there.
impl Serialize for Values {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_map(self.iter().map(|(metric, value)| (metric.name(), value)))
    }
}

impl Values {
    /// The value of one metric.
    pub fn get(&self, metric: Metric) -> Option<f64> {
        self.0[metric as usize]
    }

    /// Sets a metric; what is not finite counts as absent.
    pub fn set(&mut self, metric: Metric, x: impl Into<Option<f64>>) {
        self.0[metric as usize] = x.into().filter(|x| x.is_finite());
    }

    /// Each metric that applies, with its value.
    pub fn iter(&self) -> impl Iterator<Item = (Metric, f64)> {
        Metric::ALL.iter().filter_map(|m| Some((*m, self.get(*m)?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_the_unit_of_their_metric() {
        assert_eq!(Metric::LossRate.read("2%"), Ok(0.02));
        assert_eq!(Metric::LossRate.read(" 0.02 "), Ok(0.02));
        assert_eq!(Metric::DelayMean.read("20 ms"), Ok(0.02));
        assert_eq!(Metric::Goodput.read("1 Mbit/s"), Ok(1e6));
        assert_eq!(Metric::QueueMean.read("50 packets"), Ok(50.0));
        for (metric, wrong) in [
            (Metric::LossRate, "2 ms"),
            (Metric::DelayMean, "2%"),
            (Metric::QueueMean, ""),
            (Metric::Jain, "inf"),
        ] {
            let error = metric.read(wrong).unwrap_err();
            assert!(error.contains(metric.name()), "{error}");
        }
    }

    #[test]
    fn names_and_titles_name_one_metric_each() {
        for metric in Metric::ALL {
            for name in [metric.name(), metric.title(), &metric.title().to_uppercase()] {
                assert_eq!(Metric::find(name), Some(*metric), "{name}");
            }
        }
        assert_eq!(Metric::find("p99 delay"), Some(Metric::DelayP99));
        assert_eq!(Metric::find("utilisation"), None);
    }
}
