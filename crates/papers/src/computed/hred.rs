//! Joo et al. 2006, section III: where RED and HRED are stable, and what traffic HRED bears.
//!
//! What the document derives is found here by search, from the gain of the loop (eq. 7 and 9) and the windows
//! (eq. 1), so that its closed forms can be tested against it. Queues and `C RTT` are in one unit, whichever.

use quell_aqm::hred::{Line, loop_gain};
use quell_view::chart::Curve;
use serde::Deserialize;

use super::answer::{Answer, At, Named, curves_of, line, panel, steps, unknown};

/// Points of a curve.
const POINTS: usize = 120;

/// The gain of the loop over the queue.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gain {
    /// kappa, a curve each; a curve of RED is beside them.
    pub kappa: Vec<f64>,
    /// `min_th`.
    pub min_th: f64,
    /// `max_th`.
    pub max_th: f64,
    /// The largest queue that is drawn.
    pub buffer: f64,
    /// `C RTT`.
    pub bandwidth_delay: f64,
    /// The probabilities at `min_th` for which the gain is computed.
    #[serde(default = "one_percent")]
    pub min_p: Vec<f64>,
}

fn one_percent() -> Vec<f64> {
    vec![0.01]
}

impl Gain {
    pub(super) const QUANTITIES: &'static [Named] = &[
        ("gain", &["kappa", "queue", "min_p"]),
        ("plant_gain", &["kappa", "queue", "min_p"]),
        ("least_queue", &["kappa"]),
        ("red_gain", &["queue"]),
        ("red_least_queue", &[]),
    ];

    pub(super) fn values(&self, field: &str) -> Vec<f64> {
        match field {
            "kappa" => self.kappa.clone(),
            "min_p" => self.min_p.clone(),
            _ => steps(0.0, self.buffer, POINTS),
        }
    }

    pub(super) fn quantity(&self, name: &str, at: &At<'_>) -> Result<f64, String> {
        match name {
            "gain" => Ok(self.gain(at("kappa")?, at("queue")?, at("min_p")?)),
            "plant_gain" => Ok(self.plant_gain(at("kappa")?, at("queue")?, at("min_p")?)),
            "least_queue" => {
                let kappa = at("kappa")?;
                crossing(|q| self.gain(kappa, q, self.min_p[0]), self.longest())
            }
            "red_gain" => Ok(self.red_gain(at("queue")?)),
            "red_least_queue" => crossing(|q| self.red_gain(q), self.longest()),
            name => Err(unknown(name)),
        }
    }

    /// Beyond it every queue is stable.
    fn longest(&self) -> f64 {
        10.0 * (self.bandwidth_delay + self.buffer)
    }

    fn line(&self, kappa: f64) -> Line {
        Line { min_th: self.min_th, max_th: self.max_th, slope: 1.0 / (kappa * self.max_th) }
    }

    /// Eq. 9: `(q + C RTT)/(2 p)` times the slope of the line through `min_p` and the `max_p` of eq. 10.
    fn gain(&self, kappa: f64, q: f64, min_p: f64) -> f64 {
        let line = self.line(kappa);
        let slope = (line.max_p(min_p) - min_p) / (self.max_th - self.min_th);
        let p = min_p + slope * (q - self.min_th);
        (q + self.bandwidth_delay) / (2.0 * p) * slope
    }

    /// Section III.B: `(C RTT_0)^3/(2N)^2` times the slope, with the N that makes this queue the equilibrium by eq.
    /// 1 and `K = sqrt 2`, and `C RTT_0 = q + C RTT`.
    fn plant_gain(&self, kappa: f64, q: f64, min_p: f64) -> f64 {
        let line = self.line(kappa);
        let slope = (line.max_p(min_p) - min_p) / (self.max_th - self.min_th);
        let p = min_p + slope * (q - self.min_th);
        let held = q + self.bandwidth_delay;
        let flows = held * (p / 2.0).sqrt();
        held * held * held / (4.0 * flows * flows) * slope
    }

    /// Eq. 7 with eq. 3: RED's line begins with a probability of 0 at `min_th`, whatever `max_p`.
    fn red_gain(&self, q: f64) -> f64 {
        if q <= self.min_th { f64::INFINITY } else { (q + self.bandwidth_delay) / (2.0 * (q - self.min_th)) }
    }

    pub(super) fn chart(&self) -> Result<Answer, String> {
        if self.min_p.is_empty() || self.max_th <= self.min_th || self.kappa.iter().any(|k| *k <= 0.0) {
            return Err("min_p must have a value, kappa be positive, and max_th exceed min_th".to_string());
        }
        let axis = steps(0.0, self.buffer, POINTS);
        let mut curves = vec![line(
            "RED".to_string(),
            0,
            axis.iter().map(|q| (*q, self.red_gain(*q))).filter(|(_, gain)| *gain < 8.0),
        )];
        for kappa in &self.kappa {
            let shape = self.line(*kappa);
            let points = axis.iter().map(|q| (*q, loop_gain(&shape, *q, self.bandwidth_delay)));
            // Where the line is below zero nothing is dropped, and there is no gain.
            let points = points.filter(|(_, gain)| (0.0..8.0).contains(gain));
            curves.push(line(format!("HRED, kappa = {kappa}"), curves.len(), points));
        }
        curves.push(line("stable below".to_string(), curves.len(), [(0.0, 1.0), (self.buffer, 1.0)]));
        Ok(panel("queue", "gain of the loop", "algorithm", curves))
    }
}

