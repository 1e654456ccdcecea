//! Chen 2010: the margins of PI (section 6.2), also where eq. 6.6 has tuned it, and the proposition of RED (eq. 4.9).

use quell_aqm::ap_red::{Conditions, stability_bound};
use quell_theory::rules::criteria::{PidGains, pi_phase_margin, pi_proportional, pi_retuned};
use quell_theory::{Loop, OperatingPoint, Plant, Tcp};
use serde::Deserialize;

use super::answer::{Answer, At, Named, curves_of, line, panel, steps, unknown, why};

/// Steps of an axis.
const STEPS: usize = 40;

/// The loop of eq. 6.2 with a PI controller.
fn looped(k_p: f64, zero: f64, flows: f64, rtt: f64, capacity: f64) -> Result<Loop, String> {
    let gains = PidGains { k_p, k_i: k_p * zero, k_d: 0.0 };
    let point = OperatingPoint::at(flows, rtt, capacity, 0.0, Tcp::HALVING).map_err(why)?;
    Loop::new(&point, &gains.controller(), Plant::Simplified).map_err(why)
}

/// The phase margin in degrees, negative for an unstable loop.
fn margin(of: &Loop) -> Result<f64, String> {
    let found = of.margins().map_err(why)?.phase;
    found.map(f64::to_degrees).ok_or_else(|| "the loop has no crossover".to_string())
}

/// The values of the fields of a figure over R with a curve for each k.
fn of_k_and_rtt(k: &[f64], rtt: [f64; 2], field: &str) -> Vec<f64> {
    match field {
        "k" => k.to_vec(),
        "rtt" => steps(rtt[0], rtt[1], STEPS),
        _ => Vec::new(),
    }
}

/// A figure over R with a curve for each k.
fn over_rtt(k: &[f64], rtt: [f64; 2], y: &str, of: impl Fn(f64, f64) -> f64) -> Answer {
    let curves = curves_of(k, |k| format!("k = {k}"), &of_k_and_rtt(k, rtt, "rtt"), of);
    panel("R (s)", y, "k", curves)
}

/// A number that is drawn, or a gap.
fn drawn(found: Result<f64, String>) -> f64 {
    found.unwrap_or(f64::NAN)
}

/// PI designed by eq. 6.3, over lambda.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Designed {
    /// The ends of the axis of lambda.
    pub lambda: [f64; 2],
    /// N.
    pub flows: f64,
    /// R in seconds.
    pub rtt: f64,
    /// C in packets per second.
    pub capacity: f64,
}

impl Designed {
    pub(super) const QUANTITIES: &'static [Named] = &[
        ("proportional", &["lambda"]),
        ("margin_deg", &["lambda"]),
        ("margin_exact_deg", &["lambda"]),
        ("crossover_rtt", &["lambda"]),
    ];

    pub(super) fn values(&self, field: &str) -> Vec<f64> {
        match field {
            "lambda" => steps(self.lambda[0], self.lambda[1], STEPS),
            _ => Vec::new(),
        }
    }

    pub(super) fn quantity(&self, name: &str, at: &At<'_>) -> Result<f64, String> {
        let lambda = at("lambda")?;
        let now = Conditions { flows: self.flows, rtt: self.rtt, capacity: self.capacity };
        let k_p = pi_proportional(lambda, &now);
        let designed = || {
            let zero = 2.0 * self.flows / (self.rtt * self.rtt * self.capacity);
            looped(k_p, zero, self.flows, self.rtt, self.capacity)
        };
        match name {
            "proportional" => Ok(k_p),
            "margin_deg" => Ok(pi_phase_margin(lambda).to_degrees()),
            "margin_exact_deg" => margin(&designed()?),
            "crossover_rtt" => {
                let found = designed()?.crossovers().map_err(why)?;
                found.first().map(|w| w * self.rtt).ok_or_else(|| "the loop has no crossover".to_string())
            }
            _ => Err(unknown(name)),
        }
    }

    pub(super) fn chart(&self) -> Result<Answer, String> {
        let curve = |i, label: &str, name: &str| {
            let of = |lambda: f64| drawn(self.quantity(name, &|_: &str| Ok(lambda)));
            line(label.to_string(), i, self.values("lambda").into_iter().map(|l| (l, of(l))))
        };
        let curves =
            vec![curve(0, "eq. 6.5", "margin_deg"), curve(1, "of the loop of eq. 6.2", "margin_exact_deg")];
        Ok(panel("lambda", "phase margin (degrees)", "margin", curves))
    }
}

