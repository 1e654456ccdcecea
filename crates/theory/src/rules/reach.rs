//! Distance that the network may move before the verdict changes.

use quell_aqm::Link;
use quell_aqm::ap_red::Conditions;
use quell_aqm::catalog::AqmConfig;
use serde::Serialize;

use super::analysis::conditions;
use crate::error::TheoryError;
use crate::linear::{Loop, Plant};
use crate::models::AnyModel;
use crate::network::FluidNetwork;
use crate::text::figure;

/// A quantity of the network that moves alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Quantity {
    /// N: all classes by the same factor.
    Flows,
    /// C.
    Capacity,
    /// R: the propagation delays of all classes by the same factor.
    Rtt,
}

/// State of a loop on some network.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Beyond {
    /// Every mode dies out.
    Stable,
    /// A mode grows.
    Unstable,
    /// There is no equilibrium, with the reason.
    NoEquilibrium(String),
}

/// Value at which the verdict changes as a quantity moves one way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Edge {
    /// The quantity there, the last value with the present verdict: flows, packets per second, or the
    /// mean round-trip time at equilibrium in seconds.
    pub at: f64,
    /// It over the present value.
    pub factor: f64,
    /// The verdict beyond.
    pub beyond: Beyond,
}

/// Range in which a quantity may move, alone, before the verdict changes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reach {
    /// The quantity that moves.
    pub quantity: Quantity,
    /// Its value now.
    pub now: f64,
    /// Downwards; `None` if nothing changes down to a thousandth.
    pub below: Option<Edge>,
    /// Upwards; `None` if nothing changes up to a thousandfold.
    pub above: Option<Edge>,
}

impl std::fmt::Display for Reach {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (name, unit) = match self.quantity {
            Quantity::Flows => ("N", "flows"),
            Quantity::Capacity => ("C", "packets/s"),
            Quantity::Rtt => ("R", "s"),
        };
        write!(f, "{name} = {} {unit}", figure(self.now))?;
        for (edge, verb) in [(&self.below, "fall"), (&self.above, "rise")] {
            match edge {
                None => write!(f, "; it may {verb} by a factor of a thousand")?,
                Some(e) => {
                    write!(f, "; it may {verb} to {} ({} times), ", figure(e.at), figure(e.factor))?;
                    match &e.beyond {
                        Beyond::Stable => write!(f, "beyond which the loop is stable")?,
                        Beyond::Unstable => write!(f, "beyond which the loop is unstable")?,
                        Beyond::NoEquilibrium(why) => {
                            write!(f, "beyond which there is no equilibrium ({why})")?
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// Finds how far each of N, C and R may move, alone, before the verdict changes; the equilibrium is found
/// again at each step. The algorithm keeps its parameters, as built for the link.
///
/// # Errors
/// Those of [`analyze`].
pub fn robustness(
    config: &AqmConfig,
    link: &Link,
    network: &FluidNetwork,
) -> Result<[Reach; 3], TheoryError> {
    network.check()?;
    // AP-RED follows what it measures, so each network has a model of its own.
    let at = |network: &FluidNetwork| -> (Beyond, Option<Conditions>) {
        let found = || -> Result<(Beyond, Conditions), TheoryError> {
            let model = AnyModel::of(config, link, network)?;
            let equilibrium = model.equilibrium(network)?;
            let stable =
                Loop::new(&equilibrium.point, &model.controller(&equilibrium)?, Plant::Exact)?.stable();
            Ok((if stable { Beyond::Stable } else { Beyond::Unstable }, conditions(&equilibrium)))
        };
        match found() {
            Ok((verdict, conditions)) => (verdict, Some(conditions)),
            Err(e) => (Beyond::NoEquilibrium(e.to_string()), None),
        }
    };
    let model = AnyModel::of(config, link, network)?;
    model.equilibrium(network)?;
    let reach = |quantity: Quantity| -> Reach {
        let read = |c: &Conditions| match quantity {
            Quantity::Flows => c.flows,
            Quantity::Capacity => c.capacity,
            Quantity::Rtt => c.rtt,
        };
        let moved = |k: f64| at(&scaled(network, quantity, k));
        let (verdict, here) = moved(1.0);
        let now = here.as_ref().map_or(f64::NAN, read);
        let edge = |ratio: f64| {
            let same = |k: f64| std::mem::discriminant(&moved(k).0) == std::mem::discriminant(&verdict);
            let mut low = 1.0;
            let steps = (libm::log(1000.0) / libm::log(ratio).abs()).ceil() as i32;
            let high = (1..=steps).map(|i| libm::pow(ratio, f64::from(i))).find(|&k| {
                let here = same(k);
                if here {
                    low = k;
                }
                !here
            });
            let mut high = high?;
            while (high / low - 1.0).abs() > 1e-7 {
                let middle = (low * high).sqrt();
                if same(middle) { low = middle } else { high = middle }
            }
            let value = moved(low).1.as_ref().map_or(f64::NAN, read);
            Some(Edge { at: value, factor: value / now, beyond: moved(high).0 })
        };
        Reach { quantity, now, below: edge(1.0 / 1.1), above: edge(1.1) }
    };
    Ok([reach(Quantity::Flows), reach(Quantity::Capacity), reach(Quantity::Rtt)])
}

/// The network with one of its quantities times `k`.
pub fn scaled(network: &FluidNetwork, quantity: Quantity, k: f64) -> FluidNetwork {
    let mut moved = network.clone();
    match quantity {
        Quantity::Flows => moved.classes.iter_mut().for_each(|c| c.flows *= k),
        Quantity::Capacity => moved.capacity *= k,
        Quantity::Rtt => moved.classes.iter_mut().for_each(|c| c.propagation *= k),
    }
    moved
}
