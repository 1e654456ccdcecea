//! IOS XE: a policy map with random-detect.

use quell_aqm::catalog::AqmConfig;
use quell_aqm::part::Weight;
use quell_aqm::wred::automatic_min_th;
use quell_units::QueueSize;

use super::job::{Job, Unwritable};
use super::profile::Profile;
use crate::offer::Fit;
use crate::shaped::{FULL, Side};

/// Limits of `random-detect` and `queue-limit`.
const THRESHOLD: f64 = 4096.0;
const QUEUE: f64 = 32_768.0;
const DENOMINATOR: f64 = 65_535.0;
const EXPONENT: f64 = 16.0;

/// Classes of precedence.
const PRECEDENCES: u8 = 8;

pub(super) fn write(job: &mut Job<'_>) -> Result<(), Unwritable> {
    let (mut text, mut undo) = (String::new(), String::new());
    for number in job.numbers().iter().copied() {
        let (direction, side) = (job.queues[number].direction, job.queues[number].side);
        let (offer, name, device) = (job.queues[number].offer, job.name(number), job.device(number)?);
        text.push_str(&format!("policy-map {name}\n class class-default\n"));
        if !job.port {
            let told = job.told_whole(number);
            let account = match (told.overhead.unwrap_or(0), told.cells) {
                (0, false) => String::new(),
                (overhead, false) => format!(" account user-defined {overhead}"),
                (overhead, true) => format!(" account user-defined {overhead} atm"),
            };
            text.push_str(&format!("  shape average {}{account}\n", told.rate.bps()));
        }
        if offer.native.starts_with("fair-queue") {
            text.push_str("  fair-queue\n");
        }
        let curves = curves(side);
        if !curves.is_empty() {
            text.push_str("  random-detect\n");
            if side.ecn {
                text.push_str("  random-detect ecn\n");
            }
            let exponent = exponent(job, number);
            text.push_str(&format!("  random-detect exponential-weighting-constant {exponent}\n"));
            for (precedence, curve) in curves.iter().enumerate() {
                let (line, notes) = threshold(curve);
                text.push_str(&format!("  random-detect precedence {precedence} {line}\n"));
                for note in notes {
                    job.note(direction, note);
                }
            }
            job.note(
                direction,
                "thresholds are packets, so that the delay they mean changes with packets' sizes".into(),
            );
            if curves.iter().any(|curve| curve.gentle) {
                let note = "above the upper threshold every packet is dropped: no gentle rise";
                job.note(direction, note.into());
            }
        } else if side.ecn {
            job.note(direction, "a full queue drops and cannot mark".into());
        }
        let packets = side.packets().clamp(1.0, QUEUE);
        if packets != side.packets() {
            job.note(
                direction,
                format!("a buffer of {} packets becomes {packets}, the most there", side.packets()),
            );
        }
        text.push_str(&format!("  queue-limit {packets} packets\n"));
        text.push_str(&format!("interface {device}\n service-policy output {name}\n"));
        undo.push_str(&format!(
            "interface {device}\n no service-policy output {name}\nno policy-map {name}\n"
        ));
    }
    job.part("configure terminal", text);
    job.part("the same, to undo it", undo);
    Ok(())
}

/// The curve of each precedence; none without RED.
fn curves(side: &Side) -> Vec<Profile> {
    let bytes = |size: QueueSize| size.in_bytes(FULL);
    if let AqmConfig::Wred(p) = &side.aqm {
        return (0..PRECEDENCES)
            .map(|precedence| {
                let own = p.classes.iter().find(|class| class.precedence == precedence);
                let max = bytes(own.and_then(|class| class.max_th).unwrap_or(p.max_th));
                let automatic = || automatic_min_th(precedence, max, p.lowest);
                let min = own.and_then(|class| class.min_th).map_or_else(automatic, bytes);
                let top = own.and_then(|class| class.max_p).unwrap_or(p.max_p);
                Profile { min, max, top, gentle: p.gentle }
            })
            .collect();
    }
    let one = Profile::of(side);
    one.map_or_else(Vec::new, |profile| vec![profile; usize::from(PRECEDENCES)])
}

/// Thresholds and the denominator, and notes on what they round.
fn threshold(curve: &Profile) -> (String, Vec<String>) {
    let mut notes = Vec::new();
    let packets = |bytes: f64| {
        let exact = bytes / FULL.get() as f64;
        (exact, libm::round(exact).clamp(1.0, THRESHOLD - 1.0))
    };
    let ((exact_min, min), (exact_max, max)) = (packets(curve.min), packets(curve.max));
    let max = max.max(min + 1.0);
    for (field, exact, said) in [("min", exact_min, min), ("max", exact_max, max)] {
        if (exact - said).abs() > 1e-9 * exact {
            notes.push(format!(
                "a {field} threshold of {} packets becomes {said}",
                quell_units::text::three_digits(exact)
            ));
        }
    }
    let denominator = libm::round(1.0 / curve.top).clamp(1.0, DENOMINATOR);
    if (1.0 / denominator - curve.top).abs() > 1e-9 {
        notes.push(format!("a probability of {} becomes 1/{denominator}", curve.top));
    }
    (format!("{min} {max} {denominator}"), notes)
}

/// The exponent of the average's weight.
fn exponent(job: &mut Job<'_>, number: usize) -> f64 {
    let (direction, side, fit) =
        (job.queues[number].direction, job.queues[number].side, job.queues[number].offer.fit);
    let weight = match &side.aqm {
        AqmConfig::Red(p) => p.weight,
        AqmConfig::Wred(p) => p.weight,
        // As near to the moment as it can be: CoDel and PIE look at the delay of now.
        _ => Weight::Value(0.5),
    };
    let weight = weight.resolve(&side.as_link()).unwrap_or(0.5);
    let exact = -libm::log2(weight);
    let said = libm::round(exact).clamp(1.0, EXPONENT);
    if (exact - said).abs() > 1e-9 && fit == Fit::Same {
        let near = libm::exp2(-said);
        job.note(direction, format!("a weight of {weight} becomes 2^-{said} = {near}"));
    }
    said
}
