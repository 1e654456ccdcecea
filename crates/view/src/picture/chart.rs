//! Charts of results: panels with common axes.

use super::axis::{Axis, Scale, Tick};
use super::plot::{BELOW, LEFT, Panel, RIGHT, SMALL, Sign, head, legend, mark, style};
use super::sheet::Sheet;
use super::svg::{Anchor, FAINT, Font, INK, Stroke, Svg, fitting, text_width, wrap};
use crate::chart::{Chart, Curve, Event, Form};
use crate::style::Style;

/// The height of the only panel, and of one of several.
const HEIGHT: f64 = 300.0;
const SMALL_HEIGHT: f64 = 180.0;
/// Above a panel of several: its title.
const ABOVE: f64 = 22.0;
/// Below a panel that has no name of the axis: the labels of its ticks.
const BETWEEN: f64 = 26.0;
/// Above a panel over time: the numbers of the changes.
const FLAGS: f64 = 15.0;
/// The numbers of the changes, and the list below that says what they are.
const FLAG: f64 = 11.0;
/// Times of a change that are listed; of more, the first ones and the last.
const MOST_TIMES: usize = 8;
const SHADE: &str = "#f1f1f1";

/// The ends of a chart's axes. Without ends an axis is as long as its values need.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ends {
    /// Of the horizontal axis.
    pub x: Option<(f64, f64)>,
    /// Of the vertical axis.
    pub y: Option<(f64, f64)>,
}

/// The paper that a chart is drawn for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Paper<'a> {
    /// The width in pixels, of which an inch has 96.
    pub width: f64,
    /// The height in pixels; `None`: as its content needs.
    pub height: Option<f64>,
    /// The font, before those that every system has; `None`: one of these.
    pub font: Option<&'a str>,
    /// The size of the labels of ticks and legends in pixels, of which a point has 4/3; the names of axes are a little
    /// larger.
    pub font_size: f64,
    /// Has the title above it.
    pub titled: bool,
}

/// Draws a chart of results: each of its panels with the same axes, values with their intervals, gaps for missing
/// values, and, over time, what changes.
pub fn chart(sheet: &Sheet<'_>, chart: &Chart) -> String {
    chart_within(sheet, chart, Ends::default())
}

/// The same between given ends. A curve is cut there; a single value beyond an end is an arrow at the edge.
pub fn chart_within(sheet: &Sheet<'_>, chart: &Chart, ends: Ends) -> String {
    let sheet = sheet.sized();
    let (svg, size) =
        drawn(&sheet, chart, ends, &Layout { left: LEFT, heights: None, titled: true, roomy: true });
    svg.finish(size, sheet.title, sheet.description)
}

/// The least width and height of a panel's inside, in labels' sizes.
const LEAST_PANEL: (f64, f64) = (8.0, 5.0);

/// Draws a chart for a paper, laid out for its width, with text of the size that was asked for.
///
/// # Errors
/// A sentence, if that is too small for a panel.
pub fn chart_on(paper: &Paper<'_>, sheet: &Sheet<'_>, chart: &Chart) -> Result<String, String> {
    // What is drawn has labels of a fixed size, and is then made larger or smaller until they have the right one.
    let factor = paper.font_size / SMALL;
    let wide = paper.width / factor;
    let sheet = Sheet { width: wide, ..*sheet };
    let left = left_of(chart, wide);
    let columns = columns(chart.panels.len(), wide, false);
    let inside = wide / columns as f64 - left - RIGHT;
    if inside < LEAST_PANEL.0 * SMALL {
        return Err(format!(
            "is too narrow for labels of {} pt; make it wider, or the font smaller",
            round(paper.font_size * 0.75)
        ));
    }
    let usual = match chart.form {
        Form::Bars => BAR.0 * chart.curves().count() as f64,
        _ if chart.panels.len() > 1 => 0.55 * inside,
        _ => 0.62 * inside,
    };
    let layout = |height: f64| Layout { left, heights: Some(height), titled: paper.titled, roomy: false };
    let (mut svg, mut size) = drawn(&sheet, chart, Ends::default(), &layout(usual));
    if let Some(tall) = paper.height.map(|height| height / factor) {
        let rows = chart.panels.len().div_ceil(columns).max(1) as f64;
        let height = usual + (tall - size.1) / rows;
        let least = if chart.form == Form::Bars { 0.5 * usual } else { LEAST_PANEL.1 * SMALL };
        if height < least {
            let least = (size.1 + rows * (least - usual)) * factor / 96.0;
            return Err(format!(
                "is too low for what must be drawn: must be at least {:.2}in",
                least + 0.005
            ));
        }
        (svg, size) = drawn(&sheet, chart, Ends::default(), &layout(height));
        // Without what rounding adds.
        size.1 = tall;
    }
    Ok(svg.finish_as(size, factor, paper.font, sheet.title, sheet.description))
}

