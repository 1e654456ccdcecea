//! Pictures of the theory's verdicts.

use std::path::Path;

use quell_analysis::{Assessment, Motion, Prediction, Swing};
use quell_theory::Loop;
use quell_view::picture::{self, Axis, Case, Cases, Crossing, Locus, Response, SeriesLine, Sheet, Verdicts};

use crate::assess::PointVerdicts;
use crate::failure::Failure;
use crate::folder;

/// A picture of an analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Diagram {
    /// Gain and phase over frequency.
    Bode,
    /// The loop in the complex plane.
    Nyquist,
    /// The theory's verdicts against the packets'.
    Verdicts,
    /// The queue over time, of the fluid model and of the packets.
    Series,
}

/// Frequencies on a curve.
const FREQUENCIES: usize = 600;

/// Refuses a picture that cannot be drawn, before anything is simulated for it.
pub fn check(diagram: Diagram, found: &[PointVerdicts], checked: bool, file: &Path) -> Result<(), Failure> {
    folder::check_writable(file)?;
    match diagram {
        Diagram::Bode | Diagram::Nyquist => first(found).map(drop),
        Diagram::Series if !checked => Err(bad_input!(
            "--diagram series: shows queues over time, which are recorded only with a check; add --check"
        )),
        Diagram::Series => one(found).map(drop),
        Diagram::Verdicts if !checked => Err(bad_input!(
            "--diagram verdicts: compares the theory with packets, which are simulated only with a check; add --check"
        )),
        Diagram::Verdicts => match found.iter().flat_map(|f| &f.assessments).any(|a| a.margins.is_some()) {
            true => Ok(()),
            false => Err(bad_input!("--svg: none of these algorithms has a loop to draw")),
        },
    }
}

/// Draws verdicts into a file.
pub fn write(diagram: Diagram, title: &str, found: &[PointVerdicts], file: &Path) -> Result<(), Failure> {
    let svg = match diagram {
        Diagram::Bode => bode(title, first(found)?)?,
        Diagram::Nyquist => nyquist(title, first(found)?)?,
        Diagram::Verdicts => verdicts(title, found)?,
        Diagram::Series => series(title, one(found)?)?,
    };
    folder::write_whole(&svg, file)
}

/// The verdicts on a study of one point.
fn one(found: &[PointVerdicts]) -> Result<&[Assessment], Failure> {
    match found {
        [one] => Ok(&one.assessments),
        _ => Err(bad_input!(
            "--svg: a sweep has one loop per point; set a single value, or use --diagram verdicts with --check"
        )),
    }
}

/// The same, with a loop to draw.
fn first(found: &[PointVerdicts]) -> Result<&[Assessment], Failure> {
    let assessments = one(found)?;
    match assessments.iter().any(|a| a.control.is_some()) {
        true => Ok(assessments),
        false => Err(bad_input!("--svg: none of these algorithms has a loop to draw")),
    }
}

fn loops(assessments: &[Assessment]) -> impl Iterator<Item = (&Assessment, &Loop)> {
    assessments.iter().filter_map(|a| Some((a, a.control.as_ref()?)))
}

/// The Bode diagram of every loop.
pub fn bode(title: &str, assessments: &[Assessment]) -> Result<String, Failure> {
    let mut responses = Vec::new();
    for (a, control) in loops(assessments) {
        let frequency = control.frequencies(FREQUENCIES)?;
        let bode = control.bode(&frequency);
        let crossings = control.margin_crossings()?;
        let decibel = |x: f64| 20.0 * x.log10();
        let crossover =
            crossings.gain.map(|(frequency, margin)| Crossing { frequency, margin: margin.to_degrees() });
        let phase_crossover =
            crossings.phase.map(|(frequency, gain)| Crossing { frequency, margin: decibel(gain) });
        responses.push(Response {
            label: &a.label,
            frequency,
            gain: bode.iter().map(|b| decibel(b.gain)).collect(),
            phase: bode.iter().map(|b| b.phase.to_degrees()).collect(),
            crossover,
            phase_crossover,
        });
    }
    let sheet = Sheet::new(title, "Gain and phase of the open loop over frequency, with its margins.");
    Ok(picture::bode(&sheet, &responses))
}

fn nyquist(title: &str, assessments: &[Assessment]) -> Result<String, Failure> {
    let mut loci = Vec::new();
    for (a, control) in loops(assessments) {
        let values = control.nyquist(&control.frequencies(2 * FREQUENCIES)?);
        loci.push(Locus { label: &a.label, points: values.iter().map(|l| (l.re, l.im)).collect() });
    }
    let sheet = Sheet::new(title, "The open loop in the complex plane, around the point -1.");
    Ok(picture::nyquist(&sheet, &loci))
}

/// The queue of the fluid model beside that of the packets.
fn series(title: &str, assessments: &[Assessment]) -> Result<String, Failure> {
    let mut lines: Vec<(String, &Swing)> = Vec::new();
    for a in assessments {
        lines.extend(a.fluid.as_ref().map(|f| (format!("{} (fluid)", a.label), f)));
        lines.extend(a.packets.as_ref().map(|p| (format!("{} (packets)", a.label), &p.queue)));
    }
    if lines.is_empty() {
        return Err(bad_input!("--diagram series: nothing to draw; add --check"));
    }
    let lines: Vec<SeriesLine<'_>> =
        lines.iter().map(|(label, s)| SeriesLine { label, x: &s.series.0, y: &s.series.1 }).collect();
    let sheet = Sheet::new(
        title,
        "The queue over time in the fluid model, starting empty, and in the packet simulation.",
    );
    Ok(picture::series(&sheet, Axis::linear("time (s)"), Axis::linear("queue (packets)"), &lines))
}

/// The range beyond which a margin is drawn at the edge.
const MARGINS: (f64, f64) = (0.02, 50.0);

fn verdicts(title: &str, found: &[PointVerdicts]) -> Result<String, Failure> {
    let mut panels: Vec<(&str, Vec<Case>)> = Vec::new();
    for a in found.iter().flat_map(|f| &f.assessments) {
        let (Some(margins), Some(packets)) = (&a.margins, &a.packets) else { continue };
        let case = Case {
            measure: margins.gain.unwrap_or(f64::INFINITY),
            swing: packets.queue.swing,
            stable: a.verdict == Prediction::Stable,
            settled: packets.queue.motion == Motion::Settled,
        };
        match panels.iter_mut().find(|(label, _)| *label == a.label) {
            Some((_, cases)) => cases.push(case),
            None => panels.push((&a.label, vec![case])),
        }
    }
    if panels.is_empty() {
        return Err(bad_input!("--diagram verdicts: no point has both a margin and packets to draw"));
    }
    let of = Verdicts {
        measure: Axis::log("gain margin of the linear model").between(MARGINS.0, MARGINS.1),
        measure_border: 1.0,
        swing: Axis::log("swing of the packets' queue over its mean"),
        swing_border: Swing::SETTLED,
    };
    let cases: Vec<Cases<'_>> = panels.iter().map(|(label, cases)| Cases { label, cases }).collect();
    let sheet = Sheet::new(
        title,
        "For each algorithm and setting, the gain margin of the linear model against how far the simulated packets' \
         queue swings.",
    );
    Ok(picture::verdicts(&sheet, &of, &cases))
}
