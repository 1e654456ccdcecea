//! The text of a scenario: its tree, changes in it, and texts that presets make.

use quell_presets::{Options, scenario};
use quell_scenario::Places;
use quell_scenario::edit::{Change, Edit, edit as change};
use quell_units::text::cut;

use crate::fault::Fault;
use crate::protocol::{EditRequest, EditStep, PresetRequest, Text, Tree, TreePlace, TreeRequest};

pub(crate) fn tree(ask: &TreeRequest) -> Result<Tree, Fault> {
    let found = Places::of(&ask.text, ask.name.as_deref().unwrap_or("scenario.toml"))?;
    let unwritable = |e| Fault::failed(format!("the tree cannot be written: {e}"));
    let value = serde_json::to_value(&found.table).map_err(unwritable)?;
    let units = Units::of(&ask.text);
    let mut places = serde_json::Map::new();
    for place in found.places {
        let own = TreePlace {
            key: place.key.map(|range| (units.at(range.start), units.at(range.end))),
            value: (units.at(place.value.start), units.at(place.value.end)),
            line: place.line,
            form: place.form,
        };
        places.insert(place.path, serde_json::to_value(own).map_err(unwritable)?);
    }
    Ok(Tree { value, places: places.into(), files: found.files })
}

/// The UTF-16 code units before each byte of a text: none are kept where every character is one byte.
struct Units(Vec<u32>);

impl Units {
    fn of(text: &str) -> Units {
        if text.is_ascii() {
            return Units(Vec::new());
        }
        let (mut at, mut all) = (0, Vec::with_capacity(text.len() + 1));
        for c in text.chars() {
            all.extend(std::iter::repeat_n(at, c.len_utf8()));
            at += c.len_utf16() as u32;
        }
        all.push(at);
        Units(all)
    }

    fn at(&self, byte: usize) -> usize {
        self.0.get(byte).map_or(byte, |units| *units as usize)
    }
}

pub(crate) fn edit(ask: &EditRequest) -> Result<Text, Fault> {
    let step = |step: &EditStep| {
        let change = match (&step.value, step.to) {
            (Some(value), None) => Change::Set(value.clone()),
            (None, Some(to)) => Change::Move(to),
            (None, None) => Change::Remove,
            (Some(_), Some(_)) => {
                let why = "has a value and a place to move to: give one of them";
                return Err(Fault::request(format!("{}: {why}", cut(&step.path))));
            }
        };
        Ok(Edit { path: step.path.clone(), change })
    };
    let edits = ask.edits.iter().map(step).collect::<Result<Vec<Edit>, Fault>>()?;
    Ok(Text { text: change(&ask.text, &edits).map_err(Fault::request)? })
}

pub(crate) fn preset(ask: &PresetRequest) -> Result<Text, Fault> {
    let duration = match &ask.duration {
        Some(text) => Some(text.parse().map_err(|e| Fault::request(format!("duration {}: {e}", cut(text))))?),
        None => None,
    };
    let options = Options { aqm: ask.aqm.clone(), duration };
    let text = scenario(&ask.load, &ask.link, &options).map_err(|e| Fault::request(e.to_string()))?;
    Ok(Text { text })
}
