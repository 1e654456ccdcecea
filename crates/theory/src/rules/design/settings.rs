//! Settings by documents that ask for a link's rate and the round-trip times, and for no model: CoDel, PIE and what is
//! made of them.

use quell_aqm::cake::CakeParams;
use quell_aqm::catalog::AqmConfig;
use quell_aqm::codel::CodelParams;
use quell_aqm::dualpi2::DualPi2Params;
use quell_aqm::fq_codel::FqCodelParams;
use quell_aqm::fq_pie::FqPieParams;
use quell_aqm::pie::PieParams;
use quell_units::text::duration;
use quell_units::{BitRate, Bytes, Duration};

/// Parameters by a document, and why they are what they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// The algorithm, ready for a scenario.
    pub config: AqmConfig,
    /// Each choice with its source.
    pub reasons: Vec<String>,
}

/// The algorithms for which [`setting`] has a rule.
pub const SET: &[&str] = &["codel", "fq-codel", "pie", "fq-pie", "cake", "dualpi2"];

/// The interval for the Internet: RFC 8289 section 4.2.
const USUAL: Duration = Duration::from_millis(100);
/// The shortest round-trip time for which the same section recommends that interval.
const NEAREST: Duration = Duration::from_millis(10);
/// The shortest interval, which is chosen: below, the timers of hosts and the bursts of their network cards are as long.
const SHORTEST: Duration = Duration::from_millis(1);
/// The smallest packet that a turn is shorter than: sch_cake.c and RFC 8290 section 5.2.4.
const SMALL: u64 = 300;
/// The memory of the smallest queue: sch_cake.c.
const LEAST_MEMORY: u64 = 4 << 20;

