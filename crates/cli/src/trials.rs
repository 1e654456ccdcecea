//! What commands share that make trials of a scenario: their arguments, and words for what came of them.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use quell_lab::{Axis, Estimate, Goal, Options, Quantity, Series, files_in};
use quell_scenario::{Document, Point, Setting};
use quell_units::text::{cut, one_line};

use crate::align::{align, round, scale_of};
use crate::args::{Changes, WatchArgs, whole};
use crate::failure::Failure;
use crate::simulate::{self, Chosen, Watch};
use crate::table::{Column, Tint};
use crate::terminal;

/// Arguments of commands that make trials.
#[derive(Debug, clap::Args)]
pub struct TrialArgs {
    /// Field to vary and its ends: FIELD=FROM..TO, with :log at the end for a logarithmic axis. A range as in --sweep
    /// (FROM..TO:log:N, :lin:N or :step:S) tries only its values. Give one per field.
    #[arg(long, value_name = "AXIS")]
    pub vary: Vec<Axis>,
    /// The link; default: the first bottleneck.
    #[arg(long, value_name = "NAME")]
    pub link: Option<String>,
    /// Traffic: all, data (all but acknowledgments) or a class.
    #[arg(long, value_name = "CLASS", default_value = "all")]
    pub scope: String,
    /// Most trials of a search.
    #[arg(long, value_name = "N", default_value = "50", value_parser = whole(1..=100_000_u32))]
    pub trials: u32,
    /// Seeds of each trial, the same ones for all: 1, 2, ... up to this.
    #[arg(long, value_name = "N", default_value = "3", value_parser = whole(1..=10_000_u32))]
    pub seeds: u32,
    /// Fresh seeds for the final results: those that follow the seeds of the trials.
    #[arg(long, value_name = "N", default_value = "20", value_parser = whole(1..=10_000_u32))]
    pub check_seeds: u32,
    /// Seed of the search itself. The same one gives the same trials.
    #[arg(long, value_name = "SEED", default_value = "1", value_parser = whole(0..=u64::MAX))]
    pub seed: u64,
    #[command(flatten)]
    pub changes: Changes,
    #[command(flatten)]
    pub watch: WatchArgs,
    /// Output format.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: DataFormat,
}

/// The format of what a search found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum DataFormat {
    /// Readable tables.
    #[default]
    Table,
    /// JSON.
    Json,
    /// CSV.
    Csv,
}

impl TrialArgs {
    /// Reads the scenario with its changes. Files that it names have their whole path, so that a scenario which is
    /// saved elsewhere finds them. `asked` must be there or in the catalog; `named` run if they are.
    pub fn document(
        &self,
        path: &Path,
        asked: &[String],
        named: &[String],
    ) -> Result<(Document, String), Failure> {
        let mut document = simulate::document(path)?;
        let is_file = path.to_str() != Some("-") && !quell_files::is_given(path);
        let folder = path.parent().filter(|_| is_file).unwrap_or(Path::new(""));
        if let Ok(folder) = std::path::absolute(folder.join(".")) {
            document = document.among(files_in(&folder));
        }
        let named = [asked, named].concat();
        for name in &named {
            document.add_algorithm(name);
        }
        let chosen = Chosen { aqm: &named, baseline: None };
        let (study, document) = simulate::changed_of(document, &self.changes, None, chosen)?;
        let labels: Vec<String> =
            study.points[0].scenario.aqm.iter().map(|aqm| aqm.label().to_string()).collect();
        asked.iter().try_for_each(|name| simulate::check_algorithm(name, &labels))?;
        self.say_own(&study.points[0]);
        Ok((document, study.title().to_string()))
    }

    /// Says which links have an algorithm of their own, so that a field of the compared one does not reach it.
    fn say_own(&self, point: &Point) {
        for axis in &self.vary {
            let Some((label, field)) = axis.name.strip_prefix("aqm.").and_then(|name| name.split_once('.'))
            else {
                continue;
            };
            let Some(choice) = point.scenario.aqm.iter().find(|choice| choice.label() == label) else {
                continue;
            };
            let is_own = |link: &String| {
                let there = point.scenario.algorithms_at(link, label);
                there.iter().any(|at| at.is_own && at.choice.algorithm == choice.algorithm)
            };
            let links: Vec<String> =
                point.links().into_iter().filter(is_own).map(|link| one_line(&link)).collect();
            if !links.is_empty() {
                terminal::note(&format!(
                    "{}: {} has {label} of its own, whose {field} stays; vary that of the link itself, such as \
                     graph.links[0].reverse.aqm.{field}",
                    axis.name,
                    links.join(" and ")
                ));
            }
        }
    }

