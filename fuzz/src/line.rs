//! What several targets make of bytes: a line's configuration, packets, and times between events.

use arbitrary::{Result, Unstructured};
use quell_aqm::catalog::{AqmConfig, CATALOG, Entry};
use quell_aqm::params::ParamDoc;
use serde_json::{Map, Value, json};

/// The configuration of a line, as the gateway and the C interface read it. Most can be built.
pub fn line(u: &mut Unstructured) -> Result<Map<String, Value>> {
    let entry = u.choose(CATALOG)?;
    let rate = match u.int_in_range(0..=9u8)? {
        0 => 10u64.pow(u.int_in_range(3..=11)?),
        1 => u.int_in_range(1_000..=400_000_000_000)?,
        _ => 8_000 * u64::from(u.int_in_range(1..=20_000u16)?),
    };
    let mean = u.int_in_range(20..=1_500u32)?;
    let packets = match u.int_in_range(0..=9u8)? {
        0 => 1,
        1 => u.int_in_range(1..=2_000)?,
        2..=5 => u.int_in_range(1..=20)?,
        _ => u.int_in_range(20..=200u32)?,
    };
    let buffer = match u.ratio(1, 3)? {
        true => format!("{} B", packets * mean),
        false => format!("{packets} packets"),
    };
    let mut aqm = Map::from_iter([("algorithm".to_string(), json!(entry.name))]);
    let docs = (entry.params)();
    if !docs.is_empty() {
        for _ in 0..u.int_in_range(0..=3u8)? {
            let doc = u.choose(&docs)?;
            aqm.insert(doc.name.to_string(), parameter(u, entry, doc)?);
        }
    }
    let ecn: bool = u.arbitrary()?;
    let seed: u8 = u.arbitrary()?;
    let line = json!({
        "rate": format!("{rate} bit/s"), "buffer": buffer, "mean_packet": format!("{mean} B"), "ecn": ecn, "seed": seed,
        "aqm": aqm,
    });
    match line {
        Value::Object(line) => Ok(line),
        _ => Ok(Map::new()),
    }
}

/// A value of a parameter: most are near its default, and of its kind.
fn parameter(u: &mut Unstructured, entry: &Entry, doc: &ParamDoc) -> Result<Value> {
    /// Where rules have their borders.
    const FACTORS: [f64; 12] = [0.0, -1.0, 0.1, 0.25, 0.5, 0.9, 1.0, 1.1, 2.0, 4.0, 100.0, 1e9];
    if doc.unit == "name" {
        let names = names(entry, doc);
        return Ok(names.get(usize::from(u.arbitrary::<u8>()?) % names.len().max(1)).cloned().into());
    }
    let (number, unit) = doc.default.split_once(' ').unwrap_or((&doc.default, ""));
    let factor = match u.ratio(1, 4)? {
        true => f64::from(u.arbitrary::<u16>()?) / 256.0,
        false => *u.choose(&FACTORS)?,
    };
    let size = ["auto", "1 packets", "20 packets", "1500 B", "0.5 packets", "30 kB"];
    Ok(match (number.parse::<f64>(), doc.default.as_str()) {
        (_, "true" | "false") => json!(u.arbitrary::<bool>()?),
        (Ok(default), _) => {
            let value = if default == 0.0 { factor } else { default * factor };
            match unit {
                // Counts are whole; a fraction is refused where it must be.
                "" if value.fract() == 0.0 && value.abs() < 1e15 => json!(value as i64),
                "" => json!(value),
                unit => json!(format!("{value} {unit}")),
            }
        }
        (Err(_), _) => match doc.unit {
            "packets" | "bytes" | "packets or bytes" => json!(u.choose(&size)?),
            "s" => json!(format!("{factor} ms")),
            _ => json!(factor),
        },
    })
}

/// The names that a parameter takes, as its error lists them.
fn names(entry: &Entry, doc: &ParamDoc) -> Vec<String> {
    let wrong = json!({ doc.name: "?" });
    match AqmConfig::deserialize_named(entry.name, wrong) {
        Some(Err(e)) => e.to_string().split('`').skip(3).step_by(2).map(str::to_string).collect(),
        _ => Vec::new(),
    }
}

/// A packet's header.
#[derive(Clone, Copy, Debug)]
pub struct Header {
    pub bytes: u16,
    pub flow: u32,
    /// The field's two bits.
    pub ecn: u8,
    pub protocol: u8,
    pub dscp: u8,
    pub syn: bool,
    /// Those between which it travels; the C interface knows none.
    #[allow(dead_code)]
    pub hosts: (u16, u16),
}

/// A header of at least 20 bytes. Most are of few flows: queues of their own form only if packets share them.
pub fn header(u: &mut Unstructured) -> Result<Header> {
    let [kind, flow, ecn, more] = u.arbitrary::<[u8; 4]>()?;
    let bytes = match kind % 8 {
        0 => u.int_in_range(20..=u16::MAX)?,
        1 => 40,
        2 => 1500,
        _ => 20 + 6 * u16::from(kind),
    };
    let flow = match flow {
        255 => u.arbitrary()?,
        flow => u32::from(flow % 16),
    };
    let plain = more & 1 == 0;
    Ok(Header {
        bytes,
        flow,
        ecn: ecn & 3,
        protocol: if plain { 6 } else { [6, 17, 1, more][usize::from(more >> 1 & 3)] },
        dscp: if plain { 0 } else { ecn >> 2 },
        syn: more & 14 == 14,
        hosts: if plain { (0, 0) } else { (u16::from(more >> 4), u16::from(more >> 6)) },
    })
}

/// The time to the next event in nanoseconds, where a mean packet takes `packet`. What updates do not take too long for,
/// the next of which is in `update`.
pub fn gap(u: &mut Unstructured, packet: u64, update: Option<u64>) -> Result<u64> {
    let [kind, n] = u.arbitrary::<[u8; 2]>()?;
    let n = u64::from(n);
    let gap = match kind % 16 {
        0 | 1 => 0,
        2 => n,
        3..=9 => packet.saturating_mul(n) / 256,
        10..=12 => packet.saturating_mul(n) / 16,
        13 => n * 1_000_000,
        14 => n * n * 10_000,
        _ => n * 50_000_000,
    };
    let longest = update.map_or(u64::MAX, |update| update.saturating_mul(1000).max(1_000_000));
    Ok(gap.min(longest).min(20_000_000_000))
}
