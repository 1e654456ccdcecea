//! The look of each algorithm: one color, one kind of dashes and one mark, the same in the terminal, in pictures, in the
//! report and in Python's plots, whatever else is drawn beside it.

use std::collections::HashMap;

use quell_aqm::catalog::CATALOG;
use quell_metrics::{Results, distinct};
use quell_scenario::Scenario;
use serde::Serialize;

/// Okabe and Ito's colors, which color-blind people can tell apart; the yellow of the eight is too light for lines on
/// white.
pub const COLORS: [&str; 7] = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000"];
/// The shades of the same colors that stand out from dark ground.
pub const DARK: [&str; 7] = ["#3D9FE0", "#EE7A24", "#1FBD90", "#DD8FBA", "#E6A91E", "#8FD0F7", "#F2F4F6"];
/// The same colors among those that every terminal has; of the two blues one is cyan.
pub(crate) const ANSI: [u8; 7] = [34, 31, 32, 35, 33, 36, 39];
/// Lengths of dashes and gaps, solid first.
pub const DASHES: [&[u8]; 8] =
    [&[], &[7, 4], &[2, 3], &[8, 3, 2, 3], &[14, 4], &[8, 3, 2, 3, 2, 3], &[4, 2], &[14, 3, 4, 3]];
/// The marks.
pub const MARKS: [Mark; 8] = [
    Mark::Circle,
    Mark::Square,
    Mark::Triangle,
    Mark::Diamond,
    Mark::Down,
    Mark::Pentagon,
    Mark::Plus,
    Mark::Cross,
];
/// The styles that differ: each color with each kind of dashes.
const COUNT: usize = COLORS.len() * DASHES.len();

/// A mark, whose form tells as much as its color.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// A circle.
    Circle,
    /// A square.
    Square,
    /// A triangle that points up.
    Triangle,
    /// A square that stands on a corner.
    Diamond,
    /// A triangle that points down.
    Down,
    /// A pentagon.
    Pentagon,
    /// An upright cross.
    Plus,
    /// A cross that lies.
    Cross,
}

/// What a curve looks like.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Style {
    /// The color on white.
    pub color: &'static str,
    /// The color on dark ground.
    pub dark: &'static str,
    /// Lengths of dashes and gaps in pixels; none for a solid line.
    pub dashes: &'static [u8],
    /// The mark of single values.
    pub mark: Mark,
}

impl Style {
    /// The style with a number. The first seven differ in color, those that follow in dashes; those of one color and those
    /// of one kind of dashes all have other marks.
    pub fn number(number: usize) -> Style {
        let (color, dashes) = (number % COLORS.len(), number / COLORS.len() % DASHES.len());
        Style {
            color: COLORS[color],
            dark: DARK[color],
            dashes: DASHES[dashes],
            mark: MARKS[(color + dashes) % MARKS.len()],
        }
    }
}

/// The number of a color and a kind of dashes.
const fn number(color: usize, dashes: usize) -> usize {
    color + COLORS.len() * dashes
}

const BLUE: usize = 0;
const VERMILLION: usize = 1;
const GREEN: usize = 2;
const PURPLE: usize = 3;
const ORANGE: usize = 4;
const SKY: usize = 5;
const BLACK: usize = 6;

