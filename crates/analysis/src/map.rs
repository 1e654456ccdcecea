//! Maps of what the theory says of an algorithm over two quantities: what is asked for, the figures, and why points
//! have none.

use quell_aqm::catalog::AqmConfig;
use quell_theory::fluid::{Fluid, Options};
use quell_theory::map::{self as maps, Axis, Grid, Shown as OfLoop};
use quell_theory::models::AnyModel;
use quell_theory::{FluidNetwork, Loop, Plant, TheoryError};
use quell_units::Duration;
use quell_units::text::three_digits;
use serde::{Deserialize, Serialize};

use crate::assessment::Swing;
use crate::bottleneck::Bottleneck;
use crate::variation::Variation;

/// The quantity that a map shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MapShown {
    /// Real part of the slowest mode's root, per second: negative is stable.
    #[default]
    Growth,
    /// The factor by which the gain may rise.
    GainMargin,
    /// The phase margin of a stable loop, in degrees.
    PhaseMargin,
    /// The delay margin of a stable loop, in seconds.
    DelayMargin,
    /// The time in which the slowest mode decays to 2%, in seconds.
    Settling,
    /// The queue at equilibrium, in packets.
    Queue,
    /// The probability of a signal at equilibrium.
    Probability,
    /// The swing of the fluid model's queue after 300 round trips, relative to its mean.
    Swing,
}

/// The side of a value on which a loop is stable.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Border {
    /// Stable below it.
    Below(f64),
    /// Stable above it.
    Above(f64),
}

impl Border {
    /// Whether a loop with this value is stable.
    pub fn is_stable(self, value: f64) -> bool {
        match self {
            Border::Below(border) => value < border,
            Border::Above(border) => value > border,
        }
    }

    /// The value on it.
    pub fn at(self) -> f64 {
        match self {
            Border::Below(border) | Border::Above(border) => border,
        }
    }
}

impl MapShown {
    /// All of them.
    pub const ALL: [MapShown; 8] = [
        MapShown::Growth,
        MapShown::GainMargin,
        MapShown::PhaseMargin,
        MapShown::DelayMargin,
        MapShown::Settling,
        MapShown::Queue,
        MapShown::Probability,
        MapShown::Swing,
    ];

    /// Its name, its title, what it is in words, its unit, and the border between its stable and its unstable values.
    fn about(self) -> (&'static str, &'static str, &'static str, &'static str, Option<Border>) {
        let growth = "Real part of the slowest mode's root, per second: negative is stable";
        let settling = "Time in which the slowest mode decays to 2%, in seconds";
        let swing =
            "Swing of the fluid model's queue after 300 round trips, relative to its mean (time domain)";
        let settled = Some(Border::Below(Swing::SETTLED));
        match self {
            MapShown::Growth => ("growth", "growth rate", growth, "1/s", Some(Border::Below(0.0))),
            MapShown::GainMargin => (
                "gain-margin",
                "gain margin",
                "The factor by which the gain may rise",
                "",
                Some(Border::Above(1.0)),
            ),
            MapShown::PhaseMargin => {
                ("phase-margin", "phase margin", "The phase margin, in degrees", "degrees", None)
            }
            MapShown::DelayMargin => {
                ("delay-margin", "delay margin", "The delay margin, in seconds", "s", None)
            }
            MapShown::Settling => ("settling", "settling time", settling, "s", None),
            MapShown::Queue => {
                ("queue", "queue at equilibrium", "The queue at equilibrium, in packets", "packets", None)
            }
            MapShown::Probability => {
                ("probability", "signal probability", "The probability of a signal at equilibrium", "", None)
            }
            MapShown::Swing => ("swing", "swing of the fluid", swing, "", settled),
        }
    }

    /// The name by which it is asked for.
    pub fn name(self) -> &'static str {
        self.about().0
    }

    /// What it is called on a map.
    pub fn title(self) -> &'static str {
        self.about().1
    }

    /// What it is, in a sentence without its period.
    pub fn doc(self) -> &'static str {
        self.about().2
    }

    /// Its unit; empty for a pure number.
    pub fn unit(self) -> &'static str {
        self.about().3
    }

    /// The border between its stable and its unstable values, if it says so.
    pub fn border(self) -> Option<Border> {
        self.about().4
    }
}

