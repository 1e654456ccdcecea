//! An algorithm on a network: its equilibrium, its loop there, and the published conditions.

use quell_aqm::Link;
use quell_aqm::ap_red::{Conditions, Setting};
use quell_aqm::catalog::AqmConfig;
use quell_aqm::hred::Line;

use crate::congestion::Congestion;
use crate::controller::Controller;
use crate::error::TheoryError;
use crate::linear::{Loop, Plant, Stability};
use crate::models::{AnyModel, Equilibrium, Red};
use crate::network::FluidNetwork;
use crate::rules::criteria::{self, Criterion, PidGains};
use crate::text::figure;

/// An algorithm on a network: its equilibrium, and what it does there.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The algorithm's continuous form.
    pub model: AnyModel,
    /// Its equilibrium.
    pub equilibrium: Equilibrium,
    /// Its linear form there.
    pub controller: Controller,
    /// The loop.
    pub control: Loop,
    /// Margins and the slowest mode.
    pub stability: Stability,
    /// The published conditions for this algorithm, evaluated.
    pub criteria: Vec<Criterion>,
}

/// Analyzes an algorithm on a network.
///
/// # Errors
/// The algorithm has no continuous form, a parameter or the network breaks a rule, or there is no
/// equilibrium.
pub fn analyze(
    config: &AqmConfig,
    link: &Link,
    network: &FluidNetwork,
    plant: Plant,
) -> Result<Analysis, TheoryError> {
    network.check()?;
    let model = AnyModel::of(config, link, network)?;
    let equilibrium = model.equilibrium(network)?;
    let controller = model.controller(&equilibrium)?;
    let control = Loop::new(&equilibrium.point, &controller, plant)?;
    let stability = control.stability()?;
    let criteria = published(&model, &equilibrium, network)?;
    Ok(Analysis { model, equilibrium, controller, control, stability, criteria })
}

/// Bend of a curve of RED, and the distance of the average from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bend {
    /// Distance of the average from the nearer bend, in packets.
    pub within: f64,
    /// Distance that windows which grow without signals move the average in a round trip, in packets.
    pub moved: f64,
}

impl Analysis {
    /// Returns the bend of the curve, for an algorithm of RED's family.
    pub fn bend(&self) -> Option<Bend> {
        let avg = *self.equilibrium.state.first()?;
        let red = match &self.model {
            AnyModel::Red(red) => *red,
            AnyModel::Ared(ared) => ared.red(self.equilibrium.state[1]),
            _ => return None,
        };
        let point = &self.equilibrium.point;
        let growth: f64 = point.classes.iter().map(|c| c.flows * c.congestion.growth(c.window, c.rtt)).sum();
        let moved = growth * red.follows(conditions(&self.equilibrium).rtt, point.capacity);
        Some(Bend { within: red.straight(avg), moved })
    }
}

/// N, mean R and C at an equilibrium.
pub(super) fn conditions(equilibrium: &Equilibrium) -> Conditions {
    let flows: f64 = equilibrium.point.classes.iter().map(|c| c.flows).sum();
    let rtt = equilibrium.point.classes.iter().map(|c| c.flows * c.rtt).sum::<f64>() / flows;
    Conditions { flows, rtt, capacity: equilibrium.point.capacity }
}

/// The published conditions that speak of an algorithm. Those of one class are asked with the mean
/// round-trip time.
pub(super) fn published(
    model: &AnyModel,
    equilibrium: &Equilibrium,
    network: &FluidNetwork,
) -> Result<Vec<Criterion>, TheoryError> {
    let now = conditions(equilibrium);
    // They are about Reno's window, and one kind of senders.
    if network.scalables.is_some() {
        return Ok(Vec::new());
    }
    let Congestion::Reno(tcp) = network.congestion else { return Ok(Vec::new()) };
    Ok(match model {
        AnyModel::Red(red) => red_criteria(red, equilibrium)?,
        AnyModel::Ared(a) => red_criteria(&a.red(equilibrium.state[1]), equilibrium)?,
        AnyModel::AutoTuningRed(a) => {
            vec![criteria::auto_tuning_setup(a.red.min_th, a.red.max_th, &now)?]
        }
        AnyModel::Vrc(v) => {
            let gains =
                PidGains { k_p: v.alpha * (v.beta + v.gamma), k_i: v.alpha * v.beta * v.gamma, k_d: v.alpha };
            vec![criteria::vrc_theorem(&gains, &now, tcp)?]
        }
        AnyModel::Pid(p) if p.k_i > 0.0 => {
            let gains = PidGains { k_p: p.k_p, k_i: p.k_i, k_d: p.k_d };
            vec![criteria::vrc_theorem(&gains, &now, tcp)?]
        }
        AnyModel::Pi(p) => {
            vec![criteria::vrc_theorem(&PidGains { k_p: p.k_p, k_i: p.k_i, k_d: 0.0 }, &now, tcp)?]
        }
        AnyModel::Hred(h) => {
            let product = (now.rtt - equilibrium.point.queue / now.capacity) * now.capacity;
            let line = Line { min_th: h.min_th, max_th: h.max_th, slope: h.slope };
            vec![criteria::hred_local(&line, equilibrium.point.queue, product)?]
        }
        AnyModel::Avq(a) => {
            let longest = criteria::avq_longest_rtt(a.phi, a.tau, now.flows, now.capacity, tcp)?;
            let right = longest.unwrap_or(100.0);
            vec![Criterion {
                statement: "Kunniyur and Srikant 2001, Theorem 4.1: R < the longest that phi allows".into(),
                left: now.rtt,
                right,
                holds: now.rtt < right,
                necessary: true,
                reason: match longest {
                    Some(r) => format!(
                        "with phi = {} per second R may be {} s if the rate is known at once; it is {} s",
                        a.phi,
                        figure(r),
                        figure(now.rtt)
                    ),
                    None => "every R up to 100 s is short enough".into(),
                },
            }]
        }
        _ => Vec::new(),
    })
}

/// Those of RED at an equilibrium, with the slope after its spacing: the conditions know none.
fn red_criteria(red: &Red, equilibrium: &Equilibrium) -> Result<Vec<Criterion>, TheoryError> {
    let now = conditions(equilibrium);
    let (w, slope) = (-libm::expm1(-red.forgetting), red.slope(equilibrium.state[0]));
    let mut all = Vec::new();
    if w < 0.1 {
        let setting =
            Setting { min_th: red.min_th, max_th: red.max_th, max_p: slope * (red.max_th - red.min_th), w };
        all.push(criteria::red_proposition(&setting, &now)?);
    }
    all.push(criteria::red_by_hollot(slope, red.forgetting * now.capacity, &now)?);
    if red.spread != 1.0 {
        let share = format!("; signal spacing makes L {:.2} times the curve's slope", red.spread);
        all.iter_mut().for_each(|c| c.reason += &share);
    }
    Ok(all)
}
