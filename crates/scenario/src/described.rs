//! The JSON Schema of scenario files, made from the types. It is published as a file; only the tests, which keep that
//! file up to date, are compiled with this.

mod ranges;

use std::borrow::Cow;
use std::marker::PhantomData;

use quell_aqm::catalog::{self, CATALOG};
use quell_aqm::params::ParamDoc;
use quell_tcp::TcpParams;
use quell_units::{BitRate, Bytes, Duration, QueueSize};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use crate::format::{AqmChoice, BackAqm, Scenario};
use crate::values::{Access, Count, OneOr};

/// A quantity as the JSON Schema describes it.
pub(crate) trait Described {
    /// Its name.
    const NAME: &'static str;
    /// Its description.
    const DESCRIPTION: &'static str;
    /// The units it may have, as a regular expression; none for a number.
    const UNITS: &'static str;
}

macro_rules! described {
    ($($quantity:ident, $units:literal, $description:literal;)*) => {$(
        impl Described for $quantity {
            const NAME: &'static str = stringify!($quantity);
            const DESCRIPTION: &'static str = $description;
            const UNITS: &'static str = $units;
        }
    )*};
}

described! {
    Count, "", "A number, such as 10.";
    Duration, "ns|us|µs|ms|s|min|h", "A time with its unit, such as \"100 ms\".";
    BitRate, "[kMGT]?bit/s|[kMG]?bps|[kMG]?b/s", "A rate with its unit, such as \"10 Mbit/s\".";
    Bytes, "B|bytes?|[kMG]B|[KM]iB", "A size with its unit, such as \"500 B\".";
    QueueSize, "packets?|pkt|B|bytes?|[kMG]B|[KM]iB", "A size in packets or bytes, such as \"50 packets\" or \"75 kB\".";
}

impl JsonSchema for BackAqm {
    fn schema_name() -> Cow<'static, str> {
        "BackAqm".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [generator.subschema_for::<AqmChoice>(), { "const": "same" }],
            "description": "An algorithm and its parameters, or \"same\".",
        })
    }
}

/// Changes may also be the name of a file.
pub(crate) fn or_name(schema: &mut Schema) {
    if let Some(list) = schema.get_mut("anyOf").and_then(|list| list.as_array_mut()) {
        list.push(serde_json::json!({ "type": "string", "description": "The name of a file." }));
    }
}

/// A link that is a channel of Wi-Fi has the rate of its stations.
pub(crate) fn rate_unless_wifi(schema: &mut Schema) {
    if let Some(required) = schema.get_mut("required").and_then(|list| list.as_array_mut()) {
        required.retain(|key| key != "rate");
    }
    schema.insert("if".into(), serde_json::json!({ "not": { "required": ["wifi"] } }));
    schema.insert("then".into(), serde_json::json!({ "required": ["rate"] }));
}

/// A change may also be the list of its time, rate and delay.
pub(crate) fn or_pair(schema: &mut Schema) {
    let table = schema.clone();
    *schema = json_schema!({
        "anyOf": [
            table,
            {
                "description": "The time, the rate from then on, and the delay if it changes, with units or as numbers \
                                of seconds and bit/s.",
                "type": "array",
                "items": { "type": ["string", "number"] },
                "minItems": 2,
                "maxItems": 3,
            },
        ],
    });
}

pub(crate) fn algorithms(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "anyOf": [generator.subschema_for::<Vec<AqmChoice>>(), { "const": "all" }],
        "description": "The algorithms to compare; \"all\" means every algorithm in the catalog with its defaults.",
        "default": [],
    })
}

impl JsonSchema for AqmChoice {
    fn schema_name() -> Cow<'static, str> {
        "Aqm".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let alternatives: Vec<_> = CATALOG.iter().map(algorithm_schema).collect();
        json_schema!({
            "description": "An algorithm and its parameters.",
            "type": "object",
            "required": ["algorithm"],
            "oneOf": alternatives,
        })
    }
}