/// What a drawing is laid out by.
struct Layout {
    /// The room to the left of a panel.
    left: f64,
    /// The height of a panel; `None`: the usual one.
    heights: Option<f64>,
    /// Has the title above it.
    titled: bool,
    /// Has as many panels side by side as on a screen.
    roomy: bool,
}

/// The room that the labels of the vertical axis need.
fn left_of(chart: &Chart, wide: f64) -> f64 {
    if chart.form == Form::Bars {
        let longest = chart.curves().map(|c| text_width(&c.label, SMALL)).fold(0.0, f64::max);
        return (longest + 16.0).min(0.4 * wide);
    }
    let (_, y) = scales(chart, Ends::default(), (0.0, 1.0), HEIGHT);
    let labels = y.ticks(HEIGHT / 45.0);
    let longest = labels.iter().filter_map(|t| t.label.as_deref()).map(|l| text_width(l, SMALL));
    (longest.fold(0.0, f64::max) + 36.0).min(LEFT)
}

fn columns(panels: usize, wide: f64, roomy: bool) -> usize {
    let usual = match panels {
        0 | 1 => 1,
        2..=4 => 2,
        _ => 3,
    };
    if roomy { usual } else { usual.min((wide / NARROW) as usize).max(1) }
}

/// Less than this a column of panels has not.
const NARROW: f64 = 230.0;

/// The elements of a chart, and the size that they take.
fn drawn(sheet: &Sheet<'_>, chart: &Chart, ends: Ends, layout: &Layout) -> (Svg, (f64, f64)) {
    let mut svg = Svg::default();
    let top = if layout.titled { head(&mut svg, sheet) } else { 6.0 };
    if chart.form == Form::Bars {
        let bottom = bars(&mut svg, chart, sheet.width, (layout, top));
        return (svg, (sheet.width, bottom));
    }
    let left_room = layout.left;
    let entries = chart.legend();
    let sign = |i: usize| match chart.form {
        Form::Points if chart.is_joined() => Sign::Marked(style(i), Style::number(i).mark),
        Form::Points => Sign::Mark(Style::number(i).mark, style(i).color),
        _ => Sign::Line(style(i)),
    };
    let entries: Vec<_> = entries.iter().map(|(label, i)| (sign(*i), *label)).collect();
    // A single curve needs a name, unless a heading has it.
    let top = match chart.titles_say_it() {
        true => top,
        false => legend(&mut svg, &entries, (left_room, sheet.width - RIGHT), top),
    };
    let count = chart.panels.len();
    let columns = columns(count, sheet.width, layout.roomy);
    let rows = count.div_ceil(columns);
    let changes = changes(&chart.events);
    let flags = if changes.is_empty() { 0.0 } else { FLAGS };
    let (height, above) = if count > 1 { (SMALL_HEIGHT, ABOVE + flags) } else { (HEIGHT, 4.0 + flags) };
    let height = layout.heights.unwrap_or(height);
    let wide = sheet.width / columns as f64;
    let (x, y) = scales(chart, ends, (left_room, wide - RIGHT), height);
    let of = |(from, to): (f64, f64)| format!("from {} to {}", round(from), round(to));
    svg.note(&format!("x {}, y {}", of(x.ends()), of(y.ends())));
    let bottom_of = |row: usize| top + (row + 1) as f64 * (above + height) + row as f64 * BETWEEN;
    for (i, panel) in chart.panels.iter().enumerate() {
        let (row, column) = (i / columns, i % columns);
        let (left, bottom) = (column as f64 * wide, bottom_of(row));
        let place = Panel {
            x: x.along((left + left_room, left + wide - RIGHT)),
            y: y.along((bottom, bottom - height)),
        };
        if count > 1 {
            let title = chart.heading(i);
            let room = wide - left_room - RIGHT;
            let font = Font { bold: true, ..Font::new(fitting(&title, SMALL, room / 1.08), Anchor::Start) };
            svg.text((left + left_room, bottom - height - flags - 6.0), &title, font);
        }
        one(&mut svg, chart, &changes, &place, (&panel.curves, left_room));
        // The last in its column names the axis.
        if i + columns >= count {
            place.name_x(&mut svg, &chart.x.label);
        }
        if column == 0 {
            place.name_y_within(&mut svg, &chart.y, left_room);
        }
    }
    let bottom = list(&mut svg, &changes, (20.0, sheet.width - RIGHT), bottom_of(rows.max(1) - 1) + BELOW);
    let bottom = match chart.warmup {
        Some(_) => {
            svg.rect((24.0, bottom + 4.0), (14.0, 10.0), SHADE);
            let faint = Font { color: FAINT, ..Font::new(FLAG, Anchor::Start) };
            svg.text((44.0, bottom + 13.0), "not measured", faint);
            bottom + 23.0
        }
        None => bottom,
    };
    (svg, (sheet.width, bottom))
}

