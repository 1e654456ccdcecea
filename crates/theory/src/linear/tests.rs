use std::f64::consts::{PI, TAU};

use num_complex::Complex64;
use proptest::prelude::*;

use super::*;
use crate::congestion::{Congestion, Signal, Tcp};
use crate::controller::{Controller, Input};
use crate::network::{Class, FluidNetwork, OperatingPoint};
use crate::num::routh::Routh;
use crate::num::{Poly, Rational};

fn pid(k_p: f64, k_i: f64, k_d: f64) -> Controller {
    Controller { transfer: Rational::new([k_i, k_p, k_d], [0.0, 1.0]), input: Input::Queue }
}

fn one(n: f64, r: f64, c: f64, tcp: Tcp, controller: &Controller, plant: Plant) -> Loop {
    Loop::new(&OperatingPoint::at(n, r, c, 0.0, tcp).unwrap(), controller, plant).unwrap()
}

/// Park et al. 2004, section 5.1, Table 1, with N = 100, C = 1250 and R seconds.
fn table_1(r: f64) -> Loop {
    one(100.0, r, 1250.0, Tcp::SAWTOOTH, &pid(0.0024, 0.0045, 0.0003), Plant::Exact)
}

/// Hollot's PI at its 160 Hz: N = 60, C = 3750, R = 0.246 s.
fn hollot(plant: Plant) -> Loop {
    let (a, b) = (1.822e-5, 1.816e-5);
    one(60.0, 0.246, 3750.0, Tcp::HALVING, &pid(0.5 * (a + b), (a - b) * 160.0, 0.0), plant)
}

/// Hollot's RED: L = 1.86e-4 behind K = 0.005, for the same network.
fn hollot_red() -> Loop {
    let transfer = Rational::new([1.86e-4], [1.0, 1.0 / 0.005]);
    let controller = Controller { transfer, input: Input::Queue };
    one(60.0, 0.246, 3750.0, Tcp::HALVING, &controller, Plant::Exact)
}

fn close(x: f64, wanted: f64, relative: f64) {
    assert!((x - wanted).abs() <= relative * wanted.abs(), "{x}, not {wanted}");
}

/// Park et al. 2004, eq. 15 and 16, coefficient by coefficient.
#[test]
fn the_characteristic_equation_of_vrc() {
    let (n, r, c, k_d, k_p, k_i) = (100.0, 0.1, 1250.0, 0.001, 0.02, 0.01);
    let (tau1, tau2) = (n / (r * r * c), c * c / (1.5 * n));
    let l = one(n, r, c, Tcp::SAWTOOTH, &pid(k_p, k_i, k_d), Plant::Exact);
    let (p, q, delay) = l.quasi_polynomial().unwrap();
    assert_eq!(delay, r);
    let check = |poly: &Poly, wanted: &[f64]| {
        for (x, w) in poly.coefficients().iter().zip(wanted) {
            assert!((x - w).abs() < 1e-11 * w.abs(), "{poly:?}, not {wanted:?}");
        }
        assert_eq!(poly.coefficients().len(), wanted.len());
    };
    // s^3 + (tau1 + 1/R) s^2 + 2 tau1/R s, and (tau1 + K_D tau2) s^2 + K_P tau2 s + K_I tau2.
    assert!(p.coefficients()[0].abs() < 1e-12);
    check(&Poly::new(&p.coefficients()[1..]), &[2.0 * tau1 / r, tau1 + 1.0 / r, 1.0]);
    check(&q, &[k_i * tau2, k_p * tau2, tau1 + k_d * tau2]);
    let a1 = tau1 + 2.0 / r;
    let a2 = (4.0 * tau1 + k_d * tau2 + 1.0 / r) / r;
    let a3 = (2.0 * tau1 + k_p * tau2 * r) / (r * r);
    let a4 = k_i * tau2 / r;
    check(&l.first_order_lag().unwrap(), &[a4, a3, a2, a1, 1.0]);
}

