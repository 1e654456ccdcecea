//! Real traffic across a wire: the kernel's TCP and UDP, driven as a scenario says.

mod app;
mod flow;
mod receive;
mod socket;
mod watch;

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError};
use std::thread::JoinHandle;

use crate::wire::{Side, Wire, WireError};
use app::{End, Shared, joined, start};
pub use flow::{App, Draw, Flow, Kind, MOST_FLOWS, Tcp, Transfer, Transferred, Transfers, address};
use receive::{Arrivals, listen, receive};
pub use watch::Done;
use watch::Watch;

/// Traffic that runs.
pub struct Traffic {
    shared: Shared,
    flows: Vec<JoinHandle<io::Result<()>>>,
    /// Stops the receivers, which end after the flows: otherwise these would find their connections closed.
    stop_receivers: Arc<AtomicBool>,
    receivers: Vec<JoinHandle<io::Result<()>>>,
}

/// The kernel's congestion controls.
pub fn congestion_controls() -> Vec<String> {
    names_of("tcp_available_congestion_control")
}

/// The congestion controls that a host of a namespace may have by default, and sockets without privileges may choose.
pub fn allowed_congestion_controls() -> Vec<String> {
    names_of("tcp_allowed_congestion_control")
}

/// The congestion control of this host's sockets that do not choose, if the kernel says.
pub fn default_congestion_control() -> Option<String> {
    names_of("tcp_congestion_control").pop()
}

fn names_of(file: &str) -> Vec<String> {
    let names = std::fs::read_to_string(format!("/proc/sys/net/ipv4/{file}")).unwrap_or_default();
    names.split_whitespace().map(str::to_string).collect()
}

impl Traffic {
    /// Starts receivers and flows; times count from the beginning of the wire's clock.
    ///
    /// # Errors
    /// If a socket or a thread is refused.
    pub fn start(wire: &Wire, flows: Vec<Flow>) -> Result<Traffic, WireError> {
        let failed = |what: &str, e: io::Error| WireError(format!("{what}: {e}"));
        if flows.len() > MOST_FLOWS {
            return Err(WireError(format!("{} flows are more than {MOST_FLOWS}", flows.len())));
        }
        let shared = Shared {
            clock: wire.clock,
            stop: Arc::default(),
            transfers: Arc::default(),
            arrivals: Arc::new(flows.iter().map(|_| Arrivals::default()).collect()),
            watch: Arc::new(Watch::new(flows.len())),
        };
        let stop_receivers = Arc::new(AtomicBool::new(false));
        let (mut threads, mut receivers) = (Vec::new(), Vec::new());
        for side in [Side::Near, Side::Far] {
            let (stop, arrivals, clock) = (stop_receivers.clone(), shared.arrivals.clone(), shared.clock);
            let host = wire.host(side);
            let sockets = host.run(listen).map_err(|e| failed("receivers cannot listen", e))?;
            let thread = host
                .thread("quell-receive", move || receive(&sockets.0, &sockets.1, (&stop, clock), &arrivals));
            receivers.push(thread.map_err(|e| failed("a thread cannot start", e))?);
        }
        for side in [Side::Near, Side::Far] {
            // Who opens the connection asks.
            let asks = |flow: &Flow| match &flow.kind {
                Kind::Tcp { ecn: true, app: App::Transfers { asked: true, .. }, .. } => flow.from != side,
                Kind::Tcp { ecn: true, .. } => flow.from == side,
                _ => false,
            };
            let own = flows.iter().enumerate().filter(|(_, flow)| asks(flow)).map(|(i, _)| address(i));
            wire.ask_for_ecn(side, own)?;
        }
        let mut ends: Vec<End> =
            flows.into_iter().enumerate().flat_map(|(i, flow)| End::of(i, flow)).collect();
        ends.sort_by_key(|end| end.start);
        for side in [Side::Near, Side::Far] {
            let (own, others): (Vec<_>, Vec<_>) = ends.into_iter().partition(|end| end.at == side);
            ends = others;
            let shared = shared.clone();
            let thread = wire.host(side).thread("quell-start", move || start(own, &shared));
            threads.push(thread.map_err(|e| failed("a thread cannot start", e))?);
        }
        Ok(Traffic { shared, flows: threads, stop_receivers, receivers })
    }

    /// Returns what each flow's senders have done so far. Round-trip times are those of the moments at which this is
    /// asked, and at which a connection ends: the more often, the nearer their mean.
    pub fn done(&self) -> Vec<Done> {
        self.shared.watch.look()
    }

    /// The bytes that each flow's receiver has had so far, without headers.
    pub fn received(&self) -> Vec<u64> {
        self.shared.arrivals.iter().map(Arrivals::bytes).collect()
    }

    /// The transfers that have finished so far, in the order in which they did.
    pub fn transfers(&self) -> Vec<Transferred> {
        self.shared.transfers.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends all flows at once; gives the first failure, if there was one.
    ///
    /// # Errors
    /// What a flow or a receiver met.
    pub fn finish(self) -> io::Result<()> {
        self.shared.stop.store(true, Ordering::Relaxed);
        let sent = joined(self.flows);
        self.stop_receivers.store(true, Ordering::Relaxed);
        let received = joined(self.receivers);
        sent.and(received)
    }
}
