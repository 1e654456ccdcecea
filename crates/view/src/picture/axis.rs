//! Axes: from values to pixels, and where the ticks are.

use crate::digits::{magnitude, ten};

/// An axis: its title, scale and range.
#[derive(Clone, Copy, Debug)]
pub struct Axis<'a> {
    /// The quantity with its unit, such as `queue (packets)`.
    pub label: &'a str,
    /// Equal steps are equal ratios; values that are not positive are then not shown.
    pub log: bool,
    /// The range; by default what the values need.
    pub range: Option<(f64, f64)>,
}

impl<'a> Axis<'a> {
    /// An axis of equal steps.
    pub fn linear(label: &'a str) -> Axis<'a> {
        Axis { label, log: false, range: None }
    }

    /// A logarithmic axis.
    pub fn log(label: &'a str) -> Axis<'a> {
        Axis { label, log: true, range: None }
    }

    /// The same axis, from `low` to `high`.
    pub fn between(self, low: f64, high: f64) -> Axis<'a> {
        Axis { range: Some((low, high)), ..self }
    }
}

/// Values beyond this are treated as infinite: their differences would overflow.
const HUGE: f64 = 1e100;
/// A smaller share of the values than this is not a range.
const LEAST_SPREAD: f64 = 1e-9;

/// A tick and its text; `None`: a minor one.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Tick {
    pub value: f64,
    pub label: Option<String>,
}

/// A range of values along a straight stretch of pixels.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    pub log: bool,
    /// A value in the measure of the axis: itself, or its decimal logarithm.
    low: f64,
    high: f64,
    /// The ends.
    pub from: f64,
    pub to: f64,
}

impl Scale {
    /// A scale over the axis's range, or over those of `values` that it can show.
    pub fn of(axis: &Axis<'_>, values: impl Iterator<Item = f64>, (from, to): (f64, f64)) -> Scale {
        let unplaced = Scale { log: axis.log, low: 0.0, high: 1.0, from, to };
        let ends = axis.range.and_then(|(a, b)| Some((unplaced.measure(a)?, unplaced.measure(b)?)));
        let ends = ends.or_else(|| {
            let shown = values.filter_map(|v| unplaced.measure(v));
            shown.fold(None, |ends: Option<(f64, f64)>, m| {
                Some(ends.map_or((m, m), |(low, high)| (low.min(m), high.max(m))))
            })
        });
        let (low, high) = ends.unwrap_or((0.0, 1.0));
        let (low, high) = (low.min(high), low.max(high));
        let least = (LEAST_SPREAD * low.abs().max(high.abs())).max(1e-90);
        if high - low >= least {
            return Scale { low, high, ..unplaced };
        }
        // One value alone: something around it.
        let room = if low == 0.0 || axis.log { 0.5 } else { (0.1 * low.abs()).max(least) };
        Scale { low: low - room, high: high + room, ..unplaced }
    }

    /// The value in the measure of the axis; `None` where the axis has no place for it.
    fn measure(&self, value: f64) -> Option<f64> {
        match self.log {
            true => (value > 1.0 / HUGE && value < HUGE).then(|| libm::log10(value)),
            false => (value.abs() < HUGE).then_some(value),
        }
    }

    /// The value of a measure.
    fn value(&self, measure: f64) -> f64 {
        if self.log { libm::pow(10.0, measure) } else { measure }
    }

    fn place(&self, measure: f64) -> f64 {
        self.from + (measure - self.low) / (self.high - self.low) * (self.to - self.from)
    }

    /// The pixel of a value, beyond the ends too; `None`: what the axis cannot show.
    pub fn at(&self, value: f64) -> Option<f64> {
        let pixel = self.place(self.measure(value)?);
        // Far enough outside to be clipped, near enough to compute with.
        Some(pixel.clamp(-1e6, 1e6))
    }

