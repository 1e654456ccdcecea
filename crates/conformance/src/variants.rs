//! Configurations beside the defaults: options that documents leave open, and gains so large that a vector of
//! half a second decides something.

/// A configuration of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// The algorithm.
    pub algorithm: &'static str,
    /// The name of the vector.
    pub name: &'static str,
    /// The course of events.
    pub course: &'static str,
    /// The parameters, in TOML.
    pub config: &'static str,
    /// The seed of the algorithm's generator.
    pub seed: u64,
}

/// The seed of most vectors.
pub const SEED: u64 = 1;

const fn variant(
    algorithm: &'static str,
    name: &'static str,
    course: &'static str,
    config: &'static str,
) -> Variant {
    Variant { algorithm, name, course, config, seed: SEED }
}

impl Variant {
    /// Takes another seed, with which something rare happens.
    const fn seeded(self, seed: u64) -> Variant {
        Variant { seed, ..self }
    }
}

/// All of them.
pub fn variants() -> &'static [Variant] {
    const {
        &[
            // A drop state begins between 16 and 17 intervals after the last one.
            variant("codel", "mtu", "ticks", "mtu = \"3 kB\"\ninterval = \"44 ms\""),
            // And between 15 and 16.
            variant("codel", "ticks", "ticks", "target = \"8 ms\"\ninterval = \"48 ms\""),
            // One goes on from a count of two.
            variant("codel", "two", "ticks", "mtu = \"100 B\"\ntarget = \"6 ms\"\ninterval = \"8 ms\""),
            variant(
                "pie",
                "enhanced",
                "drops",
                "delay_from = \"dequeue-rate\"\ndecay = \"below-half\"\nactivate_at = 0.333",
            ),
            variant(
                "pie",
                "plain",
                "ticks",
                "derandomize = false\ncap = false\nmax_burst = \"0 s\"\nalpha = 2.0\nbeta = 100.0",
            ),
            variant(
                "pie",
                "burst",
                "ticks",
                "derandomize = false\ntarget = \"5 ms\"\nalpha = 200.0\nbeta = 20.0\nmax_burst = \"30 ms\"",
            ),
            variant(
                "pie",
                "marking",
                "marks",
                "target = \"5 ms\"\nalpha = 2.0\nbeta = 20.0\nmax_burst = \"30 ms\"\nmark_ecnth = 0.5",
            )
            // The sum of probabilities reaches 8.5, where a signal is certain.
            .seeded(404),
            variant("pie", "link-rate", "bytes", "delay_from = \"link-rate\"\nmax_burst = \"30 ms\""),
            variant("pie", "slow", "slow", "max_burst = \"30 ms\"\nupdate_interval = \"30 ms\""),
            variant("red", "fast", "drops", "weight = 0.05"),
            variant(
                "red",
                "bytes-by-size",
                "bytes",
                "weight = 0.05\nmin_th = \"5 kB\"\nmax_th = \"15 kB\"\nsignal = \"by-size\"",
            ),
            variant(
                "red",
                "wait",
                "marks",
                "weight = 0.02\nspacing = \"wait\"\ngentle = false\nmark_limit = 0.05",
            ),
            variant(
                "ared",
                "fast",
                "marks",
                "weight = 0.1\ninterval = \"20 ms\"\nmax_p = 0.02\nmax_p_top = 0.06\nmax_p_bottom = 0.015\nmin_th = \"5 packets\"",
            )
            // Steps, before the bounds hold, decide something.
            .seeded(6),
            variant(
                "ap-red",
                "fast",
                "drops",
                "min_th = \"5 packets\"\nmax_th = \"30 packets\"\nmax_p = 0.2\nweight = 0.05\nflows = 20.0\n\
                 rtt = \"100 ms\"\ninterval = \"50 ms\"",
            ),
            variant("st-red", "fast", "drops", "weight = 0.05\ninterval = \"20 ms\""),
            variant("fuzzy-red", "fast", "drops", "weight_low = 0.02\nweight_high = 0.2"),
            variant("hred", "fast", "drops", "min_p = 0.2\nt_alpha = \"40 ms\"\nt_beta = \"20 ms\""),
            variant("hred-fixed", "fast", "drops", "min_p = 0.2\nt_alpha = \"40 ms\"\nt_beta = \"20 ms\""),
            variant("wred", "fast", "bytes", "weight = 0.05"),
            variant("dsred", "fast", "drops", "weight = 0.05"),
            variant("pi", "fast", "drops", "a = 0.01822\nb = 0.01816\nq_ref = \"20 packets\""),
            variant(
                "pi",
                "fast-marks",
                "bytes",
                "a = 0.01822\nb = 0.01816\nq_ref = \"20 kB\"\nsignal = \"by-size\"\ninitial_p = 0.1",
            ),
            variant("pi-fixed", "fast", "drops", "a = 0.01822\nb = 0.01816\nq_ref = \"20 packets\""),
            variant("st-pi", "fast", "drops", "a = 0.01822\nb = 0.01816\nq_ref = \"20 packets\""),
            variant("rem", "fast", "drops", "gamma = 0.5\nphi = 1.01"),
            variant("dred", "fast", "drops", "alpha = 0.05\nq_ref = \"20 packets\""),
            variant("lred", "fast", "drops", "interval = \"50 ms\"\nbeta = 0.01\nq_ref = \"20 packets\""),
            variant("blue", "fast", "drops", "d1 = 0.05\nd2 = 0.02"),
            variant("blue", "threshold", "marks", "d1 = 0.02\nd2 = 0.01\nthreshold = \"30 packets\""),
            variant("blue-fixed", "fast", "drops", "d1 = 0.05\nd2 = 0.02"),
            variant("vrc", "fast", "marks", "q_ref = \"20 packets\""),
            variant(
                "fq-codel",
                "shared",
                "bytes",
                "flows = 4\nhash_key = 1\nlimit = 20\ninterval = \"40 ms\"\nquantum = \"300 B\"",
            ),
            variant("fq-codel", "memory", "bytes", "memory_limit = \"20 kB\"\ndrop_batch = 2\nhash_key = 1"),
            // Several queues are the fattest, as all packets have one size.
            variant("fq-codel", "ties", "drops", "limit = 12\ndrop_batch = 1\nhash_key = 2"),
            variant("dualpi2", "limit", "bytes", "limit = \"100 ms\""),
            // What waits reaches the limit exactly.
            variant("dualpi2", "full", "marked-ticks", "limit = \"102 ms\""),
            // A packet has waited for just the threshold.
            variant("dualpi2", "step", "marked-ticks", "min_th = \"8 ms\"\nrange = \"0 s\""),
            // The base probability reaches 1.
            variant("dualpi2", "saturated", "marked-ticks", "k = 1.0\nalpha = 4.0\nbeta = 8.0"),
            // The L queue is the one that waits longer.
            variant("dualpi2", "classic-first", "marked-ticks", "c_weight = 0.9"),
            variant("dualpi2", "time-shifted", "marks", "scheduler = \"ts-fifo\""),
            variant("dualpi2", "overflow", "bytes", "overload = \"overflow\""),
            variant(
                "cake",
                "shaped",
                "bytes",
                "bandwidth = \"1.5 Mbit/s\"\noverhead = \"40 B\"\nframing = \"atm\"\nhash_key = 1",
            ),
            variant(
                "cake",
                "triple-isolate",
                "hosts",
                "bandwidth = \"4 Mbit/s\"\ndiffserv = \"besteffort\"\nisolation = \"triple-isolate\"\nrtt = \"20 ms\"\nhash_key = 1",
            ),
            variant(
                "cake",
                "dual-srchost",
                "hosts",
                "bandwidth = \"4 Mbit/s\"\ndiffserv = \"besteffort\"\nisolation = \"dual-srchost\"\nrtt = \"20 ms\"\nhash_key = 1",
            ),
            variant(
                "cake",
                "dual-dsthost",
                "hosts",
                "bandwidth = \"4 Mbit/s\"\ndiffserv = \"besteffort\"\nisolation = \"dual-dsthost\"\nrtt = \"20 ms\"\nhash_key = 1",
            ),
            variant(
                "cake",
                "hosts",
                "hosts",
                "bandwidth = \"4 Mbit/s\"\ndiffserv = \"besteffort\"\nisolation = \"hosts\"\nrtt = \"20 ms\"\nhash_key = 1",
            ),
            variant(
                "cake",
                "srchost",
                "hosts",
                "bandwidth = \"4 Mbit/s\"\ndiffserv = \"besteffort\"\nisolation = \"srchost\"\nrtt = \"20 ms\"\nhash_key = 1",
            ),
            variant(
                "cake",
                "dsthost",
                "hosts",
                "bandwidth = \"4 Mbit/s\"\ndiffserv = \"besteffort\"\nisolation = \"dsthost\"\nrtt = \"20 ms\"\nhash_key = 1",
            ),
            variant(
                "cake",
                "unshaped",
                "hosts",
                "diffserv = \"diffserv4\"\nframing = \"ptm\"\nmpu = \"84 B\"\nrtt = \"20 ms\"\nhash_key = 1",
            ),
            variant(
                "red+tail",
                "counted",
                "bytes",
                "young_packets = 4\nudp = \"counted\"\nvq2 = { algorithm = \"ared\", weight = 0.1 }",
            ),
        ]
    }
}
