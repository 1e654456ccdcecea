//! The elements of SVG that pictures are written with, in pixels.

use std::fmt::{Display, Formatter, Write};

use quell_units::text::is_obeyed;

/// Text and axes.
pub(super) const INK: &str = "#222222";
/// The color of what a legend says beside the names.
pub(super) const FAINT: &str = "#555555";
/// Lines to read values by.
pub(super) const GRID: &str = "#e4e4e4";

const FONTS: &str = "system-ui, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Liberation Sans', 'DejaVu Sans', \
                     sans-serif";

/// A coordinate, to a tenth of a pixel.
#[derive(Clone, Copy)]
pub(super) struct Px(pub f64);

impl Display for Px {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        assert!(self.0.is_finite(), "a coordinate is {}", self.0);
        let tenths = (self.0 * 10.0).round() as i64;
        let sign = if tenths < 0 { "-" } else { "" };
        let (whole, rest) = (tenths.abs() / 10, tenths.abs() % 10);
        if rest == 0 { write!(f, "{sign}{whole}") } else { write!(f, "{sign}{whole}.{rest}") }
    }
}

/// A length, to a thousandth of a pixel.
struct Fine(f64);

impl Display for Fine {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", (self.0 * 1e3).round() / 1e3)
    }
}

/// Text that is valid in XML: its five special characters as entities, and a replacement character for
/// what it does not allow.
struct Escaped<'a>(&'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        for c in self.0.chars() {
            match c {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                '\t' | '\n' | '\r' => f.write_char(' ')?,
                '\u{fffe}' | '\u{ffff}' => f.write_char('\u{fffd}')?,
                // XML allows some of them; a terminal that shows the file obeys them all the same.
                c if is_obeyed(c) => f.write_char('\u{fffd}')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// The look of a line.
#[derive(Clone, Copy)]
pub(super) struct Stroke<'a> {
    pub color: &'a str,
    pub width: f64,
    /// Lengths of dashes and gaps; empty for a solid line.
    pub dashes: &'a [u8],
}

impl<'a> Stroke<'a> {
    pub fn solid(color: &'a str, width: f64) -> Stroke<'a> {
        Stroke { color, width, dashes: &[] }
    }
}

impl Display for Stroke<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"", self.color, Px(self.width))?;
        if !self.dashes.is_empty() {
            let lengths: Vec<String> = self.dashes.iter().map(u8::to_string).collect();
            write!(f, " stroke-dasharray=\"{}\"", lengths.join(" "))?;
        }
        Ok(())
    }
}

/// The end of a text that its position is.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// The look of a text.
#[derive(Clone, Copy)]
pub(super) struct Font {
    pub size: f64,
    pub anchor: Anchor,
    pub bold: bool,
    pub color: &'static str,
    /// Turned about its position, to be read from below upwards.
    pub upright: bool,
    /// A white rim, for text on a colored ground.
    pub rim: bool,
}

impl Font {
    pub fn new(size: f64, anchor: Anchor) -> Font {
        Font { size, anchor, bold: false, color: INK, upright: false, rim: false }
    }
}

/// The elements of a picture so far.
#[derive(Default)]
pub(super) struct Svg {
    body: String,
}

