//! Lines for a shell.

use quell_aqm::cake::{CakeParams, Framing as CakeFraming};
use quell_aqm::catalog::AqmConfig;
use quell_units::{BitRate, Framing, LinkLayer};

use crate::Kernel;
use crate::qdisc::{Link, NotInLinux, say};
use crate::settings::Settings;
use crate::values::{Kind, Value};

/// Where a qdisc goes.
#[derive(Clone, Debug, PartialEq)]
pub enum Place {
    /// The root of a device.
    Root {
        /// The device.
        device: String,
    },
    /// What comes in at a device: an ifb device gets it, and the qdisc is there, behind htb if the link has a rate and
    /// the algorithm does not shape.
    Ifb {
        /// The device.
        device: String,
        /// The ifb device, which is made.
        ifb: String,
        /// The rate to shape to, and what packets take of it; none if nothing shapes but CAKE's own parameters.
        shaped: Option<LinkLayer>,
    },
    /// A leaf of an htb that shapes.
    Htb {
        /// The device.
        device: String,
        /// The rate of the class, and what packets take of it.
        shaped: LinkLayer,
    },
}

/// Lines, and what they do not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Complete lines for a shell, in the order in which they run.
    pub lines: Vec<String>,
    /// What the lines cannot say, and what the kernel then does.
    pub notes: Vec<String>,
}

/// The bytes of Ethernet's header, with which htb counts packets.
const ETHERNET: i64 = 14;

/// Writes the lines that give a link's algorithm to a place of a device. Words that a kernel has anyway are left out.
///
/// # Errors
/// Linux has no such qdisc, or that version of it has not, or the qdisc cannot have these parameters.
pub fn write(config: &AqmConfig, link: &Link, place: &Place, kernel: Kernel) -> Result<Written, NotInLinux> {
    let shapes = matches!(config, AqmConfig::Cake(_));
    // Behind htb, CAKE has no rate of its own.
    let link = match place {
        Place::Htb { .. } if shapes => &Link { rate: None, ..*link },
        _ => link,
    };
    let config = match (config, place) {
        (AqmConfig::Cake(cake), Place::Ifb { shaped: Some(layer), .. }) => &of_layer(cake, layer),
        _ => config,
    };
    let said = say(config, link, kernel)?;
    let mut notes = said.notes;
    let grammar = said.settings.grammar;
    let leaf = format!("{}{}", grammar.name, said.settings.words(&Settings::of(grammar)));
    let mut lines = Vec::new();
    match place {
        Place::Root { device } => {
            lines.push(format!("tc qdisc replace dev {device} root handle 1: {leaf}"));
            if !shapes {
                notes.push(format!(
                    "root: the queue is where the device is the bottleneck; a device that is faster than the link \
                     keeps it empty, and needs htb above {}",
                    grammar.name
                ));
            }
        }
        Place::Ifb { device, ifb, shaped: layer } => {
            lines.extend([
                "modprobe ifb numifbs=0".to_string(),
                format!("ip link add name {ifb} type ifb"),
                format!("ip link set dev {ifb} up"),
                format!("tc qdisc replace dev {device} handle ffff: ingress"),
                format!(
                    "tc filter add dev {device} parent ffff: protocol all prio 10 matchall action mirred egress \
                     redirect dev {ifb}"
                ),
            ]);
            match layer.filter(|_| !shapes) {
                Some(layer) => shaped(&mut lines, &mut notes, ifb, &layer, &leaf),
                None => lines.push(format!("tc qdisc replace dev {ifb} root handle 1: {leaf}")),
            }
            notes.push(format!(
                "ifb: the lines are for a host without {ifb} and without an ingress qdisc on {device}; the packets \
                 have come in already, so the rate must be below the link's"
            ));
        }
        Place::Htb { device, shaped: layer } => shaped(&mut lines, &mut notes, device, layer, &leaf),
    }
    Ok(Written { lines, notes })
}

/// CAKE that shapes to a rate, with what the link adds to packets; its own words for that stay where the link adds
/// nothing.
fn of_layer(cake: &CakeParams, layer: &LinkLayer) -> AqmConfig {
    let mut cake = cake.clone();
    cake.bandwidth = Some(layer.rate);
    if *layer != LinkLayer::plain(layer.rate) {
        (cake.overhead, cake.mpu) = (layer.overhead, layer.smallest);
        cake.framing = match layer.framing {
            Framing::None => CakeFraming::None,
            Framing::Atm => CakeFraming::Atm,
            Framing::Ptm => CakeFraming::Ptm,
        };
    }
    AqmConfig::Cake(cake)
}

/// The rate of a shaper, and its words for what a link adds to packets.
pub(crate) fn added_words(layer: &LinkLayer, kind: &str, notes: &mut Vec<String>) -> (BitRate, String) {
    let (rate, framing) = match layer.framing {
        Framing::None => (layer.rate, ""),
        Framing::Atm => (layer.rate, " linklayer atm"),
        Framing::Ptm => {
            let rate = BitRate::from_bps(layer.rate.bps() / 65 * 64);
            notes
                .push(format!("framing = ptm: {kind} has none; the rate is 64/65 of {}: {rate}", layer.rate));
            (rate, "")
        }
    };
    let overhead = i64::try_from(layer.overhead.get()).unwrap_or(i64::MAX);
    let mut words = String::new();
    if overhead > 0 {
        // It counts an IP packet and Ethernet's header.
        let more = (overhead - ETHERNET).max(0);
        if overhead < ETHERNET {
            notes.push(format!("overhead = {}: {kind} counts at least Ethernet's 14 bytes", layer.overhead));
        }
        words.push_str(&format!(" overhead {more}"));
    } else if layer.rate.bps() > 0 {
        notes.push(format!(
            "{kind} counts a packet with its 14 bytes of Ethernet, and nothing else that the link adds"
        ));
    }
    if layer.smallest.get() > 0 {
        words.push_str(&format!(" mpu {}", layer.smallest.get()));
    }
    (rate, words + framing)
}

/// An htb with one class, and its leaf.
fn shaped(lines: &mut Vec<String>, notes: &mut Vec<String>, device: &str, layer: &LinkLayer, leaf: &str) {
    let (rate, words) = added_words(layer, "htb", notes);
    let rate = Kind::Rate.text(Value::Rate(rate));
    lines.extend([
        format!("tc qdisc replace dev {device} root handle 1: htb default 10"),
        format!(
            "tc class replace dev {device} parent 1: classid 1:10 htb rate {rate} ceil {rate} quantum \
             1514{words}"
        ),
        format!("tc qdisc replace dev {device} parent 1:10 handle 10: {leaf}"),
    ]);
}
