//! The numbers of a figure: panels, and curves in them.

use quell_metrics::distinct;
use serde::Serialize;

use super::events::Event;
use crate::picture::axis::Tick;

/// The key that distinguishes the curves of a panel, or panels.
pub(super) const ALGORITHM: &str = "algorithm";
/// The axis of the only names that have an order.
pub(super) const SIZES_OF_TRANSFERS: &str = "size of the transfer";
/// The share of the room of a name that the marks over it take, and the most between two of them.
const ROOM: f64 = 0.8;
const MOST_APART: f64 = 0.12;

/// The numbers of a figure: panels with common axes, and curves in them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Chart {
    /// Its title.
    pub title: String,
    /// The horizontal axis.
    pub x: Horizontal,
    /// The quantity upward, with its unit.
    pub y: String,
    /// The factor from the metric's own values (seconds, bits/s, shares) to that unit.
    #[serde(skip)]
    pub y_factor: f64,
    /// The key that distinguishes the panels, such as `dumbbell.rate`; empty if there is one.
    pub panel_key: String,
    /// The key that distinguishes the curves of a panel, such as `algorithm`.
    pub curve_key: String,
    /// The panels, at least one.
    pub panels: Vec<Panel>,
    /// The form in which its curves are drawn.
    pub form: Form,
    /// The end of the warm-up, on an axis of time.
    pub warmup: Option<f64>,
    /// The changes on the way, on an axis of time.
    pub events: Vec<Event>,
}

/// The horizontal axis of a chart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Horizontal {
    /// The quantity with its unit, such as `time (s)`.
    pub label: String,
    /// Equal steps are equal ratios.
    pub log: bool,
    /// Names of the places 0, 1, 2, ...; none on an axis of numbers.
    pub names: Vec<String>,
}

/// A panel of a chart.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Panel {
    /// Its title; empty if it is the only one.
    pub title: String,
    /// Its curves.
    pub curves: Vec<Curve>,
}

/// A curve of a chart. What is not a number is a gap.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Curve {
    /// Its name.
    pub label: String,
    /// The number of its color and dashes: the same for the same algorithm in every chart.
    pub style: usize,
    /// The places of its values along the horizontal axis.
    pub x: Vec<f64>,
    /// Its values, as many.
    pub y: Vec<f64>,
    /// Half the widths of their 95% intervals, as many; NaN for a value without one, and empty if no value has one.
    pub half_width: Vec<f64>,
    /// The lower ends of the intervals, within what the quantity can be, as many; empty: half a width below the values.
    pub low: Vec<f64>,
    /// The upper ends, likewise.
    pub high: Vec<f64>,
    /// The numbers of replications behind the values, as many; empty where they are not means over replications.
    pub seeds: Vec<usize>,
}

impl Curve {
    /// A curve without intervals.
    pub fn new(label: impl Into<String>, style: usize, x: Vec<f64>, y: Vec<f64>) -> Curve {
        Curve { label: label.into(), style, x, y, ..Curve::default() }
    }

    /// The ends of the interval of a value; `None` where it has none.
    pub fn interval(&self, i: usize) -> Option<(f64, f64)> {
        let half = self.half_width.get(i).copied().filter(|h| h.is_finite())?;
        let y = self.y.get(i).copied()?;
        let end = |ends: &[f64], usual: f64| ends.get(i).copied().filter(|e| e.is_finite()).unwrap_or(usual);
        Some((end(&self.low, y - half), end(&self.high, y + half)))
    }

    /// Multiplies its values and their intervals.
    pub fn scale(&mut self, factor: f64) {
        let each = self.y.iter_mut().chain(&mut self.half_width).chain(&mut self.low).chain(&mut self.high);
        each.for_each(|v| *v *= factor);
    }
}

/// The form in which curves are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Form {
    /// Many samples over time.
    OverTime,
    /// A distribution: a line.
    Line,
    /// Few values, each with a mark.
    Points,
    /// One value of each curve, as bars side by side.
    Bars,
}

