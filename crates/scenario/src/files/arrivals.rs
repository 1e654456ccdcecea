//! Arrivals of packets that a file holds.

use quell_aqm::{Ecn, FlowId, Transport};
use quell_sim::network as sim;
use quell_units::text::cut;
use quell_units::{Bytes, Duration, Time};
use sha2::{Digest, Sha256};

use super::found::FoundFile;
use super::table::{Fault, lines, text};
use crate::limits;

/// The arrivals that a file holds. All points and replications that replay it share them.
#[derive(Debug)]
pub(crate) struct ArrivalsFile {
    /// Its name from where the program runs.
    pub(crate) found: String,
    /// The SHA-256 of the file, in hexadecimal.
    pub(crate) sha256: String,
    pub(crate) trace: sim::Trace,
    /// The mean size of the packets, in whole bytes.
    pub(crate) mean: Bytes,
    pub(crate) smallest: Bytes,
}

/// The columns, of which the first two must be there.
const COLUMNS: [&str; 7] = ["time_s", "bytes", "flow", "ecn", "transport", "syn", "dscp"];

const ECN: [(&str, Ecn); 4] =
    [("not-ect", Ecn::NotEct), ("ect0", Ecn::Ect0), ("ect1", Ecn::Ect1), ("ce", Ecn::Ce)];
const TRANSPORT: [(&str, Transport); 3] =
    [("tcp", Transport::Tcp), ("udp", Transport::Udp), ("other", Transport::Other)];
const SYN: [(&str, bool); 2] = [("0", false), ("1", true)];

impl ArrivalsFile {
    /// Reads CSV: a header, then a line for each packet.
    pub(super) fn parse(file: FoundFile) -> Result<ArrivalsFile, Fault> {
        let FoundFile { name: found, bytes } = file;
        let mut lines = lines(text(&bytes)?);
        let Some((number, header)) = lines.next() else {
            return Err(Fault(None, "holds no arrivals: it is empty".to_string()));
        };
        let names: Vec<&str> = header.split(',').map(str::trim).collect();
        let places = COLUMNS.map(|name| names.iter().position(|n| *n == name));
        let sound = names.iter().enumerate().all(|(i, _)| places.contains(&Some(i)));
        if !sound || places[0].is_none() || places[1].is_none() {
            let rule = format!(
                "\"{}\" must be the header of a table, such as time_s,bytes (columns: time_s and bytes, and optionally \
                 flow, ecn, transport, syn and dscp)",
                cut(header)
            );
            return Err(Fault(Some(number), rule));
        }
        let mut arrivals: Vec<sim::TraceArrival> = Vec::new();
        let mut before = Time::ZERO;
        let mut cells = Vec::with_capacity(names.len());
        for (number, line) in lines {
            cells.clear();
            cells.extend(line.split(',').map(str::trim));
            if cells.len() != names.len() {
                let (found, wanted) = (cells.len(), names.len());
                let rule = format!(
                    "has {}, but the header has {}",
                    quell_units::text::plural(found, "value"),
                    quell_units::text::plural(wanted, "column")
                );
                return Err(Fault(Some(number), rule));
            }
            let row = Row { number, cells: places.map(|place| place.map(|at| cells[at])) };
            let arrival = row.arrival()?;
            if arrival.time < before {
                return Err(row.says(0, "must not be earlier than the time before it"));
            }
            before = arrival.time;
            if arrivals.len() == limits::ARRIVALS {
                let most = limits::ARRIVALS;
                return Err(Fault(
                    Some(number),
                    format!("is one packet too many: at most {most} are allowed"),
                ));
            }
            arrivals.push(arrival);
        }
        let sizes = || arrivals.iter().map(|a| u64::from(a.bytes));
        let Some(smallest) = sizes().min() else {
            return Err(Fault(None, "holds no arrivals: nothing follows its header".to_string()));
        };
        let n = arrivals.len() as u64;
        let mean = (sizes().sum::<u64>() + n / 2) / n;
        let sha256 = format!("{:x}", Sha256::digest(&bytes));
        let trace =
            sim::Trace::new(arrivals).map_err(|(i, rule)| Fault(None, format!("packet {} {rule}", i + 1)))?;
        Ok(ArrivalsFile { found, sha256, trace, mean: Bytes::new(mean), smallest: Bytes::new(smallest) })
    }
}

