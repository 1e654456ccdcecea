//! The settings of a router's gateway: the command line over a file.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use quell_aqm::catalog::AqmConfig;
use quell_units::text::cut;
use quell_units::{BitRate, Bytes, QueueSize};
use serde_json::{Map, Value};

use super::super::algorithm::{algorithm, named_algorithm};
use super::super::failure::Failure;
use super::file::{self, File, OnExit, TrafficClass};
use super::firewall::{Choice, Kind, Rules};
use crate::port::nfqueue::MarkBits;
use crate::{ClassConfig, ClassesConfig, ConfigError, Lead, LeadRule, LineConfig, ShaperConfig};

/// A router's gateway.
#[derive(Clone, Debug, Default, Args)]
pub struct RunArgs {
    /// Read settings that are not given here from a TOML file; `reload` reads it again.
    #[arg(long, value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// Device that leads to the slow link.
    #[arg(long, value_name = "DEVICE")]
    wan: Option<String>,
    /// Rate to DEVICE; choose it a little below the link's own so that the queue forms here.
    #[arg(long, value_name = "RATE")]
    up: Option<BitRate>,
    /// Rate from DEVICE, likewise.
    #[arg(long, value_name = "RATE")]
    down: Option<BitRate>,
    /// The algorithm of both directions; default: codel.
    #[arg(long, value_name = "NAME")]
    aqm: Option<String>,
    /// Set a parameter of the algorithm, such as target=10ms.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = assignment)]
    set: Vec<(String, String)>,
    /// Buffer of each direction; default: 200 ms at its rate, at least 20 packets.
    #[arg(long, value_name = "SIZE")]
    buffer: Option<QueueSize>,
    /// Let this much leave at once, as a token bucket does; default: packets leave one by one at the rate.
    #[arg(long, value_name = "SIZE")]
    burst: Option<Bytes>,
    /// Rate at which a burst leaves; default: as fast as the device sends.
    #[arg(long, value_name = "RATE")]
    peak_rate: Option<BitRate>,
    /// Mark ECN-capable packets instead of dropping them.
    #[arg(long)]
    ecn: bool,
    /// Seed of the algorithms' random numbers; default: drawn, and kept in the log.
    #[arg(long, value_name = "SEED")]
    seed: Option<u64>,
    /// Log arrivals and decisions to FILE, for `replay`.
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Start another log file after this many bytes; default: 1 GB.
    #[arg(long, value_name = "SIZE")]
    log_size: Option<Bytes>,
    /// Remove the oldest log files once all together have this many bytes; default: four times --log-size.
    #[arg(long, value_name = "SIZE")]
    log_total: Option<Bytes>,
    /// What happens to traffic if this program dies; default: open.
    #[arg(long, value_enum, value_name = "HOW")]
    on_exit: Option<OnExit>,
    /// Also run another algorithm on the same packets without effect, for the metrics; may be given several times.
    #[arg(long, value_name = "NAME")]
    shadow: Vec<String>,
    /// Serve metrics at a port of this host; default: at the socket /run/quell/ID.sock.
    #[arg(long, value_name = "127.0.0.1:PORT")]
    metrics: Option<SocketAddr>,
    /// Let --metrics use an address that other hosts can reach.
    #[arg(long)]
    metrics_any: bool,
    /// Program that sets the firewall rules; default: auto.
    #[arg(long, value_enum, value_name = "PROGRAM")]
    firewall: Option<Choice>,
    /// Use the kernel's queues N and N+1; default: 5100.
    #[arg(long, value_name = "N")]
    queue: Option<u16>,
    /// Use the bits N and N+1 of the firewall mark; default: 29.
    #[arg(long, value_name = "N")]
    mark_bit: Option<u8>,
    /// Name of this gateway, if several run on one host; default: 0.
    #[arg(long, value_name = "ID", value_parser = id)]
    id: Option<String>,
    /// User that reads packets, by name or number; default: an unused number from 61000 on.
    #[arg(long, alias = "uid", value_name = "USER")]
    user: Option<String>,
}

pub(super) fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.trim().is_empty() => Ok((key.trim().into(), value.trim().into())),
        _ => Err("must have the form KEY=VALUE".into()),
    }
}

pub(super) fn id(text: &str) -> Result<String, String> {
    let fine = (1..=12).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_alphanumeric());
    if fine { Ok(text.into()) } else { Err("must be 1 to 12 letters and digits".into()) }
}

/// The settings that cannot change while a gateway runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fixed {
    pub wan: String,
    pub log: Option<PathBuf>,
    /// The bytes of a file of the log, and of all of them.
    pub log_size: u64,
    pub log_total: u64,
    pub on_exit: OnExit,
    pub metrics: Option<SocketAddr>,
    pub metrics_any: bool,
    pub firewall: Choice,
    pub queue: u16,
    pub bits: MarkBits,
    pub id: String,
    /// Chosen at the start if none is named.
    pub user: Option<(u32, u32)>,
}

/// A gateway's settings, complete and checked.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub fixed: Fixed,
    /// The lines of what goes out at the device, and of what comes in.
    pub lines: [LineConfig; 2],
    pub shadows: Vec<AqmConfig>,
    /// The seed was given, not drawn.
    seeded: bool,
}

/// The mean packet size of automatic parameters and buffers.
const MEAN: Bytes = Bytes::new(1000);

/// The size of a log's file: at 8000 packets a second of one direction, 40 minutes.
const LOG_SIZE: Bytes = Bytes::new(1_000_000_000);

/// The least: each file is a new beginning of the algorithms.
const LEAST_LOG: Bytes = Bytes::new(1_000_000);

