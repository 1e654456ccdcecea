//! Reasons for which algorithms have no continuous form. A new algorithm needs no entry: the default is true
//! of all.

/// The default, which is true of every algorithm here; others may have written a continuous form.
const UNWRITTEN: &str = "no continuous form of its law is written here";

/// The algorithms of which more can be said: what stands in the way, and what helps instead.
const REASONS: &[(&str, &str)] = &[
    ("drop-tail", "it signals only a full buffer: there is no slope to linearize"),
    (
        "feng-ared",
        "max_p moves only as the average leaves the thresholds; between them it is red with that max_p",
    ),
    ("ared-dt", "the thresholds follow past losses; see the map of Jou et al. 2003, section VI"),
    ("fuzzy-red", "the weight changes with every packet; bracket it by red with its two weights"),
    (
        "curvy-red",
        "it has two probabilities for two kinds of senders, and the models have one; its Classic queue alone is a \
         red of the delay whose probability is squared",
    ),
    ("red+tail", "two queues share the link; analyze the algorithm of the second one"),
    ("fq-codel", "each flow has a queue and a CoDel of its own, and the models have one queue for all"),
    ("fq-pie", "each flow has a queue and a PIE of its own, and the models have one queue for all"),
    ("fq-blue", "each flow has a queue and a BLUE of its own, and the models have one queue for all"),
    ("sfq", "each flow has a queue of its own, and only a full buffer is signaled"),
    ("sfq-red", "each flow has a queue of its own; analyze red with the share of one"),
    ("cake", "each flow has a queue and a COBALT of its own, and the models have one queue for all"),
    ("wred", "each class has a RED of its own; analyze red with the settings of one class"),
    ("blue", "p moves on overflow and on idle links only: it has no equilibrium between them"),
    ("blue-fixed", "p moves on overflow and on idle links only: it has no equilibrium between them"),
    ("spf", "it admits exactly the capacity at any queue: the queue has no equilibrium"),
    ("sred", "it counts the flows by comparing single packets at random, which a fluid does not have"),
    ("fred", "each flow has a limit of its own; the models have one probability for all flows"),
    (
        "lred",
        "its probability is the share of packets lost in the last periods, which the models do not record",
    ),
    ("green", "each flow has a probability of its own, and the queue is not looked at"),
    (
        "codel",
        "it has no probability: it signals at times of its own, closer and closer while the delay stays high",
    ),
    (
        "cobalt",
        "it has no probability but BLUE's: it signals at times of its own, closer and closer while the delay stays high",
    ),
    ("step", "it marks all or nothing: there is no slope to linearize"),
    ("policer", "it has no queue: it drops what exceeds its rate"),
    ("sfb", "each flow has probabilities of its own; the models have one probability for all flows"),
    ("choke", "a flow's probability goes with its share of the queue, which the models do not tell apart"),
];

/// Tells why an algorithm without a model has none.
pub(super) fn reason(algorithm: &str) -> &'static str {
    REASONS.iter().find(|(name, _)| *name == algorithm).map_or(UNWRITTEN, |(_, reason)| reason)
}

#[cfg(test)]
mod tests {
    use quell_aqm::Link;
    use quell_aqm::catalog;
    use quell_units::{BitRate, Bytes, QueueSize};

    use super::*;
    use crate::models::AnyModel;
    use crate::network::FluidNetwork;

    /// No reason is given for an algorithm that has a model, or that does not exist.
    #[test]
    fn reasons_are_of_algorithms_without_a_model() {
        let link = Link {
            rate: BitRate::from_bps(15_000_000),
            buffer: QueueSize::Packets(1000.0),
            mean_packet: Bytes::new(1000),
        };
        let network = FluidNetwork::new(60.0, 0.2, 1875.0, 1000.0);
        for (name, _) in REASONS {
            let entry = catalog::find(name).unwrap_or_else(|| panic!("{name} is not in the catalog"));
            assert!(AnyModel::find(&(entry.default)(), &link, &network).is_none(), "{name} has a model");
        }
    }
}
