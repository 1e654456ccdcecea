//! Dialects: named sets of defaults, those of the releases of ns-2 with which the source papers were simulated, and
//! those of the hosts of ns-3, of Linux and of QUIC.
//!
//! A dialect gives a value to keys that a file leaves out; what the file says always wins. [`TABLE`] is all that
//! there is to know about them: a row for each key, with the value in each release and where that is written.

use quell_aqm::catalog::{self, AqmConfig, CATALOG};
use quell_aqm::params::ParamDoc;
use quell_tcp::TcpParams;
use quell_units::BitRate;
#[cfg(test)]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tree::{Entry, Node, Path, Value};

/// A named set of defaults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(JsonSchema))]
pub enum Dialect {
    /// Quell's own defaults.
    #[default]
    #[serde(rename = "quell")]
    Quell,
    /// ns-2 2.1b8 of June 2001.
    #[serde(rename = "ns-2.1b")]
    Ns21b,
    /// ns-2.27 of January 2004; 2.1b9a (July 2002) and 2.26 had the same defaults.
    #[serde(rename = "ns-2.27")]
    Ns227,
    /// ns-2.35 of November 2011.
    #[serde(rename = "ns-2.35")]
    Ns235,
    /// The senders and receivers of ns-3.44.
    #[serde(rename = "ns-3.44")]
    Ns344,
    /// The senders and receivers of Linux 7.2, and its queues.
    #[serde(rename = "linux")]
    Linux,
    /// The senders and receivers of QUIC, as RFC 9002 has them.
    #[serde(rename = "quic")]
    Quic,
}

impl Dialect {
    /// Those that depart from Quell's own, in the order of [`KeyDefaults::values`].
    pub const ALL: [Dialect; 6] =
        [Dialect::Ns21b, Dialect::Ns227, Dialect::Ns235, Dialect::Ns344, Dialect::Linux, Dialect::Quic];

    /// Its name in files.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Quell => "quell",
            Dialect::Ns21b => "ns-2.1b",
            Dialect::Ns227 => "ns-2.27",
            Dialect::Ns235 => "ns-2.35",
            Dialect::Ns344 => "ns-3.44",
            Dialect::Linux => "linux",
            Dialect::Quic => "quic",
        }
    }

    /// The release that it describes.
    pub fn release(self) -> &'static str {
        match self {
            Dialect::Quell => "this program",
            Dialect::Ns21b => "2.1b8, 6 June 2001",
            Dialect::Ns227 => "2.27, 18 January 2004; also 2.1b9a and 2.26",
            Dialect::Ns235 => "2.35, 4 November 2011; for 2.28 to 2.34 see docs/dialects.md",
            Dialect::Ns344 => "3.44, hosts only; see docs/dialects.md",
            Dialect::Linux => "7.2.13, hosts and queues; see docs/senders.md and docs/algorithms",
            Dialect::Quic => "RFC 9000 and RFC 9002 of May 2021, hosts only; see docs/senders.md",
        }
    }

    fn column(self) -> Option<usize> {
        Dialect::ALL.iter().position(|d| *d == self)
    }
}

