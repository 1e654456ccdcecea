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
    /// What museum.py calls it.
    pub name: &'static str,
    /// The algorithm that it is a bug of.
    pub algorithm: &'static str,
    /// What is wrong.
    pub bug: &'static str,
    /// Where it was seen, or what can be read so.
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

/// All of them. Those of FQ-CoDel (an empty new queue that is removed at once) and DualPI2 (a delay that
/// leaves out the time already waited, <https://github.com/private-octopus/picoquic/pull/1981>) belong below,
/// with the adaptors that they override.
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
