//! The fuzz target of expressions: any settings of a small scenario, and expressions whose value is known.

#![allow(clippy::result_large_err)] // Errors end a test.

use arbitrary::Unstructured;
use quell_scenario::{Document, Plugins, ScenarioError, Study};
use quell_units::{BitRate, Duration, QueueSize};

/// Bytes are lines such as `dumbbell.buffer = 0.2 * bdp`, each of which sets a field. After a zero they spell an
/// expression, which must mean what its value does; after a one, a chain of fields, each of which needs the next.
pub fn expressions(data: &[u8]) {
    match data {
        [0, rest @ ..] => made(&mut Unstructured::new(rest)).unwrap_or_default(),
        [1, low, high, ..] => chain(usize::from(u16::from_le_bytes([*low, *high])) % LONGEST_CHAIN),
        data => set(data),
    }
}

/// The fields of a chain. That chains of any length need no more stack is tested elsewhere; this one takes milliseconds.
const LONGEST_CHAIN: usize = 400;

const BASE: &str = r#"schema = 1
duration = "60 s"
aqm = [{ algorithm = "red", max_p = 0.1 }]
flows = [{ name = "ftp", count = 5, rtt = "80 ms" }]
[dumbbell]
rate = "10 Mbit/s"
delay = "10 ms"
buffer = "100 packets"
"#;

fn base() -> Document {
    Document::parse(BASE, "base.toml").expect("it is a scenario")
}

fn checked(e: &ScenarioError) {
    assert!(!e.rule.is_empty() && !e.file.is_empty(), "{e:?}");
    assert!(e.line.is_none_or(|line| line >= 1));
}

/// The runs that a document asks for, where it is a study.
fn runs(document: &Document) -> Result<Vec<String>, ScenarioError> {
    Ok(texts(&document.study(&Plugins::new()).inspect_err(checked)?))
}

fn texts(study: &Study) -> Vec<String> {
    let identity = |i| study.points[0].identity(i).map(|identity| identity.text);
    (0..).map_while(identity).collect()
}

fn set(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let mut document = base();
    for (field, value) in text.lines().filter_map(|line| line.split_once('=')) {
        if let Err(e) = document.set_text(field.trim(), value.trim()) {
            checked(&e);
        }
    }
    let Ok(study) = document.study(&Plugins::new()).inspect_err(checked) else { return };
    assert_eq!(runs(&document).ok(), Some(texts(&study)), "the same document");
    // What is written out has values in the place of expressions, and is the same runs.
    let written = study.points[0].to_toml();
    let again = Study::parse(&written, "written.toml", &Plugins::new());
    let again = again.unwrap_or_else(|e| panic!("{e}\n{written}"));
    assert_eq!(texts(&study), texts(&again), "{written}");
}

fn chain(fields: usize) {
    let mut text = BASE.replace("aqm = [{ algorithm = \"red\", max_p = 0.1 }]\n", "");
    for i in 0..fields {
        let next = i + 1;
        text +=
            &format!("[[aqm]]\nalgorithm = \"red\"\nlabel = \"a{i}\"\nmax_p = \"aqm.a{next}.max_p * 1\"\n");
    }
    text += &format!("[[aqm]]\nalgorithm = \"red\"\nlabel = \"a{fields}\"\nmax_p = 0.1\n");
    let study = Study::parse(&text, "chain.toml", &Plugins::new()).unwrap_or_else(|e| panic!("{e}"));
    let of = |i| study.points[0].identity(i).map(|identity| identity.text);
    assert_eq!((of(0), of(fields + 1)), (of(fields), None), "all have the value of the last");
}

/// The exponents of packets, bits and seconds.
type Unit = [i32; 3];

const ONE: Unit = [0; 3];
const PACKETS: Unit = [1, 0, 0];
const BITS: Unit = [0, 1, 0];
const SECONDS: Unit = [0, 0, 1];
const RATE: Unit = [0, 1, -1];

/// Fields with what they hold, and whether an expression is put there.
const FIELDS: &[(&str, f64, Unit)] = &[
    ("aqm.red.max_p", 0.1, ONE),
    ("dumbbell.buffer", 100.0, PACKETS),
    ("dumbbell.delay", 0.01, SECONDS),
    ("dumbbell.rate", 1e7, RATE),
    ("flows.ftp.count", 5.0, ONE),
    ("flows.ftp.rtt", 0.08, SECONDS),
    ("duration", 60.0, SECONDS),
    // A default.
    ("mean_packet", 8000.0, BITS),
];

/// An expression: its text, and its value if it has one.
struct Known {
    text: String,
    value: Option<(f64, Unit)>,
    needs: Vec<&'static str>,
}

fn made(u: &mut Unstructured) -> arbitrary::Result<()> {
    let Known { text, value, needs } = expression(u, 0)?;
    if text.len() > 900 {
        return Ok(());
    }
    // Parentheses make an expression of a plain number.
    let text = format!("({text})");
    let field = match value {
        Some((_, ONE)) if u.arbitrary()? => "flows.ftp.count",
        Some((_, PACKETS | BITS)) => "dumbbell.buffer",
        Some((_, SECONDS)) if u.arbitrary()? => "dumbbell.delay",
        Some((_, SECONDS)) => "flows.ftp.rtt",
        Some((_, RATE)) => "dumbbell.rate",
        _ => "aqm.red.max_p",
    };
    let of = |value: &str| {
        let mut document = base();
        document.set(field, &value.into()).expect("it is a field");
        runs(&document)
    };
    let found = of(&text);
    let plain = value.filter(|_| !needs.contains(&field)).and_then(|(value, unit)| plain(value, unit));
    match plain {
        None => assert!(found.is_err(), "{field} = {text} has no value"),
        Some(plain) => {
            let mut document = base();
            document.set_text(field, &plain).expect("it is a field");
            assert_eq!(found.ok(), runs(&document).ok(), "{field} = {text} is not {plain}");
        }
    }
    Ok(())
}

