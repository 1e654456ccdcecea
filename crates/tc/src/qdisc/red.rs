//! red and choke: tc-red(8), tc-choke(8).

use quell_aqm::catalog::AqmConfig;
use quell_aqm::choke::ChokeParams;
use quell_aqm::part::{Forced, Spacing, Weight};
use quell_aqm::red::RedParams;
use quell_units::{BitRate, QueueSize};

use super::draft::{Draft, Link};
use crate::settings::Settings;
use crate::values::Value;

/// The bandwidth that tc takes for red where a line gives none.
const USUAL_BANDWIDTH: BitRate = BitRate::from_bps(10_000_000);

/// The probability at the upper threshold that tc takes where a line gives none.
const USUAL_PROBABILITY: f64 = 0.02;

/// The smallest weight that tc finds, as a power of 1/2, and from which on it warns.
const MOST_WLOG: i32 = 31;
const LONG_WLOG: i32 = 10;

/// n of the largest 2^-n with which a burst of packets raises an average from nothing to no more than `min` packets:
/// `burst + 1 - min <= (1 - (1 - w)^burst) / w`, as tc_red_eval_ewma in iproute2. None if `min` exceeds the burst.
pub(crate) fn wlog(min: f64, burst: f64) -> Option<i32> {
    let over = burst + 1.0 - min;
    let reaches = |n: &i32| {
        let w = libm::ldexp(1.0, -*n);
        over <= (1.0 - libm::pow(1.0 - w, burst)) / w
    };
    (over >= 1.0).then(|| (1..=MOST_WLOG).find(reaches)).flatten()
}

/// The largest burst that tc makes 2^-n of, or the next one that it can.
fn burst(min: f64, n: i32) -> Option<(i64, i32)> {
    let least = libm::ceil(min).max(1.0) as i64;
    // A longer burst never has a larger weight.
    let (mut low, mut high) = (least, 1_i64 << 32);
    if wlog(min, low as f64)? > n {
        return Some((low, wlog(min, low as f64)?));
    }
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        match wlog(min, middle as f64) {
            Some(found) if found <= n => low = middle,
            _ => high = middle,
        }
    }
    Some((low, wlog(min, low as f64)?))
}

/// What red and choke have in common.
struct Average {
    min: f64,
    max: f64,
    weight: f64,
    max_p: f64,
}

/// The number of the weight, with the link if it is a rule.
fn resolve(weight: Weight, link: &Link) -> Result<f64, String> {
    match (weight, link.rate) {
        (Weight::Value(w), _) => Ok(w),
        (weight, Some(rate)) => {
            let link = quell_aqm::Link { rate, buffer: link.buffer, mean_packet: link.mean_packet };
            weight.resolve(&link).map_err(|e| e.to_string())
        }
        _ => Err("the weight is a rule of the link's rate: give the rate".into()),
    }
}

/// Sets burst and probability; `avpkt` is what `min` of one packet is.
fn say_average(draft: &mut Draft, of: &Average, avpkt: f64) -> Result<(), String> {
    let exact = -libm::log2(of.weight);
    let n = libm::round(exact).clamp(1.0, f64::from(MOST_WLOG)) as i32;
    let (burst, found) = burst(of.min / avpkt, n)
        .ok_or_else(|| format!("no burst of tc's makes a weight of {}", of.weight))?;
    let grid = libm::ldexp(1.0, -found);
    if libm::fabs(grid / of.weight - 1.0) > 1e-9 {
        draft.note(format!(
            "weight = {}: tc makes a power of 1/2 of burst, min and avpkt: burst {burst} makes {grid}, which is 1/{}",
            of.weight,
            1_u64 << found
        ));
    }
    if found >= LONG_WLOG {
        draft.note(format!("burst {burst}: tc warns that it seems to be too large, and takes it"));
    }
    draft.settings.set("burst", Value::Int(burst));
    draft.settings.set("probability", Value::Number(of.max_p));
    Ok(())
}

/// Sets the rate by which the average ages while the queue is empty.
fn say_bandwidth(draft: &mut Draft, link: &Link) {
    draft.settings.set("bandwidth", Value::Rate(link.rate.unwrap_or(USUAL_BANDWIDTH)));
    if link.rate.is_none() {
        draft.note(
            "bandwidth: 10mbit, tc's usual one: by it the average ages while the queue is empty; give --rate",
        );
    }
}

fn thresholds(
    min: QueueSize,
    max: QueueSize,
    in_unit: impl Fn(QueueSize) -> f64,
) -> Result<(f64, f64), String> {
    let (min, max) = (libm::round(in_unit(min)), libm::round(in_unit(max)));
    if min < 1.0 || min >= max {
        return Err(format!(
            "min_th must be at least 1 and below max_th for tc, and they are {min} and {max}"
        ));
    }
    Ok((min, max))
}

