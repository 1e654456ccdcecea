//! The cost of the gateway on real packets, and how exactly it keeps a rate.

mod line;
mod ports;
mod rate;
mod subject;

use crate::Outcome;
use crate::table::Section;

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
