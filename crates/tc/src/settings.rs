//! The settings of a qdisc: from words, and as words.

use quell_units::text::cut;
use quell_units::{BitRate, Bytes, Duration};

use crate::defaults;
use crate::grammar::{Grammar, Word};
use crate::values::{Kind, Value, duration};
use crate::{Kernel, grammar};

/// The settings of a qdisc, each with its value, in the order of its grammar's words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Settings {
    pub(crate) grammar: &'static Grammar,
    values: Vec<(&'static str, Value)>,
}

/// The most words of a line for which a name that was meant is looked for.
const MOST_MEANT: usize = 8;

/// A word that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wrong {
    pub(crate) word: String,
    pub(crate) says: String,
    /// tc refuses the line because of it; otherwise the word is left out.
    pub(crate) fatal: bool,
}

impl Settings {
    /// None of a qdisc.
    pub(crate) fn of(grammar: &'static Grammar) -> Self {
        Settings { grammar, values: Vec::new() }
    }

    /// Those of a qdisc where a line says nothing; none if the version of Linux has no such qdisc.
    pub(crate) fn defaults(grammar: &'static Grammar, kernel: Kernel) -> Option<Self> {
        let mut settings = Settings::of(grammar);
        let words: Vec<&str> = defaults::of_qdisc(grammar.name, kernel)?.words.split_whitespace().collect();
        settings.read(&words, false);
        Some(settings)
    }

    /// Reads words behind those that were read before. Of a setting that comes again the last one counts, as for tc.
    /// What tc has `shown` may have words of newer versions; of what people type tc refuses a word that it does not
    /// know.
    pub(crate) fn read(&mut self, words: &[&str], shown: bool) -> Vec<Wrong> {
        let mut wrong = Vec::new();
        let mut given: Vec<&'static str> = Vec::new();
        let mut words = words.iter().copied().peekable();
        let mut before = None;
        while let Some(text) = words.next() {
            let Some(word) = self.grammar.word(text) else {
                let value = words.next_if(|next| self.grammar.word(next).is_none());
                let is_last = words.peek().is_none() && value.is_none();
                let whole = value.map_or(text.to_string(), |value| format!("{text} {value}"));
                let (says, fatal) = self.unknown(text, before, is_last, shown, wrong.len() < MOST_MEANT);
                wrong.push(Wrong { word: cut(&whole), says, fatal });
                continue;
            };
            let setting = Grammar::setting(word);
            if !matches!(word.kind, Kind::Short(_) | Kind::Layer(..)) {
                if given.contains(&setting) {
                    let says = "comes again, and the last one counts, as for tc".to_string();
                    wrong.push(Wrong { word: word.name.into(), says, fatal: false });
                }
                given.push(setting);
            }
            match word.kind {
                Kind::Of(_) => self.set(setting, Value::Choice(word.name)),
                Kind::Short(stands_for) => {
                    let words: Vec<&str> = stands_for.split_whitespace().collect();
                    self.read(&words, shown);
                }
                Kind::Layer(framing, overhead, mpu) => {
                    let before = self.int("overhead").unwrap_or(0);
                    self.set("overhead", Value::Int(before + overhead));
                    if !framing.is_empty() {
                        self.choose(framing);
                    }
                    if mpu > 0 {
                        self.set("mpu", Value::Int(mpu));
                    }
                }
                kind => match words.next() {
                    None => {
                        let says = format!("needs {} behind it, and the line ends there", kind.expected());
                        wrong.push(Wrong { word: word.name.into(), says, fatal: true });
                    }
                    Some(text) => match kind.value(text) {
                        Some(value) => {
                            before = Some((word, text));
                            if let (Value::Rate(rate), true) =
                                (value, text.to_ascii_lowercase().ends_with("bps"))
                            {
                                let says = format!("bps are bytes per second for tc: {text} is {rate}");
                                wrong.push(Wrong { word: word.name.into(), says, fatal: false });
                            }
                            self.set(setting, value);
                        }
                        None => {
                            let says = format!("\"{}\" is not {}", cut(text), kind.expected());
                            wrong.push(Wrong { word: word.name.into(), says, fatal: true });
                        }
                    },
                },
            }
        }
        wrong
    }

