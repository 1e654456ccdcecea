//! Charts of results: panels with common axes.

use super::axis::{Axis, Scale, Tick};
use super::plot::Form as Mark;
use super::plot::{BELOW, LEFT, Panel, RIGHT, SMALL, Sign, head, legend, mark, style};
use super::sheet::Sheet;
use super::svg::{Anchor, FAINT, Font, Stroke, Svg, fitting, text_width};
use crate::chart::{Chart, Curve, Form};

/// The height of the only panel, and of one of several.
const HEIGHT: f64 = 300.0;
const SMALL_HEIGHT: f64 = 180.0;
/// Above a panel of several: its title.
const ABOVE: f64 = 22.0;
/// Below a panel that has no name of the axis: the labels of its ticks.
const BETWEEN: f64 = 26.0;
const SHADE: &str = "#f1f1f1";
const MARKS: [Mark; 4] = [Mark::Circle, Mark::Square, Mark::Triangle, Mark::Diamond];

/// Draws a chart of results: each of its panels with the same axes, values with their intervals, gaps where there
/// is no value, and over time what changes.
pub fn chart(sheet: &Sheet<'_>, chart: &Chart) -> String {
    let (sheet, mut svg) = (sheet.sized(), Svg::default());
    let top = head(&mut svg, &sheet);
    let entries = chart.legend();
    let entries: Vec<_> = entries.iter().map(|(label, i)| (Sign::Line(style(*i)), *label)).collect();
    let top = match chart.titles_say_it() {
        true => top,
        false => legend(&mut svg, &entries, (LEFT, sheet.width - RIGHT), top),
    };
    let count = chart.panels.len();
    let columns = match count {
        0 | 1 => 1,
        2..=4 => 2,
        _ => 3,
    };
    let rows = count.div_ceil(columns);
    let (height, above) = if count > 1 { (SMALL_HEIGHT, ABOVE) } else { (HEIGHT, 4.0) };
    let wide = sheet.width / columns as f64;
    let (x, y) = scales(chart, (LEFT, wide - RIGHT), height);
    let bottom_of = |row: usize| top + (row + 1) as f64 * (above + height) + row as f64 * BETWEEN;
    for (i, panel) in chart.panels.iter().enumerate() {
        let (row, column) = (i / columns, i % columns);
        let (left, bottom) = (column as f64 * wide, bottom_of(row));
        let place =
            Panel { x: x.along((left + LEFT, left + wide - RIGHT)), y: y.along((bottom, bottom - height)) };
        if count > 1 {
            let title = chart.heading(i);
            let font = Font { bold: true, ..Font::new(fitting(&title, SMALL, wide - LEFT), Anchor::Start) };
            svg.text((left + LEFT, bottom - height - 6.0), &title, font);
        }
        one(&mut svg, chart, &place, &panel.curves);
        // The last in its column names the axis.
        if i + columns >= count {
            place.name_x(&mut svg, &chart.x.label);
        }
        if column == 0 {
            place.name_y(&mut svg, &chart.y);
        }
    }
    let bottom = bottom_of(rows.max(1) - 1) + BELOW;
    svg.finish((sheet.width, bottom), sheet.title, sheet.description)
}

/// The scales that all panels have, for a panel of that size.
fn scales(chart: &Chart, (left, right): (f64, f64), height: f64) -> (Scale, Scale) {
    let across = Axis { log: chart.x.log, ..Axis::linear(&chart.x.label) };
    let x = Scale::of(&across, chart.xs(), (left, right));
    let x = match chart.form {
        Form::OverTime => {
            let end = x.ends().1;
            Scale::of(&Axis::linear(&chart.x.label), [0.0, end].into_iter(), (left, right))
        }
        Form::Line => x,
        Form::Points => x.padded(0.04),
    };
    let y = Scale::of(&Axis::linear(&chart.y), chart.ys(), (height, 0.0)).rounded(height / 45.0);
    // There is no more than all of it, whatever an interval says.
    let share =
        chart.y.ends_with("(%)") && chart.curves().flat_map(|c| &c.y).all(|y| y.is_nan() || *y <= 100.0);
    (x, if share { y.capped(100.0) } else { y })
}

