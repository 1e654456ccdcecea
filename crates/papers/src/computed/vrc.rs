//! Park et al. 2004: where VRC is stable.

use quell_aqm::ap_red::Conditions;
use quell_theory::Tcp;
use quell_theory::rules::criteria::{
    Delay, PidGains, avq_longest_rtt, critical_delay, vrc_largest_integral, vrc_proportional,
};
use quell_view::chart::Panel;

use super::{Answer, Compute, line, lines, steps, why};

/// Points of a curve.
const POINTS: usize = 120;

pub(super) fn answer(of: &Compute) -> Result<Answer, String> {
    let tcp = Tcp::SAWTOOTH;
    let longest = |k_p, k_i, k_d, flows, capacity, delay| {
        let found = critical_delay(&PidGains { k_p, k_i, k_d }, flows, capacity, tcp, delay).map_err(why)?;
        found.ok_or_else(|| "it is stable at every round-trip time, or at none".to_string())
    };
    match *of {
        Compute::VrcLargestIntegral { k_d, rtt, flows, capacity } => {
            Ok(Answer::Number(vrc_largest_integral(k_d, &Conditions { flows, rtt, capacity }, tcp)))
        }
        Compute::VrcLargestProportional { k_i, k_d, rtt, flows, capacity } => {
            let range = vrc_proportional(k_i, k_d, &Conditions { flows, rtt, capacity }, tcp);
            Ok(Answer::Number(range.ok_or("K_I exceeds the largest (eq. 20)")?.1))
        }
        Compute::VrcLongestRtt { k_p, k_i, k_d, flows, capacity, q_ref } => {
            let rtt = longest(k_p, k_i, k_d, flows, capacity, Delay::FirstOrderLag)?;
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
                    let y = |c: f64| longest(k_p, k_i, k_d, *n, c, delay).unwrap_or(f64::NAN);
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
                        longest(k, k, *k_d, flows, capacity, delay).map_or(f64::NAN, |r| r - q_ref / capacity)
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
        Compute::RedTailMap(_) | Compute::RedTailTrajectory(_) | Compute::RedTailDistribution(_) => {
            Err("is of another document".to_string())
        }
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

    #[test]
    fn the_regions_are_closed_and_grow_with_k_d() {
        let regions =
            Compute::VrcGainRegions { k_d: vec![0.0, 0.001], rtt: vec![0.1], flows: 100.0, capacity: 1250.0 };
        let Answer::Chart(chart) = answer(&regions).unwrap() else { panic!("a number") };
        let top = |i: usize| chart.panels[0].curves[i].y.iter().copied().fold(0.0, f64::max);
        assert!(top(1) > top(0));
    }
}
