//! Flent's data files: one object of JSON, compressed by gzip, with series over common times and what was measured
//! about the test ("The Data File Format" of Flent's documentation).

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::Path;

use flate2::{Compression, GzBuilder};
use quell_files::Limit;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use crate::failure::Failure;

/// The version of the format that is written, and the last one that is read.
pub const VERSION: u64 = 4;

const LIMIT: Limit = Limit::of_data("a Flent data file");

/// The largest measurement, in Mbit/s or milliseconds: what is above comes from a damaged file.
const MOST: f64 = 1e6;
const RANGE: &str = "must be from 0 to 1000000 Mbit/s or ms";

/// The unit of TCP's series.
pub const MEGABITS: &str = "Mbits/s";

/// A data file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DataFile {
    /// The version of its format; files of the first one do not say.
    #[serde(default = "first", deserialize_with = "version")]
    pub version: u64,
    /// The times of the samples, in seconds from the beginning of the test.
    pub x_values: Vec<f64>,
    /// The series by name, a value or none for each time.
    pub results: BTreeMap<String, Vec<Option<f64>>>,
    /// The measurements of which series were interpolated.
    #[serde(default)]
    pub raw_values: BTreeMap<String, Vec<Raw>>,
    /// The facts about the test.
    pub metadata: Map<String, Value>,
}

fn first() -> u64 {
    1
}

/// Takes a version, which some files have as a text.
fn version<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
    let found = Value::deserialize(from)?;
    let number = found.as_u64().or_else(|| found.as_str()?.trim().parse().ok());
    number.ok_or_else(|| {
        serde::de::Error::custom(format!("{} is not a version", quell_units::text::cut(&found.to_string())))
    })
}

/// The words that Python writes as if JSON had them, longest first.
const NOT_NUMBERS: [&[u8]; 3] = [b"-Infinity", b"Infinity", b"NaN"];

/// JSON that has null for what is not a number; `None` if there is nothing of the kind.
fn with_nulls(json: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(json.len());
    let (mut rest, mut is_text, mut found) = (json, false, false);
    while let Some((&byte, after)) = rest.split_first() {
        let word = NOT_NUMBERS.into_iter().find(|word| !is_text && rest.starts_with(word));
        if let Some(word) = word {
            out.extend(b"null");
            rest = &rest[word.len()..];
            found = true;
            continue;
        }
        out.push(byte);
        rest = after;
        match (byte, after.split_first()) {
            (b'"', _) => is_text = !is_text,
            // What follows a backslash does not end the text.
            (b'\\', Some((&escaped, after))) if is_text => {
                out.push(escaped);
                rest = after;
            }
            _ => {}
        }
    }
    found.then_some(out)
}

/// One measurement.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Raw {
    /// Its time in seconds since 1970.
    #[serde(default, deserialize_with = "number")]
    pub t: Option<f64>,
    /// Its value, in the unit of the series from version 4 on.
    #[serde(default, deserialize_with = "number")]
    pub val: Option<f64>,
    /// The time before `t` over which the value is the mean, in seconds: that of a report of netperf.
    #[serde(default, deserialize_with = "number", skip_serializing_if = "Option::is_none")]
    pub dur: Option<f64>,
}

impl Raw {
    /// The beginning, the end and the mean of an interval, if it is the report of one.
    pub fn interval(&self) -> Option<(f64, f64, f64)> {
        let (t, dur, val) = (self.t?, self.dur?, self.val?);
        (dur > 0.0).then_some((t - dur, t, val))
    }
}

/// Takes a number, and nothing of what else a measurement may be.
fn number<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    Ok(Value::deserialize(from)?.as_f64())
}

/// The quantity that a series measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The goodput of one TCP connection towards the host that runs Flent.
    Download,
    /// The goodput of one TCP connection from there.
    Upload,
    /// The round-trip times of small packets.
    Ping,
    /// Averages and sums of other series.
    Computed,
    /// Anything else.
    Other,
}

impl Role {
    /// The role of the series of this name.
    pub fn of(name: &str) -> Role {
        let ends = [" avg", " sum", " fairness", " total", " totals"].iter().any(|end| name.ends_with(end));
        let begins = |with: &str| name.starts_with(with);
        match name {
            _ if ends => Role::Computed,
            // What the kernel said of a connection, such as its window.
            _ if name.contains("::tcp_") => Role::Other,
            _ if begins("TCP download") => Role::Download,
            _ if begins("TCP upload") => Role::Upload,
            _ if begins("Ping (ms)") => Role::Ping,
            _ => Role::Other,
        }
    }
}

