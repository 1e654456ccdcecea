//! Lines for a shell.

use quell_aqm::cake::{CakeParams, Framing as CakeFraming};
use quell_aqm::catalog::AqmConfig;
use quell_units::{BitRate, Bytes, Framing, Layer, LinkLayer};

use crate::Kernel;
use crate::qdisc::{Link, NotInLinux, say};
use crate::read::header;
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
        /// The shaper; none if nothing shapes but CAKE's own parameters.
        shaped: Option<Shaper>,
    },
    /// A leaf of an htb that shapes.
    Htb {
        /// The device.
        device: String,
        /// The shaper.
        shaped: Shaper,
    },
}

/// A shaper above a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shaper {
    /// The rate, and what packets take of it.
    pub link: LinkLayer,
    /// The most that leaves at once, on the wire; none for what Linux has where a line names none, about one frame.
    pub burst: Option<Bytes>,
}

impl Shaper {
    /// A router's, with its usual [`burst`].
    pub fn of_router(link: LinkLayer) -> Self {
        Shaper { link, burst: Some(burst(&link)) }
    }
}

/// The burst of a router's shaper, in bytes on the wire: what the link sends in a millisecond, as sqm-scripts give htb
/// (`get_burst` in functions.sh), and at least two frames.
pub fn burst(link: &LinkLayer) -> Bytes {
    let two = 2 * link.seen_from(Layer::Ethernet).on_wire(FRAME).get();
    Bytes::new((link.rate.bps() / 8000).max(two))
}

/// Lines, and what they do not say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Written {
    /// Complete lines for a shell, in the order in which they run.
    pub lines: Vec<String>,
    /// What the lines cannot say, and what the kernel then does.
    pub notes: Vec<String>,
}

impl Written {
    /// These lines for the device `ifb`, with those before them that make it and redirect to it what comes in at
    /// `device`.
    #[must_use]
    pub fn behind(mut self, device: &str, ifb: &str) -> Self {
        let before = [
            "modprobe ifb numifbs=0".to_string(),
            format!("tc qdisc del dev {device} ingress{IF_ANY}"),
            format!("ip link del dev {ifb} type ifb{IF_ANY}"),
            format!("ip link add name {ifb} type ifb"),
            format!("ip link set dev {ifb} up"),
            format!("tc qdisc add dev {device} handle ffff: ingress"),
            format!(
                "tc filter add dev {device} parent ffff: protocol all prio 10 matchall action mirred egress redirect dev \
                 {ifb}"
            ),
        ];
        self.lines.splice(..0, before);
        self.notes.push(format!(
            "ifb: an ingress qdisc that {device} has, with its filters, is replaced; the packets have come in already, so \
             the rate must be below the link's"
        ));
        self
    }
}

/// A full frame of Ethernet, without its check sum.
const FRAME: Bytes = Bytes::new(1514);

/// What a line ends with that may fail, because what it removes need not be there.
pub(crate) const IF_ANY: &str = " 2>/dev/null || true";

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
        (AqmConfig::Cake(cake), Place::Ifb { shaped: Some(shaper), .. }) => &of_layer(cake, &shaper.link),
        _ => config,
    };
    let said = say(config, link, kernel)?;
    let mut notes = said.notes;
    let grammar = said.settings.grammar;
    let leaf = format!("{}{}", grammar.name, said.settings.words(&Settings::of(grammar)));
    let mut lines = Vec::new();
    match place {
        Place::Root { device } => {
            if is_fixed(&leaf) {
                lines.push(format!("tc qdisc del dev {device} root{IF_ANY}"));
            }
            // With a handle, Linux would refuse to replace a qdisc of another kind that has it already.
            lines.push(format!("tc qdisc replace dev {device} root {leaf}"));
            if !shapes {
                notes.push(format!(
                    "root: the queue is where the device is the bottleneck; a device that is faster than the link \
                     keeps it empty, and needs htb above {}",
                    grammar.name
                ));
            }
        }
        Place::Ifb { device, ifb, shaped: shaper } => {
            match shaper.filter(|_| !shapes) {
                Some(shaper) => shaped(&mut lines, &mut notes, ifb, &shaper, &leaf),
                None => lines.push(format!("tc qdisc replace dev {ifb} root {leaf}")),
            }
            return Ok(Written { lines, notes }.behind(device, ifb));
        }
        Place::Htb { device, shaped: shaper } => {
            // htb refuses to be changed, so a line that replaces it would fail the second time.
            lines.push(format!("tc qdisc del dev {device} root{IF_ANY}"));
            shaped(&mut lines, &mut notes, device, shaper, &leaf);
        }
    }
    Ok(Written { lines, notes })
}