impl Chart {
    /// The same curves, each algorithm (or whatever distinguishes them) in a panel of its own. Where there are
    /// panels already, what distinguished them distinguishes the curves.
    pub fn apart(self) -> Chart {
        let mut panels: Vec<Panel> = Vec::new();
        let several = self.panels.len() > 1;
        for (i, panel) in self.panels.into_iter().enumerate() {
            for curve in panel.curves {
                let at = panels.iter().position(|p| p.title == curve.label).unwrap_or_else(|| {
                    panels.push(Panel { title: curve.label.clone(), curves: Vec::new() });
                    panels.len() - 1
                });
                let renamed =
                    if several { (panel.title.clone(), i) } else { (curve.label.clone(), curve.style) };
                panels[at].curves.push(Curve { label: renamed.0, style: renamed.1, ..curve });
            }
        }
        let curve_key = if several { self.panel_key } else { self.curve_key.clone() };
        Chart { panels, panel_key: self.curve_key, curve_key, ..self }
    }

    /// True if what is between two values means something: over numbers, and over names that have an order. Between links
    /// or algorithms nothing lies.
    pub(crate) fn is_joined(&self) -> bool {
        self.x.names.is_empty() || self.x.label == SIZES_OF_TRANSFERS
    }

    /// The ends of an axis of names: half a place beyond the first and the last, so that marks beside each other have room.
    pub(crate) fn ends_of_names(&self) -> Option<(f64, f64)> {
        let names = self.x.names.len();
        (names > 0).then(|| (-0.5, names as f64 - 0.5))
    }

    /// Curve `i` of `of` over names, a little beside the others, so that no mark and no interval hides another.
    pub(crate) fn beside(&self, curve: &Curve, (i, of): (usize, usize)) -> Curve {
        if self.x.names.is_empty() || self.form != Form::Points {
            return curve.clone();
        }
        let shift = (i as f64 - (of as f64 - 1.0) / 2.0) * (ROOM / of as f64).min(MOST_APART);
        Curve { x: curve.x.iter().map(|x| x + shift).collect(), ..curve.clone() }
    }

    /// Every curve.
    pub fn curves(&self) -> impl Iterator<Item = &Curve> {
        self.panels.iter().flat_map(|p| &p.curves)
    }

    /// The places where something is drawn.
    pub(crate) fn xs(&self) -> impl Iterator<Item = f64> {
        self.curves().flat_map(|c| c.x.iter().copied())
    }

    /// The values, and the ends of their intervals.
    pub(crate) fn ys(&self) -> impl Iterator<Item = f64> {
        self.curves().flat_map(|c| {
            c.y.iter().enumerate().flat_map(move |(i, y)| {
                let (low, high) = c.interval(i).unwrap_or((*y, *y));
                [low, high]
            })
        })
    }

    /// The distinct curves of a legend, in order: label and style.
    pub(crate) fn legend(&self) -> Vec<(&str, usize)> {
        distinct(self.curves().map(|curve| (curve.label.as_str(), curve.style)))
    }

    /// A panel's title with its letter: "(a) red", "(b) flows.ftp.count = 20".
    pub(crate) fn heading(&self, i: usize) -> String {
        let title = self.panels.get(i).map_or("", |p| &p.title);
        let letter = u8::try_from(i).ok().filter(|i| *i < 26);
        let letter = letter.map_or(String::new(), |i| format!("({}) ", char::from(b'a' + i)));
        // An algorithm's name says what it is.
        match self.panel_key.as_str() {
            "" | ALGORITHM => format!("{letter}{title}"),
            key => format!("{letter}{key} = {title}"),
        }
    }

    /// The ticks, if they do not belong at round numbers: at the names, or at few values.
    pub(crate) fn ticks(&self) -> Option<Vec<Tick>> {
        if !self.x.names.is_empty() {
            let tick = |(i, name): (usize, &String)| Tick { value: i as f64, label: Some(name.clone()) };
            return Some(self.x.names.iter().enumerate().map(tick).collect());
        }
        let mut places: Vec<f64> = self.xs().collect();
        places.sort_by(f64::total_cmp);
        places.dedup();
        let few = self.form == Form::Points && places.len() <= 12;
        let tick = |x: &f64| Tick { value: *x, label: Some(x.to_string()) };
        few.then(|| places.iter().map(tick).collect())
    }

    /// True if the titles of the panels name their only curves.
    pub(crate) fn titles_say_it(&self) -> bool {
        self.panels.len() > 1 && self.panels.iter().all(|p| p.curves.iter().all(|c| c.label == p.title))
    }
}
