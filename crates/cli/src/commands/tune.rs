//! `quell tune`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use quell_lab::{Check, Estimate, Goal, Kind, Tune, Tuned, Verdict};
use quell_scenario::Setting;
use quell_view::chart::row;

use crate::align::scale_of;
use crate::failure::Failure;
use crate::table::{self, Column};
use crate::trials::{
    DataFormat, TrialArgs, cells, check_empty, count, differences, figure, goal, heading, range, say_drawn,
    setting_columns,
};
use crate::{folder, json, selection, terminal};

/// Arguments of `tune`.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  quell tune my.toml --vary aqm.red.max_p=0.01..0.5:log --for queue_delay_p99_s
  quell tune my.toml --vary aqm.red.max_p=0.01..0.5:log --for queue_delay_p99_s --against goodput_bps
  quell tune my.toml --vary \"aqm.codel.target=1..50 ms:log:20\" --for power --trials 20 --save tuned
  quell tune my.toml --vary dumbbell.buffer=10..500packets:log --for mark_rate:min --aqm red --seeds 5

Every trial runs the same seeds, so that trials differ only by the fields (common random numbers). The search fills \
the ranges evenly and then narrows them down around the best settings (direct multisearch). The final results come \
from fresh seeds that no trial had, beside those of the scenario as it is and of the ends of each range. Start times that \
the scenario fixes are drawn by the seed, within a second. A setting that the scenario refuses counts as a trial. \
Ctrl-C stops the search and prints the best so far; the same command continues from the cache. docs/how-to/tune.md \
explains the output.")]
pub struct Args {
    /// The scenario file: a single point, not a sweep.
    #[arg(value_name = "SCENARIO")]
    scenario: PathBuf,
    /// Metric to improve, by name (`quell show --help` lists them), with :min or :max where its better direction is not
    /// clear or not meant; NAME[CLASS], internal:SIGNAL and A/B work as in `quell run`.
    #[arg(long = "for", value_name = "METRIC", value_parser = goal)]
    goal: Goal,
    /// A second metric: find the settings with which neither gets better unless the other gets worse (Pareto front).
    #[arg(long, value_name = "METRIC", value_parser = goal)]
    against: Option<Goal>,
    /// Algorithm, by its label or, if the scenario lacks it, its name in the catalog; default: the one that the fields
    /// name, or the scenario's only one.
    #[arg(long, value_name = "NAME")]
    aqm: Option<String>,
    /// Save the scenarios of the final results and all trials in this new folder.
    #[arg(long, value_name = "DIR")]
    save: Option<PathBuf>,
    #[command(flatten)]
    trials: TrialArgs,
}

/// Searches for the best values of fields.
pub fn run(args: &Args, line: Vec<String>) -> Result<(), Failure> {
    args.save.as_deref().map_or(Ok(()), check_empty)?;
    let trials = &args.trials;
    // Without --aqm, those that the fields name.
    let of_field = |name: &str| {
        let label = name.strip_prefix("aqm.")?.split(['.', '[']).next()?;
        Some(label.to_string())
    };
    let named: Vec<String> = trials.vary.iter().filter_map(|axis| of_field(&axis.name)).collect();
    let asked: Vec<String> = args.aqm.iter().cloned().collect();
    let (document, title) = trials.document(&args.scenario, &asked, &named)?;
    let question = Tune {
        over: trials.vary.clone(),
        goals: std::iter::once(&args.goal).chain(&args.against).cloned().collect(),
        algorithm: args.aqm.clone(),
        link: trials.link.clone(),
        scope: trials.scope.clone(),
        trials: trials.trials as usize,
        seeds: trials.seeds as usize,
        fresh: trials.check_seeds as usize,
        seed: trials.seed,
    };
    let found = trials.attend(line, |options| question.search(&document, options))?;
    if found.trials.is_empty() {
        return Err(Failure::Interrupted("no trial finished".to_string()));
    }
    match trials.format {
        DataFormat::Json => json::print(&found)?,
        DataFormat::Csv => terminal::print_data(&csv(&found))?,
        DataFormat::Table => terminal::print(&text(&found, &title))?,
    }
    say_drawn(&found.drawn_starts);
    // The same command, which continues, needs the folder empty.
    if let Some(dir) = args.save.as_ref().filter(|_| !found.interrupted) {
        save(&found, dir)?;
    }
    match found.interrupted {
        false => Ok(()),
        true => Err(Failure::Interrupted(format!(
            "{} finished; run the same command to continue",
            count(found.trials.len(), "trial")
        ))),
    }
}

/// What was found, for people.
fn text(found: &Tuned, title: &str) -> String {
    let counts = (found.refused(), found.without_value());
    let mut text = heading(title, found.trials.len(), &found.seeds, counts);
    let checked = found.checks.iter().any(|check| check.values.iter().any(Option::is_some));
    text.push_str(&format!("{} at {}", found.algorithm, found.link));
    if !checked {
        text.push_str(", the best so far, on the seeds of the trials:\n\n");
        return text + &so_far(found);
    }
    text.push_str(&format!(", on the fresh {}:\n\n", range(&found.fresh_seeds)));
    text.push_str(&checks(found));
    text.push_str(
        "\nmean ± half-width of the 95% interval over the fresh seeds; differences from the scenario as ",
    );
    text.push_str("it is, paired by seed; * the interval excludes 0\n");
    text.push_str(&refusals(found));
    match (found.verdict, found.goals.as_slice(), found.checks.last()) {
        (Some(verdict), [goal], Some(best)) => text.push_str(&conclusion(found, goal, verdict, best)),
        _ => text.push_str(&of_front(found)),
    }
    text
}