fn algorithm_schema(entry: &catalog::Entry) -> serde_json::Value {
    let mut properties = serde_json::Map::new();
    properties.insert("algorithm".into(), serde_json::json!({ "const": entry.name }));
    properties.insert(
        "label".into(),
        serde_json::json!({ "type": "string", "description": "Its label in results; default: its name." }),
    );
    for doc in (entry.params)() {
        let (name, mut schema) = parameter_schema(&doc);
        // For forms. The ends are those beside the other parameters' defaults: no program is to refuse other values.
        if let Some(ends) = ranges::ends(entry, &doc) {
            schema["x-range"] = range_schema(&ends);
        }
        // Of some numbers only every eighth is taken, say.
        let is_number = doc.default.split(' ').next().is_some_and(|number| number.parse::<f64>().is_ok());
        if is_number && schema.get("x-range").is_none() {
            schema["x-range"] = serde_json::json!({ "some": true });
        }
        properties.insert(name, schema);
    }
    serde_json::json!({
        "title": entry.title,
        "description": format!("{} ({})", entry.title, entry.source),
        "properties": properties,
        "additionalProperties": false,
    })
}

fn parameter_schema(doc: &ParamDoc) -> (String, serde_json::Value) {
    let default = if doc.default == "none" { "\"none\"" } else { doc.default.as_str() };
    let description = format!("{} Unit: {}. Default: {default} ({}).", doc.doc, doc.unit, doc.source);
    let mut schema = serde_json::json!({ "description": description });
    if !doc.choices.is_empty() {
        schema["enum"] = doc.choices.into();
    }
    (doc.name.to_string(), schema)
}

/// A range of values: its unit, its ends, and which of them are outside.
fn range_schema(ends: &ranges::Ends) -> serde_json::Value {
    let mut range = serde_json::json!({});
    if !ends.scale.unit.is_empty() {
        range["unit"] = ends.scale.unit.into();
    }
    if ends.scale.is_whole {
        range["whole"] = true.into();
    }
    for (key, end) in [("least", ends.least), ("most", ends.most)] {
        if let Some(ranges::End { at, is_in }) = end {
            range[key] = at.into();
            if !is_in {
                range[format!("{key}_outside")] = true.into();
            }
        }
    }
    range
}

pub(crate) fn tcp(_: &mut SchemaGenerator) -> Schema {
    let properties: serde_json::Map<_, _> = TcpParams::docs().iter().map(parameter_schema).collect();
    json_schema!({
        "description": "TCP's parameters.",
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    })
}

/// Stands for a quantity in the JSON Schema.
pub(crate) struct Text<Q>(PhantomData<Q>);

impl<Q: Described> JsonSchema for Text<Q> {
    fn schema_name() -> Cow<'static, str> {
        Q::NAME.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        if Q::UNITS.is_empty() {
            return json_schema!({ "type": "number", "description": Q::DESCRIPTION });
        }
        json_schema!({
            "type": "string",
            "description": Q::DESCRIPTION,
            "pattern": format!("^\\s*[0-9.]+([eE][-+]?[0-9]+)?\\s*({})\\s*$", Q::UNITS),
        })
    }
}

impl<Q: Described, T: JsonSchema> JsonSchema for OneOr<Q, T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        format!("{}Or{}", Q::NAME, T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [generator.subschema_for::<Text<Q>>(), generator.subschema_for::<T>()]
        })
    }
}

impl JsonSchema for Access {
    fn schema_name() -> Cow<'static, str> {
        "Access".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [generator.subschema_for::<Text<BitRate>>(), { "const": "none" }] })
    }
}

