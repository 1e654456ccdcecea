//! `quell cache`.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use quell_lab::{Cache, CacheEntry};
use quell_units::Bytes;

use crate::args::{CacheArgs, CacheCommand, Format};
use crate::failure::Failure;
use crate::{json, simulate, terminal};

/// Shows the cache, or does what is asked with it.
pub fn cache(args: &CacheArgs) -> Result<(), Failure> {
    let cache = simulate::cache(&args.dir).ok_or_else(simulate::no_cache)?;
    match &args.command {
        None => show(&cache, Format::Table),
        Some(CacheCommand::Show(format)) => show(&cache, format.format),
        Some(CacheCommand::Check) => check(&cache),
        Some(CacheCommand::Prune { unused, to, dry_run }) => prune(&cache, *unused, *to, *dry_run),
        Some(CacheCommand::Export { to }) => export(&cache, &Cache::at(to)),
        Some(CacheCommand::Sql) => terminal::print(&sql(&cache)?),
    }
}

fn entries(cache: &Cache) -> Result<Vec<CacheEntry>, Failure> {
    cache.entries().map_err(|e| Failure::Failed(e.to_string()))
}

/// What of one scenario is there.
#[derive(Default, serde::Serialize)]
struct Held {
    replications: usize,
    bytes: u64,
}

/// The whole cache.
#[derive(serde::Serialize)]
struct Contents {
    schema: u32,
    dir: String,
    replications: usize,
    bytes: u64,
    /// Files that are no sound entries.
    damaged: usize,
    /// Entries that an earlier version wrote, which this one does not read.
    outdated: usize,
    titles: BTreeMap<String, Held>,
}

fn show(cache: &Cache, format: Format) -> Result<(), Failure> {
    let all = entries(cache)?;
    let mut titles: BTreeMap<String, Held> = BTreeMap::new();
    let mut damaged = 0;
    for entry in all.iter().filter(|entry| entry.current) {
        let Ok(about) = Cache::about(entry) else {
            damaged += 1;
            continue;
        };
        let held = titles.entry(about.title).or_default();
        (held.replications, held.bytes) = (held.replications + 1, held.bytes + entry.bytes);
    }
    let outdated = all.iter().filter(|entry| !entry.current).count();
    let contents = Contents {
        schema: json::SCHEMA,
        dir: cache.dir().display().to_string(),
        replications: all.len() - damaged - outdated,
        bytes: all.iter().map(|e| e.bytes).sum(),
        damaged,
        outdated,
        titles,
    };
    if format == Format::Json {
        return json::print(&contents);
    }
    let mut text = format!(
        "{}: {} in {}\n",
        contents.dir,
        counted(contents.replications, "replication"),
        terminal::size(contents.bytes)
    );
    for (title, held) in &contents.titles {
        let title = if title.is_empty() { "(without a title)" } else { title };
        text.push_str(&format!("{:>8}  {:>9}  {title}\n", held.replications, terminal::size(held.bytes)));
    }
    if damaged > 0 {
        text.push_str(&format!("{damaged} damaged; `quell cache check` names them\n"));
    }
    if outdated > 0 {
        text.push_str(&format!("{outdated} of an earlier version; `quell cache prune` removes them\n"));
    }
    terminal::print(&text)
}

fn check(cache: &Cache) -> Result<(), Failure> {
    let all: Vec<CacheEntry> = entries(cache)?.into_iter().filter(|entry| entry.current).collect();
    let damaged: Vec<String> =
        all.iter().filter_map(|entry| Cache::check(entry).err()).map(|e| e.to_string()).collect();
    damaged.iter().for_each(|line| terminal::note(line));
    if !damaged.is_empty() {
        return Err(Failure::Failed(format!(
            "{} of {} entries are damaged; runs compute them again",
            damaged.len(),
            all.len()
        )));
    }
    terminal::print(&format!("{} checked, all sound\n", counted(all.len(), "entry")))
}

fn prune(cache: &Cache, unused: Option<Duration>, to: Option<Bytes>, dry_run: bool) -> Result<(), Failure> {
    let mut all = entries(cache)?;
    let abandoned = cache.abandoned().map_err(|e| Failure::Failed(e.to_string()))?;
    if unused.is_none() && to.is_none() && abandoned.is_empty() && all.iter().all(|entry| entry.current) {
        return Err(Failure::BadInput(
            "prune: say what to remove: --unused 30d, --to 5GB, or --to 0B for everything".into(),
        ));
    }
    // The most recently used ones first: they stay.
    all.sort_by_key(|entry| std::cmp::Reverse(entry.used));
    let now = SystemTime::now();
    let (mut kept, mut count, mut bytes) = (0, 0, 0);
    let mut removed = HashSet::new();
    for entry in &all {
        let old = unused.is_some_and(|limit| now.duration_since(entry.used).is_ok_and(|age| age > limit));
        let over = to.is_some_and(|limit| kept + entry.bytes > limit.get());
        if entry.current && !old && !over {
            kept += entry.bytes;
            continue;
        }
        if !dry_run {
            remove(&entry.path)?;
        }
        (count, bytes) = (count + 1, bytes + entry.bytes);
        removed.insert(entry.key);
    }
    if !dry_run {
        abandoned.iter().try_for_each(|path| remove(path))?;
        cache.forget(&removed).map_err(|e| Failure::Failed(e.to_string()))?;
    }
    let what = if dry_run { "would be removed" } else { "removed" };
    let halves = match abandoned.len() {
        0 => String::new(),
        n => format!(" and {} that a killed run left behind", counted(n, "unfinished file")),
    };
    terminal::print(&format!(
        "{} ({}){halves} {what}, {} left\n",
        counted(count, "entry"),
        terminal::size(bytes),
        terminal::size(kept)
    ))
}

/// Somebody else may have removed it.
fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::cannot(format!("remove {}", path.display()), e))
        }
        _ => Ok(()),
    }
}

fn export(cache: &Cache, to: &Cache) -> Result<(), Failure> {
    let (mut count, mut bytes) = (0, 0);
    let mut damaged = 0;
    for entry in entries(cache)?.iter().filter(|entry| entry.current) {
        match to.copy(entry) {
            Ok(copied) => {
                (count, bytes) = (count + usize::from(copied), bytes + if copied { entry.bytes } else { 0 });
            }
            Err(error) if error.path == entry.path => {
                damaged += 1;
                terminal::note(&format!("{error}; it is not copied"));
            }
            Err(error) => return Err(Failure::Failed(error.to_string())),
        }
    }
    terminal::print(&format!(
        "{} ({}) copied to {}\n",
        counted(count, "entry"),
        terminal::size(bytes),
        to.dir().display()
    ))?;
    match damaged {
        0 => Ok(()),
        n => Err(Failure::Failed(format!("{} damaged and not copied", counted(n, "entry")))),
    }
}

/// For DuckDB. Two runs that end at once may both have written a row.
fn sql(cache: &Cache) -> Result<String, Failure> {
    let files = cache.index().map_err(|e| Failure::Failed(e.to_string()))?;
    let files = files.display().to_string().replace('\'', "''");
    Ok(format!(
        "CREATE OR REPLACE VIEW quell AS SELECT * FROM read_parquet('{files}', union_by_name = true) \
         QUALIFY row_number() OVER (PARTITION BY key, link, segment, scope) = 1;\n"
    ))
}

fn counted(n: usize, what: &str) -> String {
    match (n, what.strip_suffix('y')) {
        (1, _) => format!("1 {what}"),
        (n, Some(stem)) => format!("{n} {stem}ies"),
        (n, None) => format!("{n} {what}s"),
    }
}
