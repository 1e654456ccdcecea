//! The parts of a model: the law that the fluid integrates, its equilibrium, and its linear form there.

use quell_aqm::Link;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::params::ParamError;

use crate::controller::Controller;
use crate::error::TheoryError;
use crate::network::{Coupling, FluidNetwork, OperatingPoint};
use crate::num::{Real, Wide};
use crate::text::figure;

/// An algorithm's view of its queue.
#[derive(Clone, Copy, Debug)]
pub struct FluidView<V> {
    /// q: the queue in packets.
    pub queue: V,
    /// `q'` in packets per second: 0 at a full or empty queue that would leave its bounds.
    pub growth: V,
    /// r: what arrives, in packets per second.
    pub arrivals: V,
    /// Arrivals that are not dropped early, in packets per second.
    pub admitted: V,
    /// C in packets per second.
    pub capacity: V,
}

/// A state variable of a law: its name in the paper and its unit.
pub type Variable = (&'static str, &'static str);

/// An algorithm as a differential equation: its state x moves with the queue, and the probability of a
/// signal follows from both.
pub trait FluidLaw<V: Real>: Copy + Send + Sync {
    /// The state variables.
    const STATE: &'static [Variable];

    /// The state at an empty queue, before any packet; by default all of it is 0.
    fn start(&self, _capacity: V, x: &mut [V]) {
        x.fill(V::of(0.0));
    }

    /// The probability of a signal, in [0, 1].
    fn probability(&self, queue: V, capacity: V, x: &[V]) -> V;

    /// `x'`, per second.
    fn rates(&self, seen: &FluidView<V>, x: &[V], dx: &mut [V]);

    /// Moves the state back into its bounds.
    #[inline(always)]
    fn confine(&self, _x: &mut [V]) {}

    /// Makes the jumps that are due between two steps of the solver; returns whether there was one.
    #[inline(always)]
    fn switch(&self, _seen: &FluidView<V>, _x: &mut [V]) -> bool {
        false
    }
}

/// Several models of one kind, side by side.
pub trait Pack<const L: usize>: Sized {
    /// The model with [`Wide`] for numbers.
    type Packed: FluidLaw<Wide<L>>;
    /// Puts one model into each lane.
    fn pack(points: &[Self; L]) -> Self::Packed;
}

