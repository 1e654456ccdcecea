//! What the documents compute rather than simulate: numbers and figures of the theory.

mod red_tail;
mod vrc;

use std::collections::BTreeMap;

use quell_view::chart::{Chart, Curve, Form, Horizontal, Panel};
use serde::Deserialize;

use red_tail::Simulated;

use crate::value::Value;

/// A number or a figure that the document computes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Computed {
    /// The id of the printed number, if it is one.
    #[serde(default)]
    pub cell: Option<String>,
    /// The number of the figure, if it is one.
    #[serde(default)]
    pub figure: Option<String>,
    /// What it shows.
    #[serde(default)]
    pub title: String,
    /// How it is computed.
    pub compute: Compute,
    /// Borders that runs show, to draw over what is computed.
    #[serde(default, rename = "border")]
    pub borders: Vec<Border>,
}

/// Where a quantity of runs leaves a range as a field is raised, for each value of another field.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Border {
    /// What the curve is called.
    pub label: String,
    /// The title of its panel; none for all panels.
    #[serde(default)]
    pub panel: Option<String>,
    /// The run; none for the first.
    #[serde(default)]
    pub run: Option<String>,
    /// The label of the algorithm.
    pub algorithm: String,
    /// The quantity.
    pub metric: Value,
    /// The range that its mean leaves.
    pub leaves: [f64; 2],
    /// The points of the run: fields and their values.
    #[serde(default)]
    pub at: BTreeMap<String, toml::Value>,
    /// The field along the horizontal axis; times are seconds.
    pub x: String,
    /// The field along the vertical axis.
    pub y: String,
    /// Which of the two is raised.
    pub raised: Raised,
}

/// An axis of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Raised {
    /// The horizontal one.
    X,
    /// The vertical one.
    Y,
}

/// What is computed, and for which values.
#[derive(Clone, Debug, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Compute {
    /// A number: the largest K_I (Park et al. 2004, eq. 20).
    VrcLargestIntegral {
        /// K_D in seconds per packet.
        k_d: f64,
        /// R in seconds.
        rtt: f64,
        /// N.
        flows: f64,
        /// C in packets per second.
        capacity: f64,
    },
    /// A number: the largest K_P (Park et al. 2004, eq. 21).
    VrcLargestProportional {
        /// K_I per packet and second.
        k_i: f64,
        /// K_D in seconds per packet.
        k_d: f64,
        /// R in seconds.
        rtt: f64,
        /// N.
        flows: f64,
        /// C in packets per second.
        capacity: f64,
    },
    /// A number: the longest round-trip time at which PID gains are stable, in seconds (Park et al. 2004, eq. 17).
    VrcLongestRtt {
        /// K_P per packet.
        k_p: f64,
        /// K_I per packet and second.
        k_i: f64,
        /// K_D in seconds per packet.
        k_d: f64,
        /// N.
        flows: f64,
        /// C in packets per second.
        capacity: f64,
        /// This many packets of queueing are taken off: the longest propagation delay remains.
        #[serde(default)]
        q_ref: f64,
    },
    /// A number: the longest round-trip time at which AVQ is stable, in seconds (Kunniyur and Srikant 2001, Theorem
    /// 4.1).
    AvqLongestRtt {
        /// phi per second.
        phi: f64,
        /// tau: the utilization that is aimed for.
        tau: f64,
        /// N.
        flows: f64,
        /// C in packets per second.
        capacity: f64,
    },
    /// A figure: the longest stable round-trip time over C, for several N (Park et al. 2004, Fig. 3).
    VrcStabilitySurface {
        /// K_P per packet.
        k_p: f64,
        /// K_I per packet and second.
        k_i: f64,
        /// K_D in seconds per packet.
        k_d: f64,
        /// N, a curve each.
        flows: Vec<f64>,
        /// The ends of the axis of C, in packets per second.
        capacity: [f64; 2],
    },
    /// A figure: the largest K_P over K_I, for several K_D and R (Park et al. 2004, Fig. 4 and 8).
    VrcGainRegions {
        /// K_D in seconds per packet, a curve each.
        k_d: Vec<f64>,
        /// R in seconds, a panel each.
        rtt: Vec<f64>,
        /// N.
        flows: f64,
        /// C in packets per second.
        capacity: f64,
    },
    /// A figure: the longest stable propagation delay over K_P = K_I, for several K_D (Park et al. 2004, Fig. 7).
    VrcLongestDelay {
        /// K_D in seconds per packet, a curve each.
        k_d: Vec<f64>,
        /// The ends of the axis of K_P = K_I.
        gain: [f64; 2],
        /// N.
        flows: f64,
        /// C in packets per second.
        capacity: f64,
        /// The target in packets, whose delay is taken off.
        q_ref: f64,
    },
    /// A figure: the map of the queue from slot to slot (Jou et al. 2003, Fig. 18 and 19).
    RedTailMap(red_tail::Mapped),
    /// A figure: the queue slot by slot, with noise (Jou et al. 2003, Fig. 17 and 20).
    RedTailTrajectory(red_tail::Trajectory),
    /// A figure: the distribution of the queue (Jou et al. 2003, Fig. 21).
    RedTailDistribution(red_tail::Distribution),
}