/// The tables in which a key stands.
#[derive(Clone, Copy)]
enum Place {
    /// The table `tcp` of a group of flows.
    Tcp,
    /// `Tcp`, if the packets are ECN-capable.
    Capable,
    /// `Tcp`, if the congestion control is CUBIC.
    Cubic,
    /// `Tcp`, if ns-3's rules are known of its recovery and congestion control.
    OfNs3,
    /// The tables with the key `algorithm`, if it is one of these and has the parameter.
    Aqm(&'static str, fn(&catalog::Entry) -> bool),
    /// `Aqm`, if the queue marks.
    Marking(&'static str, fn(&catalog::Entry) -> bool),
    /// The table `reverse` of a link that changes.
    Reverse,
}

/// The value of a key in a dialect.
#[derive(Clone, Copy)]
enum Given {
    /// Quell's own default.
    Own,
    Text(&'static str),
    Whole(i64),
    Real(f64),
    Flag(bool),
    /// An empty list.
    Nothing,
    /// One number for thresholds in packets, another for those in bytes.
    ByUnit {
        packets: i64,
        bytes: i64,
    },
    /// The value of another parameter of the same algorithm.
    As(&'static str),
}

/// A key, and what it is in each dialect.
pub struct KeyDefaults {
    place: Place,
    /// The key.
    pub key: &'static str,
    values: [Given; 6],
    /// The places where the values are written.
    pub source: &'static str,
}

use Given::{As, ByUnit, Flag, Nothing, Own, Real, Text, Whole};

/// True for the algorithms that spread signals as RED does: RED, and RED with another curve or another average.
/// (DSRED was published with simulations of its own, and GREEN spreads nothing.)
fn red_family(entry: &catalog::Entry) -> bool {
    let has = |key: &str| (entry.params)().iter().any(|doc| doc.name == key);
    has("spacing") && has("min_backlog")
}

const RED_FAMILY: Place = Place::Aqm("aqm, RED family", red_family);
const GENTLE: Place = Place::Aqm("aqm, RED family without wred", |e| red_family(e) && e.name != "wred");
const RED_AND_FENG: Place = Place::Aqm("aqm, red and feng-ared", |e| ["red", "feng-ared"].contains(&e.name));
const ONLY_RED: Place = Place::Aqm("aqm, red", |e| e.name == "red");
const CAKE: Place = Place::Aqm("aqm, cake", |e| e.name == "cake");
const RED_AND_CHOKE: Place = Place::Aqm("aqm, red and choke", |e| ["red", "choke"].contains(&e.name));
const CODEL_AND_FQ: Place =
    Place::Aqm("aqm, codel and fq-codel", |e| ["codel", "fq-codel"].contains(&e.name));
const FQ_CODEL: Place = Place::Aqm("aqm, fq-codel", |e| e.name == "fq-codel");
const PIE: Place = Place::Aqm("aqm, pie", |e| e.name == "pie");
const FQ_PIE: Place = Place::Aqm("aqm, fq-pie", |e| e.name == "fq-pie");
const SFQ: Place = Place::Aqm("aqm, sfq", |e| e.name == "sfq");
const SFB: Place = Place::Aqm("aqm, sfb", |e| e.name == "sfb");
const DUALPI2: Place = Place::Aqm("aqm, dualpi2", |e| e.name == "dualpi2");
const REM: Place = Place::Aqm("aqm, rem", |e| e.name == "rem");
const REM_AND_AVQ: Place =
    Place::Marking("aqm, rem and avq where the link marks", |e| ["rem", "avq"].contains(&e.name));

/// Every dialect. "ns-default.tcl" is the file of ns-2 that has its defaults, whose comments say when some of
/// them changed; the "change log" is ns-2's own. Releases: 2.1b7 October 2000, 2.1b8 6 June 2001, 2.1b9 13 April
/// 2002, 2.1b9a 3 July 2002, 2.26 February 2003, 2.27 18 January 2004, 2.28 February 2005, 2.29 October 2005,
/// 2.30 September 2006, 2.31 March 2007, 2.33 March 2008, 2.34 June 2009, 2.35 4 November 2011.
pub static TABLE: &[KeyDefaults] = &[
    KeyDefaults {
        place: Place::Tcp,
        key: "min_rto",
        values: [Text("1 s"), Text("1 s"), Text("200 ms"), Text("1 s"), Text("200 ms"), Own],
        source: "minrto_: 1 s since 14 May 2001, 0.2 s since 14 October 2004 (ns-default.tcl); none before May 2001, \
                 i.e., two ticks in effect. ns-3: MinRto",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "rto_floor",
        values: [Own, Own, Own, Own, Text("variation"), Own],
        source: "Linux: at least 200 ms plus the smoothed round-trip time",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "rtt_samples",
        values: [Own, Own, Own, Own, Text("acknowledgment"), Text("acknowledgment")],
        source: "Linux: tcp_ack_update_rtt() uses the first packet that an acknowledgment covers. QUIC: RFC 9002 \
                 section 5",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "initial_rto",
        values: [Text("6 s"), Text("6 s"), Text("3 s"), Text("3 s"), Text("1 s"), Text("1 s")],
        source: "rtxcur_init_: 3 s since 21 January 2006 (ns-default.tcl, change log), 6 s before. QUIC: an initial \
                 round-trip time of 333 ms gives 1 s (RFC 9002 section 6.2.2). ns-3: ConnTimeout, for a SYN",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "max_rto",
        values: [Text("100000 s"), Text("100000 s"), Text("60 s"), Text("60 s"), Text("120 s"), Own],
        source: "maxrto_: 60 s since 28 March 2007 (ns-default.tcl), 100000 s in 2.27, and assumed for 2.1b8 (not \
                 found). ns-3: doubles up to 60 s",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "max_doublings",
        values: [Whole(6), Whole(6), Whole(16), Own, Whole(16), Own],
        source: "t_backoff_ of at most 64 until 29 March 2007 (tcp.cc 1.174), so 2.32 is the first release without \
                 this limit; then maxrto_ is the limit",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "granularity",
        values: [Text("100 ms"), Text("10 ms"), Text("10 ms"), Text("1 ms"), Text("1 ms"), Text("1 ms")],
        source: "tcpTick_: 0.01 s since 7 March 2002 (ns-default.tcl, change log), 0.1 s before. QUIC: kGranularity \
                 (RFC 9002 section 6.1.2). ns-3: ClockGranularity",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "header",
        values: [Text("0 B"), Text("40 B"), Text("40 B"), Text("54 B"), Text("66 B"), Text("42 B")],
        source: "useHeaders_: true since 28 November 2001 (ns-default.tcl, change log); tcpip_base_hdr_size_ 40. \
                 QUIC: Ethernet, IPv4, and UDP; the packet includes QUIC's own headers. ns-3: PPP, IPv4, TCP, and \
                 timestamps",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "ack_size",
        values: [Own, Own, Own, Text("54 B"), Text("66 B"), Own],
        source: "Linux: headers of Ethernet (14), IPv4, and TCP with timestamps. ns-2: TCPSink's packetSize_, 40. \
                 ns-3: the same headers as on data",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "syn_size",
        values: [Own, Own, Own, Own, Text("74 B"), Own],
        source: "Linux: headers of Ethernet (14) and IPv4, and TCP's with MSS, selective acknowledgments, \
                 timestamps, and window scale (40)",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "sack_sizes",
        values: [Own, Own, Own, Own, Flag(true), Own],
        source: "Linux: 4 bytes plus 8 per block",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "limited_transmit",
        values: [Flag(false), Flag(true), Flag(true), Flag(false), Flag(true), Own],
        source: "singledup_: 1 since 28 November 2001 (ns-default.tcl, change log), 0 before. ns-3: LimitedTransmit is for hosts without SACK (tcp-socket-base.cc)",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "syn",
        values: [Flag(true), Flag(true), Flag(true), Flag(true), Flag(true), Own],
        source: "syn_: true since 17 May 2001 (ns-default.tcl), false before",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "initial_window",
        values: [Whole(2), Whole(2), Whole(2), Whole(10), Whole(10), Whole(10)],
        source: "windowInit_: 2 since 26 May 2001 (ns-default.tcl), 1 before. QUIC: ten packets, which are less than \
                 14720 B (RFC 9002 section 7.2). ns-3: InitialCwnd",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "ecn_retransmissions",
        values: [Flag(true), Flag(true), Flag(true), Own, Flag(false), Flag(true)],
        source: "every data packet of an ECN connection is ECN-capable, even a retransmission (observed in 2.35, \
                 assumed for earlier releases). Since 5 June 2008, it may also carry CWR by default \
                 (SetCWRonRetransmit_); Quell has one key for both. QUIC: lost data is sent in new packets (RFC 9000 \
                 section 13.3), which are ECN-capable like any others",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "whole_reductions",
        values: [Flag(true), Flag(true), Flag(false), Own, Own, Own],
        source: "precisionReduce_: true since 24 January 2006 (ns-default.tcl, change log), false before: slowdown() in \
                 tcp.cc halves the window as a whole number",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "recovery",
        values: [Own, Own, Own, Text("prr"), Text("rack"), Text("rack")],
        source: "Linux: RACK-TLP and PRR (RFC 8985, RFC 9937). In ns-2, the agent's name says which recovery it \
                 uses. QUIC: packet and time thresholds for losses, and probes (RFC 9002 section 6); this value is \
                 the closest. ns-3: TcpPrrRecovery",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "congestion",
        values: [Own, Own, Own, Text("cubic"), Text("cubic"), Text("reno")],
        source: "Linux: its default since 2.6.19. QUIC: NewReno (RFC 9002 section 7). ns-3: TcpCubic",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "reno_friendly",
        values: [Own, Own, Own, Text("rfc8312"), Text("rfc8312"), Own],
        source: "Linux and ns-3: the window always grows by alpha",
    },
    KeyDefaults {
        place: Place::Cubic,
        key: "slow_start",
        values: [Own, Own, Own, Own, Text("hystart"), Own],
        source: "Linux: part of CUBIC; Reno and BBR do not have it",
    },
    KeyDefaults {
        place: Place::Cubic,
        key: "growth",
        values: [Own, Own, Own, Text("whole-packets"), Own, Own],
        source: "ns-3: CUBIC counts segments; Reno counts one per acknowledgment",
    },
    KeyDefaults {
        place: Place::OfNs3,
        key: "rules",
        values: [Own, Own, Own, Text("ns-3"), Own, Own],
        source: "ns-3: observed with PRR and NewReno or CUBIC",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "growth",
        values: [Own, Own, Own, Own, Text("whole-packets"), Text("packets")],
        source: "Linux counts the packets that an acknowledgment delivers, and its window is in whole packets; ns-2 \
                 counts acknowledgments. QUIC: bytes (RFC 9002 section 7.3)",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "packet",
        values: [Own, Own, Own, Text("536 B"), Text("1448 B"), Text("1.2 kB")],
        source: "Linux: an MTU of 1500 B minus headers. ns-2: packetSize_, 1000 B. QUIC: the smallest allowed \
                 maximum datagram size (RFC 9000 section 14). ns-3: SegmentSize",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "delayed_ack",
        values: [Own, Own, Own, Text("200 ms"), Text("40 ms"), Text("25 ms")],
        source: "Linux: at least 40 ms. ns-2: TCPSink acknowledges each packet. QUIC: max_ack_delay (RFC 9000 \
                 section 18.2); every second packet is acknowledged (section 13.2.2). ns-3: DelAckTimeout, \
                 DelAckCount 2",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "ack_timer",
        values: [Own, Own, Own, Own, Text("adaptive"), Own],
        source: "Linux: tcp_event_data_recv(), tcp_send_delayed_ack()",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "quick_acks",
        values: [Own, Own, Own, Own, Whole(16), Own],
        source: "Linux: the first 16 packets are acknowledged one by one",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "pacing",
        values: [Own, Own, Own, Own, Own, Flag(true)],
        source: "QUIC: RFC 9002 section 7.7",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "send_quantum",
        values: [Own, Own, Own, Own, Text("976562 ns"), Own],
        source: "Linux: segments of 1/1024 s at the pacing rate, held back if an acknowledgment is due soon",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "small_queues",
        values: [Own, Own, Own, Own, Flag(true), Own],
        source: "Linux: TCP small queues (since 3.6)",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "sack_delay",
        values: [Own, Own, Own, Own, Text("1 ms"), Own],
        source: "Linux: after three duplicates, 33% of the round-trip time, at most 1 ms and at most 44 \
                 acknowledgments (5% since 2018, 33% since 6.19)",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "eifel",
        values: [Own, Own, Own, Own, Flag(true), Own],
        source: "Linux: timestamps distinguish a late packet from one retransmitted after a timeout \
                 (tcp_try_undo_loss())",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "frto",
        values: [Own, Own, Own, Own, Flag(true), Own],
        source: "Linux: tcp_frto",
    },
    KeyDefaults {
        place: Place::Tcp,
        key: "loss_window",
        values: [Own, Own, Own, Own, Text("flight"), Own],
        source: "Linux: the packets that a timeout does not consider lost, plus one (tcp_enter_loss())",
    },
    KeyDefaults {
        place: Place::Capable,
        key: "feedback",
        values: [Own, Own, Own, Own, Own, Text("exact")],
        source: "QUIC: ACK frames with ECN counts (RFC 9000 section 19.3.2)",
    },
    KeyDefaults {
        place: Place::Capable,
        key: "mark_reduction",
        values: [Own, Own, Own, Own, Text("proportional"), Own],
        source: "Linux: a mark reduces the window over a round trip, as a loss does",
    },
    KeyDefaults {
        place: RED_FAMILY,
        key: "spacing",
        values: [Text("wait"), Text("wait"), Text("wait"), Own, Own, Own],
        source: "wait_: true (ns-default.tcl since 1997)",
    },
    KeyDefaults {
        place: GENTLE,
        key: "gentle",
        values: [Flag(true), Flag(true), Flag(true), Own, Own, Own],
        source: "gentle_: true since 23 April 2001 (ns-default.tcl), false in 2.1b7 and before; false for RIO",
    },
    KeyDefaults {
        place: RED_FAMILY,
        key: "signal",
        values: [Text("per-packet"), Text("per-packet"), Text("by-size"), Own, Own, Own],
        source: "bytes_: true since 11 October 2004 (ns-default.tcl), false before. queue_in_bytes_ became true at \
                 the same time; here the thresholds' unit determines how the queue is measured",
    },
    KeyDefaults {
        place: RED_FAMILY,
        key: "mark_limit",
        values: [As("max_p"), Real(0.1), Real(0.1), Own, Own, Own],
        source: "mark_p_: 0.1 since 30 April 2002 (change log; since 2 December 2005 under the option use_mark_p_, \
                 which is on). Before that, red.cc marked if the average was below max_th, i.e., p below max_p",
    },
    KeyDefaults {
        place: RED_FAMILY,
        key: "min_backlog",
        values: [
            ByUnit { packets: 2, bytes: 1 },
            ByUnit { packets: 2, bytes: 1 },
            ByUnit { packets: 2, bytes: 1 },
            Own,
            Own,
            Own,
        ],
        source: "no signal while the queue is at most one packet, or one byte (observed in 2.35, assumed for earlier \
                 releases)",
    },
    KeyDefaults {
        place: RED_AND_FENG,
        key: "weight",
        values: [Real(0.002), Text("link-rate"), Text("link-rate"), Own, Own, Own],
        source: "q_weight_: -1 since 29 December 2001 (ns-default.tcl), 0.002 before; -1 means a time constant of 1 \
                 s on links of up to 33 ms",
    },
    KeyDefaults {
        place: ONLY_RED,
        key: "gentle",
        values: [Own, Own, Own, Own, Flag(false), Own],
        source: "Linux 7.2.13: from max on, the probability is 1 (red.h)",
    },
    KeyDefaults {
        place: RED_AND_CHOKE,
        key: "forced",
        values: [Own, Own, Own, Own, Text("mark"), Own],
        source: "Linux 7.2.13: above max, ECN-capable packets are marked, unless harddrop (sch_red.c, sch_choke.c)",
    },
    KeyDefaults {
        place: RED_AND_CHOKE,
        key: "min_backlog",
        values: [Own, Own, Own, Own, Whole(0), Own],
        source: "Linux 7.2.13: only the average decides (sch_red.c, sch_choke.c)",
    },
    KeyDefaults {
        place: RED_AND_CHOKE,
        key: "spacing",
        values: [Own, Own, Own, Own, Text("one-draw"), Own],
        source: "Linux 7.2.13: qR, drawn once per gap (red.h)",
    },
    KeyDefaults {
        place: CODEL_AND_FQ,
        key: "arithmetic",
        values: [Own, Own, Own, Own, Text("linux"), Own],
        source: "Linux 7.2.13: ticks of 1024 ns and 16-bit square roots (codel.h, codel_impl.h)",
    },
    KeyDefaults {
        place: CODEL_AND_FQ,
        key: "mtu",
        values: [Own, Own, Own, Own, Text("1514 B"), Own],
        source: "Linux 7.2.13: the device's MTU plus an Ethernet header (sch_codel.c, sch_fq_codel.c)",
    },
    KeyDefaults {
        place: FQ_CODEL,
        key: "rules",
        values: [Own, Own, Own, Own, Text("linux"), Own],
        source: "Linux 7.2.13: a full buffer drops half of the bytes; the order of queues found empty differs, too \
                 (sch_fq_codel.c)",
    },
    KeyDefaults {
        place: PIE,
        key: "scheme",
        values: [Own, Own, Own, Own, Text("linux"), Own],
        source: "Linux 7.2.13: sch_pie.c, pie.h",
    },
    KeyDefaults {
        place: FQ_PIE,
        key: "rules",
        values: [Own, Own, Own, Own, Text("linux"), Own],
        source: "Linux 7.2.13: Linux's PIE in each queue, no byte limit (sch_fq_pie.c)",
    },
    KeyDefaults {
        place: SFQ,
        key: "longest",
        values: [Own, Own, Own, Own, Text("packets"), Own],
        source: "Linux 7.2.13: sorts queues by their number of packets (sch_sfq.c)",
    },
    KeyDefaults {
        place: SFQ,
        key: "active",
        values: [Own, Own, Own, Own, Whole(128), Own],
        source: "Linux 7.2.13: SFQ_DEFAULT_FLOWS (sch_sfq.c)",
    },
    KeyDefaults {
        place: SFB,
        key: "increment",
        values: [Own, Own, Own, Own, Real(33.0 / 65536.0), Own],
        source: "tc of iproute2 7.3: 1/2000 in 16 bits (q_sfb.c); the kernel's own 66 is never used",
    },
    KeyDefaults {
        place: SFB,
        key: "decrement",
        values: [Own, Own, Own, Own, Real(3.0 / 65536.0), Own],
        source: "tc of iproute2 7.3: 1/20000 in 16 bits (q_sfb.c)",
    },
    KeyDefaults {
        place: DUALPI2,
        key: "update_interval",
        values: [Own, Own, Own, Own, Text("16 ms"), Own],
        source: "Linux 7.2.13: dualpi2_reset_default (sch_dualpi2.c)",
    },
    KeyDefaults {
        place: DUALPI2,
        key: "alpha",
        values: [Own, Own, Own, Own, Real(41.0 / 256.0), Own],
        source: "Linux 7.2.13: 41/256 (sch_dualpi2.c)",
    },
    KeyDefaults {
        place: DUALPI2,
        key: "beta",
        values: [Own, Own, Own, Own, Real(819.0 / 256.0), Own],
        source: "Linux 7.2.13: 819/256 (sch_dualpi2.c)",
    },
    KeyDefaults {
        place: DUALPI2,
        key: "min_th",
        values: [Own, Own, Own, Own, Text("1 ms"), Own],
        source: "Linux 7.2.13: a step at 1 ms (sch_dualpi2.c)",
    },
    KeyDefaults {
        place: DUALPI2,
        key: "range",
        values: [Own, Own, Own, Own, Text("0 s"), Own],
        source: "Linux 7.2.13: a step (sch_dualpi2.c)",
    },
    KeyDefaults {
        place: DUALPI2,
        key: "th_len",
        values: [Own, Own, Own, Own, Whole(0), Own],
        source: "Linux 7.2.13: min_qlen_step (sch_dualpi2.c)",
    },
    KeyDefaults {
        place: DUALPI2,
        key: "th_len_at",
        values: [Own, Own, Own, Own, Text("enqueue"), Own],
        source: "Linux 7.2.13: skb_apply_step, on arrival (sch_dualpi2.c)",
    },
    KeyDefaults {
        place: DUALPI2,
        key: "c_weight",
        values: [Own, Own, Own, Own, Real(0.1), Own],
        source: "Linux 7.2.13: classic_protection 10% (sch_dualpi2.c)",
    },
    KeyDefaults {
        place: DUALPI2,
        key: "signals",
        values: [Own, Own, Own, Own, Text("random"), Own],
        source: "Linux 7.2.13: dualpi2_roll (sch_dualpi2.c)",
    },
    KeyDefaults {
        place: DUALPI2,
        key: "min_backlog",
        values: [Own, Own, Own, Own, Text("4542 B"), Own],
        source: "Linux 7.2.13: two frames after the one being decided (must_drop, sch_dualpi2.c)",
    },
    KeyDefaults {
        place: DUALPI2,
        key: "limit",
        values: [Own, Own, Own, Own, Text("3600 s"), Own],
        source: "Linux 7.2.13: no time limit; its limit of 10000 packets is the link's buffer (sch_dualpi2.c)",
    },
    KeyDefaults {
        place: CAKE,
        key: "layer",
        values: [Own, Own, Own, Own, Text("ethernet"), Own],
        source: "Linux: packet sizes include the Ethernet header, which CAKE removes before it adds an overhead \
                 (sch_cake.c)",
    },
    KeyDefaults {
        place: REM,
        key: "mark_at",
        values: [Text("departure"), Text("departure"), Text("departure"), Own, Own, Own],
        source: "marks on departure, and drops on arrival if it does not mark (observed in 2.35, assumed for earlier \
                 releases)",
    },
    KeyDefaults {
        place: REM_AND_AVQ,
        key: "unmarkable",
        values: [Text("pass"), Text("pass"), Text("pass"), Own, Own, Own],
        source: "with markpkts_, REM and Vq let packets pass that are not ECN-capable; without it, they drop them \
                 (observed in 2.35, assumed for earlier releases)",
    },
    KeyDefaults {
        place: REM,
        key: "update_interval",
        values: [Text("2 ms"), Text("2 ms"), Text("2 ms"), Own, Own, Own],
        source: "pupdtime_: 0.002 (ns-default.tcl of 2.35; we did not find when it was introduced)",
    },
    KeyDefaults {
        place: Place::Reverse,
        key: "changes",
        values: [Nothing, Nothing, Nothing, Own, Own, Own],
        source: "\"$ns delay\" and \"$ns bandwidth\" change one direction unless \"duplex\" is given (ns-lib.tcl of \
                 2.35); earlier versions can only change one direction (ns-lib.tcl without that argument; we did not \
                 find its date)",
    },
];

impl KeyDefaults {
    /// The tables that it is about, such as "flows.tcp" or "aqm, RED family".
    pub fn table(&self) -> &'static str {
        match self.place {
            Place::Tcp => "flows.tcp",
            Place::Capable => "flows.tcp with ecn",
            Place::Cubic => "flows.tcp with cubic",
            Place::OfNs3 => "flows.tcp with prr, reno or cubic",
            Place::Aqm(algorithms, _) | Place::Marking(algorithms, _) => algorithms,
            Place::Reverse => "reverse of a link with changes",
        }
    }

    /// The key's default in Quell, as text.
    pub fn quell(&self) -> String {
        let shown = |docs: &[ParamDoc]| {
            let doc = docs.iter().find(|doc| doc.name == self.key);
            doc.map(|doc| doc.default.clone())
        };
        let shown = match self.place {
            Place::Tcp | Place::Capable | Place::Cubic | Place::OfNs3 => shown(&TcpParams::docs()),
            Place::Aqm(_, of) | Place::Marking(_, of) => {
                let entries = CATALOG.iter().filter(|e| of(e));
                let mut all: Vec<String> = entries.filter_map(|e| shown(&(e.params)())).collect();
                all.sort();
                all.dedup();
                (!all.is_empty()).then(|| all.join(" or "))
            }
            Place::Reverse => Some("the forward ones".to_string()),
        };
        shown.unwrap_or_default()
    }

    /// The key's value in a dialect, as text; none in Quell's own.
    pub fn value(&self, dialect: Dialect) -> Option<String> {
        Some(match self.values[dialect.column()?] {
            Own => "Quell's".to_string(),
            Text(text) => text.to_string(),
            Whole(n) => n.to_string(),
            Real(x) => x.to_string(),
            Flag(flag) => flag.to_string(),
            Nothing => "none".to_string(),
            ByUnit { packets, bytes } => format!("{packets}; {bytes} with thresholds in bytes"),
            As(key) => format!("the value of {key}"),
        })
    }

    /// True if a dialect has a value of its own for the key, as Quell's has for every one.
    pub fn departs(&self, dialect: Dialect) -> bool {
        dialect.column().is_none_or(|column| !matches!(self.values[column], Own))
    }

    /// The key's value in a dialect; `all` are the other parameters of the same algorithm.
    fn given(&self, dialect: Dialect, all: impl Fn() -> Option<toml::Table>) -> Option<toml::Value> {
        Some(match self.values[dialect.column()?] {
            Own => return None,
            Text(text) => toml::Value::String(text.to_string()),
            Whole(n) => n.into(),
            Real(x) => x.into(),
            Flag(flag) => flag.into(),
            Nothing => toml::Value::Array(Vec::new()),
            ByUnit { packets, bytes } => {
                let all = all()?;
                let in_bytes = all
                    .get("min_th")
                    .and_then(toml::Value::as_str)
                    .is_some_and(|length| length.ends_with('B'));
                if in_bytes { bytes.into() } else { packets.into() }
            }
            As(key) => all()?.get(key).cloned().unwrap_or(toml::Value::Float(0.1)),
        })
    }
}

/// The rows about an algorithm of the catalog.
fn rows_of(algorithm: &str) -> impl Iterator<Item = &'static KeyDefaults> {
    let entry = catalog::find(algorithm);
    TABLE.iter().filter(move |row| {
        let (Place::Aqm(_, of) | Place::Marking(_, of)) = row.place else { return false };
        entry.is_some_and(|e| of(e) && (e.params)().iter().any(|doc| doc.name == row.key))
    })
}

/// True if a key of a resolved scenario has the value that the dialect gives it. It is in `table`, which is at
/// `at`.
pub(crate) fn gives(dialect: Dialect, at: &Path, table: &Node, key: &str) -> bool {
    let given = given(dialect, at, table, key);
    given.is_some_and(|given| table.get(key).is_some_and(|node| node.same(&Node::from_toml(&given))))
}

/// True if a key that a resolved scenario lacks must be written as "none": left out, it has the dialect's value.
pub(crate) fn needs_none(dialect: Dialect, at: &Path, table: &Node, key: &str) -> bool {
    given(dialect, at, table, key).is_some()
        && optional(table, at.last_key().unwrap_or_default()).iter().any(|doc| doc.name == key)
}

/// The value that the dialect gives a key in `table`, which is at `at`.
fn given(dialect: Dialect, at: &Path, table: &Node, key: &str) -> Option<toml::Value> {
    dialect.column()?;
    let within = |name: &str| at.last_key() == Some(name);
    let algorithm = table.get("algorithm").and_then(Node::text);
    let mut rows = TABLE.iter().filter(|row| {
        row.key == key
            && match row.place {
                Place::Tcp => within("tcp"),
                Place::Capable => within("tcp") && has_ecn(table),
                Place::Cubic => within("tcp") && has_cubic(table),
                Place::OfNs3 => within("tcp") && of_ns3(table),
                Place::Reverse => within("reverse"),
                Place::Aqm(..) | Place::Marking(..) => {
                    algorithm.is_some_and(|a| rows_of(a).any(|r| std::ptr::eq(r, *row)))
                }
            }
    });
    // A key may have a row for each group of dialects.
    rows.find_map(|row| row.given(dialect, || parameters(algorithm?, table)))
}

/// The keys of a table whose default is none: those of a sender, if the table is called `tcp`, or of an algorithm of
/// the catalog.
fn optional(table: &Node, name: &str) -> Vec<ParamDoc> {
    let entry = || catalog::find(table.get("algorithm").and_then(Node::text)?);
    let mut docs =
        if name == "tcp" { TcpParams::docs() } else { entry().map_or(Vec::new(), |e| (e.params)()) };
    docs.retain(|doc| doc.default == "none");
    docs
}

/// Takes out the optional keys that are "none": no dialect gives them a value any more. `name` is that of the table.
fn switch_off(node: &mut Node, name: &str) {
    let is_none = |e: &Entry| e.node.text() == Some("none");
    if node.entries().iter().any(is_none) {
        let optional = optional(node, name);
        if let Value::Table(entries) = &mut node.value {
            entries.retain(|e| !is_none(e) || optional.iter().all(|doc| doc.name != e.key));
        }
    }
    match &mut node.value {
        Value::Table(entries) => entries.iter_mut().for_each(|e| switch_off(&mut e.node, &e.key)),
        Value::Array(items) => items.iter_mut().for_each(|item| switch_off(item, name)),
        _ => {}
    }
}

/// Gives the keys that a scenario leaves out the values that they have in the dialect that it names, and takes out
/// those that are "none".
pub(crate) fn speak(tree: &mut Node) {
    rate_channels(tree);
    give(tree);
    switch_off(tree, "");
}

/// Gives links that are channels of Wi-Fi the rate of their fastest station, in any dialect.
fn rate_channels(tree: &mut Node) {
    for topology in ["dumbbell", "parking_lot"] {
        if let Some(link) = tree.get_mut(topology) {
            rate_channel(link);
        }
    }
    each(tree.get_mut("graph").and_then(|graph| graph.get_mut("links")), rate_channel);
}

fn rate_channel(link: &mut Node) {
    let stations = link.get("wifi").and_then(|wifi| wifi.get("stations"));
    let Some(Node { value: Value::Array(stations), .. }) = stations else { return };
    let rate = |station: &Node| station.get("rate")?.text()?.parse::<BitRate>().ok();
    // Where there is none, that is refused.
    let fastest = stations.iter().filter_map(rate).max().unwrap_or(BitRate::from_bps(1_000_000));
    fill(link, [("rate", toml::Value::String(fastest.to_string()))]);
}

/// Gives the keys that a scenario leaves out the values that they have in the dialect that it names.
fn give(tree: &mut Node) {
    let Some(Ok(dialect)) = tree.get("dialect").map(Node::read::<Dialect>) else { return };
    if dialect == Dialect::Quell {
        return;
    }
    if let Some(all) = tree.get_mut("aqm").filter(|node| node.text() == Some("all")) {
        let named = |e: &catalog::Entry| toml::Table::from_iter([("algorithm".to_string(), e.name.into())]);
        let list = CATALOG.iter().map(|e| toml::Value::Table(named(e))).collect();
        all.value = Node::from_toml(&toml::Value::Array(list)).value;
    }
    let marks = all_mark(tree);
    each(tree.get_mut("aqm"), |choice| algorithm(dialect, marks, choice));
    each(tree.get_mut("flows"), |group| {
        if !matches!(group.get("kind").and_then(Node::text), Some("udp" | "trace"))
            && let Some(table) = table(group, "tcp")
        {
            let (capable, cubic, of_ns3) = (has_ecn(table), has_cubic(table), of_ns3(table));
            let of_group = |row: &&KeyDefaults| match row.place {
                Place::Tcp => true,
                Place::Capable => capable,
                Place::Cubic => cubic,
                Place::OfNs3 => of_ns3,
                _ => false,
            };
            let rows = TABLE.iter().filter(of_group);
            fill(table, rows.filter_map(|row| Some((row.key, row.given(dialect, || None)?))));
        }
    });
    for topology in ["dumbbell", "parking_lot"] {
        if let Some(node) = tree.get_mut(topology) {
            link(dialect, node);
        }
    }
    let links = tree.get_mut("graph").and_then(|graph| graph.get_mut("links"));
    each(links, |node| link(dialect, node));
}

/// True if all links with a buffer and without an algorithm of their own mark; they share the scenario's algorithms.
fn all_mark(tree: &Node) -> bool {
    let graph = tree.get("graph").and_then(|graph| graph.get("links"));
    let of_graph = match graph.map(|links| &links.value) {
        Some(Value::Array(links)) => links.as_slice(),
        _ => &[],
    };
    let links = ["dumbbell", "parking_lot"].into_iter().filter_map(|topology| tree.get(topology));
    let mut shared = links
        .chain(of_graph)
        .filter(|link| link.get("buffer").is_some() && link.get("aqm").is_none())
        .peekable();
    shared.peek().is_some() && shared.all(has_ecn)
}

/// True if a table says `ecn = true`: a link marks, or TCP's packets may be marked.
fn has_ecn(table: &Node) -> bool {
    matches!(table.get("ecn"), Some(Node { value: Value::Bool(true), .. }))
}

fn link(dialect: Dialect, node: &mut Node) {
    let there = has_ecn(node);
    let back = match node.get("reverse") {
        Some(back) if back.get("ecn").is_some() => has_ecn(back),
        _ => there,
    };
    if let Some(own) = node.get_mut("aqm") {
        algorithm(dialect, there, own);
    }
    of_classes(dialect, there, node);
    if node.get("changes").is_some() {
        let rows = TABLE.iter().filter(|row| matches!(row.place, Place::Reverse));
        let rows = rows.filter_map(|row| Some((row.key, row.given(dialect, || None)?)));
        if let Some(back) = table(node, "reverse") {
            fill(back, rows);
        }
    }
    let own_back = node.get_mut("reverse").and_then(|back| back.get_mut("aqm"));
    if let Some(own) = own_back {
        algorithm(dialect, back, own);
    }
    if let Some(node) = node.get_mut("reverse") {
        of_classes(dialect, back, node);
    }
}

/// Gives the algorithms of a link's classes, of a cell's users and of stations what the dialect says of them.
fn of_classes(dialect: Dialect, marks: bool, link: &mut Node) {
    let uplink = link.get_mut("wifi").and_then(|wifi| wifi.get_mut("uplink"));
    if let Some(own) = uplink.and_then(|uplink| uplink.get_mut("aqm")) {
        algorithm(dialect, marks, own);
    }
    let mut own = |queue: &mut Node| {
        if let Some(own) = queue.get_mut("aqm") {
            algorithm(dialect, marks, own);
        }
    };
    each(link.get_mut("classes"), &mut own);
    each(link.get_mut("cell").and_then(|cell| cell.get_mut("users")), &mut own);
}

/// Gives an algorithm what the dialect says of it, in a queue that marks or not.
fn algorithm(dialect: Dialect, marks: bool, choice: &mut Node) {
    let Some(name) = choice.get("algorithm").and_then(Node::text).map(str::to_string) else { return };
    // What follows other parameters is found from those that are written.
    let given: Vec<_> = rows_of(&name)
        .filter(|row| marks || !matches!(row.place, Place::Marking(..)))
        .filter_map(|row| Some((row.key, row.given(dialect, || parameters(&name, choice))?)))
        .collect();
    fill(choice, given);
    // An algorithm may have another one as a parameter, as RED+Tail has its second queue's, by default one with
    // its own defaults.
    let within = parameters(&name, choice).into_iter().flatten().filter_map(|(key, value)| {
        let name = value.get("algorithm")?.clone();
        Some((key, toml::Value::Table(toml::Table::from_iter([("algorithm".to_string(), name)]))))
    });
    fill(choice, within.collect::<Vec<_>>());
    if let Value::Table(entries) = &mut choice.value {
        entries.iter_mut().for_each(|entry| algorithm(dialect, marks, &mut entry.node));
    }
}

/// All parameters of an algorithm of the catalog, those that are written and the defaults; none if they cannot
/// be read.
fn parameters(algorithm: &str, choice: &Node) -> Option<toml::Table> {
    let mut own = choice.clone();
    switch_off(&mut own, "");
    own.remove("algorithm");
    own.remove("label");
    let config = AqmConfig::deserialize_named(algorithm, own.reader())?.ok()?;
    Node::of(&config).ok().map(|all| all.to_table())
}

/// True if a table `tcp` has a recovery and a congestion control of which ns-3's rules are known, which are the defaults
/// of the one dialect that asks.
fn of_ns3(table: &Node) -> bool {
    let is_one = |key: &str, of: &[&str]| {
        table.get(key).is_none_or(|node| node.text().is_some_and(|text| of.contains(&text)))
    };
    is_one("recovery", &["prr"]) && is_one("congestion", &["reno", "cubic"])
}

/// True if a table `tcp` has CUBIC, which is the default of the dialects that ask.
fn has_cubic(table: &Node) -> bool {
    table.get("congestion").is_none_or(|node| node.text() == Some("cubic"))
}

/// The items of a list.
fn each(list: Option<&mut Node>, what: impl FnMut(&mut Node)) {
    if let Some(Node { value: Value::Array(items), .. }) = list {
        items.iter_mut().for_each(what);
    }
}

/// The table called `key`, which may be new.
fn table<'a>(node: &'a mut Node, key: &'static str) -> Option<&'a mut Node> {
    fill(node, [(key, toml::Value::Table(toml::Table::new()))]);
    node.get_mut(key)
}

/// Adds the keys that a table lacks; other values stay as they are.
fn fill(node: &mut Node, given: impl IntoIterator<Item = (impl Into<String>, toml::Value)>) {
    let Value::Table(entries) = &mut node.value else { return };
    for (key, value) in given {
        let key = key.into();
        if !entries.iter().any(|e| e.key == key) {
            entries.push(Entry { key, key_span: None, node: Node::from_toml(&value) });
        }
    }
}