/// The least buffer, as a share of `C RTT`, with which HRED is stable wherever its queue may be.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeastBuffer {
    /// The ends of the axis of kappa.
    pub kappa: [f64; 2],
    /// `min_th` as a share of the buffer.
    pub min_share: f64,
    /// `max_th` as a share of the buffer, a curve each.
    pub max_share: Vec<f64>,
}

impl LeastBuffer {
    pub(super) const QUANTITIES: &'static [Named] = &[
        ("least_buffer", &["kappa", "max_share"]),
        ("least_buffer_any_queue", &["kappa", "max_share"]),
        ("least_buffer_without_collision", &["kappa", "max_share"]),
    ];

    pub(super) fn values(&self, field: &str) -> Vec<f64> {
        match field {
            "max_share" => self.max_share.clone(),
            _ => steps(self.kappa[0], self.kappa[1], POINTS / 3),
        }
    }

    pub(super) fn quantity(&self, name: &str, at: &At<'_>) -> Result<f64, String> {
        let (kappa, max_share) = (at("kappa")?, at("max_share")?);
        // C RTT is 1.
        let line = |buffer: f64| {
            let max_th = max_share * buffer;
            Line { min_th: self.min_share * buffer, max_th, slope: 1.0 / (kappa * max_th) }
        };
        let worst = |buffer: f64, from: f64, to: f64| {
            let line = line(buffer);
            let gain = |share: f64| {
                let gain = loop_gain(&line, share * buffer, 1.0);
                if gain < 0.0 { f64::INFINITY } else { gain }
            };
            steps(from, to, POINTS).into_iter().map(gain).fold(0.0, f64::max)
        };
        match name {
            "least_buffer" => crossing(|b| worst(b, self.min_share, max_share), MOST),
            "least_buffer_any_queue" => crossing(|b| worst(b, 0.0, 1.0), MOST),
            // Footnote 2: q + C RTT < 2 kappa max_th, at the longest queue of the operating range.
            "least_buffer_without_collision" => {
                crossing(|b| (max_share * b + 1.0) / (2.0 * kappa * max_share * b), MOST)
            }
            name => Err(unknown(name)),
        }
    }

    pub(super) fn chart(&self) -> Result<Answer, String> {
        let least = |max_share: f64, kappa: f64| {
            let of = |field: &str| Ok(if field == "kappa" { kappa } else { max_share });
            self.quantity("least_buffer", &of).unwrap_or(f64::NAN)
        };
        let curves = of_max_share(&self.max_share, &self.values("kappa"), least);
        Ok(panel("kappa", "least buffer over C RTT", "max_th", curves))
    }
}

/// The share of the flows that may come or go at once.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tolerance {
    /// The ends of the axis of the buffer, as a share of `C RTT`.
    pub buffer: [f64; 2],
    /// `min_th` as a share of the buffer.
    pub min_share: f64,
    /// `max_th` as a share of the buffer, a curve each.
    pub max_share: Vec<f64>,
}

