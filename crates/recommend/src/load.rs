//! What hosts send and receive: groups of flows, down and up.

use quell_presets::find_load;
use quell_router::Technology;
use quell_units::text::cut;
use quell_units::{BitRate, Bytes, Duration, Layer, LinkLayer};

use crate::span::Span;

/// Groups of flows, as a scenario writes them.
#[derive(Clone, Debug, PartialEq)]
pub struct Load {
    /// Its name.
    pub name: String,
    groups: Vec<toml::Table>,
}

/// What a group of flows is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Use {
    /// A call: packets at regular intervals whose delay is measured.
    Call,
    /// Pages.
    Pages,
    /// Adaptive video.
    Video,
    /// Endless transfers.
    Bulk,
    /// Anything else.
    Other,
}

/// The link on which a load is put.
pub(crate) struct Carrier {
    pub(crate) down: BitRate,
    pub(crate) up: BitRate,
    pub(crate) rtt: Span<Duration>,
    pub(crate) hosts: u16,
    /// The number of endless transfers in each direction; `None`: as the load has them.
    pub(crate) bulk: Option<u32>,
    /// The time that is simulated.
    pub(crate) duration: Duration,
    /// Only what every kernel can send: calls, and transfers with its own congestion control.
    pub(crate) real: bool,
}

/// The call of slow links: 20 ms of G.729 in 20 B of speech (RFC 3551 section 4.5.6), in an Ethernet frame as a queue counts
/// it.
const NARROW: (&str, &str) = ("29.6 kbit/s", "74 B");
/// The rate below which calls are those: a tenth of it is what the usual call takes.
const WIDE: BitRate = BitRate::from_bps(900_000);
/// The shortest time in which the starts of a load are as it has them: within some seconds.
const UNHURRIED: Duration = Duration::from_secs(20);
/// The largest frame.
pub(crate) const FRAME: Bytes = Bytes::new(1514);

impl Load {
    /// The load of a link for which none is named.
    ///
    /// # Errors
    /// As [`Load::named`].
    pub fn usual(technology: &Technology) -> Result<Load, String> {
        Load::named(if technology.name == "port" { "rrul" } else { "home" })
    }

    /// The load called `name`; "home" is a household, half of whose downloads have BBR.
    ///
    /// # Errors
    /// If there is none, with the one that may have been meant.
    pub fn named(name: &str) -> Result<Load, String> {
        let is_home = name.eq_ignore_ascii_case("home");
        let near = quell_names::nearest(name, ["home"]);
        let load = find_load(if is_home { "household" } else { name }).map_err(|error| match near {
            Some(near) => format!("unknown load \"{}\"; did you mean \"{near}\"?", cut(name)),
            None => format!("{error}, home"),
        })?;
        let mut read = Load::read(load.preset.text, load.preset.name)?;
        if is_home {
            read.name = "home".to_string();
            // Today's senders: CUBIC where nothing else is said, and BBR where much is sent.
            let download = read.groups.iter().position(|group| text(group, "name") == "download");
            if let Some(at) = download {
                let mut bbr = read.groups[at].clone();
                let tcp = toml::Table::from_iter([
                    ("congestion".to_string(), "bbr3".into()),
                    ("pacing".to_string(), true.into()),
                ]);
                bbr.insert("name".to_string(), "download-bbr".into());
                bbr.insert("tcp".to_string(), toml::Value::Table(tcp));
                bbr.insert("count".to_string(), "flows.download.count".into());
                read.groups.insert(at + 1, bbr);
            }
        }
        Ok(read)
    }

    /// The `[[flows]]` of a scenario or of a part of one; `name` stands for it in titles.
    ///
    /// # Errors
    /// Says what is not there.
    pub fn read(text: &str, name: &str) -> Result<Load, String> {
        let file: toml::Table =
            toml::from_str(text).map_err(|error| format!("{name}: {}", error.message()))?;
        let Some(toml::Value::Array(flows)) = file.get("flows") else {
            return Err(format!("{name}: has no [[flows]], which a load consists of"));
        };
        let groups: Option<Vec<toml::Table>> = flows.iter().map(|group| group.as_table().cloned()).collect();
        let groups = groups.filter(|groups| !groups.is_empty());
        let groups = groups.ok_or_else(|| format!("{name}: flows must be tables"))?;
        Ok(Load { name: cut(name), groups })
    }

