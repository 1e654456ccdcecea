//! The lines of tc for a link of a scenario: for each algorithm, with its shaper or its classes.

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
use crate::failure::{Failure, unknown_name};
use crate::{json, simulate, terminal};

/// The lines of a link under one algorithm.
struct Lines {
    link: String,
    algorithm: String,
    written: Result<Written, String>,
}

/// Where the lines of a scenario go.
pub struct Target<'a> {
    /// The link whose lines are written; none for the only one.
    pub link: Option<&'a str>,
    /// The device.
    pub device: &'a str,
    /// The ifb device for what comes in at the device, if the link is that.
    pub ifb: Option<&'a str>,
}

/// Prints the lines of one link of a scenario's first point.
pub fn run(file: &str, target: &Target<'_>, kernel: Kernel, format: Format) -> Result<(), Failure> {
    let study = simulate::document(Path::new(file))?.study(&Plugins::new())?;
    let Some(point) = study.points.first() else {
        return Err(bad_input!("{file}: has no point to run"));
    };
    let name = chosen(file, point.links(), target.link)?;
    let mut all: Vec<Lines> = Vec::new();
    for (n, choice) in point.scenario.aqm.iter().enumerate() {
        let label = choice.label.clone().unwrap_or_else(|| choice.algorithm.clone());
        let queues = point.queues_at(&name, n)?;
        if queues.is_empty() {
            continue;
        }
        let written = of_link(point, &name, queues, target, kernel)?;
        // A link with an algorithm of its own has the same lines each time.
        if !all.iter().any(|lines| lines.written == written) {
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

/// The link whose lines are written. A host has one place for them, so of several one must be named.
fn chosen(file: &str, links: Vec<String>, named: Option<&str>) -> Result<String, Failure> {
    match (named, &links[..]) {
        (Some(name), _) if links.iter().any(|link| link == name) => Ok(name.to_string()),
        (Some(name), _) => Err(unknown_name("link", name, links.iter().map(String::as_str))),
        (None, [only]) => Ok(only.clone()),
        (None, []) => Err(bad_input!("{file}: has no link with a queue")),
        (None, _) => {
            let links = links.iter().map(|link| one_line(link)).collect::<Vec<_>>().join(", ");
            Err(bad_input!(
                "{file}: has {links}; name the one whose lines this host needs with --link, and add --at ifb if its \
                 packets come in at the device"
            ))
        }
    }
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
    let blocks = all.iter().map(one).collect::<Vec<_>>().join("\n");
    match all.iter().filter(|lines| lines.written.is_ok()).count() > 1 {
        true => format!(
            "# One block for each algorithm: each replaces the one before it, so use one.\n\n{blocks}"
        ),
        false => blocks,
    }
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
    target: &Target<'_>,
    kernel: Kernel,
) -> Result<Result<Written, String>, Failure> {
    let (shaper, classes) = point.scenario.served(name);
    let at = point.link_at(name, Time::ZERO, &Plugins::new())?;
    if at.cell || at.wifi {
        return Ok(Err(
            "its queues are of a cell or of Wi-Fi, whose scheduler Linux's tc has not".to_string()
        ));
    }
    let rate = at.rate;
    let device = target.ifb.unwrap_or(target.device);
    let Some(first) = queues.first().map(known) else { return Ok(Err("has no queue".to_string())) };
    let written = match (&shaper, classes) {
        (Some(shaper), []) => {
            let bucket = bucket(shaper, first.1.mean_packet);
            write_bucket((&first.0, &first.1), &bucket, device, kernel)
        }
        (None, []) => {
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
        match target.ifb {
            Some(ifb) => written.behind(target.device, ifb),
            None => written,
        }
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