/// Draws a panel.
fn one(svg: &mut Svg, chart: &Chart, panel: &Panel, curves: &[Curve]) {
    if let Some(to) = chart.warmup.and_then(|t| panel.x.at_most(t)) {
        svg.rect((panel.x.from, panel.y.to), (to - panel.x.from, panel.y.from - panel.y.to), SHADE);
    }
    let across = chart.ticks().map_or_else(|| panel.ticks_across(70.0), |ticks| fitted(ticks, panel));
    let up = panel.ticks_up(45.0);
    panel.grid(svg, &across, &up);
    for event in &chart.events {
        let Some((x, _)) = panel.inside(event.at_s, panel.y.ends().0) else { continue };
        let stroke = Stroke { color: FAINT, width: 1.0, dashes: "3 3" };
        svg.line((x, panel.y.from), (x, panel.y.to), stroke);
    }
    for curve in curves {
        let strokes = panel.curve(curve.x.iter().copied().zip(curve.y.iter().copied()));
        svg.strokes(&strokes, style(curve.style));
        if chart.form == Form::Points {
            points(svg, panel, curve);
        }
    }
    // The words are over the curves, and have a rim.
    for event in &chart.events {
        let Some((x, _)) = panel.inside(event.at_s, panel.y.ends().0) else { continue };
        let room = panel.y.from - panel.y.to - 8.0;
        // What is smaller cannot be read: the end is left out.
        let size = fitting(&event.label, 10.0, room).max(7.0);
        let font = Font { upright: true, rim: true, color: FAINT, ..Font::new(size, Anchor::End) };
        svg.text((x - 3.0, panel.y.to + 4.0), &shortened(&event.label, size, room), font);
    }
    panel.frame(svg, &across, &up, SMALL);
}

/// A text without the end for which there is no room.
fn shortened(text: &str, size: f64, room: f64) -> String {
    let fits = |text: &str| text_width(text, size) <= room;
    if fits(text) {
        return text.to_string();
    }
    let ends = text.char_indices().map(|(at, _)| format!("{}…", text[..at].trim_end()));
    ends.take_while(|text| fits(text)).last().unwrap_or_default()
}

/// A mark and an interval at every value of a curve.
fn points(svg: &mut Svg, panel: &Panel, curve: &Curve) {
    let stroke = Stroke { dashes: "", width: 1.3, ..style(curve.style) };
    for (i, (x, y)) in curve.x.iter().zip(&curve.y).enumerate() {
        let Some((px, py)) = panel.inside(*x, *y) else { continue };
        let half = curve.half_width.get(i).copied().filter(|h| *h > 0.0);
        if let Some((low, high)) = half.and_then(|h| Some((panel.y.at_most(y - h)?, panel.y.at_most(y + h)?)))
        {
            svg.line((px, low), (px, high), stroke);
            for end in [low, high] {
                svg.line((px - 3.5, end), (px + 3.5, end), stroke);
            }
        }
        mark(svg, (px, py), MARKS[curve.style % MARKS.len()], 3.6, stroke.color);
    }
}

/// Ticks without the labels that would overlap the one before.
fn fitted(mut ticks: Vec<Tick>, panel: &Panel) -> Vec<Tick> {
    let mut free = f64::NEG_INFINITY;
    for tick in &mut ticks {
        let half = tick.label.as_deref().map_or(0.0, |l| text_width(l, SMALL) / 2.0);
        match panel.x.at(tick.value) {
            Some(at) if at - half >= free => free = at + half + 5.0,
            _ => tick.label = None,
        }
    }
    ticks
}

#[cfg(test)]
mod tests {
    use roxmltree::Document;

    use super::*;
    use crate::chart::{Event, Horizontal, Panel as Given};

    fn curve(style: usize, x: &[f64], y: &[f64], half_width: &[f64]) -> Curve {
        Curve { label: format!("<{style}>"), style, x: x.into(), y: y.into(), half_width: half_width.into() }
    }

    fn example(panels: usize) -> Chart {
        let of = |i: usize| Given {
            title: format!("{i} & more"),
            curves: vec![
                curve(0, &[1.0, 10.0, 100.0], &[0.0, 50.0, 100.0], &[f64::NAN, 10.0, 0.0]),
                curve(1, &[1.0, 10.0, 100.0], &[20.0, f64::NAN, 20.0], &[]),
            ],
        };
        Chart {
            title: "t".into(),
            x: Horizontal { label: "N".into(), log: true, names: Vec::new() },
            y: "queue (packets)".into(),
            y_factor: 1.0,
            panel_key: "k".into(),
            curve_key: "algorithm".into(),
            panels: (0..panels).map(of).collect(),
            form: Form::Points,
            warmup: None,
            events: Vec::new(),
        }
    }

    /// The numbers of the attributes of every element of a kind.
    fn numbers(svg: &str, element: &str, attributes: [&str; 2]) -> Vec<(f64, f64)> {
        let document = Document::parse(svg).expect("well-formed");
        let of = |n: roxmltree::Node<'_, '_>, a: &str| n.attribute(a).and_then(|v| v.parse().ok());
        document
            .descendants()
            .filter(|n| n.has_tag_name(element))
            .filter_map(|n| Some((of(n, attributes[0])?, of(n, attributes[1])?)))
            .collect()
    }

