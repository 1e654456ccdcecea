//! An algorithm at a bottleneck of which two things vary: the points of a map.

use quell_aqm::catalog::{self, AqmConfig};
use quell_theory::models::AnyModel;
use quell_theory::rules::reach::{Quantity, scaled};
use quell_theory::{FluidNetwork, Loop, Plant, TheoryError, map};
use quell_units::{BitRate, Duration};

use crate::bottleneck::Bottleneck;

/// The quantity shown at a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Something of the loop.
    Loop(map::Shown),
    /// The queue at equilibrium, in packets.
    Queue,
    /// The probability of a signal at equilibrium.
    Probability,
}

/// The quantity that varies along an axis.
#[derive(Clone, Debug)]
enum Varies {
    /// N, all classes by the same factor.
    Flows,
    /// C.
    Rate,
    /// The propagation delays, all classes by the same factor.
    Rtt,
    /// A parameter of the algorithm.
    Parameter(String),
}

/// An algorithm at a bottleneck of which two things vary. The algorithm is rebuilt for each point, so
/// that automatic parameters follow the link.
#[derive(Clone, Debug)]
pub struct Variation {
    bottleneck: Bottleneck,
    algorithm: &'static str,
    parameters: toml::Table,
    axes: [(Varies, String); 2],
}

