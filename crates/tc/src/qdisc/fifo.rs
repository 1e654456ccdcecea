//! pfifo, bfifo and pfifo_head_drop: tc-pfifo(8), tc-bfifo(8).

use quell_aqm::catalog::AqmConfig;
use quell_aqm::drop_tail::{Drop, DropTailParams};
use quell_units::QueueSize;

use super::draft::{Draft, Link, whole_packets};
use crate::values::Value;

/// The qdisc for a buffer of this unit.
pub(super) fn qdisc(params: &DropTailParams, link: &Link) -> &'static str {
    match (params.drop, link.buffer) {
        (Drop::Front, _) => "pfifo_head_drop",
        (Drop::Tail, QueueSize::Packets(_)) => "pfifo",
        (Drop::Tail, QueueSize::Bytes(_)) => "bfifo",
    }
}

pub(super) fn say(draft: &mut Draft, params: &DropTailParams, link: &Link) {
    match (params.drop, link.buffer) {
        (Drop::Tail, QueueSize::Bytes(bytes)) => {
            draft
                .settings
                .set("limit", Value::Size(libm::round(bytes).clamp(1.0, f64::from(u32::MAX)) as u64));
        }
        (Drop::Tail, QueueSize::Packets(_)) => {
            draft.settings.set("limit", Value::Int(i64::from(whole_packets(link))));
        }
        (Drop::Front, _) => draft.limit_packets(link, u32::MAX),
    }
}

pub(super) fn mean(draft: &Draft) -> (AqmConfig, QueueSize) {
    let drop = if draft.settings.grammar.name == "pfifo_head_drop" { Drop::Front } else { Drop::Tail };
    let buffer = match draft.settings.size("limit") {
        Some(bytes) => QueueSize::Bytes(bytes.get() as f64),
        None => draft.packets("limit"),
    };
    (AqmConfig::DropTail(DropTailParams { drop }), buffer)
}
