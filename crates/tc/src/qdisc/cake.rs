//! cake: tc-cake(8).

use quell_aqm::cake::{CakeParams, Diffserv, Framing, Isolation, Layer};
use quell_aqm::catalog::AqmConfig;
use quell_aqm::part::ack_filter::AckFilter;
use quell_units::{BitRate, Bytes, QueueSize};

use super::draft::{Draft, Link};
use crate::Kernel;
use crate::values::{Value, bytes, micros};

/// The first version with cake_mq.
const SEVERAL: Kernel = Kernel::new(7, 0);

/// The link's buffer where the memory is the only limit: as many packets of 1514 bytes as 32 MiB hold in the kernel,
/// with its own 2304 bytes for each.
const PACKETS: f64 = 14_563.0;

const ISOLATIONS: &[(Isolation, &str)] = &[
    (Isolation::Triple, "triple-isolate"),
    (Isolation::DualSource, "dual-srchost"),
    (Isolation::DualDestination, "dual-dsthost"),
    (Isolation::Flows, "flows"),
    (Isolation::Hosts, "hosts"),
    (Isolation::Source, "srchost"),
    (Isolation::Destination, "dsthost"),
    (Isolation::Blind, "flowblind"),
];

pub(super) fn say(draft: &mut Draft, params: &CakeParams, link: &Link) {
    let rate = params.bandwidth.or(link.rate).unwrap_or(BitRate::from_bps(0));
    // tc hands over bytes per second.
    let whole = BitRate::from_bps(rate.bps() / 8 * 8);
    if whole != rate {
        draft.note(format!("bandwidth = {rate}: tc counts bytes per second: {whole}"));
    }
    draft.settings.set("bandwidth", Value::Rate(whole));
    if params.autorate_ingress {
        draft.settings.choose("autorate-ingress");
    }
    draft.settings.choose(match params.diffserv {
        Diffserv::Besteffort => "besteffort",
        Diffserv::Diffserv3 => "diffserv3",
        Diffserv::Diffserv4 => "diffserv4",
    });
    if let Some((_, word)) = ISOLATIONS.iter().find(|(isolation, _)| *isolation == params.isolation) {
        draft.settings.choose(word);
    }
    draft.settings.choose(if params.wash { "wash" } else { "nowash" });
    draft.settings.choose(if params.ingress { "ingress" } else { "egress" });
    draft.settings.choose(match params.ack_filter {
        AckFilter::Off => "no-ack-filter",
        AckFilter::On => "ack-filter",
        AckFilter::Aggressive => "ack-filter-aggressive",
    });
    draft.settings.choose("split-gso");
    draft.settings.set("rtt", Value::Time(micros(params.rtt).max(1)));
    layer(draft, params, rate);
    if let Some(limit) = params.memory_limit {
        draft.settings.set("memlimit", Value::Size(bytes(limit)));
        draft.note("memlimit: the kernel counts its own memory, about 2304 B for a packet of 1514 B");
    }
    if params.isolation != Isolation::Flows && params.isolation != Isolation::Blind {
        draft.note("nat: behind a router that translates addresses, add nat, or all hosts count as one");
    }
    if params.queues > 1 {
        draft.note(match draft.kernel < SEVERAL {
            true => format!(
                "queues = {}: Linux has cake_mq from {SEVERAL} on, and one queue in {}",
                params.queues, draft.kernel
            ),
            false => format!(
                "queues = {}: write cake_mq for cake at the root: as many as the device has",
                params.queues
            ),
        });
    }
    if !link.ecn {
        draft.note("ecn = false: the kernel marks what can be marked; there is no word to turn that off");
    }
    if link.buffer != QueueSize::Packets(PACKETS) {
        draft.note(format!("buffer = {}: cake has a limit of memory alone (memlimit)", link.buffer));
    }
    let config = AqmConfig::Cake(params.clone());
    let said = [
        "bandwidth",
        "overhead",
        "layer",
        "mpu",
        "framing",
        "diffserv",
        "isolation",
        "ingress",
        "autorate_ingress",
        "ack_filter",
        "wash",
        "rtt",
        "memory_limit",
        "queues",
        "sync_time",
        "statistics",
    ];
    draft.unsaid(&config, &said, &[("flows", "1024")]);
}

