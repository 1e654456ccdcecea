//! The museum of the field's bugs: implementations that are wrong in one place, each as someone's was or as a
//! document can be read, and what that does to results.
//!
//! An exhibit is a class in `conformance/museum/museum.py` that overrides one method of an implementation
//! that passes. One that no vector tells from the reference is a gap of the vectors, and fails a test.

use std::path::Path;
use std::{fs, io};

/// A bug.
#[derive(Clone, Copy, Debug)]
pub struct Exhibit {
    /// The name in museum.py.
    pub name: &'static str,
    /// The algorithm that it is a bug of.
    pub algorithm: &'static str,
    /// The bug in words.
    pub bug: &'static str,
    /// The report, or the text that can be read so.
    pub seen: &'static str,
}

/// A reading that a document allows, or a slip that is easily made, where no public report is known.
const READING: &str = "a slip that a short test does not show; no public report is known here";

/// rattan's own list of what its PIE does otherwise than Linux's, at the head of its `pie.rs`.
const RATTAN: &str = "listed by https://github.com/stack-rs/rattan/pull/197, its own or Linux's side";

/// Lists the exhibits of each algorithm: name, bug, and where it was seen.
macro_rules! exhibits {
    ($( $algorithm:literal { $( $name:literal: $bug:literal, seen $seen:expr; )+ } )+) => {
        /// All of them.
        pub const EXHIBITS: &[Exhibit] =
            &[$($( Exhibit { name: $name, algorithm: $algorithm, bug: $bug, seen: $seen }, )+)+];
    };
}