impl Tolerance {
    pub(super) const QUANTITIES: &'static [Named] = &[
        ("tolerance", &["buffer", "max_share"]),
        ("tolerance_of_ends", &["buffer", "max_share"]),
        ("tolerance_kept", &["buffer", "max_share"]),
        ("overflow_tolerance_kept", &["buffer", "max_share"]),
    ];

    pub(super) fn values(&self, field: &str) -> Vec<f64> {
        match field {
            "max_share" => self.max_share.clone(),
            _ => steps(self.buffer[0], self.buffer[1], POINTS / 3),
        }
    }

    pub(super) fn quantity(&self, name: &str, at: &At<'_>) -> Result<f64, String> {
        let (buffer, max_share) = (at("buffer")?, at("max_share")?);
        let first = self.max_share.first().copied().unwrap_or(max_share);
        match name {
            "tolerance" => Ok(self.least(buffer, max_share)),
            // Eq. 16.
            "tolerance_of_ends" => {
                let (min_th, max_th) = (self.min_share * buffer, max_share * buffer);
                Ok(quell_aqm::hred::tolerance(min_th, max_th, buffer, 1.0))
            }
            "tolerance_kept" => Ok(self.least(buffer, max_share) / self.least(buffer, first)),
            // Of the two bounds only the one that keeps the buffer from overflowing.
            "overflow_tolerance_kept" => {
                let of = |share: f64| (1.0 - share) * buffer / (share * buffer + 1.0);
                Ok(of(max_share) / of(first))
            }
            name => Err(unknown(name)),
        }
    }

    /// The least, over the queues of the operating range, of what neither fills nor empties the buffer.
    fn least(&self, buffer: f64, max_share: f64) -> f64 {
        let bound = |share: f64| {
            let q = share * buffer;
            ((buffer - q) / (q + 1.0)).min(q / (q + 1.0))
        };
        steps(self.min_share, max_share, POINTS).into_iter().map(bound).fold(f64::INFINITY, f64::min)
    }

    pub(super) fn chart(&self) -> Result<Answer, String> {
        let curves = of_max_share(&self.max_share, &self.values("buffer"), |share, b| self.least(b, share));
        Ok(panel("buffer over C RTT", "largest sigma", "max_th", curves))
    }
}

/// The change of the probability that a change of traffic calls for, and how fast the adjustment makes it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adjustment {
    /// The ends of the axis of epsilon, by which traffic grows, as a share.
    pub change: [f64; 2],
}

impl Adjustment {
    pub(super) const QUANTITIES: &'static [Named] = &[
        ("probability_ratio", &["change"]),
        ("rise_gain", &["change"]),
        ("fall_gain", &["change"]),
        ("rise_time", &["change"]),
        ("fall_time", &["change"]),
    ];

    pub(super) fn values(&self, _: &str) -> Vec<f64> {
        steps(self.change[0], self.change[1], POINTS)
    }

    pub(super) fn quantity(&self, name: &str, at: &At<'_>) -> Result<f64, String> {
        let change = at("change")?;
        // By eq. 1 the queue is N K/sqrt p - C RTT: the p that holds it for more flows, over that for N.
        let ratio = |change: f64| {
            let held = |flows: f64, p: f64| flows / p.sqrt();
            crossing(|p| held(1.0 + change, p) / held(1.0, 1.0), 1e4)
        };
        // Eq. 13 solved for K, over 2 S/(C T)^2; the fall is of a change with the other sign.
        let gain = |change: f64| Ok::<_, String>((ratio(change)? - 1.0) / (change * (1.0 + change)) / 2.0);
        match name {
            "probability_ratio" => ratio(change),
            "rise_gain" => gain(change),
            "fall_gain" => gain(-change),
            // With K at 2 S/(C T)^2 it takes this many T: K goes with 1/T^2.
            "rise_time" => Ok(gain(change)?.sqrt()),
            "fall_time" => Ok(gain(-change)?.sqrt()),
            name => Err(unknown(name)),
        }
    }

    pub(super) fn chart(&self) -> Result<Answer, String> {
        let curve = |label: &str, i: usize, name: &str| {
            let at = |change: f64| self.quantity(name, &|_| Ok(change)).unwrap_or(f64::NAN);
            // Of no change there is no gain.
            let axis = self.values("change").into_iter().filter(|change| *change > 0.0);
            line(label.to_string(), i, axis.map(|change| (change, at(change))))
        };
        let curves = vec![curve("rise (eq. 14)", 0, "rise_gain"), curve("fall (eq. 15)", 1, "fall_gain")];
        Ok(panel("change of traffic, as a share", "K over 2 S/(C T)^2", "change", curves))
    }
}

/// A curve for each `max_th`, which is a share of the buffer.
fn of_max_share(shares: &[f64], axis: &[f64], y: impl Fn(f64, f64) -> f64) -> Vec<Curve> {
    curves_of(shares, |share| format!("max_th = {share} of the buffer"), axis, y)
}

/// The largest buffer that is tried, over `C RTT`.
const MOST: f64 = 1e4;

/// Where what falls in x falls below 1.
fn crossing(of: impl Fn(f64) -> f64, most: f64) -> Result<f64, String> {
    // A gain below zero is of a line below zero, where nothing is dropped.
    let stable = |x: f64| (0.0..1.0).contains(&of(x));
    if !stable(most) {
        return Err("it is stable nowhere".to_string());
    }
    let (mut low, mut high) = (0.0, most);
    for _ in 0..200 {
        let middle = (low + high) / 2.0;
        if stable(middle) { high = middle } else { low = middle }
    }
    Ok(high)
}

#[cfg(test)]
mod tests {
    use quell_aqm::hred::{least_stable_buffer, least_stable_queue};