/// The height of a row of bars, and of a bar in it.
const BAR: (f64, f64) = (26.0, 16.0);

/// Draws bars below each other, so that names have room, with their intervals; gives where that ends.
fn bars(svg: &mut Svg, chart: &Chart, width: f64, (layout, top): (&Layout, f64)) -> f64 {
    let curves: Vec<&Curve> = chart.curves().collect();
    let left = left_of(chart, width);
    let height = layout.heights.unwrap_or(BAR.0 * curves.len() as f64);
    let across = Scale::of(&Axis::linear(&chart.y), chart.ys().chain([0.0]), (left, width - RIGHT));
    let share =
        chart.y.ends_with("(%)") && chart.curves().flat_map(|c| &c.y).all(|y| y.is_nan() || *y <= 100.0);
    let across = across.rounded((width - left - RIGHT) / 60.0);
    let across = if share { across.capped(100.0) } else { across };
    let bottom = top + 4.0 + height;
    let up = Scale::of(&Axis::linear("").between(0.0, 1.0), std::iter::empty(), (bottom, top + 4.0));
    let panel = Panel { x: across, y: up };
    let ticks = panel.ticks_across(60.0);
    panel.grid(svg, &ticks, &[]);
    let row = height / curves.len().max(1) as f64;
    let thick = row * BAR.1 / BAR.0;
    for (i, curve) in curves.iter().enumerate() {
        let middle = top + 4.0 + (i as f64 + 0.5) * row;
        let name = Font::new(fitting(&curve.label, SMALL, left - 10.0), Anchor::End);
        svg.text((left - 7.0, middle + 0.36 * SMALL), &curve.label, name);
        let Some(y) = curve.y.first().filter(|y| y.is_finite()) else { continue };
        let (Some(zero), Some(end)) = (panel.x.at_most(0.0), panel.x.at_most(*y)) else { continue };
        let color = style(curve.style).color;
        svg.rect((zero.min(end), middle - thick / 2.0), ((end - zero).abs(), thick), color);
        let ends = curve.interval(0).filter(|(low, high)| high > low);
        if let Some((low, high)) = ends.and_then(|(l, h)| Some((panel.x.at_most(l)?, panel.x.at_most(h)?))) {
            // Ink on a white rim, which is seen on every color.
            for stroke in [Stroke::solid("#ffffff", 3.2), Stroke::solid(INK, 1.3)] {
                svg.line((low, middle), (high, middle), stroke);
                for at in [low, high] {
                    svg.line((at, middle - 3.5), (at, middle + 3.5), stroke);
                }
            }
        }
    }
    panel.frame_within(svg, &ticks, &[], SMALL, left);
    panel.name_x(svg, &chart.y);
    bottom + BELOW
}

