//! The scenario that a load and a link make.

use quell_aqm::catalog::{self, CATALOG};
use quell_names::{suggest, unknown};
use quell_scenario::{Plugins, Study};
use quell_units::Duration;
use quell_units::text::cut;

use crate::error::PresetError;
use crate::preset::{Link, Load, find_link, find_load};

/// Values of a scenario in place of those that its load and its link say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The algorithms, by their names in the catalog; none: those of the load.
    pub aqm: Vec<String>,
    /// The time that is simulated; default: what the load says, or the longest that the link allows. The warm-up shrinks
    /// with it.
    pub duration: Option<Duration>,
}

/// The packet size by which algorithms convert packets to bytes, whichever group of flows comes first: a full frame.
const MEAN_PACKET: &str = "1514 B";

/// Writes the scenario file of a load over a link, whole and with comments. It has been checked.
///
/// # Errors
/// If a name does not exist, with the one that may have been meant, or if the algorithms or the duration do not suit the
/// link.
pub fn scenario(load: &str, link: &str, options: &Options) -> Result<String, PresetError> {
    let (load, link) = (find_load(load)?, find_link(link)?);
    for name in &options.aqm {
        if catalog::find(name).is_none() {
            let names: Vec<&str> = CATALOG.iter().map(|entry| entry.name).collect();
            let (rule, nearest) = unknown("algorithm", name, &names);
            let known = format!("known: {}", names.join(", "));
            let rule = suggest(&rule, nearest.as_deref(), Some(&known));
            return Err(PresetError(format!("algorithm \"{}\": {rule}", cut(name))));
        }
    }
    let text = write(load, link, options);
    let name = format!("{} over {}", load.preset.name, link.preset.name);
    Study::parse(&text, &name, &Plugins::new()).map_err(|error| PresetError(error.to_string()))?;
    Ok(text)
}

/// The time that is simulated, and that from which figures count.
fn times(load: &Load, link: &Link, asked: Option<Duration>) -> (Duration, Duration) {
    let longest = link.longest.map_or(load.duration, |longest| longest.min(load.duration));
    let duration = asked.unwrap_or(longest);
    // A quarter, in whole microseconds, which are written without a fraction.
    let quarter = Duration::from_micros(duration.nanos() / 4000);
    (duration, load.warmup.min(quarter))
}

fn write(load: &Load, link: &Link, options: &Options) -> String {
    let (duration, warmup) = times(load, link, options.duration);
    let (of, over) = (&load.preset, &link.preset);
    let mut out = format!(
        "# {} over {}, as `quell new {} --link {}` wrote it.\n#\n",
        of.title, over.title, of.name, over.name
    );
    remark(&mut out, &format!("Load: {}", of.about));
    remark(&mut out, &format!("Link: {}", over.about));
    remark(&mut out, &format!("Sizes: {}.", link.layer));
    out.push_str("#\n# Where the numbers come from:\n");
    for (kind, preset) in [("link", over), ("load", of)] {
        for (what, source) in &preset.sources {
            remark(&mut out, &format!("- {kind}, {what}: {source}."));
        }
    }
    remark(&mut out, &format!("Most informative: --metric '{}'", load.metrics.join(",")));
    let title = format!("{} over {}", of.title, over.title);
    out.push_str(&format!(
        "\nschema = 1\ntitle = {}\ndialect = \"linux\" # hosts as deployed: CUBIC, SACK, delayed acknowledgments\n\n",
        toml::Value::String(title)
    ));
    out.push_str(&format!("duration = \"{duration}\"\nwarmup = \"{warmup}\"\nseeds = 3\n"));
    out.push_str(&format!(
        "mean_packet = \"{MEAN_PACKET}\" # algorithms use it to convert packets to bytes\n\n"
    ));
    out.push_str(&changes_until(over.text.trim_end(), duration));
    let names = if options.aqm.is_empty() { &load.aqm } else { &options.aqm };
    for name in names {
        out.push_str(&format!("\n\n[[aqm]]\nalgorithm = \"{name}\""));
        let parameters = link.parameters.get(name).into_iter().flatten();
        for (key, value) in parameters {
            out.push_str(&format!("\n{key} = {value} # for this link; the default is for the Internet"));
        }
    }
    out.push_str("\n\n# Flows without `rtt` have the link's round-trip time.\n");
    out.push_str(of.text.trim_end());
    out.push('\n');
    out
}

/// The widest line of a comment.
const WIDTH: usize = 118;

/// Writes a comment in lines.
fn remark(out: &mut String, text: &str) {
    let mut line = String::from("#");
    for word in text.split_whitespace() {
        if line.len() + 1 + word.len() > WIDTH && line.len() > 3 {
            out.push_str(&line);
            out.push('\n');
            line = String::from("#  ");
        }
        line.push(' ');
        line.push_str(word);
    }
    out.push_str(&line);
    out.push('\n');
}

/// The text of a link without those of its changes that come after the end, which a scenario refuses. Each change is a
/// line that begins with its time.
fn changes_until(text: &str, end: Duration) -> String {
    let late = |line: &str| {
        let line = line.trim_start();
        let time = ["[\"", "{ at = \""].into_iter().find_map(|head| line.strip_prefix(head));
        let time = time.and_then(|rest| rest.split_once('"')).and_then(|(time, _)| time.parse().ok());
        time.is_some_and(|at: Duration| at >= end)
    };
    let mut lines: Vec<&str> = text.lines().filter(|line| !late(line)).collect();
    if lines.len() < text.lines().count() {
        lines.insert(0, "# Later changes are left out because the run ends before them.");
    }
    lines.join("\n")
}
