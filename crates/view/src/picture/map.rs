//! A quantity over two others, as colored cells.

use std::fmt::Write;

use super::axis::{Axis, Scale};
use super::plot::{BELOW, Form, LEFT, Panel, Position, SMALL, Sign, head, legend, mark, size_of};
use super::sheet::Sheet;
use super::svg::{Anchor, Font, INK, Px, Stroke, Svg, fitting, text_width};

/// Height over width of the panel.
const ASPECT: f64 = 0.72;
/// Right of the panel: the bar of colors, its ticks and its name.
const BAR_ROOM: f64 = 112.0;
/// The distance from the panel to the bar, and its width.
const GAP: f64 = 18.0;
const BAR: f64 = 16.0;
/// More cells than this along an axis cannot be seen.
const MOST_CELLS: usize = 200;
/// The number of colors that the eye can tell apart in a map.
const COLORS: usize = 64;
const MISSING: &str = "#c4c4c4";

/// Viridis of matplotlib (CC0) at equal steps: perceptually uniform, also for the color-blind and in print.
/// Between these values it is straight to within two percent.
const VIRIDIS: [u32; 18] = [
    0x440154, 0x481769, 0x472a7a, 0x433d84, 0x3d4e8a, 0x355e8d, 0x2e6d8e, 0x297b8e, 0x23898e, 0x1f978b,
    0x21a585, 0x2eb37c, 0x46c06f, 0x65cb5e, 0x89d548, 0xb0dd2f, 0xd8e219, 0xfde725,
];

/// A quantity at the points of a grid.
#[derive(Clone, Copy, Debug)]
pub struct Map<'a> {
    /// The horizontal axis; its range follows from `xs`.
    pub x: Axis<'a>,
    /// The places of the columns, rising.
    pub xs: &'a [f64],
    /// The vertical axis; its range follows from `ys`.
    pub y: Axis<'a>,
    /// The places of the rows, rising.
    pub ys: &'a [f64],
    /// The axis of the colors; values beyond its range have the color of its end.
    pub value: Axis<'a>,
    /// The values, row by row from the lowest `y`; no number where there is none.
    pub values: &'a [f64],
    /// The reason for which there may be none, such as `no equilibrium`.
    pub missing: &'a str,
    /// A value whose line is drawn, and its name: 0 and `border of stability`.
    pub contour: Option<(f64, &'a str)>,
    /// Places that are marked.
    pub spots: &'a [Spot<'a>],
}

/// A place that is marked, such as an operating point.
#[derive(Clone, Copy, Debug)]
pub struct Spot<'a> {
    /// Its name beside the mark.
    pub label: &'a str,
    /// Along the horizontal axis.
    pub x: f64,
    /// Along the vertical axis.
    pub y: f64,
}

/// Draws a map. Of a fine grid at most 200 rows and columns are drawn, each cell with the value in its
/// middle.
///
/// # Panics
///
/// If the places of rows or columns do not rise or are not on their axis, or if there are not as many
/// values as rows times columns.
pub fn map(sheet: &Sheet<'_>, map: &Map<'_>) -> String {
    assert_eq!(map.values.len(), map.xs.len() * map.ys.len(), "values, and rows times columns");
    let (sheet, mut svg) = (sheet.sized(), Svg::default());
    let top = head(&mut svg, &sheet);
    let (left, right) = (LEFT, sheet.width - BAR_ROOM);
    let border = Stroke::solid("#000000", 1.6);
    let mut entries = Vec::new();
    if let Some((_, label)) = map.contour {
        entries.push((Sign::Line(border), label));
    }
    if map.values.iter().any(|v| v.is_nan()) {
        entries.push((Sign::Box(MISSING), map.missing));
    }
    let top = legend(&mut svg, &entries, (left, right), top) + 4.0;
    let bottom = top + ASPECT * (right - left);

    let columns = Cells::of(&map.x, map.xs, (left, right));
    let rows = Cells::of(&map.y, map.ys, (bottom, top));
    let panel = Panel { x: columns.scale, y: rows.scale };
    let value = |i: usize, j: usize| map.values[rows.taken[j] * map.xs.len() + columns.taken[i]];
    let colors = Scale::of(&map.value, map.values.iter().copied(), (bottom, top));

    svg.rect((left, top), (right - left, bottom - top), MISSING);
    for (color, d) in cells(&columns, &rows, |i, j| level(colors.share(value(i, j))?)) {
        svg.cells(&d, &hex(color));
    }
    if let Some((at, _)) = map.contour {
        let line = contour(&columns, &rows, |i, j| value(i, j) - at);
        svg.strokes(&line, Stroke::solid("#ffffff", 4.0));
        svg.strokes(&line, border);
    }
    let (across, up) = (panel.ticks_across(70.0), panel.ticks_up(45.0));
    panel.frame(&mut svg, &across, &up, SMALL);
    panel.name_x(&mut svg, map.x.label);
    panel.name_y(&mut svg, map.y.label);
    for spot in map.spots {
        let Some((x, y)) = panel.inside(spot.x, spot.y) else { continue };
        mark(&mut svg, (x, y), Form::Diamond, 7.5, "#ffffff");
        mark(&mut svg, (x, y), Form::Diamond, 5.5, "#D55E00");
        let fits = x + 12.0 + text_width(spot.label, SMALL) < right;
        let (anchor, aside) = if fits { (Anchor::Start, 11.0) } else { (Anchor::End, -11.0) };
        svg.text(
            (x + aside, y - 6.0),
            spot.label,
            Font { rim: true, bold: true, ..Font::new(SMALL, anchor) },
        );
    }
    bar(&mut svg, map, colors, right + GAP);
    svg.finish((sheet.width, bottom + BELOW), sheet.title, sheet.description)
}

