//! What a wire has done, as a table.

use quell_gateway::port::pair::Pair;
use quell_gateway::wire::Report;
use quell_gateway::{LineConfig, Relay};
use quell_units::text::{duration, three_digits};

/// What the relay showed last.
#[derive(Debug, Default)]
pub struct Shown {
    /// Bytes sent by the first path.
    pub sent: u64,
}

impl Shown {
    /// Looks at the relay.
    pub fn take(&mut self, relay: &Relay<Pair>) {
        self.sent = relay.paths().first().map_or(0, |p| p.meter.sent.bytes);
    }
}

/// One line for each direction.
pub fn table(lines: &[Option<LineConfig>; 2], report: &Report) -> String {
    let mut rows = vec![
        ["", "algorithm", "rate", "sent", "delay", "P99", "dropped", "marked", "late P99"].map(String::from),
    ];
    let seconds = report.ran.as_secs_f64().max(1e-9);
    for (line, path) in lines.iter().zip(&report.paths) {
        let Some(line) = line else { continue };
        let meter = &path.meter;
        let counters = &meter.counters;
        let arrived = counters.arrived.packets.max(1) as f64;
        let dropped = counters.refused.total().packets + counters.dropped.total().packets;
        let share = |n: u64| format!("{} %", three_digits(n as f64 / arrived * 100.0));
        let quantile = |h: &hdrhistogram::Histogram<u64>| {
            if h.is_empty() { "-".into() } else { duration(h.value_at_quantile(0.99) as f64 / 1e9) }
        };
        rows.push([
            line.name.clone(),
            line.aqm.name().to_string(),
            line.rate.to_string(),
            format!("{} Mbit/s", three_digits(meter.sent.bytes as f64 * 8.0 / seconds / 1e6)),
            meter.mean_delay_s().map_or("-".into(), duration),
            quantile(&meter.delay),
            share(dropped),
            share(counters.marked.packets),
            quantile(&meter.lateness),
        ]);
    }
    let rows: Vec<Vec<String>> = rows.into_iter().map(Vec::from).collect();
    let mut text = quell_gateway::commands::table(&rows);
    let c = &report.counters;
    let beside = [
        (c.refused, "packets that the receiving host did not take"),
        (c.starved, "reads put off for want of buffers"),
        (report.pauses, "pauses of the relay over a second: the machine was busy or suspended"),
    ];
    for (n, what) in beside.iter().filter(|(n, _)| *n > 0) {
        text.push_str(&format!("{n} {what}\n"));
    }
    text.trim_end().to_string()
}