/// The loop's value is that of eq. 15: `L = Q e^(-sR)/P` where the delay's part of the plant is
/// counted into neither, checked through `F = 0` on the roots.
#[test]
fn the_response_and_the_characteristic_equation_agree() {
    for plant in [Plant::Exact, Plant::Simplified] {
        let l = one(100.0, 0.1, 1250.0, Tcp::SAWTOOTH, &pid(0.0024, 0.0045, 0.0003), plant);
        let (p, q, r) = l.quasi_polynomial().unwrap();
        for s in [Complex64::new(0.1, 3.0), Complex64::new(0.0, 20.0), Complex64::new(-2.0, 7.0)] {
            let window = match plant {
                Plant::Exact => s + 8.0 + 8.0 * (-s * r).exp(),
                Plant::Simplified => s + 16.0,
            };
            let f = (p.at(s) + q.at(s) * (-s * r).exp()) / window;
            assert!((f - l.characteristic(s).0).norm() < 1e-9 * f.norm(), "{s}");
            let slope = (l.characteristic(s + 1e-6).0 - l.characteristic(s - 1e-6).0) / 2e-6;
            assert!((slope - l.characteristic(s).1).norm() < 1e-5 * slope.norm(), "{s}");
        }
    }
    let (rational, delay) = hollot(Plant::Simplified).rational().unwrap();
    let s = Complex64::new(0.0, 1.3);
    let value = rational.at(s) * (-s * delay).exp();
    assert!((value - hollot(Plant::Simplified).response(1.3)).norm() < 1e-12 * value.norm());
}

#[test]
fn the_verdict_in_words() {
    let words = hollot(Plant::Exact).stability().unwrap().to_string();
    assert_eq!(
        words,
        "stable: the slowest mode falls to 2% in 7.328 s without oscillation; the gain may rise 8.702 times, the phase margin is 75.76 degrees (crossover at 0.518 rad/s), and the signal may be delayed by another 2.553 s"
    );
    let words = table_1(0.4).stability().unwrap().to_string();
    assert!(
        words.starts_with("unstable, with 2 roots") && words.contains("would be stable with less than"),
        "{words}"
    );
}

/// Two classes, as the state equations give them when solved at s = 3j by elimination, without this
/// file's formulas (numpy, linalg.solve).
#[test]
fn two_classes_with_marks_and_with_drops() {
    for (signal, wanted) in [
        (Signal::Mark, Complex64::new(-0.4500142595274662, -0.685925349798481)),
        (Signal::Drop, Complex64::new(-0.4133589010658528, -0.7313953780203357)),
    ] {
        let l = two(signal, &pid(2e-4, 4e-4, 0.0));
        let value = l.response(3.0);
        assert!((value - wanted).norm() < 1e-9 * wanted.norm(), "{signal:?}: {value}, not {wanted}");
    }
}

/// 20 flows at 0.09 s and 30 at 0.24 s, p = 0.02, C = 2500.
fn two(signal: Signal, controller: &Controller) -> Loop {
    let window = (1.5_f64 / 0.02).sqrt();
    let admitted = if signal == Signal::Drop { 0.98 } else { 1.0 };
    let share = |flows, rtt| crate::network::Share {
        flows,
        rtt,
        window,
        congestion: Tcp::SAWTOOTH.into(),
        signaled: (0.02, 1.0),
        waits: true,
        admitted,
    };
    let point = OperatingPoint {
        classes: vec![share(20.0, 0.09), share(30.0, 0.24)],
        capacity: 2500.0,
        queue: 0.0,
        speed: 1.0,
        probability: 0.02,
        arrivals: window * (20.0 / 0.09 + 30.0 / 0.24),
        congestion: Tcp::SAWTOOTH.into(),
        signal,
    };
    Loop::new(&point, controller, Plant::Exact).unwrap()
}

/// python-control 0.10, `stability_margins` on the frequency response with the exact delay.
#[test]
fn margins_as_python_control_has_them() {
    for (name, l, gain, phase_degrees, at, crossover) in [
        ("VRC", table_1(0.1), 4.857298, 94.551507, 22.130796, 0.29458296),
        ("PI", hollot(Plant::Exact), 8.701868, 75.763420, 3.5566394, 0.51796434),
        ("PI, simplified", hollot(Plant::Simplified), 8.800927, 75.446611, 3.4980294, 0.51963915),
        ("RED", hollot_red(), 45.168853, 88.845775, 1.0203751, 0.05021829),
        ("marks", two(Signal::Mark, &pid(2e-4, 4e-4, 0.0)), 4.441568, 61.745523, 8.703152, 2.4818362),
        ("drops", two(Signal::Drop, &pid(2e-4, 4e-4, 0.0)), 6.358401, 64.350734, 9.774858, 2.5523020),
    ] {
        let m = l.margins().unwrap();
        close(m.gain.unwrap(), gain, 2e-4);
        close(m.phase.unwrap().to_degrees(), phase_degrees, 2e-4);
        close(*m.crossovers.last().unwrap(), crossover, 2e-4);
        assert!(m.phase_crossovers.iter().any(|w| (w / at - 1.0).abs() < 2e-4), "{name}: {m:?}");
    }
}

