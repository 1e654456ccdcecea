//! A chart in characters: curves in dots of Braille's cells, two across and four up in each.

use std::fmt::Write;

use super::csv;
use super::curves::{Chart, Curve, Form, Panel};
use crate::picture::axis::{Axis, Scale, Tick};
use crate::style;

/// Rows of the only panel, of a few, and of many.
const ROWS: [usize; 3] = [16, 8, 5];
/// More panels than this are many.
const FEW: usize = 4;
/// The narrowest that a panel may be.
const LEAST: usize = 10;
/// The distance from one letter on a line to the next, in characters.
const LETTER_EVERY: usize = 16;
/// The dots of a cell, by row and column.
const DOTS: [[u8; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];

/// A chart as text no wider than `width`, with the terminal's colors if wanted. Curves are told apart by letters on
/// them, or are in panels of their own where they would hide each other.
pub fn text(chart: &Chart, width: usize, colors: bool) -> String {
    if chart.form == Form::Bars {
        return bars(chart, width, colors);
    }
    let crowded = chart.form == Form::OverTime && chart.panels.iter().any(|p| p.curves.len() > 1);
    if crowded {
        return text(&chart.clone().apart(), width, colors);
    }
    let rows = match chart.panels.len() {
        0 | 1 => ROWS[0],
        n if n <= FEW => ROWS[1],
        _ => ROWS[2],
    };
    let y = vertical(chart);
    let up = y.ticks(rows as f64 / 3.0);
    let label = |t: &Tick| t.label.as_deref().unwrap_or("").to_string();
    let margin = up.iter().map(|t| label(t).chars().count()).max().unwrap_or(0);
    let across = width.saturating_sub(margin + 3).max(LEAST);
    let x = horizontal(chart);
    let legend = chart.legend();
    let letters = legend.len() > 1 && !chart.titles_say_it();

    let mut out = String::new();
    lines(&mut out, &chart.title, width);
    lines(&mut out, &chart.y, width);
    for (i, panel) in chart.panels.iter().enumerate() {
        if chart.panels.len() > 1 {
            lines(&mut out, &chart.heading(i), width);
        }
        let mut canvas = Canvas::new(across, rows, x, y);
        canvas.draw(chart, panel, &legend, letters);
        for (row, line) in canvas.rows(colors).into_iter().enumerate() {
            // The row in whose middle third a tick is nearest.
            let tick = up.iter().find(|t| canvas.row_of(t.value) == Some(row)).map(label);
            let edge = if tick.is_some() { '┤' } else { '│' };
            let line = format!("{:>margin$} {edge}{line}", tick.unwrap_or_default());
            out.push_str(line.trim_end());
            out.push('\n');
        }
        writeln!(out, "{:margin$} └{}", "", "─".repeat(across)).expect("a string takes every write");
    }
    out.push_str(&below(chart, &x, margin + 2, across));
    let indent = margin + 2;
    let name = format!("{:indent$}{}", "", chart.x.label);
    lines(&mut out, &name, width);
    if letters {
        let entries = legend.iter().enumerate().map(|(i, (label, style))| {
            let letter = letter(i);
            if colors {
                format!("\x1b[{}m{letter}\x1b[0m {label}", color(*style))
            } else {
                format!("{letter} {label}")
            }
        });
        wrap(&mut out, entries, width);
    }
    // A single curve needs a name too, unless a heading has it.
    if let ([(label, _)], 0 | 1) = (&legend[..], chart.panels.len())
        && !label.is_empty()
    {
        lines(&mut out, label, width);
    }
    let warmup = chart.warmup.map(|t| (t, "end of the warm-up"));
    let events = warmup.into_iter().chain(chart.events.iter().map(|e| (e.at_s, e.label.as_str())));
    for (at, label) in events {
        lines(&mut out, &format!("┊ {at} s: {label}"), width);
    }
    out
}

/// Eighths of a character, from the left.
const EIGHTHS: [char; 8] = [' ', '▏', '▎', '▍', '▌', '▋', '▊', '▉'];

/// One value of each curve as bars below each other, each with its number.
fn bars(chart: &Chart, width: usize, colors: bool) -> String {
    let mut out = String::new();
    lines(&mut out, &chart.title, width);
    lines(&mut out, &chart.y, width);
    let rows: Vec<(&Curve, f64, String)> = chart
        .curves()
        .filter_map(|curve| {
            let y = curve.y.first().copied().filter(|y| y.is_finite())?;
            let half = curve.half_width.first().copied().filter(|h| h.is_finite());
            let text = match (half, curve.interval(0)) {
                (Some(half), Some(ends)) if half > 0.0 => {
                    let short = |v: f64| csv::rounded_as(v, half);
                    let near = |a: f64, b: f64| (a - b).abs() <= 1e-9 * (y.abs() + half);
                    if near(ends.0, y - half) && near(ends.1, y + half) {
                        format!("{} ± {}", short(y), short(half))
                    } else {
                        format!("{} [{}, {}]", short(y), short(ends.0), short(ends.1))
                    }
                }
                _ => csv::number(y, 5),
            };
            Some((curve, y, text))
        })
        .collect();
    let longest = |of: &dyn Fn(&(&Curve, f64, String)) -> usize| rows.iter().map(of).max().unwrap_or(0);
    let names = longest(&|row| row.0.label.chars().count()).min(width / 3);
    let numbers = longest(&|row| row.2.chars().count());
    let room = width.saturating_sub(names + numbers + 4);
    let most = rows.iter().map(|row| row.1.abs()).fold(0.0, f64::max);
    for (curve, y, text) in &rows {
        let name: String = curve.label.chars().take(names).collect();
        let eighths = if most > 0.0 { (8.0 * room as f64 * y.abs() / most).round() as usize } else { 0 };
        let mut bar = "█".repeat(eighths / 8);
        if eighths % 8 > 0 {
            bar.push(EIGHTHS[eighths % 8]);
        }
        let blank = " ".repeat(room.saturating_sub(bar.chars().count()));
        let bar =
            if colors && !bar.is_empty() { format!("\x1b[{}m{bar}\x1b[0m", color(curve.style)) } else { bar };
        // What is below nothing says so itself.
        let line = format!("{name:<names$} │{bar}{blank} {text}");
        let shown = if names + 3 + room + text.chars().count() > width {
            format!("{name:<names$} │ {text}")
        } else {
            line
        };
        lines_kept(&mut out, &shown, width, colors);
    }
    out
}

/// A line, cut where the terminal ends; one with colors is left as it is.
fn lines_kept(out: &mut String, text: &str, width: usize, colors: bool) {
    let text = text.trim_end();
    match colors || text.chars().count() <= width {
        true => out.push_str(text),
        false => out.extend(text.chars().take(width)),
    }
    out.push('\n');
}

/// Over the values, from zero if that is not far; rows are too few to waste some up to the next tick.
fn vertical(chart: &Chart) -> Scale {
    let (low, high) = Scale::of(&Axis::linear(""), chart.ys(), (0.0, 1.0)).ends();
    let low = if low > 0.0 && low < 0.5 * high { 0.0 } else { low };
    Scale::of(&Axis::linear("").between(low, high), chart.ys(), (0.0, 1.0))
}

fn horizontal(chart: &Chart) -> Scale {
    let axis = Axis { log: chart.x.log, range: chart.ends_of_names(), ..Axis::linear("") };
    let ends = Scale::of(&axis, chart.xs(), (0.0, 1.0));
    match chart.form {
        Form::OverTime => Scale::of(&axis, [0.0, ends.ends().1].into_iter(), (0.0, 1.0)),
        _ => ends,
    }
}

fn letter(i: usize) -> char {
    // More curves than letters share the last.
    char::from(b'a' + i.min(25) as u8)
}

fn color(style: usize) -> u8 {
    style::ANSI[style % style::ANSI.len()]
}

/// A line, broken between words.
fn lines(out: &mut String, text: &str, width: usize) {
    let indent = text.len() - text.trim_start().len();
    let mut used = indent;
    out.push_str(&text[..indent]);
    for (i, word) in text.split_whitespace().enumerate() {
        let more = word.chars().count();
        if i > 0 && used + 1 + more > width {
            out.push_str("\n  ");
            used = 2;
        } else if i > 0 {
            out.push(' ');
            used += 1;
        }
        out.push_str(word);
        used += more;
    }
    out.push('\n');
}

/// Entries side by side, as many as fit in a line.
fn wrap(out: &mut String, entries: impl Iterator<Item = String>, width: usize) {
    let mut used = 0;
    for entry in entries {
        let shown = entry.replace("\x1b[0m", "");
        let more =
            shown.split_once('m').filter(|_| shown.starts_with('\x1b')).map_or(shown.as_str(), |s| s.1);
        let more = more.chars().count();
        if used > 0 && used + 3 + more > width {
            out.push('\n');
            used = 0;
        } else if used > 0 {
            out.push_str("   ");
            used += 3;
        }
        out.push_str(&entry);
        used += more;
    }
    out.push('\n');
}

/// The labels below the axis.
fn below(chart: &Chart, x: &Scale, indent: usize, across: usize) -> String {
    let ticks = chart.ticks().unwrap_or_else(|| x.ticks(across as f64 / 10.0));
    let mut row: Vec<char> = vec![' '; indent + across];
    let mut free = 0;
    for tick in &ticks {
        let (Some(label), Some(share)) = (&tick.label, x.at(tick.value)) else { continue };
        let label: Vec<char> = label.chars().collect();
        let middle = indent as f64 + share * (across - 1) as f64;
        let from = (middle - label.len() as f64 / 2.0 + 0.5).floor().max(0.0) as usize;
        let from = from.min((indent + across).saturating_sub(label.len()));
        if from >= free && from + label.len() <= row.len() {
            row[from..from + label.len()].copy_from_slice(&label);
            free = from + label.len() + 1;
        }
    }
    let row: String = row.into_iter().collect();
    format!("{}\n", row.trim_end())
}

/// Cells to draw in.
struct Canvas {
    columns: usize,
    /// Dots, a byte for each cell.
    cells: Vec<u8>,
    /// The color of each cell.
    styles: Vec<usize>,
    /// The letters that are written over it.
    over: Vec<Option<char>>,
    x: Scale,
    y: Scale,
}

impl Canvas {
    fn new(columns: usize, rows: usize, x: Scale, y: Scale) -> Canvas {
        let cells = columns * rows;
        let x = x.along((0.0, (2 * columns - 1) as f64));
        let y = y.along(((4 * rows - 1) as f64, 0.0));
        Canvas { columns, cells: vec![0; cells], styles: vec![0; cells], over: vec![None; cells], x, y }
    }

    /// The row in which a value is.
    fn row_of(&self, value: f64) -> Option<usize> {
        self.y.at(value).map(|dot| (dot.round().max(0.0) as usize) / 4)
    }

    fn draw(&mut self, chart: &Chart, panel: &Panel, legend: &[(&str, usize)], letters: bool) {
        let beside = panel.curves.iter().enumerate();
        let curves: Vec<Curve> = beside.map(|(i, c)| chart.beside(c, (i, panel.curves.len()))).collect();
        for curve in &curves {
            if chart.is_joined() {
                self.line(curve);
            }
            if chart.form == Form::Points {
                self.intervals(curve);
            }
        }
        if letters {
            for (i, entry) in legend.iter().enumerate() {
                for curve in curves.iter().filter(|c| (c.label.as_str(), c.style) == *entry) {
                    self.letters(curve, i, legend.len());
                }
            }
        } else if chart.form == Form::Points {
            for curve in &curves {
                for (x, y) in curve.x.iter().zip(&curve.y) {
                    self.write(*x, *y, 'o', curve.style);
                }
            }
        }
        let times = chart.warmup.into_iter().chain(chart.events.iter().map(|e| e.at_s));
        for column in times.filter_map(|t| self.x.at(t)).map(|dot| (dot.round().max(0.0) as usize) / 2) {
            for cell in (0..self.cells.len()).filter(|c| c % self.columns == column) {
                if self.cells[cell] == 0 && self.over[cell].is_none() {
                    self.over[cell] = Some('┊');
                }
            }
        }
    }

    fn place(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.x.at(x)?, self.y.at(y)?))
    }

    fn line(&mut self, curve: &Curve) {
        let mut last: Option<(f64, f64)> = None;
        for (x, y) in curve.x.iter().zip(&curve.y) {
            let place = self.place(*x, *y);
            if let Some(to) = place {
                self.stretch(last.unwrap_or(to), to, curve.style);
            }
            last = place;
        }
    }

    fn intervals(&mut self, curve: &Curve) {
        for (i, (x, y)) in curve.x.iter().zip(&curve.y).enumerate() {
            let Some((low, high)) = curve.interval(i).filter(|_| y.is_finite()) else { continue };
            if let (Some(low), Some(high)) = (self.place(*x, low), self.place(*x, high)) {
                self.stretch(low, high, curve.style);
            }
        }
    }

    /// Dots from place to place.
    fn stretch(&mut self, from: (f64, f64), to: (f64, f64), style: usize) {
        let steps = (to.0 - from.0).abs().max((to.1 - from.1).abs()).ceil().clamp(1.0, 1e4);
        for k in 0..=steps as usize {
            let share = k as f64 / steps;
            self.dot(from.0 + share * (to.0 - from.0), from.1 + share * (to.1 - from.1), style);
        }
    }

    fn cell(&self, x: f64, y: f64) -> Option<(usize, u8)> {
        let (x, y) = (x.round(), y.round());
        let (across, down) = (2 * self.columns, 4 * (self.cells.len() / self.columns));
        if x < 0.0 || y < 0.0 || x >= across as f64 || y >= down as f64 {
            return None;
        }
        let (x, y) = (x as usize, y as usize);
        Some((y / 4 * self.columns + x / 2, DOTS[y % 4][x % 2]))
    }

    fn dot(&mut self, x: f64, y: f64, style: usize) {
        if let Some((cell, dot)) = self.cell(x, y) {
            self.cells[cell] |= dot;
            self.styles[cell] = style;
        }
    }

    /// Letters on a curve: at each of few values, else at some places of their own.
    fn letters(&mut self, curve: &Curve, i: usize, of: usize) {
        let few = curve.x.len() * 2 <= self.columns;
        let mut next = LETTER_EVERY * i / of;
        for (x, y) in curve.x.iter().zip(&curve.y) {
            let Some((dot, _)) = self.place(*x, *y) else { continue };
            let column = (dot.round().max(0.0) as usize) / 2;
            if few || column >= next {
                self.write(*x, *y, letter(i), curve.style);
                next = column + LETTER_EVERY;
            }
        }
    }

    /// Writes a character, or `*` where another curve has one.
    fn write(&mut self, x: f64, y: f64, character: char, style: usize) {
        let Some((cell, _)) = self.place(x, y).and_then(|(x, y)| self.cell(x, y)) else { return };
        self.over[cell] = match self.over[cell] {
            Some(other) if other != character => Some('*'),
            _ => Some(character),
        };
        self.styles[cell] = style;
    }

    fn rows(&self, colors: bool) -> Vec<String> {
        let character = |cell: usize| match (self.over[cell], self.cells[cell]) {
            (Some(over), _) => over,
            (None, 0) => ' ',
            (None, dots) => char::from_u32(0x2800 + u32::from(dots)).unwrap_or(' '),
        };
        let row = |row: usize| {
            let cells: Vec<usize> = (row * self.columns..(row + 1) * self.columns).collect();
            if !colors {
                return cells.iter().map(|c| character(*c)).collect::<String>();
            }
            let tint = |c: &usize| match (self.over[*c], self.cells[*c]) {
                (Some('┊' | '*'), _) | (None, 0) => None,
                _ => Some(color(self.styles[*c])),
            };
            cells.chunk_by(|a, b| tint(a) == tint(b)).fold(String::new(), |mut line, run| {
                let text: String = run.iter().map(|c| character(*c)).collect();
                match tint(&run[0]) {
                    Some(color) => line.push_str(&format!("\x1b[{color}m{text}\x1b[0m")),
                    None => line.push_str(&text),
                }
                line
            })
        };
        (0..self.cells.len() / self.columns).map(row).collect()
    }
}