/// What was computed.
#[derive(Clone, Debug)]
pub enum Answer {
    /// A number.
    Number(f64),
    /// A figure.
    Chart(Box<Chart>),
}

impl Compute {
    /// Whether it gives a number rather than a figure.
    pub fn is_number(&self) -> bool {
        matches!(
            self,
            Compute::VrcLargestIntegral { .. }
                | Compute::VrcLargestProportional { .. }
                | Compute::VrcLongestRtt { .. }
                | Compute::AvqLongestRtt { .. }
        )
    }

    /// The runs that stand beside it.
    pub fn runs(&self) -> &[String] {
        match self {
            Compute::RedTailDistribution(of) => &of.runs,
            _ => &[],
        }
    }

    /// Computes it; `simulated` gives a run's density of the queue, in packets, where one stands beside.
    ///
    /// # Errors
    /// A sentence, if a value is not physical.
    pub fn answer(&self, simulated: &Simulated<'_>) -> Result<Answer, String> {
        match self {
            Compute::RedTailMap(of) => of.chart(),
            Compute::RedTailTrajectory(of) => of.chart(),
            Compute::RedTailDistribution(of) => of.chart(simulated),
            of => vrc::answer(of),
        }
    }
}

/// A quantity of a figure that tests may name, and the fields on which it depends.
pub type Named = (&'static str, &'static [&'static str]);

impl Compute {
    /// The quantities of the figure; a number has none.
    pub fn quantities(&self) -> &'static [Named] {
        match self {
            Compute::RedTailMap(_) => red_tail::Mapped::QUANTITIES,
            Compute::RedTailTrajectory(_) => red_tail::Trajectory::QUANTITIES,
            Compute::RedTailDistribution(_) => red_tail::Distribution::QUANTITIES,
            of => vrc::quantities(of),
        }
    }

    /// The values of a field in the figure, from the least on where it is an axis.
    pub fn values(&self, field: &str) -> Vec<f64> {
        match self {
            Compute::RedTailMap(of) => of.values(field),
            Compute::RedTailTrajectory(of) => of.values(field),
            Compute::RedTailDistribution(of) => of.values(field),
            of => vrc::values(of, field),
        }
    }

    /// A quantity of the figure where fields have some values; a field that is not named has the only value of the figure.
    ///
    /// # Errors
    /// A sentence, if a field may have several values, or the quantity has no value there.
    pub fn quantity(&self, name: &str, at: &[(&str, f64)]) -> Result<f64, String> {
        let of = |field: &str| match (at.iter().find(|(f, _)| *f == field), &self.values(field)[..]) {
            (Some((_, value)), _) => Ok(*value),
            (None, [value]) => Ok(*value),
            (None, _) => Err(format!("{field}: the figure has several values; say which with \"at\"")),
        };
        match self {
            Compute::RedTailMap(map) => map.quantity(name, &of),
            Compute::RedTailTrajectory(path) => path.quantity(name, &of),
            Compute::RedTailDistribution(distribution) => distribution.quantity(name, &of),
            compute => vrc::quantity(compute, name, &of),
        }
    }
}

/// The value of a field where a quantity is asked for.
type At<'a> = dyn Fn(&str) -> Result<f64, String> + 'a;

/// There is no such quantity; what is read from files is checked before.
fn unknown(name: &str) -> String {
    format!("{name}: there is no such quantity")
}

/// Evenly spaced values.
fn steps(from: f64, to: f64, n: usize) -> Vec<f64> {
    (0..=n).map(|i| from + (to - from) * i as f64 / n as f64).collect()
}

/// A chart of lines.
fn lines(x: &str, y: &str, curve_key: &str, panel_key: &str, panels: Vec<Panel>) -> Answer {
    Answer::Chart(Box::new(Chart {
        title: String::new(),
        x: Horizontal { label: x.to_string(), log: false, names: Vec::new() },
        y: y.to_string(),
        y_factor: 1.0,
        panel_key: panel_key.to_string(),
        curve_key: curve_key.to_string(),
        panels,
        form: Form::Line,
        warmup: None,
        events: Vec::new(),
    }))
}

/// A line of a chart.
fn line(label: String, style: usize, points: impl IntoIterator<Item = (f64, f64)>) -> Curve {
    let (x, y) = points.into_iter().unzip();
    Curve { label, style, x, y, half_width: Vec::new() }
}

/// An error of the theory, as a sentence.
fn why(error: quell_theory::TheoryError) -> String {
    error.to_string()
}