/// Parameters of an algorithm for a link of this rate, whose packets have up to `mtu` and whose round trips are up to
/// `rtt` long. `None`: there is no such rule; [`SET`] has the names.
///
/// Sources: RFC 8289 sections 4.2 to 4.4, RFC 8290 section 5.2, RFC 8033 sections 4.2 and 4.4, RFC 9332 figure 2, and
/// Linux's sch_cake.c.
pub fn setting(name: &str, rate: BitRate, mtu: Bytes, rtt: Duration) -> Option<Setting> {
    let mut reasons = Vec::new();
    let packet = rate.transmission_time(mtu);
    let (usual, why) = interval(rtt);
    // A target below the time of a packet would signal all of them: RFC 8289 section 4.3; the half more is CAKE's.
    let floor = rounded(packet.mul_f64(1.5));
    let target = usual.mul_f64(0.05).max(floor);
    // As CAKE does, the interval grows with its target.
    let interval = rounded(usual + (target - usual.mul_f64(0.05)));
    let of_codel = |reasons: &mut Vec<String>| {
        reasons.push(why.clone());
        reasons.push(match target == floor {
            true => format!(
                "target = {target}: one and a half times the {} that a packet of {mtu} takes, which is more than 5% of the \
                 interval (RFC 8289 section 4.3, tc-cake(8))",
                duration(packet.as_secs_f64())
            ),
            false => format!("target = {target}: 5% of the interval (RFC 8289 section 4.3)"),
        });
    };
    // The time constants of the document are for round trips of 100 ms.
    let scale = usual.as_secs_f64() / USUAL.as_secs_f64();
    let held = rounded(Duration::from_millis(15).mul_f64(scale.min(1.0)).max(floor));
    let update = rounded(Duration::from_millis(15).mul_f64(scale.min(1.0)));
    let alpha = 0.125 * (update.as_secs_f64() / 0.015) / (scale * scale);
    let beta = 1.25 / scale;
    let burst = rounded(Duration::from_millis(150).mul_f64(scale));
    let of_pie = |reasons: &mut Vec<String>| {
        reasons.push(format!(
            "target = {held}: {}",
            match held == floor {
                true => "one and a half packets' time at this rate",
                false if scale < 1.0 =>
                    "15% of the interval, as the 15 ms of RFC 8033 section 4.2 are of 100 ms",
                false => "RFC 8033 section 4.2",
            }
        ));
        if scale != 1.0 {
            reasons.push(format!(
                "alpha and beta for round trips of up to {usual} instead of 100 ms: alpha falls with their square, beta \
                 with them (RFC 9332 figure 2)"
            ));
        }
    };
    let turn = Bytes::new((rate.bps() / 8 / 4096).clamp(SMALL, mtu.get().max(SMALL)));
    let of_turns = |reasons: &mut Vec<String>| {
        if turn < mtu {
            reasons.push(format!(
                "quantum = {turn}: what the link sends in 0.24 ms, at least 300 B, so that small packets go first at low \
                 rates (RFC 8290 section 5.2.4, sch_cake.c)"
            ));
        }
    };
    // Two products of rate and interval, so that one flow can fill the link while its queue is still being drained.
    let product = rate.bytes_per_sec() * interval.as_secs_f64();
    let memory = Bytes::new(whole(2.0 * product).max(LEAST_MEMORY).next_multiple_of(1 << 20));
    let packets = u32::try_from(memory.get().div_ceil(mtu.get().max(1))).unwrap_or(u32::MAX).max(10_240);
    let of_memory = |reasons: &mut Vec<String>| {
        reasons.push(format!(
            "memory_limit = {} MiB: twice rate times interval, at least 4 MiB (RFC 8290 section 5.2.3)",
            memory.get() >> 20
        ));
    };
    let config = match name {
        "codel" => {
            of_codel(&mut reasons);
            AqmConfig::Codel(CodelParams { target, interval, ..Default::default() })
        }
        "fq-codel" => {
            of_codel(&mut reasons);
            of_turns(&mut reasons);
            of_memory(&mut reasons);
            AqmConfig::FqCodel(FqCodelParams {
                target,
                interval,
                quantum: turn,
                limit: packets,
                memory_limit: memory,
                ..Default::default()
            })
        }
        "pie" => {
            of_pie(&mut reasons);
            AqmConfig::Pie(PieParams {
                target: held,
                update_interval: update,
                alpha,
                beta,
                max_burst: burst,
                ..Default::default()
            })
        }
        "fq-pie" => {
            of_pie(&mut reasons);
            of_turns(&mut reasons);
            of_memory(&mut reasons);
            AqmConfig::FqPie(FqPieParams {
                target: held,
                update_interval: update,
                alpha,
                beta,
                max_burst: burst,
                quantum: turn,
                limit: packets,
                memory_limit: memory,
                ..Default::default()
            })
        }
        "cake" => {
            reasons.push(why.replacen("interval", "rtt", 1));
            reasons
                .push("target, quantum and memory follow from rtt and bandwidth in CAKE itself".to_string());
            AqmConfig::Cake(CakeParams { rtt: usual, ..Default::default() })
        }
        "dualpi2" => {
            of_pie(&mut reasons);
            // Section 4.2 of RFC 9332 has the step at the time of a packet and more; the default suits 12 Mbit/s on.
            let step = DualPi2Params::default().min_th.max(floor);
            let own = DualPi2Params { target: held, rtt_max: usual, min_th: step, ..Default::default() };
            // Linux has no rtt_max, but the gains that follow from it.
            let (t, r) = (held.min(usual.mul_f64(1.0 / 3.0)), usual.as_secs_f64());
            AqmConfig::DualPi2(match scale == 1.0 {
                true => own,
                false => DualPi2Params {
                    update_interval: Some(t),
                    alpha: Some(0.1 * t.as_secs_f64() / (r * r)),
                    beta: Some(0.3 / r),
                    ..own
                },
            })
        }
        _ => return None,
    };
    Some(Setting { config, reasons })
}

/// The interval for round trips of up to `rtt`, and why.
fn interval(rtt: Duration) -> (Duration, String) {
    match rtt {
        rtt if rtt > USUAL => {
            let interval = rounded(rtt);
            (interval, format!("interval = {interval}: the longest usual round trip (RFC 8289 section 4.2)"))
        }
        rtt if rtt >= NEAREST => (
            USUAL,
            "interval = 100 ms: right for round trips of 10 to 300 ms (RFC 8289 section 4.2)".to_string(),
        ),
        rtt => {
            let interval = rounded(rtt.max(SHORTEST));
            let least = if interval == SHORTEST { "; at least 1 ms is chosen" } else { "" };
            let why = format!("interval = {interval}: the longest round trip (RFC 8289 section 4.2){least}");
            (interval, why)
        }
    }
}