    #[test]
    fn points_are_where_their_values_are() {
        let svg = chart(&Sheet::new("t", ""), &example(1));
        // Circles of the first curve: equal factors are equal steps, and the middle value is halfway up.
        let dots = numbers(&svg, "circle", ["cx", "cy"]);
        let [a, b, c] = dots[..] else { panic!("{dots:?}") };
        assert!((b.0 - a.0 - (c.0 - b.0)).abs() < 0.2 && (a.1 - b.1 - (b.1 - c.1)).abs() < 0.2, "{dots:?}");
        assert!((a.1 - c.1 - HEIGHT).abs() < 0.2, "0 is at the bottom and 100 at the top: {dots:?}");
        // An interval of 10 packets up and down.
        let tenth = HEIGHT / 10.0;
        let uprights = numbers(&svg, "line", ["y1", "y2"]);
        assert!(
            uprights.iter().any(|(y1, y2)| (y1 - b.1 - tenth).abs() < 0.2 && (b.1 - y2 - tenth).abs() < 0.2)
        );
        // The hole is a gap: of the second curve there is no line, only two marks.
        assert_eq!((svg.matches("<path").count(), svg.matches("<polygon").count()), (1, 2));
    }

    #[test]
    fn panels_have_letters_and_common_axes() {
        for (panels, columns) in [(2, 2), (5, 3)] {
            let svg = chart(&Sheet::new("t", ""), &example(panels));
            let dots = numbers(&svg, "circle", ["cx", "cy"]);
            assert_eq!(dots.len(), 3 * panels);
            assert!((dots[3].0 - dots[0].0 - 800.0 / columns as f64).abs() < 0.2 && dots[3].1 == dots[0].1);
            assert!(svg.contains("(b) k = 1 &amp; more") && svg.contains("&lt;0&gt;"));
        }
    }

    #[test]
    fn shares_end_at_all_of_it() {
        let mut share = example(1);
        share.y = "utilization (%)".into();
        share.panels[0].curves = vec![curve(0, &[1.0, 10.0], &[92.0, 99.5], &[1.0, 1.0])];
        let svg = chart(&Sheet::new("t", ""), &share);
        assert!(svg.contains(">100<") && !svg.contains(">102<"), "{svg}");
        share.panels[0].curves[0].y[1] = 101.0;
        assert!(chart(&Sheet::new("t", ""), &share).contains(">102<"));
    }

    #[test]
    fn long_words_of_changes_are_cut_before_they_are_too_small() {
        assert_eq!(shortened("short", 10.0, 100.0), "short");
        let cut = shortened(&"a long word ".repeat(20), 7.0, 100.0);
        assert!(cut.ends_with('…') && text_width(&cut, 7.0) <= 100.0 && cut.len() > 20, "{cut}");
    }

    #[test]
    fn changes_are_lines_with_their_words() {
        let events = vec![Event { at_s: 50.0, label: "rate 3 Mbit/s".into() }];
        let over_time = Chart { events, form: Form::OverTime, warmup: Some(10.0), ..example(1) };
        let mut linear = over_time.clone();
        linear.x.log = false;
        let svg = chart(&Sheet::new("t", ""), &linear);
        let half = LEFT + (800.0 - LEFT - RIGHT) / 2.0;
        assert!(numbers(&svg, "line", ["x1", "x2"]).contains(&(half, half)) && svg.contains("rate 3 Mbit/s"));
        assert!(numbers(&svg, "rect", ["x", "width"]).contains(&(LEFT, 70.0)), "the warm-up");
    }

    #[test]
    fn names_are_places() {
        let mut named = example(1);
        named.x = Horizontal { label: "tcp".into(), log: false, names: vec!["reno".into(), "sack".into()] };
        named.panels[0].curves = vec![curve(0, &[0.0, 1.0], &[1.0, 2.0], &[])];
        assert!([">reno<", ">sack<"].iter().all(|name| chart(&Sheet::new("t", ""), &named).contains(name)));
        // Many long names: as many as fit.
        named.x.names = (0..40).map(|i| format!("a long name {i}")).collect();
        named.panels[0].curves = vec![curve(0, &(0..40).map(f64::from).collect::<Vec<_>>(), &[1.0; 40], &[])];
        let shown = chart(&Sheet::new("t", ""), &named).matches(">a long name").count();
        assert!((5..=9).contains(&shown), "{shown}");
    }
}
