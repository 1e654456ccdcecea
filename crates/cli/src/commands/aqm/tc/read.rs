//! Lines of tc, in: as tables of a scenario, or as a configuration of a gateway.

use std::fmt::Write as _;
use std::path::Path;

use quell_aqm::catalog::AqmConfig;
use quell_files::Limit;
use quell_scenario::{Plugins, Study};
use quell_tc::{Bucket, Counters, Dump, Kernel, Leaf, Meaning, Queue, Shape, Shaped, keys, links};
use quell_units::text::one_line;
use quell_units::{BitRate, Framing, QueueSize};
use serde_json::{Value, json};

use super::choice::{Format, To, without_line};
use crate::failure::{Failure, unknown_name};
use crate::netem::Netem;
use crate::{json, terminal};

/// The limit of what is read.
const DUMP: Limit = Limit::of_text("what tc prints");

/// Reads a line or a file of lines; of a device alone, if one is named.
pub fn of_device(given: &str, device: Option<&str>, kernel: Kernel) -> Result<(Dump, Vec<Shaped>), Failure> {
    let dump = quell_tc::read(&text(given)?, kernel);
    let mut links = links(&dump);
    if let Some(device) = device {
        let is_there = dump.queues.iter().any(|queue| queue.device.as_deref() == Some(device));
        if !is_there {
            let names = dump.queues.iter().filter_map(|queue| queue.device.as_deref());
            return Err(unknown_name("device", device, quell_lab::distinct(names)));
        }
        links.retain(|link| link.device.as_deref() == Some(device));
    }
    Ok((dump, links))
}

/// Reads a line, or a file of lines, and prints what it is here.
pub fn run(given: &str, device: Option<&str>, to: To, kernel: Kernel, format: Format) -> Result<(), Failure> {
    let (dump, links) = of_device(given, device, kernel)?;
    let problems: Vec<String> = dump.problems.iter().map(|problem| one_line(&problem.to_string())).collect();
    if links.is_empty() && is_without_queue(&dump, device) {
        return without_queue(&dump, device, format);
    }
    if links.is_empty() {
        // What is only left out counts as a reason where there is nothing else.
        let fatal = dump.problems.iter().zip(&problems).filter(|(problem, _)| problem.fatal);
        let fatal: Vec<String> = fatal.map(|(_, says)| says.clone()).collect();
        let problems = if fatal.is_empty() { problems } else { fatal };
        let many = problems.len().min(5);
        let more = problems.len() - many + dump.more_problems;
        let more = if more > 0 { format!("; and {more} more") } else { String::new() };
        let why = match many {
            0 if qdiscs(&dump, device).any(|queue| queue.kind == "htb") => {
                "htb: its classes are not in the text; add what tc class show prints".to_string()
            }
            0 => "no queue is in it that is an algorithm: give a line such as 'fq_codel target 5ms'"
                .to_string(),
            _ => problems[..many].join("; ") + &more,
        };
        return Err(bad_input!("--read: {why}"));
    }
    for link in &links {
        if let Err(failure) = check(link, dump.place()) {
            // They say what the lines mean that a scenario refuses.
            notes(link).for_each(terminal::note);
            return Err(failure);
        }
    }
    match (format, to) {
        (Format::Json, _) => json::print(&output(&links, &dump))?,
        (Format::Text, To::Scenario) => terminal::print(&scenario(&links, dump.place())?)?,
        (Format::Text, To::Gateway) => terminal::print(&gateway(&links)?)?,
    }
    let (fatal, passed): (Vec<_>, Vec<_>) =
        dump.problems.iter().zip(&problems).partition(|(problem, _)| problem.fatal);
    passed.iter().for_each(|(_, says)| terminal::note(says));
    if dump.more_problems > 0 {
        terminal::note(&format!("{} more such places of the text", dump.more_problems));
    }
    let mut all: Vec<String> = Vec::new();
    for link in &links {
        all.extend(notes(link).map(str::to_string));
        all.extend(wire(link)?.1);
    }
    quell_lab::distinct(all).iter().for_each(|note| terminal::note(note));
    // What else the text has is printed, and the line is not passed over.
    match &fatal[..] {
        [] => Ok(()),
        [(_, says), rest @ ..] => {
            let more =
                if rest.is_empty() { String::new() } else { format!("; and {} more lines", rest.len()) };
            Err(bad_input!("--read: {says}{more}"))
        }
    }
}