/// Declares a model as a struct of numbers, which can stand side by side: `pub struct Pi { k_p, ... }`. One that is
/// built on another names it: `pub struct StPi(pi: Pi) { ... }`.
macro_rules! model {
    (
        $(#[$doc:meta])* pub struct $name:ident $(($base:ident: $base_model:ident))?
        { $( $(#[$field_doc:meta])* $field:ident, )+ }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name<V = f64> {
            $(
                /// The model on which this one is built.
                pub $base: $base_model<V>,
            )?
            $( $(#[$field_doc])* pub $field: V, )+
        }

        impl $name<f64> {
            /// Its parameters with their names.
            pub fn numbers(&self) -> Vec<(&'static str, f64)> {
                let own = [$( (stringify!($field), self.$field), )+];
                std::iter::empty()$( .chain(self.$base.numbers()) )?.chain(own).collect()
            }
        }

        impl<const L: usize> $crate::models::law::Pack<L> for $name<f64> {
            type Packed = $name<$crate::num::Wide<L>>;
            fn pack(points: &[Self; L]) -> Self::Packed {
                $name {
                    $( $base: $crate::models::law::Pack::pack(&std::array::from_fn(|i| points[i].$base)), )?
                    $( $field: $crate::num::Wide(std::array::from_fn(|i| points[i].$field)), )+
                }
            }
        }
    };
}
pub(super) use model;

/// The equilibrium of a law and a network.
#[derive(Clone, Debug, PartialEq)]
pub struct Equilibrium {
    /// The network.
    pub point: OperatingPoint,
    /// The law's state.
    pub state: Vec<f64>,
    /// A remark for users: the equilibrium is one of many, or a bound holds it.
    pub remark: Option<String>,
}

/// A law that can be asked for its equilibrium and for what it is near there.
pub trait Model: FluidLaw<f64> {
    /// The model of an algorithm on a link, if it is one of this model's; `network` is what AP-RED is told of.
    ///
    /// # Errors
    /// A parameter breaks a rule of the algorithm.
    fn of_config(
        config: &AqmConfig,
        link: &Link,
        network: &FluidNetwork,
    ) -> Option<Result<Self, TheoryError>>
    where
        Self: Sized;

    /// Treatment of scalable senders beside Classic ones, a static function of p; by default they are treated
    /// alike.
    fn coupling(&self) -> Coupling {
        Coupling::default()
    }

    /// Its equilibrium on a network, whose coupling is its own.
    ///
    /// # Errors
    /// There is no equilibrium; the error says why.
    fn equilibrium(&self, network: &FluidNetwork) -> Result<Equilibrium, TheoryError>;

    /// The linear form near an equilibrium, from its paper's equations.
    ///
    /// # Errors
    /// The law has no slope there.
    fn controller(&self, equilibrium: &Equilibrium) -> Result<Controller, TheoryError>;
}

/// The queue at which a probability that rises with the queue meets the one that the flows need, by
/// bisection; the flows' falls as the queue grows.
pub(super) fn crossing(
    network: &FluidNetwork,
    probability: impl Fn(f64) -> f64,
) -> Result<OperatingPoint, TheoryError> {
    let excess = |q: f64| match network.needed_probability(q, network.capacity) {
        Ok(p) => probability(q) - p,
        Err(_) => -1.0,
    };
    if excess(network.buffer) < 0.0 {
        // With the reason, where even the full buffer needs more than every packet signaled.
        let needed = network.needed_probability(network.buffer, network.capacity)?;
        return Err(TheoryError::NoEquilibrium {
            quantity: "the queue q".into(),
            reason: format!(
                "at the full buffer of {} packets the algorithm signals with p = {}, but the flows need {}: the buffer overflows; allow a larger probability, a larger buffer or fewer flows",
                network.buffer,
                figure(probability(network.buffer)),
                figure(needed)
            ),
        });
    }
    if excess(0.0) > 0.0 {
        return Err(TheoryError::NoEquilibrium {
            quantity: "the queue q".into(),
            reason: format!(
                "even an empty queue is signaled with p = {}, but the flows need {} to fill the link, which stays underused; lower the probability",
                figure(probability(0.0)),
                figure(network.needed_probability(0.0, network.capacity)?)
            ),
        });
    }
    let (mut low, mut high) = (0.0, network.buffer);
    for _ in 0..200 {
        let middle = 0.5 * (low + high);
        if excess(middle) < 0.0 { low = middle } else { high = middle }
    }
    let point = network.point(0.5 * (low + high), network.capacity)?;
    if point.probability > 1.0 - 1e-9 {
        return Err(TheoryError::NoEquilibrium {
            quantity: "the queue q".into(),
            reason: format!(
                "up to {:.1} packets the flows need more than every packet signaled, and beyond that p = 1 does not \
                 follow the queue; fewer flows, a higher capacity or a longer round-trip time would have an \
                 equilibrium",
                point.queue
            ),
        });
    }
    Ok(point)
}

/// The equilibrium at a target queue, if the buffer holds it.
pub(super) fn at_target(network: &FluidNetwork, q_ref: f64) -> Result<OperatingPoint, TheoryError> {
    if q_ref > network.buffer {
        return Err(TheoryError::quantity(
            "target q_ref",
            format!("{q_ref} packets"),
            format!("must fit into the buffer of {} packets", network.buffer),
        ));
    }
    network.point(q_ref, network.capacity)
}

/// The equilibrium of an algorithm that adapts a parameter within bounds until the queue is `q`: the queue's
/// equilibrium, the parameter, and whether that is at a bound because no allowed one leads to `q`.
/// `parameter` is the one with which p is signaled at `q`, `held` the queue's equilibrium with a given one.
pub(super) fn adapted(
    network: &FluidNetwork,
    q: f64,
    (bottom, top): (f64, f64),
    parameter: impl Fn(f64) -> f64,
    held: impl Fn(f64) -> Result<OperatingPoint, TheoryError>,
) -> Result<(OperatingPoint, f64, bool), TheoryError> {
    let bound = match at_target(network, q) {
        Ok(point) => match parameter(point.probability) {
            x if x < bottom => bottom,
            x if x > top => top,
            x => return Ok((point, x, false)),
        },
        // Too many flows for so short a queue.
        Err(_) => top,
    };
    Ok((held(bound)?, bound, true))
}

/// The time constant in seconds of an average that gives a new sample the weight `w` every `interval`
/// seconds: `K = -ln(1 - w)/T_s`, Chen 2010, eq. 4.2. 0 for a weight of 1.
pub(super) fn memory(w: f64, interval: f64) -> f64 {
    if w < 1.0 { -interval / libm::log1p(-w) } else { 0.0 }
}

/// The parameter of an algorithm that the models need and cannot be told.
pub(super) fn unknown(field: &'static str, value: impl ToString, rule: &str) -> TheoryError {
    ParamError::new(field, value, rule).into()
}