/// The cells along an axis.
struct Cells {
    scale: Scale,
    /// The numbers of the places that are drawn.
    taken: Vec<usize>,
    /// Their middles, in pixels.
    middles: Vec<f64>,
    /// The borders between them, one more.
    edges: Vec<f64>,
}

impl Cells {
    fn of(axis: &Axis<'_>, places: &[f64], ends: (f64, f64)) -> Cells {
        assert!(places.is_sorted_by(|a, b| a < b), "the places along {:?} do not rise", axis.label);
        let axis = Axis { range: None, ..*axis };
        let n = places.len();
        let scale = Scale::of(&axis, places.iter().copied(), (0.0, 1.0));
        let at = |scale: &Scale, i: usize| {
            scale.at(places[i]).unwrap_or_else(|| panic!("{:?} has no place for {}", axis.label, places[i]))
        };
        // The first and the last cell are as wide beyond their places as between them and the next.
        let scale = match n {
            0 | 1 => scale,
            _ => {
                let span = scale.span();
                scale.extended(span * at(&scale, 1) / 2.0, span * (1.0 - at(&scale, n - 2)) / 2.0)
            }
        };
        let scale = scale.along(ends);
        let drawn = n.min(MOST_CELLS);
        let taken: Vec<usize> = (0..drawn).map(|k| (2 * k + 1) * n / (2 * drawn)).collect();
        let edge = |k: usize| match k * n / drawn.max(1) {
            0 => ends.0,
            i if i >= n => ends.1,
            i => (at(&scale, i - 1) + at(&scale, i)) / 2.0,
        };
        Cells {
            middles: taken.iter().map(|i| at(&scale, *i)).collect(),
            edges: (0..=drawn).map(edge).collect(),
            taken,
            scale,
        }
    }
}

/// The number of the color for a share of the range from the lowest value to the highest.
fn level(share: f64) -> Option<usize> {
    Some(((share * COLORS as f64) as usize).min(COLORS - 1))
}

/// A color by its number.
fn hex(color: usize) -> String {
    let along = color as f64 / (COLORS - 1) as f64 * (VIRIDIS.len() - 1) as f64;
    let i = (along as usize).min(VIRIDIS.len() - 2);
    let part = |shift: u32| {
        let of = |c: u32| f64::from(c >> shift & 0xff);
        let (a, b) = (of(VIRIDIS[i]), of(VIRIDIS[i + 1]));
        (a + (along - i as f64) * (b - a)).round() as u8
    };
    format!("#{:02x}{:02x}{:02x}", part(16), part(8), part(0))
}

