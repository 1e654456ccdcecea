//! Trinh and Molnár, sections 4.3 and 5: what an exponentially weighted average knows, and the weights of the fuzzy
//! rules.

use quell_aqm::fuzzy_red::{FuzzyRule, FuzzyRules};
use quell_theory::ewma::Ewma;
use quell_view::chart::Panel;
use serde::Deserialize;

use super::answer::{Answer, At, Named, line, lines, panel, steps, unknown, why};

/// The variance of the average of correlated samples, for several weights.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Average {
    /// w_q.
    pub weight: Vec<f64>,
    /// The number t of the sample, the first of which is a queue that is known to be empty.
    pub samples: Vec<f64>,
    /// r, where the correlation at lag k is r^k.
    pub correlation: Vec<f64>,
    /// k, of what the lags count.
    #[serde(default)]
    pub lag: Vec<f64>,
    /// The variance of a sample.
    pub sample_variance: f64,
}

/// The average at a sample: `avg_t = sum_i a_i q_i`, with the weights that eq. 2 gives the samples. The first
/// one is 0, and has none.
fn sample_weights(weight: f64, samples: usize) -> Vec<f64> {
    let mut all = Vec::with_capacity(samples);
    for _ in 1..samples {
        all.iter_mut().for_each(|a| *a *= 1.0 - weight);
        all.push(weight);
    }
    all
}

impl Average {
    pub(super) const QUANTITIES: &'static [Named] = &[
        ("expectation", &["weight", "samples"]),
        ("variance_independent", &["weight", "samples"]),
        ("defined_variance_independent", &["weight", "samples"]),
        ("half_the_weight", &["weight"]),
        ("printed_variance", &["weight", "samples", "correlation"]),
        ("variance", &["weight", "samples", "correlation"]),
        ("defined_variance", &["weight", "samples", "correlation"]),
        ("lag_coefficient", &["weight", "lag"]),
        ("defined_lag_coefficient", &["weight", "samples", "lag"]),
    ];

    pub(super) fn values(&self, field: &str) -> Vec<f64> {
        match field {
            "weight" => self.weight.clone(),
            "samples" => self.samples.clone(),
            "lag" => self.lag.clone(),
            _ => self.correlation.clone(),
        }
    }

    /// What is called "defined" is computed from the recursion (eq. 2) alone: by the weights that it gives the
    /// samples, and the sums over them.
    pub(super) fn quantity(&self, name: &str, at: &At<'_>) -> Result<f64, String> {
        let ewma = Ewma::new(at("weight")?).map_err(why)?;
        let samples = || at("samples").map(|t| t as u64);
        let weights = || Ok::<_, String>(sample_weights(ewma.weight(), samples()? as usize));
        let of = self.sample_variance;
        match name {
            "expectation" => Ok(weights()?.iter().sum()),
            "variance_independent" => Ok(of * ewma.variance_independent(samples()?)),
            "defined_variance_independent" => Ok(of * weights()?.iter().map(|a| a * a).sum::<f64>()),
            "half_the_weight" => Ok(of * ewma.weight() / 2.0),
            "printed_variance" => {
                let r = at("correlation")?;
                let independent = ewma.variance_independent(samples()?);
                Ok(of * independent + self.over_variance(&ewma, samples()?, r)? - independent)
            }
            "variance" => Ok(of * self.over_variance(&ewma, samples()?, at("correlation")?)?),
            "defined_variance" => {
                let (r, all) = (at("correlation")?, weights()?);
                // sum_i sum_j a_i a_j r^|i-j|, by what the samples before one add to it.
                let (mut sum, mut before) = (0.0, 0.0);
                for a in &all {
                    sum += a * a + 2.0 * a * before;
                    before = r * (before + a);
                }
                Ok(of * sum)
            }
            "lag_coefficient" => Ok(ewma.lag_coefficient(at("lag")? as u64)),
            "defined_lag_coefficient" => {
                let (lag, all) = (at("lag")? as usize, weights()?);
                Ok(all.iter().zip(&all[lag.min(all.len())..]).map(|(a, b)| a * b).sum())
            }
            name => Err(unknown(name)),
        }
    }

    /// The variance over that of a sample (eq. 4, with the factor that its second sum lacks).
    fn over_variance(&self, ewma: &Ewma, samples: u64, r: f64) -> Result<f64, String> {
        ewma.variance(samples, |k| libm::pow(r, k as f64)).map_err(why)
    }

    /// The limit of the variance over the correlation.
    pub(super) fn chart(&self) -> Result<Answer, String> {
        let mut curves = Vec::new();
        for weight in &self.weight {
            let ewma = Ewma::new(*weight).map_err(why)?;
            let points: Result<Vec<(f64, f64)>, String> = steps(0.0, 0.99, 99)
                .into_iter()
                .map(|r| Ok((r, ewma.variance_limit_geometric(r).map_err(why)?.sqrt())))
                .collect();
            curves.push(line(format!("w = {weight}"), curves.len(), points?));
        }
        let y = "deviation of the average, over that of the queue";
        Ok(panel("correlation of one sample with the next", y, "weight", curves))
    }
}

