//! Ranges of values: `0.02..0.2:log:5`, `10..50:lin:5`, `5 ms..25 ms:step:5 ms`.

use quell_units::text::cut;

use crate::limits::POINTS;
use crate::number::{Amount, Unit};
use crate::tree::Value;

/// The forms of a range, for messages.
pub(crate) const FORMS: &str = "A..B:log:N, A..B:lin:N or A..B:step:S";

/// The digits of the values between the ends, unless they need more to be told apart.
const DIGITS: usize = 6;

/// True if a text is meant as a range.
pub(crate) fn looks_like_one(text: &str) -> bool {
    text.split_once("..").is_some_and(|(_, rest)| {
        rest.split(':').nth(1).is_some_and(|kind| ["log", "lin", "step"].contains(&kind.trim()))
    })
}

/// The values of a range, in order. The ends are exactly those that are written.
pub(crate) fn expand(text: &str) -> Result<Vec<Value>, String> {
    let form = || format!("is not a range: it must have the form {FORMS}");
    let parts: Vec<&str> = text.split(':').map(str::trim).collect();
    let &[ends, kind, last] = parts.as_slice() else { return Err(form()) };
    let (from, to) = ends.split_once("..").ok_or_else(form)?;
    let amount = |text: &str| {
        let not = || format!("contains \"{}\", which is not a number or a quantity with its unit", cut(text));
        Amount::read(text).ok_or_else(not)
    };
    let to = to.trim();
    let b = amount(to)?;
    // "5..50 ms": the unit is that of both.
    let unit = unit_of(to);
    let shared = |text: &str| match unit_of(text) {
        "" if !unit.is_empty() => format!("{} {unit}", text.trim()),
        _ => text.trim().to_string(),
    };
    let from = shared(from);
    let a = amount(&from)?;
    if a.unit != b.unit {
        return Err(format!("starts with {a} and ends with {b}: {} and {}", a.unit, b.unit));
    }
    if a.value == b.value {
        return Err("starts where it ends: the ends must differ".to_string());
    }
    let span = b.value - a.value;
    let between = match kind {
        "log" | "lin" => {
            let n = count(last)?;
            let at = |i: usize| i as f64 / (n - 1) as f64;
            let all = 1..n - 1;
            if kind == "lin" {
                all.map(|i| a.value + span * at(i)).collect()
            } else {
                if a.value <= 0.0 || b.value <= 0.0 {
                    return Err("must have both ends above 0 for equal factors (log)".to_string());
                }
                all.map(|i| a.value * libm::pow(b.value / a.value, at(i))).collect()
            }
        }
        "step" => steps(a, b, amount(&shared(last))?)?,
        _ => {
            let kind = cut(kind);
            return Err(format!("has \"{kind}\" instead of log, lin or step: it must have the form {FORMS}"));
        }
    };
    let values: Vec<f64> = [a.value].into_iter().chain(between).chain([b.value]).collect();
    if !values.iter().all(|x| x.is_finite()) || !span.is_finite() {
        return Err("has ends that are too far apart for numbers between them".to_string());
    }
    let digits = digits(&values);
    let last = values.len() - 1;
    let one = if unit.is_empty() { 1.0 } else { amount(&format!("1 {unit}"))?.value };
    let value = |(i, x): (usize, f64)| match i {
        0 => end(&from, a),
        i if i == last => end(to, b),
        _ => {
            let x = Amount::number(x / one).rounded(digits);
            if unit.is_empty() { x.write() } else { Ok(Value::String(format!("{} {unit}", x.value))) }
        }
    };
    values.into_iter().enumerate().map(value).collect()
}

/// The values of a range such as sweeps have, without their unit, and that; `None` if the text is none.
pub fn range(text: &str) -> Option<Result<(Vec<f64>, String), String>> {
    let text = text.trim();
    let (_, rest) = text.split_once("..").filter(|_| text.split(':').count() == 3 && looks_like_one(text))?;
    let unit = unit_of(rest.split(':').next().unwrap_or_default().trim()).to_string();
    let one =
        if unit.is_empty() { 1.0 } else { Amount::read(&format!("1 {unit}")).map_or(1.0, |one| one.value) };
    let number = |value: Value| match value {
        Value::Integer(n) => n as f64,
        Value::Float(x) => x,
        // What `expand` writes is a quantity.
        Value::String(text) => {
            let amount = Amount::read(&text).map_or(f64::NAN, |amount| amount.value / one);
            Amount::number(amount).rounded(15).value
        }
        _ => f64::NAN,
    };
    Some(expand(text).map(|values| (values.into_iter().map(number).collect(), unit)))
}

