//! sfq: tc-sfq(8).

use quell_aqm::catalog::AqmConfig;
use quell_aqm::part::{Longest, Weight};
use quell_aqm::sfq::SfqParams;
use quell_aqm::sfq_red::SfqRedParams;
use quell_units::{Bytes, Duration, QueueSize};

use super::draft::{Draft, Link};
use super::red::{mean_per_flow, say_per_flow};
use crate::settings::Settings;
use crate::values::{Value, bytes};

/// The most packets of a queue (SFQ_MAX_DEPTH), and the most queues.
const MOST_DEPTH: u32 = 127;
const MOST_FLOWS: u32 = 65536 - MOST_DEPTH - 1;

/// What both kinds have: queues, quantum, depth, active queues.
fn say_queues(draft: &mut Draft, queues: u32, quantum: Bytes, depth: u32, active: Option<u32>, link: &Link) {
    let active = active.unwrap_or(queues).clamp(1, MOST_FLOWS);
    let depth = depth.clamp(1, MOST_DEPTH);
    draft.limit_packets(link, u32::MAX);
    let most = i64::from(active) * i64::from(depth);
    if draft.settings.int("limit").is_some_and(|limit| limit > most || limit < 2) {
        let limit = draft.settings.int("limit").unwrap_or(0).clamp(2, most.max(2));
        draft.note(format!("buffer = {}: sfq holds 2 packets to depth times flows: {limit}", link.buffer));
        draft.settings.set("limit", Value::Int(limit));
    }
    draft.settings.set("quantum", Value::Size(bytes(quantum)));
    draft.settings.set("depth", Value::Int(i64::from(depth)));
    draft.settings.set("flows", Value::Int(i64::from(active)));
    let divisor = queues.clamp(1, 65536).next_power_of_two();
    if divisor != queues {
        draft.note(format!("flows = {queues}: divisor is a power of two: {divisor}"));
    }
    draft.settings.set("divisor", Value::Int(i64::from(divisor)));
}

pub(super) fn say(draft: &mut Draft, params: &SfqParams, link: &Link) {
    say_queues(draft, params.flows, params.quantum, params.depth, params.active, link);
    if let Some(perturb) = params.perturb {
        let whole = perturb.nanos().div_ceil(1_000_000_000);
        if whole * 1_000_000_000 != perturb.nanos() {
            draft.note(format!("perturb = {perturb}: tc counts whole seconds: {whole}"));
        }
        draft.settings.set("perturb", Value::Time(whole * 1_000_000));
    }
    if link.ecn {
        draft.note("ecn = true: sfq drops only what does not fit, so it marks nothing");
    }
    let config = AqmConfig::Sfq(params.clone());
    draft.unsaid(&config, &["flows", "quantum", "depth", "active", "perturb"], &[("longest", "packets")]);
}

pub(super) fn say_red(draft: &mut Draft, params: &SfqRedParams, link: &Link) -> Result<(), String> {
    say_queues(draft, params.flows, params.quantum, params.depth, None, link);
    let thresholds = (params.min_th, params.max_th, params.max_p);
    say_per_flow(draft, thresholds, params.weight, link)?;
    let limit = u64::from(params.depth.min(MOST_DEPTH)) * link.mean_packet.get();
    let max = draft.settings.size("max").map_or(0, Bytes::get);
    draft.settings.set("redflowlimit", Value::Size(limit.max(max)));
    if link.ecn {
        draft.settings.choose("ecn");
    }
    let config = AqmConfig::SfqRed(params.clone());
    let said = ["flows", "quantum", "depth", "min_th", "max_th", "max_p", "weight"];
    draft.unsaid(&config, &said, &[("gentle", "false")]);
    Ok(())
}

/// # Errors
/// Says what the line lacks.
pub(super) fn mean(draft: &mut Draft, given: &Settings) -> Result<(AqmConfig, QueueSize), String> {
    let s = &draft.settings;
    let usual = SfqParams::default();
    let flows = s.count("divisor").unwrap_or(usual.flows);
    let quantum = s.size("quantum").unwrap_or(usual.quantum);
    let depth = s.count("depth").filter(|depth| *depth > 0).unwrap_or(usual.depth);
    let buffer = draft.packets("limit");
    if s.is("headdrop") {
        draft.note("headdrop: a full buffer costs the longest queue its last packet here");
    }
    if !given.has("redflowlimit") && !given.has("min") {
        let perturb = draft.settings.time("perturb").filter(|perturb| *perturb > Duration::from_nanos(0));
        let params = SfqParams {
            flows,
            quantum,
            depth,
            active: draft.settings.count("flows"),
            longest: Longest::Packets,
            perturb,
            ..usual
        };
        return Ok((AqmConfig::Sfq(params), buffer));
    }
    let limit = given.size("redflowlimit").map_or(f64::from(u32::MAX), |bytes| bytes.get() as f64);
    let red = mean_per_flow(draft, given, limit)?;
    if given.has("perturb") || given.has("flows") {
        draft.note("perturb and flows: left out, because sfq-red has neither here");
    }
    let params = SfqRedParams {
        flows,
        quantum,
        depth,
        min_th: QueueSize::Bytes(red.min),
        max_th: QueueSize::Bytes(red.max),
        max_p: red.max_p,
        weight: Weight::Value(red.weight),
        gentle: false,
        ..SfqRedParams::default()
    };
    Ok((AqmConfig::SfqRed(params), buffer))
}
