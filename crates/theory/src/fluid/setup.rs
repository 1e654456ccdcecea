//! The subject of a run: a network, an algorithm, the start, and how accurately.

use crate::error::{TheoryError, positive, require};
use crate::models::{AnyModel, FluidLaw, FluidView, Model, with_model};
use crate::network::FluidNetwork;
use crate::num::dde::Tolerance;

/// The senders' view of the losses of a full queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Overflow {
    /// Signals like any other: `p + (1 - p) (1 - C/r)` for the rate r that meets the full queue.
    #[default]
    Signals,
    /// Unnoticed, as in the papers' equations.
    Ignored,
}

/// State in which a fluid starts, and was all the time before.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Start {
    /// Windows of one packet and an empty queue.
    #[default]
    Empty,
    /// Its equilibrium, with this many packets more in the queue from t = 0 on.
    Equilibrium(f64),
    /// Anywhere.
    At {
        /// W of each class in packets.
        windows: Vec<f64>,
        /// q in packets.
        queue: f64,
        /// The law's variables, in the order of [`AnyModel::variables`].
        state: Vec<f64>,
    },
}

/// Options of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// The solver's tolerance. Windows and queues are in packets, probabilities in thousandths.
    pub tolerance: Tolerance,
    /// Time between two samples, in seconds.
    pub sample: f64,
    /// The senders' view of the losses of a full queue.
    pub overflow: Overflow,
}

impl Default for Options {
    fn default() -> Self {
        Options { tolerance: Tolerance::default(), sample: 0.01, overflow: Overflow::default() }
    }
}

/// A network with an algorithm, as a fluid.
#[derive(Clone, Debug, PartialEq)]
pub struct Fluid {
    /// Networks, each with the time from which on it holds. The first is 0.
    pub(super) legs: Vec<(f64, FluidNetwork)>,
    pub(super) model: AnyModel,
    pub(super) start: Start,
}

/// Most variables that a fluid can have: windows, queue and the law's.
pub(super) const VARIABLES: usize = 16;

impl Fluid {
    /// A network and an algorithm, starting empty.
    ///
    /// # Errors
    /// Names what is not physical.
    pub fn new(network: FluidNetwork, model: AnyModel) -> Result<Fluid, TheoryError> {
        network.check()?;
        let network = model.network(&network);
        let own = if network.estimates() { 2 } else { 1 };
        let most = (VARIABLES - 1 - model.variables().len()) / own;
        require(
            network.classes.len() <= most,
            "classes of flows",
            network.classes.len(),
            format!("must be at most {most}: merge flows with similar round-trip times"),
        )?;
        let fluid = Fluid { legs: vec![(0.0, network)], model, start: Start::Empty };
        for (name, x) in with_model!(&fluid.model, m => m.numbers()) {
            require(!x.is_nan(), format!("parameter {name} of the model"), x, "must be a number")?;
        }
        fluid.initial()?;
        Ok(fluid)
    }

    /// Starts there.
    ///
    /// # Errors
    /// There is no equilibrium to start at, or a value is not physical.
    pub fn starting(mut self, start: Start) -> Result<Fluid, TheoryError> {
        self.start = start;
        self.initial()?;
        Ok(self)
    }

    /// Changes N, C and the propagation delays to those of `network` from `at` on, in seconds and after all
    /// changes before. A new rate of the link does not change what the algorithm was told.
    ///
    /// # Errors
    /// The change is not one of N, C and propagation delays.
    pub fn changing(mut self, at: f64, network: FluidNetwork) -> Result<Fluid, TheoryError> {
        network.check()?;
        let network = self.model.network(&network);
        let (last, first) = (&self.legs[self.legs.len() - 1], &self.legs[0].1);
        require(
            at.is_finite() && at > last.0,
            "time of a change",
            format!("{at} s"),
            format!("must be finite and after {} s", last.0),
        )?;
        require(
            network.classes.len() == first.classes.len(),
            "classes of flows",
            network.classes.len(),
            format!("must stay {}: only N, C and T_p may change", first.classes.len()),
        )?;
        require(
            network.buffer == first.buffer
                && network.congestion == first.congestion
                && network.scalables == first.scalables
                && network.signal == first.signal,
            "buffer, window rule and signal",
            format!("{}, {:?}, {:?}", network.buffer, network.congestion, network.signal),
            "must not change: only N, C and T_p may change",
        )?;
        self.legs.push((at, network));
        Ok(self)
    }