/// An end: as it is written.
fn end(text: &str, amount: Amount) -> Result<Value, String> {
    if amount.unit == Unit::ONE { amount.write() } else { Ok(Value::String(text.to_string())) }
}

/// The text that follows the number.
fn unit_of(text: &str) -> &str {
    let at = text.rfind(|c: char| c.is_ascii_digit() || c == '.').map_or(0, |i| i + 1);
    text[at..].trim()
}

/// The values of a list in which the last one alone has a unit, each with that unit; of another, none.
pub(crate) fn share_unit(values: &[Value]) -> Option<Vec<Value>> {
    let (Value::String(last), others) = values.split_last()? else { return None };
    let unit = unit_of(last);
    let is_unit = !unit.is_empty() && unit.chars().all(|c| c.is_alphabetic() || c == '/');
    if !is_unit || last.trim().strip_suffix(unit)?.trim().parse::<f64>().is_err() {
        return None;
    }
    let with_unit = |value: &Value| match value {
        Value::Integer(n) => Some(Value::String(format!("{n} {unit}"))),
        Value::Float(x) => Some(Value::String(format!("{x} {unit}"))),
        _ => None,
    };
    others.iter().map(with_unit).chain([Some(Value::String(last.clone()))]).collect()
}

fn count(text: &str) -> Result<usize, String> {
    let n = text.parse::<usize>().ok().filter(|n| (2..=POINTS).contains(n));
    let values = if text == "1" { "value" } else { "values" };
    n.ok_or_else(|| format!("has {} {values}: must be a whole number from 2 to {POINTS}", cut(text)))
}

/// The values between the ends in equal steps.
fn steps(a: Amount, b: Amount, step: Amount) -> Result<Vec<f64>, String> {
    if step.unit != a.unit {
        return Err(format!("goes from {a} in steps of {step}: {} and {}", a.unit, step.unit));
    }
    if step.value <= 0.0 {
        return Err(format!("has steps of {step}: must be positive"));
    }
    let span = b.value - a.value;
    let n = (span.abs() / step.value).round();
    let signed = step.value.copysign(span);
    if n + 1.0 > POINTS as f64 {
        return Err(format!("has more than {POINTS} values: use longer steps"));
    }
    // Decimal fractions are not exact.
    if n < 1.0 || (span.abs() - n * step.value).abs() > 1e-9 * span.abs() {
        let reached = Amount { value: a.value + signed * (span / signed).floor(), unit: a.unit };
        return Err(format!(
            "does not end at {b}: in steps of {step} from {a} it ends at {}",
            reached.rounded(12)
        ));
    }
    Ok((1..n as usize).map(|i| a.value + signed * i as f64).collect())
}

