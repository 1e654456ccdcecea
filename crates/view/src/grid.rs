//! Figures as one table for papers and programs: CSV, Markdown or LaTeX. Each row is an algorithm at a place: a point of the
//! study, a link, a class of traffic, a segment.
//!
//! CSV has every number in the unit that it is stored in, with the ends of its interval; Markdown and LaTeX have units that
//! fit, and the digits that the intervals support.

use std::collections::HashMap;

use quell_metrics::{Estimate, Quantity, Range, Results, View, distinct};
use quell_units::text::{one_line, seconds};

use crate::chart::csv::{number, rounded_as, row, values};
use crate::figures::{self, Figure, Scale, round, round_within};

/// A table of figures.
#[derive(Clone, Debug)]
pub struct Grid {
    /// What is said about it: its title, what made it, what its intervals are, and notes.
    about: Vec<String>,
    /// The columns that say what a row is.
    keys: Vec<Key>,
    columns: Vec<Column>,
    rows: Vec<Row>,
    /// The algorithm that the others are compared with.
    baseline: Option<String>,
}

/// A column that says what a row is.
#[derive(Clone, Debug)]
struct Key {
    /// The name in CSV, with the unit.
    name: String,
    /// The heading for people.
    title: String,
    /// Left out for people where it is the same in all rows.
    is_obvious: bool,
}

/// A column of figures.
#[derive(Clone, Debug)]
struct Column {
    quantity: Quantity,
    /// The unit that it is stored in; "1" for a pure number.
    stored: String,
    /// The unit that people read it in; may be empty.
    unit: String,
    scale: Scale,
}

#[derive(Clone, Debug)]
struct Row {
    /// The number of its point.
    point: usize,
    keys: Vec<String>,
    /// Its values, or its differences from the baseline.
    cells: Vec<Option<Estimate>>,
    /// The values of the baseline, in a comparison.
    beside: Vec<Option<Estimate>>,
    is_baseline: bool,
}

/// Seeds of a row.
fn seeds(row: &Row) -> usize {
    row.cells.iter().flatten().map(|e| e.n).max().unwrap_or(0)
}