pub(super) fn say(draft: &mut Draft, params: &RedParams, link: &Link) -> Result<(), String> {
    let in_bytes = |size: QueueSize| size.in_bytes(link.mean_packet);
    let (min, max) = thresholds(params.min_th, params.max_th, in_bytes)?;
    if matches!(params.min_th, QueueSize::Packets(_)) {
        draft.note(format!(
            "min_th and max_th: red counts bytes, {} for a packet, and so a small packet counts less",
            link.mean_packet
        ));
    }
    let limit = libm::round(link.buffer.in_bytes(link.mean_packet)).clamp(1.0, f64::from(u32::MAX));
    if max > limit {
        return Err(format!("max_th ({max} B) must be at most the buffer ({limit} B), or tc refuses it"));
    }
    for (name, x) in [("limit", limit), ("min", min), ("max", max)] {
        draft.settings.set(name, Value::Size(x as u64));
    }
    let avpkt = link.mean_packet.get().max(1);
    draft.settings.set("avpkt", Value::Size(avpkt));
    let average = Average { min, max, weight: resolve(params.weight, link)?, max_p: params.max_p };
    say_average(draft, &average, avpkt as f64)?;
    say_bandwidth(draft, link);
    if link.ecn {
        draft.settings.choose("ecn");
        if params.forced == Forced::Drop {
            draft.settings.choose("harddrop");
        }
    }
    let config = AqmConfig::Red(params.clone());
    let said = ["min_th", "max_th", "max_p", "weight", "forced"];
    draft.unsaid(&config, &said, &[("gentle", "false"), ("min_backlog", "0"), ("spacing", "one-draw")]);
    Ok(())
}

pub(super) fn say_choke(draft: &mut Draft, params: &ChokeParams, link: &Link) -> Result<(), String> {
    let in_packets = |size: QueueSize| size.in_packets(link.mean_packet);
    let (min, max) = thresholds(params.min_th, params.max_th, in_packets)?;
    draft.limit_packets(link, u32::MAX);
    let limit = draft.settings.int("limit").unwrap_or(0);
    if max > limit as f64 {
        return Err(format!("max_th ({max} packets) must be at most the buffer ({limit}), or tc refuses it"));
    }
    for (name, x) in [("min", min), ("max", max)] {
        draft.settings.set(name, Value::Int(x as i64));
    }
    draft.settings.set("avpkt", Value::Size(link.mean_packet.get().max(1)));
    let average = Average { min, max, weight: resolve(params.weight, link)?, max_p: params.max_p };
    say_average(draft, &average, 1.0)?;
    say_bandwidth(draft, link);
    if link.ecn {
        draft.settings.choose("ecn");
    }
    let config = AqmConfig::Choke(params.clone());
    let said = ["min_th", "max_th", "max_p", "weight"];
    let forced = if link.ecn { "mark" } else { "drop" };
    let kernel = [
        ("gentle", "false"),
        ("min_backlog", "0"),
        ("spacing", "one-draw"),
        ("candidates", "1"),
        ("forced", forced),
    ];
    draft.unsaid(&config, &said, &kernel);
    Ok(())
}

/// What tc makes of limit, min, max, burst and probability. `per_packet` is the size of a packet in the unit of `min`.
fn mean_average(
    draft: &mut Draft,
    given: &Settings,
    limit: f64,
    per_packet: f64,
    unit: &str,
) -> Result<Average, String> {
    let number = |name: &str| match given.get(name)? {
        Value::Size(bytes) => Some(bytes as f64),
        Value::Int(n) => Some(n as f64),
        _ => None,
    };
    let max = number("max").filter(|x| *x > 0.0).unwrap_or_else(|| libm::floor(limit / 4.0));
    let min = number("min").filter(|x| *x > 0.0).unwrap_or_else(|| libm::floor(max / 3.0));
    for (name, value) in [("max", max), ("min", min)] {
        if number(name).is_none() {
            draft.note(format!("{name} is not in the line: {value} {unit} is what tc computes"));
        }
    }
    if min < 1.0 || min >= max || max > limit {
        return Err(format!(
            "min ({min}) must be below max ({max}), and max at most limit ({limit}), or tc refuses it"
        ));
    }
    let weight = if let Some(n) = given.count("ewma") {
        libm::ldexp(1.0, -i32::try_from(n).unwrap_or(MOST_WLOG).min(MOST_WLOG))
    } else {
        let burst = number("burst")
            .filter(|burst| *burst > 0.0)
            .unwrap_or_else(|| libm::floor((2.0 * min + max) / (3.0 * per_packet)));
        let Some(n) = wlog(min / per_packet, burst) else {
            let per_packet = min / per_packet;
            return Err(match burst < per_packet {
                true => format!(
                    "burst: {burst} is less than min / avpkt, which tc refuses: give at least {}",
                    libm::ceil(per_packet)
                ),
                false => {
                    "min: must be more than avpkt, or tc finds no weight of the average and refuses it".into()
                }
            });
        };
        let weight = libm::ldexp(1.0, -n);
        draft.note(format!(
            "weight = {weight}: tc's from a burst of {burst} packets and a min of {} of them",
            quell_units::text::three_digits(min / per_packet)
        ));
        weight
    };
    let max_p = given.number("probability").unwrap_or(USUAL_PROBABILITY);
    if draft.shown && !given.has("ewma") {
        draft.note(format!(
            "probability and ewma are not in what tc printed: assumed are max_p = {max_p} and the weight that tc \
             computes of a line without burst; tc -d prints both"
        ));
    }
    if !(0.0..=1.0).contains(&max_p) {
        return Err(format!("probability: {max_p} must be from 0 to 1"));
    }
    Ok(Average { min, max, weight, max_p })
}

