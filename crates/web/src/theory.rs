//! What the theory says of a scenario, as `quell analyze` and `quell map` do.

use quell_analysis::{Assessment, Bottleneck, Shown, Variation};
use quell_metrics::Results;
use quell_scenario::{Plugins, Study};
use quell_theory::map::{self as maps, Axis};
use quell_theory::{Loop, Plant, Signal, TheoryError};
use quell_units::text::cut;
use quell_units::{Duration, Time};
use quell_view::picture::{self, Crossing, Locus, Response, Sheet};

use crate::check::point;
use crate::fault::Fault;
use crate::protocol::{Map, MapAxis, MapRequest, MapShown, Numbers, Theory, TheoryLoop, TheoryRequest};

/// Frequencies on a curve.
const FREQUENCIES: usize = 600;

impl From<TheoryError> for Fault {
    fn from(error: TheoryError) -> Fault {
        Fault::request(error.to_string())
    }
}

fn plant(simplified: Option<bool>) -> Plant {
    if simplified.unwrap_or(false) { Plant::Simplified } else { Plant::Exact }
}

pub(crate) fn theory(study: &Study, ask: &TheoryRequest, packets: Option<&Results>) -> Result<Theory, Fault> {
    let number = ask.point.unwrap_or(0);
    let point = point(&study.points, number)?;
    let seed = point.scenario.seeds.list().first().copied().unwrap_or(1);
    let link = ask.link.as_deref();
    let end_s = point.scenario.duration.as_secs_f64();
    let time = match ask.at_s {
        None => Bottleneck::busy_time(point, link, seed)?,
        Some(at) if (0.0..=end_s).contains(&at) => Time::ZERO + Duration::from_secs_f64(at),
        Some(at) => {
            let why = format!("at_s {at}: must lie between 0 and the end of the scenario ({end_s} s)");
            return Err(Fault::request(why));
        }
    };
    let bottleneck = Bottleneck::of_point(point, link, Some(time), seed, &Plugins::new())?;
    let mut assessments = Vec::new();
    for (label, config) in &bottleneck.algorithms {
        let mut found = Assessment::of(label, config, &bottleneck, plant(ask.simplified), true)?;
        let warmup_s = point.scenario.warmup.as_secs_f64();
        if ask.fluid.unwrap_or(false) {
            found.follow(config, &bottleneck, warmup_s, end_s);
        }
        if let Some(results) = packets {
            found.compare(results, number, &bottleneck.name, warmup_s);
        }
        assessments.push(found);
    }
    let title = study.title();
    let controls: Vec<(&str, &Loop)> =
        assessments.iter().filter_map(|a| Some((a.label.as_str(), a.control.as_ref()?))).collect();
    let loops: Vec<TheoryLoop> =
        controls.iter().map(|(label, control)| curves(label, control)).collect::<Result<_, _>>()?;
    let network = &bottleneck.network;
    let flows: f64 = network.classes.iter().map(|c| c.flows).sum();
    Ok(Theory {
        at_s: time.as_secs_f64(),
        flows,
        capacity_pps: network.capacity,
        buffer_packets: network.buffer,
        rtt_s: network.classes.iter().map(|c| c.flows * c.propagation).sum::<f64>() / flows,
        congestion: network.congestion.name(),
        marks: network.signal == Signal::Mark,
        left_out: bottleneck.left_out.clone(),
        reach: assessments.iter().map(|a| a.reach.iter().map(ToString::to_string).collect()).collect(),
        bode_svg: (!loops.is_empty()).then(|| bode(title, &loops)),
        nyquist_svg: (!loops.is_empty()).then(|| nyquist(title, &loops)),
        loops,
        link: bottleneck.name,
        assessments,
    })
}

