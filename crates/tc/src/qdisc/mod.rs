//! Each qdisc as an algorithm, and each algorithm as a qdisc.

use quell_aqm::catalog::{self, AqmConfig};
use quell_aqm::fq_pie::{FqPieParams, FqPieRules};
use quell_aqm::part::Longest;
use quell_aqm::pie::{PieParams, Scheme};
use quell_aqm::sfq::SfqParams;
use quell_units::QueueSize;

use crate::Kernel;
use crate::grammar;
use crate::settings::Settings;
use crate::values::Kind;

mod cake;
mod codel;
mod draft;
mod dualpi2;
mod fifo;
mod pie;
mod red;
mod sfb;
mod sfq;

use draft::Draft;
pub use draft::Link;

/// An algorithm that Linux has no qdisc for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotInLinux {
    /// The algorithm.
    pub algorithm: &'static str,
    /// The reason.
    pub why: String,
    /// The algorithm of the catalog that Linux has and that is nearest in purpose.
    pub nearest: &'static str,
}

impl core::fmt::Display for NotInLinux {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{}: {}; the nearest that Linux has is {}", self.algorithm, self.why, self.nearest)
    }
}

impl core::error::Error for NotInLinux {}

/// The meaning of a qdisc's words in a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct Meaning {
    /// The algorithm.
    pub aqm: AqmConfig,
    /// The most that may wait.
    pub buffer: QueueSize,
    /// Whether packets are marked.
    pub ecn: bool,
    /// The words that a scenario cannot say, and assumptions.
    pub notes: Vec<String>,
}

/// The qdisc of an algorithm, with its settings, and what they cannot say.
pub(crate) struct Said {
    pub(crate) settings: Settings,
    pub(crate) notes: Vec<String>,
}

/// The settings of an algorithm.
///
/// # Errors
/// Linux has no qdisc of this kind, or none with these parameters.
pub(crate) fn say(config: &AqmConfig, link: &Link, kernel: Kernel) -> Result<Said, NotInLinux> {
    let qdisc = match config {
        AqmConfig::DropTail(p) => fifo::qdisc(p, link),
        _ => QDISCS.iter().find(|(name, _)| *name == config.name()).map_or("", |(_, qdisc)| qdisc),
    };
    let refuse = |why: String, nearest: &'static str| NotInLinux { algorithm: config.name(), why, nearest };
    let Some(grammar) = grammar::find(qdisc) else {
        return Err(refuse("Linux has no such qdisc".to_string(), nearest(config.name())));
    };
    let Some(usual) = Settings::defaults(grammar, kernel) else {
        let why = format!("Linux has it from {} on, and not in {kernel}", grammar.since);
        return Err(refuse(why, if qdisc == "dualpi2" { "fq-codel" } else { "codel" }));
    };
    let mut draft = Draft { settings: Settings::of(grammar), notes: Vec::new(), kernel, shown: false };
    match config {
        AqmConfig::DropTail(p) => fifo::say(&mut draft, p, link),
        AqmConfig::Codel(p) => codel::say(&mut draft, p, link),
        AqmConfig::FqCodel(p) => codel::say_fair(&mut draft, p, link),
        AqmConfig::Pie(p) => pie::say(&mut draft, p, link),
        AqmConfig::FqPie(p) => pie::say_fair(&mut draft, p, link),
        AqmConfig::DualPi2(p) => dualpi2::say(&mut draft, p, link),
        AqmConfig::Red(p) => red::say(&mut draft, p, link).map_err(|why| refuse(why, "pie"))?,
        AqmConfig::Choke(p) => red::say_choke(&mut draft, p, link).map_err(|why| refuse(why, "fq-codel"))?,
        AqmConfig::Sfq(p) => sfq::say(&mut draft, p, link),
        AqmConfig::SfqRed(p) => sfq::say_red(&mut draft, p, link).map_err(|why| refuse(why, "sfq"))?,
        AqmConfig::Sfb(p) => sfb::say(&mut draft, p, link),
        AqmConfig::Cake(p) => cake::say(&mut draft, p, link),
        _ => {}
    }
    // What is the kernel's anyway is not written, but for what a line must say.
    let mut usual = usual;
    for word in grammar.words {
        let needed = match qdisc {
            "red" | "choke" => !matches!(word.kind, Kind::Of(_)),
            "pfifo" | "bfifo" | "pfifo_head_drop" => true,
            _ => false,
        };
        if needed {
            usual.remove(word.name);
        }
    }
    // tc computes one of these from the other where one is missing.
    let pair = ["max", "target"];
    if qdisc == "sfb" && pair.iter().any(|name| usual.get(name) != draft.settings.get(name)) {
        pair.iter().for_each(|name| usual.remove(name));
    }
    let mut written = Settings::of(grammar);
    for word in grammar.words {
        let setting = grammar::Grammar::setting(word);
        if let Some(value) = draft.settings.get(setting).filter(|value| usual.get(setting) != Some(*value)) {
            written.set(setting, value);
        }
    }
    Ok(Said { settings: written, notes: draft.notes })
}