/// The least burst: a frame of an Ethernet with jumbo frames.
const LEAST_BURST: Bytes = Bytes::new(9_000);

/// The rate of a burst where none is set: beyond that of any device.
const FASTEST: BitRate = BitRate::from_bps(400_000_000_000);

/// The most classes: a log has to hold them when they change.
const MOST_CLASSES: usize = 32;

/// The packet that turns of classes hold.
const LARGEST: Bytes = Bytes::new(1500);

/// What is there; what is wrong comes to `faults`.
fn or_fault<T>(of: Result<T, Failure>, faults: &mut Vec<String>) -> Option<T> {
    of.map_err(|e| faults.push(e.to_string())).ok()
}

/// The classes of a file, if it has any. What is wrong comes to `faults`.
fn classes(file: &File, faults: &mut Vec<String>) -> Option<ClassesConfig> {
    if file.classes.is_empty() || file.spoils("classes") {
        return None;
    }
    if file.classes.len() > MOST_CLASSES {
        let rule = format!("{} are more than {MOST_CLASSES}; leave some out", file.classes.len());
        faults.push(format!("{}: {rule}", file.place("classes")));
    }
    let (mut classes, mut rules, mut default) = (Vec::new(), Vec::new(), None);
    for (number, class) in file.classes.iter().enumerate() {
        let at = |field: &str| format!("classes[{number}].{field}");
        let mut refused = |field: &str, rule: String| {
            faults.push(format!("{}: {rule}", file.place(&at(field))));
        };
        let TrafficClass { name, dscp, mark, priority, quantum, buffer, aqm, rate, ceil, parent } = class;
        for (field, given) in [("rate", rate), ("ceil", ceil), ("parent", parent)] {
            if given.is_some() {
                let rule = "a gateway's classes share both directions, whose rates differ, so they have none and no \
                    parents; use priority (lower goes first) and quantum (the share among equals)";
                refused(field, rule.into());
            }
        }
        let sound = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || name.len() > 32 || !name.chars().all(sound) {
            let rule = format!("\"{}\" must be 1 to 32 letters, digits, - and _", cut(name));
            refused("name", rule);
        }
        let own = |dscp, mark| LeadRule { class: name.clone(), dscp, mark };
        let before = rules.len();
        rules.extend(dscp.iter().flat_map(|all| all.all()).map(|dscp| own(Some(*dscp), None)));
        rules.extend(mark.iter().flat_map(|all| all.all()).map(|mark| own(None, Some(*mark))));
        if rules[before..].iter().any(|rule| rule.mark == Some(0)) {
            refused("mark", "0 is that of packets without a mark; use 1 to 65535".into());
        }
        if rules.len() == before
            && let Some(other) = default.replace(name.clone())
        {
            let rule = format!(
                "\"{name}\" has neither dscp nor mark, like \"{other}\", and one class takes what no other does; give it \
                 one of them"
            );
            refused("name", rule);
        }
        let aqm = aqm.as_ref().and_then(|value| or_fault(of_file(file, &at("aqm"), value, &[]), faults));
        classes.push(ClassConfig {
            name: name.clone(),
            parent: None,
            limits: None,
            priority: *priority,
            quantum: *quantum,
            buffer: *buffer,
            aqm,
        });
    }
    let Some(default) = default else {
        let rule = "one class must have neither dscp nor mark, to take what no other does; add it";
        faults.push(format!("{}: {rule}", file.place("classes")));
        return None;
    };
    let lead = Lead::Rules { rules, default };
    Some(ClassesConfig { classes, largest: LARGEST, lead })
}

/// The algorithm in `field` of a file: its name, or a table as in scenarios; `set` goes over its parameters.
fn of_file(file: &File, field: &str, value: &Value, set: &[(String, String)]) -> Result<AqmConfig, Failure> {
    let (name, table) = named_table(&file.place(field), value)?;
    let place = |key: Option<&str>| match key {
        Some(key) => file.place(&format!("{field}.{key}")),
        None => file.place(field),
    };
    algorithm(&place, &name, table, set)
}

/// The name and the parameters of an algorithm of a file.
fn named_table(place: &str, value: &Value) -> Result<(String, Map<String, Value>), Failure> {
    let wrong = || {
        Failure::BadInput(format!(
            "{place}: {} must be an algorithm's name, or a table with \"algorithm\" and its parameters",
            cut(&value.to_string())
        ))
    };
    match value {
        Value::String(name) => Ok((name.clone(), Map::new())),
        Value::Object(table) => {
            let mut table = table.clone();
            match table.remove("algorithm") {
                Some(Value::String(name)) => Ok((name, table)),
                _ => Err(wrong()),
            }
        }
        _ => Err(wrong()),
    }
}

/// The user and group `text` of `place`, a name or a number, as /etc/passwd has them.
fn user(place: &str, text: &str) -> Result<(u32, u32), Failure> {
    let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
    let found = passwd.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let &[name, _, uid, gid, ..] = &fields[..] else { return None };
        let (uid, gid) = (uid.parse().ok()?, gid.parse().ok()?);
        (name == text || text.parse() == Ok(uid)).then_some((uid, gid))
    });
    match (found, text.parse::<u32>()) {
        (Some((0, _) | (_, 0)), _) | (None, Ok(0)) => Err(Failure::BadInput(format!(
            "{place}: packets from strangers are not read as root or in its group; name a user that nothing else uses, \
             or none to have one chosen"
        ))),
        (Some(found), _) => Ok(found),
        // Numbers need no entry: 2^32 - 1 is none (setresuid(2)).
        (None, Ok(number)) if number != u32::MAX => Ok((number, number)),
        _ => Err(Failure::BadInput(format!(
            "{place}: \"{}\" is not in /etc/passwd; use a number that nobody has, or none to have one chosen",
            cut(text)
        ))),
    }
}

