//! The lines of tc for a scenario: for each link and each algorithm, with its shaper or its classes.

use std::path::Path;

use quell_aqm::catalog::AqmConfig;
use quell_scenario::format::TrafficClass;
use quell_scenario::values::Shaper;
use quell_scenario::{Plugins, Point, QueueAt};
use quell_tc::{Added, Branch, Bucket, Kernel, Link, Place, Written, write_bucket, write_tree};
use quell_units::text::one_line;
use quell_units::{Bytes, LinkLayer, QueueSize, Time};
use serde_json::{Value, json};

use super::choice::Format;
use crate::failure::Failure;
use crate::{json, simulate, terminal};

/// The lines of one link under one algorithm.
struct Lines {
    link: String,
    algorithm: String,
    written: Result<Written, String>,
}

/// Prints the lines of a scenario's first point.
pub fn run(file: &str, device: &str, kernel: Kernel, format: Format) -> Result<(), Failure> {
    let study = simulate::document(Path::new(file))?.study(&Plugins::new())?;
    let Some(point) = study.points.first() else {
        return Err(bad_input!("{file}: has no point to run"));
    };
    let mut all = Vec::new();
    for name in point.links() {
        for (n, choice) in point.scenario.aqm.iter().enumerate() {
            let label = choice.label.clone().unwrap_or_else(|| choice.algorithm.clone());
            let queues = point.queues_at(&name, n)?;
            if queues.is_empty() {
                continue;
            }
            let written = of_link(point, &name, queues, device, kernel)?;
            all.push(Lines { link: name.clone(), algorithm: label, written });
        }
    }
    if let ([_, ..], true) = (all.as_slice(), all.iter().all(|lines| lines.written.is_err())) {
        let why: Vec<String> = all.iter().filter_map(|lines| lines.written.clone().err()).collect();
        return Err(bad_input!("{file}: {}", why.join("; ")));
    }
    match format {
        Format::Json => json::print(&json!({ "kernel": kernel.to_string(), "links": output(&all) }))?,
        Format::Text => terminal::print(&text(&all))?,
    }
    if study.points.len() > 1 {
        terminal::note(&format!("the lines are of the first of {} points", study.points.len()));
    }
    if format == Format::Json {
        return Ok(());
    }
    let mut said: Vec<&str> = Vec::new();
    for note in all.iter().flat_map(|lines| lines.written.iter().flat_map(|written| &written.notes)) {
        if !said.contains(&note.as_str()) {
            terminal::note(note);
            said.push(note);
        }
    }
    Ok(())
}

/// Lines, for JSON.
fn output(all: &[Lines]) -> Vec<Value> {
    let one = |lines: &Lines| match &lines.written {
        Ok(written) => json!({
            "link": lines.link,
            "algorithm": lines.algorithm,
            "lines": written.lines,
            "notes": written.notes,
        }),
        Err(why) => json!({ "link": lines.link, "algorithm": lines.algorithm, "refused": why }),
    };
    all.iter().map(one).collect()
}

/// Lines, each link's and algorithm's below a comment.
fn text(all: &[Lines]) -> String {
    let one = |lines: &Lines| {
        let body = match &lines.written {
            Ok(written) => written.lines.join("\n"),
            Err(why) => format!("# {why}"),
        };
        format!("# {}: {}\n{body}\n", one_line(&lines.link), one_line(&lines.algorithm))
    };
    all.iter().map(one).collect::<Vec<_>>().join("\n")
}

/// The shaper and the classes of a link.
fn above<'a>(point: &'a Point, name: &str) -> (Option<&'a Shaper>, &'a [TrafficClass]) {
    let scenario = &point.scenario;
    if let Some(dumbbell) = &scenario.dumbbell {
        return (dumbbell.shaper.as_ref(), &dumbbell.classes);
    }
    if let Some(lot) = &scenario.parking_lot {
        return (lot.shaper.as_ref(), &lot.classes);
    }
    let links = scenario.graph.iter().flat_map(|graph| &graph.links);
    let found = links.into_iter().find(|link| format!("{}-{}", link.from, link.to) == name);
    found.map_or((None, &[]), |link| (link.shaper.as_ref(), &link.classes))
}

