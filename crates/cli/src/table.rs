//! Tables on a terminal or in a pipe. On a terminal nothing is wider than it: tables of figures are
//! cut into several below each other. In a pipe without COLUMNS they are not. Tables of text wrap.

use comfy_table::{
    Attribute, Cell, CellAlignment, Color, ColumnConstraint, ContentArrangement, LineStyle, Table,
    TableStyle, Width,
};
use console::measure_text_width;

use quell_units::text::{one_line, visible};

use crate::terminal;

const STYLE: TableStyle = TableStyle::new().header_separator(LineStyle::none().fill('─'));
/// Blanks between columns.
const GAP: u16 = 2;

/// The meaning of a cell beside its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tint {
    /// Nothing.
    #[default]
    Plain,
    /// Better.
    Good,
    /// Worse.
    Bad,
    /// A name.
    Name,
}

/// A column: a heading, the unit below it, and cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// The heading.
    pub title: String,
    /// The unit; may be empty.
    pub unit: String,
    /// The cells.
    pub cells: Vec<(String, Tint)>,
}

impl Column {
    /// A column of cells.
    pub fn new(
        title: impl Into<String>,
        unit: impl Into<String>,
        cells: impl IntoIterator<Item = (String, Tint)>,
    ) -> Self {
        Column { title: title.into(), unit: unit.into(), cells: cells.into_iter().collect() }
    }

    /// A column of names.
    pub fn names(title: impl Into<String>, names: impl IntoIterator<Item = impl ToString>) -> Self {
        Column::new(title, "", names.into_iter().map(|name| (one_line(&name.to_string()), Tint::Name)))
    }

    /// Two columns of names as one, the left one as wide as it needs.
    pub fn beside(&self, right: &Column) -> Self {
        let wide = self.width();
        let joined = |left: &str, right: &str| {
            // Blanks that a heading is not broken at.
            let gap = wide - measure_text_width(left) + usize::from(GAP);
            format!("{left}{}{right}", "\u{a0}".repeat(gap))
        };
        let cells = self.cells.iter().zip(&right.cells).map(|(l, r)| (joined(&l.0, &r.0), r.1)).collect();
        Column { title: joined(&self.title, &right.title), unit: String::new(), cells }
    }

    fn cell_width(&self) -> usize {
        self.cells.iter().map(|c| measure_text_width(&c.0)).max().unwrap_or(0)
    }

    /// The heading in lines no wider than the cells, if its words allow.
    fn heading(&self) -> Vec<String> {
        let width = self.cell_width().max(8);
        let mut lines: Vec<String> = Vec::new();
        for word in self.title.split(' ') {
            match lines.last_mut() {
                Some(line) if measure_text_width(line) + 1 + measure_text_width(word) <= width => {
                    line.push(' ');
                    line.push_str(word);
                }
                _ => lines.push(word.to_string()),
            }
        }
        lines
    }

    fn width(&self) -> usize {
        let heading = self.heading().iter().map(|line| measure_text_width(line)).max().unwrap_or(0);
        heading.max(measure_text_width(&self.unit)).max(self.cell_width())
    }
}

/// A table of figures: names on the left, columns of figures beside them.
pub fn figures(names: &Column, columns: &[Column]) -> String {
    figures_within(names, columns, terminal::width(), terminal::colors())
}

fn figures_within(names: &Column, columns: &[Column], width: Option<usize>, colors: bool) -> String {
    let blocks = split(names, columns, width);
    let tables: Vec<String> = blocks.iter().map(|block| one_block(names, block, colors)).collect();
    tables.join("\n")
}

/// Splits columns into blocks that fit, of at least one column.
fn split<'a>(names: &Column, columns: &'a [Column], width: Option<usize>) -> Vec<&'a [Column]> {
    let Some(width) = width else { return vec![columns] };
    let mut blocks = Vec::new();
    let (mut start, mut used) = (0, names.width());
    for (i, column) in columns.iter().enumerate() {
        let more = usize::from(GAP) + column.width();
        if used + more > width && i > start {
            blocks.push(&columns[start..i]);
            (start, used) = (i, names.width());
        }
        used += more;
    }
    blocks.push(&columns[start..]);
    blocks
}

fn one_block(names: &Column, columns: &[Column], colors: bool) -> String {
    let all = || std::iter::once(names).chain(columns);
    let lines = all().map(|c| c.heading().len()).max().unwrap_or(1);
    let units = all().any(|c| !c.unit.is_empty());
    let mut table = plain(colors);
    table.set_header(all().map(|column| {
        let mut heading = column.heading();
        // Headings are on the line above the units.
        let above = lines - heading.len();
        heading.splice(0..0, std::iter::repeat_n(String::new(), above));
        if units {
            heading.push(column.unit.clone());
        }
        // A blank line keeps its place, an empty one would not.
        let heading: Vec<String> =
            heading.into_iter().map(|l| if l.is_empty() { " ".to_string() } else { l }).collect();
        Cell::new(visible(&heading.join("\n"))).add_attribute(Attribute::Bold)
    }));
    for row in 0..names.cells.len() {
        table.add_row(all().map(|column| column.cells.get(row).map_or_else(|| Cell::new(""), tinted)));
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding(if i == 0 { (0, 0) } else { (GAP, 0) });
        column.set_cell_alignment(if i == 0 { CellAlignment::Left } else { CellAlignment::Right });
    }
    finish(&table)
}