impl RunArgs {
    /// Which gateway, if it is said here.
    pub(super) fn with_config(&self, config: PathBuf) -> Self {
        RunArgs { config: Some(config), ..self.clone() }
    }

    /// Reads the file, if one is given, and puts everything together.
    ///
    /// # Errors
    /// Names of each fault the place, the value, the rule and what would be right.
    pub(super) fn settings(&self) -> Result<Settings, Failure> {
        let Some(path) = &self.config else { return self.over(&File::default()) };
        let file = File::read(path)?;
        // What is wrong in it is wrong also where an option goes before it: the option may be gone at the next start. Only
        // what it does not say, and nothing has a default for, is taken from the options.
        let alone = RunArgs {
            config: self.config.clone(),
            wan: self.wan.clone().filter(|_| file.wan.is_none()),
            up: self.up.filter(|_| file.up.is_none()),
            down: self.down.filter(|_| file.down.is_none()),
            // A permission, which changes nothing that the file says.
            metrics_any: self.metrics_any,
            ..RunArgs::default()
        };
        alone.over(&file)?;
        self.over(&file)
    }

    /// Puts these over what a file says.
    ///
    /// # Errors
    /// As [`RunArgs::settings`].
    fn over(&self, file: &File) -> Result<Settings, Failure> {
        // The place of what is wrong: an option, if it was given, else the file.
        let at = |field: &str, option: bool| match option {
            true => format!("--{}", field.replace('_', "-")),
            false => file.place(field),
        };
        let mut faults = file.faults.clone();
        let (wan, up, down) =
            (self.wan.clone().or(file.wan.clone()), self.up.or(file.up), self.down.or(file.down));
        let given = [("wan", wan.is_some()), ("up", up.is_some()), ("down", down.is_some())];
        let missing = given.iter().filter(|(name, given)| !given && !file.spoils(name));
        let names: Vec<&str> = missing.map(|(name, _)| *name).collect();
        // All at once, with both ways to give them.
        if !names.is_empty() {
            let are = if names.len() == 1 { "is" } else { "are" };
            let options = names.join(", --");
            let file = match &self.config {
                Some(path) => format!("`{} = ...` to {}", names.join(" = ...`, `"), quell_files::name(path)),
                None => "--config with a file that says so".into(),
            };
            faults.push(format!("{} {are} not given: add --{options}, or {file}", names.join(", ")));
        }
        let wan = wan.unwrap_or_default();
        // What the kernel takes (dev_valid_name), less what a firewall's text could misread.
        let fine = |c: char| c.is_ascii_alphanumeric() || "._-@".contains(c);
        let is_name = !wan.is_empty() && wan.len() <= 15 && !wan.starts_with('-') && wan.chars().all(fine);
        if given[0].1 && !is_name {
            let wan = cut(&wan);
            faults.push(format!(
                "{}: \"{wan}\" must be a device's name, 1 to 15 letters, digits and ._-@: `ip link` lists them",
                at("wan", self.wan.is_some())
            ));
        }
        let aqm = match (&self.aqm, &file.aqm) {
            (Some(name), _) => named_algorithm("--aqm", name, &self.set),
            (None, Some(value)) => of_file(file, "aqm", value, &self.set),
            (None, None) => named_algorithm("--aqm", "codel", &self.set),
        };
        let aqm = or_fault(aqm, &mut faults);
        let mut shadows = Vec::new();
        for name in &self.shadow {
            let aqm = or_fault(named_algorithm("--shadow", name, &[]), &mut faults);
            shadows.extend(aqm.map(|aqm| ("--shadow".to_string(), aqm)));
        }
        if self.shadow.is_empty() {
            for (n, value) in file.shadow.iter().enumerate() {
                let field = format!("shadow[{n}]");
                let aqm = or_fault(of_file(file, &field, value, &[]), &mut faults);
                shadows.extend(aqm.map(|aqm| (field, aqm)));
            }
        }
        let seeded = self.seed.or(file.seed);
        let seed = match seeded {
            Some(seed) => seed,
            None => crate::random_seed().map_err(|e| Failure::Failed(format!("cannot draw a seed: {e}")))?,
        };
        let buffer = self.buffer.or(file.buffer);
        let burst = self.burst.or(file.burst);
        let peak = self.peak_rate.or(file.peak_rate);
        if let (None, Some(peak), false) = (burst, peak, file.spoils("burst")) {
            let place = at("peak_rate", self.peak_rate.is_some());
            let rule = "is the rate of bursts, and there are none; add burst, such as \"60 kB\"";
            faults.push(format!("{place}: {peak} {rule}"));
        }
        if let Some(burst) = burst.filter(|burst| *burst < LEAST_BURST) {
            let place = at("burst", self.burst.is_some());
            let rule =
                format!("must be at least {LEAST_BURST}, so that it holds every packet of an Ethernet");
            faults.push(format!("{place}: {burst} {rule}"));
        }
        if let Some((peak, most)) = peak.zip(up.max(down)).filter(|(peak, most)| peak <= most) {
            let place = at("peak_rate", self.peak_rate.is_some());
            faults.push(format!("{place}: {peak} must be above up and down ({most})"));
        }
        let classes = classes(file, &mut faults);
        let line = |name: &str, rate: BitRate, aqm: AqmConfig| {
            let packets = (rate.bytes_per_sec() * 0.2 / MEAN.get() as f64).ceil().clamp(20.0, 100_000.0);
            LineConfig {
                name: name.into(),
                // A burst leaves at the rate of the line, which is the peak then.
                rate: burst.map_or(rate, |_| peak.unwrap_or(FASTEST)),
                buffer: buffer.unwrap_or(QueueSize::Packets(packets)),
                mean_packet: MEAN,
                ecn: self.ecn || file.ecn.unwrap_or(false),
                seed,
                aqm,
                shaper: burst.map(|burst| {
                    let (peak_rate, mtu, limit) = (None, None, None);
                    ShaperConfig { rate, burst, peak_rate, mtu, limit }
                }),
                classes: classes.clone(),
                behind: None,
            }
        };
        // A line names its own field; what it comes from is said here.
        let wrong = |ConfigError { field, rule }: ConfigError, shadow: Option<&str>| {
            let (line, field) = field.split_once('.').unwrap_or(("", &field));
            let parameter = field.strip_prefix("aqm.");
            let place = match (parameter, shadow) {
                (Some(key), Some("--shadow")) => format!("--shadow: {key}"),
                (Some(key), Some(shadow)) => file.place(&format!("{shadow}.{key}")),
                (Some(key), None) if self.set.iter().any(|(set, _)| set == key) => format!("--set {key}"),
                (Some(key), None) if self.aqm.is_some() || file.aqm.is_none() => format!("--aqm: {key}"),
                (Some(_), None) => file.place(field),
                (None, _) if field.starts_with("classes.") => {
                    let mut parts = field.split('.').skip(1);
                    let (class, field) = (parts.next().unwrap_or(""), parts.next().unwrap_or("name"));
                    match file.classes.iter().position(|other| other.name == class) {
                        Some(number) => file.place(&format!("classes[{number}].{field}")),
                        None => file.place("classes"),
                    }
                }
                (None, _) if field == "shaper.burst" => at("burst", self.burst.is_some()),
                (None, _) if field == "rate" && burst.is_some() => at("peak_rate", self.peak_rate.is_some()),
                (None, _) if field == "rate" || field == "shaper.rate" => {
                    let option = if line == "up" { self.up } else { self.down };
                    at(line, option.is_some())
                }
                (None, _) => at(field, self.buffer.is_some()),
            };
            let rule = if parameter.is_some() { format!("{rule} ({line})") } else { rule };
            (place, rule)
        };
        // What is wrong in both lines is said once, and what was said already is not said in other words.
        let mut add = |(place, rule): (String, String)| {
            let place = format!("{place}: ");
            if !faults.iter().any(|fault| fault.starts_with(&place)) {
                faults.push(place + &rule);
            }
        };
        let rates = up.map(|up| ("up", up)).into_iter().chain(down.map(|down| ("down", down)));
        let mut lines = Vec::new();
        for (name, rate) in rates {
            for (place, shadow) in &shadows {
                let built = line(name, rate, shadow.clone()).build();
                built.err().into_iter().for_each(|e| add(wrong(e, Some(place))));
            }
            if let Some(aqm) = &aqm {
                let line = line(name, rate, aqm.clone());
                line.build().err().into_iter().for_each(|e| add(wrong(e, None)));
                lines.push(line);
            }
        }
        let queue = self.queue.or(file.queue).unwrap_or(5100);
        if queue == u16::MAX {
            let rule = "65535 must leave room for a second queue; use 65534 or less";
            faults.push(format!("{}: {rule}", at("queue", self.queue.is_some())));
        }
        let bits = match self.mark_bit.or(file.mark_bit) {
            None => MarkBits::default(),
            Some(bit) => MarkBits::from(bit).unwrap_or_else(|| {
                let rule = "must leave room for a second bit of 32; use 30 or less";
                faults.push(format!("{}: {bit} {rule}", at("mark_bit", self.mark_bit.is_some())));
                MarkBits::default()
            }),
        };
        let name = self.id.clone().or(file.id.clone()).unwrap_or_else(|| "0".into());
        if let Err(rule) = id(&name) {
            faults.push(format!("{}: \"{}\" {rule}", at("id", self.id.is_some()), cut(&name)));
        }
        let who = match (&self.user, &file.user) {
            (Some(text), _) | (None, Some(Value::String(text))) => Some(text.clone()),
            (None, Some(other)) => Some(other.to_string()),
            (None, None) => None,
        };
        let (metrics, metrics_any) =
            (self.metrics.or(file.metrics), self.metrics_any || file.metrics_any.unwrap_or(false));
        if let Some(address) = metrics.filter(|_| !file.spoils("metrics_any"))
            && let Err(e) = crate::metrics::Endpoint::tcp(address, metrics_any)
        {
            faults.push(format!("{}: {e}", at("metrics", self.metrics.is_some())));
        }
        let log_size = self.log_size.or(file.log_size).unwrap_or(LOG_SIZE);
        if log_size.get() < LEAST_LOG.get() {
            let place = at("log_size", self.log_size.is_some());
            faults.push(format!("{place}: {log_size} must be at least {LEAST_LOG}"));
        }
        let log_total =
            self.log_total.or(file.log_total).unwrap_or(Bytes::new(log_size.get().saturating_mul(4)));
        if log_total.get() / 2 < log_size.get() && !file.spoils("log_size") {
            let place = at("log_total", self.log_total.is_some());
            faults
                .push(format!("{place}: {log_total} must hold at least two files of {log_size} (log_size)"));
        }
        let log = self.log.clone().or(file.log.clone());
        if log.as_ref().is_some_and(|log| log.as_os_str().is_empty()) {
            let rule = "\"\" must name a file, such as /var/log/quell/log; leave it out for none";
            faults.push(format!("{}: {rule}", at("log", self.log.is_some())));
        }
        let user = who.and_then(|who| or_fault(user(&at("user", self.user.is_some()), &who), &mut faults));
        file::all(&faults)?;
        let lines = lines.try_into().map_err(|_| Failure::Failed("a gateway has two directions".into()))?;
        let fixed = Fixed {
            wan,
            log,
            log_size: log_size.get(),
            log_total: log_total.get(),
            on_exit: self.on_exit.or(file.on_exit).unwrap_or_default(),
            metrics,
            metrics_any,
            firewall: self.firewall.or(file.firewall).unwrap_or_default(),
            queue,
            bits,
            id: name,
            user,
        };
        let shadows = shadows.into_iter().map(|(_, aqm)| aqm).collect();
        Ok(Settings { fixed, lines, shadows, seeded: seeded.is_some() })
    }
}

