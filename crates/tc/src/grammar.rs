//! The words of each qdisc, in the order in which tc prints them, and the netlink attribute that each becomes.
//!
//! The words are those of the manual pages of iproute2 7.3 and what `tc -d qdisc show` prints. The attributes are in
//! [`attributes`](crate::attributes).

use crate::Kernel;
use crate::values::Kind;

/// A word of a qdisc.
#[derive(Debug, PartialEq)]
pub(crate) struct Word {
    /// As tc reads it.
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) becomes: Becomes,
}

/// What tc makes of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Becomes {
    /// An attribute of the qdisc.
    Attribute(&'static str),
    /// A field of a structure that is an attribute.
    Field(&'static str),
    /// Something else, for this reason.
    Other(&'static str),
}

/// A qdisc.
#[derive(Debug, PartialEq)]
pub(crate) struct Grammar {
    pub(crate) name: &'static str,
    /// Its set of attributes in the kernel's netlink specification.
    pub(crate) attributes: &'static str,
    pub(crate) since: Kernel,
    pub(crate) words: &'static [Word],
}

impl Grammar {
    pub(crate) fn word(&self, name: &str) -> Option<&'static Word> {
        self.words.iter().find(|word| word.name == name)
    }

    /// The setting that a word is, or is a value of.
    pub(crate) fn setting(word: &Word) -> &'static str {
        match word.kind {
            Kind::Of(setting) => setting,
            _ => word.name,
        }
    }
}

/// The grammar of a qdisc.
pub(crate) fn find(qdisc: &str) -> Option<&'static Grammar> {
    GRAMMARS.iter().find(|grammar| grammar.name == qdisc)
}

/// The name that a wrong one was meant for: no more than one letter of three is another.
pub(crate) fn nearest(wrong: &str, names: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    // No name is as long as this, and the comparison takes the product of the lengths.
    let short = (wrong.len() < 40).then_some(names).into_iter().flatten();
    let (apart, name) = short.map(|name| (strsim::damerau_levenshtein(wrong, name), name)).min()?;
    (apart * 3 <= wrong.len()).then_some(name)
}

const fn word(name: &'static str, kind: Kind, attribute: &'static str) -> Word {
    Word { name, kind, becomes: Becomes::Attribute(attribute) }
}

const fn field(name: &'static str, kind: Kind, structure: &'static str) -> Word {
    Word { name, kind, becomes: Becomes::Field(structure) }
}

const fn other(name: &'static str, kind: Kind, reason: &'static str) -> Word {
    Word { name, kind, becomes: Becomes::Other(reason) }
}

const fn short(name: &'static str, words: &'static str) -> Word {
    Word { name, kind: Kind::Short(words), becomes: Becomes::Other("tc writes other words for it") }
}

const fn layer(name: &'static str, framing: &'static str, overhead: i64, mpu: i64) -> Word {
    let kind = Kind::Layer(framing, overhead, mpu);
    Word { name, kind, becomes: Becomes::Other("tc writes framing, overhead and mpu for it") }
}

const ALWAYS: Kernel = Kernel::OLDEST;
const OF_WLOG: &str = "tc computes Wlog of it";
const OF_SCELL: &str = "tc computes Scell_log and the table stab of it";
const SHOWN: &str = "tc -d prints it, and reads burst or probability instead";
const OF_GAINS: &str = "tc computes target, tupdate, alpha and beta of it";

