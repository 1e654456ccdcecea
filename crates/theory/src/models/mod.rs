//! The continuous form of every algorithm that has one, one file per algorithm.
//!
//! Two faces of one law: [`FluidLaw`] is what the fluid model integrates, over any [`Real`]; [`Model`] is
//! its equilibrium and what it is near there, a transfer function. A test holds the two together for
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
mod pi2;
mod pid;
mod pie;
mod red;
mod rem;
mod st_pi;
mod st_red;
mod vrc;
mod without;

use std::any::Any;

use quell_aqm::Link;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::params::About;

use crate::controller::Controller;
use crate::error::TheoryError;
use crate::network::{FluidNetwork, Scalables};

pub use law::{Equilibrium, FluidLaw, FluidView, Model, Pack, Variable};

/// Lists the continuous forms, and makes [`AnyModel`] of them. Which algorithms a model is of, it says itself
/// ([`Model::of_config`]).
macro_rules! models {
    ($( $module:ident :: $name:ident, )+) => {
        $( pub use $module::$name; )+

        /// A model of any kind.
        #[derive(Clone, Copy, Debug, PartialEq)]
        #[non_exhaustive]
        #[allow(missing_docs, clippy::large_enum_variant)]
        pub enum AnyModel { $( $name($name), )+ }

        /// Runs `$body` with `$m` the model inside.
        macro_rules! with_model {
            ($model:expr, $m:ident => $body:expr) => {
                match $model { $( $crate::models::AnyModel::$name($m) => $body, )+ }
            };
        }

        pub(crate) use with_model;

        impl AnyModel {
            /// The continuous form of an algorithm, if there is one.
            fn find(
                config: &AqmConfig,
                link: &Link,
                network: &FluidNetwork,
            ) -> Option<Result<AnyModel, TheoryError>> {
                $( if let Some(model) = $name::of_config(config, link, network) {
                    return Some(model.map(AnyModel::$name));
                } )+
                None
            }
        }
    };
}

models! {
    red::Red,
    ared::Ared,
    auto_tuning_red::AutoTuningRed,
    st_red::StRed,
    pi::Pi,
    pi2::Pi2,
    pie::Pie,
    st_pi::StPi,
    pid::Pid,
    dred::Dred,
    rem::Rem,
    vrc::Vrc,
    avq::Avq,
    hred::Hred,
}

impl AnyModel {
    /// The model of an algorithm on a link, for the network that AP-RED is told of.
    ///
    /// # Errors
    /// A parameter breaks a rule of the algorithm, or the algorithm has no continuous form.
    pub fn of(config: &AqmConfig, link: &Link, network: &FluidNetwork) -> Result<AnyModel, TheoryError> {
        config.build(link)?;
        if let Some(remark) = config.remarks(link).into_iter().find(|r| r.about == About::Buffer) {
            return Err(TheoryError::NoModel {
                algorithm: config.name().into(),
                reason: format!(
                    "{remark}; no model has an equilibrium at a full buffer: use a larger buffer or a shorter target"
                ),
            });
        }
        AnyModel::find(config, link, network).unwrap_or_else(|| {
            Err(TheoryError::NoModel {
                algorithm: config.name().into(),
                reason: without::reason(config.name()).into(),
            })
        })
    }

    /// A network under this algorithm: with its coupling, where there are two kinds of senders.
    pub fn network(&self, network: &FluidNetwork) -> FluidNetwork {
        let coupled = |s: Scalables| Scalables { coupling: with_model!(self, m => m.coupling()), ..s };
        FluidNetwork { scalables: network.scalables.map(coupled), ..network.clone() }
    }

    /// Its equilibrium on a network.
    ///
    /// # Errors
    /// There is no equilibrium; the error says why.
    pub fn equilibrium(&self, network: &FluidNetwork) -> Result<Equilibrium, TheoryError> {
        network.check()?;
        with_model!(self, m => m.equilibrium(&self.network(network)))
    }

