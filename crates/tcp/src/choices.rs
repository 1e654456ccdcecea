//! The choices of which senders are made, under the names that scenario files give them.

use quell_aqm::choice;

/// Hands the list of congestion controls to the macro `$make`, after what else that takes: of each its description, its
/// name here and in scenario files, and the type that is one in the module that has it.
macro_rules! congestion_controls {
    ($make:ident $($more:tt)*) => {
        $make! {
            $($more)*
            /// A packet more each round trip, half the window after a loss (RFC 5681).
            Reno = "reno", reno: Reno;
            /// A cubic function of the time since the last loss (RFC 9438).
            Cubic = "cubic", cubic: Cubic;
            /// A model of the path: bandwidth and round-trip time (draft-cardwell-iccrg-bbr-congestion-control-00).
            Bbr1 = "bbr1", bbr1: Box<Bbr1>;
            /// The same, with bounds that losses teach (draft-ietf-ccwg-bbr).
            Bbr3 = "bbr3", bbr3: Box<Bbr3>;
            /// The share of packets that are marked reduces the window (RFC 8257).
            Dctcp = "dctcp", dctcp: Dctcp;
            /// The same for the Internet (draft-briscoe-iccrg-prague-congestion-control).
            Prague = "prague", prague: Prague;
            /// The delay that the queue adds is held at a target (RFC 6817).
            Ledbat = "ledbat", ledbat: Ledbat;
        }
    };
}
pub(crate) use congestion_controls;

