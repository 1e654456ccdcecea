//! Park et al. 2004: where VRC is stable.

use quell_aqm::ap_red::Conditions;
use quell_theory::Tcp;
use quell_theory::rules::criteria::{
    Delay, PidGains, avq_longest_rtt, critical_delay, vrc_largest_integral, vrc_proportional,
};
use quell_view::chart::Panel;

use super::answer::{Answer, At, Named, line, lines, steps, unknown, why};
use super::compute::Compute;

/// Points of a curve.
const POINTS: usize = 120;

/// The quantities that tests may name.
pub(super) fn quantities(of: &Compute) -> &'static [Named] {
    match of {
        Compute::VrcStabilitySurface { .. } => {
            &[("longest_rtt", &["flows", "capacity"]), ("longest_rtt_exact", &["flows", "capacity"])]
        }
        Compute::VrcGainRegions { .. } => &[
            ("k_i_max", &["k_d", "rtt"]),
            ("k_p_min", &["k_d", "rtt", "k_i"]),
            ("k_p_max", &["k_d", "rtt", "k_i"]),
        ],
        Compute::VrcLongestDelay { .. } => &[
            ("longest_delay", &["k_d", "gain"]),
            ("longest_delay_exact", &["k_d", "gain"]),
            ("longest_delay_gained", &["k_d", "gain"]),
        ],
        _ => &[],
    }
}

/// The values of a field in a figure.
pub(super) fn values(of: &Compute, field: &str) -> Vec<f64> {
    match (of, field) {
        (Compute::VrcStabilitySurface { flows, .. }, "flows") => flows.clone(),
        (Compute::VrcStabilitySurface { capacity, .. }, "capacity") => {
            steps(capacity[0], capacity[1], POINTS / 3)
        }
        (Compute::VrcGainRegions { k_d, .. } | Compute::VrcLongestDelay { k_d, .. }, "k_d") => k_d.clone(),
        (Compute::VrcGainRegions { rtt, .. }, "rtt") => rtt.clone(),
        // As far as all curves go, but for rounding.
        (Compute::VrcGainRegions { k_d, rtt, flows, capacity }, "k_i") => {
            let largest = |k_d: f64, rtt: f64| {
                vrc_largest_integral(
                    k_d,
                    &Conditions { flows: *flows, rtt, capacity: *capacity },
                    Tcp::SAWTOOTH,
                )
            };
            let all = k_d.iter().flat_map(|k_d| rtt.iter().map(|r| largest(*k_d, *r)));
            steps(0.0, 0.999 * all.fold(f64::INFINITY, f64::min), POINTS / 3)
        }
        (Compute::VrcLongestDelay { gain, .. }, "gain") => steps(gain[0], gain[1], POINTS / 3),
        _ => Vec::new(),
    }
}

/// A quantity of a figure.
pub(super) fn quantity(of: &Compute, name: &str, at: &At<'_>) -> Result<f64, String> {
    match (of, name) {
        (Compute::VrcStabilitySurface { k_p, k_i, k_d, .. }, _) => {
            let delay = if name == "longest_rtt" { Delay::FirstOrderLag } else { Delay::Exact };
            longest([*k_p, *k_i, *k_d], at("flows")?, at("capacity")?, delay)
        }
        (Compute::VrcGainRegions { flows, capacity, .. }, _) => {
            let (k_d, rtt) = (at("k_d")?, at("rtt")?);
            let now = Conditions { flows: *flows, rtt, capacity: *capacity };
            if name == "k_i_max" {
                return Ok(vrc_largest_integral(k_d, &now, Tcp::SAWTOOTH));
            }
            let range = vrc_proportional(at("k_i")?, k_d, &now, Tcp::SAWTOOTH).ok_or(BEYOND)?;
            Ok(if name == "k_p_min" { range.0 } else { range.1 })
        }
        (Compute::VrcLongestDelay { k_d: all, flows, capacity, q_ref, .. }, _) => {
            let gain = at("gain")?;
            let of = |k_d: f64, delay| {
                Ok::<_, String>(longest([gain, gain, k_d], *flows, *capacity, delay)? - q_ref / capacity)
            };
            let k_d = at("k_d")?;
            match name {
                "longest_delay" => of(k_d, Delay::FirstOrderLag),
                "longest_delay_exact" => of(k_d, Delay::Exact),
                // Over that of the first K_D.
                _ => Ok(of(k_d, Delay::FirstOrderLag)?
                    - of(all.first().copied().unwrap_or(0.0), Delay::FirstOrderLag)?),
            }
        }
        _ => Err(unknown(name)),
    }
}

