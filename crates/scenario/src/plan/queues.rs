//! The algorithms of a scenario, from the catalog and from outside.

use quell_aqm::Link;
use quell_aqm::catalog::{self, AnyAlgorithm, AnyAqm, AqmConfig, CATALOG};
use quell_aqm::params::Marks;

use crate::error::{Problem, Source};
use crate::format::AqmChoice;
use crate::plugins::Plugins;
use crate::tree::{Node, Path};

/// An algorithm for the link called `name`; `at` is where it stands.
pub(super) fn build(
    choice: &AqmChoice,
    at: &Path,
    link: &Link,
    name: &str,
    plugins: &Plugins,
) -> Result<AnyAlgorithm, Problem> {
    // What one link allows another may forbid.
    let on_link = if name == "bottleneck" { String::new() } else { format!(" (link {name})") };
    if let Some(factory) = plugins.get(&choice.algorithm) {
        return factory(link, &choice.parameters).map(|aqm| AnyAqm::Custom(aqm).into()).map_err(|why| {
            Problem::new(at.then("algorithm"), format!("the plug-in reports: {why}{on_link}")).of_link()
        });
    }
    let config = configure(choice, at, plugins)?;
    config.build(link).map_err(|e| {
        let written = choice.parameters.contains_key(e.field);
        let default = if written { "" } else { " (the value is the default)" };
        Problem::new(at.then(e.field), format!("{}{on_link}{default}", e.rule)).with_value(e.value).of_link()
    })
}

impl AqmChoice {
    /// The packets that it marks. Of an algorithm from outside the catalog nobody knows: all.
    pub fn marks(&self) -> Marks {
        self.configure().map_or(Marks::Alike, |config| config.marks())
    }

    /// The algorithm of the catalog that it names, outside of a scenario.
    ///
    /// # Errors
    /// Names the parameter, its value and the rule that it breaks, as in a scenario.
    pub fn configure(&self) -> Result<AqmConfig, String> {
        let tree = Node::from_toml(&toml::Value::Table(self.parameters.clone()));
        let nowhere = Source { name: String::new(), text: None };
        configure(self, &Path::default(), &Plugins::new())
            .map_err(|problem| nowhere.error(&tree, problem).reason())
    }
}

/// The parameters of an algorithm of the catalog.
pub(super) fn configure(choice: &AqmChoice, at: &Path, plugins: &Plugins) -> Result<AqmConfig, Problem> {
    let name = choice.algorithm.as_str();
    let Some(entry) = catalog::find(name) else {
        let names: Vec<&str> = CATALOG.iter().map(|e| e.name).chain(plugins.names()).collect();
        return Err(Problem::unknown(at.then("algorithm"), "algorithm", name, "known", &names));
    };
    if let (true, Some(key)) = ((entry.params)().is_empty(), choice.parameters.keys().next()) {
        let rule = format!("unknown key; {name} takes no parameters");
        return Err(Problem::new(at.then(key.as_str()), rule).with_value(""));
    }
    let parameters = Node::from_toml(&toml::Value::Table(choice.parameters.clone()));
    match AqmConfig::deserialize_named(name, parameters.reader()) {
        Some(Ok(config)) => Ok(config),
        Some(Err(fault)) => {
            let problem = Problem::from(fault);
            let mut path = at.clone();
            path.0.extend(problem.path.0.iter().cloned());
            Err(Problem { path, ..problem })
        }
        None => Err(Problem::new(at.then("algorithm"), "cannot be configured")),
    }
}
