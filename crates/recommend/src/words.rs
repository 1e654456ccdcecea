//! Figures in sentences.

use quell_units::text::{duration, three_digits};

/// A number with three digits at most, without zeros at its end.
pub(crate) fn number(x: f64) -> String {
    let text = three_digits(x);
    match text.contains('.') && !text.contains('e') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_string(),
        false => text,
    }
}

/// A time.
pub(crate) fn of_time(seconds: f64) -> String {
    // As tables have it.
    let text = duration(seconds).replace(" us", " µs");
    match text.split_once(' ') {
        Some((value, unit)) if value.contains('.') && !value.contains('e') => {
            format!("{} {unit}", value.trim_end_matches('0').trim_end_matches('.'))
        }
        _ => text,
    }
}

/// A rate.
pub(crate) fn of_rate(bps: f64) -> String {
    let (value, unit) = match bps {
        b if b >= 1e9 => (b / 1e9, "Gbit/s"),
        b if b >= 1e6 => (b / 1e6, "Mbit/s"),
        b if b >= 1e3 => (b / 1e3, "kbit/s"),
        b => (b, "bit/s"),
    };
    format!("{} {unit}", number(value))
}

/// A share.
pub(crate) fn percent(share: f64) -> String {
    format!("{}%", number(share * 100.0))
}

/// Words with commas and "and" between them.
pub(crate) fn list(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