/// A value as it is written without expressions: with the digits that a double has, and not negative where it has a
/// unit.
fn plain(value: f64, unit: Unit) -> Option<String> {
    let value: f64 = format!("{value:.14e}").parse().ok()?;
    if unit == ONE {
        let whole = value.fract() == 0.0 && value.abs() <= 2f64.powi(53);
        return Some(if whole { format!("{}", value as i64) } else { format!("{value:?}") });
    }
    if value < 0.0 {
        return None;
    }
    Some(match unit {
        PACKETS => QueueSize::Packets(value).to_string(),
        BITS => QueueSize::Bytes(value / 8.0).to_string(),
        SECONDS => Duration::from_secs_f64(value).to_string(),
        RATE => BitRate::from_bps((value + 0.5) as u64).to_string(),
        _ => return None,
    })
}

fn expression(u: &mut Unstructured, depth: u32) -> arbitrary::Result<Known> {
    let kind = if depth > 5 { 0 } else { u.int_in_range(0..=11u8)? };
    Ok(match kind {
        0..=2 => number(u)?,
        3 | 4 => {
            let (name, value, unit) = *u.choose(FIELDS)?;
            Known { text: name.to_string(), value: Some((value, unit)), needs: vec![name] }
        }
        5 => {
            let inner = expression(u, depth + 1)?;
            let value = inner.value.map(|(value, unit)| (-value, unit));
            Known { text: format!("-({})", inner.text), value, ..inner }
        }
        6..=9 => {
            let (a, b) = (expression(u, depth + 1)?, expression(u, depth + 1)?);
            let value = a.value.zip(b.value).and_then(|(a, b)| operate(kind, a, b));
            let sign = ["+", "-", "*", "/"][usize::from(kind - 6)];
            Known {
                text: format!("({}) {sign} ({})", a.text, b.text),
                value,
                needs: [a.needs, b.needs].concat(),
            }
        }
        kind => {
            let mut all = Vec::new();
            for _ in 0..u.int_in_range(1..=3u8)? {
                all.push(expression(u, depth + 1)?);
            }
            let name = if kind == 11 { "round" } else { *u.choose(&["min", "max"])? };
            let values: Option<Vec<_>> = all.iter().map(|known| known.value).collect();
            let value = values.and_then(|values| call(name, &values));
            let texts: Vec<&str> = all.iter().map(|known| known.text.as_str()).collect();
            let text = format!("{name}({})", texts.join(", "));
            Known { text, value, needs: all.iter().flat_map(|known| known.needs.clone()).collect() }
        }
    })
}

fn number(u: &mut Unstructured) -> arbitrary::Result<Known> {
    let n = u32::from(u.arbitrary::<u16>()?) >> (u.arbitrary::<u8>()? % 16);
    let (value, unit, name) = *u.choose(&[
        (f64::from(n), ONE, ""),
        (f64::from(n) / 128.0, ONE, ""),
        (f64::from(n), PACKETS, " packets"),
        (f64::from(n), BITS, " kB"),
        (f64::from(n), SECONDS, " ms"),
        (f64::from(n), RATE, " kbit/s"),
    ])?;
    let text = format!("{value}{name}");
    let value = match name {
        " kB" => value * 1000.0 * 8.0,
        " ms" => Duration::from_millis(n.into()).as_secs_f64(),
        " kbit/s" => value * 1000.0,
        _ => value,
    };
    Ok(Known { text, value: Some((value, unit)), needs: Vec::new() })
}

fn operate(kind: u8, (a, of_a): (f64, Unit), (b, of_b): (f64, Unit)) -> Option<(f64, Unit)> {
    let unit = |sign: i32| [0, 1, 2].map(|i| of_a[i] + sign * of_b[i]);
    let found = match kind {
        6 if of_a == of_b => (a + b, of_a),
        7 if of_a == of_b => (a - b, of_a),
        8 => (a * b, unit(1)),
        9 if b != 0.0 => (a / b, unit(-1)),
        _ => return None,
    };
    found.0.is_finite().then_some(found)
}

fn call(name: &str, values: &[(f64, Unit)]) -> Option<(f64, Unit)> {
    let (first, unit) = values[0];
    let alike = values.iter().all(|value| value.1 == unit);
    let all = values.iter().map(|value| value.0);
    let found = match (name, values.len()) {
        _ if !alike => return None,
        ("min", _) => all.fold(first, |best, x| if x < best { x } else { best }),
        ("max", _) => all.fold(first, |best, x| if x > best { x } else { best }),
        (_, 1) if [ONE, PACKETS].contains(&unit) => first.round(),
        (_, 2) if values[1].0 > 0.0 => (first / values[1].0).round() * values[1].0,
        _ => return None,
    };
    found.is_finite().then_some((found, unit))
}
