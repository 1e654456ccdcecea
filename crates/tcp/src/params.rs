//! The parameters of TCP.

use alloc::format;
use alloc::vec::Vec;
use core::fmt;

use quell_aqm::Ecn;
use quell_aqm::params;
use quell_aqm::params::{ParamError, ParamValue, require};
use quell_units::{Bytes, Duration};

use crate::choices::{
    AckTimer, Codepoint, CongestionControl, Feedback, Growth, LossWindow, MarkReduction, Recovery,
    RenoFriendly, RtoFloor, RttSamples, Rules, SlowStart,
};
use crate::entry::Entry;
use crate::feedback::ACE;

/// The entry in the catalog: growth by acknowledgments.
pub(crate) const ACKNOWLEDGMENTS: Entry = Entry {
    key: "growth",
    name: "acknowledgments",
    title: "Growth by acknowledgments",
    summary: "Each acknowledgment makes the window grow as if it acknowledged one packet.",
    source: "RFC 2581",
    choices: &["With delayed acknowledgments the window grows half as fast."],
    ..Entry::PLAIN
};

/// The entry in the catalog: growth by packets.
pub(crate) const PACKETS: Entry = Entry {
    key: "growth",
    name: "packets",
    title: "Growth by packets",
    summary: "Each acknowledged packet makes the window grow.",
    source: "RFC 5681 section 3.1 and RFC 3465",
    choices: &[
        "An acknowledgment may add any number of packets, without the limit of RFC 3465. After a timeout it adds one \
         (RFC 3465 section 2.3).",
    ],
    ..Entry::PLAIN
};

/// The entry in the catalog: growth by whole packets.
pub(crate) const WHOLE_PACKETS: Entry = Entry {
    key: "growth",
    name: "whole-packets",
    title: "Growth by whole packets",
    summary: "Acknowledged packets are counted until they make the window a whole packet larger.",
    source: "Linux 7.2, as it runs",
    choices: &[
        "Reno's window of w packets grows by one for every w acknowledged packets. With \"packets\" the window has a \
         fraction, and each acknowledged packet adds 1/w to it. Growing from 3 to 6 packets then takes 14 of them \
         instead of 12, so Reno grows more slowly in small windows and loses less.",
        "CUBIC's target, its Reno-friendly window and the number of packets that add one to the window are whole \
         numbers. That number is at least two. Before the first reduction and after a timeout, when the earlier window \
         is unknown, it is at most 20, i.e., a twentieth per round trip. The Reno-friendly window is the target for \
         the next round trip, not for now: it grows by one with 15/8 of a window, rounded down. While the window does \
         not change, that number is recomputed every 32 ms, so a window of two packets waits that long and then grows \
         by two at once. A reduction leaves 717/1024. With rules = \"ns-3\", neither applies.",
        "A reduced window is a whole number, and the count restarts. DCTCP's estimate is a whole number of 1024ths, \
         and it takes whole packets from the window, or none if that would be less than one. LEDBAT and Prague count \
         as with \"packets\".",
    ],
    ..Entry::PLAIN
};