/// Park et al. 2004, section 5.4.2: where eq. 15 itself loses its stability, 0.280 s for VRC and 0.242 s for
/// PI.
#[test]
fn the_exact_critical_delays() {
    let pi = |r| one(100.0, r, 1250.0, Tcp::SAWTOOTH, &pid(0.0024, 0.0045, 0.0), Plant::Exact);
    assert!(table_1(0.2795).stable() && !table_1(0.2805).stable());
    assert!(pi(0.2415).stable() && !pi(0.2425).stable());
    assert_eq!(pi(0.2425).unstable_roots(), Ok(2));
}

/// At its margins a loop has roots on the axis: just before them it is stable, just behind not.
#[test]
fn margins_are_where_the_verdict_changes() {
    let drops = two(Signal::Drop, &pid(2e-4, 4e-4, 0.0));
    for l in [table_1(0.1), table_1(0.2), hollot(Plant::Exact), hollot(Plant::Simplified), drops] {
        let m = l.margins().unwrap();
        let (gain, delay) = (m.gain.unwrap(), m.delay.unwrap());
        assert!(l.stable());
        assert!(l.with_gain(gain * 0.9999).stable() && !l.with_gain(gain * 1.0001).stable(), "{m:?}");
        assert!(l.with_delay(delay * 0.9999).stable() && !l.with_delay(delay * 1.0001).stable(), "{m:?}");
        // Of the loop made unstable, the gain margin leads back.
        let back = l.with_gain(gain * 2.0).margins().unwrap();
        close(back.gain.unwrap(), 0.5, 1e-9);
        assert!(back.phase.unwrap() < 0.0 && back.delay.is_none());
    }
}

/// Of an unstable loop the phase margin is a lead, also where the delay has turned it by more than a half turn since
/// it was stable.
#[test]
fn the_phase_margin_of_an_unstable_loop_is_a_lead() {
    let l = hollot(Plant::Exact);
    let m = l.margins().unwrap();
    let &[w] = &m.crossovers[..] else { panic!("{m:?}") };
    for turned in [1.0, 2.0, 3.0, 4.0, 5.0, 6.0] {
        let turned_to = l.with_delay((m.phase.unwrap() + turned) / w).margins().unwrap();
        close(turned_to.phase.unwrap(), -turned, 1e-6);
        assert!(turned_to.delay.is_none());
    }
}

/// With a resonance the gain crosses 1 three times, and it is the last, not the one with the smallest
/// phase margin, whose delay is the shortest: the first delay, in steps of a thousandth, at which the
/// loop is unstable, says so too.
#[test]
fn the_delay_margin_of_several_crossovers() {
    let peak = Rational::new([900.0], [900.0, 0.2, 1.0]);
    let slow = pid(1.8e-5, 1e-5, 0.0);
    let controller = Controller { transfer: &slow.transfer * &peak, ..slow };
    let l = one(60.0, 0.246, 3750.0, Tcp::HALVING, &controller, Plant::Exact);
    let l = l.with_gain(1.05 / l.response(30.0).norm());
    let m = l.margins().unwrap();
    assert_eq!(m.crossovers.len(), 3, "{m:?}");
    let delay = m.delay.unwrap();
    let first = (PI + l.response(m.crossovers[0]).arg()).rem_euclid(TAU) / m.crossovers[0];
    assert!(delay < 0.2 * first, "{delay} {first}");
    let lost = (1..).map(|i| f64::from(i) * 1e-3).find(|&d| !l.with_delay(d).stable()).unwrap();
    assert!(l.stable() && lost > delay && lost - delay <= 1e-3, "{lost} {delay}");
    assert!(l.with_delay(delay * 0.9999).stable() && !l.with_delay(delay * 1.0001).stable());
}

