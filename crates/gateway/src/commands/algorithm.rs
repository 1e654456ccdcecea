//! An algorithm as the command line names it.

use quell_aqm::catalog::{AqmConfig, CATALOG};
use quell_names::{suggest, unknown};
use quell_units::text::{cut, named};
use serde_json::{Map, Value};

use super::failure::Failure;

/// The most faults of an algorithm's parameters, or of a file, that are found: each is one more reading.
pub(super) const MOST_FAULTS: usize = 20;

/// The algorithm called `name` with the parameters of `set`; `option` is what the user wrote it after.
///
/// # Errors
/// Names what is unknown and what is known.
pub fn named_algorithm(option: &str, name: &str, set: &[(String, String)]) -> Result<AqmConfig, Failure> {
    algorithm(&|_| option.to_string(), name, Map::new(), set)
}

/// The algorithm `now` with other values for the parameters of `set`.
///
/// # Errors
/// As [`named_algorithm`].
pub(super) fn changed_algorithm(now: &AqmConfig, set: &[(String, String)]) -> Result<AqmConfig, Failure> {
    let mut table = match serde_json::to_value(now) {
        Ok(Value::Object(table)) => table,
        _ => Map::new(),
    };
    table.remove("algorithm");
    algorithm(&|_| "--set".into(), now.name(), table, set)
}

/// The same with the parameters of `table`, over which those of `set` go; `place` is that of the algorithm or of one of
/// the table's parameters.
///
/// # Errors
/// As [`named_algorithm`].
pub(super) fn algorithm(
    place: &dyn Fn(Option<&str>) -> String,
    name: &str,
    mut table: Map<String, Value>,
    set: &[(String, String)],
) -> Result<AqmConfig, Failure> {
    // Numbers, true and false are what they say; everything else is text, such as "20 ms".
    let read = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.into()));
    let of = |table: &Map<String, Value>| AqmConfig::deserialize_named(name, Value::Object(table.clone()));
    let is_again = |i: &usize| set[..*i].iter().any(|(key, _)| *key == set[*i].0);
    if let Some(again) = (1..set.len()).find(is_again) {
        let key = cut(&set[again].0);
        return Err(Failure::BadInput(format!("--set {key}: is given twice: give it once")));
    }
    let before = table.clone();
    table.extend(set.iter().map(|(key, value)| (key.clone(), read(value))));
    match of(&table) {
        Some(Ok(config)) => Ok(config),
        Some(Err(_)) => {
            // Which of them it is about does not say itself: the first that is wrong without the others.
            let alone = set.iter().find_map(|(key, value)| {
                let mut table = before.clone();
                table.insert(key.clone(), read(value));
                let wrong = of(&table)?.err()?;
                let (key, value) = (cut(key), cut(value));
                Some(format!("--set {key}={value}: {} ({name})", explained(&wrong.to_string())))
            });
            // The same of what a file has, of each of them.
            let wrong = alone.unwrap_or_else(|| {
                let (mut left, mut wrong) = (table, Vec::new());
                while let Some(Err(e)) = of(&left).filter(|_| wrong.len() < MOST_FAULTS) {
                    let is_it = |(key, value): &(&String, &Value)| {
                        let table = Map::from_iter([(key.to_string(), (*value).clone())]);
                        before.contains_key(*key)
                            && of(&table).is_some_and(|alone| {
                                alone.is_err_and(|alone| alone.to_string() == e.to_string())
                            })
                    };
                    let key = left.iter().find(is_it).map(|(key, _)| key.clone());
                    let place = place(key.as_deref());
                    wrong.push(format!("{place}: {} ({name})", explained(&e.to_string())));
                    let Some(key) = key else { break };
                    left.remove(&key);
                }
                wrong.join("\n  ")
            });
            Err(Failure::BadInput(wrong))
        }
        None => {
            let known: Vec<&str> = CATALOG.iter().map(|e| e.name).collect();
            let (rule, nearest) = meant("algorithm", name, &known);
            // What a file has in a table the command line has in options.
            let place = place(None);
            let options = if place.starts_with("--") && rule.starts_with("a line of tc's") {
                ", here as --aqm NAME --set KEY=VALUE"
            } else {
                ""
            };
            let rule = match rule.as_str() {
                "unknown algorithm" => " is not an algorithm".to_string(),
                rule => format!(": {rule}{options}"),
            };
            let known = format!("known: {}", known.join(", "));
            let why = suggest(&rule, nearest.as_deref(), Some(&known));
            Err(Failure::BadInput(format!("{place}: \"{}\"{why}", cut(name))))
        }
    }
}

