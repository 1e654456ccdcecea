//! The subject of the measurements: algorithms, and the line that they manage.

use quell_aqm::catalog::{AqmConfig, CATALOG};
use quell_gateway::LineConfig;
use quell_units::{BitRate, Bytes};

use crate::Outcome;

/// The algorithms that the relay is measured with.
pub(super) const ALGORITHMS: [&str; 5] = ["drop-tail", "red", "hred-fixed", "codel", "pie"];

/// The size of a packet with IP's header.
pub(super) const PACKET: usize = 1500;

/// An algorithm with its defaults.
pub(super) fn named(name: &str) -> Outcome<AqmConfig> {
    let entry = CATALOG.iter().find(|e| e.name == name);
    entry.map(|e| (e.default)()).ok_or_else(|| format!("there is no algorithm \"{name}\""))
}

/// A line on which signals are marks, so that no packet is spared its way out.
pub(super) fn line(aqm: AqmConfig, rate: BitRate, packets: u32) -> LineConfig {
    LineConfig {
        name: "up".into(),
        rate,
        buffer: quell_units::QueueSize::Packets(f64::from(packets)),
        mean_packet: Bytes::new(PACKET as u64),
        ecn: true,
        seed: 1,
        aqm,
        shaper: None,
        classes: None,
        behind: None,
    }
}
