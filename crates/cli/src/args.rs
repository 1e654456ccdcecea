//! Arguments that several commands have, and how values are read.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use quell_lab::{Aim, Quantity};
use quell_units::text::cut;
#[cfg(feature = "theory")]
use quell_units::{BitRate, Duration};

/// The format of printed results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A readable table.
    #[default]
    Table,
    /// JSON.
    Json,
}

/// The format of printed tables of results.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// Readable tables.
    #[default]
    Table,
    /// JSON; docs/results.md describes it.
    Json,
    /// CSV: one row per algorithm, point and link, with interval bounds and the number of seeds.
    Csv,
    /// A Markdown table.
    Md,
    /// A LaTeX tabular for booktabs.
    Latex,
}

/// The format of tables of results.
#[derive(Clone, Debug, Args)]
pub struct TableFormatArgs {
    /// Output format.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: TableFormat,
}

/// The engine that simulates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum EngineChoice {
    /// The fast engine.
    #[default]
    Fast,
    /// The plain engine that the fast one is tested against: the same sample path, but slower.
    Reference,
}

/// The replications whose time series are kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum SeriesChoice {
    /// The replications that the report can draw.
    #[default]
    Drawn,
    /// All replications. Their series take more space than everything else.
    All,
    /// No replication.
    None,
}

/// The output format.
#[derive(Clone, Debug, Args)]
pub struct FormatArgs {
    /// Output format.
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT")]
    pub format: Format,
}

/// Changes to a scenario.
#[derive(Clone, Debug, Args)]
pub struct Changes {
    /// Set a field of the scenario, such as `dumbbell.rate="20 Mbit/s"`, `flows.ftp.count=50` or
    /// `aqm.red.max_th="0.5 * dumbbell.buffer"`.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,
    /// Vary a field over a list (`flows.ftp.count=10,20,50`) or a range (`aqm.red.max_p=0.02..0.2:log:5`, also `:lin:N`
    /// and `:step:S`). Several options run every combination; "A=1,2; B=3,4" varies fields together.
    #[arg(long = "sweep", value_name = "KEY=VALUES")]
    pub sweep: Vec<String>,
}

/// Changes to a scenario, and how to run it.
#[derive(Clone, Debug, Args)]
pub struct SimulationArgs {
    /// Seeds to run: a count ("10" means seeds 1 to 10), a range ("11-20"), a list ("1,5,9"), or "auto", which runs as
    /// many for each algorithm and point as --precision or a comparison needs.
    #[arg(long, value_name = "N|LIST|auto", value_parser = seeds, conflicts_with = "seed")]
    pub seeds: Option<Seeds>,
    /// The precision at which --seeds auto stops: half the width of the 95% interval, as a share of the mean (1%) or a
    /// value in the metric's unit (0.5, "2 ms"). In a comparison, differences smaller than this do not matter.
    #[arg(long, value_name = "METRIC=WIDTH", value_delimiter = ',', value_parser = aim)]
    pub precision: Vec<Aim>,
    /// The most seeds that --seeds auto may use for an algorithm; default: 50.
    #[arg(long, value_name = "N", value_parser = whole(2..=100_000_u32))]
    pub max_seeds: Option<u32>,
    /// Run this one seed, to repeat a single replication.
    #[arg(long, value_name = "SEED", value_parser = whole(0..=u64::MAX))]
    pub seed: Option<u64>,
    /// Algorithms to run, separated by commas; default: all in the scenario. A label from the scenario keeps its
    /// parameters; any other name comes from the catalog, with its defaults and whatever --set changes.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub aqm: Vec<String>,
    #[command(flatten)]
    pub changes: Changes,
    /// Number of threads; default: one per core. Results do not depend on it.
    #[arg(long, value_name = "N", value_parser = whole(1..=4096_u16))]
    pub threads: Option<u16>,
    /// The engine to simulate with.
    #[arg(long, value_enum, default_value_t, value_name = "ENGINE")]
    pub engine: EngineChoice,
    /// Do not show progress.
    #[arg(long, short)]
    pub quiet: bool,
    /// Which replications keep their time series: those that the report can draw (the first seeds, at most ten per
    /// algorithm and about a hundred in all), all, or none.
    #[arg(long, value_enum, default_value_t, value_name = "WHICH")]
    pub series: SeriesChoice,
    /// Where finished replications are kept and reused from.
    #[command(flatten)]
    pub cache: CacheUse,
}

