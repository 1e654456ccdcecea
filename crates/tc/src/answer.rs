//! Words of Linux's `tc` that are not parameters here, and what to write instead.
//!
//! The words are those of the manual pages tc-codel, tc-fq_codel, tc-pie, tc-fq_pie, tc-cake, tc-dualpi2, tc-red,
//! tc-sfq, tc-choke, tc-sfb and tc-tbf (iproute2 7.3). Where a word of theirs is a parameter's name here, it needs
//! no answer.

use quell_aqm::catalog::CATALOG;

/// Translation of a word of `tc`. The text to write stands as an example, with its unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Parameters of the algorithm: `k = 2`.
    Write(&'static str),
    /// Keys of the link's table.
    Link(&'static str),
    /// There is nothing to write, for this reason.
    Says(&'static str),
}

impl core::fmt::Display for Answer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Answer::Write(keys) => write!(f, "a word of tc's: write {keys}"),
            Answer::Link(keys) => {
                write!(f, "a property of the link, not of the algorithm: write {keys} in the link's table")
            }
            Answer::Says(reason) => write!(f, "a word of tc's: {reason}"),
        }
    }
}

use Answer::{Link, Says, Write};

const NO_OFFLOAD: Answer = Says("packets come one by one here, as with split_gso: leave it out");
const NO_PRESET: Answer =
    Says("not in this version; diffserv = \"diffserv4\" has the most tins, \"besteffort\" one");
const OF_THE_WEIGHT: Answer = Says(
    "tc computes the average's weight of it: the largest w of 1/2, 1/4, 1/8 and so on with burst + 1 - min/avpkt <= \
     (1 - (1 - w)^burst)/w (CHOKe's min is in packets, without avpkt); of min 30000, avpkt 1000 and burst 55 it \
     makes weight = 0.03125",
);
const BY_SIZE: Answer = Says("a packet's size does not change its probability here, as with nobytemode");