/// PI that eq. 6.6 has tuned by some k, over the round-trip time, whatever k would be right there.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuned {
    /// K_P per packet, before.
    pub k_p: f64,
    /// The zero z of eq. 6.1 per second, which stays.
    pub zero: f64,
    /// N.
    pub flows: f64,
    /// C in packets per second.
    pub capacity: f64,
    /// k, a curve each.
    pub k: Vec<f64>,
    /// The ends of the axis of R, in seconds, queueing included.
    pub rtt: [f64; 2],
}

impl Tuned {
    pub(super) const QUANTITIES: &'static [Named] = &[("phase_margin_deg", &["k", "rtt"])];

    pub(super) fn values(&self, field: &str) -> Vec<f64> {
        of_k_and_rtt(&self.k, self.rtt, field)
    }

    pub(super) fn quantity(&self, name: &str, at: &At<'_>) -> Result<f64, String> {
        match name {
            "phase_margin_deg" => self.margin(at("k")?, at("rtt")?),
            _ => Err(unknown(name)),
        }
    }

    fn margin(&self, k: f64, rtt: f64) -> Result<f64, String> {
        let (_, k_p) = pi_retuned(0.0, self.k_p, k);
        margin(&looped(k_p, self.zero, self.flows, rtt, self.capacity)?)
    }

    pub(super) fn chart(&self) -> Result<Answer, String> {
        let of = |k, rtt| drawn(self.margin(k, rtt));
        Ok(over_rtt(&self.k, self.rtt, "phase margin (degrees)", of))
    }
}

/// PI of eq. 6.3 whose k of eq. 6.6 follows R and C, as the proof of section 6.2 has it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Following {
    /// lambda, by which it is designed for the start.
    pub lambda: f64,
    /// N, at the start and after.
    pub flows: f64,
    /// R_0 in seconds.
    pub rtt: f64,
    /// C_0 in packets per second.
    pub capacity: f64,
    /// The ends of the axis of k_r = R/R_0.
    pub k_r: [f64; 2],
    /// k_c = C/C_0, a curve each.
    pub k_c: Vec<f64>,
    /// The quantity that the figure draws: a gain and degrees share no axis.
    pub draws: FollowingDraws,
}

/// The quantity that a figure of [`Following`] draws.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FollowingDraws {
    /// The gain at the crossover of the start over k_r.
    Gain,
    /// The phase margin.
    PhaseMarginDeg,
}

impl Following {
    pub(super) const QUANTITIES: &'static [Named] =
        &[("gain", &["k_r", "k_c"]), ("phase_margin_deg", &["k_r", "k_c"])];

    pub(super) fn values(&self, field: &str) -> Vec<f64> {
        match field {
            "k_r" => steps(self.k_r[0], self.k_r[1], STEPS),
            "k_c" => self.k_c.clone(),
            _ => Vec::new(),
        }
    }

    /// The loop where R and C are k_r and k_c times those of the start.
    fn at(&self, k_r: f64, k_c: f64) -> Result<Loop, String> {
        let start = Conditions { flows: self.flows, rtt: self.rtt, capacity: self.capacity };
        let (_, k_p) = pi_retuned(0.0, pi_proportional(self.lambda, &start), k_r * k_c);
        let zero = 2.0 * self.flows / (self.rtt * self.rtt * self.capacity);
        looped(k_p, zero, self.flows, k_r * self.rtt, k_c * self.capacity)
    }

    pub(super) fn quantity(&self, name: &str, at: &At<'_>) -> Result<f64, String> {
        let (k_r, k_c) = (at("k_r")?, at("k_c")?);
        match name {
            // At the crossover of the start over k_r, as eq. 6.10 has it.
            "gain" => Ok(self.at(k_r, k_c)?.response(self.lambda / (k_r * self.rtt)).norm()),
            "phase_margin_deg" => margin(&self.at(k_r, k_c)?),
            _ => Err(unknown(name)),
        }
    }

