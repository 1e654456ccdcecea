//! Findings: figures, and whether they are better than drop-tail's and the baseline's.

use std::collections::HashMap;

use quell_metrics::{Estimate, Results, View};
use serde::Serialize;

use crate::candidate::DROP_TAIL;
use crate::plan::Plan;
use crate::suite::{Figure, Section, Wish};

/// The share of the reference that a difference must exceed to matter: what no chance explains may still be too
/// little to choose an algorithm by.
pub const RELEVANT: f64 = 0.02;

/// The comparison of a figure with a reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Better: the 95% interval of the paired difference excludes zero, and it is more than [`RELEVANT`].
    Better,
    /// No such difference.
    Same,
    /// Worse, in the same sense.
    Worse,
}

/// A figure of an algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Cell {
    /// Its mean over the seeds.
    pub value: Estimate,
    /// The verdict beside drop-tail. `None`: neither way is better, or there is nothing to compare.
    pub against_drop_tail: Option<Verdict>,
    /// The verdict beside the baseline.
    pub against_baseline: Option<Verdict>,
}

/// An algorithm's figures; `None` where one does not apply.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FigureRow {
    /// The algorithm's label.
    pub algorithm: String,
    /// The figures, in the order of the section's.
    pub cells: Vec<Option<Cell>>,
}

/// One point of a section.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PointFound {
    /// The settings that distinguish the point; empty if the section is one point.
    pub setting: String,
    /// Every algorithm.
    pub rows: Vec<FigureRow>,
}

/// The findings of a section.
#[derive(Clone, Debug)]
pub struct SectionFound {
    /// The section.
    pub section: &'static Section,
    /// Its points.
    pub points: Vec<PointFound>,
    /// The place of the first of them among the results' points.
    pub first: usize,
}

/// The numbers of figures that are better, the same and worse.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tally {
    /// Better.
    pub better: usize,
    /// Neither.
    pub same: usize,
    /// Worse.
    pub worse: usize,
}

impl Tally {
    /// Counts verdicts.
    pub fn of(verdicts: impl Iterator<Item = Verdict>) -> Tally {
        let mut tally = Tally::default();
        for verdict in verdicts {
            *match verdict {
                Verdict::Better => &mut tally.better,
                Verdict::Same => &mut tally.same,
                Verdict::Worse => &mut tally.worse,
            } += 1;
        }
        tally
    }

    /// All of them.
    pub fn all(&self) -> usize {
        self.better + self.same + self.worse
    }
}

impl std::iter::Sum for Tally {
    fn sum<I: Iterator<Item = Tally>>(each: I) -> Tally {
        each.fold(Tally::default(), |all, t| Tally {
            better: all.better + t.better,
            same: all.same + t.same,
            worse: all.worse + t.worse,
        })
    }
}

impl SectionFound {
    /// Compares an algorithm with drop-tail in the section's figures.
    pub fn tally(&self, algorithm: &str) -> Tally {
        let rows = self.points.iter().flat_map(|point| &point.rows).filter(|row| row.algorithm == algorithm);
        Tally::of(rows.flat_map(|row| row.cells.iter().flatten()).filter_map(|cell| cell.against_drop_tail))
    }
}

/// The findings of all sections.
#[derive(Clone, Debug)]
pub struct Findings {
    /// The findings of each section.
    pub sections: Vec<SectionFound>,
}

impl Findings {
    /// The figures of a plan's results.
    pub fn of(plan: &Plan, results: &Results) -> Findings {
        let sections = plan.parts.iter().map(|part| SectionFound {
            section: part.section,
            points: part
                .points
                .clone()
                .map(|point| point_found(plan, results, part.section, point))
                .collect(),
            first: part.points.start,
        });
        Findings { sections: sections.collect() }
    }

    /// Groups the findings by section of the RFC, since some sections have several scenarios.
    pub fn by_number(&self) -> Vec<(&'static str, Vec<&SectionFound>)> {
        let mut numbers: Vec<(&str, Vec<&SectionFound>)> = Vec::new();
        for found in &self.sections {
            match numbers.last_mut().filter(|(number, _)| *number == found.section.section) {
                Some((_, all)) => all.push(found),
                None => numbers.push((&found.section.section, vec![found])),
            }
        }
        numbers
    }

    /// Compares an algorithm with drop-tail in all figures.
    pub fn tally(&self, algorithm: &str) -> Tally {
        self.sections.iter().map(|section| section.tally(algorithm)).sum()
    }
}

