//! The parts of senders, for people: every value of the keys by which they are chosen. Each is described beside
//! its code; who lists or describes them does it from here.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use quell_aqm::params::{ParamDoc, ParamValue};

use crate::choices::{
    CongestionControl, MarkReduction, Recovery, RtoFloor, RttSamples, SlowStart, congestion_controls,
};
pub use crate::entry::Entry;
use crate::params::TcpParams;
use crate::rtt::{LEAST_TIMEOUT, LEAST_VARIATION};
use crate::{congestion, feedback, params, recovery, slow_start};

macro_rules! senders {
    ($( #[doc = $doc:literal] $name:ident = $text:literal, $module:ident: $kind:ty; )+) => {
        /// Every value of every key by which senders are chosen, in the order in which tables list them.
        pub const SENDERS: &[&Entry] = &[
            $( &congestion::$module::ENTRY, )+
            &recovery::TAHOE,
            &recovery::RENO,
            &recovery::NEWRENO,
            &recovery::SACK,
            &recovery::prr::ENTRY,
            &recovery::rack::ENTRY,
            &slow_start::STANDARD,
            &slow_start::HYSTART_PLUS_PLUS,
            &slow_start::HYSTART,
            &params::ACKNOWLEDGMENTS,
            &params::PACKETS,
            &params::WHOLE_PACKETS,
            &feedback::CLASSIC,
            &feedback::EXACT,
            &feedback::ACC_ECN,
        ];
    };
}
congestion_controls!(senders);

/// The keys that every sender and every receiver reads.
pub const COMMON: &[&str] = &[
    "packet",
    "header",
    "ack_size",
    "syn_size",
    "initial_window",
    "max_window",
    "syn",
    "min_rto",
    "rto_floor",
    "max_rto",
    "max_doublings",
    "initial_rto",
    "granularity",
    "pacing",
    "ecn",
    "delayed_ack",
    "gro",
];

/// Keys that matter where another one is set.
const SWITCHED: &[(&str, &[&str])] = &[
    ("pacing", &["pacing_burst"]),
    ("ecn", &["codepoint", "ecn_retransmissions", "feedback"]),
    ("delayed_ack", &["ack_every", "ack_timer", "quick_acks"]),
    ("syn", &["syn_size"]),
];

/// The entry that is called `name`: a value such as "cubic", or with its key, "recovery.reno". Where two keys have a
/// value of that name, that of the first in [`SENDERS`].
pub fn find(name: &str) -> Option<&'static Entry> {
    let (key, value) = name.split_once('.').map_or((None, name), |(key, value)| (Some(key), value));
    SENDERS.iter().copied().find(|e| e.name == value && key.is_none_or(|key| key == e.key))
}

/// The values of a key that are in the catalog.
pub fn of_key(key: &str) -> impl Iterator<Item = &'static Entry> {
    SENDERS.iter().copied().filter(move |e| e.key == key)
}

/// The readers of a key: "every sender", "every sender with ecn = true", or the values that do, as [`Entry::id`] has
/// them.
pub fn readers(key: &str) -> String {
    let switch = SWITCHED.iter().find(|(_, keys)| keys.contains(&key)).map(|(switch, _)| *switch);
    let values: Vec<String> = SENDERS.iter().filter(|e| e.reads.contains(&key)).map(|e| e.id()).collect();
    match switch {
        Some("delayed_ack") => "every receiver with delayed_ack".to_string(),
        Some(switch) => format!("every sender with {switch} = true"),
        None if values.is_empty() => "every sender".to_string(),
        None => values.join(", "),
    }
}

impl Entry {
    /// The name by which [`find`] finds it: its name, with its key where another one comes first.
    pub fn id(&self) -> String {
        match find(self.name) {
            Some(first) if first.key != self.key => format!("{}.{}", self.key, self.name),
            _ => self.name.to_string(),
        }
    }

    /// The keys that matter with it, of those that do not matter to every sender.
    pub fn parameters(&self) -> Vec<Parameter> {
        let docs = TcpParams::docs();
        let of = |key: &&str| docs.iter().find(|doc| doc.name == *key).cloned();
        self.reads.iter().filter_map(of).map(Parameter::of).collect()
    }

