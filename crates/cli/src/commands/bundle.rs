//! `quell bundle`.

use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant, SystemTime};

use quell_bundle::{About, Author, Bundle, BundleError, Differing, Engines, License, Packed, Rerun, Share};
use quell_lab::{Results, files_in};
use quell_units::text::{cut, plural};

use crate::args::{self, SimulationArgs, ViewArgs, whole};
use crate::failure::Failure;
use crate::folder;
use crate::interrupt;
use crate::keep::interrupted;
use crate::notes;
use crate::selection::Selection;
use crate::simulate::{self, Watch};
use crate::terminal::{self, Meter};

/// Arguments of `bundle`.
#[derive(Debug, clap::Args)]
#[command(
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true,
    after_help = "\
Examples:
  quell bundle results/main --author \"Josiah Carberry <0000-0002-1825-0097>\" --license CC-BY-4.0
  quell bundle my.toml --seeds 20 --set dumbbell.rate=\"50 Mbit/s\" --out study.zip
  quell bundle verify study.zip
  quell bundle verify study.zip --rerun=10%

The archive holds the scenario and the files it names, the command, the seeds, the commit and the engine's \
fingerprints, all replications (Parquet), tables (CSV), figures (SVG, CSV), the report, and a page for anyone who \
checks it. Its metadata follows RO-Crate (docs/paper.md, \"Artifacts\"). The same results give the same bytes. If you \
name a scenario, it is run first, using the cache; SOURCE_DATE_EPOCH then sets the time of the run. Write a results \
folder called verify as ./verify."
)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// A results folder to pack, or a scenario to run first.
    #[arg(value_name = "RESULTS|SCENARIO", required = true)]
    study: Option<PathBuf>,
    /// Archive to write; default: NAME.zip in the current folder.
    #[arg(long, short, value_name = "FILE")]
    out: Option<PathBuf>,
    /// Replace an existing archive.
    #[arg(long)]
    overwrite: bool,
    /// The title; default: the scenario's.
    #[arg(long, value_name = "TEXT")]
    title: Option<String>,
    /// A description in a few sentences; default: one made from the results.
    #[arg(long, value_name = "TEXT")]
    description: Option<String>,
    /// An author, "Name <ORCID>" or "Name"; repeat for each author, in order.
    #[arg(long = "author", value_name = "NAME")]
    authors: Vec<Author>,
    /// License of the archive: an SPDX identifier such as CC-BY-4.0, or a URL.
    #[arg(long, value_name = "LICENSE")]
    license: Option<License>,
    /// The folder in which the results were made, where the files that the scenario names are; default: the current
    /// folder.
    #[arg(long, value_name = "DIR")]
    inputs: Option<PathBuf>,
    #[command(flatten)]
    simulation: SimulationArgs,
}

/// The commands of `quell bundle`.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Check every hash and the metadata of an archive, and rerun its replications if asked.
    Verify(VerifyArgs),
}

/// Arguments of `bundle verify`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell bundle verify study.zip
  quell bundle verify study.zip --rerun=10%
  quell bundle verify study.zip --rerun --threads 4

A rerun takes nothing from the cache. Exit codes: 0 everything is as it was packed, 1 something differs or is damaged, \
2 the file is not a bundle, 130 interrupted.")]
pub struct VerifyArgs {
    /// The archive.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// What stands beside the archive by mistake, such as a share without "=".
    #[arg(hide = true)]
    further: Vec<String>,
    /// Rerun a share of the replications (--rerun=10%), or all without a share, and compare each bit for bit.
    #[arg(
        long,
        value_name = "SHARE%",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "100%",
        value_parser = positive_share
    )]
    rerun: Option<f64>,
    /// Seed for choosing the replications that --rerun=SHARE computes.
    #[arg(long, value_name = "N", default_value_t = 1, requires = "rerun", value_parser = whole(1..=u64::MAX))]
    draw: u64,
    /// Number of threads; default: one per core. Results do not depend on it.
    #[arg(long, value_name = "N", value_parser = whole(1..=4096_u16))]
    threads: Option<u16>,
    /// Do not show progress.
    #[arg(long, short)]
    quiet: bool,
}

impl From<BundleError> for Failure {
    fn from(error: BundleError) -> Self {
        match error {
            BundleError::BadInput(why) => Failure::BadInput(why),
            BundleError::Failed(why) => Failure::Failed(why),
            BundleError::Stopped => Failure::Interrupted("nothing was written".to_string()),
        }
    }
}