/// Words, the parameters that an algorithm must have for this answer ("" if every algorithm has it), and the answer.
/// The first that fits counts.
#[rustfmt::skip]
const WORDS: &[(&[&str], &str, Answer)] = &[
    // Of all.
    (&["limit"], "", Link("buffer = \"1000 packets\"")),
    (&["ecn"], "", Link("ecn = true")),
    (&["noecn", "no_ecn"], "", Link("ecn = false")),
    (&["memlimit"], "memory_limit", Write("memory_limit = \"32 MB\"")),
    (&["memlimit", "memory_limit"], "", Link("buffer = \"4 MB\"")),
    (&["split_gso", "no_split_gso"], "", NO_OFFLOAD),
    (&["tupdate", "t_update"], "update_interval", Write("update_interval = \"16 ms\"")),
    // PIE, FQ-PIE, FQ-CoDel.
    (&["bytemode"], "signal", Write("signal = \"by-size\"")),
    (&["nobytemode"], "signal", Write("signal = \"per-packet\"")),
    (&["bytemode", "nobytemode"], "update_interval", BY_SIZE),
    (&["dq_rate_estimator"], "mark_ecnth", Write("delay_from = \"dequeue-rate\"")),
    (&["no_dq_rate_estimator"], "mark_ecnth", Write("delay_from = \"departures\"")),
    (&["ecn_prob"], "mark_ecnth", Write("mark_ecnth = 0.1")),
    (&["ce_threshold_selector"], "ce_threshold_for", Write("ce_threshold_for = \"ect1\"")),
    // DualPI2, and what PI2, Curvy RED and a step have of it.
    (&["coupling_factor"], "th_len", Write("k = 2")),
    (&["coupling_factor"], "scalable", Write("coupling = 2")),
    (&["coupling_factor"], "curviness", Write("coupling = 1")),
    (&["step_thresh"], "th_len", Write("min_th = \"1 ms\", range = \"0 s\"")),
    (&["step_thresh"], "curviness", Write("step = \"1 ms\"")),
    (&["step_thresh"], "marks", Write("delay = \"1 ms\"")),
    (&["min_qlen_step"], "th_len", Write("th_len = 0")),
    // tc: the target is the typical one, or a sixth of the longest; Tupdate and the gains follow as here.
    (&["max_rtt"], "rtt_max", Write("rtt_max = \"90 ms\", target = \"15 ms\"")),
    (&["typical_rtt"], "rtt_max", Write("target = \"15 ms\", rtt_max = \"90 ms\"")),
    (&["typical_rtt", "max_rtt"], "alpha", Says("write the gains alpha and beta, and the target, themselves")),
    (&["any_ect"], "classifier", Write("classifier = \"any-ect\"")),
    (&["l4s_ect"], "classifier", Write("classifier = \"ect1\"")),
    (&["any_ect"], "scalable", Write("scalable = \"ect\"")),
    (&["l4s_ect"], "scalable", Write("scalable = \"ect1\"")),
    (&["drop_on_overload"], "overload", Write("overload = \"drop\"")),
    (&["overflow"], "overload", Write("overload = \"overflow\"")),
    (&["drop_enqueue"], "signal_at", Write("signal_at = \"enqueue\"")),
    (&["drop_dequeue"], "signal_at", Write("signal_at = \"dequeue\"")),
    (&["classic_protection"], "c_weight", Write("c_weight = 0.1")),
    // RED and CHOKe, whose thresholds are in packets.
    (&["min"], "candidates", Write("min_th = \"30 packets\"")),
    (&["max"], "candidates", Write("max_th = \"90 packets\"")),
    (&["min"], "min_th max_th", Write("min_th = \"30 kB\"")),
    (&["max"], "max_th", Write("max_th = \"90 kB\"")),
    (&["probability"], "max_p", Write("max_p = 0.02")),
    (&["avpkt", "burst"], "weight", OF_THE_WEIGHT),
    (&["bandwidth"], "weight", Says("the average ages at the link's own rate while it is idle: leave it out")),
    (&["harddrop"], "forced", Write("forced = \"drop\"")),
    (&["nodrop"], "gentle", Says("what cannot be marked is dropped here: leave it out")),
    (&["adaptive"], "mark_limit", Says("another algorithm here: write algorithm = \"ared\"")),
    (&["adaptive"], "weight", Says("RED's alone: write algorithm = \"ared\" for that")),
    (&["qevent"], "", Says("what happens to each packet is in the results: leave it out")),
    // SFQ.
    (&["divisor"], "flows", Write("flows = 1024")),
    (&["flows"], "perturb", Says("its divisor is flows here, and its bound of flows at a time is active: \
       write active = 128")),
    (&["headdrop"], "perturb", Says("a full buffer costs the longest queue its last packet here: leave it out")),
    (&["redflowlimit"], "depth", Says("another algorithm here: write algorithm = \"sfq-red\"")),
    (&["min", "max", "probability", "avpkt", "burst", "harddrop"], "perturb", Says("RED in each queue is another \
       algorithm here: write algorithm = \"sfq-red\"")),
    // SFB.
    (&["rehash"], "rehash_interval", Write("rehash_interval = \"600 s\"")),
    (&["db"], "rehash_interval", Write("warmup = \"60 s\"")),
    (&["target"], "bin_size", Write("bin_size = 20")),
    // Adaptive RED's and CAKE's delays.
    (&["target"], "target_delay", Write("target_delay = \"5 ms\"")),
    (&["interval"], "isolation", Write("rtt = \"100 ms\"")),
    (&["target"], "isolation", Says("a twentieth of rtt, which is the interval: write rtt = \"100 ms\"")),
    (&["interval"], "update_interval", Write("update_interval = \"16 ms\"")),
    // CAKE.
    (&["flows"], "isolation", Write("isolation = \"flows\"")),
    (&["unlimited"], "isolation", Says("no bandwidth: leave it out")),
    (&["autorate_ingress"], "isolation", Write("autorate_ingress = true")),
    (&["besteffort"], "isolation", Write("diffserv = \"besteffort\"")),
    (&["diffserv3"], "isolation", Write("diffserv = \"diffserv3\"")),
    (&["diffserv4"], "isolation", Write("diffserv = \"diffserv4\"")),
    (&["diffserv8", "precedence"], "isolation", NO_PRESET),
    (&["flowblind"], "isolation", Write("isolation = \"flowblind\"")),
    (&["srchost"], "isolation", Write("isolation = \"srchost\"")),
    (&["dsthost"], "isolation", Write("isolation = \"dsthost\"")),
    (&["hosts"], "isolation", Write("isolation = \"hosts\"")),
    (&["dual_srchost"], "isolation", Write("isolation = \"dual-srchost\"")),
    (&["dual_dsthost"], "isolation", Write("isolation = \"dual-dsthost\"")),
    (&["triple_isolate"], "isolation", Write("isolation = \"triple-isolate\"")),
    (&["nat"], "isolation", Says("hosts are those before their addresses are translated here, as with nat: \
       leave it out")),
    (&["nonat"], "isolation", Says("hosts behind one address are told apart here, as with nat; with isolation = \
       \"flows\" nobody tells hosts apart")),
    (&["wash"], "isolation", Write("wash = true")),
    (&["nowash"], "isolation", Write("wash = false")),
    (&["ack_filter"], "isolation", Write("ack_filter = \"on\"")),
    (&["ack_filter_aggressive"], "isolation", Write("ack_filter = \"aggressive\"")),
    (&["no_ack_filter"], "isolation", Write("ack_filter = \"off\"")),
    (&["fwmark"], "isolation", Says("tins go by DSCP alone here: leave it out")),
    (&["ingress"], "isolation", Write("ingress = true")),
    (&["egress"], "isolation", Write("ingress = false")),
    (&["ptm"], "isolation", Write("framing = \"ptm\"")),
    (&["atm"], "isolation", Write("framing = \"atm\"")),
    (&["noatm"], "isolation", Write("framing = \"noatm\"")),
    (&["raw"], "isolation", Write("overhead = \"0 B\", framing = \"noatm\"")),
    (&["conservative"], "isolation", Write("overhead = \"48 B\", framing = \"atm\"")),
    (&["ethernet"], "isolation", Write("overhead = \"38 B\", mpu = \"84 B\", framing = \"noatm\"")),
    (&["ether_vlan"], "isolation", Says("4 B more: write them as part of overhead")),
    (&["docsis"], "isolation", Write("overhead = \"18 B\", mpu = \"64 B\", framing = \"noatm\"")),
    (&["pppoe_ptm"], "isolation", Write("overhead = \"30 B\", framing = \"ptm\"")),
    (&["bridged_ptm"], "isolation", Write("overhead = \"22 B\", framing = \"ptm\"")),
    (&["ipoa_vcmux"], "isolation", Write("overhead = \"8 B\", framing = \"atm\"")),
    (&["ipoa_llcsnap"], "isolation", Write("overhead = \"16 B\", framing = \"atm\"")),
    (&["bridged_vcmux"], "isolation", Write("overhead = \"24 B\", framing = \"atm\"")),
    (&["bridged_llcsnap"], "isolation", Write("overhead = \"32 B\", framing = \"atm\"")),
    (&["pppoa_vcmux"], "isolation", Write("overhead = \"10 B\", framing = \"atm\"")),
    (&["pppoa_llc"], "isolation", Write("overhead = \"14 B\", framing = \"atm\"")),
    (&["pppoe_vcmux"], "isolation", Write("overhead = \"32 B\", framing = \"atm\"")),
    (&["pppoe_llcsnap"], "isolation", Write("overhead = \"40 B\", framing = \"atm\"")),
    (&["via_ethernet"], "isolation", Says("overhead is counted from the IP packet here: leave it out")),
    (&["datacentre"], "isolation", Write("rtt = \"100 us\"")),
    (&["lan"], "isolation", Write("rtt = \"1 ms\"")),
    (&["metro"], "isolation", Write("rtt = \"10 ms\"")),
    (&["regional"], "isolation", Write("rtt = \"30 ms\"")),
    (&["internet"], "isolation", Write("rtt = \"100 ms\"")),
    (&["oceanic"], "isolation", Write("rtt = \"300 ms\"")),
    (&["satellite"], "isolation", Write("rtt = \"1 s\"")),
    (&["interplanetary"], "isolation", Write("rtt = \"1000 s\"")),
    // A token bucket.
    (&["buffer", "maxburst"], "burst", Write("burst = \"10 kB\"")),
    (&["latency", "peakrate", "mtu", "minburst", "mpu"], "burst", Says("a policer keeps no packet: leave it out")),
];

