//! `quell tasks` and `quell worker`: a study in pieces, for whoever spreads them over processes and machines.

use std::collections::HashSet;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use quell_lab::{Cache, Key, Made, Options, Task};

use super::scenario;
use crate::args::{EngineChoice, Format, Part, Seeds, SimulationArgs, TasksArgs, WorkerArgs};
use crate::failure::Failure;
use crate::simulate::{self, Watch};
use crate::{json, terminal};

/// Lists the replications of a study, the longest first.
pub fn tasks(args: &TasksArgs) -> Result<(), Failure> {
    let study = simulate::read(&args.scenario, &args.simulation)?;
    scenario::say_holes(&study, 1);
    let mut all = all(&study, &args.simulation)?;
    if args.missing {
        let cache = cache(&args.simulation)?;
        all.retain(|task| !task.is_in(&cache));
    }
    if args.format.format == Format::Json {
        let tasks = all.iter().map(|task| Listed {
            key: task.key.to_string(),
            cost_packets: task.cost,
            seed: task.seed,
            algorithm: &task.algorithm,
            settings: json::settings(&task.settings),
        });
        return json::print(&List { schema: json::SCHEMA, tasks: tasks.collect() });
    }
    let line = |t: &Task| {
        let settings = t.settings.iter().map(|s| format!("\t{} = {}", s.field, s.value)).collect::<String>();
        format!("{}\t{:.0}\t{}\t{}{settings}\n", t.key, t.cost, t.seed, t.algorithm)
    };
    terminal::print(&all.iter().map(line).collect::<String>())
}

#[derive(serde::Serialize)]
struct List<'a> {
    schema: u32,
    tasks: Vec<Listed<'a>>,
}

#[derive(serde::Serialize)]
struct Listed<'a> {
    key: String,
    cost_packets: f64,
    seed: u64,
    algorithm: &'a str,
    settings: Vec<json::PointSetting<'a>>,
}

/// Makes replications of a study and puts them into the cache; tells of each when it is there.
pub fn worker(args: &WorkerArgs) -> Result<(), Failure> {
    let study = simulate::read(&args.scenario, &args.simulation)?;
    scenario::say_holes(&study, 1);
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
        return Err(Failure::BadInput(format!(
            "key {key} is not of this study: give the options that `quell tasks` had; another version of Quell \
             may have other keys"
        )));
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
        return Err(Failure::BadInput(
            "--seeds auto, --precision and --max-seeds: which seeds are needed is known only as results come; name \
             them, such as --seeds 50, and let `quell run --seeds auto` find them in the cache"
                .into(),
        ));
    }
    let options = Options { series: simulate::series(args.series), ..Options::default() };
    quell_lab::tasks(study, &options).map_err(Failure::BadInput)
}

fn cache(args: &SimulationArgs) -> Result<Cache, Failure> {
    if args.cache.no_cache || args.engine != EngineChoice::Fast {
        return Err(Failure::BadInput(
            "workers fill a cache: --no-cache and --engine reference have none".into(),
        ));
    }
    simulate::cache(&args.cache.dir).ok_or_else(simulate::no_cache)
}

/// Keys, one a line, whatever follows them there; `-` is standard input.
fn read_keys(path: &Path) -> Result<HashSet<Key>, Failure> {
    let cannot = |e: std::io::Error| Failure::BadInput(format!("{}: {e}", path.display()));
    let reader: Box<dyn std::io::BufRead> = match path.as_os_str() == "-" {
        true => Box::new(std::io::stdin().lock()),
        false => Box::new(BufReader::new(std::fs::File::open(path).map_err(cannot)?)),
    };
    let mut keys = HashSet::new();
    for (number, line) in (1..).zip(reader.lines()) {
        let line = line.map_err(cannot)?;
        let Some(word) = line.split_whitespace().next() else { continue };
        let key = Key::parse(word).ok_or_else(|| {
            let word = quell_units::text::cut(word);
            let rule = "must begin with a key of 64 hexadecimal digits, as `quell tasks` prints them";
            Failure::BadInput(format!("{}:{number}: \"{word}\": {rule}", path.display()))
        })?;
        keys.insert(key);
    }
    Ok(keys)
}