/// A line, with its cells in the order of [`COLUMNS`].
struct Row<'a> {
    number: usize,
    cells: [Option<&'a str>; COLUMNS.len()],
}

impl Row<'_> {
    fn arrival(&self) -> Result<sim::TraceArrival, Fault> {
        let most = limits::SECONDS as f64;
        let seconds = self.cells[0].unwrap_or_default();
        let number = seconds.parse::<f64>().map_err(|_| self.says(0, "is not a number"))?;
        if !(0.0..=most).contains(&number) {
            return Err(self.says(0, &format!("must lie between 0 and {most}")));
        }
        Ok(sim::TraceArrival {
            time: nanoseconds(seconds).unwrap_or(Time::ZERO + Duration::from_secs_f64(number)),
            bytes: self.whole(1, 1, u16::MAX.into())? as u16,
            flow: FlowId(self.whole(2, 0, u32::MAX)?),
            ecn: self.name(3, &ECN)?,
            transport: self.name(4, &TRANSPORT)?,
            syn: self.name(5, &SYN)?,
            dscp: self.whole(6, 0, 63)? as u8,
        })
    }

    /// A whole number, which is 0 where there is no such column.
    fn whole(&self, column: usize, least: u32, most: u32) -> Result<u32, Fault> {
        let Some(text) = self.cells[column] else { return Ok(0) };
        let number = text.parse().ok().filter(|n| (least..=most).contains(n));
        number.ok_or_else(|| self.says(column, &format!("must be a whole number from {least} to {most}")))
    }

    /// The meaning of a name; that of the first one where there is no such column.
    fn name<T: Copy>(&self, column: usize, names: &[(&str, T)]) -> Result<T, Fault> {
        let Some(text) = self.cells[column] else { return Ok(names[0].1) };
        names.iter().find(|(name, _)| *name == text).map(|(_, value)| *value).ok_or_else(|| {
            let names: Vec<_> = names.iter().map(|(name, _)| *name).collect();
            self.says(column, &format!("must be one of: {}", names.join(", ")))
        })
    }

    fn says(&self, column: usize, rule: &str) -> Fault {
        let text = cut(self.cells[column].unwrap_or_default());
        Fault(Some(self.number), format!("{} = \"{text}\": {rule}", COLUMNS[column]))
    }
}

/// Seconds written as digits with at most nine after the point, exactly: a double has too few digits for
/// nanoseconds of a clock that has run for months.
fn nanoseconds(text: &str) -> Option<Time> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = |s: &str| s.bytes().all(|b| b.is_ascii_digit());
    if !digits(whole) || !digits(part) || part.len() > 9 {
        return None;
    }
    let number = |s: &str| if s.is_empty() { Some(0) } else { s.parse::<u64>().ok() };
    let part = number(part)? * 10_u64.pow(9 - part.len() as u32);
    number(whole)?.checked_mul(1_000_000_000)?.checked_add(part).map(Time::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_exact() {
        for (text, ns) in [
            ("0", Some(0)),
            ("1.5", Some(1_500_000_000)),
            (".000000001", Some(1)),
            ("7.", Some(7_000_000_000)),
            ("9876543.210987654", Some(9_876_543_210_987_654)),
            ("1.0000000001", None),
            ("1e3", None),
            ("-1", None),
            ("99999999999999", None),
        ] {
            assert_eq!(nanoseconds(text), ns.map(Time::from_nanos), "{text}");
        }
    }
}
