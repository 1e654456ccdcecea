//! `quell reproduce --live`: experiments with real packets, and their figures on record.

use quell_live::Live;
use quell_papers::{Experiment, LiveRecord, Papers, live_files};

use crate::args::{Format, ViewArgs};
use crate::failure::Failure;
use crate::folder::{self, Place};
use crate::keep::{interrupted, keep};
use crate::selection::{self, Selection};
use crate::{live, terminal};

/// Runs the live sides of the experiments that have one. What stands in the way is found before anything runs; figures
/// are put on record when all of an experiment's are there.
pub fn run(
    papers: &Papers,
    chosen: &[&Experiment],
    what: &[String],
    quiet: bool,
    format: Format,
    line: Vec<String>,
) -> Result<(), Failure> {
    let mut sides = Vec::new();
    for e in chosen.iter().filter(|e| e.live.is_some()) {
        let study = papers.live_study(e).map_err(|error| Failure::BadInput(error.to_string()))?;
        let Some((duration, warmup)) =
            study.points.first().map(|point| (point.scenario.duration, point.scenario.warmup))
        else {
            continue;
        };
        sides.push((*e, (duration, duration - warmup), Live::of(study)?));
    }
    if sides.is_empty() {
        let have: Vec<&str> =
            papers.experiments().filter(|e| e.live.is_some()).map(|e| e.id.as_str()).collect();
        let have =
            if have.is_empty() { "nothing here has".into() } else { format!("{} has", have.join(", ")) };
        return Err(bad_input!(
            "--live: {} has no live side, which a table [live] in an experiment's file declares; {have}",
            if what.is_empty() { "all of it".into() } else { what.join(", ") }
        ));
    }
    for (e, ..) in &sides {
        let record = e.live.iter().map(|live| &live.record);
        for file in e.figures.iter().filter_map(|figure| figure.live.as_ref()).chain(record) {
            let file = e.file.with_file_name(file);
            let folder = file.parent().unwrap_or(&papers.folder);
            std::fs::create_dir_all(folder)
                .map_err(|e| Failure::cannot(format!("make {}", quell_files::name(folder)), e))?;
            folder::check_writable(&file)?;
        }
    }
    if live::outside()? {
        return Ok(());
    }
    let selection = Selection::of(&ViewArgs::default())?;
    for (e, (duration, measured_for), side) in sides {
        let place = Place::choose(None, &format!("{}-live", e.id), false)?;
        let measured = live::measure(&side, None, false, quiet, line.clone())?;
        let results = &measured.results;
        match format {
            Format::Table => live::show(place, results, &selection, &[])?,
            Format::Json => {
                let kept = keep(Some(place), results, true, true);
                let (folder, report) = (kept.folder.as_deref(), kept.report.as_deref());
                selection::print_json(results, &selection, folder, report)?;
                kept.failure.map_or(Ok(()), Err)?;
                interrupted(results, kept.folder.as_deref(), false)?;
            }
        }
        // All of it is there.
        let record = LiveRecord {
            command: format!("{} --live", papers.command(&e.id)),
            version: env!("CARGO_PKG_VERSION").to_string(),
            duration,
            measured: measured_for,
            seeds: e.live.as_ref().map_or(0, |live| live.seeds),
            kernel: kernel(),
            processors: std::thread::available_parallelism().map_or(0, |n| n.get() as u32),
            load: measured.load,
            real_time: real_time(),
            late_p99_s: measured.late_p99_s,
        };
        let files = live_files(e, results, &record)
            .map_err(|why| Failure::Failed(format!("{}: cannot be put on record: {why}", e.id)))?;
        for (file, text) in &files {
            folder::write_whole(text, file)?;
        }
        if format == Format::Table {
            let names: Vec<String> = files.iter().map(|(file, _)| file.display().to_string()).collect();
            terminal::print(&format!("record   {}\n", names.join("\n         ")))?;
        }
    }
    Ok(())
}

/// The kernel's version, without what its builder adds.
fn kernel() -> String {
    let text = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    text.trim().split('-').next().unwrap_or_default().to_string()
}

/// True if this process has a real-time priority (proc(5), /proc/pid/stat: the policy is field 41, after the name in
/// parentheses).
fn real_time() -> bool {
    const FIFO_OR_ROUND_ROBIN: [&str; 2] = ["1", "2"];
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let after = text.rsplit(')').next().unwrap_or_default();
    after.split_whitespace().nth(41 - 3).is_some_and(|policy| FIFO_OR_ROUND_ROBIN.contains(&policy))
}
