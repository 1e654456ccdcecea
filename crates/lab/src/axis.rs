//! Axes over which something varies.

use quell_units::text::cut;
use quell_units::{BitRate, Duration, QueueSize};

/// An axis, as written: a name and two values of one unit, `rtt=20ms..500ms` or `k_p=1e-4..1e-2:log`; or a name and the
/// range of a sweep, `rtt=20..500 ms:log:9`.
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
    /// The values of a sweep's range, in rising order, the ends among them; without any, all between the ends are meant.
    pub values: Vec<f64>,
}

impl Axis {
    /// A value of the axis with its unit.
    pub fn text(&self, at: f64) -> String {
        match self.unit.is_empty() {
            true => at.to_string(),
            false => format!("{at} {}", self.unit),
        }
    }

    /// The value that a text gives, in this axis's unit; `None`: it has no such unit, or lies outside.
    pub(crate) fn read(&self, text: &str) -> Option<f64> {
        let (x, unit) = value(text)?;
        let x = match unit == self.unit {
            true => x,
            false => {
                let ((kind, theirs), (own_kind, ours)) = (measure(&unit)?, measure(&self.unit)?);
                // What two units differ by is not a digit of a value that someone wrote.
                (kind == own_kind).then(|| format!("{:.12e}", x * theirs / ours).parse().ok())??
            }
        };
        (self.from <= x && x <= self.to).then_some(x)
    }

    /// How many packets or bytes the unit is, if the axis has whole ones only: if it counts these, and no end has a part
    /// of one. `None` for all other axes, and for those whose values are a list.
    pub fn whole_per_unit(&self) -> Option<f64> {
        let (kind, per_unit) = measure(&self.unit).filter(|_| self.values.is_empty())?;
        let is_whole = |x: f64| (x * per_unit).fract() == 0.0;
        (matches!(kind, Kind::Packets | Kind::Bytes) && is_whole(self.from) && is_whole(self.to))
            .then_some(per_unit)
    }
}

impl std::str::FromStr for Axis {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let shown = cut(text);
        let wrong = || {
            format!(
                "\"{shown}\" must have the form NAME=FROM..TO, such as flows=10..500, rtt=20ms..500ms or \
                 max_p=0.01..0.5:log, or that of a sweep's range, such as flows=10..500:log:9"
            )
        };
        let (name, range) = text.split_once('=').ok_or_else(wrong)?;
        if name.trim().is_empty() {
            return Err(wrong());
        }
        if let Some(found) = quell_scenario::range(range) {
            let (mut values, unit) = found.map_err(|why| format!("\"{shown}\": {why}"))?;
            values.sort_by(f64::total_cmp);
            let (from, to) = (values[0], values[values.len() - 1]);
            let logarithmic = range.contains(":log");
            return Ok(Axis { name: name.trim().to_string(), from, to, unit, logarithmic, values });
        }
        let (range, logarithmic) = match (range.strip_suffix(":log"), range.strip_suffix(":lin")) {
            (Some(range), _) => (range, true),
            (None, linear) => (linear.unwrap_or(range), false),
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
        if unit.contains(':') {
            return Err(wrong());
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
        Ok(Axis { name: name.trim().to_string(), from, to, unit, logarithmic, values: Vec::new() })
    }
}

/// What a unit measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Time,
    Rate,
    Packets,
    Bytes,
}

/// What a unit measures, and how many nanoseconds, bit/s, packets or bytes it is.
fn measure(unit: &str) -> Option<(Kind, f64)> {
    let one = format!("1 {unit}");
    if let Ok(time) = one.parse::<Duration>() {
        return Some((Kind::Time, time.nanos() as f64));
    }
    if let Ok(rate) = one.parse::<BitRate>() {
        return Some((Kind::Rate, rate.bps() as f64));
    }
    Some(match one.parse().ok()? {
        QueueSize::Packets(packets) => (Kind::Packets, packets),
        QueueSize::Bytes(bytes) => (Kind::Bytes, bytes),
    })
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
    fn a_value_is_read_in_the_unit_of_the_axis() {
        let read = |axis: &str, text: &str| axis.parse::<Axis>().unwrap().read(text);
        assert_eq!(read("rtt=1..100 ms", "0.06 s"), Some(60.0));
        assert_eq!(read("target=500..9000 us", "5 ms"), Some(5000.0));
        assert_eq!(read("rate=1..20 Mbit/s", "300 kbit/s"), None);
        assert_eq!(read("rate=0.1..20 Mbit/s", "300 kbit/s"), Some(0.3));
        assert_eq!(read("buffer=1..300 kB", "1500 B"), Some(1.5));
        assert_eq!(read("buffer=1..300 kB", "20 packets"), None);
        assert_eq!(read("p=0..1", "0.1"), Some(0.1));
        assert_eq!(read("p=0..1", "10 ms"), None);
    }

    #[test]
    fn packets_and_bytes_are_whole_unless_an_end_is_not() {
        let whole = |axis: &str| axis.parse::<Axis>().unwrap().whole_per_unit();
        assert_eq!(whole("th=5..40 packets"), Some(1.0));
        assert_eq!(whole("th=1500..40000 B"), Some(1.0));
        assert_eq!(whole("th=1.5..40 kB"), Some(1000.0));
        for other in
            ["th=0.5..40 packets", "th=5..40 packets:step:1", "rtt=5..40 ms", "p=0..1", "r=1..2 Mbit/s"]
        {
            assert_eq!(whole(other), None, "{other}");
        }
    }

    #[test]
    fn an_axis_has_a_name_a_range_and_one_unit() {
        let axis = |text: &str| text.parse::<Axis>();
        let rtt = axis("rtt=20ms..500ms").unwrap();
        assert_eq!((rtt.name.as_str(), rtt.from, rtt.to, rtt.unit.as_str()), ("rtt", 20.0, 500.0, "ms"));
        let k_p = axis("k_p=1e-4..2e-2:log").unwrap();
        assert_eq!((k_p.from, k_p.to, k_p.logarithmic), (1e-4, 2e-2, true));
        assert_eq!(axis("q_ref=10..100 packets").unwrap().unit, "packets");
        let rtt = axis("rtt=500..20 ms:log:3").unwrap();
        assert_eq!((rtt.from, rtt.to, rtt.unit.as_str(), rtt.logarithmic), (20.0, 500.0, "ms", true));
        assert_eq!(rtt.values, [20.0, 100.0, 500.0]);
        assert_eq!(axis("flows=10..20:step:5").unwrap().values, [10.0, 15.0, 20.0]);
        assert_eq!(axis("flows=10..20:lin"), axis("flows=10..20"));
        assert!(axis("flows=10..20:step:3").unwrap_err().contains("does not end at 20"));
        for wrong in [
            "flows=10..20:lin:1",
            "flows=10..20:cube",
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