    /// Its linear form near an equilibrium.
    ///
    /// # Errors
    /// The law has no slope there.
    pub fn controller(&self, equilibrium: &Equilibrium) -> Result<Controller, TheoryError> {
        with_model!(self, m => m.controller(equilibrium))
    }

    /// The model inside, if it is of this kind.
    pub(crate) fn of_kind<M: Model + 'static>(&self) -> Option<&M> {
        with_model!(self, m => (m as &dyn Any).downcast_ref())
    }

    /// The state variables of its law.
    pub fn variables(&self) -> &'static [Variable] {
        fn of<M: Model>(_: &M) -> &'static [Variable] {
            M::STATE
        }
        with_model!(self, m => of(m))
    }
}

#[cfg(test)]
mod tests {
    use num_complex::Complex64;
    use quell_aqm::catalog::CATALOG;
    use quell_aqm::hred::HredParams;
    use quell_aqm::params::AutoSize;
    use quell_aqm::part::Weight;
    use quell_aqm::pi::PiParams;
    use quell_aqm::pie::PieParams;
    use quell_aqm::red::RedParams;
    use quell_units::{BitRate, Bytes, Duration, QueueSize};

    use super::*;
    use crate::congestion::{Signal, Tcp};
    use crate::controller::Input;
    use crate::network::{Class, OperatingPoint};

    fn link() -> Link {
        Link {
            rate: BitRate::from_bps(15_000_000),
            buffer: QueueSize::Packets(1000.0),
            mean_packet: Bytes::new(1000),
        }
    }

    /// Three loads on that link, one of two classes, one with drops.
    fn networks() -> Vec<FluidNetwork> {
        let one = FluidNetwork::new(60.0, 0.2, 1875.0, 1000.0);
        let two = FluidNetwork {
            classes: vec![Class { flows: 40.0, propagation: 0.05 }, Class { flows: 30.0, propagation: 0.3 }],
            congestion: Tcp::HALVING.into(),
            ..one.clone()
        };
        let drops = FluidNetwork { signal: Signal::Drop, ..one.clone() };
        vec![one, two, drops]
    }

    /// Every model with its defaults, and its equilibrium on each network.
    fn equilibria() -> Vec<(&'static str, AnyModel, FluidNetwork, Equilibrium)> {
        let mut all = Vec::new();
        for entry in CATALOG {
            for network in networks() {
                match AnyModel::of(&(entry.default)(), &link(), &network) {
                    Ok(model) => match model.equilibrium(&network) {
                        Ok(equilibrium) => all.push((entry.name, model, network, equilibrium)),
                        Err(e) => panic!("{}: {e}", entry.name),
                    },
                    Err(TheoryError::NoModel { .. }) => {}
                    Err(e) => panic!("{}: {e}", entry.name),
                }
            }
        }
        all
    }

    fn seen(equilibrium: &Equilibrium, queue: f64, growth: f64, p: f64) -> FluidView<f64> {
        let point = &equilibrium.point;
        let admitted = point.arrivals * share(point, point.probability) + growth;
        FluidView { queue, growth, arrivals: admitted / share(point, p), admitted, capacity: point.capacity }
    }

    fn share(point: &OperatingPoint, p: f64) -> f64 {
        match point.signal {
            Signal::Mark => 1.0,
            Signal::Drop => 1.0 - p,
        }
    }

    /// What runs in an experiment and has no equilibrium is refused in words, and none of it is a NaN.
    #[test]
    fn a_step_and_a_target_beyond_the_buffer_have_no_model() {
        let packets = QueueSize::Packets;
        let red = RedParams { min_th: packets(20.0), max_th: packets(20.0), ..RedParams::default() };
        let dctcp = RedParams { max_p: 1.0, weight: Weight::Value(1.0), gentle: false, ..red.clone() };
        let given = |q| AutoSize::Size(packets(q));
        let pi = AqmConfig::Pi(PiParams { q_ref: given(1000.0), ..PiParams::default() });
        let pie = AqmConfig::Pie(PieParams { target: Duration::from_secs(1), ..PieParams::default() });
        let hred = AqmConfig::Hred(HredParams { max_th: given(1000.0), ..HredParams::default() });
        for (config, want) in [
            (AqmConfig::Red(red), "from 20.00 to 20.00 packets its probability is a step"),
            (AqmConfig::Red(dctcp), "from 20.00 to 20.00 packets its probability is a step"),
            (pi, "q_ref = 1000 packets: no longer queue fits into the buffer"),
            (pie, "target = 1 s: a full buffer (1000 packets) takes 533 ms to drain"),
            (hred, "max_th = 1000 packets: no longer queue fits into the buffer"),
        ] {
            for network in networks() {
                let Err(e @ TheoryError::NoModel { .. }) = AnyModel::of(&config, &link(), &network) else {
                    panic!("{config:?}")
                };
                assert!(e.to_string().contains(want), "{e}");
            }
        }
    }