/// A parser's message, with what would be right. A name that is wrong is shown so that it makes no line of its own.
pub(super) fn explained(error: &str) -> String {
    let (error, rule, nearest) = match unknown_and_known(error) {
        Some((wrong, rest)) => {
            let known: Vec<&str> = rest.split('`').skip(1).step_by(2).collect();
            let (rule, nearest) = meant("key", wrong, &known);
            let kind = error.split('`').next().unwrap_or_default();
            (format!("{kind}`{}`{rest}", cut(wrong)), named(&rule).into_owned(), nearest)
        }
        None => (named(error).into_owned(), String::new(), None),
    };
    match nearest {
        Some(name) => format!("did you mean \"{name}\"? {error}"),
        None if !rule.is_empty() && !rule.starts_with("unknown ") => format!("{rule}: {error}"),
        None if error.starts_with("invalid type") && error.ends_with("expected a string") => {
            format!("{error}: a quantity has its unit, such as 20ms, 10Mbit/s or 30packets")
        }
        None => error,
    }
}

/// The name that a parser does not know, and what it says behind that: which it knows. The name may have anything in
/// it.
pub(super) fn unknown_and_known(error: &str) -> Option<(&str, &str)> {
    let (_, rest) = error.strip_prefix("unknown ")?.split_once('`')?;
    let end = rest.rfind("`, expected ").or_else(|| rest.rfind("`, there are no "))?;
    Some((&rest[..end], &rest[end + 1..]))
}

/// The rule that a name of some kind breaks, and the known one that was meant, if any is like it.
pub(super) fn meant<'a>(kind: &str, wrong: &str, known: &[&'a str]) -> (String, Option<String>) {
    let (rule, nearest) = unknown(kind, wrong, known);
    let alike = || {
        let of = |name: &&'a str| (strsim::jaro_winkler(wrong, name), *name);
        let best = known.iter().map(of).max_by(|(a, _), (b, _)| a.total_cmp(b));
        best.filter(|(alike, _)| *alike > 0.8).map(|(_, name)| name.to_string())
    };
    let nearest = nearest.or_else(|| if rule.starts_with("unknown ") { alike() } else { None });
    (rule, nearest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_wrong_is_named_with_what_would_be_right() {
        let said = |name: &str, set: &[(&str, &str)]| {
            let set: Vec<_> = set.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
            named_algorithm("--aqm", name, &set).unwrap_err().to_string()
        };
        let text = said("coddel", &[]);
        assert!(text.starts_with("--aqm: \"coddel\" is not an algorithm; did you mean \"codel\"?"), "{text}");
        let text = said("pei", &[]);
        assert!(text.starts_with("--aqm: \"pei\" is not an algorithm; did you mean \"pie\"?"), "{text}");
        let text = said("fq_codel target 5ms limit 300", &[]);
        let ours = "--aqm: \"fq_codel target 5ms limit 300\": a line of tc's; write algorithm = \"fq-codel\", rules = \
                    \"linux\", arithmetic = \"linux\", and in the link's table buffer = \"300 packets\", ecn = true; what the \
                    line does not say is as tc and Linux 7.2 have it, here as --aqm NAME --set KEY=VALUE; known: ";
        assert!(text.starts_with(ours), "{text}");
        let text = said("codel", &[("interval", "90ms"), ("targt", "5ms")]);
        assert!(text.starts_with("--set targt=5ms: did you mean \"target\"? unknown field"), "{text}");
        let text = said("dualpi2", &[("coupling_factor", "2")]);
        assert!(
            text.starts_with("--set coupling_factor=2: a word of tc's: write k = 2: unknown field"),
            "{text}"
        );
        let text = said("codel", &[("target", "5ms"), ("interval", "90ms"), ("target", "6ms")]);
        assert_eq!(text, "--set target: is given twice: give it once");
        let text = said("codel", &[("limit", "1000")]);
        assert!(text.contains("a property of the link"), "{text}");
        let text = said("codel", &[("x\nerror: forged`, expected `\u{1b}", "5")]);
        let shown = "--set x\\u{a}error: forged`, expected `\\u{1b}=5: unknown field \
                     `x\\u{a}error: forged`, expected `\\u{1b}`, expected ";
        assert!(text.starts_with(shown), "{text}");
        let text = said("codel", &[("target", "5")]);
        assert!(text.starts_with("--set target=5: ") && text.contains("such as 20ms"), "{text}");
    }
}
