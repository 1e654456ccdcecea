//! The algorithms of each router, as data.

use crate::offer::Fit::{Nearest, Same};
use crate::offer::Unit::{self, Counted, Flag, Milliseconds, Names, Parts, Seconds, Time, Whole};
use crate::offer::Words::{Curve, These};
use crate::offer::{Knob, Offer};

const fn knob(ours: &'static str, theirs: &'static str, unit: Unit, least: f64, most: f64) -> Knob {
    Knob { ours, theirs, unit, least, most }
}

const fn same(
    algorithm: &'static str,
    native: &'static str,
    since: &'static str,
    knobs: &'static [Knob],
) -> Offer {
    Offer { algorithm, native, since, fit: Same, words: These(knobs), note: None }
}

const fn noted(offer: Offer, note: &'static str) -> Offer {
    Offer { note: Some(note), ..offer }
}

const fn curve(
    algorithm: &'static str,
    native: &'static str,
    nearest: bool,
    note: Option<&'static str>,
) -> Offer {
    let fit = if nearest { Nearest } else { Same };
    Offer { algorithm, native, since: "", fit, words: Curve, note }
}

/// The largest number of 32 bits.
const U32: f64 = 4_294_967_295.0;
/// A time that Linux keeps in 32 bits of microseconds.
const LINUX_TIME: f64 = 4294.967295;

const TRUESIZE: &str =
    "its memory limit counts the memory of packets, some 2304 B for a full one, not their bytes";

const CAKE_ISOLATION: Unit = Names(&[
    ("triple-isolate", "triple-isolate"),
    ("dual-srchost", "dual-srchost"),
    ("dual-dsthost", "dual-dsthost"),
    ("flows", "flows"),
    ("hosts", "hosts"),
    ("srchost", "srchost"),
    ("dsthost", "dsthost"),
    ("flowblind", "flowblind"),
]);
const CAKE_TINS: Unit =
    Names(&[("besteffort", "besteffort"), ("diffserv3", "diffserv3"), ("diffserv4", "diffserv4")]);

/// Fields of UCI that all algorithms but CAKE have.
const OPENWRT_OWN: [Knob; 3] = [
    knob("target", "uci.target", Time, 1e-6, LINUX_TIME),
    knob("limit", "uci.limit", Whole, 1.0, U32),
    knob("ecn", "uci.ecn", Flag("ECN", "NOECN"), 0.0, 0.0),
];
const OPENWRT_PIE: [Knob; 3] = [
    knob("update_interval", "tupdate", Time, 1e-6, LINUX_TIME),
    knob("alpha", "alpha", Counted(16.0), 0.0, 2.0),
    knob("beta", "beta", Counted(16.0), 0.0, 2.0),
];