/// An axis of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct MapAxis {
    /// `flows`, `rate`, `rtt` or a parameter of the algorithm, as [`Variation::new`] has it.
    pub name: String,
    /// The unit of its values; empty: that of [`Variation::new`].
    pub unit: String,
    /// The values.
    pub values: Axis,
}

impl MapAxis {
    /// What stands beside it.
    pub fn label(&self) -> String {
        if self.unit.is_empty() { self.name.clone() } else { format!("{} ({})", self.name, self.unit) }
    }
}

/// What is asked of a map.
#[derive(Clone, Debug, PartialEq)]
pub struct MapRequest {
    /// From left to right.
    pub x: MapAxis,
    /// From bottom to top.
    pub y: MapAxis,
    /// The quantity that is shown.
    pub show: MapShown,
    /// The part of the flows' delay that the model keeps.
    pub plant: Plant,
}

/// An algorithm at a bottleneck with the request for a map that can be answered.
#[derive(Clone, Debug)]
pub struct Mapper {
    vary: Variation,
    request: MapRequest,
}

/// A reason for which points have no value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Missing {
    /// The reason.
    pub reason: String,
    /// The number of points.
    pub points: usize,
    /// The reason at one of them, in full.
    pub example: String,
}

/// A map.
#[derive(Clone, Debug)]
pub struct Map {
    /// The values in the unit of [`MapShown::unit`], or the kind of reason for which there is none.
    pub grid: Grid<Result<f64, String>>,
    /// The reasons, the most frequent first.
    pub missing: Vec<Missing>,
    /// The share of the points that are stable, where what is shown says so.
    pub stable: Option<f64>,
}

impl Mapper {
    /// A map of an algorithm at a bottleneck.
    ///
    /// # Errors
    /// The algorithm has no model, there is no such axis, or its values cannot be read: that is wrong with the request, not
    /// with a place on the map.
    pub fn new(
        bottleneck: &Bottleneck,
        config: &AqmConfig,
        request: MapRequest,
    ) -> Result<Mapper, TheoryError> {
        let axes = [&request.x, &request.y];
        let vary =
            Variation::new(bottleneck, config, axes.map(|axis| (axis.name.as_str(), axis.unit.as_str())))?;
        if let Err(e @ TheoryError::NoModel { .. }) =
            AnyModel::of(config, &bottleneck.link, &bottleneck.network)
        {
            return Err(e);
        }
        for (i, axis) in axes.into_iter().enumerate() {
            vary.check(i, &axis.unit, (axis.values.from, axis.values.to))?;
        }
        Ok(Mapper { vary, request })
    }

    /// The map; `tell` hears of each point, from all cores.
    ///
    /// # Errors
    /// The values of an axis are not as [`Axis::values`] wants them.
    pub fn map(&self, tell: impl Fn() + Sync) -> Result<Map, TheoryError> {
        let MapRequest { x, y, show, .. } = &self.request;
        let grid = maps::map(&x.values, &y.values, |x, y| {
            let value = self.value(x, y);
            tell();
            value
        })?;
        let stable = show.border().map(|border| {
            let is_stable = |value: &&Result<f64, String>| value.as_ref().is_ok_and(|v| border.is_stable(*v));
            grid.values.iter().filter(is_stable).count() as f64 / grid.values.len() as f64
        });
        Ok(Map { missing: self.missing(&grid), stable, grid })
    }

    /// The quantity shown at a point of the map; `None` where the loop has none.
    fn found(&self, x: f64, y: f64) -> Result<Option<f64>, TheoryError> {
        let MapRequest { show, plant, .. } = self.request;
        let (model, network) = self.vary.at(x, y)?;
        if show == MapShown::Swing {
            return swing(network, model).map(Some);
        }
        let equilibrium = model.equilibrium(&network)?;
        let control = || Loop::new(&equilibrium.point, &model.controller(&equilibrium)?, plant);
        let of_loop = |shown: OfLoop| shown.of(&control()?);
        // Between two crossovers an unstable loop has a positive margin, which says nothing.
        let if_stable = |shown: OfLoop| {
            let control = control()?;
            if control.stable() { shown.of(&control) } else { Ok(None) }
        };
        match show {
            MapShown::Growth => of_loop(OfLoop::Growth),
            MapShown::GainMargin => of_loop(OfLoop::GainMargin),
            MapShown::PhaseMargin => Ok(if_stable(OfLoop::PhaseMargin)?.map(f64::to_degrees)),
            MapShown::DelayMargin => if_stable(OfLoop::DelayMargin),
            MapShown::Settling => of_loop(OfLoop::Settling),
            MapShown::Queue => Ok(Some(equilibrium.point.queue)),
            MapShown::Probability | MapShown::Swing => Ok(Some(equilibrium.point.probability)),
        }
    }