params! {
    /// TCP's parameters. The defaults are those of ns-2 2.35's one-way agents, which the source papers used; a
    /// present-day host would set `delayed_ack`, `initial_window` and `min_rto` differently (RFC 5681, RFC 6928, RFC
    /// 6298).
    pub struct TcpParams {
        /// Loss recovery: "tahoe", "reno", "newreno", "sack", "prr" or "rack".
        recovery: Recovery = Recovery::Reno, unit "name", source "the source papers use Reno";
        /// Congestion control: "reno", "cubic", "dctcp", "prague", "ledbat", "bbr1" or "bbr3"; the last two need "rack" and `pacing`, "prague" `pacing`, "prague" and "dctcp" `ecn` and `feedback`.
        congestion: CongestionControl = CongestionControl::Reno, unit "name", source "the source papers use Reno";
        /// How fast CUBIC grows in its Reno-friendly region: "rfc9438", or "rfc8312", which always grows by alpha.
        reno_friendly: RenoFriendly = RenoFriendly::Rfc9438, unit "name", source "RFC 9438 section 4.3; Linux has RFC 8312's";
        /// How slow start ends without a loss: "standard" (it does not), "hystart++" or "hystart".
        slow_start: SlowStart = SlowStart::Standard, unit "name", source "RFC 5681; hystart++ is RFC 9406, hystart Ha and Rhee 2011";
        /// What the window grows by: "acknowledgments", the "packets" that they acknowledge, or "whole-packets".
        growth: Growth = Growth::Acknowledgments, unit "name", source "ns-2 and RFC 2581; packets are RFC 5681 section 3.1 and RFC 3465";
        /// Whether packets are paced: at the rate of bbr1 or bbr3; otherwise at 2 windows per round-trip time while the
        /// window is below half of ssthresh, and at 1.2 windows after that.
        pacing: bool = false, unit "true or false", source "ns-2 and RFC 5681 do not; Linux paces so";
        /// How many packets may leave at once after a sender was slower than its pacing rate.
        pacing_burst: u32 = 10, unit "packets", source "RFC 9002 section 7.7";
        /// How much leaves at once with "rack": as much as the pacing rate allows in this time, from 2 packets to 64
        /// kB. The sender also waits up to 1 ms for an acknowledgment that is due. With none, each packet leaves as
        /// soon as it may.
        send_quantum: Option<Duration> = None, unit "time", source "RFC 9002 section 7.7 spaces packets; Linux: 1/1024 s";
        /// Whether a sender's own host holds at most twice what leaves at once, or a `send_quantum` at its pacing rate
        /// if that is more; applies with "rack" and `send_quantum`, if the sender has an access link.
        small_queues: bool = false, unit "true or false", source "no RFC has a host's own queue; Linux: TCP small queues";
        /// Size of a data packet; see `header`.
        packet: Bytes = Bytes::new(1000), unit "bytes", source "ns-2 packetSize_";
        /// Header bytes added to `packet` on the wire; 0 if `packet` includes them.
        header: Bytes = Bytes::new(0), unit "bytes", source "ns-2 useHeaders_ false; true is 40 B";
        /// Size on the wire of a pure acknowledgment; SACK blocks are included, or added with `sack_sizes`.
        ack_size: Bytes = Bytes::new(40), unit "bytes", source "ns-2: a TCP/IP header, whatever it says; Linux: 66 B with Ethernet and timestamps";
        /// Size on the wire of a SYN and of its acknowledgment.
        syn_size: Bytes = Bytes::new(40), unit "bytes", source "ns-2: as an acknowledgment; Linux: 74 B with Ethernet and its options";
        /// Whether selective acknowledgments are larger than others, by 4 B plus 8 B for each block.
        sack_sizes: bool = false, unit "true or false", source "RFC 2018 section 3, and two bytes of padding; ns-2: no";
        /// Congestion window after the handshake, in packets.
        initial_window: u32 = 2, unit "packets", source "ns-2 windowInit_; RFC 6928 allows 10";
        /// Slow-start threshold at the start in packets; none for the maximum window.
        initial_ssthresh: Option<u32> = None, unit "packets", source "RFC 5681 section 3.1: arbitrarily high";
        /// Largest window the receiver advertises, in packets.
        max_window: u32 = 1_000_000, unit "packets", source "RFC 7323 section 2.3: at most 1 GiB, 80 Gbit/s over 100 ms";
        /// Whether a connection begins with a SYN and its acknowledgment.
        syn: bool = true, unit "true or false", source "ns-2 syn_";
        /// How long an acknowledgment may be held back for `ack_every` packets; none to acknowledge each packet.
        delayed_ack: Option<Duration> = None, unit "time", source "ns-2 TCPSink; RFC 5681 section 4.2 allows 500 ms";
        /// How many in-order packets one acknowledgment covers, if `delayed_ack` allows.
        ack_every: u32 = 2, unit "packets", source "RFC 5681 section 4.2: at least every second";
        /// How many packets at the start of a connection are acknowledged at once.
        quick_acks: u32 = 0, unit "packets", source "RFC 5681 has none; Linux: 16";
        /// How `delayed_ack` applies: as a "fixed" time, or, with "adaptive", as the least value of a time that follows
        /// the gaps between packets, up to a round trip and 200 ms. In the latter case, 2 acknowledgments go at once
        /// after a mark or a retransmitted packet, and `quick_acks` after a gap longer than a timeout or a packet that
        /// came twice.
        ack_timer: AckTimer = AckTimer::Fixed, unit "name", source "RFC 5681 section 4.2: at most 500 ms; Linux: adaptive";
        /// How long a selective acknowledgment may be held back, but at most a third of the round trip. The first three
        /// for a gap and every 45th go at once. None to send each at once.
        sack_delay: Option<Duration> = None, unit "time", source "RFC 5681 section 4.2 has none; Linux: 1 ms";
        /// How long packets in order are gathered before the receiver takes them in as one, as a card and GRO do: up
        /// to 64 kB, with one acknowledgment. None to take in each as it comes.
        gro: Option<Duration> = None, unit "time", source "RFC 5681 section 4.2 asks for more acknowledgments; Linux: until the card's next poll";
        /// Whether each of the first two duplicate acknowledgments may send a new packet.
        limited_transmit: bool = true, unit "true or false", source "RFC 3042; ns-2 singledup_";
        /// Duplicate acknowledgments that signal a loss.
        dup_threshold: u32 = 3, unit "1", source "RFC 5681 section 3.2";
        /// Whether, with "rack", acknowledgments say if they are for a retransmitted packet, as timestamps do; a
        /// timeout for data that is only late is undone when the data arrives.
        eifel: bool = false, unit "true or false", source "RFC 3522 and RFC 4015; Linux does";
        /// Whether, with "rack", the first acknowledgments after a timeout show if it was needed: if a packet that was
        /// sent only once arrives, the timeout is undone.
        frto: bool = false, unit "true or false", source "RFC 5682; Linux does";
        /// The congestion window after a timeout: "one" packet, or, with "rack", the "flight" that is not lost plus one
        /// packet.
        loss_window: LossWindow = LossWindow::One, unit "name", source "RFC 5681 section 3.1; Linux: flight";
        /// Smallest retransmission timeout.
        min_rto: Duration = Duration::from_millis(200), unit "time", source "ns-2 minrto_; RFC 6298 says 1 s";
        /// What `min_rto` bounds from below: the "timeout", or the "variation" that is added to the smoothed round-trip
        /// time.
        rto_floor: RtoFloor = RtoFloor::Timeout, unit "name", source "RFC 6298 rule 2.4; Linux: variation";
        /// What measures the round-trip time for the timeout: one packet per "round-trip", or, with "rack", each
        /// "acknowledgment".
        rtt_samples: RttSamples = RttSamples::RoundTrip, unit "name", source "RFC 6298 section 3; RFC 7323 section 4 and Linux: acknowledgment";
        /// Largest retransmission timeout.
        max_rto: Duration = Duration::from_secs(60), unit "time", source "RFC 6298 rule 2.5";
        /// Most doublings of the retransmission timeout.
        max_doublings: u32 = 16, unit "1", source "RFC 6298 bounds the timeout, max_rto; ns-2 until 2.30 doubles at most 6 times";
        /// Retransmission timeout before the first measurement.
        initial_rto: Duration = Duration::from_secs(3), unit "time", source "ns-2 rtxcur_init_; RFC 6298 says 1 s";
        /// Granularity of round-trip time measurements.
        granularity: Duration = Duration::from_millis(10), unit "time", source "ns-2 tcpTick_";
        /// Whether data is sent ECN-capable and marks are answered (RFC 3168).
        ecn: bool = false, unit "true or false", source "the source papers switch it on where they use it";
        /// The ECN codepoint of data that may be marked: "ect0" or "ect1"; none for the congestion control's own, which
        /// is "ect1" with "prague" and "ect0" with the others.
        codepoint: Option<Codepoint> = None, unit "name", source "RFC 3168 section 5; RFC 9331 section 4.1; RFC 8257 has ECT(0)";
        /// How the receiver reports marks: "classic" (one bit), "exact" (their number) or "accecn" (their number modulo
        /// 8).
        feedback: Feedback = Feedback::Classic, unit "name", source "RFC 3168 section 6.1.3; RFC 9000 section 19.3.2; RFC 9768 section 3.2.2";
        /// How a mark reduces the window: "at-once", or, with "prr" and "rack", "proportional", as a loss does.
        mark_reduction: MarkReduction = MarkReduction::AtOnce, unit "name", source "RFC 3168 section 6.1.2; Linux: proportional";
        /// Whose rules apply where they differ: those of the "rfc", or, with recovery = "prr", those of the senders of
        /// "ns-3".
        rules: Rules = Rules::Rfc, unit "name", source "RFC 9937, RFC 5681, RFC 9438; ns-3 3.44";
        /// Whether retransmissions are ECN-capable and may carry CWR, as in ns-2; RFC 3168 says no.
        ecn_retransmissions: bool = false, unit "true or false", source "RFC 3168 sections 6.1.2 and 6.1.5";
        /// Whether Reno halves the whole packets of its window and rounds down, so that 5.9 packets become 2 instead of
        /// 2.95.
        whole_reductions: bool = false, unit "true or false", source "RFC 5681 eq. 4 has no rounding; ns-2 until January 2006";
        /// The one-way queueing delay that LEDBAT aims for.
        ledbat_target: Duration = Duration::from_millis(100), unit "time", source "RFC 6817 section 2.5: at most 100 ms";
        /// How fast LEDBAT's window follows the delay, in packets per round trip without a queue.
        ledbat_gain: f64 = 1.0, unit "packets", source "RFC 6817 section 2.5: at most 1";
    }
}

