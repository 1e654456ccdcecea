//! The continuous form of every algorithm that has one, one file per algorithm.
//!
//! Two faces of one law: [`Law`] is what the fluid model integrates, over any [`Real`]; [`Model`] is
//! where it rests and what it is near there, a transfer function. A test holds the two together for
//! every model.
//!
//! What samples and averages per packet does so at the link's rate C here, and what is updated
//! periodically moves continuously.

mod ared;
mod auto_tuning_red;
mod avq;
mod dred;
mod hred;
mod law;
mod pi;
mod pid;
mod red;
mod rem;
mod st_pi;
mod st_red;
mod vrc;

use quell_aqm::Link;
use quell_aqm::catalog::AqmConfig;

pub use ared::Ared;
pub use auto_tuning_red::AutoTuningRed;
pub use avq::Avq;
pub use dred::Dred;
pub use hred::Hred;
pub use law::{Law, Model, Pack, Rest, Seen, Variable};
pub use pi::Pi;
pub use pid::Pid;
pub use red::Red;
pub use rem::Rem;
pub use st_pi::StPi;
pub use st_red::StRed;
pub use vrc::Vrc;

use crate::controller::Controller;
use crate::error::TheoryError;
use crate::network::Network;

/// A model of any kind.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
#[allow(missing_docs, clippy::large_enum_variant)]
pub enum AnyModel {
    Red(Red),
    Ared(Ared),
    AutoTuningRed(AutoTuningRed),
    StRed(StRed),
    Pi(Pi),
    StPi(StPi),
    Pid(Pid),
    Dred(Dred),
    Rem(Rem),
    Vrc(Vrc),
    Avq(Avq),
    Hred(Hred),
}

/// Runs `$body` with `$m` the model inside.
#[macro_export]
macro_rules! with_model {
    ($model:expr, $m:ident => $body:expr) => {
        match $model {
            $crate::models::AnyModel::Red($m) => $body,
            $crate::models::AnyModel::Ared($m) => $body,
            $crate::models::AnyModel::AutoTuningRed($m) => $body,
            $crate::models::AnyModel::StRed($m) => $body,
            $crate::models::AnyModel::Pi($m) => $body,
            $crate::models::AnyModel::StPi($m) => $body,
            $crate::models::AnyModel::Pid($m) => $body,
            $crate::models::AnyModel::Dred($m) => $body,
            $crate::models::AnyModel::Rem($m) => $body,
            $crate::models::AnyModel::Vrc($m) => $body,
            $crate::models::AnyModel::Avq($m) => $body,
            $crate::models::AnyModel::Hred($m) => $body,
        }
    };
}

impl AnyModel {
    /// The model of an algorithm on a link, for the network that AP-RED is told of.
    ///
    /// # Errors
    /// A parameter breaks a rule of the algorithm, or the algorithm has no continuous form.
    pub fn of(config: &AqmConfig, link: &Link, network: &Network) -> Result<AnyModel, TheoryError> {
        config.build(link)?;
        Ok(match config {
            AqmConfig::Red(p) => AnyModel::Red(Red::of(p, link)?),
            AqmConfig::RedFixed(p) => AnyModel::Red(Red::of(&p.0, link)?),
            AqmConfig::ApRed(p) => AnyModel::Red(Red::of_ap_red(p, link, network)?),
            AqmConfig::Ared(p) => AnyModel::Ared(Ared::of(p, link)?),
            AqmConfig::AredFixed(p) => AnyModel::Ared(Ared::of(&p.0, link)?),
            AqmConfig::AutoTuningRed(p) => AnyModel::AutoTuningRed(AutoTuningRed::of(p, link)?),
            AqmConfig::StRed(p) => AnyModel::StRed(StRed::of(p, link)?),
            AqmConfig::Pi(p) => AnyModel::Pi(Pi::of(p, link)?),
            AqmConfig::PiFixed(p) => AnyModel::Pi(Pi::of(&p.0, link)?),
            AqmConfig::StPi(p) => AnyModel::StPi(StPi::of(p, link)?),
            AqmConfig::Pid(p) => AnyModel::Pid(Pid::of(p, link)),
            AqmConfig::Dred(p) => AnyModel::Dred(Dred::of(p, link)),
            AqmConfig::Rem(p) => AnyModel::Rem(Rem::of(p, link)),
            AqmConfig::Vrc(p) => AnyModel::Vrc(Vrc::of(p, link)?),
            AqmConfig::Avq(p) => AnyModel::Avq(Avq::of(p, link)),
            AqmConfig::AvqRate(p) => AnyModel::Avq(Avq::of_rate(p, link)),
            AqmConfig::Hred(p) => AnyModel::Hred(Hred::of(p, link)?),
            AqmConfig::HredFixed(p) => AnyModel::Hred(Hred::of(&p.0, link)?),
            other => {
                return Err(TheoryError::NoModel {
                    algorithm: other.name().into(),
                    reason: no_continuous_form(other).into(),
                });
            }
        })
    }