/// The conduct of work on many replications.
#[derive(Clone, Debug, Args)]
pub struct WatchArgs {
    /// Number of threads; default: one per core. Results do not depend on it.
    #[arg(long, value_name = "N", value_parser = whole(1..=4096_u16))]
    pub threads: Option<u16>,
    /// Do not show progress.
    #[arg(long, short)]
    pub quiet: bool,
    /// Where finished replications are kept and reused from.
    #[command(flatten)]
    pub cache: CacheUse,
}

/// The choice of a cache.
#[derive(Clone, Debug, Args)]
pub struct CacheDir {
    /// Cache folder; default: $QUELL_CACHE, or quell in your cache folder.
    #[arg(long, value_name = "DIR", global = true)]
    pub cache: Option<PathBuf>,
}

/// The use that a run makes of the cache.
#[derive(Clone, Debug, Args)]
pub struct CacheUse {
    /// The cache's folder.
    #[command(flatten)]
    pub dir: CacheDir,
    /// Do not read from or write to the cache.
    #[arg(long, conflicts_with_all = ["cache", "fresh", "verify"])]
    pub no_cache: bool,
    /// Run every replication again, even if it is in the cache.
    #[arg(long)]
    pub fresh: bool,
    /// Rerun this share of the cached replications, such as "1%", and fail if any differs.
    #[arg(long, value_name = "SHARE", value_parser = share, conflicts_with = "fresh")]
    pub verify: Option<f64>,
}

/// The metrics that a table of results shows.
#[derive(Clone, Debug, Default, Args)]
pub struct ViewArgs {
    /// Metrics to show, by name or title (`quell show --help` lists them), or "all". Use NAME[CLASS] for one traffic
    /// class, internal:SIGNAL for the mean of an algorithm's internal signal, and A/B for a ratio.
    #[arg(long = "metric", value_name = "NAME", value_delimiter = ',')]
    pub metrics: Vec<String>,
    /// Link to show, or "all" for every link in one table; default: the first bottleneck.
    #[arg(long, value_name = "NAME")]
    pub link: Option<String>,
    /// Also print a table for each traffic class.
    #[arg(long)]
    pub classes: bool,
    /// Also print a table for each segment of the measured window.
    #[arg(long)]
    pub segments: bool,
}

/// A whole number in a range.
pub fn whole<N>(range: RangeInclusive<N>) -> impl Fn(&str) -> Result<N, String> + Clone + Send + Sync
where
    N: FromStr + PartialOrd + Display + Clone + Send + Sync + 'static,
{
    move |text: &str| {
        let number = text.trim().parse().ok().filter(|n| range.contains(n));
        number.ok_or_else(|| format!("must be a whole number from {} to {}", range.start(), range.end()))
    }
}

/// The rates of links: of slower ones a packet takes many seconds, and faster ones no scenario has.
#[cfg(feature = "theory")]
const RATES: [BitRate; 2] = [BitRate::from_bps(1_000), BitRate::from_bps(1_000_000_000_000)];
/// The round-trip times of networks, and some more.
#[cfg(feature = "theory")]
const ROUND_TRIPS: [Duration; 2] = [Duration::from_micros(1), Duration::from_secs(10)];

/// The rate of a link.
#[cfg(feature = "theory")]
pub fn link_rate(text: &str) -> Result<BitRate, String> {
    within(text, RATES)
}

/// A round-trip time without queueing.
#[cfg(feature = "theory")]
pub fn round_trip(text: &str) -> Result<Duration, String> {
    within(text, ROUND_TRIPS)
}

/// A quantity in a range.
#[cfg(feature = "theory")]
fn within<T>(text: &str, [least, most]: [T; 2]) -> Result<T, String>
where
    T: FromStr<Err: Display> + PartialOrd + Display,
{
    let value: T = text.parse().map_err(|why: T::Err| why.to_string())?;
    match least <= value && value <= most {
        true => Ok(value),
        false => Err(format!("must lie between {least} and {most}")),
    }
}

/// Seeds as given on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seeds {
    /// The seeds 1 to this.
    Count(u32),
    /// These seeds.
    List(Vec<u64>),
    /// The seeds 1 to as many as are needed.
    Auto,
}

/// The most seeds in a range; a longer one is almost certainly a typo.
const MAX_SEEDS: u64 = 100_000;