/// The styles of the algorithms. Those that are mostly compared are solid and differ in color: drop-tail, CoDel, FQ-CoDel,
/// PIE, CAKE, DualPI2 and RED; relatives share a color. An algorithm that is not here gets one that nobody has.
const NUMBERS: [(&str, usize); 51] = [
    ("drop-tail", number(BLACK, 0)),
    ("sfq", number(BLACK, 1)),
    ("policer", number(BLACK, 2)),
    ("step", number(BLACK, 3)),
    ("sfq-red", number(BLACK, 4)),
    ("spf", number(BLACK, 5)),
    ("vrc", number(BLACK, 6)),
    ("codel", number(BLUE, 0)),
    ("cobalt", number(BLUE, 1)),
    ("avq", number(BLUE, 2)),
    ("avq-rate", number(BLUE, 3)),
    ("blue", number(BLUE, 4)),
    ("blue-fixed", number(BLUE, 5)),
    ("sfb", number(BLUE, 6)),
    ("fq-codel", number(SKY, 0)),
    ("fq-blue", number(SKY, 1)),
    ("fq-pie", number(SKY, 2)),
    ("choke", number(SKY, 3)),
    ("fred", number(SKY, 4)),
    ("sred", number(SKY, 5)),
    ("green", number(GREEN, 6)),
    ("pie", number(GREEN, 0)),
    ("pi", number(GREEN, 1)),
    ("docsis-pie", number(GREEN, 2)),
    ("pi-fixed", number(GREEN, 3)),
    ("st-pi", number(GREEN, 4)),
    ("pid", number(GREEN, 5)),
    ("rem", number(SKY, 6)),
    ("cake", number(ORANGE, 0)),
    ("ared", number(ORANGE, 1)),
    ("hred", number(ORANGE, 2)),
    ("ap-red", number(ORANGE, 3)),
    ("hred-fixed", number(ORANGE, 4)),
    ("ared-fixed", number(ORANGE, 5)),
    ("ared-dt", number(ORANGE, 6)),
    ("dualpi2", number(PURPLE, 0)),
    ("pi2", number(PURPLE, 1)),
    ("curvy-red", number(PURPLE, 2)),
    ("st-red", number(PURPLE, 3)),
    ("dred", number(PURPLE, 4)),
    ("lred", number(PURPLE, 5)),
    ("e-red", number(PURPLE, 6)),
    ("red", number(VERMILLION, 0)),
    ("feng-ared", number(VERMILLION, 1)),
    ("wred", number(VERMILLION, 2)),
    ("red+tail", number(VERMILLION, 3)),
    ("auto-tuning-red", number(VERMILLION, 4)),
    ("dsred", number(VERMILLION, 5)),
    ("red-fixed", number(VERMILLION, 6)),
    ("fuzzy-red", number(VERMILLION, 7)),
    ("pd-red", number(ORANGE, 7)),
];

/// The numbers of the styles of one color, from `base` on: each has other dashes.
pub(crate) fn of_one_color(base: usize) -> impl Iterator<Item = usize> {
    (0..DASHES.len()).map(move |k| (base + k * COLORS.len()) % COUNT)
}

/// The number of an algorithm's style, by its name in the catalog.
pub fn of_algorithm(name: &str) -> Option<usize> {
    if let Some((_, number)) = NUMBERS.iter().find(|(known, _)| *known == name) {
        return Some(*number);
    }
    let listed = |name: &str| NUMBERS.iter().any(|(known, _)| *known == name);
    let place = CATALOG.iter().filter(|e| !listed(e.name)).position(|e| e.name == name)?;
    // More than there are styles share them.
    let free: Vec<usize> = (0..COUNT).filter(|n| NUMBERS.iter().all(|(_, own)| own != n)).collect();
    free.get(place % free.len().max(1)).copied()
}

/// The labels of a study, each with the number of its style: that of its algorithm for the first label that an algorithm
/// has, the same color with other dashes for the others.
pub fn of_results(results: &Results) -> Vec<(String, usize)> {
    let labels = distinct(results.run.points.iter().flat_map(|p| &p.algorithms));
    let algorithms = algorithms(results, &labels);
    let named: Vec<(&str, &str)> = labels
        .iter()
        .map(|label| (label.as_str(), algorithms.get(label.as_str()).map_or(label.as_str(), String::as_str)))
        .collect();
    of_labels(&named)
}