/// All of them.
#[rustfmt::skip]
pub(crate) const GRAMMARS: &[Grammar] = &[
    Grammar {
        name: "pfifo", attributes: "tc-fifo-qopt", since: ALWAYS,
        words: &[field("limit", Kind::Packets, "limit")],
    },
    Grammar { name: "bfifo", attributes: "tc-fifo-qopt", since: ALWAYS, words: &[field("limit", Kind::Size, "limit")] },
    Grammar {
        name: "pfifo_head_drop", attributes: "tc-fifo-qopt", since: ALWAYS,
        words: &[field("limit", Kind::Packets, "limit")],
    },
    Grammar { name: "codel", attributes: "tc-codel-attrs", since: ALWAYS, words: &[
        word("limit", Kind::Packets, "limit"),
        word("target", Kind::Time, "target"),
        word("ce_threshold", Kind::Time, "ce-threshold"),
        word("interval", Kind::Time, "interval"),
        word("ecn", Kind::Of("ecn"), "ecn"),
        word("noecn", Kind::Of("ecn"), "ecn"),
    ] },
    Grammar { name: "fq_codel", attributes: "tc-fq-codel-attrs", since: ALWAYS, words: &[
        word("limit", Kind::Packets, "limit"),
        word("flows", Kind::Int, "flows"),
        word("quantum", Kind::Size, "quantum"),
        word("target", Kind::Time, "target"),
        word("ce_threshold", Kind::Time, "ce-threshold"),
        word("ce_threshold_selector", Kind::Selector, "ce-threshold-selector"),
        word("interval", Kind::Time, "interval"),
        word("memory_limit", Kind::Size, "memory-limit"),
        word("ecn", Kind::Of("ecn"), "ecn"),
        word("noecn", Kind::Of("ecn"), "ecn"),
        word("drop_batch", Kind::Int, "drop-batch-size"),
    ] },
    Grammar { name: "pie", attributes: "tc-pie-attrs", since: ALWAYS, words: &[
        word("limit", Kind::Packets, "limit"),
        word("target", Kind::Time, "target"),
        word("tupdate", Kind::Time, "tupdate"),
        word("alpha", Kind::Within(0, 32), "alpha"),
        word("beta", Kind::Within(0, 32), "beta"),
        word("ecn", Kind::Of("ecn"), "ecn"),
        word("noecn", Kind::Of("ecn"), "ecn"),
        word("bytemode", Kind::Of("bytemode"), "bytemode"),
        word("nobytemode", Kind::Of("bytemode"), "bytemode"),
        word("dq_rate_estimator", Kind::Of("dq_rate_estimator"), "dq-rate-estimator"),
        word("no_dq_rate_estimator", Kind::Of("dq_rate_estimator"), "dq-rate-estimator"),
    ] },
    Grammar { name: "fq_pie", attributes: "tc-fq-pie-attrs", since: ALWAYS, words: &[
        word("limit", Kind::Packets, "limit"),
        word("flows", Kind::Int, "flows"),
        word("target", Kind::Time, "target"),
        word("tupdate", Kind::Time, "tupdate"),
        word("alpha", Kind::Within(0, 32), "alpha"),
        word("beta", Kind::Within(0, 32), "beta"),
        word("quantum", Kind::Size, "quantum"),
        word("memory_limit", Kind::Size, "memory-limit"),
        word("ecn_prob", Kind::Within(0, 100), "ecn-prob"),
        word("ecn", Kind::Of("ecn"), "ecn"),
        word("noecn", Kind::Of("ecn"), "ecn"),
        word("bytemode", Kind::Of("bytemode"), "bytemode"),
        word("nobytemode", Kind::Of("bytemode"), "bytemode"),
        word("dq_rate_estimator", Kind::Of("dq_rate_estimator"), "dq-rate-estimator"),
        word("no_dq_rate_estimator", Kind::Of("dq_rate_estimator"), "dq-rate-estimator"),
    ] },
    Grammar { name: "dualpi2", attributes: "tc-dualpi2-attrs", since: Kernel::new(6, 17), words: &[
        word("limit", Kind::Packets, "limit"),
        word("memlimit", Kind::Size, "memory-limit"),
        word("target", Kind::Time, "target"),
        word("tupdate", Kind::Time, "tupdate"),
        word("alpha", Kind::Number, "alpha"),
        word("beta", Kind::Number, "beta"),
        word("step_thresh", Kind::TimeOrPackets, "step-thresh-us"),
        word("min_qlen_step", Kind::Packets, "min-qlen-step"),
        word("coupling_factor", Kind::Within(0, 255), "coupling"),
        word("drop_on_overload", Kind::Of("overload"), "drop-overload"),
        word("overflow", Kind::Of("overload"), "drop-overload"),
        word("drop_dequeue", Kind::Of("drop_early"), "drop-early"),
        word("drop_enqueue", Kind::Of("drop_early"), "drop-early"),
        word("classic_protection", Kind::Percent, "c-protection"),
        word("l4s_ect", Kind::Of("ecn_mask"), "ecn-mask"),
        word("any_ect", Kind::Of("ecn_mask"), "ecn-mask"),
        word("split_gso", Kind::Of("split_gso"), "split-gso"),
        word("no_split_gso", Kind::Of("split_gso"), "split-gso"),
        other("max_rtt", Kind::Time, OF_GAINS),
        other("typical_rtt", Kind::Time, OF_GAINS),
    ] },
    Grammar { name: "red", attributes: "tc-red-attrs", since: ALWAYS, words: &[
        field("limit", Kind::Size, "parms"),
        field("min", Kind::Size, "parms"),
        field("max", Kind::Size, "parms"),
        other("avpkt", Kind::Size, OF_WLOG),
        other("burst", Kind::Int, OF_WLOG),
        word("ecn", Kind::Of("ecn"), "flags"),
        word("harddrop", Kind::Of("harddrop"), "flags"),
        word("nodrop", Kind::Of("nodrop"), "flags"),
        word("adaptive", Kind::Of("adaptive"), "flags"),
        other("ewma", Kind::Int, SHOWN),
        word("probability", Kind::Number, "max-p"),
        other("Plog", Kind::Int, SHOWN),
        other("Scell_log", Kind::Int, SHOWN),
        other("bandwidth", Kind::Rate, OF_SCELL),
    ] },
    Grammar { name: "choke", attributes: "tc-choke-attrs", since: ALWAYS, words: &[
        field("limit", Kind::Packets, "parms"),
        field("min", Kind::Packets, "parms"),
        field("max", Kind::Packets, "parms"),
        other("avpkt", Kind::Size, OF_SCELL),
        other("burst", Kind::Int, OF_WLOG),
        field("ecn", Kind::Of("ecn"), "parms"),
        other("ewma", Kind::Int, SHOWN),
        word("probability", Kind::Number, "max-p"),
        other("Plog", Kind::Int, SHOWN),
        other("Scell_log", Kind::Int, SHOWN),
        other("bandwidth", Kind::Rate, OF_SCELL),
    ] },
    Grammar { name: "sfq", attributes: "tc-sfq-qopt-v1", since: ALWAYS, words: &[
        field("limit", Kind::Packets, "v0"),
        field("quantum", Kind::Size, "v0"),
        field("depth", Kind::Int, "depth"),
        field("headdrop", Kind::Of("headdrop"), "headdrop"),
        field("flows", Kind::Int, "v0"),
        field("divisor", Kind::Int, "v0"),
        field("perturb", Kind::Seconds, "v0"),
        field("redflowlimit", Kind::Size, "limit"),
        field("min", Kind::Size, "qth-min"),
        field("max", Kind::Size, "qth-max"),
        field("probability", Kind::Number, "max-P"),
        other("avpkt", Kind::Size, OF_WLOG),
        other("burst", Kind::Int, OF_WLOG),
        other("ewma", Kind::Int, SHOWN),
        field("ecn", Kind::Of("ecn"), "flags"),
        field("harddrop", Kind::Of("harddrop"), "flags"),
    ] },
    Grammar { name: "sfb", attributes: "tc-sfb-qopt", since: ALWAYS, words: &[
        field("rehash", Kind::Millis, "rehash-interval"),
        field("db", Kind::Millis, "warmup-time"),
        field("limit", Kind::Packets, "limit"),
        field("max", Kind::Packets, "max"),
        field("target", Kind::Packets, "bin-size"),
        field("increment", Kind::Number, "increment"),
        field("decrement", Kind::Number, "decrement"),
        field("penalty_rate", Kind::Number, "penalty-rate"),
        field("penalty_burst", Kind::Packets, "penalty-burst"),
    ] },
    Grammar { name: "cake", attributes: "tc-cake-attrs", since: ALWAYS, words: &[
        word("bandwidth", Kind::RateIfAny, "base-rate64"),
        short("unlimited", "bandwidth unlimited"),
        word("autorate-ingress", Kind::Of("autorate"), "autorate"),
        word("diffserv3", Kind::Of("diffserv"), "diffserv-mode"),
        word("diffserv4", Kind::Of("diffserv"), "diffserv-mode"),
        word("diffserv8", Kind::Of("diffserv"), "diffserv-mode"),
        short("diffserv", "diffserv4"),
        word("besteffort", Kind::Of("diffserv"), "diffserv-mode"),
        word("precedence", Kind::Of("diffserv"), "diffserv-mode"),
        word("flowblind", Kind::Of("flowmode"), "flow-mode"),
        word("srchost", Kind::Of("flowmode"), "flow-mode"),
        word("dsthost", Kind::Of("flowmode"), "flow-mode"),
        word("hosts", Kind::Of("flowmode"), "flow-mode"),
        word("flows", Kind::Of("flowmode"), "flow-mode"),
        word("dual-srchost", Kind::Of("flowmode"), "flow-mode"),
        word("dual-dsthost", Kind::Of("flowmode"), "flow-mode"),
        word("triple-isolate", Kind::Of("flowmode"), "flow-mode"),
        word("nat", Kind::Of("nat"), "nat"),
        word("nonat", Kind::Of("nat"), "nat"),
        word("wash", Kind::Of("wash"), "wash"),
        word("nowash", Kind::Of("wash"), "wash"),
        word("ingress", Kind::Of("ingress"), "ingress"),
        word("egress", Kind::Of("ingress"), "ingress"),
        word("ack-filter", Kind::Of("ack-filter"), "ack-filter"),
        word("ack-filter-aggressive", Kind::Of("ack-filter"), "ack-filter"),
        word("no-ack-filter", Kind::Of("ack-filter"), "ack-filter"),
        word("split-gso", Kind::Of("split-gso"), "split-gso"),
        word("no-split-gso", Kind::Of("split-gso"), "split-gso"),
        word("rtt", Kind::Time, "rtt"),
        word("noatm", Kind::Of("atm"), "atm"),
        word("atm", Kind::Of("atm"), "atm"),
        word("ptm", Kind::Of("atm"), "atm"),
        word("overhead", Kind::Within(-64, 256), "overhead"),
        word("mpu", Kind::Within(0, 256), "mpu"),
        word("memlimit", Kind::Size, "memory"),
        word("fwmark", Kind::Int, "fwmark"),
        short("raw", "noatm overhead 0"),
        short("conservative", "atm overhead 48"),
        layer("ethernet", "", 38, 84),
        layer("ether-vlan", "", 4, 0),
        layer("docsis", "noatm", 18, 64),
        layer("pppoe-ptm", "ptm", 30, 0),
        layer("bridged-ptm", "ptm", 22, 0),
        layer("ipoa-vcmux", "atm", 8, 0),
        layer("ipoa-llcsnap", "atm", 16, 0),
        layer("bridged-vcmux", "atm", 24, 0),
        layer("bridged-llcsnap", "atm", 32, 0),
        layer("pppoa-vcmux", "atm", 10, 0),
        layer("pppoa-llc", "atm", 14, 0),
        layer("pppoe-vcmux", "atm", 32, 0),
        layer("pppoe-llcsnap", "atm", 40, 0),
        other("via-ethernet", Kind::Of("via-ethernet"), "tc no longer does anything with it"),
        short("datacentre", "rtt 100us"),
        short("lan", "rtt 1ms"),
        short("metro", "rtt 10ms"),
        short("regional", "rtt 30ms"),
        short("internet", "rtt 100ms"),
        short("oceanic", "rtt 300ms"),
        short("satellite", "rtt 1s"),
        short("interplanetary", "rtt 1000s"),
    ] },
    Grammar { name: "tbf", attributes: "tc-tbf-attrs", since: ALWAYS, words: &[
        word("rate", Kind::Rate, "rate64"),
        word("burst", Kind::Cells, "burst"),
        word("buffer", Kind::Cells, "burst"),
        word("maxburst", Kind::Cells, "burst"),
        word("peakrate", Kind::Rate, "prate4"),
        word("mtu", Kind::Cells, "pburst"),
        word("minburst", Kind::Cells, "pburst"),
        field("limit", Kind::Size, "parms"),
        other("latency", Kind::Time, "tc computes limit of it"),
        other("lat", Kind::Time, "tc prints latency so"),
        field("mpu", Kind::Size, "parms"),
        field("overhead", Kind::Int, "parms"),
        field("linklayer", Kind::LinkLayer, "parms"),
    ] },
];