/// A queue's algorithm, with its link.
fn known(queue: &QueueAt) -> (AqmConfig, Link) {
    let link = Link {
        rate: Some(queue.link.rate),
        buffer: queue.link.buffer,
        ecn: queue.ecn,
        mean_packet: queue.link.mean_packet,
    };
    (queue.aqm.clone(), link)
}

fn of_link(
    point: &Point,
    name: &str,
    queues: Vec<QueueAt>,
    device: &str,
    kernel: Kernel,
) -> Result<Result<Written, String>, Failure> {
    let (shaper, classes) = above(point, name);
    let rate = point.link_at(name, Time::ZERO, &Plugins::new())?.rate;
    let Some(first) = queues.first().map(known) else { return Ok(Err("has no queue".to_string())) };
    let written = match (shaper, classes) {
        (Some(shaper), []) => {
            let bucket = bucket(shaper, first.1.mean_packet);
            write_bucket((&first.0, &first.1), &bucket, device, kernel)
        }
        (_, []) => {
            let place = match first.0 {
                // It shapes itself.
                AqmConfig::Cake(_) => Place::Root { device: device.to_string() },
                // A link without a shaper sends packet by packet.
                _ => Place::Htb {
                    device: device.to_string(),
                    shaped: quell_tc::Shaper { link: LinkLayer::plain(rate), burst: None },
                },
            };
            quell_tc::write(&first.0, &first.1, &place, kernel)
        }
        (_, classes) => match branches(classes, &queues) {
            Ok(branches) => write_tree(&branches, rate, device, kernel),
            Err(why) => return Ok(Err(why)),
        },
    };
    let written = written.map(|mut written| {
        if shaper.is_some() && !classes.is_empty() {
            written.notes.push(format!("shaper: the tree has its rate, {rate}, and bursts of its own"));
        }
        written
    });
    Ok(written.map_err(|e| e.to_string()))
}

/// A shaper as a token bucket of tc's.
fn bucket(shaper: &Shaper, mean_packet: Bytes) -> Bucket {
    let bytes = |size: QueueSize| Bytes::new(size.in_bytes(mean_packet) as u64);
    Bucket {
        rate: shaper.rate,
        burst: shaper.burst,
        peak_rate: shaper.peak_rate,
        mtu: shaper.mtu,
        limit: shaper.limit.map(bytes),
        added: Added::by(&shaper.link_layer()),
    }
}

/// Classes as those of an htb, each leaf with its queue.
fn branches(classes: &[TrafficClass], queues: &[QueueAt]) -> Result<Vec<Branch>, String> {
    let mut queues = queues.iter();
    let mut branches = Vec::new();
    for class in classes {
        if class.repeat.is_some_and(|repeat| repeat > 1) {
            return Err(format!(
                "{}: classes that are repeated have no lines: write them one by one",
                class.name
            ));
        }
        let is_leaf = !classes.iter().any(|other| other.parent.as_ref() == Some(&class.name));
        let traffic = class.traffic.as_ref();
        let dscps =
            traffic.and_then(|traffic| traffic.dscp.as_ref()).map_or(Vec::new(), |dscps| dscps.0.clone());
        if traffic.is_some_and(|traffic| traffic.group.is_some() || traffic.host.is_some())
            && dscps.is_empty()
        {
            return Err(format!(
                "{}: a filter of tc's knows no group and no host of a scenario: match dscp",
                class.name
            ));
        }
        branches.push(Branch {
            name: class.name.clone(),
            parent: class
                .parent
                .as_ref()
                .and_then(|parent| classes.iter().position(|other| other.name == *parent)),
            rate: class.rate,
            ceil: class.ceil,
            burst: class.burst,
            cburst: class.cburst,
            quantum: class.quantum,
            priority: class.priority.unwrap_or(0),
            dscps,
            queue: if is_leaf { queues.next().map(known) } else { None },
        });
    }
    Ok(branches)
}