/// A share of replications of which at least one is computed.
fn positive_share(text: &str) -> Result<f64, String> {
    let share = args::share(text).ok().filter(|share| *share > 0.0);
    share.ok_or_else(|| "must be a share above 0% and at most 100%, such as 10%".to_string())
}

/// Packs a study, or checks an archive.
pub fn run(args: &Args, line: Vec<String>) -> Result<(), Failure> {
    match (&args.command, &args.study) {
        (Some(Command::Verify(args)), _) => verify(args),
        (None, Some(study)) => bundle(study, args, line),
        (None, None) => Err(bad_input!("RESULTS|SCENARIO is missing: name a results folder or a scenario")),
    }
}

/// Packs a study into an archive, which is there whole or not at all.
fn bundle(study: &Path, args: &Args, line: Vec<String>) -> Result<(), Failure> {
    let named = folder::name(&[folder::of(study)]);
    let out = args.out.clone().unwrap_or_else(|| PathBuf::from(format!("{named}.zip")));
    refuse_to_lose(&out, args.overwrite)?;
    folder::check_writable(&out)?;
    // The results of a scenario are kept while they are packed.
    let made;
    let is_results =
        study.is_dir() || (study.is_file() && study.file_name().is_some_and(|name| name == "run.json"));
    let dir = match is_results {
        true => {
            refuse_changes(study, &args.simulation)?;
            folder::of(study)
        }
        false => {
            made = simulated(study, &args.simulation, without_place(line))?;
            made.path().join("results")
        }
    };
    let results = folder::read(&dir)?;
    say_lacking(args, &results, &dir, is_results);
    let about = About {
        title: args.title.clone(),
        description: args.description.clone(),
        authors: args.authors.clone(),
        license: args.license.clone(),
    };
    let packed = write(&results, &dir, &about, args, &out)?;
    let (bytes, sha256) = quell_bundle::measure(&out)?;
    terminal::print(&format!(
        "bundle   {} ({}, {}, {} unpacked)\nsha256   {sha256}\n",
        quell_files::name(&out),
        terminal::size(bytes),
        plural(packed.files, "file"),
        terminal::size(packed.bytes),
    ))
}

/// Refuses to replace a file without permission, and what is not a file in any case.
fn refuse_to_lose(out: &Path, overwrite: bool) -> Result<(), Failure> {
    let name = quell_files::name(out);
    match fs::symlink_metadata(out) {
        Ok(found) if !found.is_file() => {
            Err(bad_input!("{name}: exists and is not a file; name another with --out"))
        }
        Ok(_) if !overwrite => Err(bad_input!(
            "{name}: already exists; use --overwrite to replace it, or --out to name another file"
        )),
        _ => Ok(()),
    }
}

/// Refuses options that change a scenario where there are results.
fn refuse_changes(study: &Path, args: &SimulationArgs) -> Result<(), Failure> {
    let given = [
        ("--set", !args.changes.set.is_empty()),
        ("--sweep", !args.changes.sweep.is_empty()),
        ("--seeds", args.seeds.is_some()),
        ("--seed", args.seed.is_some()),
        ("--aqm", !args.aqm.is_empty()),
        ("--precision", !args.precision.is_empty()),
        ("--max-seeds", args.max_seeds.is_some()),
        ("--fresh", args.cache.fresh),
        ("--verify", args.cache.verify.is_some()),
    ];
    match given.iter().find(|(_, given)| *given) {
        Some((option, _)) => Err(bad_input!(
            "{option}: changes how a scenario is run, but {} has results, which are packed as they are; name the \
             scenario instead, or leave out {option}",
            quell_files::name(study)
        )),
        None => Ok(()),
    }
}

/// Runs a scenario, and keeps its results in a temporary folder.
fn simulated(path: &Path, args: &SimulationArgs, line: Vec<String>) -> Result<tempfile::TempDir, Failure> {
    let epoch = epoch()?;
    let selection = Selection::of(&ViewArgs::default())?;
    let mut study = simulate::read_all(&[path.to_path_buf()], args)?;
    simulate::choose(&mut study, &args.aqm)?;
    let auto = simulate::auto(args, &selection, None, &study)?;
    notes::say(&study, 1);
    let cannot =
        |e: std::io::Error| Failure::cannot("make a temporary folder", quell_lab::without_temporary_name(e));
    let folder = tempfile::tempdir().map_err(cannot)?;
    simulate::check_space(&study, args, Some(folder.path()))?;
    let mut results = simulate::run(&study, args, (auto.as_ref(), None, false), line)?;
    interrupted(&results, None, true)?;
    // What depends on the hour, and on what the cache had, is not of the study.
    if let Some(epoch) = epoch {
        results.run.started = humantime::format_rfc3339_seconds(epoch).to_string();
    }
    results.run.elapsed_s = results.replications.iter().map(|r| r.elapsed_s).sum();
    (results.run.reused, results.run.verified) = (0, 0);
    quell_lab::write_results(&results, &folder.path().join("results"), false)
        .map_err(|e| Failure::cannot("write results to", e))?;
    Ok(folder)
}