/// What begins the names of series that are not read.
const KINDS: [&str; 16] = [
    "cpu_stats",
    "cpu_stressor",
    "qdisc_stats",
    "wifi_stats",
    "netstat",
    "VoIP",
    "HTTP",
    "DASH",
    "Dash",
    "MQTT",
    "UDP",
    "TCP",
    "SCTP",
    "Burst",
    "Ping",
    "Command",
];

/// The kind of a series: its name as far as it cannot name a host, since results are published.
pub fn kind(name: &str) -> &'static str {
    let is = |kind: &&str| name.get(..kind.len()).is_some_and(|begins| begins.eq_ignore_ascii_case(kind));
    KINDS.into_iter().find(is).unwrap_or("others")
}

impl DataFile {
    /// Reads a file, compressed or not.
    ///
    /// # Errors
    /// Names the file and what is wrong in it.
    pub fn read(path: &Path) -> Result<DataFile, Failure> {
        let said = quell_files::name(path);
        let read = quell_files::open_within(path, LIMIT).and_then(quell_files::unpacked);
        let bytes = read.and_then(|input| quell_files::read_all(input, LIMIT));
        let bytes = bytes.map_err(|e| bad_input!("{said}: {e}"))?;
        DataFile::of(&bytes).map_err(|why| bad_input!("{said}: {why}"))
    }

    /// Takes a file's JSON.
    ///
    /// # Errors
    /// Says what is wrong in it.
    pub fn of(json: &[u8]) -> Result<DataFile, String> {
        let mut file = DataFile::parse(json).or_else(|why| match with_nulls(json) {
            Some(json) => DataFile::parse(&json),
            None => Err(why),
        })?;
        file.take_early_raw_values();
        file.check()?;
        Ok(file)
    }

    fn parse(json: &[u8]) -> Result<DataFile, String> {
        let mut text = serde_json::Deserializer::from_slice(json);
        let file: DataFile = serde_path_to_error::deserialize(&mut text).map_err(|e| {
            let key = match e.path().to_string() {
                path if path == "." => String::new(),
                path => format!("{}: ", quell_units::text::cut(&path)),
            };
            format!(
                "is not a Flent data file (.flent.gz): {key}{}; must be JSON with x_values, results and metadata, as Flent \
                 writes it",
                e.inner()
            )
        })?;
        text.end().map_err(|e| format!("has something after its JSON: {e}; must be one object"))?;
        Ok(file)
    }

    /// Moves the measurements to their place that the first version kept among the facts about the series.
    fn take_early_raw_values(&mut self) {
        let about = self.metadata.get("SERIES_META").and_then(Value::as_object);
        let Some(about) = about.filter(|_| self.raw_values.is_empty()) else { return };
        let of = |about: &Value| Vec::<Raw>::deserialize(about.get("RAW_VALUES")?).ok();
        self.raw_values = about.iter().filter_map(|(name, about)| Some((name.clone(), of(about)?))).collect();
    }

    fn check(&self) -> Result<(), String> {
        if self.version > VERSION {
            return Err(format!(
                "version = {}: must be at most {VERSION}; this Quell reads versions 1 to {VERSION}",
                self.version
            ));
        }
        if self.x_values.len() < 2 {
            return Err(format!(
                "x_values has {} times: must have at least two; the test was cut short",
                self.x_values.len()
            ));
        }
        if let Some(i) = self.x_values.windows(2).position(|pair| pair[1] <= pair[0]) {
            let (before, after) = (self.x_values[i], self.x_values[i + 1]);
            return Err(format!(
                "x_values[{}] = {after}: must be later than the time before it, {before}",
                i + 1
            ));
        }
        let times = self.x_values.len();
        if let Some((name, values)) = self.results.iter().find(|(_, values)| values.len() != times) {
            let (name, n) = (quell_units::text::cut(name), values.len());
            return Err(format!(
                "results.\"{name}\" has {n} values: must have one for each of the {times} in x_values"
            ));
        }
        let measured = |name: &str| matches!(Role::of(name), Role::Download | Role::Upload | Role::Ping);
        for (name, values) in self.results.iter().filter(|(name, _)| measured(name)) {
            if let Some(value) = values.iter().flatten().find(|value| !(0.0..=MOST).contains(*value)) {
                return Err(format!(
                    "results.\"{}\" has {}: {RANGE}",
                    quell_units::text::cut(name),
                    Value::from(*value)
                ));
            }
        }
        for (name, values) in self.raw_values.iter().filter(|(name, _)| measured(name)) {
            // A ping may be negative where the clock was set; it is left out.
            let least = if Role::of(name) == Role::Ping { f64::NEG_INFINITY } else { 0.0 };
            let found = values.iter().filter_map(|raw| raw.val.as_ref());
            if let Some(value) = found.into_iter().find(|value| !(least..=MOST).contains(*value)) {
                return Err(format!(
                    "raw_values.\"{}\" has {}: {RANGE}",
                    quell_units::text::cut(name),
                    Value::from(*value)
                ));
            }
        }
        self.name()?;
        self.length_s().map(drop)
    }

