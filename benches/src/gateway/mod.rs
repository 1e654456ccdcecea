//! The cost of the gateway on real packets, and how exactly it keeps a rate.

mod line;
mod ports;
mod rate;

use quell_aqm::catalog::{AqmConfig, CATALOG};
use quell_gateway::LineConfig;
use quell_units::{BitRate, Bytes};

use crate::Outcome;
use crate::table::Section;

/// The algorithms that the relay is measured with.
const ALGORITHMS: [&str; 5] = ["drop-tail", "red", "hred-fixed", "codel", "pie"];

/// The size of a packet with IP's header.
const PACKET: usize = 1500;

/// All tables of the gateway; what cannot be measured here is said on stderr.
pub fn all(rounds: u32, seconds: u32, mut publish: impl FnMut(&Section) -> Outcome<()>) -> Outcome<()> {
    publish(&line::every()?)?;
    if let Some(why) = why_not() {
        eprintln!("skipped: the relay and its rate: {why}");
        return Ok(());
    }
    // What fails of one leaves the other.
    let ratios = ports::ratios(rounds).and_then(|section| publish(&section));
    let kept = rate::kept(seconds).and_then(|section| publish(&section));
    ratios.and(kept)
}

/// The reason why there can be no namespaces.
fn why_not() -> Option<String> {
    if !quell_gateway::wire::may_make_namespaces() {
        return Some("network namespaces need root".into());
    }
    let ip = std::process::Command::new("ip").arg("-V").output();
    ip.is_err().then(|| "there is no `ip` (apt-get install iproute2)".into())
}

/// An algorithm with its defaults.
fn named(name: &str) -> Outcome<AqmConfig> {
    let entry = CATALOG.iter().find(|e| e.name == name);
    entry.map(|e| (e.default)()).ok_or_else(|| format!("there is no algorithm \"{name}\""))
}

/// A line on which signals are marks, so that no packet is spared its way out.
fn line(aqm: AqmConfig, rate: BitRate, packets: u32) -> LineConfig {
    LineConfig {
        name: "up".into(),
        rate,
        buffer: quell_units::QueueSize::Packets(f64::from(packets)),
        mean_packet: Bytes::new(PACKET as u64),
        ecn: true,
        seed: 1,
        aqm,
    }
}