/// The command without the archive's name, which the archive's bytes do not depend on.
fn without_place(line: Vec<String>) -> Vec<String> {
    let mut words = line.into_iter();
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        match word.as_str() {
            "--out" | "-o" => _ = words.next(),
            "--overwrite" => {}
            _ if word.starts_with("--out=") => {}
            _ => kept.push(word),
        }
    }
    kept
}

/// The time that `SOURCE_DATE_EPOCH` names, as other programs take it for archives that are to be the same.
fn epoch() -> Result<Option<SystemTime>, Failure> {
    let Ok(text) = std::env::var("SOURCE_DATE_EPOCH") else { return Ok(None) };
    // RFC 3339 has years of four digits.
    let seconds = text.trim().parse::<u64>().ok().filter(|seconds| *seconds < 253_402_300_800);
    match seconds.and_then(|seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))) {
        Some(time) => Ok(Some(time)),
        None => Err(bad_input!(
            "SOURCE_DATE_EPOCH \"{}\": must be a whole number of seconds since 1970, before the year 10000; correct it, \
             or unset it",
            cut(&text)
        )),
    }
}

/// Notes what an archive lacks that others will look for.
fn say_lacking(args: &Args, results: &Results, dir: &Path, is_results: bool) {
    if args.authors.is_empty() {
        terminal::note("no author is named; add --author \"Name <ORCID>\" for each");
    }
    if args.license.is_none() {
        terminal::note(
            "no license is given, so nobody may reuse the archive; add one, such as --license CC-BY-4.0",
        );
    }
    if results.run.partial {
        terminal::note("the results are partial because the run was stopped");
    }
    let foreign = if is_results { quell_lab::foreign_files(dir) } else { Vec::new() };
    let own = |name: &&String| !results.run.files.iter().any(|file| file.name == **name);
    if let Some(name) = foreign.iter().find(own) {
        terminal::note(&format!("{}: is not part of the results, so it is not packed", cut(name)));
    }
}

