//! Parts of loss recovery that stand alone, and what a user may read about those that are the sender's own.

use crate::entry::Entry;

pub(crate) mod prr;
pub(crate) mod rack;
pub(crate) mod repair;

/// The entry in the catalog: Tahoe.
pub(crate) const TAHOE: Entry = Entry {
    key: "recovery",
    name: "tahoe",
    title: "Tahoe",
    summary: "Every loss restarts with a window of one packet.",
    source: "Jacobson 1988",
    reads: &["dup_threshold", "limited_transmit"],
    choices: &[
        "With limited_transmit, the packet that a duplicate acknowledgment releases after a timeout may be one that \
         was sent before.",
    ],
    ..Entry::PLAIN
};

/// The entry in the catalog: Reno.
pub(crate) const RENO: Entry = Entry {
    key: "recovery",
    name: "reno",
    title: "Reno",
    summary: "Fast recovery ends with the first new acknowledgment, so it repairs one loss per window.",
    source: "RFC 2581",
    reads: &["dup_threshold", "limited_transmit"],
    choices: &[
        "The window grows with the acknowledgment that ends a recovery, as in ns-2.",
        "With limited_transmit, the packet that a duplicate acknowledgment releases after a timeout may be one that \
         was sent before.",
    ],
    ..Entry::PLAIN
};

/// The entry in the catalog: NewReno.
pub(crate) const NEWRENO: Entry = Entry {
    key: "recovery",
    name: "newreno",
    title: "NewReno",
    summary: "Fast recovery lasts until all outstanding data is acknowledged, and repairs one loss per round trip.",
    source: "RFC 6582",
    reads: &["dup_threshold", "limited_transmit"],
    choices: &[
        "The timer restarts only with the first partial acknowledgment: the impatient variant (section 3.2).",
        "A second reduction needs an acknowledgment beyond the packets of the first (section 3.2). It has no \
         heuristics for duplicates after a timeout (section 4).",
        "With limited_transmit, the packet that a duplicate acknowledgment releases after a timeout may be one that \
         was sent before.",
    ],
    ..Entry::PLAIN
};

/// The entry in the catalog: SACK.
pub(crate) const SACK: Entry = Entry {
    key: "recovery",
    name: "sack",
    title: "SACK",
    summary: "Selective acknowledgments say what is missing; the window is halved at once.",
    source: "RFC 6675",
    reads: &["dup_threshold", "limited_transmit", "sack_delay", "sack_sizes"],
    choices: &["limited_transmit counts duplicate acknowledgments; section 5 counts the pipe."],
    ..Entry::PLAIN
};