    /// The network at the start.
    pub fn network(&self) -> &FluidNetwork {
        &self.legs[0].1
    }

    /// The algorithm.
    pub fn model(&self) -> &AnyModel {
        &self.model
    }

    /// The state before the start, and at the start: windows, queue, law's variables.
    pub(super) fn initial(&self) -> Result<(Vec<f64>, Vec<f64>), TheoryError> {
        let network = self.network();
        let mut share = 1.0;
        let (mut before, queue) = match &self.start {
            Start::Empty => {
                let mut state = vec![0.0; self.model.variables().len()];
                with_model!(self.model, m => FluidLaw::<f64>::start(&m, network.capacity, &mut state));
                ([vec![1.0; network.classes.len()], vec![0.0], state].concat(), 0.0)
            }
            Start::Equilibrium(more) => {
                let equilibrium = self.model.equilibrium(network)?;
                let windows = equilibrium.point.classes.iter().map(|c| c.window).collect();
                let queue = equilibrium.point.queue + more;
                share = equilibrium.point.probability;
                ([windows, vec![equilibrium.point.queue], equilibrium.state].concat(), queue)
            }
            Start::At { windows, queue, state } => {
                let (classes, variables) = (network.classes.len(), self.model.variables());
                require(
                    windows.len() == classes,
                    "windows at the start",
                    windows.len(),
                    format!("must be {classes}, one for each class of flows"),
                )?;
                for w in windows {
                    positive("window W at the start", *w, "packets")?;
                }
                let names: Vec<&str> = variables.iter().map(|v| v.0).collect();
                require(
                    state.len() == variables.len(),
                    "variables of the algorithm at the start",
                    state.len(),
                    format!("must be {}: {}", variables.len(), names.join(", ")),
                )?;
                for ((name, unit), x) in variables.iter().zip(state) {
                    require(
                        x.is_finite(),
                        format!("{name} at the start"),
                        format!("{x} {unit}"),
                        "must be finite",
                    )?;
                }
                ([windows.clone(), vec![*queue], state.clone()].concat(), *queue)
            }
        };
        require(
            queue >= 0.0 && queue <= network.buffer,
            "queue q at the start",
            format!("{queue} packets"),
            format!("must lie in [0, {}], the buffer", network.buffer),
        )?;
        let k = network.classes.len();
        if network.estimates() {
            before.extend((0..k).map(|i| network.signaled(i, share).0));
        }
        let mut now = before.clone();
        now[k] = queue;
        for ((name, unit), x) in self.model.variables().iter().zip(self.speeds(&now)) {
            require(
                x.is_finite(),
                format!("rate of change of {name} at the start"),
                format!("{x} {unit}/s"),
                "must be finite: check the parameters of the algorithm",
            )?;
        }
        Ok((before, now))
    }

    /// The law's rates of change in a state, to find parameters that are not numbers.
    fn speeds(&self, y: &[f64]) -> Vec<f64> {
        fn of<M: Model>(m: &M, network: &FluidNetwork, y: &[f64]) -> Vec<f64> {
            let k = network.classes.len();
            let (windows, queue, x) = (&y[..k], y[k], &y[k + 1..][..M::STATE.len()]);
            let p = m.probability(queue, network.capacity, x);
            let rate = |i: usize| network.classes[i].flows * windows[i] / network.rtt(i, queue);
            let arrivals = (0..k).map(rate).sum();
            let admitted: f64 = (0..k).map(|i| rate(i) * network.admitted(i, p)).sum();
            let growth = admitted - network.capacity;
            let mut dx = vec![0.0; x.len()];
            let seen = FluidView { queue, growth, arrivals, admitted, capacity: network.capacity };
            m.rates(&seen, x, &mut dx);
            dx.push(p);
            dx.iter().map(|d| d + 0.0 * p).collect()
        }
        with_model!(&self.model, m => of(m, self.network(), y))
    }

    pub(super) fn check(&self, duration: f64, options: &Options) -> Result<(), TheoryError> {
        positive("duration", duration, "s")?;
        positive("time between samples", options.sample, "s")?;
        let samples = duration / options.sample;
        require(
            samples <= 1e8,
            "samples",
            format!("{samples:e}"),
            "must be at most 1e8: use a longer interval between them",
        )
    }
}