/// The weight that the rules give a scaled error, for several shapes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weights {
    /// The low and the high weight.
    pub weight: [f64; 2],
    /// The errors up to which one is low and from which on it is high, a panel each.
    pub error: Vec<[f64; 2]>,
    /// The largest error that is drawn.
    pub up_to: f64,
    /// The weight of RED, to stand beside.
    pub red: f64,
    /// A queue in packets, of which a packet more or less is an error.
    pub queue: Vec<f64>,
}

impl Weights {
    pub(super) const QUANTITIES: &'static [Named] = &[
        ("printed_weight", &["error_high", "queue"]),
        ("keshav_weight", &["error_high", "queue"]),
        ("error", &["queue"]),
    ];

    pub(super) fn values(&self, field: &str) -> Vec<f64> {
        match field {
            "queue" => self.queue.clone(),
            _ => self.error.iter().map(|e| e[1]).collect(),
        }
    }

    fn rules(&self, rule: FuzzyRule, [low, high]: [f64; 2]) -> FuzzyRules {
        FuzzyRules { rule, error: (low, high), weight: (self.weight[0], self.weight[1]) }
    }

    /// The weights where the queue differs by one packet from an average of `queue`.
    pub(super) fn quantity(&self, name: &str, at: &At<'_>) -> Result<f64, String> {
        let error = 1.0 / at("queue")?;
        let rule = match name {
            "error" => return Ok(error),
            "printed_weight" => FuzzyRule::Printed,
            "keshav_weight" => FuzzyRule::Keshav,
            name => return Err(unknown(name)),
        };
        let high = at("error_high")?;
        let shape = self.error.iter().find(|e| e[1] == high).ok_or("there is no such shape")?;
        Ok(self.rules(rule, *shape).weight(error))
    }

    pub(super) fn chart(&self) -> Result<Answer, String> {
        let panels = self.error.iter().map(|shape| {
            let curve = |rule: FuzzyRule, name: &str, style: usize| {
                let rules = self.rules(rule, *shape);
                let at = |e: f64| (e, rules.weight(e));
                line(name.to_string(), style, steps(0.0, self.up_to, 400).into_iter().map(at))
            };
            let curves = vec![
                curve(FuzzyRule::Printed, "rules as printed", 0),
                curve(FuzzyRule::Keshav, "rules reversed", 1),
                line("RED".to_string(), 2, [(0.0, self.red), (self.up_to, self.red)]),
            ];
            Panel { title: format!("{} to {}", shape[0], shape[1]), curves }
        });
        Ok(lines("scaled error", "weight of a new sample", "rules", "low to high error", panels.collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn average() -> Average {
        Average {
            weight: vec![0.002, 0.5],
            samples: vec![3.0, 400.0],
            correlation: vec![0.0, 0.5, 0.9],
            lag: vec![3.0],
            sample_variance: 4.0,
        }
    }

    fn of(name: &str, fields: &[(&str, f64)]) -> f64 {
        let at = |field: &str| {
            fields.iter().find(|f| f.0 == field).map(|f| f.1).ok_or_else(|| format!("{field} is missing"))
        };
        average().quantity(name, &at).unwrap()
    }

    /// Samples 0, q_2, q_3 with variance 4 and correlation 0.5, by hand: `avg_3 = 0.25 q_2 + 0.5 q_3`.
    #[test]
    fn the_printed_variance_lacks_a_factor() {
        let at = [("weight", 0.5), ("samples", 3.0), ("correlation", 0.5)];
        for (name, wanted) in [("variance", 1.75), ("defined_variance", 1.75), ("printed_variance", 1.375)] {
            assert!((of(name, &at) - wanted).abs() < 1e-12, "{name}: {}", of(name, &at));
        }
        assert!((of("expectation", &at) - 0.75).abs() < 1e-12);
        assert!((of("variance_independent", &at) - 1.25).abs() < 1e-12);
        assert!((of("defined_variance_independent", &at) - 1.25).abs() < 1e-12);
    }

    #[test]
    fn lags_count_as_remark_5_says() {
        let at = [("weight", 0.5), ("samples", 400.0), ("lag", 3.0)];
        let (limit, defined) = (of("lag_coefficient", &at), of("defined_lag_coefficient", &at));
        assert!(
            (limit - 0.5 / 1.5 * 0.125).abs() < 1e-12 && (defined - limit).abs() < 1e-12,
            "{defined} {limit}"
        );
    }

    #[test]
    fn one_packet_is_a_high_error_in_a_short_queue() {
        let of = Weights {
            weight: [0.002, 0.05],
            error: vec![[0.06, 0.2], [1.0, 3.0]],
            up_to: 1.0,
            red: 0.002,
            queue: vec![4.0],
        };
        let at = |high: f64| move |field: &str| Ok::<f64, String>(if field == "queue" { 4.0 } else { high });
        assert_eq!(of.quantity("printed_weight", &at(0.2)), Ok(0.002));
        assert_eq!(of.quantity("keshav_weight", &at(0.2)), Ok(0.05));
        assert_eq!(of.quantity("printed_weight", &at(3.0)), Ok(0.05));
        let Answer::Chart(chart) = of.chart().unwrap() else { panic!("a number") };
        assert_eq!(chart.panels.len(), 2);
    }
}