/// The scales that all panels have, for a panel of that size.
fn scales(chart: &Chart, ends: Ends, (left, right): (f64, f64), height: f64) -> (Scale, Scale) {
    let across =
        Axis { log: chart.x.log, range: ends.x.or(chart.ends_of_names()), ..Axis::linear(&chart.x.label) };
    let x = Scale::of(&across, chart.xs(), (left, right));
    let x = match chart.form {
        _ if ends.x.is_some() || chart.ends_of_names().is_some() => x,
        Form::OverTime => {
            let end = x.ends().1;
            Scale::of(&Axis::linear(&chart.x.label), [0.0, end].into_iter(), (left, right))
        }
        Form::Line => x,
        // Beyond the values, but no number that counts or times something is below nothing.
        Form::Points if !chart.x.log && chart.xs().all(|x| x >= 0.0) => x.padded(0.04).floored(0.0),
        Form::Points | Form::Bars => x.padded(0.04),
    };
    let up = Axis { range: ends.y, ..Axis::linear(&chart.y) };
    let y = Scale::of(&up, chart.ys(), (height, 0.0));
    if ends.y.is_some() {
        return (x, y);
    }
    let y = y.rounded(height / if chart.panels.len() > 1 { 38.0 } else { 45.0 });
    // There is no less than nothing where no value is, whatever an interval says.
    let positive = chart.curves().flat_map(|c| &c.y).all(|y| y.is_nan() || *y >= 0.0);
    let y = if positive { y.floored(0.0) } else { y };
    // There is no more than all of it, whatever an interval says.
    let share =
        chart.y.ends_with("(%)") && chart.curves().flat_map(|c| &c.y).all(|y| y.is_nan() || *y <= 100.0);
    (x, if share { y.capped(100.0) } else { y })
}

/// Without what a logarithm and back adds.
fn round(x: f64) -> f64 {
    format!("{x:.9e}").parse().unwrap_or(x)
}

/// A kind of change, and its times.
type Changes<'a> = Vec<(&'a str, Vec<f64>)>;

/// The changes by what they are, in the order in which they first come.
fn changes(events: &[Event]) -> Changes<'_> {
    let mut all: Changes<'_> = Vec::new();
    for event in events {
        match all.iter_mut().find(|(label, _)| *label == event.label) {
            Some((_, times)) => times.push(event.at_s),
            None => all.push((&event.label, vec![event.at_s])),
        }
    }
    all
}

/// Says what the numbers of the changes mean; gives where that ends.
fn list(svg: &mut Svg, changes: &Changes<'_>, (left, right): (f64, f64), top: f64) -> f64 {
    let faint = Font { color: FAINT, ..Font::new(FLAG, Anchor::Start) };
    let mut y = top;
    for (i, (label, times)) in changes.iter().enumerate() {
        let time = |t: &f64| format!("{t} s");
        let times = match times.split_last() {
            Some((last, first)) if first.len() >= MOST_TIMES => {
                let first: Vec<String> = first[..MOST_TIMES - 1].iter().map(time).collect();
                format!("{}, … {}", first.join(", "), time(last))
            }
            _ => times.iter().map(time).collect::<Vec<_>>().join(", "),
        };
        for (k, line) in wrap(&format!("{times}: {label}"), FLAG, right - left - 24.0).iter().enumerate() {
            y += 15.0;
            if k == 0 {
                let number = (i + 1).to_string();
                svg.text((left + 16.0, y), &number, Font { bold: true, anchor: Anchor::End, ..faint });
            }
            svg.text((left + 24.0, y), line, faint);
        }
    }
    if changes.is_empty() { top } else { y + 10.0 }
}