    /// Its needs, a line each.
    pub fn demands(&self) -> Vec<String> {
        let needs = self.needs.iter().map(|(key, values)| setting(key, values));
        needs.chain((!self.network.is_empty()).then(|| self.network.to_string())).collect()
    }

    /// Its refusals, a line each.
    pub fn refusals(&self) -> Vec<String> {
        self.refuses.iter().map(|(key, values)| setting(key, values)).collect()
    }
}

/// A key with the values that it may have, as it would be written: `feedback = "exact" or "accecn"`.
fn setting(key: &str, values: &[&str]) -> String {
    let written = |value: &&str| match *value {
        "true" | "false" => value.to_string(),
        name => format!("\"{name}\""),
    };
    format!("{key} = {}", listed(values.iter().map(written)))
}

/// "a, b or c".
fn listed(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    match names.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{} or {last}", others.join(", ")),
        None => String::new(),
    }
}

/// A key of the `tcp` table, and the values that it may have.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The entry in the catalog.
    pub doc: ParamDoc,
    /// "at least 1", "above 0 s, at most 100 ms", "\"reno\" or \"cubic\"".
    pub range: String,
}

impl Parameter {
    fn of(doc: ParamDoc) -> Self {
        let names = of_key(doc.name).map(|e| format!("\"{}\"", e.name));
        let range = match params::range(doc.name) {
            Some(range) => range.to_string(),
            None if doc.unit == "true or false" => doc.unit.to_string(),
            None if doc.name == "reno_friendly" => "\"rfc9438\" or \"rfc8312\"".to_string(),
            None if doc.name == "codepoint" => "\"ect0\" or \"ect1\"".to_string(),
            None if doc.name == "mark_reduction" => "\"at-once\" or \"proportional\"".to_string(),
            None if doc.name == "ack_timer" => "\"fixed\" or \"adaptive\"".to_string(),
            None if doc.name == "loss_window" => "\"one\" or \"flight\"".to_string(),
            None if doc.name == "rules" => "\"rfc\" or \"ns-3\"".to_string(),
            None if doc.name == "rtt_samples" => "\"round-trip\" or \"acknowledgment\"".to_string(),
            None if doc.name == "rto_floor" => "\"timeout\" or \"variation\"".to_string(),
            None => listed(names),
        };
        Parameter { doc, range }
    }

    /// Every key of the `tcp` table.
    pub fn all() -> Vec<Parameter> {
        TcpParams::docs().into_iter().map(Parameter::of).collect()
    }
}

/// A key that is set and has no effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Idle {
    /// The key.
    pub key: &'static str,
    /// The setting that would give it one, `without congestion = "ledbat"`, or the one that takes it away, why, and what
    /// to do: `with send_quantum = 1 ms: ...`.
    pub why: String,
}