/// Kinds of qdiscs of usual hosts that are not queues of a link.
const OF_USUAL_HOSTS: [&str; 6] = ["noqueue", "mq", "mqprio", "ingress", "clsact", "fq"];

/// The qdiscs of a dump; of a device alone, if one is named.
fn qdiscs<'a>(dump: &'a Dump, device: Option<&str>) -> impl Iterator<Item = &'a Queue> {
    dump.queues.iter().filter(move |queue| device.is_none() || queue.device.as_deref() == device)
}

/// Says whether a dump is of devices without a queue of a link, and nothing in it is wrong.
fn is_without_queue(dump: &Dump, device: Option<&str>) -> bool {
    let is_usual = |queue: &Queue| OF_USUAL_HOSTS.contains(&queue.kind.as_str());
    !dump.problems.iter().any(|problem| problem.fatal)
        && qdiscs(dump, device).next().is_some()
        && qdiscs(dump, device).all(is_usual)
}

/// Answers a dump of devices without a queue of a link.
fn without_queue(dump: &Dump, device: Option<&str>, format: Format) -> Result<(), Failure> {
    if format == Format::Json {
        return json::print(&output(&[], dump));
    }
    let mut text = String::from("# There is no queue that an algorithm governs.\n");
    for queue in qdiscs(dump, device) {
        let why = match queue.kind.as_str() {
            "noqueue" => "packets leave at once, and none waits",
            "ingress" | "clsact" => "it keeps no packets; its filters may redirect them to an ifb device",
            "fq" => "it paces the senders of this host, which is no queue of a link",
            _ => "it has a queue for each of the device's, and none of them is in the text",
        };
        let name = queue.device.as_deref().unwrap_or("no device");
        let _ = writeln!(text, "# {}: {}: {why}", one_line(name), queue.kind);
    }
    terminal::print(&text)?;
    terminal::note("quell recommend says which queue a link needs, and with which parameters");
    Ok(())
}

/// The text that is read: a file's, standard input's, or the line itself.
fn text(given: &str) -> Result<String, Failure> {
    let path = Path::new(given);
    let bytes = match given {
        "-" => quell_files::read_all(std::io::stdin().lock(), DUMP),
        // A line has words; a path of several is one that is there.
        _ if !path.exists() && (given.contains(char::is_whitespace) || !given.contains(['/', '.'])) => {
            return Ok(given.to_string());
        }
        _ => quell_files::read(path, DUMP),
    };
    let name = if given == "-" { "standard input".to_string() } else { quell_files::name(path) };
    let bytes = bytes.map_err(|e| bad_input!("--read: cannot read {name}: {e}"))?;
    if bytes.iter().take(1024).any(|byte| *byte == 0) {
        return Err(bad_input!("--read: {name} is not text: give what tc prints, or a file of settings"));
    }
    // Further on, what is not text is named with its line.
    let text = String::from_utf8_lossy(&bytes).into_owned();
    if quell_tc::is_cut(&text) {
        return Err(bad_input!(
            "--read: {name} ends inside of a line, and tc ends each: was it cut? If it is whole, add a new line"
        ));
    }
    Ok(text)
}

/// The notes on a link and its queues.
fn notes(link: &Shaped) -> impl Iterator<Item = &str> {
    let leaves = match &link.shape {
        Shape::Classes(leaves) => leaves.as_slice(),
        _ => &[],
    };
    let of_leaves = leaves.iter().filter_map(|leaf| leaf.queue.as_ref()).flat_map(|queue| &queue.notes);
    let own = link.queue.iter().flat_map(|queue| &queue.notes);
    link.notes.iter().chain(own).chain(of_leaves).map(String::as_str)
}

