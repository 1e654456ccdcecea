//! `quell cache`.

use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use quell_lab::{Cache, CacheEntry};
use quell_units::Bytes;
use quell_units::text::one_line;

use crate::args::{CacheDir, Format, FormatArgs};
use crate::failure::Failure;
use crate::{json, simulate, terminal};

/// Arguments of `cache`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Quell keeps every finished replication of `quell run` and `quell compare` under a key made from everything it depends \
on. A later run that needs the same replication takes it from the cache. So a killed run resumes where it stopped, and \
a longer sweep computes only what is new.

Examples:
  quell cache
  quell cache check
  quell cache prune --unused 30d
  quell cache prune --to 5GB
  duckdb -c \"$(quell cache sql) SELECT title, algorithm, avg(utilization) FROM quell GROUP BY ALL\"")]
pub struct Args {
    /// The cache's folder.
    #[command(flatten)]
    dir: CacheDir,
    /// What to do; default: show.
    #[command(subcommand)]
    command: Option<Command>,
}

/// The commands of `quell cache`.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// Show where the cache is, and what it holds by scenario.
    Show(FormatArgs),
    /// Read every entry, and list the damaged ones.
    Check,
    /// Remove entries: those of earlier versions, and those that no run has used for a while or least recently.
    Prune {
        /// Remove entries that no run has used for this long, such as "30d" or "12h".
        #[arg(long, value_name = "TIME", value_parser = humantime::parse_duration)]
        unused: Option<std::time::Duration>,
        /// Remove the least recently used entries until the rest take at most this much, such as "5GB".
        #[arg(long, value_name = "SIZE", value_parser = size)]
        to: Option<Bytes>,
        /// Show what would be removed, without removing anything.
        #[arg(long)]
        dry_run: bool,
    },
    /// Copy every entry to another cache, e.g., for another machine.
    Export {
        /// The other cache's folder.
        #[arg(value_name = "DIR")]
        to: PathBuf,
    },
    /// Print the SQL statement that makes all entries one view, `quell`, in DuckDB.
    Sql,
}

/// A size in bytes.
fn size(text: &str) -> Result<Bytes, String> {
    text.parse().map_err(|_| "must be a size with its unit (B, kB, MB, GB), such as 5GB".to_string())
}

/// Shows the cache, or does what is asked with it.
pub fn run(args: &Args) -> Result<(), Failure> {
    let cache = simulate::cache(&args.dir).ok_or_else(simulate::no_cache)?;
    // The user's own may not be there yet; one that is named is meant.
    if let Some(dir) = args.dir.cache.as_ref().filter(|dir| !dir.is_dir()) {
        return Err(bad_input!("--cache {}: the folder does not exist", quell_files::name(dir)));
    }
    match &args.command {
        None => show(&cache, Format::Table),
        Some(Command::Show(format)) => show(&cache, format.format),
        Some(Command::Check) => check(&cache),
        Some(Command::Prune { unused, to, dry_run }) => prune(&cache, *unused, *to, *dry_run),
        Some(Command::Export { to }) => export(&cache, &Cache::at(to)),
        Some(Command::Sql) => terminal::print_data(&sql(&cache)?),
    }
}

fn entries(cache: &Cache) -> Result<Vec<CacheEntry>, Failure> {
    cache.entries().map_err(|e| Failure::Failed(e.to_string()))
}

/// The entries of one scenario.
#[derive(Default, serde::Serialize)]
struct Held {
    replications: usize,
    bytes: u64,
}

/// The whole cache.
#[derive(serde::Serialize)]
struct Contents {
    dir: String,
    replications: usize,
    bytes: u64,
    /// Files that are not sound entries.
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
        quell_files::name(&contents.dir),
        counted(contents.replications, "replication"),
        terminal::size(contents.bytes)
    );
    for (title, held) in &contents.titles {
        let title = if title.is_empty() { "(untitled)".into() } else { one_line(title) };
        text.push_str(&format!("{:>8}  {:>9}  {title}\n", held.replications, terminal::size(held.bytes)));
    }
    if damaged > 0 {
        text.push_str(&format!("{damaged} damaged; `quell cache check` names them\n"));
    }
    if outdated > 0 {
        text.push_str(&format!("{outdated} from an earlier version; `quell cache prune` removes them\n"));
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
    terminal::print(&match all.len() {
        0 => format!("{}: no entries to check\n", quell_files::name(cache.dir())),
        n => format!("{} checked, all sound\n", counted(n, "entry")),
    })
}

fn prune(cache: &Cache, unused: Option<Duration>, to: Option<Bytes>, dry_run: bool) -> Result<(), Failure> {
    let mut all = entries(cache)?;
    let abandoned = cache.abandoned().map_err(|e| Failure::Failed(e.to_string()))?;
    if unused.is_none() && to.is_none() && abandoned.is_empty() && all.iter().all(|entry| entry.current) {
        return Err(bad_input!(
            "prune: say what to remove: --unused 30d, --to 5GB, or --to 0B for everything"
        ));
    }
    // The most recently used ones first: they stay.
    all.sort_by_key(|entry| std::cmp::Reverse(entry.used));
    let now = SystemTime::now();
    let (mut kept, mut count, mut bytes, mut stuck) = (0, 0, 0, 0);
    // What cannot be removed, such as a folder in an entry's place, keeps none of the others.
    let mut remove = |path: &Path| match if dry_run { Ok(()) } else { remove(path) } {
        Ok(()) => true,
        Err(failure) => {
            terminal::note(failure.message());
            stuck += 1;
            false
        }
    };
    let mut removed = HashSet::new();
    for entry in &all {
        let old = unused.is_some_and(|limit| now.duration_since(entry.used).is_ok_and(|age| age > limit));
        let over = to.is_some_and(|limit| kept + entry.bytes > limit.get());
        if entry.current && !old && !over || !remove(&entry.path) {
            kept += entry.bytes;
            continue;
        }
        (count, bytes) = (count + 1, bytes + entry.bytes);
        removed.insert(entry.key);
    }
    let halves = abandoned.iter().filter(|path| remove(path)).count();
    if !dry_run {
        cache.forget(&removed).map_err(|e| Failure::Failed(e.to_string()))?;
    }
    let what = if dry_run { "would be removed" } else { "removed" };
    let halves = match halves {
        0 => String::new(),
        n => format!(" and {} that a killed run left behind", counted(n, "unfinished file")),
    };
    terminal::print(&format!(
        "{} ({}){halves} {what}, {} left\n",
        counted(count, "entry"),
        terminal::size(bytes),
        terminal::size(kept)
    ))?;
    match stuck {
        0 => Ok(()),
        n => Err(Failure::Failed(format!("could not remove {}", counted(n, "file")))),
    }
}

/// Somebody else may have removed it.
fn remove(path: &Path) -> Result<(), Failure> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::cannot(format!("remove {}", quell_files::name(path)), e))
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
        quell_files::name(to.dir())
    ))?;
    match damaged {
        0 => Ok(()),
        n => Err(Failure::Failed(format!("{} damaged and not copied", counted(n, "entry")))),
    }
}

/// The SQL of a view for DuckDB. Two runs that end at once may both have written a row.
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