/// The settings that were checked, as a table.
fn checks(found: &Tuned) -> String {
    let checks: Vec<&Check> = found.checks.iter().filter(|check| check.refused.is_none()).collect();
    let names = Column::names("setting", checks.iter().map(|check| name(found, check.kind)));
    let settings: Vec<&[Setting]> = checks.iter().map(|check| check.settings.as_slice()).collect();
    let mut columns = setting_columns(&settings);
    for (i, (goal, unit)) in found.goals.iter().zip(&found.units).enumerate() {
        let values: Vec<Option<Estimate>> = checks.iter().map(|check| check.values[i]).collect();
        let scale = |largest| scale_of(&goal.metric, unit, largest);
        columns.push(selection::column(&goal.metric, &values, scale));
        let all: Vec<Option<Estimate>> = checks.iter().map(|check| check.differences[i]).collect();
        columns.push(differences(&goal.metric, unit, &all));
    }
    table::figures(&names, &columns)
}

/// The best trials, on their own seeds, as a table.
fn so_far(found: &Tuned) -> String {
    let front: Vec<_> = found.front.iter().map(|i| &found.trials[*i]).collect();
    let names = Column::names("setting", front.iter().map(|_| name(found, Kind::Best)));
    let text = |at: f64, unit: &String| if unit.is_empty() { at.to_string() } else { format!("{at} {unit}") };
    let settings = |at: &[f64]| -> Vec<Setting> {
        let fields = found.fields.iter().zip(&found.field_units).zip(at);
        fields.map(|((field, unit), x)| Setting { field: field.clone(), value: text(*x, unit) }).collect()
    };
    let rows: Vec<Vec<Setting>> = front.iter().map(|trial| settings(&trial.at)).collect();
    let mut columns = setting_columns(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>());
    for (i, (goal, unit)) in found.goals.iter().zip(&found.units).enumerate() {
        let value = |values: &Vec<f64>| Estimate { mean: values[i], half_width: None, n: found.seeds.len() };
        let values: Vec<Option<Estimate>> =
            front.iter().map(|trial| trial.values.as_ref().map(value)).collect();
        let scale = |largest| scale_of(&goal.metric, unit, largest);
        columns.push(selection::column(&goal.metric, &values, scale));
    }
    table::figures(&names, &columns)
}

fn name(found: &Tuned, kind: Kind) -> &'static str {
    match kind {
        Kind::Own => "scenario",
        Kind::End => "end of range",
        Kind::Best if found.goals.len() > 1 => "front",
        Kind::Best => "best",
    }
}

/// The ends that the scenario refuses, and why.
fn refusals(found: &Tuned) -> String {
    let line = |check: &Check| {
        let why = check.refused.as_ref()?;
        let settings = check.settings.iter().map(|s| format!("{} = {}", s.field, s.value));
        Some(format!("refused: {}: {why}\n", settings.collect::<Vec<_>>().join(", ")))
    };
    terminal::prose(&found.checks.iter().filter_map(line).collect::<String>())
}

/// Whether the best setting is better than the scenario's own.
fn conclusion(found: &Tuned, goal: &Goal, verdict: Verdict, best: &Check) -> String {
    let metric = goal.metric.title();
    let setting = best.settings.iter().map(|s| format!("{} = {}", s.field, s.value)).collect::<Vec<_>>();
    let setting = setting.join(", ");
    let like = best.values[0].map_or(0.0, |e| e.mean.abs());
    let change =
        best.differences[0].map_or(String::new(), |d| figure(&goal.metric, &found.units[0], &d, like, true));
    let ends = found.checks.iter().filter(|check| check.kind == Kind::End);
    let at_end = ends.filter(|end| is_as_good(goal, end, best)).map(|end| {
        let setting: Vec<String> =
            end.settings.iter().map(|s| format!("{} = {}", s.field, s.value)).collect();
        format!(
            "An end of the range, {}, is as good on the fresh seeds or better: widen the range there\n",
            setting.join(", ")
        )
    });
    let at_end: String = at_end.collect();
    let sentence = match verdict {
        Verdict::Better => format!("{setting} improves {metric} over the scenario as it is: {change}"),
        Verdict::Worse => format!(
            "{setting} was the best in the trials, but {metric} is worse than that of the scenario as it is: {change}. \
             Keep what the scenario has"
        ),
        Verdict::Undecided => format!(
            "{setting} is the best found, but {metric} is not distinguishable from that of the scenario as it is: \
             the interval of the difference ({change}) holds 0"
        ),
        Verdict::NoInterval => format!(
            "{setting} is the best found: {metric} differs by {change} from the scenario as it is. There is no \
             interval, because there is one fresh seed or nothing is left to chance"
        ),
        Verdict::Same => format!("{setting} is the best found, and what the scenario has"),
    };
    terminal::prose(&(sentence + "\n" + &at_end))
}