/// An algorithm as a table in one line: its name, and what is not as by default.
fn inline(config: &AqmConfig) -> String {
    let keys: Vec<String> = keys(config).into_iter().map(|(key, value)| format!("{key} = {value}")).collect();
    keys.join(", ")
}

/// A size without the digits that arithmetic leaves.
fn size(size: QueueSize) -> String {
    format!("\"{size}\"")
}

/// The keys of a link's table.
fn link_keys(link: &Shaped) -> Vec<(&'static str, String)> {
    let mut keys = Vec::new();
    if let Shape::Rate(rate) = &link.shape {
        keys.push(("rate", format!("\"{rate}\"")));
    }
    let of_bucket = |bucket: &Bucket| bucket.limit.map(|limit| QueueSize::Bytes(limit.get() as f64));
    let buffer = match (&link.queue, &link.shape) {
        (Some(queue), _) => Some(queue.buffer),
        (None, Shape::Bucket(bucket)) => of_bucket(bucket),
        _ => None,
    };
    if let Some(buffer) = buffer {
        keys.push(("buffer", size(buffer)));
    }
    if link.queue.as_ref().is_some_and(|queue| queue.ecn) {
        keys.push(("ecn", "true".to_string()));
    }
    match &link.shape {
        Shape::Bucket(bucket) => keys.push(("shaper", shaper(bucket))),
        Shape::Classes(leaves) => {
            keys.extend(link.above.iter().map(|bucket| ("shaper", shaper(bucket))));
            keys.push(("classes", classes(leaves)));
        }
        _ => {}
    }
    keys
}

/// A token bucket as a table in one line.
fn shaper(bucket: &Bucket) -> String {
    let mut text = format!("{{ rate = \"{}\", burst = \"{}\"", bucket.rate, bucket.burst);
    if let Some(rate) = bucket.peak_rate {
        let _ = write!(text, ", peak_rate = \"{rate}\"");
    }
    if let (Some(_), Some(mtu)) = (bucket.peak_rate, bucket.mtu) {
        let _ = write!(text, ", mtu = \"{mtu}\"");
    }
    for (key, bytes) in [("overhead", bucket.added.overhead), ("mpu", bucket.added.mpu)] {
        if bytes.get() > 0 {
            let _ = write!(text, ", {key} = \"{bytes}\"");
        }
    }
    match bucket.added.framing {
        Framing::None => {}
        Framing::Atm => text.push_str(", framing = \"atm\""),
        Framing::Ptm => text.push_str(", framing = \"ptm\""),
    }
    text + " }"
}

/// The keys of a link that a netem says, but for a rate where a shaper has one; and what it says beside.
fn wire(link: &Shaped) -> Result<(String, Vec<String>), Failure> {
    let Some(line) = &link.netem else { return Ok((String::new(), Vec::new())) };
    let netem = Netem::read(line).map_err(|e| match e {
        Failure::BadInput(why) => bad_input!("--read: line {}: netem: {why}", link.line),
        other => other,
    })?;
    let has_rate = matches!(link.shape, Shape::Rate(_));
    let text = netem.toml();
    let keys: Vec<&str> = text.lines().filter(|line| !(has_rate && line.starts_with("rate = "))).collect();
    let mut notes = netem.notes;
    if has_rate && text.lines().count() != keys.len() {
        notes.push("netem: its rate is left out beside the one of htb".into());
    }
    Ok((keys.iter().map(|line| format!("{line}\n")).collect(), notes))
}

/// The name of a class here: letters, digits, - and _.
fn class_name(id: &str) -> String {
    let plain: String = id.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    format!("class-{plain}")
}

/// The leaf without a match: the one that htb names, or the last.
fn default_leaf(leaves: &[Leaf]) -> Option<&Leaf> {
    leaves.iter().find(|leaf| leaf.is_default).or(leaves.iter().rfind(|leaf| leaf.is_leaf))
}

