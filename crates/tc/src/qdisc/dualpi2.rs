//! dualpi2: tc-dualpi2(8).

use quell_aqm::catalog::AqmConfig;
use quell_aqm::dualpi2::{DualPi2Params, Overload, SignalAt, Signals, ThLenAt};
use quell_aqm::part::dual_queue::Classifier;
use quell_units::{Bytes, Duration, QueueSize};

use super::draft::{Draft, Link};
use crate::settings::Settings;
use crate::values::{Value, micros};

/// tc's gains are in parts of 2^-8 per second.
const GAIN: f64 = 256.0;

/// Ratio of the longest round-trip time to the typical one, if tc is told one of them.
const TYPICAL_TO_MAX: u64 = 6;

/// The backlog below which the kernel signals nothing: three packets of the device's MTU.
const MIN_BACKLOG: Bytes = Bytes::new(4542);

/// A time that no packet waits: the kernel's limit is in packets.
const NO_LIMIT: Duration = Duration::from_secs(3600);

pub(super) fn say(draft: &mut Draft, params: &DualPi2Params, link: &Link) {
    draft.limit_packets(link, u32::MAX);
    if let (Some(rate), limit) = (link.rate, params.limit) {
        let packets = limit.as_secs_f64() * rate.bytes_per_sec() / link.mean_packet.get().max(1) as f64;
        if packets < link.buffer.in_packets(link.mean_packet) {
            draft.settings.set("limit", Value::Int(libm::round(packets).clamp(2.0, 1e9) as i64));
            draft.note(format!(
                "limit = {limit}: the kernel's limit counts packets, {} of them",
                libm::round(packets)
            ));
        }
    }
    let memory = draft.settings.int("limit").map_or(0, i64::unsigned_abs) * 2 * 1514;
    draft.settings.set("memlimit", Value::Size(memory.min(u64::from(u32::MAX))));
    // The gains that follow here from the longest round-trip time (RFC 9332, figure 2).
    let rtt = params.rtt_max.as_secs_f64();
    let usual = params.target.nanos().min(params.rtt_max.nanos() / 3);
    let update = params.update_interval.unwrap_or(Duration::from_nanos(usual));
    let alpha = params.alpha.unwrap_or(0.1 * update.as_secs_f64() / (rtt * rtt));
    let beta = params.beta.unwrap_or(0.3 / rtt);
    draft.settings.set("target", Value::Time(micros(params.target).max(1)));
    draft.settings.set("tupdate", Value::Time(micros(update).max(1)));
    for (name, x) in [("alpha", alpha), ("beta", beta)] {
        let grid = libm::floor(x * GAIN + 1e-6) / GAIN;
        if libm::fabs(grid - x) > 1e-9 {
            draft.note(format!(
                "{name} = {}: tc counts parts of 1/256, cut off: {grid}",
                quell_units::text::three_digits(x)
            ));
        }
        if grid == 0.0 {
            draft.note(format!("{name}: less than 1/256, which is 0 to the kernel: it does not control"));
        }
        draft.settings.set(name, Value::Number(grid));
    }
    step(draft, params);
    draft.whole("k", "coupling_factor", params.k, (1, 255), "whole factors");
    draft.settings.choose(if params.overload == Overload::Drop { "drop_on_overload" } else { "overflow" });
    draft.settings.choose(if params.signal_at == SignalAt::Enqueue {
        "drop_enqueue"
    } else {
        "drop_dequeue"
    });
    let share = libm::round(params.c_weight * 100.0).clamp(0.0, 99.0);
    if libm::fabs(share - params.c_weight * 100.0) > 1e-9 {
        draft.note(format!(
            "c_weight = {}: classic_protection is in whole percent: {share} %",
            params.c_weight
        ));
    }
    draft.settings.set("classic_protection", Value::Number(share));
    match params.classifier {
        Classifier::Ect1 => draft.settings.choose("l4s_ect"),
        Classifier::AnyEct => draft.settings.choose("any_ect"),
        _ => {
            draft.settings.choose("l4s_ect");
            draft.note(
                "classifier: the kernel goes by the ECN field, or by the priority of packets: l4s_ect is written",
            );
        }
    }
    draft.settings.choose("split_gso");
    if !link.ecn {
        draft.note("ecn = false: the kernel marks what can be marked; there is no word to turn that off");
    }
    let config = AqmConfig::DualPi2(params.clone());
    let said = [
        "classifier",
        "k",
        "target",
        "rtt_max",
        "update_interval",
        "alpha",
        "beta",
        "min_th",
        "range",
        "th_len",
        "th_len_at",
        "c_weight",
        "signal_at",
        "overload",
        "limit",
    ];
    let kernel = [
        ("not_ect_in_l", "drop"),
        ("scheduler", "wrr"),
        ("signals", "random"),
        ("delay_from", "sojourn"),
        ("min_backlog", "4542 B"),
    ];
    draft.unsaid(&config, &said, &kernel);
}