/// Draws a panel.
fn one(svg: &mut Svg, chart: &Chart, changes: &Changes<'_>, panel: &Panel, (curves, left): (&[Curve], f64)) {
    if let Some(to) = chart.warmup.and_then(|t| panel.x.at_most(t)) {
        svg.rect((panel.x.from, panel.y.to), (to - panel.x.from, panel.y.from - panel.y.to), SHADE);
    }
    let across = chart.ticks().map_or_else(
        || panel.ticks_across(if chart.panels.len() > 1 { 52.0 } else { 70.0 }),
        |ticks| fitted(ticks, panel),
    );
    let up = panel.ticks_up(if chart.panels.len() > 1 { 38.0 } else { 45.0 });
    panel.grid(svg, &across, &up);
    let inside = |at: f64| panel.inside(at, panel.y.ends().0).map(|(x, _)| x);
    let mut flags: Vec<(f64, String)> = Vec::new();
    for (i, (_, times)) in changes.iter().enumerate() {
        for x in times.iter().filter_map(|at| inside(*at)) {
            let stroke = Stroke { color: FAINT, width: 1.0, dashes: &[3, 3] };
            svg.line((x, panel.y.from), (x, panel.y.to), stroke);
            flags.push((x, (i + 1).to_string()));
        }
    }
    for (i, curve) in curves.iter().enumerate() {
        let curve = &chart.beside(curve, (i, curves.len()));
        if chart.is_joined() {
            let strokes = panel.curve(curve.x.iter().copied().zip(curve.y.iter().copied()));
            svg.strokes(&strokes, style(curve.style));
        }
        if chart.form == Form::Points {
            points(svg, panel, curve);
        }
    }
    // Above the panel, where no curve is; one that would touch the one before is left out, not its line.
    flags.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut free = f64::NEG_INFINITY;
    for (x, number) in flags {
        let half = text_width(&number, FLAG) / 2.0;
        if x - half >= free {
            let font = Font { bold: true, color: FAINT, ..Font::new(FLAG, Anchor::Middle) };
            svg.text((x, panel.y.to - 4.0), &number, font);
            free = x + half + 2.0;
        }
    }
    panel.frame_within(svg, &across, &up, SMALL, left);
}

/// A mark and an interval at every value of a curve.
fn points(svg: &mut Svg, panel: &Panel, curve: &Curve) {
    let stroke = Stroke { dashes: &[], width: 1.3, ..style(curve.style) };
    for (i, (x, y)) in curve.x.iter().zip(&curve.y).enumerate() {
        let Some((px, py)) = panel.inside(*x, *y) else {
            beyond(svg, panel, (*x, *y), stroke.color);
            continue;
        };
        let ends = curve.interval(i).filter(|(low, high)| high > low);
        if let Some((low, high)) = ends.and_then(|(l, h)| Some((panel.y.at_most(l)?, panel.y.at_most(h)?))) {
            svg.line((px, low), (px, high), stroke);
            for end in [low, high] {
                svg.line((px - 3.5, end), (px + 3.5, end), stroke);
            }
        }
        mark(svg, (px, py), Style::number(curve.style).mark, 3.6, stroke.color);
    }
}