impl Variation {
    /// The parameters of an algorithm that can be an axis: a name has no values between two others.
    pub fn parameters(config: &AqmConfig) -> Vec<&'static str> {
        let all = catalog::find(config.name()).map(|entry| (entry.params)()).unwrap_or_default();
        all.iter().filter(|p| p.unit != "name").map(|p| p.name).collect()
    }

    /// Axes are `flows`, `rate`, `rtt` (the mean round-trip time without queueing) or a parameter of the
    /// algorithm, each with the unit of its values: "bit/s", "ms". Without one, rates are in bit/s, times
    /// in seconds, and parameters in the unit that they have now, automatic sizes in packets.
    ///
    /// # Errors
    /// There is no such axis, or both are the same.
    pub fn new(
        bottleneck: &Bottleneck,
        config: &AqmConfig,
        axes: [(&str, &str); 2],
    ) -> Result<Self, TheoryError> {
        let known = Variation::parameters(config);
        let mut parameters = toml::Table::try_from(config)
            .map_err(|e| TheoryError::quantity("the parameters", config.name(), e.to_string()))?;
        parameters.remove("algorithm");
        let varies = |(name, unit): (&str, &str)| -> Result<(Varies, String), TheoryError> {
            let or = |default: &str| if unit.is_empty() { default.to_string() } else { unit.to_string() };
            match name {
                "flows" => Ok((Varies::Flows, String::new())),
                "rate" => Ok((Varies::Rate, or("bit/s"))),
                "rtt" => Ok((Varies::Rtt, or("s"))),
                name if known.contains(&name) => {
                    let unit = match parameters.get(name).and_then(toml::Value::as_str) {
                        Some("auto") => "packets",
                        Some(now) => now.split_once(' ').map_or("", |(_, unit)| unit),
                        None => "",
                    };
                    Ok((Varies::Parameter(name.into()), or(unit)))
                }
                name => {
                    let rule = format!("must be flows, rate, rtt, or one of {}", known.join(", "));
                    Err(TheoryError::quantity("axis", name, rule))
                }
            }
        };
        if axes[0].0 == axes[1].0 {
            return Err(TheoryError::quantity("axes", format!("both {}", axes[0].0), "must differ"));
        }
        let axes = [varies(axes[0])?, varies(axes[1])?];
        Ok(Variation { bottleneck: bottleneck.clone(), algorithm: config.name(), parameters, axes })
    }

    /// The model and the network at a point.
    ///
    /// # Errors
    /// A value is not physical, or breaks a rule of the algorithm.
    pub fn at(&self, x: f64, y: f64) -> Result<(AnyModel, FluidNetwork), TheoryError> {
        let mut link = self.bottleneck.link;
        let mut network = self.bottleneck.network.clone();
        let mut parameters = self.parameters.clone();
        let flows = |n: &FluidNetwork| n.classes.iter().map(|c| c.flows).sum::<f64>();
        for ((varies, unit), value) in self.axes.iter().zip([x, y]) {
            match varies {
                Varies::Flows => network = scaled(&network, Quantity::Flows, value / flows(&network)),
                Varies::Rate => {
                    link.rate = with_unit::<BitRate>("rate", value, unit)?;
                    network.capacity = link.rate.packets_per_sec(link.mean_packet);
                }
                Varies::Rtt => {
                    let rtt = with_unit::<Duration>("rtt", value, unit)?.as_secs_f64();
                    let all = network.classes.iter().map(|c| c.flows * c.propagation).sum::<f64>();
                    network = scaled(&network, Quantity::Rtt, rtt * flows(&network) / all);
                }
                Varies::Parameter(name) => {
                    parameters.insert(name.clone(), parameter(value, unit));
                }
            }
        }
        network.check()?;
        let config = AqmConfig::deserialize_named(self.algorithm, toml::Value::Table(parameters))
            .expect("the algorithm is of the catalog")
            .map_err(|e| {
                TheoryError::quantity("a parameter", e.message().trim(), "cannot be parsed; give its unit")
            })?;
        Ok((AnyModel::of(&config, &link, &network)?, network))
    }

    /// Refuses the ends of an axis that no point can have; `given` is the unit that was asked for.
    pub(crate) fn check(&self, i: usize, given: &str, (from, to): (f64, f64)) -> Result<(), TheoryError> {
        let varies = &self.axes[i].0;
        let refuse = |name: &str, rule: &str| {
            let end = |x: f64| format!("{x} {given}").trim().to_string();
            Err(TheoryError::quantity(name, format!("{}..{}", end(from), end(to)), rule))
        };
        let name = match varies {
            Varies::Flows => "flows",
            Varies::Rate => "rate",
            Varies::Rtt => "rtt",
            Varies::Parameter(name) => name,
        };
        match varies {
            Varies::Flows | Varies::Rate | Varies::Rtt if from <= 0.0 => {
                refuse(name, "must be positive over its whole range")
            }
            Varies::Flows if !given.is_empty() => refuse(name, "must be a number without a unit"),
            Varies::Flows => Ok(()),
            Varies::Rate => with_unit::<BitRate>(name, to, given)
                .map(drop)
                .or_else(|_| refuse(name, "must have a unit of rate, such as rate=1..100Mbit/s")),
            Varies::Rtt => with_unit::<Duration>(name, to, given)
                .map(drop)
                .or_else(|_| refuse(name, "must have a unit of time, such as rtt=10..500ms")),
            Varies::Parameter(name) => {
                // The parameter alone: whether it suits the others may differ over the map.
                let mut parameters = self.parameters.clone();
                parameters.insert(name.clone(), parameter(to, given));
                match AqmConfig::deserialize_named(self.algorithm, toml::Value::Table(parameters)) {
                    Some(Err(_)) if given.is_empty() => {
                        let doc = catalog::find(self.algorithm)
                            .and_then(|entry| (entry.params)().into_iter().find(|p| p.name == name));
                        let unit = doc.map_or("", |p| p.unit);
                        let rule =
                            format!("must have its unit ({unit}), such as {name}=10..50packets or 1..20ms");
                        refuse(name, &rule)
                    }
                    Some(Err(e)) => refuse(name, e.message().trim()),
                    _ => Ok(()),
                }
            }
        }
    }

    /// The value of an axis at the bottleneck as it is; `None` for a parameter that is not a plain number.
    pub(crate) fn now(&self, i: usize) -> Option<f64> {
        let (varies, unit) = &self.axes[i];
        let network = &self.bottleneck.network;
        let flows: f64 = network.classes.iter().map(|c| c.flows).sum();
        match varies {
            Varies::Flows => Some(flows),
            Varies::Rate => {
                let one = with_unit::<BitRate>("rate", 1.0, unit).ok()?;
                Some(self.bottleneck.link.rate.bps() as f64 / one.bps() as f64)
            }
            Varies::Rtt => {
                let rtt = network.classes.iter().map(|c| c.flows * c.propagation).sum::<f64>() / flows;
                Some(rtt / with_unit::<Duration>("rtt", 1.0, unit).ok()?.as_secs_f64())
            }
            Varies::Parameter(name) => match self.parameters.get(name)? {
                toml::Value::String(now) => {
                    let (value, its) = now.split_once(' ')?;
                    value.parse().ok().filter(|_| its == unit)
                }
                now => now.as_float(),
            },
        }
    }

    /// The quantity shown at a point; `None` where it has no value, such as a margin without a crossover.
    ///
    /// # Errors
    /// Those of [`Variation::at`] and of the loop there, and that there is no equilibrium.
    pub fn value(&self, shown: Shown, plant: Plant, x: f64, y: f64) -> Result<Option<f64>, TheoryError> {
        let (model, network) = self.at(x, y)?;
        let equilibrium = model.equilibrium(&network)?;
        match shown {
            Shown::Loop(shown) => {
                shown.of(&Loop::new(&equilibrium.point, &model.controller(&equilibrium)?, plant)?)
            }
            Shown::Queue => Ok(Some(equilibrium.point.queue)),
            Shown::Probability => Ok(Some(equilibrium.point.probability)),
        }
    }
}

