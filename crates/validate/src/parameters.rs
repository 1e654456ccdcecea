//! The parameters of `ns2/dumbbell.tcl`, with its defaults.

use std::collections::BTreeMap;

const SCRIPT: &str = include_str!("../ns2/dumbbell.tcl");

/// Parameters of the script by name.
#[derive(Clone, Debug)]
pub struct Parameters(BTreeMap<String, String>);

impl Parameters {
    pub fn text(&self, key: &str) -> &str {
        self.0.get(key).map_or_else(|| panic!("the script has no parameter {key}"), String::as_str)
    }

    pub fn number(&self, key: &str) -> f64 {
        let text = self.text(key);
        text.parse().unwrap_or_else(|_| panic!("the script's {key} is {text}, which is not a number"))
    }

    pub fn count(&self, key: &str) -> u32 {
        self.number(key).max(0.0) as u32
    }

    pub fn is_set(&self, key: &str) -> bool {
        self.number(key) != 0.0
    }

    /// The defaults: the list of keys and values in `array set P { ... }`.
    pub fn defaults() -> Self {
        let list = SCRIPT.split_once("array set P {\n").and_then(|(_, rest)| rest.split_once("\n}"));
        let words = list.expect("the script sets its defaults").0.split_whitespace();
        Parameters(pairs(words.map(|w| w.trim_matches('"'))))
    }

    pub fn with(&self, arguments: &str) -> Self {
        let mut all = self.0.clone();
        for (key, value) in pairs(arguments.split_whitespace()) {
            let old = all.insert(key.clone(), value);
            assert!(old.is_some(), "the script has no parameter {key}");
        }
        Parameters(all)
    }
}

fn pairs<'a>(mut words: impl Iterator<Item = &'a str>) -> BTreeMap<String, String> {
    let mut map = BTreeMap::new();
    while let (Some(key), Some(value)) = (words.next(), words.next()) {
        map.insert(key.to_string(), value.to_string());
    }
    map
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_the_scripts() {
        let p = Parameters::defaults();
        assert_eq!((p.text("tcp"), p.text("events"), p.count("n")), ("Reno", "", 30));
        assert_eq!(p.number("udpoff"), 1.0);
        assert_eq!(p.with("n 4 cap 1e6").number("cap"), 1e6);
    }
}