/// The meaning of a qdisc's words in a scenario: `given` are those of a line, without defaults. tc prints some words
/// only where they are not off, so what is `shown` and lacks them says that they are off.
///
/// # Errors
/// Says what the line lacks.
pub(crate) fn mean(given: &Settings, shown: bool, kernel: Kernel) -> Result<Meaning, String> {
    let grammar = given.grammar;
    let mut settings = Settings::defaults(grammar, kernel.max(grammar.since))
        .ok_or_else(|| format!("{}: no algorithm here", grammar.name))?;
    settings.overlay(given);
    if shown && !given.has("ecn") {
        settings.choose("noecn");
    }
    let mut draft = Draft { settings, notes: Vec::new(), kernel, shown };
    if kernel < grammar.since {
        draft.note(format!(
            "Linux {kernel} has no {}, only from {} on: its defaults are those",
            grammar.name, grammar.since
        ));
    }
    let (aqm, buffer) = match grammar.name {
        "pfifo" | "bfifo" | "pfifo_head_drop" => fifo::mean(&draft),
        "codel" => codel::mean(&draft),
        "fq_codel" => codel::mean_fair(&mut draft),
        "pie" => pie::mean(&mut draft),
        "fq_pie" => pie::mean_fair(&mut draft),
        "dualpi2" => dualpi2::mean(&mut draft, given)?,
        "red" => red::mean(&mut draft, given)?,
        "choke" => red::mean_choke(&mut draft, given)?,
        "sfq" => sfq::mean(&mut draft, given)?,
        "sfb" => sfb::mean(&mut draft, given),
        "cake" => cake::mean(&mut draft),
        name => return Err(format!("{name}: no algorithm here")),
    };
    let ecn = match grammar.name {
        "cake" | "dualpi2" | "sfb" => true,
        _ => draft.settings.is("ecn"),
    };
    Ok(Meaning { aqm, buffer, ecn, notes: draft.notes })
}

/// Algorithms of the catalog that Linux has a qdisc for, and its name.
pub const QDISCS: &[(&str, &str)] = &[
    ("drop-tail", "pfifo"),
    ("codel", "codel"),
    ("fq-codel", "fq_codel"),
    ("pie", "pie"),
    ("fq-pie", "fq_pie"),
    ("dualpi2", "dualpi2"),
    ("red", "red"),
    ("choke", "choke"),
    ("sfq", "sfq"),
    ("sfq-red", "sfq"),
    ("sfb", "sfb"),
    ("cake", "cake"),
];

/// The same parameters by the rules of a kernel, where it has an algorithm of its own form: what no word of a line says.
pub fn as_in(kernel: Kernel, config: AqmConfig) -> AqmConfig {
    match config {
        AqmConfig::Codel(params) => AqmConfig::Codel(codel::as_in(kernel, params)),
        AqmConfig::FqCodel(params) => AqmConfig::FqCodel(codel::as_in_fair(kernel, params)),
        AqmConfig::Pie(params) => AqmConfig::Pie(PieParams { scheme: Scheme::Linux, ..params }),
        AqmConfig::FqPie(params) => AqmConfig::FqPie(FqPieParams { rules: FqPieRules::Linux, ..params }),
        AqmConfig::Sfq(params) => AqmConfig::Sfq(SfqParams { longest: Longest::Packets, ..params }),
        other => other,
    }
}

/// The meaning of a line with no word but the qdisc's name; none if Linux does not have it then, or it needs words.
pub fn usual(qdisc: &str, kernel: Kernel) -> Option<Meaning> {
    let grammar = grammar::find(qdisc).filter(|grammar| grammar.since <= kernel)?;
    mean(&Settings::of(grammar), false, kernel).ok()
}

/// The algorithm that Linux has and that is nearest in purpose to one that it has not.
fn nearest(algorithm: &str) -> &'static str {
    use quell_aqm::catalog::Family;
    match (algorithm, catalog::find(algorithm).map(|entry| entry.family)) {
        ("curvy-red" | "pi2" | "step", _) => "dualpi2",
        ("cobalt", _) => "cake",
        ("blue" | "blue-fixed" | "fq-blue", _) => "sfb",
        ("policer", _) => "drop-tail",
        (_, Some(Family::Control)) => "pie",
        (_, Some(Family::Delay)) => "pie",
        (_, Some(Family::Flow)) => "fq-codel",
        (_, Some(Family::Load)) => "pie",
        _ => "red",
    }
}