    /// The least rate of a video of each host down, as the load has it.
    pub(crate) fn least_video(&self) -> Option<BitRate> {
        let videos = self.groups.iter().filter(|group| use_of(group) == Use::Video && !is_up(group));
        let rates = videos.filter_map(|group| group.get("rates")?.as_array());
        rates.filter_map(|rates| rates.first()?.as_str()?.parse().ok()).max()
    }

    /// The bits per second that all calls of a direction take of the link, of which `slower` is the slower direction's rate;
    /// groups that do not say a number count as one.
    pub(crate) fn calls(&self, is_up: bool, link: LinkLayer, hosts: u16, slower: BitRate) -> Option<f64> {
        let own =
            self.groups.iter().filter(|group| use_of(group) == Use::Call && self::is_up(group) == is_up);
        let of = |group: &toml::Table| {
            let usual = (text(group, "rate"), text(group, "packet"));
            let (rate, packet) = if slower < WIDE { NARROW } else { usual };
            let (rate, packet) = (rate.parse::<BitRate>().ok()?, packet.parse::<Bytes>().ok()?);
            let wire = link.seen_from(Layer::Ethernet).on_wire(packet).get() as f64;
            let count = group.get("count").and_then(toml::Value::as_integer).unwrap_or(1).max(1);
            Some(count as f64 * f64::from(hosts) * rate.bps() as f64 * wire / packet.get().max(1) as f64)
        };
        let rates: Vec<f64> = own.filter_map(of).collect();
        (!rates.is_empty()).then(|| rates.iter().sum())
    }

    /// Tells whether some senders take a mark for little, as DCTCP does, so that a queue has to mark early for them.
    pub(crate) fn is_early(&self) -> bool {
        let control =
            |group: &toml::Table| Some(text(group.get("tcp")?.as_table()?, "congestion").to_string());
        self.groups.iter().filter_map(control).any(|name| name == "dctcp" || name == "prague")
    }

    /// Each group with its use, and whether it goes up.
    pub(crate) fn uses(&self) -> impl Iterator<Item = (&str, Use, bool)> {
        self.groups.iter().map(|group| (text(group, "name"), use_of(group), is_up(group)))
    }

    /// The endless transfers of a direction, or `instead` of them; groups that do not say a number count as one.
    pub(crate) fn bulk(&self, up: bool, hosts: u16, instead: Option<u32>) -> u32 {
        let groups = self.groups.iter().filter(|group| use_of(group) == Use::Bulk && is_up(group) == up);
        let count = |group: &toml::Table| group.get("count").and_then(toml::Value::as_integer).unwrap_or(1);
        let each: i64 = groups.map(|group| count(group).max(1)).sum();
        let all = u32::try_from(each).unwrap_or(u32::MAX).saturating_mul(u32::from(hosts));
        instead.unwrap_or(all).max(1)
    }

    /// The groups that a wire sends whose delay is measured.
    pub(crate) fn uses_of_wire(&self) -> impl Iterator<Item = &str> {
        self.uses().filter(|(_, of, _)| *of == Use::Call).map(|(group, ..)| group)
    }

