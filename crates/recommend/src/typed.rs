//! The shaper of a candidate as it is typed: what a router counts of a packet is not always what the link counts.

use quell_aqm::catalog::AqmConfig;
use quell_router::{Can, Platform, burst};
use quell_units::{Bytes, LinkLayer};

use crate::candidate::Candidate;
use crate::request::Request;
use crate::way::Way;

/// The Linux of a router of which only algorithms are named, unless a later one is needed: `linux` is Debian's.
const USUAL: &str = "linux";
/// The newest Linux that is known.
const NEWEST: &str = "linux-7.2";

/// The router for which lines are written.
pub(crate) fn platform(request: &Request, candidate: &Candidate) -> Option<Platform> {
    match &request.can {
        Can::Platform(platform) => Some(*platform),
        Can::Algorithms(_) => Platform::find(USUAL)
            .filter(|linux| linux.has(&candidate.up).is_some())
            .or(Platform::find(NEWEST)),
    }
}

/// Tells whether the rate is CAKE's own, which counts what the link counts.
pub(crate) fn is_cakes(request: &Request, candidate: &Candidate) -> bool {
    let leaves = platform(request, candidate).is_none_or(Platform::leaves_rates_to_cake);
    leaves && matches!(candidate.up, AqmConfig::Cake(_))
}

/// The shaper of a candidate in a direction as the router counts packets, and its burst, which takes the time of one on the
/// link.
pub(crate) fn shaper(request: &Request, candidate: &Candidate, way: &Way) -> (LinkLayer, Bytes) {
    let link = candidate.shaper(way);
    let usual = burst(&link);
    let platform = platform(request, candidate).filter(|_| !is_cakes(request, candidate));
    let Some(platform) = platform else { return (link, usual) };
    // A device of PPP has no header of Ethernet.
    let is_ppp = request.technology.name.contains("ppp");
    let device = request.device.as_deref().or(is_ppp.then_some("ppp0"));
    let typed = platform.typed(&link, device);
    let bytes = u128::from(usual.get()) * u128::from(typed.rate.bps());
    let bytes = bytes.div_ceil(u128::from(link.rate.bps().max(1)));
    (typed, Bytes::new(u64::try_from(bytes).unwrap_or(u64::MAX)))
}