macro_rules! names {
    ($( $(#[doc = $doc:literal])+ $name:ident = $text:literal, $module:ident: $kind:ty; )+) => {
        choice! {
            /// A congestion control.
            pub enum CongestionControl { $( $(#[doc = $doc])+ $name = $text, )+ }
        }
    };
}
congestion_controls!(names);

impl CongestionControl {
    /// Returns whether the share of marks matters to it, not only that there are some: its marks are "scalable" (RFC
    /// 9330 section 3).
    pub fn is_scalable(self) -> bool {
        matches!(self, CongestionControl::Dctcp | CongestionControl::Prague)
    }

    /// Returns whether window and rate follow a model of the path.
    pub const fn is_model(self) -> bool {
        matches!(self, CongestionControl::Bbr1 | CongestionControl::Bbr3)
    }

    /// The ECN codepoint of its packets where nothing else is asked for: that of RFC 9331 section 4.1 of Prague's, that
    /// of RFC 3168 and RFC 8257 of all others.
    pub fn codepoint(self) -> Codepoint {
        if self == CongestionControl::Prague { Codepoint::Ect1 } else { Codepoint::Ect0 }
    }
}

choice! {
    /// The ECN codepoint of data that may be marked.
    pub enum Codepoint {
        /// ECT(0): a mark is a reason to reduce the window, as a loss is (RFC 3168).
        Ect0 = "ect0",
        /// ECT(1): the sender asks for the treatment of L4S (RFC 9331 section 4.1).
        Ect1 = "ect1",
    }
}

choice! {
    /// The recovery from losses.
    pub enum Recovery {
        /// Every loss restarts from a window of one (Jacobson 1988).
        Tahoe = "tahoe",
        /// Fast recovery that ends with the first new acknowledgment (RFC 2581).
        Reno = "reno",
        /// Fast recovery that lasts until all outstanding data is acknowledged (RFC 6582).
        NewReno = "newreno",
        /// Recovery from selective acknowledgments (RFC 6675).
        Sack = "sack",
        /// The same, with the window reduced in proportion to what arrives (RFC 9937).
        Prr = "prr",
        /// The same, with losses found by time and tails probed (RFC 8985).
        Rack = "rack",
    }
}

impl Recovery {
    /// Returns whether acknowledgments are selective.
    #[inline]
    pub(crate) fn is_selective(self) -> bool {
        matches!(self, Recovery::Sack | Recovery::Prr | Recovery::Rack)
    }

    /// Returns whether the window falls in proportion to what arrives.
    #[inline]
    pub(crate) fn is_proportional(self) -> bool {
        matches!(self, Recovery::Prr | Recovery::Rack)
    }
}

choice! {
    /// The end of slow start.
    pub enum SlowStart {
        /// Ends with a loss or a mark, or at `initial_ssthresh` (RFC 5681).
        Standard = "standard",
        /// Ends also when the round-trip time rises (RFC 9406).
        HyStartPlusPlus = "hystart++",
        /// Ends also when the round-trip time rises, or with a train of acknowledgments half a round trip long (Ha and
        /// Rhee 2011).
        HyStart = "hystart",
    }
}

choice! {
    /// The units of a window's growth.
    pub enum Growth {
        /// Each acknowledgment that acknowledges something, as if it were of one packet.
        Acknowledgments = "acknowledgments",
        /// Each packet that is acknowledged.
        Packets = "packets",
        /// The same, and only by whole packets: those acknowledged are counted until they make one more.
        WholePackets = "whole-packets",
    }
}

choice! {
    /// The growth of CUBIC's window where Reno's would be the larger one.
    pub enum RenoFriendly {
        /// Grows by alpha a round trip until the window is what it was before the reduction, then by a packet (RFC
        /// 9438 section 4.3).
        Rfc9438 = "rfc9438",
        /// Grows by alpha a round trip (RFC 8312 section 4.2).
        Rfc8312 = "rfc8312",
    }
}

choice! {
    /// The way in which a receiver tells its sender of marks.
    pub enum Feedback {
        /// Sets one bit, from a mark until the sender says that it has reduced its window (RFC 3168 section 6.1.3).
        Classic = "classic",
        /// Counts the marked packets in each acknowledgment, as QUIC does (RFC 9000 section 19.3.2).
        Exact = "exact",
        /// Counts them modulo eight: the ACE field of accurate ECN, without its option (RFC 9768 section
        /// 3.2.2).
        AccEcn = "accecn",
    }
}

choice! {
    /// The quantity of which `min_rto` is the least.
    pub enum RtoFloor {
        /// The timeout (RFC 6298 rule 2.4).
        Timeout = "timeout",
        /// Four variations, to which the smoothed round-trip time is added (Linux).
        Variation = "variation",
    }
}

choice! {
    /// What measures the round-trip time of which the retransmission timeout is made.
    pub enum RttSamples {
        /// One packet in a round trip (RFC 6298 section 3).
        RoundTrip = "round-trip",
        /// Each acknowledgment of new data, as timestamps do (RFC 7323 section 4; RFC 9002 section 5.1).
        Acknowledgment = "acknowledgment",
    }
}

choice! {
    /// The time for which an acknowledgment is held back.
    pub enum AckTimer {
        /// `delayed_ack`, after the first `quick_acks` packets of a connection.
        Fixed = "fixed",
        /// From `delayed_ack` on longer where packets come seldom, and at once after a mark, a packet that was sent again,
        /// and a pause longer than a timeout (Linux).
        Adaptive = "adaptive",
    }
}

choice! {
    /// The congestion window after a timeout.
    pub enum LossWindow {
        /// One packet (RFC 5681 section 3.1).
        One = "one",
        /// The packets that may still arrive, and one more (Linux).
        Flight = "flight",
    }
}

choice! {
    /// Whose rules hold where ns-3's senders and the RFCs differ.
    pub enum Rules {
        /// Those of the RFCs.
        Rfc = "rfc",
        /// Those of ns-3 3.44: a recovery may begin as soon as the last one has ended; proportional rate reduction
        /// counts duplicates twice and restarts the timer once, Reno's threshold is half of the pipe, and CUBIC keeps
        /// what it counted when it reduces the window.
        Ns3 = "ns-3",
    }
}

choice! {
    /// The reduction of the window by a mark.
    pub enum MarkReduction {
        /// Takes place at once (RFC 3168 section 6.1.2).
        AtOnce = "at-once",
        /// Takes place as that by a loss: in proportion to what arrives, over a round trip in which it does not grow;
        /// the receiver acknowledges the first packet after it at once (Linux).
        Proportional = "proportional",
    }
}
