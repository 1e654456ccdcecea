//! TCP: senders and receivers as state machines without clock or I/O, shared by both engines.

use quell_aqm::{choice, params};
use quell_units::{Bytes, Duration};

choice! {
    /// How a sender recovers from loss.
    pub enum Variant {
        /// Every loss restarts from a window of one (Jacobson 1988).
        Tahoe = "tahoe",
        /// Fast recovery that ends with the first new acknowledgment (RFC 2581).
        Reno = "reno",
        /// Fast recovery that lasts until all outstanding data is acknowledged (RFC 6582).
        NewReno = "newreno",
        /// Recovery from selective acknowledgments (RFC 6675).
        Sack = "sack",
    }
}

params! {
    /// TCP's parameters. The defaults are those of ns-2 2.35's one-way agents, with which the
    /// documents were simulated; `delayed_ack`, `initial_window` and `min_rto` are what a present-day
    /// host would set otherwise (RFC 5681, RFC 6928, RFC 6298).
    pub struct TcpParams {
        /// Loss recovery: "tahoe", "reno", "newreno" or "sack".
        variant: Variant = Variant::Reno, unit "name", source "the documents use Reno";
        /// Size of a data packet; see `header`.
        packet: Bytes = Bytes::new(1000), unit "bytes", source "ns-2 packetSize_";
        /// Bytes of header added to `packet` on the wire; 0 if `packet` includes them.
        header: Bytes = Bytes::new(0), unit "bytes", source "ns-2 useHeaders_ false; true is 40 B";
        /// Congestion window after the handshake, in packets.
        initial_window: u32 = 2, unit "packets", source "ns-2 windowInit_; RFC 6928 allows 10";
        /// Slow-start threshold at the start in packets; none for the maximum window.
        initial_ssthresh: Option<u32> = None, unit "packets", source "RFC 5681 section 3.1: arbitrarily high";
        /// Largest window the receiver advertises, in packets.
        max_window: u32 = 10_000, unit "packets", source "never limiting";
        /// Whether a connection begins with a SYN and its acknowledgment.
        syn: bool = true, unit "true or false", source "ns-2 syn_";
        /// Longest an acknowledgment is held back for a second packet; none to acknowledge each.
        delayed_ack: Option<Duration> = None, unit "time", source "ns-2 TCPSink; RFC 5681 section 4.2 allows 500 ms";
        /// Whether each of the first two duplicate acknowledgments may send a new packet.
        limited_transmit: bool = true, unit "true or false", source "RFC 3042; ns-2 singledup_";
        /// Duplicate acknowledgments that signal a loss.
        dup_threshold: u32 = 3, unit "1", source "RFC 5681 section 3.2";
        /// Smallest retransmission timeout.
        min_rto: Duration = Duration::from_millis(200), unit "time", source "ns-2 minrto_; RFC 6298 says 1 s";
        /// Largest retransmission timeout.
        max_rto: Duration = Duration::from_secs(60), unit "time", source "RFC 6298 rule 2.5";
        /// Retransmission timeout before the first measurement.
        initial_rto: Duration = Duration::from_secs(3), unit "time", source "ns-2 rtxcur_init_; RFC 6298 says 1 s";
        /// Granularity of round-trip time measurements.
        granularity: Duration = Duration::from_millis(10), unit "time", source "ns-2 tcpTick_";
        /// Whether data is sent ECN-capable and marks are answered (RFC 3168).
        ecn: bool = false, unit "true or false", source "the documents switch it on where they use it";
        /// Whether retransmissions are ECN-capable too, as in ns-2; RFC 3168 section 6.1.5 says no.
        ecn_retransmissions: bool = false, unit "true or false", source "RFC 3168 section 6.1.5";
    }
}