/// The largest window, in packets. A larger one would not fit into memory for many flows.
const MAX_WINDOW: u32 = 1_000_000;

/// Most packets that one acknowledgment may wait for.
const MOST_TOGETHER: u32 = 1000;

/// What GRO gathers at most: the largest packet of IP.
const GRO_BYTES: u64 = 65_535;

/// RFC 9000 section 18.2: 2^14 ms and more are invalid.
const LONGEST_DELAY: Duration = Duration::from_millis(16_383);

/// The values that a key may have, as a scenario would state them.
pub(crate) struct Range {
    pub from: &'static str,
    pub to: Option<&'static str>,
    /// `from` itself is not allowed.
    pub open: bool,
}

impl fmt::Display for Range {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Range { from, to, open } = self;
        match (to, open) {
            (None, true) => write!(f, "above {from}"),
            (None, false) => write!(f, "at least {from}"),
            (Some(to), true) => write!(f, "above {from}, at most {to}"),
            (Some(to), false) => write!(f, "{from} to {to}"),
        }
    }
}

const fn above(from: &'static str) -> Range {
    Range { from, to: None, open: true }
}

const fn within(from: &'static str, to: &'static str) -> Range {
    Range { from, to: Some(to), open: false }
}

/// The range of every key that is a quantity: what [`Config::new`] allows whatever the other keys are.
pub(crate) const RANGES: &[(&str, Range)] = &[
    ("packet", within("1 B", "65535 B")),
    ("header", within("0 B", "65534 B")),
    ("ack_size", within("1 B", "65507 B")),
    ("syn_size", within("1 B", "65535 B")),
    ("initial_window", within("1", "1000000")),
    ("initial_ssthresh", within("2", "1000000")),
    ("max_window", within("1", "1000000")),
    ("delayed_ack", Range { from: "0 s", to: Some("16383 ms"), open: true }),
    ("gro", Range { from: "0 s", to: Some("10 ms"), open: true }),
    ("ack_every", within("1", "1000")),
    ("quick_acks", within("0", "1000000")),
    ("dup_threshold", within("1", "1000000")),
    ("min_rto", above("0 s")),
    ("max_rto", above("0 s")),
    ("max_doublings", within("0", "16")),
    ("initial_rto", above("0 s")),
    ("granularity", above("0 s")),
    ("pacing_burst", within("1", "1000000")),
    ("send_quantum", Range { from: "0 s", to: Some("1 s"), open: true }),
    ("sack_delay", Range { from: "0 s", to: Some("500 ms"), open: true }),
    ("ledbat_target", Range { from: "0 s", to: Some("100 ms"), open: true }),
    ("ledbat_gain", Range { from: "0", to: Some("1"), open: true }),
];