    /// What to say of a word that is not known, and whether tc refuses the line: `before` is the word with the value
    /// before. Of a line of nonsense, the first words are enough to `guess` what was meant.
    fn unknown(
        &self,
        text: &str,
        before: Option<(&'static Word, &str)>,
        is_last: bool,
        shown: bool,
        guess: bool,
    ) -> (String, bool) {
        let name = self.grammar.name;
        let unit = text.to_lowercase();
        if let Some((word, value)) = before
            && value.bytes().all(|c| c.is_ascii_digit() || c == b'.')
            && let together = format!("{value}{}", unit.trim_end_matches("/s"))
            && word.kind.value(&together).is_some()
        {
            let says =
                format!("stands behind {} {value}, which is a word of its own: write {together}", word.name);
            return (says, true);
        }
        let mut names = self.grammar.words.iter().map(|word| word.name);
        if let Some(whole) = names.clone().find(|name| is_last && name.starts_with(text)) {
            return (format!("the line ends in the middle of {whole}: was it cut?"), true);
        }
        let begun = names.clone().find(|name| text.len() > 3 && name.starts_with(text));
        let near = if shown || !guess { None } else { begun.or_else(|| grammar::nearest(text, &mut names)) };
        let is_rate = |word: &&Word| {
            let is_bare = text.bytes().all(|c| c.is_ascii_digit());
            !is_bare && matches!(word.kind, Kind::Rate | Kind::RateIfAny) && word.kind.value(text).is_some()
        };
        let near = match self.grammar.words.iter().find(is_rate) {
            Some(word) => Some(format!("{} {text}", word.name)),
            None => near.map(str::to_string),
        };
        match near {
            Some(near) => (format!("no word of {name}'s; did you mean {near}?"), true),
            None if !shown => (format!("no word of {name}'s, as of iproute2 7.3: tc refuses the line"), true),
            None => {
                let says = "that is known here, and left out; tc of iproute2 7.3 was read";
                (format!("no word of {name}'s {says}"), false)
            }
        }
    }

    /// Those that are not in `usual`, as a line has them.
    pub(crate) fn words(&self, usual: &Settings) -> String {
        let mut text = String::new();
        for word in self.grammar.words {
            let setting = Grammar::setting(word);
            let Some(value) = self.get(setting).filter(|value| usual.get(setting) != Some(*value)) else {
                continue;
            };
            match (word.kind, value) {
                (Kind::Short(_) | Kind::Layer(..), _) => {}
                (Kind::Of(_), Value::Choice(name)) if name == word.name => text.push_str(&format!(" {name}")),
                (Kind::Of(_), _) => {}
                (kind, value) => text.push_str(&format!(" {} {}", word.name, kind.text(value))),
            }
        }
        text
    }

    /// Sets one.
    pub(crate) fn set(&mut self, setting: &'static str, value: Value) {
        self.remove(setting);
        self.values.push((setting, value));
    }

    /// Takes one out.
    pub(crate) fn remove(&mut self, setting: &str) {
        self.values.retain(|(name, _)| *name != setting);
    }

    /// Sets one to one of its words.
    pub(crate) fn choose(&mut self, word: &'static str) {
        if let Some(known) = self.grammar.word(word) {
            self.set(Grammar::setting(known), Value::Choice(known.name));
        }
    }

    /// Sets those of `other`, too.
    pub(crate) fn overlay(&mut self, other: &Settings) {
        for (setting, value) in &other.values {
            self.set(setting, *value);
        }
    }

    /// The value of one.
    pub(crate) fn get(&self, setting: &str) -> Option<Value> {
        self.values.iter().find(|(name, _)| *name == setting).map(|(_, value)| *value)
    }

    pub(crate) fn has(&self, setting: &str) -> bool {
        self.get(setting).is_some()
    }

    /// Says whether a setting has this word.
    pub(crate) fn is(&self, word: &str) -> bool {
        self.values.iter().any(|(_, value)| *value == Value::Choice(grammar_word(self.grammar, word)))
    }

    pub(crate) fn time(&self, setting: &str) -> Option<Duration> {
        match self.get(setting)? {
            Value::Time(us) => Some(duration(us)),
            _ => None,
        }
    }

    pub(crate) fn size(&self, setting: &str) -> Option<Bytes> {
        match self.get(setting)? {
            Value::Size(bytes) => Some(Bytes::new(bytes)),
            _ => None,
        }
    }

    pub(crate) fn rate(&self, setting: &str) -> Option<BitRate> {
        match self.get(setting)? {
            Value::Rate(rate) => Some(rate),
            _ => None,
        }
    }

    pub(crate) fn int(&self, setting: &str) -> Option<i64> {
        match self.get(setting)? {
            Value::Int(n) => Some(n),
            _ => None,
        }
    }

    pub(crate) fn count(&self, setting: &str) -> Option<u32> {
        u32::try_from(self.int(setting)?).ok()
    }

    pub(crate) fn number(&self, setting: &str) -> Option<f64> {
        match self.get(setting)? {
            Value::Number(x) => Some(x),
            _ => None,
        }
    }
}

/// The same text with the lifetime of the grammar; a word that is none is like no other.
fn grammar_word(grammar: &'static grammar::Grammar, word: &str) -> &'static str {
    grammar.word(word).map_or("", |word| word.name)
}