/// A value of a parameter as a scenario has it.
fn parameter(value: f64, unit: &str) -> toml::Value {
    if unit.is_empty() { toml::Value::Float(value) } else { toml::Value::String(format!("{value} {unit}")) }
}

fn with_unit<T>(name: &str, value: f64, unit: &str) -> Result<T, TheoryError>
where
    T: std::str::FromStr,
    T::Err: std::fmt::Display,
{
    let text = format!("{value} {unit}");
    text.parse().map_err(|e: T::Err| TheoryError::quantity(name, &text, e.to_string()))
}

#[cfg(test)]
mod tests {
    use quell_aqm::Link;
    use quell_aqm::pi::PiParams;
    use quell_units::{Bytes, QueueSize};

    use super::*;
    use crate::assessment::{Assessment, Prediction};

    fn bottleneck() -> (Bottleneck, AqmConfig) {
        let link = Link {
            rate: BitRate::from_bps(10_000_000),
            buffer: QueueSize::Packets(300.0),
            mean_packet: Bytes::new(1000),
        };
        let network = FluidNetwork::new(100.0, 0.1, 1250.0, 300.0);
        let bottleneck = Bottleneck {
            name: "bottleneck".into(),
            link,
            algorithms: Vec::new(),
            network,
            left_out: Vec::new(),
        };
        (bottleneck, AqmConfig::Pi(PiParams::default()))
    }

    /// A point of a map is what an analysis of that network says.
    #[test]
    fn a_point_is_the_network_with_two_things_changed() {
        let (bottleneck, config) = bottleneck();
        let vary = Variation::new(&bottleneck, &config, [("flows", ""), ("rtt", "ms")]).unwrap();
        let mut moved = bottleneck.clone();
        moved.network = FluidNetwork::new(60.0, 0.25, 1250.0, 300.0);
        let said = Assessment::of("pi", &config, &moved, Plant::Exact, false).unwrap();
        let growth = vary.value(Shown::Loop(map::Shown::Growth), Plant::Exact, 60.0, 250.0).unwrap().unwrap();
        let figures = said.margins.unwrap();
        assert!((growth - figures.growth_per_s).abs() < 1e-9 * growth.abs(), "{growth}, {figures:?}");
        assert_eq!(said.verdict == Prediction::Stable, growth < 0.0);
    }

    #[test]
    fn parameters_keep_their_unit_and_the_link_its_rate() {
        let (bottleneck, config) = bottleneck();
        let vary = Variation::new(&bottleneck, &config, [("rate", ""), ("q_ref", "packets")]).unwrap();
        let queue = vary.value(Shown::Queue, Plant::Exact, 2e7, 33.0).unwrap();
        assert_eq!(queue, Some(33.0));
        assert_eq!(vary.at(2e7, 33.0).unwrap().1.capacity, 2500.0);
        assert!(vary.at(-1.0, 33.0).unwrap_err().to_string().contains("rate = -1 bit/s"));
    }

    #[test]
    fn unknown_axes_are_refused() {
        let (bottleneck, config) = bottleneck();
        let refuse = |axes| Variation::new(&bottleneck, &config, axes).unwrap_err().to_string();
        assert!(refuse([("flows", ""), ("max_p", "")]).contains("axis = max_p: must be flows, rate, rtt"));
        assert!(refuse([("rtt", ""), ("rtt", "")]).contains("must differ"));
    }
}