/// Notes on figures that fewer replications have than ran: their means are of those alone, which may be the better ones.
/// Rows have names, and a figure of each quantity.
pub fn in_few(names: &[String], quantities: &[&Quantity], rows: &[&[Option<Estimate>]]) -> Vec<String> {
    let note = |(i, quantity): (usize, &&Quantity)| {
        let few = names.iter().zip(rows).filter_map(|(name, row)| {
            let all = row.iter().flatten().map(|e| e.n).max()?;
            let n = row[i].as_ref()?.n;
            (n < all).then(|| format!("{name} {n} of {all}"))
        });
        let few: Vec<String> = few.collect();
        let more = few.len().saturating_sub(MOST_NAMED);
        let named = few[..few.len() - more].join(", ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        (!few.is_empty())
            .then(|| format!("{quantity}: the mean over the seeds that have it, not over all: {named}{more}"))
    };
    quantities.iter().enumerate().filter_map(note).collect()
}

/// More rows than these are only counted in a note.
const MOST_NAMED: usize = 8;

impl Grid {
    /// The figures of each algorithm in these views.
    pub fn of(results: &Results, views: &[View], metrics: &[Quantity]) -> Grid {
        let mut rows = Vec::new();
        let mut lines = Vec::new();
        for view in views {
            for algorithm in results.algorithms(view.point) {
                let cells = metrics.iter().map(|m| results.estimate(view, algorithm, m)).collect();
                lines.push((view, algorithm.as_str()));
                rows.push((view.point, cells, Vec::new(), false));
            }
        }
        Grid::made(results, metrics, &lines, rows, None)
    }

    /// The differences of the other algorithms from `baseline`, paired by seed; of all, or of those that are named.
    pub fn compared(
        results: &Results,
        views: &[View],
        metrics: &[Quantity],
        baseline: &str,
        algorithms: Option<&[String]>,
    ) -> Grid {
        let mut rows = Vec::new();
        let mut lines = Vec::new();
        for view in views {
            let base: Vec<Option<Estimate>> =
                metrics.iter().map(|m| results.estimate(view, baseline, m)).collect();
            lines.push((view, baseline));
            rows.push((view.point, base.clone(), base.clone(), true));
            let wanted = |a: &&String| **a != baseline && algorithms.is_none_or(|some| some.contains(a));
            for algorithm in results.algorithms(view.point).iter().filter(wanted) {
                let difference = |m| results.difference(view, baseline, algorithm, m);
                lines.push((view, algorithm.as_str()));
                rows.push((view.point, metrics.iter().map(difference).collect(), base.clone(), false));
            }
        }
        Grid::made(results, metrics, &lines, rows, Some(baseline.to_string()))
    }

    #[allow(clippy::type_complexity, reason = "the rows of the two constructors above")]
    fn made(
        results: &Results,
        metrics: &[Quantity],
        lines: &[(&View, &str)],
        rows: Vec<(usize, Vec<Option<Estimate>>, Vec<Option<Estimate>>, bool)>,
        baseline: Option<String>,
    ) -> Grid {
        let (keys, values) = keys(results, lines);
        // A column of nothing tells nothing.
        let shown: Vec<usize> =
            (0..metrics.len()).filter(|i| rows.iter().any(|row| row.1[*i].is_some())).collect();
        let column = |i: &usize| {
            let largest = rows.iter().filter_map(|row| row.1[*i]).map(|e| e.mean.abs()).fold(0.0, f64::max);
            let stored = results.unit(&metrics[*i]);
            let (scale, unit) = figures::scale_of(&metrics[*i], &stored, largest);
            Column { quantity: metrics[*i].clone(), stored, unit, scale }
        };
        let columns = shown.iter().map(column).collect();
        let pick = |cells: Vec<Option<Estimate>>| {
            shown.iter().map(|i| cells.get(*i).copied().flatten()).collect::<Vec<_>>()
        };
        let rows: Vec<Row> = rows
            .into_iter()
            .zip(values)
            .map(|((point, cells, beside, is_baseline), keys)| Row {
                point,
                keys,
                cells: pick(cells),
                beside: pick(beside),
                is_baseline,
            })
            .collect();
        let mut grid = Grid { about: Vec::new(), keys, columns, rows, baseline };
        grid.about = grid.described(results);
        grid
    }

    fn described(&self, results: &Results) -> Vec<String> {
        let run = &results.run;
        let title = if run.title.is_empty() { &run.scenario_file } else { &run.title };
        let mut about = vec![one_line(title), run.made_by()];
        if run.partial {
            let (finished, asked) = (results.replications.len(), results.asked());
            about.push(format!("PARTIAL: {finished} of {asked} replications"));
        }
        let counts: Vec<usize> = self.rows.iter().map(seeds).filter(|n| *n > 0).collect();
        let (least, most) = (counts.iter().min().copied(), counts.iter().max().copied());
        let of = self.baseline.as_ref().map_or("mean".to_string(), |baseline| {
            format!("differences from {baseline}, paired by seed; * the interval excludes 0; mean")
        });
        about.push(match (least.unwrap_or(0), most.unwrap_or(0)) {
            (_, 0) => "no replication finished".to_string(),
            (_, 1) => "one seed, so no intervals".to_string(),
            (least, most) => {
                let seeds = if least == most { most.to_string() } else { format!("{least} to {most}") };
                format!(
                    "{of} ± half-width of the 95% confidence interval over {seeds} seeds; [low, high] if the interval \
                     is cut off at a limit of the metric"
                )
            }
        });
        about.extend(results.notes().iter().map(|note| format!("note: {}", one_line(note))));
        let names: Vec<String> = self.rows.iter().map(|row| self.name(row)).collect();
        let quantities: Vec<&Quantity> = self.columns.iter().map(|column| &column.quantity).collect();
        let cells: Vec<&[Option<Estimate>]> = self.rows.iter().map(|row| row.cells.as_slice()).collect();
        about.extend(
            in_few(&names, &quantities, &cells).iter().map(|note| format!("note: {}", one_line(note))),
        );
        about
    }

    /// A row in a note: what it is, without what is the same in all rows.
    fn name(&self, row: &Row) -> String {
        let told =
            self.keys.iter().zip(&row.keys).filter(|(key, value)| !key.is_obvious && !value.is_empty());
        told.map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(" ")
    }

    /// As CSV (RFC 4180): a row for each algorithm and place, numbers in the units of their columns' names.
    pub fn csv(&self) -> String {
        let mut out = String::new();
        let name = |column: &Column| {
            let name = column.quantity.to_string();
            // The names of metrics end in their units.
            match column.quantity.metric().is_some() || column.stored == "1" {
                true => name,
                false => format!("{name} ({})", column.stored),
            }
        };
        let heads = |column: &Column| -> Vec<String> {
            let name = name(column);
            match self.baseline {
                Some(_) => vec![
                    format!("{name} baseline"),
                    format!("{name} difference"),
                    format!("{name} difference low"),
                    format!("{name} difference high"),
                ],
                None => vec![name.clone(), format!("{name} low"), format!("{name} high")],
            }
        };
        let keys = self.keys.iter().map(|key| key.name.clone());
        let baseline = self.baseline.iter().map(|_| "baseline".to_string());
        let columns = self.columns.iter().flat_map(heads);
        row(&mut out, keys.chain(baseline).chain(["seeds".to_string()]).chain(columns));
        for line in self.rows.iter().filter(|line| !line.is_baseline) {
            let cells = (0..self.columns.len()).flat_map(|i| self.csv_cells(line, i));
            let keys = line.keys.iter().cloned();
            row(&mut out, keys.chain(self.baseline.clone()).chain([seeds(line).to_string()]).chain(cells));
        }
        out
    }

    fn csv_cells(&self, line: &Row, i: usize) -> Vec<String> {
        let range = if self.baseline.is_some() { Range::ANY } else { self.columns[i].quantity.range() };
        let show = |e: &Estimate, x: f64| match e.half_width {
            Some(half) if half > 0.0 => rounded_as(x, half),
            _ => number(x, 7),
        };
        let mean = |e: &Option<Estimate>| e.as_ref().map_or(String::new(), |e| show(e, e.mean));
        let ends = line.cells[i].as_ref().and_then(|e| Some((e, e.interval_within(range)?)));
        let ends = match ends {
            Some((e, (low, high))) => [show(e, low), show(e, high)],
            None => [String::new(), String::new()],
        };
        let beside = self.baseline.as_ref().map(|_| mean(&line.beside[i]));
        beside.into_iter().chain([mean(&line.cells[i])]).chain(ends).collect()
    }

    /// As a table of Markdown, as GitHub has them, with what is said about it below.
    pub fn markdown(&self) -> String {
        let escaped = |text: &str| one_line(text).replace('\\', "\\\\").replace('|', "\\|");
        let keys = self.shown_keys();
        let mut out = String::from("|");
        for i in &keys {
            out.push_str(&format!(" {} |", escaped(&self.keys[*i].title)));
        }
        for column in &self.columns {
            let unit = if column.unit.is_empty() { String::new() } else { format!(" ({})", column.unit) };
            out.push_str(&format!(" {}{unit} |", escaped(&column.quantity.title())));
        }
        let with_seeds = self.seeds_differ();
        if with_seeds {
            out.push_str(" seeds |");
        }
        out.push_str("\n|");
        out.push_str(&" --- |".repeat(keys.len()));
        out.push_str(&" ---: |".repeat(self.columns.len() + usize::from(with_seeds)));
        out.push('\n');
        for line in &self.rows {
            out.push('|');
            for i in &keys {
                out.push_str(&format!(" {} |", escaped(&self.key(line, *i))));
            }
            for (i, column) in self.columns.iter().enumerate() {
                let cell = line.cells[i].as_ref().map_or("–".to_string(), |e| {
                    let figure = self.figure(line, column, e);
                    let star = if self.is_starred(line, e) { " \\*" } else { "" };
                    format!("{} {}", figure.mean, figure.interval()).trim_end().to_string() + star
                });
                out.push_str(&format!(" {cell} |"));
            }
            if with_seeds {
                out.push_str(&format!(" {} |", seeds(line)));
            }
            out.push('\n');
        }
        for line in &self.about {
            out.push_str(&format!("\n{}\n", line.replace("* the", "\\* the")));
        }
        out
    }

    /// As a `tabular` of LaTeX with the rules of booktabs. What is said about it are comments before it.
    pub fn latex(&self) -> String {
        let keys = self.shown_keys();
        let with_seeds = self.seeds_differ();
        let mut out: String = self.about.iter().map(|line| format!("% {}\n", one_line(line))).collect();
        out.push_str("% \\usepackage{booktabs}\n");
        let figures = self.columns.len() + usize::from(with_seeds);
        out.push_str(&format!(
            "\\begin{{tabular}}{{{}{}}}\n\\toprule\n",
            "l".repeat(keys.len()),
            "r".repeat(figures)
        ));
        let mut titles: Vec<String> = keys.iter().map(|i| escaped(&self.keys[*i].title)).collect();
        let mut units: Vec<String> = keys.iter().map(|_| String::new()).collect();
        for column in &self.columns {
            titles.push(escaped(&column.quantity.title()));
            let unit = if column.unit.is_empty() { String::new() } else { format!("({})", column.unit) };
            units.push(escaped(&unit));
        }
        if with_seeds {
            titles.push("seeds".to_string());
            units.push(String::new());
        }
        out.push_str(&format!("{} \\\\\n", titles.join(" & ")));
        if units.iter().any(|unit| !unit.is_empty()) {
            out.push_str(&format!("{} \\\\\n", units.join(" & ")));
        }
        out.push_str("\\midrule\n");
        let mut before: Option<&Row> = None;
        for line in &self.rows {
            if before.is_some_and(|row| row.point != line.point) {
                out.push_str("\\midrule\n");
                before = None;
            }
            let mut same = before.is_some();
            let mut cells: Vec<String> = Vec::new();
            for (k, i) in keys.iter().enumerate() {
                // What all rows before it share is said once.
                same = same && k + 1 < keys.len() && before.is_some_and(|row| row.keys[*i] == line.keys[*i]);
                cells.push(if same { String::new() } else { escaped(&self.key(line, *i)) });
            }
            for (i, column) in self.columns.iter().enumerate() {
                cells.push(line.cells[i].as_ref().map_or("--".to_string(), |e| {
                    let star = if self.is_starred(line, e) { "^{*}" } else { "" };
                    in_math(&self.figure(line, column, e), star)
                }));
            }
            if with_seeds {
                cells.push(seeds(line).to_string());
            }
            out.push_str(&format!("{} \\\\\n", cells.join(" & ")));
            before = Some(line);
        }
        out.push_str("\\bottomrule\n\\end{tabular}\n");
        out
    }

    fn figure(&self, line: &Row, column: &Column, estimate: &Estimate) -> Figure {
        match (&self.baseline, line.is_baseline) {
            (Some(_), false) => round(estimate, column.scale, true),
            _ => round_within(estimate, column.scale, column.quantity.range()),
        }
    }

    fn is_starred(&self, line: &Row, estimate: &Estimate) -> bool {
        self.baseline.is_some() && !line.is_baseline && estimate.excludes_zero()
    }

    /// The key of a row for people.
    fn key(&self, line: &Row, i: usize) -> String {
        let key = &line.keys[i];
        let last = i + 1 == self.keys.len();
        if last && line.is_baseline { format!("{key} (baseline)") } else { key.clone() }
    }

    /// The keys that tell rows apart.
    fn shown_keys(&self) -> Vec<usize> {
        let differs = |i: &usize| {
            let first = self.rows.first().map(|row| &row.keys[*i]);
            !self.keys[*i].is_obvious || self.rows.iter().any(|row| Some(&row.keys[*i]) != first)
        };
        (0..self.keys.len()).filter(differs).collect()
    }

    fn seeds_differ(&self) -> bool {
        let counts: Vec<usize> = self.rows.iter().map(seeds).filter(|n| *n > 0).collect();
        counts.windows(2).any(|w| w[0] != w[1])
    }
}

/// The columns that say what a row is, and each row's values in them.
fn keys(results: &Results, lines: &[(&View, &str)]) -> (Vec<Key>, Vec<Vec<String>>) {
    let points = &results.run.points;
    let mut keys = Vec::new();
    let mut columns: Vec<Vec<String>> = Vec::new();
    let fields: Vec<&str> =
        distinct(points.iter().flat_map(|p| &p.settings).map(|setting| setting.field.as_str()));
    for field in fields {
        let label = |view: &View| {
            let settings = points.get(view.point).map_or(&[][..], |p| &p.settings);
            settings.iter().find(|s| s.field == field).map_or("", |s| s.value.as_str())
        };
        let labels: Vec<&str> = lines.iter().map(|(view, _)| label(view)).collect();
        let (name, column) = values(field, &labels);
        keys.push(Key { title: name.clone(), name, is_obvious: true });
        columns.push(column);
    }
    let mut add = |name: &str, title: &str, is_obvious: bool, of: &dyn Fn(&(&View, &str)) -> String| {
        keys.push(Key { name: name.to_string(), title: title.to_string(), is_obvious });
        columns.push(lines.iter().map(of).collect());
    };
    let first =
        |view: &View| points.get(view.point).and_then(|p| p.links.first().cloned()).unwrap_or_default();
    add("link", "link", true, &|(view, _)| view.link.clone().unwrap_or_else(|| first(view)));
    add("class", "traffic", true, &|(view, _)| view.scope.clone());
    let segment = |view: &View| {
        let of = points.get(view.point)?.segments.get(view.segment? as usize)?;
        Some(*of)
    };
    if lines.iter().any(|(view, _)| view.segment.is_some()) {
        let from = |view: &View| segment(view).map_or(String::new(), |s: (f64, f64)| seconds(s.0));
        let to = |view: &View| segment(view).map_or(String::new(), |s: (f64, f64)| seconds(s.1));
        add("segment from (s)", "segment from (s)", true, &|(view, _)| from(view));
        add("segment to (s)", "segment to (s)", true, &|(view, _)| to(view));
    }
    add("algorithm", "algorithm", false, &|(_, algorithm)| (*algorithm).to_string());
    let rows = (0..lines.len()).map(|i| columns.iter().map(|column| column[i].clone()).collect());
    (keys, rows.collect())
}

/// A figure in the mathematics of LaTeX.
fn in_math(figure: &Figure, star: &str) -> String {
    let interval = match (&figure.ends, &figure.half_width) {
        (Some((low, high)), _) => format!("\\ [{low}, {high}]"),
        (None, Some(half)) => format!(" \\pm {half}"),
        (None, None) => String::new(),
    };
    format!("${}{interval}{star}$", figure.mean)
}

/// A text that LaTeX prints as it is.
fn escaped(text: &str) -> String {
    let special: HashMap<char, &str> = HashMap::from([
        ('\\', "\\textbackslash{}"),
        ('&', "\\&"),
        ('%', "\\%"),
        ('$', "\\$"),
        ('#', "\\#"),
        ('_', "\\_"),
        ('{', "\\{"),
        ('}', "\\}"),
        ('~', "\\textasciitilde{}"),
        ('^', "\\textasciicircum{}"),
        ('<', "\\textless{}"),
        ('>', "\\textgreater{}"),
        ('|', "\\textbar{}"),
        ('"', "\\textquotedbl{}"),
        ('µ', "\\textmu{}"),
        ('²', "\\textsuperscript{2}"),
        ('±', "$\\pm$"),
        ('–', "--"),
        ('−', "$-$"),
        ('…', "\\dots{}"),
    ]);
    let mut out = String::new();
    for c in one_line(text).chars() {
        match special.get(&c) {
            Some(instead) => out.push_str(instead),
            None => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_of_some_of_the_seeds_is_noted() {
        let of = |n: usize| Estimate::of(&vec![1.0; n]);
        let (time, jain): (Quantity, Quantity) =
            ("convergence_time_s".parse().unwrap(), "jain_index".parse().unwrap());
        let names = ["codel", "red", "pie"].map(String::from);
        let rows = [[of(8), of(8)], [of(1), of(8)], [None, of(8)]];
        let rows: Vec<&[Option<Estimate>]> = rows.iter().map(|row| row.as_slice()).collect();
        let notes = in_few(&names, &[&time, &jain], &rows);
        assert_eq!(
            notes,
            ["convergence_time_s: the mean over the seeds that have it, not over all: red 1 of 8"]
        );
    }

    #[test]
    fn what_latex_obeys_is_escaped() {
        assert_eq!(escaped("50 % of a_b & {c}"), "50 \\% of a\\_b \\& \\{c\\}");
        assert_eq!(
            escaped("\\end{x}^2 ~ µs"),
            "\\textbackslash{}end\\{x\\}\\textasciicircum{}2 \\textasciitilde{} \\textmu{}s"
        );
        assert_eq!(escaped("two\nlines"), "two lines");
    }
}
