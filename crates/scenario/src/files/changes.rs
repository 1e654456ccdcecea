//! Files with changes of a link: CSV, or a mahimahi trace.

use std::sync::Arc;

use quell_sim::network as sim;
use quell_units::text::cut;
use quell_units::{BitRate, Duration, Time};
use sha2::{Digest, Sha256};

use super::found::FoundFile;
use super::table::{Fault, lines, text};
use crate::limits;

/// The changes that a file holds. All points, replications and links that follow it share them.
#[derive(Debug)]
pub(crate) struct ChangesFile {
    /// Its name in the scenario, for errors.
    pub(crate) name: String,
    /// Its name from where the program runs.
    pub(crate) found: String,
    /// The SHA-256 of the file, in hexadecimal.
    pub(crate) sha256: String,
    /// The time for which each rate of a mahimahi trace holds.
    pub(crate) bin: Option<Duration>,
    pub(crate) rate: Arc<sim::Changes<BitRate>>,
    pub(crate) delay: Arc<sim::Changes<Duration>>,
    pub(crate) loss: Arc<sim::Changes<f64>>,
    /// The highest rate and its line.
    pub(crate) fastest: Option<(BitRate, usize)>,
}

/// The bytes of an opportunity of a mahimahi trace.
const OPPORTUNITY_BYTES: u64 = 1500;

/// The default of `bin`.
const BIN: Duration = Duration::from_millis(100);

impl ChangesFile {
    pub(super) fn parse(
        name: &str,
        file: FoundFile,
        bin: Option<Duration>,
        repeat: Option<Duration>,
    ) -> Result<ChangesFile, Fault> {
        let FoundFile { name: found, bytes } = file;
        let mut lines = lines(text(&bytes)?).peekable();
        let Some((_, first)) = lines.peek() else {
            return Err(Fault(None, "holds no changes: it is empty".to_string()));
        };
        let sha256 = format!("{:x}", Sha256::digest(&bytes));
        let mahimahi = first.bytes().all(|b| b.is_ascii_digit());
        let steps = if mahimahi { opportunities(lines, bin, repeat)? } else { table(lines, repeat)? };
        let Steps { rate, delay, loss, fastest, period } = steps;
        let bin = mahimahi.then(|| bin.unwrap_or(BIN));
        Ok(ChangesFile {
            name: cut(name),
            found,
            sha256,
            bin,
            rate: follow(rate, period),
            delay: follow(delay, period),
            loss: follow(loss, period),
            fastest,
        })
    }
}

/// Changes that come once, or over and over.
pub(crate) fn follow<T>(list: Vec<(Time, T)>, period: Option<Duration>) -> Arc<sim::Changes<T>> {
    Arc::new(match period {
        Some(period) => sim::Changes::every(period, list),
        None => sim::Changes::once(list),
    })
}

#[derive(Default)]
struct Steps {
    rate: Vec<(Time, BitRate)>,
    delay: Vec<(Time, Duration)>,
    loss: Vec<(Time, f64)>,
    fastest: Option<(BitRate, usize)>,
    period: Option<Duration>,
}

impl Steps {
    /// Remembers the rate of a line if it is the highest.
    fn see(&mut self, rate: BitRate, line: usize) {
        if self.fastest.is_none_or(|(most, _)| rate > most) {
            self.fastest = Some((rate, line));
        }
    }
}

