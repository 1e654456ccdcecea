//! Algorithms from outside the catalog.

use std::collections::BTreeMap;
use std::sync::Arc;

use quell_aqm::{Aqm, Link, catalog};

/// Makes a plug-in algorithm for a link from the parameters beside its name.
pub type Factory = Arc<dyn Fn(&Link, &toml::Table) -> Result<Box<dyn Aqm + Send>, String> + Send + Sync>;

/// Algorithms from outside the catalog, by name.
#[derive(Clone, Default)]
pub struct Plugins {
    factories: BTreeMap<String, Factory>,
}

impl Plugins {
    /// None.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an algorithm that scenarios may name.
    ///
    /// # Errors
    /// If the catalog has an algorithm of that name.
    pub fn insert(&mut self, name: impl Into<String>, factory: Factory) -> Result<(), String> {
        let name = name.into();
        if catalog::find(&name).is_some() {
            return Err(format!("\"{name}\" is the name of an algorithm in the catalog"));
        }
        self.factories.insert(name, factory);
        Ok(())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Factory> {
        self.factories.get(name)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.factories.keys().map(String::as_str)
    }
}
