//! Where ns-2 is wrong: `excuses.toml`, with the reason and the evidence.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

const TEXT: &str = include_str!("../excuses.toml");

/// Figures in which ns-2 is known to be wrong.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Excuse {
    /// The cases, as [`Name`] writes them.
    pub cases: Vec<String>,
    /// The figures; all of them if there are none.
    #[serde(default)]
    pub figures: Vec<String>,
    /// What ns-2 does wrong.
    pub reason: String,
    /// How one can see that.
    pub evidence: String,
}

impl Excuse {
    fn covers(&self, case: &str, figure: &str) -> bool {
        self.cases.iter().any(|c| c == case)
            && (self.figures.is_empty() || self.figures.iter().any(|f| f == figure))
    }
}

/// Every excuse.
pub fn all() -> &'static [Excuse] {
    #[derive(Deserialize)]
    struct File {
        #[serde(default)]
        excuse: Vec<Excuse>,
    }
    static ALL: LazyLock<Vec<Excuse>> = LazyLock::new(|| {
        let file: File = toml::from_str(TEXT).expect("the excuses are part of the program");
        file.excuse
    });
    &ALL
}

/// The excuse for a figure of a case, if there is one.
pub fn find(case: &str, figure: &str) -> Option<&'static Excuse> {
    all().iter().find(|e| e.covers(case, figure))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ns2::FIGURES;

    #[test]
    fn excuses_name_cases_and_figures_that_exist() {
        let cases: Vec<String> = crate::ns2::cases().iter().map(|c| c.name.to_string()).collect();
        for excuse in all() {
            assert!(excuse.cases.iter().all(|c| cases.contains(c)), "{:?}", excuse.cases);
            assert!(
                excuse.figures.iter().all(|f| FIGURES.iter().any(|(g, _)| g.name == f)),
                "{:?}",
                excuse.figures
            );
        }
    }
}
