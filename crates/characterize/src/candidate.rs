//! Algorithms as a command line names them.

use quell_aqm::catalog::{AqmConfig, CATALOG, find};
use quell_scenario::format::AqmChoice;
use quell_scenario::{suggest, unknown};
use quell_units::text::cut;

/// The algorithm that RFC 7928 section 3 compares all others with.
pub const DROP_TAIL: &str = "drop-tail";

/// An algorithm with its parameters.
#[derive(Clone, Debug, PartialEq)]
pub struct Candidate {
    /// The name in tables: the algorithm's, and the parameters that were given.
    pub label: String,
    /// Its table in a scenario.
    pub table: toml::Table,
    /// The same, read.
    pub config: AqmConfig,
}

impl Candidate {
    /// An algorithm of the catalog with its defaults.
    ///
    /// # Errors
    /// There is none of this name.
    pub fn named(name: &str) -> Result<Candidate, String> {
        Candidate::parse(name)
    }

    /// Parses `NAME` or `NAME,KEY=VALUE,...`, such as `codel,target=10ms`.
    ///
    /// # Errors
    /// Says what is wrong with the name, a key or a value.
    pub fn parse(text: &str) -> Result<Candidate, String> {
        let mut parts = text.split(',').map(str::trim);
        let name = parts.next().unwrap_or_default();
        if find(name).is_none() {
            let names: Vec<&str> = CATALOG.iter().map(|entry| entry.name).collect();
            let (rule, nearest) = unknown("algorithm", name, &names);
            let known = format!("known: {}", names.join(", "));
            return Err(format!("\"{}\": {}", cut(name), suggest(&rule, nearest.as_deref(), Some(&known))));
        }
        let mut parameters = toml::Table::new();
        let mut label = name.to_string();
        for assignment in parts {
            let Some((key, value)) = assignment.split_once('=').map(|(k, v)| (k.trim(), v.trim())) else {
                return Err(format!("\"{}\" must be KEY=VALUE, such as target=15ms", cut(assignment)));
            };
            let read = format!("x = {value}").parse::<toml::Table>().ok().and_then(|mut t| t.remove("x"));
            let value_read = read.unwrap_or_else(|| value.into());
            if parameters.insert(key.to_string(), value_read).is_some() {
                return Err(format!("{} is given twice", cut(key)));
            }
            label.push_str(&format!(" {key}={value}"));
        }
        let choice = AqmChoice { algorithm: name.to_string(), label: None, parameters };
        let config = choice.configure()?;
        let mut table = toml::Table::from_iter([("algorithm".to_string(), name.into())]);
        table.extend(choice.parameters);
        Ok(Candidate { label, table, config })
    }

    /// Its table with its label and every parameter: the dialect of a scenario, which is meant for the hosts, gives it
    /// none.
    pub(crate) fn choice(&self) -> toml::Table {
        let mut table = toml::Table::try_from(&self.config).unwrap_or_else(|_| self.table.clone());
        table.insert("label".to_string(), self.label.clone().into());
        table
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_algorithm_is_named_with_the_parameters_that_differ() {
        let codel = Candidate::parse("codel,target=10ms").unwrap();
        assert_eq!(codel.label, "codel target=10ms");
        assert_ne!(codel.config, Candidate::named("codel").unwrap().config);
        let wrong = |text: &str| Candidate::parse(text).unwrap_err();
        assert!(wrong("codl").contains("did you mean \"codel\""));
        assert_eq!(wrong("codel,target"), "\"target\" must be KEY=VALUE, such as target=15ms");
        assert_eq!(wrong("codel,target=1ms,target=2ms"), "target is given twice");
        assert!(wrong("codel,tarjet=1ms").contains("did you mean \"target\""));
        assert!(wrong("codel,target=5").starts_with("target = 5: not a time with its unit"));
    }
}
