use proptest::prelude::*;
use quell_aqm::catalog::CATALOG;
use quell_aqm::part::Weight;
use quell_aqm::pid::PidParams;
use quell_aqm::red::RedParams;
use quell_units::{BitRate, Bytes, Duration, QueueSize};

use super::digits::{round, round_down, round_up};
use super::*;
use crate::congestion::{Congestion, Signal, Tcp};
use crate::linear::Loop;
use crate::network::{Class, Coupling, Scalables};
use crate::rules::reach::{Beyond, robustness};

/// 15 Mbit/s in packets of 500 bytes, 60 flows, 246 ms: Hollot's network.
fn target() -> Target {
    Target::new(BitRate::from_bps(15_000_000), Bytes::new(500), Duration::from_millis(246), 60.0)
}

fn close(x: f64, wanted: f64, relative: f64) {
    assert!((x - wanted).abs() <= relative * wanted.abs(), "{x}, not {wanted}");
}

/// Every rule gives parameters that build, have the equilibrium they should and are stable with the exact
/// delay, for marks and for drops.
#[test]
fn every_design_is_stable_on_its_network() {
    for signal in [Signal::Mark, Signal::Drop] {
        for name in DESIGNED {
            // AVQ has a stable phi only where windows are small.
            let target = match name.starts_with("avq") {
                true => Target { signal, flows: 450.0, ..target() },
                false => Target { signal, ..target() },
            };
            let d = design(name, &target).unwrap_or_else(|e| panic!("{name}: {e}"));
            assert_eq!(d.config.name(), *name);
            d.config.build(&d.link).unwrap();
            let s = &d.analysis.stability;
            // Adaptive RED's automatic setting does not ask for R.
            if *name != "ared" {
                assert!(s.stable(), "{name} {signal:?}: {s:?}");
            }
            assert!(!d.assumptions.is_empty());
            let point = &d.analysis.equilibrium.point;
            close(point.classes[0].rtt, 0.246, if name.contains("red") { 0.3 } else { 1e-9 });
        }
    }
}

/// Networks of other sizes, where windows are large and corners, zeros and modes lie close together.
#[test]
fn designs_from_a_megabit_to_ten_gigabits() {
    for (flows, megabits, rtt) in [(2.0, 1, 100), (20.0, 1000, 100), (1000.0, 10_000, 50), (5.0, 10, 500)] {
        let rate = BitRate::from_bps(megabits * 1_000_000);
        let target = Target::new(rate, Bytes::new(1000), Duration::from_millis(rtt), flows);
        for name in ["red", "ap-red", "pi", "pid", "vrc", "dred", "rem", "hred"] {
            let d = design(name, &target).unwrap_or_else(|e| panic!("{name} {megabits}: {e}"));
            assert!(d.analysis.stability.stable(), "{name} {megabits}: {:?}", d.analysis.stability);
            robustness(&d.config, &d.link, &d.network).unwrap();
        }
    }
}

/// RFC 9332's gains, from 10 to 1000 Mbit/s and 60 to 200 ms: stable with Classic flows alone, and in one queue with
/// scalable ones beside them. With a queue of their own those do not yield to the queue: two of either kind at 100
/// Mbit/s and 100 ms swing, as packets do there (docs/theory.md).
#[test]
fn the_gains_of_rfc_9332_are_stable_but_for_few_flows_that_come_first() {
    for (flows, megabits, rtt) in [(5.0, 10, 100), (2.0, 100, 100), (50.0, 100, 60), (500.0, 1000, 200)] {
        for scalables in [None, Some((flows, "prague")), Some((flows, "dctcp"))] {
            let target = Target {
                scalables: scalables.map(|(n, name)| (n, Congestion::named(name).unwrap())),
                signal: Signal::Drop,
                ..Target::new(
                    BitRate::from_bps(megabits * 1_000_000),
                    Bytes::new(1500),
                    Duration::from_millis(rtt),
                    flows,
                )
            };
            for name in ["pi2", "dualpi2"] {
                let d = design(name, &target).unwrap_or_else(|e| panic!("{name} {megabits}: {e}"));
                let s = &d.analysis.stability;
                println!("{name} {megabits} Mbit/s {rtt} ms {flows} {scalables:?}: {:?}", s.margins.gain);
                let few = flows == 2.0 && name == "dualpi2" && scalables.is_some();
                assert_eq!(s.stable(), !few, "{name} {megabits} {scalables:?}: {s:?}");
            }
        }
    }
}