/// The name of the gateway that a file is of.
///
/// # Errors
/// If it cannot be read.
pub(super) fn id_of(path: &Path) -> Result<String, Failure> {
    let file = File::read(path)?.sound()?;
    let name = file.id.clone().unwrap_or_else(|| "0".into());
    id(&name).map_err(|rule| Failure::BadInput(format!("{}: \"{}\" {rule}", file.place("id"), cut(&name))))
}

/// Refuses what came through a pipe: it is gone.
///
/// # Errors
/// If a file cannot be read a second time.
pub(super) fn again(path: &Path) -> Result<(), String> {
    if quell_files::is_given(path) && !path.is_file() {
        let path = quell_files::name(path);
        return Err(format!(
            "it was started with --config {path}, a pipe, which cannot be read again; name a file"
        ));
    }
    Ok(())
}

impl Settings {
    /// The rules that lead packets here.
    pub fn rules(&self, kind: Kind) -> Rules {
        let Fixed { wan, queue, bits, id, on_exit, .. } = &self.fixed;
        let open = *on_exit == OnExit::Open;
        Rules { kind, id: id.clone(), wan: wan.clone(), queue: *queue, open, bits: *bits }
    }

    /// The settings from now on where `self` holds, if `new` can be had without a new start. A seed that was drawn
    /// stays.
    ///
    /// # Errors
    /// Names what cannot change.
    pub fn reloaded(&self, mut new: Settings) -> Result<Settings, String> {
        let (is, was) = (&new.fixed, &self.fixed);
        let changed = [
            ("wan", is.wan != was.wan),
            ("log", is.log != was.log),
            ("log_size", is.log_size != was.log_size),
            ("log_total", is.log_total != was.log_total),
            ("on_exit", is.on_exit != was.on_exit),
            ("metrics", (is.metrics, is.metrics_any) != (was.metrics, was.metrics_any)),
            ("firewall", is.firewall != was.firewall),
            ("queue", is.queue != was.queue),
            ("mark_bit", is.bits != was.bits),
            ("id", is.id != was.id),
            ("user", is.user != was.user),
            ("shadow", new.shadows != self.shadows),
        ];
        let names: Vec<&str> =
            changed.iter().filter(|(_, changed)| *changed).map(|(name, _)| *name).collect();
        if !names.is_empty() {
            return Err(format!(
                "{} cannot change while it runs; stop it and start it again",
                names.join(", ")
            ));
        }
        if !new.seeded {
            for (line, was) in new.lines.iter_mut().zip(&self.lines) {
                line.seed = was.seed;
            }
        }
        Ok(new)
    }
}