/// Says whether an end of the range has a mean on the fresh seeds that is not worse than that of the best setting, and
/// is another setting.
fn is_as_good(goal: &Goal, end: &Check, best: &Check) -> bool {
    match (end.values[0], best.values[0]) {
        (Some(end_value), Some(best_value)) if end.settings != best.settings => {
            let gain = end_value.mean - best_value.mean;
            if goal.less { gain <= 0.0 } else { gain >= 0.0 }
        }
        _ => false,
    }
}

/// How much of the front is shown.
fn of_front(found: &Tuned) -> String {
    let shown = found.checks.iter().filter(|check| check.kind == Kind::Best).count();
    match found.goals.len() > 1 && found.front.len() > shown {
        true => format!(
            "the front of the trials has {} settings, of which {shown} are checked\n",
            found.front.len()
        ),
        false => String::new(),
    }
}

/// All trials and final results: a row each, and what they are of.
fn csv(found: &Tuned) -> String {
    let mut out = String::new();
    let unit = |(field, unit): (&String, &String)| match unit.as_str() {
        "" => field.clone(),
        unit => format!("{field} ({unit})"),
    };
    let metrics = found.goals.iter().flat_map(|goal| {
        let name = goal.metric.to_string();
        [name.clone(), format!("{name} low"), format!("{name} high")]
    });
    let fields = found.fields.iter().zip(&found.field_units).map(unit);
    let heads = ["kind", "seeds"].map(str::to_string).into_iter().chain(fields).chain(metrics);
    row(&mut out, heads.chain(["refused".to_string()]));
    for (i, trial) in found.trials.iter().enumerate() {
        let kind = if found.front.contains(&i) { "trial, on the front" } else { "trial" };
        let values = (0..found.goals.len()).flat_map(|g| {
            let value = trial.values.as_ref().map_or(String::new(), |values| values[g].to_string());
            [value, String::new(), String::new()]
        });
        let start = [kind.to_string(), found.seeds.len().to_string()];
        let at = trial.at.iter().map(f64::to_string);
        let refused = trial.refused.clone().unwrap_or_default();
        row(&mut out, start.into_iter().chain(at).chain(values).chain([refused]));
    }
    for check in &found.checks {
        let start = [name(found, check.kind).to_string(), found.fresh_seeds.len().to_string()];
        let values = check.values.iter().flat_map(|value| cells(value.as_ref()));
        let at = check.settings.iter().zip(&found.field_units).map(|(setting, unit)| {
            // The unit is in the header.
            setting.value.strip_suffix(unit.as_str()).unwrap_or(&setting.value).trim().to_string()
        });
        let refused = check.refused.clone().unwrap_or_default();
        row(&mut out, start.into_iter().chain(at).chain(values).chain([refused]));
    }
    out
}

/// Saves the scenarios of the final results, and all trials.
fn save(found: &Tuned, dir: &Path) -> Result<(), Failure> {
    let mut files = BTreeMap::from([(dir.join("trials.csv"), csv(found).into_bytes())]);
    let mut number = BTreeMap::new();
    for check in found.checks.iter().filter(|check| check.refused.is_none()) {
        let name = name(found, check.kind).split(' ').next().unwrap_or_default();
        let n = number.entry(name).or_insert(0);
        *n += 1;
        let file = match name {
            "end" | "front" => format!("{name}-{n}.toml"),
            name => format!("{name}.toml"),
        };
        files.insert(dir.join(file), check.scenario.clone().into_bytes());
    }
    let count = files.len();
    folder::write_all(&files, dir)?;
    terminal::say(&format!("saved {count} files in {}", quell_files::name(dir)));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: Kind, value: &str, mean: f64) -> Check {
        Check {
            kind,
            settings: vec![Setting { field: "aqm.codel.target".into(), value: value.into() }],
            values: vec![Some(Estimate { mean, half_width: None, n: 4 })],
            differences: vec![None],
            refused: None,
            scenario: String::new(),
        }
    }

    #[test]
    fn an_end_that_is_as_good_is_found() {
        let best = check(Kind::Best, "1.301 ms", 5.61);
        for (goal, mean, is) in [
            ("queue_delay_p99_s", 5.58, true),
            ("queue_delay_p99_s", 5.61, true),
            ("queue_delay_p99_s", 5.62, false),
            ("goodput_bps", 5.58, false),
            ("goodput_bps", 5.62, true),
        ] {
            let goal: Goal = goal.parse().unwrap();
            assert_eq!(is_as_good(&goal, &check(Kind::End, "1 ms", mean), &best), is, "{goal:?} {mean}");
        }
        // The best setting is the end itself.
        let goal: Goal = "queue_delay_p99_s".parse().unwrap();
        assert!(!is_as_good(&goal, &check(Kind::End, "1.301 ms", 5.61), &best));
    }
}
