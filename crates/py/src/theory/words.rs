//! Quantities and choices as users write them.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use pyo3::prelude::*;
use pyo3::types::PyString;
use quell_theory::Input;
use quell_theory::rules::criteria::Delay;
use quell_theory::{Plant, Signal, Tcp, TheoryError};
use quell_units::{BitRate, Bytes, Duration, QueueSize};

use crate::errors;

/// One of several words.
pub fn choice<T: Copy>(name: &str, word: &str, all: &[(&str, T)]) -> PyResult<T> {
    all.iter().find(|(known, _)| *known == word).map(|(_, x)| *x).ok_or_else(|| {
        let known: Vec<String> = all.iter().map(|(known, _)| format!("\"{known}\"")).collect();
        let (last, first) = known.split_last().expect("there are words to choose from");
        let known = if first.is_empty() { last.clone() } else { format!("{} or {last}", first.join(", ")) };
        errors::argument(format!("{name} = \"{word}\": must be {known}"))
    })
}

/// The part of the delay that is kept.
pub fn plant(word: &str) -> PyResult<Plant> {
    choice("plant", word, &[("exact", Plant::Exact), ("simplified", Plant::Simplified)])
}

/// The way in which a signal reaches the senders.
pub fn signal(word: &str) -> PyResult<Signal> {
    choice("signal", word, &[("mark", Signal::Mark), ("drop", Signal::Drop)])
}

/// The input of a controller.
pub fn input(word: &str) -> PyResult<Input> {
    choice("input", word, &[("queue", Input::Queue), ("rate", Input::Rate)])
}

/// The way in which the delay enters a critical round-trip time.
pub fn delay(word: &str) -> PyResult<Delay> {
    choice("delay", word, &[("exact", Delay::Exact), ("first-order-lag", Delay::FirstOrderLag)])
}

/// The constants by which windows move.
pub fn tcp(a: f64, increase: f64) -> Result<Tcp, TheoryError> {
    positive("decrease constant a", a, "")?;
    positive("increase of the window", increase, "packets per round trip")?;
    Ok(Tcp { increase, decrease: a })
}

/// Refuses a number that is not positive and finite.
pub fn positive(name: &str, x: f64, unit: &str) -> Result<(), TheoryError> {
    if x > 0.0 && x.is_finite() {
        return Ok(());
    }
    let value = format!("{x} {unit}");
    Err(TheoryError::quantity(name, value.trim_end(), "must be positive and finite"))
}

/// A string with a unit, or a number.
fn quantity<T>(name: &str, x: &Bound<'_, PyAny>, unit: &str, of: impl Fn(f64) -> Option<T>) -> PyResult<T>
where
    T: FromStr + Debug,
    T::Err: Display,
{
    let refuse =
        |value: String, rule: String| errors::theory(x.py(), &TheoryError::quantity(name, value, rule));
    if let Ok(text) = x.cast::<PyString>() {
        let text = text.to_str()?;
        return text.parse().map_err(|e: T::Err| refuse(text.to_string(), e.to_string()));
    }
    let number: f64 = x.extract()?;
    of(number).ok_or_else(|| refuse(format!("{number} {unit}"), "must be positive and finite".into()))
}

/// A rate; numbers are in bit/s.
pub fn rate(name: &str, x: &Bound<'_, PyAny>) -> PyResult<BitRate> {
    quantity(name, x, "bit/s", |n| (0.5..1e18).contains(&n).then(|| BitRate::from_bps(n.round() as u64)))
}

/// A time; numbers are in seconds.
pub fn time(name: &str, x: &Bound<'_, PyAny>) -> PyResult<Duration> {
    quantity(name, x, "s", |n| (0.0..1e9).contains(&n).then(|| Duration::from_secs_f64(n)))
}

/// A packet; numbers are in bytes.
pub fn packet(name: &str, x: &Bound<'_, PyAny>) -> PyResult<Bytes> {
    quantity(name, x, "bytes", |n| (1.0..1e9).contains(&n).then(|| Bytes::new(n.round() as u64)))
}

/// A queue; numbers are in packets.
pub fn queue(name: &str, x: &Bound<'_, PyAny>) -> PyResult<QueueSize> {
    quantity(name, x, "packets", |n| (n > 0.0 && n.is_finite()).then_some(QueueSize::Packets(n)))
}
