//! codel and fq_codel: tc-codel(8), tc-fq_codel(8).

use quell_aqm::catalog::AqmConfig;
use quell_aqm::codel::{Arithmetic, CodelParams, OnEmpty};
use quell_aqm::fq_codel::{FqCodelParams, FqCodelRules, Marked};
use quell_units::{Duration, QueueSize};

use super::draft::{Draft, Link};
use crate::Kernel;
use crate::values::{Value, bytes, micros};

/// The first version whose empty queue forgets that it stood: a change of March 2026 (not verified for stable updates).
const FORGETS: Kernel = Kernel::new(7, 0);

/// The kernel's steps of time, in nanoseconds (include/net/codel.h: a shift by 10).
const STEP: u64 = 1 << 10;

fn on_empty(kernel: Kernel) -> OnEmpty {
    if kernel < FORGETS { OnEmpty::Keeps } else { OnEmpty::Forgets }
}

fn of_kernel(kernel: Kernel) -> [(&'static str, &'static str); 2] {
    [("arithmetic", "linux"), ("on_empty", if kernel < FORGETS { "keeps" } else { "forgets" })]
}

/// CoDel's parameters with the kernel's own.
pub(super) fn as_in(kernel: Kernel, params: CodelParams) -> CodelParams {
    CodelParams { arithmetic: Arithmetic::Linux, on_empty: on_empty(kernel), ..params }
}

/// Those of FQ-CoDel.
pub(super) fn as_in_fair(kernel: Kernel, params: FqCodelParams) -> FqCodelParams {
    FqCodelParams {
        rules: FqCodelRules::Linux,
        arithmetic: Arithmetic::Linux,
        on_empty: on_empty(kernel),
        ..params
    }
}

/// Sets a time, and notes what its grid loses.
fn set_time(draft: &mut Draft, setting: &'static str, time: Duration) {
    let us = micros(time);
    if time.nanos() < STEP && time.nanos() > 0 {
        draft.note(format!("{setting} = {time}: below the kernel's step of 1024 ns, so it is 0 there"));
    } else if us * 1_000 != time.nanos() {
        draft.note(format!("{setting} = {time}: tc counts microseconds: {us} us"));
    }
    draft.settings.set(setting, Value::Time(us));
}

fn set_ecn(draft: &mut Draft, link: &Link) {
    draft.settings.choose(if link.ecn { "ecn" } else { "noecn" });
}

pub(super) fn say(draft: &mut Draft, params: &CodelParams, link: &Link) {
    draft.limit_packets(link, u32::MAX);
    set_time(draft, "target", params.target);
    set_time(draft, "interval", params.interval);
    if let Some(threshold) = params.ce_threshold {
        set_time(draft, "ce_threshold", threshold);
    }
    set_ecn(draft, link);
    let kernel = of_kernel(draft.kernel);
    let config = AqmConfig::Codel(params.clone());
    draft.unsaid(&config, &["target", "interval", "ce_threshold"], &kernel);
}

pub(super) fn mean(draft: &Draft) -> (AqmConfig, QueueSize) {
    let s = &draft.settings;
    let usual = CodelParams::default();
    let params = CodelParams {
        target: s.time("target").unwrap_or(usual.target),
        interval: s.time("interval").unwrap_or(usual.interval),
        ce_threshold: s.time("ce_threshold"),
        arithmetic: Arithmetic::Linux,
        on_empty: on_empty(draft.kernel),
        ..usual
    };
    (AqmConfig::Codel(params), draft.packets("limit"))
}

pub(super) fn say_fair(draft: &mut Draft, params: &FqCodelParams, link: &Link) {
    draft.limit_packets(link, params.limit);
    draft.whole("flows", "flows", f64::from(params.flows), (1, 65536), "queues");
    draft.settings.set("quantum", Value::Size(bytes(params.quantum)));
    if params.quantum.get() < 256 {
        draft.note(format!("quantum = {}: the kernel takes at least 256 B", params.quantum));
        draft.settings.set("quantum", Value::Size(256));
    }
    set_time(draft, "target", params.target);
    set_time(draft, "interval", params.interval);
    draft.settings.set("memory_limit", Value::Size(bytes(params.memory_limit)));
    if params.memory_limit != FqCodelParams::default().memory_limit {
        draft.note("memory_limit: the kernel counts its own memory, about 2304 B for a packet of 1514 B");
    }
    draft.settings.set("drop_batch", Value::Int(i64::from(params.drop_batch)));
    if let Some(threshold) = params.ce_threshold {
        set_time(draft, "ce_threshold", threshold);
        if params.ce_threshold_for == Marked::Ect1 {
            draft.settings.set("ce_threshold_selector", Value::Choice("1/3"));
        }
    }
    set_ecn(draft, link);
    let [arithmetic, on_empty] = of_kernel(draft.kernel);
    let config = AqmConfig::FqCodel(params.clone());
    let said = [
        "flows",
        "quantum",
        "target",
        "interval",
        "limit",
        "memory_limit",
        "drop_batch",
        "ce_threshold",
        "ce_threshold_for",
    ];
    draft.unsaid(&config, &said, &[("rules", "linux"), arithmetic, on_empty]);
}

pub(super) fn mean_fair(draft: &mut Draft) -> (AqmConfig, QueueSize) {
    let s = &draft.settings;
    let usual = FqCodelParams::default();
    let limit = s.count("limit").unwrap_or(usual.limit);
    let params = FqCodelParams {
        flows: s.count("flows").unwrap_or(usual.flows),
        quantum: s.size("quantum").unwrap_or(usual.quantum),
        target: s.time("target").unwrap_or(usual.target),
        interval: s.time("interval").unwrap_or(usual.interval),
        // The buffer is the limit; the parameter only must not be below it.
        limit: limit.max(usual.limit),
        memory_limit: s.size("memory_limit").unwrap_or(usual.memory_limit),
        drop_batch: s.count("drop_batch").unwrap_or(usual.drop_batch),
        ce_threshold: s.time("ce_threshold"),
        ce_threshold_for: match s.get("ce_threshold_selector") {
            Some(Value::Choice("1/3")) => Marked::Ect1,
            _ => Marked::EcnCapable,
        },
        rules: FqCodelRules::Linux,
        arithmetic: Arithmetic::Linux,
        on_empty: on_empty(draft.kernel),
        ..usual
    };
    (AqmConfig::FqCodel(params), QueueSize::Packets(f64::from(limit)))
}