fn point_found(plan: &Plan, results: &Results, section: &Section, point: usize) -> PointFound {
    let cell = |algorithm: &str, figure: &Figure| {
        let view = View { link: figure.link.clone(), ..View::of_point(point) };
        let value = results.estimate(&view, algorithm, &figure.of)?;
        let against = |reference: &str| verdict(results, &view, figure, algorithm, reference);
        Some(Cell {
            value,
            against_drop_tail: against(DROP_TAIL),
            against_baseline: against(plan.baseline()),
        })
    };
    let row = |algorithm: &String| FigureRow {
        algorithm: algorithm.clone(),
        cells: section.figures.iter().map(|figure| cell(algorithm, figure)).collect(),
    };
    // The first setting is the section's name.
    let settings = results.run.points.get(point).map_or(&[][..], |info| &info.settings);
    let each = settings.iter().skip(1).map(|s| format!("{} = {}", s.field, s.value));
    PointFound {
        setting: each.collect::<Vec<_>>().join(", "),
        rows: plan.algorithms.iter().map(row).collect(),
    }
}

/// Compares an algorithm's figure with a reference's, over the seeds that both have.
fn verdict(
    results: &Results,
    view: &View,
    figure: &Figure,
    algorithm: &str,
    reference: &str,
) -> Option<Verdict> {
    if algorithm == reference || figure.wish == Wish::Neither {
        return None;
    }
    let other: HashMap<u64, f64> = results.samples(view, reference, &figure.of).into_iter().collect();
    let own = results.samples(view, algorithm, &figure.of);
    let pairs: Vec<(f64, f64)> =
        own.into_iter().filter_map(|(seed, x)| Some((x, *other.get(&seed)?))).collect();
    let fixed = [algorithm, reference].iter().all(|a| results.is_fixed(view.point, a));
    compare(&pairs, figure.wish, fixed)
}

/// [`Verdict`] from a figure and its reference, seed by seed. Where no seed makes a difference (`fixed`), the
/// difference is what it is.
fn compare(pairs: &[(f64, f64)], wish: Wish, fixed: bool) -> Option<Verdict> {
    // How much better, and on which scale that counts.
    let gains: Vec<(f64, f64)> = match wish {
        Wish::More => pairs.iter().map(|(x, r)| (x - r, r.abs())).collect(),
        Wish::Less => pairs.iter().map(|(x, r)| (r - x, r.abs())).collect(),
        // The distance of a ratio from one, by factors; a ratio of zero is as far as can be.
        Wish::NearOne => {
            let distance = |x: f64| x.ln().abs().min(1e3);
            pairs.iter().map(|(x, r)| (distance(*r) - distance(*x), 1.0)).collect()
        }
        Wish::Neither => return None,
    };
    let gain = Estimate::of(&gains.iter().map(|g| g.0).collect::<Vec<_>>())?;
    let scale = gains.iter().map(|g| g.1).sum::<f64>() / gains.len() as f64;
    let matters = gain.mean.abs() > RELEVANT * scale && gain.mean != 0.0;
    let proven = fixed || gain.excludes_zero() || (gain.half_width == Some(0.0) && gain.mean != 0.0);
    Some(match matters && proven {
        false => Verdict::Same,
        true if gain.mean > 0.0 => Verdict::Better,
        true => Verdict::Worse,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_counts_if_chance_does_not_explain_it_and_it_matters() {
        let less = |pairs: &[(f64, f64)]| compare(pairs, Wish::Less, false).unwrap();
        assert_eq!(less(&[(1.0, 2.0), (1.1, 2.0), (0.9, 2.0)]), Verdict::Better);
        assert_eq!(less(&[(2.0, 1.0), (2.0, 1.1), (2.0, 0.9)]), Verdict::Worse);
        // Chance.
        assert_eq!(less(&[(1.0, 2.0), (3.0, 2.0), (1.5, 2.0)]), Verdict::Same);
        // Certain, and too little.
        assert_eq!(less(&[(1.99, 2.0), (1.991, 2.0), (1.989, 2.0)]), Verdict::Same);
        // One seed proves nothing, unless no seed makes a difference.
        assert_eq!(less(&[(1.0, 2.0)]), Verdict::Same);
        assert_eq!(compare(&[(1.0, 2.0)], Wish::Less, true), Some(Verdict::Better));
        // Nothing can be less than nothing.
        assert_eq!(less(&[(0.0, 0.0), (0.0, 0.0)]), Verdict::Same);
        assert_eq!(less(&[(0.1, 0.0), (0.1, 0.0)]), Verdict::Worse);
        assert_eq!(compare(&[], Wish::Less, false), None);
    }

    #[test]
    fn a_ratio_is_better_nearer_to_one_from_either_side() {
        let near = |x: f64, r: f64| compare(&[(x, r), (x, r), (x * 1.01, r)], Wish::NearOne, false).unwrap();
        assert_eq!(near(0.9, 4.0), Verdict::Better);
        assert_eq!(near(0.25, 1.2), Verdict::Worse);
        assert_eq!(near(0.5, 2.0), Verdict::Same);
        assert_eq!(near(0.0, 2.0), Verdict::Worse);
    }
}