/// The path around the cells of each color that occurs; neighbors in a row are one.
fn cells(
    columns: &Cells,
    rows: &Cells,
    color: impl Fn(usize, usize) -> Option<usize>,
) -> Vec<(usize, String)> {
    let mut paths = vec![String::new(); COLORS];
    for j in 0..rows.taken.len() {
        let (low, high) = (Px(rows.edges[j]), Px(rows.edges[j + 1]));
        let of_row: Vec<_> = (0..columns.taken.len()).map(|i| color(i, j)).collect();
        let mut from = 0;
        for run in of_row.chunk_by(|a, b| a == b) {
            let to = from + run.len();
            if let Some(color) = run[0] {
                let (left, right) = (Px(columns.edges[from]), Px(columns.edges[to]));
                write!(paths[color], "M{left} {low}H{right}V{high}H{left}z")
                    .expect("a string takes every write");
            }
            from = to;
        }
    }
    paths.into_iter().enumerate().filter(|(_, d)| !d.is_empty()).collect()
}

/// The lines along which a quantity between the middles of the cells changes its sign, by marching squares. Along the
/// edge of the map it continues as in the cells there.
fn contour(columns: &Cells, rows: &Cells, value: impl Fn(usize, usize) -> f64) -> Vec<Vec<Position>> {
    // Middles and both outer edges, each with the cell whose value it has.
    let ends = |c: &Cells| -> Vec<(f64, usize)> {
        let last = c.taken.len().saturating_sub(1);
        let middles = c.middles.iter().copied().enumerate().map(|(i, m)| (m, i));
        std::iter::once((c.edges[0], 0)).chain(middles).chain([(c.edges[c.edges.len() - 1], last)]).collect()
    };
    if columns.taken.is_empty() || rows.taken.is_empty() {
        return Vec::new();
    }
    let mut line = Vec::new();
    for y in ends(rows).windows(2) {
        for x in ends(columns).windows(2) {
            // Around the square.
            let corners = [(x[0], y[0]), (x[1], y[0]), (x[1], y[1]), (x[0], y[1])];
            let corners = corners.map(|((x, i), (y, j))| ((x, y), value(i, j)));
            if corners.iter().any(|(_, v)| v.is_nan()) {
                continue;
            }
            let crossings: Vec<Position> = (0..4)
                .map(|k| (corners[k], corners[(k + 1) % 4]))
                .filter(|((_, a), (_, b))| (*a < 0.0) != (*b < 0.0))
                .map(|((p, a), (q, b))| {
                    let share = if (a - b).is_finite() { a / (a - b) } else { 0.5 };
                    (p.0 + share * (q.0 - p.0), p.1 + share * (q.1 - p.1))
                })
                .collect();
            match crossings[..] {
                [a, b] => line.push(vec![a, b]),
                // A saddle: the middle's sign says which corners belong together.
                [a, b, c, d] => {
                    let middle: f64 = corners.iter().map(|(_, v)| v / 4.0).sum();
                    match (middle < 0.0) == (corners[0].1 < 0.0) {
                        true => line.extend([vec![a, b], vec![c, d]]),
                        false => line.extend([vec![d, a], vec![b, c]]),
                    }
                }
                _ => {}
            }
        }
    }
    line
}