    /// The groups on a link, as the text of a scenario.
    pub(crate) fn write(&self, on: &Carrier) -> Result<String, String> {
        let mut out = String::new();
        let mut bulk_ways = [false; 2];
        for group in &self.groups {
            let (of, up) = (use_of(group), is_up(group));
            if on.real && (!matches!(of, Use::Call | Use::Bulk) || group.contains_key("tcp")) {
                continue;
            }
            let mut group = group.clone();
            group.remove("direction");
            let (from, to) = if up { ("home", "net") } else { ("net", "home") };
            match on.real {
                // A wire is a dumbbell whose forward way is down.
                true if up => _ = group.insert("direction".to_string(), "reverse".into()),
                true => {}
                false => {
                    group.insert("from".to_string(), from.into());
                    group.insert("to".to_string(), to.into());
                }
            }
            if let (Use::Bulk, Some(n)) = (of, on.bulk) {
                // The first group of each direction has as many as are asked; of the others one flow would be too many.
                if std::mem::replace(&mut bulk_ways[usize::from(up)], true) {
                    continue;
                }
                group.insert("count".to_string(), i64::from(n).into());
            } else if on.hosts > 1 {
                let count = group.get("count").cloned().unwrap_or_else(|| 1.into());
                let each = match count {
                    toml::Value::String(text) if text.starts_with("flows.") => text.into(),
                    toml::Value::String(text) => format!("{} * ({text})", on.hosts).into(),
                    toml::Value::Integer(n) => n.saturating_mul(i64::from(on.hosts)).into(),
                    other => other,
                };
                group.insert("count".to_string(), each);
            }
            if on.hosts > 1 {
                group.insert("hosts".to_string(), i64::from(on.hosts).into());
            }
            if of == Use::Call && on.down.min(on.up) < WIDE {
                group.insert("rate".to_string(), NARROW.0.into());
                group.insert("packet".to_string(), NARROW.1.into());
            }
            let middle = (on.rtt.least + on.rtt.most) / 2;
            let rtt = match on.rtt.moves() && text(&group, "kind") != "udp" {
                true => toml::Value::Table(toml::Table::from_iter([(
                    "uniform".to_string(),
                    toml::Value::Array(vec![on.rtt.least.to_string().into(), on.rtt.most.to_string().into()]),
                )])),
                false => middle.to_string().into(),
            };
            group.insert("rtt".to_string(), rtt);
            // Where little is simulated, everything starts at once.
            if on.duration < UNHURRIED {
                let ends = vec!["0 s".into(), (on.duration / 20).to_string().into()];
                let start = toml::Table::from_iter([("between".to_string(), toml::Value::Array(ends))]);
                group.insert("start".to_string(), toml::Value::Table(start));
            }
            replace(&mut group, on);
            let written = toml::to_string(&toml::Table::from_iter([(
                "flows".to_string(),
                toml::Value::Array(vec![toml::Value::Table(group)]),
            )]));
            out.push('\n');
            out.push_str(&written.map_err(|error| format!("the load {}: {error}", self.name))?);
        }
        Ok(out)
    }
}

/// The rate beyond which a load does not grow: hundreds of flows say as much as thousands, and take less time.
const GROWS: BitRate = BitRate::from_bps(10_000_000_000);

/// What follows from a dumbbell in a load follows from a host's share of this link.
fn replace(group: &mut toml::Table, on: &Carrier) {
    let share =
        |rate: BitRate| BitRate::from_bps(rate.min(GROWS).bps() / u64::from(on.hosts.max(1))).to_string();
    let words = [
        ("dumbbell.reverse.rate", share(on.up)),
        ("dumbbell.rate", share(on.down)),
        ("dumbbell.reverse.delay", (on.rtt.least / 2).to_string()),
        ("dumbbell.delay", (on.rtt.least / 2).to_string()),
    ];
    fn walk(value: &mut toml::Value, words: &[(&str, String)]) {
        match value {
            toml::Value::String(text) => {
                *text = words.iter().fold(text.clone(), |text, (from, to)| text.replace(from, to));
            }
            toml::Value::Array(all) => all.iter_mut().for_each(|value| walk(value, words)),
            toml::Value::Table(table) => table.iter_mut().for_each(|(_, value)| walk(value, words)),
            _ => {}
        }
    }
    group.iter_mut().for_each(|(_, value)| walk(value, &words));
}

fn text<'a>(group: &'a toml::Table, key: &str) -> &'a str {
    group.get(key).and_then(toml::Value::as_str).unwrap_or_default()
}

fn is_up(group: &toml::Table) -> bool {
    text(group, "direction") == "reverse"
}

fn use_of(group: &toml::Table) -> Use {
    let measured = group.get("measure_delay").and_then(toml::Value::as_bool).unwrap_or_default();
    match text(group, "kind") {
        "udp" if measured => Use::Call,
        "pages" => Use::Pages,
        "video" => Use::Video,
        "" | "bulk" => Use::Bulk,
        _ => Use::Other,
    }
}