    /// The pixel of a value, at an end if the value is beyond it; `None` only for what is not a number.
    pub fn at_most(&self, value: f64) -> Option<f64> {
        let below = if self.log { 1.0 / HUGE } else { -HUGE };
        let measure = match self.measure(value) {
            _ if value.is_nan() => return None,
            Some(m) => m.clamp(self.low, self.high),
            None if value <= below => self.low,
            None => self.high,
        };
        Some(self.place(measure))
    }

    /// The share of the way from the lower end to the upper, between 0 and 1; `None`: what is not a number.
    pub fn share(&self, value: f64) -> Option<f64> {
        self.along((0.0, 1.0)).at_most(value)
    }

    /// The values at the ends.
    pub fn ends(&self) -> (f64, f64) {
        (self.value(self.low), self.value(self.high))
    }

    /// The range from end to end in the measure of the axis: values, or their decimal logarithms.
    pub fn span(&self) -> f64 {
        self.high - self.low
    }

    pub fn contains(&self, value: f64) -> bool {
        self.measure(value).is_some_and(|m| m >= self.low && m <= self.high)
    }

    /// The same values along another stretch.
    pub fn along(self, (from, to): (f64, f64)) -> Scale {
        Scale { from, to, ..self }
    }

    /// Wider by a share of its length at both ends.
    pub fn padded(self, share: f64) -> Scale {
        let room = share * (self.high - self.low);
        Scale { low: self.low - room, high: self.high + room, ..self }
    }

    /// Wider up to the next ticks, of which there are about `count`; from zero if that is not far.
    pub fn rounded(self, count: f64) -> Scale {
        if self.log {
            return self.padded(0.03);
        }
        let low = if self.low > 0.0 && self.low < 0.5 * self.high { 0.0 } else { self.low };
        let mut scale = Scale { low, ..self };
        // A wider range may need a wider step, and that one a wider range.
        for _ in 0..3 {
            let step = nice_step((scale.high - scale.low) / count);
            scale.low = (scale.low / step + 1e-9).floor() * step;
            scale.high = (scale.high / step - 1e-9).ceil() * step;
        }
        scale
    }

    /// No further than a value upward, if its lower end is below that.
    pub fn capped(self, most: f64) -> Scale {
        match self.measure(most) {
            Some(most) if self.low < most && most < self.high => Scale { high: most, ..self },
            _ => self,
        }
    }

    /// No further than a value downward, if its upper end is above that.
    pub fn floored(self, least: f64) -> Scale {
        match self.measure(least) {
            Some(least) if self.low < least && least < self.high => Scale { low: least, ..self },
            _ => self,
        }
    }

    /// Wider by `before` and `after`, in the measure of the axis.
    pub fn extended(self, before: f64, after: f64) -> Scale {
        Scale { low: self.low - before, high: self.high + after, ..self }
    }

    /// Some `count` ticks.
    pub fn ticks(&self, count: f64) -> Vec<Tick> {
        if !self.log {
            return linear_ticks(self.low, self.high, nice_step((self.high - self.low) / count));
        }
        let decades = self.high - self.low;
        let ticks = match decades {
            d if d > 2.2 => self.decade_ticks((d / count.max(1.0)).ceil().max(1.0), &[1]),
            d if d > 0.9 => self.decade_ticks(1.0, &[1, 2, 5]),
            _ => Vec::new(),
        };
        if ticks.iter().filter(|t| t.label.is_some()).count() > 1 {
            return ticks;
        }
        let (low, high) = self.ends();
        linear_ticks(low, high, nice_step((high - low) / count))
    }

    /// Ticks at powers of ten and between; labels at every `stride`th power, times each of `labeled`.
    fn decade_ticks(&self, stride: f64, labeled: &[u8]) -> Vec<Tick> {
        let slack = 1e-9 * (self.high - self.low);
        let mut ticks = Vec::new();
        let mut power = self.low.floor();
        while power <= self.high + slack {
            for digit in 1..=9u8 {
                let measure = power + libm::log10(f64::from(digit));
                if measure < self.low - slack || measure > self.high + slack || (digit > 1 && stride > 2.0) {
                    continue;
                }
                let named = labeled.contains(&digit) && power.rem_euclid(stride) == 0.0;
                let label = named.then(|| match digit {
                    1 => power_label(power as i32),
                    _ => number(f64::from(digit) * ten(power as i32), ten(power as i32)),
                });
                ticks.push(Tick { value: self.value(measure), label });
            }
            power += 1.0;
        }
        ticks
    }
}

