//! Each table as a picture: what is printed, and what was found in its place.

use quell_lab::distinct;
use quell_view::picture::{ComparedCell, ComparedColumn, ComparedRow, Outcome, Sheet, compared};

use super::words::{Page, outcome, table_name};
use crate::cells::slug;
use crate::digits::figure;
use crate::judge::{JudgedCell, JudgedExperiment, JudgedTable};

/// Values that span more than this are told apart by their ratios.
const WIDE: f64 = 6.0;

/// A table's picture and its file name without the ending.
#[derive(Clone, Debug)]
pub struct Strip {
    /// The file name.
    pub name: String,
    /// What it shows, for those who cannot see it.
    pub title: String,
    /// SVG.
    pub svg: String,
}

impl Page<'_> {
    /// The picture of one of an experiment's tables.
    pub(super) fn strip(&self, judged: &JudgedExperiment<'_>, table: &JudgedTable<'_>) -> Strip {
        let number = table.cells.first().map_or("", |c| c.cell.table.as_str());
        let title = format!("{}: printed and found", table_name(self.document, number));
        let svg = drawn(table, &title);
        Strip { name: format!("{}-numbers-{}", judged.experiment.id, slug(number)), title, svg }
    }

    /// The pictures of all of its tables.
    pub fn strips(&self) -> Vec<Strip> {
        let tables = self.experiments.iter().flat_map(|(j, _)| j.tables.iter().map(move |t| (j, t)));
        tables.filter(|(_, t)| !t.cells.is_empty()).map(|(j, t)| self.strip(j, t)).collect()
    }
}

/// The ends of the values that agree with a printed number; there is no less than nothing, and no more than all.
fn limits(cell: &JudgedCell<'_>) -> (f64, f64) {
    let (low, high) = cell.band;
    let most = if cell.cell.unit == "percent" { 100.0 } else { f64::INFINITY };
    (low.max(0.0f64.min(cell.cell.low.value)), high.min(most.max(cell.cell.high.value)))
}

/// The same as text.
pub(super) fn band(cell: &JudgedCell<'_>) -> String {
    let (low, high) = limits(cell);
    format!("{} to {}", figure(low), figure(high))
}

fn drawn(table: &JudgedTable<'_>, title: &str) -> String {
    let cells = &table.cells;
    let metrics = distinct(cells.iter().map(|of| (of.cell.metric.as_str(), of.cell.unit.as_str())));
    let cases = distinct(cells.iter().map(|of| of.cell.case.as_str()));
    let labels = distinct(cells.iter().map(|of| of.label));
    let of = |cell: &JudgedCell<'_>| ComparedCell {
        printed: (cell.cell.low.value, cell.cell.high.value),
        band: limits(cell),
        found: cell.found.map(|found| found.mean),
        half_width: cell.found.and_then(|found| found.half_width),
        other: cell.ns2.map(|ns2| ns2.mean),
        outcome: outcome(cell),
    };
    let column = |(metric, unit): &(&str, &str)| {
        let of_metric = cells.iter().filter(|c| c.cell.metric == *metric && c.cell.unit == *unit);
        let values: Vec<f64> = of_metric
            .flat_map(|c| {
                let (low, high) = limits(c);
                [low, high].into_iter().chain(c.found.map(|found| found.mean))
            })
            .collect();
        let (low, high) = values.iter().fold((f64::INFINITY, 0.0f64), |(a, b), x| (a.min(*x), b.max(*x)));
        let unit = if *unit == "1" { String::new() } else { format!(" ({unit})") };
        let title = format!("{}{unit}", metric.replace('_', " "));
        ComparedColumn { title, log: low > 0.0 && high > WIDE * low }
    };
    let mut rows: Vec<ComparedRow> = Vec::new();
    let mut places: Vec<(&str, &str)> = Vec::new();
    for cell in cells {
        let place = (cell.cell.case.as_str(), cell.label);
        let at = places.iter().position(|known| *known == place).unwrap_or_else(|| {
            places.push(place);
            let (group, label) = match (cases.len(), labels.len()) {
                (1, _) => (String::new(), place.1.to_string()),
                (_, 1) => (String::new(), place.0.to_string()),
                // A case of one algorithm needs no line of its own.
                _ if cells.iter().filter(|c| c.cell.case == place.0).all(|c| c.label == place.1) => {
                    (String::new(), format!("{}, {}", place.0, place.1))
                }
                _ => (place.0.to_string(), place.1.to_string()),
            };
            rows.push(ComparedRow { group, label, cells: vec![None; metrics.len()] });
            rows.len() - 1
        });
        let column = metrics.iter().position(|(m, u)| *m == cell.cell.metric && *u == cell.cell.unit);
        rows[at].cells[column.unwrap_or(0)] = Some(of(cell));
    }
    // Rows of a case stand together.
    let order = |row: &ComparedRow| cases.iter().position(|case| *case == row.group);
    rows.sort_by_key(|row| order(row));
    let columns: Vec<ComparedColumn> = metrics.iter().map(column).collect();
    let outside =
        cells.iter().filter(|c| !matches!(outcome(c), Outcome::Agrees | Outcome::Inside | Outcome::Withheld));
    let outside: Vec<String> = outside
        .map(|c| {
            format!(
                "{} {} {}: printed {}",
                c.cell.case,
                c.label,
                c.cell.metric.replace('_', " "),
                c.cell.printed()
            )
        })
        .collect();
    let description = match &outside[..] {
        [] => format!("All of {} numbers are found.", cells.len()),
        some => format!("{} of {} numbers are not found: {}.", some.len(), cells.len(), some.join("; ")),
    };
    compared(&Sheet::new(title, &description), &columns, &rows, "ns-2")
}