/// sqm-scripts hand words of tc's on; those with an empty name are a word alone. What has fields of its own in UCI
/// begins with `uci.`.
pub(crate) const OPENWRT: &[Offer] = &[
    noted(
        same(
            "cake",
            "cake",
            "OpenWrt 17.01, package kmod-sched-cake",
            &[
                knob("diffserv", "", CAKE_TINS, 0.0, 0.0),
                knob("isolation", "", CAKE_ISOLATION, 0.0, 0.0),
                knob("ingress", "", Flag("ingress", "egress"), 0.0, 0.0),
                knob(
                    "ack_filter",
                    "",
                    Names(&[
                        ("off", "no-ack-filter"),
                        ("on", "ack-filter"),
                        ("aggressive", "ack-filter-aggressive"),
                    ]),
                    0.0,
                    0.0,
                ),
                knob("wash", "", Flag("wash", "nowash"), 0.0, 0.0),
                knob("rtt", "rtt", Time, 1e-6, LINUX_TIME),
                knob("memory_limit", "memlimit", Whole, 1.0, U32),
            ],
        ),
        TRUESIZE,
    ),
    same(
        "fq-codel",
        "fq_codel",
        "OpenWrt 12.09",
        &[
            OPENWRT_OWN[0],
            OPENWRT_OWN[1],
            OPENWRT_OWN[2],
            knob("interval", "interval", Time, 1e-6, LINUX_TIME),
            knob("quantum", "quantum", Whole, 1.0, 1_048_576.0),
            knob("flows", "flows", Whole, 1.0, 65_536.0),
            knob("memory_limit", "memory_limit", Whole, 1.0, U32),
            knob("drop_batch", "drop_batch", Whole, 1.0, U32),
            knob("ce_threshold", "ce_threshold", Time, 0.0, LINUX_TIME),
        ],
    ),
    same(
        "codel",
        "codel",
        "package kmod-sched",
        &[
            OPENWRT_OWN[0],
            OPENWRT_OWN[1],
            OPENWRT_OWN[2],
            knob("interval", "interval", Time, 1e-6, LINUX_TIME),
            knob("ce_threshold", "ce_threshold", Time, 0.0, LINUX_TIME),
        ],
    ),
    same(
        "pie",
        "pie",
        "package kmod-sched-pie",
        &[OPENWRT_OWN[0], OPENWRT_OWN[1], OPENWRT_OWN[2], OPENWRT_PIE[0], OPENWRT_PIE[1], OPENWRT_PIE[2]],
    ),
    same(
        "fq-pie",
        "fq_pie",
        "package kmod-sched-fq-pie",
        &[
            OPENWRT_OWN[0],
            OPENWRT_OWN[1],
            OPENWRT_OWN[2],
            knob("flows", "flows", Whole, 1.0, 65_536.0),
            knob("quantum", "quantum", Whole, 1.0, 1_048_576.0),
            OPENWRT_PIE[0],
            OPENWRT_PIE[1],
            OPENWRT_PIE[2],
            knob("memory_limit", "memory_limit", Whole, 1.0, U32),
            knob("mark_ecnth", "ecn_prob", Counted(100.0), 0.0, 1.0),
        ],
    ),
];

const NETWORKD_CODEL: [Knob; 5] = [
    knob("target", "TargetSec", Time, 1e-6, LINUX_TIME),
    knob("interval", "IntervalSec", Time, 1e-6, LINUX_TIME),
    knob("limit", "PacketLimit", Whole, 1.0, U32 - 1.0),
    knob("ecn", "ECN", Flag("yes", "no"), 0.0, 0.0),
    knob("ce_threshold", "CEThresholdSec", Time, 0.0, LINUX_TIME),
];

pub(crate) const NETWORKD: &[Offer] = &[
    same(
        "cake",
        "CAKE",
        "systemd 252",
        &[
            knob("diffserv", "PriorityQueueingPreset", CAKE_TINS, 0.0, 0.0),
            knob(
                "isolation",
                "FlowIsolationMode",
                Names(&[
                    ("triple-isolate", "triple"),
                    ("dual-srchost", "dual-src-host"),
                    ("dual-dsthost", "dual-dst-host"),
                    ("flows", "flows"),
                    ("hosts", "hosts"),
                    ("srchost", "src-host"),
                    ("dsthost", "dst-host"),
                    ("flowblind", "none"),
                ]),
                0.0,
                0.0,
            ),
            knob("wash", "Wash", Flag("yes", "no"), 0.0, 0.0),
            knob("autorate_ingress", "AutoRateIngress", Flag("yes", "no"), 0.0, 0.0),
            knob("rtt", "RTTSec", Time, 1e-6, LINUX_TIME),
            knob(
                "ack_filter",
                "AckFilter",
                Names(&[("off", "no"), ("on", "yes"), ("aggressive", "aggressive")]),
                0.0,
                0.0,
            ),
        ],
    ),
    same(
        "fq-codel",
        "FairQueueingControlledDelay",
        "systemd 252",
        &[
            NETWORKD_CODEL[0],
            NETWORKD_CODEL[1],
            NETWORKD_CODEL[2],
            NETWORKD_CODEL[3],
            NETWORKD_CODEL[4],
            knob("flows", "Flows", Whole, 1.0, 65_536.0),
            knob("quantum", "QuantumBytes", Whole, 1.0, 1_048_576.0),
            knob("memory_limit", "MemoryLimitBytes", Whole, 1.0, U32 - 1.0),
        ],
    ),
    same("codel", "ControlledDelay", "systemd 252", &NETWORKD_CODEL),
    same("pie", "PIE", "systemd 252", &[knob("limit", "PacketLimit", Whole, 1.0, U32 - 1.0)]),
    same("fq-pie", "FlowQueuePIE", "systemd 252", &[knob("limit", "PacketLimit", Whole, 1.0, U32 - 1.0)]),
    noted(
        same(
            "sfq",
            "StochasticFairnessQueueing",
            "systemd 252",
            &[knob("perturb", "PerturbPeriodSec", Seconds, 1.0, 2_147_483_647.0)],
        ),
        "its buffer is that of the kernel: 127 packets",
    ),
    same("drop-tail", "PFIFO", "systemd 252", &[knob("limit", "PacketLimit", Whole, 0.0, U32 - 1.0)]),
];

