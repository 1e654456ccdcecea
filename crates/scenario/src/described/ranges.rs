//! The values that a parameter of an algorithm may have, asked of the rules that check it: there is no other list of them
//! that could differ.

use std::collections::BTreeMap;
use std::sync::Mutex;

use quell_aqm::Link;
use quell_aqm::catalog::{AqmConfig, Entry};
use quell_aqm::params::ParamDoc;
use quell_units::{BitRate, Bytes, QueueSize};

/// The ends of a range, in the unit of the default.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ends {
    /// The unit.
    pub scale: Scale,
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
    /// True if it is allowed itself.
    pub is_in: bool,
}

/// A unit in which values are tried.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    /// The unit; empty for a pure number.
    pub unit: &'static str,
    /// True if values are whole numbers.
    pub is_whole: bool,
    /// The number of steps that a unit has if values are rounded to steps, such as nanoseconds.
    steps: Option<f64>,
}

const fn scale(unit: &'static str, is_whole: bool, steps: Option<f64>) -> Scale {
    Scale { unit, is_whole, steps }
}

/// Units in which values are tried.
const SCALES: [Scale; 9] = [
    scale("", false, None),
    scale("", true, Some(1.0)),
    scale("packets", false, None),
    scale("ms", false, Some(1e6)),
    scale("s", false, Some(1e9)),
    scale("us", false, Some(1e3)),
    scale("bytes", true, Some(1.0)),
    scale("B", true, Some(1.0)),
    scale("Mbit/s", false, Some(1e6)),
];
/// Beyond this nothing is asked.
const HUGE: f64 = 1e15;
/// Nor beyond as many steps: 30 years in nanoseconds. What a number of 64 bits holds is not a rule of an algorithm.
const MANY: u64 = 1_000_000_000_000_000_000;
/// To which part of itself an end is known that is not at a step.
const NEAR: f64 = 1e-7;

impl Scale {
    /// The largest value that is asked.
    fn huge(self) -> f64 {
        match self.steps {
            Some(steps) if !self.is_whole => MANY as f64 / steps,
            _ => HUGE,
        }
    }

    /// The distance from an end at which is asked whether it is one.
    fn step(self, at: f64) -> f64 {
        let beside = 1e-6 * if at == 0.0 { 1.0 } else { at.abs() };
        self.steps.map_or(beside, |steps| 1.0 / steps)
    }

    /// A value that many steps away from another one.
    fn beside(self, at: f64, by: f64) -> f64 {
        // A quotient is the number nearest to what is meant, and a sum is not.
        self.steps.map_or(at + by * self.step(at), |steps| ((at * steps).round() + by) / steps)
    }
}

/// A link on which parameters are asked: one with a large buffer, and packets as long as scenarios have them.
const LINK: Link = Link {
    rate: BitRate::from_bps(10_000_000),
    buffer: QueueSize::Packets(1000.0),
    mean_packet: Bytes::new(1000),
};

/// Other links, on which what is true of the first one may be wrong.
const OTHERS: [Link; 6] = [
    Link { rate: BitRate::from_bps(1_000_000), ..LINK },
    Link { rate: BitRate::from_bps(1_000_000_000), ..LINK },
    Link { buffer: QueueSize::Packets(300.0), ..LINK },
    Link { buffer: QueueSize::Packets(20_000.0), ..LINK },
    Link { mean_packet: Bytes::new(500), ..LINK },
    Link { mean_packet: Bytes::new(1500), ..LINK },
];

/// True if an algorithm takes parameters on a link, beside the defaults of the others.
fn builds(entry: &Entry, table: toml::Table, link: &Link) -> bool {
    let config = AqmConfig::deserialize_named(entry.name, toml::Value::Table(table));
    config.is_some_and(|config| config.is_ok_and(|config| config.build(link).is_ok()))
}

/// True if it takes a value of one.
fn takes(entry: &Entry, doc: &ParamDoc, link: &Link, scale: Scale, value: f64) -> bool {
    let value = match (scale.unit, scale.is_whole) {
        (_, true) if value.fract() != 0.0 => return false,
        ("", true) => toml::Value::Integer(value as i64),
        ("", false) => toml::Value::Float(value),
        (unit, _) => toml::Value::String(format!("{value} {unit}")),
    };
    builds(entry, toml::Table::from_iter([(doc.name.to_string(), value)]), link)
}

