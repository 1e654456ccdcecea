//! Figures for people: units that fit, and no more digits than the interval supports.

use quell_metrics::{Estimate, Metric, Quantity, Range};

use crate::digits::{magnitude, ten};

/// The unit in which a figure is shown, and what turns the stored value into it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Shown value over stored value.
    pub factor: f64,
    /// The unit; empty for pure numbers.
    pub unit: &'static str,
}

/// The scale for values of a metric up to `largest`.
pub fn scale(metric: Metric, largest: f64) -> Scale {
    let largest = largest.abs();
    let pick = |steps: &[(f64, &'static str)], base: &'static str| {
        let fits = steps.iter().find(|(size, _)| largest >= *size);
        fits.map_or(Scale { factor: 1.0, unit: base }, |(size, unit)| Scale { factor: 1.0 / size, unit })
    };
    match metric.unit() {
        "1" if is_share(metric) => Scale { factor: 100.0, unit: "%" },
        "1" => Scale { factor: 1.0, unit: "" },
        "bit/s" => pick(&[(1e9, "Gbit/s"), (1e6, "Mbit/s"), (1e3, "kbit/s")], "bit/s"),
        "bytes" => pick(&[(1e6, "MB"), (1e3, "kB")], "B"),
        "bit/s^2" => pick(&[(1e9, "Gbit/s²"), (1e6, "Mbit/s²"), (1e3, "kbit/s²")], "bit/s²"),
        "s" if largest >= 10.0 => Scale { factor: 1.0, unit: "s" },
        "s" if largest >= 1e-3 || largest == 0.0 => Scale { factor: 1e3, unit: "ms" },
        "s" => Scale { factor: 1e6, unit: "µs" },
        unit => Scale { factor: 1.0, unit },
    }
}

/// The scale for values of a figure up to `largest`, and the unit to print: metrics are shown in units that fit,
/// ratios and internal signals in `unit`, which they are stored in.
pub fn scale_of(figure: &Quantity, unit: &str, largest: f64) -> (Scale, String) {
    match figure.metric().map(|metric| scale(metric, largest)) {
        Some(scale) => (scale, scale.unit.to_string()),
        None => (Scale { factor: 1.0, unit: "" }, if unit == "1" { String::new() } else { unit.to_string() }),
    }
}

/// An estimate in the unit that fits it, with its interval: `12.3 ± 0.4 ms`. Where all seeds agree, there is no interval to
/// speak of.
pub fn text(figure: &Quantity, estimate: &Estimate) -> String {
    let is_certain = |half: f64| half <= 1e-5 * estimate.mean.abs();
    let half_width = estimate.half_width.filter(|half| !is_certain(*half));
    let estimate = &Estimate { half_width, ..*estimate };
    let (scale, unit) = scale_of(figure, "1", estimate.mean);
    let rounded = round_within(estimate, scale, figure.range());
    [rounded.mean.as_str(), &rounded.interval(), &unit].join(" ").replace("  ", " ").trim_end().to_string()
}

/// True for shares of a whole, which people read in percent.
fn is_share(metric: Metric) -> bool {
    metric == Metric::Utilization || metric.name().ends_with("_rate") || metric.name().ends_with("_share")
}

/// Digits of a mean without an interval.
const DIGITS_ALONE: i32 = 4;
/// The most digits of a mean that are useful.
const MAX_DIGITS: i32 = 6;
/// The most decimals, regardless of the digits.
const MAX_DECIMALS: i32 = 9;

/// A mean and half the width of its interval, as text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figure {
    /// The mean.
    pub mean: String,
    /// Half the width of the interval, if there is one.
    pub half_width: Option<String>,
    /// The ends of the interval, where half its width would lead beyond what the figure can be.
    pub ends: Option<(String, String)>,
}

impl Figure {
    /// The interval after the mean: `± 0.3`, or its ends `[0, 0.7]` where it ends at what is possible; empty without one.
    pub fn interval(&self) -> String {
        match (&self.ends, &self.half_width) {
            (Some((low, high)), _) => format!("[{low}, {high}]"),
            (None, Some(half)) => format!("± {half}"),
            (None, None) => String::new(),
        }
    }
}

/// Rounds an estimate of a figure that can only be within `range`; see [`round`]. Where half the width of the interval
/// leads beyond that, the figure has the ends of the part within.
pub fn round_within(estimate: &Estimate, scale: Scale, range: Range) -> Figure {
    let figure = round(estimate, scale, false);
    let (Some(whole), Some(within)) = (estimate.interval(), estimate.interval_within(range)) else {
        return figure;
    };
    if whole == within {
        return figure;
    }
    let decimals = figure.mean.split_once('.').map_or(0, |(_, digits)| digits.len());
    let last_digit = ten(-i32::try_from(decimals).unwrap_or(MAX_DECIMALS));
    let shown = |x: f64| format!("{x:.decimals$}");
    let end = |x: f64, other: f64, away: f64| {
        let is_limit = x == range.least || x == range.most;
        let near = shown(x * scale.factor);
        // An end that only rounds to the other one would make the interval look like none: it goes to the next digit.
        let text = match !is_limit && near == shown(other * scale.factor) {
            true => shown(x * scale.factor + away * last_digit),
            false => near,
        };
        // What rounds to zero has no sign, and the end of the range needs no decimals.
        match text.parse::<f64>() {
            Ok(0.0) => "0".to_string(),
            Ok(whole) if is_limit => whole.to_string(),
            _ => text,
        }
    };
    Figure { ends: Some((end(within.0, within.1, -1.0), end(within.1, within.0, 1.0))), ..figure }
}

/// Rounds an estimate: the half width to one digit (two if the first is 1), the mean to the same place.
pub fn round(estimate: &Estimate, scale: Scale, signed: bool) -> Figure {
    let mean = estimate.mean * scale.factor;
    let decimals_for = |digits: i32| (digits - 1 - magnitude(mean)).clamp(0, MAX_DECIMALS);
    let show = |decimals: i32| {
        let text = format!("{mean:.0$}", decimals as usize);
        match text.strip_prefix('-') {
            // What rounds to zero has no sign.
            Some(digits) if digits.chars().all(|c| c == '0' || c == '.') => digits.to_string(),
            None if signed && text.chars().any(|c| ('1'..='9').contains(&c)) => format!("+{text}"),
            _ => text,
        }
    };
    let Some(half_width) = estimate.half_width.map(|h| h * scale.factor) else {
        return Figure {
            mean: show(if mean == 0.0 { 0 } else { decimals_for(DIGITS_ALONE) }),
            half_width: None,
            ends: None,
        };
    };
    if half_width == 0.0 {
        let decimals = if mean == mean.round() { 0 } else { decimals_for(DIGITS_ALONE) };
        return Figure { mean: show(decimals), half_width: Some("0".to_string()), ends: None };
    }
    let exponent = magnitude(half_width);
    let first_digit = half_width / ten(exponent);
    let digits = if first_digit < 2.0 { 2 } else { 1 };
    let most = if mean == 0.0 { MAX_DECIMALS } else { decimals_for(MAX_DIGITS) };
    let decimals = (digits - 1 - exponent).clamp(0, most);
    // Never shown narrower than it is by rounding to nothing.
    let shown = half_width.max(ten(-decimals));
    Figure { mean: show(decimals), half_width: Some(format!("{shown:.0$}", decimals as usize)), ends: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(mean: f64, half_width: Option<f64>) -> String {
        let figure = round(&Estimate { mean, half_width, n: 5 }, Scale { factor: 1.0, unit: "" }, false);
        figure.half_width.map_or(figure.mean.clone(), |h| format!("{} ± {h}", figure.mean))
    }

    #[test]
    fn means_have_the_digits_that_their_interval_supports() {
        assert_eq!(shown(98.34567, Some(0.0432)), "98.35 ± 0.04");
        assert_eq!(shown(98.34567, Some(0.0132)), "98.346 ± 0.013");
        assert_eq!(shown(98.34567, Some(0.0196)), "98.346 ± 0.020");
        assert_eq!(shown(1234.4, Some(234.2)), "1234 ± 234");
        assert_eq!(shown(0.1, Some(3.7)), "0 ± 4");
        assert_eq!(shown(-0.001, Some(0.5)), "0.0 ± 0.5");
        assert_eq!(shown(99.999_999_9, Some(0.000_000_12)), "100.0000 ± 0.0001");
        assert_eq!(shown(0.0, Some(0.0)), "0 ± 0");
        assert_eq!(shown(0.5, Some(0.0)), "0.5000 ± 0");
        assert_eq!(shown(0.0, Some(1e-4)), "0.00000 ± 0.00010");
        assert_eq!(shown(98.34567, None), "98.35");
        assert_eq!(shown(0.0012345, None), "0.001234");
        assert_eq!(shown(12345.6, None), "12346");
        assert_eq!(shown(0.0, None), "0");
    }

    #[test]
    fn intervals_end_at_what_is_possible() {
        let shown = |mean, half, range| {
            let estimate = Estimate { mean, half_width: Some(half), n: 3 };
            let figure = round_within(&estimate, Scale { factor: 100.0, unit: "%" }, range);
            format!("{} {}", figure.mean, figure.interval())
        };
        assert_eq!(shown(0.983, 0.034, Range::SHARE), "98 [95, 100]");
        assert_eq!(shown(0.9834, 0.0052, Range::SHARE), "98.3 ± 0.5");
        assert_eq!(shown(0.001, 0.0042, Range::SHARE), "0.1 [0, 0.5]");
        assert_eq!(shown(0.001, 0.0042, Range::ANY), "0.1 ± 0.4");
        assert_eq!(shown(0.0, 0.0, Range::SHARE), "0 ± 0");
        assert_eq!(shown(0.51, 0.508, Range::SHARE), "51 [0, 100]");
        // Of 0.999999999 less than a digit is lost, and no interval looks like a point.
        assert_eq!(shown(0.999_999_999, 2e-9, Range::SHARE), "100.0000 [99.9999, 100]");
        assert_eq!(shown(1e-12, 2e-12, Range::SHARE), "0.000000000 [0, 0.000000001]");
    }

    #[test]
    fn differences_carry_their_sign() {
        let signed = |mean| {
            let estimate = Estimate { mean, half_width: Some(0.2), n: 5 };
            round(&estimate, Scale { factor: 1.0, unit: "" }, true).mean
        };
        assert_eq!((signed(1.0), signed(-1.0), signed(0.01)), ("+1.0".into(), "-1.0".into(), "0.0".into()));
    }

    #[test]
    fn units_fit_the_largest_value() {
        assert_eq!(scale(Metric::Goodput, 9.5e6), Scale { factor: 1e-6, unit: "Mbit/s" });
        assert_eq!(scale(Metric::DelayMean, 0.02), Scale { factor: 1e3, unit: "ms" });
        assert_eq!(scale(Metric::DelayMean, 2e-6), Scale { factor: 1e6, unit: "µs" });
        assert_eq!([9.9, 10.0].map(|largest| scale(Metric::DelayMean, largest).unit), ["ms", "s"]);
        assert_eq!(scale(Metric::QueueBytes, 9e3), Scale { factor: 1e-3, unit: "kB" });
        assert_eq!(scale(Metric::LossRate, 0.5), Scale { factor: 100.0, unit: "%" });
        assert_eq!(scale(Metric::Jain, 0.5), Scale { factor: 1.0, unit: "" });
        assert_eq!(scale(Metric::QueueMean, 50.0).unit, "packets");
    }
}