/// The slowest modes, beside roots of eq. 15 that scipy.optimize.root found from a grid of starts.
#[test]
fn the_slowest_mode() {
    let mode = table_1(0.1).mode().unwrap();
    close(mode.root.re, -0.27089792, 1e-7);
    assert!(mode.period.is_none() && mode.damping == 1.0);
    close(mode.settling.unwrap(), 4.0 / 0.27089792, 1e-7);
    close(hollot(Plant::Exact).mode().unwrap().root.re, -0.54585882, 1e-7);
    // With drops ten times the gain oscillates; the root satisfies F = 0 and counts confirm it.
    let drops = two(Signal::Drop, &pid(1e-3, 2e-3, 0.0));
    let mode = drops.mode().unwrap();
    assert!(mode.root.re < 0.0 && mode.period.is_some(), "{mode:?}");
    assert_eq!(drops.roots_beyond(mode.root.re - 1e-3), Ok(2));
    assert_eq!(drops.roots_beyond(mode.root.re + 1e-3), Ok(0));
    // Unstable: the mode grows and nothing settles.
    let mode = table_1(0.4).mode().unwrap();
    assert!(mode.root.re > 0.0 && mode.damping < 0.0 && mode.settling.is_none(), "{mode:?}");
}

#[test]
fn what_is_refused() {
    let point = OperatingPoint::at(100.0, 0.1, 1250.0, 0.0, Tcp::SAWTOOTH).unwrap();
    let loop_of = |numerator: &[f64], denominator: &[f64]| {
        let transfer = Rational::new(numerator, denominator);
        Loop::new(&point, &Controller { transfer, input: Input::Queue }, Plant::Exact)
    };
    let unstable = loop_of(&[1e-4], &[-0.5, 1.0]).unwrap();
    let e = unstable.margins().unwrap_err().to_string();
    assert!(e.contains("a pole at s = 0.500000 +0.000000j"), "{e}");
    assert_eq!(unstable.unstable_roots(), Ok(1));
    assert!(loop_of(&[0.0, 0.0, 0.0, 1.0], &[1.0]).unwrap_err().to_string().contains("needs a filter"));
    assert!(loop_of(&[f64::NAN], &[1.0]).is_err());
    assert!(loop_of(&[0.0, 1.0], &[0.0, 1.0]).is_err());
    // Too weak to cross: margins without a crossover.
    let m = loop_of(&[1e-6], &[1.0]).unwrap().margins().unwrap();
    assert!(m.phase.is_none() && m.delay.is_none() && m.crossovers.is_empty() && m.gain.unwrap() > 1.0);
}

#[test]
fn bode_is_continuous() {
    let l = table_1(0.1);
    let coarse = l.bode(&[0.01, 300.0]);
    let fine = l.bode(&l.frequencies(2000).unwrap());
    assert!(fine.windows(2).all(|p| (p[1].phase - p[0].phase).abs() < 1.0));
    let last = l.bode(&[0.01, 0.1, 1.0, 7.0, 50.0, 300.0]);
    assert!((coarse[1].phase - last[5].phase).abs() < 1e-9);
    // At 300 rad/s the delay alone has turned it by 30 rad.
    assert!(coarse[1].phase < -30.0, "{coarse:?}");
}

