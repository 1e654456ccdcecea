//! The theory's verdict on the algorithms at a bottleneck, and the packets' answer to it.

use quell_aqm::catalog::AqmConfig;
use quell_aqm::dualpi2::Overload;
use quell_metrics::{LinkSeries, Results};
use quell_theory::fluid::{Fluid, Options};
use quell_theory::models::AnyModel;
use quell_theory::rules::analysis::{Analysis, analyze};
use quell_theory::rules::criteria::Criterion;
use quell_theory::rules::reach::{Reach, robustness};
use quell_theory::{FluidNetwork, Loop, Plant, Scalables, Share, Signal, Stability, TheoryError};
use quell_units::text::{duration as time, three_digits as short};
use serde::Serialize;

use crate::bottleneck::Bottleneck;
use crate::oscillation::{Motion, Oscillation, SETTLED};

/// The linear model's verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prediction {
    /// Every disturbance dies out.
    Stable,
    /// Some grow.
    Unstable,
    /// The network and the algorithm have no equilibrium.
    NoEquilibrium,
    /// The algorithm has no continuous form.
    NoModel,
}

impl Prediction {
    /// The verdict in a word or two.
    pub fn word(self) -> &'static str {
        match self {
            Prediction::Stable => "stable",
            Prediction::Unstable => "unstable",
            Prediction::NoEquilibrium => "no equilibrium",
            Prediction::NoModel => "no model",
        }
    }
}

/// The theory's verdict on one algorithm at a bottleneck.
#[derive(Clone, Debug, Serialize)]
pub struct Assessment {
    /// The algorithm's label in the scenario.
    pub label: String,
    /// Its name in the catalog.
    pub algorithm: &'static str,
    /// The linear model's verdict.
    pub verdict: Prediction,
    /// The reasons for the verdict and its meaning, in sentences.
    pub reasons: Vec<String>,
    /// Its equilibrium.
    pub equilibrium: Option<Figures>,
    /// The distance from the limit of stability, and the slowest mode.
    pub margins: Option<MarginFigures>,
    /// The published conditions that speak of it.
    pub criteria: Vec<Criterion>,
    /// The range in which N, C and R may each move before the verdict changes, if that was asked.
    pub reach: Vec<Reach>,
    /// The queue of the fluid model from an empty start, with all that the linear one leaves out, if it was
    /// asked and could be followed.
    pub fluid: Option<Swing>,
    /// The queue of simulated packets, if they were asked.
    pub packets: Option<Packets>,
    /// The loop, for diagrams.
    #[serde(skip)]
    pub control: Option<Loop>,
}

/// The equilibrium of a network and an algorithm.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// The queue; where scalable packets have one of their own, the Classic one.
    pub queue_packets: f64,
    /// The time that a packet waits in the queue.
    pub queue_delay_s: f64,
    /// The probability of a signal.
    pub probability: f64,
    /// A flow's window.
    pub window_packets: f64,
    /// The round-trip time, queueing included, as a mean over flows.
    pub rtt_s: f64,
    /// The algorithm's own variables: name, unit, value.
    pub state: Vec<(&'static str, &'static str, f64)>,
}

/// The distance of a loop from the limit of stability.
#[derive(Clone, Debug, Serialize)]
pub struct MarginFigures {
    /// Roots to the right of the imaginary axis.
    pub unstable_roots: usize,
    /// The factor by which the gain may rise; of an unstable loop, to which it must fall.
    pub gain: Option<f64>,
    /// The phase margin in degrees.
    pub phase_deg: Option<f64>,
    /// The smallest further delay that makes it unstable.
    pub delay_s: Option<f64>,
    /// The frequencies at which the gain is 1.
    pub crossovers_rad_per_s: Vec<f64>,
    /// Real part of the slowest mode's root: negative where it dies out.
    pub growth_per_s: f64,
    /// The slowest mode's period, if it has one.
    pub period_s: Option<f64>,
    /// Its damping ratio.
    pub damping: f64,
    /// The time in which it falls to 2%, if it does.
    pub settling_s: Option<f64>,
}