fn seeds(text: &str) -> Result<Seeds, String> {
    if text.trim() == "auto" {
        return Ok(Seeds::Auto);
    }
    let number = |s: &str| {
        s.trim().parse::<u64>().map_err(|_| {
            format!("\"{}\" is not a seed: it must be a whole number of at least 0", cut(s.trim()))
        })
    };
    // A sign is not a range.
    if !text.contains(',') && !text.trim().trim_start_matches('-').contains('-') {
        return match text.trim().parse::<u32>() {
            Ok(n) if n >= 1 && u64::from(n) <= MAX_SEEDS => Ok(Seeds::Count(n)),
            _ => Err(format!(
                "must be a number of seeds (1 to {MAX_SEEDS}), a range, a list, or auto, not \"{}\"",
                cut(text.trim())
            )),
        };
    }
    let mut list = Vec::new();
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        match part.split_once('-') {
            None => list.push(number(part)?),
            Some((first, last)) => {
                let (first, last) = (number(first)?, number(last)?);
                if last < first || last - first >= MAX_SEEDS {
                    return Err(format!("\"{}\" is not a range of 1 to {MAX_SEEDS} seeds", cut(part)));
                }
                list.extend(first..=last);
            }
        }
    }
    if list.is_empty() {
        Err(format!("\"{}\" names no seed: give at least one", cut(text.trim())))
    } else {
        Ok(Seeds::List(list))
    }
}

/// Reads the precision wanted for a metric: `utilization=1%`.
fn aim(text: &str) -> Result<Aim, String> {
    let wrong = || format!("\"{}\" must have the form METRIC=WIDTH, such as utilization=1%", cut(text));
    let (name, width) = text.rsplit_once('=').ok_or_else(wrong)?;
    let metric = metric(name)?;
    let width = metric.read_width(width)?;
    Ok(Aim { metric, width: Some(width) })
}

/// A metric by its name.
pub fn metric(name: &str) -> Result<Quantity, String> {
    name.parse().map_err(|why| format!("metric \"{}\": {why}", cut(name.trim())))
}

pub fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => {
            Ok((key.trim().to_string(), value.trim().to_string()))
        }
        _ => Err("must have the form KEY=VALUE, such as dumbbell.rate=\"20 Mbit/s\"".to_string()),
    }
}

/// A share, "1%" or 0.01.
pub fn share(text: &str) -> Result<f64, String> {
    let (number, unit) = match text.trim().strip_suffix('%') {
        Some(number) => (number, 0.01),
        None => (text, 1.0),
    };
    let share = number.trim().parse::<f64>().ok().map(|x| x * unit);
    share
        .filter(|x| (0.0..=1.0).contains(x))
        .ok_or_else(|| "must be a share from 0% to 100%, such as 1%".to_string())
}

#[cfg(test)]
mod tests {
    use quell_lab::{Metric, Width};

    use super::*;

    #[test]
    fn seeds_are_a_number_a_range_or_a_list() {
        assert_eq!(seeds("5"), Ok(Seeds::Count(5)));
        assert_eq!(seeds("7,"), Ok(Seeds::List(vec![7])));
        assert_eq!(seeds("3, 1-2,9"), Ok(Seeds::List(vec![3, 1, 2, 9])));
        assert_eq!(seeds("auto"), Ok(Seeds::Auto));
        assert_eq!(seeds("4-4"), Ok(Seeds::List(vec![4])));
        for wrong in ["", "0", "x", "-1", "1,x", "5-3", ",", "0-100000", "1.5"] {
            let error = seeds(wrong).unwrap_err();
            // The part that is wrong, as the user wrote it.
            assert!(error.split('"').nth(1).is_some_and(|named| wrong.contains(named)), "{wrong}: {error}");
        }
        assert!(seeds("many").unwrap_err().ends_with("not \"many\""));
    }

    #[test]
    fn widths_have_the_unit_of_their_metric() {
        let width = |text| aim(text).map(|aim| (aim.metric, aim.width.unwrap()));
        assert_eq!(width("utilization=1%"), Ok((Metric::Utilization.into(), Width::Relative(0.01))));
        assert_eq!(
            width("queue_delay_mean_s = 2 ms"),
            Ok((Metric::DelayMean.into(), Width::Absolute(0.002)))
        );
        for wrong in ["", "utilization", "utilization=", "utilization=0", "utilization=-1%", "queue=1%"] {
            assert!(aim(wrong).is_err(), "{wrong}");
        }
        assert!(aim("utilisation=1%").unwrap_err().contains("did you mean \"utilization\"?"));
    }

    #[test]
    fn a_number_that_is_none_is_answered_with_the_rule() {
        let flows = whole(1..=200_000_u32);
        assert_eq!(flows("40"), Ok(40));
        for wrong in ["1.5", "0", "-1", "200001", "many", "", "1e3"] {
            assert_eq!(flows(wrong).unwrap_err(), "must be a whole number from 1 to 200000", "{wrong}");
        }
    }

    #[test]
    fn assignments_split_at_the_first_sign() {
        assert_eq!(assignment("a.b = c=d"), Ok(("a.b".to_string(), "c=d".to_string())));
        assert!(assignment("a").is_err());
        assert!(assignment("=1").is_err());
    }
}