/// Says whether Linux refuses the same line once more: sfq cannot be changed, and neither can numbers of queues
/// (fq_codel_change, fq_pie_change).
fn is_fixed(leaf: &str) -> bool {
    leaf == "sfq" || leaf.starts_with("sfq ") || leaf.starts_with("fq_") && leaf.contains(" flows ")
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

/// A shaper as htb and tbf are told.
pub(crate) struct Told {
    /// The rate as a word.
    pub(crate) rate: String,
    /// The bytes of the burst, if it is given.
    pub(crate) burst: Option<u64>,
    /// The words for what the link adds to packets.
    pub(crate) added: String,
}

/// The words of a shaper on a device.
pub(crate) fn told(shaper: &Shaper, kind: &str, device: &str, notes: &mut Vec<String>) -> Told {
    let link = &shaper.link;
    let (rate, framing) = match link.framing {
        Framing::None => (link.rate, ""),
        Framing::Atm => (link.rate, " linklayer atm"),
        Framing::Ptm => {
            let rate = BitRate::from_bps(link.rate.bps() / 65 * 64);
            notes.push(format!(
                "framing = ptm: {kind} has none; the rate is 64/65 of {}: {rate}, and 1 B more is counted for the code word \
                 begun",
                link.rate
            ));
            (rate, "")
        }
    };
    // The kernel keeps the time of a burst, which is the same then.
    let share = |burst: Bytes| match rate == link.rate {
        true => burst.get(),
        false => (burst.get() * 64).div_ceil(65),
    };
    let begun = i64::from(link.framing == Framing::Ptm);
    let overhead = i64::try_from(link.overhead.get()).unwrap_or(i64::MAX).saturating_add(begun);
    // It counts a packet as the device has it.
    let header = i64::try_from(header(Some(device)).get()).unwrap_or(0);
    let mut added = String::new();
    if overhead > 0 {
        if overhead < header {
            notes.push(format!(
                "overhead = {}: {kind} counts at least Ethernet's {header} bytes",
                link.overhead
            ));
        }
        added.push_str(&format!(" overhead {}", (overhead - header).max(0)));
    } else if link.rate.bps() > 0 && header > 0 {
        notes.push(format!(
            "{kind} counts a packet with its {header} bytes of Ethernet, and nothing else that the link adds"
        ));
    }
    if link.smallest.get() > 0 {
        added.push_str(&format!(" mpu {}", link.smallest.get()));
    }
    let rate = Kind::Rate.text(Value::Rate(rate));
    Told { rate, burst: shaper.burst.map(share), added: added + framing }
}

/// An htb with one class, and its leaf.
fn shaped(lines: &mut Vec<String>, notes: &mut Vec<String>, device: &str, shaper: &Shaper, leaf: &str) {
    let Told { rate, burst, added } = told(shaper, "htb", device, notes);
    let burst = burst.map_or(String::new(), |burst| format!(" burst {burst} cburst {burst}"));
    lines.extend([
        format!("tc qdisc replace dev {device} root handle 1: htb default 10"),
        format!(
            "tc class replace dev {device} parent 1: classid 1:10 htb rate {rate} ceil {rate}{burst} quantum \
             1514{added}"
        ),
        format!("tc qdisc replace dev {device} parent 1:10 handle 10: {leaf}"),
    ]);
}