#[cfg(test)]
mod tests {
    use quell_queue::{Classify as _, Qdisc as _};

    use super::*;

    fn of(text: &str) -> Result<Settings, String> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gateway.toml");
        fs::write(&path, text).unwrap();
        let said = RunArgs::default().with_config(path).settings();
        said.map_err(|e| e.to_string().replace(&dir.path().display().to_string(), ""))
    }

    #[test]
    fn a_pipe_is_not_read_again() {
        use std::os::fd::AsRawFd as _;
        let (reader, _writer) = std::io::pipe().unwrap();
        let path = format!("/dev/fd/{}", reader.as_raw_fd());
        let why = "a pipe, which cannot be read again; name a file";
        assert_eq!(again(Path::new(&path)), Err(format!("it was started with --config {path}, {why}")));
        let file = tempfile::tempfile().unwrap();
        assert_eq!(again(Path::new(&format!("/dev/fd/{}", file.as_raw_fd()))), Ok(()));
        assert_eq!(again(Path::new("gateway.toml")), Ok(()));
    }

    const GOOD: &str = "wan = \"eth0\"\nup = \"18 Mbit/s\"\ndown = \"95 Mbit/s\"\n";

    /// What `quell recommend` writes for a gateway is read here, with every algorithm, and says the same.
    #[test]
    fn a_file_that_is_recommended_is_read() {
        use quell_router::{Platform, Shaped, Side, Which, technology, write};

        let more = [
            "algorithm = \"cake\"\nrtt = \"80 ms\"\ndiffserv = \"diffserv4\"\nack_filter = \"on\"",
            "algorithm = \"wred\"\nclasses = [{ precedence = 3, min_th = \"30 packets\", max_p = 0.5 }]",
            "algorithm = \"red\"\nmin_th = \"15 kB\"\nmax_th = \"45 kB\"\nweight = { time_constant = \"1 s\" }",
        ];
        let more = more.iter().map(|text| toml::from_str::<AqmConfig>(text).unwrap());
        for aqm in quell_aqm::catalog::CATALOG.iter().map(|entry| (entry.default)()).chain(more) {
            let side = |rate: &str| Side {
                link: technology::find("docsis").unwrap().shaped(rate.parse().unwrap()),
                aqm: aqm.clone(),
                ecn: true,
                buffer: QueueSize::Packets(400.0),
                range: None,
            };
            let (wan, lan) = ("eth0".into(), None);
            let shaped =
                Shaped { wan, lan, down: side("100 Mbit/s"), up: side("20 Mbit/s"), which: Which::Both };
            let written = write(Platform::Gateway, &shaped).unwrap();
            let settings =
                of(&written.parts[0].text).unwrap_or_else(|e| panic!("{e}: {}", written.parts[0].text));
            // 95% of the rates, less 18 of each 1018 bytes, which IP packets are not.
            assert_eq!(settings.lines.each_ref().map(|line| line.rate.bps()), [18_660_000, 93_320_000]);
            assert!(settings.lines.iter().all(|line| line.aqm == aqm && line.ecn), "{aqm:?}");
            assert_eq!(settings.lines[0].buffer, QueueSize::Packets(400.0));
        }
    }

    #[test]
    fn a_file_says_what_options_say() {
        let settings = of(&format!(
            "{GOOD}ecn = true\nseed = 4\nuser = 1000\non_exit = \"closed\"\nshadow = [\"pie\", {{ algorithm = \"red\" }}]\n\
             [aqm]\nalgorithm = \"codel\"\ntarget = \"7 ms\"\n"
        ))
        .unwrap();
        assert_eq!(settings.lines[0].rate.to_string(), "18 Mbit/s");
        assert_eq!(
            settings.lines[1].aqm,
            named_algorithm("", "codel", &[("target".into(), "7ms".into())]).unwrap()
        );
        assert_eq!(settings.fixed.user.map(|user| user.0), Some(1000));
        assert!(settings.lines[0].ecn && !settings.rules(Kind::Nft).open && settings.shadows.len() == 2);
        // What is given on the command line goes before the file.
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gateway.toml");
        fs::write(&path, GOOD).unwrap();
        let args = RunArgs { up: Some(BitRate::from_bps(5_000_000)), ..RunArgs::default() }.with_config(path);
        assert_eq!(args.settings().unwrap().lines[0].rate.bps(), 5_000_000);
    }

    #[test]
    fn bursts_and_classes_are_those_of_both_lines() {
        let settings = of(&format!(
            "{GOOD}burst = \"60 kB\"\n[[classes]]\nname = \"voice\"\ndscp = [46, 44]\npriority = 0\naqm = \"drop-tail\"\n\
             [[classes]]\nname = \"bulk\"\nmark = 8\npriority = 1\nbuffer = \"9 packets\"\n[[classes]]\nname = \"rest\"\n\
             priority = 1\n"
        ))
        .unwrap();
        for (line, rate) in settings.lines.iter().zip([18, 95]) {
            let shaper = line.shaper.as_ref().unwrap();
            assert_eq!((line.capacity(), shaper.burst.get()), (BitRate::from_bps(rate * 1_000_000), 60_000));
            let classes = line.classes.as_ref().unwrap();
            assert_eq!(classes.classes.len(), 3);
            let built = line.build().unwrap();
            assert_eq!(built.queue().lane_name(1), Some("bulk"));
            // A packet of each, without a mark and with one.
            let plan = classes.plan();
            let finder = classes.finder(&plan).unwrap();
            let leaf = |dscp, tag| {
                let header = crate::header::Header { dscp, ..Default::default() };
                finder.leaf(&crate::Packet { tag, ..crate::Packet::new(0, 100, header) })
            };
            assert_eq!([leaf(46, 0), leaf(44, 3), leaf(46, 8), leaf(0, 8), leaf(0, 9)], [0, 0, 1, 1, 2]);
        }
    }

    #[test]
    fn what_is_wrong_in_a_file_is_said_with_its_place_and_what_is_right() {
        let cases = [
            (
                "up = \"5 Mbit/s\"\n".to_string(),
                "wan, down are not given: add --wan, --down, or `wan = ...`, `down = ...` to /gateway.toml",
            ),
            (GOOD.replace("wan", "id"), "wan is not given: add --wan, or `wan = ...` to /gateway.toml"),
            (format!("{GOOD}wan = \"eth1\"\n"), "gateway.toml:4: duplicate key wan: give it once"),
            (
                format!("{GOOD}[aqm]\nalgorithm = \"red\"\nmax_p = nan\n"),
                "gateway.toml:6: aqm.max_p = nan: must be a number",
            ),
            (format!("{GOOD}seed = -inf\n"), "gateway.toml:4: seed = -inf: must be a number"),
            (
                format!("{GOOD}shadow = [{{ algorithm = \"pie\", target = 2026-01-01 }}]\n"),
                "gateway.toml:4: shadow[0].target = 2026-01-01: a date is not a value",
            ),
            (GOOD.replace("18 Mbit/s", "18 Mbit"), "gateway.toml:2: up = \"18 Mbit\": "),
            (GOOD.replace("\"18 Mbit/s\"", "[1"), "gateway.toml:3: "),
            (format!("{GOOD}rate = 1\n"), "gateway.toml:4: rate: unknown key; known: wan, up, down, "),
            (
                format!("{GOOD}mark-bit = 3\n"),
                "gateway.toml:4: mark-bit: unknown key; did you mean \"mark_bit\"? Known: ",
            ),
            (
                GOOD.replace("down", "downn"),
                "gateway.toml:3: downn: unknown key; did you mean \"down\"? Known: ",
            ),
            (format!("{GOOD}ecn = \"yes\"\n"), "gateway.toml:4: ecn = \"yes\": invalid type"),
            (
                format!("{GOOD}on_exit = \"close\"\n"),
                "gateway.toml:4: on_exit = \"close\": did you mean \"closed\"? ",
            ),
            (format!("{GOOD}log = \"\"\n"), "gateway.toml:4: log: \"\" must name a file"),
            (
                format!("{GOOD}aqm = \"coddle\"\n"),
                "gateway.toml:4: aqm: \"coddle\" is not an algorithm; did you mean \"codel\"? Known: ",
            ),
            (format!("{GOOD}aqm = 7\n"), "gateway.toml:4: aqm: 7 must be an algorithm's name, or a table"),
            (format!("{GOOD}[aqm]\nalgorithm = \"red\"\nmax_p = 7\n"), "gateway.toml:6: aqm.max_p: 7: "),
            (
                format!("{GOOD}[aqm]\nalgorithm = \"codel\"\ninterval = \"90 ms\"\ntargt = \"5 ms\"\n"),
                "gateway.toml:7: aqm.targt: did you mean \"target\"? unknown field",
            ),
            (
                format!("{GOOD}[aqm]\nalgorithm = \"codel\"\ntarget = 5\n"),
                "gateway.toml:6: aqm.target: invalid type: integer `5`",
            ),
            (
                format!("{GOOD}shadow = [\"pie\",\n  {{ algorithm = \"red\", max_p = 7 }}]\n"),
                "gateway.toml:5: shadow[1].max_p: 7: ",
            ),
            (
                format!("{GOOD}shadow = [\"pie\",\n  \"read\"]\n"),
                "gateway.toml:5: shadow[1]: \"read\" is not an algorithm",
            ),
            (
                format!("{GOOD}peak_rate = \"1 Gbit/s\"\n"),
                "gateway.toml:4: peak_rate: 1 Gbit/s is the rate of bursts, and there are none; add burst",
            ),
            (format!("{GOOD}burst = \"1 kB\"\n"), "gateway.toml:4: burst: 1 kB must be at least 9 kB"),
            (
                format!("{GOOD}burst = \"60 kB\"\npeak_rate = \"90 Mbit/s\"\n"),
                "gateway.toml:5: peak_rate: 90 Mbit/s must be above up and down (95 Mbit/s)",
            ),
            (
                GOOD.replace("95 M", "0 ") + "burst = \"60 kB\"\n",
                "gateway.toml:3: down: 0 bit/s: must be positive",
            ),
            (
                format!("{GOOD}[[classes]]\nname = \"a\"\nrate = \"1 Mbit/s\"\n"),
                "gateway.toml:6: classes[0].rate: a gateway's classes share both directions, whose rates differ",
            ),
            (
                format!("{GOOD}[[classes]]\nname = \"a\"\ndscp = 46\n"),
                "gateway.toml:4: classes: one class must have neither dscp nor mark",
            ),
            (
                format!("{GOOD}[[classes]]\nname = \"a\"\n[[classes]]\nname = \"b\"\n"),
                "gateway.toml:7: classes[1].name: \"b\" has neither dscp nor mark, like \"a\"",
            ),
            (
                format!("{GOOD}[[classes]]\nname = \"a\"\ndscp = [1, 64]\n[[classes]]\nname = \"b\"\n"),
                "classes[0].dscp: 64: must be at most 63; shift",
            ),
            (
                format!("{GOOD}[[classes]]\nname = \"a\"\nmark = 0\n[[classes]]\nname = \"b\"\n"),
                "gateway.toml:6: classes[0].mark: 0 is that of packets without a mark",
            ),
            (
                format!(
                    "{GOOD}[[classes]]\nname = \"a\"\nmark = 7\nquantum = \"100 B\"\n[[classes]]\nname = \"b\"\n"
                ),
                "gateway.toml:7: classes[0].quantum: 100 B: must be at least the largest packet",
            ),
            (
                format!("{GOOD}[[classes]]\nname = \"a\"\naqm = \"coddle\"\n"),
                "gateway.toml:6: classes[0].aqm: \"coddle\" is not an algorithm",
            ),
            (
                format!("{GOOD}[[classes]]\nname = \"a\"\nbuffer = \"0 packets\"\n"),
                "gateway.toml:6: classes[0].buffer: 0 packets must hold one to",
            ),
            (
                format!("{GOOD}[[classes]]\nname = \"a\"\ncolor = 1\n"),
                "color: unknown key; known: name, dscp, mark",
            ),
            (GOOD.replace("95 M", "0 "), "gateway.toml:3: down: 0 bit/s must be 1 kbit/s to 400 Gbit/s"),
            (format!("{GOOD}buffer = \"0 packets\"\n"), "gateway.toml:4: buffer: 0 packets must hold one to"),
            (format!("{GOOD}mark_bit = 31\n"), "gateway.toml:4: mark_bit: 31 must leave room"),
            (
                format!("{GOOD}queue = 65535\n"),
                "gateway.toml:4: queue: 65535 must leave room for a second queue",
            ),
            (format!("{GOOD}log_size = \"9 kB\"\n"), "log_size: 9 kB must be at least 1 MB"),
            (
                format!("{GOOD}log_size = \"3 MB\"\nlog_total = \"5 MB\"\n"),
                "log_total: 5 MB must hold at least two files of 3 MB (log_size)",
            ),
            (format!("{GOOD}id = \"a b\"\n"), "id: \"a b\" must be 1 to 12 letters and digits"),
            (
                format!("{GOOD}user = \"root\"\n"),
                "gateway.toml:4: user: packets from strangers are not read as root",
            ),
            (format!("{GOOD}user = \"nobody-here\"\n"), "is not in /etc/passwd"),
            (format!("{GOOD}metrics = \"0.0.0.0:9101\"\n"), "other hosts reach this address"),
            (GOOD.replace("eth0", "eth0 -j DROP"), "must be a device's name"),
            (GOOD.replace("eth0", "-eth0"), "must be a device's name"),
        ];
        for (text, expected) in cases {
            let said = of(&text).unwrap_err();
            assert!(said.contains(expected), "{text}\n{said}");
        }
    }

    #[test]
    fn all_that_is_wrong_in_a_file_is_said_at_once() {
        let text = "wan = \"eth 0\"\nup = 18\ndown = \"95 Mbit/s\"\ncolor = 1\necn = \"yes\"\nseed = nan\nqueue = 65535\n\
                    log_size = \"9 kB\"\nshadow = [\"coddle\",\n \"pie\"]\n[aqm]\nalgorithm = \"codel\"\ntarget = 5\n\
                    targt = 5\n[[classes]]\nname = \"a b\"\nmark = 0\n[[classes]]\nname = \"c\"\ndscp = \"x\"\n";
        let said = of(text).unwrap_err();
        let line = |said: &str| said.split(':').nth(1).unwrap().parse::<usize>().unwrap();
        let mut lines: Vec<usize> = said.lines().map(line).collect();
        lines.sort_unstable();
        // The classes are looked at once all of them can be read.
        assert_eq!(lines, [1, 2, 4, 5, 6, 7, 8, 9, 13, 14, 20], "{said}");
        let said = of(&text.replace("\"x\"", "64")).unwrap_err();
        for place in [":16: classes[0].name: ", ":17: classes[0].mark: "] {
            assert!(said.contains(place), "{said}");
        }
    }

    #[test]
    fn an_option_permits_an_address_of_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gateway.toml");
        fs::write(&path, format!("{GOOD}metrics = \"0.0.0.0:9101\"\n")).unwrap();
        let args = RunArgs { metrics_any: true, ..RunArgs::default() }.with_config(path);
        assert!(args.settings().unwrap().fixed.metrics_any);
    }

    #[test]
    fn what_has_to_be_given_is_said_with_both_ways() {
        let said = RunArgs::default().settings().map(|_| ()).unwrap_err().to_string();
        let expected =
            "wan, up, down are not given: add --wan, --up, --down, or --config with a file that says so";
        assert_eq!(said, expected);
    }

    /// An option that goes before a value of the file does not make that right.
    #[test]
    fn the_whole_file_is_checked_also_where_options_go_before_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("gateway.toml");
        let mut options = RunArgs {
            wan: Some("eth1".into()),
            up: Some(BitRate::from_bps(5_000_000)),
            down: Some(BitRate::from_bps(5_000_000)),
            aqm: Some("pie".into()),
            buffer: Some(QueueSize::Packets(50.0)),
            log: Some("log".into()),
            log_size: Some(Bytes::new(2_000_000)),
            log_total: Some(Bytes::new(4_000_000)),
            shadow: vec!["red".into()],
            metrics: Some("127.0.0.1:9101".parse().unwrap()),
            queue: Some(5),
            mark_bit: Some(3),
            id: Some("a".into()),
            user: Some("61000".into()),
            ..RunArgs::default()
        }
        .with_config(path.clone());
        for (text, expected) in [
            ("wan = \"a b\"", ":1: wan: "),
            ("up = \"1 bit/s\"", ":1: up: "),
            ("down = \"1 bit/s\"", ":1: down: "),
            ("aqm = \"coddle\"", ":1: aqm: "),
            ("[aqm]\nalgorithm = \"red\"\nmax_p = 7", ":3: aqm.max_p: "),
            ("buffer = \"0 packets\"", ":1: buffer: "),
            ("log = \"\"", ":1: log: "),
            ("log_size = \"1 kB\"", ":1: log_size: "),
            ("log_total = \"1 MB\"", ":1: log_total: "),
            ("shadow = [\"coddle\"]", ":1: shadow[0]: "),
            ("metrics = \"0.0.0.0:9101\"", ":1: metrics: "),
            ("queue = 65535", ":1: queue: "),
            ("mark_bit = 31", ":1: mark_bit: "),
            ("id = \"a b\"", ":1: id: "),
            ("user = \"root\"", ":1: user: "),
        ] {
            fs::write(&path, text).unwrap();
            let said = options.settings().map(|_| ()).unwrap_err().to_string();
            assert!(said.starts_with(&format!("{}{expected}", path.display())), "{text}: {said}");
        }
        // What is right by itself may be less or more together, and an option that is wrong is not the file's fault.
        fs::write(&path, "log_size = \"100 MB\"").unwrap();
        assert_eq!(options.settings().unwrap().fixed.log_total, 4_000_000);
        options.log = Some("".into());
        let said = options.settings().map(|_| ()).unwrap_err().to_string();
        assert!(said.starts_with("--log: \"\" must name a file"), "{said}");
        options.log = None;
        options.log_size = Some(Bytes::new(5));
        let said = options.settings().map(|_| ()).unwrap_err().to_string();
        assert!(said.starts_with("--log-size: 5 B must be at least 1 MB"), "{said}");
    }

    #[test]
    fn a_reload_keeps_the_seed_and_refuses_what_needs_a_new_start() {
        let before = of(GOOD).unwrap();
        let after = before.reloaded(of(&GOOD.replace("18", "9")).unwrap()).unwrap();
        assert_eq!((after.lines[0].rate.bps(), after.lines[0].seed), (9_000_000, before.lines[0].seed));
        let said = before.reloaded(of(&GOOD.replace("eth0", "eth1")).unwrap()).unwrap_err();
        assert!(said.starts_with("wan cannot change"), "{said}");
    }
}
