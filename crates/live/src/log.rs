//! The results of a log: its arrivals go through the simulator.

use std::collections::{BTreeMap, HashMap};
use std::io::BufReader;
use std::path::Path;

use quell_gateway::traffic::address;
use quell_gateway::{ARRIVAL_COLUMNS, Event, LogReader, write_arrival};
use quell_lab::{Options, PointInfo, Results};
use quell_scenario::{Document, Files, FoundFile, Plugins};
use quell_sim::network::Class;
use toml::{Table, Value};

use crate::hosts::{HostView, Leaves, Sources};
use crate::job::{Job, LiveError};

/// The arrivals of a log.
struct Arrivals {
    /// The files, for each group and leaf.
    files: Vec<Arriving>,
    /// Packets that each flow sent after the warm-up.
    sent: Vec<u64>,
}

/// The packets of a group that wait in one leaf.
struct Arriving {
    /// The number of the group; one more than there are for what comes back to flows of the other direction.
    group: usize,
    /// The number of the leaf; 0 where there are no classes.
    leaf: usize,
    /// The name of the group of arrivals, and of their file.
    name: String,
    bytes: Vec<u8>,
}

impl Job<'_> {
    /// The results of its log, with what the hosts saw.
    pub fn results(&self, log: &Path, view: &HostView) -> Result<Results, LiveError> {
        let cannot =
            |e: &dyn std::fmt::Display| LiveError::Failed(format!("{}: {e}", quell_files::name(log)));
        let Arrivals { files, sent } = self.arrivals(log, &view.sources, cannot)?;
        let table = self.scenario(&view.sources, &files, cannot)?;
        let by_name: HashMap<String, Vec<u8>> = files.into_iter().map(|a| (a.name, a.bytes)).collect();
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
        let mut files: BTreeMap<(usize, usize), Vec<u8>> = BTreeMap::new();
        let mut sent = vec![0u64; sources.flows.len()];
        let (warm, end) = (self.warm(), self.end());
        while let Some(entry) = reader.next_entry().map_err(|e| cannot(&e))? {
            let Event::Arrived { packet, .. } = entry.event else { continue };
            if entry.line != 0 || entry.time >= end {
                continue;
            }
            let group = sources.group(packet.tag).unwrap_or(others);
            if let Some(count) = sent.get_mut(usize::from(packet.tag.wrapping_sub(address(0))))
                && entry.time >= warm
                && group != others
            {
                *count += 1;
            }
            let leaf = sources.leaf(packet.tag, packet.header.dscp);
            let file = files.entry((group, leaf)).or_insert_with(header);
            write_arrival(file, entry.time, &packet).map_err(|e| cannot(&e))?;
        }
        // A group of the scenario may have this name.
        let mut rest = "others".to_string();
        while sources.names.contains(&rest) {
            rest.push('-');
        }
        let name = |group: usize, leaf: usize| {
            let group = sources.names.get(group).unwrap_or(&rest);
            match &sources.leaves {
                Some(_) => format!("{group}-in-leaf-{}", leaf + 1),
                None => group.to_string(),
            }
        };
        let file = |((group, leaf), bytes)| Arriving { group, leaf, name: name(group, leaf), bytes };
        let files = files.into_iter().map(file).collect();
        Ok(Arrivals { files, sent })
    }

    /// The scenario with arrivals in the place of its flows, for its one algorithm and seed.
    fn scenario(
        &self,
        sources: &Sources,
        files: &[Arriving],
        cannot: impl Fn(&dyn std::fmt::Display) -> LiveError,
    ) -> Result<Table, LiveError> {
        let groups: Vec<Value> = files
            .iter()
            .map(|Arriving { name, group: number, .. }| {
                let mut group = Table::new();
                for (key, value) in [("kind", "trace"), ("name", name), ("file", name)] {
                    group.insert(key.into(), value.into());
                }
                let members = &sources.flows;
                let member = members.iter().position(|f| usize::from(f.fact.group) == *number);
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
        if let Some(Value::Table(dumbbell)) = table.get_mut("dumbbell") {
            if let Some(leaves) = &sources.leaves {
                reclassify(dumbbell, leaves, files);
            }
            // Nothing goes back.
            if let Some(Value::Table(reverse)) = dumbbell.get_mut("reverse") {
                reverse.remove("classes");
            }
        }
        if let Some(Value::Array(all)) = table.remove("aqm") {
            table.insert("aqm".into(), Value::Array(all.into_iter().skip(self.aqm).take(1).collect()));
        }
        Ok(table)
    }
}

/// Writes the classes of the bottleneck so that each of `files` waits in its leaf. Each leaf stands alone: what is repeated
/// is written out.
fn reclassify(dumbbell: &mut Table, leaves: &Leaves, files: &[Arriving]) {
    let Some(Value::Array(written)) = dumbbell.remove("classes") else { return };
    let text = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_string);
    // Of several that are alike each has a number after its name.
    let of = |name: &str| {
        let named = |name: &str| written.iter().find(|class| text(class, "name").as_deref() == Some(name));
        named(name).or_else(|| named(name.rsplit_once('-')?.0))
    };
    let names = leaves.plan.leaves().unwrap_or_default();
    let mut rest = None;
    let class = |class: &Class| {
        let mut table = Table::new();
        let mut put = |key: &str, value: Option<Value>| {
            value.map(|value| table.insert(key.into(), value));
        };
        put("name", Some(class.name.as_str().into()));
        put("parent", class.parent.as_deref().map(Value::from));
        if let Some(limits) = class.limits {
            put("rate", Some(limits.rate.to_string().into()));
            put("ceil", Some(limits.ceil.to_string().into()));
            put("burst", Some(limits.burst.to_string().into()));
            put("cburst", Some(limits.cburst.to_string().into()));
        }
        put("priority", class.priority.map(|priority| Value::Integer(i64::from(priority))));
        put("quantum", class.quantum.map(|quantum| quantum.to_string().into()));
        let Some(leaf) = names.iter().position(|name| *name == class.name) else {
            return Value::Table(table);
        };
        put("buffer", Some(leaves.buffers[leaf].to_string().into()));
        let origin = of(&class.name);
        put("aqm", origin.and_then(|origin| origin.get("aqm")).cloned());
        if rest.is_none() && origin.is_some_and(|origin| origin.get("match").is_none()) {
            // What no other takes, which is its own.
            rest = Some(leaf);
            return Value::Table(table);
        }
        let own = files.iter().filter(|file| file.leaf == leaf);
        let groups: Vec<Value> = own.map(|file| file.name.as_str().into()).collect();
        let mut takes = Table::new();
        match groups.is_empty() {
            false => takes.insert("group".into(), Value::Array(groups)),
            // No group has so many hosts.
            true => takes.insert("host".into(), Value::Array(vec![Value::Integer(i64::from(u32::MAX))])),
        };
        put("match", Some(Value::Table(takes)));
        Value::Table(table)
    };
    let all: Vec<Value> = leaves.plan.classes.iter().map(class).collect();
    dumbbell.insert("classes".into(), Value::Array(all));
}

fn header() -> Vec<u8> {
    format!("{ARRIVAL_COLUMNS}\n").into_bytes()
}