pub(crate) const ROUTEROS: &[Offer] = &[
    noted(
        same(
            "cake",
            "cake",
            "RouterOS 7.1",
            &[
                knob("diffserv", "cake-diffserv", CAKE_TINS, 0.0, 0.0),
                knob("isolation", "cake-flowmode", CAKE_ISOLATION, 0.0, 0.0),
                knob(
                    "ack_filter",
                    "cake-ack-filter",
                    Names(&[("off", "none"), ("on", "filter"), ("aggressive", "aggressive")]),
                    0.0,
                    0.0,
                ),
                knob("wash", "cake-wash", Flag("yes", "no"), 0.0, 0.0),
                knob("autorate_ingress", "cake-autorate-ingress", Flag("yes", "no"), 0.0, 0.0),
                knob("rtt", "cake-rtt", Time, 1e-6, LINUX_TIME),
                knob("memory_limit", "cake-memlimit", Whole, 1.0, U32),
            ],
        ),
        TRUESIZE,
    ),
    same(
        "fq-codel",
        "fq-codel",
        "RouterOS 7.1",
        &[
            knob("target", "fq-codel-target", Time, 1e-6, LINUX_TIME),
            knob("interval", "fq-codel-interval", Time, 1e-6, LINUX_TIME),
            knob("quantum", "fq-codel-quantum", Whole, 1.0, 1_048_576.0),
            knob("flows", "fq-codel-flows", Whole, 1.0, 65_536.0),
            knob("limit", "fq-codel-limit", Whole, 1.0, U32),
            knob("memory_limit", "fq-codel-memlimit", Whole, 1.0, U32),
            knob("ecn", "fq-codel-ecn", Flag("yes", "no"), 0.0, 0.0),
            knob("ce_threshold", "fq-codel-ce-threshold", Time, 0.0, LINUX_TIME),
        ],
    ),
    same(
        "codel",
        "codel",
        "RouterOS 7.1",
        &[
            knob("target", "codel-target", Time, 1e-6, LINUX_TIME),
            knob("interval", "codel-interval", Time, 1e-6, LINUX_TIME),
            knob("limit", "codel-limit", Whole, 1.0, U32),
            knob("ecn", "codel-ecn", Flag("yes", "no"), 0.0, 0.0),
            knob("ce_threshold", "codel-ce-threshold", Time, 0.0, LINUX_TIME),
        ],
    ),
    noted(
        same(
            "red",
            "red",
            "RouterOS 7",
            &[
                knob("min_th", "red-min-threshold", Whole, 1.0, U32),
                knob("max_th", "red-max-threshold", Whole, 1.0, U32),
                knob("limit", "red-limit", Whole, 1.0, U32),
            ],
        ),
        "its thresholds are packets; how red-burst and red-avg-packet make the average's weight is not documented, and \
         neither is the probability at the upper threshold",
    ),
    noted(
        same(
            "sfq",
            "sfq",
            "RouterOS 7",
            &[
                knob("perturb", "sfq-perturb", Seconds, 1.0, 65_535.0),
                knob("quantum", "sfq-allot", Whole, 1.0, 32_767.0),
            ],
        ),
        "it holds 128 packets",
    ),
    same("drop-tail", "pfifo", "RouterOS 7", &[knob("limit", "pfifo-limit", Whole, 1.0, U32)]),
];

/// FreeBSD keeps PIE's gains in parts of 2^-13.
const PIE_SCALE: f64 = 8192.0;
/// Slots that the kernel takes without a sysctl: net.inet.ip.dummynet.pipe_slot_limit.
const SLOTS: f64 = 100.0;