/// Tells whether two words are the same but for case and the signs within them.
fn alike(a: &str, b: &str) -> bool {
    let plain = |text: &str| -> Vec<char> {
        text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).take(64).collect()
    };
    plain(a) == plain(b)
}

/// Translates a word of `tc` for an algorithm with these parameters, if it is one.
pub fn answer(word: &str, parameters: &[&str]) -> Option<Answer> {
    let fits = |needed: &str| needed.split_whitespace().all(|name| parameters.contains(&name));
    WORDS
        .iter()
        .find(|(words, needed, _)| fits(needed) && words.iter().any(|w| alike(w, word)))
        .map(|(_, _, answer)| *answer)
}

/// Tells whether these are the parameters of an algorithm of the catalog.
pub fn is_algorithm(parameters: &[&str]) -> bool {
    CATALOG.iter().any(|entry| {
        let own = (entry.params)();
        own.len() == parameters.len() && own.iter().all(|p| parameters.contains(&p.name))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use quell_aqm::catalog::{AqmConfig, find};

    use crate::grammar::GRAMMARS;

    fn parameters(name: &str) -> Vec<&'static str> {
        (find(name).unwrap().params)().iter().map(|p| p.name).collect()
    }

    /// What tc only prints, or reads of what it prints.
    const SHOWN: &[&str] = &["ewma", "Plog", "Scell_log"];

    #[test]
    fn every_word_of_the_grammar_is_a_parameter_or_has_an_answer() {
        for (name, qdisc) in crate::QDISCS.iter().filter(|(name, _)| *name != "sfq-red") {
            let own = parameters(name);
            assert!(is_algorithm(&own), "{name}");
            let words =
                GRAMMARS.iter().filter(|grammar| grammar.name == *qdisc).flat_map(|grammar| grammar.words);
            for word in words.filter(|word| !SHOWN.contains(&word.name)) {
                assert!(
                    own.contains(&word.name) || answer(word.name, &own).is_some(),
                    "{name}: {}",
                    word.name
                );
            }
        }
        assert!(!is_algorithm(&["rate", "delay"]));
    }

    /// What is to be written is accepted, for every algorithm to which the answer is given.
    #[test]
    fn what_answers_say_is_accepted() {
        let mut seen = 0;
        for entry in CATALOG {
            let own = parameters(entry.name);
            for (words, _, _) in WORDS {
                for word in words.iter().filter(|word| !own.contains(*word)) {
                    if let Some(Write(keys)) = answer(word, &own) {
                        let lines = keys.replace(", ", "\n");
                        let text = format!("algorithm = \"{}\"\n{lines}", entry.name);
                        let read = toml::from_str::<AqmConfig>(&text);
                        assert!(read.is_ok(), "{}: {word}: {keys}: {}", entry.name, read.unwrap_err());
                        seen += 1;
                    }
                }
            }
        }
        assert!(seen > 100, "{seen}");
    }

    #[test]
    fn signs_and_case_make_no_other_word() {
        let dualpi2 = parameters("dualpi2");
        for word in ["coupling_factor", "coupling-factor", "Coupling_Factor"] {
            assert_eq!(answer(word, &dualpi2), Some(Write("k = 2")));
        }
        assert_eq!(answer("coupling", &dualpi2), None);
        assert_eq!(format!("{}", Write("k = 2")), "a word of tc's: write k = 2");
    }
}