/// The same in steps of 10 us, which people can type.
fn rounded(time: Duration) -> Duration {
    Duration::from_micros((time.nanos().saturating_add(5_000) / 10_000).max(1).saturating_mul(10))
}

/// The nearest whole number from above.
fn whole(x: f64) -> u64 {
    let x = libm::ceil(x);
    // What no memory holds is as good as the most that does.
    if x < 1e15 { x as u64 } else { 1_000_000_000_000_000 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Bytes = Bytes::new(1514);

    fn fq_codel(mbps: f64, rtt_ms: u64) -> FqCodelParams {
        let rate = BitRate::from_bps((mbps * 1e6) as u64);
        match setting("fq-codel", rate, FRAME, Duration::from_millis(rtt_ms)).unwrap().config {
            AqmConfig::FqCodel(params) => params,
            other => panic!("{other:?}"),
        }
    }

    /// RFC 8289's example for the Internet, and the words of tc-cake(8) for satellites (1 s and 50 ms).
    #[test]
    fn intervals_are_those_of_the_documents() {
        let of = |mbps, rtt| {
            let p = fq_codel(mbps, rtt);
            (p.interval, p.target)
        };
        let ms = Duration::from_millis;
        assert_eq!(of(95.0, 80), (ms(100), ms(5)));
        assert_eq!(of(25.0, 1000), (ms(1000), ms(50)));
        assert_eq!(of(10_000.0, 0), (ms(1), Duration::from_micros(50)));
    }

    /// At 1 Mbit/s a frame takes 12.1 ms: 18.2 ms of target, and as much more of interval; by hand.
    #[test]
    fn a_slow_link_has_the_time_of_its_packets() {
        let p = fq_codel(1.0, 50);
        assert_eq!((p.target, p.interval), (Duration::from_micros(18_170), Duration::from_micros(113_170)));
        assert_eq!(p.quantum, Bytes::new(300));
        // sch_cake.c: 50 Mbit/s >> 12 is 1525, more than a frame.
        assert_eq!(fq_codel(50.0, 50).quantum, FRAME);
        assert_eq!(fq_codel(20.0, 50).quantum, Bytes::new(610));
    }

    /// 1 Gbit/s over 600 ms: 75 MB are on their way, and twice that may wait.
    #[test]
    fn memory_holds_what_is_on_its_way() {
        let p = fq_codel(1000.0, 600);
        assert!(p.memory_limit.get() >= 150_000_000 && p.memory_limit.get() < 155_000_000, "{p:?}");
        assert!(u64::from(p.limit) * 1514 >= p.memory_limit.get());
        assert_eq!(fq_codel(10.0, 50).memory_limit, Bytes::new(4 << 20));
    }

    /// The gains of PIE for 100 ms are the RFC's; for six times that, alpha is a 36th and beta a sixth.
    #[test]
    fn gains_follow_the_round_trip() {
        let pie = |ms| match setting("pie", BitRate::from_bps(50_000_000), FRAME, Duration::from_millis(ms)) {
            Some(Setting { config: AqmConfig::Pie(p), .. }) => p,
            other => panic!("{other:?}"),
        };
        assert_eq!(pie(50), PieParams::default());
        let p = pie(600);
        assert!((p.alpha * 36.0 - 0.125).abs() < 1e-12 && (p.beta * 6.0 - 1.25).abs() < 1e-12, "{p:?}");
    }

    #[test]
    fn every_setting_is_accepted_on_its_link() {
        for name in SET {
            for (mbps, us) in [(0.1, 50_000), (1.0, 300), (95.0, 80_000), (1000.0, 600_000), (10_000.0, 100)]
            {
                let rate = BitRate::from_bps((mbps * 1e6) as u64);
                let found = setting(name, rate, FRAME, Duration::from_micros(us)).unwrap();
                assert_eq!(found.config.name(), *name);
                let buffer = quell_units::QueueSize::Bytes(1e9);
                let link = quell_aqm::Link { rate, buffer, mean_packet: FRAME };
                assert!(found.config.build(&link).is_ok(), "{name} {mbps} {us}");
                assert!(!found.reasons.is_empty());
            }
        }
        assert_eq!(setting("red", BitRate::from_bps(1), FRAME, USUAL), None);
    }
}