/// True if a parameter is not a number.
fn is_name(doc: &ParamDoc) -> bool {
    !doc.choices.is_empty() || matches!(doc.unit, "name" | "true or false")
}

/// The range of a parameter; `None` if it is not a number, or none is found. What was found is kept, since hundreds of
/// algorithms are built for it.
pub(crate) fn ends(entry: &Entry, doc: &ParamDoc) -> Option<Ends> {
    static KNOWN: Mutex<BTreeMap<(&str, &str), Option<Ends>>> = Mutex::new(BTreeMap::new());
    if is_name(doc) {
        return None;
    }
    KNOWN.lock().unwrap().entry((entry.name, doc.name)).or_insert_with(|| find_ends(entry, doc)).clone()
}

fn find_ends(entry: &Entry, doc: &ParamDoc) -> Option<Ends> {
    let default = doc.default.split_once(' ');
    let own = default.map(|(_, unit)| unit);
    let (scale, usual) = SCALES.into_iter().find_map(|scale| {
        if own.is_some_and(|own| own != scale.unit) {
            return None;
        }
        let number = default.map_or(doc.default.as_str(), |(number, _)| number).parse::<f64>().ok();
        let tried = [number.unwrap_or(f64::NAN), 1.0, 0.5, 10.0, 0.01, 100.0, 1000.0, 1e6];
        let usual =
            tried.into_iter().find(|x| x.is_finite() && *x > 0.0 && takes(entry, doc, &LINK, scale, *x));
        // A number that may have a fraction is not whole.
        usual.map(|usual| (scale, usual))
    })?;
    let takes = |x: f64| takes(entry, doc, &LINK, scale, x);
    let below = [1.0, 1e-6].into_iter().find(|x| takes(-x));
    let least = match (takes(0.0), below) {
        (true, Some(_)) if takes(-scale.huge()) => None,
        (true, Some(below)) => {
            let End { at, is_in } = end(&|x| takes(-x), below, scale, true);
            Some(End { at: -at, is_in })
        }
        (true, None) => Some(End { at: 0.0, is_in: true }),
        (false, _) => Some(end(&takes, usual, scale, false)),
    };
    let most = if takes(scale.huge()) { None } else { Some(end(&takes, usual, scale, true)) };
    // Powers of two, for example, do not form a range.
    if scale.is_whole && !takes(usual + 1.0) && !takes(usual - 1.0) {
        return None;
    }
    // Do not show an end that moves with the link.
    let stays = |end: &End, inwards: f64| {
        let mut links = OTHERS.iter().filter(|link| builds(entry, toml::Table::new(), link)).chain([&LINK]);
        links.all(|link| is_end(entry, doc, link, scale, *end, inwards))
    };
    let (least, most) = (least.filter(|end| stays(end, 1.0)), most.filter(|end| stays(end, -1.0)));
    Some(Ends { scale, least, most })
}

/// True if values are taken up to an end on a link, and none beyond.
fn is_end(entry: &Entry, doc: &ParamDoc, link: &Link, scale: Scale, end: End, inwards: f64) -> bool {
    let takes = |x: f64| takes(entry, doc, link, scale, x);
    let End { at, is_in } = end;
    // One value alone has none beside it.
    takes(at) == is_in
        && (is_in && scale.is_whole || takes(scale.beside(at, inwards)))
        && !takes(scale.beside(at, -inwards))
}

/// The place where values are no longer taken, from one that is: upwards, or down to 0.
fn end(takes: &dyn Fn(f64) -> bool, usual: f64, scale: Scale, upwards: bool) -> End {
    match scale.steps {
        Some(steps) => end_at_step(takes, usual, steps, scale, upwards),
        None => end_near(takes, usual, upwards),
    }
}

/// The last step at which values are taken, or the first one at which they are not if that is the rounder number.
fn end_at_step(takes: &dyn Fn(f64) -> bool, usual: f64, steps: f64, scale: Scale, upwards: bool) -> End {
    let most = (scale.huge() * steps).round() as u64;
    let (mut inside, mut outside) = ((usual * steps).round() as u64, if upwards { most } else { 0 });
    while inside.abs_diff(outside) > 1 {
        let middle = (inside as f64 * outside as f64).sqrt() as u64;
        let middle = middle.clamp(inside.min(outside) + 1, inside.max(outside) - 1);
        *(if takes(middle as f64 / steps) { &mut inside } else { &mut outside }) = middle;
    }
    let zeros = |n: u64| (0..20).take_while(|i| n.is_multiple_of(10_u64.pow(*i))).count();
    // Of whole numbers, the last one is the end.
    if !scale.is_whole && zeros(outside) > zeros(inside) {
        return End { at: outside as f64 / steps, is_in: false };
    }
    End { at: inside as f64 / steps, is_in: true }
}

