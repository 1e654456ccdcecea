//! The links and loads, as their files say them.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use quell_names::{suggest, unknown};
use quell_units::Duration;
use quell_units::text::cut;
use serde::Deserialize;

use crate::error::PresetError;

/// The names, words and sources that links and loads have.
#[derive(Clone, Debug, PartialEq)]
pub struct Preset {
    /// The name by which it is called, which is that of its file.
    pub name: &'static str,
    /// The name for titles: "home cable".
    pub title: String,
    /// The sentence that says what it is.
    pub about: String,
    /// Other names by which it is found.
    pub aliases: Vec<String>,
    /// The source of each of its numbers: of what, and the source. Where none has been read, the source says so.
    pub sources: Vec<(String, String)>,
    /// Its text as a part of a scenario file, comments included.
    pub text: &'static str,
}

/// A link: rates, delay, buffers and changes, in both directions.
#[derive(Clone, Debug, PartialEq)]
pub struct Link {
    /// Its names, words and sources; its text is a `[dumbbell]`.
    pub preset: Preset,
    /// The layer whose sizes its packets have, and what that means for its rates.
    pub layer: String,
    /// The longest time that is worth simulating, because it carries so many packets.
    pub longest: Option<Duration>,
    /// Parameters that algorithms have here in place of their defaults.
    pub parameters: BTreeMap<String, toml::Table>,
}

/// A load: groups of flows, whose numbers follow the link.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Its names, words and sources; its text is a list of `[[flows]]`.
    pub preset: Preset,
    /// The time for which it is simulated, the warm-up included.
    pub duration: Duration,
    /// The time from which figures count.
    pub warmup: Duration,
    /// The algorithms that are compared unless others are named.
    pub aqm: Vec<String>,
    /// The metrics that say most of it.
    pub metrics: Vec<String>,
}

/// The algorithms that are compared where neither a load nor a user names some.
const AQM: [&str; 5] = ["drop-tail", "pie", "codel", "fq-codel", "cake"];

/// The table `[preset]` of a file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Words {
    title: String,
    about: String,
    aliases: Vec<String>,
    sources: Vec<(String, String)>,
    layer: Option<String>,
    longest: Option<Duration>,
    #[serde(default)]
    parameters: BTreeMap<String, toml::Table>,
    duration: Option<Duration>,
    warmup: Option<Duration>,
    aqm: Option<Vec<String>>,
    #[serde(default)]
    metrics: Vec<String>,
}

/// Reads a file: its `[preset]`, and the part of a scenario that begins with the line `head`. Tests read every file.
fn read(name: &'static str, file: &'static str, head: &str) -> (Preset, Words) {
    #[derive(Deserialize)]
    struct File {
        preset: Words,
    }
    // The file is compiled in, and a test reads each.
    let sound = format!("the file of \"{name}\" is sound");
    let at = file.find(&format!("\n{head}\n")).expect(&sound) + 1;
    // Comments right above the first table belong to it.
    let above = file[..at].rfind("\n\n").map_or(at, |blank| blank + 2);
    let (words, text) = file.split_at(above);
    let File { preset: mut words } = toml::from_str(words).expect(&sound);
    let preset = Preset {
        name,
        title: std::mem::take(&mut words.title),
        about: std::mem::take(&mut words.about),
        aliases: std::mem::take(&mut words.aliases),
        sources: std::mem::take(&mut words.sources),
        text,
    };
    (preset, words)
}

fn link(name: &'static str, file: &'static str) -> Link {
    let (preset, words) = read(name, file, "[dumbbell]");
    let layer = words.layer.unwrap_or_default();
    Link { preset, layer, longest: words.longest, parameters: words.parameters }
}

fn load(name: &'static str, file: &'static str) -> Load {
    let (preset, words) = read(name, file, "[[flows]]");
    let aqm = words.aqm.unwrap_or_else(|| AQM.map(String::from).to_vec());
    let (duration, warmup) = (words.duration.unwrap_or_default(), words.warmup.unwrap_or_default());
    Load { preset, duration, warmup, aqm, metrics: words.metrics }
}

/// Reads files of a folder by their names.
macro_rules! files {
    ($read:ident, $folder:literal: $($name:literal)*) => {
        vec![$($read($name, include_str!(concat!("../../../scenarios/", $folder, "/", $name, ".toml")))),*]
    };
}

static LINKS: LazyLock<Vec<Link>> = LazyLock::new(
    || files!(link, "links": "cable" "cable-upstream" "dsl" "fiber" "lte" "office" "port-10g" "satellite" "starlink" "starlink-handovers"),
);

static LOADS: LazyLock<Vec<Load>> = LazyLock::new(
    || files!(load, "loads": "bulk" "call" "gaming" "household" "incast" "l4s" "rrul" "video" "web"),
);

/// All links, by their names in alphabetic order.
pub fn links() -> &'static [Link] {
    &LINKS
}

/// All loads, by their names in alphabetic order.
pub fn loads() -> &'static [Load] {
    &LOADS
}

/// The link called `name`, or by one of its aliases.
///
/// # Errors
/// If there is none, with the one that may have been meant.
pub fn find_link(name: &str) -> Result<&'static Link, PresetError> {
    find("link", name, links(), |link| &link.preset)
}

/// The load called `name`, or by one of its aliases.
///
/// # Errors
/// If there is none, with the one that may have been meant.
pub fn find_load(name: &str) -> Result<&'static Load, PresetError> {
    find("load", name, loads(), |load| &load.preset)
}

/// Finds one of `all` by its name or an alias, whatever the case of its letters.
fn find<'a, T>(
    kind: &str,
    wrong: &str,
    all: &'a [T],
    preset: impl Fn(&T) -> &Preset,
) -> Result<&'a T, PresetError> {
    let called = |name: &str| name.eq_ignore_ascii_case(wrong);
    let is = |x: &&T| called(preset(x).name) || preset(x).aliases.iter().any(|alias| called(alias));
    if let Some(found) = all.iter().find(is) {
        return Ok(found);
    }
    let of = |x: &T| preset(x).name.to_string();
    let names: Vec<String> = all.iter().map(of).collect();
    let every = all.iter().flat_map(|x| [of(x)].into_iter().chain(preset(x).aliases.iter().cloned()));
    let every: Vec<String> = every.collect();
    let (rule, nearest) = unknown(kind, wrong, &every.iter().map(String::as_str).collect::<Vec<_>>());
    let known = format!("known: {}", names.join(", "));
    Err(PresetError(format!(
        "{kind} \"{}\": {}",
        cut(wrong),
        suggest(&rule, nearest.as_deref(), Some(&known))
    )))
}