impl Svg {
    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        writeln!(self.body, "{element}").expect("a string takes every write");
    }

    pub fn rect(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), fill: &str) {
        let (x, y, width, height) = (Px(x), Px(y), Px(width), Px(height));
        self.add(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"/>"
        ));
    }

    /// A rectangle's outline.
    pub fn frame(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), stroke: Stroke<'_>) {
        let (x, y, width, height) = (Px(x), Px(y), Px(width), Px(height));
        self.add(format_args!("<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" {stroke}/>"));
    }

    pub fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), stroke: Stroke<'_>) {
        let (x1, y1, x2, y2) = (Px(x1), Px(y1), Px(x2), Px(y2));
        self.add(format_args!("<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" {stroke}/>"));
    }

    /// A filled circle with a white rim.
    pub fn dot(&mut self, (x, y): (f64, f64), radius: f64, fill: &str) {
        let (x, y, r) = (Px(x), Px(y), Px(radius));
        self.add(format_args!(
            "<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" fill=\"{fill}\" stroke=\"#ffffff\" stroke-width=\"1\"/>"
        ));
    }

    /// A closed, filled shape with a thin white rim.
    pub fn polygon(&mut self, corners: &[(f64, f64)], fill: &str) {
        let points: Vec<String> = corners.iter().map(|(x, y)| format!("{},{}", Px(*x), Px(*y))).collect();
        let points = points.join(" ");
        self.add(format_args!(
            "<polygon points=\"{points}\" fill=\"{fill}\" stroke=\"#ffffff\" stroke-width=\"0.7\"/>"
        ));
    }

    /// Strokes of a pen, each through its points.
    pub fn strokes(&mut self, strokes: &[Vec<(f64, f64)>], stroke: Stroke<'_>) {
        let mut d = String::new();
        for points in strokes.iter().filter(|p| p.len() > 1) {
            for (i, (x, y)) in points.iter().enumerate() {
                let sign = if i == 0 { 'M' } else { 'L' };
                write!(d, "{sign}{} {}", Px(*x), Px(*y)).expect("a string takes every write");
            }
        }
        if !d.is_empty() {
            self.add(format_args!(
                "<path d=\"{d}\" {stroke} stroke-linejoin=\"round\" stroke-linecap=\"round\"/>"
            ));
        }
    }

    /// A filled path without smoothed edges, so that neighbors leave no seam.
    pub fn cells(&mut self, d: &str, fill: &str) {
        self.add(format_args!("<path d=\"{d}\" fill=\"{fill}\" shape-rendering=\"crispEdges\"/>"));
    }

    /// A line of text; `y` is that of its base line.
    pub fn text(&mut self, (x, y): (f64, f64), text: &str, font: Font) {
        let (px, py, size) = (Px(x), Px(y), Px(font.size));
        let anchor = match font.anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = if font.bold { " font-weight=\"600\"" } else { "" };
        let turn = if font.upright { format!(" transform=\"rotate(-90 {px} {py})\"") } else { String::new() };
        let (fill, text) = (font.color, Escaped(text));
        let place = format!("x=\"{px}\" y=\"{py}\" font-size=\"{size}\"{anchor}{weight}{turn}");
        if font.rim {
            // Not by `paint-order`, which not all readers know.
            self.add(format_args!(
                "<text {place} fill=\"#ffffff\" stroke=\"#ffffff\" stroke-width=\"3\" stroke-linejoin=\"round\" \
                 aria-hidden=\"true\">{text}</text>"
            ));
        }
        self.add(format_args!("<text {place} fill=\"{fill}\">{text}</text>"));
    }

    /// Words for programs that read the picture; nobody sees them.
    pub fn note(&mut self, text: &str) {
        self.add(format_args!("<metadata>{}</metadata>", Escaped(text)));
    }

    /// The whole document, on white.
    pub fn finish(self, size: (f64, f64), title: &str, description: &str) -> String {
        self.finish_as(size, 1.0, None, title, description)
    }

    /// The same, `factor` times as large, with a font before the usual ones.
    pub fn finish_as(
        self,
        (width, height): (f64, f64),
        factor: f64,
        font: Option<&str>,
        title: &str,
        description: &str,
    ) -> String {
        let (w, h) = (Px(width), Px(height));
        let (shown_w, shown_h) = (Fine(width * factor), Fine(height * factor));
        // A family in quotes; what would end them is none.
        let font = font.map_or(String::new(), |font| format!("'{}', ", Escaped(&font.replace('\'', ""))));
        let mut out = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{shown_w}\" height=\"{shown_h}\" viewBox=\"0 0 {w} {h}\" \
             role=\"img\" font-family=\"{font}{FONTS}\">\n<title>{}</title>\n",
            Escaped(title)
        );
        if !description.is_empty() {
            out.push_str(&format!("<desc>{}</desc>\n", Escaped(description)));
        }
        out.push_str(&format!("<rect width=\"{w}\" height=\"{h}\" fill=\"#ffffff\"/>\n"));
        out.push_str(&self.body);
        out.push_str("</svg>\n");
        out
    }
}

/// The approximate width of a text. No font is available; the widths are those of DejaVu Sans by kind of
/// letter, which is wider than the other fonts of the list, so a text that fits by this measure fits.
pub(super) fn text_width(text: &str, size: f64) -> f64 {
    let em = |c: char| match c {
        'i' | 'j' | 'l' | 'I' | ' ' | '.' | ',' | ':' | ';' | '|' | '\'' | '!' => 0.32,
        'f' | 'r' | 't' | '(' | ')' | '-' | '/' | '[' | ']' | '°' => 0.41,
        'm' | 'w' | 'M' | 'W' | '%' | '@' | '—' => 0.96,
        '⁰'..='⁹' | '²' | '³' | '⁻' => 0.42,
        'A'..='Z' | '−' | '=' | '<' | '>' | '+' | '·' => 0.72,
        c if (c as u32) >= 0x1100 => 1.0,
        _ => 0.62,
    };
    text.chars().map(em).sum::<f64>() * size
}

/// The text in lines of at most `width`, broken between words.
pub(super) fn wrap(text: &str, size: f64, width: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if text_width(line, size) + text_width(word, size) + 0.3 * size <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_string()),
        }
    }
    lines
}

/// The font size, at most `size`, at which a text is at most `width` wide.
pub(super) fn fitting(text: &str, size: f64, width: f64) -> f64 {
    size.min(size * width / text_width(text, size).max(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short() {
        let shown = |x: f64| Px(x).to_string();
        assert_eq!([shown(1.0), shown(-0.04), shown(-0.25), shown(12.34)], ["1", "0", "-0.3", "12.3"]);
    }

    #[test]
    fn text_is_escaped() {
        let shown = Escaped("a<b & \"c\"\u{1}\n'").to_string();
        assert_eq!(shown, "a&lt;b &amp; &quot;c&quot;\u{fffd} &#39;");
        assert_eq!(
            Escaped("\u{1b}\u{7f}\u{85}\u{9b}2J\u{202e}").to_string(),
            "\u{fffd}\u{fffd}\u{fffd}\u{fffd}2J\u{fffd}"
        );
    }

    #[test]
    fn lines_break_between_words() {
        assert_eq!(wrap("aaaa bbbb cccc", 10.0, 60.0), ["aaaa bbbb", "cccc"]);
        assert!(wrap("", 10.0, 60.0).is_empty());
    }
}