/// The state equations themselves, stepped through time (Heun's method, half a millisecond): once
/// the slowest mode is left, samples obey its recurrence, which gives its growth and period.
fn growth_in_time(signal: Signal, k_p: f64, k_i: f64) -> Complex64 {
    let (classes, c, p, a, h) = ([(20.0, 0.09), (30.0, 0.24)], 2500.0, 0.02, 1.5_f64, 5e-4);
    let window = (a / p).sqrt();
    let arrivals: f64 = classes.iter().map(|(n, r)| n * window / r).sum();
    let (share, direct) = match signal {
        Signal::Mark => (1.0, 0.0),
        Signal::Drop => (1.0 - p, arrivals),
    };
    // W_1, W_2, q and the integral, with the past from before the start in equilibrium.
    let mut past: Vec<[f64; 4]> = vec![[0.0; 4]; 1000];
    past.push([0.0, 0.0, 1.0, 0.0]);
    let probability = |x: &[f64; 4]| k_p * x[2] + x[3];
    let rates = |x: &[f64; 4], late: [&[f64; 4]; 2]| {
        let mut d = [0.0; 4];
        for (i, (n, r)) in classes.iter().enumerate() {
            let tau = 1.0 / (window * r);
            d[i] = -tau * (x[i] + late[i][i])
                - (x[2] - late[i][2]) / (r * r * c)
                - window * window / (a * r) * probability(late[i]);
            d[2] += share * n / r * (x[i] - window / (r * c) * x[2]);
        }
        d[2] -= direct * probability(x);
        d[3] = k_i * x[2];
        d
    };
    for _ in 0..60_000 {
        let k = past.len() - 1;
        let back = |k: usize| [&past[k - 180], &past[k - 480]];
        let x = past[k];
        let first = rates(&x, back(k));
        let guess: [f64; 4] = std::array::from_fn(|i| x[i] + h * first[i]);
        let second = rates(&guess, back(k + 1));
        past.push(std::array::from_fn(|i| x[i] + 0.5 * h * (first[i] + second[i])));
    }
    // y2 = 2 e^(st) cos(wt) y1 - e^(2st) y0, twice.
    let lag = 400;
    let y = |j: usize| past[past.len() - 1 - (3 - j) * lag][2];
    let determinant = y(1) * y(1) - y(2) * y(0);
    let twice_cosine = (y(2) * y(1) - y(3) * y(0)) / determinant;
    let square = (y(2) * y(2) - y(3) * y(1)) / determinant;
    let t = lag as f64 * h;
    Complex64::new(0.5 * square.ln() / t, (0.5 * twice_cosine / square.sqrt()).acos() / t)
}

/// For two classes, with marks and drops, on both sides of the limit.
#[test]
fn the_mode_is_what_time_shows() {
    // Near the limit of 4.44 and 6.36 times the gain, where other modes die out sooner.
    for (signal, limit) in [(Signal::Mark, 4.44), (Signal::Drop, 6.36)] {
        for k in [0.8 * limit, 1.3 * limit] {
            let mode = two(signal, &pid(2e-4 * k, 4e-4 * k, 0.0)).mode().unwrap().root;
            let seen = growth_in_time(signal, 2e-4 * k, 4e-4 * k);
            assert!((mode - seen).norm() < 1e-4 * mode.norm(), "{signal:?} {k}: {mode}, in time {seen}");
            assert_eq!(mode.re > 0.0, k > limit, "{mode}");
        }
    }
}

/// Walton and Marshall 1987: roots of `P + Q e^(-sR)` are those of `P + Q`, plus or minus two at
/// each delay up to R at which a pair crosses, where `|P|^2 - |Q|^2` is 0, by the sign of its slope.
fn walton_marshall(p: &Poly, q: &Poly, r: f64) -> Option<usize> {
    // p(s) p(-s) in powers of s^2 = -w^2.
    let square = |p: &Poly| {
        let mirrored: Vec<f64> =
            p.coefficients().iter().enumerate().map(|(i, c)| if i % 2 == 0 { *c } else { -c }).collect();
        let all = p * &Poly::new(mirrored);
        let even: Vec<f64> = all
            .coefficients()
            .iter()
            .step_by(2)
            .enumerate()
            .map(|(i, c)| if i % 2 == 0 { *c } else { -c })
            .collect();
        Poly::new(even)
    };
    let difference = &square(p) + &square(q).scaled(-1.0);
    let slope = difference.derivative();
    let mut unstable = Routh::of(&(p + q)).ok()?.right as i64;
    for x in difference.roots() {
        if x.re <= 0.0 || x.im.abs() > 1e-9 * x.re {
            continue;
        }
        let w = x.re.sqrt();
        let s = Complex64::new(0.0, w);
        let turn = (-q.at(s) / p.at(s)).arg().rem_euclid(TAU);
        let rises = slope.at(Complex64::new(x.re, 0.0)).re > 0.0;
        let mut delay = turn / w;
        while delay < r {
            if (delay - r).abs() < 1e-6 * r {
                return None;
            }
            unstable += if rises { 2 } else { -2 };
            delay += TAU / w;
        }
    }
    usize::try_from(unstable).ok()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// Two methods without a step in common count the same unstable roots, from stable to far from it,
    /// and the slowest mode found lies on the side that both say.
    #[test]
    fn the_count_agrees_with_walton_and_marshall(
        window in 1.3..60.0_f64,
        rtt in 0.01..0.5_f64,
        flows in 1.0..300.0_f64,
        (k_d, k_p, k_i) in (0.0..2.0_f64, 0.0..3.0_f64, 0.01..3.0_f64),
        pole in prop::option::of(0.2..50.0_f64),
        (exact, drop) in (any::<bool>(), any::<bool>()),
    ) {
        // Gains as shares of those at which the delay alone would make the loop cross.
        let capacity = window * flows / rtt;
        let unit = 1.5 * flows / (capacity * capacity) / rtt;
        let ideal = pid(k_p * unit * 2.0 / rtt, k_i * unit / (rtt * rtt), k_d * unit);
        let controller = match pole {
            Some(p) => Controller { transfer: &ideal.transfer * &Rational::lag(rtt / p), ..ideal },
            None => ideal,
        };
        let plant = if exact { Plant::Exact } else { Plant::Simplified };
        // A derivative without a filter is refused where drops act at once.
        let signal = if drop && pole.is_some() { Signal::Drop } else { Signal::Mark };
        let network = FluidNetwork { signal, ..FluidNetwork::new(flows, rtt, capacity, 100.0) };
        let l = Loop::new(&network.point(0.0, capacity).unwrap(), &controller, plant).unwrap();
        let (p, q, r) = l.quasi_polynomial().unwrap();
        let twin = walton_marshall(&p, &q, r);
        prop_assume!(twin.is_some());
        let count = l.unstable_roots().unwrap();
        prop_assert_eq!(Some(count), twin);
        let mode = l.mode().unwrap();
        prop_assert_eq!(mode.root.re > 0.0, count > 0, "{:?}", mode);
        prop_assert!((p.at(mode.root) + q.at(mode.root) * (-mode.root * r).exp()).norm()
            < 1e-6 * (p.at(mode.root).norm() + q.at(mode.root).norm()));
    }

}