exhibits! {
    "codel" {
        "codel-control-law": "the time of the next drop is (t + interval) / sqrt(count): the order of operations",
            seen "https://github.com/shadow/shadow/issues/2478";
        "codel-sends-the-dropped": "the packet that was to be dropped is sent, and the next one dropped",
            seen "https://github.com/ravinet/mahimahi/issues/165";
        "codel-from-now": "the next drop is counted from now, and not from when this one was due",
            seen "reviewed in https://github.com/mozilla/neqo/pull/3654";
        "codel-count-restarts": "the count begins at 1 in every drop state (RFC 8289 section 5.5 goes on from the last)",
            seen READING;
        "codel-count-less-two": "the count goes on at count - 2, an earlier rule, which RFC 8289 replaced",
            seen "Nichols and Jacobson 2012 (not verified), against RFC 8289 section 5.5";
        "codel-17-intervals": "a drop state is recent for 17 intervals (RFC 8289 section 5.5: 16)", seen READING;
        "codel-two-is-none": "a drop state does not go on from a count of two (RFC 8289 section 5.5: delta > 1)",
            seen READING;
        "codel-last-packet": "no packet is spared when less than an MTU remains behind it", seen READING;
        "codel-linear": "drops follow interval / count instead of interval / sqrt(count)", seen READING;
        "codel-remembers-above": "a packet below the target does not end the interval in which all must be above it",
            seen READING;
        "ce-is-marked-again": "a packet that says CE already is marked again, and counted",
            seen "ns-3, and the counters of https://github.com/openconfig/public/issues/1298";
    }
    "pie" {
        "pie-bypass-in-packets": "two packets of any size are spared, where RFC 8033 section 4.1 spares the bytes of two mean packets",
            seen "reviewed in https://github.com/stack-rs/rattan/pull/197";
        "pie-updates-at-arrivals": "the probability moves when a packet arrives, and not every T_UPDATE",
            seen "reviewed in https://github.com/stack-rs/rattan/pull/197";
        "pie-braces": "a packet that is marked is not enqueued",
            seen "RFC 8033 Appendix B to the letter: its mark branch has no braces";
        "pie-accumulates-on": "the accumulated probability is not reset by a signal", seen READING;
        "pie-unscaled": "the gains do not shrink with the probability (RFC 8033 section 4.2)", seen READING;
        "pie-forgets-the-trend": "the old delay is overwritten before it is used: beta has no effect", seen READING;
        "pie-burst-forever": "the burst allowance is restored although the probability is not 0 (RFC 8033 section 4.4)",
            seen READING;
        "pie-stale-delay": "an idle link keeps the delay of its last packet",
            seen "RFC 8033 Appendix A to the letter: the delay changes only when a packet leaves";
        "pie-gains-fixed": "alpha and beta are 1/8 and 1 1/4, whatever is configured (rattan 3, 16)", seen RATTAN;
        "pie-not-derandomized": "every arrival is signaled with p, where RFC 8033 section 5.4 was asked for (rattan 5)",
            seen RATTAN;
        "pie-ignores-ecn": "nothing is ever marked (rattan 6)", seen RATTAN;
        "pie-bytemode": "the probability goes with the packet's size (rattan 7: Linux's bytemode)", seen RATTAN;
        "pie-boosts": "0.02 more at each update that finds a delay of more than 250 ms (rattan 8: Linux's)",
            seen RATTAN;
        "pie-decays-early": "the probability decays below half of the target, where section 4.2 was asked for (rattan 9)",
            seen RATTAN;
        "pie-decays-by-a-64th": "the decay takes 1/64, and not 0.02 (rattan 9: Linux's)", seen RATTAN;
        "pie-burst-by-departures": "the burst allowance falls with departures (rattan 10: Linux's)", seen RATTAN;
        "pie-restores-at-updates": "the burst allowance is restored at updates, and not at arrivals (rattan 10)",
            seen RATTAN;
        "pie-resets-all": "an update that finds no congestion forgets the last delay and the sum of probabilities (rattan 11: Linux's)",
            seen RATTAN;
        "pie-delay-by-rate": "the delay is what waits over the rate, where time stamps were asked for (rattan 12)",
            seen RATTAN;
        "pie-skips-updates": "nothing is updated while something waits and has no delay yet (rattan 13: Linux's)",
            seen RATTAN;
    }
    "fq-codel" {
        "fq-codel-empty-new-leaves": "a new queue that is found empty is gone, and new again with its next packet (RFC 8290 section 4.2)",
            seen "argued in https://github.com/dtaht/sch_cake/issues/145: such a flow can take every other turn";
        "fq-codel-spares-each-queue": "CoDel spares the last packets of each queue, and not of all (RFC 8289 section 4.4)",
            seen READING;
        "fq-codel-fattest-by-packets": "the queue with the most packets pays for a full buffer, and not the one with the most bytes",
            seen READING;
        "fq-codel-drops-one": "a full buffer costs one packet, and not half of the fattest queue (RFC 8290 section 4.1)",
            seen "the draft before RFC 8290, and its section 5.2.3 if read alone";
        "fq-codel-charges-drops": "packets that CoDel drops take from the credits of their queue", seen READING;
        "fq-codel-keeps-credits": "a queue that comes back has the credits with which it left, and not a quantum",
            seen READING;
        "fq-codel-one-list": "there is no list of new queues", seen READING;
    }
    "dualpi2" {
        "dualpi2-leaves-out-the-wait": "the delay of the L queue leaves out the time that the packet has waited",
            seen "https://github.com/private-octopus/picoquic/pull/1981";
        "dualpi2-unsquared": "the Classic queue is signaled with p', and not with its square", seen READING;
        "dualpi2-uncoupled": "the L queue is marked by its own AQM alone", seen READING;
        "dualpi2-adds-the-two": "the two probabilities of the L queue are added, and not compared (RFC 9332 Fig. 7, line 6)",
            seen READING;
        "dualpi2-no-overload": "saturated marking drops nothing of the L queue",
            seen "RFC 9332 Fig. 4, which Fig. 7 completes";
        "dualpi2-classic-delay-only": "the controller sees the Classic queue's delay alone",
            seen "RFC 9332 Fig. 6, which line 2a of Fig. 8 completes";
        "dualpi2-beyond-the-step": "all is marked beyond the end of the ramp, and not at it (RFC 9332 Fig. 5)",
            seen READING;
        "dualpi2-signals-at-one": "a sum of likelihoods that is 1 signals, and not only one above it (RFC 9332 Fig. 4)",
            seen READING;
        "dualpi2-marks-one-packet": "a packet that leaves nothing behind is marked for its delay (Th_len of RFC 9332 Fig. 7)",
            seen "RFC 9332 Fig. 4, which Fig. 7 completes; the default of Linux, which counts at arrivals";
        "dualpi2-strict-priority": "the L queue goes first whenever something waits there (RFC 9332 section 4.2.2)",
            seen READING;
        "dualpi2-ect0-is-l4s": "packets of ECT(0) wait in the L queue (RFC 9331 section 4.1)", seen READING;
        "dualpi2-winds-up": "p' is not kept in [0, 1]",
            seen "RFC 9332 Fig. 6 and 8 to the letter: the clamp is omitted for clarity";
    }
    "cake" {
        "cake-overhead-twice": "the link's overhead is added to sizes that have it already",
            seen "https://github.com/hudra0/qosmate/issues/117";
        "cake-no-framing": "the shaper counts bytes of packets, and not the cells that they take on the wire",
            seen READING;
        "cake-tos-for-dscp": "the whole byte of the IP header is taken for the DSCP, its upper six bits", seen READING;
        "cake-one-side": "triple isolation looks at the source alone, and not at whichever side has more queues",
            seen READING;
        "cake-counts-new-queues": "a host pays for every queue that it has, and not only for those that have used up a turn",
            seen READING;
        "cake-counts-for-good": "a queue that is found empty goes on counting for its host", seen READING;
        "cake-shaper-saves-up": "the shaper's clock stays behind while the buffer is empty, and a burst follows",
            seen READING;
        "cake-drops-the-last-packet": "the only packet of a flow's queue is dropped as any other",
            seen "Quell itself, until it was compared with Linux at 2 Mbit/s";
    }
    "cobalt" {
        "cobalt-drops-the-last-packet": "the only packet of a queue is dropped as any other",
            seen "Quell itself, until it was compared with Linux at 2 Mbit/s";
        "cobalt-waits-for-its-first-signal": "a fresh queue begins with a reciprocal root of 1, and not of 0",
            seen "Quell itself, until it was compared with Linux";
        "cobalt-spares-the-last-mark": "the last packet of a queue is not marked either", seen READING;
        "cobalt-makes-up-for-signals": "signals that were missed are made up for, as RFC 8289 has it", seen READING;
        "cobalt-at-four-packets": "a wait of just the target, or of just four packets, is too long", seen READING;
        "cobalt-winds-up": "BLUE's probability rises beyond 1", seen READING;
        "cobalt-winds-down": "BLUE's probability falls below 0", seen READING;
        "cobalt-steps-at-the-target": "BLUE's probability steps again after just the target", seen READING;
    }
    "red" {
        "red-count-goes-on": "the count is not reset below min_th", seen READING;
        "red-count-survives-overflow": "a packet lost to a full buffer does not restart the count", seen READING;
        "red-idle-keeps-average": "an idle link does not age the average (Floyd and Jacobson 1993, section 4)",
            seen READING;
        "red-counts-the-arrival": "the queue is measured with the arrival in it",
            seen "proposed in https://github.com/TL-System/ns.py/pull/20";
        "red-geometric": "every arrival is signaled with p_b: the gaps are geometric, and not uniform", seen READING;
    }
    "ared" {
        "ared-gentle-slope-stays": "the slope above max_th keeps the first max_p while the one below follows it",
            seen "ns-2 (docs/algorithms/ared.md)";
        "ared-step-unbounded": "the step up is alpha, also where max_p / 4 is less", seen READING;
    }
    "pi" {
        "pi-winds-up": "the probability falls below 0 while the queue is short", seen READING;
        "pi-forgets-the-trend": "the old queue is overwritten before it is used", seen READING;
    }
    "blue" {
        "blue-unfrozen": "every loss raises the probability, without freeze_time between them", seen READING;
        "blue-only-rises": "an idle link does not lower the probability", seen READING;
    }
    "drop-tail" {
        "buffer-holds-one-more": "the buffer holds one packet more than its size", seen READING;
    }
}

/// The program that exhibits are one mistake away from; it passes.
pub const RIGHT: &str = "adaptor.py";

/// The programs, by their names.
pub const FILES: &[(&str, &str)] = &[
    ("adaptor.py", include_str!("../../../conformance/adaptors/python/adaptor.py")),
    ("museum.py", include_str!("../../../conformance/museum/museum.py")),
];

/// Writes the programs into a folder, where `python3 museum.py NAME` is an exhibit, and `python3 adaptor.py`
/// right.
///
/// # Errors
/// What the system says.
pub fn write(dir: &Path) -> io::Result<()> {
    FILES.iter().try_for_each(|(name, text)| fs::write(dir.join(name), text))
}