/// The shortest number near the end.
fn end_near(takes: &dyn Fn(f64) -> bool, usual: f64, upwards: bool) -> End {
    let small = NEAR * usual.min(1.0);
    if !upwards && takes(small) {
        return End { at: 0.0, is_in: false };
    }
    let (mut inside, mut outside) = (usual, if upwards { HUGE } else { small });
    while (inside / outside - 1.0).abs() > 1e-12 {
        let middle = (inside * outside).sqrt();
        if middle == inside || middle == outside {
            break;
        }
        *(if takes(middle) { &mut inside } else { &mut outside }) = middle;
    }
    let at = (0..17)
        .map(|digits| format!("{inside:.digits$e}").parse().unwrap_or(inside))
        .find(|at: &f64| (at / inside - 1.0).abs() < NEAR)
        .unwrap_or(inside);
    End { at, is_in: takes(at) }
}

/// The ends are the truth, on every link: what is at them, or just inside, is taken, and what is outside is not.
#[test]
fn what_is_in_a_range_is_taken_and_what_is_outside_is_not() {
    let (mut asked, mut without) = (0, Vec::new());
    for entry in quell_aqm::catalog::CATALOG {
        for doc in (entry.params)() {
            let name = format!("{}.{}", entry.name, doc.name);
            if is_name(&doc) {
                continue;
            }
            let Some(Ends { scale, least, most }) = ends(entry, &doc) else {
                without.push(name);
                continue;
            };
            for (end, inwards) in [(least, 1.0), (most, -1.0)] {
                let Some(end) = end else { continue };
                for link in OTHERS.iter().chain([&LINK]) {
                    if !builds(entry, toml::Table::new(), link) {
                        continue;
                    }
                    let takes = |x: f64| takes(entry, &doc, link, scale, x);
                    let (at, inside) = (end.at, scale.beside(end.at, inwards));
                    assert_eq!(takes(at), end.is_in, "{name} at {at} {}", scale.unit);
                    assert!(takes(inside) || end.is_in && least == most, "{name} inside {at}");
                    assert!(!takes(scale.beside(at, -inwards)), "{name} outside {at} {}", scale.unit);
                    asked += 1;
                }
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
    assert!(asked > 2000, "{asked}");
    let without: Vec<&str> = without.iter().map(String::as_str).collect();
    let are = [
        // Tables.
        "wred.classes",
        "pi.design",
        "pi-fixed.design",
        // Those of a design that is given whole.
        "vrc.alpha",
        "vrc.beta",
        "vrc.gamma",
        "vrc.k_p",
        "vrc.k_i",
        "vrc.k_d",
        "red+tail.vq2",
        // Of these numbers, only powers of two or multiples of 8 are taken.
        "cake.flows",
    ];
    assert_eq!(without, are);
}

/// Ends as the rules have them, without what rounding to nanoseconds adds; those that a link moves are none.
#[test]
fn ends_are_those_of_the_rules() {
    let is = |algorithm: &str, parameter: &str, least: Option<(f64, bool)>, most: Option<(f64, bool)>| {
        let entry = quell_aqm::catalog::CATALOG.iter().find(|entry| entry.name == algorithm).unwrap();
        let doc = (entry.params)().into_iter().find(|doc| doc.name == parameter).unwrap();
        let ends = ends(entry, &doc).unwrap();
        let pair = |end: Option<End>| end.map(|End { at, is_in }| (at, is_in));
        assert_eq!((pair(ends.least), pair(ends.most)), (least, most), "{algorithm}.{parameter}");
    };
    is("pie", "update_interval", Some((0.001, true)), Some((3_600_000.0, true)));
    is("pie", "target", Some((0.0, false)), None);
    is("codel", "interval", Some((5.0, false)), Some((3_600_000.0, true)));
    is("codel", "target", Some((0.0, false)), Some((100.0, false)));
    is("cake", "rtt", Some((0.02, true)), Some((3_600_000.0, true)));
    is("red", "max_p", Some((0.0, false)), Some((1.0, true)));
    is("fred", "max_th", None, None);
    is("auto-tuning-red", "max_th", None, None);
    is("red+tail", "min_th1", Some((0.0, true)), None);
}