const BEYOND: &str = "K_I exceeds the largest (eq. 20)";

/// The longest stable round-trip time of the gains K_P, K_I and K_D, in seconds.
fn longest(gains: [f64; 3], flows: f64, capacity: f64, delay: Delay) -> Result<f64, String> {
    let [k_p, k_i, k_d] = gains;
    let found =
        critical_delay(&PidGains { k_p, k_i, k_d }, flows, capacity, Tcp::SAWTOOTH, delay).map_err(why)?;
    found.ok_or_else(|| "it is stable at every round-trip time, or at none".to_string())
}

pub(super) fn answer(of: &Compute) -> Result<Answer, String> {
    let tcp = Tcp::SAWTOOTH;
    match *of {
        Compute::VrcLargestIntegral { k_d, rtt, flows, capacity } => {
            Ok(Answer::Number(vrc_largest_integral(k_d, &Conditions { flows, rtt, capacity }, tcp)))
        }
        Compute::VrcLargestProportional { k_i, k_d, rtt, flows, capacity } => {
            let range = vrc_proportional(k_i, k_d, &Conditions { flows, rtt, capacity }, tcp);
            Ok(Answer::Number(range.ok_or(BEYOND)?.1))
        }
        Compute::VrcLongestRtt { k_p, k_i, k_d, flows, capacity, q_ref } => {
            let rtt = longest([k_p, k_i, k_d], flows, capacity, Delay::FirstOrderLag)?;
            Ok(Answer::Number(rtt - q_ref / capacity))
        }
        Compute::AvqLongestRtt { phi, tau, flows, capacity } => {
            let found = avq_longest_rtt(phi, tau, flows, capacity, tcp).map_err(why)?;
            Ok(Answer::Number(found.ok_or("it is stable at every round-trip time, or at none")?))
        }
        Compute::VrcStabilitySurface { k_p, k_i, k_d, ref flows, capacity } => {
            let panel = |title: &str, delay| {
                let curves = flows.iter().enumerate().map(|(i, n)| {
                    let axis = steps(capacity[0], capacity[1], POINTS / 3);
                    // Where no round-trip time is stable, or every one, there is no point of the surface.
                    let y = |c: f64| longest([k_p, k_i, k_d], *n, c, delay).unwrap_or(f64::NAN);
                    line(format!("N = {n}"), i, axis.into_iter().map(|c| (c, y(c))))
                });
                Panel { title: title.to_string(), curves: curves.collect() }
            };
            let panels =
                vec![panel("first-order lag (eq. 17)", Delay::FirstOrderLag), panel("exact", Delay::Exact)];
            Ok(lines("C (packets/s)", "longest stable R (s)", "N", "delay", panels))
        }
        Compute::VrcGainRegions { ref k_d, ref rtt, flows, capacity } => {
            let panels = rtt.iter().map(|r| {
                let now = Conditions { flows, rtt: *r, capacity };
                let curves = k_d.iter().enumerate().map(|(i, k_d)| {
                    let axis = steps(0.0, vrc_largest_integral(*k_d, &now, tcp), POINTS);
                    let range = |k_i: f64| vrc_proportional(k_i, *k_d, &now, tcp);
                    // Up the upper border to the largest K_I, and back along the lower one.
                    let upper: Vec<_> = axis.iter().filter_map(|k_i| Some((*k_i, range(*k_i)?.1))).collect();
                    let lower: Vec<_> =
                        axis.iter().rev().filter_map(|k_i| Some((*k_i, range(*k_i)?.0))).collect();
                    line(format!("K_D = {k_d}"), i, [upper, lower].concat())
                });
                Panel { title: format!("{r} s"), curves: curves.collect() }
            });
            Ok(lines("K_I", "K_P: stable within", "K_D", "R", panels.collect()))
        }
        Compute::VrcLongestDelay { ref k_d, gain, flows, capacity, q_ref } => {
            let panel = |title: &str, delay| {
                let curves = k_d.iter().enumerate().map(|(i, k_d)| {
                    let y = |k: f64| {
                        longest([k, k, *k_d], flows, capacity, delay)
                            .map_or(f64::NAN, |r| r - q_ref / capacity)
                    };
                    line(
                        format!("K_D = {k_d}"),
                        i,
                        steps(gain[0], gain[1], POINTS / 3).into_iter().map(|k| (k, y(k))),
                    )
                });
                Panel { title: title.to_string(), curves: curves.collect() }
            };
            let panels =
                vec![panel("first-order lag (eq. 17)", Delay::FirstOrderLag), panel("exact", Delay::Exact)];
            Ok(lines("K_P = K_I", "longest stable propagation delay (s)", "K_D", "delay", panels))
        }
        _ => Err("is of another document".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(of: Compute) -> f64 {
        match answer(&of).unwrap() {
            Answer::Number(x) => x,
            Answer::Chart(_) => panic!("a chart"),
        }
    }

    /// Park et al. 2004, section 5.2.1, prints 361 ms for what eq. 17 makes 363 ms; 80 ms of it are queueing.
    #[test]
    fn the_longest_delay_of_table_1() {
        let of = |q_ref| {
            number(Compute::VrcLongestRtt {
                k_p: 0.0024,
                k_i: 0.0045,
                k_d: 0.0003,
                flows: 100.0,
                capacity: 1250.0,
                q_ref,
            })
        };
        assert!((of(0.0) - 0.363).abs() < 0.0005, "{}", of(0.0));
        assert!((of(0.0) - of(100.0) - 0.08).abs() < 1e-12);
    }

    /// Section 3.2 prints 0.659 and 0.125.
    #[test]
    fn quantities_are_those_of_the_example() {
        let regions =
            Compute::VrcGainRegions { k_d: vec![0.0, 0.001], rtt: vec![0.1], flows: 100.0, capacity: 1250.0 };
        let of = |name: &str, at: &[(&str, f64)]| regions.quantity(name, at);
        assert!((of("k_i_max", &[("k_d", 0.001)]).unwrap() - 0.659).abs() < 0.0005);
        assert!((of("k_p_max", &[("k_d", 0.001), ("k_i", 0.01)]).unwrap() - 0.125).abs() < 0.0005);
        assert!(of("k_i_max", &[]).unwrap_err().contains("say which"));
        assert!(of("k_p_max", &[("k_d", 0.001), ("k_i", 1.0)]).unwrap_err().contains("eq. 20"));
        for (name, fields) in regions.quantities() {
            let at: Vec<_> = fields.iter().map(|field| (*field, regions.values(field)[0])).collect();
            assert!(of(name, &at).is_ok(), "{name}");
        }
    }

    #[test]
    fn the_regions_are_closed_and_grow_with_k_d() {
        let regions =
            Compute::VrcGainRegions { k_d: vec![0.0, 0.001], rtt: vec![0.1], flows: 100.0, capacity: 1250.0 };
        let Answer::Chart(chart) = answer(&regions).unwrap() else { panic!("a number") };
        let top = |i: usize| chart.panels[0].curves[i].y.iter().copied().fold(0.0, f64::max);
        assert!(top(1) > top(0));
    }
}
