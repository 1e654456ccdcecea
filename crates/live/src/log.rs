//! The results of a log: its arrivals go through the simulator.

use std::collections::HashMap;
use std::io::BufReader;
use std::path::Path;

use quell_gateway::traffic::address;
use quell_gateway::{ARRIVAL_COLUMNS, Event, LogReader, write_arrival};
use quell_lab::{Options, PointInfo, Results};
use quell_scenario::{Document, Files, FoundFile, Plugins};
use toml::{Table, Value};

use crate::hosts::{HostView, Sources};
use crate::job::{Job, LiveError};

/// The arrivals of a log.
struct Arrivals {
    /// One file for each group, and one for what comes back to flows of the other direction.
    files: Vec<Vec<u8>>,
    /// Packets that each flow sent after the warm-up.
    sent: Vec<u64>,
}

impl Job<'_> {
    /// The results of its log, with what the hosts saw.
    pub fn results(&self, log: &Path, view: &HostView) -> Result<Results, LiveError> {
        let cannot =
            |e: &dyn std::fmt::Display| LiveError::Failed(format!("{}: {e}", quell_files::name(log)));
        let Arrivals { files, sent } = self.arrivals(log, &view.sources, cannot)?;
        let mut names = view.sources.names.clone();
        names.push("others".into());
        let table = self.scenario(&view.sources, names.iter().zip(&files), cannot)?;
        let by_name: HashMap<String, Vec<u8>> = names.into_iter().zip(files).collect();
        let files = Files::new(move |name| match by_name.get(name) {
            Some(bytes) => Ok(FoundFile { name: name.to_string(), bytes: bytes.clone() }),
            // Changes of links, which are named as they are found from here.
            None => quell_lab::files_in(Path::new("")).read(name),
        });
        let document = Document::from_table(&table, &log.display().to_string())?;
        let study = document.among(files).study(&Plugins::new())?;
        let options = Options { threads: Some(1), ..Options::default() };
        let mut results = quell_lab::run(&study, &options).map_err(LiveError::failed)?;
        for replication in &mut results.replications {
            view.put(replication, &sent);
        }
        Ok(results)
    }

    /// Reads the arrivals of a log.
    fn arrivals(
        &self,
        log: &Path,
        sources: &Sources,
        cannot: impl Fn(&dyn std::fmt::Display) -> LiveError,
    ) -> Result<Arrivals, LiveError> {
        let file = quell_files::open(log).map_err(|e| cannot(&e))?;
        let mut reader = LogReader::new(BufReader::with_capacity(1 << 20, file)).map_err(|e| cannot(&e))?;
        let others = sources.names.len();
        let mut files = vec![header(); others + 1];
        let mut sent = vec![0u64; sources.flows.len()];
        let (warm, end) = (self.warm(), self.end());
        while let Some(entry) = reader.next_entry().map_err(|e| cannot(&e))? {
            let Event::Arrived { packet, .. } = entry.event else { continue };
            if entry.line != 0 || entry.time >= end {
                continue;
            }
            let group = sources.group(packet.delay).unwrap_or(others);
            if let Some(count) = sent.get_mut(usize::from(packet.delay.wrapping_sub(address(0))))
                && entry.time >= warm
                && group != others
            {
                *count += 1;
            }
            write_arrival(&mut files[group], entry.time, &packet).map_err(|e| cannot(&e))?;
        }
        Ok(Arrivals { files, sent })
    }

    /// The scenario with arrivals in the place of its flows, for its one algorithm and seed.
    fn scenario<'f>(
        &self,
        sources: &Sources,
        files: impl Iterator<Item = (&'f String, &'f Vec<u8>)>,
        cannot: impl Fn(&dyn std::fmt::Display) -> LiveError,
    ) -> Result<Table, LiveError> {
        let empty = header().len();
        let groups: Vec<Value> = files
            .filter(|(_, bytes)| bytes.len() > empty)
            .map(|(name, _)| {
                let mut group = Table::new();
                for (key, value) in [("kind", "trace"), ("name", name), ("file", name)] {
                    group.insert(key.into(), value.into());
                }
                let members = &sources.flows;
                let member = members.iter().position(|f| sources.names[usize::from(f.fact.group)] == *name);
                if let Some(member) = member {
                    group.insert("class".into(), sources.class(member).into());
                }
                Value::Table(group)
            })
            .collect();
        if groups.is_empty() {
            return Err(cannot(&"no packet reached the bottleneck"));
        }
        let text = PointInfo::of(self.point).scenario;
        let mut table: Table = text.parse().map_err(|e| cannot(&e))?;
        table.insert("flows".into(), Value::Array(groups));
        table.insert("mean_packet".into(), sources.mean_packet.to_string().into());
        table.insert("seeds".into(), Value::Array(vec![Value::Integer(self.seed as i64)]));
        if let Some(Value::Array(all)) = table.remove("aqm") {
            table.insert("aqm".into(), Value::Array(all.into_iter().skip(self.aqm).take(1).collect()));
        }
        Ok(table)
    }
}

fn header() -> Vec<u8> {
    format!("{ARRIVAL_COLUMNS}\n").into_bytes()
}
