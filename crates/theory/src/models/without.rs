//! Reasons for which algorithms have no continuous form. A new algorithm needs no entry: the default is true
//! of all.

/// The default, which is true of every algorithm here; others may have written a continuous form.
const UNWRITTEN: &str = "Quell has no continuous form of its law";

/// The algorithms of which more can be said: what stands in the way, and what helps instead.
const REASONS: &[(&str, &str)] = &[
    ("drop-tail", "it signals only a full buffer, so there is no slope to linearize"),
    (
        "feng-ared",
        "max_p moves only when the average leaves the thresholds; between them it is red with that max_p",
    ),
    ("ared-dt", "the thresholds follow past losses; see the map of Jou et al. 2003, section VI"),
    ("fuzzy-red", "the weight changes with every packet; bracket it by red with its two weights"),
    (
        "curvy-red",
        "it has two probabilities for two kinds of senders, but the models have one; its Classic queue alone is red \
         applied to the delay, with a squared probability",
    ),
    ("red+tail", "two queues share the link; analyze the algorithm of the second one"),
    ("fq-codel", "each flow has its own queue and CoDel, but the models have one queue for all"),
    ("fq-pie", "each flow has its own queue and PIE, but the models have one queue for all"),
    ("fq-blue", "each flow has its own queue and BLUE, but the models have one queue for all"),
    ("sfq", "each flow has its own queue, and only a full buffer is signaled"),
    ("sfq-red", "each flow has its own queue; analyze red with one flow's share"),
    ("cake", "each flow has its own queue and COBALT, but the models have one queue for all"),
    ("wred", "each class has its own RED; analyze red with the settings of one class"),
    ("blue", "p moves only on overflow and on idle links, so there is no equilibrium in between"),
    ("blue-fixed", "p moves only on overflow and on idle links, so there is no equilibrium in between"),
    ("spf", "it admits exactly the capacity at any queue, so the queue has no equilibrium"),
    ("sred", "it counts flows by comparing single packets at random, which a fluid does not have"),
    ("fred", "each flow has its own limit, but the models have one probability for all flows"),
    (
        "lred",
        "its probability is the share of packets lost in the last periods, which the models do not record",
    ),
    ("green", "each flow has its own probability, and the queue does not matter"),
    (
        "codel",
        "it has no probability: it signals at its own times, more and more often while the delay stays high",
    ),
    (
        "cobalt",
        "it has no probability except BLUE's: it signals at its own times, more and more often while the delay stays \
         high",
    ),
    ("step", "it marks all or nothing, so there is no slope to linearize"),
    ("policer", "it has no queue: it drops what exceeds its rate"),
    ("sfb", "each flow has its own probabilities, but the models have one probability for all flows"),
    ("choke", "a flow's probability depends on its share of the queue, which the models do not distinguish"),
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
