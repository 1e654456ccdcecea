//! pie and fq_pie: tc-pie(8), tc-fq_pie(8).

use quell_aqm::catalog::AqmConfig;
use quell_aqm::fq_pie::{FqPieParams, FqPieRules};
use quell_aqm::pie::{DelayFrom, PieParams, Scheme};
use quell_units::{Duration, QueueSize};

use super::draft::{Draft, Link};
use crate::values::{Value, bytes, micros};

/// tc's gains are in sixteenths, from 0 to 32 of them (include/net/pie.h).
const SIXTEENTHS: f64 = 16.0;
const MOST_GAIN: i64 = 32;

/// What both have.
struct Both {
    target: Duration,
    update_interval: Duration,
    alpha: f64,
    beta: f64,
    dequeue_rate: bool,
}

fn say_both(draft: &mut Draft, of: &Both, link: &Link) {
    for (setting, time) in [("target", of.target), ("tupdate", of.update_interval)] {
        let us = micros(time).max(1);
        if us * 1_000 != time.nanos() {
            draft.note(format!("{setting} = {time}: tc counts microseconds: {us} us"));
        }
        draft.settings.set(setting, Value::Time(us));
    }
    let (ms, rest) = (of.update_interval.nanos() / 1_000_000, of.update_interval.nanos() % 1_000_000);
    if rest > 0 || ms % 4 > 0 {
        draft.note(format!(
            "update_interval = {}: the kernel counts ticks, whole ones: {} ms of 4 ms at 250 per second (Debian), {} \
             ms at 1000",
            of.update_interval,
            (ms + u64::from(rest > 0)).div_ceil(4) * 4,
            ms + u64::from(rest > 0)
        ));
    }
    draft.whole("alpha", "alpha", of.alpha * SIXTEENTHS, (0, MOST_GAIN), "sixteenths");
    draft.whole("beta", "beta", of.beta * SIXTEENTHS, (0, MOST_GAIN), "sixteenths");
    draft.settings.choose(if of.dequeue_rate { "dq_rate_estimator" } else { "no_dq_rate_estimator" });
    draft.settings.choose("nobytemode");
    draft.settings.choose(if link.ecn { "ecn" } else { "noecn" });
}

fn mean_both(draft: &mut Draft) -> Both {
    let usual = PieParams::default();
    let s = &draft.settings;
    let gain = |name: &str, usual: f64| s.int(name).map_or(usual, |n| n as f64 / SIXTEENTHS);
    let both = Both {
        target: s.time("target").unwrap_or(usual.target),
        update_interval: s.time("tupdate").unwrap_or(usual.update_interval),
        alpha: gain("alpha", usual.alpha),
        beta: gain("beta", usual.beta),
        dequeue_rate: s.is("dq_rate_estimator"),
    };
    let is_bytemode = s.is("bytemode");
    if both.dequeue_rate {
        draft.note(
            "dq_rate_estimator: simulated by the rules of RFC 8033, as those of Linux are simulated with time stamps alone",
        );
    }
    if is_bytemode {
        draft.note("bytemode: a packet's size does not change its probability here, as with nobytemode");
    }
    both
}

pub(super) fn say(draft: &mut Draft, params: &PieParams, link: &Link) {
    draft.limit_packets(link, u32::MAX);
    let both = Both {
        target: params.target,
        update_interval: params.update_interval,
        alpha: params.alpha,
        beta: params.beta,
        dequeue_rate: params.delay_from == Some(DelayFrom::DequeueRate),
    };
    say_both(draft, &both, link);
    if params.delay_from == Some(DelayFrom::LinkRate) {
        draft.note("delay_from = link-rate: the kernel measures, by time stamps");
    }
    let config = AqmConfig::Pie(params.clone());
    let said = ["target", "update_interval", "alpha", "beta", "delay_from"];
    draft.unsaid(&config, &said, &[("scheme", "linux"), ("max_burst", "150 ms"), ("mark_ecnth", "none")]);
}

pub(super) fn mean(draft: &mut Draft) -> (AqmConfig, QueueSize) {
    let both = mean_both(draft);
    let params = PieParams {
        // Linux's own rules are known for its time stamps alone.
        scheme: if both.dequeue_rate { Scheme::Standard } else { Scheme::Linux },
        target: both.target,
        update_interval: both.update_interval,
        alpha: both.alpha,
        beta: both.beta,
        delay_from: both.dequeue_rate.then_some(DelayFrom::DequeueRate),
        ..PieParams::default()
    };
    (AqmConfig::Pie(params), draft.packets("limit"))
}

pub(super) fn say_fair(draft: &mut Draft, params: &FqPieParams, link: &Link) {
    draft.limit_packets(link, params.limit);
    draft.whole("flows", "flows", f64::from(params.flows), (1, 65536), "queues");
    let both = Both {
        target: params.target,
        update_interval: params.update_interval,
        alpha: params.alpha,
        beta: params.beta,
        dequeue_rate: params.delay_from == DelayFrom::DequeueRate,
    };
    say_both(draft, &both, link);
    if params.delay_from == DelayFrom::LinkRate {
        draft.note("delay_from = link-rate: the kernel measures, by time stamps");
    }
    draft.settings.set("quantum", Value::Size(bytes(params.quantum)));
    draft.settings.set("memory_limit", Value::Size(bytes(params.memory_limit)));
    if params.memory_limit != FqPieParams::default().memory_limit {
        draft.note("memory_limit: the kernel counts its own memory, about 2304 B for a packet of 1514 B");
    }
    draft.whole("mark_ecnth", "ecn_prob", params.mark_ecnth * 100.0, (0, 100), "percent");
    let config = AqmConfig::FqPie(params.clone());
    let said = [
        "flows",
        "quantum",
        "limit",
        "memory_limit",
        "target",
        "update_interval",
        "alpha",
        "beta",
        "mark_ecnth",
        "delay_from",
    ];
    draft.unsaid(&config, &said, &[("rules", "linux"), ("max_burst", "150 ms"), ("derandomize", "true")]);
}

pub(super) fn mean_fair(draft: &mut Draft) -> (AqmConfig, QueueSize) {
    let both = mean_both(draft);
    let usual = FqPieParams::default();
    let s = &draft.settings;
    let limit = s.count("limit").unwrap_or(usual.limit);
    let params = FqPieParams {
        flows: s.count("flows").unwrap_or(usual.flows),
        quantum: s.size("quantum").unwrap_or(usual.quantum),
        // The buffer is the limit; the parameter only must not be below it.
        limit: limit.max(usual.limit),
        memory_limit: s.size("memory_limit").unwrap_or(usual.memory_limit),
        target: both.target,
        update_interval: both.update_interval,
        alpha: both.alpha,
        beta: both.beta,
        mark_ecnth: s.int("ecn_prob").map_or(usual.mark_ecnth, |percent| percent as f64 / 100.0),
        delay_from: if both.dequeue_rate { DelayFrom::DequeueRate } else { DelayFrom::Departures },
        rules: if both.dequeue_rate { FqPieRules::Draft } else { FqPieRules::Linux },
        ..usual
    };
    (AqmConfig::FqPie(params), QueueSize::Packets(f64::from(limit)))
}