/// An arrow at the edge for a value that is beyond it.
fn beyond(svg: &mut Svg, panel: &Panel, (x, y): (f64, f64), color: &str) {
    let (Some(px), Some(py), true) = (panel.x.at(x), panel.y.at(y), panel.x.contains(x)) else { return };
    let (edge, sign) = if py < panel.y.to { (panel.y.to, 1.0) } else { (panel.y.from, -1.0) };
    svg.polygon(&[(px, edge), (px - 4.0, edge + sign * 8.0), (px + 4.0, edge + sign * 8.0)], color);
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
    use crate::picture::svg::GRID;

    fn curve(style: usize, x: &[f64], y: &[f64], half_width: &[f64]) -> Curve {
        let half_width = half_width.into();
        Curve { half_width, ..Curve::new(format!("<{style}>"), style, x.into(), y.into()) }
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
        // Circles of the first curve, after that of the legend: equal factors are equal steps, and the middle value is
        // halfway up.
        let dots = numbers(&svg, "circle", ["cx", "cy"]);
        let [_, a, b, c] = dots[..] else { panic!("{dots:?}") };
        assert!((b.0 - a.0 - (c.0 - b.0)).abs() < 0.2 && (a.1 - b.1 - (b.1 - c.1)).abs() < 0.2, "{dots:?}");
        assert!((a.1 - c.1 - HEIGHT).abs() < 0.2, "0 is at the bottom and 100 at the top: {dots:?}");
        // An interval of 10 packets up and down.
        let tenth = HEIGHT / 10.0;
        let uprights = numbers(&svg, "line", ["y1", "y2"]);
        assert!(
            uprights.iter().any(|(y1, y2)| (y1 - b.1 - tenth).abs() < 0.2 && (b.1 - y2 - tenth).abs() < 0.2)
        );
        // The hole is a gap: of the second curve there is no line, only two marks and that of the legend.
        assert_eq!((svg.matches("<path").count(), svg.matches("<polygon").count()), (1, 3));
    }

    #[test]
    fn panels_have_letters_and_common_axes() {
        for (panels, columns) in [(2, 2), (5, 3)] {
            let svg = chart(&Sheet::new("t", ""), &example(panels));
            let dots = numbers(&svg, "circle", ["cx", "cy"]).split_off(1);
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
        // Nor is there less than nothing.
        share.panels[0].curves[0].y[0] = 0.5;
        assert!(!chart(&Sheet::new("t", ""), &share).contains('−'));
        share.panels[0].curves[0].y = vec![92.0, 101.0];
        assert!(chart(&Sheet::new("t", ""), &share).contains(">102<"));
    }

    /// Changes have a line and a number above the panel; a list below says what they are, whole.
    #[test]
    fn changes_are_numbered_lines_and_a_list() {
        let event = |at_s: f64, label: &str| Event { at_s, label: label.into() };
        let long = "a long word ".repeat(20);
        let events = vec![event(30.0, "rate 5 Mbit/s"), event(50.0, &long), event(80.0, "rate 5 Mbit/s")];
        let mut linear = Chart { events, form: Form::OverTime, warmup: Some(10.0), ..example(1) };
        linear.x.log = false;
        let svg = chart(&Sheet::new("t", ""), &linear);
        let at = |t: f64| LEFT + t / 100.0 * (800.0 - LEFT - RIGHT);
        let uprights = numbers(&svg, "line", ["x1", "x2"]);
        assert!([30.0, 50.0, 80.0].iter().all(|t| uprights.contains(&(at(*t), at(*t)))), "{uprights:?}");
        assert!(numbers(&svg, "rect", ["x", "width"]).contains(&(LEFT, 70.0)), "the warm-up");
        assert!(
            svg.contains(">not measured<")
                && svg.contains(">30 s, 80 s: rate 5 Mbit/s<")
                && !svg.contains('…'),
            "{svg}"
        );
        let document = Document::parse(&svg).expect("well-formed");
        let texts: Vec<_> = document.descendants().filter(|n| n.has_tag_name("text")).collect();
        let words: String = texts.iter().filter_map(|n| n.text()).collect::<Vec<_>>().join(" ");
        assert!(words.contains(&format!("50 s: {}", long.trim())), "{words}");
        // No text but the numbers of the axes is in the panel or beside it, and none is turned but the axis's name.
        let y = |n: &roxmltree::Node<'_, '_>| n.attribute("y").and_then(|y| y.parse::<f64>().ok());
        let flags: Vec<_> = texts.iter().filter(|n| matches!(n.text(), Some("1" | "2"))).collect();
        assert_eq!(flags.len(), 3 + 2);
        let frame = numbers(&svg, "rect", ["y", "height"]).into_iter().find(|(_, h)| *h == HEIGHT);
        let (top, height) = frame.expect("a frame");
        assert!(flags.iter().filter_map(|n| y(n)).all(|y| y < top || y > top + height));
        assert_eq!(texts.iter().filter(|n| n.attribute("transform").is_some()).count(), 1);
    }

    /// Between given ends nothing is rounded, and a value beyond them is an arrow at the edge.
    #[test]
    fn ends_of_axes_are_kept() {
        let ends = Ends { x: Some((1.0, 1000.0)), y: Some((0.0, 80.0)) };
        let svg = chart_within(&Sheet::new("t", ""), &example(1), ends);
        let dots = numbers(&svg, "circle", ["cx", "cy"]).split_off(1);
        // 1 and 10, and the value 100 is beyond 80.
        assert_eq!(dots.len(), 2, "{dots:?}");
        let third = (800.0 - LEFT - RIGHT) / 3.0;
        assert!((dots[0].0 - LEFT).abs() < 0.2 && (dots[1].0 - LEFT - third).abs() < 0.2, "{dots:?}");
        assert!((dots[0].1 - dots[1].1 - HEIGHT * 50.0 / 80.0).abs() < 0.2, "{dots:?}");
        let frame = numbers(&svg, "rect", ["x", "y"])[0];
        assert!(svg.contains(&format!("<polygon points=\"{:.1},{} ", LEFT + 2.0 * third, frame.1)), "{svg}");
        assert!(
            svg.contains(">80<") && svg.contains("<metadata>x from 1 to 1000, y from 0 to 80</metadata>")
        );
    }

    #[test]
    fn names_are_places() {
        let mut named = example(1);
        named.x = Horizontal { label: "tcp".into(), log: false, names: vec!["reno".into(), "sack".into()] };
        named.panels[0].curves = vec![curve(0, &[0.0, 1.0], &[1.0, 2.0], &[])];
        assert!([">reno<", ">sack<"].iter().all(|name| chart(&Sheet::new("t", ""), &named).contains(name)));
        // Seven algorithms, beside each other over both names: no mark is on another or beyond an end, and no line goes
        // from name to name.
        let styles = [0, 1, 2, 3, 4, 5, 6];
        named.panels[0].curves = styles.map(|i| curve(i, &[0.0, 1.0], &[1.0, 2.0], &[0.1, 0.1])).into();
        let svg = chart(&Sheet::new("t", ""), &named);
        let (frame, wide) = numbers(&svg, "rect", ["x", "width"])[0];
        let document = Document::parse(&svg).expect("well-formed");
        let color = |n: &roxmltree::Node<'_, '_>| n.attribute("stroke").map(str::to_string);
        let uprights = document.descendants().filter(|n| color(n).is_some_and(|c| c != INK && c != GRID));
        let mut at: Vec<f64> = uprights
            .filter(|n| n.attribute("x1") == n.attribute("x2"))
            .filter_map(|n| n.attribute("x1")?.parse().ok())
            .collect();
        at.sort_by(f64::total_cmp);
        assert_eq!(at.len(), 14, "an interval each: {at:?}");
        assert!(at[0] > frame + 10.0 && at[13] < frame + wide - 10.0, "{at:?}");
        assert!(at.windows(2).all(|pair| pair[1] - pair[0] > 8.0), "{at:?}");
        assert!(!svg.contains("<path"), "{svg}");
        // The sizes of transfers have an order.
        named.x.label = "size of the transfer".into();
        assert_eq!(chart(&Sheet::new("t", ""), &named).matches("<path").count(), 7);
        // Many long names: as many as fit.
        named.x.names = (0..40).map(|i| format!("a long name {i}")).collect();
        named.panels[0].curves = vec![curve(0, &(0..40).map(f64::from).collect::<Vec<_>>(), &[1.0; 40], &[])];
        let shown = chart(&Sheet::new("t", ""), &named).matches(">a long name").count();
        assert!((5..=9).contains(&shown), "{shown}");
    }
}
