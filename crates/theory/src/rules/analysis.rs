//! What an algorithm does on a network: where it rests, its loop there, and the published conditions.

use quell_aqm::Link;
use quell_aqm::ap_red::{Conditions, Setting};
use quell_aqm::catalog::AqmConfig;
use quell_aqm::hred::Line;

use crate::controller::Controller;
use crate::error::TheoryError;
use crate::linear::{Loop, Plant, Stability};
use crate::models::{AnyModel, Red, Rest};
use crate::network::FluidNetwork;
use crate::rules::criteria::{self, Criterion, PidGains};
use crate::text::figure;

/// An algorithm on a network: where it rests, and what it does there.
#[derive(Clone, Debug)]
pub struct Analysis {
    /// The algorithm's continuous form.
    pub model: AnyModel,
    /// Where it rests.
    pub rest: Rest,
    /// What it is there.
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
/// The algorithm has no continuous form, a parameter or the network breaks a rule, or there is no rest.
pub fn analyze(
    config: &AqmConfig,
    link: &Link,
    network: &FluidNetwork,
    plant: Plant,
) -> Result<Analysis, TheoryError> {
    network.check()?;
    let model = AnyModel::of(config, link, network)?;
    let rest = model.rest(network)?;
    let controller = model.controller(&rest)?;
    let control = Loop::new(&rest.point, &controller, plant)?;
    let stability = control.stability()?;
    let criteria = published(&model, &rest, network)?;
    Ok(Analysis { model, rest, controller, control, stability, criteria })
}

/// N, mean R and C at a rest.
pub(super) fn conditions(rest: &Rest) -> Conditions {
    let flows: f64 = rest.point.classes.iter().map(|c| c.flows).sum();
    let rtt = rest.point.classes.iter().map(|c| c.flows * c.rtt).sum::<f64>() / flows;
    Conditions { flows, rtt, capacity: rest.point.capacity }
}

/// The published conditions that speak of an algorithm. Those of one class are asked with the mean
/// round-trip time.
pub(super) fn published(
    model: &AnyModel,
    rest: &Rest,
    network: &FluidNetwork,
) -> Result<Vec<Criterion>, TheoryError> {
    let now = conditions(rest);
    let tcp = network.tcp;
    Ok(match model {
        AnyModel::Red(red) => red_criteria(red, rest)?,
        AnyModel::Ared(a) => red_criteria(&a.red(rest.state[1]), rest)?,
        AnyModel::AutoTuningRed(red) => {
            vec![criteria::auto_tuning_setup(red.min_th, red.max_th, &now)?]
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
            let product = (now.rtt - rest.point.queue / now.capacity) * now.capacity;
            let line = Line { min_th: h.min_th, max_th: h.max_th, slope: h.slope };
            vec![criteria::hred_local(&line, rest.point.queue, product)?]
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
                        "with phi = {} per second R may be {} s, the rate being known at once; it is {} s",
                        a.phi,
                        figure(r),
                        figure(now.rtt)
                    ),
                    None => "no R up to 100 s is too long".into(),
                },
            }]
        }
        _ => Vec::new(),
    })
}

/// Those of RED at a rest, with the slope after its spacing: the conditions know none.
fn red_criteria(red: &Red, rest: &Rest) -> Result<Vec<Criterion>, TheoryError> {
    let now = conditions(rest);
    let (w, slope) = (-(-red.forgetting).exp_m1(), red.slope(rest.state[0]));
    let mut all = Vec::new();
    if w < 0.1 {
        let setting =
            Setting { min_th: red.min_th, max_th: red.max_th, max_p: slope * (red.max_th - red.min_th), w };
        all.push(criteria::red_proposition(&setting, &now)?);
    }
    // Without an average the condition asks for a gain below 1 at rest, which a very fast one does too.
    let filter = (red.forgetting * now.capacity).min(1e12);
    all.push(criteria::red_by_hollot(slope, filter, &now)?);
    if red.spread != 1.0 {
        let share = format!("; L is {:.2} times the line's, by the spacing of signals", red.spread);
        all.iter_mut().for_each(|c| c.reason += &share);
    }
    Ok(all)
}