/// Reads CSV: a header, then a line for each change.
fn table<'a>(
    mut lines: impl Iterator<Item = (usize, &'a str)>,
    repeat: Option<Duration>,
) -> Result<Steps, Fault> {
    let mut steps = Steps { period: repeat, ..Steps::default() };
    let (number, header) = lines.next().unwrap_or_default();
    let columns: Vec<&str> = header.split(',').map(str::trim).collect();
    let place = |name: &str| columns.iter().position(|c| *c == name);
    let known = ["time_s", "rate_bps", "delay_s", "loss"];
    let [time, rate, delay, loss] = known.map(place);
    let sound = columns.iter().enumerate().all(|(i, c)| known.contains(c) && place(c) == Some(i));
    let any = rate.or(delay).or(loss).is_some();
    let (true, Some(time), true) = (sound, time, any) else {
        let rule = format!(
            "\"{}\" must be the header of a table, such as time_s,rate_bps (columns: time_s, and one or more \
             of rate_bps, delay_s and loss), or the first line of a mahimahi trace, which is a whole number of milliseconds",
            cut(header)
        );
        return Err(Fault(Some(number), rule));
    };
    let mut before: Option<Time> = None;
    let mut cells = Vec::with_capacity(columns.len());
    for (number, line) in lines {
        let fault = |rule: String| Fault(Some(number), rule);
        cells.clear();
        cells.extend(line.split(',').map(str::trim));
        if cells.len() != columns.len() {
            let (found, wanted) = (cells.len(), columns.len());
            return Err(fault(format!(
                "has {}, but the header has {}",
                quell_units::text::plural(found, "value"),
                quell_units::text::plural(wanted, "column")
            )));
        }
        let cell = |column: usize, most: f64| -> Result<f64, Fault> {
            let (name, text) = (columns[column], cells[column]);
            let says = |rule: &str| fault(format!("{name} = \"{}\": {rule}", cut(text)));
            let x: f64 = text.parse().map_err(|_| says("is not a number"))?;
            let rule = || says(&format!("must lie between 0 and {most}"));
            (0.0..=most).contains(&x).then_some(x).ok_or_else(rule)
        };
        let t = Time::ZERO + Duration::from_secs_f64(cell(time, limits::SECONDS as f64)?);
        let says = |rule: &str| fault(format!("time_s = \"{}\": {rule}", cut(cells[time])));
        if before.is_some_and(|before| t <= before) {
            return Err(says("must be later than the time before it"));
        }
        if let Some(repeat) = repeat
            && t >= Time::ZERO + repeat
        {
            return Err(says(&format!("must be earlier than the end of the period (repeat = {repeat})")));
        }
        before = Some(t);
        if let Some(column) = rate {
            let bps = cell(column, limits::RATE_BPS as f64)?;
            if bps > 0.0 && bps < 1.0 {
                let text = cut(cells[column]);
                return Err(fault(format!("rate_bps = \"{text}\": must be 0 or at least 1")));
            }
            let rate = BitRate::from_bps(bps.round() as u64);
            steps.see(rate, number);
            steps.rate.push((t, rate));
        }
        if let Some(column) = delay {
            steps.delay.push((t, Duration::from_secs_f64(cell(column, limits::DELAY_SECONDS as f64)?)));
        }
        if let Some(column) = loss {
            let p = cell(column, 1.0)?;
            if p == 1.0 {
                return Err(fault(format!("loss = \"{}\": must be below 1", cut(cells[column]))));
            }
            steps.loss.push((t, p));
        }
    }
    let all = steps.rate.len().max(steps.delay.len()).max(steps.loss.len()) as u64;
    match all {
        0 => Err(Fault(None, "holds no changes: nothing follows its header".to_string())),
        n if n > limits::STEPS => Err(Fault(None, too_many(n, "use fewer"))),
        _ => Ok(steps),
    }
}

fn too_many(n: u64, help: &str) -> String {
    format!("makes {n} changes; at most {} are allowed: {help}", limits::STEPS)
}

/// Reads a mahimahi trace. Its opportunities, each for 1500 bytes at a time in milliseconds, are counted in
/// bins, and the rate of a bin is what they could carry over its length. An opportunity belongs to the bin that
/// its time ends, since the last one ends the trace, which then begins again.
fn opportunities<'a>(
    lines: impl Iterator<Item = (usize, &'a str)>,
    bin: Option<Duration>,
    repeat: Option<Duration>,
) -> Result<Steps, Fault> {
    if repeat.is_some() {
        let rule = "is a mahimahi trace, which always starts over at its end: leave out repeat";
        return Err(Fault(None, rule.to_string()));
    }
    let bin = bin.unwrap_or(BIN);
    let bin_ms = bin.nanos() / 1_000_000;
    if bin_ms == 0 || bin_ms * 1_000_000 != bin.nanos() {
        return Err(Fault(None, format!("is a mahimahi trace: bin = {bin} must be whole milliseconds")));
    }
    // How many, and the line of the last.
    let mut bins: Vec<(u64, usize)> = Vec::new();
    let mut before = 0u64;
    for (number, line) in lines {
        let fault = |rule: &str| Fault(Some(number), format!("\"{}\" {rule}", cut(line)));
        if !line.bytes().all(|b| b.is_ascii_digit()) {
            return Err(fault("is not a whole number of milliseconds, as the lines of a mahimahi trace are"));
        }
        let most = limits::SECONDS * 1000;
        let t = line.parse::<u64>().ok().filter(|t| *t <= most);
        let t = t.ok_or_else(|| fault(&format!("must be at most {most} ms")))?;
        if t < before {
            return Err(fault(&format!("is earlier than the line before it ({before})")));
        }
        before = t;
        let index = (t.max(1) - 1) / bin_ms;
        if index >= limits::STEPS {
            return Err(Fault(Some(number), too_many(index + 1, "use a longer bin")));
        }
        bins.resize(quell_units::index(index) + 1, (0, 0));
        if let Some(bin) = bins.last_mut() {
            *bin = (bin.0 + 1, number);
        }
    }
    if before == 0 {
        return Err(Fault(None, "must end later than 0 ms, because it starts over at its end".to_string()));
    }
    let mut steps = Steps { period: Some(Duration::from_millis(before)), ..Steps::default() };
    for (i, (count, line)) in (0u64..).zip(bins) {
        let from = i * bin_ms;
        let length = bin_ms.min(before - from);
        let bits = u128::from(count * OPPORTUNITY_BYTES * 8 * 1000);
        let bps = (bits + u128::from(length) / 2) / u128::from(length);
        let rate = BitRate::from_bps(u64::try_from(bps).unwrap_or(u64::MAX));
        steps.see(rate, line);
        if steps.rate.last().is_none_or(|(_, last)| *last != rate) {
            steps.rate.push((Time::from_nanos(from * 1_000_000), rate));
        }
    }
    Ok(steps)
}