/// # Errors
/// Says what the line lacks.
pub(super) fn mean(draft: &mut Draft, given: &Settings) -> Result<(AqmConfig, QueueSize), String> {
    let limit = given.size("limit").map_or(0.0, |bytes| bytes.get() as f64);
    if limit == 0.0 {
        return Err("limit: red needs one in bytes, such as limit 400000".into());
    }
    let avpkt = draft.settings.size("avpkt").map_or(1000.0, |bytes| bytes.get().max(1) as f64);
    let average = mean_average(draft, given, limit, avpkt, "B")?;
    if given.is("nodrop") {
        draft.note("nodrop: what cannot be marked is dropped here");
    }
    if given.is("adaptive") {
        draft.note("adaptive: max_p stays here; another algorithm moves it: algorithm = \"ared\"");
    }
    let marks = given.is("ecn") && !given.is("harddrop");
    let params = RedParams {
        min_th: QueueSize::Bytes(average.min),
        max_th: QueueSize::Bytes(average.max),
        max_p: average.max_p,
        weight: Weight::Value(average.weight),
        gentle: false,
        forced: if marks { Forced::Mark } else { Forced::Drop },
        spacing: Spacing::OneDraw,
        min_backlog: 0,
        ..RedParams::default()
    };
    Ok((AqmConfig::Red(params), QueueSize::Bytes(limit)))
}

/// # Errors
/// Says what the line lacks.
pub(super) fn mean_choke(draft: &mut Draft, given: &Settings) -> Result<(AqmConfig, QueueSize), String> {
    let limit = given.count("limit").map_or(0.0, f64::from);
    if limit == 0.0 {
        return Err("limit: choke needs one in packets, such as limit 1000".into());
    }
    let average = mean_average(draft, given, limit, 1.0, "packets")?;
    let params = ChokeParams {
        min_th: QueueSize::Packets(average.min),
        max_th: QueueSize::Packets(average.max),
        max_p: average.max_p,
        weight: Weight::Value(average.weight),
        forced: if given.is("ecn") { Forced::Mark } else { Forced::Drop },
        spacing: Spacing::OneDraw,
        min_backlog: 0,
        ..ChokeParams::default()
    };
    Ok((AqmConfig::Choke(params), QueueSize::Packets(limit)))
}

/// The RED of each flow's queue, for sfq.
pub(super) struct PerFlow {
    pub(super) min: f64,
    pub(super) max: f64,
    pub(super) weight: f64,
    pub(super) max_p: f64,
}

/// # Errors
/// Says what the line lacks.
pub(super) fn mean_per_flow(draft: &mut Draft, given: &Settings, limit: f64) -> Result<PerFlow, String> {
    let avpkt = given.size("avpkt").map_or(1000.0, |bytes| bytes.get().max(1) as f64);
    let Average { min, max, weight, max_p } = mean_average(draft, given, limit, avpkt, "B")?;
    Ok(PerFlow { min, max, weight, max_p })
}

/// Sets the words of RED in each flow's queue.
pub(super) fn say_per_flow(
    draft: &mut Draft,
    (min_th, max_th, max_p): (QueueSize, QueueSize, f64),
    weight: Weight,
    link: &Link,
) -> Result<(), String> {
    let in_bytes = |size: QueueSize| size.in_bytes(link.mean_packet);
    let (min, max) = thresholds(min_th, max_th, in_bytes)?;
    for (name, x) in [("min", min), ("max", max)] {
        draft.settings.set(name, Value::Size(x as u64));
    }
    let avpkt = link.mean_packet.get().max(1);
    draft.settings.set("avpkt", Value::Size(avpkt));
    let average = Average { min, max, weight: resolve(weight, link)?, max_p };
    say_average(draft, &average, avpkt as f64)
}

#[cfg(test)]
mod tests {
    use super::{burst, wlog};

    /// From the messages that tc 7.3 sends: min 30 kB, packets of 1000 B, burst 55: Wlog 5.
    #[test]
    fn the_weight_is_that_of_tcs_messages() {
        assert_eq!(wlog(30_000.0 / 1000.0, 55.0), Some(5));
        assert_eq!(wlog(30.0, 29.0), None);
    }

    #[test]
    fn a_burst_makes_the_weight_that_it_is_for() {
        for min in [1.0, 5.0, 30.0, 30.7, 333.3] {
            for n in 1..20 {
                let (burst, found) = burst(min, n).unwrap();
                assert_eq!(wlog(min, burst as f64), Some(found), "{min} {n}");
                // Short bursts have the largest weights: a min of many packets has none of those.
                assert!(found == n || burst as f64 == min.ceil(), "{min} {n}: {burst} {found}");
            }
        }
    }
}
