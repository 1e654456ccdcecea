//! The head of a column: what its figures are, and in which unit they are read.

use quell_metrics::Results;
use quell_view::figures::{Figure as Rounded, Scale, round, scale_of};

use crate::findings::{Cell, PointFound};
use crate::suite::{Figure, Section};

/// The heading of a column of figures.
#[derive(Clone, Debug, PartialEq)]
pub struct Heading {
    /// The figure's title, with its link if it is not the first.
    pub title: String,
    /// The unit in which all of the column are read; may be empty.
    pub unit: String,
    scale: Scale,
}

impl Heading {
    /// The headings of a section's columns at a point, in the order of the section's figures.
    pub fn all(results: &Results, section: &Section, point: &PointFound) -> Vec<Heading> {
        let figures = section.figures.iter().enumerate();
        figures.map(|(at, figure)| Heading::of(results, figure, point, at)).collect()
    }

    fn of(results: &Results, figure: &Figure, point: &PointFound, at: usize) -> Heading {
        let values = point.rows.iter().filter_map(|row| row.cells[at].as_ref());
        let largest = values.map(|cell| cell.value.mean.abs()).fold(0.0, f64::max);
        let (scale, unit) = scale_of(&figure.of, &results.unit(&figure.of), largest);
        let title = match &figure.link {
            Some(link) => format!("{} at {link}", figure.of.title()),
            None => figure.of.title(),
        };
        Heading { title, unit, scale }
    }

    /// A figure of the column.
    pub fn figure(&self, cell: &Cell) -> Rounded {
        round(&cell.value, self.scale, false)
    }
}
