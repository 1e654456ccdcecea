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

const fn exhibit(
    name: &'static str,
    algorithm: &'static str,
    bug: &'static str,
    seen: &'static str,
) -> Exhibit {
    Exhibit { name, algorithm, bug, seen }
}

/// A reading that a document allows, or a slip that is easily made, where no public report is known.
const READING: &str = "a slip that a short test does not show; no public report is known here";

/// rattan's own list of what its PIE does otherwise than Linux's, at the head of its `pie.rs`.
const RATTAN: &str = "listed by https://github.com/stack-rs/rattan/pull/197, its own or Linux's side";

/// All of them.
pub const EXHIBITS: &[Exhibit] = &[
    exhibit(
        "codel-control-law",
        "codel",
        "the time of the next drop is (t + interval) / sqrt(count): the order of operations",
        "https://github.com/shadow/shadow/issues/2478",
    ),
    exhibit(
        "codel-sends-the-dropped",
        "codel",
        "the packet that was to be dropped is sent, and the next one dropped",
        "https://github.com/ravinet/mahimahi/issues/165",
    ),
    exhibit(
        "codel-from-now",
        "codel",
        "the next drop is counted from now, and not from when this one was due",
        "reviewed in https://github.com/mozilla/neqo/pull/3654",
    ),
    exhibit(
        "codel-count-restarts",
        "codel",
        "the count begins at 1 in every drop state (RFC 8289 section 5.5 goes on from the last)",
        READING,
    ),
    exhibit(
        "codel-count-less-two",
        "codel",
        "the count goes on at count - 2, an earlier rule, which RFC 8289 replaced",
        "Nichols and Jacobson 2012 (not verified), against RFC 8289 section 5.5",
    ),
    exhibit(
        "codel-17-intervals",
        "codel",
        "a drop state is recent for 17 intervals (RFC 8289 section 5.5: 16)",
        READING,
    ),
    exhibit(
        "codel-two-is-none",
        "codel",
        "a drop state does not go on from a count of two (RFC 8289 section 5.5: delta > 1)",
        READING,
    ),
    exhibit(
        "codel-last-packet",
        "codel",
        "no packet is spared when less than an MTU remains behind it",
        READING,
    ),
    exhibit(
        "codel-linear",
        "codel",
        "drops follow interval / count instead of interval / sqrt(count)",
        READING,
    ),
    exhibit(
        "codel-remembers-above",
        "codel",
        "a packet below the target does not end the interval in which all must be above it",
        READING,
    ),
    exhibit(
        "ce-is-marked-again",
        "codel",
        "a packet that says CE already is marked again, and counted",
        "ns-3, and the counters of https://github.com/openconfig/public/issues/1298",
    ),
    exhibit(
        "pie-bypass-in-packets",
        "pie",
        "two packets of any size are spared, where RFC 8033 section 4.1 spares the bytes of two mean packets",
        "reviewed in https://github.com/stack-rs/rattan/pull/197",
    ),
    exhibit(
        "pie-updates-at-arrivals",
        "pie",
        "the probability moves when a packet arrives, and not every T_UPDATE",
        "reviewed in https://github.com/stack-rs/rattan/pull/197",
    ),
    exhibit(
        "pie-braces",
        "pie",
        "a packet that is marked is not enqueued",
        "RFC 8033 Appendix B to the letter: its mark branch has no braces",
    ),
    exhibit("pie-accumulates-on", "pie", "the accumulated probability is not reset by a signal", READING),
    exhibit(
        "pie-unscaled",
        "pie",
        "the gains do not shrink with the probability (RFC 8033 section 4.2)",
        READING,
    ),
    exhibit(
        "pie-forgets-the-trend",
        "pie",
        "the old delay is overwritten before it is used: beta has no effect",
        READING,
    ),
    exhibit(
        "pie-burst-forever",
        "pie",
        "the burst allowance is restored although the probability is not 0 (RFC 8033 section 4.4)",
        READING,
    ),
    exhibit(
        "pie-stale-delay",
        "pie",
        "an idle link keeps the delay of its last packet",
        "RFC 8033 Appendix A to the letter: the delay changes only when a packet leaves",
    ),
    exhibit(
        "pie-gains-fixed",
        "pie",
        "alpha and beta are 1/8 and 1 1/4, whatever is configured (rattan 3, 16)",
        RATTAN,
    ),
    exhibit(
        "pie-not-derandomized",
        "pie",
        "every arrival is signaled with p, where RFC 8033 section 5.4 was asked for (rattan 5)",
        RATTAN,
    ),
    exhibit("pie-ignores-ecn", "pie", "nothing is ever marked (rattan 6)", RATTAN),
    exhibit(
        "pie-bytemode",
        "pie",
        "the probability goes with the packet's size (rattan 7: Linux's bytemode)",
        RATTAN,
    ),
    exhibit(
        "pie-boosts",
        "pie",
        "0.02 more at each update that finds a delay of more than 250 ms (rattan 8: Linux's)",
        RATTAN,
    ),
    exhibit(
        "pie-decays-early",
        "pie",
        "the probability decays below half of the target, where section 4.2 was asked for (rattan 9)",
        RATTAN,
    ),
    exhibit("pie-decays-by-a-64th", "pie", "the decay takes 1/64, and not 0.02 (rattan 9: Linux's)", RATTAN),
    exhibit(
        "pie-burst-by-departures",
        "pie",
        "the burst allowance falls with departures (rattan 10: Linux's)",
        RATTAN,
    ),
    exhibit(
        "pie-restores-at-updates",
        "pie",
        "the burst allowance is restored at updates, and not at arrivals (rattan 10)",
        RATTAN,
    ),
    exhibit(
        "pie-resets-all",
        "pie",
        "an update that finds no congestion forgets the last delay and the sum of probabilities (rattan 11: Linux's)",
        RATTAN,
    ),
    exhibit(
        "pie-delay-by-rate",
        "pie",
        "the delay is what waits over the rate, where time stamps were asked for (rattan 12)",
        RATTAN,
    ),
    exhibit(
        "pie-skips-updates",
        "pie",
        "nothing is updated while something waits and has no delay yet (rattan 13: Linux's)",
        RATTAN,
    ),
    exhibit(
        "fq-codel-empty-new-leaves",
        "fq-codel",
        "a new queue that is found empty is gone, and new again with its next packet (RFC 8290 section 4.2)",
        "argued in https://github.com/dtaht/sch_cake/issues/145: such a flow can take every other turn",
    ),
    exhibit(
        "fq-codel-spares-each-queue",
        "fq-codel",
        "CoDel spares the last packets of each queue, and not of all (RFC 8289 section 4.4)",
        READING,
    ),
    exhibit(
        "fq-codel-fattest-by-packets",
        "fq-codel",
        "the queue with the most packets pays for a full buffer, and not the one with the most bytes",
        READING,
    ),
    exhibit(
        "fq-codel-drops-one",
        "fq-codel",
        "a full buffer costs one packet, and not half of the fattest queue (RFC 8290 section 4.1)",
        "the draft before RFC 8290, and its section 5.2.3 if read alone",
    ),
    exhibit(
        "fq-codel-last-of-the-fattest",
        "fq-codel",
        "of several queues that are the fattest the last one pays, and not the first",
        "RFC 8290 section 4.1 leaves it open; Linux searches from the first",
    ),
    exhibit(
        "fq-codel-charges-drops",
        "fq-codel",
        "packets that CoDel drops take from the credits of their queue",
        READING,
    ),
    exhibit(
        "fq-codel-keeps-credits",
        "fq-codel",
        "a queue that comes back has the credits with which it left, and not a quantum",
        READING,
    ),
    exhibit("fq-codel-one-list", "fq-codel", "there is no list of new queues", READING),
    exhibit(
        "dualpi2-leaves-out-the-wait",
        "dualpi2",
        "the delay of the L queue leaves out the time that the packet has waited",
        "https://github.com/private-octopus/picoquic/pull/1981",
    ),
    exhibit(
        "dualpi2-unsquared",
        "dualpi2",
        "the Classic queue is signaled with p', and not with its square",
        READING,
    ),
    exhibit("dualpi2-uncoupled", "dualpi2", "the L queue is marked by its own AQM alone", READING),
    exhibit(
        "dualpi2-adds-the-two",
        "dualpi2",
        "the two probabilities of the L queue are added, and not compared (RFC 9332 Fig. 7, line 6)",
        READING,
    ),
    exhibit(
        "dualpi2-no-overload",
        "dualpi2",
        "saturated marking drops nothing of the L queue",
        "RFC 9332 Fig. 4, which Fig. 7 completes",
    ),
    exhibit(
        "dualpi2-classic-delay-only",
        "dualpi2",
        "the controller sees the Classic queue's delay alone",
        "RFC 9332 Fig. 6, which line 2a of Fig. 8 completes",
    ),
    exhibit(
        "dualpi2-beyond-the-step",
        "dualpi2",
        "all is marked beyond the end of the ramp, and not at it (RFC 9332 Fig. 5)",
        READING,
    ),
    exhibit(
        "dualpi2-signals-at-one",
        "dualpi2",
        "a sum of likelihoods that is 1 signals, and not only one above it (RFC 9332 Fig. 4)",
        READING,
    ),
    exhibit(
        "dualpi2-marks-one-packet",
        "dualpi2",
        "a packet that leaves nothing behind is marked for its delay (Th_len of RFC 9332 Fig. 7)",
        "RFC 9332 Fig. 4, which Fig. 7 completes; the default of Linux, which counts at arrivals",
    ),
    exhibit(
        "dualpi2-strict-priority",
        "dualpi2",
        "the L queue goes first whenever something waits there (RFC 9332 section 4.2.2)",
        READING,
    ),
    exhibit(
        "dualpi2-ect0-is-l4s",
        "dualpi2",
        "packets of ECT(0) wait in the L queue (RFC 9331 section 4.1)",
        READING,
    ),
    exhibit(
        "dualpi2-winds-up",
        "dualpi2",
        "p' is not kept in [0, 1]",
        "RFC 9332 Fig. 6 and 8 to the letter: the clamp is omitted for clarity",
    ),
    exhibit(
        "cake-overhead-twice",
        "cake",
        "the link's overhead is added to sizes that have it already",
        "https://github.com/hudra0/qosmate/issues/117",
    ),
    exhibit(
        "cake-no-framing",
        "cake",
        "the shaper counts bytes of packets, and not the cells that they take on the wire",
        READING,
    ),
    exhibit(
        "cake-tos-for-dscp",
        "cake",
        "the whole byte of the IP header is taken for the DSCP, its upper six bits",
        READING,
    ),
    exhibit(
        "cake-one-side",
        "cake",
        "triple isolation looks at the source alone, and not at whichever side has more queues",
        READING,
    ),
    exhibit(
        "cake-counts-new-queues",
        "cake",
        "a host pays for every queue that it has, and not only for those that have used up a turn",
        READING,
    ),
    exhibit(
        "cake-counts-for-good",
        "cake",
        "a queue that is found empty goes on counting for its host",
        READING,
    ),
    exhibit(
        "cake-shaper-saves-up",
        "cake",
        "the shaper's clock stays behind while the buffer is empty, and a burst follows",
        READING,
    ),
    exhibit("red-count-goes-on", "red", "the count is not reset below min_th", READING),
    exhibit(
        "red-count-survives-overflow",
        "red",
        "a packet lost to a full buffer does not restart the count",
        READING,
    ),
    exhibit(
        "red-idle-keeps-average",
        "red",
        "an idle link does not age the average (Floyd and Jacobson 1993, section 4)",
        READING,
    ),
    exhibit(
        "red-counts-the-arrival",
        "red",
        "the queue is measured with the arrival in it",
        "proposed in https://github.com/TL-System/ns.py/pull/20",
    ),
    exhibit(
        "red-geometric",
        "red",
        "every arrival is signaled with p_b: the gaps are geometric, and not uniform",
        READING,
    ),
    exhibit(
        "red-no-hard-limit",
        "red",
        "where the probability is 1, ECN-capable packets are still marked, and nothing limits the queue",
        "https://github.com/inet-framework/inet/pull/487 (the limit was not checked between the thresholds)",
    ),
    exhibit(
        "ared-gentle-slope-stays",
        "ared",
        "the slope above max_th keeps the first max_p while the one below follows it",
        "ns-2 (docs/algorithms/ared.md)",
    ),
    exhibit("ared-step-unbounded", "ared", "the step up is alpha, also where max_p / 4 is less", READING),
    exhibit("pi-winds-up", "pi", "the probability falls below 0 while the queue is short", READING),
    exhibit("pi-forgets-the-trend", "pi", "the old queue is overwritten before it is used", READING),
    exhibit(
        "blue-unfrozen",
        "blue",
        "every loss raises the probability, without freeze_time between them",
        READING,
    ),
    exhibit("blue-only-rises", "blue", "an idle link does not lower the probability", READING),
    exhibit("buffer-holds-one-more", "drop-tail", "the buffer holds one packet more than its size", READING),
    exhibit(
        "draws-for-nothing",
        "pie",
        "a number is drawn before it is known whether anything can be signaled: the next ones are others",
        "harmless by itself; it makes runs with the same seed incomparable",
    ),
];

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
