//! `quell tasks` and `quell worker`: a study in pieces, to spread over processes and machines.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use quell_files::Limit;
use quell_lab::{Cache, Key, Made, Options, Task};
use quell_units::text::cut;
use serde_json::json;

use crate::args::{EngineChoice, Format, FormatArgs, Seeds, SimulationArgs};
use crate::failure::Failure;
use crate::simulate::{self, Watch};
use crate::{json, notes, terminal};

/// Arguments of `tasks`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Each line has the key, the cost (packets that the links can carry), the seed, the algorithm and the settings of the \
point, separated by tabs. The longest replications come first.

Examples:
  quell tasks my.toml --missing
  quell tasks my.toml --missing | parallel --pipe -N 20 quell worker my.toml --quiet --keys -

docs/scale.md has recipes for GNU parallel, Slurm, Kubernetes, Dask and Ray.")]
pub struct TasksArgs {
    /// The scenario file.
    #[arg(value_name = "SCENARIO")]
    scenario: PathBuf,
    /// List only those that the cache does not have.
    #[arg(long)]
    missing: bool,
    #[command(flatten)]
    simulation: SimulationArgs,
    #[command(flatten)]
    format: FormatArgs,
}

/// Arguments of `worker`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
For each replication, a line gives its key and \"made\", \"found\" (it was in the cache) or \"failed\" with the \
reason. A worker keeps no state but the cache, so you can kill it at any time and give its work to another.

Examples:
  quell worker my.toml --part 3/16 --cache /shared/quell
  quell tasks my.toml --missing | head -100 | quell worker my.toml --keys -
  quell worker my.toml --seeds 1000 --part $SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT

docs/scale.md has recipes for GNU parallel, Slurm, Kubernetes, Dask and Ray.")]
pub struct WorkerArgs {
    /// The scenario file.
    #[arg(value_name = "SCENARIO")]
    scenario: PathBuf,
    /// A file of keys, one per line, as `quell tasks` prints them; - for standard input. Default: the whole study.
    #[arg(long, value_name = "FILE", conflicts_with = "part")]
    keys: Option<PathBuf>,
    /// Run one of several parts that take about equally long, such as 3/16.
    #[arg(long, value_name = "I/N", value_parser = part)]
    part: Option<Part>,
    #[command(flatten)]
    simulation: SimulationArgs,
}

/// One of several equal parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// The number of the part, from 1 on.
    number: usize,
    /// The number of parts.
    of: usize,
}

fn part(text: &str) -> Result<Part, String> {
    let found = text.split_once('/').and_then(|(number, of)| {
        let part = Part { number: number.trim().parse().ok()?, of: of.trim().parse().ok()? };
        (1..=part.of).contains(&part.number).then_some(part)
    });
    found.ok_or_else(|| format!("{}: must be a part and the number of parts, such as 3/16", cut(text)))
}

/// Lists the replications of a study, the longest first.
pub fn tasks(args: &TasksArgs) -> Result<(), Failure> {
    let mut study = simulate::read(&args.scenario, &args.simulation, None)?;
    simulate::choose(&mut study, &args.simulation.aqm)?;
    notes::say_holes(&study, 1);
    let mut all = all(&study, &args.simulation)?;
    if args.missing {
        let cache = cache(&args.simulation)?;
        all.retain(|task| !task.is_in(&cache));
    }
    if args.format.format == Format::Json {
        let listed = |task: &Task| {
            json!({
                "key": task.key.to_string(),
                "cost_packets": task.cost,
                "seed": task.seed,
                "algorithm": task.algorithm,
                "settings": json::settings(&task.settings),
            })
        };
        return json::print(&json!({ "tasks": all.iter().map(listed).collect::<Vec<_>>() }));
    }
    let line = |t: &Task| {
        let settings = t.settings.iter().map(|s| format!("\t{} = {}", s.field, s.value)).collect::<String>();
        format!("{}\t{:.0}\t{}\t{}{settings}\n", t.key, t.cost, t.seed, t.algorithm)
    };
    terminal::print(&all.iter().map(line).collect::<String>())
}