/// The step of the L queue.
fn step(draft: &mut Draft, params: &DualPi2Params) {
    let packets = params.th_len_at == ThLenAt::Dequeue && params.min_th.is_zero() && params.th_len > 0;
    if packets {
        draft.settings.set("step_thresh", Value::Int(i64::from(params.th_len)));
        draft.settings.set("min_qlen_step", Value::Int(0));
        return;
    }
    let us = micros(params.min_th).max(1);
    draft.settings.set("step_thresh", Value::Time(us));
    if us * 1_000 != params.min_th.nanos() {
        draft
            .note(format!("min_th = {}: step_thresh counts microseconds, from 1 on: {us} us", params.min_th));
    }
    if !params.range.is_zero() {
        draft.note(format!("range = {}: the kernel has a step at min_th and no ramp", params.range));
    }
    if params.th_len_at != ThLenAt::Enqueue {
        draft.note("th_len_at: the kernel counts the packets that one finds on arrival, and itself");
    }
    draft.settings.set("min_qlen_step", Value::Int(i64::from(params.th_len)));
}

/// # Errors
/// Says which words contradict each other.
pub(super) fn mean(draft: &mut Draft, given: &Settings) -> Result<(AqmConfig, QueueSize), String> {
    round_trips(draft)?;
    if draft.shown {
        gains_of_shown(&mut draft.settings, given);
    }
    let s = &draft.settings;
    let usual = DualPi2Params::default();
    let (min_th, th_len, th_len_at) = match s.get("step_thresh") {
        Some(Value::Int(packets)) => {
            (Duration::from_nanos(0), u32::try_from(packets).unwrap_or(u32::MAX), ThLenAt::Dequeue)
        }
        _ => {
            let th_len = s.count("min_qlen_step").unwrap_or(0);
            (s.time("step_thresh").unwrap_or(usual.min_th), th_len, ThLenAt::Enqueue)
        }
    };
    let params = DualPi2Params {
        classifier: if s.is("any_ect") { Classifier::AnyEct } else { Classifier::Ect1 },
        k: s.int("coupling_factor").map_or(usual.k, |k| k as f64),
        target: s.time("target").unwrap_or(usual.target),
        update_interval: s.time("tupdate"),
        alpha: s.number("alpha"),
        beta: s.number("beta"),
        min_th,
        range: Duration::from_nanos(0),
        th_len,
        th_len_at,
        c_weight: s.number("classic_protection").map_or(usual.c_weight, |percent| percent / 100.0),
        signal_at: if s.is("drop_enqueue") { SignalAt::Enqueue } else { SignalAt::Dequeue },
        overload: if s.is("overflow") { Overload::Overflow } else { Overload::Drop },
        signals: Signals::Random,
        min_backlog: MIN_BACKLOG,
        limit: NO_LIMIT,
        ..usual
    };
    if th_len_at == ThLenAt::Dequeue && s.count("min_qlen_step").unwrap_or(0) > 0 {
        draft.note("min_qlen_step: left out, because step_thresh counts packets, too");
    }
    if draft.settings.is("no_split_gso") {
        draft.note("no_split_gso: packets come one by one here, as with split_gso");
    }
    Ok((AqmConfig::DualPi2(params), draft.packets("limit")))
}

/// The gains that were given. The kernel keeps `floor(n * (2^32 - 1) / 4e9)` of n parts of 1/256, and shows
/// `floor(kept * 4e9 / (2^32 - 1))` of them, which is n - 1 (dualpi2_scale_alpha_beta and dualpi2_unscale_alpha_beta in
/// net/sched/sch_dualpi2.c): of its default, 41 parts, it shows 40.
fn gains_of_shown(settings: &mut Settings, given: &Settings) {
    for name in ["alpha", "beta"] {
        if let Some(x) = given.number(name) {
            settings.set(name, Value::Number((libm::round(x * GAIN) + 1.0) / GAIN));
        }
    }
}

/// What tc makes of the longest and the typical round-trip time, as its manual page has it.
fn round_trips(draft: &mut Draft) -> Result<(), String> {
    let us = |name: &str| match draft.settings.get(name) {
        Some(Value::Time(us)) if us > 0 => Some(us),
        _ => None,
    };
    let (typical, max) = match (us("typical_rtt"), us("max_rtt")) {
        (None, None) => return Ok(()),
        (Some(typical), Some(max)) if typical > max => {
            return Err("typical_rtt: must be at most max_rtt, or tc refuses the line".into());
        }
        (Some(typical), Some(max)) => (typical, max),
        (Some(typical), None) => (typical, typical * TYPICAL_TO_MAX),
        (None, Some(max)) => ((max / TYPICAL_TO_MAX).max(1), max),
    };
    let update = typical.min(max / 3).max(1);
    let seconds = max as f64 / 1e6;
    let alpha = 0.1 * (update as f64 / 1e6) / (seconds * seconds);
    let beta = 0.3 / seconds;
    for (name, x) in [("alpha", alpha), ("beta", beta)] {
        if x < 1.0 / GAIN {
            return Err(format!("max_rtt: {seconds} s makes {name} less than 1/256, which tc refuses"));
        }
        draft.settings.set(name, Value::Number(libm::floor(x * GAIN) / GAIN));
    }
    draft.settings.set("target", Value::Time(typical));
    draft.settings.set("tupdate", Value::Time(update));
    draft.note(format!(
        "max_rtt and typical_rtt: tc makes target {typical} us, tupdate {update} us, alpha {alpha:.6} and beta \
         {beta:.6} of them, whatever else the line says of these"
    ));
    Ok(())
}