fn curves(label: &str, control: &Loop) -> Result<TheoryLoop, Fault> {
    let frequency = control.frequencies(FREQUENCIES)?;
    let (bode, nyquist) = (control.bode(&frequency), control.nyquist(&frequency));
    let crossings = control.margin_crossings()?;
    Ok(TheoryLoop {
        label: label.to_string(),
        frequency: Numbers(frequency),
        gain_db: Numbers(bode.iter().map(|b| decibel(b.gain)).collect()),
        phase_deg: Numbers(bode.iter().map(|b| b.phase.to_degrees()).collect()),
        real: Numbers(nyquist.iter().map(|l| l.re).collect()),
        imaginary: Numbers(nyquist.iter().map(|l| l.im).collect()),
        crossover: crossings.gain.map(|(w, margin)| (w, margin.to_degrees())),
        phase_crossover: crossings.phase.map(|(w, gain)| (w, decibel(gain))),
    })
}

fn decibel(gain: f64) -> f64 {
    20.0 * gain.log10()
}

fn bode(title: &str, loops: &[TheoryLoop]) -> String {
    let crossing = |(frequency, margin)| Crossing { frequency, margin };
    let response = |l: &TheoryLoop| Response {
        label: "",
        frequency: l.frequency.0.clone(),
        gain: l.gain_db.0.clone(),
        phase: l.phase_deg.0.clone(),
        crossover: l.crossover.map(crossing),
        phase_crossover: l.phase_crossover.map(crossing),
    };
    let responses: Vec<Response<'_>> =
        loops.iter().map(|l| Response { label: &l.label, ..response(l) }).collect();
    let sheet = Sheet::new(title, "Gain and phase of the open loop over frequency, with its margins.");
    picture::bode(&sheet, &responses)
}

fn nyquist(title: &str, loops: &[TheoryLoop]) -> String {
    let locus = |l: &TheoryLoop| l.real.0.iter().copied().zip(l.imaginary.0.iter().copied()).collect();
    let loci: Vec<Locus<'_>> = loops.iter().map(|l| Locus { label: &l.label, points: locus(l) }).collect();
    let sheet = Sheet::new(title, "The open loop in the complex plane, around the point -1.");
    picture::nyquist(&sheet, &loci)
}

/// The side of the border on which values are stable.
#[derive(Clone, Copy)]
enum Border {
    Below(f64),
    Above(f64),
}

impl MapShown {
    /// Its name, its unit, and the border between its stable and its unstable values.
    fn about(self) -> (&'static str, &'static str, Option<Border>) {
        match self {
            MapShown::Growth => ("growth rate", "1/s", Some(Border::Below(0.0))),
            MapShown::GainMargin => ("gain margin", "", Some(Border::Above(1.0))),
            MapShown::PhaseMargin => ("phase margin", "degrees", None),
            MapShown::DelayMargin => ("delay margin", "s", None),
            MapShown::Settling => ("settling time", "s", None),
            MapShown::Queue => ("queue at equilibrium", "packets", None),
            MapShown::Probability => ("signal probability", "", None),
        }
    }

    fn shown(self) -> Shown {
        match self {
            MapShown::Growth => Shown::Loop(maps::Shown::Growth),
            MapShown::GainMargin => Shown::Loop(maps::Shown::GainMargin),
            MapShown::PhaseMargin => Shown::Loop(maps::Shown::PhaseMargin),
            MapShown::DelayMargin => Shown::Loop(maps::Shown::DelayMargin),
            MapShown::Settling => Shown::Loop(maps::Shown::Settling),
            MapShown::Queue => Shown::Queue,
            MapShown::Probability => Shown::Probability,
        }
    }

    /// True if it says nothing of an unstable loop.
    fn of_stable(self) -> bool {
        matches!(self, MapShown::PhaseMargin | MapShown::DelayMargin)
    }
}