/// Their own target is as long as this round trip: a quarter of the buffer is held instead.
#[test]
fn the_gains_of_rfc_9332_suit_short_round_trips() {
    let short =
        Target::new(BitRate::from_bps(100_000_000), Bytes::new(1000), Duration::from_millis(20), 10.0);
    for name in ["pi2", "dualpi2"] {
        let d = design(name, &short).unwrap_or_else(|e| panic!("{name}: {e}"));
        assert!(d.analysis.stability.stable(), "{name}: {:?}", d.analysis.stability);
    }
}

#[test]
fn parameters_have_six_digits() {
    assert_eq!(round(15.999_999_999_999_998), 16.0);
    assert_eq!(round(1.234_565_4e-7), 1.23457e-7);
    assert_eq!((round_up(1.234_561), round_down(1.234_569)), (1.23457, 1.23456));
    assert_eq!((round_up(0.5), round_down(0.5)), (0.5, 0.5));
    let d = design("vrc", &target()).unwrap();
    let AqmConfig::Vrc(params) = &d.config else { panic!("{:?}", d.config) };
    for x in [params.alpha, params.beta, params.gamma].into_iter().flatten() {
        assert!(format!("{x:e}").split('e').next().unwrap().len() <= 7, "{x}");
    }
}

/// By Hollot's example, z = 0.529 and the crossover at z.
#[test]
fn pi_is_hollots() {
    let d = design("pi", &target()).unwrap();
    let AqmConfig::Pi(params) = &d.config else { panic!("{:?}", d.config) };
    let (a, b) = params.gains(&d.link).unwrap();
    close(a, 1.822e-5, 0.02);
    close(b, 1.816e-5, 0.02);
    let halving = design("pi", &Target { congestion: Tcp::HALVING.into(), ..target() }).unwrap();
    close(halving.analysis.stability.margins.crossovers[0], 0.529, 0.03);
    assert_eq!(halving.warnings, Vec::<String>::new());
}

/// Hollot's RED: with L = 1.86e-4 the filter is 0.005; here L follows from the queue to hold.
#[test]
fn red_meets_its_own_criterion() {
    let d = design("red", &target()).unwrap();
    let hollot = d.analysis.criteria.iter().find(|c| c.statement.starts_with("Hollot")).unwrap();
    // But for the sixth digit of the average's memory and of max_p, both sides are equal.
    assert!(hollot.holds, "{hollot:?}");
    close(hollot.left, hollot.right, 1e-5);
    close(d.analysis.equilibrium.point.queue, target().queue(), 1e-5);
    let d = design("ap-red", &target()).unwrap();
    assert!(d.analysis.criteria[0].holds, "{:?}", d.analysis.criteria);
}

/// Park et al. 2004, Table 1 on its network: the edge in R is the exact critical delay, but for the rate's
/// memory; more flows than p = 1 allows have no equilibrium.
#[test]
fn how_far_vrc_reaches() {
    let link = Link {
        rate: BitRate::from_bps(10_000_000),
        buffer: QueueSize::Packets(200.0),
        mean_packet: Bytes::new(1000),
    };
    let network = FluidNetwork::new(100.0, 0.12, 1250.0, 200.0);
    let pi = AqmConfig::Pid(PidParams {
        k_d: 0.0,
        derivative_memory: Duration::from_millis(1),
        ..Default::default()
    });
    let [flows, capacity, rtt] = robustness(&pi, &link, &network).unwrap();
    close(flows.now, 100.0, 1e-12);
    close(rtt.now, 0.16, 1e-9);
    let rtt_words = rtt.to_string();
    let edge = rtt.above.unwrap();
    close(edge.at, 0.24221073, 1e-6);
    assert_eq!(edge.beyond, Beyond::Unstable);
    // p = 1.5 (N/(RC))^2 <= 1.
    let edge = rtt.below.unwrap();
    close(edge.at, 1.5_f64.sqrt() * 100.0 / 1250.0, 1e-6);
    assert!(matches!(edge.beyond, Beyond::NoEquilibrium(_)));
    assert!(
        rtt_words.starts_with(
            "R = 0.160 s; it may fall to 9.80e-2 (0.612 times), beyond which there is no equilibrium ("
        ),
        "{rtt_words}"
    );
    assert!(
        rtt_words.ends_with("; it may rise to 0.242 (1.514 times), beyond which the loop is unstable"),
        "{rtt_words}"
    );
    let edge = flows.above.unwrap();
    close(edge.at, 0.16 * 1250.0 / 1.5_f64.sqrt(), 1e-6);
    let edge = flows.below.unwrap();
    close(edge.at, 46.56673524, 1e-6);
    assert_eq!(edge.beyond, Beyond::Unstable);
    assert!(capacity.above.unwrap().factor > 1.1);
    // From few flows on, the loop is unstable up to the same number.
    let few = FluidNetwork::new(0.2, 0.12, 1250.0, 200.0);
    let edge = robustness(&pi, &link, &few).unwrap()[0].above.clone().unwrap();
    close(edge.at, 46.56673524, 1e-6);
    close(edge.factor, 46.56673524 / 0.2, 1e-6);
    assert_eq!(edge.beyond, Beyond::Stable);
}