    pub(super) fn chart(&self) -> Result<Answer, String> {
        let (axis, name) = match self.draws {
            FollowingDraws::Gain => ("gain (eq. 6.10)", "gain"),
            FollowingDraws::PhaseMarginDeg => ("phase margin (degrees)", "phase_margin_deg"),
        };
        let of = |k_c: f64, k_r: f64| {
            drawn(self.quantity(name, &|field: &str| Ok(if field == "k_r" { k_r } else { k_c })))
        };
        let curves = curves_of(&self.k_c, |k_c| format!("C/C_0 = {k_c}"), &self.values("k_r"), of);
        Ok(panel("R/R_0", axis, "C/C_0", curves))
    }
}

/// The largest max_p with which RED meets eq. 4.9, where eq. 5.1 and 5.2 have tuned it by some k.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proposition {
    /// min_th in packets, before.
    pub min_th: f64,
    /// max_th in packets, before.
    pub max_th: f64,
    /// w_q, before.
    pub weight: f64,
    /// N.
    pub flows: f64,
    /// C in packets per second.
    pub capacity: f64,
    /// k, a curve each.
    pub k: Vec<f64>,
    /// The ends of the axis of R, in seconds, queueing included.
    pub rtt: [f64; 2],
}

impl Proposition {
    pub(super) const QUANTITIES: &'static [Named] = &[("max_p", &["k", "rtt"])];

    pub(super) fn values(&self, field: &str) -> Vec<f64> {
        of_k_and_rtt(&self.k, self.rtt, field)
    }

    pub(super) fn quantity(&self, name: &str, at: &At<'_>) -> Result<f64, String> {
        match name {
            "max_p" => Ok(self.largest(at("k")?, at("rtt")?)),
            _ => Err(unknown(name)),
        }
    }

    /// The product of slope and weight goes with max_p / k^2.
    fn largest(&self, k: f64, rtt: f64) -> f64 {
        let bound = stability_bound(&Conditions { flows: self.flows, rtt, capacity: self.capacity });
        bound * k * (self.max_th - self.min_th) / (self.weight / k)
    }