const FREEBSD_ECN: Knob = knob("ecn", "", Flag("ecn", "noecn"), 0.0, 0.0);
const FREEBSD_PIE: [Knob; 8] = [
    knob("target", "target", Time, 1e-6, 5.0),
    knob("update_interval", "tupdate", Time, 1e-6, 5.0),
    knob("alpha", "alpha", Parts(PIE_SCALE), 0.0, 7.0),
    knob("beta", "beta", Parts(PIE_SCALE), 0.0, 7.0),
    knob("max_burst", "max_burst", Time, 0.0, 5.0),
    knob("mark_ecnth", "max_ecnth", Parts(PIE_SCALE), 0.0, 1.0),
    knob("derandomize", "", Flag("derand", "noderand"), 0.0, 0.0),
    FREEBSD_ECN,
];
const FREEBSD_CODEL: [Knob; 3] =
    [knob("target", "target", Time, 1e-6, 5.0), knob("interval", "interval", Time, 1e-6, 100.0), FREEBSD_ECN];
const FREEBSD_FLOWS: [Knob; 3] = [
    knob("quantum", "quantum", Whole, 1.0, 9000.0),
    knob("limit", "limit", Whole, 1.0, 20_480.0),
    knob("flows", "flows", Whole, 1.0, 65_536.0),
];
/// The queue of a pipe, which `queue` of the pipe says.
const FREEBSD_SLOTS: Knob = knob("limit", "queue", Whole, 2.0, 1_000_000.0);

pub(crate) const FREEBSD: &[Offer] = &[
    same(
        "fq-codel",
        "fq_codel",
        "FreeBSD 10.3, 11.0",
        &[
            FREEBSD_CODEL[0],
            FREEBSD_CODEL[1],
            FREEBSD_FLOWS[0],
            FREEBSD_FLOWS[1],
            FREEBSD_FLOWS[2],
            FREEBSD_ECN,
        ],
    ),
    same(
        "fq-pie",
        "fq_pie",
        "FreeBSD 10.3, 11.0",
        &[
            FREEBSD_PIE[0],
            FREEBSD_PIE[1],
            FREEBSD_PIE[2],
            FREEBSD_PIE[3],
            FREEBSD_PIE[4],
            FREEBSD_PIE[5],
            FREEBSD_PIE[6],
            FREEBSD_FLOWS[0],
            FREEBSD_FLOWS[1],
            FREEBSD_FLOWS[2],
            FREEBSD_ECN,
        ],
    ),
    same(
        "codel",
        "codel",
        "FreeBSD 10.3, 11.0",
        &[FREEBSD_SLOTS, FREEBSD_CODEL[0], FREEBSD_CODEL[1], FREEBSD_ECN],
    ),
    same(
        "pie",
        "pie",
        "FreeBSD 10.3, 11.0",
        &[
            FREEBSD_SLOTS,
            FREEBSD_PIE[0],
            FREEBSD_PIE[1],
            FREEBSD_PIE[2],
            FREEBSD_PIE[3],
            FREEBSD_PIE[4],
            FREEBSD_PIE[5],
            FREEBSD_PIE[6],
            FREEBSD_ECN,
        ],
    ),
    same("drop-tail", "droptail", "FreeBSD 10.3, 11.0", &[FREEBSD_SLOTS]),
];

const OPNSENSE_QUEUE: Knob = knob("limit", "Queue", Whole, 2.0, SLOTS);
const OPNSENSE_CODEL: [Knob; 3] = [
    knob("target", "(FlowQueue-)CoDel target", Milliseconds, 1e-3, 10.0),
    knob("interval", "(FlowQueue-)CoDel interval", Milliseconds, 1e-3, 10.0),
    knob("ecn", "(FlowQueue-)CoDel ECN", Flag("checked", "not checked"), 0.0, 0.0),
];

