//! Configurations beside the defaults: those of `variants.toml`.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::vector::Tolerance;

/// A configuration of an algorithm.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// The algorithm.
    pub algorithm: String,
    /// The name of the vector.
    pub name: String,
    /// The course of events.
    pub course: String,
    /// The parameters.
    pub parameters: toml::Table,
    /// The seed of the algorithm's generator.
    #[serde(default = "seed")]
    pub seed: u64,
    /// The errors that an implementation's signals may have, where they are not those of rounding.
    pub tolerance: Option<Tolerance>,
}

/// The seed of most vectors.
pub const SEED: u64 = 1;

fn seed() -> u64 {
    SEED
}

/// All of them.
pub fn variants() -> &'static [Variant] {
    static ALL: LazyLock<Vec<Variant>> = LazyLock::new(|| {
        #[derive(Deserialize)]
        #[serde(deny_unknown_fields)]
        struct File {
            variant: Vec<Variant>,
        }
        let file: File =
            toml::from_str(include_str!("variants.toml")).expect("variants.toml is a list of variants");
        file.variant
    });
    &ALL
}
