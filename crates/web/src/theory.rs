//! What the theory says of a scenario, as `quell analyze` and `quell map` do.

use quell_analysis::{Assessment, Bottleneck, MapRequest, Mapper};
use quell_metrics::Results;
use quell_scenario::{Plugins, Study};
use quell_theory::map::Axis;
use quell_theory::{Loop, Plant, Signal, TheoryError};
use quell_units::text::cut;
use quell_units::{Duration, Time};
use quell_view::picture::{self, Crossing, Locus, Response, Sheet, Spot};

use crate::check::point;
use crate::fault::Fault;
use crate::protocol::{self, Map, MapAxis, Numbers, Theory, TheoryLoop, TheoryRequest};

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
    20.0 * libm::log10(gain)
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

/// The unit of an axis for which none is given.
fn default_unit(name: &str) -> &'static str {
    match name {
        "rate" => "bit/s",
        "rtt" => "s",
        _ => "",
    }
}

pub(crate) fn map(study: &Study, ask: &protocol::MapRequest) -> Result<Map, Fault> {
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
    let axis = |axis: &MapAxis| quell_analysis::MapAxis {
        name: axis.name.clone(),
        unit: axis.unit.clone().unwrap_or_else(|| default_unit(&axis.name).to_string()),
        values: match axis.log.unwrap_or(false) {
            true => Axis::logarithmic(axis.from, axis.to, points),
            false => Axis::linear(axis.from, axis.to, points),
        },
    };
    let show = ask.show.unwrap_or_default();
    let (x, y) = (axis(&ask.x), axis(&ask.y));
    let sides = [x.label(), y.label()];
    let mapper = Mapper::new(&bottleneck, config, MapRequest { x, y, show, plant: plant(ask.simplified) })?;
    let map = mapper.map(|| ())?;
    let (grid, missing) = (map.grid, map.missing);
    if let (true, Some(first)) = (grid.values.iter().all(Result::is_err), missing.first()) {
        return Err(Fault::request(format!("no point on the map has a value; {}", first.example)));
    }
    let (factor, unit) = mapper.scale();
    let values: Vec<f64> = grid.values.iter().map(|v| v.as_ref().map_or(f64::NAN, |v| v * factor)).collect();
    let shown = if unit.is_empty() { show.title().to_string() } else { format!("{} ({unit})", show.title()) };
    let kind = |axis: &MapAxis, label| match axis.log.unwrap_or(false) {
        true => picture::Axis::log(label),
        false => picture::Axis::linear(label),
    };
    let title = format!("{label}: {} over {} and {}", show.title(), ask.x.name, ask.y.name);
    let sheet =
        Sheet::new(&title, "A map of the linear model over two quantities, with the stability boundary.");
    let here = mapper.here().map(|(x, y)| Spot { label: "now", x, y });
    let svg = picture::map(
        &sheet,
        &picture::Map {
            x: kind(&ask.x, &sides[0]),
            xs: &grid.x,
            y: kind(&ask.y, &sides[1]),
            ys: &grid.y,
            value: picture::Axis::linear(&shown),
            values: &values,
            missing: missing.first().map_or("no value", |missing| missing.reason.as_str()),
            contour: show.border().map(|border| (border.at() * factor, "stability boundary")),
            spots: here.as_slice(),
        },
    );
    let (x, y, values) = (Numbers(grid.x), Numbers(grid.y), Numbers(values));
    let missing = missing.into_iter().map(|missing| (missing.reason, missing.points)).collect();
    Ok(Map { svg, x, y, values, shown, stable: map.stable, missing })
}
