//! Attributes of qdiscs in the kernel's own netlink specification (Documentation/netlink/specs/tc.yaml).
//!
//! The sets are those of commit 1701940b1a02, which has no dualpi2 yet; `tc-dualpi2-attrs` are the attributes that
//! iproute2's q_dualpi2.c sends. Of qdiscs that are told a structure, the set is its fields.

/// A set of attributes, and each with its type.
pub type Set = (&'static str, &'static [(&'static str, &'static str)]);

/// The sets that words of tc become.
#[rustfmt::skip]
pub const SETS: &[Set] = &[
    ("tc-fifo-qopt", &[("limit", "u32")]),
    ("tc-codel-attrs", &[("target", "u32"), ("limit", "u32"), ("interval", "u32"), ("ecn", "u32"),
    ("ce-threshold", "u32")]),
    ("tc-fq-codel-attrs", &[
        ("target", "u32"), ("limit", "u32"), ("interval", "u32"), ("ecn", "u32"), ("flows", "u32"), ("quantum", "u32"),
        ("ce-threshold", "u32"), ("drop-batch-size", "u32"), ("memory-limit", "u32"), ("ce-threshold-selector", "u8"),
        ("ce-threshold-mask", "u8"),
    ]),
    ("tc-pie-attrs", &[
        ("target", "u32"), ("limit", "u32"), ("tupdate", "u32"), ("alpha", "u32"), ("beta", "u32"), ("ecn", "u32"),
        ("bytemode", "u32"), ("dq-rate-estimator", "u32"),
    ]),
    ("tc-fq-pie-attrs", &[
        ("limit", "u32"), ("flows", "u32"), ("target", "u32"), ("tupdate", "u32"), ("alpha", "u32"), ("beta", "u32"),
        ("quantum", "u32"), ("memory-limit", "u32"), ("ecn-prob", "u32"), ("ecn", "u32"), ("bytemode", "u32"),
        ("dq-rate-estimator", "u32"),
    ]),
    ("tc-dualpi2-attrs", &[
        ("limit", "u32"), ("memory-limit", "u32"), ("target", "u32"), ("tupdate", "u32"), ("alpha", "u32"),
        ("beta", "u32"), ("step-thresh-pkts", "u32"), ("step-thresh-us", "u32"), ("min-qlen-step", "u32"),
        ("coupling", "u8"), ("drop-overload", "u8"), ("drop-early", "u8"), ("c-protection", "u8"), ("ecn-mask", "u8"),
        ("split-gso", "u8"),
    ]),
    ("tc-red-attrs", &[
        ("parms", "binary"), ("stab", "binary"), ("max-p", "u32"), ("flags", "bitfield32"), ("early-drop-block", "u32"),
        ("mark-block", "u32"),
    ]),
    ("tc-choke-attrs", &[("parms", "binary"), ("stab", "binary"), ("max-p", "u32")]),
    ("tc-sfq-qopt-v1", &[
        ("v0", "binary"), ("depth", "u32"), ("headdrop", "u32"), ("limit", "u32"), ("qth-min", "u32"),
        ("qth-max", "u32"),
        ("Wlog", "u8"), ("Plog", "u8"), ("Scell-log", "u8"), ("flags", "u8"), ("max-P", "u32"), ("stats", "binary"),
    ]),
    ("tc-sfb-qopt", &[
        ("rehash-interval", "u32"), ("warmup-time", "u32"), ("max", "u32"), ("bin-size", "u32"), ("increment", "u32"),
        ("decrement", "u32"), ("limit", "u32"), ("penalty-rate", "u32"), ("penalty-burst", "u32"),
    ]),
    ("tc-cake-attrs", &[
        ("base-rate64", "u64"), ("diffserv-mode", "u32"), ("atm", "u32"), ("flow-mode", "u32"), ("overhead", "u32"),
        ("rtt", "u32"), ("target", "u32"), ("autorate", "u32"), ("memory", "u32"), ("nat", "u32"), ("raw", "u32"),
        ("wash", "u32"), ("mpu", "u32"), ("ingress", "u32"), ("ack-filter", "u32"), ("split-gso", "u32"),
        ("fwmark", "u32"),
    ]),
    ("tc-tbf-attrs", &[
        ("parms", "binary"), ("rtab", "binary"), ("ptab", "binary"), ("rate64", "u64"), ("prate4", "u64"),
        ("burst", "u32"),
        ("pburst", "u32"),
    ]),
];

#[cfg(test)]
mod tests {
    use super::SETS;
    use crate::grammar::{Becomes, GRAMMARS};

    #[test]
    fn every_word_is_an_attribute_of_the_kernel_or_has_a_reason() {
        for grammar in GRAMMARS {
            let (_, set) = SETS.iter().find(|(name, _)| *name == grammar.attributes).unwrap();
            for word in grammar.words {
                let known = |name: &str| set.iter().any(|(attribute, _)| *attribute == name);
                match word.becomes {
                    Becomes::Attribute(name) | Becomes::Field(name) => {
                        assert!(known(name), "{} {}: {name}", grammar.name, word.name);
                    }
                    Becomes::Other(reason) => assert!(reason.len() > 10, "{} {}", grammar.name, word.name),
                }
            }
        }
    }
}
