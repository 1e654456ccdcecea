//! The JSON Schema of scenario files, which is made from the types.

use crate::format::Scenario;

impl Scenario {
    /// The JSON Schema of scenario files.
    pub fn json_schema() -> serde_json::Value {
        let mut schema = schemars::schema_for!(Scenario).to_value();
        allow_expressions(&mut schema);
        let swept = serde_json::json!({
            "type": ["array", "string", "object"],
            "items": true,
            "pattern": "^[^:]+\\.\\.[^:]+:\\s*(log|lin|step)\\s*:[^:]+$",
        });
        let sweeps = serde_json::json!({
            "sweep": {
                "description": "Fields and their values: a list, or a range such as \"0.02..0.2:log:5\" (A..B:log:N with equal factors, A..B:lin:N with equal steps, A..B:step:S); every combination is run. A field is a path such as \"dumbbell.rate\" or \"flows.ftp.count\".",
                "type": "object",
                "properties": {
                    "linked": {
                        "description": "Fields that advance together: lists or ranges with the same number of values.",
                        "type": "array",
                        "items": { "type": "object", "additionalProperties": swept.clone() },
                    },
                },
                "additionalProperties": swept,
            },
            "cases": {
                "description": "Alternative sets of fields and values; each is run (times every combination of the sweep).",
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
                    "description": "A value that is computed from other fields, such as \"0.2 * dumbbell.buffer\" or \"max(5 ms, 2 * dumbbell.delay)\": numbers with units, fields, + - (with spaces around them) * / ( ), min, max, round, and bdp, the bandwidth-delay product in packets. A buffer may be \"1 bdp\", and a count \"mild\", \"medium\" or \"heavy\" (congestion, RFC 7928 sections 8.2.2 to 8.2.4).",
                    "type": "string",
                    "pattern": "[*()]|\\s[-+]\\s|/\\s*[^a-z\\s]|\\s/\\s|^\\s*[A-Za-z_][^\\s:]*[.\\[]|^\\s*[0-9.]+\\s*bdp\\s*$|^\\s*(mild|medium|heavy)\\s*$",
                }),
            );
        }
        schema
    }
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