    /// At equilibrium nothing moves, and the flows get the probability that they need.
    #[test]
    fn a_rest_is_one() {
        fn check<M: Model>(model: &M, name: &str, equilibrium: &Equilibrium) {
            let q = equilibrium.point.queue;
            let p = model.probability(q, equilibrium.point.capacity, &equilibrium.state);
            assert!((p - equilibrium.point.probability).abs() < 1e-9, "{name}: {p}, {equilibrium:?}");
            let mut dx = vec![0.0; M::STATE.len()];
            // Detection functions decay at a queue at equilibrium; that is not p's concern.
            let moving = if name.starts_with("st-") { M::STATE.len() - 3 } else { M::STATE.len() };
            model.rates(&seen(equilibrium, q, 0.0, p), &equilibrium.state, &mut dx);
            for (v, d) in M::STATE.iter().zip(&dx).take(moving) {
                assert!(d.abs() < 1e-6, "{name}: {v:?} moves at {d}, {equilibrium:?}");
            }
        }
        let equilibria = equilibria();
        assert!(equilibria.len() >= 3 * 19, "{}", equilibria.len());
        for (name, model, _, equilibrium) in &equilibria {
            with_model!(model, m => check(m, name, equilibrium));
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

    /// What a law is near its equilibrium, by small differences of the law itself.
    fn measured<M: Model>(model: &M, equilibrium: &Equilibrium, input: Input, s: Complex64) -> Complex64 {
        let (n, c, q0) = (M::STATE.len(), equilibrium.point.capacity, equilibrium.point.queue);
        // The input: a change of the queue with its growth, or of the rate alone.
        let rates = |x: &[f64], dq: f64, growth: f64| {
            let p = model.probability(q0 + dq, c, x);
            let mut dx = vec![0.0; n];
            let at = match input {
                Input::Queue => seen(equilibrium, q0 + dq, growth, p),
                Input::Rate => {
                    let arrivals = equilibrium.point.arrivals + growth;
                    FluidView {
                        arrivals,
                        admitted: arrivals * share(&equilibrium.point, p),
                        ..seen(equilibrium, q0, 0.0, p)
                    }
                }
            };
            model.rates(&at, x, &mut dx);
            dx
        };
        let shifted = |i: usize, h: f64| {
            let mut x = equilibrium.state.clone();
            x[i] += h;
            x
        };
        let difference = |f: &dyn Fn(f64) -> Vec<f64>, h: f64| -> Vec<f64> {
            f(h).iter().zip(f(-h)).map(|(a, b)| (a - b) / (2.0 * h)).collect()
        };
        let x0 = &equilibrium.state;
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
        fn check<M: Model>(model: &M, name: &str, equilibrium: &Equilibrium) {
            let controller = model.controller(equilibrium).unwrap();
            for s in [Complex64::new(0.0, 0.3), Complex64::new(0.0, 5.0), Complex64::new(0.7, 20.0)] {
                let (paper, law) =
                    (controller.transfer.at(s), measured(model, equilibrium, controller.input, s));
                assert!(
                    (paper - law).norm() < 1e-4 * paper.norm(),
                    "{name} at {s}: {paper} from the paper, {law} from the law"
                );
            }
        }
        for (name, model, _, equilibrium) in &equilibria() {
            with_model!(model, m => check(m, name, equilibrium));
        }
    }
}