/// The range of a key, if it is a quantity.
pub(crate) fn range(key: &str) -> Option<&'static Range> {
    RANGES.iter().find(|(name, _)| *name == key).map(|(_, range)| range)
}

/// The acknowledgments that carry a [`Report`](crate::Report).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reports {
    Never,
    /// Those that report what is missing, or what came twice.
    OfGaps,
    Always,
}

/// [`TcpParams`], checked and in the form the state machines read.
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) recovery: Recovery,
    pub(crate) congestion: CongestionControl,
    pub(crate) reno_friendly: RenoFriendly,
    pub(crate) rules: Rules,
    pub(crate) slow_start: SlowStart,
    pub(crate) growth: Growth,
    /// Most packets that an acknowledgment counts for.
    pub(crate) growth_limit: u32,
    pub(crate) whole_reductions: bool,
    pub(crate) pacing: bool,
    pub(crate) pacing_burst: u32,
    pub(crate) send_quantum: Option<Duration>,
    small_queues: bool,
    /// The code that sends the packets says when they have left.
    pub(crate) host_tells: bool,
    pub(crate) sack_delay: Option<Duration>,
    pub(crate) ack_every: u32,
    /// None ends where acknowledgments adapt: [`Config::adaptive_quick_acks`].
    pub(crate) quick_acks: u32,
    /// The number of acknowledgments that go at once, where they adapt.
    pub(crate) adaptive_quick_acks: Option<u32>,
    /// The payload of a data packet.
    payload: Bytes,
    wire: Bytes,
    ack_size: u16,
    syn_size: u16,
    sack_sizes: bool,
    pub(crate) initial_window: f64,
    pub(crate) initial_ssthresh: f64,
    pub(crate) max_window: f64,
    pub(crate) syn: bool,
    pub(crate) delayed_ack: Option<Duration>,
    pub(crate) gro: Option<Duration>,
    /// The packets that are gathered at most.
    pub(crate) gro_packets: u32,
    /// Each packet in order is acknowledged as it comes.
    pub(crate) acknowledges_each: bool,
    /// Duplicates that may each send a packet (RFC 3042).
    pub(crate) limited_transmit: u32,
    pub(crate) dup_threshold: u32,
    pub(crate) eifel: bool,
    pub(crate) frto: bool,
    pub(crate) loss_window: LossWindow,
    pub(crate) min_rto: Duration,
    pub(crate) rto_floor: RtoFloor,
    /// Each acknowledgment measures the round-trip time for the timeout.
    pub(crate) rtt_of_each: bool,
    pub(crate) max_rto: Duration,
    pub(crate) max_doublings: u32,
    pub(crate) initial_rto: Duration,
    pub(crate) granularity: Duration,
    pub(crate) ecn: bool,
    /// The ECN field of data that may be marked.
    capable: Ecn,
    pub(crate) ecn_retransmissions: bool,
    /// [`MarkReduction::AtOnce`] where the other one has no effect.
    pub(crate) mark_reduction: MarkReduction,
    /// [`Feedback::Classic`] without ECN.
    pub(crate) feedback: Feedback,
    pub(crate) reports: Reports,
    pub(crate) ledbat_target: Duration,
    pub(crate) ledbat_gain: f64,
}