/// The same of labels with the names of their algorithms.
pub fn of_labels(labels: &[(&str, &str)]) -> Vec<(String, usize)> {
    let mut found: Vec<Option<usize>> = vec![None; labels.len()];
    let mut taken: Vec<usize> = Vec::new();
    // A label that is a name first, then the first of each algorithm.
    let own = |(label, algorithm): &(&str, &str)| label == algorithm;
    for first in [true, false] {
        for (i, pair) in labels.iter().enumerate() {
            let Some(number) = of_algorithm(pair.1) else { continue };
            if found[i].is_none() && (own(pair) || !first) && !taken.contains(&number) {
                found[i] = Some(number);
                taken.push(number);
            }
        }
    }
    for (i, (_, algorithm)) in labels.iter().enumerate() {
        if found[i].is_some() {
            continue;
        }
        let color = |n: &usize| n % COLORS.len();
        let free = |n: &usize| !taken.contains(n);
        let same = of_algorithm(algorithm).and_then(|base| {
            let after = (1..DASHES.len()).map(|k| (base + k * COLORS.len()) % COUNT);
            after.into_iter().find(free)
        });
        // What is not of the catalog: a color that nobody has, if there is one.
        let alone = || (0..COLORS.len()).find(|n| taken.iter().all(|other| color(other) != *n));
        let number = same.or_else(alone).or_else(|| (0..COUNT).find(free)).unwrap_or(i % COUNT);
        found[i] = Some(number);
        taken.push(number);
    }
    labels.iter().zip(found).map(|((label, _), n)| (label.to_string(), n.unwrap_or(0))).collect()
}

/// The algorithm of each label that is not a name of the catalog, as far as the scenarios say.
fn algorithms(results: &Results, labels: &[&String]) -> HashMap<String, String> {
    let mut found = HashMap::new();
    let is_open = |label: &str, found: &HashMap<String, String>| {
        of_algorithm(label).is_none() && !found.contains_key(label)
    };
    for point in &results.run.points {
        if !labels.iter().any(|label| is_open(label, &found)) {
            break;
        }
        if !point.algorithms.iter().any(|label| is_open(label, &found)) {
            continue;
        }
        let Some(scenario) = Scenario::parse(&point.scenario) else { continue };
        for aqm in &scenario.aqm {
            found.entry(aqm.label().to_string()).or_insert_with(|| aqm.algorithm.clone());
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_algorithm_has_a_style_of_its_own() {
        let mut seen: Vec<(usize, &str)> = Vec::new();
        for entry in CATALOG {
            let number = of_algorithm(entry.name).expect(entry.name);
            assert!(number < COUNT);
            let other = seen.iter().find(|(n, _)| *n == number);
            assert!(other.is_none(), "{} looks like {}", entry.name, other.unwrap().1);
            seen.push((number, entry.name));
        }
        // A name that the catalog no longer has would keep its style from others.
        for (name, _) in NUMBERS {
            assert!(CATALOG.iter().any(|e| e.name == name), "{name} is not in the catalog");
        }
    }

    #[test]
    fn what_is_mostly_compared_differs_in_color_and_mark() {
        let usual = ["drop-tail", "codel", "fq-codel", "pie", "cake", "dualpi2", "red"];
        let styles = usual.map(|name| Style::number(of_algorithm(name).unwrap()));
        for (i, a) in styles.iter().enumerate() {
            assert!(a.dashes.is_empty());
            assert!(styles[..i].iter().all(|b| b.color != a.color && b.mark != a.mark), "{}", usual[i]);
        }
    }

    #[test]
    fn labels_have_the_color_of_their_algorithm_and_other_dashes() {
        let of = of_labels(&[
            ("gentle", "red"),
            ("red", "red"),
            ("steep", "red"),
            ("codel", "codel"),
            ("mine", "mine"),
        ]);
        let style = |label: &str| Style::number(of.iter().find(|(l, _)| l == label).unwrap().1);
        assert_eq!(Some(of[1].1), of_algorithm("red"));
        for label in ["gentle", "steep"] {
            assert!(style(label).color == style("red").color && style(label) != style("red"));
        }
        assert!(style("gentle") != style("steep"));
        assert!(!["red", "codel"].iter().any(|other| style(other).color == style("mine").color));
        // Alone, a label looks as its algorithm.
        assert_eq!(of_labels(&[("gentle", "red")])[0].1, of_algorithm("red").unwrap());
    }
}
