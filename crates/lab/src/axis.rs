//! Axes over which something varies.

use quell_units::text::cut;

/// An axis, as written: a name and two values of one unit, `rtt=20ms..500ms` or `k_p=1e-4..1e-2:log`.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The quantity or parameter.
    pub name: String,
    /// The first value, without its unit.
    pub from: f64,
    /// The last value, without its unit.
    pub to: f64,
    /// The unit of both; may be empty.
    pub unit: String,
    /// Equal factors rather than equal steps.
    pub logarithmic: bool,
}

impl std::str::FromStr for Axis {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shown = cut(text);
        let wrong = || {
            format!("\"{shown}\" must have the form NAME=FROM..TO, such as flows=10..500 or rtt=20ms..500ms")
        };
        let (name, range) = text.split_once('=').ok_or_else(wrong)?;
        if name.trim().is_empty() {
            return Err(wrong());
        }
        let (range, logarithmic) = match range.strip_suffix(":log") {
            Some(range) => (range, true),
            None => (range, false),
        };
        let (from, to) = range.split_once("..").ok_or_else(wrong)?;
        let (from, first_unit) = value(from).ok_or_else(wrong)?;
        let (to, unit) = value(to).ok_or_else(wrong)?;
        if !first_unit.is_empty() && first_unit != unit {
            return Err(format!(
                "\"{shown}\": both ends must have the same unit, not \"{}\" and \"{}\"",
                cut(&first_unit),
                cut(&unit)
            ));
        }
        if from >= to {
            return Err(format!("\"{shown}\": the first value must be smaller than the second"));
        }
        if logarithmic && from <= 0.0 {
            return Err(format!("\"{shown}\": a logarithmic axis must begin above 0"));
        }
        if !(to - from).is_finite() || (logarithmic && !(to / from).is_finite()) {
            return Err(format!("\"{shown}\": the ends are too far apart for numbers between them"));
        }
        Ok(Axis { name: name.trim().to_string(), from, to, unit, logarithmic })
    }
}

/// A number and what follows it.
fn value(text: &str) -> Option<(f64, String)> {
    let text = text.trim();
    // An exponent belongs to the number, a unit does not.
    let ends = (1..=text.len()).rev().filter(|&i| text.is_char_boundary(i));
    let (number, rest) = ends.map(|i| text.split_at(i)).find(|(n, _)| n.trim().parse::<f64>().is_ok())?;
    let number: f64 = number.trim().parse().ok()?;
    number.is_finite().then(|| (number, rest.trim().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_a_name_a_range_and_one_unit() {
        let axis = |text: &str| text.parse::<Axis>();
        let rtt = axis("rtt=20ms..500ms").unwrap();
        assert_eq!((rtt.name.as_str(), rtt.from, rtt.to, rtt.unit.as_str()), ("rtt", 20.0, 500.0, "ms"));
        let k_p = axis("k_p=1e-4..2e-2:log").unwrap();
        assert_eq!((k_p.from, k_p.to, k_p.logarithmic), (1e-4, 2e-2, true));
        assert_eq!(axis("q_ref=10..100 packets").unwrap().unit, "packets");
        for wrong in [
            "",
            "rtt",
            "rtt=1",
            "rtt=2..1",
            "rtt=1ms..2s",
            "a=0..1:log",
            "a=x..y",
            "a=1..inf",
            "a=1..1",
            "a=-1e308..1e308",
            "a=1e-300..1e300:log",
            "=1..2",
        ] {
            assert!(axis(wrong).is_err(), "{wrong}");
        }
    }
}