impl TcpParams {
    /// Checks the parameters.
    ///
    /// # Errors
    /// Names the field that breaks a rule.
    pub fn check(&self) -> Result<(), ParamError> {
        Config::new(self).map(drop)
    }

    /// A data packet on the wire: `packet` and `header`.
    pub fn wire_bytes(&self) -> Bytes {
        Bytes::new(self.packet.get() + self.header.get())
    }

    /// Returns whether `small_queues` has an effect.
    pub fn keeps_small_queues(&self) -> bool {
        self.small_queues && self.recovery == Recovery::Rack && self.send_quantum.is_some()
    }

    /// Returns whether receivers send acknowledgments when a timer runs out, too.
    pub fn acknowledges_later(&self) -> bool {
        self.delayed_ack.is_some() || self.sack_delay.is_some() || self.gro.is_some()
    }

    /// Returns whether data that may be marked asks for the treatment of L4S: it is ECT(1) (RFC 9331 section 4.1).
    pub fn is_l4s(&self) -> bool {
        self.codepoint.unwrap_or(self.congestion.codepoint()) == Codepoint::Ect1
    }
}

impl Config {
    /// The packets of an acknowledgment among which the field of accurate ECN may have wrapped. Receivers that gather
    /// packets are known to acknowledge many at once, so it has not (as in Linux, which measures that).
    #[inline]
    pub(crate) fn covered_by_ace(&self, delivered: u32) -> u32 {
        if self.gro.is_some() { delivered.min(ACE - 1) } else { delivered }
    }

    /// Returns whether losses are repaired as hosts do today, and not by the rules of a simulator.
    #[inline]
    pub(crate) fn repairs_as_hosts(&self) -> bool {
        self.recovery.is_proportional() && self.rules != Rules::Ns3
    }