/// The JSON Schema that the types make.
fn made() -> serde_json::Value {
    let mut schema = schemars::schema_for!(Scenario).to_value();
    allow_expressions(&mut schema);
    let swept = serde_json::json!({
        "type": ["array", "string", "object"],
        "items": true,
        "pattern": "^[^:]+\\.\\.[^:]+:\\s*(log|lin|step)\\s*:[^:]+$",
    });
    let sweeps = serde_json::json!({
        "sweep": {
            "description": "Fields and their values: a list, or a range such as \"0.02..0.2:log:5\" (A..B:log:N with \
                equal factors, A..B:lin:N with equal steps, A..B:step:S). Every combination is run. A field is a path \
                such as \"dumbbell.rate\" or \"flows.ftp.count\".",
            "type": "object",
            "properties": {
                "linked": {
                    "description": "Fields that change together, as lists or ranges with the same number of values.",
                    "type": "array",
                    "items": { "type": "object", "additionalProperties": swept.clone() },
                },
            },
            "additionalProperties": swept,
        },
        "cases": {
            "description": "Alternative sets of fields and values; each is run (with every combination of the sweep).",
            "type": "array",
            "items": { "type": "object" },
        },
    });
    if let (Some(properties), serde_json::Value::Object(sweeps)) =
        (schema.get_mut("properties").and_then(|p| p.as_object_mut()), sweeps)
    {
        properties.extend(sweeps);
    }
    if let Some(definitions) = schema.get_mut("$defs").and_then(|d| d.as_object_mut()) {
        definitions.insert(
            "Expression".to_string(),
            serde_json::json!({
                "description": "A value computed from other fields, such as \"0.2 * dumbbell.buffer\" or \"max(5 ms, 2 \
                    * dumbbell.delay)\". It may have numbers with units, fields, + - (with spaces around them) * / ( \
                    ), min, max, round, and bdp, the bandwidth-delay product in packets. A buffer may be \"1 bdp\", \
                    and a count \"mild\", \"medium\" or \"heavy\" (congestion, RFC 7928 sections 8.2.2 to 8.2.4).",
                "type": "string",
                "pattern": "[*()]|\\s[-+]\\s|/\\s*[^a-z\\s]|\\s/\\s|^\\s*[A-Za-z_][^\\s:]*[.\\[]|^\\s*[0-9.]+\\s*bdp\\s*$|^\\s*(mild|medium|heavy)\\s*$",
            }),
        );
    }
    schema
}

/// Numbers and quantities may be computed.
fn allow_expressions(schema: &mut serde_json::Value) {
    use serde_json::{Value, json};
    match schema {
        Value::Array(items) => items.iter_mut().for_each(allow_expressions),
        Value::Object(object) => {
            object.values_mut().for_each(allow_expressions);
            let is = |kind: &Value, names: &[&str]| {
                let listed = |k: &Value| k.as_str().is_some_and(|k| names.contains(&k));
                listed(kind) || kind.as_array().is_some_and(|kinds| kinds.iter().any(listed))
            };
            let Some(kind) = object.get("type") else { return };
            let quantity = is(kind, &["string"]) && object.contains_key("pattern");
            if !(quantity || is(kind, &["integer", "number"])) {
                return;
            }
            // What a field is said to be stays with the field.
            let about = ["title", "description", "default"];
            let (about, form): (serde_json::Map<_, _>, serde_json::Map<_, _>) =
                std::mem::take(object).into_iter().partition(|(key, _)| about.contains(&key.as_str()));
            *object = about;
            object.insert("anyOf".to_string(), json!([form, { "$ref": "#/$defs/Expression" }]));
        }
        _ => {}
    }
}

#[test]
fn the_published_schema_is_that_of_the_code() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../scenarios/schema.json");
    let text = serde_json::to_string_pretty(&made()).unwrap() + "\n";
    if std::env::var_os("QUELL_UPDATE_DOCS").is_some() {
        std::fs::write(path, &text).unwrap();
    }
    let published = std::fs::read_to_string(path).unwrap_or_default();
    assert!(published == text, "scenarios/schema.json is stale: run the tests with QUELL_UPDATE_DOCS=1");
}