    /// The name of the test, such as rrul.
    ///
    /// # Errors
    /// If there is none.
    pub fn name(&self) -> Result<&str, String> {
        self.text("NAME")
            .ok_or_else(|| "metadata has no NAME: must be the name of a test, such as \"rrul\"".into())
    }

    /// The time for which the test sent.
    ///
    /// # Errors
    /// If it is not said.
    pub fn length_s(&self) -> Result<f64, String> {
        let found = self.metadata.get("LENGTH");
        let length = found.and_then(Value::as_f64).filter(|length| (0.1..=1e6).contains(length));
        length.ok_or_else(|| {
            let found = found.map_or("absent".into(), |value| quell_units::text::cut(&value.to_string()));
            format!("metadata.LENGTH is {found}: must be a number of seconds from 0.1 to 1000000")
        })
    }

    /// The time between two samples, in seconds.
    pub fn step_s(&self) -> f64 {
        let said = self.metadata.get("STEP_SIZE").and_then(Value::as_f64);
        said.filter(|step| (1e-3..=1e3).contains(step)).unwrap_or(self.x_values[1] - self.x_values[0])
    }

    /// The point in time from which the x_values count, in seconds since 1970: T0, or the first measurement if no T0 is
    /// said.
    pub fn zero_s(&self) -> Option<f64> {
        let mut all: Vec<f64> = self.raw_values.values().flatten().filter_map(|raw| raw.t).collect();
        all.sort_by(f64::total_cmp);
        // A damaged time must not become the first one.
        let from = all.get(all.len() / 2)? - (self.x_values[self.x_values.len() - 1] + 60.0);
        let first = *all.iter().find(|t| **t >= from)?;
        let Some(said) = self.text("T0") else { return Some(first) };
        let Ok(at) = humantime::parse_rfc3339_weak(said) else { return Some(first) };
        let t0 = at.duration_since(std::time::UNIX_EPOCH).ok()?.as_secs_f64();
        // Early files have the time of a place, which is a multiple of a quarter of an hour away.
        const QUARTER: f64 = 900.0;
        Some(if said.ends_with('Z') { t0 } else { t0 + ((first - t0) / QUARTER).round() * QUARTER })
    }

    /// A text of the metadata.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.metadata.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// The unit of a series, if the file says it.
    pub fn unit(&self, series: &str) -> Option<&str> {
        self.about(series, "UNITS")
    }

    /// A fact about a series, if the file says it.
    pub fn about(&self, series: &str, key: &str) -> Option<&str> {
        self.metadata.get("SERIES_META")?.get(series)?.get(key)?.as_str()
    }

    /// The DSCP of a connection's data, if the file says what its sockets had.
    pub fn dscp(&self, series: &str, role: Role) -> Option<u8> {
        let about = self.metadata.get("SERIES_META")?.get(series)?;
        // A number that is not a byte, such as netperf's -1, says nothing. Early Flent has texts such as "0x20".
        let byte = |key: &str| match about.get(key)? {
            Value::String(text) => match text.strip_prefix("0x") {
                Some(digits) => u8::from_str_radix(digits, 16).ok(),
                None => text.parse().ok(),
            },
            value => u8::try_from(value.as_u64()?).ok(),
        };
        // Later Flent says itself which way the data went, which --swap-up-down turns around.
        let by_role = if role == Role::Upload { "UPSTREAM_TOS" } else { "DOWNSTREAM_TOS" };
        // RFC 3168 section 5: ECN has the last two bits.
        byte("DATA_TOS").or_else(|| byte(by_role)).map(|tos| tos >> 2)
    }

    /// The word of the title that follows `key:`, as in "qdisc:codel rep:01", which is how batches of Flent name tests.
    pub fn titled(&self, key: &str) -> Option<&str> {
        let words = self.text("TITLE")?.split_whitespace();
        words.filter_map(|word| word.strip_prefix(key)?.strip_prefix(':')).find(|word| !word.is_empty())
    }