/// The bar that says what the colors mean.
fn bar(svg: &mut Svg, map: &Map<'_>, scale: Scale, left: f64) {
    let (bottom, top) = (scale.from, scale.to);
    let place = |k: usize| bottom + (top - bottom) * k as f64 / COLORS as f64;
    for k in (0..COLORS).rev() {
        // Down to the bar's end, each over the one before, so that no seams are seen.
        svg.rect((left, place(k + 1)), (BAR, bottom - place(k + 1)), &hex(k));
    }
    let (low, high) = scale.ends();
    let middle = left + BAR / 2.0;
    // An end that also stands for what is beyond it.
    if map.values.iter().any(|v| *v > high * (1.0 + 1e-9 * high.signum())) {
        svg.polygon(&[(left, top), (left + BAR, top), (middle, top - 9.0)], &hex(COLORS - 1));
    }
    if map.values.iter().any(|v| *v < low * (1.0 - 1e-9 * low.signum())) {
        svg.polygon(&[(left, bottom), (left + BAR, bottom), (middle, bottom + 9.0)], &hex(0));
    }
    let stroke = Stroke::solid(INK, 1.0);
    let ticks = scale.ticks((bottom - top) / 50.0);
    let small = size_of(&ticks, SMALL, BAR_ROOM - GAP - BAR - 33.0);
    for tick in ticks {
        let (Some(at), Some(label)) = (scale.at(tick.value), tick.label) else { continue };
        svg.line((left + BAR, at), (left + BAR + 4.0, at), stroke);
        svg.text((left + BAR + 7.0, at + 0.36 * small), &label, Font::new(small, Anchor::Start));
    }
    svg.frame((left, top), (BAR, bottom - top), stroke);
    if let Some((at, _)) = map.contour.filter(|(at, _)| scale.contains(*at))
        && let Some(y) = scale.at(at)
    {
        svg.line((left - 3.0, y), (left + BAR + 3.0, y), Stroke::solid("#ffffff", 4.0));
        svg.line((left - 3.0, y), (left + BAR + 3.0, y), Stroke::solid("#000000", 1.6));
    }
    let size = fitting(map.value.label, 13.0, bottom - top);
    let font = Font { upright: true, ..Font::new(size, Anchor::Middle) };
    svg.text((left - GAP + BAR_ROOM - 8.0, (top + bottom) / 2.0), map.value.label, font);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_meet_halfway_between_places() {
        let c = Cells::of(&Axis::linear(""), &[1.0, 2.0, 4.0], (0.0, 45.0));
        assert_eq!(c.taken, [0, 1, 2]);
        for (got, want) in c.edges.iter().zip([0.0, 10.0, 25.0, 45.0]) {
            assert!((got - want).abs() < 1e-9, "{:?}", c.edges);
        }
        let c = Cells::of(&Axis::log(""), &[1.0, 10.0], (0.0, 40.0));
        assert!((c.middles[0] - 10.0).abs() < 1e-9 && (c.edges[1] - 20.0).abs() < 1e-9);
    }

    #[test]
    fn fine_grids_are_resampled() {
        let places: Vec<f64> = (0..1000).map(f64::from).collect();
        let c = Cells::of(&Axis::linear(""), &places, (0.0, 1000.0));
        assert_eq!((c.taken.len(), c.edges.len()), (200, 201));
        assert_eq!((c.taken[0], c.taken[199]), (2, 997));
        assert!((c.edges[1] - 5.0).abs() < 1e-9 && (c.edges[200] - 1000.0).abs() < 1e-9);
    }

    #[test]
    fn colors_run_from_one_end_to_the_other() {
        assert_eq!((hex(0), hex(COLORS - 1)), ("#440154".to_string(), "#fde725".to_string()));
        assert_eq!((level(0.0), level(1.0)), (Some(0), Some(COLORS - 1)));
    }

    #[test]
    fn a_contour_is_where_the_sign_changes() {
        let c = Cells::of(&Axis::linear(""), &[0.0, 1.0, 2.0], (0.0, 30.0));
        // x - 0.75 in every row: a straight line at three quarters of the way between two middles.
        let line = contour(&c, &c, |i, _| i as f64 - 0.75);
        assert_eq!(line.len(), 4);
        assert!(line.iter().flatten().all(|p| (p.0 - 12.5).abs() < 1e-9));
        // A peak alone is surrounded; beside a cell without a value nothing is known.
        assert_eq!(contour(&c, &c, |i, j| if (i, j) == (1, 1) { 1.0 } else { -1.0 }).len(), 4);
        let hole = |i: usize, j: usize| if (i, j) == (0, 0) { f64::NAN } else { i as f64 - 0.75 };
        assert_eq!(contour(&c, &c, hole).len(), 2);
    }

    #[test]
    fn saddles_join_what_the_middle_says() {
        let c = Cells::of(&Axis::linear(""), &[0.0, 1.0], (0.0, 20.0));
        let saddle = |high: f64| contour(&c, &c, move |i, j| if i == j { high } else { -1.0 });
        // The square's own strokes, without those along the edges.
        let inner = |line: Vec<Vec<Position>>| -> Vec<Vec<Position>> {
            line.into_iter()
                .filter(|s| s.iter().all(|p| p.0 >= 5.0 && p.0 <= 15.0 && p.1 >= 5.0 && p.1 <= 15.0))
                .collect()
        };
        let (joined, apart) = (inner(saddle(3.0)), inner(saddle(0.5)));
        assert_eq!((joined.len(), apart.len()), (2, 2));
        assert_ne!(joined, apart);
    }
}
