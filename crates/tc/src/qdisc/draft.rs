//! Settings on their way from or to an algorithm.

use quell_aqm::catalog::{self, AqmConfig};
use quell_units::{BitRate, Bytes, QueueSize};

use crate::Kernel;
use crate::settings::Settings;
use crate::values::Value;

/// A link, as far as a line of tc depends on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// Its rate, where it is known.
    pub rate: Option<BitRate>,
    /// Its buffer.
    pub buffer: QueueSize,
    /// Packets that can be marked are.
    pub ecn: bool,
    /// The mean size of packets.
    pub mean_packet: Bytes,
}

/// A qdisc's settings on their way from or to an algorithm.
pub(super) struct Draft {
    pub(super) settings: Settings,
    pub(super) notes: Vec<String>,
    pub(super) kernel: Kernel,
    /// tc printed the settings.
    pub(super) shown: bool,
}

impl Draft {
    pub(super) fn note(&mut self, text: impl Into<String>) {
        let text = text.into();
        if !self.notes.contains(&text) {
            self.notes.push(text);
        }
    }

    /// The number of packets that the setting says, or 0 where it is missing, which no default is.
    pub(super) fn packets(&self, setting: &str) -> QueueSize {
        QueueSize::Packets(self.settings.count(setting).map_or(0.0, f64::from))
    }

    /// Sets a limit in packets.
    pub(super) fn limit_packets(&mut self, link: &Link, most: u32) {
        let packets = whole_packets(link);
        if let QueueSize::Bytes(_) = link.buffer {
            self.note(format!(
                "buffer = {}: the limit counts packets, and {packets} of {} are as many bytes",
                link.buffer, link.mean_packet
            ));
        }
        self.settings.set("limit", Value::Int(i64::from(packets.min(most))));
    }

    /// Sets a whole number, and notes what rounding lost.
    pub(super) fn whole(
        &mut self,
        parameter: &str,
        setting: &'static str,
        x: f64,
        range: (i64, i64),
        unit: &str,
    ) {
        let near = libm::round(x).clamp(range.0 as f64, range.1 as f64);
        if libm::fabs(near - x) > 1e-9 * x.abs().max(1.0) {
            self.note(format!(
                "{parameter}: {setting} counts {unit}, from {} to {}: {near} of them",
                range.0, range.1
            ));
        }
        self.settings.set(setting, Value::Int(near as i64));
    }

    /// Notes the parameters that no word says: `said` are those that words say, `kernel` those that the kernel fixes,
    /// with its value.
    pub(super) fn unsaid(&mut self, config: &AqmConfig, said: &[&str], kernel: &[(&str, &str)]) {
        let changed = config.changed();
        let docs = catalog::find(config.name()).map_or(Vec::new(), |entry| (entry.params)());
        let (mut here, mut there, mut nothing) = (Vec::new(), Vec::new(), Vec::new());
        for doc in docs.iter().filter(|doc| !said.contains(&doc.name)) {
            let given = changed.iter().find(|(name, _)| *name == doc.name).map(|(_, value)| value);
            let value = given.unwrap_or(&doc.default);
            match kernel.iter().find(|(name, _)| *name == doc.name) {
                Some((_, fixed)) if fixed == value => {}
                Some((name, fixed)) => {
                    here.push(format!("{name} = {value}"));
                    there.push(format!("{name} = {fixed}"));
                }
                None => nothing.extend(given.map(|value| format!("{} = {value}", doc.name))),
            }
        }
        let qdisc = self.settings.grammar.name;
        if !here.is_empty() {
            self.note(format!(
                "no word of {qdisc}'s says {}: the kernel has {}",
                here.join(", "),
                there.join(", ")
            ));
        }
        if !nothing.is_empty() {
            self.note(format!(
                "no word of {qdisc}'s says {}: the kernel has nothing of it",
                nothing.join(", ")
            ));
        }
    }
}

/// The buffer in packets, at least one.
pub(super) fn whole_packets(link: &Link) -> u32 {
    let packets = libm::round(link.buffer.in_packets(link.mean_packet)).clamp(1.0, 1e9);
    packets as u32
}
