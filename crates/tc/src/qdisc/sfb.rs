//! sfb: tc-sfb(8).

use quell_aqm::catalog::AqmConfig;
use quell_aqm::sfb::SfbParams;
use quell_units::{Duration, QueueSize};

use super::draft::{Draft, Link};
use crate::settings::Settings;
use crate::values::Value;

/// The kernel's probabilities are in parts of this (SFB_MAX_PROB).
const ONE: f64 = 65535.0;

/// Milliseconds, at least one.
fn set_millis(draft: &mut Draft, setting: &'static str, time: Duration) {
    let ms = (time.nanos() / 1_000_000).clamp(1, 4_294_967);
    if ms * 1_000_000 != time.nanos() {
        draft.note(format!("{setting} = {time}: tc counts milliseconds, up to 4294 s here: {ms}"));
    }
    draft.settings.set(setting, Value::Time(ms * 1_000));
}

pub(super) fn say(draft: &mut Draft, params: &SfbParams, link: &Link) {
    set_millis(draft, "rehash", params.rehash_interval);
    set_millis(draft, "db", params.warmup);
    draft.limit_packets(link, u32::MAX);
    draft.settings.set("max", Value::Int(i64::from(params.max)));
    draft.settings.set("target", Value::Int(i64::from(params.bin_size)));
    for (name, x) in [("increment", params.increment), ("decrement", params.decrement)] {
        let parts = libm::round(x * ONE).clamp(0.0, ONE);
        if libm::fabs(parts - x * ONE) > 1e-6 {
            draft.note(format!("{name} = {x}: the kernel counts parts of 1/65535: {parts} of them"));
        }
        draft.settings.set(name, Value::Number(of_parts(parts)));
    }
    draft.whole("penalty_rate", "penalty_rate", params.penalty_rate, (0, 1 << 31), "packets per second");
    if let Some(n) = draft.settings.int("penalty_rate") {
        draft.settings.set("penalty_rate", Value::Number(n as f64));
    }
    draft.settings.set("penalty_burst", Value::Int(i64::from(params.penalty_burst)));
    if !link.ecn {
        draft.note("ecn = false: the kernel marks what can be marked; there is no word to turn that off");
    }
    let config = AqmConfig::Sfb(params.clone());
    let said = [
        "rehash_interval",
        "warmup",
        "max",
        "bin_size",
        "increment",
        "decrement",
        "penalty_rate",
        "penalty_burst",
    ];
    draft.unsaid(&config, &said, &[("levels", "8"), ("bins", "16")]);
}

/// The share that so many parts are, with digits enough to read them back.
fn of_parts(parts: f64) -> f64 {
    libm::round(parts / ONE * 1e13) / 1e13
}

pub(super) fn mean(draft: &mut Draft, given: &Settings) -> (AqmConfig, QueueSize) {
    let usual = SfbParams::default();
    // tc computes one of the two from the other.
    let (max, bin_size) =
        match (given.count("max").filter(|n| *n > 0), given.count("target").filter(|n| *n > 0)) {
            (Some(max), Some(bin_size)) => (max, bin_size),
            (Some(max), None) => (max, (max.saturating_mul(4).saturating_add(3)) / 5),
            (None, Some(bin_size)) => ((bin_size.saturating_mul(5).saturating_add(1)) / 4, bin_size),
            (None, None) => (usual.max, usual.bin_size),
        };
    let s = &draft.settings;
    let part =
        |name: &str, usual: f64| s.number(name).map_or(usual, |x| libm::round(x.clamp(0.0, 1.0) * ONE) / ONE);
    let params = SfbParams {
        rehash_interval: s.time("rehash").unwrap_or(usual.rehash_interval),
        warmup: s.time("db").unwrap_or(usual.warmup),
        max,
        bin_size,
        increment: part("increment", usual.increment),
        decrement: part("decrement", usual.decrement),
        penalty_rate: s.number("penalty_rate").unwrap_or(usual.penalty_rate),
        penalty_burst: s.count("penalty_burst").unwrap_or(usual.penalty_burst),
        ..usual
    };
    (AqmConfig::Sfb(params), draft.packets("limit"))
}