/// The motion of a queue.
#[derive(Clone, Debug, Serialize)]
pub struct Swing {
    /// The kind of motion.
    pub motion: Motion,
    /// Mean queue.
    pub mean_packets: f64,
    /// Standard deviation of the queue.
    pub deviation_packets: f64,
    /// The amplitude of a sine of that deviation over the mean queue; 0 for an empty queue.
    pub swing: f64,
    /// Share of the variance near the strongest frequency.
    pub share: f64,
    /// The period of the strongest frequency; 0 for a queue that does not move.
    pub period_s: f64,
    /// Some of it, for pictures: seconds and packets.
    #[serde(skip)]
    pub series: (Vec<f64>, Vec<f64>),
}

impl Swing {
    /// The swing up to which a queue is settled.
    pub const SETTLED: f64 = SETTLED;

    fn of(o: &Oscillation, series: (Vec<f64>, Vec<f64>)) -> Swing {
        Swing {
            motion: o.motion(),
            mean_packets: o.mean,
            deviation_packets: o.deviation,
            swing: o.swing(),
            share: o.share,
            period_s: o.period,
            series,
        }
    }
}

/// The motion of a simulated queue, and whether it was predicted.
#[derive(Clone, Debug, Serialize)]
pub struct Packets {
    #[serde(flatten)]
    #[allow(missing_docs)]
    pub queue: Swing,
    /// True if the verdict predicted it: stable and settled, or unstable and not settled.
    pub agrees: Option<bool>,
}

/// The window below which a flow that loses a packet has no three duplicates to hear of it by (RFC 5681
/// section 3.2), and waits for a timeout, which the fluid does not know.
const LEAST_WINDOW: f64 = 4.0;

impl Assessment {
    /// Assesses an algorithm at a bottleneck; `reach` also asks how far N, C and R may move.
    ///
    /// # Errors
    /// A parameter breaks a rule, or a quantity of the network is not physical. That there is no equilibrium
    /// or no model is a verdict, not an error.
    pub fn of(
        label: &str,
        config: &AqmConfig,
        bottleneck: &Bottleneck,
        plant: Plant,
        reach: bool,
    ) -> Result<Assessment, TheoryError> {
        let Bottleneck { link, network, .. } = bottleneck;
        network.check()?;
        let mut assessment = Assessment {
            label: label.to_string(),
            algorithm: config.name(),
            verdict: Prediction::NoModel,
            reasons: Vec::new(),
            equilibrium: None,
            margins: None,
            criteria: Vec::new(),
            reach: Vec::new(),
            fluid: None,
            packets: None,
            control: None,
        };
        match analyze(config, link, network, plant) {
            Ok(analysis) => {
                assessment.tell(&analysis, network);
                assessment.reasons.extend(drops(config, analysis.equilibrium.point.probability, network));
                if reach {
                    assessment.reach = robustness(config, link, network)?.to_vec();
                }
            }
            Err(e @ TheoryError::NoModel { .. }) => assessment.reasons.push(e.to_string()),
            Err(e @ (TheoryError::NoEquilibrium { .. } | TheoryError::Quantity { .. })) => {
                assessment.verdict = Prediction::NoEquilibrium;
                assessment.reasons.push(e.to_string());
            }
            Err(e) => return Err(e),
        }
        Ok(assessment)
    }

    /// Writes down what was found.
    fn tell(&mut self, analysis: &Analysis, network: &FluidNetwork) {
        let stable = analysis.stability.stable();
        self.verdict = if stable { Prediction::Stable } else { Prediction::Unstable };
        self.reasons = reasons(analysis, network);
        self.equilibrium = Some(Figures::of(analysis));
        self.margins = Some(MarginFigures::of(&analysis.stability));
        self.criteria = analysis.criteria.clone();
        self.control = Some(analysis.control.clone());
    }