/// The keys of those that are `set` that have no effect on senders and receivers with these parameters.
pub fn idle(tcp: &TcpParams, set: &[&str]) -> Vec<Idle> {
    let on = |key: &str| match key {
        "pacing" => tcp.pacing,
        "ecn" => tcp.ecn,
        "syn" => tcp.syn,
        _ => tcp.delayed_ack.is_some(),
    };
    let chosen = [
        ("congestion", tcp.congestion.show()),
        ("recovery", tcp.recovery.show()),
        ("slow_start", tcp.slow_start.show()),
    ];
    let window: Vec<&str> =
        of_key("congestion").filter(|e| e.reads.contains(&"slow_start")).map(|e| e.name).collect();
    let reads = |key: &str| of_key("congestion").any(|e| e.name == chosen[0].1 && e.reads.contains(&key));
    let of = |key: &str| -> Option<String> {
        // The thresholds of slow start and of pacing are one.
        if key == "initial_ssthresh" && !reads("slow_start") {
            let needs = match reads(key) {
                true => format!("{} with congestion = \"{}\"", setting("pacing", &["true"]), chosen[0].1),
                false => setting("congestion", &window),
            };
            return (!reads(key) || !tcp.pacing).then_some(needs);
        }
        if key == "mark_reduction" && !tcp.ecn {
            return Some(setting("ecn", &["true"]));
        }
        if key == "mark_reduction" && tcp.congestion == CongestionControl::Prague {
            let others = of_key("congestion")
                .filter(|e| e.name != chosen[0].1 && e.refuses.iter().all(|(key, _)| *key != "ecn"));
            return Some(setting("congestion", &others.map(|e| e.name).collect::<Vec<_>>()));
        }
        if key == "small_queues" && tcp.recovery == Recovery::Rack && tcp.send_quantum.is_none() {
            return Some("send_quantum".to_string());
        }
        let together = matches!(key, "delayed_ack" | "ack_timer" | "quick_acks") && tcp.ack_every == 1;
        if together && tcp.delayed_ack.is_some() {
            return Some("ack_every = 2 or more".to_string());
        }
        if let Some((switch, _)) = SWITCHED.iter().find(|(_, keys)| keys.contains(&key)) {
            let needs =
                if *switch == "delayed_ack" { switch.to_string() } else { setting(switch, &["true"]) };
            return (!on(switch)).then_some(needs);
        }
        let readers = || SENDERS.iter().filter(|e| e.reads.contains(&key));
        let read = readers().any(|e| chosen.iter().any(|(of, name)| e.key == *of && e.name == name));
        let first = readers().next().filter(|_| !read)?;
        let names: Vec<&str> = readers().filter(|e| e.key == first.key).map(|e| e.name).collect();
        Some(setting(first.key, &names))
    };
    let why = |key: &str| of(key).map(|needs| format!("without {needs}")).or_else(|| overruled(tcp, key));
    let docs = TcpParams::docs();
    let set = docs.iter().filter(|doc| set.contains(&doc.name));
    set.filter_map(|doc| Some(Idle { key: doc.name, why: why(doc.name)? })).collect()
}