    pub(super) fn chart(&self) -> Result<Answer, String> {
        Ok(over_rtt(&self.k, self.rtt, "largest max_p", |k, rtt| self.largest(k, rtt)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at<'a>(pairs: &'a [(&'a str, f64)]) -> impl Fn(&str) -> Result<f64, String> + 'a {
        |field| Ok(pairs.iter().find(|(name, _)| *name == field).unwrap().1)
    }

    const DESIGNED: Designed = Designed { lambda: [0.1, 0.85], flows: 300.0, rtt: 0.4, capacity: 3750.0 };

    /// Eq. 6.4 and 6.5 are those of the loop of eq. 6.2.
    #[test]
    fn the_design_has_the_margin_of_its_loop() {
        for lambda in DESIGNED.values("lambda") {
            let of = |name: &str| DESIGNED.quantity(name, &at(&[("lambda", lambda)])).unwrap();
            assert!((of("margin_deg") - of("margin_exact_deg")).abs() < 1e-6, "{lambda}");
            assert!((of("crossover_rtt") - lambda).abs() < 1e-9, "{lambda}");
            assert!(of("margin_deg") > 0.0);
        }
        assert!(DESIGNED.quantity("nothing", &at(&[("lambda", 0.5)])).is_err());
    }

    /// At the start nothing is tuned; with shorter round trips and less capacity the gain falls (eq. 6.10).
    #[test]
    fn a_k_that_follows_starts_from_the_design() {
        let following = Following {
            lambda: 0.5,
            flows: 300.0,
            rtt: 0.4,
            capacity: 3750.0,
            k_r: [0.6, 1.0],
            k_c: vec![0.6, 1.0],
            draws: FollowingDraws::Gain,
        };
        let of = |name: &str, k_r, k_c| following.quantity(name, &at(&[("k_r", k_r), ("k_c", k_c)])).unwrap();
        assert!((of("gain", 1.0, 1.0) - 1.0).abs() < 1e-9);
        let start = DESIGNED.quantity("margin_deg", &at(&[("lambda", 0.5)])).unwrap();
        assert!((of("phase_margin_deg", 1.0, 1.0) - start).abs() < 1e-6);
        assert!(of("gain", 0.8, 0.6) < 1.0);
        assert!(of("phase_margin_deg", 0.8, 0.6) > start);
    }

    /// Tuning by k takes 1/k^2 of the gain: the margin at a long round trip returns.
    #[test]
    fn a_tuned_pi_is_the_untuned_one_with_less_gain() {
        let tuned = Tuned {
            k_p: 7.264e-5,
            zero: 0.56,
            flows: 300.0,
            capacity: 3750.0,
            k: vec![1.0, 2.0],
            rtt: [0.1, 1.7],
        };
        let of = |k, rtt| tuned.quantity("phase_margin_deg", &at(&[("k", k), ("rtt", rtt)])).unwrap();
        assert!(of(1.0, 0.4) > 0.0);
        assert!(of(2.0, 1.5) > of(1.0, 1.5));
        let quarter = Tuned { k_p: tuned.k_p / 4.0, ..tuned.clone() };
        let own = quarter.quantity("phase_margin_deg", &at(&[("k", 1.0), ("rtt", 1.5)])).unwrap();
        assert!((own - of(2.0, 1.5)).abs() < 1e-9);
    }

    /// Section 4.5.1: 0.8 N^3 / (R C)^5 is 4.1e-8, and L w is max_p / 100 x 1e-4.
    #[test]
    fn the_largest_max_p_is_that_of_the_proposition() {
        let of = |k| {
            let red = Proposition {
                min_th: 50.0,
                max_th: 150.0,
                weight: 1e-4,
                flows: 50.0,
                capacity: 2500.0,
                k: vec![k],
                rtt: [0.1, 0.2],
            };
            red.quantity("max_p", &at(&[("k", k), ("rtt", 0.12)])).unwrap()
        };
        assert!((of(1.0) - 0.0411).abs() < 1e-4, "{}", of(1.0));
        assert!((of(2.0) / of(1.0) - 4.0).abs() < 1e-9);
    }

    #[test]
    fn figures_have_a_curve_for_each_value() {
        let curves = |answer: Result<Answer, String>| match answer.unwrap() {
            Answer::Chart(chart) => chart.panels[0].curves.len(),
            Answer::Number(_) => panic!("a number"),
        };
        assert_eq!(curves(DESIGNED.chart()), 2);
        let tuned = Tuned {
            k_p: 7e-5,
            zero: 0.6,
            flows: 300.0,
            capacity: 3750.0,
            k: vec![1.0, 2.0, 3.0],
            rtt: [0.1, 2.0],
        };
        assert_eq!(curves(tuned.chart()), 3);
        let following = Following {
            lambda: 0.5,
            flows: 300.0,
            rtt: 0.4,
            capacity: 3750.0,
            k_r: [0.6, 1.0],
            k_c: vec![1.0],
            draws: FollowingDraws::Gain,
        };
        assert_eq!(curves(following.chart()), 1);
        // A gain is at most 1 here, a margin dozens of degrees: on one axis the gain would be a line at zero.
        let axes = [FollowingDraws::Gain, FollowingDraws::PhaseMarginDeg].map(|draws| {
            match (Following { draws, ..following.clone() }).chart() {
                Ok(Answer::Chart(chart)) => chart.y,
                other => panic!("{other:?}"),
            }
        });
        assert_eq!(axes, ["gain (eq. 6.10)", "phase margin (degrees)"]);
        let red = Proposition {
            min_th: 75.0,
            max_th: 225.0,
            weight: 5e-5,
            flows: 300.0,
            capacity: 3750.0,
            k: vec![1.0, 2.0],
            rtt: [0.1, 2.0],
        };
        assert_eq!(curves(red.chart()), 2);
    }
}
