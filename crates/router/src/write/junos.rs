//! Junos: a drop profile, a scheduler with a buffer in time, and a shaping rate.

use super::job::{Job, Unwritable};
use super::profile::Profile;

/// The longest buffer of most cards, in microseconds.
const LONGEST: f64 = 200_000.0;

pub(super) fn write(job: &mut Job<'_>) -> Result<(), Unwritable> {
    // A scheduler map without it would leave protocols of routing to what is left.
    let control = "quell-control";
    let mut text = format!(
        "set class-of-service schedulers {control} transmit-rate percent 5\nset class-of-service schedulers {control} \
         buffer-size percent 5\n"
    );
    let mut undo = String::new();
    for number in job.numbers().iter().copied() {
        let (direction, side) = (job.queues[number].direction, job.queues[number].side);
        let (name, device) = (job.name(number), job.device(number)?);
        let wanted = libm::round(side.time_of(side.buffer.in_bytes(crate::shaped::FULL)) * 1e6);
        let buffer = wanted.clamp(1.0, LONGEST);
        if buffer != wanted {
            job.note(
                direction,
                format!("a buffer of {wanted} us becomes {buffer} us, the most of most cards"),
            );
        }
        let whole = side.bytes_of(buffer / 1e6);
        let scheduler = format!("set class-of-service schedulers {name}");
        let profile = Profile::of(side);
        let mut made = vec!["scheduler-maps", "schedulers"];
        if profile.is_some() {
            made.push("drop-profiles");
        }
        if let Some(profile) = profile {
            let points = points(&profile, whole);
            if points.len() < 2 || points[0].0 >= 100 {
                job.note(
                    direction,
                    format!("the profile begins beyond the buffer of {buffer} us: only a full buffer drops"),
                );
            }
            let list = |of: fn(&(u32, u32)) -> u32| {
                points.iter().map(|point| of(point).to_string()).collect::<Vec<_>>().join(" ")
            };
            text.push_str(&format!(
                "set class-of-service drop-profiles {name} interpolate fill-level [ {} ]\n",
                list(|p| p.0)
            ));
            text.push_str(&format!(
                "set class-of-service drop-profiles {name} interpolate drop-probability [ {} ]\n",
                list(|p| p.1)
            ));
            text.push_str(&format!(
                "{scheduler} drop-profile-map loss-priority any protocol any drop-profile {name}\n"
            ));
            if side.ecn {
                text.push_str(&format!("{scheduler} explicit-congestion-notification\n"));
            }
            job.note(
                direction,
                format!(
                    "fill levels and probabilities are whole percents: one percent of the buffer is {} us",
                    buffer / 100.0
                ),
            );
            job.note(
                direction,
                "the fill level is that of the moment on most cards, not RED's average: bursts are dropped earlier, \
                 and the weight of an average cannot be set"
                    .into(),
            );
        } else if side.ecn {
            job.note(direction, "a full buffer drops and cannot mark".into());
        }
        text.push_str(&format!("{scheduler} buffer-size temporal {buffer}\n"));
        text.push_str(&format!(
            "set class-of-service scheduler-maps {name} forwarding-class best-effort scheduler {name}\nset \
             class-of-service scheduler-maps {name} forwarding-class network-control scheduler {control}\n"
        ));
        if job.port {
            text.push_str(&format!("set class-of-service interfaces {device} scheduler-map {name}\n"));
            undo.push_str(&deletions(&format!("{device} scheduler-map"), &made, &name));
            continue;
        }
        let told = job.told_whole(number);
        let (overhead, mode, unit) = match told.cells {
            true => (told.overhead.unwrap_or(0), "cell-mode", " unit 0"),
            false => (told.overhead.unwrap_or(0), "frame-mode", ""),
        };
        let profile = format!("set class-of-service traffic-control-profiles {name}");
        text.push_str(&format!(
            "{profile} scheduler-map {name}\n{profile} shaping-rate {}\n",
            told.rate.bps()
        ));
        if overhead != 0 || told.cells {
            text.push_str(&format!("{profile} overhead-accounting {mode} bytes {overhead}\n"));
        }
        text.push_str(&format!(
            "set class-of-service interfaces {device}{unit} output-traffic-control-profile {name}\n"
        ));
        made.insert(0, "traffic-control-profiles");
        undo.push_str(&deletions(&format!("{device}{unit} output-traffic-control-profile"), &made, &name));
        if told.cells {
            let note = "cells are counted on logical interfaces alone: unit 0 stands for yours, which needs a scheduler \
                        of its own (per-unit-scheduler)";
            job.note(direction, note.into());
        }
    }
    job.part("configuration mode; then commit", text);
    undo.push_str(&format!("delete class-of-service schedulers {control}\n"));
    job.part("the same, to undo it; then commit", undo);
    Ok(())
}

/// The lines that take a direction's queue from its interface, and delete what was made for it under its name.
fn deletions(of_interface: &str, made: &[&str], name: &str) -> String {
    let mut lines = format!("delete class-of-service interfaces {of_interface}\n");
    lines.extend(made.iter().map(|kind| format!("delete class-of-service {kind} {name}\n")));
    lines
}

/// The points of a profile over a buffer of so many bytes, in whole percents, each further than the one before.
fn points(profile: &Profile, whole: f64) -> Vec<(u32, u32)> {
    let percent = |x: f64| libm::round(100.0 * x).clamp(0.0, 100.0) as u32;
    let (min, max) = (percent(profile.min / whole), percent(profile.max / whole));
    let top = percent(profile.top);
    let end = if profile.gentle { percent(2.0 * profile.max / whole) } else { max + 1 };
    let mut points: Vec<(u32, u32)> = vec![(min, 0)];
    for (fill, probability) in [(max.max(min + 1), top), (end, 100), (100, 100)] {
        let last = points[points.len() - 1].0;
        if fill > last && fill <= 100 {
            points.push((fill, probability));
        }
    }
    // Where a gentle rise ends beyond the buffer, the buffer ends it.
    if profile.gentle && 2.0 * profile.max > whole {
        let share = profile.top + (1.0 - profile.top) * (whole - profile.max) / profile.max;
        if let Some(last) = points.last_mut().filter(|last| last.0 == 100) {
            last.1 = percent(if whole > profile.max {
                share
            } else {
                profile.top * (whole - profile.min) / (profile.max - profile.min)
            });
        }
    }
    points
}