/// 1, 2 or 5 times a power of ten, the least that is not below `rough`.
fn nice_step(rough: f64) -> f64 {
    let power = ten(magnitude(rough));
    let step = [1.0, 2.0, 5.0].into_iter().find(|d| d * power >= rough * (1.0 - 1e-9));
    step.unwrap_or(10.0) * power
}

/// Ticks at the multiples of `step`.
pub(super) fn linear_ticks(low: f64, high: f64, step: f64) -> Vec<Tick> {
    let (first, last) = ((low / step - 1e-6).ceil(), (high / step + 1e-6).floor());
    // A step that the values do not resolve would never end.
    let count = (last - first).clamp(0.0, 1000.0) as usize;
    let tick = |i: usize| {
        let value = (first + i as f64) * step;
        Tick { value, label: Some(number(value, step)) }
    };
    (0..=count).map(tick).collect()
}

/// A number with the digits that a step of `step` needs.
pub(super) fn number(value: f64, step: f64) -> String {
    let value = if value.abs() < 1e-6 * step { 0.0 } else { value };
    let exponent = magnitude(step);
    if !(-5..=4).contains(&exponent) {
        if value == 0.0 {
            return "0".to_string();
        }
        let power = magnitude(value);
        let digits = (power - exponent).max(0) as usize;
        let text = format!("{:.digits$e}", value.abs());
        if let Some((mantissa, power)) = text.split_once('e') {
            let sign = if value < 0.0 { "−" } else { "" };
            return format!("{sign}{mantissa}·10{}", superscript(power.parse().unwrap_or(0)));
        }
    }
    let decimals = (-exponent).max(0) as usize;
    let text = format!("{:.decimals$}", value.abs());
    if value < 0.0 { format!("−{text}") } else { text }
}

/// A number to three digits, for people.
pub(super) fn rounded(value: f64) -> String {
    if value.is_nan() {
        return "—".to_string();
    }
    if value.abs() > HUGE {
        return if value > 0.0 { "∞".to_string() } else { "−∞".to_string() };
    }
    if value == 0.0 {
        return "0".to_string();
    }
    // The power after rounding: 9.996 shows as 10.0.
    let text = format!("{value:.2e}");
    let power: i32 = text.split_once('e').and_then(|(_, power)| power.parse().ok()).unwrap_or(0);
    match power {
        -3..=5 => number(value, ten((power - 2).min(0))),
        _ => scientific(value, power),
    }
}

fn scientific(value: f64, power: i32) -> String {
    let sign = if value < 0.0 { "−" } else { "" };
    let text = format!("{:.2e}", value.abs());
    let mantissa = text.split_once('e').map_or("", |(m, _)| m);
    format!("{sign}{mantissa}·10{}", superscript(power))
}

/// A power of ten: written out near one, else as one.
fn power_label(power: i32) -> String {
    match power {
        0..=4 => format!("{}", 10i64.pow(power as u32)),
        -3..=-1 => format!("{:.*}", power.unsigned_abs() as usize, ten(power)),
        _ => format!("10{}", superscript(power)),
    }
}