/// The words of the link's layer.
fn layer(draft: &mut Draft, params: &CakeParams, rate: BitRate) {
    let raw = params.overhead.get() == 0 && params.mpu.get() == 0 && params.framing == Framing::None;
    if raw && params.layer == Layer::Ip && rate.bps() > 0 {
        draft.note(
            "overhead = 0 B: without the word, the kernel counts a packet with its 14 bytes of Ethernet; say what the \
             link adds, such as docsis or pppoe-ptm",
        );
    }
    draft.settings.choose(match params.framing {
        Framing::None => "noatm",
        Framing::Atm => "atm",
        Framing::Ptm => "ptm",
    });
    for (name, size) in [("overhead", params.overhead), ("mpu", params.mpu)] {
        let most = size.get().min(256);
        if most != size.get() {
            draft.note(format!("{name} = {size}: tc takes at most 256"));
        }
        draft.settings.set(name, Value::Int(i64::try_from(most).unwrap_or(0)));
    }
}

pub(super) fn mean(draft: &mut Draft) -> (AqmConfig, QueueSize) {
    let usual = CakeParams::default();
    let s = &draft.settings;
    let (overhead, mpu) = (s.int("overhead").unwrap_or(0), s.int("mpu").unwrap_or(0));
    let (memory, mark, eight) =
        (s.size("memlimit"), s.int("fwmark"), s.is("diffserv8") || s.is("precedence"));
    let (nonat, hosts) = (!s.is("nat"), !s.is("flows") && !s.is("flowblind"));
    let params = CakeParams {
        bandwidth: s.rate("bandwidth").filter(|rate| rate.bps() > 0),
        overhead: Bytes::new(u64::try_from(overhead).unwrap_or(0)),
        mpu: Bytes::new(u64::try_from(mpu).unwrap_or(0)),
        framing: match (s.is("atm"), s.is("ptm")) {
            (true, _) => Framing::Atm,
            (_, true) => Framing::Ptm,
            _ => Framing::None,
        },
        diffserv: match (s.is("besteffort"), s.is("diffserv4") || eight) {
            (true, _) => Diffserv::Besteffort,
            (_, true) => Diffserv::Diffserv4,
            _ => Diffserv::Diffserv3,
        },
        isolation: ISOLATIONS
            .iter()
            .find(|(_, word)| s.is(word))
            .map_or(usual.isolation, |(isolation, _)| *isolation),
        ingress: s.is("ingress"),
        autorate_ingress: s.is("autorate-ingress"),
        ack_filter: match (s.is("ack-filter"), s.is("ack-filter-aggressive")) {
            (true, _) => AckFilter::On,
            (_, true) => AckFilter::Aggressive,
            _ => AckFilter::Off,
        },
        wash: s.is("wash"),
        rtt: s.time("rtt").unwrap_or(usual.rtt),
        memory_limit: memory,
        ..usual
    };
    if overhead < 0 {
        draft.note(format!("overhead {overhead}: below the IP packet's size, which no link here is: 0 B"));
    }
    if eight {
        draft.note("diffserv8 and precedence: diffserv = \"diffserv4\" has the most tins here");
    }
    if mark.is_some_and(|mark| mark != 0) {
        draft.note("fwmark: tins go by DSCP alone here, and nothing sets marks of a firewall");
    }
    if hosts && nonat {
        draft.note("nonat: hosts behind one address are told apart here, as with nat");
    }
    if draft.settings.is("no-split-gso") {
        draft.note("no-split-gso: packets come one by one here, as with split-gso");
    }
    // The memory is the limit there, and a parameter of its own here: the link's buffer must only not be below it.
    (AqmConfig::Cake(params), QueueSize::Packets(PACKETS))
}
