//! `quell adversary`.

use std::path::{Path, PathBuf};

use quell_files::Limit;
use quell_lab::{Adversaries, Adversary, Axis, Case, Estimate, Goal, Loss};
use quell_units::text::three_digits;
use quell_view::chart::row;
use quell_view::figures::Scale;

use crate::align::{round, scale_of};
use crate::failure::Failure;
use crate::table::{self, Column};
use crate::trials::{DataFormat, TrialArgs, beside, cells, count, figure, goal, heading, range, say_drawn};
use crate::{folder, json, selection, terminal};

/// Arguments of `adversary`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell adversary my.toml --a fq-codel --b pie --metric queue_delay_p99_s --vary flows.ftp.count=1..50
  quell adversary my.toml --a red --b codel --metric goodput_bps --vary flows.ftp.rtt=10ms..200ms:log --save worst.toml
  quell adversary my.toml --a pie --b codel --metric jain_index --bounds bounds.toml --trials 100

The loss of A is its disadvantage in the metric over the larger of both values, per seed. So it is a share of at most \
100%, and swapping A and B changes its sign. The search looks for the largest loss within the bounds, with the same \
seeds in each trial, and then for the largest loss of B. Both cases are confirmed on fresh seeds. --save keeps them as \
scenarios: FILE and, for B, FILE with -swapped in its name. If an algorithm never lost within the bounds, the output \
has the closest case, and its file is not written. docs/how-to/tune.md explains the output.")]
pub struct Args {
    /// The scenario file: a single point, not a sweep.
    #[arg(value_name = "SCENARIO")]
    scenario: PathBuf,
    /// Algorithm that is to lose, by its label or, if the scenario lacks it, its name in the catalog.
    #[arg(long, value_name = "NAME")]
    a: String,
    /// Algorithm to compare it with.
    #[arg(long, value_name = "NAME")]
    b: String,
    /// Metric, by name (`quell show --help` lists them), with :min or :max where its better direction is not clear or
    /// not meant; NAME[CLASS], internal:SIGNAL and A/B work as in `quell run`.
    #[arg(long, value_name = "METRIC", value_parser = goal)]
    metric: Goal,
    /// File of further fields and bounds, such as flows.ftp.count = "1..50", in TOML.
    #[arg(long, value_name = "FILE")]
    bounds: Option<PathBuf>,
    /// Save the worst case of A in this scenario file, and that of B beside it.
    #[arg(long, value_name = "FILE")]
    save: Option<PathBuf>,
    #[command(flatten)]
    trials: TrialArgs,
}

const BOUNDS: Limit = Limit::of_text("a file of bounds");

/// Searches for the traffic under which one algorithm loses most against another.
pub fn run(args: &Args, line: Vec<String>) -> Result<(), Failure> {
    let trials = &args.trials;
    let files = args.save.as_ref().map(|file| [file.clone(), beside(file, "-swapped")]);
    files.iter().flatten().try_for_each(|file| folder::check_writable(file))?;
    let mut over = trials.vary.clone();
    if let Some(file) = &args.bounds {
        over.extend(bounds(file)?);
    }
    let both = [args.a.clone(), args.b.clone()];
    let (document, title) = trials.document(&args.scenario, &both, &[])?;
    let question = Adversary {
        a: args.a.clone(),
        b: args.b.clone(),
        goal: args.metric.clone(),
        over,
        link: trials.link.clone(),
        scope: trials.scope.clone(),
        trials: trials.trials as usize,
        seeds: trials.seeds as usize,
        fresh: trials.check_seeds as usize,
        seed: trials.seed,
    };
    let found = trials.attend(line, |options| question.search(&document, options))?;
    if found.cases.is_empty() {
        return Err(Failure::Interrupted("no case was found yet".to_string()));
    }
    match trials.format {
        DataFormat::Json => json::print(&found)?,
        DataFormat::Csv => terminal::print_data(&csv(&found))?,
        DataFormat::Table => terminal::print(&text(&found, &title))?,
    }
    say_drawn(&found.drawn_starts);
    for (case, file) in found.cases.iter().zip(files.iter().flatten()).filter(|_| !found.interrupted) {
        if case.verdict == Some(Loss::DoesNot) {
            let (name, a, b) = (quell_files::name(file), &case.loser, &case.winner);
            terminal::note(&format!(
                "{name} is not written: no case was found in which {a} loses against {b}"
            ));
            continue;
        }
        folder::write_whole(&case.scenario, file)?;
        let name = quell_files::name(file);
        terminal::say(&format!("saved {name}: quell run {name} --metric \"{}\"", found.goal.metric));
    }
    match found.interrupted {
        false => Ok(()),
        true => Err(Failure::Interrupted(format!(
            "{} finished; run the same command to continue",
            count(found.trials, "trial")
        ))),
    }
}