    /// The series of a role.
    pub fn series(&self, role: Role) -> impl Iterator<Item = (&str, &[Option<f64>])> {
        let all = self.results.iter().filter(move |(name, _)| self.role(name) == role);
        // One that stands for several has them beside it: "TCP upload BE" of "TCP upload BE::1".
        let several = |name: &str| self.results.contains_key(&format!("{name}::1"));
        all.filter(move |(name, _)| !several(name)).map(|(name, values)| (name.as_str(), values.as_slice()))
    }

    fn role(&self, name: &str) -> Role {
        const COMPUTE: [&str; 5] =
            ["AverageRunner", "SmoothAverageRunner", "SumRunner", "DiffMinRunner", "FairnessRunner"];
        match self.about(name, "RUNNER") {
            Some(runner) if COMPUTE.contains(&runner) => Role::Computed,
            _ => Role::of(name),
        }
    }

    /// Writes it as Flent does.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, to: impl Write) -> io::Result<()> {
        // Equal results give equal files: without a time of their own.
        let mut packed = GzBuilder::new().mtime(0).write(to, Compression::default());
        serde_json::to_writer(&mut packed, self)?;
        packed.finish()?.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_what_a_series_is() {
        let roles = [
            ("TCP download BE::1", Role::Download),
            ("TCP upload::12", Role::Upload),
            ("TCP upload BE2::tcp_cwnd", Role::Other),
            ("TCP download sum", Role::Computed),
            ("TCP totals", Role::Computed),
            // Of tcp_upload_prio.
            ("TCP upload total", Role::Computed),
            ("Ping (ms) UDP BE1", Role::Ping),
            ("Ping (ms) avg", Role::Computed),
            ("VoIP::delay", Role::Other),
        ];
        for (name, role) in roles {
            assert_eq!(Role::of(name), role, "{name}");
        }
    }

    #[test]
    fn words_of_python_become_null_outside_of_texts() {
        let json = br#"{"NaN \" NaN": [NaN, -Infinity, 1.0, Infinity]}"#;
        let expected = br#"{"NaN \" NaN": [null, null, 1.0, null]}"#;
        assert_eq!(with_nulls(json).as_deref(), Some(&expected[..]));
        assert_eq!(with_nulls(expected), None);
    }

    fn file(metadata: Value, first: f64) -> DataFile {
        let raw = |from: f64| {
            let at = |i: i32| Raw { t: Some(from + 0.2 * f64::from(i)), val: Some(1.0), dur: None };
            (0..100).map(at).collect::<Vec<_>>()
        };
        let Value::Object(metadata) = metadata else { unreachable!() };
        DataFile {
            version: VERSION,
            x_values: (0..100).map(|i| 0.2 * f64::from(i)).collect(),
            results: BTreeMap::new(),
            raw_values: [("Ping (ms) ICMP".to_string(), raw(first)), ("TCP upload".to_string(), raw(first))]
                .into(),
            metadata,
        }
    }

    /// 2015-07-13T17:08:26.5 in Greenwich.
    const GREENWICH: f64 = 1_436_807_306.5;

    #[test]
    fn times_count_from_t0() {
        let said = |text: &str| file(serde_json::json!({ "T0": text }), GREENWICH + 0.25).zero_s();
        assert_eq!(said("2015-07-13T17:08:26.500000Z"), Some(GREENWICH));
        // Of Copenhagen, New York, Delhi and Kathmandu.
        for time in ["19:08:26.500000", "13:08:26.500000", "22:38:26.500000", "22:53:26.500000"] {
            assert_eq!(said(&format!("2015-07-13T{time}")), Some(GREENWICH), "{time}");
        }
        assert_eq!(said("yesterday"), Some(GREENWICH + 0.25));
        // One damaged time among the measurements is not the beginning.
        let mut damaged = file(serde_json::json!({}), GREENWICH);
        if let Some(raw) = damaged.raw_values.get_mut("TCP upload") {
            raw[3].t = Some(0.0);
        }
        assert_eq!(damaged.zero_s(), Some(GREENWICH));
        damaged.metadata.insert("T0".into(), "2015-07-13T19:08:26.500000".into());
        assert_eq!(damaged.zero_s(), Some(GREENWICH));
    }

    #[test]
    fn kinds_name_no_host() {
        let kinds = [
            ("cpu_stats_testbed-02::load", "cpu_stats"),
            ("qdisc_stats_10.70.2.2::dropped", "qdisc_stats"),
            ("VoIP::delay", "VoIP"),
            ("HTTP latency", "HTTP"),
            ("my-host.example", "others"),
        ];
        for (name, expected) in kinds {
            assert_eq!(kind(name), expected, "{name}");
        }
    }
}