/// The fewest digits that leave the values in their places.
fn digits(values: &[f64]) -> usize {
    let largest = values.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
    let gap = values.windows(2).map(|w| (w[1] - w[0]).abs()).fold(f64::INFINITY, f64::min);
    let needed = libm::log10(largest / gap).ceil() + 3.0;
    // A cast from infinity saturates.
    DIGITS.max(needed as usize).min(17)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn texts(range: &str) -> Vec<String> {
        let text = |v: Value| match v {
            Value::String(s) => s,
            Value::Integer(n) => n.to_string(),
            Value::Float(x) => format!("{x:?}"),
            other => panic!("{other:?}"),
        };
        expand(range).unwrap_or_else(|e| panic!("{range}: {e}")).into_iter().map(text).collect()
    }

    #[test]
    fn known_ranges() {
        for (range, values) in [
            ("10..50:lin:5", vec!["10", "20", "30", "40", "50"]),
            ("1..1000:log:4", vec!["1", "10", "100", "1000"]),
            ("1000..1:log:4", vec!["1000", "100", "10", "1"]),
            ("0.02..0.2:log:3", vec!["0.02", "0.0632456", "0.2"]),
            ("0..1:lin:4", vec!["0", "0.333333", "0.666667", "1"]),
            ("-1..1:lin:3", vec!["-1", "0", "1"]),
            ("1e-3 .. 1e-1 : log : 3", vec!["0.001", "0.01", "0.1"]),
            ("5 ms..50 ms:log:4", vec!["5 ms", "10.7722 ms", "23.2079 ms", "50 ms"]),
            ("5..50 ms:lin:2", vec!["5 ms", "50 ms"]),
            ("500us..2 ms:step:500 us", vec!["500us", "1 ms", "1.5 ms", "2 ms"]),
            ("10..30 packets:step:10", vec!["10 packets", "20 packets", "30 packets"]),
            ("1 Mbit/s..100 Mbit/s:log:3", vec!["1 Mbit/s", "10 Mbit/s", "100 Mbit/s"]),
            ("0.1..0.5:step:0.1", vec!["0.1", "0.2", "0.3", "0.4", "0.5"]),
            ("30..10:step:10", vec!["30", "20", "10"]),
            ("10 kB..20 kB:lin:3", vec!["10 kB", "15 kB", "20 kB"]),
        ] {
            assert_eq!(texts(range), values, "{range}");
        }
    }

    #[test]
    fn a_range_has_its_values_in_the_unit_of_its_end() {
        let of = |text: &str| range(text).map(|found| found.unwrap());
        let some = |values: &[f64], unit: &str| Some((values.to_vec(), unit.to_string()));
        assert_eq!(of("10..30:lin:3"), some(&[10.0, 20.0, 30.0], ""));
        assert_eq!(of("500us..2 ms:step:500 us"), some(&[0.5, 1.0, 1.5, 2.0], "ms"));
        assert_eq!(of("1..100 Mbit/s:log:3"), some(&[1.0, 10.0, 100.0], "Mbit/s"));
        for none in ["1..2", "1..2:log", "a", "1:lin:3"] {
            assert!(range(none).is_none(), "{none}");
        }
        assert!(range("1..2:lin:1").unwrap().is_err());
    }

    #[test]
    fn a_wrong_range_says_what_is_wrong() {
        for (range, want) in [
            ("1..2", "must have the form A..B:log:N"),
            ("1:lin:3", "must have the form A..B:log:N"),
            ("1..2:log", "must have the form"),
            ("1..2:log:3:4", "must have the form"),
            ("1..2:geo:3", "has \"geo\" instead of log, lin or step"),
            ("1..x:lin:3", "contains \"x\", which is not a number or a quantity"),
            ("5 ms..10 packets:lin:3", "starts with 5 ms and ends with 10 packets: a time and packets"),
            ("5 ms..10:lin:3", "starts with 5 ms and ends with 10: a time and a plain number"),
            ("1..1:lin:3", "the ends must differ"),
            ("0..1:log:3", "must have both ends above 0"),
            ("-2..-1:log:3", "must have both ends above 0"),
            ("1..2:lin:1", "has 1 value: must be a whole number from 2 to 10000"),
            ("1..2:lin:2.5", "has 2.5 values: must be a whole number"),
            ("1..2:lin:99999999999", "must be a whole number from 2 to 10000"),
            ("1..2:step:0", "has steps of 0: must be positive"),
            ("1..2:step:-1", "must be positive"),
            ("10..20:step:3", "does not end at 20: in steps of 3 from 10 it ends at 19"),
            ("20..10:step:3", "does not end at 10: in steps of 3 from 20 it ends at 11"),
            ("10..20:step:30", "does not end at 20"),
            ("0..1:step:1e-9", "has more than 10000 values"),
            ("10 ms..20 ms:step:1 packet", "goes from 10 ms in steps of 1 packet: a time and packets"),
            ("-1e308..1e308:lin:3", "too far apart"),
            ("1e-300..1e300:log:3", "too far apart"),
        ] {
            let e = expand(range).unwrap_err();
            assert!(e.contains(want), "{range}: {e}");
        }
    }

    #[test]
    fn a_range_has_no_more_values_than_a_sweep_has_points() {
        for (most, more) in [("1..10000:step:1", "0..10000:step:1"), ("0..1:lin:10000", "0..1:lin:10001")] {
            assert_eq!(expand(most).unwrap().len(), POINTS);
            assert!(expand(more).unwrap_err().contains("10000"), "{more}");
        }
    }

    #[test]
    fn a_unit_of_the_last_value_is_that_of_all() {
        let shared = |values: &[Value]| share_unit(values);
        let text = |s: &str| Value::String(s.to_string());
        let (n, x) = (Value::Integer(40), Value::Float(0.5));
        assert_eq!(
            shared(&[n.clone(), x, text("2 packets")]),
            Some(vec![text("40 packets"), text("0.5 packets"), text("2 packets")])
        );
        assert_eq!(shared(&[n.clone(), text("10 Mbit/s")]), Some(vec![text("40 Mbit/s"), text("10 Mbit/s")]));
        for last in ["link-rate", "packets", "2 * a.b", "2 - 1", ""] {
            assert_eq!(shared(&[n.clone(), text(last)]), None, "{last}");
        }
        assert_eq!(shared(&[text("40"), text("2 packets")]), None);
        assert_eq!(shared(&[n.clone(), n]), None);
    }

    #[test]
    fn a_range_is_known_by_its_form() {
        for text in ["1..2:lin:3", "a..b:log:x", "5 ms..50 ms : step : 5 ms"] {
            assert!(looks_like_one(text), "{text}");
        }
        for text in ["1..2", "a:b", "..", "12:lin:3", "x..y:z"] {
            assert!(!looks_like_one(text), "{text}");
        }
    }

    fn amounts(range: &str) -> Vec<f64> {
        let values = expand(range).unwrap_or_else(|e| panic!("{range}: {e}"));
        let of = |v: Value| match v {
            Value::String(s) => Amount::read(&s).unwrap().value,
            Value::Integer(n) => n as f64,
            Value::Float(x) => x,
            other => panic!("{other:?}"),
        };
        values.into_iter().map(of).collect()
    }

    proptest! {
        #[test]
        fn ranges_have_their_count_and_ends_and_are_monotone(
            a in 1e-6..1e6_f64, b in 1e-6..1e6_f64, n in 2..200usize, log: bool, packets: bool,
        ) {
            prop_assume!((a - b).abs() > 1e-3 * a.max(b));
            let kind = if log { "log" } else { "lin" };
            let unit = if packets { " packets" } else { "" };
            let values = amounts(&format!("{a}{unit}..{b}{unit}:{kind}:{n}"));
            prop_assert_eq!(values.len(), n);
            prop_assert_eq!((values[0], values[n - 1]), (a, b));
            prop_assert!(values.windows(2).all(|w| if a < b { w[0] < w[1] } else { w[0] > w[1] }), "{:?}", values);
            for (i, x) in values.iter().enumerate() {
                let t = i as f64 / (n - 1) as f64;
                let exact = if log { a * (b / a).powf(t) } else { a + (b - a) * t };
                // What rounding may move is little against the distance to the next value.
                let gap = if log {
                    (exact * ((b / a).powf(1.0 / (n - 1) as f64) - 1.0)).abs()
                } else {
                    (b - a).abs() / (n - 1) as f64
                };
                prop_assert!((x - exact).abs() <= 0.01 * gap, "{x} {exact} {gap}");
            }
        }

        #[test]
        fn steps_reach_the_end(from in -1000..1000i32, step in 1..50i32, n in 1..100i32) {
            let values = amounts(&format!("{from}..{}:step:{step}", from + n * step));
            let wanted: Vec<f64> = (0..=n).map(|i| f64::from(from + i * step)).collect();
            prop_assert_eq!(values, wanted);
        }

        #[test]
        fn no_text_breaks_it(text in "[0-9.:a-z -]{0,30}", any in ".{0,40}") {
            let _ = (expand(&text), expand(&any), looks_like_one(&any));
        }
    }
}