/// The fields and ranges of a file.
fn bounds(file: &Path) -> Result<Vec<Axis>, Failure> {
    let name = quell_files::name(file);
    let text = quell_files::read_text(file, BOUNDS).map_err(|e| bad_input!("{name}: cannot read: {e}"))?;
    let table: toml::Table =
        text.parse().map_err(|e: toml::de::Error| bad_input!("{name}: not valid TOML: {}", e.message()))?;
    let mut all = Vec::new();
    flatten("", &table, &mut all);
    let axis = |(field, value): (String, &toml::Value)| match value.as_str() {
        Some(range) => format!("{field}={range}").parse().map_err(|why| bad_input!("{name}: {why}")),
        None => Err(bad_input!("{name}: {field} = {value}: must be a range in quotes, such as \"1..50\"")),
    };
    all.into_iter().map(axis).collect()
}

/// The keys of tables in tables, with dots between them.
fn flatten<'a>(prefix: &str, table: &'a toml::Table, all: &mut Vec<(String, &'a toml::Value)>) {
    for (key, value) in table {
        let field = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
        match value {
            toml::Value::Table(inner) => flatten(&field, inner, all),
            value => all.push((field, value)),
        }
    }
}

/// What was found, for people.
fn text(found: &Adversaries, title: &str) -> String {
    let counts = (found.refused, found.without_value);
    let mut text = heading(title, found.trials, &found.seeds, counts);
    for case in &found.cases {
        // Of a search that was stopped, the seeds of the confirmation did not run.
        let is_confirmed = case.loss.is_some() || !found.interrupted;
        text.push_str(&format!(
            "\n{} case of {} against {} at {}, {}:\n",
            if case.verdict == Some(Loss::DoesNot) { "closest" } else { "worst" },
            case.loser,
            case.winner,
            found.link,
            match is_confirmed {
                true => format!("on the fresh {}", range(&found.fresh_seeds)),
                false => "so far".to_string(),
            }
        ));
        for setting in &case.settings {
            text.push_str(&format!("  {} = {}\n", setting.field, setting.value));
        }
        text.push('\n');
        if !is_confirmed {
            let says = format!(
                "stopped before the confirmation: on {} of the trials, a mean relative loss of {}%. Nothing is saved.\n",
                range(&found.seeds),
                three_digits(case.searched_loss * 100.0)
            );
            text.push_str(&terminal::prose(&says));
            continue;
        }
        let names = Column::names("algorithm", [&case.loser, &case.winner]);
        let values = [case.loser_value, case.winner_value];
        let scale = |largest| scale_of(&found.goal.metric, &found.unit, largest);
        text.push_str(&table::figures(&names, &[selection::column(&found.goal.metric, &values, scale)]));
        text.push_str(&terminal::prose(&(conclusion(found, case) + "\n")));
    }
    if found.cases.iter().any(|case| case.loss.is_some()) {
        text.push_str(
            "\nmean ± half-width of the 95% interval over the fresh seeds; differences are paired by seed\n",
        );
    }
    text
}

/// What a case says of the loser.
fn conclusion(found: &Adversaries, case: &Case) -> String {
    let (a, b, metric) = (&case.loser, &case.winner, found.goal.metric.title());
    let percent = |e: &Estimate| {
        let figure = round(e, Scale { factor: 100.0, unit: "%" }, false);
        format!("{} {}", figure.mean, figure.interval()).trim().to_string() + "%"
    };
    let (Some(loss), Some(difference)) = (&case.loss, &case.difference) else {
        return format!("{metric} of {a} and {b} is not known for all fresh seeds");
    };
    let like = case.loser_value.map_or(0.0, |e| e.mean.abs());
    let difference = figure(&found.goal.metric, &found.unit, difference, like, true);
    let figures = format!("a relative loss of {}, a difference of {difference}", percent(loss));
    match case.verdict {
        Some(Loss::Loses) => format!("{a} loses against {b} in {metric}: {figures}"),
        Some(Loss::DoesNot) if case.searched_loss <= 0.0 => {
            format!(
                "{a} never lost against {b} in {metric} within the bounds. This is the closest case: {figures}"
            )
        }
        Some(Loss::DoesNot) => format!(
            "{a} lost against {b} in {metric} only on the seeds of the trials. On the fresh seeds, this case has {figures}"
        ),
        Some(Loss::Undecided) | None => format!(
            "it is not decided whether {a} loses against {b} in {metric}: the interval holds 0 ({figures})"
        ),
    }
}

/// A row per case.
fn csv(found: &Adversaries) -> String {
    let mut out = String::new();
    let three = |name: &str| [name.to_string(), format!("{name} low"), format!("{name} high")];
    let metric = found.goal.metric.to_string();
    let heads = ["loser", "winner", "seeds"].map(str::to_string).into_iter();
    let figures = ["loss".to_string(), format!("{metric} loser"), format!("{metric} winner")];
    let figures = figures.into_iter().chain([format!("{metric} difference")]);
    row(&mut out, heads.chain(found.fields.iter().cloned()).chain(figures.flat_map(|name| three(&name))));
    for case in &found.cases {
        let seeds = found.fresh_seeds.len().to_string();
        let start = [case.loser.clone(), case.winner.clone(), seeds];
        let settings = case.settings.iter().map(|s| s.value.clone());
        let figures = [&case.loss, &case.loser_value, &case.winner_value, &case.difference];
        let figures = figures.into_iter().flat_map(|e| cells(e.as_ref()));
        row(&mut out, start.into_iter().chain(settings).chain(figures));
    }
    out
}