    /// Checks the parameters.
    ///
    /// # Errors
    /// Names the field that breaks a rule.
    pub fn new(p: &TcpParams) -> Result<Self, ParamError> {
        let wire = p.packet.get().saturating_add(p.header.get());
        require(p.packet.get() > 0, "packet", p.packet, "must hold at least 1 B")?;
        require(
            wire <= u16::MAX as u64,
            "packet",
            p.packet,
            "must be at most 65535 B including its header (RFC 791)",
        )?;
        size("ack_size", p.ack_size, BLOCKS)?;
        size("syn_size", p.syn_size, 0)?;
        let largest = "the largest window";
        count("initial_window", p.initial_window, 1, MAX_WINDOW, largest)?;
        count("max_window", p.max_window, 1, MAX_WINDOW, "1 GiB of packets (RFC 7323 section 2.3)")?;
        if let Some(packets) = p.initial_ssthresh {
            let reason = "half of two packets in flight (RFC 5681 section 3.1), and the largest window, which \"none\" \
                means";
            count("initial_ssthresh", packets, 2, MAX_WINDOW, reason)?;
        }
        let reason = "with more, only delayed_ack would matter";
        count("ack_every", p.ack_every, 1, MOST_TOGETHER, reason)?;
        count("quick_acks", p.quick_acks, 0, MAX_WINDOW, largest)?;
        count(
            "dup_threshold",
            p.dup_threshold,
            1,
            MAX_WINDOW,
            "the largest window, which cannot have more duplicates",
        )?;
        require(
            !p.granularity.is_zero(),
            "granularity",
            p.granularity,
            "must be longer than 0 s (RFC 6298 section 2)",
        )?;
        require(!p.min_rto.is_zero(), "min_rto", p.min_rto, "must be longer than 0 s")?;
        require(
            p.max_rto >= p.min_rto,
            "max_rto",
            p.max_rto,
            format!("must not be below min_rto ({})", p.min_rto),
        )?;
        require(p.max_doublings <= 16, "max_doublings", p.max_doublings, "must be at most 16")?;
        require(!p.initial_rto.is_zero(), "initial_rto", p.initial_rto, "must be longer than 0 s")?;
        require(
            p.delayed_ack.is_none_or(|d| !d.is_zero()),
            "delayed_ack",
            p.delayed_ack.unwrap_or_default(),
            "must be longer than 0 s; \"none\" acknowledges each packet",
        )?;
        require(
            p.delayed_ack.is_none_or(|d| d <= LONGEST_DELAY),
            "delayed_ack",
            p.delayed_ack.unwrap_or_default(),
            "must be at most 16383 ms (RFC 9000 section 18.2; RFC 5681 section 4.2 has 500 ms)",
        )?;
        count(
            "pacing_burst",
            p.pacing_burst,
            1,
            MAX_WINDOW,
            "the largest window, of which nothing would be paced",
        )?;
        within_span(
            "send_quantum",
            p.send_quantum,
            Duration::from_secs(1),
            "a burst is at most a second's packets",
        )?;
        let most = Duration::from_millis(500);
        within_span(
            "sack_delay",
            p.sack_delay,
            most,
            "no acknowledgment may wait longer (RFC 5681 section 4.2)",
        )?;
        within_span(
            "gro",
            p.gro,
            Duration::from_millis(10),
            "cards hold packets back for less than a millisecond",
        )?;
        demands(p)?;
        require(
            p.rules == Rules::Rfc || p.recovery == Recovery::Prr,
            "rules",
            p.rules.show(),
            "needs recovery = \"prr\", because no differences of ns-3's other recoveries are known",
        )?;
        require(
            p.rules == Rules::Rfc
                || matches!(p.congestion, CongestionControl::Reno | CongestionControl::Cubic),
            "rules",
            p.rules.show(),
            "needs congestion = \"reno\" or \"cubic\", because no differences of ns-3's other controls are known",
        )?;
        // Nobody tells of marks where there are none.
        let feedback = if p.ecn { p.feedback } else { Feedback::Classic };
        let reports = match p.recovery.is_selective() {
            _ if feedback != Feedback::Classic || p.congestion == CongestionControl::Ledbat => {
                Reports::Always
            }
            true => Reports::OfGaps,
            false => Reports::Never,
        };
        let adapts = p.ack_timer == AckTimer::Adaptive && p.delayed_ack.is_some() && p.ack_every > 1;
        let gradual = p.ecn && p.recovery.is_proportional() && p.congestion != CongestionControl::Prague;
        Ok(Config {
            recovery: p.recovery,
            congestion: p.congestion,
            reno_friendly: p.reno_friendly,
            rules: p.rules,
            slow_start: p.slow_start,
            growth: p.growth,
            whole_reductions: p.whole_reductions,
            growth_limit: if p.growth == Growth::Acknowledgments { 1 } else { u32::MAX },
            pacing: p.pacing,
            pacing_burst: p.pacing_burst,
            send_quantum: p.send_quantum.filter(|_| p.recovery == Recovery::Rack),
            small_queues: p.keeps_small_queues(),
            host_tells: false,
            sack_delay: p.sack_delay.filter(|_| p.recovery.is_selective()),
            ack_every: p.ack_every,
            quick_acks: if adapts { u32::MAX } else { p.quick_acks },
            adaptive_quick_acks: adapts.then_some(p.quick_acks),
            payload: p.packet,
            ack_size: p.ack_size.get() as u16,
            syn_size: p.syn_size.get() as u16,
            sack_sizes: p.sack_sizes && p.recovery.is_selective(),
            wire: Bytes::new(wire),
            initial_window: p.initial_window as f64,
            initial_ssthresh: p.initial_ssthresh.unwrap_or(p.max_window).max(2) as f64,
            max_window: p.max_window as f64,
            syn: p.syn,
            delayed_ack: p.delayed_ack,
            gro: p.gro,
            gro_packets: (GRO_BYTES / p.packet.get()).max(1) as u32,
            acknowledges_each: p.delayed_ack.is_none() && p.gro.is_none(),
            limited_transmit: if p.limited_transmit { 2 } else { 0 },
            dup_threshold: p.dup_threshold,
            eifel: p.eifel && p.recovery == Recovery::Rack,
            frto: p.frto && p.recovery == Recovery::Rack,
            loss_window: p.loss_window,
            min_rto: p.min_rto,
            rto_floor: p.rto_floor,
            rtt_of_each: p.rtt_samples == RttSamples::Acknowledgment && p.recovery == Recovery::Rack,
            max_rto: p.max_rto,
            max_doublings: p.max_doublings,
            initial_rto: p.initial_rto,
            granularity: p.granularity,
            ecn: p.ecn,
            capable: if p.is_l4s() { Ecn::Ect1 } else { Ecn::Ect0 },
            ecn_retransmissions: p.ecn_retransmissions,
            mark_reduction: if gradual { p.mark_reduction } else { MarkReduction::AtOnce },
            feedback,
            reports,
            ledbat_target: p.ledbat_target,
            ledbat_gain: p.ledbat_gain,
        })
    }

