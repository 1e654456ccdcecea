//! An algorithm as the command line names it.

use quell_aqm::catalog::{AqmConfig, CATALOG};

use super::Failure;

/// The algorithm called `name` with the parameters of `set`; `option` is what the user wrote it after.
///
/// # Errors
/// Names what is unknown and what is known.
pub fn named_algorithm(option: &str, name: &str, set: &[(String, String)]) -> Result<AqmConfig, Failure> {
    algorithm(option, name, serde_json::Map::new(), set)
}

/// The algorithm `now` with other values for the parameters of `set`.
///
/// # Errors
/// As [`named_algorithm`].
pub(super) fn changed_algorithm(now: &AqmConfig, set: &[(String, String)]) -> Result<AqmConfig, Failure> {
    let mut table = match serde_json::to_value(now) {
        Ok(serde_json::Value::Object(table)) => table,
        _ => serde_json::Map::new(),
    };
    table.remove("algorithm");
    algorithm("--set", now.name(), table, set)
}

/// The same with the parameters of `table`, over which those of `set` go.
///
/// # Errors
/// As [`named_algorithm`].
pub(super) fn algorithm(
    place: &str,
    name: &str,
    mut table: serde_json::Map<String, serde_json::Value>,
    set: &[(String, String)],
) -> Result<AqmConfig, Failure> {
    for (key, value) in set {
        // Numbers, true and false are what they say; everything else is text, such as "20 ms".
        let value = serde_json::from_str(value).unwrap_or_else(|_| serde_json::Value::String(value.clone()));
        table.insert(key.clone(), value);
    }
    match AqmConfig::deserialize_named(name, serde_json::Value::Object(table)) {
        Some(Ok(config)) => Ok(config),
        Some(Err(e)) => Err(Failure::BadInput(format!("{place}: {name}: {e}"))),
        None => {
            let known: Vec<&str> = CATALOG.iter().map(|e| e.name).collect();
            Err(Failure::BadInput(format!(
                "{place}: \"{}\" is no algorithm; known: {}",
                quell_units::text::cut(name),
                known.join(", ")
            )))
        }
    }
}