/// Classes as a list.
fn classes(leaves: &[Leaf]) -> String {
    let default = default_leaf(leaves).map(|leaf| leaf.class.id.as_str());
    let mut text = String::from("[\n");
    for leaf in leaves {
        let class = &leaf.class;
        let _ = write!(text, "    {{ name = \"{}\"", class_name(&class.id));
        let parent =
            class.parent.as_ref().filter(|parent| leaves.iter().any(|other| other.class.id == **parent));
        if let Some(parent) = parent {
            let _ = write!(text, ", parent = \"{}\"", class_name(parent));
        }
        let _ = write!(text, ", rate = \"{}\"", class.rate);
        if let Some(ceil) = class.ceil.filter(|ceil| *ceil != class.rate) {
            let _ = write!(text, ", ceil = \"{ceil}\"");
        }
        for (key, bytes) in [("burst", class.burst), ("cburst", class.cburst)] {
            // Of at least a packet.
            if let Some(bytes) = bytes.filter(|bytes| bytes.get() >= 1500) {
                let _ = write!(text, ", {key} = \"{bytes}\"");
            }
        }
        if leaf.is_leaf {
            if let Some(quantum) = class.quantum.filter(|quantum| quantum.get() >= 1500) {
                let _ = write!(text, ", quantum = \"{quantum}\"");
            }
            if class.priority > 0 {
                let _ = write!(text, ", priority = {}", class.priority);
            }
            if !class.dscps.is_empty() {
                let _ = write!(text, ", match = {{ dscp = {:?} }}", class.dscps);
            } else if default != Some(class.id.as_str()) {
                let _ = write!(text, ", match = {{ group = \"{}\" }}", class_name(&class.id));
            }
            if let Some(queue) = &leaf.queue {
                let _ = write!(text, ", buffer = {}, aqm = {{ {} }}", size(queue.buffer), inline(&queue.aqm));
            }
        }
        text.push_str(" },\n");
    }
    text + "]"
}

/// The groups of flows that classes ask for.
fn groups(link: &Shaped) -> Vec<String> {
    let Shape::Classes(leaves) = &link.shape else { return Vec::new() };
    let default = default_leaf(leaves).map(|leaf| leaf.class.id.as_str());
    let is_matched =
        |leaf: &&Leaf| leaf.is_leaf && leaf.class.dscps.is_empty() && default != Some(leaf.class.id.as_str());
    let matched = leaves.iter().filter(is_matched);
    matched.map(|leaf| class_name(&leaf.class.id)).collect()
}

/// The algorithm of a link; without one it is drop-tail, as below a tbf.
fn algorithm(link: &Shaped) -> Vec<(&'static str, String)> {
    match &link.queue {
        Some(Meaning { aqm, .. }) => keys(aqm),
        None => vec![("algorithm", "\"drop-tail\"".to_string())],
    }
}

/// A link as tables of a scenario.
fn tables(link: &Shaped) -> Result<String, Failure> {
    let mut text = String::from("[dumbbell]\n");
    for (key, value) in link_keys(link) {
        let _ = writeln!(text, "{key} = {value}");
    }
    text.push_str(&wire(link)?.0);
    text.push_str("\n[[aqm]]\n");
    for (key, value) in algorithm(link) {
        let _ = writeln!(text, "{key} = {value}");
    }
    Ok(text)
}

/// Refuses what no scenario can have, with the words of a scenario's check.
fn check(link: &Shaped, unit: &str) -> Result<(), Failure> {
    let tables = tables(link)?;
    let has = |key: &str| tables.lines().any(|line| line.starts_with(&format!("{key} = ")));
    let mut needed = String::new();
    for (key, value) in [("rate", "100 Gbit/s"), ("delay", "1 ms"), ("buffer", "1000 packets")] {
        if !has(key) {
            let _ = writeln!(needed, "{key} = \"{value}\"");
        }
    }
    let flows: Vec<String> = groups(link).iter().map(|name| format!("{{ name = \"{name}\" }}, ")).collect();
    let tables = tables.replacen("[dumbbell]\n", &format!("[dumbbell]\n{needed}"), 1);
    let text =
        format!("schema = 1\nduration = \"1 s\"\nflows = [{}{{ name = \"any\" }}]\n{tables}", flows.concat());
    let place = link.device.as_deref().map_or(String::new(), |device| format!(" {}", one_line(device)));
    let name = format!("{unit} {}{place}", link.line);
    Study::parse(&text, &name, &Plugins::new()).map(|_| ()).map_err(without_line)
}