pub(crate) fn map(study: &Study, ask: &MapRequest) -> Result<Map, Fault> {
    let point = point(&study.points, ask.point.unwrap_or(0))?;
    let seed = point.scenario.seeds.list().first().copied().unwrap_or(1);
    let bottleneck = Bottleneck::of_point(point, ask.link.as_deref(), None, seed, &Plugins::new())?;
    let Some((label, config)) = bottleneck.algorithms.iter().find(|(label, _)| *label == ask.algorithm)
    else {
        let there: Vec<&str> = bottleneck.algorithms.iter().map(|(label, _)| label.as_str()).collect();
        let (label, there) = (cut(&ask.algorithm), there.join(", "));
        return Err(Fault::request(format!("algorithm \"{label}\": is not at this link; here are: {there}")));
    };
    let points = ask.points.unwrap_or(48);
    if !(2..=200).contains(&points) {
        return Err(Fault::request(format!("points {points}: must be a number from 2 to 200")));
    }
    let unit = |axis: &MapAxis| axis.unit.clone().unwrap_or_default();
    let units = [unit(&ask.x), unit(&ask.y)];
    let vary = Variation::new(&bottleneck, config, [(&ask.x.name, &units[0]), (&ask.y.name, &units[1])])?;
    let axis = |axis: &MapAxis| match axis.log.unwrap_or(false) {
        true => Axis::logarithmic(axis.from, axis.to, points),
        false => Axis::linear(axis.from, axis.to, points),
    };
    let show = ask.show.unwrap_or_default();
    let (name, of, border) = show.about();
    let plant = plant(ask.simplified);
    let value = |x: f64, y: f64| -> Result<f64, String> {
        let found = vary.value(show.shown(), plant, x, y).and_then(|found| match found {
            Some(_) if show.of_stable() => {
                let growth = vary.value(Shown::Loop(maps::Shown::Growth), plant, x, y)?;
                Ok(found.filter(|_| growth.is_some_and(|growth| growth < 0.0)))
            }
            found => Ok(found),
        });
        match found {
            Ok(Some(value)) if show == MapShown::PhaseMargin => Ok(value.to_degrees()),
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(format!("unstable, or without a limit: no {name}")),
            Err(TheoryError::NoEquilibrium { .. } | TheoryError::Quantity { .. }) => {
                Err("no equilibrium".to_string())
            }
            // With its value it would be another reason at each point.
            Err(TheoryError::Parameter(e)) => Err(format!("the algorithm refuses {}", e.field)),
            Err(e) => Err(e.to_string()),
        }
    };
    let grid = maps::map(&axis(&ask.x), &axis(&ask.y), value)?;
    let mut missing: Vec<(String, usize)> = Vec::new();
    for reason in grid.values.iter().filter_map(|value| value.as_ref().err()) {
        match missing.iter_mut().find(|(known, _)| known == reason) {
            Some((_, count)) => *count += 1,
            None => missing.push((reason.clone(), 1)),
        }
    }
    missing.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    if let (true, Some((reason, _))) = (grid.values.iter().all(Result::is_err), missing.first()) {
        return Err(Fault::request(format!("no point on the map has a value: {reason}")));
    }
    let values: Vec<f64> = grid.values.iter().map(|v| *v.as_ref().unwrap_or(&f64::NAN)).collect();
    let is_stable = |border: Border, value: f64| match border {
        Border::Below(at) => value < at,
        Border::Above(at) => value > at,
    };
    let stable = border
        .map(|border| values.iter().filter(|v| is_stable(border, **v)).count() as f64 / values.len() as f64);
    let shown = if of.is_empty() { name.to_string() } else { format!("{name} ({of})") };
    let side = |axis: &MapAxis, unit: &str| match unit {
        "" => axis.name.clone(),
        unit => format!("{} ({unit})", axis.name),
    };
    let sides = [side(&ask.x, &units[0]), side(&ask.y, &units[1])];
    let kind = |axis: &MapAxis, label| match axis.log.unwrap_or(false) {
        true => picture::Axis::log(label),
        false => picture::Axis::linear(label),
    };
    let title = format!("{label}: {name}");
    let sheet =
        Sheet::new(&title, "A map of the linear model over two quantities, with the border of stability.");
    let svg = picture::map(
        &sheet,
        &picture::Map {
            x: kind(&ask.x, &sides[0]),
            xs: &grid.x,
            y: kind(&ask.y, &sides[1]),
            ys: &grid.y,
            value: picture::Axis::linear(&shown),
            values: &values,
            missing: missing.first().map_or("no value", |(reason, _)| reason),
            contour: border.map(|border| {
                let (Border::Below(at) | Border::Above(at)) = border;
                (at, "border of stability")
            }),
            spots: &[],
        },
    );
    Ok(Map { svg, x: Numbers(grid.x), y: Numbers(grid.y), values: Numbers(values), shown, stable, missing })
}