    /// Puts what the packets did beside the verdict: the mean over the seeds of point number `point`, whose
    /// warm-up ends after `from_s` seconds.
    pub fn compare(&mut self, results: &Results, point: usize, link: &str, from_s: f64) {
        let series: Vec<&LinkSeries> = results
            .replications
            .iter()
            .filter(|r| r.point == point && r.algorithm == self.label)
            .filter_map(|r| r.series.iter().find(|s| s.link == link))
            .collect();
        let all: Vec<Oscillation> = series.iter().filter_map(|s| oscillation(s, from_s)).collect();
        let Some(first) = series.first().filter(|_| !all.is_empty()) else {
            let why = "The simulated packets' queue is not judged because it does not move, or because there are too \
                few samples after the warm-up.";
            self.reasons.push(why.into());
            return;
        };
        let mean = |f: fn(&Oscillation) -> f64| all.iter().map(f).sum::<f64>() / all.len() as f64;
        let together = Oscillation {
            period: mean(|o| o.period),
            share: mean(|o| o.share),
            amplitude: mean(|o| o.amplitude),
            mean: mean(|o| o.mean),
            deviation: mean(|o| o.deviation),
        };
        let settled = together.motion() == Motion::Settled;
        let queue = Swing::of(&together, (first.time_s.clone(), first.queue_mean_packets.clone()));
        self.packets = Some(Packets {
            queue,
            agrees: match self.verdict {
                Prediction::Stable => Some(settled),
                Prediction::Unstable => Some(!settled),
                Prediction::NoEquilibrium | Prediction::NoModel => None,
            },
        });
    }

    /// Follows the fluid model from an empty queue for `duration_s` seconds, and looks at its queue from
    /// `from_s` on. Where it cannot be followed to its tolerance nothing was written.
    pub fn follow(&mut self, config: &AqmConfig, bottleneck: &Bottleneck, from_s: f64, duration_s: f64) {
        let Bottleneck { link, network, .. } = bottleneck;
        let shortest = network.classes.iter().map(|c| c.propagation).fold(f64::INFINITY, f64::min);
        let options = Options { sample: shortest / 4.0, ..Options::default() };
        let run = AnyModel::of(config, link, network)
            .and_then(|model| Fluid::new(network.clone(), model)?.run(duration_s, &options));
        let Ok(run) = run else { return };
        let from = run.time.partition_point(|t| *t <= from_s);
        let queue = &run.queue[from..];
        self.fluid = match Oscillation::find(queue, options.sample) {
            Some(found) => Some(Swing::of(&found, (run.time.clone(), run.queue.clone()))),
            // It does not move.
            None => queue.last().map(|&q| Swing {
                motion: Motion::Settled,
                mean_packets: q,
                deviation_packets: 0.0,
                swing: 0.0,
                share: 0.0,
                period_s: 0.0,
                series: (run.time.clone(), run.queue.clone()),
            }),
        };
    }
}

/// The strongest oscillation of a link's queue after `from_s` seconds; `None` if there are too few samples.
fn oscillation(series: &LinkSeries, from_s: f64) -> Option<Oscillation> {
    let [first, second, ..] = series.time_s[..] else { return None };
    let from = series.time_s.partition_point(|t| *t <= from_s);
    Oscillation::find(&series.queue_mean_packets[from..], second - first)
}

impl Figures {
    fn of(Analysis { model, equilibrium, .. }: &Analysis) -> Self {
        let point = &equilibrium.point;
        let flows: f64 = point.classes.iter().map(|c| c.flows).sum();
        let mean = |f: fn(&Share) -> f64| point.classes.iter().map(|c| c.flows * f(c)).sum::<f64>() / flows;
        Figures {
            queue_packets: point.queue / point.speed,
            queue_delay_s: point.queue / point.capacity,
            probability: point.probability,
            window_packets: mean(|c| c.window),
            rtt_s: mean(|c| c.rtt),
            state: model.variables().iter().zip(&equilibrium.state).map(|((n, u), x)| (*n, *u, *x)).collect(),
        }
    }
}

impl MarginFigures {
    fn of(stability: &Stability) -> Self {
        let (margins, mode) = (&stability.margins, &stability.mode);
        MarginFigures {
            unstable_roots: stability.unstable_roots,
            gain: margins.gain,
            phase_deg: margins.phase.map(f64::to_degrees),
            delay_s: margins.delay,
            crossovers_rad_per_s: margins.crossovers.clone(),
            growth_per_s: mode.root.re,
            period_s: mode.period,
            damping: mode.damping,
            settling_s: mode.settling,
        }
    }
}