/// What a link's comment says of it.
fn heading(link: &Shaped, place: &str) -> String {
    let device = link.device.as_deref().unwrap_or("no device");
    let kind = match (link.kind.as_str(), &link.netem) {
        ("", Some(_)) => "netem",
        ("", None) => "its queue",
        (kind, _) => kind,
    };
    format!("# {}: {} ({place} {})\n", one_line(device), one_line(kind), link.line)
}

/// Counters as a comment.
fn counted(counters: &Counters) -> String {
    let marked = counters.marked.map_or(String::new(), |marked| format!(", marked {marked}"));
    let mut text = format!(
        "# tc counted: sent {} B in {} packets, dropped {}{marked}, overlimits {}, requeues {}, backlog {} B in {} \
         packets\n",
        counters.bytes,
        counters.packets,
        counters.dropped,
        counters.overlimits,
        counters.requeues,
        counters.backlog_bytes,
        counters.backlog_packets
    );
    for (name, pairs) in &counters.tins {
        let pairs: Vec<String> = pairs.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let _ = writeln!(text, "# {}: {}", one_line(name), one_line(&pairs.join(", ")));
    }
    if !counters.lacking.is_empty() {
        let _ =
            writeln!(text, "# 0 stands for what the text does not count: {}", counters.lacking.join(", "));
    }
    if !counters.others.is_empty() {
        let pairs: Vec<String> =
            counters.others.iter().map(|(name, value)| format!("{name} {value}")).collect();
        let _ = writeln!(text, "# also: {}", one_line(&pairs.join(", ")));
    }
    text
}

/// Links as tables of scenarios.
fn scenario(links: &[Shaped], place: &str) -> Result<String, Failure> {
    let mut text = String::new();
    let mut lacking: Vec<&str> = Vec::new();
    for (i, link) in links.iter().enumerate() {
        if i > 0 {
            text.push_str("\n# The next is a scenario of its own.\n");
        }
        text.push_str(&heading(link, place));
        if let Some(counters) = &link.counters {
            text.push_str(&counted(counters));
        }
        let tables = tables(link)?;
        let is_lacking = |key: &&&str| !tables.lines().any(|line| line.starts_with(&format!("{key} = ")));
        lacking.extend(["rate", "delay", "buffer"].iter().filter(is_lacking));
        text.push_str(&tables);
    }
    let lacking = quell_lab::distinct(lacking);
    terminal::note(
        "these are the tables of a link: a scenario also needs schema, duration and flows (quell new writes some)",
    );
    if links.len() > 1 {
        terminal::note("a file has one link: --dev names the device whose tables are printed alone");
    }
    let is_shaped = links.iter().any(|link| rate(link).is_some() && !matches!(link.shape, Shape::Rate(_)));
    if is_shaped && lacking.contains(&"rate") {
        let delay = if lacking.contains(&"delay") { "a delay, and " } else { "" };
        terminal::note(&format!("give the link {delay}a rate above the one that is shaped to"));
    } else if let [keys @ .., last] = &lacking[..] {
        let begin = if keys.is_empty() { String::new() } else { format!("a {} and ", keys.join(", a ")) };
        terminal::note(&format!("give the link {begin}a {last}, of which the lines say nothing"));
    }
    if links.iter().any(|link| !groups(link).is_empty()) {
        terminal::note(
            "filters are not read: each class takes the group of its name; name your groups so, or match dscp",
        );
    }
    Ok(text)
}