/// Makes replications of a study and puts them into the cache; reports each when it is there.
pub fn worker(args: &WorkerArgs) -> Result<(), Failure> {
    let mut study = simulate::read(&args.scenario, &args.simulation, None)?;
    simulate::choose(&mut study, &args.simulation.aqm)?;
    notes::say_holes(&study, 1);
    let all = all(&study, &args.simulation)?;
    let of_study: HashSet<Key> = all.iter().map(|task| task.key).collect();
    let keys: HashSet<Key> = match (&args.keys, args.part) {
        (Some(file), _) => read_keys(file)?,
        (None, Some(Part { number, of })) => {
            // The longest are dealt first, so that all parts are about as long.
            all.iter().skip(number - 1).step_by(of).map(|task| task.key).collect()
        }
        (None, None) => of_study.clone(),
    };
    if let Some(key) = keys.iter().find(|key| !of_study.contains(key)) {
        return Err(bad_input!(
            "key {key} is not part of this study: use the same options as for `quell tasks`; another version of Quell \
             may have other keys"
        ));
    }
    let watch = Watch::new(args.simulation.quiet);
    let cache = cache(&args.simulation)?;
    let failed = Mutex::new(0);
    let told = Mutex::new(Ok(()));
    let made = |key: &Key, made: Made| {
        let line = match made {
            Made::Now => format!("{key} made\n"),
            Made::Before => format!("{key} found\n"),
            Made::Failed(why) => {
                *lock(&failed) += 1;
                format!("{key} failed: {why}\n")
            }
        };
        let mut told = lock(&told);
        if told.is_ok() {
            *told = terminal::print(&line);
        }
    };
    let warn = |why: &str| terminal::complain("warning", why);
    let options = Options {
        cache: Some(&cache),
        reuse: simulate::reuse(&args.simulation.cache),
        series: simulate::series(args.simulation.series),
        threads: args.simulation.threads.map(usize::from),
        stop: Some(watch.stop()),
        warn: Some(&warn),
        ..Options::default()
    };
    quell_lab::make(&study, &keys, &options, &made).map_err(Failure::Failed)?;
    watch.finish();
    told.into_inner().unwrap_or_else(PoisonError::into_inner)?;
    match failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        _ if watch.is_stopped() => Err(Failure::Interrupted("what is finished is in the cache".into())),
        0 => Ok(()),
        n => Err(Failure::Failed(format!("{n} of {} replications failed", keys.len()))),
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn all(study: &quell_scenario::Study, args: &SimulationArgs) -> Result<Vec<Task>, Failure> {
    if args.seeds == Some(Seeds::Auto) || !args.precision.is_empty() || args.max_seeds.is_some() {
        return Err(bad_input!(
            "--seeds auto, --precision and --max-seeds: which seeds are needed is known only as results arrive; name \
             the seeds, such as --seeds 50, and let `quell run --seeds auto` find them in the cache"
        ));
    }
    let options = Options { series: simulate::series(args.series), ..Options::default() };
    quell_lab::tasks(study, &options).map_err(Failure::BadInput)
}

fn cache(args: &SimulationArgs) -> Result<Cache, Failure> {
    if args.cache.no_cache || args.engine != EngineChoice::Fast {
        return Err(bad_input!("workers fill a cache, but --no-cache and --engine reference do not use one"));
    }
    simulate::cache(&args.cache.dir).ok_or_else(simulate::no_cache)
}

/// Millions of tasks as `quell tasks` prints them.
const KEYS: Limit = Limit::of_data("a list of keys");

/// Keys, one a line, whatever follows them there; `-` is standard input.
fn read_keys(path: &Path) -> Result<HashSet<Key>, Failure> {
    let bytes = match path.as_os_str() == "-" {
        true => quell_files::read_all(std::io::stdin().lock(), KEYS),
        false => quell_files::read(path, KEYS),
    };
    let bytes = bytes.map_err(|e| bad_input!("{}: {e}", quell_files::name(path)))?;
    let mut keys = HashSet::new();
    for (number, line) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        // What follows a key, such as settings, may be anything.
        let line = String::from_utf8_lossy(line);
        let Some(word) = line.split_whitespace().next() else { continue };
        let key = Key::parse(word).ok_or_else(|| {
            let word = cut(word);
            let rule = "must begin with a key of 64 hexadecimal digits, as `quell tasks` prints them";
            bad_input!("{}:{number}: \"{word}\": {rule}", quell_files::name(path))
        })?;
        keys.insert(key);
    }
    Ok(keys)
}
