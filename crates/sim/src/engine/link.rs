//! A link where flows merge, compiled for its algorithm where that pays.

use quell_aqm::catalog::{AnyAlgorithm, AnyAqm, AnyDiscipline, Visitor};
use quell_aqm::{Algorithm, Aqm, Departures, Discipline, Rng};
use quell_queue::{Fifo, Gate, Limit, Parallel};
use quell_units::BitRate;

use super::lindley::{ArrivalQueue, LindleyQueue};
use super::service::{HeadQueue, HostsOfFlows, ServedLink};
use super::waiting::Waiting;
use super::{queue_parts, recorder};
use crate::control::Control;
use crate::network::{Network, Schedule};
use crate::observe::Observer;
use crate::record::{InLanes, Recorder};
use crate::tap::{Tap, Tapped};
use crate::wire::Wire;

/// A merging link as the fast engine sees it.
pub(super) enum Link {
    /// Unlimited and not observed: the wire is enough.
    Plain(Wire),
    /// Its queue decides on arrival.
    Arrival(Box<dyn ArrivalQueue>),
    /// Its departures are decided, or it has a shaper, classes, a cell or a channel: it is served whenever the wire is free.
    Head(Box<dyn HeadQueue>),
}

impl Link {
    /// The link `i` of a network, whose packets go past `taps`; keys there have `bits` of hop.
    pub fn new(
        network: &mut Network,
        i: usize,
        bits: u32,
        taps: Vec<Box<dyn Tap>>,
        hosts: &HostsOfFlows,
        control: &Control,
    ) -> Link {
        let recorder = recorder(network, i, control);
        let spec = &mut network.links[i];
        let wire = Wire::new(spec, network.seed, i as u32);
        if spec.is_served_by_dispatch() {
            // Links of these kinds are one type: dispatch is little beside what they do.
            let rate = spec.transmitter();
            let queue = Waiting::of(spec, network.seed, i);
            let observer = Tapped::new(recorder, taps);
            return Link::Head(Box::new(ServedLink::new(queue, &rate, wire, observer, hosts.clone())));
        }
        if spec.queue.is_none() && recorder.is_none() {
            return Link::Plain(wire);
        }
        let rng = network.seed.indexed_stream("link.aqm", i as u64);
        let (algorithm, limit, marks) = queue_parts(spec.queue.take().map(|queue| *queue));
        let build = Builder { bits, wire, rng, limit, marks, rate: &spec.rate, hosts };
        match (algorithm, recorder) {
            (Algorithm::Aqm(AnyAqm::DropTail(aqm)), None) => build.arrival(aqm, ()),
            (algorithm, Some(recorder)) if taps.is_empty() => build.recorded(algorithm, recorder),
            (algorithm, recorder) => build.any(algorithm, Tapped::new(recorder, taps)),
        }
    }
}

/// Says whether an algorithm decides about departures.
fn decides(aqm: &AnyAqm) -> bool {
    aqm.departures() == Departures::Decided
}

/// Builds a link, in code of its own for each algorithm and observer.
struct Builder<'a> {
    bits: u32,
    wire: Wire,
    rng: Rng,
    limit: Limit,
    marks: bool,
    rate: &'a Schedule<BitRate>,
    hosts: &'a HostsOfFlows,
}

impl Builder<'_> {
    fn arrival<A: Aqm + Send + 'static, O: Observer + Send + 'static>(self, aqm: A, observer: O) -> Link {
        let Builder { bits, wire, rng, limit, marks, rate, .. } = self;
        let gate = Gate::new(aqm, rng, limit, marks);
        Link::Arrival(Box::new(LindleyQueue::new(bits, wire, gate, rate.initial, observer)))
    }

    fn head<A: Aqm + Send + 'static, O: Observer + Send + 'static>(self, aqm: A, observer: O) -> Link {
        let Builder { wire, rng, limit, marks, rate, hosts, .. } = self;
        let queue = Fifo::new(aqm, rng, limit, marks, Some(rate.initial));
        Link::Head(Box::new(ServedLink::new(queue, rate, wire, observer, hosts.clone())))
    }

    fn lanes<D: Discipline + Send + 'static, O: Observer + Send + 'static>(
        self,
        discipline: D,
        observer: O,
    ) -> Link {
        let Builder { wire, rng, limit, marks, rate, hosts, .. } = self;
        let queue = Parallel::new(discipline, rng, limit, marks, Some(rate.initial));
        Link::Head(Box::new(ServedLink::new(queue, rate, wire, observer, hosts.clone())))
    }

    /// A link with a recorder and nothing else, compiled for every algorithm of the catalog: in case a dispatch costs
    /// a packet a fifth more instructions.
    fn recorded(self, algorithm: AnyAlgorithm, recorder: Recorder) -> Link {
        match algorithm {
            Algorithm::Aqm(aqm) if decides(&aqm) => match aqm {
                AnyAqm::Codel(aqm) => self.head(aqm, recorder),
                AnyAqm::Cobalt(aqm) => self.head(aqm, recorder),
                AnyAqm::Choke(aqm) => self.head(aqm, recorder),
                AnyAqm::Step(aqm) => self.head(aqm, recorder),
                aqm => self.any(aqm.into(), Tapped::new(Some(recorder), Vec::new())),
            },
            Algorithm::Aqm(_) => algorithm.visit(Arrivals { build: self, recorder }),
            Algorithm::Discipline(discipline) => match discipline {
                AnyDiscipline::FqCodel(discipline) => self.lanes(discipline, recorder),
                AnyDiscipline::FqPie(discipline) => self.lanes(discipline, recorder),
                AnyDiscipline::FqBlue(discipline) => self.lanes(discipline, recorder),
                AnyDiscipline::Sfq(discipline) => self.lanes(discipline, recorder),
                AnyDiscipline::SfqRed(discipline) => self.lanes(discipline, recorder),
                AnyDiscipline::Cake(discipline) => self.lanes(discipline, recorder),
                AnyDiscipline::DualPi2(discipline) => self.lanes(discipline, InLanes(recorder)),
                AnyDiscipline::CurvyRed(discipline) => self.lanes(discipline, InLanes(recorder)),
                AnyDiscipline::RedTail(discipline) => self.lanes(discipline, InLanes(recorder)),
                custom => self.any(custom.into(), Tapped::new(Some(recorder), Vec::new())),
            },
        }
    }

    /// A link whose algorithm and taps are found by dispatch.
    fn any(self, algorithm: AnyAlgorithm, observer: Tapped) -> Link {
        match algorithm {
            Algorithm::Aqm(aqm) if decides(&aqm) => self.head(aqm, observer),
            Algorithm::Aqm(aqm) => self.arrival(aqm, observer),
            Algorithm::Discipline(discipline) => self.lanes(discipline, observer),
        }
    }
}

/// Builds links of algorithms that decide on arrival.
struct Arrivals<'a> {
    build: Builder<'a>,
    recorder: Recorder,
}

impl Visitor for Arrivals<'_> {
    type Output = Link;

    fn visit<A: Aqm + Send + 'static>(self, aqm: A) -> Link {
        self.build.arrival(aqm, self.recorder)
    }

    fn visit_discipline<D: Discipline + Send + 'static>(self, _: D) -> Link {
        unreachable!("a discipline decides on departures")
    }
}