/// The rate of a link, CAKE's own too.
fn rate(link: &Shaped) -> Option<BitRate> {
    match (&link.shape, link.queue.as_ref().map(|queue| &queue.aqm)) {
        (Shape::Rate(rate), _) => Some(*rate),
        (Shape::Bucket(bucket), _) => Some(bucket.rate),
        (Shape::Classes(leaves), _) => {
            let roots = leaves.iter().filter(|leaf| {
                !leaves.iter().any(|other| Some(&other.class.id) == leaf.class.parent.as_ref())
            });
            roots.map(|leaf| leaf.class.ceil.unwrap_or(leaf.class.rate)).max()
        }
        (_, Some(AqmConfig::Cake(cake))) => cake.bandwidth,
        _ => None,
    }
}

/// Parameters that are of one direction: whose hosts share, and which packets may be few.
const OF_A_DIRECTION: [&str; 3] = ["isolation", "ack_filter", "ingress"];

/// Links as the configuration of a gateway: what leaves, and what an ifb device gets.
fn gateway(links: &[Shaped]) -> Result<String, Failure> {
    let is_down = |link: &&Shaped| link.device.as_deref().is_some_and(|device| device.starts_with("ifb"));
    let (down, up) = (links.iter().find(is_down), links.iter().find(|link| !is_down(link)));
    let Some(of) = up.or(down) else { return Err(bad_input!("--read: no link is in it")) };
    let mut text = String::new();
    let device = up.and_then(|link| link.device.as_deref());
    let _ = writeln!(text, "wan = {}", toml::Value::from(device.unwrap_or("eth0")));
    for (key, link) in [("up", up), ("down", down)] {
        if let Some(rate) = link.and_then(rate) {
            let _ = writeln!(text, "{key} = \"{rate}\"");
        }
    }
    if let Shape::Bucket(bucket) = &of.shape {
        let _ = writeln!(text, "burst = \"{}\"", bucket.burst);
    }
    if let Some(queue) = &of.queue {
        let _ = writeln!(text, "buffer = {}\necn = {}", size(queue.buffer), queue.ecn);
    }
    text.push_str("\n[aqm]\n");
    // The gateway shapes, so CAKE need not.
    let keys = algorithm(of).into_iter().filter(|(key, _)| *key != "bandwidth");
    let other = up.and(down).map(algorithm).unwrap_or_default();
    for (key, value) in keys {
        // It has one algorithm for both directions, and what is of one only is for neither.
        let is_of_both = other.contains(&(key, value.clone()));
        if OF_A_DIRECTION.contains(&key) && !is_of_both {
            terminal::note(&format!(
                "{key} = {value}: is of one direction alone, and a gateway has one algorithm for both: left out"
            ));
            continue;
        }
        let _ = writeln!(text, "{key} = {value}");
    }
    match (up.and_then(rate), down.and_then(rate)) {
        (None, None) => terminal::note("give up and down a rate, of which the lines say nothing"),
        (Some(_), None) => terminal::note(
            "only up is in the text: give down the rate to shape what comes in to, below the link's, such as down = \
             \"90 Mbit/s\"",
        ),
        (None, Some(_)) => terminal::note(
            "only down is in the text: give up the rate to shape what leaves to, below the link's, such as up = \
             \"18 Mbit/s\"",
        ),
        (Some(_), Some(_)) => {}
    }
    if links.iter().any(|link| link.netem.is_some()) {
        terminal::note("netem: a gateway adds no delay and no loss: left out");
    }
    let layered = [up, down].into_iter().flatten().any(|link| match &link.shape {
        Shape::Bucket(bucket) => bucket.added != quell_tc::Added::default(),
        _ => link.above.is_some(),
    });
    if layered {
        terminal::note(
            "overhead: a gateway's shaper counts IP packets; lower up and down by what the link adds, or take cake",
        );
    }
    if let (Some(up), Some(down)) = (up, down)
        && up.queue.as_ref().map(|queue| queue.aqm.name())
            != down.queue.as_ref().map(|queue| queue.aqm.name())
    {
        terminal::note(
            "the two directions have different algorithms, and a gateway has one: the one of what leaves",
        );
    }
    if matches!(of.shape, Shape::Classes(_)) {
        terminal::note(
            "classes of a gateway have no rates: write classes by priority and quantum (docs/gateway.md)",
        );
    }
    let others = links.len() - usize::from(up.is_some()) - usize::from(down.is_some());
    if others > 0 {
        terminal::note(&format!(
            "{others} more of the links are left out: a gateway has one of each direction"
        ));
    }
    Ok(text)
}