    use super::*;
    use crate::computed::Compute;

    fn gain() -> Compute {
        Compute::HredGain(Gain {
            kappa: vec![0.5, 1.0],
            min_th: 75.0,
            max_th: 150.0,
            buffer: 300.0,
            bandwidth_delay: 675.0,
            min_p: vec![0.01, 0.1],
        })
    }

    /// Eq. 11 and section III.B: C RTT + 2 min_th - 2 kappa max_th, and C RTT + 2 min_th for RED.
    #[test]
    fn the_least_queues_are_those_of_the_closed_forms() {
        let of = |name: &str, at: &[(&str, f64)]| gain().quantity(name, at).unwrap();
        for kappa in [0.5, 1.0] {
            let closed = least_stable_queue(75.0, 150.0, kappa, 675.0);
            let found = of("least_queue", &[("kappa", kappa)]);
            assert!((found - closed).abs() < 1e-6, "{found} {closed}");
        }
        assert!((of("red_least_queue", &[]) - 825.0).abs() < 1e-6);
    }

    #[test]
    fn the_gain_is_that_of_the_plant_at_any_load() {
        let of = |name: &str, min_p: f64| {
            let at = [("kappa", 1.0), ("queue", 100.0), ("min_p", min_p)];
            gain().quantity(name, &at).unwrap()
        };
        assert!((of("gain", 0.01) - of("gain", 0.1)).abs() < 1e-12);
        assert!((of("gain", 0.01) / of("plant_gain", 0.01) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_least_buffers_are_those_of_the_closed_form() {
        let of = Compute::HredLeastBuffer(LeastBuffer {
            kappa: [1.0, 4.0],
            min_share: 0.25,
            max_share: vec![0.5, 0.75],
        });
        for (kappa, max_share) in [(1.0, 0.5), (2.0, 0.5), (2.0, 0.75), (4.0, 0.75)] {
            let found = of.quantity("least_buffer", &[("kappa", kappa), ("max_share", max_share)]).unwrap();
            let closed = least_stable_buffer(0.25, max_share, kappa, 1.0).unwrap();
            assert!((found / closed - 1.0).abs() < 1e-9, "{kappa} {max_share}: {found} {closed}");
        }
    }

    /// Section III.D says that three quarters in place of half cut sigma by more than two thirds; the cut is smaller.
    #[test]
    fn three_quarters_keep_more_than_a_third_of_the_tolerance() {
        let of = Compute::HredTolerance(Tolerance {
            buffer: [0.1, 4.0],
            min_share: 0.25,
            max_share: vec![0.5, 0.75],
        });
        for buffer in of.values("buffer") {
            let at = |name: &str, share: f64| {
                of.quantity(name, &[("buffer", buffer), ("max_share", share)]).unwrap()
            };
            assert!((at("tolerance", 0.5) / at("tolerance_of_ends", 0.5) - 1.0).abs() < 1e-12);
            assert!(
                at("tolerance_kept", 0.75) > 1.0 / 3.0 && at("overflow_tolerance_kept", 0.75) > 1.0 / 3.0
            );
        }
    }

    #[test]
    fn the_adjustment_is_that_of_equations_12_to_15() {
        let of = Compute::HredAdjustment(Adjustment { change: [0.0, 0.5] });
        let at = |name: &str| of.quantity(name, &[("change", 0.3)]).unwrap();
        assert!((at("probability_ratio") - 1.69).abs() < 1e-9);
        assert!((at("rise_gain") - 2.3 / 1.3 / 2.0).abs() < 1e-9);
        assert!((at("fall_gain") - 1.7 / 0.7 / 2.0).abs() < 1e-9);
    }

    #[test]
    fn figures_have_their_curves_and_quantities() {
        let all = [
            gain(),
            Compute::HredLeastBuffer(LeastBuffer {
                kappa: [1.0, 4.0],
                min_share: 0.25,
                max_share: vec![0.5],
            }),
            Compute::HredTolerance(Tolerance { buffer: [0.1, 4.0], min_share: 0.25, max_share: vec![0.5] }),
            Compute::HredAdjustment(Adjustment { change: [0.0, 0.5] }),
        ];
        for of in all {
            let Answer::Chart(chart) = of.answer(&|_| Err(String::new())).unwrap() else {
                panic!("a number")
            };
            assert!(chart.panels[0].curves.iter().all(|curve| curve.y.iter().all(|y| y.is_finite())));
            for (name, fields) in of.quantities() {
                let at: Vec<_> =
                    fields.iter().map(|field| (*field, *of.values(field).last().unwrap_or(&0.0))).collect();
                assert!(of.quantity(name, &at).is_ok(), "{name}");
            }
        }
    }
}
