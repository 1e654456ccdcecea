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
    #[serde(default = "first")]
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

/// The word that stands for a float without being a number, if the error is at one.
fn not_a_number(json: &[u8], error: &serde_json::Error) -> Option<&'static str> {
    let line = json.split(|b| *b == b'\n').nth(error.line().checked_sub(1)?)?;
    let rest = line.get(error.column().saturating_sub(2)..)?;
    let rest = &rest[..rest.len().min(16)];
    ["NaN", "Infinity"].into_iter().find(|word| rest.windows(word.len()).any(|w| w == word.as_bytes()))
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
        let mut text = serde_json::Deserializer::from_slice(json);
        let file: DataFile = serde_path_to_error::deserialize(&mut text).map_err(|e| {
            let key = match e.path().to_string() {
                path if path == "." => String::new(),
                path => format!("{}: ", quell_units::text::cut(&path)),
            };
            let found = e.inner();
            // Python writes these as if JSON had them.
            let fix = match not_a_number(json, found).filter(|_| found.is_syntax()) {
                Some(word) => format!("{word} is not a number: write null where nothing was measured"),
                None => "must be JSON with x_values, results and metadata, as Flent writes it".into(),
            };
            format!("is not a Flent data file (.flent.gz): {key}{found}; {fix}")
        })?;
        text.end().map_err(|e| format!("has something after its JSON: {e}; must be one object"))?;
        file.check()?;
        Ok(file)
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
        for (name, values) in self.raw_values.iter().filter(|(name, _)| Role::of(name) == Role::Ping) {
            if let Some(value) = values.iter().filter_map(|raw| raw.val.as_ref()).find(|value| **value > MOST)
            {
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

    /// A text of the metadata.
    pub fn text(&self, key: &str) -> Option<&str> {
        self.metadata.get(key).and_then(Value::as_str).filter(|text| !text.is_empty())
    }

    /// The unit of a series, if the file says it.
    pub fn unit(&self, series: &str) -> Option<&str> {
        self.metadata.get("SERIES_META")?.get(series)?.get("UNITS")?.as_str()
    }

    /// The word of the title that follows `key:`, as in "qdisc:codel rep:01", which is how batches of Flent name tests.
    pub fn titled(&self, key: &str) -> Option<&str> {
        let words = self.text("TITLE")?.split_whitespace();
        words.filter_map(|word| word.strip_prefix(key)?.strip_prefix(':')).find(|word| !word.is_empty())
    }

    /// The series of a role.
    pub fn series(&self, role: Role) -> impl Iterator<Item = (&str, &[Option<f64>])> {
        let all = self.results.iter().filter(move |(name, _)| Role::of(name) == role);
        // One that stands for several has them beside it: "TCP upload BE" of "TCP upload BE::1".
        let several = |name: &str| self.results.contains_key(&format!("{name}::1"));
        all.filter(move |(name, _)| !several(name)).map(|(name, values)| (name.as_str(), values.as_slice()))
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
}