/// Links, for JSON.
fn output(links: &[Shaped], dump: &Dump) -> Value {
    let pairs = |pairs: &[(String, String)]| -> Value {
        pairs
            .iter()
            .map(|(name, value)| (name.clone(), json!(value)))
            .collect::<serde_json::Map<_, _>>()
            .into()
    };
    let counters = |c: &Counters| {
        let tins: Vec<Value> =
            c.tins.iter().map(|(name, of)| json!({ "name": name, "counters": pairs(of) })).collect();
        let known = |name: &str, count: u64| (!c.lacking.contains(&name)).then_some(count);
        json!({
            "bytes": known("bytes", c.bytes),
            "packets": known("packets", c.packets),
            "dropped": known("drops", c.dropped),
            "marked": c.marked,
            "overlimits": known("overlimits", c.overlimits),
            "requeues": known("requeues", c.requeues),
            "backlog_bytes": known("backlog", c.backlog_bytes),
            "backlog_packets": known("qlen", c.backlog_packets),
            "others": pairs(&c.others),
            "tins": tins,
        })
    };
    let bucket = |b: &Bucket| {
        json!({
            "rate": b.rate,
            "burst": b.burst,
            "peak_rate": b.peak_rate,
            "mtu": b.mtu,
            "limit": b.limit,
            "overhead": b.added.overhead,
            "mpu": b.added.mpu,
            "framing": match b.added.framing {
                Framing::None => None,
                Framing::Atm => Some("atm"),
                Framing::Ptm => Some("ptm"),
            },
        })
    };
    let class = |leaf: &Leaf| {
        let c = &leaf.class;
        json!({
            "id": c.id,
            "parent": c.parent,
            "rate": c.rate,
            "ceil": c.ceil,
            "burst": c.burst,
            "cburst": c.cburst,
            "quantum": c.quantum,
            "priority": c.priority,
            "default": leaf.is_default,
            "dscp": c.dscps,
            "aqm": leaf.queue.as_ref().map(|queue| &queue.aqm),
            "buffer": leaf.queue.as_ref().map(|queue| queue.buffer),
            "counters": c.counters.as_ref().map(counters),
        })
    };
    let link = |link: &Shaped| {
        let classes: Option<Vec<Value>> = match &link.shape {
            Shape::Classes(leaves) => Some(leaves.iter().map(class).collect()),
            _ => None,
        };
        let shaper = match &link.shape {
            Shape::Bucket(b) => Some(bucket(b)),
            _ => link.above.as_ref().map(bucket),
        };
        let (wire, more) = wire(link).unwrap_or_default();
        let wire = toml::from_str::<toml::Table>(&wire).ok().filter(|keys| !keys.is_empty());
        let all: Vec<String> = notes(link).map(str::to_string).chain(more).collect();
        json!({
            "device": link.device,
            "line": link.line,
            "qdisc": link.kind,
            "rate": match &link.shape { Shape::Rate(rate) => Some(rate), _ => None },
            "shaper": shaper,
            "classes": classes,
            "buffer": link.queue.as_ref().map(|queue| queue.buffer),
            "ecn": link.queue.as_ref().map(|queue| queue.ecn),
            "aqm": link.queue.as_ref().map(|queue| &queue.aqm),
            "counters": link.counters.as_ref().map(counters),
            "netem": wire,
            "notes": all,
        })
    };
    let problems: Vec<Value> = dump
        .problems
        .iter()
        .map(|p| json!({ "line": p.line, "word": p.word, "says": p.says, "fatal": p.fatal }))
        .collect();
    json!({
        "links": links.iter().map(link).collect::<Vec<_>>(),
        "problems": problems,
        "more_problems": dump.more_problems,
    })
}