/// 60 flows in two classes with these propagation delays, a share of them in the first, and Hollot's PI times k.
fn joined(share: f64, delays: [f64; 2], signal: Signal, k: f64) -> Loop {
    let network = FluidNetwork {
        classes: vec![
            Class { flows: 60.0 * share, propagation: delays[0] },
            Class { flows: 60.0 * (1.0 - share), propagation: delays[1] },
        ],
        signal,
        ..FluidNetwork::new(1.0, 1.0, 3750.0, 800.0)
    };
    let point = network.point(175.0, 3750.0).unwrap();
    Loop::new(&point, &pid(1.8e-5 * k, 1e-5 * k, 0.0), Plant::Exact).unwrap()
}

/// Two modes that all but meet: conjugates nearer to each other than the lines that enclose them, between which Newton's
/// method stayed on the real axis.
#[test]
fn a_mode_that_is_nearly_double_is_found() {
    let l = joined(0.495, [0.2, 0.2001], Signal::Mark, 2.9645);
    let root = l.mode().unwrap().root;
    assert!(root.im > 0.0 && root.im < 1e-4 * root.norm(), "{root}");
    assert_eq!(l.rightmost().map(|r| (r - root).norm() < 1e-6 * root.norm()), Ok(true));
    // By its gain a pair of conjugates becomes one of real modes: as near to that as numbers tell, on both sides.
    let pair = |k: f64| joined(0.5, [0.2, 0.2], Signal::Mark, k).mode().unwrap().period.is_some();
    let (mut low, mut high) = (0.5, 2.0);
    assert!(pair(low) && !pair(high));
    while high - low > 1e-13 {
        let middle = 0.5 * (low + high);
        if pair(middle) { low = middle } else { high = middle }
    }
    for beside in (-12..=-2).map(|n| 10.0_f64.powi(n)) {
        for k in [low * (1.0 - beside), high * (1.0 + beside)] {
            let l = joined(0.5, [0.2, 0.2], Signal::Mark, k);
            let (Mode { root, period, .. }, other) = (l.mode().unwrap(), l.rightmost().unwrap());
            // A double root is known to the square root of the rounding.
            assert!((root - other).norm() < 1e-6 * root.norm(), "{k}: {root} {other}");
            assert_eq!(l.roots_beyond(root.re + 1e-6 * root.norm()), Ok(0), "{k}: {root}");
            let left = l.roots_beyond(root.re - 1e-6 * root.norm()).unwrap();
            assert!(left > 0 && (period.is_none() || left == 2), "{k}: {root} {left}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, ..ProptestConfig::default() })]

    /// Classes of one round-trip time are one class, and two that hardly differ nearly one.
    #[test]
    fn classes_join(share in 0.05..0.95_f64, drop: bool, k in 0.1..3.0_f64) {
        let signal = if drop { Signal::Drop } else { Signal::Mark };
        let apart = 1e-4;
        let loop_of = |delays| joined(share, delays, signal, k);
        let (same, near) = (loop_of([0.2, 0.2]), loop_of([0.2, 0.2 + apart]));
        for w in [0.1, 1.0, 10.0] {
            prop_assert!((same.response(w) - near.response(w)).norm() < 1e-2 * same.response(w).norm());
        }
        prop_assert_eq!(same.unstable_roots(), near.unstable_roots());
        // Let own_i be the characteristic of a class's windows and n_i its share of the flows, and o the characteristic
        // at the mean delay, from which own_i differs by d_i, with n_1 d_1 + n_2 d_2 = 0. All else in F is a mean over
        // the classes, so that F = n_1 g_1/own_1 + n_2 g_2/own_2 becomes, without its poles,
        // `F own_1 own_2 = G (o + d_1 + d_2) + O(d^2)`, where G is that of one class with the mean delay. Its roots are
        // those of G, and one of windows that drift apart, which lies as far from the first class's own mode as the
        // mean does from the second's.
        let mean = loop_of([0.2 + apart * (1.0 - share); 2]).mode().unwrap().root;
        let own: Vec<f64> = near.classes.iter().map(|c| c.slowest().unwrap().re).collect();
        let drift = (1.0 - share) * own[0] + share * own[1];
        let mode = near.mode().unwrap().root;
        // The delays, and so own_i, are 4e-4 apart. A mode moves by the order of the square of that, and where one of
        // G meets the drift, by the root of the square: 1e-4 in 11 000 draws. Two of G meet only left of the drift.
        let error = (mode.re - mean.re.max(drift)).abs();
        prop_assert!(error < 2e-3 * mode.norm(), "{} {} {}", mode, mean, drift);
    }
}

/// A PI on networks of every congestion control: CUBIC's windows by the cubic function and as Reno's, Prague's above
/// and below its 25 ms.
fn of_every_kind() -> Vec<(&'static str, Loop)> {
    let at = |name: &'static str, n, r, c, k_p: f64, z: f64, plant| {
        let law = Congestion::named(name).unwrap();
        (name, one_of(OperatingPoint::at(n, r, c, 0.0, law).unwrap(), &pid(k_p, k_p * z, 0.0), plant))
    };
    let mut all = Vec::new();
    for plant in [Plant::Exact, Plant::Simplified] {
        all.extend([
            at("reno", 20.0, 0.14, 2500.0, 1e-5, 0.5, plant),
            at("cubic", 20.0, 0.14, 2500.0, 1e-5, 0.5, plant),
            at("cubic", 5.0, 0.14, 2500.0, 1e-6, 0.1, plant),
            at("dctcp", 20.0, 0.14, 2500.0, 1e-4, 0.5, plant),
            at("prague", 20.0, 0.14, 2500.0, 1e-4, 0.5, plant),
            at("prague", 10.0, 0.015, 10000.0, 1e-4, 0.5, plant),
        ]);
    }
    all
}

fn proportional(k_p: f64) -> Controller {
    Controller { transfer: Rational::new([k_p], [1.0]), input: Input::Queue }
}

fn one_of(point: OperatingPoint, controller: &Controller, plant: Plant) -> Loop {
    Loop::new(&point, controller, plant).unwrap()
}

/// F and its slope, the bounds on pieces of the axis, and the characteristic equation of every law.
#[test]
fn every_law_has_one_loop_in_all_its_forms() {
    for (name, l) in of_every_kind() {
        for s in [Complex64::new(0.3, 2.0), Complex64::new(0.0, 9.0), Complex64::new(-0.4, 5.0)] {
            let slope = (l.characteristic(s + 1e-6).0 - l.characteristic(s - 1e-6).0) / 2e-6;
            assert!((slope - l.characteristic(s).1).norm() < 1e-5 * slope.norm(), "{name} {s}");
            let (p, q, r) = l.quasi_polynomial().unwrap();
            let c = l.classes[0];
            let lag = if c.share == 0.0 { Complex64::ONE } else { s + c.filter };
            let f = (p.at(s) + q.at(s) * (-s * r).exp()) / (c.motion(l.plant, s).0 * lag);
            assert!((f - l.characteristic(s).0).norm() < 1e-9 * f.norm(), "{name} {s}");
            let bend = (l.characteristic(s + 1e-6).1 - l.characteristic(s - 1e-6).1) / 2e-6;
            assert!((bend - l.curvature(s)).norm() < 1e-5 * bend.norm(), "{name} {s}");
            let (here, v) = (l.values(s), l.bounds(s.re, s.im, s.im + 0.01).unwrap());
            for i in 0..=10 {
                let at = s + Complex64::new(0.0, 1e-3 * f64::from(i));
                let there = l.values(at);
                let (after, before) = (l.values(at + 1e-6), l.values(at - 1e-6));
                let bends = |x: Complex64, y: Complex64, bound: f64| {
                    (x - y).norm() / 2e-6 > bound * (1.0 + 1e-9) + 1e-5 * x.norm()
                };
                assert!(
                    !bends(after.de, before.de, v.dde) && !bends(after.db, before.db, v.ddb),
                    "{name} {s}"
                );
                let over = |x: Complex64, bound: f64| x.norm() > bound * (1.0 + 1e-9);
                assert!(!over(there.b, v.b) && !over(there.db, v.db), "{name} {s}");
                assert!(!over(there.e, v.e) && !over(there.de, v.de), "{name} {s}");
            }
            assert!(here.b.is_finite());
        }
        if let Some((rational, delay)) = l.rational() {
            let s = Complex64::new(0.0, 1.3);
            let value = rational.at(s) * (-s * delay).exp();
            assert!((value - l.response(1.3)).norm() < 1e-12 * value.norm(), "{name}");
        } else {
            assert_eq!(l.plant, Plant::Exact);
        }
    }
}

/// At the margins of every law the count of its roots changes, and at its slowest mode.
#[test]
fn every_law_changes_its_verdict_at_its_margins() {
    for (name, l) in of_every_kind() {
        let m = l.margins().unwrap_or_else(|e| panic!("{name}: {e}"));
        let (gain, delay) = (m.gain.unwrap(), m.delay.unwrap());
        assert!(l.stable(), "{name}: {m:?}");
        assert!(l.with_gain(gain * 0.9999).stable() && !l.with_gain(gain * 1.0001).stable(), "{name}: {m:?}");
        assert!(
            l.with_delay(delay * 0.9999).stable() && !l.with_delay(delay * 1.0001).stable(),
            "{name}: {m:?}"
        );
        for k in [1.0, 1.5 * gain] {
            let l = l.with_gain(k);
            let root = l.mode().unwrap().root;
            let size = 1e-3 * root.norm();
            assert_eq!(l.roots_beyond(root.re + size), Ok(0), "{name} {root}");
            assert!(l.roots_beyond(root.re - size).unwrap() > 0, "{name} {root}");
        }
    }
}

/// Prague's flows below 25 ms keep their rate as the queue grows: alone, flows and queue integrate.
#[test]
fn prague_s_rate_does_not_yield_to_a_short_queue() {
    let plant = |r| {
        let point = OperatingPoint::at(10.0, r, 10000.0, 0.0, Congestion::named("prague").unwrap()).unwrap();
        one_of(point, &proportional(1e-4), Plant::Exact).plant_response(1e-6).norm()
    };
    assert!(plant(0.015) > 1e4 * plant(0.1), "{} {}", plant(0.015), plant(0.1));
}

/// CUBIC's windows at a round-trip time of many times K grow by themselves, and have no margins.
#[test]
fn windows_that_grow_by_themselves_have_no_margins() {
    let point =
        |r: f64| OperatingPoint::at(1.0, r, 400.0 / r, 0.0, Congestion::named("cubic").unwrap()).unwrap();
    let slow = one_of(point(0.5), &proportional(1e-9), Plant::Exact);
    assert!(slow.margins().is_ok() && slow.stable());
    let far = one_of(point(200.0), &proportional(1e-12), Plant::Exact);
    assert!(far.unstable_roots().unwrap() > 0);
    let e = far.margins().unwrap_err().to_string();
    assert!(e.contains("the windows themselves have"), "{e}");
}