    /// A value, or the kind of reason for which there is none.
    fn value(&self, x: f64, y: f64) -> Result<f64, String> {
        match self.found(x, y) {
            Ok(Some(value)) => Ok(value),
            Ok(None) if self.request.show == MapShown::GainMargin => {
                Err("no gain makes it marginally stable".into())
            }
            Ok(None) => Err(format!("unstable, or without a limit: no {}", self.request.show.title())),
            Err(TheoryError::NoEquilibrium { .. } | TheoryError::Quantity { .. }) => {
                Err("no equilibrium".into())
            }
            // With its value it would be another reason at each point.
            Err(TheoryError::Parameter(e)) => Err(format!("the algorithm refuses {}", e.field)),
            Err(e) => Err(e.to_string()),
        }
    }

    fn missing(&self, grid: &Grid<Result<f64, String>>) -> Vec<Missing> {
        let mut all: Vec<(&String, usize, usize)> = Vec::new();
        for (k, value) in grid.values.iter().enumerate() {
            let Err(reason) = value else { continue };
            match all.iter_mut().find(|(r, ..)| *r == reason) {
                Some((_, points, _)) => *points += 1,
                None => all.push((reason, 1, k)),
            }
        }
        all.sort_by_key(|(_, points, _)| std::cmp::Reverse(*points));
        all.truncate(MOST_REASONS);
        let n = grid.x.len();
        let place = |axis: &MapAxis, value: f64| {
            format!("{} = {} {}", axis.name, three_digits(value), axis.unit).trim_end().to_string()
        };
        let example = |k: usize| {
            let (x, y) = (grid.x[k % n], grid.y[k / n]);
            let why = match self.found(x, y) {
                Err(e) => e.to_string(),
                Ok(_) => grid.values[k].as_ref().err().cloned().unwrap_or_default(),
            };
            format!("at {}, {}: {why}", place(&self.request.x, x), place(&self.request.y, y))
        };
        let missing = |(reason, points, k): (&String, usize, usize)| Missing {
            reason: reason.clone(),
            points,
            example: example(k),
        };
        all.into_iter().map(missing).collect()
    }

    /// The factor and the unit of what is shown: a time is in the unit that an axis has times in, since one map with
    /// milliseconds beside seconds is read wrongly.
    pub fn scale(&self) -> (f64, &str) {
        let units = [&self.request.x.unit, &self.request.y.unit];
        let second = |unit: &str| Some(1.0 / format!("1 {unit}").parse::<Duration>().ok()?.as_secs_f64());
        let of_axis = || units.into_iter().find_map(|unit| Some((second(unit)?, unit.as_str())));
        match self.request.show.unit() {
            "s" => of_axis().unwrap_or((1.0, "s")),
            unit => (1.0, unit),
        }
    }

    /// The place of the bottleneck as it is on the map, if both axes are quantities that it has.
    pub fn here(&self) -> Option<(f64, f64)> {
        self.vary.now(0).zip(self.vary.now(1))
    }
}

/// Reasons for blanks that are told.
const MOST_REASONS: usize = 5;
/// The fluid model runs for so many round trips from an empty queue; the second half is looked at.
const ROUND_TRIPS: f64 = 600.0;

/// The swing of the fluid model's queue in the end, over its mean.
fn swing(network: FluidNetwork, model: AnyModel) -> Result<f64, TheoryError> {
    let full = network.buffer / network.capacity;
    let longest = network.classes.iter().map(|c| c.propagation).fold(0.0, f64::max) + 0.25 * full;
    let shortest = network.classes.iter().map(|c| c.propagation).fold(f64::INFINITY, f64::min);
    let options = Options { sample: shortest / 4.0, ..Options::default() };
    let duration = ROUND_TRIPS * longest;
    let run = Fluid::new(network, model)?.run(duration, &options)?;
    let summary = run.summary(0.5 * duration)?;
    Ok(if summary.mean > 0.0 { std::f64::consts::SQRT_2 * summary.deviation / summary.mean } else { 0.0 })
}
