//! Units of printed numbers.

use crate::value::Value;

/// A unit, the unit of metrics that it is of, and how many of it one of those is.
const UNITS: &[(&str, &str, f64)] = &[
    ("1", "1", 1.0),
    ("percent", "1", 100.0),
    ("packets", "packets", 1.0),
    ("bytes", "bytes", 1.0),
    ("kB", "bytes", 1e-3),
    ("MB", "bytes", 1e-6),
    ("1e9 bytes", "bytes", 1e-9),
    ("seconds", "s", 1.0),
    ("ms", "s", 1e3),
    ("bit/s", "bit/s", 1.0),
    ("kbit/s", "bit/s", 1e-3),
    ("Mbit/s", "bit/s", 1e-6),
    ("Gbit/s", "bit/s", 1e-9),
    ("kB/s", "bit/s", 0.125e-3),
    ("MB/s", "bit/s", 0.125e-6),
    ("packets/s", "packet/s", 1.0),
    ("bit/s^2", "bit/s^2", 1.0),
];

/// The names of the units.
pub(crate) fn names() -> Vec<&'static str> {
    UNITS.iter().map(|(name, ..)| *name).collect()
}

/// A unit as figures name it: the unit of metrics that it is of, and how many of it one of those is.
pub(crate) fn shown(name: &str) -> Option<(&'static str, f64)> {
    let others = [("%", "1", 100.0), ("", "1", 1.0), ("B", "bytes", 1.0), ("s", "s", 1.0), ("µs", "s", 1e6)];
    let squares = [("bit/s²", 1.0), ("kbit/s²", 1e-3), ("Mbit/s²", 1e-6), ("Gbit/s²", 1e-9)];
    let squares = squares.map(|(name, many)| (name, "bit/s^2", many));
    let sums = [("bit", 8.0), ("kbit", 8e-3), ("Mbit", 8e-6), ("Gbit", 8e-9)];
    let sums = sums.map(|(name, many)| (name, "bytes", many));
    let all = UNITS.iter().chain(&others).chain(&squares).chain(&sums);
    all.into_iter().find(|(own, ..)| *own == name).map(|(_, of, many)| (*of, *many))
}

/// Refuses an expression that is in another unit than its number. Only what is certain is refused: a ratio or an
/// internal signal has no unit that is known here, and a factor may lead from one kind of unit to another, as from
/// bytes to packets of 500 bytes.
pub(crate) fn check(value: &Value, unit: &str) -> Result<(), String> {
    let known = UNITS.iter().find(|(name, ..)| *name == unit);
    let (Some((_, of, many)), Some(metric)) = (known, value.quantity.metric()) else { return Ok(()) };
    let is = |factor: f64| (value.factor - factor).abs() <= 1e-9 * factor;
    if *of != metric.unit() {
        let rule = format!(
            "\"{value}\": is in {}, and its printed numbers are in {unit}: write \"NUMBER * {}\", with the {unit} that \
             one of these is",
            metric.unit(),
            value.quantity
        );
        return if is(1.0) { Err(rule) } else { Ok(()) };
    }
    match UNITS.iter().find(|(_, other, factor)| other == of && is(*factor) && !is(*many)) {
        Some((other, ..)) => {
            let meant = Value { factor: *many, quantity: value.quantity.clone() };
            Err(format!(
                "\"{value}\": is in {other}, and its printed numbers are in {unit}: write \"{meant}\""
            ))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_documentation_names_every_unit() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/papers/format.md");
        let text = std::fs::read_to_string(file).unwrap();
        let all: Vec<String> = names().iter().map(|name| format!("`{name}`")).collect();
        assert!(text.contains(&format!("`unit` is one of {}", all.join(", "))), "{all:?}");
    }

    #[test]
    fn what_is_in_another_unit_is_refused() {
        let check = |value: &str, unit: &str| check(&value.parse().unwrap(), unit);
        for (value, unit) in [
            ("100 * loss_rate[data]", "percent"),
            ("0.000125 * throughput_bps", "kB/s"),
            ("2.5e-7 * throughput_bps", "1e9 bytes"),
            ("0.002 * queue_bytes", "packets"),
            ("0.5 * queue_packets", "packets"),
            ("goodput_bps[a]/goodput_bps[all]", "percent"),
            ("queue_delay_mean_s", "seconds"),
        ] {
            assert_eq!(check(value, unit), Ok(()), "{value} {unit}");
        }
        for (value, unit, why) in [
            (
                "loss_rate",
                "percent",
                "\"loss_rate\": is in 1, and its printed numbers are in percent: write \"100 * loss_rate\"",
            ),
            ("100 * loss_rate", "1", "write \"loss_rate\""),
            ("1e-3 * throughput_bps", "kB/s", "is in kbit/s"),
            (
                "queue_bytes",
                "packets",
                "is in bytes, and its printed numbers are in packets: write \"NUMBER * queue_bytes\"",
            ),
            ("queue_delay_mean_s", "ms", "write \"1000 * queue_delay_mean_s\""),
        ] {
            let error = check(value, unit).unwrap_err();
            assert!(error.contains(why), "{value} {unit}: {error}");
        }
    }
}
