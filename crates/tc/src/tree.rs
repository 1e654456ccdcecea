//! The lines of a link with a shaper or classes: tbf, htb, and a queue in each leaf.

use quell_aqm::catalog::AqmConfig;
use quell_units::{BitRate, Bytes};

use crate::Kernel;
use crate::qdisc::{Link, NotInLinux, say};
use crate::read::Bucket;
use crate::settings::Settings;
use crate::values::{Kind, Value};
use crate::write::{IF_ANY, Shaper, Told, Written, told};

/// A class of a tree that lends rate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Branch {
    /// Its name, for notes.
    pub name: String,
    /// The number of the class that lends to it, which stands before it.
    pub parent: Option<usize>,
    /// The rate that it gets in any case.
    pub rate: Option<BitRate>,
    /// The rate that it may borrow up to.
    pub ceil: Option<BitRate>,
    /// The bytes that it saves up at its rate.
    pub burst: Option<Bytes>,
    /// The bytes that it saves up at its ceiling.
    pub cburst: Option<Bytes>,
    /// Bytes of a turn.
    pub quantum: Option<Bytes>,
    /// Lower goes first.
    pub priority: u8,
    /// The DSCPs of the packets that it takes; all others if there are none.
    pub dscps: Vec<u8>,
    /// Its queue, if it is a leaf.
    pub queue: Option<(AqmConfig, Link)>,
}

/// The rate of a class that only borrows.
const BORROWS: BitRate = BitRate::from_bps(8_000);

/// The first number of a class.
const FIRST: usize = 0x10;

fn rate_text(rate: BitRate) -> String {
    Kind::Rate.text(Value::Rate(rate))
}

/// The words of an algorithm's queue.
fn leaf(
    config: &AqmConfig,
    link: &Link,
    kernel: Kernel,
    notes: &mut Vec<String>,
) -> Result<String, NotInLinux> {
    let said = say(config, link, kernel)?;
    let grammar = said.settings.grammar;
    notes.extend(said.notes);
    Ok(format!("{}{}", grammar.name, said.settings.words(&Settings::of(grammar))))
}

/// Writes a token bucket with an algorithm in it.
///
/// # Errors
/// As [`write`](crate::write()).
pub fn write_bucket(
    (config, link): (&AqmConfig, &Link),
    bucket: &Bucket,
    device: &str,
    kernel: Kernel,
) -> Result<Written, NotInLinux> {
    let mut notes = Vec::new();
    let leaf = leaf(config, &Link { rate: None, ..*link }, kernel, &mut notes)?;
    // tbf's own limit is of the queue that the other one replaces.
    let limit = bucket.limit.map_or(link.buffer.in_bytes(link.mean_packet), |limit| limit.get() as f64);
    let limit = limit.clamp(0.0, f64::from(u32::MAX)) as u64;
    let shaper = Shaper { link: bucket.added.layer(bucket.rate), burst: Some(bucket.burst) };
    let Told { rate, burst, added } = told(&shaper, "tbf", device, &mut notes);
    let burst = burst.unwrap_or_default();
    let mut words = format!("rate {rate} burst {burst} limit {}", limit.max(burst));
    if let Some(rate) = bucket.peak_rate {
        let mtu = bucket.mtu.unwrap_or(link.mean_packet);
        words.push_str(&format!(" peakrate {} mtu {}", rate_text(rate), mtu.get()));
    }
    words.push_str(&added);
    let lines = vec![
        format!("tc qdisc del dev {device} root{IF_ANY}"),
        format!("tc qdisc replace dev {device} root handle 1: tbf {words}"),
        format!("tc qdisc replace dev {device} parent 1:1 handle 10: {leaf}"),
    ];
    notes.push("tbf: burst must be at least a packet with all that is counted with it".into());
    Ok(Written { lines, notes })
}

/// Writes a tree of classes below a link of this rate, with a queue in each leaf.
///
/// # Errors
/// As [`write`](crate::write()).
pub fn write_tree(
    branches: &[Branch],
    rate: BitRate,
    device: &str,
    kernel: Kernel,
) -> Result<Written, NotInLinux> {
    let mut notes = Vec::new();
    let id = |n: usize| format!("1:{:x}", FIRST + n);
    let default = branches.iter().position(|b| b.queue.is_some() && b.dscps.is_empty());
    let mut lines = vec![
        format!("tc qdisc del dev {device} root{IF_ANY}"),
        format!(
            "tc qdisc replace dev {device} root handle 1: htb default {:x}",
            default.map_or(FIRST, |n| FIRST + n)
        ),
    ];
    // Classes lend to each other only below one that has what they lend.
    let whole = branches.iter().any(|branch| branch.rate.is_none());
    if whole {
        let rate = rate_text(rate);
        lines
            .push(format!("tc class replace dev {device} parent 1: classid 1:1 htb rate {rate} ceil {rate}"));
    }
    let mut ceils: Vec<BitRate> = Vec::new();
    for (n, branch) in branches.iter().enumerate() {
        let above = branch.parent.filter(|parent| *parent < n);
        let lent = above.and_then(|parent| ceils.get(parent)).copied().unwrap_or(rate);
        let ceil = branch.ceil.or(branch.rate).unwrap_or(lent);
        ceils.push(ceil);
        let parent = above.map_or(if whole { "1:1".to_string() } else { "1:".to_string() }, id);
        let own = branch.rate.filter(|rate| rate.bps() > 0).unwrap_or(BORROWS);
        let mut words = format!("rate {} ceil {}", rate_text(own), rate_text(ceil));
        for (word, bytes) in [("burst", branch.burst), ("cburst", branch.cburst)] {
            if let Some(bytes) = bytes {
                words.push_str(&format!(" {word} {}", bytes.get()));
            }
        }
        if let Some((config, link)) = &branch.queue {
            let quantum = branch.quantum.map_or(1514, Bytes::get);
            words.push_str(&format!(" quantum {quantum} prio {}", branch.priority.min(7)));
            if branch.priority > 7 {
                notes.push(format!("priority of {}: htb has 0 to 7", branch.name));
            }
            if branch.rate.is_none() {
                notes.push(format!(
                    "{}: htb needs a rate, and it has {BORROWS} and borrows the rest",
                    branch.name
                ));
            }
            lines
                .push(format!("tc class replace dev {device} parent {parent} classid {} htb {words}", id(n)));
            let leaf = leaf(config, &Link { rate: None, ..*link }, kernel, &mut notes)?;
            lines.push(format!(
                "tc qdisc replace dev {device} parent {} handle {:x}: {leaf}",
                id(n),
                FIRST + n
            ));
            for dscp in &branch.dscps {
                let field = u32::from(*dscp) << 2;
                lines.push(format!(
                    "tc filter add dev {device} parent 1: protocol ip prio {} u32 match ip dsfield 0x{field:02x} 0xfc \
                     flowid {}",
                    n + 1,
                    id(n)
                ));
            }
        } else {
            lines
                .push(format!("tc class replace dev {device} parent {parent} classid {} htb {words}", id(n)));
        }
        notes.push(format!("{} is {}", id(n), branch.name));
    }
    if branches.iter().any(|branch| !branch.dscps.is_empty()) {
        notes.push("the filters are of IPv4: add the same with protocol ipv6 and match ip6 priority".into());
    }
    let mut said: Vec<String> = Vec::new();
    notes.retain(|note| {
        let new = !said.contains(note);
        said.push(note.clone());
        new
    });
    Ok(Written { lines, notes })
}