    /// Promises to tell senders when their packets will have left the host ([`Sender::on_handed_over`]), which
    /// those with `small_queues` wait for.
    ///
    /// [`Sender::on_handed_over`]: crate::Sender::on_handed_over
    #[must_use]
    pub fn with_host(mut self) -> Self {
        self.host_tells = self.small_queues;
        self
    }

    /// Returns whether senders are to be told when their packets will have left the host.
    #[inline]
    pub fn asks_host(&self) -> bool {
        self.host_tells
    }

    /// Returns whether ns-3's rules hold.
    #[inline]
    pub(crate) fn ns3(&self) -> bool {
        self.rules == Rules::Ns3
    }

    /// Returns whether there is a pacer: packets wait, or some leave together.
    #[inline]
    pub(crate) fn paces(&self) -> bool {
        self.pacing || self.send_quantum.is_some()
    }

    /// Returns whether a sender has timers beside that of retransmissions.
    #[inline]
    pub(crate) fn has_timers(&self) -> bool {
        self.recovery == Recovery::Rack || self.paces()
    }

    /// Returns whether a mark reduces the window in proportion to what arrives.
    #[inline]
    pub(crate) fn gradual(&self) -> bool {
        self.mark_reduction == MarkReduction::Proportional
    }

    /// Returns whether reductions are announced (RFC 3168 section 6.1.2).
    #[inline]
    pub(crate) fn announces(&self) -> bool {
        self.ecn && self.feedback == Feedback::Classic
    }

    /// The payload of a data packet.
    #[inline]
    pub fn payload(&self) -> Bytes {
        self.payload
    }

    /// A data packet on the wire, with its header.
    pub fn wire_bytes(&self) -> Bytes {
        self.wire
    }

    /// An acknowledgment on the wire, with so many blocks of what was received beyond a gap.
    pub fn ack_bytes(&self, blocks: usize) -> u16 {
        let options = if self.sack_sizes && blocks > 0 { 4 + 8 * blocks as u16 } else { 0 };
        self.ack_size + options
    }

    /// A SYN on the wire, or its acknowledgment.
    pub fn syn_bytes(&self) -> u16 {
        self.syn_size
    }

    /// The way in which losses are found and repaired.
    pub fn recovery(&self) -> Recovery {
        self.recovery
    }

    /// The ECN field of a data packet: sent for the first time, or again.
    pub fn ecn(&self, retransmission: bool) -> Ecn {
        let capable = self.ecn && (!retransmission || self.ecn_retransmissions);
        if capable { self.capable } else { Ecn::NotEct }
    }