    /// Where it rests on a network.
    ///
    /// # Errors
    /// There is no rest; the error says why.
    pub fn rest(&self, network: &Network) -> Result<Rest, TheoryError> {
        network.check()?;
        with_model!(self, m => m.rest(network))
    }

    /// What it is near a rest.
    ///
    /// # Errors
    /// The law has no slope there.
    pub fn controller(&self, rest: &Rest) -> Result<Controller, TheoryError> {
        with_model!(self, m => m.controller(rest))
    }

    /// The state variables of its law.
    pub fn variables(&self) -> &'static [Variable] {
        fn of<M: Model>(_: &M) -> &'static [Variable] {
            M::STATE
        }
        with_model!(self, m => of(m))
    }
}

/// Why an algorithm of the catalog has no model.
fn no_continuous_form(config: &AqmConfig) -> &'static str {
    match config {
        AqmConfig::DropTail(_) => "it signals only a full buffer: there is no slope to linearize",
        AqmConfig::FengAred(_) => {
            "max_p moves only as the average leaves the thresholds; between them it is red with that max_p"
        }
        AqmConfig::AredDt(_) => "the thresholds follow the losses that were, see the map of redtail VI",
        AqmConfig::FuzzyRed(_) => {
            "the weight changes with every packet; bracket it by red with its two weights"
        }
        AqmConfig::RedTail(_) => "two queues share the link; analyze the algorithm of the second one",
        AqmConfig::Wred(_) => "each class has a RED of its own; analyze red with the settings of one class",
        AqmConfig::Blue(_) => "p moves on overflow and on idle links only: it has no rest between them",
        AqmConfig::Spf(_) => "it admits exactly the capacity at any queue: the queue has no rest",
        AqmConfig::Sred(_) | AqmConfig::Fred(_) | AqmConfig::Lred(_) | AqmConfig::Green(_) => {
            "it decides by counting flows or losses, which no fluid has"
        }
        _ => "its law is not written as a differential equation here; red with its thresholds comes nearest",
    }
}

#[cfg(test)]
mod tests {
    use num_complex::Complex64;
    use quell_aqm::catalog::CATALOG;
    use quell_units::{BitRate, Bytes, QueueSize};

    use super::*;
    use crate::controller::Input;
    use crate::network::{Class, Point, Signal, Tcp};

    fn link() -> Link {
        Link {
            rate: BitRate::from_bps(15_000_000),
            buffer: QueueSize::Packets(1000.0),
            mean_packet: Bytes::new(1000),
        }
    }

    /// Three loads on that link, one of two classes, one with drops.
    fn networks() -> Vec<Network> {
        let one = Network::new(60.0, 0.2, 1875.0, 1000.0);
        let two = Network {
            classes: vec![Class { flows: 40.0, propagation: 0.05 }, Class { flows: 30.0, propagation: 0.3 }],
            tcp: Tcp::HALVING,
            ..one.clone()
        };
        let drops = Network { signal: Signal::Drop, ..one.clone() };
        vec![one, two, drops]
    }

    /// Every model with its defaults, and where it rests on each network.
    fn rests() -> Vec<(&'static str, AnyModel, Network, Rest)> {
        let mut all = Vec::new();
        for entry in CATALOG {
            for network in networks() {
                match AnyModel::of(&(entry.default)(), &link(), &network) {
                    Ok(model) => match model.rest(&network) {
                        Ok(rest) => all.push((entry.name, model, network, rest)),
                        Err(e) => panic!("{}: {e}", entry.name),
                    },
                    Err(TheoryError::NoModel { .. }) => {}
                    Err(e) => panic!("{}: {e}", entry.name),
                }
            }
        }
        all
    }

    fn seen(rest: &Rest, queue: f64, growth: f64, p: f64) -> Seen<f64> {
        let point = &rest.point;
        let admitted = point.arrivals * share(point, point.probability) + growth;
        Seen { queue, growth, arrivals: admitted / share(point, p), admitted, capacity: point.capacity }
    }

    fn share(point: &Point, p: f64) -> f64 {
        match point.signal {
            Signal::Mark => 1.0,
            Signal::Drop => 1.0 - p,
        }
    }

    /// At rest nothing moves, and the flows get the probability that they need.
    #[test]
    fn a_rest_is_one() {
        fn check<M: Model>(model: &M, name: &str, rest: &Rest) {
            let q = rest.point.queue;
            let p = model.probability(q, rest.point.capacity, &rest.state);
            assert!((p - rest.point.probability).abs() < 1e-9, "{name}: {p}, {rest:?}");
            let mut dx = vec![0.0; M::STATE.len()];
            // Detection functions decay at a resting queue; that is not p's concern.
            let moving = if name.starts_with("st-") { M::STATE.len() - 3 } else { M::STATE.len() };
            model.rates(&seen(rest, q, 0.0, p), &rest.state, &mut dx);
            for (v, d) in M::STATE.iter().zip(&dx).take(moving) {
                assert!(d.abs() < 1e-6, "{name}: {v:?} moves at {d}, {rest:?}");
            }
        }
        let rests = rests();
        assert!(rests.len() >= 3 * 17, "{}", rests.len());
        for (name, model, _, rest) in &rests {
            with_model!(model, m => check(m, name, rest));
        }
    }