/// The setting that leaves a key without effect, the reason, and what to do.
fn overruled(tcp: &TcpParams, key: &str) -> Option<String> {
    let TcpParams { min_rto, max_rto, max_doublings, max_window, .. } = *tcp;
    let of_each = tcp.rtt_samples == RttSamples::Acknowledgment && tcp.recovery == Recovery::Rack;
    match key {
        "granularity" => of_each.then(|| {
            "with rtt_samples = \"acknowledgment\" because timestamps have ticks of 1 us; leave out granularity".to_string()
        }),
        "min_rto" if of_each => None,
        "min_rto" => {
            let granularity = tcp.granularity;
            let (ticks, of) = match tcp.rto_floor {
                RtoFloor::Timeout => (LEAST_TIMEOUT, "a timeout"),
                RtoFloor::Variation => (LEAST_VARIATION, "the variation"),
            };
            (min_rto <= granularity * ticks).then(|| {
                format!(
                    "with granularity = {granularity} because {of} is at least {ticks} of these; lower granularity, or \
                     set min_rto = {}",
                    granularity * ticks
                )
            })
        }
        "initial_rto" => (tcp.initial_rto > max_rto)
            .then(|| format!("beyond max_rto = {max_rto} because no timeout is longer; raise max_rto")),
        "max_doublings" => {
            let least = min_rto.min(tcp.initial_rto);
            let reached = least.nanos().saturating_mul(1 << max_doublings) >= max_rto.nanos();
            reached.then(|| {
                format!(
                    "with max_rto = {max_rto} because the shortest timeout ({least}) reaches that with fewer; raise \
                     max_rto"
                )
            })
        }
        "dup_threshold" => (tcp.dup_threshold >= max_window).then(|| {
            format!(
                "with max_window = {max_window} because a window has fewer duplicates after a loss; raise max_window \
                 above it"
            )
        }),
        "pacing_burst" => tcp.send_quantum.filter(|_| tcp.recovery == Recovery::Rack).map(|time| {
            format!("with send_quantum = {time}, which sets how much leaves at once; leave out one of them")
        }),
        "whole_reductions" if tcp.recovery == Recovery::Tahoe => (!tcp.ecn).then(|| {
            "with recovery = \"tahoe\" because a loss leaves a window of one packet; leave out whole_reductions, or \
             set ecn = true"
                .to_string()
        }),
        "whole_reductions" if tcp.recovery.is_proportional() => {
            (!tcp.ecn || tcp.mark_reduction == MarkReduction::Proportional).then(|| {
                format!(
                    "with recovery = {} because the threshold remains, which is a whole number; leave out \
                     whole_reductions",
                    tcp.recovery.show()
                )
            })
        }
        // HyStart looks again after a timeout, from whatever threshold that leaves.
        "slow_start" if tcp.slow_start == SlowStart::HyStartPlusPlus => {
            let least = slow_start::N_RTT_SAMPLE;
            let threshold = tcp.initial_ssthresh.filter(|packets| *packets < least)?;
            Some(format!(
                "with initial_ssthresh = {threshold} because it needs {least} packets in a round trip; raise \
                 initial_ssthresh"
            ))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use std::collections::BTreeSet;

    /// The names that a key takes, as reading a wrong one lists them.
    fn names(key: &str) -> BTreeSet<String> {
        let error = toml::from_str::<TcpParams>(&format!("{key} = \"?\"")).unwrap_err().to_string();
        let list = error.split("expected").nth(1).unwrap_or_else(|| panic!("{error}"));
        list.split('`').skip(1).step_by(2).map(str::to_string).collect()
    }

    fn read(settings: &[(&str, &str)]) -> TcpParams {
        let lines = settings.iter().map(|(key, value)| setting(key, &[value]) + "\n");
        toml::from_str(&lines.collect::<String>()).unwrap()
    }

    #[test]
    fn the_catalog_has_every_value_of_its_keys() {
        let keys: BTreeSet<&str> = SENDERS.iter().map(|e| e.key).collect();
        assert_eq!(
            keys.into_iter().collect::<Vec<_>>(),
            ["congestion", "feedback", "growth", "recovery", "slow_start"]
        );
        for key in ["congestion", "recovery", "slow_start", "growth", "feedback"] {
            assert_eq!(of_key(key).map(|e| e.name.to_string()).collect::<BTreeSet<_>>(), names(key), "{key}");
        }
        assert_eq!(
            Parameter::of(doc("reno_friendly")).range,
            listed(names("reno_friendly").iter().rev().map(|n| format!("\"{n}\"")))
        );
    }

    fn doc(key: &str) -> ParamDoc {
        TcpParams::docs().into_iter().find(|doc| doc.name == key).unwrap()
    }

    #[test]
    fn each_is_found_by_its_id_and_described_in_sentences() {
        for e in SENDERS {
            assert_eq!(find(&e.id()), Some(*e));
            assert_eq!(find(&format!("{}.{}", e.key, e.name)), Some(*e));
            assert!(!e.title.is_empty() && !e.source.is_empty() && e.summary.ends_with('.'), "{}", e.id());
            assert!(e.choices.iter().all(|c| c.ends_with('.')), "{}", e.id());
            let all = [e.title, e.summary, e.source, e.network].into_iter().chain(e.choices.iter().copied());
            assert!(
                all.into_iter().all(|text| !text.contains(['|', '\n']) && !text.contains("  ")),
                "{}",
                e.id()
            );
        }
        assert_eq!(
            (find("reno").unwrap().key, find("recovery.reno").unwrap().id()),
            ("congestion", "recovery.reno".into())
        );
        assert_eq!((find("redd"), find("growth.reno")), (None, None));
    }

    /// A key that nobody describes cannot be forgotten.
    #[test]
    fn every_key_is_read_by_somebody() {
        let keys: BTreeSet<&str> = TcpParams::docs().iter().map(|doc| doc.name).collect();
        let chosen = SENDERS.iter().map(|e| e.key);
        let read = SENDERS.iter().flat_map(|e| e.reads.iter().copied());
        let switched = SWITCHED.iter().flat_map(|(_, keys)| keys.iter().copied());
        let known: BTreeSet<&str> =
            chosen.chain(read).chain(switched).chain(COMMON.iter().copied()).collect();
        assert_eq!(known, keys);
    }

    /// What is said to be needed and refused is what the parameters' check needs and refuses, for every
    /// combination.
    #[test]
    fn needs_and_refusals_are_those_of_the_check() {
        const BOTH: &[&str] = &["false", "true"];
        let keys = ["congestion", "recovery", "slow_start", "growth", "feedback"];
        let named: Vec<Vec<&str>> = keys.iter().map(|key| of_key(key).map(|e| e.name).collect()).collect();
        let axes: Vec<(&str, &[&str])> = keys
            .iter()
            .zip(&named)
            .map(|(k, n)| (*k, &n[..]))
            .chain([("ecn", BOTH), ("pacing", BOTH)])
            .collect();
        let total: usize = axes.iter().map(|(_, values)| values.len()).product();
        let mut sound = 0;
        for mut number in 0..total {
            let settings: Vec<(&str, &str)> = axes
                .iter()
                .map(|(key, values)| {
                    let value = values[number % values.len()];
                    number /= values.len();
                    (*key, value)
                })
                .collect();
            let has = |(key, values): &(&str, &[&str])| {
                settings.iter().any(|(k, v)| k == key && values.contains(v))
            };
            let chosen = settings.iter().filter_map(|(key, value)| of_key(key).find(|e| e.name == *value));
            let allowed = chosen.into_iter().all(|e| e.needs.iter().all(has) && !e.refuses.iter().any(has));
            let checked = read(&settings).check();
            assert_eq!(checked.is_ok(), allowed, "{settings:?}: {checked:?}");
            // Feedback without ECN is allowed and idle.
            let idle = has(&("ecn", &["false"])) && !has(&("feedback", &["classic"]));
            sound += (allowed && !idle) as usize;
        }
        assert!(sound > 100 && sound < total / 2, "{sound} of {total}");
    }

    #[test]
    fn what_nobody_reads_is_idle() {
        let idle = |text: &str| -> Vec<(&'static str, String)> {
            let set = toml::from_str::<toml::Table>(text).unwrap();
            let keys: Vec<&str> = set.keys().map(String::as_str).collect();
            idle(&toml::from_str(text).unwrap(), &keys)
                .into_iter()
                .map(|i| (i.key, i.why.strip_prefix("without ").unwrap_or(&i.why).to_string()))
                .collect()
        };
        let cubic = "reno_friendly = \"rfc8312\"";
        assert_eq!(idle(""), []);
        assert_eq!(idle(cubic), [("reno_friendly", "congestion = \"cubic\"".into())]);
        assert_eq!(idle(&format!("{cubic}\ncongestion = \"cubic\"")), []);
        assert_eq!(idle("ledbat_target = \"50 ms\""), [("ledbat_target", "congestion = \"ledbat\"".into())]);
        let gradual = "mark_reduction = \"proportional\"\nrecovery = \"rack\"\necn = true";
        assert_eq!(idle(gradual), []);
        let alone = &gradual[..gradual.find('\n').unwrap()];
        assert_eq!(idle(alone), [("mark_reduction", "ecn = true".into())]);
        assert_eq!(
            idle(&format!("{alone}\necn = true")),
            [("mark_reduction", "recovery = \"prr\" or \"rack\"".into())]
        );
        assert_eq!(
            idle(&format!("{gradual}\ncongestion = \"prague\"")),
            [("mark_reduction", "congestion = \"reno\", \"cubic\", \"dctcp\" or \"ledbat\"".into())]
        );
        assert_eq!(idle("pacing_burst = 3"), [("pacing_burst", "pacing = true".into())]);
        assert_eq!(idle("codepoint = \"ect1\""), [("codepoint", "ecn = true".into())]);
        assert_eq!(idle("ecn_retransmissions = true"), [("ecn_retransmissions", "ecn = true".into())]);
        assert_eq!(idle("ack_every = 4").len(), 1);
        assert_eq!(idle("ack_every = 4\ndelayed_ack = \"40 ms\""), []);
        let one = "ack_every = 1\ndelayed_ack = \"40 ms\"\nquick_acks = 4";
        let more = "ack_every = 2 or more".to_string();
        assert_eq!(idle(one), [("delayed_ack", more.clone()), ("quick_acks", more)]);
        assert_eq!(idle("quick_acks = 4"), [("quick_acks", "delayed_ack".into())]);
        assert_eq!(idle("feedback = \"classic\""), [("feedback", "ecn = true".into())]);
        assert_eq!(idle("feedback = \"exact\""), [("feedback", "ecn = true".into())]);
        let ledbat = "congestion = \"ledbat\"\ninitial_ssthresh = 8\n";
        assert_eq!(idle(ledbat), [("initial_ssthresh", "pacing = true with congestion = \"ledbat\"".into())]);
        assert_eq!(idle(&format!("{ledbat}pacing = true")), []);
        assert_eq!(idle("initial_ssthresh = 8"), []);
        let keys = |text: &str| idle(text).into_iter().map(|(key, _)| key).collect::<Vec<_>>();
        let bbr = "congestion = \"bbr3\"\nrecovery = \"rack\"\npacing = true\npacing_burst = 3\n";
        assert_eq!(keys(&format!("{bbr}initial_ssthresh = 8")), ["initial_ssthresh"]);
        assert_eq!(
            keys(&format!("{bbr}slow_start = \"hystart++\"\ngrowth = \"packets\"")),
            ["slow_start", "growth"]
        );
        assert_eq!(
            keys("recovery = \"rack\"\nlimited_transmit = false\nmin_rto = \"1 s\""),
            ["limited_transmit"]
        );
    }

    /// Settings that another one overrules, and the same with that one changed.
    #[test]
    fn what_another_key_overrules_is_idle() {
        let why = |text: &str, key: &'static str| -> Option<String> {
            let tcp: TcpParams = toml::from_str(text).unwrap();
            assert_eq!(tcp.check(), Ok(()), "{text}");
            idle(&tcp, &[key]).pop().map(|idle| idle.why)
        };
        let rack = "recovery = \"rack\"\npacing = true\npacing_burst = 5\n";
        let plus = "slow_start = \"hystart++\"\n";
        for (key, by, void, sound) in [
            ("min_rto", "granularity", "min_rto = \"30 ms\"".to_string(), "min_rto = \"31 ms\"".to_string()),
            (
                "min_rto",
                "granularity",
                "rto_floor = \"variation\"\nmin_rto = \"20 ms\"".into(),
                "rto_floor = \"variation\"\nmin_rto = \"21 ms\"".into(),
            ),
            (
                "granularity",
                "rtt_samples",
                "recovery = \"rack\"\nrtt_samples = \"acknowledgment\"".into(),
                "recovery = \"sack\"\nrtt_samples = \"acknowledgment\"".into(),
            ),
            ("initial_rto", "max_rto", "max_rto = \"2999 ms\"".into(), "max_rto = \"3 s\"".into()),
            (
                "max_doublings",
                "max_rto",
                "max_doublings = 3\nmax_rto = \"1.6 s\"".into(),
                "max_doublings = 3\nmax_rto = \"1.7 s\"".into(),
            ),
            (
                "dup_threshold",
                "max_window",
                "dup_threshold = 4\nmax_window = 4".into(),
                "dup_threshold = 4\nmax_window = 5".into(),
            ),
            (
                "whole_reductions",
                "recovery",
                "recovery = \"tahoe\"".into(),
                "recovery = \"tahoe\"\necn = true".into(),
            ),
            (
                "whole_reductions",
                "recovery",
                "recovery = \"prr\"\necn = true\nmark_reduction = \"proportional\"".into(),
                "recovery = \"prr\"\necn = true".into(),
            ),
            ("pacing_burst", "send_quantum", format!("{rack}send_quantum = \"1 ms\""), rack.into()),
            (
                "slow_start",
                "initial_ssthresh",
                format!("{plus}initial_ssthresh = 7"),
                format!("{plus}initial_ssthresh = 8"),
            ),
        ] {
            let said = why(&void, key).unwrap_or_else(|| panic!("{void}: nothing is said of {key}"));
            assert!(said.contains(by) && said.contains(';'), "{key}: {said}");
            assert_eq!(why(&sound, key), None, "{sound}");
        }
    }

    #[test]
    fn readers_are_said_in_words() {
        assert_eq!(readers("ack_every"), "every receiver with delayed_ack");
        assert_eq!(readers("pacing_burst"), "every sender with pacing = true");
        assert_eq!(
            (readers("packet"), readers("congestion")),
            ("every sender".into(), "every sender".into())
        );
        assert_eq!(readers("ledbat_gain"), "ledbat");
    }

    /// What nothing reads is noted and never refused: with any one key set to any of its values, parameters that are
    /// refused have no idle key to blame.
    #[test]
    fn what_nobody_reads_is_not_refused() {
        let plain = TcpParams::default().check();
        assert_eq!(plain, Ok(()));
        let mut noted = 0;
        for Parameter { doc, .. } in Parameter::all() {
            let names: Vec<String> = of_key(doc.name).map(|e| format!("\"{}\"", e.name)).collect();
            let values = match doc.unit {
                "name" => names,
                "true or false" => vec!["true".into(), "false".into()],
                "time" => vec!["\"50 ms\"".into()],
                "bytes" => vec!["\"100 B\"".into()],
                _ if doc.name == "ledbat_gain" => vec!["0.5".into()],
                _ => vec!["16".into()],
            };
            for value in values {
                let params: TcpParams = toml::from_str(&format!("{} = {value}", doc.name)).unwrap();
                let useless = !idle(&params, &[doc.name]).is_empty();
                noted += useless as usize;
                assert!(!useless || params.check().is_ok(), "{} = {value}: {:?}", doc.name, params.check());
            }
        }
        assert!(noted > 5, "{noted}");
    }

    /// All that a congestion control lacks is said at once, and at its key.
    #[test]
    fn everything_that_is_missing_is_said_at_once() {
        for e in of_key("congestion").filter(|e| !e.needs.is_empty()) {
            let ecn = if e.refuses.is_empty() { "false" } else { "true" };
            let error = read(&[("congestion", e.name), ("ecn", ecn)]).check().unwrap_err();
            assert_eq!((error.field, error.value), ("congestion", format!("\"{}\"", e.name)));
            let asked = e.needs.iter().map(|(key, _)| *key).chain(e.refuses.iter().map(|(key, _)| *key));
            asked.for_each(|key| assert!(error.rule.contains(&format!("{key} = ")), "{key}: {}", error.rule));
        }
    }

    /// The ends of a range are allowed, and what is beyond them is not.
    #[test]
    fn ranges_are_those_of_the_check() {
        for (key, range) in params::RANGES {
            let check = |value: &str| {
                let rest = match *key {
                    "quick_acks" => "delayed_ack = \"40 ms\"\n",
                    "max_rto" => "min_rto = \"1 ns\"\n",
                    "min_rto" => "max_rto = \"100 s\"\n",
                    "header" => "packet = \"1 B\"\n",
                    _ => "",
                };
                let quoted = value.contains(' ');
                let value = if quoted { format!("\"{value}\"") } else { value.to_string() };
                toml::from_str::<TcpParams>(&format!("{rest}{key} = {value}"))
                    .is_ok_and(|p| p.check().is_ok())
            };
            // A step is one of the last digit of the unit: 1 ns, 1 B, 1 packet.
            let step = |bound: &str, by: i64| {
                let (number, unit) = bound.split_once(' ').unwrap_or((bound, ""));
                match (unit, number.parse::<f64>().unwrap()) {
                    ("ms", x) => format!("{} ns", x * 1e6 + by as f64),
                    ("s", x) => format!("{} ns", x * 1e9 + by as f64),
                    ("B", x) => format!("{} B", x + by as f64),
                    _ if *key == "ledbat_gain" => {
                        format!("{:?}", number.parse::<f64>().unwrap() + by as f64 * 1e-9)
                    }
                    (_, x) => format!("{}", x + by as f64),
                }
            };
            let inner = step(range.from, 1);
            assert!(check(&inner), "{key} = {inner}");
            assert_eq!(check(range.from), !range.open, "{key} = {}", range.from);
            assert!(!check(&step(range.from, -1)), "{key} below {}", range.from);
            if let Some(to) = range.to {
                assert!(check(to), "{key} = {to}");
                assert!(!check(&step(to, 1)), "{key} above {to}");
            }
        }
        let docs = TcpParams::docs();
        let numbers = docs.iter().filter(|d| !["name", "true or false"].contains(&d.unit)).map(|d| d.name);
        assert_eq!(numbers.collect::<BTreeSet<_>>(), params::RANGES.iter().map(|(key, _)| *key).collect());
    }
}
