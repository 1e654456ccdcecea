//! What a qdisc has where a line says nothing: named sets with the kernel's version.
//!
//! Read from net/sched of Linux, and from iproute2 where tc hands over values of its own (red, choke, sfb). Measured on
//! Linux 6.1, 6.12 and 7.2 ([`Kernel::MEASURED`]), which all show these (conformance/linux/defaults.json; not
//! pfifo_head_drop, which was not tried). What lies between them was not measured (not verified). PIE's
//! 15 ms are 16 ms where a kernel has 250 ticks per second, and of the gains of dualpi2 a kernel shows 1/256 less than
//! it has. Sizes are those of a device with an MTU of 1500 bytes and a transmit queue of 1000 packets.

use crate::Kernel;

/// The defaults of a qdisc from a version on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Defaults {
    /// The qdisc.
    pub qdisc: &'static str,
    /// The first version with them.
    pub since: Kernel,
    /// The line that says them.
    pub words: &'static str,
    /// Which file sets them.
    pub source: &'static str,
}

const fn of(qdisc: &'static str, since: Kernel, words: &'static str, source: &'static str) -> Defaults {
    Defaults { qdisc, since, words, source }
}

const ALWAYS: Kernel = Kernel::OLDEST;

/// All of them, the oldest of a qdisc first.
#[rustfmt::skip]
pub const DEFAULTS: &[Defaults] = &[
    of("pfifo", ALWAYS, "limit 1000", "net/sched/sch_fifo.c: the device's transmit queue"),
    of("pfifo_head_drop", ALWAYS, "limit 1000", "net/sched/sch_fifo.c: the device's transmit queue"),
    of("bfifo", ALWAYS, "limit 1514000", "net/sched/sch_fifo.c: the device's transmit queue in packets of its MTU"),
    of("codel", ALWAYS, "limit 1000 target 5ms interval 100ms noecn", "net/sched/sch_codel.c, include/net/codel.h"),
    of(
        "fq_codel", ALWAYS,
        "limit 10240 flows 1024 quantum 1514 target 5ms interval 100ms memory_limit 32mb ecn drop_batch 64",
        "net/sched/sch_fq_codel.c",
    ),
    of(
        "pie", ALWAYS,
        "limit 1000 target 15ms tupdate 15ms alpha 2 beta 20 noecn nobytemode no_dq_rate_estimator",
        "net/sched/sch_pie.c, include/net/pie.h",
    ),
    of(
        "fq_pie", ALWAYS,
        "limit 10240 flows 1024 target 15ms tupdate 15ms alpha 2 beta 20 quantum 1514 memory_limit 32mb ecn_prob 10 \
         noecn nobytemode no_dq_rate_estimator",
        "net/sched/sch_fq_pie.c, include/net/pie.h",
    ),
    of(
        "dualpi2", Kernel::new(6, 17),
        "limit 10000 memlimit 30280000 target 15ms tupdate 16ms alpha 0.16015625 beta 3.19921875 step_thresh 1ms \
         min_qlen_step 0 coupling_factor 2 drop_on_overload drop_dequeue classic_protection 10% l4s_ect split_gso",
        "net/sched/sch_dualpi2.c",
    ),
    of("red", ALWAYS, "avpkt 1000 probability 0.02 bandwidth 10mbit", "iproute2, tc/q_red.c"),
    of("choke", ALWAYS, "avpkt 1000 probability 0.02", "iproute2, tc/q_choke.c"),
    of("sfq", ALWAYS, "limit 127 quantum 1514 depth 127 flows 128 divisor 1024 perturb 0", "net/sched/sch_sfq.c"),
    of(
        "sfb", ALWAYS,
        "rehash 600000 db 60000 limit 1000 max 25 target 20 increment 0.0005035477226 decrement 0.0000457770657 \
         penalty_rate 10 penalty_burst 20",
        "iproute2, tc/q_sfb.c: increment and decrement are not the kernel's; limit is the device's transmit queue",
    ),
    of(
        "cake", ALWAYS,
        "bandwidth unlimited diffserv3 triple-isolate nonat nowash egress no-ack-filter split-gso rtt 100ms noatm \
         overhead 0 mpu 0",
        "net/sched/sch_cake.c",
    ),
];

/// The defaults of a qdisc in a version of Linux; none if it had no such qdisc.
pub fn of_qdisc(qdisc: &str, kernel: Kernel) -> Option<&'static Defaults> {
    DEFAULTS.iter().rfind(|set| set.qdisc == qdisc && set.since <= kernel)
}