fn superscript(power: i32) -> String {
    let raised = |c: char| match c {
        '-' => '⁻',
        '1' => '¹',
        '2' => '²',
        '3' => '³',
        c => char::from_u32('⁰' as u32 + c.to_digit(10).unwrap_or(0)).unwrap_or(c),
    };
    power.to_string().chars().map(raised).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(scale: &Scale, count: f64) -> Vec<String> {
        scale.ticks(count).into_iter().filter_map(|t| t.label).collect()
    }

    fn scale(axis: Axis<'_>, low: f64, high: f64) -> Scale {
        Scale::of(&axis.between(low, high), std::iter::empty(), (0.0, 100.0))
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(labels(&scale(Axis::linear(""), -0.3, 0.45), 4.0), ["−0.2", "0.0", "0.2", "0.4"]);
        assert_eq!(
            labels(&scale(Axis::linear(""), 0.0, 1000.0), 5.0),
            ["0", "200", "400", "600", "800", "1000"]
        );
        assert_eq!(labels(&scale(Axis::linear(""), 0.0, 3e-8), 3.0), ["0", "1·10⁻⁸", "2·10⁻⁸", "3·10⁻⁸"]);
        assert_eq!(labels(&scale(Axis::log(""), 1e-5, 10.0), 4.0), ["10⁻⁴", "0.01", "1"]);
        assert_eq!(labels(&scale(Axis::log(""), 2.0, 60.0), 4.0), ["2", "5", "10", "20", "50"]);
        assert_eq!(labels(&scale(Axis::log(""), 11.0, 14.0), 3.0), ["11", "12", "13", "14"]);
    }

    #[test]
    fn rounded_ranges_end_at_ticks() {
        for (low, high) in [(-52.0, 47.0), (3.0, 190.0), (-1e-3, 7.7e-3), (20.0, 21.0), (0.0, 100.0)] {
            let rounded = scale(Axis::linear(""), low, high).rounded(5.25);
            let (ticks, (from, to)) = (rounded.ticks(5.25), rounded.ends());
            let (first, last) = (ticks[0].value, ticks[ticks.len() - 1].value);
            let slack = 1e-6 * (to - from);
            assert!((first - from).abs() < slack && (last - to).abs() < slack, "{low} {high}: {ticks:?}");
            assert!(from <= low + slack && to >= high - slack, "{from} {to}");
        }
    }

    #[test]
    fn minor_ticks_have_no_label() {
        let ticks = scale(Axis::log(""), 1.0, 1000.0).ticks(5.0);
        assert_eq!(ticks.len(), 28);
        assert_eq!(ticks.iter().filter(|t| t.label.is_some()).count(), 4);
    }

    #[test]
    fn values_have_places() {
        let linear = scale(Axis::linear(""), 0.0, 10.0);
        assert_eq!(linear.at(2.5), Some(25.0));
        assert_eq!((linear.at(f64::NAN), linear.at(f64::INFINITY)), (None, None));
        assert_eq!((linear.at_most(f64::INFINITY), linear.at_most(-3.0)), (Some(100.0), Some(0.0)));
        let log = scale(Axis::log(""), 1.0, 100.0);
        assert_eq!((log.at(10.0), log.at(0.0), log.at_most(0.0)), (Some(50.0), None, Some(0.0)));
        assert_eq!((log.at_most(-1.0), log.at_most(f64::INFINITY)), (Some(0.0), Some(100.0)));
        assert_eq!(log.at_most(f64::NAN), None);
    }

    #[test]
    fn a_range_is_never_empty() {
        for values in
            [vec![], vec![0.0], vec![5.0, 5.0], vec![f64::NAN, f64::INFINITY], vec![1e-300], vec![1e99]]
        {
            for axis in [Axis::linear(""), Axis::log("")] {
                let scale = Scale::of(&axis, values.iter().copied(), (0.0, 1.0));
                assert!(scale.high > scale.low, "{values:?}");
                assert!(!scale.ticks(5.0).is_empty(), "{values:?}");
            }
        }
    }

    #[test]
    fn numbers_for_people() {
        let shown = [0.0, 9.996, -0.5261, 1234.4, 0.00012345, 3.2e7, f64::INFINITY].map(rounded);
        assert_eq!(shown, ["0", "10.0", "−0.526", "1234", "1.23·10⁻⁴", "3.20·10⁷", "∞"]);
    }
}