    /// Solves `a x = b`, a square and small.
    fn solve(mut a: Vec<Vec<Complex64>>, mut b: Vec<Complex64>) -> Vec<Complex64> {
        let n = b.len();
        for i in 0..n {
            let pivot = (i..n).max_by(|&j, &k| a[j][i].norm().total_cmp(&a[k][i].norm())).unwrap();
            a.swap(i, pivot);
            b.swap(i, pivot);
            let row = a[i].clone();
            for j in i + 1..n {
                let f = a[j][i] / row[i];
                for (x, above) in a[j].iter_mut().zip(&row) {
                    *x -= f * above;
                }
                let t = b[i];
                b[j] -= f * t;
            }
        }
        for i in (0..n).rev() {
            for j in i + 1..n {
                let t = b[j];
                b[i] -= a[i][j] * t;
            }
            b[i] /= a[i][i];
        }
        b
    }

    /// What a law is near its rest, by small differences of the law itself.
    fn measured<M: Model>(model: &M, rest: &Rest, input: Input, s: Complex64) -> Complex64 {
        let (n, c, q0) = (M::STATE.len(), rest.point.capacity, rest.point.queue);
        // The input: a change of the queue with its growth, or of the rate alone.
        let rates = |x: &[f64], dq: f64, growth: f64| {
            let p = model.probability(q0 + dq, c, x);
            let mut dx = vec![0.0; n];
            let at = match input {
                Input::Queue => seen(rest, q0 + dq, growth, p),
                Input::Rate => {
                    let arrivals = rest.point.arrivals + growth;
                    Seen { arrivals, admitted: arrivals * share(&rest.point, p), ..seen(rest, q0, 0.0, p) }
                }
            };
            model.rates(&at, x, &mut dx);
            dx
        };
        let shifted = |i: usize, h: f64| {
            let mut x = rest.state.clone();
            x[i] += h;
            x
        };
        let difference = |f: &dyn Fn(f64) -> Vec<f64>, h: f64| -> Vec<f64> {
            f(h).iter().zip(f(-h)).map(|(a, b)| (a - b) / (2.0 * h)).collect()
        };
        let x0 = &rest.state;
        let per_queue = difference(&|h| rates(x0, h, 0.0), 1e-4);
        let per_growth = difference(&|h| rates(x0, 0.0, h), 1e-3);
        let mut matrix = vec![vec![Complex64::ZERO; n]; n];
        let mut out = Complex64::new(
            (model.probability(q0 + 1e-4, c, x0) - model.probability(q0 - 1e-4, c, x0)) / 2e-4,
            0.0,
        );
        let mut slopes = Vec::new();
        for i in 0..n {
            let h = 1e-6 * x0[i].abs().max(1e-3);
            for (j, d) in difference(&|h| rates(&shifted(i, h), 0.0, 0.0), h).into_iter().enumerate() {
                matrix[j][i] = Complex64::new(-d, 0.0);
            }
            matrix[i][i] += s;
            slopes.push(
                (model.probability(q0, c, &shifted(i, h)) - model.probability(q0, c, &shifted(i, -h)))
                    / (2.0 * h),
            );
        }
        let drive = (0..n)
            .map(|i| match input {
                Input::Queue => per_queue[i] + s * per_growth[i],
                Input::Rate => Complex64::new(per_growth[i], 0.0),
            })
            .collect();
        for (x, c) in solve(matrix, drive).into_iter().zip(slopes) {
            out += c * x;
        }
        if input == Input::Rate {
            out - (model.probability(q0 + 1e-4, c, x0) - model.probability(q0 - 1e-4, c, x0)) / 2e-4
        } else {
            out
        }
    }

    /// The transfer functions written from the papers are those of the laws that are integrated.
    #[test]
    fn the_two_faces_of_a_law_agree() {
        fn check<M: Model>(model: &M, name: &str, rest: &Rest) {
            let controller = model.controller(rest).unwrap();
            for s in [Complex64::new(0.0, 0.3), Complex64::new(0.0, 5.0), Complex64::new(0.7, 20.0)] {
                let (paper, law) = (controller.transfer.at(s), measured(model, rest, controller.input, s));
                assert!(
                    (paper - law).norm() < 1e-4 * paper.norm(),
                    "{name} at {s}: {paper} from the paper, {law} from the law"
                );
            }
        }
        for (name, model, _, rest) in &rests() {
            with_model!(model, m => check(m, name, rest));
        }
    }
}
