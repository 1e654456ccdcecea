//! The values that a parameter of an algorithm may have, asked of the rules that check it: there is no other list of them
//! that could differ.

use quell_aqm::Link;
use quell_aqm::catalog::{AqmConfig, Entry};
use quell_aqm::params::ParamDoc;
use quell_units::{BitRate, Bytes, QueueSize};

/// The ends of a range, in the unit of the default.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ends {
    /// The unit; empty for a pure number.
    pub unit: &'static str,
    /// The least value; none if there is no least.
    pub least: Option<End>,
    /// The most.
    pub most: Option<End>,
}

/// An end of a range.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct End {
    /// The value.
    pub at: f64,
    /// Whether it is allowed itself.
    pub is_in: bool,
}

/// Units in which values are tried, and whether they are whole numbers.
const UNITS: [(&str, bool); 8] = [
    ("", false),
    ("", true),
    ("packets", false),
    ("ms", false),
    ("s", false),
    ("bytes", true),
    ("B", true),
    ("Mbit/s", false),
];
/// Beyond this nothing is asked.
const HUGE: f64 = 1e15;

/// A link on which parameters are asked: one whose buffer is large.
fn link() -> Link {
    Link {
        rate: BitRate::from_bps(10_000_000),
        buffer: QueueSize::Packets(1000.0),
        mean_packet: Bytes::new(1500),
    }
}

/// Whether an algorithm takes a value of a parameter, beside the defaults of the others.
pub(crate) fn takes(entry: &Entry, doc: &ParamDoc, unit: &str, is_whole: bool, value: f64) -> bool {
    let value = match (unit, is_whole) {
        ("", true) => toml::Value::Integer(value as i64),
        ("", false) => toml::Value::Float(value),
        (unit, _) => toml::Value::String(format!("{value} {unit}")),
    };
    let table = toml::Table::from_iter([(doc.name.to_string(), value)]);
    let config = AqmConfig::deserialize_named(entry.name, toml::Value::Table(table));
    config.is_some_and(|config| config.is_ok_and(|config| config.build(&link()).is_ok()))
}

/// The range of a parameter; `None` if it is not a number, or none is found.
pub(crate) fn ends(entry: &Entry, doc: &ParamDoc) -> Option<(Ends, bool)> {
    if !doc.choices.is_empty() || matches!(doc.unit, "name" | "true or false") {
        return None;
    }
    let default = doc.default.split_once(' ');
    let own = default.map(|(_, unit)| unit);
    let (unit, is_whole, usual) = UNITS.into_iter().find_map(|(unit, is_whole)| {
        if own.is_some_and(|own| own != unit) {
            return None;
        }
        let number = default.map_or(doc.default.as_str(), |(number, _)| number).parse::<f64>().ok();
        let tried = [number.unwrap_or(f64::NAN), 1.0, 0.5, 10.0, 0.01, 100.0, 1000.0];
        let usual = tried.into_iter().find(|x| {
            x.is_finite()
                && *x > 0.0
                && (!is_whole || x.fract() == 0.0)
                && takes(entry, doc, unit, is_whole, *x)
        });
        // A number that may have a fraction is not whole.
        usual.map(|usual| (unit, is_whole, usual))
    })?;
    let takes = |x: f64| (!is_whole || x.fract() == 0.0) && takes(entry, doc, unit, is_whole, x);
    let below = [1.0, 1e-6].into_iter().find(|x| takes(-x));
    let least = match (takes(0.0), below) {
        (true, Some(_)) if takes(-HUGE) => None,
        (true, Some(below)) => {
            let End { at, is_in } = end(&|x| takes(-x), below, is_whole, true);
            Some(End { at: -at, is_in })
        }
        (true, None) => Some(End { at: 0.0, is_in: true }),
        (false, _) => Some(end(&takes, usual, is_whole, false)),
    };
    let most = if takes(HUGE) { None } else { Some(end(&takes, usual, is_whole, true)) };
    // Powers of two, for example, do not form a range.
    if is_whole && !takes(usual + 1.0) && !takes(usual - 1.0) {
        return None;
    }
    Some((Ends { unit, least, most }, is_whole))
}

/// Where values are no longer taken, from one that is: upwards, or down to 0.
fn end(takes: &dyn Fn(f64) -> bool, usual: f64, is_whole: bool, upwards: bool) -> End {
    let (mut inside, mut outside) = (usual, if upwards { HUGE } else { 0.0 });
    if !upwards {
        // Down to a billionth: what is taken there is taken down to 0.
        let small = if is_whole { 1.0 } else { 1e-9 * usual.min(1.0) };
        if takes(small) {
            return if is_whole { End { at: 1.0, is_in: true } } else { End { at: 0.0, is_in: false } };
        }
        outside = small;
    }
    for _ in 0..100 {
        let middle = (inside * outside).sqrt();
        let middle = if is_whole { middle.round() } else { middle };
        if middle == inside || middle == outside || !is_whole && (inside / outside - 1.0).abs() < 1e-9 {
            break;
        }
        *(if takes(middle) { &mut inside } else { &mut outside }) = middle;
    }
    // The shortest number between the two is the one that the rule names.
    let at = (0..17)
        .map(|digits| {
            format!("{:.*e}", digits, if upwards { outside } else { inside }).parse().unwrap_or(inside)
        })
        .find(|at: &f64| (at / inside - 1.0).abs() < 2e-9 || (at / outside - 1.0).abs() < 2e-9);
    match at {
        Some(at) if takes(at) => End { at, is_in: true },
        // Of whole numbers, the last one is.
        _ if is_whole => End { at: inside, is_in: true },
        Some(at) => End { at, is_in: false },
        None => End { at: inside, is_in: true },
    }
}

/// The ends are the truth: what is at them, or just inside, is taken, and what is outside is not.
#[test]
fn what_is_in_a_range_is_taken_and_what_is_outside_is_not() {
    let mut asked = 0;
    for entry in quell_aqm::catalog::CATALOG {
        for doc in (entry.params)() {
            let name = format!("{}.{}", entry.name, doc.name);
            let Some((ends, is_whole)) = ends(entry, &doc) else { continue };
            let takes = |x: f64| takes(entry, &doc, ends.unit, is_whole, x);
            for (end, inwards) in [(ends.least, 1.0), (ends.most, -1.0)] {
                let Some(End { at, is_in }) = end else { continue };
                let step = if is_whole { 1.0 } else { 1e-6 * if at == 0.0 { 1.0 } else { at.abs() } };
                assert_eq!(takes(at), is_in, "{name} at {at} {}", ends.unit);
                assert!(takes(at + inwards * step) || is_in && ends.least == ends.most, "{name} inside {at}");
                assert!(!takes(at - inwards * step), "{name} outside {at} {}", ends.unit);
                asked += 1;
            }
        }
        for doc in (entry.params)().iter().filter(|doc| !doc.choices.is_empty()) {
            for choice in doc.choices.iter().copied().chain(["no such choice"]) {
                let table = toml::Table::from_iter([(doc.name.to_string(), choice.into())]);
                let config = AqmConfig::deserialize_named(entry.name, toml::Value::Table(table)).unwrap();
                assert_eq!(
                    config.is_ok(),
                    choice != "no such choice",
                    "{}.{} = {choice}",
                    entry.name,
                    doc.name
                );
            }
        }
    }
    assert!(asked > 300, "{asked}");
}