/// A table of text; its columns wrap.
pub fn text(header: &[&str], rows: &[Vec<String>]) -> String {
    text_within(header, rows, terminal::text_width(), terminal::colors())
}

/// True if a table has room in the terminal without breaking words.
pub fn fits(header: &[&str], rows: &[Vec<String>]) -> bool {
    let longest: usize = (0..header.len()).map(|i| longest_word(header[i], i, rows)).sum();
    longest + usize::from(GAP) * header.len().saturating_sub(1) <= terminal::text_width()
}

fn text_within(header: &[&str], rows: &[Vec<String>], width: usize, colors: bool) -> String {
    let mut table = plain(colors);
    table.set_header(header.iter().map(|h| Cell::new(h).add_attribute(Attribute::Bold)));
    for row in rows {
        let tint = |i| if i == 0 { Tint::Name } else { Tint::Plain };
        table.add_row(row.iter().enumerate().map(|(i, cell)| tinted(&(cell.clone(), tint(i)))));
    }
    for (i, column) in table.column_iter_mut().enumerate() {
        column.set_padding(if i == 0 { (0, 0) } else { (GAP, 0) });
    }
    table.set_content_arrangement(ContentArrangement::Dynamic);
    table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    // Words break only where there is no room for the longest of each column.
    let longest: Vec<usize> = (0..header.len()).map(|i| longest_word(header[i], i, rows)).collect();
    let gaps = usize::from(GAP) * header.len().saturating_sub(1);
    if longest.iter().sum::<usize>() + gaps <= width {
        for (column, words) in table.column_iter_mut().zip(longest) {
            let least = words + usize::from(column.padding_width());
            let least = Width::Fixed(u16::try_from(least).unwrap_or(u16::MAX));
            column.set_constraint(ColumnConstraint::LowerBoundary(least));
        }
    }
    finish(&table)
}

fn longest_word(header: &str, column: usize, rows: &[Vec<String>]) -> usize {
    let cells = rows.iter().filter_map(|row| row.get(column)).map(String::as_str);
    let words = cells.chain([header]).flat_map(str::split_whitespace).map(measure_text_width);
    words.max().unwrap_or(0)
}

fn plain(colors: bool) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE);
    if colors {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    table
}

fn tinted((text, tint): &(String, Tint)) -> Cell {
    let cell = Cell::new(visible(text));
    match tint {
        Tint::Plain => cell,
        Tint::Good => cell.fg(Color::Green),
        Tint::Bad => cell.fg(Color::Red),
        Tint::Name => cell.fg(Color::Cyan),
    }
}

fn finish(table: &Table) -> String {
    format!("{}\n", table.trim_fmt())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(title: &str, unit: &str, cells: &[&str]) -> Column {
        Column::new(title, unit, cells.iter().map(|c| ((*c).to_string(), Tint::Plain)))
    }

    fn example() -> (Column, Vec<Column>) {
        let names = column("algorithm", "", &["drop-tail", "red"]);
        let columns = vec![
            column("goodput", "Mbit/s", &["9.12 ± 0.04", "9.1  ± 0.3 "]),
            column("queue deviation", "packets", &["12.1 ± 0.4", " 3.0 ± 0.3"]),
            column("loss", "%", &["1 ± 1", "–"]),
        ];
        (names, columns)
    }

    #[test]
    fn a_pipe_gets_everything_in_one_plain_table() {
        let (names, columns) = example();
        let text = figures_within(&names, &columns, None, false);
        assert_eq!(
            text,
            concat!(
                "                             queue\n",
                "algorithm      goodput   deviation   loss\n",
                "                Mbit/s     packets      %\n",
                "─────────────────────────────────────────\n",
                "drop-tail  9.12 ± 0.04  12.1 ± 0.4  1 ± 1\n",
                "red        9.1  ± 0.3    3.0 ± 0.3      –\n",
            )
        );
    }

    #[test]
    fn a_narrow_terminal_gets_blocks_that_fit() {
        let (names, columns) = example();
        for width in [24, 36, 40, 80] {
            let text = figures_within(&names, &columns, Some(width), false);
            assert!(text.lines().all(|l| measure_text_width(l) <= width), "{width}:\n{text}");
            assert_eq!(
                text.matches("drop-tail").count(),
                [(24, 3), (36, 2), (40, 2), (80, 1)].iter().find(|w| w.0 == width).unwrap().1
            );
        }
    }

    #[test]
    fn text_wraps_between_words() {
        let rows = vec![vec!["name".to_string(), "many words that take much room".to_string()]];
        let wide = text_within(&["a", "b"], &rows, 100, false);
        assert!(wide.contains("many words that take much room"), "{wide}");
        let narrow = text_within(&["a", "b"], &rows, 20, false);
        assert!(narrow.lines().all(|l| measure_text_width(l) <= 20), "{narrow}");
        assert!(!wide.contains('\u{1b}') && !narrow.contains('\u{1b}'));
    }
}