    /// Does the work with progress.
    pub fn attend<T>(&self, line: Vec<String>, work: impl FnOnce(&Options<'_>) -> T) -> T {
        let watch = Watch::of(&self.watch).with_series(Series::None);
        let done = watch.attend((0, 1), line, work);
        watch.finish();
        done
    }
}

/// A metric with a direction.
pub fn goal(text: &str) -> Result<Goal, String> {
    text.parse().map_err(|why| format!("metric \"{}\": {why}", cut(text.trim())))
}

/// The start of a search's report: its title, and which trials were made.
pub fn heading(
    title: &str,
    trials: usize,
    seeds: &[u64],
    (refused, without_value): (usize, usize),
) -> String {
    let mut text = if title.is_empty() { String::new() } else { one_line(title) + "\n\n" };
    let _ = write!(text, "{}, each with {}", count(trials, "trial"), range(seeds));
    if refused > 0 {
        let _ = write!(text, "; {refused} refused by the scenario");
    }
    if without_value > 0 {
        let _ = write!(text, "; {without_value} without a value for each seed");
    }
    text + "\n"
}

/// Says which start times the seeds draw, though the scenario gives one time.
pub fn say_drawn(drawn: &[String]) {
    if !drawn.is_empty() {
        terminal::note(&format!(
            "start times are drawn, so that each seed is another load: {}",
            cut(&drawn.join(", "))
        ));
    }
}

/// Seeds that follow each other, in words.
pub fn range(seeds: &[u64]) -> String {
    match seeds {
        [] => "no seed".to_string(),
        [one] => format!("seed {one}"),
        [first, .., last] => format!("seeds {first}-{last}"),
    }
}

/// A number of things.
pub fn count(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

/// A column per field, with the unit below its name where all values have it.
pub fn setting_columns(rows: &[&[Setting]]) -> Vec<Column> {
    let fields = rows.first().map_or(0, |row| row.len());
    let column = |i: usize| {
        let cells = rows.iter().map(|row| match row[i].value.as_str() {
            "" => ("–".to_string(), Tint::Plain),
            value => (one_line(value), Tint::Plain),
        });
        Column::new(one_line(&rows[0][i].field), "", cells)
    };
    (0..fields).map(column).collect()
}

/// A column of differences; a star marks those whose interval excludes 0.
pub fn differences(metric: &Quantity, unit: &str, all: &[Option<Estimate>]) -> Column {
    let largest = all.iter().flatten().map(|e| e.mean.abs()).fold(0.0, f64::max);
    let (scale, unit) = scale_of(metric, unit, largest);
    let figures: Vec<_> = all.iter().map(|d| d.as_ref().map(|d| round(d, scale, true))).collect();
    let star = |(text, d): (String, &Option<Estimate>)| {
        let star = if d.is_some_and(|d| d.excludes_zero()) { "*" } else { " " };
        (format!("{text} {star}"), Tint::Plain)
    };
    Column::new("difference", unit, align(&figures).into_iter().zip(all).map(star))
}

/// A figure with its interval and unit, on the scale of `like`.
pub fn figure(metric: &Quantity, unit: &str, estimate: &Estimate, like: f64, signed: bool) -> String {
    let (scale, unit) = scale_of(metric, unit, like);
    let figure = round(estimate, scale, signed);
    let text = format!("{} {}", figure.mean, figure.interval());
    match unit.as_str() {
        "" => text.trim().to_string(),
        "%" => format!("{}%", text.trim()),
        unit => format!("{} {unit}", text.trim()),
    }
}

/// An estimate for CSV: its mean and the ends of its interval.
pub fn cells(estimate: Option<&Estimate>) -> [String; 3] {
    let ends = estimate.and_then(Estimate::interval);
    [estimate.map(|e| e.mean), ends.map(|i| i.0), ends.map(|i| i.1)]
        .map(|x| x.map_or(String::new(), |x| x.to_string()))
}

/// Refuses a folder that has something in it: what is there might be lost, or be taken for what is new.
pub fn check_empty(folder: &Path) -> Result<(), Failure> {
    let name = quell_files::name(folder);
    match std::fs::read_dir(folder) {
        Ok(mut entries) => match entries.next() {
            Some(_) => Err(bad_input!("--save {name}: is not empty; name a new folder")),
            None => Ok(()),
        },
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        Err(e) => Err(Failure::cannot(format!("save to {name}"), e)),
    }
}

/// The file beside another one, with something at the end of its name: `worst-swapped.toml`.
pub fn beside(file: &Path, end: &str) -> PathBuf {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy();
    let extension = file.extension().map_or(String::new(), |e| format!(".{}", e.to_string_lossy()));
    file.with_file_name(format!("{stem}{end}{extension}"))
}