/// The warning that signals are drops at the equilibrium, where the model has marks.
fn drops(config: &AqmConfig, p: f64, network: &FluidNetwork) -> Option<String> {
    let (from, source) = match config {
        AqmConfig::Pie(pie) => (pie.options().mark_ecnth, "mark_ecnth; RFC 8033 section 5.1"),
        AqmConfig::Pi2(pi2) => (1.0 / (pi2.coupling * pi2.coupling), "1/coupling^2; RFC 9332 Appendix A"),
        AqmConfig::DualPi2(dualpi2) if dualpi2.overload == Overload::Drop => {
            (1.0 / (dualpi2.k * dualpi2.k), "1/k^2; RFC 9332 Appendix A")
        }
        _ => return None,
    };
    (network.signal == Signal::Mark && p > from).then(|| {
        format!(
            "From {} on, it drops packets instead of marking them ({source}), and it signals {}; the model has only \
             marks.",
            short(from),
            short(p)
        )
    })
}

/// The shares of flows of two kinds beside each other.
fn kinds(classes: &[Share], scalables: &Scalables) -> String {
    let (classic, scalable) = classes.split_at(scalables.from);
    let mean = |of: &[Share], f: fn(&Share) -> f64| {
        of.iter().map(|c| c.flows * f(c)).sum::<f64>() / of.iter().map(|c| c.flows).sum::<f64>()
    };
    let rate = |of: &[Share]| mean(of, |c| c.rate() / c.flows);
    let each = |of: &[Share]| {
        format!(
            "a window of {} packets, a round trip of {} and {}% of its packets signaled",
            short(mean(of, |c| c.window)),
            time(mean(of, |c| c.rtt)),
            short(100.0 * mean(of, |c| c.signaled.0))
        )
    };
    format!(
        "A {} flow has {} times the rate of a {} flow: {}, against {}.",
        scalable[0].congestion.name(),
        short(rate(scalable) / rate(classic)),
        classic[0].congestion.name(),
        each(scalable),
        each(classic)
    )
}