pub(crate) const OPNSENSE: &[Offer] = &[
    same(
        "fq-codel",
        "FlowQueue-CoDel",
        "shaper model 1.0.3",
        &[
            OPNSENSE_CODEL[0],
            OPNSENSE_CODEL[1],
            OPNSENSE_CODEL[2],
            knob("quantum", "FlowQueue-CoDel quantum", Whole, 1.0, 9000.0),
            knob("limit", "FlowQueue-CoDel limit", Whole, 1.0, 20_480.0),
            knob("flows", "FlowQueue-CoDel flows", Whole, 1.0, 65_535.0),
        ],
    ),
    noted(
        same("fq-pie", "FlowQueue-PIE", "shaper model 1.0.3", &[]),
        "parameters of FlowQueue-PIE have no fields: it has the RFC's",
    ),
    same(
        "codel",
        "CoDel",
        "shaper model 1.0.3",
        &[OPNSENSE_QUEUE, OPNSENSE_CODEL[0], OPNSENSE_CODEL[1], OPNSENSE_CODEL[2]],
    ),
    noted(
        same("pie", "PIE", "shaper model 1.0.3", &[OPNSENSE_QUEUE]),
        "parameters of PIE have no fields: it has the RFC's",
    ),
    same("drop-tail", "FIFO", "shaper model 1.0.3", &[OPNSENSE_QUEUE]),
];

const PFSENSE_QUEUE: Knob = knob("limit", "Queue length", Whole, 2.0, SLOTS);
const PFSENSE_ECN: Knob = knob("ecn", "ECN", Flag("checked", "not checked"), 0.0, 0.0);

pub(crate) const PFSENSE: &[Offer] = &[
    same(
        "fq-codel",
        "FQ_CODEL",
        "pfSense 2.4.4",
        &[
            knob("target", "target", Milliseconds, 1e-3, 5.0),
            knob("interval", "interval", Milliseconds, 1e-3, 100.0),
            knob("quantum", "quantum", Whole, 1.0, 9000.0),
            knob("limit", "limit", Whole, 1.0, 20_480.0),
            knob("flows", "flows", Whole, 1.0, 65_536.0),
            PFSENSE_ECN,
        ],
    ),
    same(
        "codel",
        "CoDel",
        "pfSense 2.4.4",
        &[
            PFSENSE_QUEUE,
            knob("target", "target", Milliseconds, 1e-3, 5.0),
            knob("interval", "interval", Milliseconds, 1e-3, 100.0),
            PFSENSE_ECN,
        ],
    ),
    same("drop-tail", "Tail Drop", "pfSense 2.4.4", &[PFSENSE_QUEUE]),
];

const NO_CODEL: Option<&str> = Some(
    "it has no CoDel, PIE or CAKE, which hold a delay: the profile begins to drop at the target and drops a tenth at \
     three targets, as RED would (Floyd 1997), whatever the number of flows",
);
const NO_TUNING: Option<&str> =
    Some("it has no Adaptive RED: the probability stays where that begins, whatever the number of flows");
const NO_FLOWS: Option<&str> = Some(
    "it has no FQ-CoDel, FQ-PIE or CAKE: flows share one queue, and the profile begins to drop at the target and drops \
     a tenth at three targets",
);

pub(crate) const JUNOS: &[Offer] = &[
    curve("red", "drop profile", false, None),
    curve("ared", "drop profile", true, NO_TUNING),
    curve("drop-tail", "no drop profile", false, None),
    curve("codel", "drop profile", true, NO_CODEL),
    curve("pie", "drop profile", true, NO_CODEL),
    curve("fq-codel", "drop profile", true, NO_FLOWS),
    curve("fq-pie", "drop profile", true, NO_FLOWS),
    curve("cake", "drop profile", true, NO_FLOWS),
];

const FAIR: Option<&str> = Some(
    "fair-queue hashes flows into few queues (16 on most) with equal shares, without the priority of new flows; it has \
     no CoDel, so that random-detect drops by averages of packets",
);

pub(crate) const IOS_XE: &[Offer] = &[
    curve("red", "random-detect", false, None),
    curve("wred", "random-detect", false, None),
    curve("ared", "random-detect", true, NO_TUNING),
    curve("drop-tail", "queue-limit", false, None),
    curve("codel", "random-detect", true, NO_CODEL),
    curve("pie", "random-detect", true, NO_CODEL),
    curve("fq-codel", "fair-queue and random-detect", true, FAIR),
    curve("fq-pie", "fair-queue and random-detect", true, FAIR),
    curve("cake", "fair-queue and random-detect", true, FAIR),
    curve("sfq", "fair-queue", true, FAIR),
];
