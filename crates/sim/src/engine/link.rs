//! A link where flows merge, compiled for its algorithm.

use quell_aqm::catalog::Visitor;
use quell_aqm::{Aqm, Departures, Discipline, Rng};
use quell_queue::{Fifo, Gate, Limit, Parallel};
use quell_units::BitRate;

use super::lindley::{ArrivalQueue, LindleyQueue};
use super::service::{HeadQueue, HostsOfFlows, ServedLink};
use super::{queue_parts, recorder};
use crate::network::{Network, Schedule};
use crate::record::{InLanes, Logger, Observer, Recorder};
use crate::wire::Wire;

/// What a merging link is to the fast engine.
pub(super) enum Link {
    /// Unlimited and not observed: the wire is enough.
    Plain(Wire),
    /// Its queue decides on arrival.
    Arrival(Box<dyn ArrivalQueue>),
    /// Its departures are decided: it is served whenever the wire is free.
    Head(Box<dyn HeadQueue>),
}

impl Link {
    /// The link `i` of a network, whose packets may be logged; keys there have `bits` of hop.
    pub fn new(network: &mut Network, i: usize, bits: u32, logs: bool, hosts: &HostsOfFlows) -> Link {
        let recorder = recorder(network, i);
        let spec = &mut network.links[i];
        let wire = Wire::new(spec, network.seed, i as u32);
        if spec.queue.is_none() && recorder.is_none() {
            return Link::Plain(wire);
        }
        let rng = network.seed.indexed_stream("link.aqm", i as u64);
        let (algorithm, limit, marks) = queue_parts(spec.queue.take());
        algorithm.visit(Builder { bits, wire, rng, limit, marks, rate: &spec.rate, recorder, logs, hosts })
    }
}

/// Builds a link whose algorithm is known.
struct Builder<'a> {
    bits: u32,
    wire: Wire,
    rng: Rng,
    limit: Limit,
    marks: bool,
    rate: &'a Schedule<BitRate>,
    recorder: Option<Recorder>,
    logs: bool,
    hosts: &'a HostsOfFlows,
}

impl Builder<'_> {
    /// A link for one kind of observer.
    fn fifo<A: Aqm + 'static, O: Observer + 'static>(self, aqm: A, observer: O) -> Link {
        let Builder { bits, wire, rng, limit, marks, rate, hosts, .. } = self;
        let first = rate.initial;
        if aqm.departures() == Departures::Decided {
            let queue = Fifo::new(aqm, rng, limit, marks, Some(first));
            return Link::Head(Box::new(ServedLink::new(queue, rate, wire, observer, hosts.clone())));
        }
        let gate = Gate::new(aqm, rng, limit, marks);
        Link::Arrival(Box::new(LindleyQueue::new(bits, wire, gate, first, observer)))
    }

    fn lanes<D: Discipline + 'static, O: Observer + 'static>(self, discipline: D, observer: O) -> Link {
        let Builder { wire, rng, limit, marks, rate, hosts, .. } = self;
        let queue = Parallel::new(discipline, rng, limit, marks, Some(rate.initial));
        Link::Head(Box::new(ServedLink::new(queue, rate, wire, observer, hosts.clone())))
    }
}

impl Visitor for Builder<'_> {
    type Output = Link;

    fn visit<A: Aqm + 'static>(mut self, aqm: A) -> Link {
        match self.recorder.take() {
            Some(recorder) if self.logs => self.fifo(aqm, Logger::new(recorder, true)),
            Some(recorder) => self.fifo(aqm, recorder),
            None => self.fifo(aqm, ()),
        }
    }

    fn visit_discipline<D: Discipline + 'static>(mut self, discipline: D) -> Link {
        match self.recorder.take() {
            Some(recorder) if self.logs => self.lanes(discipline, Logger::new(recorder, true)),
            Some(recorder) if !discipline.lane_names().is_empty() => {
                self.lanes(discipline, InLanes(recorder))
            }
            Some(recorder) => self.lanes(discipline, recorder),
            None => self.lanes(discipline, ()),
        }
    }
}