/// Writes the archive beside its place, and puts it there in one step.
fn write(results: &Results, dir: &Path, about: &About, args: &Args, out: &Path) -> Result<Packed, Failure> {
    let cannot = |e: &dyn std::fmt::Display| Failure::cannot(format!("write {}", quell_files::name(out)), e);
    let stop = interrupt::listen();
    let (meter, since) = (Meter::new(args.simulation.quiet), Instant::now());
    let progress = |done: usize, all: usize| {
        meter.advance(
            done as f64 / all.max(1) as f64,
            since.elapsed(),
            &format!("packing {done} of {all} files"),
        );
        if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let inputs = files_in(args.inputs.as_deref().unwrap_or(Path::new("")));
    let beside = out.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let mut file = quell_lab::temporary_file(beside).map_err(|e| cannot(&e))?;
    let packed = quell_bundle::pack(results, dir, about, &inputs, file.as_file_mut(), &progress);
    meter.finish();
    let packed = packed?;
    file.as_file().sync_all().map_err(|e| cannot(&e))?;
    let placed = match args.overwrite {
        true => file.persist(out).map(drop),
        // Somebody else may have written it meanwhile.
        false => file.persist_noclobber(out).map(drop),
    };
    placed.map_err(|e| match e.error.kind() {
        std::io::ErrorKind::AlreadyExists => bad_input!(
            "{}: was written by another program in the meantime; use --overwrite to replace it, or --out to name \
            another file",
            quell_files::name(out)
        ),
        _ => cannot(&quell_lab::without_temporary_name(e.error)),
    })?;
    Ok(packed)
}

/// Checks an archive.
fn verify(args: &VerifyArgs) -> Result<(), Failure> {
    if let Some(further) = args.further.first() {
        return Err(bad_input!(
            "\"{}\": verify checks one archive at a time, and a share follows \"=\": --rerun=10%",
            cut(further)
        ));
    }
    let stop = interrupt::listen();
    let (meter, since) = (Meter::new(args.quiet), Instant::now());
    let progress = |done: u64, all: u64| {
        let share = done as f64 / all.max(1) as f64;
        let left = since.elapsed().mul_f64((1.0 - share).max(0.0) / share.max(1e-3));
        meter.advance(share, since.elapsed(), &format!("checking hashes  {} left", terminal::span(left)));
        if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let opened = quell_bundle::open(&args.file, &progress);
    meter.finish();
    let bundle = opened.map_err(|error| match error {
        BundleError::Stopped => Failure::Interrupted("the archive was not checked to its end".to_string()),
        other => other.into(),
    })?;
    terminal::print(&terminal::prose(&about(&bundle)))?;
    if !bundle.differing.is_empty() {
        terminal::note(&format!(
            "this version of Quell makes {} differently from the results: {}; run verify with commit {}, which packed \
             the bundle, to check them",
            plural(bundle.differing.len(), "file"),
            bundle.differing.iter().map(|name| cut(name)).collect::<Vec<_>>().join(", "),
            cut(&bundle.packer)
        ));
    }
    let engines = bundle.engines();
    if let Some(difference) = engines.difference() {
        terminal::note(&difference);
    }
    match args.rerun {
        Some(of) => rerun(&bundle, &engines, Share { of, draw: args.draw }, args),
        None => Ok(()),
    }
}

/// What was checked, in lines.
fn about(bundle: &Bundle) -> String {
    let run = &bundle.results.run;
    let count = plural(bundle.results.replications.len(), "replication");
    let partial = if run.partial { " (partial: the run was stopped)" } else { "" };
    let holes = match run.holes.len() {
        0 => String::new(),
        n => format!("holes    {} of the sweep could not be run\n", plural(n, "combination")),
    };
    let made = match bundle.differing.len() {
        0 => "match what this program makes from the results".to_string(),
        n => format!("differ in {} from what this program, at another commit, makes", plural(n, "file")),
    };
    format!(
        "bundle   {}\nsha256   {}\nhashes   {}, {}: match the metadata\nmetadata RO-Crate 1.1, lists every \
         file\nscenario matches the results\nmade     tables, figures and report {made}\nresults  {count}{partial}, \
         digest {}\n{holes}made by  Quell {}, commit {}\n",
        quell_units::text::one_line(&bundle.title),
        bundle.sha256,
        plural(bundle.files, "file"),
        terminal::size(bundle.bytes),
        cut(&run.digest),
        cut(&run.version),
        cut(&run.commit),
    )
}

/// Computes a share of the replications again, and says which are the same.
fn rerun(bundle: &Bundle, engines: &Engines, share: Share, args: &VerifyArgs) -> Result<(), Failure> {
    let watch = Watch::new(args.quiet).with_threads(args.threads);
    let found = watch.attend((0, 1), Vec::new(), |options| bundle.rerun(share, options));
    watch.finish();
    let found = found?;
    let same_commit = bundle.results.run.commit == quell_lab::commit();
    let (wrong, other) =
        found.differing.iter().partition::<Vec<&Differing>, _>(|d| d.digests.is_some() || same_commit);
    let Rerun { computed, all, .. } = found;
    let same = computed - wrong.len();
    terminal::print(&format!("rerun    {computed} of {all} replications were rerun: {same} are the same\n"))?;
    if !other.is_empty() {
        let tables = quell_lab::distinct(other.iter().flat_map(|d| &d.tables).copied()).join(", ");
        terminal::note(&format!(
            "{} of them have the same sample path but other numbers in {tables}: this version computes those \
             differently",
            other.len()
        ));
    }
    if let Some(first) = wrong.first() {
        return Err(Failure::Failed(differing(first, wrong.len(), computed, engines)));
    }
    match found.stopped {
        true => Err(Failure::Interrupted("not all were rerun; those that were are the same".to_string())),
        false => Ok(()),
    }
}

/// Says what differs, and what that means.
fn differing(first: &Differing, count: usize, of: usize, engines: &Engines) -> String {
    let how = match first.digests {
        Some((before, now)) => format!("its digest is {before:016x} in the bundle and {now:016x} here"),
        None => format!("its numbers in {} differ, with the same sample path", first.tables.join(", ")),
    };
    let why = match engines.difference() {
        Some(_) => format!(
            "the engine here is a different one (see above); commit {} should give the same result",
            cut(&engines.commit)
        ),
        None => "the engine here passes the same golden runs, so either the bundle was changed or the engine differs \
                 where those runs do not look"
            .to_string(),
    };
    format!("{count} of {of} replications differ; the first is {}: {how}; {why}", first.which)
}