/// The verdict in sentences.
fn reasons(analysis: &Analysis, network: &FluidNetwork) -> Vec<String> {
    let Analysis { equilibrium, stability, criteria, .. } = analysis;
    let mut all = Vec::new();
    let (margins, mode) = (&stability.margins, &stability.mode);
    if stability.stable() {
        all.push(match margins.gain {
            Some(gain) => {
                format!("The loop gain may rise by a factor of {} before the loop oscillates.", short(gain))
            }
            None => "No increase of the loop gain alone makes it oscillate.".to_string(),
        });
        if let Some(delay) = margins.delay {
            all.push(format!("It tolerates {} of additional delay.", time(delay)));
        }
        if let Some(settling) = mode.settling {
            let swing =
                mode.period.map_or(String::new(), |t| format!(", oscillating with a period of {}", time(t)));
            all.push(format!("A disturbance decays to 2% in {}{swing}.", time(settling)));
        }
    } else {
        let swing = mode.period.map_or(String::new(), |t| format!(" with a period of {}", time(t)));
        let double = time(std::f64::consts::LN_2 / mode.root.re);
        all.push(format!("A disturbance grows{swing} and doubles every {double}."));
        if let Some(gain) = margins.gain {
            all.push(format!("The loop gain must fall to {} of its value.", short(gain)));
        }
    }
    for c in criteria {
        let meets = if c.holds { "meets" } else { "does not meet" };
        all.push(format!("It {meets} {}: {}.", c.statement, c.reason));
    }
    if let Some(scalables) = &network.scalables {
        all.push(kinds(&equilibrium.point.classes, scalables));
    }
    all.extend(equilibrium.remark.as_deref().map(|r| format!("Equilibrium: {r}.")));
    let window = equilibrium.point.classes.iter().map(|c| c.window).fold(f64::INFINITY, f64::min);
    if window < LEAST_WINDOW {
        all.push(format!(
            "A window of {} packets is too short for fast retransmit (RFC 5681 section 3.2), so timeouts, which the \
             model omits, matter.",
            short(window)
        ));
    }
    if let Some(bend) = analysis.bend().filter(|bend| bend.moved > bend.within) {
        all.push(format!(
            "The verdict holds for swings below {} packets, where the curve bends, but without signals the windows \
             move the average by {} packets per round trip. So the curve acts like a step, around which the queue \
             swings. A linear model cannot say how far; the nonlinear fluid model can (--check).",
            short(bend.within),
            short(bend.moved)
        ));
    }
    if equilibrium.point.queue > 0.0 && equilibrium.point.queue < 1.0 {
        all.push("The queue is shorter than one packet, so the fluid model does not apply.".into());
    }
    if equilibrium.point.queue > 0.95 * network.buffer {
        all.push("The queue's equilibrium is near the end of the buffer, so overflows, which the linear model omits, \
            matter.".into());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shorthand::{Shorthand, changed};
    use quell_lab::{Options, run};
    use quell_scenario::{Plugins, Study};
    use quell_theory::Congestion;

    /// 20 flows, 500 packets/s, 102 ms and 50 packets: R = 0.202 s, W = 5.05, p = 1.5/W^2.
    const SCENARIO: &str = r#"
schema = 1
title = "t"
duration = "40 s"
warmup = "10 s"
seeds = 1
[dumbbell]
rate = "4 Mbit/s"
delay = "10 ms"
buffer = "200 packets"
ecn = true
[[aqm]]
algorithm = "pid"
[[aqm]]
algorithm = "pid"
label = "wild"
k_p = 0.2
[[aqm]]
algorithm = "blue"
[[flows]]
name = "tcp"
count = 20
rtt = "100 ms"
tcp = { ecn = true }
"#;

    fn assess(scenario: &str, reach: bool) -> (Study, Vec<Assessment>) {
        let study = Study::parse(scenario, "t.toml", &Plugins::new()).unwrap();
        let bottleneck = Bottleneck::of_point(&study.points[0], None, None, 1, &Plugins::new()).unwrap();
        let of = |(label, config): &(String, AqmConfig)| {
            Assessment::of(label, config, &bottleneck, Plant::Exact, reach).unwrap()
        };
        let all = bottleneck.algorithms.iter().map(of).collect();
        (study, all)
    }

    #[test]
    fn verdicts_and_their_reasons() {
        let (_, all) = assess(SCENARIO, true);
        let [pid, wild, blue] = &all[..] else { panic!("{all:?}") };
        assert_eq!((pid.verdict, pid.label.as_str(), pid.algorithm), (Prediction::Stable, "pid", "pid"));
        let equilibrium = pid.equilibrium.as_ref().unwrap();
        assert!(
            (equilibrium.window_packets - 5.05).abs() < 1e-9 && (equilibrium.rtt_s - 0.202).abs() < 1e-9,
            "{equilibrium:?}"
        );
        assert!((equilibrium.queue_delay_s - 0.1).abs() < 1e-9, "{equilibrium:?}");
        assert!((equilibrium.probability - 1.5 / (5.05 * 5.05)).abs() < 1e-9, "{equilibrium:?}");
        assert!(pid.reasons[0].starts_with("The loop gain may rise by a factor of "), "{:?}", pid.reasons);
        assert_eq!(pid.margins.as_ref().unwrap().unstable_roots, 0);
        assert!(pid.margins.as_ref().unwrap().growth_per_s < 0.0 && pid.control.is_some());
        // 1.5 (N/(RC))^2 <= 1 bounds the flows from above.
        let most = pid.reach[0].above.as_ref().unwrap();
        assert!((most.at - 0.202 * 500.0 / 1.5_f64.sqrt()).abs() < 1e-4, "{most:?}");

        assert_eq!((wild.verdict, wild.label.as_str()), (Prediction::Unstable, "wild"));
        assert!(wild.reasons[0].starts_with("A disturbance grows with a period of "), "{:?}", wild.reasons);
        assert!(wild.reasons[1].starts_with("The loop gain must fall to "), "{:?}", wild.reasons);
        let margins = wild.margins.as_ref().unwrap();
        assert!(margins.gain.unwrap() < 1.0 && margins.delay_s.is_none() && margins.settling_s.is_none());

        assert_eq!((blue.verdict, blue.reasons.len()), (Prediction::NoModel, 1));
        assert!(blue.equilibrium.is_none() && blue.margins.is_none() && blue.reach.is_empty());
        let (_, all) = assess(SCENARIO, false);
        assert!(all[0].reach.is_empty());
    }

    /// A curve that windows cross within a round trip is said to be a step, with the fluid to follow; a wide one under a
    /// slow average is not.
    #[test]
    fn a_curve_that_is_as_good_as_a_step_is_said() {
        let red =
            |keys: &str| SCENARIO.replacen("algorithm = \"pid\"", &format!("algorithm = \"red\"\n{keys}"), 1);
        let steep =
            "min_th = \"20 packets\"\nmax_th = \"25 packets\"\nmax_p = 1.0\nweight = 1.0\ngentle = false";
        let wide = "min_th = \"20 packets\"\nmax_th = \"180 packets\"\nmax_p = 0.1\nweight = 0.0002";
        let says = |all: &[Assessment], what: &str| all[0].reasons.iter().any(|r| r.contains(what));
        let step = "the curve acts like a step";
        let (study, mut all) = assess(&red(steep), false);
        assert!(says(&all, step), "{:?}", all[0].reasons);
        let bottleneck = Bottleneck::of_point(&study.points[0], None, None, 1, &Plugins::new()).unwrap();
        all[0].follow(&bottleneck.algorithms[0].1.clone(), &bottleneck, 10.0, 40.0);
        assert!(all[0].fluid.is_some(), "an average of one packet is followed");
        let (_, all) = assess(&red(wide), false);
        assert!(all[0].equilibrium.is_some() && !says(&all, step), "{:?}", all[0].reasons);
    }

    /// PIE drops from a probability on that the models do not know.
    #[test]
    fn signals_that_are_drops_are_said() {
        let pie = |keys: &str| {
            let text = SCENARIO.replacen("algorithm = \"pid\"", &format!("algorithm = \"pie\"\n{keys}"), 1);
            let (_, all) = assess(&text, false);
            all[0].reasons.iter().any(|r| r.starts_with("From 0.100 on, it drops packets"))
        };
        assert!(pie("") && !pie("mark_ecnth = 1"));
    }

    /// Too many flows for even a signal on every packet to hold; and a short window.
    #[test]
    fn a_crowd_has_no_equilibrium_and_a_few_less_no_fast_retransmit() {
        let (_, all) = assess(&SCENARIO.replace("count = 20", "count = 300"), true);
        assert_eq!((all[0].verdict, all[0].reasons.len()), (Prediction::NoEquilibrium, 1));
        assert!(all[0].reasons[0].contains("must lie in (0, 1]"), "{:?}", all[0].reasons);
        assert!(all[0].equilibrium.is_none() && all[0].reach.is_empty());
        let (_, all) = assess(&SCENARIO.replace("count = 20", "count = 50"), false);
        let short = |r: &&String| r.contains("A window of 2.02 packets is too short for fast retransmit");
        assert_eq!(all[0].reasons.iter().filter(short).count(), 1, "{:?}", all[0].reasons);
    }

    #[test]
    fn packets_agree_disagree_or_are_not_judged() {
        let (study, mut all) = assess(SCENARIO, false);
        let mut point = study.points[0].clone();
        point.scenario.series_step = Some(quell_units::Duration::from_millis(12));
        let results = run(&study.with_points(vec![point]), &Options::default()).unwrap();
        // A verdict that is not this loop's.
        let mut contrary = all[0].clone();
        contrary.verdict = Prediction::Unstable;
        all.push(contrary);
        for assessment in &mut all {
            assessment.compare(&results, 0, "bottleneck", 10.0);
        }
        let agrees: Vec<Option<bool>> = all.iter().map(|a| a.packets.as_ref().unwrap().agrees).collect();
        assert_eq!(agrees, [Some(true), Some(true), None, Some(false)]);
        let packets = all[0].packets.as_ref().unwrap();
        assert_eq!(packets.queue.motion, Motion::Settled);
        assert!((packets.queue.mean_packets - 50.0).abs() < 5.0, "{packets:?}");
        assert!(
            (packets.queue.swing
                - 2.0_f64.sqrt() * packets.queue.deviation_packets / packets.queue.mean_packets)
                .abs()
                < 1e-9
        );
        // Nothing is left after the end.
        let (_, mut late) = assess(SCENARIO, false);
        late[0].compare(&results, 0, "bottleneck", 39.9);
        assert!(late[0].packets.is_none());
        assert!(late[0].reasons.last().unwrap().starts_with("The simulated packets' queue is not judged"));
    }

    /// Every congestion control under a PI that is shaped for it: packets rest where their fluid does, with the share of
    /// marks that the fluid needs there, and no mode swings. Noise of few flows moves the queue all the same.
    #[test]
    fn packets_of_every_congestion_control_rest_where_their_fluid_does() {
        use quell_theory::rules::design::{Target, design};
        use quell_units::{BitRate, Bytes, Duration};
        let mut apart = Vec::new();
        // Losses at equal distances leave CUBIC a smaller window than those of chance: 14 to 17% (docs/theory.md), which
        // is 37% of the marks.
        for (name, rate, within) in [
            ("reno", 20_000_000, 0.85..1.15),
            ("cubic", 20_000_000, 1.0..1.37),
            ("cubic", 80_000_000, 1.0..1.37),
            ("dctcp", 20_000_000, 0.85..1.15),
            ("prague", 20_000_000, 0.85..1.15),
        ] {
            let flows = 20;
            let target = Target {
                congestion: Congestion::named(name).unwrap(),
                queue: Some(150.0),
                buffer: Some(500.0),
                ..Target::new(
                    BitRate::from_bps(rate),
                    Bytes::new(1000),
                    Duration::from_millis(140),
                    f64::from(flows),
                )
            };
            let pi = design("pi", &target).unwrap();
            let tables = vec![changed(&pi.config).unwrap()];
            let text = Shorthand::of_design(&pi, flows, tables).to_toml().replace("seeds = 3", "seeds = 1");
            let study = Study::parse(&text, "t.toml", &Plugins::new()).unwrap();
            let mut point = study.points[0].clone();
            let bottleneck = Bottleneck::of_point(&point, None, None, 1, &Plugins::new()).unwrap();
            assert_eq!(bottleneck.network.congestion, target.congestion);
            assert!(bottleneck.left_out.is_empty(), "{:?}", bottleneck.left_out);
            point.scenario.series_step = Some(Duration::from_millis(20));
            let results = run(&study.with_points(vec![point]), &Options::default()).unwrap();
            let mut assessment = Assessment::of("pi", &pi.config, &bottleneck, Plant::Exact, false).unwrap();
            assessment.compare(&results, 0, "bottleneck", 60.0);
            let packets = assessment.packets.as_ref().unwrap();
            let series = &results.replications[0].series[0];
            let from = series.time_s.partition_point(|t| *t <= 60.0);
            let seconds = series.time_s[series.time_s.len() - 1] - series.time_s[from - 1];
            let marks = series.marked_packets[from..].iter().sum::<u64>() as f64
                / (seconds * bottleneck.network.capacity);
            let rest = assessment.equilibrium.as_ref().unwrap();
            let (queue, share) = (packets.queue.mean_packets, marks / rest.probability);
            println!("{name}, {rate} bit/s: queue {queue:.1}, marks {marks:.4}, {share:.3} of the fluid's");
            let rests = packets.queue.motion != Motion::Oscillating && (queue - 150.0).abs() < 15.0;
            if !rests || !within.contains(&share) {
                apart.push(format!("{name}: queue {queue}, {share} of the fluid's marks"));
            }
        }
        assert!(apart.is_empty(), "{apart:?}");
    }
}