/// RED without an average is analyzed like any other.
#[test]
fn red_with_a_weight_of_one() {
    let config = AqmConfig::Red(RedParams {
        weight: Weight::Value(1.0),
        min_th: QueueSize::Packets(20.0),
        max_th: QueueSize::Packets(180.0),
        ..Default::default()
    });
    let network = target().network(100.0).unwrap();
    let a = analyze(&config, &target().link(), &network, Plant::Exact).unwrap();
    assert!(!a.stability.stable());
    assert!(a.criteria.iter().all(|c| !c.holds), "{:?}", a.criteria);
}

/// Its slowest mode lies near the estimate of marks of the longest path, far below the algorithm's frequencies.
#[test]
fn a_mode_far_below_the_algorithm_s_frequencies_is_found() {
    let link = Link {
        rate: BitRate::from_bps(717_743_119),
        buffer: QueueSize::Packets(300.0),
        mean_packet: Bytes::new(1000),
    };
    let classes = [
        (49.28522148, 0.11362060),
        (158.82936539, 0.03248617),
        (98.85156827, 0.07778338),
        (153.79509221, 0.49803319),
    ];
    let network = FluidNetwork {
        classes: classes.iter().map(|&(flows, propagation)| Class { flows, propagation }).collect(),
        signal: Signal::Drop,
        scalables: Some(Scalables {
            from: 2,
            congestion: Congestion::named("dctcp").unwrap(),
            coupling: Coupling::default(),
        }),
        ..FluidNetwork::new(1.0, 1.0, link.capacity(), 300.0)
    };
    let avq = (catalog::find("avq").unwrap().default)();
    let s = analyze(&avq, &link, &network, Plant::Exact).unwrap().stability;
    assert!(s.stable() && (-0.09750..-0.09742).contains(&s.mode.root.re), "{s}");
}

/// An unstable loop stays so with less gain, down to a billionth.
fn no_less_gain_is_stable(control: &Loop) -> bool {
    (1..=90).all(|tenths| !control.with_gain(10f64.powf(-f64::from(tenths) / 10.0)).stable())
}

/// One Prague flow beside one Reno flow on long ways: two algorithms are far too quick for them, and say how much.
#[test]
fn an_unstable_loop_names_the_gain_below_which_it_is_stable() {
    let link = Link {
        rate: BitRate::from_bps(582_200_000),
        buffer: QueueSize::Packets(300.0),
        mean_packet: Bytes::new(1000),
    };
    let network = FluidNetwork {
        classes: [(1.0, 0.328), (1.0, 0.005)]
            .iter()
            .map(|&(flows, propagation)| Class { flows, propagation })
            .collect(),
        signal: Signal::Mark,
        scalables: Some(Scalables {
            from: 1,
            congestion: Congestion::named("prague").unwrap(),
            coupling: Coupling::default(),
        }),
        ..FluidNetwork::new(1.0, 1.0, link.capacity(), 300.0)
    };
    for (name, gain) in [("rem", 3.791e-5), ("dred", 5.639e-7)] {
        let config = (catalog::find(name).unwrap().default)();
        let a = analyze(&config, &link, &network, Plant::Exact).unwrap();
        let k = a.stability.margins.gain.unwrap();
        assert!(!a.stability.stable() && (k / gain - 1.0).abs() < 1e-3, "{name}: {}", a.stability);
        let stable = |factor: f64| a.control.with_gain(factor * k).stable();
        assert!(stable(0.01) && stable(0.999) && !stable(1.001) && !stable(100.0), "{name}");
    }
}