    /// Returns whether each acknowledgment of data carries a [`Report`](crate::Report).
    #[inline]
    pub fn always_reports(&self) -> bool {
        self.reports == Reports::Always
    }

    /// Returns whether a number, and where marks are counted their count, acknowledges data that comes in order
    /// without a mark.
    pub fn acknowledges_by_number(&self) -> bool {
        !self.measures_delay()
    }

    /// Returns whether each acknowledgment says how many packets have come marked.
    pub fn counts_marks(&self) -> bool {
        self.feedback != Feedback::Classic
    }

    /// The ticks in which round-trip times are measured: those of timestamps are fine.
    #[inline]
    pub(crate) fn rtt_tick(&self) -> Duration {
        if self.rtt_of_each { Duration::from_micros(1) } else { self.granularity }
    }

    /// Returns whether the receiver sees that a packet was sent again, and tells it.
    #[inline]
    pub fn tells_again(&self) -> bool {
        self.eifel
    }

    /// Returns whether data carries the time it was sent, so that the receiver can tell how long it was on its way.
    #[inline]
    pub fn measures_delay(&self) -> bool {
        self.congestion == CongestionControl::Ledbat
    }
}

/// A number from a range, or the error that says so and why it ends there.
fn count(field: &'static str, n: u32, from: u32, to: u32, why: &str) -> Result<(), ParamError> {
    require((from..=to).contains(&n), field, n, format!("must be from {from} to {to}: {why}"))
}

/// The bytes of the most blocks that an acknowledgment has.
const BLOCKS: u16 = 4 + 8 * 3;

/// Checks the size of a packet that grows by `more` bytes at most.
fn size(field: &'static str, size: Bytes, more: u16) -> Result<(), ParamError> {
    let most = u64::from(u16::MAX - more);
    let reason = format!("must be from 1 B to {most} B, because a packet has at most 65535 B (RFC 791)");
    require((1..=most).contains(&size.get()), field, size, reason)
}

/// A time above zero and not beyond `most`, if there is one.
fn within_span(
    field: &'static str,
    time: Option<Duration>,
    most: Duration,
    why: &str,
) -> Result<(), ParamError> {
    let rule = || format!("must be longer than 0 s and at most {most}: {why}; \"none\" switches it off");
    require(time.is_none_or(|t| !t.is_zero() && t <= most), field, time.unwrap_or_default(), rule())
}

/// The demands of a congestion control on the other parameters: all that is missing, at the key that asks.
fn demands(p: &TcpParams) -> Result<(), ParamError> {
    let (model, scalable) = (p.congestion.is_model(), p.congestion.is_scalable());
    let prague = p.congestion == CongestionControl::Prague;
    let wants = [
        (
            model && p.recovery != Recovery::Rack,
            "recovery = \"rack\", because it samples what each packet delivers (draft-ietf-ccwg-bbr section 4.1)",
        ),
        (
            model && !p.pacing,
            "pacing = true, because it sends at its own rate (draft-ietf-ccwg-bbr section 5.6)",
        ),
        (model && p.ecn, "ecn = false, because it does not react to marks (RFC 3168 section 5)"),
        (
            scalable && !p.ecn,
            "ecn = true, because it reacts to marks (RFC 8257 section 3, RFC 9331 section 4.1)",
        ),
        (
            scalable && p.feedback == Feedback::Classic,
            "feedback = \"accecn\" or \"exact\", because it must know how many packets are marked (RFC 8257 section \
             3.2, RFC 9331 section 4.2)",
        ),
        (
            prague && !p.pacing,
            "pacing = true, because its queue is too short for bursts (RFC 9331 section 4.3)",
        ),
    ];
    let missing: Vec<&str> = wants.into_iter().filter_map(|(is, what)| is.then_some(what)).collect();
    let control = format!("\"{}\"", p.congestion.show());
    require(missing.is_empty(), "congestion", control, format!("needs {}", missing.join("; and ")))?;
    require(
        !p.ledbat_target.is_zero() && p.ledbat_target <= Duration::from_millis(100),
        "ledbat_target",
        p.ledbat_target,
        "must be longer than 0 s and at most 100 ms (RFC 6817 section 2.5)",
    )?;
    require(
        p.ledbat_gain > 0.0 && p.ledbat_gain <= 1.0,
        "ledbat_gain",
        p.ledbat_gain,
        "must be above 0 and at most 1 (RFC 6817 section 2.5)",
    )
}