#[test]
fn what_is_refused() {
    let e = design("pi", &Target { mean_packet: Bytes::new(0), ..target() }).unwrap_err().to_string();
    assert!(e.starts_with("size of packets = 0 bytes: must be positive"), "{e}");
    let e = design("blue", &target()).unwrap_err().to_string();
    assert!(e.contains("Quell has no rule for its parameters") && e.contains("hred"), "{e}");
    let e = design("codel", &target()).unwrap_err().to_string();
    assert!(e.contains("follow from documents") && e.contains("hred"), "{e}");
    let e = design("blau", &target()).unwrap_err().to_string();
    assert!(e.contains("no algorithm has that name"), "{e}");
    let crowded = Target { flows: 1e5, ..target() };
    let e = design("pi", &crowded).unwrap_err().to_string();
    assert!(e.contains("signal probability p"), "{e}");
    let e = design("avq", &target()).unwrap_err().to_string();
    assert!(e.contains("p = 1 - Cv/r is too steep"), "{e}");
    let e =
        design("vrc", &Target { queue: Some(1e4), buffer: Some(2e4), ..target() }).unwrap_err().to_string();
    assert!(e.contains("request a smaller queue"), "{e}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// Whatever the network, an algorithm with its defaults is analyzed or refused for a reason that
    /// is the network's; no count and no mode is given up.
    #[test]
    fn every_network_has_an_answer(
        classes in prop::collection::vec((1.0..200.0_f64, 0.005..0.5_f64), 1..5),
        megabits in 1.0..1000.0_f64,
        drop: bool,
        which in 0..CATALOG.len(),
        scalable in prop::option::of(prop::sample::select(vec!["dctcp", "prague"])),
    ) {
        let link = Link {
            rate: BitRate::from_bps((megabits * 1e6) as u64),
            buffer: QueueSize::Packets(300.0),
            mean_packet: Bytes::new(1000),
        };
        let network = FluidNetwork {
            classes: classes.iter().map(|&(flows, propagation)| Class { flows, propagation }).collect(),
            signal: if drop { Signal::Drop } else { Signal::Mark },
            scalables: scalable.filter(|_| classes.len() > 1).map(|name| Scalables {
                from: classes.len() / 2,
                congestion: Congestion::named(name).unwrap(),
                coupling: Coupling::default(),
            }),
            ..FluidNetwork::new(1.0, 1.0, link.capacity(), 300.0)
        };
        match analyze(&(CATALOG[which].default)(), &link, &network, Plant::Exact) {
            Ok(a) => {
                let s = &a.stability;
                prop_assert_eq!(s.stable(), s.mode.root.re < 0.0, "{}", s);
                // No factor may change the verdict, of an unstable loop too.
                prop_assert!(match s.margins.gain {
                    Some(k) => s.stable() == (k > 1.0),
                    None => s.stable() || no_less_gain_is_stable(&a.control),
                }, "{}", s);
            }
            Err(e) => prop_assert!(
                matches!(e, TheoryError::NoModel { .. } | TheoryError::NoEquilibrium { .. } | TheoryError::Quantity { .. } | TheoryError::Parameter(_)),
                "{}: {e}", CATALOG[which].name
            ),
        }
    }
}

/// PI for every congestion control, with margins; the published rules are refused for other windows than Reno's.
#[test]
fn pi_is_shaped_for_every_window() {
    let mean_packet = Bytes::new(1000);
    for (rate, rtt, flows) in [(20_000_000, 140, 20.0), (20_000_000, 140, 5.0), (80_000_000, 15, 10.0)] {
        for name in Congestion::NAMES {
            let target = Target {
                congestion: Congestion::named(name).unwrap(),
                queue: Some(30.0),
                ..Target::new(BitRate::from_bps(rate), mean_packet, Duration::from_millis(rtt), flows)
            };
            let found = design("pi", &target).unwrap();
            let m = &found.analysis.stability.margins;
            assert!(found.analysis.stability.stable(), "{name} {rate} {flows}: {m:?}");
            assert!(
                m.phase.unwrap().to_degrees() > 45.0 && m.gain.unwrap() > 2.0,
                "{name} {rate} {flows}: {m:?}"
            );
            assert!(found.warnings.iter().all(|w| !w.contains("margin")), "{:?}", found.warnings);
        }
    }
    let cubic = Target { congestion: Congestion::named("cubic").unwrap(), ..target() };
    for name in DESIGNED.iter().filter(|name| !["pi", "pi2", "dualpi2"].contains(name)) {
        let e = design(name, &cubic).unwrap_err().to_string();
        assert!(e.contains("congestion = \"cubic\": must be \"reno\""), "{name}: {e}");
    }
}
